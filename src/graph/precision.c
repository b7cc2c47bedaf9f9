// The text of --precision.
#include "graph/precision.h"

#include <string.h>

const char *fg_precision_name(fg_precision p)
{
    static const char *const names[] = {"f32", "winograd", "tf32", "bf16", "f16"};
    return names[p];
}

static bool read_rule(arena *a, fg_precision_rule *r, const char *item, size_t len, const char **error)
{
    const char *equals = memrchr(item, '=', len);
    const char *name = equals ? equals + 1 : item;
    size_t name_len = len - (size_t)(name - item);
    *r = (fg_precision_rule){.pattern = equals ? arena_strndup(a, item, (size_t)(equals - item)) : NULL};
    if (equals == item) {
        *error = arena_printf(a, "'%.*s' names no operator, line or weight", (int)len, item);
        return false;
    }
    for (; r->precision < FG_PRECISION_COUNT; r->precision++)
        if (strlen(fg_precision_name(r->precision)) == name_len &&
            memcmp(fg_precision_name(r->precision), name, name_len) == 0)
            return true;
    *error = arena_printf(a, "'%.*s' is none of f16, bf16, tf32, winograd and f32", (int)name_len, name);
    return false;
}

fg_precisions *fg_read_precisions(arena *a, const char **error, const char *text)
{
    fg_precisions *p = ARENA_NEW(a, fg_precisions);
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        fg_precision_rule rule;
        if (!read_rule(a, &rule, at, len, error))
            return NULL;
        VEC_PUSH(a, &p->rules, rule);
        at += len;
        if (!*at)
            return p;
    }
}
