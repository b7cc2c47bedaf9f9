// hdsc cache: shows and looks after what is kept of NVRTC's work (docs/cache.md).

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "diag/json_text.h"
#include "driver/cmd_cache.h"
#include "pipeline/code_cache.h"

enum { KEY_JSON = CMD_KEY_OWN, KEY_LIMIT, KEY_REMOVE };

static const struct argp_option table[] = {
    {"cache-dir", CMD_KEY_CACHE_DIR, "DIR", 0, "the folder (default: $HDS_CACHE_DIR or ~/.cache/hdsc)", 1},
    {"json", KEY_JSON, NULL, 0, "ls: as JSON", 2},
    {"limit", KEY_LIMIT, "SIZE", 0, "gc: shrink to this size, as in 500M or 2G (default: $HDS_CACHE_SIZE or 1G)", 2},
    {"remove", KEY_REMOVE, NULL, 0, "verify: remove damaged entries", 2},
    {0},
};

static const char doc[] =
    "Manage the code cache. It keeps the output of NVRTC, so that compiling the same kernel again takes milliseconds.\n"
    "\n"
    "  hdsc cache ls                  list the entries, latest first, and their size\n"
    "  hdsc cache why FILE [OPTIONS]  would 'hdsc FILE [OPTIONS]' hit the cache?\n"
    "                                 If not, what is different?\n"
    "  hdsc cache verify [--remove]   check all entries; list or remove damaged ones\n"
    "  hdsc cache gc [--limit=SIZE]   remove the least recently used entries\n"
    "  hdsc cache clear               remove all of it\n"
    "  hdsc cache where               print the folder"
    "\v"
    "The folder is that of --cache-dir, else HDS_CACHE_DIR, else $XDG_CACHE_HOME/hdsc, else ~/.cache/hdsc; "
    "HDS_CACHE_SIZE is "
    "its limit (1G), enforced automatically; HDS_CACHE=off disables it. Users and machines may share it, and it may be "
    "removed "
    "at any time.\n"
    "Exit code: 0 success; 1 an entry is damaged, or (why) the cache would miss; 2 the command line is wrong, or there "
    "is no cache.";

typedef struct request {
    arena memory;
    const char *folder;
    uint64_t limit_bytes;
    bool json, removes;
    const char *action;
    cache *cache;
} request;

static error_t take(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case CMD_KEY_CACHE_DIR: r->folder = arg; break;
    case KEY_JSON: r->json = true; break;
    case KEY_REMOVE: r->removes = true; break;
    case KEY_LIMIT:
        if (!cache_size_parse(arg, &r->limit_bytes))
            argp_error(state, "--limit takes a size such as 500M or 2G, not '%s'", arg);
        break;
    case ARGP_KEY_ARG:
        if (r->action)
            argp_error(state, "'%s' takes no argument, and there is '%s'", r->action, arg);
        r->action = arg;
        break;
    case ARGP_KEY_END:
        if (!r->action)
            argp_error(state, "expected an action: ls, why, verify, gc, clear or where");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

// ---- texts --------------------------------------------------------------------------------------------------------------

const char *cmd_age_text(arena *a, int64_t when)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    int64_t seconds = (int64_t)time(NULL) - when;
    seconds = seconds > 0 ? seconds : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (seconds >= units[i].seconds)
            return arena_printf(a, "%lld %s", (long long)(seconds / units[i].seconds), units[i].name);
    }
    return arena_printf(a, "%lld s", (long long)seconds);
}

