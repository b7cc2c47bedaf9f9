// Descriptors for the tensor memory accelerator (TMA): what a kernel copies boxes of a tensor with.
//
// The driver encodes them and reports only "invalid argument" on errors, so the rules of cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col (CUDA Driver API, "Tensor Map Object Management") are checked here, with a text each.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/internal.h"

enum { MAX_RANK = 5, MAX_BOX = 256, MAX_STEP = 8, MAX_PIXELS = 1024, UNIT = 16, TMA_SINCE = 90 };
#define MAX_EXTENT ((int64_t)1 << 32)
#define MAX_STRIDE ((int64_t)1 << 40)

// A map in the making, for what is said about it.
typedef struct encoding {
    const char *entry, *name;
    const void *data;
    const hdsrt_tiling *t;
    const hdsrt_im2col *walk; // NULL: boxes
    int element_bytes;
    int64_t strides[MAX_RANK]; // in bytes, outermost first
} encoding;

static hdsrt_status refuse(const encoding *x, const char *format, ...) HDSRT_FORMAT(2, 3);

static hdsrt_status refuse(const encoding *x, const char *format, ...)
{
    char why[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': no tensor map for '%s': %s", x->entry, x->name, why);
}

// CUtensorMapDataType; elements without arithmetic in the copy are integers of their size. -1: none.
static int type_of(hdsrt_dtype d)
{
    switch (d.bits) {
    case 8:
        return 0;
    case 16:
        return d.code == 2 ? 6 : d.code == 4 ? 9 : 1;
    case 32:
        return d.code == 2 ? 7 : d.code == 0 ? 3 : 2;
    case 64:
        return d.code == 2 ? 8 : d.code == 0 ? 5 : 4;
    default:
        return -1;
    }
}

// The driver's number of a size among [sizes]; -1: it is none of them.
static int index_of(int size, const int *sizes, int count)
{
    for (int i = 0; i < count; i++) {
        if (sizes[i] == size)
            return i;
    }
    return -1;
}

static int swizzle_of(const hdsrt_tiling *t)
{
    return index_of(t->swizzle_bytes, (const int[]){0, 32, 64, 128}, 4);
}

static int interleave_of(const hdsrt_tiling *t)
{
    return index_of(t->interleave_bytes, (const int[]){0, 16, 32}, 3);
}

static int promotion_of(const hdsrt_tiling *t)
{
    return index_of(t->l2_bytes, (const int[]){0, 64, 128, 256}, 4);
}

static hdsrt_status check_modes(const encoding *x)
{
    const hdsrt_tiling *t = x->t;
    char room[48];
    if (t->ndim < 1 || t->ndim > MAX_RANK)
        return refuse(x, "it has %d axes, and a map has 1 to %d", t->ndim, MAX_RANK);
    if (!t->shape)
        return refuse(x, "its shape is null");
    if (type_of(t->dtype) < 0)
        return refuse(x, "its elements are of %s, and they have to have 8, 16, 32 or 64 bits",
                      hdsrt_dtype_name(t->dtype, room));
    if (swizzle_of(t) < 0)
        return refuse(x, "a swizzle of %d bytes, and there are 0 (none), 32, 64 and 128", t->swizzle_bytes);
    if (interleave_of(t) < 0)
        return refuse(x, "an interleave of %d bytes, and there are 0 (none), 16 and 32", t->interleave_bytes);
    if (promotion_of(t) < 0)
        return refuse(x, "an L2 promotion of %d bytes, and there are 0 (none), 64, 128 and 256", t->l2_bytes);
    if (t->interleave_bytes && t->ndim < 3)
        return refuse(x, "it has %d axes, and interleaved ones have 3 or more", t->ndim);
    if (t->interleave_bytes == 32 && t->swizzle_bytes != 32)
        return refuse(x, "an interleave of 32 bytes goes with a swizzle of 32 bytes only");
    if (t->is_nan_filled && t->dtype.code != 2 && t->dtype.code != 4)
        return refuse(x, "out-of-bounds elements can be NaN only for element types f16, bf16, f32 or f64");
    return HDSRT_OK;
}

static hdsrt_status check_extents(encoding *x)
{
    const hdsrt_tiling *t = x->t;
    int unit = t->interleave_bytes == 32 ? 32 : UNIT;
    int64_t row_major = x->element_bytes;
    if (!x->data || (uintptr_t)x->data % (unsigned)unit)
        return x->data ? refuse(x, "it begins at %p, which is not a multiple of %d", x->data, unit)
                       : refuse(x, "it is null");
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] < 1 || t->shape[i] > MAX_EXTENT)
            return refuse(x, "its extent along axis %d is %" PRId64 ", and has to be 1 to 2^32", i, t->shape[i]);
        if (t->strides && (t->strides[i] < 0 || t->strides[i] >= MAX_STRIDE))
            return refuse(x, "its stride along axis %d is %" PRId64 " elements, and has to be 0 to 2^40", i,
                          t->strides[i]);
        x->strides[i] = t->strides ? t->strides[i] * x->element_bytes : row_major;
        bool is_inner = i == t->ndim - 1;
        if (is_inner && x->strides[i] != x->element_bytes)
            return refuse(
                x, "its elements have to be next to each other along the last axis, and their stride is %" PRId64,
                t->strides[i]);
        if (!is_inner && (x->strides[i] % unit || x->strides[i] >= MAX_STRIDE))
            return refuse(x, "its stride along axis %d is %" PRId64 " bytes, and has to be a multiple of %d below 2^40",
                          i, x->strides[i], unit);
        if (__builtin_mul_overflow(row_major, t->shape[i], &row_major))
            return refuse(x, "it has more bytes than 63 bits can count");
    }
    return HDSRT_OK;
}

