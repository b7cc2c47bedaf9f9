// Operators as programs see them: what the definitions of a file take and give, and host functions that launch them.
//
// Note [operators as entries]. An operator of the main file, `@operator def softmax[T: FLOATS, *S, N: at_least(0)](x: T[*S, N])
// -> T[*S, N]`, is an entry for each type that T may have. It is written in the language, as a text that is parsed here:
//
//     @hidet.script
//     def softmax_f16[T: dtype, S: at_least(0), N: at_least(0)](x: T[S, N], out: T[S, N]):
//         softmax.launch(x, into=out)
//
// with T bound. `*S` becomes one axis, which stands for any number of them (ir_var.joined): C functions over DLPack tensors join
// those. -D S=4 makes it so many axes instead. Parameters that are known while compiling, and type parameters with a default, have
// that, or the value of -D. An optional operand, `w: T[N] = None`, doubles the entries: `norm_f16` takes it,
// `norm_without_w_f16` does not. All entries of an operator have its name as ir_func.operator, under which C has one function for
// all types.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "typecheck/operators/writer.h"

static str text_at(const tc_module *m, src_span span)
{
    return (str){m->file->text.at + (span.begin - m->file->base), span.end - span.begin};
}

static const char *copy_at(tc *tx, const tc_module *m, src_span span)
{
    str text = text_at(m, span);
    return arena_strndup(tx->arena, text.at, text.len);
}

static const tc_value *field(tc *tx, const tc_value *v, const char *name)
{
    return tc_record_field(v->record, sym_of(tx->syms, name), NULL);
}

static bool is_operator(tc *tx, const tc_value *v)
{
    if (v->kind != TC_RECORD || strcmp(v->record->class->name->text, "Operator") != 0 ||
        strcmp(v->record->class->module->path, "hidet.lang.compute") != 0)
        return false;
    const tc_value *f = field(tx, v, "definition");
    return f && f->kind == TC_FUNCTION;
}

// The author's function: of elementwise operators the function of numbers.
static const tc_function *written(tc *tx, const tc_value *v)
{
    const tc_value *element = field(tx, v, "element");
    const tc_function *f = element && element->kind == TC_FUNCTION ? element->function : field(tx, v, "definition")->function;
    return f->decl ? f : NULL;
}

// ---- types ------------------------------------------------------------------------------------------------------

static void add_type(tc *tx, tc_operator_type *t, const tc_value *v)
{
    if (v->kind == TC_TYPE && v->type->kind == IR_SCALAR)
        VEC_PUSH(tx->arena, &t->choices, v->type->scalar);
}

// Of a type parameter that may be any type: those that operators are made for unless somebody asks for more.
static void add_usual_types(tc *tx, tc_operator_type *t)
{
    static const dtype usual[] = {DT_F16, DT_BF16, DT_F32};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        VEC_PUSH(tx->arena, &t->choices, usual[i]);
    t->is_any = true;
}

static bool add_type_param(tc *tx, tc_operator *o, const tc_function *f, const ast_type_param *p)
{
    if (p->default_value)
        VEC_PUSH(tx->arena, &o->sizes, copy_at(tx, f->module, p->span));
    if (p->is_variadic) {
        if (!p->default_value)
            VEC_PUSH(tx->arena, &o->joined, p->name->text);
        return true;
    }
    tc_value bound = p->bound ? tc_eval_annotation(tx, p->bound, f->closure) : tc_poison();
    tc_operator_type type = {.name = p->name->text, .has_default = p->default_value};
    if (bound.kind == TC_TUPLE) {
        for (size_t i = 0; i < bound.list->len; i++)
            add_type(tx, &type, &bound.list->at[i]);
    } else if (bound.kind == TC_KIND && bound.kind_name == TC_KIND_DTYPE) {
        add_usual_types(tx, &type);
    } else if (tc_size_type(tx, p, f->closure) != DT_NONE) {
        if (!p->default_value)
            VEC_PUSH(tx->arena, &o->sizes, copy_at(tx, f->module, p->span));
        return true;
    }
    if (type.choices.len)
        VEC_PUSH(tx->arena, &o->types, type);
    else if (!o->why_not)
        o->why_not = arena_printf(tx->arena, "its type parameter '%s' is neither a type nor an extent", p->name->text);
    return type.choices.len > 0;
}

// ---- parameters -------------------------------------------------------------------------------------------------

static bool defined_text(tc *tx, const char *name, const char **text)
{
    for (int i = 0; i < tx->options->define_count; i++)
        if (strcmp(tx->options->defines[i].name, name) == 0) {
            *text = tx->options->defines[i].value && *tx->options->defines[i].value ? tx->options->defines[i].value : "True";
            tx->define_used.at[i] = true;
            return true;
        }
    return false;
}

static bool is_type_param(const tc_operator *o, const ast_expr *e)
{
    for (size_t i = 0; e->kind == AST_NAME && i < o->types.len; i++)
        if (strcmp(o->types.at[i].name, ((const ast_name *)e)->name->text) == 0)
            return true;
    return false;
}

