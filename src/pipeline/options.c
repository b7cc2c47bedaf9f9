#include "pipeline/options.h"

#include <string.h>

typedef struct row {
    const char *name, *ending;
} row;

static const row kinds[PL_KIND__COUNT] = {
    [PL_NOTHING] = {"nothing", "nothing"}, [PL_TOKENS] = {"tokens", "tokens"}, [PL_AST] = {"ast", "ast"},
    [PL_GRAPH] = {"graph", "hds"},   [PL_HDS] = {"hds", "hds"},
    [PL_HIR] = {"hir", "hir"},             [PL_JSON] = {"json", "json"},       [PL_CU] = {"cu", "cu"},
    [PL_PTX] = {"ptx", "ptx"},             [PL_CUBIN] = {"cubin", "cubin"},    [PL_FATBIN] = {"fatbin", "fatbin"},
    [PL_C] = {"c", "c"},                   [PL_OBJECT] = {"object", "o"},      [PL_ARCHIVE] = {"archive", "a"},
    [PL_SHARED] = {"shared", "so"},
};

const char *pl_kind_name(pl_kind kind)
{
    return kinds[kind].name;
}

const char *pl_kind_ending(pl_kind kind)
{
    return kinds[kind].ending;
}

bool pl_kind_find(const char *name, pl_kind *out)
{
    for (int kind = PL_TOKENS; kind < PL_KIND__COUNT; kind++) {
        if (strcmp(kinds[kind].name, name) == 0) {
            *out = (pl_kind)kind;
            return true;
        }
    }
    return false;
}

bool pl_kind_of_path(const char *path, pl_kind *out)
{
    const char *dot = strrchr(path, '.');
    for (int kind = PL_TOKENS; dot && kind < PL_KIND__COUNT; kind++) {
        if (strcmp(kinds[kind].ending, dot + 1) == 0) {
            *out = (pl_kind)kind;
            return true;
        }
    }
    return false;
}

bool pl_kind_is_c(pl_kind kind)
{
    return kind >= PL_C && kind <= PL_SHARED;
}
