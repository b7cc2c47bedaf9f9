// Random programs as a whole: functions and records, and a kernel of sections, which are plain statements, tiles that
// move between global memory and registers, and exchanges through shared memory.
#include "program.h"

#include <string.h>

// ---- text ---------------------------------------------------------------------------------------------------------

const char *pg_text(arena *a, const pg_lines *lines)
{
    size_t size = 1;
    for (size_t i = 0; i < lines->len; i++)
        size += 8 * (size_t)lines->at[i].depth + strlen(lines->at[i].text) + 16;
    char *text = arena_alloc(a, size), *to = text;
    for (size_t i = 0; i < lines->len; i++) {
        const pg_line *line = &lines->at[i];
        size_t len = strlen(line->text);
        memset(to, ' ', 4 * (size_t)line->depth);
        to += 4 * line->depth;
        memcpy(to, line->text, len);
        to += len;
        *to++ = '\n';
        bool opens = len && line->text[len - 1] == ':';
        if (opens && (i + 1 == lines->len || lines->at[i + 1].depth <= line->depth)) {
            memset(to, ' ', 4 * (size_t)line->depth + 4);
            to += 4 * line->depth + 4;
            memcpy(to, "pass\n", 5);
            to += 5;
        }
    }
    *to = 0;
    return text;
}

// ---- functions ----------------------------------------------------------------------------------------------------

static pg_function signature(pg *g, const char *stem)
{
    pg_function f = {.name = pg_name(g, stem), .param_count = 1 + pg_below(g, 3)};
    for (int i = 0; i < f.param_count; i++) {
        dtype t = pg_number_type(g);
        f.params[i] = (pg_var){pg_name(g, "x"), t, pg_range_for(g, t), true};
    }
    f.result = pg_number_type(g);
    f.range = pg_range_for(g, f.result);
    return f;
}

static const char *parameters(pg *g, const pg_function *f, bool typed)
{
    const char *text = "";
    for (int i = 0; i < f->param_count; i++) {
        const char *annotation = typed ? arena_printf(g->arena, ": %s", dt_name(f->params[i].type)) : "";
        text = arena_printf(g->arena, "%s%s%s%s", text, i ? ", " : "", f->params[i].name, annotation);
    }
    return text;
}

static void function_body(pg *g, const pg_function *f, int statements)
{
    pg_scope scope = pg_open(g);
    g->inside = f;
    for (int i = 0; i < f->param_count; i++)
        VEC_PUSH(g->arena, &g->vars, f->params[i]);
    for (int i = 0; i < statements; i++)
        pg_statement(g);
    if (f->result != DT_NONE)
        pg_emit(g, "return %s", pg_expr_in(g, f->result, f->range, 3).text);
    g->inside = NULL;
    pg_close(g, scope);
}

static void function(pg *g)
{
    pg_function f = signature(g, "fn");
    bool typed = pg_one_in(g, 2);
    g->budget = 8;
    g->depth = 0;
    if (typed)
        pg_emit(g, "def %s(%s) -> %s:", f.name, parameters(g, &f, true), dt_name(f.result));
    else
        pg_emit(g, "def %s(%s):", f.name, parameters(g, &f, false));
    function_body(g, &f, 1 + pg_below(g, 5));
    VEC_PUSH(g->arena, &g->functions, f);
}

// Calls itself, each lane as often as it likes.
static void recursion(pg *g)
{
    dtype t = pg_number_type(g);
    pg_function f = {.name = pg_name(g, "fn"), .param_count = 2, .result = t, .range = pg_range_for(g, t)};
    f.params[0] = (pg_var){"x", DT_I32, {0, 4}, true};
    f.params[1] = (pg_var){"y", t, f.range, true};
    g->depth = 0;
    pg_emit(g, "def %s(x: i32, y: %s) -> %s:", f.name, dt_name(t), dt_name(t));
    size_t vars = g->vars.len;
    VEC_PUSH(g->arena, &g->vars, f.params[0]);
    VEC_PUSH(g->arena, &g->vars, f.params[1]);
    g->depth = 1;
    pg_emit(g, "if x <= 0:");
    g->depth = 2;
    pg_emit(g, "return y");
    g->depth = 1;
    pg_emit(g, "z: %s = %s", dt_name(t), pg_expr_in(g, t, f.range, 2).text);
    pg_emit(g, "if %s:", pg_bool(g, 2));
    g->depth = 2;
    pg_emit(g, "z = %s(x - 1, z)", f.name);
    g->depth = 1;
    pg_emit(g, "w: %s = %s(x // 2, z)", dt_name(t), f.name);
    VEC_PUSH(g->arena, &g->vars, ((pg_var){"z", t, f.range, false}));
    VEC_PUSH(g->arena, &g->vars, ((pg_var){"w", t, f.range, false}));
    pg_emit(g, "return %s", pg_expr_in(g, t, f.range, 2).text);
    g->vars.len = vars;
    f.params[1].is_fixed = true;
    VEC_PUSH(g->arena, &g->functions, f);
}

