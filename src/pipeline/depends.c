// The files that a compilation read.

#include <string.h>

#include "pipeline/job.h"
#include "pipeline/onnx_input.h"
#include "weights/weights.h"

static bool is_listed(const str_buf *names, const char *name)
{
    for (size_t at = 0; at < names->len; at += strlen(names->at + at) + 1) {
        if (strcmp(names->at + at, name) == 0)
            return true;
    }
    return false;
}

// What is built into the program, or came with the command line, is no file.
static bool is_on_disk(pl_unit *u, const src_file *file)
{
    return !pl_is_stdin(file->name) && pl_finder_is_on_disk(&u->finder, file);
}

// Names and types of weights are in the product, their bytes are not.
static void add_weights(const pl_unit *u, str_buf *names)
{
    for (size_t i = 0; i < u->finder.weight_files.len; i++) {
        const wt_file *f = u->finder.weight_files.at[i].file;
        if (!pl_is_stdin(f->path) && !is_listed(names, f->path))
            str_add(names, (str){f->path, strlen(f->path) + 1});
        for (size_t k = 0; k < f->parts.len; k++)
            if (!is_listed(names, f->parts.at[k].path))
                str_add(names, (str){f->parts.at[k].path, strlen(f->parts.at[k].path) + 1});
    }
}

str pl_depends(pl_job *job)
{
    str_buf names;
    str_buf_init(&names, &job->memory);
    for (int i = 0; i < job->unit_count; i++) {
        pl_unit *u = &job->units[i];
        add_weights(u, &names);
        for (size_t k = 0; k < u->sources.files.len; k++) {
            const src_file *file = u->sources.files.at[k];
            if (is_on_disk(u, file) && !is_listed(&names, file->name))
                str_add(&names, (str){file->name, strlen(file->name) + 1});
        }
    }
    return (str){str_text(&names), names.len};
}
