// The list of all models, and what they share.
#include "sim/models/models_priv.h"

#include <stdarg.h>

static const sim_model_table tables[] = {
    {"hidet.lang.cuda", sim_models_barrier},      {"hidet.lang.cuda", sim_models_misc},
    {"hidet.lang.cuda", sim_models_mask},         {"hidet.lang.warp", sim_models_warp},
    {"hidet.lang.atomic", sim_models_atomic},     {"hidet.lang.memory", sim_models_memory},
    {"hidet.lang.async_copy", sim_models_async},  {"hidet.lang.mma", sim_models_matrix},
    {"hidet.lang.math", sim_models_math},         {"hidet.lang.fast", sim_models_fast},
    {"hidet.lang.bits", sim_models_bits},         {"hidet.lang.convert", sim_models_convert},
    {"hidet.lang.mbarrier", sim_models_mbarrier}, {"hidet.lang.testing", sim_models_testing},
    {"hidet.lang.tma", sim_models_tma},           {"hidet.lang.wgmma", sim_models_wgmma},
    {"hidet.lang.cuda", sim_models_group},        {"hidet.lang.cluster", sim_models_cluster},
    {"hidet.lang.cluster", sim_models_mbarrier_at}, {"hidet.lang", sim_models_asm},
};

const sim_model *sim_model_find(const char *module, const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].module, module) != 0)
            continue;
        for (const sim_model *m = tables[i].models; m->name; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    }
    return NULL;
}

// ---- what an instance says -----------------------------------------------------------------------------------------

const char *sim_argument(const ir_intrin *in, const char *name)
{
    size_t len = strlen(name);
    for (const char **d = in->dtypes; d && *d; d++)
        if (strncmp(*d, name, len) == 0 && (*d)[len] == '=')
            return *d + len + 1;
    return NULL;
}

dtype sim_argument_type(const ir_intrin *in, const char *name)
{
    const char *text = sim_argument(in, name);
    dtype t;
    return text && dt_find(str_of(text), &t) ? t : DT_NONE;
}

str sim_opcode_part(const ir_intrin *in, int index)
{
    if (in->form != IR_INTRIN_PTX)
        return STR("");
    const char *at = in->text;
    for (;;) {
        size_t len = strcspn(at, ". ;");
        if (index-- == 0)
            return (str){at, len};
        at += len;
        if (*at != '.')
            return STR("");
        at++;
    }
}

bool sim_opcode_has(const ir_intrin *in, const char *part)
{
    str wanted = str_of(part);
    for (int i = 0;; i++) {
        str found = sim_opcode_part(in, i);
        if (!found.len)
            return false;
        if (str_equal(found, wanted))
            return true;
    }
}

const sim_operand *sim_operand_named(const sim_use *use, const char *name)
{
    for (int i = 0; i < use->intrin->operand_count; i++)
        if (strcmp(use->intrin->operands[i].name, name) == 0)
            return &use->operands[i];
    return NULL;
}

sim_sem sim_sem_of(const ir_intrin *in)
{
    return sim_opcode_has(in, "acq_rel")   ? SIM_ACQ_REL
           : sim_opcode_has(in, "acquire") ? SIM_ACQUIRE
           : sim_opcode_has(in, "release") ? SIM_RELEASE
                                           : SIM_RELAXED;
}

sim_reach sim_reach_of(const ir_intrin *in)
{
    return sim_opcode_has(in, "cta")       ? SIM_CTA
           : sim_opcode_has(in, "cluster") ? SIM_CLUSTER
           : sim_opcode_has(in, "sys")     ? SIM_SYS
                                           : SIM_GPU;
}

// ---- poison --------------------------------------------------------------------------------------------------------

uint32_t sim_poison_of(const sim_warp *w, const sim_operand *o)
{
    uint32_t bits = 0;
    for (int i = 0; i < o->count; i++)
        bits |= w->poison[sim_element_cell(o, i)];
    return bits;
}

uint32_t sim_why_of(const sim_warp *w, const sim_operand *o)
{
    for (int i = 0; i < o->count; i++)
        if (w->poison[sim_element_cell(o, i)])
            return w->why[sim_element_cell(o, i)];
    return 0;
}

static void report_flight(sim_warp *w, uint32_t site, uint32_t lane, const char *what, uint32_t wgmma)
{
    sim_finding f = {.code = HDS0626, .other_text = "it starts here"};
    f.args[0] = sim_say(w, "%s is taken from an accumulator", what);
    f.actor = (sim_actor){site, w->block->index, sim_thread(w, lane), w->index};
    f.other = (sim_actor){wgmma, w->block->index, sim_thread(w, lane), w->index};
    f.help = "commit(), then wait(acc, 0) before the accumulators are used";
    sim_find(w->block->launch->device, w->block->launch, &f);
}

