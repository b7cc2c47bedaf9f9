// hidet.lang.tma: copies of boxes between global and shared memory by TMA (PTX ISA 9.7.9.27).
//
// A load is there when the phase of its mbarrier completes, and that is not visible before a thread waits for it
// (mbarrier.c); so a thread that does not wait accesses a copy in flight. A store has read and written everything at
// the wait_group or wait_group_read that asks for it, no sooner; that a tensor is read back behind a wait_group_read
// alone is not noticed.
#include "sim/models/models_priv.h"

#include "sim/bulk.h"
#include "sim/models/mbarrier.h"
#include "sim/profile.h"

enum { CHUNK = 16, TILE_ALIGN = 128 };

typedef struct copy {
    const sim_tensor_map *map;
    sim_warp *warp;
    uint32_t site, lane;
    bool is_load, is_there;
    uint64_t tile;               // address in shared memory
    int64_t at[IR_MAP_MAX_RANK]; // coordinates of the box, in the tensor's order of axes
    int64_t tap[IR_MAP_MAX_RANK - 2]; // im2col: offsets from the base, by spatial axis
    uint32_t started;            // see sim_async_start
    sim_block *home;             // loads: the block whose memory it goes to
    const char *operation;       // stores that combine: its name
    int64_t bytes;               // copies without a map; 0: a box
    uint64_t memory;             // these: the other address
    uint32_t group;              // stores: groups that the lane had committed before
    uint32_t reading;            // stores: number of the read of the tile, sim_bulk_begin_read
} copy;

// Of the block: loads that have not arrived.
typedef struct loads {
    VEC(copy *) flying;
} loads;

// Of a warp: stores that have not been waited for.
typedef struct stores {
    uint32_t committed[SIM_LANES];
    VEC(copy *) flying;
} stores;

static loads *loads_of(sim_block *b)
{
    void **state = &b->warps[0].model_state[SIM_STATE_LOADS];
    if (!*state)
        *state = ARENA_NEW(b->arena, loads);
    return *state;
}

static stores *stores_of(sim_warp *w)
{
    void **state = &w->model_state[SIM_STATE_STORES];
    if (!*state)
        *state = ARENA_NEW(w->block->arena, stores);
    return *state;
}

// ---- the box, in vectors of 16 bytes -------------------------------------------------------------------------------

static const ir_tensor_map *plan_of(const copy *c)
{
    return c->map->var->map;
}

static int rank_of(const copy *c)
{
    return plan_of(c)->tensor->tensor->rank;
}

static int element_of(const copy *c)
{
    return (int)ir_type_bytes(plan_of(c)->tensor->tensor->elem);
}

static int64_t box_bytes(const copy *c)
{
    if (c->bytes)
        return c->bytes;
    int64_t bytes = element_of(c);
    for (int d = 0; d < rank_of(c); d++)
        bytes *= plan_of(c)->box[d];
    return bytes;
}

// The swizzle XORs bits of the address with higher bits: see Note [swizzle].
static uint64_t swizzled(const copy *c, uint64_t address)
{
    static const uint64_t masks[] = {0, 0x10, 0x30, 0x70};
    int swizzle = plan_of(c)->swizzle;
    return address ^ (address >> 3 & masks[swizzle == 128 ? 3 : swizzle / 32]);
}

typedef void chunk_run(copy *c, sim_async_chunk *chunk);

// [count] elements from [tile] and [memory] on; [present] of them are inside of the tensor.
static void run_chunk(copy *c, uint64_t tile, uint64_t memory, int64_t count, int64_t present, chunk_run *run)
{
    int bytes = (int)count * element_of(c), inside = (int)present * element_of(c);
    sim_async_chunk chunk = {
        .site = c->site, .lane = c->lane, .align = element_of(c), .is_tma = true, .started = c->started};
    chunk.to = c->is_load ? tile : memory;
    chunk.from = c->is_load ? memory : tile;
    chunk.bytes = c->is_load ? bytes : inside;
    chunk.present = inside;
    if (chunk.bytes > 0)
        run(c, &chunk);
    c->started = chunk.started ? chunk.started : c->started;
}