static bool is_scalar_type(tc *tx, const tc_operator *o, const tc_function *f, const ast_expr *e)
{
    if (is_type_param(o, e))
        return true;
    if (e->kind != AST_NAME && e->kind != AST_ATTRIBUTE)
        return false;
    tc_value v = tc_eval_annotation(tx, e, f->closure);
    return v.kind == TC_TYPE && v.type->kind == IR_SCALAR;
}

static bool is_tensor(tc *tx, const tc_operator *o, const tc_function *f, const ast_expr *e)
{
    return e->kind == AST_SUBSCRIPT && is_scalar_type(tx, o, f, ((const ast_subscript *)e)->value);
}

// The type of a parameter that has none written, by its default: a float is a number of the run.
static const char *type_by_default(const ast_expr *e)
{
    while (e->kind == AST_UNARY)
        e = ((const ast_unary *)e)->operand;
    return e->kind == AST_FLOAT ? "f32" : NULL;
}

// -D low=f32: a parameter that is a choice made while compiling becomes a number of the run, of this type. NULL: it
// does not.
static const char *number_by_define(tc *tx, const tc_function *f, const ast_param *p)
{
    const ast_expr *type = p->annotation;
    const char *text = NULL;
    if (p->kind != AST_PARAM_PLAIN || (type && type->kind != AST_NAME) || !defined_text(tx, p->name->text, &text))
        return NULL;
    tc_value v = type ? tc_eval_annotation(tx, type, f->closure) : tc_none();
    if (type && (v.kind != TC_KIND || v.kind_name == TC_KIND_DTYPE || v.kind_name == TC_KIND_TYPE))
        return NULL;
    bool is_type = tc_defined(tx, p->name, &v) && v.kind == TC_TYPE && v.type->kind == IR_SCALAR;
    return is_type ? text : NULL;
}

static void add_param(tc *tx, tc_operator *o, const tc_function *f, const ast_param *p)
{
    const ast_expr *type = p->annotation, *value = p->default_value;
    tc_operator_param param = {
        .name = p->name->text,
        .type = type ? copy_at(tx, f->module, type->span) : NULL,
        .default_value = value ? copy_at(tx, f->module, value->span) : NULL,
        .kind = TC_PARAM_CHOICE,
    };
    const char *number = number_by_define(tx, f, p);
    if (number) {
        param.kind = TC_PARAM_NUMBER;
        param.type = number;
        param.default_value = value && value->kind != AST_NONE ? param.default_value : NULL;
    } else if (p->kind != AST_PARAM_PLAIN) {
        if (!o->why_not)
            o->why_not = "it takes any number of operands";
        param.kind = TC_PARAM_TENSOR;
    } else if (type && is_tensor(tx, o, f, type)) {
        param.kind = TC_PARAM_TENSOR;
        param.is_optional = value && value->kind == AST_NONE;
    } else if (type ? is_scalar_type(tx, o, f, type) : value && type_by_default(value)) {
        param.kind = TC_PARAM_NUMBER;
        param.type = type ? param.type : type_by_default(value);
    } else if (!type && !value && (o->is_by_element || !defined_text(tx, param.name, &param.default_value))) {
        param.kind = TC_PARAM_TENSOR;
        if (!o->is_by_element && !o->why_not)
            o->why_not = arena_printf(tx->arena, "'%s' has no type, and no value by -D %s=…", param.name, param.name);
    } else if (!param.default_value && !defined_text(tx, param.name, &param.default_value) && !o->why_not) {
        o->why_not = arena_printf(tx->arena, "'%s' has no default, and no value by -D %s=…", param.name, param.name);
    }
    VEC_PUSH(tx->arena, &o->params, param);
}

static void add_results(tc *tx, tc_operator *o, const tc_function *f)
{
    const ast_expr *e = f->decl->returns;
    bool is_tuple = e && e->kind == AST_TUPLE;
    size_t count = is_tuple ? ((const ast_sequence *)e)->items.len : 1;
    for (size_t i = 0; i < count; i++) {
        const ast_expr *type = is_tuple ? ((const ast_sequence *)e)->items.at[i] : e;
        if (type)
            VEC_PUSH(tx->arena, &o->results, copy_at(tx, f->module, type->span));
        if (!o->why_not && (!type || type->kind != AST_SUBSCRIPT))
            o->why_not = "its result has no type with a shape";
    }
}

// ---- elementwise operators --------------------------------------------------------------------------------------

// They take tensors of one type whose elements lie side by side, all as many.
static void describe_by_element(tc *tx, tc_operator *o, const tc_value *v, const tc_function *f)
{
    tc_operator_type type = {.name = "T"};
    const tc_value *takes = field(tx, v, "takes"), *gives = field(tx, v, "gives");
    for (size_t i = 0; takes->kind == TC_TUPLE && i < takes->list->len; i++)
        add_type(tx, &type, &takes->list->at[i]);
    VEC_PUSH(tx->arena, &o->types, type);
    VEC_PUSH(tx->arena, &o->joined, "S");
    o->is_by_element = true;
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        bool is_maths = strcmp(p->name->text, "m") == 0 && !p->default_value;
        if (!is_maths)
            add_param(tx, o, f, p);
    }
    for (size_t i = 0; i < o->params.len; i++)
        if (o->params.at[i].kind == TC_PARAM_TENSOR)
            o->params.at[i].type = "T[*S]";
    dtype given = gives->kind == TC_TYPE ? gives->type->scalar : DT_NONE;
    const char *result = given == DT_BOOL ? "boolean" : given != DT_NONE ? dt_name(given) : "T";
    VEC_PUSH(tx->arena, &o->results, arena_printf(tx->arena, "%s[*S]", result));
}

