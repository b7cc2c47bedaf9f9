// The bodies of C functions: what is checked first, the extents of a launch, the launch; the memory of a host function;
// and the functions that take tensors over DLPack.
#include "cuda_emit/c_priv.h"

#include <string.h>

// Bytes. The language promises it of every tensor parameter (lang/reference.md, 10.1).
enum { TENSOR_ALIGNMENT = 16 };

static bool is_tensor(const ir_var *v)
{
    return v->type->kind == IR_TENSOR;
}

static int tensor_count(const ir_func *f)
{
    int count = 0;
    for (size_t i = 0; i < f->params.len; i++)
        count += is_tensor(f->params.at[i]);
    return count;
}

static bool is_integer(const ir_type *t)
{
    return t->kind == IR_SCALAR && dt_is_int(t->scalar);
}

// ---- sizes that tensors tell ------------------------------------------------------------------------------------

static const ir_expr *uncast(const ir_expr *e)
{
    while (e->op == IR_OP_CAST && e->type->kind == IR_SCALAR && dt_is_int(e->type->scalar))
        e = e->args[0];
    return e;
}

bool cu_c_is_deduced(const ir_func *f, const ir_var *v, int *tensor, int *axis)
{
    for (size_t i = 0; is_integer(v->type) && i < f->params.len; i++) {
        const ir_var *t = f->params.at[i];
        for (int d = 0; is_tensor(t) && d < t->tensor->rank; d++) {
            const ir_expr *e = uncast(t->tensor->shape[d]);
            if (e->op != IR_OP_VAR || e->u.var != v)
                continue;
            *tensor = (int)i;
            *axis = d;
            return true;
        }
    }
    return false;
}

// ---- what is checked --------------------------------------------------------------------------------------------

// [values]: ", (long long)n" for the conversions in [message], or nothing.
static void fail_if(cu *cx, const char *condition, const char *message, const char *values)
{
    const char *text = arena_printf(cx->a, "\"'%s': %s\"%s)", cx->c->at->name, message, values);
    const char *gap = strlen(text) > 70 ? "\n                          " : " ";
    cu_put(cx, "if (%s)", condition);
    cx->indent++;
    cu_c_failed(cx, arena_printf(cx->a, "hdsrt_fail(HDSRT_INVALID_ARGUMENT,%s%s", gap, text));
    cx->indent--;
}

static void check_bound(cu *cx, const ir_var *v, const char *sign, int64_t bound, const char *word)
{
    const char *name = cu_var_name(cx, v), *number = cu_int_text(v->type->scalar, bound, true, cx->a).s;
    fail_if(cx, arena_printf(cx->a, "%s %s %s", name, sign, number),
            arena_printf(cx->a, "'%s' is %%lld, and it has to be %s %lld", name, word, (long long)bound),
            arena_printf(cx->a, ", (long long)%s", name));
}

// Facts about integers that the declaration states. hdsrt_check_tensors looks at extents by itself.
static void check_facts(cu *cx, const ir_func *f)
{
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        int tensor, axis;
        if (!is_integer(v->type) || v->type->scalar == DT_U64)
            continue;
        dtype t = v->type->scalar;
        bool is_extent = cu_c_is_deduced(f, v, &tensor, &axis);
        if (v->has_range && v->min > dt_min(t) && !(is_extent && v->min == 0))
            check_bound(cx, v, "<", v->min, "at least");
        if (v->has_range && v->max >= 0 && (uint64_t)v->max < dt_max_bits(t))
            check_bound(cx, v, ">", v->max, "at most");
        const char *name = cu_var_name(cx, v);
        if (v->divisor > 1)
            fail_if(cx, arena_printf(cx->a, "%s %% %lld != 0", name, (long long)v->divisor),
                    arena_printf(cx->a, "'%s' is %%lld, and it has to be a multiple of %lld", name, (long long)v->divisor),
                    arena_printf(cx->a, ", (long long)%s", name));
    }
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

// What the kernel takes for granted of its parameters, in its first statements.
static void check_assumptions(cu *cx, const ir_func *f)
{
    ir_expr *e;
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
        str_adds(&message, "it takes '%s' for granted");
        for (size_t i = 0; i < s.found.len; i++) {
            const ir_var *v = s.found.at[i];
            bool is_float = dt_is_float(v->type->scalar);
            str_addf(&message, "%s '%s' is %s", i ? " and" : ", and", cu_var_name(cx, v), is_float ? "%g" : "%lld");
            str_addf(&values, ", (%s)%s", is_float ? "double" : "long long", cu_var_name(cx, v));
        }
        fail_if(cx, cu_at(cx, cu_negated(cx, e), CU_ASSIGN),
                str_text(&message), arena_printf(cx->a, ", \"%s\"%s", str_text(&text), str_text(&values)));
    }
}

