// Operands of wgmma: descriptors to bytes, with the checks of their visibility.
//
// See Note [reading warps]
#include "sim/bulk.h"
#include "sim/models/wgmma.h"

// The value that all threads of the warpgroup give; false after a finding.
static bool common_value(const sim_wgmma_work *x, int operand, uint64_t *value)
{
    const sim_operand *o = &x->use->operands[operand];
    for (int i = 0; i < SIM_GROUP_WARPS; i++) {
        sim_warp *w = sim_wgmma_warp(x, i);
        if (sim_require_defined(w, x->use->site, o->cell, UINT32_MAX, "an operand of wgmma") != UINT32_MAX)
            return false;
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            uint64_t mine = sim_element(w, o, 0, lane);
            if (!i && !lane)
                *value = mine;
            if (mine == *value)
                continue;
            sim_find_at(w, lane, x->use->site, HDS0615, x->use->intrin->name,
                        sim_say(w, "threads of the warpgroup pass different values for '%s'", o->name), NULL,
                        "operands other than registers are the same in all threads of a warpgroup");
            return false;
        }
    }
    return true;
}

static bool decode(const sim_wgmma_work *x, int operand, int rows, bool is_mn_major, sim_matrix *out)
{
    uint64_t bits = 0;
    if (!common_value(x, operand, &bits))
        return false;
    sim_warp *w = sim_wgmma_warp(x, 0);
    const char *wrong = sim_matrix_decode(w, bits, rows, is_mn_major, out);
    if (wrong)
        sim_find_at(
            w, 0, x->use->site, HDS0628, x->use->operands[operand].name, wrong, NULL,
            "build descriptors from the tensor's own layout; it begins at a multiple of 1024 bytes with a swizzle");
    return !wrong;
}

// Stores a vector at its position in the operand.
static void scatter_vector(const sim_matrix *m, int vector, const uint8_t *bytes, uint16_t unwritten, uint8_t (*rows)[32],
                        uint64_t *bad)
{
    if (!m->is_mn_major) {
        int row = vector / 16 * 8 + vector % 8;
        memcpy(rows[row] + vector / 8 % 2 * 16, bytes, 16);
        if (unwritten)
            bad[row / 64] |= (uint64_t)1 << row % 64;
        return;
    }
    int k = vector / (m->rows / 8), first = vector % (m->rows / 8) * 8;
    for (int i = 0; i < 8; i++) {
        memcpy(rows[first + i] + 2 * k, bytes + 2 * i, 2);
        if (unwritten >> (2 * i) & 3)
            bad[(first + i) / 64] |= (uint64_t)1 << (first + i) % 64;
    }
}

static void scatter_fields(const sim_matrix *m, int vector, const sim_field *from, sim_field *fields)
{
    if (!m->is_mn_major) {
        memcpy(fields + (vector / 16 * 8 + vector % 8) * 32 + vector / 8 % 2 * 16, from, 16 * sizeof *fields);
        return;
    }
    int k = vector / (m->rows / 8), first = vector % (m->rows / 8) * 8;
    for (int i = 0; i < 8; i++)
        fields[(first + i) * 32 + 2 * k] = from[2 * i];
}

// The warp that checks a vector of a: the warp of its rows.
static int looker(const sim_matrix *m, bool is_a, int vector)
{
    if (!is_a)
        return vector / SIM_LANES % SIM_GROUP_WARPS;
    return m->is_mn_major ? vector % 8 / 2 : vector / SIM_LANES;
}

// Vectors [of] a warp looks at, no more than it has lanes.
static void read_some(sim_wgmma_work *x, sim_warp *w, const sim_matrix *m, const int *of, int count,
                      uint8_t (*rows)[32], uint64_t *bad, sim_field *fields, sim_flight *f)
{
    uint64_t address[SIM_LANES] = {0};
    uint8_t bytes[SIM_LANES][16];
    uint16_t unwritten[SIM_LANES];
    uint32_t lanes = count == SIM_LANES ? UINT32_MAX : (1u << count) - 1, site = x->use->site;
    for (int l = 0; l < count; l++) {
        uint32_t offset = sim_matrix_vector(m, of[l]);
        address[l] = SIM_TAG_SHARED | offset;
        f->vectors[f->vector_count++] = offset >> 4;
    }
    sim_look_bytes(w, site, lanes, address, bytes, unwritten);
    for (int l = 0; l < count; l++) {
        sim_bulk_check_fences(w, site, (uint32_t)l, address[l], 16, "wgmma");
        scatter_vector(m, of[l], bytes[l], unwritten[l], rows, bad);
        const sim_field *from = fields ? sim_memory_field(w, 0, address[l]) : NULL;
        if (from)
            scatter_fields(m, of[l], from, fields);
    }
}

static void read_matrix(sim_wgmma_work *x, const sim_matrix *m, bool is_a, uint8_t (*rows)[32], uint64_t *bad,
                        sim_field *fields, sim_flight *f)
{
    for (int i = 0; i < SIM_GROUP_WARPS; i++) {
        int mine[SIM_LANES], count = 0;
        for (int vector = 0; vector < sim_matrix_vectors(m); vector++) {
            if (looker(m, is_a, vector) != i)
                continue;
            mine[count++] = vector;
            if (count == SIM_LANES) {
                read_some(x, sim_wgmma_warp(x, i), m, mine, count, rows, bad, fields, f);
                count = 0;
            }
        }
        if (count)
            read_some(x, sim_wgmma_warp(x, i), m, mine, count, rows, bad, fields, f);
    }
}

bool sim_wgmma_read(sim_wgmma_work *x, sim_flight *f)
{
    const sim_use *use = x->use;
    uint64_t accumulates = 0, bad[WGMMA_MOST_COLUMNS / 64] = {0};
    if (!common_value(x, (int)use->bound[WGMMA_ACCUMULATES], &accumulates))
        return false;
    x->accumulates = accumulates != 0;
    if (!use->bound[WGMMA_A_IN_REGISTERS] &&
        !decode(x, (int)use->bound[WGMMA_A], WGMMA_ROWS, use->bound[WGMMA_MAJOR] & 2, &x->a))
        return false;
    if (!decode(x, (int)use->bound[WGMMA_B], sim_wgmma_columns(use), use->bound[WGMMA_MAJOR] & 1, &x->b))
        return false;
    if (x->fields)
        memset(x->fields, 0xff, sizeof *x->fields);
    x->has_bad_columns = false;
    read_matrix(x, &x->b, false, x->columns, bad, x->fields ? x->fields->columns : NULL, f);
    for (int n = 0; n < sim_wgmma_columns(use); n++) {
        x->bad_columns[n] = bad[n / 64] >> n % 64 & 1;
        x->has_bad_columns |= x->bad_columns[n];
    }
    x->bad_rows = 0;
    if (!use->bound[WGMMA_A_IN_REGISTERS])
        read_matrix(x, &x->a, true, x->rows, &x->bad_rows, x->fields ? x->fields->rows : NULL, f);
    return true;
}

// Note [reading warps]
//
// Each warp checks its own rows of a, and all four warps together check b: a write that one warp does not know of is a
// race, even if the other three know of it. A warp that has written its rows of a itself need not synchronize with the
// others. While the product is in flight, writes to its operands are findings. When the first warp has waited for the
// product, the reads are recorded as that warp's, and the other warps know of them once they have waited. So one thread
// of the warpgroup, after its own wait, can release a tile for all four; before its wait it does not know of the reads.
