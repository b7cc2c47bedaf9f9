// Random integer expressions mean in C++ what they mean in the IR: of all widths and signs, with threadIdx (unsigned in
// C++, i32 in the IR), conversions everywhere, and values at the ends of the types. The emitted kernel is compiled as
// C++ for the host and run there; NVRTC has to take it without a warning. Skipped where there is no C++ compiler.
#include "nvrtc.h"

#include <unistd.h>

// What the kernel's text takes it assumes. min and max have the overloads that CUDA has.
static const char shim[] =
    "#define __global__\n#define __device__\n#define __host__\n#define __forceinline__ inline\n#define __restrict__\n"
    "#define __launch_bounds__(...)\n"
    "struct uint3 { unsigned int x, y, z; };\n"
    "static uint3 threadIdx = {5, 0, 0}, blockIdx = {70000, 0, 0};\n"
    "#define PAIR(T) static inline T min(T a, T b) { return b < a ? b : a; } static inline T max(T a, T b) { return a "
    "< b ? b : a; }\n"
    "PAIR(int) PAIR(unsigned int) PAIR(long long) PAIR(unsigned long long)\n";

enum { EXPRESSIONS = 500, VARIABLES = 24 };

typedef struct maker {
    golden g;
    uint64_t seed;
    ir_var *vars[VARIABLES];
    int64_t values[VARIABLES];
    int64_t expected[EXPRESSIONS];
} maker;

static const dtype int_types[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};

static uint32_t below(maker *mk, uint32_t n)
{
    mk->seed = mk->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(mk->seed >> 33) % n;
}

static dtype any_type(maker *mk)
{
    return int_types[below(mk, 8)];
}

static int64_t any_value(maker *mk, dtype t)
{
    uint64_t random = (uint64_t)below(mk, 1u << 30) << 34 ^ (uint64_t)below(mk, 1u << 30) << 8;
    switch (below(mk, 6)) {
    case 0: return dt_min(t);
    case 1: return dt_wrap_int(t, (int64_t)dt_max_bits(t));
    case 2: return dt_wrap_int(t, -(int64_t)below(mk, 4));
    case 3: return dt_wrap_int(t, (int64_t)random);
    default: return below(mk, 9);
    }
}

// An expression and its value.
typedef struct pair {
    ir_expr *e;
    int64_t v;
} pair;

static pair make(maker *mk, dtype t, int depth);

static pair leaf(maker *mk, dtype t)
{
    ir_module *m = mk->g.module;
    if (t == DT_I32 && below(mk, 3) == 0) {
        bool is_block = below(mk, 3) == 0;
        return (pair){ir_sreg_read(m, is_block ? IR_BID_X : IR_TID_X, (src_span){0}), is_block ? 70000 : 5};
    }
    for (int i = (int)below(mk, VARIABLES);; i++) {
        int k = i % VARIABLES;
        if (mk->vars[k]->type->scalar == t)
            return (pair){ir_read(m, mk->vars[k], (src_span){0}), mk->values[k]};
    }
}

// Constants stand beside something that is none: the simplifier leaves no others, and compilers warn about those that
// overflow.
static void make_two(maker *mk, dtype t, int depth, pair *a, pair *b)
{
    *a = make(mk, t, depth);
    *b = make(mk, t, depth);
    if (below(mk, 3))
        return;
    int64_t value = any_value(mk, t);
    *(below(mk, 3) ? b : a) = (pair){ir_int(mk->g.module, t, value), value};
}

static bool compares(ir_op op, dtype t, int64_t a, int64_t b)
{
    bool less = dt_is_signed(t) ? a < b : (uint64_t)a < (uint64_t)b;
    switch (op) {
    case IR_OP_EQ: return a == b;
    case IR_OP_NE: return a != b;
    case IR_OP_LT: return less;
    case IR_OP_GE: return !less;
    case IR_OP_GT: return !less && a != b;
    default: return less || a == b;
    }
}

static int64_t floored(ir_op op, int64_t a, int64_t b)
{
    int64_t quotient = a / b, rest = a % b;
    bool adjusts = rest != 0 && (rest < 0) != (b < 0);
    return op == IR_OP_FLOORDIV ? quotient - adjusts : adjusts ? rest + b : rest;
}

