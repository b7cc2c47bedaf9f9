// The translator from IR to bytecode, in four parts: translate.c (program, functions, statements), translate_expr.c
// (expressions), translate_memory.c (tensors, layouts, accesses), translate_spread.c (loops on all lanes).
#pragma once

#include "sim/model.h"

// Cells kept in front of each frame's variables for constants, filled on entry; further ones are made where they are
// used.
enum { TR_CONSTANT_CELLS = 256 };

typedef struct tr_constant {
    uint64_t bits;
    int cells;
    uint32_t cell;
} tr_constant;

// Where a variable lives: its value's cells, or of a tensor the cells of its base pointer; register arrays whose
// address is not taken: the elements themselves.
typedef struct tr_location {
    bool is_array;       // cells of elements
    uint32_t cell;
    int64_t elements;    // arrays
} tr_location;

typedef enum tr_level_kind { TR_IF, TR_LOOP, TR_SCOPE } tr_level_kind;

typedef struct tr_level {
    tr_level_kind kind;
    int label;           // scopes
} tr_level;

typedef struct tr {
    sim_program *program;
    arena *arena;        // the program's
    const sim_translate_options *options;
    const ir_func *func;
    sim_code *code;
    int shared_branch, shared_branches; // of the shared tensors that come next, and how many there are: sim_shared_tensor
    sim_code function_shared;  // the shared tensors of device functions so far
    map locations;       // ir_var* -> tr_location*
    map in_memory;       // private tensors that have an address
    map indexing;        // variables that indices depend on
    map done;            // expressions of the statement under way that are computed: -> cell + 1
    map done_index;      // the same for those that are indices, whose arithmetic is watched
    VEC(tr_constant) constants;
    uint32_t constant_next;  // first free cell of those for constants
    uint32_t next;           // first free cell
    VEC(tr_level) levels;
    const ir_stmt *stmt;
    bool spreads;            // the loop under way runs on all lanes of the host
    int masked;              // depth of masks opened inside the statement
    bool is_index;           // the expression under way becomes an index
    uint32_t site;
} tr;

// ---- emitting ----------------------------------------------------------------------------------------------------

uint32_t tr_cells(tr *t, int count);  // temporaries, until the end of the statement
sim_op *tr_op(tr *t, sim_opcode code, uint32_t dst, uint32_t a, uint32_t b, uint32_t c);  // valid until the next one
uint32_t tr_here(const tr *t);
uint32_t tr_constant_of(tr *t, uint64_t bits, int cells);
uint32_t tr_site_of(tr *t, src_span span);
void tr_open(tr *t, tr_level_kind kind, int label);
void tr_close(tr *t);
// IF cond … ENDIF within a statement; returns the position of the IF.
uint32_t tr_mask_begin(tr *t, uint32_t cond);
void tr_mask_end(tr *t, uint32_t at);
void tr_move(tr *t, uint32_t dst, uint32_t from, int cells);
// [each]: cells of an element, 1 or 2.
void tr_assign(tr *t, uint32_t dst, uint32_t from, int cells, int each);
void tr_select(tr *t, uint32_t dst, uint32_t cond, uint32_t a, uint32_t b, int cells, int each);

// ---- statements --------------------------------------------------------------------------------------------------

// body, then a step, until TEST of a condition leaves.
typedef struct tr_loop {
    uint32_t head, test;
} tr_loop;

void tr_loop_begin(tr *t);
void tr_loop_test(tr *t, tr_loop *l, uint32_t cond);
void tr_loop_end(tr *t, const tr_loop *l);
void tr_block(tr *t, const ir_block *b);
// translate_spread.c: a parallel loop of a host function, on all lanes; false: it is none, or its turns might meet.
bool tr_spread_loop(tr *t, const ir_stmt *outer);

// ---- types -------------------------------------------------------------------------------------------------------

static inline int tr_width(dtype t) { return dt_bits(t) > 32 ? 2 : 1; }
int tr_element_count(const ir_type *t);      // 1, or the lanes of a vector
dtype tr_element_type(const ir_type *t);     // DT_NONE: pointers
int tr_element_cells(const ir_type *t);      // cells of one element
int tr_value_cells(const ir_type *t);        // of the whole value
int tr_element_bytes(const ir_type *elem);   // in memory

// ---- expressions ---------------------------------------------------------------------------------------------------

// Cells that hold the value. They may be a variable's: copy them before changing them.
uint32_t tr_expr(tr *t, const ir_expr *e);
// The value in cells that are no variable's.
uint32_t tr_fresh(tr *t, const ir_expr *e);
void tr_expr_to(tr *t, const ir_expr *e, uint32_t dst);
uint32_t tr_index(tr *t, const ir_expr *e, bool wide);  // an index as i64 (wide) or i32
uint32_t tr_widen(tr *t, uint32_t cell, dtype from);    // an integer as i64
void tr_binary(tr *t, ir_op op, dtype type, uint32_t dst, uint32_t a, uint32_t b);
void tr_intrin(tr *t, const ir_expr *e, uint32_t result);  // result: cells for it, masked by the caller

// ---- memory --------------------------------------------------------------------------------------------------------

tr_location *tr_location_of(tr *t, const ir_var *v);
tr_location *tr_new_location(tr *t, const ir_var *v, bool is_array, uint32_t cell, int64_t elements);
uint32_t tr_base(tr *t, const ir_var *tensor);  // cells of the base address
// Address of the element, without the lanes whose indices are outside of the shape if [checked].
uint32_t tr_address(tr *t, const ir_expr *at, bool checked);
uint32_t tr_address_of(tr *t, const ir_var *v, ir_expr *const *index, int count, int flags, bool checked);
uint32_t tr_access(tr *t, const ir_type *elem, int count, ir_space space, const ir_var *var, bool is_volatile);
void tr_load(tr *t, const ir_expr *e, uint32_t dst);
void tr_store(tr *t, const ir_stmt *s);
void tr_alloc(tr *t, const ir_stmt *s);
void tr_copy(tr *t, const ir_stmt *s);
bool tr_is_private(const ir_var *v);  // a tensor that each thread has for itself
// Elements of such a tensor.
int64_t tr_private_elements(const ir_tensor *tensor);
// Registers of a TILE: cells of them, directly where the slot is known while translating; else a copy, which
// [tr_tile_back] writes back.
typedef struct tr_tile {
    uint32_t cell;
    int cells_each;      // of an element
    int part;            // of a part of it, if it is a vector
    int count;
    bool is_copy;
    uint32_t array, slot;  // of a copy
    int64_t elements;
    const ir_var *in_memory;  // a copy of elements that have an address: [slot] counts from [array], the first one
} tr_tile;
tr_tile tr_tile_of(tr *t, const ir_expr *e);
void tr_tile_back(tr *t, const tr_tile *tile);
