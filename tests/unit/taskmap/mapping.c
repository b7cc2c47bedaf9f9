// Mappings against the definition: every small one, every composition of two and three, projections, proofs, text.

#include "parse.h"

#define MAKE(...)                                                                                                      \
    (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static arena memory;

static void each_small_map(int rank, int64_t most, void (*visit)(const tm_map *, ref_map))
{
    int64_t shape[TM_MAX_RANK] = {0};
    while (next_shape(rank, most, shape))
        for (int n = 0; n < factorial(rank); n++)
            for (int spatial = 0; spatial < 2; spatial++) {
                arena_mark mark = arena_mark_get(&memory);
                int ranks[TM_MAX_RANK];
                nth_perm(rank, n, ranks);
                visit(spatial ? tm_spatial(&memory, rank, shape, ranks, NULL)
                              : tm_repeat(&memory, rank, shape, ranks, NULL, NULL),
                      ref_ordered(&memory, spatial, rank, shape, ranks));
                arena_reset(&memory, mark);
            }
}

static bool same_attrs(const tm_map *a, const tm_map *b)
{
    int j = 0;
    for (int i = 0; i < a->digit_count; i++) {
        if (a->digits[i].extent == 1)
            continue;
        while (b->digits[j].extent == 1)
            j++;
        if (a->digits[i].unroll != b->digits[j].unroll || a->digits[i].factor != b->digits[j].factor)
            return false;
        j++;
    }
    return true;
}

static void check_text(const tm_map *m)
{
    const char *text = map_text(&memory, m);
    const tm_map *read = map_of(&memory, text);
    if (!tm_equal(m, read) || !same_attrs(m, read) || tm_hash(m) != tm_hash(read))
        fail_msg("'%s' reads back as another mapping", text);
}

// Counts in the reference who does which task of [shape].
static void check_proof(const tm_map *m, ref_map r, const int64_t *shape)
{
    tm_proof proof = tm_prove(m, shape);
    int64_t all = ref_product(r.rank, shape), inside = 0, most = 0;
    int *done = ARENA_ARRAY(&memory, int, all);
    for (int64_t i = 0; i < r.workers * r.count; i++) {
        int64_t flat = 0;
        bool in = true;
        for (int d = 0; d < r.rank; d++) {
            flat = flat * shape[d] + r.lists[i].at[d];
            in &= r.lists[i].at[d] < shape[d];
        }
        if (!in)
            continue;
        inside += done[flat]++ == 0;
        most = done[flat] > most ? done[flat] : most;
    }
    assert_int_equal(proof.covers, inside == all);
    assert_int_equal(proof.disjoint, most <= 1);
    int64_t missing = 0, doubled = 0;
    for (int d = 0; d < r.rank; d++) {
        missing = missing * shape[d] + proof.missing[d];
        doubled = doubled * shape[d] + proof.doubled[d];
    }
    if (!proof.covers)
        assert_int_equal(done[missing], 0);
    if (!proof.disjoint)
        assert_true(done[doubled] > 1);
}

static void check_proofs(const tm_map *m, ref_map r)
{
    for (int64_t variant = 0; variant < 27; variant++) {
        int64_t shape[TM_MAX_RANK] = {0}, left = variant;
        for (int d = 0; d < r.rank; d++, left /= 3)
            shape[d] = r.shape.at[d] + left % 3 - 1;
        if (left == 0)
            check_proof(m, r, shape);
    }
}

static void check_all(const tm_map *m, ref_map r)
{
    check_same(m, r);
    check_owner(m, r);
    check_text(m);
    check_proofs(m, r);
}

static void every_small_mapping(void **state)
{
    (void)state;
    each_small_map(1, 7, check_all);
    each_small_map(2, 4, check_all);
    each_small_map(3, 3, check_all);
}

// ---- compositions ---------------------------------------------------------------------------------------------------

typedef struct small_maps {
    int count;
    both at[512];
} small_maps;

static void collect_small(small_maps *all, int rank, int64_t most, bool distinct)
{
    int64_t shape[TM_MAX_RANK] = {0};
    all->count = 0;
    while (next_shape(rank, most, shape))
        for (int n = 0; n < factorial(rank) * 2; n++) {
            int ranks[TM_MAX_RANK];
            nth_perm(rank, n / 2, ranks);
            both b = {n % 2 ? tm_spatial(&memory, rank, shape, ranks, NULL)
                            : tm_repeat(&memory, rank, shape, ranks, NULL, NULL),
                      ref_ordered(&memory, n % 2, rank, shape, ranks)};
            bool seen = false;
            for (int i = 0; distinct && i < all->count; i++)
                seen |= tm_equal(all->at[i].m, b.m);
            if (!seen)
                all->at[all->count++] = b;
        }
}

static void check_pairs(int rank, int64_t most)
{
    small_maps all;
    collect_small(&all, rank, most, false);
    for (int i = 0; i < all.count; i++)
        for (int j = 0; j < all.count; j++) {
            arena_mark mark = arena_mark_get(&memory);
            const tm_map *m = tm_compose(&memory, all.at[i].m, all.at[j].m, NULL);
            ref_map r = ref_compose(&memory, all.at[i].r, all.at[j].r);
            check_same(m, r);
            check_owner(m, r);
            check_text(m);
            arena_reset(&memory, mark);
        }
}

static void check_triples(int rank, int64_t most)
{
    small_maps all;
    collect_small(&all, rank, most, true);
    for (int n = 0; n < all.count * all.count * all.count; n++) {
        arena_mark mark = arena_mark_get(&memory);
        both x = all.at[n % all.count], y = all.at[n / all.count % all.count], z = all.at[n / all.count / all.count];
        const tm_map *left = tm_compose(&memory, tm_compose(&memory, x.m, y.m, NULL), z.m, NULL);
        const tm_map *right = tm_compose(&memory, x.m, tm_compose(&memory, y.m, z.m, NULL), NULL);
        assert_true(tm_equal(left, right));
        check_same(left, ref_compose(&memory, ref_compose(&memory, x.r, y.r), z.r));
        check_text(left);
        arena_reset(&memory, mark);
    }
}

static void every_composition_of_two(void **state)
{
    (void)state;
    arena_mark mark = arena_mark_get(&memory);
    check_pairs(1, 4);
    check_pairs(2, 3);
    check_pairs(3, 2);
    arena_reset(&memory, mark);
}

static void every_composition_of_three(void **state)
{
    (void)state;
    arena_mark mark = arena_mark_get(&memory);
    check_triples(1, 4);
    check_triples(2, 3);
    check_triples(3, 2);
    arena_reset(&memory, mark);
}

static void identity_changes_nothing(void **state)
{
    (void)state;
    random_state random = {1};
    for (int i = 0; i < 300; i++) {
        arena_mark mark = arena_mark_get(&memory);
        int rank = (int)random_below(&random, 4) + 1;
        both b = random_map(&random, &memory, rank, 3);
        const tm_map *one = tm_identity(&memory, rank, NULL);
        assert_true(tm_equal(tm_compose(&memory, one, b.m, NULL), b.m));
        assert_true(tm_equal(tm_compose(&memory, b.m, one, NULL), b.m));
        arena_reset(&memory, mark);
    }
    assert_string_equal(map_text(&memory, tm_identity(&memory, 2, NULL)), "repeat(1, 1)");
    assert_string_equal(map_text(&memory, tm_identity(&memory, 0, NULL)), "repeat()");
    check_text(tm_identity(&memory, 0, NULL));
}

// ---- projections and the like ---------------------------------------------------------------------------------------

// Applies a random chain of operations to both sides.
static both random_view(random_state *random, both b)
{
    for (int64_t steps = random_below(random, 4); steps > 0; steps--) {
        int dim = b.m->rank ? (int)random_below(random, b.m->rank) : 0;
        int64_t what = random_below(random, 4);
        if (b.m->rank == 0)
            continue;
        if (what == 0)
            b = (both){tm_without(&memory, b.m, dim, NULL), ref_without(&memory, b.r, dim)};
        if (what == 1)
            b = (both){tm_project(&memory, b.m, dim, NULL), ref_project(&memory, b.r, dim)};
        if (what == 2) {
            int perm[TM_MAX_RANK];
            random_ranks(random, b.m->rank, perm);
            b = (both){tm_permute(&memory, b.m, perm, NULL), ref_permute(&memory, b.r, perm)};
        }
        if (what == 3 && b.r.workers * b.r.count < 300) {
            both other = random_map(random, &memory, b.m->rank, 1);
            bool before = random_below(random, 2);
            b = before ? (both){tm_compose(&memory, other.m, b.m, NULL), ref_compose(&memory, other.r, b.r)}
                       : (both){tm_compose(&memory, b.m, other.m, NULL), ref_compose(&memory, b.r, other.r)};
        }
    }
    return b;
}

// tm_without drops repeats of its dimension only; in the reference all equal tasks of a list become one.
static bool has_lost_repeat(const tm_map *m)
{
    for (int i = 0; i < m->digit_count; i++)
        if (m->digits[i].dim < 0 && m->digits[i].kind == TM_REPEAT && m->digits[i].extent > 1)
            return true;
    return false;
}

static void views_follow_the_definition(void **state)
{
    (void)state;
    random_state random = {2};
    int lost_repeats = 0;
    for (int i = 0; i < 6000; i++) {
        arena_mark mark = arena_mark_get(&memory);
        both b = random_view(&random, random_map(&random, &memory, (int)random_below(&random, 4) + 1, 2));
        check_text(b.m);
        if (b.m->tasks_per_worker == b.r.count && b.m->rank == b.r.rank)
            check_same(b.m, b.r), check_owner(b.m, b.r), check_proofs(b.m, b.r);
        else
            assert_true(has_lost_repeat(b.m)), lost_repeats++;
        arena_reset(&memory, mark);
    }
    assert_true(lost_repeats < 1000);
}

static void print_cases(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)",
        "col_repeat(2, 2) * spatial(8, 4) * repeat(1, 2)",
        "repeat(2, 1) * col_spatial(4, 8) * repeat(2, 1)",
        "spatial_map([2, 3, 4], ranks=[1, 2, 0])",
        "spatial_map([2, 1, 3, 4], ranks=[2, 0, 3, 1])",
        "repeat(4, 8, attrs=\"u+p8\")",
        "repeat(2, 1) * repeat(1, 4, attrs=\".u4\")",
        "(repeat(2, 1) * spatial(8, 4)).without(1)",
        "spatial(4, 32).without(1)",
        "spatial(32).without(0)",
        "repeat(4, 2).projection({1: 0})",
        "repeat(4).projection({0: 0}).without(0)",
        "spatial(2, 2) * repeat(3, 1).projection({0: 0}) * spatial(1, 2)",
        "spatial(2, 2, 2, 2, 2, 2, 2, 2) * spatial(3, 1, 1, 1, 1, 1, 1, 1).projection({0: 0})",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(map_text(&memory, map_of(&memory, texts[i])), texts[i]);
    const tm_map *reduced = tm_without(&memory, map_of(&memory, texts[0]), 1, NULL);
    assert_string_equal(map_text(&memory, reduced), "(repeat(2, 1) * spatial(8, 4)).without(1)");
}

