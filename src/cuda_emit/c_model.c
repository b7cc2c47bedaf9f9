// Models: graph functions with the weights that they own. What opens, runs and closes one is libhdsrt's; here it is told which
// tensors there are, and how its functions are called.
#include "cuda_emit/c_priv.h"

#include <string.h>

// One model of a file, on its way into C.
typedef struct model {
    cu *cx;
    const cu_c_model *is;
    const cu_c_func *run;
    const char *load;             // in C; NULL: it has nothing to do at load
    const cu_c_tensor **tensors;  // own ones: those that runs read, then others of the load function
    int tensor_count, read_count;
} model;

const cu_c_model *cu_c_model_of(const cu_c_options *o, const ir_func *f)
{
    for (int i = 0; i < o->model_count; i++)
        if (strcmp(o->models[i].run.name, f->name) == 0)
            return &o->models[i];
    return NULL;
}

const char *cu_c_model_body(const cu *cx, const cu_c_func *f)
{
    return arena_printf(cx->a, "hds_model_%s_body", f->name);
}

static bool is_own(const cu_c_tensor *t)
{
    return t->role != CU_C_GIVEN;
}

static bool is_same(const cu_c_tensor *t, const cu_c_tensor *s)
{
    bool weights = t->role == CU_C_WEIGHT;
    return t->role == s->role && strcmp(weights ? t->weight : t->name, weights ? s->weight : s->name) == 0;
}

static int index_of(const model *m, const cu_c_tensor *t)
{
    for (int i = 0; i < m->tensor_count; i++)
        if (is_same(m->tensors[i], t))
            return i;
    return -1;
}

static void add_tensors(model *m, const cu_c_model_part *part)
{
    for (int i = 0; i < part->count; i++)
        if (is_own(&part->tensors[i]) && index_of(m, &part->tensors[i]) < 0)
            m->tensors[m->tensor_count++] = &part->tensors[i];
}

// False: the model's functions are not among those of the file.
static bool begin(model *m, cu *cx, const cu_c_model *is)
{
    const char *prefix = cx->c->options->prefix ? cx->c->options->prefix : "";
    *m = (model){.cx = cx, .is = is, .run = cu_c_func_named(cx, arena_printf(cx->a, "%s%s", prefix, is->run.name))};
    m->tensors = ARENA_ARRAY(cx->a, const cu_c_tensor *, is->run.count + is->load.count + 1);
    m->load = is->load.name ? arena_printf(cx->a, "%s%s", prefix, is->load.name) : NULL;
    add_tensors(m, &is->run);
    m->read_count = m->tensor_count;
    add_tensors(m, &is->load);
    return m->run != NULL;
}

// Parameter [i] of the run function, whose sizes follow its tensors.
static bool is_given(const model *m, size_t i)
{
    return i >= (size_t)m->is->run.count || !is_own(&m->is->run.tensors[i]);
}

static size_t count_given(const model *m, bool tensors)
{
    size_t count = 0;
    for (size_t i = 0; i < m->run->func->params.len; i++)
        count += is_given(m, i) && (i < (size_t)m->is->run.count) == tensors;
    return count;
}

// By parameter of the run function.
static const bool *given_of(const model *m)
{
    bool *given = ARENA_ARRAY(m->cx->a, bool, m->run->func->params.len + 1);
    for (size_t i = 0; i < m->run->func->params.len; i++)
        given[i] = is_given(m, i);
    return given;
}

// ---- what a program calls -----------------------------------------------------------------------------------------

// The parameters of NAME_run and NAME_prepare; names[i] of parameter i, names[len]: of the model.
static const char *run_params(const model *m, const char **names)
{
    cu *cx = m->cx;
    const ir_func *f = m->run->func;
    str_buf own, out;
    str_buf_init(&own, cx->a);
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->params.len; i++) {
        if (!is_given(m, i))
            continue;
        names[i] = cu_declare(cx, f->params.at[i]);
        str_addf(&own, ", %s", cu_c_param(cx, f->params.at[i], names[i], m->run->writes[i], false));
    }
    names[f->params.len] = cu_name_new(cx, "model");
    str_addf(&out, "%s_model *%s%s, hdsrt_stream stream", m->run->name, names[f->params.len], own.len ? str_text(&own) : "");
    return str_text(&out);
}

static const char *const open_params = "const hdsrt_model_options *options";

static void declare(const model *m, const char *text, str_buf *out)
{
    str_addf(out, "%s;\n", cu_c_wrapped(m->cx->a, text));
}

static void describe(const model *m, str_buf *out)
{
    const char *name = m->run->name;
    str_addf(out, "\n// %s with its weights, on the GPU of the context that is current when it is opened: of a safetensors file, or\n"
                  "// of the index of shards, which are not used after opening. It keeps a CUDA graph for each of the last sets of\n"
                  "// sizes and streams; see hdsrt_model_open in <hds/runtime.h>.%s\n%s", name,
                  m->is->weights_symbol ? " NULL: the weights that are in here." : "",
             m->tensor_count ? "//\n" : "");
    for (int i = 0; i < m->tensor_count; i++)
        if (m->tensors[i]->role == CU_C_WEIGHT)
            str_addf(out, "//     %s  %s\n", cu_on_one_line(m->cx->a, m->tensors[i]->weight), m->tensors[i]->type);
    str_addf(out, "%s// %s_run_dlpack takes tensors over DLPack, and compares them with what the model takes.\n"
                  "// %s_prepare records what %s_run will launch. No run may be in flight when the model is closed.\n",
             m->tensor_count ? "//\n" : "", name, name, name);
}

