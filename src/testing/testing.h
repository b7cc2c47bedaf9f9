// Tests written in the language, and rewrites of graphs: finding them, running them, saying what came out.
//
//     test_suite suite;
//     test_suite_init(&suite, &options, NULL);
//     if (test_collect(&suite))                 // reads the files; the cases are in suite.cases
//         test_run(&suite, done, user);         // on several threads; done() gets the results in order
//     test_junit(&suite, &text);
//     … suite.passed, suite.failed, suite.skipped, suite.diags …
//     test_suite_free(&suite);
//
// Each case is compiled and run by itself, from its file's text on, with memory, a device and messages of its own, so that
// cases run side by side and none can harm another. Nothing here prints.
#pragma once

#include <stdatomic.h>

#include "pipeline/unit.h"
#include "sim/sim.h"

// Where kernels run. The host code of a test, and all that tests allocate, is the simulator's in any case.
typedef struct test_backend {
    const char *name;  // "cuda"
    // A device for one case, on the thread of the case; NULL after reporting.
    const sim_device *(*open)(const struct test_backend *b, arena *a, diag_context *diags);
    void (*close)(const struct test_backend *b, const sim_device *device);
    const arch *arch;  // what it is: tests that need more are skipped
    void *user;
} test_backend;

typedef struct test_options {
    const pl_options *compile;     // of the files: defines, folders of modules, warnings, limits; the first architecture
    const char *const *paths;      // files, folders of files, FILE::name; none: the current folder
    int path_count;
    const char *const *filters;    // cases whose "file::title" contains one of these; none: all
    int filter_count;
    int jobs;                      // threads; 0: one for each core
    uint64_t seed;                 // of the first schedule
    int64_t budget;                // most warp instructions of a launch; 0: the simulator's own limit, or the test's
    bool trap_nan;                 // the first NaN or infinity of a test is a finding
    bool contract;                 // kernels fuse products and sums, as on a GPU
    bool stop_at_failure;
    bool keep_units;               // until the suite is freed, for callers that use the messages themselves
    const char *level;             // of the IR that is run (pipeline/unit.h); NULL: PL_SIMULATED_LEVEL
    const test_backend *backend;   // NULL: the simulator
    diag_style style;              // of the messages in the results
} test_options;

typedef enum test_outcome { TEST_NOT_RUN, TEST_PASSED, TEST_FAILED, TEST_SKIPPED } test_outcome;

// A function under @rewrite: a test of its own.
typedef struct test_rewrite {
    const char *name;
    size_t number;        // among those that tc_open_rewrites gives for the file
    src_span span;        // of its name
    bool is_approximate;  // it is not tested
} test_rewrite;

typedef VEC(test_rewrite) test_rewrite_list;

typedef struct test_file {
    const char *path;   // as messages show it
    bool is_whole;      // asked for without names
    VEC(const char *) names;  // of FILE::name
    pl_unit unit;       // where its tests were listed
    tc_test_list tests;
    test_rewrite_list rewrites;
    bool *define_used;
} test_file;

typedef struct test_case {
    test_file *file;
    const tc_test *test;
    const test_rewrite *rewrite; // instead; both NULL: the file itself, which does not compile
    const char *name;     // "file.hds::doubles[n=3]"
    atomic_bool is_running;  // now; other threads may read it
    // After the run.
    test_outcome outcome;
    const char *reason;   // of a skip or a failure, in a line
    str messages;         // diagnostics as text
    str printed;          // what the test and its kernels printed
    uint64_t seed;        // of the schedule that failed
    double seconds;
    uint32_t line;
    pl_unit unit;         // memory and messages of the run; freed when done() has returned, unless keep_units
    struct case_run *run; // while it runs
} test_case;

typedef struct test_suite {
    const test_options *options;
    arena memory;
    src_map sources;
    diag_context diags;         // what is wrong with the request, and with no case in particular
    VEC(test_file *) files;
    VEC(test_case *) cases;     // that were chosen
    int unchosen;               // by the filters
    atomic_int passed, failed, skipped;  // of those that done() got; may be read from other threads
    double seconds;
} test_suite;

// [oom]: where control goes if memory runs out outside of a case; NULL: abort. In a case it is the case's failure.
void test_suite_init(test_suite *suite, const test_options *options, arena_oom *oom);
// False after reporting what makes running pointless: a path that is not there, no tests, a filter that matches none.
bool test_collect(test_suite *suite);
// Runs the cases. [done] is called on the caller's thread, in the order of the cases, as soon as a case and all before it
// are through; [suite]'s counts are up to date then.
typedef void test_done(void *user, const test_suite *suite, const test_case *c);
void test_run(test_suite *suite, test_done *done, void *user);
// "doubles[n=3]", or the path of the file itself.
const char *test_title(const test_case *c);
// The messages of its run.
const diag_context *test_messages(const test_case *c);
// The results as JUnit XML (testsuites, testsuite by file, testcase).
void test_junit(const test_suite *suite, str_buf *out);
void test_suite_free(test_suite *suite);
