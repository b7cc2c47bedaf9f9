// Expressions: names, operators, calls, subscripts.
#include "frontend/parse_priv.h"

#include "grammar/hds.h"

parse_expr parse_name(parse_state *ps, lex_token name)
{
    ast_name *node = PARSE_NODE(ps, NAME, name, name.span);
    node->name = parse_sym(ps, name);
    return parse_bare(&node->node);
}

parse_expr parse_constant(parse_state *ps, ast_kind kind, lex_token token)
{
    return parse_bare(parse_node(ps, kind, sizeof(ast_node), token.span));
}

parse_expr parse_unary(parse_state *ps, lex_token op, ast_op code, parse_expr operand)
{
    ast_unary *node = PARSE_NODE(ps, UNARY, unary, src_join(op.span, operand.outer));
    node->op = code;
    node->operand = operand.node;
    parse_grow(ps, &node->node, operand.node->height);
    return parse_bare(&node->node);
}

parse_expr parse_binary(parse_state *ps, parse_expr left, lex_token op, ast_op code, parse_expr right)
{
    ast_binary *node = PARSE_NODE(ps, BINARY, binary, ((src_span){left.outer.begin, right.outer.end}));
    node->op = code;
    node->op_span = op.span;
    node->left = left.node;
    node->right = right.node;
    parse_grow(ps, &node->node, parse_higher(left.node->height, right.node));
    return parse_bare(&node->node);
}

static bool has_parentheses(parse_expr e)
{
    return e.outer.begin != e.node->span.begin || e.outer.end != e.node->span.end;
}

// Chains of one operator become one node: `a and b and c` has three operands.
parse_expr parse_logical(parse_state *ps, parse_expr left, ast_op code, parse_expr right)
{
    ast_logical *node = (ast_logical *)left.node;
    bool goes_on = left.node->kind == AST_LOGICAL && node->op == code && !has_parentheses(left);
    if (!goes_on) {
        node = PARSE_NODE(ps, LOGICAL, logical, left.outer);
        node->op = code;
        parse_list_add(ps, &node->operands, left.node);
        node->node.height = left.node->height + 1;
    }
    parse_list_add(ps, &node->operands, right.node);
    node->node.span.end = right.outer.end;
    parse_grow(ps, &node->node, parse_higher(node->node.height - 1, right.node));
    return parse_bare(&node->node);
}

parse_compare_op parse_compare_symbol(parse_state *ps, lex_token token)
{
    str text = lex_text(&ps->lex, token);
    bool or_equal = text.len == 2;
    switch (text.at[0]) {
    case '<':
        return (parse_compare_op){or_equal ? AST_OP_LE : AST_OP_LT};
    case '>':
        return (parse_compare_op){or_equal ? AST_OP_GE : AST_OP_GT};
    case '!':
        return (parse_compare_op){AST_OP_NE};
    default:
        return (parse_compare_op){AST_OP_EQ};
    }
}

static void compare_add(parse_state *ps, ast_compare *node, parse_compare_op op, parse_expr right)
{
    PARSE_PUSH(ps, &node->ops, op.op);
    parse_list_add(ps, &node->operands, right.node);
    node->node.span.end = right.outer.end;
    parse_grow(ps, &node->node, parse_higher(node->node.height - 1, right.node));
}

parse_expr parse_compare(parse_state *ps, parse_expr left, parse_compare_op op, parse_expr right)
{
    ast_compare *node = PARSE_NODE(ps, COMPARE, compare, left.outer);
    parse_list_add(ps, &node->operands, left.node);
    node->node.height = left.node->height + 1;
    compare_add(ps, node, op, right);
    return parse_bare(&node->node);
}

parse_expr parse_compare_more(parse_state *ps, parse_expr chain, parse_compare_op op, parse_expr right)
{
    compare_add(ps, (ast_compare *)chain.node, op, right);
    return parse_bare(chain.node);
}

