// Parses text of other tools from its beginning. Functions that fail leave the text unchanged.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

str tool_skip_spaces(str s); // blanks and tabs
str tool_after(str s, size_t len);
bool tool_take(str *s, const char *word);
bool tool_take_number(str *s, uint32_t *out); // decimal, below UINT32_MAX
bool tool_take_line(str *text, str *line);    // without its end; false at the end of the text
