// C functions: parameters, and the bodies of kernels' functions: the extents of a launch, and the launch.
#include "cuda_emit/c_priv.h"

#include <string.h>

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

static const char *spatial(cu *cx, const ir_tensor_map *of, const int *numbers)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < of->tensor->tensor->rank - 2; i++)
        cu_add_item(&out, arena_printf(cx->a, "%d", numbers[i]));
    return str_text(&out);
}

// The tensor map (TMA, sm_90) of a tensor. An empty grid launches nothing, and its tensors may have no elements.
static const char *tensor_map(cu *cx, const ir_func *f, const ir_var *v, const cu_c_arrays *arrays, const char *extents)
{
    const ir_tensor_map *of = v->map;
    const ir_tensor *t = of->tensor->tensor;
    const char *name = cu_name_new(cx, v->name), *tensor = cu_var_name(cx, of->tensor);
    cu_c_arrays own = {0};
    str_buf box;
    str_buf_init(&box, cx->a);
    for (int i = 0; i < t->rank; i++)
        cu_add_item(&box, arena_printf(cx->a, "%d", of->box[i]));
    for (size_t i = 0; i < f->params.len; i++)
        own = f->params.at[i] == of->tensor ? arrays[i] : own;
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
    cu_put(cx, ".shape = %s,", own.shape);
    if (own.strides)
        cu_put(cx, ".strides = %s,", own.strides);
    if (!of->is_im2col)
        cu_put(cx, ".box = {%s},", str_text(&box));
    else
        cu_put(cx, ".steps = {1, %s, 1},", spatial(cx, of, of->step));
    cx->indent--;
    cu_put(cx, "};");
    const char *walk = cu_name_new(cx, arena_printf(cx->a, "%s_pixels", v->name));
    if (of->is_im2col)
        cu_put(cx, "const hdsrt_im2col %s = {.lower = {%s}, .upper = {%s}, .channels = %d, .pixels = %d};", walk,
               spatial(cx, of, of->lower), spatial(cx, of, of->upper), of->box[t->rank - 1], of->box[t->rank - 2]);
    cu_put(cx, "if (%s.grid[0] > 0 && %s.grid[1] > 0 && %s.grid[2] > 0)", extents, extents, extents);
    cx->indent++;
    cu_put(cx, "%s = hdsrt_tensor_map_%s(&%s, \"%s\", \"%s\", %s, &%s%s);", cx->c->status,
           of->is_im2col ? "im2col" : "tiled", name, cx->c->at->name, of->tensor->name, tensor, tiling,
           of->is_im2col ? arena_printf(cx->a, ", &%s", walk) : "");
    cx->indent--;
    cu_put(cx, "if (%s != HDSRT_OK)", cx->c->status);
    cx->indent++;
    cu_put(cx, "return %s;", cx->c->status);
    cx->indent--;
    return name;
}

// The tensor maps stand behind the parameters.
static const char *parameter_list(cu *cx, const ir_func *f, const cu_c_arrays *arrays, const char *extents)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        bool is_array = cu_c_is_array(v->type);
        cu_add_item(&out, arena_printf(cx->a, is_array ? "(void *)%s" : "&%s", cu_var_name(cx, v)));
    }
    for (size_t i = 0; i < f->maps.len; i++)
        cu_add_item(&out, arena_printf(cx->a, "&%s", tensor_map(cx, f, f->maps.at[i], arrays, extents)));
    return out.len ? str_text(&out) : "NULL";
}

// [e] where the size [v] is 0. False where that is more than meets the eye.
static bool value_without(const ir_expr *e, const ir_var *v, int64_t *out)
{
    int64_t a, b;
    *out = 0;
    if (e->op == IR_OP_VAR && e->u.var == v)
        return true;
    if (ir_const_int(e, out))
        return true;
    if (e->op == IR_OP_CAST && ir_is_integer(e->type))
        return value_without(e->args[0], v, out);
    if (e->arg_count != 2)
        return false;
    bool knows_a = value_without(e->args[0], v, &a), knows_b = value_without(e->args[1], v, &b);
    if (e->op == IR_OP_MUL && ((knows_a && !a) || (knows_b && !b)))
        return true;
    if (!knows_a || !knows_b || a < 0 || b < 0 || a > INT32_MAX || b > INT32_MAX)
        return false;
    bool divides = (e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV) && b, shifts = e->op == IR_OP_SHR && b < 32;
    *out = e->op == IR_OP_ADD   ? a + b
           : e->op == IR_OP_SUB ? a - b
           : e->op == IR_OP_MIN ? (a < b ? a : b)
           : divides            ? a / b
           : shifts             ? a >> b
                                : 0;
    return divides || shifts || e->op == IR_OP_ADD || e->op == IR_OP_SUB || e->op == IR_OP_MIN;
}

static bool is_grid_empty_without(const ir_func *k, const ir_var *v)
{
    int64_t blocks;
    for (int i = 0; i < 3; i++)
        if (k->grid[i] && value_without(k->grid[i], v, &blocks) && !blocks)
            return true;
    return false;
}

// The compiler takes extents for at least 1 where a kernel runs (lang/reference.md, 4.1).
static void check_sizes(cu *cx, const ir_func *k, const char *extents)
{
    for (size_t i = 0; i < k->params.len; i++) {
        const ir_var *v = k->params.at[i];
        if (!v->is_size || v->may_be_zero || !ir_is_extent(k, v) || (v->has_range && v->min > 0) || is_grid_empty_without(k, v))
            continue;
        int64_t known[3];
        const char *name = cu_var_name(cx, v), *condition = arena_printf(cx->a, "%s == 0", name);
        if (!cu_const_dims(k->grid, known))
            condition = arena_printf(cx->a, "%s && %s.grid[0] > 0 && %s.grid[1] > 0 && %s.grid[2] > 0", condition,
                                     extents, extents, extents);
        cu_c_fail_if(cx, condition,
                     arena_printf(cx->a, "'%s' is 0, and where a kernel runs its extents are at least 1", name), "");
    }
}

static void kernel_body(cu *cx, const cu_c_func *f)
{
    bool has_flag = false;
    cu_c_begin_fails(cx);
    cu_c_check_facts(cx, f->func);
    cu_c_check_assumptions(cx, f->func, &has_flag);
    const cu_c_arrays *arrays = cu_c_check_tensors(cx, f->func, &has_flag);
    str_buf text;
    str_buf_init(&text, cx->a);
    const char *name = extents(cx, f, &text);
    cu_c_put_with_flag(cx, &text, &has_flag);
    check_sizes(cx, f->func, name);
    const char *parameters = cu_name_new(cx, "parameters"), *list = parameter_list(cx, f->func, arrays, name);
    cu_put(cx, "void *%s[] = {%s};", parameters, list);
    cu_put(cx, "return hdsrt_launch(&hds_kernel_%s, &%s, %s, stream);", f->name, name, parameters);
    cx->c->fails = NULL;
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
    if (f->given && !is_mentioned(text, f->given))
        str_addf(out, "    (void)%s;\n", f->given);
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

void cu_c_begin_function(cu *cx, const cu_c_func *f, str_buf *body)
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
}

void cu_c_function(cu *cx, cu_c_func *f)
{
    size_t mark = cu_scope_begin(cx);
    str_buf body, whole;
    cu_c_begin_function(cx, f, &body);
    f->params = params_text(cx, f);
    f->given = f->is_model ? cu_name_new(cx, "given") : NULL;
    if (f->func->kind == IR_KERNEL)
        kernel_body(cx, f);
    else if (f->func->kind == IR_HOST_FUNC)
        cu_c_host_body(cx, f);
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
