// Sections that passes look for: runs of neighbouring elements, copies through registers, reductions, vectors, lanes that
// talk to each other.
#include "program.h"

static const dtype types[] = {DT_F32, DT_F16, DT_I32, DT_U8, DT_I8, DT_BF16, DT_F64, DT_I64, DT_U16};

static pg_tensor add_tensor(pg *g, const char *stem, dtype t, int64_t rows, int64_t columns, bool is_output)
{
    int64_t extent[2] = {rows, columns};
    return *pg_tensor_new(g, stem, t, 2, extent, is_output);
}

// A value of the elements at "[row, column]" of the inputs, of no great depth, without calls.
static const char *mixture(pg *g, dtype t, const pg_tensor *from, int count, const char *at)
{
    const char *text = arena_printf(g->arena, "%s%s", from[0].name, at);
    for (int i = 1; i < count; i++)
        text = arena_printf(g->arena, "%s(%s, %s%s)", pg_one_in(g, 2) ? "max" : "min", text, from[i].name, at);
    if (dt_is_float(t) && pg_one_in(g, 2))
        text = arena_printf(g->arena, "(%s * 0.5 + 1.0)", text);
    else if (!dt_is_signed(t) && pg_one_in(g, 2))
        text = arena_printf(g->arena, "(%s %s 3)", text, pg_one_in(g, 2) ? "*" : "+");
    return text;
}

// ---- runs ------------------------------------------------------------------------------------------------------------

// Each thread moves runs of [width] elements of rows: where they are neighbours, aligned or not, of whole rows or with a
// ragged end.
static void runs(pg *g)
{
    dtype t = types[pg_below(g, 9)];
    int64_t width = 2 << pg_below(g, 3), threads = g->program->threads, groups = 1 + pg_below(g, 3);
    int64_t ragged = pg_one_in(g, 3) ? pg_below(g, 3) : 0, shift = pg_one_in(g, 4) ? pg_below(g, 5) : 0;
    int64_t columns = width * groups + shift - (ragged < width * groups ? ragged : 0);
    pg_tensor from[2];
    int count = 1 + pg_one_in(g, 3);
    for (int i = 0; i < count; i++)
        from[i] = add_tensor(g, "from", t, threads * g->program->blocks, columns, false);
    pg_tensor to = add_tensor(g, "to", t, threads * g->program->blocks, columns, true);
    const char *i = pg_name(g, "k"), *j = pg_name(g, "m"), *k = pg_name(g, "q");
    const char *offset = shift ? arena_printf(g->arena, " + %lld", (long long)shift) : "";
    bool mapped = pg_one_in(g, 2);
    if (mapped) {
        pg_emit(g, "for %s, %s in (spatial(%lld, 1) * repeat(1, %lld) * repeat(1, %lld)).on(tid):", i, j, (long long)threads,
                (long long)groups, (long long)width);
    } else {
        pg_emit(g, "for %s, %s in grid(%lld, %lld, attrs=\"%s\"):", k, j, (long long)groups, (long long)width,
                (const char *[]){"..", "uu", "u+u", ".u+", "u.", "u4u"}[pg_below(g, 6)]);
    }
    pg_scope scope = pg_open(g);
    const char *column = mapped ? arena_printf(g->arena, "%s%s", j, offset)
                                : arena_printf(g->arena, "%s * %lld + %s%s", k, (long long)width, j, offset);
    const char *at = mapped ? arena_printf(g->arena, "[blockIdx.x * %lld + %s, %s]", (long long)threads, i, column)
                            : arena_printf(g->arena, "[t, %s]", column);
    if (ragged || pg_one_in(g, 4)) {
        const char *value = arena_printf(g->arena, "%s.read(%s, outside=%s(%d))", from[0].name, at, dt_name(t), pg_below(g, 3));
        if (pg_one_in(g, 4))
            pg_emit(g, "if %s:", pg_bool(g, 1));
        else
            pg_emit(g, "if True:");
        g->depth++;
        pg_emit(g, "%s.write(%s, %s)", to.name, at, value);
        g->depth--;
    } else {
        if (pg_one_in(g, 3)) {
            from[1] = to;
            count = 2;
        }
        pg_emit(g, "%s%s = %s", to.name, at, mixture(g, t, from, count, at));
        if (pg_one_in(g, 3))
            pg_emit(g, "%s%s = %s%s if %s else %s", to.name, at, to.name, at, pg_bool(g, 1), mixture(g, t, from, 1, at));
    }
    pg_close(g, scope);
}

