// The text of string literals.
#pragma once

#include "frontend/parse_priv.h"

enum {
    PARSE_COOK_RAW = 1,    // backslashes stay
    PARSE_COOK_BYTES = 2,  // ASCII only; escapes denote bytes
    PARSE_COOK_BRACES = 4, // of an f-string: '{{' and '}}' are braces
};

// The value of a literal's source text, in the arena and 0-terminated: escapes resolved, line ends as '\n'.
str parse_cook(parse_state *ps, str source, unsigned flags);
