// mma for any machine.
#define SIM_MULTIPLY sim_mma_base
#define SIM_LOAD_PANEL sim_mma_load_base
#define SIM_MULTIPLY_WIDE sim_mma_wide_base
#include "sim/models/matrix.inc"

sim_mma_kernel *sim_mma_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        return sim_mma_avx2;
#endif
    return sim_mma_base;
}

sim_mma_wide sim_mma_wide_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        return (sim_mma_wide){sim_mma_load_avx2, sim_mma_wide_avx2};
#endif
    return (sim_mma_wide){sim_mma_load_base, sim_mma_wide_base};
}
