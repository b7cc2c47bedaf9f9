// The commands of hdsc. Each takes its own argument vector, with its name ("hdsc check") in argv[0], and returns the
// exit code of the program.
#pragma once

#include <stdio.h>

#include "base/embedded.h"
#include "diag/diag.h"
#include "driver/arguments.h"

enum {
    CMD_OK = 0,
    CMD_ERRORS = 1,    // the program has errors, or its results are wrong
    CMD_USAGE = 2,     // the command line is wrong
    CMD_INTERNAL = 3,  // no GPU, no NVRTC, no memory, or hdsc has a bug
    CMD_INTERRUPTED = 130,
};

// The first argument of a program that is a worker of another one (service/service.h); not for people.
#define CMD_WORKER "--nvrtc-worker"

// Where control goes when memory runs out in a command: to the end of the program, with a message.
extern arena_oom cmd_oom;

int cmd_compile(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_mapping(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_test(int argc, char **argv);
int cmd_prove(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_ops(int argc, char **argv);
int cmd_onnx(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);

extern const embedded_text cmd_pages[];  // lang/diagnostics/*.md
extern const embedded_text cmd_rivals[]; // rivals.py

// Sets options.emit, the kind of output of these options. CMD_USAGE, after saying why, where it is ambiguous.
int cmd_choose_kind(cmd_arguments *args);

// Prints what [dx] holds to standard error, and the summary line in text form.
void cmd_print_diags(diag_context *dx, const cmd_output *how);
// The same, appended to [out].
void cmd_add_diags(diag_context *dx, const cmd_output *how, str_buf *out);
// What of [how], and of the terminal, the text of messages depends on, in [a].
const char *cmd_shown_as(arena *a, const cmd_output *how);
// CMD_USAGE where all errors in [dx] are about the command line: its files, names and values; else CMD_ERRORS.
int cmd_code_of_errors(const diag_context *dx);
// Whether standard output (fd 1) or error (2) takes colours, by default.
bool cmd_is_colorful(int fd);
int cmd_terminal_width(int fd);  // 0: no terminal
// Writes all of [text] to standard output; false (after saying so on standard error) if that fails.
bool cmd_print(str text);
void cmd_print_error(str text);  // to standard error
// NULL, or why a file that is written at the end could not be: asked before the work is done.
const char *cmd_cannot_write(arena *a, const char *path);

enum { CMD_GPU_SECONDS = 60 };  // that a kernel may take, where --gpu-timeout does not say
// Ends the program although a kernel on the GPU does not, for which exit() would wait.
_Noreturn void cmd_leave(int code);

// Ends the program behind a signal, with CMD_INTERRUPTED and nothing half-written left behind. Async-signal-safe.
_Noreturn void cmd_end_interrupted(void);

// Versions, and where NVRTC was found; [nvrtc_path] as --nvrtc gives it, or NULL.
void cmd_print_versions(FILE *out, const char *nvrtc_path);

// The arguments with each @FILE replaced by the words of that file (blanks and line ends separate, '…' and "…" quote).
// NULL after an error, which was printed.
char **cmd_expand_files(arena *a, int *argc, char **argv);
