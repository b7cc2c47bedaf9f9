#include "graph/amount.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

fg_amount fg_amount_of(int64_t n)
{
    return (fg_amount){.factor = n};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static fg_amount in_order(fg_amount x)
{
    if (x.names.len)
        qsort(x.names.at, x.names.len, sizeof *x.names.at, compare_names);
    return x;
}

// The end of what is multiplied first in [text]: " * " outside of brackets, or the end of the text. NULL: the text is a sum.
static const char *end_of_factor(const char *text)
{
    int depth = 0;
    const char *end = NULL;
    for (const char *at = text; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0 && (strncmp(at, " + ", 3) == 0 || strncmp(at, " - ", 3) == 0))
            return NULL;
        if (depth == 0 && !end && strncmp(at, " * ", 3) == 0)
            end = at;
    }
    return end ? end : text + strlen(text);
}

fg_amount fg_extent_amount(arena *a, const fg_tensor *t, int axis)
{
    fg_amount x = {.factor = 1};
    const char *text = t->extent[axis];
    if (!text)
        return fg_amount_of(t->shape[axis]);
    if (!end_of_factor(text) || *text == '-') {
        VEC_PUSH(a, &x.names, text);
        return x;
    }
    while (*text) {
        const char *end = end_of_factor(text);
        if (*text >= '0' && *text <= '9')
            x.factor = strtoll(text, NULL, 10);
        else
            VEC_PUSH(a, &x.names, arena_printf(a, "%.*s", (int)(end - text), text));
        text = *end ? end + 3 : end;
    }
    return in_order(x);
}

fg_amount fg_times(arena *a, const fg_amount *x, const fg_amount *y)
{
    fg_amount product = {0};
    if (__builtin_mul_overflow(x->factor, y->factor, &product.factor))
        product.factor = (x->factor < 0) == (y->factor < 0) ? INT64_MAX : INT64_MIN;
    for (size_t i = 0; i < x->names.len && product.factor; i++)
        VEC_PUSH(a, &product.names, x->names.at[i]);
    for (size_t i = 0; i < y->names.len && product.factor; i++)
        VEC_PUSH(a, &product.names, y->names.at[i]);
    return in_order(product);
}

static bool has_same_names(const fg_amount *x, const fg_amount *y)
{
    bool same = x->names.len == y->names.len;
    for (size_t i = 0; same && i < x->names.len; i++)
        same = strcmp(x->names.at[i], y->names.at[i]) == 0;
    return same;
}

bool fg_plus(const fg_amount *x, const fg_amount *y, fg_amount *out)
{
    const fg_amount one = *x, other = *y;
    *out = one.factor ? one : other;
    if (!one.factor || !other.factor)
        return true;
    if (!has_same_names(&one, &other) || __builtin_add_overflow(one.factor, other.factor, &out->factor))
        return false;
    if (!out->factor)
        *out = fg_amount_of(0);
    return true;
}

bool fg_same_amount(const fg_amount *x, const fg_amount *y)
{
    return x->factor == y->factor && has_same_names(x, y);
}

bool fg_is_amount(const fg_amount *x, int64_t n)
{
    return x->factor == n && !x->names.len;
}

bool fg_is_proper_part(const fg_amount *x, const fg_amount *y)
{
    size_t found = 0;
    for (size_t k = 0; k < y->names.len && found < x->names.len; k++)
        found += strcmp(x->names.at[found], y->names.at[k]) == 0;
    return found == x->names.len && x->factor && y->factor % x->factor == 0 && !fg_same_amount(x, y);
}

const char *fg_amount_text(arena *a, const fg_amount *x)
{
    str_buf out;
    str_buf_init(&out, a);
    if (x->factor != 1 || !x->names.len)
        str_addf(&out, "%" PRId64, x->factor);
    for (size_t i = 0; i < x->names.len; i++)
        str_addf(&out, "%si64(%s)", out.len ? " * " : "", x->names.at[i]);
    return str_text(&out);
}

bool fg_is_single(const fg_tensor *t, int axis)
{
    return !t->extent[axis] && t->shape[axis] == 1;
}

fg_layout fg_row_major(arena *a, const fg_tensor *t)
{
    fg_layout out = {.base = t->number};
    fg_amount step = fg_amount_of(1);
    for (int d = t->rank; d-- > 0;) {
        const fg_amount extent = fg_extent_amount(a, t, d);
        if (!fg_is_single(t, d))
            out.strides[d] = step;
        step = fg_times(a, &step, &extent);
    }
    return out;
}

bool fg_has_rows_in_order(arena *a, const fg_tensor *t, const fg_layout *layout)
{
    const fg_layout own = fg_row_major(a, t);
    bool same = true;
    for (int d = 0; d < t->rank && same; d++)
        same = fg_is_single(t, d) || fg_same_amount(&own.strides[d], &layout->strides[d]);
    return same;
}
