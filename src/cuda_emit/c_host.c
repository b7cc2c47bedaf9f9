// Host functions as C over libhdsrt: their launch plans, statement by statement (docs/adr/0022-launch-plans.md).
//
// A function that returns nothing in the source returns an hdsrt_status here and takes a stream; the first failure ends it.
// Temporaries with offsets are in one workspace, which the first that is reached takes; the addresses of others are in one
// array. Every exit goes through one label, which gives back what is left.
#include "cuda_emit/c_priv.h"

#include <string.h>

// A block that is open in the text; the outermost is the function's.
typedef struct block {
    plan_kind kind;      // of the statement that opened it; PLAN__COUNT: the function
    int stmt;            // its index
    size_t names;        // what was visible outside
    const char *behind;  // label behind it; NULL: nothing goes there
    const char *next;    // label at the end of a loop's body
    bool has_workspace;  // from some statement of it on
    bool has_flag;       // of arithmetic without a result
    bool is_silent;      // an ELSE that is written as "else if", with the braces of the IF in it
} block;

typedef struct host {
    cu *cx;
    cu_c_plan plan;
    VEC(block) blocks;
    int slots;              // of temporaries without offsets
    const char **lvalues;   // by value: where the address of a temporary is kept
    const char *workspace;  // the variable; NULL: there is none
    bool took;              // some statement before has taken it
} host;

static const plan *plan_of(const host *h)
{
    return h->plan.plan;
}

static bool is_loop(plan_kind kind)
{
    return kind == PLAN_FOR || kind == PLAN_WHILE;
}

static bool is_in_loop(const host *h)
{
    bool is = false;
    for (size_t i = 0; i < h->blocks.len; i++)
        is |= is_loop(h->blocks.at[i].kind);
    return is;
}

// ---- failures ---------------------------------------------------------------------------------------------------

static void leave(cu *cx)
{
    if (cx->c->end)
        cu_put(cx, "goto %s;", cx->c->end);
    else
        cu_put(cx, "return %s;", cx->c->status);
}

void cu_c_checked(cu *cx, const char *call)
{
    if (!cx->c->status) {
        cx->c->status = cu_name_new(cx, "status");
        cu_put(cx, "hdsrt_status %s = %s;", cx->c->status, call);
    } else {
        cu_put(cx, "%s = %s;", cx->c->status, call);
    }
    cu_put(cx, "if (%s != HDSRT_OK)", cx->c->status);
    cx->indent++;
    leave(cx);
    cx->indent--;
}

void cu_c_failed(cu *cx, const char *call)
{
    if (!cx->c->end) {
        cu_put(cx, "return %s;", call);
        return;
    }
    cu_put(cx, "%s = %s;", cx->c->status, call);
    cu_put(cx, "goto %s;", cx->c->end);
}

// ---- values -----------------------------------------------------------------------------------------------------

// The variable of a value that may divide by zero: a flag tells whether it did, which ends the function.
static void put_division(host *h, const char *variable, const char *value)
{
    cu *cx = h->cx;
    bool has_flag = false;
    for (size_t i = 0; i < h->blocks.len; i++)
        has_flag |= h->blocks.at[i].has_flag;
    if (!has_flag)
        cu_put(cx, "bool %s = false;", cx->c->fails);
    VEC_LAST(&h->blocks).has_flag = true;
    cu_put(cx, "%s = %s;", variable, value);
    cu_c_fail_if(cx, cx->c->fails, "it divides by zero", "");
    cx->c->used_fails = false;
}

// Whether an integer is the same at any time; [*bits] then is what it is.
static bool is_known(const host *h, int node, uint64_t *bits)
{
    const plan_node *n = &plan_of(h)->nodes.at[node];
    uint64_t ignored;
    if (n->op == IR_OP_VAR || n->type == DT_NONE)
        return false;
    for (int i = 0; i < 3 && n->args[i] >= 0; i++) {
        if (!is_known(h, n->args[i], &ignored))
            return false;
    }
    return plan_evaluate(plan_of(h), node, NULL, bits) == PLAN_FINE;
}

