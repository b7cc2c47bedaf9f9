// Formats of PLAN_PRINT: those of C's printf without '*', by the types of a plan's values.
#include <stdio.h>
#include <string.h>

#include "plan/build.h"

// Of widths and precisions: no text from a file asks for megabytes of blanks.
enum { MOST_DIGITS = 3 };

typedef struct conversion {
    char flags[24];  // flags, width and precision as written
    char letter;
} conversion;

// [at]: behind the '%'. What stands behind the conversion; NULL: it is none that is taken.
static const char *read_conversion(const char *at, conversion *c)
{
    size_t len = strspn(at, "-+ #0123456789.");
    if (len >= sizeof c->flags)
        return NULL;
    for (size_t i = 0, digits = 0; i < len; i++) {
        digits = at[i] >= '0' && at[i] <= '9' ? digits + 1 : 0;
        if (digits > MOST_DIGITS)
            return NULL;
    }
    memcpy(c->flags, at, len);
    c->flags[len] = 0;
    at += len;
    at += strspn(at, "hlLzjt");
    c->letter = *at;
    return *at && strchr("diuxXocpfFeEgGaA", *at) ? at + 1 : NULL;
}

static bool takes(char letter, plan_type t)
{
    if (letter == 'p')
        return t == DT_NONE;
    return strchr("diuxXoc", letter) ? t == DT_BOOL || dt_is_int(t) : dt_is_float(t);
}

// The next conversion from *[at] on, which is then behind it, and what stands before it in [out] (NULL: dropped); false at the end.
// Behind a conversion that is not taken, *[at] is NULL.
static bool next_conversion(const char **at, conversion *c, str_buf *out)
{
    for (; **at; *at += **at == '%' ? 2 : 1) {
        if ((*at)[0] == '%' && (*at)[1] != '%') {
            *at = read_conversion(*at + 1, c);
            return true;
        }
        if (out)
            str_addc(out, **at);
    }
    return false;
}

bool plan_format_takes(const char *format, const plan_type *types, int count)
{
    int arg = 0;
    for (conversion c; next_conversion(&format, &c, NULL); arg++)
        if (!format || arg == count || !takes(c.letter, types[arg]))
            return false;
    return arg == count;
}

str plan_next_conversion(const char **format, str_buf *before)
{
    const char *at = *format;
    while (*at && (*at != '%' || at[1] == '%')) {
        size_t len = *at == '%' ? 2 : 1;
        str_add(before, (str){at, len});
        at += len;
    }
    const char *begin = at;
    if (*at) {
        at += 1 + strspn(at + 1, "-+ #0123456789.hlLzjt");
        at += *at != 0;
    }
    *format = at;
    return at > begin ? (str){begin, (size_t)(at - begin)} : (str){0};
}

// The builder has checked the formats.
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void print_value(str_buf *out, const conversion *c, plan_type t, uint64_t bits)
{
    char format[40], value[512] = "";
    bool is_integer = t == DT_BOOL || t == DT_NONE || dt_is_int(t);
    bool is_long = is_integer && c->letter != 'c' && c->letter != 'p';
    snprintf(format, sizeof format, "%%%s%s%c", c->flags, is_long ? "ll" : "", c->letter);
    if (!is_integer)
        snprintf(value, sizeof value, format, dt_to_double(t, bits));
    else if (c->letter == 'c')
        snprintf(value, sizeof value, format, (int)(unsigned char)bits);
    else if (c->letter == 'p')
        snprintf(value, sizeof value, "0x%llx", (unsigned long long)bits);
    else if (c->letter == 'd' || c->letter == 'i')
        snprintf(value, sizeof value, format, (long long)bits);
    else
        snprintf(value, sizeof value, format, (unsigned long long)(t != DT_NONE && dt_bits(t) <= 32 ? (uint32_t)bits : bits));
    str_adds(out, value);
}

const char *plan_format_text(arena *a, str written, const char *text)
{
    const char *format = arena_strndup(a, written.at, written.len);
    size_t room = strlen(text) + 1000, longest = 0;
    for (size_t i = 0, row = 0; i < written.len; i++) {
        row = format[i] >= '0' && format[i] <= '9' ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    if (longest > MOST_DIGITS || !written.len || format[written.len - 1] != 's')
        return NULL;
    char *out = arena_alloc(a, room);
    snprintf(out, room, format, text);
    return out;
}

void plan_format(str_buf *out, const char *format, const plan_type *types, const uint64_t *bits)
{
    int arg = 0;
    for (conversion c; next_conversion(&format, &c, out) && format; arg++)
        print_value(out, &c, types[arg], bits[arg]);
}
