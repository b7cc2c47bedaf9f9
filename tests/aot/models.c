// Opens and runs what models.hds became, on the double of the CUDA driver: weights from files and from bytes, what is wrong with
// them, and the graphs that runs replay.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "fake_cuda.h"
#include "models.h"

// Of the double.
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);

enum { TENSORS = 4, ROWS = 4, IN = 16, OUT = 8, FILE_ROOM = 16384 };

// ---- files of weights --------------------------------------------------------------------------------------------

static const struct {
    const char *name, *shape;
    int count;
} stored[TENSORS] = {{"first.weight", "32, 16", 512}, {"first.bias", "32", 32}, {"second.weight", "32, 32", 1024},
                     {"third.weight", "8, 32", 256}};

static float numbers[2048];

// Tensors [begin] to [end], which is not reached: the header, with its length before it, and the tensors' bytes. Tensor [wrong], of
// 1024 numbers, has another shape, and [absent] is not there; -1: none.
static size_t make_part(char *file, int begin, int end, int wrong, int absent)
{
    char header[1024] = "{";
    size_t used = 1, bytes = 0;
    for (int i = begin; i < end; i++) {
        bool is_more = i == TENSORS;
        size_t count = is_more ? 4 : (size_t)stored[i].count;
        const char *shape = is_more ? "4" : i == wrong ? "16, 64" : stored[i].shape;
        if (i == absent)
            continue;
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "%s\"%s\": {\"dtype\": \"F32\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}",
                                 used > 1 ? ", " : "", is_more ? "more" : stored[i].name, shape, bytes, bytes + count * 4);
        memcpy(file + 8 + sizeof header + bytes, numbers, count * 4);
        bytes += count * 4;
    }
    memset(header + used, ' ', sizeof header - used);
    header[used] = '}';
    for (int i = 0; i < 8; i++)
        file[i] = (char)(sizeof header >> (8 * i));
    memcpy(file + 8, header, sizeof header);
    return 8 + sizeof header + bytes;
}

static size_t make_file(char *file, int wrong, int absent, bool has_more)
{
    return make_part(file, 0, TENSORS + has_more, wrong, absent);
}

static void write_file(const char *path, const char *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    expect(f && fwrite(bytes, 1, count, f) == count && fclose(f) == 0, "the file is written");
}

static bool says(const char *text)
{
    return strstr(hdsrt_last_error(), text) != NULL;
}

static void faults_are_listed(const char *path)
{
    static char file[FILE_ROOM];
    small_model *m = (small_model *)file;
    write_file(path, file, make_file(file, 2, 0, true));
    expect(small_open(path, NULL, &m) == HDSRT_INVALID_ARGUMENT && !m, "faulty weights are refused");
    expect(says("'w.safetensors': 'first.weight' is missing, a f32[32, 16]; 'second.weight' is no f32[32, 32]"), "all faults at once");
    expect(!says("third") && !says("more"), "and nothing else");
    size_t count = make_file(file, -1, -1, true);
    write_file(path, file, count);
    expect(small_open(path, NULL, &m) == HDSRT_OK && m, "what the model does not read is ignored");
    small_close(m);
    write_file(path, file, count - 1);
    expect(small_open(path, NULL, &m) == HDSRT_INVALID_ARGUMENT && says("'more': its bytes"), "a file that was cut off");
    write_file(path, file, 100);
    expect(small_open(path, NULL, &m) == HDSRT_INVALID_ARGUMENT && says("header is longer than the file"), "a header that was cut off");
    write_file(path, file, 0);
    expect(small_open(path, NULL, &m) == HDSRT_INVALID_ARGUMENT && says("shorter than the 8 bytes"), "an empty file");
    expect(small_open("nowhere", NULL, &m) == HDSRT_INVALID_ARGUMENT && says("'nowhere': No such file"), "no file");
    expect(small_open(".", NULL, &m) == HDSRT_INVALID_ARGUMENT && says("no regular file"), "a folder");
    expect(small_open(NULL, NULL, &m) == HDSRT_INVALID_ARGUMENT && says("path of a file of its weights is null"), "no path");
    expect(small_open_bytes(NULL, 0, NULL, &m) == HDSRT_INVALID_ARGUMENT && says("bytes of its weights are null"), "no bytes");
    expect(small_open(path, NULL, NULL) == HDSRT_INVALID_ARGUMENT && says("the model's address is null"), "no model");
    expect(small_run(NULL, NULL, NULL, NULL) == HDSRT_INVALID_ARGUMENT && says("the model is null"), "a run of none");
}

