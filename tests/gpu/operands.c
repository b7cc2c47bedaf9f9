// Operators over DLPack tensors that lie anyhow, on a real GPU: whatever the strides and the alignment, results are, to
// the bit, those for the same elements row by row, and what lies between the elements of a result stays. Prints what
// does not hold, and what copies cost; exit code 1 then, 2 without a GPU.
//
//     hdsc -I ops ops/softmax.hds -o softmax.o -h softmax.h --entry=softmax_f16 --entry=softmax_f32
//     hdsc -I ops ops/reduction.hds -o reduction.o -h reduction.h --entry=sum_f32
//     hdsc -I ops ops/sort.hds -o sort.o -h sort.h --entry=sort_f32 --entry=sort_i64 -D 'T=(f32, i64)'
//     cc -I. -Iinclude tests/gpu/operands.c softmax.o reduction.o sort.o -lhdsrt && ./a.out
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "holds.h"
#include "reduction.h"
#include "softmax.h"
#include "sort.h"

enum { AXES = 4, MARGIN = 64 };
enum { INT = 0, FLOAT = 2 };

// ---- tensors --------------------------------------------------------------------------------------------------------

// How the elements lie: axes from the innermost in memory to the outermost, counted from the last axis.
typedef struct layout {
    const char *name;
    int order[AXES];
    int step;     // elements from one to the next along the innermost axis
    int gap;      // elements behind each run of it
    int offset;   // bytes before the first
    int repeated; // the axis with the stride 0, counted from the last one; -1: none. Only of what is read
} layout;

static const layout layouts[] = {
    {"row by row", {0, 1, 2, 3}, 1, 0, 0, -1},
    {"turned", {3, 2, 1, 0}, 1, 0, 0, -1},
    {"rows apart", {0, 1, 2, 3}, 1, 5, 0, -1},
    {"rows apart by vectors", {0, 1, 2, 3}, 1, 16, 0, -1},
    {"axes 1 and 2 exchanged", {0, 2, 1, 3}, 1, 0, 0, -1},
    {"last axes exchanged", {1, 0, 2, 3}, 1, 3, 0, -1},
    {"an element further", {0, 1, 2, 3}, 1, 0, 8, -1},
    {"askew", {0, 1, 2, 3}, 1, 0, 3, -1},
    {"askew and turned", {2, 0, 3, 1}, 1, 1, 5, -1},
    {"every other element", {0, 1, 2, 3}, 2, 0, 0, -1},
    {"rows repeated", {0, 1, 2, 3}, 1, 0, 0, 1},
    {"elements repeated", {0, 1, 2, 3}, 1, 0, 0, 0},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

typedef struct gpu_tensor {
    hdsrt_tensor tensor;
    int64_t shape[AXES], strides[AXES];
    unsigned char *memory, *image; // of the GPU's, and what it was filled with
    int64_t bytes;
} gpu_tensor;

static int64_t elements_of(const hdsrt_tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->ndim; i++)
        count *= t->shape[i];
    return count;
}

// The offset of an element, by its row-major number, in bytes from the beginning of the memory.
static int64_t offset_of(const gpu_tensor *p, int64_t number)
{
    int64_t at = 0;
    for (int i = p->tensor.ndim - 1; i >= 0; i--) {
        at += number % p->shape[i] * p->strides[i];
        number /= p->shape[i];
    }
    return (int64_t)p->tensor.byte_offset + at * (p->tensor.dtype.bits / 8);
}

