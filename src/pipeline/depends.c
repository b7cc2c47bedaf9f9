// The files that a compilation read.

#include <string.h>

#include "pipeline/job.h"

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
    return strcmp(file->name, "<stdin>") != 0 && pl_finder_is_on_disk(&u->finder, file);
}

str pl_depends(pl_job *job)
{
    str_buf names;
    str_buf_init(&names, &job->memory);
    for (int i = 0; i < job->unit_count; i++) {
        pl_unit *u = &job->units[i];
        for (size_t k = 0; k < u->sources.files.len; k++) {
            const src_file *file = u->sources.files.at[k];
            if (is_on_disk(u, file) && !is_listed(&names, file->name))
                str_add(&names, (str){file->name, strlen(file->name) + 1});
        }
    }
    return (str){str_text(&names), names.len};
}