// Every byte of the header once changed: it is refused, or what the model reads is as it was.
static void corrupt_files_are_refused(void)
{
    static char file[FILE_ROOM];
    size_t count = make_file(file, -1, -1, false);
    for (size_t i = 0; i < 400; i++)
        for (int bit = 0; bit < 8; bit++) {
            small_model *m = NULL;
            file[i] ^= (char)(1 << bit);
            small_open_bytes(file, count, NULL, &m);
            small_close(m);
            file[i] ^= (char)(1 << bit);
        }
    for (size_t cut = 0; cut < count; cut += cut < 400 ? 1 : 97) {
        small_model *m = NULL;
        expect(small_open_bytes(file, cut, NULL, &m) == HDSRT_INVALID_ARGUMENT && !m, "a part of a file");
    }
}

// ---- shards ------------------------------------------------------------------------------------------------------

#define MAP(second_file)                                                                                               \
    "{\"first.weight\": \"1.safetensors\", \"first.bias\": \"1.safetensors\", \"second.weight\": \"" second_file                  \
    "\", \"third.weight\": \"2.safetensors\"}"

static hdsrt_status open_index(const char *text)
{
    small_model *m = NULL;
    write_file("m.safetensors.index.json", text, strlen(text));
    hdsrt_status status = small_open("m.safetensors.index.json", NULL, &m);
    expect((status == HDSRT_OK) == (m != NULL), "a model that was opened is there");
    small_close(m);
    return status;
}

static void shards_are_read(void)
{
    static char file[FILE_ROOM];
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "its header is no JSON"},
        {"[]", "its header is no JSON"},
        {"{\"metadata\": {}}", "it has no map 'weight_map'"},
        {"{\"weight_map\": []}", "it has no map 'weight_map'"},
        {"{\"weight_map\": {\"a\": 5}}", "tensor 'a': its file's name does not stay in the folder of the index"},
        {"{\"weight_map\": {\"a\": \"../1.safetensors\"}}", "does not stay in the folder"},
        {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "does not stay in the folder"},
        {"{\"weight_map\": {\"a\": \"3.safetensors\"}}", "'3.safetensors': No such file"},
        {"{\"weight_map\": {\"a\": \"1.safetensors\", \"a\": \"1.safetensors\"}}", "tensor 'a': its name is there twice"},
        {"{\"weight_map\": {}} 1", "its header is no JSON"},
        {"{\"weight_map\": {}, \"weight_map\": {}}", "its header is no JSON"},
        {"{\"metadata\": {\"x\": [1, tru]}, \"weight_map\": {}}", "its header is no JSON"},
        {"{\"weight_map\": " MAP("1.safetensors") "}", "tensor 'second.weight' is not in the shard that the index says"},
        {"{\"weight_map\": {\"first.weight\": \"1.safetensors\"}}", "tensor 'first.bias' of a shard is not in the index"},
    };
    write_file("1.safetensors", file, make_part(file, 0, 2, -1, -1));
    write_file("2.safetensors", file, make_part(file, 2, 4, -1, -1));
    expect(open_index("{\"metadata\": {\"total_size\": 7296, \"more\": [1.5e3, [], {}, \"\\u00e9\", null]}, \"weight_map\": "
                      MAP("2.safetensors") "}") == HDSRT_OK, "shards are one file");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(open_index(wrong[i].text) == HDSRT_INVALID_ARGUMENT && says(wrong[i].why), wrong[i].why);
    write_file("2.safetensors", file, make_part(file, 2, 4, 2, -1));
    expect(open_index("{\"weight_map\": " MAP("2.safetensors") "}") == HDSRT_INVALID_ARGUMENT &&
               says("'m.safetensors.index.json': 'second.weight' is no f32[32, 32]"), "faults are those of the index");
}

