// Reads the interface document. It comes from the compiler or from a file, so it is untrusted input: everything is
// validated.

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

// Replaces Jansson's stdin inside libhds (src/api/CMakeLists.txt): never read.
extern FILE *jit_no_input;
FILE *jit_no_input;

// Jansson may silently drop a character when out of memory, so its allocations are monitored.
static _Thread_local bool ran_out;

static void *watched_malloc(size_t size)
{
    void *memory = malloc(size);
    ran_out |= !memory;
    return memory;
}

static void watch_jansson(void)
{
    json_set_alloc_funcs(watched_malloc, free);
}

typedef struct reader {
    arena *arena;
    const char *kernel;  // the kernel or host function being read; NULL: none
    bool is_function;
    const char *why;
} reader;

__attribute__((format(printf, 2, 3))) static bool fail(reader *r, const char *format, ...)
{
    if (r->why)
        return false;
    va_list args;
    va_start(args, format);
    const char *what = arena_vprintf(r->arena, format, args);
    va_end(args);
    r->why = r->kernel ? arena_printf(r->arena, "%s '%s': %s", r->is_function ? "function" : "kernel", r->kernel, what) : what;
    return false;
}

// ---- members of objects ----------------------------------------------------------------------------------------

// NULL on failure. Strings with a NUL character are rejected.
static const char *text_of(reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value)) {
        fail(r, "'%s' is not text", key);
        return NULL;
    }
    return arena_strdup(r->arena, json_string_value(value));
}

// A string, or NULL if it is null or missing.
static const char *optional_text(reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value) ? NULL : text_of(r, object, key);
}

static bool is_set(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static bool integer_of(reader *r, const json_t *object, const char *key, int64_t least, int64_t most, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return fail(r, "'%s' is not an integer", key);
    *out = json_integer_value(value);
    return (*out >= least && *out <= most) || fail(r, "'%s' is %lld", key, (long long)*out);
}

// ---- expressions -----------------------------------------------------------------------------------------------

typedef struct names {
    const char **at;
    int count;
} names;

static bool expr_of(reader *r, const json_t *value, const names *n, const char *what, jit_expr *out)
{
    *out = (jit_expr){.kind = JIT_EXPR_UNKNOWN};
    if (json_is_null(value))
        return true;
    if (json_is_integer(value)) {
        out->kind = JIT_EXPR_NUMBER;
        out->number = json_integer_value(value);
        return true;
    }
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return fail(r, "'%s' is neither a number nor a text", what);
    const char *text = arena_strdup(r->arena, json_string_value(value)), *why = NULL;
    return jit_expr_compile(r->arena, text, n->at, n->count, out, &why) ||
           fail(r, "'%s' cannot be read, %s: '%s'", what, why, text);
}

static bool three_exprs(reader *r, const json_t *object, const char *key, const names *n, jit_expr out[3])
{
    const json_t *list = json_object_get(object, key);
    if (json_array_size(list) != 3)
        return fail(r, "'%s' is not a list of three", key);
    for (size_t i = 0; i < 3; i++) {
        if (!expr_of(r, json_array_get(list, i), n, key, &out[i]))
            return false;
    }
    return true;
}

// ---- parameters ------------------------------------------------------------------------------------------------

static bool kind_of(reader *r, const char *text, hds_parameter_kind *out)
{
    static const char *const kinds[] = {
        [HDS_SCALAR] = "scalar", [HDS_TENSOR] = "tensor", [HDS_POINTER] = "pointer", [HDS_SIZE] = "size"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], text) == 0) {
            *out = (hds_parameter_kind)i;
            return true;
        }
    }
    return fail(r, "there is no kind '%s' of parameters", text);
}

// "f16", "f32x4". Other element types (pointers) are only known to have 8 bytes.
static void read_type(const char *text, dtype *type, int *lanes)
{
    const char *x = strrchr(text, 'x');
    *type = DT_NONE;
    *lanes = 0;
    if (dt_find(str_of(text), type))
        return;
    bool is_vector = x && x[1] >= '1' && x[1] <= '9' && strlen(x) <= 3 && strspn(x + 1, "0123456789") == strlen(x + 1);
    if (!is_vector || !dt_find((str){text, (size_t)(x - text)}, type))
        return;
    for (const char *c = x + 1; *c; c++)
        *lanes = *lanes * 10 + (*c - '0');
}