// The value of a scalar, in its own type. One that may divide by zero gets a name first.
static const char *value_text(host *h, int node, cu_prec prec)
{
    cu *cx = h->cx;
    uint64_t bits = 0;
    if (plan_of(h)->nodes.at[node].type == DT_I64 && is_known(h, node, &bits))
        return arena_printf(cx->a, "%lld", (long long)bits);
    const ir_type *t = ir_scalar(cx->m, plan_of(h)->nodes.at[node].type);
    cx->c->used_fails = false;
    const ir_expr *e = cu_c_plan_expr(&h->plan, node);
    const char *text = prec > CU_ASSIGN ? cu_paren(cx, cu_typed(cx, e), prec) : cu_as(cx, e, t);
    if (!cx->c->used_fails)
        return text;
    const char *name = cu_name_new(cx, t->scalar == DT_BOOL ? "holds" : "value");
    put_division(h, cu_declarator(cx, t, name), text);
    return name;
}

static const char *address_text(host *h, int node, cu_prec prec)
{
    cu *cx = h->cx;
    cx->c->used_fails = false;
    const char *text = cu_c_plan_address(&h->plan, node, prec);
    if (!cx->c->used_fails)
        return text;
    const char *name = cu_name_new(cx, "address");
    put_division(h, arena_printf(cx->a, "void *%s", name), text);
    return name;
}

static void let(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    const ir_var *v = h->plan.vars[s->value];
    if (!h->plan.is_read[s->value])
        return;
    if (plan_of(h)->values.at[s->value].type == DT_NONE) {
        const char *address = address_text(h, s->args[0], CU_UNARY), *gap = *address == '(' ? "" : "(void *)";
        cu_put(cx, "void *%s = %s%s;", cu_declare(cx, v), gap, address);
        return;
    }
    // The value may read an outer variable of the same name.
    cx->c->used_fails = false;
    const char *value = cu_as(cx, cu_c_plan_expr(&h->plan, s->args[0]), v->type), *name = cu_declare(cx, v);
    if (cx->c->used_fails)
        put_division(h, cu_declarator(cx, v->type, name), value);
    else
        cu_put(cx, "%s = %s;", cu_declarator(cx, v->type, name), value);
}

static void set(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    if (!h->plan.is_read[s->value])
        return;
    const char *name = cu_var_name(cx, h->plan.vars[s->value]);
    if (plan_of(h)->values.at[s->value].type == DT_NONE) {
        cu_put(cx, "%s = (void *)%s;", name, address_text(h, s->args[0], CU_UNARY));
        return;
    }
    ir_stmt *assignment = ir_new_stmt(cx->m, IR_ASSIGN, cx->func->span, 0);
    assignment->var = h->plan.vars[s->value];
    assignment->value = cu_c_plan_expr(&h->plan, s->args[0]);
    cx->c->used_fails = false;
    const char *value = cu_as(cx, assignment->value, assignment->var->type);
    if (cx->c->used_fails)
        put_division(h, name, value);
    else
        cu_store(cx, assignment);
}

// ---- temporaries ------------------------------------------------------------------------------------------------

static const ir_type *elem_of(host *h, const plan_stmt *s)
{
    ir_module *m = h->cx->m;
    return s->elem == DT_NONE ? ir_pointer(m, ir_void(m), IR_GLOBAL) : ir_scalar(m, s->elem);
}

// "f32[m, n]"
static const char *shape_comment(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    str_buf out;
    str_buf_init(&out, cx->a);
    str_addf(&out, "%s[", s->elem == DT_NONE ? "address" : dt_name(s->elem));
    cx->in_comment = true;
    for (int i = 0; i < s->arg_count; i++)
        str_addf(&out, "%s%s", i ? ", " : "", cu_at(cx, cu_c_plan_expr(&h->plan, s->args[i]), CU_ASSIGN));
    cx->in_comment = false;
    str_addc(&out, ']');
    return str_text(&out);
}

static bool is_constant(const host *h, const plan_stmt *s)
{
    for (int i = 0; i < s->arg_count; i++) {
        if (plan_of(h)->nodes.at[s->args[i]].op != IR_OP_INT)
            return false;
    }
    return true;
}

// The number of the temporary's bytes, or a variable that holds it.
static const char *bytes_text(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    int64_t known = 0;
    const char *own = plan_of(h)->values.at[s->value].name;
    if (is_constant(h, s) && plan_bytes(plan_of(h), s, NULL, &known) == PLAN_FINE)
        return arena_printf(cx->a, "%lld", (long long)known);
    str_buf shape;
    str_buf_init(&shape, cx->a);
    for (int i = 0; i < s->arg_count; i++)
        cu_add_item(&shape, value_text(h, s->args[i], CU_ASSIGN));
    const char *name = cu_name_new(cx, arena_printf(cx->a, "%s_bytes", own));
    int64_t bits = s->elem == DT_NONE ? 64 : dt_bits(s->elem);
    bits = bits < 8 && !dt_is_int(s->elem) ? 8 : bits;
    cu_use(cx, "tensor_bytes");
    cu_put(cx, "int64_t %s = 0;", name);
    cu_c_checked(cx, arena_printf(cx->a, "tensor_bytes(\"%s\", \"%s\", (const int64_t[]){%s}, %d, %lld, &%s)", cx->c->at->name,
                                  own, str_text(&shape), s->arg_count, (long long)bits, name));
    return name;
}