static void record(pg *g)
{
    pg_record r = {.name = pg_name(g, "R"), .field_count = 1 + pg_below(g, 3)};
    g->depth = 0;
    g->budget = 6;
    pg_emit(g, "class %s:", r.name);
    g->depth = 1;
    for (int i = 0; i < r.field_count; i++) {
        dtype t = pg_number_type(g);
        r.fields[i] = (pg_var){pg_name(g, "d"), t, pg_range_for(g, t), false};
        pg_emit(g, "%s: %s", r.fields[i].name, dt_name(t));
    }
    r.read = signature(g, "get");
    r.change = signature(g, "change");
    r.change.result = DT_NONE;
    for (int k = 0; k < 2; k++) {
        const pg_function *f = k ? &r.change : &r.read;
        size_t vars = g->vars.len;
        for (int i = 0; i < r.field_count; i++) {
            pg_var v = r.fields[i];
            v.name = arena_printf(g->arena, "self.%s", v.name);
            v.is_fixed = !k;
            VEC_PUSH(g->arena, &g->vars, v);
        }
        pg_emit(g, "def %s(self, %s):", k ? "change" : "get", parameters(g, f, false));
        function_body(g, f, k ? 2 + pg_below(g, 4) : 1 + pg_below(g, 3));
        g->vars.len = vars;
    }
    VEC_PUSH(g->arena, &g->records, r);
}

// ---- tensors ------------------------------------------------------------------------------------------------------

static int64_t input_high(dtype t)
{
    return dt_bits(t) == 8 ? (dt_is_signed(t) ? 127 : 255) : 1000;
}

static const char *size_text(pg *g, int64_t value)
{
    if (!pg_one_in(g, 3))
        return arena_printf(g->arena, "%lld", (long long)value);
    for (size_t i = 0; i < g->program->sizes.len; i++)
        if (!g->program->sizes.at[i].is_parameter && g->program->sizes.at[i].value == value)
            return g->program->sizes.at[i].name;
    pg_size s = {pg_name(g, "n"), value, false};
    bool is_long = g->program->sizes.len % 4 == 3;
    VEC_PUSH(g->arena, &g->program->sizes, s);
    pg_var v = {s.name, is_long ? DT_I64 : DT_I32, {value, value}, true};
    VEC_PUSH(g->arena, &g->vars, v);
    return s.name;
}

pg_tensor *pg_tensor_new(pg *g, const char *stem, dtype t, int rank, const int64_t *extent, bool is_output)
{
    pg_tensor x = {.name = pg_name(g, stem), .type = t, .rank = rank, .is_output = is_output};
    for (int d = 0; d < rank; d++) {
        x.extent[d] = extent[d];
        x.extent_text[d] = size_text(g, extent[d]);
    }
    if (dt_is_subbyte(t)) {
        x.high = (int64_t)dt_max_bits(t);
        x.low = dt_min(t);
    } else if (dt_is_int(t)) {
        x.high = pg_one_in(g, 2) ? 15 : input_high(t);
        x.low = dt_is_signed(t) && pg_one_in(g, 2) ? -x.high : 0;
    }
    VEC_PUSH(g->arena, &g->program->tensors, x);
    return &VEC_LAST(&g->program->tensors);
}

