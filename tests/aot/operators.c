// The operators of operators.hds called from C: one function for all types and numbers of axes.
#include <string.h>

#include "expect.h"
#include "fake_cuda.h"
#include "operators.h"

int cuStreamCreate(void **stream, unsigned flags);

static hdsrt_tensor tensor(int bits, int ndim, int64_t *shape, int64_t *strides)
{
    static char memory[4][4096] __attribute__((aligned(64)));
    static int next;
    hdsrt_tensor t = {.data = memory[next++ % 4], .ndim = ndim, .shape = shape, .strides = strides};
    t.device.device_type = 2;
    t.dtype.code = 2;
    t.dtype.bits = (uint8_t)bits;
    t.dtype.lanes = 1;
    return t;
}

static int launches(const char *kernel)
{
    int count = 0;
    fake_cuda_launch launch;
    for (int i = 0; fake_cuda_launch_at(i, &launch); i++)
        count += strstr(launch.kernel, kernel) != NULL;
    fake_cuda_forget();
    return count;
}

static void takes_all_types_and_axes(void)
{
    int64_t shape[] = {2, 3, 16}, row[] = {16}, other[] = {2, 3, 8};
    hdsrt_tensor x = tensor(16, 3, shape, NULL), by = tensor(16, 1, row, NULL), out = tensor(16, 3, shape, NULL);
    expect(scaled(&x, &by, &out, 0.5f, NULL) == HDSRT_OK && launches("flat") == 1, "f16 of three axes is launched");
    x.dtype.bits = by.dtype.bits = out.dtype.bits = 32;
    x.ndim = out.ndim = 1, x.shape = out.shape = row;
    expect(scaled(&x, &by, &out, 0.5f, NULL) == HDSRT_OK && launches("flat") == 1, "f32 of one axis is launched");
    by.dtype.bits = 16;
    expect(scaled(&x, &by, &out, 0.5f, NULL) == HDSRT_INVALID_ARGUMENT && launches("flat") == 0, "types have to fit");
    expect(strcmp(hdsrt_last_error(), "'scaled': there is no code for x of f32, by of f16, out of f32, only for "
                                      "f16, f16, f16; f32, f32, f32") == 0, "the message says which types");
    by.dtype.bits = 32, out.ndim = x.ndim = 3, x.shape = shape, out.shape = other;
    expect(scaled(&x, &by, &out, 0.5f, NULL) == HDSRT_INVALID_ARGUMENT && launches("flat") == 0, "extents have to fit");
}

static void operands_meet(void)
{
    int64_t shape[] = {4, 6, 16}, last[] = {16}, turned[] = {1, 64, 4};
    hdsrt_tensor x = tensor(16, 3, shape, NULL), y = tensor(16, 3, shape, NULL), out = tensor(16, 3, shape, NULL);
    expect(added(&x, &y, &out, NULL) == HDSRT_OK && launches("flat") == 1, "equal extents are one row");
    y.ndim = 1, y.shape = last;
    expect(added(&x, &y, &out, NULL) == HDSRT_OK && launches("elements") == 1, "a row is repeated");
    y.ndim = 3, y.shape = shape, y.strides = turned;
    expect(added(&x, &y, &out, NULL) == HDSRT_OK && launches("elements") == 1, "any strides");
}

// The tensors of the last launch, by the addresses among its parameters.
static bool has_parameter(const fake_cuda_launch *launch, const void *address)
{
    bool has = false;
    for (int i = 0; i < launch->parameter_count; i++)
        has |= launch->sizes[i] == sizeof address && memcmp(launch->parameters + launch->offsets[i], &address, sizeof address) == 0;
    return has;
}

