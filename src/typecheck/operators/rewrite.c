// Rewrites of graphs: records of the class Rewrite (stdlib/language/rewrite.hds) of the main file and of modules, as JSON that
// src/graph reads (rule.c); and the right sides at places where they were found.
//
// The left side is recorded with values that no model has: each size, type and attribute stands for any. Whatever the function
// computes of them on the left is another such value, which is found nowhere.
#include "typecheck/operators/operators.h"

#include <inttypes.h>
#include <string.h>

typedef struct rewrite {
    const char *name;
    tc_value value;
    const tc_function *function;
    bool is_library;
} rewrite;

struct tc_rewrites {
    tc *tx;
    VEC(rewrite) list;
    ir_func *dropped; // what runs while sides are recorded
};

enum { FIRST_SIZE = 70000001, FIRST_ATTRIBUTE = 90000001 };

static const tc_function *function_of(tc *tx, const tc_value *v)
{
    if (v->kind != TC_RECORD || strcmp(v->record->class->name->text, "Rewrite") != 0)
        return NULL;
    const tc_value *f = tc_record_field(v->record, sym_of(tx->syms, "function"), NULL);
    return f && f->kind == TC_FUNCTION && f->function->decl ? f->function : NULL;
}

static void add_rewrites(tc_rewrites *r, const tc_scope *scope, bool is_library)
{
    for (size_t i = 0; i < scope->list.len; i++) {
        const tc_binding *b = scope->list.at[i];
        const tc_binding *from = b->lazy_module ? tc_scope_find_here(b->lazy_module->scope, b->lazy_name) : b;
        const tc_function *f = from && !from->lazy_module ? function_of(r->tx, &from->value) : NULL;
        bool is_known = false;
        for (size_t k = 0; k < r->list.len; k++)
            is_known |= r->list.at[k].function == f;
        if (f && !is_known)
            VEC_PUSH(r->tx->lasting, &r->list, ((rewrite){f->name->text, from->value, f, is_library}));
    }
}

// ---- parameters ----------------------------------------------------------------------------------------------------------

