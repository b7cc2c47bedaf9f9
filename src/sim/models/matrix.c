// hidet.lang.mma: mma for all types and shapes, ldmatrix and stmatrix (PTX ISA 9.7.14).
#include "sim/models/models_priv.h"

#include <stdlib.h>

#include "sim/models/matrix_kernel.h"

// ---- mma ---------------------------------------------------------------------------------------------------------

bool sim_mma_number_of(dtype t, sim_mma_number *out)
{
    switch (t) {
    case DT_F16:
        *out = SIM_MMA_F16;
        return true;
    case DT_BF16:
        *out = SIM_MMA_BF16;
        return true;
    case DT_TF32:
        *out = SIM_MMA_TF32;
        return true;
    case DT_F8E4M3:
        *out = SIM_MMA_E4M3;
        return true;
    case DT_F8E5M2:
        *out = SIM_MMA_E5M2;
        return true;
    case DT_I8:
    case DT_U8:
        *out = SIM_MMA_INT;
        return true;
    default:
        return false;
    }
}

// bound[0 … 2]: operands a, b, c; bound[3 … 5]: the numbers of a and b, the sum; bound[6]: m and k; bound[7]:
// saturates.
static bool bind_mma(sim_use *use)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        const sim_operand *o = sim_operand_named(use, names[i]);
        if (!o)
            return false;
        use->bound[i] = o - use->operands;
    }
    const sim_operand *a = &use->operands[use->bound[0]], *b = &use->operands[use->bound[1]];
    const sim_operand *c = &use->operands[use->bound[2]];
    sim_mma_number kind_a, kind_b;
    if (!sim_mma_number_of(a->type, &kind_a) || !sim_mma_number_of(b->type, &kind_b))
        return false;
    int m = c->count * SIM_LANES / 8, k = b->count * SIM_LANES / 8;
    use->bound[3] = kind_a;
    use->bound[4] = kind_b;
    use->bound[5] = c->type == DT_F32 ? SIM_MMA_TO_F32 : c->type == DT_F16 ? SIM_MMA_TO_F16 : SIM_MMA_TO_I32;
    use->bound[6] = m << 8 | k;
    use->bound[7] = sim_opcode_has(use->intrin, "satfinite");
    return a->count * SIM_LANES == m * k && use->result.count == c->count;
}

static sim_mma_shape shape_of(const sim_use *use)
{
    return (sim_mma_shape){
        .a = (sim_mma_number)use->bound[3],
        .b = (sim_mma_number)use->bound[4],
        .sum = (sim_mma_sum)use->bound[5],
        .m = (int)use->bound[6] >> 8,
        .k = (int)use->bound[6] & 255,
        .per_register = 32 / dt_bits(use->operands[use->bound[0]].type),
        .saturates = use->bound[7] != 0,
    };
}

// All 32 lanes of a warp; a finding else.
static bool full_warp(sim_warp *w, const sim_use *use)
{
    if (w->active == UINT32_MAX)
        return true;
    if (sim_together(w, use, UINT32_MAX)) {
        const char *what = sim_say(w, "the warp has only %s", sim_say_lanes(w, w->active));
        sim_find_at(w, sim_first_lane(w->active), use->site, HDS0615, use->intrin->name, what, NULL,
                    "it takes all 32 lanes of a warp: launch a multiple of 32 threads");
    }
    for (int i = 0; i < use->result.count; i++)
        SIM_EACH(lane, w->active)
            sim_element_set(w, &use->result, i, lane, 0);
    sim_result_defined(w, use, w->active);
    return false;
}

// Rows of a and columns of b with a poisoned element, and from where.
typedef struct spoiled {
    uint32_t rows, columns, why;
} spoiled;

static spoiled find_poison(const sim_warp *w, const sim_use *use, const sim_mma_shape *s)
{
    const sim_operand *a = &use->operands[use->bound[0]], *b = &use->operands[use->bound[1]];
    spoiled found = {0};
    for (int e = 0; e < a->count; e++)
        SIM_EACH(lane, w->poison[sim_element_cell(a, e)]) {
            found.rows |= 1u << sim_mma_a_row(s, e, (int)lane);
            found.why = w->why[sim_element_cell(a, e)];
        }
    for (int e = 0; e < b->count; e++)
        SIM_EACH(lane, w->poison[sim_element_cell(b, e)]) {
            found.columns |= 1u << lane / 4;
            found.why = w->why[sim_element_cell(b, e)];
        }
    return found;
}

