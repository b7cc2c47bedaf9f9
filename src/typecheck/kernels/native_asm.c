// asm(template, outputs=[…], output_inputs=[…], inputs=[…]): inline PTX as Hidet has it. It becomes an instruction
// whose operands are %0, %1, … in the order outputs, output_inputs, inputs. A single output is its result; others are
// registers that it updates.
#include "typecheck/eval/reference.h"
#include "typecheck/kernels/kernels.h"

#include <ctype.h>
#include <string.h>

enum { TEMPLATE, OUTPUTS, OUTPUT_INPUTS, INPUTS, IS_VOLATILE, MEMORY_FENCE, MAX_OPERANDS = 512 };

typedef struct asm_operand {
    tc_value value;     // what the caller gave
    tc_value in_place;  // updated operands: the register tensor that holds it meanwhile
    const char *pasted; // known integers: their digits
    ir_expr *e;
    int role; // OUTPUTS, OUTPUT_INPUTS, INPUTS
} asm_operand;

typedef struct asm_builder {
    tc *tx;
    src_span span;
    bool has_result; // one output, and nothing is updated
    VEC(asm_operand) all;
} asm_builder;

static bool add_group(asm_builder *b, tc_args *args, const char *params, int role)
{
    tc_value *v = tc_arg_get(args, params, role);
    if (!v)
        return true;
    bool is_list = v->kind == TC_LIST || v->kind == TC_TUPLE;
    size_t count = is_list ? v->list->len : 1;
    for (size_t i = 0; i < count; i++) {
        asm_operand o = {.value = is_list ? v->list->at[i] : *v, .role = role};
        if (tc_is_poison(o.value))
            return false;
        VEC_PUSH(b->tx->arena, &b->all, o);
    }
    return true;
}

// Pointers go as generic addresses of 64 bits, as the templates expect.
static ir_expr *input_of(asm_builder *b, asm_operand *o)
{
    tc *tx = b->tx;
    tc_value v = o->value;
    if (v.kind == TC_INT || v.kind == TC_BOOL) {
        o->pasted = tc_text(tx, v.kind == TC_BOOL ? tc_of_int(v.b) : v);
        return NULL;
    }
    if (v.kind == TC_TENSOR)
        v = tc_tensor_address(tx, v.tensor, NULL, 0, b->span);
    ir_expr *e = tc_is_poison(v) ? NULL : tc_default_rt(tx, v, b->span);
    if (e && e->type->kind == IR_POINTER && e->type->space != IR_GENERIC)
        e = tc_pointer_cast(tx, e, ir_pointer(tx->ir, e->type->elem, IR_GENERIC), b->span);
    return e;
}

// A register that begins with the old value, or with 0 where the instruction only writes it.
static bool hold(asm_builder *b, asm_operand *o)
{
    tc *tx = b->tx;
    const ir_type *type = o->value.kind == TC_RT ? o->value.rt->type : NULL;
    if (!type || type->kind != IR_SCALAR || dt_bits(type->scalar) < 16) {
        tc_error(tx, HDS0332, b->span, tc_describe(tx, o->value));
        return false;
    }
    tc_tensor_type t = {.elem = type, .space = IR_REGISTER, .rank = 1, .shape = {tc_of_int(1)}};
    tc_value zero = dt_is_float(type->scalar) ? tc_float(0) : tc_of_int(0);
    o->in_place =
        tc_tensor_declare(tx, "operand", &t, IR_VAR_LOCAL, o->role == OUTPUTS ? zero : o->value, 0, NULL, b->span);
    int count;
    o->e = o->in_place.kind == TC_TENSOR ? tc_tensor_tile(tx, o->in_place.tensor, &count, b->span) : NULL;
    return o->e != NULL;
}

static bool prepare(asm_builder *b)
{
    for (size_t i = 0; i < b->all.len; i++) {
        asm_operand *o = &b->all.at[i];
        if (o->role == INPUTS) {
            o->e = input_of(b, o);
            if (!o->e && !o->pasted)
                return false;
        } else if (!(b->has_result && o->role == OUTPUTS) && !hold(b, o)) {
            return false;
        }
    }
    return true;
}

// %2 becomes a hole, %% a percent sign, and braces are doubled.
static const char *text_of(asm_builder *b, str template)
{
    str_buf out;
    str_buf_init(&out, b->tx->arena);
    const char *end = template.at + template.len;
    for (const char *at = template.at; at < end; at++) {
        if (*at == '{' || *at == '}') {
            str_addc(&out, *at);
            str_addc(&out, *at);
        } else if (*at == '%' && at + 1 < end && at[1] == '%') {
            str_addc(&out, *at++);
        } else if (*at == '%' && at + 1 < end && isdigit((unsigned char)at[1])) {
            size_t index = 0;
            while (at + 1 < end && isdigit((unsigned char)at[1]) && index < MAX_OPERANDS)
                index = index * 10 + (size_t)(*++at - '0');
            if (index >= b->all.len) {
                tc_error(b->tx, HDS0333, b->span, (long)index, (long)b->all.len);
                return NULL;
            }
            const asm_operand *o = &b->all.at[index];
            str_adds(&out, o->pasted                             ? o->pasted
                           : b->has_result && o->role == OUTPUTS ? "{result}"
                                                                 : arena_printf(b->tx->arena, "{o%zu}", index));
        } else {
            str_addc(&out, *at);
        }
    }
    return str_text(&out);
}

