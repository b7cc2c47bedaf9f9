// What C compilers and linkers say that they read.

#include "fixture.h"

#include "toolchain/cc.h"

static void expect(const tool_cc_reads *reads, const char *const *paths, size_t count, bool is_unknown)
{
    assert_int_equal(reads->at.len, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(reads->at.at[i], paths[i]);
    assert_int_equal(reads->is_unknown, is_unknown);
}

// What is not absolute is in the folder of the compilation.
static void rules_name_headers(void **state)
{
    static const char *const paths[] = {"/usr/include/stdc-predef.h", "/usr/include/stdint.h"};
    tool_cc_reads reads = {0};
    arena a;
    (void)state;
    arena_init(&a, NULL);
    tool_cc_add_rule(&a, STR("hds/object: hds/k.c /usr/include/stdc-predef.h \\\n hds/runtime.h /usr/include/stdint.h \\\n"
                             "  /usr/include/stdint.h"), &reads);
    expect(&reads, paths, 2, false);
    tool_cc_add_rule(&a, STR("no rule"), &reads);
    tool_cc_add_rule(&a, STR("object:"), &reads);
    tool_cc_add_rule(&a, STR(""), &reads);
    expect(&reads, paths, 2, false);
    arena_free(&a);
}

// Another spelling of the name would be looked for in vain.
static void names_that_make_writes_in_another_way_are_unknown(void **state)
{
    static const char *const rules[] = {"k: /usr/my\\ headers/a.h", "k: /usr/$$/a.h", "k: /usr/a\\#.h"};
    arena a;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        tool_cc_reads reads = {0};
        tool_cc_add_rule(&a, str_of(rules[i]), &reads);
        assert_true(reads.is_unknown);
    }
    arena_free(&a);
}

static void traces_name_files_and_members(void **state)
{
    static const char *const paths[] = {"/usr/lib/crti.o", "/usr/lib/libc.a"};
    tool_cc_reads reads = {0};
    arena a;
    (void)state;
    arena_init(&a, NULL);
    tool_cc_add_trace(&a, STR("/usr/lib/crti.o\nk.o\nlibhdsrt.so\n/usr/lib/libc.a(open.o)\n/usr/lib/libc.a(read.o)\n\n/usr/lib/crti.o"),
                      &reads);
    expect(&reads, paths, 2, false);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_name_headers),
        cmocka_unit_test(names_that_make_writes_in_another_way_are_unknown),
        cmocka_unit_test(traces_name_files_and_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
