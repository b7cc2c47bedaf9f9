// The rules of expressions: what each operator takes and gives.
#include "ir/verify_priv.h"

#include "ir/text_priv.h"

const char *ir_verify_type_text(verifier *v, const ir_type *t)
{
    str_buf b;
    str_buf_init(&b, v->module->arena);
    if (t)
        ir_type_print(t, &b);
    else
        str_adds(&b, "no type");
    return str_text(&b);
}

static void wrong_type(verifier *v, const ir_expr *e, const ir_type *wanted, const char *what)
{
    ir_verify_broken(v, "%s is of type %s, found %s", what, ir_verify_type_text(v, wanted),
                     ir_verify_type_text(v, e->type));
}

// ---- types -------------------------------------------------------------------------------------------------------

static bool is_number_of(const ir_type *t, bool ints, bool floats)
{
    if (t->kind != IR_SCALAR && t->kind != IR_VECTOR)
        return false;
    dt_kind kind = dt_kind_of(t->scalar);
    bool is_int = kind == DT_KIND_SINT || kind == DT_KIND_UINT;
    return (ints && is_int) || (floats && (kind == DT_KIND_FLOAT || kind == DT_KIND_COMPLEX));
}

static bool is_int_scalar(const ir_type *t)
{
    return t->kind == IR_SCALAR && dt_is_int(t->scalar);
}

static bool is_bool(const ir_type *t)
{
    return ir_is_scalar(t, DT_BOOL);
}

static bool is_value(const ir_type *t)
{
    return t->kind == IR_SCALAR || t->kind == IR_VECTOR || t->kind == IR_POINTER;
}

void ir_verify_type(verifier *v, const ir_type *t)
{
    for (; t && (t->kind == IR_POINTER || t->kind == IR_TENSOR); t = t->elem) {
        bool is_no_element = !t->elem || t->elem->kind == IR_TENSOR || t->elem->kind == IR_STRING;
        if (is_no_element || t->elem->kind == IR_TENSOR_MAP)
            ir_verify_broken(v, "a pointer or tensor has scalars, vectors or pointers as elements");
        else if (t->kind == IR_TENSOR && t->elem->kind == IR_VOID)
            ir_verify_broken(v, "a tensor has elements");
    }
    if (!t)
        ir_verify_broken(v, "everything has a type");
    else if ((t->kind == IR_SCALAR || t->kind == IR_VECTOR) && (t->scalar <= DT_NONE || t->scalar >= DT__COUNT))
        ir_verify_broken(v, "a scalar type is one of lang/dtypes.def");
    else if (t->kind == IR_VECTOR && (t->lanes < 2 || t->lanes > 128))
        ir_verify_broken(v, "a vector has 2 to 128 lanes");
}

// Whether a pointer of type [from] may stand where [to] is wanted: void and generic pointers take others, const pointers
// take mutable ones.
static bool pointer_fits(const ir_type *from, const ir_type *to)
{
    return from->kind == IR_POINTER && (from->elem == to->elem || to->elem->kind == IR_VOID) &&
           (from->space == to->space || to->space == IR_GENERIC || from->space == IR_GENERIC) &&
           (to->is_const || !from->is_const);
}

void ir_verify_passed(verifier *v, const ir_expr *e, const ir_type *type, const char *what)
{
    bool fits = e->type == type ||
                ((type->kind == IR_TENSOR || type->kind == IR_POINTER) && pointer_fits(e->type, type));
    if (!fits)
        wrong_type(v, e, type, what);
}

// ---- accesses ----------------------------------------------------------------------------------------------------

static void check_in_scope(verifier *v, const ir_var *var)
{
    if (!var) {
        ir_verify_broken(v, "a variable is named");
        return;
    }
    var_state state = var->id < v->module->next_var ? (var_state)v->states[var->id] : VAR_UNDECLARED;
    if (state != VAR_IN_SCOPE)
        ir_verify_broken(v, "variable '%s' is %s", var->name ? var->name : "",
                         state == VAR_GONE ? "used outside its scope" : "used before its declaration");
}

