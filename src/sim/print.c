// print statements of kernels and host functions: printf by lane, in the order of the lanes.
#include <stdio.h>
#include <string.h>

#include "sim/cast.h"
#include "sim/exec.h"

// The next conversion of a format: its flags, width and precision as written, and its letter.
typedef struct conversion {
    char flags[24];
    char letter;
} conversion;

static const char *read_conversion(const char *at, conversion *c)
{
    size_t len = strspn(at, "-+ #0123456789.");
    if (len >= sizeof c->flags)
        len = sizeof c->flags - 1;
    memcpy(c->flags, at, len);
    c->flags[len] = 0;
    at += len;
    at += strspn(at, "hlLzjt");
    c->letter = *at;
    return *at ? at + 1 : at;
}

// The elaborator has checked the formats against the types of their arguments (HDS0291–HDS0293).
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void print_text(str_buf *out, const conversion *c, const char *text)
{
    char format[40], value[512];
    snprintf(format, sizeof format, "%%%ss", c->flags);
    snprintf(value, sizeof value, format, text);
    str_adds(out, value);
}

static void print_value(str_buf *out, const conversion *c, const ir_expr *e, uint64_t bits)
{
    char format[40], value[512];
    dtype t = e->type->kind == IR_SCALAR ? e->type->scalar : DT_U64;
    switch (c->letter) {
    case 'd':
    case 'i':
        snprintf(format, sizeof format, "%%%slld", c->flags);
        snprintf(value, sizeof value, format, (long long)bits);
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        snprintf(format, sizeof format, "%%%sll%c", c->flags, c->letter);
        snprintf(value, sizeof value, format, (unsigned long long)(dt_bits(t) <= 32 ? (uint32_t)bits : bits));
        break;
    case 'c':
        snprintf(format, sizeof format, "%%%sc", c->flags);
        snprintf(value, sizeof value, format, (int)bits);
        break;
    case 'p':
        snprintf(value, sizeof value, "0x%llx", (unsigned long long)bits);
        break;
    default:
        snprintf(format, sizeof format, "%%%s%c", c->flags, c->letter);
        snprintf(value, sizeof value, format, sim_double_of_bits(t, bits));
        break;
    }
    str_adds(out, value);
}

static void print_lane(sim_warp *w, const ir_stmt *s, uint32_t first, uint32_t lane, str_buf *out)
{
    int arg = 0;
    for (const char *at = s->text; *at;) {
        if (*at != '%') {
            str_addc(out, *at++);
            continue;
        }
        if (at[1] == '%') {
            str_addc(out, '%');
            at += 2;
            continue;
        }
        conversion c;
        at = read_conversion(at + 1, &c);
        if (arg >= s->arg_count || !c.letter)
            break;
        const ir_expr *e = s->args[arg];
        uint64_t bits = sim_u64(w, first + 2 * (uint32_t)arg)[lane];
        arg++;
        if (e->type->kind == IR_STRING)
            print_text(out, &c, e->op == IR_OP_TEXT ? e->u.text : "");
        else
            print_value(out, &c, e, bits);
    }
}

void sim_print_statement(sim_warp *w, const sim_op *op)
{
    const sim *s = w->block->launch->device;
    const ir_stmt *statement = w->block->launch->program->statements.at[op->a];
    if (!s->options.print)
        return;
    for (int i = 0; i < statement->arg_count; i++)
        if (w->poison[op->b + 2 * (uint32_t)i] & w->active)
            sim_require_defined(w, op->site, op->b + 2 * (uint32_t)i, w->active, "the printed value");
    str_buf out;
    str_buf_init(&out, w->block->arena);
    SIM_EACH(lane, w->active) print_lane(w, statement, op->b, lane, &out);
    s->options.print(s->options.print_user, (str){str_text(&out), out.len});
}
