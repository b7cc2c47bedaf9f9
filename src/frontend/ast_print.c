// The tree as indented text: one node per line, with its location and attributes, and its children below it. Parts that
// could be mistaken for each other are named.
#include "frontend/ast.h"

#include <string.h>

typedef struct printer {
    src_map *sources;
    str_buf *out;
    int depth;
} printer;

static void print_node(printer *p, const char *part, const ast_node *node);

static void indent(printer *p)
{
    for (int i = 0; i < p->depth; i++)
        str_adds(p->out, "  ");
}

// Opens a line `part: kind line:column-line:column`; the caller adds attributes and ends it.
static void open_line(printer *p, const char *part, const char *kind, src_span span)
{
    indent(p);
    if (part)
        str_addf(p->out, "%s: ", part);
    src_location begin = src_location_of(p->sources, span.begin), end = src_location_of(p->sources, span.end);
    str_addf(p->out, "%s %u:%u-%u:%u", kind, begin.line, begin.column, end.line, end.column);
}

static void end_line(printer *p)
{
    str_addc(p->out, '\n');
}

static void add_quoted(printer *p, str text)
{
    str_adds(p->out, " \"");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '\n')
            str_adds(p->out, "\\n");
        else if (c == '"' || c == '\\')
            str_addf(p->out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            str_addf(p->out, "\\x%02x", c);
        else
            str_addc(p->out, (char)c);
    }
    str_addc(p->out, '"');
}

static void add_name(printer *p, sym name)
{
    str_addc(p->out, ' ');
    str_add(p->out, sym_str(name));
}

static void print_list(printer *p, const char *part, ast_list list)
{
    for (size_t i = 0; i < list.len; i++)
        print_node(p, part, list.at[i]);
}

// A block under a heading; nothing if it is empty.
static void print_block(printer *p, const char *heading, ast_list list)
{
    if (!list.len)
        return;
    indent(p);
    str_addf(p->out, "%s\n", heading);
    p->depth++;
    print_list(p, NULL, list);
    p->depth--;
}

static void print_doc(printer *p, const char *doc)
{
    if (!doc)
        return;
    indent(p);
    str_adds(p->out, "doc");
    add_quoted(p, str_of(doc));
    end_line(p);
}

static void print_type_params(printer *p, const ast_type_params *params)
{
    for (size_t i = 0; i < params->len; i++) {
        const ast_type_param *param = &params->at[i];
        open_line(p, NULL, "type-param", param->span);
        str_adds(p->out, param->is_variadic ? " *" : " ");
        str_add(p->out, sym_str(param->name));
        end_line(p);
        p->depth++;
        print_node(p, "bound", param->bound);
        print_node(p, "default", param->default_value);
        p->depth--;
    }
}

static void print_params(printer *p, const ast_params *params)
{
    static const char *const stars[] = {"", "*", "**"};
    for (size_t i = 0; i < params->len; i++) {
        const ast_param *param = &params->at[i];
        open_line(p, NULL, "param", param->span);
        str_addf(p->out, " %s%s", stars[param->kind], param->name->text);
        str_adds(p->out, param->keyword_only ? " keyword-only" : param->positional_only ? " positional-only" : "");
        end_line(p);
        p->depth++;
        print_node(p, "type", param->annotation);
        print_node(p, "default", param->default_value);
        p->depth--;
    }
}

static void print_args(printer *p, const char *part, const ast_args *args)
{
    static const char *const stars[] = {"", "*", "**"};
    for (size_t i = 0; i < args->len; i++) {
        const ast_arg *arg = &args->at[i];
        open_line(p, NULL, part, arg->span);
        if (arg->name)
            str_addf(p->out, " %s=", arg->name->text);
        if (arg->kind != AST_ARG_PLAIN)
            str_addf(p->out, " %s", stars[arg->kind]);
        end_line(p);
        p->depth++;
        print_node(p, NULL, arg->value);
        p->depth--;
    }
}