static void release(host *h, const char *lvalue)
{
    cu *cx = h->cx;
    cu_put(cx, "%s = hdsrt_release(%s, stream);", cx->c->status, lvalue);
    cu_put(cx, "%s = NULL;", lvalue);
    cu_put(cx, "if (%s != HDSRT_OK)", cx->c->status);
    cx->indent++;
    leave(cx);
    cx->indent--;
}

// Whether the temporary may be there from the turn before: nothing frees it, or something leaves the block before that.
static bool may_be_held(const host *h, size_t at)
{
    const plan *p = plan_of(h);
    for (size_t i = at + 1; is_in_loop(h) && i < p->stmts.len; i++) {
        plan_kind kind = p->stmts.at[i].kind;
        if (kind == PLAN_FREE && p->stmts.at[i].value == p->stmts.at[at].value)
            return false;
        if (kind == PLAN_BREAK || kind == PLAN_CONTINUE || kind == PLAN_LEAVE)
            return true;
    }
    return is_in_loop(h);
}

static void take_workspace(host *h)
{
    cu *cx = h->cx;
    bool is_there = false;
    for (size_t i = 0; i < h->blocks.len; i++)
        is_there |= h->blocks.at[i].has_workspace;
    if (is_there)
        return;
    const char *call = arena_printf(cx->a, "hdsrt_allocate(&%s, %lld, stream)", h->workspace, (long long)plan_of(h)->planned);
    if (h->took || is_in_loop(h) || cx->c->at->given)
        call = arena_printf(cx->a, "%s ? HDSRT_OK : %s", h->workspace, call);
    cu_c_checked(cx, call);
    h->took = VEC_LAST(&h->blocks).has_workspace = true;
}

static void allocate(host *h, size_t at)
{
    cu *cx = h->cx;
    const plan_stmt *s = &plan_of(h)->stmts.at[at];
    const char *from = h->lvalues[s->value];
    if (s->is_placed) {
        take_workspace(h);
        from = s->offset ? arena_printf(cx->a, "(void *)((char *)%s + %lld)", h->workspace, (long long)s->offset) : h->workspace;
    } else {
        const char *bytes = bytes_text(h, s);
        if (may_be_held(h, at))
            release(h, from);
        cu_c_checked(cx, arena_printf(cx->a, "hdsrt_allocate(&%s, %s, stream)", from, bytes));
    }
    if (!h->plan.is_read[s->value])
        return;
    const char *comment = shape_comment(h, s), *name = cu_declare(cx, h->plan.vars[s->value]);
    cu_put(cx, "%s *%s = %s;  // %s", cu_c_elem(cx, elem_of(h, s)), name, from, comment);
}

static bool falls_to(const host *h, size_t at, size_t end);

// What is freed where the function ends is given back there.
static void free_temporary(host *h, size_t at)
{
    const plan *p = plan_of(h);
    const plan_stmt *s = &p->stmts.at[at];
    if (h->lvalues[s->value] && !falls_to(h, at, p->stmts.len))
        release(h, h->lvalues[s->value]);
}

static void fill(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    uint64_t known = 0;
    const char *to = address_text(h, s->args[0], CU_ASSIGN);
    const char *bits = !is_known(h, s->args[1], &known) ? value_text(h, s->args[1], CU_ASSIGN)
                       : known                          ? arena_printf(cx->a, "0x%llx", (unsigned long long)known)
                                                        : "0";
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_fill(%s, %s, %d, %s, stream)", to, bits, s->bytes,
                                  value_text(h, s->args[2], CU_ASSIGN)));
}

static void copy(host *h, const plan_stmt *s)
{
    const char *to = address_text(h, s->args[0], CU_ASSIGN), *from = address_text(h, s->args[1], CU_ASSIGN);
    cu_c_checked(h->cx, arena_printf(h->cx->a, "hdsrt_copy(%s, %s, %s, stream)", to, from, value_text(h, s->args[2], CU_ASSIGN)));
}

// ---- launches, checks, output -----------------------------------------------------------------------------------

