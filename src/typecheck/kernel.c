// Functions that become functions of the output: kernels, device functions, host functions; attributes; entries of a
// file.
#include "typecheck/tc_priv.h"

#include <ctype.h>
#include <string.h>

// ---- what kind of function is it?
// ----------------------------------------------------------------------------------------

static bool attribute_path(tc *tx, const ast_expr *e, str_buf *out)
{
    if (e->kind == AST_NAME) {
        str_adds(out, ((const ast_name *)e)->name->text);
        return strcmp(str_text(out), "attrs") == 0 || strcmp(str_text(out), "attr") == 0;
    }
    if (e->kind != AST_ATTRIBUTE || !attribute_path(tx, ((const ast_attribute *)e)->value, out))
        return false;
    str_addc(out, '.');
    str_adds(out, ((const ast_attribute *)e)->name->text);
    return true;
}

typedef enum attr_id {
    ATTR_GRID,
    ATTR_BLOCK,
    ATTR_CLUSTER,
    ATTR_SMEM,
    ATTR_MIN_BLOCKS,
    ATTR_DEPENDENT,
    ATTR_NAME,
    ATTR_KIND,
    ATTR_LABEL
} attr_id;

static const struct {
    const char *path;
    attr_id id;
} attributes[] = {
    {"attrs.cuda.grid_dim", ATTR_GRID},
    {"attrs.cuda.block_dim", ATTR_BLOCK},
    {"attrs.cuda.cluster_dim", ATTR_CLUSTER},
    {"attrs.cuda.dynamic_smem_bytes", ATTR_SMEM},
    {"attrs.cuda.min_blocks", ATTR_MIN_BLOCKS},
    {"attrs.cuda.dependent_launch", ATTR_DEPENDENT},
    {"attrs.func_name", ATTR_NAME},
    {"attrs.func_kind", ATTR_KIND},
    {"attrs.label", ATTR_LABEL},
    {"attr.cuda_grid_dim", ATTR_GRID},
    {"attr.cuda_block_dim", ATTR_BLOCK},
    {"attr.cuda_cluster_dim", ATTR_CLUSTER},
    {"attr.cuda_dynamic_smem_bytes", ATTR_SMEM},
    {"attr.cuda_min_blocks", ATTR_MIN_BLOCKS},
    {"attr.func_name", ATTR_NAME},
    {"attr.func_kind", ATTR_KIND},
    {"attr.label", ATTR_LABEL},
};
enum { ATTRIBUTE_COUNT = sizeof attributes / sizeof *attributes };

static const ast_expr *attribute_value(tc *tx, const ast_list *body, attr_id id, bool *found)
{
    const ast_expr *value = NULL;
    for (size_t i = 0; i < body->len; i++) {
        const ast_stmt *s = body->at[i];
        if (s->kind == AST_IF) {
            const ast_expr *v = attribute_value(tx, &((const ast_if *)s)->body, id, found);
            value = v ? v : attribute_value(tx, &((const ast_if *)s)->or_else, id, found);
            continue;
        }
        if (s->kind != AST_ASSIGN || ((const ast_assign *)s)->targets.at[0]->kind != AST_ATTRIBUTE)
            continue;
        str_buf path;
        str_buf_init(&path, tx->arena);
        if (!attribute_path(tx, ((const ast_assign *)s)->targets.at[0], &path))
            continue;
        for (int k = 0; k < ATTRIBUTE_COUNT; k++)
            if (attributes[k].id == id && strcmp(attributes[k].path, str_text(&path)) == 0) {
                *found = true;
                value = ((const ast_assign *)s)->value;
            }
    }
    return value;
}

static void classify_decorator(tc *tx, tc_function *f, const ast_expr *d)
{
    const ast_expr *head = d->kind == AST_CALL ? ((const ast_call *)d)->callee : d;
    const char *name = head->kind == AST_NAME        ? ((const ast_name *)head)->name->text
                       : head->kind == AST_ATTRIBUTE ? ((const ast_attribute *)head)->name->text
                                                     : "";
    if (strcmp(name, "script") == 0) {
        f->facts->is_script = true;
    } else if (strcmp(name, "instruction") == 0) {
        f->facts->is_instruction = true;
        if (!tc_instruction_decorator(tx, f, d->kind == AST_CALL ? (const ast_call *)d : NULL))
            f->facts->needs_run_time = true;
    } else if (strcmp(name, "test") == 0) {
        f->facts->is_test = true;
        f->facts->test_call = d->kind == AST_CALL ? (const ast_call *)d : NULL;
    } else {
        diag *e = tc_error(tx, HDS0220, d->span, name);
        diag_help(e, "decorators are @hidet.script, @instruction(…) and @test");
    }
}

static bool launches(tc *tx, const tc_function *f);

static bool expr_launches(tc *tx, const tc_function *f, const ast_expr *e)
{
    if (!e || e->kind != AST_CALL)
        return false;
    const ast_expr *callee = ((const ast_call *)e)->callee;
    if (callee->kind == AST_SUBSCRIPT)
        callee = ((const ast_subscript *)callee)->value;
    if (callee->kind != AST_NAME)
        return false;
    sym name = ((const ast_name *)callee)->name;
    tc_binding *b = tc_scope_find(f->closure, name, NULL);
    if (!b)
        return false;
    if (b->lazy_module)
        tc_binding_value(tx, b, e->span);
    if (b->value.kind == TC_NATIVE)
        return strcmp(b->value.native->name, "tensor") == 0;
    if (b->value.kind != TC_FUNCTION)
        return false;
    tc_function_classify(tx, b->value.function);
    return b->value.function->facts->is_kernel || launches(tx, b->value.function);
}

static bool calls_kernel(tc *tx, const tc_function *f, const ast_list *body)
{
    for (size_t i = 0; i < body->len; i++) {
        const ast_stmt *s = body->at[i];
        bool hit = false;
        switch (s->kind) {
        case AST_EXPR_STMT:
            hit = expr_launches(tx, f, ((const ast_expr_stmt *)s)->value);
            break;
        case AST_ASSIGN:
            hit = expr_launches(tx, f, ((const ast_assign *)s)->value);
            break;
        case AST_FOR:
            hit = calls_kernel(tx, f, &((const ast_for *)s)->body);
            break;
        case AST_WHILE:
            hit = calls_kernel(tx, f, &((const ast_while *)s)->body);
            break;
        case AST_IF:
            hit = calls_kernel(tx, f, &((const ast_if *)s)->body) ||
                  calls_kernel(tx, f, &((const ast_if *)s)->or_else);
            break;
        default:
            break;
        }
        if (hit)
            return true;
    }
    return false;
}