// ---- equality -------------------------------------------------------------------------------------------------------

static bool ref_equal(ref_map a, ref_map b)
{
    return a.rank == b.rank && a.workers == b.workers && a.count == b.count &&
           memcmp(&a.shape, &b.shape, sizeof a.shape) == 0 &&
           memcmp(a.lists, b.lists, sizeof(tuple) * (size_t)(a.workers * a.count)) == 0;
}

static void same_tasks_is_equality_of_functions(void **state)
{
    (void)state;
    arena_mark mark = arena_mark_get(&memory);
    random_state random = {3};
    static both all[700];
    int count = 0, same = 0, equal = 0;
    for (int i = 0; i < 700; i++) {
        both b = random_view(&random, random_map(&random, &memory, 1 + i % 2, 3));
        if (!has_lost_repeat(b.m))
            all[count++] = b;
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            bool is_same = tm_same_tasks(all[i].m, all[j].m);
            assert_int_equal(is_same, ref_equal(all[i].r, all[j].r));
            same += is_same;
            if (!tm_equal(all[i].m, all[j].m))
                continue;
            equal++;
            assert_true(is_same);
            assert_true(tm_hash(all[i].m) == tm_hash(all[j].m));
        }
    assert_true(equal > count && same > equal);
    assert_true(tm_same_tasks(map_of(&memory, "spatial(4) * spatial(2)"), map_of(&memory, "spatial(8)")));
    assert_false(tm_equal(map_of(&memory, "spatial(4) * spatial(2)"), map_of(&memory, "spatial(8)")));
    assert_true(tm_equal(map_of(&memory, "spatial(4) * repeat(1)"), map_of(&memory, "spatial(4)")));
    assert_false(tm_same_tasks(map_of(&memory, "spatial(2) * repeat(2) * spatial(2) * repeat(2)"),
                               map_of(&memory, "repeat(2) * spatial(4) * repeat(2)")));
    arena_reset(&memory, mark);
}

