// Layouts: the examples of the language reference, laws, and facts against enumeration.

#include <stdlib.h>

#include "parse.h"

static arena memory;

static void check_offsets(const char *layout, int rows, int columns, const int *offsets)
{
    const tm_layout *l = layout_of(&memory, layout);
    assert_int_equal(l->rank, 2);
    assert_int_equal(l->shape[1], columns);
    for (int i = 0; i < rows * columns; i++)
        assert_int_equal(tm_layout_offset(l, (int64_t[]){i / columns, i % columns}), offsets[i]);
    assert_string_equal(layout_text(&memory, l), layout);
}

#define OFFSETS(...)                                                                                                   \
    (int[])                                                                                                            \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void worked_examples(void **state)
{
    (void)state;
    const tm_layout *l = tm_layout_ranked(&memory, 3, (int64_t[]){2, 2, 2}, (int[]){0, 2, 1}, NULL);
    assert_int_equal(tm_layout_offset(l, (int64_t[]){0, 1, 0}), 1);
    assert_int_equal(tm_layout_offset(l, (int64_t[]){0, 0, 1}), 2);
    assert_int_equal(tm_layout_offset(l, (int64_t[]){0, 1, 1}), 3);
    assert_int_equal(tm_layout_offset(l, (int64_t[]){1, 0, 0}), 4);
    assert_string_equal(layout_text(&memory, l), "strided_layout([2, 2, 2], ranks=[0, 2, 1])");
    check_offsets("row_major(2, 1) * row_major(2, 2)", 4, 2, OFFSETS(0, 1, 2, 3, 4, 5, 6, 7));
    check_offsets("row_major(2, 1) * column_major(2, 2)", 4, 2, OFFSETS(0, 2, 1, 3, 4, 6, 5, 7));
    check_offsets("row_major(2, 2) * column_major(2, 4)", 4, 8,
                  OFFSETS(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 16, 18, 20, 22, 24, 26, 28, 30, 17, 19,
                          21, 23, 25, 27, 29, 31));
    check_offsets("row_major(4, 4).swizzle(1)", 4, 4, OFFSETS(0, 1, 2, 3, 5, 4, 7, 6, 10, 11, 8, 9, 15, 14, 13, 12));
    check_offsets("row_major(8, 4).swizzle(1, log_step=1)", 5, 4,
                  OFFSETS(0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 13, 12, 15, 14, 18, 19, 16, 17));
}

static void swizzle_is_reduced(void **state)
{
    (void)state;
    // Row 5 of a matrix with 4 columns: 5 mod 4 = 1.
    const tm_layout *l = layout_of(&memory, "row_major(8, 4).swizzle(1)");
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < 4; j++)
            assert_int_equal(tm_layout_offset(l, (int64_t[]){i, j}), i * 4 + (j ^ (i % 4)));
    assert_true(tm_layout_is_injective(l));
    const tm_layout *rows = layout_of(&memory, "row_major(4, 6).swizzle(0)");
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 6; j++)
            assert_int_equal(tm_layout_offset(rows, (int64_t[]){i, j}), (i ^ (j % 4)) * 6 + j);
    const tm_layout *third = layout_of(&memory, "row_major(2, 3, 8).swizzle(2, regards_dim=1, log_step=1)");
    assert_int_equal(tm_layout_offset(third, (int64_t[]){1, 2, 5}), 24 + 16 + 4);
}

static void permute_with_a_cycle(void **state)
{
    (void)state;
    static const char *const bases[] = {"row_major(2, 3, 4)", "row_major(2, 3, 4).swizzle(2, regards_dim=1)",
                                        "row_major(2, 3, 1) * column_major(1, 1, 4)",
                                        "local_layout(2, 1, 4) * row_major(1, 3, 1)"};
    for (size_t n = 0; n < sizeof bases / sizeof *bases; n++)
        for (int p = 0; p < 6; p++) {
            const tm_layout *base = layout_of(&memory, bases[n]);
            int perm[3];
            nth_perm(3, p, perm);
            const tm_layout *l = tm_layout_permute(&memory, base, perm, NULL);
            int64_t index[3] = {0};
            do {
                int64_t within[3];
                for (int d = 0; d < 3; d++) {
                    assert_int_equal(l->shape[d], base->shape[perm[d]]);
                    within[perm[d]] = index[d];
                }
                assert_int_equal(tm_layout_offset(l, index), tm_layout_offset(base, within));
                index[2]++;
                for (int d = 2; d > 0 && index[d] == l->shape[d]; d--)
                    index[d] = 0, index[d - 1]++;
            } while (index[0] < l->shape[0]);
        }
}

