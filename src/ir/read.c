// Statements, variables, functions and modules of the text form.
#include "ir/read_priv.h"

#include <string.h>

// ---- names in scope ----------------------------------------------------------------------------------------------

static void bind(reader *r, str name, ir_var *v)
{
    binding b = {name, map_get(&r->vars, name.at, name.len)};
    VEC_PUSH(r->arena, &r->undo, b);
    map_put(&r->vars, name.at, name.len, v);
}

static void unbind_to(reader *r, size_t mark)
{
    while (r->undo.len > mark) {
        binding b = VEC_POP(&r->undo);
        map_put(&r->vars, b.name.at, b.name.len, b.before);
    }
}

static void no_guarded_target(reader *r)
{
    if (r->guarded_target)
        ir_read_fail(r, r->guarded_target->span, "'guarded' is for the left side of a store");
}

// ---- variables ---------------------------------------------------------------------------------------------------

static ir_expr **read_fixed_exprs(reader *r, const char *open, const char *close, int *count, int wanted)
{
    ir_expr **list;
    src_span span = r->now.span;
    ir_read_open(r, open);
    *count = ir_read_exprs(r, close, &list);
    ir_read_close(r, close);
    if (*count > READ_MAX_RANK)
        ir_read_fail(r, span, "expected at most %d dimensions", READ_MAX_RANK);
    if (wanted >= 0 && *count != wanted)
        ir_read_fail(r, span, "expected %d expressions, found %d", wanted, *count);
    return list;
}

static void read_strided(reader *r, ir_tensor *t)
{
    int count;
    t->strides = read_fixed_exprs(r, "(", ")", &count, t->rank);
    t->is_strided = true;
}

static bool read_placement(reader *r, ir_tensor *t)
{
    int count;
    if (!ir_read_continues(r))
        return false;
    if (ir_read_take_word(r, "layout"))
        t->layout = ir_read_layout(r);
    else if (ir_read_take_word(r, "strides"))
        t->strides = read_fixed_exprs(r, "(", ")", &count, t->rank);
    else if (ir_read_take_word(r, "strided"))
        read_strided(r, t);
    else if (ir_read_take_word(r, "map"))
        t->map = ir_read_map(r);
    else if (ir_read_take_word(r, "worker"))
        t->worker = ir_read_expr(r);
    else if (ir_read_take_word(r, "align"))
        t->align_bytes = ir_read_int_in(r, 0, 1 << 20);
    else if (ir_read_take_word(r, "storage"))
        t->storage_elems = ir_read_integer(r);
    else if (ir_read_take_word(r, "at"))
        t->smem_offset = ir_read_integer(r);
    else if (ir_read_take_word(r, "dynamic"))
        t->is_dynamic_smem = true;
    else
        return false;
    return true;
}

// [m, 64] shared const layout row_major(8, 64) align 16 …
static void read_tensor(reader *r, ir_var *v, const ir_type *elem)
{
    ir_tensor *t = ARENA_NEW(r->arena, ir_tensor);
    t->elem = elem;
    t->storage_elems = t->smem_offset = -1;
    t->shape = read_fixed_exprs(r, "[", "]", &t->rank, -1);
    if (!ir_read_take_space(r, &t->space))
        ir_read_expected(r, "a memory space");
    v->tensor = t;
    v->type = ir_tensor_type(r->module, elem, t->space);
    if (ir_read_take_word(r, "const"))
        v->type = ir_const_of(r->module, v->type);
    while (read_placement(r, t))
        continue;
}

// size, size(0)
static bool read_may_be_zero(reader *r)
{
    if (!ir_read_at_sign(r, "("))
        return false;
    ir_read_open(r, "(");
    ir_read_int_in(r, 0, 0);
    ir_read_close(r, ")");
    return true;
}

static bool read_fact(reader *r, ir_var *v)
{
    if (!ir_read_continues(r))
        return false;
    if (ir_read_take_word(r, "mut")) {
        v->is_mutable = true;
    } else if (ir_read_take_word(r, "size")) {
        v->is_size = true;
        v->may_be_zero = read_may_be_zero(r);
    } else if (ir_read_take_word(r, "range")) {
        v->has_range = true;
        ir_read_open(r, "(");
        v->min = ir_read_integer(r);
        ir_read_sign(r, ",");
        v->max = ir_read_integer(r);
        ir_read_close(r, ")");
    } else if (ir_read_take_word(r, "div")) {
        ir_read_open(r, "(");
        v->divisor = ir_read_integer(r);
        ir_read_close(r, ")");
    } else {
        return false;
    }
    return true;
}

