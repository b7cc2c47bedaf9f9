#include "pipeline/modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

// Where a file is: a folder on disk, or a folder of the library ("" is its root). [is_program]: it was made of the main
// file.
typedef struct origin {
    bool is_stdlib;
    const char *path, *folder; // [path]: the resolved one
    bool is_main, is_program;
} origin;

void pl_finder_init(pl_finder *f, arena *a, src_map *sources)
{
    *f = (pl_finder){.arena = a, .sources = sources};
    map_init(&f->by_path, a);
    map_init(&f->origins, a);
    map_init(&f->in_folders, a);
    map_init(&f->names, a);
    map_init(&f->aliases, a);
}

static origin *remember(pl_finder *f, const char *key, src_file *file, bool is_stdlib, const char *folder)
{
    origin *p = ARENA_NEW(f->arena, origin);
    *p = (origin){.is_stdlib = is_stdlib, .path = key, .folder = folder};
    map_put(&f->by_path, key, strlen(key), file);
    map_put_ptr(&f->origins, file, p);
    return p;
}

static src_file *add_source(pl_finder *f, const char *name, str text)
{
    src_file *file = kept_add(f->kept, f->sources, name, text);
    return file ? file : src_add(f->sources, name, text);
}

void pl_finder_keep(const pl_finder *f, kept_modules *kept, const src_file *main)
{
    for (map_entry *e = map_first(&f->by_path); e; e = map_next(e)) {
        const src_file *file = map_value(e);
        if (file != main && file->base < SRC_KEPT_BASE)
            kept_note(kept, file->name, file->text);
    }
}

bool pl_finder_is_on_disk(const pl_finder *f, const src_file *file)
{
    const origin *p = map_get_ptr(&f->origins, file);
    return p && (!p->is_stdlib || f->stdlib_folder);
}

const char *pl_finder_folder(const pl_finder *f, const src_file *file)
{
    const origin *p = map_get_ptr(&f->origins, file);
    return p && !p->is_stdlib ? p->folder : NULL;
}

// Two ways to write a path are one file.
static const char *canonical(arena *a, const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? arena_strdup(a, real) : path;
}

void pl_finder_add_main(pl_finder *f, src_file *file)
{
    f->main_folder = file_folder(f->arena, file->name);
    remember(f, canonical(f->arena, file->name), file, false, f->main_folder)->is_main = true;
}

void pl_finder_add_program(pl_finder *f, src_file *file)
{
    if (!f->main_folder)
        f->main_folder = file_folder(f->arena, file->name);
    remember(f, file->name, file, false, f->main_folder)->is_program = true;
}

// "a.b" -> "a/b"
static const char *slashed(arena *a, const char *dotted)
{
    char *path = arena_strdup(a, dotted);
    for (char *c = path; *c; c++) {
        if (*c == '.')
            *c = '/';
    }
    return path;
}

static src_file *read_module(pl_finder *f, const char *path, bool is_stdlib, const char *folder)
{
    const char *key = canonical(f->arena, path), *error = NULL;
    src_file *file = map_get(&f->by_path, key, strlen(key));
    if (file)
        return file;
    str text;
    if (!file_read(f->arena, path, &text, &error))
        return NULL;
    file = add_source(f, path, text);
    if (file)
        remember(f, key, file, is_stdlib, folder);
    return file;
}

void pl_finder_note(pl_finder *f, const char *path, const src_file *file)
{
    for (size_t i = 0; i < f->tried.len; i++) {
        if (strcmp(f->tried.at[i].path, path) == 0)
            return;
    }
    VEC_PUSH(f->arena, &f->tried, ((pl_tried){path, file}));
}

static src_file *from_disk(pl_finder *f, const char *path, bool is_stdlib, const char *folder)
{
    src_file *file = read_module(f, path, is_stdlib, folder);
    const origin *p = file ? map_get_ptr(&f->origins, file) : NULL;
    if (!p || !p->is_main) // which was given, and may be nowhere on disk
        pl_finder_note(f, path, file);
    return file;
}

static src_file *from_table(pl_finder *f, const char *name, const char *folder)
{
    const char *shown = arena_printf(f->arena, "stdlib/%s", name);
    const char *key = arena_printf(f->arena, "<%s>", shown);
    src_file *file = map_get(&f->by_path, key, strlen(key));
    for (const embedded_text *e = pl_stdlib; !file && e->name; e++) {
        if (strcmp(e->name, name) != 0)
            continue;
        file = add_source(f, shown, str_of(e->text));
        if (file) {
            file->is_builtin = true;
            remember(f, key, file, true, folder);
        }
    }
    return file;
}

