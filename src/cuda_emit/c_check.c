// The checks at the start of an entry: facts about integers, assumptions of kernels, the extents of tensors; and the
// rules by which libhdsrt checks the tensors themselves.
#include "cuda_emit/c_priv.h"

#include <inttypes.h>
#include <string.h>

// Bytes. The language promises it of every tensor parameter that has no strides (lang/reference.md, 10.1).
enum { TENSOR_ALIGNMENT = 16 };

static int tensor_count(const ir_func *f)
{
    int count = 0;
    for (size_t i = 0; i < f->params.len; i++)
        count += cu_c_is_tensor(f->params.at[i]);
    return count;
}

// ---- sizes that tensors tell ------------------------------------------------------------------------------------

const ir_expr *cu_c_uncast(const ir_expr *e)
{
    while (e->op == IR_OP_CAST && ir_is_integer(e->type))
        e = e->args[0];
    return e;
}

bool cu_c_is_deduced(const ir_func *f, const ir_var *v, int *tensor, int *axis)
{
    for (size_t i = 0; ir_is_integer(v->type) && i < f->params.len; i++) {
        const ir_var *t = f->params.at[i];
        for (int d = 0; cu_c_is_tensor(t) && d < t->tensor->rank; d++) {
            const ir_expr *e = cu_c_uncast(t->tensor->shape[d]);
            if (e->op != IR_OP_VAR || e->u.var != v)
                continue;
            *tensor = (int)i;
            *axis = d;
            return true;
        }
    }
    return false;
}

bool cu_c_is_stride(const ir_func *f, const ir_var *v, int index, int *tensor, int *axis)
{
    for (size_t i = 0; ir_is_integer(v->type) && i < f->params.len; i++) {
        const ir_tensor *t = f->params.at[i]->tensor;
        for (int d = 0; t && t->is_strided && d < t->rank; d++) {
            const ir_expr *e = cu_c_uncast(t->strides[d]);
            if (e->op != IR_OP_VAR || e->u.var != v || index-- > 0)
                continue;
            *tensor = (int)i;
            *axis = d;
            return true;
        }
    }
    return false;
}

// Whether the extents alone do not say which memory it is.
static bool has_strides(const ir_var *v)
{
    return v->tensor->is_strided || ir_layout_strides(v->tensor);
}

bool cu_c_has_strided(const ir_func *f)
{
    for (size_t i = 0; i < f->params.len; i++)
        if (cu_c_is_tensor(f->params.at[i]) && has_strides(f->params.at[i]))
            return true;
    return false;
}

// ---- what is checked --------------------------------------------------------------------------------------------

void cu_c_fail_if(cu *cx, const char *condition, const char *message, const char *values)
{
    const char *text = arena_printf(cx->a, "\"'%s': %s\"%s)", cx->c->at->name, message, values);
    const char *gap = strlen(text) > 70 ? "\n                          " : " ";
    cu_put(cx, "if (%s)%s", condition, cx->c->end ? " {" : "");
    cx->indent++;
    cu_c_failed(cx, arena_printf(cx->a, "hdsrt_fail(HDSRT_INVALID_ARGUMENT,%s%s", gap, text));
    cx->indent--;
    if (cx->c->end)
        cu_put(cx, "}");
}

static void check_bound(cu *cx, const ir_var *v, const char *sign, int64_t bound, const char *word)
{
    const char *name = cu_var_name(cx, v), *number = cu_int_text(cx, v->type->scalar, bound, true).s;
    cu_c_fail_if(cx, arena_printf(cx->a, "%s %s %s", name, sign, number),
                 arena_printf(cx->a, "'%s' is %%lld, and it has to be %s %lld", name, word, (long long)bound),
                 arena_printf(cx->a, ", (long long)%s", name));
}

// One call for all integers that have to be at least 0: compilers of C take long for a call and a message of each.
static void check_not_negative(cu *cx, str_buf *names, str_buf *values, int count)
{
    if (count)
        cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_not_negative(\"%s\", \"%s\", (const int64_t[]){%s}, %d)",
                                      cx->c->at->name, str_text(names), str_text(values), count));
}

// Facts about integers that the declaration states. hdsrt_check_tensors looks at extents by itself.
void cu_c_check_facts(cu *cx, const ir_func *f)
{
    str_buf names, values;
    str_buf_init(&names, cx->a);
    str_buf_init(&values, cx->a);
    int count = 0;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        int tensor, axis;
        if (cu_c_is_array(v->type))
            cu_c_fail_if(cx, arena_printf(cx->a, "!%s", cu_var_name(cx, v)),
                         arena_printf(cx->a, "'%s' is null", cu_var_name(cx, v)), "");
        if (!ir_is_integer(v->type) || v->type->scalar == DT_U64)
            continue;
        dtype t = v->type->scalar;
        bool is_extent = cu_c_is_deduced(f, v, &tensor, &axis);
        if (v->has_range && v->min == 0 && dt_min(t) < 0 && !is_extent) {
            str_addf(&names, "%s%s", count++ ? " " : "", cu_var_name(cx, v));
            cu_add_item(&values, cu_var_name(cx, v));
        } else if (v->has_range && v->min > dt_min(t) && v->min != 0) {
            check_bound(cx, v, "<", v->min, "at least");
        }
        if (v->has_range && v->max >= 0 && (uint64_t)v->max < dt_max_bits(t))
            check_bound(cx, v, ">", v->max, "at most");
        const char *name = cu_var_name(cx, v);
        if (v->divisor > 1)
            cu_c_fail_if(cx, arena_printf(cx->a, "%s %% %lld != 0", name, (long long)v->divisor),
                         arena_printf(cx->a, "'%s' is %%lld, and it has to be a multiple of %lld", name,
                                      (long long)v->divisor),
                         arena_printf(cx->a, ", (long long)%s", name));
    }
    check_not_negative(cx, &names, &values, count);
}

