// PTX instructions: one wrapper function for each, around inline assembly.
//
//     static __device__ __forceinline__ void ldmatrix_f16(f16 *result, const f16 *address)
//     {
//         unsigned int address_at = (unsigned int)__cvta_generic_to_shared(address);
//         asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
//             : "=r"(reinterpret_cast<unsigned int *>(result)[0]), "=r"(reinterpret_cast<unsigned int *>(result)[1])
//             : "r"(address_at)
//             : "memory");
//     }
//
// Register arrays come as pointers to their first slot; once the wrapper is inlined they are registers again. Narrow
// elements share 32-bit registers, the first in the lowest bits (PTX ISA, "Matrix Fragments").
#include "cuda_emit/emit_priv.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 112 };

// ---- registers of an operand ------------------------------------------------------------------------------------

typedef struct registers {
    const char *name; // in the PTX text
    int first, count; // numbers of its %k
    bool is_list;     // {%0, %1} even if one
    char constraint;
    const char *format; // C++ expression of one, with the number for %d
    bool is_output, is_updated;
} registers;

static char constraint_of(dtype t)
{
    switch (t) {
    case DT_F32: return 'f';
    case DT_F64: return 'd';
    default: return dt_bits(t) == 64 ? 'l' : dt_bits(t) == 16 ? 'h' : 'r';
    }
}

static const char *field_of(dtype t)
{
    return cu_is_struct(t) ? ".bits" : "";
}

// [count] elements of [t] behind the pointer text [base].
static void array_registers(cu *cx, registers *r, dtype t, int count, const char *base, bool is_const)
{
    int bits = t == DT_BOOL ? 8 : dt_bits(t), total = bits * count;
    const char *qualifier = is_const ? "const " : "";
    if (t == DT_C64) {
        r->count = 2 * count;
        r->constraint = 'f';
        r->format = arena_printf(cx->a, "reinterpret_cast<%sfloat *>(%s)[%%d]", qualifier, base);
    } else if (bits >= 32) {
        r->count = count;
        r->constraint = constraint_of(t);
        r->format = arena_printf(cx->a, "%s[%%d]%s", base, field_of(t));
    } else {
        bool is_half = total <= 16;
        r->count = is_half ? 1 : (total + 31) / 32;
        r->constraint = is_half ? 'h' : 'r';
        r->format = arena_printf(cx->a, "reinterpret_cast<%sunsigned %s *>(%s)[%%d]", qualifier,
                                 is_half ? "short" : "int", base);
    }
}

// Elements that are vectors are taken apart.
static void elem_registers(cu *cx, registers *r, const ir_type *elem, int count, const char *base, bool is_const)
{
    if (elem->kind == IR_VECTOR) {
        base = arena_printf(cx->a, "%s->v", base);
        count *= elem->lanes;
    }
    array_registers(cx, r, elem->scalar, count, base, is_const);
}

static void scalar_input(cu *cx, registers *r, dtype t, const char *name)
{
    r->count = 1;
    r->constraint = constraint_of(t);
    if (t == DT_C64) {
        array_registers(cx, r, t, 1, arena_printf(cx->a, "&%s", name), true);
        r->is_list = true;
    } else if (dt_bits(t) < 16) {
        r->format = arena_printf(cx->a, "(%s)%s%s", dt_is_signed(t) ? "int" : "unsigned int", name, field_of(t));
    } else {
        r->format = arena_printf(cx->a, "%s%s", name, field_of(t));
    }
}

static void input_registers(cu *cx, registers *r, const ir_operand *o, const char *name, str_buf *locals)
{
    const ir_type *t = o->type;
    switch (t->kind) {
    case IR_TENSOR:
        r->is_list = !o->is_bare;
        elem_registers(cx, r, t->elem, o->count, name, !o->is_updated);
        return;
    case IR_VECTOR:
        array_registers(cx, r, t->scalar, t->lanes, arena_printf(cx->a, "%s.v", name), true);
        r->is_list = r->count > 1;
        return;
    case IR_TENSOR_MAP:
        r->count = 1;
        r->constraint = 'l';
        r->format = name;
        return;
    case IR_POINTER:
        r->count = 1;
        r->constraint = 'l';
        r->format = name;
        if (t->space == IR_SHARED) {
            const char *at = cu_name_new(cx, arena_printf(cx->a, "%s_at", name));
            str_addf(locals, "    unsigned int %s = (unsigned int)__cvta_generic_to_shared(%s);\n", at, name);
            r->constraint = 'r';
            r->format = at;
        }
        return;
    default: scalar_input(cx, r, t->scalar, name); return;
    }
}