// Each optional operand doubles the entries.
enum { MOST_OPTIONAL = 2 };

static void count_optional(tc *tx, tc_operator *o)
{
    int count = 0;
    for (size_t i = 0; i < o->params.len; i++)
        count += o->params.at[i].is_optional;
    if (count > MOST_OPTIONAL && !o->why_not)
        o->why_not = arena_printf(tx->arena, "it has %d operands that are optional, and an entry has at most %d", count,
                                  MOST_OPTIONAL);
}

// Operands are given by position.
static void check_order(tc *tx, tc_operator *o)
{
    for (size_t i = 1; i < o->params.len && !o->why_not; i++)
        if (o->params.at[i].kind == TC_PARAM_TENSOR && o->params.at[i - 1].kind != TC_PARAM_TENSOR)
            o->why_not = arena_printf(tx->arena, "'%s' stands behind '%s', and operands come first", o->params.at[i].name,
                                      o->params.at[i - 1].name);
}

// Entries are named by types.
static void check_types(tc_operator *o)
{
    bool any = false;
    for (size_t i = 0; i < o->types.len; i++)
        any |= !o->types.at[i].has_default;
    if (!any && !o->why_not)
        o->why_not = "it has no type parameter, such as T: dtype";
}

// What no -D helps with: a type and extents are those of operands, and an entry has as many results as are written.
static void check_signature(tc *tx, tc_operator *o, const tc_function *f)
{
    const ast_expr *gives = f->decl->returns;
    bool any = f->decl->type_params.len > 0;
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        any |= p->kind != AST_PARAM_PLAIN || (p->annotation && is_tensor(tx, o, f, p->annotation));
    }
    if (!any)
        o->why_not = "it has no operand with a type, such as x: T[*S]";
    else if (gives && gives->kind == AST_NAME && strcmp(((const ast_name *)gives)->name->text, "tuple") == 0 && !o->why_not)
        o->why_not = "it gives any number of results";
}

static void describe_definition(tc *tx, tc_operator *o, const tc_function *f)
{
    for (size_t i = 0; i < f->decl->type_params.len; i++)
        add_type_param(tx, o, f, &f->decl->type_params.at[i]);
    check_signature(tx, o, f);
    for (size_t i = 0; i < f->decl->params.len; i++)
        add_param(tx, o, f, &f->decl->params.at[i]);
    count_optional(tx, o);
    check_order(tx, o);
    add_results(tx, o, f);
    check_types(o);
}

static tc_operator *describe(tc *tx, const tc_binding *b)
{
    const tc_value *v = &b->value;
    const tc_function *f = written(tx, v);
    if (!f)
        return NULL;
    tc_operator *o = ARENA_NEW(tx->arena, tc_operator);
    *o = (tc_operator){.name = b->name->text, .doc = f->decl->doc, .span = f->decl->name_span};
    const tc_value *element = field(tx, v, "element"), *counts = field(tx, v, "counts");
    o->is_far = counts && counts->kind == TC_TYPE && counts->type->kind == IR_SCALAR && counts->type->scalar == DT_I64;
    if (element && element->kind == TC_FUNCTION)
        describe_by_element(tx, o, v, f);
    else
        describe_definition(tx, o, f);
    return o;
}

// ---- the text of an entry ---------------------------------------------------------------------------------------

enum { STRIDED_RANK = 4 };

const char *tc_choice_text(tc *tx, const tc_operator_param *p)
{
    const char *text = p->default_value;
    defined_text(tx, p->name, &text);
    return text;
}

static bool is_left_out(const writer *w, const tc_operator_param *p)
{
    int number = 0;
    for (const tc_operator_param *before = w->op->params.at; before < p; before++)
        number += before->is_optional;
    return p->is_optional && w->left_out >> number & 1;
}

static bool is_operand(const writer *w, const tc_operator_param *p)
{
    return p->kind == TC_PARAM_TENSOR && !is_left_out(w, p);
}

// "S", or of several "S1".
const char *tc_axis_name(const writer *w, size_t variadic, int axis)
{
    const char *name = w->op->joined.at[variadic];
    return w->ranks[variadic] > 1 || w->is_given[variadic] ? arena_printf(w->tx->arena, "%s%d", name, axis) : name;
}

static void add_axes(writer *w, size_t variadic, str_buf *out)
{
    for (int i = 0; i < w->ranks[variadic]; i++)
        str_addf(out, "%s%s", i ? ", " : "", tc_axis_name(w, variadic, i));
}