const char *cmd_size_text(arena *a, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double size = (double)bytes;
    for (; size >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        size /= 1024;
    return arena_printf(a, size < 10 && unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

const char *cmd_parts_text(arena *a, const cache_parts *parts, const char *name, const char *between)
{
    str_buf text;
    str_buf_init(&text, a);
    for (size_t i = 0; i < parts->len; i++) {
        if (strcmp(parts->at[i].name, name) != 0)
            continue;
        if (text.len)
            str_adds(&text, between);
        str_add(&text, parts->at[i].bytes);
    }
    return str_text(&text);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "y" : "ies";
}

// ---- ls -----------------------------------------------------------------------------------------------------------------

typedef struct row {
    const char *name, *path, *kind, *arch, *file, *damage;
    const char **kernels;
    size_t kernel_count;
    uint64_t size_bytes;
    int64_t used;
} row;

typedef struct listing {
    arena *arena;
    VEC(row) rows;
    uint64_t total_bytes, damaged;
} listing;

static void add_kernels(arena *a, const cache_parts *outputs, row *r)
{
    r->kernels = ARENA_ARRAY(a, const char *, outputs->len + 1);
    for (size_t i = 0; i < outputs->len; i++) {
        const cache_part *part = &outputs->at[i];
        if (strcmp(part->name, PL_ABOUT "kernel") == 0)
            r->kernels[r->kernel_count++] = arena_strndup(a, part->bytes.at, part->bytes.len);
    }
}

static void add_row(void *user, const cache_entry *e)
{
    listing *l = user;
    arena *a = l->arena;
    row r = {.name = arena_strdup(a, e->name), .path = arena_strdup(a, e->path), .size_bytes = e->size_bytes, .used = e->used};
    r.damage = e->damage ? arena_strdup(a, e->damage) : NULL;
    r.kind = e->damage ? "damaged" : arena_strdup(a, e->kind);
    r.arch = cmd_parts_text(a, &e->inputs, "arch", ",");
    r.file = cmd_parts_text(a, &e->outputs, PL_ABOUT "file", ",");
    add_kernels(a, &e->outputs, &r);
    l->total_bytes += e->size_bytes;
    l->damaged += e->damage != NULL;
    VEC_PUSH(a, &l->rows, r);
}

static int latest_first(const void *left, const void *right)
{
    const row *a = left, *b = right;
    if (a->used != b->used)
        return a->used > b->used ? -1 : 1;
    return strcmp(a->name, b->name);
}

static json_t *json_text(const char *text)
{
    return diag_json_text(text && *text ? text : NULL);
}

static json_t *json_row(const row *r)
{
    json_t *object = json_object(), *kernels = json_array();
    for (size_t i = 0; i < r->kernel_count; i++)
        json_array_append_new(kernels, json_text(r->kernels[i]));
    json_object_set_new(object, "key", json_text(r->name));
    json_object_set_new(object, "path", json_text(r->path));
    json_object_set_new(object, "bytes", json_integer((json_int_t)r->size_bytes));
    json_object_set_new(object, "used", json_integer((json_int_t)r->used));
    json_object_set_new(object, "damage", json_text(r->damage));
    json_object_set_new(object, "kind", json_text(r->damage ? NULL : r->kind));
    json_object_set_new(object, "arch", json_text(r->arch));
    json_object_set_new(object, "input", json_text(r->file));
    json_object_set_new(object, "kernels", kernels);
    return object;
}

static void add_json(const request *r, const listing *l, str_buf *out)
{
    json_t *document = json_object(), *entries = json_array();
    for (size_t i = 0; i < l->rows.len; i++)
        json_array_append_new(entries, json_row(&l->rows.at[i]));
    json_object_set_new(document, "folder", json_text(cache_folder(r->cache)));
    json_object_set_new(document, "limit_bytes", json_integer((json_int_t)cache_limit(r->cache)));
    json_object_set_new(document, "total_bytes", json_integer((json_int_t)l->total_bytes));
    json_object_set_new(document, "entries", entries);
    diag_add_json(out, document, JSON_INDENT(2));
}

// "matmul (3), fill": instances of a kernel count as one, without what they are instances of.
static void add_kernel_names(const row *r, str_buf *out)
{
    enum { MOST = 3 };
    int shown = 0;
    for (size_t i = 0; i < r->kernel_count;) {
        size_t len = strcspn(r->kernels[i], "["), same = 1;
        while (i + same < r->kernel_count && strcspn(r->kernels[i + same], "[") == len &&
               strncmp(r->kernels[i + same], r->kernels[i], len) == 0)
            same++;
        if (shown++ == MOST) {
            str_addf(out, " and %zu more", r->kernel_count - i);
            return;
        }
        str_addf(out, "%s%.*s", i ? ", " : "", (int)len, r->kernels[i]);
        if (same > 1)
            str_addf(out, " (%zu)", same);
        i += same;
    }
}

static void add_table(const request *r, const listing *l, str_buf *out)
{
    if (l->rows.len)
        str_addf(out, "%8s %9s  %-8s %-8s %-28s %s\n", "age", "size", "kind", "arch", "input", "kernels");
    for (size_t i = 0; i < l->rows.len; i++) {
        const row *at = &l->rows.at[i];
        str_addf(out, "%8s %9s  %-8s %-8s %-28s ", cmd_age_text(l->arena, at->used), cmd_size_text(l->arena, at->size_bytes),
                 at->kind, at->arch, at->damage ? at->path : at->file);
        add_kernel_names(at, out);
        while (out->len && out->at[out->len - 1] == ' ')
            out->at[--out->len] = '\0';
        str_addc(out, '\n');
    }
    str_addf(out, "%zu entr%s, %s of %s, in '%s'\n", l->rows.len, plural(l->rows.len), cmd_size_text(l->arena, l->total_bytes),
             cmd_size_text(l->arena, cache_limit(r->cache)), cache_folder(r->cache));
    if (l->damaged)
        str_adds(out, "damaged entries will be compiled again; 'hdsc cache verify --remove' removes it\n");
}

static int list(request *r)
{
    listing l = {.arena = &r->memory};
    str_buf out;
    str_buf_init(&out, &r->memory);
    cache_each(r->cache, add_row, &l);
    if (l.rows.len)
        qsort(l.rows.at, l.rows.len, sizeof *l.rows.at, latest_first);
    if (r->json)
        add_json(r, &l, &out);
    else
        add_table(r, &l, &out);
    return cmd_print((str){out.at, out.len}) ? CMD_OK : CMD_ERRORS;
}

// ---- verify, gc, clear, where -------------------------------------------------------------------------------------------

typedef struct check {
    request *request;
    str_buf out;
    uint64_t sound, damaged, removed;
} check;

static void check_entry(void *user, const cache_entry *e)
{
    check *k = user;
    k->sound += e->damage == NULL;
    if (!e->damage)
        return;
    bool is_removed = k->request->removes && cache_remove(e);
    k->damaged++;
    k->removed += is_removed;
    str_addf(&k->out, "%s: %s%s\n", e->path, e->damage, is_removed ? "; removed" : "");
}

static int verify(request *r)
{
    check k = {.request = r};
    str_buf_init(&k.out, &r->memory);
    cache_each(r->cache, check_entry, &k);
    str_addf(&k.out, "%llu sound, %llu damaged\n", (unsigned long long)k.sound, (unsigned long long)k.damaged);
    bool ok = cmd_print((str){k.out.at, k.out.len});
    return ok && k.removed == k.damaged ? CMD_OK : CMD_ERRORS;
}

static int print_removed(request *r, const cache_gc_result *g)
{
    str_buf out;
    str_buf_init(&out, &r->memory);
    str_addf(&out, "removed %llu entr%s (%s)", (unsigned long long)g->removed, plural(g->removed),
             cmd_size_text(&r->memory, g->removed_bytes));
    if (g->stale)
        str_addf(&out, " and %llu file%s that killed processes left", (unsigned long long)g->stale, g->stale == 1 ? "" : "s");
    str_addf(&out, "; %llu (%s) kept\n", (unsigned long long)g->kept, cmd_size_text(&r->memory, g->kept_bytes));
    return cmd_print((str){out.at, out.len}) ? CMD_OK : CMD_ERRORS;
}

static int collect(request *r)
{
    cache_gc_result result;
    cache_gc(r->cache, cache_limit(r->cache), &result);
    return print_removed(r, &result);
}

static int clear(request *r)
{
    cache_gc_result result;
    cache_clear(r->cache, &result);
    int code = print_removed(r, &result);
    return result.kept ? CMD_ERRORS : code;
}

static int where(request *r)
{
    const char *line = arena_printf(&r->memory, "%s\n", cache_folder(r->cache));
    return cmd_print(str_of(line)) ? CMD_OK : CMD_ERRORS;
}

// ---- the command --------------------------------------------------------------------------------------------------------

typedef struct action {
    const char *name;
    int (*run)(request *r);
    const char *option;  // that it has for itself; NULL: none
} action;

// An option that would do nothing is a misunderstanding.
static const char *foreign_option(const request *r, const action *a)
{
    const char *given[] = {r->json ? "--json" : NULL, r->removes ? "--remove" : NULL, r->limit_bytes ? "--limit" : NULL};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i] && (!a->option || strcmp(given[i], a->option) != 0))
            return given[i];
    }
    return NULL;
}