// The result's registers; [*ending] gets the return statement.
static void result_registers(cu *cx, registers *r, const ir_intrin *in, const char *name, str_buf *locals,
                             const char **ending)
{
    const ir_type *t = in->result;
    *r = (registers){.name = "result", .count = 1, .is_output = true, .format = name};
    *ending = arena_printf(cx->a, "    return %s;\n", name);
    if (t->kind == IR_TENSOR) {
        r->is_list = true;
        elem_registers(cx, r, t->elem, in->result_count, name, false);
        *ending = "";
        return;
    }
    const char *local = cu_declarator(cx, t, name);
    if (t->kind == IR_VECTOR) {
        array_registers(cx, r, t->scalar, t->lanes, arena_printf(cx->a, "%s.v", name), false);
        r->is_list = r->count > 1;
    } else if (t->kind == IR_POINTER) {
        r->constraint = 'l';
        if (t->space == IR_SHARED) {
            r->constraint = 'r';
            local = arena_printf(cx->a, "unsigned int %s", name);
            *ending = arena_printf(cx->a, "    return (%s)__cvta_shared_to_generic(%s);\n", cu_type(cx, t), name);
        }
    } else if (t->scalar == DT_C64) {
        array_registers(cx, r, t->scalar, 1, arena_printf(cx->a, "&%s", name), false);
        r->is_list = true;
    } else if (dt_bits(t->scalar) < 16) {
        r->constraint = 'r';
        local = arena_printf(cx->a, "unsigned int %s", name);
        if (t->scalar == DT_BOOL)
            *ending = arena_printf(cx->a, "    return %s != 0;\n", name);
        else
            *ending = arena_printf(
                cx->a, cu_is_struct(t->scalar) ? "    return %s{(unsigned char)%s};\n" : "    return (%s)%s;\n",
                cu_type(cx, t), name);
    } else {
        r->constraint = constraint_of(t->scalar);
        r->format = arena_printf(cx->a, "%s%s", name, field_of(t->scalar));
    }
    str_addf(locals, "    %s;\n", local);
}

// ---- the text ---------------------------------------------------------------------------------------------------

static const registers *find(const registers *all, int count, str name)
{
    for (int i = 0; i < count; i++)
        if (str_equal(str_of(all[i].name), name))
            return &all[i];
    return NULL;
}

static void add_registers(str_buf *out, const registers *r)
{
    if (r->is_list)
        str_addc(out, '{');
    for (int i = 0; i < r->count; i++)
        str_addf(out, "%s%%%d", i ? ", " : "", r->first + i);
    if (r->is_list)
        str_addc(out, '}');
}

static void add_escaped(str_buf *out, char c)
{
    if (c == '%')
        str_adds(out, "%%");
    else if (c == '"' || c == '\\')
        str_addf(out, "\\%c", c);
    else if (c == '\t')
        str_adds(out, "    ");
    else if (c != '\r')
        str_addc(out, c);
}

// One line of PTX as the inside of a string literal.
static void add_ptx(str_buf *out, const char *at, const char *end, const registers *all, int count)
{
    while (at < end) {
        str name = cu_hole_at(at);
        const registers *r = name.len ? find(all, count, name) : NULL;
        if (r) {
            add_registers(out, r);
            at += name.len + 2;
        } else if ((at[0] == '{' || at[0] == '}') && at[1] == at[0]) {
            str_addc(out, *at);
            at += 2;
        } else {
            add_escaped(out, *at++);
        }
    }
}

static void add_ptx_lines(str_buf *out, const char *text, const registers *all, int count)
{
    const char *stop = text + strlen(text);
    while (stop > text && isspace((unsigned char)stop[-1]))
        stop--;
    while (*text == '\n' || *text == '\r')
        text++;
    for (bool is_first = true; is_first || text < stop; is_first = false) {
        const char *end = memchr(text, '\n', (size_t)(stop - text));
        const char *until = end ? end : stop;
        str_adds(out, is_first ? "\"" : "\n        \"");
        add_ptx(out, text, until, all, count);
        str_adds(out, end ? "\\n\"" : "\"");
        text = end ? end + 1 : stop;
    }
}

static const char *constraint_text(arena *a, const registers *r, int k)
{
    const char *number = strstr(r->format, "%d"), *how = r->is_updated ? "+" : r->is_output ? "=" : "";
    if (!number)
        return arena_printf(a, "\"%s%c\"(%s)", how, r->constraint, r->format);
    return arena_printf(a, "\"%s%c\"(%.*s%d%s)", how, r->constraint, (int)(number - r->format), r->format, k,
                        number + 2);
}

// "r"(a), "r"(b), … broken into lines.
static void add_constraints(str_buf *out, const registers *all, int count, bool outputs)
{
    size_t line = out->len;
    bool is_first = true;
    for (int i = 0; i < count; i++) {
        const registers *r = &all[i];
        for (int k = 0; r->is_output == outputs && k < r->count; k++) {
            const char *item = constraint_text(out->arena, r, k);
            bool breaks = !is_first && out->len - line + strlen(item) > WIDTH - 10;
            str_adds(out, is_first ? "" : breaks ? "," : ", ");
            if (breaks) {
                str_adds(out, "\n          ");
                line = out->len;
            }
            str_adds(out, item);
            is_first = false;
        }
    }
}

