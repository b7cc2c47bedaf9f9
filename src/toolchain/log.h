// What the CUDA compiler says about generated code, taken apart.
//
// NVRTC's log mixes messages of its C++ front end ('kernel.hds(12): error: …', where the file and line are those of the
// last #line), of ptxas ('ptxas error   : …', places are lines of the PTX) and chatter. A record is one message; source
// excerpts, carets and totals are left out.
#pragma once

#include "base/vec.h"
#include "diag/diag.h"

typedef enum tool_log_severity { TOOL_LOG_INFO, TOOL_LOG_WARNING, TOOL_LOG_ERROR } tool_log_severity;

typedef struct tool_log_record {
    tool_log_severity severity;
    const char *file; // as the log spells it; NULL where the message has no place
    uint32_t line;    // from 1; 0 where the message has no place
    bool in_ptx;      // [line] is a line of the PTX text and could not be mapped; [file] is NULL
    int number;       // 177 of 'warning #177-D'; 0 where there is none
    const char *text;
} tool_log_record;

typedef struct tool_log {
    VEC(tool_log_record) records;
} tool_log;

// Never fails: a line of no known form is passed over. With the [ptx] of a program compiled with line information
// (empty if there is none), ptxas' places become those of the .loc directive in force (PTX ISA, "Debugging Directives:
// .loc").
void tool_log_parse(arena *a, str log, str ptx, tool_log *out);

// Reports the records as diagnostics: errors with a place in a known source as HDS0074, warnings and ptxas' performance
// remarks as HDS0075, errors without such a place as HDS0077. A file is known if [dx] has a source of that name, or one
// whose name is the end of the path in the log. Other information is not reported. Returns the number of errors.
int tool_log_report(diag_context *dx, const tool_log *log);
