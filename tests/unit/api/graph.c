// Graphs that a program builds: their text, their JSON, what is wrong with them, and runs against loops.
#include <math.h>

#include <hds/graph.h>
#include <hds/model.h>

#include "fake_cuda.h"
#include "rig.h"
#include "runtime/driver.h"
#include "weights/weights.h"

enum { K = 16, N = 8, MOST_ROWS = 5 };

static int number_of(hds_graph *g, const char *name, const char *op, const hds_value *arguments, size_t count)
{
    int result = -1;
    const hds_node node = {name, op, arguments, count, 0};
    if (hds_graph_node(g, &node, &result) != HDS_OK)
        fail_msg("%s", hds_last_error());
    return result;
}

// relu(linear(x, w, b)) + 0.5, and the sums of its rows, for any number of rows.
static hds_graph *layer_graph(void)
{
    hds_graph *g = NULL;
    int x, w, b, half;
    const int64_t matrix[] = {N, K}, vector[] = {N};
    assert_int_equal(hds_graph_new("layer", &g), HDS_OK);
    assert_int_equal(hds_graph_input(g, "x", "f32", (hds_extent[]){{0, "B"}, {K, NULL}}, 2, &x), HDS_OK);
    assert_int_equal(hds_graph_weight(g, "fc.weight", NULL, "f32", matrix, 2, &w), HDS_OK);
    assert_int_equal(hds_graph_weight(g, "fc.bias", NULL, "f32", vector, 1, &b), HDS_OK);
    assert_int_equal(hds_graph_constant(g, "f32", vector, 1, 0.5, &half), HDS_OK);
    const hds_value operands[] = {hds_value_tensor(x), hds_value_tensor(w), hds_value_tensor(b)};
    int y = number_of(g, "fc", "matmul.linear", operands, 3);
    y = number_of(g, "act", "activation.relu", (hds_value[]){hds_value_tensor(y)}, 1);
    y = number_of(g, NULL, "arithmetic.add", (hds_value[]){hds_value_tensor(y), hds_value_tensor(half)}, 2);
    int sums = number_of(g, "sums", "reduction.sum", (hds_value[]){hds_value_tensor(y), hds_value_int("axis", -1)}, 2);
    assert_int_equal(hds_graph_output(g, y, "scores"), HDS_OK);
    assert_int_equal(hds_graph_output(g, sums, "sums"), HDS_OK);
    return g;
}

static const char layer_text[] = "from creation import full\n"
                                 "from matmul import linear\n"
                                 "from activation import relu\n"
                                 "from arithmetic import add\n"
                                 "from reduction import sum\n"
                                 "import hidet\n"
                                 "from hidet.lang import f32\n"
                                 "from hidet.lang import weights\n"
                                 "\n"
                                 "_W0 = weights()\n"
                                 "\n"
                                 "\n"
                                 "@hidet.graph\n"
                                 "def layer[B: int](x: f32[B, 16]):\n"
                                 "    t1 = _W0[\"fc.weight\", f32[8, 16]]\n"
                                 "    t2 = _W0[\"fc.bias\", f32[8]]\n"
                                 "    t3 = full(size=(8, ), fill_value=0.5, dtype=f32)\n"
                                 "    t4 = linear(x, t1, t2)\n"
                                 "    t5 = relu(t4)\n"
                                 "    t6 = add(t5, t3)\n"
                                 "    t7 = sum(t6, axis=-1)\n"
                                 "    return {\"scores\": t6, \"sums\": t7}\n";

