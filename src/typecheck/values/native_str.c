// Text while compiling: string methods; print and printf. Strings are UTF-8 and are counted, indexed and cut by
// characters, as in Python; upper() and its siblings change the case of ASCII letters only.
#include "typecheck/values/character.h"
#include "typecheck/values/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tc_value text_value(str_buf *b)
{
    return tc_str((str){str_text(b), b->len});
}

static void escape_beyond_ascii(str s, str_buf *out)
{
    for (size_t i = 0; i < s.len;) {
        str rest = {s.at + i, s.len - i};
        int code = tc_char_code(rest);
        if (code < 0x80)
            str_addc(out, (char)code);
        else
            str_addf(out, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
        i += tc_char_len(rest);
    }
}

// !r, !s and !a of f-strings and format().
tc_value tc_converted(tc *tx, tc_value v, char conversion)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    if (conversion == 's')
        tc_to_text(tx, v, &b);
    else
        tc_program_repr(tx, v, &b);
    if (conversion != 'a')
        return text_value(&b);
    str_buf escaped;
    str_buf_init(&escaped, tx->arena);
    escape_beyond_ascii((str){str_text(&b), b.len}, &escaped);
    return text_value(&escaped);
}

// ---- searching ---------------------------------------------------------------------------------------------------

// The first position of [part] at or after [from], or the last one; SIZE_MAX: none.
static size_t find(str s, str part, size_t from, bool last)
{
    if (part.len > s.len)
        return SIZE_MAX;
    size_t found = SIZE_MAX;
    for (size_t i = from; i + part.len <= s.len; i++)
        if (part.len == 0 || memcmp(s.at + i, part.at, part.len) == 0) {
            found = i;
            if (!last)
                break;
        }
    return found;
}

// ---- arguments: their number and names were checked --------------------------------------------------------------

typedef struct method method;
typedef struct call {
    tc *tx;
    str s;
    tc_args *args;
    const method *m;
    bool failed;
} call;

struct method {
    const char *name;
    tc_value (*run)(call *c);
    int min, max;
    const char *params;
    int data;
};

static tc_value *arg(call *c, int i)
{
    tc_value *v = tc_arg_get(c->args, c->m->params, i);
    return v && v->kind == TC_NONE ? NULL : v;
}

static tc_value wrong(call *c, int i, const char *wanted)
{
    tc_value *v = tc_arg_get(c->args, c->m->params, i);
    c->failed = true;
    return TC_ERR(c->tx, HDS0184, tc_arg_span(c->args, c->m->params, i),
                  arena_printf(c->tx->arena, "an argument of '%s'", c->m->name), wanted,
                  v ? tc_describe(c->tx, *v) : "nothing");
}

static str text_arg(call *c, int i, str fallback)
{
    tc_value *v = arg(c, i);
    if (v && v->kind == TC_STR)
        return v->s;
    if (v || i < c->m->min)
        wrong(c, i, "str");
    return fallback;
}

static int64_t int_arg(call *c, int i, int64_t fallback)
{
    tc_value *v = arg(c, i);
    int64_t result = fallback;
    if ((v && !tc_as_int64(*v, &result)) || (!v && i < c->m->min))
        wrong(c, i, "int");
    return result;
}

// The part of the text that the arguments [i] and [i] + 1 choose, as in a slice. [skipped]: characters in front of it.
static str range_arg(call *c, int i, size_t *skipped)
{
    int64_t len = (int64_t)tc_text_len(c->s), bounds[2] = {int_arg(c, i, 0), int_arg(c, i + 1, len)};
    for (int k = 0; k < 2; k++) {
        if (bounds[k] < 0)
            bounds[k] = bounds[k] + len < 0 ? 0 : bounds[k] + len;
    }
    *skipped = (size_t)bounds[0];
    if (bounds[0] > len || bounds[0] > bounds[1]) {
        *skipped = SIZE_MAX;
        return STR("");
    }
    return tc_text_slice(c->s, (size_t)bounds[0], (size_t)(bounds[1] > len ? len : bounds[1]));
}

// ---- methods -----------------------------------------------------------------------------------------------------

