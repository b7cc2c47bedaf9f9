// Statements.
#include "cuda_emit/emit_priv.h"

#include <string.h>

// ---- control flow that C++ would warn about -------------------------------------------------------------------------

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

// ---- declarations --------------------------------------------------------------------------------------------------------

static void declare(cu *cx, const ir_stmt *s)
{
    const ir_var *v = s->var;
    if (!cx->vars[v->id].uses && (!s->value || !ir_has_effects(s->value))) {
        cx->vars[v->id].name = NULL;
        return;
    }
    if (!cx->vars[v->id].uses) {
        cu_put(cx, "%s;", cu_at(cx, s->value, CU_COMMA));
        return;
    }
    // The value may read an outer variable of the same name.
    const char *value = s->value ? cu_as(cx, s->value, v->type) : NULL;
    const char *name = cu_declare(cx, v);
    const char *note = v->type->kind == IR_TENSOR ? arena_printf(cx->a, "  // %s", cu_shape_comment(cx, v)) : "";
    const char *what = cu_declarator(cx, v->type, name);
    if (value)
        cu_put(cx, "%s = %s;%s", what, value, note);
    else
        cu_put(cx, "%s;%s", what, note);
}

static void assign(cu *cx, const ir_stmt *s)
{
    if (cx->vars[s->var->id].uses)
        cu_store(cx, s);
    else if (ir_has_effects(s->value))
        cu_put(cx, "%s;", cu_at(cx, s->value, CU_COMMA));
}

// ---- branches and loops ----------------------------------------------------------------------------------------------------

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
    ir_var *v = ir_var_new(cx->m, IR_VAR_LOCAL, "", s->var->type, e->span);
    cu_var *grown = ARENA_ARRAY(cx->a, cu_var, cx->m->next_var + 1);
    memcpy(grown, cx->vars, sizeof *grown * v->id);
    cx->vars = grown;
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
        return arena_printf(cx->a, "%s += %s", name, cu_as(cx, step, step->type));
    if (by == 1 || by == -1)
        return arena_printf(cx->a, "%s%s", name, by > 0 ? "++" : "--");
    return arena_printf(cx->a, "%s %s %lld", name, by > 0 ? "+=" : "-=", (long long)(by > 0 ? by : -by));
}

