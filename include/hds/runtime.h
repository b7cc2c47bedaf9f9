// libhdsrt: what compiled Hidet Script needs to run.
//
// C code that `hdsc kernel.hds -o kernel.o -h kernel.h` makes calls nothing else. The CUDA driver (libcuda.so.1) is opened
// at the first call that needs it, so a program links and starts on a machine without a GPU, where those calls fail with
// HDSRT_NO_DRIVER or HDSRT_NO_DEVICE.
//
//     if (saxpy(2.0f, x, y, n, stream) != HDSRT_OK)
//         fprintf(stderr, "%s\n", hdsrt_last_error());
//
// Every function may be called from any thread. Nothing here prints, aborts or exits. A failure leaves what it was asked
// to change as it was, and a text for hdsrt_last_error().
//
// Contexts are as in the CUDA runtime: work goes to the calling thread's current context; a thread that has none gets the
// primary context of device 0. Kernels are loaded at their first launch, once per process, and prepared once per context.
//
// What holds when these come and go (tested against the driver's behaviour, CUDA 13.0):
// - Contexts that the program makes and destroys: kernels are prepared anew in each. A thread whose current context was
//   destroyed by another gets HDSRT_DRIVER_ERROR (709) until it makes another one current, as hdsrt_use_device() does.
// - Reset of a primary context (cuDevicePrimaryCtxReset, cudaDeviceReset): memory is gone, and calls give that same error,
//   until hdsrt_use_device(), in any thread, or the CUDA runtime makes the context anew. Loaded libraries stay.
// - A kernel that fails (an illegal address) takes its context along: each call gives its error until the context is reset.
// - fork(): the child of a process that has used the driver cannot use it, and every call says so; a child that is made
//   before can, and may exec() at any time.
// - The end of the process: calls from destructors may find the driver gone, and say so.
//
// In the environment, read at the first use: HDSRT_DRIVER=path opens another library than libcuda.so.1 (not in programs that
// run with more rights than their user); HDSRT_CHECK=1 checks more, see hdsrt_check_tensors().
#ifndef HDS_RUNTIME_H
#define HDS_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HDSRT_API __attribute__((visibility("default")))
#define HDSRT_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define HDSRT_API
#define HDSRT_FORMAT(text, first)
#endif

// Grows when a program that was compiled against an older header could not run any more.
#define HDSRT_ABI 1

HDSRT_API int hdsrt_abi(void);              // of the library, to compare with HDSRT_ABI
HDSRT_API const char *hdsrt_version(void);  // "0.1.0"

// ---- errors -----------------------------------------------------------------------------------------------------------

typedef enum hdsrt_status {
    HDSRT_OK = 0,
    HDSRT_INVALID_ARGUMENT,  // an argument breaks a precondition; the text says which and why. Nothing was launched that
                             // writes to tensors of the program's
    HDSRT_NO_DRIVER,         // libcuda.so.1 is missing, or older than CUDA 12.0
    HDSRT_NO_DEVICE,         // no GPU, or not the one that was asked for
    HDSRT_NO_CODE,           // nothing was compiled for this GPU's architecture
    HDSRT_UNSUPPORTED,       // the GPU or its driver lacks what a launch asks for
    HDSRT_OUT_OF_MEMORY,     // on the GPU or on the host
    HDSRT_ASSERTION,         // an assert of a host function does not hold
    HDSRT_DRIVER_ERROR       // any other error of the driver: hdsrt_last_driver_error()
} hdsrt_status;

// "invalid argument": a few words, never NULL.
HDSRT_API const char *hdsrt_status_text(hdsrt_status status);
// What the last failure in this thread was, as one line; "" if there was none. Valid until the thread's next failure.
HDSRT_API const char *hdsrt_last_error(void);
// The CUresult of that failure; 0 if it did not come from the driver.
HDSRT_API int hdsrt_last_driver_error(void);

// ---- devices, streams, memory --------------------------------------------------------------------------------------------
// What a program without the CUDA runtime needs. One that has it passes its own pointers and streams, and needs none of
// these.

// A CUstream or cudaStream_t. NULL: the default stream of the current context.
typedef struct CUstream_st *hdsrt_stream;

// How many GPUs there are. HDSRT_NO_DRIVER where that cannot be asked; *count is 0 then.
HDSRT_API hdsrt_status hdsrt_device_count(int *count);
// Makes the primary context of [device] the thread's current one.
HDSRT_API hdsrt_status hdsrt_use_device(int device);
// The device of the thread's current context, after hdsrt_use_device(0) where there is none.
HDSRT_API hdsrt_status hdsrt_current_device(int *device);
// Compute capability of the current device: 9, 0.
HDSRT_API hdsrt_status hdsrt_capability(int *major, int *minor);
// An attribute of the current device by its number in cuda.h (CUdevice_attribute): 16 is how many multiprocessors it has.
HDSRT_API hdsrt_status hdsrt_device_attribute(int *value, int attribute);

