// hdsc report: how far what a model computes is from the same in f64, node by node.
//
// Three programs of one model run on the same numbers: the program with all passes, as `hdsc run` runs it; each node by
// itself in the model's types; and the same in f64. The words of the command line are for the first one. Each other one
// is given the inputs and weights of the one before it.

#include <string.h>

#include "driver/options.h"
#include "driver/report.h"
#include "driver/report_data.h"
#include "driver/run.h"
#include "pipeline/graphs.h"

enum { KEY_JSON = CMD_KEY_OWN, KEY_DATA };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What runs:", 1},
    {"entry", CMD_KEY_ENTRY, "NAME", 0, "this graph function, where the file has several", 1},
    CMD_DEFINE_OPTION("a type parameter of the graph function, or a module constant", 1),
    CMD_IMPORT_OPTION(1),
    CMD_WEIGHTS_OPTION(1),
    CMD_PRECISION_OPTION(1),
    CMD_ARCH_OPTION("sm_80", 1),
    {"data", KEY_DATA, "FOLDER", 0,
     "inputs and outputs that others computed: input_0.pb, output_0.pb, ... of ONNX (default: test_data_set_0 beside an ONNX "
     "file, where no inputs are set)", 2},
    {"json", KEY_JSON, NULL, 0, "print JSON instead of a table", 2},
    CMD_SEED_OPTION("of random inputs (default: 0)", 3),
    {NULL, 'j', "N", 0, "simulator threads, for independent blocks (default: one for each core)", 3},
    CMD_BUDGET_OPTION(3),
    CMD_MESSAGE_OPTIONS(4),
    {NULL, 0, NULL, 0, "For work on the compiler:", 5},
    CMD_COMPILER_OPTIONS(5),
    {0},
};

static const char doc[] =
    "Compare each tensor of a model with the same in f64, on the simulator.\n"
    "\n"
    "  hdsc report mlp.hds x=randn --weights=mlp.safetensors\n"
    "  hdsc report block.hds --weights=random x=@x.npy --json > report.json\n"
    "  hdsc report resnet50/model.onnx   its inputs and outputs are in resnet50/test_data_set_0\n"
    "\v"
    "NAME=SPEC sets an input, as for 'hdsc run'. A row is a result of a node of the graph: its operator, the line of "
    "the "
    "model, its type, and how far it is from f64, errors of the nodes before it included. 'error' is the largest "
    "|actual - expected| / (|expected| + 1), then come the largest and the mean |actual - expected|, and both over "
    "|expected| where that is not 0. '<------' marks errors above 5e-5 (f32), 1e-1 (16 bits and less) or 1e-10 (f64), "
    "by the coarsest type that a value was computed from; integers and bool are marked where any differs. The last "
    "rows are outputs of the program with all passes, and the same against test data, marked above 1e-3 or those bounds. "
    "All tensors of the graph are in memory at once, in the model's types and in f64.\n"
    "Exit code: 0 no mark; 1 marks, or the file has errors, or a check found something; 2 the command line is wrong.";

typedef struct request {
    run_request run; // first
    bool json;
    const char *folder; // of test data; NULL: none
    report_data data;
} request;

// One of the programs.
typedef struct variant {
    run_state run; // first
    run_request request;
    const struct variant *from; // whose inputs and weights it has; NULL: those of the words or the data
    const report_data *data;    // NULL: none
    bool is_done;
} variant;

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    request *q = state->input;
    const cmd_running to = {.seed = &q->run.seed, .budget = &q->run.budget};
    switch (key) {
    case 'j':
        q->run.workers = cmd_count(state, "-j", arg, 1);
        break;
    case KEY_JSON:
        q->json = true;
        break;
    case KEY_DATA:
        q->folder = arg;
        break;
    case ARGP_KEY_ARG:
        cmd_run_take_argument(state, arg);
        break;
    case ARGP_KEY_END:
        if (!q->run.shared.inputs.len)
            argp_error(state, "no input file");
        if (strcmp(q->run.shared.inputs.at[0], "-") == 0)
            argp_error(state, "a report reads the file several times: it cannot be standard input");
        if (q->run.shared.archs.len > 1)
            argp_error(state, "a report is for one architecture");
        if (q->folder && q->run.words.len)
            argp_error(state, "inputs are those of --data, or those of NAME=SPEC, not both");
        break;
    default:
        return cmd_take_running(key, arg, state, &to);
    }
    return 0;
}

