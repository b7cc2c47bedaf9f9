// Launch plans with faults on the simulator: temporaries whose places meet, and accesses out of them or out of their lives.
#include "../sim/rig.h"

#include <stdlib.h>

#include "planned/planned.h"

// At lines of model.hds.
static const char clean[] =
    "plan @f(x: address, y: address) planned 512\n"
    "allocate a: i32[32i64] at 0 # \"model.hds\":3\n"
    "let old: address = a\n"
    "launch @k(x, a, 0i32) # 4\n"
    "allocate b: i32[32i64] at 256 # 5\n"
    "launch @k(a, b, 0i32) # 6\n"
    "free a\n"
    "allocate c: i32[32i64] at 0 # 7\n"
    "launch @k(b, c, 0i32) # 8\n"
    "launch @k(c, y, 0i32) # 9\n"
    "free b\n"
    "free c\n";

static const char kernel[] =
    "public kernel @k(x: i32[32] global layout row_major(32) storage 32, y: i32[32] global layout row_major(32) storage 32, "
    "at: i32) block 32, 1, 1 {\ny[tid.x + at] = x[tid.x]\n}\n";

typedef struct fixture {
    rig r;
    jit_function function;
    jit_kernel kernel;
    planned_device device;
} fixture;

static const ir_func *find(void *user, const jit_kernel *k)
{
    (void)k;
    return ((rig *)user)->module->funcs.at[0];
}

static void open(fixture *f, const char *text)
{
    const char *why = NULL;
    memset(f, 0, sizeof *f);
    rig_open(&f->r, kernel);
    if (!plan_read(&f->r.mem, str_of(text), &f->function.plan, &why))
        fail_msg("%s", why);
    f->kernel = (jit_kernel){.launch.name = "k", .count = 3};
    f->function.entry.launch.name = "f";
    f->function.kernels = ARENA_ARRAY(&f->r.mem, jit_kernel *, f->function.plan.stmts.len + 1);
    for (size_t i = 0; i < f->function.plan.stmts.len; i++)
        f->function.kernels[i] = &f->kernel;
    f->device = (planned_device){.device = f->r.device, .program = f->r.program, .user = &f->r, .find = find};
}

// [text] with the first [old] as [new].
static char *with(const char *text, const char *old, const char *new)
{
    static char changed[2000];
    const char *at = strstr(text, old);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return changed;
}

// The findings of a run, by code and line: "HDS0659 at model.hds:5: …".
static const char *run(fixture *f)
{
    str_buf out;
    int32_t numbers[32];
    for (int i = 0; i < 32; i++)
        numbers[i] = i * 3;
    uint64_t values[] = {rig_tensor(&f->r, numbers, sizeof numbers, 4), sim_allocate(f->r.device, sizeof numbers, 4, "y")};
    hdsrt_status status = planned_run(&f->device, &f->function, values, NULL);
    assert_int_equal(status != HDSRT_OK, f->device.status == SIM_STOPPED);
    sim_findings_report(f->r.device, &f->r.diags);
    if (!f->r.diags.all.len)
        assert_memory_equal(rig_bytes(&f->r, values[1]), numbers, sizeof numbers);
    str_buf_init(&out, &f->r.mem);
    for (size_t i = 0; i < f->r.diags.all.len; i++) {
        const diag *d = f->r.diags.all.at[i];
        str_addf(&out, "%s", diag_name(d->code));
        for (size_t k = 0; k < d->parts.len; k++)
            if (strstr(d->parts.at[k].text, "model.hds"))
                str_addf(&out, " %s", d->parts.at[k].text);
        str_addf(&out, ": %s\n", d->message);
    }
    return str_text(&out);
}

static void expect(const char *text, const char *findings)
{
    fixture f;
    open(&f, text);
    const char *got = run(&f);
    if (strcmp(got, findings) != 0)
        fail_msg("found\n%sand expected\n%s", got, findings);
    rig_close(&f.r);
}

static void what_is_right_is_silent(void **state)
{
    (void)state;
    expect(clean, "");
}

// Documents with such offsets are refused (tests/unit/plan/layout.c), so this one is changed once it is read.
static void live_temporaries_share_no_bytes(void **state)
{
    (void)state;
    fixture f;
    open(&f, clean);
    for (size_t i = 0; i < f.function.plan.stmts.len; i++)
        if (f.function.plan.stmts.at[i].offset == 256)
            f.function.plan.stmts.at[i].offset = 64;
    assert_string_equal(run(&f), "HDS0659 at model.hds:5: 'b' is put at bytes 64 to 191 of the workspace, and 'a', at 0 to 127, "
                                 "is still in use\n"
                                 "HDS0659 at model.hds:7: 'c' is put at bytes 0 to 127 of the workspace, and 'b', at 64 to 191, "
                                 "is still in use\n");
    rig_close(&f.r);
}

static void temporaries_are_within_the_workspace(void **state)
{
    (void)state;
    fixture f;
    open(&f, clean);
    f.function.plan.planned = 300;
    assert_string_equal(run(&f), "HDS0659 at model.hds:5: 'b' ends at byte 384 of a workspace of 300\n");
    rig_close(&f.r);
}

static void what_is_freed_is_not_read(void **state)
{
    (void)state;
    expect(with(clean, "launch @k(c, y, 0i32)", "launch @k(old, y, 0i32)"),
           "HDS0620 launched at model.hds:9: 'k' cannot be launched: 'x' is not an address of a live tensor\n");
}

// 'c' has the bytes that 'a' had, and nothing of its numbers.
static void what_was_there_before_is_not_read(void **state)
{
    (void)state;
    expect(with(clean, "launch @k(b, c, 0i32)", "launch @k(c, b, 0i32)"),
           "HDS0604 launched at model.hds:8: a value stored to global memory depends on uninitialised memory\n");
}

static void what_is_beside_a_temporary_is_not_written(void **state)
{
    (void)state;
    expect(with(clean, "launch @k(a, b, 0i32)", "launch @k(a, b, 1i32)"),
           "HDS0601 launched at model.hds:6: index 32 is outside dimension 0 of 'y' with extent 32\n"
           "HDS0604 launched at model.hds:8: a value stored to global memory depends on uninitialised memory\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_silent),
        cmocka_unit_test(live_temporaries_share_no_bytes),
        cmocka_unit_test(temporaries_are_within_the_workspace),
        cmocka_unit_test(what_is_freed_is_not_read),
        cmocka_unit_test(what_was_there_before_is_not_read),
        cmocka_unit_test(what_is_beside_a_temporary_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
