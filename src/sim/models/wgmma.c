// hidet.lang.wgmma: products by warpgroups (PTX ISA 9.7.15).
//
// The four warps wait for each other at an instruction; the last one executes it for all. Results are in the
// accumulators at once, but marked as in flight (poison with SIM_WHY_FLIGHT) until the warp has waited for their group.
// Operands in shared memory must not be written until the first warp has waited.
//
// Operands are read in wgmma_operands.c; wgmma_flight.c keeps what is under way.
#include "sim/models/wgmma.h"

#include "sim/bulk.h"

// ---- an instance ----------------------------------------------------------------------------------------------------

// The immediates behind the operands: whether each matrix lies across k. [has_a]: a comes from shared memory.
static int majors_of(const char *text, bool has_a)
{
    const char *at = strstr(text, "wgmma.mma_async."), *end = at ? strchr(at, ';') : NULL;
    int digits[8], count = 0;
    for (const char *p = end; p && p > at && count < 8; p -= 3) {
        bool is_immediate = p - at > 3 && p[-3] == ',' && p[-2] == ' ' && (p[-1] == '0' || p[-1] == '1');
        if (!is_immediate)
            break;
        digits[count++] = p[-1] - '0';
    }
    int b = count == (has_a ? 4 : 3) ? digits[0] : 0;
    return b | (has_a && count == 4 ? digits[1] << 1 : 0);
}

static bool bind_product(sim_use *use)
{
    const sim_operand *acc = sim_operand_named(use, "acc"), *a = sim_operand_named(use, "a");
    const sim_operand *b = sim_operand_named(use, "b"), *accumulates = sim_operand_named(use, "accumulate");
    dtype of_a = sim_argument_type(use->intrin, "A"), of_b = sim_argument_type(use->intrin, "B");
    sim_mma_number number;
    if (!acc || !a || !b || !accumulates || !sim_mma_number_of(of_a, &number) || !sim_mma_number_of(of_b, &number))
        return false;
    bool has_a = a->count == 1 && a->cells == 2;
    use->bound[WGMMA_ACC] = acc - use->operands;
    use->bound[WGMMA_A] = a - use->operands;
    use->bound[WGMMA_B] = b - use->operands;
    use->bound[WGMMA_ACCUMULATES] = accumulates - use->operands;
    use->bound[WGMMA_SHAPE] = acc->count * 2 << 8 | 256 / dt_bits(of_a);
    use->bound[WGMMA_MAJOR] = majors_of(use->intrin->text, has_a);
    use->bound[WGMMA_NUMBERS] = of_a | of_b << 8;
    use->bound[WGMMA_A_IN_REGISTERS] = !has_a;
    return acc->count % 4 == 0 && acc->count <= WGMMA_MOST_COLUMNS / 2 && acc->cells == 1 &&
           (has_a || a->count * SIM_LANES == WGMMA_WARP_ROWS * (256 / dt_bits(of_a)));
}

static dtype type_of_a(const sim_use *use)
{
    return (dtype)(use->bound[WGMMA_NUMBERS] & 255);
}

static dtype type_of_b(const sim_use *use)
{
    return (dtype)(use->bound[WGMMA_NUMBERS] >> 8);
}

static sim_mma_shape shape_of(const sim_use *use)
{
    dtype sum = use->operands[use->bound[WGMMA_ACC]].type;
    sim_mma_shape s = {.m = WGMMA_WARP_ROWS, .k = (int)use->bound[WGMMA_SHAPE] & 255};
    sim_mma_number_of(type_of_a(use), &s.a);
    sim_mma_number_of(type_of_b(use), &s.b);
    s.sum = sum == DT_F32 ? SIM_MMA_TO_F32 : sum == DT_F16 ? SIM_MMA_TO_F16 : SIM_MMA_TO_I32;
    s.per_register = 32 / dt_bits(type_of_a(use));
    s.saturates = strstr(use->intrin->text, ".satfinite") != NULL;
    return s;
}

