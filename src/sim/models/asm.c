// asm(…) of hidet.lang: straight-line PTX over registers (PTX ISA 9.7.1 integers, 9.7.3 floats, 9.7.8 logic and
// shifts).
//
// A template is a list of instructions with operands {o0}, {result}, numbers and %laneid. What has declarations,
// predicates, memory or an opcode that is not in the table below has no model.
#include "sim/models/models_priv.h"

#include <ctype.h>

enum { MAX_SOURCES = 3 };

typedef enum asm_operation {
    ASM_MOV,
    ASM_ADD,
    ASM_SUB,
    ASM_MUL,
    ASM_MUL_HI,
    ASM_MUL_WIDE,
    ASM_MAD,
    ASM_MIN,
    ASM_MAX,
    ASM_AND,
    ASM_OR,
    ASM_XOR,
    ASM_NOT,
    ASM_SHL,
    ASM_SHR,
    ASM_NEG,
    ASM_ABS,
} asm_operation;

static const struct {
    const char *name;
    asm_operation operation;
    int sources;
    bool of_ints, of_floats;
} opcodes[] = {
    {"mov", ASM_MOV, 1, true, true},        {"add", ASM_ADD, 2, true, true},
    {"sub", ASM_SUB, 2, true, true},        {"mul.lo", ASM_MUL, 2, true, false},
    {"mul.hi", ASM_MUL_HI, 2, true, false}, {"mul.wide", ASM_MUL_WIDE, 2, true, false},
    {"mad.lo", ASM_MAD, 3, true, false},    {"min", ASM_MIN, 2, true, true},
    {"max", ASM_MAX, 2, true, true},        {"and", ASM_AND, 2, true, false},
    {"or", ASM_OR, 2, true, false},         {"xor", ASM_XOR, 2, true, false},
    {"not", ASM_NOT, 1, true, false},       {"shl", ASM_SHL, 2, true, false},
    {"shr", ASM_SHR, 2, true, false},       {"neg", ASM_NEG, 1, true, true},
    {"abs", ASM_ABS, 1, true, true},        {"mul", ASM_MUL, 2, false, true},
    {"add.rn", ASM_ADD, 2, false, true},    {"sub.rn", ASM_SUB, 2, false, true},
    {"mul.rn", ASM_MUL, 2, false, true},    {"fma.rn", ASM_MAD, 3, false, true},
};

// A register of the caller, a number, or the lane.
typedef struct asm_source {
    const sim_operand *o;
    bool is_lane;
    uint64_t number;
} asm_source;

typedef struct asm_instruction {
    asm_operation operation;
    int sources, width; // bits
    bool is_signed, is_float;
    const sim_operand *to;
    asm_source from[MAX_SOURCES];
} asm_instruction;

// ---- the text -------------------------------------------------------------------------------------------------------

static const char *skip(const char *at)
{
    while (isspace((unsigned char)*at) || *at == ';' || (at[0] == '{' && at[1] == '{') ||
           (at[0] == '}' && at[1] == '}'))
        at += *at == '{' || *at == '}' ? 2 : 1;
    return at;
}

static bool take_type(const char *text, size_t len, asm_instruction *in)
{
    in->width = len == 3 ? atoi(text + 1) : 0;
    in->is_signed = *text == 's';
    in->is_float = *text == 'f';
    return in->is_float ? in->width == 32
                        : strchr("usb", *text) && (in->width == 16 || in->width == 32 || in->width == 64);
}

// "mul.hi.s32": the name and the type behind its last point.
static const char *take_opcode(const char *at, asm_instruction *in)
{
    size_t len = strcspn(at, " \t\n;"), name = len;
    while (name && at[name - 1] != '.')
        name--;
    if (!name || !take_type(at + name, len - name, in))
        return NULL;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        bool fits = in->is_float ? opcodes[i].of_floats : opcodes[i].of_ints;
        if (!fits || strlen(opcodes[i].name) != name - 1 || memcmp(opcodes[i].name, at, name - 1) != 0)
            continue;
        in->operation = opcodes[i].operation;
        in->sources = opcodes[i].sources;
        return at + len;
    }
    return NULL;
}

static const char *take_register(const char *at, const sim_use *use, const sim_operand **out)
{
    size_t len = *at == '{' ? strcspn(at, "}") : 0;
    *out = NULL;
    if (len == 7 && memcmp(at, "{result", 7) == 0)
        *out = &use->result;
    for (int i = 0; len && !*out && i < use->intrin->operand_count; i++)
        if (strlen(use->operands[i].name) == len - 1 && memcmp(use->operands[i].name, at + 1, len - 1) == 0)
            *out = &use->operands[i];
    return *out && (*out)->count == 1 && (*out)->type != DT_NONE ? at + len + 1 : NULL;
}

static const char *take_source(const char *at, const sim_use *use, asm_source *s)
{
    if (*at == '{')
        return take_register(at, use, &s->o);
    if (strncmp(at, "%laneid", 7) == 0) {
        s->is_lane = true;
        return at + 7;
    }
    char *end;
    s->number = (uint64_t)strtoll(at, &end, 0);
    return end != at && *end != '.' && *end != 'f' ? end : NULL;
}

static const char *take_comma(const char *at)
{
    at += strspn(at, " \t");
    return *at == ',' ? at + 1 + strspn(at + 1, " \t") : NULL;
}