static void add_looked(str_buf *looked, const char *path)
{
    str_addf(looked, "%s'%s'", looked->len ? ", " : "", path);
}

// The folders of the library. They sort its files for readers; a module is hidet.lang.NAME in any of them.
static const char *const library_folders[] = {"language", "hardware", "schedules", "compat"};

static src_file *in_library_folder(pl_finder *f, const char *folder, const char *file_name, str_buf *looked)
{
    const char *name = arena_printf(f->arena, "%s/%s", folder, file_name);
    if (!f->stdlib_folder)
        return from_table(f, name, "");
    const char *path = file_join(f->arena, f->stdlib_folder, name);
    add_looked(looked, path);
    return from_disk(f, path, true, "");
}

static src_file *from_text(pl_finder *f, const char *shown, const char *text)
{
    src_file *file = map_get(&f->by_path, shown, strlen(shown));
    if (!file && (file = src_add(f->sources, shown, str_of(text))))
        remember(f, shown, file, true, "");
    return file;
}

// What a table of hdsc tune replaces; NULL: it is another module, or nothing replaces it.
static src_file *in_place_of(pl_finder *f, const char *name, str_buf *looked)
{
    bool is_table = strcmp(name, "own_choices") == 0;
    if (is_table && f->tuned_text)
        return from_text(f, "<choices that are tried>", f->tuned_text);
    if (!is_table || !f->tuned)
        return NULL;
    add_looked(looked, f->tuned);
    return from_disk(f, f->tuned, false, file_folder(f->arena, f->tuned));
}

// [name]: "mma", a module of the library.
static src_file *from_stdlib(pl_finder *f, const char *name, str_buf *looked)
{
    src_file *other = in_place_of(f, name, looked);
    if (other || (f->tuned && strcmp(name, "own_choices") == 0))
        return other;
    const char *file_name = arena_printf(f->arena, "%s.hds", name);
    src_file *file = NULL;
    if (!f->stdlib_folder)
        add_looked(looked, arena_printf(f->arena, "stdlib/*/%s", file_name));
    for (size_t i = 0; !file && i < sizeof library_folders / sizeof *library_folders; i++)
        file = in_library_folder(f, library_folders[i], file_name, looked);
    return file;
}

// The answer to a search of a folder. [file]: NULL: it has no such module.
typedef struct in_folder {
    src_file *file;
} in_folder;

// A module is name.hds, or the folder name with an __init__.hds in it. Each folder is asked for a name once.
static src_file *from_folder(pl_finder *f, const char *folder, const char *name, str_buf *looked)
{
    const char *paths[2] = {
        *name ? file_join(f->arena, folder, arena_printf(f->arena, "%s.hds", name)) : NULL,
        file_join(f->arena, folder, *name ? arena_printf(f->arena, "%s/__init__.hds", name) : "__init__.hds"),
    };
    in_folder *answer = map_get(&f->in_folders, paths[1], strlen(paths[1]));
    bool is_known = answer != NULL;
    if (!is_known)
        map_put(&f->in_folders, paths[1], strlen(paths[1]), answer = ARENA_NEW(f->arena, in_folder));
    for (int i = 0; i < 2 && !answer->file; i++) {
        if (!paths[i])
            continue;
        add_looked(looked, paths[i]);
        if (!is_known)
            answer->file = from_disk(f, paths[i], false, file_folder(f->arena, paths[i]));
    }
    return answer->file;
}

static src_file *relative_on_disk(pl_finder *f, const char *folder, const char *name, int level, str_buf *looked)
{
    for (int i = 1; i < level; i++)
        folder = file_join(f->arena, folder, "..");
    return from_folder(f, folder, name, looked);
}

// The part of "hidet.lang.mma" below the library: "mma"; "lang" for "hidet.lang" itself; NULL for other names.
static const char *stdlib_name(const char *path)
{
    if (strcmp(path, "hidet.lang") == 0)
        return "lang";
    return strncmp(path, "hidet.lang.", 11) == 0 ? path + 11 : NULL;
}

