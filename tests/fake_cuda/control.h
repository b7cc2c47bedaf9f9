// What the files of the double share beside its objects.
#pragma once

#include "state.h"

// The entry points.
#define HDSRT_DRIVER(name, symbol, parameters) FAKE_API int symbol parameters;
#include "more.def"
#include "runtime/driver.def"
#undef HDSRT_DRIVER

void fake_lock(void);
void fake_unlock(void);
int fake_initialise(void);
void fake_calls_forget(void);
// context.c: 0, or the error that this thread's current context gives.
int fake_context_current(fake_context **context);
// The current context of this thread is lost.
void fake_context_break(int code);
// Number of contexts that live, and of retains of primary ones.
int fake_contexts_alive(void);
int fake_contexts_retains(void);
