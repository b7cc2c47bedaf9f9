// Models: what an instruction of the standard library does. There is one for each family, by the name of its declaration
// and the module it stands in ("add" of "hidet.lang.atomic"); its instances differ in types and in the text of their
// PTX, which bind() reads.
//
// To give an instruction a model: write a function of type sim_model_run, and a row in the table of its file in
// src/sim/models; each file's table is listed in models/models.c.
#pragma once

#include "sim/machine.h"

// Executes the instruction for the active lanes (w->active) of a warp. Operands and result are cells of the frame:
// use->operands[i], use->result. A result must be written for the active lanes at least, with its poison mask
// (w->poison[cell], per element). Returns SIM_NEXT, or see machine.h.
typedef sim_step sim_model_run(sim_warp *w, const sim_use *use);
// Precomputes in use->bound what depends only on the declaration; false: this instance has no model.
typedef bool sim_model_bind(sim_use *use);

typedef struct sim_model {
    const char *name;
    sim_model_run *run;
    sim_model_bind *bind;     // NULL: nothing to find out
    bool talks_between_blocks; // see sim_program
} sim_model;

typedef struct sim_model_table {
    const char *module;       // "hidet.lang.atomic"
    const sim_model *models;  // ends with a NULL name
} sim_model_table;

// models/wgmma.c: whether the instruction reads shared memory through the async proxy and writes registers later on.
bool sim_is_wgmma(const sim_use *use);

// models/models.c. NULL: there is none.
const sim_model *sim_model_find(const char *module, const char *name);

// ---- for authors of models ------------------------------------------------------------------------------------------

// Value of a compile-time argument of the instance ("T=f16": sim_argument(in, "T") is "f16"); NULL: there is none.
const char *sim_argument(const ir_intrin *in, const char *name);
// The [index]th part of the instruction's PTX opcode, counted from 0 and cut at dots: "atom", "relaxed", "gpu", …; "" behind
// the last. Empty for CUDA text.
str sim_opcode_part(const ir_intrin *in, int index);
bool sim_opcode_has(const ir_intrin *in, const char *part);

// The union of the poison of all elements of an operand.
uint32_t sim_poison_of(const sim_warp *w, const sim_operand *o);
// Marks the result (all elements) as poisoned in these lanes, because of [o].
void sim_result_poison(sim_warp *w, const sim_use *use, uint32_t lanes, const sim_operand *o);

// Reports unless all live lanes of the warp (or those of [mask]) execute this together; true if they do. See HDS0615.
bool sim_together(sim_warp *w, const sim_use *use, uint32_t mask);
// Reports and clears poisoned lanes of an operand that determines addresses or control flow. Returns the other lanes.
uint32_t sim_require_defined(sim_warp *w, uint32_t site, uint32_t cell, uint32_t lanes, const char *what);
