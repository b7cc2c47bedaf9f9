#include "diag/diag.h"
#include "diag/diag_priv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_ERROR_LIMIT = 20 };

typedef struct row {
    const char *name, *slug, *group, *text;
    diag_severity severity;
} row;

static const row rows[DIAG__COUNT] = {
    [DIAG_NONE] = {"", "", "", "", DIAG_NOTE},
#define DIAG(code, slug, severity, group, text) [code] = {#code, slug, group, text, severity},
#include "diag/diag.def"
#undef DIAG
};

void diag_init(diag_context *dx, arena *a, src_map *sources)
{
    *dx = (diag_context){.arena = a, .sources = sources, .error_limit = DEFAULT_ERROR_LIMIT};
    map_init(&dx->seen, a);
}

// ---- reporting --------------------------------------------------------------------------------------------------

static str_buf key_of(diag_context *dx, const diag *d)
{
    str_buf key;
    str_buf_init(&key, dx->arena);
    str_addf(&key, "%d %u %u ", (int)d->code, d->span.begin, d->span.end);
    str_adds(&key, d->message);
    return key;
}

// Whether the same was said before; remembers it if not.
static bool is_repeated(diag_context *dx, const diag *d)
{
    str_buf key = key_of(dx, d);
    if (map_get(&dx->seen, key.at, key.len))
        return true;
    map_put(&dx->seen, key.at, key.len, dx);
    return false;
}

static void record(diag_context *dx, diag *d)
{
    if (d->severity == DIAG_ERROR)
        dx->error_count++;
    if (d->severity == DIAG_WARNING)
        dx->warning_count++;
    if (dx->muted || (d->severity == DIAG_ERROR && diag_too_many(dx)) || is_repeated(dx, d))
        return;
    if (d->severity == DIAG_ERROR)
        dx->shown_errors++;
    if (d->severity == DIAG_WARNING)
        dx->shown_warnings++;
    VEC_PUSH(dx->arena, &dx->all, d);
}

diag_mark diag_here(const diag_context *dx)
{
    return (diag_mark){dx->all.len, dx->error_count, dx->warning_count, dx->shown_errors, dx->shown_warnings};
}

void diag_rewind(diag_context *dx, diag_mark to)
{
    for (size_t i = to.count; i < dx->all.len; i++) {
        str_buf key = key_of(dx, dx->all.at[i]);
        map_put(&dx->seen, key.at, key.len, NULL);
    }
    dx->all.len = to.count;
    dx->error_count = to.errors;
    dx->warning_count = to.warnings;
    dx->shown_errors = to.shown_errors;
    dx->shown_warnings = to.shown_warnings;
}

diag *diag_vreport(diag_context *dx, diag_code code, src_span span, va_list args)
{
    diag *d = ARENA_NEW(dx->arena, diag);
    d->code = code;
    d->severity = rows[code].severity;
    if (d->severity == DIAG_WARNING && dx->warnings_are_errors)
        d->severity = DIAG_ERROR;
    d->span = span;
    d->message = arena_vprintf(dx->arena, rows[code].text, args);
    d->context = dx;
    if (!dx->off[code])
        record(dx, d);
    return d;
}

diag *diag_report(diag_context *dx, diag_code code, src_span span, ...)
{
    va_list args;
    va_start(args, span);
    diag *d = diag_vreport(dx, code, span, args);
    va_end(args);
    return d;
}

void diag_under(diag *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    d->label = arena_vprintf(d->context->arena, format, args);
    va_end(args);
}

static void add_part(diag *d, diag_part part)
{
    VEC_PUSH(d->context->arena, &d->parts, part);
}

void diag_label(diag *d, src_span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_part(d, (diag_part){DIAG_PART_LABEL, span, arena_vprintf(d->context->arena, format, args)});
    va_end(args);
}

