// Whatever extents, strides, orders and broadcasts tensors have: the launches that hds_matmul() makes of them write
// each element of c once, from the row of a, the column of b and the element of the residual that belong to it.
// Addresses are compared; the kernels are a table that looks at what it is given.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ops/product.h"

enum { MOST_AXES = 5, MOST_ELEMENTS = 1 << 14, CASES = 10000, BYTES = 2 };
enum { A_BASE = 0x10000000, B_BASE = 0x20000000, C_BASE = 0x30000000, RESIDUAL_BASE = 0x40000000 };

static const hdsrt_dtype f16 = {2, 16};

// ---- generated numbers --------------------------------------------------------------------------------------------

static uint64_t state;

static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)n);
}

// ---- what must be read for an element of c ------------------------------------------------------------------------

typedef struct source {
    int64_t a, a_step, b, b_step, residual; // addresses, and bytes from one k to the next
    int visits;
} source;

static source expected[MOST_ELEMENTS]; // by the element's offset from C_BASE
static bool has_element[MOST_ELEMENTS];
static int64_t k_of_all;
static int elements;

static int64_t address_of(const char *base, const ops_matrices *m, int64_t row, int64_t column)
{
    int64_t i = m->order == OPS_ROWS ? row * m->pitch + column : column * m->pitch + row;
    return (int64_t)(intptr_t)base + i * BYTES;
}

static const char *matrix_of(const ops_matrices *m, int64_t z)
{
    return m->data + z * m->batch * BYTES;
}

static void look_at(const ops_product *p, int64_t z, int64_t i, int64_t j)
{
    int64_t at = (address_of(matrix_of(&p->c, z), &p->c, i, j) - C_BASE) / BYTES;
    const char *a = matrix_of(&p->a, z), *b = matrix_of(&p->b, z);
    assert_true(at >= 0 && at < MOST_ELEMENTS && has_element[at]);
    source *s = &expected[at];
    s->visits++;
    if (k_of_all > 0) {
        assert_int_equal(address_of(a, &p->a, i, 0), s->a);
        assert_int_equal(address_of(b, &p->b, 0, j), s->b);
    }
    if (k_of_all > 1) {
        assert_int_equal(address_of(a, &p->a, i, 1) - s->a, s->a_step);
        assert_int_equal(address_of(b, &p->b, 1, j) - s->b, s->b_step);
    }
    if (s->residual)
        assert_int_equal(address_of(matrix_of(&p->residual, z), &p->residual, i, j), s->residual);
    else
        assert_null(p->residual.data);
}

// ---- kernels that look --------------------------------------------------------------------------------------------

static hdsrt_status look(const ops_kernel *self, const ops_product *p, hdsrt_stream stream)
{
    (void)self, (void)stream;
    assert_int_equal(p->k, k_of_all);
    assert_true(p->c.order == OPS_ROWS && p->c.pitch >= p->n && p->batch >= 1 && p->m >= 1 && p->n >= 1);
    for (int64_t z = 0; z < p->batch; z++) {
        for (int64_t i = 0; i < p->m; i++) {
            for (int64_t j = 0; j < p->n; j++)
                look_at(p, z, i, j);
        }
    }
    return HDSRT_OK;
}

const ops_kernel *ops_find_kernel(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math, ops_order a_order,
                                  ops_order b_order)
{
    static const ops_kernel kernel = {.run = look};
    (void)a, (void)b, (void)c, (void)math, (void)a_order, (void)b_order;
    return &kernel;
}

// ---- generated tensors --------------------------------------------------------------------------------------------

typedef struct value {
    hdsrt_tensor tensor;
    int64_t shape[MOST_AXES], strides[MOST_AXES];
} value;

static void start_value(value *v, uintptr_t base, int axes)
{
    *v = (value){.tensor = {.data = (void *)base, .ndim = axes}};
    v->tensor.device.device_type = 2;
    v->tensor.dtype.code = f16.code;
    v->tensor.dtype.bits = f16.bits;
    v->tensor.dtype.lanes = 1;
    v->tensor.shape = v->shape;
    v->tensor.strides = v->strides;
}

// Strides for axes in any order, [fastest] innermost, with gaps between some of them.
static void set_strides(value *v, int fastest)
{
    int order[MOST_AXES] = {0}, axes = v->tensor.ndim;
    for (int d = 0; d < axes; d++) {
        int at = below(d + 1);
        order[d] = order[at];
        order[at] = d;
    }
    int64_t step = 1;
    v->strides[fastest] = step;
    step *= v->shape[fastest] + below(3) * below(4);
    for (int n = 0; n < axes; n++) {
        int d = order[n];
        if (d == fastest)
            continue;
        v->strides[d] = step;
        step = step * (v->shape[d] ? v->shape[d] : 1) + below(2) * below(5);
    }
}

// Batches of c in an operand: the outer ones may be missing, and others are repeated, by an extent of 1 or a stride of
// 0.
static void make_operand(value *v, uintptr_t base, const value *c, int64_t rows, int64_t columns, bool *repeats)
{
    int c_axes = c->tensor.ndim, missing = below(3) ? 0 : below(c_axes - 1), axes = c_axes - missing;
    start_value(v, base, axes);
    for (int d = 0; d < axes - 2; d++)
        v->shape[d] = repeats[d + missing] ? 1 : c->shape[d + missing];
    for (int d = 0; d < missing; d++)
        repeats[d] = true;
    v->shape[axes - 2] = rows;
    v->shape[axes - 1] = columns;
    set_strides(v, axes - 1 - below(2));
    for (int d = 0; d < axes - 2; d++) {
        if (repeats[d + missing] && below(2)) {
            v->shape[d] = c->shape[d + missing];
            v->strides[d] = 0;
        }
    }
}