// Arithmetic without a result: the flag's name is there where it is needed.
static void check_fails(cu *cx)
{
    if (cx->c->used_fails)
        fail_if(cx, cx->c->fails, "its extents are too large for 64 bits, or divided by 0", "");
    cx->c->used_fails = false;
}

static void shape_items(cu *cx, const ir_tensor *t, str_buf *out, bool *is_constant)
{
    int64_t known;
    for (int d = 0; d < t->rank; d++) {
        cu_add_item(out, cu_c_extent(cx, t->shape[d]));
        *is_constant &= ir_const_int(t->shape[d], &known);
    }
    if (cu_c_lanes(t->elem))
        cu_add_item(out, arena_printf(cx->a, "%d", cu_c_lanes(t->elem)));
    if (!out->len)
        str_adds(out, "1");
}

// By parameter, the names of the arrays of extents.
// const int64_t x_shape[] = {m, n}; …; const hdsrt_tensor_value tensors[] = {{x, x_shape}, …};
static const char **tensor_values(cu *cx, const ir_func *f, const char **name, str_buf *decls)
{
    const char **shapes = ARENA_ARRAY(cx->a, const char *, f->params.len + 1);
    str_buf list, *out = cx->out;
    str_buf_init(&list, cx->a);
    cx->out = decls;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        if (!is_tensor(v))
            continue;
        bool is_constant = true;
        str_buf shape;
        str_buf_init(&shape, cx->a);
        shape_items(cx, v->tensor, &shape, &is_constant);
        const char *shape_name = cu_name_new(cx, arena_printf(cx->a, "%s_shape", v->name));
        shapes[i] = shape_name;
        cu_put(cx, "%sconst int64_t %s[] = {%s};", is_constant ? "static " : "", shape_name, str_text(&shape));
        cu_add_item(&list, arena_printf(cx->a, "{%s, %s}", cu_var_name(cx, v), shape_name));
    }
    *name = cu_name_new(cx, "tensors");
    cu_put(cx, "const hdsrt_tensor_value %s[] = {%s};", *name, str_text(&list));
    cx->out = out;
    return shapes;
}

static void begin_fails(cu *cx)
{
    cx->c->fails = cu_name_new(cx, "fails");
    cx->c->used_fails = false;
}

// Text that may set the flag, behind its declaration.
static void put_with_flag(cu *cx, const str_buf *text, bool *is_declared)
{
    if (cx->c->used_fails && !*is_declared) {
        cu_put(cx, "bool %s = false;", cx->c->fails);
        *is_declared = true;
    }
    str_add(cx->out, (str){text->at, text->len});
    check_fails(cx);
}

static const char **check_tensors(cu *cx, const ir_func *f, bool *has_flag)
{
    if (!tensor_count(f))
        return NULL;
    const char *name;
    str_buf text;
    str_buf_init(&text, cx->a);
    const char **shapes = tensor_values(cx, f, &name, &text);
    put_with_flag(cx, &text, has_flag);
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_tensors(\"%s\", hds_rules_%s, %s, %d)", cx->c->at->name,
                                  cx->c->at->name, name, tensor_count(f)));
    return shapes;
}

// ---- launches ---------------------------------------------------------------------------------------------------

static const char *dims_text(cu *cx, ir_expr *const dims[3])
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < 3; i++)
        cu_add_item(&out, dims[i] ? cu_c_extent(cx, dims[i]) : "1");
    return str_text(&out);
}

static const char *smem_text(cu *cx, const cu_c_func *f)
{
    int64_t pool = f->kernel->dynamic_smem_bytes;
    const ir_expr *wish = f->func->dynamic_smem_bytes;
    if (!wish)
        return pool ? arena_printf(cx->a, "%lld", (long long)pool) : NULL;
    ir_expr *sum = cu_c_wide(cx, wish);
    if (pool)
        sum = ir_binary(cx->m, IR_OP_ADD, ir_int(cx->m, DT_I64, pool), sum, wish->span);
    return cu_at(cx, sum, CU_ASSIGN);
}

