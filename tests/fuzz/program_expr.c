// Expressions of random programs: text, type, interval.
#include <string.h>

#include "program.h"

static const dtype ints[] = {DT_I8, DT_I16, DT_I32, DT_I64, DT_U8, DT_U16, DT_U32, DT_U64};
static const dtype floats[] = {DT_F16, DT_BF16, DT_F32, DT_F64};

dtype pg_int_type(pg *g)
{
    return pg_one_in(g, 2) ? DT_I32 : ints[pg_below(g, 8)];
}

dtype pg_float_type(pg *g)
{
    return pg_one_in(g, 2) ? DT_F32 : floats[pg_below(g, 4)];
}

dtype pg_number_type(pg *g)
{
    return pg_below(g, 5) < 3 ? pg_int_type(g) : pg_float_type(g);
}

// ---- intervals -----------------------------------------------------------------------------------------------------

pg_range pg_range_of_type(dtype t)
{
    if (t == DT_BOOL)
        return (pg_range){0, 1};
    return (pg_range){dt_min(t), (pg_wide)dt_max_bits(t)};
}

static bool is_inside(pg_range r, pg_range within)
{
    return r.low >= within.low && r.high <= within.high;
}

static pg_wide least(pg_wide a, pg_wide b) { return a < b ? a : b; }
static pg_wide most(pg_wide a, pg_wide b) { return a > b ? a : b; }

static pg_range joined(pg_range a, pg_range b)
{
    return (pg_range){least(a.low, b.low), most(a.high, b.high)};
}

pg_range pg_range_for(pg *g, dtype t)
{
    if (dt_is_float(t) || t == DT_BOOL)
        return (pg_range){0, 1};
    pg_range all = pg_range_of_type(t);
    static const int64_t highs[] = {3, 7, 15, 31, 100, 127, 1000, 30000, 1000000};
    pg_wide high = highs[pg_below(g, 9)], low = pg_one_in(g, 2) ? 0 : -high;
    if (pg_one_in(g, 8))
        return all;
    return (pg_range){most(low, all.low), least(high, all.high)};
}

static const char *number_text(pg *g, pg_wide n)
{
    if (n >= 0)
        return arena_printf(g->arena, "%llu", (unsigned long long)n);
    if (n == INT64_MIN)
        return "(-9223372036854775807 - 1)";
    return arena_printf(g->arena, "(-%lld)", (long long)-n);
}

// ---- putting a value into an interval --------------------------------------------------------------------------------

static pg_value clamp(pg *g, pg_value v, pg_range within)
{
    const char *low = number_text(g, within.low), *high = number_text(g, within.high);
    v.text = arena_printf(g->arena, "max(min(%s, %s), %s)", v.text, high, low);
    v.range = within;
    return v;
}

static pg_value fit(pg *g, dtype t, pg_value v, pg_range within)
{
    if (is_inside(v.range, within))
        return v;
    pg_wide extent = within.high - within.low + 1;
    pg_range all = pg_range_of_type(t);
    if (extent > all.high || within.low < all.low || within.high > all.high || pg_one_in(g, 4))
        return clamp(g, v, (pg_range){most(within.low, all.low), least(within.high, all.high)});
    if (within.low == 0 && (extent & (extent - 1)) == 0 && pg_one_in(g, 2))
        v.text = arena_printf(g->arena, "(%s & %s)", v.text, number_text(g, extent - 1));
    else if (within.low == 0)
        v.text = arena_printf(g->arena, "(%s %% %s)", v.text, number_text(g, extent));
    else
        v.text = arena_printf(g->arena, "((%s %% %s) + %s)", v.text, number_text(g, extent), number_text(g, within.low));
    v.range = within;
    return v;
}

pg_value pg_expr_in(pg *g, dtype t, pg_range within, int depth)
{
    pg_value v = pg_expr(g, t, depth);
    return dt_is_int(t) ? fit(g, t, v, within) : v;
}