// Waits for what was put into [stream].
HDSRT_API hdsrt_status hdsrt_synchronize(hdsrt_stream stream);

// [bytes] of GPU memory at a multiple of 256, usable by work that is put into [stream] afterwards (NULL for no bytes), and
// its return after what was put there before. The thread's allocator does it: see hdsrt_set_allocator.
HDSRT_API hdsrt_status hdsrt_allocate(void **address, int64_t bytes, hdsrt_stream stream);
HDSRT_API hdsrt_status hdsrt_release(void *address, hdsrt_stream stream);
// Copies between any two addresses, of the host or of a GPU, in the order of [stream]. May return before the copy is done.
HDSRT_API hdsrt_status hdsrt_copy(void *to, const void *from, int64_t bytes, hdsrt_stream stream);
// Writes [count] elements of [element_bytes] (1, 2, 4 or 8), each the low bytes of [pattern], to GPU memory.
HDSRT_API hdsrt_status hdsrt_fill(void *to, uint64_t pattern, int element_bytes, int64_t count, hdsrt_stream stream);

// Where host functions in .hds files take their memory from. Both functions may be called from any thread; [allocate] gives
// NULL where it has no memory.
typedef struct hdsrt_allocator {
    void *(*allocate)(void *user, size_t bytes, int device, hdsrt_stream stream);
    void (*release)(void *user, void *address, int device, hdsrt_stream stream);
    void *user;
} hdsrt_allocator;

// For the whole process; NULL goes back to the driver's own (cuMemAllocAsync). Memory is returned to the allocator that gave
// it only if nobody changes it in between: set it before the first call.
HDSRT_API void hdsrt_set_allocator(const hdsrt_allocator *allocator);

// ---- tensors over DLPack -------------------------------------------------------------------------------------------------
// The layout is that of DLPack's DLTensor and DLManagedTensor (https://dmlc.github.io/dlpack/latest/c_api.html, the same in
// every version so far). With dlpack.h included first these are its types.

#ifdef DLPACK_DLPACK_H_
typedef DLTensor hdsrt_tensor;
typedef DLManagedTensor hdsrt_managed_tensor;
#else
typedef struct hdsrt_tensor {
    void *data;
    struct {
        int32_t device_type;  // 1: host, 2: CUDA, 3: pinned host, 13: CUDA managed
        int32_t device_id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code;  // 0: int, 1: uint, 2: float, 4: bfloat, 6: bool, …
        uint8_t bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides;  // in elements; NULL: row-major without gaps
    uint64_t byte_offset;
} hdsrt_tensor;

typedef struct hdsrt_managed_tensor {
    hdsrt_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct hdsrt_managed_tensor *self);
} hdsrt_managed_tensor;
#endif

// An element type, as DLPack codes it.
typedef struct hdsrt_dtype {
    uint8_t code, bits;
} hdsrt_dtype;

// A new tensor on the current device, row-major, contents unset; ready for [stream]. The caller owns it: call its deleter, in
// whatever thread. It returns the memory in the order of its context's default stream, to where it came from; work in streams
// that do not wait for that one has to be done by then. Strides are set; a tensor without elements has no data.
HDSRT_API hdsrt_status hdsrt_tensor_new(hdsrt_managed_tensor **tensor, hdsrt_dtype dtype, int ndim, const int64_t *shape,
                                        hdsrt_stream stream);

// ---- for generated code ----------------------------------------------------------------------------------------------------
// Programs have no use for what follows; it is stable all the same, since compiled objects outlive compilers.

// A fat binary, and what is known of it at run time. Zero from [state] on.
typedef struct hdsrt_library {
    const char *name;         // of the source file, for messages
    const void *image;        // aligned to 8
    size_t image_bytes;
    const uint16_t *archs;    // what it was compiled for, ascending: 90 for sm_90, 90 | HDSRT_ARCH_ONLY for sm_90a
    uint32_t arch_count;
    int32_t ptx_arch;         // index in [archs] of the one that newer GPUs translate; -1: none
    void *state[2];
} hdsrt_library;

#define HDSRT_ARCH_ONLY 0x8000

