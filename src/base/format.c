#include "base/format.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// What fits is written; [len] counts on beyond it.
typedef struct output {
    char *at;
    size_t size, len;
} output;

static void put(output *o, const char *text, size_t len)
{
    if (o->len < o->size) {
        size_t room = o->size - o->len;
        memcpy(o->at + o->len, text, len < room ? len : room);
    }
    o->len += len;
}

static void put_number(output *o, unsigned long long magnitude, bool negative)
{
    char digits[24], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (negative)
        *--at = '-';
    put(o, at, (size_t)(digits + sizeof digits - at));
}

static void put_signed(output *o, long long value)
{
    put_number(o, value < 0 ? -(unsigned long long)value : (unsigned long long)value, value < 0);
}

// %s %c %d %u %ld %lu %lld %llu %%: the length of the text. -1 where another directive stands, such as one with a width.
static int format_plain(char *out, size_t size, const char *format, va_list args)
{
    output o = {out, size ? size - 1 : 0, 0};
    for (const char *at = format; *at;) {
        const char *directive = strchr(at, '%');
        size_t text = directive ? (size_t)(directive - at) : strlen(at);
        put(&o, at, text);
        at += text;
        if (!directive)
            break;
        int longs = at[1] != 'l' ? 0 : at[2] != 'l' ? 1 : 2;
        at += longs + 1;
        switch (*at++) {
        case 's': {
            const char *s = longs ? NULL : va_arg(args, const char *);
            if (!s)
                return -1;
            put(&o, s, strlen(s));
            break;
        }
        case 'c': {
            char c = (char)va_arg(args, int);
            put(&o, &c, 1);
            break;
        }
        case 'd':
            put_signed(&o, longs > 1 ? va_arg(args, long long) : longs ? va_arg(args, long) : va_arg(args, int));
            break;
        case 'u':
            put_number(&o,
                       longs > 1 ? va_arg(args, unsigned long long)
                       : longs   ? va_arg(args, unsigned long)
                                 : va_arg(args, unsigned),
                       false);
            break;
        case '%': put(&o, "%", 1); break;
        default: return -1;
        }
    }
    if (size)
        out[o.len < size ? o.len : size - 1] = '\0';
    return (int)o.len;
}

int str_vformat(char *out, size_t size, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = format_plain(out, size, format, again);
    va_end(again);
    if (len >= 0)
        return len;
    va_copy(again, args);
    len = vsnprintf(out, size, format, again);
    va_end(again);
    return len;
}
