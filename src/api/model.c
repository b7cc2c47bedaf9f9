// Models: weights bound by name, what is prepared from them, and runs by libhdsrt's cache of CUDA graphs.

#include <stdlib.h>
#include <string.h>

#include <hds/model.h>

#include "api/api_priv.h"
#include "base/file.h"
#include "pipeline/onnx_input.h"
#include "pipeline/weights.h"
#include "weights/weights.h"

enum { MOST_NAMED = 8 };

struct hds_model {
    hds_program *program;
    arena memory;
    arena_oom oom;
    const jit_model *parts;
    const hds_kernel *load, *run; // load: NULL if there is none
    wt_file *file;
    bool simulates;
    unsigned long long context; // of a GPU, whose memory it has
    hdsrt_graph_cache *graphs; // NULL: kernels are launched one by one
    hds_argument *bound; // by parameter of [run]: weights and what was prepared
    int *given;          // the numbers of its other parameters, in their order
    size_t given_count;
    void **owned; // memory of this model
    size_t owned_count;
    int64_t weight_bytes;
};

// ---- memory ----------------------------------------------------------------------------------------------------

static hds_status take(hds_model *m, int64_t bytes, void **out)
{
    *out = NULL;
    hdsrt_status status = HDSRT_OK;
    if (m->simulates)
        *out = calloc(1, bytes ? (size_t)bytes : 1);
    else
        status = hdsrt_allocate(out, bytes ? bytes : 1, NULL);
    if (status)
        return api_fail_runtime(status);
    if (!*out)
        return api_no_memory();
    m->owned[m->owned_count++] = *out;
    m->weight_bytes += bytes;
    return HDS_OK;
}

static void give_back(const hds_model *m, void *memory)
{
    if (m->simulates)
        free(memory);
    else
        hdsrt_release(memory, NULL);
}

// ---- the weights -----------------------------------------------------------------------------------------------

static hds_status open_file(hds_model *m, const hds_model_options *o)
{
    uint64_t seed;
    const char *compiled = m->run->core->request.options.weights, *why = NULL;
    const char *path = o->weights || pl_weights_are_random(compiled, &seed) ? o->weights : compiled;
    bool reads = false;
    const jit_model_function *const both[] = {&m->parts->load, &m->parts->run};
    for (int k = 0; k < 2; k++)
        for (int i = 0; both[k]->function && i < both[k]->count; i++) {
            const jit_role_of *r = &both[k]->roles[i];
            reads |= r->role == JIT_WEIGHT;
            if (r->role == JIT_WEIGHT && !path && r->file)
                path = file_join(&m->memory, file_folder(&m->memory, m->run->core->request.name), r->file);
        }
    if (!reads)
        return HDS_OK;
    if (!path)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s': the model names no file of weights, and options->weights is NULL",
                        m->run->jit->launch.name);
    m->file = pl_open_weights(&m->memory, path, &why);
    return m->file ? HDS_OK : api_fail(HDS_INVALID_ARGUMENT, "'%s': %s", path, why);
}

// Extents of weights are known while compiling: their texts are numbers.
static bool is_weight_of(const wt_entry *e, const jit_parameter *p)
{
    bool same = e->dtype && strcmp(e->dtype, p->shown.dtype) == 0 && e->rank == p->shown.ndim;
    for (int d = 0; d < e->rank && same; d++)
        same = strtoll(p->shown.shape[d], NULL, 10) == e->shape[d];
    return same;
}

// NULL: all weights are there; else a text that lists those that are not.
static const char *find_faults(hds_model *m, const jit_model_function *f)
{
    str_buf out;
    str_buf_init(&out, &m->memory);
    int faults = 0;
    for (int i = 0; f->function && i < f->count; i++) {
        const jit_role_of *r = &f->roles[i];
        const wt_entry *e = r->role == JIT_WEIGHT ? wt_find(m->file, r->weight) : NULL;
        const jit_parameter *p = &f->function->entry.parameters[i];
        if (r->role != JIT_WEIGHT || (e && is_weight_of(e, p)))
            continue;
        if (faults++ < MOST_NAMED) {
            str_addf(&out, "%s'%s' %s %s[", faults > 1 ? "; " : "", r->weight, e ? "is no" : "is missing, a",
                     p->shown.dtype);
            for (int d = 0; d < p->shown.ndim; d++)
                str_addf(&out, "%s%s", d ? ", " : "", p->shown.shape[d]);
            str_adds(&out, "]");
        }
    }
    if (faults > MOST_NAMED)
        str_addf(&out, "; and %d more", faults - MOST_NAMED);
    return faults ? str_text(&out) : NULL;
}