// In memory of its own, whose bytes are all alike at first.
static void make_tensor(gpu_tensor *p, int code, int bits, int ndim, const int64_t *shape, const layout *l)
{
    int64_t step = l->step;
    *p = (gpu_tensor){.tensor = {.ndim = ndim, .byte_offset = (uint64_t)l->offset}};
    p->tensor.device.device_type = 2;
    p->tensor.dtype.code = (uint8_t)code;
    p->tensor.dtype.bits = (uint8_t)bits;
    p->tensor.dtype.lanes = 1;
    memcpy(p->shape, shape, (size_t)ndim * sizeof *shape);
    for (int k = 0, position = 0; k < AXES; k++) {
        int axis = ndim - 1 - l->order[k];
        if (axis < 0)
            continue;
        bool is_repeated = l->order[k] == l->repeated;
        p->strides[axis] = is_repeated ? 0 : step;
        step = is_repeated ? step : step * shape[axis] + (position ? 0 : l->gap);
        position++;
    }
    p->tensor.shape = p->shape;
    p->tensor.strides = p->strides;
    p->bytes = l->offset + step * (bits / 8) + MARGIN;
    p->image = malloc((size_t)p->bytes);
    memset(p->image, 0xa5, (size_t)p->bytes);
    void *memory = NULL;
    HOLDS(hdsrt_allocate(&memory, p->bytes, NULL) == HDSRT_OK, "%s", l->name);
    HOLDS(hdsrt_copy(memory, p->image, p->bytes, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK, "%s",
          l->name);
    p->memory = p->tensor.data = memory;
}

static void discard(gpu_tensor *p)
{
    HOLDS(hdsrt_release(p->memory, NULL) == HDSRT_OK, "releasing");
    free(p->image);
}

// [values]: in the order of rows. Of elements that lie on one another the last counts.
static void put(gpu_tensor *p, const unsigned char *values)
{
    size_t size = p->tensor.dtype.bits / 8;
    for (int64_t i = 0; i < elements_of(&p->tensor); i++)
        memcpy(p->image + offset_of(p, i), values + (size_t)i * size, size);
    HOLDS(hdsrt_copy(p->memory, p->image, p->bytes, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK,
          "writing");
}

// What the GPU has there. Whether nothing beside the elements has changed.
static bool get(gpu_tensor *p, unsigned char *values)
{
    size_t size = p->tensor.dtype.bits / 8;
    unsigned char *found = malloc((size_t)p->bytes);
    HOLDS(hdsrt_copy(found, p->memory, p->bytes, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK, "reading");
    for (int64_t i = 0; i < elements_of(&p->tensor); i++) {
        memcpy(values + (size_t)i * size, found + offset_of(p, i), size);
        memcpy(found + offset_of(p, i), p->image + offset_of(p, i), size);
    }
    bool is_kept = memcmp(found, p->image, (size_t)p->bytes) == 0;
    free(found);
    return is_kept;
}

// ---- operators ------------------------------------------------------------------------------------------------------

typedef hdsrt_status operation(const hdsrt_tensor *x, const hdsrt_tensor *const *outs);

static hdsrt_status call_softmax(const hdsrt_tensor *x, const hdsrt_tensor *const *outs)
{
    return softmax(x, outs[0], NULL);
}

static hdsrt_status call_sum(const hdsrt_tensor *x, const hdsrt_tensor *const *outs)
{
    return sum(x, outs[0], NULL);
}

static hdsrt_status call_sort(const hdsrt_tensor *x, const hdsrt_tensor *const *outs)
{
    return sort(x, outs[0], outs[1], NULL);
}

typedef struct operator
{
    const char *name;
    operation *call;
    int code, bits;         // of x and the first result
    int outs, columns_bits; // of the second result, integers; 0: none
    bool is_reduction;      // without the last axis
}
operator;

static const operator operators[] = {
    {"softmax_f16", call_softmax, FLOAT, 16, 1, 0, false}, {"softmax_f32", call_softmax, FLOAT, 32, 1, 0, false},
    {"sum_f32", call_sum, FLOAT, 32, 1, 0, true},          {"sort_f32", call_sort, FLOAT, 32, 2, 32, false},
    {"sort_i64", call_sort, INT, 64, 2, 32, false},
};

// Numbers about 1 of either type, a few of them equal.
static void make_values(unsigned char *values, int code, int bits, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t number = rand() % 1000 - 500;
        uint16_t half = (uint16_t)(0x3400 + rand() % 0x0c00) | (uint16_t)(rand() % 2 << 15);
        float single = (float)number / 64.0f;
        const void *value = code == INT ? (void *)&number : bits == 16 ? (void *)&half : (void *)&single;
        memcpy(values + i * (bits / 8), value, (size_t)bits / 8);
    }
}

typedef struct outcome {
    unsigned char *values[2];
    bool is_kept;
    hdsrt_status status;
} outcome;

// Of x as it lies, with results that lie so.
static outcome result_of(const operator* o, const gpu_tensor *x, const layout *l)
{
    gpu_tensor out[2];
    outcome r = {.is_kept = true};
    for (int k = 0; k < o->outs; k++) {
        make_tensor(&out[k], k ? INT : o->code, k ? o->columns_bits : o->bits, x->tensor.ndim - o->is_reduction,
                    x->shape, l);
        r.values[k] = calloc((size_t)elements_of(&out[k].tensor) + 1, 8);
    }
    r.status = o->call(&x->tensor, (const hdsrt_tensor *[]){&out[0].tensor, &out[1].tensor});
    for (int k = 0; k < o->outs; k++) {
        r.is_kept &= get(&out[k], r.values[k]);
        discard(&out[k]);
    }
    return r;
}

static void free_outcome(outcome *r)
{
    free(r->values[0]);
    free(r->values[1]);
}

// x as it lies, and row by row with the elements that it has by then: some are repeated.
static void check_layouts(const operator* o, const int64_t *shape, int of_x, int of_out)
{
    int64_t count = shape[0] * shape[1] * shape[2] * shape[3];
    size_t size = (size_t)o->bits / 8;
    unsigned char *values = calloc((size_t)count + 1, size);
    gpu_tensor x, plain;
    make_values(values, o->code, o->bits, count);
    make_tensor(&x, o->code, o->bits, AXES, shape, &layouts[of_x]);
    put(&x, values);
    HOLDS(get(&x, values), "%s", layouts[of_x].name);
    make_tensor(&plain, o->code, o->bits, AXES, shape, &layouts[0]);
    put(&plain, values);
    outcome expected = result_of(o, &plain, &layouts[0]), found = result_of(o, &x, &layouts[of_out]);
    HOLDS(expected.status == HDSRT_OK && found.status == HDSRT_OK, "%s of x %s, out %s", o->name, layouts[of_x].name,
          layouts[of_out].name);
    for (int k = 0; k < o->outs; k++) {
        int64_t results = o->is_reduction ? shape[0] * shape[1] * shape[2] : count;
        HOLDS(memcmp(expected.values[k], found.values[k], (size_t)results * (k ? (size_t)o->columns_bits / 8 : size)) ==
                  0,
              "%s, result %d, of x %s, out %s", o->name, k, layouts[of_x].name, layouts[of_out].name);
    }
    HOLDS(found.is_kept && expected.is_kept, "%s of x %s, out %s: bytes beside the elements", o->name,
          layouts[of_x].name, layouts[of_out].name);
    HOLDS(get(&x, values), "%s changed x", o->name);
    discard(&x);
    discard(&plain);
    free_outcome(&expected);
    free_outcome(&found);
    free(values);
}

static void check_operators(void)
{
    static const int64_t shapes[][AXES] = {{3, 5, 7, 64}, {2, 1, 33, 130}, {1, 1, 1, 9}, {4, 3, 2, 1000}, {3, 2, 0, 8}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int of_x = 0; of_x < LAYOUTS; of_x++)
                for (int of_out = 0; of_out < LAYOUTS; of_out++)
                    if (layouts[of_out].repeated < 0 && (of_x == 0 || of_out == 0 || of_out == 1 + of_x % 9))
                        check_layouts(&operators[i], shapes[s], of_x, of_out);
}

// ---- times ----------------------------------------------------------------------------------------------------------

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void measure(const char *what, const layout *of_x, const layout *of_out)
{
    enum { ROWS = 8192, COLUMNS = 4096, RUNS = 50 };
    static const int64_t shape[] = {1, 1, ROWS, COLUMNS};
    gpu_tensor x, out;
    double begin = 0;
    make_tensor(&x, FLOAT, 16, AXES, shape, of_x);
    make_tensor(&out, FLOAT, 16, AXES, shape, of_out);
    for (int run = -5; run < RUNS; run++) {
        if (run == 0) {
            HOLDS(hdsrt_synchronize(NULL) == HDSRT_OK, "%s", what);
            begin = microseconds();
        }
        HOLDS(softmax(&x.tensor, &out.tensor, NULL) == HDSRT_OK, "%s", what);
    }
    HOLDS(hdsrt_synchronize(NULL) == HDSRT_OK, "%s", what);
    printf("softmax_f16 of 8192 x 4096, %s: %.0f us\n", what, (microseconds() - begin) / RUNS);
    discard(&x);
    discard(&out);
}

int main(void)
{
    int count = 0;
    if (hdsrt_device_count(&count) != HDSRT_OK || !count) {
        printf("no GPU: %s\n", hdsrt_last_error());
        return 2;
    }
    srand(3);
    check_operators();
    measure("row by row", &layouts[0], &layouts[0]);
    measure("x in rows apart", &layouts[2], &layouts[0]);
    measure("x in rows apart by vectors", &layouts[3], &layouts[0]);
    measure("x an element further", &layouts[6], &layouts[0]);
    measure("x turned", &layouts[1], &layouts[0]);
    measure("both turned", &layouts[1], &layouts[1]);
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures > 0;
}
