#include "toolchain/cubin.h"
#include "toolchain/elf_priv.h"

#include <string.h>

// Attributes of .nv.info, each (u32 symbol, u32 value).
enum { EIATTR_FRAME_SIZE = 0x11, EIATTR_MIN_STACK_SIZE = 0x12, EIATTR_REGCOUNT = 0x2f };
// How an attribute's value is stored: in the record's own third and fourth byte, or after them with its size there.
enum { EIFMT_SIZED = 4 };
enum { SYMBOL_IS_ENTRY = 0x10 }; // STO_CUDA_ENTRY, in st_other
enum { FIRST_ARCH_WITH_RESERVED_SHARED = 90, RESERVED_SHARED_BYTES = 1024 };

typedef struct reader {
    arena *arena;
    tool_elf elf;
    str symbols, names;
    tool_usage_list *out;
} reader;

static uint32_t u32_at(str bytes, size_t offset)
{
    uint32_t value;
    memcpy(&value, bytes.at + offset, sizeof value);
    return value;
}

static uint32_t u16_at(str bytes, size_t offset)
{
    uint16_t value;
    memcpy(&value, bytes.at + offset, sizeof value);
    return value;
}

static bool symbol_at(const reader *r, size_t index, Elf64_Sym *symbol, str *name)
{
    if (index >= r->symbols.len / sizeof *symbol)
        return false;
    memcpy(symbol, r->symbols.at + index * sizeof *symbol, sizeof *symbol);
    *name = tool_elf_string(r->names, symbol->st_name);
    return true;
}

static tool_usage *find(const tool_usage_list *list, str kernel)
{
    uintptr_t number = list->kernels.len ? (uintptr_t)map_get(&list->numbers, kernel.at, kernel.len) : 0;
    return number ? &list->kernels.at[number - 1] : NULL;
}

void tool_usage_add(arena *a, tool_usage_list *list, tool_usage kernel)
{
    if (!list->kernels.len)
        map_init(&list->numbers, a);
    VEC_PUSH(a, &list->kernels, kernel);
    map_put(&list->numbers, kernel.kernel, strlen(kernel.kernel), (void *)(uintptr_t)list->kernels.len);
}

static bool read_tables(reader *r)
{
    tool_elf_section symbols, names;
    if (!tool_elf_section_named(&r->elf, STR(".symtab"), &symbols) ||
        !tool_elf_section_at(&r->elf, symbols.header.sh_link, &names))
        return false;
    r->symbols = symbols.bytes;
    r->names = names.bytes;
    return true;
}

static void add_shared(reader *r, tool_usage *usage)
{
    tool_elf_section section;
    str name = str_of(arena_printf(r->arena, ".nv.shared.%s", usage->kernel));
    if (!tool_elf_section_named(&r->elf, name, &section) || section.header.sh_size > UINT32_MAX)
        return;
    usage->shared_bytes = (uint32_t)section.header.sh_size;
    // The section begins with the system's part ("reserved shared memory": CUDA C++ Programming Guide, compute
    // capability 9.0, 1 KB per block).
    if (r->out->arch >= FIRST_ARCH_WITH_RESERVED_SHARED && usage->shared_bytes >= RESERVED_SHARED_BYTES) {
        usage->shared_bytes -= RESERVED_SHARED_BYTES;
        usage->reserved_bytes = RESERVED_SHARED_BYTES;
    }
}

static void add_kernels(reader *r)
{
    Elf64_Sym symbol;
    str name;
    for (size_t i = 0; symbol_at(r, i, &symbol, &name); i++) {
        tool_elf_section text;
        bool is_entry = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & SYMBOL_IS_ENTRY);
        if (!is_entry || !name.len || !tool_elf_section_at(&r->elf, symbol.st_shndx, &text))
            continue;
        tool_usage usage = {.kernel = arena_strndup(r->arena, name.at, name.len),
                            .code_bytes = (uint32_t)symbol.st_size,
                            .spill_store_bytes = -1,
                            .spill_load_bytes = -1};
        // The section header had the register count before .nv.info had it.
        usage.registers = text.header.sh_info >> 24;
        add_shared(r, &usage);
        tool_usage_add(r->arena, r->out, usage);
    }
}

static void add_attribute(reader *r, int attribute, str value)
{
    // Recursion has no bound: ptxas writes -1.
    const uint32_t unknown = UINT32_MAX;
    Elf64_Sym symbol;
    str name;
    if (value.len < 8 || !symbol_at(r, u32_at(value, 0), &symbol, &name))
        return;
    tool_usage *usage = find(r->out, name);
    uint32_t number = u32_at(value, 4);
    if (!usage || number == unknown)
        return;
    if (attribute == EIATTR_REGCOUNT)
        usage->registers = number;
    // The stack counts called functions, the frame does not: take the larger, whatever their order.
    if ((attribute == EIATTR_MIN_STACK_SIZE || attribute == EIATTR_FRAME_SIZE) && number > usage->stack_bytes)
        usage->stack_bytes = number;
}

