// Values as text: repr() and str() of programs, and what messages call a value.
#include "typecheck/values/character.h"
#include "typecheck/values/text.h"

#include <string.h>

void tc_int_text(tc_int i, str_buf *out)
{
    char digits[48];
    int at = sizeof digits;
    bool negative = i < 0;
    unsigned __int128 rest = negative ? -(unsigned __int128)i : (unsigned __int128)i;
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (negative)
        digits[--at] = '-';
    str_add(out, (str){digits + at, sizeof digits - (size_t)at});
}

static void repr_char(str s, char quote, str_buf *out)
{
    int code = tc_char_code(s);
    if (code == quote || code == '\\')
        str_addf(out, "\\%c", code);
    else if (code == '\n' || code == '\t' || code == '\r')
        str_adds(out, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r");
    else if (tc_char_is(code, CHARACTER_PRINTABLE))
        str_add(out, (str){s.at, tc_char_len(s)});
    else
        str_addf(out, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
}

static void repr_str(str s, str_buf *out)
{
    char quote = memchr(s.at ? s.at : "", '\'', s.len) && !memchr(s.at, '"', s.len) ? '"' : '\'';
    str_addc(out, quote);
    for (size_t i = 0; i < s.len;) {
        str rest = {s.at + i, s.len - i};
        repr_char(rest, quote, out);
        i += tc_char_len(rest);
    }
    str_addc(out, quote);
}

static void repr(tc *tx, tc_value v, bool calls, str_buf *out);

static void repr_items(tc *tx, const tc_list *list, bool calls, str_buf *out)
{
    for (size_t i = 0; i < list->len; i++) {
        if (i)
            str_adds(out, ", ");
        repr(tx, list->at[i], calls, out);
    }
}

static void repr_sizes(tc *tx, const tc_value *sizes, int count, str_buf *out)
{
    for (int i = 0; i < count; i++) {
        if (i)
            str_adds(out, ", ");
        if (sizes[i].kind == TC_RT)
            ir_print_expr(sizes[i].rt, out);
        else
            tc_repr(tx, sizes[i], out);
    }
}

void tc_tensor_type_text(tc *tx, const tc_tensor_type *t, str_buf *out)
{
    if (t->is_strided)
        str_adds(out, "strided(");
    if (t->space == IR_SHARED)
        str_adds(out, "shared ");
    if (t->record)
        str_adds(out, t->record->name->text);
    else
        ir_type_print(t->elem, out);
    str_addc(out, '[');
    if (t->map)
        tm_print(t->map, out);
    else
        repr_sizes(tx, t->shape, t->rank, out);
    str_addc(out, ']');
    if (!t->is_strided)
        return;
    str_adds(out, ", [");
    repr_sizes(tx, t->strides, t->rank, out);
    str_addc(out, ']');
    if (t->align > ir_type_bytes(t->elem))
        str_addf(out, ", align=%d", t->align);
    str_addc(out, ')');
}

static const tc_tensor_type *type_of_tensor(tc *tx, const tc_tensor *t)
{
    tc_tensor_type *type = ARENA_NEW(tx->arena, tc_tensor_type);
    *type = (tc_tensor_type){
        .elem = t->base->tensor->elem, .space = t->base->tensor->space, .rank = t->rank, .map = t->map};
    memcpy(type->shape, t->shape, sizeof type->shape);
    type->is_strided = t->base->tensor->is_strided && tc_strides_of(tx, t, type->strides);
    return type;
}

static void repr_class(tc *tx, const tc_class *c, str_buf *out)
{
    str_adds(out, c->name->text);
    if (!c->bound_count)
        return;
    str_addc(out, '[');
    for (int i = 0; i < c->bound_count; i++) {
        if (i)
            str_adds(out, ", ");
        tc_repr(tx, c->bound_values[i], out);
    }
    str_addc(out, ']');
}

static void repr_dict(tc *tx, const tc_dict *d, bool calls, str_buf *out)
{
    str_addc(out, '{');
    for (size_t i = 0; i < d->keys.len; i++) {
        if (i)
            str_adds(out, ", ");
        repr(tx, d->keys.at[i], calls, out);
        str_adds(out, ": ");
        repr(tx, d->values.at[i], calls, out);
    }
    str_addc(out, '}');
}

static void repr_range(const tc_range *r, str_buf *out)
{
    str_adds(out, "range(");
    tc_int_text(r->start, out);
    str_adds(out, ", ");
    tc_int_text(r->stop, out);
    if (r->step != 1) {
        str_adds(out, ", ");
        tc_int_text(r->step, out);
    }
    str_addc(out, ')');
}

static void repr_namespace(tc_namespace ns, str_buf *out)
{
    static const char *const names[] = {
        [TC_NS_ATTRS] = "attrs",   [TC_NS_ATTRS_CUDA] = "attrs.cuda", [TC_NS_ATTR] = "attr",
        [TC_NS_META] = "meta",     [TC_NS_HIDET] = "hidet",           [TC_NS_CLUSTER] = "this_cluster",
        [TC_NS_TID] = "threadIdx", [TC_NS_BID] = "blockIdx",          [TC_NS_BDIM] = "blockDim",
        [TC_NS_GDIM] = "gridDim"};
    str_addf(out, "'%s'", names[ns]);
}

static void repr_scope_name(ir_scope scope, str_buf *out)
{
    static const char *const names[] = {"thread", "warp", "warpgroup", "block", "cluster", "gpu"};
    str_adds(out, names[scope]);
}

static bool repr_scalar(tc_value v, str_buf *out)
{
    switch (v.kind) {
    case TC_POISON:
        str_adds(out, "<error>");
        return true;
    case TC_NONE:
        str_adds(out, "None");
        return true;
    case TC_BOOL:
        str_adds(out, v.b ? "True" : "False");
        return true;
    case TC_INT:
        tc_int_text(v.i, out);
        return true;
    case TC_FLOAT:
        tc_float_text(v.f, out);
        return true;
    case TC_STR:
        repr_str(v.s, out);
        return true;
    case TC_ELLIPSIS:
        str_adds(out, "...");
        return true;
    default:
        return false;
    }
}

static bool repr_container(tc *tx, tc_value v, bool calls, str_buf *out)
{
    switch (v.kind) {
    case TC_TUPLE:
        str_addc(out, '(');
        repr_items(tx, v.list, calls, out);
        str_adds(out, v.list->len == 1 ? ",)" : ")");
        return true;
    case TC_LIST:
        str_addc(out, '[');
        repr_items(tx, v.list, calls, out);
        str_addc(out, ']');
        return true;
    case TC_SET:
        str_adds(out, v.list->len ? "{" : "set(");
        repr_items(tx, v.list, calls, out);
        str_adds(out, v.list->len ? "}" : ")");
        return true;
    case TC_DICT:
        repr_dict(tx, v.dict, calls, out);
        return true;
    case TC_RANGE:
        repr_range(v.range, out);
        return true;
    default:
        return false;
    }
}

static bool repr_type(tc *tx, tc_value v, str_buf *out)
{
    switch (v.kind) {
    case TC_TYPE:
        ir_type_print(v.type, out);
        return true;
    case TC_TENSOR_TYPE:
        tc_tensor_type_text(tx, v.tensor_type, out);
        return true;
    case TC_KIND:
        str_adds(out, tc_kind_texts[v.kind_name]);
        return true;
    case TC_REFERENCE:
        str_adds(out, v.type ? "ref_u32" : "references");
        return true;
    case TC_AT_LEAST:
        str_addf(out, "at_least(%lld%s)", (long long)v.at_least->least, v.at_least->type == DT_I64 ? ", i64" : "");
        return true;
    case TC_MAP:
        tm_print(v.map, out);
        return true;
    case TC_LAYOUT:
        tm_layout_print(v.layout, out);
        return true;
    default:
        return false;
    }
}

// What stands for itself: functions, modules, classes and the compiler's own names.
static bool repr_name(tc *tx, tc_value v, str_buf *out)
{
    switch (v.kind) {
    case TC_FUNCTION:
        str_adds(out, tc_function_title(tx, v.function));
        return true;
    case TC_NATIVE:
        str_adds(out, v.native->name);
        return true;
    case TC_METHOD:
        str_addf(out, "<method '%s'>", v.method->name->text);
        return true;
    case TC_MODULE:
        str_addf(out, "<module '%s'>", v.module->path);
        return true;
    case TC_CLASS:
        repr_class(tx, v.class, out);
        return true;
    case TC_NAMESPACE:
        repr_namespace(v.ns, out);
        return true;
    case TC_SPACE:
        str_adds(out, ir_space_name(v.space));
        return true;
    case TC_SCOPE_NAME:
        repr_scope_name(v.scope_name, out);
        return true;
    default:
        return false;
    }
}

static void repr_run_time(tc *tx, tc_value v, bool calls, str_buf *out)
{
    switch (v.kind) {
    case TC_RT:
        ir_print_expr(v.rt, out);
        break;
    case TC_TENSOR_MAP:
        str_adds(out, v.tensor_map->name);
        break;
    case TC_TENSOR:
        tc_tensor_type_text(tx, type_of_tensor(tx, v.tensor), out);
        break;
    case TC_RECORD:
        if (calls && tc_record_text(tx, v, true, out))
            break;
        repr_class(tx, v.record->class, out);
        str_adds(out, "(…)");
        break;
    case TC_TASKS:
        str_adds(out, "<tasks>");
        break;
    case TC_GRID:
        str_adds(out, "<grid>");
        break;
    default:
        break;
    }
}

// With [calls], the text of records is what their '__repr__' returns.
static void repr(tc *tx, tc_value v, bool calls, str_buf *out)
{
    if (!repr_scalar(v, out) && !repr_container(tx, v, calls, out) && !repr_type(tx, v, out) && !repr_name(tx, v, out))
        repr_run_time(tx, v, calls, out);
}

void tc_repr(tc *tx, tc_value v, str_buf *out)
{
    repr(tx, v, false, out);
}

void tc_program_repr(tc *tx, tc_value v, str_buf *out)
{
    repr(tx, v, true, out);
}

void tc_to_text(tc *tx, tc_value v, str_buf *out)
{
    if (v.kind == TC_STR)
        str_add(out, v.s);
    else if (v.kind != TC_RECORD || !tc_record_text(tx, v, false, out))
        repr(tx, v, true, out);
}

const char *tc_text(tc *tx, tc_value v)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    tc_repr(tx, v, &b);
    enum { LONGEST = 120 };
    const char *text = str_text(&b);
    return b.len <= LONGEST ? text : arena_printf(tx->arena, "%.*s…", LONGEST, text);
}

// Kinds that a message calls by the kind alone.
static const char *const kind_alone[] = {
    [TC_NONE] = "None",
    [TC_TUPLE] = "a tuple",
    [TC_LIST] = "a list",
    [TC_SET] = "a set",
    [TC_DICT] = "a dict",
    [TC_RANGE] = "a range",
    [TC_TASKS] = "the tasks of a worker",
    [TC_GRID] = "a grid of loops",
};

// Kinds that a message calls by the kind and the value's text, in quotes where it is a name.
static const struct {
    const char *before, *after;
} around_text[] = {
    [TC_BOOL] = {"the bool ", ""},     [TC_INT] = {"the int ", ""},
    [TC_FLOAT] = {"the float ", ""},   [TC_STR] = {"the string ", ""},
    [TC_TYPE] = {"the type ", ""},     [TC_TENSOR_TYPE] = {"the tensor type ", ""},
    [TC_KIND] = {"the kind '", "'"},   [TC_MAP] = {"the mapping ", ""},
    [TC_LAYOUT] = {"the layout ", ""}, [TC_FUNCTION] = {"the function '", "'"},
    [TC_CLASS] = {"the class '", "'"}, [TC_TENSOR] = {"a tensor ", ""},
};

static const char *describe_run_time(tc *tx, const ir_type *type)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_adds(&b, "a run-time ");
    ir_type_print(type, &b);
    return str_text(&b);
}