// ---- a program -----------------------------------------------------------------------------------------------------

static const run_argument *argument_of(const run_state *r, const char *name)
{
    for (size_t i = 0; i < r->arguments.len; i++)
        if (strcmp(r->arguments.at[i].name, name) == 0)
            return &r->arguments.at[i];
    return NULL;
}

// What the data have for the input: they are in the order of the model's inputs. NULL: nothing.
static const ten_tensor *data_of(const variant *v, const char *name)
{
    const fg_function *f = &v->run.model->run;
    for (size_t i = 0, number = 0; v->data && i < f->parameters.len; i++) {
        if (f->parameters.at[i].role != FG_INPUT)
            continue;
        if (strcmp(f->parameters.at[i].tensor->name, name) == 0)
            return number < v->data->inputs.len ? &v->data->inputs.at[number] : NULL;
        number++;
    }
    return NULL;
}

// "x=empty:[2, 3]"
static run_word shape_word(arena *a, const char *name, const ten_tensor *t)
{
    str_buf text;
    str_buf_init(&text, a);
    str_addf(&text, "%s=empty%s", name, t->rank ? ":[" : "");
    for (int d = 0; d < t->rank; d++)
        str_addf(&text, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
    str_adds(&text, t->rank ? "]" : "");
    const char *word = str_text(&text);
    return (run_word){.text = word, .name = name, .value = word + strlen(name) + 1};
}

// The data's shapes are those of the inputs.
static void add_data_words(variant *v)
{
    const fg_function *f = &v->run.model->run;
    for (size_t i = 0; v->data && i < f->parameters.len; i++) {
        const char *name = f->parameters.at[i].tensor->name;
        const ten_tensor *t = data_of(v, name);
        if (t)
            VEC_PUSH(&v->run.unit.memory, &v->request.words, shape_word(&v->run.unit.memory, name, t));
    }
}

// Its inputs and weights have the numbers of the program before it. Weights that this one reads only at load have the
// same numbers by their names.
static void take_given(variant *v)
{
    for (size_t i = 0; i < v->run.arguments.len; i++) {
        run_argument *a = &v->run.arguments.at[i];
        const run_argument *other = v->from && a->is_tensor ? argument_of(&v->from->run, a->name) : NULL;
        if (!v->from)
            a->given = data_of(v, a->name);
        if (other && (other->spec || (other->bound && !other->bound->is_prepared)))
            a->given = &other->tensor;
    }
}

// Words are for inputs: outputs have other names in the other programs.
static bool are_inputs(run_state *r)
{
    for (size_t i = 0; i < r->model->run.parameters.len; i++) {
        const fg_parameter *p = &r->model->run.parameters.at[i];
        const run_argument *a = argument_of(r, p->tensor->name);
        if (p->role == FG_INPUT || p->role == FG_WEIGHT ? !a->save && !a->prints : !a->spec && !a->save && !a->prints)
            continue;
        diag_report(&r->unit.diags, HDS0630, (src_span){0, 0}, a->name,
                    p->role == FG_INPUT || p->role == FG_WEIGHT
                        ? "cannot be printed or saved: a report takes inputs alone, 'hdsc run' shows tensors"
                        : "is no input: a report takes inputs alone, 'hdsc run' shows outputs");
        r->is_usage_error = true;
        return false;
    }
    return true;
}

static bool is_model(run_state *r)
{
    if (pl_has_graphs(&r->unit))
        return true;
    diag *d = diag_report(&r->unit.diags, HDS0643, (src_span){0, 0}, r->unit.input_name, "has no model");
    diag_help(d, "a model is a function under @hidet.graph; 'hdsc run' runs kernels and operators");
    return false;
}

static void body(pl_unit *u)
{
    variant *v = (variant *)u;
    run_state *r = &v->run;
    uint64_t result = 0;
    const sim_translate_options how = {.index_overflow = true};
    if (!pl_open_source(u, u->options->input) || !is_model(r) || !pl_module_for_simulation(u, PL_SIMULATED_LEVEL, NULL))
        return;
    r->program = sim_translate(&u->memory, u->module, &how);
    if (!cmd_run_choose_entry(r))
        return;
    cmd_run_find_model(r);
    add_data_words(v);
    if (!cmd_run_check_defines(r) || !cmd_run_bind(r) || !are_inputs(r))
        return;
    take_given(v);
    sim_options options = cmd_run_options(r);
    r->device = sim_new(&u->memory, &options);
    if (!cmd_run_fill(r))
        return;
    if (cmd_run_load(r))
        cmd_run_call(r, &result);
    else
        sim_findings_report(r->device, &u->diags);
    v->is_done = r->status != SIM_STOPPED && !u->diags.shown_errors;
}

// Words for a program that is given its tensors: they say shapes alone. Numbers, which are sizes, stay.
static void add_words(variant *v, arena *a)
{
    const run_state *first = &v->from->run;
    const run_request *q = first->request;
    memset(&v->request.words, 0, sizeof v->request.words);
    for (size_t i = 0; i < q->words.len; i++) {
        const run_argument *x = argument_of(first, q->words.at[i].name);
        run_word word = q->words.at[i];
        if (x->is_tensor && x->spec)
            word = shape_word(a, x->name, &x->tensor);
        VEC_PUSH(a, &v->request.words, word);
    }
}

static bool run_variant(variant *v, const request *q, pl_graph_form form, const variant *from)
{
    v->request = q->run;
    v->request.no_races = true;
    v->request.shared.options.graph_form = form;
    v->from = from;
    v->data = from || !q->data.outputs.len ? NULL : &q->data;
    v->run.request = &v->request;
    if (from)
        add_words(v, (arena *)&from->run.unit.memory);
    pl_unit_init(&v->run.unit, &v->request.shared.options, q->run.shared.options.archs[0], pl_now_us());
    pl_unit_run_deep(&v->run.unit, body);
    v->run.unit.memory.oom = &cmd_oom;
    return v->is_done;
}

// ---- the report ----------------------------------------------------------------------------------------------------

typedef struct programs {
    variant split, exact, optimized;
} programs;

static const fg_graph *graph_of(const run_state *r)
{
    return r->unit.graphs.at[r->model - r->unit.models.at];
}

// Operands of the product are rounded to as many digits as those of 16 bits.
static bool is_tf32(const fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor < 0 && strcmp(n->arguments.at[k].value, "'tf32'") == 0)
            return true;
    return false;
}