// An element of the result is poisoned if anything in its row of a or its column of b is, or its element of c.
static void spread_poison(sim_warp *w, const sim_use *use, const sim_mma_shape *s)
{
    const sim_operand *c = &use->operands[use->bound[2]], *r = &use->result;
    spoiled found = find_poison(w, use, s);
    for (int e = 0; e < r->count; e++) {
        uint32_t of_c = w->poison[sim_element_cell(c, e)], bits = of_c, why = w->why[sim_element_cell(c, e)];
        for (int lane = 0; lane < SIM_LANES; lane++) {
            bool is_bad = found.rows >> sim_mma_c_row(e, lane) & 1 || found.columns >> sim_mma_c_column(e, lane) & 1;
            bits |= (uint32_t)is_bad << lane;
        }
        sim_poison_set(w, sim_element_cell(r, e), UINT32_MAX, bits, of_c ? why : found.why);
    }
}

// ---- field values of products ------------------------------------------------------------------------------------

typedef struct field_product {
    sim_field a[16][32], b[32][8], sum[16][8];
} field_product;

static void gather_fields(const sim_warp *w, const sim_use *use, const sim_mma_shape *s, field_product *p)
{
    const sim_operand *a = &use->operands[use->bound[0]], *b = &use->operands[use->bound[1]];
    const sim_operand *c = &use->operands[use->bound[2]];
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        int l = (int)lane;
        for (int e = 0; e < a->count; e++)
            p->a[sim_mma_a_row(s, e, l)][sim_mma_a_k(s, e, l)] = sim_field_element(w, a, e, lane);
        for (int e = 0; e < b->count; e++)
            p->b[sim_mma_b_k(s, e, l)][l / 4] = sim_field_element(w, b, e, lane);
        for (int e = 0; e < c->count; e++)
            p->sum[sim_mma_c_row(e, l)][sim_mma_c_column(e, l)] = sim_field_element(w, c, e, lane);
    }
}

static void multiply_fields(const sim_mma_shape *s, field_product *p)
{
    for (int i = 0; i < s->m; i++)
        for (int n = 0; n < 8; n++)
            for (int k = 0; k < s->k; k++)
                p->sum[i][n] = sim_field_fma(p->a[i][k], p->b[k][n], p->sum[i][n]);
}

static void scatter_fields(sim_warp *w, const sim_use *use, const field_product *p)
{
    const sim_operand *r = &use->result;
    for (int e = 0; e < r->count; e++)
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            sim_field f = p->sum[sim_mma_c_row(e, (int)lane)][sim_mma_c_column(e, (int)lane)];
            double value = sim_value_of(r->type, sim_element(w, r, e, lane));
            sim_field_element_set(w, r, e, lane, sim_field_settle(f, value));
        }
}

static sim_step run_mma(sim_warp *w, const sim_use *use)
{
    if (!full_warp(w, use))
        return SIM_NEXT;
    sim_mma_shape s = shape_of(use);
    const sim_operand *a = &use->operands[use->bound[0]], *b = &use->operands[use->bound[1]];
    const sim_operand *c = &use->operands[use->bound[2]], *r = &use->result;
    field_product fields;
    if (w->field) {
        gather_fields(w, use, &s, &fields);
        multiply_fields(&s, &fields);
    }
    if (sim_poison_of(w, a) | sim_poison_of(w, b) | sim_poison_of(w, c))
        spread_poison(w, use, &s);
    else
        for (int e = 0; e < r->count; e++)
            w->poison[r->cell + (uint32_t)e] = 0;
    sim_mma_best()(&s, sim_u32(w, a->cell), sim_u32(w, b->cell), sim_u32(w, c->cell), sim_u32(w, r->cell));
    if (w->field && r->type != DT_I32)
        scatter_fields(w, use, &fields);
    else if (w->field)
        sim_fields_drop(w, r->cell, r->count, UINT32_MAX);
    return SIM_NEXT;
}

// ---- f64 ---------------------------------------------------------------------------------------------------------
//
// 8 × 4 by 4 × 8: each step of the sum is one fma, along k.

