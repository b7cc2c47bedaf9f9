// Text while compiling: string methods, format specifications; print and printf.
#include "typecheck/native.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tc_value text_value(str_buf *b)
{
    return tc_str((str){str_text(b), b->len});
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool in_set(char c, str set)
{
    return set.at ? memchr(set.at, c, set.len) != NULL : is_space(c);
}

static str strip(str s, bool left, bool right, str set)
{
    while (left && s.len && in_set(s.at[0], set)) {
        s.at++;
        s.len--;
    }
    while (right && s.len && in_set(s.at[s.len - 1], set))
        s.len--;
    return s;
}

static int64_t find(str s, str part, size_t from)
{
    if (part.len > s.len)
        return -1;
    for (size_t i = from; i + part.len <= s.len; i++)
        if (part.len == 0 || memcmp(s.at + i, part.at, part.len) == 0)
            return (int64_t)i;
    return -1;
}

static tc_value split(tc *tx, str s, tc_value *separator)
{
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    if (!separator || separator->kind != TC_STR || !separator->s.len) {
        size_t i = 0;
        while (i < s.len) {
            while (i < s.len && is_space(s.at[i]))
                i++;
            size_t start = i;
            while (i < s.len && !is_space(s.at[i]))
                i++;
            if (i > start)
                tc_list_push(tx, r.list, tc_str((str){s.at + start, i - start}));
        }
        return r;
    }
    size_t start = 0;
    for (;;) {
        int64_t at = find(s, separator->s, start);
        size_t end = at < 0 ? s.len : (size_t)at;
        tc_list_push(tx, r.list, tc_str((str){s.at + start, end - start}));
        if (at < 0)
            return r;
        start = end + separator->s.len;
    }
}

static tc_value join(tc *tx, str s, tc_args *args)
{
    tc_list items = {0};
    if (!args->list.len || !tc_iterate(tx, args->list.at[0].value, args->span, &items))
        return tc_poison();
    str_buf b;
    str_buf_init(&b, tx->arena);
    for (size_t i = 0; i < items.len; i++) {
        if (items.at[i].kind != TC_STR)
            return TC_ERR(tx, HDS0184, args->span, "an item of join", "str", tc_describe(tx, items.at[i]));
        if (i)
            str_add(&b, s);
        str_add(&b, items.at[i].s);
    }
    return text_value(&b);
}

static tc_value replace(tc *tx, str s, str from, str to)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    size_t i = 0;
    while (from.len && i < s.len) {
        int64_t at = find(s, from, i);
        if (at < 0)
            break;
        str_add(&b, (str){s.at + i, (size_t)at - i});
        str_add(&b, to);
        i = (size_t)at + from.len;
    }
    str_add(&b, (str){s.at + i, s.len - i});
    return text_value(&b);
}

static tc_value change_case(tc *tx, str s, char how)
{
    char *copy = arena_strndup(tx->arena, s.at, s.len);
    bool word = false;
    for (size_t i = 0; i < s.len; i++) {
        bool upper = how == 'u' || (how == 't' && !word) || (how == 'c' && i == 0);
        copy[i] = (char)(upper ? toupper((unsigned char)copy[i]) : tolower((unsigned char)copy[i]));
        word = isalpha((unsigned char)copy[i]) != 0;
    }
    return tc_str((str){copy, s.len});
}

static bool all_of(str s, int (*test)(int))
{
    for (size_t i = 0; i < s.len; i++)
        if (!test((unsigned char)s.at[i]))
            return false;
    return s.len > 0;
}

static tc_value pad(tc *tx, str s, tc_args *args, char how)
{
    int64_t width;
    if (!args->list.len || !tc_as_int64(args->list.at[0].value, &width) || width > 100000)
        return TC_ERR(tx, HDS0184, args->span, "the width", "int", args->list.len ? tc_describe(tx, args->list.at[0].value) : "nothing");
    char fill = args->list.len > 1 && args->list.at[1].value.kind == TC_STR && args->list.at[1].value.s.len ? args->list.at[1].value.s.at[0] : ' ';
    int64_t missing = width - (int64_t)s.len;
    str_buf b;
    str_buf_init(&b, tx->arena);
    if (missing <= 0)
        return tc_str(s);
    if (how == 'z') {
        bool sign = s.len && (s.at[0] == '-' || s.at[0] == '+');
        if (sign)
            str_addc(&b, s.at[0]);
        for (int64_t i = 0; i < missing; i++)
            str_addc(&b, '0');
        str_add(&b, (str){s.at + sign, s.len - sign});
        return text_value(&b);
    }
    int64_t before = how == 'r' ? missing : how == 'c' ? missing / 2 : 0;
    for (int64_t i = 0; i < missing; i++) {
        if (i == before)
            str_add(&b, s);
        str_addc(&b, fill);
    }
    if (before == missing)
        str_add(&b, s);
    return text_value(&b);
}

