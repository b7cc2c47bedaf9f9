// Where elements lie: what strided_span.h says of random tensors, against the addresses of all their elements.
#include "base/strided_span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096, MOST_AXES = 4, ROUNDS = 40000 };

static uint32_t state = 1;

static int below(int n)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)n);
}

typedef struct example {
    int64_t shape[MOST_AXES], strides[MOST_AXES];
    strided_span s;
} example;

// Parts of a matrix as often as strides that mean nothing.
static void random_example(example *e, int pitch)
{
    static const int sizes[] = {8, 16, 32, 64};
    e->s = (strided_span){.bits = sizes[below(4)], .rank = below(MOST_AXES), .shape = e->shape, .strides = e->strides};
    int64_t step = 1 + below(2);
    for (int d = e->s.rank - 1; d >= 0; d--) {
        e->shape[d] = below(8) ? 1 + below(5) : below(2);
        e->strides[d] = below(3) ? step : below(2) ? pitch : below(12);
        step = below(3) ? step * (e->shape[d] + below(2)) : step;
    }
    e->s.address = (uint64_t)(256 + below(64) * (e->s.bits / 8));
    if (!below(5))
        e->s.strides = NULL;
}

static int64_t count_of(const example *e)
{
    int64_t count = 1;
    for (int d = 0; d < e->s.rank; d++)
        count *= e->shape[d];
    return count;
}

// Adds one to each byte that an element has; the highest sum.
static int cover(const example *e, unsigned char *bytes)
{
    int most = 0;
    for (int64_t i = 0; i < count_of(e); i++) {
        int64_t offset = strided_span_offset(e->s.rank, e->shape, e->s.strides, i);
        uint64_t at = e->s.address + (uint64_t)(offset * (e->s.bits / 8));
        assert_true(at + (uint64_t)e->s.bits / 8 < ROOM);
        for (int k = 0; k < e->s.bits / 8; k++) {
            bytes[at + (uint64_t)k]++;
            most = bytes[at + (uint64_t)k] > most ? bytes[at + (uint64_t)k] : most;
        }
    }
    return most;
}

static void against_all_elements(void **unused)
{
    (void)unused;
    int apart = 0, between = 0, nested = 0;
    for (int round = 0; round < ROUNDS; round++) {
        static unsigned char one[ROOM], other[ROOM];
        example a, b;
        int pitch = 8 + below(40);
        memset(one, 0, sizeof one);
        memset(other, 0, sizeof other);
        random_example(&a, pitch);
        random_example(&b, pitch);
        assert_true(strided_span_measure(&a.s) && strided_span_measure(&b.s));
        int most = cover(&a, one);
        cover(&b, other);
        int64_t first = ROOM, last = -1;
        bool meet = false;
        for (int i = 0; i < ROOM; i++) {
            first = one[i] && i < first ? i : first;
            last = one[i] ? i : last;
            meet = meet || (one[i] && other[i]);
        }
        assert_int_equal(a.s.bytes, last < 0 ? 0 : last + 1 - (int64_t)a.s.address);
        assert_true(last < 0 || first == (int64_t)a.s.address);
        // What is said to be apart is.
        if (most > 1)
            assert_true(strided_span_folded_axis(&a.s) >= 0);
        nested += most == 1 && strided_span_folded_axis(&a.s) < 0;
        bool said = strided_span_meet(&a.s, &b.s);
        assert_int_equal(said, strided_span_meet(&b.s, &a.s));
        if (meet)
            assert_true(said);
        apart += !said;
        bool is_between = a.s.bytes && b.s.bytes && a.s.address < b.s.address + (uint64_t)b.s.bytes &&
                          b.s.address < a.s.address + (uint64_t)a.s.bytes;
        between += is_between && !said;
    }
    assert_true(apart > ROUNDS / 8 && between > 50 && nested > ROUNDS / 8);
}

// Those that launchers must not refuse.
static void parts_of_a_matrix(void **unused)
{
    (void)unused;
    const int64_t left_shape[] = {5, 3}, right_shape[] = {6, 5}, strides[] = {8, 1}, across[] = {1, 8};
    strided_span left = {.address = 0x1000, .bits = 32, .rank = 2, .shape = left_shape, .strides = strides};
    strided_span right = {.address = 0x1000 + 3 * 4, .bits = 32, .rank = 2, .shape = right_shape, .strides = strides};
    assert_true(strided_span_measure(&left) && strided_span_measure(&right));
    assert_int_equal(left.bytes, (4 * 8 + 3) * 4);
    assert_false(strided_span_meet(&left, &right));
    right.address -= 4;
    assert_true(strided_span_meet(&left, &right));
    right.address += 8;  // its last column is the next row's first
    assert_true(strided_span_meet(&left, &right));
    const int64_t turned[] = {3, 5};
    left.shape = turned;
    left.strides = across;
    right.address = 0x1000 + 3 * 4;
    assert_true(strided_span_measure(&left));
    assert_false(strided_span_meet(&left, &right));
    assert_int_equal(strided_span_folded_axis(&left), -1);
    const int64_t row_for_all[] = {0, 1}, one_row[] = {1, 5};
    right.strides = row_for_all;
    assert_int_equal(strided_span_folded_axis(&right), 0);
    right.shape = one_row;
    assert_int_equal(strided_span_folded_axis(&right), -1);
}

static void beyond_63_bits(void **unused)
{
    (void)unused;
    const int64_t shape[] = {1ll << 40, 2}, none[] = {1ll << 40, 0}, negative[] = {2, -1}, one[] = {1, 2};
    const int64_t far[] = {1ll << 30, 1}, backward[] = {-1, 1};
    strided_span s = {.bits = 16, .rank = 2, .shape = shape, .strides = far};
    assert_false(strided_span_measure(&s));
    s.shape = none;
    assert_true(strided_span_measure(&s));
    assert_int_equal(s.bytes, 0);
    s.shape = negative;
    assert_false(strided_span_measure(&s));
    s.shape = shape;
    s.strides = backward;
    assert_false(strided_span_measure(&s));
    s.shape = one;
    assert_true(strided_span_measure(&s));
    assert_int_equal(s.bytes, 4);
    const int64_t last[] = {3}, step[] = {INT64_MAX / 4};
    s = (strided_span){.bits = 8, .rank = 1, .shape = last, .strides = step};
    assert_true(strided_span_measure(&s) == false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_all_elements),
        cmocka_unit_test(parts_of_a_matrix),
        cmocka_unit_test(beyond_63_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
