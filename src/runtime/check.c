// What generated code asks before it launches: whether tensors are what the kernel takes them to be.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strided_span.h"
#include "runtime/internal.h"

// ---- element types -----------------------------------------------------------------------------------------------

const char *hdsrt_dtype_name(hdsrt_dtype dtype, char room[48])
{
    // Codes of DLPack (DLDataTypeCode) with the names of the language, and the customary ones for what it does not
    // have.
    static const struct {
        uint8_t code, bits;
        const char *name;
    } rows[] = {
        {0, 1, "i1"},      {0, 2, "i2"},     {0, 4, "i4"},      {0, 8, "i8"},         {0, 16, "i16"},
        {0, 32, "i32"},    {0, 64, "i64"},   {1, 1, "u1"},      {1, 2, "u2"},         {1, 4, "u4"},
        {1, 8, "u8"},      {1, 16, "u16"},   {1, 32, "u32"},    {1, 64, "u64"},       {2, 16, "f16"},
        {2, 32, "f32"},    {2, 64, "f64"},   {4, 16, "bf16"},   {5, 64, "complex64"}, {5, 128, "complex128"},
        {6, 8, "bool"},    {8, 8, "f8e4m3"}, {10, 8, "f8e4m3"}, {12, 8, "f8e5m2"},    {14, 8, "f8e8m0"},
        {17, 4, "f4e2m1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].code == dtype.code && rows[i].bits == dtype.bits)
            return rows[i].name;
    }
    snprintf(room, 48, "DLPack type %d of %d bits", dtype.code, dtype.bits);
    return room;
}

bool hdsrt_tensor_bytes(int bits, int ndim, const int64_t *shape, int64_t *bytes)
{
    int64_t elements = 1, all;
    bool is_empty = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return false;
        is_empty |= !shape[i];
    }
    *bytes = 0;
    for (int i = 0; !is_empty && i < ndim; i++) {
        if (__builtin_mul_overflow(elements, shape[i], &elements))
            return false;
    }
    if (!is_empty && (__builtin_mul_overflow(elements, bits, &all) || all > INT64_MAX - 7))
        return false;
    *bytes = is_empty ? 0 : (all + 7) / 8;
    return true;
}

// The bytes that a tensor spans, quickly for what is usual: no strides, up to two axes, and extents whose bits cannot
// overflow.
static inline bool measure(strided_span *s)
{
    enum { INNER = 1 << 30, OUTER = 1 << 22 };
    if (s->rank > 2 || s->strides)
        return strided_span_measure(s);
    int64_t inner = s->rank > 0 ? s->shape[s->rank - 1] : 1, outer = s->rank > 1 ? s->shape[0] : 1;
    if ((uint64_t)inner - 1 >= INNER || (uint64_t)outer - 1 >= OUTER)
        return strided_span_measure(s);
    s->bytes = (int64_t)(((uint64_t)inner * (uint64_t)outer * (unsigned)s->bits + 7) / 8);
    return true;
}

// ---- whether the GPU can reach it --------------------------------------------------------------------------------

static bool is_thorough(void)
{
    static int known; // atomic; 1: no, 2: yes
    int value = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!value) {
        const char *text = getenv("HDSRT_CHECK");
        value = text && strcmp(text, "1") == 0 ? 2 : 1;
        __atomic_store_n(&known, value, __ATOMIC_RELAXED);
    }
    return value == 2;
}

// Where the GPU reaches all memory of the process, there is nothing to find out.
static hdsrt_status is_all_reachable(const hdsrt_driver **cuda, bool *out)
{
    int device = 0, value = 0;
    hdsrt_status status = hdsrt_context_device(cuda, &device);
    if (!status)
        status = hdsrt_driver_fail((*cuda)->device_attribute(&value, HDSRT_DEVICE_PAGEABLE, device), "querying GPU %d",
                                   device);
    *out = value;
    return status;
}

static hdsrt_status check_memory(const hdsrt_driver *cuda, const char *entry, const char *name, const void *data,
                                 int64_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)data, device = 0, start = 0;
    size_t size = 0;
    int attributes[] = {HDSRT_POINTER_DEVICE, HDSRT_POINTER_START, HDSRT_POINTER_SIZE};
    int result = cuda->pointer_attributes(3, attributes, (void *[]){&device, &start, &size}, address);
    if (result && result != HDSRT_CUDA_INVALID_VALUE)
        return hdsrt_driver_fail(result, "'%s': asking for the memory of '%s'", entry, name);
    if (result || !device)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is at %p, which the current GPU cannot access", entry,
                          name, data);
    uint64_t room = start + size - address;
    if (!size || (uint64_t)bytes <= room)
        return HDSRT_OK;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s': '%s' has %" PRId64 " bytes, and the memory there ends after %" PRIu64, entry, name, bytes,
                      room);
}

static hdsrt_status check_reach(const char *entry, const hdsrt_tensor_rule *rules, const strided_span *tensors, int count)
{
    const hdsrt_driver *cuda;
    bool is_all = false;
    hdsrt_status status = is_all_reachable(&cuda, &is_all);
    for (int i = 0; !status && !is_all && i < count; i++) {
        if (tensors[i].bytes)
            status = check_memory(cuda, entry, rules[i].name, (const void *)(uintptr_t)tensors[i].address,
                                  tensors[i].bytes);
    }
    return status;
}

// ---- tensors -----------------------------------------------------------------------------------------------------

static hdsrt_status bad_extents(const char *entry, const hdsrt_tensor_rule *rule, const strided_span *s)
{
    for (int i = 0; i < rule->ndim; i++) {
        if (s->shape[i] < 0)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has a negative extent, %" PRId64 " along axis %d",
                              entry, rule->name, s->shape[i], i);
    }
    for (int i = 0; s->strides && i < rule->ndim; i++) {
        if (s->strides[i] < 0 && s->shape[i] > 1)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has a negative stride, %" PRId64 " along axis %d",
                              entry, rule->name, s->strides[i], i);
    }
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has more bytes than 63 bits can count", entry, rule->name);
}