static bool read_attributes(reader *r, str info)
{
    size_t at = 0;
    while (at + 4 <= info.len) {
        int format = (unsigned char)info.at[at], attribute = (unsigned char)info.at[at + 1];
        size_t size = format == EIFMT_SIZED ? u16_at(info, at + 2) : 0;
        if (size > info.len - at - 4)
            return false;
        if (format == EIFMT_SIZED)
            add_attribute(r, attribute, (str){info.at + at + 4, size});
        at += 4 + size;
    }
    return true;
}

bool tool_cubin_usage(arena *a, const void *cubin, size_t size, tool_usage_list *out)
{
    *out = (tool_usage_list){0};
    reader r = {.arena = a, .out = out};
    tool_elf_section info;
    if (!tool_elf_open((str){cubin, size}, &r.elf) || !read_tables(&r))
        return false;
    out->arch = tool_elf_arch(&r.elf);
    add_kernels(&r);
    return !tool_elf_section_named(&r.elf, STR(".nv.info"), &info) || read_attributes(&r, info.bytes);
}

const tool_usage *tool_usage_of(const tool_usage_list *usage, const char *kernel)
{
    return find(usage, str_of(kernel));
}

// ---- ptxas' account of spills -----------------------------------------------------------------------------------

// The number before [unit] in 'N bytes stack frame, N bytes spill stores, N bytes spill loads'; -1 if it is not there.
static int64_t number_before(str line, str unit)
{
    const char *found = memmem(line.at, line.len, unit.at, unit.len);
    if (!found || found == line.at)
        return -1;
    const char *at = found;
    while (at > line.at && at[-1] >= '0' && at[-1] <= '9')
        at--;
    int64_t value = 0;
    if (at == found || found - at > 18)
        return -1;
    for (; at < found; at++)
        value = value * 10 + (*at - '0');
    return value;
}

void tool_usage_add_log(tool_usage_list *usage, str log)
{
    static const char heading[] = "Function properties for ";
    tool_usage *current = NULL;
    while (log.len) {
        const char *end = memchr(log.at, '\n', log.len);
        str line = {log.at, end ? (size_t)(end - log.at) : log.len};
        log = (str){log.at + line.len + (end != NULL), log.len - line.len - (end != NULL)};
        const char *found = memmem(line.at, line.len, heading, sizeof heading - 1);
        if (found) {
            const char *name = found + sizeof heading - 1;
            current = find(usage, (str){name, (size_t)(line.at + line.len - name)});
        }
        int64_t stores = number_before(line, STR(" bytes spill stores"));
        if (!current || stores < 0)
            continue;
        current->spill_store_bytes = stores;
        current->spill_load_bytes = number_before(line, STR(" bytes spill loads"));
        current = NULL;
    }
}

// ---- the PTX ----------------------------------------------------------------------------------------------------

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// The number in '.local .align 16 .b8 __local_depot0[144];', with which a body begins that has one at all.
static int64_t depot_bytes(str body)
{
    static const char depot[] = "__local_depot";
    const char *end = body.at + body.len, *at = memmem(body.at, body.len, depot, sizeof depot - 1);
    at = at ? memchr(at, '[', (size_t)(end - at)) : NULL;
    int64_t bytes = 0;
    for (at = at ? at + 1 : end; at < end && *at >= '0' && *at <= '9' && bytes < INT32_MAX; at++)
        bytes = bytes * 10 + (*at - '0');
    return bytes;
}

// A kernel is '.entry NAME(…)' up to the next kernel or function.
void tool_ptx_locals_of(arena *a, str ptx, tool_ptx_locals *out)
{
    static const char entry[] = ".entry ", func[] = "\n.func";
    const char *end = ptx.at + ptx.len, *at = ptx.len ? memmem(ptx.at, ptx.len, entry, sizeof entry - 1) : NULL;
    map_init(&out->bytes, a);
    while (at) {
        str name = {at + sizeof entry - 1, 0};
        while (name.at + name.len < end && is_word(name.at[name.len]))
            name.len++;
        const char *begin = name.at + name.len;
        const char *next = memmem(begin, (size_t)(end - begin), entry, sizeof entry - 1), *until = next ? next : end;
        const char *function = memmem(begin, (size_t)(until - begin), func, sizeof func - 1);
        int64_t bytes = depot_bytes((str){begin, (size_t)((function ? function : until) - begin)});
        if (bytes)
            map_put(&out->bytes, name.at, name.len, (void *)(intptr_t)bytes);
        at = next;
    }
}

int64_t tool_ptx_local_bytes(const tool_ptx_locals *locals, const char *kernel)
{
    return (intptr_t)map_get(&locals->bytes, kernel, strlen(kernel));
}