static void inputs(pg *g)
{
    for (int n = 2 + pg_below(g, 4); n > 0; n--) {
        int64_t extent[2] = {1 + pg_below(g, 40), 1 + pg_below(g, 20)};
        const pg_tensor *x = pg_tensor_new(g, "in", pg_number_type(g), 1 + pg_below(g, 2), extent, false);
        pg_array a = {.name = x->name, .type = x->type, .rank = x->rank, .range = {x->low, x->high}};
        memcpy(a.extent, extent, sizeof extent);
        VEC_PUSH(g->arena, &g->arrays, a);
    }
}

// A row of its own for every thread.
static void outputs(pg *g)
{
    for (int n = 1 + pg_below(g, 4); n > 0; n--) {
        int64_t extent[2] = {g->program->threads * g->program->blocks + (pg_one_in(g, 3) ? 3 : 0), 1 + pg_below(g, 8)};
        const pg_tensor *x = pg_tensor_new(g, "out", pg_number_type(g), 2, extent, true);
        pg_array a = {.name = x->name, .type = x->type, .rank = 1, .before = "t", .can_write = true};
        a.extent[0] = extent[1];
        a.range = dt_is_int(x->type) ? pg_range_of_type(x->type) : (pg_range){0, 1};
        VEC_PUSH(g->arena, &g->arrays, a);
    }
}

static void scalars(pg *g)
{
    for (int n = pg_below(g, 3); n > 0; n--) {
        pg_size s = {pg_name(g, "s"), pg_below(g, 9), true};
        VEC_PUSH(g->arena, &g->program->sizes, s);
        pg_var v = {s.name, DT_I32, {s.value, s.value}, true};
        VEC_PUSH(g->arena, &g->vars, v);
    }
}

// ---- mappings -----------------------------------------------------------------------------------------------------

typedef struct mapping {
    const char *text;
    int rank;
    int64_t shape[2], workers;
} mapping;

static mapping factor(pg *g, int rank, bool is_spatial, int64_t a, int64_t b)
{
    static const char *const names[] = {"repeat", "col_repeat", "spatial", "col_spatial"};
    mapping m = {.rank = rank, .shape = {a, b}, .workers = is_spatial ? a * b : 1};
    const char *name = names[(is_spatial ? 2 : 0) + pg_one_in(g, 4)];
    m.text = rank == 1 ? arena_printf(g->arena, "%s(%lld)", name, (long long)a)
                       : arena_printf(g->arena, "%s(%lld, %lld)", name, (long long)a, (long long)b);
    return m;
}

static int64_t divisor_of(pg *g, int64_t n)
{
    int64_t d = 1;
    for (int tries = 0; tries < 8; tries++) {
        int64_t f = pg_one_in(g, 4) ? 3 : 2;
        if (n % (d * f) == 0 && pg_below(g, 3))
            d *= f;
    }
    return d;
}

// Of exactly [workers], with at most 16 tasks each.
static mapping some_mapping(pg *g, int64_t workers, int rank)
{
    mapping m = {.text = "", .rank = rank, .shape = {1, 1}, .workers = 1};
    int64_t left = workers, tasks = 16;
    for (int i = 0; i < 5 && (left > 1 || i < 2); i++) {
        bool is_spatial = pg_one_in(g, 2) || i == 4;
        int64_t total = is_spatial ? (i >= 3 ? left : divisor_of(g, left)) : (int64_t)1 << pg_below(g, 4);
        if (!is_spatial && (total > tasks || pg_one_in(g, 6)))
            total = tasks >= 3 && pg_one_in(g, 2) ? 3 : 1;
        int64_t a = rank == 1 ? total : divisor_of(g, total);
        mapping f = factor(g, rank, is_spatial, a, rank == 1 ? 1 : total / a);
        m.text = arena_printf(g->arena, "%s%s%s", m.text, *m.text ? " * " : "", f.text);
        m.shape[0] *= f.shape[0];
        m.shape[1] *= f.shape[1];
        if (is_spatial)
            left /= total;
        else
            tasks /= total;
    }
    m.workers = workers / left;
    if (left > 1) {
        mapping f = factor(g, rank, true, left, 1);
        m.text = arena_printf(g->arena, "%s * %s", m.text, f.text);
        m.shape[0] *= left;
        m.workers = workers;
    }
    return m;
}

