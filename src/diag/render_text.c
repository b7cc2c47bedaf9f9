// Messages for people:
//
//     gemm.hds:41:21: error[HDS0123]: 'copy_map' needs 128 workers but the block has 96
//        41 |         for i, k in copy_map.on(threadIdx.x):
//           |                     ^^^^^^^^ 16 x 8 spatial workers
//       note: in gemm[f16, BM=64], instantiated at attention.hds:12:5
//       help: launch the kernel with 128 threads

#include "diag/diag_priv.h"

#include <string.h>
#include <utf8proc.h>

enum { TAB_STOP = 4, LEAST_GUTTER = 5, WIDEST_LINE = 200, NARROWEST_LINE = 40, CONTEXT_BEFORE = 60 };

#define PLAIN "\033[0m"
#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define GREEN "\033[1;32m"
#define BLUE "\033[1;34m"
#define MAGENTA "\033[1;35m"
#define CYAN "\033[1;36m"

typedef struct renderer {
    diag_context *dx;
    str_buf *out;
    diag_style style;
    int gutter; // columns of the line number, the same for all snippets of one message
} renderer;

static void paint(renderer *r, const char *color, const char *text)
{
    if (r->style.color)
        str_adds(r->out, color);
    str_adds(r->out, text);
    if (r->style.color)
        str_adds(r->out, PLAIN);
}

static const char *color_of(diag_severity severity)
{
    return severity == DIAG_ERROR ? RED : severity == DIAG_WARNING ? MAGENTA : CYAN;
}

// ---- what a terminal can show -----------------------------------------------------------------------------------

// One character of a source line: its bytes, and the columns (from 0) that its rendering takes.
typedef struct cell {
    size_t begin, end;
    size_t column, width;
    bool escaped; // shown as \xNN, byte by byte
    bool tab;
} cell;

// Controls, invisible formatting (which can reorder text on screen) and unassigned codes are not shown as they are.
static bool is_printable(utf8proc_int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    default: return true;
    }
}

// Moves [c] to the next character; a zeroed cell is before the first. False at the end of the line.
static bool cell_next(str line, cell *c)
{
    size_t begin = c->end, column = c->column + c->width;
    if (begin >= line.len)
        return false;
    utf8proc_int32_t code = (unsigned char)line.at[begin];
    utf8proc_ssize_t size = 1;
    if (code >= 0x80)
        size = utf8proc_iterate((const utf8proc_uint8_t *)line.at + begin, (utf8proc_ssize_t)(line.len - begin), &code);
    *c = (cell){.begin = begin, .end = begin + (size > 0 ? (size_t)size : 1), .column = column};
    c->tab = code == '\t';
    c->escaped = !c->tab && (size <= 0 || (code < 0x80 ? code < 0x20 || code == 0x7f : !is_printable(code)));
    if (c->tab)
        c->width = TAB_STOP - column % TAB_STOP;
    else if (c->escaped)
        c->width = 4 * (c->end - c->begin);
    else
        c->width = code < 0x80 ? 1 : (size_t)utf8proc_charwidth(code);
    return true;
}

static void add_cell(renderer *r, str line, const cell *c)
{
    if (c->tab) {
        for (size_t i = 0; i < c->width; i++)
            str_addc(r->out, ' ');
    } else if (c->escaped) {
        for (size_t i = c->begin; i < c->end; i++)
            str_addf(r->out, "\\x%02X", (unsigned char)line.at[i]);
    } else {
        str_add(r->out, (str){line.at + c->begin, c->end - c->begin});
    }
}

// A message may quote the source, so it gets the same care. Its line breaks stay, indented under its beginning.
static void add_text(renderer *r, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, "\n");
        str line = {text, len};
        for (cell c = {0}; cell_next(line, &c);)
            add_cell(r, line, &c);
        if (!text[len])
            return;
        str_adds(r->out, "\n    ");
        text += len + 1;
    }
}