// Sixteen bytes of a row, which begin at element [x] of the tensor's row; [memory]: the address of that.
static void split_chunk(copy *c, uint64_t tile, uint64_t memory, int64_t x, bool is_inside, chunk_run *run)
{
    int64_t each = element_of(c), count = CHUNK / each, extent = c->map->extent[rank_of(c) - 1];
    int64_t begin = x < 0 ? -x : 0, end = extent - x < count ? extent - x : count;
    if (!is_inside || end <= begin) {
        run_chunk(c, tile, 0, count, 0, run);
        return;
    }
    if (begin)
        run_chunk(c, tile, 0, begin, 0, run);
    run_chunk(c, tile + (uint64_t)(begin * each), memory + (uint64_t)(begin * each), count - begin, end - begin, run);
}

static void each_row(copy *c, chunk_run *run)
{
    for (int64_t at = 0; at < c->bytes; at += CHUNK) {
        sim_async_chunk chunk = {
            .site = c->site, .lane = c->lane, .align = CHUNK, .bytes = CHUNK, .present = CHUNK, .is_tma = true};
        chunk.to = (c->is_load ? c->tile : c->memory) + (uint64_t)at;
        chunk.from = (c->is_load ? c->memory : c->tile) + (uint64_t)at;
        chunk.started = c->started;
        run(c, &chunk);
        c->started = chunk.started ? chunk.started : c->started;
    }
}

// The base of the next pixel: along the last spatial axis first, then the others, then the images.
static void next_base(const copy *c, int64_t *base)
{
    const ir_tensor_map *plan = plan_of(c);
    for (int d = rank_of(c) - 2; d > 0; d--) {
        base[d] += plan->step[d - 1];
        if (base[d] < c->map->extent[d] + plan->upper[d - 1])
            return;
        base[d] = plan->lower[d - 1];
    }
    base[0]++;
}

// Pixels below a tap of the filter, in im2col mode (PTX ISA 5.5.4): what lies outside of the tensor is zero.
static void each_pixel(copy *c, chunk_run *run)
{
    const ir_tensor_map *plan = plan_of(c);
    int last = rank_of(c) - 1;
    int64_t each = element_of(c), base[IR_MAP_MAX_RANK];
    uint64_t tile = c->tile;
    memcpy(base, c->at, sizeof base);
    for (int pixel = 0; pixel < plan->box[last - 1]; pixel++, next_base(c, base)) {
        int64_t element = 0;
        bool is_inside = true;
        for (int d = 0; d < last; d++) {
            int64_t at = base[d] + (d ? c->tap[d - 1] : 0);
            is_inside = is_inside && at >= 0 && at < c->map->extent[d];
            element += is_inside ? at * c->map->stride[d] : 0;
        }
        for (int64_t x = 0; x < plan->box[last]; x += CHUNK / each, tile += CHUNK) {
            int64_t at = c->at[last] + x;
            split_chunk(c, swizzled(c, tile), c->map->address + (uint64_t)((element + at) * each), at, is_inside, run);
        }
    }
}

static void each_chunk(copy *c, chunk_run *run)
{
    if (!c->bytes && plan_of(c)->is_im2col) {
        each_pixel(c, run);
        return;
    }
    if (c->bytes) {
        each_row(c, run);
        return;
    }
    const ir_tensor_map *plan = plan_of(c);
    int rank = rank_of(c), last = rank - 1;
    int64_t each = element_of(c), rows = 1, index[IR_MAP_MAX_RANK] = {0};
    for (int d = 0; d < last; d++)
        rows *= plan->box[d];
    uint64_t tile = c->tile;
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row, element = 0;
        bool is_inside = true;
        for (int d = last - 1; d >= 0; d--) {
            index[d] = c->at[d] + rest % plan->box[d];
            rest /= plan->box[d];
        }
        for (int d = 0; d < last; d++) {
            is_inside = is_inside && index[d] >= 0 && index[d] < c->map->extent[d];
            element += is_inside ? index[d] * c->map->stride[d] : 0;
        }
        for (int64_t x = 0; x < plan->box[last]; x += CHUNK / each, tile += CHUNK) {
            int64_t at = c->at[last] + x;
            split_chunk(c, swizzled(c, tile), c->map->address + (uint64_t)((element + at) * each), at, is_inside, run);
        }
    }
}

