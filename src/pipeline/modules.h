// Where imported modules come from: the standard library built into the program, the folder of the importing file, and
// the folders of -I, in this order.
#pragma once

#include "base/embedded.h"
#include "base/map.h"
#include "diag/source.h"

extern const embedded_text pl_stdlib[];  // stdlib/*.hds

typedef struct pl_finder {
    arena *arena;
    src_map *sources;
    const char *stdlib_folder;  // NULL: built in
    const char *const *include_folders;
    int include_count;
    map by_path;  // resolved path -> src_file, so that a module is one file whoever imports it
    map places;   // src_file -> where it is, for relative imports
} pl_finder;

void pl_finder_init(pl_finder *f, arena *a, src_map *sources);
// Registers the file that is compiled, so that an import of it is seen as a cycle.
void pl_finder_add_main(pl_finder *f, src_file *file);
// A tc_find_module with the finder as its [user].
src_file *pl_find_module(void *user, const char *path, int level, const src_file *importer, const char **looked);