static tc_value format_method(tc *tx, str s, tc_args *args)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    size_t automatic = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if ((c == '{' || c == '}') && i + 1 < s.len && s.at[i + 1] == c) {
            str_addc(&b, c);
            i++;
            continue;
        }
        if (c != '{') {
            str_addc(&b, c);
            continue;
        }
        size_t end = i + 1;
        while (end < s.len && s.at[end] != '}')
            end++;
        str field = {s.at + i + 1, end - i - 1};
        const char *colon = field.len ? memchr(field.at, ':', field.len) : NULL;
        str name = {field.at, colon ? (size_t)(colon - field.at) : field.len};
        str spec = colon ? (str){colon + 1, field.len - name.len - 1} : STR("");
        const tc_value *v = NULL;
        size_t seen = 0, index = name.len && isdigit((unsigned char)name.at[0]) ? (size_t)atoi(arena_strndup(tx->arena, name.at, name.len)) : SIZE_MAX;
        if (!name.len)
            index = automatic++;
        for (size_t a = 0; a < args->list.len; a++) {
            const tc_arg *arg = &args->list.at[a];
            if (arg->name ? str_equal(sym_str(arg->name), name) : seen++ == index)
                v = &arg->value;
        }
        if (!v)
            return TC_ERR(tx, HDS0287, args->span, arena_strndup(tx->arena, name.at, name.len));
        tc_value text = tc_format_spec(tx, *v, spec, args->span);
        if (text.kind != TC_STR)
            return text;
        str_add(&b, text.s);
        i = end;
    }
    return text_value(&b);
}

tc_value tc_str_method(tc *tx, str s, sym name, tc_args *args, bool *found)
{
    str n = sym_str(name);
    tc_value *first = args->list.len ? &args->list.at[0].value : NULL;
    str part = first && first->kind == TC_STR ? first->s : (str){NULL, 0};
    *found = true;
    bool needs_text = str_equal(n, STR("startswith")) || str_equal(n, STR("endswith")) || str_equal(n, STR("find")) ||
                      str_equal(n, STR("count")) || str_equal(n, STR("replace")) || str_equal(n, STR("removeprefix")) ||
                      str_equal(n, STR("removesuffix"));
    if (needs_text && (!first || first->kind != TC_STR))
        return TC_ERR(tx, HDS0184, args->span, "the argument", "str", first ? tc_describe(tx, *first) : "nothing");
    if (str_equal(n, STR("upper"))) return change_case(tx, s, 'u');
    if (str_equal(n, STR("lower"))) return change_case(tx, s, 'l');
    if (str_equal(n, STR("title"))) return change_case(tx, s, 't');
    if (str_equal(n, STR("capitalize"))) return change_case(tx, s, 'c');
    if (str_equal(n, STR("strip"))) return tc_str(strip(s, true, true, part));
    if (str_equal(n, STR("lstrip"))) return tc_str(strip(s, true, false, part));
    if (str_equal(n, STR("rstrip"))) return tc_str(strip(s, false, true, part));
    if (str_equal(n, STR("split"))) return split(tx, s, first);
    if (str_equal(n, STR("splitlines"))) {
        tc_value newline = tc_str(STR("\n"));
        return split(tx, str_ends(s, STR("\n")) ? (str){s.at, s.len - 1} : s, &newline);
    }
    if (str_equal(n, STR("join"))) return join(tx, s, args);
    if (str_equal(n, STR("startswith"))) return tc_bool(str_starts(s, part));
    if (str_equal(n, STR("endswith"))) return tc_bool(str_ends(s, part));
    if (str_equal(n, STR("removeprefix"))) return tc_str(str_starts(s, part) ? (str){s.at + part.len, s.len - part.len} : s);
    if (str_equal(n, STR("removesuffix"))) return tc_str(str_ends(s, part) ? (str){s.at, s.len - part.len} : s);
    if (str_equal(n, STR("find"))) return tc_of_int(find(s, part, 0));
    if (str_equal(n, STR("count"))) {
        tc_int count = 0;
        for (int64_t at = find(s, part, 0); part.len && at >= 0; at = find(s, part, (size_t)at + part.len))
            count++;
        return tc_of_int(part.len ? count : (tc_int)s.len + 1);
    }
    if (str_equal(n, STR("replace")))
        return replace(tx, s, part, args->list.len > 1 && args->list.at[1].value.kind == TC_STR ? args->list.at[1].value.s : STR(""));
    if (str_equal(n, STR("isdigit"))) return tc_bool(all_of(s, isdigit));
    if (str_equal(n, STR("isalpha"))) return tc_bool(all_of(s, isalpha));
    if (str_equal(n, STR("isalnum"))) return tc_bool(all_of(s, isalnum));
    if (str_equal(n, STR("isupper"))) return tc_bool(all_of(s, isupper));
    if (str_equal(n, STR("islower"))) return tc_bool(all_of(s, islower));
    if (str_equal(n, STR("zfill"))) return pad(tx, s, args, 'z');
    if (str_equal(n, STR("ljust"))) return pad(tx, s, args, 'l');
    if (str_equal(n, STR("rjust"))) return pad(tx, s, args, 'r');
    if (str_equal(n, STR("center"))) return pad(tx, s, args, 'c');
    if (str_equal(n, STR("format"))) return format_method(tx, s, args);
    *found = false;
    return tc_poison();
}

