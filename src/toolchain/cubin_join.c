#include "toolchain/cubin_join.h"

#include <stdint.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "toolchain/elf_priv.h"

// ---- the forms of sections --------------------------------------------------------------------------------------

// What becomes of sections of one name.
typedef enum treatment {
    MADE,     // anew: the tables of names
    SAME,     // equal in all, taken once
    ANY,      // of the first file: says which build of the tool made it, of which NVRTC has one inside and ptxas is another
    APPENDED, // one behind the other
    OWN,      // of one kernel
    ALONE,    // of one file, or equal in all: kernels have numbers of such a table in their code
} treatment;

// How the bytes change. Literals of a kernel do not, nor do targets of its jumps beside them, which count from its first byte.
typedef enum content { PLAIN, CODE, LITERALS, INFO, COMPAT, CALLS, FRAMES, RELOCATIONS } content;

typedef struct form {
    const char *name;  // of sections of kernels: what the kernel's name comes after
    treatment treatment;
    content content;
} form;

// In the order of the file.
static const form forms[] = {
    {".shstrtab", MADE, PLAIN},
    {".strtab", MADE, PLAIN},
    {".symtab", MADE, PLAIN},
    {".debug_frame", APPENDED, FRAMES},
    {".note.nv.tkinfo", ANY, PLAIN},
    {".note.nv.cuinfo", SAME, PLAIN},
    {".nv.info", APPENDED, INFO},
    {".nv.compat", APPENDED, COMPAT},
    {".nv.info.", OWN, INFO},
    {".nv.callgraph", APPENDED, CALLS},
    {".nv.rel.action", SAME, PLAIN},
    {".rela.text.", OWN, RELOCATIONS},
    {".rel.text.", OWN, RELOCATIONS},
    {".rela.nv.constant2.", OWN, RELOCATIONS},
    {".rel.nv.constant2.", OWN, RELOCATIONS},
    {".rela.nv.constant4", ALONE, RELOCATIONS},
    {".rel.nv.constant4", ALONE, RELOCATIONS},
    {".rela.debug_frame", APPENDED, RELOCATIONS},
    {".rel.debug_frame", APPENDED, RELOCATIONS},
    {".nv.constant4", ALONE, PLAIN},
    {".nv.constant2.", OWN, LITERALS},
    {".text.", OWN, CODE},
    {".nv.global.init", ALONE, PLAIN},
    {".nv.shared.reserved.0", SAME, PLAIN},
    {".nv.shared.", OWN, PLAIN},
    {".nv.constant0.", OWN, PLAIN},
};
enum { FORM_NAMES, FORM_STRINGS, FORM_SYMBOLS, FORM_COUNT = sizeof forms / sizeof *forms };

// Before sm_90 constants come before the code, and both are one segment. Tables of addresses always come before it; texts of
// printf are in memory that can be written, as shared memory is.
typedef enum segment { NO_SEGMENT, TABLE_SEGMENT, CODE_SEGMENT, WRITTEN_SEGMENT, CONSTANT_SEGMENT } segment;

typedef struct section {
    const form *form;
    str name;
    Elf64_Shdr header;
    str_buf bytes;
    uint16_t index;
    size_t order;  // of being found
} section;

typedef struct input {
    tool_elf elf;
    tool_elf_section *in;   // by index
    section **out;          // by index: where it goes
    uint64_t *base;         // by index: how many bytes were there before
    str symbols, names;
    size_t symbol_count;
    uint32_t *symbol_map;   // from index to index
    size_t first_global, end_of_globals;
} input;

typedef struct joiner {
    arena *arena;
    input *inputs;
    size_t count;
    VEC(section *) sections;
    section *shared[FORM_COUNT];  // those that there is one of
    VEC(Elf64_Sym) symbols;
    str_buf strings;
    map known;           // symbols that all inputs have, by name and section; names of kernels
    size_t first_global;
    int internals;       // functions of ptxas' own, such as divisions
    bool is_code_last;   // constants come before it
    const char *why;
} joiner;

static bool refuse(joiner *j, const char *why)
{
    if (!j->why)
        j->why = why;
    return false;
}

// ---- reading ----------------------------------------------------------------------------------------------------