// Rows through an array of the thread's own, perhaps by way of shared memory.
static void copies(pg *g)
{
    dtype t = types[pg_below(g, 9)];
    int64_t width = 2 << pg_below(g, 3), threads = g->program->threads;
    int64_t rows = threads * g->program->blocks;
    pg_tensor from = add_tensor(g, "from", t, rows, width * 2, false), to = add_tensor(g, "to", t, rows, width * 2, true);
    const char *a = pg_name(g, "a"), *j = pg_name(g, "m"), *part = pg_name(g, "c");
    pg_emit(g, "%s = register_tensor(%s, [%lld])", a, dt_name(t), (long long)width);
    pg_emit(g, "%s: i32 = %s", part, pg_expr_in(g, DT_I32, (pg_range){0, 1}, 2).text);
    const char *column = arena_printf(g->arena, "%s * %lld + %s", part, (long long)width, j);
    bool reversed = pg_one_in(g, 3);
    pg_emit(g, "for %s in range(%lld):", j, (long long)width);
    g->depth++;
    pg_emit(g, "%s[%s] = %s[t, %s]", a, j, from.name, column);
    g->depth--;
    if (pg_one_in(g, 2)) {
        static const char *const ends[] = {"", ".swizzle(1)", "", " * row_major(1, 2)", " * row_major(1, 2)"};
        int kind = pg_below(g, 5);
        const char *s = pg_name(g, "sh");
        pg_emit(g, "%s = shared_tensor(%s, layout=%s_major(%lld, %lld)%s)", s, dt_name(t), kind % 2 ? "row" : "column",
                (long long)threads, (long long)(kind > 2 ? width / 2 : width), ends[kind]);
        pg_emit(g, "for %s in range(%lld):", j, (long long)width);
        g->depth++;
        pg_emit(g, "%s[tid, %s] = %s[%s]", s, j, a, j);
        g->depth--;
        pg_emit(g, "syncthreads()");
        pg_emit(g, "for %s in range(%lld):", j, (long long)width);
        g->depth++;
        pg_emit(g, "%s[%s] = %s[(tid + %d) %% %lld, %s]", a, j, s, pg_below(g, 4), (long long)threads, j);
        g->depth--;
        if (pg_one_in(g, 2))
            pg_emit(g, "syncthreads()");
    }
    pg_emit(g, "for %s in range(%lld):", j, (long long)width);
    g->depth++;
    pg_emit(g, "%s[t, %s] = %s[%s%s]", to.name, column, a, reversed ? arena_printf(g->arena, "%lld - ", (long long)width - 1) : "", j);
    g->depth--;
}

// ---- reductions --------------------------------------------------------------------------------------------------------

// A tensor of all threads and its sums, or largest elements, along an axis.
static void reduction(pg *g)
{
    int64_t threads = g->program->threads, split = 1;
    while (pg_one_in(g, 2) && threads % (split * 2) == 0)
        split *= 2;
    if (threads % 32) {
        pg_statement(g);
        return;
    }
    dtype t = pg_one_in(g, 2) ? DT_I32 : DT_F32;
    int64_t rows = 1 << pg_below(g, 3), columns = 1 << pg_below(g, 3);
    const char *map = arena_printf(g->arena, "%s(%lld, %lld) * repeat(%lld, %lld)", pg_one_in(g, 3) ? "col_spatial" : "spatial",
                                   (long long)split, (long long)(threads / split), (long long)rows, (long long)columns);
    pg_tensor to = add_tensor(g, "to", t, split * rows * g->program->blocks, threads / split * columns, true);
    const char *v = pg_name(g, "rt"), *i = pg_name(g, "k"), *j = pg_name(g, "m"), *sum = pg_name(g, "rt");
    int axis = pg_below(g, 2);
    pg_emit(g, "%s = register_tensor(%s, %s)", v, dt_name(t), map);
    pg_emit(g, "for %s, %s in %s:", i, j, v);
    g->depth++;
    pg_emit(g, "%s[%s, %s] = %s", v, i, j, pg_expr_in(g, t, (pg_range){0, 100}, 2).text);
    g->depth--;
    pg_emit(g, "%s = %s.%s(axis=%d)", sum, v, (const char *[]){"sum", "max", "min"}[pg_below(g, 3)], axis);
    pg_emit(g, "for %s, %s in %s:", i, j, v);
    g->depth++;
    pg_emit(g, "%s[blockIdx.x * %lld + %s, %s] = %s[%s, %s] + %s[%s]", to.name, (long long)(split * rows), i, j, v, i, j, sum,
            axis ? i : j);
    g->depth--;
}

// ---- vectors and lanes -------------------------------------------------------------------------------------------------

