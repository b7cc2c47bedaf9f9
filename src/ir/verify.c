// The verifier: rules of statements, variables, functions and the module.
//
// Messages are internal errors of the compiler (HDS0400) that name the pass after which the rule is broken, the function
// and the statement's first line. After VERIFY_MAX_MESSAGES it stops complaining.
#include "ir/verify_priv.h"

#include "base/checked.h"

#include <string.h>

// ---- messages ----------------------------------------------------------------------------------------------------

static const char *first_line(verifier *v, const ir_stmt *s)
{
    str_buf b;
    str_buf_init(&b, v->module->arena);
    ir_print_stmt(s, &b);
    const char *text = str_text(&b), *end = strchr(text, '\n');
    return arena_strndup(v->module->arena, text, end ? (size_t)(end - text) : strlen(text));
}

void ir_verify_broken(verifier *v, const char *rule, ...)
{
    if (v->messages++ >= VERIFY_MAX_MESSAGES)
        return;
    arena *a = v->module->arena;
    va_list args;
    va_start(args, rule);
    const char *text = arena_vprintf(a, rule, args);
    va_end(args);
    const char *when = v->pass ? arena_printf(a, " after pass '%s'", v->pass) : "";
    src_span span = v->stmt ? v->stmt->span : v->func ? v->func->span : (src_span){0};
    diag *d = diag_report(v->module->diags, HDS0400, span, when, v->func ? v->func->name : v->module->name, text);
    if (v->stmt)
        diag_note(d, (src_span){0}, "in the statement '%s'", first_line(v, v->stmt));
}

// ---- variables ---------------------------------------------------------------------------------------------------

static void declare(verifier *v, ir_var *var)
{
    if (!var || !var->type) {
        ir_verify_broken(v, "a declaration has a variable with a type");
        return;
    }
    if (var->id >= v->module->next_var) {
        ir_verify_broken(v, "variable '%s' is of this module", var->name);
        return;
    }
    if (v->states[var->id] != VAR_UNDECLARED)
        ir_verify_broken(v, "variable '%s' is declared once", var->name);
    v->states[var->id] = VAR_IN_SCOPE;
    VEC_PUSH(v->module->arena, &v->scope, var);
}

static void end_scope(verifier *v, size_t mark)
{
    while (v->scope.len > mark)
        v->states[VEC_POP(&v->scope)->id] = VAR_GONE;
}

static void check_extent(verifier *v, ir_expr *e, const char *what)
{
    ir_verify_index(v, e, what);
    if (e && !ir_is_pure(e))
        ir_verify_broken(v, "%s does not change while the tensor lives", what);
}

static void check_static_layout(verifier *v, const ir_tensor *t)
{
    if (t->layout->rank != t->rank) {
        ir_verify_broken(v, "the layout has the tensor's rank");
        return;
    }
    for (int i = 0; i < t->rank; i++) {
        int64_t extent;
        if (t->shape[i] && ir_const_int(t->shape[i], &extent) && extent != t->layout->shape[i])
            ir_verify_broken(v, "the layout has the tensor's shape");
    }
}

static void check_placement(verifier *v, const ir_tensor *t)
{
    int placements = (t->layout != NULL) + (t->strides != NULL) + (t->map != NULL);
    if (placements > 1 || (placements == 0 && t->rank > 0))
        ir_verify_broken(v, "a tensor has a layout, or strides, or a mapping");
    if (t->layout)
        check_static_layout(v, t);
    for (int i = 0; t->strides && i < t->rank; i++)
        check_extent(v, t->strides[i], "a stride");
    if (t->is_strided && t->space != IR_GLOBAL)
        ir_verify_broken(v, "only a parameter in global memory is strided");
    if (!t->map)
        return;
    if (v->low)
        ir_verify_broken(v, "no tensor has a mapping at the low level");
    if (t->map->rank != t->rank || t->space != IR_REGISTER)
        ir_verify_broken(v, "a mapping is for a register tensor of its rank");
    check_extent(v, t->worker, "the worker");
}

