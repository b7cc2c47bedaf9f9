// hds_conv1d(), hds_conv2d() and the transposed ones: check their tensors, and see them as images of two axes.
#include <inttypes.h>
#include <string.h>

#include "ops/product.h"

enum { X, W, BIAS, Y, TENSORS };
enum { HEIGHT, WIDTH, MOST_SPATIAL };

static const char *const names[TENSORS] = {"x", "w", "bias", "y"};

// A call: [rank] axes of images beside batch and channels. Axis a of the arrays of ops_conv is axis a - (2 - rank) of
// the call's: height comes first.
typedef struct reading {
    const char *entry;
    int rank;
    bool is_transposed;
    hds_conv_options options;
    const hdsrt_tensor *tensors[TENSORS];
    hdsrt_tensor_rule rules[TENSORS];
    hdsrt_tensor_value values[TENSORS];
    int32_t after[MOST_SPATIAL];
    ops_conv conv;
} reading;

// ---- options ------------------------------------------------------------------------------------------------------

static hdsrt_status check_steps(const reading *r)
{
    const hds_conv_options *o = &r->options;
    for (int i = 0; i < r->rank; i++) {
        if (o->stride[i] < 1 || o->dilation[i] < 1)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': stride and dilation are %d and %d, and have to be 1 or more", r->entry,
                              o->stride[i], o->dilation[i]);
        if (o->padding_before[i] < 0 || o->padding_after[i] < 0)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': padding is %d and %d, and has to be 0 or more", r->entry,
                              o->padding_before[i], o->padding_after[i]);
    }
    return HDSRT_OK;
}

static hdsrt_status read_options(reading *r, const hds_conv_options *options)
{
    hds_conv_options *o = &r->options;
    *o = (hds_conv_options)HDS_CONV_OPTIONS;
    if (options) {
        // A caller compiled with an older header knows fewer members.
        if (options->bytes < offsetof(hds_conv_options, math) + sizeof o->math)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the options have %zu bytes: begin with HDS_CONV_OPTIONS",
                              r->entry, options->bytes);
        memcpy(o, options, options->bytes < sizeof *o ? options->bytes : sizeof *o);
    }
    hdsrt_status status = ops_check_modes(r->entry, o->activation, o->math);
    if (status)
        return status;
    if ((unsigned)o->layout > HDS_LAYOUT_CHANNELS_LAST)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %d is not a layout", r->entry, (int)o->layout);
    if (o->groups < 1)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': there are %d groups, and there has to be 1 or more", r->entry,
                          o->groups);
    r->tensors[BIAS] = o->bias;
    r->conv.is_last = o->layout == HDS_LAYOUT_CHANNELS_LAST;
    r->conv.activation = o->activation;
    r->conv.math = o->math;
    return check_steps(r);
}

// ---- tensors ------------------------------------------------------------------------------------------------------

static hdsrt_status check_type(const reading *r, hdsrt_dtype type)
{
    bool is_half = type.bits == 16 && (type.code == 2 || type.code == 4), is_f32 = type.bits == 32 && type.code == 2;
    return is_half || is_f32 ? HDSRT_OK
                             : hdsrt_fail(HDSRT_UNSUPPORTED,
                                          "'%s': the library has no convolutions of DLPack type %d:%d (hds/ops.h lists "
                                          "what there is)",
                                          r->entry, type.code, type.bits);
}

static hdsrt_status read_tensors(reading *r)
{
    for (int i = 0; i < TENSORS; i++) {
        if (!r->tensors[i] && i != BIAS)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", r->entry, names[i]);
    }
    hdsrt_dtype type = {r->tensors[X]->dtype.code, r->tensors[X]->dtype.bits};
    hdsrt_status status = check_type(r, type);
    for (int i = 0; i < TENSORS && !status; i++) {
        const hdsrt_tensor *t = r->tensors[i];
        r->rules[i] = (hdsrt_tensor_rule){.name = names[i],
                                          .dtype = type,
                                          .ndim = (uint8_t)(i == BIAS ? 1 : r->rank + 2),
                                          .is_written = i == Y,
                                          .alignment = i == BIAS ? type.bits / 8u : 16};
        if (!t)
            continue;
        status = hdsrt_check_dlpack(r->entry, &r->rules[i], t, &r->values[i].data);
        r->values[i].shape = t->shape;
    }
    r->conv.type = type;
    return status;
}

// y is written: it must not overlap another tensor.
static hdsrt_status check_overlaps(const reading *r)
{
    hdsrt_tensor_rule rules[TENSORS];
    hdsrt_tensor_value values[TENSORS];
    int count = 0;
    for (int i = 0; i < TENSORS; i++) {
        if (!r->tensors[i])
            continue;
        rules[count] = r->rules[i];
        values[count++] = r->values[i];
    }
    return hdsrt_check_tensors(r->entry, rules, values, count);
}

// ---- extents ------------------------------------------------------------------------------------------------------