static int bytes_of(const jit_parameter *p)
{
    if (p->shown.kind == HDS_TENSOR || p->shown.kind == HDS_POINTER)
        return 8;
    int bits = dt_bits(p->type);
    return p->lanes ? (p->lanes * bits + 7) / 8 : bits < 8 ? 1 : bits / 8;
}

static bool check_type(reader *r, const jit_parameter *p)
{
    switch (p->shown.kind) {
    case HDS_SCALAR:
        return p->type != DT_NONE || fail(r, "'%s' has the unknown type '%s'", p->shown.name, p->shown.dtype);
    case HDS_SIZE:
        return (!p->lanes && (p->type == DT_I32 || p->type == DT_I64)) ||
               fail(r, "size '%s' has the type '%s'", p->shown.name, p->shown.dtype);
    case HDS_TENSOR:
    case HDS_POINTER: break;
    }
    return true;
}

// Missing facts default to those of the type.
static bool read_facts(reader *r, const json_t *object, jit_parameter *p)
{
    p->min = INT64_MIN;
    p->max = INT64_MAX;
    p->divisor = 1;
    return (!json_object_get(object, "min") || integer_of(r, object, "min", INT64_MIN, INT64_MAX, &p->min)) &&
           (!json_object_get(object, "max") || integer_of(r, object, "max", INT64_MIN, INT64_MAX, &p->max)) &&
           (!json_object_get(object, "multiple_of") || integer_of(r, object, "multiple_of", 1, INT64_MAX, &p->divisor));
}

static bool read_parameter(reader *r, const json_t *object, jit_parameter *p)
{
    const char *kind = text_of(r, object, "kind");
    p->shown.name = text_of(r, object, "name");
    p->shown.dtype = text_of(r, object, "dtype");
    p->tensor = -1;
    if (!kind || !p->shown.name || !p->shown.dtype || !kind_of(r, kind, &p->shown.kind))
        return false;
    p->shown.is_written = is_set(object, "written");
    p->may_be_zero = is_set(object, "may_be_zero");
    p->is_result = is_set(object, "result");
    read_type(p->shown.dtype, &p->type, &p->lanes);
    p->bytes = bytes_of(p);
    return check_type(r, p) && read_facts(r, object, p);
}

static const char *expr_text(reader *r, const jit_expr *expr)
{
    if (expr->kind == JIT_EXPR_UNKNOWN)
        return "?";
    return expr->text ? expr->text : arena_printf(r->arena, "%lld", (long long)expr->number);
}

// A vector element adds one dimension.
static bool read_shape(reader *r, const json_t *object, const names *n, jit_parameter *parameters, jit_parameter *p)
{
    const json_t *shape = json_object_get(object, "shape");
    size_t rank = json_array_size(shape), all = rank + (p->lanes > 0);
    int64_t alignment = 0;
    if (!json_is_array(shape) || all > JIT_MAX_RANK)
        return fail(r, "the shape of '%s' is not a list of at most %d", p->shown.name, JIT_MAX_RANK);
    if (!integer_of(r, object, "alignment", 1, 1 << 20, &alignment) || (alignment & (alignment - 1)))
        return fail(r, "the alignment of '%s' is not a power of two", p->shown.name);
    jit_expr *exprs = ARENA_ARRAY(r->arena, jit_expr, all);
    const char **texts = ARENA_ARRAY(r->arena, const char *, all);
    for (size_t i = 0; i < rank; i++) {
        if (!expr_of(r, json_array_get(shape, i), n, p->shown.name, &exprs[i]))
            return false;
    }
    if (p->lanes) {
        exprs[rank] = (jit_expr){.kind = JIT_EXPR_NUMBER, .number = p->lanes};
        p->shown.dtype = dt_name(p->type);
    }
    for (size_t i = 0; i < all; i++) {
        texts[i] = expr_text(r, &exprs[i]);
        if (exprs[i].kind == JIT_EXPR_NAME)
            parameters[exprs[i].number].is_extent = true;
    }
    p->shape = exprs;
    p->shown.shape = texts;
    p->shown.ndim = (int)all;
    p->shown.alignment = (uint32_t)alignment;
    return true;
}

