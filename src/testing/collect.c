// Which tests there are: files and folders of the command line, the tests in them, the filters.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "pipeline/weights.h"
#include "testing/testing_priv.h"

// ---- files ----------------------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *canonical(test_suite *s, const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? arena_strdup(&s->memory, real) : path;
}

static void cannot_read(test_suite *s, const char *path, int error)
{
    diag_report(&s->diags, HDS0490, (src_span){0, 0}, path, strerror(error));
}

// [name]: of the test that is asked for; NULL: all in the file.
static void add_file(test_suite *s, map *known, const char *path, const char *name)
{
    const char *key = canonical(s, path);
    test_file *file = map_get(known, key, strlen(key));
    if (!file) {
        file = ARENA_NEW(&s->memory, test_file);
        file->path = path;
        map_put(known, key, strlen(key), file);
        VEC_PUSH(&s->memory, &s->files, file);
    }
    if (name)
        VEC_PUSH(&s->memory, &file->names, name);
    else
        file->is_whole = true;
}

// Whether a line begins with a decorator that could be @test or @rewrite: other files are not worth compiling.
static bool has_tests(test_suite *s, const char *path)
{
    arena_mark mark = arena_mark_get(&s->memory);
    const char *error = NULL;
    str text;
    bool found = !file_read(&s->memory, path, &text, &error); // the file says later what is wrong with it
    for (size_t i = 0; !found && i < text.len; i++) {
        while (i < text.len && (text.at[i] == ' ' || text.at[i] == '\t'))
            i++;
        const char *end = i < text.len ? memchr(text.at + i, '\n', text.len - i) : NULL;
        size_t len = end ? (size_t)(end - text.at) - i : text.len - i;
        found = len && text.at[i] == '@' && (memmem(text.at + i, len, "test", 4) || memmem(text.at + i, len, "rewrite", 7));
        i += len;
    }
    arena_reset(&s->memory, mark);
    return found;
}

typedef VEC(const char *) names;

static bool read_folder(test_suite *s, const char *path, names *out)
{
    DIR *folder = opendir(path);
    if (!folder) {
        cannot_read(s, path, errno);
        return false;
    }
    for (const struct dirent *e = readdir(folder); e; e = readdir(folder))
        if (e->d_name[0] != '.')
            VEC_PUSH(&s->memory, out, arena_strdup(&s->memory, e->d_name));
    closedir(folder);
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, by_name);
    return true;
}

// All .hds files below, in order of name; hidden names and links to folders are passed over.
static bool add_folder(test_suite *s, map *known, const char *path)
{
    names found = {0};
    bool ok = read_folder(s, path, &found);
    for (size_t i = 0; i < found.len; i++) {
        const char *inner = strcmp(path, ".") == 0 ? found.at[i] : file_join(&s->memory, path, found.at[i]);
        struct stat info;
        if (lstat(inner, &info) != 0)
            continue;
        bool is_link = S_ISLNK(info.st_mode);
        if (is_link && stat(inner, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode) && !is_link)
            ok &= add_folder(s, known, inner);
        else if (S_ISREG(info.st_mode) && str_ends(str_of(inner), STR(".hds")) && has_tests(s, inner))
            add_file(s, known, inner, NULL);
    }
    return ok;
}

static bool find_files(test_suite *s)
{
    static const char *const here[] = {"."};
    const test_options *o = s->options;
    int count = o->path_count ? o->path_count : 1;
    map known;
    map_init(&known, &s->memory);
    bool ok = true;
    for (int i = 0; i < count; i++) {
        const char *path = (o->path_count ? o->paths : here)[i];
        struct stat info;
        const char *colons = strstr(path, "::");
        if (stat(path, &info) != 0 && colons) {
            add_file(s, &known, arena_strndup(&s->memory, path, (size_t)(colons - path)), colons + 2);
        } else if (stat(path, &info) != 0) {
            cannot_read(s, path, errno);
            ok = false;
        } else if (S_ISDIR(info.st_mode)) {
            ok &= add_folder(s, &known, path);
        } else {
            add_file(s, &known, path, NULL);
        }
    }
    return ok;
}

// ---- the tests of a file -----------------------------------------------------------------------------------------

tc_options test_tc_options(pl_unit *u)
{
    const pl_options *o = u->options;
    return (tc_options){
        .defines = o->defines,
        .define_count = o->define_count,
        .arch = u->arch,
        .step_budget = o->step_budget,
        .find_module = pl_find_module,
        .name_module = pl_name_module,
        .find_weights = pl_find_weights,
        .find_user = &u->finder,
    };
}

static void list_tests(pl_unit *u)
{
    test_file *file = (test_file *)(void *)((char *)u - offsetof(test_file, unit));
    const char *error = NULL;
    if (!file_read(&u->memory, file->path, &u->input, &error)) {
        diag_report(&u->diags, HDS0490, (src_span){0, 0}, file->path, error);
        return;
    }
    u->file = src_add(&u->sources, file->path, u->input);
    if (!u->file) {
        diag_report(&u->diags, HDS0492, (src_span){0, 0}, file->path);
        return;
    }
    pl_finder_add_main(&u->finder, u->file);
    file->define_used = ARENA_ARRAY(&u->memory, bool, u->options->define_count + 1);
    tc_options options = test_tc_options(u);
    tc_list_tests(&u->memory, &u->syms, &u->diags, u->file, &options, &file->tests, file->define_used);
    if (!u->diags.shown_errors)
        test_list_rewrites(u, &file->rewrites);
}