static const char *extents(cu *cx, const cu_c_func *f, str_buf *out)
{
    const ir_func *k = f->func;
    int64_t known[3];
    bool has_cluster = k->cluster[0] && !f->kernel->cluster[0];
    has_cluster &= !cu_const_dims(k->cluster, known) || known[0] * known[1] * known[2] > 1;
    const char *grid = dims_text(cx, k->grid), *block = dims_text(cx, k->block), *smem = smem_text(cx, f);
    const char *cluster = has_cluster ? dims_text(cx, k->cluster) : NULL;
    bool is_constant = cu_const_dims(k->grid, known) && cu_const_dims(k->block, known) && !cluster &&
                       (!k->dynamic_smem_bytes || ir_const_int(k->dynamic_smem_bytes, known));
    const char *name = cu_name_new(cx, "extents");
    str_buf *saved = cx->out;
    cx->out = out;
    cu_put(cx, "%sconst hdsrt_extents %s = {", is_constant ? "static " : "", name);
    cx->indent++;
    cu_put(cx, ".grid = {%s},", grid);
    cu_put(cx, ".block = {%s},", block);
    if (cluster)
        cu_put(cx, ".cluster = {%s},", cluster);
    if (smem)
        cu_put(cx, ".dynamic_smem_bytes = %s,", smem);
    cx->indent--;
    cu_put(cx, "};");
    cx->out = saved;
    return name;
}

// How the copy engine of sm_90 sees a tensor. An empty grid launches nothing, and its tensors may have no elements.
static const char *tensor_map(cu *cx, const ir_func *f, const ir_var *v, const char *const *shapes, const char *extents)
{
    const ir_tensor_map *of = v->map;
    const ir_tensor *t = of->tensor->tensor;
    const char *name = cu_name_new(cx, v->name), *tensor = cu_var_name(cx, of->tensor), *shape = NULL;
    str_buf box;
    str_buf_init(&box, cx->a);
    for (int i = 0; i < t->rank; i++)
        cu_add_item(&box, arena_printf(cx->a, "%d", of->box[i]));
    for (size_t i = 0; i < f->params.len; i++)
        shape = f->params.at[i] == of->tensor ? shapes[i] : shape;
    const char *tiling = cu_name_new(cx, arena_printf(cx->a, "%s_tiling", v->name));
    cu_put(cx, "hdsrt_tensor_map %s = {{0}};", name);
    cu_put(cx, "const hdsrt_tiling %s = {", tiling);
    cx->indent++;
    cu_put(cx, ".dtype = %s,", cu_c_dtype(cx, t->elem));
    cu_put(cx, ".ndim = %d,", t->rank);
    if (of->swizzle)
        cu_put(cx, ".swizzle_bytes = %d,", of->swizzle);
    if (of->l2_promotion)
        cu_put(cx, ".l2_bytes = %d,", of->l2_promotion);
    cu_put(cx, ".shape = %s,", shape);
    cu_put(cx, ".box = {%s},", str_text(&box));
    cx->indent--;
    cu_put(cx, "};");
    cu_put(cx, "if (%s.grid[0] > 0 && %s.grid[1] > 0 && %s.grid[2] > 0)", extents, extents, extents);
    cx->indent++;
    cu_put(cx, "%s = hdsrt_tensor_map_tiled(&%s, \"%s\", \"%s\", %s, &%s);", cx->c->status, name, cx->c->at->name,
           of->tensor->name, tensor, tiling);
    cx->indent--;
    cu_put(cx, "if (%s != HDSRT_OK)", cx->c->status);
    cx->indent++;
    cu_put(cx, "return %s;", cx->c->status);
    cx->indent--;
    return name;
}

// The tensor maps stand behind the parameters.
static const char *parameter_list(cu *cx, const ir_func *f, const char *const *shapes, const char *extents)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        bool is_array = cu_c_is_array(v->type);
        cu_add_item(&out, arena_printf(cx->a, is_array ? "(void *)%s" : "&%s", cu_var_name(cx, v)));
    }
    for (size_t i = 0; i < f->maps.len; i++)
        cu_add_item(&out, arena_printf(cx->a, "&%s", tensor_map(cx, f, f->maps.at[i], shapes, extents)));
    return out.len ? str_text(&out) : "NULL";
}