static tc_value run_case(call *c)
{
    str s = c->s;
    char *copy = arena_strndup(c->tx->arena, s.at, s.len);
    bool in_word = false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char b = (unsigned char)s.at[i];
        bool upper = c->m->data == 'u' || (c->m->data == 't' && !in_word) || (c->m->data == 'c' && i == 0) ||
                     (c->m->data == 's' && islower(b));
        if (b < 0x80)
            copy[i] = (char)(upper ? toupper(b) : tolower(b));
        in_word = b >= 0x80 || isalpha(b);
    }
    return tc_str((str){copy, s.len});
}

static bool stripped(str one, str set)
{
    return set.at ? find(set, one, 0, false) != SIZE_MAX : tc_space_at(one, false) > 0;
}

static tc_value run_strip(call *c)
{
    str s = c->s, set = text_arg(c, 0, (str){NULL, 0});
    while ((c->m->data & 1) && s.len && stripped((str){s.at, tc_char_len(s)}, set)) {
        size_t len = tc_char_len(s);
        s = (str){s.at + len, s.len - len};
    }
    while ((c->m->data & 2) && s.len) {
        size_t at = s.len - tc_last_char_len(s);
        if (!stripped((str){s.at + at, s.len - at}, set))
            break;
        s.len = at;
    }
    return tc_str(s);
}

static void reverse_items(tc_list *list)
{
    tc_list_changed(list);
    for (size_t i = 0, j = list->len; i + 1 < j; i++) {
        tc_value swap = list->at[i];
        list->at[i] = list->at[--j];
        list->at[j] = swap;
    }
}

static str without_space(str s, bool at_end)
{
    for (size_t len; (len = tc_space_at(s, at_end)) > 0;)
        s = (str){at_end ? s.at : s.at + len, s.len - len};
    return s;
}

// The word that a text without space at that end begins or ends with.
static str word_of(str s, bool at_end)
{
    size_t len = 0;
    while (len < s.len) {
        str rest = at_end ? (str){s.at, s.len - len} : (str){s.at + len, s.len - len};
        if (tc_space_at(rest, at_end))
            break;
        len += at_end ? tc_last_char_len(rest) : tc_char_len(rest);
    }
    return at_end ? (str){s.at + s.len - len, len} : (str){s.at, len};
}

// What is left when the limit is reached stays as it is, but for the space on the side that the words came from.
static tc_value split_words(call *c, int64_t limit)
{
    tc_value r = tc_list_new(c->tx, TC_LIST, NULL, 0);
    bool from_end = c->m->data == 'r';
    for (str s = without_space(c->s, from_end); s.len; s = without_space(s, from_end)) {
        bool is_last = limit >= 0 && (int64_t)r.list->len == limit;
        str word = is_last ? s : word_of(s, from_end);
        tc_list_push(c->tx, r.list, tc_str(word));
        s = (str){from_end ? s.at : s.at + word.len, s.len - word.len};
    }
    if (from_end)
        reverse_items(r.list);
    return r;
}

static tc_value run_split(call *c)
{
    str separator = text_arg(c, 0, (str){NULL, 0}), s = c->s;
    int64_t limit = int_arg(c, 1, -1);
    if (c->failed)
        return tc_poison();
    if (!separator.at)
        return split_words(c, limit);
    if (!separator.len)
        return wrong(c, 0, "a separator that is not empty");
    tc_value r = tc_list_new(c->tx, TC_LIST, NULL, 0);
    bool from_end = c->m->data == 'r';
    for (;;) {
        size_t at = limit >= 0 && (int64_t)r.list->len == limit ? SIZE_MAX : find(s, separator, 0, from_end);
        if (at == SIZE_MAX)
            break;
        str before = {s.at, at}, after = {s.at + at + separator.len, s.len - at - separator.len};
        tc_list_push(c->tx, r.list, tc_str(from_end ? after : before));
        s = from_end ? before : after;
    }
    tc_list_push(c->tx, r.list, tc_str(s));
    if (from_end)
        reverse_items(r.list);
    return r;
}