// Strides of its own, or none. Vectors have none.
static bool read_strides(reader *r, const json_t *object, const names *n, jit_parameter *p)
{
    const json_t *strides = json_object_get(object, "strides");
    if (!strides || json_is_null(strides))
        return true;
    if (json_array_size(strides) != (size_t)p->shown.ndim || p->lanes || !json_is_array(strides))
        return fail(r, "the strides of '%s' are not a list of %d", p->shown.name, p->shown.ndim);
    jit_expr *exprs = ARENA_ARRAY(r->arena, jit_expr, p->shown.ndim);
    const char **texts = ARENA_ARRAY(r->arena, const char *, p->shown.ndim);
    for (int i = 0; i < p->shown.ndim; i++) {
        if (!expr_of(r, json_array_get(strides, (size_t)i), n, p->shown.name, &exprs[i]))
            return false;
        texts[i] = expr_text(r, &exprs[i]);
    }
    p->strides = exprs;
    p->shown.strides = texts;
    return true;
}

static hdsrt_tensor_rule rule_of(const jit_parameter *p)
{
    static const hdsrt_dtype address = {1, 64};  // unsigned
    return (hdsrt_tensor_rule){
        .name = p->shown.name,
        .dtype = p->type == DT_NONE ? address : jit_dlpack_type(p->type),
        .ndim = (uint8_t)p->shown.ndim,
        .is_written = p->shown.is_written,
        .alignment = p->shown.alignment,
    };
}

// How an operand of an operator accepts tensors with more axes.
static bool read_joined(reader *r, const json_t *object, jit_parameter *p)
{
    int64_t joined = 0, group = 0;
    if (!json_object_get(object, "joined"))
        return true;
    if (!integer_of(r, object, "joined", 0, p->shown.ndim - 1, &joined) || !integer_of(r, object, "group", 1, UINT8_MAX, &group))
        return false;
    p->joined = (int)joined + 1;
    p->join_group = (int)group;
    return true;
}

static bool read_tensors(reader *r, const json_t *list, const names *n, jit_kernel *k)
{
    hdsrt_tensor_rule *rules = ARENA_ARRAY(r->arena, hdsrt_tensor_rule, k->count);
    for (int i = 0; i < k->count; i++) {
        jit_parameter *p = &k->parameters[i];
        if (p->shown.kind != HDS_TENSOR)
            continue;
        if (!read_shape(r, json_array_get(list, (size_t)i), n, k->parameters, p) ||
            !read_strides(r, json_array_get(list, (size_t)i), n, p) || !read_joined(r, json_array_get(list, (size_t)i), p))
            return false;
        p->tensor = k->tensor_count;
        p->first_extent = k->extent_count;
        rules[k->tensor_count++] = rule_of(p);
        k->extent_count += p->shown.ndim;
    }
    k->rules = rules;
    return true;
}

// Trailing sizes are optional. The captures of a launched function follow the sizes.
static void count_sizes(jit_kernel *k)
{
    for (int i = k->count; i > 0 && k->parameters[i - 1].shown.kind == HDS_SIZE; i--)
        k->size_count++;
}

static bool read_parameters(reader *r, const json_t *object, names *n, jit_kernel *k)
{
    const json_t *list = json_object_get(object, "parameters");
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > JIT_MAX_PARAMETERS)
        return fail(r, "'parameters' is not a list of at most %d", JIT_MAX_PARAMETERS);
    k->parameters = ARENA_ARRAY(r->arena, jit_parameter, count);
    k->count = (int)count;
    n->at = ARENA_ARRAY(r->arena, const char *, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_parameter(r, json_array_get(list, i), &k->parameters[i]))
            return false;
        n->at[n->count++] = k->parameters[i].shown.name;
    }
    count_sizes(k);
    return read_tensors(r, list, n, k);
}

static bool read_assumptions(reader *r, const json_t *object, const names *n, jit_kernel *k)
{
    const json_t *list = json_object_get(object, "assumptions");
    k->assumption_count = (int)json_array_size(list);
    jit_expr *exprs = ARENA_ARRAY(r->arena, jit_expr, k->assumption_count);
    for (int i = 0; i < k->assumption_count; i++) {
        const json_t *text = json_array_get(list, (size_t)i);
        if (!json_is_string(text))
            return fail(r, "'assumptions' has an element that is not text");
        if (!expr_of(r, text, n, "assumptions", &exprs[i]))
            return false;
    }
    k->assumptions = exprs;
    return true;
}

