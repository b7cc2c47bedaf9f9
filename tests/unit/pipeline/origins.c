// Statements know through which calls they were inlined, after elaboration and after every pass.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "ir/pass.h"
#include "pipeline/modules.h"
#include "typecheck/typecheck.h"

static const char library[] = "from hidet.lang import instruction, ptx, repeat, spatial, u32\n"
                              "from hidet.lang.cuda import threadIdx\n"
                              "\n"
                              "quads = spatial(32) * repeat(4)\n"
                              "steps = repeat(3, attrs='u+') * spatial(32)\n"
                              "\n"
                              "@instruction(volatile=True)\n"
                              "def nap(ns: u32):\n"
                              "    ptx('nanosleep.u32 {ns};')\n"
                              "\n"
                              "def inner(x, y, worker):\n"
                              "    for i in quads.on(worker):\n"
                              "        y[i] = x[i] + 1.0\n"
                              "    for i in steps.on(worker):\n"
                              "        y.write([i + 128], x[i])\n"
                              "    nap(u32(worker))\n"
                              "\n"
                              "def outer(x, y):\n"
                              "    first = x[0]\n"
                              "    inner(x, y, threadIdx.x * 2 // 2)\n"
                              "    y[1] = first\n";

static const char kernel[] = "import library\n"
                             "from hidet.lang import attrs, f32\n"
                             "\n"
                             "@hidet.script\n"
                             "def kernel[n: int](x: f32[128], y: f32[n * 4]):\n"
                             "    attrs.cuda.grid_dim = 1\n"
                             "    attrs.cuda.block_dim = 32\n"
                             "    y[0] = 1.0\n"
                             "    library.outer(x, y)\n"
                             "    y[2] = 2.0\n";

static const char forms[] = "from hidet.lang import attrs, f32, i32\n"
                            "from hidet.lang.cuda import threadIdx\n"
                            "\n"
                            "class Pair:\n"
                            "    a: f32\n"
                            "    b: f32 = 0.0\n"
                            "    def swap(self):\n"
                            "        t = self.a + 1.0\n"
                            "        self.a = self.b\n"
                            "        self.b = t\n"
                            "    def __add__(self, other):\n"
                            "        self.swap()\n"
                            "        return Pair(self.a + other.a, 1.0)\n"
                            "    def __enter__(self):\n"
                            "        self.a += 3.0\n"
                            "        return self\n"
                            "    def __exit__(self):\n"
                            "        self.b += 3.0\n"
                            "\n"
                            "def own(v: f32) -> f32:\n"
                            "    w = v * 2.0\n"
                            "    return w * w\n"
                            "\n"
                            "def apply(f, x):\n"
                            "    x[0] = own(x[1])\n"
                            "    f(7)\n"
                            "\n"
                            "def early(x):\n"
                            "    if x[0] > 0.0:\n"
                            "        return x[1]\n"
                            "    return x[2]\n"
                            "\n"
                            "@hidet.script\n"
                            "def main_kernel(x: f32[128]):\n"
                            "    attrs.cuda.grid_dim = 1\n"
                            "    attrs.cuda.block_dim = 32\n"
                            "    def put(at):\n"
                            "        x[at] = 5.0\n"
                            "    p = Pair(x[0])\n"
                            "    p.swap()\n"
                            "    q = p + p\n"
                            "    with q as r:\n"
                            "        x[3] = r.a\n"
                            "    apply(put, x)\n"
                            "    x[4] = early(x)\n"
                            "    x[5] = own(x[6])\n";

typedef struct fixture {
    arena memory, scratch;
    sym_table syms;
    src_map sources;
    diag_context diags;
    pl_finder finder;
    ir_module *module;
} fixture;

// The standard library, and a module of our own beside it.
static src_file *find(void *user, const char *path, int level, const src_file *importer, const char **looked)
{
    fixture *f = user;
    if (strcmp(path, "library") == 0)
        return src_add(&f->sources, "library.hds", str_of(library));
    return pl_find_module(&f->finder, path, level, importer, looked);
}