void sim_result_poison(sim_warp *w, const sim_use *use, uint32_t lanes, const sim_operand *o)
{
    uint32_t why = sim_why_of(w, o);
    for (int i = 0; i < use->result.count; i++) {
        uint32_t cell = sim_element_cell(&use->result, i);
        w->poison[cell] |= lanes;
        w->why[cell] = why;
    }
}

void sim_poison_by_element(sim_warp *w, const sim_use *use, uint32_t lanes)
{
    const sim_operand *r = &use->result;
    for (int i = 0; i < r->count; i++) {
        uint32_t bits = 0, why = 0;
        for (int k = 0; k < use->intrin->operand_count; k++) {
            const sim_operand *o = &use->operands[k];
            uint32_t more = o->count == r->count ? w->poison[sim_element_cell(o, i)] : sim_poison_of(w, o);
            if (more & ~bits)
                why = o->count == r->count ? w->why[sim_element_cell(o, i)] : sim_why_of(w, o);
            bits |= more;
        }
        sim_poison_set(w, sim_element_cell(r, i), lanes, bits, why);
    }
    if (w->field)
        sim_fields_drop(w, r->cell, r->count * r->cells, lanes);
}

void sim_result_defined(sim_warp *w, const sim_use *use, uint32_t lanes)
{
    const sim_operand *r = &use->result;
    for (int i = 0; i < r->count; i++)
        w->poison[sim_element_cell(r, i)] &= ~lanes;
    if (w->field)
        sim_fields_drop(w, r->cell, r->count * r->cells, lanes);
}

uint32_t sim_require_defined(sim_warp *w, uint32_t site, uint32_t cell, uint32_t lanes, const char *what)
{
    uint32_t bad = w->poison[cell] & lanes;
    if (!bad || w->block->launch->device->options.no_checks)
        return lanes;
    sim_finding f = {.code = HDS0604, .args = {what}, .other_text = "this value was never written"};
    uint32_t lane = sim_first_lane(bad);
    if (w->why[cell] & SIM_WHY_FLIGHT) {
        report_flight(w, site, lane, what, w->why[cell] & ~SIM_WHY_FLIGHT);
        w->poison[cell] &= ~bad;
        return lanes & ~bad;
    }
    f.actor = (sim_actor){site, w->block->index, sim_thread(w, lane), w->index};
    if (w->why[cell] && w->why[cell] != site)
        f.other = (sim_actor){w->why[cell], w->block->index, sim_thread(w, lane), w->index};
    sim_find(w->block->launch->device, w->block->launch, &f);
    w->poison[cell] &= ~bad;
    return lanes & ~bad;
}

// ---- field values ------------------------------------------------------------------------------------------------

void sim_fields_drop(sim_warp *w, uint32_t cell, int cells, uint32_t lanes)
{
    for (int i = 0; i < cells; i++)
        SIM_EACH(lane, lanes)
            memset(sim_field_of(w, cell + (uint32_t)i, (int)lane), 0xff, SIM_FIELD_PARTS * sizeof(sim_field));
}

double sim_value_of(dtype t, uint64_t bits)
{
    switch (t) {
    case DT_F64:
        return sim_double_of(bits);
    case DT_F32:
        return (double)sim_float_of((uint32_t)bits);
    case DT_F16:
        return (double)sim_from_f16((uint32_t)bits);
    case DT_BF16:
        return (double)sim_from_bf16((uint32_t)bits);
    default:
        return dt_to_double(t, bits);
    }
}

sim_field sim_field_element(const sim_warp *w, const sim_operand *o, int element, uint32_t lane)
{
    sim_field f = sim_field_of(w, sim_element_cell(o, element), (int)lane)[0];
    return sim_field_is_followed(f) ? f : sim_field_of_float(sim_value_of(o->type, sim_element(w, o, element, lane)));
}

void sim_field_element_set(sim_warp *w, const sim_operand *o, int element, uint32_t lane, sim_field f)
{
    sim_field *parts = sim_field_of(w, sim_element_cell(o, element), (int)lane);
    memset(parts, 0xff, SIM_FIELD_PARTS * sizeof *parts);
    parts[0] = f;
}

