// 64-bit little-endian ELF, as far as cubins need it. Every access is checked: the bytes may come from anywhere.
#pragma once

#include <elf.h>
#include <stdbool.h>

#include "base/str.h"

typedef struct tool_elf {
    str file;
    Elf64_Ehdr header;
} tool_elf;

typedef struct tool_elf_section {
    Elf64_Shdr header;
    str name;
    str bytes; // empty for SHT_NOBITS
} tool_elf_section;

// False if [file] is no cubin.
bool tool_elf_open(str file, tool_elf *out);
// False past the end or if the section reaches out of the file.
bool tool_elf_section_at(const tool_elf *elf, size_t index, tool_elf_section *out);
bool tool_elf_section_named(const tool_elf *elf, str name, tool_elf_section *out);
// The 0-terminated string at [offset] of a string table; empty if there is none.
str tool_elf_string(str table, size_t offset);
// 90 for sm_90a.
int tool_elf_arch(const tool_elf *elf);
