// Statements of host functions as C over libhdsrt.
//
// A function that returns nothing in the source returns an hdsrt_status here and takes a stream; the first failure ends
// it. The addresses of its allocations are in one array, so that every exit goes through one label, which frees them;
// in a loop, an iteration frees the memory of the previous one.
#include "cuda_emit/c_priv.h"

enum { MOST_STACK_BYTES = 4096 };

static bool gives_status(const cu *cx)
{
    return !cx->c->is_device && cx->c->at->func->result->kind == IR_VOID;
}

static void leave(cu *cx)
{
    if (cx->c->end)
        cu_put(cx, "goto %s;", cx->c->end);
    else
        cu_put(cx, "return %s;", cx->c->status);
}

void cu_c_checked(cu *cx, const char *call)
{
    if (!gives_status(cx)) {
        if (!cx->failed) {
            const ir_func *f = cx->c->at->func;
            diag *d = diag_report(cx->m->diags, HDS0703, cx->c->span, f->title ? f->title : f->name);
            diag_help(d, "let the function return nothing: in C it returns whether all went well then");
        }
        cx->failed = true;
        return;
    }
    if (!cx->c->status) {
        cx->c->status = cu_name_new(cx, "status");
        cu_put(cx, "hdsrt_status %s = %s;", cx->c->status, call);
    } else {
        cu_put(cx, "%s = %s;", cx->c->status, call);
    }
    cu_put(cx, "if (%s != HDSRT_OK)", cx->c->status);
    cx->indent++;
    leave(cx);
    cx->indent--;
}

void cu_c_failed(cu *cx, const char *call)
{
    if (!cx->c->end) {
        cu_put(cx, "return %s;", call);
        return;
    }
    cu_put(cx, "%s = %s;", cx->c->status, call);
    cu_put(cx, "goto %s;", cx->c->end);
}

static void give_back(cu *cx, const ir_stmt *s)
{
    if (s->value)
        cu_put(cx, "return %s;", cu_as(cx, s->value, cx->func->result));
    else if (cx->c->end)
        cu_put(cx, "goto %s;", cx->c->end);
    else
        cu_put(cx, "return HDSRT_OK;");
}

static void check(cu *cx, const ir_stmt *s, const char *failed, const char *message)
{
    if (!gives_status(cx)) {
        cu_c_checked(cx, "");
        return;
    }
    (void)s;
    cu_put(cx, "if (%s) {", failed);
    cx->indent++;
    cu_c_failed(cx, arena_printf(cx->a, "hdsrt_fail(HDSRT_ASSERTION, \"%%s\", \"%s\")", message));
    cx->indent--;
    cu_put(cx, "}");
}

// ---- memory -----------------------------------------------------------------------------------------------------

static int64_t elem_bits(const ir_type *elem)
{
    bool packs = elem->kind != IR_POINTER && dt_is_int(elem->scalar) && dt_is_subbyte(elem->scalar);
    return packs && elem->kind == IR_SCALAR ? dt_bits(elem->scalar) : ir_type_bytes(elem) * 8;
}

// The bits of a fill value, as an unsigned integer.
static const char *pattern(cu *cx, const ir_expr *value, const ir_type *elem)
{
    if (elem->kind != IR_SCALAR || elem->scalar == DT_C64) {
        cu_c_refuse(cx, "such a fill");
        return "0";
    }
    dtype t = elem->scalar;
    int bits = dt_bits(t);
    if (value->op == IR_OP_INT || value->op == IR_OP_FLOAT) {
        uint64_t raw = value->op == IR_OP_INT ? (uint64_t)value->u.i : dt_from_double(t, value->u.f);
        raw &= bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
        for (int have = bits; have < 8; have *= 2)
            raw |= raw << have;
        return raw ? arena_printf(cx->a, "0x%llx", (unsigned long long)raw) : "0";
    }
    if (bits < 8) {
        const char *one = cu_paren(cx, cu_exact(cx, value, true), CU_AND);
        return arena_printf(cx->a, "(uint64_t)(%s & %d) * %d", one, (1 << bits) - 1, 255 / ((1 << bits) - 1));
    }
    if (t == DT_BOOL)
        return cu_as(cx, value, elem);
    dtype raw = bits == 8 ? DT_U8 : bits == 16 ? DT_U16 : bits == 32 ? DT_U32 : DT_U64;
    ir_expr *same = ir_new_expr(cx->m, IR_OP_BITCAST, ir_scalar(cx->m, raw), value->span, 1);
    same->args[0] = (ir_expr *)value;
    return cu_at(cx, same, CU_ASSIGN);
}

