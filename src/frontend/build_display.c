// Tuples, lists, sets, dicts, comprehensions, and the rules of what may be assigned to.
#include "frontend/parse_priv.h"

#include "grammar/hds.h"

parse_items parse_items_first(parse_state *ps, parse_expr item)
{
    parse_items items = {.outer = item.outer};
    parse_list_add(ps, &items.list, item.node);
    return items;
}

void parse_items_add(parse_state *ps, parse_items *items, parse_expr item)
{
    parse_list_add(ps, &items->list, item.node);
    items->outer.end = item.outer.end;
}

void parse_items_comma(parse_items *items, lex_token comma)
{
    items->outer.end = comma.span.end;
}

parse_expr parse_single(parse_state *ps, parse_expr item)
{
    if (item.node->kind != AST_STARRED)
        return item;
    diag *d = parse_report(ps, HDS0026, item.outer);
    diag_help(d, "'*%s,' with a comma is a tuple",
              AST_AS(STARRED, starred, item.node)->value->kind == AST_NAME
                  ? AST_AS(NAME, name, AST_AS(STARRED, starred, item.node)->value)->name->text
                  : "items");
    return parse_bad(ps, item.outer);
}

static parse_expr sequence(parse_state *ps, ast_kind kind, ast_list list, src_span span)
{
    ast_sequence *node = parse_node(ps, kind, sizeof *node, span);
    node->items = list;
    parse_grow(ps, &node->node, parse_higher_list(0, list));
    return parse_bare(&node->node);
}

parse_expr parse_bare_tuple(parse_state *ps, parse_items items)
{
    return sequence(ps, AST_TUPLE, items.list, items.outer);
}

parse_expr parse_group(parse_state *ps, lex_token open, parse_expr item, lex_token close)
{
    parse_expr inner = parse_single(ps, item);
    return (parse_expr){inner.node, src_join(open.span, close.span)};
}

parse_expr parse_display(parse_state *ps, ast_kind kind, lex_token open, parse_items items, lex_token close)
{
    return sequence(ps, kind, items.list, src_join(open.span, close.span));
}

parse_expr parse_empty(parse_state *ps, ast_kind kind, lex_token open, lex_token close)
{
    return sequence(ps, kind, (ast_list){0}, src_join(open.span, close.span));
}

parse_dict_items *parse_dict_add(parse_state *ps, parse_dict_items *items, parse_expr key, parse_expr value)
{
    if (!items)
        items = ARENA_NEW(ps->arena, parse_dict_items);
    PARSE_PUSH(ps, items, ((ast_dict_item){key.node, value.node}));
    return items;
}

parse_expr parse_dict(parse_state *ps, lex_token open, parse_dict_items *items, lex_token close)
{
    ast_dict *node = PARSE_NODE(ps, DICT, dict, src_join(open.span, close.span));
    uint32_t height = 0;
    for (size_t i = 0; items && i < items->len; i++) {
        PARSE_PUSH(ps, &node->items, items->at[i]);
        height = parse_higher(parse_higher(height, items->at[i].key), items->at[i].value);
    }
    parse_grow(ps, &node->node, height);
    return parse_bare(&node->node);
}

// ---- comprehensions ------------------------------------------------------------------------------------------------

ast_comp_for parse_comp_for(parse_state *ps, parse_expr target, parse_expr iterable, ast_list conditions)
{
    parse_check_target(ps, target.node);
    return (ast_comp_for){target.node, iterable.node, conditions};
}

parse_clauses *parse_clauses_add(parse_state *ps, parse_clauses *clauses, ast_comp_for clause)
{
    if (!clauses)
        clauses = ARENA_NEW(ps->arena, parse_clauses);
    PARSE_PUSH(ps, clauses, clause);
    return clauses;
}

static ast_comprehension *comprehension(parse_state *ps, ast_kind kind, parse_expr key, parse_expr element,
                                        parse_clauses *clauses, src_span span)
{
    ast_comprehension *node = parse_node(ps, kind, sizeof *node, span);
    if (element.node->kind == AST_STARRED)
        parse_report(ps, HDS0026, element.outer);
    node->element = element.node;
    node->key = key.node;
    uint32_t height = parse_higher(parse_higher(0, key.node), element.node);
    for (size_t i = 0; i < clauses->len; i++) {
        ast_comp_for clause = clauses->at[i];
        PARSE_PUSH(ps, &node->clauses, clause);
        height = parse_higher(parse_higher(height, clause.target), clause.iterable);
        height = parse_higher_list(height, clause.conditions);
    }
    parse_grow(ps, &node->node, height);
    return node;
}

parse_expr parse_comprehension(parse_state *ps, ast_kind kind, lex_token open, parse_expr key, parse_expr element,
                               parse_clauses *clauses, lex_token close)
{
    return parse_bare(&comprehension(ps, kind, key, element, clauses, src_join(open.span, close.span))->node);
}

ast_arg parse_generator_arg(parse_state *ps, parse_expr element, parse_clauses *clauses)
{
    ast_comp_for last = VEC_LAST(clauses);
    src_span end = last.conditions.len ? last.conditions.at[last.conditions.len - 1]->span : last.iterable->span;
    ast_comprehension *node =
        comprehension(ps, AST_GENERATOR, (parse_expr){0}, element, clauses, src_join(element.outer, end));
    return (ast_arg){.value = &node->node}; // the call knows the span
}

void parse_async_comprehension(parse_state *ps, lex_token keyword)
{
    parse_unsupported(ps, keyword, keyword.span.end);
}

// ---- targets -------------------------------------------------------------------------------------------------------

static const char *describe(ast_kind kind)
{
    switch (kind) {
    case AST_INT:
    case AST_FLOAT:
    case AST_STRING:
    case AST_FSTRING:
        return "a literal";
    case AST_TRUE:
        return "'True'";
    case AST_FALSE:
        return "'False'";
    case AST_NONE:
        return "'None'";
    case AST_ELLIPSIS:
        return "'...'";
    case AST_CALL:
        return "the result of a call";
    case AST_COMPARE:
        return "a comparison";
    case AST_LAMBDA:
        return "a lambda";
    case AST_IF_EXPR:
        return "a conditional expression";
    case AST_WALRUS:
        return "an assignment expression";
    case AST_LIST_COMP:
    case AST_SET_COMP:
    case AST_DICT_COMP:
    case AST_GENERATOR:
        return "a comprehension";
    case AST_SET:
        return "a set";
    case AST_DICT:
        return "a dict";
    default:
        return "an expression";
    }
}

static bool check_targets(parse_state *ps, ast_list list)
{
    ast_node *star = NULL;
    for (size_t i = 0; i < list.len; i++) {
        ast_node *item = list.at[i];
        if (item->kind == AST_STARRED && star) {
            parse_report(ps, HDS0016, item->span, "two starred targets");
            return false;
        }
        if (item->kind == AST_STARRED) {
            star = item;
            item = AST_AS(STARRED, starred, item)->value;
        }
        if (!parse_check_target(ps, item))
            return false;
    }
    return true;
}

bool parse_check_target(parse_state *ps, ast_expr *target)
{
    switch (target->kind) {
    case AST_NAME:
    case AST_ATTRIBUTE:
    case AST_SUBSCRIPT:
    case AST_BAD:
        return true;
    case AST_TUPLE:
    case AST_LIST:
        return check_targets(ps, ((ast_sequence *)target)->items);
    default:
        break;
    }
    diag *d = parse_report(ps, HDS0016, target->span, describe(target->kind));
    if (target->kind == AST_COMPARE || target->kind == AST_CALL)
        diag_help(d, "a comparison is written '=='");
    return false;
}
