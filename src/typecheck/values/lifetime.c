// Lifetimes: what is made while a function of the output is elaborated is given back when its IR stands.
// See Note [lifetimes].
#include "typecheck/values/values.h"

void tc_lifetime_begin(tc *tx, tc_lifetime *l)
{
    *l = (tc_lifetime){.outer = tx->lifetime, .arena = tx->arena, .born = tx->born, .first = ++tx->last_born};
    l->shared = tc_shared_mark(tx);
    if (tx->options->scratch) {
        tx->arena = tx->options->scratch;
        l->mark = arena_mark_get(tx->arena);
    }
    map_init(&l->launches, tx->arena);
    map_init(&l->joined, tx->arena);
    tx->born = l->first;
    tx->lifetime = l;
}

void tc_lifetime_end(tc *tx, tc_lifetime *l)
{
    tc_shared_drop(tx, l->shared);
    if (tx->options->scratch && !l->keeps)
        arena_reset(tx->options->scratch, l->mark);
    tx->lifetime = l->outer;
    tx->arena = l->arena;
    tx->born = l->born;
}

void tc_lasting_begin(tc *tx, tc_lifetime *l)
{
    *l = (tc_lifetime){.outer = tx->lifetime, .arena = tx->arena, .ir = tx->ir->arena, .born = tx->born};
    tx->arena = tx->lasting;
    tx->ir->arena = tx->ir->lasting;
    tx->born = 0;
    tx->lifetime = NULL;
}

void tc_lasting_end(tc *tx, tc_lifetime *l)
{
    tx->lifetime = l->outer;
    tx->arena = l->arena;
    tx->ir->arena = l->ir;
    tx->born = l->born;
}

void tc_ir_begin(tc *tx, tc_ir_lifetime *l)
{
    arena *scratch = tx->options->ir_scratch;
    tc_lifetime_begin(tx, &l->lifetime);
    l->arena = tx->ir->arena;
    if (!scratch)
        return;
    l->mark = arena_mark_get(scratch);
    ir_forget_spare(tx->ir);
    tx->ir->arena = scratch;
}

void tc_ir_end(tc *tx, tc_ir_lifetime *l)
{
    bool keeps = l->lifetime.keeps;
    tc_lifetime_end(tx, &l->lifetime);
    tx->ir->arena = l->arena;
    if (!tx->options->ir_scratch)
        return;
    ir_forget_spare(tx->ir);
    if (!keeps)
        arena_reset(tx->options->ir_scratch, l->mark);
}

void tc_changes(tc *tx, uint32_t born)
{
    for (tc_lifetime *l = tx->lifetime; l && born < l->first; l = l->outer)
        l->keeps = true;
}

/* Note [lifetimes]
 *
 * Memory of elaboration has three lifetimes:
 *
 *   tx->lasting    until the unit is freed: syntax trees, modules and what their top levels make, memos
 *   tx->ir->lasting  as long as the IR (the same arena): functions, their names, types, instructions, sites
 *   tx->ir->arena  statements, expressions, variables, mappings and layouts, and the texts in all of these, that are made
 *                  now. From tc_ir_begin to tc_ir_end that is the scratch arena for IR, if there is one: an entry with all
 *                  that it launches is elaborated there, its passes run, what is left moves to where it lasts, and the
 *                  arena is reset. So is that of code which is only looked at.
 *   tx->arena      what is made now. At the top level of a module that is tx->lasting; while a function of the output is
 *                  elaborated, from tc_lifetime_begin to tc_lifetime_end, it is the scratch arena, which is then reset:
 *                  scopes, frames, arguments, compile-time values.
 *
 * Lifetimes nest: a kernel is elaborated at its launch in a host function, whose planning is a lifetime, too (launch_once). So are
 * calls that a graph function records, of which only data last (within), and sides of rewrites. A module that is imported
 * meanwhile is loaded between tc_lasting_begin and tc_lasting_end.
 *
 * IR never holds memory of tx->arena. Data that are older than the function may come to hold some: a list of a module that a
 * kernel appends to. So scopes, containers and records know when they were made (born), whatever changes one says so
 * (tc_changes), and if it is older than a lifetime under way, what is made in that lifetime is kept.
 */
