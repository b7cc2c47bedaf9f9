// The schema of an operator, from its definition: the value that the decorator made, the author's signature, -D.
#include "typecheck/operators/operators_priv.h"

#include <string.h>

static const char *copy_at(tc *tx, const tc_module *m, src_span span)
{
    return arena_strndup(tx->arena, m->file->text.at + (span.begin - m->file->base), span.end - span.begin);
}

const tc_value *tc_operator_field(tc *tx, tc_value v, const char *name)
{
    return tc_record_field(v.record, sym_of(tx->syms, name), NULL);
}

bool tc_is_operator(tc *tx, tc_value v)
{
    if (v.kind != TC_RECORD || strcmp(v.record->class->name->text, "Operator") != 0 ||
        strcmp(v.record->class->module->path, "hidet.lang.compute") != 0)
        return false;
    const tc_value *f = tc_operator_field(tx, v, "definition");
    return f && f->kind == TC_FUNCTION;
}

const tc_function *tc_operator_function(tc *tx, tc_value v)
{
    const tc_value *element = tc_operator_field(tx, v, "element");
    bool is_by_element = element && element->kind == TC_FUNCTION;
    const tc_function *f = is_by_element ? element->function : tc_operator_field(tx, v, "definition")->function;
    return f->decl ? f : NULL;
}

static void refuse(tc_operator *o, const char *why)
{
    if (!o->schema.no_entry)
        o->schema.no_entry = why;
}

// ---- symbols ----------------------------------------------------------------------------------------------------

static void add_type(tc *tx, op_symbol *s, const tc_value *v)
{
    if (v->kind == TC_TYPE && v->type->kind == IR_SCALAR)
        VEC_PUSH(tx->arena, &s->choices, v->type->scalar);
}

static const dtype usual[] = {DT_F16, DT_BF16, DT_F32};

bool tc_is_usual_type(dtype t)
{
    bool is = false;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        is |= usual[i] == t;
    return is;
}

// Of a type parameter that may be any type: those that operators are made for unless somebody asks for more.
static void add_usual_types(tc *tx, op_symbol *s)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        VEC_PUSH(tx->arena, &s->choices, usual[i]);
    s->is_any = true;
}

static int64_t least_of(tc_value bound)
{
    return bound.kind == TC_AT_LEAST ? bound.at_least->least : 1;
}

static void add_symbol(tc *tx, tc_operator *o, const tc_function *f, const ast_type_param *p)
{
    tc_value bound = p->bound ? tc_eval_annotation(tx, p->bound, f->closure) : tc_poison();
    op_symbol s = {.name = p->name->text};
    if (p->default_value) {
        VEC_PUSH(tx->arena, &o->sizes, p);
        s.default_text = copy_at(tx, f->module, p->default_value->span);
    }
    if (p->is_variadic) {
        s.kind = OP_AXES;
        if (!p->default_value)
            VEC_PUSH(tx->arena, &o->joined, p->name);
    } else if (bound.kind == TC_TUPLE) {
        for (size_t i = 0; i < bound.list->len; i++)
            add_type(tx, &s, &bound.list->at[i]);
    } else if (bound.kind == TC_KIND && bound.kind_name == TC_KIND_DTYPE) {
        add_usual_types(tx, &s);
    } else if (tc_size_type(tx, p, f->closure) != DT_NONE) {
        s.kind = OP_EXTENT;
        s.least = least_of(bound);
        if (!p->default_value)
            VEC_PUSH(tx->arena, &o->sizes, p);
    }
    if (s.kind == OP_TYPE && !s.choices.len) {
        refuse(o, arena_printf(tx->arena, "its type parameter '%s' is neither a type nor an extent", s.name));
        return;
    }
    if (s.kind == OP_TYPE && !p->default_value)
        VEC_PUSH(tx->arena, &o->types, p->name);
    VEC_PUSH(tx->arena, &o->schema.symbols, s);
}

// ---- tensors ----------------------------------------------------------------------------------------------------

