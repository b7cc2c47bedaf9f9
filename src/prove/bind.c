// The parameters of both sides, paired: by name where the names are the same, else by position.

#include <string.h>

#include "base/strided_span.h"
#include "prove/prove_priv.h"

static diag *refuse(prove *p, src_span span, const char *why)
{
    return diag_report(&p->sides[0].unit.diags, HDS0672, span, prove_title(p, 0), prove_title(p, 1), why);
}

// ---- values given --------------------------------------------------------------------------------------------------

static const char *value_of(const prove *p, const char *name)
{
    size_t len = strlen(name);
    for (int i = p->options->value_count; i-- > 0;) {
        const char *text = p->options->values[i];
        if (strncmp(text, name, len) == 0 && text[len] == '=')
            return text + len + 1;
    }
    return NULL;
}

static bool is_parameter(const prove *p, const char *name, size_t len)
{
    for (size_t i = 0; i < p->tensors.len; i++) {
        if (strlen(p->tensors.at[i].name) == len && strncmp(p->tensors.at[i].name, name, len) == 0)
            return true;
    }
    for (size_t i = 0; i < p->scalars.len; i++) {
        if (strlen(p->scalars.at[i].name) == len && strncmp(p->scalars.at[i].name, name, len) == 0)
            return true;
    }
    return false;
}

// The value that -D has given to a name; NULL: none.
static const char *define_of(const prove *p, const char *name)
{
    const pl_options *o = p->options->compile;
    for (int i = 0; i < o->define_count; i++) {
        if (strcmp(o->defines[i].name, name) == 0)
            return o->defines[i].value ? o->defines[i].value : "True";
    }
    return NULL;
}

static bool check_name(prove *p, const char *option, const char *name, size_t len)
{
    if (is_parameter(p, name, len))
        return true;
    const char *copy = arena_strndup(&p->memory, name, len), *fixed = define_of(p, copy);
    diag *d = diag_report(&p->sides[0].unit.diags, HDS0678, (src_span){0, 0}, option, prove_title(p, 0), copy);
    if (fixed)
        diag_help(d, "'-D %s=%s' has made a constant of it: give it one way or the other", copy, fixed);
    return false;
}

static bool check_names(prove *p)
{
    const prove_options *o = p->options;
    bool ok = true;
    for (int i = 0; i < o->value_count; i++)
        ok &= check_name(p, "--arg", o->values[i], strcspn(o->values[i], "="));
    for (int i = 0; i < o->output_count; i++)
        ok &= check_name(p, "--outputs", o->outputs[i], strlen(o->outputs[i]));
    return ok;
}

static bool check_value(prove *p, const char *name, const char *text, dtype type, bool is_tensor)
{
    const char *why = NULL;
    if (!text || prove_check_value(text, type, is_tensor, &why))
        return true;
    diag_report(&p->sides[0].unit.diags, HDS0676, (src_span){0, 0}, text, name, why);
    return false;
}

// ---- pairing -------------------------------------------------------------------------------------------------------

static bool is_tensor(const ir_var *v)
{
    return v->type->kind == IR_TENSOR;
}

static const char *kind_name(const ir_var *v)
{
    return is_tensor(v) ? "tensor" : v->type->kind == IR_POINTER ? "pointer" : "scalar";
}

static bool can_have_value(prove *p, int side, const ir_var *v)
{
    const ir_type *t = is_tensor(v) ? v->type->elem : v->type;
    bool is_plain = t->kind == IR_SCALAR || (is_tensor(v) && t->kind == IR_VECTOR);
    if (is_plain && !dt_is_subbyte(t->scalar) && dt_kind_of(t->scalar) != DT_KIND_COMPLEX)
        return true;
    diag *d = diag_report(&p->sides[side].unit.diags, HDS0672, v->span, prove_title(p, 0), prove_title(p, 1),
                          arena_printf(&p->memory, "'%s' is a %s of a type that no values are made for", v->name,
                                       kind_name(v)));
    diag_help(d, "a host function with tensor parameters can allocate it and call the kernel");
    return false;
}

static bool check_kinds(prove *p, int side)
{
    bool ok = true;
    for (size_t i = 0; i < p->sides[side].func->params.len; i++)
        ok &= can_have_value(p, side, p->sides[side].func->params.at[i]);
    return ok;
}

// Parameter [name] of a side, or the tensor (scalar) number [order] of it.
static int find_named(const prove_side *side, const char *name)
{
    for (size_t i = 0; i < side->func->params.len; i++) {
        if (strcmp(side->params[i].var->name, name) == 0)
            return (int)i;
    }
    return -1;
}

static int find_tensor(const prove_side *side, int order)
{
    for (size_t i = 0; i < side->func->params.len; i++) {
        if (is_tensor(side->params[i].var) && order-- == 0)
            return (int)i;
    }
    return -1;
}

