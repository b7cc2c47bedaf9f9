// Does      assigns every shared tensor of a kernel (and of a device function that has its own) a byte offset in one
//           pool; tensors with disjoint lifetimes share bytes.
// Needs     tensors with sizes known while compiling; task loops lowered, so that the order in the text is the order in
//           time.
// Gives     smem_offset of each, is_dynamic_smem; of the kernel static_smem_bytes, or pool_bytes where the pool is larger
//           than a static array may be (48 KiB: CUDA C++ Programming Guide, "Shared Memory", compute capability 7.x on).
// Why here  after unrolling, which may copy allocations; before flattening, which adds the offsets to the addresses.
//
// Tensors are placed by decreasing size, each into the smallest gap between tensors with overlapping lifetimes. Device
// functions keep static arrays of their own, which count towards the kernel's limit.
#include "ir/passes/shared_lifetime.h"

#include <stdlib.h>

enum { STATIC_LIMIT = 48 * 1024, LEAST_ALIGN = 16 };
static const int64_t LARGEST_BYTES = (int64_t)1 << 40;

typedef struct placed {
    const shared_tensor *tensor;
    int64_t bytes, offset;
    int align, order;
} placed;

typedef struct allocator {
    ir_pass_context *px;
    ir_module *module;
    bool *leaks;             // by function id
    int64_t *static_bytes;   // by function id: shared bytes of device functions
    bool has_device_pool;    // some device function so far has shared bytes
    bool *calls;             // by function id: reached from the current kernel
    const shared_lifetimes *lives;
    placed *tensors;         // largest first
    int count;
    bool failed;
} allocator;

// ---- sizes -------------------------------------------------------------------------------------------------------

// The extents of a tensor without static storage may still be constants.
static bool constant_elems(const ir_tensor *t, int64_t *out)
{
    *out = 1;
    for (int i = 0; i < t->rank; i++) {
        int64_t extent;
        if (!ir_const_int(t->shape[i], &extent) || __builtin_mul_overflow(*out, extent, out) || *out < 0)
            return false;
    }
    return true;
}

static bool bytes_of(const ir_tensor *t, int64_t *out)
{
    int64_t elems = t->storage_elems >= 0 ? t->storage_elems : t->layout ? t->layout->size : -1;
    *out = 0;
    if (elems < 0 && !constant_elems(t, &elems))
        return false;
    const ir_type *e = t->elem;
    int64_t bits = e->kind == IR_SCALAR ? dt_bits(e->scalar) : ir_type_bytes(e) * 8;
    int64_t all;
    if (__builtin_mul_overflow(elems, bits, &all) || all > INT64_MAX - 7)
        all = INT64_MAX - 7;
    *out = (all + 7) / 8;
    return true;
}

static int64_t round_up(int64_t value, int64_t align)
{
    return (value + align - 1) / align * align;
}

// ---- placement ---------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->order - y->order;
}

typedef struct span {
    int64_t begin, end;
} span;

static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

// The byte ranges of tensors placed before [p] whose lifetimes overlap with it, by address.
static int taken_spans(const allocator *al, const placed *p, span *out)
{
    int count = 0;
    for (const placed *q = al->tensors; q < p; q++)
        if (q->bytes && !ir_shared_may_overlay(al->lives, p->tensor, q->tensor))
            out[count++] = (span){q->offset, q->offset + q->bytes};
    qsort(out, (size_t)count, sizeof *out, by_begin);
    return count;
}

// The smallest gap that fits, the lowest of equal ones; the end of the pool if there is none.
static int64_t best_offset(const placed *p, const span *taken, int count)
{
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (int i = 0; i < count; i++) {
        int64_t at = round_up(end, p->align), gap = taken[i].begin - end;
        if (at + p->bytes <= taken[i].begin && gap < best_gap) {
            best = at;
            best_gap = gap;
        }
        end = taken[i].end > end ? taken[i].end : end;
    }
    return best >= 0 ? best : round_up(end, p->align);
}

static int64_t place_all(allocator *al)
{
    span *taken = ARENA_ARRAY(al->px->scratch, span, al->count);
    int64_t total = 0;
    for (placed *p = al->tensors; p < al->tensors + al->count; p++) {
        if (!p->tensor->is_used)
            p->bytes = 0;
        p->offset = p->bytes ? best_offset(p, taken, taken_spans(al, p, taken)) : 0;
        total = p->offset + p->bytes > total ? p->offset + p->bytes : total;
    }
    return total;
}

// ---- functions ---------------------------------------------------------------------------------------------------

