#include "target/gpu.h"

static const gpu_model table[] = {
#define GPU(name, arch, sms, l2, gbps) {name, arch, sms, INT64_C(l2) << 20, gbps},
#include "target/gpu.def"
#undef GPU
};

enum { GPU_COUNT = sizeof table / sizeof *table };

const gpu_model *gpu_at(int index)
{
    return index >= 0 && index < GPU_COUNT ? &table[index] : NULL;
}

const gpu_model *gpu_find(str name)
{
    for (int i = 0; i < GPU_COUNT; i++) {
        if (str_equal(name, str_of(table[i].name)))
            return &table[i];
    }
    return NULL;
}

static int capability_of(const gpu_model *g)
{
    const arch *a = arch_find(str_of(g->arch));
    return a->major * 10 + a->minor;
}

const gpu_model *gpu_of_arch(const arch *a)
{
    const gpu_model *best = &table[0];
    for (int i = 1; i < GPU_COUNT; i++) {
        int capability = capability_of(&table[i]);
        if (capability <= a->major * 10 + a->minor && capability > capability_of(best))
            best = &table[i];
    }
    return best;
}
