// Host functions, for nvcc: C++ over the CUDA runtime.
//
// One that returns nothing in the source returns a cudaError_t here and takes a stream; the first error ends it. One
// that returns a value is a plain function and does no work on the device.
#include "cuda_emit/emit_priv.h"

#include <string.h>

static bool gives_error(const ir_func *f)
{
    return f->result->kind == IR_VOID;
}

static void on_error(cu *cx, src_span span)
{
    if (!gives_error(cx->func))
        cu_bad_ir(cx, span, "device work in a host function that returns a value");
}

void cu_host_function(cu *cx, ir_func *f)
{
    size_t mark = cu_scope_begin(cx);
    cx->func = f;
    cx->in_host = cx->prelude.for_host = true;
    cx->label_count = 0;
    cx->tails = NULL;
    cu_name_new(cx, "stream");
    cu_name_new(cx, "error");
    str_buf params;
    str_buf_init(&params, cx->a);
    cu_params(cx, f, &params, gives_error(f) ? "cudaStream_t stream" : NULL);
    const char *result = gives_error(f) ? "cudaError_t" : cu_type(cx, f->result);
    const char *gap = result[strlen(result) - 1] == '*' ? "" : " ";
    if (f->doc && *f->doc && !strchr(f->doc, '\n'))
        cu_put(cx, "// %s", f->doc);
    cu_line(cx, f->span);
    cu_put(cx, "%s%s%s%s(%s", f->is_public ? "extern \"C\" " : "static inline ", result, gap, cu_func_name(cx, f),
           str_text(&params));
    cu_put(cx, "{");
    cx->indent = 1;
    cu_block(cx, &f->body);
    if (gives_error(f) && !cu_returns(&f->body))
        cu_put(cx, "return cudaSuccess;");
    cx->indent = 0;
    cu_put(cx, "}");
    str_addc(cx->out, '\n');
    cu_scope_end(cx, mark);
    cx->in_host = cx->prelude.for_host = false;
}

static void give_back(cu *cx, const ir_stmt *s)
{
    if (s->value)
        cu_put(cx, "return %s;", cu_as(cx, s->value, cx->func->result));
    else
        cu_put(cx, "return cudaSuccess;");
}

static void check(cu *cx, const ir_stmt *s, const char *failed, const char *message)
{
    on_error(cx, s->span);
    cx->needs_headers = true;
    cu_put(cx, "if (%s) {", failed);
    cx->indent++;
    cu_put(cx, "fprintf(stderr, \"%%s\\n\", \"%s\");", message);
    cu_put(cx, "return cudaErrorAssert;");
    cx->indent--;
    cu_put(cx, "}");
}

// if (cudaError_t error = what) return error;
static void checked(cu *cx, const char *what)
{
    cu_put(cx, "if (cudaError_t error = %s)", what);
    cx->indent++;
    cu_put(cx, "return error;");
    cx->indent--;
}

// ---- memory -----------------------------------------------------------------------------------------------------

// Elements of a tensor whose shape may depend on arguments.
static const char *count_text(cu *cx, const ir_tensor *t)
{
    if (t->storage_elems >= 0)
        return arena_printf(cx->a, "%lld", (long long)t->storage_elems);
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < t->rank; i++)
        str_addf(&out, "%s%s", i ? " * " : "(size_t)", cu_at(cx, t->shape[i], i ? CU_UNARY : CU_UNARY));
    return t->rank ? str_text(&out) : "1";
}

