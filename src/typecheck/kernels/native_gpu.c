// Names of the machine: tensors, views of pointers, raw instruction text, printing, hints.
#include "typecheck/kernels/kernels.h"
#include "typecheck/values/text.h"

#include <string.h>

// ---- tensors -----------------------------------------------------------------------------------------------------

typedef struct tensor_args {
    tc_value dtype, shape, layout, init, align, worker;
} tensor_args;

static tc_value or_none(tc_value *v)
{
    return v ? *v : tc_none();
}

static bool add_shape(tc *tx, tc_tensor_type *t, tc_value v, src_span span)
{
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        for (size_t i = 0; i < v.list->len; i++)
            if (!add_shape(tx, t, v.list->at[i], span))
                return false;
        return true;
    }
    if (!tc_is_index(v) || t->rank == TM_MAX_RANK) {
        tc_error(tx, HDS0181, span, tc_describe(tx, v));
        return false;
    }
    t->shape[t->rank++] = v.kind == TC_BOOL ? tc_of_int(v.b) : v;
    return true;
}

static bool set_layout(tc *tx, tc_tensor_type *t, tc_value where, src_span span)
{
    if (where.kind == TC_MAP)
        t->map = where.map;
    else if (where.kind == TC_LAYOUT && where.layout->kind == TM_LAYOUT_MAPPING)
        t->map = where.layout->map;
    else if (where.kind == TC_LAYOUT)
        t->layout = where.layout;
    else
        return where.kind == TC_NONE || add_shape(tx, t, where, span);
    int rank = t->map ? t->map->rank : t->layout->rank;
    const int64_t *shape = t->map ? t->map->shape : t->layout->shape;
    t->rank = rank;
    for (int i = 0; i < rank; i++)
        t->shape[i] = tc_of_int(shape[i]);
    return true;
}

static bool type_from(tc *tx, const tensor_args *a, ir_space space, tc_tensor_type *t, src_span span)
{
    *t = (tc_tensor_type){.space = space};
    if (a->dtype.kind == TC_TENSOR_TYPE) {
        *t = *a->dtype.tensor_type;
        t->space = space;
        return true;
    }
    dtype named;
    tensor_args by_name = *a;
    if (a->dtype.kind == TC_STR && a->shape.kind != TC_STR &&
        dt_find(a->dtype.s, &named)) { // shared_tensor("float16", …)
        by_name.dtype = tc_type(ir_scalar(tx->ir, named));
        a = &by_name;
    }
    if (a->dtype.kind == TC_STR) {
        diag *d = tc_error(tx, HDS0184, span, "the first argument", "dtype", tc_describe(tx, a->dtype));
        diag_help(d, "the order is (dtype, shape, layout); the memory is chosen by shared_tensor or register_tensor");
        return false;
    }
    bool is_bool = a->dtype.kind == TC_KIND && a->dtype.kind_name == TC_KIND_BOOL;
    if (!is_bool && (a->dtype.kind != TC_TYPE || a->dtype.type->kind == IR_VOID)) {
        tc_error(tx, HDS0184, span, "the element type", "type", tc_describe(tx, a->dtype));
        return false;
    }
    t->elem = is_bool ? ir_scalar(tx->ir, DT_BOOL) : a->dtype.type;
    if (a->shape.kind == TC_NONE && a->layout.kind == TC_NONE) {
        const char *function = space == IR_SHARED     ? "shared_tensor"
                               : space == IR_REGISTER ? "register_tensor"
                                                      : "tensor";
        diag *d = tc_error(tx, HDS0213, span, function, "shape");
        diag_help(d, "give a shape, a layout or a mapping");
        return false;
    }
    if (!set_layout(tx, t, a->shape, span))
        return false;
    if (a->layout.kind != TC_NONE) {
        int rank = t->rank;
        t->rank = a->shape.kind == TC_NONE ? 0 : rank;
        tc_value shape[TM_MAX_RANK];
        memcpy(shape, t->shape, sizeof shape);
        if (!set_layout(tx, t, a->layout, span))
            return false;
        bool agrees = a->shape.kind == TC_NONE || rank == t->rank;
        for (int i = 0; agrees && a->shape.kind != TC_NONE && i < rank; i++)
            agrees = tc_equal(shape[i], t->shape[i]);
        if (!agrees) {
            tc_error(tx, HDS0270, span, tc_text(tx, a->shape), tc_text(tx, a->layout));
            return false;
        }
    }
    return true;
}

