#include "pipeline/modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

// Where a file is: a folder on disk, or a folder of the library ("" is its root).
typedef struct origin {
    bool is_stdlib;
    const char *folder;
    bool is_program;
} origin;

void pl_finder_init(pl_finder *f, arena *a, src_map *sources)
{
    *f = (pl_finder){.arena = a, .sources = sources};
    map_init(&f->by_path, a);
    map_init(&f->origins, a);
    map_init(&f->by_name, a);
}

static origin *remember(pl_finder *f, const char *key, src_file *file, bool is_stdlib, const char *folder)
{
    origin *p = ARENA_NEW(f->arena, origin);
    *p = (origin){.is_stdlib = is_stdlib, .folder = folder};
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
    remember(f, canonical(f->arena, file->name), file, false, file_folder(f->arena, file->name));
}

void pl_finder_add_program(pl_finder *f, src_file *file)
{
    remember(f, canonical(f->arena, file->name), file, false, file_folder(f->arena, file->name))->is_program = true;
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

// A module is name.hds, or the folder name with an __init__.hds in it.
static src_file *from_folder(pl_finder *f, const char *folder, const char *name, str_buf *looked)
{
    const char *paths[2] = {
        *name ? file_join(f->arena, folder, arena_printf(f->arena, "%s.hds", name)) : NULL,
        file_join(f->arena, folder, *name ? arena_printf(f->arena, "%s/__init__.hds", name) : "__init__.hds"),
    };
    for (int i = 0; i < 2; i++) {
        if (!paths[i])
            continue;
        add_looked(looked, paths[i]);
        src_file *file = from_disk(f, paths[i], false, file_folder(f->arena, paths[i]));
        if (file)
            return file;
    }
    return NULL;
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

// The folder of the operators, looked for once. Messages do not name it: it is the last that is searched.
static src_file *from_operators(pl_finder *f, const char *name)
{
    str_buf unnamed;
    str_buf_init(&unnamed, f->arena);
    if (!f->operators)
        f->operators = pl_operator_folder(f->arena);
    if (!f->operators)
        f->operators = "";
    return *f->operators ? from_folder(f, f->operators, name, &unnamed) : NULL;
}

static src_file *absolute(pl_finder *f, const origin *p, const char *path, str_buf *looked)
{
    const char *in_library = stdlib_name(path), *name = slashed(f->arena, path);
    if (in_library)
        return from_stdlib(f, slashed(f->arena, in_library), looked);
    if (str_ends(str_of(path), STR(".hds"))) { // a file of the command line
        add_looked(looked, path);
        return from_disk(f, path, false, file_folder(f->arena, path));
    }
    bool is_program = p && p->is_program;
    src_file *known = map_get(&f->by_name, name, strlen(name)), *file = is_program ? known : NULL;
    if (!file && p && !p->is_stdlib)
        file = from_folder(f, p->folder, name, looked);
    for (int i = 0; !file && i < f->include_count; i++)
        file = from_folder(f, f->include_folders[i], name, looked);
    file = file ? file : from_operators(f, name);
    if (file && !known && !is_program)
        map_put(&f->by_name, name, strlen(name), file);
    return file;
}

src_file *pl_find_module(void *user, const char *path, int level, const src_file *importer, const char **looked)
{
    pl_finder *f = user;
    const origin *p = importer ? map_get_ptr(&f->origins, importer) : NULL;
    str_buf tried;
    str_buf_init(&tried, f->arena);
    src_file *file = NULL;
    if (level == 0)
        file = absolute(f, p, path, &tried);
    else if (p && p->is_stdlib)
        file = from_stdlib(f, slashed(f->arena, path), &tried);
    else
        file = relative_on_disk(f, p ? p->folder : ".", slashed(f->arena, path), level, &tried);
    if (looked)
        *looked = file || !tried.len ? NULL : str_text(&tried);
    return file;
}
