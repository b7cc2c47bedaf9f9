// Numbers as text while compiling: repr() of floats, format specifications, '…'.format(…). All as in Python.
#include "typecheck/values/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 100000, MAX_PRECISION = 1000 };

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
typedef struct spec {
    str fill;
    char align, sign, grouping, type; // 0: not given
    bool no_negative_zero;            // z: a number that is rounded to -0 loses its sign
    bool zeros;                       // 0 and no alignment: of numbers, the zeros come behind the sign
    bool alternate;
    int width, precision; // precision -1: not given
} spec;

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '^' || c == '=';
}

static bool parse_number(str s, size_t *i, int limit, int *out)
{
    size_t start = *i;
    for (*out = 0; *i < s.len && isdigit((unsigned char)s.at[*i]); (*i)++) {
        *out = *out * 10 + (s.at[*i] - '0');
        if (*out > limit)
            return false;
    }
    return *i > start;
}

static bool parse_spec(str s, spec *out)
{
    *out = (spec){.fill = STR(" "), .precision = -1};
    size_t i = 0, first = s.len ? tc_char_len(s) : 0;
    if (first && first < s.len && is_align(s.at[first])) {
        out->fill = (str){s.at, first};
        out->align = s.at[first];
        i = first + 1;
    } else if (s.len && is_align(s.at[0])) {
        out->align = s.at[i++];
    }
    bool fill_given = i > 1;
    if (i < s.len && (s.at[i] == '+' || s.at[i] == '-' || s.at[i] == ' '))
        out->sign = s.at[i++];
    if (i < s.len && s.at[i] == 'z') {
        out->no_negative_zero = true;
        i++;
    }
    if (i < s.len && s.at[i] == '#') {
        out->alternate = true;
        i++;
    }
    if (i < s.len && s.at[i] == '0' && !fill_given) {
        out->fill = STR("0");
        out->zeros = !out->align;
        i++;
    }
    bool has_width = i < s.len && isdigit((unsigned char)s.at[i]);
    if (has_width && !parse_number(s, &i, MAX_WIDTH, &out->width))
        return false;
    if (i < s.len && (s.at[i] == ',' || s.at[i] == '_'))
        out->grouping = s.at[i++];
    if (i < s.len && s.at[i] == '.') {
        i++;
        if (!parse_number(s, &i, MAX_PRECISION, &out->precision))
            return false;
    }
    if (i < s.len)
        out->type = s.at[i++];
    return i == s.len;
}

// ---- digits of floats --------------------------------------------------------------------------------------------

// A positive finite number as 0.DIGITS * 10^point.
typedef struct decimal {
    char digits[MAX_PRECISION + 40];
    int len, point;
} decimal;

// [count] significant digits, correctly rounded.
static decimal decimal_of(double v, int count)
{
    char text[MAX_PRECISION + 40];
    snprintf(text, sizeof text, "%.*e", count - 1, v);
    decimal d = {.point = 0};
    const char *at = text;
    for (; *at && *at != 'e'; at++) {
        if (isdigit((unsigned char)*at))
            d.digits[d.len++] = *at;
    }
    d.point = v == 0 ? 1 : atoi(at + 1) + 1;
    return d;
}

// As few digits as read back the same number.
static decimal shortest(double v)
{
    for (int count = 1; count < 17; count++) {
        char text[64];
        snprintf(text, sizeof text, "%.*e", count - 1, v);
        if (strtod(text, NULL) == v)
            return decimal_of(v, count);
    }
    return decimal_of(v, 17);
}

static void drop_zeros(decimal *d)
{
    while (d->len > 1 && d->digits[d->len - 1] == '0')
        d->len--;
}

// [with_exponent]: 1.5e+20, else 150.0. [point]: a point, and a digit after it if [digit_after], even where nothing
// follows.
static void add_decimal(const decimal *d, bool with_exponent, bool point, bool digit_after, str_buf *out)
{
    int whole = with_exponent ? 1 : d->point;
    for (int i = whole < 1 ? 0 : 1; i <= (whole < 1 ? 0 : whole); i++)
        str_addc(out, i == 0 ? '0' : i - 1 < d->len ? d->digits[i - 1] : '0');
    if (whole < d->len || point)
        str_addc(out, '.');
    for (int i = whole; i < 0; i++)
        str_addc(out, '0');
    for (int i = whole < 0 ? 0 : whole; i < d->len; i++)
        str_addc(out, d->digits[i]);
    if (digit_after && whole >= d->len)
        str_addc(out, '0');
    if (with_exponent)
        str_addf(out, "e%c%02d", d->point > 0 ? '+' : '-', abs(d->point - 1));
}

static void add_special(double v, str_buf *out)
{
    str_adds(out, isnan(v) ? "nan" : "inf");
}

