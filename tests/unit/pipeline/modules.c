// The module finder: where names lead, and that a file is loaded once, whatever modules import it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "pipeline/modules.h"

typedef struct fixture {
    arena memory;
    src_map sources;
    pl_finder finder;
    src_file *main_file;
    char folder[32];
} fixture;

static void write_file(fixture *f, const char *name, const char *text)
{
    const char *error;
    assert_true(file_write(&f->memory, arena_printf(&f->memory, "%s/%s", f->folder, name), str_of(text), &error));
}

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.folder = "/tmp/hds-modules-XXXXXX"};
    arena_init(&f.memory, NULL);
    src_map_init(&f.sources, &f.memory);
    pl_finder_init(&f.finder, &f.memory, &f.sources);
    assert_non_null(mkdtemp(f.folder));
    assert_int_equal(mkdir(arena_printf(&f.memory, "%s/sub", f.folder), 0777), 0);
    write_file(&f, "main.hds", "import other");
    write_file(&f, "other.hds", "other");
    write_file(&f, "sub/__init__.hds", "package");
    write_file(&f, "sub/inner.hds", "inner");
    f.main_file = src_add(&f.sources, arena_printf(&f.memory, "%s/main.hds", f.folder), STR("import other"));
    pl_finder_add_main(&f.finder, f.main_file);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"sub/inner.hds", "sub/__init__.hds", "other.hds", "main.hds", "sub", ""};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(arena_printf(&f->memory, "%s/%s", f->folder, names[i]));
    arena_free(&f->memory);
    return 0;
}

static void assert_found(src_file *file, const char *text)
{
    assert_non_null(file);
    assert_int_equal(file->text.len, strlen(text));
    assert_memory_equal(file->text.at, text, file->text.len);
}

static void finds_beside_the_importer(void **state)
{
    fixture *f = *state;
    src_file *other = pl_find_module(&f->finder, "other", 0, f->main_file, NULL);
    assert_found(other, "other");
    assert_ptr_equal(pl_find_module(&f->finder, "other", 1, f->main_file, NULL), other);
    assert_found(pl_find_module(&f->finder, "sub.inner", 0, f->main_file, NULL), "inner");
}

static void finds_packages_and_their_parts(void **state)
{
    fixture *f = *state;
    src_file *package = pl_find_module(&f->finder, "sub", 0, f->main_file, NULL);
    assert_found(package, "package");
    src_file *inner = pl_find_module(&f->finder, "inner", 1, package, NULL);
    assert_found(inner, "inner");
    assert_found(pl_find_module(&f->finder, "other", 2, inner, NULL), "other");
    assert_ptr_equal(pl_find_module(&f->finder, "", 1, inner, NULL), package);
}

static void main_file_is_one_file(void **state)
{
    fixture *f = *state;
    src_file *other = pl_find_module(&f->finder, "other", 0, f->main_file, NULL);
    assert_ptr_equal(pl_find_module(&f->finder, "main", 0, other, NULL), f->main_file);
}

static void finds_in_include_folders(void **state)
{
    fixture *f = *state;
    const char *folder = arena_printf(&f->memory, "%s/sub", f->folder);
    assert_null(pl_find_module(&f->finder, "inner", 0, f->main_file, NULL));
    f->finder.include_folders = &folder;
    f->finder.include_count = 1;
    assert_found(pl_find_module(&f->finder, "inner", 0, f->main_file, NULL), "inner");
}

static void finds_the_library(void **state)
{
    fixture *f = *state;
    src_file *lang = pl_find_module(&f->finder, "hidet.lang", 0, f->main_file, NULL);
    src_file *cuda = pl_find_module(&f->finder, "hidet.lang.cuda", 0, f->main_file, NULL);
    assert_non_null(lang);
    assert_string_equal(lang->name, "stdlib/language/lang.hds");
    assert_string_equal(cuda->name, "stdlib/hardware/cuda.hds");
    // From inside the library, and never out of it.
    assert_ptr_equal(pl_find_module(&f->finder, "cuda", 1, lang, NULL), cuda);
    assert_null(pl_find_module(&f->finder, "other", 2, lang, NULL));
    assert_null(pl_find_module(&f->finder, "other", 0, lang, NULL));
}

