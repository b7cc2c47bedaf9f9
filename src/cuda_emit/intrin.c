// Calls of instructions: of the wrapper function around PTX text (wrapper.c), or CUDA text in place.
#include "cuda_emit/emit_priv.h"

#include <ctype.h>
#include <string.h>

static const char *wrapper_name(cu *cx, const ir_intrin *in)
{
    if (!map_get_ptr(&cx->used_intrins, in)) {
        map_put_ptr(&cx->used_intrins, in, (void *)in);
        VEC_PUSH(cx->a, &cx->intrins, in);
    }
    const char *name = map_get_ptr(&cx->wrappers, in);
    if (!name) {
        name = cu_name_global(cx, in->instance);
        map_put_ptr(&cx->wrappers, in, (void *)name);
    }
    return name;
}

static const char *argument(cu *cx, const ir_intrin *in, int i, const ir_expr *e)
{
    return i < in->operand_count ? cu_as(cx, e, in->operands[i].type) : cu_at(cx, e, CU_ASSIGN);
}

static dtype result_ctype(const ir_intrin *in)
{
    return in->result->kind == IR_SCALAR ? cu_value_dtype(in->result->scalar) : DT_NONE;
}

static cu_text ptx_call(cu *cx, const ir_expr *e, const char *result)
{
    const ir_intrin *in = e->u.intrin;
    str_buf args, immediates;
    str_buf_init(&args, cx->a);
    str_buf_init(&immediates, cx->a);
    if (result)
        cu_add_item(&args, result);
    for (int i = 0; i < e->arg_count; i++) {
        bool is_immediate = i < in->operand_count && in->operands[i].is_immediate;
        cu_add_item(is_immediate ? &immediates : &args, argument(cx, in, i, e->args[i]));
    }
    const char *of = immediates.len ? arena_printf(cx->a, "<%s>", str_text(&immediates)) : "";
    return cu_primary(cx, result_ctype(in), "%s%s(%s)", wrapper_name(cx, in), of, str_text(&args));
}

// Conversions of the prelude that the declaration's text calls.
static void use_prelude(cu *cx, const ir_intrin *in, str word)
{
    cu_prelude_use(&cx->prelude, word);
    for (int i = -1; i < in->operand_count; i++) {
        const ir_type *t = i < 0 ? in->result : in->operands[i].type;
        const ir_type *s = t->elem ? t->elem : t;
        if (s->kind != IR_SCALAR || !cu_is_struct(s->scalar))
            continue;
        const char *name = dt_cuda_name(s->scalar);
        if (str_equal(word, STR("to_float")))
            cu_use(cx, arena_printf(cx->a, "%s.to_float", name));
        if (str_equal(word, str_of(arena_printf(cx->a, "to_%s", name))))
            cu_use(cx, arena_printf(cx->a, "%s.from_float", name));
    }
}

static void use_words(cu *cx, const ir_intrin *in)
{
    for (const char *at = in->text; *at;) {
        size_t len = cu_word_length(at);
        if (len)
            use_prelude(cx, in, (str){at, len});
        at += len ? len : 1;
    }
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

static cu_text cuda_text(cu *cx, const ir_expr *e, const char *result)
{
    const ir_intrin *in = e->u.intrin;
    str_buf out;
    str_buf_init(&out, cx->a);
    if (!cx->c)
        use_words(cx, in);
    for (const char *at = in->text; *at;) {
        str name = cu_hole_at(at);
        int index = 0;
        const ir_expr *arg = name.len ? named_argument(e, name, &index) : NULL;
        if (arg) {
            const char *after = at + name.len + 2;
            bool is_enough = is_enclosed(in->text, at, after);
            str_adds(&out, is_enough ? argument(cx, in, index, arg) : cu_paren(cx, cu_typed(cx, arg), CU_POSTFIX));
            at = after;
        } else if (result && name.len && str_equal(name, STR("result"))) {
            str_adds(&out, result);
            at += name.len + 2;
        } else if ((at[0] == '{' || at[0] == '}') && at[1] == at[0]) {
            str_addc(&out, *at);
            at += 2;
        } else {
            str_addc(&out, *at++);
        }
    }
    const char *s = str_text(&out);
    return (cu_text){.s = s, .prec = is_primary(s) ? CU_POSTFIX : CU_COMMA, .ctype = result_ctype(in)};
}

cu_text cu_intrin(cu *cx, const ir_expr *e, const char *result)
{
    if (cx->c && !cu_c_can_say(cx, e))
        return cu_primary(cx, DT_NONE, "0");
    return e->u.intrin->form == IR_INTRIN_PTX ? ptx_call(cx, e, result) : cuda_text(cx, e, result);
}
