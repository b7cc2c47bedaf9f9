// Where two sides differ, and which inputs cause it.
//
// Let E be the difference of the two results at the first element that differs. Inputs are perturbed in the fields
// only, so that the floats, and with them all branches, stay the same. A bisection over the inputs finds those that E
// depends on; for each of them, the changes of both sides are compared. A side that does not change lacks the input; a
// side that changes twice as much counts it twice.

#include <math.h>
#include <string.h>

#include "prove/prove_priv.h"

enum { MOST_ELEMENTS = 3, MOST_RUNS = 150, LISTED = 3 };

// The role of an input in the difference.
typedef enum part { NOTHING_YET, LACKS, EXTRA, TWICE, FACTOR, OTHERWISE } part;

typedef struct search {
    prove *p;
    prove_position position;
    uint64_t seed;
    uint64_t base[2];          // results at the element, by side
    diag *d;
    int runs;
    int found;                 // of the tensor under way
    part part;                 // of the last one found
    bool more;                 // there are others that were not examined
} search;

// ---- names ---------------------------------------------------------------------------------------------------------

const char *prove_element_name(const prove *p, arena *a, int tensor, int64_t element)
{
    const prove_tensor *t = &p->tensors.at[tensor];
    int64_t index[PROVE_RANK], rest = element / t->lanes;
    str_buf out;
    str_buf_init(&out, a);
    str_adds(&out, t->name);
    for (int k = t->rank; k-- > 0; rest /= t->shape[k])
        index[k] = rest % t->shape[k];
    for (int k = 0; k < t->rank; k++)
        str_addf(&out, "%s%lld", k ? ", " : "[", (long long)index[k]);
    str_adds(&out, t->rank ? "]" : "");
    if (t->lanes > 1)
        str_addf(&out, " lane %lld", (long long)(element % t->lanes));
    return str_text(&out);
}

static const char *input_name(const prove *p, arena *a, int64_t number)
{
    for (size_t i = 0; i < p->tensors.len; i++) {
        const prove_tensor *t = &p->tensors.at[i];
        if (t->is_input && number >= t->first && number < t->first + t->count)
            return prove_element_name(p, a, (int)i, number - t->first);
    }
    return p->scalars.at[number - (p->input_count - (int64_t)p->scalars.len)].name;
}

// ---- ratios --------------------------------------------------------------------------------------------------------

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + SIM_FIELD_P - b;
}

static uint64_t quotient(uint64_t a, uint64_t b)
{
    return sim_field_times(a, sim_field_inverse(b));
}

static bool is_finite(sim_field a)
{
    return !sim_field_is_mark(a);
}

// A factor or a difference that is common to all elements that differ; false: there is none.
typedef uint64_t relation(uint64_t a, uint64_t b);

static bool have_in_common(const prove_output *a, const prove_output *b, int64_t count, relation *of, uint64_t *out)
{
    bool is_first = true;
    *out = 0;
    for (int64_t i = 0; i < count; i++) {
        sim_field x = a->values[i], y = b->values[i];
        if (x.p == y.p || (a->is_written && !a->is_written[i]) || (b->is_written && !b->is_written[i]))
            continue;
        if (!is_finite(x) || !is_finite(y) || y.p == 0)
            return false;
        uint64_t found = of(x.p, y.p);
        if (!is_first && found != *out)
            return false;
        *out = found;
        is_first = false;
    }
    return !is_first;
}

static void note_rounding(search *s, double factor)
{
    if (fabs(factor - 1) < 0x1p-10)
        diag_note(s->d, (src_span){0, 0}, "a factor so close to 1 is often a constant that the two round differently");
}

// One number explains every element, so inputs need not be examined.
static bool explain_by_number(search *s, const prove_output *a, const prove_output *b)
{
    prove *p = s->p;
    const prove_tensor *t = &p->tensors.at[s->position.tensor];
    uint64_t common = 0;
    double value;
    str_buf text;
    str_buf_init(&text, &p->memory);
    if (have_in_common(a, b, t->count, quotient, &common) && prove_number(common, &text, &value)) {
        if (common == 0)
            diag_note(s->d, (src_span){0, 0}, "each element that differs is 0");
        else
            diag_note(s->d, (src_span){0, 0}, "each element that differs is that of '%s' times %s", prove_title(p, 1),
                      str_text(&text));
        note_rounding(s, value);
        return true;
    }
    text.len = 0;
    if (have_in_common(a, b, t->count, minus, &common) && prove_number(common, &text, &value)) {
        diag_note(s->d, (src_span){0, 0}, "each element that differs is that of '%s' plus %s", prove_title(p, 1),
                  str_text(&text));
        return true;
    }
    return false;
}

