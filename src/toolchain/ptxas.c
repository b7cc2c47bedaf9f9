#include "toolchain/ptxas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "toolchain/nvrtc_priv.h"
#include "toolchain/process.h"
#include "toolchain/scan.h"

// ---- finding it -------------------------------------------------------------------------------------------------

static bool take(arena *a, const char *path, tool_ptxas *out)
{
    tool_nvrtc_identity file;
    if (access(path, X_OK) != 0 || !tool_identify_file(a, path, &file))
        return false;
    *out = (tool_ptxas){.path = file.path, .identity = file.text};
    return true;
}

bool tool_ptxas_find(arena *a, const char *nvrtc_path, tool_ptxas *out)
{
    // From a toolkit's lib64 and targets/*/lib, from /usr/lib/x86_64-linux-gnu, and from a wheel of CUDA 12.
    static const char *const places[] = {"../bin", "../../../bin", "../../bin", "../../cuda_nvcc/bin"};
    const char *named = getenv("HDS_PTXAS");
    *out = (tool_ptxas){0};
    if (named && *named)
        return strcmp(named, "off") != 0 && take(a, named, out);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (take(a, arena_printf(a, "%s/%s/ptxas", file_folder(a, nvrtc_path), places[i]), out))
            return true;
    }
    return false;
}

// ---- running it -------------------------------------------------------------------------------------------------

// Files without a place, which end with their last descriptor. The program gets them by number, so that they stay open in it.
static int new_file(const char *name, str bytes)
{
    int fd = memfd_create(name, 0);
    for (size_t done = 0; fd >= 0 && done < bytes.len;) {
        ssize_t n = write(fd, bytes.at + done, bytes.len - done);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

static const char *path_of(arena *a, int fd)
{
    return arena_printf(a, "/proc/self/fd/%d", fd);
}

static void run(arena *a, const char *path, const arch *target, int in, int made, tool_result *out)
{
    const char *const words[] = {path, "-v", arena_printf(a, "-arch=%s", target->name), path_of(a, in), "-o", path_of(a, made)};
    tool_words command = {0};
    tool_run_result result;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        VEC_PUSH(a, &command.at, words[i]);
    double start = tool_now_seconds();
    bool ok = tool_run(a, &command, "/", &result);
    out->seconds = tool_now_seconds() - start;
    out->log = result.printed;
    const char *error = NULL;
    if (ok && file_read(a, path_of(a, made), &out->cubin, &error) && out->cubin.len)
        return;
    out->status = TOOL_FAILED;
    out->failure = ok ? "ptxas made no code" : result.failure;
}

bool tool_ptxas_run(arena *a, const char *path, const arch *target, str ptx, tool_result *out)
{
    *out = (tool_result){.status = TOOL_COMPILED, .ptx = ptx, .cubin = {"", 0}, .log = {"", 0}};
    int in = new_file("hdsc.ptx", ptx), made = new_file("hdsc.cubin", (str){"", 0});
    if (in >= 0 && made >= 0)
        run(a, path, target, in, made, out);
    else
        *out = (tool_result){.status = TOOL_FAILED, .failure = "cannot make a file in memory for ptxas"};
    if (in >= 0)
        close(in);
    if (made >= 0)
        close(made);
    return out->status == TOOL_COMPILED;
}

// ---- of another architecture ------------------------------------------------------------------------------------

str tool_ptx_for(arena *a, str ptx, const arch *target)
{
    enum { FIRST_MAJOR_WITH_EARLY_STARTS = 9 };
    str_buf out;
    str line;
    str_buf_init(&out, a);
    while (tool_take_line(&ptx, &line)) {
        if (target->major < FIRST_MAJOR_WITH_EARLY_STARTS && str_starts(tool_skip_spaces(line), STR("griddepcontrol.")))
            continue;
        if (str_starts(line, STR(".target sm_")))
            str_addf(&out, ".target %s\n", target->name);
        else
            str_addf(&out, "%.*s\n", (int)line.len, line.at);
    }
    return (str){str_text(&out), out.len};
}