static void check_tensor(verifier *v, const ir_var *var)
{
    const ir_tensor *t = var->tensor;
    if (t->elem != var->type->elem || t->space != var->type->space)
        ir_verify_broken(v, "a tensor's elements and space are those of its type");
    if (t->rank < 0 || (t->rank > 0 && !t->shape)) {
        ir_verify_broken(v, "a tensor has a shape");
        return;
    }
    for (int i = 0; i < t->rank; i++)
        check_extent(v, t->shape[i], "an extent");
    check_placement(v, t);
    if (t->align_bytes < 0 || (t->align_bytes && !is_power_of_two(t->align_bytes)))
        ir_verify_broken(v, "an alignment is a power of two");
    if ((t->smem_offset >= 0 || t->is_dynamic_smem) && t->space != IR_SHARED)
        ir_verify_broken(v, "only shared tensors have an offset in shared memory");
}

static void check_var(verifier *v, const ir_var *var)
{
    if (!var || !var->type)
        return;
    ir_verify_type(v, var->type);
    if (var->type->kind == IR_VOID || var->type->kind == IR_STRING)
        ir_verify_broken(v, "variable '%s' holds a value", var->name);
    if ((var->type->kind == IR_TENSOR) != (var->tensor != NULL))
        ir_verify_broken(v, "variable '%s' has a shape if it is a tensor", var->name);
    else if (var->tensor)
        check_tensor(v, var);
    if ((var->type->kind == IR_TENSOR_MAP) != (var->map != NULL))
        ir_verify_broken(v, "tensor maps such as '%s' are made by launches", var->name);
    if ((var->has_range && var->min > var->max) || var->divisor < 1)
        ir_verify_broken(v, "the facts about '%s' can hold", var->name);
}

// ---- statements --------------------------------------------------------------------------------------------------

static void check_block(verifier *v, const ir_block *b);

static void check_bool(verifier *v, ir_expr *e)
{
    ir_verify_typed(v, e, ir_scalar(v->module, DT_BOOL), "a condition");
}

static bool has_args(verifier *v, const ir_stmt *s, int count)
{
    bool fine = s->arg_count == count;
    for (int i = 0; fine && i < count; i++)
        fine = s->args[i] != NULL;
    if (!fine)
        ir_verify_broken(v, "'%s' has %d operands", ir_stmt_name(s->kind), count);
    return fine;
}

static void check_target(verifier *v, ir_var *var)
{
    if (!var || var->id >= v->module->next_var || v->states[var->id] != VAR_IN_SCOPE) {
        ir_verify_broken(v, "'%s' is in scope where it is changed", var && var->name ? var->name : "");
        return;
    }
    if (var->tensor && var->type->is_const)
        ir_verify_broken(v, "nothing is written into the constant tensor '%s'", var->name);
}

static void check_decl(verifier *v, const ir_stmt *s)
{
    check_var(v, s->var);
    if (s->value)
        ir_verify_expr(v, s->value);
    if (s->var && s->var->type && s->value && s->value->type)
        ir_verify_passed(v, s->value, s->var->type, "the first value");
    if (s->var && !s->value && !s->var->is_mutable)
        ir_verify_broken(v, "a variable that is never assigned has a first value");
    declare(v, s->var);
}

static void check_alloc(verifier *v, const ir_stmt *s)
{
    check_var(v, s->var);
    if (!s->var || !s->var->tensor) {
        ir_verify_broken(v, "'alloc' makes a tensor");
        return;
    }
    ir_space space = s->var->tensor->space;
    bool on_host = v->func->kind == IR_HOST_FUNC;
    bool fine = on_host ? space == IR_HOST || space == IR_GLOBAL
                        : space == IR_SHARED || space == IR_REGISTER || space == IR_LOCAL;
    if (!fine)
        ir_verify_broken(v, "no tensor in %s memory is made here", ir_space_name(space));
    if (s->value)
        ir_verify_typed(v, s->value, s->var->tensor->elem, "the fill value");
    declare(v, s->var);
}

