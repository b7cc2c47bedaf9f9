// Diagnostics: what is wrong, where, and what to do about it.
//
// Every message has a row in diag.def (code, slug, severity, group, text). Reporting stores an object; rendering, as
// text for people or JSON for tools, happens once at the end. Nothing here prints.
//
//     diag *d = diag_report(dx, HDS0203, span, "tile", 128, 96);
//     diag_label(d, other_span, "declared here");
//     diag_help(d, "launch the kernel with %d threads", 128);
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "diag/source.h"

typedef enum diag_code {
    DIAG_NONE,
#define DIAG(code, slug, severity, group, text) code,
#include "diag/diag.def"
#undef DIAG
    DIAG__COUNT
} diag_code;

typedef enum diag_severity { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } diag_severity;

// A second location, with a label; or (span nowhere) a line of its own.
typedef struct diag_part {
    enum { DIAG_PART_LABEL, DIAG_PART_NOTE, DIAG_PART_HELP, DIAG_PART_FIX } kind;
    src_span span;
    const char *text;  // of a fix: the replacement for [span]
} diag_part;

typedef struct diag {
    diag_code code;
    diag_severity severity;
    src_span span;
    const char *message;
    const char *label;  // a few words under the caret, or NULL
    VEC(diag_part) parts;
    struct diag_context *context;
} diag;

typedef struct diag_context {
    arena *arena;
    src_map *sources;
    VEC(diag *) all;
    int error_count;       // every error reported, also those that were muted, repeated or past the limit
    int warning_count;
    int shown_errors;      // those that [all] holds
    int shown_warnings;
    int error_limit;       // after this many errors [diag_too_many] says stop; 0: no limit
    bool warnings_are_errors;
    bool muted;            // speculative work: nothing is recorded, errors are still counted
    bool off[DIAG__COUNT]; // -Wno-group
    map seen;              // code, span and message of what [all] holds: nothing is said twice
} diag_context;

void diag_init(diag_context *dx, arena *a, src_map *sources);

// Records a message, formatted by the row's text with the arguments that follow. Never returns NULL: what is not
// recorded (muted, switched off, said before, past the limit) is an object that is never shown.
diag *diag_report(diag_context *dx, diag_code code, src_span span, ...);
diag *diag_vreport(diag_context *dx, diag_code code, src_span span, va_list args);
// A few words to print under the main caret.
// A later call replaces the words of an earlier one.
void diag_under(diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A second location in the source.
void diag_label(diag *d, src_span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
// 'note: in f[T=f16], instantiated at file:line:column'. The text renderer adds ' at file:line:column' (a final ' here'
// of the text gives way to it); the span may be nowhere.
void diag_note(diag *d, src_span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
// 'help: …', the smallest change that helps.
void diag_help(diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
// For it: "did you mean 'x'?" with the name nearest to [name], in [a]; NULL if none is near.
const char *diag_suggest(arena *a, const char *name, const char *const *names, size_t count);
// A change that a tool can make: replace [span] by [text]. An empty span inserts, an empty text deletes.
void diag_fix(diag *d, src_span span, const char *text);
// A point to go back to: what was reported since then is forgotten, as if it had never been.
typedef struct diag_mark {
    size_t count;
    int errors, warnings, shown_errors, shown_warnings;
} diag_mark;
diag_mark diag_here(const diag_context *dx);
void diag_rewind(diag_context *dx, diag_mark to);
// Whether [error_limit] errors are recorded. Further ones are counted and dropped.
bool diag_too_many(const diag_context *dx);
// '2 errors, 1 warning' of what is recorded; "" when that is nothing.
const char *diag_summary(const diag_context *dx);

// The registry.
const char *diag_name(diag_code code);  // "HDS0203"
const char *diag_slug(diag_code code);
diag_severity diag_default_severity(diag_code code);
const char *diag_group(diag_code code);  // "" where no -W flag switches it
bool diag_find(const char *name, diag_code *out);  // by code ("HDS0203", "hds0203", "0203", "203") or slug
// Switches a warning group on or off ("shadow", "no-shadow"); false if there is no such group.
bool diag_switch_group(diag_context *dx, const char *flag);

// Rendering, sorted by location, notes after their message.
typedef struct diag_style {
    bool color;
    int width;  // columns of the terminal; 0: no limit
} diag_style;
// All messages by location: files in the order they were added, then positions, then the order of reporting; messages
// without location come last. In the arena of [dx].
diag **diag_sorted(const diag_context *dx);
void diag_render_text(diag_context *dx, str_buf *out, diag_style style);
// One JSON object {"diagnostics": […]}; of each: code, slug, severity, message, file, line, column, end_line, end_column
// (bytes, from 1), label, parts, fixes.
void diag_render_json(diag_context *dx, str_buf *out);