// Whether it launches a kernel or allocates, itself or by what it calls.
static bool launches(tc *tx, const tc_function *f)
{
    tc_function_facts *facts = f->facts;
    if (!facts->launches_known && f->decl) {
        facts->launches_known = true; // a function that calls itself does not find out by that
        facts->launches = calls_kernel(tx, f, &f->decl->body);
    }
    return facts->launches;
}

void tc_function_classify(tc *tx, tc_function *f)
{
    tc_function_facts *facts = f->facts;
    if (facts->decorators_done || !f->decl)
        return;
    facts->decorators_done = true;
    tc_frame frame = {.caller = NULL, .scope = f->closure}, *saved = tx->frame;
    tx->frame = &frame;
    for (size_t i = 0; i < f->decl->decorators.len; i++)
        classify_decorator(tx, f, f->decl->decorators.at[i]);
    attribute_value(tx, &f->decl->body, ATTR_GRID, &facts->has_grid);
    attribute_value(tx, &f->decl->body, ATTR_BLOCK, &facts->has_block);
    bool has_kind = false;
    const ast_expr *kind = attribute_value(tx, &f->decl->body, ATTR_KIND, &has_kind);
    bool says_host = kind && kind->kind == AST_STRING &&
                     (str_equal(((const ast_string *)kind)->value, STR("public")) ||
                      str_equal(((const ast_string *)kind)->value, STR("host")));
    facts->is_kernel = facts->has_grid || facts->has_block;
    facts->is_host = !facts->is_kernel && (says_host || (facts->is_script && launches(tx, f)));
    tx->frame = saved;
}

// ---- attributes
// ---------------------------------------------------------------------------------------------------------------

static bool set_dims(tc *tx, ir_expr *dims[3], tc_value v, src_span span, const char *name)
{
    tc_list items = {0};
    if (v.kind == TC_TUPLE || v.kind == TC_LIST)
        items = *v.list;
    else
        tc_list_push(tx, &items, v);
    if (items.len < 1 || items.len > 3) {
        tc_error(tx, HDS0221, span, name, (long)items.len);
        return false;
    }
    for (int i = 0; i < 3; i++) {
        tc_value item = (size_t)i < items.len ? items.at[i] : tc_of_int(1);
        if (item.kind == TC_INT && item.i < 1 && !(item.i == 0 && strcmp(name, "grid_dim") == 0)) {
            tc_error(tx, HDS0222, span, name, tc_text(tx, item));
            return false;
        }
        ir_expr *e = tc_to_index(tx, item, span);
        if (!e)
            return false;
        bool ok;
        dims[i] = tc_resolve_definitions(tx, e, &ok);
        if (!ok) {
            diag *d = tc_error(tx, HDS0223, span, name);
            diag_help(d, "compute it from the parameters and sizes of the kernel");
            return false;
        }
    }
    return true;
}

static bool check_block(tc *tx, ir_expr *const *block, src_span span)
{
    int64_t total = 1, n;
    static const int64_t limit[3] = {1024, 1024, 64};
    for (int i = 0; i < 3; i++) {
        if (!ir_const_int(block[i], &n))
            return true;
        total *= n;
        if (n > limit[i] || total > 1024) {
            tc_error(tx, HDS0224, span, (long)total);
            return false;
        }
    }
    return true;
}

// Blocks of a grid: (2^31 - 1, 65535, 65535), CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability".
static bool check_grid(tc *tx, ir_expr *const *grid, src_span span, const char *name)
{
    static const int64_t limit[3] = {INT32_MAX, 65535, 65535};
    int64_t n;
    for (int i = 0; i < 3; i++)
        if (ir_const_int(grid[i], &n) && n > limit[i]) {
            diag *d = tc_error(tx, HDS0222, span, name, arena_printf(tx->arena, "%lld in %c", (long long)n, "xyz"[i]));
            diag_help(d, "a grid has at most 2147483647, 65535 and 65535 blocks in x, y and z");
            return false;
        }
    return true;
}

static bool check_attribute_arch(tc *tx, src_span span, const char *name)
{
    const arch *needs = arch_find(STR("sm_90"));
    if (arch_has(tx->ir->arch, needs))
        return true;
    diag *d = tc_error(tx, HDS0245, span, name, needs->name, tx->ir->arch->name);
    diag_help(d, "compile with --arch %s or newer", needs->name);
    return false;
}

static bool is_identifier(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.at[i]) && s.at[i] != '_')
            return false;
    return s.len && !isdigit((unsigned char)s.at[0]);
}

static bool check_kind(tc *tx, tc_value v, src_span span, const char *name)
{
    static const char *const kinds[] = {"cuda_kernel", "cuda_internal", "host", "public"};
    for (int i = 0; i < 4; i++)
        if (v.kind == TC_STR && str_equal(v.s, str_of(kinds[i])))
            return true;
    diag *d = tc_error(tx, HDS0222, span, name, tc_text(tx, v));
    diag_help(d, "it is 'cuda_kernel', 'cuda_internal', 'host' or 'public'");
    return false;
}

static bool set_attribute(tc *tx, attr_id id, const char *name, tc_value v, src_span span)
{
    ir_func *f = tx->func;
    int64_t n;
    switch (id) {
    case ATTR_GRID:
        return set_dims(tx, f->grid, v, span, name) && check_grid(tx, f->grid, span, name);
    case ATTR_BLOCK:
        return set_dims(tx, f->block, v, span, name) && check_block(tx, f->block, span);
    case ATTR_CLUSTER:
        if (v.kind == TC_INT && v.i == 1)
            return true;
        return check_attribute_arch(tx, span, name) && set_dims(tx, f->cluster, v, span, name);
    case ATTR_SMEM: {
        bool ok;
        if (v.kind == TC_INT && v.i < 0) {
            tc_error(tx, HDS0222, span, name, tc_text(tx, v));
            return false;
        }
        ir_expr *e = tc_to_index(tx, v, span);
        f->dynamic_smem_bytes = e ? tc_resolve_definitions(tx, e, &ok) : NULL;
        if (e && !ok) {
            diag *d = tc_error(tx, HDS0223, span, name);
            diag_help(d, "compute it from the parameters and sizes of the kernel");
        }
        return e && ok;
    }
    case ATTR_MIN_BLOCKS:
        if (!tc_as_int64(v, &n) || n < 1 || n > 32) {
            tc_error(tx, HDS0222, span, name, tc_text(tx, v));
            return false;
        }
        f->min_blocks = n;
        return true;
    case ATTR_DEPENDENT:
        if (v.kind != TC_BOOL) {
            tc_error(tx, HDS0184, span, name, "bool", tc_describe(tx, v));
            return false;
        }
        f->dependent_launch = v.b;
        return !v.b || check_attribute_arch(tx, span, name);
    case ATTR_NAME:
        if (v.kind != TC_STR) {
            tc_error(tx, HDS0184, span, name, "str", tc_describe(tx, v));
            return false;
        }
        if (!is_identifier(v.s)) {
            diag *d = tc_error(tx, HDS0222, span, name, tc_text(tx, v));
            diag_help(d, "the name of a C function has letters, digits and '_'");
            return false;
        }
        f->name = arena_strndup(tx->arena, v.s.at, v.s.len);
        return true;
    case ATTR_KIND:
        return check_kind(tx, v, span, name);
    default:
        if (v.kind != TC_STR)
            tc_error(tx, HDS0184, span, name, "str", tc_describe(tx, v));
        return v.kind == TC_STR;
    }
}