static void print_import_name(printer *p, const ast_import_name *name)
{
    open_line(p, NULL, "import-name", name->span);
    add_name(p, name->path);
    if (name->alias)
        str_addf(p->out, " as %s", name->alias->text);
    end_line(p);
}

// ---- statements: facts on the node's line, then parts --------------------------------------------------------------

static void print_function(printer *p, const ast_function *n)
{
    str_addf(p->out, " %s%s\n", n->name->text, n->is_async ? " async" : "");
    p->depth++;
    print_list(p, "decorator", n->decorators);
    print_type_params(p, &n->type_params);
    print_params(p, &n->params);
    print_node(p, "returns", n->returns);
    print_doc(p, n->doc);
    print_block(p, "body", n->body);
    p->depth--;
}

static void print_class(printer *p, const ast_class *n)
{
    str_addf(p->out, " %s\n", n->name->text);
    p->depth++;
    print_list(p, "decorator", n->decorators);
    print_type_params(p, &n->type_params);
    print_args(p, "base", &n->bases);
    print_doc(p, n->doc);
    print_block(p, "body", n->body);
    p->depth--;
}

static void print_from_import(printer *p, const ast_from_import *n)
{
    str_addc(p->out, ' ');
    for (int i = 0; i < n->level; i++)
        str_addc(p->out, '.');
    if (n->module)
        str_add(p->out, sym_str(n->module));
    end_line(p);
    p->depth++;
    for (size_t i = 0; i < n->names.len; i++)
        print_import_name(p, &n->names.at[i]);
    p->depth--;
}

static void print_with(printer *p, const ast_with *n)
{
    end_line(p);
    p->depth++;
    for (size_t i = 0; i < n->items.len; i++) {
        print_node(p, "context", n->items.at[i].context);
        print_node(p, "as", n->items.at[i].target);
    }
    print_block(p, "body", n->body);
    p->depth--;
}

static void print_import(printer *p, const ast_import *n)
{
    end_line(p);
    p->depth++;
    for (size_t i = 0; i < n->names.len; i++)
        print_import_name(p, &n->names.at[i]);
    p->depth--;
}

// The parts of a node that has no facts of its own.
static void print_stmt_parts(printer *p, const ast_node *node)
{
    switch (node->kind) {
    case AST_RETURN:
        print_node(p, NULL, ((const ast_return *)node)->value);
        break;
    case AST_ASSIGN:
        print_list(p, "target", ((const ast_assign *)node)->targets);
        print_node(p, "value", ((const ast_assign *)node)->value);
        break;
    case AST_AUG_ASSIGN:
        print_node(p, "target", ((const ast_aug_assign *)node)->target);
        print_node(p, "value", ((const ast_aug_assign *)node)->value);
        break;
    case AST_ANN_ASSIGN:
        print_node(p, "target", ((const ast_ann_assign *)node)->target);
        print_node(p, "type", ((const ast_ann_assign *)node)->annotation);
        print_node(p, "value", ((const ast_ann_assign *)node)->value);
        break;
    case AST_FOR:
        print_node(p, "target", ((const ast_for *)node)->target);
        print_node(p, "in", ((const ast_for *)node)->iterable);
        print_block(p, "body", ((const ast_for *)node)->body);
        print_block(p, "else", ((const ast_for *)node)->or_else);
        break;
    case AST_WHILE:
        print_node(p, "condition", ((const ast_while *)node)->condition);
        print_block(p, "body", ((const ast_while *)node)->body);
        print_block(p, "else", ((const ast_while *)node)->or_else);
        break;
    case AST_IF:
        print_node(p, "condition", ((const ast_if *)node)->condition);
        print_block(p, "body", ((const ast_if *)node)->body);
        print_block(p, "else", ((const ast_if *)node)->or_else);
        break;
    case AST_ASSERT:
        print_node(p, "condition", ((const ast_assert *)node)->condition);
        print_node(p, "message", ((const ast_assert *)node)->message);
        break;
    case AST_EXPR_STMT:
        print_node(p, NULL, ((const ast_expr_stmt *)node)->value);
        break;
    default:
        break;
    }
}