// Every byte of an index once changed, and cut off anywhere: no crash, and nothing is left.
static void corrupt_indices_are_refused(void)
{
    static char file[FILE_ROOM];
    char text[] = "{\"metadata\": {\"total_size\": 7296}, \"weight_map\": " MAP("2.safetensors") "}";
    int live = fake_cuda_live("memory");
    write_file("2.safetensors", file, make_part(file, 2, 4, -1, -1));
    for (size_t i = 0; i + 1 < sizeof text; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            text[i] ^= (char)(1 << bit);
            if (!memchr(text, '\0', sizeof text - 1))
                open_index(text);
            text[i] ^= (char)(1 << bit);
        }
    for (size_t cut = sizeof text - 2; cut > 0; cut--) {
        text[cut] = '\0';
        expect(open_index(text) == HDSRT_INVALID_ARGUMENT, "a part of an index");
    }
    expect(fake_cuda_live("memory") == live, "nothing is left behind");
}

// ---- runs --------------------------------------------------------------------------------------------------------

static hdsrt_model_options with_graphs(size_t graphs, bool no_graphs)
{
    hdsrt_model_options o = HDSRT_MODEL_OPTIONS_INIT;
    o.graphs = graphs;
    o.no_graphs = no_graphs;
    return o;
}

// Whether these numbers are there. What differs may be shorter.
static bool has_numbers(const float *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] < numbers[i] || at[i] > numbers[i])
            return false;
    return true;
}

// Whether a parameter of the launch is the address of these numbers.
static bool passes(const fake_cuda_launch *l, size_t count)
{
    for (int i = 0; i < l->parameter_count; i++) {
        uint64_t address = 0;
        if (l->sizes[i] != sizeof address)
            continue;
        memcpy(&address, l->parameters + l->offsets[i], sizeof address);
        if (address > 1 << 20 && has_numbers((const float *)(uintptr_t)address, count))
            return true;
    }
    return false;
}

static void see_bias(void *user, const fake_cuda_launch *l)
{
    *(bool *)user |= passes(l, 32);
}

static void graphs_are_replayed(const char *path, float *memory[4])
{
    static char file[FILE_ROOM];
    fake_cuda_launch l;
    bool has_bias = false;
    small_model *m = NULL;
    write_file(path, file, make_file(file, -1, -1, false));
    fake_cuda_forget();
    fake_cuda_on_launch(see_bias, &has_bias);
    expect(small_open(path, NULL, &m) == HDSRT_OK, "the model is opened");
    fake_cuda_on_launch(NULL, NULL);
    expect(fake_cuda_launches() == 1 && has_bias, "the bias is scaled once, at load");
    int live = fake_cuda_live("memory");
    fake_cuda_forget();
    expect(small_prepare(m, memory[0], memory[1], NULL) == HDSRT_OK, "a graph is recorded");
    expect(fake_cuda_calls("cuGraphInstantiateWithFlags") == 1 && !fake_cuda_calls("cuGraphLaunch"), "and not launched");
    int kernels = fake_cuda_launches();
    expect(kernels == 3 && fake_cuda_launch_at(0, &l) && passes(&l, 512), "of three kernels, the first with its weights");
    expect(fake_cuda_live("memory") == live + 1, "they share one workspace");
    for (int run = 0; run < 2; run++)
        expect(small_run(m, memory[0], memory[1], NULL) == HDSRT_OK, "the model runs");
    expect(fake_cuda_launches() == kernels && fake_cuda_calls("cuGraphLaunch") == 2, "runs replay the graph");
    expect(small_run(m, memory[2], memory[3], NULL) == HDSRT_OK, "the model runs elsewhere");
    expect(fake_cuda_calls("cuGraphExecUpdate_v2") == 1 && fake_cuda_calls("cuGraphInstantiateWithFlags") == 1, "by an update");
    expect(fake_cuda_calls("cuCtxSynchronize") == 0, "nothing waits");
    expect(small_run(m, memory[0], memory[0], NULL) == HDSRT_INVALID_ARGUMENT && says("overlap"), "arguments are checked");
    expect(small_run(m, memory[2], memory[3], NULL) == HDSRT_OK, "the graph is still there");
    expect(fake_cuda_calls("cuGraphExecUpdate_v2") == 1 && fake_cuda_calls("cuGraphLaunch") == 4, "as it was");
    small_close(m);
}

