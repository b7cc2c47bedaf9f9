// The syntax of mappings and layouts in the text form, as printed by tm_print and tm_layout_print.
//
//     map     product of factors:  repeat(2, 1) * spatial_map([4, 8], ranks=[1, 0]), each followed by methods
//     layout  sum of products of factors:  row_major(8, 64).swizzle(1) * column_major(2, 2)
#include "ir/read_priv.h"

#include <string.h>

typedef struct shape {
    int rank;
    int64_t at[TM_MAX_RANK];
} shape;

// The arguments of a constructor: a shape, spread out or as a list, then named ones.
typedef struct call {
    shape extents;
    bool has_ranks, has_strides;
    int ranks[TM_MAX_RANK];
    shape strides;
    const char *attrs;
} call;

static void read_numbers(reader *r, const char *close, shape *out)
{
    *out = (shape){0};
    while (!ir_read_at_sign(r, close)) {
        if (r->now.kind == T_NAME)
            return;
        if (out->rank == TM_MAX_RANK)
            ir_read_fail(r, r->now.span, "expected at most %d dimensions", TM_MAX_RANK);
        out->at[out->rank++] = ir_read_integer(r);
        if (!ir_read_take_sign(r, ","))
            return;
    }
}

static void read_list(reader *r, shape *out)
{
    ir_read_open(r, "[");
    read_numbers(r, "]", out);
    ir_read_close(r, "]");
}

static void small_numbers(reader *r, const shape *from, int *out)
{
    for (int i = 0; i < from->rank; i++) {
        if (from->at[i] < 0 || from->at[i] >= TM_MAX_RANK)
            ir_read_fail(r, r->now.span, "expected numbers from 0 to %d", TM_MAX_RANK - 1);
        out[i] = (int)from->at[i];
    }
}

static void read_named(reader *r, call *c)
{
    src_span span = r->now.span;
    shape list;
    if (ir_read_take_word(r, "ranks")) {
        ir_read_sign(r, "=");
        read_list(r, &list);
        small_numbers(r, &list, c->ranks);
        c->has_ranks = true;
        if (list.rank != c->extents.rank)
            ir_read_fail(r, span, "expected %d ranks, found %d", c->extents.rank, list.rank);
    } else if (ir_read_take_word(r, "strides")) {
        ir_read_sign(r, "=");
        read_list(r, &c->strides);
        c->has_strides = true;
        if (c->strides.rank != c->extents.rank)
            ir_read_fail(r, span, "expected %d strides, found %d", c->extents.rank, c->strides.rank);
    } else {
        ir_read_word(r, "attrs");
        ir_read_sign(r, "=");
        c->attrs = ir_read_string(r);
    }
}

static void read_call(reader *r, call *c)
{
    *c = (call){0};
    ir_read_open(r, "(");
    if (ir_read_at_sign(r, "[")) {
        read_list(r, &c->extents);
        if (!ir_read_at_sign(r, ")"))
            ir_read_sign(r, ",");
    } else {
        read_numbers(r, ")", &c->extents);
    }
    while (!ir_read_at_sign(r, ")")) {
        read_named(r, c);
        if (!ir_read_take_sign(r, ","))
            break;
    }
    ir_read_close(r, ")");
}

static _Noreturn void impossible(reader *r, src_span span, tm_reason why)
{
    ir_read_fail(r, span, "this cannot be built: %s", tm_reason_text(why));
}

static int read_one_int(reader *r)
{
    ir_read_open(r, "(");
    int value = ir_read_int_in(r, 0, TM_MAX_RANK);
    ir_read_close(r, ")");
    return value;
}

static void reverse_ranks(call *c)
{
    for (int i = 0; i < c->extents.rank; i++)
        c->ranks[i] = c->extents.rank - 1 - i;
    c->has_ranks = true;
}

// ---- mappings ----------------------------------------------------------------------------------------------------