// The word at [at] in terms of the entry: [is_starred] if a star precedes it, which is then omitted.
static bool add_word(writer *w, str word, bool is_starred, str_buf *out)
{
    for (size_t i = 0; i < w->op->joined.len; i++) {
        if (!str_equal(word, str_of(w->op->joined.at[i])))
            continue;
        if (!is_starred)
            str_addc(out, '(');
        add_axes(w, i, out);
        if (!is_starred)
            str_adds(out, ",)");
        return true;
    }
    for (size_t i = 0; i < w->op->params.len; i++) {
        const tc_operator_param *p = &w->op->params.at[i];
        if (p->kind == TC_PARAM_CHOICE && str_equal(word, str_of(p->name)) && tc_choice_text(w->tx, p)) {
            str_addf(out, "(%s)", tc_choice_text(w->tx, p));
            return true;
        }
    }
    return false;
}

static size_t word_length(const char *text)
{
    size_t len = 0;
    while (isalnum((unsigned char)text[len]) || text[len] == '_')
        len++;
    return len;
}

// A type as the operator's author wrote it, with the entry's axes.
const char *tc_type_in_entry(writer *w, const char *type)
{
    str_buf out;
    str_buf_init(&out, w->tx->arena);
    for (const char *at = type; *at;) {
        bool is_starred = *at == '*';
        const char *word = at + is_starred, *end = word + word_length(word);
        bool is_word = end > word && !isdigit((unsigned char)*word);
        if (is_word && add_word(w, (str){word, (size_t)(end - word)}, is_starred, &out)) {
            at = end;
            continue;
        }
        end = end > at ? end : at + 1;
        str_add(&out, (str){at, (size_t)(end - at)});
        at = end;
    }
    return str_text(&out);
}

const char *tc_result_name(writer *w, size_t i)
{
    return w->op->results.len == 1 ? "out" : arena_printf(w->tx->arena, "out%zu", i);
}

const char *tc_separated(bool *any)
{
    const char *text = *any ? ", " : "";
    *any = true;
    return text;
}

static void write_stride_params(writer *w, const char *name, bool *any)
{
    for (int i = 0; i < STRIDED_RANK; i++)
        str_addf(&w->out, "%s%s_%d: at_least(0, i64)", tc_separated(any), name, i);
}

// The bound of axes that stand for any number of them. Where tensors have no others, one may be all there is of a tensor, and has
// 2 ** 31 elements and more if the operator's kernels do with them.
static const char *axis_bound(const writer *w)
{
    bool is_far = w->op->is_far && w->op->sizes.len == 0;
    for (size_t i = 0; i < w->op->joined.len; i++)
        is_far &= w->is_strided || (w->ranks[i] == 1 && !w->is_given[i]);
    return is_far ? "at_least(0, i64)" : "at_least(0)";
}

static void write_type_params(writer *w)
{
    bool any = false;
    str_addc(&w->out, '[');
    for (size_t i = 0; i < w->op->types.len; i++)
        if (!w->op->types.at[i].has_default)
            str_addf(&w->out, "%s%s: dtype", tc_separated(&any), w->op->types.at[i].name);
    for (size_t i = 0; i < w->op->joined.len; i++)
        for (int k = 0; k < w->ranks[i]; k++)
            str_addf(&w->out, "%s%s: %s", tc_separated(&any), tc_axis_name(w, i, k), axis_bound(w));
    for (size_t i = 0; i < w->op->sizes.len; i++)
        str_addf(&w->out, "%s%s", tc_separated(&any), tc_type_in_entry(w, w->op->sizes.at[i]));
    for (size_t i = 0; w->is_strided && i < w->op->params.len; i++)
        if (w->op->params.at[i].kind == TC_PARAM_TENSOR)
            write_stride_params(w, w->op->params.at[i].name, &any);
    if (w->is_strided)
        write_stride_params(w, tc_result_name(w, 0), &any);
    str_addc(&w->out, ']');
}

// "x: T[S]", or with strides of its own "x: strided(T[S0, S1], [x_0, x_1])".
static void write_tensor(writer *w, const char *name, const char *type, bool *any)
{
    str_addf(&w->out, w->is_strided ? "%s%s: strided(%s, [" : "%s%s: %s", tc_separated(any), name,
             tc_type_in_entry(w, type));
    for (int i = 0; w->is_strided && i < STRIDED_RANK; i++)
        str_addf(&w->out, "%s%s_%d", i ? ", " : "", name, i);
    str_adds(&w->out, w->is_strided ? "])" : "");
}

static void write_params(writer *w)
{
    bool any = false;
    str_addc(&w->out, '(');
    for (size_t i = 0; i < w->op->params.len; i++)
        if (is_operand(w, &w->op->params.at[i]))
            write_tensor(w, w->op->params.at[i].name, w->op->params.at[i].type, &any);
    for (size_t i = 0; i < w->op->results.len; i++)
        write_tensor(w, tc_result_name(w, i), w->op->results.at[i], &any);
    for (size_t i = 0; i < w->op->params.len; i++)
        if (w->op->params.at[i].kind == TC_PARAM_NUMBER)
            str_addf(&w->out, "%s%s: %s", tc_separated(&any), w->op->params.at[i].name, w->op->params.at[i].type);
    str_adds(&w->out, "):\n");
}

