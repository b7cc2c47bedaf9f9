#pragma once

#include "toolchain/nvrtc.h"

struct tool_nvrtc_api {
#define NVRTC_API(result, name, parameters) result(*name) parameters;
#include "toolchain/nvrtc_api.def"
#undef NVRTC_API
};

// Where libraries may be, in the order to try: files and folders as paths, and names for the loader. Only what
// [explicit_path] or HDS_NVRTC names if there is one; *[is_explicit] says so.
typedef struct tool_paths {
    VEC(const char *) at;
} tool_paths;

void tool_nvrtc_paths(arena *a, const char *explicit_path, tool_paths *out, bool *is_explicit);
// Adds those of one stage after the other, from 0 on: finding all of them takes longer than to find the first that is good.
// False when there are no more stages.
bool tool_nvrtc_more_paths(arena *a, const char *explicit_path, int stage, tool_paths *out, bool *is_explicit);
// The libraries in [folder], those without a version in the name first, then the newest first.
void tool_nvrtc_files(arena *a, const char *folder, tool_paths *out);
// What the file [path] is: false if it is none, or one whose name says that it is too old.
bool tool_identify_file(arena *a, const char *path, tool_nvrtc_identity *out);

// Of a clock that only goes forward.
double tool_now_seconds(void);