// shared_tensor(Record, [n]): one tensor per field, with the leading dimensions in front.
static tc_value record_tensor(tc *tx, const tensor_args *a, src_span span)
{
    const tc_record *model = NULL;
    tc_value made = tc_poison();
    if (a->dtype.kind == TC_RECORD) {
        model = a->dtype.record;
    } else {
        tc_args none = {.span = span};
        made = tc_construct(tx, a->dtype.class, &none);
        if (made.kind != TC_RECORD)
            return made;
        model = made.record;
    }
    tc_record *r = ARENA_NEW(tx->arena, tc_record);
    r->born = tx->born;
    r->class = model->class;
    r->fields = ARENA_ARRAY(tx->arena, tc_value, model->class->field_count + 1);
    for (int i = 0; i < model->class->field_count; i++) {
        tc_value f = model->fields[i];
        tc_tensor_type t = {.space = IR_SHARED};
        if (!add_shape(tx, &t, a->shape, span))
            return tc_poison();
        if (f.kind == TC_TENSOR_TYPE) {
            t.elem = f.tensor_type->elem;
            for (int d = 0; d < f.tensor_type->rank && t.rank < TM_MAX_RANK; d++)
                t.shape[t.rank++] = f.tensor_type->shape[d];
        } else if (f.kind == TC_RT) {
            t.elem = f.rt->type;
        } else if (f.kind == TC_TYPE) {
            t.elem = f.type;
        } else {
            return TC_ERR(tx, HDS0271, span, model->class->fields[i].name->text, tc_describe(tx, f));
        }
        int64_t align = 0;
        tc_as_int64(a->align, &align);
        r->fields[i] = tc_tensor_declare(tx, model->class->fields[i].name->text, &t, IR_VAR_LOCAL, tc_none(),
                                         (int)align, NULL, span);
        if (tc_is_poison(r->fields[i]))
            return tc_poison();
    }
    return (tc_value){.kind = TC_RECORD, .record = r};
}

static tensor_args tensor_arguments(const tc_native *self, tc_args *args)
{
    tensor_args a = {or_none(tc_arg_get(args, self->params, 0)), or_none(tc_arg_get(args, self->params, 1)),
                     or_none(tc_arg_get(args, self->params, 2)), or_none(tc_arg_get(args, self->params, 3)),
                     or_none(tc_arg_get(args, self->params, 4)), or_none(tc_arg_get(args, self->params, 5))};
    return a;
}

static const char *default_name(ir_space space)
{
    return space == IR_SHARED ? "tile" : space == IR_REGISTER ? "regs" : "buffer";
}

static tc_value make_tensor(tc *tx, const tc_native *self, tc_args *args)
{
    ir_space space = (ir_space)self->data;
    tensor_args a = tensor_arguments(self, args);
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (!tx->block)
        return TC_ERR(tx, HDS0104, args->span, self->name);
    if (space != IR_REGISTER && a.init.kind != TC_NONE) {
        diag *d = tc_error(tx, HDS0211, args->span, self->name, "init");
        diag_help(d, "memory begins uninitialised: let the threads write it, and wait for each other");
        return tc_poison();
    }
    bool of_records = a.dtype.kind == TC_CLASS || a.dtype.kind == TC_RECORD;
    if (of_records && space == IR_SHARED)
        return record_tensor(tx, &a, args->span);
    tc_tensor_type t;
    if (!type_from(tx, &a, space, &t, args->span))
        return tc_poison();
    int64_t align = 0;
    if (a.align.kind != TC_NONE &&
        (!tc_as_int64(a.align, &align) || align < 1 || align > 1024 || (align & (align - 1))))
        return TC_ERR(tx, HDS0272, args->span, tc_describe(tx, a.align));
    ir_expr *worker = NULL;
    if (a.worker.kind != TC_NONE && !(worker = tc_to_index(tx, a.worker, args->span)))
        return tc_poison();
    if (worker)
        worker = tc_keep(tx, worker, "worker", args->span);
    tc_value v = tc_tensor_declare(tx, default_name(space), &t, IR_VAR_LOCAL, a.init, (int)align, worker, args->span);
    if (v.kind == TC_TENSOR)
        v.tensor->is_temporary = true; // takes the name it is bound to
    return v;
}

