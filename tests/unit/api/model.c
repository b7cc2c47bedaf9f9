// Models through libhds: weights bound by name, what is prepared from them, runs on the simulator and on the double of
// the driver.
#include <math.h>
#include <pthread.h>

#include <hds/model.h>

#include "fake_cuda.h"
#include "rig.h"
#include "runtime/driver.h"
#include "weights/weights.h"

enum { ROWS = 4, K = 16, N = 8 };

// The bias is scaled at load; w is read as it is.
static const char layer[] = "from hidet.lang import f32, weights\n"
                            "from activation import relu\n"
                            "from arithmetic import multiply\n"
                            "from matmul import linear\n"
                            "\n"
                            "W = weights()\n"
                            "\n"
                            "\n"
                            "@hidet.graph\n"
                            "def layer(x: f32[4, 16]):\n"
                            "    return relu(linear(x, W['w', f32[8, 16]], multiply(W['b', f32[8]], 2.0)))\n";

static float w[N * K], b[N];

static void write_weights(const rig *r, const char *name, const char *first, int64_t columns, char *path, size_t room)
{
    arena a;
    const char *error = NULL;
    const int64_t matrix[] = {N, columns}, vector[] = {N};
    const wt_entry entries[] = {{.name = first, .dtype = "f32", .rank = 2, .shape = matrix},
                                {.name = "b", .dtype = "f32", .rank = 1, .shape = vector}};
    const uint8_t *const bytes[] = {(const uint8_t *)w, (const uint8_t *)b};
    snprintf(path, room, "%s/%s", r->folder, name);
    arena_init(&a, NULL);
    if (!wt_write(&a, path, entries, bytes, 2, &error))
        fail_msg("%s", error);
    arena_free(&a);
}

static void fill(float *x)
{
    for (int i = 0; i < ROWS * K; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < N * K; i++)
        w[i] = (float)(i * 17 % 89) / 40 - 1;
    for (int i = 0; i < N; i++)
        b[i] = (float)i / 4 - 1;
}

static void expect_layer(const float *x, const float *y)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) {
            double sum = 2 * (double)b[j];
            for (int k = 0; k < K; k++)
                sum += (double)x[i * K + k] * (double)w[j * K + k];
            assert_true(fabs((double)y[i * N + j] - fmax(sum, 0)) < 1e-5);
        }
}

static hds_model *open_model(hds_program *p, const char *weights, bool simulate, size_t graphs)
{
    hds_model *m = NULL;
    hds_model_options o = HDS_MODEL_OPTIONS_INIT;
    o.weights = weights;
    o.simulate = simulate;
    o.graphs = graphs;
    if (hds_model_open(p, &o, &m) != HDS_OK)
        fail_msg("%s", hds_last_error());
    return m;
}

static void a_model_runs_on_the_simulator(void **state)
{
    const rig *r = *state;
    static float x[ROWS * K], y[ROWS * N];
    char path[160];
    rig_tensor tx, ty;
    fill(x);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    hds_program *p = rig_compile(r->compiler, "layer.hds", layer, NULL);
    hds_model *m = open_model(p, path, true, 0);
    hds_program_release(p);
    assert_int_equal(hds_model_parameter_count(m), 2);
    assert_string_equal(hds_model_parameter(m, 0)->name, "x");
    assert_string_equal(hds_model_parameter(m, 1)->name, "out");
    assert_null(hds_model_parameter(m, 2));
    assert_int_equal(hds_model_weight_bytes(m), (N * K + N + N) * (int)sizeof(float));
    const hds_argument a[] = {rig_host(&tx, x, ROWS, K, 0), rig_host(&ty, y, ROWS, N, 0)};
    for (int run = 0; run < 2; run++) {
        memset(y, 0, sizeof y);
        if (hds_model_simulate(m, a, 2, NULL) != HDS_OK)
            fail_msg("%s", hds_last_error());
        expect_layer(x, y);
    }
    rig_expect_error(hds_model_simulate(m, a, 1, NULL), HDS_INVALID_ARGUMENT, "'layer' takes 2 tensors");
    rig_expect_error(hds_model_run(m, a, 2, NULL), HDS_INVALID_ARGUMENT, "opened for the simulator");
    hds_model_release(m);
}

