// Whether two sides compute the same numbers: up to rounding, as floats, and as formulas. What differs is explained as in a proof.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "prove/prove_priv.h"

// Element [i] as a float of its type; integers as they are.
static double number_at(const prove *p, const prove_output *o, int side, int64_t i)
{
    const prove_side *s = &p->sides[side];
    dtype type = p->tensors.at[o->tensor].type;
    for (size_t k = 0; k < s->func->params.len; k++)
        if (s->params[k].tensor == o->tensor)
            type = s->params[k].var->type->elem->scalar;
    uint64_t bits = 0;
    memcpy(&bits, o->bits + i * (dt_bits(type) / 8), (size_t)(dt_bits(type) / 8));
    return dt_is_float(type) ? dt_to_double(type, bits) : (double)dt_wrap_int(type, (int64_t)bits);
}

static bool is_close(double x, double y, double tolerance)
{
    return x == y || fabs(x - y) <= tolerance * (1 + fabs(y));
}

static void compare(prove *p, const prove_outcome outcomes[2], int tensor, double tolerance, prove_agreement *out)
{
    const prove_output *a = &outcomes[0].outputs[tensor], *b = &outcomes[1].outputs[tensor];
    for (int64_t i = 0; i < p->tensors.at[tensor].count; i++) {
        double x = number_at(p, a, 0, i), y = number_at(p, b, 1, i);
        bool is_unwritten = (a->is_written && !a->is_written[i]) || (b->is_written && !b->is_written[i]);
        out->elements++;
        out->undefined += isnan(x) && isnan(y);
        out->is_symbolic &= !a->values || (a->values[i].p == b->values[i].p && a->values[i].p != SIM_FIELD_NAN);
        if (out->difference || (isnan(x) && isnan(y) && !is_unwritten) || (!is_unwritten && is_close(x, y, a->values ? tolerance : 0)))
            continue;
        const char *element = prove_element_name(p, &p->memory, tensor, i);
        out->difference = is_unwritten ? arena_printf(&p->memory, "%s is not written", element)
                                       : arena_printf(&p->memory, "%s is %.9g and %.9g", element, x, y);
    }
}

// The first note of the explanation that a proof gives.
static const char *explain(prove *p, const prove_outcome outcomes[2])
{
    diag_context *dx = &p->sides[0].unit.diags;
    size_t first = dx->all.len;
    prove_explain(p, outcomes, 0, "");
    for (size_t i = first; i < dx->all.len; i++)
        for (size_t k = 0; k < dx->all.at[i]->parts.len; k++)
            if (dx->all.at[i]->parts.at[k].kind == DIAG_PART_NOTE)
                return arena_strdup(&p->memory, dx->all.at[i]->parts.at[k].text);
    return NULL;
}

bool prove_agree(prove *p, double tolerance, prove_agreement *out, int *side)
{
    const prove_request request = {0};
    prove_outcome outcomes[2];
    *out = (prove_agreement){.is_symbolic = true};
    for (*side = 2; --*side >= 0;)
        if (!prove_load(p, *side))
            return false;
    *side = 0;
    if (!prove_bind(p))
        return false;
    for (*side = 2; --*side >= 0;) {
        outcomes[*side] = prove_run_side(p, *side, &request, &p->scratch);
        if (!outcomes[*side].is_complete)
            return false;
    }
    for (size_t t = 0; t < p->tensors.len; t++)
        if (outcomes[0].outputs[t].tensor >= 0)
            compare(p, outcomes, (int)t, tolerance, out);
    if (out->difference)
        out->explanation = explain(p, outcomes);
    return true;
}