static int channel_axis(const reading *r)
{
    return r->conv.is_last ? r->rank + 1 : 1;
}

// Of axis [i] of images, among all axes.
static int spatial_axis(const reading *r, int i)
{
    return r->conv.is_last ? i + 1 : i + 2;
}

static hdsrt_status check_channels(reading *r)
{
    const int64_t *x = r->tensors[X]->shape, *w = r->tensors[W]->shape, *y = r->tensors[Y]->shape;
    int axis = channel_axis(r), groups = r->options.groups;
    ops_conv *c = &r->conv;
    if (x[axis] % groups || y[axis] % groups)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': 'x' has %" PRId64 " channels and 'y' %" PRId64 ", and %d groups have to divide both",
                          r->entry, x[axis], y[axis], groups);
    c->groups = groups;
    c->inputs = x[axis] / groups;
    c->outputs = y[axis] / groups;
    int64_t outer = r->is_transposed ? x[axis] : y[axis], inner = r->is_transposed ? c->outputs : c->inputs;
    hdsrt_status status;
    if ((status =
             hdsrt_check_extent(r->entry, "w", 0, w[0], outer, r->is_transposed ? "channels of x" : "channels of y")) ||
        (status = hdsrt_check_extent(r->entry, "w", axis, w[axis], inner,
                                     r->is_transposed ? "channels of y / groups" : "channels of x / groups")) ||
        (status = hdsrt_check_extent(r->entry, "y", 0, y[0], x[0], "images of x")))
        return status;
    c->images = x[0];
    return r->tensors[BIAS]
               ? hdsrt_check_extent(r->entry, "bias", 0, r->tensors[BIAS]->shape[0], y[axis], "channels of y")
               : HDSRT_OK;
}

static hdsrt_status too_large(const reading *r, const char *what)
{
    return hdsrt_fail(HDSRT_UNSUPPORTED, "'%s': %s have to be below 2^31 - 2^16", r->entry, what);
}

// Whether the product of numbers that are not negative is at most OPS_MOST_EXTENT.
static bool is_small(const int64_t *numbers, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        if (numbers[i] == 0)
            return true;
    }
    for (int i = 0; i < count; i++) {
        if (numbers[i] > OPS_MOST_EXTENT / product)
            return false;
        product *= numbers[i];
    }
    return true;
}

static hdsrt_status check_result(const reading *r, int i, int a)
{
    const ops_conv *c = &r->conv;
    int64_t span = c->dilation[a] * (c->taps[a] - 1) + 1, padding = c->before[a] + r->after[a];
    int64_t is = c->result[a], n = c->image[a];
    int axis = spatial_axis(r, i);
    if (r->is_transposed) {
        int64_t least = (n - 1) * c->stride[a] - padding + span;
        int64_t step = c->stride[a] > c->dilation[a] ? c->stride[a] : c->dilation[a];
        if (is < least || is >= least + step)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': axis %d of 'y' has extent %" PRId64
                              ", and images, windows, stride and padding give "
                              "%" PRId64 " to %" PRId64,
                              r->entry, axis, is, least, least + step - 1);
        return HDSRT_OK;
    }
    if (n + padding < span)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': a window spans %" PRId64 " elements along axis %d of 'x', which has %" PRId64
                          " with padding",
                          r->entry, span, axis, n + padding);
    return hdsrt_check_extent(r->entry, "y", axis, is, (n + padding - span) / c->stride[a] + 1,
                              "(x + padding - window) / stride + 1");
}

// Axes that a call lacks have one element.
static void read_axes(reading *r)
{
    ops_conv *c = &r->conv;
    const hds_conv_options *o = &r->options;
    for (int a = 0; a < MOST_SPATIAL; a++) {
        int i = a - (MOST_SPATIAL - r->rank);
        bool is_there = i >= 0;
        int axis = spatial_axis(r, i);
        c->image[a] = is_there ? r->tensors[X]->shape[axis] : 1;
        c->taps[a] = is_there ? r->tensors[W]->shape[axis] : 1;
        c->result[a] = is_there ? r->tensors[Y]->shape[axis] : 1;
        c->stride[a] = is_there ? o->stride[i] : 1;
        c->dilation[a] = is_there ? o->dilation[i] : 1;
        c->before[a] = is_there ? o->padding_before[i] : 0;
        r->after[a] = is_there ? o->padding_after[i] : 0;
    }
}

