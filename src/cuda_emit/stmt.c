// Statements.
#include "cuda_emit/printer.h"

#include <string.h>

// ---- control flow that C++ would warn about ---------------------------------------------------------------------

static bool has_break(const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        if (s->kind == IR_BREAK)
            return true;
        bool is_inner_loop = s->kind == IR_FOR || s->kind == IR_WHILE;
        if (!is_inner_loop && (has_break(&s->body) || has_break(&s->or_else)))
            return true;
    }
    return false;
}

// Control never reaches what stands behind [s].
static bool ends(const ir_stmt *s)
{
    switch (s->kind) {
    case IR_BREAK:
    case IR_CONTINUE:
    case IR_RETURN:
    case IR_LEAVE: return true;
    case IR_IF: return cu_ends(&s->body) && cu_ends(&s->or_else);
    case IR_WHILE: return s->value->op == IR_OP_INT && s->value->u.i && !has_break(&s->body);
    default: return false;
    }
}

bool cu_ends(const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        if (ends(b->stmts.at[i]))
            return true;
    return false;
}

// Control leaves the function: a block that merely leaves a scope goes on behind it.
static bool returns(const ir_block *b);

static bool stmt_returns(const ir_stmt *s)
{
    switch (s->kind) {
    case IR_RETURN: return true;
    case IR_IF: return returns(&s->body) && returns(&s->or_else);
    case IR_WHILE: return ends(s);
    default: return false;
    }
}

static bool returns(const ir_block *b)
{
    return b->stmts.len && stmt_returns(VEC_LAST(&b->stmts));
}

void cu_block(cu *cx, const ir_block *b)
{
    const cu_tail *tails = cx->tails;
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < b->stmts.len; i++) {
        bool is_last = i + 1 == b->stmts.len || ends(b->stmts.at[i]);
        cx->tails = is_last ? tails : NULL;
        cu_stmt(cx, b->stmts.at[i], is_last);
        if (is_last)
            break;
    }
    cx->tails = tails;
    cu_scope_end(cx, mark);
}

static void body(cu *cx, const ir_block *b)
{
    cx->indent++;
    cu_block(cx, b);
    cx->indent--;
}

// ---- declarations -----------------------------------------------------------------------------------------------

// C compilers warn about an unused value unless it is cast to void.
static void for_effects(cu *cx, const ir_expr *e)
{
    bool is_call = e->op == IR_OP_CALL || e->op == IR_OP_INTRIN;
    if (cx->dialect->warns_of_unused && !is_call)
        cu_put(cx, "(void)%s;", cu_at(cx, e, CU_UNARY));
    else
        cu_put(cx, "%s;", cu_at(cx, e, CU_COMMA));
}

// A pointer into a parameter that is only read, as that.
static const ir_type *declared_type(cu *cx, const ir_var *v)
{
    const ir_var *to = cx->vars[v->id].points_to;
    bool reads_only = to && to->kind == IR_VAR_PARAM && !cx->vars[to->id].is_written;
    return reads_only ? ir_const_of(cx->m, v->type) : v->type;
}

// Whether a variable of a C function stands for memory that may be of a parameter that is only read.
static bool is_view(const cu *cx, const ir_stmt *s)
{
    bool is_address = s->var->type->kind == IR_TENSOR || s->var->type->kind == IR_POINTER;
    return cx->dialect->warns_of_const && cx->in_host && is_address && s->value->op != IR_OP_CALL;
}

// Its value without the const that a parameter has, which C compilers would warn of.
static const char *viewed(cu *cx, const ir_stmt *s)
{
    return arena_printf(cx->a, "(%s)%s", cu_type(cx, s->var->type), cu_at(cx, s->value, CU_UNARY));
}