bool tc_write_named(writer *w, bool *any)
{
    for (size_t i = 0; i < w->op->params.len; i++) {
        const tc_operator_param *p = &w->op->params.at[i];
        const char *value = p->kind == TC_PARAM_NUMBER   ? p->name
                            : p->kind == TC_PARAM_CHOICE ? tc_choice_text(w->tx, p)
                                                         : NULL;
        if (p->kind == TC_PARAM_CHOICE && !value)
            return false;
        bool is_default =
            value && p->default_value && strcmp(value, "None") == 0 && strcmp(p->default_value, "None") == 0;
        if (value && !is_default)
            str_addf(&w->out, "%s%s=%s", tc_separated(any), p->name, value);
    }
    return true;
}

static bool write_launch(writer *w)
{
    bool any = false;
    str_adds(&w->out, "    attrs.func_kind = 'public'\n    the_operator.launch(");
    for (size_t i = 0; i < w->op->params.len; i++)
        if (w->op->params.at[i].kind == TC_PARAM_TENSOR)
            str_addf(&w->out, "%s%s", tc_separated(&any),
                     is_left_out(w, &w->op->params.at[i]) ? "None" : w->op->params.at[i].name);
    str_addf(&w->out, "%sinto=%s", tc_separated(&any), w->op->results.len > 1 ? "(" : "");
    for (size_t i = 0; i < w->op->results.len; i++)
        str_addf(&w->out, "%s%s", i ? ", " : "", tc_result_name(w, i));
    str_adds(&w->out, w->op->results.len > 1 ? ")" : "");
    bool ok = tc_write_named(w, &any);
    str_adds(&w->out, ")\n");
    return ok;
}

// -D S=4 gives the entries of operators that are not elementwise that number of axes; 0: there is none.
static int given_rank(tc *tx, const char *name)
{
    tc_value v;
    if (!tc_defined(tx, sym_of(tx->syms, name), &v))
        return 0;
    if (v.kind == TC_INT && v.i >= 1 && v.i <= TM_MAX_RANK)
        return (int)v.i;
    if (!tc_is_poison(v))
        tc_error(tx, HDS0186, (src_span){0}, name, arena_printf(tx->arena, "1 to %d axes", TM_MAX_RANK), tc_describe(tx, v));
    return 0;
}

// Any number of axes are one of an entry. An operator along an axis that no type parameter names has it beside that one: the
// last one after it, or numbers from 0 on before it; `axes` are so many of the last ones.
static void choose_ranks(writer *w)
{
    const char *axis = NULL, *count = NULL;
    for (size_t i = 0; i < w->op->params.len; i++) {
        const tc_operator_param *p = &w->op->params.at[i];
        bool is_axis = strcmp(p->name, "axis") == 0 || strcmp(p->name, "dim") == 0 || strcmp(p->name, "dims") == 0;
        if (p->kind == TC_PARAM_CHOICE && is_axis)
            axis = tc_choice_text(w->tx, p);
        if (p->kind == TC_PARAM_CHOICE && strcmp(p->name, "axes") == 0)
            count = tc_choice_text(w->tx, p);
    }
    bool is_last = count || (axis && strcmp(axis, "-1") == 0), is_numbered = axis && isdigit((unsigned char)*axis);
    int rank = count ? atoi(count) + 1 : is_last ? 2 : is_numbered ? atoi(axis) + 2 : 1;
    for (size_t i = 0; i < w->op->joined.len; i++) {
        int given = given_rank(w->tx, w->op->joined.at[i]);
        bool is_joined = !given || w->op->is_by_element;
        w->is_given[i] = given > 0;
        w->ranks[i] = is_joined ? rank : given;
        w->joined[i] = !is_joined ? -1 : is_last ? 0 : rank - 1;
    }
}

// Axes of an entry for `*S`, of which one stands for any number of them: ranks and that one.
static const struct layout {
    int rank, joined;
} layouts[] = {{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 2}, {3, 1}};

static tc_collapse try_layout(writer *w, tc_value v, const struct layout *layout)
{
    for (size_t i = 0; i < w->op->joined.len; i++)
        if (w->joined[i] >= 0) {
            w->ranks[i] = layout->rank;
            w->joined[i] = layout->joined;
        }
    return tc_may_collapse(w, v);
}

// A definition may use the axes of `*S` apart, as `softmax(x)` does with the last one. Then that one is an axis of the
// entry, beside one for all others; see Note [collapsed axes]. False: no entry is right for any number of axes.
static bool choose_layout(writer *w, tc_value v)
{
    const writer usual = *w;
    bool any = false;
    for (size_t i = 0; i < w->op->joined.len; i++)
        any |= w->joined[i] >= 0;
    tc_collapse found = any && !w->op->is_by_element ? tc_may_collapse(w, v) : TC_COLLAPSE_YES;
    bool is_wrong = found == TC_COLLAPSE_NO;
    for (size_t i = 0; found != TC_COLLAPSE_YES && i < sizeof layouts / sizeof *layouts; i++) {
        found = try_layout(w, v, &layouts[i]);
        is_wrong |= found == TC_COLLAPSE_NO;
    }
    if (found != TC_COLLAPSE_YES)
        *w = usual;
    return found == TC_COLLAPSE_YES || !is_wrong;
}

