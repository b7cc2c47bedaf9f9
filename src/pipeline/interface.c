#include "pipeline/interface.h"

#include <inttypes.h>
#include <string.h>

#include "pipeline/json.h"
#include "cuda_emit/launches.h"
#include "plan/plan.h"

// The language promises it of every tensor parameter that has no strides (lang/reference.md, 10.1).
enum { TENSOR_ALIGNMENT = 16 };

typedef struct describer {
    pl_unit *unit;
    pl_json json;
    const cu_kernel_info *kernel;
    const char **names; // of the parameters, each once
} describer;

// ---- names ------------------------------------------------------------------------------------------------------

static bool is_taken(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

// What a launched function captured may have the name of a parameter: then it is x_1.
static const char **name_parameters(pl_unit *u, const ir_func *f)
{
    char **names = ARENA_ARRAY(&u->memory, char *, f->params.len);
    for (size_t i = 0; i < f->params.len; i++) {
        const char *own = f->params.at[i]->name ? f->params.at[i]->name : "p";
        names[i] = arena_strdup(&u->memory, own);
        for (int n = 1; is_taken(names, i, names[i]); n++)
            names[i] = arena_printf(&u->memory, "%s_%d", own, n);
    }
    return (const char **)names;
}

static const char *name_of(const void *user, const ir_var *v)
{
    const describer *d = user;
    const ir_func *f = d->kernel->func;
    for (size_t i = 0; i < f->params.len; i++) {
        if (f->params.at[i] == v)
            return d->names[i];
    }
    return v->name;
}

// ---- values -----------------------------------------------------------------------------------------------------

// An integer, a text over the parameters, or null: what no caller can compute.
static void expression(describer *d, const char *key, const ir_expr *e)
{
    int64_t known;
    if (ir_const_int(e, &known)) {
        pl_json_integer(&d->json, key, known);
        return;
    }
    str_buf text;
    str_buf_init(&text, &d->unit->memory);
    bool is_known = pl_python_text(e, name_of, d, &text);
    pl_json_text(&d->json, key, is_known ? str_text(&text) : NULL);
}

static void dims(describer *d, const char *key, ir_expr *const extents[3])
{
    if (!extents[0]) {
        pl_json_null(&d->json, key);
        return;
    }
    pl_json_open_line(&d->json, key);
    for (int i = 0; i < 3; i++) {
        if (extents[i])
            expression(d, NULL, extents[i]);
        else
            pl_json_integer(&d->json, NULL, 1);
    }
    pl_json_close(&d->json, ']');
}

// ---- parameters -------------------------------------------------------------------------------------------------

static const char *kind_of(const ir_var *v)
{
    if (v->is_size)
        return "size";
    return v->type->kind == IR_TENSOR ? "tensor" : v->type->kind == IR_POINTER ? "pointer" : "scalar";
}

static const char *type_name(describer *d, const ir_type *t)
{
    if (t->kind == IR_VOID)
        return "void";
    str_buf text;
    str_buf_init(&text, &d->unit->memory);
    ir_type_print(t, &text);
    return str_text(&text);
}

static int alignment_of(const ir_var *v)
{
    int own = v->tensor->align_bytes;
    return own > TENSOR_ALIGNMENT || v->tensor->is_strided ? own : TENSOR_ALIGNMENT;
}

static void describe_strides(describer *d, const ir_tensor *t)
{
    const int64_t *known = ir_layout_strides(t);
    pl_json_open_line(&d->json, "strides");
    for (int i = 0; i < t->rank; i++) {
        if (known)
            pl_json_integer(&d->json, NULL, known[i]);
        else
            expression(d, NULL, t->strides[i]);
    }
    pl_json_close(&d->json, ']');
}

static void describe_tensor(describer *d, const ir_var *v)
{
    pl_json_open_line(&d->json, "shape");
    for (int i = 0; i < v->tensor->rank; i++)
        expression(d, NULL, v->tensor->shape[i]);
    pl_json_close(&d->json, ']');
    if (v->tensor->is_strided || ir_layout_strides(v->tensor))
        describe_strides(d, v->tensor);
    pl_json_integer(&d->json, "alignment", alignment_of(v));
}

// What the declaration says of an integer beyond its type; a size is not negative anyway.
static void describe_facts(describer *d, const ir_var *v)
{
    dtype t = v->type->scalar;
    if (v->type->kind != IR_SCALAR || !dt_is_int(t) || t == DT_U64)
        return;
    if (v->has_range && v->min > (v->is_size ? 0 : dt_min(t)))
        pl_json_integer(&d->json, "min", v->min);
    if (v->has_range && v->max >= 0 && (uint64_t)v->max < dt_max_bits(t))
        pl_json_integer(&d->json, "max", v->max);
    if (v->divisor > 1)
        pl_json_integer(&d->json, "multiple_of", v->divisor);
    if (v->may_be_zero)
        pl_json_bool(&d->json, "may_be_zero", true);
}

static void parameter(describer *d, size_t index)
{
    const ir_var *v = d->kernel->func->params.at[index];
    bool is_scalar = v->type->kind == IR_SCALAR || v->type->kind == IR_VECTOR;
    pl_json_open(&d->json, NULL, '{');
    pl_json_text(&d->json, "name", d->names[index]);
    pl_json_text(&d->json, "kind", kind_of(v));
    pl_json_text(&d->json, "dtype", type_name(d, is_scalar ? v->type : v->type->elem));
    if (v->type->kind == IR_TENSOR)
        describe_tensor(d, v);
    if (!is_scalar)
        pl_json_bool(&d->json, "written", d->kernel->writes[index]);
    if (v->joined) {
        pl_json_integer(&d->json, "joined", v->joined - 1);
        pl_json_integer(&d->json, "group", v->join_group);
    }
    if (v->is_result)
        pl_json_bool(&d->json, "result", true);
    describe_facts(d, v);
    pl_json_close(&d->json, '}');
}

// ---- assumptions ------------------------------------------------------------------------------------------------

typedef struct search {
    const ir_func *func;
    bool finds_other;  // than parameters
} search;

static void look(void *user, ir_expr *e)
{
    search *s = user;
    bool is_parameter = e->op != IR_OP_VAR;
    for (size_t i = 0; i < s->func->params.len && !is_parameter; i++)
        is_parameter = s->func->params.at[i] == e->u.var;
    s->finds_other |= !is_parameter;
}

static void assumption(describer *d, ir_expr *e)
{
    search s = {.func = d->kernel->func};
    str_buf text;
    str_buf_init(&text, &d->unit->memory);
    ir_walk_expr(d->unit->module, e, look, &s);
    if (!s.finds_other && pl_python_text(e, name_of, d, &text))
        pl_json_text(&d->json, NULL, str_text(&text));
}

// What the kernel takes for granted of its parameters, before it does anything.
static void assumptions(describer *d)
{
    const ir_block *body = &d->kernel->func->body;
    pl_json_open_line(&d->json, "assumptions");
    for (size_t i = 0; i < body->stmts.len; i++) {
        const ir_stmt *s = body->stmts.at[i];
        if (s->kind == IR_ASSUME)
            assumption(d, s->value);
        else if (s->kind != IR_DECL && s->kind != IR_ALLOC && s->kind != IR_COMMENT)
            break;
    }
    pl_json_close(&d->json, ']');
}

// ---- tensor maps ------------------------------------------------------------------------------------------------

static void per_axis(describer *d, const char *key, const ir_tensor_map *of, const int *numbers)
{
    pl_json_open_line(&d->json, key);
    for (int i = 0; i < of->tensor->tensor->rank - 2; i++)
        pl_json_integer(&d->json, NULL, numbers[i]);
    pl_json_close(&d->json, ']');
}

static void tensor_map(describer *d, const ir_var *v)
{
    const ir_tensor_map *of = v->map;
    pl_json_open(&d->json, NULL, '{');
    pl_json_text(&d->json, "name", v->name);
    pl_json_text(&d->json, "tensor", name_of(d, of->tensor));
    pl_json_open_line(&d->json, "box");
    for (int i = 0; i < of->tensor->tensor->rank; i++)
        pl_json_integer(&d->json, NULL, of->box[i]);
    pl_json_close(&d->json, ']');
    if (of->is_im2col) {
        pl_json_open(&d->json, "im2col", '{');
        per_axis(d, "lower", of, of->lower);
        per_axis(d, "upper", of, of->upper);
        per_axis(d, "steps", of, of->step);
        pl_json_close(&d->json, '}');
    }
    pl_json_integer(&d->json, "swizzle", of->swizzle);
    pl_json_integer(&d->json, "l2_promotion", of->l2_promotion);
    pl_json_close(&d->json, '}');
}

// ---- kernels ----------------------------------------------------------------------------------------------------

static void dynamic_bytes(describer *d)
{
    static const char key[] = "dynamic_shared_bytes";
    const ir_expr *wish = d->kernel->func->dynamic_smem_bytes;
    int64_t pool = d->kernel->dynamic_smem_bytes, known = 0;
    if (!wish || ir_const_int(wish, &known)) {
        pl_json_integer(&d->json, key, pool + known);
        return;
    }
    ir_module *m = d->unit->module;
    ir_expr *sum = ir_cast(m, (ir_expr *)wish, ir_scalar(m, DT_I64), wish->span);
    expression(d, key, pool ? ir_binary(m, IR_OP_ADD, sum, ir_int(m, DT_I64, pool), wish->span) : sum);
}

static void launch(describer *d)
{
    const ir_func *f = d->kernel->func;
    pl_json_open(&d->json, "tensor_maps", '[');
    for (size_t i = 0; i < f->maps.len; i++)
        tensor_map(d, f->maps.at[i]);
    pl_json_close(&d->json, ']');
    dims(d, "grid", f->grid);
    dims(d, "block", f->block);
    dims(d, "cluster", f->cluster);
    if (d->kernel->min_blocks)
        pl_json_integer(&d->json, "min_blocks", d->kernel->min_blocks);
    else
        pl_json_null(&d->json, "min_blocks");
    pl_json_bool(&d->json, "dependent_launch", f->dependent_launch);
    pl_json_integer(&d->json, "static_shared_bytes", d->kernel->static_smem_bytes);
    dynamic_bytes(d);
}

static void kernel(describer *d, const cu_kernel_info *info)
{
    const ir_func *f = info->func;
    d->kernel = info;
    d->names = name_parameters(d->unit, f);
    pl_json_open(&d->json, NULL, '{');
    pl_json_text(&d->json, "name", info->symbol);
    pl_json_text(&d->json, "title", f->title ? f->title : f->name);
    pl_json_text(&d->json, "doc", f->doc);
    pl_json_open(&d->json, "parameters", '[');
    for (size_t i = 0; i < f->params.len; i++)
        parameter(d, i);
    pl_json_close(&d->json, ']');
    assumptions(d);
    launch(d);
    pl_json_close(&d->json, '}');
}

// ---- host functions ---------------------------------------------------------------------------------------------

// The author's line, and what is there that a plan cannot say.
static const char *refusal_text(const pl_unit *u, const plan_refusal *why)
{
    src_location location = src_location_of(&u->sources, why->span.begin);
    arena *a = u->module->arena;
    return location.file
               ? arena_printf(a, "%s:%u:%u: %s", location.file->name, location.line, location.column, why->what)
               : why->what;
}

static void plan_lines(describer *d, const plan *p)
{
    pl_json_open(&d->json, "plan", '{');
    pl_json_integer(&d->json, "version", PLAN_VERSION);
    pl_json_open(&d->json, "lines", '[');
    for (size_t i = 0; i < plan_line_count(p); i++) {
        str_buf line;
        str_buf_init(&line, &d->unit->memory);
        plan_print_line(p, i, &line);
        pl_json_text(&d->json, NULL, str_text(&line));
    }
    pl_json_close(&d->json, ']');
    pl_json_close(&d->json, '}');
}

static void function(describer *d, const ir_func *f)
{
    pl_unit *u = d->unit;
    const plan_kernels kernels = cu_plan_kernels(&u->kernels);
    bool *writes = ARENA_ARRAY(&u->memory, bool, f->params.len + 1);
    const cu_kernel_info as_kernel = {.func = f, .symbol = f->name, .writes = writes};
    plan_refusal why;
    plan p;
    bool has_plan = plan_lower(&u->memory, u->module, f, &kernels, &p, writes, &why);
    d->kernel = &as_kernel;
    d->names = name_parameters(u, f);
    pl_json_open(&d->json, NULL, '{');
    pl_json_text(&d->json, "name", f->name);
    pl_json_text(&d->json, "title", f->title ? f->title : f->name);
    pl_json_text(&d->json, "doc", f->doc);
    if (f->operator)
        pl_json_text(&d->json, "operator", f->operator);
    if (f->is_strided)
        pl_json_bool(&d->json, "strided", true);
    pl_json_open(&d->json, "parameters", '[');
    for (size_t i = 0; i < f->params.len; i++)
        parameter(d, i);
    pl_json_close(&d->json, ']');
    if (has_plan)
        plan_lines(d, &p);
    else
        pl_json_text(&d->json, "refused", refusal_text(u, &why));
    pl_json_close(&d->json, '}');
}

static void functions(describer *d)
{
    const ir_module *m = d->unit->module;
    pl_json_open(&d->json, "functions", '[');
    for (size_t i = 0; i < m->funcs.len; i++) {
        if (m->funcs.at[i]->kind == IR_HOST_FUNC && m->funcs.at[i]->is_public)
            function(d, m->funcs.at[i]);
    }
    pl_json_close(&d->json, ']');
}

// What the parameters of a model's functions are for.
static void model_function(describer *d, const char *key, const fg_function *f)
{
    pl_json_open(&d->json, key, '{');
    pl_json_text(&d->json, "function", f->name);
    pl_json_open(&d->json, "parameters", '[');
    for (size_t i = 0; i < f->parameters.len; i++) {
        const fg_parameter *p = &f->parameters.at[i];
        pl_json_open(&d->json, NULL, '{');
        pl_json_text(&d->json, "name", p->tensor->name);
        pl_json_text(&d->json, "role", fg_role_name(p->role));
        if (p->role == FG_WEIGHT) {
            pl_json_text(&d->json, "weight", p->tensor->weight);
            pl_json_text(&d->json, "file", *p->tensor->weight_file ? p->tensor->weight_file : NULL);
        }
        pl_json_close(&d->json, '}');
    }
    pl_json_close(&d->json, ']');
    pl_json_close(&d->json, '}');
}

// Files without graph functions have none.
static void models(describer *d)
{
    const pl_unit *u = d->unit;
    if (u->models.len)
        pl_json_open(&d->json, "models", '[');
    for (size_t i = 0; i < u->models.len; i++) {
        const fg_model *m = &u->models.at[i];
        pl_json_open(&d->json, NULL, '{');
        if (m->load.name)
            model_function(d, "load", &m->load);
        else
            pl_json_null(&d->json, "load");
        model_function(d, "run", &m->run);
        pl_json_close(&d->json, '}');
    }
    if (u->models.len)
        pl_json_close(&d->json, ']');
}

// How good the layout of its temporaries is.
static void add_peak(const plan *p, str_buf *out)
{
    if (p->planned >= 0)
        str_addf(out, "# workspace of %s: %" PRId64 " bytes, and no layout has less than %" PRId64 "\n", p->name, p->planned, p->bound);
}

str pl_plan_text(pl_unit *u)
{
    const plan_kernels kernels = cu_plan_kernels(&u->kernels);
    str_buf out;
    str_buf_init(&out, &u->memory);
    for (size_t i = 0; i < u->module->funcs.len; i++) {
        const ir_func *f = u->module->funcs.at[i];
        bool *writes = ARENA_ARRAY(&u->memory, bool, f->params.len + 1);
        plan_refusal why;
        plan p;
        if (f->kind != IR_HOST_FUNC || !f->is_public)
            continue;
        str_adds(&out, out.len ? "\n" : "");
        if (!plan_lower(&u->memory, u->module, f, &kernels, &p, writes, &why)) {
            str_addf(&out, "# %s has no plan: %s\n", f->name, refusal_text(u, &why));
            continue;
        }
        plan_print(&p, &out);
        add_peak(&p, &out);
    }
    return (str){str_text(&out), out.len};
}

str pl_interface(pl_unit *u)
{
    describer d = {.unit = u};
    str_buf out;
    str_buf_init(&out, &u->memory);
    pl_json_init(&d.json, &out);
    pl_json_open(&d.json, NULL, '{');
    pl_json_text(&d.json, "compiler", "hdsc " HDS_VERSION);
    pl_json_text(&d.json, "arch", u->arch->name);
    pl_json_text(&d.json, "source", u->input_name);
    pl_json_open(&d.json, "kernels", '[');
    for (size_t i = 0; i < u->kernels.len; i++) {
        if (u->kernels.at[i].func->is_public)
            kernel(&d, &u->kernels.at[i]);
    }
    pl_json_close(&d.json, ']');
    functions(&d);
    models(&d);
    pl_json_close(&d.json, '}');
    str_addc(&out, '\n');
    return (str){str_text(&out), out.len};
}
