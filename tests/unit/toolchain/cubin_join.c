// Joined cubins and PTX: of each kernel everything is as in a file that NVRTC makes of all kernels; what cannot be joined
// is refused; damaged files do no harm.
#include "fixture.h"

#include "toolchain/cubin.h"
#include "toolchain/cubin_join.h"
#include "toolchain/elf_priv.h"
#include "toolchain/ptx_join.h"

static const char *const targets[] = {"sm_80", "sm_90a"};
static const char *const parts[] = {
    "extern \"C\" __global__ void __launch_bounds__(128) plain(float *x) { x[threadIdx.x] *= 2.0f; }\n",
    "extern \"C\" __global__ void divides(double *x, float *y) { *x /= x[1]; *y /= y[1]; }\n",
    "extern \"C\" __global__ void divides_too(double *x, float *y) { x[2] /= x[1]; y[2] = y[3] / y[1]; }\n",
    "extern \"C\" __global__ void shares(float *x)\n"
    "{\n"
    "    __shared__ float s[100];\n"
    "    extern __shared__ float d[];\n"
    "    s[threadIdx.x] = d[threadIdx.x] = x[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    asm volatile(\"{\\n.reg .b32 t;\\nmov.b32 t, 1;\\n}\");\n"
    "    x[threadIdx.x] = s[99 - threadIdx.x] + d[1];\n"
    "}\n",
    "extern \"C\" __global__ void shares_too(float *x)\n"
    "{\n"
    "    __shared__ __align__(128) float s[64];\n"
    "    extern __shared__ float d[];\n"
    "    s[threadIdx.x] = d[threadIdx.x] = x[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    asm volatile(\"{\\n.reg .b32 t;\\nmov.b32 t, 1;\\n}\");\n"
    "    x[threadIdx.x] = s[63 - threadIdx.x] + d[1];\n"
    "}\n",
    "extern \"C\" __global__ void __launch_bounds__(384, 1) gives_registers(float *x)\n"
    "{\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "    if (threadIdx.x < 128)\n"
    "        asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\");\n"
    "    else\n"
    "        asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n"
    "#endif\n"
    "    x[threadIdx.x] *= 3.0f;\n"
    "}\n",
    "extern \"C\" __global__ void switches(double *x, int n)\n"
    "{\n"
    "    switch (n) {\n"
    "    case 0: for (int i = 0; i < 2; i++) x[i * 3] = x[i] + 1.5; break;\n"
    "    case 1: for (int i = 0; i < 3; i++) x[i * 4] = x[i] - 2.5; break;\n"
    "    case 2: for (int i = 0; i < 4; i++) x[i * 5] = x[i] * 3.5; break;\n"
    "    case 3: for (int i = 0; i < 5; i++) x[i * 6] = x[i] / 4.5; break;\n"
    "    case 4: for (int i = 0; i < 6; i++) x[i * 7] = x[i] + 5.5; break;\n"
    "    case 5: for (int i = 0; i < 7; i++) x[i * 8] = x[i] - 6.5; break;\n"
    "    case 6: for (int i = 0; i < 8; i++) x[i * 9] = x[i] * 7.5; break;\n"
    "    case 7: for (int i = 0; i < 9; i++) x[i * 10] = x[i] / 8.5; break;\n"
    "    }\n"
    "}\n",
    "extern \"C\" __global__ void switches_too(double *x, int n)\n"
    "{\n"
    "    switch (n) {\n"
    "    case 0: for (int i = 0; i < 9; i++) x[i * 3] = x[i] / 1.5; break;\n"
    "    case 1: for (int i = 0; i < 8; i++) x[i * 4] = x[i] - 2.5; break;\n"
    "    case 2: for (int i = 0; i < 7; i++) x[i * 5] = x[i] + 3.5; break;\n"
    "    case 3: for (int i = 0; i < 6; i++) x[i * 6] = x[i] / 4.5; break;\n"
    "    case 4: for (int i = 0; i < 5; i++) x[i * 7] = x[i] + 5.5; break;\n"
    "    case 5: for (int i = 0; i < 4; i++) x[i * 8] = x[i] - 6.5; break;\n"
    "    case 6: for (int i = 0; i < 3; i++) x[i * 9] = x[i] * 7.5; break;\n"
    "    case 7: for (int i = 0; i < 2; i++) x[i * 10] = x[i] / 8.5; break;\n"
    "    }\n"
    "}\n",
    "extern \"C\" __device__ int printf(const char *, ...);\n"
    "static __device__ __noinline__ void fail(const char *message) { printf(\"%s\\n\", message); __trap(); }\n"
    "extern \"C\" __global__ void asserts(float *x)\n"
    "{\n"
    "    if (x[threadIdx.x] < 0.0f)\n"
    "        fail(\"x is below 0\");\n"
    "    x[threadIdx.x] = 1.0f / x[threadIdx.x];\n"
    "}\n",
};
enum { TARGETS = sizeof targets / sizeof *targets, PARTS = sizeof parts / sizeof *parts };

