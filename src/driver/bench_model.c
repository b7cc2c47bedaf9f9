// `hdsc bench` of models: what each of their launches is a part of, on the GPU and on the simulator.
#include <math.h>
#include <string.h>

#include "driver/bench.h"
#include "target/peak.h"

// ---- the run --------------------------------------------------------------------------------------------------------

static fg_graph *graph_of(const bench_state *b)
{
    const pl_unit *u = &b->run.unit;
    for (size_t i = 0; i < u->graphs.len; i++)
        if (strcmp(u->graphs.at[i]->name, b->run.model->run.name) == 0)
            return u->graphs.at[i];
    return NULL;
}

// Open extents get the values that they have in this run, and tensors the bytes.
static void settle(bench_state *b, fg_graph *g)
{
    arena *a = &b->run.unit.memory;
    int count = (int)b->run.arguments.len;
    ms_argument *arguments = ARENA_ARRAY(a, ms_argument, count + 1);
    for (int i = 0; i < count; i++) {
        const run_argument *x = &b->run.arguments.at[i];
        arguments[i] = (ms_argument){.name = x->name, .is_tensor = x->is_tensor, .type = x->tensor.type, .value = x->value};
    }
    for (size_t i = 0; i < g->tensors.len; i++) {
        fg_tensor *t = &g->tensors.at[i];
        dtype type = DT_NONE;
        double bits = dt_find(str_of(t->dtype), &type) ? dt_bits(type) : 0;
        for (int d = 0; d < t->rank; d++) {
            if (t->extent[d])
                ms_evaluate(a, t->extent[d], arguments, count, &t->shape[d]);
            bits *= (double)t->shape[d];
        }
        t->bytes = (int64_t)(bits / 8);
    }
}

static const char *sizes_of(bench_state *b)
{
    str_buf out;
    str_buf_init(&out, &b->run.unit.memory);
    for (size_t i = 0; i < b->run.arguments.len; i++) {
        const run_argument *x = &b->run.arguments.at[i];
        if (x->is_tensor)
            continue;
        str_addf(&out, "%s%s=", out.len ? ", " : "", x->name);
        ten_value_print(x->tensor.type, x->value, &out);
    }
    return str_text(&out);
}

// Its tensor, if it is an input of the graph; -1: it is none.
static int input_of(const fg_graph *g, const char *name)
{
    for (size_t i = 0; i < g->inputs.len; i++)
        if (strcmp(g->tensors.at[g->inputs.at[i]].name, name) == 0)
            return g->inputs.at[i];
    return -1;
}

// Whether a product or a convolution takes the tensor, or a view of it, as another operand than the first one.
static bool is_factor(const fg_graph *g, const fg_number_list *readers, int tensor)
{
    bool found = false;
    for (size_t i = 0; i < readers[tensor].len; i++) {
        const fg_node *n = &g->nodes.at[readers[tensor].at[i]];
        bool multiplies = n->kind == FG_EPILOGUE;
        if (n->kind == FG_VIEW || n->view)
            found |= is_factor(g, readers, n->outputs.at[0]);
        for (size_t k = 1; k < n->arguments.len && multiplies; k++)
            found |= n->arguments.at[k].tensor == tensor;
    }
    return found;
}

const char *cmd_bench_contents(bench_state *b, const char *name)
{
    arena *a = &b->run.unit.memory;
    const fg_graph *g = b->run.model ? graph_of(b) : NULL;
    int number = g ? input_of(g, name) : -1;
    if (number < 0 || !is_factor(g, fg_all_readers(a, g), number))
        return NULL;
    const fg_tensor *from = &g->tensors.at[number];
    ten_tensor t = {.rank = from->rank};
    memcpy(t.shape, from->shape, sizeof t.shape[0] * (size_t)t.rank);
    return dt_find(str_of(from->dtype), &t.type) ? ten_weight_contents(a, &t) : NULL;
}

static void list_inputs(bench_state *b, bench_run *run)
{
    for (size_t i = 0; i < b->run.arguments.len; i++) {
        const run_argument *x = &b->run.arguments.at[i];
        if (x->is_tensor && x->is_read && x->spec && !x->bound)
            VEC_PUSH(&b->run.unit.memory, &run->inputs, ((bench_input){x->name, x->spec->text}));
    }
}

