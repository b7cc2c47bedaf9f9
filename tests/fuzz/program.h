// Random Hidet Script programs for fuzz_passes.c: one kernel each, deterministic by seed, whose result does not depend on
// the schedule.
//
// They keep to what the language defines, so that every level of the IR has to agree on what they compute: signed
// arithmetic does not overflow, divisors are not zero, shifts stay inside the width, floats are clamped before they become
// integers, indices are inside the shapes. For that, every integer expression is made together with the interval of its
// values. No two threads touch the same element without a barrier between them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "target/dtype.h"

// Lines with their depth: what follows a line and is deeper belongs to it.
typedef struct pg_line {
    const char *text;
    int depth;
} pg_line;

typedef VEC(pg_line) pg_lines;

typedef struct pg_tensor {
    const char *name;
    dtype type;
    int rank;
    int64_t extent[3];
    const char *extent_text[3];  // "64", or the name of a size
    bool is_output;
    int64_t low, high;           // of the integers in it
} pg_tensor;

typedef struct pg_size {
    const char *name;
    int64_t value;
    bool is_parameter;  // a scalar parameter of the kernel; else a dynamic size
} pg_size;

typedef struct pg_program {
    uint64_t seed;
    pg_lines lines;
    VEC(pg_tensor) tensors;
    VEC(pg_size) sizes;
    int64_t threads, blocks;
    bool is_planar;  // threads along two dimensions
} pg_program;

pg_program *pg_make(arena *a, uint64_t seed);
// The source text of the lines: bodies that have become empty get a 'pass'.
const char *pg_text(arena *a, const pg_lines *lines);

// ---- inside the generator --------------------------------------------------------------------------------------------

typedef __int128 pg_wide;

typedef struct pg_range {
    pg_wide low, high;
} pg_range;

typedef struct pg_value {
    const char *text;
    pg_range range;  // of integers and bools
} pg_value;

// Something that can be read by its name: a variable, a field of a record.
typedef struct pg_var {
    const char *name;
    dtype type;
    pg_range range;
    bool is_fixed;  // not to be assigned
} pg_var;

// An array whose elements can be read, and perhaps written, by any index inside.
typedef struct pg_array {
    const char *name;
    dtype type;
    int rank;
    int64_t extent[3];
    pg_range range;
    bool can_write;
    const char *before;   // what stands in front of the free indices: the row that is the thread's own; NULL: nothing
    bool is_guarded_only; // read and written by .read and .write with any index
    bool is_pointer;      // indexed from 0 to extent[0] - 1, no tensor
} pg_array;

typedef struct pg_function {
    const char *name;
    int param_count;
    pg_var params[4];
    dtype result;
    pg_range range;
} pg_function;

typedef struct pg_record {
    const char *name;
    int field_count;
    pg_var fields[4];
    pg_function read, change;  // methods
} pg_record;

typedef struct pg {
    arena *arena;
    uint64_t random;
    pg_program *program;
    VEC(pg_var) vars;
    VEC(pg_array) arrays;
    VEC(pg_function) functions;
    VEC(pg_record) records;
    VEC(const char *) record_vars;  // name and, in parallel, number of its record
    VEC(int) record_of;
    int next_name;
    int depth;       // of lines
    int nesting;     // of loops
    int loops;       // that break and continue may leave
    int budget;      // statements left
    const pg_function *inside;  // a function's body is under way
    bool can_return; // the kernel's end: no barriers follow
} pg;

static inline uint32_t pg_random(pg *g)
{
    uint64_t z = g->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

static inline int pg_below(pg *g, int n) { return (int)(pg_random(g) % (uint32_t)n); }
static inline bool pg_one_in(pg *g, int n) { return pg_below(g, n) == 0; }

const char *pg_name(pg *g, const char *stem);
void pg_emit(pg *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
dtype pg_number_type(pg *g);  // of integers and floats
dtype pg_int_type(pg *g);
dtype pg_float_type(pg *g);
pg_range pg_range_of_type(dtype t);
// An interval that variables of the type may be kept in.
pg_range pg_range_for(pg *g, dtype t);

// Expressions. Those of a type [t] have that type also where they stand alone (no bare literals).
pg_value pg_expr(pg *g, dtype t, int depth);
pg_value pg_expr_in(pg *g, dtype t, pg_range within, int depth);
const char *pg_bool(pg *g, int depth);
// An integer from low to high, of any type.
const char *pg_index(pg *g, int64_t low, int64_t high, int depth);
// "[i, j]" or "[row, i]" with indices inside the array.
const char *pg_indices(pg *g, const pg_array *a, int depth);
const char *pg_call(pg *g, const pg_function *f, const char *name, int depth);

// What is in scope.
typedef struct pg_scope {
    size_t vars, arrays, records;
} pg_scope;

// Deeper by one, until what was made since goes out of scope.
pg_scope pg_open(pg *g);
void pg_close(pg *g, pg_scope scope);

// Statements.
void pg_body(pg *g, int count);
void pg_statement(pg *g);

// A section of its own kind, for whole blocks at the top level of the kernel.
void pg_special(pg *g);
pg_tensor *pg_tensor_new(pg *g, const char *stem, dtype t, int rank, const int64_t *extent, bool is_output);