static hds_status check_weights(hds_model *m)
{
    const char *why = find_faults(m, &m->parts->load);
    why = why ? why : find_faults(m, &m->parts->run);
    return why ? api_fail(HDS_INVALID_ARGUMENT, "'%s': %s", m->file->path, why) : HDS_OK;
}

static hds_status bind_weight(hds_model *m, const char *name, hds_argument *out)
{
    const wt_entry *e = wt_find(m->file, name);
    const char *why = NULL;
    void *memory;
    const uint8_t *bytes = wt_bytes(m->file, e, &why);
    if (!bytes)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s': %s", m->file->path, why);
    hds_status status = take(m, e->bytes, &memory);
    if (status)
        return status;
    *out = hds_pointer(memory);
    if (m->simulates) {
        memcpy(memory, bytes, (size_t)e->bytes);
        return HDS_OK;
    }
    hdsrt_status copied = e->bytes ? hdsrt_copy(memory, bytes, e->bytes, NULL) : HDSRT_OK;
    return copied ? api_fail_runtime(copied) : HDS_OK;
}

static hds_status take_prepared(hds_model *m, const hds_kernel *f, int index, hds_argument *out)
{
    const jit_parameter *p = &f->jit->parameters[index];
    int64_t bits = p->type == DT_NONE ? 64 : dt_bits(p->type);
    for (int d = 0; d < p->shown.ndim; d++)
        bits *= strtoll(p->shown.shape[d], NULL, 10);
    void *memory;
    hds_status status = take(m, (bits + 7) / 8, &memory);
    *out = hds_pointer(memory);
    return status;
}

// ---- what runs at load -----------------------------------------------------------------------------------------

static hds_status call_load(hds_model *m, const hds_argument *arguments)
{
    size_t count = (size_t)m->parts->load.count;
    if (m->simulates)
        return hds_simulate(m->load, arguments, count, NULL);
    hds_status status = hds_launch(m->load, arguments, count, NULL);
    hdsrt_status waited = status ? HDSRT_OK : hdsrt_synchronize(NULL);
    return waited ? api_fail_runtime(waited) : status;
}

// The load function's arguments; those that the run function has, too, are bound there.
static hds_status bind_load(hds_model *m)
{
    const jit_model_function *load = &m->parts->load, *run = &m->parts->run;
    hds_argument *arguments = ARENA_ARRAY(&m->memory, hds_argument, load->count + 1);
    hds_status status = HDS_OK;
    for (int i = 0; i < load->count && !status; i++) {
        bool is_weight = load->roles[i].role == JIT_WEIGHT;
        status = is_weight ? bind_weight(m, load->roles[i].weight, &arguments[i])
                           : take_prepared(m, m->load, i, &arguments[i]);
        for (int k = 0; k < run->count; k++) {
            bool same = run->roles[k].role == load->roles[i].role &&
                        strcmp(is_weight ? run->roles[k].weight : run->roles[k].name,
                               is_weight ? load->roles[i].weight : load->roles[i].name) == 0;
            if (same && (is_weight || run->roles[k].role == JIT_PREPARED))
                m->bound[k] = arguments[i];
        }
    }
    return status ? status : call_load(m, arguments);
}

// Weights that the load function does not read. A run may be on any stream: all copies are done before one.
static hds_status bind_run(hds_model *m)
{
    const jit_model_function *run = &m->parts->run;
    hds_status status = HDS_OK;
    bool copies = false;
    for (int i = 0; i < run->count && !status; i++)
        if (run->roles[i].role == JIT_WEIGHT && !m->bound[i].value.pointer) {
            status = bind_weight(m, run->roles[i].weight, &m->bound[i]);
            copies = !m->simulates;
        }
    hdsrt_status waited = copies && !status ? hdsrt_synchronize(NULL) : HDSRT_OK;
    return waited ? api_fail_runtime(waited) : status;
}

// Bytes that temporaries of a run need at one time; -1: sizes of the run tell.
static int64_t workspace_of(const hds_model *m)
{
    const plan *p = &m->parts->run.function->plan;
    bool allocates = false;
    for (size_t i = 0; i < p->stmts.len; i++)
        allocates |= p->stmts.at[i].kind == PLAN_ALLOCATE;
    return allocates ? p->planned : 0;
}

// ---- opening ---------------------------------------------------------------------------------------------------

