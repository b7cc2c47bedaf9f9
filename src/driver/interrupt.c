// Signals are awaited by a thread of their own, which may look at the tests and print as no handler could.
#include "driver/interrupt.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "driver/cmd.h"

enum { MOST_NAMES = 8, TEXT_BYTES = 4096 };

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

// Ends the waiting. Cancelling the thread would leave its frames behind, which AddressSanitizer takes for an overflow.
enum { ENOUGH = SIGUSR1 };

static size_t add(char *text, size_t len, const char *format, ...) __attribute__((format(printf, 3, 4)));

static size_t add(char *text, size_t len, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int added = vsnprintf(text + len, TEXT_BYTES - len, format, args);
    va_end(args);
    len += added > 0 ? (size_t)added : 0;
    return len < TEXT_BYTES ? len : TEXT_BYTES - 1;
}

static size_t add_running(const test_suite *s, char *text, size_t len)
{
    int count = 0;
    for (size_t i = 0; i < s->cases.len; i++) {
        const test_case *c = s->cases.at[i];
        if (!atomic_load(&c->is_running))
            continue;
        if (count < MOST_NAMES)
            len = add(text, len, "interrupted while this ran: %.300s\n", c->name);
        count++;
    }
    return count > MOST_NAMES ? add(text, len, "  and %d more\n", count - MOST_NAMES) : len;
}

// The interrupted code may hold the lock of stdout: bypasses it.
static void say(const cmd_interrupt *w)
{
    const test_suite *s = w->suite;
    char text[TEXT_BYTES];
    int passed = atomic_load(&s->passed), failed = atomic_load(&s->failed), skipped = atomic_load(&s->skipped);
    size_t len = add(text, 0, "%s", w->rewrites ? "\r\033[K" : "");
    len = add_running(s, text, len);
    len = add(text, len, "%d passed, %d failed", passed, failed);
    if (skipped)
        len = add(text, len, ", %d skipped", skipped);
    len = add(text, len, ", %d not finished\n", (int)s->cases.len - passed - failed - skipped);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(STDOUT_FILENO, text + done, len - done);
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

static void *await(void *user)
{
    const cmd_interrupt *w = user;
    int number;
    if (sigwait(&w->awaited, &number) != 0 || number == ENOUGH)
        return NULL;
    say(w);
    cmd_end_interrupted();
}

void cmd_interrupt_begin(cmd_interrupt *w, const test_suite *suite, bool rewrites)
{
    *w = (cmd_interrupt){.suite = suite, .rewrites = rewrites};
    sigemptyset(&w->awaited);
    sigaddset(&w->awaited, ENOUGH);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&w->awaited, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &w->awaited, NULL);
    w->is_watched = pthread_create(&w->thread, NULL, await, w) == 0;
    if (!w->is_watched)
        pthread_sigmask(SIG_UNBLOCK, &w->awaited, NULL);
}

void cmd_interrupt_end(cmd_interrupt *w)
{
    if (!w->is_watched)
        return;
    pthread_kill(w->thread, ENOUGH);
    pthread_join(w->thread, NULL);
    pthread_sigmask(SIG_UNBLOCK, &w->awaited, NULL);
}
