// Other programs: found in $PATH, run without a shell, what they print kept.
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"

typedef struct tool_words {
    VEC(const char *) at;
} tool_words;

// "ccache gcc -m64" as words: blanks separate.
void tool_words_add(arena *a, tool_words *words, const char *text);
// "ccache gcc -m64", for messages.
const char *tool_words_join(arena *a, const tool_words *words);

// The file that [name] would run: a path, or a name that is looked for in $PATH; absolute. NULL: there is none.
const char *tool_program_find(arena *a, const char *name);

typedef struct tool_run_result {
    const char *failure;  // why it could not be started, or how it ended ("exit code 1", "signal 9"); NULL: it went well
    str printed;          // to standard output and error
} tool_run_result;

// Runs [command] with [folder] as its working folder and nothing as its input. Returns whether it ended with exit code 0.
// May be called by several threads.
bool tool_run(arena *a, const tool_words *command, const char *folder, tool_run_result *out);
// Ends the programs that run, and what they started, before the process ends: they would go on writing. Takes up to two seconds
// where they do not want to. Async-signal-safe; calls of tool_run in other threads do not return any more.
void tool_end_programs(void);
// The first lines of what a program printed, in [a]: for messages.
const char *tool_first_lines(arena *a, str printed);