// Of each tensor of the graph. A f32 tensor that is computed from f16 ones is no better than these; what a run is given
// is exact, whatever its type.
static double *find_bounds(const fg_graph *g, const run_state *r, arena *a)
{
    double *bounds = ARENA_ARRAY(a, double, g->tensors.len + 1);
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        const fg_node *n = &g->nodes.at[t->maker];
        bounds[t->number] = report_bound(is_tf32(n) ? DT_F16 : argument_of(r, t->name)->tensor.type);
        for (size_t k = 0; k < n->arguments.len; k++) {
            int operand = n->arguments.at[k].tensor;
            if (operand >= 0 && bounds[operand] > bounds[t->number])
                bounds[t->number] = bounds[operand];
        }
    }
    return bounds;
}

static const ten_tensor *expected_of(const programs *p, int number)
{
    const run_state *r = &p->exact.run;
    return &argument_of(r, graph_of(r)->tensors.at[number].name)->tensor;
}

// Where the node has one operand that is a tensor of the graph.
static void find_ties(const programs *p, const fg_graph *g, report_row *row, const ten_tensor *expected)
{
    int operand = -1, count = 0;
    for (size_t k = 0; k < row->node->arguments.len; k++)
        if (row->node->arguments.at[k].tensor >= 0 && ++count)
            operand = row->node->arguments.at[k].tensor;
    const fg_tensor *t = count == 1 ? &g->tensors.at[operand] : NULL;
    if (t && row->is_wrong && t->maker >= 0)
        report_find_ties(row, expected, &argument_of(&p->split.run, t->name)->tensor, expected_of(p, t->number));
}

static void add_nodes(const programs *p, report *out, const double *bounds, arena *a)
{
    const fg_graph *g = graph_of(&p->split.run);
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        report_row row = {.node = &g->nodes.at[t->maker], .name = t->name};
        row.actual = &argument_of(&p->split.run, t->name)->tensor;
        report_measure(&row, expected_of(p, t->number), bounds[t->number]);
        find_ties(p, g, &row, expected_of(p, t->number));
        VEC_PUSH(a, &out->nodes, row);
    }
}

