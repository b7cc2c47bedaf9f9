// Two results side by side.
#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "measure/measure_priv.h"

typedef struct result {
    const char *path;
    json_t *json;  // NULL: could not be read
    const char *title, *gpu;
} result;

static const src_span nowhere = {0, 0};

// ---- reading ----------------------------------------------------------------------------------------------------

static bool is_no_result(diag_context *diags, const char *path, const char *why)
{
    diag *d = diag_report(diags, HDS0751, nowhere, path, why);
    diag_help(d, "write one by hdsc bench … --json=%s", path);
    return false;
}

static const char *text_at(json_t *json, const char *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(json, object), key));
}

static bool read_result(arena *a, diag_context *diags, const char *path, result *out)
{
    str text;
    const char *error;
    json_error_t where;
    out->path = path;
    if (!file_read(a, path, &text, &error)) {
        diag_report(diags, HDS0490, nowhere, path, error);
        return false;
    }
    out->json = json_loadb(text.at, text.len, 0, &where);
    if (!out->json)
        return is_no_result(diags, path, arena_printf(a, "line %d: %s", where.line, where.text));
    const char *format = json_string_value(json_object_get(out->json, "format"));
    if (!format || strcmp(format, "hdsc bench") != 0 || !json_is_array(json_object_get(out->json, "rows")))
        return is_no_result(diags, path, "it is other JSON");
    if (json_integer_value(json_object_get(out->json, "version")) != 2)
        return is_no_result(diags, path, "it is of another version");
    out->title = text_at(out->json, "kernel", "title");
    out->gpu = text_at(out->json, "machine", "gpu");
    return true;
}

static bool read_summary(json_t *row, const char *key, ms_summary *out)
{
    json_t *s = json_object_get(row, key);
    *out = (ms_summary){
        .median = json_number_value(json_object_get(s, "median")),
        .q1 = json_number_value(json_object_get(s, "q1")),
        .q3 = json_number_value(json_object_get(s, "q3")),
        .count = (size_t)json_integer_value(json_object_get(s, "count")),
    };
    return out->median > 0;
}

static json_t *same_row(const result *r, json_t *row)
{
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(r->json, "rows"), i, other)
    {
        if (json_equal(json_object_get(other, "sizes"), json_object_get(row, "sizes")))
            return other;
    }
    return NULL;
}

static const char *name_of_row(arena *a, json_t *row)
{
    str_buf out;
    const char *key;
    json_t *value;
    str_buf_init(&out, a);
    json_object_foreach(json_object_get(row, "sizes"), key, value)
    {
        const char *text = json_string_value(value);
        str_addf(&out, "%s%s=%s", out.len ? ", " : "", key, text ? text : "?");
    }
    return out.len ? str_text(&out) : "all";
}

// ---- comparing --------------------------------------------------------------------------------------------------

// The kernel's speed relative to the copy, before and now: what does not depend on the machine's state.
static const char *of_copy_text(arena *a, json_t *before, json_t *now)
{
    ms_summary t, c, t2, c2;
    if (!read_summary(before, "seconds", &t) || !read_summary(before, "copy_seconds", &c) || !read_summary(now, "seconds", &t2) ||
        !read_summary(now, "copy_seconds", &c2))
        return "–";
    return arena_printf(a, "%.3f → %.3f", c.median / t.median, c2.median / t2.median);
}

static const char *verdict_text(ms_verdict v, bool fails)
{
    static const char *const texts[] = {"within noise", "faster", "slower"};
    return fails ? "slower: FAILED" : texts[v];
}

static void compare_rows(ms_table *t, json_t *before, json_t *now, double fail_below, ms_comparison *c)
{
    ms_summary old, new;
    arena *a = t->arena;
    if (!read_summary(before, "seconds", &old) || !read_summary(now, "seconds", &new))
        return;
    double ratio = old.median / new.median;
    ms_verdict v = ms_judge(&old, &new);
    bool fails = v == MS_SLOWER && ratio < fail_below;
    c->rows++;
    c->faster += v == MS_FASTER;
    c->slower += v == MS_SLOWER;
    c->failed += fails;
    const char *cells[] = {name_of_row(a, now),
                           ms_time_text(a, old.median),
                           ms_time_text(a, new.median),
                           arena_printf(a, "%.3f", ratio),
                           arena_printf(a, "%.1f %%", 100 * (ms_spread(&old) > ms_spread(&new) ? ms_spread(&old) : ms_spread(&new))),
                           of_copy_text(a, before, now),
                           verdict_text(v, fails)};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        VEC_PUSH(a, &t->cells, cells[i]);
}

static void add_only(const result *r, const result *other, str_buf *out)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(r->json, "rows"), i, row)
    {
        if (!same_row(other, row))
            str_addf(out, "only in %s: %s\n", r->path, name_of_row(out->arena, row));
    }
}

static bool differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

static void add_differences(const result *before, const result *now, str_buf *out)
{
    if (differ(before->title, now->title))
        str_addf(out, "note: %s is compared with %s\n", now->title ? now->title : "?", before->title ? before->title : "?");
    if (differ(before->gpu, now->gpu))
        str_addf(out, "note: measured on different GPUs: %s, then %s\n", before->gpu ? before->gpu : "?", now->gpu ? now->gpu : "?");
    const char *methods[] = {text_at(before->json, "method", "name"), text_at(now->json, "method", "name")};
    if (differ(methods[0], methods[1]))
        str_addf(out, "note: measured by different methods: %s, then %s\n", methods[0] ? methods[0] : "?", methods[1] ? methods[1] : "?");
}

static void add_summary(const ms_comparison *c, double fail_below, str_buf *out)
{
    str_addf(out, "%d row%s: %d faster, %d slower, %d within noise (the ranges between the quartiles touch)\n", c->rows,
             c->rows == 1 ? "" : "s", c->faster, c->slower, c->rows - c->faster - c->slower);
    if (c->failed)
        str_addf(out, "%d slower than %g times the speed before\n", c->failed, fail_below);
}

static bool compare(diag_context *diags, const result *before, const result *now, double fail_below, str_buf *out,
                    ms_comparison *c)
{
    size_t i;
    json_t *row;
    ms_table t = {.arena = out->arena, .columns = 7};
    static const char *const head[] = {"sizes", "before", "now", "speed", "±", "of copy", "verdict"};
    for (int k = 0; k < t.columns; k++)
        VEC_PUSH(t.arena, &t.cells, head[k]);
    json_array_foreach(json_object_get(now->json, "rows"), i, row)
    {
        json_t *old = same_row(before, row);
        if (old)
            compare_rows(&t, old, row, fail_below, c);
    }
    if (!c->rows) {
        diag_report(diags, HDS0752, nowhere, before->path, now->path);
        return false;
    }
    add_differences(before, now, out);
    ms_table_print(&t, out);
    add_only(before, now, out);
    add_only(now, before, out);
    add_summary(c, fail_below, out);
    return true;
}

bool ms_compare(arena *a, diag_context *diags, const char *before, const char *now, double fail_below, str_buf *out,
                ms_comparison *c)
{
    result old = {0}, new = {0};
    *c = (ms_comparison){0};
    bool ok = read_result(a, diags, before, &old) && read_result(a, diags, now, &new) &&
              compare(diags, &old, &new, fail_below, out, c);
    json_decref(old.json);
    json_decref(new.json);
    return ok;
}