// ---- expressions ---------------------------------------------------------------------------------------------------

static void print_fstring(printer *p, const ast_fstring *n)
{
    end_line(p);
    p->depth++;
    for (size_t i = 0; i < n->parts.len; i++) {
        const ast_fstring_part *part = &n->parts.at[i];
        indent(p);
        if (!part->value) {
            str_adds(p->out, "text");
            add_quoted(p, part->literal);
            end_line(p);
            continue;
        }
        str_adds(p->out, "field");
        if (part->conversion)
            str_addf(p->out, " !%c", part->conversion);
        if (part->debug)
            add_quoted(p, str_of(part->debug));
        end_line(p);
        p->depth++;
        print_node(p, NULL, part->value);
        print_node(p, "spec", part->spec);
        p->depth--;
    }
    p->depth--;
}

static void print_compare(printer *p, const ast_compare *n)
{
    for (size_t i = 0; i < n->ops.len; i++)
        str_addf(p->out, "%s %s", i ? "," : "", ast_op_text(n->ops.at[i]));
    end_line(p);
    p->depth++;
    print_list(p, NULL, n->operands);
    p->depth--;
}

static void print_lambda(printer *p, const ast_lambda *n)
{
    end_line(p);
    p->depth++;
    print_params(p, &n->params);
    print_node(p, "body", n->body);
    p->depth--;
}

static void print_dict(printer *p, const ast_dict *n)
{
    end_line(p);
    p->depth++;
    for (size_t i = 0; i < n->items.len; i++) {
        print_node(p, "key", n->items.at[i].key);
        print_node(p, n->items.at[i].key ? "value" : "**", n->items.at[i].value);
    }
    p->depth--;
}

static void print_comprehension(printer *p, const ast_comprehension *n)
{
    end_line(p);
    p->depth++;
    print_node(p, "key", n->key);
    print_node(p, "element", n->element);
    for (size_t i = 0; i < n->clauses.len; i++) {
        print_node(p, "for", n->clauses.at[i].target);
        print_node(p, "in", n->clauses.at[i].iterable);
        print_list(p, "if", n->clauses.at[i].conditions);
    }
    p->depth--;
}

static void print_expr_parts(printer *p, const ast_node *node)
{
    switch (node->kind) {
    case AST_UNARY:
        print_node(p, NULL, ((const ast_unary *)node)->operand);
        break;
    case AST_BINARY:
        print_node(p, NULL, ((const ast_binary *)node)->left);
        print_node(p, NULL, ((const ast_binary *)node)->right);
        break;
    case AST_LOGICAL:
        print_list(p, NULL, ((const ast_logical *)node)->operands);
        break;
    case AST_IF_EXPR:
        print_node(p, "condition", ((const ast_if_expr *)node)->condition);
        print_node(p, "then", ((const ast_if_expr *)node)->then);
        print_node(p, "else", ((const ast_if_expr *)node)->or_else);
        break;
    case AST_CALL:
        print_node(p, "callee", ((const ast_call *)node)->callee);
        print_args(p, "arg", &((const ast_call *)node)->args);
        break;
    case AST_ATTRIBUTE:
        print_node(p, NULL, ((const ast_attribute *)node)->value);
        break;
    case AST_SUBSCRIPT:
        print_node(p, "value", ((const ast_subscript *)node)->value);
        print_list(p, "item", ((const ast_subscript *)node)->items);
        break;
    case AST_SLICE:
        print_node(p, "start", ((const ast_slice *)node)->start);
        print_node(p, "stop", ((const ast_slice *)node)->stop);
        print_node(p, "step", ((const ast_slice *)node)->step);
        break;
    case AST_STARRED:
        print_node(p, NULL, ((const ast_starred *)node)->value);
        break;
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
        print_list(p, NULL, ((const ast_sequence *)node)->items);
        break;
    case AST_WALRUS:
        print_node(p, NULL, ((const ast_walrus *)node)->value);
        break;
    default:
        print_stmt_parts(p, node);
        break;
    }
}

