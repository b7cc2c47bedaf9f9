// Functions, classes, lambdas: parameters, type parameters, arguments.
#include "frontend/parse_priv.h"

#include <string.h>

#include "grammar/hds.h"

// ---- parameters ----------------------------------------------------------------------------------------------------

ast_param parse_param(parse_state *ps, lex_token name, parse_expr annotation, parse_expr value)
{
    return (ast_param){
        .name = parse_sym(ps, name),
        .name_span = name.span,
        .span = src_join(src_join(name.span, annotation.outer), value.outer),
        .annotation = annotation.node,
        .default_value = value.node,
    };
}

ast_param parse_star_param(parse_state *ps, lex_token star, lex_token name, parse_expr annotation)
{
    ast_param param = parse_param(ps, name, annotation, (parse_expr){0});
    param.kind = star.kind == LEX_STAR ? AST_PARAM_STAR : AST_PARAM_DOUBLE_STAR;
    param.span.begin = star.span.begin;
    return param;
}

ast_param parse_marker_param(parse_state *ps, lex_token marker)
{
    (void)ps;
    return (ast_param){.span = marker.span, .positional_only = marker.kind == LEX_SLASH};
}

ast_params *parse_params_add(parse_state *ps, ast_params *params, ast_param param)
{
    if (!params)
        params = ARENA_NEW(ps->arena, ast_params);
    PARSE_PUSH(ps, params, param);
    return params;
}

// Names seen so far, to find those that come twice: a few are compared one by one, more go into a map.
typedef struct name_set {
    sym few[16];
    size_t len;
    map many;
} name_set;

static bool is_repeated(name_set *seen, arena *a, sym name)
{
    size_t count = seen->len < 16 ? seen->len : 16;
    for (size_t i = 0; i < count; i++)
        if (seen->few[i] == name)
            return true;
    if (seen->len++ < 16) {
        seen->few[count] = name;
        return false;
    }
    if (!seen->many.arena)
        map_init(&seen->many, a);
    if (map_get_ptr(&seen->many, name))
        return true;
    map_put_ptr(&seen->many, name, (void *)name);
    return false;
}

typedef struct param_order {
    bool slash;     // `/` was seen
    bool star;      // `*` or `*args` was seen
    bool bare_star; // it was `*`, and no parameter has followed yet
    bool double_star;
    bool with_default; // some parameter before `*` has a default value
} param_order;

// A message for a parameter that stands where it must not, or NULL.
static const char *misplaced(const param_order *order, const ast_param *param)
{
    bool is_slash = !param->name && param->positional_only;
    if (order->double_star)
        return "nothing may follow '**' parameters";
    if (is_slash && order->slash)
        return "'/' is allowed only once";
    if (is_slash && order->star)
        return "'/' must be before '*'";
    bool is_star = param->kind == AST_PARAM_STAR || (!param->name && !is_slash);
    if (is_star && order->star)
        return "'*' is allowed only once";
    if (param->kind == AST_PARAM_DOUBLE_STAR && order->bare_star)
        return "a parameter must follow '*'";
    if (param->name && param->kind == AST_PARAM_PLAIN && !param->default_value && !order->star && order->with_default)
        return "a parameter without default value follows one that has one";
    return NULL;
}

static void note_order(param_order *order, const ast_param *param)
{
    bool is_slash = !param->name && param->positional_only;
    bool is_star = param->kind == AST_PARAM_STAR || (!param->name && !is_slash);
    order->slash |= is_slash;
    order->bare_star = is_star ? !param->name : false;
    order->star |= is_star;
    order->double_star |= param->kind == AST_PARAM_DOUBLE_STAR;
    if (param->kind == AST_PARAM_PLAIN && param->default_value && !order->star)
        order->with_default = true;
}