static const tm_map *read_map_call(reader *r)
{
    src_span span = r->now.span;
    str name = ir_read_name(r, "a mapping");
    bool column = str_starts(name, STR("col_"));
    bool repeats = str_equal(name, STR("repeat")) || str_equal(name, STR("col_repeat")) ||
                   str_equal(name, STR("repeat_map"));
    bool spreads = str_equal(name, STR("spatial")) || str_equal(name, STR("col_spatial")) ||
                   str_equal(name, STR("spatial_map"));
    if (!repeats && !spreads)
        ir_read_fail(r, span, "expected a mapping, found '%.*s'", (int)name.len, name.at);
    call c;
    read_call(r, &c);
    if (column)
        reverse_ranks(&c);
    tm_reason why = TM_OK;
    const int *ranks = c.has_ranks ? c.ranks : NULL;
    const tm_map *m = repeats ? tm_repeat(r->arena, c.extents.rank, c.extents.at, ranks, c.attrs, &why)
                              : tm_spatial(r->arena, c.extents.rank, c.extents.at, ranks, &why);
    if (!m)
        impossible(r, span, why);
    return m;
}

// .projection({0: 0})
static int read_projected_dim(reader *r)
{
    ir_read_open(r, "(");
    ir_read_sign(r, "{");
    int dim = ir_read_int_in(r, 0, TM_MAX_RANK);
    ir_read_sign(r, ":");
    ir_read_int_in(r, 0, 0);
    ir_read_sign(r, "}");
    ir_read_close(r, ")");
    return dim;
}

static const tm_map *read_map_factor(reader *r)
{
    const tm_map *m;
    src_span span = r->now.span;
    ir_read_enter(r);
    if (ir_read_at_sign(r, "(")) {
        ir_read_open(r, "(");
        m = ir_read_map(r);
        ir_read_close(r, ")");
    } else {
        m = read_map_call(r);
    }
    while (ir_read_take_sign(r, ".")) {
        tm_reason why = TM_OK;
        bool drops = ir_read_take_word(r, "without");
        if (!drops)
            ir_read_word(r, "projection");
        int dim = drops ? read_one_int(r) : read_projected_dim(r);
        m = drops ? tm_without(r->arena, m, dim, &why) : tm_project(r->arena, m, dim, &why);
        if (!m)
            impossible(r, span, why);
    }
    ir_read_leave(r);
    return m;
}

const tm_map *ir_read_map(reader *r)
{
    src_span span = r->now.span;
    const tm_map *m = read_map_factor(r);
    while (ir_read_take_sign(r, "*")) {
        tm_reason why = TM_OK;
        m = tm_compose(r->arena, m, read_map_factor(r), &why);
        if (!m)
            impossible(r, span, why);
    }
    return m;
}

// ---- layouts -----------------------------------------------------------------------------------------------------

static const tm_layout *read_layout_call(reader *r)
{
    src_span span = r->now.span;
    tm_reason why = TM_OK;
    const tm_layout *l = NULL;
    str name = ir_read_name(r, "a layout");
    if (str_equal(name, STR("register_layout"))) {
        ir_read_open(r, "(");
        l = tm_layout_of_map(r->arena, ir_read_map(r));
        ir_read_close(r, ")");
        return l;
    }
    call c;
    read_call(r, &c);
    if (str_equal(name, STR("row_major")))
        l = tm_layout_row_major(r->arena, c.extents.rank, c.extents.at, &why);
    else if (str_equal(name, STR("column_major")))
        l = tm_layout_column_major(r->arena, c.extents.rank, c.extents.at, &why);
    else if (str_equal(name, STR("local_layout")))
        l = tm_layout_local(r->arena, c.extents.rank, c.extents.at, &why);
    else if (str_equal(name, STR("strided_layout")) && c.has_ranks)
        l = tm_layout_ranked(r->arena, c.extents.rank, c.extents.at, c.ranks, &why);
    else if (str_equal(name, STR("strided_layout")) && c.has_strides)
        l = tm_layout_strided(r->arena, c.extents.rank, c.extents.at, c.strides.at, &why);
    else
        ir_read_fail(r, span, "expected a layout, found '%.*s'", (int)name.len, name.at);
    if (!l)
        impossible(r, span, why);
    return l;
}