// ---- worked examples (section 7.2 of the reference) -----------------------------------------------------------------

static const char *tasks_text(const tm_map *m, int64_t worker, int64_t first, int64_t count)
{
    str_buf out;
    str_buf_init(&out, &memory);
    for (int64_t p = first; p < first + count; p++) {
        int64_t t[TM_MAX_RANK];
        tm_task(m, worker, p, t);
        str_addf(&out, "(%lld,%lld)", (long long)t[0], (long long)t[1]);
    }
    return str_text(&out);
}

static void check_tasks(const char *map, int64_t worker, const char *tasks)
{
    const tm_map *m = map_of(&memory, map);
    assert_string_equal(tasks_text(m, worker, 0, m->tasks_per_worker), tasks);
}

static void check_head(const char *map, int64_t workers, int64_t rows, int64_t columns)
{
    const tm_map *m = map_of(&memory, map);
    assert_int_equal(m->workers, workers);
    assert_int_equal(m->shape[0], rows);
    assert_int_equal(m->shape[1], columns);
}

static void worked_examples(void **state)
{
    (void)state;
    static const char *const rows[] = {"(0,0)", "(0,1)", "(0,2)", "(1,0)", "(1,1)", "(1,2)"};
    static const char *const columns[] = {"(0,0)", "(1,0)", "(0,1)", "(1,1)", "(0,2)", "(1,2)"};
    for (int w = 0; w < 6; w++) {
        check_tasks("spatial(2, 3)", w, rows[w]);
        check_tasks("col_spatial(2, 3)", w, columns[w]);
    }
    check_tasks("repeat(2, 3)", 0, "(0,0)(0,1)(0,2)(1,0)(1,1)(1,2)");
    check_tasks("col_repeat(2, 3)", 0, "(0,0)(1,0)(0,1)(1,1)(0,2)(1,2)");
    static const char *const near[] = {"(0,0)(0,1)", "(0,2)(0,3)", "(1,0)(1,1)", "(1,2)(1,3)"};
    static const char *const far[] = {"(0,0)(0,2)", "(0,1)(0,3)", "(1,0)(1,2)", "(1,1)(1,3)"};
    for (int w = 0; w < 4; w++) {
        check_tasks("spatial(2, 2) * repeat(1, 2)", w, near[w]);
        check_tasks("repeat(1, 2) * spatial(2, 2)", w, far[w]);
    }
    check_head("repeat(4, 1) * spatial(16, 8)", 128, 64, 8);
    check_tasks("repeat(4, 1) * spatial(16, 8)", 9, "(1,1)(17,1)(33,1)(49,1)");
    check_head("spatial(16, 8) * repeat(4, 1)", 128, 64, 8);
    check_tasks("spatial(16, 8) * repeat(4, 1)", 9, "(4,1)(5,1)(6,1)(7,1)");
    check_head("repeat(2, 1) * spatial(8, 4) * repeat(1, 2)", 32, 16, 8);
    check_tasks("repeat(2, 1) * spatial(8, 4) * repeat(1, 2)", 5, "(1,2)(1,3)(9,2)(9,3)");
    check_tasks("repeat(2, 1) * spatial(8, 4) * repeat(1, 2)", 31, "(7,6)(7,7)(15,6)(15,7)");
    const char *zigzag = "spatial(2, 1) * spatial(1, 8) * spatial(2, 1)";
    check_head(zigzag, 32, 4, 8);
    static const struct {
        int worker;
        const char *task;
    } tasks[] = {{0, "(0,0)"},  {1, "(1,0)"},  {2, "(0,1)"},  {3, "(1,1)"},
                  {15, "(1,7)"}, {16, "(2,0)"}, {17, "(3,0)"}, {31, "(3,7)"}};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        check_tasks(zigzag, tasks[i].worker, tasks[i].task);
}