// What is combined is read only when it lands, and there must be something to read.
static void start_combining(copy *c, const sim_async_chunk *chunk)
{
    uint64_t from[SIM_LANES];
    uint8_t bytes[SIM_LANES][16];
    uint16_t poisoned[SIM_LANES];
    for (int each = element_of(c), i = 0; i < chunk->bytes; i += each) {
        for (int lane = 0; lane < SIM_LANES; lane++)
            from[lane] = chunk->from + (uint64_t)i;
        sim_load_bytes(c->warp, c->site, (uint32_t)1 << c->lane, from, each, bytes, poisoned);
        if (!poisoned[c->lane])
            continue;
        sim_find_at(c->warp, c->lane, c->site, HDS0604, "a value combined with global memory", NULL, NULL, NULL);
        return;
    }
}

static void start_chunk(copy *c, sim_async_chunk *chunk)
{
    if (!c->is_load || (chunk->from & SIM_TAG_MASK) == SIM_TAG_SHARED)
        sim_bulk_check_fences(c->warp, c->site, c->lane, chunk->from, chunk->bytes, "TMA");
    if ((chunk->to & SIM_TAG_MASK) == SIM_TAG_SHARED)
        sim_bulk_check_refill(c->warp, c->site, c->lane, chunk->to, chunk->bytes);
    if (c->operation)
        start_combining(c, chunk);
    else
        sim_async_start(c->warp, chunk);
}

// One element after the other, each as one step.
static void combine_chunk(copy *c, const sim_async_chunk *chunk)
{
    dtype t = plan_of(c)->tensor->tensor->elem->scalar;
    int each = element_of(c);
    const uint8_t *from = c->warp->block->shared + (chunk->from & SIM_SHARED_MASK);
    for (int i = 0; i < chunk->bytes; i += each) {
        uint64_t old = 0, value = 0;
        uint8_t *at = sim_atomic(c->warp, c->site, c->lane, chunk->to + (uint64_t)i, each, true, SIM_RELAXED, SIM_GPU);
        if (!at)
            return;
        memcpy(&old, at, (size_t)each);
        memcpy(&value, from + i, (size_t)each);
        uint64_t now = sim_atomic_combine(c->operation, t, old, value, t == DT_F32);
        memcpy(at, &now, (size_t)each);
        if (c->warp->field)
            sim_atomic_follow(c->warp, c->lane, c->operation, t, chunk->to + (uint64_t)i, chunk->from + (uint64_t)i, old,
                              value, now);
    }
}

static void land_chunk(copy *c, sim_async_chunk *chunk)
{
    if (c->operation) {
        combine_chunk(c, chunk);
        return;
    }
    sim_async_land(c->warp, chunk);
    if (c->is_load)
        sim_bulk_written(c->home, chunk->to, chunk->bytes);
}

// ---- starting ------------------------------------------------------------------------------------------------------

// bound[0]: operand bar, 0 of stores; bound[1]: the tile; bound[2]: number of the map; bound[3]: the first coordinate.
// [4]: the name of the operation that a store combines by, as a pointer; 0: it does not.
static const char *operation_of(const sim_use *use)
{
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
    bool combines = strncmp(use->intrin->name, "reduce", strlen("reduce")) == 0;
    for (size_t i = 0; combines && i < sizeof names / sizeof *names; i++)
        if (sim_opcode_has(use->intrin, names[i]))
            return names[i];
    return NULL;
}

static bool bind_copy(sim_use *use)
{
    bool is_load = strncmp(use->intrin->name, "load", 4) == 0;
    const sim_operand *tile = sim_operand_named(use, is_load ? "dst" : "src"), *number = sim_operand_named(use, "map");
    const sim_operand *bar = sim_operand_named(use, "bar"), *first = sim_operand_named(use, "c0");
    if (!tile || !number || !first || (is_load && !bar))
        return false;
    use->bound[0] = bar ? bar - use->operands : 0;
    use->bound[1] = tile - use->operands;
    use->bound[2] = number->immediate;
    use->bound[3] = first - use->operands;
    use->bound[4] = (intptr_t)operation_of(use);
    return true;
}

static uint32_t defined_lanes(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = w->active;
    for (int i = 0; i < use->intrin->operand_count; i++)
        lanes = sim_require_defined(w, use->site, use->operands[i].cell, lanes, "an operand of a copy");
    return lanes;
}

