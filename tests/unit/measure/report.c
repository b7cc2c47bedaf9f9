// Tables, JSON, and the comparison of two results.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "measure/measure_priv.h"

typedef struct world {
    arena a;
    src_map sources;
    diag_context diags;
    ms_options options;
    ms_record record;
    str_buf out;
} world;

static void begin(world *w)
{
    *w = (world){0};
    arena_init(&w->a, NULL);
    src_map_init(&w->sources, &w->a);
    diag_init(&w->diags, &w->a, &w->sources);
    str_buf_init(&w->out, &w->a);
    w->options = (ms_options){.source = "relu.hds", .yardstick = true, .flops = "2*n", .samples = 5};
    w->record = (ms_record){
        .machine = {.gpu = "GPU", .host = "h", .bus_id = "b", .driver = "13.0", .arch = arch_find(STR("sm_90a")), .sm_count = 132,
                    .clock_khz = 1980000, .memory_khz = 3201000, .bus_bits = 6144},
        .subject = {.title = "relu[T=f16]", .symbol = "relu", .arch = "sm_90a", .peak_type = DT_F16},
        .options = &w->options,
        .date = "2026-01-02T03:04:05Z",
        .empty_seconds = 2e-6,
    };
}

static void add_row(world *w, const char *n, double seconds)
{
    static const double around[] = {0.98, 0.99, 1, 1.01, 1.02};
    ms_size *size = ARENA_NEW(&w->a, ms_size);
    *size = (ms_size){"n", n};
    static const ms_launch launches[] = {
        {.symbol = "relu", .grid = {100, 2, 1}, .block = {256, 1, 1}, .registers = 40, .blocks_per_sm = 8, .waves = 0.19},
        {.symbol = "total", .grid = {1, 1, 1}, .block = {128, 1, 1}, .registers = 24, .local_bytes = 8},
    };
    ms_row row = {.sizes = size, .size_count = 1, .bytes = 100000000, .flops = 2e9, .sets = 3, .batch = 50};
    row.launches = launches;
    row.launch_count = w->record.subject.symbol ? 1 : 2;
    row.samples = ARENA_ARRAY(&w->a, double, 5);
    double copies[5];
    for (int i = 0; i < 5; i++) {
        row.samples[i] = seconds * around[i];
        copies[i] = 25e-6 * around[i];
    }
    row.time = ms_summarize(row.samples, 5);
    row.copy = ms_summarize(copies, 5);
    VEC_PUSH(&w->a, &w->record.rows, row);
}

static void end(world *w)
{
    arena_free(&w->a);
}

static void expect(const str_buf *out, const char *text)
{
    if (!out->at || !strstr(out->at, text))
        fail_msg("no '%s' in\n%s", text, out->at ? out->at : "");
}

static void table(void **state)
{
    (void)state;
    world w;
    begin(&w);
    ms_report_text(&w.record, &w.out);
    assert_int_equal(w.out.len, 0);  // no row
    add_row(&w, "4096", 50e-6);
    add_row(&w, "8", 2.5e-3);
    ms_report_text(&w.record, &w.out);
    expect(&w.out, "relu[T=f16] (sm_90a): 40 registers, 0 bytes of static shared memory\n");
    expect(&w.out, "limits: 4917 GB/s, 1071 TFLOP/s of f16 at 1980 MHz\n");
    expect(&w.out, "sizes       time      ±  GB/s  of peak  of copy  TFLOP/s  of peak   grid  waves  blocks/SM\n");
    expect(&w.out, "n=4096  50.00 µs  1.0 %  2000   40.7 %    0.500     40.0    3.7 %  100x2   0.19          8\n");
    expect(&w.out, "n=8     2.500 ms  1.0 %    40    0.8 %    0.010    0.800    0.1 %  100x2   0.19          8\n");
    expect(&w.out, "an empty kernel measures 2.00 µs");
    assert_null(strstr(w.out.at, "note:"));
    assert_null(strstr(w.out.at, "clocks:"));
    end(&w);
}

static void host_function(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.record.subject.symbol = NULL;
    add_row(&w, "4096", 50e-6);
    add_row(&w, "8", 2.5e-3);
    ms_report_text(&w.record, &w.out);
    expect(&w.out, "relu[T=f16] (sm_90a): a host function\n");
    expect(&w.out, " 100x2 + 1  0.19 + –      8 + –\n");
    expect(&w.out, "\nlaunched: relu, 256 threads a block, 40 registers, 0 bytes of static shared memory\n"
                   "launched: total, 128 threads a block, 24 registers, 8 bytes of local memory, 0 bytes of static shared memory\n"
                   "method: ");
    str_buf json;
    str_buf_init(&json, &w.a);
    ms_report_json(&w.record, &json);
    expect(&json, "\"symbol\": null");
    expect(&json, "\"kernel\": \"total\"");
    end(&w);
}

static void notes(void **state)
{
    (void)state;
    world w;
    begin(&w);
    add_row(&w, "8", 1e-6);
    ms_row *row = &w.record.rows.at[0];
    row->is_host_bound = true;
    row->copy.count = 0;
    row->before = (ms_state){true, 1980, 3201, 40, 300000, 0};
    row->after = (ms_state){true, 1755, 3201, 61, 700000, 0x4};
    w.record.machine.memory_khz = 0;
    w.options.method = MS_FLUSH;
    ms_report_text(&w.record, &w.out);
    expect(&w.out, "clocks: 1980 MHz, 40 °C, 300 W before, 1755 MHz, 61 °C, 700 W after; limited by: power limit\n");
    expect(&w.out, "note: the GPU waited for launches in 1 row: --graph measures without them\n");
    expect(&w.out, "note: there was no memory for a copy to compare with in 1 row\n");
    expect(&w.out, "method: flush, a launch a sample, L2 overwritten before; medians of at least 5 samples");
    expect(&w.out, "        –        –");  // neither a limit nor a copy
    end(&w);
}

