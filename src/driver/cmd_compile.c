// hdsc FILE… and hdsc check FILE…: one job for each input.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "pipeline/job.h"

// ---- what the command line asks for -----------------------------------------------------------------------------

__attribute__((format(printf, 1, 2))) static int usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("hdsc: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\nTry 'hdsc --help' for more information.\n", stderr);
    va_end(args);
    return CMD_USAGE;
}

// The kind that the options ask for: --emit, else the ending of -o, else nothing where there is a dump, else PTX (a fat
// binary for several architectures).
static int choose_kind(cmd_arguments *args)
{
    pl_options *o = &args->options;
    if (args->has_emit)
        return CMD_OK;
    if (args->output && strcmp(args->output, "-") != 0) {
        if (pl_kind_of_path(args->output, &o->emit))
            return CMD_OK;
        return usage_error("cannot tell from '%s' what to write: end it in .ptx, .cubin, .fatbin, .cu, .json or .hir, "
                           "or give --emit",
                           args->output);
    }
    bool is_text_wanted = o->dump && !args->output;
    o->emit = is_text_wanted ? PL_NOTHING : o->pass_count ? PL_HIR : o->arch_count > 1 ? PL_FATBIN : PL_PTX;
    return CMD_OK;
}

// "dir/matmul.hds" -> "dir/matmul.ptx". Text for people goes to standard output, as does what came from standard input.
static const char *output_beside(cmd_arguments *args, const char *input)
{
    pl_kind kind = args->options.emit;
    if (strcmp(input, "-") == 0 || kind == PL_TOKENS || kind == PL_AST || args->options.pass_count)
        return "-";
    const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
    size_t len = dot && (!slash || dot > slash + 1) && dot != input ? (size_t)(dot - input) : strlen(input);
    return arena_printf(&args->memory, "%.*s.%s", (int)len, input, pl_kind_name(kind));
}

static int check_usage(cmd_arguments *args)
{
    if (!args->inputs.len)
        return usage_error("no input files");
    if (args->inputs.len > 1 && args->output && strcmp(args->output, "-") != 0)
        return usage_error("'-o %s' is one file and there are several inputs; without -o each output is written beside "
                           "its input",
                           args->output);
    if (args->inputs.len > 1 && args->time_trace)
        return usage_error("'--time-trace=%s' is for one input", args->time_trace);
    return CMD_OK;
}

// ---- one job ----------------------------------------------------------------------------------------------------

static int exit_code(pl_status status)
{
    switch (status) {
    case PL_OK:
        return CMD_OK;
    case PL_ERRORS:
        return CMD_ERRORS;
    case PL_TOOLCHAIN:
    case PL_INTERNAL:
    case PL_NO_MEMORY:
        break;
    }
    return CMD_INTERNAL;
}

static bool write_trace(pl_job *job, const char *path)
{
    const char *error = NULL;
    str_buf text;
    str_buf_init(&text, &job->memory);
    pl_job_time_trace(job, &text);
    if (file_write(&job->memory, path, (str){text.at, text.len}, &error))
        return true;
    fprintf(stderr, "hdsc: cannot write '%s': %s\n", path, error);
    return false;
}

static void print_times(pl_job *job)
{
    str_buf text;
    str_buf_init(&text, &job->memory);
    pl_job_time_report(job, &text);
    cmd_print_error((str){text.at, text.len});
}

static int print_results(pl_job *job, const cmd_arguments *args, pl_status status)
{
    int code = exit_code(status);
    if (!cmd_print((str){job->dump.at, job->dump.len}))
        code = CMD_ERRORS;
    cmd_print_diags(&job->diags, &args->diagnostics);
    cmd_print_error((str){job->usage.at, job->usage.len});
    if (args->time_report)
        print_times(job);
    if (args->time_trace && !write_trace(job, args->time_trace))
        code = CMD_ERRORS;
    return code;
}