static void declare(cu *cx, const ir_stmt *s)
{
    const ir_var *v = s->var;
    if (!cx->vars[v->id].uses && (!s->value || !ir_has_effects(s->value))) {
        cx->vars[v->id].name = NULL;
        return;
    }
    if (!cx->vars[v->id].uses) {
        for_effects(cx, s->value);
        return;
    }
    // The value may read an outer variable of the same name.
    const char *value = !s->value ? NULL : is_view(cx, s) ? viewed(cx, s) : cu_as(cx, s->value, v->type);
    const char *name = cu_declare(cx, v);
    const char *note = v->type->kind == IR_TENSOR ? cu_format(cx, "  // %s", cu_shape_comment(cx, v)) : "";
    const char *what = cu_declarator(cx, declared_type(cx, v), name);
    if (value)
        cu_put(cx, "%s = %s;%s", what, value, note);
    else
        cu_put(cx, "%s;%s", what, note);
}

// Whether the statement assigns a value that is never read: C++ compilers warn about those.
static bool is_unread(const cu *cx, const ir_stmt *s)
{
    bool gives = s->kind == IR_DECL || s->kind == IR_ALLOC || s->kind == IR_ASSIGN;
    const cu_var *v = s->var ? &cx->vars[s->var->id] : NULL;
    bool has_destructor = s->kind == IR_ALLOC && cx->in_host && cx->dialect->has_destructors;
    if (has_destructor || !v || v->uses)
        return false;
    return gives || (s->kind == IR_STORE && v->is_own);
}

static void store(cu *cx, const ir_stmt *s)
{
    if (!is_unread(cx, s))
        cu_store(cx, s);
    else if (ir_has_effects(s->value))
        for_effects(cx, s->value);
}

// ---- branches and loops -----------------------------------------------------------------------------------------

static const ir_stmt *only_if(const ir_block *b)
{
    return b->stmts.len == 1 && b->stmts.at[0]->kind == IR_IF ? b->stmts.at[0] : NULL;
}

static void branch(cu *cx, const ir_stmt *s)
{
    cu_put(cx, "if (%s) {", cu_at(cx, s->value, CU_ASSIGN));
    body(cx, &s->body);
    const ir_stmt *next;
    while ((next = only_if(&s->or_else))) {
        if (cu_line_differs(cx, next->span)) {
            cu_put(cx, "} else");
            cu_line(cx, next->span);
            cu_put(cx, "if (%s) {", cu_at(cx, next->value, CU_ASSIGN));
        } else {
            cu_put(cx, "} else if (%s) {", cu_at(cx, next->value, CU_ASSIGN));
        }
        body(cx, &next->body);
        s = next;
    }
    if (s->or_else.stmts.len) {
        cu_put(cx, "} else {");
        body(cx, &s->or_else);
    }
    cu_put(cx, "}");
}

static void loop_body(cu *cx, const ir_block *b)
{
    const cu_tail *tails = cx->tails;
    cx->tails = NULL;
    body(cx, b);
    cx->tails = tails;
}

// The bound or step as something that can be evaluated again and again: itself if it is pure, else a variable of the
// loop's head.
static ir_expr *steady(cu *cx, const ir_stmt *s, ir_expr *e, const char *what, str_buf *init)
{
    if (ir_is_pure(e))
        return e;
    const char *value = cu_as(cx, e, s->var->type);
    ir_var *v = cu_var_new(cx, "", s->var->type, e->span);
    cx->vars[v->id].name = cu_name_new(cx, arena_printf(cx->a, "%s_%s", s->var->name, what));
    cx->vars[v->id].uses = 1;
    str_addf(init, ", %s = %s", cx->vars[v->id].name, value);
    return ir_read(cx->m, v, e->span);
}

static const char *condition(cu *cx, ir_expr *counter, ir_expr *end, ir_expr *step)
{
    int64_t by;
    ir_expr *up = ir_binary(cx->m, IR_OP_LT, counter, end, end->span);
    ir_expr *down = ir_binary(cx->m, IR_OP_GT, counter, end, end->span);
    if (ir_const_int(step, &by))
        return cu_at(cx, by < 0 ? down : up, CU_ASSIGN);
    ir_expr *zero = ir_int(cx->m, step->type->scalar, 0);
    ir_expr *is_up = ir_binary(cx->m, IR_OP_GT, step, zero, step->span);
    return cu_at(cx, dt_is_signed(step->type->scalar) ? ir_select(cx->m, is_up, up, down, step->span) : up, CU_ASSIGN);
}