bool tc_exec_attribute(tc *tx, const ast_attribute *target, tc_value v, src_span span, bool *is_attrs)
{
    str_buf path;
    str_buf_init(&path, tx->arena);
    *is_attrs = attribute_path(tx, &target->node, &path);
    if (!*is_attrs)
        return false;
    for (int k = 0; k < ATTRIBUTE_COUNT; k++) {
        if (strcmp(attributes[k].path, str_text(&path)) != 0)
            continue;
        if (tx->region != tx->frame->entry_region || tx->frame->dissolved || !tx->func) {
            diag *d = tc_error(tx, HDS0225, span, target->name->text);
            diag_help(d, "assign it at the top level of the kernel's body");
            return false;
        }
        src_span *first = &tx->frame->attributes[attributes[k].id];
        if (first->begin) {
            diag *d = tc_error(tx, HDS0237, target->node.span, target->name->text);
            diag_label(d, *first, "first assigned here");
            return false;
        }
        *first = target->node.span;
        src_span value_span = tx->value_span.begin ? tx->value_span : target->node.span;
        return tc_is_poison(v) ? false : set_attribute(tx, attributes[k].id, target->name->text, v, value_span);
    }
    diag *d = tc_error(tx, HDS0226, target->node.span, str_text(&path));
    const char *names[ATTRIBUTE_COUNT + 1] = {0};
    for (int k = 0; k < ATTRIBUTE_COUNT; k++)
        names[k] = attributes[k].path;
    const char *close = tc_suggest(tx, names, str_of(str_text(&path)));
    if (strstr(str_text(&path), "shared"))
        close = "attrs.cuda.dynamic_smem_bytes";
    if (close) {
        diag_help(d, "did you mean '%s'?", close);
        diag_fix(d, target->node.span, close);
    }
    return false;
}

// ---- a function of its own
// -----------------------------------------------------------------------------------------------------

typedef struct saved_state {
    ir_func *func;
    ir_block *block;
    tc_frame *frame;
    int region, speculating;
    tc_captures *captures;
} saved_state;

static saved_state enter(tc *tx, ir_func *func, ir_block *block, tc_captures *captures)
{
    saved_state s = {tx->func, tx->block, tx->frame, tx->region, tx->speculating, tx->captures};
    tx->func = func;
    tx->block = block;
    tx->captures = captures;
    tx->speculating = 0;
    VEC_PUSH(tx->arena, &tx->region_stack, tx->region);
    tx->region = ++tx->next_region;
    return s;
}

static void leave(tc *tx, saved_state s)
{
    tx->func = s.func;
    tx->block = s.block;
    tx->frame = s.frame;
    tx->captures = s.captures;
    tx->speculating = s.speculating;
    tx->region = VEC_POP(&tx->region_stack);
}

static const char *unique_name(tc *tx, const char *base)
{
    char *name = arena_strdup(tx->arena, base);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            *c = '_';
    const char *result = name;
    for (int i = 1; map_get(&tx->names_used, result, strlen(result)); i++)
        result = arena_printf(tx->arena, "%s_%d", name, i);
    map_put(&tx->names_used, result, strlen(result), tx);
    return result;
}

// "matmul_f16_128": the function's name and its compile-time arguments, as far as they make a readable identifier.
static const char *instance_name(tc *tx, const tc_function *f, const tc_scope *scope, bool with_args)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_adds(&b, f->name ? f->name->text : "lambda");
    for (size_t i = 0; with_args && f->decl && i < f->decl->type_params.len; i++) {
        tc_binding *p = tc_scope_find_here(scope, f->decl->type_params.at[i].name);
        if (!p || (p->value.kind != TC_TYPE && p->value.kind != TC_INT))
            continue;
        str_addc(&b, '_');
        tc_to_text(tx, p->value, &b);
    }
    return unique_name(tx, str_text(&b));
}

static const char *instance_title(tc *tx, const tc_function *f, const tc_scope *scope)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_adds(&b, f->name ? f->name->text : "lambda");
    int shown = 0;
    for (size_t i = 0; f->decl && i < f->decl->type_params.len; i++) {
        const ast_type_param *p = &f->decl->type_params.at[i];
        tc_binding *v = tc_scope_find_here(scope, p->name);
        if (!v || v->value.kind == TC_RT)
            continue;
        str_adds(&b, shown++ ? ", " : "[");
        str_addf(&b, "%s=", p->name->text);
        tc_repr(tx, v->value, &b);
    }
    if (shown)
        str_addc(&b, ']');
    return str_text(&b);
}

static ir_var *size_param(tc *tx, const ast_type_param *p, dtype t)
{
    ir_var *v = ir_var_new(tx->ir, IR_VAR_PARAM, p->name->text, ir_scalar(tx->ir, t), p->span);
    v->is_size = true;
    v->has_range = true;
    v->min = 0;
    v->max = t == DT_I64 ? INT64_MAX : INT32_MAX;
    v->divisor = 1;
    return v;
}

// i32 for `int`, i64 for `i64`; DT_NONE: not a size, so it must be fixed.
static dtype size_type(tc *tx, const ast_type_param *p, tc_scope *scope)
{
    if (!p->bound || p->is_variadic)
        return DT_NONE;
    tc_value bound = tc_eval_annotation(tx, p->bound, scope);
    if (bound.kind == TC_KIND && bound.kind_name == TC_KIND_INT)
        return DT_I32;
    if (bound.kind == TC_TYPE && bound.type->kind == IR_SCALAR && dt_is_int(bound.type->scalar))
        return bound.type->scalar;
    return DT_NONE;
}

