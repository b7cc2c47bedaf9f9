// Names in the text: the author's, made unique among those that are visible. Which ones are reserved: reserved.c.
#include "cuda_emit/printer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char in_scope[] = "visible";
static void *const visible = (void *)in_scope;

static void reserve_words(cu *cx, const char *words)
{
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        map_put(&cx->names, at, len, visible);
        at += len + (at[len] == ' ');
    }
}

void cu_names_init(cu *cx)
{
    map_init(&cx->names, cx->a);
    map_init(&cx->numbers, cx->a);
    map_init(&cx->funcs, cx->a);
    map_init(&cx->wrappers, cx->a);
    map_init(&cx->used_intrins, cx->a);
    for (const char *const *list = cx->dialect->words; *list && !cx->is_dry; list++)
        reserve_words(cx, *list);
}

const char *cu_on_one_line(arena *a, const char *text)
{
    char *line = arena_strdup(a, text);
    for (char *c = line; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    return line;
}

static bool is_visible(const cu *cx, const char *name)
{
    return map_get(&cx->names, name, strlen(name)) != NULL;
}

// A C identifier that looks like [wish]: runs of other characters become one underscore.
static const char *identifier(arena *a, const char *wish)
{
    str_buf out;
    str_buf_init(&out, a);
    if (cu_is_for_compiler(wish))
        wish += strspn(wish, "_");
    if (!*wish)
        wish = "_";
    if (isdigit((unsigned char)wish[0]))
        str_addc(&out, '_');
    for (const char *at = wish; *at; at++) {
        bool is_word = isalnum((unsigned char)*at) || *at == '_';
        if (is_word)
            str_addc(&out, *at);
        else if (!out.len || out.at[out.len - 1] != '_')
            str_addc(&out, '_');
    }
    return out.len ? str_text(&out) : "_";
}

void cu_name_reserve(cu *cx, str name)
{
    map_put(&cx->names, name.at, name.len, visible);
}

size_t cu_word_length(const char *at)
{
    size_t len = 0;
    while (isalnum((unsigned char)at[len]) || at[len] == '_')
        len++;
    return len;
}

// Of base_1, base_2, … all names before this number are visible. Unrolled kernels have thousands of one base.
static intptr_t first_number(const cu *cx, const char *base, size_t len)
{
    intptr_t number = (intptr_t)map_get(&cx->numbers, base, len);
    return number ? number : 1;
}

bool cu_name_is_free(cu *cx, const char *name)
{
    return !is_visible(cx, name) && !cu_is_reserved(cx, name, true) && strcmp(identifier(cx->a, name), name) == 0;
}

static const char *unique(cu *cx, const char *wish, bool is_function)
{
    if (cx->is_dry)
        return wish;
    arena *a = is_function ? cx->lasting : cx->a;
    const char *base = identifier(a, wish);
    if (cu_is_of_family(cx, base, is_function)) // where a number behind it would not help
        base = arena_printf(a, "hds_%s", base);
    const char *name = base;
    size_t len = strlen(base);
    intptr_t number = is_function ? 1 : first_number(cx, base, len);
    while (is_visible(cx, name) || cu_is_reserved(cx, name, is_function))
        name = arena_printf(a, "%s_%ld", base, (long)number++);
    if (name != base && !is_function)
        map_put(&cx->numbers, base, len, (void *)number);
    map_put(&cx->names, name, strlen(name), visible);
    return name;
}

// A name that ends with a number is free again, for what begins like it.
static void free_number(cu *cx, const char *name)
{
    size_t len = strlen(name), digits = len;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    if (digits == len || digits < 2 || name[digits - 1] != '_' || len - digits > 9)
        return;
    intptr_t number = (intptr_t)strtol(name + digits, NULL, 10);
    if (number > 0 && number < first_number(cx, name, digits - 1))
        map_put(&cx->numbers, name, digits - 1, (void *)number);
}

const char *cu_name_new(cu *cx, const char *wish)
{
    const char *name = unique(cx, wish, false);
    if (cx->is_dry)
        return name;
    VEC_PUSH(cx->lasting, &cx->scope, name);
    return name;
}

const char *cu_name_global(cu *cx, const char *wish)
{
    return unique(cx, wish, true);
}

size_t cu_scope_begin(cu *cx)
{
    return cx->scope.len;
}

void cu_scope_end(cu *cx, size_t mark)
{
    while (cx->scope.len > mark) {
        const char *name = VEC_POP(&cx->scope);
        map_put(&cx->names, name, strlen(name), NULL);
        free_number(cx, name);
    }
}

const char *cu_declare(cu *cx, const ir_var *v)
{
    return cx->vars[v->id].name = cu_name_new(cx, v->name);
}

const char *cu_var_name(cu *cx, const ir_var *v)
{
    const char *name = cx->vars[v->id].name;
    return name ? name : v->name;
}

const char *cu_func_name(cu *cx, const ir_func *f)
{
    const char *name = cx->is_dry ? f->name : map_get_ptr(&cx->funcs, f);
    if (!name) {
        name = cu_name_global(cx, f->name);
        map_put_ptr(&cx->funcs, f, (void *)name);
    }
    return name;
}
