// Launches of a host function: recorded while it runs on the simulator, replayed on the GPU.

#include <string.h>

#include "device/cuda_priv.h"
#include "sim/memory.h"

typedef struct recorded_launch {
    dev_cuda_recorded shown;
    dev_cuda_launch launch;
    const uint64_t *args;  // with simulated addresses
} recorded_launch;

struct dev_cuda_recording {
    dev_cuda_session *session;
    const sim_program *program;
    VEC(recorded_launch) launches;
    VEC(dev_cuda_recorded) shown;
    VEC(dev_cuda_memory) memory;
    VEC(dev_cuda_call *) sets;  // of each, as many calls as there are launches
};

// ---- recording -----------------------------------------------------------------------------------------------------

static bool points_to_memory(const ir_var *v, uint64_t value)
{
    return (v->type->kind == IR_TENSOR || v->type->kind == IR_POINTER) && (value & SIM_TAG_MASK) == SIM_TAG_GLOBAL;
}

static int find_memory(const dev_cuda_recording *r, uint64_t base)
{
    for (size_t i = 0; i < r->memory.len; i++) {
        if (r->memory.at[i].base == base)
            return (int)i;
    }
    return -1;
}

static void record_memory(dev_cuda_recording *r, sim *s, const ir_var *v, uint64_t address)
{
    int64_t size = 0;
    uint64_t base = address & ~SIM_OFFSET_MASK;
    int number = (int)r->launches.len, known = points_to_memory(v, address) ? find_memory(r, base) : -1;
    if (known >= 0)
        r->memory.at[known].last = number;
    if (known >= 0 || !points_to_memory(v, address) || !sim_bytes(s, base, &size))
        return;
    dev_cuda_memory m = {.base = base, .bytes = size, .name = v->name ? v->name : "a parameter", .first = number, .last = number};
    VEC_PUSH(r->session->arena, &r->memory, m);
}

// The simulator's maps live as long as its launch.
static const sim_tensor_map *keep_maps(dev_cuda_recording *r, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args,
                                       int count)
{
    return kernel->maps.len ? sim_maps_of(s, p, kernel, args, count, r->session->arena) : NULL;
}

static bool record_launch(void *user, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count)
{
    dev_cuda_recording *r = ((dev_cuda_session *)user)->recording;
    arena *a = r->session->arena;
    uint64_t *kept = ARENA_ARRAY(a, uint64_t, (size_t)count + 1);
    memcpy(kept, args, (size_t)count * sizeof *kept);
    recorded_launch added = {.launch = {.kernel = kernel, .shape = sim_shape_of(s, p, kernel, args, count), .count = count}, .args = kept};
    added.launch.maps = keep_maps(r, s, p, kernel, kept, count);
    for (int i = 0; i < count; i++)
        record_memory(r, s, kernel->params.at[i], args[i]);
    VEC_PUSH(a, &r->launches, added);
    VEC_PUSH(a, &r->shown, ((dev_cuda_recorded){.kernel = kernel, .shape = added.launch.shape}));
    r->program = p;
    return true;
}

dev_cuda_recording *dev_cuda_record(dev_cuda *gpu, arena *a, diag_context *diags)
{
    dev_cuda_recording *r = ARENA_NEW(a, dev_cuda_recording);
    *r = (dev_cuda_recording){.session = ARENA_NEW(a, dev_cuda_session)};
    *r->session = (dev_cuda_session){.gpu = gpu, .arena = a, .diags = diags, .recording = r};
    r->session->device = (sim_device){.user = r->session, .launch = record_launch};
    return r;
}

const sim_device *dev_cuda_recording_device(dev_cuda_recording *r)
{
    return &r->session->device;
}

const dev_cuda_recorded *dev_cuda_recording_launches(const dev_cuda_recording *r, int *count)
{
    *count = (int)r->shown.len;
    return r->shown.at;
}

const dev_cuda_memory *dev_cuda_recording_memory(const dev_cuda_recording *r, int *count)
{
    *count = (int)r->memory.len;
    return r->memory.at;
}

