// How entries lay out the axes of `*S`: which of them stand for any number of axes.
#include "typecheck/operators/operators_priv.h"

#include <string.h>

bool tc_is_present(const tc_operator *o, const tc_entry_layout *l, size_t param)
{
    int number = 0;
    for (size_t i = 0; i < param; i++)
        number += o->schema.params.at[i].is_optional;
    const op_param *p = &o->schema.params.at[param];
    return p->role == OP_OPERAND && !(p->is_optional && l->omitted >> number & 1);
}

const char *tc_axis_name(tc *tx, const tc_operator *o, const tc_entry_layout *l, size_t variadic, int axis)
{
    const char *name = o->joined.at[variadic]->text;
    return l->ranks[variadic] > 1 || l->is_given[variadic] ? arena_printf(tx->lasting, "%s%d", name, axis) : name;
}

// How many axes of `*S` the arrays of a run have; 0: none says.
static int rank_of_arrays(tc *tx, const tc_operator *o, sym name)
{
    for (size_t i = 0; i < o->schema.params.len; i++) {
        const op_tensor *t = &o->schema.params.at[i].tensor;
        const tc_operand_type *given = tc_operand_of_run(tx, o->schema.params.at[i].name);
        for (size_t k = 0; given && given->has_shape && k < t->axes.len; k++)
            if (t->axes.at[k].is_many && strcmp(t->axes.at[k].extent, name->text) == 0)
                return given->rank - (int)t->axes.len + 1;
    }
    return 0;
}

// -D S=4 gives the entries of operators that are not elementwise that number of axes; 0: there is none. An operand
// whose axes the signature does not name, which is an array of the run, may be broadcast along any of them: the entry has those
// that the arrays have.
static int given_rank(tc *tx, const tc_operator *o, sym name)
{
    tc_value v;
    if (!tc_defined(tx, name, &v)) {
        int rank = o->has_array ? rank_of_arrays(tx, o, name) : 0;
        return rank >= 1 && rank <= TM_MAX_RANK ? rank : 0;
    }
    if (v.kind == TC_INT && v.i >= 1 && v.i <= TM_MAX_RANK)
        return (int)v.i;
    if (!tc_is_poison(v))
        tc_error(tx, HDS0186, (src_span){0}, arena_printf(tx->arena, "'%s'", name->text),
                 arena_printf(tx->arena, "1 to %d axes", TM_MAX_RANK), tc_describe(tx, v));
    return 0;
}

// Axes of an entry for `*S`, of which one stands for any number of them: ranks and that one. The first that is right is
// taken.
static const struct shape {
    int rank, joined;
} shapes[] = {{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 2}, {3, 1}, {4, 0}, {4, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// Extents that are tried in turn, up to one that the definition takes for some shape. An extent of 1 is often special.
static const int known_extents[] = {4, 32, 8, 2, 3, 5, 7, 64, 1};

static void set_shape(const tc_operator *o, tc_entry_layout *l, const struct shape *shape)
{
    for (size_t i = 0; i < o->joined.len; i++)
        if (l->joined[i] >= 0) {
            l->ranks[i] = shape->rank;
            l->joined[i] = shape->joined;
        }
}

// With these types, the first shape that is right; NO: none is, UNKNOWN: the definition cannot be elaborated.
static tc_collapse choose_with(tc *tx, const tc_operator *o, tc_entry_layout *l, const dtype *types)
{
    bool is_out[SHAPES] = {false}, is_wrong = false;
    for (size_t e = 0; e < sizeof known_extents / sizeof *known_extents; e++)
        for (size_t i = 0; i < SHAPES; i++) {
            if (is_out[i])
                continue;
            set_shape(o, l, &shapes[i]);
            tc_collapse found = tc_may_collapse(tx, o, l, types, known_extents[e]);
            if (found == TC_COLLAPSE_YES)
                return TC_COLLAPSE_YES;
            is_out[i] = found == TC_COLLAPSE_NO;
            is_wrong |= is_out[i];
        }
    return is_wrong ? TC_COLLAPSE_NO : TC_COLLAPSE_UNKNOWN;
}

// A definition may use the axes of `*S` apart, as `softmax(x)` does with the last one. Then that one is an axis of the
// entry, beside one for all others; see Note [collapsed axes]. False: no entry is known to be right for any number of
// axes.
static bool choose_shape(tc *tx, tc_operator *o, tc_entry_layout *l)
{
    bool any = false;
    for (size_t i = 0; i < o->joined.len; i++)
        any |= l->joined[i] >= 0;
    if (!any || o->is_by_element)
        return true;
    size_t count = o->types.len, most = 1;
    tc_dtype_list *wanted = ARENA_ARRAY(tx->arena, tc_dtype_list, count + 1);
    for (size_t i = 0; i < count; i++) {
        wanted[i] = tc_wanted_types(tx, o, op_find_symbol(&o->schema, o->types.at[i]->text));
        most = wanted[i].len > most ? wanted[i].len : most;
        if (!wanted[i].len)
            return true; // it has no entries
    }
    // The types of entries, one after the other, up to those that the definition takes. Several parameters change
    // together.
    tc_collapse found = TC_COLLAPSE_UNKNOWN;
    dtype *types = ARENA_ARRAY(tx->arena, dtype, count + 1);
    for (size_t k = 0; k < most && found == TC_COLLAPSE_UNKNOWN; k++) {
        for (size_t i = 0; i < count; i++)
            types[i] = wanted[i].at[k % wanted[i].len];
        found = choose_with(tx, o, l, types);
    }
    if (found != TC_COLLAPSE_UNKNOWN)
        return found == TC_COLLAPSE_YES;
    // What only results tell (where a split is, the axes of a constant) is not known here. Kernels that the author
    // launches are taken at their word. The planner's are compiled for the errors of the definition, and refused.
    set_shape(o, l, &shapes[0]);
    o->is_unproven = !tc_own_schedule(tx, o->value);
    return true;
}

bool tc_is_asked_for(const tc *tx, const tc_operator *o)
{
    bool is = !tx->options->entry_count;
    for (int i = 0; i < tx->options->entry_count; i++)
        is |= strncmp(tx->options->entries[i], o->schema.name, strlen(o->schema.name)) == 0;
    return is;
}

const char *tc_many_axes(tc *tx, const tc_operator *o)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    str_adds(&out, "what it computes depends on the number of axes: fix it by");
    for (size_t i = 0; i < o->joined.len; i++)
        str_addf(&out, " -D %s=2", o->joined.at[i]->text);
    return str_text(&out);
}

bool tc_lay_out(tc *tx, tc_operator *o, tc_entry_layout *l)
{
    *l = (tc_entry_layout){0};
    for (size_t i = 0; i < o->joined.len; i++) {
        int given = given_rank(tx, o, o->joined.at[i]);
        bool is_joined = !given || o->is_by_element;
        l->is_given[i] = given > 0;
        l->ranks[i] = is_joined ? 1 : given;
        l->joined[i] = is_joined ? 0 : -1;
    }
    o->is_unproven = false;
    // Others are not looked at closely, which takes time.
    if (tc_is_asked_for(tx, o) && !choose_shape(tx, o, l)) {
        o->schema.no_entry = tc_many_axes(tx, o);
        return false;
    }
    o->joined_axes.len = 0;
    for (size_t i = 0; i < o->joined.len; i++)
        VEC_PUSH(tx->arena, &o->joined_axes, l->joined[i] >= 0 ? tc_axis_name(tx, o, l, i, l->joined[i]) : "");
    return true;
}