// Puts the markers `*` and `/` into the flags of the parameters around them, and checks the order.
ast_params *parse_params_done(parse_state *ps, ast_params *params)
{
    ast_params *done = ARENA_NEW(ps->arena, ast_params);
    param_order order = {0};
    name_set seen;
    seen.len = 0;
    seen.many.arena = NULL;
    bool reported = false;
    for (size_t i = 0; i < params->len; i++) {
        ast_param param = params->at[i];
        const char *why = misplaced(&order, &param);
        if (!why && !param.name && param.positional_only && i == 0)
            why = "'/' needs a parameter before it";
        if (why && !reported)
            parse_report(ps, HDS0022, param.span, why);
        reported |= why != NULL;
        bool after_star = order.star;
        note_order(&order, &param);
        if (param.name) {
            if (is_repeated(&seen, ps->arena, param.name))
                parse_report(ps, HDS0023, param.name_span, param.name->text);
            param.keyword_only = after_star && param.kind == AST_PARAM_PLAIN;
            PARSE_PUSH(ps, done, param);
        } else if (param.positional_only) {
            for (size_t k = 0; k < done->len; k++)
                done->at[k].positional_only = true;
        }
    }
    if (order.bare_star && !reported)
        parse_report(ps, HDS0022, params->at[params->len - 1].span, "a parameter must follow '*'");
    return done;
}

static uint32_t params_height(uint32_t height, const ast_params *params)
{
    for (size_t i = 0; params && i < params->len; i++)
        height = parse_higher(parse_higher(height, params->at[i].annotation), params->at[i].default_value);
    return height;
}

parse_expr parse_lambda(parse_state *ps, lex_token keyword, ast_params *params, parse_expr body)
{
    ast_lambda *node = PARSE_NODE(ps, LAMBDA, lambda, src_join(keyword.span, body.outer));
    if (params)
        node->params = *params;
    node->body = body.node;
    parse_grow(ps, &node->node, params_height(body.node->height, params));
    return parse_bare(&node->node);
}

// ---- type parameters -----------------------------------------------------------------------------------------------

ast_type_param parse_type_param(parse_state *ps, lex_token star, lex_token name, parse_expr bound, parse_expr value)
{
    ast_type_param param = {
        .name = parse_sym(ps, name),
        .span = src_join(src_join(src_join(star.span, name.span), bound.outer), value.outer),
        .bound = bound.node,
        .default_value = value.node,
        .is_variadic = star.kind == LEX_STAR,
    };
    if (star.kind == LEX_POWER) {
        diag *d = parse_report(ps, HDS0015, param.span, "'**' in type parameters");
        diag_help(d, "take the function as a type parameter: '%s: function'", param.name->text);
    }
    return param;
}

ast_type_params *parse_type_params_add(parse_state *ps, ast_type_params *params, ast_type_param param)
{
    if (!params)
        params = ARENA_NEW(ps->arena, ast_type_params);
    PARSE_PUSH(ps, params, param);
    return params;
}

ast_type_params *parse_type_params_done(parse_state *ps, ast_type_params *params)
{
    name_set seen;
    seen.len = 0;
    seen.many.arena = NULL;
    bool with_default = false;
    for (size_t i = 0; i < params->len; i++) {
        const ast_type_param *param = &params->at[i];
        if (is_repeated(&seen, ps->arena, param->name))
            parse_report(ps, HDS0023, param->span, param->name->text);
        if (with_default && !param->default_value) {
            parse_report(ps, HDS0022, param->span, "a type parameter without default value follows one that has one");
            break;
        }
        with_default |= param->default_value != NULL;
    }
    return params;
}

static uint32_t type_params_height(uint32_t height, const ast_type_params *params)
{
    for (size_t i = 0; params && i < params->len; i++)
        height = parse_higher(parse_higher(height, params->at[i].bound), params->at[i].default_value);
    return height;
}

// ---- arguments -----------------------------------------------------------------------------------------------------

ast_arg parse_arg(parse_state *ps, lex_token star, parse_expr value)
{
    (void)ps;
    ast_arg arg = {.value = value.node, .span = src_join(star.span, value.outer)};
    arg.kind = star.kind == LEX_STAR ? AST_ARG_STAR : star.kind == LEX_POWER ? AST_ARG_DOUBLE_STAR : AST_ARG_PLAIN;
    return arg;
}

ast_arg parse_named_arg(parse_state *ps, lex_token name, parse_expr value)
{
    return (ast_arg){
        .name = parse_sym(ps, name), .value = value.node, .span = ((src_span){name.span.begin, value.outer.end})};
}

