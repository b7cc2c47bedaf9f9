// From the words of `hdsc bench` to rows: sizes that vary, and what is in the tensors.
#include <string.h>

#include "driver/bench.h"
#include "target/peak.h"

static const src_span nowhere = {0, 0};

// Random numbers of large tensors repeat after so many: enough that nothing notices, and quick to make.
enum { TILE_ELEMENTS = 1 << 22, MOST_ROWS = 1000 };

// ---- rows -------------------------------------------------------------------------------------------------------

static bool is_tensor(const ir_var *v)
{
    return v->type->kind == IR_TENSOR || v->type->kind == IR_POINTER;
}

// The commas of tensors' specifications are their own.
static void split(bench_state *b, const run_word *w, bench_axis *axis)
{
    arena *a = &b->run.unit.memory;
    const ir_var *v = cmd_run_parameter(b->run.entry, w->name);
    for (const char *at = w->value;;) {
        size_t len = v && !is_tensor(v) ? strcspn(at, ",") : strlen(at);
        VEC_PUSH(a, &axis->values, arena_strndup(a, at, len));
        if (!at[len])
            return;
        at += len + 1;
    }
}

static bool too_many_rows(bench_state *b)
{
    diag_report(&b->run.unit.diags, HDS0630, nowhere, "bench",
                arena_printf(&b->run.unit.memory, "would measure more than %d rows", MOST_ROWS));
    b->run.is_usage_error = true;
    return false;
}

bool cmd_bench_plan(bench_state *b, bench_plan *plan)
{
    arena *a = &b->run.unit.memory;
    *plan = (bench_plan){.row_count = 1};
    for (size_t i = 0; i < b->request->run.words.len; i++) {
        bench_axis axis = {.word = &b->request->run.words.at[i]};
        split(b, axis.word, &axis);
        plan->row_count *= (int)axis.values.len;
        if (plan->row_count > MOST_ROWS || axis.values.len > MOST_ROWS)
            return too_many_rows(b);
        VEC_PUSH(a, &plan->axes, axis);
    }
    return true;
}

// ---- words of a row ---------------------------------------------------------------------------------------------

static bool has_word(const run_request *q, const char *name)
{
    for (size_t i = 0; i < q->words.len; i++) {
        if (strcmp(q->words.at[i].name, name) == 0)
            return true;
    }
    return false;
}

static void add_word(bench_state *b, run_request *q, const char *name, const char *value)
{
    arena *a = &b->run.unit.memory;
    run_word w = {.text = arena_printf(a, "%s=%s", name, value), .name = name, .value = value};
    VEC_PUSH(a, &q->words, w);
}

static const char *usual_contents(bench_state *b, const ir_var *v)
{
    const char *own = cmd_bench_contents(b, v->name);
    return own ? own : ten_usual_contents(v->type->elem->scalar);
}

static void add_usual_words(bench_state *b, run_request *q)
{
    const ir_func *f = b->run.entry;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        bool is_plain = is_tensor(v) && v->name && (v->type->elem->kind == IR_SCALAR || v->type->elem->kind == IR_VECTOR);
        bool is_bound = v->name && cmd_run_bound(&b->run, v->name);
        if (is_plain && !is_bound && !has_word(q, v->name))
            add_word(b, q, v->name, usual_contents(b, v));
    }
}

void cmd_bench_words(bench_state *b, const bench_plan *plan, int row, run_request *q)
{
    memset(&q->words, 0, sizeof q->words);
    for (size_t i = 0; i < plan->axes.len; i++) {
        int inner = 1;
        for (size_t k = i + 1; k < plan->axes.len; k++)
            inner *= (int)plan->axes.at[k].values.len;
        const bench_axis *axis = &plan->axes.at[i];
        add_word(b, q, axis->word->name, axis->values.at[(size_t)(row / inner) % axis->values.len]);
    }
    add_usual_words(b, q);
}

// ---- contents ---------------------------------------------------------------------------------------------------

static bool is_repeated(const run_argument *a)
{
    return a->spec->source != TEN_FILE && a->spec->source != TEN_ARANGE;
}

static bool cannot_be(bench_state *b, const run_argument *a, const char *why)
{
    arena *memory = &b->run.unit.memory;
    diag_report(&b->run.unit.diags, HDS0630, nowhere, arena_printf(memory, "%s=%s", a->name, a->spec->text),
                arena_printf(memory, "cannot be: %s", why));
    b->run.is_usage_error = true;
    return false;
}