// The elements that C has behind the pointer; "void": any.
static const char *pointed_to(host *h, int node)
{
    const plan_node *n = &plan_of(h)->nodes.at[node];
    if (n->op != IR_OP_VAR)
        return "void";
    const plan *p = plan_of(h);
    for (size_t i = 0; i < p->stmts.len; i++) {
        if (p->stmts.at[i].kind == PLAN_ALLOCATE && p->stmts.at[i].value == n->u.value)
            return cu_c_elem(h->cx, elem_of(h, &p->stmts.at[i]));
    }
    const ir_type *t = h->plan.vars[n->u.value]->type;
    return t->elem && t->elem->kind != IR_VOID ? cu_c_elem(h->cx, t->elem) : "void";
}

static const char *argument(host *h, int node, const ir_var *param)
{
    cu *cx = h->cx;
    if (plan_of(h)->nodes.at[node].type != DT_NONE) {
        const ir_type *t = param->type;
        cx->c->used_fails = false;
        const char *text = cu_as(cx, cu_c_plan_expr(&h->plan, node), t);
        return cx->c->used_fails ? value_text(h, node, CU_ASSIGN) : text;
    }
    const char *text = address_text(h, node, CU_UNARY), *is = pointed_to(h, node);
    bool fits = cu_c_is_array(param->type) || strcmp(is, "void") == 0 || strcmp(cu_c_elem(cx, param->type->elem), "void") == 0 ||
                strcmp(is, cu_c_elem(cx, param->type->elem)) == 0;
    return fits ? text : arena_printf(cx->a, "(void *)%s", text);
}

// The kernel's own function does the checks and knows the extents.
static void launch(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    const cu_c_func *kernel = cu_c_kernel_of(cx, s->text);
    str_buf args;
    str_buf_init(&args, cx->a);
    for (int i = 0; i < s->arg_count; i++)
        str_addf(&args, "%s, ", argument(h, s->args[i], kernel->func->params.at[i]));
    cu_c_checked(cx, arena_printf(cx->a, "%s(%sstream)", kernel->name, str_text(&args)));
}

static void check(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    str_buf message;
    str_buf_init(&message, cx->a);
    const char *where = s->file ? arena_printf(cx->a, "%s:%u: ", s->file, s->line) : "", *colon = *s->text ? ": " : "";
    cu_add_literal(&message, arena_printf(cx->a, "%sassertion failed%s%s", where, colon, s->text));
    cx->c->used_fails = false;
    const char *failed = cu_at(cx, cu_negated(cx, cu_c_plan_expr(&h->plan, s->args[0])), CU_ASSIGN);
    if (cx->c->used_fails)
        failed = arena_printf(cx->a, "!%s", value_text(h, s->args[0], CU_UNARY));
    cu_put(cx, "if (%s) {", failed);
    cx->indent++;
    cu_c_failed(cx, arena_printf(cx->a, "hdsrt_fail(HDSRT_ASSERTION, \"%%s\", \"%s\")", str_text(&message)));
    cx->indent--;
    cu_put(cx, "}");
}

static void print(host *h, const plan_stmt *s)
{
    cu *cx = h->cx;
    ir_stmt *printed = ir_new_stmt(cx->m, IR_PRINT, cx->func->span, 0);
    printed->text = s->text;
    printed->arg_count = s->arg_count;
    printed->args = ARENA_ARRAY(cx->a, ir_expr *, s->arg_count + 1);
    for (int i = 0; i < s->arg_count; i++) {
        bool is_address = plan_of(h)->nodes.at[s->args[i]].type == DT_NONE;
        cx->c->used_fails = false;
        printed->args[i] = cu_c_plan_expr(&h->plan, s->args[i]);
        cu_at(cx, printed->args[i], CU_ASSIGN);
        if (is_address)
            printed->args[i] = cu_c_plan_named(&h->plan, s->args[i],
                                               arena_printf(cx->a, "(void *)%s", address_text(h, s->args[i], CU_UNARY)));
        else if (cx->c->used_fails)
            printed->args[i] = cu_c_plan_named(&h->plan, s->args[i], value_text(h, s->args[i], CU_ASSIGN));
    }
    cu_print(cx, printed);
}

// ---- blocks -----------------------------------------------------------------------------------------------------

