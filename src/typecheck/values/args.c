// Arguments of built-in functions: by position or by name.
#include "typecheck/values/values.h"

#include <string.h>

static int param_position(const char *params, sym name)
{
    int index = 0;
    for (const char *at = params; at && *at; index++) {
        size_t len = strcspn(at, " ");
        if (len == name->len && memcmp(at, name->text, len) == 0)
            return index;
        at += len + (at[len] == ' ');
    }
    return -1;
}

tc_value *tc_arg_get(tc_args *args, const char *params, int index)
{
    int seen = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        tc_arg *a = &args->list.at[i];
        if (a->name ? param_position(params, a->name) == index : seen++ == index)
            return &a->value;
    }
    return NULL;
}

src_span tc_arg_span(const tc_args *args, const char *params, int index)
{
    int seen = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (a->name ? param_position(params, a->name) == index : seen++ == index)
            return a->span;
    }
    return args->span;
}

bool tc_args_check(tc *tx, const tc_native *n, tc_args *args)
{
    int count = (int)args->list.len;
    if (count < n->min_args || (n->max_args >= 0 && count > n->max_args)) {
        const char *wanted = n->max_args < 0 ? arena_printf(tx->arena, "at least %d", n->min_args)
                             : n->min_args == n->max_args
                                 ? arena_printf(tx->arena, "%d", n->min_args)
                                 : arena_printf(tx->arena, "%d to %d", n->min_args, n->max_args);
        tc_error(tx, HDS0283, args->span, n->name, wanted, count);
        return false;
    }
    for (int i = 0; i < n->min_args && n->params; i++)
        if (!tc_arg_get(args, n->params, i)) {
            const char *at = n->params;
            for (int k = 0; k < i; k++)
                at = strchr(at, ' ') + 1;
            tc_error(tx, HDS0213, args->span, n->name, arena_strndup(tx->arena, at, strcspn(at, " ")));
            return false;
        }
    for (size_t i = 0; n->params && i < args->list.len; i++)
        if (args->list.at[i].name && param_position(n->params, args->list.at[i].name) < 0) {
            tc_error(tx, HDS0211, args->list.at[i].span, n->name, args->list.at[i].name->text);
            return false;
        }
    return true;
}