static int run(request *r)
{
    static const action actions[] = {{"ls", list, "--json"}, {"verify", verify, "--remove"}, {"gc", collect, "--limit"},
                                     {"clear", clear, NULL}, {"where", where, NULL}};
    const char *why = NULL, *option;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, r->action) != 0)
            continue;
        option = foreign_option(r, &actions[i]);
        if (option) {
            fprintf(stderr, "hdsc cache: '%s' has no option %s\n", r->action, option);
            return CMD_USAGE;
        }
        r->cache = cache_open(r->folder, r->limit_bytes, &why);
        if (r->cache)
            return actions[i].run(r);
        fprintf(stderr, "hdsc: there is no cache: %s\n", why);
        return CMD_USAGE;
    }
    fprintf(stderr, "hdsc cache: there is no '%s'; expected ls, why, verify, gc, clear or where\n", r->action);
    return CMD_USAGE;
}

int cmd_cache(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "why") == 0)
        return cmd_cache_why(argc - 1, argv + 1);
    request r = {0};
    arena_init(&r.memory, &cmd_oom);
    const struct argp parser = {table, take, "ls|why|verify|gc|clear|where", doc, NULL, NULL, NULL};
    argp_parse(&parser, argc, argv, 0, NULL, &r);
    int code = run(&r);
    cache_close(r.cache);
    arena_free(&r.memory);
    return code;
}
