#include "frontend/kept.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/parse.h"

enum {
    MOST_BYTES = 16 << 20, // of the texts of a state: beyond it, the next one begins with what is noted last
    MOST_CHANGES = 3,      // texts of one name: after that it is not kept
};

typedef struct module {
    const char *name;
    str text;
    int changes;         // texts that it had before
    uint32_t base;
    ast_module *tree;    // NULL: it is known, and not kept
} module;

// What was parsed for one state: texts, trees, and names that no earlier one has.
typedef struct addition {
    atomic_int references;    // of states, and of the next addition
    struct addition *before;  // whose names its trees have, too; NULL: it is the first one
    arena memory;
} addition;

// Modules of the newest addition and of those before it. Tables are copied for each state, what they refer to is not.
struct kept_state {
    atomic_int references;
    addition *newest;
    arena tables;
    sym_table syms;
    map modules;          // by name
    uint32_t next_base;
};

struct kept_modules {
    pthread_mutex_t lock;
    kept_state *state;   // NULL: none yet
    arena noted_memory;
    VEC(module) noted;   // not in [state] yet
    size_t parsed;
};

// ---- states -----------------------------------------------------------------------------------------------------

static void release_addition(addition *a)
{
    while (a && atomic_fetch_sub(&a->references, 1) == 1) {
        addition *before = a->before;
        arena_free(&a->memory);
        free(a);
        a = before;
    }
}

void kept_release(const kept_state *state)
{
    kept_state *s = (kept_state *)state;
    if (!s || atomic_fetch_sub(&s->references, 1) > 1)
        return;
    arena_free(&s->tables);
    release_addition(s->newest);
    free(s);
}

const sym_table *kept_syms(const kept_state *state)
{
    return state ? &state->syms : NULL;
}

src_file *kept_add(const kept_state *state, src_map *sources, const char *name, str text)
{
    const module *m = state ? map_get(&state->modules, name, strlen(name)) : NULL;
    if (!m || !m->tree || !str_equal(m->text, text))
        return NULL;
    src_file *file = src_add_at(sources, name, text, m->base);
    file->tree = m->tree;
    return file;
}

static void parse(kept_state *s, src_map *sources, module *m)
{
    arena *a = &s->newest->memory;
    diag_context diags;
    diag_init(&diags, a, sources);
    parse_context px = {a, &s->syms, &diags};
    src_file *file = m->changes < MOST_CHANGES ? src_add(sources, m->name, m->text) : NULL;
    ast_module *tree = file ? parse_module(&px, file) : NULL;
    m->base = file ? file->base : 0;
    m->tree = tree && !tree->has_errors && !diags.all.len ? tree : NULL;
}

// What [old] has, if there is one, and what is noted.
static void fill(kept_state *s, const kept_modules *kept, const kept_state *old)
{
    arena *a = &s->newest->memory;
    src_map sources;
    src_map_init(&sources, a);
    sources.next_base = old ? old->next_base : SRC_KEPT_BASE;
    if (old)
        sym_copy(&s->syms, &old->syms, &s->tables);
    else
        sym_init(&s->syms, &s->tables);
    s->syms.arena = a;
    map_init(&s->modules, &s->tables);
    for (const map_entry *e = old ? map_first(&old->modules) : NULL; e; e = map_next(e)) {
        module *m = map_value(e);
        map_put(&s->modules, m->name, strlen(m->name), m);
    }
    for (size_t i = 0; i < kept->noted.len; i++) {
        const module *noted = &kept->noted.at[i];
        module *m = ARENA_NEW(a, module);
        *m = (module){.name = arena_strdup(a, noted->name), .changes = noted->changes};
        m->text = (str){arena_strndup(a, noted->text.at, noted->text.len), noted->text.len};
        parse(s, &sources, m);
        map_put(&s->modules, m->name, strlen(m->name), m);
    }
    s->next_base = sources.next_base;
}

