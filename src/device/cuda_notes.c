// Launches of a host function, noted while it runs on the simulator, and repeated on the GPU.

#include <string.h>

#include "device/cuda_priv.h"
#include "sim/memory.h"

typedef struct note {
    dev_cuda_noted shown;
    dev_cuda_launch launch;
    const uint64_t *args;  // with simulated addresses
} note;

struct dev_cuda_notes {
    dev_cuda_session *session;
    const sim_program *program;
    VEC(note) notes;
    VEC(dev_cuda_noted) shown;
    VEC(dev_cuda_memory) memory;
    VEC(dev_cuda_call *) sets;  // of each, as many calls as there are notes
};

// ---- noting -----------------------------------------------------------------------------------------------------

static bool points_to_memory(const ir_var *v, uint64_t value)
{
    return (v->type->kind == IR_TENSOR || v->type->kind == IR_POINTER) && (value & SIM_TAG_MASK) == SIM_TAG_GLOBAL;
}

static int find_memory(const dev_cuda_notes *n, uint64_t base)
{
    for (size_t i = 0; i < n->memory.len; i++) {
        if (n->memory.at[i].base == base)
            return (int)i;
    }
    return -1;
}

static void note_memory(dev_cuda_notes *n, sim *s, const ir_var *v, uint64_t address)
{
    int64_t size = 0;
    uint64_t base = address & ~SIM_OFFSET_MASK;
    int number = (int)n->notes.len, known = points_to_memory(v, address) ? find_memory(n, base) : -1;
    if (known >= 0)
        n->memory.at[known].last = number;
    if (known >= 0 || !points_to_memory(v, address) || !sim_bytes(s, base, &size))
        return;
    dev_cuda_memory m = {.base = base, .bytes = size, .name = v->name ? v->name : "a parameter", .first = number, .last = number};
    VEC_PUSH(n->session->arena, &n->memory, m);
}

// The simulator's maps live as long as its launch.
static const sim_tensor_map *keep_maps(dev_cuda_notes *n, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args,
                                       int count)
{
    return kernel->maps.len ? sim_maps_of(s, p, kernel, args, count, n->session->arena) : NULL;
}

static bool take_note(void *user, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count)
{
    dev_cuda_notes *n = ((dev_cuda_session *)user)->notes;
    arena *a = n->session->arena;
    uint64_t *kept = ARENA_ARRAY(a, uint64_t, (size_t)count + 1);
    memcpy(kept, args, (size_t)count * sizeof *kept);
    note added = {.launch = {.kernel = kernel, .shape = sim_shape_of(s, p, kernel, args, count), .count = count}, .args = kept};
    added.launch.maps = keep_maps(n, s, p, kernel, kept, count);
    for (int i = 0; i < count; i++)
        note_memory(n, s, kernel->params.at[i], args[i]);
    VEC_PUSH(a, &n->notes, added);
    VEC_PUSH(a, &n->shown, ((dev_cuda_noted){.kernel = kernel, .shape = added.launch.shape}));
    n->program = p;
    return true;
}

dev_cuda_notes *dev_cuda_note(dev_cuda *gpu, arena *a, diag_context *diags)
{
    dev_cuda_notes *n = ARENA_NEW(a, dev_cuda_notes);
    *n = (dev_cuda_notes){.session = ARENA_NEW(a, dev_cuda_session)};
    *n->session = (dev_cuda_session){.gpu = gpu, .arena = a, .diags = diags, .notes = n};
    n->session->device = (sim_device){.user = n->session, .launch = take_note};
    return n;
}

const sim_device *dev_cuda_notes_device(dev_cuda_notes *n)
{
    return &n->session->device;
}

const dev_cuda_noted *dev_cuda_notes_launches(const dev_cuda_notes *n, int *count)
{
    *count = (int)n->shown.len;
    return n->shown.at;
}

const dev_cuda_memory *dev_cuda_notes_memory(const dev_cuda_notes *n, int *count)
{
    *count = (int)n->memory.len;
    return n->memory.at;
}

// ---- loading ----------------------------------------------------------------------------------------------------

static bool find_function(dev_cuda_notes *n, const dev_cuda_image *image, size_t at)
{
    dev_cuda_launch *l = &n->notes.at[at].launch;
    l->info = dev_cuda_info_of(image, l->kernel);
    if (!l->info || !dev_cuda_check(n->session, "finding the kernel",
                                    n->session->gpu->cuda->module_function(&l->function, image->module, l->info->symbol)))
        return false;
    dev_cuda_noted *shown = &n->shown.at[at];
    shown->symbol = l->info->symbol;
    shown->function = l->function;
    shown->shape.dynamic_smem_bytes = l->shape.dynamic_smem_bytes + l->info->dynamic_smem_bytes;
    return true;
}

bool dev_cuda_notes_load(dev_cuda_notes *n)
{
    dev_cuda_names names = {0};
    for (size_t i = 0; i < n->notes.len; i++)
        VEC_PUSH(n->session->arena, &names, n->notes.at[i].launch.kernel->name);
    if (!names.len)
        return true;
    dev_cuda_image *image = dev_cuda_image_of(n->session, n->program, &names);
    bool ok = image && dev_cuda_check(n->session, "using the GPU", n->session->gpu->cuda->context_set(n->session->gpu->context)) &&
              dev_cuda_load(n->session, image);
    for (size_t i = 0; ok && i < n->notes.len; i++)
        ok = find_function(n, image, i);
    return ok;
}

void dev_cuda_notes_free(dev_cuda_notes *n)
{
    dev_cuda_free_images(n->session);
}

// ---- repeating --------------------------------------------------------------------------------------------------

static uint64_t *translate(const dev_cuda_notes *n, const note *from, const uint64_t *addresses)
{
    const dev_cuda_launch *l = &from->launch;
    uint64_t *values = ARENA_ARRAY(n->session->arena, uint64_t, (size_t)l->count + 1);
    for (int i = 0; i < l->count; i++) {
        uint64_t value = from->args[i];
        int at = points_to_memory(l->kernel->params.at[i], value) ? find_memory(n, value & ~SIM_OFFSET_MASK) : -1;
        values[i] = at >= 0 ? addresses[at] + (value & SIM_OFFSET_MASK) : value;
    }
    return values;
}

int dev_cuda_notes_bind(dev_cuda_notes *n, const uint64_t *addresses)
{
    dev_cuda_call *calls = ARENA_ARRAY(n->session->arena, dev_cuda_call, n->notes.len + 1);
    for (size_t i = 0; i < n->notes.len; i++) {
        const note *from = &n->notes.at[i];
        if (!dev_cuda_prepare(n->session, &from->launch, translate(n, from, addresses), &calls[i]))
            return -1;
    }
    VEC_PUSH(n->session->arena, &n->sets, calls);
    return (int)n->sets.len - 1;
}

bool dev_cuda_notes_repeat(dev_cuda_notes *n, int set, void *stream)
{
    for (size_t i = 0; i < n->notes.len; i++) {
        if (!dev_cuda_start(n->session, &n->sets.at[set][i], stream))
            return false;
    }
    return true;
}
