// What comes out of a run: saved, printed, compared.

#include <math.h>
#include <string.h>

#include "base/strided_span.h"
#include "driver/run.h"
#include "tensor/npy.h"

static const src_span nowhere = {0, 0};

// A byte for each element: whether all of it was written. NULL: all of all were.
static const uint8_t *written_elements(run_state *r, const run_argument *a)
{
    const ten_tensor *t = &a->tensor;
    int64_t first = 0, bits = dt_bits(t->type);
    if (!t->bytes || (!a->strides && sim_is_initialised(r->device, a->value, t->bytes, &first)))
        return NULL;
    bool all = true;
    uint8_t *written = arena_alloc(&r->unit.memory, (size_t)t->count);
    for (int64_t i = 0; i < t->count; i++) {
        int64_t start = strided_span_offset(t->rank, t->shape, a->strides, i) * bits / 8, bytes = bits < 8 ? 1 : bits / 8;
        written[i] = sim_is_initialised(r->device, a->value + (uint64_t)start, bytes, &first);
    }
    for (int64_t i = 0; i < t->count; i++)
        all = all && written[i];
    return all ? NULL : written;
}

// ---- out ----------------------------------------------------------------------------------------------------------

static void print_tensor(run_state *r, const run_argument *a)
{
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    str_addf(&out, "%s: ", a->name);
    ten_type_print(a->tensor.type, a->tensor.rank, a->tensor.shape, &out);
    str_addc(&out, '\n');
    ten_show(&a->tensor, written_elements(r, a), &out);
    str_addc(&out, '\n');
    cmd_print((str){out.at, out.len});
}

// An uninitialized element has no value that could be saved.
static void save_tensor(run_state *r, const run_argument *a)
{
    int64_t first = 0;
    const uint8_t *written = written_elements(r, a);
    if (!written) {
        ten_npy_write(&r->unit.memory, &r->unit.diags, a->save, &a->tensor);
        return;
    }
    str_buf index;
    str_buf_init(&index, &r->unit.memory);
    while (written[first])
        first++;
    ten_index_print(&a->tensor, first, &index);
    diag *d =
        diag_report(&r->unit.diags, HDS0645, nowhere, a->save,
                    arena_printf(&r->unit.memory, "element %s of '%s' is uninitialised", str_text(&index), a->name));
    diag_help(d, "%s=zeros gives the elements a value before the run", a->name);
}

// ---- expectations -------------------------------------------------------------------------------------------------

static run_argument *argument_named(run_state *r, const char *name)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        if (strcmp(r->arguments.at[i].name, name) == 0 && r->arguments.at[i].is_tensor)
            return &r->arguments.at[i];
    }
    return NULL;
}

static bool same_shape(const ten_tensor *a, const ten_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0;
}

static bool read_one(run_state *r, const run_expectation *e, run_reference *out)
{
    run_argument *a = argument_named(r, e->name);
    r->is_usage_error = true;
    if (!a) {
        diag_report(&r->unit.diags, HDS0631, r->entry->span, r->entry->title ? r->entry->title : r->entry->name, e->name);
        return false;
    }
    if (e->is_made && cmd_run_is_ambiguous(r, arena_printf(&r->unit.memory, "--expect %s", e->text), e->name))
        return false;
    *out = (run_reference){.wanted = e, .argument = a};
    if (!ten_npy_read(&r->unit.memory, &r->unit.diags, e->path, DT_NONE, a->tensor.type, e->name, &out->tensor))
        return false;
    r->is_usage_error = false;
    if (same_shape(&out->tensor, &a->tensor))
        return true;
    r->is_usage_error = true;
    str_buf found, type;
    str_buf_init(&found, &r->unit.memory);
    str_buf_init(&type, &r->unit.memory);
    ten_type_print(out->tensor.type, out->tensor.rank, out->tensor.shape, &found);
    str_addf(&found, " of '%s'", e->path);
    ten_type_print(a->tensor.type, a->tensor.rank, a->tensor.shape, &type);
    diag_report(&r->unit.diags, HDS0639, nowhere, str_text(&found), e->name, str_text(&type));
    return false;
}