static const jit_model *find_model(const jit_program *p, const char *name)
{
    const jit_model *found = NULL;
    for (int i = 0; i < p->model_count; i++) {
        bool is_named = name && strcmp(p->models[i].run.function->entry.launch.symbol, name) == 0;
        if (is_named || (!name && p->model_count == 1))
            found = &p->models[i];
    }
    return found;
}

static hds_status find_parts(hds_model *m, const hds_model_options *o)
{
    const hds_kernel *first = hds_program_function_at(m->program, 0);
    m->parts = first ? find_model(&first->core->jit, o->graph) : NULL;
    if (!m->parts)
        return api_fail(HDS_INVALID_ARGUMENT,
                        o->graph ? "the program has no graph function '%s'"
                                 : "the program has not one graph function%s",
                        o->graph ? o->graph : "");
    m->run = hds_program_function(m->program, m->parts->run.function->entry.launch.symbol);
    if (m->parts->load.function)
        m->load = hds_program_function(m->program, m->parts->load.function->entry.launch.symbol);
    const jit_model_function *run = &m->parts->run;
    m->bound = ARENA_ARRAY(&m->memory, hds_argument, m->run->jit->count + 1);
    m->given = ARENA_ARRAY(&m->memory, int, m->run->jit->count + 1);
    m->owned = ARENA_ARRAY(&m->memory, void *, run->count + m->parts->load.count + 1);
    for (int i = 0; i < m->run->jit->count; i++) {
        bool is_bound = i < run->count && (run->roles[i].role == JIT_WEIGHT || run->roles[i].role == JIT_PREPARED);
        m->bound[i] = hds_pointer(NULL);
        if (!is_bound)
            m->given[m->given_count++] = i;
    }
    return HDS_OK;
}

static hds_status make_graphs(hds_model *m, const hds_model_options *o)
{
    size_t sizes = (size_t)m->run->jit->size_count;
    if (o->no_graphs || m->simulates)
        return HDS_OK;
    hdsrt_status status = hdsrt_graph_cache_new(&m->graphs, o->graphs, m->given_count - sizes, sizes, workspace_of(m));
    return status ? api_fail_runtime(status) : HDS_OK;
}

static hds_status find_context(hds_model *m)
{
    hdsrt_status status = m->simulates ? HDSRT_OK : hdsrt_current_context(&m->context);
    return status ? api_fail_runtime(status) : HDS_OK;
}

static hds_status fill(hds_model *m, const hds_model_options *o)
{
    hds_status status = find_parts(m, o);
    status = status ? status : open_file(m, o);
    status = status ? status : check_weights(m);
    status = status ? status : find_context(m);
    if (!status && m->load)
        status = bind_load(m);
    status = status ? status : bind_run(m);
    return status ? status : make_graphs(m, o);
}

// Not inlined: the function below returns twice (setjmp).
__attribute__((noinline)) static hds_status fill_guarded(hds_model *m, const hds_model_options *o)
{
    if (setjmp(m->oom.jump) != 0)
        return api_no_memory();
    m->memory.oom = &m->oom;
    hds_status status = fill(m, o);
    m->memory.oom = NULL;
    return status;
}

hds_status hds_model_open(hds_program *program, const hds_model_options *options, hds_model **model)
{
    hds_model_options o, initial = HDS_MODEL_OPTIONS_INIT;
    if (!program || !model)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_model_open: %s is a null pointer", program ? "model" : "program");
    *model = NULL;
    hds_status status =
        api_read_options(options ? options : &initial, sizeof o, "HDS_MODEL_OPTIONS_INIT", &o, sizeof o);
    if (status)
        return status;
    hds_model *m = calloc(1, sizeof *m);
    if (!m)
        return api_no_memory();
    arena_init(&m->memory, NULL);
    hds_program_retain(program);
    m->program = program;
    m->simulates = o.simulate;
    status = fill_guarded(m, &o);
    if (status)
        hds_model_release(m);
    else
        *model = m;
    return status;
}

void hds_model_release(hds_model *m)
{
    if (!m)
        return;
    hdsrt_graph_cache_free(m->graphs);
    for (size_t i = 0; i < m->owned_count; i++)
        give_back(m, m->owned[i]);
    wt_close(m->file);
    hds_program_release(m->program);
    arena_free(&m->memory);
    free(m);
}

// ---- questions -------------------------------------------------------------------------------------------------

size_t hds_model_parameter_count(const hds_model *m)
{
    return m ? m->given_count : 0;
}

const hds_parameter *hds_model_parameter(const hds_model *m, size_t index)
{
    return index < hds_model_parameter_count(m) ? &m->run->jit->parameters[m->given[index]].shown : NULL;
}