static const char *shape_list(cu *cx, const ir_tensor *t)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < t->rank; i++)
        str_addf(&out, "%s%s", i ? ", " : "", cu_c_extent(cx, t->shape[i]));
    return str_text(&out);
}

// The name of a variable that holds the tensor's bytes, or their number.
static const char *bytes_text(cu *cx, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    int64_t bits = elem_bits(t->elem);
    if (t->storage_elems >= 0)
        return arena_printf(cx->a, "%lld", (long long)((t->storage_elems * bits + 7) / 8));
    const char *shape = shape_list(cx, t), *name = cu_name_new(cx, arena_printf(cx->a, "%s_bytes", v->name));
    cu_use(cx, "tensor_bytes");
    cu_put(cx, "int64_t %s = 0;", name);
    cu_c_checked(cx, arena_printf(cx->a, "tensor_bytes(\"%s\", \"%s\", (const int64_t[]){%s}, %d, %lld, &%s)",
                                  cx->c->at->name, v->name, shape, t->rank, (long long)bits, name));
    return name;
}

static void fill_device(cu *cx, const ir_stmt *s, const char *name, const char *bytes)
{
    int64_t size = elem_bits(s->var->tensor->elem) / 8;
    size = size ? size : 1;
    const char *value = pattern(cx, s->value, s->var->tensor->elem);
    const char *count = size == 1 ? bytes : arena_printf(cx->a, "%s / %lld", bytes, (long long)size);
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_fill(%s, %s, %lld, %s, stream)", name, value, (long long)size, count));
}

// In a loop: what the turn before took.
static void release_before(cu *cx, const char *lvalue, bool is_device)
{
    if (is_device)
        cu_put(cx, "%s = hdsrt_release(%s, stream);", cx->c->status, lvalue);
    else
        cu_put(cx, "free(%s);", lvalue);
    cu_put(cx, "%s = NULL;", lvalue);
    if (is_device) {
        cu_put(cx, "if (%s != HDSRT_OK)", cx->c->status);
        cx->indent++;
        leave(cx);
        cx->indent--;
    }
}

static void fill_host(cu *cx, const ir_stmt *s, const char *name)
{
    const ir_tensor *t = s->var->tensor;
    const char *value = cu_as(cx, s->value, t->elem);
    size_t mark = cu_scope_begin(cx);
    const char *i = cu_name_new(cx, "i"), *count = arena_printf(cx->a, "%lld", (long long)t->storage_elems);
    if (t->storage_elems < 0) {
        ir_expr *product = ir_int(cx->m, DT_I64, 1);
        for (int d = 0; d < t->rank; d++)
            product = ir_binary(cx->m, IR_OP_MUL, product, cu_c_wide(cx, t->shape[d]), s->span);
        count = cu_at(cx, product, CU_SHIFT);
    }
    cu_put(cx, "for (int64_t %s = 0; %s < %s; %s++)", i, i, count, i);
    cx->indent++;
    cu_put(cx, "%s[%s] = %s;", name, i, value);
    cx->indent--;
    cu_scope_end(cx, mark);
}

static const char *lvalue_of(cu *cx, const cu_c_slot *slot)
{
    return arena_printf(cx->a, "%s[%d]", slot->is_device ? cx->c->memory : cx->c->buffers, slot->number);
}

// "float *parts = memory[0];  // f32[t]"
static void name_slot(cu *cx, const ir_stmt *s, const char *lvalue)
{
    if (!cx->vars[s->var->id].uses)
        return;
    const char *comment = cu_shape_comment(cx, s->var), *name = cu_declare(cx, s->var);
    cu_put(cx, "%s = %s;  // %s", cu_declarator(cx, s->var->type, name), lvalue, comment);
}

