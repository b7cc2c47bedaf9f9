// The texts of findings about memory.
#include "sim/memory_priv.h"

#include <inttypes.h>

static arena *scratch_of(const sim_touch *t)
{
    return t->w->block->arena;
}

static sim_actor actor_of(const sim_touch *t, uint32_t lane)
{
    if (t->w->block->launch->is_host)
        return (sim_actor){t->site, -1, -1, -1};
    return (sim_actor){t->site, t->w->block->index, sim_thread(t->w, lane), t->w->index};
}

// Begins a finding; false if it was reported before.
static bool begin(const sim_touch *t, uint32_t lane, diag_code code, uint32_t other_site, sim_finding *f)
{
    *f = (sim_finding){.code = code, .actor = actor_of(t, lane), .other = {0, -1, -1, -1}};
    return !sim_found_before(t->device, t->w->block->launch, code, &f->actor, other_site);
}

static void tell(const sim_touch *t, const sim_finding *f)
{
    sim_find(t->device, t->w->block->launch, f);
}

// ---- elements ------------------------------------------------------------------------------------------------------

// The index of an element of that offset in the tensor's storage, as "[2, 5]"; false if it cannot be told.
static bool print_by_layout(const tm_layout *l, int64_t element, str_buf *out)
{
    int64_t index[TM_MAX_RANK] = {0}, count = 1;
    for (int d = 0; d < l->rank; d++)
        count *= l->shape[d];
    for (int64_t i = 0; i < count && i < 1 << 18; i++) {
        int64_t rest = i;
        for (int d = l->rank - 1; d >= 0; d--) {
            index[d] = rest % l->shape[d];
            rest /= l->shape[d];
        }
        if (tm_layout_offset(l, index) != element)
            continue;
        for (int d = 0; d < l->rank; d++)
            str_addf(out, "%s%" PRId64, d ? ", " : "[", index[d]);
        str_addc(out, ']');
        return true;
    }
    return false;
}

static bool print_by_strides(const ir_tensor *t, int64_t element, str_buf *out)
{
    int64_t index[TM_MAX_RANK], extent, stride, expected = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (!ir_const_int(t->shape[d], &extent) || !ir_const_int(t->strides[d], &stride) || stride != expected ||
            !extent)
            return false;
        index[d] = d ? element / stride % extent : element / stride;
        expected *= extent;
    }
    for (int d = 0; d < t->rank; d++)
        str_addf(out, "%s%" PRId64, d ? ", " : "[", index[d]);
    str_addc(out, ']');
    return true;
}

static void print_element(const ir_var *var, const char *name, int64_t element, str_buf *out)
{
    const ir_tensor *t = var ? var->tensor : NULL;
    str_buf index;
    str_buf_init(&index, out->arena);
    bool is_told = t && t->layout ? print_by_layout(t->layout, element, &index)
                                  : t && t->strides && print_by_strides(t, element, &index);
    if (is_told)
        str_addf(out, "%s%s", name, str_text(&index));
    else if (!t || t->rank == 1)
        str_addf(out, "%s[%" PRId64 "]", name, element);
    else
        str_addf(out, "element %" PRId64 " of '%s'", element, name);
}

// The branch in which the tensor is made; 0: none.
static int branch_of(const sim_code *p, const ir_var *v)
{
    for (size_t i = 0; p && i < p->shared.len; i++)
        if (p->shared.at[i].var == v)
            return p->shared.at[i].branch;
    return 0;
}

// The tensor in shared memory that begins last at or before the offset, of the branch of the access; NULL: none.
static const sim_shared_tensor *tensor_before(const sim_touch *t, uint64_t offset)
{
    const sim_code *p = t->w->block->launch->code;
    const sim_shared_tensor *found = NULL;
    int branch = branch_of(p, t->access ? t->access->var : NULL);
    for (size_t i = 0; p && i < p->shared.len; i++) {
        const sim_shared_tensor *s = &p->shared.at[i];
        bool is_here = !branch || !s->branch || s->branch == branch;
        if (is_here && s->offset <= offset && (!found || s->offset > found->offset))
            found = s;
    }
    return found;
}