static void worked_example_matmul(void **state)
{
    (void)state;
    const char *text = "spatial(4, 2) * repeat(2, 2) * spatial(2, 16) * repeat(4, 4)";
    check_head(text, 256, 64, 256);
    const tm_map *m = map_of(&memory, text);
    assert_int_equal(m->tasks_per_worker, 64);
    assert_string_equal(tasks_text(m, 37, 0, 2), "(0,148)(0,149)");
    assert_string_equal(tasks_text(m, 37, 4, 1), "(1,148)");
    assert_string_equal(tasks_text(m, 37, 16, 1), "(0,212)");
    assert_string_equal(tasks_text(m, 37, 32, 1), "(8,148)");
    assert_string_equal(tasks_text(m, 37, 63, 1), "(11,215)");
}

// ---- auto_map -------------------------------------------------------------------------------------------------------

static void check_auto(int rank, const int64_t *shape, int64_t workers, const int *ranks, const char *expect)
{
    tm_reason why = TM_OK;
    const tm_map *m = tm_auto(&memory, rank, shape, workers, ranks, &why);
    assert_non_null(m);
    assert_true(tm_equal(m, map_of(&memory, expect)));
    assert_int_equal(m->workers, workers);
}

static void check_predicated(int64_t rows, int64_t columns, int64_t workers, const char *expect, int64_t used)
{
    const tm_map *m = tm_auto_predicated(&memory, 2, (int64_t[]){rows, columns}, workers, NULL, NULL);
    assert_true(tm_equal(m, map_of(&memory, expect)));
    assert_int_equal(m->workers, used);
}