// ---- leaves --------------------------------------------------------------------------------------------------------

static const pg_var *pick_var(pg *g, bool (*fits)(dtype, dtype), dtype t)
{
    for (int tries = 0; tries < 12 && g->vars.len; tries++) {
        const pg_var *v = &g->vars.at[pg_below(g, (int)g->vars.len)];
        if (fits(v->type, t))
            return v;
    }
    return NULL;
}

static bool is_same(dtype a, dtype b) { return a == b; }
static bool is_number(dtype a, dtype b) { return (void)b, a != DT_BOOL; }

static const char *float_literal(pg *g)
{
    static const char *const texts[] = {"0.0", "1.0", "0.5", "2.0", "3.0", "0.1", "1.5", "100.0", "1e-3", "65504.0", "1e-7", "7.25"};
    const char *text = texts[pg_below(g, 12)];
    return pg_one_in(g, 3) ? arena_printf(g->arena, "(-%s)", text) : text;
}

static pg_wide some_int(pg *g, pg_range within)
{
    static const int64_t usual[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 100, 127, 255, 1000};
    pg_wide n = usual[pg_below(g, 16)];
    if (pg_one_in(g, 3))
        n = -n;
    if (pg_one_in(g, 12))
        n = pg_one_in(g, 2) ? within.low : within.high;
    return n < within.low || n > within.high ? most(within.low, least(1, within.high)) : n;
}

static pg_value literal(pg *g, dtype t)
{
    if (dt_is_float(t))
        return (pg_value){arena_printf(g->arena, "%s(%s)", dt_name(t), float_literal(g)), {0, 0}};
    pg_wide n = some_int(g, pg_range_of_type(t));
    return (pg_value){arena_printf(g->arena, "%s(%s)", dt_name(t), number_text(g, n)), {n, n}};
}

static pg_value converted(pg *g, dtype from, dtype to, pg_value v);

static pg_value leaf(pg *g, dtype t)
{
    const pg_var *v = pick_var(g, is_same, t);
    if (v && !pg_one_in(g, 6))
        return (pg_value){v->name, v->range};
    const pg_var *other = pick_var(g, is_number, t);
    if (other && !pg_one_in(g, 3))
        return converted(g, other->type, t, (pg_value){other->name, other->range});
    return literal(g, t);
}

// ---- conversions -----------------------------------------------------------------------------------------------------

// A float that is never a NaN and has so small a size that every integer type from [t] on holds it.
static const char *tame(pg *g, const char *text, dtype t)
{
    const char *high = dt_bits(t) == 8 ? "100.0" : "1000.0", *low = dt_is_signed(t) ? arena_printf(g->arena, "-%s", high) : "0.0";
    return arena_printf(g->arena, "max(min(%s, %s), %s)", text, high, low);
}

static pg_value converted(pg *g, dtype from, dtype to, pg_value v)
{
    pg_value r = {arena_printf(g->arena, "%s(%s)", dt_name(to), v.text), {0, 1}};
    if (dt_is_float(to))
        return r;
    if (dt_is_float(from)) {
        r.text = arena_printf(g->arena, "%s(%s)", dt_name(to), tame(g, v.text, to));
        pg_wide high = dt_bits(to) == 8 ? 100 : 1000;
        r.range = (pg_range){dt_is_signed(to) ? -high : 0, high};
    } else {
        r.range = is_inside(v.range, pg_range_of_type(to)) ? v.range : pg_range_of_type(to);
    }
    return r;
}

static dtype same_width(dtype t)
{
    switch (t) {
    case DT_I32: return DT_U32;
    case DT_U32: return DT_I32;
    case DT_I64: return DT_U64;
    case DT_U64: return DT_I64;
    case DT_I16: return DT_U16;
    case DT_U16: return DT_I16;
    case DT_I8: return DT_U8;
    case DT_U8: return DT_I8;
    case DT_F32: return DT_U32;
    case DT_F64: return DT_U64;
    case DT_F16: return DT_U16;
    default: return DT_U16;
    }
}

