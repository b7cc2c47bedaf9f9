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

static void show(void *user, const pl_unit *unit, size_t done, size_t count)
{
    cmd_progress *p = user;
    int64_t ms = now_ms() - p->start_ms;
    int width = cmd_terminal_width(STDERR_FILENO);
    char line[512];
    if (ms < QUIET_MS || width <= 1)
        return;
    pthread_mutex_lock(&p->lock);
    snprintf(line, sizeof line, "[%zu/%zu] %s for %s, %.1f s", done, count, unit->input_name, unit->arch->name,
             1e-3 * (double)ms);
    fprintf(stderr, "\r%.*s\033[K", width - 1, line);
    p->has_line = true;
    pthread_mutex_unlock(&p->lock);
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