static tc_value run_splitlines(call *c)
{
    tc_value *keep = arg(c, 0);
    bool keep_ends = false;
    if (keep && !tc_truth(*keep, &keep_ends))
        return wrong(c, 0, "bool");
    tc_value r = tc_list_new(c->tx, TC_LIST, NULL, 0);
    for (str s = c->s; s.len;) {
        size_t len = 0, mark = 0;
        while (len < s.len && !(mark = tc_line_end_at((str){s.at + len, s.len - len})))
            len += tc_char_len((str){s.at + len, s.len - len});
        size_t end = len + mark;
        tc_list_push(c->tx, r.list, tc_str((str){s.at, keep_ends ? end : len}));
        s = (str){s.at + end, s.len - end};
    }
    return r;
}

static tc_value run_partition(call *c)
{
    bool from_end = c->m->data == 'r';
    str s = c->s, separator = text_arg(c, 0, STR(""));
    if (c->failed || !separator.len)
        return c->failed ? tc_poison() : wrong(c, 0, "a separator that is not empty");
    size_t at = find(s, separator, 0, from_end);
    tc_value parts[3] = {tc_str(s), tc_str(STR("")), tc_str(STR(""))};
    if (at == SIZE_MAX && from_end) {
        parts[0] = tc_str(STR(""));
        parts[2] = tc_str(s);
    } else if (at != SIZE_MAX) {
        parts[0] = tc_str((str){s.at, at});
        parts[1] = tc_str(separator);
        parts[2] = tc_str((str){s.at + at + separator.len, s.len - at - separator.len});
    }
    return tc_list_new(c->tx, TC_TUPLE, parts, 3);
}

static tc_value run_join(call *c)
{
    tc_list items = {0};
    if (!tc_iterate(c->tx, c->args->list.at[0].value, c->args->span, &items))
        return tc_poison();
    str_buf b;
    str_buf_init(&b, c->tx->arena);
    for (size_t i = 0; i < items.len; i++) {
        if (items.at[i].kind != TC_STR)
            return TC_ERR(c->tx, HDS0184, c->args->span, "an item of join", "str", tc_describe(c->tx, items.at[i]));
        if (b.len + c->s.len + items.at[i].s.len > MAX_TEXT)
            return TC_ERR(c->tx, HDS0123, c->args->span);
        if (i)
            str_add(&b, c->s);
        str_add(&b, items.at[i].s);
    }
    return text_value(&b);
}

static tc_value run_replace(call *c)
{
    str from = text_arg(c, 0, STR("")), to = text_arg(c, 1, STR("")), s = c->s;
    int64_t limit = int_arg(c, 2, -1);
    if (c->failed)
        return tc_poison();
    str_buf b;
    str_buf_init(&b, c->tx->arena);
    while (limit != 0) {
        size_t at = find(s, from, 0, false);
        if (at == SIZE_MAX)
            break;
        str_add(&b, (str){s.at, at});
        str_add(&b, to);
        s = (str){s.at + at + from.len, s.len - at - from.len};
        limit -= limit > 0;
        if (!from.len && !s.len)
            break;
        if (!from.len) {
            size_t len = tc_char_len(s);
            str_add(&b, (str){s.at, len});
            s = (str){s.at + len, s.len - len};
        }
        if (b.len > MAX_TEXT)
            return TC_ERR(c->tx, HDS0123, c->args->span);
    }
    str_add(&b, s);
    return text_value(&b);
}

static tc_value run_starts(call *c)
{
    size_t skipped;
    str s = range_arg(c, 1, &skipped);
    tc_value wanted = c->args->list.at[0].value;
    tc_list one = {.at = &wanted, .len = 1, .cap = 1}, *all = wanted.kind == TC_TUPLE ? wanted.list : &one;
    bool holds = false;
    for (size_t i = 0; i < all->len; i++) {
        if (all->at[i].kind != TC_STR)
            return wrong(c, 0, "str");
        holds |= c->m->data == 'e' ? str_ends(s, all->at[i].s) : str_starts(s, all->at[i].s);
    }
    return c->failed ? tc_poison() : tc_bool(holds && skipped != SIZE_MAX);
}

