// The proof: runs both sides for each seed and compares the results; bounds the probability of a wrong verdict.

#include "prove/prove.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/job.h"
#include "pipeline/unit.h"
#include "prove/prove_priv.h"

void prove_progress(prove *p, const char *format, ...)
{
    char text[256];
    va_list args;
    if (!p->options->progress)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->options->progress(p->options->user, text);
}

void prove_init(prove *p, const prove_options *options, arena_oom *oom)
{
    *p = (prove){.options = options};
    arena_init(&p->memory, oom);
    arena_init(&p->scratch, oom);
    src_map_init(&p->sources, &p->memory);
    diag_init(&p->diags, &p->memory, &p->sources);
    p->diags.error_limit = 0;
}

void prove_free(prove *p)
{
    pl_unit_free(&p->sides[0].unit);
    pl_unit_free(&p->sides[1].unit);
    arena_free(&p->scratch);
    arena_free(&p->memory);
}

// ---- one seed ------------------------------------------------------------------------------------------------------

static bool run_both(prove *p, const prove_request *request, prove_outcome out[2], const char *doing)
{
    for (int side = 0; side < 2; side++) {
        prove_progress(p, "%s: running '%s'", doing, prove_title(p, side));
        out[side] = prove_run_side(p, side, request, &p->scratch);
        if (!out[side].is_complete)
            return false;
    }
    return true;
}

// Tensors that neither side has changed are no outputs.
static bool drop_unchanged(prove *p, prove_outcome outcomes[2])
{
    bool any = false;
    for (size_t i = 0; i < p->tensors.len; i++) {
        prove_output *a = &outcomes[0].outputs[i], *b = &outcomes[1].outputs[i];
        if (a->tensor >= 0 && !a->is_changed && !b->is_changed)
            a->tensor = b->tensor = -1;
        p->tensors.at[i].is_output = a->tensor >= 0;
        any |= a->tensor >= 0;
    }
    if (!any)
        diag_report(&p->sides[0].unit.diags, HDS0677, p->sides[0].func->span, prove_title(p, 0), prove_title(p, 1));
    return any;
}

static bool prove_seed(prove *p, int number)
{
    const prove_options *o = p->options;
    prove_request request = {.seed = (uint64_t)number, .schedule = (uint64_t)number};
    prove_outcome outcomes[2];
    arena_mark mark = arena_mark_get(&p->scratch);
    const char *doing = arena_printf(&p->memory, "seed %d of %d", number + 1, o->seeds);
    int before = p->sides[0].unit.diags.error_count;
    bool ok = run_both(p, &request, outcomes, doing) && (number > 0 || drop_unchanged(p, outcomes));
    if (ok) {
        const char *more = number ? arena_printf(&p->memory, "with the inputs of seed %d; %d gave no difference", number + 1, number) : "";
        prove_explain(p, outcomes, request.seed, more);
    }
    arena_reset(&p->scratch, mark);
    return ok && p->sides[0].unit.diags.error_count == before;
}

// ---- the bound -----------------------------------------------------------------------------------------------------

typedef struct bound {
    int64_t elements, integers;
    double degree;          // the largest; 0: constants
    bool is_known;
    bool has_powers, has_functions;
} bound;

static void add_element(bound *b, sim_field x, sim_field y)
{
    sim_degree d = sim_field_degree_of(x), e = sim_field_degree_of(y);
    if (d.over == SIM_DEGREE_MAX || d.under == SIM_DEGREE_MAX || e.over == SIM_DEGREE_MAX || e.under == SIM_DEGREE_MAX)
        b->is_known = false;
    // a/b = c/d where a·d - c·b is zero.
    b->degree = fmax(b->degree, fmax((double)d.over + e.under, (double)e.over + d.under));
    b->has_powers |= d.has_powers || e.has_powers;
    b->has_functions |= d.has_functions || e.has_functions;
    b->elements++;
}