typedef struct param_search {
    const ir_func *func;
    bool fails;
    VEC(const ir_var *) found;
    arena *arena;
} param_search;

static void see_var(void *user, ir_expr *e)
{
    param_search *s = user;
    bool is_other = e->op == IR_OP_CALL || e->op == IR_OP_INTRIN || e->op == IR_OP_LOAD || e->op == IR_OP_SREG ||
                    e->op == IR_OP_PLOAD || e->op == IR_OP_ADDR;
    s->fails |= is_other || e->type->kind != IR_SCALAR || cu_is_struct(e->type->scalar);
    if (e->op != IR_OP_VAR)
        return;
    bool is_known = false, is_param = false;
    for (size_t i = 0; i < s->found.len; i++)
        is_known |= s->found.at[i] == e->u.var;
    for (size_t i = 0; i < s->func->params.len; i++)
        is_param |= s->func->params.at[i] == e->u.var;
    s->fails |= !is_param;
    if (!is_known)
        VEC_PUSH(s->arena, &s->found, e->u.var);
}

static bool is_over_parameters(cu *cx, const ir_func *f, ir_expr *e, param_search *s)
{
    *s = (param_search){.func = f, .arena = cx->a};
    ir_walk_expr(cx->m, e, see_var, s);
    return !s->fails && s->found.len && ir_is_pure(e);
}

ir_expr *cu_c_assumption(cu *cx, const ir_func *f, size_t *next)
{
    param_search s;
    for (; f->kind == IR_KERNEL && *next < f->body.stmts.len; ++*next) {
        const ir_stmt *stmt = f->body.stmts.at[*next];
        bool is_passive = stmt->kind == IR_DECL || stmt->kind == IR_ALLOC || stmt->kind == IR_COMMENT;
        if (stmt->kind != IR_ASSUME && !is_passive)
            return NULL;
        if (stmt->kind == IR_ASSUME && is_over_parameters(cx, f, stmt->value, &s)) {
            ++*next;
            return stmt->value;
        }
    }
    return NULL;
}

// The condition under which an assumption is broken. One that cannot be computed is not, as for libhds (jit/bind.c).
static const char *broken(cu *cx, ir_expr *e, bool *has_flag)
{
    cx->c->used_fails = false;
    const char *text = cu_at(cx, cu_negated(cx, e), CU_LAND);
    if (!cx->c->used_fails)
        return text;
    cu_put(cx, "%s%s = false;", *has_flag ? "" : "bool ", cx->c->fails);
    *has_flag = true;
    return arena_printf(cx->a, "%s && !%s", text, cx->c->fails);
}

void cu_c_check_assumptions(cu *cx, const ir_func *f, bool *has_flag)
{
    ir_expr *e;
    bool is_flag_set = false;
    for (size_t next = 0; (e = cu_c_assumption(cx, f, &next));) {
        param_search s;
        is_over_parameters(cx, f, e, &s);
        str_buf message, values, text;
        str_buf_init(&message, cx->a);
        str_buf_init(&values, cx->a);
        str_buf_init(&text, cx->a);
        cx->in_comment = true;
        cu_add_literal(&text, cu_at(cx, e, CU_ASSIGN));
        cx->in_comment = false;
        str_adds(&message, "it assumes '%s'");
        for (size_t i = 0; i < s.found.len; i++) {
            const ir_var *v = s.found.at[i];
            bool is_float = dt_is_float(v->type->scalar);
            str_addf(&message, "%s '%s' is %s", i ? " and" : ", and", cu_var_name(cx, v), is_float ? "%g" : "%lld");
            str_addf(&values, ", (%s)%s", is_float ? "double" : "long long", cu_var_name(cx, v));
        }
        cu_c_fail_if(cx, broken(cx, e, has_flag), str_text(&message),
                     arena_printf(cx->a, ", \"%s\"%s", str_text(&text), str_text(&values)));
        is_flag_set |= cx->c->used_fails;
    }
    if (is_flag_set)
        cu_put(cx, "%s = false;", cx->c->fails);
    cx->c->used_fails = false;
}

// Arithmetic without a result: the flag's name is there where it is needed.
static void check_fails(cu *cx)
{
    if (cx->c->used_fails)
        cu_c_fail_if(cx, cx->c->fails, "its extents are too large for 64 bits, or divided by 0", "");
    cx->c->used_fails = false;
}