static bool is_aligned(sim_warp *w, const sim_use *use, uint32_t lane, uint64_t tile)
{
    if (!(tile % TILE_ALIGN))
        return true;
    const char *found = sim_say(w, "byte %llu of shared memory", (unsigned long long)(tile & SIM_OFFSET_MASK));
    sim_find_at(w, lane, use->site, HDS0603, "a copy of a tile", sim_say(w, "%d", TILE_ALIGN), found,
                "make the tile with shared_tensor(…, align=m.align) of its tensor map m");
    return false;
}

static void out_of_range(const copy *c, int64_t value, int axis, const char *of, int64_t extent, const char *help)
{
    sim_launch *l = c->warp->block->launch;
    sim_finding f = {.code = HDS0601,
                     .actor = {c->site, c->warp->block->index, sim_thread(c->warp, c->lane), c->warp->index}};
    f.other.block = f.other.thread = f.other.warp = -1;
    f.args[0] = sim_say(c->warp, "%lld", (long long)value);
    f.args[1] = sim_say(c->warp, "%d", axis);
    f.args[2] = of;
    f.args[3] = sim_say(c->warp, "%lld", (long long)extent);
    f.help = help;
    sim_find(l->device, l, &f);
}

// The base is a pixel within the corners, and a tap has 16, 8 or 5 bits by the number of axes (PTX ISA 5.5.4). Here the
// copy completes all the same.
static void check_base(const copy *c)
{
    const ir_tensor_map *plan = plan_of(c);
    int rank = rank_of(c);
    int64_t taps = rank == 3 ? 65536 : rank == 4 ? 256 : 32;
    for (int d = 1; d < rank - 1; d++) {
        if (c->at[d] < plan->lower[d - 1] || c->at[d] >= c->map->extent[d] + plan->upper[d - 1]) {
            out_of_range(c, c->at[d], d, plan->tensor->name, c->map->extent[d],
                         sim_say(c->warp, "the first pixel lies within the corners of the map, from %d to extent - 1 + %d",
                                 plan->lower[d - 1], plan->upper[d - 1]));
            return;
        }
        if (c->tap[d - 1] >= taps) {
            out_of_range(c, c->tap[d - 1], d - 1, "a filter's tap", taps,
                         "larger offsets are beyond the instruction: begin at another pixel, or use tensor_map");
            return;
        }
    }
}

// A store clips in whole vectors of 16 bytes: it writes all of the last one in a row (seen on an H200).
static bool ends_in_a_vector(const copy *c, const sim_use *use)
{
    int last = rank_of(c) - 1, each = element_of(c);
    int64_t extent = c->map->extent[last], end = c->at[last] + plan_of(c)->box[last];
    if (c->is_load || end <= extent || c->at[last] >= extent || !(extent * each % CHUNK))
        return false;
    const char *found = sim_say(c->warp, "the end of a row of '%s', byte %lld", plan_of(c)->tensor->name, (long long)(extent * each));
    sim_find_at(c->warp, c->lane, use->site, HDS0603, "a store of a tile that crosses the end of a row",
                sim_say(c->warp, "%d", CHUNK), found,
                sim_say(c->warp, "store only where rows have a multiple of %d elements; it writes more than the row",
                        CHUNK / each));
    return true;
}

// TMA copies vectors of 16 bytes, and stores begin within the tensor (CUDA C++ Programming Guide, "Tensor Memory
// Accelerator"); an H200 calls other copies illegal instructions. Here they complete, so that no thread waits forever.
static void check_begin(const copy *c, const sim_use *use)
{
    int last = rank_of(c) - 1;
    for (int d = 0; !c->is_load && d <= last; d++) {
        if (c->at[d] < 0) {
            out_of_range(c, c->at[d], d, plan_of(c)->tensor->name, c->map->extent[d],
                         "a store may end outside of the tensor, but not begin before it");
            return;
        }
    }
    if (ends_in_a_vector(c, use) || !(c->at[last] * element_of(c) % CHUNK))
        return;
    const char *found = sim_say(c->warp, "element %lld of a row of '%s'", (long long)c->at[last], plan_of(c)->tensor->name);
    sim_find_at(
        c->warp, c->lane, use->site, HDS0603, "a copy of a tile", sim_say(c->warp, "%d", CHUNK), found,
        sim_say(c->warp, "begin at a multiple of %d elements, and skip the others in the tile", CHUNK / element_of(c)));
}

