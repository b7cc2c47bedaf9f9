// Loads and stores of a warp: from memory to cells and back.
#include "sim/memory_priv.h"

// ---- bytes ---------------------------------------------------------------------------------------------------------

#if SIM_TSAN
static void move_relaxed(uint8_t *to, const uint8_t *from, int elem, bool gets)
{
    uint64_t bits = 0;
    switch (elem) {
#define MOVE(size, type)                                                                                               \
    case size:                                                                                                         \
        if (gets)                                                                                                      \
            bits = __atomic_load_n((const type *)(const void *)from, __ATOMIC_RELAXED);                                \
        memcpy(gets ? (void *)to : (void *)&bits, gets ? (const void *)&bits : (const void *)from, size);              \
        if (!gets)                                                                                                     \
            __atomic_store_n((type *)(void *)to, (type)bits, __ATOMIC_RELAXED);                                        \
        break;
        MOVE(1, uint8_t)
        MOVE(2, uint16_t)
        MOVE(4, uint32_t)
        MOVE(8, uint64_t)
#undef MOVE
    default:
        break;
    }
}

static void move_all(uint8_t *to, const uint8_t *from, int bytes, int elem, bool gets)
{
    const uint8_t *shared = gets ? from : to;
    for (int at = 0; at < bytes;) {
        int size = elem;
        while (size > bytes - at || ((uintptr_t)(shared + at) & (uintptr_t)(size - 1)))
            size /= 2;
        move_relaxed(to + at, from + at, size, gets);
        at += size;
    }
}

void sim_bytes_get(uint8_t *to, const uint8_t *from, int bytes, int elem)
{
    move_all(to, from, bytes, elem < 8 ? elem : 8, true);
}

void sim_bytes_put(uint8_t *to, const uint8_t *from, int bytes, int elem)
{
    move_all(to, from, bytes, elem < 8 ? elem : 8, false);
}
#else
void sim_bytes_get(uint8_t *to, const uint8_t *from, int bytes, int elem)
{
    (void)elem;
    memcpy(to, from, (size_t)bytes);
}

void sim_bytes_put(uint8_t *to, const uint8_t *from, int bytes, int elem)
{
    (void)elem;
    memcpy(to, from, (size_t)bytes);
}
#endif

// For hot loops: elements of a constant size.
static inline void get(void *to, const uint8_t *from, int size)
{
    if (SIM_TSAN)
        sim_bytes_get(to, from, size, size);
    else
        memcpy(to, from, (size_t)size);
}

static inline void put(uint8_t *to, const void *from, int size)
{
    if (SIM_TSAN)
        sim_bytes_put(to, from, size, size);
    else
        memcpy(to, from, (size_t)size);
}

// ---- elements and cells --------------------------------------------------------------------------------------------

static inline uint32_t cells_of(int bytes)
{
    return bytes == 8 ? 2 : 1;
}

static uint32_t narrow(const sim_access *a, uint32_t bits)
{
    if (!a->is_signed)
        return bits;
    return a->bytes == 1 ? (uint32_t)(int32_t)(int8_t)bits : (uint32_t)(int32_t)(int16_t)bits;
}

static void load_narrow(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    SIM_EACH(lane, t->lanes) {
        const uint8_t *from = sim_touch_at(t, lane);
        for (int i = 0; i < a->count; i++) {
            uint8_t byte = 0;
            uint16_t half = 0;
            if (a->bytes == 1)
                get(&byte, from + i, 1);
            else
                get(&half, from + 2 * i, 2);
            sim_u32(t->w, cell + (uint32_t)i)[lane] = narrow(a, a->bytes == 1 ? byte : half);
        }
    }
}

static void load_words(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    if (t->is_row && a->count == 1 && !SIM_TSAN) {
        memcpy(sim_u32(t->w, cell), sim_touch_at(t, 0), 4 * SIM_LANES);
        return;
    }
    SIM_EACH(lane, t->lanes) {
        const uint8_t *from = sim_touch_at(t, lane);
        for (int i = 0; i < a->count; i++)
            get(&sim_u32(t->w, cell + (uint32_t)i)[lane], from + 4 * i, 4);
    }
}

