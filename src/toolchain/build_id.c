#include "toolchain/build_id.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t padded(uint64_t size)
{
    return (size + 3) & ~(uint64_t)3;
}

// Of each note: size of its name, size of its description, type, name, description.
bool tool_build_id(const char *notes, size_t size, char out[TOOL_BUILD_ID_LENGTH])
{
    Elf64_Nhdr note;
    for (uint64_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note, value = name + padded(note.n_namesz), next = value + padded(note.n_descsz);
        if (next > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" && memcmp(notes + name, "GNU", 4) == 0) {
            if (!note.n_descsz || 2 * (uint64_t)note.n_descsz >= TOOL_BUILD_ID_LENGTH)
                return false;
            for (uint64_t i = 0; i < note.n_descsz; i++)
                snprintf(out + 2 * i, 3, "%02x", (unsigned)(uint8_t)notes[value + i]);
            return true;
        }
        at = next;
    }
    return false;
}