static sim_step run_mma_f64(sim_warp *w, const sim_use *use)
{
    if (!full_warp(w, use))
        return SIM_NEXT;
    const sim_operand *a = &use->operands[use->bound[0]], *b = &use->operands[use->bound[1]];
    const sim_operand *c = &use->operands[use->bound[2]], *r = &use->result;
    sim_mma_shape s = {.m = 8, .k = 4, .per_register = 1};
    double left[SIM_LANES], right[SIM_LANES], sum[2][SIM_LANES];
    sim_field fields[2][SIM_LANES];
    memcpy(left, sim_f64(w, a->cell), sizeof left);
    memcpy(right, sim_f64(w, b->cell), sizeof right);
    for (int e = 0; e < 2; e++)
        for (int lane = 0; lane < SIM_LANES; lane++) {
            int row = sim_mma_c_row(e, lane), column = sim_mma_c_column(e, lane);
            double t = sim_f64(w, sim_element_cell(c, e))[lane];
            sim_field f = w->field ? sim_field_element(w, c, e, (uint32_t)lane) : SIM_FIELD_NOTHING;
            for (int k = 0; k < 4; k++) {
                t = fma(left[row * 4 + k], right[column * 4 + k], t);
                if (w->field)
                    f = sim_field_fma(sim_field_element(w, a, 0, (uint32_t)(row * 4 + k)),
                                      sim_field_element(w, b, 0, (uint32_t)(column * 4 + k)), f);
            }
            sum[e][lane] = t;
            fields[e][lane] = f;
        }
    spread_poison(w, use, &s);
    for (int e = 0; e < 2; e++) {
        memcpy(sim_f64(w, sim_element_cell(r, e)), sum[e], sizeof sum[e]);
        for (uint32_t lane = 0; w->field && lane < SIM_LANES; lane++)
            sim_field_element_set(w, r, e, lane, sim_field_settle(fields[e][lane], sum[e][lane]));
    }
    return SIM_NEXT;
}

static bool bind_mma_f64(sim_use *use)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        const sim_operand *o = sim_operand_named(use, names[i]);
        if (!o)
            return false;
        use->bound[i] = o - use->operands;
    }
    return true;
}

// ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------------
//
// A lane's register of matrix i holds 32 bits of row lane / 4, from byte 4 · (lane % 4) on; transposed, two elements of
// 16 bits of column lane / 4, from rows 2 · (lane % 4) and the next.

// bound[0]: operand row; bound[1]: operand x (stmatrix); bound[2]: matrices; bound[3]: whether they are transposed.
static bool bind_rows(sim_use *use)
{
    const sim_operand *row = sim_operand_named(use, "row"), *x = sim_operand_named(use, "x");
    const sim_operand *fragment = x ? x : &use->result;
    const char *count = sim_argument(use->intrin, "num");
    if (!row || !count)
        return false;
    use->bound[0] = row - use->operands;
    use->bound[1] = x ? x - use->operands : -1;
    use->bound[2] = strtol(count, NULL, 10);
    use->bound[3] = sim_opcode_has(use->intrin, "trans");
    return sim_operand_bytes(fragment) <= 4 && fragment->count * sim_operand_bytes(fragment) == use->bound[2] * 4;
}

// Where byte [i] of a lane's register of a matrix stands: the lane that points at the row, and the byte in the row.
static void position_of(bool transposed, int matrix, int lane, int i, int *row, int *byte)
{
    *row = matrix * 8 + (transposed ? lane % 4 * 2 + i / 2 : lane / 4);
    *byte = transposed ? lane / 4 * 2 + i % 2 : lane % 4 * 4 + i;
}

// The lanes whose addresses count.
static uint32_t row_lanes(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = use->bound[2] == 4 ? UINT32_MAX : ((uint32_t)1 << (8 * use->bound[2])) - 1;
    return sim_require_defined(w, use->site, use->operands[use->bound[0]].cell, lanes, "the address of a row");
}

static void rows_to_fragment(sim_warp *w, const sim_use *use, uint8_t (*rows)[16], const uint16_t *unwritten)
{
    const sim_operand *r = &use->result;
    int bytes = sim_operand_bytes(r), per = 4 / bytes;
    for (int e = 0; e < r->count; e++) {
        uint32_t poison = 0;
        for (int lane = 0; lane < SIM_LANES; lane++) {
            int row, byte;
            uint64_t bits = 0;
            position_of(use->bound[3], e / per, lane, e % per * bytes, &row, &byte);
            if (bytes == 2) {
                uint16_t half;
                memcpy(&half, &rows[row][byte], sizeof half);
                bits = half;
                poison |= (uint32_t)((unwritten[row] >> byte & 3) != 0) << lane;
            } else {
                for (int i = 0; i < bytes; i++) {
                    position_of(use->bound[3], e / per, lane, e % per * bytes + i, &row, &byte);
                    bits |= (uint64_t)rows[row][byte] << (8 * i);
                    poison |= (uint32_t)(unwritten[row] >> byte & 1) << lane;
                }
            }
            sim_element_set(w, r, e, (uint32_t)lane, bits);
        }
        sim_poison_set(w, sim_element_cell(r, e), UINT32_MAX, poison, use->site);
    }
}