// Whether nothing stands between a statement and [end] but ends of blocks, so that control gets there by itself.
static bool falls_to(const host *h, size_t at, size_t end)
{
    const plan *p = plan_of(h);
    for (size_t i = at + 1; i < end;) {
        const plan_stmt *s = &p->stmts.at[i];
        if (s->kind == PLAN_ELSE)
            i = (size_t)s->target;
        else if (s->kind == PLAN_FREE || (s->kind == PLAN_END && !is_loop(p->stmts.at[s->target].kind)))
            i++;
        else
            return false;
    }
    return true;
}

static void open_block(host *h, size_t at, size_t names)
{
    block b = {.kind = plan_of(h)->stmts.at[at].kind, .stmt = (int)at, .names = names};
    VEC_PUSH(h->cx->a, &h->blocks, b);
    h->cx->indent++;
}

static const char *new_label(cu *cx, const char *name)
{
    int number = cx->label_count++;
    return number ? arena_printf(cx->a, "%s_%d", name, number) : name;
}

static block *block_of(host *h, int stmt)
{
    size_t i = h->blocks.len - 1;
    while (h->blocks.at[i].stmt != stmt)
        i--;
    return &h->blocks.at[i];
}

static bool is_innermost_loop(const host *h, int stmt)
{
    for (size_t i = h->blocks.len; i-- > 0;) {
        const block *b = &h->blocks.at[i];
        if (is_loop(b->kind))
            return b->stmt == stmt;
    }
    return false;
}

static size_t end_of(const plan *p, size_t opener)
{
    size_t at = (size_t)p->stmts.at[opener].target;
    return p->stmts.at[at].kind == PLAN_ELSE ? (size_t)p->stmts.at[at].target : at;
}

static void go_to(cu *cx, const char **label, const char *name)
{
    if (!*label)
        *label = new_label(cx, name);
    cu_put(cx, "goto %s;", *label);
}

static void jump(host *h, size_t at)
{
    const plan_stmt *s = &plan_of(h)->stmts.at[at];
    bool is_innermost = s->kind != PLAN_LEAVE && is_innermost_loop(h, s->target);
    if (s->kind == PLAN_LEAVE && falls_to(h, at, end_of(plan_of(h), (size_t)s->target)))
        return;
    if (is_innermost)
        cu_put(h->cx, s->kind == PLAN_BREAK ? "break;" : "continue;");
    else if (s->kind == PLAN_CONTINUE)
        go_to(h->cx, &block_of(h, s->target)->next, "next");
    else
        go_to(h->cx, &block_of(h, s->target)->behind, "done");
}

static void give_back(host *h, size_t at)
{
    cu *cx = h->cx;
    const plan_stmt *s = &plan_of(h)->stmts.at[at];
    if (s->arg_count)
        cu_put(cx, "return %s;", cu_as(cx, cu_c_plan_expr(&h->plan, s->args[0]), cx->func->result));
    else if (falls_to(h, at, plan_of(h)->stmts.len))
        return;
    else if (cx->c->end)
        cu_put(cx, "goto %s;", cx->c->end);
    else
        cu_put(cx, "return HDSRT_OK;");
}

static void enter_if(host *h, size_t at)
{
    cu *cx = h->cx;
    // Its variables are the outer block's.
    cu_put(cx, "if (%s) {", value_text(h, plan_of(h)->stmts.at[at].args[0], CU_ASSIGN));
    open_block(h, at, cu_scope_begin(cx));
}

// "} else if (…) {" where the other branch is an IF alone. The index of the last statement that is done with.
static size_t enter_else(host *h, size_t at)
{
    cu *cx = h->cx;
    const plan *p = plan_of(h);
    const plan_stmt *next = &p->stmts.at[at + 1];
    cu_scope_end(cx, VEC_POP(&h->blocks).names);
    cx->indent--;
    bool is_alone = next->kind == PLAN_IF && end_of(p, at + 1) + 1 == (size_t)p->stmts.at[at].target;
    cx->c->used_fails = false;
    const char *condition = is_alone ? cu_at(cx, cu_c_plan_expr(&h->plan, next->args[0]), CU_ASSIGN) : "";
    if (!is_alone || cx->c->used_fails) {
        cu_put(cx, "} else {");
        open_block(h, at, cu_scope_begin(cx));
        return at;
    }
    open_block(h, at, cu_scope_begin(cx));
    VEC_LAST(&h->blocks).is_silent = true;
    cx->indent--;
    if (cu_line_differs(cx, next->span)) {
        cu_put(cx, "} else");
        cu_line(cx, next->span);
        cu_put(cx, "if (%s) {", condition);
    } else {
        cu_put(cx, "} else if (%s) {", condition);
    }
    open_block(h, at + 1, cu_scope_begin(cx));
    return at + 1;
}