static bool find_bound(prove *p, bound *b)
{
    prove_request request = {.degrees = true};
    prove_outcome outcomes[2];
    *b = (bound){.is_known = true};
    arena_mark mark = arena_mark_get(&p->scratch);
    bool ok = run_both(p, &request, outcomes, "degrees");
    for (size_t t = 0; ok && t < p->tensors.len; t++) {
        const prove_output *x = &outcomes[0].outputs[t], *y = &outcomes[1].outputs[t];
        for (int64_t i = 0; x->tensor >= 0 && i < p->tensors.at[t].count; i++) {
            if (x->is_written && !x->is_written[i])
                continue;
            if (x->values)
                add_element(b, x->values[i], y->values[i]);
            else
                b->integers++;
        }
    }
    arena_reset(&p->scratch, mark);
    return ok;
}

// By the Schwartz–Zippel lemma, two different formulas agree at a random point with probability at most degree / q. The
// probability that all seeds are wrong about some element is at most elements · (degree / q)^seeds.
static int bits_of_bound(const prove *p, const bound *b)
{
    double one = log2(fmax(b->degree, 1)) - log2((double)SIM_FIELD_Q);
    return (int)floor(-(one * p->options->seeds + log2((double)b->elements)));
}

static const char *names_of_outputs(prove *p)
{
    str_buf out;
    str_buf_init(&out, &p->memory);
    for (size_t i = 0; i < p->tensors.len; i++) {
        if (p->tensors.at[i].is_output)
            str_addf(&out, "%s%s", out.len ? ", " : "", p->tensors.at[i].name);
    }
    return str_text(&out);
}

static const char *assumption(const bound *b)
{
    if (!b->has_powers && !b->has_functions)
        return "";
    return b->has_powers && b->has_functions ? ", if powers and functions behave like random values"
           : b->has_powers                   ? ", if powers behave like random values"
                                             : ", if functions behave like random values";
}

static void conclude(prove *p, const bound *b)
{
    str_buf out;
    str_buf_init(&out, &p->memory);
    long long count = b->elements + b->integers;
    str_addf(&out, "equal: %lld element%s of %s, %d %s", count, count == 1 ? "" : "s", names_of_outputs(p), p->options->seeds,
             p->options->seeds == 1 ? "seed" : "seeds");
    int bits = b->elements && b->is_known ? bits_of_bound(p, b) : 0;
    if (b->elements && bits > 0)
        str_addf(&out, "; wrong with a chance below 2^-%d%s", bits, assumption(b));
    else if (b->elements)
        str_adds(&out, "; the formulas are of too high a degree for a bound");
    p->verdict = str_text(&out);
}

// ---- all together --------------------------------------------------------------------------------------------------

static bool is_defined(const prove_side *side, const char *name)
{
    for (int i = 0; i < side->options.define_count; i++) {
        if (strcmp(side->options.defines[i].name, name) == 0)
            return true;
    }
    return false;
}

// A define may be for only one side; one that neither knows is an error.
static bool check_defines(prove *p)
{
    const pl_options *o = p->options->compile;
    bool ok = true;
    for (int i = 0; i < o->define_count; i++) {
        const char *name = o->defines[i].name;
        if (is_defined(&p->sides[0], name) || is_defined(&p->sides[1], name))
            continue;
        diag_report(&p->sides[0].unit.diags, HDS0235, (src_span){0, 0}, name);
        ok = false;
    }
    return ok;
}

static bool prove_all(prove *p)
{
    bool loaded = prove_load(p, 0);
    loaded &= prove_load(p, 1);
    if (!loaded || !check_defines(p) || !prove_bind(p))
        return false;
    for (int seed = 0; seed < p->options->seeds; seed++) {
        if (!prove_seed(p, seed))
            return false;
    }
    bound b;
    if (!find_bound(p, &b))
        return false;
    conclude(p, &b);
    return pl_check_passes_after(&p->sides[0].unit, p->sides[0].level) &&
           pl_check_passes_after(&p->sides[1].unit, p->sides[1].level);
}

// Runs the proof and merges the diagnostics of both sides; an error on either side is no proof.
bool prove_run(prove *p)
{
    bool equal = prove_all(p);
    for (int side = 0; side < 2; side++)
        pl_diags_merge(&p->diags, &p->sides[side].unit.diags);
    return equal && !p->diags.shown_errors;
}