static void read_name_and_type(reader *r, str *key, str *name, const ir_type **type, src_span *span)
{
    *key = r->now.full;
    *name = r->now.text;
    *span = r->now.span;
    bool is_word = r->now.kind == T_NAME && !r->now.is_quoted;
    if (r->now.kind != T_NAME || (is_word && ir_text_is_reserved(arena_strndup(r->arena, name->at, name->len))))
        ir_read_expected(r, "the name of a variable");
    ir_read_next(r);
    ir_read_sign(r, ":");
    *type = ir_read_type(r);
}

static void read_var_tail(reader *r, ir_var *v)
{
    if (ir_read_at_sign(r, "["))
        read_tensor(r, v, v->type);
    while (read_fact(r, v))
        continue;
}

// name: type facts. The caller binds the name where its scope begins.
static ir_var *read_var_decl(reader *r, ir_var_kind kind, str *key)
{
    str name;
    const ir_type *type;
    src_span span;
    read_name_and_type(r, key, &name, &type, &span);
    ir_var *v = ir_var_new(r->module, kind, arena_strndup(r->arena, name.at, name.len), type, span);
    read_var_tail(r, v);
    return v;
}

// ---- statements --------------------------------------------------------------------------------------------------

static void read_block(reader *r, ir_block *out);

typedef ir_stmt *stmt_reader(reader *r, src_span span);

static ir_stmt *new_stmt(reader *r, ir_stmt_kind kind, src_span span)
{
    return ir_new_stmt(r->module, kind, span, 0);
}

static void set_args(reader *r, ir_stmt *s, int count, ir_expr *a, ir_expr *b, ir_expr *c)
{
    ir_expr *args[] = {a, b, c};
    s->args = arena_dup(r->arena, args, (size_t)count * sizeof *args);
    s->arg_count = count;
}

static ir_stmt *read_declaration(reader *r, src_span span, ir_stmt_kind kind)
{
    ir_stmt *s = new_stmt(r, kind, span);
    str key;
    bool is_mutable = kind == IR_DECL && ir_read_take_word(r, "mut");
    s->var = read_var_decl(r, IR_VAR_LOCAL, &key);
    s->var->is_mutable |= is_mutable;
    if (ir_read_take_sign(r, "="))
        s->value = ir_read_expr(r);
    bind(r, key, s->var);
    return s;
}

static ir_stmt *read_let(reader *r, src_span span)
{
    return read_declaration(r, span, IR_DECL);
}

static ir_stmt *read_alloc(reader *r, src_span span)
{
    return read_declaration(r, span, IR_ALLOC);
}

static ir_stmt *read_copy(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_COPY, span);
    ir_expr *to = ir_read_expr(r);
    ir_read_sign(r, "=");
    ir_expr *from = ir_read_expr(r);
    ir_read_word(r, "count");
    s->count = ir_read_int_in(r, 0, INT32_MAX);
    if (ir_read_take_word(r, "volatile"))
        s->flags |= IR_VOLATILE;
    set_args(r, s, 2, to, from, NULL);
    return s;
}

static ir_stmt *read_if(reader *r, src_span span)
{
    ir_stmt *first = new_stmt(r, IR_IF, span), *s = first;
    int depth = r->depth;
    for (;;) {
        s->value = ir_read_expr(r);
        read_block(r, &s->body);
        if (!ir_read_take_word(r, "else"))
            break;
        src_span start = r->now.span;
        if (!ir_read_take_word(r, "if")) {
            read_block(r, &s->or_else);
            break;
        }
        ir_read_enter(r);
        ir_stmt *next = new_stmt(r, IR_IF, start);
        ir_append(r->module, &s->or_else, next);
        s = next;
    }
    r->depth = depth;
    return first;
}

static void read_unroll(reader *r, ir_stmt *s)
{
    for (int i = TM_LOOP_PLAIN; i <= TM_LOOP_PARALLEL; i++) {
        if (!ir_read_take_word(r, ir_text_unroll[i]))
            continue;
        s->unroll = (tm_unroll)i;
        if (!ir_read_at_sign(r, "("))
            return;
        ir_read_open(r, "(");
        s->factor = ir_read_int_in(r, 0, INT32_MAX);
        ir_read_close(r, ")");
        return;
    }
}

