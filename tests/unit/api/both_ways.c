// Host functions by their plans and by the simulator's own executor give the same bytes, whichever way their sizes choose.
#include "rig.h"

#include "pipeline/unit.h"
#include "sim/sim.h"

#define OPS EXAMPLES "/../ops"

enum { MOST_PARAMETERS = 12, MOST_CASES = 8 };

static const char *const folders[] = {OPS};

// An entry, and its sizes or numbers, in the order of its parameters without tensors.
typedef struct program_case {
    const char *entry;
    int64_t numbers[4];
} program_case;

typedef struct source {
    const char *name, *text;
    program_case cases[MOST_CASES];
} source;

static const source sources[] = {
    {"rows.hds",
     "from hidet.lang import f32, operator\n"
     "from softmax import softmax\n"
     "@operator\n"
     "def rows[T: (f32,), *S, N: int](x: T[*S, N]) -> T[*S, N]:\n"
     "    return softmax(x)\n",
     {{"rows_f32", {3, 40}}, {"rows_f32", {2, 2048}}, {"rows_f32", {1, 16385}}, {"rows_f32", {0, 8}}, {"rows_f32", {5, 131}}}},
    {"lines.hds",
     "from hidet.lang import f32, i32, operator\n"
     "from scan import cumsum\n"
     "from sort import sort\n"
     "@operator\n"
     "def total[T: (f32,), *S, N: int](x: T[*S, N]) -> T[*S, N]:\n"
     "    return cumsum(x)\n"
     "@hidet.script\n"
     "def ordered[m: int, n: int](x: f32[m, n], y: f32[m, n], at: i32[m, n]):\n"
     "    sort.launch(x, into=(y, at))\n",
     {{"total_f32", {3, 40}}, {"total_f32", {2, 3000}}, {"ordered", {2, 50}}, {"ordered", {1, 9000}}}},
};

// ---- inputs ------------------------------------------------------------------------------------------------------

typedef struct buffers {
    hds_argument arguments[MOST_PARAMETERS];
    unsigned char *data[MOST_PARAMETERS];
    int64_t bytes[MOST_PARAMETERS];
    size_t count;
} buffers;

static int bits_of(const hds_parameter *p)
{
    const char *digits = p->dtype + strcspn(p->dtype, "0123456789");
    return atoi(digits);
}

// Floats from 0 to 4; other elements are 0.
static void fill(const hds_parameter *p, unsigned char *data, int64_t bytes)
{
    uint32_t state = 12345;
    for (int64_t i = 0; strcmp(p->dtype, "f32") == 0 && i < bytes; i += 4) {
        state = state * 1664525 + 1013904223;
        float value = (float)(state >> 16) / 16384;
        memcpy(data + i, &value, 4);
    }
}

static void make(const hds_kernel *f, const program_case *c, buffers *b)
{
    int number = 0;
    memset(b, 0, sizeof *b);
    b->count = hds_kernel_parameter_count(f);
    assert_true(b->count <= MOST_PARAMETERS);
    for (size_t i = 0; i < b->count; i++) {
        bool is_tensor = hds_kernel_parameter(f, i)->kind == HDS_TENSOR;
        b->arguments[i] = is_tensor ? hds_pointer(NULL) : hds_int(c->numbers[number++]);
    }
    for (size_t i = 0; i < b->count; i++) {
        const hds_parameter *p = hds_kernel_parameter(f, i);
        int64_t shape[16], count = 1;
        if (p->kind != HDS_TENSOR)
            continue;
        assert_int_equal(hds_kernel_shape(f, b->arguments, b->count, i, shape), HDS_OK);
        for (int d = 0; d < p->ndim; d++)
            count *= shape[d];
        b->bytes[i] = (count * bits_of(p) + 7) / 8;
        b->data[i] = aligned_alloc(64, (size_t)(b->bytes[i] / 64 + 1) * 64);
        memset(b->data[i], 0, (size_t)b->bytes[i]);
        fill(p, b->data[i], b->bytes[i]);
        b->arguments[i] = hds_pointer(b->data[i]);
    }
}