// In f16 a layer is the same but for rounding, for tensors of the same types, and it is another program.
static void a_precision_is_an_option(void **state)
{
    const rig *r = *state;
    static float x[ROWS * K], exact[ROWS * N], y[ROWS * N];
    char path[160];
    rig_tensor tx, ty;
    hds_program *p = NULL;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const hds_source source = {"layer.hds", layer, 0};
    fill(x);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    o.arch = "sm_80";
    for (int low = 0; low < 2; low++) {
        o.precision = low ? "f16" : NULL;
        p = rig_compile(r->compiler, "layer.hds", layer, &o);
        hds_model *m = open_model(p, path, true, 0);
        hds_program_release(p);
        const hds_argument a[] = {rig_host(&tx, x, ROWS, K, 0), rig_host(&ty, low ? y : exact, ROWS, N, 0)};
        assert_int_equal(hds_model_simulate(m, a, 2, NULL), HDS_OK);
        hds_model_release(m);
    }
    double worst = 0;
    for (int i = 0; i < ROWS * N; i++)
        worst = fmax(worst, fabs((double)y[i] - (double)exact[i]));
    assert_true(worst > 0 && worst < 0.1);
    o.precision = "f17";
    p = NULL;
    rig_expect_error(hds_compile(r->compiler, &source, &o, &p), HDS_INVALID_ARGUMENT,
                     "options->precision: 'f17' is none of f16, bf16, tf32, winograd and f32");
    assert_null(p);
}

// A name that there is not is reported as hdsc does, and without rewrites another program is made.
static void rewrites_are_options(void **state)
{
    const rig *r = *state;
    static const char doubled[] = "from hidet.lang import f32\n"
                                  "from arithmetic import multiply\n"
                                  "@hidet.graph\n"
                                  "def twice(x: f32[8]):\n"
                                  "    return multiply(multiply(x, 0.5), 0.25)\n";
    const hds_source source = {"twice.hds", doubled, 0};
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const char *const lists[][1] = {{"none"}, {"-two_factors"}, {"-two_fractors"}, {NULL}};
    const hds_status expected[] = {HDS_OK, HDS_OK, HDS_ERRORS, HDS_INVALID_ARGUMENT};
    o.arch = "sm_80";
    o.no_code = true;
    for (int i = 0; i < 4; i++) {
        hds_program *p = NULL;
        o.rewrites = lists[i];
        o.rewrite_count = 1;
        assert_int_equal(hds_compile(r->compiler, &source, &o, &p), expected[i]);
        if (i < 2)
            assert_int_equal(hds_program_origin(p), HDS_COMPILED);
        if (i == 2)
            assert_non_null(strstr(hds_program_diagnostic(p, 0)->rendered, "two_fractors"));
        hds_program_release(p);
    }
}

static void faults_of_weights_are_listed(void **state)
{
    const rig *r = *state;
    float x[ROWS * K];
    char path[160];
    hds_model *m = NULL;
    hds_model_options o = HDS_MODEL_OPTIONS_INIT;
    fill(x);
    hds_program *p = rig_compile(r->compiler, "layer.hds", layer, NULL);
    o.simulate = true;
    rig_expect_error(hds_model_open(p, &o, &m), HDS_INVALID_ARGUMENT, "the model names no file of weights");
    o.weights = "none.safetensors";
    rig_expect_error(hds_model_open(p, &o, &m), HDS_INVALID_ARGUMENT, "none.safetensors");
    write_weights(r, "other.safetensors", "v", K, path, sizeof path);
    o.weights = path;
    rig_expect_error(hds_model_open(p, &o, &m), HDS_INVALID_ARGUMENT, "'w' is missing, a f32[8, 16]");
    write_weights(r, "narrow.safetensors", "w", K - 1, path, sizeof path);
    rig_expect_error(hds_model_open(p, &o, &m), HDS_INVALID_ARGUMENT, "'w' is no f32[8, 16]");
    o.graph = "layers";
    rig_expect_error(hds_model_open(p, &o, &m), HDS_INVALID_ARGUMENT, "no graph function 'layers'");
    assert_null(m);
    hds_program_release(p);
    p = rig_compile(r->compiler, "scale.hds", rig_scale, NULL);
    rig_expect_error(hds_model_open(p, NULL, &m), HDS_INVALID_ARGUMENT, "has not one graph function");
    rig_expect_error(hds_model_open(NULL, NULL, &m), HDS_INVALID_ARGUMENT, "program is a null pointer");
    hds_program_release(p);
    hds_model_release(NULL);
}

