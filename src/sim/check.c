// Texts of the executor's findings.
#include "sim/check.h"

#include <inttypes.h>
#include <math.h>

#include "sim/cast.h"
#include "sim/exec.h"

static const char *number(const sim_warp *w, int64_t value)
{
    return arena_printf(w->block->arena, "%" PRId64, value);
}

static sim_actor actor_of(const sim_warp *w, uint32_t lane, uint32_t site)
{
    bool is_host = w->block->launch->is_host;
    return (sim_actor){site, is_host ? -1 : w->block->index, is_host ? -1 : sim_thread(w, lane), w->index};
}

// False: it was reported before.
static bool begin(sim_warp *w, uint32_t lane, uint32_t site, diag_code code, sim_finding *f)
{
    *f = (sim_finding){.code = code, .actor = actor_of(w, lane, site)};
    return !sim_found_before(w->block->launch->device, w->block->launch, code, &f->actor, 0);
}

static void report(sim_warp *w, const sim_finding *f)
{
    sim_find(w->block->launch->device, w->block->launch, f);
}

void sim_check_bound(sim_warp *w, uint32_t site, uint32_t lane, const sim_bound *b, int64_t index, int64_t extent)
{
    sim_finding f;
    if (w->block->launch->device->options.no_checks || !begin(w, lane, site, HDS0601, &f))
        return;
    f.args[0] = number(w, index);
    f.args[1] = number(w, b->dim);
    f.args[2] = b->var->name;
    f.args[3] = number(w, extent);
    f.help = extent <= 0 ? "the tensor is empty"
                         : arena_printf(w->block->arena,
                                        "indices of dimension %d go from 0 to %" PRId64
                                        "; guard the access with a condition, or use .read and .write",
                                        b->dim, extent - 1);
    report(w, &f);
}

void sim_check_owner(sim_warp *w, uint32_t site, uint32_t lane, const sim_bound *b, int64_t owner, int64_t worker)
{
    sim_find_at(w, lane, site, HDS0623, b->var->name, number(w, owner), number(w, worker), NULL);
}

void sim_check_flight(sim_warp *w, uint32_t site, uint32_t lanes, uint32_t cell)
{
    uint32_t lane = (uint32_t)__builtin_ctz(lanes), wgmma = w->why[cell] & ~SIM_WHY_FLIGHT;
    sim_finding f = {.code = HDS0626, .actor = actor_of(w, lane, site), .other = actor_of(w, lane, wgmma)};
    w->told_flight = true;
    if (sim_found_before(w->block->launch->device, w->block->launch, f.code, &f.actor, wgmma))
        return;
    str_buf out;
    str_buf_init(&out, w->block->arena);
    sim_thread_print(w->block->launch, &f.actor, true, &out);
    str_adds(&out, " writes to an accumulator");
    f.args[0] = str_text(&out);
    f.other_text = "it starts here";
    f.help = "commit(), then wait(acc, 0) before the accumulators are used";
    report(w, &f);
}

void sim_check_overflow(sim_warp *w, uint32_t site, uint32_t lane, char op, int32_t a, int32_t b)
{
    sim_finding f;
    if (w->block->launch->device->options.no_checks || !begin(w, lane, site, HDS0610, &f))
        return;
    f.args[0] = arena_printf(w->block->arena, b < 0 ? "%d %c (%d)" : "%d %c %d", a, op, b);
    f.help = "convert an operand first, as in i64(a) * b";
    report(w, &f);
}

void sim_check_division(sim_warp *w, uint32_t site, uint32_t lane)
{
    if (!w->block->launch->device->options.no_checks)
        sim_find_at(w, lane, site, HDS0611, NULL, NULL, NULL, NULL);
}

// The private array whose cells begin there.
static const char *array_at(const sim_warp *w, uint32_t cell)
{
    for (size_t i = 0; i < w->code->locals.len; i++)
        if (w->code->locals.at[i].cell == cell && w->code->locals.at[i].var->tensor)
            return w->code->locals.at[i].var->name;
    return "an array";
}

void sim_check_slot(sim_warp *w, uint32_t site, uint32_t lane, uint32_t cell, int64_t slot, int64_t count)
{
    sim_finding f;
    if (!begin(w, lane, site, HDS0601, &f))
        return;
    f.args[0] = number(w, slot);
    f.args[1] = "0";
    f.args[2] = array_at(w, cell);
    f.args[3] = number(w, count);
    report(w, &f);
}

void sim_check_nan(sim_warp *w, uint32_t site, uint32_t lane, double value)
{
    sim_find_at(w, lane, site, HDS0613, isnan(value) ? "NaN" : "infinity", NULL, NULL, NULL);
}

void sim_check_assert(sim_warp *w, uint32_t site, uint32_t lanes, const char *text, bool is_assume)
{
    if (is_assume && w->block->launch->device->options.no_checks)
        return;
    const char *said = *text ? arena_printf(w->block->arena, ": %s", text) : "";
    sim_find_at(w, (uint32_t)__builtin_ctz(lanes), site, is_assume ? HDS0619 : HDS0614, said, NULL, NULL, NULL);
}

void sim_check_budget(sim_warp *w)
{
    const sim *s = w->block->launch->device;
    sim_find_at(w, w->active ? (uint32_t)__builtin_ctz(w->active) : 0, w->pc->site, HDS0612,
                w->block->launch->is_host ? "the host function" : w->block->launch->kernel->name,
                arena_printf(w->block->arena, "%" PRId64 " warp instructions", sim_budget_of(s)), NULL,
                "a loop whose condition never changes? --budget N allows more");
}

