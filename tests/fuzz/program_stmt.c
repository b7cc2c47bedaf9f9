// Statements of random programs.
#include <stdarg.h>
#include <string.h>

#include "program.h"

const char *pg_name(pg *g, const char *stem)
{
    return arena_printf(g->arena, "%s%d", stem, g->next_name++);
}

void pg_emit(pg *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pg_line line = {arena_vprintf(g->arena, format, args), g->depth};
    va_end(args);
    VEC_PUSH(g->arena, &g->program->lines, line);
}

// ---- variables -------------------------------------------------------------------------------------------------------

static void add_var(pg *g, const char *name, dtype t, pg_range range, bool is_fixed)
{
    pg_var v = {name, t, range, is_fixed};
    VEC_PUSH(g->arena, &g->vars, v);
}

// Something true of a number that does not change.
static void promise(pg *g)
{
    const pg_var *v = &g->vars.at[pg_below(g, (int)g->vars.len)];
    if (!v->is_fixed || v->type != DT_I32 || v->range.low < 0 || v->range.high > 1 << 20)
        return;
    const char *fact = arena_printf(g->arena, "%s <= %lld", v->name, (long long)v->range.high);
    int64_t value = (int64_t)v->range.low, by = 1;
    for (int64_t d = 2; d <= 16 && v->range.low == v->range.high; d++)
        by = value % d == 0 ? d : by;
    if (by > 1)
        fact = arena_printf(g->arena, "%s %% %lld == 0", v->name, (long long)by);
    else if (pg_one_in(g, 2) && v->range.low)
        fact = arena_printf(g->arena, "%s >= %lld", v->name, (long long)value);
    if (pg_one_in(g, 2))
        pg_emit(g, "assume(%s)", fact);
    else
        pg_emit(g, "assert %s", fact);
}

static void declare(pg *g)
{
    dtype t = pg_one_in(g, 8) ? DT_BOOL : pg_number_type(g);
    const char *name = pg_name(g, "v");
    pg_range range = pg_range_for(g, t);
    const char *value = pg_expr_in(g, t, range, 3).text;
    if (t == DT_BOOL)
        pg_emit(g, "%s: bool = %s", name, value);
    else
        pg_emit(g, "%s: %s = %s", name, dt_name(t), value);
    if (pg_one_in(g, 8) && !g->inside)
        promise(g);
    add_var(g, name, t, range, false);
}

static const pg_var *pick_assignable(pg *g)
{
    for (int tries = 0; tries < 10 && g->vars.len; tries++) {
        const pg_var *v = &g->vars.at[pg_below(g, (int)g->vars.len)];
        if (!v->is_fixed)
            return v;
    }
    return NULL;
}

static void assign(pg *g)
{
    const pg_var *v = pick_assignable(g);
    if (!v) {
        declare(g);
        return;
    }
    pg_range all = dt_is_int(v->type) ? pg_range_of_type(v->type) : (pg_range){0, 0};
    bool wraps = dt_is_int(v->type) && !dt_is_signed(v->type) && v->range.low == all.low && v->range.high == all.high;
    static const char *const signs[] = {"+", "-", "*"};
    if ((dt_is_float(v->type) || wraps) && pg_one_in(g, 2))
        pg_emit(g, "%s %s= %s", v->name, signs[pg_below(g, 3)], pg_expr(g, v->type, 2).text);
    else
        pg_emit(g, "%s = %s", v->name, pg_expr_in(g, v->type, v->range, 3).text);
}

static void exchange(pg *g)
{
    for (int tries = 0; tries < 6; tries++) {
        const pg_var *a = pick_assignable(g), *b = pick_assignable(g);
        bool fits = a && b && a != b && a->type == b->type;
        if (fits && (!dt_is_int(a->type) || (a->range.low == b->range.low && a->range.high == b->range.high))) {
            pg_emit(g, "%s, %s = %s, %s", a->name, b->name, b->name, pg_expr_in(g, a->type, a->range, 2).text);
            return;
        }
    }
    assign(g);
}

// ---- arrays ----------------------------------------------------------------------------------------------------------