typedef struct kernel_builder {
    tc *tx;
    tc_function *f;
    ir_func *func;
    tc_scope *scope;
    VEC(ir_var *) sizes;
    VEC(ir_expr *) size_args; // launches: the host's values of the sizes
    bool ok;
} kernel_builder;

static tc_value define_value(tc *tx, int i, src_span *span)
{
    const tc_define *d = &tx->options->defines[i];
    const char *text = d->value && *d->value ? d->value : "True";
    src_file *file =
        src_add(tx->diags->sources, arena_printf(tx->arena, "<-D %s>", d->name), str_of(arena_strdup(tx->arena, text)));
    parse_context px = {tx->arena, tx->syms, tx->diags};
    ast_expr *e = file ? parse_expression(&px, file) : NULL;
    if (span && e)
        *span = e->span;
    tx->define_used.at[i] = true;
    return e ? tc_eval_annotation(tx, e, tx->natives) : tc_poison();
}

bool tc_defined(tc *tx, sym name, tc_value *out)
{
    for (int i = 0; i < tx->options->define_count; i++)
        if (strcmp(tx->options->defines[i].name, name->text) == 0) {
            *out = define_value(tx, i, NULL);
            return true;
        }
    return false;
}

// Binds what the caller left open: -D, defaults, run-time sizes.
static bool bind_open_types(kernel_builder *k, const bool *bound, bool is_entry)
{
    tc *tx = k->tx;
    const ast_type_params *types = &k->f->decl->type_params;
    for (size_t i = 0; i < types->len; i++) {
        const ast_type_param *p = &types->at[i];
        tc_value v;
        bool given = bound && bound[i];
        if (given)
            v = tc_scope_find_here(k->scope, p->name)->value;
        else if (is_entry && tc_defined(tx, p->name, &v))
            given = true;
        else if (p->default_value) {
            v = tc_eval_annotation(tx, p->default_value, k->scope);
            given = true;
        }
        if (given && v.kind == TC_RT) {
            // a size that the host knows only at run time
            ir_var *s = size_param(tx, p, v.rt->type->scalar);
            VEC_PUSH(tx->arena, &k->sizes, s);
            VEC_PUSH(tx->arena, &k->size_args, v.rt);
            tc_binding *b = tc_scope_bind(tx, k->scope, p->name, tc_rt(ir_read(tx->ir, s, p->span)), p->span);
            b->owner = k->func;
            continue;
        }
        dtype t = given ? DT_NONE : size_type(tx, p, k->scope);
        if (given) {
            if (tc_is_poison(v) || !tc_check_bound(tx, p, v, k->scope, p->span))
                return false;
            tc_scope_bind(tx, k->scope, p->name, v, p->span);
        } else if (t != DT_NONE && !is_entry) {
            diag *d = tc_error(tx, HDS0204, tx->frame->call_span, p->name->text, tc_function_title(tx, k->f));
            diag_label(d, p->span, "the type parameter");
            diag_help(d, "name it: %s(…, %s=…)", k->f->name->text, p->name->text);
            return false;
        } else if (t != DT_NONE) {
            ir_var *s = size_param(tx, p, t);
            VEC_PUSH(tx->arena, &k->sizes, s);
            tc_binding *b = tc_scope_bind(tx, k->scope, p->name, tc_rt(ir_read(tx->ir, s, p->span)), p->span);
            b->owner = k->func;
        } else {
            diag *d = tc_error(tx, HDS0227, p->span, p->name->text, k->f->name->text);
            diag_help(d, "give it: -D %s=…, or an entry at module level: name = %s[…]", p->name->text,
                      k->f->name->text);
            return false;
        }
    }
    return true;
}

static const ir_type *kind_type(tc *tx, tc_kind_name k)
{
    switch (k) {
    case TC_KIND_INT:
        return ir_scalar(tx->ir, DT_I32);
    case TC_KIND_FLOAT:
        return ir_scalar(tx->ir, DT_F32);
    case TC_KIND_BOOL:
        return ir_scalar(tx->ir, DT_BOOL);
    default:
        return NULL;
    }
}

static bool add_param(kernel_builder *k, const ast_param *p)
{
    tc *tx = k->tx;
    if (!p->annotation || p->kind != AST_PARAM_PLAIN) {
        tc_error(tx, HDS0228, p->span, p->name ? p->name->text : "*", k->f->name->text);
        return false;
    }
    tc_value annotation = tc_eval_annotation(tx, p->annotation, k->scope);
    if (tc_is_poison(annotation))
        return false;
    if (annotation.kind == TC_KIND && kind_type(tx, annotation.kind_name))
        annotation = tc_type(kind_type(tx, annotation.kind_name));
    tc_value v;
    ir_var *var;
    if (annotation.kind == TC_TYPE && annotation.type->kind != IR_VOID) {
        var = ir_var_new(tx->ir, IR_VAR_PARAM, p->name->text, annotation.type, p->name_span);
        v = tc_rt(ir_read(tx->ir, var, p->name_span));
    } else if (annotation.kind == TC_TENSOR_TYPE && annotation.tensor_type->space == IR_GLOBAL) {
        v = tc_tensor_declare(tx, p->name->text, annotation.tensor_type, IR_VAR_PARAM, tc_none(), 0, NULL,
                              p->name_span);
        if (tc_is_poison(v))
            return false;
        var = v.tensor->base;
    } else {
        tc_error(tx, HDS0229, p->annotation->span, p->name->text, k->f->name->text, tc_describe(tx, annotation));
        return false;
    }
    VEC_PUSH(tx->arena, &k->func->params, var);
    tc_binding *b = tc_scope_bind(tx, k->scope, p->name, v, p->name_span);
    b->owner = k->func;
    b->var = v.kind == TC_RT ? var : NULL;
    return true;
}

static void default_dims(tc *tx, ir_expr *dims[3])
{
    for (int i = 0; i < 3; i++)
        if (!dims[i])
            dims[i] = ir_int(tx->ir, DT_I32, 1);
}

// ---- kernels that start early

typedef struct wait_search {
    tc *tx;
    map seen;  // device functions
    bool found;
} wait_search;

static void wait_in_stmt(void *user, ir_stmt *s);

// PTX ISA 9.7.13 "griddepcontrol"; it may stand in an instruction of the author's own.
static void wait_in_expr(void *user, ir_expr *e)
{
    wait_search *s = user;
    if (e->op == IR_OP_INTRIN)
        s->found |= strstr(e->u.intrin->text, "griddepcontrol.wait") != NULL ||
                    strstr(e->u.intrin->text, "cudaGridDependencySynchronize") != NULL;
    if (e->op != IR_OP_CALL || map_get_ptr(&s->seen, e->u.func))
        return;
    map_put_ptr(&s->seen, e->u.func, e->u.func);
    ir_walk(&e->u.func->body, wait_in_stmt, s);
}