void ir_verify_access(verifier *v, const ir_var *tensor, ir_expr *const *indices, int count, int flags)
{
    check_in_scope(v, tensor);
    if (!tensor)
        return;
    if (!tensor->tensor) {
        ir_verify_broken(v, "'%s' is accessed and so a tensor", tensor->name);
        return;
    }
    int wanted = flags & IR_FLAT ? 1 : tensor->tensor->rank;
    if (count != wanted)
        ir_verify_broken(v, "an access to '%s' has %d indices, found %d", tensor->name, wanted, count);
    for (int i = 0; i < count; i++)
        if (!indices[i] || !is_int_scalar(indices[i]->type))
            ir_verify_broken(v, "indices are integers");
    if (v->low && !(flags & IR_FLAT))
        ir_verify_broken(v, "accesses are flat at the low level");
    if (v->low && (flags & IR_GUARDED))
        ir_verify_broken(v, "no access is guarded at the low level");
    if ((flags & IR_FLAT) && (flags & IR_GUARDED))
        ir_verify_broken(v, "a flat access has no shape to be guarded by");
}

static bool is_base_pointer(const ir_type *t, const ir_type *tensor)
{
    return t->kind == IR_POINTER && t->elem == tensor->elem && t->space == tensor->space &&
           t->is_const == tensor->is_const;
}

static void check_load(verifier *v, const ir_expr *e)
{
    bool guarded = e->flags & IR_GUARDED;
    if (guarded && !e->arg_count) {
        ir_verify_broken(v, "a guarded load has a value for outside");
        return;
    }
    ir_verify_access(v, e->u.var, e->args, e->arg_count - guarded, e->flags);
    if (!e->u.var || !e->u.var->tensor)
        return;
    if (e->type != e->u.var->tensor->elem)
        ir_verify_broken(v, "a load gives the tensor's element type");
    if (guarded && e->args[e->arg_count - 1]->type != e->type)
        ir_verify_broken(v, "the value outside is of the tensor's element type");
}

static void check_indexed(verifier *v, const ir_expr *e)
{
    ir_verify_access(v, e->u.var, e->args, e->arg_count, e->flags);
    if (!e->u.var || !e->u.var->tensor)
        return;
    const ir_type *tensor = e->u.var->type;
    if (e->op == IR_OP_ADDR && !is_base_pointer(e->type, tensor))
        ir_verify_broken(v, "an address is a pointer to the tensor's elements, in its space");
    if (e->op == IR_OP_TILE && (e->type->kind != IR_TENSOR || e->type->elem != tensor->elem || e->count < 1))
        ir_verify_broken(v, "a tile is of one or more registers of the tensor's element type");
    if (e->op == IR_OP_TILE && tensor->space != IR_REGISTER && tensor->space != IR_LOCAL)
        ir_verify_broken(v, "a tile is of a register tensor");
}

static void check_var(verifier *v, const ir_expr *e)
{
    check_in_scope(v, e->u.var);
    if (!e->u.var)
        return;
    const ir_type *t = e->u.var->type;
    if (t->kind == IR_TENSOR ? !is_base_pointer(e->type, t) : e->type != t)
        ir_verify_broken(v, "reading '%s' gives %s, found %s", e->u.var->name, ir_verify_type_text(v, t),
                         ir_verify_type_text(v, e->type));
}

// ---- operators ---------------------------------------------------------------------------------------------------

static void check_same(verifier *v, const ir_expr *e, bool ints, bool floats)
{
    for (int i = 0; i < e->arg_count; i++)
        if (e->args[i]->type != e->type) {
            ir_verify_broken(v, "'%s' takes operands of its own type %s, found %s", ir_op_name(e->op),
                             ir_verify_type_text(v, e->type), ir_verify_type_text(v, e->args[i]->type));
            return;
        }
    if (!is_number_of(e->type, ints, floats))
        ir_verify_broken(v, "'%s' does not work on %s", ir_op_name(e->op), ir_verify_type_text(v, e->type));
}

static void check_sum(verifier *v, const ir_expr *e)
{
    if (e->type->kind != IR_POINTER) {
        check_same(v, e, true, true);
        return;
    }
    if (e->args[0]->type != e->type || !is_int_scalar(e->args[1]->type))
        ir_verify_broken(v, "'%s' moves a pointer by an integer", ir_op_name(e->op));
    else if (e->type->elem->kind == IR_VOID)
        ir_verify_broken(v, "a void pointer cannot be moved");
}

