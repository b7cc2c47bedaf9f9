// The comment above an entry of the header: its purpose, its parameters, its memory use.
#include "cuda_emit/c_priv.h"

#include <string.h>

static void add_doc(const char *text, str_buf *out)
{
    while (*text == '\n' || *text == ' ')
        text++;
    size_t total = strlen(text);
    while (total && (text[total - 1] == '\n' || text[total - 1] == ' '))
        total--;
    for (const char *at = text, *stop = text + total; at < stop;) {
        const char *end = memchr(at, '\n', (size_t)(stop - at)), *until = end ? end : stop;
        // A backslash at the end would draw the next line into the comment.
        const char *tail = until > at && until[-1] == '\\' ? "." : "";
        str_addf(out, "//%s%.*s%s\n", until > at ? " " : "", (int)(until - at), at, tail);
        at = end ? end + 1 : stop;
    }
}

// An expression, as the author wrote it.
static const char *said(cu *cx, const ir_expr *e, cu_prec prec)
{
    cx->in_comment = true;
    const char *text = cu_at(cx, e, prec);
    cx->in_comment = false;
    return text;
}

static const char *type_text(cu *cx, const ir_type *t)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    ir_type_print(t, &out);
    return str_text(&out);
}

// ---- parameters -------------------------------------------------------------------------------------------------

static void add_tensor(cu *cx, const cu_c_func *f, size_t i, str_buf *out)
{
    const ir_var *v = f->func->params.at[i];
    int align = cu_c_alignment(v);
    str_addf(out, "%s, %s", cu_shape_comment(cx, v), f->writes[i] ? "written" : "read");
    if (align != 16)
        str_addf(out, ", at a multiple of %d", align);
}

static void add_scalar(cu *cx, const ir_func *f, const ir_var *v, str_buf *out)
{
    const ir_type *t = v->type;
    int tensor, axis;
    bool is_extent = cu_c_is_deduced(f, v, &tensor, &axis);
    bool is_int = ir_is_integer(t);
    str_adds(out, type_text(cx, t));
    if (t->kind == IR_SCALAR && cu_is_struct(t->scalar) && t->scalar != DT_C64)
        str_adds(out, ", as its bits");
    if (is_int && v->has_range && v->min > dt_min(t->scalar) && !(is_extent && v->min == 0))
        str_addf(out, ", at least %lld", (long long)v->min);
    if (is_int && v->has_range && v->max >= 0 && (uint64_t)v->max < dt_max_bits(t->scalar))
        str_addf(out, ", at most %lld", (long long)v->max);
    if (is_int && v->divisor > 1)
        str_addf(out, ", a multiple of %lld", (long long)v->divisor);
}

static void add_params(cu *cx, const cu_c_func *f, str_buf *out)
{
    size_t width = 0;
    for (size_t i = 0; i < f->func->params.len; i++) {
        size_t len = strlen(cu_var_name(cx, f->func->params.at[i]));
        width = len > width ? len : width;
    }
    if (f->func->params.len)
        str_adds(out, "//\n");
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        str_addf(out, "//     %-*s  ", (int)width, cu_var_name(cx, v));
        if (v->type->kind == IR_TENSOR)
            add_tensor(cx, f, i, out);
        else if (v->type->kind == IR_POINTER)
            str_addf(out, "the address of %s on the GPU", type_text(cx, v->type->elem));
        else
            add_scalar(cx, f->func, v, out);
        str_addc(out, '\n');
    }
}

static void add_assumptions(cu *cx, const ir_func *f, str_buf *out)
{
    ir_expr *e;
    bool is_first = true;
    for (size_t next = 0; (e = cu_c_assumption(cx, f, &next));) {
        str_addf(out, "%s %s", is_first ? "//\n// Assumes:" : ",", said(cx, e, CU_ASSIGN));
        is_first = false;
    }
    if (!is_first)
        str_addc(out, '\n');
}

// ---- launches ---------------------------------------------------------------------------------------------------

static const char *dims(cu *cx, ir_expr *const d[3])
{
    int64_t known;
    int rank = 3;
    while (rank > 1 && (!d[rank - 1] || (ir_const_int(d[rank - 1], &known) && known == 1)))
        rank--;
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < rank; i++)
        str_addf(&out, "%s%s", i ? " x " : "", said(cx, d[i], rank > 1 ? CU_POSTFIX : CU_ASSIGN));
    return str_text(&out);
}

static void add_launch(cu *cx, const cu_c_func *f, str_buf *out)
{
    const ir_func *k = f->func;
    str_addf(out, "//\n// Grid: %s; block: %s", dims(cx, k->grid), dims(cx, k->block));
    if (k->cluster[0])
        str_addf(out, "; cluster: %s", dims(cx, k->cluster));
    const ir_expr *wish = k->dynamic_smem_bytes;
    int64_t pool = f->kernel->dynamic_smem_bytes;
    if (wish && pool)
        str_addf(out, "; dynamic shared memory: %lld + %s bytes", (long long)pool, said(cx, wish, CU_ADD));
    else if (wish)
        str_addf(out, "; dynamic shared memory: %s bytes", said(cx, wish, CU_ASSIGN));
    else if (pool)
        str_addf(out, "; dynamic shared memory: %lld bytes", (long long)pool);
    str_adds(out, k->dependent_launch
                      ? "\n// May start before the previous kernel of the stream ends (PDL), and waits for it.\n"
                      : "\n");
}

// ---- memory of host functions -----------------------------------------------------------------------------------

static const char *workspace_text(cu_c_plan *values)
{
    values->cx->in_comment = true;
    const char *text = cu_at(values->cx, cu_c_plan_expr(values, values->plan->workspace), CU_ASSIGN);
    values->cx->in_comment = false;
    return text;
}

static void add_workspace(cu *cx, const cu_c_func *f, str_buf *out)
{
    const plan *p = f->plan;
    bool allocates = false, checks = false;
    for (size_t i = 0; i < p->stmts.len; i++) {
        allocates |= p->stmts.at[i].kind == PLAN_ALLOCATE;
        checks |= p->stmts.at[i].kind == PLAN_CHECK;
    }
    cu_c_plan values;
    cu_c_plan_begin(&values, cx, f);
    if (allocates && p->planned >= 0)
        str_addf(out, "//\n// Workspace: %lld bytes on the GPU\n", (long long)p->planned);
    else if (allocates && p->workspace >= 0)
        str_addf(out, "//\n// Workspace: at most %s bytes on the GPU\n", workspace_text(&values));
    else if (allocates)
        str_adds(out, "//\n// Workspace on the GPU: as much as shows while it runs\n");
    if (checks)
        str_adds(out, "// Fails with HDSRT_ASSERTION where an assert of it does not hold.\n");
}

// ---- all of it --------------------------------------------------------------------------------------------------

void cu_c_describe(cu *cx, const cu_c_func *f, str_buf *out)
{
    const ir_func *func = f->func;
    cx->c->at = f;
    str_addf(out, "// %s\n", func->title ? func->title : func->name);
    if (func->doc && *func->doc) {
        str_adds(out, "//\n");
        add_doc(func->doc, out);
    }
    add_params(cx, f, out);
    if (func->kind == IR_KERNEL) {
        add_assumptions(cx, func, out);
        add_launch(cx, f, out);
    } else if (func->result->kind == IR_VOID) {
        add_workspace(cx, f, out);
    }
}