static void drop(buffers *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->data[i]);
}

// ---- the simulator's own way -------------------------------------------------------------------------------------

typedef struct direct {
    pl_unit unit;  // first
    const program_case *at;
    buffers *b;
    bool ok;
} direct;

static const ir_func *find(const ir_module *m, const char *name)
{
    for (size_t i = 0; i < m->funcs.len; i++) {
        if (m->funcs.at[i]->kind == IR_HOST_FUNC && strcmp(m->funcs.at[i]->name, name) == 0)
            return m->funcs.at[i];
    }
    return NULL;
}

static void body(pl_unit *u)
{
    direct *d = (direct *)u;
    const sim_options options = {0};
    const sim_translate_options how = {.index_overflow = true};
    uint64_t values[MOST_PARAMETERS], result = 0;
    int64_t room = 0;
    if (!pl_unit_add_source(u) || !pl_module_for_simulation(u, PL_SIMULATED_LEVEL, NULL))
        return;
    const ir_func *f = find(u->module, d->at->entry);
    const sim_program *program = sim_translate(&u->memory, u->module, &how);
    sim *s = sim_new(&u->memory, &options);
    for (size_t i = 0; i < d->b->count; i++) {
        values[i] = (uint64_t)d->b->arguments[i].value.integer;
        if (!d->b->data[i])
            continue;
        values[i] = sim_allocate(s, d->b->bytes[i] ? d->b->bytes[i] : 1, 4, "x");
        memcpy(sim_bytes(s, values[i], &room), d->b->data[i], (size_t)d->b->bytes[i]);
        sim_mark_written(s, values[i], d->b->bytes[i]);
    }
    d->ok = f && sim_call(s, program, f, values, (int)d->b->count, &result) == SIM_OK;
    for (size_t i = 0; i < d->b->count; i++) {
        if (d->b->data[i])
            memcpy(d->b->data[i], sim_bytes(s, values[i], &room), (size_t)d->b->bytes[i]);
    }
    sim_free(s);
}

static void run_directly(const source *s, const program_case *c, buffers *b)
{
    static const char *archs[] = {"sm_90a"};
    const arch *target = arch_find(str_of(archs[0]));
    const arch *const list[] = {target};
    const pl_options options = {.input = s->name, .archs = list, .arch_count = 1, .include_folders = folders, .include_count = 1};
    direct d = {.at = c, .b = b};
    pl_unit_init(&d.unit, &options, target, 0);
    d.unit.input_name = s->name;
    d.unit.input = str_of(s->text);
    pl_unit_run_deep(&d.unit, body);
    pl_unit_free(&d.unit);
    if (!d.ok)
        fail_msg("%s does not run", c->entry);
}

// ---- both --------------------------------------------------------------------------------------------------------

static void compare(hds_program *p, const source *s, const program_case *c)
{
    const hds_kernel *f = hds_program_function(p, c->entry);
    buffers by_plan, directly;
    assert_non_null(f);
    make(f, c, &by_plan);
    make(f, c, &directly);
    if (hds_simulate(f, by_plan.arguments, by_plan.count, NULL) != HDS_OK)
        fail_msg("%s: %s", c->entry, hds_last_error());
    run_directly(s, c, &directly);
    for (size_t i = 0; i < by_plan.count; i++) {
        if (by_plan.data[i] && memcmp(by_plan.data[i], directly.data[i], (size_t)by_plan.bytes[i]) != 0)
            fail_msg("%s: parameter %zu differs", c->entry, i);
    }
    drop(&by_plan);
    drop(&directly);
}

static void plans_do_what_host_code_does(void **state)
{
    const rig *r = *state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
        options.arch = "sm_90a";
        options.include_dirs = folders;
        options.include_dir_count = 1;
        hds_program *p = rig_compile(r->compiler, sources[i].name, sources[i].text, &options);
        for (int k = 0; k < MOST_CASES && sources[i].cases[k].entry; k++)
            compare(p, &sources[i], &sources[i].cases[k]);
        hds_program_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_do_what_host_code_does, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
