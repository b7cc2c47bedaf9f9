// Any bytes at all as a graph in JSON: they are refused with a reason, or give graphs that hold, that are printed and read again as
// they were, and that passes and lowering take.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fg_graph *read_again(arena *a, const char *text)
{
    fg_graph_list list = {0};
    const char *error = NULL;
    if (!fg_read_json_list(a, &list, &error, text) || list.len != 1)
        __builtin_trap();
    return list.at[0];
}

static void use(arena *a, fg_graph *g)
{
    static const char *const passes[] = {"identities", "simplify", "load", "views", "fuse"};
    if (fg_verify(g))
        __builtin_trap();
    const char *text = fg_print_json(g).at;
    if (strcmp(fg_print_json(read_again(a, text)).at, text) != 0)
        __builtin_trap();
    fg_print(g);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        fg_run_pass(g, fg_pass_find(passes[i]));
        if (fg_verify(g))
            __builtin_trap();
    }
    fg_lower(a, &g, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a;
    fg_graph_list list = {0};
    const char *error = NULL;
    arena_init(&a, NULL);
    const char *text = arena_strndup(&a, (const char *)data, size);
    bool ok = fg_read_json_list(&a, &list, &error, text);
    if (ok == (error != NULL))
        __builtin_trap();
    for (size_t i = 0; i < list.len && ok; i++)
        use(&a, list.at[i]);
    arena_free(&a);
    return 0;
}