static void exclusive_or_of_offsets(void **state)
{
    (void)state;
    // The 128-byte pattern of TMA on 2-byte elements: 16-byte chunks (8 elements) of 8 rows.
    const tm_layout *l = layout_of(&memory, "row_major(16, 64).xor(3, 3, 3)");
    assert_int_equal(l->size, 1024);
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 64; j++)
            assert_int_equal(tm_layout_offset(l, (int64_t[]){i, j}), i * 64 + (j / 8 ^ i % 8) * 8 + j % 8);
    assert_int_equal(layout_of(&memory, "row_major(3, 8).xor(2, 1, 3)")->size, 24);
    assert_int_equal(layout_of(&memory, "row_major(5, 4).xor(2, 1, 2)")->size, 24);
    assert_int_equal(layout_of(&memory, "row_major(5, 4).xor(3, 4, 3)")->size, 20);
}

static int64_t flat_of(int rank, const int64_t *shape, const int64_t *index)
{
    int64_t flat = 0;
    for (int d = 0; d < rank; d++)
        flat = flat * shape[d] + index[d];
    return flat;
}

static bool step(int rank, const int64_t *shape, int64_t *index)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

// ---- random layouts -------------------------------------------------------------------------------------------------

static const tm_layout *random_leaf(random_state *r, int rank, const int64_t *shape)
{
    int ranks[TM_MAX_RANK];
    int64_t strides[TM_MAX_RANK];
    random_ranks(r, rank, ranks);
    int64_t what = random_below(r, 8);
    if (what < 5)
        return tm_layout_ranked(&memory, rank, shape, ranks, NULL);
    if (what == 5)
        return tm_layout_local(&memory, rank, shape, NULL);
    for (int d = 0; d < rank; d++)
        strides[d] = random_below(r, 2) ? random_below(r, 9) : (int64_t)1 << random_below(r, 5);
    return tm_layout_strided(&memory, rank, shape, strides, NULL);
}

static const tm_layout *random_layout(random_state *r, int rank, const int64_t *shape, int depth);

static const tm_layout *random_product(random_state *r, int rank, const int64_t *shape, int depth)
{
    int64_t outer[TM_MAX_RANK], inner[TM_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        do
            inner[d] = 1 + random_below(r, shape[d]);
        while (shape[d] % inner[d]);
        outer[d] = shape[d] / inner[d];
    }
    return tm_layout_compose(&memory, random_layout(r, rank, outer, depth), random_layout(r, rank, inner, depth), NULL);
}

static const tm_layout *random_permuted(random_state *r, int rank, const int64_t *shape, int depth)
{
    int perm[TM_MAX_RANK];
    int64_t base[TM_MAX_RANK];
    random_ranks(r, rank, perm);
    for (int d = 0; d < rank; d++)
        base[perm[d]] = shape[d];
    return tm_layout_permute(&memory, random_layout(r, rank, base, depth), perm, NULL);
}

static const tm_layout *random_reshaped(random_state *r, int rank, const int64_t *shape, int depth)
{
    int64_t base[3] = {ref_product(rank, shape), 1, 1};
    for (int i = 0; i < 4; i++) {
        int64_t factor = 2 + random_below(r, 3), to = 1 + random_below(r, 2);
        if (base[0] % factor == 0) {
            base[0] /= factor;
            base[to] *= factor;
        }
    }
    return tm_layout_reshape(&memory, random_layout(r, 3, base, depth), rank, shape, NULL);
}