// ---- comparing --------------------------------------------------------------------------------------------------

static const char *save(world *w, const char *folder, const char *name)
{
    const char *path = file_join(&w->a, folder, name), *error;
    str_buf json;
    str_buf_init(&json, &w->a);
    ms_report_json(&w->record, &json);
    assert_true(file_write(&w->a, path, (str){json.at, json.len}, &error));
    return path;
}

static void comparison(void **state)
{
    (void)state;
    world w;
    char folder[] = "/tmp/hdsc-bench-XXXXXX";
    assert_non_null(mkdtemp(folder));
    begin(&w);
    add_row(&w, "1", 50e-6);
    add_row(&w, "2", 50e-6);
    add_row(&w, "3", 50e-6);
    add_row(&w, "4", 50e-6);
    add_row(&w, "gone", 50e-6);
    const char *before = save(&w, folder, "before.json");
    w.record.rows.len = 0;
    add_row(&w, "1", 50.4e-6);  // within 1 %
    add_row(&w, "2", 40e-6);
    add_row(&w, "3", 51.5e-6);  // slower, but not by much
    add_row(&w, "4", 100e-6);
    add_row(&w, "new", 50e-6);
    const char *now = save(&w, folder, "now.json");
    ms_comparison c;
    assert_true(ms_compare(&w.a, &w.diags, before, now, 0.97, &w.out, &c));
    assert_int_equal(c.rows, 4);
    assert_int_equal(c.faster, 1);
    assert_int_equal(c.slower, 2);
    assert_int_equal(c.failed, 1);
    expect(&w.out, "n=1    50.00 µs   50.40 µs  0.992  1.0 %  0.500 → 0.496    within noise\n");
    expect(&w.out, "n=2    50.00 µs   40.00 µs  1.250  1.0 %  0.500 → 0.625          faster\n");
    expect(&w.out, "n=3    50.00 µs   51.50 µs  0.971  1.0 %  0.500 → 0.485          slower\n");
    expect(&w.out, "n=4    50.00 µs  100.00 µs  0.500  1.0 %  0.500 → 0.250  slower: FAILED\n");
    expect(&w.out, "before.json: n=gone\n");
    expect(&w.out, "now.json: n=new\n");
    expect(&w.out, "4 rows: 1 faster, 2 slower, 1 within noise");
    assert_true(ms_compare(&w.a, &w.diags, before, now, 0, &w.out, &c));
    assert_int_equal(c.failed, 0);
    assert_int_equal(w.diags.all.len, 0);
    unlink(before);
    unlink(now);
    rmdir(folder);
    end(&w);
}

static void other_machines(void **state)
{
    (void)state;
    world w;
    char folder[] = "/tmp/hdsc-bench-XXXXXX";
    assert_non_null(mkdtemp(folder));
    begin(&w);
    add_row(&w, "1", 50e-6);
    const char *before = save(&w, folder, "before.json");
    w.record.machine.gpu = "another";
    w.record.subject.title = "relu6";
    w.options.method = MS_FLUSH;
    const char *now = save(&w, folder, "now.json");
    ms_comparison c;
    assert_true(ms_compare(&w.a, &w.diags, before, now, 0.9, &w.out, &c));
    expect(&w.out, "note: relu6 is compared with relu[T=f16]\n");
    expect(&w.out, "note: measured on different GPUs: GPU, then another\n");
    expect(&w.out, "note: measured by different methods: rotate, then flush\n");
    unlink(before);
    unlink(now);
    rmdir(folder);
    end(&w);
}

static void expect_code(world *w, const char *before, const char *now, diag_code code)
{
    ms_comparison c;
    diag_init(&w->diags, &w->a, &w->sources);
    assert_false(ms_compare(&w->a, &w->diags, before, now, 0, &w->out, &c));
    assert_int_equal(w->diags.all.len, 1);
    assert_int_equal(w->diags.all.at[0]->code, code);
}

static void no_results(void **state)
{
    (void)state;
    world w;
    char folder[] = "/tmp/hdsc-bench-XXXXXX";
    static const char *const texts[] = {"", "{", "[1]", "{}", "{\"format\": \"other\", \"rows\": []}", "{\"format\": \"hdsc bench\"}",
                                        "{\"format\": \"hdsc bench\", \"version\": 3, \"rows\": []}"};
    assert_non_null(mkdtemp(folder));
    begin(&w);
    add_row(&w, "1", 50e-6);
    const char *good = save(&w, folder, "good.json"), *bad = file_join(&w.a, folder, "bad.json"), *error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(file_write(&w.a, bad, str_of(texts[i]), &error));
        expect_code(&w, bad, good, HDS0751);
        expect_code(&w, good, bad, HDS0751);
    }
    // Rows without times, and of other types than they should be, are no rows.
    assert_true(file_write(&w.a, bad, STR("{\"format\": \"hdsc bench\", \"version\": 2, \"rows\": [1, {}, {\"sizes\": 3, \"seconds\": []}, "
                                          "{\"sizes\": {\"n\": \"1\"}, \"seconds\": {\"median\": \"x\"}}]}"), &error));
    expect_code(&w, bad, good, HDS0752);
    expect_code(&w, good, bad, HDS0752);
    expect_code(&w, file_join(&w.a, folder, "none.json"), good, HDS0490);
    unlink(good);
    unlink(bad);
    rmdir(folder);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),          cmocka_unit_test(host_function), cmocka_unit_test(notes),
        cmocka_unit_test(comparison),     cmocka_unit_test(other_machines), cmocka_unit_test(no_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
