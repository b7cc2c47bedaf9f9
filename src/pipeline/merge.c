// The messages of several units as those of one job, which outlive the units.

#include "pipeline/job.h"

#include <string.h>

static src_file *same_file(src_map *sources, const src_file *file)
{
    for (size_t i = 0; i < sources->files.len; i++) {
        src_file *candidate = sources->files.at[i];
        if (strcmp(candidate->name, file->name) == 0 && str_equal(candidate->text, file->text))
            return candidate;
    }
    return src_add(sources, file->name, (str){arena_strndup(sources->arena, file->text.at, file->text.len), file->text.len});
}

static src_span move_span(src_map *to, const src_map *from, src_span span)
{
    const src_file *source = src_file_at(from, span.begin);
    src_file *target = source ? same_file(to, source) : NULL;
    if (!target)
        return (src_span){0, 0};
    return (src_span){span.begin - source->base + target->base, span.end - source->base + target->base};
}

static bool is_known(const diag_context *dx, const diag *d)
{
    for (size_t i = 0; i < dx->all.len; i++) {
        const diag *other = dx->all.at[i];
        if (other->code == d->code && other->span.begin == d->span.begin && other->span.end == d->span.end &&
            strcmp(other->message, d->message) == 0)
            return true;
    }
    return false;
}

static const char *own(arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static diag *moved(diag_context *to, const diag_context *from, const diag *d)
{
    diag *copy = ARENA_NEW(to->arena, diag);
    *copy = *d;
    copy->context = to;
    copy->message = own(to->arena, d->message);
    copy->label = own(to->arena, d->label);
    copy->span = move_span(to->sources, from->sources, d->span);
    copy->parts.at = arena_dup(to->arena, d->parts.at, d->parts.len * sizeof *d->parts.at);
    copy->parts.cap = copy->parts.len;
    for (size_t i = 0; i < copy->parts.len; i++) {
        copy->parts.at[i].text = own(to->arena, d->parts.at[i].text);
        copy->parts.at[i].span = move_span(to->sources, from->sources, d->parts.at[i].span);
    }
    return copy;
}

void pl_diags_merge(diag_context *to, const diag_context *from)
{
    if (!from->all.len)
        return;
    // Files in the order the unit met them: rendering sorts by it.
    for (size_t i = 0; i < from->sources->files.len; i++)
        same_file(to->sources, from->sources->files.at[i]);
    for (size_t i = 0; i < from->all.len; i++) {
        diag *d = moved(to, from, from->all.at[i]);
        if (is_known(to, d))
            continue;
        VEC_PUSH(to->arena, &to->all, d);
        to->error_count += d->severity == DIAG_ERROR;
        to->shown_errors += d->severity == DIAG_ERROR;
        to->warning_count += d->severity == DIAG_WARNING;
        to->shown_warnings += d->severity == DIAG_WARNING;
    }
}
