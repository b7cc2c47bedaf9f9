// Operands that operators do not take as they lie: copies of them, on a double of the GPU whose launches do what the
// kernels do.
#include "rig.h"

int cuStreamCreate(void **stream, unsigned flags);

// ---- the kernels ----------------------------------------------------------------------------------------------------

enum { AXES = HDSRT_MOST_AXES + 1, TILE = 32 };

static uint32_t copied_words; // bytes of the last launch's words
static bool has_turned;       // and whether it was one by tiles

typedef struct kernel_arguments {
    uint64_t to, from, count;
    uint32_t words, rank;
    int64_t extents[AXES], strides[2][AXES];
} kernel_arguments;

static void argument(const fake_cuda_launch *l, int number, void *to, size_t bytes)
{
    EXPECT(l->sizes[number] == bytes);
    memcpy(to, l->parameters + l->offsets[number], bytes);
}

static kernel_arguments arguments_of(const fake_cuda_launch *l)
{
    kernel_arguments a;
    EXPECT(l->parameter_count == 8 && l->is_ptx && l->block[0] == 256);
    argument(l, 0, &a.to, sizeof a.to);
    argument(l, 1, &a.from, sizeof a.from);
    argument(l, 2, &a.count, sizeof a.count);
    argument(l, 3, &a.words, sizeof a.words);
    argument(l, 4, &a.rank, sizeof a.rank);
    argument(l, 5, a.extents, sizeof a.extents);
    argument(l, 6, a.strides[0], sizeof a.strides[0]);
    argument(l, 7, a.strides[1], sizeof a.strides[1]);
    EXPECT(a.rank <= AXES);
    return a;
}

static void move_word(const kernel_arguments *a, const int64_t *index)
{
    uint64_t to = a->to, from = a->from;
    for (uint32_t k = 0; k < a->rank; k++) {
        to += (uint64_t)(index[k] * a->strides[0][k]);
        from += (uint64_t)(index[k] * a->strides[1][k]);
    }
    EXPECT(to % a->words == 0 && from % a->words == 0);
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, a->words);
}

// The index along an axis that has so many.
static int64_t next_index(uint64_t *number, int64_t extent)
{
    int64_t index = (int64_t)(*number % (uint64_t)extent);
    *number /= (uint64_t)extent;
    return index;
}

// What a thread of 'copy' does.
static void copy_word(const kernel_arguments *a, uint64_t number)
{
    int64_t index[AXES];
    for (int k = (int)a->rank - 1; k >= 0; k--)
        index[k] = next_index(&number, a->extents[k]);
    EXPECT(number == 0);
    move_word(a, index);
}

// What a block of 'transpose' does.
static void copy_tile(const kernel_arguments *a, uint64_t number)
{
    int64_t index[AXES], begin[2];
    for (int k = 0; k < 2; k++)
        begin[k] = next_index(&number, (a->extents[k] + TILE - 1) / TILE) * TILE;
    for (int k = (int)a->rank - 1; k >= 2; k--)
        index[k] = next_index(&number, a->extents[k]);
    EXPECT(number == 0);
    for (index[0] = begin[0]; index[0] < begin[0] + TILE && index[0] < a->extents[0]; index[0]++)
        for (index[1] = begin[1]; index[1] < begin[1] + TILE && index[1] < a->extents[1]; index[1]++)
            move_word(a, index);
}

static void run(void *user, const fake_cuda_launch *l)
{
    kernel_arguments a = arguments_of(l);
    uint64_t blocks = l->grid[0], moved = 0;
    (void)user;
    copied_words = a.words;
    has_turned = strcmp(l->kernel, "transpose") == 0;
    if (has_turned) {
        EXPECT(a.rank >= 2);
        uint64_t tiles = 1;
        for (uint32_t k = 0; k < a.rank; k++)
            tiles *= (uint64_t)(k < 2 ? (a.extents[k] + TILE - 1) / TILE : a.extents[k]);
        EXPECT(blocks == tiles);
        for (uint64_t block = 0; block < blocks; block++)
            copy_tile(&a, block);
        return;
    }
    EXPECT(strcmp(l->kernel, "copy") == 0 && a.rank >= 1 && blocks == (a.count + 255) / 256);
    while (moved < a.count)
        copy_word(&a, moved++);
}