static const tm_layout *random_mapped(random_state *r, int rank, const int64_t *shape)
{
    int ranks[TM_MAX_RANK];
    random_ranks(r, rank, ranks);
    int64_t all = ref_product(rank, shape), workers = 1 + random_below(r, 8);
    const tm_map *m = tm_auto(&memory, rank, shape, all % workers ? 1 : workers, ranks, NULL);
    return tm_layout_of_map(&memory, m);
}

static const tm_layout *random_layout(random_state *r, int rank, const int64_t *shape, int depth)
{
    const tm_layout *l = NULL;
    if (depth == 0)
        return random_leaf(r, rank, shape);
    depth--;
    switch (random_below(r, 8)) {
    case 0:
    case 1:
        l = random_product(r, rank, shape, depth);
        break;
    case 2:
        l = random_layout(r, rank, shape, depth);
        l = tm_layout_swizzle(&memory, l, (int)random_below(r, rank), (int)random_below(r, rank),
                              (int)random_below(r, 3), NULL);
        break;
    case 3:
        l = random_layout(r, rank, shape, depth);
        l = tm_layout_xor(&memory, l, (int)random_below(r, 3), (int)random_below(r, 3), 1 + (int)random_below(r, 4),
                          NULL);
        break;
    case 4:
        l = random_permuted(r, rank, shape, depth);
        break;
    case 5:
        l = random_reshaped(r, rank, shape, depth);
        break;
    case 6:
        l = random_mapped(r, rank, shape);
        break;
    case 7:
        if (rank > 1) {
            int64_t cut = 1 + random_below(r, rank - 1);
            l = tm_layout_concat(&memory, random_layout(r, (int)cut, shape, depth),
                                 random_layout(r, rank - (int)cut, shape + cut, depth), NULL);
        }
        break;
    }
    return l ? l : random_leaf(r, rank, shape);
}

static void random_shape(random_state *r, int rank, int64_t *shape)
{
    static const int64_t extents[] = {1, 2, 2, 3, 4, 4, 6, 8};
    for (int d = 0; d < rank; d++)
        shape[d] = extents[random_below(r, 8)];
}

static void check_facts(const tm_layout *l)
{
    int64_t index[TM_MAX_RANK] = {0}, count = 0;
    bool row_major = true, injective = true;
    bool *used = ARENA_ARRAY(&memory, bool, l->size);
    do {
        int64_t offset = tm_layout_offset(l, index);
        assert_true(offset >= 0 && offset < l->size);
        assert_true(tm_layout_in_bounds(l, index));
        row_major &= offset == count++;
        injective &= !used[offset];
        used[offset] = true;
    } while (step(l->rank, l->shape, index));
    assert_int_equal(tm_layout_is_row_major(l), row_major);
    assert_int_equal(tm_layout_is_injective(l), injective);
    index[0] = l->shape[0];
    assert_false(tm_layout_in_bounds(l, index));
}

static void check_text(const tm_layout *l)
{
    const char *text = layout_text(&memory, l);
    const tm_layout *read = layout_of(&memory, text);
    if (!tm_layout_equal(l, read) || tm_layout_hash(l) != tm_layout_hash(read))
        fail_msg("'%s' reads back as '%s'", text, layout_text(&memory, read));
}

static void random_layouts_hold_their_facts(void **state)
{
    (void)state;
    random_state random = {5};
    for (int i = 0; i < 20000; i++) {
        arena_mark mark = arena_mark_get(&memory);
        int64_t shape[TM_MAX_RANK];
        int rank = 1 + (int)random_below(&random, 3);
        random_shape(&random, rank, shape);
        const tm_layout *l = random_layout(&random, rank, shape, (int)random_below(&random, 4));
        assert_memory_equal(l->shape, shape, sizeof(int64_t) * (size_t)rank);
        check_facts(l);
        check_text(l);
        arena_reset(&memory, mark);
    }
}

