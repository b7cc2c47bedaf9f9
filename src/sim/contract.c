// Contraction (sim_options.contract): a sum takes a product before it is rounded, as NVRTC compiles `a * b + c` unless
// -fmad=false forbids it. Each cell of f32, f64 or f16 that holds a product remembers its factors; they follow the value
// through variables and register arrays, as unrolled loops and inlined functions let the compiler do, but not through memory.
// bf16 is left alone: its operators are fma.rn in the CUDA text, which nothing contracts. Of two products the left one is fused.
#include <math.h>
#include <string.h>

#include "sim/exec.h"
#include "sim/half.h"
#include "sim/models/exact.h"

typedef struct operation {
    dtype type;  // DT_NONE: none of those below
    enum { MUL, ADD, SUB, NEG } kind;
} operation;

static operation operation_of(const sim_op *op)
{
    switch (op->code) {
    case SIM_OP_MUL_F32: return (operation){DT_F32, MUL};
    case SIM_OP_ADD_F32: return (operation){DT_F32, ADD};
    case SIM_OP_SUB_F32: return (operation){DT_F32, SUB};
    case SIM_OP_NEG_F32: return (operation){DT_F32, NEG};
    case SIM_OP_MUL_F64: return (operation){DT_F64, MUL};
    case SIM_OP_ADD_F64: return (operation){DT_F64, ADD};
    case SIM_OP_SUB_F64: return (operation){DT_F64, SUB};
    case SIM_OP_NEG_F64: return (operation){DT_F64, NEG};
    case SIM_OP_MUL_F16: return (operation){DT_F16, MUL};
    case SIM_OP_ADD_F16: return (operation){DT_F16, ADD};
    case SIM_OP_SUB_F16: return (operation){DT_F16, SUB};
    case SIM_OP_NEG_F16: return (operation){DT_F16, NEG};
    default: return (operation){DT_NONE, MUL};
    }
}

// ---- values --------------------------------------------------------------------------------------------------------

static double value_at(const sim_warp *w, dtype type, uint32_t cell, uint32_t lane)
{
    switch (type) {
    case DT_F32: return (double)sim_f32(w, cell)[lane];
    case DT_F64: return sim_f64(w, cell)[lane];
    default: return (double)sim_from_f16(sim_u32(w, cell)[lane]);
    }
}

static void set_value(sim_warp *w, dtype type, uint32_t cell, uint32_t lane, double value)
{
    switch (type) {
    case DT_F32: sim_f32(w, cell)[lane] = sim_quiet((float)value); break;
    case DT_F64: sim_f64(w, cell)[lane] = value; break;
    default: sim_u32(w, cell)[lane] = sim_to_f16((float)value); break;
    }
}

// Correct to the last bit of [type], once set_value has rounded it.
static double fused(dtype type, sim_product p, double addend)
{
    if (type == DT_F64)
        return fma(p.a, p.b, addend);
    double sum = sim_add_odd(p.a * p.b, addend);
    return type == DT_F32 ? sum : (double)sim_narrow_odd(sum);
}

static double rounded(dtype type, sim_product p)
{
    double product = p.a * p.b;
    return type == DT_F64   ? product
           : type == DT_F32 ? (double)(float)product
                            : (double)sim_from_f16(sim_to_f16((float)product));
}

// ---- products ------------------------------------------------------------------------------------------------------

static sim_product *product_at(const sim_warp *w, uint32_t cell, uint32_t lane)
{
    return w->products + (size_t)cell * SIM_LANES + lane;
}

// Lanes of the cell that hold a product of [type] still: instructions write registers without telling.
static uint32_t products_in(const sim_warp *w, dtype type, uint32_t cell)
{
    uint32_t lanes = 0;
    SIM_EACH(lane, w->has_product[cell])
        lanes |= (uint32_t)(rounded(type, *product_at(w, cell, lane)) == value_at(w, type, cell, lane)) << lane;
    return lanes;
}

