// Bytecode: what the executor runs. One function of the IR becomes one sim_code.
//
// Registers are cells: 32 lanes of 4 bytes. A value of up to 32 bits takes one cell (i8, i16: sign-extended; u8, u16,
// bool and the bits of f16, bf16, fp8: zero-extended), one of 64 bits two cells that follow each other, read as 32
// lanes of 8 bytes. Vectors and register tensors are their elements one after the other. Cells are numbered from the
// frame of the function; each has a poison mask beside it (one bit per lane: the value depends on uninitialised
// memory), of 64-bit values the first cell's.
//
// Temporaries are computed for all 32 lanes; only assignments to variables, memory and models respect the mask.
#pragma once

#include "sim/sim.h"

enum { SIM_LANES = 32, SIM_CELL_BYTES = 128 };

typedef enum sim_opcode {
#define SIM_OP(op, reads, doc) SIM_OP_##op,
#include "sim/ops.def"
#undef SIM_OP
    SIM_OP__COUNT
} sim_opcode;
const char *sim_op_name(sim_opcode op);

typedef struct sim_op {
    uint16_t code;
    uint16_t count;  // of elements, levels, bytes: see ops.def
    uint32_t dst, a, b, c;
    uint32_t site;   // index into sim_program.sites
} sim_op;

// A source location of findings, profiles and traces.
typedef struct sim_site {
    src_span span;         // of the expression, or the statement
    src_span statement;
    uint32_t origin;       // of the statement: the chain of calls it was inlined through (ir_site_at), 0: none
    const ir_func *func;
    const ir_stmt *joined; // where the statement is a launch of a joined kernel; otherwise NULL
} sim_site;

// One access to memory, as far as it is known before it runs.
typedef struct sim_access {
    uint8_t bytes;       // of an element: 1, 2, 4, 8
    uint8_t bits;        // sub-byte elements: 1, 2 or 4; else 0
    bool is_signed;      // integers: how narrow ones extend
    bool is_volatile;
    uint16_t count;      // consecutive elements moved at once; wide accesses (count > 1) must be aligned to their size
    dtype type;          // of an element; DT_NONE: pointers
    ir_space space;      // as far as the type says
    const ir_var *var;   // the tensor, or NULL: through a pointer
    uint32_t site;
} sim_access;

// An index that must be inside an extent.
typedef struct sim_bound {
    const ir_var *var;
    int dim;
    int rank;
    bool is_wide;         // the index is 64-bit
    uint32_t site;
} sim_bound;

// A variable, for tracing.
typedef struct sim_local {
    const ir_var *var;
    uint32_t cell;
    int count;  // elements
} sim_local;

// An operand of an instruction: [count] elements from [cell] on, [cells] cells each. Vectors count as their elements.
typedef struct sim_operand {
    uint32_t cell;
    uint16_t count;
    uint8_t cells;       // 1 or 2
    dtype type;          // of an element; DT_NONE: an address
    bool is_immediate;
    int64_t immediate;   // of a constant operand
    const char *name;
    // A tile of a register array at a run-time index is a copy in [cell]. The original array has [home_count] elements
    // from cell [home] on; cell [slot] has the index (i64) of the tile's first element. 0: no copy.
    uint32_t home, slot, home_count;
    bool in_memory;      // a copy of private memory
} sim_operand;

struct sim_model;

// One use of an instruction in the program.
typedef struct sim_use {
    const ir_intrin *intrin;
    const struct sim_model *model;  // NULL: there is none
    sim_operand *operands;          // [intrin->operand_count]
    sim_operand result;             // count 0: none
    int64_t bound[8];               // what the model's bind() found out: modes, shapes, table indices
    uint32_t site;
} sim_use;

typedef struct sim_shared_tensor {
    const ir_var *var;
    uint32_t offset, bytes;
    int branch;         // of a condition that whole blocks share: tensors of other branches may lie here as well; 0: none
    uint8_t elem_bytes;
} sim_shared_tensor;

typedef struct sim_code {
    const ir_func *func;
    VEC(sim_op) ops;
    VEC(sim_local) locals;
    uint32_t param_cell;    // the parameters follow each other from here on
    uint32_t *param_cells;  // cell of each
    uint32_t result_cell;   // of the value returned, 0 cells if void
    int result_cells;
    uint32_t cell_count;    // size of the frame
    uint32_t local_bytes;   // addressable private memory per thread
    bool *writes;           // which parameters are tensors that are evidently written
    // Kernels: code that computes grid, block, cluster and dynamic shared memory from the parameters, from cell [shape_cell]
    // on: ten i64 values; then the number of elements of each parameter, 0 of those that are no tensors; then for each
    // tensor map IR_MAP_MAX_RANK extents of its tensor.
    struct sim_code *shape;
    uint32_t shape_cell;
    // Kernels: the tensors in the shared memory of their blocks, those of functions included, in order of offset in
    // each branch; red zones stand between them. None where the IR has been through allocate-shared: then all of it is one region.
    VEC(sim_shared_tensor) shared;
    uint32_t shared_bytes;  // red zones included, without what the launch adds
    bool uses_async_proxy;  // kernels: instructions of hidet.lang.tma with a tensor map, and wgmma
    bool talks_between_blocks;  // atomics, ordered or volatile accesses to global memory, here or in what it calls
} sim_code;

struct sim_program {
    arena *arena;
    ir_module *module;
    sim_code **codes;             // by function id
    VEC(sim_site) sites;          // [0]: nowhere
    VEC(uint64_t) constants;
    VEC(sim_access) accesses;
    VEC(sim_bound) bounds;
    VEC(sim_use) uses;
    VEC(const char *) texts;      // of assertions and prints
    VEC(const ir_stmt *) statements;  // LAUNCH and PRINT, whose operands are in [launches]
    map globals;                  // ir_var* -> index of the module's constant tensors
};

const sim_code *sim_code_of(const sim_program *p, const ir_func *f);
const sim_site *sim_site_at(const sim_program *p, uint32_t site);