static void kernel_body(cu *cx, const cu_c_func *f)
{
    bool has_flag = false;
    begin_fails(cx);
    check_facts(cx, f->func);
    check_assumptions(cx, f->func);
    const char **shapes = check_tensors(cx, f->func, &has_flag);
    str_buf text;
    str_buf_init(&text, cx->a);
    const char *name = extents(cx, f, &text);
    put_with_flag(cx, &text, &has_flag);
    const char *parameters = cu_name_new(cx, "parameters"), *list = parameter_list(cx, f->func, shapes, name);
    cu_put(cx, "void *%s[] = {%s};", parameters, list);
    cu_put(cx, "return hdsrt_launch(&hds_kernel_%s, &%s, %s, stream);", f->name, name, parameters);
    cx->c->fails = NULL;
}

// ---- host functions ---------------------------------------------------------------------------------------------

typedef struct slots {
    cu *cx;
    int device, host;
    bool in_loop, may_fail;
} slots;

static void see_block(slots *s, const ir_block *b);

static void see_stmt(slots *s, const ir_stmt *stmt)
{
    bool is_call = stmt->kind == IR_EVAL && stmt->value->op == IR_OP_CALL &&
                   stmt->value->u.func->kind == IR_HOST_FUNC && stmt->value->u.func->result->kind == IR_VOID;
    bool is_device = stmt->kind == IR_ALLOC && stmt->var->tensor->space == IR_GLOBAL;
    bool has_slot = is_device || (stmt->kind == IR_ALLOC && !cu_c_is_on_stack(stmt->var->tensor));
    s->may_fail |= is_call || has_slot || stmt->kind == IR_LAUNCH || stmt->kind == IR_COPY || stmt->kind == IR_ASSERT;
    if (has_slot && (s->cx->vars[stmt->var->id].uses || (stmt->value && ir_has_effects(stmt->value)))) {
        cu_c_slot *slot = ARENA_NEW(s->cx->a, cu_c_slot);
        *slot = (cu_c_slot){is_device ? s->device++ : s->host++, is_device, s->in_loop};
        map_put_ptr(&s->cx->c->slots, stmt->var, slot);
    }
    bool outer = s->in_loop;
    s->in_loop |= stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
    see_block(s, &stmt->body);
    see_block(s, &stmt->or_else);
    s->in_loop = outer;
}

static void see_block(slots *s, const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        see_stmt(s, b->stmts.at[i]);
}

static const char *address_array(cu *cx, const char *wish, int count)
{
    const char *name = cu_name_new(cx, wish);
    cu_put(cx, "void *%s[%d] = {NULL};", name, count);
    return name;
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

static void release_device(cu *cx, const slots *s)
{
    const char *i = cu_name_new(cx, "slot"), *released = cu_name_new(cx, "released");
    cu_put(cx, "for (int %s = %d; %s >= 0; %s--) {", i, s->device - 1, i, i);
    cx->indent++;
    cu_put(cx, "hdsrt_status %s = hdsrt_release(%s[%s], stream);", released, cx->c->memory, i);
    cu_put(cx, "%s = %s == HDSRT_OK ? %s : %s;", cx->c->status, cx->c->status, released, cx->c->status);
    cx->indent--;
    cu_put(cx, "}");
}

static void release_host(cu *cx, const slots *s)
{
    const char *i = cu_name_new(cx, "slot");
    cu_put(cx, "for (int %s = 0; %s < %d; %s++)", i, i, s->host, i);
    cx->indent++;
    cu_put(cx, "free(%s[%s]);", cx->c->buffers, i);
    cx->indent--;
}

static void release_all(cu *cx, const slots *s)
{
    cx->indent = 0;
    cu_put(cx, "%s:", cx->c->end);
    cx->indent = 1;
    if (s->device)
        release_device(cx, s);
    if (s->host)
        release_host(cx, s);
    cu_put(cx, "return %s;", cx->c->status);
}

static void host_body(cu *cx, const cu_c_func *f)
{
    const ir_func *func = f->func;
    bool is_plain = func->result->kind != IR_VOID, has_flag = false;
    slots s = {.cx = cx};
    if (!is_plain) {
        begin_fails(cx);
        check_facts(cx, func);
        if (func->is_public)
            check_tensors(cx, func, &has_flag);
        cx->c->fails = NULL;
    }
    see_block(&s, &func->body);
    if (!is_plain && s.may_fail && !cx->c->status) {
        cx->c->status = cu_name_new(cx, "status");
        cu_put(cx, "hdsrt_status %s = HDSRT_OK;", cx->c->status);
    }
    if (!is_plain && s.device + s.host) {
        cx->c->memory = s.device ? address_array(cx, "memory", s.device) : NULL;
        cx->c->buffers = s.host ? address_array(cx, "buffers", s.host) : NULL;
        cx->c->end = "end";
    }
    cu_block(cx, &func->body);
    if (cx->c->end) {
        drop_last_jump(cx);
        release_all(cx, &s);
    } else if (!is_plain && !cu_returns(&func->body)) {
        cu_put(cx, "return HDSRT_OK;");
    }
}

// ---- functions --------------------------------------------------------------------------------------------------

// Whether the identifier stands somewhere in the text.
static bool is_mentioned(const char *text, const char *name)
{
    for (const char *at = text; *at;) {
        size_t len = cu_word_length(at);
        if (len && len == strlen(name) && memcmp(at, name, len) == 0)
            return true;
        at += len ? len : 1;
    }
    return false;
}

static void add_unused(cu *cx, const cu_c_func *f, const str_buf *body, str_buf *out)
{
    const char *text = body->len ? body->at : "";
    for (size_t i = 0; i < f->func->params.len; i++) {
        const char *name = cu_var_name(cx, f->func->params.at[i]);
        if (!is_mentioned(text, name))
            str_addf(out, "    (void)%s;\n", name);
    }
    if (f->func->result->kind == IR_VOID && !is_mentioned(text, "stream"))
        str_adds(out, "    (void)stream;\n");
}

static const char *params_text(cu *cx, const cu_c_func *f)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        cu_add_item(&out, cu_c_param(cx, v, cu_declare(cx, v), f->writes[i], false));
    }
    if (f->func->result->kind == IR_VOID)
        cu_add_item(&out, "hdsrt_stream stream");
    return out.len ? str_text(&out) : "void";
}

