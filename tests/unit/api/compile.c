// hds_compile: options, diagnostics, what is known of kernels, and where results come from.
#include <stdalign.h>
#include "rig.h"

#include "fake_cuda.h"

// ---- programs and kernels --------------------------------------------------------------------------------------

static void a_program(void **state)
{
    const rig *r = *state;
    size_t bytes = 0;
    hds_program *p = rig_compile(r->compiler, "scale.hds", rig_scale, NULL);
    assert_int_equal(hds_program_diagnostic_count(p), 0);
    assert_null(hds_program_diagnostic(p, 0));
    assert_string_equal(hds_program_arch(p), "sm_80");
    assert_int_equal(hds_program_origin(p), HDS_COMPILED);
    assert_int_equal(hds_program_kernel_count(p), 1);
    const hds_kernel *k = hds_program_kernel(p, "scale");
    assert_ptr_equal(k, hds_program_kernel_at(p, 0));
    assert_null(hds_program_kernel_at(p, 1));
    assert_null(hds_program_kernel(p, "other"));
    assert_string_equal(hds_kernel_name(k), "scale");
    assert_string_equal(hds_kernel_title(k), "scale");
    assert_string_equal(hds_kernel_doc(k), "y = factor · x");
    assert_int_equal(hds_kernel_parameter_count(k), 4);
    const hds_parameter *y = hds_kernel_parameter(k, 2), *n = hds_kernel_parameter(k, 3);
    assert_string_equal(y->name, "y");
    assert_int_equal(y->kind, HDS_TENSOR);
    assert_string_equal(y->dtype, "f32");
    assert_int_equal(y->ndim, 1);
    assert_string_equal(y->shape[0], "n");
    assert_true(y->is_written);
    assert_int_equal(y->alignment, 16);
    assert_int_equal(n->kind, HDS_SIZE);
    assert_null(hds_kernel_parameter(k, 4));
    for (int which = HDS_CUDA; which <= HDS_INTERFACE; which++) {
        const char *text = hds_program_text(p, (hds_text)which, &bytes);
        assert_non_null(text);
        assert_true(bytes > 0 && text[bytes] == '\0');
    }
    assert_non_null(strstr(hds_program_text(p, HDS_CUDA, NULL), " scale("));
    assert_non_null(strstr(hds_program_text(p, HDS_INTERFACE, NULL), "\"parameters\""));
    assert_null(hds_program_text(p, (hds_text)99, &bytes));
    hds_program_retain(p);
    hds_program_release(p);
    assert_string_equal(hds_program_arch(p), "sm_80");
    hds_program_release(p);
}

static void nothing_to_ask(void **state)
{
    (void)state;
    size_t bytes = 1;
    hds_program_release(NULL);
    hds_program_retain(NULL);
    hds_compiler_release(NULL);
    assert_int_equal(hds_program_diagnostic_count(NULL), 0);
    assert_int_equal(hds_program_kernel_count(NULL), 0);
    assert_null(hds_program_kernel(NULL, "x"));
    assert_null(hds_program_kernel_at(NULL, 0));
    assert_null(hds_program_text(NULL, HDS_PTX, &bytes));
    assert_int_equal(bytes, 0);
    assert_null(hds_program_arch(NULL));
    assert_null(hds_kernel_name(NULL));
    assert_null(hds_kernel_parameter(NULL, 0));
    assert_int_equal(hds_abi(), HDS_ABI);
    assert_non_null(strchr(hds_version(), '.'));
    for (int status = HDS_OK; status <= HDS_INTERNAL + 1; status++)
        assert_true(*hds_status_text((hds_status)status));
}