// device_array<float> c(m * n);  // f32[m, n]
static void alloc(cu *cx, const ir_stmt *s)
{
    const ir_tensor *t = s->var->tensor;
    bool on_device = t->space == IR_GLOBAL;
    const char *kind = on_device ? "device_array" : "host_array", *count = count_text(cx, t);
    cu_use(cx, kind);
    const char *value = s->value ? cu_as(cx, s->value, t->elem) : NULL;
    const char *name = cu_declare(cx, s->var);
    cu_put(cx, "%s<%s> %s(%s);  // %s", kind, cu_elem(cx, t->elem), name, count, cu_shape_comment(cx, s->var));
    if (on_device) {
        on_error(cx, s->span);
        checked(cx, arena_printf(cx->a, "%s.error", name));
    }
    if (value && on_device) {
        cu_use(cx, "device_array.fill");
        checked(cx, arena_printf(cx->a, "fill<%s>(%s, %s, %s, stream)", cu_elem(cx, t->elem), name, count, value));
    } else if (value) {
        size_t mark = cu_scope_begin(cx);
        const char *i = cu_name_new(cx, "i");
        cu_put(cx, "for (size_t %s = 0; %s < %s; %s++)", i, i, count, i);
        cx->indent++;
        cu_put(cx, "%s[%s] = %s;", name, i, value);
        cx->indent--;
        cu_scope_end(cx, mark);
    }
}

static void copy(cu *cx, const ir_stmt *s)
{
    on_error(cx, s->span);
    const ir_type *elem = s->args[0]->u.var->type->elem;
    int64_t bits = cu_is_subbyte(elem) ? dt_bits(elem->scalar) : ir_type_bytes(elem) * 8;
    const char *to = cu_at(cx, s->args[0], CU_ASSIGN), *from = cu_at(cx, s->args[1], CU_ASSIGN);
    checked(cx, arena_printf(cx->a, "cudaMemcpyAsync(%s, %s, %lld, cudaMemcpyDefault, stream)", to, from,
                             (long long)(s->count * bits / 8)));
    checked(cx, "cudaStreamSynchronize(stream)");
}

// ---- calls and launches -----------------------------------------------------------------------------------------

static bool call(cu *cx, const ir_stmt *s)
{
    bool is_call = s->kind == IR_EVAL && s->value->op == IR_OP_CALL && s->value->u.func->kind == IR_HOST_FUNC;
    if (!is_call || !gives_error(s->value->u.func))
        return false;
    on_error(cx, s->span);
    cu_line(cx, s->span);
    const char *args = cu_call_args(cx, s->value);
    checked(cx, arena_printf(cx->a, "%s(%s%sstream)", cu_func_name(cx, s->value->u.func), args, *args ? ", " : ""));
    return true;
}

// An argument that must not be evaluated twice gets a name.
static ir_expr *once(cu *cx, const ir_var *param, ir_expr *e)
{
    if (!ir_has_effects(e) || e->type->kind == IR_TENSOR)
        return e;
    const char *value = cu_as(cx, e, param->type);
    ir_var *v = cu_var_new(cx, param->name, param->type, e->span);
    cu_put(cx, "%s = %s;", cu_declarator(cx, v->type, cu_declare(cx, v)), value);
    return ir_read(cx->m, v, e->span);
}

static ir_expr *with_arguments(cu *cx, ir_expr *e, const map *arguments)
{
    return e ? ir_substitute(cx->m, e, arguments) : NULL;
}

// 256, or 32, 8
static const char *dims_text(cu *cx, ir_expr *const dims[3])
{
    int64_t known[3];
    for (int i = 0; i < 3; i++)
        known[i] = dims[i] && ir_const_int(dims[i], &known[i]) ? known[i] : 0;
    int rank = known[2] == 1 || !dims[2] ? (known[1] == 1 || !dims[1] ? 1 : 2) : 3;
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < rank; i++) {
        cu_text t = cu_exact(cx, dims[i], true);
        bool is_wide = dims[i]->type->scalar == DT_I64 && dims[i]->op != IR_OP_INT;
        str_addf(&out, "%s%s%s", i ? ", " : "", is_wide ? "(unsigned int)" : "",
                 cu_paren(cx, t, is_wide ? CU_UNARY : CU_ASSIGN));
    }
    return str_text(&out);
}