// ---- format specifications: [[fill]align][sign][#][0][width][,][.precision][type] ------------------------------------------------------

typedef struct spec {
    char fill, align, sign, type;
    bool alternate, comma;
    int width, precision;
} spec;

static bool parse_spec(str s, spec *out)
{
    *out = (spec){.fill = ' ', .precision = -1};
    size_t i = 0;
    if (s.len > 1 && strchr("<>^=", s.at[1])) {
        out->fill = s.at[0];
        out->align = s.at[1];
        i = 2;
    } else if (s.len && strchr("<>^=", s.at[0])) {
        out->align = s.at[0];
        i = 1;
    }
    if (i < s.len && strchr("+- ", s.at[i]))
        out->sign = s.at[i++];
    if (i < s.len && s.at[i] == '#') {
        out->alternate = true;
        i++;
    }
    if (i < s.len && s.at[i] == '0' && !out->align) {
        out->fill = '0';
        out->align = '=';
        i++;
    }
    for (; i < s.len && isdigit((unsigned char)s.at[i]) && out->width < 100000; i++)
        out->width = out->width * 10 + (s.at[i] - '0');
    if (i < s.len && (s.at[i] == ',' || s.at[i] == '_')) {
        out->comma = true;
        i++;
    }
    if (i < s.len && s.at[i] == '.') {
        out->precision = 0;
        for (i++; i < s.len && isdigit((unsigned char)s.at[i]) && out->precision < 1000; i++)
            out->precision = out->precision * 10 + (s.at[i] - '0');
    }
    if (i < s.len)
        out->type = s.at[i++];
    return i == s.len;
}

static void digits_text(tc *tx, tc_int v, const spec *f, str_buf *out)
{
    unsigned base = f->type == 'x' || f->type == 'X' ? 16 : f->type == 'o' ? 8 : f->type == 'b' ? 2 : 10;
    unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    char digits[200];
    int at = sizeof digits, count = 0;
    do {
        if (f->comma && count && count % 3 == 0)
            digits[--at] = ',';
        char c = "0123456789abcdef"[(unsigned)(rest % base)];
        digits[--at] = f->type == 'X' ? (char)toupper(c) : c;
        rest /= base;
        count++;
    } while (rest);
    if (f->alternate && base != 10)
        str_addf(out, "0%c", f->type);
    str_add(out, (str){digits + at, sizeof digits - (size_t)at});
    (void)tx;
}

static void float_text(double v, const spec *f, str_buf *out)
{
    if (!f->type && f->precision < 0) {
        str_add_double(out, fabs(v));
        return;
    }
    char kind = f->type ? f->type : 'g';
    double shown = fabs(v);
    if (kind == '%') {
        kind = 'f';
        shown *= 100;
    }
    int precision = f->precision < 0 ? 6 : f->precision;
    switch (kind) {
    case 'e': str_addf(out, "%.*e", precision, shown); break;
    case 'E': str_addf(out, "%.*E", precision, shown); break;
    case 'f':
    case 'F': str_addf(out, "%.*f", precision, shown); break;
    case 'G': str_addf(out, "%.*G", precision, shown); break;
    default: str_addf(out, "%.*g", precision, shown); break;
    }
    if (f->type == '%')
        str_addc(out, '%');
}