static void collect(allocator *al)
{
    al->count = ir_shared_count(al->lives);
    al->tensors = ARENA_ARRAY(al->px->scratch, placed, al->count);
    for (int i = 0; i < al->count; i++) {
        placed *p = &al->tensors[i];
        *p = (placed){.tensor = ir_shared_at(al->lives, i), .order = i, .align = LEAST_ALIGN};
        ir_var *v = p->tensor->var;
        if (v->tensor->align_bytes > p->align)
            p->align = v->tensor->align_bytes;
        if (!bytes_of(v->tensor, &p->bytes)) {
            diag *d = diag_report(al->px->diags, HDS0404, v->span, v->name);
            diag_help(d, "give it constant extents, or take dynamic shared memory");
            al->failed = true;
        }
        // Far beyond any limit, and sums of sizes cannot overflow.
        if (p->bytes > LARGEST_BYTES)
            p->bytes = LARGEST_BYTES;
    }
    qsort(al->tensors, (size_t)al->count, sizeof *al->tensors, by_size);
}

static void report_exceeded(allocator *al, ir_func *f, int64_t total)
{
    const arch *target = al->module->arch;
    diag *d = diag_report(al->px->diags, HDS0401, f->span, f->title ? f->title : f->name, (long long)total,
                          target->name, target->smem_per_block);
    for (int i = 0; i < al->count; i++) {
        const placed *p = &al->tensors[i];
        if (p->bytes)
            diag_label(d, p->tensor->var->span, "'%s' takes %lld bytes", p->tensor->var->name, (long long)p->bytes);
    }
    diag_help(d, "take smaller tiles or fewer stages");
    al->failed = true;
}

static void note_call(void *user, ir_expr *e)
{
    allocator *al = user;
    if (e->op == IR_OP_CALL)
        al->calls[e->u.func->id] = true;
}

static void note_calls(void *user, ir_stmt *s)
{
    allocator *al = user;
    ir_walk_stmt_exprs(al->module, s, note_call, al);
}

// Shared bytes of the functions that [f] reaches; callees stand before callers.
static int64_t bytes_below(allocator *al, ir_func *f)
{
    int64_t sum = 0;
    al->calls = ARENA_ARRAY(al->px->scratch, bool, al->module->funcs.len);
    ir_walk(&f->body, note_calls, al);
    for (size_t i = f->id; i-- > 0;) {
        if (!al->calls[i])
            continue;
        sum += al->static_bytes[i];
        ir_walk(&al->module->funcs.at[i]->body, note_calls, al);
    }
    return sum;
}

static void write_offsets(allocator *al, bool is_dynamic)
{
    for (int i = 0; i < al->count; i++) {
        ir_tensor *t = al->tensors[i].tensor->var->tensor;
        al->px->changed |= t->smem_offset != al->tensors[i].offset || t->is_dynamic_smem != is_dynamic;
        t->smem_offset = al->tensors[i].offset;
        t->is_dynamic_smem = is_dynamic;
        if (t->align_bytes < al->tensors[i].align)
            t->align_bytes = al->tensors[i].align;
    }
}

static void allocate_kernel(allocator *al, ir_func *f)
{
    int64_t own = place_all(al), wish = 0;
    int64_t below = al->has_device_pool ? bytes_below(al, f) : 0;
    bool is_dynamic = own + below > STATIC_LIMIT;
    f->static_smem_bytes = is_dynamic ? 0 : own;
    f->pool_bytes = is_dynamic ? own : 0;
    if (f->dynamic_smem_bytes && (!ir_const_int(f->dynamic_smem_bytes, &wish) || wish < 0 || wish > INT32_MAX))
        wish = 0;
    if (own + below + wish > al->module->arch->smem_per_block)
        report_exceeded(al, f, own + below + wish);
    write_offsets(al, is_dynamic);
}

static void allocate_func(allocator *al, ir_func *f)
{
    // Only needed for functions that are called.
    al->leaks[f->id] = f->kind == IR_DEVICE && ir_shared_leaks_addresses(al->module, f, al->leaks);
    if (f->kind == IR_HOST_FUNC)
        return;
    al->lives = ir_shared_lifetimes_of(al->module, al->px->scratch, f, al->leaks);
    collect(al);
    if (f->kind == IR_KERNEL) {
        allocate_kernel(al, f);
    } else if (al->count) {
        f->static_smem_bytes = al->static_bytes[f->id] = place_all(al);
        al->has_device_pool |= f->static_smem_bytes > 0;
        write_offsets(al, false);
    }
}

bool ir_pass_allocate_shared(ir_pass_context *px)
{
    allocator al = {.px = px, .module = px->module};
    al.leaks = ARENA_ARRAY(px->scratch, bool, px->module->funcs.len);
    al.static_bytes = ARENA_ARRAY(px->scratch, int64_t, px->module->funcs.len);
    for (size_t i = 0; i < px->module->funcs.len && !al.failed; i++) {
        arena_mark mark = arena_mark_get(px->scratch);
        allocate_func(&al, px->module->funcs.at[i]);
        arena_reset(px->scratch, mark);
    }
    return !al.failed;
}
