// Which build of the library this is: the build id that the linker wrote into the program or library that holds this
// code. Two builds of one version must not take each other's programs from the disk.

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "api/api_priv.h"

typedef struct search {
    uintptr_t address;  // of this code
    char *out;
    size_t size;
    bool found;
} search;

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && address >= begin && address < begin + h->p_memsz)
            return true;
    }
    return false;
}

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

// The notes of one segment: name size, description size, type, name, description.
static bool read_notes(const char *at, size_t size, search *s)
{
    ElfW(Nhdr) note;
    while (size >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = padded(note.n_namesz), whole = sizeof note + name + padded(note.n_descsz);
        if (whole > size)
            return false;
        const unsigned char *id = (const unsigned char *)at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0 &&
            note.n_descsz >= 8 && (size_t)note.n_descsz * 2 < s->size) {
            for (size_t i = 0; i < note.n_descsz; i++)
                snprintf(s->out + 2 * i, 3, "%02x", id[i]);
            return true;
        }
        at += whole;
        size -= whole;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;
    (void)size;
    if (!holds(info, s->address))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_NOTE)
            s->found = read_notes((const char *)info->dlpi_addr + h->p_vaddr, h->p_memsz, s);
    }
    return 1;
}

bool api_build_identity(char *out, size_t size)
{
    search s = {.address = (uintptr_t)api_build_identity, .out = out, .size = size};
    dl_iterate_phdr(visit, &s);
    return s.found;
}