// A template: its instances by entries, its constants by defines.
static void entries_and_defines(void **state)
{
    const rig *r = *state;
    static const char text[] =
        "from hidet.lang import attrs, f16, f32\n"
        "from hidet.lang.cuda import threadIdx\n"
        "BM = 32\n"
        "@hidet.script\n"
        "def fill[T: dtype](x: T[BM]):\n"
        "    attrs.cuda.grid_dim = 1\n"
        "    attrs.cuda.block_dim = BM\n"
        "    x[threadIdx.x] = T(1)\n";
    const char *entries[] = {"fill[f16]", "fill[f32]"}, *defines[] = {"BM=64"};
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_90a";
    o.entries = entries;
    o.entry_count = 2;
    o.defines = defines;
    o.define_count = 1;
    hds_program *p = rig_compile(r->compiler, "fill.hds", text, &o);
    assert_int_equal(hds_program_kernel_count(p), 2);
    const hds_kernel *k = hds_program_kernel(p, "fill[T=f32]");
    assert_non_null(k);
    assert_string_equal(hds_kernel_parameter(k, 0)->shape[0], "64");
    assert_string_equal(hds_program_arch(p), "sm_90a");
    hds_program_release(p);
}

static void for_gpu(const rig *r, const char *arch, const char *gpu, int sm_count, const char *extent, const char *made_for)
{
    static const char text[] =
        "from hidet.lang import attrs, f32\n"
        "from hidet.lang.gpu import GPU\n"
        "@hidet.script\n"
        "def fill(x: f32[GPU.sm_count]):\n"
        "    attrs.cuda.grid_dim = 1\n"
        "    attrs.cuda.block_dim = 1\n"
        "    x[0] = 1.0\n";
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = arch;
    o.gpu = gpu;
    o.sm_count = sm_count;
    hds_program *p = rig_compile(r->compiler, "fill.hds", text, &o);
    assert_string_equal(hds_kernel_parameter(hds_program_kernel(p, "fill"), 0)->shape[0], extent);
    assert_string_equal(hds_program_arch(p), made_for);
    assert_int_equal(hds_program_origin(p), HDS_COMPILED);
    hds_program_release(p);
}

// What the schedules of a program are chosen for. Programs for different GPUs are different.
static void gpus(void **state)
{
    const rig *r = *state;
    for_gpu(r, "sm_90a", NULL, 0, "132", "sm_90a");
    for_gpu(r, NULL, "h100-pcie", 0, "114", "sm_90a");
    for_gpu(r, "sm_80", "h100-pcie", 0, "114", "sm_80");
    for_gpu(r, "sm_90a", NULL, 66, "66", "sm_90a");
}

// ---- arguments that make no sense ------------------------------------------------------------------------------

static void refuse(const rig *r, const hds_source *source, const hds_compile_options *o, const char *text)
{
    hds_program *p = (hds_program *)(uintptr_t)1;
    rig_expect_error(hds_compile(r->compiler, source, o, &p), HDS_INVALID_ARGUMENT, text);
    assert_null(p);
}

