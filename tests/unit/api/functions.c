// Host functions and operators through libhds: their plans run, on the simulator, without a C compiler on the machine.
#include <math.h>

#include "rig.h"

static hds_program *compile(const rig *r, const char *name, const char *text)
{
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    options.arch = "sm_90a";
    return rig_compile(r->compiler, name, text, &options);
}

// ---- an operator from a string ----------------------------------------------------------------------------------

static const char softmax_add[] =
    "from hidet.lang import f32, operator\n"
    "from arithmetic import add\n"
    "from softmax import softmax\n"
    "\n"
    "\n"
    "@operator\n"
    "def softmax_add[T: (f32,), *S, N: int](x: T[*S, N], r: T[*S, N]) -> T[*S, N]:\n"
    "    return softmax(add(x, r))\n";

enum { ROWS = 3, COLUMNS = 40 };

static void expect_softmax(const float *x, const float *r, const float *out)
{
    for (int i = 0; i < ROWS; i++) {
        double top = -INFINITY, sum = 0;
        for (int j = 0; j < COLUMNS; j++)
            top = fmax(top, (double)x[i * COLUMNS + j] + (double)r[i * COLUMNS + j]);
        for (int j = 0; j < COLUMNS; j++)
            sum += exp((double)x[i * COLUMNS + j] + (double)r[i * COLUMNS + j] - top);
        for (int j = 0; j < COLUMNS; j++) {
            double expected = exp((double)x[i * COLUMNS + j] + (double)r[i * COLUMNS + j] - top) / sum;
            assert_true(fabs((double)out[i * COLUMNS + j] - expected) < 1e-6);
        }
    }
}

static void an_operator_runs(void **state)
{
    const rig *r = *state;
    _Alignas(16) static float x[ROWS * COLUMNS], by[ROWS * COLUMNS], out[ROWS * COLUMNS];
    rig_tensor tx, tr, to;
    hds_program *p = compile(r, "softmax_add.hds", softmax_add), *findings = NULL;
    const hds_kernel *f = hds_program_function(p, "softmax_add_f32");
    assert_non_null(f);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        x[i] = (float)(i * 37 % 101) / 25;
        by[i] = (float)(i * 17 % 89) / 30 - 1;
    }
    const hds_argument a[] = {rig_host(&tx, x, ROWS, COLUMNS, 0), rig_host(&tr, by, ROWS, COLUMNS, 0),
                              rig_host(&to, out, ROWS, COLUMNS, 0)};
    hds_status status = hds_simulate(f, a, 3, &findings);
    if (status != HDS_OK)
        fail_msg("%s", hds_last_error());
    assert_null(findings);
    expect_softmax(x, by, out);
    assert_non_null(strstr(hds_function_plan(f), "launch @"));
    // The operator over all types, on tensors with more axes.
    memset(out, 0, sizeof out);
    const hds_kernel *all = hds_program_function(p, "softmax_add");
    assert_non_null(all);
    assert_int_equal(hds_kernel_parameter_count(all), 3);
    const hds_argument three[] = {rig_host(&tx, x, 1, ROWS, COLUMNS), rig_host(&tr, by, 1, ROWS, COLUMNS),
                                  rig_host(&to, out, 1, ROWS, COLUMNS)};
    if (hds_simulate(all, three, 3, &findings) != HDS_OK)
        fail_msg("%s", hds_last_error());
    expect_softmax(x, by, out);
    to.dl.dtype.bits = 64;
    rig_expect_error(hds_simulate(all, three, 3, NULL), HDS_INVALID_ARGUMENT, "'softmax_add': there is no code for x of f32");
    rig_expect_error(hds_simulate(all, three, 2, NULL), HDS_INVALID_ARGUMENT, "'softmax_add': it takes 3 arguments, not 2");
    hds_program_release(p);
}

// ---- host functions ---------------------------------------------------------------------------------------------