static void add_extent(cu *cx, const ir_expr *e, str_buf *out, bool *is_constant)
{
    int64_t known;
    cu_add_item(out, cu_c_extent(cx, e));
    *is_constant &= ir_const_int(e, &known);
}

static void shape_items(cu *cx, const ir_tensor *t, str_buf *out, bool *is_constant)
{
    for (int d = 0; d < t->rank; d++)
        add_extent(cx, t->shape[d], out, is_constant);
    if (cu_c_lanes(t->elem))
        cu_add_item(out, arena_printf(cx->a, "%d", cu_c_lanes(t->elem)));
    if (!out->len)
        str_adds(out, "1");
}

static void stride_items(cu *cx, const ir_tensor *t, str_buf *out, bool *is_constant)
{
    const int64_t *known = ir_layout_strides(t);
    for (int d = 0; d < t->rank; d++) {
        if (known)
            cu_add_item(out, arena_printf(cx->a, "%" PRId64, known[d]));
        else
            add_extent(cx, t->strides[d], out, is_constant);
    }
    if (!out->len)
        str_adds(out, "1");
}

typedef void items_of(cu *cx, const ir_tensor *t, str_buf *out, bool *is_constant);

// const int64_t x_shape[] = {m, n}; its name.
static const char *array_of(cu *cx, const ir_var *v, const char *what, items_of *items)
{
    bool is_constant = true;
    str_buf list;
    str_buf_init(&list, cx->a);
    items(cx, v->tensor, &list, &is_constant);
    const char *name = cu_name_new(cx, arena_printf(cx->a, "%s_%s", v->name, what));
    cu_put(cx, "%sconst int64_t %s[] = {%s};", is_constant ? "static " : "", name, str_text(&list));
    return name;
}

// const int64_t x_shape[] = {m, n}; …; const hdsrt_tensor_value tensors[] = {{x, x_shape}, …};
static cu_c_arrays *tensor_values(cu *cx, const ir_func *f, const char **name, str_buf *decls)
{
    cu_c_arrays *names = ARENA_ARRAY(cx->a, cu_c_arrays, f->params.len + 1);
    bool has_strided = cu_c_has_strided(f);
    str_buf list, *out = cx->out;
    str_buf_init(&list, cx->a);
    cx->out = decls;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        if (!cu_c_is_tensor(v))
            continue;
        names[i].shape = array_of(cx, v, "shape", shape_items);
        names[i].strides = has_strides(v) ? array_of(cx, v, "strides", stride_items) : NULL;
        const char *strides = names[i].strides ? names[i].strides : "NULL";
        cu_add_item(&list, has_strided ? arena_printf(cx->a, "{%s, %s, %s}", cu_var_name(cx, v), names[i].shape, strides)
                                       : arena_printf(cx->a, "{%s, %s}", cu_var_name(cx, v), names[i].shape));
    }
    *name = cu_name_new(cx, "tensors");
    cu_put(cx, "const hdsrt_%s_value %s[] = {%s};", has_strided ? "strided" : "tensor", *name, str_text(&list));
    cx->out = out;
    return names;
}

void cu_c_begin_fails(cu *cx)
{
    cx->c->fails = cu_name_new(cx, "fails");
    cx->c->used_fails = false;
}

void cu_c_put_with_flag(cu *cx, const str_buf *text, bool *is_declared)
{
    if (cx->c->used_fails && !*is_declared) {
        cu_put(cx, "bool %s = false;", cx->c->fails);
        *is_declared = true;
    }
    str_add(cx->out, (str){text->at, text->len});
    check_fails(cx);
}

const cu_c_arrays *cu_c_check_tensors(cu *cx, const ir_func *f, bool *has_flag)
{
    if (!tensor_count(f))
        return NULL;
    const char *name;
    str_buf text;
    str_buf_init(&text, cx->a);
    const cu_c_arrays *names = tensor_values(cx, f, &name, &text);
    const char *check = cu_c_has_strided(f) ? "strided" : "tensors";
    cu_c_put_with_flag(cx, &text, has_flag);
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_%s(\"%s\", hds_rules_%s, %s, %d)", check, cx->c->at->name,
                                  cx->c->at->name, name, tensor_count(f)));
    return names;
}

// ---- the rules for tensors ---------------------------------------------------------------------------------------

int cu_c_alignment(const ir_var *v)
{
    int own = v->tensor->align_bytes;
    return own > TENSOR_ALIGNMENT || v->tensor->is_strided ? own : TENSOR_ALIGNMENT;
}

void cu_c_rules(cu *cx, const cu_c_func *f, str_buf *out)
{
    str_addf(out, "static const hdsrt_tensor_rule hds_rules_%s[] = {\n", f->name);
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        const char *name = cu_declare(cx, v);
        if (cu_c_is_tensor(v))
            str_addf(out, "    {\"%s\", %s, %d, %s, %d},\n", name, cu_c_dtype(cx, v->tensor->elem),
                     v->tensor->rank + (cu_c_lanes(v->tensor->elem) != 0), f->writes[i] ? "true" : "false",
                     cu_c_alignment(v));
    }
    cu_scope_end(cx, mark);
    str_adds(out, "};\n");
}
