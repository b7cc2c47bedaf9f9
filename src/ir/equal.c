// Kernels that were made for launches and are equal become one.
//
// Entries are elaborated one by one, each with the kernels that it launches. Two operators may launch the same: the
// smallest elements of a row and the k-th of them, a loss with weights and without. So may an operator by other parameters,
// such as a width of vectors that a kernel does not use. Equal is what has the same text but for the name, and the text says all
// that there is (docs/ir.md). Texts are made of those kernels only that are instances of functions of one name and have as many
// parameters and statements, and of these at a time.
#include <string.h>

#include "ir/ir.h"

typedef VEC(ir_func *) func_list;

typedef struct equal {
    ir_func **first; // by number: the kernel that is launched instead; NULL: itself
    arena *scratch;
} equal;

static void count_statement(void *user, ir_stmt *s)
{
    (void)s;
    ++*(size_t *)user;
}

// Equal for kernels that may be.
static const char *key_of(const ir_func *f, arena *a)
{
    size_t statements = 0;
    ir_walk((ir_block *)&f->body, count_statement, &statements);
    return arena_printf(a, "%.*s %zu %zu", (int)strcspn(f->title, "["), f->title, f->params.len, statements);
}

static void add_to_group(const ir_func *f, const char *key, map *groups, arena *a)
{
    func_list *group = map_get(groups, key, strlen(key));
    if (!group) {
        group = ARENA_NEW(a, func_list);
        *group = (func_list){0};
        map_put(groups, key, strlen(key), group);
    }
    VEC_PUSH(a, group, (ir_func *)f);
}

static str text_without_name(const ir_func *f, arena *a)
{
    ir_func nameless = *f;
    str_buf out;
    str_buf_init(&out, a);
    nameless.name = nameless.title = "k"; // the title has the values of all parameters, also of those that are not used
    ir_print_func(&nameless, &out);
    return (str){str_text(&out), out.len};
}

static void compare(equal *e, const func_list *group)
{
    arena_mark mark = arena_mark_get(e->scratch);
    map texts;
    map_init(&texts, e->scratch);
    for (size_t i = 0; i < group->len && group->len > 1; i++) {
        ir_func *f = group->at[i];
        str text = text_without_name(f, e->scratch);
        e->first[f->id] = map_get(&texts, text.at, text.len);
        if (!e->first[f->id])
            map_put(&texts, text.at, text.len, f);
    }
    arena_reset(e->scratch, mark);
}

static void find(const ir_module *m, equal *e)
{
    map groups;
    const char **keys = ARENA_ARRAY(e->scratch, const char *, m->funcs.len + 1);
    map_init(&groups, e->scratch);
    for (size_t i = 0; i < m->funcs.len; i++) {
        const ir_func *f = m->funcs.at[i];
        keys[i] = f->kind == IR_KERNEL && f->is_launched && f->title ? key_of(f, e->scratch) : NULL;
        if (keys[i])
            add_to_group(f, keys[i], &groups, e->scratch);
    }
    for (size_t i = 0; i < m->funcs.len; i++) {
        const func_list *group = keys[i] ? map_get(&groups, keys[i], strlen(keys[i])) : NULL;
        if (group && group->at[0] == m->funcs.at[i])
            compare(e, group);
    }
}

static void launch_the_first(void *user, ir_stmt *s)
{
    const equal *e = user;
    if (s->kind == IR_LAUNCH && e->first[s->func->id])
        s->func = e->first[s->func->id];
}

void ir_unite_equal_kernels(ir_module *m, arena *scratch)
{
    size_t kept = 0, count = m->funcs.len;
    if (m->globals.len) // two tables of one name have one text
        return;
    arena_mark mark = arena_mark_get(scratch);
    equal e = {ARENA_ARRAY(scratch, ir_func *, count + 1), scratch};
    memset(e.first, 0, (count + 1) * sizeof *e.first);
    find(m, &e);
    for (size_t i = 0; i < count; i++) {
        if (m->funcs.at[i]->kind == IR_HOST_FUNC)
            ir_walk(&m->funcs.at[i]->body, launch_the_first, &e);
    }
    for (size_t i = 0; i < count; i++) {
        if (!e.first[i])
            m->funcs.at[kept++] = m->funcs.at[i];
    }
    for (size_t i = 0; i < kept; i++)
        m->funcs.at[i]->id = (uint32_t)i;
    m->funcs.len = kept;
    arena_reset(scratch, mark);
}