static void products_follow_the_definition(void **state)
{
    (void)state;
    random_state random = {6};
    for (int i = 0; i < 2000; i++) {
        arena_mark mark = arena_mark_get(&memory);
        int64_t shapes[3][TM_MAX_RANK], index[TM_MAX_RANK] = {0};
        const tm_layout *l[3];
        for (int k = 0; k < 3; k++) {
            random_shape(&random, 2, shapes[k]);
            l[k] = random_layout(&random, 2, shapes[k], 1);
        }
        const tm_layout *pair = tm_layout_compose(&memory, l[0], l[1], NULL);
        const tm_layout *left = tm_layout_compose(&memory, pair, l[2], NULL);
        const tm_layout *right = tm_layout_compose(&memory, l[0], tm_layout_compose(&memory, l[1], l[2], NULL), NULL);
        const tm_layout *sum = tm_layout_concat(&memory, l[0], l[1], NULL);
        assert_int_equal(left->size, right->size);
        do
            assert_int_equal(tm_layout_offset(left, index), tm_layout_offset(right, index));
        while (step(2, left->shape, index));
        do {
            int64_t outer[] = {index[0] / shapes[1][0], index[1] / shapes[1][1]};
            int64_t inner[] = {index[0] % shapes[1][0], index[1] % shapes[1][1]};
            assert_int_equal(tm_layout_offset(pair, index),
                             tm_layout_offset(l[0], outer) * l[1]->size + tm_layout_offset(l[1], inner));
        } while (step(2, pair->shape, index));
        do
            assert_int_equal(tm_layout_offset(sum, index),
                             tm_layout_offset(l[0], index) * l[1]->size + tm_layout_offset(l[1], index + 2));
        while (step(4, sum->shape, index));
        arena_reset(&memory, mark);
    }
}

static void reshape_keeps_row_order(void **state)
{
    (void)state;
    const tm_layout *base = layout_of(&memory, "column_major(4, 6)");
    const tm_layout *l = tm_layout_reshape(&memory, base, 3, (int64_t[]){2, 3, 4}, NULL);
    int64_t index[3] = {0};
    do {
        int64_t flat = flat_of(3, l->shape, index);
        assert_int_equal(tm_layout_offset(l, index), tm_layout_offset(base, (int64_t[]){flat / 6, flat % 6}));
    } while (step(3, l->shape, index));
    assert_false(tm_layout_is_row_major(layout_of(&memory, "column_major(4, 6).reshape([8, 3])")));
    assert_true(tm_layout_is_row_major(layout_of(&memory, "row_major(4096, 4096).reshape([2048, 8192])")));
    assert_true(tm_layout_is_row_major(layout_of(&memory, "row_major(4, 6).reshape([8, 3])")));
}

// ---- the key identity -----------------------------------------------------------------------------------------------

// The layout with spatial read as local_layout and repeat as row_major or column_major.
static const tm_layout *by_substitution(const char *mapping)
{
    static const char *const pairs[][2] = {{"col_spatial", "local_layout"},
                                           {"spatial", "local_layout"},
                                           {"col_repeat", "column_major"},
                                           {"repeat", "row_major"}};
    str_buf out;
    str_buf_init(&out, &memory);
    while (*mapping) {
        int i = 0;
        while (i < 4 && strncmp(mapping, pairs[i][0], strlen(pairs[i][0])) != 0)
            i++;
        if (i < 4) {
            str_adds(&out, pairs[i][1]);
            mapping += strlen(pairs[i][0]);
        } else {
            str_addc(&out, *mapping++);
        }
    }
    return layout_of(&memory, str_text(&out));
}

static void check_key_identity(const char *mapping)
{
    const tm_map *m = map_of(&memory, mapping);
    const tm_layout *written = by_substitution(mapping), *own = tm_layout_of_map(&memory, m);
    assert_int_equal(written->size, m->tasks_per_worker);
    assert_int_equal(own->size, m->tasks_per_worker);
    for (int64_t w = 0; w < m->workers; w++)
        for (int64_t p = 0; p < m->tasks_per_worker; p++) {
            int64_t task[TM_MAX_RANK];
            tm_task(m, w, p, task);
            assert_int_equal(tm_layout_offset(written, task), p);
            assert_int_equal(tm_layout_offset(own, task), p);
        }
}