static void own_array(pg *g)
{
    dtype t = pg_number_type(g);
    pg_array a = {.name = pg_name(g, "a"), .type = t, .rank = 1 + pg_below(g, 2), .range = pg_range_for(g, t), .can_write = true};
    const char *shape = "";
    for (int d = 0; d < a.rank; d++) {
        a.extent[d] = 1 + pg_below(g, 5);
        shape = arena_printf(g->arena, "%s%s%lld", shape, d ? ", " : "", (long long)a.extent[d]);
    }
    const char *init = dt_is_int(t) ? pg_expr_in(g, t, a.range, 1).text : pg_expr(g, t, 1).text;
    const char *layout = "";
    if (pg_one_in(g, 3))
        layout = arena_printf(g->arena, ", layout=%s_major(%s)", pg_one_in(g, 2) ? "row" : "column", shape);
    pg_emit(g, "%s = register_tensor(%s, [%s]%s, init=%s)", a.name, dt_name(t), shape, layout, init);
    VEC_PUSH(g->arena, &g->arrays, a);
    if (pg_one_in(g, 4) && (a.rank == 1 || !*layout)) {
        pg_array p = a;
        p.name = pg_name(g, "p");
        p.rank = 1;
        p.extent[0] = a.rank == 1 ? a.extent[0] : a.extent[0] * a.extent[1];
        p.is_pointer = true;
        pg_emit(g, "%s = ~%s%s", p.name, a.name, a.rank == 1 ? "[0]" : "[0, 0]");
        VEC_PUSH(g->arena, &g->arrays, p);
    }
}

static void store(pg *g)
{
    for (int tries = 0; tries < 10 && g->arrays.len; tries++) {
        pg_array a = g->arrays.at[pg_below(g, (int)g->arrays.len)];
        if (!a.can_write)
            continue;
        const char *value = pg_expr_in(g, a.type, a.range, 3).text;
        bool guards = !a.is_pointer && (a.is_guarded_only || (!a.before && pg_one_in(g, 6)));
        bool wraps = !dt_is_int(a.type) || (!dt_is_signed(a.type) && a.range.low == 0 && a.range.high == pg_range_of_type(a.type).high);
        if (guards) {
            a.is_guarded_only = true;
            pg_emit(g, "%s.write(%s, %s)", a.name, pg_indices(g, &a, 2), value);
        } else if (wraps && pg_one_in(g, 3)) {
            pg_emit(g, "%s%s += %s", a.name, pg_indices(g, &a, 2), value);
        } else {
            pg_emit(g, "%s%s = %s", a.name, pg_indices(g, &a, 2), value);
        }
        return;
    }
    assign(g);
}

// Parts and pointers of what can only be read.
static void view(pg *g)
{
    for (int tries = 0; tries < 10 && g->arrays.len; tries++) {
        pg_array a = g->arrays.at[pg_below(g, (int)g->arrays.len)], part = a;
        if (a.is_guarded_only || a.is_pointer || a.can_write || a.before)
            continue;
        part.name = pg_name(g, "w");
        if (a.rank == 2 && pg_one_in(g, 3)) {
            pg_emit(g, "%s = %s.T", part.name, a.name);
            part.extent[0] = a.extent[1];
            part.extent[1] = a.extent[0];
        } else if (a.rank == 2 && pg_one_in(g, 2)) {
            pg_emit(g, "%s = %s[%s]", part.name, a.name, pg_index(g, 0, a.extent[0] - 1, 2));
            part.rank = 1;
            part.extent[0] = a.extent[1];
        } else if (pg_one_in(g, 3) && a.rank == 1) {
            int64_t from = pg_below(g, (int)a.extent[0]);
            part.is_pointer = true;
            part.extent[0] = a.extent[0] - from;
            pg_emit(g, "%s = ~%s[%lld]", part.name, a.name, (long long)from);
        } else {
            int64_t size = 1 + pg_below(g, (int)(a.extent[0] < 6 ? a.extent[0] : 6));
            const char *from = pg_index(g, 0, a.extent[0] - size, 2);
            part.extent[0] = size;
            pg_emit(g, "%s = %s[%s : %s + %lld%s]", part.name, a.name, from, from, (long long)size, a.rank == 2 ? ", :" : "");
        }
        VEC_PUSH(g->arena, &g->arrays, part);
        return;
    }
    assign(g);
}

// ---- records -----------------------------------------------------------------------------------------------------------

static void add_record(pg *g, const char *name, int kind)
{
    const pg_record *r = &g->records.at[kind];
    for (int i = 0; i < r->field_count; i++)
        add_var(g, arena_printf(g->arena, "%s.%s", name, r->fields[i].name), r->fields[i].type, r->fields[i].range, false);
    VEC_PUSH(g->arena, &g->record_vars, name);
    VEC_PUSH(g->arena, &g->record_of, kind);
}

