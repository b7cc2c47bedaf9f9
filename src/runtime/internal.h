// Declarations shared by the files of libhdsrt. Everything external begins with hdsrt_ and is hidden.
#pragma once

#include <stdbool.h>

#include "runtime/driver.h"

// One lock for what happens once: opening the driver, retaining contexts, loading code. Nothing of the program's is
// called under it, and a fork waits for it.
void hdsrt_lock(void);
void hdsrt_unlock(void);
// The driver as far as it can be asked for the texts of its errors: also while it is opened. For its callers.
const hdsrt_driver *hdsrt_driver_bound(void);
// Whether this process is a child of the one that opened the driver.
bool hdsrt_is_forked(void);

// The driver and the id of the thread's current context, after making the primary one of device 0 current where there
// is none.
hdsrt_status hdsrt_context_begin(const hdsrt_driver **cuda, unsigned long long *id);
// The same where it does not matter which context.
hdsrt_status hdsrt_context_any(const hdsrt_driver **cuda);
// The same, and its device.
hdsrt_status hdsrt_context_device(const hdsrt_driver **cuda, int *device);
// An attribute of a device that cannot change, asked once. Capability: 90.
hdsrt_status hdsrt_device_capability(const hdsrt_driver *cuda, int device, int *capability);
hdsrt_status hdsrt_device_has_pools(const hdsrt_driver *cuda, int device, bool *has_pools);

// "f16"; in [room] where the type has no name.
const char *hdsrt_dtype_name(hdsrt_dtype dtype, char room[48]);
// The bytes of a tensor, packed. False if one of its extents is negative or there are more than fit into 63 bits.
bool hdsrt_tensor_bytes(int bits, int ndim, const int64_t *shape, int64_t *bytes);

// DLPack's address of the first element; NULL without data.
const void *hdsrt_address_of(const hdsrt_tensor *tensor);

// A strided view: the first element, and strides in elements. NULL strides: contiguous.
typedef struct hdsrt_elements {
    const void *data;
    const int64_t *strides;
} hdsrt_elements;

// Where operators take rows: vectors of 16 bytes are loaded from them.
enum { HDSRT_OPERAND_ALIGNMENT = 16, HDSRT_MOST_OPERANDS = 16 };

// copy.c: copies all elements of [shape], HDSRT_MOST_AXES axes at most, which are not empty; elements have whole bytes. None of [to]
// lies on another, and none on one of [from].
hdsrt_status hdsrt_copy_elements(const hdsrt_elements *to, const hdsrt_elements *from, int ndim, const int64_t *shape,
                                 int element_bytes, hdsrt_stream stream);
// operand.c: gives operands that do not lie as operators take them, row by row at multiples of 16 bytes, memory of the call's own, with
// their elements. After a failure there is none.
hdsrt_status hdsrt_copy_operands(const char *entry, const hdsrt_operand *operands, const hdsrt_tensor *const *tensors, int count,
                                 hdsrt_joined *joined, hdsrt_stream stream);

// Blocks of a cluster that a kernel has for the asking; more have to be allowed.
enum { HDSRT_PORTABLE_CLUSTER = 8 };

// A kernel in one context.
typedef struct hdsrt_prepared {
    unsigned long long context;
    void *function;
    int capability, threads;           // 90; most threads of a block
    int64_t static_smem, dynamic_smem; // bytes: its own, and the most that a launch may add
    unsigned cluster[3];               // compiled in; 0: none
    bool is_dependent;
    struct hdsrt_prepared *next; // of the same kernel in another context, prepared before
} hdsrt_prepared;

// library.c: loads what is not loaded yet. Lives until the library is unloaded.
hdsrt_status hdsrt_prepare(hdsrt_kernel *kernel, const hdsrt_prepared **prepared);

static inline const hdsrt_prepared *hdsrt_prepared_in(const hdsrt_kernel *kernel, unsigned long long context)
{
    const hdsrt_prepared *p = __atomic_load_n(&kernel->state[0], __ATOMIC_ACQUIRE);
    while (p && p->context != context)
        p = p->next;
    return p;
}

// ---- indices of sharded safetensors files (stored.c) ----------------------------------------------------------------

typedef struct hdsrt_stored_place {
    const char *name, *file; // a tensor; the shard that has it, within the folder of the index
    size_t shard;            // its number
} hdsrt_stored_place;

typedef struct hdsrt_stored_index {
    const hdsrt_stored_place *at; // by name
    size_t count;
    const char *const *shards;
    size_t shard_count;
} hdsrt_stored_index;

// HDSRT_INVALID_ARGUMENT: it is no index, and hdsrt_last_error() says why.
hdsrt_status hdsrt_index_read(const char *json, size_t len, hdsrt_stored_index **index);
// NULL: there is none of this name.
const hdsrt_stored_place *hdsrt_index_find(const hdsrt_stored_index *index, const char *name);
void hdsrt_index_free(hdsrt_stored_index *index);