static void auto_examples(void **state)
{
    (void)state;
    const int column[] = {1, 0};
    check_auto(MAKE(8, 32), 64, NULL, "repeat(4, 1) * spatial(2, 32)");
    check_auto(MAKE(8, 96), 64, NULL, "repeat(4, 3) * spatial(2, 32)");
    check_auto(MAKE(8, 96), 64, column, "col_repeat(1, 12) * col_spatial(8, 8)");
    check_auto(MAKE(64, 8), 64, column, "col_repeat(1, 8) * col_spatial(64, 1)");
    check_auto(MAKE(8, 16, 24), 32, NULL, "repeat(8, 4, 3) * spatial(1, 4, 8)");
    tm_reason why = TM_OK;
    assert_null(tm_auto(&memory, MAKE(8, 41), 64, NULL, &why));
    assert_int_equal(why, TM_NOT_DIVISIBLE);
    check_predicated(8, 41, 64, "repeat(8, 1) * spatial(1, 41)", 41);
    check_predicated(3, 5, 32, "spatial(3, 5)", 15);
    check_predicated(16, 48, 128, "repeat(8, 1) * spatial(2, 48)", 96);
}

static void auto_works_exactly_when_divisible(void **state)
{
    (void)state;
    int64_t shape[TM_MAX_RANK] = {0};
    while (next_shape(2, 9, shape))
        for (int64_t workers = 1; workers < 40; workers++) {
            arena_mark mark = arena_mark_get(&memory);
            tm_reason why = TM_OK;
            const tm_map *m = tm_auto(&memory, 2, shape, workers, NULL, &why);
            bool divides = shape[0] * shape[1] % workers == 0;
            assert_int_equal(m != NULL, divides);
            assert_int_equal(why, divides ? TM_OK : TM_NOT_DIVISIBLE);
            const tm_map *some = tm_auto_predicated(&memory, 2, shape, workers, NULL, NULL);
            assert_true(some->workers <= workers);
            for (int i = 0; i < 2; i++) {
                const tm_map *each = i ? some : m;
                if (!each)
                    continue;
                tm_proof proof = tm_prove(each, shape);
                assert_true(proof.covers && proof.disjoint);
                assert_memory_equal(each->shape, shape, sizeof(int64_t) * 2);
            }
            arena_reset(&memory, mark);
        }
}