// False where there is no memory. Not inlined: it comes back twice.
__attribute__((noinline)) static bool fill_safely(kept_state *s, const kept_modules *kept, const kept_state *old)
{
    arena_oom oom;
    arena_init(&s->tables, &oom);
    arena_init(&s->newest->memory, &oom);
    if (setjmp(oom.jump) != 0)
        return false;
    fill(s, kept, old);
    s->tables.oom = s->newest->memory.oom = NULL;
    return true;
}

// NULL where there is no memory. A state that is too large is not continued.
static kept_state *state_after(const kept_modules *kept, const kept_state *old)
{
    kept_state *s = calloc(1, sizeof *s);
    addition *newest = calloc(1, sizeof *newest);
    if (!s || !newest) {
        free(s);
        free(newest);
        return NULL;
    }
    if (old && old->next_base - SRC_KEPT_BASE >= MOST_BYTES)
        old = NULL;
    atomic_init(&s->references, 1);
    atomic_init(&newest->references, 1);
    s->newest = newest;
    newest->before = old ? old->newest : NULL;
    if (newest->before)
        atomic_fetch_add(&newest->before->references, 1);
    if (fill_safely(s, kept, old))
        return s;
    kept_release(s);
    return NULL;
}

// ---- the set ----------------------------------------------------------------------------------------------------

kept_modules *kept_new(void)
{
    kept_modules *kept = calloc(1, sizeof *kept);
    if (kept) {
        pthread_mutex_init(&kept->lock, NULL);
        arena_init(&kept->noted_memory, NULL);
    }
    return kept;
}

void kept_free(kept_modules *kept)
{
    if (!kept)
        return;
    kept_release(kept->state);
    arena_free(&kept->noted_memory);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

static void forget_noted(kept_modules *kept)
{
    arena_free(&kept->noted_memory);
    arena_init(&kept->noted_memory, NULL);
    memset(&kept->noted, 0, sizeof kept->noted);
}

const kept_state *kept_take(kept_modules *kept)
{
    if (!kept)
        return NULL;
    pthread_mutex_lock(&kept->lock);
    kept_state *next = kept->noted.len ? state_after(kept, kept->state) : NULL;
    if (next) {
        kept->parsed += kept->noted.len;
        kept_release(kept->state);
        kept->state = next;
    }
    forget_noted(kept);
    kept_state *state = kept->state;
    if (state)
        atomic_fetch_add(&state->references, 1);
    pthread_mutex_unlock(&kept->lock);
    return state;
}

static bool is_noted(const kept_modules *kept, const char *name)
{
    for (size_t i = 0; i < kept->noted.len; i++) {
        if (strcmp(kept->noted.at[i].name, name) == 0)
            return true;
    }
    return false;
}

// Where there is no memory for the note, the module is parsed again next time.
static void note(kept_modules *kept, const char *name, str text, int changes)
{
    arena_oom oom;
    kept->noted_memory.oom = &oom;
    if (setjmp(oom.jump) == 0) {
        module m = {.name = arena_strdup(&kept->noted_memory, name), .changes = changes};
        m.text = (str){arena_strndup(&kept->noted_memory, text.at, text.len), text.len};
        VEC_PUSH(&kept->noted_memory, &kept->noted, m);
    }
    kept->noted_memory.oom = NULL;
}

void kept_note(kept_modules *kept, const char *name, str text)
{
    if (!kept)
        return;
    pthread_mutex_lock(&kept->lock);
    const module *m = kept->state ? map_get(&kept->state->modules, name, strlen(name)) : NULL;
    bool is_same = m && (str_equal(m->text, text) || m->changes >= MOST_CHANGES);
    if (!is_same && !is_noted(kept, name))
        note(kept, name, text, m ? m->changes + 1 : 0);
    pthread_mutex_unlock(&kept->lock);
}

size_t kept_parsed(kept_modules *kept)
{
    pthread_mutex_lock(&kept->lock);
    size_t parsed = kept->parsed;
    pthread_mutex_unlock(&kept->lock);
    return parsed;
}
