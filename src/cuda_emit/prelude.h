// The prelude: named snippets of CUDA and C text, and which of them a module uses.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "target/arch.h"

typedef struct embedded_text {
    const char *name, *text;
} embedded_text;
extern const embedded_text cu_prelude_files[]; // ends with {0}

typedef struct cu_snippet {
    str name;
    str needs;                // names, separated by blanks
    const arch *from, *below; // NULL: any
    str text;
    bool is_host;       // is for host functions alone
    bool is_used;
    bool is_host_only;  // only host functions use it
} cu_snippet;

typedef struct cu_prelude {
    const arch *arch;
    cu_snippet *snippets;
    int count;
    map by_name;    // the snippet of that name for this architecture
    bool for_host;  // what is used now is used by host functions
} cu_prelude;

// [is_c]: the snippets of C text instead of those of CUDA C++.
void cu_prelude_init(cu_prelude *p, arena *a, const arch *target, bool is_c);
// Marks the snippet and those it needs; false if there is none of that name (for this architecture).
bool cu_prelude_use(cu_prelude *p, str name);
typedef enum cu_snippet_kind { CU_DEVICE_SNIPPETS, CU_HOST_SNIPPETS } cu_snippet_kind;
// The used snippets of that kind, in order, each followed by an empty line.
void cu_prelude_print(const cu_prelude *p, cu_snippet_kind which, str_buf *out);
