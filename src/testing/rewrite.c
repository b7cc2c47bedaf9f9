// A rewrite as a test: its two sides are recorded as graphs, for random shapes and attributes that satisfy its conditions, and
// compared as programs on the simulator: in f64, by numbers and as formulas (src/prove), and in the types that were drawn.
#include <string.h>

#include "prove/prove.h"
#include "testing/testing_priv.h"
#include "testing/trial.h"

enum { WANTED = 8, WANTED_OPEN = 3, MOST_TRIES = 1500 };

typedef struct proof {
    const test_options *o;
    test_case *c;
    pl_unit *u;
    tc_rewrites *language;
    const fg_rule *rule;
    src_span span;         // of the rewrite's name
    map seen;              // operands that were tried
    int held, symbolic;    // trials that were compared; of these, those whose formulas are equal
    int open;              // that were compared with open sizes, too
    int tries, invalid, unmet, undefined;
    const char *why;       // the last left side could not be made or run
} proof;

// ---- rewrites of a file --------------------------------------------------------------------------------------------------------

static bool open_rewrites(pl_unit *u, proof *p, tc_rule_list *out)
{
    tc_options options = test_tc_options(u);
    tc_elaboration *e = tc_elaborate(&u->memory, &u->syms, &u->diags, u->file, &options);
    p->language = e ? tc_open_rewrites(e, NULL, 0, out) : NULL;
    return p->language != NULL;
}

static const fg_rule *read_rule(pl_unit *u, const tc_rule *from)
{
    const char *error = NULL;
    const fg_rule *rule = fg_read_rule(&u->memory, &error, from->text);
    if (!rule)
        diag_report(&u->diags, HDS0838, from->span, error);
    return rule;
}

// Those that the file imports are tested where they are written.
static bool is_of_file(const pl_unit *u, src_span span)
{
    return src_file_at(&u->sources, span.begin) == u->file;
}

void test_list_rewrites(pl_unit *u, test_rewrite_list *out)
{
    proof p = {0};
    tc_rule_list texts = {0};
    if (!memmem(u->input.at, u->input.len, "@rewrite", strlen("@rewrite")) || !open_rewrites(u, &p, &texts))
        return;
    for (size_t i = 0; i < texts.len; i++) {
        const fg_rule *rule = is_of_file(u, texts.at[i].span) ? read_rule(u, &texts.at[i]) : NULL;
        if (rule)
            VEC_PUSH(&u->memory, out, ((test_rewrite){rule->name, i, texts.at[i].span, rule->is_approximate}));
    }
}

// ---- what is wrong -------------------------------------------------------------------------------------------------------------

static diag *refute(proof *p, const test_trial *t, const char *why)
{
    diag *d = diag_report(&p->u->diags, HDS0834, p->span, p->rule->name, why);
    if (t)
        diag_note(d, (src_span){0, 0}, "for %s", t->text);
    return d;
}

// The first error since then, in a line; the messages are forgotten.
static const char *take_error(proof *p, diag_mark mark)
{
    const diag_context *dx = &p->u->diags;
    const char *text = "the cause is not known";
    for (size_t i = dx->all.len; i-- > mark.count;)
        if (dx->all.at[i]->severity == DIAG_ERROR)
            text = dx->all.at[i]->message;
    diag_rewind(&p->u->diags, mark);
    return text;
}

static const char *first_error(proof *p, const diag_context *dx)
{
    for (size_t i = 0; i < dx->all.len; i++)
        if (dx->all.at[i]->severity == DIAG_ERROR)
            return arena_strdup(&p->u->memory, dx->all.at[i]->message);
    return "the cause is not known";
}

// ---- programs --------------------------------------------------------------------------------------------------------------------

// What a few roundings of the coarsest type of operands and results leave far behind.
static double tolerance_of(const fg_graph *g)
{
    // clang-format off
    static const struct { const char *name; double tolerance; } types[] = {{"f32", 1e-4}, {"f16", 1e-2}, {"bf16", 8e-2}};
    // clang-format on
    double worst = 1e-9;
    for (size_t i = 0; i < g->inputs.len + g->outputs.len; i++) {
        int t = i < g->inputs.len ? g->inputs.at[i] : g->outputs.at[i - g->inputs.len];
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            if (strcmp(types[k].name, g->tensors.at[t].dtype) == 0 && types[k].tolerance > worst)
                worst = types[k].tolerance;
    }
    return worst;
}

static fg_graph *read_side(proof *p, const char *text, const char *name, bool wide)
{
    const char *error = NULL;
    fg_graph *g = fg_read_json(&p->u->memory, &error, text);
    if (!g) {
        diag_report(&p->u->diags, HDS0830, p->span, p->rule->name, error);
        return NULL;
    }
    g->name = name;
    if (wide)
        fg_widen(g);
    fg_group_each(g);
    return g;
}