static bool is_true(tc_args *args, const char *params, int index)
{
    tc_value *v = tc_arg_get(args, params, index);
    return v && v->kind == TC_BOOL && v->b;
}

static int effects_of(const asm_builder *b, tc_args *args, const char *params)
{
    enum {
        ALL_MEMORY = IR_EFFECT_READS_GLOBAL | IR_EFFECT_READS_SHARED | IR_EFFECT_WRITES_GLOBAL | IR_EFFECT_WRITES_SHARED
    };
    int effects = is_true(args, params, MEMORY_FENCE) ? IR_EFFECT_FENCE | IR_EFFECT_VOLATILE : 0;
    bool writes_registers = false, has_address = false;
    for (size_t i = 0; i < b->all.len; i++) {
        writes_registers |= b->all.at[i].role != INPUTS;
        has_address |= b->all.at[i].e && b->all.at[i].e->type->kind == IR_POINTER;
    }
    if (!writes_registers || is_true(args, params, IS_VOLATILE))
        effects |= IR_EFFECT_VOLATILE | ALL_MEMORY;
    return has_address ? effects | ALL_MEMORY : effects;
}

static ir_intrin *instruction_of(asm_builder *b, const char *text, int effects)
{
    tc *tx = b->tx;
    ir_intrin *in = ARENA_NEW(tx->arena, ir_intrin);
    *in = (ir_intrin){.name = "asm",
                      .module = "hidet.lang",
                      .form = IR_INTRIN_PTX,
                      .text = text,
                      .scope = IR_SCOPE_THREAD,
                      .effects = effects,
                      .result = b->has_result ? b->all.at[0].value.rt->type : ir_void(tx->ir),
                      .span = b->span};
    VEC(ir_operand) operands = {0};
    for (size_t i = 0; i < b->all.len; i++) {
        const asm_operand *o = &b->all.at[i];
        if (!o->e)
            continue;
        ir_operand p = {.name = arena_printf(tx->arena, "o%zu", i), .type = o->e->type};
        if (o->in_place.kind == TC_TENSOR)
            p = (ir_operand){p.name, ir_tensor_type(tx->ir, o->value.rt->type, IR_REGISTER), 1, false, true, true};
        VEC_PUSH(tx->arena, &operands, p);
    }
    in->operands = operands.at;
    in->operand_count = (int)operands.len;
    return in;
}

static bool write_back(asm_builder *b)
{
    bool ok = true;
    tc_value first = tc_of_int(0);
    for (size_t i = 0; i < b->all.len; i++) {
        const asm_operand *o = &b->all.at[i];
        if (o->in_place.kind != TC_TENSOR)
            continue;
        tc_value v = tc_tensor_load(b->tx, o->in_place.tensor, &first, 1, NULL, b->span);
        ok &= tc_store_reference(b->tx, o->value, v, b->span);
    }
    return ok;
}

static tc_value emit(asm_builder *b, const ir_intrin *in)
{
    tc *tx = b->tx;
    ir_expr *call = ir_new_expr(tx->ir, IR_OP_INTRIN, in->result, b->span, in->operand_count);
    call->u.intrin = in;
    int n = 0;
    for (size_t i = 0; i < b->all.len; i++)
        if (b->all.at[i].e)
            call->args[n++] = b->all.at[i].e;
    if (b->has_result) {
        tc_value result = tc_rt(ir_read(tx->ir, tc_declare_result(tx, call, b->span), b->span));
        return tc_store_reference(tx, b->all.at[0].value, result, b->span) ? tc_none() : tc_poison();
    }
    ir_stmt *s = tc_new_stmt(tx, IR_EVAL, b->span);
    s->value = call;
    tc_emit(tx, s);
    return write_back(b) ? tc_none() : tc_poison();
}

static bool fits_result(const ir_type *type)
{
    return type->kind == IR_SCALAR || (type->kind == IR_VECTOR && ir_type_bytes(type) == 4); // f16x2 is one register
}

tc_value tc_native_asm(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value template = *tc_arg_get(args, self->params, TEMPLATE);
    if (template.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->span, "the template", "str", tc_describe(tx, template));
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (!tx->block || tc_on_host(tx))
        return TC_ERR(tx, HDS0295, args->span, "'asm'");
    asm_builder b = {.tx = tx, .span = args->span};
    if (!add_group(&b, args, self->params, OUTPUTS) || !add_group(&b, args, self->params, OUTPUT_INPUTS))
        return tc_poison();
    b.has_result = b.all.len == 1 && b.all.at[0].role == OUTPUTS && b.all.at[0].value.kind == TC_RT &&
                   fits_result(b.all.at[0].value.rt->type);
    if (!add_group(&b, args, self->params, INPUTS) || !prepare(&b))
        return tc_poison();
    const char *text = text_of(&b, template.s);
    if (!text)
        return tc_poison();
    const ir_intrin *in = tc_intern_asm(tx, instruction_of(&b, text, effects_of(&b, args, self->params)));
    return emit(&b, in);
}

// assign(reference, value): stores to what a reference names, in the functions of the library that take references.
tc_value tc_native_assign(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    if (tc_wants_run_time(tx))
        return tc_poison();
    return tc_store_reference(tx, args->list.at[0].value, args->list.at[1].value, args->span) ? tc_none() : tc_poison();
}
