// What the double is told: the environment, rules for failures, hidden symbols; and what it tells: the log, counts.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control.h"

typedef struct entry {
    const char *symbol;
    int calls;
    int countdown, code; // code 0: no rule; countdown 0: every call
    bool is_breaking;
} entry;

static entry entries[] = {
#define HDSRT_DRIVER(name, symbol, parameters) {#symbol, 0, 0, 0, false},
#include "more.def"
#include "runtime/driver.def"
#undef HDSRT_DRIVER
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1;
static pid_t initialised; // the process that called cuInit; 0: none
static int thread_count;
static _Thread_local int thread_number;

void fake_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static entry *find(const char *symbol)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (strcmp(entries[i].symbol, symbol) == 0)
            return &entries[i];
    }
    fprintf(stderr, "fake_cuda: there is no '%s'\n", symbol);
    abort();
}

// ---- calls ------------------------------------------------------------------------------------------------------

// What a rule says about this call. A rule for one call is used up by it.
static int injected(const char *symbol)
{
    entry *e = find(symbol);
    e->calls++;
    if (!e->code || (e->countdown > 1 && e->countdown--))
        return SUCCESS;
    int code = e->code;
    if (e->countdown)
        e->code = 0;
    if (e->is_breaking)
        fake_context_break(code);
    return code;
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

// The driver waits for the work of the context in these.
static void wait_for_work(const char *symbol)
{
    static const char *const waiting[] = {
        "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemFree_v2",
        "cuModuleUnload", "cuLibraryUnload", "cuCtxDestroy_v2", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2"};
    for (size_t i = 0; fake_time_is_endless() && i < sizeof waiting / sizeof *waiting; i++) {
        if (strcmp(symbol, waiting[i]) == 0)
            wait_for_ever();
    }
}

// So it does when the program ends.
__attribute__((destructor)) static void end(void)
{
    if (fake_time_is_endless())
        wait_for_ever();
}

int fake_begin(const char *symbol)
{
    fake_lock();
    wait_for_work(symbol);
    if (!thread_number)
        thread_number = ++thread_count;
    return injected(symbol);
}

int fake_begin_ready(const char *symbol)
{
    int result = fake_begin(symbol);
    return result ? result : initialised == getpid() ? SUCCESS : NOT_INITIALIZED;
}

int fake_begin_in_context(const char *symbol, fake_context **context)
{
    int result = fake_begin_ready(symbol);
    return result ? result : fake_context_current(context);
}

int fake_initialise(void)
{
    if (initialised && initialised != getpid())
        return NOT_INITIALIZED;
    if (!fake_device_count)
        return NO_DEVICE;
    initialised = getpid();
    return SUCCESS;
}

static void write_line(const char *symbol, int result, const char *format, va_list args)
{
    char line[16384];
    int used = snprintf(line, sizeof line, "%d %s(", thread_number, symbol);
    int added = vsnprintf(line + used, sizeof line - 64 - (size_t)used, format, args);
    used += added < (int)sizeof line - 65 - used ? added : (int)sizeof line - 65 - used;
    used += snprintf(line + used, sizeof line - (size_t)used, ") = %d\n", result);
    // One write: lines of several processes do not mix.
    if (write(log_file, line, (size_t)used) != used)
        log_file = -1;
}

int fake_end(const char *symbol, int result, const char *format, ...)
{
    if (log_file >= 0) {
        va_list args;
        va_start(args, format);
        write_line(symbol, result, format, args);
        va_end(args);
    }
    fake_unlock();
    return result;
}

int fake_cuda_calls(const char *symbol)
{
    fake_lock();
    int calls = find(symbol)->calls;
    fake_unlock();
    return calls;
}

void fake_calls_forget(void)
{
    for (int i = 0; i < ENTRIES; i++)
        entries[i].calls = 0;
}

static void add_rule(const char *symbol, int nth, int code, bool is_breaking)
{
    fake_lock();
    entry *e = find(symbol);
    e->countdown = nth;
    e->code = code;
    e->is_breaking = is_breaking;
    fake_unlock();
}

void fake_cuda_fail(const char *symbol, int nth, int code)
{
    add_rule(symbol, nth, code, false);
}

void fake_cuda_break(const char *symbol, int nth, int code)
{
    add_rule(symbol, nth, code, true);
}

// ---- hidden symbols ---------------------------------------------------------------------------------------------
// dlsym reads this library's own table of symbols; one without a value is not found.

typedef struct table {
    ElfW(Sym) * symbols;
    const char *names;
    size_t count;
} table;

static bool own_table(table *out)
{
    Dl_info info;
    struct link_map *map = NULL;
    *out = (table){0};
    if (!dladdr1((void *)fake_cuda_hide, &info, (void **)&map, RTLD_DL_LINKMAP))
        return false;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            out->symbols = (ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB)
            out->names = (const char *)d->d_un.d_ptr;
    }
    // The names follow the symbols.
    out->count = out->symbols && out->names
                     ? (size_t)((const char *)out->names - (const char *)out->symbols) / sizeof(ElfW(Sym))
                     : 0;
    return out->count > 0;
}

static void set_value(const char *symbol, ElfW(Addr) value, ElfW(Addr) * before)
{
    table t;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; own_table(&t) && i < t.count; i++) {
        ElfW(Sym) *s = &t.symbols[i];
        if (strcmp(t.names + s->st_name, symbol) != 0)
            continue;
        void *start = (void *)((uintptr_t)s & ~(page - 1));
        size_t bytes = (uintptr_t)(s + 1) - (uintptr_t)start;
        if (mprotect(start, bytes, PROT_READ | PROT_WRITE)) {
            perror("fake_cuda: mprotect");
            abort();
        }
        *before = s->st_value;
        s->st_value = value;
        return;
    }
    fprintf(stderr, "fake_cuda: there is no '%s' to hide\n", symbol);
    abort();
}