static void operands_are_left_out(void)
{
    int64_t shape[] = {2, 3, 16}, row[] = {16}, shorter[] = {8};
    hdsrt_tensor x = tensor(16, 3, shape, NULL), w = tensor(16, 1, row, NULL), b = tensor(16, 1, row, NULL);
    hdsrt_tensor out = tensor(16, 3, shape, NULL);
    for (int given = 0; given < 4; given++) {
        const hdsrt_tensor *by = given & 1 ? &w : NULL, *plus = given & 2 ? &b : NULL;
        fake_cuda_launch launch = {0};
        expect(shifted(&x, by, plus, &out, NULL) == HDSRT_OK && fake_cuda_launch_at(0, &launch), "with what is given");
        expect(has_parameter(&launch, w.data) == !!by && has_parameter(&launch, b.data) == !!plus, "the kernel has what is given");
        fake_cuda_forget();
    }
    w.shape = shorter;
    expect(shifted(&x, &w, NULL, &out, NULL) == HDSRT_INVALID_ARGUMENT && launches("") == 0, "extents have to fit");
    const char *text = "'shifted_without_b_f16': 'w' has extent 8 along axis 0, and it has to be S1, which is 16";
    expect(strcmp(hdsrt_last_error(), text) == 0, "the message says which extent");
    w.dtype.bits = 32;
    expect(shifted(&x, &w, NULL, &out, NULL) == HDSRT_INVALID_ARGUMENT && launches("") == 0, "types have to fit");
    expect(strstr(hdsrt_last_error(), "'shifted': there is no code for x of f16, w of f32, b omitted, out of f16, only for "
                                      "f16, f16, f16, f16; ") != NULL, "the message says what is omitted");
    expect(shifted(&x, NULL, NULL, NULL, NULL) == HDSRT_INVALID_ARGUMENT, "the result cannot be omitted");
    expect(strcmp(hdsrt_last_error(), "'shifted': 'out' is null") == 0, "the message says which is null");
}

static uint32_t copied_words(const fake_cuda_launch *launch)
{
    uint32_t value;
    memcpy(&value, launch->parameters + launch->offsets[3], sizeof value);
    return strcmp(launch->kernel, "copy") == 0 ? value : 0;
}

static uint64_t first_parameter(const fake_cuda_launch *launch)
{
    uint64_t value;
    memcpy(&value, launch->parameters, sizeof value);
    return value;
}

// What does not lie row by row at multiples of 16 bytes is copied, in the order of the stream.
static void operands_lie_anyhow(void)
{
    int64_t shape[] = {6, 16}, turned[] = {1, 6}, apart[] = {20, 1}, row[] = {16}, once[] = {0};
    hdsrt_tensor x = tensor(16, 2, shape, turned), by = tensor(16, 1, row, NULL), out = tensor(16, 2, shape, apart);
    fake_cuda_launch before = {0}, launch = {0}, after = {0};
    void *stream = NULL;
    by.byte_offset = 2;
    expect(cuStreamCreate(&stream, 0) == 0, "a stream");
    fake_cuda_forget();
    expect(scaled(&x, &by, &out, 0.5f, stream) == HDSRT_OK && fake_cuda_launches() == 3, "two copies and the kernel");
    expect(fake_cuda_launch_at(0, &before) && fake_cuda_launch_at(1, &launch) && fake_cuda_launch_at(2, &after), "in order");
    expect(copied_words(&before) == 2 && has_parameter(&before, x.data), "elements of x one by one");
    expect(strstr(launch.kernel, "flat") && has_parameter(&launch, (void *)(uintptr_t)first_parameter(&before)), "the kernel has the copy");
    expect(!has_parameter(&launch, x.data) && !has_parameter(&launch, by.data) && !has_parameter(&launch, out.data), "and nothing else");
    expect(copied_words(&after) == 8 && first_parameter(&after) == (uintptr_t)out.data, "rows of the result go back");
    expect(before.stream == stream && launch.stream == stream && after.stream == stream, "all in the stream");
    expect(fake_cuda_calls("cuMemcpyAsync") == 1, "contiguous memory takes one copy");
    expect(fake_cuda_calls("cuMemAllocAsync") == 3 && fake_cuda_live("memory") == 0, "copies are released");
    fake_cuda_forget();
    by.byte_offset = 0, by.strides = once;
    x.strides = out.strides = NULL;
    expect(scaled(&x, &by, &out, 0.5f, stream) == HDSRT_OK && fake_cuda_launches() == 2, "one that is repeated");
    fake_cuda_forget();
    x.strides = out.strides = turned;
    fake_cuda_fail("cuLaunchKernelEx", 1, 719); // kernels of operators overlap: that of the copies is launched plainly
    expect(scaled(&x, &by, &out, 0.5f, stream) == HDSRT_DRIVER_ERROR, "the kernel fails");
    expect(fake_cuda_launches() == 2 && fake_cuda_live("memory") == 0, "nothing goes back, and copies are released");
    by.shape = shape;
    expect(scaled(&x, &by, &out, 0.5f, stream) == HDSRT_INVALID_ARGUMENT, "extents have to fit");
    expect(fake_cuda_live("memory") == 0, "copies are released");
    fake_cuda_forget();
}

int main(void)
{
    takes_all_types_and_axes();
    operands_meet();
    operands_are_left_out();
    operands_lie_anyhow();
    return failures > 0;
}
