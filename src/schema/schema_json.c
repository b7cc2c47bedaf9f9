// A row of the table for tools.

#include <jansson.h>
#include <string.h>

#include "schema/schema.h"

static json_t *text(const char *s)
{
    return s ? json_string(s) : json_null();
}

static json_t *symbol(const op_symbol *s)
{
    static const char *const kinds[] = {[OP_TYPE] = "type", [OP_EXTENT] = "extent", [OP_AXES] = "axes"};
    json_t *o = json_pack("{s:s, s:s, s:o}", "name", s->name, "kind", kinds[s->kind], "default", text(s->default_text));
    if (s->kind == OP_EXTENT)
        json_object_set_new(o, "least", json_integer(s->least));
    if (s->kind == OP_TYPE) {
        json_t *choices = json_array();
        for (size_t i = 0; i < s->choices.len; i++)
            json_array_append_new(choices, text(dt_name(s->choices.at[i])));
        json_object_set_new(o, "choices", choices);
        json_object_set_new(o, "is_any", json_boolean(s->is_any));
    }
    return o;
}

static void set_tensor(json_t *o, const op_tensor *t)
{
    json_t *axes = t->has_shape ? json_array() : json_null();
    for (size_t i = 0; t->has_shape && i < t->axes.len; i++) {
        const op_axis *axis = &t->axes.at[i];
        json_array_append_new(axes, json_pack("{s:s, s:b}", "extent", axis->extent, "is_many", axis->is_many));
    }
    json_object_set_new(o, "type", text(t->text));
    json_object_set_new(o, "dtype", text(t->dtype));
    json_object_set_new(o, "axes", axes);
}

static json_t *operand(const op_param *p, size_t position)
{
    json_t *o = json_pack("{s:s, s:i, s:b, s:b, s:o}", "name", p->name, "position", (int)position, "optional", p->is_optional,
                          "variadic", p->is_variadic, "default", text(p->default_text));
    set_tensor(o, &p->tensor);
    return o;
}

static json_t *kinds(const op_param *p)
{
    static const struct {
        op_kinds kind;
        const char *name;
    } names[] = {{OP_NONE, "none"},   {OP_BOOL, "bool"},   {OP_INT, "int"},           {OP_FLOAT, "float"}, {OP_STR, "str"},
                 {OP_DTYPE, "dtype"}, {OP_TUPLE, "tuple"}, {OP_FUNCTION, "function"}, {OP_ANY, "any"}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (p->kinds & names[i].kind)
            json_array_append_new(list, text(names[i].name));
    return list;
}

static json_t *attribute(const op_param *p, size_t position)
{
    json_t *values = p->values.len ? json_array() : json_null();
    for (size_t i = 0; i < p->values.len; i++)
        json_array_append_new(values, text(p->values.at[i]));
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "name", p->name, "position", (int)position, "type",
                     text(p->type), "kinds", kinds(p), "values", values, "dtype",
                     text(p->role == OP_NUMBER && p->number != DT_NONE ? dt_name(p->number) : NULL), "default",
                     text(p->default_text), "known_while_compiling", p->role == OP_CHOICE, "declared", p->is_declared);
}

static json_t *results(const op_schema *o)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->results.len; i++) {
        json_t *result = json_pack("{s:s}", "name", o->results.at[i].name);
        set_tensor(result, &o->results.at[i]);
        json_array_append_new(list, result);
    }
    return list;
}

static json_t *inferred(const op_schema *o)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->inferred.len; i++) {
        const op_result *r = &o->inferred.at[i];
        json_t *shape = json_array();
        for (int k = 0; k < r->rank; k++)
            json_array_append_new(shape, json_integer(r->shape[k]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "dtype", dt_name(r->type), "shape", shape));
    }
    return list;
}

json_t *op_schema_json(const op_schema *o)
{
    json_t *symbols = json_array(), *operands = json_array(), *attributes = json_array(), *templates = json_array();
    for (size_t i = 0; i < o->symbols.len; i++)
        json_array_append_new(symbols, symbol(&o->symbols.at[i]));
    for (size_t i = 0; i < o->params.len; i++) {
        const op_param *p = &o->params.at[i];
        bool is_operand = p->role == OP_OPERAND;
        json_array_append_new(is_operand ? operands : attributes, is_operand ? operand(p, i) : attribute(p, i));
    }
    for (size_t i = 0; i < o->templates.len; i++)
        json_array_append_new(templates, json_pack("{s:s, s:s}", "name", o->templates.at[i].name, "module",
                                                   o->templates.at[i].module));
    json_t *row = json_pack("{s:s, s:s, s:s, s:i}", "name", o->name, "module", o->module, "file", o->file, "line", (int)o->line);
    json_object_set_new(row, "symbols", symbols);
    json_object_set_new(row, "operands", operands);
    json_object_set_new(row, "attributes", attributes);
    json_object_set_new(row, "results", results(o));
    json_object_set_new(row, "family", text(op_family_name(o->family)));
    json_object_set_new(row, "templates", templates);
    json_object_set_new(row, "precision", text(o->precision));
    if (o->inferred.len)
        json_object_set_new(row, "inferred", inferred(o));
    json_object_set_new(row, "why_no_entry", text(o->no_entry));
    json_object_set_new(row, "doc", text(o->doc));
    return row;
}
