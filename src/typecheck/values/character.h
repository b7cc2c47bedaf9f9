// The classes of characters, as the Python of the language has them (Unicode 15.1).
#pragma once

#include "base/str.h"

// ORDER CLASSES in tools/make_character_classes.py
typedef enum character_class {
    CHARACTER_ALPHA,
    CHARACTER_DECIMAL,
    CHARACTER_DIGIT,
    CHARACTER_NUMERIC,
    CHARACTER_SPACE,
    CHARACTER_PRINTABLE,
    CHARACTER_UPPER,
    CHARACTER_LOWER,
    CHARACTER_TITLE,
    CHARACTER_NAME_START,
    CHARACTER_NAME_PART,
} character_class;

bool tc_char_is(int code, character_class class);
size_t tc_last_char_len(str s);  // bytes of the last character
str tc_numeral(arena *a, str s); // without the space around it, and with the decimal digits of ASCII
size_t tc_space_at(str s,
                   bool at_end); // bytes of the white space that the text begins or ends with: one character or none
size_t tc_line_end_at(str s);    // bytes of the end of a line that the text begins with; 0: none
