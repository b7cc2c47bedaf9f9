// hidet.lang.warp: shuffles, votes, match, reductions (PTX ISA 9.7.9 "shfl.sync", 9.7.13.9 "vote.sync", 9.7.13.10
// "match.sync", 9.7.13.12 "redux.sync"). None of them orders memory.
#include "sim/models/models_priv.h"

// ---- shuffles ----------------------------------------------------------------------------------------------------

typedef enum shuffle_mode { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR } shuffle_mode;

// bound[0]: shuffle_mode; bound[1 … 4]: which operand is mask, x, source, width.
static bool bind_shuffle(sim_use *use)
{
    static const char *const modes[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};
    static const char *const names[] = {"mask", "x", "source", "width"};
    size_t length = strcspn(use->intrin->text, "(");
    for (int i = 0; i < 4; i++) {
        const sim_operand *o = sim_operand_named(use, names[i]);
        if (!o)
            return false;
        use->bound[1 + i] = o - use->operands;
    }
    for (int i = 0; i < 4; i++)
        if (strlen(modes[i]) == length && strncmp(use->intrin->text, modes[i], length) == 0) {
            use->bound[0] = i;
            return true;
        }
    return false;
}

// The lane that [lane] reads from, as PTX computes it.
static uint32_t source_of(shuffle_mode mode, uint32_t lane, int32_t source, uint32_t width)
{
    int32_t segment = (int32_t)(32 - width), clamp = mode == SHUFFLE_UP ? 0 : 31, b = source & 31, self = (int32_t)lane;
    int32_t low = self & segment, limit = low | (clamp & ~segment), from = self;
    bool is_inside = true;
    switch (mode) {
    case SHUFFLE_UP:
        from = self - b, is_inside = from >= limit;
        break;
    case SHUFFLE_DOWN:
        from = self + b, is_inside = from <= limit;
        break;
    case SHUFFLE_XOR:
        from = self ^ b, is_inside = from <= limit;
        break;
    case SHUFFLE_INDEX:
        from = low | (b & ~segment), is_inside = from <= limit;
        break;
    }
    return is_inside ? (uint32_t)from : lane;
}

// Which lane each active lane reads from; false after a finding.
static bool shuffle_sources(sim_warp *w, const sim_use *use, uint32_t *from)
{
    const sim_operand *mask = &use->operands[use->bound[1]], *source = &use->operands[use->bound[3]];
    const sim_operand *width = &use->operands[use->bound[4]];
    uint32_t names = 0, members = 0;
    SIM_EACH(lane, w->active) {
        uint32_t mine = sim_u32(w, mask->cell)[lane], segment = sim_u32(w, width->cell)[lane];
        if ((!members || mine != names) && !sim_members(w, use, mask, lane, &members))
            return false;
        names = mine;
        if (segment == 0 || segment > 32 || (segment & (segment - 1))) {
            sim_find_at(w, lane, use->site, HDS0615, "shfl", sim_say(w, "width %d", (int)segment), NULL,
                        "the width is 1, 2, 4, 8, 16 or 32 lanes");
            return false;
        }
        from[lane] = source_of((shuffle_mode)use->bound[0], lane, sim_i32(w, source->cell)[lane], segment);
        if (!(members >> from[lane] & 1)) {
            bool is_here = w->active >> from[lane] & 1;
            const char *what = sim_say(w, "lane %u reads from lane %u, which %s", lane, from[lane],
                                       is_here ? "the mask does not name" : "is not here");
            sim_find_at(
                w, lane, use->site, HDS0615, "shfl", what, NULL,
                "shuffle among the lanes that take part: a smaller width, or the whole warp with neutral values");
            from[lane] = lane;
            return false;
        }
    }
    return true;
}

static void move_lanes(sim_warp *w, const sim_operand *x, const sim_operand *r, const uint32_t *from)
{
    if (x->cells == 2) {
        uint64_t before[SIM_LANES];
        memcpy(before, sim_u64(w, x->cell), sizeof before);
        SIM_EACH(lane, w->active)
            sim_u64(w, r->cell)[lane] = before[from[lane]];
        return;
    }
    uint32_t before[SIM_LANES];
    memcpy(before, sim_u32(w, x->cell), sizeof before);
    SIM_EACH(lane, w->active)
        sim_u32(w, r->cell)[lane] = before[from[lane]];
}

static void move_fields(sim_warp *w, const sim_operand *x, const sim_operand *r, const uint32_t *from)
{
    sim_field before[SIM_LANES][SIM_FIELD_PARTS];
    memcpy(before, sim_field_of(w, x->cell, 0), sizeof before);
    sim_fields_drop(w, r->cell, r->cells, w->active);
    SIM_EACH(lane, w->active)
        memcpy(sim_field_of(w, r->cell, (int)lane), before[from[lane]], sizeof before[0]);
}

static sim_step run_shuffle(sim_warp *w, const sim_use *use)
{
    const sim_operand *x = &use->operands[use->bound[2]], *source = &use->operands[use->bound[3]], *r = &use->result;
    uint32_t from[SIM_LANES];
    sim_require_defined(w, use->site, use->operands[use->bound[1]].cell, w->active, "mask of a shuffle");
    if (!shuffle_sources(w, use, from)) {
        sim_result_defined(w, use, w->active);
        return SIM_NEXT;
    }
    uint32_t old = w->poison[x->cell], why = w->why[x->cell], moved = 0;
    if (old)
        SIM_EACH(lane, w->active)
            moved |= (old >> from[lane] & 1) << lane;
    move_lanes(w, x, r, from);
    if (w->field)
        move_fields(w, x, r, from);
    sim_poison_set(w, r->cell, w->active, moved, why);
    if (w->poison[source->cell] & w->active)
        sim_result_poison(w, use, w->poison[source->cell] & w->active, source);
    return SIM_NEXT;
}

