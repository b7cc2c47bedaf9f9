// Functions, kernels and constant tables.
#include "cuda_emit/emit_priv.h"

#include <math.h>
#include <string.h>

// ---- heads ------------------------------------------------------------------------------------------------------

static void add_comment_lines(cu *cx, const char *text)
{
    while (*text == '\n' || *text == ' ')
        text++;
    size_t total = strlen(text);
    while (total && (text[total - 1] == '\n' || text[total - 1] == ' '))
        total--;
    for (const char *at = text, *stop = text + total; at < stop;) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        const char *until = end ? end : stop, *begin = at;
        while (begin < until && *begin == ' ')
            begin++;
        const char *tail = until > begin && until[-1] == '\\' ? "." : "";
        cu_put(cx, until > begin ? "// %.*s%s" : "//%.*s%s", (int)(until - begin), begin, tail);
        at = end ? end + 1 : stop;
    }
}

static void describe(cu *cx, const ir_func *f)
{
    if (f->title && strcmp(f->title, f->name) != 0)
        cu_put(cx, "// %s", f->title);
    if (f->doc && *f->doc)
        add_comment_lines(cx, f->doc);
}

// "const float *__restrict__ a": tensor parameters of a kernel do not overlap, by the rules of the language. But what is
// written in kernels that synchronize is not restricted: the compiler assumes that only this thread changes memory
// behind a restricted pointer, and would read it once, before the barrier. A kernel that starts while another may still
// write to its inputs has no restricted pointers at all: its loads must stay behind griddepcontrol.wait.
static const char *param(cu *cx, const ir_func *f, const ir_var *v)
{
    const char *name = cu_var_name(cx, v);
    if (v->type->kind != IR_TENSOR)
        return cu_declarator(cx, v->type, name);
    bool is_kernel = f->kind == IR_KERNEL;
    bool reads_only = is_kernel && !cx->vars[v->id].is_written;
    bool is_restricted = !f->dependent_launch && (reads_only || (is_kernel && !cu_orders_memory(cx, f)));
    const ir_type *type = reads_only ? ir_const_of(cx->m, v->type) : v->type;
    return cu_declarator(cx, type, is_restricted ? cu_format(cx, "__restrict__ %s", name) : name);
}

static bool has_tensor(const ir_func *f)
{
    for (size_t i = 0; i < f->params.len; i++)
        if (f->params.at[i]->type->kind == IR_TENSOR)
            return true;
    return false;
}

// The parameters as lines: a tensor and its shape on one, the rest together on the last.
static void add_lines(cu *cx, const ir_func *f, str_buf *out, const char *more)
{
    size_t width = 0;
    for (size_t i = 0; i < f->params.len; i++) {
        size_t len = strlen(param(cx, f, f->params.at[i])) + 1;
        if (f->params.at[i]->type->kind == IR_TENSOR && len > width)
            width = len;
    }
    const char *note = NULL;
    for (size_t i = 0; i < f->params.len + (more != NULL); i++) {
        const ir_var *v = i < f->params.len ? f->params.at[i] : NULL;
        const char *text = v ? param(cx, f, v) : more;
        bool is_tensor = v && v->type->kind == IR_TENSOR, is_last = i + 1 == f->params.len + (more != NULL);
        bool starts_line = i == 0 || is_tensor || note || (!v && f->maps.len);
        str_adds(out, starts_line ? "\n    " : " ");
        note = is_tensor ? cu_shape_comment(cx, v) : NULL;
        str_addf(out, "%s%s", text, is_last ? ")" : ",");
        if (note)
            str_addf(out, "%*s  // %s", (int)(width - strlen(text) - 1), "", note);
    }
}

// Tensor maps are parameters of the kernel alone, behind all others; their address is what instructions take.
static const char *map_params(cu *cx, const ir_func *f)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->maps.len; i++) {
        cu_use(cx, "tensor_map");
        str_addf(&out, "%sconst __grid_constant__ tensor_map %s", i ? ",\n    " : "", cu_declare(cx, f->maps.at[i]));
    }
    return str_text(&out);
}

// One line, or one for each tensor with its shape beside it. [more]: further parameters, or NULL.
void cu_params(cu *cx, const ir_func *f, str_buf *out, const char *more)
{
    for (size_t i = 0; i < f->params.len; i++)
        cu_declare(cx, f->params.at[i]);
    if (f->maps.len)
        more = map_params(cx, f);
    if (has_tensor(f)) {
        add_lines(cx, f, out, more);
        return;
    }
    for (size_t i = 0; i < f->params.len; i++)
        str_addf(out, "%s%s", i ? ", " : "", param(cx, f, f->params.at[i]));
    if (more)
        str_addf(out, "%s%s", f->params.len ? ", " : "", more);
    str_addc(out, ')');
}