static void load_doubles(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    if (t->is_row && a->count == 1 && !SIM_TSAN) {
        memcpy(sim_u64(t->w, cell), sim_touch_at(t, 0), 8 * SIM_LANES);
        return;
    }
    SIM_EACH(lane, t->lanes) {
        const uint8_t *from = sim_touch_at(t, lane);
        for (int i = 0; i < a->count; i++)
            get(&sim_u64(t->w, cell + 2 * (uint32_t)i)[lane], from + 8 * i, 8);
    }
}

static void load_bits(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    uint32_t width = a->bits, sign = a->is_signed ? (uint32_t)1 << (width - 1) : 0;
    SIM_EACH(lane, t->lanes) {
        for (uint32_t i = 0; i < a->count; i++) {
            uint32_t at = t->bit[lane] + i * width;
            uint8_t byte = 0;
            get(&byte, sim_touch_at(t, lane) + at / 8, 1);
            uint32_t value = (uint32_t)byte >> (at % 8) & (((uint32_t)1 << width) - 1);
            sim_u32(t->w, cell + i)[lane] = (value ^ sign) - sign;
        }
    }
}

static void load_group(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    if (a->bits)
        load_bits(t, a, cell);
    else if (a->bytes == 4)
        load_words(t, a, cell);
    else if (a->bytes == 8)
        load_doubles(t, a, cell);
    else
        load_narrow(t, a, cell);
}

// ---- poison --------------------------------------------------------------------------------------------------------

// Bits of the bytes that element [i] has in its lane.
static uint64_t bytes_of_element(const sim_touch *t, const sim_access *a, uint32_t lane, int i)
{
    if (a->bits)
        return (uint64_t)1 << ((t->bit[lane] + (uint32_t)i * a->bits) / 8);
    return (((uint64_t)1 << a->bytes) - 1) << (i * a->bytes);
}

static void set_poison(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    sim_warp *w = t->w;
    for (int i = 0; i < a->count; i++) {
        uint32_t at = cell + (uint32_t)i * cells_of(a->bytes), bad = 0;
        w->poison[at] &= ~t->lanes;
        if (!t->any_unwritten)
            continue;
        SIM_EACH(lane, t->lanes)
            bad |= (uint32_t)((t->unwritten[lane] & bytes_of_element(t, a, lane, i)) != 0) << lane;
        w->poison[at] |= bad;
        if (bad)
            w->why[at] = t->site;
    }
}

static void refuse_loads(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    uint32_t cells = (uint32_t)a->count * cells_of(a->bytes);
    SIM_EACH(lane, t->refused) {
        for (uint32_t i = 0; i < a->count; i++) {
            if (a->bytes == 8)
                sim_u64(t->w, cell + 2 * i)[lane] = 0;
            else
                sim_u32(t->w, cell + i)[lane] = 0;
        }
        for (uint32_t i = 0; t->w->field && i < cells; i++)
            memset(sim_field_of(t->w, cell + i, (int)lane), 0xff, SIM_FIELD_PARTS * sizeof(sim_field));
    }
    for (uint32_t i = 0; i < cells; i++)
        t->w->poison[cell + i] &= ~t->refused;
}

// Reads of the whole warp were checked lane by lane; private memory has its own bits.
static void check_reads(sim_touch *t)
{
    if (!t->checks)
        return;
    if (t->target != SIM_IN_LOCAL) {
        sim_shadow_read(t);
        return;
    }
    SIM_EACH(lane, t->lanes) {
        uint64_t missing = sim_local_unwritten(t->w, lane, t->offset[lane], t->bytes);
        if (missing && !t->any_unwritten) {
            memset(t->unwritten, 0, sizeof t->unwritten);
            t->any_unwritten = true;
        }
        if (missing)
            t->unwritten[lane] = missing;
    }
}

