// Values known while compiling, names, errors, and the writing of statements. Lowest of the folders of src/typecheck.
#pragma once

#include "typecheck/values/context.h"

// lifetime.c
void tc_lifetime_begin(tc *tx, tc_lifetime *l);
void tc_lifetime_end(tc *tx, tc_lifetime *l);
// Around what a module makes while it is loaded.
void tc_lasting_begin(tc *tx, tc_lifetime *l);
void tc_lasting_end(tc *tx, tc_lifetime *l);
// Called where something that was born then comes to hold something new.
// The same, and IR is made in a scratch arena of its own, if there is one, and given back as well.
void tc_ir_begin(tc *tx, tc_ir_lifetime *l);
void tc_ir_end(tc *tx, tc_ir_lifetime *l);
void tc_changes(tc *tx, uint32_t born);

// value.c
extern const char *const tc_kind_texts[];
// Whether the value known while compiling is of this kind, as isinstance() asks; annotations take more.
bool tc_is_of_kind(tc_kind_name k, tc_value v);
static inline tc_value tc_poison(void)
{
    return (tc_value){.kind = TC_POISON};
}
static inline tc_value tc_none(void)
{
    return (tc_value){.kind = TC_NONE};
}
static inline tc_value tc_bool(bool b)
{
    return (tc_value){.kind = TC_BOOL, .b = b};
}
static inline tc_value tc_of_int(tc_int i)
{
    return (tc_value){.kind = TC_INT, .i = i};
}
static inline tc_value tc_float(double f)
{
    return (tc_value){.kind = TC_FLOAT, .f = f};
}
static inline tc_value tc_str(str s)
{
    return (tc_value){.kind = TC_STR, .s = s};
}
static inline tc_value tc_type(const ir_type *t)
{
    return (tc_value){.kind = TC_TYPE, .type = t};
}
static inline tc_value tc_map_value(const tm_map *m)
{
    return (tc_value){.kind = TC_MAP, .map = m};
}
static inline tc_value tc_layout_value(const tm_layout *l)
{
    return (tc_value){.kind = TC_LAYOUT, .layout = l};
}
static inline tc_value tc_rt(ir_expr *e)
{
    return (tc_value){.kind = TC_RT, .rt = e};
}
static inline bool tc_is_poison(tc_value v)
{
    return v.kind == TC_POISON;
}
tc_value tc_list_new(tc *tx, tc_kind kind, const tc_value *items, size_t len);
tc_value tc_dict_new(tc *tx);
void tc_list_push_measured(tc *tx, tc_list *list, tc_value v);
void tc_list_set(tc_list *list, size_t i, tc_value v); // an item that is there
void tc_list_changed(tc_list *list); // after items were removed or moved
void tc_remember(tc *tx, tc_value *slot);
void tc_undo_changes(tc *tx, size_t mark);
bool tc_may_change(tc *tx, tc_value container, src_span span); // false, and an error, under run-time control flow
bool tc_may_grow(tc *tx, tc_value container, src_span span);   // likewise, to add items at its end, or for tc_dict_put
// False, and an error: the container would be a part of itself.
bool tc_may_hold(tc *tx, tc_value container, tc_value item, src_span span);
static inline int tc_depth(tc_value v)
{
    int depth = 0;
    if (v.kind == TC_TUPLE || v.kind == TC_LIST || v.kind == TC_SET)
        depth = v.list->depth;
    else if (v.kind == TC_DICT)
        depth = v.dict->keys.depth > v.dict->values.depth ? v.dict->keys.depth : v.dict->values.depth;
    else if (v.kind == TC_RECORD)
        depth = v.record->depth;
    return depth + 1;
}

static inline int64_t tc_weight(tc_value v)
{
    enum { HEAVIEST = 1 << 30 }; // sums of a few million of them fit into 64 bits
    int64_t weight = 1;
    if (v.kind == TC_TUPLE || v.kind == TC_LIST || v.kind == TC_SET)
        weight += v.list->weight;
    if (v.kind == TC_DICT)
        weight += v.dict->keys.weight + v.dict->values.weight;
    return weight < HEAVIEST ? weight : HEAVIEST;
}

// Of a value without parts, depth and weight are 1.
static inline bool tc_has_measures(tc_kind kind)
{
    return (kind >= TC_TUPLE && kind <= TC_DICT) || kind == TC_RECORD;
}

static inline void tc_list_push(tc *tx, tc_list *list, tc_value v)
{
    if (list->len == list->cap || tc_has_measures(v.kind)) {
        tc_list_push_measured(tx, list, v);
        return;
    }
    list->at[list->len++] = v;
    list->weight++;
    list->depth = list->depth ? list->depth : 1;
}
void tc_list_extend(tc *tx, tc_list *list, const tc_list *items); // with items of another list

