// Launches of the examples are those that the simulator would run: for many sizes, extents by the document equal
// extents by the IR, and (where there is an NVRTC) grids and parameters arrive at the driver as they should.
#include "rig.h"

#include <dirent.h>

#include "fake_cuda.h"
#include "pipeline/unit.h"
#include "sim/sim.h"

enum { MOST_PARAMETERS = 16, SIZES = 6 };

typedef struct example {
    pl_unit unit;  // first
    hds_program *program;
    int kernels, launches;
    const char *wrong;  // the first thing that is
} example;

static const int64_t sizes[SIZES] = {1, 7, 64, 1000, 4096, 320};

// ---- arguments -------------------------------------------------------------------------------------------------

typedef struct arguments {
    hds_argument at[MOST_PARAMETERS];
    uint64_t values[MOST_PARAMETERS];  // as the simulator is given them, and as they arrive
    size_t count;
} arguments;

// Every size another one of the list, so that they are not mixed up.
static void fill(arguments *a, const hds_kernel *k, int round)
{
    a->count = hds_kernel_parameter_count(k);
    for (size_t i = 0; i < a->count; i++) {
        const hds_parameter *p = hds_kernel_parameter(k, i);
        bool is_address = p->kind == HDS_TENSOR || p->kind == HDS_POINTER;
        const float one = 1;
        a->values[i] = is_address ? (uint64_t)(i + 1) << 44 : (uint64_t)sizes[((size_t)round + i) % SIZES];
        a->at[i] = is_address ? hds_pointer((void *)(uintptr_t)a->values[i]) : hds_int((int64_t)a->values[i]);
        if (strcmp(p->dtype, "f32") == 0 && p->kind == HDS_SCALAR) {
            a->values[i] = 0;
            memcpy(&a->values[i], &one, sizeof one);
            a->at[i] = hds_float(1);
        }
    }
}

// ---- comparing -------------------------------------------------------------------------------------------------

static bool is_same(const int64_t a[3], const int64_t b[3])
{
    for (int i = 0; i < 3; i++) {
        if ((a[i] ? a[i] : 1) != (b[i] ? b[i] : 1))
            return false;
    }
    return true;
}

static bool arrived(const fake_cuda_launch *l, const hdsrt_extents *e, const arguments *a)
{
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] != e->grid[i] || l->block[i] != e->block[i])
            return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (memcmp(l->parameters + l->offsets[i], &a->values[i], l->sizes[i]) != 0)
            return false;
    }
    // Behind them are tensor maps.
    return l->dynamic_smem_bytes == e->dynamic_smem_bytes && (size_t)l->parameter_count >= a->count;
}

static void launch(example *x, const hds_kernel *k, const arguments *a, const hdsrt_extents *e)
{
    fake_cuda_launch l;
    int before = fake_cuda_launches();
    if (e->grid[1] > 65535 || e->grid[2] > 65535)
        return;
    hds_status status = hds_launch(k, a->at, a->count, NULL);
    // Sizes that the kernel is not for.
    if (status == HDS_INVALID_ARGUMENT &&
        (strstr(hds_last_error(), "it assumes") || strstr(hds_last_error(), "multiple of")))
        return;
    if (status != HDS_OK)
        x->wrong = arena_strdup(&x->unit.memory, hds_last_error());
    else if (!fake_cuda_launch_at(before, &l) || !arrived(&l, e, a))
        x->wrong = arena_printf(&x->unit.memory, "'%s' does not arrive as it should", hds_kernel_title(k));
    x->launches++;
}