// ---- loads ---------------------------------------------------------------------------------------------------------

static int bytes_of_access(const sim_access *a)
{
    return a->bits ? (a->bits * a->count + 7) / 8 : a->bytes * a->count;
}

// Wide accesses are aligned to their size, at most 16 bytes (PTX ISA 6.4.1.3, "vectors").
static int align_of_access(const sim_access *a)
{
    int align = a->bits ? 1 : a->bytes;
    while (!a->bits && align < 16 && align * 2 <= a->bytes * a->count)
        align *= 2;
    return align;
}

// The addresses [elements] further on.
static void advance(const sim_access *a, const uint64_t *address, int elements, uint64_t *moved)
{
    for (int lane = 0; lane < SIM_LANES; lane++) {
        if (!a->bits) {
            moved[lane] = address[lane] + (uint64_t)(elements * a->bytes);
            continue;
        }
        uint64_t bit_mask = (uint64_t)7 << SIM_BIT_SHIFT;
        uint64_t bit = ((address[lane] & bit_mask) >> SIM_BIT_SHIFT) + (uint64_t)(elements * a->bits);
        moved[lane] = ((address[lane] & ~bit_mask) + bit / 8) | bit % 8 << SIM_BIT_SHIFT;
    }
}

// How many elements of an access are handled at once: what fits in a touch; sub-byte elements one by one, unless all of
// them are byte-aligned.
static int elements_together(const sim_access *a, uint32_t mask, const uint64_t *address)
{
    if (!a->bits)
        return bytes_of_access(a) <= SIM_TOUCH_BYTES ? a->count : SIM_TOUCH_BYTES / a->bytes;
    uint64_t bits = 0;
    SIM_EACH(lane, mask)
        bits |= address[lane] & (uint64_t)7 << SIM_BIT_SHIFT;
    return a->count == 1 || (!bits && bytes_of_access(a) <= SIM_TOUCH_BYTES) ? a->count : 1;
}

typedef void sim_part(sim_warp *w, const sim_access *access, uint32_t mask, const uint64_t *address, uint32_t cell);

// Splits accesses that cannot be handled at once; true if it did.
static bool in_parts(sim_warp *w, const sim_access *a, uint32_t mask, const uint64_t *address, uint32_t cell,
                     sim_part *part)
{
    int most = elements_together(a, mask, address);
    if (most == a->count)
        return false;
    for (int at = 0; at < a->count; at += most) {
        sim_access slice = *a;
        uint64_t moved[SIM_LANES];
        slice.count = (uint16_t)(a->count - at < most ? a->count - at : most);
        advance(a, address, at, moved);
        part(w, &slice, mask, moved, cell + (uint32_t)at * cells_of(a->bytes));
    }
    return true;
}

void sim_load(sim_warp *w, const sim_access *a, uint32_t mask, const uint64_t *address, uint32_t cell)
{
    if (in_parts(w, a, mask, address, cell, sim_load))
        return;
    sim_touch t;
    uint32_t kind = a->is_volatile ? SIM_NOTE_ATOMIC : 0;
    sim_touch_open(&t, w, a, a->site, mask, address, bytes_of_access(a), align_of_access(a), kind);
    t.reach = a->is_volatile ? SIM_SYS : SIM_CTA;
    sim_count_access(w, a->site, mask, address, t.bytes);
    while (sim_touch_next(&t)) {
        SIM_EACH(lane, a->is_volatile && t.target != SIM_IN_LOCAL ? t.lanes : 0)
            sim_order_take(w, lane, address[lane], SIM_RELAXED, SIM_SYS);
        check_reads(&t);
        load_group(&t, a, cell);
        set_poison(&t, a, cell);
        SIM_EACH(lane, w->field ? t.lanes : 0)
            sim_fields_load(&t, lane, cell, a->bytes, a->count);
    }
    if (t.refused)
        refuse_loads(&t, a, cell);
}

