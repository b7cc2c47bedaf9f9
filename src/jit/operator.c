// Operators over all types that a program has them for: which entry tensors are for is libhdsrt's to find, as for generated
// C (src/cuda_emit/c_operator.c).

#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

// ---- what there is ---------------------------------------------------------------------------------------------

static bool is_tensor(const jit_parameter *p)
{
    return p->shown.kind == HDS_TENSOR;
}

// Arguments are what comes before the sizes.
static int argument_count(const jit_function *f)
{
    return f->entry.count - f->entry.size_count;
}

static int operand_count(const jit_function *f)
{
    return f->entry.tensor_count;
}

static bool is_instance(const jit_function *f, const char *name, bool is_strided)
{
    return f->operator && f->is_strided == is_strided && strcmp(f->operator, name) == 0;
}

// The first of those that have all operands: other instances lack optional ones.
static const jit_function *first_of(const jit_program *p, const char *name)
{
    const jit_function *first = NULL;
    for (int i = 0; i < p->function_count; i++) {
        const jit_function *f = &p->functions[i];
        if (is_instance(f, name, false) && (!first || operand_count(f) > operand_count(first)))
            first = f;
    }
    return first;
}

static int find_operand(const jit_function *f, const char *name)
{
    for (int i = 0; i < argument_count(f); i++) {
        if (is_tensor(&f->entry.parameters[i]) && strcmp(f->entry.parameters[i].shown.name, name) == 0)
            return i;
    }
    return -1;
}

// Where the arguments of [g] stand among those of [f]: operands by name, numbers by order. NULL: they are others.
static const int *operand_indices_of(arena *a, const jit_function *f, const jit_function *g)
{
    int *indices = ARENA_ARRAY(a, int, argument_count(g) + 1), number = 0;
    for (int i = 0; i < argument_count(g); i++) {
        const jit_parameter *own = &g->entry.parameters[i];
        if (is_tensor(own)) {
            indices[i] = find_operand(f, own->shown.name);
            if (indices[i] < 0)
                return NULL;
            continue;
        }
        while (number < argument_count(f) && is_tensor(&f->entry.parameters[number]))
            number++;
        if (number == argument_count(f) || strcmp(f->entry.parameters[number].shown.dtype, own->shown.dtype) != 0)
            return NULL;
        indices[i] = number++;
    }
    return indices;
}

static bool add_instances(arena *a, const jit_program *p, bool is_strided, jit_operator *o)
{
    for (int i = 0; i < p->function_count; i++) {
        const jit_function *g = &p->functions[i];
        if (!is_instance(g, o->entry->launch.name, is_strided))
            continue;
        const int *indices = operand_indices_of(a, o->first, g);
        if (!indices)
            return false;
        o->operand_indices[o->instance_count + o->strided_count] = indices;
        o->functions[o->instance_count + o->strided_count] = g;
        o->strided_count += is_strided;
        o->instance_count += !is_strided;
    }
    return true;
}

static void set_operands(arena *a, jit_operator *o)
{
    const jit_function *f = o->first;
    hdsrt_operand *operands = ARENA_ARRAY(a, hdsrt_operand, operand_count(f));
    hdsrt_dtype *types = ARENA_ARRAY(a, hdsrt_dtype, operand_count(f) * o->instance_count);
    for (int i = 0, t = 0; i < argument_count(f); i++) {
        const jit_parameter *v = &f->entry.parameters[i];
        if (!is_tensor(v))
            continue;
        int before = v->joined ? v->joined - 1 : 0, after = v->joined ? v->shown.ndim - v->joined : 0;
        operands[t] = (hdsrt_operand){v->shown.name, (uint8_t)before, (uint8_t)after, (uint8_t)v->join_group,
                                      v->shown.is_written, v->is_result};
        for (int k = 0; k < o->instance_count; k++) {
            const jit_kernel *g = &o->functions[k]->entry;
            int own = find_operand(o->functions[k], v->shown.name);
            types[k * operand_count(f) + t] = own < 0 ? (hdsrt_dtype){0, 0} : g->rules[g->parameters[own].tensor].dtype;
        }
        t++;
    }
    o->operands = operands;
    o->types = types;
}

// Called with the name of the operator instead of an entry's, and without sizes.
static jit_kernel *entry_of(arena *a, const jit_function *f)
{
    jit_kernel *k = ARENA_NEW(a, jit_kernel);
    *k = f->entry;
    k->launch.symbol = k->launch.name = k->title = f->operator;
    k->count = argument_count(f);
    k->size_count = 0;
    return k;
}

void jit_find_operators(arena *a, jit_program *p)
{
    p->operators = ARENA_ARRAY(a, jit_operator, p->function_count + 1);
    for (int i = 0; i < p->function_count; i++) {
        const jit_function *f = &p->functions[i];
        if (!f->operator || f->is_strided || first_of(p, f->operator) != f || operand_count(f) > JIT_MOST_OPERANDS ||
            argument_count(f) > JIT_MOST_ARGUMENTS)
            continue;
        jit_operator *o = &p->operators[p->operator_count];
        *o = (jit_operator){.first = f, .entry = entry_of(a, f)};
        o->functions = ARENA_ARRAY(a, const jit_function *, p->function_count);
        o->operand_indices = ARENA_ARRAY(a, const int *, p->function_count);
        if (!add_instances(a, p, false, o) || !add_instances(a, p, true, o))
            continue;
        // By element, each type has both.
        if (o->strided_count && o->strided_count != o->instance_count)
            continue;
        set_operands(a, o);
        p->operator_count++;
    }
}