void sim_check_depth(sim_warp *w, uint32_t site)
{
    sim_find_at(w, w->active ? (uint32_t)__builtin_ctz(w->active) : 0, site, HDS0612, "a chain of calls",
                "4096 calls inside each other", NULL, "a recursion that never ends?");
}

void sim_check_no_model(sim_warp *w, const sim_use *use)
{
    const ir_intrin *in = use->intrin;
    sim_find_at(w, w->active ? (uint32_t)__builtin_ctz(w->active) : 0, use->site, HDS0616, in->name, in->module, NULL,
                arena_printf(w->block->arena,
                             "models are C functions in src/sim/models, found by module and name; "
                             "docs/simulator.md shows how to add one for '%s'",
                             in->name));
}

void sim_check_memory(sim_warp *w, uint32_t site, const char *name, int64_t bytes)
{
    sim *s = w->block->launch->device;
    int64_t used, shadow;
    sim_memory_use(s, &used, &shadow);
    sim_finding f;
    if (!begin(w, 0, site, HDS0621, &f))
        return;
    f.args[0] = name;
    f.args[1] = bytes == INT64_MAX ? "more than 2^63" : number(w, bytes);
    int64_t limit = sim_memory_limit(s);
    f.args[2] = number(w, limit > used ? limit - used : 0);
    f.args[3] = number(w, limit);
    if (limit > used && bytes <= limit - used)
        f.help = "there are too many tensors at a time: those of a host function live until the whole test or call ends";
    report(w, &f);
}

void sim_check_local(sim_warp *w, uint32_t site, const ir_var *array, uint64_t used)
{
    sim_finding f;
    if (!begin(w, (uint32_t)__builtin_ctz(w->active), site, HDS0621, &f))
        return;
    const ir_tensor *tensor = array->tensor;
    f.args[0] = array->name;
    f.args[1] = number(w, tensor->storage_elems * ir_type_bytes(tensor->elem));
    f.args[2] = number(w, (int64_t)(used < SIM_LARGEST_LOCAL ? SIM_LARGEST_LOCAL - used : 0));
    f.args[3] = number(w, SIM_LARGEST_LOCAL);
    f.help = "a thread has at most 512 KiB of private memory";
    report(w, &f);
}

// ---- NaN and infinity ----------------------------------------------------------------------------------------------

typedef enum float_kind { NO_FLOAT, IS_F32, IS_F64, IS_F16, IS_BF16 } float_kind;

// The type of the result, if the operation computes floats from floats.
static float_kind kind_of(const sim_op *op)
{
    switch ((sim_opcode)op->code) {
#define KIND(T)                                                                                                        \
    case SIM_OP_ADD_##T:                                                                                               \
    case SIM_OP_SUB_##T:                                                                                               \
    case SIM_OP_MUL_##T:                                                                                               \
    case SIM_OP_DIV_##T:                                                                                               \
        return IS_##T;
        KIND(F32)
        KIND(F64)
        KIND(F16)
        KIND(BF16)
#undef KIND
    default:
        return NO_FLOAT;
    }
}

static double value_at(const sim_warp *w, float_kind kind, uint32_t cell, uint32_t lane)
{
    static const dtype types[] = {[IS_F32] = DT_F32, [IS_F64] = DT_F64, [IS_F16] = DT_F16, [IS_BF16] = DT_BF16};
    return sim_double_of_bits(types[kind], kind == IS_F64 ? sim_u64(w, cell)[lane] : sim_u32(w, cell)[lane]);
}

static bool is_real(dtype t)
{
    return dt_kind_of(t) == DT_KIND_FLOAT;
}

static bool all_finite(const sim_warp *w, const sim_operand *o, uint32_t lane, double *last)
{
    for (uint32_t i = 0; is_real(o->type) && i < o->count; i++) {
        uint32_t cell = o->cell + i * o->cells;
        double value = sim_double_of_bits(o->type, sim_bits(w, cell, o->cells, lane));
        if (!isfinite(value)) {
            *last = value;
            return false;
        }
    }
    return true;
}

// An instruction that computes floats from floats, such as exp(100), a common cause of infinities.
static void watch_instruction(sim_warp *w, const sim_op *op)
{
    const sim_use *use = &w->block->launch->program->uses.at[op->a];
    if (!is_real(use->result.type) || (use->intrin->effects & (IR_EFFECT_READS_GLOBAL | IR_EFFECT_READS_SHARED)))
        return;
    SIM_EACH(lane, w->active)
    {
        double value = 0, ignored;
        bool is_new = !all_finite(w, &use->result, lane, &value);
        for (int i = 0; is_new && i < use->intrin->operand_count; i++)
            is_new = all_finite(w, &use->operands[i], lane, &ignored);
        if (is_new)
            sim_check_nan(w, op->site, lane, value);
    }
}

void sim_watch_nan(sim_warp *w, const sim_op *op)
{
    float_kind kind = kind_of(op);
    if (op->code == SIM_OP_MODEL)
        watch_instruction(w, op);
    if (kind == NO_FLOAT)
        return;
    SIM_EACH(lane, w->active)
    {
        double value = value_at(w, kind, op->dst, lane);
        if (isfinite(value))
            continue;
        bool is_new = isfinite(value_at(w, kind, op->a, lane)) && isfinite(value_at(w, kind, op->b, lane));
        if (is_new)
            sim_check_nan(w, op->site, lane, value);
    }
}