static hdsrt_status bad_address(const char *entry, const hdsrt_tensor_rule *rule, const void *data)
{
    if (!data)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", entry, rule->name);
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' begins at %p, which is not a multiple of %u", entry,
                      rule->name, data, (unsigned)rule->alignment);
}

static bool is_misaligned(const hdsrt_tensor_rule *rule, const void *data)
{
    return rule->alignment && (uintptr_t)data & (rule->alignment - 1);
}

static hdsrt_status bad_overlap(const char *entry, const hdsrt_tensor_rule *a, const hdsrt_tensor_rule *b)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' and '%s' overlap, and '%s' is written", entry, a->name,
                      b->name, b->is_written ? b->name : a->name);
}

static hdsrt_status bad_fold(const char *entry, const hdsrt_tensor_rule *rule, const strided_span *s, int axis)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s': '%s' is written, and its elements overlap: its stride along axis %d is "
                      "%" PRId64,
                      entry, rule->name, axis, s->strides[axis]);
}

// With those before [index]; those without bytes touch nothing.
static hdsrt_status check_overlaps(const char *entry, const hdsrt_tensor_rule *rules, const strided_span *tensors, int index)
{
    for (int i = 0; i < index; i++) {
        bool is_written = rules[index].is_written || rules[i].is_written;
        if (is_written && strided_span_meet(&tensors[i], &tensors[index]))
            return bad_overlap(entry, &rules[i], &rules[index]);
    }
    return HDSRT_OK;
}

static hdsrt_status check_all(const char *entry, const hdsrt_tensor_rule *rules, strided_span *tensors, int count)
{
    bool has_written = false;
    for (int i = 0; i < count; i++) {
        const hdsrt_tensor_rule *rule = &rules[i];
        const void *data = (const void *)(uintptr_t)tensors[i].address;
        if (!measure(&tensors[i]))
            return bad_extents(entry, rule, &tensors[i]);
        has_written |= rule->is_written;
        if (!tensors[i].bytes)
            continue;
        if (!data || is_misaligned(rule, data))
            return bad_address(entry, rule, data);
        int axis = rule->is_written ? strided_span_folded_axis(&tensors[i]) : -1;
        if (axis >= 0)
            return bad_fold(entry, rule, &tensors[i], axis);
        hdsrt_status status = has_written ? check_overlaps(entry, rules, tensors, i) : HDSRT_OK;
        if (status)
            return status;
    }
    return is_thorough() ? check_reach(entry, rules, tensors, count) : HDSRT_OK;
}

static strided_span strided_span_of(const hdsrt_tensor_rule *rule, const void *data, const int64_t *shape, const int64_t *strides)
{
    return (strided_span){.address = (uintptr_t)data,
                    .bits = rule->dtype.bits,
                    .rank = rule->ndim,
                    .shape = shape,
                    .strides = strides};
}

// Room for as many tensors as there are; on the stack, where that is enough.
enum { USUAL = 32 };

static strided_span *take_room(const char *entry, strided_span *usual, int count)
{
    strided_span *room = count <= USUAL ? usual : calloc((size_t)count, sizeof *room);
    if (!room)
        hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': the host has no memory to check %d tensors", entry, count);
    return room;
}

// One of [values] and [strided] is NULL.
static hdsrt_status check_values(const char *entry, const hdsrt_tensor_rule *rules, const hdsrt_tensor_value *values,
                                 const hdsrt_strided_value *strided, int count)
{
    strided_span usual[USUAL], *tensors = take_room(entry, usual, count);
    if (!tensors)
        return HDSRT_OUT_OF_MEMORY;
    for (int i = 0; i < count; i++)
        tensors[i] = strided ? strided_span_of(&rules[i], strided[i].data, strided[i].shape, strided[i].strides)
                             : strided_span_of(&rules[i], values[i].data, values[i].shape, NULL);
    hdsrt_status status = check_all(entry, rules, tensors, count);
    if (tensors != usual)
        free(tensors);
    return status;
}

hdsrt_status hdsrt_check_tensors(const char *entry, const hdsrt_tensor_rule *rules, const hdsrt_tensor_value *values,
                                 int count)
{
    return check_values(entry, rules, values, NULL, count);
}

hdsrt_status hdsrt_check_strided(const char *entry, const hdsrt_tensor_rule *rules, const hdsrt_strided_value *values,
                                 int count)
{
    return check_values(entry, rules, NULL, values, count);
}

hdsrt_status hdsrt_check_not_negative(const char *entry, const char *names, const int64_t *values, int count)
{
    int at = 0;
    while (at < count && values[at] >= 0)
        at++;
    if (at == count)
        return HDSRT_OK;
    for (int i = 0; i < at; i++)
        names += strcspn(names, " ") + 1;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%.*s' is %" PRId64 ", and it has to be at least 0", entry,
                      (int)strcspn(names, " "), names, values[at]);
}

hdsrt_status hdsrt_check_extent(const char *entry, const char *tensor, int axis, int64_t is, int64_t expected,
                                const char *rule)
{
    char number[24];
    if (is == expected)
        return HDSRT_OK;
    snprintf(number, sizeof number, "%" PRId64, expected);
    if (strcmp(number, rule) == 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': '%s' has extent %" PRId64 " along axis %d, and it has to be %s", entry, tensor, is,
                          axis, rule);
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s': '%s' has extent %" PRId64 " along axis %d, and it has to be %s, which is %s", entry,
                      tensor, is, axis, rule, number);
}