// ---- calls -----------------------------------------------------------------------------------------------------

static hdsrt_status take_tensors(const jit_operator *o, const hds_argument *arguments, size_t count, jit_choice *c)
{
    const jit_kernel *k = o->entry;
    if (count != (size_t)k->count || !arguments)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': it takes %d arguments, not %zu", k->launch.name, k->count, count);
    for (int i = 0, t = 0; i < k->count; i++) {
        if (!is_tensor(&k->parameters[i]))
            continue;
        if (arguments[i].kind != HDS_ARG_TENSOR)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' takes a tensor, whose type and shape say what is called",
                              k->launch.name, k->parameters[i].shown.name);
        c->tensors[t++] = arguments[i].value.tensor;
    }
    return HDSRT_OK;
}

static hdsrt_status choose(const jit_operator *o, const hdsrt_tensor *const *tensors, hdsrt_stream stream, jit_choice *c,
                           int *instance)
{
    const char *name = o->entry->launch.name;
    int count = operand_count(o->first);
    int instances = o->instance_count;
    if (o->strided_count)
        return hdsrt_choose_by_element(name, o->operands, o->types, count, instances, tensors, c->joined, instance);
    return hdsrt_choose_instance(name, o->operands, o->types, count, instances, tensors, stream, c->joined, instance);
}

static bool is_row_major(const hdsrt_tensor *t)
{
    int64_t step = 1;
    for (int d = t->ndim - 1; t->shape && t->strides && d >= 0; d--) {
        if (t->shape[d] != 1 && t->strides[d] != step)
            return false;
        step = (int64_t)((uint64_t)step * (uint64_t)t->shape[d]);
    }
    return true;
}

// In host memory nothing is copied: the tensors are chosen for without their addresses, which libhdsrt would align.
static hdsrt_status choose_on_host(const jit_operator *o, jit_choice *c, int *instance)
{
    hdsrt_tensor plain[JIT_MOST_OPERANDS];
    const hdsrt_tensor *tensors[JIT_MOST_OPERANDS] = {NULL};
    for (int i = 0; i < operand_count(o->first); i++) {
        if (!c->tensors[i])
            continue;
        plain[i] = *c->tensors[i];
        plain[i].data = NULL;
        plain[i].byte_offset = 0;
        tensors[i] = &plain[i];
        if (!o->strided_count && !is_row_major(&plain[i]))
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has gaps between its elements, or another order than row by "
                              "row, and is not copied for the simulator", o->entry->launch.name, o->operands[i].name);
    }
    hdsrt_status status = choose(o, tensors, NULL, c, instance);
    for (int i = 0; !status && i < operand_count(o->first); i++) {
        if (!c->tensors[i])
            continue;
        c->joined[i].tensor.data = c->tensors[i]->data;
        c->joined[i].tensor.byte_offset = c->tensors[i]->byte_offset;
    }
    return status;
}

hdsrt_status jit_choose(const jit_operator *o, const hds_argument *arguments, size_t count, jit_purpose purpose,
                        hdsrt_stream stream, jit_choice *c)
{
    int instance = 0, operand_of[JIT_MOST_ARGUMENTS];
    memset(c, 0, sizeof *c);
    hdsrt_status status = take_tensors(o, arguments, count, c);
    if (!status)
        status = purpose == JIT_TO_LAUNCH ? choose(o, c->tensors, stream, c, &instance) : choose_on_host(o, c, &instance);
    if (status)
        return status;
    for (int i = 0, t = 0; i < o->entry->count; i++)
        operand_of[i] = is_tensor(&o->entry->parameters[i]) ? t++ : -1;
    c->function = o->functions[instance];
    c->count = (size_t)argument_count(c->function);
    for (size_t i = 0; i < c->count; i++) {
        int from = o->operand_indices[instance][i];
        c->arguments[i] = operand_of[from] < 0 ? arguments[from] : hds_tensor(&c->joined[operand_of[from]].tensor);
    }
    return HDSRT_OK;
}

hdsrt_status jit_call_operator(const jit_operator *o, const hds_argument *arguments, size_t count, hdsrt_stream stream)
{
    jit_choice *c = malloc(sizeof *c);
    if (!c)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for its arguments", o->entry->launch.name);
    hdsrt_status status = jit_choose(o, arguments, count, JIT_TO_LAUNCH, stream, c);
    if (!status) {
        status = jit_call(c->function, c->arguments, c->count, stream);
        if (!o->strided_count)
            status = hdsrt_finish_instance(o->operands, operand_count(o->first), c->tensors, c->joined, status, stream);
    }
    free(c);
    return status;
}