// ---- tensors over DLPack -------------------------------------------------------------------------------------------

static hdsrt_tensor tensor_at(void *data, int64_t *shape)
{
    hdsrt_tensor t = {.data = data, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape};
    t.device.device_type = 2;
    return t;
}

// One thing about x is not as the model takes it.
static void wrong_tensors_are_refused(any_batch_model *m, float *memory[4])
{
    int64_t in[] = {3, IN}, out[] = {3, OUT}, narrow[] = {3, IN - 1}, gaps[] = {IN + 1, 1};
    const hdsrt_tensor right = tensor_at(memory[0], in), y = tensor_at(memory[1], out);
    hdsrt_tensor x[8] = {right, right, right, right, right, right, right, right};
    static const char *const why[] = {
        "'any_batch': 'x' is of f16, and it has to be of f32",
        "'any_batch': 'x' has 1 axis, and it has to have 2",
        "'any_batch': 'x' has extent 15 along axis 1, and it has to be 16",
        "'any_batch': 'x' is on the host, and it has to be on the current GPU",
        "'any_batch': 'x' is on GPU 1, and the current one is GPU 0",
        "'any_batch': 'x' has a stride of 17 elements along axis 0, and it has to be row-major without gaps, 16 there",
        "'any_batch': the data of 'x' is null",
        "which is not a multiple of 16",
    };
    x[0].dtype.bits = 16;
    x[1].ndim = 1;
    x[2].shape = narrow;
    x[3].device.device_type = 1;
    x[4].device.device_id = 1;
    x[5].strides = gaps;
    x[6].data = NULL;
    x[7].byte_offset = 4;
    for (int i = 0; i < 8; i++)
        expect(any_batch_run_dlpack(m, &x[i], &y, NULL) == HDSRT_INVALID_ARGUMENT && says(why[i]), why[i]);
    expect(any_batch_run_dlpack(m, NULL, &y, NULL) == HDSRT_INVALID_ARGUMENT && says("'x' is null"), "no tensor");
    out[0] = 2;
    expect(any_batch_run_dlpack(m, &right, &y, NULL) == HDSRT_INVALID_ARGUMENT &&
               says("'any_batch': 'out' has extent 2 along axis 0, and it has to be B, which is 3"), "sizes that disagree");
    expect(any_batch_run_dlpack(NULL, &right, &right, NULL) == HDSRT_INVALID_ARGUMENT, "a run of none");
}

static void tensors_are_taken(const char *path, float *memory[4])
{
    int64_t in[] = {3, IN}, out[] = {3, OUT}, strides[] = {IN, 1};
    any_batch_model *m = NULL;
    hdsrt_tensor x = tensor_at((char *)memory[0] - 16, in), y = tensor_at(memory[1], out);
    x.byte_offset = 16;
    x.strides = strides;
    expect(any_batch_open(path, NULL, &m) == HDSRT_OK, "the model is opened");
    fake_cuda_forget();
    expect(any_batch_run_dlpack(m, &x, &y, NULL) == HDSRT_OK, "the model runs");
    expect(any_batch_run(m, memory[0], memory[1], 3, NULL) == HDSRT_OK, "and again, by addresses");
    expect(fake_cuda_calls("cuGraphInstantiateWithFlags") == 1 && fake_cuda_calls("cuGraphLaunch") == 2, "which is the same run");
    wrong_tensors_are_refused(m, memory);
    expect(fake_cuda_calls("cuGraphLaunch") == 2, "what is refused launches nothing");
    any_batch_close(m);
}