// __launch_bounds__(256, 2)
static void add_bounds(const cu_kernel_info *info, str_buf *out)
{
    if (info->max_threads)
        str_addf(out, "__launch_bounds__(%lld", (long long)info->max_threads);
    if (info->max_threads && info->min_blocks)
        str_addf(out, ", %lld", (long long)info->min_blocks);
    if (info->max_threads)
        str_adds(out, ") ");
    const int64_t *c = info->cluster;
    if (c[0])
        str_addf(out, "__cluster_dims__(%lld, %lld, %lld) ", (long long)c[0], (long long)c[1], (long long)c[2]);
}

static const bool *written_parameters(cu *cx, const ir_func *f)
{
    bool *writes = ARENA_ARRAY(cx->lasting, bool, f->params.len);
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        bool is_tensor = v->type->kind == IR_TENSOR;
        writes[i] = is_tensor ? cx->vars[v->id].is_written : v->type->kind == IR_POINTER && !v->type->is_const;
    }
    return writes;
}

typedef struct setting {
    cu *cx;
    bool is_found;
} setting;

static void look_for_setter(setting *s, const ir_func *f);

static void look_in_expr(void *user, ir_expr *e)
{
    if (e->op == IR_OP_CALL)
        look_for_setter(user, e->u.func);
}

static void look_in_stmt(void *user, ir_stmt *stmt)
{
    setting *s = user;
    ir_walk_stmt_exprs(s->cx->m, stmt, look_in_expr, s);
}

static void look_for_setter(setting *s, const ir_func *f)
{
    s->is_found |= map_get_ptr(&s->cx->setters, f) != NULL;
    if (!s->is_found)
        ir_walk((ir_block *)&f->body, look_in_stmt, s);
}

// Whether the kernel, or a function that it calls, has a setmaxnreg.
static bool sets_registers(cu *cx, const ir_func *f)
{
    setting s = {.cx = cx};
    if (cx->setters.len)
        look_for_setter(&s, f);
    return s.is_found;
}

static cu_kernel_info kernel_info(cu *cx, const ir_func *f)
{
    int64_t block[3], cluster[3];
    cu_kernel_info info = {.func = f,
                           .symbol = cu_func_name(cx, f),
                           .static_smem_bytes = f->static_smem_bytes,
                           .dynamic_smem_bytes = f->pool_bytes,
                           .min_blocks = f->min_blocks,
                           .writes = written_parameters(cx, f)};
    if (cu_const_dims(f->block, block))
        info.max_threads = block[0] * block[1] * block[2];
    // ptxas ignores setmaxnreg where the registers at entry do not follow from the bounds.
    if (info.max_threads && !info.min_blocks && sets_registers(cx, f))
        info.min_blocks = 1;
    bool has_cluster = f->cluster[0] && cu_const_dims(f->cluster, cluster);
    if (has_cluster && cluster[0] * cluster[1] * cluster[2] > 1)
        memcpy(info.cluster, cluster, sizeof cluster);
    return info;
}

static void add_head(cu *cx, const ir_func *f, str_buf *out)
{
    const char *result = cu_type(cx, f->result), *name = cu_func_name(cx, f);
    const char *gap = result[strlen(result) - 1] == '*' ? "" : " ";
    if (f->kind == IR_KERNEL) {
        cu_kernel_info info = kernel_info(cx, f);
        str_adds(out, "extern \"C\" __global__ void ");
        add_bounds(&info, out);
        str_addf(out, "%s(", name);
        if (cx->options->kernels)
            VEC_PUSH(cx->m->arena, cx->options->kernels, info);
        return;
    }
    if (f->is_public)
        str_addf(out, "extern \"C\" __device__ %s%s%s(", result, gap, name);
    else
        str_addf(out, "static __device__ __forceinline__ %s%s%s(", result, gap, name);
}

// ---- bodies -----------------------------------------------------------------------------------------------------

void cu_function(cu *cx, ir_func *f)
{
    size_t mark = cu_scope_begin(cx), begin = cx->out->len;
    str_buf head;
    cx->func = f;
    cx->in_host = false;
    cx->prints = false;
    cx->label_count = 0;
    cx->tails = NULL;
    str_buf_init(&head, cx->a);
    add_head(cx, f, &head);
    str_buf params;
    str_buf_init(&params, cx->a);
    cu_params(cx, f, &params, NULL);
    str_addf(&head, "%s", str_text(&params));
    describe(cx, f);
    cu_line(cx, f->span);
    cu_put(cx, "%s", str_text(&head));
    cu_put(cx, "{");
    cx->indent = 1;
    cx->static_pool = cx->dynamic_pool = NULL;
    if (f->kind == IR_KERNEL)
        cu_pools(cx, f);
    cu_block(cx, &f->body);
    if (f->result->kind != IR_VOID && !cu_returns(&f->body))
        cu_put(cx, "__builtin_unreachable();");
    cx->indent = 0;
    cu_put(cx, "}");
    str_addc(cx->out, '\n');
    cu_scope_end(cx, mark);
    if (f->kind == IR_KERNEL && cx->options->kernels) {
        cu_kernel_info *info = &VEC_LAST(cx->options->kernels);
        info->text_begin = begin;
        info->text_end = cx->out->len;
        info->prints = cx->prints;
    }
}

