// Instructions: functions under @instruction whose body ends in ptx("…") or cuda("…"). The body is inlined into
// the caller; the text, with its compile-time holes filled, becomes one ir_intrin per distinct instantiation.
#include "typecheck/kernels/kernels.h"

#include <ctype.h>
#include <string.h>

// ---- the decorator -----------------------------------------------------------------------------------------------

static int memory_effects(tc *tx, tc_value v, bool writes, src_span span)
{
    tc_list items = {0};
    if (v.kind == TC_TUPLE || v.kind == TC_LIST)
        items = *v.list;
    else
        tc_list_push(tx, &items, v);
    int effects = 0;
    for (size_t i = 0; i < items.len; i++) {
        tc_value item = items.at[i];
        if (item.kind == TC_SPACE && item.space == IR_SHARED)
            effects |= writes ? IR_EFFECT_WRITES_SHARED : IR_EFFECT_READS_SHARED;
        else if (item.kind == TC_SPACE && item.space == IR_GLOBAL)
            effects |= writes ? IR_EFFECT_WRITES_GLOBAL : IR_EFFECT_READS_GLOBAL;
        else if (item.kind == TC_SPACE && item.space == IR_GENERIC)
            effects |= writes ? IR_EFFECT_WRITES_GLOBAL | IR_EFFECT_WRITES_SHARED
                              : IR_EFFECT_READS_GLOBAL | IR_EFFECT_READS_SHARED;
        else
            tc_error(tx, HDS0240, span, tc_describe(tx, item));
    }
    return effects;
}

const arch *tc_arch_of(tc *tx, tc_value v, src_span span)
{
    const arch *found = v.kind == TC_STR ? arch_find(v.s) : NULL;
    if (!found) {
        diag *d = tc_error(tx, HDS0241, span, tc_text(tx, v));
        diag_help(d, "write it as in --arch: \"sm_80\", \"sm_90a\"");
    }
    return found;
}

static bool set_arch(tc *tx, tc_function_facts *facts, tc_value v, src_span span)
{
    facts->arch = tc_arch_of(tx, v, span);
    facts->arch_text = facts->arch ? facts->arch->name : NULL;
    return facts->arch;
}

// updates="acc", or a tuple of names.
static bool set_updates(tc *tx, tc_function_facts *facts, tc_value v, src_span span)
{
    tc_list *names = ARENA_NEW(tx->lasting, tc_list);
    bool is_list = v.kind == TC_TUPLE || v.kind == TC_LIST;
    for (size_t i = 0; i < (is_list ? v.list->len : 1); i++) {
        tc_value name = is_list ? v.list->at[i] : v;
        if (name.kind == TC_STR)
            name.s = sym_str(sym_intern(tx->syms, name.s));
        VEC_PUSH(tx->lasting, names, name);
    }
    for (size_t i = 0; i < names->len; i++)
        if (names->at[i].kind != TC_STR) {
            diag *d = tc_error(tx, HDS0184, span, "property 'updates'", "str", tc_describe(tx, names->at[i]));
            diag_help(d, "write the operand's name, in quotes, or a tuple of names");
            return false;
        }
    facts->updates = names;
    return true;
}

static bool set_flag(tc *tx, tc_function_facts *facts, const ast_arg *a, bool *said)
{
    static const struct {
        const char *name;
        int effect;
    } flags[] = {{"volatile", IR_EFFECT_VOLATILE},
                 {"convergent", IR_EFFECT_CONVERGENT},
                 {"barrier", IR_EFFECT_BARRIER},
                 {"fence", IR_EFFECT_FENCE}};
    const char *name = a->name ? a->name->text : "";
    tc_value v = tc_eval(tx, a->value);
    if (tc_is_poison(v))
        return false;
    if (strcmp(name, "arch") == 0)
        return set_arch(tx, facts, v, a->span);
    if (strcmp(name, "scope") == 0 && v.kind == TC_SCOPE_NAME) {
        facts->scope = v.scope_name;
        return true;
    }
    *said = true;
    if (strcmp(name, "updates") == 0)
        return set_updates(tx, facts, v, a->span);
    if (strcmp(name, "pure") == 0 && v.kind == TC_BOOL) {
        facts->pure = v.b;
        return true;
    }
    if (strcmp(name, "reads") == 0 || strcmp(name, "writes") == 0) {
        facts->effects |= memory_effects(tx, v, name[0] == 'w', a->span);
        return true;
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(name, flags[i].name) == 0 && v.kind == TC_BOOL) {
            facts->effects |= v.b ? flags[i].effect : 0;
            return true;
        }
    static const char *const known[] = {"scope", "pure", "volatile", "convergent", "barrier", "fence",
                                        "arch",  "reads", "writes",  "updates",    NULL};
    for (int i = 0; i < 6; i++)
        if (strcmp(name, known[i]) == 0) {
            const char *what = arena_printf(tx->arena, "property '%s'", name);
            diag *d = tc_error(tx, HDS0184, a->span, what, i ? "bool" : "scope", tc_describe(tx, v));
            diag_help(d, i ? "write True or False"
                           : "scopes are thread, warp, warpgroup, block and cluster, without quotes");
            return false;
        }
    diag *d = tc_error(tx, HDS0242, a->span, name);
    const char *close = tc_suggest(tx, known, str_of(name));
    if (close)
        diag_help(d, "did you mean '%s'?", close);
    else
        diag_help(d, "an instruction says arch, scope, pure, reads, writes, updates, volatile, convergent, barrier, fence");
    return false;
}