static const tc_value *field_of(const tc_record *r, const char *name)
{
    for (int i = 0; i < r->class->field_count; i++)
        if (strcmp(r->class->fields[i].name->text, name) == 0)
            return &r->fields[i];
    return NULL;
}

// A record that stands for a tensor as one, by its extents and its type; any other by its class.
static const char *describe_record(tc *tx, tc_value v)
{
    const tc_value *shape = field_of(v.record, "shape");
    const tc_value *type = field_of(v.record, "dtype");
    if (!shape || shape->kind != TC_TUPLE || !type || type->kind != TC_TYPE)
        return arena_printf(tx->arena, "a record of class '%s'", v.record->class->name->text);
    str_buf out;
    str_buf_init(&out, tx->arena);
    str_addf(&out, "a tensor %s[", tc_text(tx, *type));
    for (size_t i = 0; i < shape->list->len; i++)
        str_addf(&out, "%s%s", i ? ", " : "", tc_text(tx, shape->list->at[i]));
    str_adds(&out, shape->list->len ? "]" : "()]");
    return str_text(&out);
}

const char *tc_describe(tc *tx, tc_value v)
{
    size_t kind = v.kind;
    if (kind < sizeof kind_alone / sizeof *kind_alone && kind_alone[kind])
        return kind_alone[kind];
    if (kind < sizeof around_text / sizeof *around_text && around_text[kind].before)
        return arena_printf(tx->arena, "%s%s%s", around_text[kind].before, tc_text(tx, v), around_text[kind].after);
    switch (v.kind) {
    case TC_NATIVE:
        return arena_printf(tx->arena, "the built-in '%s'", v.native->name);
    case TC_METHOD:
        return arena_printf(tx->arena, "the method '%s'", v.method->name->text);
    case TC_MODULE:
        return arena_printf(tx->arena, "the module '%s'", v.module->path);
    case TC_RT:
        return describe_run_time(tx, v.rt->type);
    case TC_TENSOR_MAP:
        return arena_printf(tx->arena, "the tensor map '%s'", v.tensor_map->name);
    case TC_RECORD:
        return describe_record(tx, v);
    default:
        return tc_text(tx, v);
    }
}