// ---- tensors --------------------------------------------------------------------------------------------------------

// same(x: T[*S]) -> T[*S]
static const hdsrt_operand same[] = {{"x", 0, 0, 1, false, false}, {"out", 0, 0, 1, true, true}};

enum { ROOM = 1 << 16 };

typedef struct gpu_tensor {
    hdsrt_tensor tensor;
    int64_t shape[HDSRT_MOST_AXES], strides[HDSRT_MOST_AXES];
    unsigned char *memory; // ROOM bytes of the GPU's
} gpu_tensor;

static gpu_tensor make_tensor(int bits, int ndim, const int64_t *shape, const int64_t *strides, int offset)
{
    gpu_tensor p = {0};
    void *memory = NULL;
    EXPECT(hdsrt_allocate(&memory, ROOM, NULL) == HDSRT_OK);
    p.memory = memory;
    for (int i = 0; i < ROOM; i++)
        p.memory[i] = (unsigned char)rand();
    memcpy(p.shape, shape, (size_t)ndim * sizeof *shape);
    if (strides)
        memcpy(p.strides, strides, (size_t)ndim * sizeof *strides);
    p.tensor.data = memory;
    p.tensor.byte_offset = (uint64_t)offset;
    p.tensor.ndim = ndim;
    p.tensor.device.device_type = 2;
    p.tensor.dtype.code = 1;
    p.tensor.dtype.bits = (uint8_t)bits;
    p.tensor.dtype.lanes = 1;
    return p;
}

// Structs move, so the pointers into them are set last.
static const hdsrt_tensor *tensor_of(gpu_tensor *p, bool has_strides)
{
    p->tensor.shape = p->shape;
    p->tensor.strides = has_strides ? p->strides : NULL;
    return &p->tensor;
}

static void free_tensor(gpu_tensor *p)
{
    EXPECT(hdsrt_release(p->memory, NULL) == HDSRT_OK);
}

static int64_t count_of(const hdsrt_tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->ndim; i++)
        count *= t->shape[i];
    return count;
}

// Of the element with that number in the order of rows.
static unsigned char *element(const hdsrt_tensor *t, int64_t number)
{
    int64_t at = 0, dense = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        at += number % t->shape[i] * (t->strides ? t->strides[i] : dense);
        number /= t->shape[i];
        dense *= t->shape[i];
    }
    return (unsigned char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
}

static hdsrt_status choose(const hdsrt_tensor *const tensors[2], hdsrt_joined *j, hdsrt_stream stream)
{
    int instance = -1;
    const hdsrt_dtype of = {tensors[0]->dtype.code, tensors[0]->dtype.bits}, types[] = {of, of};
    return hdsrt_choose_instance("same", same, types, 2, 1, tensors, stream, j, &instance);
}

static void holds(const hdsrt_joined *j, const hdsrt_tensor *t)
{
    const hdsrt_tensor *copy = &j->tensor;
    EXPECT(copy->ndim == 1 && copy->shape[0] == count_of(t) && (uintptr_t)copy->data % 16 == 0);
    for (int64_t k = 0; k < count_of(t); k++)
        EXPECT(memcmp(element(copy, k), element(t, k), t->dtype.bits / 8) == 0);
}

// Writes a result, and looks whether it is what comes back, and all that does.
static void returns(hdsrt_joined *j, gpu_tensor *out, const hdsrt_tensor *const tensors[2])
{
    static unsigned char before[ROOM], result[ROOM];
    size_t bytes = out->tensor.dtype.bits / 8;
    int64_t count = count_of(&out->tensor);
    memcpy(before, out->memory, ROOM);
    for (size_t i = 0; i < (size_t)count * bytes; i++)
        result[i] = ((unsigned char *)j[1].copy)[i] = (unsigned char)rand();
    EXPECT(hdsrt_finish_instance(same, 2, tensors, j, HDSRT_OK, NULL) == HDSRT_OK);
    for (int64_t k = 0; k < count; k++) {
        EXPECT(memcmp(element(&out->tensor, k), result + (size_t)k * bytes, bytes) == 0);
        memcpy(element(&out->tensor, k), before + (element(&out->tensor, k) - out->memory), bytes);
    }
    EXPECT(memcmp(before, out->memory, ROOM) == 0);
}