// A graph for the first run; the same addresses launch it, others update it; an error of the driver leaves nothing
// behind.
// A model that states no types, and names a file that is not there.
static const char from_file[] = "from hidet.lang import f32, weights\n"
                                "from matmul import linear\n"
                                "\n"
                                "W = weights('elsewhere.safetensors')\n"
                                "\n"
                                "\n"
                                "@hidet.graph\n"
                                "def layer(x: f32[4, 16]):\n"
                                "    return linear(x, W['w'], W['b'])\n";

static hds_program *compile_with(const rig *r, const char *weights, hds_status wanted)
{
    hds_program *p = NULL;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const hds_source source = {.name = "from_file.hds", .text = from_file};
    o.arch = "sm_80";
    o.weights = weights;
    hds_status status = hds_compile(r->compiler, &source, &o, &p);
    if (status != wanted)
        fail_msg("%s: status %d, %s", weights ? weights : "NULL", (int)status, hds_last_error());
    return p;
}

static void a_program_is_compiled_for_a_file(void **state)
{
    const rig *r = *state;
    static float x[ROWS * K], y[ROWS * N];
    char good[160], narrow[160];
    rig_tensor tx, ty;
    fill(x);
    write_weights(r, "good.safetensors", "w", K, good, sizeof good);
    write_weights(r, "narrow.safetensors", "w", K - 1, narrow, sizeof narrow);
    hds_program_release(compile_with(r, NULL, HDS_ERRORS));
    hds_program *p = compile_with(r, good, HDS_OK);
    hds_program_release(compile_with(r, narrow, HDS_ERRORS)); // not what was compiled before
    hds_model *m = open_model(p, NULL, true, 0);              // with the file that it was compiled for
    const hds_argument a[] = {rig_host(&tx, x, ROWS, K, 0), rig_host(&ty, y, ROWS, N, 0)};
    if (hds_model_simulate(m, a, 2, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) {
            double sum = (double)b[j];
            for (int k = 0; k < K; k++)
                sum += (double)x[i * K + k] * (double)w[j * K + k];
            assert_true(fabs((double)y[i * N + j] - sum) < 1e-5);
        }
    hds_model_release(m);
    hds_program_release(p);
    hds_program_release(compile_with(r, "random", HDS_ERRORS)); // the types are not stated
    assert_null(compile_with(r, "random:x", HDS_INVALID_ARGUMENT));
    assert_non_null(strstr(hds_last_error(), "options->weights is 'random:x'"));
}

// Where the program is from, if it can be compiled for the file.
static hds_origin origin_with(const rig *r, hds_compiler *compiler, const char *weights)
{
    hds_program *p = NULL;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const hds_source source = {.name = "from_file.hds", .text = from_file};
    (void)r;
    o.arch = "sm_80";
    o.weights = weights;
    if (hds_compile(compiler, &source, &o, &p) != HDS_OK)
        fail_msg("%s", hds_last_error());
    hds_origin origin = hds_program_origin(p);
    hds_program_release(p);
    return origin;
}

// In memory and on the disk it is found as long as the file has the same tensors, whatever is in them.
static void a_program_for_a_file_is_kept(void **state)
{
    const rig *r = *state;
    float x[ROWS * K];
    char path[160];
    hds_program *p = NULL;
    hds_compiler *first = rig_compiler(r, FAKE_NVRTC, r->cache, 0), *second = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    assert_int_equal(origin_with(r, first, path), HDS_COMPILED);
    assert_int_equal(origin_with(r, first, path), HDS_FROM_MEMORY);
    assert_int_equal(origin_with(r, second, path), HDS_FROM_DISK);
    fill(x);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    assert_int_equal(origin_with(r, first, path), HDS_FROM_MEMORY);
    write_weights(r, "w.safetensors", "w", K - 1, path, sizeof path);
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const hds_source source = {.name = "from_file.hds", .text = from_file};
    o.arch = "sm_80";
    o.weights = path;
    assert_int_equal(hds_compile(first, &source, &o, &p), HDS_ERRORS); // not what was compiled before
    hds_program_release(p);
    assert_int_equal(hds_compile(second, &source, &o, &p), HDS_ERRORS);
    hds_program_release(p);
    hds_compiler_release(first);
    hds_compiler_release(second);
}

// The program of a model for the double of the driver; skips the test where there is no NVRTC.
static hds_program *compile_for_gpu(const rig *r, const char *name, const char *text, hds_compiler **compiler)
{
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    hds_program *p = NULL;
    options.arch = "sm_90";
    *compiler = rig_compiler(r, NULL, "", 0);
    if (hds_compile(*compiler, &(hds_source){name, text, 0}, &options, &p) == HDS_NO_TOOLCHAIN) {
        hds_program_release(p);
        hds_compiler_release(*compiler);
        skip();
    }
    assert_non_null(p);
    return p;
}

static void graphs_are_kept(void **state)
{
    const rig *r = *state;
    float x[ROWS * K];
    char path[160];
    void *memory[4];
    fill(x);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    hds_compiler *compiler;
    hds_program *p = compile_for_gpu(r, "layer.hds", layer, &compiler);
    int live = fake_cuda_live("memory");
    hds_model *m = open_model(p, path, false, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(hdsrt_allocate(&memory[i], ROWS * K * 4, NULL), HDSRT_OK);
    int made = fake_cuda_calls("cuGraphInstantiateWithFlags"), updated = fake_cuda_calls("cuGraphExecUpdate_v2");
    int launched = fake_cuda_calls("cuGraphLaunch");
    const int uses[][2] = {{0, 1}, {0, 1}, {2, 3}, {2, 3}, {0, 1}};
    for (int i = 0; i < 5; i++) {
        const hds_argument a[] = {hds_pointer(memory[uses[i][0]]), hds_pointer(memory[uses[i][1]])};
        if (hds_model_run(m, a, 2, NULL) != HDS_OK)
            fail_msg("%s", hds_last_error());
    }
    assert_int_equal(fake_cuda_calls("cuGraphInstantiateWithFlags") - made, 1);
    assert_int_equal(fake_cuda_calls("cuGraphExecUpdate_v2") - updated, 2);
    assert_int_equal(fake_cuda_calls("cuGraphLaunch") - launched, 5);
    const hds_argument same[] = {hds_pointer(memory[0]), hds_pointer(memory[0])};
    rig_expect_error(hds_model_run(m, same, 2, NULL), HDS_INVALID_ARGUMENT, "overlap");
    fake_cuda_fail("cuGraphLaunch", 1, 700);
    const hds_argument a[] = {hds_pointer(memory[0]), hds_pointer(memory[1])};
    assert_int_equal(hds_model_run(m, a, 2, NULL), HDS_DEVICE);
    fake_cuda_fail("cuStreamBeginCapture_v2", 1, 2);
    const hds_argument other[] = {hds_pointer(memory[2]), hds_pointer(memory[1])};
    assert_true(hds_model_run(m, other, 2, NULL) != HDS_OK);
    assert_int_equal(hds_model_run(m, other, 2, NULL), HDS_OK);
    rig_expect_error(hds_model_simulate(m, a, 2, NULL), HDS_INVALID_ARGUMENT, "opened for a GPU");
    for (int i = 0; i < 4; i++)
        hdsrt_release(memory[i], NULL);
    hds_model_release(m);
    hds_program_release(p);
    hds_compiler_release(compiler);
    assert_int_equal(fake_cuda_live("memory"), live);
}

// Two layers: what is between them is in the workspace.
static const char two_layers[] = "from hidet.lang import f32, weights\n"
                                 "from activation import relu\n"
                                 "from matmul import linear, matmul\n"
                                 "\n"
                                 "W = weights()\n"
                                 "\n"
                                 "\n"
                                 "@hidet.graph\n"
                                 "def layers[M: int](x: f32[M, 16]):\n"
                                 "    return matmul(relu(linear(x, W['w', f32[8, 16]], W['b', f32[8]])), W['w', f32[8, 16]])\n";

enum { STREAMS = 6, RUNS = 20 };

typedef struct runner {
    hds_model *model;
    hdsrt_stream stream;
    float *x, *y;
    int rows, failures;
    pthread_barrier_t *start;
} runner;

static void *run_often(void *argument)
{
    runner *r = argument;
    r->failures += hdsrt_use_device(0) != HDSRT_OK;
    pthread_barrier_wait(r->start);
    for (int i = 0; i < RUNS; i++) {
        const hds_argument a[] = {hds_pointer(r->x), hds_pointer(r->y), hds_int(r->rows)};
        r->failures += hds_model_run(r->model, a, 3, r->stream) != HDS_OK;
    }
    return NULL;
}

// A thread for each stream, [rows] rows; then all is as before. The number of graphs that were made.
static int run_on_streams(hds_model *m, hdsrt_stream *streams, float *memory, int rows)
{
    pthread_t threads[STREAMS];
    runner runners[STREAMS];
    pthread_barrier_t start;
    int made = fake_cuda_calls("cuGraphInstantiateWithFlags");
    pthread_barrier_init(&start, NULL, STREAMS);
    for (int i = 0; i < STREAMS; i++) {
        runners[i] = (runner){m, streams[i], memory + i * 256, memory + i * 256 + 128, rows, 0, &start};
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
    }
    for (int i = 0; i < STREAMS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(runners[i].failures, 0);
    }
    pthread_barrier_destroy(&start);
    return fake_cuda_calls("cuGraphInstantiateWithFlags") - made;
}

typedef struct operations {
    int captures, updates, launches, kernels, waits, allocations;
} operations;

static operations now(void)
{
    return (operations){fake_cuda_calls("cuStreamBeginCapture_v2"), fake_cuda_calls("cuGraphExecUpdate_v2"),
                        fake_cuda_calls("cuGraphLaunch"), fake_cuda_calls("cuLaunchKernel") + fake_cuda_calls("cuLaunchKernelEx"),
                        fake_cuda_calls("cuStreamSynchronize") + fake_cuda_calls("cuCtxSynchronize"),
                        fake_cuda_calls("cuMemAlloc_v2") + fake_cuda_calls("cuMemAllocAsync")};
}

// What a run asks of the driver.
static operations asked_by(hds_model *m, float *x, float *y, hdsrt_stream stream)
{
    const hds_argument a[] = {hds_pointer(x), hds_pointer(y), hds_int(4)};
    operations before = now();
    if (hds_model_run(m, a, 3, stream) != HDS_OK)
        fail_msg("%s", hds_last_error());
    operations o = now();
    return (operations){o.captures - before.captures, o.updates - before.updates, o.launches - before.launches,
                        o.kernels - before.kernels,   o.waits - before.waits,     o.allocations - before.allocations};
}

static void check_operations(hds_model *m, float *memory, hdsrt_stream stream)
{
    operations first = asked_by(m, memory, memory + 128, stream);
    assert_int_equal(first.captures, 1);
    assert_int_equal(first.allocations, 1);
    operations again = asked_by(m, memory, memory + 128, stream);
    assert_memory_equal(&again, (&(operations){.launches = 1}), sizeof again);
    operations elsewhere = asked_by(m, memory + 256, memory + 384, stream);
    // The size is open: its workspace is allocated in the graph.
    const operations wanted = {.captures = 1, .updates = 1, .launches = 1, .kernels = first.kernels, .allocations = 1};
    assert_memory_equal(&elsewhere, &wanted, sizeof elsewhere);
}

// A model of each GPU, from one program; and none runs in the other's context.
static void each_context_has_a_model(void **state)
{
    const rig *r = *state;
    float x[ROWS * K];
    char path[160];
    hds_model *models[2];
    void *memory[2];
    fake_cuda_devices(2);
    fill(x);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    hds_compiler *compiler;
    hds_program *p = compile_for_gpu(r, "layers.hds", two_layers, &compiler);
    int live = fake_cuda_live("memory");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hdsrt_use_device(i), HDSRT_OK);
        models[i] = open_model(p, path, false, 0);
        assert_int_equal(hdsrt_allocate(&memory[i], 256 * 4, NULL), HDSRT_OK);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) {
            fake_cuda_launch l;
            const hds_argument a[] = {hds_pointer(memory[i]), hds_pointer((float *)memory[i] + 128), hds_int(4)};
            assert_int_equal(hdsrt_use_device(i), HDSRT_OK);
            assert_int_equal(hds_model_run(models[i], a, 3, NULL), HDS_OK);
            assert_true(round || (fake_cuda_launch_at(fake_cuda_launches() - 1, &l) && l.device == i));
            rig_expect_error(hds_model_run(models[1 - i], a, 3, NULL), HDS_INVALID_ARGUMENT,
                             "'layers': it was opened in another context than the current one: open it in each");
        }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hdsrt_use_device(i), HDSRT_OK);
        hds_model_release(models[i]);
        hdsrt_release(memory[i], NULL);
    }
    assert_int_equal(hdsrt_use_device(0), HDSRT_OK);
    hds_program_release(p);
    hds_compiler_release(compiler);
    assert_int_equal(fake_cuda_live("memory"), live);
}