static int64_t divided(ir_op op, dtype t, int64_t a, int64_t b)
{
    bool is_quotient = op == IR_OP_FLOORDIV || op == IR_OP_TRUNCDIV;
    if (!dt_is_signed(t))
        return (int64_t)(is_quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    if (op == IR_OP_FLOORDIV || op == IR_OP_FLOORMOD)
        return floored(op, a, b);
    return is_quotient ? a / b : a % b;
}

static int64_t computed(ir_op op, dtype t, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case IR_OP_ADD: return dt_wrap_int(t, (int64_t)(x + y));
    case IR_OP_SUB: return dt_wrap_int(t, (int64_t)(x - y));
    case IR_OP_MUL: return dt_wrap_int(t, (int64_t)(x * y));
    case IR_OP_AND: return a & b;
    case IR_OP_OR: return a | b;
    case IR_OP_XOR: return a ^ b;
    case IR_OP_SHL: return dt_wrap_int(t, (int64_t)(x << y));
    case IR_OP_SHR: return dt_is_signed(t) ? a >> b : (int64_t)(x >> y);
    case IR_OP_MIN: return compares(IR_OP_LT, t, a, b) ? a : b;
    case IR_OP_MAX: return compares(IR_OP_LT, t, a, b) ? b : a;
    default: return dt_wrap_int(t, divided(op, t, a, b));
    }
}

static bool is_division(ir_op op)
{
    return op == IR_OP_FLOORDIV || op == IR_OP_FLOORMOD || op == IR_OP_TRUNCDIV || op == IR_OP_TRUNCMOD;
}

static pair binary(maker *mk, dtype t, int depth)
{
    static const ir_op ops[] = {IR_OP_ADD,      IR_OP_SUB,      IR_OP_MUL,      IR_OP_AND,     IR_OP_OR,
                                IR_OP_XOR,      IR_OP_SHL,      IR_OP_SHR,      IR_OP_MIN,     IR_OP_MAX,
                                IR_OP_FLOORDIV, IR_OP_FLOORMOD, IR_OP_TRUNCDIV, IR_OP_TRUNCMOD};
    ir_op op = ops[below(mk, sizeof ops / sizeof *ops)];
    pair a, b;
    make_two(mk, t, depth - 1, &a, &b);
    if (op == IR_OP_SHL || op == IR_OP_SHR) {
        a = make(mk, t, depth - 1);
        int64_t by = below(mk, (uint32_t)dt_bits(t));
        return (pair){ir_binary(mk->g.module, op, a.e, ir_int(mk->g.module, t, by), (src_span){0}),
                      computed(op, t, a.v, by)};
    }
    // Division by zero and of the least by -1 have no value in either language.
    bool has_no_value = is_division(op) && (b.v == 0 || (b.v == -1 && a.v == dt_min(t)));
    if (has_no_value)
        op = IR_OP_XOR;
    return (pair){ir_binary(mk->g.module, op, a.e, b.e, (src_span){0}), computed(op, t, a.v, b.v)};
}

static pair comparison(maker *mk, int depth)
{
    dtype t = any_type(mk);
    ir_op op = (ir_op)(IR_OP_EQ + (int)below(mk, 6));
    pair a, b;
    make_two(mk, t, depth - 1, &a, &b);
    return (pair){ir_binary(mk->g.module, op, a.e, b.e, (src_span){0}), compares(op, t, a.v, b.v)};
}

static pair make(maker *mk, dtype t, int depth)
{
    ir_module *m = mk->g.module;
    if (depth == 0)
        return leaf(mk, t);
    pair a, b;
    switch (below(mk, 10)) {
    case 0: return leaf(mk, t);
    case 1:
    case 2:
        a = make(mk, any_type(mk), depth - 1);
        return (pair){ir_cast(m, a.e, ir_scalar(m, t), (src_span){0}), dt_wrap_int(t, a.v)};
    case 3:
        a = make(mk, t, depth - 1);
        return (pair){ir_unary(m, IR_OP_NEG, a.e, (src_span){0}), dt_wrap_int(t, (int64_t)(0 - (uint64_t)a.v))};
    case 4:
        a = make(mk, t, depth - 1);
        return (pair){ir_unary(m, IR_OP_BITNOT, a.e, (src_span){0}), dt_wrap_int(t, ~a.v)};
    case 5: {
        pair c = comparison(mk, depth - 1 ? depth - 1 : 1);
        make_two(mk, t, depth - 1, &a, &b);
        return (pair){ir_select(m, c.e, a.e, b.e, (src_span){0}), c.v ? a.v : b.v};
    }
    default: return binary(mk, t, depth);
    }
}

static void add_param(maker *mk, ir_func *f, ir_var *v)
{
    VEC_PUSH(mk->g.module->arena, &f->params, v);
}

