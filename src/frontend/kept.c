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

struct kept_state {
    atomic_int references;
    arena memory;
    sym_table syms;
    src_map sources;
    map modules;  // by name
    VEC(module *) order;
};

struct kept_modules {
    pthread_mutex_t lock;
    kept_state *state;   // NULL: none yet
    arena noted_memory;
    VEC(module) noted;   // not in [state] yet
    size_t parsed;
};

// ---- states -----------------------------------------------------------------------------------------------------

void kept_release(const kept_state *state)
{
    kept_state *s = (kept_state *)state;
    if (!s || atomic_fetch_sub(&s->references, 1) > 1)
        return;
    arena_free(&s->memory);
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

static void add_module(kept_state *s, const char *name, str text, int changes)
{
    module *m = ARENA_NEW(&s->memory, module), *before = map_get(&s->modules, name, strlen(name));
    *m = (module){.name = arena_strdup(&s->memory, name), .changes = changes};
    m->text = (str){arena_strndup(&s->memory, text.at, text.len), text.len};
    if (before)
        *before = *m;
    else {
        map_put(&s->modules, m->name, strlen(m->name), m);
        VEC_PUSH(&s->memory, &s->order, m);
    }
}

static void parse(kept_state *s, module *m)
{
    diag_context diags;
    diag_init(&diags, &s->memory, &s->sources);
    parse_context px = {&s->memory, &s->syms, &diags};
    src_file *file = m->changes < MOST_CHANGES ? src_add(&s->sources, m->name, m->text) : NULL;
    ast_module *tree = file ? parse_module(&px, file) : NULL;
    m->base = file ? file->base : 0;
    m->tree = tree && !tree->has_errors && !diags.all.len ? tree : NULL;
}

// What [old] has, unless it is too large, and what is noted.
static void fill(kept_state *s, const kept_modules *kept, const kept_state *old)
{
    sym_init(&s->syms, &s->memory);
    src_map_init(&s->sources, &s->memory);
    s->sources.next_base = SRC_KEPT_BASE;
    map_init(&s->modules, &s->memory);
    size_t kept_before = old && old->sources.next_base - SRC_KEPT_BASE < MOST_BYTES ? old->order.len : 0;
    for (size_t i = 0; i < kept_before; i++)
        add_module(s, old->order.at[i]->name, old->order.at[i]->text, old->order.at[i]->changes);
    for (size_t i = 0; i < kept->noted.len; i++)
        add_module(s, kept->noted.at[i].name, kept->noted.at[i].text, kept->noted.at[i].changes);
    for (size_t i = 0; i < s->order.len; i++)
        parse(s, s->order.at[i]);
}

// False where there is no memory. Not inlined: it comes back twice.
__attribute__((noinline)) static bool fill_safely(kept_state *s, const kept_modules *kept, const kept_state *old)
{
    arena_oom oom;
    arena_init(&s->memory, &oom);
    if (setjmp(oom.jump) != 0)
        return false;
    fill(s, kept, old);
    s->memory.oom = NULL;
    return true;
}

// NULL where there is no memory.
static kept_state *state_after(const kept_modules *kept, const kept_state *old)
{
    kept_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    atomic_init(&s->references, 1);
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
        kept->parsed += next->order.len;
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