static const char sums[] =
    "from hidet.lang import attrs, f32, i32, printf, tensor\n"
    "from hidet.lang.cuda import blockIdx\n"
    "from hidet.lang.math import rsqrt, sqrt\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def add[n: int](x: f32[n], y: f32[n]):\n"
    "    attrs.cuda.grid_dim = n\n"
    "    attrs.cuda.block_dim = 1\n"
    "    y[blockIdx.x] = y[blockIdx.x] + x[blockIdx.x]\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def put[n: int](y: f32[n], v: f32):\n"
    "    attrs.cuda.grid_dim = n\n"
    "    attrs.cuda.block_dim = 1\n"
    "    y[blockIdx.x] = v\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def fill[n: int, m: int](y: f32[n, m]):\n"
    "    attrs.cuda.grid_dim = n, m\n"
    "    attrs.cuda.block_dim = 1\n"
    "    y[blockIdx.x, blockIdx.y] = 1.0\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def repeat[n: int](x: f32[n], y: f32[n], turns: i32):\n"
    "    assert turns >= 0, 'turns are counted'\n"
    "    if turns == 7:\n"
    "        return\n"
    "    sum = tensor(f32, [n])\n"
    "    put(sum, 0.5)\n"
    "    i = 0\n"
    "    while True:\n"
    "        if i == turns:\n"
    "            break\n"
    "        i += 1\n"
    "        if i == 2:\n"
    "            continue\n"
    "        add(x, sum)\n"
    "    for k in range(2):\n"
    "        part = tensor(f32, [n, k + 1])\n"
    "        fill(part)\n"
    "        add(sum, y)\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def says[n: int](x: f32[n]):\n"
    "    put(x, 1.0)\n"
    "    printf('%d\\n', n)\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def half(n: i32) -> i32:\n"
    "    attrs.func_kind = 'public'\n"
    "    return n // 2\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def length(n: i32) -> f32:\n"
    "    attrs.func_kind = 'public'\n"
    "    printf('%-4s of %d%s', 'half', n, '%')\n"
    "    return sqrt(f32(n // 2 if n > 4 else n))\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def scale_of(n: f32) -> f32:\n"
    "    attrs.func_kind = 'public'\n"
    "    return rsqrt(n)\n";

