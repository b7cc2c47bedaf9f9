// Code: which of a library's architectures a GPU runs, loading it, and its kernels in each context.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

// ---- variants ----------------------------------------------------------------------------------------------------

// As the driver chooses from a fat binary: the code for this one architecture, else the newest that its major version
// has up to it, else PTX. CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility".
static int choose(const hdsrt_library *l, int capability)
{
    int best = -1;
    for (uint32_t i = 0; i < l->arch_count; i++) {
        int arch = l->archs[i] & ~HDSRT_ARCH_ONLY;
        if (l->archs[i] & HDSRT_ARCH_ONLY) {
            if (arch == capability)
                return (int)i;
        } else if (arch / 10 == capability / 10 && arch <= capability) {
            best = best >= 0 && l->archs[best] > arch ? best : (int)i;
        }
    }
    if (best >= 0 || l->ptx_arch < 0)
        return best;
    uint16_t ptx = l->archs[l->ptx_arch];
    return !(ptx & HDSRT_ARCH_ONLY) && ptx <= capability ? l->ptx_arch : -1;
}

static hdsrt_status no_code(const hdsrt_library *l, int capability)
{
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < l->arch_count && used < sizeof list - 32; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%ssm_%d%s", i ? ", " : "",
                                 l->archs[i] & ~HDSRT_ARCH_ONLY, l->archs[i] & HDSRT_ARCH_ONLY ? "a" : "");
    return hdsrt_fail(HDSRT_NO_CODE,
                      "'%s' was compiled for %s, and this GPU is of sm_%d: compile it with --arch sm_%d as well",
                      l->name, *list ? list : "nothing", capability, capability);
}

static hdsrt_status variant_of(const hdsrt_driver *cuda, const hdsrt_library *l, int device, int *variant)
{
    int capability = 0;
    hdsrt_status status = hdsrt_device_capability(cuda, device, &capability);
    if (status)
        return status;
    int found = choose(l, capability);
    if (found < 0)
        return no_code(l, capability);
    *variant = found;
    return HDSRT_OK;
}

hdsrt_status hdsrt_variant(hdsrt_library *library, int *variant)
{
    const hdsrt_driver *cuda;
    int device = 0;
    hdsrt_status status = hdsrt_context_device(&cuda, &device);
    return status ? status : variant_of(cuda, library, device, variant);
}

// ---- loading -----------------------------------------------------------------------------------------------------
// library->state[0] is the CUlibrary, kernel->state[0] the list of hdsrt_prepared, which grows at its head,
// kernel->state[1] the CUkernel. All are written with the lock held; the list is read without.

static hdsrt_status load(const hdsrt_driver *cuda, hdsrt_library *l)
{
    void *found = NULL;
    if (l->state[0])
        return HDSRT_OK;
    hdsrt_status status = hdsrt_driver_fail(cuda->library_load(&found, l->image, NULL, NULL, 0, NULL, NULL, 0),
                                            "loading the code of '%s'", l->name);
    if (!status)
        l->state[0] = found;
    return status;
}

hdsrt_status hdsrt_load(hdsrt_library *library)
{
    const hdsrt_driver *cuda;
    int device = 0, variant;
    hdsrt_status status = hdsrt_context_device(&cuda, &device);
    if (!status)
        status = variant_of(cuda, library, device, &variant);
    if (status)
        return status;
    hdsrt_lock();
    status = load(cuda, library);
    hdsrt_unlock();
    return status;
}

static hdsrt_status find_function(const hdsrt_driver *cuda, hdsrt_kernel *k, hdsrt_prepared *p)
{
    void *found = NULL;
    hdsrt_status status = load(cuda, k->library);
    if (status)
        return status;
    if (!k->state[1]) {
        status = hdsrt_driver_fail(cuda->library_kernel(&found, k->library->state[0], k->symbol),
                                   "looking for '%s' in the code of '%s'", k->name, k->library->name);
        if (status)
            return status;
        k->state[1] = found;
    }
    return hdsrt_driver_fail(cuda->kernel_function(&p->function, k->state[1]), "loading '%s' on this GPU", k->name);
}

static hdsrt_status ask(const hdsrt_driver *cuda, const hdsrt_kernel *k, const hdsrt_prepared *p, int attribute,
                        int *value)
{
    return hdsrt_driver_fail(cuda->function_get(value, attribute, p->function), "querying '%s'", k->name);
}