static void a_graph_is_a_graph_function(void **state)
{
    const rig *r = *state;
    hds_graph *g = layer_graph();
    const char *json = NULL;
    assert_string_equal(hds_graph_text(g), layer_text);
    if (hds_graph_verify(r->compiler, g, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    if (hds_graph_json(r->compiler, g, NULL, &json) != HDS_OK)
        fail_msg("%s", hds_last_error());
    assert_non_null(strstr(json, "\"operator\": \"linear\""));
    assert_non_null(strstr(json, "{\"text\": \"B\""));
    hds_graph_release(g);
}

static float w[N * K], b[N], x[MOST_ROWS * K];

static void fill(void)
{
    for (int i = 0; i < MOST_ROWS * K; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < N * K; i++)
        w[i] = (float)(i * 17 % 89) / 40 - 1;
    for (int i = 0; i < N; i++)
        b[i] = (float)i / 4 - 1;
}

static void write_weights(const rig *r, char *path, size_t room)
{
    arena a;
    const char *error = NULL;
    const int64_t matrix[] = {N, K}, vector[] = {N};
    const wt_entry entries[] = {{.name = "fc.weight", .dtype = "f32", .rank = 2, .shape = matrix},
                                {.name = "fc.bias", .dtype = "f32", .rank = 1, .shape = vector}};
    const uint8_t *const bytes[] = {(const uint8_t *)w, (const uint8_t *)b};
    snprintf(path, room, "%s/w.safetensors", r->folder);
    arena_init(&a, NULL);
    if (!wt_write(&a, path, entries, bytes, 2, &error))
        fail_msg("%s", error);
    arena_free(&a);
}

static void expect_layer(const float *scores, const float *sums, int rows)
{
    for (int i = 0; i < rows; i++) {
        double of_row = 0;
        for (int j = 0; j < N; j++) {
            double dot = (double)b[j];
            for (int k = 0; k < K; k++)
                dot += (double)x[i * K + k] * (double)w[j * K + k];
            assert_true(fabs((double)scores[i * N + j] - fmax(dot, 0) - 0.5) < 1e-5);
            of_row += fmax(dot, 0) + 0.5;
        }
        assert_true(fabs((double)sums[i] - of_row) < 1e-4);
    }
}

static void a_graph_runs_on_the_simulator(void **state)
{
    const rig *r = *state;
    char path[160];
    hds_graph *g = layer_graph();
    hds_program *p = NULL;
    hds_model *m = NULL;
    hds_compile_options how = HDS_COMPILE_OPTIONS_INIT;
    hds_model_options options = HDS_MODEL_OPTIONS_INIT;
    fill();
    write_weights(r, path, sizeof path);
    how.arch = "sm_80";
    how.no_code = true;
    if (hds_graph_compile(r->compiler, g, &how, &p) != HDS_OK)
        fail_msg("%s", hds_last_error());
    hds_graph_release(g);
    options.weights = path;
    options.simulate = true;
    if (hds_model_open(p, &options, &m) != HDS_OK)
        fail_msg("%s", hds_last_error());
    for (int rows = 0; rows <= MOST_ROWS; rows += rows ? 2 : 1) {
        float scores[MOST_ROWS * N], sums[MOST_ROWS];
        rig_tensor tx, ty, tz;
        const hds_argument a[] = {rig_host(&tx, x, rows, K, 0), rig_host(&ty, scores, rows, N, 0), rig_host(&tz, sums, rows, 0, 0)};
        if (hds_model_simulate(m, a, 3, NULL) != HDS_OK)
            fail_msg("%s", hds_last_error());
        expect_layer(scores, sums, rows);
    }
    hds_model_release(m);
    hds_program_release(p);
}

// relu(x) and the sums of x's columns, where x has no rows.
static void tensors_may_have_no_elements(void **state)
{
    const rig *r = *state;
    hds_graph *g = NULL;
    hds_program *p = NULL;
    hds_model *m = NULL;
    hds_compile_options how = HDS_COMPILE_OPTIONS_INIT;
    hds_model_options options = HDS_MODEL_OPTIONS_INIT;
    int x0;
    assert_int_equal(hds_graph_new("nothing", &g), HDS_OK);
    assert_int_equal(hds_graph_input(g, "x", "f32", (hds_extent[]){{0, NULL}, {4, NULL}}, 2, &x0), HDS_OK);
    int y = number_of(g, "act", "activation.relu", (hds_value[]){hds_value_tensor(x0)}, 1);
    int sums = number_of(g, "sums", "reduction.sum", (hds_value[]){hds_value_tensor(y), hds_value_int("axis", 0)}, 2);
    assert_int_equal(hds_graph_output(g, y, "y"), HDS_OK);
    assert_int_equal(hds_graph_output(g, sums, "sums"), HDS_OK);
    how.arch = "sm_80";
    how.no_code = true;
    if (hds_graph_compile(r->compiler, g, &how, &p) != HDS_OK)
        fail_msg("%s", hds_last_error());
    hds_graph_release(g);
    float of_columns[4] = {1, 2, 3, 4};
    rig_tensor tx, ty, tz;
    const hds_argument a[] = {rig_host(&tx, NULL, 0, 4, 0), rig_host(&ty, NULL, 0, 4, 0), rig_host(&tz, of_columns, 4, 0, 0)};
    options.simulate = true;
    if (hds_model_open(p, &options, &m) != HDS_OK || hds_model_simulate(m, a, 3, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    for (int i = 0; i < 4; i++)
        assert_true(of_columns[i] == 0);
    hds_model_release(m);
    hds_program_release(p);
}

// Machine code by NVRTC, launched on the double of the driver; skipped where there is no NVRTC.
static void a_graph_is_compiled_for_a_gpu(void **state)
{
    const rig *r = *state;
    char path[160];
    void *memory[3];
    hds_graph *g = layer_graph();
    hds_program *p = NULL;
    hds_model *m = NULL;
    hds_compile_options how = HDS_COMPILE_OPTIONS_INIT;
    hds_model_options options = HDS_MODEL_OPTIONS_INIT;
    hds_compiler *compiler = rig_compiler(r, NULL, "", 0);
    fill();
    write_weights(r, path, sizeof path);
    how.arch = "sm_90";
    hds_status status = hds_graph_compile(compiler, g, &how, &p);
    hds_graph_release(g);
    hds_compiler_release(compiler);
    if (status == HDS_NO_TOOLCHAIN) {
        hds_program_release(p);
        skip();
    }
    options.weights = path;
    if (status != HDS_OK || hds_model_open(p, &options, &m) != HDS_OK)
        fail_msg("%s", hds_last_error());
    assert_int_equal(hds_model_parameter_count(m), 4);
    assert_string_equal(hds_model_parameter(m, 1)->name, "scores");
    for (int i = 0; i < 3; i++)
        assert_int_equal(hdsrt_allocate(&memory[i], MOST_ROWS * K * 4, NULL), HDSRT_OK);
    int launched = fake_cuda_calls("cuGraphLaunch");
    const hds_argument a[] = {hds_pointer(memory[0]), hds_pointer(memory[1]), hds_pointer(memory[2]), hds_int(MOST_ROWS)};
    if (hds_model_run(m, a, 4, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    assert_int_equal(fake_cuda_calls("cuGraphLaunch") - launched, 1);
    int kernels = fake_cuda_calls("cuLaunchKernel") + fake_cuda_calls("cuLaunchKernelEx");
    const hds_argument none[] = {hds_pointer(memory[0]), hds_pointer(memory[1]), hds_pointer(memory[2]), hds_int(0)};
    if (hds_model_run(m, none, 4, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    kernels = fake_cuda_calls("cuLaunchKernel") + fake_cuda_calls("cuLaunchKernelEx") - kernels;
    assert_int_equal(kernels, 1); // that of the constant, which has elements
    for (int i = 0; i < 3; i++)
        hdsrt_release(memory[i], NULL);
    hds_model_release(m);
    hds_program_release(p);
}

static void mistakes_name_the_node(void **state)
{
    const rig *r = *state;
    hds_graph *g = NULL;
    int x0, w0, y;
    hds_program *p = NULL;
    assert_int_equal(hds_graph_new("model", &g), HDS_OK);
    assert_int_equal(hds_graph_input(g, "x", "f16", (hds_extent[]){{4, NULL}, {8, NULL}}, 2, &x0), HDS_OK);
    assert_int_equal(hds_graph_input(g, "w", "f16", (hds_extent[]){{16, NULL}, {9, NULL}}, 2, &w0), HDS_OK);
    assert_null(hds_graph_text(g));
    rig_expect_error(hds_graph_verify(r->compiler, g, NULL), HDS_INVALID_ARGUMENT, "has no outputs");
    y = number_of(g, "fc 1", "matmul.linear", (hds_value[]){hds_value_tensor(x0), hds_value_tensor(w0)}, 2);
    assert_int_equal(hds_graph_output(g, y, NULL), HDS_OK);
    rig_expect_error(hds_graph_verify(r->compiler, g, NULL), HDS_ERRORS, "node 'fc 1' (matmul.linear): ");
    rig_expect_error(hds_graph_verify(r->compiler, g, NULL), HDS_ERRORS, "f16[16, 8]");
    hds_compile_options how = HDS_COMPILE_OPTIONS_INIT;
    how.arch = "sm_80";
    how.no_code = true;
    rig_expect_error(hds_graph_compile(r->compiler, g, &how, &p), HDS_ERRORS, "node 'fc 1' (matmul.linear): ");
    assert_non_null(p);
    hds_program_release(p);
    hds_graph_release(g);
}

static void unknown_operators_name_the_node(void **state)
{
    const rig *r = *state;
    static const char *const ops[] = {"matmul.liner", "matmull.linear"};
    for (int k = 0; k < 2; k++) {
        hds_graph *g = NULL;
        int x0;
        char expected[64];
        assert_int_equal(hds_graph_new("model", &g), HDS_OK);
        assert_int_equal(hds_graph_input(g, "x", "f16", (hds_extent[]){{4, NULL}}, 1, &x0), HDS_OK);
        int y = number_of(g, "first", "activation.relu", (hds_value[]){hds_value_tensor(x0)}, 1);
        y = number_of(g, "second", ops[k], (hds_value[]){hds_value_tensor(y)}, 1);
        assert_int_equal(hds_graph_output(g, y, NULL), HDS_OK);
        snprintf(expected, sizeof expected, "node 'second' (%s): ", ops[k]);
        rig_expect_error(hds_graph_verify(r->compiler, g, NULL), HDS_ERRORS, expected);
        hds_graph_release(g);
    }
}

static void invalid_calls_are_refused(void **state)
{
    (void)state;
    hds_graph *g = NULL;
    int t, y;
    const hds_extent four[] = {{4, NULL}}, named[] = {{0, "B"}}, less[] = {{-1, NULL}};
    rig_expect_error(hds_graph_new("a b", &g), HDS_INVALID_ARGUMENT, "identifier");
    rig_expect_error(hds_graph_new("def", &g), HDS_INVALID_ARGUMENT, "identifier");
    rig_expect_error(hds_graph_new(NULL, &g), HDS_INVALID_ARGUMENT, "identifier");
    assert_int_equal(hds_graph_new("g", &g), HDS_OK);
    rig_expect_error(hds_graph_input(NULL, "x", "f32", four, 1, &t), HDS_INVALID_ARGUMENT, "graph is a null pointer");
    rig_expect_error(hds_graph_input(g, "x", "f33", four, 1, &t), HDS_INVALID_ARGUMENT, "no type of elements 'f33'");
    rig_expect_error(hds_graph_input(g, "x", "f32", less, 1, &t), HDS_INVALID_ARGUMENT, "an extent of 'x'");
    rig_expect_error(hds_graph_input(g, "x", "f32", NULL, 1, &t), HDS_INVALID_ARGUMENT, "axes");
    rig_expect_error(hds_graph_input(g, "x", "f32", four, 9, &t), HDS_INVALID_ARGUMENT, "8 at most");
    rig_expect_error(hds_graph_input(g, "t7", "f32", four, 1, &t), HDS_INVALID_ARGUMENT, "not 't7'");
    rig_expect_error(hds_graph_input(g, "x);import os", "f32", four, 1, &t), HDS_INVALID_ARGUMENT, "identifier");
    assert_int_equal(hds_graph_input(g, "x", "f32", named, 1, &t), HDS_OK);
    rig_expect_error(hds_graph_input(g, "x", "f32", four, 1, &t), HDS_INVALID_ARGUMENT, "not 'x'");
    rig_expect_error(hds_graph_input(g, "B", "f32", four, 1, &t), HDS_INVALID_ARGUMENT, "not 'B'");
    rig_expect_error(hds_graph_input(g, "y", "f32", (hds_extent[]){{0, "x"}}, 1, &t), HDS_INVALID_ARGUMENT, "an extent of 'y'");
    rig_expect_error(hds_graph_weight(g, "", NULL, "f32", (int64_t[]){4}, 1, &t), HDS_INVALID_ARGUMENT, "a weight has the name");
    const hds_value wrong[] = {hds_value_tensor(7)}, late[] = {hds_value_int("axis", 1), hds_value_tensor(0)};
    const hds_value expression[] = {hds_value_extents("shape", (hds_extent[]){{0, "__import__('os')"}}, 1)};
    rig_expect_error(hds_graph_node(g, &(hds_node){"n", "m.f", wrong, 1, 0}, &y), HDS_INVALID_ARGUMENT, "node 'n' (m.f): argument 0");
    rig_expect_error(hds_graph_node(g, &(hds_node){"n", "m.f", late, 2, 0}, &y), HDS_INVALID_ARGUMENT, "by position");
    rig_expect_error(hds_graph_node(g, &(hds_node){"n", "m.f", expression, 1, 0}, &y), HDS_INVALID_ARGUMENT, "no expression");
    rig_expect_error(hds_graph_node(g, &(hds_node){"n", "relu", NULL, 0, 0}, &y), HDS_INVALID_ARGUMENT, "with its module");
    rig_expect_error(hds_graph_node(g, &(hds_node){"n", "a..b", NULL, 0, 0}, &y), HDS_INVALID_ARGUMENT, "with its module");
    rig_expect_error(hds_graph_node(g, NULL, &y), HDS_INVALID_ARGUMENT, "node is a null pointer");
    rig_expect_error(hds_graph_output(g, 9, NULL), HDS_INVALID_ARGUMENT, "no tensor 9");
    assert_int_equal(hds_graph_output(g, 0, "a"), HDS_OK);
    rig_expect_error(hds_graph_output(g, 0, NULL), HDS_INVALID_ARGUMENT, "or none has");
    rig_expect_error(hds_graph_output(g, 0, "a"), HDS_INVALID_ARGUMENT, "already");
    hds_graph_release(g);
    hds_graph_release(NULL);
}

// All kinds of values; open sizes in extents of attributes; several results; texts with quotes.
static void values_of_all_kinds(void **state)
{
    const rig *r = *state;
    hds_graph *g = NULL;
    int x0, both[2];
    assert_int_equal(hds_graph_new("kinds", &g), HDS_OK);
    assert_int_equal(hds_graph_input(g, "max", "f32", (hds_extent[]){{0, "B"}, {6, NULL}}, 2, &x0), HDS_OK);
    const hds_value shape[] = {hds_value_tensor(x0), hds_value_extents("shape", (hds_extent[]){{0, "2 * B"}, {3, NULL}}, 2)};
    int y = number_of(g, "cut", "layout.reshape", shape, 2);
    y = number_of(g, "half", "arithmetic.cast", (hds_value[]){hds_value_tensor(y), hds_value_dtype("to", "f16")}, 2);
    y = number_of(g, "g", "activation.gelu", (hds_value[]){hds_value_tensor(y), hds_value_string("approximate", "tanh")}, 2);
    const hds_value number[] = {{NULL, HDS_VALUE_INT, {.integer = 2}, 0}, hds_value_tensor(y)};
    y = number_of(g, "minus", "arithmetic.subtract", number, 2);
    const hds_value bounds[] = {hds_value_tensor(y), hds_value_float("low", -HUGE_VAL), hds_value_float("high", 1.0)};
    y = number_of(g, "clamp", "arithmetic.clamp", bounds, 3);
    int top = number_of(g, NULL, "reduction.max", (hds_value[]){hds_value_tensor(y), hds_value_int("axis", 1)}, 2);
    const hds_value sorts[] = {hds_value_tensor(y), hds_value_bool("descending", true)};
    assert_int_equal(hds_graph_node(g, &(hds_node){"sorted", "sort.sort", sorts, 2, 2}, both), HDS_OK);
    assert_int_equal(hds_graph_output(g, top, NULL), HDS_OK);
    assert_int_equal(hds_graph_output(g, both[1], NULL), HDS_OK);
    if (hds_graph_verify(r->compiler, g, NULL) != HDS_OK)
        fail_msg("%s\n%s", hds_last_error(), hds_graph_text(g));
    assert_non_null(strstr(hds_graph_text(g), "from reduction import max as _reduction_max\n"));
    assert_non_null(strstr(hds_graph_text(g), "t1 = reshape(max, shape=(2 * B, 3, ))\n"));
    assert_non_null(strstr(hds_graph_text(g), "low=-inf, high=1.0)"));
    hds_graph_release(g);
}

// ---- progress ----------------------------------------------------------------------------------------------------------

typedef struct watcher {
    size_t calls, of_stage[3], done, count;
    hds_stage last;
    size_t ends_at;  // call; 0: none
} watcher;

static bool watch(void *user, const hds_progress *p)
{
    static const char *const texts[] = {"graph", "kernels", "machine code"};
    watcher *seen = user;
    assert_string_equal(p->name, "layer.hds");
    assert_string_equal(p->stage_text, texts[p->stage]);
    assert_true(p->stage >= seen->last);
    assert_true(p->done <= p->count);
    assert_true(p->stage != seen->last || p->done >= seen->done);
    seen->last = p->stage;
    seen->done = p->done;
    seen->count = p->count;
    seen->of_stage[p->stage]++;
    return ++seen->calls != seen->ends_at;
}

static hds_status compile_watched(const rig *r, hds_graph *g, watcher *seen, bool no_code, hds_program **program)
{
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    options.arch = "sm_80";
    options.no_code = no_code;
    options.progress = watch;
    options.progress_user = seen;
    return hds_graph_compile(r->compiler, g, &options, program);
}

static void progress_is_shown(void **state)
{
    const rig *r = *state;
    watcher seen = {0}, with_code = {0}, again = {0};
    hds_program *program;
    hds_graph *g = layer_graph();
    assert_int_equal(compile_watched(r, g, &seen, true, &program), HDS_OK);
    hds_program_release(program);
    assert_true(seen.of_stage[HDS_STAGE_GRAPH] > 0 && !seen.of_stage[HDS_STAGE_CODE]);
    assert_true(seen.last == HDS_STAGE_KERNELS && seen.count > 0 && seen.done == seen.count);
    assert_int_equal(compile_watched(r, g, &with_code, false, &program), HDS_OK);
    assert_true(with_code.of_stage[HDS_STAGE_CODE] > 0);
    assert_int_equal(with_code.count, hds_program_kernel_count(program));
    assert_int_equal(with_code.done, with_code.count);
    hds_program_release(program);
    assert_int_equal(compile_watched(r, g, &again, false, &program), HDS_OK);
    assert_int_equal(again.calls, 0);
    hds_program_release(program);
    hds_graph_release(g);
}

// Wherever it is ended, there is no program, and the next call compiles.
static void compiling_is_ended(void **state)
{
    const rig *r = *state;
    hds_program *program = NULL;
    hds_graph *g = layer_graph();
    hds_status status = HDS_INTERRUPTED;
    size_t ends = 1;
    while (status == HDS_INTERRUPTED) {
        watcher seen = {.ends_at = ends};
        status = compile_watched(r, g, &seen, false, &program);
        if (status != HDS_INTERRUPTED)
            break;
        rig_expect_error(status, HDS_INTERRUPTED, "compiling was interrupted");
        assert_null(program);
        assert_int_equal(seen.calls, ends);
        ends *= 2;
    }
    assert_int_equal(status, HDS_OK);
    assert_int_equal(hds_program_origin(program), HDS_COMPILED);
    assert_true(ends > 4);
    hds_program_release(program);
    hds_graph_release(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(progress_is_shown, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(compiling_is_ended, rig_set_up, rig_tear_down),
        cmocka_unit_test(a_graph_is_a_graph_function),    cmocka_unit_test(a_graph_runs_on_the_simulator),
        cmocka_unit_test(tensors_may_have_no_elements),
        cmocka_unit_test(a_graph_is_compiled_for_a_gpu),  cmocka_unit_test(mistakes_name_the_node),
        cmocka_unit_test(unknown_operators_name_the_node), cmocka_unit_test(invalid_calls_are_refused),
        cmocka_unit_test(values_of_all_kinds),
    };
    return cmocka_run_group_tests(tests, rig_set_up, rig_tear_down);
}