// The colon-separated parts, on one line if they fit.
static void add_asm(str_buf *out, const ir_intrin *in, const registers *all, int count)
{
    int memory = IR_EFFECT_READS_GLOBAL | IR_EFFECT_WRITES_GLOBAL | IR_EFFECT_READS_SHARED | IR_EFFECT_WRITES_SHARED |
                 IR_EFFECT_BARRIER | IR_EFFECT_FENCE | IR_EFFECT_VOLATILE;
    bool clobbers = in->effects & memory;
    str_buf text, outputs, inputs;
    str_buf_init(&text, out->arena);
    str_buf_init(&outputs, out->arena);
    str_buf_init(&inputs, out->arena);
    add_ptx_lines(&text, in->text, all, count);
    add_constraints(&outputs, all, count, true);
    add_constraints(&inputs, all, count, false);
    bool is_short = text.len + outputs.len + inputs.len < WIDTH - 40 && !memchr(text.at, '\n', text.len);
    const char *gap = is_short ? " " : "\n        ";
    str_addf(out, "    asm%s(%s", in->effects ? " volatile" : "", str_text(&text));
    str_addf(out, "%s:%s%s", gap, outputs.len ? " " : "", str_text(&outputs));
    if (inputs.len || clobbers)
        str_addf(out, "%s:%s%s", outputs.len || !is_short ? gap : "", inputs.len ? " " : "", str_text(&inputs));
    if (clobbers)
        str_addf(out, "%s: \"memory\"", inputs.len || !is_short ? gap : "");
    str_adds(out, ");\n");
}

// ---- wrappers ---------------------------------------------------------------------------------------------------

static const char *param_text(cu *cx, const ir_intrin *in, int i, const char *name)
{
    const ir_operand *o = &in->operands[i];
    if (o->type->kind == IR_TENSOR)
        return arena_printf(cx->a, "%s%s *%s", o->is_updated ? "" : "const ", cu_elem(cx, o->type->elem), name);
    if (o->type->kind == IR_POINTER && cu_reads_only(in, i) && !o->type->is_const)
        return cu_declarator(cx, ir_const_of(cx->m, o->type), name);
    return cu_declarator(cx, o->type, name);
}

static const char *immediate_type(cu *cx, const ir_operand *o)
{
    return o->type->scalar == DT_BOOL ? "int" : cu_type(cx, o->type);
}

// Outputs get the lower numbers, so that each register list is in order.
static void number(registers *all, int count)
{
    int next = 0;
    for (int outputs = 1; outputs >= 0; outputs--) {
        for (int i = 0; i < count; i++) {
            if (all[i].is_output != outputs)
                continue;
            all[i].first = next;
            next += all[i].count;
        }
    }
}

static void head(str_buf *out, const char *prefix, const char *result, const char *name, const char *params)
{
    const char *gap = result[strlen(result) - 1] == '*' ? "" : " ";
    str_addf(out, "%sstatic __device__ __forceinline__ %s%s%s(%s)\n{\n", prefix, result, gap, name, params);
}

static void wrapper(cu *cx, const ir_intrin *in)
{
    size_t mark = cu_scope_begin(cx);
    str_buf params, immediates, locals;
    str_buf_init(&params, cx->a);
    str_buf_init(&immediates, cx->a);
    str_buf_init(&locals, cx->a);
    registers *all = ARENA_ARRAY(cx->a, registers, in->operand_count + 1);
    int count = 0;
    const char *ending = "", *result = cu_type(cx, in->result);
    if (in->result->kind != IR_VOID) {
        const char *name = cu_name_new(cx, "result");
        result_registers(cx, &all[count++], in, name, &locals, &ending);
        if (in->result->kind == IR_TENSOR) {
            result = "void";
            cu_add_item(&params, arena_printf(cx->a, "%s *%s", cu_elem(cx, in->result->elem), name));
        }
    }
    for (int i = 0; i < in->operand_count; i++) {
        const ir_operand *o = &in->operands[i];
        const char *name = cu_name_new(cx, o->name);
        registers *r = &all[count++];
        *r = (registers){.name = o->name, .is_output = o->is_updated, .is_updated = o->is_updated};
        if (o->is_immediate) {
            *r = (registers){.name = o->name, .count = 1, .constraint = 'n', .format = name};
            cu_add_item(&immediates, arena_printf(cx->a, "%s %s", immediate_type(cx, o), name));
            continue;
        }
        cu_add_item(&params, param_text(cx, in, i, name));
        input_registers(cx, r, o, name, &locals);
    }
    number(all, count);
    const char *prefix = immediates.len ? arena_printf(cx->a, "template <%s> ", str_text(&immediates)) : "";
    cu_line(cx, in->span);
    head(cx->out, prefix, result, map_get_ptr(&cx->wrappers, in), str_text(&params));
    str_adds(cx->out, str_text(&locals));
    add_asm(cx->out, in, all, count);
    str_addf(cx->out, "%s}\n\n", ending);
    cu_scope_end(cx, mark);
}

void cu_wrappers(cu *cx)
{
    for (size_t i = 0; i < cx->intrins.len; i++)
        wrapper(cx, cx->intrins.at[i]);
}