// The names of the axes that stand for any number of them, as tc_name_operator looks for them.
static void name_joined_axes(writer *w)
{
    w->op->joined_axes.len = 0;
    for (size_t i = 0; i < w->op->joined.len; i++)
        VEC_PUSH(w->tx->arena, &w->op->joined_axes, w->joined[i] >= 0 ? tc_axis_name(w, i, w->joined[i]) : "");
}

// ---- entries ----------------------------------------------------------------------------------------------------

tc_function *tc_function_of_text(writer *w, tc_value v, tc_module *m, const char *name, const tc_value *helper)
{
    tc *tx = w->tx;
    tc_operator *o = w->op;
    src_file *file = src_add(tx->diags->sources, arena_printf(tx->lasting, "<operator %s>", o->name),
                             (str){str_text(&w->out), w->out.len});
    if (!file)
        return NULL;
    file->author = o->span;
    parse_context px = {tx->lasting, tx->syms, tx->diags};
    ast_module *ast = parse_module(&px, file);
    if (ast->has_errors)
        return NULL;
    tc_frame frame = {.scope = tc_scope_new(tx, m->scope, m, TC_SCOPE_MODULE), .compile_time = true}, *saved = tx->frame;
    tx->frame = &frame;
    tc_scope_bind(tx, frame.scope, sym_of(tx->syms, "the_operator"), v, o->span);
    if (helper)
        tc_scope_bind(tx, frame.scope, sym_of(tx->syms, "the_helper"), *helper, o->span);
    tc_exec_list(tx, &ast->body);
    tx->frame = saved;
    tc_binding *b = tc_scope_find_here(frame.scope, sym_of(tx->syms, name));
    if (!b || b->value.kind != TC_FUNCTION)
        return NULL;
    ast_function *decl = (ast_function *)b->value.function->decl;
    decl->doc = o->doc;
    decl->name_span = o->span;
    return b->value.function;
}

// The function without its types; NULL after errors.
static tc_function *make_template(const writer *layout, tc_value v, tc_module *m, bool is_strided, unsigned left_out)
{
    writer w = *layout;
    w.is_strided = is_strided;
    w.left_out = left_out;
    str_buf_init(&w.out, w.tx->lasting);
    if (is_strided)
        w.ranks[0] = STRIDED_RANK;
    const char *name = arena_printf(w.tx->arena, "%s_entry", w.op->name);
    str_addf(&w.out, "@hidet.script\ndef %s", name);
    write_type_params(&w);
    write_params(&w);
    if (!write_launch(&w))
        return NULL;
    tc_function *f = tc_function_of_text(&w, v, m, name, NULL);
    if (!f)
        return NULL;
    f->operator= w.op;
    f->is_strided = is_strided;
    return f;
}

static bool has_type(const tc_value *list, dtype scalar)
{
    if (list->kind == TC_TYPE)
        return list->type->kind == IR_SCALAR && list->type->scalar == scalar;
    if (list->kind == TC_KIND) // what 'hdsc ops' prints, which is Python's name
        return list->kind_name == TC_KIND_BOOL && scalar == DT_BOOL;
    for (size_t i = 0; list->kind == TC_TUPLE && i < list->list->len; i++)
        if (has_type(&list->list->at[i], scalar))
            return true;
    return false;
}

// What the arrays of a run are, for a type parameter.
static dtype type_of_operands(tc *tx, const tc_operator *o, const char *name)
{
    dtype found = DT_NONE;
    size_t len = strlen(name);
    for (size_t i = 0; i < o->params.len && found == DT_NONE; i++) {
        const char *type = o->params.at[i].type;
        if (o->params.at[i].kind == TC_PARAM_TENSOR && type && strncmp(type, name, len) == 0 && type[len] == '[')
            found = tc_operand_type_of(tx, o->params.at[i].name);
    }
    return found;
}

// The types that entries are made for: what -D says, or the arrays of a run, else the usual ones, else all.
static tc_operator_type wanted_types(tc *tx, const tc_operator *o, const tc_operator_type *t)
{
    tc_operator_type usual = {.name = t->name}, wanted = usual;
    tc_value given;
    bool is_given = tc_defined(tx, sym_of(tx->syms, t->name), &given);
    dtype of_operands = is_given ? DT_NONE : type_of_operands(tx, o, t->name);
    if (of_operands != DT_NONE) {
        given = tc_type(ir_scalar(tx->ir, of_operands));
        is_given = true;
    }
    add_usual_types(tx, &usual);
    for (int i = 0; i < DT__COUNT; i++) {
        bool may_be = t->is_any, is_usual = false;
        for (size_t k = 0; k < t->choices.len; k++)
            may_be |= t->choices.at[k] == (dtype)i;
        for (size_t k = 0; k < usual.choices.len; k++)
            is_usual |= usual.choices.at[k] == (dtype)i;
        if (may_be && (is_given ? has_type(&given, (dtype)i) : is_usual))
            VEC_PUSH(tx->arena, &wanted.choices, (dtype)i);
    }
    return wanted.choices.len || is_given ? wanted : *t;
}

