// The attributes of a kernel, attrs.cuda.block_dim and its like: which there are, what they may say, and where they are
// assigned.
#include "typecheck/kernels/kernels.h"

#include <ctype.h>
#include <string.h>

// ---- paths -------------------------------------------------------------------------------------------------------

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

static const struct {
    const char *path;
    tc_attr id;
} attributes[] = {
    {"attrs.cuda.grid_dim", TC_ATTR_GRID},
    {"attrs.cuda.block_dim", TC_ATTR_BLOCK},
    {"attrs.cuda.cluster_dim", TC_ATTR_CLUSTER},
    {"attrs.cuda.dynamic_smem_bytes", TC_ATTR_SMEM},
    {"attrs.cuda.min_blocks", TC_ATTR_MIN_BLOCKS},
    {"attrs.cuda.dependent_launch", TC_ATTR_DEPENDENT},
    {"attrs.func_name", TC_ATTR_NAME},
    {"attrs.func_kind", TC_ATTR_KIND},
    {"attrs.label", TC_ATTR_LABEL},
    {"attr.cuda_grid_dim", TC_ATTR_GRID},
    {"attr.cuda_block_dim", TC_ATTR_BLOCK},
    {"attr.cuda_cluster_dim", TC_ATTR_CLUSTER},
    {"attr.cuda_dynamic_smem_bytes", TC_ATTR_SMEM},
    {"attr.cuda_min_blocks", TC_ATTR_MIN_BLOCKS},
    {"attr.func_name", TC_ATTR_NAME},
    {"attr.func_kind", TC_ATTR_KIND},
    {"attr.label", TC_ATTR_LABEL},
};
enum { ATTRIBUTE_COUNT = sizeof attributes / sizeof *attributes };

const ast_expr *tc_attribute_value(tc *tx, const ast_list *body, tc_attr id, bool *found)
{
    const ast_expr *value = NULL;
    for (size_t i = 0; i < body->len; i++) {
        const ast_stmt *s = body->at[i];
        if (s->kind == AST_IF) {
            const ast_expr *v = tc_attribute_value(tx, &((const ast_if *)s)->body, id, found);
            if (!v)
                v = tc_attribute_value(tx, &((const ast_if *)s)->or_else, id, found);
            value = v ? v : value;
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

// ---- what they say -----------------------------------------------------------------------------------------------

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

static bool wrong_value(tc *tx, const char *name, tc_value v, src_span span)
{
    tc_error(tx, HDS0222, span, name, tc_text(tx, v));
    return false;
}

// False, and an error: the value is of another kind than [wanted].
static bool check_type(tc *tx, bool is_wanted, const char *wanted, const char *name, tc_value v, src_span span)
{
    if (!is_wanted)
        tc_error(tx, HDS0184, span, name, wanted, tc_describe(tx, v));
    return is_wanted;
}

static bool set_dynamic_smem(tc *tx, const char *name, tc_value v, src_span span)
{
    ir_func *f = tx->func;
    bool ok;
    if (v.kind == TC_INT && v.i < 0)
        return wrong_value(tx, name, v, span);
    ir_expr *e = tc_to_index(tx, v, span);
    f->dynamic_smem_bytes = e ? tc_resolve_definitions(tx, e, &ok) : NULL;
    if (e && !ok) {
        diag *d = tc_error(tx, HDS0223, span, name);
        diag_help(d, "compute it from the parameters and sizes of the kernel");
    }
    if (e && ok && tx->block)
        tx->dynamic_smem = (tc_dynamic_smem){f, f->dynamic_smem_bytes, tx->block, tx->block->stmts.len, NULL, NULL};
    return e && ok;
}

static bool set_name(tc *tx, const char *name, tc_value v, src_span span)
{
    if (!check_type(tx, v.kind == TC_STR, "str", name, v, span))
        return false;
    if (!is_identifier(v.s)) {
        diag *d = tc_error(tx, HDS0222, span, name, tc_text(tx, v));
        diag_help(d, "the name of a C function has letters, digits and '_'");
        return false;
    }
    tx->func->name = arena_strndup(tx->ir->lasting, v.s.at, v.s.len);
    return true;
}

static bool set_attribute(tc *tx, tc_attr id, const char *name, tc_value v, src_span span)
{
    ir_func *f = tx->func;
    int64_t n;
    switch (id) {
    case TC_ATTR_GRID:
        return set_dims(tx, f->grid, v, span, name) && check_grid(tx, f->grid, span, name);
    case TC_ATTR_BLOCK:
        return set_dims(tx, f->block, v, span, name) && check_block(tx, f->block, span);
    case TC_ATTR_CLUSTER:
        if (v.kind == TC_INT && v.i == 1)
            return true;
        return check_attribute_arch(tx, span, name) && set_dims(tx, f->cluster, v, span, name);
    case TC_ATTR_SMEM:
        return set_dynamic_smem(tx, name, v, span);
    case TC_ATTR_MIN_BLOCKS:
        if (!tc_as_int64(v, &n) || n < 1 || n > 32)
            return wrong_value(tx, name, v, span);
        f->min_blocks = n;
        return true;
    case TC_ATTR_DEPENDENT:
        if (!check_type(tx, v.kind == TC_BOOL, "bool", name, v, span))
            return false;
        f->dependent_launch = v.b;
        return !v.b || check_attribute_arch(tx, span, name);
    case TC_ATTR_NAME:
        return set_name(tx, name, v, span);
    case TC_ATTR_KIND:
        return check_kind(tx, v, span, name);
    default:
        return check_type(tx, v.kind == TC_STR, "str", name, v, span);
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
        if (!tx->frame->attributes)
            tx->frame->attributes = ARENA_ARRAY(tx->arena, src_span, sizeof attributes / sizeof *attributes);
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