// ---- tensor maps -----------------------------------------------------------------------------------------------

static int find_tensor(const jit_kernel *k, const char *name)
{
    for (int i = 0; i < k->count; i++) {
        if (k->parameters[i].tensor >= 0 && strcmp(k->parameters[i].shown.name, name) == 0)
            return i;
    }
    return -1;
}

// Numbers of each spatial axis; the runtime checks them.
static bool read_walk(reader *r, const json_t *walk, jit_map *out)
{
    const json_t *lower = json_object_get(walk, "lower"), *upper = json_object_get(walk, "upper");
    const json_t *steps = json_object_get(walk, "steps");
    size_t axes = out->tiling.ndim >= 3 ? (size_t)out->tiling.ndim - 2 : 0;
    if (!axes || json_array_size(lower) != axes || json_array_size(upper) != axes || json_array_size(steps) != axes)
        return fail(r, "'im2col' of '%s' has not a number for each spatial axis", out->tensor);
    out->is_im2col = true;
    out->im2col.pixels = out->tiling.box[axes];
    out->im2col.channels = out->tiling.box[axes + 1];
    for (size_t i = 0; i < axes; i++) {
        json_int_t low = json_integer_value(json_array_get(lower, i)), high = json_integer_value(json_array_get(upper, i));
        json_int_t step = json_integer_value(json_array_get(steps, i));
        if (low < INT16_MIN || low > INT16_MAX || high < INT16_MIN || high > INT16_MAX || step < 1 || step > UINT16_MAX)
            return fail(r, "a number in 'im2col' of '%s' is out of range", out->tensor);
        out->im2col.lower[i] = (int32_t)low;
        out->im2col.upper[i] = (int32_t)high;
        out->tiling.steps[i + 1] = (uint32_t)step;
    }
    return true;
}

static bool read_map(reader *r, const json_t *object, const jit_kernel *k, jit_map *out)
{
    const json_t *box = json_object_get(object, "box");
    int64_t swizzle = 0, l2_bytes = 0;
    out->tensor = text_of(r, object, "tensor");
    out->parameter = out->tensor ? find_tensor(k, out->tensor) : -1;
    if (out->parameter < 0)
        return fail(r, "'tensor_maps' has one of no tensor");
    if (!integer_of(r, object, "swizzle", 0, 128, &swizzle) ||
        !integer_of(r, object, "l2_promotion", 0, 256, &l2_bytes))
        return false;
    const jit_parameter *p = &k->parameters[out->parameter];
    const size_t most = sizeof out->tiling.box / sizeof *out->tiling.box;
    if (json_array_size(box) != (size_t)p->shown.ndim || json_array_size(box) > most)
        return fail(r, "the box of '%s' has %zu dimensions", out->tensor, json_array_size(box));
    out->tiling = (hdsrt_tiling){.dtype = k->rules[p->tensor].dtype, .ndim = (uint8_t)p->shown.ndim};
    out->tiling.swizzle_bytes = (uint8_t)swizzle;
    out->tiling.l2_bytes = (uint16_t)l2_bytes;
    for (size_t i = 0; i < json_array_size(box); i++) {
        json_int_t extent = json_integer_value(json_array_get(box, i));
        out->tiling.box[i] = extent > 0 && extent <= UINT32_MAX ? (uint32_t)extent : 0;
    }
    return !json_object_get(object, "im2col") || read_walk(r, json_object_get(object, "im2col"), out);
}

static bool read_maps(reader *r, const json_t *object, jit_kernel *k)
{
    const json_t *list = json_object_get(object, "tensor_maps");
    if (json_array_size(list) > JIT_MAX_PARAMETERS)
        return fail(r, "'tensor_maps' has more than %d", JIT_MAX_PARAMETERS);
    k->map_count = (int)json_array_size(list);
    jit_map *maps = ARENA_ARRAY(r->arena, jit_map, k->map_count);
    for (int i = 0; i < k->map_count; i++) {
        if (!read_map(r, json_array_get(list, (size_t)i), k, &maps[i]))
            return false;
    }
    k->maps = maps;
    return true;
}