static int element_bytes(const sim_touch *t, int otherwise)
{
    return t->access && t->access->bytes ? t->access->bytes : otherwise > 0 ? otherwise : 1;
}

static void print_shared(const sim_touch *t, uint64_t offset, str_buf *out)
{
    const sim_shared_tensor *s = tensor_before(t, offset);
    const ir_var *var = t->access ? t->access->var : NULL;
    if (s) {
        print_element(s->var, s->var->name, (int64_t)(offset - s->offset) / (s->elem_bytes ? s->elem_bytes : 1), out);
    } else if (var && var->tensor && var->tensor->smem_offset >= 0 && (uint64_t)var->tensor->smem_offset <= offset) {
        int64_t inside = (int64_t)offset - var->tensor->smem_offset;
        print_element(var, var->name, inside / element_bytes(t, 1), out);
    } else {
        str_addf(out, "byte %" PRIu64 " of shared memory", offset);
    }
}

static void print_at(const sim_touch *t, uint64_t offset, str_buf *out)
{
    const ir_var *var = t->access ? t->access->var : NULL;
    if (t->target == SIM_IN_SHARED)
        print_shared(t, offset, out);
    else if (t->target == SIM_IN_LOCAL)
        str_addf(out, var ? "'%s'" : "private memory", var ? var->name : "");
    else
        print_element(var, var ? var->name : t->allocation->name,
                      (int64_t)offset / element_bytes(t, t->allocation->elem_bytes), out);
}

static const char *named(const sim_touch *t, uint64_t offset)
{
    str_buf out;
    str_buf_init(&out, scratch_of(t));
    print_at(t, offset, &out);
    return str_text(&out);
}

// "a read of 4 bytes"
static const char *deed(const sim_touch *t)
{
    const char *what = t->kind == SIM_NOTE_WRITE                   ? "a write"
                       : (t->kind & SIM_NOTE_ATOMIC) && !t->access ? "an atomic access"
                       : t->kind & SIM_NOTE_WRITE                  ? "a write"
                                                                   : "a read";
    return arena_printf(scratch_of(t), "%s of %d byte%s", what, t->bytes, t->bytes == 1 ? "" : "s");
}

// ---- where nothing may be touched ----------------------------------------------------------------------------------

// [offset]: from the beginning of a tensor of [size] bytes.
static const char *behind(const sim_touch *t, uint64_t offset, uint64_t size, const char *name)
{
    const char *has = arena_printf(scratch_of(t), "'%s', which has %" PRIu64 " bytes", name, size);
    if (offset == size)
        return arena_printf(scratch_of(t), "directly behind the end of %s", has);
    if (offset > size)
        return arena_printf(scratch_of(t), "%" PRIu64 " bytes behind the end of %s", offset - size, has);
    return arena_printf(scratch_of(t), "it begins in '%s', %" PRIu64 " bytes before its end", name, size - offset);
}

// Allocation number and offset form one integer: an address just before an allocation looks far beyond the previous
// one.
static const char *before_global(const sim_touch *t, uint64_t address)
{
    const sim_memory *m = t->device->memory;
    uint64_t number = (address + SIM_OFFSET_MASK / 2) >> SIM_OFFSET_BITS & (((uint64_t)1 << SIM_ALLOCATION_BITS) - 1);
    uint64_t distance = (uint64_t)1 << SIM_OFFSET_BITS;
    distance -= address & SIM_OFFSET_MASK;
    if (!number || number >= m->table.len)
        return NULL;
    return arena_printf(scratch_of(t), "%" PRIu64 " bytes before the beginning of '%s'", distance,
                        m->table.at[number].name);
}