static int64_t some_workers(pg *g)
{
    int64_t threads = g->program->threads;
    return pg_one_in(g, 4) ? threads / 2 > 0 ? threads / 2 : 1 : threads;
}

// ---- tiles --------------------------------------------------------------------------------------------------------

// The variables of a task loop; the text of their list.
static const char *name_tasks(pg *g, const mapping *m, const char **names)
{
    for (int d = 0; d < m->rank; d++)
        names[d] = pg_name(g, d ? "m" : "k");
    return m->rank == 1 ? names[0] : arena_printf(g->arena, "%s, %s", names[0], names[1]);
}

static void add_tasks(pg *g, const mapping *m, const char *const *names)
{
    for (int d = 0; d < m->rank; d++) {
        pg_var v = {names[d], DT_I32, {0, m->shape[d] - 1}, true};
        VEC_PUSH(g->arena, &g->vars, v);
    }
}

// Each block has a tile of an output, each worker its elements of it. The tensor may be smaller than the tiles.
static void tile(pg *g)
{
    mapping m = some_mapping(g, some_workers(g), 1 + pg_below(g, 2));
    const char *names[2] = {"", ""};
    bool guarded = pg_one_in(g, 2);
    int64_t extent[2] = {m.shape[0] * g->program->blocks, m.shape[1]};
    for (int d = 0; d < 2 && guarded; d++)
        extent[d] = extent[d] > 3 ? extent[d] - pg_below(g, 3) : extent[d];
    dtype t = pg_number_type(g);
    const pg_tensor from = *pg_tensor_new(g, "from", t, m.rank, extent, false),
                    *to = pg_tensor_new(g, "to", t, m.rank, extent, true);
    const char *top = m.shape[0] == 1 && g->program->blocks == 1
                          ? ""
                          : arena_printf(g->arena, "blockIdx.x * %lld + ", (long long)m.shape[0]);
    pg_emit(g, "for %s in (%s).on(tid):", name_tasks(g, &m, names), m.text);
    pg_scope scope = pg_open(g);
    add_tasks(g, &m, names);
    const char *at = m.rank == 1 ? arena_printf(g->arena, "[%s%s]", top, names[0])
                                 : arena_printf(g->arena, "[%s%s, %s]", top, names[0], names[1]);
    const char *read =
        guarded ? arena_printf(g->arena, "%s.read(%s)", from.name, at) : arena_printf(g->arena, "%s%s", from.name, at);
    const char *value = pg_name(g, "v");
    pg_emit(g, "%s: %s = %s", value, dt_name(t), read);
    pg_range range = dt_is_int(t) ? (pg_range){from.low < 0 ? from.low : 0, from.high} : (pg_range){0, 1};
    pg_var v = {value, t, range, true};
    VEC_PUSH(g->arena, &g->vars, v);
    for (int n = pg_below(g, 3); n > 0; n--)
        pg_statement(g);
    const char *result = pg_one_in(g, 3) ? value : pg_expr(g, t, 2).text;
    bool again = pg_one_in(g, 4);
    if (guarded)
        pg_emit(g, "%s.write(%s, %s)", to->name, at, result);
    else
        pg_emit(g, "%s%s = %s", to->name, at, result);
    if (again && guarded)
        pg_emit(g, "%s.write(%s, %s.read(%s, outside=%s(1)) + %s)", to->name, at, to->name, at, dt_name(t),
                dt_is_signed(t) ? "0" : "1");
    pg_close(g, scope);
}