// The bits of NaNs are unspecified: floats are tamed before their bits are looked at.
static pg_value same_bits(pg *g, dtype t, int depth)
{
    static const dtype float_of[] = {[DT_U32] = DT_F32, [DT_U64] = DT_F64, [DT_U16] = DT_F16};
    bool from_float = (t == DT_U32 || t == DT_U64 || t == DT_U16) && pg_one_in(g, 2);
    dtype from = from_float ? t == DT_U16 && pg_one_in(g, 2) ? DT_BF16 : float_of[t] : same_width(t);
    pg_value v = pg_expr(g, from, depth - 1);
    const char *text = from_float ? tame(g, v.text, DT_I32) : v.text;
    pg_range range = dt_is_float(t) ? (pg_range){0, 1} : pg_range_of_type(t);
    return (pg_value){arena_printf(g->arena, "bitcast(%s, %s)", text, dt_name(t)), range};
}

static pg_value cast(pg *g, dtype t, int depth)
{
    if (dt_is_float(t) && pg_one_in(g, 6)) {
        static const dtype narrow[] = {DT_F8E4M3, DT_F8E5M2, DT_TF32};
        dtype through = narrow[pg_below(g, 3)];
        pg_value v = pg_expr(g, DT_F32, depth - 1);
        return (pg_value){arena_printf(g->arena, "%s(f32(%s(%s)))", dt_name(t), dt_name(through), v.text), {0, 1}};
    }
    if (pg_one_in(g, 6))
        return (pg_value){arena_printf(g->arena, "%s(%s)", dt_name(t), pg_bool(g, depth - 1)), {0, 1}};
    if (pg_one_in(g, 4))
        return same_bits(g, t, depth);
    dtype from = pg_number_type(g);
    return from == t ? pg_expr(g, t, depth - 1) : converted(g, from, t, pg_expr(g, from, depth - 1));
}

// ---- elements ------------------------------------------------------------------------------------------------------

const char *pg_index(pg *g, int64_t low, int64_t high, int depth)
{
    if (low == high || pg_one_in(g, 5))
        return number_text(g, low + pg_below(g, (int)(high - low + 1)));
    dtype t = pg_one_in(g, 6) ? pg_int_type(g) : DT_I32;
    pg_range within = {low, high};
    if (!is_inside(within, pg_range_of_type(t)))
        t = DT_I32;
    return pg_expr_in(g, t, within, depth).text;
}

const char *pg_indices(pg *g, const pg_array *a, int depth)
{
    const char *text = a->before ? a->before : "";
    for (int d = 0; d < a->rank; d++) {
        int64_t low = a->is_guarded_only ? -4 : 0, high = a->extent[d] - 1 + (a->is_guarded_only ? 5 : 0);
        text = arena_printf(g->arena, "%s%s%s", text, *text ? ", " : "", pg_index(g, low, high, depth));
    }
    return arena_printf(g->arena, "[%s]", text);
}

static bool element(pg *g, dtype t, int depth, pg_value *out)
{
    const pg_array *a = NULL;
    for (int tries = 0; tries < 8 && !a && g->arrays.len; tries++) {
        const pg_array *candidate = &g->arrays.at[pg_below(g, (int)g->arrays.len)];
        if (candidate->type == t)
            a = candidate;
    }
    if (!a)
        return false;
    bool can_guard = !a->is_pointer && !a->before;
    if (!a->is_guarded_only && !(can_guard && pg_one_in(g, 6))) {
        *out = (pg_value){arena_printf(g->arena, "%s%s", a->name, pg_indices(g, a, depth - 1)), a->range};
        return true;
    }
    pg_array guarded = *a;
    guarded.is_guarded_only = true;
    pg_value outside = pg_one_in(g, 3) ? literal(g, t) : pg_expr(g, t, depth - 2);
    out->text = arena_printf(g->arena, "%s.read(%s, outside=%s)", a->name, pg_indices(g, &guarded, depth - 1), outside.text);
    out->range = joined(a->range, outside.range);
    return true;
}

