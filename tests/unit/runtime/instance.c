// Which instance of an operator tensors are for, and the axes that it gets.
#include "rig.h"

enum { F16, F32, I32 };
static const hdsrt_dtype of[] = {{2, 16}, {2, 32}, {0, 32}};

static hdsrt_tensor tensor(int type, int ndim, int64_t *shape, int64_t *strides)
{
    hdsrt_tensor t = {.data = (void *)0x1000, .ndim = ndim, .shape = shape, .strides = strides};
    t.device.device_type = 2;
    t.dtype.code = of[type].code;
    t.dtype.bits = of[type].bits;
    t.dtype.lanes = 1;
    return t;
}

#define REFUSED(call, status, text)                                                                                    \
    do {                                                                                                               \
        assert_int_equal(call, status);                                                                                \
        assert_string_equal(hdsrt_last_error(), text);                                                                 \
    } while (0)

static void has(const hdsrt_joined *j, int ndim, const int64_t *shape, const int64_t *strides)
{
    assert_int_equal(j->tensor.ndim, ndim);
    for (int i = 0; i < ndim; i++)
        assert_int_equal(j->tensor.shape[i], shape[i]);
    assert_int_equal(!j->tensor.strides, !strides);
    for (int i = 0; strides && i < ndim; i++)
        assert_int_equal(j->tensor.strides[i], strides[i]);
}

// ---- any number of axes ----------------------------------------------------------------------------------------------

// norm(x: T[*S, N], w: T[N], index: i32[*S]), for f16 and f32
static const hdsrt_operand norm[] = {{"x", 0, 1, 1, false, false}, {"w", 0, 0, 0, false, false}, {"index", 0, 0, 1, true, true}};
static const hdsrt_dtype norm_types[] = {{2, 16}, {2, 16}, {0, 32}, {2, 32}, {2, 32}, {0, 32}};

static hdsrt_status choose(const hdsrt_tensor *x, const hdsrt_tensor *w, const hdsrt_tensor *index, hdsrt_joined *joined,
                           int *instance)
{
    const hdsrt_tensor *const tensors[] = {x, w, index};
    return hdsrt_choose_instance("norm", norm, norm_types, 3, 2, tensors, NULL, joined, instance);
}