// An entry for each choice of types from parameter [at] on. [f] has those before it bound, which are [chosen], "_f16".
static void bind_entries(tc *tx, tc_operator *o, tc_function *f, const char *name, const char *chosen, size_t at)
{
    if (at == o->types.len) {
        sym bound = sym_of(tx->syms, arena_printf(tx->arena, "%s%s", name, chosen));
        f->name = bound;
        f->operator_types = chosen + (*chosen == '_');
        if (!tc_scope_find_here(tx->main->scope, bound))
            tc_scope_bind(tx, tx->main->scope, bound, (tc_value){.kind = TC_FUNCTION, .function = f}, o->span);
        return;
    }
    if (o->types.at[at].has_default) {
        bind_entries(tx, o, f, name, chosen, at + 1);
        return;
    }
    tc_operator_type types = wanted_types(tx, o, &o->types.at[at]);
    for (size_t i = 0; i < types.choices.len; i++) {
        tc_value type = {.kind = TC_TYPE, .type = ir_scalar(tx->ir, types.choices.at[i])};
        tc_value next = {.kind = TC_FUNCTION, .function = f};
        const sym names[] = {sym_of(tx->syms, types.name)};
        next = tc_function_brackets(tx, next, &type, names, 1, o->span);
        const char *more = arena_printf(tx->arena, "%s_%s", chosen, dt_name(types.choices.at[i]));
        bind_entries(tx, o, next.function, name, more, at + 1);
    }
}

static bool is_of_module(tc *tx, const tc_binding *b, const tc_module *m)
{
    if (b->lazy_module || b->name->text[0] == '_' || !is_operator(tx, &b->value))
        return false;
    const tc_function *f = written(tx, &b->value);
    return f && f->module == m;
}

// "norm_without_w_b"
static const char *name_without(tc *tx, const tc_operator *o, unsigned left_out)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    str_addf(&out, "%s%s", o->name, left_out ? "_without" : "");
    for (size_t i = 0; i < o->params.len; i++) {
        const tc_operator_param *p = &o->params.at[i];
        if (!p->is_optional)
            continue;
        if (left_out & 1)
            str_addf(&out, "_%s", p->name);
        left_out >>= 1;
    }
    return str_text(&out);
}

bool tc_has_word(const char *text, str word)
{
    for (size_t len = 0; *text; text += len ? len : 1) {
        len = word_length(text);
        if (len && str_equal((str){text, len}, word))
            return true;
    }
    return false;
}

// Whether an operand that is there tells what the parameter is.
static bool is_told(const writer *w, const char *name)
{
    for (size_t i = 0; i < w->op->params.len; i++)
        if (is_operand(w, &w->op->params.at[i]) &&
            tc_has_word(w->op->params.at[i].type, (str){name, word_length(name)}))
            return true;
    return false;
}

// An operand that alone tells a type or an extent has to be there.
static bool may_lack(tc *tx, tc_operator *o, unsigned left_out)
{
    const writer w = {.tx = tx, .op = o, .left_out = left_out};
    bool ok = true;
    for (size_t i = 0; i < o->types.len; i++)
        ok &= o->types.at[i].has_default || is_told(&w, o->types.at[i].name);
    for (size_t i = 0; i < o->sizes.len; i++)
        ok &= strchr(o->sizes.at[i], '=') != NULL || is_told(&w, o->sizes.at[i] + (*o->sizes.at[i] == '*'));
    for (size_t i = 0; i < o->joined.len; i++)
        ok &= is_told(&w, o->joined.at[i]);
    return ok;
}

// Whether an entry of the operator may be asked for: others are not looked at closely, which takes time.
static bool is_wanted(const tc *tx, const tc_operator *o)
{
    bool is = !tx->options->entry_count;
    for (int i = 0; i < tx->options->entry_count; i++)
        is |= strncmp(tx->options->entries[i], o->name, strlen(o->name)) == 0;
    return is;
}

static const char *many_axes(tc *tx, const tc_operator *o)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    str_adds(&out, "what it computes depends on the number of axes: fix it by");
    for (size_t i = 0; i < o->joined.len; i++)
        str_addf(&out, " -D %s=2", o->joined.at[i]);
    return str_text(&out);
}

// The axes of the operator's entries; false, and why, if there are none that are right.
static bool lay_out(tc *tx, tc_operator *o, tc_value v, writer *w)
{
    *w = (writer){.tx = tx, .op = o};
    choose_ranks(w);
    if (is_wanted(tx, o) && !choose_layout(w, v)) {
        o->why_not = many_axes(tx, o);
        return false;
    }
    name_joined_axes(w);
    return true;
}

