#include "schema/schema.h"

#include <string.h>

const char *op_family_name(op_family f)
{
    static const char *const names[] = {
        [OP_FAMILY_UNKNOWN] = NULL, [OP_ELEMENTWISE] = "elementwise", [OP_GATHER] = "gather",
        [OP_ROWS] = "rows",         [OP_COLUMNS] = "columns",         [OP_COMPOSED] = "composed",
        [OP_OWN_KERNELS] = "own kernels",
    };
    return names[f];
}

const op_symbol *op_find_symbol(const op_schema *o, const char *name)
{
    for (size_t i = 0; i < o->symbols.len; i++)
        if (strcmp(o->symbols.at[i].name, name) == 0)
            return &o->symbols.at[i];
    return NULL;
}

void op_add_part(str_buf *out, size_t *line, size_t width, const char *separator, const char *indent, const char *part)
{
    if (!separator) {
        str_adds(out, part);
        return;
    }
    bool fits = out->len - *line + strlen(separator) + 1 + strlen(part) <= width;
    str_addf(out, "%s%c", separator, fits ? ' ' : '\n');
    if (!fits) {
        *line = out->len;
        str_adds(out, indent);
    }
    str_adds(out, part);
}

static const char *param_text(arena *a, const op_param *p)
{
    const char *type = p->role == OP_OPERAND ? p->tensor.text : p->type;
    const char *value = !p->default_text ? "" : arena_printf(a, type ? " = %s" : "=%s", p->default_text);
    return arena_printf(a, "%s%s%s%s%s", p->is_variadic ? "*" : "", p->name, type ? ": " : "", type ? type : "", value);
}

void op_add_signature(const op_schema *o, size_t width, str_buf *out)
{
    size_t line = out->len;
    str_addf(out, "%s(", o->name);
    for (size_t i = 0; i < o->params.len; i++)
        op_add_part(out, &line, width, i ? "," : NULL, "    ", param_text(out->arena, &o->params.at[i]));
    str_adds(out, ")");
    for (size_t i = 0; i < o->results.len; i++) {
        const char *type = o->results.at[i].text;
        const char *result = type ? arena_printf(out->arena, "%s%s", i ? "" : "-> ", type) : NULL;
        if (result)
            op_add_part(out, &line, width, i ? "," : "", "    ", result);
    }
}

void op_add_choices(const op_symbol *s, str_buf *out)
{
    str_addf(out, "%s: ", s->name);
    for (size_t i = 0; i < s->choices.len; i++)
        str_addf(out, "%s%s", i ? ", " : "", dt_name(s->choices.at[i]));
    if (s->is_any)
        str_adds(out, ", …");
}
