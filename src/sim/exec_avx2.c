// The executor for machines with AVX2 and F16C; the build gives this file the flags.
#define SIM_EXECUTE sim_execute_avx2
#include "sim/exec.inc"