static ir_stmt *read_for(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_FOR, span);
    str key;
    s->var = read_var_decl(r, IR_VAR_LOOP, &key);
    const ir_type *type = s->var->type;
    if (type->kind != IR_SCALAR || !dt_is_int(type->scalar))
        ir_read_fail(r, s->var->span, "expected an integer as the variable of a loop");
    ir_read_word(r, "in");
    ir_expr *from = ir_read_expr(r);
    ir_read_word(r, "to");
    ir_expr *to = ir_read_expr(r);
    ir_expr *step = ir_read_take_word(r, "step") ? ir_read_expr(r) : ir_int(r->module, type->scalar, 1);
    set_args(r, s, 3, from, to, step);
    read_unroll(r, s);
    size_t mark = r->undo.len;
    bind(r, key, s->var);
    read_block(r, &s->body);
    unbind_to(r, mark);
    return s;
}

static ir_stmt *read_while(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_WHILE, span);
    s->value = ir_read_expr(r);
    read_block(r, &s->body);
    return s;
}

static ir_stmt *read_tasks(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_TASKS, span);
    str keys[TM_MAX_RANK];
    ir_var *vars[TM_MAX_RANK] = {0};
    int count = 0;
    while (!ir_read_take_word(r, "in")) {
        if (count && !ir_read_take_sign(r, ","))
            ir_read_expected(r, "',' or 'in'");
        if (count == TM_MAX_RANK)
            ir_read_fail(r, r->now.span, "expected at most %d variables", TM_MAX_RANK);
        vars[count] = read_var_decl(r, IR_VAR_LOOP, &keys[count]);
        count++;
    }
    src_span start = r->now.span;
    s->map = ir_read_map(r);
    if (s->map->rank != count)
        ir_read_fail(r, start, "expected a mapping of rank %d, found one of rank %d", count, s->map->rank);
    s->vars = arena_dup(r->arena, vars, sizeof *vars * (size_t)count);
    ir_read_word(r, "on");
    set_args(r, s, 1, ir_read_expr(r), NULL, NULL);
    size_t mark = r->undo.len;
    for (int i = 0; i < count; i++)
        bind(r, keys[i], vars[i]);
    read_block(r, &s->body);
    unbind_to(r, mark);
    return s;
}

static ir_stmt *read_break(reader *r, src_span span)
{
    return new_stmt(r, IR_BREAK, span);
}

static ir_stmt *read_continue(reader *r, src_span span)
{
    return new_stmt(r, IR_CONTINUE, span);
}

static bool at_end_of_stmt(const reader *r)
{
    return r->now.starts_line || r->now.kind == T_END || ir_read_at_sign(r, "}");
}

static ir_stmt *read_return(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_RETURN, span);
    if (!at_end_of_stmt(r))
        s->value = ir_read_expr(r);
    return s;
}

static ir_stmt *read_scope(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_SCOPE_OF, span);
    s->count = ir_read_int_in(r, INT32_MIN, INT32_MAX);
    read_block(r, &s->body);
    return s;
}

static ir_stmt *read_leave_stmt(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_LEAVE, span);
    s->count = ir_read_int_in(r, INT32_MIN, INT32_MAX);
    return s;
}

static ir_stmt *read_assert(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_ASSERT, span);
    s->value = ir_read_expr(r);
    if (ir_read_take_sign(r, ","))
        s->text = ir_read_string(r);
    return s;
}

static ir_stmt *read_assume(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_ASSUME, span);
    s->value = ir_read_expr(r);
    return s;
}

static ir_stmt *read_print(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_PRINT, span);
    s->text = ir_read_string(r);
    if (ir_read_take_sign(r, ","))
        s->arg_count = ir_read_exprs(r, "}", &s->args);
    return s;
}

static ir_stmt *read_launch(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_LAUNCH, span);
    ir_read_sign(r, "@");
    str name = ir_read_name(r, "the name of a kernel");
    s->func = map_get(&r->funcs, name.at, name.len);
    if (!s->func)
        ir_read_fail(r, span, "no kernel '%.*s' is declared before this", (int)name.len, name.at);
    ir_read_open(r, "(");
    s->arg_count = ir_read_exprs(r, ")", &s->args);
    ir_read_close(r, ")");
    return s;
}

