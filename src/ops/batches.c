#include "ops/product.h"

enum { A, B, C, RESIDUAL, TENSORS };

static void drop_axis(ops_call *call, int axis)
{
    call->axes--;
    for (int d = axis; d < call->axes; d++) {
        call->extents[d] = call->extents[d + 1];
        for (int i = 0; i < TENSORS; i++)
            call->strides[i][d] = call->strides[i][d + 1];
    }
}

// Whether the axes [d] and [d + 1] can be merged in each tensor, with the strides of the inner one.
static bool are_joined(const ops_call *call, int d)
{
    for (int i = 0; i < TENSORS; i++) {
        if (call->strides[i][d] != call->strides[i][d + 1] * call->extents[d + 1])
            return false;
    }
    return true;
}

// The rows of all matrices are those of one matrix if each begins where the previous one ends. b is the same for all.
static bool are_rows_of_one(const ops_call *call)
{
    const ops_product *p = &call->product;
    int d = call->axes - 1;
    bool has_residual = p->residual.data;
    return call->strides[B][d] == 0 && p->a.order == OPS_ROWS && call->strides[A][d] == p->m * p->a.pitch &&
           call->strides[C][d] == p->m * p->c.pitch &&
           (!has_residual || call->strides[RESIDUAL][d] == p->m * p->residual.pitch) &&
           call->extents[d] <= OPS_MOST_EXTENT / (p->m ? p->m : 1);
}

// A single row has no pitch: use the one that the rows of several matrices would have.
static void space_single_rows(ops_call *call)
{
    ops_product *p = &call->product;
    int d = call->axes - 1;
    if (p->m != 1 || p->a.order != OPS_ROWS || call->strides[A][d] < p->k || call->strides[C][d] < p->n)
        return;
    if (p->residual.data && call->strides[RESIDUAL][d] < p->n)
        return;
    p->a.pitch = call->strides[A][d];
    p->c.pitch = call->strides[C][d];
    p->residual.pitch = call->strides[RESIDUAL][d];
}

void ops_join_batches(ops_call *call)
{
    for (int d = call->axes - 1; d >= 0; d--) {
        if (call->extents[d] == 1)
            drop_axis(call, d);
    }
    for (int d = call->axes - 2; d >= 0; d--) {
        if (are_joined(call, d)) {
            call->extents[d + 1] *= call->extents[d];
            drop_axis(call, d);
        }
    }
    if (call->axes)
        space_single_rows(call);
    if (call->axes && are_rows_of_one(call)) {
        call->product.m *= call->extents[call->axes - 1];
        call->axes--;
    }
}

int64_t ops_launches(const ops_call *call)
{
    int64_t count = 1;
    for (int d = 0; d < call->axes - 1; d++)
        count *= call->extents[d];
    return count;
}

static void move(ops_matrices *m, int64_t elements, int element_bytes)
{
    if (m->data)
        m->data += elements * element_bytes;
}

ops_product ops_product_at(const ops_call *call, int64_t index)
{
    ops_product p = call->product;
    ops_matrices *matrices[TENSORS] = {&p.a, &p.b, &p.c, &p.residual};
    int last = call->axes - 1;
    if (last >= 0)
        p.batch = call->extents[last];
    for (int i = 0; i < TENSORS && last >= 0; i++)
        matrices[i]->batch = call->strides[i][last];
    for (int d = last - 1; d >= 0; d--) {
        for (int i = 0; i < TENSORS; i++)
            move(matrices[i], index % call->extents[d] * call->strides[i][d], call->element_bytes[i]);
        index /= call->extents[d];
    }
    return p;
}
