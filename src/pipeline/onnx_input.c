#include "pipeline/onnx_input.h"

#include <string.h>

#include "base/file.h"

const char *pl_onnx_weights_name(const pl_options *o, const char *path)
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

str pl_onnx_text(arena *a, const char *path, const char *name, str bytes, wt_file **weights, const char **error)
{
    *error = NULL;
    onnx_model *m = onnx_read(a, path, bytes, error);
    *weights = m ? onnx_weights(m) : NULL;
    return m ? onnx_print(m, name, error) : (str){0};
}

bool pl_read_onnx(pl_unit *u)
{
    const char *error, *name = pl_onnx_weights_name(u->options, u->input_name);
    wt_file *weights;
    str text = pl_onnx_text(&u->memory, u->input_name, name, u->input, &weights, &error);
    if (weights)
        VEC_PUSH(&u->memory, &u->finder.weight_files, ((pl_weights){name, weights}));
    if (error) {
        diag_report(&u->diags, HDS0860, (src_span){0, 0}, u->input_name, error);
        return false;
    }
    u->input = text;
    u->onnx_weights = weights;
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