// NULL after a finding.
static copy *begin_copy(sim_warp *w, const sim_use *use, uint32_t lane, bool is_load)
{
    uint64_t tile = sim_u64(w, use->operands[use->bound[1]].cell)[lane];
    if (!is_aligned(w, use, lane, tile))
        return NULL;
    copy *c = ARENA_NEW(w->block->arena, copy);
    *c = (copy){.map = &w->block->launch->maps[use->bound[2]], .warp = w, .site = use->site, .lane = lane};
    c->is_load = is_load;
    c->tile = tile;
    for (int d = 0, rank = rank_of(c); d < rank; d++)
        c->at[rank - 1 - d] = sim_i32(w, use->operands[use->bound[3] + d].cell)[lane];
    const sim_operand *tap = sim_operand_named(use, "o0");
    for (int d = 0, axes = rank_of(c) - 2; tap && d < axes; d++)
        c->tap[axes - 1 - d] = sim_u32(w, tap[d].cell)[lane] & 0xffff;
    if (tap)
        check_base(c);
    check_begin(c, use);
    return c;
}

static void land(sim_warp *w, void *of)
{
    copy *c = of;
    (void)w;
    if (!c->is_there)
        each_chunk(c, land_chunk);
    c->is_there = true;
}

// Starts the copy into block [home].
static void send(sim_warp *w, const sim_use *use, copy *c, sim_block *home)
{
    loads *all = loads_of(home);
    size_t kept = 0;
    for (size_t i = 0; i < all->flying.len; i++)
        if (!all->flying.at[i]->is_there)
            all->flying.at[kept++] = all->flying.at[i];
    all->flying.len = kept;
    c->home = home;
    if (home != w->block)
        c->tile = sim_address_in(c->tile, home->rank);
    each_chunk(c, start_chunk);
    VEC_PUSH(w->block->arena, &all->flying, c);
    sim_mbarrier_promise(w, use, c->lane, home, box_bytes(c), land, c);
}

// To the block itself, or to that of a rank, or to all that a mask names.
static void send_all(sim_warp *w, const sim_use *use, copy *c)
{
    const sim_operand *mask = sim_operand_named(use, "shared_by"), *rank = sim_operand_named(use, "rank");
    uint32_t blocks = mask ? sim_u32(w, mask->cell)[c->lane] & 0xffff : 0;
    if (rank) {
        sim_block *home = sim_cluster_block(w, use, c->lane, sim_i32(w, rank->cell)[c->lane]);
        if (home)
            send(w, use, c, home);
        return;
    }
    if (!mask) {
        send(w, use, c, w->block);
        return;
    }
    SIM_EACH(to, blocks) {
        sim_block *home = sim_cluster_block(w, use, c->lane, to);
        if (!home)
            return;
        copy *one = ARENA_NEW(w->block->arena, copy);
        *one = *c;
        send(w, use, one, home);
    }
}

static sim_step run_load(sim_warp *w, const sim_use *use)
{
    SIM_EACH(lane, defined_lanes(w, use)) {
        copy *c = begin_copy(w, use, lane, true);
        if (c)
            send_all(w, use, c);
    }
    return SIM_NEXT;
}

static void keep_store(sim_warp *w, const sim_use *use, copy *c)
{
    stores *all = stores_of(w);
    each_chunk(c, start_chunk);
    c->group = all->committed[c->lane];
    c->reading = sim_bulk_begin_read(w, use->site, c->tile, box_bytes(c));
    VEC_PUSH(w->block->arena, &all->flying, c);
}

static sim_step run_store(sim_warp *w, const sim_use *use)
{
    SIM_EACH(lane, defined_lanes(w, use)) {
        copy *c = begin_copy(w, use, lane, false);
        if (!c)
            continue;
        c->operation = (const char *)(intptr_t)use->bound[4];
        keep_store(w, use, c);
    }
    return SIM_NEXT;
}

// ---- bytes ---------------------------------------------------------------------------------------------------------

