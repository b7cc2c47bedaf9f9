// Functions that are done move to memory that lasts. What elaboration and passes tried and replaced on the way stays behind.
#include "ir/ir.h"

typedef struct moved_expr {
    const ir_expr *from;
    ir_expr *to;
} moved_expr;

typedef struct mover {
    ir_module *module;
    arena *to, *scratch;
    // What was shared stays shared: an old node's note is its index here, if the entry points back at it (notes may be stale).
    VEC(moved_expr) exprs;
    map vars;  // old address -> new one
    uint32_t first_site;
    uint32_t *sites;  // by number, less that one: whether a statement came through it; then the new number
} mover;

static ir_var *move_var(mover *v, const ir_var *from);
static ir_expr *move_expr(mover *v, ir_expr *from);

// Names repeat: the table of symbols has each once.
static const char *move_text(mover *v, const char *text)
{
    return text ? sym_of(v->module->syms, text)->text : NULL;
}

static ir_expr **move_list(mover *v, ir_expr *const *from, int count)
{
    if (!from)
        return NULL;
    ir_expr **list = ARENA_ARRAY(v->to, ir_expr *, count);
    for (int i = 0; i < count; i++)
        list[i] = move_expr(v, from[i]);
    return list;
}

// ---- mappings, layouts, tensors ----------------------------------------------------------------------------------

static const tm_map *move_map(mover *v, const tm_map *from)
{
    return from ? arena_dup(v->to, from, sizeof *from + (size_t)from->digit_count * sizeof from->digits[0]) : NULL;
}

static const tm_layout *move_layout(mover *v, const tm_layout *from)
{
    if (!from)
        return NULL;
    tm_layout *layout = arena_dup(v->to, from, sizeof *from);
    layout->outer = move_layout(v, from->outer);
    layout->inner = move_layout(v, from->inner);
    layout->map = move_map(v, from->map);
    return layout;
}

static ir_tensor *move_tensor(mover *v, const ir_tensor *from)
{
    ir_tensor *tensor = arena_dup(v->to, from, sizeof *from);
    tensor->shape = move_list(v, from->shape, from->rank);
    tensor->strides = move_list(v, from->strides, from->rank);
    tensor->worker = move_expr(v, from->worker);
    tensor->layout = move_layout(v, from->layout);
    tensor->map = move_map(v, from->map);
    return tensor;
}

static ir_tensor_map *move_tensor_map(mover *v, const ir_tensor_map *from)
{
    ir_tensor_map *of = arena_dup(v->to, from, sizeof *from);
    of->tensor = move_var(v, from->tensor);
    return of;
}

static ir_var *move_var(mover *v, const ir_var *from)
{
    if (!from)
        return NULL;
    ir_var *var = map_get_ptr(&v->vars, from);
    if (var)
        return var;
    var = arena_dup(v->to, from, sizeof *from);
    map_put_ptr(&v->vars, from, var); // its extents may read other variables, and these it
    var->id = v->module->next_var++;
    var->note = 0;
    var->name = move_text(v, from->name);
    var->default_text = move_text(v, from->default_text);
    var->definition = NULL;
    var->tensor = from->tensor ? move_tensor(v, from->tensor) : NULL;
    var->map = from->map ? move_tensor_map(v, from->map) : NULL;
    return var;
}

// ---- expressions and statements ----------------------------------------------------------------------------------

static ir_expr *move_expr(mover *v, ir_expr *from)
{
    if (!from)
        return NULL;
    if (from->note < v->exprs.len && v->exprs.at[from->note].from == from)
        return v->exprs.at[from->note].to;
    ir_expr *e = arena_dup(v->to, from, sizeof *from + (size_t)from->arg_count * sizeof from->args[0]);
    e->note = 0;
    from->note = (uint32_t)v->exprs.len;
    VEC_PUSH(v->scratch, &v->exprs, ((moved_expr){from, e}));
    if (from->op == IR_OP_VAR || from->op == IR_OP_LOAD || from->op == IR_OP_ADDR || from->op == IR_OP_TILE)
        e->u.var = move_var(v, from->u.var);
    else if (from->op == IR_OP_TEXT)
        e->u.text = move_text(v, from->u.text);
    for (int i = 0; i < from->arg_count; i++)
        e->args[i] = move_expr(v, from->args[i]);
    return e;
}

static void move_block(mover *v, ir_block *b);

