// Copies of tensors whose elements lie anyhow, for operators that take them row by row (operand.c).
//
// The kernel is PTX, which the driver compiles for the GPU that is there: the runtime is built without a compiler for
// GPUs, and programs with machine code for one architecture alone need the copies as well. It moves words of 1 to 16
// bytes, as wide as addresses, strides and rows allow, whatever the elements are.
#include "runtime/internal.h"

// The axes of tensors, and the bytes of an element.
enum { MOST = HDSRT_MOST_AXES + 1, WIDEST = 16, THREADS = 256 };

// ---- the kernel -----------------------------------------------------------------------------------------------------

// A thread copies word number i of [count], each of [bytes]. Axes are numbered from the outermost; from the innermost
// on, the remainder of i by the extent is the index there, and the quotient goes on, the index along the outermost one.
// Strides are in bytes. Division of 32 bits is several times faster than that of 64.
// clang-format off
static const char code[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry copy(.param .u64 to, .param .u64 from, .param .u64 count, .param .u32 bytes, .param .u32 rank,\n"
    "    .param .align 8 .b8 extents[136], .param .align 8 .b8 to_strides[136], .param .align 8 .b8 from_strides[136])\n"
    "{\n"
    ".reg .pred %p;\n.reg .u16 %h;\n.reg .u32 %a, %b, %k, %w0, %w1, %w2, %w3;\n"
    ".reg .u64 %i, %to, %from, %at, %n, %q, %e, %t, %f;\n"
    "mov.u32 %a, %ctaid.x;\nmov.u32 %b, %tid.x;\nmul.wide.u32 %i, %a, 256;\ncvt.u64.u32 %q, %b;\nadd.u64 %i, %i, %q;\n"
    "ld.param.u64 %n, [count];\nsetp.ge.u64 %p, %i, %n;\n@%p ret;\n"
    "ld.param.u64 %to, [to];\nld.param.u64 %from, [from];\nld.param.u32 %k, [rank];\n"
    "mov.b64 %e, extents;\nmov.b64 %t, to_strides;\nmov.b64 %f, from_strides;\n"
    "axis:\n"
    "sub.u32 %k, %k, 1;\nmul.wide.u32 %at, %k, 8;\nadd.u64 %n, %e, %at;\nld.param.u64 %n, [%n];\n"
    "mov.u64 %q, 0;\nsetp.eq.u32 %p, %k, 0;\n@%p bra divided;\n"
    "or.b64 %q, %i, %n;\nshr.u64 %q, %q, 32;\nsetp.eq.u64 %p, %q, 0;\n@%p bra narrow;\n"
    "div.u64 %q, %i, %n;\nbra divided;\n"
    "narrow:\n"
    "cvt.u32.u64 %a, %i;\ncvt.u32.u64 %b, %n;\ndiv.u32 %a, %a, %b;\ncvt.u64.u32 %q, %a;\n"
    "divided:\n"
    "mul.lo.u64 %n, %q, %n;\nsub.u64 %i, %i, %n;\n"
    "add.u64 %n, %t, %at;\nld.param.u64 %n, [%n];\nmad.lo.u64 %to, %i, %n, %to;\n"
    "add.u64 %n, %f, %at;\nld.param.u64 %n, [%n];\nmad.lo.u64 %from, %i, %n, %from;\n"
    "mov.u64 %i, %q;\nsetp.ne.u32 %p, %k, 0;\n@%p bra axis;\n"
    "ld.param.u32 %k, [bytes];\n"
    "setp.eq.u32 %p, %k, 2;\n@%p bra two;\nsetp.eq.u32 %p, %k, 4;\n@%p bra four;\n"
    "setp.eq.u32 %p, %k, 8;\n@%p bra eight;\nsetp.eq.u32 %p, %k, 16;\n@%p bra sixteen;\n"
    "ld.global.u8 %h, [%from];\nst.global.u8 [%to], %h;\nret;\n"
    "two:\nld.global.u16 %h, [%from];\nst.global.u16 [%to], %h;\nret;\n"
    "four:\nld.global.u32 %w0, [%from];\nst.global.u32 [%to], %w0;\nret;\n"
    "eight:\nld.global.v2.u32 {%w0, %w1}, [%from];\nst.global.v2.u32 [%to], {%w0, %w1};\nret;\n"
    "sixteen:\nld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%from];\nst.global.v4.u32 [%to], {%w0, %w1, %w2, %w3};\n"
    "}\n";
// clang-format on

_Static_assert(MOST * sizeof(int64_t) == 136 && THREADS == 256, "the kernel says so");

static const uint16_t archs[] = {75};
static hdsrt_library library = {.name = "copies of tensors",
                                .image = code,
                                .image_bytes = sizeof code,
                                .archs = archs,
                                .arch_count = 1,
                                .ptx_arch = 0};
static hdsrt_kernel kernel = {.library = &library, .symbol = "copy", .name = "a copy of a tensor"};

// ---- what to copy ---------------------------------------------------------------------------------------------------

enum { TO, FROM };

// Strides in bytes. The last axis is a run of bytes, side by side on both sides, until words are chosen.
typedef struct walk {
    int rank;
    int64_t extents[MOST], strides[2][MOST];
    uint64_t address[2];
} walk;

static void add_axis(walk *w, int64_t extent, int64_t to, int64_t from)
{
    w->extents[w->rank] = extent;
    w->strides[TO][w->rank] = to;
    w->strides[FROM][w->rank++] = from;
}

static walk walk_of(const hdsrt_elements *to, const hdsrt_elements *from, int ndim, const int64_t *shape,
                    int element_bytes)
{
    walk w = {.address = {(uintptr_t)to->data, (uintptr_t)from->data}};
    int64_t dense = element_bytes;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        if (shape[axis] == 1)
            continue;
        add_axis(&w, shape[axis], to->strides ? to->strides[axis] * element_bytes : dense,
                 from->strides ? from->strides[axis] * element_bytes : dense);
        dense *= shape[axis];
    }
    return w;
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

// What is side by side where it is written is written side by side, by neighbouring threads.
static void sort_axes(walk *w)
{
    for (int k = 1; k < w->rank; k++)
        for (int at = k; at > 0 && w->strides[TO][at - 1] < w->strides[TO][at]; at--) {
            swap(&w->extents[at - 1], &w->extents[at]);
            swap(&w->strides[TO][at - 1], &w->strides[TO][at]);
            swap(&w->strides[FROM][at - 1], &w->strides[FROM][at]);
        }
}

static bool may_join(const walk *w, int k)
{
    return w->strides[TO][k] == w->strides[TO][k + 1] * w->extents[k + 1] &&
           w->strides[FROM][k] == w->strides[FROM][k + 1] * w->extents[k + 1];
}

static void join_axes(walk *w)
{
    for (int k = w->rank - 2; k >= 0; k--) {
        if (!may_join(w, k))
            continue;
        w->extents[k + 1] *= w->extents[k];
        w->rank--;
        for (int axis = k; axis < w->rank; axis++) {
            w->extents[axis] = w->extents[axis + 1];
            w->strides[TO][axis] = w->strides[TO][axis + 1];
            w->strides[FROM][axis] = w->strides[FROM][axis + 1];
        }
    }
}

// The bytes of the widest words that all of it consists of. The last axis counts words then, and is left out where it
// has one.
static uint32_t choose_words(walk *w)
{
    int last = w->rank - 1;
    uint32_t words = WIDEST;
    uint64_t bits = (uint64_t)w->extents[last] | w->address[TO] | w->address[FROM];
    for (int k = 0; k < last; k++)
        bits |= (uint64_t)w->strides[TO][k] | (uint64_t)w->strides[FROM][k];
    while (bits & (words - 1))
        words /= 2;
    w->extents[last] /= words;
    w->strides[TO][last] = w->strides[FROM][last] = words;
    w->rank -= w->extents[last] == 1 && last > 0;
    return words;
}

static hdsrt_status launch(walk *w, uint32_t words, hdsrt_stream stream)
{
    uint64_t count = 1;
    uint32_t rank = (uint32_t)w->rank;
    for (int k = 0; k < w->rank; k++)
        count *= (uint64_t)w->extents[k];
    hdsrt_extents extents = {.grid = {(int64_t)((count + THREADS - 1) / THREADS), 1, 1}, .block = {THREADS, 1, 1}};
    void *parameters[] = {&w->address[TO], &w->address[FROM], &count,         &words,
                          &rank,           w->extents,        w->strides[TO], w->strides[FROM]};
    return hdsrt_launch(&kernel, &extents, parameters, stream);
}

hdsrt_status hdsrt_copy_elements(const hdsrt_elements *to, const hdsrt_elements *from, int ndim, const int64_t *shape,
                                 int element_bytes, hdsrt_stream stream)
{
    walk w = walk_of(to, from, ndim, shape, element_bytes);
    sort_axes(&w);
    add_axis(&w, element_bytes, 1, 1);
    join_axes(&w);
    if (w.rank == 1)
        return hdsrt_copy((void *)(uintptr_t)to->data, from->data, w.extents[0], stream);
    uint32_t words = choose_words(&w);
    return launch(&w, words, stream);
}
