// Weights: what `weights("file")` is made of. The records are those of stdlib/language/weights.hds; here are the files behind them.
//
// Tensors of a file are looked up while a model is recorded. What is missing or has another type than the model says is reported
// where it is asked for, and the recording goes on with what is known, so that one run shows all of it.
#include "typecheck/eval/eval.h"

#include <inttypes.h>
#include <string.h>

struct tc_weights {
    const char *name; // as graphs name it
    src_span span;    // of the first weights(…)
    tc_weight_file file;
    map by_name;      // name -> index in the file + 1
    bool *used;
    map missing;      // names that were reported
};

static tc_weights *known_file(const tc *tx, const char *path)
{
    for (size_t i = 0; i < tx->weights.len; i++)
        if (strcmp(tx->weights.at[i]->file.path, path) == 0)
            return tx->weights.at[i];
    return NULL;
}

// Two files that are called the same, in two folders, are told apart by their paths.
static bool is_named(const tc *tx, const char *name)
{
    for (size_t i = 0; i < tx->weights.len; i++)
        if (strcmp(tx->weights.at[i]->name, name) == 0)
            return true;
    return false;
}

static tc_weights *add_file(tc *tx, const char *name, const tc_weight_file *file, src_span span)
{
    tc_weights *w = ARENA_NEW(tx->lasting, tc_weights);
    *w = (tc_weights){.name = is_named(tx, name) ? file->path : name, .span = span, .file = *file};
    map_init(&w->by_name, tx->lasting);
    map_init(&w->missing, tx->lasting);
    for (size_t i = 0; i < file->len; i++)
        map_put(&w->by_name, file->at[i].name, strlen(file->at[i].name), (void *)(uintptr_t)(i + 1));
    w->used = ARENA_ARRAY(tx->lasting, bool, file->len + 1);
    VEC_PUSH(tx->lasting, &tx->weights, w);
    return w;
}

static tc_weights *open_file(tc *tx, const char *name, src_span span)
{
    const char *why = "there is no way to read files here", *looked = NULL;
    tc_weight_file file = {0};
    src_file *importer = src_file_at(tx->diags->sources, span.begin);
    const tc_options *o = tx->options;
    tc_lifetime around;
    tc_lasting_begin(tx, &around);
    bool ok = o->find_weights && o->find_weights(o->find_user, *name ? name : NULL, importer, &file, &why, &looked);
    tc_lasting_end(tx, &around);
    if (!ok) {
        diag *d = tc_error(tx, HDS0840, span, file.path ? file.path : name, why);
        if (looked)
            diag_help(d, "looked in %s; --weights=FILE names another file", looked);
        return NULL;
    }
    tc_weights *w = known_file(tx, file.path);
    return w ? w : add_file(tx, name, &file, span);
}

static size_t place_of(const tc *tx, const tc_weights *w)
{
    size_t i = 0;
    while (tx->weights.at[i] != w)
        i++;
    return i;
}

// weights("file.safetensors"), weights(): the record Weights of the library.
tc_value tc_native_weights(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value name = args->list.len ? args->list.at[0].value : tc_str(STR(""));
    (void)self;
    if (name.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "the file of weights", "str", tc_describe(tx, name));
    const tc_weights *w = open_file(tx, arena_strndup(tx->lasting, name.s.at, name.s.len), args->span);
    if (!w)
        return tc_poison();
    tc_value class = tc_library(tx, "hidet.lang.weights", "Weights", args->span);
    tc_value fields[3] = {tc_of_int((tc_int)place_of(tx, w)), tc_str(str_of(w->name)), tc_str(STR(""))};
    return tc_is_poison(class) ? class : tc_call_values(tx, class, fields, 3, args->span);
}

// ---- what the records ask --------------------------------------------------------------------------------------------------

static tc_weights *file_of(const tc *tx, const tc_args *args)
{
    int64_t n;
    bool ok = tc_as_int64(args->list.at[0].value, &n) && n >= 0 && (size_t)n < tx->weights.len;
    return ok ? tx->weights.at[n] : NULL;
}