static void declare_model(const model *m, str_buf *out)
{
    arena *a = m->cx->a;
    const char *n = m->run->name, **names = ARENA_ARRAY(a, const char *, m->run->func->params.len + 1);
    size_t mark = cu_scope_begin(m->cx);
    const char *params = run_params(m, names);
    cu_scope_end(m->cx, mark);
    mark = cu_scope_begin(m->cx);
    const char *tensors = cu_c_dlpack_run_params(m->cx, m->run, given_of(m));
    cu_scope_end(m->cx, mark);
    describe(m, out);
    str_addf(out, "typedef struct %s_model %s_model;\n\n", n, n);
    declare(m, arena_printf(a, "hdsrt_status %s_open(const char *weights, %s, %s_model **model)", n, open_params, n), out);
    declare(m, arena_printf(a, "hdsrt_status %s_open_bytes(const void *bytes, size_t count, %s, %s_model **model)", n, open_params, n),
            out);
    declare(m, arena_printf(a, "hdsrt_status %s_run(%s)", n, params), out);
    declare(m, arena_printf(a, "hdsrt_status %s_run_dlpack(%s)", n, tensors), out);
    declare(m, arena_printf(a, "hdsrt_status %s_prepare(%s)", n, params), out);
    declare(m, arena_printf(a, "void %s_close(%s_model *model)", n, n), out);
}

void cu_c_declare_models(cu *cx, str_buf *out)
{
    model m;
    for (int i = 0; i < cx->c->options->model_count; i++)
        if (begin(&m, cx, &cx->c->options->models[i]))
            declare_model(&m, out);
}

// ---- what libhdsrt is told ----------------------------------------------------------------------------------------

static void put_tensor(const cu_c_tensor *t, bool is_read, str_buf *out)
{
    str_adds(out, "    {");
    if (t->role == CU_C_WEIGHT) {
        str_adds(out, ".weight = \"");
        cu_add_literal(out, t->weight);
        str_addf(out, "\", .dtype = \"%s\", .type = \"%s\",\n     ", t->stored_dtype, t->type);
        if (t->rank) {
            str_adds(out, ".shape = (const int64_t[]){");
            for (int d = 0; d < t->rank; d++)
                str_addf(out, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
            str_addf(out, "}, .ndim = %d, ", t->rank);
        }
    }
    str_addf(out, "%s.bytes = %lld},\n", is_read ? ".is_read = true, " : "", (long long)t->bytes);
}

static void put_tensors(const model *m, str_buf *out)
{
    if (!m->tensor_count)
        return;
    str_addf(out, "static const hdsrt_model_tensor hds_model_%s_tensors[] = {\n", m->run->name);
    for (int i = 0; i < m->tensor_count; i++)
        put_tensor(m->tensors[i], i < m->read_count, out);
    str_adds(out, "};\n\n");
}

static void put_load(const model *m, str_buf *out)
{
    if (!m->load)
        return;
    str_addf(out, "static hdsrt_status hds_model_%s_load(void *const *tensors, hdsrt_stream stream)\n{\n", m->run->name);
    str_buf call;
    str_buf_init(&call, m->cx->a);
    str_addf(&call, "    return %s(", m->load);
    for (int i = 0; i < m->is->load.count; i++)
        str_addf(&call, "tensors[%d], ", index_of(m, &m->is->load.tensors[i]));
    str_adds(&call, "stream);");
    str_addf(out, "%s\n}\n\n", cu_c_wrapped(m->cx->a, str_text(&call)));
}

// Words are addresses of tensors and then sizes, each in the order of the parameters.
static void put_run(const model *m, str_buf *out)
{
    const ir_func *f = m->run->func;
    cu *cx = m->cx;
    const char *head = arena_printf(cx->a, "static hdsrt_status hds_model_%s_run(void *const *tensors, const uint64_t *words, "
                                           "hdsrt_stream stream, void *workspace)", m->run->name);
    str_addf(out, "%s\n{\n%s", cu_c_wrapped(cx->a, head), m->tensor_count ? "" : "    (void)tensors;\n");
    str_buf call;
    str_buf_init(&call, cx->a);
    str_addf(&call, "    return %s(", cu_c_model_body(cx, m->run));
    size_t address = 0, size = count_given(m, true);
    for (size_t i = 0; i < f->params.len; i++) {
        if (!is_given(m, i))
            str_addf(&call, "tensors[%d], ", index_of(m, &m->is->run.tensors[i]));
        else if (i < (size_t)m->is->run.count)
            str_addf(&call, "(void *)(uintptr_t)words[%zu], ", address++);
        else
            str_addf(&call, "(%s)words[%zu], ", cu_type(cx, f->params.at[i]->type), size++);
    }
    str_adds(&call, "stream, workspace);");
    str_addf(out, "%s\n}\n\n", cu_c_wrapped(cx->a, str_text(&call)));
}

// The most that it is in one of the units; 0: no unit has planned one.
static int64_t workspace_bytes(cu *const *units, int count, const model *m)
{
    int64_t most = 0;
    for (int u = 0; u < count; u++) {
        const cu_c_func *f = cu_c_func_named(units[u], m->run->name);
        bool is_placed = false;
        for (size_t i = 0; f && i < f->plan->stmts.len; i++)
            is_placed |= f->plan->stmts.at[i].is_placed;
        if (is_placed && f->plan->planned > most)
            most = f->plan->planned;
    }
    return most;
}

static void put_code(cu *const *units, int count, const model *m, str_buf *out)
{
    const char *name = m->run->name;
    str_addf(out, "static const hdsrt_model_code hds_model_%s_code = {\n    .name = \"%s\",\n", name, name);
    if (m->tensor_count)
        str_addf(out, "    .tensors = hds_model_%s_tensors,\n    .tensor_count = %d,\n", name, m->tensor_count);
    str_addf(out, "    .address_count = %zu,\n    .size_count = %zu,\n", count_given(m, true), count_given(m, false));
    int64_t workspace = workspace_bytes(units, count, m);
    if (workspace)
        str_addf(out, "    .workspace_bytes = %lld,\n", (long long)workspace);
    if (m->load)
        str_addf(out, "    .load = hds_model_%s_load,\n", name);
    str_addf(out, "    .run = hds_model_%s_run,\n};\n\n", name);
}

static void put_call(const model *m, const char *what, str_buf *out)
{
    cu *cx = m->cx;
    const ir_func *f = m->run->func;
    const char **names = ARENA_ARRAY(cx->a, const char *, f->params.len + 1);
    size_t mark = cu_scope_begin(cx);
    const char *params = run_params(m, names), *words = cu_name_new(cx, "words");
    str_buf list;
    str_buf_init(&list, cx->a);
    str_addf(&list, "    const uint64_t %s[] = {", words);
    bool is_first = true;
    for (int tensors = 1; tensors >= 0; tensors--)
        for (size_t i = 0; i < f->params.len; i++) {
            if (!is_given(m, i) || (i < (size_t)m->is->run.count) != tensors)
                continue;
            str_addf(&list, "%s%s%s", is_first ? "" : ", ", tensors ? "(uintptr_t)" : "(uint64_t)", names[i]);
            is_first = false;
        }
    str_adds(&list, "};");
    str_addf(out, "%s\n{\n%s\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s_%s(%s)", m->run->name, what, params)),
             str_text(&list));
    str_addf(out, "    return hdsrt_model_%s((hdsrt_model *)%s, %s, stream);\n}\n\n", what, names[f->params.len], words);
    cu_scope_end(cx, mark);
}