static void check_assign(verifier *v, const ir_stmt *s)
{
    check_target(v, s->var);
    ir_verify_expr(v, s->value);
    if (!s->var || !s->value)
        return;
    if (!s->var->is_mutable)
        ir_verify_broken(v, "'%s' is assigned and so mutable", s->var->name);
    ir_verify_passed(v, s->value, s->var->type, "the assigned value");
}

static void check_store(verifier *v, const ir_stmt *s)
{
    check_target(v, s->var);
    for (int i = 0; i < s->arg_count; i++)
        ir_verify_index(v, s->args[i], "an index");
    ir_verify_access(v, s->var, s->args, s->arg_count, s->flags);
    if (s->var && s->var->tensor)
        ir_verify_typed(v, s->value, s->var->tensor->elem, "the stored value");
}

static void check_pstore(verifier *v, const ir_stmt *s)
{
    if (!has_args(v, s, 2))
        return;
    ir_verify_expr(v, s->args[0]);
    ir_verify_index(v, s->args[1], "an index");
    const ir_type *p = s->args[0]->type;
    if (p->kind != IR_POINTER || p->elem->kind == IR_VOID || p->is_const)
        ir_verify_broken(v, "a store through a pointer needs one to mutable elements");
    else
        ir_verify_typed(v, s->value, p->elem, "the stored value");
}

static void check_copy(verifier *v, const ir_stmt *s)
{
    if (!has_args(v, s, 2))
        return;
    for (int i = 0; i < 2; i++) {
        ir_verify_expr(v, s->args[i]);
        if (s->args[i]->op != IR_OP_ADDR && s->args[i]->op != IR_OP_TILE) {
            ir_verify_broken(v, "a copy is between addresses and tiles");
            return;
        }
    }
    if (s->args[0]->type->elem != s->args[1]->type->elem)
        ir_verify_broken(v, "a copy is between elements of the same type");
    check_target(v, s->args[0]->u.var);
    if (s->count < 1)
        ir_verify_broken(v, "a copy is of one or more elements");
}

static void check_intrin_to(verifier *v, const ir_stmt *s)
{
    if (!has_args(v, s, 1))
        return;
    ir_expr *to = s->args[0];
    ir_verify_expr(v, to);
    ir_verify_expr(v, s->value);
    if (to->op != IR_OP_TILE || !s->value || s->value->op != IR_OP_INTRIN || s->value->type->kind != IR_TENSOR) {
        ir_verify_broken(v, "a tile takes the result of an instruction that gives registers");
        return;
    }
    if (to->type->elem != s->value->type->elem || to->count != s->value->u.intrin->result_count)
        ir_verify_broken(v, "a tile has as many registers, of the same type, as the instruction gives");
}

static void check_loop_body(verifier *v, const ir_block *body)
{
    v->loops++;
    check_block(v, body);
    v->loops--;
}

static void check_for(verifier *v, const ir_stmt *s)
{
    check_var(v, s->var);
    if (!has_args(v, s, 3) || !s->var || !s->var->type)
        return;
    for (int i = 0; i < 3; i++)
        ir_verify_typed(v, s->args[i], s->var->type, "a loop's bound");
    if (s->var->type->kind != IR_SCALAR || !dt_is_int(s->var->type->scalar) || s->var->is_mutable)
        ir_verify_broken(v, "a loop's variable is an integer that nothing else changes");
    int64_t step;
    if (ir_const_int(s->args[2], &step) && step == 0)
        ir_verify_broken(v, "a loop's step is not 0");
    size_t mark = v->scope.len;
    declare(v, s->var);
    check_loop_body(v, &s->body);
    end_scope(v, mark);
}

static void check_tasks(verifier *v, const ir_stmt *s)
{
    if (v->low)
        ir_verify_broken(v, "no task loop is left at the low level");
    if (!s->map || (s->map->rank && !s->vars) || !has_args(v, s, 1)) {
        ir_verify_broken(v, "a task loop has a mapping, its variables and a worker");
        return;
    }
    ir_verify_index(v, s->args[0], "the worker");
    size_t mark = v->scope.len;
    for (int i = 0; i < s->map->rank; i++) {
        ir_var *var = s->vars[i];
        check_var(v, var);
        if (!var || !var->type || var->type->kind != IR_SCALAR || !dt_is_int(var->type->scalar))
            ir_verify_broken(v, "task coordinates are integers");
        declare(v, var);
    }
    check_loop_body(v, &s->body);
    end_scope(v, mark);
}