// Outputs of the model stand in the order in which it returns them, in all programs.
static void add_outputs(const programs *p, report *out, const double *bounds, arena *a)
{
    const fg_graph *g = graph_of(&p->optimized.run), *split = graph_of(&p->split.run);
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        int number = split->returned.at[i];
        report_row row = {.name = t->name, .actual = &argument_of(&p->optimized.run, t->name)->tensor};
        report_measure(&row, expected_of(p, number), bounds[number]);
        VEC_PUSH(a, &out->outputs, row);
    }
}

static void add_data(const request *q, const programs *p, report *out, const double *bounds, arena *a)
{
    const fg_graph *g = graph_of(&p->optimized.run), *split = graph_of(&p->split.run);
    out->data = q->data.outputs.len ? q->data.folder : NULL;
    for (size_t i = 0; i < g->outputs.len && i < q->data.outputs.len; i++) {
        const char *name = g->tensors.at[g->outputs.at[i]].name;
        report_row row = {.name = name, .actual = &argument_of(&p->optimized.run, name)->tensor};
        report_measure_data(&row, &q->data.outputs.at[i], bounds[split->returned.at[i]]);
        VEC_PUSH(a, &out->data_outputs, row);
    }
}

static int print_report(const request *q, programs *p)
{
    str_buf out;
    arena *a = &p->exact.run.unit.memory;
    report r = {.file = q->run.shared.options.input, .model = p->split.run.model->run.name};
    str_buf_init(&out, a);
    const double *bounds = find_bounds(graph_of(&p->split.run), &p->split.run, a);
    add_nodes(p, &r, bounds, a);
    add_outputs(p, &r, bounds, a);
    add_data(q, p, &r, bounds, a);
    if (q->json)
        report_json(&r, &out);
    else
        report_table(&r, &out);
    bool is_good = !report_count(&r.nodes) && !report_count(&r.outputs) && !report_count(&r.data_outputs);
    return cmd_print((str){out.at, out.len}) && is_good ? CMD_OK : CMD_ERRORS;
}

// The messages of what failed, or of the whole program, which `hdsc run` runs.
static int finish(variant *v, const char *what, const cmd_output *how)
{
    run_state *r = &v->run;
    if (what)
        fprintf(stderr, "hdsc report: %s cannot be run\n", what);
    if (r->unit.status == PL_NO_MEMORY)
        fprintf(stderr, "hdsc: out of memory while running '%s'\n", r->unit.options->input);
    cmd_print_diags(&r->unit.diags, how);
    return cmd_run_exit_code(r);
}

static void free_variant(variant *v)
{
    if (v->run.device)
        sim_free(v->run.device);
    if (v->run.request)
        pl_unit_free(&v->run.unit);
}

static int run(const request *q)
{
    programs p = {0};
    int code = CMD_OK;
    const cmd_output *how = &q->run.shared.diagnostics;
    if (!run_variant(&p.optimized, q, PL_GRAPHS_OPTIMIZED, NULL))
        code = finish(&p.optimized, NULL, how);
    else if (!run_variant(&p.split, q, PL_GRAPHS_SPLIT, &p.optimized))
        code = finish(&p.split, "the model node by node", how);
    else if (!run_variant(&p.exact, q, PL_GRAPHS_SPLIT_F64, &p.split))
        code = finish(&p.exact, "the model in f64", how);
    else
        code = print_report(q, &p);
    free_variant(&p.optimized);
    free_variant(&p.exact);
    free_variant(&p.split);
    return code;
}

// Reads the data, if there are some. False after saying why not.
static bool find_data(request *q)
{
    const char *why = NULL;
    arena *a = &q->run.shared.memory;
    if (!q->folder && !q->run.words.len)
        q->folder = report_data_find(a, q->run.shared.options.input);
    if (!q->folder || report_data_read(a, q->folder, &q->data, &why))
        return true;
    fprintf(stderr, "hdsc report: the test data cannot be read: %s\n", why);
    return false;
}

int cmd_report(int argc, char **argv)
{
    request q = {.run = {.rtol = -1, .atol = -1, .gpu_seconds = CMD_GPU_SECONDS}};
    cmd_parse_with(&q.run.shared, argc, argv, "FILE [NAME=SPEC...]", doc, table, take_own);
    q.run.shared.options.input = q.run.shared.inputs.at[0];
    cmd_run_find_operand_types(&q.run);
    int code = find_data(&q) ? run(&q) : CMD_ERRORS;
    report_data_close(&q.data);
    cmd_arguments_free(&q.run.shared);
    return code;
}