// On the host, what is known of the address of a tensor holds for one made of it, or of one a known number of elements behind
// it; of other pointers, what elements need. In kernels, accesses are not joined where tensors may be the same memory.
static int pointer_align(tc *tx, const ir_expr *p, const ir_type *elem)
{
    int least = (int)ir_type_bytes(elem);
    int64_t offset = 0, count; // in bytes
    if (!tc_on_host(tx))
        return least;
    while (p->op == IR_OP_CAST || p->op == IR_OP_BITCAST || (p->op == IR_OP_ADD && ir_const_int(p->args[1], &count))) {
        if (p->op == IR_OP_ADD)
            offset |= (int64_t)((uint64_t)count * (uint64_t)ir_type_bytes(p->type->elem)); // divisors of all summands divide it
        p = p->args[0];
    }
    if (p->op != IR_OP_ADDR)
        return least;
    for (int i = 0; i < p->arg_count; i++) {
        int64_t index;
        if (!ir_const_int(p->args[i], &index) || index != 0)
            return least;
    }
    int align = tc_align_of_whole(p->u.var->tensor);
    while (align > least && offset % align != 0)
        align /= 2;
    return align > least ? align : least;
}

tc_value tc_pointer_view(tc *tx, tc_value p, const tc_tensor_type *type, src_span span)
{
    tc_tensor_type t = *type;
    ir_space space = p.kind == TC_RT && p.rt->type->kind == IR_POINTER ? p.rt->type->space : IR_GENERIC;
    t.space = space == IR_GENERIC ? IR_GLOBAL : space;
    ir_expr *base = tc_cast(tx, p, ir_pointer(tx->ir, t.elem, space), span);
    if (!base)
        return tc_poison();
    tc_value v = tc_tensor_declare(tx, "view", &t, IR_VAR_GLOBAL, tc_none(), 0, NULL, span);
    if (v.kind != TC_TENSOR)
        return v;
    // A tensor variable with an initialiser: its base pointer.
    v.tensor->base->kind = IR_VAR_LOCAL;
    v.tensor->base->tensor->align_bytes = pointer_align(tx, base, t.elem);
    ir_stmt *s = tc_new_stmt(tx, IR_DECL, span);
    s->var = v.tensor->base;
    s->value = base;
    tc_emit(tx, s);
    v.tensor->is_temporary = true;
    return v;
}

// as_tensor_pointer(pointer, dtype, shape, layout): a view of memory behind a pointer.
static tc_value pointer_view(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value p = or_none(tc_arg_get(args, self->params, 0));
    tensor_args a = {or_none(tc_arg_get(args, self->params, 1)),
                     or_none(tc_arg_get(args, self->params, 2)),
                     or_none(tc_arg_get(args, self->params, 3)),
                     tc_none(),
                     tc_none(),
                     tc_none()};
    if (tc_wants_run_time(tx))
        return tc_poison();
    tc_tensor_type t;
    if (!type_from(tx, &a, IR_GLOBAL, &t, args->span))
        return tc_poison();
    return tc_pointer_view(tx, p, &t, args->span);
}

// tensor_pointer(dtype, shape, layout, init): with init, the view as_tensor_pointer makes; else the type of such a
// view, for a parameter, or for a name that is given a pointer later.
static tc_value tensor_pointer(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value init = or_none(tc_arg_get(args, self->params, 3));
    tensor_args a = tensor_arguments(self, args);
    a.init = a.align = a.worker = tc_none();
    if (init.kind != TC_NONE && tc_wants_run_time(tx))
        return tc_poison();
    tc_tensor_type *t = ARENA_NEW(tx->arena, tc_tensor_type);
    if (!type_from(tx, &a, IR_GLOBAL, t, args->span))
        return tc_poison();
    if (init.kind != TC_NONE)
        return tc_pointer_view(tx, init, t, args->span);
    return (tc_value){.kind = TC_TENSOR_TYPE, .tensor_type = t};
}