static tc_value aligned(tc *tx, str sign, str body, const spec *f, char fallback)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    int64_t missing = f->width - (int64_t)(sign.len + body.len);
    char align = f->align ? f->align : fallback;
    int64_t before = missing <= 0 ? 0 : align == '>' || align == '=' ? missing : align == '^' ? missing / 2 : 0;
    if (align == '=')
        str_add(&b, sign);
    for (int64_t i = 0; i < before; i++)
        str_addc(&b, f->fill);
    if (align != '=')
        str_add(&b, sign);
    str_add(&b, body);
    for (int64_t i = before; i < missing; i++)
        str_addc(&b, f->fill);
    return text_value(&b);
}

tc_value tc_format_spec(tc *tx, tc_value v, str text, src_span span)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    if (!text.len) {
        tc_to_text(tx, v, &b);
        return text_value(&b);
    }
    spec f;
    bool known = parse_spec(text, &f);
    bool as_float = f.type && strchr("eEfFgG%", f.type);
    bool as_int = f.type && strchr("dxXob", f.type);
    bool integer = v.kind == TC_INT || v.kind == TC_BOOL;
    bool fits = f.type == 0 || f.type == 's' || (as_float && tc_is_number(v)) || (as_int && integer);
    if (!known || !fits || (f.type == 's' && v.kind != TC_STR))
        return TC_ERR(tx, HDS0288, span, arena_strndup(tx->arena, text.at, text.len), tc_describe(tx, v));
    if (!tc_is_number(v) || (v.kind == TC_BOOL && !f.type)) {
        tc_to_text(tx, v, &b);
        if (f.precision >= 0 && (size_t)f.precision < b.len)
            b.len = (size_t)f.precision;
        return aligned(tx, STR(""), (str){str_text(&b), b.len}, &f, '<');
    }
    double d = v.kind == TC_FLOAT ? v.f : v.kind == TC_BOOL ? (double)v.b : (double)v.i;
    bool negative = v.kind == TC_FLOAT ? signbit(d) != 0 : d < 0;
    if (integer && !as_float)
        digits_text(tx, v.kind == TC_BOOL ? (tc_int)v.b : v.i, &f, &b);
    else
        float_text(d, &f, &b);
    str sign = negative ? STR("-") : f.sign == '+' ? STR("+") : f.sign == ' ' ? STR(" ") : STR("");
    return aligned(tx, sign, (str){str_text(&b), b.len}, &f, '>');
}

// ---- print and printf -------------------------------------------------------------------------------------------------------------------

static const char *conversion(const ir_type *t)
{
    if (t->kind == IR_POINTER)
        return "%p";
    switch (t->scalar) {
    case DT_I64: return "%lld";
    case DT_U64: return "%llu";
    case DT_BOOL: return "%d";
    default: break;
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
    ir_stmt *s = ir_new_stmt(tx->ir, IR_PRINT, span);
    s->text = text;
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
        VEC_PUSH(tx->arena, out, v.rt);
        return true;
    }
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
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

static tc_value python_print(tc *tx, tc_args *args)
{
    str_buf text;
    str_buf_init(&text, tx->arena);
    expr_list values = {0};
    str separator = STR(" "), end = STR("\n");
    size_t shown = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (a->name && a->value.kind == TC_STR) {
            if (strcmp(a->name->text, "sep") == 0)
                separator = a->value.s;
            if (strcmp(a->name->text, "end") == 0)
                end = a->value.s;
            continue;
        }
        if (shown++)
            add_escaped(&text, separator);
        if (!add_value(tx, a->value, a->span, &text, &values))
            return tc_poison();
    }
    bool while_compiling = !tx->block || (tx->frame && tx->frame->compile_time);
    if (while_compiling && nothing_run_time(args)) {
        // printed by the compiler, as a note at the call
        diag_report(tx->diags, HDS0290, args->span, str_text(&text));
        return tc_none();
    }
    add_escaped(&text, end);
    return emit_print(tx, str_text(&text), values.at, values.len, args->span);
}

// printf: C's conversions, checked against the arguments; lengths (%lld) are put in here, so that "%d" does for every integer.
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
            VEC_PUSH(tx->arena, &values, ir_text(tx->ir, arena_printf(tx->arena, "%s", v.kind == TC_STR ? arena_strndup(tx->arena, v.s.at, v.s.len) : tc_text(tx, v))));
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
        VEC_PUSH(tx->arena, &values, e);
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