ast_args *parse_args_add(parse_state *ps, ast_args *args, ast_arg arg)
{
    if (!args)
        args = ARENA_NEW(ps->arena, ast_args);
    PARSE_PUSH(ps, args, arg);
    return args;
}

// Positional arguments come first; '*' may stand among named ones, but not after '**'.
static const char *misplaced_arg(const ast_args *args, const ast_arg *arg, bool any_named, bool any_double_star)
{
    bool is_positional = !arg->name && arg->kind == AST_ARG_PLAIN;
    if (args->len > 1 && arg->value->kind == AST_GENERATOR && !arg->span.begin)
        return "a generator beside other arguments needs parentheses";
    if (is_positional && any_double_star)
        return "a positional argument follows '**'";
    if (is_positional && any_named)
        return "a positional argument follows a named one";
    if (arg->kind == AST_ARG_STAR && any_double_star)
        return "'*' follows '**'";
    return NULL;
}

ast_args *parse_args_done(parse_state *ps, ast_args *args)
{
    name_set seen;
    seen.len = 0;
    seen.many.arena = NULL;
    bool any_named = false, any_double_star = false;
    for (size_t i = 0; i < args->len; i++) {
        ast_arg *arg = &args->at[i];
        const char *why = misplaced_arg(args, arg, any_named, any_double_star);
        if (!arg->span.begin && args->len > 1)
            arg->span = arg->value->span;
        if (why) {
            parse_report(ps, HDS0024, arg->span, why);
            break;
        }
        if (arg->name && args->len > 1 && is_repeated(&seen, ps->arena, arg->name))
            parse_report(ps, HDS0028, arg->span, arg->name->text);
        any_named |= arg->name != NULL;
        any_double_star |= arg->kind == AST_ARG_DOUBLE_STAR;
    }
    return args;
}

// ---- functions and classes -----------------------------------------------------------------------------------------

ast_stmt *parse_function(parse_state *ps, parse_head head, parse_suite body)
{
    ast_function *node = PARSE_NODE(ps, FUNCTION, function, ((src_span){head.keyword.span.begin, body.end}));
    node->name = parse_sym(ps, head.name);
    node->name_span = head.name.span;
    if (head.type_params)
        node->type_params = *head.type_params;
    if (head.params)
        node->params = *head.params;
    node->returns = head.returns;
    node->doc = parse_take_doc(ps, &body.body);
    node->body = body.body;
    uint32_t height = params_height(type_params_height(0, head.type_params), head.params);
    parse_grow(ps, &node->node, parse_higher_list(parse_higher(height, head.returns), body.body));
    return &node->node;
}

ast_stmt *parse_class(parse_state *ps, parse_head head, parse_suite body)
{
    ast_class *node = PARSE_NODE(ps, CLASS, class, ((src_span){head.keyword.span.begin, body.end}));
    node->name = parse_sym(ps, head.name);
    node->name_span = head.name.span;
    if (head.type_params)
        node->type_params = *head.type_params;
    uint32_t height = type_params_height(0, head.type_params);
    for (size_t i = 0; head.bases && i < head.bases->len; i++)
        height = parse_higher(height, head.bases->at[i].value);
    if (head.bases)
        node->bases = *head.bases;
    node->doc = parse_take_doc(ps, &body.body);
    node->body = body.body;
    parse_grow(ps, &node->node, parse_higher_list(height, body.body));
    return &node->node;
}

ast_stmt *parse_async(parse_state *ps, lex_token keyword, ast_stmt *stmt)
{
    parse_unsupported(ps, keyword, stmt->span.end);
    AST_AS(FUNCTION, function, stmt)->is_async = true;
    stmt->span.begin = keyword.span.begin;
    return stmt;
}

ast_stmt *parse_decorated(parse_state *ps, ast_list decorators, ast_stmt *stmt)
{
    if (stmt->kind == AST_FUNCTION)
        AST_AS(FUNCTION, function, stmt)->decorators = decorators;
    else
        AST_AS(CLASS, class, stmt)->decorators = decorators;
    parse_grow(ps, stmt, parse_higher_list(stmt->height - 1, decorators));
    return stmt;
}