static bool is_scalar_type(tc *tx, const tc_operator *o, const tc_function *f, const ast_expr *e)
{
    const op_symbol *s = e->kind == AST_NAME ? op_find_symbol(&o->schema, ((const ast_name *)e)->name->text) : NULL;
    if (s)
        return s->kind == OP_TYPE;
    if (e->kind != AST_NAME && e->kind != AST_ATTRIBUTE)
        return false;
    tc_value v = tc_eval_annotation(tx, e, f->closure);
    return v.kind == TC_TYPE && v.type->kind == IR_SCALAR;
}

// 'bool' alone is a kind of attributes; 'bool[n]' is a tensor of booleans.
static bool is_bool(tc *tx, const tc_operator *o, const tc_function *f, const ast_expr *e)
{
    if (e->kind != AST_NAME || op_find_symbol(&o->schema, ((const ast_name *)e)->name->text))
        return false;
    tc_value v = tc_eval_annotation(tx, e, f->closure);
    return v.kind == TC_KIND && v.kind_name == TC_KIND_BOOL;
}

static bool is_tensor(tc *tx, const tc_operator *o, const tc_function *f, const ast_expr *e)
{
    if (e->kind != AST_SUBSCRIPT)
        return false;
    const ast_expr *element = ((const ast_subscript *)e)->value;
    return is_scalar_type(tx, o, f, element) || is_bool(tx, o, f, element);
}

static op_tensor tensor_of(tc *tx, const tc_function *f, const ast_expr *e)
{
    op_tensor t = {.text = copy_at(tx, f->module, e->span)};
    if (e->kind != AST_SUBSCRIPT)
        return t;
    const ast_subscript *s = (const ast_subscript *)e;
    t.dtype = copy_at(tx, f->module, s->value->span);
    t.has_shape = true;
    for (size_t i = 0; i < s->items.len; i++) {
        const ast_node *item = s->items.at[i];
        bool is_many = item->kind == AST_STARRED;
        const ast_expr *extent = is_many ? ((const ast_starred *)item)->value : item;
        op_axis axis = {copy_at(tx, f->module, extent->span), is_many};
        VEC_PUSH(tx->arena, &t.axes, axis);
    }
    return t;
}

// ---- attributes -------------------------------------------------------------------------------------------------

bool tc_define_text(tc *tx, const char *name, const char **text)
{
    for (int i = 0; i < tx->options->define_count; i++)
        if (strcmp(tx->options->defines[i].name, name) == 0) {
            const char *value = tx->options->defines[i].value;
            *text = value && *value ? value : "True";
            tx->define_used.at[i] = true;
            return true;
        }
    return false;
}

static unsigned kind_of_name(tc_kind_name k)
{
    switch (k) {
    case TC_KIND_INT: return OP_INT;
    case TC_KIND_FLOAT: return OP_FLOAT;
    case TC_KIND_BOOL: return OP_BOOL;
    case TC_KIND_STR: return OP_STR;
    case TC_KIND_DTYPE: return OP_DTYPE;
    case TC_KIND_TUPLE:
    case TC_KIND_LIST: return OP_TUPLE;
    case TC_KIND_FUNCTION: return OP_FUNCTION;
    default: return OP_ANY;
    }
}

static unsigned kind_of_type(const ir_type *t)
{
    if (t->kind != IR_SCALAR)
        return OP_ANY;
    return t->scalar == DT_BOOL ? OP_BOOL : dt_is_int(t->scalar) ? OP_INT : OP_FLOAT;
}

static unsigned kind_of_value(tc_value v)
{
    switch (v.kind) {
    case TC_BOOL: return OP_BOOL;
    case TC_INT: return OP_INT;
    case TC_FLOAT: return OP_FLOAT;
    case TC_STR: return OP_STR;
    case TC_TYPE: return OP_DTYPE;
    case TC_TUPLE: return OP_TUPLE;
    case TC_FUNCTION: return OP_FUNCTION;
    default: return OP_ANY;
    }
}

// What the annotation takes: a kind, a type, or one of several values and kinds.
static void add_kinds(tc *tx, op_param *p, tc_value annotation)
{
    if (annotation.kind == TC_TUPLE) {
        for (size_t i = 0; i < annotation.list->len; i++) {
            tc_value one = annotation.list->at[i];
            if (one.kind == TC_NONE)
                p->kinds |= OP_NONE;
            else if (one.kind == TC_KIND)
                p->kinds |= kind_of_name(one.kind_name);
            else
                VEC_PUSH(tx->arena, &p->values, tc_text(tx, one));
        }
        return;
    }
    p->kinds |= annotation.kind == TC_KIND   ? kind_of_name(annotation.kind_name)
                : annotation.kind == TC_TYPE ? kind_of_type(annotation.type)
                                             : OP_ANY;
}

