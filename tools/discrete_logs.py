#!/usr/bin/env python3
"""Writes src/sim/field_log_table.c: logarithms to the base 2 of the odd primes below 2^12 in the field of hdsc prove.

By index calculus: 2^k = ±u/v modulo P with u and v near 2^31; where both are products of small primes, that is one linear
equation for the logarithms of those. tests/unit/sim/field_log.c checks every line of the table. Usage: discrete_logs.py
"""

import itertools
import math
import pathlib

P = 2**62 - 392705
Q = (P - 1) // 2
BOUND = 1 << 12
FIRST = 1 << 10  # those below are solved for; the others are written with them
TABLE = pathlib.Path(__file__).resolve().parent.parent / "src" / "sim" / "field_log_table.c"
HEADER = """\
// Odd primes, their inverses modulo 2^32, and l with 2^l = ±prime modulo SIM_FIELD_P. Written by tools/discrete_logs.py.

#include "sim/field_log.h"

// clang-format off
const sim_prime_log sim_prime_logs[SIM_PRIME_LOGS] = {
"""


def primes_below(bound):
    return [n for n in range(3, bound, 2) if all(n % d for d in range(3, math.isqrt(n) + 1, 2))]


def halves(t):
    """u, v with t = ±u/v modulo P, both about the root of P."""
    a, b, x, y = P, t, 0, 1
    while b >> 31:
        a, b, x, y = b, a % b, y, x + a // b * y
    return b, y


def exponents(n, primes):
    """The powers of 2 and of the primes in n, or None."""
    found = []
    for prime in [2, *primes]:
        count = 0
        while n % prime == 0:
            n, count = n // prime, count + 1
        found.append(count)
    return found if n == 1 else None


def smooth_quotients(start, primes):
    """(k, row) with start · 2^k = ±the product of 2 and the primes to the powers in the row."""
    product = 2 * math.prod(primes)
    for k in range(0, 1 << 40, 67):
        u, v = halves(start * pow(2, k, P) % P)
        if u and pow(product % u, 32, u) == 0 and pow(product % v, 32, v) == 0:
            yield k, [a - b for a, b in zip(exponents(u, primes), exponents(v, primes))]


def relations(primes, wanted):
    """Rows of an equation each: the factors of the logarithms, then the number that comes out."""
    found = itertools.islice(smooth_quotients(1, primes), 1, wanted)
    return [[*row[1:], k - row[0]] for k, row in found]


def solve(rows, count):
    """Gauss and Jordan modulo Q; rare primes first, which keeps most rows sparse."""
    for column in range(count - 1, -1, -1):
        at = min((r for r in range(count - 1 - column, len(rows)) if rows[r][column]), key=lambda r: sum(map(bool, rows[r])))
        pivot_row = count - 1 - column
        rows[pivot_row], rows[at] = rows[at], rows[pivot_row]
        inverse = pow(rows[pivot_row][column], -1, Q)
        rows[pivot_row] = pivot = [value * inverse % Q for value in rows[pivot_row]]
        for other in range(pivot_row + 1, len(rows)):
            factor = rows[other][column]
            if factor:
                rows[other] = [(a - factor * b) % Q if b else a for a, b in zip(rows[other], pivot)]
    logs = [0] * count
    for column in range(count):  # the row of a column has entries in it and in those below only
        row = rows[count - 1 - column]
        logs[column] = (row[count] - sum(row[c] * logs[c] for c in range(column))) % Q
    return logs


def main():
    primes, small = primes_below(BOUND), primes_below(FIRST)
    logs = solve(relations(small, 8 * len(small)), len(small))
    for prime in primes[len(small) :]:
        k, row = next(smooth_quotients(prime, small))
        logs.append((row[0] + sum(a * b for a, b in zip(row[1:], logs)) - k) % Q)
    assert all(pow(2, log, P) in (prime, P - prime) for prime, log in zip(primes, logs))
    entries = [f"{{0x{log:016x}, 0x{pow(prime, -1, 2**32):08x}, {prime}}}," for prime, log in zip(primes, logs)]
    lines = [" ".join(entries[i : i + 3]) for i in range(0, len(entries), 3)]
    TABLE.write_text(HEADER + "".join(f"    {line}\n" for line in lines) + "};\n", encoding="utf-8")
    print(len(primes))


if __name__ == "__main__":
    main()
