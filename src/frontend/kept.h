// Syntax trees of modules that are kept from one compilation to the next.
//
// Reading the standard library is up to half of the time of a small file. A set of kept modules makes that once: what a
// compilation parsed, besides its own file, the next ones find parsed.
//
//     kept_modules *kept = kept_new();                  // of a compiler, a test run: all its units share it
//     const kept_state *state = kept_take(kept);        // as a unit begins
//     syms.shared = kept_syms(state);
//     … kept_add(state, &sources, name, text) before src_add: the file, with its tree …
//     kept_note(kept, name, text)                       // for each module that the unit parsed itself
//     kept_release(state);                              // when nothing refers to trees, names and spans any more
//     kept_free(kept);
//
// A state never changes: its trees, the names in them and their positions are shared by threads. What was noted becomes a part of
// the next state, which has the trees of the one before: each module is parsed once. A module is known by its name and text, so a
// file that has changed is another one. Modules that something is reported about while they are parsed are not kept: each
// compilation has to say it.
#pragma once

#include "base/sym.h"
#include "diag/source.h"

typedef struct kept_modules kept_modules;
typedef struct kept_state kept_state;

// NULL where there is no memory: then nothing is kept. All functions take NULL, and then do nothing.
kept_modules *kept_new(void);
void kept_free(kept_modules *kept);

// The newest state, for the caller to release; any thread. NULL: nothing is kept yet.
const kept_state *kept_take(kept_modules *kept);
void kept_release(const kept_state *state);

const sym_table *kept_syms(const kept_state *state);
// The module [name] of this text, as a file of [sources] with its tree. NULL: it is not kept.
src_file *kept_add(const kept_state *state, src_map *sources, const char *name, str text);
// A module that was parsed, for the next states; it is copied. Any thread.
void kept_note(kept_modules *kept, const char *name, str text);
// How many modules the set has parsed so far, for tests.
size_t kept_parsed(kept_modules *kept);