static void set_kinds(tc *tx, const tc_operator *o, const tc_function *f, const ast_param *p, tc_value known, op_param *out)
{
    const ast_expr *type = p->annotation;
    bool is_symbol = type && type->kind == AST_NAME && op_find_symbol(&o->schema, ((const ast_name *)type)->name->text);
    out->is_declared = type != NULL;
    if (is_symbol)
        out->kinds = OP_INT | OP_FLOAT;
    else if (type)
        add_kinds(tx, out, tc_eval_annotation(tx, type, f->closure));
    else
        out->kinds = kind_of_value(known);
    if (p->default_value && p->default_value->kind == AST_NONE)
        out->kinds |= OP_NONE;
}

bool tc_is_float_by_default(const ast_expr *e)
{
    while (e->kind == AST_UNARY)
        e = ((const ast_unary *)e)->operand;
    return e->kind == AST_FLOAT;
}

// -D low=f32: a parameter that is a choice made while compiling becomes a number of the run, of this type. DT_NONE: it
// does not.
static dtype number_by_define(tc *tx, const tc_function *f, const ast_param *p)
{
    const ast_expr *type = p->annotation;
    const char *text = NULL;
    if (p->kind != AST_PARAM_PLAIN || (type && type->kind == AST_SUBSCRIPT) || !tc_define_text(tx, p->name->text, &text))
        return DT_NONE;
    tc_value v = type ? tc_eval_annotation(tx, type, f->closure) : tc_none();
    if (type && v.kind != TC_TUPLE && (v.kind != TC_KIND || v.kind_name == TC_KIND_DTYPE || v.kind_name == TC_KIND_TYPE))
        return DT_NONE;
    bool is_type = tc_defined(tx, p->name, &v) && v.kind == TC_TYPE && v.type->kind == IR_SCALAR;
    return is_type ? v.type->scalar : DT_NONE;
}

// An expression for the type, which has the hidden name in the operator's scope.
static const ast_expr *type_expr(tc *tx, const tc_operator *o, dtype t)
{
    const char *name = arena_printf(tx->lasting, "the_type_%s", dt_name(t));
    tc_scope_bind(tx, o->scope, sym_of(tx->syms, name), tc_type(ir_scalar(tx->ir, t)), o->span);
    return tc_make_name(tx, o->span, name);
}

static void make_number(tc *tx, tc_operator *o, const ast_param *p, dtype by_define, op_param *out, tc_operator_param *own)
{
    const ast_expr *type = p->annotation;
    out->role = OP_NUMBER;
    if (by_define != DT_NONE || !type) {
        out->number = by_define != DT_NONE ? by_define : DT_F32;
        out->type = dt_name(out->number);
        own->type = type_expr(tx, o, out->number);
    } else {
        tc_value v = op_find_symbol(&o->schema, out->type) ? tc_none() : tc_eval_annotation(tx, type, o->scope);
        out->number = v.kind == TC_TYPE ? v.type->scalar : DT_NONE;
        own->type = type;
    }
    if (by_define != DT_NONE && out->default_text && p->default_value->kind == AST_NONE)
        out->default_text = NULL;
}

// f32[3]: an array of the run, for a parameter without a type, which may be a number or a tensor.
static void make_operand(tc *tx, tc_operator *o, const tc_operand_type *given, op_param *out, tc_operator_param *own)
{
    ast_expr *extents[TM_MAX_RANK];
    const char *dtype_text = dt_name(given->type);
    str_buf text;
    str_buf_init(&text, tx->lasting);
    str_addf(&text, "%s[", dtype_text);
    out->tensor = (op_tensor){.dtype = dtype_text, .has_shape = true};
    for (int i = 0; i < given->rank; i++) {
        const char *extent = arena_printf(tx->lasting, "%lld", (long long)given->shape[i]);
        VEC_PUSH(tx->arena, &out->tensor.axes, ((op_axis){extent, false}));
        str_addf(&text, "%s%s", i ? ", " : "", extent);
        extents[i] = tc_make_int(tx, o->span, given->shape[i]);
    }
    str_addc(&text, ']');
    out->tensor.text = str_text(&text);
    out->default_text = NULL;
    o->has_array = true;
    own->type = tc_make_subscript(tx, (ast_expr *)type_expr(tx, o, given->type), extents, (size_t)given->rank);
}

