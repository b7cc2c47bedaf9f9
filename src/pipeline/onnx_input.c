#include "pipeline/onnx_input.h"

#include <string.h>

#include "base/file.h"

// What the text calls the file of its weights.
static const char *weights_name(const pl_unit *u)
{
    const char *slash = strrchr(u->input_name, '/');
    return u->options->weights_name ? u->options->weights_name : slash ? slash + 1 : u->input_name;
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
    str bytes;
    if (!onnx_is_path(path))
        return wt_open(a, path, error);
    onnx_model *m = file_read(a, path, &bytes, error) ? onnx_read(a, path, bytes, error) : NULL;
    return m ? onnx_weights(m) : NULL;
}

bool pl_make_weights(pl_job *job)
{
    wt_file *f = job->units[0].onnx_weights;
    const char *error = NULL;
    if (job->options->emit != PL_GRAPH || !job->options->weights_name || !f)
        return true;
    const uint8_t **bytes = ARENA_ARRAY(&job->memory, const uint8_t *, f->entries.len + 1);
    for (size_t i = 0; i < f->entries.len && !error; i++)
        bytes[i] = wt_bytes(f, &f->entries.at[i], &error);
    if (!error && wt_text(&job->memory, f->entries.at, bytes, f->entries.len, &job->product.weights, &error))
        return true;
    diag_report(&job->diags, HDS0860, (src_span){0, 0}, job->options->input, error);
    return false;
}