// The end of a call that chose j for x and out: what was copied goes back; then both tensors go.
static void finish(hdsrt_joined *j, gpu_tensor *x, gpu_tensor *out, const hdsrt_tensor *const tensors[2])
{
    if (j[1].copy)
        returns(j, out, tensors);
    else
        EXPECT(hdsrt_finish_instance(same, 2, tensors, j, HDSRT_OK, NULL) == HDSRT_OK);
    free_tensor(x);
    free_tensor(out);
}

// Axes in any order in memory, with gaps, from any byte on; [is_repeated]: some with the stride 0.
static gpu_tensor random_tensor(int bits, int ndim, const int64_t *shape, bool is_repeated)
{
    int order[HDSRT_MOST_AXES];
    int64_t strides[HDSRT_MOST_AXES] = {0}, step = rand() % 4 ? 1 : 2;
    for (int i = 0; i < ndim; i++) {
        int at = rand() % (i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < ndim; i++) {
        strides[order[i]] = is_repeated && rand() % 4 == 0 ? 0 : step;
        step = step * shape[order[i]] + (rand() % 3 ? 0 : rand() % 9);
        step = rand() % 3 ? step : (step + 7) / 8 * 8;
    }
    return make_tensor(bits, ndim, shape, strides, rand() % 2 ? 0 : rand() % 33);
}

RIG_TEST(any_tensors)
{
    srand(7);
    fake_cuda_on_launch(run, NULL);
    for (int round = 0; round < 600; round++) {
        int bits = 8 << rand() % 5, ndim = rand() % 6;
        int64_t shape[HDSRT_MOST_AXES];
        for (int i = 0; i < ndim; i++)
            shape[i] = 1 + rand() % 4;
        gpu_tensor x = random_tensor(bits, ndim, shape, true), out = random_tensor(bits, ndim, shape, false);
        const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, true)};
        hdsrt_joined j[2];
        EXPECT(choose(tensors, j, NULL) == HDSRT_OK);
        holds(&j[0], &x.tensor);
        EXPECT(j[1].tensor.ndim == 1 && (uintptr_t)j[1].tensor.data % 16 == 0);
        finish(j, &x, &out, tensors);
    }
    EXPECT(fake_cuda_live("memory") == 0);
}

// Two long axes and a short one, in any order in memory.
static gpu_tensor random_long_tensor(int bits, const int64_t *shape)
{
    int64_t strides[3], step = bits > 32 || rand() % 4 ? 1 : 2;
    int first = rand() % 3, second = (first + 1 + rand() % 2) % 3, order[] = {first, second, 3 - first - second};
    for (int i = 0; i < 3; i++) {
        strides[order[i]] = step;
        step = step * shape[order[i]] + (i || rand() % 2 ? 0 : rand() % 3);
    }
    return make_tensor(bits, 3, shape, strides, rand() % 2 ? 0 : rand() % 33);
}

RIG_TEST(long_tensors)
{
    int turned = 0;
    srand(11);
    fake_cuda_on_launch(run, NULL);
    for (int round = 0; round < 100; round++) {
        int bits = 8 << rand() % 4, short_axis = rand() % 3;
        int64_t shape[3];
        for (int i = 0; i < 3; i++)
            shape[i] = i == short_axis ? 1 + rand() % 2 : 14 + rand() % 25;
        gpu_tensor x = random_long_tensor(bits, shape), out = random_long_tensor(bits, shape);
        const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, true)};
        hdsrt_joined j[2];
        has_turned = false;
        EXPECT(choose(tensors, j, NULL) == HDSRT_OK);
        turned += has_turned;
        holds(&j[0], &x.tensor);
        finish(j, &x, &out, tensors);
    }
    EXPECT(turned > 20 && turned < 80 && fake_cuda_live("memory") == 0);
}

