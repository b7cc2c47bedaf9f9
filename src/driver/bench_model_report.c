// The tables of `hdsc bench` for models, and the same as JSON.
#include <string.h>

#include "diag/json_text.h"
#include "driver/bench.h"

// ---- texts ----------------------------------------------------------------------------------------------------------

// "1234", "12.3 k", "4.56 M"
static const char *count_text(arena *a, double value)
{
    static const char units[] = "kMGTPE";
    int unit = -1;
    if (value < 10000)
        return arena_printf(a, "%.0f", value);
    for (; value >= 999.5; unit++)
        value /= 1000;
    return arena_printf(a, "%.*f %c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
}

static const char *percent(arena *a, double part, double of)
{
    return of > 0 ? arena_printf(a, "%.1f %%", 100 * part / of) : "–";
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static void add_cell(ms_table *t, const char *text)
{
    VEC_PUSH(t->arena, &t->cells, text);
}

static void add_time(ms_table *t, const bench_run *run, const bench_part *p)
{
    arena *a = t->arena;
    add_cell(t, ms_time_text(a, p->seconds));
    add_cell(t, percent(a, p->seconds, run->total.seconds));
    add_cell(t, fg_bytes_text(a, p->bytes));
    add_cell(t, p->seconds > 0 ? arena_printf(a, "%.0f", (double)p->bytes / p->seconds * 1e-9) : "–");
    add_cell(t, count_text(a, p->operations));
    add_cell(t, p->seconds > 0 ? arena_printf(a, "%.2f", p->operations / p->seconds * 1e-12) : "–");
    add_cell(t, percent(a, p->limit, p->seconds));
}

static void add_counts(ms_table *t, const bench_run *run, const bench_part *p)
{
    arena *a = t->arena;
    const sim_counts *c = &p->counts;
    add_cell(t, count_text(a, (double)c->warp_instructions));
    add_cell(t, percent(a, (double)c->warp_instructions, (double)run->total.counts.warp_instructions));
    add_cell(t, fg_bytes_text(a, p->bytes));
    add_cell(t, fg_bytes_text(a, (int64_t)c->global.sectors * 32));
    add_cell(t, count_text(a, p->operations));
    add_cell(t, count_text(a, (double)c->flops));
    add_cell(t, ms_time_text(a, p->limit));
}

static void add_heads(ms_table *t, bool is_counted)
{
    static const char *const timed[] = {"kernel", "time", "share", "bytes", "GB/s", "operations", "Tflop/s", "of limit"};
    static const char *const counted[] = {"kernel", "instr", "share", "bytes", "moved", "operations", "flops", "limit"};
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        add_cell(t, (is_counted ? counted : timed)[i]);
    add_cell(t, "launches");
    add_cell(t, "lines");
    add_cell(t, "nodes");
}

static void add_listed(str_buf *out, const char *separator, const char *text)
{
    str_addf(out, "%s%s", out->len ? separator : "", text);
}

// The operators of a joined launch stand beside each other in its row, which has the bytes and operations of all.
static void add_part(ms_table *t, const bench_run *run, const bench_part *p, bool is_counted)
{
    arena *a = t->arena;
    str_buf lines, nodes, names;
    str_buf_init(&lines, a);
    str_buf_init(&nodes, a);
    str_buf_init(&names, a);
    for (size_t i = 0; p->launch && i < run->graph->launches.len; i++) {
        const bench_part *own = &run->parts[i];
        if (own->launch != p->launch && (own->joined < 0 || run->parts[own->joined].launch != p->launch))
            continue;
        add_listed(&names, " | ", own->launch->name);
        add_listed(&lines, " | ", fg_lines_text(a, own->launch));
        add_listed(&nodes, " | ", fg_operators_text(a, own->launch, " + "));
    }
    add_cell(t, p->launch ? str_text(&names) : "all");
    (is_counted ? add_counts : add_time)(t, run, p);
    add_cell(t, arena_printf(a, "%d", p->count));
    add_cell(t, str_text(&lines));
    add_cell(t, str_text(&nodes));
}

static void add_whole(const bench_run *run, str_buf *out)
{
    arena *a = out->arena;
    double seconds = run->graphs.median;
    str_addf(out, "as a CUDA graph %s ± %.1f %%, kernel by kernel %s; ", ms_time_text(a, seconds),
             seconds > 0 ? 50 * (run->graphs.q3 - run->graphs.q1) / seconds : 0, ms_time_text(a, run->launches.median));
    str_addf(out, "%s of the limit, %s\n", percent(a, run->total.limit, seconds), ms_time_text(a, run->total.limit));
}

static void add_run(const bench_state *b, const bench_run *run, str_buf *out)
{
    bool is_counted = b->request->on_simulator;
    ms_table t = {.arena = out->arena, .columns = 11};
    str_addf(out, "%s%s%s: %zu operators, %d launches\n", run->graph->name, *run->sizes ? ", " : "", run->sizes,
             run->graph->launches.len, run->total.count);
    if (!is_counted)
        add_whole(run, out);
    str_addc(out, '\n');
    add_heads(&t, is_counted);
    for (size_t i = 0; i < run->graph->launches.len; i++)
        if (run->parts[i].joined < 0) {
            const bench_part row = cmd_bench_row_of(b, run, i);
            add_part(&t, run, &row, is_counted);
        }
    add_part(&t, run, &run->total, is_counted);
    ms_table_print(&t, out);
    str_addc(out, '\n');
    cmd_bench_rivals_text(run, out);
}

void cmd_bench_model_text(const bench_state *b, str_buf *out)
{
    if (!b->runs.len)
        return;
    if (b->request->on_simulator)
        str_addf(out, "counted on the simulator, code for %s; limit: bytes at %d GB/s\n\n", b->run.unit.options->archs[0]->name,
                 b->run.unit.options->gpus[0]->memory_gbps);
    for (size_t i = 0; i < b->runs.len; i++)
        add_run(b, &b->runs.at[i], out);
    if (b->request->on_simulator)
        return;
    const ms_record *r = ms_record_of(b->request->session);
    ms_report_machine(r, out);
    str_addf(out,
             "\nmethod: runs one behind the other on the same memory%s; of a kernel, the time between two events of a "
             "graph, which keep it from overlapping its neighbours\n",
             r->options->method == MS_FLUSH ? ", each after L2 was overwritten" : "");
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static json_t *known(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *nodes_json(const fg_launch *l)
{
    json_t *list = json_array();
    for (size_t i = 0; i < l->nodes.len; i++) {
        const fg_node *n = l->nodes.at[i];
        json_array_append_new(list, json_pack("{s:i, s:s, s:i}", "node", n->number, "operator", n->op, "line", n->line));
    }
    return list;
}

static json_t *kernels_json(const bench_run *run, const bench_part *p)
{
    json_t *list = json_array();
    for (int i = p->first; i < p->first + p->count; i++) {
        const bench_kernel *k = &run->kernels.at[i];
        json_array_append_new(list, json_pack("{s:s, s:[I, I, I], s:[I, I, I]}", "kernel", k->title, "grid", (json_int_t)k->grid[0],
                                              (json_int_t)k->grid[1], (json_int_t)k->grid[2], "block", (json_int_t)k->block[0],
                                              (json_int_t)k->block[1], (json_int_t)k->block[2]));
    }
    return list;
}

static json_t *tensors_json(const fg_graph *g, const fg_number_list *numbers)
{
    json_t *list = json_array();
    for (size_t i = 0; i < numbers->len; i++)
        json_array_append_new(list, diag_json_text(fg_memory_of(g, &g->tensors.at[numbers->at[i]])->name));
    return list;
}

static json_t *counts_json(const sim_counts *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "warp_instructions", (json_int_t)c->warp_instructions, "thread_instructions",
                     (json_int_t)c->thread_instructions, "flops", (json_int_t)c->flops, "bytes_asked_for", (json_int_t)c->global.bytes,
                     "bytes_moved", (json_int_t)c->global.sectors * 32);
}

static json_t *part_json(const bench_state *b, const bench_run *run, const bench_part *p)
{
    json_t *o = json_object();
    if (p->launch) {
        json_object_set_new(o, "operator", json_string(p->launch->name));
        json_object_set_new(o, "line", json_integer(p->launch->line));
        json_object_set_new(o, "joined", p->joined < 0 ? json_null() : json_integer(p->joined));
        json_object_set_new(o, "nodes", nodes_json(p->launch));
        json_object_set_new(o, "kernels", kernels_json(run, p));
        json_object_set_new(o, "reads", tensors_json(run->graph, &p->launch->inputs));
        json_object_set_new(o, "writes", tensors_json(run->graph, &p->launch->outputs));
    }
    json_object_set_new(o, "bytes", json_integer(p->bytes));
    json_object_set_new(o, "operations", json_real(p->operations));
    json_object_set_new(o, "limit_seconds", known(p->limit));
    json_object_set_new(o, "seconds", known(p->seconds));
    json_object_set_new(o, "counts", b->request->on_simulator ? counts_json(&p->counts) : json_null());
    return o;
}

static json_t *run_json(const bench_state *b, const bench_run *run)
{
    json_t *o = json_object(), *parts = json_array(), *inputs = json_object();
    for (size_t i = 0; i < run->graph->launches.len; i++)
        json_array_append_new(parts, part_json(b, run, &run->parts[i]));
    json_object_set_new(o, "sizes", json_string(run->sizes));
    for (size_t i = 0; i < run->inputs.len; i++)
        json_object_set_new(inputs, run->inputs.at[i].name, diag_json_text(run->inputs.at[i].contents));
    json_object_set_new(o, "inputs", inputs);
    json_object_set_new(o, "graph_seconds", known(run->graphs.median));
    json_object_set_new(o, "launch_seconds", known(run->launches.median));
    json_object_set_new(o, "total", part_json(b, run, &run->total));
    json_object_set_new(o, "launches", parts);
    if (run->rivals.len)
        json_object_set_new(o, "against", cmd_bench_rivals_json(run));
    return o;
}

json_t *cmd_bench_model_json(const bench_state *b)
{
    json_t *o = json_object(), *runs = json_array();
    for (size_t i = 0; i < b->runs.len; i++)
        json_array_append_new(runs, run_json(b, &b->runs.at[i]));
    json_object_set_new(o, "name", json_string(b->runs.at[0].graph->name));
    json_object_set_new(o, "device", b->request->on_simulator ? json_string("simulator") : json_string("GPU"));
    json_object_set_new(o, "runs", runs);
    return o;
}