static const tm_layout *read_swizzle(reader *r, const tm_layout *base, tm_reason *why)
{
    int regards = -1, log_step = 0;
    ir_read_open(r, "(");
    int dim = ir_read_int_in(r, 0, TM_MAX_RANK);
    while (ir_read_take_sign(r, ",")) {
        bool names_dim = ir_read_take_word(r, "regards_dim");
        if (!names_dim)
            ir_read_word(r, "log_step");
        ir_read_sign(r, "=");
        int value = ir_read_int_in(r, 0, 62);
        *(names_dim ? &regards : &log_step) = value;
    }
    ir_read_close(r, ")");
    return tm_layout_swizzle(r->arena, base, dim, regards, log_step, why);
}

static const tm_layout *read_xor(reader *r, const tm_layout *base, tm_reason *why)
{
    int value[3];
    ir_read_open(r, "(");
    for (int i = 0; i < 3; i++) {
        if (i)
            ir_read_sign(r, ",");
        value[i] = ir_read_int_in(r, 0, 62);
    }
    ir_read_close(r, ")");
    return tm_layout_xor(r->arena, base, value[0], value[1], value[2], why);
}

static const tm_layout *read_list_method(reader *r, const tm_layout *base, bool reshapes, tm_reason *why)
{
    shape list;
    int perm[TM_MAX_RANK] = {0};
    src_span span = r->now.span;
    ir_read_open(r, "(");
    read_list(r, &list);
    ir_read_close(r, ")");
    if (reshapes)
        return tm_layout_reshape(r->arena, base, list.rank, list.at, why);
    if (list.rank != base->rank)
        ir_read_fail(r, span, "expected %d dimensions, found %d", base->rank, list.rank);
    small_numbers(r, &list, perm);
    return tm_layout_permute(r->arena, base, perm, why);
}

static const tm_layout *read_method(reader *r, const tm_layout *base, tm_reason *why)
{
    if (ir_read_take_word(r, "swizzle"))
        return read_swizzle(r, base, why);
    if (ir_read_take_word(r, "xor"))
        return read_xor(r, base, why);
    bool reshapes = ir_read_take_word(r, "reshape");
    if (!reshapes)
        ir_read_word(r, "permute");
    return read_list_method(r, base, reshapes, why);
}

static const tm_layout *read_layout_factor(reader *r)
{
    const tm_layout *l;
    src_span span = r->now.span;
    ir_read_enter(r);
    r->height = 0;
    if (ir_read_at_sign(r, "(")) {
        ir_read_open(r, "(");
        l = ir_read_layout(r);
        ir_read_close(r, ")");
    } else {
        l = read_layout_call(r);
    }
    while (ir_read_take_sign(r, ".")) {
        tm_reason why = TM_OK;
        l = read_method(r, l, &why);
        if (!l)
            impossible(r, span, why);
        ir_read_grow(r, r->height);
    }
    ir_read_leave(r);
    return l;
}

typedef const tm_layout *layout_join(arena *a, const tm_layout *outer, const tm_layout *inner, tm_reason *why);

static const tm_layout *join(reader *r, layout_join *make, const tm_layout *left, const tm_layout *right, int height,
                             src_span span)
{
    tm_reason why = TM_OK;
    const tm_layout *l = make(r->arena, left, right, &why);
    if (!l)
        impossible(r, span, why);
    ir_read_grow(r, r->height > height ? r->height : height);
    return l;
}

static const tm_layout *read_layout_product(reader *r)
{
    src_span span = r->now.span;
    const tm_layout *l = read_layout_factor(r);
    while (ir_read_take_sign(r, "*")) {
        int height = r->height;
        const tm_layout *inner = read_layout_factor(r);
        l = join(r, tm_layout_compose, l, inner, height, span);
    }
    return l;
}

const tm_layout *ir_read_layout(reader *r)
{
    src_span span = r->now.span;
    const tm_layout *l = read_layout_product(r);
    while (ir_read_take_sign(r, "+")) {
        int height = r->height;
        const tm_layout *inner = read_layout_product(r);
        l = join(r, tm_layout_concat, l, inner, height, span);
    }
    return l;
}
