// Declarations shared by the files of src/testing.
#pragma once

#include <pthread.h>

#include "testing/testing.h"

// threads.c: work(user, i) for each i in [0, count), handed out in order to [jobs] threads with stacks of a compiler's
// size.
typedef void test_work(void *user, int i);
enum { TEST_MOST_THREADS = 256 };
typedef struct test_pool {
    pthread_mutex_t lock;
    pthread_cond_t finished; // some case is
    int next, count;
    bool *done; // by number
    test_work *work;
    void *user;
    pthread_t threads[TEST_MOST_THREADS];
    int thread_count;
} test_pool;
int test_jobs(const test_options *o, int count);
// [done]: room for count flags.
void test_pool_start(test_pool *p, bool *done, int count, int jobs, test_work *work, void *user);
void test_pool_wait(test_pool *p, int i); // until number i is done
void test_pool_stop(test_pool *p);        // hands out no more
void test_pool_join(test_pool *p);

// case.c: compiles and runs a case and judges it. [workers]: threads for the blocks of its kernels.
void test_run_case(const test_options *o, test_case *c, int workers);
// Makes the case's file that of its unit. False after reporting.
bool test_open_file(const test_case *c, pl_unit *u);
// The options for the elaborator.
tc_options test_tc_options(pl_unit *u);

// expect.c: compares the messages of the run with what is expected; true: the case has passed, and what was expected is
// no message any more. [ran]: it got as far as running.
bool test_judge(test_case *c, bool ran);

// weights.c: allocates the weights of a test and fills them: a value for each parameter of its function. False after reporting.
bool test_place_weights(pl_unit *u, sim *s, uint64_t *addresses);

// rewrite.c: the rewrites that the unit's file defines, and a case that is one: its outcome and what it says when it passes.
void test_list_rewrites(pl_unit *u, test_rewrite_list *out);
void test_run_rewrite(const test_options *o, test_case *c, pl_unit *u);