static void finds_what_stands_beside_the_importer(void **state)
{
    fixture *f = *state;
    write_file(f, "sub/other.hds", "another");
    src_file *inner = pl_find_module(&f->finder, "sub.inner", 0, f->main_file, NULL);
    src_file *other = pl_find_module(&f->finder, "other", 0, f->main_file, NULL);
    src_file *another = pl_find_module(&f->finder, "other", 0, inner, NULL);
    assert_found(other, "other");
    assert_found(another, "another");
    assert_ptr_equal(pl_find_module(&f->finder, "sub.other", 0, f->main_file, NULL), another);
    assert_ptr_equal(pl_find_module(&f->finder, "other", 0, f->main_file, NULL), other);
    remove(arena_printf(&f->memory, "%s/sub/other.hds", f->folder));
}

// The operators are those in the folder sub.
static void library_means_the_library(void **state)
{
    fixture *f = *state;
    write_file(f, "sub/other.hds", "of the library");
    f->finder.include_folders = &(const char *){f->folder};
    f->finder.include_count = 1;
    f->finder.operators = arena_printf(&f->memory, "%s/sub", f->folder);
    f->finder.operators_path = f->finder.operators;
    src_file *lang = pl_find_module(&f->finder, "hidet.lang", 0, f->main_file, NULL);
    src_file *inner = pl_find_module(&f->finder, "inner", 0, f->main_file, NULL);
    assert_found(pl_find_module(&f->finder, "other", 0, f->main_file, NULL), "other");
    assert_found(pl_find_module(&f->finder, "other", 0, lang, NULL), "of the library");
    assert_found(pl_find_module(&f->finder, "other", 0, inner, NULL), "of the library");
    assert_ptr_equal(pl_find_module(&f->finder, "main", 0, inner, NULL), f->main_file);
    remove(arena_printf(&f->memory, "%s/sub/other.hds", f->folder));
}

static void assert_named(fixture *f, const src_file *program, src_file *file, const char *expected)
{
    const char *name = pl_name_module(&f->finder, file);
    bool is_relative = expected[0] == '.';
    assert_string_equal(name, expected);
    assert_ptr_equal(pl_find_module(&f->finder, name + is_relative, is_relative, program, NULL), file);
}

static void names_lead_programs_back(void **state)
{
    fixture *f = *state;
    src_file *program = src_add(&f->sources, "program", STR("")), *unknown = src_add(&f->sources, "<graph>", STR(""));
    src_file *typed = src_add(&f->sources, "<stdin>", STR(""));
    write_file(f, "sub/other.hds", "of the library");
    f->finder.operators = arena_printf(&f->memory, "%s/sub", f->folder);
    f->finder.operators_path = f->finder.operators;
    pl_finder_add_program(&f->finder, program);
    src_file *other = pl_find_module(&f->finder, "other", 0, f->main_file, NULL);
    src_file *inner = pl_find_module(&f->finder, "sub.inner", 0, f->main_file, NULL);
    assert_named(f, program, f->main_file, "main");
    assert_named(f, program, other, ".other");
    assert_named(f, unknown, other, ".other");
    assert_named(f, program, inner, "inner");
    assert_named(f, program, pl_find_module(&f->finder, "other", 0, inner, NULL), "other");
    assert_null(pl_name_module(&f->finder, pl_find_module(&f->finder, "hidet.lang", 0, inner, NULL)));
    pl_finder_add_main(&f->finder, typed);
    assert_named(f, program, typed, ".__stdin_");
    remove(arena_printf(&f->memory, "%s/sub/other.hds", f->folder));
}

static void says_where_it_looked(void **state)
{
    fixture *f = *state;
    const char *looked = NULL;
    assert_null(pl_find_module(&f->finder, "no.such", 0, f->main_file, &looked));
    assert_non_null(strstr(looked, "/no/such.hds', '"));
    assert_non_null(strstr(looked, "/no/such/__init__.hds'"));
    assert_null(pl_find_module(&f->finder, "hidet.lang.no_such", 0, f->main_file, &looked));
    assert_string_equal(looked, "'stdlib/*/no_such.hds'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_beside_the_importer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_packages_and_their_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(main_file_is_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_in_include_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_the_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_what_stands_beside_the_importer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(library_means_the_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_lead_programs_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_where_it_looked, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
