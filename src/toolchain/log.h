// Parses the messages of the CUDA compiler about generated code.
//
// NVRTC's log mixes messages of its C++ front end ('kernel.hds(12): error: …', where the file and line are those of the
// last #line), of ptxas ('ptxas error   : …', with lines of the PTX) and other output. A record is one message; source
// excerpts, carets and totals are omitted. Forms and numbers of ptxas' messages are those of CUDA 12.0 to 13.0.
#pragma once

#include "base/vec.h"
#include "diag/diag.h"

typedef enum tool_log_severity { TOOL_LOG_INFO, TOOL_LOG_WARNING, TOOL_LOG_ERROR } tool_log_severity;

typedef struct tool_log_record {
    tool_log_severity severity;
    const char *file; // as the log spells it; NULL where the message has no location
    uint32_t line;    // from 1; 0 where the message has no location
    bool in_ptx;      // [line] is a line of the PTX text and could not be mapped; [file] is NULL
    int number;       // 177 of 'warning #177-D', 7510 of ptxas' '(C7510)'; 0 where there is none
    const char *function; // the symbol that ptxas names: "in the function 'k'"; NULL where it names none
    bool is_said;     // already reported in better words: tool_log_report only counts it
    const char *text;
} tool_log_record;

// Codes of ptxas.
enum {
    PTXAS_SETMAXNREG_TOO_HIGH = 7406, // setmaxnreg.dec asks for more registers than there are
    PTXAS_SETMAXNREG_IGNORED = 7508,  // the registers at entry are not known
    PTXAS_WGMMA_CALL = 7510,          // wgmma instructions wait for each other: a function call
    PTXAS_WGMMA_REGISTERS = 7511,     // … too few registers, also after fences were added
    PTXAS_WGMMA_READ = 7514,          // … accumulators are read in between
    PTXAS_WGMMA_WRITTEN = 7515,       // … accumulators are written in between
    PTXAS_WGMMA_WAIT_ADDED = 7517,    // a wait was added before a line
    PTXAS_WGMMA_FENCE_ADDED = 7519,   // a fence was added before a line
    PTXAS_TOO_FEW_REGISTERS = 7602,   // an instruction has more operands than there are registers
};

typedef struct tool_log {
    VEC(tool_log_record) records;
} tool_log;

// Never fails: a line of no known form is passed over. With the [ptx] of a program compiled with line information
// (empty if there is none), ptxas' locations become those of the .loc directive in force (PTX ISA, "Debugging
// Directives: .loc").
void tool_log_parse(arena *a, str log, str ptx, tool_log *out);

// Whether a message of ptxas names a line of the PTX.
bool tool_log_wants_locations(str log);
// [log] with ' of FILE(12)' behind each such line: files of [sources] as these are named. [plain] is the PTX that ptxas
// read, [lined] what the same text gives with line information (both may be the same). tool_log_parse reads the
// locations.
str tool_log_locate(arena *a, const src_map *sources, str log, str plain, str lined);

// The source of that name, or whose name is the end of [path]; NULL if there is none.
src_file *tool_source_of(const src_map *sources, const char *path);
// The line of a record without its indentation; nowhere if its file is not a known source.
src_span tool_log_span(diag_context *dx, const tool_log_record *r);

// Reports the records not reported yet as diagnostics: errors with a location in a known source as HDS0074, warnings
// and ptxas' performance remarks as HDS0075, errors without such a location as HDS0077. A file is known if
// tool_source_of finds it. Other information is not reported. Returns the number of errors, those said by others
// included.
int tool_log_report(diag_context *dx, const tool_log *log);