static void record(pg *g)
{
    if (!g->records.len || g->inside) {
        declare(g);
        return;
    }
    const char *name = pg_name(g, "r");
    if (g->record_vars.len && pg_one_in(g, 3)) {
        int k = pg_below(g, (int)g->record_vars.len), kind = g->record_of.at[k];
        pg_emit(g, "%s = %s", name, g->record_vars.at[k]);
        add_record(g, name, kind);
        return;
    }
    int kind = pg_below(g, (int)g->records.len);
    const pg_record *r = &g->records.at[kind];
    const char *values = "";
    for (int i = 0; i < r->field_count; i++)
        values = arena_printf(g->arena, "%s%s%s", values, i ? ", " : "", pg_expr_in(g, r->fields[i].type, r->fields[i].range, 2).text);
    pg_emit(g, "%s = %s(%s)", name, r->name, values);
    add_record(g, name, kind);
}

static void change_record(pg *g)
{
    if (!g->record_vars.len) {
        assign(g);
        return;
    }
    int k = pg_below(g, (int)g->record_vars.len);
    const pg_record *r = &g->records.at[g->record_of.at[k]];
    pg_emit(g, "%s", pg_call(g, &r->change, arena_printf(g->arena, "%s.change", g->record_vars.at[k]), 2));
}

// ---- control ---------------------------------------------------------------------------------------------------------

pg_scope pg_open(pg *g)
{
    g->depth++;
    return (pg_scope){g->vars.len, g->arrays.len, g->record_vars.len};
}

void pg_close(pg *g, pg_scope scope)
{
    g->depth--;
    g->vars.len = scope.vars;
    g->arrays.len = scope.arrays;
    g->record_vars.len = g->record_of.len = scope.records;
}

void pg_body(pg *g, int count)
{
    pg_scope scope = pg_open(g);
    size_t lines = g->program->lines.len;
    for (int i = 0; i < count && g->budget > 0; i++)
        pg_statement(g);
    if (g->program->lines.len == lines)
        pg_emit(g, "pass");
    pg_close(g, scope);
}

static void branch(pg *g)
{
    pg_emit(g, "if %s:", pg_bool(g, 3));
    pg_body(g, 1 + pg_below(g, 3));
    if (pg_one_in(g, 4)) {
        pg_emit(g, "elif %s:", pg_bool(g, 2));
        pg_body(g, 1 + pg_below(g, 2));
    }
    if (pg_one_in(g, 2)) {
        pg_emit(g, "else:");
        pg_body(g, 1 + pg_below(g, 3));
    }
}

// Of at most [most] turns.
static pg_range bounds(pg *g, int most, const char **text)
{
    int64_t first = pg_below(g, 7) - 2, turns = 1 + pg_below(g, most), step = 1 + pg_below(g, pg_one_in(g, 2) ? 3 : 1);
    bool down = pg_one_in(g, 4);
    int64_t last = first + (down ? -step : step) * turns;
    // The end, or the beginning, is where the lanes differ; the loop may then have no turn at all.
    const char *from = arena_printf(g->arena, "%lld", (long long)first), *to = arena_printf(g->arena, "%lld", (long long)last);
    int64_t low = first < last ? first : last, high = first < last ? last : first;
    if (pg_one_in(g, 3))
        to = pg_index(g, low, high, 2);
    else if (pg_one_in(g, 4))
        from = pg_index(g, low, high, 2);
    if (step == 1 && !down && pg_one_in(g, 2))
        *text = arena_printf(g->arena, "%s, %s", from, to);
    else
        *text = arena_printf(g->arena, "%s, %s, %lld", from, to, (long long)(down ? -step : step));
    return (pg_range){low, high};
}

static void counted(pg *g)
{
    const char *name = pg_name(g, "k"), *text;
    pg_range range = bounds(g, g->nesting ? 3 : 6, &text);
    pg_emit(g, "for %s in range(%s):", name, text);
    size_t vars = g->vars.len;
    // With a bound of 64 bits, or an unsigned one, it is no i32: it is read through a variable that is.
    const char *copy = pg_name(g, "c");
    g->depth++;
    pg_emit(g, "%s: i32 = i32(%s)", copy, name);
    g->depth--;
    add_var(g, copy, DT_I32, range, pg_one_in(g, 2));
    g->nesting++;
    g->loops++;
    pg_body(g, 1 + pg_below(g, 4));
    g->loops--;
    g->nesting--;
    g->vars.len = vars;
}