static void bad_options(void **state)
{
    const rig *r = *state;
    const hds_source good = {"scale.hds", rig_scale, 0};
    const char *null_list[] = {NULL}, *bad_define[] = {"=3"}, *no_value[] = {"N="}, *group[] = {"no-nonsense"};
    hds_compile_options usual = HDS_COMPILE_OPTIONS_INIT, o;
    usual.arch = "sm_80";
    hds_program *p = NULL;
    rig_expect_error(hds_compile(NULL, &good, &usual, &p), HDS_INVALID_ARGUMENT, "compiler is a null pointer");
    rig_expect_error(hds_compile(r->compiler, &good, &usual, NULL), HDS_INVALID_ARGUMENT, "program is a null pointer");
    refuse(r, NULL, &usual, "source is a null pointer");
    refuse(r, &(hds_source){NULL, rig_scale, 0}, &usual, "source->name is missing");
    refuse(r, &(hds_source){"", rig_scale, 0}, &usual, "source->name is missing");
    refuse(r, &(hds_source){"x.hds", NULL, 5}, &usual, "source->text is a null pointer");
    refuse(r, &(hds_source){"-", NULL, 0}, &usual, "standard input");
    o = usual;
    o.arch = "sm_12";
    refuse(r, &good, &o, "unknown architecture 'sm_12'; expected one of sm_");
    o = usual;
    o.gpu = "h2000";
    refuse(r, &good, &o, "unknown GPU 'h2000'; expected one of t4, a100,");
    o = usual;
    o.sm_count = -1;
    refuse(r, &good, &o, "options->sm_count is -1");
    o = usual;
    o.size = 0;
    refuse(r, &good, &o, "HDS_COMPILE_OPTIONS_INIT");
    o = usual;
    o.define_count = 1;
    refuse(r, &good, &o, "options->defines is a null pointer");
    o.defines = null_list;
    refuse(r, &good, &o, "options->defines has an element that is a null pointer");
    o.defines = bad_define;
    refuse(r, &good, &o, "expected NAME=VALUE, found '=3'");
    o.defines = no_value;
    refuse(r, &good, &o, "expected NAME=VALUE, found 'N='");
    o = usual;
    o.entry_count = SIZE_MAX;
    refuse(r, &good, &o, "options->entries has 18446744073709551615 elements");
    o = usual;
    o.include_dir_count = 2;
    refuse(r, &good, &o, "options->include_dirs is a null pointer");
    o = usual;
    o.warnings = group;
    o.warning_count = 1;
    refuse(r, &good, &o, "there is no group 'nonsense'");
    // Options of a later version, asking for nothing new, and for something.
    struct {
        hds_compile_options known;
        uint64_t more;
    } later = {usual, 0};
    later.known.size = sizeof later;
    p = rig_compile(r->compiler, "scale.hds", rig_scale, &later.known);
    hds_program_release(p);
    later.more = 1;
    refuse(r, &good, &later.known, "does not know");
    // Options of an earlier one.
    o = usual;
    o.size = offsetof(hds_compile_options, defines);
    o.define_count = 7;
    p = rig_compile(r->compiler, "scale.hds", rig_scale, &o);
    hds_program_release(p);
}

static void bad_compilers(void **state)
{
    (void)state;
    hds_compiler *c = NULL;
    hds_compiler_options o = HDS_COMPILER_OPTIONS_INIT;
    rig_expect_error(hds_compiler_new(NULL, NULL), HDS_INVALID_ARGUMENT, "compiler is a null pointer");
    o.size = 3;
    rig_expect_error(hds_compiler_new(&o, &c), HDS_INVALID_ARGUMENT, "HDS_COMPILER_OPTIONS_INIT");
    assert_null(c);
}

// The architecture of the current GPU, and of none.
static void own_arch(void **state)
{
    const rig *r = *state;
    hds_program *p = NULL;
    fake_cuda_fail("cuDeviceGetAttribute", 0, 999);
    rig_expect_error(hds_compile(r->compiler, &(hds_source){"scale.hds", rig_scale, 0}, NULL, &p), HDS_DEVICE,
                     "options->arch is not given");
    fake_cuda_fail("cuDeviceGetAttribute", 0, 0);
    fake_cuda_arch(0, 90);
    assert_int_equal(hds_compile(r->compiler, &(hds_source){"scale.hds", rig_scale, 0}, NULL, &p), HDS_OK);
    assert_string_equal(hds_program_arch(p), "sm_90a");
    hds_program_release(p);
}

// ---- diagnostics -----------------------------------------------------------------------------------------------

