// Where the program of the worker processes is: libhds cannot know that of its host to be one.

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_priv.h"
#include "base/file.h"

static const char *if_program(const char *path)
{
    return access(path, X_OK) == 0 ? path : NULL;
}

// Beside the file that holds this code, a library or a program.
static const char *installed(arena *a)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)api_find_worker, &info) || !info.dli_fname)
        return NULL;
    const char *folder = file_folder(a, info.dli_fname);
    const char *found = if_program(file_join(a, folder, HDS_WORKER_FROM_LIBRARY));
    return found ? found : if_program(file_join(a, folder, "../libexec/hds/hds-worker"));
}

const char *api_find_worker(arena *a)
{
    const char *named = secure_getenv("HDS_WORKER");
    if (named && strcmp(named, "off") == 0)
        return NULL;
    return named && *named ? if_program(named) : installed(a);
}
