// From the words of the command line to values of the entry's parameters.
//
// Sizes come first from words that name them (n=1000), then from the shapes of files and of specifications that have one;
// two that disagree are an error that names both. What is left without a shape gets it from the sizes.

#include "driver/run.h"

#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/strided_span.h"
#include "ir/fold.h"
#include "tensor/npy.h"

static const src_span nowhere = {0, 0};

static const char *title_of(const run_state *r)
{
    return r->entry->title ? r->entry->title : r->entry->name;
}

static bool usage(run_state *r)
{
    r->is_usage_error = true;
    return false;
}

// ---- words ------------------------------------------------------------------------------------------------------

static void add_shape(run_state *r, const ir_var *v, str_buf *out)
{
    (void)r;
    str_addc(out, '[');
    for (int d = 0; d < v->tensor->rank; d++) {
        str_adds(out, d ? ", " : "");
        ir_print_expr(v->tensor->shape[d], out);
    }
    str_addc(out, ']');
}

const char *cmd_run_parameter_type(run_state *r, const ir_var *v)
{
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    if (v->type->kind == IR_TENSOR) {
        ir_type_print(v->type->elem, &out);
        add_shape(r, v, &out);
    } else {
        ir_type_print(v->type, &out);
    }
    return str_text(&out);
}

static const char *parameter_list(run_state *r)
{
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    for (size_t i = 0; i < r->arguments.len; i++)
        str_addf(&out, "%s%s: %s", i ? ", " : "", r->arguments.at[i].name,
                 cmd_run_parameter_type(r, r->arguments.at[i].var));
    return out.len ? str_text(&out) : "none";
}

static run_argument *find_argument(run_state *r, const char *name)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        if (strcmp(r->arguments.at[i].name, name) == 0)
            return &r->arguments.at[i];
    }
    return NULL;
}

static bool unknown_parameter(run_state *r, const char *name)
{
    const char **names = ARENA_ARRAY(&r->unit.memory, const char *, r->arguments.len);
    for (size_t i = 0; i < r->arguments.len; i++)
        names[i] = r->arguments.at[i].name;
    const char *hint = diag_suggest(&r->unit.memory, name, names, r->arguments.len);
    diag *d = diag_report(&r->unit.diags, HDS0631, r->entry->span, title_of(r), name);
    diag_help(d, "%s%sits parameters are %s", hint ? hint : "", hint ? " " : "", parameter_list(r));
    return usage(r);
}

// [why]: what is wrong with the word, as the end of a sentence.
static bool wrong_word(run_state *r, const char *text, const char *why)
{
    diag_report(&r->unit.diags, HDS0630, nowhere, text, why);
    return usage(r);
}

// Names that become one identifier are told apart by what is put behind it: w.0 and w_0 are w_0 and w_0_.
static bool may_be(const char *name, const char *of)
{
    size_t len = strlen(of);
    return strncmp(name, of, len) == 0 && name[len] == '_' && !name[len + strspn(name + len, "_0123456789")];
}

bool cmd_run_is_ambiguous(run_state *r, const char *text, const char *name)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        const char *other = r->arguments.at[i].name;
        if (!may_be(other, name))
            continue;
        wrong_word(r, text, arena_printf(&r->unit.memory, "may be of '%s' or of '%s': say which", name, other));
        return true;
    }
    return false;
}

// Words that are nearly right.
static bool not_understood(run_state *r, const run_word *w, const char *why)
{
    static const char *const known[] = {"randn", "uniform", "randint", "zeros", "ones", "full", "arange", "empty", "out"};
    arena *a = &r->unit.memory;
    diag *d = diag_report(&r->unit.diags, HDS0630, nowhere, w->text, arena_printf(a, "is not understood: %s", why));
    const char *first = arena_strndup(a, w->value, strspn(w->value, "abcdefghijklmnopqrstuvwxyz"));
    const char *hint = diag_suggest(a, first, known, sizeof known / sizeof *known);
    if (str_ends(str_of(w->value), STR(".npy")))
        diag_help(d, "did you mean '%s=@%s'?", w->name, w->value);
    else if (hint)
        diag_help(d, "%s", hint);
    return usage(r);
}