void tc_float_text(double v, str_buf *out)
{
    if (signbit(v) && !isnan(v))
        str_addc(out, '-');
    if (!isfinite(v)) {
        add_special(v, out);
        return;
    }
    decimal d = shortest(fabs(v));
    drop_zeros(&d);
    bool with_exponent = d.point <= -4 || d.point > 16;
    add_decimal(&d, with_exponent, !with_exponent, !with_exponent, out);
}

// Printed by C, with a point whatever the locale.
static void add_printed(double v, char kind, const spec *f, int precision, str_buf *out)
{
    char text[MAX_PRECISION + 400];
    if (kind == 'e')
        snprintf(text, sizeof text, f->alternate ? "%#.*e" : "%.*e", precision, v);
    else
        snprintf(text, sizeof text, f->alternate ? "%#.*f" : "%.*f", precision, v);
    for (const char *at = text; *at; at++) {
        bool plain = isalnum((unsigned char)*at) || *at == '+' || *at == '-';
        if (plain || at == text || isdigit((unsigned char)at[-1]))
            str_addc(out, plain ? *at : '.');
    }
}

// %g, and the format without a type: as %g with a digit after the point.
static void add_general(double v, const spec *f, str_buf *out)
{
    bool plain = !f->type;
    int precision = f->precision < 0 ? 6 : f->precision ? f->precision : 1;
    decimal d = decimal_of(v, precision);
    if (!f->alternate)
        drop_zeros(&d);
    bool with_exponent = d.point <= -4 || d.point > precision - plain;
    add_decimal(&d, with_exponent, f->alternate || (plain && !with_exponent), plain && !with_exponent, out);
}

static void add_float(double v, const spec *f, str_buf *out)
{
    char kind = (char)tolower((unsigned char)f->type);
    double shown = kind == '%' ? fabs(v) * 100 : fabs(v);
    int precision = f->precision < 0 ? 6 : f->precision;
    if (!isfinite(shown))
        add_special(shown, out);
    else if (!f->type && f->precision < 0)
        tc_float_text(shown, out);
    else if (kind == 'e')
        add_printed(shown, 'e', f, precision, out);
    else if (kind == 'f' || kind == '%')
        add_printed(shown, 'f', f, precision, out);
    else
        add_general(shown, f, out);
    if (kind == '%')
        str_addc(out, '%');
    for (size_t i = 0; isupper((unsigned char)f->type) && i < out->len; i++)
        out->at[i] = (char)toupper((unsigned char)out->at[i]);
}

// ---- padding -----------------------------------------------------------------------------------------------------

static tc_value text_value(str_buf *b)
{
    return tc_str((str){str_text(b), b->len});
}

// [digits] with separators, and zeros in front until there are [width] characters.
static str grouped(tc *tx, str digits, char separator, int group, int64_t width)
{
    str_buf reversed, out;
    str_buf_init(&reversed, tx->arena);
    str_buf_init(&out, tx->arena);
    size_t done = 0;
    for (int count = 0; done < digits.len || (int64_t)reversed.len < width; count++) {
        if (separator && count && count % group == 0)
            str_addc(&reversed, separator);
        str_addc(&reversed, done < digits.len ? digits.at[digits.len - 1 - done] : '0');
        done++;
    }
    for (size_t i = reversed.len; i-- > 0;)
        str_addc(&out, reversed.at[i]);
    return (str){str_text(&out), out.len};
}

static tc_value aligned(tc *tx, str prefix, str body, const spec *f, char fallback)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    int64_t missing = f->width - (int64_t)(tc_text_len(prefix) + tc_text_len(body));
    char align = f->align ? f->align : fallback;
    int64_t before = missing <= 0 ? 0 : align == '>' || align == '=' ? missing : align == '^' ? missing / 2 : 0;
    if (align == '=')
        str_add(&b, prefix);
    for (int64_t i = 0; i < before; i++)
        str_add(&b, f->fill);
    if (align != '=')
        str_add(&b, prefix);
    str_add(&b, body);
    for (int64_t i = before; i < missing; i++)
        str_add(&b, f->fill);
    return text_value(&b);
}

// A number: [prefix] is its sign and 0x, [text] its digits and what follows them.
static tc_value number_text(tc *tx, str prefix, str text, const spec *given, int group)
{
    spec own = *given, *f = &own;
    if (f->zeros)
        f->align = '=';
    size_t whole = 0;
    while (whole < text.len && isxdigit((unsigned char)text.at[whole]) &&
           (group == 4 || isdigit((unsigned char)text.at[whole])))
        whole++;
    str rest = {text.at + whole, text.len - whole};
    bool zeros = f->align == '=' && str_equal(f->fill, STR("0")) && whole;
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_add(&b, grouped(tx, (str){text.at, whole}, f->grouping, group,
                        zeros ? f->width - (int64_t)(prefix.len + rest.len) : 0));
    str_add(&b, rest);
    return aligned(tx, prefix, (str){str_text(&b), b.len}, f, '>');
}

