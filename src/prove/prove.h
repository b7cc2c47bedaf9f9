// Proving that two kernels compute the same formulas (docs/prove.md says what a verdict means).
//
//     prove p;
//     prove_init(&p, &options, &oom);
//     bool equal = prove_run(&p);
//     … p.verdict, p.diags …
//     prove_free(&p);
//
// Both kernels run on the simulator with the same inputs. Each float is accompanied by its field value (sim/field.h);
// the field values of the outputs are compared. If they differ, further runs with inputs perturbed in the fields only
// determine which inputs cause it. Nothing here prints.
#pragma once

#include "pipeline/unit.h"
#include "sim/sim.h"

typedef struct prove_options {
    const pl_options *compile;     // of both: defines, folders of modules, warnings, limits; the first architecture
    const char *fast, *against;    // "file.hds:matmul", "file.hds:matmul[T=f16]", "file.hds"; the other also ":matmul"
    str text;                      // of both, which is not read from a file then
    const char *const *values;     // "scale=0.125", "n=96", "index=0..95"
    int value_count;
    const char *const *outputs;    // names of tensors to compare; none: all that are written
    int output_count;
    int seeds;                     // runs with other random inputs
    uint64_t seed;                 // of the first
    int64_t budget;                // most warp instructions of a launch; 0: the simulator's own limit
    const char *level;             // the pass after which the IR is run; NULL: the last that keeps tensors' shapes
    void (*progress)(void *user, const char *doing);  // NULL: no progress reports
    void *user;
} prove_options;

enum { PROVE_RANK = 8 };

// A parameter of one of the two.
typedef struct prove_param {
    const ir_var *var;
    bool reads, writes;       // tensors
    int tensor;               // its number in prove.tensors, -1: none
    int scalar;               // its number in prove.scalars
    const int64_t *strides;   // tensors: strides; NULL: contiguous
    int64_t span;             // tensors: elements from the first to behind the last
} prove_param;

typedef struct prove_side {
    pl_unit unit;
    pl_options options;       // of the unit
    const char *level;
    const char *path, *entry; // entry: "" where the file has only one
    str text;                 // of the file; empty: it is read
    const ir_func *func;
    const sim_program *program;
    prove_param *params;
} prove_side;

// What both get: a tensor, or a scalar (sizes too).
typedef struct prove_tensor {
    const char *name;
    const ir_var *var;        // of the first side
    dtype type;
    int lanes;                // elements that are vectors
    int rank;
    int64_t shape[PROVE_RANK];
    int64_t count;            // scalars in it: elements times lanes
    bool is_input, is_output;
    int64_t first;            // number of its first element among those of all inputs
    const char *range;        // of --arg, or NULL
} prove_tensor;

typedef struct prove_scalar {
    const char *name;
    dtype type;
    bool is_size, is_stride;  // a size; one that only strides are
    const char *given;        // the text of --arg, or NULL
    int64_t size;             // sizes
} prove_scalar;

typedef VEC(prove_tensor) prove_tensors;
typedef VEC(prove_scalar) prove_scalars;

typedef struct prove {
    const prove_options *options;
    arena memory, scratch;
    prove_side sides[2];      // the one that is to be proved, the one that it is compared with
    prove_tensors tensors;
    prove_scalars scalars;
    int64_t input_count;      // elements of all inputs
    int runs;
    src_map sources;
    diag_context diags;       // of both sides, each said once
    const char *verdict;      // a line, or two: "equal: …"
} prove;

void prove_init(prove *p, const prove_options *options, arena_oom *oom);
bool prove_run(prove *p);     // whether they are equal; false also after errors

// agree.c: instead of prove_run, a comparison of the numbers of both sides.
typedef struct prove_agreement {
    int64_t elements;         // of all outputs
    int64_t undefined;        // of them: neither side has a number there
    bool is_symbolic;         // the formulas of all elements are equal, too
    const char *difference;   // "out[0, 1] is 1.5 and 3": the first where the numbers differ; NULL: nowhere
    const char *explanation;  // how the formulas differ there, in a line; NULL: nothing is known
} prove_agreement;

// Floats agree up to tolerance · (1 + |x|), x of the second side; integers are equal. False after errors of one side,
// [*side], the second one if both have some. [against] names the file, too.
bool prove_agree(prove *p, double tolerance, prove_agreement *out, int *side);
void prove_free(prove *p);
