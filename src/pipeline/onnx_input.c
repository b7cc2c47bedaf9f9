#include "pipeline/onnx_input.h"

#include <string.h>

#include "base/file.h"

// What the text calls the file of its weights.
static const char *name_of(const pl_options *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    return o->weights_name ? o->weights_name : slash ? slash + 1 : path;
}

bool pl_read_input(arena *a, const char *path, str *out, str *mapped, const char **error)
{
    if (!onnx_is_path(path))
        return file_read(a, path, out, error);
    bool ok = file_map(a, path, mapped, error);
    *out = *mapped;
    return ok;
}

const char *pl_input_name(arena *a, const char *path, str bytes)
{
    return strcmp(path, "-") == 0 ? arena_printf(a, "<stdin>%s", onnx_ending_of(bytes)) : path;
}

bool pl_is_stdin(const char *input_name)
{
    return str_starts(str_of(input_name), STR("<stdin>"));
}

bool pl_onnx_read(arena *a, const pl_options *o, const char *path, str bytes, pl_onnx *out, const char **error)
{
    *error = NULL;
    *out = (pl_onnx){.name = name_of(o, path)};
    onnx_model *m = onnx_read(a, path, bytes, error);
    if (!m)
        return false;
    out->weights = onnx_weights(m);
    out->text = onnx_print(m, out->name, error);
    return !*error;
}

// Of a unit whose caller has not read it.
static bool read_own(pl_unit *u)
{
    const char *error;
    pl_onnx own;
    bool ok = pl_onnx_read(&u->memory, u->options, u->input_name, u->input, &own, &error);
    if (own.weights)
        VEC_PUSH(&u->memory, &u->finder.weight_files, ((pl_weights){own.name, own.weights}));
    if (!ok)
        diag_report(&u->diags, HDS0860, (src_span){0, 0}, u->input_name, error);
    u->input = own.text;
    u->onnx_weights = own.weights;
    return ok;
}

bool pl_take_onnx(pl_unit *u)
{
    if (!u->onnx)
        return read_own(u);
    u->input = u->onnx->text;
    u->onnx_weights = wt_copy(&u->memory, u->onnx->weights, true);
    VEC_PUSH(&u->memory, &u->finder.weight_files, ((pl_weights){u->onnx->name, u->onnx_weights}));
    return true;
}

wt_file *pl_open_weights(arena *a, const char *path, const char **error)
{
    *error = NULL;
    if (!onnx_is_path(path))
        return wt_open(a, path, error);
    onnx_model *m = onnx_open(a, path, error);
    return m ? onnx_weights(m) : NULL;
}