static void wait_in_stmt(void *user, ir_stmt *stmt)
{
    wait_search *s = user;
    ir_walk_stmt_exprs(s->tx->ir, stmt, wait_in_expr, s);
}

static void check_waits(kernel_builder *k)
{
    tc *tx = k->tx;
    wait_search s = {.tx = tx};
    map_init(&s.seen, tx->arena);
    ir_walk(&k->func->body, wait_in_stmt, &s);
    if (s.found)
        return;
    diag *d = diag_report(tx->diags, HDS0760, k->f->decl->name_span, k->f->name->text);
    diag_help(d, "call griddepcontrol_wait() of hidet.lang.cuda before what an earlier kernel may write or read");
}

static bool finish_kernel(kernel_builder *k)
{
    tc *tx = k->tx;
    ir_func *func = k->func;
    if (!func->grid[0] || !func->block[0]) {
        diag *d =
            tc_error(tx, HDS0230, k->f->decl->name_span, k->f->name->text, func->grid[0] ? "block_dim" : "grid_dim");
        diag_help(d, "assign attrs.cuda.%s in the body", func->grid[0] ? "block_dim" : "grid_dim");
        return false;
    }
    default_dims(tx, func->grid);
    default_dims(tx, func->block);
    if (func->cluster[0])
        default_dims(tx, func->cluster);
    if (func->dependent_launch)
        check_waits(k);
    return true;
}

static bool run_own_body(kernel_builder *k, const ir_type *result, tc_frame *caller, src_span call_span)
{
    tc *tx = k->tx;
    tc_frame frame = {
        .caller = caller, .function = k->f, .scope = k->scope, .call_span = call_span, .title = k->func->title};
    frame.entry_region = tx->region;
    frame.return_type = result;
    tc_frame *saved = tx->frame;
    tx->frame = &frame;
    int before = tx->diags->error_count;
    tc_flow flow = tc_exec_list(tx, &k->f->decl->body);
    tx->frame = saved;
    if (flow == TC_NEXT && result && result->kind != IR_VOID && tx->diags->error_count == before)
        tc_missing_return(tx, k->f);
    return tx->diags->error_count == before && !tx->aborted;
}

// ---- kernels
// ---------------------------------------------------------------------------------------------------------------------

// What a kernel, which has none, or a host function says about its result; NULL after reporting.
static const ir_type *annotated_result(tc *tx, const tc_function *f, tc_scope *scope, ir_func_kind kind)
{
    if (!f->decl->returns)
        return ir_void(tx->ir);
    tc_value r = tc_eval_annotation(tx, f->decl->returns, scope);
    if (r.kind == TC_NONE)
        return ir_void(tx->ir);
    if (r.kind == TC_TYPE && (r.type->kind == IR_VOID || kind == IR_HOST_FUNC))
        return r.type;
    if (!tc_is_poison(r)) {
        diag *d = tc_error(tx, HDS0236, f->decl->returns->span, f->name->text, tc_text(tx, r));
        diag_help(d, "a kernel writes its results into tensors");
    }
    return NULL;
}

// The element of a tensor, or the memory behind a pointer, that host code touches first.
typedef struct touched {
    const char *name;
    src_span span;
} touched;

static void touch(touched *t, const ir_var *v, src_span span)
{
    if (t->name || (v && (!v->tensor || v->tensor->space != IR_GLOBAL)))
        return;
    *t = (touched){v ? v->name : "the pointer", span};
}

static void touch_expr(void *user, ir_expr *e)
{
    if (e->op == IR_OP_LOAD || e->op == IR_OP_PLOAD)
        touch(user, e->op == IR_OP_LOAD ? e->u.var : NULL, e->span);
}

typedef struct touch_search {
    tc *tx;
    touched found;
} touch_search;

static void touch_stmt(void *user, ir_stmt *s)
{
    touch_search *search = user;
    if (s->kind == IR_STORE || s->kind == IR_PSTORE)
        touch(&search->found, s->kind == IR_STORE ? s->var : NULL, s->span);
    ir_walk_stmt_exprs(search->tx->ir, s, touch_expr, &search->found);
}

// Host code runs beside the GPU, whose memory it does not see. (Tests run where all memory is one.)
static bool check_host_code(tc *tx, ir_func *func)
{
    touch_search search = {tx, {0}};
    ir_walk(&func->body, touch_stmt, &search);
    if (!search.found.name)
        return true;
    diag *d = tc_error(tx, HDS0294, search.found.span, search.found.name);
    diag_help(d, "launch a kernel that does it, or say it in a test");
    return false;
}

static ir_func *build_kernel(tc *tx, tc_function *f, tc_scope *scope, const bool *bound, const char *name,
                             tc_captures *captures, ir_func_kind kind, kernel_builder *k, src_span call_span)
{
    *k = (kernel_builder){.tx = tx, .f = f, .scope = scope};
    k->func = ir_func_new(tx->ir, kind, name ? name : f->name->text, f->decl->name_span);
    k->func->doc = f->decl->doc;
    k->func->result = ir_void(tx->ir);
    for (int i = 0; i < 3; i++)
        k->func->grid[i] = k->func->block[i] = NULL; // set by the attributes, or missing
    tc_frame *caller = tx->frame;
    saved_state saved = enter(tx, k->func, &k->func->body, captures);
    tc_frame frame = {
        .caller = caller, .function = f, .scope = scope, .call_span = call_span, .title = tc_function_title(tx, f)};
    frame.entry_region = tx->region;
    tx->frame = &frame;
    bool ok = bind_open_types(k, bound, captures == NULL);
    for (size_t i = 0; ok && i < f->decl->params.len; i++)
        ok = add_param(k, &f->decl->params.at[i]);
    for (size_t i = 0; i < k->sizes.len; i++)
        VEC_PUSH(tx->arena, &k->func->params, k->sizes.at[i]);
    k->func->title = instance_title(tx, f, scope);
    k->func->name = name ? unique_name(tx, name) : instance_name(tx, f, scope, captures != NULL);
    const ir_type *result = ok ? annotated_result(tx, f, scope, kind) : NULL;
    if (result)
        k->func->result = result;
    ok = result && run_own_body(k, result, caller, call_span);
    if (ok)
        ok = kind == IR_KERNEL ? finish_kernel(k) : check_host_code(tx, k->func);
    tx->frame = &frame;
    leave(tx, saved);
    if (!ok)
        return NULL;
    ir_func_add(tx->ir, k->func);
    return k->func;
}