static tc_value run_remove(call *c)
{
    str s = c->s, part = text_arg(c, 0, STR(""));
    if (c->m->data == 'e')
        return tc_str(str_ends(s, part) ? (str){s.at, s.len - part.len} : s);
    return tc_str(str_starts(s, part) ? (str){s.at + part.len, s.len - part.len} : s);
}

// find and rfind; index and rindex, which must find something.
static tc_value run_find(call *c)
{
    size_t skipped;
    str part = text_arg(c, 0, STR("")), s = range_arg(c, 1, &skipped);
    if (c->failed)
        return tc_poison();
    size_t at = skipped == SIZE_MAX ? SIZE_MAX : find(s, part, 0, c->m->data & 1);
    if (at == SIZE_MAX)
        return c->m->data & 2 ? TC_ERR(c->tx, HDS0141, c->args->span, tc_text(c->tx, tc_str(part))) : tc_of_int(-1);
    return tc_of_int((tc_int)(skipped + tc_text_len((str){s.at, at})));
}

static tc_value run_count(call *c)
{
    size_t skipped;
    str part = text_arg(c, 0, STR("")), s = range_arg(c, 1, &skipped);
    if (c->failed)
        return tc_poison();
    if (skipped == SIZE_MAX)
        return tc_of_int(0);
    if (!part.len)
        return tc_of_int((tc_int)tc_text_len(s) + 1);
    tc_int count = 0;
    for (size_t at = find(s, part, 0, false); at != SIZE_MAX; at = find(s, part, at + part.len, false))
        count++;
    return tc_of_int(count);
}

// isalnum and isidentifier ask more than one class, isupper and islower only what has a case.
static bool in_class(char asked, int code, bool is_first)
{
    switch (asked) {
    case 'd':
        return tc_char_is(code, CHARACTER_DIGIT);
    case '0':
        return tc_char_is(code, CHARACTER_DECIMAL);
    case '1':
        return tc_char_is(code, CHARACTER_NUMERIC);
    case 'a':
        return tc_char_is(code, CHARACTER_ALPHA);
    case 'n':
        return tc_char_is(code, CHARACTER_ALPHA) || tc_char_is(code, CHARACTER_NUMERIC);
    case 's':
        return tc_char_is(code, CHARACTER_SPACE);
    case 'p':
        return tc_char_is(code, CHARACTER_PRINTABLE);
    case 'i':
        return tc_char_is(code, is_first ? CHARACTER_NAME_START : CHARACTER_NAME_PART);
    case '7':
        return code < 0x80;
    case 'u':
        return !tc_char_is(code, CHARACTER_LOWER) && !tc_char_is(code, CHARACTER_TITLE);
    default:
        return !tc_char_is(code, CHARACTER_UPPER) && !tc_char_is(code, CHARACTER_TITLE);
    }
}

static tc_value run_class(call *c)
{
    char asked = (char)c->m->data;
    bool by_case = asked == 'u' || asked == 'l', all = true, cased = false;
    for (size_t at = 0; at < c->s.len && all;) {
        str rest = {c->s.at + at, c->s.len - at};
        int code = tc_char_code(rest);
        cased |= tc_char_is(code, asked == 'u' ? CHARACTER_UPPER : CHARACTER_LOWER);
        all = in_class(asked, code, at == 0);
        at += tc_char_len(rest);
    }
    bool empty_is = asked == '7' || asked == 'p';
    return tc_bool(all && (c->s.len ? cased || !by_case : empty_is));
}

static tc_value run_pad(call *c)
{
    int64_t width = int_arg(c, 0, 0), missing = width - (int64_t)tc_text_len(c->s);
    str fill = c->m->data == 'z' ? STR("0") : text_arg(c, 1, STR(" ")), s = c->s;
    if (c->failed)
        return tc_poison();
    if (tc_text_len(fill) != 1)
        return wrong(c, 1, "one character");
    if (missing > MAX_TEXT)
        return TC_ERR(c->tx, HDS0123, c->args->span);
    if (missing <= 0)
        return tc_str(s);
    int64_t before = c->m->data == 'l' ? 0 : c->m->data == 'c' ? missing / 2 + (missing & width & 1) : missing;
    str_buf b;
    str_buf_init(&b, c->tx->arena);
    if (c->m->data == 'z' && s.len && (s.at[0] == '-' || s.at[0] == '+')) {
        str_addc(&b, s.at[0]);
        s = (str){s.at + 1, s.len - 1};
    }
    for (int64_t i = 0; i < before; i++)
        str_add(&b, fill);
    str_add(&b, s);
    for (int64_t i = before; i < missing; i++)
        str_add(&b, fill);
    return text_value(&b);
}