static const char *increment(cu *cx, const char *name, ir_expr *step)
{
    int64_t by;
    if (!ir_const_int(step, &by))
        return cu_format(cx, "%s += %s", name, cu_as(cx, step, step->type));
    if (by == 1 || by == -1)
        return cu_format(cx, "%s%s", name, by > 0 ? "++" : "--");
    return cu_format(cx, "%s %s %lld", name, by > 0 ? "+=" : "-=", (long long)(by > 0 ? by : -by));
}

static void unroll_pragma(cu *cx, const ir_stmt *s)
{
    if (!cx->dialect->has_gpu_pragmas)
        return;
    if (s->unroll == TM_LOOP_UNROLL && s->factor > 0)
        cu_put(cx, "#pragma unroll %d", s->factor);
    else if (s->unroll == TM_LOOP_UNROLL || s->unroll == TM_LOOP_UNROLL_FULL)
        cu_put(cx, "#pragma unroll");
}

static void count_loop(cu *cx, const ir_stmt *s)
{
    size_t mark = cu_scope_begin(cx);
    str_buf init;
    str_buf_init(&init, cx->a);
    const char *begin = cu_as(cx, s->args[0], s->var->type);
    int64_t from, by;
    cx->vars[s->var->id].is_nonneg =
        ir_const_int(s->args[0], &from) && ir_const_int(s->args[2], &by) && from >= 0 && by > 0;
    const char *name = cu_declare(cx, s->var);
    ir_expr *end = steady(cx, s, s->args[1], "end", &init), *step = steady(cx, s, s->args[2], "step", &init);
    ir_expr *counter = ir_read(cx->m, s->var, s->span);
    const char *test = condition(cx, counter, end, step);
    cu_line(cx, s->span);
    unroll_pragma(cx, s);
    cu_put(cx, "for (%s = %s%s; %s; %s) {", cu_declarator(cx, s->var->type, name), begin, str_text(&init), test,
           increment(cx, name, step));
    loop_body(cx, &s->body);
    cu_put(cx, "}");
    cu_scope_end(cx, mark);
}

static void while_loop(cu *cx, const ir_stmt *s)
{
    cu_put(cx, "while (%s) {", cu_at(cx, s->value, CU_ASSIGN));
    loop_body(cx, &s->body);
    cu_put(cx, "}");
}

// ---- scopes that are left early ---------------------------------------------------------------------------------

static bool falls_through(const cu *cx, int label)
{
    for (const cu_tail *t = cx->tails; t; t = t->outer)
        if (t->label == label)
            return true;
    return false;
}

static void leave(cu *cx, const ir_stmt *s)
{
    if (falls_through(cx, s->count))
        return;
    for (size_t i = cx->labels.len; i-- > 0;) {
        cu_label *l = &cx->labels.at[i];
        if (l->label != s->count)
            continue;
        if (!l->is_used) {
            int number = cx->label_count++;
            l->name = number ? arena_printf(cx->a, "done_%d", number) : "done";
            l->is_used = true;
        }
        cu_put(cx, "goto %s;", l->name);
        return;
    }
    cu_bad_ir(cx, s->span, "a leave outside its scope");
}

// The label stands behind the closing brace, so that no goto passes a declaration of its own block.
static void scope(cu *cx, const ir_stmt *s)
{
    cu_tail tail = {.outer = cx->tails, .label = s->count};
    cu_label label = {.label = s->count};
    VEC_PUSH(cx->lasting, &cx->labels, label);
    const cu_tail *outer = cx->tails;
    cu_put(cx, "{");
    cx->tails = &tail;
    body(cx, &s->body);
    cx->tails = outer;
    cu_put(cx, "}");
    cu_label closed = VEC_POP(&cx->labels);
    if (closed.is_used)
        cu_put(cx, "%s:;", closed.name);
}