static const form *form_of(str name)
{
    for (size_t i = 0; i < FORM_COUNT; i++) {
        str known = str_of(forms[i].name);
        if (forms[i].treatment == OWN ? name.len > known.len && str_starts(name, known) : str_equal(name, known))
            return &forms[i];
    }
    return NULL;
}

static bool is_alike(const tool_elf *a, const tool_elf *b)
{
    return memcmp(a->header.e_ident, b->header.e_ident, EI_NIDENT) == 0 && a->header.e_type == b->header.e_type &&
           a->header.e_version == b->header.e_version && a->header.e_flags == b->header.e_flags;
}

static section *new_section(joiner *j, const form *of, const tool_elf_section *in)
{
    section *s = ARENA_NEW(j->arena, section);
    *s = (section){.form = of, .name = in->name, .header = in->header, .order = j->sections.len};
    str_buf_init(&s->bytes, j->arena);
    VEC_PUSH(j->arena, &j->sections, s);
    return s;
}

// What is taken once must be equal in all.
static bool is_same(const tool_elf_section *in, const section *out, const tool_elf_section *first)
{
    return in->header.sh_size == out->header.sh_size && in->header.sh_flags == out->header.sh_flags &&
           str_equal(in->bytes, first->bytes);
}

static const tool_elf_section *first_of(const joiner *j, const section *s)
{
    for (size_t i = 0; i < j->count; i++) {
        const input *in = &j->inputs[i];
        for (size_t k = 1; in->out && k < in->elf.header.e_shnum; k++) {
            if (in->out[k] == s)
                return &in->in[k];
        }
    }
    return NULL;
}

static segment segment_of(const section *s)
{
    if (!(s->header.sh_flags & SHF_ALLOC))
        return NO_SEGMENT;
    if (s->form->content == CODE)
        return CODE_SEGMENT;
    if (s->header.sh_flags & SHF_WRITE)
        return WRITTEN_SEGMENT;
    return s->form->treatment == ALONE || s->form->content == LITERALS ? TABLE_SEGMENT : CONSTANT_SEGMENT;
}

static bool place_section(joiner *j, input *in, size_t index)
{
    enum { MOST_ALIGNMENT = 4096 };
    const tool_elf_section *from = &in->in[index];
    if (from->header.sh_addralign > MOST_ALIGNMENT)
        return refuse(j, "a damaged header");
    const form *f = form_of(from->name);
    if (!f)
        return refuse(j, arena_printf(j->arena, "section '%.*s'", (int)from->name.len, from->name.at));
    section **shared = &j->shared[f - forms];
    if (f->treatment == OWN || !*shared)
        in->out[index] = new_section(j, f, from);
    else if (f->treatment == ALONE && from->header.sh_size != (*shared)->header.sh_size)
        return refuse(j, arena_printf(j->arena, "two sections '%s'", f->name));
    else if (f->treatment == SAME && !is_same(from, *shared, first_of(j, *shared)))
        return refuse(j, arena_printf(j->arena, "sections '%s' that differ", f->name));
    else
        in->out[index] = *shared;
    if (f->treatment != OWN)
        *shared = in->out[index];
    if (f->content == CODE && j->shared[0] && !j->is_code_last)
        j->is_code_last = segment_of(in->out[index - 1]) == CONSTANT_SEGMENT;
    return true;
}

static bool read_symbols(joiner *j, input *in)
{
    tool_elf_section symbols, names;
    if (!tool_elf_section_named(&in->elf, STR(".symtab"), &symbols) ||
        !tool_elf_section_at(&in->elf, symbols.header.sh_link, &names))
        return refuse(j, "no symbols");
    in->symbols = symbols.bytes;
    in->names = names.bytes;
    in->symbol_count = symbols.bytes.len / sizeof(Elf64_Sym);
    in->symbol_map = ARENA_ARRAY(j->arena, uint32_t, in->symbol_count + 1);
    for (size_t i = 0; i < in->symbol_count; i++) {
        Elf64_Sym s;
        memcpy(&s, in->symbols.at + i * sizeof s, sizeof s);
        if (ELF64_ST_BIND(s.st_info) != STB_GLOBAL)
            continue;
        in->first_global = in->end_of_globals ? in->first_global : i;
        in->end_of_globals = i + 1;
    }
    return in->end_of_globals ? true : refuse(j, "no kernels");
}