tc_value tc_too_deep(tc *tx, src_span span);              // reports it and ends the compilation
enum { TC_MAX_DEPTH = 1000 };                             // of data in each other: they are walked recursively
tc_value *tc_dict_find(tc *tx, tc_dict *d, tc_value key); // NULL also after an error
void tc_dict_put(tc *tx, tc_dict *d, tc_value key, tc_value value);
bool tc_parts_are_compile_time(tc_value v); // of what may have parts
// No run-time part anywhere.
static inline bool tc_is_compile_time(tc_value v)
{
    bool has_parts = v.kind >= TC_TUPLE && (v.kind < TC_TYPE || v.kind >= TC_RT || v.kind == TC_TENSOR_TYPE ||
                                            v.kind == TC_METHOD || (v.kind == TC_FUNCTION && v.function->self));
    return !has_parts || tc_parts_are_compile_time(v);
}
bool tc_is_number(tc_value v);              // INT, FLOAT, BOOL
tc_int tc_range_len(const tc_range *r);     // of a range over known bounds
bool tc_equal(tc_value a, tc_value b);      // the same known value; records only if they are one record
bool tc_truth(tc_value v, bool *out);       // false if it has no compile-time truth
bool tc_as_int64(tc_value v, int64_t *out); // INT or BOOL that fits

// value_text.c
void tc_repr(tc *tx, tc_value v, str_buf *out);         // as Python's repr(), but calls no methods of records
void tc_program_repr(tc *tx, tc_value v, str_buf *out); // what repr() gives in a program
void tc_to_text(tc *tx, tc_value v, str_buf *out);      // what str() gives in a program
const char *tc_describe(tc *tx, tc_value v); // "an int", "a run-time f32", "a tensor f16[64, 64]": for messages
const char *tc_text(tc *tx, tc_value v);     // repr, 0-terminated
void tc_tensor_type_text(tc *tx, const tc_tensor_type *t, str_buf *out);
void tc_int_text(tc_int i, str_buf *out);

// scope.c
tc_scope *tc_scope_new(tc *tx, tc_scope *parent, tc_module *module, int kind);
// Symbols are compared by address, and hashed by it: Fibonacci hashing, as in base/map.c.
static inline uint64_t tc_scope_hash(sym name)
{
    return (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15);
}
static inline uint64_t tc_scope_bit(uint64_t hash)
{
    return UINT64_C(1) << (hash >> 58);
}
// The slot of the name, or the one that is free for it.
static inline tc_binding **tc_scope_slot(const tc_scope *s, sym name, uint64_t hash)
{
    size_t at = (size_t)(hash >> 32) & s->slot_mask;
    while (s->slots[at] && s->slots[at]->name != name)
        at = (at + 1) & s->slot_mask;
    return &s->slots[at];
}
static inline tc_binding *tc_scope_find_hashed(const tc_scope *s, sym name, uint64_t hash)
{
    if (!(s->has & tc_scope_bit(hash)))
        return NULL;
    if (s->slots)
        return *tc_scope_slot(s, name, hash);
    for (size_t i = s->list.len; i-- > 0;)
        if (s->list.at[i]->name == name)
            return s->list.at[i];
    return NULL;
}
static inline tc_binding *tc_scope_find_here(const tc_scope *s, sym name)
{
    return tc_scope_find_hashed(s, name, tc_scope_hash(name));
}
// In there, or in the scopes around it; NULL: nowhere.
static inline tc_binding *tc_scope_find(const tc_scope *s, sym name)
{
    uint64_t hash = tc_scope_hash(name);
    for (; s; s = s->parent) {
        tc_binding *b = tc_scope_find_hashed(s, name, hash);
        if (b)
            return b;
    }
    return NULL;
}
tc_binding *tc_scope_bind(tc *tx, tc_scope *s, sym name, tc_value v, src_span span);
const char *tc_scope_suggest(const tc_scope *s, str name); // a visible name close to [name], or NULL

// errors: report once, with notes through the calls that led here; the value is poison
diag *tc_error(tc *tx, diag_code code, src_span span, ...);
#define TC_ERR(tx, code, span, ...) (tc_error((tx), (code), (span), ##__VA_ARGS__), tc_poison())
// In a compile-time attempt: says that run-time values are needed, so that the call is elaborated again. Elsewhere:
// false.
bool tc_wants_run_time(tc *tx);
bool tc_spend(tc *tx, int64_t steps, src_span span); // the same for many
bool tc_out_of_steps(tc *tx, src_span span);         // false, after reporting it once
// False: the budget is gone.
static inline bool tc_step(tc *tx, src_span span)
{
    if (tx->aborted || tx->steps >= tx->step_budget)
        return tc_out_of_steps(tx, span);
    tx->steps++;
    return true;
}
const char *tc_suggest(tc *tx, const char *const *names, str name);