// ---- loading ----------------------------------------------------------------------------------------------------

static bool find_function(dev_cuda_recording *r, const dev_cuda_image *image, size_t at)
{
    dev_cuda_launch *l = &r->launches.at[at].launch;
    l->info = dev_cuda_info_of(image, l->kernel);
    if (!l->info || !dev_cuda_check(r->session, "finding the kernel",
                                    r->session->gpu->cuda->module_function(&l->function, image->module, l->info->symbol)))
        return false;
    dev_cuda_recorded *shown = &r->shown.at[at];
    shown->symbol = l->info->symbol;
    shown->function = l->function;
    shown->shape.dynamic_smem_bytes = l->shape.dynamic_smem_bytes + l->info->dynamic_smem_bytes;
    return true;
}

// Of the recorded kernels; NULL after reporting.
static dev_cuda_image *compile(dev_cuda_recording *r)
{
    dev_cuda_names names = {0};
    for (size_t i = 0; i < r->launches.len; i++)
        VEC_PUSH(r->session->arena, &names, r->launches.at[i].launch.kernel->name);
    return dev_cuda_image_of(r->session, r->program, &names);
}

bool dev_cuda_recording_compile(dev_cuda_recording *r)
{
    return !r->launches.len || compile(r);
}

bool dev_cuda_recording_load(dev_cuda_recording *r)
{
    if (!r->launches.len)
        return true;
    dev_cuda_image *image = compile(r);
    bool ok = image && dev_cuda_check(r->session, "using the GPU", r->session->gpu->cuda->context_set(r->session->gpu->context)) &&
              dev_cuda_load(r->session, image);
    for (size_t i = 0; ok && i < r->launches.len; i++)
        ok = find_function(r, image, i);
    return ok;
}

bool dev_cuda_recording_was_cached(const dev_cuda_recording *r)
{
    const dev_cuda_session *s = r->session;
    return s->images.len && s->images.at[0].unit && s->images.at[0].unit->is_from_cache;
}

void dev_cuda_recording_free(dev_cuda_recording *r)
{
    dev_cuda_free_images(r->session);
}

// ---- repeating --------------------------------------------------------------------------------------------------

static uint64_t *translate(const dev_cuda_recording *r, const recorded_launch *from, const uint64_t *addresses)
{
    const dev_cuda_launch *l = &from->launch;
    uint64_t *values = ARENA_ARRAY(r->session->arena, uint64_t, (size_t)l->count + 1);
    for (int i = 0; i < l->count; i++) {
        uint64_t value = from->args[i];
        int at = points_to_memory(l->kernel->params.at[i], value) ? find_memory(r, value & ~SIM_OFFSET_MASK) : -1;
        values[i] = at >= 0 ? addresses[at] + (value & SIM_OFFSET_MASK) : value;
    }
    return values;
}

int dev_cuda_recording_bind(dev_cuda_recording *r, const uint64_t *addresses)
{
    dev_cuda_call *calls = ARENA_ARRAY(r->session->arena, dev_cuda_call, r->launches.len + 1);
    for (size_t i = 0; i < r->launches.len; i++) {
        const recorded_launch *from = &r->launches.at[i];
        if (!dev_cuda_prepare(r->session, &from->launch, translate(r, from, addresses), &calls[i]))
            return -1;
    }
    VEC_PUSH(r->session->arena, &r->sets, calls);
    return (int)r->sets.len - 1;
}

bool dev_cuda_recording_replay_at(dev_cuda_recording *r, int set, int launch, void *stream)
{
    return dev_cuda_start(r->session, &r->sets.at[set][launch], stream);
}

bool dev_cuda_recording_replay(dev_cuda_recording *r, int set, void *stream)
{
    for (size_t i = 0; i < r->launches.len; i++) {
        if (!dev_cuda_start(r->session, &r->sets.at[set][i], stream))
            return false;
    }
    return true;
}