// A register tensor of all threads, filled, changed as a whole, and written.
static void registers(pg *g)
{
    mapping m = some_mapping(g, g->program->threads, 1 + pg_below(g, 2));
    dtype t = pg_number_type(g);
    const char *v = pg_name(g, "rt"), *names[2] = {"", ""};
    int64_t extent[2] = {m.shape[0] * g->program->blocks, m.shape[1]};
    const pg_tensor *to = pg_tensor_new(g, "to", t, m.rank, extent, true);
    const char *to_name = to->name;
    pg_range small = {0, 7};
    bool on = pg_one_in(g, 2);
    pg_emit(g, "%s = register_tensor(%s, %s%s)", v, dt_name(t), m.text,
            pg_one_in(g, 2) ? arena_printf(g->arena, ", init=%s(1)", dt_name(t)) : "");
    const char *list = name_tasks(g, &m, names);
    const char *at = m.rank == 1 ? names[0] : arena_printf(g->arena, "%s, %s", names[0], names[1]);
    const char *loop = on ? arena_printf(g->arena, "for %s in (%s).on(tid):", list, m.text)
                          : arena_printf(g->arena, "for %s in %s:", list, v);
    pg_emit(g, "%s", loop);
    pg_scope scope = pg_open(g);
    add_tasks(g, &m, names);
    pg_emit(g, "%s[%s] = %s", v, at, pg_expr_in(g, t, small, 2).text);
    for (int n = pg_below(g, 2); n > 0; n--)
        pg_statement(g);
    pg_close(g, scope);
    for (int n = pg_below(g, 3); n > 0; n--) {
        const char *next = pg_name(g, "rt");
        if (dt_is_float(t)) {
            static const char *const ways[][2] = {
                {"", " + "}, {"0.5 * ", " + "}, {"-", " * "}, {"", ".map_elements(lambda e: max(e, 1.0)) + "}};
            const char *const *way = ways[pg_below(g, 4)];
            pg_emit(g, "%s = %s%s%s%s", next, way[0], v, way[1], v);
        } else {
            pg_emit(g, "%s = %s.map_elements(lambda e: (e & 7) + (e %% 3))", next, v);
        }
        v = next;
    }
    loop = on ? arena_printf(g->arena, "for %s in (%s).on(tid):", list, m.text)
              : arena_printf(g->arena, "for %s in %s:", list, v);
    pg_emit(g, "%s", loop);
    g->depth++;
    pg_emit(g, "%s[blockIdx.x * %lld + %s] = %s[%s]", to_name, (long long)m.shape[0], at, v, at);
    g->depth--;
}

// ---- shared memory ------------------------------------------------------------------------------------------------

static const char *some_layout(pg *g, int64_t rows, int64_t columns)
{
    bool power = (columns & (columns - 1)) == 0, square = power && (rows & (rows - 1)) == 0;
    int64_t a = divisor_of(g, rows), b = divisor_of(g, columns);
    switch (pg_below(g, 7)) {
    case 0:
        return arena_printf(g->arena, "column_major(%lld, %lld)", (long long)rows, (long long)columns);
    case 1:
        return arena_printf(g->arena, "row_major(%lld, %lld) * column_major(%lld, %lld)", (long long)(rows / a),
                            (long long)(columns / b), (long long)a, (long long)b);
    case 2:
        if (power)
            return arena_printf(g->arena, "row_major(%lld, %lld).swizzle(1)", (long long)rows, (long long)columns);
        break;
    case 3:
        if (square)
            return arena_printf(g->arena, "(column_major(%lld, %lld) * row_major(%lld, %lld)).swizzle(%d)",
                                (long long)(rows / a), (long long)(columns / b), (long long)a, (long long)b,
                                pg_below(g, 2));
        break;
    case 4:
        return arena_printf(g->arena, "strided_layout([%lld, %lld], strides=[%lld, 1])", (long long)rows,
                            (long long)columns, (long long)columns + pg_below(g, 3));
    case 5:
        return arena_printf(g->arena, "row_major(%lld, %lld).permute([1, 0])", (long long)columns, (long long)rows);
    default:
        break;
    }
    return arena_printf(g->arena, "row_major(%lld, %lld)", (long long)rows, (long long)columns);
}

