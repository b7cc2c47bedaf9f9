// Code as the driver finds it: fat binaries (src/toolchain/fatbin.h has their structure), cubins, PTX.
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

enum { FATBIN_MAGIC = 0xba55ed50, FATBIN_HEADER = 16, KIND_PTX = 1, KIND_ELF = 2 };
enum { FLAG_LZ4 = 0x2000, FLAG_ACCELERATED = 0x100000 };
enum { COMPRESSED_AT = 16, ARCH_AT = 28, FLAGS_AT = 40, EXPANDED_AT = 56, ABI_WITH_WIDE_ARCH = 8 };
// Of .nv.info: a record is u8 format, u8 attribute, u16 size, then the bytes.
enum { EIFMT_SIZED = 4, EIATTR_MAX_THREADS = 0x05, EIATTR_KPARAM_INFO = 0x17, EIATTR_CTA_PER_CLUSTER = 0x3d };
enum { RESERVED_SMEM = 1024 };

static uint64_t number(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

// ---- which code -------------------------------------------------------------------------------------------------

static size_t elf_bytes(const unsigned char *at)
{
    Elf64_Ehdr h;
    memcpy(&h, at, sizeof h);
    size_t end = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize,
           segments = h.e_phoff + (size_t)h.e_phnum * h.e_phentsize;
    return end > segments ? end : segments;
}

static int elf_arch(const unsigned char *at)
{
    Elf64_Ehdr h;
    memcpy(&h, at, sizeof h);
    return h.e_ident[EI_ABIVERSION] >= ABI_WITH_WIDE_ARCH ? (int)(h.e_flags >> 8 & 0xffff) : (int)(h.e_flags & 0xff);
}

static int ptx_arch(const char *text)
{
    const char *target = strstr(text, ".target sm_");
    int arch = target ? atoi(target + strlen(".target sm_")) : 0;
    const char *end =
        target ? target + strlen(".target sm_") + strspn(target + strlen(".target sm_"), "0123456789") : "";
    return *end == 'a' ? arch | ARCH_ONLY : arch;
}

// A length of an LZ4 block goes on in bytes that follow, while they are 255.
static size_t lz4_length(const unsigned char **at, const unsigned char *end, unsigned nibble)
{
    size_t length = nibble;
    for (unsigned more = nibble == 15 ? 255 : 0; more == 255 && *at < end; length += more)
        more = *(*at)++;
    return length;
}

// The [size] bytes that an LZ4 block stands for; NULL if it is none.
static unsigned char *lz4_expand(const unsigned char *at, size_t bytes, size_t size)
{
    const unsigned char *end = at + bytes;
    unsigned char *out = calloc(1, size + 8), *to = out, *stop = out + size;
    while (at < end) {
        unsigned token = *at++;
        size_t literals = lz4_length(&at, end, token >> 4);
        if (literals > (size_t)(end - at) || literals > (size_t)(stop - to))
            break;
        memcpy(to, at, literals);
        to += literals;
        at += literals;
        if (at == end && to == stop)
            return out;
        if (end - at < 2)
            break;
        size_t distance = number(at, 2);
        at += 2;
        size_t length = lz4_length(&at, end, token & 15) + 4;
        if (!distance || distance > (size_t)(to - out) || length > (size_t)(stop - to))
            break;
        for (; length; length--, to++)
            *to = to[-(ptrdiff_t)distance];
    }
    free(out);
    return NULL;
}

// The code of an entry of a fat binary, expanded if it is compressed.
static bool read_code(fake_image *image, const unsigned char *entry, size_t header, size_t payload)
{
    uint64_t flags = number(entry + FLAGS_AT, 8);
    int arch = (int)number(entry + ARCH_AT, 4) | (flags & FLAG_ACCELERATED ? ARCH_ONLY : 0);
    fake_code code = {number(entry, 2) == KIND_PTX, arch, entry + header, payload};
    if (flags & FLAG_LZ4) {
        size_t compressed = number(entry + COMPRESSED_AT, 4);
        code.bytes = number(entry + EXPANDED_AT, 8);
        code.at = compressed <= payload ? lz4_expand(code.at, compressed, code.bytes) : NULL;
        image->expanded[image->count] = (unsigned char *)code.at;
    }
    image->codes[image->count++] = code;
    return code.at != NULL;
}

static bool read_fatbin(fake_image *image, size_t bytes)
{
    for (size_t at = FATBIN_HEADER; at + 64 <= bytes && image->count < 32;) {
        const unsigned char *entry = image->bytes + at;
        size_t header = number(entry + 4, 4), payload = number(entry + 8, 8);
        unsigned kind = (unsigned)number(entry, 2);
        if (header < 64 || header > bytes - at || payload > bytes - at - header ||
            (kind != KIND_PTX && kind != KIND_ELF) || !read_code(image, entry, header, payload))
            return false;
        at += header + payload;
    }
    return image->count > 0;
}

static size_t image_bytes(const unsigned char *at, int *error)
{
    *error = INVALID_IMAGE;
    if (number(at, 4) == FATBIN_MAGIC)
        return FATBIN_HEADER + number(at + 8, 8);
    if (memcmp(at, ELFMAG, SELFMAG) == 0)
        return elf_bytes(at);
    *error = INVALID_PTX;
    return isspace(*at) || *at == '/' || *at == '.' ? strlen((const char *)at) : 0;
}

static bool read(fake_image *image, size_t bytes)
{
    if (number(image->bytes, 4) == FATBIN_MAGIC)
        return read_fatbin(image, bytes);
    bool is_ptx = memcmp(image->bytes, ELFMAG, SELFMAG) != 0;
    int arch = is_ptx ? ptx_arch((const char *)image->bytes) : elf_arch(image->bytes);
    image->codes[image->count++] = (fake_code){is_ptx, arch, image->bytes, bytes};
    return arch > 0;
}

fake_image *fake_image_new(const void *bytes, int *error)
{
    size_t size = image_bytes(bytes, error);
    if (!size)
        return NULL;
    fake_image *image = calloc(1, sizeof *image);
    image->bytes = calloc(1, size + 8);
    memcpy(image->bytes, bytes, size);
    if (read(image, size))
        return image;
    fake_image_free(image);
    return NULL;
}

void fake_image_free(void *memory)
{
    fake_image *image = memory;
    for (fake_function *f = image->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    for (int i = 0; i < image->count; i++)
        free(image->expanded[i]);
    free(image->bytes);
    free(image);
}

// Higher is better; 0: it does not run there.
static int rank(const fake_code *code, int arch)
{
    int number_of = code->arch & ~ARCH_ONLY;
    bool is_only = code->arch & ARCH_ONLY;
    if (is_only && number_of != arch)
        return 0;
    if (number_of > arch || (!code->is_ptx && number_of / 10 != arch / 10))
        return 0;
    return (code->is_ptx ? 0 : 100000) + number_of * 10 + is_only;
}

const fake_code *fake_image_choose(const fake_image *image, int arch)
{
    const fake_code *best = NULL;
    for (int i = 0; i < image->count; i++) {
        if (rank(&image->codes[i], arch) > (best ? rank(best, arch) : 0))
            best = &image->codes[i];
    }
    return best;
}

// ---- kernels of a cubin -----------------------------------------------------------------------------------------

typedef struct elf {
    const unsigned char *at;
    size_t bytes;
    Elf64_Ehdr header;
} elf;

static bool section_at(const elf *e, size_t index, Elf64_Shdr *out)
{
    size_t at = e->header.e_shoff + index * sizeof *out;
    if (index >= e->header.e_shnum || at + sizeof *out > e->bytes)
        return false;
    memcpy(out, e->at + at, sizeof *out);
    return out->sh_type == SHT_NOBITS || out->sh_offset + out->sh_size <= e->bytes;
}

static bool find_section(const elf *e, const char *prefix, const char *name, Elf64_Shdr *out)
{
    Elf64_Shdr names;
    if (!section_at(e, e->header.e_shstrndx, &names))
        return false;
    for (size_t i = 0; section_at(e, i, out); i++) {
        const char *text = (const char *)e->at + names.sh_offset + out->sh_name;
        if (strncmp(text, prefix, strlen(prefix)) == 0 && strcmp(text + strlen(prefix), name) == 0)
            return true;
    }
    return false;
}

static void add_parameter(fake_kernel *k, const unsigned char *value)
{
    unsigned ordinal = (unsigned)number(value + 4, 2);
    if (ordinal >= FAKE_PARAMETERS)
        return;
    k->offsets[ordinal] = number(value + 6, 2);
    k->sizes[ordinal] = number(value + 8, 4) >> 18;
    if ((int)ordinal >= k->parameter_count)
        k->parameter_count = (int)ordinal + 1;
}

static void read_info(fake_kernel *k, const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i + 4 <= bytes;) {
        size_t size = at[i] == EIFMT_SIZED ? number(at + i + 2, 2) : 0;
        const unsigned char *value = at + i + 4;
        if (i + 4 + size > bytes)
            return;
        if (at[i + 1] == EIATTR_KPARAM_INFO && size >= 12)
            add_parameter(k, value);
        for (size_t d = 0; d < 3 && at[i + 1] == EIATTR_CTA_PER_CLUSTER && size >= 12; d++)
            k->cluster[d] = (int)number(value + 4 * d, 4);
        if (at[i + 1] == EIATTR_MAX_THREADS && size >= 12)
            k->threads = (int)(number(value, 4) * number(value + 4, 4) * number(value + 8, 4));
        i += 4 + size;
    }
}

static bool elf_kernel(const fake_code *code, const char *name, fake_kernel *k)
{
    elf e = {.at = code->at, .bytes = code->bytes};
    Elf64_Shdr section;
    if (code->bytes < sizeof e.header)
        return false;
    memcpy(&e.header, code->at, sizeof e.header);
    if (!find_section(&e, ".text.", name, &section))
        return false;
    if (find_section(&e, ".nv.info.", name, &section))
        read_info(k, e.at + section.sh_offset, section.sh_size);
    if (find_section(&e, ".nv.shared.", name, &section)) {
        k->static_smem_bytes = (int)section.sh_size;
        if (elf_arch(code->at) >= 90 && k->static_smem_bytes >= RESERVED_SMEM)
            k->static_smem_bytes -= RESERVED_SMEM;
    }
    return true;
}

// ---- kernels of PTX ---------------------------------------------------------------------------------------------

// From '.param .align 8 .b8 name[16]': the bytes of the type, times the elements.
static size_t ptx_parameter_bytes(const char *at, const char *end)
{
    size_t bytes = 0;
    for (; at < end; at++) {
        bool is_type = at[0] == '.' && strchr("busf", at[1]) && isdigit((unsigned char)at[2]);
        if (is_type)
            bytes = (size_t)atoi(at + 2) / 8;
        if (*at == '[')
            bytes *= (size_t)atoi(at + 1);
    }
    return bytes;
}

static void ptx_parameters(fake_kernel *k, const char *at)
{
    const char *close = strchr(at, ')');
    size_t offset = 0;
    for (at = strstr(at, ".param"); close && at && at < close && k->parameter_count < FAKE_PARAMETERS;) {
        const char *next = strstr(at + 1, ".param"), *end = next && next < close ? next : close;
        size_t bytes = ptx_parameter_bytes(at, end);
        const char *align = strstr(at, ".align ");
        size_t unit = align && align < end ? (size_t)atoi(align + 7) : bytes;
        offset = unit ? (offset + unit - 1) / unit * unit : offset;
        k->sizes[k->parameter_count] = bytes;
        k->offsets[k->parameter_count++] = offset;
        offset += bytes;
        at = next;
    }
}

static bool ptx_kernel(const fake_code *code, const char *name, fake_kernel *k)
{
    size_t length = strlen(name);
    for (const char *at = (const char *)code->at; (at = strstr(at, ".entry")); at++) {
        const char *found = at + strlen(".entry");
        found += strspn(found, " \t\n");
        if (strncmp(found, name, length) == 0 && strchr(" \t\n(", found[length])) {
            const char *open = found + length + strspn(found + length, " \t\n");
            if (*open == '(')
                ptx_parameters(k, open);
            return true;
        }
    }
    return false;
}

bool fake_code_kernel(const fake_code *code, const char *name, fake_kernel *k)
{
    *k = (fake_kernel){.threads = 1024};
    strncpy(k->name, name, sizeof k->name - 1);
    bool is_elf = code->bytes > SELFMAG && memcmp(code->at, ELFMAG, SELFMAG) == 0;
    return is_elf ? elf_kernel(code, name, k) : ptx_kernel(code, name, k);
}
