// Builds a model node by node, without a file, and runs it on the simulator, which needs no GPU.
//
//     cc graph.c $(pkg-config --cflags --libs hds) -o graph && ./graph
#include <hds/graph.h>
#include <hds/model.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 3, COLUMNS = 8 };

static void check(hds_status status)
{
    if (status == HDS_OK)
        return;
    fprintf(stderr, "%s: %s\n", hds_status_text(status), hds_last_error());
    exit(1);
}

static int add_node(hds_graph *graph, const char *name, const char *op, const hds_value *arguments, size_t count)
{
    int result;
    check(hds_graph_node(graph, &(hds_node){name, op, arguments, count, 1}, &result));
    return result;
}

// y = relu(x - 1) · 2, for any number of rows.
static hds_graph *build(void)
{
    hds_graph *graph;
    int x;
    check(hds_graph_new("shifted", &graph));
    check(hds_graph_input(graph, "x", "f32", (hds_extent[]){{.size = "B"}, {.value = COLUMNS}}, 2, &x));
    int y = add_node(graph, "shift", "arithmetic.subtract", (hds_value[]){hds_value_tensor(x), hds_value_float(NULL, 1.0)}, 2);
    y = add_node(graph, "act", "activation.relu", (hds_value[]){hds_value_tensor(y)}, 1);
    y = add_node(graph, "scale", "arithmetic.multiply", (hds_value[]){hds_value_tensor(y), hds_value_float(NULL, 2.0)}, 2);
    check(hds_graph_output(graph, y, "y"));
    return graph;
}

static hds_argument matrix(hdsrt_tensor *tensor, int64_t *shape, float *data)
{
    *tensor = (hdsrt_tensor){.data = data, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape};
    return hds_tensor(tensor);
}

int main(void)
{
    hds_compiler *compiler;
    hds_program *program;
    hds_model *model;
    hds_compile_options how = HDS_COMPILE_OPTIONS_INIT;
    hds_model_options options = HDS_MODEL_OPTIONS_INIT;
    float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    int64_t shape[] = {ROWS, COLUMNS};
    hdsrt_tensor in, out;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)i / 8;
    check(hds_compiler_new(NULL, &compiler));
    hds_graph *graph = build();
    check(hds_graph_verify(compiler, graph, NULL));
    printf("%s", hds_graph_text(graph));
    how.arch = "sm_80";
    how.no_code = true;
    options.simulate = true;
    check(hds_graph_compile(compiler, graph, &how, &program));
    check(hds_model_open(program, &options, &model));
    check(hds_model_simulate(model, (hds_argument[]){matrix(&in, shape, x), matrix(&out, shape, y)}, 2, NULL));
    int wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += y[i] != (x[i] > 1 ? 2 * (x[i] - 1) : 0);
    printf("%d of %d elements are wrong\n", wrong, ROWS * COLUMNS);
    hds_model_release(model);
    hds_program_release(program);
    hds_graph_release(graph);
    hds_compiler_release(compiler);
    return wrong != 0;
}