// ---- any node ------------------------------------------------------------------------------------------------------

static void add_string(printer *p, const ast_string *n)
{
    if (n->is_bytes)
        str_adds(p->out, " bytes");
    add_quoted(p, n->value);
}

static void add_int(printer *p, const ast_int *n)
{
    if (n->too_large)
        str_adds(p->out, " too-large");
    else if (n->value >> 64)
        str_addf(p->out, " 0x%llx%016llx", (unsigned long long)(n->value >> 64), (unsigned long long)n->value);
    else
        str_addf(p->out, " %llu", (unsigned long long)n->value);
}

static void add_float(printer *p, const ast_float *n)
{
    str_addc(p->out, ' ');
    str_add_double(p->out, n->value);
    if (n->imaginary)
        str_addc(p->out, 'j');
}

// What a node says on its own line.
static void add_facts(printer *p, const ast_node *node)
{
    switch (node->kind) {
    case AST_NAME:
        add_name(p, ((const ast_name *)node)->name);
        break;
    case AST_ATTRIBUTE:
        add_name(p, ((const ast_attribute *)node)->name);
        break;
    case AST_WALRUS:
        add_name(p, ((const ast_walrus *)node)->name);
        break;
    case AST_INT:
        add_int(p, (const ast_int *)node);
        break;
    case AST_FLOAT:
        add_float(p, (const ast_float *)node);
        break;
    case AST_STRING:
        add_string(p, (const ast_string *)node);
        break;
    case AST_UNARY:
        str_addf(p->out, " %s", ast_op_text(((const ast_unary *)node)->op));
        break;
    case AST_BINARY:
        str_addf(p->out, " %s", ast_op_text(((const ast_binary *)node)->op));
        break;
    case AST_LOGICAL:
        str_addf(p->out, " %s", ast_op_text(((const ast_logical *)node)->op));
        break;
    case AST_AUG_ASSIGN:
        str_addf(p->out, " %s=", ast_op_text(((const ast_aug_assign *)node)->op));
        break;
    case AST_SUBSCRIPT:
        str_adds(p->out, ((const ast_subscript *)node)->is_tuple ? " tuple" : "");
        break;
    case AST_UNSUPPORTED:
        str_addf(p->out, " %s", ((const ast_unsupported *)node)->construct);
        break;
    default:
        break;
    }
}

static void print_node(printer *p, const char *part, const ast_node *node)
{
    if (!node)
        return;
    open_line(p, part, ast_kind_name(node->kind), node->span);
    switch (node->kind) {
    case AST_FUNCTION:
        print_function(p, (const ast_function *)node);
        return;
    case AST_CLASS:
        print_class(p, (const ast_class *)node);
        return;
    case AST_WITH:
        print_with(p, (const ast_with *)node);
        return;
    case AST_IMPORT:
        print_import(p, (const ast_import *)node);
        return;
    case AST_FROM_IMPORT:
        print_from_import(p, (const ast_from_import *)node);
        return;
    case AST_FSTRING:
        print_fstring(p, (const ast_fstring *)node);
        return;
    case AST_COMPARE:
        print_compare(p, (const ast_compare *)node);
        return;
    case AST_LAMBDA:
        print_lambda(p, (const ast_lambda *)node);
        return;
    case AST_DICT:
        print_dict(p, (const ast_dict *)node);
        return;
    case AST_LIST_COMP:
    case AST_SET_COMP:
    case AST_DICT_COMP:
    case AST_GENERATOR:
        print_comprehension(p, (const ast_comprehension *)node);
        return;
    default:
        break;
    }
    add_facts(p, node);
    end_line(p);
    p->depth++;
    print_expr_parts(p, node);
    p->depth--;
}

void ast_print(const ast_module *module, src_map *sources, str_buf *out)
{
    printer p = {.sources = sources, .out = out};
    str_addf(out, "module%s\n", module->has_errors ? " has-errors" : "");
    p.depth = 1;
    print_doc(&p, module->doc);
    print_list(&p, NULL, module->body);
}
