// Reads the text that tm_print and tm_layout_print write: a recursive-descent reader of just that much.
#pragma once

#include <stdlib.h>

#include "reference.h"

typedef struct reader {
    arena *arena;
    const char *at;
} reader;

static inline bool reads(reader *r, const char *text)
{
    size_t len = strlen(text);
    if (strncmp(r->at, text, len) != 0)
        return false;
    r->at += len;
    return true;
}

static inline void needs(reader *r, const char *text)
{
    if (!reads(r, text))
        fail_msg("expected '%s' at '%s'", text, r->at);
}

static inline int64_t read_int(reader *r)
{
    char *end;
    int64_t value = strtoll(r->at, &end, 10);
    if (end == r->at)
        fail_msg("expected a number at '%s'", r->at);
    r->at = end;
    return value;
}

// Numbers with ", " between, up to one of [ends]; gives how many.
static inline int read_ints(reader *r, int64_t *values)
{
    int count = 0;
    while (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) {
        values[count++] = read_int(r);
        if (strncmp(r->at, ", ", 2) == 0 && r->at[2] >= '0' && r->at[2] <= '9')
            r->at += 2;
    }
    return count;
}

static inline int read_int_list(reader *r, int *values)
{
    int64_t wide[TM_MAX_RANK];
    int count = read_ints(r, wide);
    for (int i = 0; i < count; i++)
        values[i] = (int)wide[i];
    return count;
}

static inline const tm_map *read_map(reader *r);

static inline const tm_map *read_map_call(reader *r)
{
    bool column = reads(r, "col_"), spatial = reads(r, "spatial");
    if (!spatial)
        needs(r, "repeat");
    bool ranked = reads(r, "_map([");
    if (!ranked)
        needs(r, "(");
    int64_t shape[TM_MAX_RANK];
    int ranks[TM_MAX_RANK], rank = read_ints(r, shape);
    for (int d = 0; d < rank; d++)
        ranks[d] = column ? rank - 1 - d : d;
    if (ranked) {
        needs(r, "], ranks=[");
        assert_int_equal(read_int_list(r, ranks), rank);
        needs(r, "]");
    }
    char attrs[100] = "";
    if (reads(r, ", attrs=\"")) {
        size_t len = strcspn(r->at, "\"");
        memcpy(attrs, r->at, len);
        r->at += len;
        needs(r, "\"");
    }
    needs(r, ")");
    tm_reason why;
    const tm_map *m =
        spatial ? tm_spatial(r->arena, rank, shape, ranks, &why) : tm_repeat(r->arena, rank, shape, ranks, attrs, &why);
    assert_non_null(m);
    return m;
}

static inline const tm_map *read_map_term(reader *r)
{
    const tm_map *m;
    if (reads(r, "(")) {
        m = read_map(r);
        needs(r, ")");
    } else {
        m = read_map_call(r);
    }
    for (;;) {
        if (reads(r, ".without(")) {
            m = tm_without(r->arena, m, (int)read_int(r), NULL);
            needs(r, ")");
        } else if (reads(r, ".projection({")) {
            m = tm_project(r->arena, m, (int)read_int(r), NULL);
            needs(r, ": 0})");
        } else {
            return m;
        }
        assert_non_null(m);
    }
}

static inline const tm_map *read_map(reader *r)
{
    const tm_map *m = read_map_term(r);
    while (reads(r, " * ")) {
        m = tm_compose(r->arena, m, read_map_term(r), NULL);
        assert_non_null(m);
    }
    return m;
}

static inline const tm_layout *read_layout(reader *r);

