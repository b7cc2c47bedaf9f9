// Milliseconds that the passes over graphs take on graphs of several shapes: graph_passes [NODES], 5,000 by default.
//
//   blocks   transformer blocks with weights: products, norms, softmax, residuals, casts of weights that run at load
//   chain    each node reads the one before it
//   ladder   each node reads the two before it
//   fan      half of the nodes read one tensor, the others read those two by two
//
// Medians of 9 runs, each on a graph that was read anew. "all" has the passes only; reading and lowering stand beside it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/graph.h"

enum { RUNS = 9, MOST_PASSES = 16 };

typedef struct builder {
    arena *memory;
    str_buf tensors, inputs, nodes;
    int tensor_count, node_count;
} builder;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int add_tensor(builder *b, const char *type)
{
    str_addf(&b->tensors, "%s%s", b->tensor_count ? ",\n" : "", type);
    return b->tensor_count++;
}

#define ROWS "{\"dtype\": \"f16\", \"shape\": [64, 256]}"
#define SQUARE "{\"dtype\": \"f16\", \"shape\": [256, 256]}"
#define SCORES "{\"dtype\": \"f16\", \"shape\": [64, 64]}"
#define VECTOR "{\"dtype\": \"f16\", \"shape\": [256]}"
#define WIDE_VECTOR "{\"dtype\": \"f32\", \"shape\": [256]}"

static int add_weight(builder *b, const char *type)
{
    int t = add_tensor(b, type);
    str_addf(&b->inputs, ", {\"weight\": \"w.%d\", \"file\": \"\", \"tensor\": %d}", t, t);
    return t;
}

// A call of one or two tensors (y < 0: one).
static int add_node(builder *b, const char *op, const char *module, const char *kind, int x, int y, const char *options,
                    const char *type)
{
    bool is_product = strcmp(module, "matmul") == 0, has_flags = is_product && strcmp(op, "matmul") == 0;
    int t = add_tensor(b, type);
    str_addf(&b->nodes, "%s{\"operator\": \"%s\", \"module\": \"%s\", \"kind\": \"%s\", \"line\": %d, ",
             b->node_count++ ? ",\n" : "", op, module, kind, 1 + t);
    if (is_product)
        str_adds(&b->nodes, has_flags ? "\"matrices\": [\"transpose_a\", \"transpose_b\"], " : "\"matrices\": [\"\", \"\"], ");
    str_addf(&b->nodes, "\"inputs\": [{\"tensor\": %d}", x);
    if (y >= 0)
        str_addf(&b->nodes, ", {\"tensor\": %d}", y);
    str_addf(&b->nodes, "], \"options\": [%s], \"outputs\": [%d]}", options, t);
    return t;
}

static int linear(builder *b, int x)
{
    return add_node(b, "linear", "matmul", "epilogue", x, add_weight(b, SQUARE), "", ROWS);
}

static int norm(builder *b, int x)
{
    int cast = add_node(b, "cast", "arithmetic", "elementwise", add_weight(b, WIDE_VECTOR), -1,
                        "{\"name\": \"dtype\", \"value\": \"f16\"}", VECTOR);
    return add_node(b, "rms_norm", "norm", "reduction", x, cast, "", ROWS);
}

// 17 nodes and 8 weights.
static int block(builder *b, int x)
{
    static const char turned[] = "{\"name\": \"transpose_b\", \"value\": \"True\"}";
    static const char last[] = "{\"name\": \"axis\", \"value\": \"-1\"}";
    int y = norm(b, x), q = linear(b, y), k = linear(b, y), v = linear(b, y);
    int scores = add_node(b, "matmul", "matmul", "epilogue", q, k, turned, SCORES);
    int soft = add_node(b, "softmax", "softmax", "reduction", scores, -1, last, SCORES);
    int mixed = add_node(b, "matmul", "matmul", "epilogue", soft, v, "", ROWS);
    int sum = add_node(b, "add", "arithmetic", "elementwise", linear(b, mixed), x, "", ROWS);
    int z = norm(b, sum), gate = add_node(b, "silu", "activation", "elementwise", linear(b, z), -1, "", ROWS);
    int up = add_node(b, "multiply", "arithmetic", "elementwise", gate, linear(b, z), "", ROWS);
    return add_node(b, "add", "arithmetic", "elementwise", up, sum, "", ROWS);
}