static void check_return(verifier *v, const ir_stmt *s)
{
    const ir_type *result = v->func->result;
    if (s->value)
        ir_verify_expr(v, s->value);
    if ((result->kind == IR_VOID) != (s->value == NULL))
        ir_verify_broken(v, "'return' has a value where the function has a result");
    else if (s->value)
        ir_verify_passed(v, s->value, result, "the result");
}

static bool is_open(const verifier *v, int label)
{
    for (size_t i = 0; i < v->labels.len; i++)
        if (v->labels.at[i] == label)
            return true;
    return false;
}

static void check_scope(verifier *v, const ir_stmt *s)
{
    if (is_open(v, s->count))
        ir_verify_broken(v, "scopes inside each other have different labels");
    VEC_PUSH(v->module->arena, &v->labels, s->count);
    check_block(v, &s->body);
    v->labels.len--;
}

static void check_launch(verifier *v, const ir_stmt *s)
{
    const ir_func *f = s->func;
    if (!f || f->kind != IR_KERNEL || f->id >= v->module->funcs.len || !v->known_funcs[f->id]) {
        ir_verify_broken(v, "a launched kernel stands before the host function");
        return;
    }
    if (v->func->kind != IR_HOST_FUNC)
        ir_verify_broken(v, "kernels are launched by host functions");
    if (s->arg_count != (int)f->params.len) {
        ir_verify_broken(v, "'%s' takes %zu arguments, found %d", f->name, f->params.len, s->arg_count);
        return;
    }
    for (int i = 0; i < s->arg_count; i++) {
        ir_verify_expr(v, s->args[i]);
        if (s->args[i])
            ir_verify_passed(v, s->args[i], f->params.at[i]->type, "an argument");
    }
}

static void check_print(verifier *v, const ir_stmt *s)
{
    if (!s->text)
        ir_verify_broken(v, "'print' has a format");
    for (int i = 0; i < s->arg_count; i++) {
        ir_verify_expr(v, s->args[i]);
        ir_type_kind kind = s->args[i] ? s->args[i]->type->kind : IR_SCALAR;
        if (kind == IR_VOID || kind == IR_TENSOR || kind == IR_TENSOR_MAP)
            ir_verify_broken(v, "values are printed");
    }
}

static void check_stmt(verifier *v, const ir_stmt *s)
{
    v->stmt = s;
    if (s->origin > v->module->sites.len)
        ir_verify_broken(v, "the origin of a statement is a site");
    switch (s->kind) {
    case IR_DECL: check_decl(v, s); break;
    case IR_ASSIGN: check_assign(v, s); break;
    case IR_STORE: check_store(v, s); break;
    case IR_PSTORE: check_pstore(v, s); break;
    case IR_COPY: check_copy(v, s); break;
    case IR_EVAL: ir_verify_expr(v, s->value); break;
    case IR_INTRIN_TO: check_intrin_to(v, s); break;
    case IR_ALLOC: check_alloc(v, s); break;
    case IR_IF:
        check_bool(v, s->value);
        check_block(v, &s->body);
        check_block(v, &s->or_else);
        break;
    case IR_FOR: check_for(v, s); break;
    case IR_WHILE:
        check_bool(v, s->value);
        check_loop_body(v, &s->body);
        break;
    case IR_TASKS: check_tasks(v, s); break;
    case IR_BREAK:
    case IR_CONTINUE:
        if (!v->loops)
            ir_verify_broken(v, "'%s' is inside a loop", ir_stmt_name(s->kind));
        break;
    case IR_RETURN: check_return(v, s); break;
    case IR_SCOPE_OF: check_scope(v, s); break;
    case IR_LEAVE:
        if (!is_open(v, s->count))
            ir_verify_broken(v, "'leave' is inside the scope of its label");
        break;
    case IR_ASSERT:
    case IR_ASSUME: check_bool(v, s->value); break;
    case IR_PRINT: check_print(v, s); break;
    case IR_LAUNCH: check_launch(v, s); break;
    case IR_COMMENT:
        if (!s->text)
            ir_verify_broken(v, "a comment has text");
        break;
    case IR_STMT__COUNT: ir_verify_broken(v, "a statement is of some kind"); break;
    }
}

