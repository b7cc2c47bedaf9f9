// hdsc: the compiler as a program. Finds the command, runs it, returns its exit code.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "service/service.h"
#include "toolchain/nvrtc.h"
#include "toolchain/process.h"

arena_oom cmd_oom;

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"check", cmd_check}, {"run", cmd_run}, {"test", cmd_test}, {"prove", cmd_prove}, {"bench", cmd_bench},
    {"tune", cmd_tune}, {"mapping", cmd_mapping}, {"ops", cmd_ops}, {"cache", cmd_cache}, {"explain", cmd_explain}, {"graph", cmd_graph},
    {"report", cmd_report}, {"diff", cmd_diff}, {"onnx", cmd_onnx},
    {"version", cmd_version}, {"help", cmd_help},
};

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

// Programs that run are ended first, for they write into our folders.
_Noreturn void cmd_end_interrupted(void)
{
    file_stop_temporaries();
    tool_end_programs();
    file_remove_temporaries();
    _exit(CMD_INTERRUPTED);
}

static void interrupted(int signal_number)
{
    (void)signal_number;
    cmd_end_interrupted();
}

// While its front end runs, NVRTC has a handler of its own for SIGINT, which calls exit(4): no code of ours.
static void exited(int code, void *unused)
{
    enum { OF_NVRTC = 4 };
    (void)unused;
    if (code == OF_NVRTC && tool_nvrtc_is_compiling())
        cmd_end_interrupted();
}

// What the caller wants ignored (nohup, a job in the background) stays ignored.
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupted}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    // A write past the file size limit is an error with a message, like a full disk.
    signal(SIGXFSZ, SIG_IGN);
}

// The command's own arguments, with "hdsc NAME" as the name of the program.
static int run_command(arena *a, const command *found, int argc, char **argv)
{
    argv[1] = arena_printf(a, "hdsc %s", found->name);
    return found->run(argc - 1, argv + 1);
}

int cmd_help(int argc, char **argv)
{
    char program[] = "hdsc", help[] = "--help";
    const command *found = argc > 1 ? find_command(argv[1]) : NULL;
    if (argc > 1 && !found && strcmp(argv[1], help) != 0) {
        fprintf(stderr, "hdsc: there is no command '%s'; expected one of "
                        "check, run, test, prove, bench, tune, mapping, ops, graph, report, diff, onnx, cache, explain, version, "
                        "help\n",
                argv[1]);
        return CMD_USAGE;
    }
    if (!found || found->run == cmd_help)
        return cmd_compile(2, (char *[]){program, help, NULL});
    arena memory;
    arena_init(&memory, &cmd_oom);
    int code = run_command(&memory, found, 3, (char *[]){program, NULL, help, NULL});
    arena_free(&memory);
    return code;
}

static int dispatch(arena *a, int argc, char **argv)
{
    argv = cmd_expand_files(a, &argc, argv);
    if (!argv)
        return CMD_USAGE;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("hdsc " HDS_VERSION);
        return fflush(stdout) == 0 ? CMD_OK : CMD_ERRORS;
    }
    const command *found = argc > 1 ? find_command(argv[1]) : NULL;
    if (found)
        return run_command(a, found, argc, argv);
    argv[0] = arena_strdup(a, "hdsc");
    return cmd_compile(argc, argv);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], CMD_WORKER) == 0)
        return svc_worker_main();
    if (setjmp(cmd_oom.jump) != 0) {
        fputs("hdsc: out of memory\n", stderr);
        return CMD_INTERNAL;
    }
    catch_signals();
    on_exit(exited, NULL);
    argp_err_exit_status = CMD_USAGE;
    arena memory;
    arena_init(&memory, &cmd_oom);
    int code = dispatch(&memory, argc, argv);
    arena_free(&memory);
    return code;
}