// Columns of the bytes [begin, end) of a line; an empty range gets one column, also past the end of the line.
static void columns_of(str line, size_t begin, size_t end, size_t *first, size_t *past)
{
    bool found = false;
    cell c = {0};
    while (cell_next(line, &c) && c.begin < (end > begin ? end : begin + 1)) {
        if (c.end <= begin)
            continue;
        if (!found)
            *first = c.column;
        found = true;
        *past = c.column + c.width;
    }
    if (!found)
        *first = *past = c.column + c.width;
    if (end <= begin || *past <= *first)
        *past = *first + 1;
}

// ---- snippets ---------------------------------------------------------------------------------------------------

// Something to underline on the line of a snippet.
typedef struct mark {
    size_t first, past; // columns
    char sign;          // '^' of the message itself, '-' of a label
    const char *color;
    const char *text;
} mark;

typedef struct snippet {
    str line;
    uint32_t number;
    VEC(mark) marks;
} snippet;

// The columns of a line that are shown.
typedef struct window {
    size_t first, past;
} window;

static void add_gutter(renderer *r, uint32_t number)
{
    if (r->style.color)
        str_adds(r->out, BLUE);
    if (number)
        str_addf(r->out, "%*u |", r->gutter, number);
    else
        str_addf(r->out, "%*s |", r->gutter, "");
    if (r->style.color)
        str_adds(r->out, PLAIN);
}

static size_t line_width(str line)
{
    cell c = {0};
    while (cell_next(line, &c))
        continue;
    return c.column + c.width;
}

// The whole line where it fits, else a part that starts a little before the first mark.
static window window_of(const renderer *r, const snippet *s)
{
    size_t room = WIDEST_LINE;
    if (r->style.width > 0) {
        int left = r->style.width - r->gutter - 3;
        room = left > NARROWEST_LINE ? (size_t)left : NARROWEST_LINE;
    }
    size_t width = line_width(s->line), caret = s->marks.at[0].first;
    if (width <= room || caret < room / 2)
        return (window){0, room};
    size_t before = room / 2 < CONTEXT_BEFORE ? room / 2 : CONTEXT_BEFORE;
    return (window){caret - before, caret - before + room};
}

static void add_line(renderer *r, const snippet *s, window w)
{
    enum { DOTS = 3 };
    add_gutter(r, s->number);
    bool cut_left = w.first > 0, cut_right = line_width(s->line) > w.past;
    if (s->line.len)
        str_addc(r->out, ' ');
    size_t column = w.first + (cut_left ? DOTS : 0), last = w.past - (cut_right ? DOTS : 0);
    if (cut_left)
        str_adds(r->out, "...");
    for (cell c = {0}; cell_next(s->line, &c) && c.column + c.width <= last;) {
        if (c.column < w.first + (cut_left ? DOTS : 0))
            continue;
        for (; column < c.column; column++)
            str_addc(r->out, ' ');
        add_cell(r, s->line, &c);
        column = c.column + c.width;
    }
    if (cut_right)
        str_adds(r->out, "...");
    str_addc(r->out, '\n');
}

static void add_mark(renderer *r, const mark *m, window w)
{
    size_t first = m->first < w.first ? w.first : m->first, past = m->past > w.past ? w.past : m->past;
    bool visible = m->first < w.past && m->past > w.first;
    if (!visible && !(m->text && *m->text))
        return;
    add_gutter(r, 0);
    str_addc(r->out, ' ');
    for (size_t i = w.first; visible && i < first; i++)
        str_addc(r->out, ' ');
    if (r->style.color)
        str_adds(r->out, m->color);
    for (size_t i = first; visible && i < past; i++)
        str_addc(r->out, m->sign);
    if (m->text && *m->text) {
        if (visible)
            str_addc(r->out, ' ');
        add_text(r, m->text);
    }
    if (r->style.color)
        str_adds(r->out, PLAIN);
    str_addc(r->out, '\n');
}

