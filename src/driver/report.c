#include "driver/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diag/json_text.h"

// ---- the bound -----------------------------------------------------------------------------------------------------

// What a few roundings of the type leave far behind. f64 is compared with f64: only the order of sums differs.
double report_bound(dtype type)
{
    if (!dt_is_float(type) && type != DT_C64)
        return 0;
    return type == DT_F64 ? 1e-10 : dt_bits(type) < 32 ? 1e-1 : 5e-5;
}

void report_measure(report_row *row, const ten_tensor *expected, double bound)
{
    row->error = ten_error_of(row->actual, expected);
    row->bound = report_bound(row->actual->type) > 0 ? bound : 0;
    row->is_wrong = row->bound > 0 ? row->error.harmonic > row->bound : row->error.different > 0;
}

static bool is_same_shape(const ten_tensor *a, const ten_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

// Whether two numbers have a tie between them: a half for what rounds to the nearest number, a whole number for what rounds up or
// down.
static bool has_tie_between(double a, double b)
{
    double low = 2 * fmin(a, b), high = 2 * fmax(a, b);
    return low < high && high - low < 1 && ceil(low) <= high;
}

// Whether [whole] is [x] rounded in some direction.
static bool is_rounded(double whole, double x)
{
    return whole == trunc(whole) && fabs(whole - x) < 1;
}

void report_find_ties(report_row *row, const ten_tensor *expected, const ten_tensor *operand, const ten_tensor *expected_operand)
{
    if (row->actual->type == DT_BOOL || !is_same_shape(row->actual, operand))
        return;
    for (int64_t i = 0; i < expected->count; i++) {
        double y = ten_number(row->actual, i), z = ten_number(expected, i);
        double x = ten_number(operand, i), w = ten_number(expected_operand, i);
        row->ties += fabs(y - z) == 1 && is_rounded(y, x) && is_rounded(z, w) && has_tie_between(x, w);
    }
}

void report_measure_data(report_row *row, const ten_tensor *expected, double bound)
{
    const double least = 1e-3;
    if (is_same_shape(row->actual, expected)) {
        report_measure(row, expected, bound > least ? bound : least);
        return;
    }
    row->error = (ten_error){row->actual->count, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    row->is_wrong = true;
}

const report_row *report_first(const report_row_list *rows)
{
    for (size_t i = 0; i < rows->len; i++)
        if (rows->at[i].is_wrong)
            return &rows->at[i];
    return NULL;
}

size_t report_count(const report_row_list *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->len; i++)
        count += rows->at[i].is_wrong;
    return count;
}

// ---- a table -------------------------------------------------------------------------------------------------------

typedef struct widths {
    int label, type;
} widths;

static const char *type_of(const report_row *row, arena *a)
{
    str_buf out;
    str_buf_init(&out, a);
    ten_type_print(row->actual->type, row->actual->rank, row->actual->shape, &out);
    return str_text(&out);
}

static const char *operator_of(const report_row *row)
{
    return row->node ? row->node->op : row->name;
}

static void widen(widths *w, const report_row_list *rows, arena *a)
{
    for (size_t i = 0; i < rows->len; i++) {
        int label = (int)strlen(operator_of(&rows->at[i])), type = (int)strlen(type_of(&rows->at[i], a));
        w->label = label > w->label ? label : w->label;
        w->type = type > w->type ? type : w->type;
    }
}

static void add_row(const report_row *row, const widths *w, str_buf *out)
{
    const ten_error *e = &row->error;
    const char *number = row->node ? arena_printf(out->arena, "%d", row->node->number) : "";
    const char *line = row->node ? arena_printf(out->arena, "%d", row->node->line) : "";
    str_addf(out, "%4s  %-*s  %4s  %-*s  %9.2e  %9.2e  %9.2e  %9.2e  %9.2e%s\n", number, w->label, operator_of(row),
             line, w->type, type_of(row, out->arena), e->harmonic, e->max_absolute, e->mean_absolute, e->max_relative,
             e->mean_relative, row->is_wrong ? "  <------" : "");
}

static void add_head(const widths *w, const char *number, const char *label, const char *line, str_buf *out)
{
    str_addf(out, "%4s  %-*s  %4s  %-*s  %9s  %9s  %9s  %9s  %9s\n", number, w->label, label, line, w->type, "type",
             "error", "max abs", "mean abs", "max rel", "mean rel");
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

// How many, and where it starts.
static void add_totals(const report *r, str_buf *out)
{
    size_t wrong = report_count(&r->nodes), wrong_outputs = report_count(&r->outputs);
    const report_row *first = report_first(&r->nodes);
    str_addf(out, "\n%zu of %zu tensor%s of '%s' and %zu of %zu output%s of its program %s beyond the bound\n", wrong,
             r->nodes.len, plural(r->nodes.len), r->model, wrong_outputs, r->outputs.len, plural(r->outputs.len),
             wrong + wrong_outputs == 1 ? "is" : "are");
    if (first)
        str_addf(out, "first at node %d: '%s' in %s:%d\n", first->node->number, first->node->op, r->file,
                 first->node->line);
    if (first && first->ties && first->ties == first->error.different)
        str_addf(out, "there, %" PRId64 " of %" PRId64 " elements %s a tie between the operand and the same in f64, and %s rounded the "
                      "other way\n",
                 first->ties, first->actual->count, first->ties == 1 ? "has" : "have", first->ties == 1 ? "is" : "are");
    if (!r->data)
        return;
    size_t wrong_data = report_count(&r->data_outputs);
    str_addf(out, "%zu of %zu output%s %s too far from %s\n", wrong_data, r->data_outputs.len, plural(r->data_outputs.len),
             wrong_data == 1 ? "is" : "are", r->data);
    if (wrong_data && !first)
        str_adds(out, "no tensor is far from f64: the model itself is not what the data were computed by\n");
}

void report_table(const report *r, str_buf *out)
{
    widths w = {.label = 8, .type = 4};
    widen(&w, &r->nodes, out->arena);
    widen(&w, &r->outputs, out->arena);
    add_head(&w, "node", "operator", "line", out);
    for (size_t i = 0; i < r->nodes.len; i++)
        add_row(&r->nodes.at[i], &w, out);
    str_addc(out, '\n');
    add_head(&w, "", "output", "", out);
    for (size_t i = 0; i < r->outputs.len; i++)
        add_row(&r->outputs.at[i], &w, out);
    if (r->data_outputs.len) {
        str_addc(out, '\n');
        add_head(&w, "", "test data", "", out);
    }
    for (size_t i = 0; i < r->data_outputs.len; i++)
        add_row(&r->data_outputs.at[i], &w, out);
    add_totals(r, out);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

// JSON has no infinity.
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *row_json(const report_row *row)
{
    const ten_error *e = &row->error;
    json_t *object = json_object(), *shape = json_array();
    for (int d = 0; d < row->actual->rank; d++)
        json_array_append_new(shape, json_integer(row->actual->shape[d]));
    if (row->node) {
        json_object_set_new(object, "node", json_integer(row->node->number));
        json_object_set_new(object, "operator", json_string(row->node->op));
        json_object_set_new(object, "line", json_integer(row->node->line));
    }
    json_object_set_new(object, "tensor", json_string(row->name));
    json_object_set_new(object, "dtype", json_string(dt_name(row->actual->type)));
    json_object_set_new(object, "shape", shape);
    json_object_set_new(object, "error", number(e->harmonic));
    json_object_set_new(object, "max_abs", number(e->max_absolute));
    json_object_set_new(object, "mean_abs", number(e->mean_absolute));
    json_object_set_new(object, "max_rel", number(e->max_relative));
    json_object_set_new(object, "mean_rel", number(e->mean_relative));
    json_object_set_new(object, "different", json_integer(e->different));
    if (row->node)
        json_object_set_new(object, "ties", json_integer((json_int_t)row->ties));
    json_object_set_new(object, "bound", json_real(row->bound));
    json_object_set_new(object, "passes", json_boolean(!row->is_wrong));
    return object;
}

static json_t *rows_json(const report_row_list *rows)
{
    json_t *list = json_array();
    for (size_t i = 0; i < rows->len; i++)
        json_array_append_new(list, row_json(&rows->at[i]));
    return list;
}

void report_json(const report *r, str_buf *out)
{
    const report_row *first = report_first(&r->nodes);
    json_t *top = json_object();
    json_object_set_new(top, "file", json_string(r->file));
    json_object_set_new(top, "model", json_string(r->model));
    json_object_set_new(top, "nodes", rows_json(&r->nodes));
    json_object_set_new(top, "outputs", rows_json(&r->outputs));
    json_object_set_new(top, "wrong_nodes", json_integer((json_int_t)report_count(&r->nodes)));
    json_object_set_new(top, "wrong_outputs", json_integer((json_int_t)report_count(&r->outputs)));
    if (r->data) {
        json_object_set_new(top, "data", json_string(r->data));
        json_object_set_new(top, "data_outputs", rows_json(&r->data_outputs));
        json_object_set_new(top, "wrong_data_outputs", json_integer((json_int_t)report_count(&r->data_outputs)));
    }
    json_object_set_new(top, "first", first ? json_integer(first->node->number) : json_null());
    diag_add_json(out, top, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}
