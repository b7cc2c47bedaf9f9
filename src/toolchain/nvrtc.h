// NVRTC: CUDA C++ in, PTX and cubins out.
//
// The library is found and opened at run time, so that hdsc works without it up to the CUDA text. A tool_nvrtc is
// read-only once open: any number of threads may compile with it at the same time, each with an arena of its own.
#pragma once

#include "base/vec.h"
#include "diag/diag.h"
#include "target/arch.h"
#include "toolchain/log.h"

enum { TOOL_NVRTC_LEAST_MAJOR = 12, TOOL_NVRTC_LEAST_MINOR = 0 };

typedef struct tool_nvrtc {
    const char *path; // as it was opened; without a folder if the loader found it
    int major, minor;
    VEC(int) archs; // 90 for sm_90 and sm_90a, ascending
    void *handle;
    struct tool_nvrtc_api *api;
} tool_nvrtc;

// Opens the first usable library of version 12.0 or newer, looking at
//   1. [explicit_path] (--nvrtc), if not NULL, else the environment's HDS_NVRTC: a file or a folder, and nothing else;
//   2. $CUDA_HOME, $CUDA_PATH, the usual folders of toolkits, newest first;
//   3. what the loader finds by name;
//   4. NVIDIA's Python wheels: in $VIRTUAL_ENV, $CONDA_PREFIX, a .venv beside or above the running program, the user's
//      and the system's site-packages.
// On failure reports HDS0070 (nothing found; a note lists every location), HDS0071 (only older ones) or HDS0072 (the
// named library cannot be used) and returns NULL. The result lives in [a]; tool_nvrtc_close gives the
// library up (it stays loaded until the process ends, see nvrtc_open.c).
tool_nvrtc *tool_nvrtc_open(arena *a, diag_context *dx, const char *explicit_path);
void tool_nvrtc_close(tool_nvrtc *nvrtc);

// Whether some thread is in NVRTC. For a part of a compilation NVRTC has a handler of its own for SIGINT, which calls exit.
bool tool_nvrtc_is_compiling(void);

// The identity of a library, without loading it: the name of its file behind all links, its size, and the identity that
// the linker gave it (or, without one, when it was written). Equal texts mean equal output.
typedef struct tool_nvrtc_identity {
    const char *path;  // behind all links
    const char *text;  // "libnvrtc.so.13.0.88 109338064 65be0db3…"
} tool_nvrtc_identity;

// That of the library which tool_nvrtc_open would most likely open, and that of the one which it did. False: there is none,
// or only loading it tells which.
bool tool_nvrtc_identify(arena *a, const char *explicit_path, tool_nvrtc_identity *out);
bool tool_nvrtc_identity_of(arena *a, const tool_nvrtc *nvrtc, tool_nvrtc_identity *out);

// Whether the library makes code for [target]; if not, reports HDS0073.
bool tool_nvrtc_check_arch(const tool_nvrtc *nvrtc, diag_context *dx, const arch *target);

typedef struct tool_compile_options {
    const arch *target;
    const char *name; // what the log calls the text where no #line says otherwise; NULL: "kernel.cu"
    bool cubin;       // make a cubin beside the PTX; runs ptxas, which also checks asm(...) texts
    // Line tables for profilers, and for mapping ptxas' complaints to the source. NVRTC writes the working folder
    // before relative file names into them.
    bool line_info;
    bool fast_math;
    int max_registers;        // per thread; 0: no limit
    const char *const *extra; // further options of NVRTC
    size_t extra_len;
} tool_compile_options;

// The options that NVRTC is given for [o].
typedef VEC(const char *) tool_option_list;
void tool_nvrtc_options(arena *a, const tool_compile_options *o, tool_option_list *out);

typedef enum tool_compile_status {
    TOOL_COMPILED,
    TOOL_REJECTED, // the text has errors: the log says which
    TOOL_FAILED,   // NVRTC itself failed: see [failure]
} tool_compile_status;

typedef struct tool_result {
    tool_compile_status status;
    const char *failure; // NVRTC's words for the error; NULL if compiled
    str ptx;             // 0-terminated; also there after a rejection by ptxas
    str cubin;
    str log;        // see toolchain/log.h
    double seconds; // wall-clock time of nvrtcCompileProgram
} tool_result;

// Compiles one text. Returns whether it compiled. Reports nothing: see tool_log_report for rejections and
// tool_nvrtc_report for failures.
bool tool_nvrtc_compile(const tool_nvrtc *nvrtc, arena *a, const tool_compile_options *options, const char *cuda_text,
                        tool_result *out);

// The same for [count] jobs, each in a thread of its own. [out] has [count] elements. Returns whether all compiled.
typedef struct tool_compile_job {
    tool_compile_options options;
    const char *cuda_text;
} tool_compile_job;

bool tool_nvrtc_compile_many(const tool_nvrtc *nvrtc, arena *a, const tool_compile_job *jobs, size_t count,
                             tool_result *out);

// Everything that [log], the log of [result], has to say, as diagnostics; a failure or an unexplained rejection is
// HDS0077. Returns whether it compiled without errors.
bool tool_nvrtc_report(diag_context *dx, const tool_result *result, const tool_log *log);