static hdsrt_status check_steps(const encoding *x)
{
    const hdsrt_tiling *t = x->t;
    for (int i = 0; i < t->ndim; i++) {
        if (t->steps[i] > MAX_STEP)
            return refuse(x, "its box takes every %u-th element along axis %d, and can take every 8th at most",
                          t->steps[i], i);
    }
    return HDSRT_OK;
}

// [elements]: along the last axis.
static hdsrt_status check_width(const encoding *x, uint32_t elements)
{
    const hdsrt_tiling *t = x->t;
    int64_t inner = (int64_t)elements * x->element_bytes;
    if (t->interleave_bytes)
        return HDSRT_OK;
    if (inner % UNIT)
        return refuse(x, "its box is %" PRId64 " bytes wide, and has to be a multiple of %d", inner, UNIT);
    if (t->swizzle_bytes && inner > t->swizzle_bytes)
        return refuse(x,
                      "its box is %" PRId64 " bytes wide, and with a swizzle of %d bytes it has to be at most as wide",
                      inner, t->swizzle_bytes);
    return HDSRT_OK;
}

static hdsrt_status check_box(const encoding *x)
{
    const hdsrt_tiling *t = x->t;
    for (int i = 0; i < t->ndim; i++) {
        if (t->box[i] < 1 || t->box[i] > MAX_BOX)
            return refuse(x, "its box has %u elements along axis %d, and has to have 1 to %d", t->box[i], i, MAX_BOX);
    }
    hdsrt_status status = check_steps(x);
    return status ? status : check_width(x, t->box[t->ndim - 1]);
}

// The descriptor has 32 bits for the corners of all spatial axes.
static hdsrt_status check_walk(const encoding *x)
{
    const hdsrt_tiling *t = x->t;
    const hdsrt_im2col *w = x->walk;
    if (t->ndim < 3)
        return refuse(x, "it has %d axes, and copies in im2col mode are of 3 to %d", t->ndim, MAX_RANK);
    int64_t most = t->ndim == 3 ? INT16_MAX : t->ndim == 4 ? INT8_MAX : 15;
    for (int i = 0; i < t->ndim - 2; i++) {
        if (w->lower[i] < -most - 1 || w->lower[i] > most || w->upper[i] < -most - 1 || w->upper[i] > most)
            return refuse(x,
                          "its corners along axis %d are %d and %d, and with %d axes they have to be %" PRId64
                          " to %" PRId64,
                          i + 1, w->lower[i], w->upper[i], t->ndim, -most - 1, most);
        if (t->shape[i + 1] + w->upper[i] <= w->lower[i])
            return refuse(x, "its corners along axis %d are %d and %d, and leave no pixel of %" PRId64, i + 1,
                          w->lower[i], w->upper[i], t->shape[i + 1]);
    }
    if (w->channels < 1 || w->channels > MAX_BOX)
        return refuse(x, "a copy brings %u channels, and has to bring 1 to %d", w->channels, MAX_BOX);
    if (w->pixels < 1 || w->pixels > MAX_PIXELS)
        return refuse(x, "a copy brings %u pixels, and has to bring 1 to %d", w->pixels, MAX_PIXELS);
    hdsrt_status status = check_steps(x);
    return status ? status : check_width(x, w->channels);
}