static tool_result compile(fixture *f, const tool_nvrtc *nvrtc, const char *target, const char *text)
{
    tool_compile_options options = {.target = arch_named(target), .cubin = true};
    tool_result result;
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &options, text, &result));
    return result;
}

static const char *all_parts(fixture *f)
{
    str_buf text;
    str_buf_init(&text, &f->arena);
    for (size_t i = 0; i < PARTS; i++)
        str_adds(&text, parts[i]);
    return str_text(&text);
}

static str join(fixture *f, const tool_nvrtc *nvrtc, const char *target, str *ptx)
{
    str cubins[PARTS], texts[PARTS], joined;
    const char *why = NULL;
    for (size_t i = 0; i < PARTS; i++) {
        tool_result result = compile(f, nvrtc, target, parts[i]);
        cubins[i] = result.cubin;
        texts[i] = result.ptx;
    }
    if (!tool_cubin_join(&f->arena, cubins, PARTS, &joined, &why))
        fail_msg("%s: %s", target, why);
    assert_true(tool_ptx_join(&f->arena, texts, PARTS, ptx));
    return joined;
}

// Code, constants and sizes of shared memory of the kernels in [whole], and what the GPU must have. The kernel with texts and
// addresses is the last one: ptxas numbers them in another order in front of others.
static void expect_same_sections(str whole, str joined)
{
    tool_elf a, b;
    assert_true(tool_elf_open(whole, &a) && tool_elf_open(joined, &b));
    assert_int_equal(a.header.e_phnum, b.header.e_phnum);
    for (size_t i = 1; i < a.header.e_shnum; i++) {
        tool_elf_section x, y;
        assert_true(tool_elf_section_at(&a, i, &x));
        bool is_kernels = str_starts(x.name, STR(".text.")) || str_starts(x.name, STR(".nv.constant")) ||
                          str_equal(x.name, STR(".nv.compat")) || str_equal(x.name, STR(".nv.global.init"));
        if (!is_kernels)
            continue;
        assert_true(tool_elf_section_named(&b, x.name, &y));
        assert_true(str_equal(x.bytes, y.bytes));
        assert_int_equal(x.header.sh_size, y.header.sh_size);
        assert_int_equal(x.header.sh_info >> 24, y.header.sh_info >> 24);
        assert_int_equal(x.header.sh_flags, y.header.sh_flags);
    }
}

static void expect_same_usage(fixture *f, str whole, str joined)
{
    tool_usage_list a, b;
    assert_true(tool_cubin_usage(&f->arena, whole.at, whole.len, &a));
    assert_true(tool_cubin_usage(&f->arena, joined.at, joined.len, &b));
    assert_int_equal(a.kernels.len, b.kernels.len);
    for (size_t i = 0; i < a.kernels.len; i++) {
        const tool_usage *x = &a.kernels.at[i], *y = tool_usage_of(&b, x->kernel);
        assert_non_null(y);
        assert_int_equal(x->registers, y->registers);
        assert_int_equal(x->stack_bytes, y->stack_bytes);
        assert_int_equal(x->shared_bytes, y->shared_bytes);
        assert_int_equal(x->code_bytes, y->code_bytes);
    }
}

// The parts that are meant to have jump tables have them.
static void expect_tables(str cubin)
{
    tool_elf elf;
    tool_elf_section table;
    assert_true(tool_elf_open(cubin, &elf));
    assert_true(tool_elf_section_named(&elf, STR(".nv.constant2.switches"), &table) && table.bytes.len);
    assert_true(tool_elf_section_named(&elf, STR(".nv.constant2.switches_too"), &table) && table.bytes.len);
}