static void move_parts(const sim_operand *o, sim_field *memory, sim_field *parts, bool to_memory)
{
    // 64-bit values are followed in part 0; others by the byte that they begin at.
    int bytes = sim_operand_bytes(o), count = bytes < 4 ? bytes : o->cells == 2 ? 1 : 4;
    for (int i = 0; i < count; i++) {
        if (to_memory)
            memory[i] = parts[i];
        else
            parts[i] = memory[i];
    }
    for (int i = count; to_memory && i < bytes; i++)
        memory[i] = SIM_FIELD_NOTHING;
    for (int i = count; !to_memory && i < SIM_FIELD_PARTS; i++)
        parts[i] = SIM_FIELD_NOTHING;
}

static void move_all(sim_warp *w, uint32_t lane, uint64_t address, const sim_operand *o, bool to_memory)
{
    sim_field *memory = sim_memory_field(w, lane, address);
    for (int i = 0; memory && i < o->count; i++)
        move_parts(o, memory + i * sim_operand_bytes(o), sim_field_of(w, sim_element_cell(o, i), (int)lane), to_memory);
}

void sim_fields_from_memory(sim_warp *w, uint32_t lane, uint64_t address, const sim_operand *to)
{
    move_all(w, lane, address, to, false);
}

void sim_fields_to_memory(sim_warp *w, uint32_t lane, uint64_t address, const sim_operand *from)
{
    move_all(w, lane, address, from, true);
}

// ---- words ---------------------------------------------------------------------------------------------------------

void sim_lanes_print(uint32_t lanes, str_buf *out)
{
    bool is_first = true;
    while (lanes) {
        int low = __builtin_ctz(lanes), high = low;
        while (high < 31 && (lanes >> (high + 1) & 1))
            high++;
        str_addf(out, is_first ? "%d" : ", %d", low);
        if (high > low)
            str_addf(out, high == low + 1 ? ", %d" : " … %d", high);
        is_first = false;
        lanes = high == 31 ? 0 : lanes >> (high + 1) << (high + 1);
    }
}

const char *sim_say(const sim_warp *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(w->block->arena, format, args);
    va_end(args);
    return text;
}

const char *sim_say_lanes(const sim_warp *w, uint32_t lanes)
{
    str_buf out;
    str_buf_init(&out, w->block->arena);
    str_adds(&out, lanes & (lanes - 1) ? "lanes " : "lane ");
    sim_lanes_print(lanes, &out);
    return str_text(&out);
}

// ---- participants ----------------------------------------------------------------------------------------------

static void find_lanes(sim_warp *w, const sim_use *use, uint32_t lane, const char *what, const char *help)
{
    sim_find_at(w, lane, use->site, HDS0615, use->intrin->name, what, NULL, help);
}

bool sim_together(sim_warp *w, const sim_use *use, uint32_t mask)
{
    uint32_t wanted = mask & sim_live(w), missing = wanted & ~w->active;
    if (!missing)
        return true;
    const char *what = sim_say(w, "%s of warp %d %s not here", sim_say_lanes(w, missing), w->index,
                               missing & (missing - 1) ? "are" : "is");
    find_lanes(w, use, sim_first_lane(w->active), what,
               "move it out of the branch, so that the whole warp executes it together");
    return false;
}

static uint32_t lanes_naming(const sim_warp *w, const sim_operand *mask, uint32_t names)
{
    uint32_t found = 0;
    SIM_EACH(lane, w->active)
        found |= (uint32_t)(sim_u32(w, mask->cell)[lane] == names) << lane;
    return found;
}

bool sim_members(sim_warp *w, const sim_use *use, const sim_operand *mask, uint32_t lane, uint32_t *members)
{
    uint32_t names = sim_u32(w, mask->cell)[lane], same = lanes_naming(w, mask, names), live = sim_live(w);
    *members = names & same;
    uint32_t outside = same & ~names, missing = names & live & ~w->active, others = names & w->active & ~same;
    if (!(outside | missing | others))
        return true;
    const char *what = outside ? sim_say(w, "%s not in the mask 0x%08x", sim_say_lanes(w, outside), names)
                       : missing
                           ? sim_say(w, "%s of the mask 0x%08x not here", sim_say_lanes(w, missing), names)
                           : sim_say(w, "%s of the mask 0x%08x with another mask", sim_say_lanes(w, others), names);
    find_lanes(w, use, lane, what,
               outside ? "the mask has a bit for each lane that executes the instruction"
                       : "all lanes of the mask execute it together, with the same mask");
    return false;
}