// All elements of a row (all but the last index) are off by one factor that is not a simple number: the scale of the
// row differs.
static void note_row(search *s, const prove_output *a, const prove_output *b)
{
    prove *p = s->p;
    const prove_tensor *t = &p->tensors.at[s->position.tensor];
    int64_t width = t->rank ? t->shape[t->rank - 1] * t->lanes : 1, begin = s->position.element / width * width;
    prove_output x = *a, y = *b;
    int differing = 0;
    for (int64_t i = begin; i < begin + width; i++)
        differing += a->values[i].p != b->values[i].p;
    x.values += begin, y.values += begin;
    x.is_written = a->is_written ? a->is_written + begin : NULL;
    y.is_written = b->is_written ? b->is_written + begin : NULL;
    uint64_t common = 0;
    if (differing >= 2 && have_in_common(&x, &y, width, quotient, &common))
        diag_note(s->d, (src_span){0, 0}, "elements%s differ by the same factor, which depends on the inputs: a sum, a "
                                          "scale or a rescaling is not the same",
                  t->rank > 1 ? " of the same row" : "");
}

// ---- inputs --------------------------------------------------------------------------------------------------------

// Results of both sides with some inputs perturbed; false if a run fails.
static bool move(search *s, int64_t begin, int64_t end, uint64_t way, uint64_t out[2])
{
    prove *p = s->p;
    prove_request request = {.seed = s->seed, .begin = begin, .end = end, .move = way};
    s->runs++;
    prove_progress(p, "looking for the terms that differ: run %d", s->runs);
    for (int side = 0; side < 2; side++) {
        arena_mark mark = arena_mark_get(&p->scratch);
        prove_outcome outcome = prove_run_side(p, side, &request, &p->scratch);
        if (outcome.is_complete)
            out[side] = outcome.outputs[s->position.tensor].values[s->position.element].p;
        arena_reset(&p->scratch, mark);
        if (!outcome.is_complete)
            return false;
    }
    return true;
}

static bool differs_more(const search *s, const uint64_t moved[2])
{
    return minus(moved[0], moved[1]) != minus(s->base[0], s->base[1]);
}

// Whether the changes of the two sides have the same ratio for another perturbation of the input.
static bool is_proportional(search *s, int64_t input, uint64_t factor)
{
    uint64_t moved[2];
    if (!move(s, input, input + 1, 2, moved))
        return false;
    uint64_t by[2] = {minus(moved[0], s->base[0]), minus(moved[1], s->base[1])};
    return sim_field_times(by[1], factor) == by[0];
}

static part part_of(search *s, int64_t input, const uint64_t moved[2], str_buf *number, double *value)
{
    uint64_t by[2] = {minus(moved[0], s->base[0]), minus(moved[1], s->base[1])};
    if (by[0] == 0)
        return LACKS;
    if (by[1] == 0)
        return EXTRA;
    uint64_t factor = quotient(by[0], by[1]);
    if (!prove_number(factor, number, value) || !is_proportional(s, input, factor))
        return OTHERWISE;
    return factor == 2 ? TWICE : FACTOR;
}

// Reports it, unless the same was reported for an input before ([last]).
static part say(search *s, int64_t input, const uint64_t moved[2], part last)
{
    prove *p = s->p;
    const char *name = input_name(p, &p->memory, input), *title = prove_title(p, 0);
    const char *element = prove_element_name(p, &p->memory, s->position.tensor, s->position.element);
    double value = 0;
    str_buf number;
    str_buf_init(&number, &p->memory);
    part is = part_of(s, input, moved, &number, &value);
    if (is == last)
        return is;
    switch (is) {
    case LACKS: diag_note(s->d, (src_span){0, 0}, "%s of '%s' lacks the term in %s", element, title, name); break;
    case EXTRA:
        diag_note(s->d, (src_span){0, 0}, "%s of '%s' has a term in %s, which that of '%s' has not", element, title,
                  name, prove_title(p, 1));
        break;
    case TWICE: diag_note(s->d, (src_span){0, 0}, "%s of '%s' counts the term in %s twice", element, title, name); break;
    case FACTOR:
        diag_note(s->d, (src_span){0, 0}, "%s of '%s' has the term in %s with the factor %s", element, title, name,
                  str_text(&number));
        note_rounding(s, value);
        break;
    case OTHERWISE:
        diag_note(s->d, (src_span){0, 0}, "%s of '%s' depends on %s differently", element, title, name);
        break;
    case NOTHING_YET: break;
    }
    return is;
}