// dynamic_shared_memory(byte_offset, dtype): the bytes that attrs.cuda.dynamic_smem_bytes asks for are one shared
// tensor of the kernel, declared where the attribute is assigned.
static tc_value dynamic_bytes(tc *tx, src_span span)
{
    tc_dynamic_smem *d = &tx->dynamic_smem;
    int64_t bytes;
    if (d->func != tx->func || !ir_const_int(d->bytes, &bytes)) {
        diag *e = tc_error(tx, HDS0334, span,
                           d->func != tx->func ? "the kernel has not said how much there is"
                                               : "its size is not known while compiling");
        diag_help(e, "assign attrs.cuda.dynamic_smem_bytes a known number, ahead of this; shared_tensor(dtype, shape) "
                     "needs no number");
        return tc_poison();
    }
    if (d->tensor)
        return (tc_value){.kind = TC_TENSOR, .tensor = d->tensor};
    tc_tensor_type t = {.elem = ir_scalar(tx->ir, DT_U8), .space = IR_SHARED, .rank = 1, .shape = {tc_of_int(bytes)}};
    ir_block *here = tx->block, own = {0};
    tx->block = &own;
    tc_value v =
        tc_tensor_declare(tx, "dynamic_smem", &t, IR_VAR_LOCAL, tc_none(), bytes >= 1024 ? 1024 : 16, NULL, span);
    tx->block = here;
    if (v.kind != TC_TENSOR)
        return v;
    d->alloc = own.stmts.at[0];
    tx->func->dynamic_smem_bytes = NULL; // the tensor is all of it
    d->tensor = v.tensor;
    return v;
}

void tc_allocate_dynamic_smem(tc *tx)
{
    tc_dynamic_smem *d = &tx->dynamic_smem;
    if (d->func != tx->func || !d->alloc)
        return;
    VEC_PUSH(tx->ir->arena, &d->block->stmts, d->alloc);
    ir_stmt **at = d->block->stmts.at;
    memmove(at + d->position + 1, at + d->position, (d->block->stmts.len - 1 - d->position) * sizeof *at);
    at[d->position] = d->alloc;
    d->alloc = NULL;
}

static tc_value dynamic_shared_memory(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value offset = *tc_arg_get(args, self->params, 0), type = *tc_arg_get(args, self->params, 1);
    dtype named;
    if (type.kind == TC_STR && dt_find(type.s, &named))
        type = tc_type(ir_scalar(tx->ir, named));
    if (type.kind != TC_TYPE)
        return TC_ERR(tx, HDS0184, args->span, "the type", "dtype", tc_describe(tx, type));
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (!tx->block || tc_on_host(tx))
        return TC_ERR(tx, HDS0295, args->span, "shared memory");
    tc_value bytes = dynamic_bytes(tx, args->span);
    tc_value p = bytes.kind == TC_TENSOR ? tc_tensor_address(tx, bytes.tensor, &offset, 1, args->span) : bytes;
    if (p.kind != TC_RT)
        return p;
    return tc_rt(tc_pointer_cast(tx, p.rt, ir_pointer(tx->ir, type.type, IR_SHARED), args->span));
}

static bool flag(tc_value *v, bool fallback)
{
    return v && v->kind == TC_BOOL ? v->b : fallback;
}

static const tc_native read_method = {"read", NULL, 1, 3, "indices outside protected", 0};
static const tc_native write_method = {"write", NULL, 2, 3, "indices value protected", 0};

static bool index_list(tc *tx, tc_value v, tc_list *out)
{
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        *out = *v.list;
        return true;
    }
    tc_list_push(tx, out, v);
    return true;
}

static tc_value guarded_read(tc *tx, tc_tensor *t, tc_args *args)
{
    if (!tc_args_check(tx, &read_method, args))
        return tc_poison();
    tc_list idx = {0};
    index_list(tx, *tc_arg_get(args, read_method.params, 0), &idx);
    tc_value *outside = tc_arg_get(args, read_method.params, 1);
    bool is_protected = flag(tc_arg_get(args, read_method.params, 2), true);
    tc_value zero = dt_is_float(t->base->tensor->elem->scalar) ? tc_float(0) : tc_of_int(0);
    if (t->base->tensor->elem->kind == IR_SCALAR && t->base->tensor->elem->scalar == DT_BOOL)
        zero = tc_bool(false);
    return tc_tensor_load(tx, t, idx.at, idx.len, is_protected ? (outside ? outside : &zero) : NULL, args->span);
}

static tc_value guarded_write(tc *tx, tc_tensor *t, tc_args *args)
{
    if (!tc_args_check(tx, &write_method, args))
        return tc_poison();
    tc_list idx = {0};
    index_list(tx, *tc_arg_get(args, write_method.params, 0), &idx);
    bool is_protected = flag(tc_arg_get(args, write_method.params, 2), true);
    bool ok =
        tc_tensor_store(tx, t, idx.at, idx.len, *tc_arg_get(args, write_method.params, 1), is_protected, args->span);
    return ok ? tc_none() : tc_poison();
}

