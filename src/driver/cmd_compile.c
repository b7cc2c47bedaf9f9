// hdsc FILE… and hdsc check FILE…: what the command line asks for, in one build.

#include <stdio.h>
#include <string.h>

#include "driver/build.h"
#include "driver/cmd.h"

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

// The kind that the options ask for: --emit, else the ending of -o, else nothing where there is a dump or a C header, else
// PTX (a fat binary for several architectures).
static int choose_kind(cmd_arguments *args)
{
    pl_options *o = &args->options;
    if (args->has_emit)
        return CMD_OK;
    if (args->output && strcmp(args->output, "-") != 0) {
        if (pl_kind_of_path(args->output, &o->emit))
            return CMD_OK;
        return usage_error(
            "cannot tell the kind of output from '%s': use the extension .o, .a, .so, .c, .ptx, .cubin, .fatbin, .cu, "
            ".json, .hir or .hds, or give --emit",
            args->output);
    }
    bool is_text_wanted = (o->dump || args->header) && !args->output;
    o->emit = is_text_wanted ? PL_NOTHING : o->pass_count ? PL_HIR : o->arch_count > 1 ? PL_FATBIN : PL_PTX;
    return CMD_OK;
}

int cmd_choose_kind(cmd_arguments *args)
{
    return choose_kind(args);
}

static int check_usage(cmd_arguments *args)
{
    if (!args->inputs.len)
        return usage_error("no input files");
    if (args->inputs.len > 1 && args->time_trace)
        return usage_error("'--time-trace=%s' is for one input", args->time_trace);
    return CMD_OK;
}

// What depends on the kind of the output.
static int check_outputs(const cmd_arguments *args)
{
    pl_kind kind = args->options.emit;
    if (args->options.embeds_weights && kind != PL_OBJECT && kind != PL_ARCHIVE && kind != PL_SHARED)
        return usage_error("--embed-weights puts weights into a .o, .a or .so, and the output is %s", pl_kind_name(kind));
    const pl_options *o = &args->options;
    bool is_short = o->emit == PL_TOKENS || o->emit == PL_AST || o->emit == PL_HDS || o->emit == PL_HIR || o->pass_count ||
                    (o->emit == PL_NOTHING && o->dump);
    if (args->inputs.len > 1 && args->output && strcmp(args->output, "-") != 0 && !cmd_is_joined(args))
        return usage_error("'-o %s' is one file and there are several inputs; one .o, .a or .so holds several, and "
                           "without -o each output is written beside its input",
                           args->output);
    if (args->inputs.len > 1 && args->header && !cmd_is_joined(args))
        return usage_error("'-h %s' is one file and there are several inputs; a header for all of them goes with one .o, "
                           ".a or .so",
                           args->header);
    if (args->header && is_short)
        return usage_error("'-h %s' needs a whole compilation, and --emit, --dump or --passes ends this one before that",
                           args->header);
    return CMD_OK;
}

static void print_cache(const cmd_arguments *args)
{
    if (args->options.cache)
        fprintf(stderr, "cache: '%s'\n", cache_folder(args->options.cache));
    else
        fprintf(stderr, "cache: none (%s)\n", args->cache_why);
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
    if (code == CMD_OK && !only_check)
        code = check_outputs(args);
    if (code != CMD_OK)
        return code;
    if (args->verbose) {
        cmd_print_versions(stderr, args->options.nvrtc_path);
        print_cache(args);
    }
    return cmd_build(args, !only_check);
}

int cmd_compile(int argc, char **argv)
{
    static const char doc[] =
        "Compile Hidet Script (.hds) to objects for C programs, PTX, machine code or CUDA C++.\n"
        "\n"
        "  hdsc matmul.hds                   PTX for sm_80 and newer, in matmul.ptx\n"
        "  hdsc matmul.hds -o matmul.cu      CUDA C++, to read or to build with nvcc\n"
        "  hdsc matmul.hds -o matmul.fatbin --arch=sm_80,sm_90a -D BM=64\n"
        "  hdsc matmul.hds -o matmul.o --arch=sm_80,sm_90a\n"
        "                                    functions to call from C, and matmul.h\n"
        "  hdsc a.hds b.hds -o libk.a -MD    a library, its header, libk.d for make\n"
        "\n"
        "Other commands:\n"
        "  hdsc check FILE...         report errors, write nothing (no CUDA needed)\n"
        "  hdsc run FILE NAME=SPEC... run a kernel on the simulator, and check it\n"
        "  hdsc test [FILE...]        run the tests of .hds files, on the simulator\n"
        "  hdsc prove A --against B   prove that two kernels compute the same formulas\n"
        "  hdsc bench FILE            measure a kernel on the GPU, and compare\n"
        "  hdsc tune FILE             find the fastest candidate for given sizes\n"
        "  hdsc graph FILE            print the graph of a model, or its program\n"
        "  hdsc report FILE NAME=...  compare each tensor of a model with f64\n"
        "  hdsc diff A B              say what differs between two models\n"
        "  hdsc mapping EXPR          draw a task mapping or layout\n"
        "  hdsc ops [NAME...]         list operators, or explain some\n"
        "  hdsc onnx ops              list the operators of ONNX that models may call\n"
        "  hdsc cache ls|why|gc|...   manage the cache of compiled code\n"
        "  hdsc explain HDS0123       explain an error, with an example\n"
        "  hdsc version               versions, and the CUDA compiler that was found\n"
        "  hdsc help [COMMAND]        this text, or that of a command"
        "\v"
        "FILE '-' is standard input. @FILE reads arguments from FILE.\n"
        "Exit code: 0 success; 1 the input has errors; 2 the command line is wrong; 3 NVRTC or a C compiler is "
        "missing, or hdsc has a bug.";
    cmd_arguments args;
    cmd_parse(&args, argc, argv, "FILE...", doc);
    int code = compile(&args, false);
    cmd_arguments_free(&args);
    return code;
}

int cmd_check(int argc, char **argv)
{
    static const char doc[] = "Report the errors and warnings of .hds files and write nothing. NVRTC is not needed.\n"
                              "\n"
                              "  hdsc check matmul.hds\n"
                              "  hdsc check --arch=sm_80,sm_90a kernels/*.hds\n"
                              "  hdsc check --diagnostics=json - < matmul.hds"
                              "\v"
                              "Options are those of 'hdsc'; those about output have no effect.";
    cmd_arguments args;
    cmd_parse(&args, argc, argv, "FILE...", doc);
    args.options.emit = PL_NOTHING;
    args.options.dump = NULL;
    args.options.passes = NULL;
    int code = compile(&args, true);
    cmd_arguments_free(&args);
    return code;
}