static void remember(sim_warp *w, const sim_op *op, dtype type)
{
    for (uint32_t lane = 0; lane < SIM_LANES; lane++)
        *product_at(w, op->dst, lane) = (sim_product){value_at(w, type, op->a, lane), value_at(w, type, op->b, lane)};
    w->has_product[op->dst] = UINT32_MAX;
}

static void negate(sim_warp *w, const sim_op *op, dtype type)
{
    uint32_t lanes = products_in(w, type, op->a);
    SIM_EACH(lane, lanes)
        *product_at(w, op->dst, lane) = sim_negated(*product_at(w, op->a, lane));
    w->has_product[op->dst] = lanes;
}

static void taint(sim_warp *w, const sim_op *op)
{
    uint32_t of_a = w->poison[op->a], lanes = of_a | w->poison[op->b];
    if (lanes)
        w->why[op->dst] = w->why[of_a ? op->a : op->b];
    w->poison[op->dst] = lanes;
}

// a + b or a - b; false: neither is a product.
static bool add(sim_warp *w, const sim_op *op, operation o)
{
    uint32_t left = products_in(w, o.type, op->a), right = products_in(w, o.type, op->b);
    w->has_product[op->dst] = 0;
    if (!(left | right))
        return false;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        double a = value_at(w, o.type, op->a, lane), b = value_at(w, o.type, op->b, lane);
        sim_product of_b = *product_at(w, op->b, lane);
        if (o.kind == SUB)
            b = -b, of_b = sim_negated(of_b);
        double sum = left >> lane & 1    ? fused(o.type, *product_at(w, op->a, lane), b)
                     : right >> lane & 1 ? fused(o.type, of_b, a)
                                         : a + b;
        set_value(w, o.type, op->dst, lane, sum);
    }
    taint(w, op);
    return true;
}

void sim_product_move(sim_warp *w, uint32_t to, uint32_t from, uint32_t lanes)
{
    SIM_EACH(lane, lanes)
        *product_at(w, to, lane) = *product_at(w, from, lane);
    w->has_product[to] = (w->has_product[to] & ~lanes) | (w->has_product[from] & lanes);
}

static void move(sim_warp *w, const sim_op *op, uint32_t lanes)
{
    bool is_down = op->dst < op->a;  // the two may overlap
    for (uint32_t i = 0; i < op->count; i++) {
        uint32_t cell = is_down ? i : op->count - 1u - i;
        sim_product_move(w, op->dst + cell, op->a + cell, lanes);
    }
}

bool sim_contract(sim_warp *w, const sim_op *op)
{
    operation o = operation_of(op);
    if (o.type != DT_NONE) {
        switch (o.kind) {
        case MUL: remember(w, op, o.type); return false;
        case NEG: negate(w, op, o.type); return false;
        default: return add(w, op, o);
        }
    }
    switch (op->code) {
    case SIM_OP_MOVE: move(w, op, UINT32_MAX); break;
    case SIM_OP_ASSIGN:
    case SIM_OP_ASSIGN_WIDE: move(w, op, w->active); break;
    case SIM_OP_SELECT:
    case SIM_OP_SELECT_WIDE:
    case SIM_OP_UNPACK: memset(w->has_product + op->dst, 0, op->count * sizeof *w->has_product); break;
    case SIM_OP_LOAD: {
        const sim_access *access = &w->block->launch->program->accesses.at[op->c];
        uint32_t cells = access->count * (access->bytes > 4 ? 2u : 1u);
        memset(w->has_product + op->dst, 0, cells * sizeof *w->has_product);
        break;
    }
    case SIM_OP_LOAD_SLOT:   // each element takes its product along: exec.c
    case SIM_OP_STORE_SLOT:
    case SIM_OP_STORE: break;
    default: w->has_product[op->dst] = 0; break;  // cell 0 where nothing is written: it is a constant
    }
    return false;
}
