// From bytes to tokens.
//
// Two parts: the scanner (lang/grammar/hds.re, one function per context) knows what a token looks like and nothing of
// what came before; the layout filter (layout.c) owns everything that Python's layout needs: the indentation stack,
// open brackets and f-strings, blank lines, the NEWLINE, INDENT and DEDENT tokens, and the soft keywords.
//
// Both report what they cannot read to the diagnostics and hand out tokens that let the parser go on. Token kinds are
// the terminals of lang/grammar/hds.y (LEX_NAME, LEX_NEWLINE, …); line and column are not computed here.
#pragma once

#include "frontend/parse.h"

enum { LEX_END = 0 }; // what Lemon calls the end of the input

typedef struct lex_token {
    src_span span; // first, so that it travels in a register of its own
    uint32_t kind;
} lex_token;

enum {
    LEX_MAX_BRACKETS = 200, // nested brackets, replacement fields and f-strings together, as in CPython
    LEX_MAX_INDENTS = 100,  // nested blocks, as in CPython
};

// An open bracket, f-string, or replacement field of one.
typedef struct lex_frame {
    enum { LEX_FRAME_BRACKET, LEX_FRAME_FSTRING, LEX_FRAME_FIELD } kind;
    char open;   // '(', '[' or '{' as written, the quote of an f-string
    bool triple; // of an f-string and its fields
    bool raw;
    bool in_spec; // a field: after its colon, where text is read again
    char quote;
    src_span span; // of what opened it
} lex_frame;

typedef struct lex_indent {
    uint32_t column; // tabs reach to the next multiple of 8
    uint32_t strict; // a tab counts 1: where both orders disagree, the indentation depends on the size of a tab
} lex_indent;

typedef struct lex_state {
    parse_context *px;
    const char *text;   // the file's first byte
    const char *cursor; // first byte not yet read
    const char *limit;
    const char *start; // first byte of the token just scanned
    uint32_t base;

    bool failed; // something was reported
    bool fatal;  // nested too deeply: nothing but the end of the file follows
    bool quiet;  // looking ahead: nothing is reported
    bool tabs_reported;

    bool at_line_start;
    bool fresh_line;        // no token of this line was handed out
    bool first_on_line;     // the token just returned is the first of its line (also within brackets)
    bool recovering;        // after a syntax error: brackets may stay open
    bool line_failed;       // set by the parser: this logical line has an error already
    const char *line_begin; // of the line the scanner is in, kept within brackets only
    lex_token head;         // first token of the logical line
    lex_token last;         // the token returned last
    src_span block_colon;   // the colon that ended the logical line before, {0} if none did

    uint32_t orphan_braces; // dropped '{': blocks of another language, whose '}' is no news
    uint32_t pending_dedents;
    uint32_t queue_len; // tokens to return before anything else is read, last first
    lex_token queue[4];

    uint32_t indent_count; // levels beside the outermost
    uint32_t depth;        // frames in use
    lex_indent indents[LEX_MAX_INDENTS + 1];
    lex_frame frames[LEX_MAX_BRACKETS];
} lex_state;

void lex_begin(lex_state *s, parse_context *px, src_file *file);
// The next token; LEX_END for ever once the file is read.
lex_token lex_next(lex_state *s);
// After a syntax error: reads on to the end of the logical line and past it.
void lex_skip_line(lex_state *s);
// After a syntax error at the first token of a line within brackets: drops the brackets, so that this line is read as a
// line of its own.
void lex_restart_line(lex_state *s);
// Does the token just scanned stand no further right than the lines of the block it is in?
bool lex_at_margin(const lex_state *s);
// The bracket opened last, NULL if none is.
const lex_frame *lex_innermost(const lex_state *s);

str lex_text(const lex_state *s, lex_token token);
const char *lex_kind_name(uint32_t kind);

// The scanner: one token from [cursor]; sets [start] and [cursor].
uint32_t lex_scan(lex_state *s);
// Literal text of an f-string or of a format specification, or what ends it.
uint32_t lex_scan_fstring(lex_state *s, const lex_frame *frame);
// Reports, once, the first byte of the file that is no UTF-8 text or is NUL.
void lex_check_bytes(lex_state *s);

src_span lex_span(const lex_state *s, const char *begin, const char *end);
// NULL when quiet.
diag *lex_report(lex_state *s, diag_code code, src_span span, ...);