// ---- tiles and shared results ---------------------------------------------------------------------------------------

static void inner_tiles(void **state)
{
    (void)state;
    const tm_map *c16 = map_of(&memory, "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)");
    const tm_map *outer = map_of(&memory, "spatial(4, 2) * repeat(2, 4)");
    const tm_map *m = tm_compose(&memory, outer, c16, NULL);
    int before = -1;
    tm_reason why = TM_OK;
    const tm_map *tile = tm_inner_tile(&memory, m, (int64_t[]){16, 8}, &before, &why);
    assert_true(tile && tm_equal(tile, c16));
    assert_int_equal(before, 4);
    tile = tm_inner_tile(&memory, m, (int64_t[]){8, 8}, &before, &why);
    assert_string_equal(map_text(&memory, tile), "spatial(8, 4) * repeat(1, 2)");
    tile = tm_inner_tile(&memory, m, (int64_t[]){1, 1}, &before, &why);
    assert_true(tile && tile->workers == 1 && before == m->digit_count);
    tile = tm_inner_tile(&memory, m, m->shape, &before, &why);
    assert_true(tile && tm_equal(tile, m));
    tile = tm_inner_tile(&memory, m, (int64_t[]){32, 16}, &before, &why);
    assert_null(tile); // the rows come before the columns in this mapping
    tile = tm_inner_tile(&memory, m, (int64_t[]){16, 16}, &before, &why);
    assert_true(tile && tm_equal(tile, map_of(&memory, "repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)")));
    static const int64_t wrong[][2] = {{16, 4}, {4, 8}, {16, 24}, {16, 3}, {256, 64}, {0, 8}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        why = TM_OK;
        assert_null(tm_inner_tile(&memory, m, wrong[i], &before, &why));
        assert_int_equal(why, TM_NOT_A_TILE);
    }
}

static void shared_steps(void **state)
{
    (void)state;
    tm_step steps[TM_MAX_DIGITS];
    const tm_map *c16 = map_of(&memory, "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)");
    assert_int_equal(tm_shared_steps(c16, 1, steps), 1);
    assert_true(steps[0].stride == 1 && steps[0].extent == 4);
    assert_int_equal(tm_shared_steps(c16, 0, steps), 1);
    assert_true(steps[0].stride == 4 && steps[0].extent == 8);
    const tm_map *m = map_of(&memory, "spatial(4, 2) * repeat(2, 2) * spatial(2, 16) * repeat(4, 4)");
    assert_int_equal(tm_shared_steps(m, 1, steps), 2);
    assert_true(steps[0].stride == 32 && steps[0].extent == 2 && steps[1].stride == 1 && steps[1].extent == 16);
    assert_int_equal(tm_shared_steps(map_of(&memory, "repeat(4, 4)"), 1, steps), 0);
}