// Numbers from 1; those of callers are smaller.
static void note_site(mover *v, uint32_t number)
{
    for (; number > v->first_site; number = ir_site_at(v->module, number)->parent)
        v->sites[number - v->first_site] = 1;
}

static ir_stmt *move_stmt(mover *v, const ir_stmt *from)
{
    note_site(v, from->origin);
    ir_stmt *s = arena_dup(v->to, from, sizeof *from);
    s->var = move_var(v, from->var);
    s->map = move_map(v, from->map);
    if (from->vars) {
        s->vars = ARENA_ARRAY(v->to, ir_var *, from->map->rank);
        for (int i = 0; i < from->map->rank; i++)
            s->vars[i] = move_var(v, from->vars[i]);
    }
    s->value = move_expr(v, from->value);
    s->args = move_list(v, from->args, from->arg_count);
    s->text = move_text(v, from->text);
    if (from->joined)
        s->joined = arena_dup(v->to, from->joined, sizeof *from->joined * (size_t)from->count);
    for (int i = 0; from->joined && i < from->count; i++)
        note_site(v, from->joined[i].origin);
    move_block(v, &s->body);
    move_block(v, &s->or_else);
    return s;
}

// The block's list is replaced; what it was is left as it is.
static void move_block(mover *v, ir_block *b)
{
    ir_block moved = {0};
    if (b->stmts.len)
        VEC_RESERVE(v->to, &moved.stmts, b->stmts.len);
    for (size_t i = 0; i < b->stmts.len; i++)
        VEC_PUSH(v->to, &moved.stmts, move_stmt(v, b->stmts.at[i]));
    *b = moved;
}

static void renumber_origin(const mover *v, uint32_t *origin)
{
    if (*origin > v->first_site)
        *origin = v->sites[*origin - v->first_site];
}

static void renumber(void *user, ir_stmt *s)
{
    renumber_origin(user, &s->origin);
    for (int i = 0; s->joined && i < s->count; i++)
        renumber_origin(user, &s->joined[i].origin);
}

static void move_sites(mover *v)
{
    ir_module *m = v->module;
    uint32_t kept = v->first_site;
    for (uint32_t i = v->first_site; i < m->sites.len; i++) {
        uint32_t *number = &v->sites[i + 1 - v->first_site];
        if (!*number)
            continue;
        ir_site site = m->sites.at[i];
        if (site.parent > v->first_site)
            site.parent = v->sites[site.parent - v->first_site];
        m->sites.at[kept++] = site;
        *number = kept;
    }
    m->sites.len = kept;
    for (size_t i = 0; i < m->funcs.len; i++)
        ir_walk(&m->funcs.at[i]->body, renumber, v);
}

// ---- functions ---------------------------------------------------------------------------------------------------

static void move_func(mover *v, ir_func *f)
{
    ir_func old = *f;
    f->params.at = f->maps.at = NULL;
    f->params.len = f->params.cap = f->maps.len = f->maps.cap = 0;
    for (size_t i = 0; i < old.params.len; i++)
        VEC_PUSH(v->to, &f->params, move_var(v, old.params.at[i]));
    for (size_t i = 0; i < old.maps.len; i++)
        VEC_PUSH(v->to, &f->maps, move_var(v, old.maps.at[i]));
    for (int i = 0; i < 3; i++) {
        f->grid[i] = move_expr(v, old.grid[i]);
        f->block[i] = move_expr(v, old.block[i]);
        f->cluster[i] = move_expr(v, old.cluster[i]);
    }
    f->dynamic_smem_bytes = move_expr(v, old.dynamic_smem_bytes);
    move_block(v, &f->body);
}

void ir_settle(ir_module *m, const ir_extent *before, arena *scratch)
{
    arena_mark mark = arena_mark_get(scratch);
    mover v = {.module = m, .to = m->lasting, .scratch = scratch, .first_site = before->sites};
    map_init(&v.vars, scratch);
    for (size_t i = 0; i < m->globals.len; i++)
        map_put_ptr(&v.vars, m->globals.at[i], m->globals.at[i]);
    m->next_var = before->vars;
    v.sites = ARENA_ARRAY(scratch, uint32_t, m->sites.len - before->sites + 1);
    for (size_t i = 0; i < m->funcs.len; i++)
        move_func(&v, m->funcs.at[i]);
    move_sites(&v);
    ir_forget_spare(m);
    arena_reset(scratch, mark);
}