static void begin_function(cu *cx, const cu_c_func *f, str_buf *body)
{
    str_buf_init(body, cx->a);
    cx->out = body;
    cx->func = f->func;
    cx->indent = 1;
    cx->in_host = cx->prelude.for_host = true;
    cx->label_count = 0;
    cx->tails = NULL;
    cx->file_is_named = false;
    cx->counted = 0;
    cx->c->at = f;
    cx->c->status = cx->c->end = cx->c->fails = NULL;
    cx->c->is_device = f->func->kind == IR_DEVICE;
    cx->c->span = f->func->span;
    map_init(&cx->c->slots, cx->a);
}

void cu_c_function(cu *cx, cu_c_func *f)
{
    size_t mark = cu_scope_begin(cx);
    str_buf body, whole;
    begin_function(cx, f, &body);
    f->params = params_text(cx, f);
    if (f->func->kind == IR_KERNEL)
        kernel_body(cx, f);
    else if (f->func->kind == IR_HOST_FUNC)
        host_body(cx, f);
    else
        cu_block(cx, &f->func->body);
    str_buf_init(&whole, cx->a);
    str_adds(&whole, "{\n");
    add_unused(cx, f, &body, &whole);
    str_add(&whole, (str){body.at, body.len});
    str_adds(&whole, "}\n");
    f->body = (str){str_text(&whole), whole.len};
    cu_scope_end(cx, mark);
}

static int alignment_of(const ir_var *v)
{
    int own = v->tensor->align_bytes;
    return own > TENSOR_ALIGNMENT ? own : TENSOR_ALIGNMENT;
}

void cu_c_rules(cu *cx, const cu_c_func *f, str_buf *out)
{
    str_addf(out, "static const hdsrt_tensor_rule hds_rules_%s[] = {\n", f->name);
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        const char *name = cu_declare(cx, v);
        if (is_tensor(v))
            str_addf(out, "    {\"%s\", %s, %d, %s, %d},\n", name, cu_c_dtype(cx, v->tensor->elem),
                     v->tensor->rank + (cu_c_lanes(v->tensor->elem) != 0), f->writes[i] ? "true" : "false",
                     alignment_of(v));
    }
    cu_scope_end(cx, mark);
    str_adds(out, "};\n");
}

// ---- over DLPack ------------------------------------------------------------------------------------------------

// Declares the parameters' names.
const char *cu_c_dlpack_params(cu *cx, const cu_c_func *f)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        const char *name = cu_declare(cx, v);
        int tensor, axis;
        if (is_tensor(v))
            cu_add_item(&out, arena_printf(cx->a, "const hdsrt_tensor *%s", name));
        else if (!cu_c_is_deduced(f->func, v, &tensor, &axis))
            cu_add_item(&out, cu_c_param(cx, v, name, f->writes[i], false));
    }
    cu_add_item(&out, "hdsrt_stream stream");
    return str_text(&out);
}