// Dynamic shared memory: what the allocator needs and what the author asks for on top.
static const char *smem_text(cu *cx, const ir_func *kernel, const map *arguments, bool *may_be_large)
{
    int64_t known = 0;
    ir_expr *wish = with_arguments(cx, kernel->dynamic_smem_bytes, arguments);
    bool is_known = !wish || ir_const_int(wish, &known);
    known += kernel->pool_bytes;
    *may_be_large = !is_known || known > 48 * 1024;
    if (is_known)
        return arena_printf(cx->a, "%lld", (long long)known);
    const char *text = cu_at(cx, wish, CU_ADD);
    return kernel->pool_bytes ? arena_printf(cx->a, "%lld + %s", (long long)kernel->pool_bytes, text) : text;
}

typedef struct launch_attributes {
    ir_expr *const *cluster; // NULL: none, or one that is compiled in
    bool is_dependent;
} launch_attributes;

static void attribute(cu *cx, int *count, const char *id)
{
    cu_put(cx, "attributes[%d].id = %s;", *count, id);
    ++*count;
}

// What the launch with <<<…>>> cannot say.
static void launch_with(cu *cx, const char *name, const char *args, launch_attributes with)
{
    int count = 0;
    cu_put(cx, "cudaLaunchAttribute attributes[%d] = {};", (with.cluster != NULL) + with.is_dependent);
    if (with.cluster) {
        attribute(cx, &count, "cudaLaunchAttributeClusterDimension");
        for (int i = 0; i < 3; i++) {
            const char *extent = with.cluster[i] ? cu_at(cx, with.cluster[i], CU_ASSIGN) : "1";
            cu_put(cx, "attributes[%d].val.clusterDim.%c = %s;", count - 1, "xyz"[i], extent);
        }
    }
    if (with.is_dependent) {
        attribute(cx, &count, "cudaLaunchAttributeProgrammaticStreamSerialization");
        cu_put(cx, "attributes[%d].val.programmaticStreamSerializationAllowed = 1;", count - 1);
    }
    cu_put(cx, "cudaLaunchConfig_t config = {};");
    cu_put(cx, "config.gridDim = grid;");
    cu_put(cx, "config.blockDim = block;");
    cu_put(cx, "config.dynamicSmemBytes = smem_bytes;");
    cu_put(cx, "config.stream = stream;");
    cu_put(cx, "config.attrs = attributes;");
    cu_put(cx, "config.numAttrs = %d;", count);
    checked(cx, arena_printf(cx->a, "cudaLaunchKernelEx(&config, %s%s%s)", name, *args ? ", " : "", args));
}

// CUtensorMapDataType: what stores that combine take the elements for. Those without arithmetic are unsigned integers.
static int map_type(const ir_type *elem)
{
    switch (elem->kind == IR_SCALAR ? elem->scalar : DT_NONE) {
    case DT_I32: return 3;
    case DT_I64: return 5;
    case DT_F16: return 6;
    case DT_F32: return 7;
    case DT_F64: return 8;
    case DT_BF16: return 9;
    default: return ir_type_bytes(elem) == 8 ? 4 : (int)ir_type_bytes(elem) / 2;
    }
}

// Corners and steps from the fastest axis on.
static const char *pixel_walk(cu *cx, const ir_tensor_map *of)
{
    const int *lists[] = {of->lower, of->upper, of->step};
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int k = 0; k < 3; k++) {
        str_addf(&out, "%s{", k ? ", " : "");
        for (int i = of->tensor->tensor->rank - 3; i >= 0; i--)
            str_addf(&out, "%d%s", lists[k][i], i ? ", " : "}");
    }
    return str_text(&out);
}