// ---- kernels ---------------------------------------------------------------------------------------------------

// A cluster of constant extents is part of the machine code; a cluster of 1 block is no cluster.
static bool read_cluster(reader *r, const json_t *object, const names *n, jit_kernel *k)
{
    const json_t *cluster = json_object_get(object, "cluster");
    if (!cluster || json_is_null(cluster))
        return true;
    k->has_cluster = k->is_cluster_fixed = true;
    if (!three_exprs(r, object, "cluster", n, k->cluster))
        return false;
    for (int i = 0; i < 3; i++)
        k->is_cluster_fixed = k->is_cluster_fixed && k->cluster[i].kind == JIT_EXPR_NUMBER;
    return true;
}

static size_t frame_bytes_of(const jit_kernel *k)
{
    size_t parameters = (size_t)k->count, tensors = (size_t)k->tensor_count, maps = (size_t)k->map_count;
    return parameters * (sizeof(jit_value) + sizeof(uint64_t)) + (parameters + maps) * sizeof(void *) +
           tensors * sizeof(hdsrt_strided_value) + 2 * (size_t)k->extent_count * sizeof(int64_t) +
           (maps ? (maps + 1) * sizeof(hdsrt_tensor_map) : 0);
}

// Above 48 KiB a kernel must opt in to its dynamic shared memory, with a driver call.
static uint32_t flags_of(const json_t *object, const jit_kernel *k)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    json_int_t own = json_integer_value(json_object_get(object, "static_shared_bytes"));
    const jit_expr *wish = &k->dynamic_smem_bytes;
    bool is_small = wish->kind == JIT_EXPR_NUMBER && own >= 0 && own <= WITHOUT_ASKING && wish->number >= 0 &&
                    wish->number <= WITHOUT_ASKING - own;
    return (is_small ? 0 : HDSRT_LARGE_SHARED) | (is_set(object, "dependent_launch") ? HDSRT_DEPENDENT_LAUNCH : 0);
}

static bool read_kernel(reader *r, const json_t *object, jit_program *p, jit_kernel *k)
{
    names n = {0};
    r->kernel = NULL;
    k->launch.symbol = text_of(r, object, "name");
    if (!k->launch.symbol)
        return false;
    r->kernel = k->launch.symbol;
    k->title = text_of(r, object, "title");
    k->doc = optional_text(r, object, "doc");
    k->launch.name = k->launch.symbol;
    k->launch.library = &p->library;
    if (!k->title || !read_parameters(r, object, &n, k))
        return false;
    bool ok = read_assumptions(r, object, &n, k) && read_maps(r, object, k) &&
              three_exprs(r, object, "grid", &n, k->grid) && three_exprs(r, object, "block", &n, k->block) &&
              read_cluster(r, object, &n, k) &&
              expr_of(r, json_object_get(object, "dynamic_shared_bytes"), &n, "dynamic_shared_bytes",
                        &k->dynamic_smem_bytes);
    k->launch.flags = flags_of(object, k);
    k->frame_bytes = frame_bytes_of(k);
    return ok && !r->why;
}

// ---- host functions --------------------------------------------------------------------------------------------

// Whether a value of a plan belongs to a parameter. Of vectors and complex numbers it is the address.
static bool is_passed(const jit_parameter *p, plan_type t)
{
    bool is_address = p->shown.kind == HDS_TENSOR || p->shown.kind == HDS_POINTER || jit_is_by_address(p);
    return is_address ? t == DT_NONE : p->type == t;
}

// What is read at an address of the host has to be a parameter of the plan, of the same type.
static bool is_argument(const jit_function *f, const jit_parameter *p, int node)
{
    const plan_node *n = &f->plan.nodes.at[node];
    bool is_own = n->op == IR_OP_VAR && n->u.value < f->plan.parameter_count;
    const jit_parameter *own = is_own ? &f->entry.parameters[n->u.value] : NULL;
    if (jit_is_by_address(p))
        return own && jit_is_by_address(own) && own->type == p->type && own->lanes == p->lanes;
    return is_passed(p, n->type);
}

