// Work spread over threads.
#include <unistd.h>

#include "testing/testing_priv.h"

enum { STACK_BYTES = 64 << 20 };

static void *run(void *argument)
{
    test_pool *p = argument;
    pthread_mutex_lock(&p->lock);
    while (p->next < p->count) {
        int i = p->next++;
        pthread_mutex_unlock(&p->lock);
        p->work(p->user, i);
        pthread_mutex_lock(&p->lock);
        p->done[i] = true;
        pthread_cond_signal(&p->finished);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int test_jobs(const test_options *o, int count)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int jobs = o->jobs > 0 ? o->jobs : cores > 0 ? (int)cores : 1;
    jobs = jobs < count ? jobs : count;
    return jobs < 1 ? 1 : jobs < TEST_MOST_THREADS ? jobs : TEST_MOST_THREADS;
}

void test_pool_start(test_pool *p, bool *done, int count, int jobs, test_work *work, void *user)
{
    *p = (test_pool){.count = count, .done = done, .work = work, .user = user};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->finished, NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (p->thread_count < jobs && pthread_create(&p->threads[p->thread_count], &attributes, run, p) == 0)
        p->thread_count++;
    pthread_attr_destroy(&attributes);
    if (!p->thread_count) // the system gives no thread: all of it here and now
        run(p);
}

void test_pool_wait(test_pool *p, int i)
{
    pthread_mutex_lock(&p->lock);
    while (!p->done[i])
        pthread_cond_wait(&p->finished, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void test_pool_stop(test_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->count = p->next;
    pthread_mutex_unlock(&p->lock);
}

void test_pool_join(test_pool *p)
{
    for (int i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->finished);
    pthread_mutex_destroy(&p->lock);
}
