// Scalar types: widths, kinds, promotion, and bit-exact conversions of the narrow floats.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum dtype {
    DT_NONE,
#define DTYPE(id, name, long_name, kind, bits, exponent, mantissa, cuda) DT_##id,
#include "../../lang/dtypes.def"
#undef DTYPE
    DT__COUNT
} dtype;

typedef enum dt_kind { DT_KIND_NONE, DT_KIND_BOOL, DT_KIND_SINT, DT_KIND_UINT, DT_KIND_FLOAT, DT_KIND_COMPLEX } dt_kind;

// The rows of lang/dtypes.def.
typedef struct dt_row {
    const char *name, *long_name, *cuda;
    dt_kind kind;
    int bits, exponent, mantissa;
} dt_row;
extern const dt_row dt_rows[DT__COUNT];

static inline const char *dt_name(dtype t) { return dt_rows[t].name; }            // "f16"
static inline const char *dt_long_name(dtype t) { return dt_rows[t].long_name; }  // "float16"
static inline const char *dt_cuda_name(dtype t) { return dt_rows[t].cuda; }       // "" for sub-byte types
bool dt_find(str name, dtype *out); // by either name
static inline dt_kind dt_kind_of(dtype t) { return dt_rows[t].kind; }
static inline int dt_bits(dtype t) { return dt_rows[t].bits; }
static inline int dt_exponent_bits(dtype t) { return dt_rows[t].exponent; }
static inline int dt_mantissa_bits(dtype t) { return dt_rows[t].mantissa; }
static inline bool dt_is_int(dtype t) { return dt_kind_of(t) == DT_KIND_SINT || dt_kind_of(t) == DT_KIND_UINT; }
static inline bool dt_is_float(dtype t) { return dt_kind_of(t) == DT_KIND_FLOAT; }
static inline bool dt_is_signed(dtype t) { return dt_kind_of(t) == DT_KIND_SINT; }
static inline bool dt_is_subbyte(dtype t) { return dt_bits(t) < 8; }

// Range of an integer type. u64's maximum is returned as the bits of UINT64_MAX in dt_max_bits.
int64_t dt_min(dtype t);
uint64_t dt_max_bits(dtype t);
// Whether the integer [value] (signed 64-bit) can be held by integer type [t].
bool dt_holds_int(dtype t, int64_t value);
// Whether float type [t] holds [value] exactly; for integers types, whether it is such an integer.
bool dt_holds_double(dtype t, double value);

// The type that both operands of an arithmetic operator convert to; DT_NONE where none exists (see lang/reference.md,
// "Numeric promotion": symmetric; floats beat integers; u64 mixes with no signed type; fp8 mixes with nothing).
dtype dt_promote(dtype a, dtype b);
// Whether every value of [from] is a value of [to].
bool dt_converts_exactly(dtype from, dtype to);

// Rounds [value] to [t] (round to nearest even; f8e4m3 and f8e5m2 saturate to the largest finite value as
// cvt.rn.satfinite does, others overflow to infinity) and gives the bits in the low end.
uint64_t dt_from_double(dtype t, double value);
double dt_to_double(dtype t, uint64_t bits);
// Keeps the low bits of an integer as [t] would store them, sign-extended for signed types.
int64_t dt_wrap_int(dtype t, int64_t value);