// Written by one mapping, read by another or by anyone, after a barrier.
static void exchange(pg *g)
{
    mapping m = some_mapping(g, some_workers(g), 2);
    dtype t = pg_number_type(g);
    const char *s = pg_name(g, "sh"), *names[2];
    pg_range range = pg_range_for(g, t);
    if (pg_one_in(g, 2))
        pg_emit(g, "%s = shared_tensor(%s, layout=%s)", s, dt_name(t), some_layout(g, m.shape[0], m.shape[1]));
    else
        pg_emit(g, "%s = shared_tensor(%s, [%lld, %lld])", s, dt_name(t), (long long)m.shape[0], (long long)m.shape[1]);
    pg_emit(g, "for %s in (%s).on(tid):", name_tasks(g, &m, names), m.text);
    pg_scope scope = pg_open(g);
    add_tasks(g, &m, names);
    pg_emit(g, "%s[%s, %s] = %s", s, names[0], names[1], pg_expr_in(g, t, range, 2).text);
    pg_close(g, scope);
    pg_emit(g, "syncthreads()");
    pg_array a = {.name = s, .type = t, .rank = 2, .extent = {m.shape[0], m.shape[1]}, .range = range};
    size_t arrays = g->arrays.len;
    VEC_PUSH(g->arena, &g->arrays, a);
    if (pg_one_in(g, 3)) {
        // In place, by those who wrote it.
        pg_emit(g, "syncthreads()");
        g->arrays.len = arrays;
        pg_emit(g, "for %s in (%s).on(tid):", name_tasks(g, &m, names), m.text);
        scope = pg_open(g);
        add_tasks(g, &m, names);
        const char *old = pg_name(g, "v");
        pg_emit(g, "%s: %s = %s[%s, %s]", old, dt_name(t), s, names[0], names[1]);
        pg_var v = {old, t, range, true};
        VEC_PUSH(g->arena, &g->vars, v);
        pg_emit(g, "%s[%s, %s] = %s", s, names[0], names[1], pg_expr_in(g, t, range, 2).text);
        pg_close(g, scope);
        pg_emit(g, "syncthreads()");
        VEC_PUSH(g->arena, &g->arrays, a);
    }
    for (int n = 1 + pg_below(g, 3); n > 0; n--)
        pg_statement(g);
    if (pg_one_in(g, 2))
        tile(g);
    // Statements at this depth may have made names; those of arrays stay, the shared tensor goes out of use.
    for (size_t i = arrays; i < g->arrays.len; i++) {
        if (g->arrays.at[i].name == s || !g->arrays.at[i].can_write) {
            g->arrays.at[i] = VEC_LAST(&g->arrays);
            g->arrays.len--;
            i--;
        }
    }
}

// ---- the kernel ---------------------------------------------------------------------------------------------------

static void sections(pg *g, int count)
{
    for (int i = 0; i < count; i++) {
        g->budget = 10;
        switch (pg_below(g, 10)) {
        case 0:
            tile(g);
            break;
        case 7:
        case 8:
        case 9:
            pg_special(g);
            break;
        case 1:
            registers(g);
            break;
        case 2:
            exchange(g);
            break;
        case 3:
            exchange(g);
            if (pg_one_in(g, 2))
                pg_emit(g, "syncthreads()");
            break;
        default:
            for (int n = 1 + pg_below(g, 5); n > 0 && g->budget > 0; n--)
                pg_statement(g);
        }
    }
}

// The same exchange several times, each time through the same memory.
static void rounds(pg *g)
{
    const char *name = pg_name(g, "round");
    pg_emit(g, "for %s in range(%d):", name, 2 + pg_below(g, 2));
    pg_var v = {name, DT_I32, {0, 3}, true};
    pg_scope scope = pg_open(g);
    VEC_PUSH(g->arena, &g->vars, v);
    exchange(g);
    pg_emit(g, "syncthreads()");
    pg_close(g, scope);
}

// What the variables hold at last is seen in a row of outputs.
static void show(pg *g)
{
    for (int k = 0; k < 4; k++) {
        dtype t = (dtype[]){DT_I32, DT_F32, DT_I64, DT_F16}[k];
        int count = 0;
        for (size_t i = 0; i < g->vars.len; i++)
            count += g->vars.at[i].type == t && !g->vars.at[i].is_fixed;
        if (!count)
            continue;
        int64_t extent[2] = {g->program->threads * g->program->blocks, count};
        const char *name = pg_tensor_new(g, "last", t, 2, extent, true)->name;
        for (size_t i = 0, at = 0; i < g->vars.len; i++)
            if (g->vars.at[i].type == t && !g->vars.at[i].is_fixed)
                pg_emit(g, "%s[t, %zu] = %s", name, at++, g->vars.at[i].name);
    }
}

