#include "driver/report_data.h"

#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"

const char *report_data_find(arena *a, const char *model)
{
    if (!onnx_is_path(model))
        return NULL;
    const char *stem = arena_strndup(a, model, (size_t)(strrchr(model, '.') - model));
    const char *folders[] = {file_join(a, file_folder(a, model), "test_data_set_0"), arena_printf(a, "%s/test_data_set_0", stem)};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (file_exists(folders[i]))
            return folders[i];
    return NULL;
}

static bool read_tensor(arena *a, report_data *d, const char *path, ten_tensor *out, const char **why)
{
    wt_file *f = onnx_open_tensor(a, path, why);
    if (!f)
        return false;
    VEC_PUSH(a, &d->files, f);
    const wt_entry *e = &f->entries.at[0];
    *out = (ten_tensor){.rank = e->rank};
    *why = "its type is not known, or it has too many axes or elements";
    if (e->rank > TEN_MAX_RANK || !dt_find(str_of(e->dtype), &out->type))
        return false;
    memcpy(out->shape, e->shape, (size_t)e->rank * sizeof *out->shape);
    if (!ten_measure(out))
        return false;
    out->data = (uint8_t *)wt_bytes(f, e, why);
    return out->data != NULL;
}

// "input_0.pb" and so on, until there is none of a number.
static bool read_all(arena *a, report_data *d, const char *kind, report_tensors *out, const char **error)
{
    VEC(ten_tensor) list = {0};
    for (size_t i = 0;; i++) {
        const char *path = arena_printf(a, "%s/%s_%zu.pb", d->folder, kind, i), *why = NULL;
        ten_tensor t;
        if (!file_exists(path))
            break;
        if (!read_tensor(a, d, path, &t, &why)) {
            *error = arena_printf(a, "'%s': %s", path, why);
            return false;
        }
        VEC_PUSH(a, &list, t);
    }
    *out = (report_tensors){list.at, list.len};
    return true;
}

bool report_data_read(arena *a, const char *folder, report_data *out, const char **error)
{
    *out = (report_data){.folder = folder};
    if (!read_all(a, out, "input", &out->inputs, error) || !read_all(a, out, "output", &out->outputs, error))
        return false;
    *error = out->outputs.len ? NULL : arena_printf(a, "'%s' has no output_0.pb", folder);
    return !*error;
}

void report_data_close(report_data *d)
{
    for (size_t i = 0; i < d->files.len; i++)
        wt_close(d->files.at[i]);
    d->files.len = 0;
}
