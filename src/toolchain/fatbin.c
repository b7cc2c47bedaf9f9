#include "toolchain/fatbin.h"
#include "toolchain/elf_priv.h"
#include "toolchain/lz4.h"

#include <string.h>

enum { FILE_HEADER = 16, IMAGE_HEADER = 64, OPTIONS_HEAD = 8 };
enum { KIND_PTX = 1, KIND_ELF = 2 };
enum { FLAG_64_BIT = 0x1, FLAG_LINUX = 0x10, FLAG_LZ4 = 0x2000, FLAG_ACCELERATED = 0x100000, FLAG_CAPSULE = 0x1000000 };

typedef struct entry {
    bool is_ptx;
    uint32_t major, minor, arch;
    uint64_t flags;
    bool has_options;
    str compatibility; // of cubins that carry a capsule: the contents of .nv.compat
    str payload;
    uint64_t expanded;  // size of the image, where [payload] is it compressed; else 0
} entry;

// Shorter images are left as they are.
enum { LEAST_COMPRESSED = 512 };

static void add_u16(str_buf *out, uint32_t value)
{
    char bytes[2] = {(char)(value & 0xff), (char)(value >> 8 & 0xff)};
    str_add(out, (str){bytes, sizeof bytes});
}

static void add_u32(str_buf *out, uint32_t value)
{
    add_u16(out, value & 0xffff);
    add_u16(out, value >> 16);
}

static void add_u64(str_buf *out, uint64_t value)
{
    add_u32(out, (uint32_t)value);
    add_u32(out, (uint32_t)(value >> 32));
}

static uint64_t rounded_up(uint64_t size)
{
    return (size + 7) & ~(uint64_t)7;
}

static void pad(str_buf *out, uint64_t used)
{
    for (uint64_t i = used; i < rounded_up(used); i++)
        str_addc(out, '\0');
}

// The 9 and 0 of '.version 9.0', which the first directive of PTX gives (PTX ISA, ".version").
static bool ptx_version(str ptx, uint32_t *major, uint32_t *minor)
{
    static const char directive[] = ".version ";
    const char *at = memmem(ptx.at, ptx.len, directive, sizeof directive - 1), *end = ptx.at + ptx.len;
    uint32_t *parts[] = {major, minor};
    if (!at)
        return false;
    at += sizeof directive - 1;
    for (int i = 0; i < 2; i++) {
        if (i && (at == end || *at++ != '.'))
            return false;
        *parts[i] = 0;
        const char *first = at;
        while (at < end && *at >= '0' && *at <= '9' && at - first < 4)
            *parts[i] = *parts[i] * 10 + (uint32_t)(*at++ - '0');
        if (at == first)
            return false;
    }
    return true;
}

// Code repeats itself: a fifth is left of it. LZ4 is what drivers of every CUDA 12 and 13 expand.
static void compress(arena *a, entry *e, str image)
{
    if (image.len < LEAST_COMPRESSED)
        return;
    e->payload = tool_lz4_compress(a, image);
    e->expanded = image.len;
    e->flags |= FLAG_LZ4;
}

static bool read_ptx(arena *a, str bytes, entry *e)
{
    while (bytes.len && bytes.at[bytes.len - 1] == '\0')
        bytes.len--;
    e->payload = bytes;
    e->has_options = true;
    if (!ptx_version(bytes, &e->major, &e->minor))
        return false;
    // The driver takes the text with its 0, as fatbinary puts it.
    compress(a, e, (str){arena_strndup(a, bytes.at, bytes.len), bytes.len + 1});
    return true;
}

// Cubins of sm_100 and later carry their code a second time in a portable form ("capsule"); the image header then
// repeats what .nv.compat says about it.
static void read_capsule(const tool_elf *elf, entry *e)
{
    bool has_capsule = false;
    tool_elf_section section;
    for (size_t i = 0; i < elf->header.e_shnum && !has_capsule; i++)
        has_capsule = tool_elf_section_at(elf, i, &section) && str_starts(section.name, STR(".nv.capmerc"));
    if (!has_capsule)
        return;
    e->flags |= FLAG_CAPSULE;
    e->has_options = true;
    if (tool_elf_section_named(elf, STR(".nv.compat"), &section))
        e->compatibility = section.bytes;
}

static bool read_cubin(arena *a, const tool_image *image, entry *e)
{
    tool_elf elf;
    if (!tool_elf_open(image->bytes, &elf) || tool_elf_arch(&elf) != (int)e->arch)
        return false;
    e->payload = image->bytes;
    e->major = elf.header.e_ident[EI_VERSION];
    e->minor = elf.header.e_ident[EI_ABIVERSION];
    read_capsule(&elf, e);
    compress(a, e, image->bytes);
    return true;
}

static bool read_image(arena *a, const tool_image *image, entry *e)
{
    *e = (entry){.is_ptx = image->is_ptx, .arch = (uint32_t)(image->arch->major * 10 + image->arch->minor)};
    e->flags = FLAG_64_BIT | FLAG_LINUX | (image->arch->accelerated ? FLAG_ACCELERATED : 0);
    return image->is_ptx ? read_ptx(a, image->bytes, e) : read_cubin(a, image, e);
}

static void add_entry(str_buf *out, const entry *e)
{
    uint64_t options = e->has_options ? OPTIONS_HEAD + 1 + e->compatibility.len : 0;
    // PTX is text and ends with a 0, inside the padding or with some of its own.
    uint64_t payload = e->payload.len + (e->is_ptx && !e->expanded);
    add_u16(out, e->is_ptx ? KIND_PTX : KIND_ELF);
    add_u16(out, 0x0101);
    add_u32(out, (uint32_t)rounded_up(IMAGE_HEADER + options));
    add_u64(out, rounded_up(payload));
    add_u32(out, e->expanded ? (uint32_t)payload : 0);
    add_u32(out, e->has_options ? IMAGE_HEADER : 0);
    add_u16(out, e->minor);
    add_u16(out, e->major);
    add_u32(out, e->arch);
    add_u64(out, 0);
    add_u64(out, e->flags);
    add_u64(out, 0);
    add_u64(out, e->expanded);
    if (e->has_options) {
        add_u32(out, IMAGE_HEADER + OPTIONS_HEAD);
        add_u32(out, (uint32_t)e->compatibility.len);
        str_addc(out, '\0');
        str_add(out, e->compatibility);
        pad(out, options);
    }
    str_add(out, e->payload);
    if (e->is_ptx && !e->expanded)
        str_addc(out, '\0');
    pad(out, payload);
}

bool tool_fatbin_make(arena *a, const tool_image *images, size_t count, str *out, size_t *bad)
{
    str_buf body, file;
    str_buf_init(&body, a);
    str_buf_init(&file, a);
    for (size_t i = 0; i < count; i++) {
        entry e;
        if (!read_image(a, &images[i], &e)) {
            *bad = i;
            return false;
        }
        add_entry(&body, &e);
    }
    add_u32(&file, 0xba55ed50u);
    add_u16(&file, 1);
    add_u16(&file, FILE_HEADER);
    add_u64(&file, body.len);
    str_add(&file, (str){str_text(&body), body.len});
    *out = (str){str_text(&file), file.len};
    return true;
}