// A host function without parameters: the names of [f]'s are bound in [scope]. NULL after errors.
ir_func *tc_host_function(tc *tx, tc_function *f, tc_scope *scope, const char *title)
{
    kernel_builder k = {.tx = tx, .f = f, .scope = scope};
    k.func = ir_func_new(tx->ir, IR_HOST_FUNC, unique_name(tx, f->name->text), f->decl->name_span);
    k.func->doc = f->decl->doc;
    k.func->title = title;
    k.func->result = ir_void(tx->ir);
    k.func->is_public = true;
    for (int i = 0; i < 3; i++)
        k.func->grid[i] = k.func->block[i] = NULL;
    saved_state saved = enter(tx, k.func, &k.func->body, NULL);
    bool ok = run_own_body(&k, k.func->result, NULL, (src_span){0});
    leave(tx, saved);
    if (!ok)
        return NULL;
    ir_func_add(tx->ir, k.func);
    return k.func;
}

static tc_scope *entry_scope(tc *tx, tc_function *f, bool *bound)
{
    tc_scope *scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    for (int i = 0; i < f->bound_count; i++) {
        tc_scope_bind(tx, scope, f->bound_names[i], f->bound_values[i], f->decl->name_span);
        for (size_t k = 0; k < f->decl->type_params.len; k++)
            if (f->decl->type_params.at[k].name == f->bound_names[i])
                bound[k] = true;
    }
    return scope;
}

static ir_func *build_entry(tc *tx, tc_function *f, const char *name, ir_func_kind kind, src_span where)
{
    bool *bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    tc_scope *scope = entry_scope(tx, f, bound);
    kernel_builder k;
    ir_func *func = build_kernel(tx, f, scope, bound, name, NULL, kind, &k, where);
    if (func)
        func->is_public = true;
    return func;
}

// ---- launches
// ----------------------------------------------------------------------------------------------------------------------

static ir_expr *tensor_pointer(tc *tx, tc_value v, src_span span)
{
    tc_value p = tc_tensor_address(tx, v.tensor, NULL, 0, span);
    return p.kind == TC_RT ? p.rt : NULL;
}

// What is known of the tensor when the launch is compiled; the launcher compares the sizes that are not.
static bool check_tensor_argument(tc *tx, const ir_var *param, tc_value v, src_span span)
{
    const ir_tensor *want = param->tensor;
    const char *differs = NULL;
    if (v.kind == TC_TENSOR && v.tensor->base->tensor->elem != want->elem)
        differs = "the element types differ";
    else if (v.kind == TC_TENSOR && v.tensor->rank != want->rank)
        differs = "the ranks differ";
    for (int i = 0; v.kind == TC_TENSOR && !differs && i < want->rank; i++) {
        int64_t extent, given;
        if (ir_const_int(want->shape[i], &extent) && tc_as_int64(v.tensor->shape[i], &given) && extent != given)
            differs = arena_printf(tx->arena, "dimension %d differs", i);
    }
    if (v.kind == TC_TENSOR && !differs)
        return true;
    tc_value expected = tc_tensor_of_var(tx, (ir_var *)param);
    const char *what = arena_printf(tx->arena, "parameter '%s'", param->name);
    diag *d = tc_error(tx, HDS0185, span, what, tc_describe(tx, expected), tc_describe(tx, v));
    if (differs)
        diag_under(d, "%s", differs);
    diag_label(d, param->span, "the parameter");
    return false;
}

tc_value tc_launch(tc *tx, tc_function *f, tc_args *args)
{
    if (!tx->func || tx->func->kind != IR_HOST_FUNC) {
        diag *d = tc_error(tx, HDS0231, args->span, tc_function_title(tx, f));
        diag_label(d, f->decl->name_span, "a kernel, as it assigns grid_dim and block_dim");
        diag_help(d, "put what both do into a function without these; only host functions launch kernels");
        return tc_poison();
    }
    const ast_params *params = &f->decl->params;
    bool *bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    tc_scope *scope = entry_scope(tx, f, bound);
    VEC(tc_arg) given = {0};
    for (size_t a = 0; a < args->list.len; a++) {
        const tc_arg *arg = &args->list.at[a];
        bool is_type = false;
        for (size_t i = 0; arg->name && i < f->decl->type_params.len; i++)
            if (f->decl->type_params.at[i].name == arg->name) {
                tc_scope_bind(tx, scope, arg->name, arg->value, arg->span);
                bound[i] = is_type = true;
            }
        if (!is_type)
            VEC_PUSH(tx->arena, &given, *arg);
    }
    tc_value *values = ARENA_ARRAY(tx->arena, tc_value, params->len + 1);
    src_span *spans = ARENA_ARRAY(tx->arena, src_span, params->len + 1);
    for (size_t i = 0; i < params->len; i++) {
        const tc_arg *found = NULL;
        for (size_t a = 0; a < given.len; a++)
            if (given.at[a].name ? given.at[a].name == params->at[i].name : a == i)
                found = &given.at[a];
        if (!found)
            return TC_ERR(tx, HDS0213, args->span, tc_function_title(tx, f), params->at[i].name->text);
        values[i] = found->value;
        spans[i] = found->span;
        if (params->at[i].annotation)
            tc_infer(tx, params->at[i].annotation, found->value, scope, &f->decl->type_params, bound);
    }
    for (size_t a = 0; a < given.len; a++) {
        bool known = !given.at[a].name;
        for (size_t i = 0; i < params->len; i++)
            known |= given.at[a].name == params->at[i].name;
        if (!known)
            return TC_ERR(tx, HDS0211, given.at[a].span, f->name->text, given.at[a].name->text);
    }
    if (given.len > params->len)
        return TC_ERR(tx, HDS0210, given.at[params->len].span, tc_function_title(tx, f), (long)params->len);
    tc_captures *captures = ARENA_NEW(tx->arena, tc_captures);
    map_init(&captures->vars, tx->arena);
    captures->from = tx->func;
    captures->from_block = tx->block;
    kernel_builder k;
    ir_func *kernel = build_kernel(tx, f, scope, bound, NULL, captures, IR_KERNEL, &k, args->span);
    if (!kernel)
        return tc_poison();
    kernel->is_public = true;
    ir_stmt *s = tc_new_stmt(tx, IR_LAUNCH, args->span);
    s->func = kernel;
    VEC(ir_expr *) actual = {0};
    for (size_t i = 0; i < params->len; i++) {
        const ir_var *param = kernel->params.at[i];
        if (param->tensor && !check_tensor_argument(tx, param, values[i], spans[i]))
            return tc_poison();
        ir_expr *e = values[i].kind == TC_TENSOR && param->tensor
                         ? tensor_pointer(tx, values[i], spans[i])
                         : tc_convert(tx, values[i], param->type, spans[i], param->name);
        if (!e)
            return tc_poison();
        VEC_PUSH(tx->arena, &actual, e);
    }
    for (size_t i = 0; i < k.size_args.len; i++)
        VEC_PUSH(tx->arena, &actual, k.size_args.at[i]);
    for (size_t i = 0; i < captures->args.len; i++)
        VEC_PUSH(tx->arena, &actual, captures->args.at[i]);
    s->args = actual.at;
    s->arg_count = (int)actual.len;
    tc_emit(tx, s);
    return tc_none();
}

