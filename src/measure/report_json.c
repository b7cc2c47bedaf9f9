// Everything, for programs and for --compare. docs/bench.md describes the form.
#include "diag/json_text.h"
#include "measure/measure_priv.h"

static void put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static json_t *known(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *machine(const ms_machine *m)
{
    json_t *o = json_object();
    put(o, "gpu", diag_json_text(m->gpu));
    put(o, "arch", diag_json_text(m->arch ? m->arch->name : NULL));
    put(o, "bus_id", diag_json_text(m->bus_id));
    put(o, "host", diag_json_text(m->host));
    put(o, "cuda", diag_json_text(m->driver));
    put(o, "sm_count", json_integer(m->sm_count));
    put(o, "memory_bytes", json_integer(m->memory_bytes));
    put(o, "l2_bytes", json_integer(m->l2_bytes));
    put(o, "clock_khz", json_integer(m->clock_khz));
    put(o, "memory_clock_khz", json_integer(m->memory_khz));
    put(o, "bus_bits", json_integer(m->bus_bits));
    put(o, "peak_bytes_per_second", known(ms_peak_bandwidth(m)));
    return o;
}

static json_t *kernel(const ms_record *r)
{
    const ms_subject *k = &r->subject;
    json_t *o = json_object();
    put(o, "source", diag_json_text(r->options->source));
    put(o, "title", diag_json_text(k->title));
    put(o, "symbol", diag_json_text(k->symbol));
    put(o, "arch", diag_json_text(k->arch));
    put(o, "peak_type", diag_json_text(k->peak_type == DT_NONE ? NULL : dt_name(k->peak_type)));
    put(o, "peak_flop_per_second", known(ms_peak_ops(&r->machine, k->peak_type)));
    return o;
}

static json_t *method(const ms_record *r)
{
    const ms_options *m = r->options;
    json_t *o = json_object();
    put(o, "name", diag_json_text(ms_method_name(m->method)));
    put(o, "graph", json_boolean(m->graph));
    put(o, "min_seconds", json_real(m->min_seconds));
    put(o, "warm_up_seconds", json_real(m->warm_up_seconds));
    put(o, "samples", json_integer(m->samples));
    put(o, "flops", diag_json_text(m->flops));
    put(o, "bytes", diag_json_text(m->bytes));
    put(o, "empty_kernel_seconds", r->empty_seconds >= 0 ? json_real(r->empty_seconds) : json_null());
    return o;
}

static json_t *summary(const ms_summary *s)
{
    if (!s->count)
        return json_null();
    json_t *o = json_object();
    put(o, "median", json_real(s->median));
    put(o, "q1", json_real(s->q1));
    put(o, "q3", json_real(s->q3));
    put(o, "min", json_real(s->min));
    put(o, "max", json_real(s->max));
    put(o, "count", json_integer((json_int_t)s->count));
    return o;
}

static json_t *state(const ms_state *s)
{
    if (!s->is_known)
        return json_null();
    char slow[160];
    json_t *o = json_object();
    put(o, "sm_mhz", json_integer(s->sm_mhz));
    put(o, "memory_mhz", json_integer(s->memory_mhz));
    put(o, "celsius", json_integer(s->celsius));
    put(o, "watts", json_real(s->milliwatts * 1e-3));
    put(o, "clocks_event_reasons", json_integer((json_int_t)s->reasons));
    put(o, "slowdown_reasons", diag_json_text(ms_nvml_slowdown(s->reasons, slow, sizeof slow)));
    return o;
}

static json_t *dims(const int64_t *d)
{
    return json_pack("[I,I,I]", (json_int_t)d[0], (json_int_t)d[1], (json_int_t)d[2]);
}

static json_t *sizes(const ms_row *row)
{
    json_t *o = json_object();
    for (int i = 0; i < row->size_count; i++)
        put(o, row->sizes[i].name, diag_json_text(row->sizes[i].value));
    return o;
}

static json_t *samples(const ms_row *row)
{
    json_t *list = json_array();
    for (size_t i = 0; i < row->time.count; i++)
        json_array_append_new(list, json_real(row->samples[i]));
    return list;
}

static json_t *launches(const ms_row *row)
{
    json_t *list = json_array();
    for (int i = 0; i < row->launch_count; i++) {
        const ms_launch *l = &row->launches[i];
        json_t *o = json_object();
        put(o, "kernel", diag_json_text(l->symbol));
        put(o, "registers", json_integer(l->registers));
        put(o, "local_bytes", json_integer(l->local_bytes));
        put(o, "static_shared_bytes", json_integer(l->static_smem_bytes));
        put(o, "grid", dims(l->grid));
        put(o, "block", dims(l->block));
        put(o, "cluster", l->cluster[0] ? dims(l->cluster) : json_null());
        put(o, "dynamic_shared_bytes", json_integer(l->dynamic_smem_bytes));
        put(o, "blocks_per_sm", l->blocks_per_sm ? json_integer(l->blocks_per_sm) : json_null());
        put(o, "waves", l->blocks_per_sm ? json_real(l->waves) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *one_row(const ms_row *row)
{
    double t = row->time.median;
    json_t *o = json_object();
    put(o, "sizes", sizes(row));
    put(o, "seconds", summary(&row->time));
    put(o, "copy_seconds", summary(&row->copy));
    put(o, "bytes", json_integer(row->bytes));
    put(o, "bytes_per_second", t > 0 ? json_real((double)row->bytes / t) : json_null());
    put(o, "flop", row->flops >= 0 ? json_real(row->flops) : json_null());
    put(o, "flop_per_second", row->flops >= 0 && t > 0 ? json_real(row->flops / t) : json_null());
    put(o, "of_copy", row->copy.count && t > 0 ? json_real(row->copy.median / t) : json_null());
    put(o, "launches", launches(row));
    put(o, "buffer_sets", json_integer(row->sets));
    put(o, "launches_per_sample", json_integer(row->batch));
    put(o, "host_bound", json_boolean(row->is_host_bound));
    put(o, "before", state(&row->before));
    put(o, "after", state(&row->after));
    put(o, "samples", samples(row));
    return o;
}

json_t *ms_report_document(const ms_record *r)
{
    json_t *document = json_object(), *command = json_array(), *rows = json_array();
    for (int i = 0; i < r->options->argc; i++)
        json_array_append_new(command, diag_json_text(r->options->argv[i]));
    for (size_t i = 0; i < r->rows.len; i++)
        json_array_append_new(rows, one_row(&r->rows.at[i]));
    put(document, "format", json_string("hdsc bench"));
    put(document, "version", json_integer(2));
    put(document, "compiler", json_string("hdsc " HDS_VERSION));
    put(document, "date", diag_json_text(r->date));
    put(document, "command", command);
    put(document, "machine", machine(&r->machine));
    put(document, "kernel", kernel(r));
    put(document, "method", method(r));
    put(document, "rows", rows);
    return document;
}

void ms_report_json(const ms_record *r, str_buf *out)
{
    diag_add_json(out, ms_report_document(r), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}