// Without a path, the weights that the object has.
static void put_open_embedded(const model *m, str_buf *out)
{
    const char *n = m->run->name, *symbol = m->is->weights_symbol;
    if (symbol)
        str_addf(out, "    if (!weights)\n        return %s_open_bytes(%s, %zu, options, model);\n", n, symbol,
                 m->is->weights_bytes);
}

static void put_open(const model *m, const char *what, const char *params, const char *arguments, str_buf *out)
{
    const char *n = m->run->name;
    const char *head = arena_printf(m->cx->a, "hdsrt_status %s_%s(%s, %s, %s_model **model)", n, what, params, open_params, n);
    str_addf(out, "%s\n{\n", cu_c_wrapped(m->cx->a, head));
    if (strcmp(what, "open") == 0)
        put_open_embedded(m, out);
    str_adds(out, "    hdsrt_model *opened = NULL;\n");
    str_addf(out, "    hdsrt_status status = hdsrt_model_%s(&hds_model_%s_code, %s, options, model ? &opened : NULL);\n", what, n,
             arguments);
    str_addf(out, "    if (model)\n        *model = (%s_model *)opened;\n    return status;\n}\n\n", n);
}

void cu_c_models(cu *const *units, int count, str_buf *out)
{
    cu *cx = units[0];
    model m;
    for (int i = 0; i < cx->c->options->model_count; i++) {
        if (!begin(&m, cx, &cx->c->options->models[i]))
            continue;
        put_tensors(&m, out);
        put_load(&m, out);
        put_run(&m, out);
        put_code(units, count, &m, out);
        if (m.is->weights_symbol)
            str_addf(out, "extern const uint8_t %s[];\n\n", m.is->weights_symbol);
        put_open(&m, "open", "const char *weights", "weights", out);
        put_open(&m, "open_bytes", "const void *bytes, size_t count", "bytes, count", out);
        put_call(&m, "run", out);
        put_call(&m, "prepare", out);
        cu_c_dlpack_run(cx, m.run, given_of(&m), out);
        str_addc(out, '\n');
        str_addf(out, "void %s_close(%s_model *model)\n{\n    hdsrt_model_close((hdsrt_model *)model);\n}\n\n", m.run->name,
                 m.run->name);
    }
}