// ---- stores --------------------------------------------------------------------------------------------------------

static bool is_poisoned(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < a->count; i++)
        bad |= t->w->poison[cell + i * cells_of(a->bytes)];
    return (bad & t->lanes) != 0;
}

// The bytes that the lane writes.
static void value_of_lane(const sim_touch *t, const sim_access *a, uint32_t lane, uint32_t cell, uint8_t *value)
{
    if (a->bits)
        memcpy(value, sim_touch_at(t, lane), (size_t)(t->bit[lane] + a->bits * a->count + 7) / 8);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->bits) {
            uint32_t at = t->bit[lane] + i * a->bits, ones = ((uint32_t)1 << a->bits) - 1;
            uint32_t bits = (sim_u32(t->w, cell + i)[lane] & ones) << (at % 8);
            value[at / 8] = (uint8_t)((value[at / 8] & ~(ones << (at % 8))) | bits);
        } else if (a->bytes == 8) {
            memcpy(value + 8 * i, &sim_u64(t->w, cell + 2 * i)[lane], 8);
        } else {
            memcpy(value + a->bytes * i, &sim_u32(t->w, cell + i)[lane], a->bytes);
        }
    }
}

static uint64_t poison_of_lane(const sim_touch *t, const sim_access *a, uint32_t lane, uint32_t cell, uint32_t *why)
{
    uint64_t poison = 0;
    for (int i = 0; i < a->count; i++) {
        uint32_t at = cell + (uint32_t)i * cells_of(a->bytes);
        if (t->w->poison[at] >> lane & 1) {
            poison |= bytes_of_element(t, a, lane, i);
            *why = t->w->why[at];
        }
    }
    return poison;
}

static void check_write(sim_touch *t, uint32_t lane, const uint8_t *value, uint64_t poison, uint32_t why)
{
    if (!t->checks)
        return;
    if (poison && (t->target == SIM_IN_GLOBAL || (why & SIM_WHY_FLIGHT))) {
        const char *what = t->target == SIM_IN_GLOBAL ? "a value stored to global memory" : "a value that is stored";
        sim_report_poison(t, lane, what, why);
        poison = 0;
    }
    if (t->target == SIM_IN_LOCAL)
        sim_local_write(t->w, lane, t->offset[lane], t->bytes, poison);
    else
        sim_shadow_write(t, lane, value, poison);
}

static void store_lane(sim_touch *t, const sim_access *a, uint32_t lane, uint32_t cell, bool poisoned)
{
    uint8_t value[SIM_TOUCH_BYTES + 1];
    uint32_t why = 0;
    value_of_lane(t, a, lane, cell, value);
    uint64_t poison = poisoned ? poison_of_lane(t, a, lane, cell, &why) : 0;
    check_write(t, lane, value, poison, why);
    uint8_t *to = sim_touch_at(t, lane);
    if (a->bits)
        sim_bytes_put(to, value, (t->bit[lane] + a->bits * a->count + 7) / 8, 1);
    else if (t->bytes == 4)
        put(to, value, 4);
    else if (t->bytes == 2)
        put(to, value, 2);
    else
        sim_bytes_put(to, value, t->bytes, a->bytes);
}

static void store_row(const sim_touch *t, const sim_access *a, uint32_t cell)
{
    uint8_t *to = sim_touch_at(t, 0);
    if (a->bytes == 4) {
        memcpy(to, sim_u32(t->w, cell), 4 * SIM_LANES);
    } else if (a->bytes == 8) {
        memcpy(to, sim_u64(t->w, cell), 8 * SIM_LANES);
    } else if (a->bytes == 2) {
        for (int lane = 0; lane < SIM_LANES; lane++)
            memcpy(to + 2 * lane, &sim_u32(t->w, cell)[lane], 2);
    } else {
        for (int lane = 0; lane < SIM_LANES; lane++)
            to[lane] = (uint8_t)sim_u32(t->w, cell)[lane];
    }
}