// ---- constant tables --------------------------------------------------------------------------------------------

// Infinity and NaN have no literal that is a constant expression everywhere, so a table with one holds its values'
// bits, and the name stands for a cast of it.
static bool holds_bits(const ir_tensor *t, ir_expr *const *values)
{
    if (!values)
        return false;
    if (!ir_is_scalar(t->elem, DT_F32) && !ir_is_scalar(t->elem, DT_F64))
        return false;
    for (int64_t i = 0; i < t->storage_elems; i++)
        if (values[i]->op == IR_OP_FLOAT && !isfinite(values[i]->u.f))
            return true;
    return false;
}

void cu_name_table(cu *cx, const ir_var *v, ir_expr *const *values)
{
    const char *name = cu_name_global(cx, v->name);
    if (holds_bits(v->tensor, values))
        name = arena_printf(cx->a, "((const %s *)%s)", cu_type(cx, v->tensor->elem), name);
    cx->vars[v->id].name = name;
}

// Values [first, first + count) of sub-byte integers in one byte.
static int packed_byte(const ir_tensor *t, ir_expr *const *values, int64_t first, int count)
{
    int bits = dt_bits(t->elem->scalar), byte = 0;
    for (int k = 0; k < count && first + k < t->storage_elems; k++)
        byte |= (int)(values[first + k]->u.i & ((1 << bits) - 1)) << (k * bits);
    return byte;
}

static const char *table_value(cu *cx, const ir_tensor *t, ir_expr *const *values, int64_t i)
{
    if (cu_is_subbyte(t->elem)) {
        int per_byte = 8 / dt_bits(t->elem->scalar);
        return arena_printf(cx->a, "%d", packed_byte(t, values, i * per_byte, per_byte));
    }
    if (!holds_bits(t, values))
        return cu_as(cx, values[i], t->elem);
    uint64_t bits = dt_from_double(t->elem->scalar, values[i]->u.f);
    return arena_printf(cx->a, "0x%0*llx", dt_bits(t->elem->scalar) / 4, (unsigned long long)bits);
}

static int64_t table_count(const ir_tensor *t)
{
    int per_byte = cu_is_subbyte(t->elem) ? 8 / dt_bits(t->elem->scalar) : 1;
    return (t->storage_elems + per_byte - 1) / per_byte;
}

static void table(cu *cx, const ir_var *v, ir_expr *const *values)
{
    const ir_tensor *t = v->tensor;
    bool as_bits = holds_bits(t, values), is_plain = t->rank == 1 && !cu_is_subbyte(t->elem) && !as_bits;
    const char *where = t->space == IR_CONSTANT ? "__constant__" : "__device__", *elem = cu_elem(cx, t->elem);
    const char *name = cx->vars[v->id].name;
    if (as_bits) {
        elem = dt_bits(t->elem->scalar) == 32 ? "unsigned int" : "unsigned long long";
        const char *at = strchr(name, ')') + 1;
        name = arena_strndup(cx->a, at, strlen(at) - 1);
    }
    str_buf out;
    str_buf_init(&out, cx->a);
    str_addf(&out, "static %s %s%s %s[%lld]", where, v->type->is_const && values ? "const " : "", elem, name,
             (long long)table_count(t));
    size_t line = 0;
    str_adds(&out, values ? " = {" : "");
    for (int64_t i = 0; values && i < table_count(t); i++) {
        const char *value = table_value(cx, t, values, i);
        bool breaks = out.len - line + strlen(value) > 110;
        str_addf(&out, "%s%s%s", i ? "," : "", breaks ? "\n    " : i ? " " : "", value);
        line = breaks ? out.len - strlen(value) - 4 : line;
    }
    str_adds(&out, values ? "};" : ";");
    cu_line(cx, v->span);
    cu_put(cx, "%s%s", str_text(&out), is_plain ? "" : arena_printf(cx->a, "  // %s", cu_shape_comment(cx, v)));
    str_addc(cx->out, '\n');
}

void cu_globals(cu *cx)
{
    for (size_t i = 0; i < cx->m->globals.len; i++)
        if (cx->vars[cx->m->globals.at[i]->id].uses)
            table(cx, cx->m->globals.at[i], cx->m->global_values.at[i]);
}