static bool read_input(joiner *j, str cubin, input *in)
{
    if (!tool_elf_open(cubin, &in->elf) || !is_alike(&in->elf, &j->inputs[0].elf))
        return refuse(j, "files of different forms");
    size_t count = in->elf.header.e_shnum;
    in->in = ARENA_ARRAY(j->arena, tool_elf_section, count);
    in->out = ARENA_ARRAY(j->arena, section *, count);
    in->base = ARENA_ARRAY(j->arena, uint64_t, count);
    for (size_t i = 1; i < count; i++) {
        if (!tool_elf_section_at(&in->elf, i, &in->in[i]) || !place_section(j, in, i))
            return refuse(j, "a damaged file");
    }
    return read_symbols(j, in);
}

// ---- the order of sections --------------------------------------------------------------------------------------

static size_t rank_of(const joiner *j, const section *s)
{
    size_t rank = 2 * (size_t)(s->form - forms);
    bool is_before = j->is_code_last && segment_of(s) == CONSTANT_SEGMENT;
    return is_before ? 2 * (size_t)(form_of(STR(".text.k")) - forms) - 1 : rank;
}

static bool order_sections(joiner *j)
{
    if (j->sections.len + 1 >= SHN_LORESERVE)
        return refuse(j, "too many sections");
    // Few ranks: by counting through them, what was found first comes first.
    uint16_t index = 1;
    VEC(section *) ordered = {0};
    for (size_t rank = 0; rank < 2 * FORM_COUNT; rank++) {
        for (size_t i = 0; i < j->sections.len; i++) {
            section *s = j->sections.at[i];
            if (rank_of(j, s) != rank)
                continue;
            s->index = index++;
            VEC_PUSH(j->arena, &ordered, s);
        }
    }
    memcpy(j->sections.at, ordered.at, ordered.len * sizeof *ordered.at);
    return true;
}

// ---- symbols ----------------------------------------------------------------------------------------------------

static uint32_t add_string(joiner *j, str text)
{
    uint32_t offset = (uint32_t)j->strings.len;
    str_add(&j->strings, text);
    str_addc(&j->strings, '\0');
    return offset;
}

// ptxas numbers its own functions: "$__internal_0_$__cuda_sm20_div_rn_f64_full".
static str unique_name(joiner *j, str name)
{
    static const char prefix[] = "$__internal_";
    if (!str_starts(name, STR("$__internal_")))
        return name;
    const char *rest = memmem(name.at + sizeof prefix - 1, name.len - (sizeof prefix - 1), "_$", 2);
    if (!rest)
        return name;
    int len = (int)(name.at + name.len - rest);
    return str_of(arena_printf(j->arena, "%s%d%.*s", prefix, j->internals++, len, rest));
}

// Symbols that each input has: of sections that there is one of, and of none.
static bool is_common(const section *where)
{
    return !where || where->form->treatment != OWN;
}

static bool add_symbol(joiner *j, input *in, size_t index)
{
    Elf64_Sym s;
    memcpy(&s, in->symbols.at + index * sizeof s, sizeof s);
    if (s.st_shndx >= in->elf.header.e_shnum)
        return refuse(j, "a symbol of no section");
    const section *where = in->out[s.st_shndx];
    str name = tool_elf_string(in->names, s.st_name);
    bool is_global = ELF64_ST_BIND(s.st_info) == STB_GLOBAL;
    int number = is_global ? 0 : where ? where->index : -1;
    const char *key = arena_printf(j->arena, "%d %.*s", number, (int)name.len, name.at);
    size_t known = (size_t)map_get(&j->known, key, strlen(key));
    if (known && is_global)
        return refuse(j, "two kernels of one name");
    if (known && is_common(where)) {
        const Elf64_Sym *other = &j->symbols.at[known];
        in->symbol_map[index] = (uint32_t)known;
        return (s.st_value == other->st_value && s.st_size == other->st_size && s.st_info == other->st_info) ||
               refuse(j, "symbols that differ");
    }
    bool is_external = !where && ELF64_ST_TYPE(s.st_info) == STT_FUNC; // vprintf, which is the driver's
    if (is_global && !is_external && (!where || where->form->content != CODE))
        return refuse(j, "a global variable");
    s.st_name = name.len ? add_string(j, unique_name(j, name)) : 0;
    s.st_shndx = where ? where->index : 0;
    in->symbol_map[index] = (uint32_t)j->symbols.len;
    map_put(&j->known, key, strlen(key), (void *)j->symbols.len);
    VEC_PUSH(j->arena, &j->symbols, s);
    return true;
}

