#include "toolchain/elf_priv.h"

#include <string.h>

enum { MACHINE_CUDA = 190 };

// The [len] bytes at [offset] of [text]; false if they are not all there.
static bool slice(str text, uint64_t offset, uint64_t len, str *out)
{
    if (offset > text.len || len > text.len - offset)
        return false;
    *out = (str){text.at + offset, (size_t)len};
    return true;
}

bool tool_elf_open(str file, tool_elf *out)
{
    *out = (tool_elf){.file = file};
    if (file.len < sizeof out->header)
        return false;
    memcpy(&out->header, file.at, sizeof out->header);
    const Elf64_Ehdr *h = &out->header;
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == MACHINE_CUDA && h->e_shentsize == sizeof(Elf64_Shdr);
}

static bool header_at(const tool_elf *elf, size_t index, Elf64_Shdr *out)
{
    str bytes;
    if (index >= elf->header.e_shnum || elf->header.e_shoff > elf->file.len ||
        !slice(elf->file, elf->header.e_shoff + index * sizeof *out, sizeof *out, &bytes))
        return false;
    memcpy(out, bytes.at, sizeof *out);
    return true;
}

static bool bytes_of(const tool_elf *elf, const Elf64_Shdr *header, str *out)
{
    *out = (str){"", 0};
    return header->sh_type == SHT_NOBITS || slice(elf->file, header->sh_offset, header->sh_size, out);
}

bool tool_elf_section_at(const tool_elf *elf, size_t index, tool_elf_section *out)
{
    Elf64_Shdr names_header;
    str names;
    if (!header_at(elf, index, &out->header) || !bytes_of(elf, &out->header, &out->bytes))
        return false;
    if (!header_at(elf, elf->header.e_shstrndx, &names_header) || !bytes_of(elf, &names_header, &names))
        return false;
    out->name = tool_elf_string(names, out->header.sh_name);
    return true;
}

bool tool_elf_section_named(const tool_elf *elf, str name, tool_elf_section *out)
{
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        if (tool_elf_section_at(elf, i, out) && str_equal(out->name, name))
            return true;
    }
    return false;
}

str tool_elf_string(str table, size_t offset)
{
    if (offset >= table.len)
        return (str){"", 0};
    const char *end = memchr(table.at + offset, '\0', table.len - offset);
    return end ? (str){table.at + offset, (size_t)(end - table.at) - offset} : (str){"", 0};
}

int tool_elf_arch(const tool_elf *elf)
{
    // ABI 8 (CUDA 12.8 for sm_100, CUDA 13 for all) moved the number up by one byte.
    enum { ABI_WITH_WIDE_ARCH = 8 };
    uint32_t flags = elf->header.e_flags;
    return elf->header.e_ident[EI_ABIVERSION] >= ABI_WITH_WIDE_ARCH ? (int)(flags >> 8 & 0xffff) : (int)(flags & 0xff);
}