static const char *outside_shared(const sim_touch *t, uint64_t offset)
{
    const sim_shared_tensor *s = tensor_before(t, offset);
    if (offset > SIM_SHARED_MASK / 2)
        return arena_printf(scratch_of(t), "%" PRIu64 " bytes before the beginning of shared memory",
                            ((uint64_t)1 << SIM_RANK_SHIFT) - offset);
    if (s)
        return behind(t, offset - s->offset, s->bytes, s->var->name);
    return arena_printf(scratch_of(t), "byte %" PRIu64 " of the block's shared memory, which has %" PRId64, offset,
                        t->w->block->shared_bytes);
}

static const char *outside(const sim_touch *t, uint64_t address, uint64_t offset)
{
    switch (address & SIM_TAG_MASK) {
    case SIM_TAG_GLOBAL: {
        const char *text = offset > SIM_OFFSET_MASK / 2 ? before_global(t, address) : NULL;
        if (text)
            return text;
        if (t->allocation && t->allocation->name)
            return behind(t, offset, (uint64_t)t->allocation->size, t->allocation->name);
        return arena_printf(scratch_of(t), "no tensor has the address 0x%" PRIx64, address);
    }
    case SIM_TAG_SHARED:
        if (t->w->block->shared_bytes)
            return outside_shared(t, address & SIM_SHARED_MASK);
        return "the kernel has no shared memory";
    case SIM_TAG_LOCAL:
        return arena_printf(scratch_of(t), "byte %" PRIu64 " of the thread's private memory, which has %" PRIu32,
                            offset, t->w->local_bytes);
    default:
        return address ? arena_printf(scratch_of(t), "0x%" PRIx64 " is no address of memory", address)
                       : "the pointer is null";
    }
}