static inline const tm_layout *read_layout_call(reader *r)
{
    static const char *const names[] = {"row_major(", "column_major(", "local_layout("};
    static const tm_layout *(*const makers[])(arena *, int, const int64_t *, tm_reason *) = {
        tm_layout_row_major, tm_layout_column_major, tm_layout_local};
    int64_t shape[TM_MAX_RANK], strides[TM_MAX_RANK];
    int ranks[TM_MAX_RANK];
    const tm_layout *l = NULL;
    for (int i = 0; i < 3 && !l; i++)
        if (reads(r, names[i])) {
            int rank = read_ints(r, shape);
            l = makers[i](r->arena, rank, shape, NULL);
        }
    if (!l && reads(r, "register_layout(")) {
        l = tm_layout_of_map(r->arena, read_map(r));
    } else if (!l) {
        needs(r, "strided_layout([");
        int rank = read_ints(r, shape);
        if (reads(r, "], ranks=[")) {
            read_int_list(r, ranks);
            l = tm_layout_ranked(r->arena, rank, shape, ranks, NULL);
        } else {
            needs(r, "], strides=[");
            read_ints(r, strides);
            l = tm_layout_strided(r->arena, rank, shape, strides, NULL);
        }
        needs(r, "]");
    }
    needs(r, ")");
    assert_non_null(l);
    return l;
}

static inline const tm_layout *read_swizzle(reader *r, const tm_layout *base)
{
    int dim = (int)read_int(r), regards = -1, log_step = 0;
    if (reads(r, ", regards_dim="))
        regards = (int)read_int(r);
    if (reads(r, ", log_step="))
        log_step = (int)read_int(r);
    needs(r, ")");
    return tm_layout_swizzle(r->arena, base, dim, regards, log_step, NULL);
}

static inline const tm_layout *read_layout_method(reader *r, const tm_layout *base)
{
    int64_t numbers[TM_MAX_RANK];
    int perm[TM_MAX_RANK];
    if (reads(r, ".swizzle("))
        return read_swizzle(r, base);
    if (reads(r, ".xor(")) {
        assert_int_equal(read_ints(r, numbers), 3);
        needs(r, ")");
        return tm_layout_xor(r->arena, base, (int)numbers[0], (int)numbers[1], (int)numbers[2], NULL);
    }
    if (reads(r, ".permute([")) {
        read_int_list(r, perm);
        needs(r, "])");
        return tm_layout_permute(r->arena, base, perm, NULL);
    }
    needs(r, ".reshape([");
    int rank = read_ints(r, numbers);
    needs(r, "])");
    return tm_layout_reshape(r->arena, base, rank, numbers, NULL);
}

static inline const tm_layout *read_layout_term(reader *r)
{
    const tm_layout *l;
    if (reads(r, "(")) {
        l = read_layout(r);
        needs(r, ")");
    } else {
        l = read_layout_call(r);
    }
    while (*r->at == '.') {
        l = read_layout_method(r, l);
        assert_non_null(l);
    }
    return l;
}

static inline const tm_layout *read_layout_product(reader *r)
{
    const tm_layout *l = read_layout_term(r);
    while (reads(r, " * "))
        l = tm_layout_compose(r->arena, l, read_layout_term(r), NULL);
    return l;
}

static inline const tm_layout *read_layout(reader *r)
{
    const tm_layout *l = read_layout_product(r);
    while (reads(r, " + "))
        l = tm_layout_concat(r->arena, l, read_layout_product(r), NULL);
    return l;
}

static inline const tm_map *map_of(arena *a, const char *text)
{
    reader r = {a, text};
    const tm_map *m = read_map(&r);
    assert_string_equal(r.at, "");
    return m;
}

static inline const tm_layout *layout_of(arena *a, const char *text)
{
    reader r = {a, text};
    const tm_layout *l = read_layout(&r);
    assert_string_equal(r.at, "");
    return l;
}

static inline const char *map_text(arena *a, const tm_map *m)
{
    str_buf out;
    str_buf_init(&out, a);
    tm_print(m, &out);
    return str_text(&out);
}

static inline const char *layout_text(arena *a, const tm_layout *l)
{
    str_buf out;
    str_buf_init(&out, a);
    tm_layout_print(l, &out);
    return str_text(&out);
}