static void errors_are_objects(void **state)
{
    const rig *r = *state;
    static const char text[] =
        "from hidet.lang import attrs, f32\n"
        "@hidet.script\n"
        "def f(x: f32[4]):\n"
        "    attrs.cuda.grid_dim = 1\n"
        "    attrs.cuda.block_dim = 1\n"
        "    x[7] = größe\n";
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    hds_program *p = NULL;
    rig_expect_error(hds_compile(r->compiler, &(hds_source){"bad.hds", text, 0}, &o, &p), HDS_ERRORS, "bad.hds: ");
    assert_true(hds_program_diagnostic_count(p) > 0);
    const hds_diagnostic *d = hds_program_diagnostic(p, 0);
    assert_int_equal(d->severity, HDS_ERROR);
    assert_int_equal(strncmp(d->code, "HDS", 3), 0);
    assert_string_equal(d->file, "bad.hds");
    assert_int_equal(d->line, 6);
    assert_true(d->column >= 5 && d->end_column > d->column);
    assert_int_equal(d->end_line, 6);
    assert_non_null(strstr(d->rendered, "bad.hds:6:"));
    assert_non_null(strstr(d->rendered, d->message));
    assert_null(strchr(d->rendered, '\033'));
    assert_int_equal(hds_program_kernel_count(p), 0);
    assert_null(hds_program_text(p, HDS_CUDA, NULL));
    hds_program_release(p);
    // Not kept: the same again is compiled again.
    rig_expect_error(hds_compile(r->compiler, &(hds_source){"bad.hds", text, 0}, &o, &p), HDS_ERRORS, "bad.hds");
    assert_int_equal(hds_program_origin(p), HDS_COMPILED);
    hds_program_release(p);
}

static void missing_files(void **state)
{
    const rig *r = *state;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    hds_program *p = NULL;
    rig_expect_error(hds_compile(r->compiler, &(hds_source){"/nowhere/k.hds", NULL, 0}, &o, &p), HDS_ERRORS,
                     "/nowhere/k.hds");
    assert_int_equal(hds_program_diagnostic_count(p), 1);
    assert_string_equal(hds_program_diagnostic(p, 0)->code, "HDS0490");
    assert_null(hds_program_diagnostic(p, 0)->file);
    hds_program_release(p);
}

static const char unused_text[] =
    "from hidet.lang import attrs, f32\n"
    "def helper(x):\n"
    "    return x\n";

// Warnings come with a program that is kept in memory, and can be errors, and be switched off.
static void warnings(void **state)
{
    const rig *r = *state;
    const char *off[] = {"no-empty"};
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    for (int round = 0; round < 2; round++) {
        hds_program *p = rig_compile(r->compiler, "empty.hds", unused_text, &o);
        assert_int_equal(hds_program_diagnostic_count(p), 1);
        assert_int_equal(hds_program_diagnostic(p, 0)->severity, HDS_WARNING);
        assert_int_equal(hds_program_origin(p), round ? HDS_FROM_MEMORY : HDS_COMPILED);
        hds_program_release(p);
    }
    hds_program *p = NULL;
    o.warnings_are_errors = true;
    assert_int_equal(hds_compile(r->compiler, &(hds_source){"empty.hds", unused_text, 0}, &o, &p), HDS_ERRORS);
    assert_int_equal(hds_program_diagnostic(p, 0)->severity, HDS_ERROR);
    hds_program_release(p);
    o.warnings = off;
    o.warning_count = 1;
    p = rig_compile(r->compiler, "empty.hds", unused_text, &o);
    assert_int_equal(hds_program_diagnostic_count(p), 0);
    hds_program_release(p);
}

// Without NVRTC there is no machine code, and the rest is there.
static void no_toolchain(void **state)
{
    const rig *r = *state;
    hds_compiler *c = rig_compiler(r, "/nowhere/at/all", "", 0);
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    hds_program *p = NULL;
    hdsrt_extents e;
    rig_expect_error(hds_compile(c, &(hds_source){"scale.hds", rig_scale, 0}, &o, &p), HDS_NO_TOOLCHAIN, "NVRTC");
    assert_int_equal(hds_program_kernel_count(p), 1);
    assert_non_null(hds_program_text(p, HDS_CUDA, NULL));
    assert_null(hds_program_text(p, HDS_CUBIN, NULL));
    const hds_argument a[] = {hds_float(1), hds_pointer(NULL), hds_pointer(NULL), hds_int(257)};
    const hds_kernel *k = hds_program_kernel_at(p, 0);
    assert_int_equal(hds_kernel_extents(k, a, 4, &e), HDS_OK);
    assert_int_equal(e.grid[0], 2);
    rig_expect_error(hds_launch(k, a, 4, NULL), HDS_NO_TOOLCHAIN, "no machine code");
    rig_expect_error(hds_launch(NULL, a, 4, NULL), HDS_INVALID_ARGUMENT, "kernel is a null pointer");
    rig_expect_error(hds_kernel_extents(k, a, 4, NULL), HDS_INVALID_ARGUMENT, "extents is a null pointer");
    rig_expect_error(hds_kernel_shape(k, a, 4, 0, NULL), HDS_INVALID_ARGUMENT, "shape is a null pointer");
    hds_program_release(p);
    hds_compiler_release(c);
}