// Binds entries for each subset of the optional operands that may be omitted, unless the author's file uses the name.
static void offer(tc *tx, tc_operator *o, tc_value v)
{
    tc_function *f = NULL;
    unsigned optional = 0;
    writer w;
    if (!lay_out(tx, o, v, &w))
        return;
    for (size_t i = 0; i < o->params.len; i++)
        optional += o->params.at[i].is_optional;
    for (unsigned left_out = 0; left_out < 1u << optional; left_out++) {
        const char *name = name_without(tx, o, left_out);
        if (left_out && (!may_lack(tx, o, left_out) || tc_scope_find_here(tx->main->scope, sym_of(tx->syms, name))))
            continue;
        f = make_template(&w, v, tx->main, false, left_out);
        if (f)
            bind_entries(tx, o, f, name, "", 0);
    }
    f = f && o->is_by_element ? make_template(&w, v, tx->main, true, 0) : NULL;
    if (f)
        bind_entries(tx, o, f, arena_printf(tx->arena, "%s_strided", o->name), "", 0);
}

void tc_offer_operators(tc *tx)
{
    size_t count = tx->main->scope->list.len;
    for (size_t i = 0; i < count && !tx->aborted; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        tc_operator *o = is_of_module(tx, b, tx->main) ? describe(tx, b) : NULL;
        if (o && !o->why_not)
            offer(tx, o, b->value);
    }
}

// What is known of the operator, with why it is no entry; NULL: there is none.
static tc_operator *describe_entry(tc *tx, const tc_binding *b)
{
    writer w;
    tc_operator *o = b && is_of_module(tx, b, tx->main) ? describe(tx, b) : NULL;
    if (o && !o->why_not && tx->options->entry_count)
        lay_out(tx, o, b->value, &w);
    return o;
}

const tc_operator *tc_operator_of_entry(tc *tx, const char *text)
{
    const tc_binding *found = NULL;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        size_t len = b->name->len;
        bool is_it = strncmp(text, b->name->text, len) == 0 && (!text[len] || text[len] == '_');
        if (is_it && is_of_module(tx, b, tx->main) && (!found || len > found->name->len))
            found = b;
    }
    return describe_entry(tx, found);
}

// The number, from 1, of the variadic parameter that the extent stands for; 0: none.
static int group_of(const tc_operator *o, const ir_expr *extent)
{
    for (size_t i = 0; extent->op == IR_OP_VAR && i < o->joined_axes.len; i++)
        if (strcmp(extent->u.var->name, o->joined_axes.at[i]) == 0)
            return (int)i + 1;
    return 0;
}

// A tensor with two of them has the axes that it has: nothing says where the first ends.
static void join_axes(const tc_operator *o, ir_var *v)
{
    int found = 0;
    for (int axis = 0; axis < v->tensor->rank; axis++) {
        int group = group_of(o, v->tensor->shape[axis]);
        if (!group)
            continue;
        v->joined = axis + 1;
        v->join_group = group;
        found++;
    }
    if (found > 1)
        v->joined = v->join_group = 0;
}

// Results stand behind the operands.
static void mark_results(ir_func *func, size_t results)
{
    for (size_t i = func->params.len; i-- > 0 && results > 0;) {
        ir_var *v = func->params.at[i];
        v->is_result = v->tensor;
        results -= v->is_result;
    }
}

// What hdsc run takes where nothing is said.
static void mark_defaults(ir_func *func, const tc_operator *o)
{
    for (size_t i = 0; i < func->params.len; i++)
        for (size_t k = 0; k < o->params.len; k++) {
            const tc_operator_param *p = &o->params.at[k];
            if (p->kind == TC_PARAM_NUMBER && strcmp(func->params.at[i]->name, p->name) == 0)
                func->params.at[i]->default_text = p->default_value;
        }
}

void tc_name_operator(ir_func *func, const tc_function *f)
{
    if (!f->operator)
        return;
    func->operator = f->operator->name;
    func->operator_types = f->operator_types;
    func->title = func->name;
    func->is_strided = f->is_strided;
    func->is_elementwise = f->operator->is_by_element && !f->is_strided;
    mark_defaults(func, f->operator);
    mark_results(func, f->operator->results.len);
    for (size_t i = 0; !f->is_strided && i < func->params.len; i++)
        if (func->params.at[i]->tensor)
            join_axes(f->operator, func->params.at[i]);
}

// ---- a list for people -------------------------------------------------------------------------------------------

bool tc_list_operators(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                       tc_operator_list *out, const char **doc)
{
    int before = diags->error_count;
    tc *tx = tc_open(a, syms, diags, file, options);
    if (!tx || tx->aborted || diags->error_count != before)
        return false;
    tc_frame frame = {.scope = tx->main->scope, .compile_time = true};
    tx->frame = &frame;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        tc_operator *o = describe_entry(tx, b);
        if (o)
            VEC_PUSH(a, out, o);
    }
    tx->frame = NULL;
    *doc = tx->main->ast->doc;
    return diags->error_count == before;
}