static ElfW(Addr) hidden[ENTRIES];

void fake_cuda_hide(const char *symbol)
{
    ElfW(Addr) value;
    set_value(symbol, 0, &value);
    if (value)
        hidden[find(symbol) - entries] = value;
}

void fake_cuda_show(const char *symbol)
{
    ElfW(Addr) zero, *value = &hidden[find(symbol) - entries];
    if (*value)
        set_value(symbol, *value, &zero);
}

// ---- the environment --------------------------------------------------------------------------------------------

static void read_archs(const char *list)
{
    int arch = 90;
    for (int i = 0; i < MAX_DEVICES; i++) {
        char *end;
        long value = list ? strtol(list, &end, 10) : 0;
        if (value > 0) {
            arch = (int)value;
            list = *end == ',' ? end + 1 : NULL;
        }
        fake_devices[i].arch = arch;
        fake_devices[i].primary = (fake_context){.device = i, .is_primary = true};
    }
}

static void read_failures(char *list)
{
    char *rest = NULL, symbol[64], mark;
    int nth, code;
    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        int found = sscanf(one, "%63[^:]:%d:%d%c", symbol, &nth, &code, &mark);
        if (found < 3) {
            fprintf(stderr, "fake_cuda: FAKE_CUDA_FAIL is SYMBOL:NTH:CODE, not '%s'\n", one);
            abort();
        }
        add_rule(symbol, nth, code, found == 4 && mark == '!');
    }
}

static void read_attributes(const char *list)
{
    int number, value, used;
    while (list && sscanf(list, "%d:%d%n", &number, &value, &used) == 2) {
        for (int i = 0; i < MAX_DEVICES; i++)
            fake_cuda_attribute(i, number, value);
        list = list[used] == ',' ? list + used + 1 : NULL;
    }
}

__attribute__((constructor)) static void start(void)
{
    pthread_atfork(fake_lock, fake_unlock, fake_unlock);
    const char *devices = getenv("FAKE_CUDA_DEVICES"), *version = getenv("FAKE_CUDA_VERSION");
    const char *log = getenv("FAKE_CUDA_LOG"), *fail = getenv("FAKE_CUDA_FAIL"), *missing = getenv("FAKE_CUDA_MISSING");
    read_archs(getenv("FAKE_CUDA_ARCH"));
    if (devices)
        fake_cuda_devices(atoi(devices));
    if (version)
        fake_cuda_version(atoi(version));
    if (log && (log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) < 0)
        perror(log);
    read_attributes(getenv("FAKE_CUDA_ATTRIBUTE"));
    char *copy = strdup(fail ? fail : "");
    read_failures(copy);
    free(copy);
    char *rest = NULL, *names = strdup(missing ? missing : "");
    for (char *one = strtok_r(names, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        fake_cuda_hide(one);
    free(names);
}