static void vectors(pg *g)
{
    static const dtype elems[] = {DT_F32, DT_F16, DT_BF16, DT_F32};
    dtype t = elems[pg_below(g, 4)];
    int lanes = t == DT_F32 ? 2 << pg_below(g, 2) : 2;
    const char *v = pg_name(g, "vec"), *w = pg_name(g, "vec"), *parts = "", *type = arena_printf(g->arena, "%sx%d", dt_name(t), lanes);
    for (int i = 0; i < lanes; i++)
        parts = arena_printf(g->arena, "%s%s%s", parts, i ? ", " : "", pg_expr(g, t, 2).text);
    pg_emit(g, "%s = %s(%s)", v, type, parts);
    pg_emit(g, "%s = %s %s %s", w, v, (const char *[]){"+", "*", "-"}[pg_below(g, 3)], pg_one_in(g, 2) ? v : pg_expr(g, t, 1).text);
    if (pg_one_in(g, 2)) {
        pg_emit(g, "if %s:", pg_bool(g, 2));
        g->depth++;
        pg_emit(g, "%s = %s * %s", w, w, v);
        g->depth--;
    }
    pg_tensor to = add_tensor(g, "to", t, g->program->threads * g->program->blocks, lanes, true);
    if (pg_one_in(g, 2)) {
        for (int i = 0; i < lanes; i++)
            pg_emit(g, "%s[t, %d] = %s[%d]", to.name, i, w, i);
    } else {
        const char *p = pg_name(g, "p");
        pg_emit(g, "%s = bitcast(~%s[t, 0], ~%s)", p, to.name, type);
        pg_emit(g, "%s[0] = %s", p, w);
    }
}

// Elements of less than a byte.
static void narrow(pg *g)
{
    static const dtype narrow_types[] = {DT_I4, DT_U4, DT_U2, DT_I2, DT_U1};
    dtype t = narrow_types[pg_below(g, 5)];
    int64_t extent[2] = {8 * (1 + pg_below(g, 6)), 1};
    const pg_tensor x = *pg_tensor_new(g, "in", t, 1, extent, false);
    const char *v = pg_name(g, "v"), *k = pg_name(g, "k");
    pg_emit(g, "%s: i32 = 0", v);
    pg_emit(g, "for %s in range(%d):", k, 1 + pg_below(g, 8));
    g->depth++;
    pg_emit(g, "%s = %s * 2 + i32(%s[%s])", v, v, x.name, pg_index(g, 0, extent[0] - 1, 2));
    g->depth--;
    pg_var var = {v, DT_I32, {-8192, 8192}, true};
    VEC_PUSH(g->arena, &g->vars, var);
}

// Whole warps only, and all of their lanes.
static void lanes(pg *g)
{
    if (g->program->threads % 32) {
        pg_statement(g);
        return;
    }
    const char *v = pg_name(g, "v");
    pg_range range = {0, 1000};
    const char *x = pg_expr_in(g, DT_I32, range, 2).text;
    switch (pg_below(g, 4)) {
    case 0: pg_emit(g, "%s: i32 = shfl_xor_sync(0xFFFFFFFF, %s, %d)", v, x, 1 << pg_below(g, 5)); break;
    case 1: pg_emit(g, "%s: i32 = warp_max(%s)", v, x); break;
    case 2:
        pg_emit(g, "%s: i32 = warp_sum(%s)", v, x);
        range.high = 32000;
        break;
    default:
        pg_emit(g, "%s: i32 = i32(vote_any(%s))", v, pg_bool(g, 2));
        range.high = 1;
    }
    pg_var var = {v, DT_I32, range, true};
    VEC_PUSH(g->arena, &g->vars, var);
}

// Counters: the additions come in any order.
static void counters(pg *g)
{
    dtype t = pg_one_in(g, 2) ? DT_I32 : DT_U32;
    int64_t extent[2] = {1 + pg_below(g, 8), 1};
    const pg_tensor x = *pg_tensor_new(g, "count", t, 1, extent, true);
    const char *way = (const char *[]){"add", "max", "min"}[pg_below(g, 3)];
    const char *value = pg_expr_in(g, t, (pg_range){0, 1000}, 2).text;
    pg_emit(g, "if %s:", pg_bool(g, 2));
    g->depth++;
    pg_emit(g, "atomic.red_%s(~%s[%s], %s)", way, x.name, pg_index(g, 0, extent[0] - 1, 2), value);
    g->depth--;
}

void pg_special(pg *g)
{
    switch (pg_below(g, 12)) {
    case 0:
    case 1:
    case 2:
    case 3: runs(g); break;
    case 4:
    case 5: copies(g); break;
    case 6: reduction(g); break;
    case 7:
    case 8: vectors(g); break;
    case 9: narrow(g); break;
    case 10: lanes(g); break;
    default: counters(g); break;
    }
}
