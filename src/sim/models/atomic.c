// hidet.lang.atomic: PTX ISA 9.7.13.5 "atom", 9.7.13.6 "red". The lanes of a warp execute in order.
#include "sim/models/models_priv.h"

#include "sim/models/exact.h"

typedef enum atomic_op {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_EXCH,
    ATOMIC_CAS,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC__COUNT,
} atomic_op;

static const char *const op_names[] = {"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"};

// bound[0]: atomic_op; bound[1]: sim_sem; bound[2]: sim_reach; bound[3 … 5]: operands p, value, expected (-1: none).
static bool bind_atomic(sim_use *use)
{
    use->bound[0] = ATOMIC__COUNT;
    for (int i = 0; i < ATOMIC__COUNT; i++)
        if (sim_opcode_has(use->intrin, op_names[i]))
            use->bound[0] = i;
    use->bound[1] = sim_sem_of(use->intrin);
    use->bound[2] = sim_reach_of(use->intrin);
    const sim_operand *p = sim_operand_named(use, "p"), *value = sim_operand_named(use, "value");
    const sim_operand *expected = sim_operand_named(use, "expected");
    value = value ? value : sim_operand_named(use, "limit");
    if (!p || !value)
        return false;
    use->bound[3] = p - use->operands;
    use->bound[4] = value - use->operands;
    use->bound[5] = expected ? expected - use->operands : -1;
    return use->bound[0] < ATOMIC__COUNT;
}

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

// Sums of two 16-bit floats are exact in a double. See Note [atomic additions that flush]
static uint64_t add_floats(dtype t, uint64_t a, uint64_t b, bool flushes)
{
    if (t == DT_F64)
        return sim_bits_of_double64(sim_double_of(a) + sim_double_of(b));
    if (t == DT_F32) {
        float x = sim_float_of((uint32_t)a), y = sim_float_of((uint32_t)b);
        return sim_bits_of(sim_quiet(flushes ? flushed(flushed(x) + flushed(y)) : x + y));
    }
    float sum = sim_narrow_odd(sim_add_odd(sim_value_of(t, a), sim_value_of(t, b)));
    return sum != sum ? 0x7fffu : t == DT_F16 ? sim_to_f16(sum) : sim_to_bf16(sum);
}

static int64_t as_signed(dtype t, uint64_t x)
{
    return dt_bits(t) == 64 ? (int64_t)x : (int32_t)x;
}

static bool is_below(dtype t, uint64_t a, uint64_t b)
{
    if (dt_is_float(t))
        return sim_value_of(t, a) < sim_value_of(t, b);
    return dt_is_signed(t) ? as_signed(t, a) < as_signed(t, b) : a < b;
}

static uint64_t new_value(atomic_op op, dtype t, uint64_t old, uint64_t value, uint64_t expected, bool flushes)
{
    switch (op) {
    case ATOMIC_ADD:
        return dt_is_float(t) ? add_floats(t, old, value, flushes) : old + value;
    case ATOMIC_MIN:
        return is_below(t, value, old) ? value : old;
    case ATOMIC_MAX:
        return is_below(t, old, value) ? value : old;
    case ATOMIC_EXCH:
        return value;
    case ATOMIC_CAS:
        return old == expected ? value : old;
    case ATOMIC_AND:
        return old & value;
    case ATOMIC_OR:
        return old | value;
    case ATOMIC_XOR:
        return old ^ value;
    case ATOMIC_INC:
        return old >= value ? 0 : old + 1;
    case ATOMIC_DEC:
        return old == 0 || old > value ? value : old - 1;
    case ATOMIC__COUNT:
        break;
    }
    return old;
}

uint64_t sim_atomic_combine(const char *name, dtype t, uint64_t old, uint64_t value, bool flushes)
{
    atomic_op op = ATOMIC_ADD;
    while (op + 1 < ATOMIC__COUNT && strcmp(op_names[op], name) != 0)
        op++;
    return new_value(op, t, old, value, 0, flushes);
}

void sim_atomic_follow(sim_warp *w, uint32_t lane, const char *name, dtype t, uint64_t to, uint64_t from, uint64_t old,
                       uint64_t value, uint64_t now)
{
    sim_field *memory = sim_memory_field(w, lane, to);
    const sim_field *other = sim_memory_field(w, lane, from);
    bool is_sum = strcmp(name, "add") == 0 && dt_is_float(t);
    if (!memory || (!is_sum && old == now))
        return;
    sim_field total = SIM_FIELD_NOTHING;
    if (is_sum && other)
        total = sim_field_settle(sim_field_add(sim_field_or(memory[0], sim_value_of(t, old)),
                                               sim_field_or(other[0], sim_value_of(t, value))),
                                 sim_value_of(t, now));
    for (int k = 0; k < dt_bits(t) / 8; k++)
        memory[k] = k ? SIM_FIELD_NOTHING : total;
}

// An element's bits without the sign extension of its cell.
static uint64_t plain(const sim_warp *w, const sim_operand *o, int i, uint32_t lane)
{
    uint64_t bits = sim_element(w, o, i, lane);
    return dt_bits(o->type) < 32 ? bits & (((uint64_t)1 << dt_bits(o->type)) - 1) : bits;
}