// ---- groups: votes, match, reductions ----------------------------------------------------------------------------

// What the lanes of a group get: values in, one value or one for each lane out.
typedef enum group_function {
    GROUP_ALL,
    GROUP_ANY,
    GROUP_BALLOT,
    GROUP_MATCH,
    GROUP_ADD,
    GROUP_MIN,
    GROUP_MAX,
    GROUP_AND,
    GROUP_OR,
    GROUP_XOR,
} group_function;

// bound[0]: group_function; bound[1]: operand of the value; bound[2]: of the mask; bound[3]: whether it is signed.
static bool bind_group(sim_use *use)
{
    static const struct {
        const char *name;
        group_function f;
    } names[] = {{"vote_all", GROUP_ALL},    {"vote_any", GROUP_ANY},  {"ballot", GROUP_BALLOT},
                 {"match_any", GROUP_MATCH}, {"redux_add", GROUP_ADD}, {"redux_min", GROUP_MIN},
                 {"redux_max", GROUP_MAX},   {"redux_bits", GROUP_AND}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, use->intrin->name) == 0)
            use->bound[0] = names[i].f;
    if (strcmp(use->intrin->name, "redux_bits") == 0)
        use->bound[0] = sim_opcode_has(use->intrin, "or")    ? GROUP_OR
                        : sim_opcode_has(use->intrin, "xor") ? GROUP_XOR
                                                             : GROUP_AND;
    const sim_operand *mask = sim_operand_named(use, "mask"), *value = sim_operand_named(use, "predicate");
    if (!value)
        value = sim_operand_named(use, "x");
    if (!mask || !value)
        return false;
    use->bound[1] = value - use->operands;
    use->bound[2] = mask - use->operands;
    use->bound[3] = dt_is_signed(value->type);
    return true;
}

static uint32_t combine(group_function f, bool is_signed, uint32_t a, uint32_t b)
{
    bool below = is_signed ? (int32_t)a < (int32_t)b : a < b;
    switch (f) {
    case GROUP_ADD:
        return a + b;
    case GROUP_MIN:
        return below ? a : b;
    case GROUP_MAX:
        return below ? b : a;
    case GROUP_AND:
        return a & b;
    case GROUP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint32_t group_value(const sim_warp *w, const sim_use *use, const sim_operand *x, uint32_t members,
                            uint32_t lane)
{
    group_function f = (group_function)use->bound[0];
    uint32_t found = 0, total = 0;
    bool is_first = true;
    SIM_EACH(other, members) {
        uint64_t value = sim_element(w, x, 0, other);
        bool counts = f == GROUP_MATCH ? value == sim_element(w, x, 0, lane) : value != 0;
        found |= (uint32_t)counts << other;
        total = is_first ? (uint32_t)value : combine(f, use->bound[3], total, (uint32_t)value);
        is_first = false;
    }
    switch (f) {
    case GROUP_ALL:
        return found == members;
    case GROUP_ANY:
        return found != 0;
    case GROUP_BALLOT:
    case GROUP_MATCH:
        return found;
    default:
        return total;
    }
}

static sim_step run_group(sim_warp *w, const sim_use *use)
{
    const sim_operand *x = &use->operands[use->bound[1]], *mask = &use->operands[use->bound[2]];
    uint32_t values[SIM_LANES], done = 0, poisoned = 0, names = 0, members = 0, why = w->why[x->cell];
    sim_require_defined(w, use->site, mask->cell, w->active, "mask of a collective");
    SIM_EACH(lane, w->active) {
        uint32_t mine = sim_u32(w, mask->cell)[lane];
        bool is_new = !done || mine != names;
        if (is_new && !sim_members(w, use, mask, lane, &members)) {
            memset(values, 0, sizeof values);
            poisoned = 0;
            break;
        }
        names = mine;
        bool is_same = !is_new && use->bound[0] != GROUP_MATCH;
        values[lane] = is_same ? values[sim_first_lane(done & members)] : group_value(w, use, x, members, lane);
        poisoned |= (uint32_t)((w->poison[x->cell] & members) != 0) << lane;
        done |= 1u << lane;
    }
    SIM_EACH(lane, w->active)
        sim_u32(w, use->result.cell)[lane] = values[lane];
    sim_result_defined(w, use, w->active);
    sim_poison_set(w, use->result.cell, w->active, poisoned, why);
    return SIM_NEXT;
}

const sim_model sim_models_warp[] = {
    {"_shfl", run_shuffle, bind_shuffle, false},  {"vote_all", run_group, bind_group, false},
    {"vote_any", run_group, bind_group, false},   {"ballot", run_group, bind_group, false},
    {"match_any", run_group, bind_group, false},  {"redux_add", run_group, bind_group, false},
    {"redux_min", run_group, bind_group, false},  {"redux_max", run_group, bind_group, false},
    {"redux_bits", run_group, bind_group, false}, {NULL, NULL, NULL, false},
};

// ---- which lanes are here ----------------------------------------------------------------------------------------

static sim_step run_active_mask(sim_warp *w, const sim_use *use)
{
    SIM_EACH(lane, w->active)
        sim_u32(w, use->result.cell)[lane] = w->active;
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}

const sim_model sim_models_mask[] = {
    {"active_mask", run_active_mask, NULL, false},
    {NULL, NULL, NULL, false},
};