// ---- the product ----------------------------------------------------------------------------------------------------

static int row_of(int element, int lane)
{
    return element / 2 % 2 * 8 + lane / 4;
}

static int column_of(int element, int lane)
{
    return element / 4 * 8 + lane % 4 * 2 + element % 2;
}

static uint32_t element_bits(dtype t, const uint8_t *at)
{
    uint32_t bits = 0;
    memcpy(&bits, at, (size_t)dt_bits(t) / 8);
    return t == DT_I8 ? (uint32_t)(int32_t)(int8_t)bits : bits;
}

// A warp's rows of a as a fragment.
static void gather_a(const sim_wgmma_work *x, int warp, uint32_t (*a)[SIM_LANES])
{
    dtype t = type_of_a(x->use);
    int bytes = dt_bits(t) / 8;
    for (int e = 0; e < WGMMA_WARP_ROWS * x->shape.k / SIM_LANES; e++)
        for (int lane = 0; lane < SIM_LANES; lane++) {
            const uint8_t *row = x->rows[warp * WGMMA_WARP_ROWS + sim_mma_a_row(&x->shape, e, lane)];
            a[e][lane] = element_bits(t, row + sim_mma_a_k(&x->shape, e, lane) * bytes);
        }
}

// Rows of the warp with an uninitialized element.
static uint32_t bad_rows(const sim_wgmma_work *x, int warp, uint32_t *why)
{
    const sim_warp *w = sim_wgmma_warp(x, warp);
    const sim_operand *a = sim_wgmma_operand(x->use, WGMMA_A);
    uint32_t cell = sim_wgmma_cell(w, a), found = 0;
    if (!x->use->bound[WGMMA_A_IN_REGISTERS])
        return x->bad_rows >> (warp * WGMMA_WARP_ROWS) & 0xffff;
    for (int e = 0; e < a->count; e++)
        SIM_EACH(lane, w->poison[cell + (uint32_t)e]) {
            found |= 1u << sim_mma_a_row(&x->shape, e, (int)lane);
            *why = w->why[cell + (uint32_t)e];
        }
    return found;
}

static void spread_poison(const sim_wgmma_work *x, int warp, uint32_t acc)
{
    sim_warp *w = sim_wgmma_warp(x, warp);
    uint32_t why = x->use->site, rows = bad_rows(x, warp, &why);
    int count = sim_wgmma_columns(x->use) / 2;
    if (!x->accumulates)
        memset(w->poison + acc, 0, (size_t)count * sizeof *w->poison);
    for (int e = 0; (rows || x->has_bad_columns) && e < count; e++) {
        uint32_t bits = 0;
        for (int lane = 0; lane < SIM_LANES; lane++)
            bits |= (uint32_t)(rows >> row_of(e, lane) & 1 || x->bad_columns[column_of(e, lane)]) << lane;
        if (bits & ~w->poison[acc + (uint32_t)e])
            w->why[acc + (uint32_t)e] = why;
        w->poison[acc + (uint32_t)e] |= bits;
    }
}

static sim_field field_at(const sim_field *fields, dtype t, const uint8_t (*rows)[32], int row, int k)
{
    int byte = k * dt_bits(t) / 8;
    return sim_field_or(fields[row * 32 + byte], sim_value_of(t, element_bits(t, rows[row] + byte)));
}

