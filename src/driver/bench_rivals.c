// `hdsc bench --against`: the same model in other programs, on the same inputs. They are Python packages, which rivals.py runs in a
// process of its own, one after the other; what it says and what came out are files in a folder that is removed.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "diag/json_text.h"
#include "driver/bench.h"
#include "driver/report.h"
#include "onnx/onnx.h"
#include "tensor/npy.h"
#include "toolchain/process.h"

static const src_span nowhere = {0, 0};

static const char *const known[] = {"onnxruntime", "torch"};

// What a run of the rivals shares.
typedef struct contest {
    bench_state *bench;
    bench_run *run;
    arena *arena;
    const char *folder, *python;
    json_t *inputs, *types;
} contest;

// ---- the command line -----------------------------------------------------------------------------------------------

const char *cmd_bench_check_against(const bench_request *q)
{
    for (size_t i = 0; i < q->against.len; i++) {
        const char *name = q->against.at[i];
        size_t len = strcspn(name, ":");
        bool is_known = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known = is_known || (strlen(known[k]) == len && strncmp(known[k], name, len) == 0);
        if (!is_known)
            return "--against takes onnxruntime and torch, as in --against=onnxruntime,torch:reduce-overhead";
    }
    if (!q->against.len)
        return q->python ? "--python is for --against" : NULL;
    if (!onnx_is_path(q->run.shared.inputs.at[0]))
        return "--against is for ONNX files, which other programs read, too";
    return q->run.shared.options.weights ? "--against takes the weights of the file: other programs read these" : NULL;
}

// ---- what goes to a rival --------------------------------------------------------------------------------------------

static const run_argument *argument_of(const run_state *r, const fg_tensor *t)
{
    for (size_t i = 0; i < r->arguments.len; i++)
        if (strcmp(r->arguments.at[i].name, t->name) == 0)
            return &r->arguments.at[i];
    return NULL;
}

// All arguments of the model with the role, in order.
static const run_argument *next_of(const run_state *r, fg_role role, size_t *at)
{
    const fg_function *f = &r->model->run;
    while (*at < f->parameters.len) {
        const fg_parameter *p = &f->parameters.at[(*at)++];
        const run_argument *a = p->role == role ? argument_of(r, p->tensor) : NULL;
        if (a)
            return a;
    }
    return NULL;
}

static bool write_inputs(contest *c)
{
    run_state *r = &c->bench->run;
    const run_argument *x;
    for (size_t at = 0, number = 0; (x = next_of(r, FG_INPUT, &at)); number++) {
        const char *path = arena_printf(c->arena, "%sinput_%zu.npy", c->folder, number);
        if (!ten_npy_write(c->arena, &r->unit.diags, path, &x->tensor))
            return false;
        json_array_append_new(c->inputs, json_string(path));
        json_array_append_new(c->types, json_string(dt_name(x->tensor.type)));
    }
    return true;
}

static bool write_text(contest *c, const char *path, str text)
{
    const char *error = NULL;
    bool ok = file_write(c->arena, path, text, &error);
    if (!ok)
        diag_report(&c->bench->run.unit.diags, HDS0494, nowhere, path, error);
    return ok;
}

// "f16" where the model computes in that; "f32": in the types of the file.
static const char *precision_of(const bench_state *b)
{
    const char *given = b->run.unit.options->precision;
    return given && !strpbrk(given, ",=") ? given : "f32";
}

static bool write_request(contest *c, const char *name, const char *path, const char *answer)
{
    const bench_request *q = c->bench->request;
    size_t len = strcspn(name, ":");
    json_t *o = json_pack("{s:s%, s:s, s:O, s:O, s:s, s:s}", "rival", name, len, "mode", name[len] ? name + len + 1 : "", "inputs",
                          c->inputs, "types", c->types, "outputs", c->folder, "answer", answer);
    json_object_set_new(o, "model", diag_json_text(q->run.shared.options.input));
    json_object_set_new(o, "device", json_string(q->on_simulator ? "cpu" : "cuda"));
    json_object_set_new(o, "precision", json_string(precision_of(c->bench)));
    json_object_set_new(o, "samples", json_integer(q->measure.samples));
    json_object_set_new(o, "min_seconds", json_real(q->measure.min_seconds));
    json_object_set_new(o, "warm_up_seconds", json_real(q->measure.warm_up_seconds));
    str_buf out;
    str_buf_init(&out, c->arena);
    diag_add_json(&out, o, 0);
    return write_text(c, path, (str){out.at, out.len});
}

