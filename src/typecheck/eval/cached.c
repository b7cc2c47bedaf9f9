// Functions under @cached: each result is evaluated once for equal arguments. Note [cached functions].
//
// Note [cached functions]. Definitions compute the extents of their results from those of operands. Analysis, planning and
// elaboration of one launch evaluate the same again and again. Under @cached the result of a module's function is kept by the
// arguments, if all of these are data: numbers, texts, types, None, tuples and lists of data, and records of modules' classes whose
// fields are data. The result has to be data, too; calls with other arguments or results are evaluated as any. The function runs
// without handlers and makes no code, so that only its arguments tell its result. What it makes is given back: a copy of the
// result lasts. Results are shared, and must not be changed.
#include "typecheck/eval/eval.h"

static bool is_of_module(const tc_class *c)
{
    return !c->decl->type_params.len && c->closure->kind == TC_SCOPE_MODULE;
}

// ---- keys --------------------------------------------------------------------------------------------------------------

static void add_bytes(str_buf *b, const void *at, size_t len)
{
    str_add(b, (str){at, len});
}

static bool add_value(str_buf *b, const tc_value *v);

static bool add_values(str_buf *b, const tc_value *values, size_t len)
{
    add_bytes(b, &len, sizeof len);
    for (size_t i = 0; i < len; i++)
        if (!add_value(b, &values[i]))
            return false;
    return true;
}

// Appends what tells a value from all others; false: it is no data.
static bool add_value(str_buf *b, const tc_value *v)
{
    str_addc(b, (char)v->kind);
    switch (v->kind) {
    case TC_NONE: return true;
    case TC_BOOL: str_addc(b, v->b ? '1' : '0'); return true;
    case TC_INT: add_bytes(b, &v->i, sizeof v->i); return true;
    case TC_FLOAT: add_bytes(b, &v->f, sizeof v->f); return true;
    case TC_TYPE: add_bytes(b, &v->type, sizeof v->type); return true;
    case TC_STR:
        add_bytes(b, &v->s.len, sizeof v->s.len);
        str_add(b, v->s);
        return true;
    case TC_TUPLE:
    case TC_LIST: return add_values(b, v->list->at, v->list->len);
    case TC_RECORD:
        add_bytes(b, &v->record->class->decl, sizeof v->record->class->decl);
        return is_of_module(v->record->class) && add_values(b, v->record->fields, (size_t)v->record->class->field_count);
    default: return false;
    }
}

static bool add_arguments(str_buf *b, const tc_args *args)
{
    for (size_t i = 0; i < args->list.len; i++) {
        add_bytes(b, &args->list.at[i].name, sizeof(sym));
        if (!add_value(b, &args->list.at[i].value))
            return false;
    }
    return true;
}

// ---- results -----------------------------------------------------------------------------------------------------------

static bool copy_values(tc *tx, tc_value *to, const tc_value *from, size_t len);

// A copy in tx->arena; false: it is, or holds, what is no data.
static bool copy_value(tc *tx, tc_value *to, tc_value from)
{
    *to = from;
    switch (from.kind) {
    case TC_NONE:
    case TC_BOOL:
    case TC_INT:
    case TC_FLOAT:
    case TC_TYPE: return true;
    case TC_STR: to->s.at = arena_strndup(tx->arena, from.s.at, from.s.len); return true;
    case TC_TUPLE:
    case TC_LIST: {
        tc_value *items = ARENA_ARRAY(tx->arena, tc_value, from.list->len + 1);
        if (!copy_values(tx, items, from.list->at, from.list->len))
            return false;
        *to = tc_list_new(tx, from.kind, items, from.list->len);
        to->list->region = 0;
        return true;
    }
    case TC_RECORD: {
        const tc_record *r = from.record;
        to->record = arena_dup(tx->arena, r, sizeof *r);
        to->record->born = tx->born;
        to->record->fields = ARENA_ARRAY(tx->arena, tc_value, r->class->field_count + 1);
        return is_of_module(r->class) && !r->elem &&
               copy_values(tx, to->record->fields, r->fields, (size_t)r->class->field_count);
    }
    default: return false;
    }
}

static bool copy_values(tc *tx, tc_value *to, const tc_value *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!copy_value(tx, &to[i], from[i]))
            return false;
    return true;
}

// What the function gives without handlers and code around it.
static tc_value evaluate(tc *tx, tc_function *f, tc_args *args)
{
    const tc_env *env = tx->env;
    ir_func *func = tx->func;
    ir_block *block = tx->block;
    int speculating = tx->speculating;
    tx->env = NULL;
    tx->func = NULL;
    tx->block = NULL;
    tx->speculating = 0;
    tc_value v = tc_call_uncached(tx, f, args);
    tx->env = env;
    tx->func = func;
    tx->block = block;
    tx->speculating = speculating;
    return v;
}

bool tc_call_cached(tc *tx, tc_function *f, tc_args *args, tc_value *result)
{
    str_buf key;
    str_buf_init(&key, tx->arena);
    if (f->self || f->bound_count || !add_arguments(&key, args))
        return false;
    const tc_value *known = map_get(f->facts->results, str_text(&key), key.len);
    if (known) {
        *result = *known;
        return true;
    }
    int errors = tx->diags->error_count;
    tc_lifetime lifetime, around;
    tc_lifetime_begin(tx, &lifetime);
    tc_value v = evaluate(tx, f, args), copy;
    tc_lasting_begin(tx, &around);
    bool is_data = !tx->aborted && tx->diags->error_count == errors && copy_value(tx, &copy, v);
    if (is_data)
        map_put(f->facts->results, str_text(&key), key.len, arena_dup(tx->arena, &copy, sizeof copy));
    tc_lasting_end(tx, &around);
    lifetime.keeps |= !is_data;
    tc_lifetime_end(tx, &lifetime);
    *result = is_data ? copy : v;
    return true;
}

tc_value tc_native_cached(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value f = args->list.at[0].value;
    (void)self;
    bool is_function = f.kind == TC_FUNCTION && f.function->decl && f.function->closure->kind == TC_SCOPE_MODULE;
    if (!is_function)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is cached", "function of a module", tc_describe(tx, f));
    f.function->facts->results = ARENA_NEW(tx->lasting, map);
    map_init(f.function->facts->results, tx->lasting);
    return f;
}