static void compile(fixture *f, const char *text)
{
    arena_init(&f->memory, NULL);
    arena_init(&f->scratch, NULL);
    sym_init(&f->syms, &f->memory);
    src_map_init(&f->sources, &f->memory);
    diag_init(&f->diags, &f->memory, &f->sources);
    pl_finder_init(&f->finder, &f->memory, &f->sources);
    src_file *file = src_add(&f->sources, "main.hds", str_of(text));
    pl_finder_add_main(&f->finder, file);
    tc_options options = {.arch = arch_find(STR("sm_80")), .find_module = find, .find_user = f};
    f->module = tc_compile(&f->memory, &f->syms, &f->diags, file, &options);
    str_buf messages;
    str_buf_init(&messages, &f->memory);
    diag_render_text(&f->diags, &messages, (diag_style){0});
    assert_string_equal(str_text(&messages), "");
    assert_non_null(f->module);
}

static void discard(fixture *f)
{
    arena_free(&f->scratch);
    arena_free(&f->memory);
}

// ---- what the text says --------------------------------------------------------------------------------------------

// The name of the function in whose text the position lies.
static str function_at(const fixture *f, uint32_t position)
{
    const src_file *file = src_file_at(&f->sources, position);
    const char *at = file->text.at + (position - file->base);
    while (strncmp(at, "def ", 4) != 0)
        assert_ptr_not_equal(at--, file->text.at);
    return (str){at + 4, strcspn(at + 4, "([")};
}

static str text_of(const fixture *f, src_span span)
{
    const src_file *file = src_file_at(&f->sources, span.begin);
    return (str){file->text.at + (span.begin - file->base), span.end - span.begin};
}

// "swap <- self.swap() <- p + p": the function that the statement is of and the calls that led to it.
static const char *chain_of(fixture *f, const ir_stmt *s)
{
    str_buf b;
    str_buf_init(&b, &f->memory);
    str name = function_at(f, s->span.begin);
    str_addf(&b, "%.*s", (int)name.len, name.at);
    for (const ir_site *site = ir_site_at(f->module, s->origin); site; site = ir_site_at(f->module, site->parent)) {
        str call = text_of(f, site->span);
        str_addf(&b, " <- %.*s", (int)call.len, call.at);
    }
    return str_text(&b);
}

// ---- through the pipeline ------------------------------------------------------------------------------------------

typedef struct counting {
    fixture *f;
    int of_inner[IR_STMT__COUNT];
} counting;

static void check_stmt(void *user, ir_stmt *s)
{
    counting *c = user;
    static const char *const chains[] = {
        "kernel",
        "outer <- library.outer(x, y)",
        "inner <- inner(x, y, threadIdx.x * 2 // 2) <- library.outer(x, y)",
        "nap <- nap(u32(worker)) <- inner(x, y, threadIdx.x * 2 // 2) <- library.outer(x, y)",
    };
    const char *chain = chain_of(c->f, s);
    size_t i = 0;
    while (i < 4 && strcmp(chain, chains[i]) != 0)
        i++;
    if (i == 4)
        fail_msg("%s: %s", ir_stmt_name(s->kind), chain);
    c->of_inner[s->kind] += i == 2;
}

static counting check_all(fixture *f)
{
    counting c = {.f = f};
    for (size_t i = 0; i < f->module->funcs.len; i++)
        ir_walk(&f->module->funcs.at[i]->body, check_stmt, &c);
    return c;
}

static counting run_through(fixture *f, const ir_pass **pass, int *index, const char *name)
{
    ir_pass_options options = {.verify_each = true, .wide_access = true};
    ir_pass_context px = {.module = f->module, .scratch = &f->scratch, .diags = &f->diags, .options = &options};
    counting c = {0};
    do {
        *pass = ir_pass_at((*index)++);
        assert_non_null(*pass);
        assert_true(ir_run_pass(&px, *pass));
        c = check_all(f);
    } while (strcmp((*pass)->name, name) != 0);
    return c;
}

