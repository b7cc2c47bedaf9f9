// The table of the original's names.
#include "typecheck/eval/original.h"

#include <stddef.h>
#include <string.h>

static const tc_original originals[] = {
#define ORIGINAL(module, name, home) {module, name, home, NULL, NULL},
#define NOT_HERE(module, name, what, instead) {module, name, NULL, what, instead},
#include "typecheck/eval/original.def"
#undef ORIGINAL
#undef NOT_HERE
};
enum { COUNT = sizeof originals / sizeof *originals };

const tc_original *tc_original_find(const char *module, const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(originals[i].name, name) == 0 && strcmp(originals[i].module, module) == 0)
            return &originals[i];
    return NULL;
}

const tc_original *tc_original_next(const char *module, const tc_original *after)
{
    for (const tc_original *o = after ? after + 1 : originals; o < originals + COUNT; o++)
        if (o->home && strcmp(o->module, module) == 0)
            return o;
    return NULL;
}
