// The bits of a descriptor, and the atoms that it speaks of: 8 rows of 16 bytes without swizzle, of 32, 64 or 128 bytes
// with one. The canonical layouts are those that CUTLASS lists for sm_90 (include/cute/arch/mma_sm90_desc.hpp).
#include "sim/models/descriptor.h"

#include "sim/models/models_priv.h"

#define ADDRESS_BITS ((uint64_t)0x3fff)
// Bits that have no meaning: 14, 15; 30, 31; 46 … 48; 52 … 61.
#define UNUSED_BITS ((uint64_t)0x3ff1c000c000c000)

enum { VECTOR = 16 };

static uint32_t field_at(uint64_t bits, int at)
{
    return (uint32_t)(bits >> at & ADDRESS_BITS) * VECTOR;
}

static uint32_t pattern_of(const sim_matrix *m)
{
    return 8 * (uint32_t)m->swizzle;
}

// Rows of a pattern are permuted by their number in it: an operand begins in the first one, and has room there.
static const char *check_start(const sim_warp *w, const sim_matrix *m)
{
    uint32_t at = (m->start - ((uint32_t)m->phase << 7)) & (pattern_of(m) - 1), row = (uint32_t)m->swizzle;
    uint32_t wants = m->is_mn_major ? (uint32_t)m->rows * 2 : 32;
    wants = wants < row ? wants : row;
    if (at >= row)
        return sim_say(w, "begins at byte %u of shared memory, in row %u of a swizzle pattern of 8 rows of %u bytes",
                       m->start, at / row, row);
    if (at + wants > row)
        return sim_say(
            w,
            "begins at byte %u of shared memory, with %u bytes left in a row of the swizzle pattern that has to"
            " hold %u",
            m->start, row - at, wants);
    return NULL;
}

static const char *check_step(const sim_warp *w, const sim_matrix *m, const char *name, uint32_t step)
{
    if (!step)
        return sim_say(w, "has a %s offset of 0 between different rows", name);
    if (m->swizzle && step % pattern_of(m))
        return sim_say(w, "has a %s offset of %u bytes, no multiple of the %u of a swizzle pattern", name, step,
                       pattern_of(m));
    return NULL;
}

static bool has_several_atoms(const sim_matrix *m)
{
    return m->rows * 2 > (m->swizzle ? m->swizzle : VECTOR);
}

static const char *check_steps(const sim_warp *w, const sim_matrix *m)
{
    bool uses_stride = m->rows > 8, uses_leading = !m->swizzle;
    if (m->is_mn_major) {
        uses_stride = m->swizzle || has_several_atoms(m);
        uses_leading = !m->swizzle || has_several_atoms(m);
    }
    const char *wrong = uses_stride ? check_step(w, m, "stride", m->stride) : NULL;
    return wrong || !uses_leading ? wrong : check_step(w, m, "leading", m->leading);
}

const char *sim_matrix_decode(const sim_warp *w, uint64_t bits, int rows, bool is_mn_major, sim_matrix *out)
{
    static const int swizzles[] = {0, 128, 64, 32};
    *out = (sim_matrix){.start = field_at(bits, 0),
                        .leading = field_at(bits, 16),
                        .stride = field_at(bits, 32),
                        .swizzle = swizzles[bits >> 62],
                        .phase = (int)(bits >> 49 & 7),
                        .rows = rows,
                        .is_mn_major = is_mn_major};
    if (bits & UNUSED_BITS)
        return sim_say(w, "has bits that mean nothing: 0x%016llx of 0x%016llx",
                       (unsigned long long)(bits & UNUSED_BITS), (unsigned long long)bits);
    const char *wrong = out->swizzle ? check_start(w, out) : NULL;
    return wrong ? wrong : check_steps(w, out);
}

// Exchanges bits 4 … 6 of an address with 7 … 9, as copies by tensor map do (Note [swizzle] in tma.c).
static uint32_t swizzled(const sim_matrix *m, uint32_t address)
{
    uint32_t mask = m->swizzle ? (uint32_t)m->swizzle - VECTOR : 0;
    return address ^ ((address - ((uint32_t)m->phase << 7)) >> 3 & mask);
}

static uint32_t along_k(const sim_matrix *m, uint32_t row, uint32_t half)
{
    uint32_t pitch = m->swizzle ? (uint32_t)m->swizzle : VECTOR, right = m->swizzle ? VECTOR : m->leading;
    return m->start + row % 8 * pitch + row / 8 * m->stride + half * right;
}

static uint32_t across(const sim_matrix *m, uint32_t k, uint32_t vector)
{
    if (!m->swizzle)
        return m->start + k % 8 * VECTOR + k / 8 * m->leading + vector * m->stride;
    uint32_t wide = (uint32_t)m->swizzle / VECTOR;
    return m->start + vector % wide * VECTOR + vector / wide * m->leading + k % 8 * (uint32_t)m->swizzle +
           k / 8 * m->stride;
}

uint32_t sim_matrix_vector(const sim_matrix *m, int vector)
{
    uint32_t i = (uint32_t)vector, a_k = (uint32_t)m->rows / 8;
    return swizzled(m, m->is_mn_major ? across(m, i / a_k, i % a_k) : along_k(m, i / 16 * 8 + i % 8, i / 8 % 2));
}