static tc_value run_format(call *c)
{
    return tc_format_method(c->tx, c->s, c->args);
}

#define METHODS(X)                                                                                                     \
    X("upper", run_case, 0, 0, NULL, 'u')                                                                              \
    X("lower", run_case, 0, 0, NULL, 'l')                                                                              \
    X("title", run_case, 0, 0, NULL, 't')                                                                              \
    X("capitalize", run_case, 0, 0, NULL, 'c')                                                                         \
    X("swapcase", run_case, 0, 0, NULL, 's')                                                                           \
    X("strip", run_strip, 0, 1, NULL, 3)                                                                               \
    X("lstrip", run_strip, 0, 1, NULL, 1)                                                                              \
    X("rstrip", run_strip, 0, 1, NULL, 2)                                                                              \
    X("split", run_split, 0, 2, "sep maxsplit", 'l')                                                                   \
    X("rsplit", run_split, 0, 2, "sep maxsplit", 'r')                                                                  \
    X("splitlines", run_splitlines, 0, 1, "keepends", 0)                                                               \
    X("partition", run_partition, 1, 1, NULL, 'l')                                                                     \
    X("rpartition", run_partition, 1, 1, NULL, 'r')                                                                    \
    X("join", run_join, 1, 1, NULL, 0)                                                                                 \
    X("replace", run_replace, 2, 3, NULL, 0)                                                                           \
    X("startswith", run_starts, 1, 3, NULL, 's')                                                                       \
    X("endswith", run_starts, 1, 3, NULL, 'e')                                                                         \
    X("removeprefix", run_remove, 1, 1, NULL, 's')                                                                     \
    X("removesuffix", run_remove, 1, 1, NULL, 'e')                                                                     \
    X("find", run_find, 1, 3, NULL, 0)                                                                                 \
    X("rfind", run_find, 1, 3, NULL, 1)                                                                                \
    X("index", run_find, 1, 3, NULL, 2)                                                                                \
    X("rindex", run_find, 1, 3, NULL, 3)                                                                               \
    X("count", run_count, 1, 3, NULL, 0)                                                                               \
    X("isdigit", run_class, 0, 0, NULL, 'd')                                                                           \
    X("isdecimal", run_class, 0, 0, NULL, '0')                                                                         \
    X("isnumeric", run_class, 0, 0, NULL, '1')                                                                         \
    X("isalpha", run_class, 0, 0, NULL, 'a')                                                                           \
    X("isalnum", run_class, 0, 0, NULL, 'n')                                                                           \
    X("isspace", run_class, 0, 0, NULL, 's')                                                                           \
    X("isprintable", run_class, 0, 0, NULL, 'p')                                                                       \
    X("isidentifier", run_class, 0, 0, NULL, 'i')                                                                      \
    X("isascii", run_class, 0, 0, NULL, '7')                                                                           \
    X("isupper", run_class, 0, 0, NULL, 'u')                                                                           \
    X("islower", run_class, 0, 0, NULL, 'l')                                                                           \
    X("zfill", run_pad, 1, 1, NULL, 'z')                                                                               \
    X("ljust", run_pad, 1, 2, NULL, 'l')                                                                               \
    X("rjust", run_pad, 1, 2, NULL, 'r')                                                                               \
    X("center", run_pad, 1, 2, NULL, 'c')                                                                              \
    X("format", run_format, 0, -1, NULL, 0)

static const method methods[] = {
#define METHOD(name, run, min, max, params, data) {name, run, min, max, params, data},
    METHODS(METHOD)
#undef METHOD
};

const char *const tc_str_method_names[] = {
#define METHOD(name, run, min, max, params, data) name,
    METHODS(METHOD)
#undef METHOD
        NULL,
};