static void joins_axes(void **state)
{
    (void)state;
    hdsrt_joined j[3];
    int instance = -1;
    hdsrt_tensor x = tensor(F32, 4, (int64_t[]){2, 1, 3, 8}, NULL), w = tensor(F32, 1, (int64_t[]){8}, NULL);
    hdsrt_tensor index = tensor(I32, 3, (int64_t[]){2, 1, 3}, (int64_t[]){3, 77, 1});
    assert_int_equal(choose(&x, &w, &index, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 1);
    has(&j[0], 2, (int64_t[]){6, 8}, NULL);
    has(&j[1], 1, (int64_t[]){8}, NULL);
    has(&j[2], 1, (int64_t[]){6}, NULL);
    // none
    x = tensor(F16, 1, (int64_t[]){8}, NULL), w.dtype.bits = 16, index = tensor(I32, 0, NULL, NULL);
    assert_int_equal(choose(&x, &w, &index, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 0);
    has(&j[0], 2, (int64_t[]){1, 8}, NULL);
    has(&j[2], 1, (int64_t[]){1}, NULL);
    // no elements: strides say nothing
    x = tensor(F16, 3, (int64_t[]){2, 0, 8}, (int64_t[]){5, 4, 1}), index = tensor(I32, 2, (int64_t[]){2, 0}, NULL);
    assert_int_equal(choose(&x, &w, &index, j, &instance), HDSRT_OK);
    has(&j[0], 2, (int64_t[]){0, 8}, NULL);
}

// take(x: T[*S], at: i32[*I]) -> T[*I]
static void joins_axes_in_groups(void **state)
{
    (void)state;
    const hdsrt_operand take[] = {{"x", 0, 0, 1, false, false}, {"at", 0, 0, 2, false, false}, {"out", 0, 0, 2, true, true}};
    const hdsrt_dtype types[] = {{2, 32}, {0, 32}, {2, 32}};
    hdsrt_joined j[3];
    int instance = -1;
    hdsrt_tensor x = tensor(F32, 2, (int64_t[]){5, 7}, NULL), at = tensor(I32, 3, (int64_t[]){2, 3, 4}, NULL);
    hdsrt_tensor out = tensor(F32, 3, (int64_t[]){2, 3, 4}, NULL);
    const hdsrt_tensor *const tensors[] = {&x, &at, &out};
    assert_int_equal(hdsrt_choose_instance("take", take, types, 3, 1, tensors, NULL, j, &instance), HDSRT_OK);
    has(&j[0], 1, (int64_t[]){35}, NULL);
    has(&j[2], 1, (int64_t[]){24}, NULL);
    out.ndim = 2;
    REFUSED(hdsrt_choose_instance("take", take, types, 3, 1, tensors, NULL, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'take': 'out' has 2 axes, and by those of 'at' it has to have 3");
}

// shifted(x: T[*S, N], w: T[N] = None, b: T[*S] = None) -> T[*S, N], for f16 with all and without w, for f32 without both
static hdsrt_status shift(const hdsrt_tensor *x, const hdsrt_tensor *w, const hdsrt_tensor *b, const hdsrt_tensor *out,
                          hdsrt_joined *j, int *instance)
{
    static const hdsrt_operand operands[] = {
        {"x", 0, 1, 1, false, false}, {"w", 0, 0, 0, false, false}, {"b", 0, 0, 1, false, false}, {"out", 0, 1, 1, true, true}};
    static const hdsrt_dtype types[] = {{2, 16}, {2, 16}, {2, 16}, {2, 16}, {2, 16}, {0},
                                        {2, 16}, {2, 16}, {2, 32}, {0},     {0},     {2, 32}};
    const hdsrt_tensor *const tensors[] = {x, w, b, out};
    return hdsrt_choose_instance("shifted", operands, types, 4, 3, tensors, NULL, j, instance);
}

static void goes_without_operands(void **state)
{
    (void)state;
    hdsrt_joined j[4];
    int instance = -1;
    hdsrt_tensor x = tensor(F16, 3, (int64_t[]){2, 3, 8}, NULL), w = tensor(F16, 1, (int64_t[]){8}, NULL);
    hdsrt_tensor b = tensor(F16, 2, (int64_t[]){2, 3}, NULL), out = x;
    assert_int_equal(shift(&x, &w, &b, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 0);
    assert_int_equal(shift(&x, NULL, &b, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 1);
    has(&j[2], 1, (int64_t[]){6}, NULL);
    has(&j[3], 2, (int64_t[]){6, 8}, NULL);
    REFUSED(shift(&x, &w, NULL, &out, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'shifted': there is no code for x of f16, w of f16, b omitted, out of f16, only for f16, f16, f16, f16; "
            "f16, none, f16, f16; f32, none, none, f32");
    b.shape = (int64_t[]){2, 4};
    REFUSED(shift(&x, NULL, &b, &out, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'shifted': 'b' has extent 4 along axis 1, and it has to be that of 'x', 3");
    x.dtype.bits = out.dtype.bits = 32;
    assert_int_equal(shift(&x, NULL, NULL, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 2);
    REFUSED(shift(NULL, NULL, NULL, &out, j, &instance), HDSRT_INVALID_ARGUMENT, "'shifted': 'x' is null");
    REFUSED(shift(&x, NULL, NULL, NULL, j, &instance), HDSRT_INVALID_ARGUMENT, "'shifted': 'out' is null");
}

static void refuses(void **state)
{
    (void)state;
    hdsrt_joined j[3];
    int instance;
    hdsrt_tensor x = tensor(F32, 2, (int64_t[]){3, 8}, NULL), w = tensor(F32, 1, (int64_t[]){8}, NULL);
    hdsrt_tensor index = tensor(I32, 1, (int64_t[]){3}, NULL);
    REFUSED(choose(NULL, &w, &index, j, &instance), HDSRT_INVALID_ARGUMENT, "'norm': 'x' is null");
    w.dtype.bits = 16;
    REFUSED(choose(&x, &w, &index, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'norm': there is no code for x of f32, w of f16, index of i32, only for f16, f16, i32; f32, f32, i32");
    w.dtype.bits = 32, index.shape = (int64_t[]){4};
    REFUSED(choose(&x, &w, &index, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'norm': 'index' has extent 4 along axis 0, and it has to be that of 'x', 3");
    index.ndim = 2, index.shape = (int64_t[]){3, 1};
    REFUSED(choose(&x, &w, &index, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'norm': 'index' has 2 axes, and by those of 'x' it has to have 1");
    x = tensor(F32, 0, NULL, NULL);
    REFUSED(choose(&x, &w, &index, j, &instance), HDSRT_INVALID_ARGUMENT, "'norm': 'x' has 0 axes, and it has to have at least 1");
    x = tensor(F32, 17, NULL, NULL);
    REFUSED(choose(&x, &w, &index, j, &instance), HDSRT_UNSUPPORTED, "'norm': 'x' has 17 axes, and operators take at most 16");
    x = tensor(F32, 3, (int64_t[]){INT64_MAX, 3, 8}, NULL), index = tensor(I32, 2, (int64_t[]){INT64_MAX, 3}, NULL);
    REFUSED(choose(&x, &w, &index, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'norm': the extents of 'x' are negative or exceed 63 bits");
}

// ---- by element ------------------------------------------------------------------------------------------------------

static const hdsrt_operand add[] = {{"x", 0, 0, 1, false, false}, {"y", 0, 0, 1, false, false}, {"out", 0, 0, 1, true, true}};
static const hdsrt_dtype add_types[] = {{2, 16}, {2, 16}, {2, 16}, {2, 32}, {2, 32}, {2, 32}};

static hdsrt_status meet(const hdsrt_tensor *x, const hdsrt_tensor *y, const hdsrt_tensor *out, hdsrt_joined *j, int *instance)
{
    const hdsrt_tensor *const tensors[] = {x, y, out};
    return hdsrt_choose_by_element("add", add, add_types, 3, 2, tensors, j, instance);
}

static void are_one_row(void **state)
{
    (void)state;
    hdsrt_joined j[3];
    int instance;
    hdsrt_tensor x = tensor(F32, 3, (int64_t[]){2, 3, 8}, NULL), y = tensor(F32, 3, (int64_t[]){2, 3, 8}, (int64_t[]){24, 8, 1});
    hdsrt_tensor out = x;
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 1);
    for (int i = 0; i < 3; i++)
        has(&j[i], 1, (int64_t[]){48}, (int64_t[]){1});
    // all turned alike is one row, too
    x = y = out = tensor(F16, 2, (int64_t[]){3, 8}, (int64_t[]){1, 3});
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 0);
    has(&j[1], 1, (int64_t[]){24}, (int64_t[]){1});
    // one of them is not
    x = tensor(F16, 2, (int64_t[]){3, 8}, NULL);
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 2);
    has(&j[0], 4, (int64_t[]){1, 1, 8, 3}, (int64_t[]){0, 0, 1, 8});
    has(&j[2], 4, (int64_t[]){1, 1, 8, 3}, (int64_t[]){0, 0, 3, 1});
    // no elements, and one
    x = y = out = tensor(F32, 2, (int64_t[]){3, 0}, (int64_t[]){5, 7});
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 1);
    assert_int_equal(j[1].tensor.shape[0], 0);
    x = y = out = tensor(F32, 0, NULL, NULL);
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 1);
    assert_int_equal(j[2].tensor.shape[0], 1);
}

static void repeats(void **state)
{
    (void)state;
    hdsrt_joined j[3];
    int instance;
    hdsrt_tensor x = tensor(F32, 3, (int64_t[]){2, 3, 8}, NULL), y = tensor(F32, 1, (int64_t[]){8}, NULL), out = x;
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 3);
    has(&j[0], 4, (int64_t[]){1, 1, 6, 8}, (int64_t[]){0, 0, 8, 1});
    has(&j[1], 4, (int64_t[]){1, 1, 6, 8}, (int64_t[]){0, 0, 0, 1});
    y = tensor(F32, 3, (int64_t[]){2, 1, 1}, NULL);
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    has(&j[1], 4, (int64_t[]){1, 1, 2, 24}, (int64_t[]){0, 0, 1, 0});
    // what does not begin at a multiple of 16 bytes is no row
    x = y = out = tensor(F32, 1, (int64_t[]){8}, NULL);
    x.byte_offset = 4;
    assert_int_equal(meet(&x, &y, &out, j, &instance), HDSRT_OK);
    assert_int_equal(instance, 3);
    has(&j[0], 4, (int64_t[]){1, 1, 1, 8}, (int64_t[]){0, 0, 0, 1});
}

static void do_not_meet(void **state)
{
    (void)state;
    hdsrt_joined j[3];
    int instance;
    hdsrt_tensor x = tensor(F32, 2, (int64_t[]){3, 8}, NULL), y = tensor(F32, 1, (int64_t[]){7}, NULL), out = x;
    REFUSED(meet(&x, &y, &out, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'add': 'y' has extent 7 along axis 0, where 'out' has 8; 1 would be repeated");
    out = tensor(F32, 2, (int64_t[]){3, 1}, NULL);
    REFUSED(meet(&x, &x, &out, j, &instance), HDSRT_INVALID_ARGUMENT,
            "'add': 'x' has extent 8 along axis 1, where 'out' has 1; 1 would be repeated");
    out = tensor(F32, 1, (int64_t[]){8}, NULL);
    REFUSED(meet(&x, &x, &out, j, &instance), HDSRT_INVALID_ARGUMENT, "'add': 'x' has 2 axes, and 'out' has 1");
    int64_t shape[] = {2, 2, 2, 2, 2}, apart[] = {10000, 1000, 100, 10, 1};
    x = tensor(F32, 5, shape, apart), out = tensor(F32, 5, shape, NULL);
    REFUSED(meet(&x, &x, &out, j, &instance), HDSRT_UNSUPPORTED,
            "'add': the operands have 5 axes that do not lie in memory like fewer, and at most 4 are taken: make contiguous copies");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_axes), cmocka_unit_test(joins_axes_in_groups),
        cmocka_unit_test(goes_without_operands), cmocka_unit_test(refuses), cmocka_unit_test(are_one_row),
        cmocka_unit_test(repeats), cmocka_unit_test(do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
