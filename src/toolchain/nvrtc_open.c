// Opens libnvrtc, or says why not.

#include "toolchain/nvrtc_priv.h"

#include "base/file.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

typedef struct search {
    arena *arena;
    tool_nvrtc *nvrtc;
    VEC(const char *) looked;          // locations, and why a library there was skipped
    const char *bad_path, *bad_reason; // the first library that could not be used
    const char *old_path;              // the first one that was too old
    int old_major, old_minor;
} search;

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static const char *reason_of_loader(search *s)
{
    const char *reason = dlerror();
    return arena_strdup(s->arena, reason ? reason : "the loader refused it");
}

static bool reject(search *s, const char *path, const char *reason)
{
    if (!s->bad_path) {
        s->bad_path = path;
        s->bad_reason = reason;
    }
    VEC_PUSH(s->arena, &s->looked, arena_printf(s->arena, "%s (%s)", path, reason));
    return false;
}

static bool reject_old(search *s, const char *path, int major, int minor)
{
    if (!s->old_path) {
        s->old_path = path;
        s->old_major = major;
        s->old_minor = minor;
    }
    VEC_PUSH(s->arena, &s->looked, arena_printf(s->arena, "%s (version %d.%d)", path, major, minor));
    return false;
}

// dlsym gives an object pointer, which ISO C does not convert to a function's.
static bool bind(void *handle, const char *name, void *function_pointer)
{
    void *symbol = dlsym(handle, name);
    memcpy(function_pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

// The name of the first entry point that is missing, or NULL.
static const char *bind_all(void *handle, struct tool_nvrtc_api *api)
{
#define NVRTC_API(result, name, parameters)                                                                            \
    if (!bind(handle, #name, &api->name))                                                                              \
        return #name;
#include "toolchain/nvrtc_api.def"
#undef NVRTC_API
    return NULL;
}

static bool read_archs(search *s, tool_nvrtc *nvrtc)
{
    int count = 0;
    if (nvrtc->api->nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0)
        return false;
    VEC_RESERVE(s->arena, &nvrtc->archs, (size_t)count);
    nvrtc->archs.len = (size_t)count;
    return nvrtc->api->nvrtcGetSupportedArchs(nvrtc->archs.at) == 0;
}

// Takes the opened library if it is one we can use. The version comes first: an old library lacks other entry points
// too, and its age is the better reason.
static bool take_library(search *s, const char *path, void *handle)
{
    int (*version)(int *, int *), major = 0, minor = 0;
    if (!bind(handle, "nvrtcVersion", &version) || version(&major, &minor) != 0)
        return reject(s, path, "it has no nvrtcVersion");
    if (major < TOOL_NVRTC_LEAST_MAJOR || (major == TOOL_NVRTC_LEAST_MAJOR && minor < TOOL_NVRTC_LEAST_MINOR))
        return reject_old(s, path, major, minor);
    tool_nvrtc *nvrtc = ARENA_NEW(s->arena, tool_nvrtc);
    nvrtc->api = ARENA_NEW(s->arena, struct tool_nvrtc_api);
    const char *missing = bind_all(handle, nvrtc->api);
    if (missing)
        return reject(s, path, arena_printf(s->arena, "it has no %s", missing));
    if (!read_archs(s, nvrtc))
        return reject(s, path, "it names no architectures");
    nvrtc->path = path;
    nvrtc->major = major;
    nvrtc->minor = minor;
    nvrtc->handle = handle;
    s->nvrtc = nvrtc;
    return true;
}

// NVRTC loses memory each time it is unloaded (the exception pool of the libstdc++ inside it), so it stays in the
// process; opening it again costs nothing.
static void *load(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

// NVRTC opens its second half by name when it first compiles. Loading it from the folder of the first makes that work
// where the folder is not in NVRTC's own search path (some wheels) or another version would be found first.
static void load_builtins(search *s, const char *path)
{
    const char *name = arena_printf(s->arena, "libnvrtc-builtins.so.%d.%d", s->nvrtc->major, s->nvrtc->minor);
    const char *builtins = file_join(s->arena, file_folder(s->arena, path), name);
    if (file_exists(builtins))
        load(builtins);
}

static bool try_library(search *s, const char *path)
{
    void *handle = load(path);
    if (!handle)
        return reject(s, path, reason_of_loader(s));
    if (take_library(s, path, handle)) {
        load_builtins(s, path);
        return true;
    }
    dlclose(handle);
    return false;
}

static bool try_folder(search *s, const char *folder)
{
    tool_paths files;
    tool_nvrtc_files(s->arena, folder, &files);
    if (!files.at.len)
        VEC_PUSH(s->arena, &s->looked, folder);
    for (size_t i = 0; i < files.at.len; i++) {
        if (try_library(s, files.at.at[i]))
            return true;
    }
    return false;
}

// A name for the loader: most often it is just not there, which is no reason to name a culprit.
static bool try_name(search *s, const char *name)
{
    void *handle = load(name);
    if (!handle) {
        VEC_PUSH(s->arena, &s->looked, arena_printf(s->arena, "%s, by the loader", name));
        return false;
    }
    if (take_library(s, name, handle))
        return true;
    dlclose(handle);
    return false;
}

static bool try_path(search *s, const char *path)
{
    if (!strchr(path, '/') && !file_exists(path))
        return try_name(s, path);
    if (is_folder(path))
        return try_folder(s, path);
    if (file_exists(path))
        return try_library(s, strchr(path, '/') ? path : arena_printf(s->arena, "./%s", path));
    VEC_PUSH(s->arena, &s->looked, path);
    return false;
}

static void add_paths(search *s, diag *d)
{
    str_buf text;
    str_buf_init(&text, s->arena);
    for (size_t i = 0; i < s->looked.len; i++)
        str_addf(&text, "\n%s", s->looked.at[i]);
    diag_note(d, (src_span){0, 0}, "looked in:%s", str_text(&text));
}

static void report(search *s, diag_context *dx, bool is_explicit)
{
    diag *d;
    if (s->old_path)
        d = diag_report(dx, HDS0071, (src_span){0, 0}, s->old_major, s->old_minor, s->old_path, TOOL_NVRTC_LEAST_MAJOR,
                        TOOL_NVRTC_LEAST_MINOR);
    else if (is_explicit && s->bad_path)
        d = diag_report(dx, HDS0072, (src_span){0, 0}, s->bad_path, s->bad_reason);
    else
        d = diag_report(dx, HDS0070, (src_span){0, 0});
    if (!s->bad_path || !is_explicit)
        add_paths(s, d);
    diag_help(d,
              "install the CUDA Toolkit %d.%d or newer, or the Python package 'nvidia-cuda-nvrtc', or give the library "
              "or its folder with '--nvrtc=PATH' or the environment's HDS_NVRTC",
              TOOL_NVRTC_LEAST_MAJOR, TOOL_NVRTC_LEAST_MINOR);
}

tool_nvrtc *tool_nvrtc_open(arena *a, diag_context *dx, const char *explicit_path)
{
    search s = {.arena = a};
    tool_paths paths;
    bool is_explicit;
    tool_nvrtc_paths(a, explicit_path, &paths, &is_explicit);
    for (size_t i = 0; i < paths.at.len; i++) {
        if (try_path(&s, paths.at.at[i]))
            return s.nvrtc;
    }
    report(&s, dx, is_explicit);
    return NULL;
}

void tool_nvrtc_close(tool_nvrtc *nvrtc)
{
    if (nvrtc && nvrtc->handle)
        dlclose(nvrtc->handle);
    if (nvrtc)
        nvrtc->handle = NULL;
}