static void nested(pg *g)
{
    static const char *const attributes[] = {"", ", attrs=\"u+.\"", ", attrs=\"u\"", ", attrs=\"u+\"", ", attrs=\".\"", ", attrs=\"u2u4\""};
    const char *i = pg_name(g, "k"), *j = pg_name(g, "m");
    int m = 1 + pg_below(g, 3), n = 1 + pg_below(g, 4), loops = g->loops;
    size_t vars = g->vars.len;
    pg_emit(g, "for %s, %s in grid(%d, %d%s):", i, j, m, n, attributes[pg_below(g, 6)]);
    add_var(g, i, DT_I32, (pg_range){0, m - 1}, true);
    add_var(g, j, DT_I32, (pg_range){0, n - 1}, true);
    g->nesting += 2;
    g->loops = 0;
    pg_body(g, 1 + pg_below(g, 3));
    g->loops = loops;
    g->nesting -= 2;
    g->vars.len = vars;
}

static void repeated(pg *g)
{
    const char *left = pg_name(g, "n");
    pg_emit(g, "%s: i32 = %s", left, pg_expr_in(g, DT_I32, (pg_range){0, 5}, 2).text);
    bool is_endless = pg_one_in(g, 5);
    if (is_endless)
        pg_emit(g, "while True:");
    else if (pg_one_in(g, 4))
        pg_emit(g, "while (%s > 0) and %s:", left, pg_bool(g, 2));
    else
        pg_emit(g, "while %s > 0:", left);
    size_t vars = g->vars.len;
    add_var(g, left, DT_I32, (pg_range){0, 5}, true);
    g->depth++;
    if (is_endless) {
        pg_emit(g, "if %s <= 0:", left);
        g->depth++;
        pg_emit(g, "break");
        g->depth--;
    }
    pg_emit(g, "%s -= 1", left);
    g->depth--;
    g->nesting++;
    g->loops++;
    pg_body(g, 1 + pg_below(g, 4));
    g->loops--;
    g->nesting--;
    g->vars.len = vars;
}

static void unrolled(pg *g)
{
    const char *name = pg_name(g, "k");
    int n = 1 + pg_below(g, 3), loops = g->loops;
    size_t vars = g->vars.len;
    const char *copy = pg_name(g, "c");
    pg_emit(g, "for %s in static_range(%d):", name, n);
    g->depth++;
    pg_emit(g, "%s: i32 = %s", copy, name);
    g->depth--;
    add_var(g, copy, DT_I32, (pg_range){0, n - 1}, true);
    g->loops = 0;
    g->nesting++;
    pg_body(g, 1 + pg_below(g, 2));
    g->nesting--;
    g->loops = loops;
    g->vars.len = vars;
}

static void jump(pg *g)
{
    const char *what = NULL;
    if (g->loops && pg_below(g, 4))
        what = pg_one_in(g, 2) ? "break" : "continue";
    else if (g->inside && g->inside->result != DT_NONE)
        what = arena_printf(g->arena, "return %s", pg_expr_in(g, g->inside->result, g->inside->range, 2).text);
    else if (g->inside || g->can_return)
        what = "return";
    if (!what) {
        assign(g);
        return;
    }
    pg_emit(g, "if %s:", pg_bool(g, 2));
    pg_scope scope = pg_open(g);
    if (pg_one_in(g, 3))
        assign(g);
    pg_emit(g, "%s", what);
    pg_close(g, scope);
}

void pg_statement(pg *g)
{
    g->budget--;
    bool may_nest = g->depth < 6 && g->nesting < 3;
    switch (pg_below(g, may_nest ? 24 : 15)) {
    case 0:
    case 1:
    case 2: declare(g); break;
    case 3:
    case 4:
    case 5: assign(g); break;
    case 6: exchange(g); break;
    case 7: own_array(g); break;
    case 8:
    case 9:
    case 10: store(g); break;
    case 11: g->inside ? assign(g) : view(g); break;
    case 12: record(g); break;
    case 13: change_record(g); break;
    case 14: jump(g); break;
    case 15:
    case 16:
    case 17: branch(g); break;
    case 18:
    case 19: counted(g); break;
    case 20: nested(g); break;
    case 21: repeated(g); break;
    case 22: unrolled(g); break;
    default: jump(g); break;
    }
}
