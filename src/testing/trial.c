// Random shapes, types and attributes for a rewrite's parameters.
//
// The first trials have distinct primes for extents, so that no two axes are mistaken for each other; later ones have extents of 1,
// equal extents and powers of two, too. Attributes are mostly their defaults; tuples of integers are orders of axes, extents of an
// operand or other ways to cut its elements. Extents that stand for any number of axes may stay open, in every second trial others,
// too. What the rewrite gives for trials is as it says; then its other attributes have their defaults.
#include "testing/trial.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"

enum { DISTINCT = 3, MOST_AXES = 3, MOST_ELEMENTS = 4096 };

typedef struct shape {
    int rank;
    int64_t at[FG_MAX_RANK];
    const char *open[FG_MAX_RANK]; // of one that may stay open: its name
} shape;

typedef struct draw {
    arena *a;
    const fg_rule *rule;
    uint64_t seed, next;
    int number;
    shape sizes[FG_MAX_RULE];   // of each size: one extent, or several
    bool is_known[FG_MAX_RULE];
    const char *types[FG_MAX_RULE];
    shape shapes[FG_MAX_RULE];  // of each tensor
    const fg_symbol_list *given; // by the rewrite; NULL: nothing
    test_trial *out;
} draw;

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof *(list)))

static int64_t pick(draw *d, int64_t count)
{
    return sim_random_integer(d->seed, d->next++, 0, count);
}

// What the rewrite gives for a size, a type or an attribute, or NULL.
static const char *given_for(const draw *d, const char *name)
{
    for (size_t i = 0; d->given && i < d->given->len; i++)
        if (strcmp(d->given->at[i].name, name) == 0)
            return d->given->at[i].text;
    return NULL;
}

// ---- extents ---------------------------------------------------------------------------------------------------------------

static int64_t draw_extent(draw *d)
{
    static const int64_t primes[] = {5, 7, 3, 11, 2, 13}, others[] = {1, 1, 2, 3, 4, 5, 7, 8, 12, 13};
    if (d->number < DISTINCT)
        return primes[(int64_t)d->next++ % COUNT(primes)];
    int64_t known = 0;
    for (size_t i = 0; i < d->rule->sizes.len; i++)
        known += d->is_known[i] && d->sizes[i].rank;
    int64_t like = pick(d, 3) ? -1 : pick(d, known);
    for (size_t i = 0; known && like >= 0 && i < d->rule->sizes.len; i++)
        if (d->is_known[i] && d->sizes[i].rank && like-- == 0)
            return d->sizes[i].at[0];
    return others[pick(d, COUNT(others))];
}

static void draw_size(draw *d, int symbol, bool is_many)
{
    const char *name = d->rule->sizes.at[symbol].name, *given = given_for(d, name);
    shape s = {.rank = is_many ? (int)pick(d, MOST_AXES + 1) : 1};
    for (int k = 0; k < s.rank; k++)
        s.at[k] = given ? strtoll(given, NULL, 10) : draw_extent(d);
    for (int k = 0; k < s.rank && !given && (is_many || d->number % 2); k++) {
        s.open[k] = is_many ? arena_printf(d->a, "%s_%d", name, k) : name;
        VEC_PUSH(d->a, &d->out->sizes, s.open[k]);
        VEC_PUSH(d->a, &d->out->values, arena_printf(d->a, "%s=%" PRId64, s.open[k], s.at[k]));
    }
    d->sizes[symbol] = s;
    d->is_known[symbol] = true;
}

static int64_t count_of(const shape *s)
{
    int64_t count = 1;
    for (int k = 0; k < s->rank; k++)
        count *= s->at[k];
    return count;
}

static bool draw_shape(draw *d, const fg_wildcard *w, shape *out)
{
    *out = (shape){0};
    for (size_t i = 0; i < w->extents.len; i++) {
        const fg_extent *e = &w->extents.at[i];
        if (e->kind != FG_FIXED && !d->is_known[e->symbol])
            draw_size(d, e->symbol, e->kind == FG_SIZES);
        const shape one = {.rank = 1, .at = {e->value}}, *s = e->kind == FG_FIXED ? &one : &d->sizes[e->symbol];
        for (int k = 0; k < s->rank && out->rank < FG_MAX_RANK; k++) {
            out->open[out->rank] = s->open[k];
            out->at[out->rank++] = s->at[k];
        }
    }
    return count_of(out) <= MOST_ELEMENTS;
}

// ---- attributes --------------------------------------------------------------------------------------------------------------

static const char *tuple_text(draw *d, const shape *s)
{
    str_buf out;
    str_buf_init(&out, d->a);
    for (int k = 0; k < s->rank; k++)
        str_addf(&out, "%s%" PRId64, k ? ", " : "(", s->at[k]);
    return s->rank ? arena_printf(d->a, "%s%s", str_text(&out), s->rank == 1 ? ",)" : ")") : "()";
}

static shape draw_order(draw *d, int rank)
{
    shape s = {.rank = rank};
    for (int k = 0; k < rank; k++)
        s.at[k] = k;
    for (int k = rank; k-- > 1;) {
        int64_t other = pick(d, k + 1), was = s.at[k];
        s.at[k] = s.at[other];
        s.at[other] = was;
    }
    return s;
}