static void check_block(verifier *v, const ir_block *b)
{
    size_t mark = v->scope.len;
    for (size_t i = 0; i < b->stmts.len && v->messages < VERIFY_MAX_MESSAGES; i++)
        check_stmt(v, b->stmts.at[i]);
    end_scope(v, mark);
}

// ---- functions and modules ---------------------------------------------------------------------------------------

static void check_three(verifier *v, ir_expr *const *three, bool may_lack, const char *what)
{
    bool lacks = !three[0] && !three[1] && !three[2];
    if (lacks && may_lack)
        return;
    for (int i = 0; i < 3; i++)
        ir_verify_index(v, three[i], what);
}

static bool is_pattern(int bytes, int least)
{
    return bytes == 0 || (bytes >= least && bytes <= 256 && is_power_of_two(bytes));
}

// CUDA Driver API, cuTensorMapEncodeIm2col.
static bool is_walk(const ir_tensor_map *of, int rank)
{
    bool is_right = rank >= 3;
    for (int i = 0, most = ir_map_most_corner(rank); i < rank - 2; i++) {
        is_right &= of->lower[i] >= -most - 1 && of->lower[i] <= most && of->upper[i] >= -most - 1 && of->upper[i] <= most;
        is_right &= of->step[i] >= 1 && of->step[i] <= IR_MAP_MAX_STEP && of->box[i] == 1;
    }
    return is_right;
}

// CUDA Driver API, cuTensorMapEncodeTiled: what it takes of what is known while compiling.
static void check_map(verifier *v, const ir_func *f, const ir_var *var)
{
    const ir_tensor_map *of = var->map;
    bool is_param = false;
    for (size_t i = 0; of && i < f->params.len; i++)
        is_param |= f->params.at[i] == of->tensor;
    if (!is_param || !of->tensor->tensor || of->tensor->tensor->space != IR_GLOBAL) {
        ir_verify_broken(v, "a tensor map is of a tensor among the parameters of its kernel");
        return;
    }
    const ir_tensor *t = of->tensor->tensor;
    if (t->rank < 1 || t->rank > IR_MAP_MAX_RANK || t->elem->kind != IR_SCALAR || dt_bits(t->elem->scalar) % 8) {
        ir_verify_broken(v, "the tensor of '%s' has 1 to 5 dimensions and elements of whole bytes", var->name);
        return;
    }
    if (of->is_im2col && !is_walk(of, t->rank))
        ir_verify_broken(v, "the corners, steps and pixels of '%s' are in the range for its dimensions", var->name);
    for (int i = 0; i < t->rank; i++)
        if (of->box[i] < 1 || of->box[i] > (of->is_im2col && i == t->rank - 2 ? IR_MAP_MAX_PIXELS : IR_MAP_MAX_BOX))
            ir_verify_broken(v, "the box of '%s' has extents from 1 to %d", var->name, IR_MAP_MAX_BOX);
    int64_t row = of->box[t->rank - 1] * ir_type_bytes(t->elem);
    if (row % 16 || (of->swizzle && row != of->swizzle))
        ir_verify_broken(v, "rows of the box of '%s' are multiples of 16 bytes, or as long as the swizzle", var->name);
    if (!is_pattern(of->swizzle, 32) || of->swizzle > 128 || !is_pattern(of->l2_promotion, 64))
        ir_verify_broken(v, "the swizzle and the promotion of '%s' are patterns that there are", var->name);
}