static void alloc_device(cu *cx, const ir_stmt *s, const cu_c_slot *slot)
{
    const char *lvalue = lvalue_of(cx, slot), *bytes = bytes_text(cx, s->var);
    if (slot->is_in_loop)
        release_before(cx, lvalue, true);
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_allocate(&%s, %s, stream)", lvalue, bytes));
    if (s->value)
        fill_device(cx, s, lvalue, bytes);
    name_slot(cx, s, lvalue);
}

static void alloc_buffer(cu *cx, const ir_stmt *s, const cu_c_slot *slot)
{
    const char *lvalue = lvalue_of(cx, slot), *bytes = bytes_text(cx, s->var);
    cu_c_needs(cx, "stdlib.h");
    if (slot->is_in_loop)
        release_before(cx, lvalue, false);
    cu_put(cx, "%s = calloc(1, (size_t)%s + 1);", lvalue, bytes);
    cu_put(cx, "if (!%s) {", lvalue);
    cx->indent++;
    cu_c_failed(cx, arena_printf(cx->a, "hdsrt_fail(HDSRT_OUT_OF_MEMORY, \"'%s': the host has no memory for '%s'\")", cx->c->at->name,
                                 s->var->name));
    cx->indent--;
    cu_put(cx, "}");
    name_slot(cx, s, lvalue);
}

static void alloc(cu *cx, const ir_stmt *s)
{
    const ir_var *v = s->var;
    const cu_c_slot *slot = map_get_ptr(&cx->c->slots, v);
    if (v->tensor->space == IR_HOST && !cu_c_is_native(v->tensor->elem)) {
        cu_c_refuse(cx, "such elements");
        return;
    }
    if (slot && slot->is_device) {
        alloc_device(cx, s, slot);
        return;
    }
    if (slot) {
        alloc_buffer(cx, s, slot);
    } else {
        const char *comment = cu_shape_comment(cx, v), *name = cu_declare(cx, v);
        cu_put(cx, "%s %s[%lld] = {0};  // %s", cu_c_elem(cx, v->tensor->elem), name,
               (long long)(v->tensor->storage_elems ? v->tensor->storage_elems : 1), comment);
    }
    if (s->value)
        fill_host(cx, s, cu_var_name(cx, v));
}

bool cu_c_is_on_stack(const ir_tensor *t)
{
    return t->space == IR_HOST && t->storage_elems >= 0 && t->storage_elems * elem_bits(t->elem) / 8 <= MOST_STACK_BYTES;
}

static void copy(cu *cx, const ir_stmt *s)
{
    const ir_tensor *to = s->args[0]->u.var->tensor, *from = s->args[1]->u.var->tensor;
    const char *target = cu_at(cx, s->args[0], CU_ASSIGN), *source = cu_at(cx, s->args[1], CU_ASSIGN);
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_copy(%s, %s, %lld, stream)", target, source,
                                  (long long)(s->count * elem_bits(to->elem) / 8)));
    // The function's own memory on the host does not outlive it.
    if (to->space == IR_HOST || from->space == IR_HOST)
        cu_c_checked(cx, "hdsrt_synchronize(stream)");
}

// ---- calls ------------------------------------------------------------------------------------------------------

static bool call(cu *cx, const ir_stmt *s)
{
    bool is_call = s->kind == IR_EVAL && s->value->op == IR_OP_CALL && s->value->u.func->kind == IR_HOST_FUNC;
    if (!is_call || s->value->u.func->result->kind != IR_VOID)
        return false;
    cu_line(cx, s->span);
    const char *args = cu_call_args(cx, s->value);
    cu_c_checked(cx, arena_printf(cx->a, "%s(%s%sstream)", cu_func_name(cx, s->value->u.func), args, *args ? ", " : ""));
    return true;
}

// The kernel's own function does the checks and knows the extents.
static void launch(cu *cx, const ir_stmt *s)
{
    str_buf args;
    str_buf_init(&args, cx->a);
    for (int i = 0; i < s->arg_count; i++)
        str_addf(&args, "%s, ", cu_as(cx, s->args[i], s->func->params.at[i]->type));
    cu_c_checked(cx, arena_printf(cx->a, "%s(%sstream)", cu_func_name(cx, s->func), str_text(&args)));
}

const cu_host_dialect cu_host_c = {launch, alloc, copy, give_back, call, check};
