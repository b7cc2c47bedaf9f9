// The text of an instruction that is CUDA text: its holes are filled with arguments.
#include "cuda_emit/printer.h"

#include <ctype.h>
#include <string.h>

// The identifier of a hole that begins at [at]: {name}. Empty if it is none.
str cu_hole_at(const char *at)
{
    if (at[0] != '{' || !(isalpha((unsigned char)at[1]) || at[1] == '_'))
        return (str){at, 0};
    size_t len = 1;
    while (isalnum((unsigned char)at[1 + len]) || at[1 + len] == '_')
        len++;
    return at[1 + len] == '}' ? (str){at + 1, len} : (str){at, 0};
}

void cu_add_item(str_buf *list, const char *item)
{
    str_addf(list, "%s%s", list->len ? ", " : "", item);
}

const char *cu_intrin_argument(cu *cx, const ir_expr *e, int i)
{
    const ir_intrin *in = e->u.intrin;
    return i < in->operand_count ? cu_as(cx, e->args[i], in->operands[i].type) : cu_at(cx, e->args[i], CU_ASSIGN);
}

dtype cu_intrin_ctype(const ir_intrin *in)
{
    return in->result->kind == IR_SCALAR ? cu_value_dtype(in->result->scalar) : DT_NONE;
}

static const ir_expr *named_argument(const ir_expr *e, str name, int *index)
{
    const ir_intrin *in = e->u.intrin;
    for (int i = 0; i < in->operand_count && i < e->arg_count; i++) {
        if (str_equal(str_of(in->operands[i].name), name)) {
            *index = i;
            return e->args[i];
        }
    }
    return NULL;
}

// Whether the hole stands alone between parentheses, commas or brackets.
static bool is_enclosed(const char *text, const char *at, const char *after)
{
    while (at > text && at[-1] == ' ')
        at--;
    while (*after == ' ')
        after++;
    return at > text && strchr("(,[", at[-1]) && *after && strchr("),]", *after);
}

// One name, or one call that reaches to the end.
static bool is_primary(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    int depth = 0;
    for (; *text; text++) {
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
        bool is_inside = depth > 0 || *text == ')' || *text == ']';
        if (!is_inside || (depth == 0 && text[1] && text[1] != '(' && text[1] != '['))
            return false;
    }
    return true;
}

// Of the text before the next brace that may begin a hole. One that it begins with is none.
static size_t plain_length(const char *at)
{
    size_t len = at[0] == '{' || at[0] == '}';
    while (!len || (at[len] && at[len] != '{' && at[len] != '}'))
        len++;
    return len;
}

cu_text cu_intrin_text(cu *cx, const ir_expr *e, const char *result)
{
    const ir_intrin *in = e->u.intrin;
    str_buf out;
    str_buf_init(&out, cx->a);
    for (const char *at = in->text; *at;) {
        str name = cu_hole_at(at);
        int index = 0;
        const ir_expr *arg = name.len ? named_argument(e, name, &index) : NULL;
        if (arg) {
            const char *after = at + name.len + 2;
            bool is_enough = is_enclosed(in->text, at, after);
            str_adds(&out, is_enough ? cu_intrin_argument(cx, e, index) : cu_paren(cx, cu_typed(cx, arg), CU_POSTFIX));
            at = after;
        } else if (result && name.len && str_equal(name, STR("result"))) {
            str_adds(&out, result);
            at += name.len + 2;
        } else {
            size_t len = plain_length(at);
            str_add(&out, (str){at, len});
            at += len;
            at += (at[0] == '{' || at[0] == '}') && at[0] == at[-1]; // {{ and }}
        }
    }
    const char *s = str_text(&out);
    return (cu_text){.s = s, .prec = is_primary(s) ? CU_POSTFIX : CU_COMMA, .ctype = cu_intrin_ctype(in)};
}