static void check_head(verifier *v, const ir_func *f)
{
    for (size_t i = 0; i < f->maps.len; i++)
        check_map(v, f, f->maps.at[i]);
    if (f->kind == IR_KERNEL) {
        check_three(v, f->grid, false, "a grid dimension");
        check_three(v, f->block, false, "a block dimension");
        check_three(v, f->cluster, true, "a cluster dimension");
        if (f->dynamic_smem_bytes)
            ir_verify_index(v, f->dynamic_smem_bytes, "a number of bytes");
        if (f->result->kind != IR_VOID)
            ir_verify_broken(v, "a kernel has no result");
        return;
    }
    // A device function may have a static array of shared memory.
    bool has = f->dynamic_smem_bytes || f->min_blocks || f->dependent_launch || f->pool_bytes || f->maps.len;
    has |= f->kind == IR_HOST_FUNC && f->static_smem_bytes;
    for (int i = 0; i < 3; i++)
        has |= f->grid[i] || f->block[i] || f->cluster[i];
    if (has)
        ir_verify_broken(v, "only kernels have a grid, blocks, dynamic shared memory and tensor maps");
}

static void check_func(verifier *v, ir_func *f)
{
    v->func = f;
    v->stmt = NULL;
    size_t mark = v->scope.len;
    ir_verify_type(v, f->result);
    for (size_t i = 0; i < f->params.len; i++)
        declare(v, f->params.at[i]);
    for (size_t i = 0; i < f->params.len; i++)
        check_var(v, f->params.at[i]);
    for (size_t i = 0; i < f->maps.len; i++) {
        declare(v, f->maps.at[i]);
        check_var(v, f->maps.at[i]);
    }
    check_head(v, f);
    v->loops = 0;
    check_block(v, &f->body);
    end_scope(v, mark);
}

static void check_global(verifier *v, ir_var *var, ir_expr *const *values)
{
    check_var(v, var);
    declare(v, var);
    if (!var->tensor || var->tensor->storage_elems < 0) {
        ir_verify_broken(v, "a global is a tensor of known size");
        return;
    }
    for (int64_t i = 0; values && i < var->tensor->storage_elems; i++) {
        if (!values[i] || (values[i]->op != IR_OP_INT && values[i]->op != IR_OP_FLOAT)) {
            ir_verify_broken(v, "global '%s' is made of constants", var->name);
            return;
        }
        ir_verify_typed(v, values[i], var->tensor->elem, "a value of a global");
    }
}

// Names of functions and instructions become names of the output.
static void check_unique(verifier *v, map *names, const char *name)
{
    if (!name || map_get(names, name, strlen(name))) {
        ir_verify_broken(v, "the name '%s' is given once", name ? name : "");
        return;
    }
    map_put(names, name, strlen(name), v);
}

static void check_sites(verifier *v)
{
    for (uint32_t i = 1; i <= v->module->sites.len; i++)
        if (ir_site_at(v->module, i)->parent >= i)
            ir_verify_broken(v, "the site of a caller comes before those of what it calls");
}

bool ir_verify_after(ir_module *m, const char *pass)
{
    verifier v = {.module = m, .pass = pass, .low = m->is_low};
    v.states = ARENA_ARRAY(m->arena, uint8_t, m->next_var);
    v.known_funcs = ARENA_ARRAY(m->arena, bool, m->funcs.len);
    map names;
    map_init(&names, m->arena);
    for (size_t i = 0; i < m->intrins.len; i++)
        check_unique(&v, &names, m->intrins.at[i]->instance);
    check_sites(&v);
    for (size_t i = 0; i < m->globals.len; i++)
        check_global(&v, m->globals.at[i], i < m->global_values.len ? m->global_values.at[i] : NULL);
    for (size_t i = 0; i < m->funcs.len && v.messages < VERIFY_MAX_MESSAGES; i++) {
        ir_func *f = m->funcs.at[i];
        v.func = f;
        check_unique(&v, &names, f->name);
        if (f->id != i)
            ir_verify_broken(&v, "a function's number is its index in the module");
        v.known_funcs[i] = true;  // a function may call itself
        check_func(&v, f);
    }
    return v.messages == 0;
}

bool ir_verify(ir_module *m)
{
    return ir_verify_after(m, NULL);
}