static hdsrt_status check_device(const encoding *x, const hdsrt_driver **cuda)
{
    int device = 0, capability = 0;
    hdsrt_status status = hdsrt_context_device(cuda, &device);
    if (!status)
        status = hdsrt_device_capability(*cuda, device, &capability);
    if (status || capability >= TMA_SINCE)
        return status;
    return hdsrt_fail(HDSRT_UNSUPPORTED,
                      "'%s': no tensor map for '%s': GPUs have them from sm_%d on, and this one is of sm_%d", x->entry,
                      x->name, TMA_SINCE, capability);
}

// The driver counts axes from the innermost.
static int encode(const encoding *x, const hdsrt_driver *cuda, hdsrt_tensor_map *map)
{
    const hdsrt_tiling *t = x->t;
    uint64_t extents[MAX_RANK], strides[MAX_RANK] = {0};
    unsigned box[MAX_RANK], steps[MAX_RANK];
    int lower[MAX_RANK] = {0}, upper[MAX_RANK] = {0};
    for (int i = 0; i < t->ndim; i++) {
        int axis = t->ndim - 1 - i;
        extents[i] = (uint64_t)t->shape[axis];
        box[i] = t->box[axis];
        steps[i] = t->steps[axis] ? t->steps[axis] : 1;
        if (i)
            strides[i - 1] = (uint64_t)x->strides[axis];
    }
    for (int i = 0; x->walk && i < t->ndim - 2; i++) {
        lower[i] = x->walk->lower[t->ndim - 3 - i];
        upper[i] = x->walk->upper[t->ndim - 3 - i];
    }
    if (x->walk)
        return cuda->tensor_map_im2col(map, type_of(t->dtype), t->ndim, (void *)(uintptr_t)x->data, extents, strides,
                                       lower, upper, x->walk->channels, x->walk->pixels, steps, interleave_of(t),
                                       swizzle_of(t), promotion_of(t), t->is_nan_filled);
    return cuda->tensor_map_tiled(map, type_of(t->dtype), t->ndim, (void *)(uintptr_t)x->data, extents, strides, box,
                                  steps, interleave_of(t), swizzle_of(t), promotion_of(t), t->is_nan_filled);
}

static bool is_empty(const hdsrt_tiling *t)
{
    for (int i = 0; t->shape && i < t->ndim && i < MAX_RANK; i++) {
        if (t->shape[i] == 0)
            return true;
    }
    return false;
}

// The driver describes no tensors without elements. A kernel that gets one has nothing to copy, but may ask for the
// descriptor early: so there is one, of a single element that lies nowhere.
static hdsrt_status check_empty(encoding *x, hdsrt_tiling *stand_in)
{
    static const int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1};
    *stand_in = *x->t;
    stand_in->shape = ones;
    stand_in->strides = NULL;
    for (int i = 0; i < x->t->ndim; i++)
        x->strides[i] = UNIT * 2;
    x->data = (const void *)(uintptr_t)(UNIT * 2);
    x->t = stand_in;
    return HDSRT_OK;
}

static hdsrt_status make(encoding x, hdsrt_tensor_map *map)
{
    const hdsrt_driver *cuda;
    hdsrt_tiling stand_in;
    hdsrt_im2col one_pixel;
    hdsrt_status status = check_modes(&x);
    bool is_nothing = !status && is_empty(x.t);
    if (is_nothing && x.walk) {
        one_pixel = (hdsrt_im2col){.channels = x.walk->channels, .pixels = x.walk->pixels};
        x.walk = &one_pixel;
    }
    if (!status)
        status = is_nothing ? check_empty(&x, &stand_in) : check_extents(&x);
    if (!status)
        status = x.walk ? check_walk(&x) : check_box(&x);
    if (!status)
        status = check_device(&x, &cuda);
    if (status)
        return status;
    hdsrt_tensor_map made;
    int result = encode(&x, cuda, &made);
    if (result)
        return hdsrt_driver_fail(result, "'%s': making a tensor map for '%s'", x.entry, x.name);
    *map = made;
    return HDSRT_OK;
}

hdsrt_status hdsrt_tensor_map_tiled(hdsrt_tensor_map *map, const char *entry, const char *tensor, const void *data,
                                    const hdsrt_tiling *tiling)
{
    encoding x = {.entry = entry, .name = tensor, .data = data, .t = tiling, .element_bytes = tiling->dtype.bits / 8};
    return make(x, map);
}

hdsrt_status hdsrt_tensor_map_im2col(hdsrt_tensor_map *map, const char *entry, const char *tensor, const void *data,
                                     const hdsrt_tiling *tiling, const hdsrt_im2col *im2col)
{
    encoding x = {.entry = entry, .name = tensor, .data = data, .t = tiling, .walk = im2col};
    x.element_bytes = tiling->dtype.bits / 8;
    return make(x, map);
}
