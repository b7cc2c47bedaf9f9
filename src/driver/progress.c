#include "driver/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "driver/cmd.h"
#include "pipeline/unit.h"

// When a progress line is worth its flicker.
enum { QUIET_MS = 400 };

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool show(void *user, const pl_unit *unit, pl_stage stage, size_t done, size_t count)
{
    static const char *const stages[] = {[PL_AT_GRAPH] = "graph", [PL_AT_KERNELS] = "kernels", [PL_AT_CODE] = "machine code"};
    cmd_progress *p = user;
    int64_t ms = now_ms() - p->start_ms;
    int width = cmd_terminal_width(STDERR_FILENO);
    char line[512], counted[48] = "";
    if (ms < QUIET_MS || width <= 1)
        return true;
    pthread_mutex_lock(&p->lock);
    if (count)
        snprintf(counted, sizeof counted, "%zu/%zu ", done, count);
    snprintf(line, sizeof line, "[%s%s] %s for %s, %.1f s", counted, stages[stage], unit->options->input, unit->arch->name,
             1e-3 * (double)ms);
    fprintf(stderr, "\r%.*s\033[K", width - 1, line);
    p->has_line = true;
    pthread_mutex_unlock(&p->lock);
    return true;
}

void cmd_progress_begin(cmd_progress *p)
{
    *p = (cmd_progress){.as_option = {.show = show, .user = p}, .lock = PTHREAD_MUTEX_INITIALIZER, .start_ms = now_ms()};
}

void cmd_progress_end(cmd_progress *p)
{
    if (p->has_line)
        fputs("\r\033[K", stderr);
    pthread_mutex_destroy(&p->lock);
}