// More sizes than graphs: the one that was not used for longest makes room.
static void graphs_are_bounded(const char *path, float *memory[4])
{
    any_batch_model *m = NULL;
    const hdsrt_model_options two = with_graphs(2, false);
    const struct {
        int rows, made;
    } runs[] = {{1, 1}, {2, 1}, {1, 0}, {3, 1}, {1, 0}, {2, 1}};
    expect(any_batch_open(path, &two, &m) == HDSRT_OK, "the model is opened");
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int made = fake_cuda_calls("cuGraphInstantiateWithFlags");
        expect(any_batch_run(m, memory[0], memory[1], runs[i].rows, NULL) == HDSRT_OK, "the model runs");
        expect(fake_cuda_calls("cuGraphInstantiateWithFlags") - made == runs[i].made, "with the graphs that are wanted");
    }
    expect(any_batch_run(m, memory[0], memory[1], -1, NULL) == HDSRT_INVALID_ARGUMENT, "a size is checked");
    any_batch_close(m);
}

static void kernels_are_launched_one_by_one(const char *path, float *memory[4])
{
    small_model *m = NULL;
    const hdsrt_model_options o = with_graphs(0, true);
    expect(small_open(path, &o, &m) == HDSRT_OK, "the model is opened");
    fake_cuda_forget();
    expect(small_prepare(m, memory[0], memory[1], NULL) == HDSRT_OK && small_run(m, memory[0], memory[1], NULL) == HDSRT_OK,
           "the model runs without graphs");
    expect(fake_cuda_launches() == 3 && !fake_cuda_calls("cuStreamBeginCapture_v2"), "kernel by kernel");
    small_close(m);
}

// ---- in flight -----------------------------------------------------------------------------------------------------

enum { STREAMS = 4, RUNS = 20 };

typedef struct runner {
    any_batch_model *model;
    hdsrt_stream stream;
    float *x, *y;
    int failures;
} runner;

static void *run_often(void *argument)
{
    runner *r = argument;
    r->failures += hdsrt_use_device(0) != HDSRT_OK;
    for (int i = 0; i < RUNS; i++)
        r->failures += any_batch_run(r->model, r->x, r->y, 1 + i % 2, r->stream) != HDSRT_OK;
    return NULL;
}

// A thread for each stream: a graph for each stream and size, and nothing waits.
static void runs_are_in_flight_together(const char *path, float *memory[4])
{
    any_batch_model *m = NULL;
    pthread_t threads[STREAMS];
    runner runners[STREAMS];
    void *streams[STREAMS];
    expect(any_batch_open(path, NULL, &m) == HDSRT_OK, "the model is opened");
    fake_cuda_forget();
    for (int i = 0; i < STREAMS; i++) {
        expect(cuStreamCreate(&streams[i], 1) == 0, "a stream is made");
        runners[i] = (runner){m, streams[i], memory[i % 2], memory[2 + i % 2] + i / 2 * 32, 0};
        expect(pthread_create(&threads[i], NULL, run_often, &runners[i]) == 0, "a thread runs");
    }
    for (int i = 0; i < STREAMS; i++)
        expect(pthread_join(threads[i], NULL) == 0 && !runners[i].failures, "all of its runs are right");
    expect(fake_cuda_calls("cuGraphInstantiateWithFlags") == 2 * STREAMS, "a graph for each stream and size");
    expect(fake_cuda_calls("cuGraphLaunch") == STREAMS * RUNS && !fake_cuda_calls("cuCtxSynchronize"), "nothing waits");
    any_batch_close(m);
    for (int i = 0; i < STREAMS; i++)
        cuStreamDestroy_v2(streams[i]);
}