int64_t hds_model_weight_bytes(const hds_model *m)
{
    return m ? m->weight_bytes : 0;
}

int64_t hds_model_workspace_bytes(const hds_model *m)
{
    return m ? workspace_of(m) : -1;
}

// ---- running ---------------------------------------------------------------------------------------------------

// All arguments of the run function, in its order: on the heap, and the caller's to free.
static hds_argument *join(const hds_model *m, const hds_argument *arguments, size_t count, size_t *all)
{
    hds_argument *joined = malloc(((size_t)m->run->jit->count + 1) * sizeof *joined);
    if (!joined)
        return NULL;
    memcpy(joined, m->bound, (size_t)m->run->jit->count * sizeof *joined);
    for (size_t i = 0; i < count; i++)
        joined[m->given[i]] = arguments[i];
    *all = (size_t)m->run->jit->count - (m->given_count - count);
    return joined;
}

static hds_status check_count(const hds_model *m, const hds_argument *arguments, size_t count)
{
    size_t tensors = m->given_count - (size_t)m->run->jit->size_count;
    if (count && !arguments)
        return api_fail(HDS_INVALID_ARGUMENT, "arguments is a null pointer");
    if (count >= tensors && count <= m->given_count)
        return HDS_OK;
    return api_fail(HDS_INVALID_ARGUMENT,
                    "'%s' takes %zu tensors, inputs and then outputs, and was given %zu arguments",
                    m->run->jit->launch.name, tensors, count);
}

// A run of a model's function with all of its arguments.
typedef struct joined_run {
    const hds_model *model;
    const hds_argument *arguments;
    size_t count;
} joined_run;

static hdsrt_status enqueue(void *user, const uint64_t *words, hdsrt_stream stream, void *workspace)
{
    const joined_run *r = user;
    (void)words; // they are among the arguments
    return jit_call_in(r->model->parts->run.function, r->arguments, r->count, stream, workspace);
}

static hdsrt_status run(const hds_model *m, const hds_argument *arguments, size_t count, hdsrt_stream stream)
{
    if (!m->graphs)
        return jit_call(m->parts->run.function, arguments, count, stream);
    jit_frame frame;
    jit_room room;
    joined_run all = {m, arguments, count};
    hdsrt_status status = jit_take_room(&room, m->run->jit, &frame);
    if (status)
        return status;
    status = jit_bind(&frame, arguments, count, JIT_TO_LAUNCH);
    for (size_t i = 0; i < m->given_count && !status; i++)
        frame.bits[i] = frame.bits[m->given[i]]; // addresses and then sizes: in place, since given[i] >= i
    status = status ? status : hdsrt_graph_cache_run(m->graphs, frame.bits, enqueue, &all, stream, true);
    free(room.large);
    return status;
}

static hdsrt_status check_context(const hds_model *m)
{
    unsigned long long current = 0;
    hdsrt_status status = hdsrt_current_context(&current);
    if (status || current == m->context)
        return status;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': it was opened in another context than the current one: open it in each",
                      m->run->jit->launch.name);
}

hds_status hds_model_run(hds_model *m, const hds_argument *arguments, size_t count, hdsrt_stream stream)
{
    size_t all = 0;
    if (!m)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_model_run: model is a null pointer");
    if (m->simulates)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' was opened for the simulator", m->run->jit->launch.name);
    if (!m->run->core->jit.library.image)
        return api_no_code(m->run);
    hds_status status = check_count(m, arguments, count);
    if (status)
        return status;
    hds_argument *joined = join(m, arguments, count, &all);
    if (!joined)
        return api_no_memory();
    hdsrt_status ran = check_context(m);
    ran = ran ? ran : run(m, joined, all, stream);
    free(joined);
    return ran ? api_fail_runtime(ran) : HDS_OK;
}

hds_status hds_model_simulate(hds_model *m, const hds_argument *arguments, size_t count, hds_program **findings)
{
    size_t all = 0;
    if (findings)
        *findings = NULL;
    if (!m || !m->simulates)
        return api_fail(HDS_INVALID_ARGUMENT,
                        m ? "the model was opened for a GPU" : "hds_model_simulate: model is a null pointer");
    hds_status status = check_count(m, arguments, count);
    if (status)
        return status;
    hds_argument *joined = join(m, arguments, count, &all);
    if (!joined)
        return api_no_memory();
    status = hds_simulate(m->run, joined, all, findings);
    free(joined);
    return status;
}