// Those before the kernels, the kernels, those behind them: where ptxas puts symbols depends on the architecture.
static bool join_symbols(joiner *j)
{
    str_addc(&j->strings, '\0');
    VEC_PUSH(j->arena, &j->symbols, ((Elf64_Sym){0}));
    for (int phase = 0; phase < 3; phase++) {
        for (size_t i = 0; i < j->count; i++) {
            input *in = &j->inputs[i];
            const size_t ends[] = {1, in->first_global, in->end_of_globals, in->symbol_count};
            for (size_t k = ends[phase]; k < ends[phase + 1]; k++) {
                if (!add_symbol(j, in, k))
                    return false;
            }
        }
        if (phase == 0)
            j->first_global = j->symbols.len;
    }
    return true;
}

// ---- contents ---------------------------------------------------------------------------------------------------

static uint32_t u32_at(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool map_symbol(joiner *j, const input *in, char *at)
{
    uint32_t index = u32_at(at);
    if (index >= in->symbol_count)
        return refuse(j, "an unknown symbol");
    memcpy(at, &in->symbol_map[index], sizeof index);
    return true;
}

// Attributes (docs of the numbers: cubin.h): which have the index of a symbol in front, and which have none.
static bool has_symbol(int attribute)
{
    static const unsigned char with[] = {0x0a, 0x11, 0x12, 0x23, 0x2f};
    return memchr(with, attribute, sizeof with) != NULL;
}

// Functions that are in no file: all of it are indices of symbols.
static bool map_external(joiner *j, const input *in, char *at, size_t len)
{
    bool ok = len % 4 == 0;
    for (size_t i = 0; i < len && ok; i += 4)
        ok = map_symbol(j, in, at + i);
    return ok;
}

static bool is_plain(int attribute)
{
    static const unsigned char plain[] = {
        0x04, 0x05, 0x10, 0x17, 0x19, 0x1b, 0x1c, 0x1d, 0x1e, 0x25, 0x26, 0x28, 0x29, 0x2a, 0x2b, 0x30,
        0x31, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3d, 0x3e, 0x3f, 0x41, 0x44, 0x46, 0x4a, 0x4c, 0x50, 0x54, 0x55, 0x5f,
    };
    return memchr(plain, attribute, sizeof plain) != NULL;
}

static bool map_info(joiner *j, const input *in, char *at, size_t len)
{
    enum { SIZED = 4, EXTERNAL = 0x0f };
    for (size_t size; len >= 4; at += size, len -= size) {
        uint16_t value;
        memcpy(&value, at + 2, sizeof value);
        int attribute = (unsigned char)at[1];
        size = 4 + (at[0] == SIZED ? value : 0);
        if (size > len)
            return refuse(j, "damaged attributes");
        if (has_symbol(attribute) && (size < 8 || !map_symbol(j, in, at + 4)))
            return refuse(j, "damaged attributes");
        if (attribute == EXTERNAL && !map_external(j, in, at + 4, size - 4))
            return refuse(j, "damaged attributes");
        if (!has_symbol(attribute) && !is_plain(attribute) && attribute != EXTERNAL)
            return refuse(j, arena_printf(j->arena, "attribute 0x%02x of kernels", (unsigned)attribute));
    }
    return true;
}

// What the GPU must have for all kernels: of two, the higher class of instructions, and tensor maps if either uses them; the rest is
// the same in all.
static bool merge_compat(joiner *j, const char *at, size_t len, str_buf *out)
{
    enum { SIZED = 4, ISA_CLASS = 0x02, TENSORMAP = 0x03 };
    if (!out->len) {
        str_add(out, (str){at, len});
        return true;
    }
    if (out->len != len)
        return refuse(j, "sections '.nv.compat' that differ");
    for (size_t i = 0, size; i < len; i += size) {
        char *known = out->at + i;
        uint16_t value = 0, other = 0;
        if (len - i >= 4) {
            memcpy(&value, at + i + 2, sizeof value);
            memcpy(&other, known + 2, sizeof other);
        }
        size = 4 + (at[i] == SIZED ? value : 0);
        bool is_highest = len - i >= 4 && at[i] != SIZED && (at[i + 1] == ISA_CLASS || at[i + 1] == TENSORMAP);
        if (size > len - i || memcmp(at + i, known, is_highest ? 2 : size) != 0)
            return refuse(j, "sections '.nv.compat' that differ");
        if (is_highest && value > other)
            memcpy(known + 2, &value, sizeof value);
    }
    return true;
}

// Pairs of caller and callee; four pairs that stand in every file come first.
static bool map_calls(joiner *j, const input *in, char *at, size_t len, str_buf *out)
{
    enum { PAIR = 8, LEAST_SPECIAL = -16 };
    bool is_first = out->len == 0;
    for (; len >= PAIR; at += PAIR, len -= PAIR) {
        bool is_special = (int32_t)u32_at(at + 4) < 0 && (int32_t)u32_at(at + 4) >= LEAST_SPECIAL;
        if (is_special && !u32_at(at) && !is_first)
            continue;
        if (!map_symbol(j, in, at) || (!is_special && !map_symbol(j, in, at + 4)))
            return false;
        str_add(out, (str){at, PAIR});
    }
    return true;
}

// DWARF's .debug_frame in its 64-bit form: a frame names the offset of the record of its kind.
static bool map_frames(joiner *j, char *at, size_t len, uint64_t base)
{
    enum { HEAD = 12, ID = 8 };
    while (len) {
        uint64_t size, kind;
        if (len < HEAD + ID || u32_at(at) != UINT32_MAX)
            return refuse(j, "frames of another form");
        memcpy(&size, at + 4, sizeof size);
        memcpy(&kind, at + HEAD, sizeof kind);
        if (size < ID || size > len - HEAD)
            return refuse(j, "damaged frames");
        kind += kind == UINT64_MAX ? 0 : base;
        memcpy(at + HEAD, &kind, sizeof kind);
        at += HEAD + size;
        len -= HEAD + (size_t)size;
    }
    return true;
}

static bool map_relocations(joiner *j, const input *in, const tool_elf_section *from, char *at, size_t len)
{
    size_t entry = from->header.sh_entsize, target = from->header.sh_info;
    if ((entry != sizeof(Elf64_Rela) && entry != sizeof(Elf64_Rel)) || len % entry || target >= in->elf.header.e_shnum)
        return refuse(j, "damaged relocations");
    for (; len; at += entry, len -= entry) {
        Elf64_Rel r;
        memcpy(&r, at, sizeof r);
        if (ELF64_R_SYM(r.r_info) >= in->symbol_count)
            return refuse(j, "an unknown symbol");
        r.r_offset += in->base[target];
        r.r_info = ELF64_R_INFO((uint64_t)in->symbol_map[ELF64_R_SYM(r.r_info)], ELF64_R_TYPE(r.r_info));
        memcpy(at, &r, sizeof r);
    }
    return true;
}

static bool add_content(joiner *j, const input *in, size_t index)
{
    const tool_elf_section *from = &in->in[index];
    section *to = in->out[index];
    size_t len = from->bytes.len;
    char *bytes = arena_dup(j->arena, len ? from->bytes.at : "", len);
    bool ok = true;
    switch (to->form->content) {
    case INFO: ok = map_info(j, in, bytes, len); break;
    case COMPAT: return merge_compat(j, bytes, len, &to->bytes);
    case CALLS: return map_calls(j, in, bytes, len, &to->bytes);
    case FRAMES: ok = map_frames(j, bytes, len, in->base[index]); break;
    case RELOCATIONS: ok = map_relocations(j, in, from, bytes, len); break;
    case PLAIN:
    case LITERALS:
    case CODE: break;
    }
    if (ok && to->form->treatment == ALONE && to->bytes.len) // of another file, too
        return str_equal((str){to->bytes.at, to->bytes.len}, (str){bytes, len}) ||
               refuse(j, arena_printf(j->arena, "two sections '%s'", to->form->name));
    if (ok)
        str_add(&to->bytes, (str){bytes, len});
    return ok;
}

static bool join_contents(joiner *j)
{
    uint64_t lengths[FORM_COUNT] = {0};
    for (size_t i = 0; i < j->count; i++) {
        input *in = &j->inputs[i];
        for (size_t k = 1; k < in->elf.header.e_shnum; k++) {
            const form *f = in->out[k]->form;
            in->base[k] = f->treatment == APPENDED ? lengths[f - forms] : 0;
            lengths[f - forms] += in->in[k].bytes.len;
        }
        for (size_t k = 1; k < in->elf.header.e_shnum; k++) {
            const section *to = in->out[k];
            bool is_once = to->form->treatment == SAME || to->form->treatment == ANY;
            bool is_there = is_once && (to->bytes.len || to->header.sh_type == SHT_NOBITS);
            if (to->form->treatment != MADE && !is_there && !add_content(j, in, k))
                return false;
        }
    }
    return true;
}

// ---- headers ----------------------------------------------------------------------------------------------------

// Links name sections, and so does the information of most; that of code is the kernel, and its registers above that.
static bool map_header(joiner *j, const input *in, size_t index)
{
    enum { SYMBOL_MASK = 0xffffff };
    const Elf64_Shdr *from = &in->in[index].header;
    section *to = in->out[index];
    if (from->sh_link >= in->elf.header.e_shnum)
        return refuse(j, "a damaged header");
    to->header.sh_link = from->sh_link ? in->out[from->sh_link]->index : 0;
    if (to->form->content == CODE) {
        uint32_t symbol = from->sh_info & SYMBOL_MASK;
        if (symbol >= in->symbol_count || in->symbol_map[symbol] > SYMBOL_MASK)
            return refuse(j, "a damaged header");
        to->header.sh_info = (from->sh_info & ~(uint32_t)SYMBOL_MASK) | in->symbol_map[symbol];
    } else if (from->sh_info && to->form->treatment != MADE) {
        if (from->sh_info >= in->elf.header.e_shnum)
            return refuse(j, "a damaged header");
        to->header.sh_info = in->out[from->sh_info]->index;
    }
    return true;
}

static bool join_headers(joiner *j)
{
    for (size_t i = 0; i < j->count; i++) {
        const input *in = &j->inputs[i];
        for (size_t k = 1; k < in->elf.header.e_shnum; k++) {
            if (!map_header(j, in, k))
                return false;
        }
    }
    section *table = j->shared[FORM_SYMBOLS];
    bool counts_all = table->header.sh_info == j->inputs[0].symbol_count;
    table->header.sh_info = (uint32_t)(counts_all ? j->symbols.len : j->first_global);
    str_add(&table->bytes, (str){(const char *)j->symbols.at, j->symbols.len * sizeof *j->symbols.at});
    str_add(&j->shared[FORM_STRINGS]->bytes, (str){j->strings.at, j->strings.len});
    str_buf *names = &j->shared[FORM_NAMES]->bytes;
    str_addc(names, '\0');
    for (size_t i = 0; i < j->sections.len; i++) {
        section *s = j->sections.at[i];
        s->header.sh_name = (uint32_t)names->len;
        str_add(names, s->name);
        str_addc(names, '\0');
    }
    return true;
}

// ---- the file ---------------------------------------------------------------------------------------------------

static void align(str_buf *out, uint64_t alignment)
{
    while (alignment > 1 && out->len % alignment)
        str_addc(out, '\0');
}

static uint64_t aligned(uint64_t value, uint64_t alignment)
{
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

static void write_sections(joiner *j, str_buf *out)
{
    for (size_t i = 0; i < j->sections.len; i++) {
        section *s = j->sections.at[i];
        bool has_bytes = s->header.sh_type != SHT_NOBITS;
        if (has_bytes)
            align(out, s->header.sh_addralign);
        s->header.sh_offset = out->len;
        if (has_bytes)
            s->header.sh_size = s->bytes.len;
        str_add(out, (str){s->bytes.at, s->bytes.len});
    }
}

// Where the sections of a segment are.
static Elf64_Phdr extent_of(const joiner *j, unsigned segments, uint32_t flags)
{
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = flags, .p_align = 8};
    bool is_first = true;
    for (size_t i = 0; i < j->sections.len; i++) {
        const Elf64_Shdr *h = &j->sections.at[i]->header;
        if (!(segments >> segment_of(j->sections.at[i]) & 1))
            continue;
        if (is_first)
            p.p_offset = h->sh_offset;
        is_first = false;
        if (h->sh_type == SHT_NOBITS) {
            p.p_memsz = aligned(p.p_memsz, h->sh_addralign) + h->sh_size;
        } else {
            p.p_filesz = p.p_memsz = h->sh_offset + h->sh_size - p.p_offset;
        }
    }
    return p;
}

static bool has_segment(const joiner *j, segment which)
{
    for (size_t i = 0; i < j->sections.len; i++) {
        if (segment_of(j->sections.at[i]) == which)
            return true;
    }
    return false;
}

// The table of segments is one itself, and comes first where constants follow the code, else last.
static size_t make_segments(const joiner *j, Elf64_Phdr out[6])
{
    size_t count = 1;
    uint32_t own_flags = j->is_code_last ? PF_R | PF_X : PF_R;
    if (!j->is_code_last)
        out[count++] = (Elf64_Phdr){.p_type = PT_LOAD};
    unsigned code = 1U << CODE_SEGMENT | (j->is_code_last ? 1U << TABLE_SEGMENT | 1U << CONSTANT_SEGMENT : 0);
    if (!j->is_code_last && has_segment(j, TABLE_SEGMENT))
        out[count++] = extent_of(j, 1U << TABLE_SEGMENT, PF_R);
    out[count++] = extent_of(j, code, PF_R | PF_X);
    if (has_segment(j, WRITTEN_SEGMENT))
        out[count++] = extent_of(j, 1U << WRITTEN_SEGMENT, PF_R | PF_W);
    if (!j->is_code_last)
        out[count++] = extent_of(j, 1U << CONSTANT_SEGMENT, PF_R);
    else
        out[count++] = (Elf64_Phdr){.p_type = PT_LOAD};
    out[0] = (Elf64_Phdr){.p_type = PT_PHDR, .p_flags = own_flags, .p_align = 8};
    return count;
}

static void write_file(joiner *j, str *result)
{
    Elf64_Ehdr header = j->inputs[0].elf.header;
    Elf64_Phdr segments[6];
    Elf64_Shdr none = {0};
    str_buf out;
    str_buf_init(&out, j->arena);
    str_add(&out, (str){(const char *)&header, sizeof header});
    write_sections(j, &out);
    align(&out, 8);
    header.e_shoff = out.len;
    header.e_shnum = (uint16_t)(j->sections.len + 1);
    header.e_shstrndx = j->shared[FORM_NAMES]->index;
    str_add(&out, (str){(const char *)&none, sizeof none});
    for (size_t i = 0; i < j->sections.len; i++)
        str_add(&out, (str){(const char *)&j->sections.at[i]->header, sizeof none});
    size_t count = make_segments(j, segments);
    header.e_phoff = out.len;
    header.e_phnum = (uint16_t)count;
    for (size_t i = 0; i < count; i++) {
        // Segments without an offset hold the program header table itself.
        if (!segments[i].p_offset && segments[i].p_type == PT_LOAD)
            segments[i].p_flags = segments[0].p_flags, segments[i].p_align = 8;
        if (!segments[i].p_offset) {
            segments[i].p_offset = header.e_phoff;
            segments[i].p_filesz = segments[i].p_memsz = count * sizeof *segments;
        }
    }
    str_add(&out, (str){(const char *)segments, count * sizeof *segments});
    memcpy(out.at, &header, sizeof header);
    *result = (str){str_text(&out), out.len};
}

bool tool_cubin_join(arena *a, const str *cubins, size_t count, str *out, const char **why)
{
    // Blackwell's files hold the code in a second form, which is not understood here.
    enum { FIRST_ARCH = 75, LAST_ARCH = 90 };
    joiner j = {.arena = a, .count = count, .inputs = ARENA_ARRAY(a, input, count + 1)};
    str_buf_init(&j.strings, a);
    map_init(&j.known, a);
    bool ok = count > 0 && tool_elf_open(cubins[0], &j.inputs[0].elf);
    int number = ok ? tool_elf_arch(&j.inputs[0].elf) : 0;
    if (!ok || number < FIRST_ARCH || number > LAST_ARCH)
        ok = refuse(&j, "files of an unknown form");
    for (size_t i = 0; i < count && ok; i++)
        ok = read_input(&j, cubins[i], &j.inputs[i]);
    if (ok && (!j.shared[FORM_NAMES] || !j.shared[FORM_STRINGS] || !j.shared[FORM_SYMBOLS]))
        ok = refuse(&j, "a damaged file");
    ok = ok && order_sections(&j) && join_symbols(&j) && join_contents(&j) && join_headers(&j);
    if (ok)
        write_file(&j, out);
    *why = j.why;
    return ok;
}