static void register_layout_is_the_mapping(void **state)
{
    (void)state;
    check_key_identity("spatial(4, 2) * repeat(2, 2) * spatial(2, 16) * repeat(4, 4)");
    check_key_identity("repeat(2, 1) * spatial(8, 4) * repeat(1, 2)");
    check_key_identity("col_repeat(2, 2) * spatial(8, 4) * repeat(1, 2)");
    check_key_identity("repeat(2, 1) * col_spatial(4, 8) * repeat(2, 1)");
    check_key_identity("col_repeat(2, 1, 3) * spatial(1, 4, 2) * repeat(1, 2, 2)");
    const tm_layout *l =
        layout_of(&memory, "local_layout(4, 2) * row_major(2, 2) * local_layout(2, 16) * row_major(4, 4)");
    assert_true(l->shape[0] == 64 && l->shape[1] == 256 && l->size == 64);
}

// ---- vector accesses ------------------------------------------------------------------------------------------------

static bool all_runs_fit(const tm_map *m, const tm_layout *l, int64_t width)
{
    if (m->tasks_per_worker % width)
        return false;
    for (int64_t w = 0; w < m->workers; w++)
        for (int64_t p = 0; p < m->tasks_per_worker; p++) {
            int64_t task[TM_MAX_RANK], first[TM_MAX_RANK];
            tm_task(m, w, p, task);
            tm_task(m, w, p / width * width, first);
            bool inside = tm_layout_in_bounds(l, task);
            if (inside != tm_layout_in_bounds(l, first))
                return false;
            if (!inside)
                continue;
            int64_t start = tm_layout_offset(l, first);
            if (start % width || tm_layout_offset(l, task) != start + p % width)
                return false;
        }
    return true;
}

static int widest_by_trial(const tm_map *m, const tm_layout *l, int most)
{
    int widest = 1;
    for (int width = 2; width <= most; width *= 2)
        if (all_runs_fit(m, l, width))
            widest = width;
    return widest;
}

// A mapping and a layout that mostly have one shape, and often access several elements at once.
static void random_pair(random_state *r, both *b, const tm_layout **l)
{
    int rank = 1 + (int)random_below(r, 2);
    *b = random_map(r, &memory, rank, 3);
    if (random_below(r, 2)) {
        int64_t run[TM_MAX_RANK] = {1, 1};
        run[rank - 1] = (int64_t)1 << random_below(r, 4);
        const tm_map *vector = tm_repeat(&memory, rank, run, NULL, NULL, NULL);
        b->m = tm_compose(&memory, b->m, vector, NULL);
    }
    if (random_below(r, 8) == 0)
        b->m = tm_project(&memory, b->m, (int)random_below(r, rank), NULL);
    int64_t shape[TM_MAX_RANK];
    for (int d = 0; d < rank; d++)
        shape[d] = b->m->shape[d] * (random_below(r, 4) ? 1 : 2);
    if (random_below(r, 4) == 0)
        shape[0] += random_below(r, 4);
    else if (random_below(r, 4) == 0)
        shape[rank - 1] = 1 + random_below(r, shape[rank - 1]);
    *l = random_layout(r, rank, shape, (int)random_below(r, 3));
}

static void widest_access_by_trial(void **state)
{
    (void)state;
    random_state random = {7};
    int wide = 0;
    for (int i = 0; i < 30000; i++) {
        arena_mark mark = arena_mark_get(&memory);
        both b;
        const tm_layout *l;
        random_pair(&random, &b, &l);
        int expect = widest_by_trial(b.m, l, 16), got = tm_widest_access(b.m, l, 16);
        if (got != expect)
            fail_msg("%s over %s: %d, not %d", map_text(&memory, b.m), layout_text(&memory, l), got, expect);
        wide += expect > 1;
        assert_int_equal(tm_widest_access(b.m, l, 3), widest_by_trial(b.m, l, 2));
        arena_reset(&memory, mark);
    }
    assert_true(wide > 2000);
}