// A model of each GPU, which does not run on the other one.
static void each_context_has_a_model(const char *path)
{
    small_model *models[2] = {NULL, NULL};
    const hdsrt_model_options options[] = {with_graphs(0, false), with_graphs(0, true)};
    float *memory[2];
    fake_cuda_launch l;
    for (int i = 0; i < 2; i++) {
        void *address = NULL;
        expect(hdsrt_use_device(i) == HDSRT_OK && small_open(path, &options[i], &models[i]) == HDSRT_OK, "a model of each GPU");
        expect(hdsrt_allocate(&address, 4096, NULL) == HDSRT_OK, "and memory");
        memory[i] = address;
    }
    for (int i = 0; i < 2; i++) {
        expect(hdsrt_use_device(i) == HDSRT_OK && small_run(models[i], memory[i], memory[i] + 512, NULL) == HDSRT_OK, "runs there");
        expect(fake_cuda_launch_at(fake_cuda_launches() - 1, &l) && l.device == i, "on its GPU");
        expect(small_run(models[1 - i], memory[i], memory[i] + 512, NULL) == HDSRT_INVALID_ARGUMENT &&
                   says("'small': it was opened in another context than the current one: open it in each"), "and not on the other");
        expect(small_prepare(models[1 - i], memory[i], memory[i] + 512, NULL) == HDSRT_INVALID_ARGUMENT, "nor is it prepared there");
    }
    for (int i = 0; i < 2; i++) {
        expect(hdsrt_use_device(i) == HDSRT_OK, "each is closed where it was opened");
        small_close(models[i]);
        hdsrt_release(memory[i], NULL);
    }
    expect(hdsrt_use_device(0) == HDSRT_OK, "and the first GPU is the current one");
}

static void models_are_apart(const char *path, float *memory[4])
{
    small_model *a = NULL, *b = NULL;
    any_batch_model *c = NULL;
    without_weights_model *d = NULL;
    expect(small_open(path, NULL, &a) == HDSRT_OK && small_open(path, NULL, &b) == HDSRT_OK && a != b, "two of one");
    expect(any_batch_open(path, NULL, &c) == HDSRT_OK && without_weights_open(NULL, NULL, &d) == HDSRT_OK, "and two others");
    expect(small_run(a, memory[0], memory[1], NULL) == HDSRT_OK && small_run(b, memory[0], memory[1], NULL) == HDSRT_OK &&
               any_batch_run(c, memory[0], memory[1], ROWS, NULL) == HDSRT_OK &&
               without_weights_run(d, memory[0], memory[1], NULL) == HDSRT_OK,
           "they run");
    small_close(a);
    expect(small_run(b, memory[0], memory[1], NULL) == HDSRT_OK, "and go on without the first");
    small_close(b);
    any_batch_close(c);
    without_weights_close(d);
    without_weights_close(NULL);
}

// Whatever the driver refuses, an open gives back what it took.
static void failures_leave_nothing(const char *path)
{
    static const char *const calls[] = {"cuMemAllocAsync", "cuMemcpyAsync", "cuLaunchKernel", "cuLaunchKernelEx", "cuStreamSynchronize"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int nth = 1; nth <= 3; nth++) {
            small_model *m = NULL;
            int live = fake_cuda_live("memory");
            fake_cuda_fail(calls[i], nth, 2);
            if (small_open(path, NULL, &m) == HDSRT_OK)
                small_close(m);
            fake_cuda_fail(calls[i], 0, 0);
            expect(fake_cuda_live("memory") == live, calls[i]);
        }
}

int main(void)
{
    const char *path = "w.safetensors";
    float *memory[4];
    fake_cuda_devices(2);
    for (int i = 0; i < 2048; i++)
        numbers[i] = (float)i / 4 + 1;
    for (int i = 0; i < 4; i++) {
        void *address = NULL;
        expect(hdsrt_allocate(&address, ROWS * 32 * 4, NULL) == HDSRT_OK, "memory is there");
        memory[i] = address;
    }
    int live = fake_cuda_live("memory");
    faults_are_listed(path);
    corrupt_files_are_refused();
    shards_are_read();
    corrupt_indices_are_refused();
    graphs_are_replayed(path, memory);
    tensors_are_taken(path, memory);
    graphs_are_bounded(path, memory);
    kernels_are_launched_one_by_one(path, memory);
    runs_are_in_flight_together(path, memory);
    each_context_has_a_model(path);
    models_are_apart(path, memory);
    failures_leave_nothing(path);
    expect(fake_cuda_live("memory") == live, "closed models leave nothing behind");
    for (int i = 0; i < 4; i++)
        hdsrt_release(memory[i], NULL);
    return failures ? 1 : 0;
}