static const char *text_of(tc *tx, const tc_args *args, size_t i)
{
    tc_value v = args->list.at[i].value;
    return v.kind == TC_STR ? arena_strndup(tx->arena, v.s.at, v.s.len) : NULL;
}

static const char *type_text(tc *tx, dtype type, int rank, const int64_t *shape)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    str_addf(&out, "%s[", dt_name(type));
    for (int d = 0; d < rank; d++)
        str_addf(&out, "%s%" PRId64, d ? ", " : "", shape[d]);
    str_adds(&out, rank ? "]" : "()]");
    return str_text(&out);
}

// What the model says of a weight: f16[64, 3, 7, 7].
typedef struct said_type {
    dtype type; // DT_NONE: nothing is said
    int rank;
    int64_t shape[TM_MAX_RANK];
} said_type;

static bool read_said(tc *tx, const tc_arg *arg, said_type *out)
{
    tc_value v = arg->value;
    *out = (said_type){.type = DT_NONE};
    if (v.kind == TC_NONE)
        return true;
    const tc_tensor_type *t = v.kind == TC_TENSOR_TYPE ? v.tensor_type : NULL;
    bool ok = t && t->space == IR_GLOBAL && t->elem->kind == IR_SCALAR && t->rank >= 0 && !t->is_strided && !t->map;
    for (int d = 0; ok && d < t->rank; d++)
        ok = tc_as_int64(t->shape[d], &out->shape[d]);
    if (!ok) {
        tc_error(tx, HDS0184, arg->span, "the type of a weight", "tensor type with known extents", tc_describe(tx, v));
        return false;
    }
    out->type = t->elem->scalar;
    out->rank = t->rank;
    return true;
}

static bool is_as_said(const tc_weight_entry *have, const said_type *said)
{
    bool same = have->type == said->type && have->rank == said->rank;
    for (int d = 0; same && d < said->rank; d++)
        same = have->shape[d] == said->shape[d];
    return same;
}

static tc_value shape_and_type(tc *tx, dtype type, int rank, const int64_t *shape)
{
    tc_value pair = tc_list_new(tx, TC_TUPLE, NULL, 0), extents = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int d = 0; d < rank; d++)
        tc_list_push(tx, extents.list, tc_of_int(shape[d]));
    tc_list_push(tx, pair.list, extents);
    tc_list_push(tx, pair.list, tc_type(ir_scalar(tx->ir, type)));
    return pair;
}

static const char *nearest(tc *tx, const tc_weights *w, const char *name)
{
    const char **names = ARENA_ARRAY(tx->arena, const char *, w->file.len + 1);
    for (size_t i = 0; i < w->file.len; i++)
        names[i] = w->file.at[i].name;
    return diag_suggest(tx->arena, name, names, w->file.len);
}

// Once for each name, at the first line that asks for it.
static void report_missing(tc *tx, tc_weights *w, const char *name, src_span span)
{
    if (map_get(&w->missing, name, strlen(name)))
        return;
    map_put(&w->missing, name, strlen(name), w);
    diag *d = tc_error(tx, HDS0841, span, w->file.path, name);
    const char *close = nearest(tx, w, name);
    if (close)
        diag_help(d, "%s", close);
    else if (!w->file.len)
        diag_help(d, "the file has no tensors at all");
    else
        diag_help(d, "it has %zu tensors, the first is '%s'", w->file.len, w->file.at[0].name);
}

// Without a file, a weight is what the model says.
static tc_value declared(tc *tx, const char *name, const said_type *said, src_span span)
{
    if (said->type != DT_NONE)
        return shape_and_type(tx, said->type, said->rank, said->shape);
    diag *d = tc_error(tx, HDS0844, span, arena_printf(tx->arena, "the type of '%s'", name));
    diag_help(d, "say it, as in W[\"%s\", f16[64, 64]], or give a file by --weights=FILE", name);
    tx->lacks_weights = true;
    return tc_none();
}