static void store_group(sim_touch *t, const sim_access *a, uint32_t cell)
{
    bool poisoned = t->checks && is_poisoned(t, a, cell);
    bool is_simple = t->is_row && a->count == 1 && !a->bits && !poisoned && !SIM_TSAN;
    if (is_simple && (!t->checks || sim_shadow_write_row(t))) {
        store_row(t, a, cell);
        return;
    }
    SIM_EACH(lane, t->lanes)
        store_lane(t, a, lane, cell, poisoned);
}

void sim_store(sim_warp *w, const sim_access *a, uint32_t mask, const uint64_t *address, uint32_t cell)
{
    if (in_parts(w, a, mask, address, cell, sim_store))
        return;
    sim_touch t;
    uint32_t kind = SIM_NOTE_WRITE | (a->is_volatile ? SIM_NOTE_ATOMIC : 0);
    sim_touch_open(&t, w, a, a->site, mask, address, bytes_of_access(a), align_of_access(a), kind);
    t.reach = a->is_volatile ? SIM_SYS : SIM_CTA;
    sim_count_access(w, a->site, mask, address, t.bytes);
    while (sim_touch_next(&t)) {
        store_group(&t, a, cell);
        SIM_EACH(lane, a->is_volatile && t.target != SIM_IN_LOCAL ? t.lanes : 0)
            sim_order_give(w, lane, address[lane], SIM_RELAXED, SIM_SYS);
        SIM_EACH(lane, w->field ? t.lanes : 0)
            sim_fields_store(&t, lane, cell, a->bytes, a->count);
    }
}

// ---- raw bytes -----------------------------------------------------------------------------------------------------

void sim_load_bytes(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes, uint8_t (*out)[16],
                    uint16_t *poisoned)
{
    sim_touch t;
    sim_touch_open(&t, w, NULL, site, mask, address, bytes, bytes, 0);
    sim_count_access(w, site, mask, address, bytes);
    while (sim_touch_next(&t)) {
        check_reads(&t);
        SIM_EACH(lane, t.lanes) {
            if (bytes == 16 && !SIM_TSAN)
                memcpy(out[lane], sim_touch_at(&t, lane), 16);
            else
                sim_bytes_get(out[lane], sim_touch_at(&t, lane), bytes, bytes);
            if (poisoned)
                poisoned[lane] = t.any_unwritten ? (uint16_t)t.unwritten[lane] : 0;
        }
    }
    SIM_EACH(lane, t.refused) {
        memset(out[lane], 0, 16);
        if (poisoned)
            poisoned[lane] = 0;
    }
}

// Reads of the async proxy: checked when they begin, recorded when they end.
void sim_look_bytes(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, uint8_t (*out)[16],
                    uint16_t *poisoned)
{
    sim_touch t;
    sim_touch_open(&t, w, NULL, site, mask, address, 16, 16, 0);
    t.is_async = true;
    sim_count_access(w, site, mask, address, 16);
    while (sim_touch_next(&t)) {
        if (t.checks && t.target != SIM_IN_LOCAL)
            sim_shadow_look(&t);
        SIM_EACH(lane, t.lanes) {
            sim_bytes_get(out[lane], sim_touch_at(&t, lane), 16, 16);
            poisoned[lane] = t.any_unwritten ? (uint16_t)t.unwritten[lane] : 0;
        }
    }
    SIM_EACH(lane, t.refused) {
        memset(out[lane], 0, 16);
        poisoned[lane] = 0;
    }
}

void sim_enter_reads(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address)
{
    sim_touch t;
    sim_touch_open(&t, w, NULL, site, mask, address, 16, 16, 0);
    t.is_async = true;
    while (sim_touch_next(&t)) {
        if (t.checks && t.races && t.target != SIM_IN_LOCAL)
            sim_shadow_enter(&t);
    }
}