// What launches are checked against. More than 48 KiB of shared memory have to be asked for, once.
static hdsrt_status find_limits(const hdsrt_driver *cuda, const hdsrt_kernel *k, int device, hdsrt_prepared *p)
{
    bool is_large = k->flags & HDSRT_LARGE_SHARED;
    int own = 0, all = 0, cluster[3] = {0};
    hdsrt_status status = ask(cuda, k, p, HDSRT_FUNCTION_THREADS, &p->threads);
    if (!status)
        status = ask(cuda, k, p, HDSRT_FUNCTION_SMEM, &own);
    // A driver of CUDA 12 knows of clusters on whatever device.
    for (int i = 0; !status && p->capability >= 90 && i < 3; i++)
        status = ask(cuda, k, p, HDSRT_FUNCTION_CLUSTER + i, &cluster[i]);
    if (!status)
        status = hdsrt_driver_fail(
            cuda->device_attribute(&all, is_large ? HDSRT_DEVICE_SMEM_LARGE : HDSRT_DEVICE_SMEM, device),
            "querying GPU %d", device);
    p->static_smem = own;
    p->dynamic_smem = all > own ? all - own : 0;
    for (int i = 0; i < 3; i++)
        p->cluster[i] = (unsigned)cluster[i];
    int blocks = cluster[0] * cluster[1] * cluster[2];
    if (!status && blocks > HDSRT_PORTABLE_CLUSTER)
        status = hdsrt_driver_fail(cuda->function_set(p->function, HDSRT_FUNCTION_LARGE_CLUSTER, 1),
                                   "asking for clusters of %d blocks for '%s'", blocks, k->name);
    if (status || !is_large)
        return status;
    return hdsrt_driver_fail(cuda->function_set(p->function, HDSRT_FUNCTION_DYNAMIC_SMEM, (int)p->dynamic_smem),
                             "asking for %d bytes of shared memory for '%s'", (int)p->dynamic_smem, k->name);
}

// Whether a kernel with the PDL attribute may start before its predecessor ends. Code for GPUs older than sm_90 does
// not wait for the predecessor, on whatever GPU it runs; drivers before CUDA 12.3 have no such launches in graphs.
static bool may_overlap(const hdsrt_driver *cuda, const hdsrt_kernel *k, int capability)
{
    int version = 0, variant = choose(k->library, capability);
    bool waits = variant >= 0 && (k->library->archs[variant] & ~HDSRT_ARCH_ONLY) >= 90;
    return k->flags & HDSRT_DEPENDENT_LAUNCH && waits && !cuda->version(&version) && version >= 12030;
}

static hdsrt_status prepare(const hdsrt_driver *cuda, hdsrt_kernel *k, int device, hdsrt_prepared *p)
{
    hdsrt_status status = hdsrt_device_capability(cuda, device, &p->capability);
    if (!status)
        status = find_function(cuda, k, p);
    if (!status)
        status = find_limits(cuda, k, device, p);
    p->is_dependent = may_overlap(cuda, k, p->capability);
    return status;
}

// With the lock held: another thread may have been faster.
static hdsrt_status prepare_in(const hdsrt_driver *cuda, hdsrt_kernel *k, int device, unsigned long long context,
                               const hdsrt_prepared **out)
{
    *out = hdsrt_prepared_in(k, context);
    if (*out)
        return HDSRT_OK;
    hdsrt_prepared *p = calloc(1, sizeof *p);
    if (!p)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "the host has no memory to load '%s'", k->name);
    p->context = context;
    p->next = k->state[0];
    hdsrt_status status = prepare(cuda, k, device, p);
    if (status) {
        free(p);
        return status;
    }
    __atomic_store_n(&k->state[0], (void *)p, __ATOMIC_RELEASE);
    *out = p;
    return HDSRT_OK;
}

hdsrt_status hdsrt_prepare(hdsrt_kernel *kernel, const hdsrt_prepared **prepared)
{
    const hdsrt_driver *cuda;
    unsigned long long context = 0;
    int device = 0, variant;
    hdsrt_status status = hdsrt_context_begin(&cuda, &context);
    if (!status)
        status = hdsrt_context_device(&cuda, &device);
    if (!status)
        status = variant_of(cuda, kernel->library, device, &variant);
    if (status)
        return status;
    hdsrt_lock();
    status = prepare_in(cuda, kernel, device, context, prepared);
    hdsrt_unlock();
    return status;
}

void hdsrt_unload(hdsrt_library *library, hdsrt_kernel *const *kernels, size_t count)
{
    hdsrt_lock();
    for (size_t i = 0; i < count; i++) {
        for (hdsrt_prepared *p = kernels[i]->state[0], *next; p; p = next) {
            next = p->next;
            free(p);
        }
        memset(kernels[i]->state, 0, sizeof kernels[i]->state);
    }
    // Where the process is ending, the driver may have unloaded it already, and says so.
    if (library->state[0])
        hdsrt_driver_get()->library_unload(library->state[0]);
    memset(library->state, 0, sizeof library->state);
    hdsrt_unlock();
}