bool tc_instruction_decorator(tc *tx, tc_function *f, const ast_call *call)
{
    bool said = false, ok = true;
    for (size_t i = 0; call && i < call->args.len; i++)
        ok &= set_flag(tx, f->facts, &call->args.at[i], &said);
    if (!said)
        f->facts->effects |= IR_EFFECT_VOLATILE;
    return ok;
}

// ---- the text ----------------------------------------------------------------------------------------------------

typedef struct instr_builder {
    tc *tx;
    tc_function *f;
    str_buf text;
    src_span span;
    VEC(ir_operand) operands;
    VEC(ir_expr *) args;
} instr_builder;

static const char *ptx_type(dtype t)
{
    switch (t) {
    case DT_I8:
        return "s8";
    case DT_I16:
        return "s16";
    case DT_I32:
        return "s32";
    case DT_I64:
        return "s64";
    case DT_I4:
        return "s4";
    case DT_U1:
        return "b1";
    case DT_F8E4M3:
        return "e4m3";
    case DT_F8E5M2:
        return "e5m2";
    case DT_BOOL:
        return "pred";
    default:
        return dt_name(t);
    }
}

static void paste(instr_builder *b, tc_value v)
{
    if (v.kind == TC_TYPE && v.type->kind == IR_SCALAR)
        str_adds(&b->text, ptx_type(v.type->scalar));
    else if (v.kind == TC_BOOL)
        str_adds(&b->text, v.b ? "1" : "0");
    else
        tc_to_text(b->tx, v, &b->text);
}

static bool tensor_operand(instr_builder *b, tc_tensor *t, ir_operand *o, ir_expr **e)
{
    tc *tx = b->tx;
    const ir_tensor *info = t->base->tensor;
    if (info->space == IR_REGISTER || info->space == IR_LOCAL) {
        *e = tc_tensor_tile(tx, t, &o->count, b->span);
        o->type = ir_tensor_type(tx->ir, info->elem, IR_REGISTER);
        return *e != NULL;
    }
    tc_value p = tc_tensor_address(tx, t, NULL, 0, b->span);
    if (p.kind != TC_RT)
        return false;
    *e = p.rt;
    o->type = p.rt->type;
    return true;
}

static bool is_updated(const instr_builder *b, const char *name)
{
    const tc_list *names = b->f->facts->updates;
    for (size_t i = 0; names && i < names->len; i++)
        if (str_equal(names->at[i].s, str_of(name)))
            return true;
    return false;
}

// An operand that changes in place is an array in registers that the caller may write.
static bool check_updated(instr_builder *b, ir_operand *o, tc_value v)
{
    o->is_updated = is_updated(b, o->name);
    if (!o->is_updated || (v.kind == TC_TENSOR && o->type->kind == IR_TENSOR))
        return true;
    diag *d = tc_error(b->tx, HDS0184, b->span, arena_printf(b->tx->arena, "the updated operand '%s'", o->name),
                       "a register tensor", tc_describe(b->tx, v));
    diag_label(d, b->f->decl->name_span, "the instruction changes it in place");
    return false;
}

static bool add_operand(instr_builder *b, const char *name, tc_value v)
{
    tc *tx = b->tx;
    for (size_t i = 0; i < b->operands.len; i++)
        if (strcmp(b->operands.at[i].name, name) == 0)
            return true;
    ir_operand o = {.name = name};
    ir_expr *e = NULL;
    if (v.kind == TC_TENSOR) {
        if (!tensor_operand(b, v.tensor, &o, &e))
            return false;
    } else if (v.kind == TC_TENSOR_MAP) {
        e = ir_read(tx->ir, v.tensor_map, b->span);
        o.type = e->type;
    } else if (v.kind == TC_RT) {
        e = v.rt;
        o.type = e->type;
    } else {
        tc_error(tx, HDS0243, b->span, name, tc_describe(tx, v));
        return false;
    }
    if (!check_updated(b, &o, v))
        return false;
    VEC_PUSH(tx->arena, &b->operands, o);
    VEC_PUSH(tx->arena, &b->args, e);
    return true;
}

