// The file that keeps what was measured: a module with one list, which host functions hand to SearchSpace.choose. It is
// read line by line, so that what people write around the rows, and above one, stays where it is.
#include <string.h>

#include "base/file.h"
#include "tune/tune_priv.h"

static const char new_head[] = "\"\"\"The fastest candidates, where they were measured: space, SMs, sizes, candidate.\n"
                               "\n"
                               "`hdsc tune` adds to it and `hdsc tune --check` checks it (docs/tune.md).\n"
                               "\"\"\"\n"
                               "\n"
                               "TUNED = [\n";
static const char begin[] = "TUNED = [", end[] = "]";

// ---- reading ----------------------------------------------------------------------------------------------------

// What is left of a line.
typedef struct scan {
    arena *arena;
    const char *at, *end;
} scan;

static void skip_blanks(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

static bool take(scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool take_text(scan *s, const char **out)
{
    if (!take(s, '"'))
        return false;
    const char *close = memchr(s->at, '"', (size_t)(s->end - s->at));
    if (!close)
        return false;
    *out = arena_strndup(s->arena, s->at, (size_t)(close - s->at));
    s->at = close + 1;
    return true;
}

static bool take_number(scan *s, int64_t *out)
{
    skip_blanks(s);
    int digits = 0;
    *out = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++, digits++)
        *out = *out * 10 + (*s->at - '0');
    return digits > 0 && digits <= 18;
}

// "(1, 2)", "(1,)", "()"
static bool take_sizes(scan *s, tune_row *row)
{
    VEC(int64_t) sizes = {0};
    int64_t value;
    if (!take(s, '('))
        return false;
    while (!take(s, ')')) {
        if (!take_number(s, &value))
            return false;
        VEC_PUSH(s->arena, &sizes, value);
        if (!take(s, ',')) {
            if (!take(s, ')'))
                return false;
            break;
        }
    }
    row->sizes = sizes.at;
    row->size_count = (int)sizes.len;
    return true;
}

static bool take_row(scan *s, tune_row *row)
{
    if (!take(s, '(') || !take_text(s, &row->space) || !take(s, ',') || !take_number(s, &row->sm_count) ||
        !take(s, ',') || !take_sizes(s, row) || !take(s, ',') || !take_text(s, &row->label) || !take(s, ')'))
        return false;
    take(s, ',');
    skip_blanks(s);
    return s->at == s->end;
}

static bool not_a_table(tune *t, const tune_table *table, src_span span, const char *why)
{
    diag_report(t->diags, HDS0824, span, table->path, why);
    return false;
}

static bool twice(tune *t, const tune_row *first, const tune_row *again)
{
    diag *d = diag_report(t->diags, HDS0827, again->span, again->label, again->space, "is the second choice for the same sizes");
    diag_label(d, first->span, "the first one");
    return false;
}

static bool add_row(tune *t, tune_table *table, const tune_row *row)
{
    const tune_row *first = tune_table_find(table, row->space, row->sm_count, row->sizes, row->size_count);
    if (first)
        return twice(t, first, row);
    VEC_PUSH(t->arena, &table->rows, *row);
    return true;
}

// A line of the list. [comments] begins where those of the next row do.
static bool take_line(tune *t, tune_table *table, const src_file *file, str line, const char **comments)
{
    scan s = {t->arena, line.at, line.at + line.len};
    src_span span = {file->base + (uint32_t)(line.at - file->text.at), 0};
    span.end = span.begin + (uint32_t)line.len;
    skip_blanks(&s);
    if (s.at == s.end || *s.at == '#')
        return true;
    tune_row row = {.span = span, .comments = {*comments, (size_t)(line.at - *comments)}};
    row.span.begin += (uint32_t)(s.at - line.at);
    *comments = line.at + line.len + 1;
    if (!take_row(&s, &row))
        return not_a_table(t, table, row.span, "expected a row such as (\"matmul\", 132, (4096, 4096), \"128x256\"),");
    return add_row(t, table, &row);
}

static str line_at(str text, size_t at)
{
    const char *from = text.at + at, *stop = memchr(from, '\n', text.len - at);
    return (str){from, stop ? (size_t)(stop - from) : text.len - at};
}

static bool read_text(tune *t, tune_table *table, const src_file *file)
{
    str text = file->text;
    bool is_inside = false;
    const char *comments = NULL;
    for (size_t at = 0; at < text.len;) {
        str line = line_at(text, at);
        at += line.len + 1;
        if (!is_inside && str_equal(line, str_of(begin))) {
            is_inside = true;
            comments = text.at + (at < text.len ? at : text.len);
            table->head = (str){text.at, (size_t)(comments - text.at)};
        } else if (is_inside && str_equal(line, str_of(end))) {
            table->tail = (str){comments, (size_t)(text.at + text.len - comments)};
            return true;
        } else if (is_inside && !take_line(t, table, file, line, &comments)) {
            return false;
        }
    }
    const src_span whole = {file->base, file->base};
    return not_a_table(t, table, whole, is_inside ? "expected a line ']' behind the rows" : "expected a line 'TUNED = ['");
}

bool tune_table_read(tune *t, const char *path, bool must_exist, tune_table *out)
{
    arena *a = t->arena;
    const char *error = NULL;
    str text;
    *out = (tune_table){.path = path, .head = str_of(new_head), .tail = STR("]\n")};
    if (!must_exist && !file_exists(path))
        return true;
    if (!file_read(a, path, &text, &error)) {
        diag_report(t->diags, HDS0490, (src_span){0, 0}, path, error);
        return false;
    }
    const src_file *file = src_add(t->sources, path, text);
    if (file)
        return read_text(t, out, file);
    diag_report(t->diags, HDS0492, (src_span){0, 0}, path);
    return false;
}

// ---- rows -------------------------------------------------------------------------------------------------------

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_rows(const tune_row *a, const tune_row *b)
{
    int order = strcmp(a->space, b->space);
    order = order ? order : compare_numbers(a->sm_count, b->sm_count);
    order = order ? order : compare_numbers(a->size_count, b->size_count);
    for (int i = 0; !order && i < a->size_count; i++)
        order = compare_numbers(a->sizes[i], b->sizes[i]);
    return order;
}

tune_row *tune_table_find(const tune_table *table, const char *space, int64_t sm_count, const int64_t *sizes, int size_count)
{
    const tune_row wanted = {.space = space, .sm_count = sm_count, .sizes = (int64_t *)sizes, .size_count = size_count};
    for (size_t i = 0; i < table->rows.len; i++) {
        if (compare_rows(&table->rows.at[i], &wanted) == 0)
            return &table->rows.at[i];
    }
    return NULL;
}

// Sorted, however they stood before.
void tune_table_put(tune *t, tune_table *table, const tune_row *row)
{
    tune_row *same = tune_table_find(table, row->space, row->sm_count, row->sizes, row->size_count);
    if (same)
        *same = *row;
    else
        VEC_PUSH(t->arena, &table->rows, *row);
    for (size_t i = 1; i < table->rows.len; i++) {
        tune_row moved = table->rows.at[i];
        size_t at = i;
        for (; at > 0 && compare_rows(&moved, &table->rows.at[at - 1]) < 0; at--)
            table->rows.at[at] = table->rows.at[at - 1];
        table->rows.at[at] = moved;
    }
}

static void add_text(str_buf *out, const tune_row *row)
{
    str_add(out, row->comments);
    str_addf(out, "    (\"%s\", %lld, (", row->space, (long long)row->sm_count);
    for (int i = 0; i < row->size_count; i++)
        str_addf(out, "%s%lld%s", i ? ", " : "", (long long)row->sizes[i], row->size_count == 1 ? "," : "");
    str_addf(out, "), \"%s\"),\n", row->label);
}

bool tune_table_write(tune *t, const tune_table *table)
{
    str_buf out;
    arena memory;
    const char *error = NULL;
    arena_init(&memory, t->arena->oom);
    str_buf_init(&out, &memory);
    str_add(&out, table->head);
    for (size_t i = 0; i < table->rows.len; i++)
        add_text(&out, &table->rows.at[i]);
    str_add(&out, table->tail);
    bool ok = file_write(&memory, table->path, (str){out.at, out.len}, &error);
    if (!ok)
        diag_report(t->diags, HDS0494, (src_span){0, 0}, table->path, error);
    arena_free(&memory);
    return ok;
}

// ---- checking ---------------------------------------------------------------------------------------------------

static int label_index(const tune_space *space, const char *label)
{
    for (int i = 0; i < space->count; i++) {
        if (strcmp(space->labels[i], label) == 0)
            return i;
    }
    return -1;
}

static bool check_names(tune *t, const tune_space *space, const tune_row *row)
{
    arena *a = t->arena;
    if (label_index(space, row->label) < 0) {
        diag *d = diag_report(t->diags, HDS0825, row->span, space->name, row->label);
        const char *hint = diag_suggest(a, row->label, space->labels, (size_t)space->count);
        diag_help(d, "%s", hint ? hint : "tune these sizes again, or remove the row");
        return false;
    }
    if (row->size_count == space->size_count)
        return true;
    diag_report(t->diags, HDS0827, row->span, row->label, space->name,
                arena_printf(a, "has %d sizes here, and the space has %d", row->size_count, space->size_count));
    return false;
}

static void check_validity(tune *t, const tune_space *space, const tune_key *keys, tune_row *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!keys[i].estimates[label_index(space, rows[i]->label)].is_valid)
            diag_report(t->diags, HDS0827, rows[i]->span, rows[i]->label, space->name,
                        arena_printf(t->arena, "is not valid for %s", keys[i].text));
    }
}

pl_status tune_table_check(tune *t, const tune_space *space, const tune_table *table, int *own)
{
    arena *a = t->arena;
    tune_keys keys = {0};
    VEC(tune_row *) rows = {0};
    VEC(int64_t) sm_count = {0};
    *own = 0;
    for (size_t i = 0; i < table->rows.len; i++) {
        tune_row *row = &table->rows.at[i];
        bool is_own = strcmp(row->space, space->name) == 0;
        *own += is_own;
        if (!is_own || !check_names(t, space, row))
            continue;
        VEC_PUSH(a, &rows, row);
        VEC_PUSH(a, &sm_count, row->sm_count);
        VEC_PUSH(a, &keys, ((tune_key){.text = tune_size_text(a, space, row->sizes), .sizes = row->sizes}));
    }
    pl_status status = tune_survey(t, space, keys.at, keys.len, sm_count.at);
    if (status != PL_OK)
        return status;
    check_validity(t, space, keys.at, rows.at, rows.len);
    return t->diags->shown_errors ? PL_ERRORS : PL_OK;
}