static void enter_while(host *h, size_t at)
{
    cu *cx = h->cx;
    size_t names = cu_scope_begin(cx);
    int node = plan_of(h)->stmts.at[at].args[0];
    cx->c->used_fails = false;
    const char *condition = cu_at(cx, cu_c_plan_expr(&h->plan, node), CU_ASSIGN);
    if (!cx->c->used_fails) {
        cu_put(cx, "while (%s) {", condition);
        open_block(h, at, names);
        return;
    }
    cu_put(cx, "for (;;) {");
    open_block(h, at, names);
    cu_put(cx, "if (!%s)", value_text(h, node, CU_UNARY));
    cx->indent++;
    cu_put(cx, "break;");
    cx->indent--;
}

// ---- counted loops ----------------------------------------------------------------------------------------------

static bool changes(const host *h, int node)
{
    const plan_node *n = &plan_of(h)->nodes.at[node];
    bool does = n->op == IR_OP_VAR && h->plan.is_set[n->u.value];
    for (int i = 0; i < 3 && n->args[i] >= 0; i++)
        does = does || changes(h, n->args[i]);
    return does;
}

// A bound that is evaluated once: a variable, unless it is the same at any time.
static const char *bound_text(host *h, int node, const ir_var *v, const char *what)
{
    cu *cx = h->cx;
    const char *text = value_text(h, node, CU_SHIFT);
    if (!changes(h, node))
        return text;
    const char *name = cu_name_new(cx, arena_printf(cx->a, "%s_%s", v->name, what));
    cu_put(cx, "const %s = %s;", cu_declarator(cx, v->type, name), text);
    return name;
}

// What the head says of the next turn. A step that is not 1 or -1 may pass by the last value of the type.
static void for_head(host *h, const ir_var *v, const char *const bounds[3], const int64_t *step)
{
    cu *cx = h->cx;
    const char *type = cu_c_scalar(cx, v->type->scalar);
    const char *name = cu_declare(cx, v), *declared = cu_declarator(cx, v->type, name);
    bool is_signed = dt_is_signed(v->type->scalar);
    if (step && (*step == 1 || (*step == -1 && is_signed))) {
        cu_put(cx, "for (%s = %s; %s %c %s; %s%s) {", declared, bounds[0], name, *step > 0 ? '<' : '>', bounds[1], name,
               *step > 0 ? "++" : "--");
        return;
    }
    const char *next = is_signed ? "next_signed" : "next_unsigned", *wide = is_signed ? "int64_t" : "uint64_t";
    const char *up = arena_printf(cx->a, "%s < %s", name, bounds[1]), *down = arena_printf(cx->a, "%s > %s", name, bounds[1]);
    const char *test = !is_signed ? up : !step ? arena_printf(cx->a, "%s > 0 ? %s : %s", bounds[2], up, down) : *step > 0 ? up : down;
    cu_use(cx, next);
    cu_put(cx, "for (%s = %s; %s; %s = (%s)%s((%s)%s, %s, %s)) {", declared, bounds[0], test, name, type, next, wide, name,
           bounds[1], bounds[2]);
}

static void enter_for(host *h, size_t at)
{
    cu *cx = h->cx;
    const plan_stmt *s = &plan_of(h)->stmts.at[at];
    const plan_node *first = &plan_of(h)->nodes.at[s->args[0]], *by = &plan_of(h)->nodes.at[s->args[2]];
    const ir_var *v = h->plan.vars[s->value];
    const char *const bounds[] = {value_text(h, s->args[0], CU_ASSIGN), bound_text(h, s->args[1], v, "end"),
                                  bound_text(h, s->args[2], v, "step")};
    bool is_known = by->op == IR_OP_INT && by->u.bits, counts_up = is_known && (int64_t)by->u.bits > 0;
    if (!is_known)
        cu_c_fail_if(cx, arena_printf(cx->a, "%s == 0", bounds[2]), "a loop of it has the step 0", "");
    cx->vars[v->id].is_nonneg = counts_up && first->op == IR_OP_INT && (int64_t)first->u.bits >= 0;
    int64_t step = (int64_t)by->u.bits;
    size_t names = cu_scope_begin(cx);
    for_head(h, v, bounds, is_known ? &step : NULL);
    open_block(h, at, names);
}