// The value that entries have: that of -D, or the default.
static void make_choice(tc *tx, tc_operator *o, const ast_param *p, tc_value known, op_param *out, tc_operator_param *own)
{
    out->role = OP_CHOICE;
    own->value = known;
    own->is_default = p->default_value != NULL;
    if (tc_define_text(tx, out->name, &out->default_text)) {
        tc_defined(tx, p->name, &own->value);
        own->is_default = false;
    } else if (!p->default_value) {
        refuse(o, arena_printf(tx->arena, "'%s' has no default, and no value by -D %s=…", out->name, out->name));
    }
}

// The value of a default that needs no types; else poison.
static tc_value known_default(tc *tx, const tc_function *f, const ast_expr *e)
{
    bool muted = tx->diags->muted, aborted = tx->aborted;
    int errors = tx->diags->error_count;
    tx->diags->muted = true;
    tc_value v = e ? tc_eval_annotation(tx, e, f->closure) : tc_poison();
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    tx->aborted = aborted;
    return tc_is_compile_time(v) ? v : tc_poison();
}

static void add_param(tc *tx, tc_operator *o, const tc_function *f, size_t number)
{
    const ast_param *p = &f->decl->params.at[number];
    const ast_expr *type = p->annotation, *value = p->default_value;
    const char *text;
    op_param out = {.name = p->name->text, .type = type ? copy_at(tx, f->module, type->span) : NULL};
    out.default_text = value ? copy_at(tx, f->module, value->span) : NULL;
    tc_operator_param own = {.decl = p, .value = tc_poison()};
    tc_value known = known_default(tx, f, value);
    dtype by_define = number_by_define(tx, f, p);
    const tc_operand_type *given = type || o->is_by_element ? NULL : tc_operand_of_run(tx, out.name);
    bool is_array = given && given->has_shape && given->rank <= TM_MAX_RANK && value && tc_is_float_by_default(value);
    bool is_untyped = !type && !value && (o->is_by_element || !tc_define_text(tx, out.name, &text));
    if (by_define != DT_NONE) {
        make_number(tx, o, p, by_define, &out, &own);
    } else if (is_array && p->kind == AST_PARAM_PLAIN) {
        make_operand(tx, o, given, &out, &own);
    } else if (p->kind != AST_PARAM_PLAIN) {
        refuse(o, "it takes any number of operands");
        out.is_variadic = true;
    } else if (type && is_tensor(tx, o, f, type)) {
        out.is_optional = value && value->kind == AST_NONE;
        out.tensor = tensor_of(tx, f, type);
        own.type = type;
    } else if (is_untyped && !o->is_by_element) {
        refuse(o, arena_printf(tx->arena, "'%s' has no type, and no value by -D %s=…", out.name, out.name));
    } else if (type ? is_scalar_type(tx, o, f, type) : value && tc_is_float_by_default(value)) {
        make_number(tx, o, p, DT_NONE, &out, &own);
    } else if (!is_untyped) {
        make_choice(tx, o, p, known, &out, &own);
    }
    if (out.role != OP_OPERAND)
        set_kinds(tx, o, f, p, known, &out);
    VEC_PUSH(tx->arena, &o->schema.params, out);
    VEC_PUSH(tx->arena, &o->params, own);
}

// ---- results ----------------------------------------------------------------------------------------------------