static bool resolve_launch(reader *r, jit_program *p, jit_function *f, const plan_stmt *s, jit_kernel **out)
{
    for (int i = 0; i < p->count && !*out; i++)
        *out = strcmp(p->kernels[i].launch.symbol, s->text) == 0 ? &p->kernels[i] : NULL;
    if (!*out)
        return fail(r, "its plan launches '%s', and there is no such kernel", s->text);
    bool fits = s->arg_count == (*out)->count;
    for (int i = 0; i < s->arg_count && fits; i++)
        fits = is_argument(f, &(*out)->parameters[i], s->args[i]);
    return fits || fail(r, "its plan launches '%s' with other arguments than it takes", s->text);
}

static bool read_plan(reader *r, const json_t *object, jit_program *p, jit_function *f)
{
    const json_t *lines = json_object_get(object, "lines");
    const char *why = NULL;
    int64_t version = 0;
    str_buf text;
    str_buf_init(&text, r->arena);
    if (!integer_of(r, object, "version", PLAN_VERSION, PLAN_VERSION, &version))
        return false;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (!json_is_string(line) || strlen(json_string_value(line)) != json_string_length(line))
            return fail(r, "its plan has a line that is not text");
        str_adds(&text, json_string_value(line));
        str_addc(&text, '\n');
    }
    if (!plan_read(r->arena, (str){str_text(&text), text.len}, &f->plan, &why))
        return fail(r, "its plan cannot be read: %s", why);
    bool fits = f->plan.parameter_count == f->entry.count;
    for (int i = 0; i < f->entry.count && fits; i++)
        fits = is_passed(&f->entry.parameters[i], f->plan.values.at[i].type);
    if (!fits)
        return fail(r, "its plan has other parameters");
    f->kernels = ARENA_ARRAY(r->arena, jit_kernel *, f->plan.stmts.len);
    for (size_t i = 0; i < f->plan.stmts.len; i++) {
        if (f->plan.stmts.at[i].kind == PLAN_LAUNCH && !resolve_launch(r, p, f, &f->plan.stmts.at[i], &f->kernels[i]))
            return false;
    }
    return true;
}

static bool read_function(reader *r, const json_t *object, jit_program *p, jit_function *f)
{
    names n = {0};
    jit_kernel *k = &f->entry;
    r->kernel = NULL;
    k->launch.symbol = k->launch.name = text_of(r, object, "name");
    if (!k->launch.symbol)
        return false;
    r->kernel = k->launch.symbol;
    k->title = text_of(r, object, "title");
    k->doc = optional_text(r, object, "doc");
    f->refused = optional_text(r, object, "refused");
    f->operator = optional_text(r, object, "operator");
    f->is_strided = is_set(object, "strided");
    if (!k->title || !read_parameters(r, object, &n, k))
        return false;
    k->frame_bytes = frame_bytes_of(k);
    return f->refused || read_plan(r, json_object_get(object, "plan"), p, f);
}

static bool read_functions(reader *r, const json_t *list, jit_program *p)
{
    r->is_function = true;
    p->function_count = (int)json_array_size(list);
    p->functions = ARENA_ARRAY(r->arena, jit_function, p->function_count);
    for (int i = 0; i < p->function_count; i++) {
        if (!read_function(r, json_array_get(list, (size_t)i), p, &p->functions[i]))
            return false;
    }
    jit_find_operators(r->arena, p);
    return true;
}

// ---- models ----------------------------------------------------------------------------------------------------

static bool read_role(reader *r, const json_t *object, const jit_parameter *p, jit_role_of *out)
{
    static const char *const roles[] = {"input", "weight", "prepared", "output"};
    const char *role = text_of(r, object, "role");
    out->name = text_of(r, object, "name");
    out->weight = optional_text(r, object, "weight");
    out->file = optional_text(r, object, "file");
    if (!role || !out->name)
        return false;
    for (int i = 0; i < (int)(sizeof roles / sizeof *roles); i++) {
        if (strcmp(role, roles[i]) != 0)
            continue;
        out->role = (jit_role)i;
        bool fits = strcmp(out->name, p->shown.name) == 0 && p->shown.kind == HDS_TENSOR && (i != JIT_WEIGHT || out->weight);
        return fits || fail(r, "'%s' is no %s of it", out->name, role);
    }
    return fail(r, "there is no role '%s'", role);
}