static void close_block(host *h)
{
    cu *cx = h->cx;
    block b = VEC_POP(&h->blocks);
    if (b.next)
        cu_put(cx, "%s:;", b.next);
    cu_scope_end(cx, b.names);
    if (b.is_silent)
        return;
    cx->indent--;
    cu_put(cx, "}");
    if (b.behind)
        cu_put(cx, "%s:;", b.behind);
}

static void enter_scope(host *h, size_t at)
{
    size_t names = cu_scope_begin(h->cx);
    cu_put(h->cx, "{");
    open_block(h, at, names);
}

// ---- all of them ------------------------------------------------------------------------------------------------

// The index of the last statement that is done with.
static size_t put_stmt(host *h, size_t at)
{
    const plan_stmt *s = &plan_of(h)->stmts.at[at];
    switch (s->kind) {
    case PLAN_LET: let(h, s); break;
    case PLAN_SET: set(h, s); break;
    case PLAN_CHECK: check(h, s); break;
    case PLAN_IF: enter_if(h, at); break;
    case PLAN_ELSE: return enter_else(h, at);
    case PLAN_FOR: enter_for(h, at); break;
    case PLAN_WHILE: enter_while(h, at); break;
    case PLAN_SCOPE: enter_scope(h, at); break;
    case PLAN_END: close_block(h); break;
    case PLAN_BREAK:
    case PLAN_CONTINUE:
    case PLAN_LEAVE: jump(h, at); break;
    case PLAN_RETURN: give_back(h, at); break;
    case PLAN_ALLOCATE: allocate(h, at); break;
    case PLAN_FREE: free_temporary(h, at); break;
    case PLAN_FILL: fill(h, s); break;
    case PLAN_COPY: copy(h, s); break;
    case PLAN_PRINT: print(h, s); break;
    case PLAN_LAUNCH: launch(h, s); break;
    case PLAN__COUNT: break;
    }
    return at;
}

// What gives nothing in the text needs no line.
static bool has_text(const host *h, size_t at)
{
    const plan_stmt *s = &plan_of(h)->stmts.at[at];
    bool gives = s->kind == PLAN_LET || s->kind == PLAN_SET;
    bool is_passed = s->kind == PLAN_LEAVE && falls_to(h, at, end_of(plan_of(h), (size_t)s->target));
    return s->kind != PLAN_ELSE && s->kind != PLAN_END && s->kind != PLAN_FREE && !is_passed &&
           (!gives || h->plan.is_read[s->value]);
}

static void put_all(host *h)
{
    cu *cx = h->cx;
    const plan *p = plan_of(h);
    for (size_t i = 0; i < p->stmts.len; i++) {
        cu_c_at(cx, p->stmts.at[i].span);
        if (has_text(h, i))
            cu_line(cx, p->stmts.at[i].span);
        i = put_stmt(h, i);
    }
}

// A failure of the last statement needs no jump to what comes next anyhow, unless it is the only one.
static void drop_last_jump(cu *cx)
{
    str jump = STR("    if (status != HDSRT_OK)\n        goto end;\n");
    str text = {cx->out->at, cx->out->len};
    if (!str_ends(text, jump) || strcmp(cx->c->status, "status") != 0)
        return;
    size_t left = text.len - jump.len;
    char *rest = arena_strndup(cx->a, text.at, left);
    if (!strstr(rest, "goto end;"))
        return;
    cx->out->len = left;
    cx->out->at[left] = '\0';
}

// Slots of temporaries, and the variables that hold what has to be given back.
static void begin_memory(host *h)
{
    cu *cx = h->cx;
    const plan *p = plan_of(h);
    bool has_workspace = false;
    h->lvalues = ARENA_ARRAY(cx->a, const char *, p->values.len + 1);
    for (size_t i = 0; i < p->stmts.len; i++) {
        h->slots += p->stmts.at[i].kind == PLAN_ALLOCATE && !p->stmts.at[i].is_placed;
        has_workspace |= p->stmts.at[i].is_placed;
    }
    h->workspace = has_workspace ? cu_name_new(cx, "workspace") : NULL;
    if (h->workspace)
        cu_put(cx, "void *%s = %s;", h->workspace, cx->c->at->given ? cx->c->at->given : "NULL");
    cx->c->memory = h->slots ? cu_name_new(cx, "memory") : NULL;
    if (h->slots)
        cu_put(cx, "void *%s[%d] = {NULL};", cx->c->memory, h->slots);
    int slot = 0;
    for (size_t i = 0; i < p->stmts.len; i++) {
        if (p->stmts.at[i].kind == PLAN_ALLOCATE && !p->stmts.at[i].is_placed)
            h->lvalues[p->stmts.at[i].value] = arena_printf(cx->a, "%s[%d]", cx->c->memory, slot++);
    }
    cx->c->end = h->slots || has_workspace ? "end" : NULL;
}