static void add_results(tc *tx, tc_operator *o, const tc_function *f)
{
    const ast_expr *e = f->decl->returns;
    bool is_tuple = e && e->kind == AST_TUPLE;
    size_t count = is_tuple ? ((const ast_sequence *)e)->items.len : 1;
    for (size_t i = 0; i < count; i++) {
        const ast_expr *type = is_tuple ? ((const ast_sequence *)e)->items.at[i] : e;
        if (type) {
            VEC_PUSH(tx->arena, &o->results, type);
            VEC_PUSH(tx->arena, &o->schema.results, tensor_of(tx, f, type));
        }
        if (!type || type->kind != AST_SUBSCRIPT)
            refuse(o, "its result has no type with a shape");
    }
}

// ---- elementwise operators --------------------------------------------------------------------------------------

// Whether the decorator gives the parameter itself.
static bool is_supplied(tc *tx, tc_value v, sym name)
{
    const tc_value *names = tc_operator_field(tx, v, "supplied");
    bool is = false;
    for (size_t i = 0; names && names->kind == TC_TUPLE && i < names->list->len; i++)
        is |= names->list->at[i].kind == TC_STR && str_equal(names->list->at[i].s, str_of(name->text));
    return is;
}

// T[*S]
static const ast_expr *row_type(tc *tx, const tc_operator *o, const ast_expr *element)
{
    ast_expr *axes = tc_make_starred(tx, tc_make_name(tx, o->span, "S"));
    return tc_make_subscript(tx, (ast_expr *)element, &axes, 1);
}

static op_tensor row_tensor(tc *tx, const char *element)
{
    op_tensor t = {.text = arena_printf(tx->arena, "%s[*S]", element), .dtype = element, .has_shape = true};
    VEC_PUSH(tx->arena, &t.axes, ((op_axis){"S", true}));
    return t;
}

// They take tensors of one type whose elements lie side by side, all as many.
static void describe_by_element(tc *tx, tc_operator *o, const tc_function *f)
{
    op_symbol type = {.name = "T"}, axes = {.name = "S", .kind = OP_AXES};
    const tc_value *takes = tc_operator_field(tx, o->value, "takes"), *gives = tc_operator_field(tx, o->value, "gives");
    for (size_t i = 0; takes->kind == TC_TUPLE && i < takes->list->len; i++)
        add_type(tx, &type, &takes->list->at[i]);
    VEC_PUSH(tx->arena, &o->schema.symbols, type);
    VEC_PUSH(tx->arena, &o->schema.symbols, axes);
    VEC_PUSH(tx->arena, &o->types, sym_of(tx->syms, "T"));
    VEC_PUSH(tx->arena, &o->joined, sym_of(tx->syms, "S"));
    for (size_t i = 0; i < f->decl->params.len; i++) {
        if (is_supplied(tx, o->value, f->decl->params.at[i].name))
            continue;
        add_param(tx, o, f, i);
        op_param *p = &VEC_LAST(&o->schema.params);
        if (p->role != OP_OPERAND)
            continue;
        p->tensor = row_tensor(tx, "T");
        VEC_LAST(&o->params).type = row_type(tx, o, tc_make_name(tx, o->span, "T"));
    }
    dtype given = gives->kind == TC_TYPE ? gives->type->scalar : DT_NONE;
    const char *result = given == DT_BOOL ? "boolean" : given != DT_NONE ? dt_name(given) : "T";
    const ast_expr *element = given != DT_NONE ? type_expr(tx, o, given) : tc_make_name(tx, o->span, "T");
    VEC_PUSH(tx->arena, &o->schema.results, row_tensor(tx, result));
    VEC_PUSH(tx->arena, &o->results, row_type(tx, o, element));
}

// ---- definitions ------------------------------------------------------------------------------------------------

// Each optional operand doubles the entries.
enum { MOST_OPTIONAL = 2 };

static void count_optional(tc *tx, tc_operator *o)
{
    int count = 0;
    for (size_t i = 0; i < o->schema.params.len; i++)
        count += o->schema.params.at[i].is_optional;
    if (count > MOST_OPTIONAL)
        refuse(o, arena_printf(tx->arena, "it has %d operands that are optional, and an entry has at most %d", count,
                               MOST_OPTIONAL));
}

