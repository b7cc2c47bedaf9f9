#include "tensor/spec.h"

#include <string.h>

#include "base/checked.h"

static const char *const words[TEN_SOURCE__COUNT] = {
    [TEN_RANDN] = "randn", [TEN_UNIFORM] = "uniform", [TEN_RANDINT] = "randint", [TEN_ZEROS] = "zeros",
    [TEN_ONES] = "ones",   [TEN_FULL] = "full",       [TEN_ARANGE] = "arange",   [TEN_EMPTY] = "empty",
};

// How many arguments each takes: least and most.
static const int counts[TEN_SOURCE__COUNT][2] = {
    [TEN_RANDN] = {0, 2}, [TEN_UNIFORM] = {0, 2}, [TEN_RANDINT] = {2, 2}, [TEN_FULL] = {1, 1}, [TEN_ARANGE] = {0, 2},
};

typedef struct reader {
    arena *arena;
    const char *at;
    const char *error;
} reader;

static void skip_blanks(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (r->error || *r->at != c)
        return false;
    r->at++;
    return true;
}

static void fail(reader *r, const char *error)
{
    if (!r->error)
        r->error = error;
}

static const char *expected(reader *r, const char *what)
{
    return *r->at ? arena_printf(r->arena, "expected %s, found '%s'", what, r->at)
                  : arena_printf(r->arena, "expected %s at its end", what);
}

static str word(reader *r)
{
    skip_blanks(r);
    const char *start = r->at;
    while ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= '0' && *r->at <= '9') || *r->at == '_')
        r->at++;
    return (str){start, (size_t)(r->at - start)};
}

// "(a, b)"
static void arguments(reader *r, ten_spec *out)
{
    while (!r->error) {
        skip_blanks(r);
        size_t len = strcspn(r->at, ",) ");
        if (!len || out->arg_count == 2) {
            fail(r, len ? "it has more than two arguments" : expected(r, "a number"));
            return;
        }
        out->args[out->arg_count++] = arena_strndup(r->arena, r->at, len);
        r->at += len;
        if (take(r, ')'))
            return;
        if (!take(r, ','))
            fail(r, expected(r, "',' or ')'"));
    }
}

static int64_t size(reader *r)
{
    int64_t value = 0;
    skip_blanks(r);
    if (*r->at < '0' || *r->at > '9')
        fail(r, expected(r, "a size"));
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (!mul_checked(value, 10, &value) || !add_checked(value, *r->at - '0', &value)) {
            fail(r, "a size is beyond 64 bits");
            return 0;
        }
    }
    return value;
}

static void sizes(reader *r, ten_spec *out)
{
    out->has_shape = true;
    if (take(r, ']'))
        return;
    while (!r->error) {
        if (out->rank == TEN_MAX_RANK) {
            fail(r, "it has more than 16 dimensions");
            return;
        }
        out->shape[out->rank++] = size(r);
        if (take(r, ']'))
            return;
        if (!take(r, ','))
            fail(r, expected(r, "',' or ']'"));
    }
}

// What follows the ':'.
static void type_and_sizes(reader *r, ten_spec *out)
{
    str name = word(r);
    if (name.len && !dt_find(name, &out->type))
        fail(r, arena_printf(r->arena, "there is no type '%.*s'", (int)name.len, name.at));
    else if (take(r, '['))
        sizes(r, out);
    else if (!name.len)
        fail(r, expected(r, "a type such as f16[1024, 64]"));
}

static bool find_word(str name, ten_source *out)
{
    for (int i = 0; i < TEN_SOURCE__COUNT; i++) {
        if (words[i] && str_equal(name, str_of(words[i]))) {
            *out = (ten_source)i;
            return true;
        }
    }
    return false;
}

static void check_arguments(reader *r, const ten_spec *s)
{
    int least = counts[s->source][0], most = counts[s->source][1];
    if (s->arg_count >= least && s->arg_count <= most)
        return;
    static const char *const usage[TEN_SOURCE__COUNT] = {
        [TEN_RANDINT] = "randint takes its limits, as in randint(0, 100)",
        [TEN_FULL] = "full takes a value, as in full(3)",
    };
    fail(r, usage[s->source] ? usage[s->source] : arena_printf(r->arena, "%s takes no arguments", words[s->source]));
}

static bool is_numeric(const char *text)
{
    text += *text == '-' || *text == '+';
    return (*text >= '0' && *text <= '9') || *text == '.' || !strcmp(text, "inf") || !strcmp(text, "nan") ||
           !strcmp(text, "true") || !strcmp(text, "false") || !strcmp(text, "True") || !strcmp(text, "False");
}

const char *ten_spec_parse(arena *a, const char *text, ten_spec *out)
{
    *out = (ten_spec){.text = text, .type = DT_NONE};
    if (*text == '@') {
        out->path = text + 1;
        return text[1] ? NULL : "a file's name follows the '@'";
    }
    if (is_numeric(text)) {
        out->source = TEN_NUMBER;
        out->args[out->arg_count++] = text;
        return NULL;
    }
    reader r = {a, text, NULL};
    if (!find_word(word(&r), &out->source))
        return "expected a number, @FILE, or one of randn, uniform, randint, zeros, ones, full, arange, empty";
    if (take(&r, '('))
        arguments(&r, out);
    if (take(&r, ':'))
        type_and_sizes(&r, out);
    if (!out->arg_count && take(&r, '('))
        arguments(&r, out);
    skip_blanks(&r);
    if (*r.at)
        fail(&r, arena_printf(a, "'%s' is left over", r.at));
    check_arguments(&r, out);
    return r.error;
}

// Numbers that keep floats finite, and that are indices of whatever has two elements.
const char *ten_usual_contents(dtype t)
{
    if (dt_is_float(t) || dt_kind_of(t) == DT_KIND_COMPLEX)
        return "randn";
    return dt_bits(t) == 8 && t != DT_BOOL ? "randint(0, 100)" : "randint(0, 2)";
}
