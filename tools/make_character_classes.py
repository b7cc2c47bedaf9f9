#!/usr/bin/env python3
"""Writes src/typecheck/values/character_classes.inc: the classes of characters that Python's string methods ask for.

    python3.13 tools/make_character_classes.py > src/typecheck/values/character_classes.inc

The classes are those of the Python that runs this, so that of Python 3.13 (Unicode 15.1) has to: str.isalpha() and its
siblings are asked for every character. A row is where a run of characters of the same classes begins, shifted left by 11,
and their classes as bits.
"""

import sys
import unicodedata

# ORDER character_class in src/typecheck/values/character.h
CLASSES = [str.isalpha, str.isdecimal, str.isdigit, str.isnumeric, str.isspace, str.isprintable, str.isupper, str.islower,
           lambda c: unicodedata.category(c) == "Lt", str.isidentifier, lambda c: ("a" + c).isidentifier()]


def classes_of(code):
    c = chr(code)
    return sum(1 << i for i, holds in enumerate(CLASSES) if holds(c))


def main():
    if unicodedata.unidata_version != "15.1.0":
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}; that of the language is Python 3.13's, 15.1.0")
    rows, last = [], None
    for code in range(0x110000):
        now = classes_of(code)
        if now != last:
            rows.append(f"{code << 11 | now:#x},")
            last = now
    print("// Made by tools/make_character_classes.py from Unicode 15.1: do not edit.")
    line = ""
    for row in rows:
        if len(line) + len(row) >= 118:
            print(line)
            line = ""
        line += (" " if line else "") + row
    print(line)


if __name__ == "__main__":
    main()