// Asked before the run, which may be long.
static bool can_be_saved(run_state *r, const run_word *w, const char *path)
{
    bool is_terminal = strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
    const char *why = is_terminal ? "standard output is a terminal" : cmd_cannot_write(&r->unit.memory, path);
    if (!why)
        return true;
    diag *d = diag_report(&r->unit.diags, HDS0645, nowhere, path, why);
    if (is_terminal)
        diag_help(d, "'%s=out' prints the tensor", w->name);
    return usage(r);
}

// "out", "out:PATH"
static bool take_output(run_state *r, const run_word *w, run_argument *a)
{
    if (a->prints || a->save)
        return wrong_word(r, w->text, arena_printf(&r->unit.memory, "gives the output of '%s' a second time", w->name));
    if (!a->is_tensor)
        return wrong_word(r, w->text, arena_printf(&r->unit.memory, "cannot be: '%s' is not a tensor", w->name));
    a->prints = !w->value[3];
    a->save = w->value[3] ? w->value + 4 : NULL;
    if (a->save && !*a->save)
        return not_understood(r, w, "a file's name follows 'out:'");
    return !a->save || can_be_saved(r, w, a->save);
}

static bool take_word(run_state *r, const run_word *w)
{
    run_argument *a = find_argument(r, w->name);
    if (!a)
        return unknown_parameter(r, w->name);
    if (w->is_made && cmd_run_is_ambiguous(r, w->text, w->name))
        return false;
    if (strcmp(w->value, "out") == 0 || strncmp(w->value, "out:", 4) == 0)
        return take_output(r, w, a);
    if (a->spec)
        return wrong_word(r, w->text, arena_printf(&r->unit.memory, "is a second value for '%s'", w->name));
    ten_spec *spec = ARENA_NEW(&r->unit.memory, ten_spec);
    const char *why = ten_spec_parse(&r->unit.memory, w->value, spec);
    a->spec = spec;
    a->npy = w->file;
    return !why || not_understood(r, w, why);
}

// ---- types ------------------------------------------------------------------------------------------------------

static bool cannot_be_given(run_state *r, const run_argument *a)
{
    diag *d = diag_report(&r->unit.diags, HDS0644, a->var->span, a->name, title_of(r), cmd_run_parameter_type(r, a->var));
    diag_help(d, "write a function without such parameters that launches it, and run that");
    return usage(r);
}

// The element type of a tensor or pointer. Vectors are one more dimension.
static bool set_type(run_state *r, run_argument *a)
{
    const ir_type *t = a->var->type;
    if (t->kind == IR_SCALAR) {
        a->tensor.type = t->scalar;
        return true;
    }
    bool is_good = (t->kind == IR_TENSOR || t->kind == IR_POINTER) &&
                   (t->elem->kind == IR_SCALAR || t->elem->kind == IR_VECTOR);
    if (!is_good)
        return cannot_be_given(r, a);
    a->is_tensor = true;
    a->tensor.type = t->elem->scalar;
    return true;
}

static bool set_up(run_state *r)
{
    for (size_t i = 0; i < r->entry->params.len; i++) {
        const ir_var *v = r->entry->params.at[i];
        run_argument a = {.var = v, .name = v->name ? v->name : arena_printf(&r->unit.memory, "p%d", (int)i)};
        a.bound = cmd_run_bound(r, a.name);
        if (!set_type(r, &a))
            return false;
        if (a.is_tensor)
            cmd_run_uses(r->unit.module, r->entry, v, &a.is_read, &a.is_written);
        VEC_PUSH(&r->unit.memory, &r->arguments, a);
    }
    return true;
}

// ---- scalars and sizes ------------------------------------------------------------------------------------------

static bool bad_value(run_state *r, const run_argument *a, const char *value, const char *why)
{
    diag_report(&r->unit.diags, HDS0642, a->var->span, a->name, value, why);
    return usage(r);
}

// What the author promised of a size: bounds and a divisor.
static bool check_facts(run_state *r, const run_argument *a, int64_t value)
{
    const ir_var *v = a->var;
    arena *memory = &r->unit.memory;
    const char *text = arena_printf(memory, "%lld", (long long)value);
    if (v->has_range && (value < v->min || value > v->max))
        return bad_value(r, a, text, arena_printf(memory, "it is from %lld to %lld", (long long)v->min, (long long)v->max));
    if (v->divisor > 1 && value % v->divisor)
        return bad_value(r, a, text, arena_printf(memory, "it is a multiple of %lld", (long long)v->divisor));
    return true;
}