static str sign_of(bool negative, const spec *f)
{
    return negative ? STR("-") : f->sign == '+' ? STR("+") : f->sign == ' ' ? STR(" ") : STR("");
}

void tc_digits(tc_int v, int base, bool upper, str_buf *out)
{
    char digits[130];
    int at = sizeof digits;
    unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    do {
        char c = "0123456789abcdef"[(unsigned)(rest % (unsigned)base)];
        digits[--at] = upper ? (char)toupper((unsigned char)c) : c;
        rest /= (unsigned)base;
    } while (rest);
    str_add(out, (str){digits + at, sizeof digits - (size_t)at});
}

static tc_value format_int(tc *tx, tc_int v, const spec *f)
{
    str_buf prefix, digits;
    str_buf_init(&prefix, tx->arena);
    str_buf_init(&digits, tx->arena);
    char kind = (char)tolower((unsigned char)f->type);
    int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    str_add(&prefix, sign_of(v < 0, f));
    if (f->alternate && base != 10)
        str_addf(&prefix, "0%c", f->type);
    tc_digits(v, base, f->type == 'X', &digits);
    return number_text(tx, (str){str_text(&prefix), prefix.len}, (str){str_text(&digits), digits.len}, f,
                       base == 10 ? 3 : 4);
}

// Whether no digit before the exponent is other than 0.
static bool shows_zero(str digits)
{
    for (size_t i = 0; i < digits.len && tolower((unsigned char)digits.at[i]) != 'e'; i++)
        if (digits.at[i] >= '1' && digits.at[i] <= '9')
            return false;
    return true;
}

static tc_value format_float(tc *tx, double v, const spec *f)
{
    str_buf text;
    str_buf_init(&text, tx->arena);
    add_float(v, f, &text);
    bool negative = signbit(v) && !isnan(v);
    if (f->no_negative_zero && isfinite(v) && shows_zero((str){str_text(&text), text.len}))
        negative = false;
    return number_text(tx, sign_of(negative, f), (str){str_text(&text), text.len}, f, 3);
}

static tc_value format_text(tc *tx, tc_value v, const spec *f)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    tc_to_text(tx, v, &b);
    str s = {str_text(&b), b.len};
    if (f->precision >= 0)
        s = tc_text_slice(s, 0, (size_t)f->precision);
    return aligned(tx, STR(""), s, f, '<');
}

static bool is_integer(tc_value v)
{
    return v.kind == TC_INT || v.kind == TC_BOOL;
}

// Whether a specification may be used for such a value.
static bool suits(tc_value v, const spec *f)
{
    bool container = v.kind == TC_NONE || v.kind == TC_LIST || v.kind == TC_TUPLE || v.kind == TC_DICT ||
                     v.kind == TC_SET || v.kind == TC_RECORD;
    bool of_float = f->type && strchr("eEfFgGn%", f->type), of_int = f->type && strchr("dxXobcn", f->type);
    if (!tc_is_number(v))
        return !container && (!f->type || f->type == 's') && !f->sign && !f->grouping && !f->alternate &&
               !f->no_negative_zero && f->align != '=';
    if (f->grouping && (f->type == 'n' || f->type == 'c' || (f->grouping == ',' && f->type && strchr("xXob", f->type))))
        return false;
    if (!is_integer(v))
        return !f->type || of_float;
    if (f->no_negative_zero && (of_int || !f->type))
        return false;
    if (f->type == 'c')
        return !f->sign && !f->alternate && f->precision < 0;
    return of_int || !f->type ? f->precision < 0 || f->type == 'n' : of_float;
}

tc_value tc_format_spec(tc *tx, tc_value v, str text, src_span span)
{
    spec f;
    if (!text.len) {
        str_buf b;
        str_buf_init(&b, tx->arena);
        tc_to_text(tx, v, &b);
        return text_value(&b);
    }
    if (!parse_spec(text, &f) || !suits(v, &f))
        return TC_ERR(tx, HDS0288, span, arena_strndup(tx->arena, text.at, text.len), tc_describe(tx, v));
    if (!tc_is_number(v))
        return format_text(tx, v, &f);
    tc_int i = v.kind == TC_INT ? v.i : v.kind == TC_BOOL ? v.b : 0;
    if (is_integer(v) && f.type == 'c') {
        tc_value c = tc_of_char(tx, i);
        return c.kind == TC_STR ? aligned(tx, STR(""), c.s, &f, '>')
                                : TC_ERR(tx, HDS0288, span, "c", tc_describe(tx, v));
    }
    if (is_integer(v) && (!f.type || strchr("dxXobn", f.type)))
        return format_int(tx, i, &f);
    return format_float(tx, v.kind == TC_FLOAT ? v.f : (double)i, &f);
}