static hdsrt_status read_extents(reading *r)
{
    ops_conv *c = &r->conv;
    hdsrt_status status = check_channels(r);
    if (status)
        return status;
    read_axes(r);
    for (int a = 0; a < MOST_SPATIAL; a++) {
        if (c->taps[a] < 1)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': windows have no elements", r->entry);
        if (c->taps[a] > OPS_MOST_EXTENT || c->image[a] > OPS_MOST_EXTENT || c->result[a] > OPS_MOST_EXTENT ||
            c->dilation[a] * (c->taps[a] - 1) > OPS_MOST_EXTENT)
            return too_large(r, "extents of images and windows");
    }
    for (int i = 0; i < r->rank; i++) {
        if ((status = check_result(r, i, i + MOST_SPATIAL - r->rank)))
            return status;
    }
    for (int a = 0; a < MOST_SPATIAL; a++) {
        if (c->image[a] + c->before[a] + r->after[a] > OPS_MOST_EXTENT || c->result[a] + c->before[a] > OPS_MOST_EXTENT)
            return too_large(r, "images with padding");
    }
    const int64_t pixels[] = {c->images, c->result[HEIGHT], c->result[WIDTH]};
    const int64_t depth[] = {c->inputs, c->taps[HEIGHT], c->taps[WIDTH]};
    const int64_t planes[] = {c->images, c->groups, c->outputs};
    return is_small(pixels, 3) && is_small(depth, 3) && is_small(planes, 3)
               ? HDSRT_OK
               : too_large(r, "pixels of 'y', weights of a channel, and channels of all images");
}

// ---- products -----------------------------------------------------------------------------------------------------

// Windows of one element, side by side: pixels are rows of a matrix, or columns with channels first, whose bias would
// be one of rows.
static bool is_product(const reading *r)
{
    const ops_conv *c = &r->conv;
    if (r->is_transposed || c->groups > 1 || !(c->is_last || !c->bias))
        return false;
    for (int a = 0; a < MOST_SPATIAL; a++) {
        if (c->taps[a] != 1 || c->stride[a] != 1 || c->before[a] || r->after[a])
            return false;
    }
    return true;
}

static hdsrt_tensor seen_as(const hdsrt_tensor *t, int axes, int64_t *shape, int64_t *strides)
{
    hdsrt_tensor seen = *t;
    seen.ndim = axes;
    seen.shape = shape;
    seen.strides = strides;
    return seen;
}

static hdsrt_status run_product(const reading *r, hdsrt_stream stream)
{
    const ops_conv *c = &r->conv;
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    options.bias = r->tensors[BIAS];
    options.activation = c->activation;
    options.math = c->math;
    int64_t plane = c->result[HEIGHT] * c->result[WIDTH];
    if (c->is_last) {
        int64_t pixels[] = {c->images * plane, c->inputs}, found[] = {c->images * plane, c->outputs};
        int64_t weights[] = {c->inputs, c->outputs}, strides[] = {1, c->inputs > 0 ? c->inputs : 1};
        hdsrt_tensor x = seen_as(r->tensors[X], 2, pixels, NULL), w = seen_as(r->tensors[W], 2, weights, strides);
        hdsrt_tensor y = seen_as(r->tensors[Y], 2, found, NULL);
        return hds_matmul(&x, &w, &y, &options, stream);
    }
    int64_t weights[] = {c->outputs, c->inputs}, pixels[] = {c->images, c->inputs, plane};
    int64_t found[] = {c->images, c->outputs, plane};
    hdsrt_tensor w = seen_as(r->tensors[W], 2, weights, NULL), x = seen_as(r->tensors[X], 3, pixels, NULL);
    hdsrt_tensor y = seen_as(r->tensors[Y], 3, found, NULL);
    return hds_matmul(&w, &x, &y, &options, stream);
}

// ---- entries ------------------------------------------------------------------------------------------------------

static hdsrt_status convolve(reading *r, const hds_conv_options *options, hdsrt_stream stream)
{
    hdsrt_status status;
    ops_conv *c = &r->conv;
    if ((status = read_options(r, options)) || (status = read_tensors(r)) || (status = read_extents(r)) ||
        (status = check_overlaps(r)))
        return status;
    c->is_transposed = r->is_transposed;
    if (r->is_transposed && c->math == HDS_MATH_TF32)
        c->math = HDS_MATH_EXACT; // more than what was asked for
    c->x = r->values[X].data;
    c->w = r->values[W].data;
    c->y = (void *)(uintptr_t)r->values[Y].data;
    c->bias = r->tensors[BIAS] ? r->values[BIAS].data : NULL;
    if (c->images == 0 || c->outputs == 0 || c->result[HEIGHT] == 0 || c->result[WIDTH] == 0)
        return HDSRT_OK;
    return is_product(r) ? run_product(r, stream) : ops_run_conv(c, stream);
}

#define ENTRY(name, axes, transposed)                                                                                  \
    hdsrt_status name(const hdsrt_tensor *x, const hdsrt_tensor *w, hdsrt_tensor *y, const hds_conv_options *options,  \
                      hdsrt_stream stream)                                                                             \
    {                                                                                                                  \
        reading r = {.entry = #name, .rank = axes, .is_transposed = transposed, .tensors = {x, w, NULL, y}};           \
        return convolve(&r, options, stream);                                                                          \
    }

ENTRY(hds_conv1d, 1, false)
ENTRY(hds_conv2d, 2, false)
ENTRY(hds_conv_transpose1d, 1, true)
ENTRY(hds_conv_transpose2d, 2, true)