static bool is_pasted(tc_value v)
{
    return v.kind == TC_INT || v.kind == TC_STR || v.kind == TC_TYPE || v.kind == TC_FLOAT || v.kind == TC_BOOL;
}

// {name} or {name.attribute}: [at] is just after the brace. Returns the position after the closing brace, or NULL if
// this is no hole.
static const char *hole(instr_builder *b, const char *at, const char *end, bool *ok)
{
    tc *tx = b->tx;
    const char *start = at;
    while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '.'))
        at++;
    if (at == end || *at != '}' || at == start || isdigit((unsigned char)*start))
        return NULL;
    str whole = {start, (size_t)(at - start)};
    if (str_equal(whole, STR("result"))) {
        str_adds(&b->text, "{result}");
        return at + 1;
    }
    const char *dot = memchr(start, '.', whole.len);
    sym name = sym_intern(tx->syms, (str){start, dot ? (size_t)(dot - start) : whole.len});
    tc_value v = tc_lookup(tx, name, b->span);
    while (dot && !tc_is_poison(v)) {
        const char *next = memchr(dot + 1, '.', (size_t)(at - dot - 1)), *stop = next ? next : at;
        v = tc_attribute(tx, v, sym_intern(tx->syms, (str){dot + 1, (size_t)(stop - dot - 1)}), b->span, b->span);
        dot = next;
    }
    if (tc_is_poison(v)) {
        *ok = false;
        return at + 1;
    }
    if (is_pasted(v)) {
        paste(b, v);
        return at + 1;
    }
    const char *operand = sym_intern(tx->syms, whole)->text;
    *ok &= add_operand(b, operand, v);
    str_addf(&b->text, "{%s}", operand);
    return at + 1;
}

// What an instruction changes in place is its operand whether the text names it or not.
static bool add_updated(instr_builder *b)
{
    const tc_list *names = b->f->facts->updates;
    bool ok = true;
    for (size_t i = 0; names && i < names->len; i++) {
        sym name = sym_intern(b->tx->syms, names->at[i].s);
        tc_value v = tc_lookup(b->tx, name, b->span);
        ok &= !tc_is_poison(v) && add_operand(b, name->text, v);
    }
    return ok;
}

// {name without a closing brace in the rest of the text: reported. Other braces are those of PTX and C++.
static bool is_unclosed(instr_builder *b, const char *at, const char *end)
{
    int len = 0;
    while (at + len < end && (isalnum((unsigned char)at[len]) || at[len] == '_'))
        len++;
    if (!len || isdigit((unsigned char)*at) || memchr(at, '}', (size_t)(end - at)))
        return false;
    diag *d = tc_error(b->tx, HDS0308, b->span, len, at);
    diag_help(d, "write '{%.*s}', or '{{' for a brace", len, at);
    return true;
}

static bool fill_holes(instr_builder *b, str text)
{
    const char *at = text.at, *end = text.at + text.len;
    bool ok = true;
    while (at < end) {
        bool doubled = at + 1 < end && at[1] == *at && (*at == '{' || *at == '}');
        if (doubled) {
            str_add(&b->text, (str){at, 2});
            at += 2;
            continue;
        }
        const char *after = *at == '{' ? hole(b, at + 1, end, &ok) : NULL;
        if (after) {
            at = after;
            continue;
        }
        if (*at == '{' && is_unclosed(b, at + 1, end))
            return false;
        str_addc(&b->text, *at++);
    }
    return ok;
}

// ---- the instance ------------------------------------------------------------------------------------------------