static void add_quoted(str_buf *out, const char *text)
{
    str_addc(out, '"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            str_addf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            str_addf(out, "\\u%04x", (unsigned)*text);
        else
            str_addc(out, *text);
    str_addc(out, '"');
}

static const char *type_symbol(int number)
{
    static const char *const names[] = {"f8e5m2", "f8e4m3", "complex64", "u64"};
    return names[number & 3];
}

// The number of the type parameter, counted among those of its sort; -1: none. [is_type]: a type of elements.
static int parameter_of(const ast_function *decl, sym name, bool *is_type)
{
    int sizes = 0, types = 0;
    for (size_t i = 0; i < decl->type_params.len; i++) {
        const ast_type_param *p = &decl->type_params.at[i];
        const ast_name *bound = p->bound && p->bound->kind == AST_NAME ? (const ast_name *)p->bound : NULL;
        bool of_types = !p->is_variadic && !(bound && strcmp(bound->name->text, "int") == 0);
        if (p->name == name) {
            *is_type = of_types;
            return of_types ? types : sizes;
        }
        *(of_types ? &types : &sizes) += 1;
    }
    return -1;
}

static void add_symbols(str_buf *out, const ast_function *decl, bool types)
{
    int count = 0;
    for (size_t i = 0; i < decl->type_params.len; i++) {
        bool is_type = false;
        int number = parameter_of(decl, decl->type_params.at[i].name, &is_type);
        if (is_type != types)
            continue;
        str_addf(out, "%s{\"name\": \"%s\", \"text\": ", count++ ? ", " : "", decl->type_params.at[i].name->text);
        if (types)
            str_addf(out, "\"%s\"}", type_symbol(number));
        else
            str_addf(out, "\"%d\"}", FIRST_SIZE + number);
    }
}

// The extents of a tensor's annotation: as JSON, "M", "*S" or "4", and as values that stand for them.
static bool add_extents(tc *tx, const ast_function *decl, const ast_subscript *type, str_buf *json, str_buf *values)
{
    bool is_type = false;
    for (size_t i = 0; i < type->items.len; i++) {
        const ast_node *item = type->items.at[i];
        bool is_many = item->kind == AST_STARRED;
        const ast_node *name = is_many ? ((const ast_starred *)item)->value : item;
        int number = name->kind == AST_NAME ? parameter_of(decl, ((const ast_name *)name)->name, &is_type) : -1;
        bool is_number = name->kind == AST_INT && !is_many;
        if (!is_number && (number < 0 || is_type)) {
            tc_error(tx, HDS0837, item->span, "extents are type parameters, '*S' or numbers");
            return false;
        }
        tc_value v = is_number ? tc_eval_annotation(tx, (ast_expr *)name, tx->natives) : tc_none();
        str_buf text;
        str_buf_init(&text, tx->arena);
        if (is_number)
            tc_repr(tx, v, &text);
        else
            str_addf(&text, "%d", FIRST_SIZE + number);
        str_addf(values, "%s, ", str_text(&text));
        str_addf(json, "%s\"%s%s\"", i ? ", " : "", is_many ? "*" : "",
                 is_number ? str_text(&text) : ((const ast_name *)name)->name->text);
    }
    return true;
}

typedef struct parameters {
    str_buf tensors, attributes;               // as JSON
    str_buf tensor_values, attribute_values;   // as arguments of Rewrite.pattern
    int attribute_count;
} parameters;

static bool add_tensor(tc *tx, const ast_function *decl, const ast_param *p, parameters *out)
{
    const ast_subscript *type = (const ast_subscript *)p->annotation;
    const ast_name *base = (const ast_name *)type->value;
    bool is_type = false;
    int number = parameter_of(decl, base->name, &is_type);
    const char *type_text = number >= 0 && is_type ? type_symbol(number) : base->name->text;
    str_addf(&out->tensors, "%s{\"name\": \"%s\", \"type\": \"%s\", \"optional\": %s, \"extents\": [",
             out->tensors.len ? ", " : "", p->name->text, base->name->text, p->default_value ? "true" : "false");
    str_addf(&out->tensor_values, "('%s', %s, (", p->name->text, type_text);
    if (!add_extents(tx, decl, type, &out->tensors, &out->tensor_values))
        return false;
    str_adds(&out->tensors, "]}");
    str_adds(&out->tensor_values, ")), ");
    return true;
}

// What stands for an attribute with that default.
static const char *attribute_symbol(tc *tx, tc_value v, int number)
{
    static const char *const types[] = {"u16", "u8", "i16", "i8"};
    switch (v.kind) {
    case TC_FLOAT: return arena_printf(tx->arena, "%d.5", FIRST_ATTRIBUTE + number);
    case TC_STR: return arena_printf(tx->arena, "'?%d'", number);
    case TC_TYPE: return types[number & 3];
    case TC_TUPLE: return arena_printf(tx->arena, "(%d,)", FIRST_ATTRIBUTE + number);
    default: return arena_printf(tx->arena, "%d", FIRST_ATTRIBUTE + number);
    }
}

static bool add_attribute(tc *tx, const tc_function *f, const ast_param *p, parameters *out)
{
    if (!p->default_value || p->kind != AST_PARAM_PLAIN) {
        const char *why = arena_printf(tx->arena, "'%s' has neither the type of a tensor nor a default", p->name->text);
        tc_error(tx, HDS0837, p->span, why);
        return false;
    }
    tc_value v = tc_eval_annotation(tx, p->default_value, f->closure);
    if (tc_is_poison(v))
        return false;
    str_buf text;
    str_buf_init(&text, tx->arena);
    tc_repr(tx, v, &text);
    const char *symbol = attribute_symbol(tx, v, out->attribute_count++);
    str_addf(&out->attributes, "%s{\"name\": \"%s\", \"text\": \"%s\", \"default\": ", out->attributes.len ? ", " : "",
             p->name->text, symbol);
    add_quoted(&out->attributes, str_text(&text));
    str_addc(&out->attributes, '}');
    str_addf(&out->attribute_values, "('%s', %s), ", p->name->text, symbol);
    return true;
}

static bool is_tensor(const ast_param *p)
{
    return p->annotation && p->annotation->kind == AST_SUBSCRIPT &&
           ((const ast_subscript *)p->annotation)->value->kind == AST_NAME;
}

// ---- calls of the record's methods -------------------------------------------------------------------------------------

static void bind_open_sizes(tc_rewrites *r, const tc_operands *operands, tc_scope *scope)
{
    tc *tx = r->tx;
    for (size_t i = 0; i < operands->size_count; i++) {
        ir_var *v = ir_var_new(tx->ir, IR_VAR_PARAM, operands->sizes[i], ir_scalar(tx->ir, DT_I32), (src_span){0});
        v->is_size = v->has_range = true;
        v->max = INT32_MAX;
        v->divisor = 1;
        tc_scope_bind(tx, scope, sym_of(tx->syms, v->name), tc_rt(ir_read(tx->ir, v, (src_span){0})), (src_span){0});
    }
}

// (record).[call_text], as a text; "": an empty one. NULL after errors.
static const char *call(tc_rewrites *r, const rewrite *w, const char *call_text, const tc_operands *operands)
{
    tc *tx = r->tx;
    int before = tx->diags->error_count;
    src_file *file = src_add(tx->diags->sources, arena_printf(tx->lasting, "<rewrite %s>", w->name),
                             str_of(arena_printf(tx->lasting, "_rewrite.%s", call_text)));
    parse_context px = {tx->lasting, tx->syms, tx->diags};
    ast_expr *e = file ? parse_expression(&px, file) : NULL;
    if (!e)
        return NULL;
    tc_saved saved = tc_enter(tx, r->dropped, &r->dropped->body, NULL);
    tc_lifetime lifetime;
    tc_lifetime_begin(tx, &lifetime);
    tc_scope *scope = tc_scope_new(tx, tx->natives, NULL, TC_SCOPE_FUNCTION);
    tc_frame frame = {.scope = scope, .compile_time = !operands->size_count};
    bind_open_sizes(r, operands, scope);
    tc_scope_bind(tx, scope, sym_of(tx->syms, "_rewrite"), w->value, (src_span){0});
    tx->frame = &frame;
    tx->records = true;
    tx->steps = 0; // each side has the budget of an entry
    tc_value text = tc_eval_annotation(tx, e, scope);
    tx->records = false;
    bool ok = text.kind == TC_STR && tx->diags->error_count == before;
    const char *kept = ok ? arena_strndup(tx->lasting, text.s.at, text.s.len) : NULL;
    tc_lifetime_end(tx, &lifetime);
    tc_leave(tx, saved);
    return kept;
}

static const char *record_left(tc_rewrites *r, const rewrite *w)
{
    tc *tx = r->tx;
    const ast_function *decl = w->function->decl;
    parameters out = {0};
    str_buf_init(&out.tensors, tx->lasting);
    str_buf_init(&out.attributes, tx->lasting);
    str_buf_init(&out.tensor_values, tx->lasting);
    str_buf_init(&out.attribute_values, tx->lasting);
    for (size_t i = 0; i < decl->params.len; i++) {
        const ast_param *p = &decl->params.at[i];
        if (!p->name || !(is_tensor(p) ? add_tensor(tx, decl, p, &out) : add_attribute(tx, w->function, p, &out)))
            return NULL;
    }
    const char *left = call(r, w, arena_printf(tx->arena, "pattern([%s], [%s])", str_text(&out.tensor_values),
                                               str_text(&out.attribute_values)), &(tc_operands){0});
    if (!left)
        return NULL;
    str_buf json;
    str_buf_init(&json, tx->lasting);
    str_adds(&json, "{\"sizes\": [");
    add_symbols(&json, decl, false);
    str_adds(&json, "], \"types\": [");
    add_symbols(&json, decl, true);
    str_addf(&json, "],\n\"tensors\": [%s],\n\"attributes\": [%s],\n\"left\": %s}", str_text(&out.tensors),
             str_text(&out.attributes), left);
    return str_text(&json);
}

// ---- all of them ----------------------------------------------------------------------------------------------------------

tc_rewrites *tc_open_rewrites(tc_elaboration *tx, const char *const *modules, size_t count, tc_rule_list *out)
{
    int before = tx->diags->error_count;
    tx->steps = 0; // modules have the budget of an entry
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    tc_rewrites *r = ARENA_NEW(tx->lasting, tc_rewrites);
    r->tx = tx;
    r->dropped = ir_func_new(tx->ir, IR_HOST_FUNC, "rewrites", (src_span){0});
    r->dropped->result = ir_void(tx->ir);
    add_rewrites(r, tx->main->scope, false);
    for (size_t i = 0; i < count; i++) {
        const tc_module *m = tc_module_load(tx, modules[i], 0, NULL, (src_span){0});
        if (m)
            add_rewrites(r, m->scope, true);
    }
    for (size_t i = 0; i < r->list.len && tx->diags->error_count == before; i++) {
        const char *text = record_left(r, &r->list.at[i]);
        if (text)
            VEC_PUSH(tx->lasting, out, ((tc_rule){text, r->list.at[i].is_library, r->list.at[i].function->decl->name_span}));
    }
    tx->frame = NULL;
    return tx->diags->error_count == before ? r : NULL;
}

const char *tc_record_again(tc_rewrites *r, const char *text)
{
    return tc_record_module(r->tx, text);
}

// Of open sizes, what a side does may depend on their values: then the rewrite does not hold for all, and that is no error.
static const char *call_open(tc_rewrites *r, const rewrite *w, const char *text, const tc_operands *operands)
{
    diag_context *dx = r->tx->diags;
    const diag_mark before = diag_here(dx);
    bool muted = dx->muted;
    dx->muted = true;
    const char *side = call(r, w, text, operands);
    dx->muted = muted;
    diag_rewind(dx, before);
    r->tx->aborted = false;
    return side ? side : "";
}

const char *tc_record_side(tc_rewrites *r, size_t number, tc_side side, const tc_operands *operands)
{
    const char *text = side == TC_REPLACEMENT ? arena_printf(r->tx->lasting, "replacement(%s)", operands->text)
                                              : arena_printf(r->tx->lasting, "side(%s, right=%s)", operands->text,
                                                             side == TC_RIGHT ? "True" : "False");
    const rewrite *w = &r->list.at[number];
    return operands->size_count ? call_open(r, w, text, operands) : call(r, w, text, operands);
}