static const char choosing[] =
    "from hidet.lang import attrs, f32\n"
    "from hidet.lang.cuda import threadIdx\n"
    "from hidet.lang.search_space import SearchSpace\n"
    "@hidet.script\n"
    "def filled[T: int](y: f32[64]):\n"
    "    attrs.cuda.grid_dim = 1\n"
    "    attrs.cuda.block_dim = T\n"
    "    if threadIdx.x < 64:\n"
    "        y[threadIdx.x] = 1.0\n"
    "SPACE = SearchSpace('mine', ('n',), [64, 128], kernel=lambda t: filled[t], cost=lambda t, sm_count, n: float(t))\n"
    "@hidet.script\n"
    "def run(y: f32[64]):\n"
    "    attrs.func_kind = 'public'\n"
    "    SPACE.launch(SPACE.choose(132, 64), lambda k: k(y))\n";

// A table goes before the model of costs, and makes another program.
static void a_table_is_an_option(void **state)
{
    const rig *r = *state;
    char path[100];
    const char *entries[] = {"run"};
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    snprintf(path, sizeof path, "%s/tuned.hds", r->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("TUNED = [\n    (\"mine\", 132, (64,), \"128\"),\n]\n", file);
    fclose(file);
    o.arch = "sm_80";
    o.entries = entries;
    o.entry_count = 1;
    o.no_code = true;
    for (int i = 0; i < 3; i++) {
        hds_program *p = NULL;
        o.tuned = i == 1 ? path : i == 2 ? "/nowhere/tuned.hds" : NULL;
        assert_int_equal(hds_compile(r->compiler, &(hds_source){"choosing.hds", choosing, 0}, &o, &p), i == 2 ? HDS_ERRORS : HDS_OK);
        const char *text = i == 2 ? "" : hds_program_text(p, HDS_INTERFACE, NULL);
        assert_true(i == 2 || strstr(text, i ? "\"block\": [128" : "\"block\": [64"));
        hds_program_release(p);
    }
    remove(path);
}

// What was asked not to have code is the same from memory, from the disk and compiled, and needs no NVRTC.
static void no_code(void **state)
{
    const rig *r = *state;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    o.no_code = true;
    const hds_origin origins[] = {HDS_COMPILED, HDS_FROM_MEMORY, HDS_FROM_DISK};
    hds_compiler *c = rig_compiler(r, "/nowhere/at/all", r->cache, 0);
    for (int i = 0; i < 3; i++) {
        hds_program *p = NULL;
        if (i == 2) {
            hds_compiler_release(c);
            c = rig_compiler(r, "/nowhere/at/all", r->cache, 0);
        }
        assert_int_equal(hds_compile(c, &(hds_source){"scale.hds", rig_scale, 0}, &o, &p), HDS_OK);
        assert_int_equal(hds_program_origin(p), origins[i]);
        assert_int_equal(hds_program_diagnostic_count(p), 0);
        assert_int_equal(hds_program_kernel_count(p), 1);
        assert_non_null(hds_program_text(p, HDS_INTERFACE, NULL));
        assert_null(hds_program_text(p, HDS_CUBIN, NULL));
        alignas(16) float x[2] = {1, 2}, y[2] = {0, 0};
        const hds_argument a[] = {hds_float(3), hds_pointer(x), hds_pointer(y), hds_int(2)};
        assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), a, 4, NULL), HDS_OK);
        assert_true(y[1] == 6);
        rig_expect_error(hds_launch(hds_program_kernel_at(p, 0), a, 4, NULL), HDS_NO_TOOLCHAIN, "no_code");
        hds_program_release(p);
    }
    hds_compiler_release(c);
}