// Operands are given by position.
static void check_order(tc *tx, tc_operator *o)
{
    for (size_t i = 1; i < o->schema.params.len; i++) {
        const op_param *p = &o->schema.params.at[i];
        if (p->role == OP_OPERAND && p[-1].role != OP_OPERAND)
            refuse(o, arena_printf(tx->arena, "'%s' stands behind '%s', and operands come first", p->name, p[-1].name));
    }
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
        o->schema.no_entry = "it has no operand with a type, such as x: T[*S]";
    else if (gives && gives->kind == AST_NAME && strcmp(((const ast_name *)gives)->name->text, "tuple") == 0)
        refuse(o, "it gives any number of results");
}

static void describe_definition(tc *tx, tc_operator *o, const tc_function *f)
{
    for (size_t i = 0; i < f->decl->type_params.len; i++)
        add_symbol(tx, o, f, &f->decl->type_params.at[i]);
    check_signature(tx, o, f);
    for (size_t i = 0; i < f->decl->params.len; i++)
        add_param(tx, o, f, i);
    count_optional(tx, o);
    check_order(tx, o);
    add_results(tx, o, f);
    if (!o->types.len)
        refuse(o, "it has no type parameter, such as T: dtype"); // entries are named by types
}

// ---- families ---------------------------------------------------------------------------------------------------

const tc_function *tc_own_schedule(tc *tx, tc_value v)
{
    const tc_value *schedule = tc_operator_field(tx, v, "schedule");
    const tc_function *f = schedule && schedule->kind == TC_FUNCTION ? schedule->function : NULL;
    return f && strcmp(f->module->path, "hidet.lang.compute") != 0 ? f : NULL;
}

static void add_templates(tc *tx, tc_operator *o)
{
    const tc_function *f = tc_own_schedule(tx, o->value);
    if (!f)
        return;
    op_template t = {f->name ? f->name->text : "lambda", tc_module_name(tx, f->module)};
    VEC_PUSH(tx->arena, &o->schema.templates, t);
    o->schema.family = OP_OWN_KERNELS;
}

// Names that the types in the signature have in entries: values of the choices, hidden ones. A wrong value of -D has been
// reported, and what depends on it is not.
static void bind_values(tc *tx, const tc_operator *o)
{
    const char *text;
    for (size_t i = 0; i < o->params.len; i++) {
        const op_param *p = &o->schema.params.at[i];
        if (p->role == OP_CHOICE && (!tc_is_poison(o->params.at[i].value) || tc_define_text(tx, p->name, &text)))
            tc_scope_bind(tx, o->scope, o->params.at[i].decl->name, o->params.at[i].value, o->span);
    }
}

tc_operator *tc_describe_operator(tc *tx, const tc_binding *b)
{
    const tc_function *f = tc_is_operator(tx, b->value) ? tc_operator_function(tx, b->value) : NULL;
    if (!f)
        return NULL;
    tc_operator *o = ARENA_NEW(tx->arena, tc_operator);
    *o = (tc_operator){.value = b->value, .written = f, .span = f->decl->name_span};
    o->schema = (op_schema){.name = b->name->text, .doc = f->decl->doc, .module = tc_module_name(tx, f->module)};
    o->schema.file = f->module->file->name;
    o->schema.line = src_location_of(tx->diags->sources, o->span.begin).line;
    o->scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_MODULE);
    const tc_value *element = tc_operator_field(tx, o->value, "element"), *counts = tc_operator_field(tx, o->value, "counts");
    o->is_far = counts && counts->kind == TC_TYPE && counts->type->kind == IR_SCALAR && counts->type->scalar == DT_I64;
    o->is_by_element = element && element->kind == TC_FUNCTION;
    if (o->is_by_element)
        describe_by_element(tx, o, f);
    else
        describe_definition(tx, o, f);
    for (size_t i = 0; i < o->schema.results.len; i++)
        o->schema.results.at[i].name = o->schema.results.len == 1 ? "out" : arena_printf(tx->lasting, "out%zu", i);
    o->schema.family = o->is_by_element ? OP_ELEMENTWISE : OP_FAMILY_UNKNOWN;
    const tc_value *precision = tc_operator_field(tx, o->value, "precision");
    o->schema.precision = precision && precision->kind == TC_STR ? arena_strndup(tx->lasting, precision->s.at, precision->s.len) : "";
    if (!o->is_by_element)
        add_templates(tx, o);
    bind_values(tx, o);
    return o;
}