static ir_stmt *read_comment(reader *r, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_COMMENT, span);
    s->text = ir_read_string(r);
    return s;
}

// target = value; the target determines the kind of the statement.
static ir_stmt *read_assignment(reader *r, ir_expr *target, src_span span)
{
    ir_stmt *s = new_stmt(r, IR_ASSIGN, span);
    s->value = ir_read_expr(r);
    switch (target->op) {
    case IR_OP_VAR: s->var = target->u.var; break;
    case IR_OP_LOAD:
        if ((target->flags & IR_GUARDED) && target != r->guarded_target)
            ir_read_fail(r, target->span, "a store has no 'else'; 'guarded' makes it one that stays inside");
        r->guarded_target = target == r->guarded_target ? NULL : r->guarded_target;
        s->kind = IR_STORE;
        s->var = target->u.var;
        s->args = target->args;
        s->arg_count = target->arg_count;
        s->flags = target->flags;
        break;
    case IR_OP_PLOAD:
        s->kind = IR_PSTORE;
        s->flags = target->flags;
        set_args(r, s, 2, target->args[0], target->args[1], NULL);
        break;
    case IR_OP_TILE:
        s->kind = IR_INTRIN_TO;
        set_args(r, s, 1, target, NULL, NULL);
        break;
    default: ir_read_fail(r, target->span, "expected a variable, an element or a tile before '='");
    }
    return s;
}

static ir_stmt *read_expr_stmt(reader *r)
{
    src_span span = r->now.span;
    ir_expr *e = ir_read_expr(r);
    if (ir_read_take_sign(r, "="))
        return read_assignment(r, e, span);
    ir_stmt *s = new_stmt(r, IR_EVAL, span);
    s->value = e;
    return s;
}

static const struct {
    const char *word;
    stmt_reader *read;
} stmt_words[] = {
    {"let", read_let},         {"alloc", read_alloc},   {"copy", read_copy},         {"if", read_if},
    {"for", read_for},         {"while", read_while},   {"tasks", read_tasks},       {"break", read_break},
    {"continue", read_continue}, {"return", read_return}, {"scope", read_scope},     {"leave", read_leave_stmt},
    {"assert", read_assert},   {"assume", read_assume}, {"print", read_print},       {"launch", read_launch},
    {"comment", read_comment},
};

static ir_stmt *read_stmt(reader *r)
{
    src_span span = r->now.span;
    if (r->now.kind == T_NAME)
        for (size_t i = 0; i < sizeof stmt_words / sizeof *stmt_words; i++)
            if (ir_read_take_word(r, stmt_words[i].word))
                return stmt_words[i].read(r, span);
    return read_expr_stmt(r);
}

static void read_block(reader *r, ir_block *out)
{
    no_guarded_target(r);
    ir_read_enter(r);
    size_t mark = r->undo.len;
    ir_read_sign(r, "{");
    while (!ir_read_take_sign(r, "}")) {
        ir_append(r->module, out, read_stmt(r));
        no_guarded_target(r);
        if (!at_end_of_stmt(r))
            ir_read_expected(r, "the end of the line");
    }
    unbind_to(r, mark);
    ir_read_leave(r);
}

// ---- functions ---------------------------------------------------------------------------------------------------

static void skip_param(reader *r)
{
    for (int open = 0; open || (!ir_read_at_sign(r, ",") && !ir_read_at_sign(r, ")")); ir_read_next(r)) {
        if (r->now.kind == T_END)
            ir_read_expected(r, "')'");
        open += ir_read_at_sign(r, "(") || ir_read_at_sign(r, "[") || ir_read_at_sign(r, "{");
        open -= ir_read_at_sign(r, ")") || ir_read_at_sign(r, "]") || ir_read_at_sign(r, "}");
    }
}

// The names and types, so that a shape may name a parameter that comes later.
static void declare_params(reader *r, ir_func *f)
{
    while (!ir_read_at_sign(r, ")")) {
        str key, name;
        const ir_type *type;
        src_span span;
        read_name_and_type(r, &key, &name, &type, &span);
        ir_var *v = ir_var_new(r->module, IR_VAR_PARAM, arena_strndup(r->arena, name.at, name.len), type, span);
        VEC_PUSH(r->arena, &f->params, v);
        skip_param(r);
        bind(r, key, v);
        if (!ir_read_take_sign(r, ","))
            break;
    }
}

