#include "remarks/kernel_facts.h"

#include <string.h>

typedef struct search {
    const remark_unit *unit;
    remark_facts *facts;
    map seen;    // device functions
    map indices; // arrays: ir_var* -> position in facts->arrays + 1
    map loops;   // variables of loops with constant bounds
    map values;  // locals that are never assigned: ir_var* -> ir_expr*
    const ir_stmt *stmt;
} search;

static void note_stmt(void *user, ir_stmt *s);

static void note_spot(const search *s, remark_spot *spot)
{
    if (!spot->span.begin)
        *spot = (remark_spot){s->stmt->span, s->stmt->origin};
}

// ---- indices ----------------------------------------------------------------------------------------------------

typedef struct index_walk {
    search *search;
    remark_index worst;
} index_walk;

static void raise(index_walk *w, remark_index to)
{
    if (to > w->worst)
        w->worst = to;
}

static void index_node(void *user, ir_expr *e)
{
    index_walk *w = user;
    if (e->op == IR_OP_VAR) {
        ir_expr *value = map_get_ptr(&w->search->values, e->u.var);
        bool is_loop = map_get_ptr(&w->search->loops, e->u.var) != NULL;
        if (value)
            ir_walk_expr(w->search->unit->module, value, index_node, w);
        else
            raise(w, is_loop ? REMARK_INDEX_OF_LOOP : REMARK_INDEX_AT_RUN_TIME);
    } else if (!(ir_op_properties(e->op) & IR_PURE)) {
        raise(w, REMARK_INDEX_AT_RUN_TIME);
    }
}

static void note_index(search *s, const ir_var *var, ir_expr **args, int count, src_span span)
{
    size_t at = (size_t)(uintptr_t)map_get_ptr(&s->indices, var);
    index_walk w = {.search = s};
    for (int i = 0; at && i < count; i++)
        ir_walk_expr(s->unit->module, args[i], index_node, &w);
    if (!at || w.worst <= s->facts->arrays.at[at - 1].index)
        return;
    s->facts->arrays.at[at - 1].index = w.worst;
    s->facts->arrays.at[at - 1].access = (remark_spot){span.begin ? span : s->stmt->span, s->stmt->origin};
}

// ---- statements -------------------------------------------------------------------------------------------------

bool remark_is_wgmma(const ir_intrin *in)
{
    return strstr(in->text, "wgmma.mma_async") != NULL;
}

bool remark_is_share(const ir_intrin *in)
{
    return strstr(in->text, "setmaxnreg.") != NULL;
}

static void note_intrin(search *s, const ir_intrin *in)
{
    if (in->form != IR_INTRIN_PTX)
        return;
    if (remark_is_wgmma(in))
        note_spot(s, &s->facts->wgmma);
    if (remark_is_share(in))
        note_spot(s, &s->facts->register_share);
}

static void note_expr(void *user, ir_expr *e)
{
    search *s = user;
    if (e->op == IR_OP_INTRIN)
        note_intrin(s, e->u.intrin);
    if (e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_TILE)
        note_index(s, e->u.var, e->args, e->arg_count, e->span);
    if (e->op != IR_OP_CALL || map_get_ptr(&s->seen, e->u.func))
        return;
    map_put_ptr(&s->seen, e->u.func, e->u.func);
    const ir_stmt *caller = s->stmt;
    ir_walk(&e->u.func->body, note_stmt, s);
    s->stmt = caller;
}

static void note_array(search *s, const ir_var *var)
{
    const ir_tensor *t = var->tensor;
    if (!t || (t->space != IR_REGISTER && t->space != IR_LOCAL) || t->storage_elems <= 0)
        return;
    remark_array array = {.var = var, .bytes = t->storage_elems * ir_type_bytes(t->elem)};
    VEC_PUSH(s->unit->memory, &s->facts->arrays, array);
    map_put_ptr(&s->indices, var, (void *)(uintptr_t)s->facts->arrays.len);
}

static void note_loop(search *s, const ir_stmt *loop)
{
    int64_t bound;
    for (int i = 0; i < 3; i++)
        if (!ir_const_int(loop->args[i], &bound))
            return;
    map_put_ptr(&s->loops, loop->var, loop->var);
}

static void note_stmt(void *user, ir_stmt *stmt)
{
    search *s = user;
    s->stmt = stmt;
    if (stmt->kind == IR_ALLOC)
        note_array(s, stmt->var);
    if (stmt->kind == IR_FOR)
        note_loop(s, stmt);
    if (stmt->kind == IR_DECL && stmt->value && !stmt->var->is_mutable)
        map_put_ptr(&s->values, stmt->var, stmt->value);
    if (stmt->kind == IR_STORE)
        note_index(s, stmt->var, stmt->args, stmt->arg_count, stmt->span);
    if (stmt->kind == IR_PRINT)
        s->facts->output_bytes += 8 * (int64_t)(stmt->arg_count + 1);
    if (stmt->kind == IR_ASSERT || stmt->kind == IR_PRINT) {
        s->facts->is_assertion = s->facts->message.span.begin ? s->facts->is_assertion : stmt->kind == IR_ASSERT;
        note_spot(s, &s->facts->message);
    }
    ir_walk_stmt_exprs(s->unit->module, stmt, note_expr, s);
}

void remark_facts_of(const remark_unit *u, remark_facts_list *out)
{
    *out = (remark_facts_list){0};
    for (size_t i = 0; i < u->kernels->len; i++) {
        remark_facts facts = {.info = &u->kernels->at[i]};
        search s = {.unit = u, .facts = &facts};
        map_init(&s.seen, u->memory);
        map_init(&s.indices, u->memory);
        map_init(&s.loops, u->memory);
        map_init(&s.values, u->memory);
        ir_walk((ir_block *)&facts.info->func->body, note_stmt, &s);
        VEC_PUSH(u->memory, out, facts);
    }
}

// ---- questions --------------------------------------------------------------------------------------------------

const char *remark_kernel_title(const remark_facts *facts)
{
    const ir_func *f = facts->info->func;
    return f->title ? f->title : f->name;
}

const remark_array *remark_largest_array(const remark_facts *facts)
{
    const remark_array *largest = NULL;
    for (size_t i = 0; i < facts->arrays.len; i++) {
        if (!largest || facts->arrays.at[i].bytes > largest->bytes)
            largest = &facts->arrays.at[i];
    }
    return largest;
}

typedef struct line_search {
    const src_map *sources;
    const src_file *file;
    uint32_t line;
    remark_spot found;
} line_search;

static void see_line(void *user, ir_stmt *s)
{
    line_search *at = user;
    src_location location = src_location_of(at->sources, s->span.begin);
    if (!at->found.span.begin && location.file == at->file && location.line == at->line)
        at->found = (remark_spot){s->span, s->origin};
}

remark_spot remark_statement_at(const remark_unit *u, const remark_facts *facts, const src_file *file, uint32_t line)
{
    line_search at = {.sources = u->sources, .file = file, .line = line};
    ir_walk((ir_block *)&facts->info->func->body, see_line, &at);
    return at.found;
}