parse_expr parse_if_expr(parse_state *ps, parse_expr then, parse_expr condition, parse_expr or_else)
{
    ast_if_expr *node = PARSE_NODE(ps, IF_EXPR, if_expr, src_join(then.outer, or_else.outer));
    node->then = then.node;
    node->condition = condition.node;
    node->or_else = or_else.node;
    parse_grow(ps, &node->node, parse_higher(parse_higher(then.node->height, condition.node), or_else.node));
    return parse_bare(&node->node);
}

parse_expr parse_walrus(parse_state *ps, lex_token name, parse_expr value)
{
    ast_walrus *node = PARSE_NODE(ps, WALRUS, walrus, src_join(name.span, value.outer));
    node->name = parse_sym(ps, name);
    node->value = value.node;
    parse_grow(ps, &node->node, value.node->height);
    return parse_bare(&node->node);
}

parse_expr parse_starred(parse_state *ps, lex_token star, parse_expr value)
{
    ast_starred *node = PARSE_NODE(ps, STARRED, starred, src_join(star.span, value.outer));
    node->value = value.node;
    parse_grow(ps, &node->node, value.node->height);
    return parse_bare(&node->node);
}

parse_expr parse_call(parse_state *ps, parse_expr callee, lex_token open, ast_args *args, lex_token close)
{
    ast_call *node = PARSE_NODE(ps, CALL, call, src_join(callee.outer, close.span));
    node->callee = callee.node;
    uint32_t height = callee.node->height;
    if (args) {
        node->args = *args;
        for (size_t i = 0; i < args->len; i++)
            height = parse_higher(height, args->at[i].value);
        // A generator alone between the parentheses of a call was written with them.
        ast_node *only = args->at[0].value;
        if (args->len == 1 && only->kind == AST_GENERATOR && args->at[0].span.begin == 0)
            args->at[0].span = only->span = src_join(open.span, close.span);
    }
    parse_grow(ps, &node->node, height);
    return parse_bare(&node->node);
}

parse_expr parse_attribute(parse_state *ps, parse_expr value, lex_token name)
{
    ast_attribute *node = PARSE_NODE(ps, ATTRIBUTE, attribute, ((src_span){value.outer.begin, name.span.end}));
    node->value = value.node;
    node->name = parse_sym(ps, name);
    node->name_span = name.span;
    parse_grow(ps, &node->node, value.node->height);
    return parse_bare(&node->node);
}

// `a[(i, j)]` says the same as `a[i, j]`, and `a[*s]` is a tuple of what s holds.
parse_expr parse_subscript(parse_state *ps, parse_expr value, parse_items items, bool has_comma, lex_token close)
{
    ast_subscript *node = PARSE_NODE(ps, SUBSCRIPT, subscript, ((src_span){value.outer.begin, close.span.end}));
    node->value = value.node;
    node->items = items.list;
    node->is_tuple = has_comma || items.list.len > 1 || items.list.at[0]->kind == AST_STARRED;
    if (!node->is_tuple && items.list.at[0]->kind == AST_TUPLE) {
        node->items = AST_AS(TUPLE, sequence, items.list.at[0])->items;
        node->is_tuple = true;
    }
    parse_grow(ps, &node->node, parse_higher_list(value.node->height, node->items));
    return parse_bare(&node->node);
}

parse_expr parse_slice(parse_state *ps, parse_expr start, lex_token colon, parse_expr stop, const lex_token *colon2,
                       parse_expr step)
{
    src_span span = src_join(src_join(start.outer, colon.span), stop.outer);
    if (colon2)
        span = src_join(src_join(span, colon2->span), step.outer);
    ast_slice *node = PARSE_NODE(ps, SLICE, slice, span);
    node->start = start.node;
    node->stop = stop.node;
    node->step = step.node;
    parse_grow(ps, &node->node, parse_higher(parse_higher(parse_higher(0, start.node), stop.node), step.node));
    return parse_bare(&node->node);
}