static bool take_scalar(run_state *r, run_argument *a)
{
    dtype type = a->tensor.type;
    if (!a->spec && a->var->default_text && !ten_number_parse(&r->unit.memory, a->var->default_text, type, &a->value))
        a->is_known = true;
    if (!a->spec)
        return true;
    if (a->spec->source != TEN_NUMBER)
        return bad_value(r, a, a->spec->text, arena_printf(&r->unit.memory, "it is a number of type %s", dt_name(type)));
    const char *why = ten_number_parse(&r->unit.memory, a->spec->text, type, &a->value);
    if (why)
        return bad_value(r, a, a->spec->text, why);
    a->is_known = true;
    a->known_by = arena_printf(&r->unit.memory, "%s=%s", a->name, a->spec->text);
    return !dt_is_int(type) || check_facts(r, a, dt_wrap_int(type, (int64_t)a->value));
}

static bool set_size(run_state *r, run_argument *size, int64_t value, const char *by)
{
    if (size->is_known) {
        int64_t known = dt_wrap_int(size->tensor.type, (int64_t)size->value);
        if (known == value)
            return true;
        diag_report(&r->unit.diags, HDS0640, size->var->span, size->name, (long long)known, size->known_by, (long long)value,
                    by);
        return usage(r);
    }
    if (!dt_holds_int(size->tensor.type, value))
        return bad_value(r, size, arena_printf(&r->unit.memory, "%lld", (long long)value),
                         arena_printf(&r->unit.memory, "it does not fit into %s", dt_name(size->tensor.type)));
    size->is_known = true;
    size->value = (uint64_t)value;
    size->known_by = by;
    return check_facts(r, size, value);
}

// ---- shapes -----------------------------------------------------------------------------------------------------

static ir_expr *put_in_value(void *user, ir_expr *e)
{
    run_state *r = user;
    if (e->op != IR_OP_VAR)
        return ir_fold(r->unit.module, e);
    for (size_t i = 0; i < r->arguments.len; i++) {
        const run_argument *a = &r->arguments.at[i];
        if (a->var == e->u.var && a->is_known && dt_is_int(a->tensor.type))
            return ir_int(r->unit.module, a->tensor.type, dt_wrap_int(a->tensor.type, (int64_t)a->value));
    }
    return e;
}

static bool evaluate(run_state *r, ir_expr *e, int64_t *out)
{
    return ir_const_int(e, out) || ir_const_int(ir_rewrite_expr(r->unit.module, e, put_in_value, r), out);
}

static run_argument *size_of(run_state *r, const ir_expr *e)
{
    while (e->op == IR_OP_CAST)
        e = e->args[0];
    for (size_t i = 0; e->op == IR_OP_VAR && i < r->arguments.len; i++) {
        if (r->arguments.at[i].var == e->u.var)
            return &r->arguments.at[i];
    }
    return NULL;
}

static int lanes_of(const run_argument *a)
{
    return a->var->type->elem->kind == IR_VECTOR ? a->var->type->elem->lanes : 0;
}

static bool does_not_fit(run_state *r, const run_argument *a)
{
    str_buf found;
    str_buf_init(&found, &r->unit.memory);
    ten_type_print(a->tensor.type, a->tensor.rank, a->tensor.shape, &found);
    str_addf(&found, "%s%s%s", a->file ? " of '" : "", a->file ? a->spec->path : "", a->file ? "'" : "");
    const char *type = cmd_run_parameter_type(r, a->var);
    diag *d = diag_report(&r->unit.diags, HDS0639, a->var->span, str_text(&found), a->name, type);
    int64_t known;
    str_buf sizes;
    str_buf_init(&sizes, &r->unit.memory);
    for (int i = 0; i < a->var->tensor->rank; i++) {
        run_argument *size = size_of(r, a->var->tensor->shape[i]);
        if (size && size->is_known && evaluate(r, a->var->tensor->shape[i], &known))
            str_addf(&sizes, "%s'%s' is %lld by '%s'", sizes.len ? ", " : "", size->name, (long long)known, size->known_by);
    }
    int wanted = a->var->tensor->rank + (lanes_of(a) > 0);
    if (a->tensor.rank != wanted)
        diag_help(d, "'%s' has %d dimension%s, and this has %d", a->name, wanted, wanted == 1 ? "" : "s", a->tensor.rank);
    if (sizes.len)
        diag_help(d, "%s", str_text(&sizes));
    return usage(r);
}