// [count] elements in another way: its factors, in the order in which they are found.
static shape draw_cut(draw *d, int64_t count)
{
    shape s = {0};
    while (s.rank < MOST_AXES && count > 1) {
        int64_t divisor = 1 + pick(d, count);
        while (count % divisor)
            divisor--;
        s.at[s.rank++] = divisor;
        count /= divisor;
    }
    s.at[s.rank++] = count;
    return s;
}

// Of one trial, all are orders of axes, or none is.
static const char *draw_tuple(draw *d)
{
    if (!d->rule->wildcards.len)
        return "()";
    const shape *s = &d->shapes[pick(d, (int64_t)d->rule->wildcards.len)];
    shape other = *s;
    if (d->number % 3 == 0)
        other = draw_order(d, s->rank);
    else if (pick(d, 2))
        other = draw_cut(d, count_of(s));
    return tuple_text(d, &other);
}

static const char *draw_attribute(draw *d, const char *name, const char *initial)
{
    static const char *const floats[] = {"0.5", "-0.75", "2.0", "1.0", "0.0", "0.001", "3.25"};
    static const char *const integers[] = {"0", "1", "2", "3", "-1", "-2", "4"};
    static const char *const types[] = {"f32", "f16", "bf16", "f64", "i32"};
    char first = *initial == '-' ? initial[1] : *initial;
    if (d->given)
        return given_for(d, name) ? given_for(d, name) : initial;
    if (strcmp(initial, "True") == 0 || strcmp(initial, "False") == 0)
        return pick(d, 2) ? "True" : "False";
    if (first == '(')
        return pick(d, 8) ? draw_tuple(d) : initial;
    if (pick(d, 2) || first == '\'' || first == '"' || strcmp(initial, "None") == 0)
        return initial;
    if (isdigit((unsigned char)first))
        return strpbrk(initial, ".en") ? floats[pick(d, COUNT(floats))] : integers[pick(d, COUNT(integers))];
    return types[pick(d, COUNT(types))];
}

// ---- all together ------------------------------------------------------------------------------------------------------------

static void add_tensor(draw *d, size_t i, str_buf *operands, str_buf *open, str_buf *text)
{
    const fg_wildcard *w = &d->rule->wildcards.at[i];
    const shape *s = &d->shapes[i];
    const char *type = w->dtype ? w->dtype : d->types[w->type];
    str_addf(operands, "('%s', %s, (", w->name, type);
    str_addf(open, "('%s', %s, (", w->name, type);
    str_addf(text, "%s%s: %s[", text->len ? ", " : "", w->name, type);
    for (int k = 0; k < s->rank; k++) {
        str_addf(operands, "%" PRId64 ", ", s->at[k]);
        str_addf(open, "%s, ", s->open[k] ? s->open[k] : arena_printf(d->a, "%" PRId64, s->at[k]));
        str_addf(text, "%s%" PRId64, k ? ", " : "", s->at[k]);
    }
    str_adds(operands, d->number % 5 == 4 ? "), False), " : "), True), ");
    str_adds(open, d->number % 5 == 4 ? "), False), " : "), True), ");
    str_addc(text, ']');
}

bool test_draw(arena *a, const fg_rule *rule, uint64_t seed, int number, test_trial *out)
{
    static const char *const types[] = {"f32", "f32", "f64", "f16", "f32", "bf16", "i32", "f32", "i8"};
    draw d = {.a = a, .rule = rule, .seed = seed * 65537 + (uint64_t)number, .number = number, .out = out};
    if (rule->trials.len)
        d.given = &rule->trials.at[(size_t)number % rule->trials.len];
    str_buf operands, open, text;
    *out = (test_trial){0};
    str_buf_init(&operands, a);
    str_buf_init(&open, a);
    str_buf_init(&text, a);
    // In every eighth trial all are bytes: what multiplies bytes takes no floats beside them.
    for (size_t i = 0; i < rule->types.len; i++) {
        const char *given = given_for(&d, rule->types.at[i].name);
        d.types[i] = given ? given : number % 8 == 7 ? "i8" : types[(number + (int64_t)i) % COUNT(types)];
    }
    str_addc(&operands, '[');
    str_addc(&open, '[');
    for (size_t i = 0; i < rule->wildcards.len; i++) {
        if (!draw_shape(&d, &rule->wildcards.at[i], &d.shapes[i]))
            return false;
        if (!rule->wildcards.at[i].is_optional || pick(&d, 2))
            add_tensor(&d, i, &operands, &open, &text);
    }
    str_adds(&operands, "], [");
    str_adds(&open, "], [");
    for (size_t i = 0; i < rule->attributes.len; i++) {
        const fg_symbol *s = &rule->attributes.at[i];
        const char *value = draw_attribute(&d, s->name, s->initial);
        str_addf(&operands, "('%s', %s), ", s->name, value);
        str_addf(&open, "('%s', %s), ", s->name, value);
        str_addf(&text, "%s%s = %s", text.len ? ", " : "", s->name, value);
    }
    str_addc(&operands, ']');
    str_addc(&open, ']');
    out->operands = str_text(&operands);
    out->open = str_text(&open);
    out->text = str_text(&text);
    return true;
}