// Field values of the elements, which stand at the bytes they begin at.
static void move_fields(sim_warp *w, const sim_use *use, const sim_operand *fragment, uint32_t lanes, bool to_memory)
{
    const uint64_t *address = sim_u64(w, use->operands[use->bound[0]].cell);
    sim_field *rows[SIM_LANES] = {NULL};
    int bytes = sim_operand_bytes(fragment), per = 4 / bytes;
    SIM_EACH(lane, lanes)
        rows[lane] = sim_memory_field(w, lane, address[lane]);
    for (int e = 0; e < fragment->count; e++)
        for (int lane = 0; lane < SIM_LANES; lane++) {
            int row, byte;
            position_of(use->bound[3], e / per, lane, e % per * bytes, &row, &byte);
            sim_field *parts = sim_field_of(w, sim_element_cell(fragment, e), lane);
            if (!rows[row])
                continue;
            for (int i = 0; to_memory && i < bytes; i++)
                rows[row][byte + i] = i ? SIM_FIELD_NOTHING : parts[0];
            if (!to_memory)
                parts[0] = rows[row][byte];
        }
}

static sim_step run_ldmatrix(sim_warp *w, const sim_use *use)
{
    if (!full_warp(w, use))
        return SIM_NEXT;
    uint8_t rows[SIM_LANES][16] = {{0}};
    uint16_t unwritten[SIM_LANES] = {0};
    uint32_t lanes = row_lanes(w, use);
    uint64_t address[SIM_LANES];
    memcpy(address, sim_u64(w, use->operands[use->bound[0]].cell), sizeof address);
    sim_load_bytes(w, use->site, lanes, address, 16, rows, unwritten);
    rows_to_fragment(w, use, rows, unwritten);
    if (w->field) {
        sim_fields_drop(w, use->result.cell, use->result.count, UINT32_MAX);
        move_fields(w, use, &use->result, lanes, false);
    }
    return SIM_NEXT;
}

static sim_step run_stmatrix(sim_warp *w, const sim_use *use)
{
    if (!full_warp(w, use))
        return SIM_NEXT;
    uint8_t rows[SIM_LANES][16] = {{0}};
    uint16_t poisoned[SIM_LANES] = {0};
    const sim_operand *x = &use->operands[use->bound[1]];
    int bytes = sim_operand_bytes(x), per = 4 / bytes;
    for (int e = 0; e < x->count; e++)
        for (int lane = 0; lane < SIM_LANES; lane++) {
            uint64_t bits = sim_element(w, x, e, (uint32_t)lane);
            uint32_t is_bad = w->poison[sim_element_cell(x, e)] >> lane & 1;
            for (int i = 0; i < bytes; i++) {
                int row, byte;
                position_of(use->bound[3], e / per, lane, e % per * bytes + i, &row, &byte);
                rows[row][byte] = (uint8_t)(bits >> (8 * i));
                poisoned[row] |= (uint16_t)(is_bad << byte);
            }
        }
    uint32_t lanes = row_lanes(w, use);
    sim_store_bytes(w, use->site, lanes, sim_u64(w, use->operands[use->bound[0]].cell), 16, (const uint8_t(*)[16])rows,
                    poisoned);
    if (w->field)
        move_fields(w, use, x, lanes, true);
    return SIM_NEXT;
}

#define MMA(name)                                                                                                      \
    {                                                                                                                  \
        name, run_mma, bind_mma, false                                                                                 \
    }

const sim_model sim_models_matrix[] = {
    MMA("mma_m16n8k16"),
    MMA("mma_m16n8k8"),
    MMA("mma_m16n8k8_tf32"),
    MMA("mma_m16n8k4_tf32"),
    MMA("mma_m16n8k32_i8"),
    MMA("mma_m16n8k16_i8"),
    MMA("mma_m8n8k16_i8"),
    MMA("mma_m16n8k32_fp8"),
    {"mma_m8n8k4_f64", run_mma_f64, bind_mma_f64, false},
    {"ldmatrix_rows", run_ldmatrix, bind_rows, false},
    {"stmatrix_rows", run_stmatrix, bind_rows, false},
    {NULL, NULL, NULL, false},
};