src_span tc_asked_at(const tc *tx, src_span span)
{
    for (const tc_frame *f = tx->frame; f; f = f->caller)
        if (f->call_span.begin && src_file_at(tx->diags->sources, f->call_span.begin) == tx->main->file)
            return f->call_span;
    return span;
}

// find_weight(file, name, type or None): (extents, type of the elements); None after reporting that it is missing.
tc_value tc_native_find_weight(tc *tx, const tc_native *self, tc_args *args)
{
    tc_weights *w = file_of(tx, args);
    const char *name = text_of(tx, args, 1);
    src_span at = tc_asked_at(tx, args->span);
    said_type said;
    (void)self;
    if (!w || !name)
        return TC_ERR(tx, HDS0184, args->list.at[1].span, "the name of a weight", "str", tc_describe(tx, args->list.at[1].value));
    if (!read_said(tx, &args->list.at[2], &said))
        return tc_poison();
    if (w->file.is_open)
        return declared(tx, name, &said, at);
    size_t number = (size_t)(uintptr_t)map_get(&w->by_name, name, strlen(name));
    if (!number) {
        report_missing(tx, w, name, at);
        tx->lacks_weights |= said.type == DT_NONE;
        return said.type == DT_NONE ? tc_none() : shape_and_type(tx, said.type, said.rank, said.shape);
    }
    const tc_weight_entry *have = &w->file.at[number - 1];
    w->used[number - 1] = true;
    if (have->type == DT_NONE || have->rank > TM_MAX_RANK)
        return TC_ERR(tx, HDS0845, at, name, have->stored_type, (long)have->rank);
    if (said.type != DT_NONE && !is_as_said(have, &said)) {
        tc_error(tx, HDS0842, at, name, type_text(tx, have->type, have->rank, have->shape),
                 type_text(tx, said.type, said.rank, said.shape));
        return shape_and_type(tx, said.type, said.rank, said.shape);
    }
    return shape_and_type(tx, have->type, have->rank, have->shape);
}

// weight_names(file, prefix): those that begin with it, without it; sorted as the file has them.
tc_value tc_native_weight_names(tc *tx, const tc_native *self, tc_args *args)
{
    const tc_weights *w = file_of(tx, args);
    const char *prefix = text_of(tx, args, 1);
    tc_value names = tc_list_new(tx, TC_LIST, NULL, 0);
    (void)self;
    if (!w || !prefix)
        return TC_ERR(tx, HDS0184, args->span, "a prefix of names", "str", tc_describe(tx, args->list.at[1].value));
    if (w->file.is_open) {
        diag *d = tc_error(tx, HDS0844, tc_asked_at(tx, args->span), "which names they have");
        diag_help(d, "give a file by --weights=FILE; a model that runs without one asks for its weights by name and type");
        return tc_poison();
    }
    size_t len = strlen(prefix);
    for (size_t i = 0; i < w->file.len; i++)
        if (strncmp(w->file.at[i].name, prefix, len) == 0)
            tc_list_push(tx, names.list, tc_str(str_of(w->file.at[i].name + len)));
    return names;
}

// ---- unused weights -------------------------------------------------------------------------------------------------

void tc_weights_check_unused(tc *tx)
{
    enum { SHOWN = 8 };
    for (size_t i = 0; i < tx->weights.len; i++) {
        const tc_weights *w = tx->weights.at[i];
        str_buf names;
        size_t count = 0;
        str_buf_init(&names, tx->arena);
        for (size_t k = 0; k < w->file.len; k++) {
            if (w->used[k])
                continue;
            if (count++ < SHOWN)
                str_addf(&names, "%s'%s'", count > 1 ? ", " : "", w->file.at[k].name);
        }
        if (count > SHOWN)
            str_adds(&names, ", …");
        if (count)
            diag_report(tx->diags, HDS0843, w->span, w->file.path, (long)count, str_text(&names));
    }
}