static void is_as_one_file(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    for (int t = 0; t < TARGETS; t++) {
        str ptx;
        tool_result whole = compile(f, nvrtc, targets[t], all_parts(f));
        str joined = join(f, nvrtc, targets[t], &ptx);
        expect_tables(joined);
        expect_same_sections(whole.cubin, joined);
        expect_same_usage(f, whole.cubin, joined);
        // Again, as an input; and equal inputs give equal bytes.
        str again, twice;
        const char *why;
        assert_true(tool_cubin_join(&f->arena, &joined, 1, &again, &why));
        assert_true(tool_cubin_join(&f->arena, &again, 1, &twice, &why));
        assert_true(str_equal(again, twice));
    }
    tool_nvrtc_close(nvrtc);
}

// Sines of large arguments need a table of digits, and the kernel its address: it is the same in all files that have one.
static void shares_equal_tables(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    static const char *const texts[] = {
        "extern \"C\" __global__ void sines(float *x) { x[threadIdx.x] = sinf(x[threadIdx.x]); }\n",
        "extern \"C\" __global__ void doubles(float *x) { x[threadIdx.x] *= 2.0f; }\n",
        "extern \"C\" __global__ void tangents(float *x, float *y) { y[threadIdx.x] = tanf(x[threadIdx.x]) + tanf(y[0]); }\n",
    };
    for (int t = 0; t < TARGETS; t++) {
        str cubins[3], joined;
        const char *why = NULL;
        for (int i = 0; i < 3; i++)
            cubins[i] = compile(f, nvrtc, targets[t], texts[i]).cubin;
        const char *all = arena_printf(&f->arena, "%s%s%s", texts[0], texts[1], texts[2]);
        const str whole = compile(f, nvrtc, targets[t], all).cubin;
        if (!tool_cubin_join(&f->arena, cubins, 3, &joined, &why))
            fail_msg("%s: %s", targets[t], why);
        tool_elf elf;
        tool_elf_section table;
        assert_true(tool_elf_open(joined, &elf) && tool_elf_section_named(&elf, STR(".nv.constant4"), &table));
        expect_same_sections(whole, joined);
        expect_same_usage(f, whole, joined);
        // Another table: that of a kernel with texts.
        const str two[] = {cubins[0], compile(f, nvrtc, targets[t], parts[PARTS - 1]).cubin};
        assert_false(tool_cubin_join(&f->arena, two, 2, &joined, &why));
    }
    tool_nvrtc_close(nvrtc);
}

// ptxas makes the same code of the joined PTX.
static void ptx_is_one_text(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    const char *ptxas = find_tool(f, "ptxas");
    if (!ptxas)
        skip();
    for (int t = 0; t < TARGETS; t++) {
        str ptx, cubin;
        const char *error;
        str joined = join(f, nvrtc, targets[t], &ptx);
        const char *in = write_file(f, "joined.ptx", ptx), *out = file_join(&f->arena, f->folder, "joined.cubin");
        const char *said =
            output_of(f, arena_printf(&f->arena, "%s -arch=%s -o %s %s 2>&1", ptxas, targets[t], out, in));
        assert_string_equal(said, "");
        assert_true(file_read(&f->arena, out, &cubin, &error));
        expect_same_sections(joined, cubin);
    }
    tool_nvrtc_close(nvrtc);
}

// Loads of which not all bytes are used (0x44): offsets in the code, and bytes. NVRTC makes it of few kernels; here it stands in
// place of the offsets of exits (0x1c).
static void takes_unused_bytes_of_loads(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    tool_elf elf;
    tool_elf_section info, joined_info;
    const str one = compile(f, nvrtc, "sm_90a", parts[0]).cubin;
    char *bytes = arena_dup(&f->arena, one.at, one.len);
    assert_true(tool_elf_open((str){bytes, one.len}, &elf) && tool_elf_section_named(&elf, STR(".nv.info.plain"), &info));
    char *at = memmem(info.bytes.at, info.bytes.len, "\x04\x1c", 2);
    assert_non_null(at);
    at[1] = 0x44;
    str joined, cubins[] = {{bytes, one.len}, compile(f, nvrtc, "sm_90a", parts[1]).cubin};
    const char *why = NULL;
    if (!tool_cubin_join(&f->arena, cubins, 2, &joined, &why))
        fail_msg("%s", why);
    assert_true(tool_elf_open(joined, &elf) && tool_elf_section_named(&elf, STR(".nv.info.plain"), &joined_info));
    const char *kept = memmem(joined_info.bytes.at, joined_info.bytes.len, "\x04\x44", 2);
    assert_non_null(kept);
    assert_memory_equal(kept, at, 8);
    tool_nvrtc_close(nvrtc);
}

