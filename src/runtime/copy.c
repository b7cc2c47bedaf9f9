// Copies of strided tensors, for operators that take contiguous ones (operand.c).
//
// The kernels are PTX, which the driver compiles for the GPU that is there: the runtime is built without a compiler for
// GPUs, and programs with machine code for one architecture alone need the copies as well. They move words of 1 to 16
// bytes, as wide as addresses, strides and rows allow, whatever the elements are.
#include "runtime/internal.h"

// The axes of tensors, and the bytes of an element.
enum { MOST = HDSRT_MOST_AXES + 1, WIDEST = 16, THREADS = 256, TILE = 32 };

// ---- the kernels ----------------------------------------------------------------------------------------------------

// clang-format off
#define PARAMETERS \
    "(.param .u64 to, .param .u64 from, .param .u64 count, .param .u32 bytes, .param .u32 rank,\n" \
    " .param .align 8 .b8 extents[136], .param .align 8 .b8 to_strides[136], .param .align 8 .b8 from_strides[136])\n"

// The index %r along an axis that has %b of what the block's number %i counts, which is divided by it.
#define NEXT_INDEX "div.u32 %q, %i, %b;\nmul.lo.u32 %r, %q, %b;\nsub.u32 %r, %i, %r;\nmov.u32 %i, %q;\n"
// Goes to where the tile begins along an axis; LEFT is the extent before, and then that behind it.
#define BEGIN_TILE(LEFT, TO_STRIDE, FROM_STRIDE) \
    "add.u64 %n, " LEFT ", 31;\nshr.u64 %n, %n, 5;\ncvt.u32.u64 %b, %n;\n" NEXT_INDEX "mul.wide.u32 %n, %r, 32;\n" \
    "sub.u64 " LEFT ", " LEFT ", %n;\n" \
    "mad.lo.u64 %to, %n, " TO_STRIDE ", %to;\nmad.lo.u64 %from, %n, " FROM_STRIDE ", %from;\n"
// The four words, in these registers, from %f0, %f1, … to %t0, %t1, …, one of which is in shared memory.
#define MOVE_FOUR(TYPE, A, B, C, D) \
    "@%p0 ld." TYPE " " A ", [%f0];\n@%p1 ld." TYPE " " B ", [%f1];\n" \
    "@%p2 ld." TYPE " " C ", [%f2];\n@%p3 ld." TYPE " " D ", [%f3];\n" \
    "@%p0 st." TYPE " [%t0], " A ";\n@%p1 st." TYPE " [%t1], " B ";\n" \
    "@%p2 st." TYPE " [%t2], " C ";\n@%p3 st." TYPE " [%t3], " D ";\n"
#define MOVE_WORDS(TYPE) MOVE_FOUR(TYPE, "%d0", "%d1", "%d2", "%d3") "bra moved;\n"