static void add_snippet(renderer *r, const snippet *s)
{
    window w = window_of(r, s);
    add_line(r, s, w);
    for (size_t i = 0; i < s->marks.len; i++)
        add_mark(r, &s->marks.at[i], w);
}

// The part of [span] on the line of [location], where it begins. A span over several lines is marked to the line's end.
static mark mark_of(renderer *r, const src_location *location, src_span span, char sign, const char *color,
                    const char *text)
{
    str line = src_line(r->dx->sources, location->file, location->line);
    size_t begin = location->column - 1, end = span.end > span.begin ? begin + (span.end - span.begin) : begin;
    mark m = {.sign = sign, .color = color, .text = text};
    columns_of(line, begin, end > line.len && begin < line.len ? line.len : end, &m.first, &m.past);
    return m;
}

static snippet snippet_of(renderer *r, const src_location *location)
{
    return (snippet){.line = src_line(r->dx->sources, location->file, location->line), .number = location->line};
}

// ---- messages ---------------------------------------------------------------------------------------------------

static void add_location(renderer *r, const src_location *location)
{
    add_text(r, location->file->name);
    str_addf(r->out, ":%u:%u", location->line, location->column);
}

static void add_head(renderer *r, const diag *d, const src_location *location)
{
    if (r->style.color)
        str_adds(r->out, BOLD);
    if (location->file) {
        add_location(r, location);
        str_adds(r->out, ": ");
    }
    if (r->style.color)
        str_adds(r->out, color_of(d->severity));
    str_addf(r->out, "%s[%s]:", diag_severity_name(d->severity), diag_name(d->code));
    if (r->style.color)
        str_adds(r->out, PLAIN BOLD);
    str_addc(r->out, ' ');
    add_text(r, d->message);
    if (r->style.color)
        str_adds(r->out, PLAIN);
    str_addc(r->out, '\n');
}

static void set_gutter(renderer *r, const diag *d)
{
    uint32_t largest = src_location_of(r->dx->sources, d->span.begin).line;
    for (size_t i = 0; i < d->parts.len; i++) {
        uint32_t line = src_location_of(r->dx->sources, d->parts.at[i].span.begin).line;
        if (d->parts.at[i].kind == DIAG_PART_LABEL && line > largest)
            largest = line;
    }
    r->gutter = LEAST_GUTTER;
    for (uint32_t rest = largest / 100000; rest; rest /= 10)
        r->gutter++;
}

static bool is_on(const src_location *a, const src_location *b)
{
    return a->file == b->file && a->line == b->line;
}

static bool is_label(const diag *d, size_t i, src_location *location, const renderer *r)
{
    const diag_part *part = &d->parts.at[i];
    *location = src_location_of(r->dx->sources, part->span.begin);
    return part->kind == DIAG_PART_LABEL && location->file;
}

// The labels from [from] on that lie on the line of [location].
static void add_labels_on(renderer *r, const diag *d, size_t from, const src_location *location, snippet *s)
{
    src_location other;
    for (size_t i = from; i < d->parts.len; i++) {
        if (is_label(d, i, &other, r) && is_on(&other, location))
            VEC_PUSH(r->dx->arena, &s->marks, mark_of(r, &other, d->parts.at[i].span, '-', BLUE, d->parts.at[i].text));
    }
}

static bool is_shown_before(renderer *r, const diag *d, size_t index, const src_location *location)
{
    src_location other = src_location_of(r->dx->sources, d->span.begin);
    if (is_on(&other, location))
        return true;
    for (size_t i = 0; i < index; i++) {
        if (is_label(d, i, &other, r) && is_on(&other, location))
            return true;
    }
    return false;
}