// The instruction at [at]; gives what is behind it, or NULL if it is none of the table.
static const char *take_instruction(const char *at, const sim_use *use, asm_instruction *in)
{
    memset(in, 0, sizeof *in);
    at = take_opcode(at, in);
    at = at ? take_register(at + strspn(at, " \t"), use, &in->to) : NULL;
    for (int i = 0; at && i < in->sources; i++) {
        at = take_comma(at);
        at = at ? take_source(at, use, &in->from[i]) : NULL;
    }
    at = at ? at + strspn(at, " \t\n") : NULL;
    return at && *at == ';' && !(in->is_float && !in->from[0].o) ? at : NULL;
}

static bool bind_asm(sim_use *use)
{
    asm_instruction in;
    for (const char *at = skip(use->intrin->text); *at; at = skip(at))
        if (!(at = take_instruction(at, use, &in)))
            return false;
    return true;
}

// ---- the numbers ----------------------------------------------------------------------------------------------------

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

static uint64_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t float_result(asm_operation operation, const uint64_t *x)
{
    float a = float_of(x[0]), b = float_of(x[1]), c = float_of(x[2]);
    switch (operation) {
    case ASM_ADD:
        return bits_of(a + b);
    case ASM_SUB:
        return bits_of(a - b);
    case ASM_MUL:
        return bits_of(a * b);
    case ASM_MAD:
        return bits_of(fmaf(a, b, c));
    case ASM_MIN:
        return bits_of(fminf(a, b));
    case ASM_MAX:
        return bits_of(fmaxf(a, b));
    case ASM_NEG:
        return x[0] ^ 0x80000000u;
    case ASM_ABS:
        return x[0] & 0x7fffffffu;
    default:
        return x[0];
    }
}

static __int128 extended(uint64_t bits, int width, bool is_signed)
{
    int unused = 64 - width;
    return is_signed ? (__int128)((int64_t)(bits << unused) >> unused) : (__int128)(bits << unused >> unused);
}

// Shifts by the width and more give 0, or the sign.
static uint64_t shifted_right(__int128 a, uint64_t by, int width)
{
    return (uint64_t)(a >> (by < (uint64_t)width ? by : (uint64_t)width));
}

static uint64_t high_half(__int128 a, __int128 b, int width, bool is_signed)
{
    return is_signed ? (uint64_t)(a * b >> width) : (uint64_t)((unsigned __int128)a * (unsigned __int128)b >> width);
}

static uint64_t int_result(const asm_instruction *in, const uint64_t *x)
{
    __int128 a = extended(x[0], in->width, in->is_signed), b = extended(x[1], in->width, in->is_signed);
    uint64_t by = x[1] & 0xffffffffu;
    switch (in->operation) {
    case ASM_ADD:
        return x[0] + x[1];
    case ASM_SUB:
        return x[0] - x[1];
    case ASM_MUL:
        return x[0] * x[1];
    case ASM_MUL_HI:
        return high_half(a, b, in->width, in->is_signed);
    case ASM_MUL_WIDE:
        return (uint64_t)(a * b);
    case ASM_MAD:
        return x[0] * x[1] + x[2];
    case ASM_MIN:
        return a < b ? x[0] : x[1];
    case ASM_MAX:
        return a > b ? x[0] : x[1];
    case ASM_AND:
        return x[0] & x[1];
    case ASM_OR:
        return x[0] | x[1];
    case ASM_XOR:
        return x[0] ^ x[1];
    case ASM_NOT:
        return ~x[0];
    case ASM_SHL:
        return by < (uint64_t)in->width ? x[0] << by : 0;
    case ASM_SHR:
        return shifted_right(a, by, in->width);
    case ASM_NEG:
        return 0 - x[0];
    case ASM_ABS:
        return (uint64_t)(a < 0 ? -a : a);
    case ASM_MOV:
        break;
    }
    return x[0];
}

// ---- a warp ---------------------------------------------------------------------------------------------------------

static void run_instruction(sim_warp *w, const asm_instruction *in)
{
    uint32_t poison = 0, why = 0;
    for (int i = 0; i < in->sources; i++) {
        const sim_operand *o = in->from[i].o;
        uint32_t more = o ? sim_poison_of(w, o) : 0;
        why = more ? sim_why_of(w, o) : why;
        poison |= more;
    }
    SIM_EACH(lane, w->active) {
        uint64_t x[MAX_SOURCES] = {0};
        for (int i = 0; i < in->sources; i++)
            x[i] = in->from[i].o         ? sim_element(w, in->from[i].o, 0, lane)
                   : in->from[i].is_lane ? lane
                                         : in->from[i].number;
        sim_element_set(w, in->to, 0, lane, in->is_float ? float_result(in->operation, x) : int_result(in, x));
    }
    sim_poison_set(w, in->to->cell, w->active, poison, why);
    if (w->field)
        sim_fields_drop(w, in->to->cell, in->to->cells, w->active);
}

static sim_step run_asm(sim_warp *w, const sim_use *use)
{
    asm_instruction in;
    for (const char *at = skip(use->intrin->text); *at; at = skip(at)) {
        at = take_instruction(at, use, &in);
        run_instruction(w, &in);
    }
    return SIM_NEXT;
}

const sim_model sim_models_asm[] = {
    {"asm", run_asm, bind_asm, false},
    {NULL, NULL, NULL, false},
};