// ---- captures: run-time values of the host function that a kernel's function parameters use
// ---------------------------------------

static ir_expr *capture_expr(tc *tx, ir_expr *e, src_span span);

static ir_var *capture_scalar(tc *tx, ir_expr *host, const char *name, src_span span)
{
    tc_captures *c = tx->captures;
    ir_var *var = ir_var_new(tx->ir, IR_VAR_PARAM, name, host->type, span);
    VEC_PUSH(tx->arena, &tx->func->params, var);
    VEC_PUSH(tx->arena, &c->args, host);
    return var;
}

static ir_expr *capture_expr(tc *tx, ir_expr *e, src_span span)
{
    if (e->op == IR_OP_INT || e->op == IR_OP_FLOAT)
        return e;
    const void *key = e->op == IR_OP_VAR ? (const void *)e->u.var : (const void *)e;
    ir_var *var = map_get_ptr(&tx->captures->vars, key);
    if (!var) {
        var = capture_scalar(tx, e, e->op == IR_OP_VAR ? e->u.var->name : "captured", span);
        map_put_ptr(&tx->captures->vars, key, var);
    }
    return ir_read(tx->ir, var, span);
}

static tc_value capture_tensor(tc *tx, tc_value v, src_span span)
{
    tc_tensor *t = v.tensor;
    ir_var *known = map_get_ptr(&tx->captures->vars, t->base);
    if (t->is_view)
        return TC_ERR(tx, HDS0232, span, t->base->name);
    if (known)
        return tc_tensor_of_var(tx, known);
    ir_tensor *info = arena_dup(tx->arena, t->base->tensor, sizeof *info);
    info->shape = ARENA_ARRAY(tx->arena, ir_expr *, info->rank + 1);
    for (int i = 0; i < info->rank; i++)
        info->shape[i] = capture_expr(tx, t->base->tensor->shape[i], span);
    if (info->strides) {
        tc_tensor_type type = {.elem = info->elem, .space = IR_GLOBAL, .rank = info->rank};
        for (int i = 0; i < info->rank; i++)
            type.shape[i] = tc_rt(info->shape[i]);
        tc_value fresh = tc_tensor_declare(tx, t->base->name, &type, IR_VAR_PARAM, tc_none(), 16, NULL, span);
        info = fresh.tensor->base->tensor;
    }
    ir_var *var = ir_tensor_var(tx->ir, IR_VAR_PARAM, t->base->name, info, span);
    VEC_PUSH(tx->arena, &tx->func->params, var);
    ir_expr *zero[TM_MAX_RANK];
    for (int i = 0; i < info->rank; i++)
        zero[i] = ir_int(tx->ir, DT_I32, 0);
    VEC_PUSH(tx->arena, &tx->captures->args, ir_addr(tx->ir, t->base, zero, info->rank, span));
    map_put_ptr(&tx->captures->vars, t->base, var);
    return tc_tensor_of_var(tx, var);
}

tc_value tc_capture(tc *tx, tc_binding *b, src_span span)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    tc_captures *c = tx->captures;
    if (!c || b->owner != c->from) {
        diag *d = tc_error(tx, HDS0233, span, b->name->text);
        diag_label(d, b->span, "bound here, in another function");
        return tc_poison();
    }
    tc_value v = b->value;
    if (v.kind == TC_TENSOR)
        return capture_tensor(tx, v, span);
    if (v.kind == TC_RT)
        return tc_rt(capture_expr(tx, b->var ? ir_read(tx->ir, b->var, span) : v.rt, span));
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        tc_value copy = tc_list_new(tx, v.kind, v.list->at, v.list->len);
        for (size_t i = 0; i < copy.list->len; i++) {
            tc_binding part = {.name = b->name, .value = copy.list->at[i], .span = b->span, .owner = b->owner};
            if (!tc_is_compile_time(part.value))
                copy.list->at[i] = tc_capture(tx, &part, span);
        }
        return copy;
    }
    return TC_ERR(tx, HDS0232, span, b->name->text);
}

// ---- device functions
// -----------------------------------------------------------------------------------------------------------------

static void value_key(tc *tx, tc_value v, str_buf *key);

static void values_key(tc *tx, const tc_value *at, size_t len, str_buf *key)
{
    str_addc(key, '(');
    for (size_t i = 0; i < len; i++) {
        value_key(tx, at[i], key);
        str_addc(key, ',');
    }
    str_addc(key, ')');
}

// Text that two values share only if they are the same: what repr() leaves out stands here.
static void value_key(tc *tx, tc_value v, str_buf *key)
{
    switch (v.kind) {
    case TC_FUNCTION: {
        const tc_function *f = v.function;
        str_addf(key, "#%u@%p", f->id, (const void *)f->closure);
        values_key(tx, f->bound_values, (size_t)f->bound_count, key);
        if (f->self)
            value_key(tx, *f->self, key);
        break;
    }
    case TC_CLASS:
        str_addf(key, "class%u", v.class->id);
        values_key(tx, v.class->bound_values, (size_t)v.class->bound_count, key);
        break;
    case TC_RECORD:
        str_addf(key, "record%u", v.record->class->id);
        values_key(tx, v.record->class->bound_values, (size_t)v.record->class->bound_count, key);
        values_key(tx, v.record->fields, (size_t)v.record->class->field_count, key);
        break;
    case TC_TUPLE:
    case TC_LIST:
    case TC_SET:
        str_addf(key, "%d", (int)v.kind);
        values_key(tx, v.list->at, v.list->len, key);
        break;
    case TC_DICT:
        values_key(tx, v.dict->keys.at, v.dict->keys.len, key);
        values_key(tx, v.dict->values.at, v.dict->values.len, key);
        break;
    default:
        tc_repr(tx, v, key);
        break;
    }
}