static int tensor_count(const prove_side *side)
{
    int count = 0;
    while (find_tensor(side, count) >= 0)
        count++;
    return count;
}

static bool have_same_names(const prove_side *a, const prove_side *b)
{
    for (size_t i = 0; i < a->func->params.len; i++) {
        int k = find_named(b, a->params[i].var->name);
        if (is_tensor(a->params[i].var) && (k < 0 || !is_tensor(b->params[k].var)))
            return false;
    }
    return true;
}

static bool pair_tensors(prove *p)
{
    prove_side *a = &p->sides[0], *b = &p->sides[1];
    int count = tensor_count(a);
    bool by_name = have_same_names(a, b);
    if (count != tensor_count(b)) {
        refuse(p, a->func->span, arena_printf(&p->memory, "they have %d and %d tensors", count, tensor_count(b)));
        return false;
    }
    for (int i = 0; i < count; i++) {
        prove_param *x = &a->params[find_tensor(a, i)];
        prove_param *y = &b->params[by_name ? find_named(b, x->var->name) : find_tensor(b, i)];
        const ir_type *t = x->var->type->elem, *u = y->var->type->elem;
        if (dt_is_float(t->scalar) != dt_is_float(u->scalar) || t->lanes != u->lanes || t->kind != u->kind) {
            refuse(p, x->var->span, arena_printf(&p->memory, "'%s' is of %s and '%s' of %s", x->var->name,
                                                 dt_name(t->scalar), y->var->name, dt_name(u->scalar)));
            return false;
        }
        prove_tensor new = {.name = x->var->name,
                            .var = x->var,
                            .type = dt_bits(u->scalar) < dt_bits(t->scalar) ? u->scalar : t->scalar,
                            .lanes = t->kind == IR_VECTOR ? t->lanes : 1,
                            .is_input = x->reads || y->reads,
                            .is_output = x->writes || y->writes};
        x->tensor = y->tensor = (int)p->tensors.len;
        VEC_PUSH(&p->memory, &p->tensors, new);
    }
    return true;
}

// A size that occurs only in strides.
static bool is_only_stride(const ir_func *f, const ir_var *v)
{
    bool is_stride = false;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_tensor *t = f->params.at[i]->tensor;
        for (int d = 0; t && t->is_strided && d < t->rank; d++) {
            const ir_expr *e = t->strides[d];
            while (e->op == IR_OP_CAST)
                e = e->args[0];
            is_stride |= e->op == IR_OP_VAR && e->u.var == v;
        }
    }
    return is_stride && !ir_is_extent(f, v);
}

// Scalars are paired by name; a side may have scalars of its own.
static void gather_scalars(prove *p, prove_side *side)
{
    for (size_t i = 0; i < side->func->params.len; i++) {
        prove_param *param = &side->params[i];
        if (is_tensor(param->var))
            continue;
        for (size_t k = 0; k < p->scalars.len && param->scalar < 0; k++) {
            if (strcmp(p->scalars.at[k].name, param->var->name) == 0)
                param->scalar = (int)k;
        }
        if (param->scalar >= 0)
            continue;
        prove_scalar new = {.name = param->var->name,
                            .type = param->var->type->scalar,
                            .is_size = param->var->is_size,
                            .is_stride = param->var->is_size && is_only_stride(side->func, param->var)};
        param->scalar = (int)p->scalars.len;
        VEC_PUSH(&p->memory, &p->scalars, new);
    }
}

static bool give_scalars(prove *p)
{
    bool ok = true;
    for (size_t i = 0; i < p->scalars.len; i++) {
        prove_scalar *s = &p->scalars.at[i];
        s->given = value_of(p, s->name);
        bool is_good = check_value(p, s->name, s->given, s->type, false);
        ok &= is_good;
        if (!is_good || !s->is_size || (s->given && prove_size_of(s->given, &s->size)))
            continue;
        if (!s->given && s->is_stride)
            continue;
        if (s->given) {
            diag_report(&p->sides[0].unit.diags, HDS0676, (src_span){0, 0}, s->given, s->name, "a size is from 1 to 2147483647");
            ok = false;
            continue;
        }
        diag *d = diag_report(&p->sides[0].unit.diags, HDS0673, (src_span){0, 0}, s->name, prove_title(p, 0),
                              prove_title(p, 1));
        diag_help(d, "'-D %s=96' compiles for that size, '--arg %s=96' leaves it open and runs with it", s->name, s->name);
        ok = false;
    }
    return ok;
}

// ---- shapes --------------------------------------------------------------------------------------------------------

static bool evaluate(const prove *p, const prove_side *side, const ir_expr *e, int64_t *out);