// emit.c
// A statement of the current function, with its origin.
uint32_t tc_site(tc *tx); // of what is emitted now
ir_stmt *tc_new_stmt(tc *tx, ir_stmt_kind kind, src_span span);
void tc_emit(tc *tx, ir_stmt *s);
ir_var *tc_declare(tc *tx, const char *name, const ir_type *type, ir_expr *init, src_span span);
ir_var *tc_declare_result(tc *tx, ir_expr *call, src_span span);
ir_expr *tc_keep(tc *tx, ir_expr *e, const char *name, src_span span); // in a variable, unless it is stable already
bool tc_is_stable(
    const ir_expr *e); // its value cannot change: constants, special registers, single-assignment variables
tc_value tc_freeze_parts(tc *tx, tc_value v, src_span span);
static inline bool tc_may_be_unsettled(tc_kind kind)
{
    return kind == TC_RT || kind == TC_TUPLE || kind == TC_LIST || kind == TC_DICT;
}
static inline tc_value tc_freeze(tc *tx, tc_value v, src_span span)
{
    return tc_may_be_unsettled(v.kind) ? tc_freeze_parts(tx, v, span) : v;
}
// If statements were appended after [mark], an unstable value made before them is stored before them.
tc_value tc_store_before(tc *tx, tc_value v, size_t mark, src_span span);
static inline tc_value tc_keep_before(tc *tx, tc_value v, size_t mark, src_span span)
{
    return tx->block && tx->block->stmts.len != mark && tc_may_be_unsettled(v.kind) ? tc_store_before(tx, v, mark, span) : v;
}
void tc_assign_var(tc *tx, ir_var *v, ir_expr *value, src_span span);
int tc_region_enter(tc *tx);
int tc_region_enter_loop(tc *tx); // the body of a loop
void tc_region_leave(tc *tx);
bool tc_in_region(const tc *tx, int region);
ir_expr *tc_resolve_definitions(tc *tx, ir_expr *e, bool *ok); // over parameters only
// Whether the integer or bool [e] of a host function follows from constants, through single-assignment variables. Then what it
// decides is not elaborated: kernels that are not launched. In tests, nothing is known that is not in kernels.
bool tc_known_on_host(tc *tx, ir_expr *e, int64_t *out);

// shared.c: values that later code shares, see Note [shared values]
const tc_value *tc_shared_find(const tc *tx, const tc_function *f, const tc_list *index); // NULL: there is none
void tc_shared_add(tc *tx, const tc_function *f, const tc_list *index, tc_value value);
void tc_shared_after(tc *tx, const ir_stmt *s); // drops what the statement may change
size_t tc_shared_mark(const tc *tx);
void tc_shared_drop(tc *tx, size_t mark); // those since then: their code is not kept

// args.c: arguments of built-in functions
tc_value *tc_arg_get(tc_args *args, const char *params, int index);       // by position or keyword; NULL: not given
src_span tc_arg_span(const tc_args *args, const char *params, int index); // of the call where it is not given
bool tc_args_check(tc *tx, const tc_native *n, tc_args *args);

// ---- provided by the folders above: parts of values, and the methods of records -------------------------------------

// eval/ops.c
tc_value tc_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span);
// eval/subscript.c
tc_value tc_index_value(tc *tx, tc_value v, tc_value *items, size_t len, src_span span);
bool tc_iterate(tc *tx, tc_value v, src_span span, tc_list *out); // compile-time iteration
// eval/native.c
tc_value tc_attribute(tc *tx, tc_value v, sym name, src_span span, src_span value_span);
// eval/call.c
tc_value tc_call(tc *tx, tc_value callee, tc_args *args);
const char *tc_function_title(tc *tx, const tc_function *f);
const char *tc_frame_title(tc *tx, const tc_frame *f);
// eval/protocol.c
// Equality of items of containers, with the '__eq__' of records. False after an error.
bool tc_items_equal(tc *tx, tc_value a, tc_value b, bool *equal);
bool tc_find_item(tc *tx, const tc_list *items, tc_value wanted, size_t *at); // *[at]: the length if it is not there
bool tc_record_text(tc *tx, tc_value record, bool is_repr, str_buf *out);     // false: it has no such method
// eval/record.c
// lowering/convert.c
ir_expr *tc_default_rt(tc *tx, tc_value v, src_span span); // int → i32/i64, float → f32, bool → bool; RT as is
// lowering/strided.c
// By dimension of the view, INT or RT; false: its layout has none.
bool tc_strides_of(tc *tx, const tc_tensor *t, tc_value *strides);