tc_value tc_native_tensor_method(tc *tx, tc_value self, sym name, tc_args *args)
{
    if (strcmp(name->text, "read") == 0)
        return guarded_read(tx, self.tensor, args);
    if (strcmp(name->text, "write") == 0)
        return guarded_write(tx, self.tensor, args);
    if (self.tensor->base->tensor->space == IR_REGISTER) {
        // Everything else about register tensors is library code.
        tc_value f = tc_library(tx, "hidet.lang.registers", name->text, args->span);
        if (tc_is_poison(f))
            return f;
        tc_args with_self = {.span = args->span};
        VEC_PUSH(tx->arena, &with_self.list, ((tc_arg){.name = NULL, .value = self, .span = args->span}));
        for (size_t i = 0; i < args->list.len; i++)
            VEC_PUSH(tx->arena, &with_self.list, args->list.at[i]);
        return tc_call(tx, f, &with_self);
    }
    return TC_ERR(tx, HDS0154, args->span, name->text, tc_describe(tx, self));
}

// ---- statements in the form of calls -----------------------------------------------------------------------------

static tc_value run_static_assert(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value c = *tc_arg_get(args, self->params, 0);
    bool truth;
    src_span span = tc_arg_span(args, self->params, 0);
    if (!tc_truth_of(tx, &c, span, &truth))
        return tc_is_poison(c) ? c : TC_ERR(tx, HDS0136, span, tc_describe(tx, c));
    if (truth)
        return tc_none();
    tc_value *m = tc_arg_get(args, self->params, 1);
    str_buf b;
    str_buf_init(&b, tx->arena);
    if (m)
        tc_to_text(tx, *m, &b);
    else
        str_adds(&b, "the condition does not hold");
    return TC_ERR(tx, HDS0157, span, str_text(&b));
}

// The call in the author's own code that led here, or [here] if there is none.
static src_span span_of_author(const tc *tx, src_span here)
{
    for (const tc_frame *f = tx->frame; f; f = f->caller) {
        const src_file *file = f->call_span.begin ? src_file_at(tx->diags->sources, f->call_span.begin) : NULL;
        if (file && !file->is_builtin)
            return f->call_span;
    }
    return here;
}

// For hidet.lang.plan: a definition that no schedule takes, and why. Nothing is said of the compiler's own code.
static tc_value run_slow_definition(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    if (tx->speculating || tx->analyzes || tx->in_test)
        return tc_none();
    str_buf b;
    str_buf_init(&b, tx->arena);
    tc_to_text(tx, args->list.at[0].value, &b);
    diag *d = tc_error(tx, HDS0789, span_of_author(tx, args->span), str_text(&b));
    diag_help(d, "reduce in nodes of their own, compute([M], lambda i: sum(…)), with operands that are read at all indices in order");
    return tc_none();
}

// has_arch("sm_90"): whether the code being compiled may use what came with that architecture.
static tc_value run_has_arch(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    const arch *needs = tc_arch_of(tx, args->list.at[0].value, args->list.at[0].span);
    return needs ? tc_bool(arch_has(tx->ir->arch, needs)) : tc_poison();
}

// gpu_property("sm_count"): of the GPU that is compiled for.
static tc_value run_gpu_property(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    const arch *a = tx->ir->arch;
    const gpu_model *g = tx->options->gpu ? tx->options->gpu : gpu_of_arch(a);
    tc_value v = args->list.at[0].value;
    const struct {
        str name;
        int64_t value;
    } rows[] = {
        {STR("sm_count"), g->sm_count},
        {STR("l2_bytes"), g->l2_bytes},
        {STR("memory_gbps"), g->memory_gbps},
        {STR("shared_memory_of_block"), a->smem_per_block},
        {STR("shared_memory_of_sm"), a->smem_per_sm},
        {STR("registers_of_sm"), a->registers_per_sm},
        {STR("threads_of_sm"), 32 * a->warps_per_sm},
        {STR("blocks_of_sm"), a->blocks_per_sm},
    };
    if (v.kind == TC_STR && str_equal(v.s, STR("name")))
        return tc_str(str_of(g->name));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (v.kind == TC_STR && str_equal(v.s, rows[i].name))
            return tc_of_int((tc_int)rows[i].value);
    }
    str_buf known;
    str_buf_init(&known, tx->arena);
    str_adds(&known, "name");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        str_addf(&known, ", %.*s", (int)rows[i].name.len, rows[i].name.at);
    return TC_ERR(tx, HDS0185, args->list.at[0].span, "a property of the GPU", str_text(&known), tc_describe(tx, v));
}