// Finds inputs in [begin, end) on which the difference depends; there is at least one. [moved]: the results with all of
// them perturbed; NULL: not computed yet. Halves without influence are skipped.
static void narrow(search *s, int64_t begin, int64_t end, const uint64_t *moved)
{
    uint64_t by[2];
    if (s->found >= MOST_ELEMENTS || s->runs >= MOST_RUNS) {
        s->more = true;
        return;
    }
    if (end - begin == 1) {
        if (!moved && !move(s, begin, end, 1, by))
            return;
        s->part = say(s, begin, moved ? moved : by, NOTHING_YET);
        // One mixed-up input is enough: more would not add information.
        s->found = s->part == OTHERWISE ? MOST_ELEMENTS : s->found + 1;
        return;
    }
    int64_t middle = begin + (end - begin) / 2;
    if (!move(s, begin, middle, 1, by))
        return;
    if (!differs_more(s, by)) {
        narrow(s, middle, end, NULL);
        return;
    }
    narrow(s, begin, middle, by);
    if (s->runs >= MOST_RUNS || !move(s, middle, end, 1, by))
        s->more = true;
    else if (differs_more(s, by))
        narrow(s, middle, end, by);
}

// The last input in [begin, end) on which the difference depends.
static int64_t last_of(search *s, int64_t begin, int64_t end)
{
    while (end - begin > 1) {
        int64_t middle = begin + (end - begin) / 2;
        uint64_t by[2];
        if (!move(s, middle, end, 1, by))
            return begin;
        if (differs_more(s, by))
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

// Whether the difference depends on some of these inputs; if so, reports which.
static bool explain_by(search *s, int64_t begin, int64_t end, const char *name)
{
    prove *p = s->p;
    uint64_t moved[2];
    if (!move(s, begin, end, 1, moved) || !differs_more(s, moved))
        return false;
    s->found = 0;
    s->more = false;
    narrow(s, begin, end, moved);
    if (!s->more)
        return true;
    int64_t last = last_of(s, begin, end);
    diag_note(s->d, (src_span){0, 0}, "there are more such elements of '%s', up to %s", name,
              input_name(p, &p->memory, last));
    if (move(s, last, last + 1, 1, moved))
        say(s, last, moved, s->part);
    return true;
}

static void explain_by_inputs(search *s)
{
    prove *p = s->p;
    bool any = false;
    int64_t first = p->input_count - (int64_t)p->scalars.len;
    for (size_t i = 0; i < p->scalars.len; i++) {
        if (dt_is_float(p->scalars.at[i].type) && !p->scalars.at[i].given)
            any |= explain_by(s, first + (int64_t)i, first + (int64_t)i + 1, p->scalars.at[i].name);
    }
    for (size_t i = 0; i < p->tensors.len; i++) {
        const prove_tensor *t = &p->tensors.at[i];
        if (t->is_input && !prove_is_constant(p, (int)i))
            any |= explain_by(s, t->first, t->first + t->count, t->name);
    }
    if (!any)
        diag_note(s->d, (src_span){0, 0}, "the difference is a constant: it does not depend on any input");
}

// ---- outputs -------------------------------------------------------------------------------------------------------

static bool is_written(const prove_output *o, int64_t i)
{
    return !o->is_written || o->is_written[i];
}

static int64_t element_bytes(const prove *p, int side, int tensor)
{
    const prove_side *s = &p->sides[side];
    for (size_t i = 0; i < s->func->params.len; i++) {
        if (s->params[i].tensor == tensor)
            return dt_bits(s->params[i].var->type->elem->scalar) / 8;
    }
    return 0;
}

static int64_t integer_at(const prove *p, const prove_output *o, int side, int64_t i)
{
    int64_t bytes = element_bytes(p, side, o->tensor);
    uint64_t bits = 0;
    memcpy(&bits, o->bits + i * bytes, (size_t)bytes);
    return dt_wrap_int(p->tensors.at[o->tensor].type, (int64_t)bits);
}

typedef enum verdict { SAME, UNWRITTEN_BY_FIRST, UNWRITTEN_BY_SECOND, NO_FORMULA, OTHER_FORMULA, OTHER_INTEGER } verdict;

static verdict judge(const prove *p, const prove_outcome outcomes[2], int tensor, int64_t i)
{
    const prove_output *a = &outcomes[0].outputs[tensor], *b = &outcomes[1].outputs[tensor];
    if (!is_written(a, i) || !is_written(b, i)) {
        if (!is_written(a, i) && !is_written(b, i))
            return SAME;
        return is_written(a, i) ? UNWRITTEN_BY_SECOND : UNWRITTEN_BY_FIRST;
    }
    if (!a->values)
        return integer_at(p, a, 0, i) == integer_at(p, b, 1, i) ? SAME : OTHER_INTEGER;
    if (a->values[i].p == SIM_FIELD_NAN || b->values[i].p == SIM_FIELD_NAN)
        return NO_FORMULA;
    return a->values[i].p == b->values[i].p ? SAME : OTHER_FORMULA;
}

// "c[0, 0], c[0, 1], c[0, 2] and 93 others"
static const char *list_of(prove *p, const prove_outcome outcomes[2], verdict v, prove_position *first)
{
    str_buf out;
    str_buf_init(&out, &p->memory);
    int64_t count = 0;
    for (size_t t = 0; t < p->tensors.len; t++) {
        for (int64_t i = 0; outcomes[0].outputs[t].tensor >= 0 && i < p->tensors.at[t].count; i++) {
            if (judge(p, outcomes, (int)t, i) != v)
                continue;
            if (count == 0)
                *first = (prove_position){(int)t, i};
            if (count++ < LISTED)
                str_addf(&out, "%s%s", count > 1 ? ", " : "", prove_element_name(p, &p->memory, (int)t, i));
        }
    }
    if (count > LISTED)
        str_addf(&out, " and %lld %s", (long long)(count - LISTED), count == LISTED + 1 ? "other" : "others");
    return count ? str_text(&out) : NULL;
}

static src_span span_of(const prove *p, const prove_position *position)
{
    return p->tensors.at[position->tensor].var->span;
}

static void report_unwritten(prove *p, const prove_outcome outcomes[2], int side)
{
    prove_position position;
    const char *which = list_of(p, outcomes, side == 0 ? UNWRITTEN_BY_FIRST : UNWRITTEN_BY_SECOND, &position);
    if (which)
        diag_report(&p->sides[0].unit.diags, HDS0671, span_of(p, &position), prove_title(p, side), which,
                    prove_title(p, 1 - side));
}

static void report_no_formula(prove *p, const prove_outcome outcomes[2])
{
    prove_position position;
    const char *which = list_of(p, outcomes, NO_FORMULA, &position);
    if (!which)
        return;
    bool first = outcomes[0].outputs[position.tensor].values[position.element].p == SIM_FIELD_NAN;
    bool second = outcomes[1].outputs[position.tensor].values[position.element].p == SIM_FIELD_NAN;
    diag *d = diag_report(&p->sides[0].unit.diags, HDS0675, span_of(p, &position), which, prove_title(p, first ? 0 : 1),
                          first && second ? " and of the other" : "");
    diag_help(d, "logarithms and roots want inputs in a range, as in '--arg x=0.1..2'; '--outputs' chooses what is compared");
}

static void report_integers(prove *p, const prove_outcome outcomes[2], const char *more)
{
    prove_position position;
    const char *which = list_of(p, outcomes, OTHER_INTEGER, &position);
    if (!which)
        return;
    diag *d = diag_report(&p->sides[0].unit.diags, HDS0670, span_of(p, &position), prove_title(p, 0), prove_title(p, 1),
                          which);
    const prove_output *a = &outcomes[0].outputs[position.tensor], *b = &outcomes[1].outputs[position.tensor];
    diag_note(d, (src_span){0, 0}, "%s is %lld here and %lld there%s",
              prove_element_name(p, &p->memory, position.tensor, position.element),
              (long long)integer_at(p, a, 0, position.element), (long long)integer_at(p, b, 1, position.element), more);
}

static void report_formulas(prove *p, const prove_outcome outcomes[2], uint64_t seed, const char *more)
{
    prove_position position;
    const char *which = list_of(p, outcomes, OTHER_FORMULA, &position);
    if (!which)
        return;
    diag *d = diag_report(&p->sides[0].unit.diags, HDS0670, span_of(p, &position), prove_title(p, 0), prove_title(p, 1),
                          which);
    const prove_output *a = &outcomes[0].outputs[position.tensor], *b = &outcomes[1].outputs[position.tensor];
    search s = {.p = p, .position = position, .seed = seed, .d = d,
                .base = {a->values[position.element].p, b->values[position.element].p}};
    if (*more)
        diag_note(d, (src_span){0, 0}, "%s", more);
    if (!is_finite(a->values[position.element]) || !is_finite(b->values[position.element])) {
        diag_note(d, (src_span){0, 0}, "one of the two is infinite");
    } else if (!explain_by_number(&s, a, b)) {
        note_row(&s, a, b);
        explain_by_inputs(&s);
    }
}

void prove_explain(prove *p, const prove_outcome outcomes[2], uint64_t seed, const char *more)
{
    report_unwritten(p, outcomes, 0);
    report_unwritten(p, outcomes, 1);
    report_no_formula(p, outcomes);
    report_integers(p, outcomes, more);
    report_formulas(p, outcomes, seed, more);
}