static void read_params(reader *r, ir_func *f)
{
    ir_read_open(r, "(");
    size_t begin = r->at;
    token first = r->now;
    declare_params(r, f);
    if (!ir_read_at_sign(r, ")"))
        ir_read_expected(r, "')'");
    r->at = begin;
    r->now = first;
    for (size_t i = 0; i < f->params.len; i++) {
        str key, name;
        const ir_type *type;
        src_span span;
        read_name_and_type(r, &key, &name, &type, &span);
        read_var_tail(r, f->params.at[i]);
        if (i + 1 < f->params.len)
            ir_read_sign(r, ",");
    }
    ir_read_take_sign(r, ",");
    ir_read_close(r, ")");
}

static void read_three(reader *r, ir_expr **three)
{
    for (int i = 0; i < 3; i++) {
        if (i)
            ir_read_sign(r, ",");
        three[i] = ir_read_take_word(r, "_") ? NULL : ir_read_expr(r);
    }
}

// im2col(-1, -1, 1, -1, -1, 1): corners and step of each spatial axis
static void read_walk(reader *r, ir_tensor_map *made, int rank)
{
    ir_read_open(r, "(");
    for (int i = 0; i < rank - 2; i++) {
        if (i)
            ir_read_sign(r, ",");
        made->lower[i] = ir_read_int_in(r, INT32_MIN, INT32_MAX);
        ir_read_sign(r, ",");
        made->upper[i] = ir_read_int_in(r, INT32_MIN, INT32_MAX);
        ir_read_sign(r, ",");
        made->step[i] = ir_read_int_in(r, INT32_MIN, INT32_MAX);
    }
    ir_read_close(r, ")");
}

// a_tiles = a box(64, 32) swizzle 128 l2 256
static void read_tensor_map(reader *r, ir_func *f)
{
    ir_tensor_map made = {0};
    src_span span = r->now.span;
    str key = r->now.full, name = r->now.text;
    if (r->now.kind != T_NAME)
        ir_read_expected(r, "the name of a tensor map");
    ir_read_next(r);
    ir_read_sign(r, "=");
    src_span start = r->now.span;
    const ir_expr *tensor = ir_read_expr(r);
    if (tensor->op != IR_OP_VAR || !tensor->u.var->tensor)
        ir_read_fail(r, start, "expected a tensor among the parameters");
    made.tensor = tensor->u.var;
    ir_read_word(r, "box");
    ir_read_open(r, "(");
    int rank = made.tensor->tensor->rank;
    for (int i = 0; i < rank && i < IR_MAP_MAX_RANK; i++) {
        if (i)
            ir_read_sign(r, ",");
        made.box[i] = ir_read_int_in(r, 0, INT32_MAX);
    }
    ir_read_close(r, ")");
    made.is_im2col = ir_read_take_word(r, "im2col");
    if (made.is_im2col)
        read_walk(r, &made, rank < IR_MAP_MAX_RANK ? rank : IR_MAP_MAX_RANK);
    if (ir_read_take_word(r, "swizzle"))
        made.swizzle = ir_read_int_in(r, 0, INT32_MAX);
    if (ir_read_take_word(r, "l2"))
        made.l2_promotion = ir_read_int_in(r, 0, INT32_MAX);
    ir_var *v = ir_map_var(r->module, arena_strndup(r->arena, name.at, name.len), &made, span);
    bind(r, key, v);
    VEC_PUSH(r->arena, &f->maps, v);
}

