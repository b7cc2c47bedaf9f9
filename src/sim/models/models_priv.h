// What the models share: access to the elements of operands and results, poison, field values, words about lanes.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/finding.h"
#include "sim/half.h"
#include "sim/model.h"
#include "sim/models/matrix_kernel.h"

// ---- tables, one or two a file (models.c lists them) -------------------------------------------------------------

extern const sim_model sim_models_asm[];     // hidet.lang
extern const sim_model sim_models_barrier[]; // hidet.lang.cuda
extern const sim_model sim_models_misc[];    // hidet.lang.cuda
extern const sim_model sim_models_mask[];    // hidet.lang.cuda
extern const sim_model sim_models_warp[];
extern const sim_model sim_models_atomic[];
extern const sim_model sim_models_memory[];
extern const sim_model sim_models_async[];
extern const sim_model sim_models_matrix[];
extern const sim_model sim_models_math[];
extern const sim_model sim_models_fast[];
extern const sim_model sim_models_bits[];
extern const sim_model sim_models_convert[];
extern const sim_model sim_models_mbarrier[];
extern const sim_model sim_models_mbarrier_at[]; // hidet.lang.cluster
extern const sim_model sim_models_cluster[];     // hidet.lang.cluster
extern const sim_model sim_models_testing[];
extern const sim_model sim_models_tma[];
extern const sim_model sim_models_wgmma[];
extern const sim_model sim_models_group[];   // hidet.lang.cuda

// What sim_warp.model_state holds, by index. MBARRIERS and LOADS: of the block's first warp, for all.
enum { SIM_STATE_MBARRIERS, SIM_STATE_LOADS, SIM_STATE_STORES };

// ---- elements of operands ----------------------------------------------------------------------------------------

// The operand of that name; NULL: the instance has none.
const sim_operand *sim_operand_named(const sim_use *use, const char *name);

// How the matrix units read numbers of a type; false: they take none of it.
bool sim_mma_number_of(dtype t, sim_mma_number *out);

static inline uint32_t sim_element_cell(const sim_operand *o, int element)
{
    return o->cell + (uint32_t)element * o->cells;
}

static inline uint64_t sim_element(const sim_warp *w, const sim_operand *o, int element, uint32_t lane)
{
    return sim_bits(w, sim_element_cell(o, element), o->cells, lane);
}

// [bits]: of the operand's type, in the low end; narrow integers are extended as cells want them.
static inline void sim_element_set(const sim_warp *w, const sim_operand *o, int element, uint32_t lane, uint64_t bits)
{
    uint32_t cell = sim_element_cell(o, element);
    if (o->cells == 2)
        sim_u64(w, cell)[lane] = bits;
    else if (o->type == DT_I8)
        sim_i32(w, cell)[lane] = (int8_t)bits;
    else if (o->type == DT_I16)
        sim_i32(w, cell)[lane] = (int16_t)bits;
    else
        sim_u32(w, cell)[lane] = (uint32_t)bits;
}

static inline double sim_double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static inline uint64_t sim_bits_of_double64(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

// Bytes of an element in memory.
static inline int sim_operand_bytes(const sim_operand *o)
{
    return o->type == DT_NONE ? 8 : dt_bits(o->type) / 8;
}

// The first dtype of the compile-time argument [name]; DT_NONE if it is none.
dtype sim_argument_type(const ir_intrin *in, const char *name);

// ---- poison and field values ---------------------------------------------------------------------------------------

// In [lanes], the poison of a cell is [bits]; where that is set, it comes from [why].
static inline void sim_poison_set(sim_warp *w, uint32_t cell, uint32_t lanes, uint32_t bits, uint32_t why)
{
    w->poison[cell] = (w->poison[cell] & ~lanes) | (bits & lanes);
    if (bits & lanes)
        w->why[cell] = why;
}

// The result of an elementwise instruction: element i is poisoned where element i of an operand
// is, or any element of one that has another count. Field values of the result are nothing, until the model says else.
void sim_poison_by_element(sim_warp *w, const sim_use *use, uint32_t lanes);
// The result is defined in [lanes], and nothing is followed.
void sim_result_defined(sim_warp *w, const sim_use *use, uint32_t lanes);
// Where the poison of any element of [o] comes from.
uint32_t sim_why_of(const sim_warp *w, const sim_operand *o);

// Nothing is followed in these cells any longer. Only with field values.
void sim_fields_drop(sim_warp *w, uint32_t cell, int cells, uint32_t lanes);
// Part 0 of an element, or the value of its float.
sim_field sim_field_element(const sim_warp *w, const sim_operand *o, int element, uint32_t lane);
// Sets part 0 of an element; the other parts are nothing.
void sim_field_element_set(sim_warp *w, const sim_operand *o, int element, uint32_t lane, sim_field f);
// The float that bits of a type mean; of integers their value.
double sim_value_of(dtype t, uint64_t bits);

// ---- atomic operations (atomic.c) --------------------------------------------------------------------------------------

// An operation of that name ("add", "min", …) applied to a value in memory. [flushes]: treats subnormal f32 as 0.
uint64_t sim_atomic_combine(const char *name, dtype t, uint64_t old, uint64_t value, bool flushes);
// The field value at [to] after that, where [value] came from [from]. Only with field values.
void sim_atomic_follow(sim_warp *w, uint32_t lane, const char *name, dtype t, uint64_t to, uint64_t from, uint64_t old,
                       uint64_t value, uint64_t now);

// ---- clusters (cluster.c) ------------------------------------------------------------------------------------------

// The block of that rank in the lane's cluster; NULL after a finding (HDS0770).
sim_block *sim_cluster_block(sim_warp *w, const sim_use *use, uint32_t lane, int64_t rank);

// ---- words -------------------------------------------------------------------------------------------------------

// "3", "0 … 15", "0, 4, 8 … 11".
void sim_lanes_print(uint32_t lanes, str_buf *out);
// A text in the block's arena: findings copy it.
const char *sim_say(const sim_warp *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sim_say_lanes(const sim_warp *w, uint32_t lanes);
// The lowest lane of a mask, 0 if it is empty.
static inline uint32_t sim_first_lane(uint32_t lanes)
{
    return lanes ? (uint32_t)__builtin_ctz(lanes) : 0;
}

// ---- masks of collectives ----------------------------------------------------------------------------------------

// The lanes that take part with [lane] in a collective whose operand [mask] names them, without those that have ended.
// False after a finding (HDS0615): the mask lacks the lane itself, or names one that is not here or names others.
bool sim_members(sim_warp *w, const sim_use *use, const sim_operand *mask, uint32_t lane, uint32_t *members);

// ---- order of memory -----------------------------------------------------------------------------------------------

// What an opcode says of its order and scope: ".acq_rel.gpu". Relaxed and gpu where it says nothing.
sim_sem sim_sem_of(const ir_intrin *in);
sim_reach sim_reach_of(const ir_intrin *in);

// ---- field values in memory: of an operand's elements, which follow each other at [address] ----------------------

void sim_fields_from_memory(sim_warp *w, uint32_t lane, uint64_t address, const sim_operand *to);
void sim_fields_to_memory(sim_warp *w, uint32_t lane, uint64_t address, const sim_operand *from);
