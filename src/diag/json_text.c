#include "diag/json_text.h"

json_t *diag_json_text(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

void diag_add_json(str_buf *out, json_t *document, size_t flags)
{
    size_t len = json_dumpb(document, NULL, 0, flags);
    char *text = arena_alloc(out->arena, len + 1);
    json_dumpb(document, text, len, flags);
    json_decref(document);
    str_add(out, (str){text, len});
    str_addc(out, '\n');
}
