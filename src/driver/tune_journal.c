// What the rounds of a model have measured so far, in a file beside the table: a run that was killed, interrupted or ran out of
// time goes on from there. It is replaced by an atomic rename after each round, so it is whole whenever somebody reads it.
//
//     {"format": "hdsc tune journal", "version": 1, "compiler": …, "gpu": …, "driver": …, "model": …,
//      "measured": [{"space": …, "sms": 132, "sizes": "1,1024", "launches": 3, "candidate": …, "seconds": 9e-6}]}
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "diag/json_text.h"
#include "driver/tune.h"

static const src_span nowhere = {0, 0};

const char *cmd_tune_machine(const tune_request *q)
{
    if (q->session)
        return ms_record_of(q->session)->machine.gpu;
    return arena_printf(&((tune_request *)q)->shared.memory, "simulator of %s", q->shared.options.gpus[0]->name);
}

static const char *driver_of(const tune_request *q)
{
    return q->session ? ms_record_of(q->session)->machine.driver : "";
}

static bool says(const json_t *document, const char *key, const char *expected)
{
    const char *found = json_string_value(json_object_get(document, key));
    return found && strcmp(found, expected) == 0;
}

// Why its times do not hold here; NULL: they do.
static const char *foreign(const tune_request *q, const json_t *document)
{
    if (!says(document, "format", "hdsc tune journal") || json_integer_value(json_object_get(document, "version")) != 1)
        return "it is not a journal of this version";
    if (!says(document, "compiler", "hdsc " HDS_VERSION))
        return "it is of another version of hdsc";
    if (!says(document, "gpu", cmd_tune_machine(q)) || !says(document, "driver", driver_of(q)))
        return "it is of another GPU or driver";
    return says(document, "model", q->shared.options.input) ? NULL : "it is of another model";
}

static bool take_time(arena *a, const json_t *from, tune_times *out)
{
    const char *space, *sizes, *label;
    json_int_t sms, launches;
    double seconds;
    if (json_unpack((json_t *)from, "{s:s, s:I, s:s, s:I, s:s, s:F}", "space", &space, "sms", &sms, "sizes", &sizes, "launches",
                    &launches, "candidate", &label, "seconds", &seconds) != 0)
        return false;
    const tune_time t = {arena_strdup(a, space), arena_strdup(a, sizes), arena_strdup(a, label), sms, launches, seconds};
    VEC_PUSH(a, out, t);
    return seconds > 0;
}

void cmd_tune_journal_read(tune_request *q, const char *path, tune_times *out)
{
    arena *a = &q->shared.memory;
    const char *error = NULL, *why = NULL;
    str text;
    size_t i;
    json_t *item;
    if (!file_exists(path))
        return;
    json_t *document = file_read(a, path, &text, &error) ? json_loadb(text.at, text.len, 0, NULL) : NULL;
    why = document ? foreign(q, document) : "it cannot be read";
    json_array_foreach(json_object_get(document, "measured"), i, item)
    {
        if (!why && !take_time(a, item, out))
            why = "it is damaged";
    }
    if (why) {
        printf("'%s' is passed over: %s\n", path, why);
        out->len = 0;
    }
    json_decref(document);
}

static json_t *document_of(const tune_request *q, const tune_times *times)
{
    json_t *measured = json_array();
    for (size_t i = 0; i < times->len; i++) {
        const tune_time *t = &times->at[i];
        json_t *item = json_pack("{s:s, s:I, s:s, s:I}", "space", t->space, "sms", (json_int_t)t->sm_count, "sizes", t->sizes,
                                 "launches", (json_int_t)t->launches);
        json_object_set_new(item, "candidate", diag_json_text(t->candidate));
        json_object_set_new(item, "seconds", json_real(t->seconds));
        json_array_append_new(measured, item);
    }
    json_t *document = json_pack("{s:s, s:i, s:s}", "format", "hdsc tune journal", "version", 1, "compiler", "hdsc " HDS_VERSION);
    json_object_set_new(document, "gpu", diag_json_text(cmd_tune_machine(q)));
    json_object_set_new(document, "driver", diag_json_text(driver_of(q)));
    json_object_set_new(document, "model", diag_json_text(q->shared.options.input));
    json_object_set_new(document, "measured", measured);
    return document;
}

bool cmd_tune_journal_write(tune_request *q, const char *path, const tune_times *times)
{
    arena *a = &q->shared.memory;
    const char *error = NULL;
    str_buf out;
    str_buf_init(&out, a);
    diag_add_json(&out, document_of(q, times), JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    bool ok = file_write(a, path, (str){out.at, out.len}, &error);
    if (!ok)
        diag_report(&q->diags, HDS0494, nowhere, path, error);
    return ok;
}