// What is known of a tensor's shape before all sizes are: the shape that the words gave it.
static bool take_own_shape(run_state *r, run_argument *a)
{
    const ten_spec *s = a->spec;
    if (!s || (s->source != TEN_FILE && !s->has_shape))
        return true;
    if (s->source == TEN_FILE) {
        ten_tensor *file = ARENA_NEW(&r->unit.memory, ten_tensor);
        const char *what = arena_printf(&r->unit.memory, "'%s' of '%s'", a->name, title_of(r));
        const ten_npy *npy = a->npy ? a->npy : ten_npy_open(&r->unit.memory, s->path);
        if (!ten_npy_take(&r->unit.memory, &r->unit.diags, npy, a->tensor.type, a->tensor.type, what, file))
            return usage(r);
        a->file = file;
    }
    a->tensor.rank = a->file ? a->file->rank : s->rank;
    memcpy(a->tensor.shape, a->file ? a->file->shape : s->shape, sizeof a->tensor.shape);
    a->has_shape = true;
    return true;
}

static bool check_type(run_state *r, const run_argument *a)
{
    if (!a->spec || a->spec->type == DT_NONE || a->spec->type == a->tensor.type)
        return true;
    diag *d = diag_report(&r->unit.diags, HDS0638, a->var->span, a->spec->text, dt_name(a->spec->type),
                          arena_printf(&r->unit.memory, "'%s' of '%s'", a->name, title_of(r)), dt_name(a->tensor.type));
    diag_help(d, "leave the type out, or say %s", dt_name(a->tensor.type));
    return usage(r);
}

// Dimensions that are a size alone say how large it is.
static bool learn_sizes(run_state *r, run_argument *a)
{
    const ir_tensor *t = a->var->tensor;
    if (!a->has_shape || !t)
        return true;
    if (a->tensor.rank != t->rank + (lanes_of(a) > 0))
        return does_not_fit(r, a);
    for (int d = 0; d < t->rank; d++) {
        int64_t fixed;
        run_argument *size = size_of(r, t->shape[d]);
        if (size && size->var->is_size && !set_size(r, size, a->tensor.shape[d], a->name))
            return false;
        if (ir_const_int(t->shape[d], &fixed) && fixed != a->tensor.shape[d])
            return does_not_fit(r, a);
    }
    return true;
}

// Without a given stride, rows have no gaps.
static bool learn_strides(run_state *r, run_argument *a)
{
    const ir_tensor *t = a->var->tensor;
    int64_t shape[TEN_MAX_RANK], strides[TEN_MAX_RANK];
    if (!t || !t->is_strided)
        return true;
    for (int d = 0; d < t->rank; d++) {
        if (!evaluate(r, t->shape[d], &shape[d]))
            return true;
        if (!evaluate(r, t->strides[d], &strides[d]))
            strides[d] = -1;
    }
    if (!strided_span_complete(t->rank, shape, strides))
        return true;
    for (int d = t->rank - 1; d >= 0; d--) {
        run_argument *size = size_of(r, t->strides[d]);
        bool is_open = size && size->var->is_size && !size->is_known;
        if (is_open && !set_size(r, size, strides[d], a->name))
            return false;
    }
    return true;
}

static bool size_is_unknown(run_state *r, const run_argument *size)
{
    diag *d = diag_report(&r->unit.diags, HDS0641, size->var->span, size->name, title_of(r));
    for (size_t i = 0; i < r->arguments.len; i++) {
        const run_argument *a = &r->arguments.at[i];
        if (a->is_tensor && a->var->tensor && !a->file) {
            diag_help(d, "give it, as in %s=1000, or give a tensor with its sizes, as in %s=randn:%s[…]", size->name,
                      a->name, dt_name(a->tensor.type));
            return usage(r);
        }
    }
    diag_help(d, "say it, as in %s=1000", size->name);
    return usage(r);
}

static bool finish_strides(run_state *r, run_argument *a)
{
    const ir_tensor *t = a->var->tensor;
    int64_t *strides = ARENA_ARRAY(&r->unit.memory, int64_t, t->rank + 1);
    for (int d = 0; d < t->rank; d++) {
        run_argument *size = size_of(r, t->strides[d]);
        if (!evaluate(r, t->strides[d], &strides[d]))
            return size ? size_is_unknown(r, size) : cannot_be_given(r, a);
    }
    a->strides = strides;
    return true;
}