static void release_all(host *h)
{
    cu *cx = h->cx;
    const char *released = cu_name_new(cx, "released");
    cx->indent = 0;
    cu_put(cx, "%s:;", cx->c->end);
    cx->indent = 1;
    if (h->workspace) {
        const char *own = cx->c->at->given ? arena_printf(cx->a, "%s ? NULL : %s", cx->c->at->given, h->workspace) : h->workspace;
        cu_put(cx, "hdsrt_status %s = hdsrt_release(%s, stream);", released, own);
        cu_put(cx, "return %s == HDSRT_OK ? %s : %s;", cx->c->status, released, cx->c->status);
        return;
    }
    const char *i = cu_name_new(cx, "slot");
    cu_put(cx, "for (int %s = %d; %s >= 0; %s--) {", i, h->slots - 1, i, i);
    cx->indent++;
    cu_put(cx, "hdsrt_status %s = hdsrt_release(%s[%s], stream);", released, cx->c->memory, i);
    cu_put(cx, "%s = %s == HDSRT_OK ? %s : %s;", cx->c->status, cx->c->status, released, cx->c->status);
    cx->indent--;
    cu_put(cx, "}");
    cu_put(cx, "return %s;", cx->c->status);
}

static bool has_call(const plan *p)
{
    for (size_t i = 0; i < p->stmts.len; i++) {
        plan_kind kind = p->stmts.at[i].kind;
        if (kind == PLAN_LAUNCH || kind == PLAN_FILL || kind == PLAN_COPY || kind == PLAN_ALLOCATE)
            return true;
    }
    return false;
}

// Whether control never comes to the end of these statements.
static bool returns(const plan *p, size_t begin, size_t end)
{
    const plan_stmt *last = end > begin ? &p->stmts.at[end - 1] : NULL;
    if (!last || last->kind != PLAN_END || p->stmts.at[last->target].kind != PLAN_ELSE)
        return last && last->kind == PLAN_RETURN;
    size_t otherwise = (size_t)last->target;
    return returns(p, (size_t)p->stmts.at[otherwise].target + 1, otherwise) && returns(p, otherwise + 1, end - 1);
}

// A function that gives a value, and nothing else.
static void value_body(host *h)
{
    put_all(h);
    if (!returns(plan_of(h), 0, plan_of(h)->stmts.len))
        cu_put(h->cx, "return 0;");
}

void cu_c_host_body(cu *cx, const cu_c_func *f)
{
    host h = {.cx = cx};
    block whole = {.kind = PLAN__COUNT, .stmt = -1, .names = cu_scope_begin(cx)};
    cu_c_plan_begin(&h.plan, cx, f);
    if (f->plan->has_result) {
        VEC_PUSH(cx->a, &h.blocks, whole);
        value_body(&h);
        return;
    }
    cu_c_begin_fails(cx);
    cu_c_check_facts(cx, f->func);
    cu_c_check_tensors(cx, f->func, &whole.has_flag);
    if (has_call(f->plan) && !cx->c->status) {
        cx->c->status = cu_name_new(cx, "status");
        cu_put(cx, "hdsrt_status %s = HDSRT_OK;", cx->c->status);
    }
    VEC_PUSH(cx->a, &h.blocks, whole);
    begin_memory(&h);
    cx->c->wraps = true;
    put_all(&h);
    cx->c->wraps = false;
    if (cx->c->end) {
        drop_last_jump(cx);
        release_all(&h);
    } else {
        cu_put(cx, "return HDSRT_OK;");
    }
    cx->c->fails = NULL;
}

// ---- device functions that extents call -------------------------------------------------------------------------

static void refuse(cu *cx, const ir_stmt *s)
{
    (void)s;
    cu_c_refuse(cx, "the host has no such statement");
}

static void give_value(cu *cx, const ir_stmt *s)
{
    cu_put(cx, "return %s;", cu_as(cx, s->value, cx->func->result));
}

static bool call(cu *cx, const ir_stmt *s)
{
    (void)cx;
    (void)s;
    return false;
}

static void check_value(cu *cx, const ir_stmt *s, const char *failed, const char *message)
{
    (void)failed;
    (void)message;
    cu_c_cannot_fail(cx, s->span);
}

const cu_host_dialect cu_host_c = {refuse, refuse, refuse, give_value, call, check_value};
