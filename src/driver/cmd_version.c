// hdsc version: the version of hdsc and the tools that it found.

#include <stdio.h>
#include <string.h>

#include "driver/cmd.h"
#include "pipeline/modules.h"
#include "toolchain/nvrtc.h"
#include "toolchain/ptxas.h"

static int count(const embedded_text *table)
{
    int n = 0;
    while (table[n].name)
        n++;
    return n;
}

// NVRTC's companion, which nothing needs.
static void print_ptxas(FILE *out, arena *a, const tool_nvrtc *nvrtc)
{
    tool_nvrtc_identity file;
    tool_ptxas ptxas;
    if (tool_nvrtc_identity_of(a, nvrtc, &file) && tool_ptxas_find(a, file.path, &ptxas))
        fprintf(out, "ptxas: '%s'\n", ptxas.path);
    else
        fputs("ptxas: none\n", out);
}

static void print_nvrtc(FILE *out, const char *path)
{
    arena memory;
    src_map sources;
    diag_context dx;
    arena_init(&memory, &cmd_oom);
    src_map_init(&sources, &memory);
    diag_init(&dx, &memory, &sources);
    tool_nvrtc *nvrtc = tool_nvrtc_open(&memory, &dx, path);
    if (nvrtc) {
        fprintf(out, "NVRTC: %d.%d, '%s'\n", nvrtc->major, nvrtc->minor, nvrtc->path);
        fputs("architectures:", out);
        for (int i = 0; arch_at(i); i++) {
            if (tool_nvrtc_check_arch(nvrtc, &dx, arch_at(i)))
                fprintf(out, " %s", arch_at(i)->name);
        }
        fputc('\n', out);
        print_ptxas(out, &memory, nvrtc);
        tool_nvrtc_close(nvrtc);
    } else {
        str_buf text;
        str_buf_init(&text, &memory);
        diag_render_text(&dx, &text, (diag_style){0});
        fprintf(out, "NVRTC: %s", str_text(&text));
    }
    arena_free(&memory);
}

void cmd_print_versions(FILE *out, const char *nvrtc_path)
{
    fprintf(out, "hdsc %s\n", HDS_VERSION);
    fprintf(out, "standard library: %d modules, built in\n", count(pl_stdlib));
    print_nvrtc(out, nvrtc_path);
    fputs("GPUs:", out);
    for (int i = 0; gpu_at(i); i++)
        fprintf(out, " %s", gpu_at(i)->name);
    fputc('\n', out);
}

int cmd_version(int argc, char **argv)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--nvrtc=", 8) == 0) {
            path = argv[i] + 8;
            continue;
        }
        bool is_help = strcmp(argv[i], "--help") == 0;
        fprintf(is_help ? stdout : stderr, "usage: hdsc version [--nvrtc=PATH]\n");
        return is_help ? CMD_OK : CMD_USAGE;
    }
    cmd_print_versions(stdout, path);
    return fflush(stdout) == 0 ? CMD_OK : CMD_ERRORS;
}