// ---- what comes back -------------------------------------------------------------------------------------------------

static const char *text_of(contest *c, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? arena_strdup(c->arena, text) : NULL;
}

static double number_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

// The bound of an output: what rounding in its type or in the precision may do, and what other programs are given in any case.
static double bound_of(const contest *c, const ten_tensor *t)
{
    double own = report_bound(t->type);
    bool is_narrow = strcmp(precision_of(c->bench), "f32") != 0;
    return is_narrow && own > 0 && own < report_bound(DT_F16) ? report_bound(DT_F16) : own;
}

static const char *compare_output(contest *c, const run_argument *ours, const char *path, bench_rival *rival)
{
    run_state *r = &c->bench->run;
    ten_tensor its;
    if (!path || !ten_npy_read(c->arena, &r->unit.diags, path, DT_NONE, ours->tensor.type, "an output of another program", &its))
        return "they cannot be read";
    report_row row = {.name = ours->name, .actual = &ours->tensor};
    report_measure_data(&row, &its, bound_of(c, &ours->tensor));
    rival->error = fmax(rival->error, row.error.harmonic);
    return row.is_wrong ? arena_printf(c->arena, "'%s' by up to %.2g, relative to 1 + its value", ours->name, row.error.harmonic) : NULL;
}

static void compare_outputs(contest *c, const json_t *paths, bench_rival *rival)
{
    run_state *r = &c->bench->run;
    const run_argument *x;
    size_t at = 0, number = 0;
    const char *why = NULL;
    for (; !why && (x = next_of(r, FG_OUTPUT, &at)); number++)
        why = compare_output(c, x, json_string_value(json_array_get(paths, number)), rival);
    rival->differs = why != NULL;
    if (why)
        diag_report(&r->unit.diags, HDS0755, nowhere, r->unit.options->input, rival->title, why);
}

static void take_answer(contest *c, const char *path, const char *failure, bench_rival *rival)
{
    const char *error = NULL;
    str text;
    json_t *o = file_read(c->arena, path, &text, &error) ? json_loadb(text.at, text.len, 0, NULL) : NULL;
    rival->title = text_of(c, o, "title");
    rival->how = text_of(c, o, "how");
    rival->why = text_of(c, o, "why");
    if (!rival->why && (!rival->title || !rival->how))
        rival->why = failure ? failure : "it gave no answer";
    const json_t *seconds = json_object_get(o, "seconds");
    rival->time = (ms_summary){.median = number_of(seconds, "median"), .q1 = number_of(seconds, "q1"), .q3 = number_of(seconds, "q3"),
                               .count = (int)number_of(seconds, "count")};
    if (!rival->why)
        compare_outputs(c, json_object_get(o, "outputs"), rival);
    json_decref(o);
}

static const char *name_of_python(const bench_request *q)
{
    const char *named = q->python ? q->python : getenv("HDS_PYTHON");
    return named && *named ? named : "python3";
}

static bool ask(contest *c, const char *name)
{
    bench_rival rival = {.name = name};
    size_t number = c->run->rivals.len;
    const char *script = arena_printf(c->arena, "%srivals.py", c->folder);
    const char *request = arena_printf(c->arena, "%srequest_%zu.json", c->folder, number);
    const char *answer = arena_printf(c->arena, "%sanswer_%zu.json", c->folder, number);
    if (!c->python) {
        rival.why = arena_printf(c->arena, "there is no Python: '%s' cannot be run; --python and HDS_PYTHON name another one",
                                 name_of_python(c->bench->request));
    } else {
        tool_words command = {0};
        tool_run_result result;
        VEC_PUSH(c->arena, &command.at, c->python);
        VEC_PUSH(c->arena, &command.at, script);
        VEC_PUSH(c->arena, &command.at, request);
        if (!write_request(c, name, request, answer))
            return false;
        bool ok = tool_run(c->arena, &command, ".", &result);
        const char *said = ok ? NULL : tool_first_lines(c->arena, result.printed);
        take_answer(c, answer, ok ? NULL : arena_printf(c->arena, "%s: %s", result.failure, said), &rival);
    }
    VEC_PUSH(c->arena, &c->run->rivals, rival);
    return true;
}