RIG_TEST(sixteen_axes)
{
    int64_t shape[HDSRT_MOST_AXES], strides[HDSRT_MOST_AXES];
    fake_cuda_on_launch(run, NULL);
    for (int i = 0; i < HDSRT_MOST_AXES; i++) {
        shape[i] = i % 2 ? 1 : 2;
        strides[i] = 3 << i / 2;
    }
    gpu_tensor x = make_tensor(16, HDSRT_MOST_AXES, shape, strides, 1),
               out = make_tensor(16, HDSRT_MOST_AXES, shape, strides, 0);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, true)};
    hdsrt_joined j[2];
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK && copied_words == 1);
    holds(&j[0], &x.tensor);
    returns(j, &out, tensors);
}

// ---- how ------------------------------------------------------------------------------------------------------------

static uint32_t words_of(gpu_tensor x)
{
    gpu_tensor out = make_tensor(x.tensor.dtype.bits, x.tensor.ndim, x.shape, NULL, 0);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, false)};
    hdsrt_joined j[2];
    fake_cuda_forget();
    copied_words = 0;
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK && j[0].copy && !j[1].copy);
    holds(&j[0], &x.tensor);
    EXPECT(fake_cuda_calls("cuMemAllocAsync") == 1 && fake_cuda_launches() + fake_cuda_calls("cuMemcpyAsync") == 1);
    EXPECT(hdsrt_finish_instance(same, 2, tensors, j, HDSRT_OK, NULL) == HDSRT_OK);
    EXPECT(fake_cuda_launches() + fake_cuda_calls("cuMemcpyAsync") == 1 && fake_cuda_calls("cuMemFreeAsync") == 1);
    free_tensor(&x);
    free_tensor(&out);
    return copied_words;
}

RIG_TEST(moves_wide_words)
{
    int64_t shape[] = {4, 32};
    fake_cuda_on_launch(run, NULL);
    EXPECT(words_of(make_tensor(16, 2, shape, (int64_t[]){40, 1}, 0)) == 16); // rows with gaps
    EXPECT(words_of(make_tensor(16, 2, shape, (int64_t[]){36, 1}, 0)) == 8);
    EXPECT(words_of(make_tensor(16, 2, shape, (int64_t[]){40, 1}, 4)) == 4);
    EXPECT(words_of(make_tensor(16, 2, shape, (int64_t[]){33, 1}, 0)) == 2);
    EXPECT(words_of(make_tensor(32, 2, shape, (int64_t[]){1, 4}, 0)) == 4);  // turned
    EXPECT(words_of(make_tensor(64, 2, shape, (int64_t[]){0, 1}, 0)) == 16); // a row that is repeated
    EXPECT(words_of(make_tensor(128, 2, shape, (int64_t[]){1, 4}, 8)) == 8); // elements that lie askew
    EXPECT(words_of(make_tensor(32, 2, shape, (int64_t[]){32, 1}, 4)) == 0); // the driver copies contiguous memory
    EXPECT(words_of(make_tensor(32, 2, shape, (int64_t[]){32, 1}, 3)) == 0);
    EXPECT(fake_cuda_live("memory") == 0);
}

static bool turns(gpu_tensor x)
{
    has_turned = false;
    words_of(x);
    return has_turned;
}