bool cmd_run_read_expected(run_state *r)
{
    size_t count = r->request->expectations.len;
    r->references = ARENA_ARRAY(&r->unit.memory, run_reference, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_one(r, &r->request->expectations.at[i], &r->references[i]))
            return false;
    }
    return true;
}

// What the expectation says, else the command line, else what is usual for the less exact of the two types.
static void choose_tolerance(const run_state *r, const run_reference *f, double *rtol, double *atol)
{
    double other_rtol, other_atol;
    ten_usual_tolerance(f->argument->tensor.type, rtol, atol);
    ten_usual_tolerance(f->tensor.type, &other_rtol, &other_atol);
    *rtol = fmax(*rtol, other_rtol);
    *atol = fmax(*atol, other_atol);
    bool is_said = f->wanted->rtol >= 0 || f->wanted->atol >= 0 || r->request->rtol >= 0 || r->request->atol >= 0;
    if (!is_said)
        return;
    *rtol = f->wanted->rtol >= 0 ? f->wanted->rtol : r->request->rtol >= 0 ? r->request->rtol : 0;
    *atol = f->wanted->atol >= 0 ? f->wanted->atol : r->request->atol >= 0 ? r->request->atol : 0;
}

// Between NaN or an infinity and another number there is no distance.
static const char *worst_not_finite(run_state *r, const run_reference *f, const ten_comparison *c, const uint8_t *written)
{
    int64_t i = c->worst.index;
    const ten_tensor *actual = &f->argument->tensor;
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    str_addf(&out, "the worst is at ");
    ten_index_print(actual, i, &out);
    str_adds(&out, ": ");
    if (written && !written[i])
        str_adds(&out, "not written");
    else
        ten_value_print(actual->type, ten_bits(actual, i), &out);
    str_adds(&out, " instead of ");
    ten_value_print(f->tensor.type, ten_bits(&f->tensor, i), &out);
    return str_text(&out);
}

static void report_difference(run_state *r, const run_reference *f, const ten_comparison *c, const uint8_t *written,
                              double rtol, double atol)
{
    arena *a = &r->unit.memory;
    str_buf table, worst;
    str_buf_init(&table, a);
    str_buf_init(&worst, a);
    ten_compare_table(c, &f->argument->tensor, written, &f->tensor, &table);
    cmd_print_error((str){table.at, table.len});
    ten_index_print(&f->argument->tensor, c->worst.index, &worst);
    diag *d = diag_report(&r->unit.diags, HDS0646, nowhere, f->argument->name, f->wanted->path, (long long)c->different,
                          (long long)c->compared);
    if (isnan(c->worst.error))
        diag_note(d, nowhere, "%s", worst_not_finite(r, f, c, written));
    else
        diag_note(d, nowhere, "%s", arena_printf(a, "the worst is %.3g away, at %s; the largest relative error is %.3g",
                                                 c->worst.error, str_text(&worst), c->worst_relative));
    diag_note(d, nowhere, "%s", arena_printf(a, "elements may differ by atol + rtol * |expected|, with rtol=%g and atol=%g",
                                             rtol, atol));
    if (c->unwritten)
        diag_note(d, nowhere, "%lld of them uninitialised", (long long)c->unwritten);
}

static void compare(run_state *r, const run_reference *f)
{
    double rtol, atol;
    ten_comparison c;
    const uint8_t *written = written_elements(r, f->argument);
    choose_tolerance(r, f, &rtol, &atol);
    ten_compare(&f->argument->tensor, written, &f->tensor, rtol, atol, &c);
    if (c.different)
        report_difference(r, f, &c, written, rtol, atol);
}

// ---- all together -------------------------------------------------------------------------------------------------

static bool is_expected(const run_state *r, const run_argument *a)
{
    for (size_t i = 0; i < r->request->expectations.len; i++) {
        if (strcmp(r->request->expectations.at[i].name, a->name) == 0)
            return true;
    }
    return false;
}

void cmd_run_show_results(run_state *r)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        cmd_run_fetch(r, a);
        if (a->prints || (a->is_tensor && a->is_written && !a->save && !is_expected(r, a)))
            print_tensor(r, a);
        if (a->save)
            save_tensor(r, a);
    }
    for (size_t i = 0; i < r->request->expectations.len; i++)
        compare(r, &r->references[i]);
}
