// Ctrl-C while tests run: what ran then, and the counts so far.
#pragma once

#include <pthread.h>
#include <signal.h>

#include "testing/testing.h"

typedef struct cmd_interrupt {
    const test_suite *suite;
    bool rewrites;   // a line of progress is on the terminal
    bool is_watched;
    sigset_t awaited;
    pthread_t thread;
} cmd_interrupt;

// From here to the end SIGINT, SIGTERM and SIGHUP (those that are not ignored) say which cases of [suite] are running and
// end the program with CMD_INTERRUPTED. Threads that are started in between leave them alone. The cases must stay as they
// are; the suite must outlive it.
void cmd_interrupt_begin(cmd_interrupt *w, const test_suite *suite, bool rewrites);
void cmd_interrupt_end(cmd_interrupt *w);