// ---- memory and disk -------------------------------------------------------------------------------------------

static void from_memory(void **state)
{
    const rig *r = *state;
    hds_program *a = rig_compile(r->compiler, "scale.hds", rig_scale, NULL);
    hds_program *b = rig_compile(r->compiler, "scale.hds", rig_scale, NULL);
    assert_int_equal(hds_program_origin(a), HDS_COMPILED);
    assert_int_equal(hds_program_origin(b), HDS_FROM_MEMORY);
    assert_ptr_equal(hds_program_kernel_at(a, 0), hds_program_kernel_at(b, 0));
    assert_int_equal(rig_compilations(r), 1);
    // Whatever changes the result is another program.
    hds_program *c = rig_compile(r->compiler, "other.hds", rig_scale, NULL);
    assert_int_equal(hds_program_origin(c), HDS_COMPILED);
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    o.line_info = true;
    hds_program *d = rig_compile(r->compiler, "scale.hds", rig_scale, &o);
    assert_int_equal(hds_program_origin(d), HDS_COMPILED);
    hds_program_release(a);
    hds_program_release(b);
    hds_program_release(c);
    hds_program_release(d);
}

// Programs without references are forgotten, the oldest first; those with references are kept.
static void memory_is_bounded(void **state)
{
    const rig *r = *state;
    hds_compiler *c = rig_compiler(r, FAKE_NVRTC, "", 2);
    char name[24];
    hds_program *held = rig_compile(c, "held.hds", rig_scale, NULL);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "k%d.hds", i);
        hds_program_release(rig_compile(c, name, rig_scale, NULL));
    }
    const struct {
        const char *name;
        hds_origin origin;
    } rows[] = {{"held.hds", HDS_FROM_MEMORY},
                {"k3.hds", HDS_FROM_MEMORY},
                {"k2.hds", HDS_FROM_MEMORY},
                {"k0.hds", HDS_COMPILED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hds_program *p = rig_compile(c, rows[i].name, rig_scale, NULL);
        assert_int_equal(hds_program_origin(p), rows[i].origin);
        hds_program_release(p);
    }
    hds_compiler_release(c);
    assert_string_equal(hds_program_arch(held), "sm_80");  // programs outlive compilers
    hds_program_release(held);
}

static void from_disk(void **state)
{
    const rig *r = *state;
    size_t first_bytes = 0, bytes = 0;
    for (int round = 0; round < 3; round++) {
        hds_compiler *c = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
        hds_program *p = rig_compile(c, "scale.hds", rig_scale, NULL);
        assert_int_equal(hds_program_origin(p), round ? HDS_FROM_DISK : HDS_COMPILED);
        assert_non_null(hds_program_text(p, HDS_CUBIN, &bytes));
        first_bytes = round ? first_bytes : bytes;
        assert_int_equal(bytes, first_bytes);
        assert_string_equal(hds_kernel_doc(hds_program_kernel_at(p, 0)), "y = factor · x");
        hds_program_release(p);
        hds_compiler_release(c);
    }
    assert_int_equal(rig_compilations(r), 1);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

// Warnings of a program from disk are those that it was made with.
static void warnings_from_disk(void **state)
{
    const rig *r = *state;
    hds_compiler *first = rig_compiler(r, FAKE_NVRTC, r->cache, 0), *second = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
    hds_program *made = rig_compile(first, "empty.hds", unused_text, NULL);
    hds_program *found = rig_compile(second, "empty.hds", unused_text, NULL);
    assert_int_equal(hds_program_origin(made), HDS_COMPILED);
    assert_int_equal(hds_program_origin(found), HDS_FROM_DISK);
    assert_int_equal(hds_program_diagnostic_count(made), 1);
    assert_int_equal(hds_program_diagnostic_count(found), 1);
    const hds_diagnostic *a = hds_program_diagnostic(made, 0), *b = hds_program_diagnostic(found, 0);
    assert_int_equal(a->severity, b->severity);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->end_line, b->end_line);
    assert_int_equal(a->end_column, b->end_column);
    assert_string_equal(a->code, b->code);
    assert_string_equal(a->message, b->message);
    assert_string_equal(a->rendered, b->rendered);
    assert_int_equal(a->file == NULL, b->file == NULL);
    assert_string_equal(or_empty(a->file), or_empty(b->file));
    hds_program_release(made);
    hds_program_release(found);
    hds_compiler_release(first);
    hds_compiler_release(second);
}