static int run_job(cmd_arguments *args, const char *input)
{
    pl_options options = args->options;
    options.input = input;
    if (options.emit != PL_NOTHING)
        options.output = args->output ? args->output : output_beside(args, input);
    pl_job job;
    pl_job_init(&job, &options, &cmd_oom);
    pl_status status = pl_job_run(&job);
    int code = CMD_INTERNAL;
    if (status == PL_NO_MEMORY)
        fprintf(stderr, "hdsc: out of memory while compiling '%s'\n", input);
    else
        code = print_results(&job, args, status);
    pl_job_free(&job);
    return code;
}

static int run_all(cmd_arguments *args)
{
    int worst = CMD_OK;
    for (size_t i = 0; i < args->inputs.len; i++) {
        int code = run_job(args, args->inputs.at[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

// ---- the commands -----------------------------------------------------------------------------------------------

static int print_list(cmd_arguments *args)
{
    str_buf out;
    str_buf_init(&out, &args->memory);
    if (!cmd_list(args->list, &out))
        return usage_error("there is no list of '%s'", args->list);
    return cmd_print((str){out.at, out.len}) ? CMD_OK : CMD_ERRORS;
}

static int compile(cmd_arguments *args, bool only_check)
{
    if (args->list)
        return print_list(args);
    int code = check_usage(args);
    if (code == CMD_OK && !only_check)
        code = choose_kind(args);
    if (code != CMD_OK)
        return code;
    if (args->verbose)
        cmd_print_versions(stderr, args->options.nvrtc_path);
    return run_all(args);
}

int cmd_compile(int argc, char **argv)
{
    static const char doc[] =
        "Compile Hidet Script (.hds) to PTX, machine code or CUDA C++.\n"
        "\n"
        "  hdsc matmul.hds                   PTX for sm_80 and newer, in matmul.ptx\n"
        "  hdsc matmul.hds -o matmul.cu      CUDA C++, to read or to build with nvcc\n"
        "  hdsc matmul.hds -o matmul.fatbin --arch=sm_80,sm_90a -D BM=64\n"
        "\n"
        "Other commands:\n"
        "  hdsc check FILE...         report errors, write nothing (needs no CUDA)\n"
        "  hdsc run FILE NAME=SPEC... run a kernel on the simulator, and check it\n"
        "  hdsc test [FILE...]        run the tests of .hds files, on the simulator\n"
        "  hdsc prove A --against B   prove that two kernels compute the same formulas\n"
        "  hdsc mapping EXPR          draw a task mapping or layout\n"
        "  hdsc explain HDS0123       explain an error, with an example\n"
        "  hdsc version               versions, and the CUDA compiler that was found\n"
        "  hdsc help [COMMAND]        this text, or that of a command"
        "\v"
        "FILE '-' is standard input. @FILE stands for arguments read from FILE.\n"
        "Exit code: 0 all went well; 1 the input has errors; 2 the command line has; 3 NVRTC is missing, or hdsc has "
        "a bug.";
    cmd_arguments args;
    cmd_parse(&args, argc, argv, "FILE...", doc);
    int code = compile(&args, false);
    cmd_arguments_free(&args);
    return code;
}

int cmd_check(int argc, char **argv)
{
    static const char doc[] =
        "Report the errors and warnings of .hds files and write nothing: everything but NVRTC is run.\n"
        "\n"
        "  hdsc check matmul.hds\n"
        "  hdsc check --arch=sm_80,sm_90a kernels/*.hds\n"
        "  hdsc check --diagnostics=json - < matmul.hds"
        "\v"
        "Options are those of 'hdsc'; what they say about output does not apply.";
    cmd_arguments args;
    cmd_parse(&args, argc, argv, "FILE...", doc);
    args.options.emit = PL_NOTHING;
    args.options.dump = NULL;
    args.options.passes = NULL;
    int code = compile(&args, true);
    cmd_arguments_free(&args);
    return code;
}