tc_value tc_str_method(tc *tx, str s, sym name, tc_args *args, bool *found)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const method *m = &methods[i];
        if (!str_equal(sym_str(name), str_of(m->name)))
            continue;
        *found = true;
        tc_native checked = {.name = m->name, .min_args = m->min, .max_args = m->max, .params = m->params};
        call c = {tx, s, args, m, false};
        bool keywords = m->max < 0;
        for (size_t a = 0; !keywords && !m->params && a < args->list.len; a++)
            if (args->list.at[a].name)
                return TC_ERR(tx, HDS0211, args->list.at[a].span, m->name, args->list.at[a].name->text);
        tc_value r = tc_args_check(tx, &checked, args) ? m->run(&c) : tc_poison();
        return c.failed ? tc_poison() : r;
    }
    *found = false;
    return tc_poison();
}

// ---- print and printf --------------------------------------------------------------------------------------------

static const char *conversion(const ir_type *t)
{
    if (t->kind == IR_POINTER)
        return "%p";
    switch (t->scalar) {
    case DT_I64:
        return "%lld";
    case DT_U64:
        return "%llu";
    case DT_BOOL:
        return "%d";
    default:
        break;
    }
    if (dt_is_float(t->scalar))
        return "%g";
    return dt_is_signed(t->scalar) ? "%d" : "%u";
}

static void add_escaped(str_buf *out, str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '%')
            str_addc(out, '%');
        str_addc(out, text.at[i]);
    }
}

static tc_value emit_print(tc *tx, const char *text, ir_expr **args, size_t count, src_span span)
{
    ir_stmt *s = tc_new_stmt(tx, IR_PRINT, span);
    s->text = arena_strdup(tx->ir->arena, text);
    s->args = args;
    s->arg_count = (int)count;
    tc_emit(tx, s);
    return tc_none();
}

typedef VEC(ir_expr *) expr_list;

static bool add_value(tc *tx, tc_value v, src_span span, str_buf *text, expr_list *out)
{
    if (v.kind == TC_RT && (v.rt->type->kind == IR_SCALAR || v.rt->type->kind == IR_POINTER)) {
        str_adds(text, conversion(v.rt->type));
        VEC_PUSH(tx->ir->arena, out, v.rt);
        return true;
    }
    if ((v.kind == TC_TUPLE || v.kind == TC_LIST) && !tc_is_compile_time(v)) {
        str_addc(text, v.kind == TC_TUPLE ? '(' : '[');
        for (size_t i = 0; i < v.list->len; i++) {
            if (i)
                str_adds(text, ", ");
            if (!add_value(tx, v.list->at[i], span, text, out))
                return false;
        }
        str_addc(text, v.kind == TC_TUPLE ? ')' : ']');
        return true;
    }
    if (!tc_is_compile_time(v)) {
        tc_error(tx, HDS0281, span, "print", tc_describe(tx, v));
        return false;
    }
    str_buf plain;
    str_buf_init(&plain, tx->arena);
    tc_to_text(tx, v, &plain);
    add_escaped(text, (str){str_text(&plain), plain.len});
    return true;
}

static bool nothing_run_time(const tc_args *args)
{
    for (size_t i = 0; i < args->list.len; i++)
        if (!tc_is_compile_time(args->list.at[i].value))
            return false;
    return true;
}

// sep= and end=.
static bool print_keywords(tc *tx, const tc_args *args, str *separator, str *end)
{
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (!a->name)
            continue;
        bool is_separator = strcmp(a->name->text, "sep") == 0;
        if (!is_separator && strcmp(a->name->text, "end") != 0) {
            tc_error(tx, HDS0211, a->span, "print", a->name->text);
            return false;
        }
        if (a->value.kind != TC_STR) {
            tc_error(tx, HDS0184, a->span, a->name->text, "str", tc_describe(tx, a->value));
            return false;
        }
        *(is_separator ? separator : end) = a->value.s;
    }
    return true;
}