static int64_t address(const value *v, const int64_t *batch, int batch_axes, int64_t row, int64_t column)
{
    int axes = v->tensor.ndim, missing = batch_axes + 2 - axes;
    int64_t at = row * v->strides[axes - 2] + column * v->strides[axes - 1];
    for (int d = 0; d < axes - 2; d++)
        at += v->shape[d] == 1 ? 0 : batch[d + missing] * v->strides[d];
    return (int64_t)(intptr_t)v->tensor.data + at * BYTES;
}

typedef struct problem {
    value a, b, c, residual;
    bool has_residual;
    int64_t k;
} problem;

// c has every batch axis of a or of b, or both.
static void make_problem(problem *x)
{
    int axes = 2 + below(MOST_AXES - 1);
    bool in_a[MOST_AXES], in_b[MOST_AXES];
    int64_t m = below(5), n = below(5);
    x->k = below(4);
    start_value(&x->c, C_BASE, axes);
    for (int d = 0; d < axes - 2; d++) {
        x->c.shape[d] = below(12) ? 1 + below(3) : 0;
        in_a[d] = below(4) == 0;
        in_b[d] = below(3) == 0;
    }
    x->c.shape[axes - 2] = m;
    x->c.shape[axes - 1] = n;
    set_strides(&x->c, axes - 1);
    make_operand(&x->a, A_BASE, &x->c, m, x->k, in_a);
    make_operand(&x->b, B_BASE, &x->c, x->k, n, in_b);
    for (int d = 0; d < axes - 2; d++) { // what both repeat is repeated in c too: there is one
        if (in_a[d] && in_b[d])
            x->c.shape[d] = 1;
    }
    x->has_residual = below(3) == 0;
    start_value(&x->residual, RESIDUAL_BASE, axes);
    memcpy(x->residual.shape, x->c.shape, sizeof x->c.shape);
    set_strides(&x->residual, axes - 1);
}

static bool next(int64_t *batch, const value *c)
{
    for (int d = c->tensor.ndim - 3; d >= 0; d--) {
        if (++batch[d] < c->shape[d])
            return true;
        batch[d] = 0;
    }
    return false;
}

static void expect_matrix(const problem *x, const int64_t *batch)
{
    int axes = x->c.tensor.ndim, outer = axes - 2;
    const value *a = &x->a, *b = &x->b;
    for (int64_t i = 0; i < x->c.shape[outer]; i++) {
        for (int64_t j = 0; j < x->c.shape[axes - 1]; j++) {
            int64_t at = (address(&x->c, batch, outer, i, j) - C_BASE) / BYTES;
            assert_true(at < MOST_ELEMENTS && !has_element[at]);
            has_element[at] = true;
            elements++;
            expected[at] = (source){.a = address(a, batch, outer, i, 0),
                                    .b = address(b, batch, outer, 0, j),
                                    .a_step = a->strides[a->tensor.ndim - 1] * BYTES,
                                    .b_step = b->strides[b->tensor.ndim - 2] * BYTES,
                                    .residual = x->has_residual ? address(&x->residual, batch, outer, i, j) : 0};
        }
    }
}

static void expect(const problem *x)
{
    int64_t batch[MOST_AXES] = {0};
    memset(has_element, 0, sizeof has_element);
    elements = 0;
    k_of_all = x->k;
    for (int d = 0; d < x->c.tensor.ndim; d++) {
        if (x->c.shape[d] == 0)
            return;
    }
    do
        expect_matrix(x, batch);
    while (next(batch, &x->c));
}

// ---- the property -------------------------------------------------------------------------------------------------

// Whether c's shape is what broadcasting a and b gives: each of its axes is an axis of one of them, with its extent.
static bool is_broadcast(const problem *x)
{
    int outer = x->c.tensor.ndim - 2;
    if (x->a.tensor.ndim != outer + 2 && x->b.tensor.ndim != outer + 2)
        return false;
    for (int d = 0; d < outer; d++) {
        int in_a = d - (outer + 2 - x->a.tensor.ndim), in_b = d - (outer + 2 - x->b.tensor.ndim);
        int64_t a = in_a < 0 ? 1 : x->a.shape[in_a], b = in_b < 0 ? 1 : x->b.shape[in_b], c = x->c.shape[d];
        if ((a != c && a != 1) || (b != c && b != 1) || (a == 1 && b == 1 && c != 1))
            return false;
    }
    return true;
}

static void each_element_once(void **unused)
{
    static problem x;
    int ran = 0;
    (void)unused;
    for (int n = 0; n < CASES; n++) {
        state = (uint64_t)n;
        below(2);
        make_problem(&x);
        if (!is_broadcast(&x))
            continue;
        expect(&x);
        hds_matmul_options options = HDS_MATMUL_OPTIONS;
        options.residual = x.has_residual ? &x.residual.tensor : NULL;
        if (hds_matmul(&x.a.tensor, &x.b.tensor, &x.c.tensor, &options, NULL) != HDSRT_OK)
            fail_msg("case %d: %s", n, hdsrt_last_error());
        int visited = 0;
        for (int at = 0; at < MOST_ELEMENTS; at++) {
            if (has_element[at] && expected[at].visits != 1)
                fail_msg("case %d: element %d is written %d times", n, at, expected[at].visits);
            visited += has_element[at];
        }
        assert_int_equal(visited, elements);
        ran++;
    }
    assert_true(ran > CASES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_element_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
