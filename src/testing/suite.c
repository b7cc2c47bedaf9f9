// A whole run: the cases on their threads, their results in order.
#include "testing/testing_priv.h"

void test_suite_init(test_suite *s, const test_options *options, arena_oom *oom)
{
    *s = (test_suite){.options = options};
    arena_init(&s->memory, oom);
    src_map_init(&s->sources, &s->memory);
    diag_init(&s->diags, &s->memory, &s->sources);
}

void test_suite_free(test_suite *s)
{
    for (size_t i = 0; i < s->cases.len; i++)
        pl_unit_free(&s->cases.at[i]->unit);
    for (size_t i = 0; i < s->files.len; i++)
        pl_unit_free(&s->files.at[i]->unit);
    arena_free(&s->memory);
}

typedef struct run_state {
    test_suite *suite;
    int workers;
} run_state;

static void run_one(void *user, int i)
{
    run_state *r = user;
    test_case *c = r->suite->cases.at[i];
    atomic_store(&c->is_running, true);
    test_run_case(r->suite->options, c, r->workers);
    atomic_store(&c->is_running, false);
}

static void count(test_suite *s, const test_case *c)
{
    s->passed += c->outcome == TEST_PASSED;
    s->failed += c->outcome == TEST_FAILED;
    s->skipped += c->outcome == TEST_SKIPPED;
}

static const char *keep(test_suite *s, const char *text)
{
    return text ? arena_strdup(&s->memory, text) : NULL;
}

static str keep_str(test_suite *s, str text)
{
    return text.len ? str_of(arena_strndup(&s->memory, text.at, text.len)) : (str){0};
}

// What the report needs outlives the case's own memory.
static void settle(test_suite *s, test_case *c)
{
    if (s->options->keep_units)
        return;
    c->reason = keep(s, c->reason);
    c->messages = keep_str(s, c->messages);
    c->printed = keep_str(s, c->printed);
    pl_unit_free(&c->unit);
    c->unit = (pl_unit){0};
}

static void deliver(test_suite *s, test_case *c, test_done *done, void *user)
{
    count(s, c);
    done(user, s, c);
    settle(s, c);
}

void test_run(test_suite *s, test_done *done, void *user)
{
    double start = pl_now_us();
    int total = (int)s->cases.len, jobs = test_jobs(s->options, total);
    int spare = test_jobs(s->options, TEST_MOST_THREADS) / jobs;
    run_state state = {s, spare > 1 ? spare : 1};
    test_pool pool;
    test_pool_start(&pool, ARENA_ARRAY(&s->memory, bool, total + 1), total, jobs, run_one, &state);
    int delivered = 0;
    while (delivered < total && !(s->options->stop_at_failure && s->failed)) {
        test_pool_wait(&pool, delivered);
        deliver(s, s->cases.at[delivered++], done, user);
    }
    test_pool_stop(&pool);
    test_pool_join(&pool);
    for (int i = delivered; i < total; i++)
        s->cases.at[i]->outcome = TEST_NOT_RUN;
    s->seconds = (pl_now_us() - start) / 1e6;
}