static void check_shift(verifier *v, const ir_expr *e)
{
    if (e->args[0]->type != e->type || !is_number_of(e->type, true, false) ||
        !is_number_of(e->args[1]->type, true, false))
        ir_verify_broken(v, "'%s' takes an integer of its own type and an integer", ir_op_name(e->op));
}

static void check_bits(verifier *v, const ir_expr *e)
{
    if (!is_bool(e->type))
        check_same(v, e, true, false);
    else
        for (int i = 0; i < e->arg_count; i++)
            if (!is_bool(e->args[i]->type) || e->op == IR_OP_BITNOT)
                ir_verify_broken(v, "'%s' of a bool takes bools", ir_op_name(e->op));
}

static void check_logic(verifier *v, const ir_expr *e)
{
    bool fine = is_bool(e->type);
    for (int i = 0; i < e->arg_count; i++)
        fine &= is_bool(e->args[i]->type);
    if (!fine)
        ir_verify_broken(v, "'%s' takes and gives bools", ir_op_name(e->op));
}

static void check_compare(verifier *v, const ir_expr *e)
{
    const ir_type *a = e->args[0]->type, *b = e->args[1]->type;
    if (!is_bool(e->type))
        ir_verify_broken(v, "a comparison gives a bool");
    if (a != b || (a->kind != IR_SCALAR && a->kind != IR_POINTER))
        ir_verify_broken(v, "a comparison takes two scalars of the same type, found %s and %s",
                         ir_verify_type_text(v, a), ir_verify_type_text(v, b));
}

static void check_select(verifier *v, const ir_expr *e)
{
    if (!is_bool(e->args[0]->type) || e->args[1]->type != e->type || e->args[2]->type != e->type || !is_value(e->type))
        ir_verify_broken(v, "'select' takes a bool and two values of its own type");
}

static void check_cast(verifier *v, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type, *to = e->type;
    bool scalars = from->kind == IR_SCALAR && to->kind == IR_SCALAR;
    bool vectors = from->kind == IR_VECTOR && to->kind == IR_VECTOR && from->lanes == to->lanes;
    if (!scalars && !vectors)
        ir_verify_broken(v, "a conversion is between scalars, or vectors of the same length, found %s to %s",
                         ir_verify_type_text(v, from), ir_verify_type_text(v, to));
}

static int64_t bits_of(const ir_type *t)
{
    switch (t->kind) {
    case IR_SCALAR: return dt_bits(t->scalar);
    case IR_VECTOR: return (int64_t)dt_bits(t->scalar) * t->lanes;
    case IR_POINTER: return 64;
    case IR_VOID:
    case IR_TENSOR:
    case IR_STRING:
    case IR_TENSOR_MAP: break;
    }
    return -1;
}

static void check_bitcast(verifier *v, const ir_expr *e)
{
    int64_t from = bits_of(e->args[0]->type), to = bits_of(e->type);
    if (from != to || to < 0)
        ir_verify_broken(v, "'bitcast' keeps the width, found %s to %s", ir_verify_type_text(v, e->args[0]->type),
                         ir_verify_type_text(v, e->type));
}

static void check_pload(verifier *v, const ir_expr *e)
{
    const ir_type *p = e->args[0]->type;
    if (p->kind != IR_POINTER || p->elem != e->type || p->elem->kind == IR_VOID || !is_int_scalar(e->args[1]->type))
        ir_verify_broken(v, "'pload' takes a pointer and an integer and gives what the pointer points to");
}

static void check_vec(verifier *v, const ir_expr *e)
{
    bool fine = e->type->kind == IR_VECTOR && e->type->lanes == e->arg_count;
    for (int i = 0; fine && i < e->arg_count; i++)
        fine = ir_is_scalar(e->args[i]->type, e->type->scalar);
    if (!fine)
        ir_verify_broken(v, "'vec' takes as many scalars as its type has lanes");
}

static void check_lane(verifier *v, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type;
    if (from->kind != IR_VECTOR || e->u.i < 0 || e->u.i >= from->lanes || !ir_is_scalar(e->type, from->scalar))
        ir_verify_broken(v, "'lane' takes a vector and the number of one of its elements");
}