// NULL, or how the results of both sides differ in type.
static const char *compare_types(proof *p, const fg_graph *left, const fg_graph *right)
{
    arena *a = &p->u->memory;
    if (left->outputs.len != right->outputs.len)
        return arena_printf(a, "%zu results take the place of %zu", right->outputs.len, left->outputs.len);
    for (size_t i = 0; i < left->outputs.len; i++) {
        const fg_tensor *x = &left->tensors.at[left->outputs.at[i]], *y = &right->tensors.at[right->outputs.at[i]];
        if (strcmp(x->dtype, y->dtype) != 0 || !fg_is_same_shape(x, y))
            return arena_printf(a, "%s takes the place of %s", fg_type_text(a, y), fg_type_text(a, x));
    }
    return NULL;
}

// ---- a trial ---------------------------------------------------------------------------------------------------------------------

typedef enum verdict { AGREES, DIFFERS, CANNOT_RUN, IS_UNDEFINED } verdict;

typedef struct trial {
    const test_trial *drawn;
    const fg_graph *left, *right;
    str program;
    double tolerance;
    bool is_wide;     // all floats are f64
    bool is_open;     // the sizes of [drawn] are open
    bool is_symbolic; // the formulas are equal
} trial;

// "NAME=0.25..2" for each tensor of floats, and the values of open sizes, as hdsc prove takes them.
static const char **values_of(proof *p, const trial *of, bool positive, int *count)
{
    const fg_graph *g = of->left;
    const char **values = ARENA_ARRAY(&p->u->memory, const char *, g->inputs.len + of->drawn->values.len + 1);
    for (size_t i = 0; of->is_open && i < of->drawn->values.len; i++)
        values[(*count)++] = of->drawn->values.at[i];
    for (size_t i = 0; positive && i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (strchr(t->dtype, 'f'))
            values[(*count)++] = arena_printf(&p->u->memory, "%s=0.25..2", t->name);
    }
    return values;
}

static verdict report_difference(proof *p, const trial *t, const prove_agreement *found)
{
    diag *d = refute(p, t->drawn, "its two sides differ");
    diag_note(d, (src_span){0, 0}, "%s, on the right and on the left, %s%s", arena_strdup(&p->u->memory, found->difference),
              t->is_wide ? "in f64" : "in these types", t->is_open ? ", with extents that are open" : "");
    if (found->explanation)
        diag_note(d, (src_span){0, 0}, "%s", arena_strdup(&p->u->memory, found->explanation));
    return DIFFERS;
}

static verdict compare(proof *p, trial *t, bool positive)
{
    int count = 0, side = 0;
    const char **values = values_of(p, t, positive, &count);
    const char *path = arena_printf(&p->u->memory, "%s.%s", p->c->file->path, p->rule->name);
    prove_options how = {.compile = p->o->compile, .text = t->program, .values = values,
                         .value_count = count, .seeds = 1, .seed = p->o->seed + (uint64_t)p->tries, .budget = p->o->budget};
    how.fast = arena_printf(&p->u->memory, "%s:right_side", path);
    how.against = arena_printf(&p->u->memory, "%s:left_side", path);
    prove both;
    prove_agreement found;
    prove_init(&both, &how, &p->u->oom);
    verdict is = AGREES;
    if (!prove_agree(&both, t->tolerance, &found, &side)) {
        p->why = first_error(p, &both.sides[side].unit.diags);
        is = CANNOT_RUN;
        if (side == 0 && !t->is_wide) {
            diag_note(refute(p, t->drawn, "its right side cannot be computed"), (src_span){0, 0}, "%s", p->why);
            is = DIFFERS;
        }
    } else if (found.difference) {
        is = report_difference(p, t, &found);
    } else if (found.undefined * 2 > found.elements) {
        is = IS_UNDEFINED;
    }
    t->is_symbolic = is == AGREES && found.is_symbolic;
    prove_free(&both);
    return is;
}

// Roots and logarithms have numbers for positive operands.
static verdict compare_some(proof *p, trial *t)
{
    bool positive = p->held % 3 == 2;
    verdict is = compare(p, t, positive);
    return is == IS_UNDEFINED && !positive ? compare(p, t, true) : is;
}

// [t] has the program that was compared before, if any; the same again is not run.
static verdict compare_in(proof *p, trial *t, const char *left, const char *right, bool wide)
{
    fg_graph *sides[2] = {read_side(p, left, "left_side", wide), read_side(p, right, "right_side", wide)};
    if (!sides[0] || !sides[1])
        return DIFFERS;
    const char *types = compare_types(p, sides[0], sides[1]);
    if (types) {
        diag_note(refute(p, t->drawn, "the types of its two sides differ"), (src_span){0, 0}, "%s", types);
        return DIFFERS;
    }
    str before = t->program;
    t->left = sides[0];
    t->right = sides[1];
    t->is_wide = wide;
    t->tolerance = tolerance_of(sides[0]);
    t->program = fg_lower(&p->u->memory, sides, 2);
    return before.len && str_equal(before, t->program) ? AGREES : compare_some(p, t);
}