// A kernel of a library. Zero from [state] on.
typedef struct hdsrt_kernel {
    hdsrt_library *library;
    const char *symbol;  // in the machine code
    const char *name;    // for messages
    uint32_t flags;      // HDSRT_LARGE_SHARED …
    void *state[2];
} hdsrt_kernel;

enum {
    HDSRT_LARGE_SHARED = 1,     // may ask for more than 48 KiB of dynamic shared memory
    HDSRT_DEPENDENT_LAUNCH = 2, // its code for sm_90 and newer may start while the kernel before it in the stream ends
};

// What a kernel promises of a tensor parameter, and what it demands.
typedef struct hdsrt_tensor_rule {
    const char *name;
    hdsrt_dtype dtype;
    uint8_t ndim;
    bool is_written;
    uint32_t alignment;  // bytes: a power of two, or 0
} hdsrt_tensor_rule;

// A tensor argument: the address of its first element and its extents.
typedef struct hdsrt_tensor_value {
    const void *data;
    const int64_t *shape;
} hdsrt_tensor_value;

// The same of a tensor whose elements do not have to lie row by row: how many elements further each index is. NULL strides:
// row-major without gaps.
typedef struct hdsrt_strided_value {
    const void *data;
    const int64_t *shape, *strides;
} hdsrt_strided_value;

// Extents of a launch; checked, since they may come from arguments. A grid without blocks launches nothing. A cluster of
// {0}: none, or one that is compiled in.
typedef struct hdsrt_extents {
    int64_t grid[3], block[3], cluster[3];
    int64_t dynamic_smem_bytes;
} hdsrt_extents;

// Whether all tensors are what their rules say: not null unless empty, aligned, extents not negative, sizes within 63 bits,
// and none that is written overlapping another. With HDSRT_CHECK=1 in the environment also whether the GPU can reach
// each of their bytes, which costs microseconds.
HDSRT_API hdsrt_status hdsrt_check_tensors(const char *entry, const hdsrt_tensor_rule *rules,
                                           const hdsrt_tensor_value *values, int count);
// The same of tensors with strides, which have to be at least 0. No element of one that is written may lie on another; of
// tensors whose bytes are in between each other's, those that are columns of one matrix, or parts alike, do not overlap.
HDSRT_API hdsrt_status hdsrt_check_strided(const char *entry, const hdsrt_tensor_rule *rules,
                                           const hdsrt_strided_value *values, int count);
// Whether a DLPack tensor is what the rule says, in memory of the current device, row-major without gaps. On success *data
// is the address of its first element; its extents are tensor->shape.
HDSRT_API hdsrt_status hdsrt_check_dlpack(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor,
                                          const void **data);
// The same with any strides from 0 on, which come out in [strides]; that of an axis of at most one element, which says
// nothing, as if the elements lay row by row.
HDSRT_API hdsrt_status hdsrt_check_dlpack_strided(const char *entry, const hdsrt_tensor_rule *rule,
                                                  const hdsrt_tensor *tensor, const void **data, int64_t *strides);
// Whether the stride of [axis] is what the kernel's other arguments say it is, unless it says nothing.
HDSRT_API hdsrt_status hdsrt_check_stride(const char *entry, const char *name, const hdsrt_tensor *tensor, int axis,
                                          int64_t expected, const char *rule);
// Whether the extent of [axis] is what the kernel's other arguments say it is; [rule] is the expected extent's text ("n", "2 * n").
HDSRT_API hdsrt_status hdsrt_check_extent(const char *entry, const char *tensor, int axis, int64_t is, int64_t expected,
                                          const char *rule);
// Launches. [parameters]: the address of each of the kernel's parameters.
HDSRT_API hdsrt_status hdsrt_launch(hdsrt_kernel *kernel, const hdsrt_extents *extents, void **parameters,
                                    hdsrt_stream stream);
// A descriptor of a tensor for the tensor memory accelerator of sm_90 and newer: the CUtensorMap that a kernel takes by value.
typedef struct hdsrt_tensor_map {
    uint64_t words[16];
}
#if defined(__GNUC__)
__attribute__((aligned(64)))
#endif
hdsrt_tensor_map;

// How such a kernel copies from a tensor, or to it: in boxes, which come to lie row-major in shared memory.
typedef struct hdsrt_tiling {
    hdsrt_dtype dtype;
    uint8_t ndim;              // 1 to 5
    uint8_t swizzle_bytes;     // chunks of 16 bytes are permuted within spans of 32, 64 or 128 bytes; 0: not
    uint8_t interleave_bytes;  // channels lie in slices of 16 or 32 bytes; 0: not
    bool is_nan_filled;        // what lies outside the tensor reads as NaN; else as 0
    uint16_t l2_bytes;         // L2 fetches 64, 128 or 256 at once; 0: what is asked for
    const int64_t *shape;      // outermost axis first, as all that follows
    const int64_t *strides;    // in elements; NULL: row-major without gaps
    uint32_t box[5];           // extents of a box, 1 to 256
    uint32_t steps[5];         // every how many elements it takes one, 1 to 8; 0: 1
} hdsrt_tiling;

