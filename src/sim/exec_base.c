// The executor for any x86-64, or any other machine.
#define SIM_EXECUTE sim_execute_base
#include "sim/exec.inc"