// Tensors come first; sizes have no roles.
static bool read_model_function(reader *r, const json_t *object, const jit_program *p, jit_model_function *out)
{
    const char *name = text_of(r, object, "function");
    for (int i = 0; name && i < p->function_count; i++)
        if (strcmp(p->functions[i].entry.launch.symbol, name) == 0)
            out->function = &p->functions[i];
    const json_t *list = json_object_get(object, "parameters");
    if (!out->function)
        return fail(r, "a model has no such function");
    r->kernel = name;
    out->count = (int)json_array_size(list);
    if (out->count > out->function->entry.count)
        return fail(r, "it has fewer parameters than the model says");
    jit_role_of *roles = ARENA_ARRAY(r->arena, jit_role_of, out->count);
    for (int i = 0; i < out->count; i++)
        if (!read_role(r, json_array_get(list, (size_t)i), &out->function->entry.parameters[i], &roles[i]))
            return false;
    out->roles = roles;
    return true;
}

static bool read_models(reader *r, const json_t *list, jit_program *p)
{
    p->model_count = (int)json_array_size(list);
    p->models = ARENA_ARRAY(r->arena, jit_model, p->model_count);
    for (int i = 0; i < p->model_count; i++) {
        const json_t *model = json_array_get(list, (size_t)i), *load = json_object_get(model, "load");
        r->kernel = NULL;
        if (load && !json_is_null(load) && !read_model_function(r, load, p, &p->models[i].load))
            return false;
        if (!read_model_function(r, json_object_get(model, "run"), p, &p->models[i].run))
            return false;
    }
    return true;
}

// Not inlined: the function below returns twice (setjmp).
__attribute__((noinline)) static bool read_program(reader *r, const json_t *document, jit_program *out)
{
    const json_t *kernels = json_object_get(document, "kernels");
    if (!json_is_array(kernels))
        return fail(r, "it has no list 'kernels'");
    out->arch = text_of(r, document, "arch");
    out->source = optional_text(r, document, "source");
    out->library.name = out->source ? out->source : "?";
    out->count = (int)json_array_size(kernels);
    out->kernels = ARENA_ARRAY(r->arena, jit_kernel, out->count);
    out->launches = ARENA_ARRAY(r->arena, hdsrt_kernel *, out->count);
    for (int i = 0; i < out->count; i++) {
        out->launches[i] = &out->kernels[i].launch;
        if (!read_kernel(r, json_array_get(kernels, (size_t)i), out, &out->kernels[i]))
            return false;
    }
    return read_functions(r, json_object_get(document, "functions"), out) &&
           read_models(r, json_object_get(document, "models"), out) && !r->why;
}

// Jansson's memory is also freed when the arena fails: its recovery point is replaced by ours meanwhile.
static bool read_guarded(reader *r, json_t *document, jit_program *out)
{
    arena_oom *outer = r->arena->oom, inner;
    if (setjmp(inner.jump) != 0) {
        r->arena->oom = outer;
        json_decref(document);
        if (outer)
            longjmp(outer->jump, 1);
        return fail(r, "out of memory");
    }
    r->arena->oom = &inner;
    bool ok = read_program(r, document, out);
    r->arena->oom = outer;
    json_decref(document);
    return ok;
}

bool jit_read(arena *a, str document, jit_program *out, const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_error_t error;
    reader r = {.arena = a};
    *out = (jit_program){0};
    *why = NULL;
    pthread_once(&once, watch_jansson);
    ran_out = false;
    json_t *root = json_loadb(document.at, document.len, 0, &error);
    if (ran_out) {
        json_decref(root);
        arena_alloc(a, SIZE_MAX);  // does not return
    }
    bool ok = root ? read_guarded(&r, root, out) : fail(&r, "line %d: %s", error.line, error.text);
    *why = r.why;
    return ok;
}

void jit_set_code(jit_program *p, str image, const uint16_t *archs, uint32_t arch_count)
{
    p->library.image = image.at;
    p->library.image_bytes = image.len;
    p->library.archs = archs;
    p->library.arch_count = arch_count;
    p->library.ptx_arch = -1;
}
