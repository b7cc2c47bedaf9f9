// Messages for tools: one JSON object, keys always in the same order, absent things null rather than missing.

#include "diag/diag_priv.h"

#include <jansson.h>
#include <utf8proc.h>

// Jansson takes UTF-8 only; a byte of the source that is none becomes the four characters \xNN.
static json_t *text_of(diag_context *dx, const char *text)
{
    if (!text)
        return json_null();
    str_buf clean;
    str_buf_init(&clean, dx->arena);
    for (str rest = str_of(text); rest.len;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)rest.at, (utf8proc_ssize_t)rest.len, &code);
        if (size > 0)
            str_add(&clean, (str){rest.at, (size_t)size});
        else
            str_addf(&clean, "\\x%02X", (unsigned char)rest.at[0]);
        size_t step = size > 0 ? (size_t)size : 1;
        rest = (str){rest.at + step, rest.len - step};
    }
    return json_stringn(str_text(&clean), clean.len);
}

static json_t *number_of(const src_location *location, uint32_t value)
{
    return location->file ? json_integer(value) : json_null();
}

static void add_span(diag_context *dx, json_t *object, src_span span)
{
    src_location begin = src_location_of(dx->sources, span.begin), end = src_location_of(dx->sources, span.end);
    json_object_set_new(object, "file", text_of(dx, begin.file ? begin.file->name : NULL));
    json_object_set_new(object, "line", number_of(&begin, begin.line));
    json_object_set_new(object, "column", number_of(&begin, begin.column));
    json_object_set_new(object, "end_line", number_of(&begin, end.file ? end.line : begin.line));
    json_object_set_new(object, "end_column", number_of(&begin, end.file ? end.column : begin.column));
}

static json_t *part_of(diag_context *dx, const diag_part *part)
{
    static const char *const kinds[] = {"label", "note", "help", "fix"};
    json_t *object = json_object();
    json_object_set_new(object, "kind", json_string(kinds[part->kind]));
    json_object_set_new(object, "message", text_of(dx, part->text));
    add_span(dx, object, part->span);
    return object;
}

static json_t *fix_of(diag_context *dx, const diag_part *part)
{
    json_t *object = json_object();
    add_span(dx, object, part->span);
    json_object_set_new(object, "text", text_of(dx, part->text));
    return object;
}

static json_t *diag_of(diag_context *dx, const diag *d)
{
    json_t *object = json_object(), *parts = json_array(), *fixes = json_array();
    json_object_set_new(object, "code", json_string(diag_name(d->code)));
    json_object_set_new(object, "slug", json_string(diag_slug(d->code)));
    json_object_set_new(object, "severity", json_string(diag_severity_name(d->severity)));
    json_object_set_new(object, "message", text_of(dx, d->message));
    add_span(dx, object, d->span);
    json_object_set_new(object, "label", text_of(dx, d->label));
    for (size_t i = 0; i < d->parts.len; i++) {
        const diag_part *part = &d->parts.at[i];
        if (part->kind == DIAG_PART_FIX)
            json_array_append_new(fixes, fix_of(dx, part));
        else
            json_array_append_new(parts, part_of(dx, part));
    }
    json_object_set_new(object, "parts", parts);
    json_object_set_new(object, "fixes", fixes);
    return object;
}

static int add_piece(const char *text, size_t len, void *out)
{
    str_add(out, (str){text, len});
    return 0;
}

void diag_render_json(diag_context *dx, str_buf *out)
{
    diag **all = diag_sorted(dx);
    str_adds(out, "{\"diagnostics\": [");
    for (size_t i = 0; i < dx->all.len; i++) {
        str_adds(out, i ? ",\n" : "\n");
        json_t *object = diag_of(dx, all[i]);
        json_dump_callback(object, add_piece, out, JSON_PRESERVE_ORDER);
        json_decref(object);
    }
    str_adds(out, dx->all.len ? "\n]}\n" : "]}\n");
}