// The workers that a step of the list leads to hold the same row, and together the whole row.
static void shared_steps_find_the_row(void **state)
{
    (void)state;
    random_state random = {4};
    for (int i = 0; i < 300; i++) {
        arena_mark mark = arena_mark_get(&memory);
        both b = random_map(&random, &memory, 2, 3);
        tm_step steps[TM_MAX_DIGITS];
        int count = tm_shared_steps(b.m, 1, steps);
        const tm_map *row = tm_without(&memory, b.m, 1, NULL);
        int64_t sharing = 1;
        for (int k = 0; k < count; k++) {
            sharing *= steps[k].extent;
            for (int64_t w = 0; w < b.m->workers; w++) {
                int64_t digit = w / steps[k].stride % steps[k].extent, other = w - digit * steps[k].stride;
                for (int64_t p = 0; p < row->tasks_per_worker; p++) {
                    int64_t x, y;
                    tm_task(row, w, p, &x);
                    tm_task(row, other, p, &y);
                    assert_int_equal(x, y);
                }
            }
        }
        assert_int_equal(row->workers * row->tasks_per_worker, row->shape[0] * sharing);
        arena_reset(&memory, mark);
    }
}

// ---- bad input ------------------------------------------------------------------------------------------------------

#define FAILS(call, reason)                                                                                            \
    do {                                                                                                               \
        tm_reason why = TM_OK;                                                                                         \
        assert_null(call);                                                                                             \
        assert_int_equal(why, reason);                                                                                 \
        assert_true(strlen(tm_reason_text(why)) > 5);                                                                  \
    } while (0)

static void bad_input_has_reasons(void **state)
{
    (void)state;
    arena *a = &memory;
    int64_t huge = INT64_MAX, big = (int64_t)1 << 40;
    const tm_map *two = map_of(a, "spatial(2, 2)"), *wide = tm_spatial(a, MAKE(big), NULL, NULL);
    const tm_map *deep = tm_repeat(a, MAKE(big), NULL, NULL, NULL);
    FAILS(tm_spatial(a, MAKE(0), NULL, &why), TM_BAD_EXTENT);
    FAILS(tm_repeat(a, MAKE(2, -1), NULL, NULL, &why), TM_BAD_EXTENT);
    FAILS(tm_spatial(a, MAKE(2, 2), ((int[]){0, 0}), &why), TM_BAD_RANKS);
    FAILS(tm_spatial(a, MAKE(2, 2), ((int[]){0, 2}), &why), TM_BAD_RANKS);
    FAILS(tm_repeat(a, MAKE(2, 2), ((int[]){-1, 0}), NULL, &why), TM_BAD_RANKS);
    FAILS(tm_spatial(a, MAKE(1, 1, 1, 1, 1, 1, 1, 1, 1), NULL, &why), TM_TOO_MANY_DIMS);
    FAILS(tm_spatial(a, -1, NULL, NULL, &why), TM_TOO_MANY_DIMS);
    FAILS(tm_identity(a, 9, &why), TM_TOO_MANY_DIMS);
    FAILS(tm_spatial(a, MAKE(huge), NULL, &why), TM_OVERFLOW);
    FAILS(tm_spatial(a, MAKE(huge, huge), NULL, &why), TM_OVERFLOW);
    FAILS(tm_repeat(a, MAKE(big, big), NULL, NULL, &why), TM_OVERFLOW);
    FAILS(tm_compose(a, wide, wide, &why), TM_OVERFLOW);
    FAILS(tm_compose(a, wide, deep, &why), TM_OVERFLOW);
    FAILS(tm_compose(a, two, wide, &why), TM_RANK_MISMATCH);
    FAILS(tm_without(a, two, 2, &why), TM_BAD_DIM);
    FAILS(tm_without(a, two, -1, &why), TM_BAD_DIM);
    FAILS(tm_project(a, two, 2, &why), TM_BAD_DIM);
    FAILS(tm_permute(a, two, ((int[]){1, 1}), &why), TM_BAD_RANKS);
    FAILS(tm_auto(a, MAKE(4, 4), 0, NULL, &why), TM_BAD_EXTENT);
    FAILS(tm_auto(a, MAKE(4, 0), 4, NULL, &why), TM_BAD_EXTENT);
    FAILS(tm_auto_predicated(a, MAKE(4, 4), -5, NULL, &why), TM_BAD_EXTENT);
    FAILS(tm_auto_predicated(a, MAKE(4, 4), 5, ((int[]){1, 2}), &why), TM_BAD_RANKS);
    // Reduced mappings count their copies too.
    const tm_map *copies = tm_project(a, wide, 0, NULL);
    FAILS(tm_compose(a, copies, copies, &why), TM_OVERFLOW);
    assert_null(tm_spatial(a, MAKE(0), NULL, NULL));
    assert_non_null(tm_spatial(a, MAKE((int64_t)1 << 62), NULL, NULL));
}