static void unroll_pragma(cu *cx, const ir_stmt *s)
{
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

// ---- scopes that are left early ------------------------------------------------------------------------------------------

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
    VEC_PUSH(cx->a, &cx->labels, label);
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

// ---- checks and messages -------------------------------------------------------------------------------------------------

static ir_expr *negated(cu *cx, ir_expr *e)
{
    static const ir_op opposite[IR_OP__COUNT] = {
        [IR_OP_EQ] = IR_OP_NE, [IR_OP_NE] = IR_OP_EQ, [IR_OP_LT] = IR_OP_GE,
        [IR_OP_GE] = IR_OP_LT, [IR_OP_GT] = IR_OP_LE, [IR_OP_LE] = IR_OP_GT,
    };
    bool is_compare = ir_op_properties(e->op) & IR_COMPARE;
    const ir_type *t = is_compare ? e->args[0]->type : NULL;
    // A comparison with NaN fails, and so does its opposite.
    bool is_total = is_compare && (t->kind != IR_SCALAR || !dt_is_float(t->scalar) || e->op == IR_OP_EQ || e->op == IR_OP_NE);
    if (is_total && t->kind == IR_SCALAR && (!cu_is_struct(t->scalar)))
        return ir_binary(cx->m, opposite[e->op], e->args[0], e->args[1], e->span);
    if (e->op == IR_OP_NOT)
        return e->args[0];
    return ir_unary(cx->m, IR_OP_NOT, e, e->span);
}

static void check(cu *cx, const ir_stmt *s)
{
    str_buf message;
    str_buf_init(&message, cx->a);
    cu_place_text(cx, s->span, &message);
    str_adds(&message, "assertion failed");
    if (s->text && *s->text)
        str_addf(&message, ": %s", s->text);
    str_buf literal;
    str_buf_init(&literal, cx->a);
    cu_add_literal(&literal, str_text(&message));
    const char *failed = cu_at(cx, negated(cx, s->value), CU_ASSIGN);
    if (cx->in_host) {
        cu_host_assert(cx, s, failed, str_text(&literal));
        return;
    }
    cu_use(cx, "fail");
    cu_put(cx, "if (%s)", failed);
    cx->indent++;
    cu_put(cx, "fail(\"%s\");", str_text(&literal));
    cx->indent--;
}

static void assume(cu *cx, const ir_stmt *s)
{
    if (!ir_is_pure(s->value))
        return;
    if (cx->in_host)
        cu_put(cx, "if (%s) __builtin_unreachable();", cu_at(cx, negated(cx, s->value), CU_ASSIGN));
    else
        cu_put(cx, "__builtin_assume(%s);", cu_at(cx, s->value, CU_ASSIGN));
}

// The next conversion of a printf format: its letter, and how many l it has. False at the end.
static bool next_conversion(const char **format, char *letter, int *longs)
{
    const char *at = *format;
    while (*at && (*at != '%' || at[1] == '%'))
        at += *at == '%' ? 2 : 1;
    if (!*at)
        return false;
    at += 1 + strspn(at + 1, "-+ #0123456789.*");
    for (*longs = 0; *at == 'l' || *at == 'h' || *at == 'z' || *at == 'j' || *at == 't'; at++)
        *longs += *at == 'l' ? 1 : *at == 'h' ? 0 : 2;
    *letter = *at;
    *format = *at ? at + 1 : at;
    return *letter != '\0';
}

static const char *print_integer(cu *cx, cu_text t, dtype from, bool is_signed, bool is_long)
{
    bool has_size = is_long == (dt_bits(from) == 64) && dt_is_int(from);
    if (has_size && dt_is_signed(from) == is_signed && !t.literal)
        return cu_paren(cx, t, CU_ASSIGN);
    if (t.literal && !is_long)
        return cu_paren(cx, t, CU_ASSIGN);
    const char *type = is_long ? (is_signed ? "long long" : "unsigned long long") : (is_signed ? "int" : "unsigned int");
    bool promotes = !is_long && is_signed && (dt_bits(from) < 32 || from == DT_BOOL);
    return promotes ? cu_paren(cx, t, CU_ASSIGN) : arena_printf(cx->a, "(%s)%s", type, cu_paren(cx, t, CU_UNARY));
}

// An argument in the type that the conversion expects.
static const char *print_argument(cu *cx, const ir_expr *e, char letter, int longs)
{
    if (e->type->kind != IR_SCALAR)
        return cu_at(cx, e, CU_ASSIGN);
    dtype from = cu_value_dtype(e->type->scalar);
    bool is_float = strchr("aAeEfFgG", letter) != NULL;
    cu_text t = cu_exact(cx, e, true);
    if (cu_is_struct(from)) {
        cu_use_of(cx, from, "to_float", e->span);
        t = cu_primary(cx, DT_F32, "to_float(%s)", cu_paren(cx, t, CU_ASSIGN));
        from = DT_F32;
    }
    if (is_float)
        return dt_is_float(from) ? cu_paren(cx, t, CU_ASSIGN) : arena_printf(cx->a, "(double)%s", cu_paren(cx, t, CU_UNARY));
    if (letter == 's' || letter == 'p')
        return cu_paren(cx, t, CU_ASSIGN);
    return print_integer(cx, t, from, letter == 'd' || letter == 'i' || letter == 'c', longs > 0);
}

static void print(cu *cx, const ir_stmt *s)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    cu_add_literal(&out, s->text);
    str_addc(&out, '"');
    const char *format = s->text;
    for (int i = 0; i < s->arg_count; i++) {
        char letter = 'd';
        int longs = 0;
        if (!next_conversion(&format, &letter, &longs))
            letter = 'p';
        str_addf(&out, ", %s", print_argument(cx, s->args[i], letter, longs));
    }
    cu_put(cx, "printf(\"%s);", str_text(&out));
    cx->needs_headers |= cx->in_host;
}

// ---- all of them -----------------------------------------------------------------------------------------------------------

static void evaluate(cu *cx, const ir_stmt *s)
{
    if (!ir_has_effects(s->value))
        return;
    const char *text = cu_at(cx, s->value, CU_COMMA);
    size_t len = strlen(text);
    bool is_closed = len && (text[len - 1] == ';' || text[len - 1] == '}');
    cu_put(cx, is_closed ? "%s" : "%s;", text);
}

static void intrin_to(cu *cx, const ir_stmt *s)
{
    const char *result = cu_at(cx, s->args[0], CU_ASSIGN);
    cu_put(cx, "%s;", cu_intrin(cx, s->value, result).s);
}

static void give_back(cu *cx, const ir_stmt *s)
{
    if (cx->in_host)
        cu_host_return(cx, s);
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
    if (cx->in_host && cu_host_call(cx, s))
        return;
    bool has_line = s->kind != IR_FOR && s->kind != IR_COMMENT && !(s->kind == IR_LEAVE && falls_through(cx, s->count));
    bool is_dropped = (s->kind == IR_DECL || s->kind == IR_ALLOC || s->kind == IR_ASSIGN) && !cx->vars[s->var->id].uses &&
                      !(s->value && ir_has_effects(s->value)) && !cx->in_host;
    if (is_dropped || (s->kind == IR_EVAL && !ir_has_effects(s->value)))
        return;
    if (has_line)
        cu_line(cx, s->span);
    switch (s->kind) {
    case IR_DECL: declare(cx, s); return;
    case IR_ASSIGN: assign(cx, s); return;
    case IR_STORE:
    case IR_PSTORE: cu_store(cx, s); return;
    case IR_COPY: cx->in_host ? cu_host_copy(cx, s) : cu_copy(cx, s); return;
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
    case IR_ASSERT: check(cx, s); return;
    case IR_ASSUME: assume(cx, s); return;
    case IR_PRINT: print(cx, s); return;
    case IR_LAUNCH: cu_launch(cx, s); return;
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