static void make_kernel(maker *mk)
{
    ir_module *m = mk->g.module;
    ir_func *f = ir_func_new(m, IR_KERNEL, "kernel", (src_span){0});
    f->is_public = true;
    ir_tensor *t = ARENA_NEW(m->arena, ir_tensor);
    ir_expr *extent = ir_int(m, DT_I32, EXPRESSIONS);
    tm_reason why;
    int64_t size = EXPRESSIONS;
    *t = (ir_tensor){
        .elem = ir_scalar(m, DT_I64), .space = IR_GLOBAL, .rank = 1, .storage_elems = -1, .smem_offset = -1};
    t->shape = arena_dup(m->arena, &extent, sizeof extent);
    t->layout = tm_layout_row_major(m->arena, 1, &size, &why);
    ir_var *out = ir_tensor_var(m, IR_VAR_PARAM, "out", t, (src_span){0});
    add_param(mk, f, out);
    for (int i = 0; i < VARIABLES; i++) {
        dtype type = int_types[i % 8];
        mk->vars[i] = ir_var_new(m, IR_VAR_PARAM, arena_printf(m->arena, "%s_%d", dt_name(type), i / 8),
                                 ir_scalar(m, type), (src_span){0});
        mk->values[i] = any_value(mk, type);
        add_param(mk, f, mk->vars[i]);
    }
    for (int i = 0; i < EXPRESSIONS; i++) {
        pair p = make(mk, any_type(mk), 1 + (int)below(mk, 4));
        ir_stmt *s = ir_new_stmt(m, IR_STORE, (src_span){0}, 0);
        ir_expr *index = ir_int(m, DT_I32, i);
        s->var = out;
        s->flags = IR_FLAT;
        s->args = arena_dup(m->arena, &index, sizeof index);
        s->arg_count = 1;
        s->value = ir_cast(m, p.e, ir_scalar(m, DT_I64), (src_span){0});
        ir_append(m, &f->body, s);
        mk->expected[i] = p.v;
    }
    ir_func_add(m, f);
}

// Calls the kernel with the values that its expressions were made for.
static void add_caller(maker *mk, str_buf *text)
{
    str_adds(text, "extern \"C\" void run(long long *out)\n{\n    kernel(out");
    for (int i = 0; i < VARIABLES; i++)
        str_addf(text, ", (%s)%lluull", dt_cuda_name(mk->vars[i]->type->scalar), (unsigned long long)mk->values[i]);
    str_adds(text, ");\n}\n");
}

static void *build(arena *a, str text)
{
    char folder[] = "/tmp/cuda_emit_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *source = file_join(a, folder, "kernel.cpp"), *object = file_join(a, folder, "kernel.so"), *error;
    assert_true(file_write(a, source, text, &error));
    void *library = NULL;
    if (system(arena_printf(a, "c++ -std=c++17 -fwrapv -shared -fPIC -w -o %s %s", object, source)) == 0)
        library = dlopen(object, RTLD_NOW);
    unlink(source);
    unlink(object);
    rmdir(folder);
    return library;
}

// The statement that stores element [i].
static const char *statement(arena *a, const char *text, int i)
{
    const char *at = strstr(text, arena_printf(a, "    out[%d] = ", i));
    return at ? arena_strndup(a, at, strcspn(at, "\n")) : "";
}

static void try_seed(uint64_t seed, nvrtc *n)
{
    maker *mk = calloc(1, sizeof *mk);
    golden_read(&mk->g, "arithmetic", STR("module \"arithmetic\" sm_80 low\n"), NULL);
    mk->seed = seed;
    make_kernel(mk);
    if (!ir_verify(mk->g.module) || !cu_emit(mk->g.module, &mk->g.options, &mk->g.text))
        golden_fail(&mk->g, "arithmetic");
    arena *a = &mk->g.arena;
    const char *emitted = str_text(&mk->g.text);
    str_buf text;
    str_buf_init(&text, a);
    str_addf(&text, "%s%s", shim, emitted);
    add_caller(mk, &text);
    void *library = build(a, (str){text.at, text.len});
    assert_non_null(library);
    void (*run)(long long *);
    *(void **)&run = dlsym(library, "run");
    long long got[EXPRESSIONS];
    run(got);
    for (int i = 0; i < EXPRESSIONS; i++)
        if (got[i] != mk->expected[i])
            fail_msg("seed %d: %lld, expected %lld, from\n%s", (int)seed, got[i], (long long)mk->expected[i],
                     statement(a, emitted, i));
    dlclose(library);
    if (n->library && seed < 3)
        nvrtc_ptx(n, a, "arithmetic", emitted, "sm_80");
    golden_free(&mk->g);
    free(mk);
}

static void test_integers(void **state)
{
    (void)state;
    if (system("c++ --version > /dev/null 2>&1") != 0)
        skip();
    nvrtc n;
    nvrtc_open(&n);
    for (uint64_t seed = 1; seed <= 6; seed++)
        try_seed(seed, &n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