static void known_text(tc *tx, const tc_args *args, str separator, str_buf *text)
{
    size_t shown = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        if (args->list.at[i].name)
            continue;
        if (shown++)
            str_add(text, separator);
        tc_to_text(tx, args->list.at[i].value, text);
    }
}

static tc_value python_print(tc *tx, tc_args *args)
{
    str_buf text;
    str_buf_init(&text, tx->arena);
    expr_list values = {0};
    str separator = STR(" "), end = STR("\n");
    if (!print_keywords(tx, args, &separator, &end))
        return tc_poison();
    bool while_compiling = !tx->block || (tx->frame && tx->frame->compile_time);
    if (while_compiling && nothing_run_time(args)) {
        // printed by the compiler, as a note at the call
        known_text(tx, args, separator, &text);
        diag_report(tx->diags, HDS0290, args->span, str_text(&text));
        return tc_none();
    }
    size_t shown = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (a->name)
            continue;
        if (shown++)
            add_escaped(&text, separator);
        if (!add_value(tx, a->value, a->span, &text, &values))
            return tc_poison();
    }
    add_escaped(&text, end);
    return emit_print(tx, str_text(&text), values.at, values.len, args->span);
}

// printf: C's conversions, checked against the arguments; lengths (%lld) are put in here, so that "%d" does for every
// integer.
static tc_value c_printf(tc *tx, tc_args *args)
{
    tc_value format = args->list.at[0].value;
    if (format.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "the format", "str", tc_describe(tx, format));
    if (!tx->block || tc_wants_run_time(tx))
        return tx->block ? tc_poison() : TC_ERR(tx, HDS0104, args->span, "printf");
    str_buf text;
    str_buf_init(&text, tx->arena);
    expr_list values = {0};
    size_t next = 1;
    str f = format.s;
    for (size_t i = 0; i < f.len; i++) {
        str_addc(&text, f.at[i]);
        if (f.at[i] != '%')
            continue;
        if (i + 1 < f.len && f.at[i + 1] == '%') {
            str_addc(&text, f.at[++i]);
            continue;
        }
        size_t k = i + 1;
        while (k < f.len && strchr("-+ #0123456789.", f.at[k]))
            str_addc(&text, f.at[k++]);
        while (k < f.len && strchr("hlzjt", f.at[k]))
            k++;
        if (k == f.len || !strchr("diouxXeEfFgGaAcps", f.at[k]))
            return TC_ERR(tx, HDS0291, args->list.at[0].span);
        if (next >= args->list.len)
            return TC_ERR(tx, HDS0292, args->span);
        tc_value v = args->list.at[next].value;
        src_span span = args->list.at[next++].span;
        char c = f.at[k];
        if (c == 's') {
            if (!tc_is_compile_time(v))
                return TC_ERR(tx, HDS0293, span, "%s", tc_describe(tx, v));
            VEC_PUSH(tx->ir->arena, &values,
                     ir_text(tx->ir, v.kind == TC_STR ? arena_strndup(tx->ir->arena, v.s.at, v.s.len)
                                                      : arena_strdup(tx->ir->arena, tc_text(tx, v))));
            str_addc(&text, 's');
            i = k;
            continue;
        }
        ir_expr *e = tc_default_rt(tx, v, span);
        if (!e)
            return tc_poison();
        bool pointer = e->type->kind == IR_POINTER, real = !pointer && dt_is_float(e->type->scalar);
        bool wants_real = strchr("eEfFgGaA", c) != NULL;
        if (pointer != (c == 'p') || (!pointer && real != wants_real))
            return TC_ERR(tx, HDS0293, span, arena_printf(tx->arena, "%%%c", c), tc_describe(tx, tc_rt(e)));
        if (!real && !pointer && dt_bits(e->type->scalar) == 64)
            str_adds(&text, "ll");
        str_addc(&text, c);
        VEC_PUSH(tx->ir->arena, &values, e);
        i = k;
    }
    if (next < args->list.len)
        return TC_ERR(tx, HDS0292, args->span);
    return emit_print(tx, str_text(&text), values.at, values.len, args->span);
}

tc_value tc_print(tc *tx, tc_args *args, bool is_printf)
{
    return is_printf ? c_printf(tx, args) : python_print(tx, args);
}
