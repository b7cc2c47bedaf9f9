// The parser: shapes and spans of the tree, values of literals, recovery, limits.
#include "frontend_test.h"

// The only expression of a file of one line.
static ast_expr *expression(fixture *f, const char *text)
{
    fixture_open(f);
    ast_expr *e = parse_expression(&f->px, fixture_file(f, str_of(text)));
    assert_string_equal(fixture_codes(f), "");
    assert_non_null(e);
    return e;
}

// An expression in prefix form, which shows how operators bind.
static void add_form(str_buf *out, const ast_node *e)
{
    switch (e->kind) {
    case AST_NAME:
        str_add(out, sym_str(AST_AS(NAME, name, e)->name));
        return;
    case AST_INT:
        str_addf(out, "%llu", (unsigned long long)AST_AS(INT, int, e)->value);
        return;
    case AST_UNARY:
        str_addf(out, "(%s ", ast_op_text(AST_AS(UNARY, unary, e)->op));
        add_form(out, AST_AS(UNARY, unary, e)->operand);
        break;
    case AST_BINARY:
        str_addf(out, "(%s ", ast_op_text(AST_AS(BINARY, binary, e)->op));
        add_form(out, AST_AS(BINARY, binary, e)->left);
        str_addc(out, ' ');
        add_form(out, AST_AS(BINARY, binary, e)->right);
        break;
    case AST_LOGICAL:
        str_addf(out, "(%s", ast_op_text(AST_AS(LOGICAL, logical, e)->op));
        for (size_t i = 0; i < AST_AS(LOGICAL, logical, e)->operands.len; i++) {
            str_addc(out, ' ');
            add_form(out, AST_AS(LOGICAL, logical, e)->operands.at[i]);
        }
        break;
    case AST_COMPARE: {
        const ast_compare *c = AST_AS(COMPARE, compare, e);
        str_addc(out, '(');
        add_form(out, c->operands.at[0]);
        for (size_t i = 0; i < c->ops.len; i++) {
            str_addf(out, " %s ", ast_op_text(c->ops.at[i]));
            add_form(out, c->operands.at[i + 1]);
        }
        break;
    }
    case AST_IF_EXPR:
        str_adds(out, "(if ");
        add_form(out, AST_AS(IF_EXPR, if_expr, e)->condition);
        str_addc(out, ' ');
        add_form(out, AST_AS(IF_EXPR, if_expr, e)->then);
        str_addc(out, ' ');
        add_form(out, AST_AS(IF_EXPR, if_expr, e)->or_else);
        break;
    default:
        str_addf(out, "(%s", ast_kind_name(e->kind));
        break;
    }
    str_addc(out, ')');
}

static void precedence(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a + b * c", "(+ a (* b c))"},
        {"a - b - c", "(- (- a b) c)"},
        {"-a ** -b ** c", "(- (** a (- (** b c))))"},
        {"a ** b ** c", "(** a (** b c))"},
        {"not a == b", "(not (a == b))"},
        {"a and b and c or d", "(or (and a b c) d)"},
        {"a and (b and c)", "(and a (and b c))"},
        {"(a and b) and c", "(and (and a b) c)"},
        {"a < b <= c != d", "(a < b <= c != d)"},
        {"(a < b) < c", "((a < b) < c)"},
        {"a not in b is not c", "(a not in b is not c)"},
        {"a | b ^ c & d << e + f", "(| a (^ b (& c (<< d (+ e f)))))"},
        {"a @ b // c % d / e", "(/ (% (// (@ a b) c) d) e)"},
        {"a if b else c if d else e", "(if b a (if d c e))"},
        {"~a + +b", "(+ (~ a) (+ b))"},
        {"not not a", "(not (not a))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        ast_expr *e = expression(&f, cases[i][0]);
        str_buf out;
        str_buf_init(&out, &f.memory);
        add_form(&out, e);
        assert_string_equal(str_text(&out), cases[i][1]);
        fixture_close(&f);
    }
}

