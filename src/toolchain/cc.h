// The C compiler of the machine: objects, archives and shared libraries out of the C text that cuda_emit writes.
//
// It runs without a shell, in a temporary folder that holds <hds/runtime.h>, the header of the text, the text and its bytes,
// and that is removed however the program ends. Nothing of that folder's name reaches the output: equal input and an equal
// compiler give equal bytes.
#pragma once

#include "base/embedded.h"
#include "diag/diag.h"
#include "toolchain/process.h"

extern const embedded_text tool_runtime_header[];  // include/hds/runtime.h

typedef struct tool_cc {
    tool_words command;  // the program's path first
} tool_cc;

// The words of [explicit_command] (--cc), else of $CC, else cc, gcc or clang. NULL after reporting HDS0712.
const tool_cc *tool_cc_find(arena *a, diag_context *dx, const char *explicit_command);

// What equal results need, beside an equal text: the command, the programs behind it, by path, size and time of change, what the
// compiler says of itself, and the variables that these programs read. NULL: options of the command name more than that, or it
// does not say what it runs.
const char *tool_cc_identity(arena *a, const tool_cc *cc);
// The program that goes with the compiler, as it names it: "ld".
const char *tool_cc_program(arena *a, const tool_cc *cc, const char *name);
// The archiver's command: $AR, else the one that the compiler names.
tool_words tool_cc_archiver(arena *a, const tool_cc *cc);

// Files of the system that were read on the way, such as headers and libraries, each once; absolute.
typedef struct tool_cc_reads {
    VEC(const char *) at;
    bool is_unknown;  // there may be others
} tool_cc_reads;

// Adds those of a rule of make; of the lines that a linker prints for --trace.
void tool_cc_add_rule(arena *a, str rule, tool_cc_reads *out);
void tool_cc_add_trace(arena *a, str printed, tool_cc_reads *out);

// Bytes that an object has, aligned to 8 and seen by its text alone: pieces, one behind the other.
typedef struct tool_blob {
    const char *symbol;
    const str *pieces;
    size_t count;
} tool_blob;

// A text with its header and its bytes.
typedef struct tool_c_source {
    const char *stem;         // "matmul": its file's name without the ending
    const char *header_name;  // as the text includes it
    str header, text;
    const tool_blob *blobs;
    int blob_count;
} tool_c_source;

// The object's bytes, in [a]; what was read is added to [reads], unless that is NULL. False after reporting HDS0713 or HDS0714.
bool tool_cc_object(arena *a, diag_context *dx, const tool_cc *cc, const tool_c_source *source, tool_cc_reads *reads, str *out);

typedef struct tool_member {
    const char *name;  // "matmul.o"; no two alike
    str bytes;
} tool_member;

typedef enum tool_link_kind {
    TOOL_LINK_OBJECT,   // one object of several
    TOOL_LINK_ARCHIVE,  // static library
    TOOL_LINK_SHARED,   // shared library; it needs libhdsrt's, whether that is installed here or not
} tool_link_kind;

// [name] of the result: what a shared library calls itself. Its bytes are in [a]; [reads] as above. False after reporting.
bool tool_cc_link(arena *a, diag_context *dx, const tool_cc *cc, tool_link_kind kind, const char *name,
                  const tool_member *members, size_t count, tool_cc_reads *reads, str *out);