// Runs on several streams are in flight at once; with fewer graphs than streams, what is dropped is waited for.
static void runs_are_in_flight_together(void **state)
{
    const rig *r = *state;
    float x[ROWS * K];
    char path[160];
    void *memory;
    hdsrt_stream streams[STREAMS];
    fill(x);
    write_weights(r, "w.safetensors", "w", K, path, sizeof path);
    hds_compiler *compiler;
    hds_program *p = compile_for_gpu(r, "layers.hds", two_layers, &compiler);
    const hdsrt_driver *cuda = hdsrt_driver_get();
    assert_non_null(cuda);
    int live = fake_cuda_live("memory");
    operations before = now();
    hds_model *m = open_model(p, path, false, 0);
    assert_int_equal(now().waits - before.waits, 1); // nothing runs at load, and the copies are waited for all the same
    hds_model *narrow = open_model(p, path, false, 2);
    assert_int_equal(hdsrt_allocate(&memory, STREAMS * 256 * 4, NULL), HDSRT_OK);
    for (int i = 0; i < STREAMS; i++)
    {
        void *stream = NULL;
        assert_int_equal(cuda->stream_create(&stream, 1), 0);
        streams[i] = stream;
    }
    int opened = fake_cuda_live("memory");
    check_operations(m, memory, streams[0]);
    assert_int_equal(run_on_streams(m, streams, memory, 4), STREAMS - 1); // the first is there
    assert_int_equal(run_on_streams(m, streams, memory, 4), 0);
    assert_int_equal(run_on_streams(m, streams, memory, 3), STREAMS);
    int waits = fake_cuda_calls("cuCtxSynchronize");
    assert_true(run_on_streams(narrow, streams, memory, 4) >= STREAMS);
    assert_true(fake_cuda_calls("cuCtxSynchronize") > waits);
    assert_int_equal(fake_cuda_live("memory"), opened);
    hds_model_release(m);
    hds_model_release(narrow);
    hdsrt_release(memory, NULL);
    for (int i = 0; i < STREAMS; i++)
        cuda->stream_destroy(streams[i]);
    hds_program_release(p);
    hds_compiler_release(compiler);
    assert_int_equal(fake_cuda_live("memory"), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_runs_on_the_simulator, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(a_precision_is_an_option, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(rewrites_are_options, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(faults_of_weights_are_listed, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(a_program_for_a_file_is_kept, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(a_program_is_compiled_for_a_file, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(graphs_are_kept, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(each_context_has_a_model, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(runs_are_in_flight_together, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
