// Which way data goes through a parameter: what is only read has to be given, what is written is a result.

#include "driver/run.h"

enum { MOST_DEEP = 4 };  // calls and pointers kept of pointers that are followed; then anything may happen

typedef struct search {
    const ir_var *var;
    bool is_read, is_written;
    const ir_expr *harmless[8];  // addresses of operands under way that are only read through
    int harmless_count;
    const ir_expr *ignored[8];   // addresses that become a number, as where an alignment is asked for, or are stored through
    int ignored_count;
} search;

// The addresses that an operand may be, whatever is done to them on the way.
static void note_addresses(search *s, const ir_expr *e)
{
    while (e->op == IR_OP_CAST || e->op == IR_OP_BITCAST || e->op == IR_OP_ADD || e->op == IR_OP_SUB)
        e = e->args[0];
    if (e->op == IR_OP_SELECT) {
        note_addresses(s, e->args[1]);
        note_addresses(s, e->args[2]);
    } else if ((e->op == IR_OP_ADDR || e->op == IR_OP_VAR) && e->u.var == s->var && s->harmless_count < 8) {
        s->harmless[s->harmless_count++] = e;
    }
}

static bool is_number(const ir_expr *e)
{
    return (e->op == IR_OP_CAST || e->op == IR_OP_BITCAST) && e->type->kind == IR_SCALAR &&
           (e->args[0]->op == IR_OP_ADDR || e->args[0]->op == IR_OP_VAR);
}

static void note_harmless(void *user, ir_expr *e)
{
    search *s = user;
    if (is_number(e) && s->ignored_count < 8)
        s->ignored[s->ignored_count++] = e->args[0];
    if (e->op == IR_OP_PLOAD)
        note_addresses(user, e->args[0]);
    if (e->op != IR_OP_INTRIN || e->u.intrin->effects & IR_EFFECT_WRITES_GLOBAL)
        return;
    for (int i = 0; i < e->arg_count; i++)
        note_addresses(user, e->args[i]);
}

static bool is_harmless(const search *s, const ir_expr *e)
{
    for (int i = 0; i < s->harmless_count; i++) {
        if (s->harmless[i] == e)
            return true;
    }
    return false;
}

static bool is_ignored(const search *s, const ir_expr *e)
{
    for (int i = 0; i < s->ignored_count; i++) {
        if (s->ignored[i] == e)
            return true;
    }
    return false;
}

// Copies by a tensor map of it.
static void look_at_maps(search *s, const ir_expr *e)
{
    for (int i = 0; i < e->arg_count; i++) {
        const ir_tensor_map *of = e->args[i]->op == IR_OP_VAR ? e->args[i]->u.var->map : NULL;
        if (!of || of->tensor != s->var)
            continue;
        s->is_read = s->is_read || (e->u.intrin->effects & IR_EFFECT_READS_GLOBAL);
        s->is_written = s->is_written || (e->u.intrin->effects & IR_EFFECT_WRITES_GLOBAL);
    }
}

static void look_at_node(void *user, ir_expr *e)
{
    search *s = user;
    if (e->op == IR_OP_INTRIN)
        look_at_maps(s, e);
    bool is_it = (e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_VAR) && e->u.var == s->var && !is_ignored(s, e);
    s->is_read = s->is_read || is_it;
    // An address may go anywhere.
    s->is_written = s->is_written || (is_it && e->op != IR_OP_LOAD && !is_harmless(s, e));
}

typedef struct walk {
    ir_module *module;
    const ir_func *func;
    search *search;
    int depth;
} walk;

static void look_in(ir_module *m, const ir_func *f, search *s, int depth);

static void merge(search *to, const search *from)
{
    to->is_read = to->is_read || from->is_read;
    to->is_written = to->is_written || from->is_written;
}

// The kernel's own parameter says what a launch does with it.
static void look_at_launch(walk *w, const ir_stmt *s)
{
    for (int i = 0; i < s->arg_count; i++) {
        const ir_expr *e = s->args[i];
        bool is_it = (e->op == IR_OP_VAR || e->op == IR_OP_ADDR) && e->u.var == w->search->var;
        if (!is_it) {
            ir_walk_expr(w->module, s->args[i], look_at_node, w->search);
            continue;
        }
        search inner = {.var = s->func->params.at[i]};
        look_in(w->module, s->func, &inner, w->depth + 1);
        merge(w->search, &inner);
    }
}

// A copy writes to its destination and reads its source.
static void look_at_copy(walk *w, const ir_stmt *s)
{
    for (int i = 0; i < 2; i++) {
        ir_expr *e = s->args[i];
        bool is_it = e->op == IR_OP_ADDR && e->u.var == w->search->var;
        if (is_it && i == 0)
            w->search->is_written = true;
        else if (is_it)
            w->search->is_read = true;
        else
            ir_walk_expr(w->module, e, look_at_node, w->search);
    }
}

// What has been said of these addresses is all there is to say.
static void ignore_noted(search *s)
{
    for (int i = 0; i < s->harmless_count && s->ignored_count < 8; i++)
        s->ignored[s->ignored_count++] = s->harmless[i];
    s->harmless_count = 0;
}

// A pointer that is kept in a variable, or a view: what happens to it happens to the tensor.
static void look_at_pointer(walk *w, const ir_stmt *s)
{
    note_addresses(w->search, s->value);
    if (w->depth >= MOST_DEEP)
        w->search->harmless_count = 0;
    if (!w->search->harmless_count)
        return;
    search inner = {.var = s->var};
    look_in(w->module, w->func, &inner, w->depth + 1);
    merge(w->search, &inner);
    ignore_noted(w->search);
}

// What it may point into is written, and not read by that.
static void look_at_pointer_store(walk *w, const ir_stmt *s)
{
    note_addresses(w->search, s->args[0]);
    w->search->is_written = w->search->is_written || w->search->harmless_count;
    ignore_noted(w->search);
}

static bool keeps_pointer(const ir_stmt *s)
{
    return s->kind == IR_DECL && s->value && !s->var->is_mutable &&
           (s->var->type->kind == IR_POINTER || s->var->type->kind == IR_TENSOR);
}

static void look_at_stmt(void *user, ir_stmt *s)
{
    walk *w = user;
    if (s->kind == IR_LAUNCH && w->depth < MOST_DEEP) {
        look_at_launch(w, s);
    } else if (s->kind == IR_COPY) {
        look_at_copy(w, s);
    } else {
        if (s->kind == IR_STORE && s->var == w->search->var)
            w->search->is_written = true;
        w->search->harmless_count = w->search->ignored_count = 0;
        if (s->kind == IR_PSTORE)
            look_at_pointer_store(w, s);
        if (keeps_pointer(s))
            look_at_pointer(w, s);
        ir_walk_stmt_exprs(w->module, s, note_harmless, w->search);
        ir_walk_stmt_exprs(w->module, s, look_at_node, w->search);
    }
}

static void look_in(ir_module *m, const ir_func *f, search *s, int depth)
{
    walk w = {m, f, s, depth};
    ir_walk((ir_block *)&f->body, look_at_stmt, &w);
}

void cmd_run_uses(ir_module *m, const ir_func *f, const ir_var *v, bool *is_read, bool *is_written)
{
    search s = {.var = v};
    look_in(m, f, &s, 0);
    *is_read = s.is_read;
    *is_written = s.is_written;
}
