// What a definition tells of an operator beyond its signature: its family, and its results for given operands.
#include "typecheck/operators/operators_priv.h"

#include <string.h>

// ---- families ---------------------------------------------------------------------------------------------------

static op_family family_named(tc_value name)
{
    for (int f = OP_ELEMENTWISE; name.kind == TC_STR && f <= OP_OWN_KERNELS; f++)
        if (str_equal(name.s, str_of(op_family_name((op_family)f))))
            return (op_family)f;
    return OP_FAMILY_UNKNOWN;
}

static op_family family_by(tc *tx, const tc_operator *o, int rank, int known)
{
    tc_entry_layout l = {0};
    for (size_t i = 0; i < o->joined.len; i++) {
        l.ranks[i] = rank;
        l.joined[i] = -1;
    }
    tc_probe p = {.tx = tx, .op = o, .layout = &l, .known = known, .collapsing = TC_NO_GROUP};
    if (!tc_probe_open(&p))
        return OP_FAMILY_UNKNOWN;
    tc_value args[] = {*tc_operator_field(tx, o->value, "definition"), tc_probe_operands(&p), tc_probe_named(&p)};
    bool ok = !tc_is_poison(args[2]);
    op_family found = ok ? family_named(tc_probe_call(&p, "schema", "family_of", args, 3)) : OP_FAMILY_UNKNOWN;
    tc_probe_close(&p);
    return found;
}

void tc_find_family(tc *tx, tc_operator *o)
{
    // Most operators have a meaning for matrices; some take images, some a vector. Extents that some ask for are few.
    static const int ranks[] = {2, 4, 1, 3, 5}, extents[] = {8, 4, 32, 3, 1};
    if (o->schema.family != OP_FAMILY_UNKNOWN || o->schema.no_entry)
        return;
    bool muted = tx->diags->muted, aborted = tx->aborted;
    int errors = tx->diags->error_count;
    tx->diags->muted = true;
    size_t rank_count = o->joined.len ? sizeof ranks / sizeof *ranks : 1;
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (size_t r = 0; r < rank_count && o->schema.family == OP_FAMILY_UNKNOWN; r++) {
            tx->aborted = aborted;
            o->schema.family = family_by(tx, o, ranks[r], extents[e]);
        }
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    tx->aborted = aborted;
}

// ---- results for given operands ---------------------------------------------------------------------------------

typedef struct inference {
    tc *tx;
    tc_operator *op;
    const tc_define *given;
    int count;
} inference;

static const tc_define *find_given(const inference *in, const char *name)
{
    for (int i = 0; i < in->count; i++)
        if (strcmp(in->given[i].name, name) == 0)
            return &in->given[i];
    return NULL;
}

static tc_value value_of(const inference *in, const tc_define *d)
{
    tc *tx = in->tx;
    src_file *file = src_add(tx->diags->sources, arena_printf(tx->lasting, "<%s>", d->name), str_of(arena_strdup(tx->lasting, d->value)));
    parse_context px = {tx->lasting, tx->syms, tx->diags};
    ast_expr *e = file ? parse_expression(&px, file) : NULL;
    if (!e)
        return tc_poison();
    tc_value v = tc_eval_annotation(tx, e, tx->natives);
    if (v.kind != TC_TENSOR_TYPE)
        return v;
    return tc_tensor_declare(tx, d->name, v.tensor_type, IR_VAR_PARAM, tc_none(), 0, NULL, e->span);
}

// The operands in order, None for optional ones, and the attributes that are given.
static bool take_given(const inference *in, tc_value operands, tc_value named)
{
    const op_schema *s = &in->op->schema;
    for (size_t i = 0; i < s->params.len; i++) {
        const op_param *p = &s->params.at[i];
        const tc_define *d = find_given(in, p->name);
        if (!d && p->role == OP_OPERAND && !p->is_optional) {
            diag *lacks = tc_error(in->tx, HDS0213, in->op->span, s->name, p->name);
            diag_help(lacks, "give it a type: %s=f32[4, 8]", p->name);
            return false;
        }
        tc_value v = d ? value_of(in, d) : tc_none();
        if (tc_is_poison(v))
            return false;
        if (p->role == OP_OPERAND)
            tc_list_push(in->tx, operands.list, v);
        else if (d)
            tc_dict_put(in->tx, named.dict, tc_str(str_of(p->name)), v);
    }
    return true;
}

static bool take_result(tc *tx, tc_value v, op_schema *s)
{
    op_result r = {0};
    if (v.kind != TC_TUPLE || v.list->len != 2 || v.list->at[0].kind != TC_TYPE || v.list->at[1].kind != TC_TUPLE)
        return false;
    const tc_list *shape = v.list->at[1].list;
    bool ok = v.list->at[0].type->kind == IR_SCALAR && shape->len <= sizeof r.shape / sizeof *r.shape;
    r.type = ok ? v.list->at[0].type->scalar : DT_NONE;
    for (size_t i = 0; ok && i < shape->len; i++)
        ok = tc_as_int64(shape->at[i], &r.shape[r.rank++]);
    if (ok)
        VEC_PUSH(tx->lasting, &s->inferred, r);
    return ok;
}

// Within a function that is no part of the output.
static bool infer(const inference *in)
{
    tc *tx = in->tx;
    tc_value operands = tc_list_new(tx, TC_TUPLE, NULL, 0), named = tc_dict_new(tx);
    if (!take_given(in, operands, named))
        return false;
    tc_value f = tc_library(tx, "hidet.lang.schema", "results_of", in->op->span);
    tc_value args[] = {in->op->value, operands, named};
    tc_value found = tc_call_values(tx, f, args, 3, in->op->span);
    bool ok = found.kind == TC_TUPLE;
    for (size_t i = 0; ok && i < found.list->len; i++)
        ok = take_result(tx, found.list->at[i], &in->op->schema);
    return ok;
}

bool tc_infer_results(tc *tx, tc_operator *o, const tc_define *given, int count)
{
    inference in = {tx, o, given, count};
    tc_lifetime lifetime;
    tc_lifetime_begin(tx, &lifetime);
    ir_func *func = ir_func_new(tx->ir, IR_KERNEL, o->schema.name, o->span);
    func->result = ir_void(tx->ir);
    tc_saved saved = tc_enter(tx, func, &func->body, NULL);
    tc_frame frame = {.caller = saved.frame, .scope = tc_scope_new(tx, o->scope, o->written->module, TC_SCOPE_FUNCTION)};
    frame.entry_region = tx->region;
    tx->frame = &frame;
    tx->steps = 0;
    bool ok = infer(&in);
    tc_leave(tx, saved);
    tc_lifetime_end(tx, &lifetime);
    return ok;
}
