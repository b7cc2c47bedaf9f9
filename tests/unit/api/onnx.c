// ONNX files: what is compiled of them is their text, and no more of them is held.
#include <sys/resource.h>

#include "rig.h"

// ---- a file of one sum, y = x + w ------------------------------------------------------------------------------------

enum { MOST_BYTES = 512, FLOAT = 1, BYTES = 2 };

typedef struct bytes {
    size_t len;
    char at[MOST_BYTES];
} bytes;

static void add_number(bytes *out, uint64_t n)
{
    for (; n > 127; n >>= 7)
        out->at[out->len++] = (char)(n | 128);
    out->at[out->len++] = (char)n;
}

static bytes number(unsigned field, uint64_t n)
{
    bytes out = {0};
    add_number(&out, field << 3);
    add_number(&out, n);
    return out;
}

// A field with [len] bytes, of which those of [inner] are written.
static void add_field(bytes *out, unsigned field, const char *inner, size_t written, uint64_t len)
{
    add_number(out, field << 3 | BYTES);
    add_number(out, len);
    assert_true(out->len + written <= MOST_BYTES);
    memcpy(out->at + out->len, inner, written);
    out->len += written;
}

static void add_inner(bytes *out, unsigned field, bytes inner)
{
    add_field(out, field, inner.at, inner.len, inner.len);
}

static void add_text(bytes *out, unsigned field, const char *text)
{
    add_field(out, field, text, strlen(text), strlen(text));
}

static void append(bytes *out, bytes more)
{
    memcpy(out->at + out->len, more.at, more.len);
    out->len += more.len;
}

static bytes value(const char *name, uint64_t count)
{
    bytes dim = number(1, count), shape = {0}, tensor = number(1, FLOAT), type = {0}, out = {0};
    add_inner(&shape, 1, dim);
    add_inner(&tensor, 2, shape);
    add_inner(&type, 1, tensor);
    add_text(&out, 1, name);
    add_inner(&out, 2, type);
    return out;
}

// All of it but the elements of w, 4 * [count] bytes, which are the last.
static bytes sum_of(uint64_t count)
{
    bytes node = {0}, tensor = number(1, count), graph = {0}, set = number(2, 17), model = number(1, 9);
    add_text(&node, 1, "x");
    add_text(&node, 1, "w");
    add_text(&node, 2, "y");
    add_text(&node, 4, "Add");
    append(&tensor, number(2, FLOAT));
    add_text(&tensor, 8, "w");
    add_field(&tensor, 9, "", 0, 4 * count);
    add_inner(&graph, 1, node);
    add_text(&graph, 2, "sum");
    add_inner(&graph, 11, value("x", count));
    add_inner(&graph, 12, value("y", count));
    add_field(&graph, 5, tensor.at, tensor.len, tensor.len + 4 * count);
    add_inner(&model, 8, set);
    add_field(&model, 7, graph.at, graph.len, graph.len + 4 * count);
    return model;
}

// ---- tests -----------------------------------------------------------------------------------------------------------

static hds_status compile(const rig *r, const hds_source *source, hds_program **p)
{
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    o.no_code = true;
    return hds_compile(r->compiler, source, &o, p);
}

// The simulator elaborates the program again, when the caller's bytes are gone.
static void bytes_are_needed_for_compiling_only(void **state)
{
    enum { COUNT = 300 };
    static float x[COUNT], w[COUNT], y[COUNT];
    const rig *r = *state;
    hds_program *p = NULL;
    bytes head = sum_of(COUNT);
    size_t len = head.len + sizeof w;
    char *file = calloc(1, len);
    memcpy(file, head.at, head.len);
    assert_int_equal(compile(r, &(hds_source){"sum.onnx", file, len}, &p), HDS_OK);
    memset(file, 255, len);
    free(file);
    rig_tensor tx, tw, ty;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i, w[i] = 2;
    const hds_argument a[] = {rig_host(&tx, x, COUNT, 0, 0), rig_host(&tw, w, COUNT, 0, 0), rig_host(&ty, y, COUNT, 0, 0)};
    if (hds_simulate(hds_program_function_at(p, 0), a, 3, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    for (int i = 0; i < COUNT; i++)
        assert_true(y[i] == (float)i + 2);
    hds_program_release(p);
}

static int64_t most_resident_bytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return 1024 * (int64_t)usage.ru_maxrss;
}

// The elements are a hole in the file, which is on no disk.
static void weights_are_not_read(void **state)
{
    const uint64_t count = 1 << 28;
    const rig *r = *state;
    hds_program *p = NULL, *again = NULL;
    bytes head = sum_of(count);
    char path[160];
    snprintf(path, sizeof path, "%s/sum.onnx", r->folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(head.at, 1, head.len, f), head.len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(truncate(path, (off_t)(head.len + 4 * count)), 0);
    int64_t before = most_resident_bytes();
    assert_int_equal(compile(r, &(hds_source){.name = path}, &p), HDS_OK);
    assert_int_equal(compile(r, &(hds_source){.name = path}, &again), HDS_OK);
    assert_int_equal(hds_program_origin(again), HDS_FROM_MEMORY);
    assert_true(most_resident_bytes() - before < (int64_t)(4 * count) / 2);
    hds_program_release(p);
    hds_program_release(again);
}

static void what_is_no_model(void **state)
{
    const rig *r = *state;
    hds_program *p = NULL;
    assert_int_equal(compile(r, &(hds_source){"text.onnx", "no model", 0}, &p), HDS_ERRORS);
    assert_string_equal(hds_program_diagnostic(p, 0)->code, "HDS0860");
    hds_program_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_needed_for_compiling_only, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(weights_are_not_read, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_model, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