// ---- calls ---------------------------------------------------------------------------------------------------------

const char *pg_call(pg *g, const pg_function *f, const char *name, int depth)
{
    const char *text = "";
    for (int i = 0; i < f->param_count; i++) {
        pg_value v = pg_expr_in(g, f->params[i].type, f->params[i].range, depth - 1);
        text = arena_printf(g->arena, "%s%s%s", text, i ? ", " : "", v.text);
    }
    return arena_printf(g->arena, "%s(%s)", name, text);
}

static bool call(pg *g, dtype t, int depth, pg_value *out)
{
    for (int tries = 0; tries < 4; tries++) {
        if (g->functions.len && pg_one_in(g, 2)) {
            const pg_function *f = &g->functions.at[pg_below(g, (int)g->functions.len)];
            if (f->result == t) {
                *out = (pg_value){pg_call(g, f, f->name, depth), f->range};
                return true;
            }
        } else if (g->record_vars.len) {
            int k = pg_below(g, (int)g->record_vars.len);
            const pg_record *r = &g->records.at[g->record_of.at[k]];
            if (r->read.result == t) {
                *out = (pg_value){pg_call(g, &r->read, arena_printf(g->arena, "%s.get", g->record_vars.at[k]), depth), r->read.range};
                return true;
            }
        }
    }
    return false;
}

// ---- integers --------------------------------------------------------------------------------------------------------

// The other operand: of the type itself, or of one that is converted to it, or a literal.
static pg_value right_operand(pg *g, dtype t, int depth)
{
    if (pg_one_in(g, 4)) {
        pg_wide n = dt_is_float(t) ? 0 : some_int(g, pg_range_of_type(t));
        return (pg_value){dt_is_float(t) ? float_literal(g) : number_text(g, n), {n, n}};
    }
    if (pg_one_in(g, 6)) {
        dtype other = pg_one_in(g, 3) && dt_is_float(t) ? pg_float_type(g) : pg_int_type(g);
        if (other != t && dt_promote(t, other) == t && (dt_is_float(t) || dt_is_int(other)))
            return pg_expr(g, other, depth - 1);
    }
    return pg_expr(g, t, depth - 1);
}

static pg_range all_bits(pg_range a, pg_range b)
{
    pg_wide high = 1;
    while (high <= most(most(a.high, b.high), most(-(a.low + 1), -(b.low + 1))))
        high *= 2;
    return (pg_range){a.low < 0 || b.low < 0 ? -high : 0, high - 1};
}

// The operand cut so that sums, or products, of two stay inside the type.
static pg_value cut(pg *g, dtype t, pg_value v, bool for_product)
{
    if (!dt_is_signed(t))
        return v;
    int bits = for_product ? dt_bits(t) / 2 - 1 : dt_bits(t) - 2;
    pg_wide most_of_it = (pg_wide)1 << bits;
    return fit(g, t, v, (pg_range){-most_of_it, most_of_it - 1});
}

static pg_range wrapped(dtype t, pg_range r)
{
    return is_inside(r, pg_range_of_type(t)) ? r : pg_range_of_type(t);
}

static pg_value sum(pg *g, dtype t, int depth)
{
    pg_value a = cut(g, t, pg_expr(g, t, depth - 1), false), b = right_operand(g, t, depth);
    if (!is_inside(b.range, pg_range_of_type(t)) ||
        (dt_is_signed(t) && !is_inside(b.range, (pg_range){pg_range_of_type(t).low / 2, pg_range_of_type(t).high / 2})))
        b = cut(g, t, pg_expr(g, t, depth - 1), false);
    bool minus = pg_one_in(g, 2);
    pg_range r = minus ? (pg_range){a.range.low - b.range.high, a.range.high - b.range.low}
                       : (pg_range){a.range.low + b.range.low, a.range.high + b.range.high};
    return (pg_value){arena_printf(g->arena, "(%s %s %s)", a.text, minus ? "-" : "+", b.text), wrapped(t, r)};
}