static void refuses(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    static const char *const others[] = {
        "__device__ int counter;\nextern \"C\" __global__ void counts() { atomicAdd(&counter, 1); }\n",
        "extern \"C\" __device__ int printf(const char *, ...);\n"
        "extern \"C\" __global__ void prints(int n) { printf(\"%d\", n); }\n",
    };
    // A second table of texts and addresses, whose numbers kernels have in their code.
    str out, cubins[] = {compile(f, nvrtc, "sm_90a", parts[PARTS - 1]).cubin, {0}};
    const char *why;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cubins[1] = compile(f, nvrtc, "sm_90a", others[i]).cubin;
        assert_false(tool_cubin_join(&f->arena, cubins, 2, &out, &why));
        assert_non_null(why);
    }
    cubins[0] = compile(f, nvrtc, "sm_90a", parts[0]).cubin;
    cubins[1] = cubins[0];
    assert_false(tool_cubin_join(&f->arena, cubins, 2, &out, &why));
    assert_string_equal(why, "two kernels of one name");
    cubins[1] = compile(f, nvrtc, "sm_80", parts[1]).cubin;
    assert_false(tool_cubin_join(&f->arena, cubins, 2, &out, &why));
    assert_false(tool_cubin_join(&f->arena, cubins, 0, &out, &why));
    tool_nvrtc_close(nvrtc);
}

// Each byte wrong in turn, and each length: read by a build with AddressSanitizer.
static void survives_damage(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    str whole = compile(f, nvrtc, "sm_90a", parts[PARTS - 1]).cubin, out;
    const char *why;
    char *bytes = arena_dup(&f->arena, whole.at, whole.len);
    for (size_t i = 0; i < whole.len; i += i < 64 || i + 4096 > whole.len ? 1 : 7) {
        arena_mark mark = arena_mark_get(&f->arena);
        bytes[i] ^= 0x55;
        tool_cubin_join(&f->arena, &(str){bytes, whole.len}, 1, &out, &why);
        bytes[i] ^= 0x55;
        tool_cubin_join(&f->arena, &(str){bytes, i}, 1, &out, &why);
        arena_reset(&f->arena, mark);
    }
    tool_nvrtc_close(nvrtc);
}

static void ptx_names_stand_for_one_thing(void **state)
{
    fixture *f = *state;
    static const char head[] = "// NVVM\n\n.version 9.0\n.target sm_80\n.address_size 64\n\n";
    const char *a = arena_printf(&f->arena, "%s.global .b8 t[2] = {1, 2};\n\n.visible .entry a()\n{\n\tret;\n}\n", head);
    const char *b = arena_printf(&f->arena, "%s.global .b8 t[2] = {1, 2};\n\n.visible .entry b()\n{\n\tret;\n}\n", head);
    const char *c = arena_printf(&f->arena, "%s.global .b8 t[2] = {1, 3};\n\n.visible .entry c()\n{\n\tret;\n}\n", head);
    str out;
    assert_true(tool_ptx_join(&f->arena, (str[]){str_of(a), str_of(b)}, 2, &out));
    assert_string_equal(out.at, arena_printf(&f->arena, "%s\n.visible .entry b()\n{\n\tret;\n}\n", a));
    assert_false(tool_ptx_join(&f->arena, (str[]){str_of(a), str_of(c)}, 2, &out));
    assert_false(tool_ptx_join(&f->arena, (str[]){str_of(a), str_of(a)}, 2, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_as_one_file),  TEST(shares_equal_tables), TEST(ptx_is_one_text),
        TEST(refuses),         TEST(survives_damage),     TEST(ptx_names_stand_for_one_thing),
        TEST(takes_unused_bytes_of_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
