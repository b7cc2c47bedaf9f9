// Where libnvrtc may be.

#include "toolchain/nvrtc_priv.h"

#include "base/file.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void add(arena *a, tool_paths *out, const char *path)
{
    for (size_t i = 0; i < out->at.len; i++) {
        if (strcmp(out->at.at[i], path) == 0)
            return;
    }
    VEC_PUSH(a, &out->at, path);
}

// Versions in names compare as numbers: cuda-12.10 is newer than cuda-12.9.
static int newer_first(const void *left, const void *right)
{
    return strverscmp(*(char *const *)right, *(char *const *)left);
}

// Adds what matches, newest first; returns whether anything did.
static bool add_matches(arena *a, tool_paths *out, const char *pattern)
{
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return false;
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, newer_first);
    for (size_t i = 0; i < found.gl_pathc; i++)
        add(a, out, arena_strdup(a, found.gl_pathv[i]));
    globfree(&found);
    return true;
}

// Folders of which the user should hear that they were looked at, whether they exist or not.
static void add_pattern(arena *a, tool_paths *out, const char *pattern)
{
    if (!add_matches(a, out, pattern))
        add(a, out, pattern);
}

static void add_toolkit(arena *a, tool_paths *out, const char *root)
{
    add(a, out, arena_printf(a, "%s/lib64", root));
    add(a, out, arena_printf(a, "%s/lib", root));
}

static void add_toolkits(arena *a, tool_paths *out)
{
    static const char *const usual[] = {"/usr/local/cuda/lib64",     "/usr/local/cuda-*/lib64",    "/opt/cuda/lib64",
                                        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"};
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (environment(variables[i]))
            add_toolkit(a, out, environment(variables[i]));
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        add_pattern(a, out, usual[i]);
}

// The folders of the wheels nvidia-cuda-nvrtc (CUDA 13), nvidia-cuda-nvrtc-cu12 in the packages at [pattern].
static void add_wheels(arena *a, tool_paths *out, const char *pattern)
{
    static const char *const folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu12/lib"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        add_pattern(a, out, arena_printf(a, "%s/%s", pattern, folders[i]));
}

// A .venv in the folder of the running program or up to three above it: bin/, build/preset/bin/ and the like.
static void add_program_venv(arena *a, tool_paths *out)
{
    enum { FOLDERS_UP = 4, PATH_BYTES = 4096 };
    char *path = arena_alloc(a, PATH_BYTES);
    ssize_t len = readlink("/proc/self/exe", path, PATH_BYTES - 1);
    if (len <= 0)
        return;
    const char *folder = path;
    for (int i = 0; i < FOLDERS_UP && strcmp(folder, "/") != 0; i++) {
        folder = file_folder(a, folder);
        const char *venv = file_join(a, folder, ".venv");
        if (file_exists(venv))
            add_wheels(a, out, arena_printf(a, "%s/lib/python3.*/site-packages", venv));
    }
}

static void add_python(arena *a, tool_paths *out)
{
    if (environment("VIRTUAL_ENV"))
        add_wheels(a, out, arena_printf(a, "%s/lib/python3.*/site-packages", environment("VIRTUAL_ENV")));
    if (environment("CONDA_PREFIX")) {
        add(a, out, arena_printf(a, "%s/lib", environment("CONDA_PREFIX")));
        add_wheels(a, out, arena_printf(a, "%s/lib/python3.*/site-packages", environment("CONDA_PREFIX")));
    }
    add_program_venv(a, out);
    if (environment("HOME"))
        add_wheels(a, out, arena_printf(a, "%s/.local/lib/python3.*/site-packages", environment("HOME")));
    add_wheels(a, out, "/usr/lib/python3/dist-packages");
    add_wheels(a, out, "/usr/local/lib/python3.*/site-packages");
    add_wheels(a, out, "/usr/local/lib/python3.*/dist-packages");
}

bool tool_nvrtc_more_paths(arena *a, const char *explicit_path, int stage, tool_paths *out, bool *is_explicit)
{
    const char *wanted = explicit_path && *explicit_path ? explicit_path : environment("HDS_NVRTC");
    *is_explicit = wanted != NULL;
    if (wanted) {
        add(a, out, wanted);
        return stage == 0;
    }
    if (stage == 0)
        add_toolkits(a, out);
    if (stage == 1) {
        add(a, out, "libnvrtc.so.13");
        add(a, out, "libnvrtc.so.12");
        add(a, out, "libnvrtc.so");
    }
    if (stage == 2)
        add_python(a, out);
    return stage <= 2;
}

void tool_nvrtc_paths(arena *a, const char *explicit_path, tool_paths *out, bool *is_explicit)
{
    *out = (tool_paths){0};
    for (int stage = 0; tool_nvrtc_more_paths(a, explicit_path, stage, out, is_explicit); stage++)
        continue;
}

void tool_nvrtc_files(arena *a, const char *folder, tool_paths *out)
{
    *out = (tool_paths){0};
    add_matches(a, out, file_join(a, folder, "libnvrtc.so"));
    add_matches(a, out, file_join(a, folder, "libnvrtc.so.[0-9]*"));
}
