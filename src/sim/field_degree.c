// Degrees in place of field values: a bound on how often two different formulas agree by chance.
//
// A degree is packed into p: 28 bits each for numerator and denominator, then a flag for powers and one for functions.

#include "sim/field_priv.h"

enum { UNDER_SHIFT = 28, POWERS_SHIFT = 56, FUNCTIONS_SHIFT = 57 };

sim_degree sim_field_degree_of(sim_field a)
{
    if (!sim_is_degree(a) || sim_field_is_mark(a))
        return (sim_degree){0};
    return (sim_degree){
        .over = (uint32_t)(a.p & SIM_DEGREE_MAX),
        .under = (uint32_t)(a.p >> UNDER_SHIFT & SIM_DEGREE_MAX),
        .has_powers = a.p >> POWERS_SHIFT & 1,
        .has_functions = a.p >> FUNCTIONS_SHIFT & 1,
    };
}

static uint64_t at_most(uint64_t degree)
{
    return degree < SIM_DEGREE_MAX ? degree : SIM_DEGREE_MAX;
}

static sim_field pack(sim_degree a, sim_degree b, uint64_t over, uint64_t under)
{
    uint64_t powers = a.has_powers || b.has_powers, functions = a.has_functions || b.has_functions;
    return (sim_field){at_most(over) | at_most(under) << UNDER_SHIFT | powers << POWERS_SHIFT |
                           functions << FUNCTIONS_SHIFT,
                       SIM_FIELD_DEGREE};
}

sim_field sim_field_degree_input(void)
{
    return pack((sim_degree){0}, (sim_degree){0}, 1, 0);
}

// a/b + c/d = (a·d + c·b) / (b·d)
sim_field sim_degree_sum(sim_field a, sim_field b)
{
    sim_degree x = sim_field_degree_of(a), y = sim_field_degree_of(b);
    uint64_t left = (uint64_t)x.over + y.under, right = (uint64_t)y.over + x.under;
    return pack(x, y, left > right ? left : right, (uint64_t)x.under + y.under);
}

sim_field sim_degree_product(sim_field a, sim_field b)
{
    sim_degree x = sim_field_degree_of(a), y = sim_field_degree_of(b);
    return pack(x, y, (uint64_t)x.over + y.over, (uint64_t)x.under + y.under);
}

sim_field sim_degree_inverse(sim_field a)
{
    sim_degree x = sim_field_degree_of(a);
    return pack(x, x, x.under, x.over);
}

// A power or function value is one more variable; that two of them agree is as likely as that their arguments do.
// Where a function in the exponent is a logarithm, the power is a quotient: exp(-log(s)) = 1/s.
sim_field sim_degree_power(sim_field a)
{
    sim_degree x = sim_field_degree_of(a);
    x.has_powers = true;
    uint64_t degree = (uint64_t)x.over + x.under + 1;
    return pack(x, x, degree, x.has_functions ? degree : 0);
}

sim_field sim_degree_function(sim_field a)
{
    sim_degree x = sim_field_degree_of(a);
    x.has_functions = true;
    return pack(x, x, (uint64_t)x.over + x.under + 1, 0);
}