void sim_report_outside(sim_touch *t, uint32_t lane)
{
    sim_finding f;
    bool is_freed = t->allocation && !t->allocation->bytes && t->allocation->name;
    if (!begin(t, lane, is_freed ? HDS0622 : HDS0602, 0, &f))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    uint64_t bit_mask = t->access && t->access->bits ? (uint64_t)7 << SIM_BIT_SHIFT : 0;
    f.args[0] = deed(t);
    if (is_freed) {
        f.args[1] = t->allocation->name;
    } else {
        f.args[1] = outside(t, t->address[lane] & ~bit_mask, t->address[lane] & SIM_OFFSET_MASK);
        f.help = "check the index arithmetic, or guard the access with a condition";
    }
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

void sim_report_red_zone(sim_touch *t, uint32_t lane)
{
    sim_finding f;
    if (!begin(t, lane, HDS0602, 0, &f))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    f.args[0] = deed(t);
    f.args[1] = outside_shared(t, t->offset[lane]);
    f.help = "check the index arithmetic, or guard the access with a condition";
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

void sim_report_misaligned(sim_touch *t, uint32_t lane)
{
    sim_finding f;
    if (!begin(t, lane, HDS0603, 0, &f))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    const char *of = t->target == SIM_IN_GLOBAL   ? t->allocation->name
                     : t->target == SIM_IN_SHARED ? "shared memory"
                                                  : "private memory";
    f.args[0] = deed(t);
    f.args[1] = arena_printf(scratch_of(t), "%d", t->align);
    f.args[2] = arena_printf(scratch_of(t), "byte %" PRIu64 " of %s%s%s", t->offset[lane],
                             t->target == SIM_IN_GLOBAL ? "'" : "", of, t->target == SIM_IN_GLOBAL ? "'" : "");
    f.help = "move elements one by one here, or begin at a multiple of the width";
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

void sim_report_read_only(sim_touch *t, uint32_t lane)
{
    sim_finding f;
    if (!begin(t, lane, HDS0618, 0, &f))
        return;
    str_buf out;
    arena_mark mark = arena_mark_get(scratch_of(t));
    str_buf_init(&out, scratch_of(t));
    sim_thread_print(t->w->block->launch, &f.actor, true, &out);
    f.args[0] = str_text(&out);
    f.args[1] = t->allocation->name;
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

// ---- blocks that are not there -------------------------------------------------------------------------------------

static const char *verb(uint32_t kind)
{
    switch (kind) {
    case SIM_NOTE_WRITE:
        return "writes";
    case SIM_NOTE_ATOMIC:
        return "atomically reads";
    case SIM_NOTE_ATOMIC | SIM_NOTE_WRITE:
        return "atomically writes";
    default:
        return "reads";
    }
}

static void not_there(sim_launch *l, diag_code code, sim_actor actor, uint32_t kind, const sim_block *owner,
                      const char *help)
{
    sim_finding f = {.code = code, .actor = actor, .other = {0, -1, -1, -1}, .help = help};
    if (sim_found_before(l->device, l, f.code, &f.actor, 0))
        return;
    arena_mark mark = arena_mark_get(owner->arena);
    str_buf out;
    str_buf_init(&out, owner->arena);
    sim_thread_print(l, &f.actor, true, &out);
    f.args[0] = arena_printf(owner->arena, "%s %s", str_text(&out), verb(kind));
    f.args[1] = arena_printf(owner->arena, "%" PRId64, owner->index);
    sim_find(l->device, l, &f);
    arena_reset(owner->arena, mark);
}

static const char *const meet_behind = "let the blocks of the cluster meet behind it before they end (cluster_sync())";

void sim_report_ended(sim_touch *t, uint32_t lane, const sim_block *owner)
{
    not_there(t->w->block->launch, HDS0771, actor_of(t, lane), t->kind, owner, meet_behind);
}

void sim_report_guest(sim_block *owner, const sim_guest *g, uint32_t lane)
{
    int64_t block = owner->cluster->blocks[g->rank]->index;
    sim_actor actor = {g->site, block, g->warp * SIM_LANES + (int)lane, g->warp};
    not_there(owner->launch, HDS0771, actor, g->kind, owner, meet_behind);
}

void sim_report_unborn(sim_touch *t, uint32_t lane)
{
    not_there(t->w->block->launch, HDS0773, actor_of(t, lane), t->kind, t->owner,
              "let the blocks of the cluster meet before they reach into each other's memory (cluster_sync(), or "
              "cluster_arrive_relaxed() and cluster_wait())");
}

// ---- what an earlier launch may still use -----------------------------------------------------------------------------

void sim_report_early(sim_touch *t, uint32_t lane, const ir_func *kernel, bool wrote)
{
    sim_finding f;
    if (!begin(t, lane, HDS0657, 0, &f))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    str_buf out;
    str_buf_init(&out, scratch_of(t));
    sim_thread_print(t->w->block->launch, &f.actor, true, &out);
    str_addf(&out, " %s %s", verb(t->kind), named(t, t->offset[lane]));
    f.args[0] = str_text(&out);
    f.args[1] = kernel ? kernel->title ? kernel->title : kernel->name : "another kernel";
    f.args[2] = wrote ? "write" : "read";
    if (t->allocation->predecessor)
        f.notes[0] = arena_printf(scratch_of(t), "'%s' has the bytes of the workspace that '%s' had before", t->allocation->name,
                                  t->allocation->predecessor);
    f.help = "call griddepcontrol_wait(), or pdl_sync(), before the first access of what other kernels write";
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

// ---- what was not written, or not yet ------------------------------------------------------------------------------

// The value comes out of an accumulator that a wgmma is still writing.
static void report_flight(sim_touch *t, uint32_t lane, const char *what, uint32_t wgmma)
{
    sim_finding f;
    if (!begin(t, lane, HDS0626, wgmma, &f))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    f.args[0] = arena_printf(scratch_of(t), "%s is taken from an accumulator", what);
    f.other = (sim_actor){wgmma, f.actor.block, f.actor.thread, f.actor.warp};
    f.other_text = "it starts here";
    f.help = "commit(), then wait(acc, 0) before the accumulators are used";
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

void sim_report_poison(sim_touch *t, uint32_t lane, const char *what, uint32_t why)
{
    sim_finding f;
    uint32_t other = why != t->site ? why : 0;
    if (why & SIM_WHY_FLIGHT) {
        report_flight(t, lane, what, why & ~SIM_WHY_FLIGHT);
        return;
    }
    if (!begin(t, lane, HDS0604, other, &f))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    f.args[0] = what;
    f.under = arena_printf(scratch_of(t), "%s", named(t, t->offset[lane]));
    if (other) {
        f.other = (sim_actor){other, f.actor.block, f.actor.thread, f.actor.warp};
        f.other_text = "this read an element that was never written";
    }
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

void sim_report_pending(sim_touch *t, uint32_t lane, uint32_t unit_site)
{
    sim_finding f;
    bool is_wgmma = unit_site & SIM_WHY_FLIGHT;
    uint32_t copy_site = unit_site & ~SIM_WHY_FLIGHT;
    if (!begin(t, lane, is_wgmma ? HDS0626 : HDS0609, copy_site, &f))
        return;
    str_buf out;
    arena_mark mark = arena_mark_get(scratch_of(t));
    str_buf_init(&out, scratch_of(t));
    sim_thread_print(t->w->block->launch, &f.actor, true, &out);
    str_addf(&out, " %s %s", verb(t->kind), named(t, t->offset[lane]));
    f.args[0] = str_text(&out);
    if (copy_site) {
        f.other = (sim_actor){copy_site, f.actor.block, -1, -1};
        f.other_text = copy_site == t->site ? NULL : is_wgmma ? "wgmma reads it from here on" : "the copy starts here";
    }
    f.help = is_wgmma ? "wait for its group before the operand is written, and let those actor write it know"
             : t->w->block->order->bulk
                 ? "wait for the copy first (the mbarrier of a load, wait_group_read of a store), and let all threads know"
                 : "wait for the copy first (wait_group, wait_all), and make it everybody's with syncthreads()";
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

void sim_report_unfenced(sim_warp *w, uint32_t site, uint32_t lane, uint64_t offset, uint32_t write_site, int thread,
                         int64_t block, const char *reader)
{
    sim_touch t = {.w = w, .device = sim_device_of(w), .site = site, .target = SIM_IN_SHARED, .owner = w->block};
    sim_finding f;
    if (!begin(&t, lane, HDS0625, write_site, &f))
        return;
    str_buf starter, writer;
    arena_mark mark = arena_mark_get(scratch_of(&t));
    str_buf_init(&starter, scratch_of(&t));
    str_buf_init(&writer, scratch_of(&t));
    f.other = (sim_actor){write_site, block, thread, thread / SIM_LANES};
    sim_thread_print(w->block->launch, &f.actor, true, &starter);
    sim_thread_print(w->block->launch, &f.other, block != w->block->index, &writer);
    f.args[0] = str_text(&starter);
    f.args[1] = reader;
    f.args[2] = named(&t, offset);
    f.args[3] = str_text(&writer);
    f.other_text = "it was written here";
    f.help = arena_printf(scratch_of(&t), "call fence_proxy_async() in each thread that wrote, then a barrier, then %s",
                          strcmp(reader, "wgmma") == 0 ? "multiply" : "start the copy");
    tell(&t, &f);
    arena_reset(scratch_of(&t), mark);
}

void sim_report_refilled(sim_warp *copy, sim_block *home, uint32_t site, uint32_t lane, uint64_t offset,
                         uint32_t other_site, int thread, int64_t block, bool wrote)
{
    sim_touch t = {.w = copy, .device = sim_device_of(copy), .site = site, .target = SIM_IN_SHARED, .owner = home};
    sim_finding f;
    if (!begin(&t, lane, wrote ? HDS0656 : HDS0655, other_site, &f))
        return;
    str_buf starter, other;
    arena_mark mark = arena_mark_get(scratch_of(&t));
    str_buf_init(&starter, scratch_of(&t));
    str_buf_init(&other, scratch_of(&t));
    f.other = (sim_actor){other_site, block, thread, thread / SIM_LANES};
    sim_thread_print(copy->block->launch, &f.actor, true, &starter);
    sim_thread_print(copy->block->launch, &f.other, block != copy->block->index, &other);
    f.args[0] = str_text(&starter);
    f.args[1] = named(&t, offset);
    f.args[2] = str_text(&other);
    f.other_text = wrote ? "it was written here" : "it was read here";
    f.help = wrote ? "call fence_proxy_async() in each thread that wrote, then a barrier, then start the copy"
                   : "call fence_proxy_async() in each thread that has read, before the barrier or arrival that releases the "
                     "slot; or release it behind the first use of the values (a store, a shuffle, a reduction)";
    tell(&t, &f);
    arena_reset(scratch_of(&t), mark);
}

void sim_report_source(sim_touch *t, uint32_t lane, const sim_party *writer)
{
    sim_launch *l = t->w->block->launch;
    int warp = sim_note_warp(&writer->note);
    sim_finding f = {
        .code = HDS0609,
        .actor = {writer->note.site, writer->block, warp * SIM_LANES + (int)writer->lane, warp},
        .other = {t->site, t->w->block->index, sim_thread(t->w, lane), t->w->index},
        .other_text = "the copy from there starts here",
        .help = "wait for the copy before its source is written (wait_group, wait_all)",
    };
    if (sim_found_before(l->device, l, f.code, &f.actor, f.other.site))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    str_buf out;
    str_buf_init(&out, scratch_of(t));
    sim_thread_print(l, &f.actor, true, &out);
    str_addf(&out, " writes %s", named(t, t->offset[lane]));
    f.args[0] = str_text(&out);
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}

// ---- races ---------------------------------------------------------------------------------------------------------

typedef struct side {
    sim_actor actor;
    uint32_t kind;
    const char *value; // that it reads or writes; NULL: not known
    uint32_t begin;    // of its location in the source
} side;

static uint32_t begin_of(const sim_touch *t, uint32_t site)
{
    const sim_program *p = t->w->block->launch->program;
    return p && site < p->sites.len ? p->sites.at[site].span.begin : 0;
}

// The element of the lane that has the granule, as it is in [bytes]; NULL where the type is not known.
static const char *value_in(const sim_touch *t, uint32_t lane, uint64_t granule, const uint8_t *bytes)
{
    const sim_access *a = t->access;
    if (!a || a->bits || !bytes || a->bytes < 1)
        return NULL;
    uint64_t at = granule << t->shadow->shift, inside = at > t->offset[lane] ? at - t->offset[lane] : 0, bits = 0;
    memcpy(&bits, bytes + inside / a->bytes * a->bytes, a->bytes);
    str_buf out;
    str_buf_init(&out, scratch_of(t));
    sim_value_print(a->type, bits, &out);
    return str_text(&out);
}

// The primary access of a message: the read; else the access later in the source, or in the later block. So a race is
// one finding, independent of the order of execution.
static bool is_swapped(const side *a, const side *b)
{
    bool a_writes = a->kind & SIM_NOTE_WRITE, b_writes = b->kind & SIM_NOTE_WRITE;
    if (a_writes != b_writes)
        return a_writes;
    if (a->begin != b->begin)
        return a->begin < b->begin;
    return a->actor.block < b->actor.block;
}

// Whether two locations are in one statement, such as the read and the write of 'y[0] += x'.
static bool is_same_line(const sim_touch *t, uint32_t a, uint32_t b)
{
    const sim_program *p = t->w->block->launch->program;
    if (!p || a >= p->sites.len || b >= p->sites.len)
        return false;
    return p->sites.at[a].statement.begin == p->sites.at[b].statement.begin &&
           p->sites.at[a].func == p->sites.at[b].func;
}

static const char *race_help(const sim_touch *t, const side *a, const side *b, bool has_bits)
{
    if (has_bits)
        return "elements of less than a byte share it, and a store rewrites all of it: let one thread store them";
    bool is_one_address = t->is_same || a->actor.block != b->actor.block;
    bool is_update = is_one_address && a->kind != b->kind && is_same_line(t, a->actor.site, b->actor.site);
    if (is_update)
        return "if all of them add to it, let atomic.add or atomic.red_add do it, or a reduction; if not, give each "
               "its own";
    if (t->target == SIM_IN_SHARED && a->actor.block != b->actor.block)
        return "let the blocks of the cluster meet between the two (cluster_sync()), or hand over through an mbarrier "
               "(arrive_at_release and wait_cluster)";
    if (a->actor.block != b->actor.block)
        return "blocks run in any order: use atomics, or a launch for each of the two";
    if (a->actor.site == b->actor.site && (a->kind & b->kind & SIM_NOTE_WRITE))
        return "several threads write different values there: let one of them do it, or give each its own element";
    if (a->actor.warp == b->actor.warp)
        return "insert syncwarp() between the two, or syncthreads()";
    return "insert syncthreads() between the two";
}

static const char *race_text(const sim_touch *t, const side *a, const side *b, const char *element)
{
    str_buf out;
    str_buf_init(&out, scratch_of(t));
    sim_thread_print(t->w->block->launch, &a->actor, true, &out);
    str_addf(&out, " %s %s while ", verb(a->kind), element);
    sim_thread_print(t->w->block->launch, &b->actor, a->actor.block != b->actor.block, &out);
    str_addf(&out, " %s it", verb(b->kind));
    return str_text(&out);
}

static const char *other_text(const sim_touch *t, const side *s)
{
    str_buf out;
    str_buf_init(&out, scratch_of(t));
    sim_thread_print(t->w->block->launch, &s->actor, false, &out);
    bool writes = s->kind & SIM_NOTE_WRITE;
    str_addf(&out, " %s %s here", writes ? "wrote" : "read", s->value ? s->value : "it");
    return str_text(&out);
}

void sim_report_race(sim_touch *t, uint32_t lane, uint64_t granule, const sim_party *other, const uint8_t *value)
{
    diag_code code = t->target == SIM_IN_SHARED ? HDS0605 : HDS0606;
    int warp = sim_note_warp(&other->note);
    side mine = {actor_of(t, lane), t->kind, NULL, begin_of(t, t->site)},
         theirs = {.kind = sim_note_kind(&other->note)};
    theirs.actor = (sim_actor){other->note.site, other->block, warp * SIM_LANES + (int)other->lane, warp};
    theirs.begin = begin_of(t, other->note.site);
    bool swapped = is_swapped(&mine, &theirs), same_site = mine.actor.site == theirs.actor.site;
    const side *first = swapped ? &theirs : &mine, *second = swapped ? &mine : &theirs;
    uint32_t second_site = same_site ? 0 : second->actor.site;
    if (sim_found_before(t->device, t->w->block->launch, code, &first->actor, second_site))
        return;
    arena_mark mark = arena_mark_get(scratch_of(t));
    uint64_t at = granule << t->shadow->shift;
    uint8_t now[SIM_TOUCH_BYTES];
    sim_bytes_get(now, sim_touch_at(t, lane), t->bytes, t->access && t->access->bytes ? t->access->bytes : 1);
    theirs.value = value_in(t, lane, granule, now);
    mine.value = t->kind & SIM_NOTE_WRITE ? value_in(t, lane, granule, value) : NULL;
    sim_finding f = {.code = code, .actor = first->actor, .other = {0, -1, -1, -1}};
    f.args[0] = race_text(t, first, second, named(t, at > t->offset[lane] ? at : t->offset[lane]));
    if (first->value)
        f.under = arena_printf(scratch_of(t), "%s %s", first->kind & SIM_NOTE_WRITE ? "writes" : "reads", first->value);
    if (!same_site) {
        f.other = second->actor;
        f.other_text = other_text(t, second);
    } else if (second->value) {
        f.notes[0] = arena_printf(scratch_of(t), "the other %s %s", second->kind & SIM_NOTE_WRITE ? "writes" : "reads",
                                  second->value);
    }
    f.help = race_help(t, &mine, &theirs, t->access && t->access->bits);
    tell(t, &f);
    arena_reset(scratch_of(t), mark);
}