bool cu_const_dims(ir_expr *const dims[3], int64_t out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = 1;
        if (dims[i] && !ir_const_int(dims[i], &out[i]))
            return false;
    }
    return true;
}

// ---- all of them ------------------------------------------------------------------------------------------------

static void evaluate(cu *cx, const ir_stmt *s)
{
    if (!ir_has_effects(s->value))
        return;
    if (cx->dialect->warns_of_unused) {
        for_effects(cx, s->value);
        return;
    }
    const char *text = cu_at(cx, s->value, CU_COMMA);
    size_t len = strlen(text);
    bool is_closed = len && (text[len - 1] == ';' || text[len - 1] == '}');
    cu_put(cx, is_closed ? "%s" : "%s;", text);
}

static void intrin_to(cu *cx, const ir_stmt *s)
{
    const char *result = cu_at(cx, s->args[0], CU_ASSIGN);
    cu_put(cx, "%s;", cx->dialect->intrin(cx, s->value, result).s);
}

static void give_back(cu *cx, const ir_stmt *s)
{
    if (cx->in_host)
        cx->dialect->host->give_back(cx, s);
    else if (s->value)
        cu_put(cx, "return %s;", cu_as(cx, s->value, cx->func->result));
    else
        cu_put(cx, "return;");
}

static void comment(cu *cx, const char *text)
{
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        // A backslash at the end would draw the next line into the comment.
        const char *stop = len && at[len - 1] == '\\' ? "." : "";
        cu_put(cx, "// %.*s%s", (int)len, at, stop);
        at += len + (at[len] == '\n');
    }
}

void cu_stmt(cu *cx, const ir_stmt *s, bool is_last)
{
    cx->dialect->begin_statement(cx, s->span);
    if (cx->in_host && cx->dialect->host->call(cx, s))
        return;
    bool has_line = s->kind != IR_FOR && s->kind != IR_COMMENT && !(s->kind == IR_LEAVE && falls_through(cx, s->count));
    bool is_dropped = is_unread(cx, s) && !(s->value && ir_has_effects(s->value));
    if (is_dropped || (s->kind == IR_EVAL && !ir_has_effects(s->value)))
        return;
    if (has_line)
        cu_line(cx, s->span);
    switch (s->kind) {
    case IR_DECL: declare(cx, s); return;
    case IR_ASSIGN:
    case IR_STORE: store(cx, s); return;
    case IR_PSTORE: cu_store(cx, s); return;
    case IR_COPY:
        cx->in_host ? cx->dialect->host->copy(cx, s) : cu_copy(cx, s);
        return;
    case IR_EVAL: evaluate(cx, s); return;
    case IR_INTRIN_TO: intrin_to(cx, s); return;
    case IR_ALLOC: cu_alloc(cx, s); return;
    case IR_IF: branch(cx, s); return;
    case IR_FOR: count_loop(cx, s); return;
    case IR_WHILE: while_loop(cx, s); return;
    case IR_BREAK: cu_put(cx, "break;"); return;
    case IR_CONTINUE: cu_put(cx, "continue;"); return;
    case IR_RETURN:
        // The end of a function says it already.
        if (s->value || !is_last || cx->indent > 1 || cx->in_host)
            give_back(cx, s);
        return;
    case IR_SCOPE_OF: scope(cx, s); return;
    case IR_LEAVE: leave(cx, s); return;
    case IR_ASSERT: cu_check(cx, s); return;
    case IR_ASSUME: cu_assume(cx, s); return;
    case IR_PRINT: cu_print(cx, s); return;
    case IR_LAUNCH:
        cx->dialect->host->launch(cx, s);
        return;
    case IR_COMMENT: comment(cx, s->text); return;
    case IR_TASKS: cu_bad_ir(cx, s->span, "a loop over tasks"); return;
    case IR_STMT__COUNT: break;
    }
    cu_bad_ir(cx, s->span, "an unknown statement");
}

bool cu_returns(const ir_block *b)
{
    return returns(b);
}