static bool evaluate_variable(const prove *p, const prove_side *side, const ir_var *v, int64_t *out)
{
    for (size_t i = 0; i < side->func->params.len; i++) {
        const prove_param *param = &side->params[i];
        if (param->var != v || param->scalar < 0)
            continue;
        const prove_scalar *s = &p->scalars.at[param->scalar];
        *out = s->size;
        return (s->is_size && (s->size || !s->is_stride)) || (s->given && prove_size_of(s->given, out));
    }
    return false;
}

static bool evaluate_binary(const prove *p, const prove_side *side, const ir_expr *e, int64_t *out)
{
    int64_t a, b;
    if (e->arg_count != 2 || !evaluate(p, side, e->args[0], &a) || !evaluate(p, side, e->args[1], &b))
        return false;
    switch (e->op) {
    case IR_OP_ADD: return !__builtin_add_overflow(a, b, out);
    case IR_OP_SUB: return !__builtin_sub_overflow(a, b, out);
    case IR_OP_MUL: return !__builtin_mul_overflow(a, b, out);
    case IR_OP_FLOORDIV:
    case IR_OP_TRUNCDIV: *out = a >= 0 && b > 0 ? a / b : 0; return a >= 0 && b > 0;
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCMOD: *out = a >= 0 && b > 0 ? a % b : 0; return a >= 0 && b > 0;
    case IR_OP_SHL: *out = b >= 0 && b < 32 ? a << b : 0; return b >= 0 && b < 32 && a >= 0 && a < INT32_MAX;
    case IR_OP_SHR: *out = b >= 0 && b < 63 ? a >> b : 0; return b >= 0 && b < 63;
    case IR_OP_MIN: *out = a < b ? a : b; return true;
    case IR_OP_MAX: *out = a > b ? a : b; return true;
    default: return false;
    }
}

static bool evaluate(const prove *p, const prove_side *side, const ir_expr *e, int64_t *out)
{
    switch (e->op) {
    case IR_OP_INT: *out = e->u.i; return true;
    case IR_OP_VAR: return evaluate_variable(p, side, e->u.var, out);
    case IR_OP_CAST: return evaluate(p, side, e->args[0], out);
    default: return evaluate_binary(p, side, e, out);
    }
}

static const char *shape_text(prove *p, const int64_t *shape, int rank)
{
    str_buf out;
    str_buf_init(&out, &p->memory);
    for (int i = 0; i < rank; i++)
        str_addf(&out, "%s%lld", i ? ", " : "[", (long long)shape[i]);
    str_adds(&out, rank ? "]" : "[]");
    return str_text(&out);
}

static bool find_shape(prove *p, int side, const prove_param *param, int64_t *shape)
{
    const ir_tensor *t = param->var->tensor;
    bool ok = t->rank <= PROVE_RANK;
    for (int i = 0; ok && i < t->rank; i++)
        ok = evaluate(p, &p->sides[side], t->shape[i], &shape[i]) && shape[i] >= 1;
    if (!ok)
        diag_report(&p->sides[side].unit.diags, HDS0672, param->var->span, prove_title(p, 0), prove_title(p, 1),
                    arena_printf(&p->memory, "the shape of '%s' is not known", param->var->name));
    return ok;
}

static prove_scalar *open_size(prove *p, const prove_side *side, const ir_expr *e)
{
    while (e->op == IR_OP_CAST)
        e = e->args[0];
    for (size_t k = 0; e->op == IR_OP_VAR && k < side->func->params.len; k++) {
        prove_scalar *s = side->params[k].var == e->u.var ? &p->scalars.at[side->params[k].scalar] : NULL;
        if (s && !s->given && s->is_stride && !s->size)
            return s;
    }
    return NULL;
}

static bool strides_are_unknown(prove *p, const ir_var *v)
{
    refuse(p, v->span, arena_printf(&p->memory, "the strides of '%s' are not known", v->name));
    return false;
}

// Without a given stride, rows are contiguous.
static bool complete_strides(prove *p, const prove_side *side, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    int64_t shape[PROVE_RANK], strides[PROVE_RANK];
    bool is_known = t->rank <= PROVE_RANK;
    for (int d = 0; is_known && d < t->rank; d++) {
        is_known = evaluate(p, side, t->shape[d], &shape[d]);
        if (open_size(p, side, t->strides[d]) || !evaluate(p, side, t->strides[d], &strides[d]))
            strides[d] = -1;
    }
    if (!is_known || !strided_span_complete(t->rank, shape, strides))
        return strides_are_unknown(p, v);
    for (int d = t->rank - 1; d >= 0; d--) {
        prove_scalar *s = open_size(p, side, t->strides[d]);
        if (s && strides[d] > INT32_MAX)
            return strides_are_unknown(p, v);
        if (s)
            s->size = strides[d];
    }
    return true;
}