// ---- imports ---------------------------------------------------------------------------------------------------

static const char importing[] =
    "from hidet.lang import attrs, f32\n"
    "from hidet.lang.cuda import threadIdx\n"
    "from sizes import SIZE\n"
    "@hidet.script\n"
    "def f(x: f32[SIZE]):\n"
    "    attrs.cuda.grid_dim = 1\n"
    "    attrs.cuda.block_dim = SIZE\n"
    "    x[threadIdx.x] = 1.0\n";

static void expect_import(const rig *r, hds_compiler *c, const char *extent, hds_origin origin)
{
    char path[160], sub[160];
    const char *folders[] = {sub};
    snprintf(path, sizeof path, "%s/main.hds", r->folder);
    snprintf(sub, sizeof sub, "%s/sub", r->folder);
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    o.include_dirs = folders;
    o.include_dir_count = 1;
    hds_program *p = rig_compile(c, path, NULL, &o);
    assert_string_equal(hds_kernel_parameter(hds_program_kernel_at(p, 0), 0)->shape[0], extent);
    assert_int_equal(hds_program_origin(p), origin);
    hds_program_release(p);
}

// An imported file that changes, and one that appears where it would be found first, in memory and on disk.
static void imports_are_watched(void **state)
{
    const rig *r = *state;
    char path[160];
    snprintf(path, sizeof path, "mkdir %s/sub", r->folder);
    assert_int_equal(system(path), 0);
    rig_write(r, "main.hds", importing);
    rig_write(r, "sub/sizes.hds", "SIZE = 32\n");
    hds_compiler *c = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
    expect_import(r, c, "32", HDS_COMPILED);
    expect_import(r, c, "32", HDS_FROM_MEMORY);
    rig_write(r, "sub/sizes.hds", "SIZE = 64\n");
    expect_import(r, c, "64", HDS_COMPILED);
    expect_import(r, c, "64", HDS_FROM_MEMORY);
    hds_compiler_release(c);
    c = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
    expect_import(r, c, "64", HDS_FROM_DISK);
    expect_import(r, c, "64", HDS_FROM_MEMORY);
    rig_write(r, "sizes.hds", "SIZE = 128\n");
    expect_import(r, c, "128", HDS_COMPILED);
    hds_compiler_release(c);
    c = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
    expect_import(r, c, "128", HDS_FROM_DISK);
    hds_compiler_release(c);
    c = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
    rig_write(r, "sizes.hds", "SIZE = 256\n");
    expect_import(r, c, "256", HDS_COMPILED);
    hds_compiler_release(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program, rig_set_up, rig_tear_down),
        cmocka_unit_test(nothing_to_ask),
        cmocka_unit_test_setup_teardown(entries_and_defines, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(gpus, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(bad_options, rig_set_up, rig_tear_down),
        cmocka_unit_test(bad_compilers),
        cmocka_unit_test_setup_teardown(own_arch, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(errors_are_objects, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(missing_files, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(warnings, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(a_table_is_an_option, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(no_code, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(no_toolchain, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(from_memory, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(memory_is_bounded, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(from_disk, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(warnings_from_disk, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(imports_are_watched, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