// Elementwise nodes, each its own operator by an attribute, so that none is another one's equal.
static int element(builder *b, int x, int y)
{
    const char *seed = arena_printf(b->memory, "{\"name\": \"seed\", \"value\": \"%d\"}", b->tensor_count);
    return add_node(b, y < 0 ? "relu" : "add", "m", "elementwise", x, y, seed, ROWS);
}

static const char *const shapes[] = {"blocks", "chain", "ladder", "fan"};

// The outputs' list.
static const char *add_nodes(builder *b, int shape, int count)
{
    int x = 0, before = -1;
    str_buf outputs;
    str_buf_init(&outputs, b->memory);
    while (shape == 0 && b->node_count < count)
        x = block(b, x);
    while ((shape == 1 || shape == 2) && b->node_count < count) {
        int next = element(b, x, shape == 2 ? before : -1);
        before = x;
        x = next;
    }
    while (shape == 3 && b->node_count < count / 2)
        element(b, 0, -1);
    for (int i = 1; shape == 3 && b->node_count < count; i++) {
        x = element(b, i, i + 1);
        if (b->node_count < count)
            str_addf(&outputs, "%d, ", x);
    }
    return arena_printf(b->memory, "%s%d", str_text(&outputs), x);
}

static const char *text_of(arena *a, int shape, int count, int *nodes)
{
    builder b = {.memory = a};
    str_buf_init(&b.tensors, a);
    str_buf_init(&b.inputs, a);
    str_buf_init(&b.nodes, a);
    add_tensor(&b, ROWS);
    const char *outputs = add_nodes(&b, shape, count);
    *nodes = b.node_count;
    return arena_printf(a, "{\"name\": \"f\", \"tensors\": [%s],\n"
                        "\"inputs\": [{\"name\": \"x\", \"tensor\": 0}%s],\n\"nodes\": [%s],\n\"outputs\": [%s]}",
                        str_text(&b.tensors), str_text(&b.inputs), str_text(&b.nodes), outputs);
}

// Milliseconds of reading, of each pass, and of lowering.
static void run_once(const char *text, double *ms, int *passes)
{
    arena a;
    arena_init(&a, NULL);
    const char *error = NULL;
    double begin = now_ms();
    fg_graph *g = fg_read_json(&a, &error, text);
    if (!g) {
        fprintf(stderr, "graph_passes: %s\n", error);
        exit(1);
    }
    ms[0] = now_ms() - begin;
    int i = 0;
    for (; fg_pass_at(i); i++) {
        begin = now_ms();
        fg_run_pass(g, fg_pass_at(i));
        ms[1 + i] = now_ms() - begin;
    }
    begin = now_ms();
    fg_lower(&a, &g, 1);
    ms[1 + i] = now_ms() - begin;
    *passes = i;
    arena_free(&a);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double (*runs)[MOST_PASSES], int column)
{
    double values[RUNS];
    for (int i = 0; i < RUNS; i++)
        values[i] = runs[i][column];
    qsort(values, RUNS, sizeof *values, ascending);
    return values[RUNS / 2];
}

static void measure(int shape, int count)
{
    arena a;
    arena_init(&a, NULL);
    double runs[RUNS][MOST_PASSES], all = 0;
    int nodes, passes = 0;
    const char *text = text_of(&a, shape, count, &nodes);
    for (int i = 0; i < RUNS; i++)
        run_once(text, runs[i], &passes);
    printf("%-7s %6d %8.2f", shapes[shape], nodes, median(runs, 0));
    for (int i = 0; i < passes; i++) {
        double ms = median(runs, 1 + i);
        printf(" %10.2f", ms);
        all += ms;
    }
    printf(" %8.2f %8.2f\n", all, median(runs, 1 + passes));
    arena_free(&a);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 5000;
    if (argc > 2 || count < 16) {
        fprintf(stderr, "usage: graph_passes [NODES]\n");
        return 2;
    }
    printf("%-7s %6s %8s", "shape", "nodes", "read ms");
    for (int i = 0; fg_pass_at(i); i++)
        printf(" %10s", fg_pass_at(i)->name);
    printf(" %8s %8s\n", "all", "lower");
    for (int shape = 0; shape < (int)(sizeof shapes / sizeof *shapes); shape++)
        measure(shape, count);
    return 0;
}
