// The layout filter: Python's lines, blocks and brackets, between scanner and parser.
#include "frontend/lex.h"

#include <string.h>

#include "grammar/hds.h"

// Both halves in one word: put together from two, a span would be read back (as one) before its halves have left the
// store buffer, once for every token.
src_span lex_span(const lex_state *s, const char *begin, const char *end)
{
    uint64_t first = s->base + (uint32_t)(begin - s->text), second = s->base + (uint32_t)(end - s->text);
    uint64_t word = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? second << 32 | first : first << 32 | second;
    src_span span;
    memcpy(&span, &word, sizeof span);
    return span;
}

str lex_text(const lex_state *s, lex_token token)
{
    return (str){s->text + (token.span.begin - s->base), token.span.end - token.span.begin};
}

diag *lex_report(lex_state *s, diag_code code, src_span span, ...)
{
    if (s->quiet)
        return NULL;
    va_list args;
    va_start(args, span);
    diag *d = diag_vreport(s->px->diags, code, span, args);
    va_end(args);
    s->failed |= d->severity == DIAG_ERROR;
    return d;
}

void lex_begin(lex_state *s, parse_context *px, src_file *file)
{
    // Not one assignment of the whole state: its arrays need no clearing, and small files should cost little.
    memset(s, 0, offsetof(lex_state, indents));
    s->indents[0] = (lex_indent){0};
    s->px = px;
    s->text = s->cursor = s->start = s->line_begin = file->text.at;
    s->limit = s->text + file->text.len;
    s->base = file->base;
    s->at_line_start = true;
    lex_check_bytes(s);
    if (file->text.len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
        s->cursor += 3;
}

const lex_frame *lex_innermost(const lex_state *s)
{
    return s->depth ? &s->frames[s->depth - 1] : NULL;
}

// ---- tokens --------------------------------------------------------------------------------------------------------

static lex_token hand_out(lex_state *s, uint32_t kind, src_span span)
{
    return s->last = (lex_token){span, kind};
}

// A token of no width at the cursor.
static lex_token hand_out_empty(lex_state *s, uint32_t kind)
{
    return hand_out(s, kind, lex_span(s, s->cursor, s->cursor));
}

static void enqueue(lex_state *s, uint32_t kind, src_span span)
{
    s->queue[s->queue_len++] = (lex_token){span, kind};
}

static void too_deep(lex_state *s, src_span span, const char *what, int limit)
{
    if (!s->fatal) {
        diag *d = lex_report(s, HDS0014, span, what);
        if (d)
            diag_help(d, "at most %d levels are allowed", limit);
    }
    s->fatal = true;
}

// ---- indentation ---------------------------------------------------------------------------------------------------

// Moves over the line's leading blanks and over blank and comment lines. What is measured is the line of the first
// token that follows.
static lex_indent measure_indent(lex_state *s)
{
    lex_indent at = {0}, continued = {0};
    bool is_continued = false;
    const char *cursor = s->cursor;
    s->line_begin = cursor;
    for (; cursor < s->limit; cursor++) {
        switch (*cursor) {
        case ' ':
            at.column++;
            at.strict++;
            continue;
        case '\t':
            at.column = (at.column / 8 + 1) * 8;
            at.strict++;
            continue;
        case '\f':
            at = (lex_indent){0};
            continue;
        case '\0':
            continue;
        case '#':
            while (cursor + 1 < s->limit && cursor[1] != '\n' && cursor[1] != '\r')
                cursor++;
            continue;
        case '\r':
        case '\n':
            at = (lex_indent){0};
            is_continued = false;
            s->line_begin = cursor + 1;
            continue;
        case '\\': // a line of nothing but a continuation lends its indentation to the next
            if (cursor + 1 < s->limit && (cursor[1] == '\n' || cursor[1] == '\r')) {
                cursor += cursor + 2 < s->limit && cursor[1] == '\r' && cursor[2] == '\n' ? 2 : 1;
                continued = is_continued ? continued : at;
                is_continued = true;
                continue;
            }
            break;
        default:
            break;
        }
        break;
    }
    s->cursor = cursor;
    return is_continued ? continued : at;
}

static void check_tabs(lex_state *s, lex_indent now, lex_indent level)
{
    bool agrees = (now.column < level.column) == (now.strict < level.strict) &&
                  (now.column > level.column) == (now.strict > level.strict);
    if (agrees || s->tabs_reported)
        return;
    s->tabs_reported = true;
    diag *d = lex_report(s, HDS0010, lex_span(s, s->line_begin, s->cursor));
    if (d)
        diag_help(d, "indent with spaces only");
}

// A line further left than the block it follows: ends blocks until one begins at its column. If none does, the line is
// reported and taken into the innermost block that it could belong to, so that its neighbours need no report of their
// own.
static void dedent(lex_state *s, lex_indent now)
{
    uint32_t top = s->indent_count;
    while (top > 0 && s->indents[top].column > now.column) {
        if (s->indents[top - 1].column < now.column) {
            diag *d = lex_report(s, HDS0012, lex_span(s, s->line_begin, s->cursor));
            if (d)
                diag_help(d, "the blocks around begin at columns %u and %u", s->indents[top - 1].column + 1,
                          s->indents[top].column + 1);
            s->indents[top] = now;
            break;
        }
        top--;
    }
    check_tabs(s, now, s->indents[top]);
    s->pending_dedents = s->indent_count - top;
}

// A header's block is missing: reports it and puts in an empty one, so that the parser sees nothing wrong.
static void missing_block(lex_state *s, src_span colon)
{
    str head = lex_text(s, s->head);
    diag *d = lex_report(s, HDS0013, colon, (int)head.len, head.at);
    if (d)
        diag_help(d, "indent the lines of the block, or write 'pass'");
    src_span here = {colon.end, colon.end};
    enqueue(s, LEX_DEDENT, here);
    enqueue(s, LEX_NEWLINE, here);
    enqueue(s, LEX_PASS, here);
    enqueue(s, LEX_INDENT, here);
}

// At the start of a line: measures it and prepares the INDENT or the DEDENTs that it brings.
static void start_line(lex_state *s)
{
    src_span colon = s->line_failed ? (src_span){0} : s->block_colon;
    s->at_line_start = false;
    s->line_failed = false;
    s->fresh_line = true;
    lex_indent now = measure_indent(s);
    if (s->cursor >= s->limit)
        now = (lex_indent){0};
    lex_indent top = s->indents[s->indent_count];
    // Deeper by one measure only, where a block must come: tabs are what is wrong, not a missing block.
    if (now.column > top.column || (colon.begin && now.strict > top.strict && now.column == top.column)) {
        check_tabs(s, now, top);
        if (s->indent_count == LEX_MAX_INDENTS) {
            too_deep(s, lex_span(s, s->line_begin, s->cursor), "blocks", LEX_MAX_INDENTS);
            return;
        }
        s->indents[++s->indent_count] = now;
        enqueue(s, LEX_INDENT, lex_span(s, s->line_begin, s->cursor));
        return;
    }
    if (colon.begin)
        missing_block(s, colon);
    if (now.column < top.column)
        dedent(s, now);
    else
        check_tabs(s, now, top);
}

// ---- brackets ------------------------------------------------------------------------------------------------------

static void push_frame(lex_state *s, lex_frame frame)
{
    frame.span = lex_span(s, s->start, s->cursor);
    if (s->depth == LEX_MAX_BRACKETS)
        too_deep(s, frame.span, "brackets", LEX_MAX_BRACKETS);
    else
        s->frames[s->depth++] = frame;
}

static void push_fstring(lex_state *s)
{
    lex_frame frame = {.kind = LEX_FRAME_FSTRING, .quote = s->cursor[-1]};
    frame.open = frame.quote;
    frame.triple = s->cursor[-2] == frame.quote;
    for (const char *at = s->start; *at != frame.quote; at++)
        frame.raw |= *at == 'r' || *at == 'R';
    push_frame(s, frame);
}

static void push_field(lex_state *s)
{
    lex_frame frame = s->frames[s->depth - 1];
    frame.kind = LEX_FRAME_FIELD;
    frame.open = '{';
    frame.in_spec = false;
    push_frame(s, frame);
}

static char closer_of(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : '}';
}

static uint32_t closer_kind(char open)
{
    return open == '(' ? LEX_RPAREN : open == '[' ? LEX_RBRACKET : LEX_RBRACE;
}

// A closing bracket. One that does not fit is reported; the parser gets the one that would have, so that it has nothing
// to add.
static uint32_t close_bracket(lex_state *s, uint32_t kind)
{
    char c = *s->start;
    src_span span = lex_span(s, s->start, s->cursor);
    if (!s->depth) {
        if (c == '}' && s->orphan_braces)
            s->orphan_braces--;
        else
            lex_report(s, HDS0009, span, c);
        return LEX_ERROR;
    }
    lex_frame top = s->frames[s->depth - 1];
    if (c == closer_of(top.open)) {
        s->depth--;
        return top.kind == LEX_FRAME_FIELD ? LEX_FSTRING_CLOSE : kind;
    }
    diag *d = lex_report(s, HDS0008, span, c, top.open);
    if (d)
        diag_label(d, top.span, "opened here");
    if (top.kind == LEX_FRAME_FIELD)
        return LEX_ERROR;
    s->depth--;
    if (s->depth && s->frames[s->depth - 1].kind == LEX_FRAME_BRACKET && closer_of(s->frames[s->depth - 1].open) == c)
        s->cursor = s->start;
    return closer_kind(top.open);
}

static void report_unclosed(lex_state *s)
{
    const lex_frame *top = lex_innermost(s);
    lex_report(s, HDS0007, top->span, top->open);
}

// The quotes that end an f-string.
static uint32_t end_fstring(lex_state *s)
{
    uint32_t kind = LEX_FSTRING_END;
    while (s->frames[s->depth - 1].kind == LEX_FRAME_FIELD) {
        if (kind != LEX_ERROR)
            report_unclosed(s);
        kind = LEX_ERROR;
        s->depth--;
    }
    s->depth--;
    return kind;
}

// An f-string that its line or the file cuts off: forgets it, fields and all.
static void drop_fstring(lex_state *s)
{
    while (s->depth && s->frames[s->depth - 1].kind != LEX_FRAME_FSTRING)
        s->depth--;
    if (s->depth)
        s->depth--;
}

static bool in_text(const lex_state *s)
{
    const lex_frame *top = lex_innermost(s);
    return top && (top->kind == LEX_FRAME_FSTRING || top->in_spec);
}

// ---- soft keywords -------------------------------------------------------------------------------------------------

// `match` begins a statement where its line ends in a colon: no other line beginning with a name does.
__attribute__((noinline)) static bool is_match_statement(const lex_state *s)
{
    lex_state ahead = *s;
    ahead.quiet = true;
    ahead.fresh_line = false;
    uint32_t last = LEX_NAME;
    lex_token t = lex_next(&ahead);
    if (t.kind == LEX_COLON || t.kind == LEX_DOT || t.kind == LEX_ASSIGN)
        return false;
    for (; t.kind != LEX_NEWLINE && t.kind != LEX_END && t.kind != LEX_ERROR; t = lex_next(&ahead))
        last = t.kind;
    return t.kind == LEX_NEWLINE && last == LEX_COLON;
}

// Reads past the whole of a match statement; the language has none, and its patterns need no grammar to say so.
static void skip_match(lex_state *s)
{
    s->fresh_line = false;
    lex_token t;
    do {
        t = lex_next(s);
    } while (t.kind != LEX_NEWLINE && t.kind != LEX_END);
    int depth = 0;
    do {
        t = lex_next(s);
        depth += (t.kind == LEX_INDENT) - (t.kind == LEX_DEDENT);
    } while (depth > 0 && t.kind != LEX_END);
}

// `type X = …`: no expression has two names side by side.
static bool is_type_statement(lex_state *s)
{
    const char *start = s->start, *cursor = s->cursor;
    bool was_quiet = s->quiet;
    s->quiet = true;
    uint32_t kind = lex_scan(s);
    s->quiet = was_quiet;
    s->start = start;
    s->cursor = cursor;
    return kind == LEX_NAME || kind == LEX_MATCH || kind == LEX_TYPE;
}

// ---- the filter ----------------------------------------------------------------------------------------------------

static uint32_t column_of_start(const lex_state *s)
{
    uint32_t column = 0;
    for (const char *at = s->line_begin; at < s->start; at++)
        column = *at == '\t' ? (column / 8 + 1) * 8 : column + 1;
    return column;
}

bool lex_at_margin(const lex_state *s)
{
    return column_of_start(s) <= s->indents[s->indent_count].column;
}

// Within brackets: can this token, the first of its line, only be the beginning of a statement? Keywords of statements
// always are; after a syntax error, so is whatever stands no further right than the block's own lines.
static bool begins_statement(const lex_state *s, uint32_t kind)
{
    if (kind >= LEX_DEF && kind <= LEX_ELIF)
        return true;
    bool may_begin = kind == LEX_NAME || kind == LEX_AT || kind == LEX_IF || kind == LEX_FOR || kind == LEX_ASYNC ||
                     kind == LEX_MATCH || kind == LEX_TYPE;
    return s->recovering && may_begin && lex_at_margin(s);
}

void lex_restart_line(lex_state *s)
{
    s->depth = 0;
    s->cursor = s->line_begin;
    s->at_line_start = true;
    s->queue_len = 0;
    s->block_colon = (src_span){0};
    s->last.kind = LEX_NEWLINE;
}

// Brackets are open although a statement, or the end of the file, follows.
static lex_token abandon_brackets(lex_state *s, bool at_end)
{
    if (!s->recovering)
        report_unclosed(s);
    s->orphan_braces += s->frames[s->depth - 1].open == '{';
    s->depth = 0;
    if (at_end)
        return hand_out_empty(s, LEX_ERROR);
    lex_restart_line(s);
    src_span here = lex_span(s, s->cursor, s->cursor);
    if (s->recovering)
        return hand_out(s, LEX_NEWLINE, here);
    enqueue(s, LEX_NEWLINE, here);
    return hand_out(s, LEX_ERROR, here);
}

static lex_token end_line(lex_state *s, src_span span)
{
    s->at_line_start = true;
    s->block_colon = s->last.kind == LEX_COLON ? s->last.span : (src_span){0};
    return hand_out(s, LEX_NEWLINE, span);
}

static lex_token end_file(lex_state *s)
{
    if (s->depth && !s->fatal)
        return abandon_brackets(s, true);
    bool line_is_open = s->last.kind && s->last.kind != LEX_NEWLINE && s->last.kind != LEX_DEDENT;
    if (line_is_open && s->last.kind != LEX_END && !s->fatal)
        return end_line(s, lex_span(s, s->cursor, s->cursor));
    return hand_out_empty(s, LEX_END);
}

static lex_token match_statement(lex_state *s)
{
    lex_token match = {lex_span(s, s->start, s->cursor), LEX_MATCH};
    skip_match(s);
    match.span.end = s->last.span.begin;
    s->last.kind = LEX_NEWLINE;
    return match;
}

// What the filter has to do for this token beyond handing it out. Returns the kind to hand out, LEX_NEWLINE for a
// line's end within brackets, where lines mean nothing.
static uint32_t filter(lex_state *s, uint32_t kind)
{
    switch (kind) {
    case LEX_LPAREN:
    case LEX_LBRACKET:
    case LEX_LBRACE:
        push_frame(s, (lex_frame){.kind = LEX_FRAME_BRACKET, .open = *s->start});
        return kind;
    case LEX_RPAREN:
    case LEX_RBRACKET:
    case LEX_RBRACE:
        return close_bracket(s, kind);
    case LEX_COLON:
    case LEX_WALRUS:
        if (!s->depth || s->frames[s->depth - 1].kind != LEX_FRAME_FIELD)
            return kind;
        s->cursor = s->start + 1; // `{x:=5}` pads to five columns
        s->frames[s->depth - 1].in_spec = true;
        return LEX_FSTRING_SPEC;
    case LEX_TYPE:
        return !s->depth && is_type_statement(s) ? LEX_TYPE : LEX_NAME;
    case LEX_FSTRING_START:
        push_fstring(s);
        return kind;
    case LEX_FSTRING_OPEN:
        push_field(s);
        return kind;
    case LEX_FSTRING_CLOSE:
        s->depth--;
        return kind;
    case LEX_FSTRING_END:
        return end_fstring(s);
    default:
        return kind;
    }
}

static lex_token next_of_line(lex_state *s)
{
    for (;;) {
        bool text = s->depth && in_text(s);
        uint32_t kind = text ? lex_scan_fstring(s, &s->frames[s->depth - 1]) : lex_scan(s);
        if (kind == LEX_NEWLINE) {
            if (!s->depth)
                return end_line(s, lex_span(s, s->start, s->cursor));
            s->line_begin = s->cursor;
            s->fresh_line = true;
            continue;
        }
        if (kind == LEX_END)
            return end_file(s);
        if (kind == LEX_ERROR && s->depth && s->frames[s->depth - 1].kind != LEX_FRAME_BRACKET)
            drop_fstring(s);
        if (s->depth && s->fresh_line && begins_statement(s, kind))
            return abandon_brackets(s, false);
        if (kind == LEX_MATCH) {
            if (!s->depth && s->fresh_line && is_match_statement(s))
                return match_statement(s);
            kind = LEX_NAME;
        }
        bool starts_line = !s->depth && s->fresh_line;
        kind = filter(s, kind);
        s->first_on_line = s->fresh_line;
        s->fresh_line = false;
        lex_token token = hand_out(s, kind, lex_span(s, s->start, s->cursor));
        if (starts_line)
            s->head = token;
        return token;
    }
}

lex_token lex_next(lex_state *s)
{
    if (s->at_line_start && !s->queue_len)
        start_line(s);
    if (s->fatal)
        return hand_out_empty(s, LEX_END);
    if (s->queue_len)
        return s->last = s->queue[--s->queue_len];
    if (s->pending_dedents) {
        s->pending_dedents--;
        s->indent_count--;
        return hand_out_empty(s, LEX_DEDENT);
    }
    return next_of_line(s);
}

void lex_skip_line(lex_state *s)
{
    s->recovering = s->quiet = true;
    lex_token t;
    do {
        t = lex_next(s);
    } while (t.kind != LEX_NEWLINE && t.kind != LEX_END);
    s->recovering = s->quiet = false;
}