static void deduce(cu *cx, const cu_c_func *f)
{
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int tensor, axis;
        if (!cu_c_is_deduced(f->func, v, &tensor, &axis))
            continue;
        const char *name = cu_var_name(cx, v), *from = cu_var_name(cx, f->func->params.at[tensor]);
        cu_put(cx, "const int64_t %s = %s->shape[%d];", name, from, axis);
        uint64_t most = dt_max_bits(v->type->scalar);
        if (most < INT64_MAX)
            fail_if(cx, arena_printf(cx->a, "%s > %lld", name, (long long)most),
                    arena_printf(cx->a, "'%s' has extent %%lld along axis %d, and it has to be at most %lld", from, axis,
                                 (long long)most),
                    arena_printf(cx->a, ", (long long)%s", name));
    }
}

static void compare_extent(cu *cx, const cu_c_func *f, const ir_var *v, int axis, str_buf *out)
{
    const ir_tensor *t = v->tensor;
    bool is_lane = axis == t->rank;
    const char *name = cu_var_name(cx, v);
    str_buf rule;
    str_buf_init(&rule, cx->a);
    cx->in_comment = true;
    cu_add_literal(&rule, is_lane ? arena_printf(cx->a, "%d", cu_c_lanes(t->elem)) : cu_at(cx, t->shape[axis], CU_ASSIGN));
    cx->in_comment = false;
    const char *expected = is_lane ? str_text(&rule) : cu_c_extent(cx, t->shape[axis]);
    str_buf *saved = cx->out;
    cx->out = out;
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_extent(\"%s\", \"%s\", %d, %s->shape[%d], %s, \"%s\")", f->name,
                                  name, axis, name, axis, expected, str_text(&rule)));
    cx->out = saved;
}

static void compare_extents(cu *cx, const cu_c_func *f)
{
    bool has_flag = false;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int axes = is_tensor(v) ? v->tensor->rank + (cu_c_lanes(v->tensor->elem) != 0) : 0;
        for (int d = 0; d < axes; d++) {
            const ir_expr *e = d < v->tensor->rank ? uncast(v->tensor->shape[d]) : NULL;
            int tensor, axis;
            bool is_source = e && e->op == IR_OP_VAR && cu_c_is_deduced(f->func, e->u.var, &tensor, &axis) &&
                             tensor == (int)i && axis == d;
            str_buf text;
            str_buf_init(&text, cx->a);
            if (!is_source)
                compare_extent(cx, f, v, d, &text);
            if (text.len)
                put_with_flag(cx, &text, &has_flag);
        }
    }
}

static void call_flat(cu *cx, const cu_c_func *f, const char *const *data)
{
    str_buf args;
    str_buf_init(&args, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int tensor, axis;
        const char *text = cu_var_name(cx, v);
        if (is_tensor(v))
            text = f->writes[i] ? arena_printf(cx->a, "(%s *)%s", cu_c_elem(cx, v->type->elem), data[i]) : data[i];
        else if (v->type->scalar != DT_I64 && cu_c_is_deduced(f->func, v, &tensor, &axis))
            text = arena_printf(cx->a, "(%s)%s", cu_c_scalar(cx, v->type->scalar), text);
        cu_add_item(&args, text);
    }
    cu_add_item(&args, "stream");
    cu_put(cx, "return %s(%s);", f->name, str_text(&args));
}

void cu_c_dlpack(cu *cx, const cu_c_func *f, str_buf *out)
{
    size_t mark = cu_scope_begin(cx);
    str_buf body;
    begin_function(cx, f, &body);
    const char *params = cu_c_dlpack_params(cx, f);
    const char **data = ARENA_ARRAY(cx->a, const char *, f->func->params.len + 1);
    begin_fails(cx);
    for (size_t i = 0, rule = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        if (!is_tensor(v))
            continue;
        data[i] = cu_name_new(cx, arena_printf(cx->a, "%s_data", v->name));
        cu_put(cx, "const void *%s;", data[i]);
        cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_dlpack(\"%s\", &hds_rules_%s[%zu], %s, &%s)", f->name, f->name,
                                      rule++, cu_var_name(cx, v), data[i]));
    }
    deduce(cx, f);
    compare_extents(cx, f);
    call_flat(cx, f, data);
    cx->c->fails = NULL;
    str_addf(out, "%s\n{\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s_dlpack(%s)", f->name, params)));
    str_add(out, (str){body.at, body.len});
    str_adds(out, "}\n");
    cu_scope_end(cx, mark);
}
