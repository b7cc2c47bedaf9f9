#include "pipeline/files.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

// ---- which files they are ---------------------------------------------------------------------------------------

// Writing to a device twice is harmless.
static bool is_file(const char *path, struct stat *info)
{
    return strcmp(path, "-") != 0 && stat(path, info) == 0 && S_ISREG(info->st_mode);
}

static bool is_device(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
}

// Splits off the name that a path has in its folder. The folder is "" where it is the working folder, or too long.
static const char *split(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = (size_t)(name - path);
    len = len < PATH_MAX ? len : 0;
    memcpy(folder, path, len);
    folder[len] = '\0';
    return name;
}

// Names of files that are not there yet: "k.h" and "./k.h" will be one.
static bool is_same_path(const char *a, const char *b)
{
    struct stat x, y;
    char first[PATH_MAX], second[PATH_MAX];
    if (strcmp(a, b) == 0)
        return true;
    bool is_same_name = strcmp(split(a, first), split(b, second)) == 0;
    return is_same_name && stat(*first ? first : ".", &x) == 0 && stat(*second ? second : ".", &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Also where they are written differently, or one is a link to the other.
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    if (is_file(a, &x) && is_file(b, &y))
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return is_same_path(a, b);
}

bool pl_files_check(diag_context *dx, const pl_file *files, size_t count, const char *const *inputs, size_t input_count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_device(files[i].path))
            continue;
        for (size_t k = 0; k < input_count; k++) {
            if (is_same(files[i].path, inputs[k])) {
                diag *d = diag_report(dx, HDS0710, (src_span){0, 0}, files[i].path);
                diag_help(d, "give %s another name", files[i].what);
                return false;
            }
        }
        for (size_t k = 0; k < i; k++) {
            if (is_same(files[i].path, files[k].path)) {
                diag_report(dx, HDS0711, (src_span){0, 0}, files[i].path, files[k].what, files[i].what);
                return false;
            }
        }
    }
    return true;
}

// ---- writing ----------------------------------------------------------------------------------------------------

static bool cannot_write(diag_context *dx, const char *path, const char *error)
{
    diag_report(dx, HDS0494, (src_span){0, 0}, path, error);
    return false;
}

bool pl_files_write(diag_context *dx, const pl_file *files, size_t count)
{
    file_staged *staged = ARENA_ARRAY(dx->arena, file_staged, count);
    const char *error = NULL;
    size_t ready = 0;
    while (ready < count && file_stage(dx->arena, files[ready].path, files[ready].pieces, files[ready].piece_count,
                                       &staged[ready], &error))
        ready++;
    bool ok = ready == count || cannot_write(dx, files[ready].path, error);
    for (size_t i = 0; i < ready; i++) {
        if (!ok)
            file_discard(&staged[i]);
        else if (!file_commit(dx->arena, &staged[i], &error))
            ok = cannot_write(dx, files[i].path, error);
    }
    return ok;
}
