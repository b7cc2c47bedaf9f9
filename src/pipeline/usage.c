#include "pipeline/usage.h"

#include "toolchain/cubin.h"

// ---- occupancy --------------------------------------------------------------------------------------------------

// CUDA's occupancy calculator, "GPU data": a warp's registers are given in units of 256, shared memory in units of 128
// bytes; from compute capability 8.0 on the system keeps 1 KiB of a block's shared memory (CUDA C++ Programming Guide,
// "Shared Memory" of 8.x).
enum { WARP = 32, REGISTER_UNIT = 256, SHARED_UNIT = 128, SYSTEM_SHARED = 1024 };

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void limit(pl_occupancy *o, int64_t blocks, const char *why)
{
    if (blocks < o->blocks)
        *o = (pl_occupancy){(int)blocks, why};
}

pl_occupancy pl_occupancy_of(const arch *target, int64_t registers, int64_t threads, int64_t shared_bytes)
{
    int64_t warps = round_up(threads, WARP) / WARP;
    int64_t warp_registers = round_up(registers * WARP, REGISTER_UNIT);
    int64_t shared = round_up(shared_bytes + (target->major >= 8 ? SYSTEM_SHARED : 0), SHARED_UNIT);
    pl_occupancy result = {target->blocks_per_sm, "blocks"};
    limit(&result, target->warps_per_sm / warps, "warps");
    // A warp's registers are in one of the four partitions of the SM.
    if (warp_registers)
        limit(&result, target->registers_per_sm / 4 / warp_registers * 4 / warps, "registers");
    if (shared)
        limit(&result, target->smem_per_sm / shared, "shared memory");
    return result;
}

// ---- what the IR knows ------------------------------------------------------------------------------------------

// Threads of a block; 0 if that is known at run time only.
static int64_t threads_of(const ir_func *kernel)
{
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        int64_t extent;
        if (!ir_const_int(kernel->block[i], &extent))
            return 0;
        threads *= extent;
    }
    return threads;
}

static int64_t shared_of(const cu_kernel_info *kernel, const tool_usage *usage)
{
    int64_t wish = 0;
    if (kernel->func->dynamic_smem_bytes)
        ir_const_int(kernel->func->dynamic_smem_bytes, &wish);
    return usage->shared_bytes + kernel->dynamic_smem_bytes + wish;
}

// ---- the table --------------------------------------------------------------------------------------------------

static void add_row(pl_unit *u, const cu_kernel_info *kernel, const tool_usage *usage)
{
    const ir_func *f = kernel->func;
    src_location location = src_location_of(&u->sources, f->span.begin);
    int64_t threads = threads_of(f), shared = shared_of(kernel, usage);
    str_addf(&u->usage, "%9u ", usage->registers);
    if (usage->spill_store_bytes >= 0)
        str_addf(&u->usage, "%7lld ", (long long)(usage->spill_store_bytes + usage->spill_load_bytes));
    else
        str_addf(&u->usage, "%7s ", "-");
    str_addf(&u->usage, "%6u %7lld ", usage->stack_bytes, (long long)shared);
    if (threads > 0) {
        pl_occupancy o = pl_occupancy_of(u->arch, usage->registers, threads, shared);
        double share = 100.0 * (double)(o.blocks * ((threads + WARP - 1) / WARP)) / u->arch->warps_per_sm;
        str_addf(&u->usage, "%7lld %9d %9.0f%%  %-13s", (long long)threads, o.blocks, share, o.limit);
    } else {
        str_addf(&u->usage, "%7s %9s %10s  %-13s", "-", "-", "-", "-");
    }
    str_addf(&u->usage, "  %s", f->title ? f->title : f->name);
    if (location.file)
        str_addf(&u->usage, " (%s:%u)", location.file->name, location.line);
    str_addc(&u->usage, '\n');
}

static void add_head(pl_unit *u)
{
    str_addf(&u->usage, "resources on %s; registers, spills and stack per thread, shared memory per block, in bytes\n",
             u->arch->name);
    str_addf(&u->usage, "%9s %7s %6s %7s %7s %9s %10s  %-13s  %s\n", "registers", "spilled", "stack", "shared",
             "threads", "blocks/SM", "occupancy", "limited by", "kernel");
}

// ---- spills -----------------------------------------------------------------------------------------------------

// The stack has arrays too, which the PTX asked for: those are no spills.
static int64_t spilled_bytes(const tool_ptx_locals *locals, const tool_usage *usage)
{
    int64_t arrays = tool_ptx_local_bytes(locals, usage->kernel);
    return usage->stack_bytes > arrays ? usage->stack_bytes - arrays : usage->stack_bytes;
}

// The schedule of a built-in kernel is not the author's to change; --resource-usage has its spills.
static bool is_builtin(pl_unit *u, const remark_facts *k)
{
    const src_file *file = src_file_at(&u->sources, k->info->func->span.begin);
    return file && file->is_builtin;
}

static void warn_of_spills(pl_unit *u, const remark_facts *k, const tool_ptx_locals *locals, const tool_usage *usage)
{
    enum { MANY_BYTES = 64 };
    if (usage->spill_store_bytes <= 0 || is_builtin(u, k))
        return;
    diag *d = diag_report(&u->diags, HDS0076, k->info->func->span, remark_kernel_title(k),
                          (long long)spilled_bytes(locals, usage), u->arch->name);
    const remark_array *largest = remark_largest_array(k);
    if (largest && largest->bytes >= MANY_BYTES)
        diag_label(d, largest->var->span, "'%s' takes %lld registers", largest->var->name,
                   (long long)((largest->bytes + 3) / 4));
    diag_help(d, "it uses %u registers per thread; give each thread less to hold, or launch fewer threads per block",
              usage->registers);
}

void pl_usage(pl_unit *u, const remark_facts_list *facts, const tool_ptx_locals *locals, str log)
{
    tool_usage_list list = {0};
    if (!tool_cubin_usage(&u->memory, u->code.cubin.at, u->code.cubin.len, &list))
        return;
    tool_usage_add_log(&list, log);
    u->costs = list;
    if (u->options->resource_usage)
        add_head(u);
    for (size_t i = 0; i < u->kernels.len; i++) {
        const cu_kernel_info *kernel = &u->kernels.at[i];
        const tool_usage *usage = tool_usage_of(&list, kernel->symbol);
        if (!usage)
            continue;
        warn_of_spills(u, &facts->at[i], locals, usage);
        if (u->options->resource_usage)
            add_row(u, kernel, usage);
    }
}