// Where neighbours are read and where they are written there are enough of them.
RIG_TEST(turns_what_is_long_enough)
{
    int64_t matrix[] = {20, 16}, narrow[] = {20, 15}, flat[] = {15, 20}, cube[] = {16, 3, 17};
    fake_cuda_on_launch(run, NULL);
    EXPECT(turns(make_tensor(32, 2, matrix, (int64_t[]){1, 20}, 0)));
    EXPECT(turns(make_tensor(128, 2, matrix, (int64_t[]){1, 20}, 0)) && copied_words == 16);
    EXPECT(turns(make_tensor(16, 2, matrix, (int64_t[]){2, 41}, 0))); // neighbours with gaps
    EXPECT(!turns(make_tensor(32, 2, narrow, (int64_t[]){1, 20}, 0)));
    EXPECT(!turns(make_tensor(32, 2, flat, (int64_t[]){1, 20}, 0)));
    EXPECT(!turns(make_tensor(32, 2, matrix, (int64_t[]){16, 1}, 8))); // rows that begin askew
    EXPECT(!turns(make_tensor(32, 2, matrix, (int64_t[]){1, 0}, 0)));  // columns of one element
    EXPECT(!turns(make_tensor(32, 2, matrix, (int64_t[]){0, 2}, 0)));  // one row
    EXPECT(turns(make_tensor(64, 3, cube, (int64_t[]){1, 272, 16}, 0)));
    EXPECT(turns(make_tensor(64, 3, cube, (int64_t[]){3, 1, 48}, 0)));    // the nearest axis is too short
    EXPECT(!turns(make_tensor(64, 3, cube, (int64_t[]){51, 1, 3}, 0)));   // channels
    EXPECT(!turns(make_tensor(64, 3, cube, (int64_t[]){17, 272, 1}, 0))); // rows stay rows
    EXPECT(fake_cuda_live("memory") == 0);
}

RIG_TEST(plain_ones_cost_nothing)
{
    int64_t shape[] = {3, 1, 8}, none[] = {3, 0, 8}, odd[] = {8, 77, 1};
    gpu_tensor x = make_tensor(32, 3, shape, odd, 16), out = make_tensor(32, 3, shape, NULL, 0);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, false)};
    hdsrt_joined j[2];
    fake_cuda_forget();
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK && !j[0].copy && j[0].tensor.byte_offset == 16 &&
           j[0].tensor.data == x.memory);
    EXPECT(hdsrt_finish_instance(same, 2, tensors, j, HDSRT_OK, NULL) == HDSRT_OK);
    EXPECT(hdsrt_finish_instance(same, 2, tensors, j, HDSRT_ASSERTION, NULL) == HDSRT_ASSERTION);
    // without elements, wherever they are not
    memcpy(x.shape, none, sizeof none);
    memcpy(out.shape, none, sizeof none);
    x.tensor.data = NULL;
    x.tensor.byte_offset = 3;
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK && !j[0].copy && !j[1].copy);
    x.tensor.data = x.memory + 5;
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK && !j[0].tensor.data && !j[0].tensor.byte_offset && !j[0].copy);
    EXPECT(!fake_cuda_calls("cuMemAllocAsync") && !fake_cuda_launches() && !fake_cuda_calls("cuMemcpyAsync"));
    free_tensor(&x);
    free_tensor(&out);
}

RIG_TEST(columns_of_one_matrix)
{
    int64_t shape[] = {4, 24}, apart[] = {48, 1};
    gpu_tensor x = make_tensor(16, 2, shape, apart, 0), out = make_tensor(16, 2, shape, apart, 48);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, true)};
    hdsrt_joined j[2];
    fake_cuda_on_launch(run, NULL);
    EXPECT(hdsrt_release(x.memory, NULL) == HDSRT_OK);
    x.tensor.data = out.memory;
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK && copied_words == 16);
    holds(&j[0], &x.tensor);
    returns(j, &out, tensors);
}

// tailed(x: T[*S, N]) -> T[*S]: what has no elements is no copy, what it gives may be one.
RIG_TEST(a_result_of_nothing)
{
    static const hdsrt_operand operands[] = {{"x", 0, 1, 1, false, false}, {"out", 0, 0, 1, true, true}};
    static const hdsrt_dtype types[] = {{1, 32}, {1, 32}};
    gpu_tensor x = make_tensor(32, 2, (int64_t[]){4, 0}, (int64_t[]){9, 5}, 0),
               out = make_tensor(32, 1, (int64_t[]){4}, (int64_t[]){2}, 0);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, true)};
    hdsrt_joined j[2];
    int instance;
    fake_cuda_on_launch(run, NULL);
    EXPECT(hdsrt_choose_instance("tailed", operands, types, 2, 1, tensors, NULL, j, &instance) == HDSRT_OK);
    EXPECT(!j[0].copy && j[0].tensor.ndim == 2 && j[0].tensor.shape[0] == 4 && j[1].copy && fake_cuda_launches() == 0);
    returns(j, &out, tensors);
}

