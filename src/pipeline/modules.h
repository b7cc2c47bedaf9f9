// Where imported modules come from: the standard library built into the program, the folder of the importing file, the
// folders of -I, and the operators that come with the program, in this order. What the standard library and the operators
// import is looked for in the operators before -I (ADR 0088).
#pragma once

#include "base/embedded.h"
#include "base/map.h"
#include "diag/source.h"
#include "frontend/kept.h"

extern const embedded_text pl_stdlib[];  // stdlib/*/*.hds, by folder and name

// A path that was looked at.
typedef struct pl_tried {
    const char *path;
    const src_file *file;  // NULL: nothing that can be read is there
} pl_tried;

// A file of weights that was read.
typedef struct pl_weights {
    const char *name; // as the model says it; "": it says none
    struct wt_file *file;
} pl_weights;

typedef struct pl_finder {
    arena *arena;
    src_map *sources;
    const kept_state *kept;     // modules that are parsed already; NULL: none
    const char *stdlib_folder;  // NULL: built in
    const char *tuned, *tuned_text; // what takes the place of hidet.lang.own_choices: a file, or a text; NULL: nothing does
    const char *const *include_folders;
    int include_count;
    const char *operators, *operators_path; // pl_operator_folder, once it was needed, and the resolved path; "": there is none
    map by_path;  // resolved path -> src_file, so that all importers share one module
    map origins;  // src_file -> its folder, for relative imports
    const char *main_folder; // of the file that is compiled; NULL: none was added
    map in_folders; // path without ".hds" or "/__init__.hds" -> whether there is a module
    map names;    // src_file -> how programs name it
    map aliases;  // names of pl_name_module, without the dot, that are no paths -> src_file
    VEC(pl_tried) tried;  // on disk, each path once, in the order of looking; of weights those that are not there
    const char *weights;  // --weights: a file, "random" or "random:SEED"; NULL: what the model names
    VEC(pl_weights) weight_files;
} pl_finder;

// The operators that come with the program, or with the library that the program loaded: as they are installed, in share/ beside
// bin/ or lib/, or in the sources that it was built in. NULL: none.
const char *pl_operator_folder(arena *a);
void pl_finder_init(pl_finder *f, arena *a, src_map *sources);
// Registers the file that is compiled, so that an import of it is seen as a cycle.
void pl_finder_add_main(pl_finder *f, src_file *file);
// Registers a program that was made of it, or of a model in another format. The names that stand in programs, and in files that
// were not registered, are those of pl_name_module: a file beside the main one, or in -I, does not stand in the place of an
// operator's.
void pl_finder_add_program(pl_finder *f, src_file *file);
// Notes a path that was looked at, once. [file]: NULL: nothing that can be read is there.
void pl_finder_note(pl_finder *f, const char *path, const src_file *file);
// Notes the modules that were found and not kept, for the next ones to find them parsed.
void pl_finder_keep(const pl_finder *f, kept_modules *kept, const src_file *main);
// Whether it is a file on disk, as opposed to one of the library that is built in.
bool pl_finder_is_on_disk(const pl_finder *f, const src_file *file);
// The folder that a file's relative names start from. NULL: it is one of the library's, or unknown.
const char *pl_finder_folder(const pl_finder *f, const src_file *file);
// A tc_find_module with the finder as its [user].
src_file *pl_find_module(void *user, const char *path, int level, const src_file *importer, const char **looked);
// A tc_name_module with the finder as its [user]: "matmul.gemm" where the operators, -I or the folder of the main file have it by
// that name, in this order; ".matmul" where one of them has another module of that name; "._my_model" where no name leads to it.
const char *pl_name_module(void *user, const src_file *file);
