// Which build this is: the build id that the linker wrote into the program or library that holds this code.

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "toolchain/build_id.h"

// One that somebody made up by hand (--build-id=0x1) does not tell builds apart.
enum { LEAST_BYTES = 8 };

typedef struct search {
    uintptr_t address;  // of this code
    char *out;
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

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;
    (void)size;
    if (!holds(info, s->address))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_NOTE)
            s->found = tool_build_id((const char *)info->dlpi_addr + h->p_vaddr, h->p_memsz, s->out);
    }
    return 1;
}

bool tool_own_build_id(char out[TOOL_BUILD_ID_LENGTH])
{
    search s = {.address = (uintptr_t)tool_own_build_id, .out = out};
    dl_iterate_phdr(visit, &s);
    return s.found && strlen(out) >= 2 * LEAST_BYTES;
}