// grown(x: T[*S], sum: T[*S]) -> T[*S] whose code writes to an operand as well: that is copied both ways. One is left
// out.
RIG_TEST(what_is_written_and_read)
{
    static const hdsrt_operand operands[] = {
        {"x", 0, 0, 1, false, false}, {"sum", 0, 0, 1, true, false}, {"out", 0, 0, 1, true, true}};
    static const hdsrt_dtype types[] = {{0, 0}, {1, 32}, {1, 32}};
    gpu_tensor sum = make_tensor(32, 1, (int64_t[]){8}, (int64_t[]){3}, 0),
               out = make_tensor(32, 1, (int64_t[]){8}, NULL, 0);
    const hdsrt_tensor *const tensors[] = {NULL, tensor_of(&sum, true), tensor_of(&out, false)};
    hdsrt_joined j[3];
    void *stream = NULL;
    int instance;
    fake_cuda_launch launch;
    EXPECT(cuStreamCreate(&stream, 0) == 0);
    fake_cuda_on_launch(run, NULL);
    EXPECT(hdsrt_choose_instance("grown", operands, types, 3, 1, tensors, stream, j, &instance) == HDSRT_OK);
    EXPECT(!j[0].copy && j[1].copy && !j[2].copy);
    holds(&j[1], &sum.tensor);
    memset(j[1].copy, 5, 32);
    EXPECT(hdsrt_finish_instance(operands, 3, tensors, j, HDSRT_OK, stream) == HDSRT_OK);
    EXPECT(*element(&sum.tensor, 7) == 5 && *(element(&sum.tensor, 7) + 3) == 5);
    for (int i = 0; i < 2; i++)
        EXPECT(fake_cuda_launch_at(i, &launch) && launch.stream == stream);
    EXPECT(fake_cuda_launches() == 2 && fake_cuda_live("memory") == 2);
}

// ---- what goes wrong ------------------------------------------------------------------------------------------------

RIG_TEST(failures_leave_nothing)
{
    int64_t shape[] = {4, 8}, turned[] = {1, 4};
    gpu_tensor x = make_tensor(32, 2, shape, turned, 0), out = make_tensor(32, 2, shape, turned, 4);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, true)};
    hdsrt_joined j[2];
    fake_cuda_on_launch(run, NULL);
    for (int nth = 1; nth <= 2; nth++) {
        fake_cuda_fail("cuMemAllocAsync", nth, 2);
        EXPECT_FAILURE(HDSRT_OUT_OF_MEMORY, choose(tensors, j, NULL), "allocating 128 bytes on GPU 0");
        EXPECT(fake_cuda_live("memory") == 2);
    }
    fake_cuda_fail("cuLibraryLoadData", 1, 221);
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK); // loaded already
    EXPECT(fake_cuda_live("memory") == 4);
    EXPECT(hdsrt_finish_instance(same, 2, tensors, j, HDSRT_ASSERTION, NULL) == HDSRT_ASSERTION);
    EXPECT(fake_cuda_live("memory") == 2);
    fake_cuda_fail("cuLaunchKernel", 1, 719);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, choose(tensors, j, NULL), "launching 'a copy of a tensor'");
    EXPECT(fake_cuda_live("memory") == 2);
    fake_cuda_fail("cuLaunchKernel", 2, 719);
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_finish_instance(same, 2, tensors, j, HDSRT_OK, NULL),
                   "launching 'a copy of a tensor'");
    EXPECT(fake_cuda_live("memory") == 2);
    // releasing: the first that fails is told, the others are released
    EXPECT(choose(tensors, j, NULL) == HDSRT_OK);
    fake_cuda_fail("cuMemFreeAsync", 1, 999);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_finish_instance(same, 2, tensors, j, HDSRT_OK, NULL), "releasing memory");
    EXPECT(fake_cuda_live("memory") == 3);
}