// ---- '…'.format(…) -----------------------------------------------------------------------------------------------

typedef struct format_run {
    tc *tx;
    tc_args *args;
    size_t next; // argument of the next {}
    int depth;
} format_run;

static bool expand(format_run *r, str s, str_buf *out);

static const tc_value *argument(format_run *r, str name)
{
    size_t seen = 0, index = r->next;
    if (!name.len)
        r->next++;
    else if (isdigit((unsigned char)name.at[0]))
        index = (size_t)strtoul(arena_strndup(r->tx->arena, name.at, name.len), NULL, 10);
    else
        index = SIZE_MAX;
    for (size_t i = 0; i < r->args->list.len; i++) {
        const tc_arg *a = &r->args->list.at[i];
        if (a->name ? name.len && str_equal(sym_str(a->name), name) : seen++ == index)
            return &a->value;
    }
    return NULL;
}

// What follows the name in a field: .attribute and [index].
static tc_value part_of(format_run *r, tc_value v, str path)
{
    tc *tx = r->tx;
    src_span span = r->args->span;
    while (path.len && !tc_is_poison(v)) {
        bool index = path.at[0] == '[';
        size_t end = 1;
        while (end < path.len && (index ? path.at[end] != ']' : path.at[end] != '.' && path.at[end] != '['))
            end++;
        str key = {path.at + 1, end - 1};
        if (index) {
            bool number = key.len && isdigit((unsigned char)key.at[0]);
            tc_value at = number ? tc_of_int(atoll(arena_strndup(tx->arena, key.at, key.len))) : tc_str(key);
            v = tc_index_value(tx, v, &at, 1, span);
            end += end < path.len;
        } else {
            v = tc_attribute(tx, v, sym_intern(tx->syms, key), span, span);
        }
        path.at += end;
        path.len -= end;
    }
    return v;
}

static size_t until(str s, size_t from, const char *stops)
{
    while (from < s.len && !strchr(stops, s.at[from]))
        from++;
    return from;
}

static bool expand_field(format_run *r, str field, str_buf *out)
{
    tc *tx = r->tx;
    size_t name_end = until(field, 0, ".[!:"), path_end = until(field, name_end, "!:");
    str name = {field.at, name_end};
    const tc_value *v = argument(r, name);
    if (!v) {
        tc_error(tx, HDS0287, r->args->span, arena_strndup(tx->arena, name.at, name.len));
        return false;
    }
    tc_value shown = part_of(r, *v, (str){field.at + name_end, path_end - name_end});
    if (tc_is_poison(shown))
        return false;
    size_t at = path_end;
    if (at + 1 < field.len && field.at[at] == '!') {
        shown = tc_converted(tx, shown, field.at[at + 1]);
        at += 2;
    }
    str_buf spec_text;
    str_buf_init(&spec_text, tx->arena);
    if (at < field.len &&
        (field.at[at] != ':' || !expand(r, (str){field.at + at + 1, field.len - at - 1}, &spec_text))) {
        if (field.at[at] != ':')
            tc_error(tx, HDS0288, r->args->span, arena_strndup(tx->arena, field.at, field.len), tc_describe(tx, shown));
        return false;
    }
    tc_value text = tc_format_spec(tx, shown, (str){str_text(&spec_text), spec_text.len}, r->args->span);
    if (text.kind == TC_STR)
        str_add(out, text.s);
    return text.kind == TC_STR;
}

static bool unbalanced(format_run *r, str s)
{
    tc_error(r->tx, HDS0287, r->args->span, arena_strndup(r->tx->arena, s.at, s.len));
    return false;
}

static bool expand(format_run *r, str s, str_buf *out)
{
    if (r->depth > 1)
        return unbalanced(r, s);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c != '{' && c != '}') {
            str_addc(out, c);
            continue;
        }
        if (i + 1 < s.len && s.at[i + 1] == c) {
            str_addc(out, s.at[i++]);
            continue;
        }
        size_t end = i + 1, open = 1;
        while (end < s.len && (open += s.at[end] == '{', open -= s.at[end] == '}'))
            end++;
        if (c == '}' || end == s.len)
            return unbalanced(r, s);
        r->depth++;
        bool ok = expand_field(r, (str){s.at + i + 1, end - i - 1}, out);
        r->depth--;
        if (!ok)
            return false;
        i = end;
    }
    return true;
}

tc_value tc_format_method(tc *tx, str s, tc_args *args)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    format_run r = {tx, args, 0, 0};
    return expand(&r, s, &out) ? text_value(&out) : tc_poison();
}