static const char code[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"

    // A thread copies word number i of [count], each of [bytes]. Axes are numbered from the outermost; from the innermost
    // on, the remainder of i by the extent is the index there, and the quotient goes on, the index along the outermost one.
    // Strides are in bytes. Division of 32 bits is several times faster than that of 64.
    ".visible .entry copy" PARAMETERS "{\n"
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
    "}\n"

    // Words that lie side by side along axis 0 where they are written, and along axis 1 where they are read. A block moves
    // 32 x 32 of them by way of shared memory, where rows are 33 words apart for the sake of the banks: neighbouring threads
    // read neighbours, and write neighbours. A thread has four words, 8 rows apart. Tiles are numbered along axis 0 first,
    // then along axis 1, and by the other axes from the innermost on; there are less than 2 ** 31.
    ".visible .entry transpose" PARAMETERS "{\n"
    ".shared .align 16 .b8 tile[16896];\n"
    ".reg .pred %p, %p0, %p1, %p2, %p3, %reads, %writes;\n.reg .u32 %b, %i, %k, %q, %r, %w, %x, %y;\n"
    ".reg .u64 %d<4>, %e<4>, %f<4>, %t<4>, %ft, %tt, %from, %to, %in, %out, %at, %n;\n"
    ".reg .u64 %left0, %left1, %from0, %from1, %to0, %to1;\n"
    "mov.u32 %i, %ctaid.x;\nld.param.u64 %to, [to];\nld.param.u64 %from, [from];\n"
    "ld.param.u64 %left0, [extents];\nld.param.u64 %to0, [to_strides];\nld.param.u64 %from0, [from_strides];\n"
    "ld.param.u64 %left1, [extents+8];\nld.param.u64 %to1, [to_strides+8];\nld.param.u64 %from1, [from_strides+8];\n"
    BEGIN_TILE("%left0", "%to0", "%from0") BEGIN_TILE("%left1", "%to1", "%from1")
    "ld.param.u32 %k, [rank];\n"
    "axis:\n"
    "setp.eq.u32 %p, %k, 2;\n@%p bra placed;\nsub.u32 %k, %k, 1;\nmul.wide.u32 %at, %k, 8;\n"
    "mov.b64 %n, extents;\nadd.u64 %n, %n, %at;\nld.param.u32 %b, [%n];\n" NEXT_INDEX
    "mov.b64 %n, to_strides;\nadd.u64 %n, %n, %at;\nld.param.u64 %d0, [%n];\n"
    "mov.b64 %n, from_strides;\nadd.u64 %n, %n, %at;\nld.param.u64 %d1, [%n];\n"
    "cvt.u64.u32 %n, %r;\nmad.lo.u64 %to, %n, %d0, %to;\nmad.lo.u64 %from, %n, %d1, %from;\nbra axis;\n"
    "placed:\n"
    "mov.u32 %y, %tid.x;\nand.b32 %x, %y, 31;\nshr.u32 %y, %y, 5;\n"
    "cvt.u64.u32 %n, %x;\nsetp.lt.u64 %reads, %n, %left1;\nsetp.lt.u64 %writes, %n, %left0;\n"
    "mad.lo.u64 %from, %n, %from1, %from;\nmad.lo.u64 %to, %n, %to0, %to;\n"
    "cvt.u64.u32 %n, %y;\nsub.u64 %left0, %left0, %n;\nsub.u64 %left1, %left1, %n;\n"
    "mad.lo.u64 %f0, %n, %from0, %from;\nmad.lo.u64 %to, %n, %to1, %to;\n"
    "ld.param.u32 %w, [bytes];\nmov.u64 %n, tile;\ncvta.shared.u64 %n, %n;\n"
    "mad.lo.u32 %b, %y, 33, %x;\nmul.wide.u32 %in, %b, %w;\nadd.u64 %t0, %n, %in;\n"
    "mad.lo.u32 %b, %x, 33, %y;\nmul.wide.u32 %out, %b, %w;\nadd.u64 %out, %n, %out;\n"
    "shl.b64 %ft, %from0, 3;\nmul.wide.u32 %tt, %w, 264;\nmov.u32 %k, 0;\n"
    "move:\n"
    "setp.gt.and.s64 %p0, %left0, 0, %reads;\nsetp.gt.and.s64 %p1, %left0, 8, %reads;\n"
    "setp.gt.and.s64 %p2, %left0, 16, %reads;\nsetp.gt.and.s64 %p3, %left0, 24, %reads;\n"
    "add.u64 %f1, %f0, %ft;\nadd.u64 %f2, %f1, %ft;\nadd.u64 %f3, %f2, %ft;\n"
    "add.u64 %t1, %t0, %tt;\nadd.u64 %t2, %t1, %tt;\nadd.u64 %t3, %t2, %tt;\n"
    "setp.eq.u32 %p, %w, 2;\n@%p bra two;\nsetp.eq.u32 %p, %w, 4;\n@%p bra four;\n"
    "setp.eq.u32 %p, %w, 8;\n@%p bra eight;\nsetp.eq.u32 %p, %w, 16;\n@%p bra sixteen;\n"
    MOVE_WORDS("u8") "two:\n" MOVE_WORDS("u16") "four:\n" MOVE_WORDS("u32") "eight:\n" MOVE_WORDS("u64")
    "sixteen:\n" MOVE_FOUR("v2.u64", "{%d0, %e0}", "{%d1, %e1}", "{%d2, %e2}", "{%d3, %e3}")
    "moved:\n"
    "setp.eq.u32 %p, %k, 1;\n@%p ret;\nbar.sync 0;\n"
    "mov.u32 %k, 1;\nmov.pred %reads, %writes;\nmov.u64 %left0, %left1;\n"
    "mov.u64 %f0, %out;\nmul.wide.u32 %ft, %w, 8;\nmov.u64 %t0, %to;\nshl.b64 %tt, %to1, 3;\nbra move;\n"
    "}\n";
// clang-format on

_Static_assert(MOST * sizeof(int64_t) == 136 && THREADS == 256 && TILE == 32, "the kernels say so");

static const uint16_t archs[] = {75};
static hdsrt_library library = {.name = "copies of tensors",
                                .image = code,
                                .image_bytes = sizeof code,
                                .archs = archs,
                                .arch_count = 1,
                                .ptx_arch = 0};
static hdsrt_kernel copy = {.library = &library, .symbol = "copy", .name = "a copy of a tensor"};
static hdsrt_kernel transpose = {.library = &library, .symbol = "transpose", .name = "a copy of a transposed tensor"};

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

static void exchange_axes(walk *w, int i, int j)
{
    swap(&w->extents[i], &w->extents[j]);
    swap(&w->strides[TO][i], &w->strides[TO][j]);
    swap(&w->strides[FROM][i], &w->strides[FROM][j]);
}

// What is side by side where it is written is written side by side, by neighbouring threads.
static void sort_axes(walk *w)
{
    for (int k = 1; k < w->rank; k++)
        for (int at = k; at > 0 && w->strides[TO][at - 1] < w->strides[TO][at]; at--)
            exchange_axes(w, at - 1, at);
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

// The size of the widest words that divide the whole copy. The last axis then counts words, and is omitted where it
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

// Whether elements are nearer to each other along another axis than along the last one where they are read, and both
// are long enough for tiles, whose axes they become then: 0 and 1.
static bool may_transpose(walk *w)
{
    int last = w->rank - 1, nearest = last;
    for (int k = 0; k < last; k++)
        if (w->extents[k] >= TILE / 2 && w->strides[FROM][k] && w->strides[FROM][k] < w->strides[FROM][nearest])
            nearest = k;
    if (nearest == last || w->extents[last] < TILE / 2)
        return false;
    exchange_axes(w, 0, last);
    exchange_axes(w, 1, nearest ? nearest : last);
    return true;
}

static uint64_t product(const int64_t *extents, int count)
{
    uint64_t result = 1;
    for (int k = 0; k < count; k++)
        result *= (uint64_t)extents[k];
    return result;
}

static uint64_t tiles_of(const walk *w)
{
    uint64_t first = ((uint64_t)w->extents[0] + TILE - 1) / TILE, second = ((uint64_t)w->extents[1] + TILE - 1) / TILE;
    return first * second * product(w->extents + 2, w->rank - 2);
}

static hdsrt_status launch(walk *w, uint32_t words, hdsrt_stream stream)
{
    bool is_transposed = may_transpose(w);
    uint32_t rank = (uint32_t)w->rank;
    uint64_t count = product(w->extents, w->rank);
    uint64_t blocks = is_transposed ? tiles_of(w) : (count + THREADS - 1) / THREADS;
    hdsrt_extents extents = {.grid = {(int64_t)blocks, 1, 1}, .block = {THREADS, 1, 1}};
    void *parameters[] = {&w->address[TO], &w->address[FROM], &count,         &words,
                          &rank,           w->extents,        w->strides[TO], w->strides[FROM]};
    return hdsrt_launch(is_transposed ? &transpose : &copy, &extents, parameters, stream);
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