static pg_range times(pg_range a, pg_range b)
{
    pg_wide p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return (pg_range){least(least(p[0], p[1]), least(p[2], p[3])), most(most(p[0], p[1]), most(p[2], p[3]))};
}

static pg_value product(pg *g, dtype t, int depth)
{
    pg_value a = cut(g, t, pg_expr(g, t, depth - 1), true), b = cut(g, t, pg_expr(g, t, depth - 1), true);
    if (pg_one_in(g, 2)) {
        pg_wide n = 1 + pg_below(g, dt_bits(t) == 8 ? 7 : 100);
        b = (pg_value){number_text(g, n), {n, n}};
    }
    bool fits_anyway = dt_bits(t) < 64 || dt_is_signed(t);
    pg_range r = fits_anyway ? wrapped(t, times(a.range, b.range)) : pg_range_of_type(t);
    return (pg_value){arena_printf(g->arena, "(%s * %s)", a.text, b.text), r};
}

static pg_value divisor(pg *g, dtype t, int depth)
{
    if (pg_one_in(g, 2)) {
        pg_wide n = 1 + pg_below(g, pg_one_in(g, 2) ? 8 : 100);
        if (pg_one_in(g, 2))
            n = (pg_wide)1 << pg_below(g, 6);
        if (dt_is_signed(t) && pg_one_in(g, 5))
            n = -n;
        return (pg_value){number_text(g, n), {n, n}};
    }
    return fit(g, t, pg_expr(g, t, depth - 1), (pg_range){1, 1 + pg_below(g, 100)});
}

static pg_value division(pg *g, dtype t, int depth)
{
    pg_value a = pg_expr(g, t, depth - 1), b = divisor(g, t, depth);
    if (a.range.low == pg_range_of_type(t).low && dt_is_signed(t))
        a = cut(g, t, a, false);
    if (pg_one_in(g, 2)) {
        pg_wide bound = most(b.range.high, -b.range.low) - 1;
        pg_range r = b.range.low < 0 ? (pg_range){-bound, 0} : (pg_range){0, bound};
        return (pg_value){arena_printf(g->arena, "(%s %% %s)", a.text, b.text), r};
    }
    pg_wide size = most(a.range.high, -a.range.low) + 1;
    pg_range r = {a.range.low < 0 || b.range.low < 0 ? -size : 0, size};
    return (pg_value){arena_printf(g->arena, "(%s // %s)", a.text, b.text), wrapped(t, r)};
}

static pg_value bitwise(pg *g, dtype t, int depth)
{
    static const char *const signs[] = {"&", "|", "^"};
    pg_value a = pg_expr(g, t, depth - 1);
    if (pg_one_in(g, 5)) {
        pg_range r = dt_is_signed(t) ? (pg_range){-a.range.high - 1, -a.range.low - 1} : pg_range_of_type(t);
        // Of an element it would be the address.
        bool is_element = a.text[strlen(a.text) - 1] == ']';
        return (pg_value){arena_printf(g->arena, is_element ? "(~(%s | 0))" : "(~%s)", a.text), r};
    }
    pg_value b = pg_expr(g, t, depth - 1);
    if (pg_one_in(g, 2) && pg_range_of_type(t).high > 255) {
        pg_wide n = pg_below(g, 256);
        b = (pg_value){number_text(g, n), {n, n}};
    }
    return (pg_value){arena_printf(g->arena, "(%s %s %s)", a.text, signs[pg_below(g, 3)], b.text), all_bits(a.range, b.range)};
}