static tc_value run_assume(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value c = args->list.at[0].value;
    bool truth;
    if (tc_truth(c, &truth)) {
        if (!truth)
            return TC_ERR(tx, HDS0157, args->span, "the assumption does not hold");
        return tc_none();
    }
    ir_expr *e = tc_condition(tx, c, args->list.at[0].span);
    if (!e)
        return tc_poison();
    ir_stmt *s = tc_new_stmt(tx, IR_ASSUME, args->span);
    s->value = e;
    tc_emit(tx, s);
    return tc_none();
}

static tc_value run_comment(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value v = args->list.at[0].value;
    if (v.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->span, "the comment", "str", tc_describe(tx, v));
    if (!tx->block)
        return tc_none();
    ir_stmt *s = tc_new_stmt(tx, IR_COMMENT, args->span);
    s->text = arena_strndup(tx->ir->arena, v.s.at, v.s.len);
    tc_emit(tx, s);
    return tc_none();
}

static tc_value run_text(tc *tx, const tc_native *self, tc_args *args)
{
    return tc_instruction_text(tx, self->data == 1, args);
}

static tc_value run_print(tc *tx, const tc_native *self, tc_args *args)
{
    return tc_print(tx, args, self->data == 1);
}

// ---- conversions -------------------------------------------------------------------------------------------------

// view(pointer, T[shape]): as_tensor_pointer(pointer, T, shape); of a tensor, from its first element on.
static tc_value view_with_shape(tc *tx, tc_value v, const tc_tensor_type *type, src_span span)
{
    bool is_pointer = v.kind == TC_RT && v.rt->type->kind == IR_POINTER;
    if (!is_pointer && v.kind != TC_TENSOR)
        return TC_ERR(tx, HDS0273, span, tc_describe(tx, v));
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (v.kind == TC_TENSOR)
        v = tc_tensor_address(tx, v.tensor, NULL, 0, span);
    return tc_is_poison(v) ? v : tc_pointer_view(tx, v, type, span);
}

static tc_value run_cast(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value v = *tc_arg_get(args, self->params, 0), t = *tc_arg_get(args, self->params, 1);
    if (t.kind == TC_TENSOR_TYPE && self->data)
        return view_with_shape(tx, v, t.tensor_type, args->span);
    if (t.kind != TC_TYPE)
        return TC_ERR(tx, HDS0184, args->span, "the type", "type", tc_describe(tx, t));
    if (!self->data) {
        ir_expr *e = tc_cast(tx, v, t.type, args->span);
        return e ? tc_rt(e) : tc_poison();
    }
    ir_expr *e = v.kind == TC_TENSOR
                     ? tc_cast(tx, v, ir_pointer(tx->ir, v.tensor->base->tensor->elem, v.tensor->base->tensor->space),
                               args->span)
                     : tc_default_rt(tx, v, args->span);
    if (!e)
        return tc_poison();
    bool pointers = e->type->kind == IR_POINTER || t.type->kind == IR_POINTER;
    if (!pointers && ir_type_bytes(e->type) != ir_type_bytes(t.type))
        return TC_ERR(tx, HDS0274, args->span, tc_text(tx, tc_type(e->type)), tc_text(tx, t));
    if (pointers && t.type->kind == IR_POINTER && e->type->kind == IR_POINTER && t.type->space == IR_GENERIC)
        return tc_rt(tc_pointer_cast(tx, e, ir_pointer(tx->ir, t.type->elem, e->type->space), args->span));
    if (pointers)
        return tc_rt(tc_pointer_cast(tx, e, t.type, args->span));
    ir_expr *cast = ir_new_expr(tx->ir, IR_OP_BITCAST, t.type, args->span, 1);
    cast->args[0] = e;
    return tc_rt(cast);
}

static tc_value run_address(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value v = args->list.at[0].value;
    if (v.kind == TC_TENSOR)
        return tc_tensor_address(tx, v.tensor, NULL, 0, args->span);
    if (v.kind == TC_RT && v.rt->op == IR_OP_LOAD && !(v.rt->flags & IR_GUARDED))
        return tc_rt(ir_addr(tx->ir, v.rt->u.var, v.rt->args, v.rt->arg_count, args->span));
    return TC_ERR(tx, HDS0275, args->span, tc_describe(tx, v));
}