RIG_TEST(code_that_does_not_load)
{
    gpu_tensor x = make_tensor(32, 2, (int64_t[]){4, 8}, (int64_t[]){1, 4}, 0),
               out = make_tensor(32, 2, (int64_t[]){4, 8}, NULL, 0);
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, true), tensor_of(&out, false)};
    hdsrt_joined j[2];
    fake_cuda_fail("cuLibraryLoadData", 1, 221);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, choose(tensors, j, NULL), "loading the code of 'copies of tensors'");
    EXPECT(fake_cuda_live("memory") == 2);
}

// Refused before anything is allocated.
static void refused(gpu_tensor x, gpu_tensor out, const char *text)
{
    const hdsrt_tensor *const tensors[] = {tensor_of(&x, x.strides[0]), tensor_of(&out, out.strides[0])};
    hdsrt_joined j[2];
    fake_cuda_forget();
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, choose(tensors, j, NULL), text);
    EXPECT(fake_cuda_calls("cuMemAllocAsync") == 0 && fake_cuda_launches() == 0 &&
           fake_cuda_calls("cuMemcpyAsync") == 0);
}

RIG_TEST(refuses)
{
    const int64_t shape[] = {4, 8}, turned[] = {1, 4}, backwards[] = {8, -1}, folded[] = {8, 0};
    gpu_tensor x = make_tensor(32, 2, shape, turned, 0), out = make_tensor(32, 2, shape, NULL, 0), other = x;
    refused(make_tensor(32, 2, shape, backwards, 0), out,
            "'same': 'x' has a stride of -1 elements along axis 1, and it has to be at least 0");
    refused(x, make_tensor(32, 2, shape, folded, 0), "'same': 'out' is written, and its elements overlap");
    other.tensor.device.device_type = 1;
    refused(other, out, "'same': 'x' is on the host, and it has to be on the current GPU");
    other = x;
    other.tensor.data = NULL;
    refused(other, out, "'same': the data of 'x' is null");
    other = out;
    other.tensor.data = x.tensor.data;
    refused(x, other, "'same': 'x' and 'out' overlap, and 'out' is written");
    x.tensor.dtype.bits = out.tensor.dtype.bits = 4;
    refused(x, out,
            "'same': 'x' has to be contiguous, and aligned to 16 bytes, since elements of 4 bits "
            "are not "
            "copied: make a contiguous copy");
}

RIG_TEST(too_many)
{
    enum { COUNT = 17 };
    hdsrt_operand operands[COUNT];
    hdsrt_dtype types[COUNT];
    const hdsrt_tensor *tensors[COUNT];
    hdsrt_joined j[COUNT];
    int instance;
    gpu_tensor x = make_tensor(32, 1, (int64_t[]){4}, (int64_t[]){2}, 0);
    for (int i = 0; i < COUNT; i++) {
        operands[i] = (hdsrt_operand){.name = "x", .group = 1};
        types[i] = (hdsrt_dtype){1, 32};
        tensors[i] = tensor_of(&x, true);
    }
    EXPECT_FAILURE(HDSRT_UNSUPPORTED,
                   hdsrt_choose_instance("many", operands, types, COUNT, 1, tensors, NULL, j, &instance),
                   "'many' has 17 operands, and of more than 16 none is copied: make contiguous copies");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_tensors),
        cmocka_unit_test(long_tensors),
        cmocka_unit_test(sixteen_axes),
        cmocka_unit_test(moves_wide_words),
        cmocka_unit_test(turns_what_is_long_enough),
        cmocka_unit_test(plain_ones_cost_nothing),
        cmocka_unit_test(a_result_of_nothing),
        cmocka_unit_test(columns_of_one_matrix),
        cmocka_unit_test(what_is_written_and_read),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(code_that_does_not_load),
        cmocka_unit_test(refuses),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