static void spans_leave_out_parentheses(void **state)
{
    (void)state;
    fixture f;
    ast_expr *e = expression(&f, "((a) + (b * c))");
    assert_string_equal(fixture_text(&f, e->span), "(a) + (b * c)");
    assert_string_equal(fixture_text(&f, AST_AS(BINARY, binary, e)->left->span), "a");
    assert_string_equal(fixture_text(&f, AST_AS(BINARY, binary, e)->op_span), "+");
    assert_string_equal(fixture_text(&f, AST_AS(BINARY, binary, e)->right->span), "b * c");
    fixture_close(&f);

    e = expression(&f, "(f)(x, *y, k=(1), **z)[1:, (2)].a");
    assert_string_equal(fixture_text(&f, e->span), "(f)(x, *y, k=(1), **z)[1:, (2)].a");
    ast_subscript *sub = AST_AS(SUBSCRIPT, subscript, AST_AS(ATTRIBUTE, attribute, e)->value);
    assert_true(sub->is_tuple);
    assert_string_equal(fixture_text(&f, sub->items.at[0]->span), "1:");
    ast_call *call = AST_AS(CALL, call, sub->value);
    assert_int_equal(call->args.len, 4);
    assert_string_equal(fixture_text(&f, call->args.at[1].span), "*y");
    assert_string_equal(fixture_text(&f, call->args.at[2].span), "k=(1)");
    assert_string_equal(call->args.at[2].name->text, "k");
    assert_int_equal(call->args.at[3].kind, AST_ARG_DOUBLE_STAR);
    fixture_close(&f);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } ints[] = {{"0", 0},      {"1_000", 1000}, {"0xFF", 255},
                {"0o1_7", 15}, {"0B101", 5},    {"18446744073709551615", UINT64_MAX},
                {"0x_f", 15},  {"00", 0}};
    fixture f;
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        ast_int *n = AST_AS(INT, int, expression(&f, ints[i].text));
        assert_true(n->value == ints[i].value);
        assert_false(n->too_large);
        fixture_close(&f);
    }
    ast_int *largest = AST_AS(INT, int, expression(&f, "170141183460469231731687303715884105727"));
    assert_true(largest->value == ~(unsigned __int128)0 >> 1 && !largest->too_large);
    fixture_close(&f);
    assert_true(AST_AS(INT, int, expression(&f, "170141183460469231731687303715884105728"))->too_large);
    fixture_close(&f);
    assert_true(AST_AS(FLOAT, float, expression(&f, "1_0.5e-1"))->value == 1.05);
    fixture_close(&f);
    assert_true(AST_AS(FLOAT, float, expression(&f, ".5"))->value == 0.5);
    fixture_close(&f);
    ast_float *imaginary = AST_AS(FLOAT, float, expression(&f, "2j"));
    assert_true(imaginary->imaginary && imaginary->value == 2.0);
    fixture_close(&f);
}

static void strings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        str value;
    } cases[] = {
        {"'a\\n\\t\\\\\\'\\x41\\101\\u00e9\\U0001F600'", STR("a\n\t\\'AA\xc3\xa9\xf0\x9f\x98\x80")},
        {"r'\\n\\''", STR("\\n\\'")},
        {"b'\\xff\\0'", STR("\xff\0")},
        {"'\\xff'", STR("\xc3\xbf")},
        {"'a' \"b\" r'\\c'", STR("ab\\c")},
        {"'''a\r\nb\rc\\\nd'''", STR("a\nb\nc"
                                     "d")},
        {"''", STR("")},
        {"('a'\n 'b')", STR("ab")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        ast_string *s = AST_AS(STRING, string, expression(&f, cases[i].text));
        assert_int_equal(s->value.len, cases[i].value.len);
        assert_memory_equal(s->value.at, cases[i].value.at, s->value.len);
        fixture_close(&f);
    }
}

static void formatted_strings(void **state)
{
    (void)state;
    fixture f;
    ast_fstring *s = AST_AS(FSTRING, fstring, expression(&f, "'a' f'{{b}} { x + 1 = !r:>{w}} \\n' 'c'"));
    assert_int_equal(s->parts.len, 5);
    assert_true(str_equal(s->parts.at[0].literal, STR("a")));
    assert_true(str_equal(s->parts.at[1].literal, STR("{b} ")));
    assert_string_equal(s->parts.at[2].debug, " x + 1 = ");
    assert_int_equal(s->parts.at[2].conversion, 'r');
    ast_fstring *spec = AST_AS(FSTRING, fstring, s->parts.at[2].spec);
    assert_int_equal(spec->parts.len, 2);
    assert_true(str_equal(s->parts.at[3].literal, STR(" \n")));
    assert_true(str_equal(s->parts.at[4].literal, STR("c")));
    fixture_close(&f);
}

static void functions(void **state)
{
    (void)state;
    fixture f;
    ast_module *m = fixture_parse(&f, "@a.b\n@c\ndef f[T: x, *S, N: int = 4](p, /, q: T = 1, *rest, k, **kw) -> T:\n"
                                      "    \"\"\"One.\n\n      Two\n    three\n    \"\"\"\n    return p\n");
    assert_string_equal(fixture_codes(&f), "");
    ast_function *fn = AST_AS_FUNCTION(m->body.at[0]);
    assert_int_equal(fn->decorators.len, 2);
    assert_int_equal(fn->type_params.len, 3);
    assert_true(fn->type_params.at[1].is_variadic);
    assert_int_equal(fn->params.len, 5);
    assert_true(fn->params.at[0].positional_only && !fn->params.at[1].positional_only);
    assert_int_equal(fn->params.at[2].kind, AST_PARAM_STAR);
    assert_true(fn->params.at[3].keyword_only && !fn->params.at[4].keyword_only);
    assert_string_equal(fn->doc, "One.\n\n  Two\nthree");
    assert_int_equal(fn->body.len, 1);
    assert_string_equal(fixture_text(&f, fn->params.at[1].span), "q: T = 1");
    assert_string_equal(fixture_text(&f, fn->name_span), "f");
    fixture_close(&f);
}