static void list_file(void *user, int i)
{
    test_suite *s = user;
    test_file *file = s->files.at[i];
    const pl_options *o = s->options->compile;
    pl_unit_init(&file->unit, o, o->archs[0], pl_now_us());
    file->unit.input_name = file->path;
    pl_unit_run(&file->unit, list_tests);
}

static bool is_chosen(const test_options *o, const char *name)
{
    for (int i = 0; i < o->filter_count; i++)
        if (strstr(name, o->filters[i]))
            return true;
    return !o->filter_count;
}

// "scales" chooses all of its cases, "scales[T=f16, n=1]" one.
static bool is_named(const test_file *file, const char *title)
{
    for (size_t i = 0; i < file->names.len; i++) {
        size_t len = strlen(file->names.at[i]);
        if (strncmp(title, file->names.at[i], len) == 0 && (!title[len] || title[len] == '['))
            return true;
    }
    return file->is_whole;
}

// A name that no test has is a mistake, as a path is that is not there.
static bool check_names(test_suite *s, const test_file *file)
{
    bool ok = !file->unit.diags.shown_errors;
    for (size_t i = 0; ok && i < file->names.len; i++) {
        const test_file one = {.names = {(const char **)&file->names.at[i], 1, 1}};
        bool found = false;
        for (size_t k = 0; k < file->tests.len; k++)
            found |= is_named(&one, file->tests.at[k].title);
        for (size_t k = 0; k < file->rewrites.len; k++)
            found |= is_named(&one, file->rewrites.at[k].name);
        if (found)
            continue;
        diag *d = diag_report(&s->diags, HDS0653, (src_span){0, 0},
                              arena_printf(&s->memory, "%s::%s", file->path, file->names.at[i]));
        diag_help(d, "'hdsc test --list %s' shows the names", file->path);
        ok = false;
    }
    return ok || file->unit.diags.shown_errors;
}

static test_case *new_case(test_suite *s, test_file *file, const char *name)
{
    test_case *c = ARENA_NEW(&s->memory, test_case);
    c->file = file;
    c->name = name;
    VEC_PUSH(&s->memory, &s->cases, c);
    return c;
}

// NULL: the command line chooses others.
static test_case *add_chosen(test_suite *s, test_file *file, const char *title, src_span span)
{
    const char *name = arena_printf(&s->memory, "%s::%s", file->path, title);
    if (!is_named(file, title))
        return NULL;
    if (!is_chosen(s->options, name)) {
        s->unchosen++;
        return NULL;
    }
    test_case *c = new_case(s, file, name);
    c->line = src_location_of(&file->unit.sources, span.begin).line;
    return c;
}

// What is wrong with a file is a failure of its own, whatever the filters.
static void add_cases(test_suite *s, test_file *file)
{
    if (file->unit.diags.shown_errors || file->unit.status == PL_NO_MEMORY)
        new_case(s, file, file->path);
    for (size_t i = 0; i < file->tests.len; i++) {
        const tc_test *test = &file->tests.at[i];
        test_case *c = add_chosen(s, file, test->title, test->span);
        if (c)
            c->test = test;
    }
    for (size_t i = 0; i < file->rewrites.len; i++) {
        const test_rewrite *rewrite = &file->rewrites.at[i];
        test_case *c = add_chosen(s, file, rewrite->name, rewrite->span);
        if (c)
            c->rewrite = rewrite;
    }
}

// A define must mean something to one of the files at least.
static bool check_defines(test_suite *s)
{
    const pl_options *o = s->options->compile;
    bool ok = true;
    for (int i = 0; i < o->define_count; i++) {
        bool used = false;
        for (size_t k = 0; k < s->files.len; k++)
            used |= s->files.at[k]->define_used && s->files.at[k]->define_used[i];
        if (!used)
            diag_report(&s->diags, HDS0235, (src_span){0, 0}, o->defines[i].name);
        ok &= used;
    }
    return ok;
}

static bool check_cases(test_suite *s)
{
    const test_options *o = s->options;
    if (s->cases.len)
        return check_defines(s);
    if (s->unchosen) {
        diag *d = diag_report(&s->diags, HDS0654, (src_span){0, 0}, o->filters[0], s->unchosen);
        diag_help(d, "'hdsc test --list' shows the names");
    } else {
        diag *d = diag_report(&s->diags, HDS0653, (src_span){0, 0}, o->path_count ? o->paths[0] : ".");
        diag_help(d, "a test is a function under @test or @rewrite in an .hds file");
    }
    return false;
}

bool test_collect(test_suite *s)
{
    if (!find_files(s))
        return false;
    int count = (int)s->files.len;
    test_pool pool;
    test_pool_start(&pool, ARENA_ARRAY(&s->memory, bool, count + 1), count, test_jobs(s->options, count), list_file, s);
    test_pool_join(&pool);
    bool ok = true;
    for (int i = 0; i < count; i++) {
        ok &= check_names(s, s->files.at[i]);
        add_cases(s, s->files.at[i]);
    }
    return ok && check_cases(s);
}