// Before the product: its sums in the field.
static void multiply_fields(const sim_wgmma_work *x, int warp, uint32_t acc, sim_wgmma_fields *p)
{
    sim_warp *w = sim_wgmma_warp(x, warp);
    const sim_operand *in_registers = sim_wgmma_operand(x->use, WGMMA_A);
    sim_operand a = *in_registers, sums = x->use->operands[x->use->bound[WGMMA_ACC]];
    sums.cell = acc;
    for (int i = 0; !x->use->bound[WGMMA_A_IN_REGISTERS] && i < WGMMA_WARP_ROWS; i++)
        for (int k = 0; k < x->shape.k; k++)
            p->a[i][k] = field_at(p->rows, type_of_a(x->use), x->rows, warp * WGMMA_WARP_ROWS + i, k);
    a.cell = x->use->bound[WGMMA_A_IN_REGISTERS] ? sim_wgmma_cell(w, in_registers) : 0;
    for (int e = 0; x->use->bound[WGMMA_A_IN_REGISTERS] && e < a.count; e++)
        for (int lane = 0; lane < SIM_LANES; lane++)
            p->a[sim_mma_a_row(&x->shape, e, lane)][sim_mma_a_k(&x->shape, e, lane)] =
                sim_field_element(w, &a, e, (uint32_t)lane);
    for (int n = 0; n < sim_wgmma_columns(x->use); n++)
        for (int k = 0; k < x->shape.k; k++)
            p->b[n][k] = field_at(p->columns, type_of_b(x->use), x->columns, n, k);
    for (int e = 0; e < sums.count; e++)
        for (int lane = 0; lane < SIM_LANES; lane++) {
            sim_field f = x->accumulates ? sim_field_element(w, &sums, e, (uint32_t)lane) : sim_field_of_float(0.0);
            for (int k = 0; k < x->shape.k; k++)
                f = sim_field_fma(p->a[row_of(e, lane)][k], p->b[column_of(e, lane)][k], f);
            p->sum[e][lane] = f;
        }
}

static void keep_fields(const sim_wgmma_work *x, int warp, uint32_t acc, const sim_wgmma_fields *p)
{
    sim_warp *w = sim_wgmma_warp(x, warp);
    sim_operand sums = x->use->operands[x->use->bound[WGMMA_ACC]];
    sums.cell = acc;
    if (sums.type == DT_I32) {
        sim_fields_drop(w, acc, sums.count, UINT32_MAX);
        return;
    }
    for (int e = 0; e < sums.count; e++)
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            double value = sim_value_of(sums.type, sim_element(w, &sums, e, lane));
            sim_field_element_set(w, &sums, e, lane, sim_field_settle(p->sum[e][lane], value));
        }
}

static bool checks(const sim_warp *w)
{
    return !w->block->launch->device->options.no_checks;
}

static void multiply(sim_wgmma_work *x, int warp, sim_flight *f)
{
    sim_warp *w = sim_wgmma_warp(x, warp);
    const sim_operand *acc = sim_wgmma_operand(x->use, WGMMA_ACC), *a = sim_wgmma_operand(x->use, WGMMA_A);
    uint32_t cell = sim_wgmma_cell(w, acc), at = sim_wgmma_cell(w, a), base = VEC_LAST(&w->frames).base;
    uint32_t gathered[WGMMA_MOST_A][SIM_LANES];
    sim_flight_part *p = &f->parts[sim_group_index(w)];
    if (checks(w) && !acc->in_memory)
        sim_flight_claim(x->group, w, x->use);
    spread_poison(x, warp, cell);
    if (!x->use->bound[WGMMA_A_IN_REGISTERS])
        gather_a(x, warp, gathered);
    if (x->fields)
        multiply_fields(x, warp, cell, x->fields);
    sim_mma_wide_best().multiply(&x->shape, x->use->bound[WGMMA_A_IN_REGISTERS] ? sim_u32(w, at) : gathered[0],
                                 &x->panel, x->accumulates, sim_u32(w, cell));
    if (x->fields)
        keep_fields(x, warp, cell, x->fields);
    p->acc = base + cell;
    p->a = base + at;
    if (x->use->bound[WGMMA_A_IN_REGISTERS])
        memcpy(p->a_cells, sim_u32(w, at), (size_t)a->count * SIM_CELL_BYTES);
    if (checks(w) && !acc->in_memory)
        sim_flight_mark(w, f);
    sim_wgmma_refresh(w, acc);
}