static void passes_keep_origins(void **state)
{
    (void)state;
    fixture f;
    compile(&f, kernel);
    assert_int_equal(f.module->sites.len, 3);
    assert_string_equal(ir_site_at(f.module, 1)->callee, "outer");
    assert_null(ir_site_at(f.module, 0));
    counting c = check_all(&f);
    assert_int_equal(c.of_inner[IR_TASKS], 2);
    assert_int_equal(c.of_inner[IR_STORE], 2);
    assert_int_equal(c.of_inner[IR_EVAL], 1);
    const ir_pass *pass;
    int index = 0;
    assert_int_equal(run_through(&f, &pass, &index, "lower-tasks").of_inner[IR_FOR], 2);
    c = run_through(&f, &pass, &index, "form-wide");
    assert_int_equal(c.of_inner[IR_COPY], 2);
    assert_int_equal(c.of_inner[IR_ALLOC], 2);
    assert_int_equal(run_through(&f, &pass, &index, "lower-guards").of_inner[IR_IF], 1);
    assert_int_equal(run_through(&f, &pass, &index, "unroll").of_inner[IR_IF], 3);
    run_through(&f, &pass, &index, "dce");
    assert_null(ir_pass_at(index));
    discard(&f);
}

// ---- ways to call --------------------------------------------------------------------------------------------------

typedef struct search {
    fixture *f;
    const char *chain;
    bool found;
} search;

static void look_at(void *user, ir_stmt *s)
{
    search *look = user;
    look->found |= strcmp(chain_of(look->f, s), look->chain) == 0;
}

static bool has_chain(fixture *f, const char *func, const char *chain)
{
    search look = {f, chain, false};
    for (size_t i = 0; i < f->module->funcs.len; i++)
        if (strcmp(f->module->funcs.at[i]->name, func) == 0)
            ir_walk(&f->module->funcs.at[i]->body, look_at, &look);
    return look.found;
}

static void every_way_to_call(void **state)
{
    (void)state;
    fixture f;
    compile(&f, forms);
    assert_true(has_chain(&f, "main_kernel", "swap <- p.swap()"));
    assert_true(has_chain(&f, "main_kernel", "swap <- self.swap() <- p + p"));
    assert_true(has_chain(&f, "main_kernel", "__enter__ <- q"));
    assert_true(has_chain(&f, "main_kernel", "__exit__ <- q"));
    assert_true(has_chain(&f, "main_kernel", "apply <- apply(put, x)"));
    assert_true(has_chain(&f, "main_kernel", "put <- f(7) <- apply(put, x)"));
    assert_true(has_chain(&f, "main_kernel", "early <- early(x)"));
    // A call that stays one has no site, neither where it stands nor in the function.
    assert_true(has_chain(&f, "own", "own"));
    assert_false(has_chain(&f, "own", "own <- own(x[6])"));
    assert_false(has_chain(&f, "main_kernel", "own <- own(x[6])"));
    assert_false(has_chain(&f, "main_kernel", "put <- own(x[6])"));
    discard(&f);
}

// ---- text ----------------------------------------------------------------------------------------------------------

static void locations_name_the_callers(void **state)
{
    (void)state;
    fixture f;
    compile(&f, kernel);
    str_buf plain, located;
    str_buf_init(&plain, &f.memory);
    str_buf_init(&located, &f.memory);
    ir_print(f.module, &plain);
    ir_print_spans(f.module, &located);
    assert_null(strstr(str_text(&plain), "library.hds:"));
    assert_non_null(strstr(str_text(&located), "    y[0] = 1.0  ; main.hds:8\n"));
    assert_non_null(strstr(str_text(&located), "y[1] = first  ; library.hds:21 from main.hds:9\n"));
    assert_non_null(strstr(str_text(&located), "  ; library.hds:15 from library.hds:20 from main.hds:9\n"));
    discard(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_keep_origins),
        cmocka_unit_test(every_way_to_call),
        cmocka_unit_test(locations_name_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