static pg_value shift(pg *g, dtype t, int depth)
{
    pg_value a = pg_expr(g, t, depth - 1);
    int left = pg_one_in(g, 2), width = dt_bits(t), most_bits = left && dt_is_signed(t) ? width / 2 - 2 : width - 1;
    const char *by = number_text(g, pg_below(g, most_bits + 1));
    if (pg_one_in(g, 2)) {
        dtype by_type = pg_int_type(g);
        by = pg_expr_in(g, by_type, (pg_range){0, most_bits}, depth - 2).text;
    }
    if (!left)
        return (pg_value){arena_printf(g->arena, "(%s >> %s)", a.text, by), {least(a.range.low, 0), most(a.range.high, 0)}};
    if (!dt_is_signed(t))
        return (pg_value){arena_printf(g->arena, "(%s << %s)", a.text, by), pg_range_of_type(t)};
    a = fit(g, t, a, (pg_range){0, ((pg_wide)1 << (width / 2)) - 1});
    return (pg_value){arena_printf(g->arena, "(%s << %s)", a.text, by), {0, (a.range.high + 1) << most_bits}};
}

static pg_value extremum(pg *g, dtype t, int depth)
{
    pg_value a = pg_expr(g, t, depth - 1), b = pg_expr(g, t, depth - 1);
    const char *name = pg_one_in(g, 2) ? "min" : "max";
    return (pg_value){arena_printf(g->arena, "%s(%s, %s)", name, a.text, b.text), joined(a.range, b.range)};
}

static pg_value unary(pg *g, dtype t, int depth)
{
    pg_value a = pg_expr(g, t, depth - 1);
    if (!dt_is_signed(t))
        return a;
    a = cut(g, t, a, false);
    pg_wide size = most(a.range.high, -a.range.low);
    if (pg_one_in(g, 2))
        return (pg_value){arena_printf(g->arena, "abs(%s)", a.text), {0, size}};
    return (pg_value){arena_printf(g->arena, "(-%s)", a.text), {-a.range.high, -a.range.low}};
}

static pg_value choice(pg *g, dtype t, int depth)
{
    pg_value a = pg_expr(g, t, depth - 1), b = pg_expr(g, t, depth - 1);
    const char *c = pg_bool(g, depth - 1);
    return (pg_value){arena_printf(g->arena, "(%s if %s else %s)", a.text, c, b.text), joined(a.range, b.range)};
}

// Digits of a number put together otherwise, as indices are.
static pg_value digits(pg *g, const pg_var *v)
{
    static const int sizes[] = {1, 2, 4, 8, 16, 32, 3, 5, 6, 12, 7, 64};
    pg_wide high = v->range.high;
    int a = sizes[pg_below(g, 12)], b = sizes[pg_below(g, 12)], c = pg_one_in(g, 2) ? b : sizes[pg_below(g, 12)];
    const char *upper = arena_printf(g->arena, "%s // %d", v->name, a), *lower = arena_printf(g->arena, "%s %% %d", v->name, c);
    pg_range up = {0, high / a}, low = {0, least(high, c - 1)};
    if (pg_one_in(g, 2)) {
        upper = arena_printf(g->arena, "%s %% %d", upper, b);
        up.high = least(up.high, b - 1);
    }
    if (pg_one_in(g, 4)) {
        lower = arena_printf(g->arena, "%s // 2", lower);
        low.high /= 2;
    }
    switch (pg_below(g, 4)) {
    case 0: return (pg_value){arena_printf(g->arena, "(%s)", upper), up};
    case 1: return (pg_value){arena_printf(g->arena, "((%s) * %d - (%s))", upper, b, lower), {-low.high, up.high * b}};
    default: return (pg_value){arena_printf(g->arena, "((%s) * %d + (%s))", upper, c, lower), {0, up.high * c + low.high}};
    }
}

