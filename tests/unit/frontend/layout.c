// The layout filter: lines, blocks, brackets, continuation, f-strings, soft keywords.
#include "frontend_test.h"

// Kinds of all tokens in [text], between blanks.
static const char *kinds(fixture *f, str text)
{
    fixture_open(f);
    lex_state *s = arena_alloc(&f->memory, sizeof *s);
    lex_begin(s, &f->px, fixture_file(f, text));
    str_buf out;
    str_buf_init(&out, &f->memory);
    lex_token t;
    while ((t = lex_next(s)).kind)
        str_addf(&out, "%s%s", out.len ? " " : "", lex_kind_name(t.kind));
    return out.at ? str_text(&out) : "";
}

typedef struct layout_case {
    const char *text;
    const char *kinds;
    const char *codes;
} layout_case;

static void check_cases(const layout_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture f;
        assert_string_equal(kinds(&f, str_of(cases[i].text)), cases[i].kinds);
        assert_string_equal(fixture_codes(&f), cases[i].codes);
        fixture_close(&f);
    }
}
#define CHECK_CASES(cases) check_cases((cases), sizeof(cases) / sizeof *(cases))

static void lines_and_blank_lines(void **state)
{
    (void)state;
    static const layout_case cases[] = {
        {"", "", ""},
        {"\n\n  \n# only a comment\n", "", ""},
        {"a\n", "name newline", ""},
        {"a", "name newline", ""},
        {"a  # end", "name newline", ""},
        {"a\r\nb\rc\n", "name newline name newline name newline", ""},
        {"\n\n  # x\na\n\n\n", "name newline", ""},
        {"\xef\xbb\xbf"
         "a\n",
         "name newline", ""},
        {"a; b;\n", "name ; name ; newline", ""},
    };
    CHECK_CASES(cases);
}

static void blocks(void **state)
{
    (void)state;
    static const layout_case cases[] = {
        {"if a:\n  b\nc\n", "if name : newline indent name newline dedent name newline", ""},
        {"if a:\n  b", "if name : newline indent name newline dedent", ""},
        {"if a:\n\n# c\n    # d\n  b\n # e\nc\n", "if name : newline indent name newline dedent name newline", ""},
        {"if a:\n  if b:\n    c\nd\n",
         "if name : newline indent if name : newline indent name newline dedent dedent name newline", ""},
        {"if a:\n  if b:\n    c", "if name : newline indent if name : newline indent name newline dedent dedent", ""},
        {"if a:\n\tb\n        c\n", "if name : newline indent name newline name newline dedent", "HDS0010"},
        {"if a:\n\tb\n\tc\n", "if name : newline indent name newline name newline dedent", ""},
        {"if a:\n \tb\n \tc\n", "if name : newline indent name newline name newline dedent", ""},
        {"if a:\n\f  b\n  c\n", "if name : newline indent name newline name newline dedent", ""},
        {"if a:\n    b\n  c\nd\n", "if name : newline indent name newline name newline dedent name newline", "HDS0012"},
        {"if a:\nb\n", "if name : newline indent pass newline dedent name newline", "HDS0013"},
        {"if a:", "if name : newline indent pass newline dedent", "HDS0013"},
        {"  a\nb\n", "indent name newline dedent name newline", ""},
    };
    CHECK_CASES(cases);
}

static void brackets_and_continuation(void **state)
{
    (void)state;
    static const layout_case cases[] = {
        {"f(a,\n  b\n\n)\n", "name ( name , name ) newline", ""},
        {"f(  # c\n  a)\n", "name ( name ) newline", ""},
        {"a + \\\n  b\n", "name + name newline", ""},
        {"a + \\\r\n  b\n", "name + name newline", ""},
        {"if a:\n  \\\nb\n", "if name : newline indent name newline dedent", ""},
        {"a \\ b\n", "name error name newline", "HDS0027"},
        {"f(a\n", "name ( name error newline", "HDS0007"},
        {"f(a\ndef g\n", "name ( name error newline def name newline", "HDS0007"},
        {"(a]\n", "( name ) newline", "HDS0008"},
        {"f(a[1)\n", "name ( name [ int ] ) newline", "HDS0008"},
        {"a)\n", "name error newline", "HDS0009"},
        {"f(a for\n a in b)\n", "name ( name for name in name ) newline", ""},
    };
    CHECK_CASES(cases);
}