static bool missing(run_state *r, const run_argument *a)
{
    diag *d = diag_report(&r->unit.diags, HDS0633, a->var->span, a->name, title_of(r), cmd_run_parameter_type(r, a->var));
    if (!a->is_tensor)
        diag_help(d, "add %s=%s", a->name, dt_is_float(a->tensor.type) ? "0.5" : "1");
    else
        diag_help(d, "add %s=%s, %s=zeros, %s=@file.npy or the like", a->name,
                  dt_is_float(a->tensor.type) ? "randn" : "randint(0, 100)", a->name, a->name);
    return usage(r);
}

// The shape that the sizes give, which the words' own must be.
static bool finish_shape(run_state *r, run_argument *a)
{
    const ir_tensor *t = a->var->tensor;
    if (!t) {
        if (a->has_shape)
            return true;
        diag *d = diag_report(&r->unit.diags, HDS0641, a->var->span, a->name, title_of(r));
        diag_help(d, "it is a pointer: give the tensor behind it, as in %s=zeros:[1000]", a->name);
        return usage(r);
    }
    int64_t shape[TEN_MAX_RANK];
    for (int d = 0; d < t->rank && d < TEN_MAX_RANK; d++) {
        run_argument *size = size_of(r, t->shape[d]);
        if (!evaluate(r, t->shape[d], &shape[d]))
            return size ? size_is_unknown(r, size) : cannot_be_given(r, a);
        if (a->has_shape && shape[d] != a->tensor.shape[d])
            return does_not_fit(r, a);
    }
    if (t->rank + (lanes_of(a) > 0) > TEN_MAX_RANK)
        return cannot_be_given(r, a);
    a->tensor.rank = t->rank;
    if (lanes_of(a))
        shape[a->tensor.rank++] = lanes_of(a);
    memcpy(a->tensor.shape, shape, sizeof shape);
    a->has_shape = true;
    return !t->is_strided || finish_strides(r, a);
}

// ---- all together -----------------------------------------------------------------------------------------------

typedef bool each_argument(run_state *r, run_argument *a);

static bool each_tensor(run_state *r, bool is_tensor, each_argument *each)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        if (r->arguments.at[i].is_tensor == is_tensor && !each(r, &r->arguments.at[i]))
            return false;
    }
    return true;
}

static bool take_tensor(run_state *r, run_argument *a)
{
    if (a->spec && a->spec->source == TEN_NUMBER) {
        const char *text = a->spec->text;
        return bad_value(r, a, text, arena_printf(&r->unit.memory, "it is a tensor: full(%s) fills one", text));
    }
    return check_type(r, a) && take_own_shape(r, a);
}

// What is only read must be given; what is also written may be empty, which the simulator then watches.
static bool is_there(run_state *r, run_argument *a)
{
    if (a->is_tensor)
        return a->spec || a->bound || a->is_written || !a->is_read || missing(r, a);
    return a->is_known || (a->var->is_size ? size_is_unknown(r, a) : missing(r, a));
}

bool cmd_run_bind(run_state *r)
{
    if (!set_up(r))
        return false;
    for (size_t i = 0; i < r->request->words.len; i++) {
        if (!take_word(r, &r->request->words.at[i]))
            return false;
    }
    bool ok = each_tensor(r, false, take_scalar) && each_tensor(r, true, take_tensor) && cmd_run_collapse(r) &&
              each_tensor(r, true, learn_sizes) && each_tensor(r, true, is_there) &&
              each_tensor(r, true, learn_strides) && each_tensor(r, false, is_there) &&
              each_tensor(r, true, finish_shape);
    if (ok)
        cmd_run_expand(r);
    return ok;
}

// ---- memory -----------------------------------------------------------------------------------------------------

bool cmd_run_no_room(run_state *r, const run_argument *a)
{
    arena *memory = &r->unit.memory;
    int64_t used = 0, shadow = 0, limit = sim_options_of(r->device)->memory_limit;
    sim_memory_use(r->device, &used, &shadow);
    const char *bytes = a->tensor.bytes ? arena_printf(memory, "%lld", (long long)a->tensor.bytes) : "more than 2^62";
    diag_report(&r->unit.diags, HDS0621, a->var->span, a->name, bytes, arena_printf(memory, "%lld", (long long)(limit - used)),
                arena_printf(memory, "%lld", (long long)limit));
    return false;
}