bool cmd_bench_ask_rivals(bench_state *b, bench_run *run)
{
    arena *a = &b->run.unit.memory;
    const bench_request *q = b->request;
    const char *error = NULL;
    int fd;
    contest c = {.bench = b, .run = run, .arena = a, .python = tool_program_find(a, name_of_python(q))};
    c.folder = file_folder_new(a, &fd, &error);
    if (!c.folder) {
        diag_report(&b->run.unit.diags, HDS0494, nowhere, "a folder for other programs", error);
        return false;
    }
    c.inputs = json_array();
    c.types = json_array();
    bool ok = write_inputs(&c) && write_text(&c, arena_printf(a, "%srivals.py", c.folder), str_of(cmd_rivals[0].text));
    for (size_t i = 0; ok && i < q->against.len; i++)
        ok = ask(&c, q->against.at[i]);
    json_decref(c.inputs);
    json_decref(c.types);
    file_folder_remove(c.folder, fd);
    return ok;
}

// ---- on the GPU ------------------------------------------------------------------------------------------------------

// What was measured had random numbers for what is prepared from weights: outputs come from a run with all of it.
static bool compute(bench_state *b, bench_run *run)
{
    run_state *r = &b->run;
    uint64_t result = 0;
    const sim_device *device = dev_cuda_attach(b->gpu, &r->unit.memory, &r->unit.diags);
    sim_options options = cmd_run_options(r);
    options.device = device;
    r->device = sim_new(&r->unit.memory, &options);
    bool ok = cmd_run_fill(r) && cmd_run_load(r);
    if (ok)
        cmd_run_call(r, &result);
    else
        sim_findings_report(r->device, &r->unit.diags);
    ok = ok && r->status != SIM_STOPPED && cmd_bench_ask_rivals(b, run);
    sim_free(r->device);
    r->device = NULL;
    dev_cuda_detach(device);
    return ok;
}

bool cmd_bench_compete(bench_state *b, const bench_plan *plan, int row, bench_run *run)
{
    return cmd_bench_bind(b, plan, row) && compute(b, run);
}

// ---- results ---------------------------------------------------------------------------------------------------------

static double ratio_of(const bench_run *run, const bench_rival *r)
{
    return r->time.count && run->graphs.median > 0 ? r->time.median / run->graphs.median : 0;
}

static void add_cell(ms_table *t, const char *text)
{
    VEC_PUSH(t->arena, &t->cells, text);
}

static void add_rival(ms_table *t, const bench_run *run, const bench_rival *r)
{
    arena *a = t->arena;
    double seconds = r->time.median, ratio = ratio_of(run, r);
    add_cell(t, r->title);
    add_cell(t, r->time.count ? ms_time_text(a, seconds) : "–");
    add_cell(t, r->time.count ? arena_printf(a, "%.1f %%", 50 * (r->time.q3 - r->time.q1) / seconds) : "–");
    add_cell(t, ratio > 0 ? arena_printf(a, "%.2f", ratio) : "–");
    add_cell(t, r->differs ? "differ" : "agree");
    add_cell(t, arena_printf(a, "%.1e", r->error));
    add_cell(t, r->how);
}

void cmd_bench_rivals_text(const bench_run *run, str_buf *out)
{
    static const char *const heads[] = {"against", "time", "±", "ratio", "outputs", "error", "how"};
    ms_table t = {.arena = out->arena, .columns = 7};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        add_cell(&t, heads[i]);
    for (size_t i = 0; i < run->rivals.len; i++)
        if (!run->rivals.at[i].why)
            add_rival(&t, run, &run->rivals.at[i]);
    if (t.cells.len > sizeof heads / sizeof *heads)
        ms_table_print(&t, out);
    for (size_t i = 0; i < run->rivals.len; i++)
        if (run->rivals.at[i].why)
            str_addf(out, "%s was not run: %s\n", run->rivals.at[i].name, run->rivals.at[i].why);
    if (run->rivals.len)
        str_addc(out, '\n');
}

json_t *cmd_bench_rivals_json(const bench_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->rivals.len; i++) {
        const bench_rival *r = &run->rivals.at[i];
        double ratio = ratio_of(run, r);
        json_t *o = json_object();
        json_object_set_new(o, "name", diag_json_text(r->name));
        json_object_set_new(o, "title", diag_json_text(r->title));
        json_object_set_new(o, "how", diag_json_text(r->how));
        json_object_set_new(o, "why_not", diag_json_text(r->why));
        json_object_set_new(o, "seconds", r->time.count ? json_real(r->time.median) : json_null());
        json_object_set_new(o, "ratio", ratio > 0 ? json_real(ratio) : json_null());
        json_object_set_new(o, "error", r->why || !isfinite(r->error) ? json_null() : json_real(r->error));
        json_object_set_new(o, "agrees", r->why ? json_null() : json_boolean(!r->differs));
        json_array_append_new(list, o);
    }
    return list;
}