static void statements(void **state)
{
    (void)state;
    fixture f;
    ast_module *m = fixture_parse(&f, "a = b, *c = d\nfor i, in x: pass\nelse: pass\nif a: b\nelif c: d\nelse: e\n"
                                      "with (a as b, c as (d, e),): pass\nwith (a): pass\nwith (a, b) as c: pass\n"
                                      "from ...p.q import (r as s, t,)\nimport u.v as w, x\n");
    assert_string_equal(fixture_codes(&f), "");
    ast_assign *assign = AST_AS(ASSIGN, assign, m->body.at[0]);
    assert_int_equal(assign->targets.len, 2);
    assert_int_equal(assign->targets.at[1]->kind, AST_TUPLE);
    ast_for *loop = AST_AS(FOR, for, m->body.at[1]);
    assert_string_equal(fixture_text(&f, loop->head), "for i, in x:");
    assert_string_equal(fixture_text(&f, loop->target->span), "i,");
    assert_int_equal(loop->or_else.len, 1);
    ast_if *choice = AST_AS(IF, if, m->body.at[2]);
    assert_string_equal(fixture_text(&f, choice->or_else.at[0]->span), "elif c: d\nelse: e");
    assert_int_equal(AST_AS(WITH, with, m->body.at[3])->items.len, 2);
    assert_int_equal(AST_AS(WITH, with, m->body.at[4])->items.len, 1);
    assert_int_equal(AST_AS(WITH, with, m->body.at[5])->items.len, 1);
    ast_from_import *from = AST_AS(FROM_IMPORT, from_import, m->body.at[6]);
    assert_int_equal(from->level, 3);
    assert_string_equal(from->module->text, "p.q");
    assert_string_equal(fixture_text(&f, from->node.span), "from ...p.q import (r as s, t,)");
    assert_string_equal(AST_AS(IMPORT, import, m->body.at[7])->names.at[0].path->text, "u.v");
    fixture_close(&f);
}

static void several_errors_no_cascades(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"x = \ny = 1 2\nz = )\n", "HDS0001 HDS0001 HDS0009"},
        {"if x = 3:\n  a\nelif y:\n  b\nelse:\n  c\n", "HDS0001"},
        {"if x:\n  a\nelse if y:\n  b\nelse:\n  c\n", "HDS0001"},
        {"def f(:\n  a = \n  b\nc d\n", "HDS0001 HDS0001"},
        {"x = f(a, b\ny = 3\nz = 4 5\n", "HDS0007 HDS0001"},
        {"f(1,\n  g(2\n  h(3))\n", "HDS0001"},
        {"print(\"abc)\nx = (1\n", "HDS0005 HDS0007"},
        {"@a\nx = 1\n@b\n", "HDS0001 HDS0001"},
        {"try:\n  raise x\nexcept* y as z:\n  del w\n", "HDS0015 HDS0015 HDS0015"},
        {"class A:\n  def f(self):\n\nx = 1\n", "HDS0013"},
        {"x = (a as b)\nwith x, (a as b): pass\n", "HDS0030 HDS0030"},
        {"1 = x\nf() += 1\na, b: int\n*a = b\n", "HDS0016 HDS0016 HDS0021 HDS0026"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        ast_module *m = fixture_parse(&f, cases[i][0]);
        assert_string_equal(fixture_codes(&f), cases[i][1]);
        assert_true(m->has_errors);
        fixture_close(&f);
    }
}

// What is left of a broken file can still be used.
static void recovery_keeps_the_rest(void **state)
{
    (void)state;
    fixture f;
    ast_module *m = fixture_parse(&f, "def f():\n    x = = 1\n    return 2\nclass A:\n    y: int\n");
    assert_int_equal(m->body.len, 2);
    assert_int_equal(AST_AS_FUNCTION(m->body.at[0])->body.len, 2);
    assert_int_equal(m->body.at[1]->kind, AST_CLASS);
    fixture_close(&f);
}

static void repeat(str_buf *out, const char *text, int count)
{
    for (int i = 0; i < count; i++)
        str_adds(out, text);
}