static void loop_attributes(void **state)
{
    (void)state;
    static const char *const bad[] = {"x", ".u.", "u0", "p99999999999", "u++", "u-1", " u", "........."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(tm_repeat(&memory, MAKE(2, 2), NULL, bad[i], &why), TM_BAD_ATTRS);
    const tm_map *m = tm_repeat(&memory, MAKE(2, 3), (int[]){1, 0}, "u4p", NULL);
    assert_true(m->digits[0].dim == 1 && m->digits[0].unroll == TM_LOOP_PARALLEL && m->digits[0].factor == 0);
    assert_true(m->digits[1].dim == 0 && m->digits[1].unroll == TM_LOOP_UNROLL && m->digits[1].factor == 4);
    check_text(m);
    m = tm_repeat(&memory, MAKE(2, 3), NULL, "u+", NULL);
    assert_true(m->digits[0].unroll == TM_LOOP_UNROLL_FULL && m->digits[1].unroll == TM_LOOP_UNROLL_FULL);
    assert_true(tm_equal(m, map_of(&memory, "repeat(2, 3)")));
    m = tm_repeat(&memory, MAKE(2), NULL, "", NULL);
    assert_int_equal(m->digits[0].unroll, TM_LOOP_DEFAULT);
    assert_int_equal(tm_repeat(&memory, MAKE(2), NULL, ".", NULL)->digits[0].unroll, TM_LOOP_PLAIN);
}

static void long_compositions(void **state)
{
    (void)state;
    const tm_map *m = tm_identity(&memory, 2, NULL), *one = map_of(&memory, "spatial(1, 1)");
    for (int i = 0; i < 1000; i++)
        m = tm_compose(&memory, m, one, NULL);
    assert_true(m && m->digit_count <= TM_MAX_DIGITS);
    const tm_map *two = map_of(&memory, "spatial(2, 1)"), *lost = tm_project(&memory, two, 0, NULL);
    m = tm_identity(&memory, 2, NULL);
    for (int i = 0; i < 62; i++)
        m = tm_compose(&memory, m, i % 2 ? two : lost, NULL);
    assert_true(m && m->shape[0] == (int64_t)1 << 31 && m->workers == (int64_t)1 << 62);
    check_text(m);
    tm_proof proof = tm_prove(m, (int64_t[]){(int64_t)1 << 40, 1});
    assert_true(!proof.covers && !proof.disjoint && proof.missing[0] == (int64_t)1 << 31);
    FAILS(tm_compose(&memory, m, two, &why), TM_OVERFLOW);
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
        cmocka_unit_test(every_small_mapping),
        cmocka_unit_test(every_composition_of_two),
        cmocka_unit_test(every_composition_of_three),
        cmocka_unit_test(identity_changes_nothing),
        cmocka_unit_test(views_follow_the_definition),
        cmocka_unit_test(print_cases),
        cmocka_unit_test(same_tasks_is_equality_of_functions),
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(worked_example_matmul),
        cmocka_unit_test(auto_examples),
        cmocka_unit_test(auto_works_exactly_when_divisible),
        cmocka_unit_test(inner_tiles),
        cmocka_unit_test(shared_steps),
        cmocka_unit_test(shared_steps_find_the_row),
        cmocka_unit_test(bad_input_has_reasons),
        cmocka_unit_test(loop_attributes),
        cmocka_unit_test(long_compositions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