// Makes the descriptor. Demands what the hardware does, and says what is broken: data at a multiple of 16 (interleaved by 32: 32),
// extents of at most 2^32, strides of all axes but the last that are multiples of 16 bytes (32) below 2^40 and the last 1, a box
// whose rows are a multiple of 16 bytes and, swizzled, not wider than the swizzle. HDSRT_UNSUPPORTED before sm_90. Of a tensor
// without elements it is one that nothing may be copied with.
HDSRT_API hdsrt_status hdsrt_tensor_map_tiled(hdsrt_tensor_map *map, const char *entry, const char *tensor, const void *data,
                                              const hdsrt_tiling *tiling);
// The index in library->archs of the code that the current device runs, for what differs by architecture.
HDSRT_API hdsrt_status hdsrt_variant(hdsrt_library *library, int *variant);
// Loads the library for the current device without launching anything: HDSRT_NO_CODE comes early then. Optional.
HDSRT_API hdsrt_status hdsrt_load(hdsrt_library *library);
// Forgets a library whose memory goes away, and its kernels' states. None of them may be in use.
HDSRT_API void hdsrt_unload(hdsrt_library *library, hdsrt_kernel *const *kernels, size_t count);
// Records a failure that the generated code found itself, and gives [status] back.
HDSRT_API hdsrt_status hdsrt_fail(hdsrt_status status, const char *format, ...) HDSRT_FORMAT(2, 3);

// ---- operators that are compiled for several types ---------------------------------------------------------------------------

// How an operand comes to the functions for one type: all axes between the first [before] and the last [after] as one.
typedef struct hdsrt_operand {
    const char *name;
    uint8_t before, after;
    uint8_t group;  // operands of one group have the same extents there; 0: this one comes with the axes that it has
    bool is_written;
    bool is_result;  // each element is written, and none is read before
} hdsrt_operand;

enum { HDSRT_MOST_AXES = 16 };

// An operand as it comes there, over the caller's memory or a copy.
typedef struct hdsrt_joined {
    hdsrt_tensor tensor;
    int64_t shape[HDSRT_MOST_AXES + 1], strides[HDSRT_MOST_AXES + 1];
    void *copy;  // of the elements, row by row; NULL: over the caller's memory
} hdsrt_joined;

// The number of the instance whose types ([count] for each instance) those of the tensors are, and the tensors as it takes them.
// An operand that is left out is NULL; instances go without those whose type is {0, 0}. What does not lie row by row without gaps, or
// not at a multiple of 16 bytes, is copied to memory that is allocated in the order of [stream]; elements have whole bytes
// then, strides are at least 0, and tensors that are written overlap nothing. HDSRT_INVALID_ARGUMENT where that does not
// hold, where there is no such instance, or where operands differ in joined axes. After HDSRT_OK, hdsrt_finish_instance has to be called.
HDSRT_API hdsrt_status hdsrt_choose_instance(const char *entry, const hdsrt_operand *operands, const hdsrt_dtype *types,
                                             int count, int instances, const hdsrt_tensor *const *tensors,
                                             hdsrt_stream stream, hdsrt_joined *joined, int *instance);
// After the instance, which gave [status]: copies what it has written back to the tensors, unless it failed, and releases the
// copies. Gives [status], or what failed here.
HDSRT_API hdsrt_status hdsrt_finish_instance(const hdsrt_operand *operands, int count, const hdsrt_tensor *const *tensors,
                                             hdsrt_joined *joined, hdsrt_status status, hdsrt_stream stream);
// The same of an operator by element, whose operands meet as in NumPy: those that are read are repeated along axes that they lack,
// or that have one element, to the extents of those that are written. Where all lie side by side, at multiples of 16 bytes, they
// come as one axis; else with four, and the number of the instance is [instances] higher. HDSRT_UNSUPPORTED where more than four
// axes are left once those that lie in memory like one are joined.
HDSRT_API hdsrt_status hdsrt_choose_by_element(const char *entry, const hdsrt_operand *operands, const hdsrt_dtype *types,
                                               int count, int instances, const hdsrt_tensor *const *tensors,
                                               hdsrt_joined *joined, int *instance);

#ifdef __cplusplus
}
#endif
#endif