// The file that this code was loaded from: hdsc, libhds.so, or the program that libhds is linked into. NULL: unknown.
static const char *own_file(arena *a)
{
    Dl_info info;
    char path[PATH_MAX];
    bool is_found = dladdr((const void *)pl_stdlib, &info) && info.dli_fname && strchr(info.dli_fname, '/');
    return realpath(is_found ? info.dli_fname : "/proc/self/exe", path) ? arena_strdup(a, path) : NULL;
}

const char *pl_operator_folder(arena *a)
{
    enum { FOLDERS_UP = 5 };
    const char *folder = own_file(a);
    for (int i = 0; folder && i < FOLDERS_UP && strcmp(folder, "/") != 0; i++) {
        folder = file_folder(a, folder);
        const char *installed = file_join(a, folder, "share/hdsc/ops"), *sources = file_join(a, folder, "ops");
        if (file_exists(file_join(a, installed, "elementwise.hds")))
            return installed;
        if (file_exists(file_join(a, sources, "elementwise.hds")))
            return sources;
    }
    return NULL;
}

// The folder of the operators, looked for once, as -I calls it if it does. NULL: there is none.
static const char *operators_of(pl_finder *f)
{
    if (f->operators)
        return *f->operators ? f->operators : NULL;
    f->operators = pl_operator_folder(f->arena);
    if (!f->operators)
        f->operators = "";
    f->operators_path = canonical(f->arena, f->operators);
    for (int i = 0; *f->operators && i < f->include_count; i++) {
        if (strcmp(canonical(f->arena, f->include_folders[i]), f->operators_path) == 0)
            f->operators = f->include_folders[i];
    }
    return *f->operators ? f->operators : NULL;
}

// Whether it is a file of the operators.
static bool is_in_operators(pl_finder *f, const origin *p)
{
    size_t len = operators_of(f) ? strlen(f->operators_path) : 0;
    return len && strncmp(p->path, f->operators_path, len) == 0 && p->path[len] == '/';
}

// Messages do not name the folder: it is the last that is searched.
static src_file *from_operators(pl_finder *f, const char *name)
{
    str_buf unnamed;
    str_buf_init(&unnamed, f->arena);
    return operators_of(f) ? from_folder(f, f->operators, name, &unnamed) : NULL;
}

static src_file *from_include_folders(pl_finder *f, const char *name, str_buf *looked)
{
    src_file *file = NULL;
    for (int i = 0; !file && i < f->include_count; i++)
        file = from_folder(f, f->include_folders[i], name, looked);
    return file;
}

// What the library imports is the library's, whatever else has such a name.
static src_file *in_library(pl_finder *f, const char *name, str_buf *looked)
{
    src_file *file = from_operators(f, name);
    return file ? file : from_include_folders(f, name, looked);
}

// What a name means in a program.
static src_file *in_program(pl_finder *f, const char *name, str_buf *looked)
{
    src_file *file = in_library(f, name, looked);
    return file || !f->main_folder ? file : from_folder(f, f->main_folder, name, looked);
}

static src_file *absolute(pl_finder *f, const origin *p, const char *path, bool is_program, str_buf *looked)
{
    const char *lang = stdlib_name(path), *name = slashed(f->arena, path);
    if (lang)
        return from_stdlib(f, slashed(f->arena, lang), looked);
    if (str_ends(str_of(path), STR(".hds"))) { // a file of the command line
        add_looked(looked, path);
        return from_disk(f, path, false, file_folder(f->arena, path));
    }
    if (is_program)
        return in_program(f, name, looked);
    src_file *file = p && !p->is_stdlib ? from_folder(f, p->folder, name, looked) : NULL;
    if (file)
        return file;
    if (p && (p->is_stdlib || is_in_operators(f, p)))
        return in_library(f, name, looked);
    file = from_include_folders(f, name, looked);
    return file ? file : from_operators(f, name);
}

src_file *pl_find_module(void *user, const char *path, int level, const src_file *importer, const char **looked)
{
    pl_finder *f = user;
    const origin *p = importer ? map_get_ptr(&f->origins, importer) : NULL;
    const char *folder = p ? p->folder : f->main_folder;
    bool is_program = importer && (!p || p->is_program);
    src_file *file = is_program && level == 1 ? map_get(&f->aliases, path, strlen(path)) : NULL;
    str_buf tried;
    str_buf_init(&tried, f->arena);
    if (file)
        return file;
    if (level == 0)
        file = absolute(f, p, path, is_program, &tried);
    else if (p && p->is_stdlib)
        file = from_stdlib(f, slashed(f->arena, path), &tried);
    else
        file = relative_on_disk(f, folder ? folder : ".", slashed(f->arena, path), level, &tried);
    if (looked)
        *looked = file || !tried.len ? NULL : str_text(&tried);
    return file;
}