static void add_snippets(renderer *r, const diag *d, const src_location *location)
{
    if (location->file) {
        snippet s = snippet_of(r, location);
        VEC_PUSH(r->dx->arena, &s.marks, mark_of(r, location, d->span, '^', color_of(d->severity), d->label));
        add_labels_on(r, d, 0, location, &s);
        add_snippet(r, &s);
    }
    for (size_t i = 0; i < d->parts.len; i++) {
        src_location other;
        if (!is_label(d, i, &other, r) || is_shown_before(r, d, i, &other))
            continue;
        str_adds(r->out, "  at ");
        add_text(r, other.file->name);
        str_addf(r->out, ":%u\n", other.line);
        snippet s = snippet_of(r, &other);
        add_labels_on(r, d, i, &other, &s);
        add_snippet(r, &s);
    }
}

static void add_note(renderer *r, const diag_part *part)
{
    paint(r, CYAN, "  note:");
    str_addc(r->out, ' ');
    src_location location = src_location_of(r->dx->sources, part->span.begin);
    str text = str_of(part->text);
    if (location.file && str_ends(text, STR(" here")))
        text.len -= strlen(" here");
    add_text(r, arena_strndup(r->dx->arena, text.at, text.len));
    if (location.file) {
        str_adds(r->out, " at ");
        add_location(r, &location);
    }
    str_addc(r->out, '\n');
}

// The source under [span], for 'delete'. A span that is no longer than a line, or its beginning.
static str text_under(renderer *r, const src_location *location, src_span span)
{
    str line = src_line(r->dx->sources, location->file, location->line);
    size_t begin = location->column - 1 < line.len ? location->column - 1 : line.len;
    size_t len = span.end - span.begin;
    return (str){line.at + begin, len < line.len - begin ? len : line.len - begin};
}

// One line, whatever the text: a line break in a fix is shown as the \n that one would type.
static void add_quoted(renderer *r, str text)
{
    str_addc(r->out, '\'');
    for (cell c = {0}; cell_next(text, &c);) {
        if (text.at[c.begin] == '\n')
            str_adds(r->out, "\\n");
        else
            add_cell(r, text, &c);
    }
    str_addc(r->out, '\'');
}

static void add_fix(renderer *r, const diag *d, const diag_part *part)
{
    src_location location = src_location_of(r->dx->sources, part->span.begin);
    bool inserts = part->span.end <= part->span.begin, deletes = !inserts && !*part->text;
    paint(r, GREEN, "  fix:");
    str_adds(r->out, inserts ? " insert " : deletes ? " delete " : " replace by ");
    add_quoted(r, deletes && location.file ? text_under(r, &location, part->span) : str_of(part->text));
    if (location.file && part->span.begin != d->span.begin) {
        str_adds(r->out, " at ");
        add_location(r, &location);
    }
    str_addc(r->out, '\n');
}

static void add_help(renderer *r, const char *text)
{
    paint(r, GREEN, "  help:");
    str_addc(r->out, ' ');
    add_text(r, text);
    str_addc(r->out, '\n');
}

static void add_part(renderer *r, const diag *d, const diag_part *part)
{
    switch (part->kind) {
    case DIAG_PART_LABEL:
        if (!src_location_of(r->dx->sources, part->span.begin).file)
            add_note(r, part);
        break;
    case DIAG_PART_NOTE: add_note(r, part); break;
    case DIAG_PART_HELP: add_help(r, part->text); break;
    case DIAG_PART_FIX: add_fix(r, d, part); break;
    }
}

void diag_render_text(diag_context *dx, str_buf *out, diag_style style)
{
    renderer r = {.dx = dx, .out = out, .style = style};
    diag **all = diag_sorted(dx);
    for (size_t i = 0; i < dx->all.len; i++) {
        src_location location = src_location_of(dx->sources, all[i]->span.begin);
        set_gutter(&r, all[i]);
        add_head(&r, all[i], &location);
        add_snippets(&r, all[i], &location);
        for (size_t k = 0; k < all[i]->parts.len; k++)
            add_part(&r, all[i], &all[i]->parts.at[k]);
    }
}
