// What the simulator runs: a source file as a module of IR at some level of the pipeline. `hdsc run`, `hdsc test` and
// `hdsc prove` all load by these.
//
//     pl_unit unit;
//     pl_unit_init(&unit, &options, options.archs[0], pl_now_us());
//     pl_unit_run_deep(&unit, body);      // body: pl_open_source, pl_module_for_simulation, sim_translate, …
//     … unit.status, unit.diags …
//     pl_unit_free(&unit);
#pragma once

#include "pipeline/unit.h"

// The level where the simulator usually works: the tasks are loops, the guards are branches, nothing is unrolled yet, and
// every tensor still has the author's name and shape.
#define PL_SIMULATED_LEVEL "lower-guards"

// The levels: "hir" (before any pass), the passes (after the first of that name), and "low" (after all passes).
bool pl_level_find(const char *level);

// As pl_unit_run, on a thread with a stack that the elaborator's recursion fits in; joined before it comes back.
void pl_unit_run_deep(pl_unit *u, void (*body)(pl_unit *u));

// Reads [path] ("-": standard input) and makes it the unit's file. False after reporting.
bool pl_open_source(pl_unit *u, const char *path);

// Elaborates the unit's file, or one case of its tests, and runs the passes up to and with [level]. The module is u->module
// and verified. False after reporting, also where there are no entries to run.
bool pl_module_for_simulation(pl_unit *u, const char *level, const tc_test *test);

// Runs all passes on u->module, whatever level it is at. False after reporting.
bool pl_finish_passes(pl_unit *u);
// Runs the passes behind [level], for what they find wrong (shared memory beyond the limit, say). The module changes: not
// before whoever uses it has run. False after reporting.
bool pl_check_passes_after(pl_unit *u, const char *level);

// The machine code of a module that was loaded at level "low", for the unit's architecture; options.emit must be PL_CUBIN.
// It is u->code.cubin then, its kernels u->kernels. False after reporting.
bool pl_code_for_device(pl_unit *u);