static const char *instance_key(tc *tx, const tc_function *f, const tc_scope *scope)
{
    str_buf key;
    str_buf_init(&key, tx->arena);
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        tc_binding *b = tc_scope_find_here(scope, f->decl->type_params.at[i].name);
        if (b)
            value_key(tx, b->value, &key);
        str_addc(&key, ';');
    }
    return str_text(&key);
}

ir_func *tc_device_instance(tc *tx, tc_function *f, tc_scope *types, src_span span)
{
    const char *key = instance_key(tx, f, types);
    ir_func *known = map_get(&f->facts->instances, key, strlen(key));
    if (known)
        return known;
    tc_value result = tc_eval_annotation(tx, f->decl->returns, types);
    if (result.kind != TC_TYPE)
        return NULL;
    tc_scope *scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        tc_binding *b = tc_scope_find_here(types, f->decl->type_params.at[i].name);
        if (b)
            tc_scope_bind(tx, scope, b->name, b->value, b->span);
    }
    kernel_builder k = {.tx = tx, .f = f, .scope = scope};
    k.func = ir_func_new(tx->ir, IR_DEVICE, instance_name(tx, f, scope, true), f->decl->name_span);
    k.func->result = result.type;
    k.func->doc = f->decl->doc;
    k.func->title = instance_title(tx, f, scope);
    map_put(&f->facts->instances, key, strlen(key), k.func);
    tc_frame *caller = tx->frame;
    saved_state saved = enter(tx, k.func, &k.func->body, NULL);
    // The block dimensions of the caller are not known in here: thread ids have their general ranges.
    tc_frame frame = {.caller = caller, .function = f, .scope = scope, .call_span = span, .title = k.func->title};
    tx->frame = &frame;
    bool ok = true;
    for (size_t i = 0; ok && i < f->decl->params.len; i++)
        ok = add_param(&k, &f->decl->params.at[i]);
    ok = ok && run_own_body(&k, k.func->result, caller, span);
    tx->frame = &frame;
    leave(tx, saved);
    if (!ok)
        return NULL;
    ir_func_add(tx->ir, k.func);
    return k.func;
}

// ---- entries
// ----------------------------------------------------------------------------------------------------------------------------

// Whether every type parameter has a value without being told one: a default, -D, or a run-time size.
static const ast_type_param *open_param(tc *tx, const tc_function *f)
{
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        const ast_type_param *p = &f->decl->type_params.at[i];
        bool given = p->default_value || size_type(tx, p, f->closure) != DT_NONE;
        for (int k = 0; !given && k < f->bound_count; k++)
            given = f->bound_names[k] == p->name;
        for (int k = 0; !given && k < tx->options->define_count; k++)
            given = strcmp(tx->options->defines[k].name, p->name->text) == 0;
        if (!given)
            return p;
    }
    return NULL;
}

// [where]: the name that an instance is bound to, for notes; nowhere for the function itself.
static bool compile_function(tc *tx, tc_function *f, const char *name, src_span where)
{
    tc_function_classify(tx, f);
    if (f->facts->is_kernel)
        return build_entry(tx, f, name, IR_KERNEL, where) != NULL;
    if (f->facts->is_host)
        return build_entry(tx, f, name, IR_HOST_FUNC, where) != NULL;
    if (!f->decl->returns || f->decl->type_params.len > (size_t)f->bound_count)
        return true;
    // A device function that nobody calls is checked all the same.
    bool scalar = true;
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_expr *a = f->decl->params.at[i].annotation;
        scalar = scalar && a && a->kind == AST_NAME && tc_eval_annotation(tx, a, f->closure).kind == TC_TYPE;
    }
    if (!scalar || !f->decl->params.len || tc_eval_annotation(tx, f->decl->returns, f->closure).kind != TC_TYPE)
        return true;
    bool *bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    return tc_device_instance(tx, f, entry_scope(tx, f, bound), (src_span){0}) != NULL;
}

static tc_value entry_by_text(tc *tx, const char *text)
{
    src_file *file = src_add(tx->diags->sources, "<--entry>", str_of(arena_strdup(tx->arena, text)));
    parse_context px = {tx->arena, tx->syms, tx->diags};
    ast_expr *e = file ? parse_expression(&px, file) : NULL;
    if (!e)
        return tc_poison();
    tc_value v = tc_eval_annotation(tx, e, tx->main->scope);
    if (v.kind == TC_FUNCTION && v.function->decl)
        return v;
    return tc_is_poison(v) ? v : TC_ERR(tx, HDS0234, e->span, text, tc_describe(tx, v));
}

static bool chosen_entries(tc *tx)
{
    bool ok = true;
    for (int i = 0; i < tx->options->entry_count; i++) {
        tc_value v = entry_by_text(tx, tx->options->entries[i]);
        ok &= v.kind == TC_FUNCTION && compile_function(tx, v.function, NULL, (src_span){0});
    }
    return ok;
}

bool tc_check_defines(tc *tx)
{
    bool ok = true;
    for (int i = 0; i < tx->options->define_count; i++)
        if (!tx->define_used.at[i]) {
            tc_error(tx, HDS0235, (src_span){0}, tx->options->defines[i].name);
            ok = false;
        }
    return ok;
}

bool tc_compile_entries(tc *tx)
{
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    if (tx->options->entry_count)
        return chosen_entries(tx) && tc_check_defines(tx);
    bool ok = true;
    int found = 0;
    VEC(const tc_function *) open = {0};
    size_t count = tx->main->scope->list.len;
    for (size_t i = 0; i < count && !tx->aborted; i++) {
        tc_binding *b = tx->main->scope->list.at[i];
        if (b->lazy_module || b->value.kind != TC_FUNCTION || !b->value.function->decl || b->name->text[0] == '_')
            continue;
        tc_function *f = b->value.function;
        bool alias = b->name != f->name || f->bound_count;
        if (f->module != tx->main && !alias)
            continue;
        tc_function_classify(tx, f);
        if (f->facts->is_test || f->facts->is_instruction)
            continue;
        if (f->facts->is_kernel && open_param(tx, f)) {
            VEC_PUSH(tx->arena, &open, f);
            continue;
        }
        found += f->facts->is_kernel || f->facts->is_host;
        ok &= compile_function(tx, f, alias ? b->name->text : NULL, alias ? b->span : (src_span){0});
    }
    if (!found && open.len && !tx->aborted) {
        const ast_type_param *p = open_param(tx, open.at[0]);
        diag *d = tc_error(tx, HDS0227, p->span, p->name->text, open.at[0]->name->text);
        diag_help(d, "give it: -D %s=…, or an entry at module level: name = %s[…]", p->name->text,
                  open.at[0]->name->text);
        ok = false;
    }
    return tc_check_defines(tx) && ok;
}