static bool set_result(instr_builder *b, ir_intrin *in, const tc_tensor_type **tensor)
{
    tc *tx = b->tx;
    tc_value r = tx->frame->return_annotation;
    *tensor = NULL;
    if (r.kind == TC_NONE) {
        in->result = ir_void(tx->ir);
        return true;
    }
    if (r.kind == TC_KIND && r.kind_name == TC_KIND_BOOL)
        r = tc_type(ir_scalar(tx->ir, DT_BOOL));
    if (r.kind == TC_TYPE) {
        in->result = r.type;
        return true;
    }
    if (r.kind != TC_TENSOR_TYPE) {
        if (!tc_is_poison(r))
            tc_error(tx, HDS0244, b->span, tc_describe(tx, r));
        return false;
    }
    *tensor = r.tensor_type;
    int64_t count = 1;
    for (int i = 0; !r.tensor_type->map && i < r.tensor_type->rank; i++) {
        int64_t n;
        if (!tc_as_int64(r.tensor_type->shape[i], &n))
            return false;
        count *= n;
    }
    in->result = ir_tensor_type(tx->ir, r.tensor_type->elem, IR_REGISTER);
    in->result_count = (int)(r.tensor_type->map ? r.tensor_type->map->tasks_per_worker : count);
    return true;
}

static const char **type_arguments(tc *tx, const tc_function *f, str_buf *suffix)
{
    size_t n = f->decl->type_params.len;
    const char **out = ARENA_ARRAY(tx->arena, const char *, n + 1);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        tc_binding *b = tc_scope_find_here(tx->frame->scope, f->decl->type_params.at[i].name);
        if (!b || (b->value.kind != TC_TYPE && b->value.kind != TC_INT))
            continue;
        out[used++] = arena_printf(tx->arena, "%s=%s", b->name->text, tc_text(tx, b->value));
        str_addc(suffix, '_');
        tc_repr(tx, b->value, suffix);
    }
    return out;
}

static const char *key_of(tc *tx, const char *module, uint32_t id, const ir_intrin *in)
{
    str_buf key;
    str_buf_init(&key, tx->arena);
    str_addf(&key, "%s|%u|%d|", module, id, in->effects);
    str_adds(&key, in->text);
    for (int i = 0; i < in->operand_count; i++) {
        str_addf(&key, "|%d ", in->operands[i].count);
        ir_type_print(in->operands[i].type, &key);
    }
    str_addf(&key, "|%d ", in->result_count);
    ir_type_print(in->result, &key);
    return str_text(&key);
}

static const char *identifier(tc *tx, const char *text)
{
    char *name = arena_strdup(tx->ir->lasting, text);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            *c = '_';
    const char *result = name;
    for (int i = 1; tc_name_is_taken(tx, result, false); i++)
        result = arena_printf(tx->ir->lasting, "%s_%d", name, i);
    map_put(&tx->names_used, result, strlen(result), tx);
    return result;
}

// The instruction with all that belongs to it, in the memory of the IR.
static ir_intrin *copy_of(tc *tx, const ir_intrin *in)
{
    arena *a = tx->ir->lasting;
    ir_intrin *copy = arena_dup(a, in, sizeof *in);
    copy->text = arena_strdup(a, in->text);
    copy->operands = arena_dup(a, in->operands, (size_t)in->operand_count * sizeof *in->operands);
    for (int i = 0; i < in->operand_count; i++)
        copy->operands[i].name = arena_strdup(a, in->operands[i].name);
    size_t count = 0;
    while (in->dtypes && in->dtypes[count])
        count++;
    copy->dtypes = in->dtypes ? ARENA_ARRAY(a, const char *, count + 1) : NULL;
    for (size_t i = 0; i < count; i++)
        copy->dtypes[i] = arena_strdup(a, in->dtypes[i]);
    return copy;
}

// One instance for all calls of equal text and operands; [name] is what its identifier begins with.
static const ir_intrin *intern(tc *tx, ir_intrin *in, uint32_t id, const char *name)
{
    const char *key = key_of(tx, in->module, id, in);
    ir_intrin *known = map_get(&tx->intrins, key, strlen(key));
    if (known)
        return known;
    in = copy_of(tx, in);
    in->instance = identifier(tx, name);
    map_put(&tx->intrins, key, strlen(key), in);
    VEC_PUSH(tx->ir->lasting, &tx->ir->intrins, in);
    return in;
}

const ir_intrin *tc_intern_asm(tc *tx, ir_intrin *in)
{
    return intern(tx, in, 0, "asm_ptx");
}

static const ir_intrin *intern_declared(instr_builder *b, ir_intrin *in)
{
    tc *tx = b->tx;
    str_buf name;
    str_buf_init(&name, tx->arena);
    str_adds(&name, b->f->name->text);
    in->dtypes = type_arguments(tx, b->f, &name);
    if (name.len == b->f->name->len)
        str_adds(&name, "_ptx"); // "sqrt" alone is a name that CUDA has
    in->name = b->f->name->text;
    in->module = b->f->module->path;
    in->text = str_text(&b->text);
    in->operand_count = (int)b->operands.len;
    in->operands = b->operands.at;
    in->needs = b->f->facts->arch;
    in->needs_text = b->f->facts->arch_text;
    in->scope = b->f->facts->scope;
    in->effects = b->f->facts->effects;
    in->span = b->f->decl->name_span;
    return intern(tx, in, b->f->id, str_text(&name));
}