// tensor_map a_tiles;
// if (cudaError_t error = make_tensor_map(&a_tiles, a, 6, 2, {m, k}, {64, 64}, 128, 256))
static const char *make_map(cu *cx, const ir_stmt *s, const ir_var *v, const map *arguments)
{
    const ir_tensor_map *of = v->map;
    const ir_tensor *t = of->tensor->tensor;
    const char *name = cu_name_new(cx, v->name), *at = "nullptr";
    str_buf extents, strides, box;
    str_buf_init(&extents, cx->a);
    str_buf_init(&strides, cx->a);
    str_buf_init(&box, cx->a);
    for (int i = 0; i < s->arg_count; i++)
        if (s->func->params.at[i] == of->tensor)
            at = cu_as(cx, map_get_ptr(arguments, of->tensor), of->tensor->type);
    for (int i = 0; i < t->rank; i++) {
        cu_add_item(&extents, cu_at(cx, with_arguments(cx, t->shape[i], arguments), CU_ASSIGN));
        if (t->is_strided)
            cu_add_item(&strides, cu_at(cx, with_arguments(cx, t->strides[i], arguments), CU_ASSIGN));
        cu_add_item(&box, arena_printf(cx->a, "%d", of->box[i]));
    }
    cu_use(cx, "make_tensor_map");
    cu_put(cx, "tensor_map %s;", name);
    const char *rows = t->is_strided ? arena_printf(cx->a, "{%s}, ", str_text(&strides)) : "";
    const char *walk = of->is_im2col ? arena_printf(cx->a, ", pixel_walk{%s}", pixel_walk(cx, of)) : "";
    checked(cx, arena_printf(cx->a, "make_tensor_map(&%s, %s, %d, %lld, {%s}, %s{%s}, %d, %d%s)", name, at, map_type(t->elem),
                             (long long)ir_type_bytes(t->elem), str_text(&extents), rows, str_text(&box), of->swizzle,
                             of->l2_promotion, walk));
    return name;
}

static void launch(cu *cx, const ir_stmt *s)
{
    const ir_func *kernel = s->func;
    size_t mark = cu_scope_begin(cx);
    on_error(cx, s->span);
    cu_put(cx, "{");
    cx->indent++;
    map arguments;
    map_init(&arguments, cx->a);
    str_buf args;
    str_buf_init(&args, cx->a);
    static const char *const taken[] = {"grid", "block", "smem_bytes", "attributes", "config"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        cu_name_new(cx, taken[i]);
    for (int i = 0; i < s->arg_count; i++) {
        const ir_var *param = kernel->params.at[i];
        ir_expr *e = once(cx, param, s->args[i]);
        map_put_ptr(&arguments, param, e);
        str_addf(&args, "%s%s", i ? ", " : "", cu_as(cx, e, param->type));
    }
    ir_expr *grid[3], *block[3], *cluster[3];
    for (int i = 0; i < 3; i++) {
        grid[i] = with_arguments(cx, kernel->grid[i], &arguments);
        block[i] = with_arguments(cx, kernel->block[i], &arguments);
        cluster[i] = with_arguments(cx, kernel->cluster[i], &arguments);
    }
    const char *name = cu_func_name(cx, kernel);
    bool is_large;
    const char *smem = smem_text(cx, kernel, &arguments, &is_large);
    int64_t fixed[3];
    bool clusters = cluster[0] && !cu_const_dims(kernel->cluster, fixed);  // else it is compiled in
    bool is_fixed = cu_const_dims(grid, fixed);
    cu_put(cx, "dim3 grid(%s), block(%s);", dims_text(cx, grid), dims_text(cx, block));
    cu_put(cx, "size_t smem_bytes = %s;", smem);
    if (is_large)
        checked(cx, arena_printf(
                        cx->a, "cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem_bytes)",
                        name));
    if (!is_fixed) {
        cu_put(cx, "if (grid.x && grid.y && grid.z) {");
        cx->indent++;
    }
    for (size_t i = 0; i < kernel->maps.len; i++)
        cu_add_item(&args, make_map(cx, s, kernel->maps.at[i], &arguments));
    if (clusters || kernel->dependent_launch) {
        launch_attributes with = {clusters ? cluster : NULL, kernel->dependent_launch};
        launch_with(cx, name, str_text(&args), with);
    } else {
        cu_put(cx, "%s<<<grid, block, smem_bytes, stream>>>(%s);", name, str_text(&args));
        checked(cx, "cudaGetLastError()");
    }
    if (!is_fixed) {
        cx->indent--;
        cu_put(cx, "}");
    }
    cx->indent--;
    cu_put(cx, "}");
    cu_scope_end(cx, mark);
}

const cu_host_dialect cu_host_cuda = {launch, alloc, copy, give_back, call, check};
