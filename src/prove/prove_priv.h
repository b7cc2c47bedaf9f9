// Declarations shared by the files of src/prove.
#pragma once

#include "prove/prove.h"
#include "sim/field.h"

// load.c: compiles a side and finds its entry; false after reporting.
bool prove_load(prove *p, int side);
// "matmul", with file and instance as far as needed to distinguish the two.
const char *prove_title(prove *p, int side);

// usage.c: which tensors a function reads and writes.
void prove_usage(prove_side *side);

// bind.c: pairs the parameters of both sides, and gives scalars and shapes their values; false after reporting.
bool prove_bind(prove *p);

// value.c: what inputs hold. Bits of a scalar, or of element [i] of a tensor, in the run of that seed.
uint64_t prove_scalar_bits(const prove *p, int scalar, uint64_t seed);
uint64_t prove_element_bits(const prove *p, int tensor, int64_t i, uint64_t seed);
// Whether the element keeps its own value in the fields: it is an integer, or was given a single value.
bool prove_is_constant(const prove *p, int tensor);
// Checks the text of an --arg for a parameter of that type; false: [*why] says what is wrong.
bool prove_check_value(const char *text, dtype type, bool is_tensor, const char **why);
// A size from its text; false: it is none.
bool prove_size_of(const char *text, int64_t *out);

// run.c: what one run of one side gives.
typedef struct prove_output {
    int tensor;
    uint8_t *bits;       // as in memory
    bool *is_written;    // per element; NULL: all are
    sim_field *values;   // per element; NULL: integers
    bool is_changed;     // against what it held before
} prove_output;

typedef struct prove_request {
    uint64_t seed;       // of the inputs
    uint64_t schedule;
    bool degrees;        // field values are degrees
    // The inputs whose field values are perturbed, as a range of input numbers; begin == end: none.
    int64_t begin, end;
    uint64_t move;       // the number of the perturbation: 1, 2, …
} prove_request;

typedef struct prove_outcome {
    prove_output *outputs;  // by tensor; those that are no outputs have tensor -1
    bool is_complete;       // it ran to its end without findings
} prove_outcome;

// Results in [a].
prove_outcome prove_run_side(prove *p, int side, const prove_request *request, arena *a);

// An element of an output, by its index in order of tensors.
typedef struct prove_position {
    int tensor;
    int64_t element;
} prove_position;

// explain.c: says where and why the two differ. [outcomes]: of the run of [seed], on both sides.
void prove_explain(prove *p, const prove_outcome outcomes[2], uint64_t seed, const char *more);
const char *prove_element_name(const prove *p, arena *a, int tensor, int64_t element);  // "c[5, 7]"

// number.c: an element of F_p as a simple number, "3/2", "-0.125"; false if it is none. [*value]: an approximation.
bool prove_number(uint64_t x, str_buf *out, double *value);

// prove.c.
void prove_progress(prove *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