static pg_value int_expr(pg *g, dtype t, int depth)
{
    const pg_var *v = t == DT_I32 && pg_one_in(g, 6) ? pick_var(g, is_same, t) : NULL;
    if (v && v->range.low >= 0 && v->range.high < 1 << 20)
        return digits(g, v);
    switch (pg_below(g, 9)) {
    case 0:
    case 1: return sum(g, t, depth);
    case 2: return product(g, t, depth);
    case 3:
    case 4: return division(g, t, depth);
    case 5: return bitwise(g, t, depth);
    case 6: return shift(g, t, depth);
    case 7: return extremum(g, t, depth);
    default: return unary(g, t, depth);
    }
}

// ---- floats --------------------------------------------------------------------------------------------------------

static pg_value float_expr(pg *g, dtype t, int depth)
{
    static const char *const signs[] = {"+", "-", "*", "*", "+", "/", "//", "%"};
    const char *a = pg_expr(g, t, depth - 1).text;
    pg_value r = {NULL, {0, 1}};
    int kind = pg_below(g, 14);
    if (kind < 8) {
        const char *b = right_operand(g, t, depth).text;
        bool swap = pg_one_in(g, 3);
        r.text = arena_printf(g->arena, "(%s %s %s)", swap ? b : a, signs[kind], swap ? a : b);
    } else if (kind < 10) {
        r.text = arena_printf(g->arena, "%s(%s, %s)", kind == 8 ? "min" : "max", a, pg_expr(g, t, depth - 1).text);
    } else if (kind == 10) {
        r.text = arena_printf(g->arena, "(-%s)", a);
    } else if (kind == 11) {
        r.text = arena_printf(g->arena, "abs(%s)", a);
    } else if (kind == 12) {
        r.text = arena_printf(g->arena, "(%s ** %d)", a, pg_below(g, 4));
    } else {
        r.text = arena_printf(g->arena, "(%s * %s + %s)", a, pg_expr(g, t, depth - 1).text, pg_expr(g, t, depth - 1).text);
    }
    return r;
}

pg_value pg_expr(pg *g, dtype t, int depth)
{
    pg_value v;
    if (depth <= 0)
        return leaf(g, t);
    if (t == DT_BOOL)
        return (pg_value){pg_bool(g, depth), {0, 1}};
    switch (pg_below(g, 10)) {
    case 0: return leaf(g, t);
    case 1:
    case 2:
        if (element(g, t, depth, &v))
            return v;
        break;
    case 3: return cast(g, t, depth);
    case 4:
        if (call(g, t, depth, &v))
            return v;
        break;
    case 5:
        if (pg_one_in(g, 2))
            return choice(g, t, depth);
        break;
    default: break;
    }
    return dt_is_float(t) ? float_expr(g, t, depth) : int_expr(g, t, depth);
}

// ---- conditions ------------------------------------------------------------------------------------------------------

static const char *comparison(pg *g, int depth)
{
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};
    dtype t = pg_number_type(g);
    const char *a = pg_expr(g, t, depth - 1).text, *b = right_operand(g, t, depth - 1).text;
    if (pg_one_in(g, 10))
        return arena_printf(g->arena, "(%s <= %s < %s)", a, b, pg_expr(g, t, depth - 1).text);
    if (pg_one_in(g, 12))
        return arena_printf(g->arena, "(%s in (%s, %s))", a, b, pg_expr(g, t, 0).text);
    return arena_printf(g->arena, "(%s %s %s)", a, signs[pg_below(g, 6)], b);
}

const char *pg_bool(pg *g, int depth)
{
    if (depth <= 0) {
        const pg_var *v = pick_var(g, is_same, DT_BOOL);
        return v ? v->name : comparison(g, 0);
    }
    switch (pg_below(g, 7)) {
    case 0: return arena_printf(g->arena, "(not %s)", pg_bool(g, depth - 1));
    case 1: return arena_printf(g->arena, "(%s and %s)", pg_bool(g, depth - 1), pg_bool(g, depth - 1));
    case 2: return arena_printf(g->arena, "(%s or %s)", pg_bool(g, depth - 1), pg_bool(g, depth - 1));
    case 3: return pg_bool(g, 0);
    default: return comparison(g, depth);
    }
}