static void check_constant(verifier *v, const ir_expr *e)
{
    const ir_type *t = e->type;
    bool fine = false;
    if (e->op == IR_OP_INT)
        fine = t->kind == IR_SCALAR && (is_bool(t) ? (e->u.i & ~(int64_t)1) == 0
                                                   : dt_is_int(t->scalar) && dt_wrap_int(t->scalar, e->u.i) == e->u.i);
    else if (e->op == IR_OP_FLOAT)
        fine = t->kind == IR_SCALAR && is_number_of(t, false, true);
    else if (e->op == IR_OP_TEXT)
        fine = t->kind == IR_STRING && e->u.text;
    else
        fine = ir_is_scalar(t, DT_I32) && e->u.i >= 0 && e->u.i < IR_SREG__COUNT;
    if (!fine)
        ir_verify_broken(v, "a constant is a value of its type");
    if (e->op == IR_OP_SREG && v->func && v->func->kind == IR_HOST_FUNC)
        ir_verify_broken(v, "special registers are read on the device only");
}

// ---- calls -------------------------------------------------------------------------------------------------------

static void check_call(verifier *v, const ir_expr *e)
{
    const ir_func *f = e->u.func;
    if (!f || f->id >= v->module->funcs.len || v->module->funcs.at[f->id] != f || !v->known_funcs[f->id]) {
        ir_verify_broken(v, "a called function stands before its caller in the module");
        return;
    }
    bool on_host = v->func && v->func->kind == IR_HOST_FUNC;
    if (f->kind == IR_KERNEL || (f->kind == IR_HOST_FUNC) != on_host)
        ir_verify_broken(v, "'%s' cannot be called from here", f->name);
    if (e->type != f->result)
        ir_verify_broken(v, "a call gives the function's result type");
    if (e->arg_count != f->params.len) {
        ir_verify_broken(v, "'%s' takes %zu arguments, found %d", f->name, f->params.len, e->arg_count);
        return;
    }
    for (int i = 0; i < e->arg_count; i++)
        ir_verify_passed(v, e->args[i], f->params.at[i]->type, "an argument");
}

static void check_operand(verifier *v, const ir_operand *o, const ir_expr *arg)
{
    int properties = ir_op_properties(arg->op);
    bool constant = arg->op == IR_OP_INT || arg->op == IR_OP_FLOAT || arg->op == IR_OP_TEXT;
    if (o->is_immediate && !(constant && (properties & IR_LEAF)))
        ir_verify_broken(v, "operand '%s' is a constant", o->name);
    if (o->type->kind != IR_TENSOR) {
        ir_verify_passed(v, arg, o->type, arena_printf(v->module->arena, "operand '%s'", o->name));
        return;
    }
    if (arg->op != IR_OP_TILE || arg->type->elem != o->type->elem || arg->count != o->count)
        ir_verify_broken(v, "operand '%s' is a tile of %d registers of type %s", o->name, o->count,
                         ir_verify_type_text(v, o->type->elem));
}

static void check_intrin(verifier *v, const ir_expr *e)
{
    const ir_intrin *in = e->u.intrin;
    if (!in) {
        ir_verify_broken(v, "an instruction is named");
        return;
    }
    if (e->type != in->result)
        ir_verify_broken(v, "an instruction gives its result type");
    if (v->func && v->func->kind == IR_HOST_FUNC && in->form == IR_INTRIN_PTX)
        ir_verify_broken(v, "instructions run on the device only");
    if (in->needs && !arch_has(v->module->arch, in->needs))
        ir_verify_broken(v, "instruction '%s' needs %s", in->instance, in->needs->name);
    if (e->arg_count != in->operand_count) {
        ir_verify_broken(v, "instruction '%s' takes %d operands, found %d", in->instance, in->operand_count,
                         e->arg_count);
        return;
    }
    for (int i = 0; i < e->arg_count; i++)
        check_operand(v, &in->operands[i], e->args[i]);
}

// ---- all together ------------------------------------------------------------------------------------------------

