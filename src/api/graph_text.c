// Built graphs as graph functions.
#include <inttypes.h>
#include <string.h>

#include "api/graph_priv.h"

bool api_is_identifier(const char *text)
{
    // clang-format off
    static const char *const words[] = {
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
        "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
        "return", "try", "while", "with", "yield", "hidet", "weights"};
    // clang-format on
    size_t len = text ? strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
    if (!len || text[len] || *text == '_' || (*text >= '0' && *text <= '9'))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], text) == 0)
            return false;
    return true;
}

const char *api_variable(hds_graph *g, int tensor)
{
    const api_tensor *t = &g->tensors.at[tensor];
    return t->kind == API_INPUT ? t->name : arena_printf(&g->memory, "t%d", tensor);
}

void api_add_quoted(str_buf *out, const char *text)
{
    str_addc(out, '"');
    for (const char *c = text; *c; c++)
        if (*c == '"' || *c == '\\')
            str_addf(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            str_addf(out, "\\x%02x", (unsigned)*c);
        else
            str_addc(out, *c);
    str_addc(out, '"');
}

static bool is_import(const hds_graph *g, size_t i)
{
    const api_statement *s = &g->statements.at[i];
    for (size_t k = 0; k < i; k++) {
        const api_statement *before = &g->statements.at[k];
        if (before->op && s->op && strcmp(before->op, s->op) == 0 && strcmp(before->module, s->module) == 0)
            return false;
    }
    return s->op != NULL;
}

// What the function calls an operator: its name, unless an input, a size, the model, or an operator of another module has it.
static const char *name_of_op(hds_graph *g, const api_statement *s)
{
    bool is_taken = strcmp(g->name, s->op) == 0 || strcmp("W", s->op) == 0;
    for (size_t i = 0; i < g->sizes.len; i++)
        is_taken |= strcmp(g->sizes.at[i], s->op) == 0;
    for (size_t i = 0; i < g->tensors.len; i++)
        is_taken |= g->tensors.at[i].kind == API_INPUT && strcmp(g->tensors.at[i].name, s->op) == 0;
    for (size_t i = 0; i < g->statements.len; i++) {
        const api_statement *other = &g->statements.at[i];
        is_taken |= other->op && strcmp(other->op, s->op) == 0 && strcmp(other->module, s->module) != 0;
    }
    if (!is_taken)
        return s->op;
    char *module = arena_strdup(&g->memory, s->module);
    for (char *c = module; *c; c++)
        if (*c == '.')
            *c = '_';
    return arena_printf(&g->memory, "_%s_%s", module, s->op);
}

static const char *weights_variable(hds_graph *g, const char *file)
{
    int number = 0;
    for (size_t i = 0; i < g->tensors.len; i++) {
        const api_tensor *t = &g->tensors.at[i];
        if (t->kind != API_WEIGHT)
            continue;
        if (strcmp(t->file ? t->file : "", file) == 0)
            return arena_printf(&g->memory, "_W%d", number);
        number++;
    }
    return "_W";
}

static void add_imports(hds_graph *g, str_buf *out)
{
    bool has_weights = false;
    int line = 0;
    for (size_t i = 0; i < g->statements.len; i++) {
        api_statement *s = &g->statements.at[i];
        has_weights |= !s->op;
        if (!is_import(g, i))
            continue;
        s->import_line = ++line;
        const char *name = name_of_op(g, s);
        str_addf(out, "from %s import %s%s%s\n", s->module, s->op, name != s->op ? " as " : "", name != s->op ? name : "");
    }
    str_adds(out, "import hidet\n");
    for (size_t i = 0; i < g->dtypes.len; i++)
        str_addf(out, "from hidet.lang import %s\n", g->dtypes.at[i]);
    if (g->names_infinity)
        str_adds(out, "from hidet.lang import inf, nan\n");
    if (has_weights)
        str_adds(out, "from hidet.lang import weights\n");
}

// "_W0 = weights("mlp.safetensors")", once for each file.
static void add_files(hds_graph *g, str_buf *out)
{
    const char *last = "";
    for (size_t i = 0; i < g->tensors.len; i++) {
        const api_tensor *t = &g->tensors.at[i];
        const char *file = t->file ? t->file : "", *variable = t->kind == API_WEIGHT ? weights_variable(g, file) : last;
        bool is_first = t->kind == API_WEIGHT;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = g->tensors.at[k].kind != API_WEIGHT || strcmp(g->tensors.at[k].file ? g->tensors.at[k].file : "", file) != 0;
        if (!is_first)
            continue;
        str_addf(out, "\n%s = weights(", variable);
        if (*file)
            api_add_quoted(out, file);
        str_adds(out, ")\n");
    }
}

static void add_head(hds_graph *g, str_buf *out)
{
    int count = 0;
    str_addf(out, "\n\n@hidet.graph\ndef %s", g->name);
    for (size_t i = 0; i < g->sizes.len; i++)
        str_addf(out, "%s%s: int", i ? ", " : "[", g->sizes.at[i]);
    str_adds(out, g->sizes.len ? "](" : "(");
    for (size_t i = 0; i < g->tensors.len; i++)
        if (g->tensors.at[i].kind == API_INPUT)
            str_addf(out, "%s%s: %s", count++ ? ", " : "", g->tensors.at[i].name, g->tensors.at[i].type);
    str_adds(out, "):\n");
}

static void add_statement(hds_graph *g, const api_statement *s, str_buf *out)
{
    str_adds(out, "    ");
    for (int k = 0; k < s->count; k++)
        str_addf(out, "%s%s", k ? ", " : "", api_variable(g, s->first + k));
    const api_tensor *t = &g->tensors.at[s->first];
    if (s->op) {
        str_addf(out, " = %s(%s)\n", name_of_op(g, s), s->arguments);
        return;
    }
    str_addf(out, " = %s[", weights_variable(g, t->file ? t->file : ""));
    api_add_quoted(out, t->name);
    str_addf(out, ", %s]\n", t->type);
}

static void add_return(hds_graph *g, str_buf *out)
{
    bool is_named = g->outputs.at[0].name != NULL;
    str_addf(out, "    return %s", is_named ? "{" : "");
    for (size_t i = 0; i < g->outputs.len; i++) {
        str_adds(out, i ? ", " : "");
        if (is_named) {
            api_add_quoted(out, g->outputs.at[i].name);
            str_adds(out, ": ");
        }
        str_adds(out, api_variable(g, g->outputs.at[i].tensor));
    }
    str_adds(out, is_named ? "}\n" : "\n");
}

void api_print_graph(hds_graph *g)
{
    str_buf out;
    str_buf_init(&out, &g->memory);
    add_imports(g, &out);
    add_files(g, &out);
    add_head(g, &out);
    g->first_line = 1;
    for (size_t i = 0; i < out.len; i++)
        g->first_line += out.at[i] == '\n';
    for (size_t i = 0; i < g->statements.len; i++)
        add_statement(g, &g->statements.at[i], &out);
    add_return(g, &out);
    g->text = str_text(&out);
}
