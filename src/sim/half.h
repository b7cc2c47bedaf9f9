// f16 and bf16 as bits in cells, to f32 and back, for inner loops; bit-exact with dt_to_double and dt_from_double but for
// NaNs, which come out quiet.
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

static inline float sim_float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t sim_bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

#ifdef __F16C__
static inline float sim_from_f16(uint32_t h) { return _cvtsh_ss((unsigned short)h); }
static inline uint32_t sim_to_f16(float f) { return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT); }
#else
static inline float sim_from_f16(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    // Scaled by 2^112 the exponent is right, also of subnormals; infinities and NaNs get the largest exponent.
    float f = sim_float_of(rest << 13) * 0x1p112f;
    uint32_t bits = sim_bits_of(f) | (rest >= 0x7c00u ? 0x7f800000u : 0) | (rest > 0x7c00u ? 0x00400000u : 0);
    return sim_float_of(bits | sign);
}

static inline uint32_t sim_to_f16(float f)
{
    uint32_t bits = sim_bits_of(f), sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return sign | 0x7e00u | (bits >> 13 & 0x3ffu);
    if (bits >= 0x477ff000u)  // rounds to 65536 or above
        return sign | 0x7c00u;
    if (bits < 0x38800000u) {  // below 2^-14: subnormal; the addition rounds to a multiple of 2^-24
        float r = sim_float_of(bits) + 0.5f;
        return sign | (sim_bits_of(r) - 0x3f000000u);
    }
    uint32_t odd = bits >> 13 & 1;
    return sign | ((bits + 0xfffu + odd - 0x38000000u) >> 13);
}
#endif

static inline float sim_from_bf16(uint32_t h) { return sim_float_of(h << 16); }
static inline uint32_t sim_to_bf16(float f)
{
    uint32_t bits = sim_bits_of(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffu;
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