void sim_store_bytes(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes,
                     const uint8_t (*in)[16], const uint16_t *poisoned)
{
    sim_touch t;
    sim_touch_open(&t, w, NULL, site, mask, address, bytes, bytes, SIM_NOTE_WRITE);
    sim_count_access(w, site, mask, address, bytes);
    while (sim_touch_next(&t)) {
        SIM_EACH(lane, t.lanes) {
            check_write(&t, lane, in[lane], poisoned ? poisoned[lane] : 0, site);
            sim_bytes_put(sim_touch_at(&t, lane), in[lane], bytes, bytes);
        }
    }
}

// ---- copies --------------------------------------------------------------------------------------------------------

typedef struct copied {
    uint8_t bytes[SIM_LANES][SIM_TOUCH_BYTES];
    uint64_t poison[SIM_LANES];
    uint32_t lanes;
} copied;

static void copy_out(sim_warp *w, const sim_access *a, uint32_t mask, const uint64_t *from, copied *c)
{
    sim_touch t;
    sim_touch_open(&t, w, a, a->site, mask, from, bytes_of_access(a), align_of_access(a), 0);
    c->lanes = 0;
    sim_count_access(w, a->site, mask, from, t.bytes);
    while (sim_touch_next(&t)) {
        check_reads(&t);
        c->lanes |= t.lanes;
        SIM_EACH(lane, t.lanes) {
            sim_bytes_get(c->bytes[lane], sim_touch_at(&t, lane), t.bytes, a->bytes);
            c->poison[lane] = t.any_unwritten ? t.unwritten[lane] : 0;
        }
    }
}

// Inserts the bits of a sub-byte element, given in the byte [from], into the byte at [to].
static void merge_bits(const sim_touch *t, const sim_access *a, uint32_t lane, uint64_t from, uint8_t *byte)
{
    uint32_t ones = ((uint32_t)1 << a->bits) - 1, bit = (uint32_t)(from >> SIM_BIT_SHIFT & 7);
    uint32_t value = *byte >> bit & ones;
    *byte = (uint8_t)((*sim_touch_at(t, lane) & ~(ones << t->bit[lane])) | value << t->bit[lane]);
}

static void copy_together(sim_warp *w, const sim_access *a, uint32_t mask, const uint64_t *to, const uint64_t *from)
{
    copied c;
    sim_touch t;
    int bytes = bytes_of_access(a);
    copy_out(w, a, mask, from, &c);
    sim_touch_open(&t, w, a, a->site, c.lanes, to, bytes, align_of_access(a), SIM_NOTE_WRITE);
    sim_count_access(w, a->site, c.lanes, to, bytes);
    while (sim_touch_next(&t)) {
        SIM_EACH(lane, t.lanes) {
            if (a->bits && a->count == 1)
                merge_bits(&t, a, lane, from[lane], c.bytes[lane]);
            check_write(&t, lane, c.bytes[lane], c.poison[lane], a->site);
            sim_bytes_put(sim_touch_at(&t, lane), c.bytes[lane], bytes, a->bytes);
            if (w->field)
                sim_fields_move(w, lane, to[lane], from[lane], bytes, bytes);
        }
    }
}

void sim_copy(sim_warp *w, const sim_access *a, uint32_t mask, const uint64_t *to, const uint64_t *from)
{
    int most = elements_together(a, mask, to), most_from = elements_together(a, mask, from);
    most = most < most_from ? most : most_from;
    if (most == a->count && (!a->bits || a->count == 1 || a->bits * a->count % 8 == 0)) {
        copy_together(w, a, mask, to, from);
        return;
    }
    most = a->bits ? 1 : most;
    for (int at = 0; at < a->count; at += most) {
        sim_access slice = *a;
        uint64_t there[SIM_LANES], here[SIM_LANES];
        slice.count = (uint16_t)(a->count - at < most ? a->count - at : most);
        advance(a, to, at, there);
        advance(a, from, at, here);
        copy_together(w, &slice, mask, there, here);
    }
}