static bool read_func_property(reader *r, ir_func *f)
{
    if (ir_read_take_word(r, "tensor_map")) {
        read_tensor_map(r, f);
        return true;
    }
    if (ir_read_take_word(r, "title"))
        f->title = ir_read_string(r);
    else if (ir_read_take_word(r, "doc"))
        f->doc = ir_read_string(r);
    else if (ir_read_take_word(r, "grid"))
        read_three(r, f->grid);
    else if (ir_read_take_word(r, "block"))
        read_three(r, f->block);
    else if (ir_read_take_word(r, "cluster"))
        read_three(r, f->cluster);
    else if (ir_read_take_word(r, "smem"))
        f->dynamic_smem_bytes = ir_read_expr(r);
    else if (ir_read_take_word(r, "min_blocks"))
        f->min_blocks = ir_read_integer(r);
    else if (ir_read_take_word(r, "dependent_launch"))
        f->dependent_launch = true;
    else if (ir_read_take_word(r, "static_smem"))
        f->static_smem_bytes = ir_read_integer(r);
    else if (ir_read_take_word(r, "pool"))
        f->pool_bytes = ir_read_integer(r);
    else
        return false;
    return true;
}

static ir_func_kind read_func_kind(reader *r)
{
    for (ir_func_kind k = IR_KERNEL; k <= IR_HOST_FUNC; k++)
        if (ir_read_take_word(r, ir_func_kind_name(k)))
            return k;
    ir_read_expected(r, "'intrin', 'global' or a function");
}

static void read_func(reader *r)
{
    src_span span = r->now.span;
    bool is_public = ir_read_take_word(r, "public");
    ir_func_kind kind = read_func_kind(r);
    ir_read_sign(r, "@");
    src_span start = r->now.span;
    str name = ir_read_name(r, "the name of a function");
    if (map_get(&r->funcs, name.at, name.len))
        ir_read_fail(r, start, "function '%.*s' is already declared", (int)name.len, name.at);
    ir_func *f = ir_func_new(r->module, kind, arena_strndup(r->arena, name.at, name.len), span);
    f->is_public = is_public;
    size_t mark = r->undo.len;
    read_params(r, f);
    if (ir_read_take_sign(r, "->"))
        f->result = ir_read_type(r);
    while (read_func_property(r, f))
        continue;
    // Before the body: it may call itself.
    map_put(&r->funcs, name.at, name.len, f);
    read_block(r, &f->body);
    unbind_to(r, mark);
    ir_func_add(r->module, f);
}

// ---- instructions ------------------------------------------------------------------------------------------------

static void read_operand(reader *r, ir_operand *o)
{
    str name = ir_read_name(r, "the name of an operand");
    o->name = arena_strndup(r->arena, name.at, name.len);
    ir_read_sign(r, ":");
    o->type = ir_read_type(r);
    if (ir_read_take_word(r, "count"))
        o->count = ir_read_int_in(r, 0, INT32_MAX);
    o->is_immediate = ir_read_take_word(r, "immediate");
    o->is_updated = ir_read_take_word(r, "updated");
    o->is_bare = ir_read_take_word(r, "bare");
}

static int read_effects(reader *r)
{
    int effects = 0;
    do {
        int i = 0;
        while (ir_text_effects[i] && !ir_read_at_word(r, ir_text_effects[i]))
            i++;
        if (!ir_text_effects[i])
            ir_read_expected(r, "an effect");
        ir_read_next(r);
        effects |= 1 << i;
    } while (ir_read_take_sign(r, ","));
    return effects;
}

static ir_scope read_scope_name(reader *r)
{
    for (ir_scope s = IR_SCOPE_THREAD; s <= IR_SCOPE_GPU; s++)
        if (ir_read_take_word(r, ir_scope_name(s)))
            return s;
    ir_read_expected(r, "a scope");
}

static const arch *read_arch(reader *r)
{
    src_span span = r->now.span;
    str name = ir_read_name(r, "an architecture");
    const arch *found = arch_find(name);
    if (!found)
        ir_read_fail(r, span, "no architecture is called '%.*s'", (int)name.len, name.at);
    return found;
}

typedef struct intrin_lists {
    VEC(ir_operand) operands;
    VEC(const char *) dtypes;
} intrin_lists;

