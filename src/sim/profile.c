#include "sim/model.h"
#include "sim/profile_priv.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 32, BANKS = 32, WORD_BYTES = 4, REQUEST_BYTES = 16 };

// Where in its byte an element begins that is smaller (memory.h).
#define BIT_OFFSET_MASK ((uint64_t)7 << SIM_BIT_SHIFT)

// ---- where counters are -----------------------------------------------------------------------------------------

sim_profile *sim_profile_new(arena *a)
{
    sim_profile *p = ARENA_NEW(a, sim_profile);
    p->arena = a;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void sim_profile_free(sim_profile *p)
{
    for (sim_profile_page *page = atomic_load(&p->pages), *next; page; page = next) {
        next = page->next;
        free(page->counts);
        free(page);
    }
    pthread_mutex_destroy(&p->lock);
}

static sim_profile_page *find_page(sim_profile *p, const sim_program *program)
{
    sim_profile_page *page = atomic_load_explicit(&p->pages, memory_order_acquire);
    while (page && page->program != program)
        page = page->next;
    return page;
}

// NULL if out of memory: then nothing is counted.
static sim_profile_page *add_page(sim_profile *p, const sim_program *program)
{
    sim_profile_page *page = calloc(1, sizeof *page);
    sim_counts *counts = calloc(program->sites.len + 1, sizeof *counts);
    if (!page || !counts) {
        free(page);
        free(counts);
        return NULL;
    }
    *page = (sim_profile_page){program, program->sites.len, counts, atomic_load(&p->pages)};
    atomic_store_explicit(&p->pages, page, memory_order_release);
    return page;
}

static sim_counts *counts_at(const sim_warp *w, uint32_t site)
{
    const sim_launch *l = w->block->launch;
    sim_profile *p = l->device->profile;
    sim_profile_page *page = find_page(p, l->program);
    if (!page) {
        pthread_mutex_lock(&p->lock);
        page = find_page(p, l->program);
        page = page ? page : add_page(p, l->program);
        pthread_mutex_unlock(&p->lock);
    }
    return page && site < page->count ? &page->counts[site] : NULL;
}

static void add(uint64_t *counter, uint64_t count)
{
    if (count)
        __atomic_fetch_add(counter, count, __ATOMIC_RELAXED);
}

// ---- operations -------------------------------------------------------------------------------------------------

// Operations that only exist in the simulator; a compiled kernel has no instructions for them.
static bool is_free(const sim_op *op)
{
    switch ((sim_opcode)op->code) {
    case SIM_OP_NOP:
    case SIM_OP_CONST32:
    case SIM_OP_CONST64:
    case SIM_OP_UNDEFINE:
    case SIM_OP_ENDIF:
    case SIM_OP_LOOP:
    case SIM_OP_NEXT:
    case SIM_OP_ENDLOOP:
    case SIM_OP_SCOPE:
    case SIM_OP_ENDSCOPE:
    case SIM_OP_END:
    case SIM_OP_STATEMENT:
    case SIM_OP_SHARED_BASE:
    case SIM_OP_LOCAL_BASE:
    case SIM_OP_GLOBAL_BASE:
    case SIM_OP_WITHIN:
    case SIM_OP_OWNER:
    case SIM_OP_ASSERT:
    case SIM_OP_ASSUME:
        return true;
    default:
        return false;
    }
}

static int flops_of_op(const sim_op *op)
{
    switch ((sim_opcode)op->code) {
#define FLOPS(T)                                                                                                       \
    case SIM_OP_ADD_##T:                                                                                               \
    case SIM_OP_SUB_##T:                                                                                               \
    case SIM_OP_MUL_##T:                                                                                               \
    case SIM_OP_DIV_##T:
        FLOPS(F32)
        FLOPS(F64)
        FLOPS(F16)
        FLOPS(BF16)
#undef FLOPS
        return 1;
    case SIM_OP_ADD_C64:
    case SIM_OP_SUB_C64:
        return 2;
    case SIM_OP_MUL_C64:
    case SIM_OP_DIV_C64:
        return 6;
    default:
        return 0;
    }
}

// The shape in the name of a matrix instruction ("mma_m16n8k16"): 2·m·n·k for the whole warp; each warp of a warpgroup does
// a quarter of a wgmma. Others: an fma is two.
static uint64_t flops_of_use(const sim_use *use, int lanes)
{
    const char *shape = strstr(use->intrin->name, "_m"), *text = use->intrin->text;
    int m = 0, n = 0, k = 0;
    const char *group = text && sim_is_wgmma(use) ? strstr(text, ".m64n") : NULL;
    if (group && sscanf(group, ".m64n%dk%d", &n, &k) == 2)
        return (uint64_t)2 * 16 * (uint64_t)n * (uint64_t)k;
    if (shape && sscanf(shape, "_m%dn%dk%d", &m, &n, &k) == 3)
        return (uint64_t)2 * (uint64_t)m * (uint64_t)n * (uint64_t)k;
    return strncmp(use->intrin->name, "fma", 3) == 0 ? 2 * (uint64_t)lanes : 0;
}

// ---- memory -----------------------------------------------------------------------------------------------------

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Sectors that the lanes touch, and distinct bytes.
static void count_global(sim_counts *c, uint64_t *addresses, int count, int bytes)
{
    uint64_t sectors = 0, unique = 0, sector_end = 0, byte_end = 0;
    qsort(addresses, (size_t)count, sizeof *addresses, by_address);
    for (int i = 0; i < count; i++) {
        uint64_t start = addresses[i], end = start + (uint64_t)bytes;
        uint64_t first = start / SECTOR_BYTES, last = (end - 1) / SECTOR_BYTES + 1;
        first = first > sector_end ? first : sector_end;
        sectors += last > first ? last - first : 0;
        sector_end = last > sector_end ? last : sector_end;
        start = start > byte_end ? start : byte_end;
        unique += end > start ? end - start : 0;
        byte_end = end > byte_end ? end : byte_end;
    }
    add(&c->global.requests, 1);
    add(&c->global.sectors, sectors);
    add(&c->global.ideal, (unique + SECTOR_BYTES - 1) / SECTOR_BYTES);
    add(&c->global.bytes, unique);
}

// The wavefronts of one phase: the largest number of different words in a bank.
static uint64_t passes_of(const uint64_t *addresses, int count, int bytes)
{
    uint64_t words[SIM_LANES * 2], most = 0;
    int in_bank[BANKS] = {0}, len = 0;
    for (int i = 0; i < count; i++) {
        for (uint64_t word = addresses[i] / WORD_BYTES; word <= (addresses[i] + (uint64_t)bytes - 1) / WORD_BYTES; word++) {
            bool seen = false;
            for (int k = 0; k < len && !seen; k++)
                seen = words[k] == word;
            if (seen || len == SIM_LANES * 2)
                continue;
            words[len++] = word;
            uint64_t depth = (uint64_t)++in_bank[word % BANKS];
            most = depth > most ? depth : most;
        }
    }
    return most;
}

// [lanes]: address of each lane, by its number; 0 where it does not take part.
static void count_shared_request(sim_counts *c, const uint64_t *lanes, int bytes)
{
    int in_phase = bytes <= 4 ? SIM_LANES : bytes <= 8 ? SIM_LANES / 2 : SIM_LANES / 4;
    add(&c->shared.requests, 1);
    for (int first = 0; first < SIM_LANES; first += in_phase) {
        uint64_t addresses[SIM_LANES];
        int count = 0;
        for (int i = first; i < first + in_phase; i++) {
            if (lanes[i])
                addresses[count++] = lanes[i];
        }
        if (!count)
            continue;
        add(&c->shared.wavefronts, passes_of(addresses, count, bytes));
        add(&c->shared.ideal, 1);
    }
}

static void count_shared(sim_counts *c, uint32_t mask, const uint64_t *address, int bytes)
{
    for (int skip = 0; skip < bytes; skip += REQUEST_BYTES) {
        uint64_t lanes[SIM_LANES] = {0};
        SIM_EACH(l, mask)
            lanes[l] = (address[l] & ~BIT_OFFSET_MASK) + (uint64_t)skip;
        count_shared_request(c, lanes, bytes - skip < REQUEST_BYTES ? bytes - skip : REQUEST_BYTES);
    }
    add(&c->shared.bytes, (uint64_t)__builtin_popcount(mask) * (uint64_t)bytes);
}

void sim_profile_access(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes)
{
    sim_counts *c = w->block->launch->is_host || !bytes ? NULL : counts_at(w, site);
    uint32_t global = 0, shared = 0;
    if (!c)
        return;
    uint64_t globals[SIM_LANES];
    int count = 0;
    SIM_EACH(l, mask) {
        uint64_t tag = address[l] & SIM_TAG_MASK;
        if (tag == SIM_TAG_GLOBAL) {
            global |= 1u << l;
            globals[count++] = address[l] & ~BIT_OFFSET_MASK;
        } else if (tag == SIM_TAG_SHARED) {
            shared |= 1u << l;
        }
    }
    if (global)
        count_global(c, globals, count, bytes);
    if (shared)
        count_shared(c, shared, address, bytes);
    add(&c->local_bytes, (uint64_t)__builtin_popcount(mask & ~(global | shared)) * (uint64_t)bytes);
}

void sim_profile_prefetch(sim_warp *w, uint32_t site, int64_t bytes)
{
    bool counts = w->block->launch->device->profile && !w->block->launch->is_host;
    sim_counts *c = counts ? counts_at(w, site) : NULL;
    if (c)
        add(&c->prefetched_bytes, (uint64_t)bytes);
}

// ---- instructions with a model ----------------------------------------------------------------------------------

static const sim_operand *operand_named(const sim_use *use, const char *name)
{
    for (int i = 0; i < use->intrin->operand_count; i++) {
        if (use->operands[i].name && strcmp(use->operands[i].name, name) == 0)
            return &use->operands[i];
    }
    return NULL;
}

static void count_addresses(sim_warp *w, const sim_use *use, const sim_operand *at, int bytes, uint32_t mask)
{
    if (at && bytes > 0 && mask)
        sim_profile_access(w, use->site, mask, sim_u64(w, at->cell), bytes);
}

// The lanes whose copies read something: those without bytes present write zeros.
static uint32_t lanes_present(sim_warp *w, const sim_use *use)
{
    const sim_operand *present = operand_named(use, "present");
    uint32_t mask = 0;
    SIM_EACH(l, w->active)
        mask |= !present || sim_i32(w, present->cell)[l] > 0 ? 1u << l : 0;
    return mask;
}

// Atomics and asynchronous copies are simulated lane by lane; here they count as the hardware sees them, one request
// per warp. All others use sim_load_bytes and the like.
static void count_model(sim_warp *w, const sim_use *use)
{
    const char *name = use->model ? use->model->name : "", *module = use->intrin->module ? use->intrin->module : "";
    const sim_operand *value = operand_named(use, "value");
    value = value ? value : &use->result;
    if (strcmp(name, "cp_async") == 0) {
        count_addresses(w, use, operand_named(use, "src"), (int)use->bound[0], lanes_present(w, use));
        count_addresses(w, use, operand_named(use, "dst"), (int)use->bound[0], w->active);
    } else if (strcmp(module, "hidet.lang.atomic") == 0 || strstr(name, "_sync")) {
        count_addresses(w, use, operand_named(use, "p"), value->count * dt_bits(value->type) / 8, w->active);
    }
}

void sim_profile_op(sim_warp *w, const sim_op *op)
{
    if (is_free(op) || w->block->launch->is_host)
        return;
    sim_counts *c = counts_at(w, op->site);
    if (!c)
        return;
    int lanes = __builtin_popcount(w->active);
    add(&c->warp_instructions, 1);
    add(&c->thread_instructions, (uint64_t)lanes);
    if (op->code != SIM_OP_MODEL) {
        add(&c->flops, (uint64_t)(flops_of_op(op) * lanes));
        return;
    }
    const sim_use *use = &w->block->launch->program->uses.at[op->a];
    add(&c->flops, flops_of_use(use, lanes));
    count_model(w, use);
}

// ---- launches ---------------------------------------------------------------------------------------------------

static sim_profiled_kernel *find_kernel(sim_profile *p, const sim_launch *l)
{
    for (size_t i = 0; i < p->kernels.len; i++) {
        if (p->kernels.at[i].kernel == l->kernel)
            return &p->kernels.at[i];
    }
    sim_profiled_kernel added = {.program = l->program, .kernel = l->kernel, .shape = l->shape};
    added.shared_bytes = (int64_t)l->code->shared_bytes + l->shape.dynamic_smem_bytes;
    VEC_PUSH(p->arena, &p->kernels, added);
    return &VEC_LAST(&p->kernels);
}

void sim_profile_launch(sim_profile *p, const sim_launch *l)
{
    sim_profiled_kernel *k = find_kernel(p, l);
    const int64_t *block = l->shape.block;
    k->launches++;
    k->blocks += (uint64_t)l->block_count;
    k->threads += (uint64_t)(l->block_count * block[0] * block[1] * block[2]);
}

int sim_profile_blocks(const arch *target, int64_t threads, int64_t shared_bytes, const char **limit)
{
    int64_t warps = (threads + SIM_LANES - 1) / SIM_LANES, blocks = target->blocks_per_sm;
    *limit = "blocks";
    if (warps && target->warps_per_sm / warps < blocks) {
        blocks = target->warps_per_sm / warps;
        *limit = "warps";
    }
    if (shared_bytes && target->smem_per_sm / shared_bytes < blocks) {
        blocks = target->smem_per_sm / shared_bytes;
        *limit = "shared memory";
    }
    return (int)blocks;
}