void diag_note(diag *d, src_span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_part(d, (diag_part){DIAG_PART_NOTE, span, arena_vprintf(d->context->arena, format, args)});
    va_end(args);
}

void diag_help(diag *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_part(d, (diag_part){DIAG_PART_HELP, {0, 0}, arena_vprintf(d->context->arena, format, args)});
    va_end(args);
}

void diag_fix(diag *d, src_span span, const char *text)
{
    add_part(d, (diag_part){DIAG_PART_FIX, span, arena_strdup(d->context->arena, text)});
}

bool diag_too_many(const diag_context *dx)
{
    return dx->error_limit > 0 && dx->shown_errors >= dx->error_limit;
}

const char *diag_summary(const diag_context *dx)
{
    const char *errors = "", *warnings = "";
    if (dx->shown_errors)
        errors = arena_printf(dx->arena, "%d error%s", dx->shown_errors, dx->shown_errors == 1 ? "" : "s");
    if (dx->shown_warnings)
        warnings = arena_printf(dx->arena, "%d warning%s", dx->shown_warnings, dx->shown_warnings == 1 ? "" : "s");
    return arena_printf(dx->arena, "%s%s%s", errors, *errors && *warnings ? ", " : "", warnings);
}

// ---- the registry -----------------------------------------------------------------------------------------------

const char *diag_name(diag_code code)
{
    return rows[code].name;
}

const char *diag_slug(diag_code code)
{
    return rows[code].slug;
}

const char *diag_group(diag_code code)
{
    return rows[code].group;
}

diag_severity diag_default_severity(diag_code code)
{
    return rows[code].severity;
}

const char *diag_severity_name(diag_severity severity)
{
    return severity == DIAG_ERROR ? "error" : severity == DIAG_WARNING ? "warning" : "note";
}

// The number in "HDS0203", "hds203" or "203"; -1 for anything else.
static long number_of(const char *name)
{
    if (strncasecmp(name, "hds", 3) == 0)
        name += 3;
    if (!*name || strspn(name, "0123456789") != strlen(name) || strlen(name) > 4)
        return -1;
    return strtol(name, NULL, 10);
}

bool diag_find(const char *name, diag_code *out)
{
    long number = number_of(name);
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++) {
        if ((number >= 0 && number_of(rows[code].name) == number) || strcmp(rows[code].slug, name) == 0) {
            *out = (diag_code)code;
            return true;
        }
    }
    return false;
}

bool diag_switch_group(diag_context *dx, const char *flag)
{
    bool off = strncmp(flag, "no-", 3) == 0;
    const char *group = off ? flag + 3 : flag;
    bool found = false;
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT && *group; code++) {
        if (strcmp(rows[code].group, group) == 0) {
            dx->off[code] = off;
            found = true;
        }
    }
    return found;
}

// ---- order ------------------------------------------------------------------------------------------------------

static void merge(const src_map *sources, diag **to, diag **from, size_t begin, size_t middle, size_t end)
{
    size_t left = begin, right = middle;
    for (size_t i = begin; i < end; i++) {
        bool take_right = left == middle || (right < end && src_is_after(sources, from[left]->span, from[right]->span));
        to[i] = take_right ? from[right++] : from[left++];
    }
}

// A merge sort, because it is stable.
diag **diag_sorted(const diag_context *dx)
{
    size_t len = dx->all.len;
    diag **from = ARENA_ARRAY(dx->arena, diag *, len), **to = ARENA_ARRAY(dx->arena, diag *, len);
    if (len)
        memcpy(from, dx->all.at, len * sizeof *from);
    for (size_t width = 1; width < len; width *= 2) {
        for (size_t begin = 0; begin < len; begin += 2 * width) {
            size_t middle = begin + width < len ? begin + width : len;
            size_t end = middle + width < len ? middle + width : len;
            merge(dx->sources, to, from, begin, middle, end);
        }
        diag **swap = from;
        from = to;
        to = swap;
    }
    return from;
}