static tc_value run_deref(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value zero = tc_of_int(0), p = args->list.at[0].value;
    if (args->list.len == 2 && args->list.at[1].value.kind == TC_TYPE && p.kind == TC_RT) {
        ir_space space = p.rt->type->kind == IR_POINTER ? p.rt->type->space : IR_GENERIC;
        ir_expr *e = tc_cast(tx, p, ir_pointer(tx->ir, args->list.at[1].value.type, space), args->span);
        if (!e)
            return tc_poison();
        p = tc_rt(e);
    }
    return tc_index_value(tx, p, &zero, 1, args->span);
}

static tc_value run_vectorize(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value t = *tc_arg_get(args, self->params, 0);
    int64_t n;
    if (t.kind != TC_TYPE || t.type->kind != IR_SCALAR || !tc_as_int64(*tc_arg_get(args, self->params, 1), &n) ||
        n < 1 || n > 16 || (n & (n - 1)))
        return TC_ERR(tx, HDS0276, args->span);
    return tc_type(ir_vector(tx->ir, t.type->scalar, (int)n));
}

static tc_value run_grid(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_grid *g = ARENA_NEW(tx->arena, tc_grid);
    g->extents = ARENA_ARRAY(tx->arena, tc_value, TM_MAX_RANK);
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (a->name && strcmp(a->name->text, "bind_tuple") == 0) {
            g->as_tuple = a->value.kind == TC_BOOL && a->value.b;
        } else if (a->value.kind == TC_STR) {
            g->attrs = arena_strndup(tx->arena, a->value.s.at, a->value.s.len);
        } else if (a->value.kind == TC_LIST || a->value.kind == TC_TUPLE) {
            for (size_t k = 0; k < a->value.list->len && g->rank < TM_MAX_RANK; k++)
                g->extents[g->rank++] = a->value.list->at[k];
            g->as_tuple = true;
        } else if ((tc_is_index(a->value) || tc_has_index(tx, a->value)) && g->rank < TM_MAX_RANK) {
            g->extents[g->rank++] = tc_as_index(tx, a->value, a->span);
        } else {
            return TC_ERR(tx, HDS0113, a->span, tc_describe(tx, a->value));
        }
    }
    if (!g->rank)
        return TC_ERR(tx, HDS0213, args->span, "grid", "extent");
    return (tc_value){.kind = TC_GRID, .grid = g};
}

static tc_value run_decorator(tc *tx, const tc_native *self, tc_args *args)
{
    return TC_ERR(tx, HDS0277, args->span, self->name);
    (void)tx;
}