static bool check_shape_of_node(verifier *v, const ir_expr *e)
{
    int arity = ir_op_arity(e->op), flags = 0;
    bool accesses = e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_TILE;
    if (arity >= 0 && e->arg_count != arity) {
        ir_verify_broken(v, "'%s' has %d operands, found %d", ir_op_name(e->op), arity, e->arg_count);
        return false;
    }
    if (accesses)
        flags = IR_FLAT | IR_VOLATILE | (e->op == IR_OP_LOAD ? IR_GUARDED : 0);
    if (e->op == IR_OP_PLOAD)
        flags = IR_VOLATILE;
    if (e->flags & ~flags)
        ir_verify_broken(v, "'%s' has flags that mean nothing there", ir_op_name(e->op));
    for (int i = 0; i < e->arg_count; i++) {
        if (!e->args[i] || !e->args[i]->type) {
            ir_verify_broken(v, "an operand of '%s' is missing", ir_op_name(e->op));
            return false;
        }
        ir_type_kind kind = e->args[i]->type->kind;
        bool is_odd = kind == IR_STRING || kind == IR_TENSOR || kind == IR_TENSOR_MAP;
        if (kind == IR_VOID || (is_odd && e->op != IR_OP_INTRIN)) {
            ir_verify_broken(v, "operands of '%s' are values", ir_op_name(e->op));
            return false;
        }
    }
    return true;
}

static void check_node(verifier *v, const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_INT:
    case IR_OP_FLOAT:
    case IR_OP_TEXT:
    case IR_OP_SREG: check_constant(v, e); break;
    case IR_OP_VAR: check_var(v, e); break;
    case IR_OP_NEG:
    case IR_OP_MUL:
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
    case IR_OP_MIN:
    case IR_OP_MAX: check_same(v, e, true, true); break;
    case IR_OP_DIV: check_same(v, e, false, true); break;
    case IR_OP_TRUNCDIV:
    case IR_OP_TRUNCMOD: check_same(v, e, true, false); break;
    case IR_OP_ADD:
    case IR_OP_SUB: check_sum(v, e); break;
    case IR_OP_SHL:
    case IR_OP_SHR: check_shift(v, e); break;
    case IR_OP_BITNOT:
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR: check_bits(v, e); break;
    case IR_OP_NOT:
    case IR_OP_LAND:
    case IR_OP_LOR: check_logic(v, e); break;
    case IR_OP_EQ:
    case IR_OP_NE:
    case IR_OP_LT:
    case IR_OP_LE:
    case IR_OP_GT:
    case IR_OP_GE: check_compare(v, e); break;
    case IR_OP_SELECT: check_select(v, e); break;
    case IR_OP_CAST: check_cast(v, e); break;
    case IR_OP_BITCAST: check_bitcast(v, e); break;
    case IR_OP_LOAD: check_load(v, e); break;
    case IR_OP_ADDR:
    case IR_OP_TILE: check_indexed(v, e); break;
    case IR_OP_PLOAD: check_pload(v, e); break;
    case IR_OP_CALL: check_call(v, e); break;
    case IR_OP_INTRIN: check_intrin(v, e); break;
    case IR_OP_VEC: check_vec(v, e); break;
    case IR_OP_LANE: check_lane(v, e); break;
    case IR_OP__COUNT: break;
    }
}

static void check_each(void *user, ir_expr *e)
{
    verifier *v = user;
    if (!e->type || (unsigned)e->op >= IR_OP__COUNT) {
        ir_verify_broken(v, "an expression has an operator and a type");
        return;
    }
    if (v->messages < VERIFY_MAX_MESSAGES && check_shape_of_node(v, e))
        check_node(v, e);
}

void ir_verify_expr(verifier *v, ir_expr *e)
{
    if (!e)
        ir_verify_broken(v, "an expression is missing");
    else
        ir_walk_expr(v->module, e, check_each, v);
}

void ir_verify_index(verifier *v, ir_expr *e, const char *what)
{
    ir_verify_expr(v, e);
    if (e && !is_int_scalar(e->type))
        ir_verify_broken(v, "%s is an integer, found %s", what, ir_verify_type_text(v, e->type));
}

void ir_verify_typed(verifier *v, ir_expr *e, const ir_type *type, const char *what)
{
    ir_verify_expr(v, e);
    if (e && e->type != type)
        wrong_type(v, e, type, what);
}