static void control_flow(void **state)
{
    const rig *r = *state;
    _Alignas(16) float x[4] = {1, 2, 3, 4}, y[4] = {0};
    rig_tensor tx, ty;
    hds_program *p = compile(r, "sums.hds", sums);
    const hds_kernel *f = hds_program_function(p, "repeat");
    assert_non_null(f);
    hds_argument a[] = {rig_host(&tx, x, 4, 0, 0), rig_host(&ty, y, 4, 0, 0), hds_int(3)};
    if (hds_simulate(f, a, 3, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    for (int i = 0; i < 4; i++)
        assert_true(y[i] == 2 * (0.5F + 2 * x[i]));
    a[2] = hds_int(7);
    assert_int_equal(hds_simulate(f, a, 3, NULL), HDS_OK);
    assert_true(y[0] == 5);
    a[2] = hds_int(-1);
    rig_expect_error(hds_simulate(f, a, 3, NULL), HDS_INVALID_ARGUMENT, "sums.hds:29: assertion failed: turns are counted");
    a[2] = hds_float(1);
    rig_expect_error(hds_simulate(f, a, 3, NULL), HDS_INVALID_ARGUMENT, "'repeat': 'turns' is i32");
    hds_program_release(p);
}

// What a plan cannot say is an error at the author's line when it is asked for, not before.
static void refusals(void **state)
{
    const rig *r = *state;
    _Alignas(16) float x[4] = {0};
    rig_tensor tx;
    hdsrt_extents extents;
    hds_program *p = compile(r, "sums.hds", sums);
    const hds_kernel *says = hds_program_function(p, "says"), *half = hds_program_function(p, "half");
    const hds_argument a[] = {rig_host(&tx, x, 4, 0, 0)}, n[] = {hds_int(3)}, real[] = {hds_float(4)};
    assert_int_equal(hds_simulate(says, a, 1, NULL), HDS_OK);
    assert_true(x[0] == 1 && x[3] == 1);
    assert_non_null(strstr(hds_function_plan(says), "\nprint \"%d\\n\", n # "));
    const hds_kernel *scale_of = hds_program_function(p, "scale_of");
    rig_expect_error(hds_simulate(scale_of, real, 1, NULL), HDS_INVALID_ARGUMENT, "a launch plan has no instruction 'rsqrt'");
    assert_null(hds_function_plan(scale_of));
    assert_int_equal(hds_program_function_count(p), 5);
    assert_null(hds_program_function(p, "add"));
    assert_null(hds_program_kernel(p, "repeat"));
    assert_null(hds_function_plan(hds_program_kernel(p, "add")));
    int64_t bytes = 0;
    rig_expect_error(hds_function_workspace(scale_of, real, 1, &bytes), HDS_INVALID_ARGUMENT,
                     "a launch plan has no instruction 'rsqrt'");
    rig_expect_error(hds_function_workspace(hds_program_kernel(p, "add"), n, 1, &bytes), HDS_INVALID_ARGUMENT,
                     "not a host function");
    rig_expect_error(hds_kernel_extents(half, n, 1, &extents), HDS_INVALID_ARGUMENT, "is a host function");
    hds_program_release(p);
}

// Functions with a result are computed, calls of others and functions of <math.h> among it.
static void values(void **state)
{
    const rig *r = *state;
    hds_program *p = compile(r, "sums.hds", sums);
    const hds_kernel *half = hds_program_function(p, "half"), *length = hds_program_function(p, "length");
    hds_argument n = hds_int(-3), value = {0};
    assert_int_equal(hds_evaluate(half, &n, 1, &value), HDS_OK);
    assert_true(value.kind == HDS_ARG_INT && value.value.integer == -2);
    assert_non_null(strstr(hds_function_plan(length), "print \"half of %d%%\", n"));
    for (int i = 0; i < 8; i++) {
        n = hds_int(i);
        assert_int_equal(hds_evaluate(length, &n, 1, &value), HDS_OK);
        assert_true(value.kind == HDS_ARG_FLOAT && value.value.real == (double)sqrtf((float)(i > 4 ? i / 2 : i)));
    }
    rig_expect_error(hds_launch(half, &n, 1, NULL), HDS_INVALID_ARGUMENT, "'half' gives a result: hds_evaluate computes it");
    rig_expect_error(hds_simulate(half, &n, 1, NULL), HDS_INVALID_ARGUMENT, "'half' gives a result: hds_evaluate computes it");
    rig_expect_error(hds_evaluate(hds_program_kernel(p, "add"), &n, 1, &value), HDS_INVALID_ARGUMENT,
                     "'add' is not a host function");
    rig_expect_error(hds_evaluate(hds_program_function(p, "says"), &n, 1, &value), HDS_INVALID_ARGUMENT, "gives no result");
    rig_expect_error(hds_evaluate(half, &n, 1, NULL), HDS_INVALID_ARGUMENT, "hds_evaluate: result is a null pointer");
    hds_program_release(p);
}

// By element: broadcast, with strides, and flat.
static const char scaled[] =
    "from hidet.lang import f32\n"
    "from elementwise import elementwise\n"
    "\n"
    "\n"
    "@elementwise((f32,))\n"
    "def difference(x, y):\n"
    "    return x - y\n";

static void elementwise_operators(void **state)
{
    const rig *r = *state;
    _Alignas(16) float x[6] = {1, 2, 3, 4, 5, 6}, y[3] = {1, 1, 2}, out[6] = {0};
    rig_tensor tx, ty, to;
    hds_program *p = compile(r, "scaled.hds", scaled);
    const hds_kernel *all = hds_program_function(p, "difference");
    assert_non_null(all);
    const hds_argument flat[] = {rig_host(&tx, x, 6, 0, 0), rig_host(&ty, x, 6, 0, 0), rig_host(&to, out, 6, 0, 0)};
    out[3] = 7;
    if (hds_simulate(all, flat, 3, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    assert_true(out[3] == 0);
    const hds_argument rows[] = {rig_host(&tx, x, 2, 3, 0), rig_host(&ty, y, 3, 0, 0), rig_host(&to, out, 2, 3, 0)};
    if (hds_simulate(all, rows, 3, NULL) != HDS_OK)
        fail_msg("%s", hds_last_error());
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == x[i] - y[i % 3]);
    hds_program_release(p);
}

// There is nothing to find: no C compiler, no assembler, no linker.
static char given_path[4096];

static int without_programs(void **state)
{
    const char *path = getenv("PATH");
    snprintf(given_path, sizeof given_path, "%s", path ? path : "");
    if (rig_set_up(state) || setenv("PATH", ((const rig *)*state)->folder, 1) || setenv("CC", "/nonexistent/cc", 1))
        return 1;
    return system("cc --version >/dev/null 2>&1") == 0;
}

static int with_programs(void **state)
{
    unsetenv("CC");
    setenv("PATH", given_path, 1);
    return rig_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, without_programs, with_programs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_operator_runs), TEST(elementwise_operators), TEST(control_flow), TEST(refusals), TEST(values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