static const char *heading(pg *g)
{
    const char *text = "", *sizes = "";
    pg_program *p = g->program;
    for (size_t i = 0; i < p->sizes.len; i++)
        if (!p->sizes.at[i].is_parameter)
            sizes = arena_printf(g->arena, "%s%s%s: %s", sizes, *sizes ? ", " : "", p->sizes.at[i].name,
                                 i % 4 == 3 ? "i64" : "int");
    for (size_t i = 0; i < p->tensors.len; i++) {
        const pg_tensor *x = &p->tensors.at[i];
        const char *shape = x->extent_text[0];
        if (x->rank == 2)
            shape = arena_printf(g->arena, "%s, %s", shape, x->extent_text[1]);
        text = arena_printf(g->arena, "%s%s%s: %s[%s]", text, i ? ", " : "", x->name, dt_name(x->type), shape);
    }
    for (size_t i = 0; i < p->sizes.len; i++)
        if (p->sizes.at[i].is_parameter)
            text = arena_printf(g->arena, "%s, %s: i32", text, p->sizes.at[i].name);
    return arena_printf(g->arena, "def kernel%s(%s):", *sizes ? arena_printf(g->arena, "[%s]", sizes) : "", text);
}

static void kernel(pg *g)
{
    pg_program *p = g->program;
    g->depth = 0;
    pg_emit(g, "@hidet.script");
    size_t head = p->lines.len;
    pg_emit(g, "(the heading)");
    g->depth = 1;
    pg_emit(g, "attrs.cuda.grid_dim = %lld", (long long)p->blocks);
    if (p->is_planar)
        pg_emit(g, "attrs.cuda.block_dim = %lld, 2", (long long)p->threads / 2);
    else
        pg_emit(g, "attrs.cuda.block_dim = %lld", (long long)p->threads);
    pg_emit(g, p->is_planar ? "tid: i32 = threadIdx.y * %lld + threadIdx.x" : "tid = threadIdx.x",
            (long long)p->threads / 2);
    pg_emit(g, "t: i32 = blockIdx.x * %lld + tid", (long long)p->threads);
    g->vars.len = g->arrays.len = 0;
    inputs(g);
    outputs(g);
    scalars(g);
    pg_var t = {"t", DT_I32, {0, p->threads * p->blocks - 1}, true}, x = {"tid", DT_I32, {0, p->threads - 1}, true};
    VEC_PUSH(g->arena, &g->vars, t);
    VEC_PUSH(g->arena, &g->vars, x);
    g->budget = 12;
    for (int n = 2 + pg_below(g, 4); n > 0; n--)
        pg_statement(g);
    sections(g, 1 + pg_below(g, 4));
    if (pg_one_in(g, 5))
        rounds(g);
    if (pg_one_in(g, 4)) {
        g->can_return = true;
        g->budget = 8;
        for (int n = 1 + pg_below(g, 4); n > 0; n--)
            pg_statement(g);
    }
    show(g);
    p->lines.at[head].text = heading(g);
}

pg_program *pg_make(arena *a, uint64_t seed)
{
    static const int thread_counts[] = {1, 16, 32, 32, 48, 64, 64, 96, 128};
    pg_program *p = ARENA_NEW(a, pg_program);
    *p = (pg_program){.seed = seed};
    pg g = {.arena = a, .random = seed, .program = p};
    p->threads = thread_counts[pg_below(&g, 9)];
    p->blocks = 1 + pg_below(&g, 3);
    p->is_planar = p->threads % 2 == 0 && pg_one_in(&g, 5);
    pg_emit(&g, "from hidet.lang import *");
    pg_emit(&g, "from hidet.lang import atomic");
    pg_emit(&g, "from hidet.lang.cuda import blockIdx, syncthreads, threadIdx");
    pg_emit(&g, "from hidet.lang.warp import shfl_xor_sync, vote_any, warp_max, warp_sum");
    for (int n = pg_below(&g, 4); n > 0; n--)
        pg_one_in(&g, 5) ? recursion(&g) : function(&g);
    for (int n = pg_below(&g, 3); n > 0; n--)
        record(&g);
    kernel(&g);
    return p;
}