// Made once for a warpgroup.
static sim_wgmma_work *work_of(sim_warpgroup *g, const sim_use *use)
{
    arena *a = g->block->arena;
    if (!g->work)
        g->work = ARENA_NEW(a, sim_wgmma_work);
    sim_wgmma_work *x = g->work;
    x->group = g;
    x->use = use;
    x->shape = shape_of(use);
    if (sim_wgmma_warp(x, 0)->field && !x->fields)
        x->fields = ARENA_NEW(a, sim_wgmma_fields);
    return x;
}

// Results of a product that was refused, and reported, will not be missed.
static void forgive(const sim_wgmma_work *x)
{
    const sim_operand *acc = sim_wgmma_operand(x->use, WGMMA_ACC);
    for (int i = 0; i < SIM_GROUP_WARPS; i++) {
        sim_warp *w = sim_wgmma_warp(x, i);
        uint32_t cell = sim_wgmma_cell(w, acc);
        if (sim_flight_writes(x->group, w, cell, acc->count))
            continue;
        memset(w->poison + cell, 0, (size_t)acc->count * sizeof *w->poison);
        sim_wgmma_refresh(w, acc);
    }
}

static void run_for_all(sim_warpgroup *g, const sim_use *use)
{
    sim_wgmma_work *x = work_of(g, use);
    sim_flight *f = sim_flight_new(g, use);
    bool is_tracked = sim_wgmma_read(x, f);
    if (!is_tracked)
        forgive(x);
    if (is_tracked) {
        sim_mma_wide_best().load(&x->shape, type_of_b(use) == DT_I8, sim_wgmma_columns(use), x->columns, &x->panel);
        for (int i = 0; i < SIM_GROUP_WARPS; i++)
            multiply(x, i, f);
        is_tracked = checks(sim_wgmma_warp(x, 0));
    }
    if (is_tracked) {
        VEC_PUSH(g->block->arena, &g->flying, f);
        sim_bulk_begin_reads(g->block, use->site | SIM_WHY_FLIGHT, f->vectors, f->vector_count);
    } else {
        VEC_PUSH(g->block->arena, &g->spare, f);
    }
}

static sim_step run_product(sim_warp *w, const sim_use *use)
{
    sim_step step = sim_group_meet(w, use);
    if (step != SIM_NEXT)
        return step;
    sim_warpgroup *g = sim_group_of(w);
    run_for_all(g, use);
    sim_group_go(g, w);
    return SIM_NEXT;
}

bool sim_is_wgmma(const sim_use *use)
{
    return use->model && use->model->run == run_product;
}

// ---- addresses ------------------------------------------------------------------------------------------------------

static sim_step run_address(sim_warp *w, const sim_use *use)
{
    const uint64_t *p = sim_u64(w, use->operands[0].cell);
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, p[lane] & SIM_SHARED_MASK);
    sim_poison_by_element(w, use, w->active);
    return SIM_NEXT;
}

static sim_step run_pointer(sim_warp *w, const sim_use *use)
{
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, SIM_TAG_SHARED | sim_element(w, &use->operands[0], 0, lane));
    sim_poison_by_element(w, use, w->active);
    return SIM_NEXT;
}

const sim_model sim_models_wgmma[] = {
    {"fence", sim_wgmma_fence, NULL, false},
    {"commit", sim_wgmma_commit, NULL, false},
    {"wait", sim_wgmma_wait, sim_wgmma_bind_wait, false},
    {"wgmma_ss", run_product, bind_product, false},
    {"wgmma_rs", run_product, bind_product, false},
    {"fence_all", sim_wgmma_fence, NULL, false},
    {"wait_all", sim_wgmma_wait, sim_wgmma_bind_wait, false},
    {"shared_address", run_address, NULL, false},
    {"shared_pointer", run_pointer, NULL, false},
    {NULL, NULL, NULL, false},
};