static bool set_open_strides(prove *p, const prove_side *side)
{
    for (size_t i = 0; i < side->func->params.len; i++) {
        const ir_var *v = side->params[i].var;
        if (v->tensor && v->tensor->is_strided && !complete_strides(p, side, v))
            return false;
    }
    return true;
}

// The strides of one side's parameter.
static bool find_strides(prove *p, int side, prove_param *param)
{
    const ir_tensor *t = param->var->tensor;
    param->span = p->tensors.at[param->tensor].count;
    if (!t->is_strided)
        return true;
    strided_span whole = {.bits = 8, .rank = t->rank, .shape = p->tensors.at[param->tensor].shape};
    int64_t *strides = ARENA_ARRAY(&p->memory, int64_t, t->rank + 1);
    bool ok = true;
    for (int d = 0; ok && d < t->rank; d++)
        ok = evaluate(p, &p->sides[side], t->strides[d], &strides[d]);
    param->strides = whole.strides = strides;
    ok = ok && strided_span_measure(&whole) && whole.bytes <= INT32_MAX && (!param->writes || strided_span_folded_axis(&whole) < 0);
    if (!ok)
        refuse(p, param->var->span, arena_printf(&p->memory, "'%s' cannot have these strides", param->var->name));
    param->span = whole.bytes;
    return ok;
}

static bool set_strides(prove *p, int side)
{
    prove_side *s = &p->sides[side];
    for (size_t i = 0; i < s->func->params.len; i++) {
        if (s->params[i].tensor >= 0 && !find_strides(p, side, &s->params[i]))
            return false;
    }
    return true;
}

static bool set_shapes(prove *p, int side)
{
    prove_side *s = &p->sides[side];
    for (size_t i = 0; i < s->func->params.len; i++) {
        const prove_param *param = &s->params[i];
        int64_t shape[PROVE_RANK];
        if (param->tensor < 0)
            continue;
        if (!find_shape(p, side, param, shape))
            return false;
        prove_tensor *t = &p->tensors.at[param->tensor];
        int rank = param->var->tensor->rank;
        if (side == 1 && (rank != t->rank || memcmp(shape, t->shape, sizeof *shape * (size_t)rank) != 0)) {
            refuse(p, t->var->span, arena_printf(&p->memory, "'%s' has the shape %s there and %s here", t->name,
                                                 shape_text(p, shape, rank), shape_text(p, t->shape, t->rank)));
            return false;
        }
        t->rank = rank;
        memcpy(t->shape, shape, sizeof *shape * (size_t)rank);
    }
    return true;
}

static bool count_elements(prove *p)
{
    for (size_t i = 0; i < p->tensors.len; i++) {
        prove_tensor *t = &p->tensors.at[i];
        t->count = t->lanes;
        for (int k = 0; k < t->rank; k++) {
            if (__builtin_mul_overflow(t->count, t->shape[k], &t->count) || t->count > INT32_MAX) {
                refuse(p, t->var->span, arena_printf(&p->memory, "'%s' is too large to be simulated", t->name));
                return false;
            }
        }
        t->first = p->input_count;
        p->input_count += t->is_input ? t->count : 0;
        t->range = value_of(p, t->name);
        if (!check_value(p, t->name, t->range, t->type, true))
            return false;
    }
    p->input_count += (int64_t)p->scalars.len;  // numbered after the tensors' elements
    return true;
}

// ---- outputs -------------------------------------------------------------------------------------------------------

static void choose_outputs(prove *p)
{
    for (size_t i = 0; p->options->output_count && i < p->tensors.len; i++) {
        prove_tensor *t = &p->tensors.at[i];
        bool is_named = false;
        for (int k = 0; k < p->options->output_count; k++)
            is_named |= strcmp(p->options->outputs[k], t->name) == 0;
        t->is_output = t->is_output && is_named;
    }
}

static bool has_output(prove *p)
{
    for (size_t i = 0; i < p->tensors.len; i++) {
        if (p->tensors.at[i].is_output)
            return true;
    }
    diag_report(&p->sides[0].unit.diags, HDS0677, p->sides[0].func->span, prove_title(p, 0), prove_title(p, 1));
    return false;
}

bool prove_bind(prove *p)
{
    if (!check_kinds(p, 0) || !check_kinds(p, 1) || !pair_tensors(p))
        return false;
    gather_scalars(p, &p->sides[0]);
    gather_scalars(p, &p->sides[1]);
    if (!check_names(p) || !give_scalars(p))
        return false;
    if (!set_open_strides(p, &p->sides[0]) || !set_open_strides(p, &p->sides[1]) || !set_shapes(p, 0) ||
        !set_shapes(p, 1) || !count_elements(p) || !set_strides(p, 0) || !set_strides(p, 1))
        return false;
    choose_outputs(p);
    return has_output(p);
}