static bool fill(bench_state *b, const run_argument *a, int position, ms_argument *out)
{
    arena *memory = &b->run.unit.memory;
    ten_tensor tile = a->tensor;
    if (is_repeated(a)) {
        tile.rank = 1;
        tile.shape[0] = a->tensor.count < TILE_ELEMENTS ? a->tensor.count : TILE_ELEMENTS;
    }
    if (!ten_allocate(memory, &tile, 0))
        return cannot_be(b, a, "there is not enough memory for it");
    if (a->file)
        memcpy(tile.data, a->file->data, (size_t)tile.bytes);
    const char *why = ten_fill(memory, a->spec, b->request->run.seed + (uint64_t)position, &tile);
    if (why)
        return cannot_be(b, a, why);
    out->data = tile.data;
    out->data_bytes = tile.bytes;
    if (!a->strides || is_repeated(a))
        return true;
    uint8_t *spread_out = arena_alloc(memory, (size_t)out->bytes);
    cmd_run_scatter(&tile, a->strides, spread_out);
    out->data = spread_out;
    out->data_bytes = out->bytes;
    return true;
}

static bool too_large(bench_state *b, const run_argument *a)
{
    diag *d = diag_report(&b->run.unit.diags, HDS0750, a->var->span, a->name, "more than 2^62 bytes", "fewer");
    diag_help(d, "give smaller sizes");
    return false;
}

// A weight has its numbers; what a model prepares from weights has any that a weight may have.
static bool fill_bound(bench_state *b, const run_argument *a, int position, ms_argument *out)
{
    arena *memory = &b->run.unit.memory;
    ten_spec spec;
    ten_tensor t = a->tensor;
    if (!a->bound->weight) {
        run_argument any = *a;
        const char *why = ten_spec_parse(memory, ten_weight_contents(memory, &t), &spec);
        any.spec = &spec;
        return why ? cannot_be(b, a, why) : fill(b, &any, position, out);
    }
    if (!ten_allocate(memory, &t, 0))
        return cannot_be(b, a, "there is not enough memory for it");
    if (!cmd_run_fill_weight(&b->run, a->bound, &t))
        return false;
    out->data = t.data;
    out->data_bytes = t.bytes;
    return true;
}

static bool add_argument(bench_state *b, run_argument *a, int position, ms_argument *out)
{
    *out = (ms_argument){.name = a->name, .type = a->tensor.type, .is_tensor = a->is_tensor, .is_size = a->var->is_size};
    out->value = a->value;
    if (!a->is_tensor)
        return true;
    if (!ten_measure(&a->tensor) || (a->tensor.bytes && !cmd_run_span(a)))
        return too_large(b, a);
    out->bytes = cmd_run_span(a);
    // Where nothing can be seen of the uses, it is taken to be read.
    out->is_written = a->is_written;
    out->is_read = a->is_read || !a->is_written;
    if (a->bound && out->bytes)
        return fill_bound(b, a, position, out);
    return !out->bytes || !out->is_read || !a->spec || a->spec->source == TEN_EMPTY || fill(b, a, position, out);
}

static void list_sizes(bench_state *b, ms_size **sizes, int *count)
{
    arena *memory = &b->run.unit.memory;
    size_t len = b->run.arguments.len;
    *sizes = ARENA_ARRAY(memory, ms_size, len + 1);
    *count = 0;
    for (size_t i = 0; i < len; i++) {
        const run_argument *a = &b->run.arguments.at[i];
        str_buf text;
        str_buf_init(&text, memory);
        if (a->is_tensor)
            continue;
        ten_value_print(a->tensor.type, a->value, &text);
        (*sizes)[(*count)++] = (ms_size){a->name, str_text(&text)};
    }
}

bool cmd_bench_bind(bench_state *b, const bench_plan *plan, int row)
{
    run_state *r = &b->run;
    run_request own = b->request->run;
    cmd_bench_words(b, plan, row, &own);
    r->request = &own;
    memset(&r->arguments, 0, sizeof r->arguments);
    bool ok = cmd_run_bind(r);
    r->request = &b->request->run;
    return ok;
}

bool cmd_bench_row(bench_state *b, const bench_plan *plan, int row, ms_size **sizes, int *size_count, ms_argument **arguments)
{
    run_state *r = &b->run;
    bool ok = cmd_bench_bind(b, plan, row);
    *arguments = ARENA_ARRAY(&r->unit.memory, ms_argument, r->arguments.len + 1);
    for (size_t i = 0; ok && i < r->arguments.len; i++)
        ok = add_argument(b, &r->arguments.at[i], (int)i, &(*arguments)[i]);
    if (ok)
        list_sizes(b, sizes, size_count);
    return ok;
}

dtype cmd_bench_peak_type(bench_state *b)
{
    dtype found = DT_NONE;
    const ir_func *f = b->run.entry;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        bool reads, writes;
        if (!is_tensor(v) || (v->type->elem->kind != IR_SCALAR && v->type->elem->kind != IR_VECTOR))
            continue;
        dtype t = v->type->elem->scalar;
        cmd_run_uses(b->run.unit.module, f, v, &reads, &writes);
        bool counts = reads && arch_peak_ops(b->run.unit.arch, t) > 0;
        if (counts && (found == DT_NONE || dt_bits(t) < dt_bits(found)))
            found = t;
    }
    return found;
}
