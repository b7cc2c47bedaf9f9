#include "pipeline/options.h"

#include <string.h>

static const char *const names[PL_KIND__COUNT] = {
    [PL_NOTHING] = "nothing", [PL_TOKENS] = "tokens", [PL_AST] = "ast",     [PL_HIR] = "hir",
    [PL_JSON] = "json",       [PL_CU] = "cu",         [PL_PTX] = "ptx",     [PL_CUBIN] = "cubin",
    [PL_FATBIN] = "fatbin",
};

const char *pl_kind_name(pl_kind kind)
{
    return names[kind];
}

bool pl_kind_find(const char *name, pl_kind *out)
{
    for (int kind = PL_TOKENS; kind < PL_KIND__COUNT; kind++) {
        if (strcmp(names[kind], name) == 0) {
            *out = (pl_kind)kind;
            return true;
        }
    }
    return false;
}

bool pl_kind_of_path(const char *path, pl_kind *out)
{
    const char *dot = strrchr(path, '.');
    return dot && !strchr(dot, '/') && pl_kind_find(dot + 1, out);
}