// ---- names of modules --------------------------------------------------------------------------------------------

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// "sub/inner" for the file sub/inner.hds below [folder], "sub" for sub/__init__.hds; NULL: it is not below, or no name
// leads there.
static const char *name_below(pl_finder *f, const char *folder, const char *path)
{
    const char *real = canonical(f->arena, folder);
    size_t skip = strcmp(real, "/") == 0 ? 0 : strlen(real);
    if (strncmp(path, real, skip) != 0 || path[skip] != '/' || !str_ends(str_of(path), STR(".hds")))
        return NULL;
    str rest = {path + skip + 1, strlen(path) - skip - 1 - strlen(".hds")};
    if (str_ends(rest, STR("/__init__")))
        rest.len -= strlen("/__init__");
    for (size_t i = 0; i < rest.len; i++) {
        bool is_first = !i || rest.at[i - 1] == '/';
        if (!is_letter(rest.at[i]) && (is_first || (!is_digit(rest.at[i]) && rest.at[i] != '/')))
            return NULL;
    }
    return rest.len ? arena_strndup(f->arena, rest.at, rest.len) : NULL;
}

// "sub/inner" -> "sub.inner"
static const char *dotted(arena *a, const char *slashed_name)
{
    char *name = arena_strdup(a, slashed_name);
    for (char *c = name; *c; c++) {
        if (*c == '/')
            *c = '.';
    }
    return name;
}

// Of a file that no name leads to, such as standard input or my-model.hds: one that the programs of this unit know.
static const char *alias(pl_finder *f, const src_file *file)
{
    const char *slash = strrchr(file->name, '/'), *base = slash ? slash + 1 : file->name;
    size_t len = str_ends(str_of(base), STR(".hds")) ? strlen(base) - strlen(".hds") : strlen(base);
    char *name = arena_printf(f->arena, "_%.*s", (int)len, base);
    str_buf unnamed;
    str_buf_init(&unnamed, f->arena);
    for (char *c = name; *c; c++) {
        if (!is_letter(*c) && !is_digit(*c))
            *c = '_';
    }
    while (map_get(&f->aliases, name, strlen(name)) ||
           (f->main_folder && from_folder(f, f->main_folder, name, &unnamed)))
        name = arena_printf(f->arena, "%s_", name);
    map_put(&f->aliases, name, strlen(name), (void *)file);
    return arena_printf(f->arena, ".%s", name);
}

static const char *find_name(pl_finder *f, const origin *p, const src_file *file)
{
    const char *slash = strrchr(file->name, '/'), *base = slash ? slash + 1 : file->name, *name;
    const char *path = arena_printf(f->arena, "%s/%s", canonical(f->arena, p->folder), base);
    str_buf unnamed;
    str_buf_init(&unnamed, f->arena);
    if (is_in_operators(f, p) && (name = name_below(f, f->operators, path)) && in_program(f, name, &unnamed) == file)
        return dotted(f->arena, name);
    for (int i = 0; i < f->include_count; i++) {
        if ((name = name_below(f, f->include_folders[i], path)) && in_program(f, name, &unnamed) == file)
            return dotted(f->arena, name);
    }
    name = f->main_folder ? name_below(f, f->main_folder, path) : NULL;
    if (name && in_program(f, name, &unnamed) == file)
        return dotted(f->arena, name);
    if (name && from_folder(f, f->main_folder, name, &unnamed) == file)
        return arena_printf(f->arena, ".%s", dotted(f->arena, name));
    return alias(f, file);
}

const char *pl_name_module(void *user, const src_file *file)
{
    pl_finder *f = user;
    const origin *p = map_get_ptr(&f->origins, file);
    const char *name = map_get_ptr(&f->names, file);
    if (!name && p && !p->is_stdlib) {
        name = find_name(f, p, file);
        map_put_ptr(&f->names, (void *)file, (void *)name);
    }
    return name;
}