static void widest_access_examples(void **state)
{
    (void)state;
    static const struct {
        const char *map, *layout;
        int most, widest;
    } cases[] = {
        {"repeat(4, 1) * spatial(16, 8) * repeat(1, 8)", "row_major(64, 64)", 8, 8},
        {"repeat(4, 1) * spatial(16, 8) * repeat(1, 8)", "column_major(64, 64)", 8, 1},
        {"repeat(4, 1) * spatial(16, 8) * repeat(1, 8)", "row_major(64, 66)", 8, 2},
        {"repeat(4, 1) * spatial(16, 8) * repeat(1, 8)", "row_major(64, 64).xor(3, 3, 3)", 8, 8},
        {"repeat(4, 1) * spatial(16, 8) * repeat(1, 8)", "row_major(64, 64).swizzle(1)", 8, 1},
        {"spatial(128) * repeat(4096) * repeat(16)", "row_major(8388608)", 16, 16},
        {"spatial(128) * repeat(4096) * repeat(6)", "row_major(3145728)", 16, 16},
        {"repeat(65536) * spatial(128) * repeat(6)", "row_major(50331648)", 16, 2},
        {"spatial(32) * repeat(4)", "row_major(64, 2).reshape([128])", 4, 4},
        {"spatial(32)", "row_major(32)", 16, 1},
        {"spatial(32)", "row_major(16, 2)", 16, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            tm_widest_access(map_of(&memory, cases[i].map), layout_of(&memory, cases[i].layout), cases[i].most),
            cases[i].widest);
}

// ---- banks ----------------------------------------------------------------------------------------------------------

// The rule said over again: for each phase of each 16-byte request, the bank with most different words.
static tm_banks banks_by_trial(const tm_map *m, const tm_layout *l, int element_bytes, int vector)
{
    tm_banks banks = {0};
    for (int64_t warp = 0; warp * 32 < m->workers; warp++)
        for (int64_t p = 0; p < m->tasks_per_worker; p += vector) {
            int64_t run = m->tasks_per_worker - p < vector ? m->tasks_per_worker - p : vector;
            for (int64_t at = 0; at < run * element_bytes; at += 16) {
                int64_t bytes = run * element_bytes - at < 16 ? run * element_bytes - at : 16;
                int64_t lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
                bool any = false;
                for (int64_t from = 0; from < 32; from += lanes) {
                    static bool touched[1 << 14];
                    memset(touched, 0, sizeof touched);
                    bool active = false;
                    for (int64_t w = warp * 32 + from; w < warp * 32 + from + lanes && w < m->workers; w++) {
                        int64_t task[TM_MAX_RANK];
                        tm_task(m, w, p, task);
                        if (!tm_layout_in_bounds(l, task))
                            continue;
                        active = true;
                        int64_t start = tm_layout_offset(l, task) * element_bytes + at;
                        for (int64_t byte = start; byte < start + bytes; byte++)
                            touched[byte / 4] = true;
                    }
                    int passes = 0;
                    for (int bank = 0; bank < 32; bank++) {
                        int words = 0;
                        for (int word = bank; word < 1 << 14; word += 32)
                            words += touched[word];
                        passes = words > passes ? words : passes;
                    }
                    any |= active;
                    banks.ideal += active;
                    banks.wavefronts += passes;
                    banks.worst = passes > banks.worst ? passes : banks.worst;
                }
                banks.accesses += any;
            }
        }
    return banks;
}

static void banks_against_the_rule(void **state)
{
    (void)state;
    random_state random = {8};
    int conflicts = 0;
    for (int i = 0; i < 1000; i++) {
        arena_mark mark = arena_mark_get(&memory);
        both b;
        const tm_layout *l;
        do
            random_pair(&random, &b, &l);
        while (b.m->workers < 8 || b.m->workers * b.m->tasks_per_worker > 400 || l->size > 4000);
        int bytes = (int[]){1, 2, 4, 8, 16, 3}[random_below(&random, 6)], vector = 1 + (int)random_below(&random, 4);
        if (l->size * bytes < 1 << 15) {
            tm_banks expect = banks_by_trial(b.m, l, bytes, vector), got = tm_bank_conflicts(b.m, l, bytes, vector);
            assert_int_equal(got.accesses, expect.accesses);
            assert_int_equal(got.wavefronts, expect.wavefronts);
            assert_int_equal(got.ideal, expect.ideal);
            assert_int_equal(got.worst, expect.worst);
            conflicts += got.wavefronts > got.ideal;
        }
        arena_reset(&memory, mark);
    }
    assert_true(conflicts > 20);
}

static void check_banks(const char *map, const char *layout, int bytes, int vector, int64_t accesses, int64_t passes,
                        int64_t ideal, int worst)
{
    tm_banks b = tm_bank_conflicts(map_of(&memory, map), layout_of(&memory, layout), bytes, vector);
    assert_int_equal(b.accesses, accesses);
    assert_int_equal(b.wavefronts, passes);
    assert_int_equal(b.ideal, ideal);
    assert_int_equal(b.worst, worst);
}

static void bank_examples(void **state)
{
    (void)state;
    check_banks("spatial(1, 32)", "row_major(32, 32)", 4, 1, 1, 1, 1, 1);
    check_banks("spatial(32, 1)", "row_major(32, 32)", 4, 1, 1, 32, 1, 32);
    check_banks("spatial(32, 1)", "row_major(32, 32).swizzle(1)", 4, 1, 1, 1, 1, 1);
    check_banks("spatial(32, 1)", "strided_layout([32, 32], strides=[33, 1])", 4, 1, 1, 1, 1, 1);
    check_banks("spatial(32, 1)", "local_layout(32, 1)", 4, 1, 1, 1, 1, 1);
    check_banks("spatial(1, 32) * repeat(1, 4)", "row_major(1, 128)", 4, 4, 1, 4, 4, 1);
    check_banks("spatial(1, 32) * repeat(1, 2)", "row_major(1, 64)", 4, 2, 1, 2, 2, 1);
    check_banks("spatial(1, 32) * repeat(1, 8)", "row_major(1, 256)", 4, 8, 2, 16, 8, 2);
    check_banks("spatial(1, 64)", "row_major(1, 64)", 2, 1, 2, 2, 2, 1);
    check_banks("spatial(1, 40)", "row_major(1, 40)", 4, 1, 2, 2, 2, 1);
    check_banks("spatial(1, 40)", "row_major(1, 32)", 4, 1, 1, 1, 1, 1);
    check_banks("spatial(1, 40)", "row_major(40)", 4, 1, 0, 0, 0, 0);
    check_banks("spatial(1, 40)", "row_major(1, 40)", 0, 1, 0, 0, 0, 0);
}

// ---- bad input ------------------------------------------------------------------------------------------------------

#define FAILS(call, reason)                                                                                            \
    do {                                                                                                               \
        tm_reason why = TM_OK;                                                                                         \
        assert_null(call);                                                                                             \
        assert_int_equal(why, reason);                                                                                 \
    } while (0)

static void bad_input_has_reasons(void **state)
{
    (void)state;
    arena *a = &memory;
    const int64_t two[] = {2, 2}, none[] = {2, 0}, huge[] = {INT64_MAX, 2}, big[] = {(int64_t)1 << 40};
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const tm_layout *square = layout_of(a, "row_major(4, 4)"), *odd = layout_of(a, "row_major(3, 6)");
    const tm_layout *cube = layout_of(a, "row_major(2, 2, 2)"), *far = tm_layout_row_major(a, 1, big, NULL);
    FAILS(tm_layout_row_major(a, 2, none, &why), TM_BAD_EXTENT);
    FAILS(tm_layout_row_major(a, 9, nine, &why), TM_TOO_MANY_DIMS);
    FAILS(tm_layout_column_major(a, 9, nine, &why), TM_TOO_MANY_DIMS);
    FAILS(tm_layout_column_major(a, 2, huge, &why), TM_OVERFLOW);
    FAILS(tm_layout_ranked(a, 2, two, ((int[]){1, 1}), &why), TM_BAD_RANKS);
    FAILS(tm_layout_strided(a, 2, two, ((int64_t[]){1, -1}), &why), TM_BAD_STRIDE);
    FAILS(tm_layout_strided(a, 2, two, huge, &why), TM_OVERFLOW);
    FAILS(tm_layout_local(a, 2, huge, &why), TM_OVERFLOW);
    FAILS(tm_layout_compose(a, square, cube, &why), TM_RANK_MISMATCH);
    FAILS(tm_layout_compose(a, far, far, &why), TM_OVERFLOW);
    FAILS(tm_layout_concat(a, far, far, &why), TM_OVERFLOW);
    FAILS(tm_layout_concat(a, tm_layout_concat(a, cube, cube, NULL), cube, &why), TM_TOO_MANY_DIMS);
    FAILS(tm_layout_swizzle(a, square, 2, -1, 0, &why), TM_BAD_DIM);
    FAILS(tm_layout_swizzle(a, square, 1, 1, 0, &why), TM_BAD_DIM);
    FAILS(tm_layout_swizzle(a, cube, 1, -1, 0, &why), TM_BAD_DIM);
    FAILS(tm_layout_swizzle(a, square, INT32_MIN, -1, 0, &why), TM_BAD_DIM);
    FAILS(tm_layout_swizzle(a, square, 1, 0, -1, &why), TM_BAD_SWIZZLE);
    FAILS(tm_layout_swizzle(a, square, 1, 0, 64, &why), TM_BAD_SWIZZLE);
    FAILS(tm_layout_swizzle(a, odd, 1, 0, 0, &why), TM_NOT_POWER_OF_TWO);
    FAILS(tm_layout_xor(a, square, 2, 0, 0, &why), TM_BAD_SWIZZLE);
    FAILS(tm_layout_xor(a, square, -1, 0, 1, &why), TM_BAD_SWIZZLE);
    FAILS(tm_layout_xor(a, square, 30, 30, 30, &why), TM_BAD_SWIZZLE);
    FAILS(tm_layout_reshape(a, square, 2, two, &why), TM_BAD_RESHAPE);
    FAILS(tm_layout_permute(a, square, ((int[]){0, 2}), &why), TM_BAD_RANKS);
    assert_null(tm_layout_row_major(a, 2, none, NULL));
}

static void large_layouts_are_quick(void **state)
{
    (void)state;
    const tm_layout *l = layout_of(&memory, "row_major(1048576, 1024) * row_major(4, 4096)");
    assert_true(tm_layout_is_injective(l));
    assert_false(tm_layout_is_row_major(l));
    assert_true(tm_layout_is_row_major(layout_of(&memory, "row_major(1048576, 1) * row_major(4, 4096)")));
    assert_true(tm_layout_is_injective(layout_of(&memory, "row_major(65536, 65536).swizzle(1)")));
    assert_false(tm_layout_is_injective(layout_of(&memory, "strided_layout([65536, 65536], strides=[65535, 1])")));
    assert_true(tm_layout_is_injective(layout_of(&memory, "strided_layout([65536, 65536], strides=[65537, 1])")));
    assert_true(tm_layout_is_injective(layout_of(&memory, "strided_layout([2, 3], strides=[3, 2])")));
    assert_false(tm_layout_is_injective(layout_of(&memory, "strided_layout([3, 4], strides=[3, 2])")));
}

static int set_up(void **state)
{
    (void)state;
    arena_init(&memory, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(swizzle_is_reduced),
        cmocka_unit_test(permute_with_a_cycle),
        cmocka_unit_test(exclusive_or_of_offsets),
        cmocka_unit_test(random_layouts_hold_their_facts),
        cmocka_unit_test(products_follow_the_definition),
        cmocka_unit_test(reshape_keeps_row_order),
        cmocka_unit_test(register_layout_is_the_mapping),
        cmocka_unit_test(widest_access_by_trial),
        cmocka_unit_test(widest_access_examples),
        cmocka_unit_test(banks_against_the_rule),
        cmocka_unit_test(bank_examples),
        cmocka_unit_test(bad_input_has_reasons),
        cmocka_unit_test(large_layouts_are_quick),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
