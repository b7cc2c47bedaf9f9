// Layouts as source text.

#include "taskmap/layout.h"

#include "taskmap/taskmap_priv.h"

static bool has_strides(const tm_layout *l, const int64_t *strides)
{
    for (int d = 0; d < l->rank; d++)
        if (l->shape[d] > 1 && l->strides[d] != strides[d])
            return false;
    return true;
}

static void dense_strides(const tm_layout *l, bool row, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = 0; i < l->rank; i++) {
        int d = row ? l->rank - 1 - i : i;
        strides[d] = stride;
        stride *= l->shape[d];
    }
}

// The ranks that give these strides, if any do: dimensions by falling stride, those of extent 1 first.
static bool ranks_of(const tm_layout *l, int64_t *ranks)
{
    int order[TM_MAX_RANK], count = 0;
    for (int d = 0; d < l->rank; d++) {
        int i = count++;
        bool one = l->shape[d] == 1;
        for (; i > 0 && l->shape[order[i - 1]] > 1 && (one || l->strides[order[i - 1]] < l->strides[d]); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    int64_t stride = 1;
    for (int i = l->rank - 1; i >= 0; i--) {
        int d = order[i];
        if (l->shape[d] > 1 && l->strides[d] != stride)
            return false;
        stride *= l->shape[d];
        ranks[d] = i;
    }
    return true;
}

static void print_call(const char *name, const tm_layout *l, str_buf *out)
{
    str_addf(out, "%s(", name);
    tm_print_list(l->rank, l->shape, out);
    str_addc(out, ')');
}

static void print_strided(const tm_layout *l, str_buf *out)
{
    static const int64_t zeros[TM_MAX_RANK];
    int64_t row[TM_MAX_RANK], column[TM_MAX_RANK], ranks[TM_MAX_RANK];
    dense_strides(l, true, row);
    dense_strides(l, false, column);
    if (has_strides(l, row)) {
        print_call("row_major", l, out);
        return;
    }
    if (has_strides(l, column) || has_strides(l, zeros)) {
        print_call(has_strides(l, zeros) ? "local_layout" : "column_major", l, out);
        return;
    }
    str_adds(out, "strided_layout([");
    tm_print_list(l->rank, l->shape, out);
    bool ranked = ranks_of(l, ranks);
    str_adds(out, ranked ? "], ranks=[" : "], strides=[");
    tm_print_list(l->rank, ranked ? ranks : l->strides, out);
    str_adds(out, "])");
}

// How tightly an operand's text binds: a sum, a product, or anything that needs no parentheses.
static int binding(const tm_layout *l)
{
    return l->kind == TM_LAYOUT_CONCAT ? 0 : l->kind == TM_LAYOUT_COMPOSE ? 1 : 2;
}

static void print_operand(const tm_layout *l, int at_least, str_buf *out)
{
    bool parens = binding(l) < at_least;
    if (parens)
        str_addc(out, '(');
    tm_layout_print(l, out);
    if (parens)
        str_addc(out, ')');
}

static void print_swizzle(const tm_layout *l, str_buf *out)
{
    str_addf(out, ".swizzle(%d", l->dim);
    if (l->rank != 2)
        str_addf(out, ", regards_dim=%d", l->regards);
    if (l->log_step)
        str_addf(out, ", log_step=%d", l->log_step);
    str_addc(out, ')');
}

static void print_perm(const tm_layout *l, str_buf *out)
{
    str_adds(out, ".permute([");
    for (int d = 0; d < l->rank; d++)
        str_addf(out, "%s%d", d ? ", " : "", l->perm[d]);
    str_adds(out, "])");
}

void tm_layout_print(const tm_layout *l, str_buf *out)
{
    switch (l->kind) {
    case TM_LAYOUT_STRIDED:
        print_strided(l, out);
        return;
    case TM_LAYOUT_COMPOSE:
        print_operand(l->outer, 1, out);
        str_adds(out, " * ");
        print_operand(l->inner, 2, out);
        return;
    case TM_LAYOUT_CONCAT:
        print_operand(l->outer, 0, out);
        str_adds(out, " + ");
        print_operand(l->inner, 1, out);
        return;
    case TM_LAYOUT_MAPPING:
        str_adds(out, "register_layout(");
        tm_print(l->map, out);
        str_addc(out, ')');
        return;
    case TM_LAYOUT_SWIZZLE:
    case TM_LAYOUT_XOR:
    case TM_LAYOUT_RESHAPE:
    case TM_LAYOUT_PERMUTE:
        break;
    }
    print_operand(l->inner, 2, out);
    if (l->kind == TM_LAYOUT_SWIZZLE) {
        print_swizzle(l, out);
    } else if (l->kind == TM_LAYOUT_XOR) {
        str_addf(out, ".xor(%d, %d, %d)", l->bits, l->base_bits, l->shift);
    } else if (l->kind == TM_LAYOUT_PERMUTE) {
        print_perm(l, out);
    } else {
        str_adds(out, ".reshape([");
        tm_print_list(l->rank, l->shape, out);
        str_adds(out, "])");
    }
}