// What the memory's field value becomes; the result, if there is one, gets what was there.
static void follow(sim_warp *w, const sim_use *use, uint32_t lane, uint64_t address, uint64_t old, uint64_t sum, int i)
{
    const sim_operand *value = &use->operands[use->bound[4]];
    sim_operand one = *value;
    one.cell = sim_element_cell(value, i);
    one.count = 1;
    sim_field *memory = sim_memory_field(w, lane, address);
    if (!memory)
        return;
    dtype t = value->type;
    bool is_sum = use->bound[0] == ATOMIC_ADD && dt_is_float(t);
    sim_field total = SIM_FIELD_NOTHING;
    if (is_sum)
        total = sim_field_settle(
            sim_field_add(sim_field_or(memory[0], sim_value_of(t, old)), sim_field_element(w, value, i, lane)),
            sim_value_of(t, sum));
    bool is_moved = use->bound[0] == ATOMIC_EXCH || (use->bound[0] == ATOMIC_CAS && old != sum);
    if (use->result.count) {
        sim_operand to = use->result;
        to.cell = sim_element_cell(&use->result, i);
        to.count = 1;
        // The operand may be in the result's cells.
        sim_field kept[SIM_FIELD_PARTS];
        memcpy(kept, sim_field_of(w, one.cell, (int)lane), sizeof kept);
        sim_fields_from_memory(w, lane, address, &to);
        if (is_moved)
            memcpy(memory, kept,
                   sizeof(sim_field) * (size_t)(sim_operand_bytes(&one) < 4 ? sim_operand_bytes(&one) : 4));
    }
    if (is_sum || (!is_moved && old != sum))
        for (int k = 0; k < sim_operand_bytes(&one); k++)
            memory[k] = k ? SIM_FIELD_NOTHING : total;
}

static void lane_atomic(sim_warp *w, const sim_use *use, uint32_t lane)
{
    const sim_operand *p = &use->operands[use->bound[3]], *value = &use->operands[use->bound[4]];
    const sim_operand *expected = use->bound[5] >= 0 ? &use->operands[use->bound[5]] : NULL;
    int bytes = sim_operand_bytes(value);
    uint64_t address = sim_u64(w, p->cell)[lane];
    bool flushes = value->type == DT_F32 && (address & SIM_TAG_MASK) == SIM_TAG_GLOBAL;
    for (int i = 0; i < value->count; i++, address += (uint64_t)bytes) {
        uint8_t *at =
            sim_atomic(w, use->site, lane, address, bytes, true, (sim_sem)use->bound[1], (sim_reach)use->bound[2]);
        uint64_t old = 0;
        if (at) {
            memcpy(&old, at, (size_t)bytes);
            uint64_t next = new_value((atomic_op)use->bound[0], value->type, old, plain(w, value, i, lane),
                                      expected ? plain(w, expected, i, lane) : 0, flushes);
            memcpy(at, &next, (size_t)bytes);
            if (w->field)
                follow(w, use, lane, address, old, next, i);
        }
        if (use->result.count)
            sim_element_set(w, &use->result, i, lane, old);
    }
}

// Pairs and vectors: the address is a multiple of all their bytes.
static uint32_t aligned_lanes(sim_warp *w, const sim_use *use, uint32_t lanes)
{
    const sim_operand *p = &use->operands[use->bound[3]], *value = &use->operands[use->bound[4]];
    uint64_t bytes = (uint64_t)(sim_operand_bytes(value) * value->count);
    if (value->count == 1)
        return lanes;
    SIM_EACH(lane, lanes) {
        uint64_t address = sim_u64(w, p->cell)[lane];
        if (address % bytes == 0)
            continue;
        const char *found = sim_say(w, "0x%llx", (unsigned long long)(address & SIM_OFFSET_MASK));
        sim_find_at(w, lane, use->site, HDS0603, use->intrin->name, sim_say(w, "%d", (int)bytes), found, NULL);
        lanes &= ~(1u << lane);
    }
    return lanes;
}

static sim_step run_atomic(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = w->active;
    for (int i = 0; i < use->intrin->operand_count; i++) {
        const sim_operand *o = &use->operands[i];
        const char *what =
            o->type == DT_NONE ? "the address of an atomic operation" : "an operand of an atomic operation";
        for (int k = 0; k < o->count; k++)
            lanes = sim_require_defined(w, use->site, sim_element_cell(o, k), lanes, what);
    }
    lanes = aligned_lanes(w, use, lanes);
    if (use->result.count && !w->field)
        sim_result_defined(w, use, w->active);
    SIM_EACH(lane, lanes)
        lane_atomic(w, use, lane);
    SIM_EACH(lane, w->active & ~lanes)
        for (int i = 0; i < use->result.count; i++)
            sim_element_set(w, &use->result, i, lane, 0);
    for (int i = 0; i < use->result.count; i++)
        w->poison[sim_element_cell(&use->result, i)] &= ~w->active;
    bool may_spin = use->bound[0] == ATOMIC_CAS || use->bound[0] == ATOMIC_EXCH;
    return may_spin ? SIM_YIELD : SIM_NEXT;
}

#define ATOMIC(name)                                                                                                   \
    {                                                                                                                  \
        name, run_atomic, bind_atomic, true                                                                            \
    }

const sim_model sim_models_atomic[] = {
    ATOMIC("add"),
    ATOMIC("add_bf16"),
    ATOMIC("min"),
    ATOMIC("max"),
    ATOMIC("exch"),
    ATOMIC("cas"),
    ATOMIC("bit_and"),
    ATOMIC("bit_or"),
    ATOMIC("bit_xor"),
    ATOMIC("inc"),
    ATOMIC("dec"),
    ATOMIC("red_add"),
    ATOMIC("red_add_bf16"),
    ATOMIC("red_min"),
    ATOMIC("red_max"),
    ATOMIC("red_bits"),
    ATOMIC("red_add_vector"),
    {NULL, NULL, NULL, false},
};

// Note [atomic additions that flush]
//
// atom.add.f32 on global memory flushes subnormal operands and results to zeros of their sign, on shared memory it does
// not (PTX ISA, "atom"). The forms for halves say .noftz.
