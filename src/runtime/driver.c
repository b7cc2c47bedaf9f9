#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/internal.h"

enum { OLDEST_VERSION = 12000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hdsrt_driver table;
static const hdsrt_driver *opened; // NULL or &table; atomic
static bool is_bound;              // the table is filled; under the lock until it is opened
static void *library;
static pid_t owner;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

// A child must not find the lock held by a thread that it does not have, so forks wait for it. When the program starts:
// later would be a race itself.
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, hdsrt_unlock, hdsrt_unlock);
}

void hdsrt_lock(void)
{
    pthread_mutex_lock(&lock);
}

void hdsrt_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

bool hdsrt_is_forked(void)
{
    return hdsrt_driver_get() && owner != getpid();
}

static bool bind(const char **missing)
{
    static const struct {
        size_t offset;
        const char *symbol;
    } rows[] = {
#define HDSRT_DRIVER(name, symbol, parameters) {offsetof(hdsrt_driver, name), #symbol},
#include "runtime/driver.def"
#undef HDSRT_DRIVER
    };
    *missing = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *address = dlsym(library, rows[i].symbol);
        if (!address && !*missing)
            *missing = rows[i].symbol;
        memcpy((char *)&table + rows[i].offset, &address, sizeof address);
    }
    return !*missing;
}

static hdsrt_status bind_all(const char *name)
{
    const char *missing;
    int version = 0;
    bool is_whole = bind(&missing);
    if (table.version && !table.version(&version) && version < OLDEST_VERSION)
        return hdsrt_fail(HDSRT_NO_DRIVER, "the CUDA driver is for CUDA %d.%d, and 12.0 or newer is needed: update it",
                          version / 1000, version % 1000 / 10);
    if (is_whole)
        return HDSRT_OK;
    return hdsrt_fail(HDSRT_NO_DRIVER, "the CUDA driver (%s) has no '%s': one for CUDA 12.0 or newer is needed", name,
                      missing);
}

static hdsrt_status initialise(void)
{
    int result = table.init(0);
    if (result == HDSRT_CUDA_NO_DEVICE)
        return hdsrt_driver_fail(result, "the CUDA driver finds no GPU");
    return hdsrt_driver_fail(result, "starting the CUDA driver");
}

static hdsrt_status start(void)
{
    const char *name = secure_getenv("HDSRT_DRIVER");
    if (!name || !*name)
        name = HDSRT_DRIVER_LIBRARY;
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return hdsrt_fail(HDSRT_NO_DRIVER, "the CUDA driver (%s) cannot be opened: %s", name,
                          why ? why : "no reason is known");
    }
    hdsrt_status status = bind_all(name);
    is_bound = !status;
    if (!status)
        status = initialise();
    if (!status)
        return HDSRT_OK;
    is_bound = false;
    dlclose(library);
    return status;
}

hdsrt_status hdsrt_driver_open(const hdsrt_driver **driver)
{
    hdsrt_status status = HDSRT_OK;
    *driver = hdsrt_driver_get();
    if (*driver)
        return HDSRT_OK;
    hdsrt_lock();
    if (!opened)
        status = start();
    if (!status && !opened) {
        owner = getpid();
        __atomic_store_n(&opened, &table, __ATOMIC_RELEASE);
    }
    hdsrt_unlock();
    *driver = status ? NULL : &table;
    return status;
}

const hdsrt_driver *hdsrt_driver_get(void)
{
    return __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
}

const hdsrt_driver *hdsrt_driver_bound(void)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    return cuda ? cuda : is_bound ? &table : NULL;
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

// What takes long need not be seen at once.
int hdsrt_driver_wait(const hdsrt_driver *cuda, void *stream, int64_t seconds)
{
    static const struct timespec pause = {.tv_nsec = 200000};
    enum { SPIN_US = 5000 };
    int64_t begin = now_us();
    int result;
    while ((result = cuda->stream_query(stream)) == HDSRT_CUDA_NOT_READY) {
        int64_t waited = now_us() - begin;
        if (waited / 1000000 >= seconds)
            break;
        if (waited > SPIN_US)
            nanosleep(&pause, NULL);
    }
    return result;
}