// False after reporting that the rewrite is wrong.
static bool try_sides(proof *p, const test_trial *drawn, const char *left, const char *right)
{
    trial t = {.drawn = drawn};
    verdict wide = compare_in(p, &t, left, right, true);
    bool is_symbolic = t.is_symbolic;
    verdict own = wide == DIFFERS ? DIFFERS : compare_in(p, &t, left, right, false);
    if (wide == DIFFERS || own == DIFFERS)
        return false;
    if (own == AGREES || wide == AGREES) {
        p->held++;
        p->symbolic += is_symbolic || t.is_symbolic;
    } else if (own == IS_UNDEFINED) {
        p->undefined++;
    } else {
        p->invalid++;
    }
    return true;
}

static fg_graph *read_open_side(proof *p, const test_trial *drawn, tc_side which, const char *name)
{
    const tc_operands operands = {drawn->open, drawn->sizes.at, drawn->sizes.len};
    const char *text = tc_record_side(p->language, p->c->rewrite->number, which, &operands);
    fg_graph *g = text && *text ? read_side(p, text, name, true) : NULL;
    for (size_t i = 0; g && i < drawn->sizes.len; i++)
        VEC_PUSH(&p->u->memory, &g->sizes, drawn->sizes.at[i]);
    return g;
}

// As try_sides in f64, with extents that are open. Where the rewrite is not applied to such graphs there is nothing to compare:
// where its conditions or its results' extents depend on values, or more would have to be checked.
static bool try_open(proof *p, const test_trial *drawn)
{
    trial t = {.drawn = drawn, .is_wide = true, .is_open = true};
    fg_graph *sides[2] = {read_open_side(p, drawn, TC_LEFT, "left_side"), read_open_side(p, drawn, TC_RIGHT, "right_side")};
    if (!sides[0] || !sides[1] || compare_types(p, sides[0], sides[1]) || sides[1]->checks.len > sides[0]->checks.len)
        return true;
    t.left = sides[0];
    t.right = sides[1];
    t.tolerance = tolerance_of(sides[0]);
    t.program = fg_lower(&p->u->memory, sides, 2);
    verdict is = compare_some(p, &t);
    p->open += is == AGREES;
    return is != DIFFERS;
}

static bool try_one(proof *p, const test_trial *t)
{
    if (map_get(&p->seen, t->operands, strlen(t->operands)))
        return true;
    map_put(&p->seen, t->operands, strlen(t->operands), (void *)t->operands);
    diag_mark mark = diag_here(&p->u->diags);
    size_t number = p->c->rewrite->number;
    p->tries++;
    const tc_operands operands = {.text = t->operands};
    const char *left = tc_record_side(p->language, number, TC_LEFT, &operands);
    if (!left || !*left) {
        p->why = take_error(p, mark);
        p->invalid++;
        return true;
    }
    const char *right = tc_record_side(p->language, number, TC_RIGHT, &operands);
    if (!right) {
        const char *why = take_error(p, mark);
        diag_note(refute(p, t, "its right side cannot be made"), (src_span){0, 0}, "%s", why);
        return false;
    }
    if (!*right) {
        p->unmet++;
        return true;
    }
    if (!try_sides(p, t, left, right))
        return false;
    return p->open == WANTED_OPEN || !t->sizes.len || try_open(p, t);
}

static void report_untried(proof *p)
{
    diag *d = refute(p, NULL, "no random shapes and attributes satisfy its conditions");
    diag_note(d, (src_span){0, 0}, "of %d tries, %d do not satisfy them, and of %d the left side cannot be made or has no numbers",
              p->tries, p->unmet, p->invalid + p->undefined);
    if (p->why)
        diag_note(d, (src_span){0, 0}, "the last of these: %s", p->why);
}

static void prove_rewrite(proof *p)
{
    for (int number = 0; number < MOST_TRIES && p->held < WANTED; number++) {
        test_trial *t = ARENA_NEW(&p->u->memory, test_trial);
        if (test_draw(&p->u->memory, p->rule, p->o->seed, number, t) && !try_one(p, t))
            return;
    }
    if (!p->held)
        report_untried(p);
}

void test_run_rewrite(const test_options *o, test_case *c, pl_unit *u)
{
    proof p = {.o = o, .c = c, .u = u};
    tc_rule_list texts = {0};
    map_init(&p.seen, &u->memory);
    if (test_open_file(c, u) && open_rewrites(u, &p, &texts) && c->rewrite->number < texts.len) {
        p.span = texts.at[c->rewrite->number].span;
        p.rule = read_rule(u, &texts.at[c->rewrite->number]);
        if (p.rule)
            prove_rewrite(&p);
    }
    c->outcome = u->diags.shown_errors ? TEST_FAILED : TEST_PASSED;
    c->printed = str_of(arena_printf(&u->memory, "%d shapes and attributes, %d of them as formulas, %d with open extents\n",
                                        p.held, p.symbolic, p.open));
}
