// Discrete logarithms modulo SIM_FIELD_P: what makes exp(log(s)) the same field value as s.
#pragma once

#include <stdint.h>

enum { SIM_PRIME_LOGS = 563 }; // the odd primes below 2^12

typedef struct sim_prime_log {
    uint64_t log;            // 2^log = prime or -prime
    uint32_t inverse, prime; // inverse · prime = 1 modulo 2^32
} sim_prime_log;

extern const sim_prime_log sim_prime_logs[SIM_PRIME_LOGS];

// The exponent l in F_q with 2^l = a for a != 0, or 2^l = -a: then with SIM_FIELD_SIGN, as half of all a are no powers
// of 2 but their negatives are. Pure; some 20 µs. SIM_FIELD_NONE if the search gives up; no such value is known.
uint64_t sim_field_discrete_log(uint64_t a);