static void read_intrin_property(reader *r, ir_intrin *in, intrin_lists *lists)
{
    if (ir_read_take_word(r, "name")) {
        in->name = ir_read_string(r);
    } else if (ir_read_take_word(r, "module")) {
        in->module = ir_read_string(r);
    } else if (ir_read_at_word(r, "ptx") || ir_read_at_word(r, "cuda")) {
        in->form = ir_read_at_word(r, "ptx") ? IR_INTRIN_PTX : IR_INTRIN_CUDA;
        ir_read_next(r);
        in->text = ir_read_string(r);
    } else if (ir_read_take_word(r, "needs")) {
        in->needs = read_arch(r);
    } else if (ir_read_take_word(r, "needs_text")) {
        in->needs_text = ir_read_string(r);
    } else if (ir_read_take_word(r, "scope")) {
        in->scope = read_scope_name(r);
    } else if (ir_read_take_word(r, "effects")) {
        in->effects = read_effects(r);
    } else if (ir_read_take_word(r, "operand")) {
        ir_operand o = {0};
        read_operand(r, &o);
        VEC_PUSH(r->arena, &lists->operands, o);
    } else if (ir_read_take_word(r, "result")) {
        in->result = ir_read_type(r);
        if (ir_read_take_word(r, "count"))
            in->result_count = ir_read_int_in(r, 0, INT32_MAX);
    } else {
        ir_read_word(r, "dtype");
        const char *text = ir_read_string(r);
        VEC_PUSH(r->arena, &lists->dtypes, text);
    }
}

static void read_intrin_decl(reader *r)
{
    ir_intrin *in = ARENA_NEW(r->arena, ir_intrin);
    intrin_lists lists = {0};
    in->span = r->now.span;
    src_span start = r->now.span;
    str name = ir_read_name(r, "the name of an instruction");
    if (map_get(&r->intrins, name.at, name.len))
        ir_read_fail(r, start, "instruction '%.*s' is already declared", (int)name.len, name.at);
    in->instance = in->name = arena_strndup(r->arena, name.at, name.len);
    in->module = in->text = "";
    in->result = ir_void(r->module);
    ir_read_sign(r, "{");
    while (!ir_read_take_sign(r, "}"))
        read_intrin_property(r, in, &lists);
    VEC_PUSH(r->arena, &lists.dtypes, NULL);
    in->operands = lists.operands.at;
    in->operand_count = (int)lists.operands.len;
    in->dtypes = lists.dtypes.at;
    map_put(&r->intrins, name.at, name.len, in);
    VEC_PUSH(r->arena, &r->module->intrins, in);
}

// ---- modules -----------------------------------------------------------------------------------------------------

static void read_global(reader *r)
{
    str key;
    ir_expr **values = NULL;
    ir_var *v = read_var_decl(r, IR_VAR_GLOBAL, &key);
    if (!v->tensor)
        ir_read_fail(r, v->span, "expected a tensor as a global variable");
    if (ir_read_take_sign(r, "=")) {
        src_span span = r->now.span;
        VEC(ir_expr *) list = {0};
        r->brackets++;
        ir_read_sign(r, "{");
        while (!ir_read_at_sign(r, "}")) {
            ir_expr *e = ir_read_expr(r);
            VEC_PUSH(r->arena, &list, e);
            if (!ir_read_take_sign(r, ","))
                break;
        }
        ir_read_close(r, "}");
        if ((int64_t)list.len != v->tensor->storage_elems)
            ir_read_fail(r, span, "expected %lld values, found %zu", (long long)v->tensor->storage_elems, list.len);
        VEC_RESERVE(r->arena, &list, 1);
        values = list.at;
    }
    no_guarded_target(r);
    bind(r, key, v);
    VEC_PUSH(r->arena, &r->module->globals, v);
    VEC_PUSH(r->arena, &r->module->global_values, values);
}

static void read_module(reader *r)
{
    ir_read_next(r);
    if (ir_read_take_word(r, "module")) {
        r->module->name = ir_read_string(r);
        r->module->arch = read_arch(r);
        r->module->is_low = ir_read_take_word(r, "low");
    }
    while (r->now.kind != T_END) {
        if (ir_read_take_word(r, "intrin"))
            read_intrin_decl(r);
        else if (ir_read_take_word(r, "global"))
            read_global(r);
        else
            read_func(r);
    }
}

ir_module *ir_read_text(arena *a, sym_table *syms, diag_context *diags, src_file *file)
{
    reader *r = ARENA_NEW(a, reader);
    r->arena = a;
    r->diags = diags;
    r->file = file;
    r->module = ir_module_new(a, syms, diags, arch_find(STR("sm_90")), "");
    map_init(&r->vars, a);
    map_init(&r->funcs, a);
    map_init(&r->intrins, a);
    if (setjmp(r->failed))
        return NULL;
    read_module(r);
    return r->module;
}
