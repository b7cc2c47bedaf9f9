#include "driver/options.h"

#include "pipeline/unit.h"

static void set_level(struct argp_state *state, const char **to, const char *name)
{
    if (!pl_level_find(name))
        argp_error(state, "unknown level '%s'; expected hir, low or a pass, such as lower-guards", name);
    *to = name;
}

error_t cmd_take_running(int key, char *arg, struct argp_state *state, const cmd_running *to)
{
    switch (key) {
    case CMD_KEY_SEED:
        *to->seed = (uint64_t)cmd_number(state, "--seed", arg, 0);
        break;
    case CMD_KEY_BUDGET:
        *to->budget = cmd_number(state, "--budget", arg, 1);
        break;
    case CMD_KEY_GPU_TIMEOUT:
        *to->gpu_seconds = cmd_number(state, "--gpu-timeout", arg, 1);
        break;
    case CMD_KEY_TRAP_NAN:
        *to->trap_nan = true;
        break;
    case CMD_KEY_CONTRACT:
        *to->contract = true;
        break;
    case CMD_KEY_LEVEL:
        set_level(state, to->level, arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

error_t cmd_take_measuring(int key, char *arg, struct argp_state *state, ms_options *to)
{
    static const char *const methods[] = {"rotate", "flush", NULL};
    switch (key) {
    case CMD_KEY_METHOD:
        to->method = (ms_method)cmd_choose(state, "--method", arg, methods);
        break;
    case CMD_KEY_MIN_TIME:
        to->min_seconds = cmd_non_negative(state, "--min-time", arg);
        break;
    case CMD_KEY_WARM_UP:
        to->warm_up_seconds = cmd_non_negative(state, "--warm-up", arg);
        break;
    case CMD_KEY_SAMPLES:
        to->samples = cmd_count(state, "--samples", arg, 1);
        break;
    case CMD_KEY_GPU_TIMEOUT:
        to->gpu_seconds = cmd_number(state, "--gpu-timeout", arg, 1);
        break;
    case CMD_KEY_GRAPH:
        to->graph = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}
