// mma for machines with AVX2 and F16C; the build gives this file the flags.
#define SIM_MULTIPLY sim_mma_avx2
#define SIM_LOAD_PANEL sim_mma_load_avx2
#define SIM_MULTIPLY_WIDE sim_mma_wide_avx2
#include "sim/models/matrix.inc"