// bound[0]: operand bar, 0 of stores; bound[1]: the address in shared memory; bound[2]: the other address;
// bound[3]: operand bytes.
static bool bind_bytes(sim_use *use)
{
    bool is_store = strcmp(use->intrin->name, "store_bytes") == 0;
    const sim_operand *dst = sim_operand_named(use, "dst"), *src = sim_operand_named(use, "src");
    const sim_operand *bar = sim_operand_named(use, "bar"), *bytes = sim_operand_named(use, "bytes");
    if (!dst || !src || !bytes || (!is_store && !bar))
        return false;
    use->bound[0] = bar ? bar - use->operands : 0;
    use->bound[1] = (is_store ? src : dst) - use->operands;
    use->bound[2] = (is_store ? dst : src) - use->operands;
    use->bound[3] = bytes - use->operands;
    return true;
}

static bool is_whole(sim_warp *w, const sim_use *use, uint32_t lane, uint64_t value, const char *what)
{
    if (!(value % CHUNK))
        return true;
    const char *found = sim_say(w, "%s %llu", what, (unsigned long long)(value & SIM_SHARED_MASK));
    sim_find_at(w, lane, use->site, HDS0603, "a copy of bytes", sim_say(w, "%d", CHUNK), found,
                "addresses and numbers of bytes are multiples of 16");
    return false;
}

static sim_step run_bytes(sim_warp *w, const sim_use *use)
{
    bool is_store = strcmp(use->intrin->name, "store_bytes") == 0;
    SIM_EACH(lane, defined_lanes(w, use)) {
        uint64_t tile = sim_u64(w, use->operands[use->bound[1]].cell)[lane];
        uint64_t memory = sim_u64(w, use->operands[use->bound[2]].cell)[lane];
        int64_t bytes = sim_i32(w, use->operands[use->bound[3]].cell)[lane];
        if (!is_whole(w, use, lane, tile, "byte") || !is_whole(w, use, lane, memory, "byte") ||
            !is_whole(w, use, lane, (uint64_t)bytes, "a number of bytes of") || bytes <= 0)
            continue;
        copy *c = ARENA_NEW(w->block->arena, copy);
        *c = (copy){.warp = w, .site = use->site, .lane = lane, .is_load = !is_store, .tile = tile, .memory = memory};
        c->bytes = bytes;
        if (is_store)
            keep_store(w, use, c);
        else
            send_all(w, use, c);
    }
    return SIM_NEXT;
}

// ---- groups of stores ----------------------------------------------------------------------------------------------

static sim_step run_commit(sim_warp *w, const sim_use *use)
{
    (void)use;
    stores *all = stores_of(w);
    SIM_EACH(lane, w->active)
        all->committed[lane]++;
    return SIM_NEXT;
}

static void finish_store(copy *c)
{
    sim_bulk_end_read(c->warp->block, c->reading);
    land(c->warp, c);
}

// bound[0]: groups that may stay on their way.
static bool bind_wait(sim_use *use)
{
    const char *at = strrchr(use->intrin->text, ' ');
    use->bound[0] = at ? strtol(at + 1, NULL, 10) : 0;
    return at != NULL;
}

static sim_step run_wait(sim_warp *w, const sim_use *use)
{
    stores *all = stores_of(w);
    size_t kept = 0;
    for (size_t i = 0; i < all->flying.len; i++) {
        copy *c = all->flying.at[i];
        bool is_asked = w->active >> c->lane & 1;
        if (is_asked && c->group + (uint64_t)use->bound[0] < all->committed[c->lane])
            finish_store(c);
        else
            all->flying.at[kept++] = c;
    }
    all->flying.len = kept;
    return SIM_NEXT;
}

static sim_step run_fence(sim_warp *w, const sim_use *use)
{
    (void)use;
    sim_bulk_fence(w, w->active);
    return SIM_NEXT;
}

static sim_step run_prefetch(sim_warp *w, const sim_use *use)
{
    (void)w;
    (void)use;
    return SIM_NEXT;
}

// bound[0]: the map.
static bool bind_prefetch(sim_use *use)
{
    const sim_operand *number = sim_operand_named(use, "map");
    if (number)
        use->bound[0] = number->immediate;
    return number != NULL;
}

// Values are where they were: only the bytes count.
static sim_step run_prefetch_box(sim_warp *w, const sim_use *use)
{
    const copy c = {.map = &w->block->launch->maps[use->bound[0]]};
    sim_profile_prefetch(w, use->site, __builtin_popcount(w->active) * box_bytes(&c));
    return SIM_NEXT;
}

