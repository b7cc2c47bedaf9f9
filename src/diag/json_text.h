// Documents of jansson as text.
#pragma once

#include <jansson.h>

#include "base/str.h"

// A string; null for no text, and for text that is no UTF-8: names of files may be any bytes.
json_t *diag_json_text(const char *text);
// Adds [document] with [flags] of json_dumpb, and a newline. Takes the document.
void diag_add_json(str_buf *out, json_t *document, size_t flags);
