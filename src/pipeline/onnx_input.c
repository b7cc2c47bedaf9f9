#include "pipeline/onnx_input.h"

#include <string.h>

#include "base/file.h"

// What the text calls the file of its weights.
static const char *weights_name(const pl_unit *u)
{
    const char *slash = strrchr(u->input_name, '/');
    return u->options->weights_name ? u->options->weights_name : slash ? slash + 1 : u->input_name;
}

bool pl_read_input(arena *a, const char *path, str *out, str *mapped, const char **error)
{
    if (!onnx_is_path(path))
        return file_read(a, path, out, error);
    bool ok = file_map(a, path, mapped, error);
    *out = *mapped;
    return ok;
}

bool pl_read_onnx(pl_unit *u)
{
    const char *error = NULL, *name = weights_name(u);
    onnx_model *m = onnx_read(&u->memory, u->input_name, u->input, &error);
    str text = m ? onnx_print(m, name, &error) : (str){0};
    if (m)
        VEC_PUSH(&u->memory, &u->finder.weight_files, ((pl_weights){name, onnx_weights(m)}));
    if (error) {
        diag_report(&u->diags, HDS0860, (src_span){0, 0}, u->input_name, error);
        return false;
    }
    u->input = text;
    u->onnx_weights = onnx_weights(m);
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