static sim_step run_prefetch_bytes(sim_warp *w, const sim_use *use)
{
    const sim_operand *bytes = sim_operand_named(use, "bytes");
    int64_t sum = 0;
    SIM_EACH(lane, w->active)
        sum += bytes ? sim_u32(w, bytes->cell)[lane] : 0;
    sim_profile_prefetch(w, use->site, sum);
    return SIM_NEXT;
}

// ---- the end of a block --------------------------------------------------------------------------------------------

static void left_behind(const copy *c)
{
    sim_launch *l = c->warp->block->launch;
    sim_finding f = {.code = HDS0609,
                     .actor = {c->site, c->warp->block->index, sim_thread(c->warp, c->lane), c->warp->index}};
    if (sim_found_before(l->device, l, f.code, &f.actor, 0))
        return;
    f.args[0] = "the block ends, and its shared memory with it,";
    f.under = c->is_load ? "this load is never waited for" : "this store is never waited for";
    if (c->is_load && c->home != c->warp->block)
        f.under = sim_say(c->warp, "block %lld does not wait for what it receives", (long long)c->home->index);
    f.help = c->is_load ? "wait for the mbarrier before the block ends, or do not start the load"
                        : "call commit_group() and wait_group_read(0) in this thread before it ends";
    sim_find(l->device, l, &f);
}

void sim_bulk_block_ends(sim_block *b)
{
    const loads *in = b->warps[0].model_state[SIM_STATE_LOADS];
    for (size_t i = 0; in && i < in->flying.len; i++)
        if (!in->flying.at[i]->is_there)
            left_behind(in->flying.at[i]);
    for (int k = 0; k < b->warp_count; k++) {
        stores *out = b->warps[k].model_state[SIM_STATE_STORES];
        for (size_t i = 0; out && i < out->flying.len; i++) {
            left_behind(out->flying.at[i]);
            finish_store(out->flying.at[i]);
        }
    }
}

const sim_model sim_models_tma[] = {
    {"load_1d", run_load, bind_copy, false},         {"load_2d", run_load, bind_copy, false},
    {"load_3d", run_load, bind_copy, false},         {"load_4d", run_load, bind_copy, false},
    {"load_5d", run_load, bind_copy, false},         {"store_1d", run_store, bind_copy, false},
    {"store_2d", run_store, bind_copy, false},       {"store_3d", run_store, bind_copy, false},
    {"store_4d", run_store, bind_copy, false},       {"store_5d", run_store, bind_copy, false},
    {"load_pixels_3d", run_load, bind_copy, false},  {"load_pixels_4d", run_load, bind_copy, false},
    {"load_pixels_5d", run_load, bind_copy, false},
    {"commit_group", run_commit, NULL, false},       {"wait_group", run_wait, bind_wait, false},
    {"wait_group_read", run_wait, bind_wait, false}, {"fence_proxy_async", run_fence, NULL, false},
    {"prefetch_map", run_prefetch, NULL, false},     {"reduce_1d", run_store, bind_copy, true},
    {"reduce_2d", run_store, bind_copy, true},       {"reduce_3d", run_store, bind_copy, true},
    {"reduce_4d", run_store, bind_copy, true},       {"reduce_5d", run_store, bind_copy, true},
    {"prefetch_1d", run_prefetch_box, bind_prefetch, false},
    {"prefetch_2d", run_prefetch_box, bind_prefetch, false},
    {"prefetch_3d", run_prefetch_box, bind_prefetch, false},
    {"prefetch_4d", run_prefetch_box, bind_prefetch, false},
    {"prefetch_5d", run_prefetch_box, bind_prefetch, false},
    {"prefetch_bytes", run_prefetch_bytes, NULL, false},
    {"load_bytes", run_bytes, bind_bytes, false},    {"load_bytes_shared", run_bytes, bind_bytes, false},
    {"store_bytes", run_bytes, bind_bytes, false},   {"send_bytes", run_bytes, bind_bytes, false},
    {NULL, NULL, NULL, false},
};

// Note [swizzle]
//
// Pieces of 16 bytes are exchanged by the address in shared memory: with the pattern of 128 bytes bits 4 … 6 take the
// exclusive or with bits 7 … 9, with 64 bytes 4 … 5 with 7 … 8, with 32 bytes 4 with 7. Shared memory of a block begins
// at a multiple of 1024, in the simulator as on the device, so that offsets are as good as addresses.