bench_run cmd_bench_run_of(bench_state *b)
{
    fg_graph *g = graph_of(b);
    settle(b, g);
    bench_run run = {.graph = g, .sizes = sizes_of(b)};
    run.parts = ARENA_ARRAY(&b->run.unit.memory, bench_part, g->launches.len + 1);
    list_inputs(b, &run);
    return run;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

typedef struct noting {
    bench_state *bench;
    bench_run *run;
} noting;

static void note(void *user, sim *s, const sim_program *p, const ir_func *kernel, const sim_launch_shape *shape, uint32_t site)
{
    const noting *n = user;
    pl_unit *u = &n->bench->run.unit;
    const sim_profile *profile = sim_profile_of(s);
    bench_kernel k = {.title = kernel->title ? kernel->title : kernel->name};
    VEC_PUSH(&u->memory, &k.lines, (int)sim_site_line(p, &u->sources, u->file, site));
    for (uint32_t i = 1, line; (line = sim_joined_line(p, &u->sources, u->file, site, (int)i)); i++)
        VEC_PUSH(&u->memory, &k.lines, (int)line);
    memcpy(k.grid, shape->grid, sizeof k.grid);
    memcpy(k.block, shape->block, sizeof k.block);
    if (profile)
        k.before = sim_profile_total(profile);
    VEC_PUSH(&u->memory, &n->run->kernels, k);
}

void cmd_bench_note(sim_options *options, bench_state *b, bench_run *run)
{
    noting *n = ARENA_NEW(&b->run.unit.memory, noting);
    *n = (noting){b, run};
    options->launched = note;
    options->launched_user = n;
}

// ---- sums -----------------------------------------------------------------------------------------------------------

static sim_counts difference(const sim_counts *now, const sim_counts *before)
{
    sim_counts out;
    for (size_t i = 0; i < sizeof out / sizeof(uint64_t); i++)
        ((uint64_t *)&out)[i] = ((const uint64_t *)now)[i] - ((const uint64_t *)before)[i];
    return out;
}

// The type of the operands of a launch's product; f32 where it has none.
static dtype type_of(const fg_graph *g, const fg_launch *l)
{
    dtype found = DT_F32;
    for (size_t i = 0; i < l->nodes.len; i++) {
        const fg_node *n = l->nodes.at[i];
        if (n->kind != FG_EPILOGUE)
            continue;
        for (size_t k = 0; k < n->arguments.len; k++)
            if (n->arguments.at[k].tensor >= 0) {
                dt_find(str_of(g->tensors.at[n->arguments.at[k].tensor].dtype), &found);
                return found;
            }
    }
    return found;
}

// By the GPU that is there; on the simulator by what is known of the one that code is for, which is its memory.
static double limit_of(const bench_state *b, const fg_graph *g, const bench_part *part)
{
    const ms_machine *m = b->request->session ? &ms_record_of(b->request->session)->machine : NULL;
    double bandwidth = m ? ms_peak_bandwidth(m) : b->run.unit.options->gpus[0]->memory_gbps * 1e9;
    double rate = m ? ms_peak_ops(m, type_of(g, part->launch)) : 0;
    double moving = bandwidth > 0 ? (double)part->bytes / bandwidth : 0, computing = rate > 0 ? part->operations / rate : 0;
    return moving > computing ? moving : computing;
}

static void describe(const bench_state *b, bench_run *run, size_t number)
{
    const fg_graph *g = run->graph;
    bench_part *part = &run->parts[number];
    part->launch = &g->launches.at[number];
    part->bytes = part->operations = 0;
    part->joined = -1;
    for (size_t i = 0; i < part->launch->inputs.len; i++)
        part->bytes += g->tensors.at[part->launch->inputs.at[i]].bytes;
    for (size_t i = 0; i < part->launch->outputs.len; i++)
        part->bytes += g->tensors.at[part->launch->outputs.at[i]].bytes;
    for (size_t i = 0; i < part->launch->nodes.len; i++)
        part->operations += fg_operations(g, part->launch->nodes.at[i]);
    part->limit = limit_of(b, g, part);
}

static void add_counts(sim_counts *to, const sim_counts *more)
{
    for (size_t i = 0; i < sizeof *to / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] += ((const uint64_t *)more)[i];
}

// Between the base clocks and the boost clocks of the GPUs of gpu.def. Times by it are for comparing candidates with each other.
static const double NOMINAL_HZ = 1.5e9;

// What an SM issues in a clock: one instruction of a warp on each of its four schedulers.
enum { ISSUED_A_CLOCK = 4 };

// Seconds that a kernel's counts take at least: its sectors at the memory's bandwidth, or on the SM that has most blocks its
// instructions or operations.
static double estimate(const bench_state *b, const fg_graph *g, const bench_part *part, const bench_kernel *k, const sim_counts *own)
{
    const gpu_model *gpu = b->run.unit.options->gpus[0];
    double blocks = (double)(k->grid[0] * k->grid[1] * k->grid[2]), waves = ceil(blocks / gpu->sm_count);
    double share = blocks > 0 ? waves / blocks : 0;
    double rate = arch_peak_ops(b->run.unit.arch, type_of(g, part->launch));
    double moving = (double)own->global.sectors * 32 / (gpu->memory_gbps * 1e9);
    double issuing = (double)own->warp_instructions * share / (ISSUED_A_CLOCK * NOMINAL_HZ);
    double computing = rate > 0 ? (double)own->flops * share / (rate * NOMINAL_HZ) : 0;
    return fmax(moving, fmax(issuing, computing));
}

static void add_to_total(bench_part *total, const bench_part *part)
{
    total->count += part->count;
    total->seconds += part->seconds;
    total->bytes += part->bytes;
    total->operations += part->operations;
    total->limit += part->limit;
    add_counts(&total->counts, &part->counts);
}

// The operators whose launches were joined to that of operator [first].
static void note_joined(bench_run *run, const bench_kernel *k, size_t first)
{
    for (size_t i = 1; i < k->lines.len; i++) {
        int found = fg_launch_at(run->graph, k->lines.at[i]);
        if (found >= 0 && found != (int)first)
            run->parts[found].joined = (int)first;
    }
}

bench_part cmd_bench_row_of(const bench_state *b, const bench_run *run, size_t number)
{
    bench_part row = run->parts[number];
    bool is_alone = true;
    for (size_t i = 0; i < run->graph->launches.len; i++)
        if (run->parts[i].joined == (int)number) {
            add_to_total(&row, &run->parts[i]);
            is_alone = false;
        }
    if (!is_alone)
        row.limit = limit_of(b, run->graph, &row);
    return row;
}

void cmd_bench_sum(bench_state *b, bench_run *run, const ms_summary *each)
{
    size_t at = 0, count = run->graph->launches.len;
    sim_counts before = {0};
    for (size_t i = 0; i < count; i++)
        describe(b, run, i);
    for (size_t i = 0; i < run->kernels.len && count; i++) {
        const bench_kernel *k = &run->kernels.at[i];
        int found = fg_launch_at(run->graph, k->lines.at[0]);
        at = found >= 0 ? (size_t)found : at; // what stands at no line of a launch belongs to the one before
        bench_part *part = &run->parts[at];
        if (!part->count++)
            part->first = (int)i;
        note_joined(run, k, at);
        if (each) {
            part->seconds += each[i].median;
        } else {
            sim_counts own = difference(&k->before, &before);
            add_counts(&part->counts, &own);
            part->seconds += b->request->tunes ? estimate(b, run->graph, part, k, &own) : 0;
            before = k->before;
        }
    }
    for (size_t i = 0; i < count; i++)
        if (run->parts[i].joined < 0) {
            const bench_part row = cmd_bench_row_of(b, run, i);
            add_to_total(&run->total, &row);
        }
}

// ---- on the simulator -----------------------------------------------------------------------------------------------

// Results, which hdsc tune compares.
static void fetch(bench_state *b, bench_run *run)
{
    run_state *r = &b->run;
    for (size_t i = 0; i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        if (!a->is_tensor || !a->is_written || a->bound || !a->tensor.bytes)
            continue;
        cmd_run_fetch(r, a);
        bench_output out = {a->name, a->tensor};
        out.tensor.data = arena_dup(&r->unit.memory, a->tensor.data, (size_t)a->tensor.bytes);
        VEC_PUSH(&r->unit.memory, &run->outputs, out);
    }
}

static bool simulate(bench_state *b)
{
    run_state *r = &b->run;
    bench_run run = cmd_bench_run_of(b);
    sim_options options = cmd_run_options(r);
    options.profile = true;
    cmd_bench_note(&options, b, &run);
    r->device = sim_new(&r->unit.memory, &options);
    bool ok = cmd_run_fill(r) && cmd_run_load(r);
    sim_counts before = sim_profile_total(sim_profile_of(r->device));
    run.kernels.len = 0; // those of the load function
    uint64_t result = 0;
    if (ok)
        cmd_run_call(r, &result);
    else
        sim_findings_report(r->device, &r->unit.diags);
    ok = ok && r->status != SIM_STOPPED;
    for (size_t i = 0; i < run.kernels.len; i++)
        run.kernels.at[i].before = difference(&run.kernels.at[i].before, &before);
    if (ok) {
        cmd_bench_sum(b, &run, NULL);
        if (b->request->tunes)
            fetch(b, &run);
        ok = !b->request->against.len || cmd_bench_ask_rivals(b, &run);
        VEC_PUSH(&r->unit.memory, &b->runs, run);
    }
    sim_free(r->device);
    r->device = NULL;
    return ok;
}

bool cmd_bench_simulate(bench_state *b, const bench_plan *plan)
{
    run_state *r = &b->run;
    for (int i = 0; i < plan->row_count; i++) {
        run_request own = b->request->run;
        cmd_bench_words(b, plan, i, &own);
        r->request = &own;
        memset(&r->arguments, 0, sizeof r->arguments);
        bool ok = cmd_run_bind(r) && simulate(b);
        r->request = &b->request->run;
        if (!ok)
            return false;
    }
    return true;
}