static bool check_arch(tc *tx, const tc_function *f)
{
    const arch *needs = f->facts->arch;
    if (!needs || arch_has(tx->ir->arch, needs))
        return true;
    diag *d = tc_error(tx, HDS0245, tx->frame->call_span, f->name->text, needs->name, tx->ir->arch->name);
    diag_help(d, needs->accelerated ? "compile with --arch %s" : "compile with --arch %s or newer", needs->name);
    diag_label(d, f->decl->name_span, "declared here");
    return false;
}

static tc_value emit_array(tc *tx, ir_expr *call, const tc_tensor_type *type, src_span span)
{
    tc_tensor_type local = *type;
    local.space = IR_REGISTER;
    tc_value t = tc_tensor_declare(tx, "fragment", &local, IR_VAR_LOCAL, tc_none(), 0, NULL, span);
    if (tc_is_poison(t))
        return t;
    t.tensor->is_temporary = true;
    int count;
    ir_stmt *s = tc_new_stmt(tx, IR_INTRIN_TO, span);
    s->args = ARENA_ARRAY(tx->ir->arena, ir_expr *, 1);
    s->arg_count = 1;
    s->args[0] = tc_tensor_tile(tx, t.tensor, &count, span);
    s->value = call;
    tc_emit(tx, s);
    return t;
}

// The statements stand where the call does, not in the declaration.
static tc_value emit_call(tc *tx, ir_expr *call, const tc_tensor_type *array, bool is_pure, src_span span)
{
    if (array)
        return emit_array(tx, call, array, span);
    if (call->type->kind == IR_VOID) {
        ir_stmt *s = tc_new_stmt(tx, IR_EVAL, span);
        s->value = call;
        tc_emit(tx, s);
        return tc_none();
    }
    return tc_rt(is_pure ? call : ir_read(tx->ir, tc_declare_result(tx, call, span), span));
}

tc_value tc_instruction_text(tc *tx, bool is_ptx, tc_args *args)
{
    src_span text_span = args->list.at[0].span;
    tc_frame *frame = tx->frame;
    if (!frame->in_instruction)
        return TC_ERR(tx, HDS0246, args->span, is_ptx ? "ptx" : "cuda");
    if (args->list.at[0].value.kind != TC_STR)
        return TC_ERR(tx, HDS0184, text_span, "the text", "str", tc_describe(tx, args->list.at[0].value));
    tc_function *f = (tc_function *)frame->function;
    if (tc_on_host(tx) && (is_ptx || f->facts->scope != IR_SCOPE_THREAD)) {
        diag *d = tc_error(tx, HDS0295, frame->call_span.begin ? frame->call_span : args->span,
                           arena_printf(tx->arena, "instruction '%s'", f->name->text));
        diag_label(d, f->decl->name_span, "declared here");
        return tc_poison();
    }
    if (strcmp(f->module->path, "hidet.lang.testing") == 0 &&
        (!tx->in_test || !tc_on_host(tx))) {
        diag *d = tc_error(tx, HDS0298, frame->call_span.begin ? frame->call_span : args->span, f->name->text);
        diag_help(d, "fills and comparisons of tensors are the host's part of a test");
        return tc_poison();
    }
    if (!check_arch(tx, f))
        return tc_poison();
    instr_builder b = {.tx = tx, .f = f, .span = text_span};
    str_buf_init(&b.text, tx->arena);
    ir_intrin *in = ARENA_NEW(tx->arena, ir_intrin);
    in->form = is_ptx ? IR_INTRIN_PTX : IR_INTRIN_CUDA;
    const tc_tensor_type *array;
    if (!fill_holes(&b, args->list.at[0].value.s) || !add_updated(&b) ||
        !set_result(&b, in, &array))
        return tc_poison();
    const ir_intrin *instance = intern_declared(&b, in);
    src_span span = frame->call_span.begin ? frame->call_span : args->span;
    ir_expr *call = ir_new_expr(tx->ir, IR_OP_INTRIN, instance->result, span, (int)b.args.len);
    call->u.intrin = instance;
    for (size_t i = 0; i < b.args.len; i++)
        call->args[i] = b.args.at[i];
    tx->frame = frame->caller;
    tc_value result = emit_call(tx, call, array, f->facts->pure, span);
    tx->frame = frame;
    return result;
}
