// What an NVRTC is, by its file.

#include "toolchain/nvrtc_priv.h"

#include "base/file.h"
#include "toolchain/build_id.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the linker's identity ----------------------------------------------------------------------------------------------

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

// Of a 64-bit ELF file in this machine's byte order.
static const char *build_id(arena *a, int fd)
{
    enum { MOST_NOTES = 4096, MOST_HEADERS = 64 };
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    char notes[MOST_NOTES];
    if (!read_at(fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof segment || head.e_phnum > MOST_HEADERS)
        return NULL;
    for (int i = 0; i < head.e_phnum; i++) {
        if (!read_at(fd, &segment, sizeof segment, head.e_phoff + (uint64_t)i * sizeof segment))
            return NULL;
        if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof notes)
            continue;
        char id[TOOL_BUILD_ID_LENGTH];
        if (read_at(fd, notes, segment.p_filesz, segment.p_offset) && tool_build_id(notes, segment.p_filesz, id))
            return arena_strdup(a, id);
    }
    return NULL;
}

// ---- one file -----------------------------------------------------------------------------------------------------------

// "libnvrtc.so.11.2": the name says that it is of no use, and it is passed over when it is opened.
static bool is_named_old(const char *name)
{
    const char *version = strstr(name, ".so.");
    int major = version ? atoi(version + strlen(".so.")) : 0;
    return major > 0 && major < TOOL_NVRTC_LEAST_MAJOR;
}

bool tool_identify_file(arena *a, const char *path, tool_nvrtc_identity *out)
{
    struct stat info;
    char *resolved = realpath(path, NULL);
    out->path = arena_strdup(a, resolved ? resolved : path);
    free(resolved);
    const char *name = strrchr(out->path, '/') ? strrchr(out->path, '/') + 1 : out->path;
    int fd = is_named_old(name) ? -1 : open(out->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    const char *id = build_id(a, fd);
    close(fd);
    if (!id)
        id = arena_printf(a, "written %lld.%09ld", (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    out->text = arena_printf(a, "%s %lld %s", name, (long long)info.st_size, id);
    return true;
}

// ---- the one that would be opened ---------------------------------------------------------------------------------------

static bool is_in_folders(arena *a, const char *folders, const char *name)
{
    for (const char *at = folders; at && *at;) {
        size_t len = strcspn(at, ":;");
        const char *folder = len ? arena_strndup(a, at, len) : ".";
        if (file_exists(arena_printf(a, "%s/%s", folder, name)))
            return true;
        at += len + (at[len] != '\0');
    }
    return false;
}

// Whether the loader may find a library of that name (ld.so(8)): somebody has loaded it, or it is in the loader's folders
// or its cache of names.
static bool loader_may_know(arena *a, const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    const char *error = NULL;
    str names = {0};
    if (handle) {
        dlclose(handle);
        return true;
    }
    if (is_in_folders(a, getenv("LD_LIBRARY_PATH"), name) || is_in_folders(a, "/lib:/usr/lib:/lib64:/usr/lib64", name))
        return true;
    return file_read(a, "/etc/ld.so.cache", &names, &error) && memmem(names.at, names.len, name, strlen(name) + 1);
}

static bool identify_in(arena *a, const char *folder, tool_nvrtc_identity *out)
{
    tool_paths files;
    tool_nvrtc_files(a, folder, &files);
    for (size_t i = 0; i < files.at.len; i++) {
        if (tool_identify_file(a, files.at.at[i], out))
            return true;
    }
    return false;
}

// False: go on with the next candidate.
static bool identify_at(arena *a, const char *path, tool_nvrtc_identity *out, bool *is_hidden)
{
    struct stat info;
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? identify_in(a, path, out) : tool_identify_file(a, path, out);
    *is_hidden = !strchr(path, '/') && loader_may_know(a, path);
    return false;
}

bool tool_nvrtc_identify(arena *a, const char *explicit_path, tool_nvrtc_identity *out)
{
    tool_paths paths = {0};
    bool is_explicit, is_hidden = false;
    size_t i = 0;
    *out = (tool_nvrtc_identity){0};
    for (int stage = 0; tool_nvrtc_more_paths(a, explicit_path, stage, &paths, &is_explicit); stage++) {
        for (; i < paths.at.len; i++) {
            if (identify_at(a, paths.at.at[i], out, &is_hidden))
                return true;
            if (is_hidden)
                return false;
        }
    }
    return false;
}

bool tool_nvrtc_identity_of(arena *a, const tool_nvrtc *nvrtc, tool_nvrtc_identity *out)
{
    struct link_map *file = NULL;
    *out = (tool_nvrtc_identity){0};
    return dlinfo(nvrtc->handle, RTLD_DI_LINKMAP, &file) == 0 && file->l_name && *file->l_name &&
           tool_identify_file(a, file->l_name, out);
}