int64_t cmd_run_span(const run_argument *a)
{
    const ten_tensor *t = &a->tensor;
    strided_span whole = {.bits = dt_bits(t->type), .rank = t->rank, .shape = t->shape, .strides = a->strides};
    if (!a->strides)
        return t->bytes;
    return strided_span_measure(&whole) && whole.bytes <= INT64_MAX / 2 ? whole.bytes : 0;
}

void cmd_run_scatter(const ten_tensor *t, const int64_t *strides, uint8_t *base)
{
    int64_t bytes = dt_bits(t->type) / 8;
    for (int64_t i = 0; i < t->count; i++)
        memcpy(base + strided_span_offset(t->rank, t->shape, strides, i) * bytes, t->data + i * bytes, (size_t)bytes);
}

void cmd_run_fetch(run_state *r, run_argument *a)
{
    ten_tensor *t = &a->tensor;
    int64_t bytes = dt_bits(t->type) / 8, room = 0;
    const uint8_t *base = a->strides ? sim_bytes(r->device, a->value, &room) : NULL;
    for (int64_t i = 0; base && i < t->count; i++)
        memcpy(t->data + i * bytes, base + strided_span_offset(t->rank, t->shape, a->strides, i) * bytes, (size_t)bytes);
}

// Elements written one by one: gaps between them belong to no tensor.
static void store_strided(run_state *r, const run_argument *a)
{
    const ten_tensor *t = &a->tensor;
    int64_t bytes = dt_bits(t->type) / 8, room = 0;
    cmd_run_scatter(t, a->strides, sim_bytes(r->device, a->value, &room));
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t offset = (uint64_t)(strided_span_offset(t->rank, t->shape, a->strides, i) * bytes);
        sim_mark_written(r->device, a->value + offset, bytes);
    }
}

bool cmd_run_cannot_fill(run_state *r, const run_argument *a, const char *why)
{
    return wrong_word(r, arena_printf(&r->unit.memory, "%s=%s", a->name, a->spec->text),
                      arena_printf(&r->unit.memory, "cannot be: %s", why));
}

static void fill_with_given(run_state *r, const run_argument *a)
{
    ten_tensor t = a->tensor;
    for (int64_t i = 0; i < t.count; i++) {
        if (t.type == a->given->type)
            ten_set_bits(&t, i, ten_bits(a->given, i));
        else
            ten_set_number(&t, i, ten_number(a->given, i));
    }
    if (a->strides)
        store_strided(r, a);
    else
        sim_mark_written(r->device, a->value, t.bytes);
}

static bool fill_tensor(run_state *r, run_argument *a)
{
    ten_tensor *t = &a->tensor;
    int64_t room = 0;
    size_t position = (size_t)(a - r->arguments.at);
    int elem_bytes = dt_bits(t->type) < 8 ? 1 : dt_bits(t->type) / 8;
    bool has_size = ten_measure(t);
    int64_t span = has_size ? cmd_run_span(a) : 0;
    if (!has_size || (t->bytes && !span) || !(a->value = sim_allocate(r->device, span ? span : 1, elem_bytes, a->name)))
        return cmd_run_no_room(r, a);
    t->data = a->strides ? arena_alloc(&r->unit.memory, (size_t)t->bytes + 1) : sim_bytes(r->device, a->value, &room);
    if (a->given) {
        fill_with_given(r, a);
        return true;
    }
    if (!a->spec && a->bound && a->bound->weight) {
        bool ok = cmd_run_fill_weight(r, a->bound, t);
        sim_mark_written(r->device, a->value, ok ? t->bytes : 0);
        return ok;
    }
    if (!a->spec || a->spec->source == TEN_EMPTY)
        return true;
    if (a->file)
        memcpy(t->data, a->file->data, (size_t)t->bytes);
    const char *why = a->file ? NULL : ten_fill(&r->unit.memory, a->spec, r->request->seed + position, t);
    if (why)
        return cmd_run_cannot_fill(r, a, why);
    if (a->strides)
        store_strided(r, a);
    else
        sim_mark_written(r->device, a->value, t->bytes);
    return true;
}

bool cmd_run_fill(run_state *r)
{
    return each_tensor(r, true, fill_tensor);
}