static void formatted_strings(void **state)
{
    (void)state;
    static const layout_case cases[] = {
        {"f''\n", "fstring-start fstring-end newline", ""},
        {"f'a{b}c'\n", "fstring-start fstring-text fstring-open name fstring-close fstring-text fstring-end newline",
         ""},
        {"f'{b:>{w}}'\n",
         "fstring-start fstring-open name fstring-spec fstring-text fstring-open name fstring-close fstring-close "
         "fstring-end newline",
         ""},
        {"f'{b!r:=5}'\n",
         "fstring-start fstring-open name ! name fstring-spec fstring-text fstring-close fstring-end newline", ""},
        {"f'{b:=5}'\n", "fstring-start fstring-open name fstring-spec fstring-text fstring-close fstring-end newline",
         ""},
        {"f'{(b:=5)}'\n", "fstring-start fstring-open ( name := int ) fstring-close fstring-end newline", ""},
        {"f'{{}}'\n", "fstring-start fstring-text fstring-end newline", ""},
        {"f'{a['x']}'\n", "fstring-start fstring-open name [ string ] fstring-close fstring-end newline", ""},
        {"f'''a\n{b\n}'''\n", "fstring-start fstring-text fstring-open name fstring-close fstring-end newline", ""},
        {"rf'\\{a}'\n", "fstring-start fstring-raw-text fstring-open name fstring-close fstring-end newline", ""},
        {"f'{f'{1}'}'\n",
         "fstring-start fstring-open fstring-start fstring-open int fstring-close fstring-end fstring-close "
         "fstring-end "
         "newline",
         ""},
        {"f'a\nb\n", "fstring-start error newline name newline", "HDS0005"},
        {"f'{a'\nb\n", "fstring-start fstring-open name error newline name newline", "HDS0007"},
        {"f'}'\n", "fstring-start fstring-text fstring-end newline", "HDS0025"},
    };
    CHECK_CASES(cases);
}

static void words_and_numbers(void **state)
{
    (void)state;
    static const layout_case cases[] = {
        {"0x1F 0o17 0b1_0 1_000 0_0\n", "int int int int int newline", ""},
        {"1. .5 1e5 1_0.0_1e-1_0 1j 1.5J 0j 09.5\n", "float float float float float float float float newline", ""},
        {"1if 2else 3\n", "int if int else int newline", ""},
        {"1__0\n", "int newline", "HDS0006"},
        {"0x\n", "int newline", "HDS0006"},
        {"012\n", "int newline", "HDS0006"},
        {"1abc\n", "int newline", "HDS0006"},
        {"rb'\\'' Rb'' bR\"\" u'' B''\n", "string string string string string newline", ""},
        {"'''a\n'b''c\\''''\n", "string newline", ""},
        {"'a\n", "error newline", "HDS0005"},
        {"'''a\n", "error newline", "HDS0005"},
        {"gr\xc3\xb6\xc3\x9f"
         "e \xce\xb1\n",
         "error error newline", "HDS0031 HDS0031"},
        {"a\xc2\xa0"
         "b\n",
         "error newline", "HDS0002"},
        {"a $ b\n", "name error name newline", "HDS0002"},
        {"\xff\xfe\n", "error newline", "HDS0003 HDS0031"},
        {"a->b:=c...d.e!=f**=g//=h<<=i\n",
         "name -> name := name ellipsis name . name compare name aug-assign name aug-assign name aug-assign name "
         "newline",
         ""},
    };
    CHECK_CASES(cases);
}

static void soft_keywords(void **state)
{
    (void)state;
    static const layout_case cases[] = {
        {"match = 1\nmatch.x\nmatch(a)\nmatch[a]: int\n",
         "name = int newline name . name newline name ( name ) newline name [ name ] : name newline", ""},
        {"match a:\n  case 1:\n    b\nc\n", "match name newline", ""},
        {"match (a, b):\n  case [1, *_]: pass\n  case _:\n    pass", "match", ""},
        {"match -a:\n  case 1: pass\nmatch *a, b:\n  case 1: pass\n", "match match", ""},
        {"type X = a\ntype = 1\ntype(x)\n", "type name = name newline name = int newline name ( name ) newline", ""},
    };
    CHECK_CASES(cases);
}

static void nul_bytes(void **state)
{
    (void)state;
    fixture f;
    assert_string_equal(kinds(&f, STR("a\0b\0\n'c\0'\n")), "name name newline string newline");
    assert_string_equal(fixture_codes(&f), "HDS0004");
    fixture_close(&f);
}

static void spans(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    lex_state *s = arena_alloc(&f.memory, sizeof *s);
    lex_begin(s, &f.px, fixture_file(&f, STR("  # c\nalpha >>= f'x{y}'\n")));
    static const char *const texts[] = {"alpha", ">>=", "f'", "x", "{", "y", "}", "'", "\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(fixture_text(&f, lex_next(s).span), texts[i]);
    assert_int_equal(lex_next(s).kind, LEX_END);
    assert_int_equal(lex_next(s).kind, LEX_END);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_blank_lines),
        cmocka_unit_test(blocks),
        cmocka_unit_test(brackets_and_continuation),
        cmocka_unit_test(formatted_strings),
        cmocka_unit_test(words_and_numbers),
        cmocka_unit_test(soft_keywords),
        cmocka_unit_test(nul_bytes),
        cmocka_unit_test(spans),
    };
    return cmocka_run_group_tests_name("frontend layout", tests, NULL, NULL);
}