// However deep the text, one message and no crash.
static void deep_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *before, *again, *after;
        int count;
        const char *codes;
    } cases[] = {
        {"x = ", "(", "", 10000, "HDS0014"},
        {"x = ", "f'{", "", 10000, "HDS0014"},
        {"x = ", "[", "1\n", 199, "HDS0007"},
        {"x = ", "-", "1\n", 100000, "HDS0014"},
        {"x = ", "not ", "1\n", 100000, "HDS0014"},
        {"x = 1", " + 1", "\n", 100000, "HDS0014"},
        {"x = 1", " ** 1", "\n", 100000, "HDS0014"},
        {"x = a", ".b", "\n", 100000, "HDS0014"},
        {"x = a", "[0]", "\n", 100000, "HDS0014"},
        {"x = ", "lambda: ", "1\n", 100000, "HDS0014"},
        {"x = ", "1 if 2 else ", "3\n", 100000, "HDS0014"},
        {"if a: b\n", "elif c: d\n", "", 100000, "HDS0014"},
        {"x = 1", " + 1", "\n", 1900, ""},
        {"x = 1", " and 1", "\n", 100000, ""},
        {"x = 1", " < 1", "\n", 100000, ""},
        {"x = 1", ", 1", "\n", 100000, ""},
        {"x", " = x", "\n", 100000, ""},
        {"x = ", "'a' ", "\n", 100000, ""},
        {"", "x; ", "\n", 1000, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        fixture_open(&f);
        str_buf text;
        str_buf_init(&text, &f.memory);
        str_adds(&text, cases[i].before);
        repeat(&text, cases[i].again, cases[i].count);
        str_adds(&text, cases[i].after);
        parse_module(&f.px, fixture_file(&f, (str){text.at, text.len}));
        assert_string_equal(fixture_codes(&f), cases[i].codes);
        fixture_close(&f);
    }
}

static void deep_blocks(void **state)
{
    (void)state;
    static const int depths[] = {90, 101, 1000};
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
        int depth = depths[k];
        fixture f;
        fixture_open(&f);
        str_buf text;
        str_buf_init(&text, &f.memory);
        for (int i = 0; i < depth; i++) {
            repeat(&text, " ", i);
            str_adds(&text, "if x:\n");
        }
        repeat(&text, " ", depth);
        str_adds(&text, "y\n");
        parse_module(&f.px, fixture_file(&f, (str){text.at, text.len}));
        assert_string_equal(fixture_codes(&f), depth == 90 ? "" : "HDS0014");
        fixture_close(&f);
    }
}

static void large_tokens(void **state)
{
    (void)state;
    enum { MEGABYTE = 1 << 20 };
    fixture f;
    fixture_open(&f);
    str_buf text;
    str_buf_init(&text, &f.memory);
    repeat(&text, "a", MEGABYTE);
    str_adds(&text, " = '");
    repeat(&text, "b", MEGABYTE);
    str_adds(&text, "', 1");
    repeat(&text, "0", MEGABYTE);
    ast_module *m = parse_module(&f.px, fixture_file(&f, (str){text.at, text.len}));
    assert_string_equal(fixture_codes(&f), "");
    ast_assign *assign = AST_AS(ASSIGN, assign, m->body.at[0]);
    assert_int_equal(AST_AS(NAME, name, assign->targets.at[0])->name->len, MEGABYTE);
    fixture_close(&f);
}

static void single_expressions(void **state)
{
    (void)state;
    fixture f;
    expression(&f, "repeat(2, 1) * spatial(8, 4)");
    fixture_close(&f);
    static const char *const wrong[] = {"a b", "", "x = 1", "a\nb", "if", "(a", "for x in y: pass"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fixture_open(&f);
        assert_null(parse_expression(&f.px, fixture_file(&f, str_of(wrong[i]))));
        assert_int_equal(f.diags.error_count, 1);
        fixture_close(&f);
    }
}

// Many errors and a limit: the parser stops where the diagnostics say so.
static void error_limit(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    f.diags.error_limit = 5;
    str_buf text;
    str_buf_init(&text, &f.memory);
    repeat(&text, "a b\n", 1000);
    parse_module(&f.px, fixture_file(&f, (str){text.at, text.len}));
    assert_true(f.diags.error_count <= 6);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precedence),
        cmocka_unit_test(spans_leave_out_parentheses),
        cmocka_unit_test(numbers),
        cmocka_unit_test(strings),
        cmocka_unit_test(formatted_strings),
        cmocka_unit_test(functions),
        cmocka_unit_test(statements),
        cmocka_unit_test(several_errors_no_cascades),
        cmocka_unit_test(recovery_keeps_the_rest),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(deep_blocks),
        cmocka_unit_test(large_tokens),
        cmocka_unit_test(single_expressions),
        cmocka_unit_test(error_limit),
    };
    return cmocka_run_group_tests_name("frontend parse", tests, NULL, NULL);
}
