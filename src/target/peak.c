#include "target/peak.h"

#include <string.h>

typedef struct peak {
    const char *name;
    int f64, f32, tf32, f16, f8, i8, i4;
} peak;

static const peak table[] = {
#define PEAK(name, f64, f32, tf32, f16, f8, i8, i4) {name, f64, f32, tf32, f16, f8, i8, i4},
#include "target/peak.def"
#undef PEAK
};

// "sm_90" is the row of "sm_90a", too.
static const peak *row_of(const arch *a)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const arch *named = arch_find(str_of(table[i].name));
        if (named && named->major == a->major && named->minor == a->minor)
            return &table[i];
    }
    return NULL;
}

int arch_peak_ops(const arch *a, dtype t)
{
    const peak *p = row_of(a);
    if (!p)
        return 0;
    switch (t) {
    case DT_F64: return p->f64;
    case DT_F32: return p->f32;
    case DT_TF32: return p->tf32;
    case DT_F16:
    case DT_BF16: return p->f16;
    case DT_F8E4M3:
    case DT_F8E5M2: return p->f8;
    case DT_I8:
    case DT_U8: return p->i8;
    case DT_I4:
    case DT_U4: return p->i4;
    default: return 0;
    }
}