static void compare(example *x, sim *device, const sim_program *program, const ir_func *f, const hds_kernel *k)
{
    int64_t pool = -1;
    for (int round = 0; round < SIZES && !x->wrong; round++) {
        arguments a;
        hdsrt_extents e;
        fill(&a, k, round);
        sim_launch_shape s = sim_shape_of(device, program, f, a.values, (int)a.count);
        if (hds_kernel_extents(k, a.at, a.count, &e) != HDS_OK) {
            x->wrong = arena_strdup(&x->unit.memory, hds_last_error());
            return;
        }
        // The compiler's own share of shared memory does not depend on arguments.
        pool = pool < 0 ? e.dynamic_smem_bytes - s.dynamic_smem_bytes : pool;
        if (!is_same(e.grid, s.grid) || !is_same(e.block, s.block) || !is_same(e.cluster, s.cluster) ||
            e.dynamic_smem_bytes - s.dynamic_smem_bytes != pool)
            x->wrong = arena_printf(&x->unit.memory, "'%s' has other extents in round %d", hds_kernel_title(k), round);
        else if (hds_program_text(x->program, HDS_CUBIN, NULL))
            launch(x, k, &a, &e);
    }
}

// The kernel of that title behind [before] others; instances for different records have the same one.
static const ir_func *find(const ir_module *m, const char *title, int before)
{
    for (size_t i = 0; i < m->funcs.len; i++) {
        const ir_func *f = m->funcs.at[i];
        if (f->is_public && f->kind == IR_KERNEL && strcmp(f->title ? f->title : f->name, title) == 0 && before-- == 0)
            return f;
    }
    return NULL;
}

static int same_titles(const hds_program *p, size_t before)
{
    const char *title = hds_kernel_title(hds_program_kernel_at(p, before));
    int count = 0;
    for (size_t i = 0; i < before; i++)
        count += strcmp(hds_kernel_title(hds_program_kernel_at(p, i)), title) == 0;
    return count;
}

static void body(pl_unit *u)
{
    example *x = (example *)u;
    const sim_options options = {0};
    const sim_translate_options how = {0};
    if (!pl_open_source(u, u->options->input) || !pl_module_for_simulation(u, PL_SIMULATED_LEVEL, NULL)) {
        x->wrong = "it cannot be simulated";
        return;
    }
    const sim_program *program = sim_translate(&u->memory, u->module, &how);
    sim *device = sim_new(&u->memory, &options);
    for (size_t i = 0; i < hds_program_kernel_count(x->program) && !x->wrong; i++) {
        const hds_kernel *k = hds_program_kernel_at(x->program, i);
        const ir_func *f = find(u->module, hds_kernel_title(k), same_titles(x->program, i));
        if (f)
            compare(x, device, program, f, k);
        else
            x->wrong = "a kernel is not in the IR";
        x->kernels++;
    }
    sim_free(device);
}

// ---- the examples ----------------------------------------------------------------------------------------------

static void try_example(hds_compiler *c, const char *path, int *kernels, int *launches)
{
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_90";
    example x = {0};
    hds_status status = hds_compile(c, &(hds_source){path, NULL, 0}, &o, &x.program);
    if (status != HDS_OK && status != HDS_NO_TOOLCHAIN)
        fail_msg("%s: %s", path, hds_last_error());
    const arch *target = arch_find(STR("sm_90"));
    pl_options options = {.input = path, .archs = &target, .arch_count = 1};
    pl_unit_init(&x.unit, &options, target, 0);
    pl_unit_run_deep(&x.unit, body);
    if (x.wrong)
        fail_msg("%s: %s", path, x.wrong);
    *kernels += x.kernels;
    *launches += x.launches;
    pl_unit_free(&x.unit);
    hds_program_release(x.program);
}

static void all_examples(void **state)
{
    (void)state;
    int kernels = 0, launches = 0;
    char path[512];
    hds_compiler *c = rig_compiler(NULL, NULL, "", 0);
    DIR *folder = opendir(EXAMPLES);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t len = strlen(entry->d_name);
        snprintf(path, sizeof path, "%s/%s", EXAMPLES, entry->d_name);
        if (len > 4 && strcmp(entry->d_name + len - 4, ".hds") == 0)
            try_example(c, path, &kernels, &launches);
    }
    closedir(folder);
    hds_compiler_release(c);
    printf("%d kernels, %d launches\n", kernels, launches);
    assert_true(kernels > 10 && (!launches || launches > 2 * kernels));
    assert_int_equal(fake_cuda_live("libraries"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