const tc_native tc_native_gpu[] = {
    {"shared_tensor", make_tensor, 1, 5, "dtype shape layout init align", IR_SHARED},
    {"register_tensor", make_tensor, 1, 6, "dtype shape layout init align worker", IR_REGISTER},
    {"tensor", make_tensor, 1, 5, "dtype shape layout init align", IR_GLOBAL},
    {"tensor_map", tc_native_tensor_map, 2, 4, "tensor box swizzle l2_promotion", 0},
    {"im2col_map", tc_native_im2col_map, 5, 8, "tensor pixels channels lower upper steps swizzle l2_promotion", 0},
    {"strided", tc_native_strided, 2, 3, "tensor_type strides align", 0},
    {"at_least", tc_native_at_least, 1, 2, "least type", 0},
    {"as_tensor_pointer", pointer_view, 2, 4, "pointer dtype shape layout", 0},
    {"tensor_pointer", tensor_pointer, 1, 4, "dtype shape layout init", 0},
    {"dynamic_shared_memory", dynamic_shared_memory, 2, 2, "byte_offset dtype", 0},
    {"static_assert", run_static_assert, 1, 2, "condition message", 0},
    {"slow_definition", run_slow_definition, 1, 1, "why", 0},
    {"assume", run_assume, 1, 1, "condition", 0},
    {"__builtin_assume", run_assume, 1, 1, "condition", 0},
    {"comment", run_comment, 1, 1, "text", 0},
    {"asm", tc_native_asm, 1, 6, "template outputs output_inputs inputs is_volatile memory_fence", 0},
    {"assign", tc_native_assign, 2, 2, "reference value", 0},
    {"ptx", run_text, 1, 1, "text", 1},
    {"cuda", run_text, 1, 1, "text", 0},
    {"printf", run_print, 1, -1, NULL, 1},
    {"print", run_print, 0, -1, NULL, 0},
    {"cast", run_cast, 2, 2, "value type", 0},
    {"view", run_cast, 2, 2, "value type", 1},
    {"bitcast", run_cast, 2, 2, "value type", 1},
    {"address", run_address, 1, 1, "value", 0},
    {"deref", run_deref, 1, 2, "pointer type", 0},
    {"vectorize", run_vectorize, 2, 2, "dtype lanes", 0},
    {"compute", tc_native_compute, 2, 2, "shape element", 0},
    {"share", tc_native_share, 1, -1, NULL, 0},
    {"is_shared", tc_native_is_shared, 1, -1, NULL, 0},
    {"launch_once", tc_native_launch_once, 5, 5, "schedule definition operands results how", 0},
    {"note_choice", tc_native_note_choice, 1, 1, "facts", 0},
    {"note_passed_over", tc_native_note_passed_over, 3, 3, "row, candidates, why", 0},
    {"launch_together", tc_native_launch_together, 1, -1, NULL, 0},
    {"has_arch", run_has_arch, 1, 1, "name", 0},
    {"gpu_property", run_gpu_property, 1, 1, "name", 0},
    {"analyze", tc_native_analyze, 1, 1, "f", 0},
    {"control_region", tc_native_control_region, 0, 0, NULL, 0},
    {"with_handler", tc_native_with_handler, 2, -1, NULL, 0},
    {"cached", tc_native_cached, 1, 1, "f", 0},
    {"defined_in", tc_native_defined_in, 1, 1, "f", 0},
    {"call_site", tc_native_call_site, 0, 0, "", 0},
    {"extent", tc_native_extent, 1, 1, "n", 0},
    {"within", tc_native_within, 2, 2, "text f", 0},
    {"in_test_code", tc_native_in_test_code, 0, 0, NULL, 0},
    {"run_graph", tc_native_run_graph, 4, 4, "graph args named reference", 0},
    {"test_weight", tc_native_test_weight, 3, 3, "file name type", 0},
    {"weights", tc_native_weights, 0, 1, "file", 0},
    {"find_weight", tc_native_find_weight, 3, 3, "file name type", 0},
    {"weight_names", tc_native_weight_names, 2, 2, "file prefix", 0},
    {"perform", tc_native_perform, 2, -1, NULL, 0},
    {"operator", tc_native_operator, 1, 1, "definition", 0},
    {"takes_attributes", tc_native_takes_attributes, 3, 3, "operator args named", 0},
    {"attribute_defaults", tc_native_attribute_defaults, 1, 1, "operator", 0},
    {"fits_parameters", tc_native_fits_parameters, 2, 2, "function values", 0},
    {"parameter_names", tc_native_parameter_names, 1, 1, "operator", 0},
    {"is_schedule", tc_native_is_schedule, 3, 3, "schedule epilogue prologue", 0},
    {"grid", run_grid, 1, -1, NULL, 0},
    {"instruction", run_decorator, 0, -1, NULL, 0},
    {"test", run_decorator, 0, -1, NULL, 0},
    {"script", run_decorator, 0, -1, NULL, 0},
    {"spatial", tc_native_mapping, 0, -1, NULL, 0},
    {"row_spatial", tc_native_mapping, 0, -1, NULL, 0},
    {"col_spatial", tc_native_mapping, 0, -1, NULL, 1},
    {"repeat", tc_native_mapping, 0, -1, NULL, 2},
    {"row_repeat", tc_native_mapping, 0, -1, NULL, 2},
    {"col_repeat", tc_native_mapping, 0, -1, NULL, 3},
    {"spatial_map", tc_native_mapping_map, 1, 2, "shape ranks", 0},
    {"repeat_map", tc_native_mapping_map, 1, 3, "shape ranks attrs", 2},
    {"auto_map", tc_native_auto_map, 1, -1, NULL, 0},
    {"predicated_auto_map", tc_native_auto_map, 1, -1, NULL, 1},
    {"chain", tc_native_chain, 1, -1, NULL, 0},
    {"row_major", tc_native_layout, 0, -1, NULL, 0},
    {"column_major", tc_native_layout, 0, -1, NULL, 1},
    {"local_layout", tc_native_layout, 0, -1, NULL, 2},
    {"strided_layout", tc_native_strided_layout, 1, 3, "shape ranks strides", 0},
    {"register_layout", tc_native_register_layout, 1, 1, "mapping", 0},
    {0},
};
