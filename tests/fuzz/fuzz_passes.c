// Random kernels (program.h) run by the simulator at every level of the IR: after elaboration, and after each pass. The
// outputs must be the same bits at every level, under every schedule, and no check of the simulator may find anything.
// Where the kernel is within the reach of tests/tools/ireval.h, that must come to the same results, one thread after the
// other.
//
//     fuzz_passes FIRST COUNT        the programs with these seeds; failures are shrunk and printed
//     fuzz_passes show SEED          the text of one
//
// Under HDS_FUZZ this is a libFuzzer target: the input is the seed.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/ireval.h"
#include "pipeline/unit.h"
#include "program.h"
#include "sim/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STACK_BYTES = 64 << 20, BUDGET = 3000000, MOST_LEVELS = 16 };

typedef enum verdict {
    FINE,
    REJECTED,   // does not compile
    TOO_LONG,   // the budget was not enough
    DIFFERENT,  // the outputs of two levels differ
    FOUND,      // the simulator has a finding
    BROKEN,     // the compiler has an internal error
} verdict;

static const char *const verdict_names[] = {"fine", "rejected", "too long", "different", "found", "broken"};

typedef struct outcome {
    verdict verdict;
    const char *level;  // where
    diag_code code;     // of the first message
    const char *text;   // what to say about it
} outcome;

typedef struct run {
    const pg_program *program;
    const char *text;
    arena *arena;       // of [outcome]
    outcome outcome;
    uint8_t **inputs, **reference;
    bool was_evaluated;
} run;

// ---- inputs and outputs ----------------------------------------------------------------------------------------------

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t element_bits(const pg_tensor *x, uint64_t random)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 65504.0, 1e-7, 3e38, 0.333};
    if (dt_is_int(x->type))
        return (uint64_t)(x->low + (int64_t)(random % (uint64_t)(x->high - x->low + 1)));
    double value = random % 8 == 0 ? special[random / 8 % 8] : (double)((int64_t)(random / 64 % 4001) - 2000) / 16.0;
    if (random % 97 == 0)
        value = random & 128 ? INFINITY : NAN;
    return dt_from_double(x->type, value);
}

static int64_t element_count(const pg_tensor *x)
{
    int64_t count = 1;
    for (int d = 0; d < x->rank; d++)
        count *= x->extent[d];
    return count;
}

// Of less than a byte: any bits will do.
static uint64_t filled(sim *s, const pg_tensor *x, uint64_t seed)
{
    int bytes = dt_is_subbyte(x->type) ? 1 : dt_bits(x->type) / 8;
    int64_t count = element_count(x), room;
    uint64_t address = sim_allocate(s, count * bytes, bytes, x->name);
    uint8_t *at = sim_bytes(s, address, &room);
    for (int64_t i = 0; i < count; i++) {
        uint64_t random = mixed(seed + (uint64_t)i * 0x9e3779b97f4a7c15u);
        uint64_t bits = dt_is_subbyte(x->type) ? random : element_bits(x, random);
        memcpy(at + i * bytes, &bits, (size_t)bytes);
    }
    sim_mark_written(s, address, count * bytes);
    return address;
}

// NaNs are equal: which one an operation gives is not defined.
static bool is_nan(dtype t, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)dt_bits(t) / 8);
    return dt_is_float(t) && isnan(dt_to_double(t, bits));
}

static const char *difference(run *r, const pg_tensor *x, const uint8_t *expected, const uint8_t *found)
{
    int bytes = dt_bits(x->type) / 8;
    for (int64_t i = 0, count = element_count(x); i < count; i++) {
        const uint8_t *a = expected + i * bytes, *b = found + i * bytes;
        if (memcmp(a, b, (size_t)bytes) == 0 || (is_nan(x->type, a) && is_nan(x->type, b)))
            continue;
        uint64_t was = 0, is = 0;
        memcpy(&was, a, (size_t)bytes);
        memcpy(&is, b, (size_t)bytes);
        return arena_printf(r->arena, "%s[%lld]: 0x%llx at hir, 0x%llx here", x->name, (long long)i, (unsigned long long)was,
                            (unsigned long long)is);
    }
    return NULL;
}

// ---- one level -------------------------------------------------------------------------------------------------------

static void settle(run *r, verdict v, const char *level, diag_code code, const char *text)
{
    if (r->outcome.verdict == FINE)
        r->outcome = (outcome){v, level, code, text};
}

static const char *messages(run *r, pl_unit *u, diag_code *code)
{
    str_buf out;
    str_buf_init(&out, r->arena);
    diag_render_text(&u->diags, &out, (diag_style){0});
    *code = u->diags.all.len ? u->diags.all.at[0]->code : 0;
    return str_text(&out);
}

static uint64_t argument(const run *r, const ir_var *v, const uint64_t *addresses)
{
    const pg_program *p = r->program;
    for (size_t i = 0; i < p->tensors.len; i++)
        if (strcmp(p->tensors.at[i].name, v->name) == 0)
            return addresses[i];
    for (size_t i = 0; i < p->sizes.len; i++)
        if (strcmp(p->sizes.at[i].name, v->name) == 0)
            return (uint64_t)p->sizes.at[i].value;
    return 0;
}

static const ir_func *kernel_of(const ir_module *m)
{
    for (size_t i = 0; i < m->funcs.len; i++)
        if (m->funcs.at[i]->kind == IR_KERNEL)
            return m->funcs.at[i];
    return NULL;
}

static void compare(run *r, sim *s, const uint64_t *addresses, const char *level)
{
    const pg_program *p = r->program;
    bool is_first = !r->reference;
    if (is_first)
        r->reference = ARENA_ARRAY(r->arena, uint8_t *, p->tensors.len + 1);
    for (size_t i = 0; i < p->tensors.len; i++) {
        int64_t bytes;
        const uint8_t *at = sim_bytes(s, addresses[i], &bytes);
        if (is_first) {
            r->reference[i] = arena_dup(r->arena, at, (size_t)bytes);
            continue;
        }
        if (!p->tensors.at[i].is_output)
            continue;
        const char *text = difference(r, &p->tensors.at[i], r->reference[i], at);
        if (text) {
            settle(r, DIFFERENT, level, 0, text);
            return;
        }
    }
}

static void simulate(run *r, pl_unit *u, const char *level, int number)
{
    const pg_program *p = r->program;
    const ir_func *kernel = kernel_of(u->module);
    arena memory;
    arena_init(&memory, &u->oom);
    sim_options options = {.seed = (uint64_t)number, .workers = 1 + number % 2, .budget = BUDGET};
    sim_translate_options translate = {.index_overflow = true};
    sim *s = sim_new(&memory, &options);
    sim_program *code = sim_translate(&memory, u->module, &translate);
    uint64_t *addresses = ARENA_ARRAY(&memory, uint64_t, p->tensors.len + 1);
    if (!r->inputs)
        r->inputs = ARENA_ARRAY(r->arena, uint8_t *, p->tensors.len + 1);
    for (size_t i = 0; i < p->tensors.len; i++) {
        int64_t bytes;
        addresses[i] = filled(s, &p->tensors.at[i], p->seed * 1000 + i);
        const uint8_t *at = sim_bytes(s, addresses[i], &bytes);
        if (!r->inputs[i])
            r->inputs[i] = arena_dup(r->arena, at, (size_t)bytes);
    }
    uint64_t *args = ARENA_ARRAY(&memory, uint64_t, kernel->params.len + 1);
    for (size_t i = 0; i < kernel->params.len; i++)
        args[i] = argument(r, kernel->params.at[i], addresses);
    sim_status status = sim_call(s, code, kernel, args, (int)kernel->params.len, NULL);
    if (status != SIM_OK) {
        diag_code first;
        sim_findings_report(s, &u->diags);
        const char *text = messages(r, u, &first);
        settle(r, first == HDS0612 ? TOO_LONG : FOUND, level, first, text);
    } else {
        compare(r, s, addresses, level);
    }
    sim_free(s);
    arena_free(&memory);
}

// ---- the other interpreter -------------------------------------------------------------------------------------------

static ire_value value_of(dtype t, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)dt_bits(t) / 8);
    return dt_is_float(t) ? (ire_value){.f = dt_to_double(t, bits)} : (ire_value){.i = dt_wrap_int(t, (int64_t)bits)};
}

static void take(ire *r, const pg_tensor *x, const ir_var *v, const uint8_t *bytes)
{
    int64_t count = element_count(x);
    ire_array *a = ire_array_of(r, v, count);
    for (int64_t i = 0; i < count; i++)
        a->at[i] = value_of(x->type, bytes + i * dt_bits(x->type) / 8);
}

static void give(ire *r, const pg_tensor *x, const ir_var *v, uint8_t *bytes)
{
    const ire_array *a = ire_array_of(r, v, 0);
    for (int64_t i = 0; i < element_count(x); i++) {
        uint64_t bits = dt_is_float(x->type) ? dt_from_double(x->type, a->at[i].f) : (uint64_t)a->at[i].i;
        memcpy(bytes + i * dt_bits(x->type) / 8, &bits, (size_t)dt_bits(x->type) / 8);
    }
}

static int tensor_number(const pg_program *p, const ir_var *v)
{
    for (size_t i = 0; i < p->tensors.len; i++)
        if (strcmp(p->tensors.at[i].name, v->name) == 0)
            return (int)i;
    return -1;
}

static void set_up(ire *r, const run *of, const ir_func *kernel)
{
    for (size_t i = 0; i < kernel->params.len; i++) {
        const ir_var *v = kernel->params.at[i];
        int tensor = tensor_number(of->program, v);
        if (tensor < 0)
            ire_set(r, v, (int64_t)argument(of, v, NULL));
        else
            take(r, &of->program->tensors.at[tensor], v, of->inputs[tensor]);
    }
}

static void run_threads(ire *r, const pg_program *p, const ir_func *kernel)
{
    int64_t x = p->is_planar ? p->threads / 2 : p->threads;
    r->sregs[IR_BDIM_X] = x;
    r->sregs[IR_BDIM_Y] = p->threads / x;
    r->sregs[IR_GDIM_X] = p->blocks;
    for (int64_t i = 0; i < p->threads * p->blocks && !r->error; i++) {
        r->sregs[IR_TID_X] = i % p->threads % x;
        r->sregs[IR_TID_Y] = i % p->threads / x;
        r->sregs[IR_BID_X] = i / p->threads;
        ire_run(r, &kernel->body);
    }
}

// Against the reference. True: the kernel was within reach.
static bool evaluate(run *of, pl_unit *u)
{
    const pg_program *p = of->program;
    const ir_func *kernel = kernel_of(u->module);
    for (size_t i = 0; i < p->tensors.len; i++)
        if (dt_is_subbyte(p->tensors.at[i].type))
            return false;
    arena memory;
    arena_init(&memory, &u->oom);
    ire r;
    ire_init(&r, &memory, u->module);
    set_up(&r, of, kernel);
    run_threads(&r, p, kernel);
    bool knows = !r.error;
    for (size_t i = 0; i < kernel->params.len && knows; i++) {
        int tensor = tensor_number(p, kernel->params.at[i]);
        if (tensor < 0 || !p->tensors.at[tensor].is_output)
            continue;
        const pg_tensor *x = &p->tensors.at[tensor];
        uint8_t *bytes = ARENA_ARRAY(&memory, uint8_t, element_count(x) * dt_bits(x->type) / 8 + 8);
        give(&r, x, kernel->params.at[i], bytes);
        const char *text = difference(of, x, bytes, of->reference[tensor]);
        if (text)
            settle(of, DIFFERENT, "ireval", 0, text);
    }
    arena_free(&memory);
    return knows;
}

// ---- all levels ------------------------------------------------------------------------------------------------------

static _Thread_local run *current;

static bool is_internal(diag_code code)
{
    return code == HDS0400 || code == HDS0470 || code == HDS0495;
}

static bool refused(run *r, pl_unit *u, const char *level)
{
    diag_code code;
    if (!u->diags.shown_errors)
        return false;
    const char *text = messages(r, u, &code);
    settle(r, is_internal(code) || strcmp(level, "hir") != 0 ? BROKEN : REJECTED, level, code, text);
    // What a pass proves to be outside is the author's error.
    if (code == HDS0431 || code == HDS0430)
        r->outcome.verdict = REJECTED;
    return true;
}

static void run_levels(pl_unit *u)
{
    run *r = current;
    u->file = src_add(&u->sources, "fuzz.hds", str_of(r->text));
    pl_finder_add_main(&u->finder, u->file);
    if (!pl_module_for_simulation(u, "hir", NULL) || !kernel_of(u->module)) {
        if (!refused(r, u, "hir"))
            settle(r, REJECTED, "hir", 0, "no kernel");
        return;
    }
    simulate(r, u, "hir", 0);
    if (r->outcome.verdict == FINE)
        r->was_evaluated = evaluate(r, u);
    ir_pass_options options = {.verify_each = true, .wide_access = true};
    ir_pass_context px = {.module = u->module, .scratch = &u->scratch, .diags = &u->diags, .options = &options};
    for (int i = 0; ir_pass_at(i) && r->outcome.verdict == FINE; i++) {
        const char *level = ir_pass_at(i)->name;
        if (!ir_run_pass(&px, ir_pass_at(i)) || u->diags.shown_errors) {
            if (!refused(r, u, level))
                settle(r, BROKEN, level, 0, "the pass failed without a message");
            return;
        }
        if (px.changed || !ir_pass_at(i + 1))
            simulate(r, u, level, i + 1);
    }
}

static outcome run_text(arena *a, const pg_program *p, const char *text, bool *was_evaluated)
{
    const arch *target = arch_find(STR("sm_90a"));
    const pl_options options = {.input = "fuzz.hds", .archs = &target, .arch_count = 1, .verify_ir = true, .memory_limit_bytes = 1 << 30};
    run r = {.program = p, .text = text, .arena = a};
    pl_unit u;
    pl_unit_init(&u, &options, target, 0);
    u.input = str_of(text);
    u.input_name = options.input;
    u.is_first = true;
    current = &r;
    pl_unit_run(&u, run_levels);
    if (u.status == PL_NO_MEMORY)
        settle(&r, TOO_LONG, "", 0, "out of memory");
    pl_unit_free(&u);
    if (was_evaluated)
        *was_evaluated = r.was_evaluated;
    return r.outcome;
}

static bool is_failure(verdict v)
{
    return v >= DIFFERENT;
}

// ---- shrinking ---------------------------------------------------------------------------------------------------------

// A smaller program counts if it fails in the same way.
typedef struct shrinker {
    arena *arena;
    const pg_program *program;
    pg_lines lines;
    outcome wanted;
    int tries;
} shrinker;

static bool is_pass(const char *level)
{
    return level && ir_pass_find(level);
}

static bool still_fails(shrinker *s, const pg_lines *lines)
{
    arena scratch;
    arena_init(&scratch, NULL);
    outcome o = run_text(&scratch, s->program, pg_text(&scratch, lines), NULL);
    arena_free(&scratch);
    s->tries++;
    return o.verdict == s->wanted.verdict && o.code == s->wanted.code && is_pass(o.level) == is_pass(s->wanted.level);
}

static bool continues_if(const char *text)
{
    return strncmp(text, "el", 2) == 0 && text[strlen(text) - 1] == ':';
}

// The end of what belongs to line [at]; the other branches of an if go with it.
static size_t end_of(const pg_lines *lines, size_t at)
{
    size_t end = at + 1;
    while (end < lines->len && (lines->at[end].depth > lines->at[at].depth ||
                                (lines->at[end].depth == lines->at[at].depth && continues_if(lines->at[end].text) &&
                                 strncmp(lines->at[at].text, "else", 4) != 0)))
        end++;
    return end;
}

static bool without(shrinker *s, size_t at, size_t end, bool keep_body)
{
    pg_lines next = {0};
    for (size_t i = 0; i < s->lines.len; i++) {
        pg_line line = s->lines.at[i];
        if (i >= at && i < end) {
            if (!keep_body || line.depth <= s->lines.at[at].depth)
                continue;
            line.depth--;
        }
        VEC_PUSH(s->arena, &next, line);
    }
    if (next.len == s->lines.len || !still_fails(s, &next))
        return false;
    s->lines = next;
    return true;
}

static bool is_kept(const char *text)
{
    return strstr(text, "def kernel") || strstr(text, "attrs.cuda") || strncmp(text, "from ", 5) == 0 || text[0] == '@';
}

static bool drop_lines(shrinker *s)
{
    bool any = false;
    for (size_t i = s->lines.len; i-- > 2;) {
        if (i >= s->lines.len || is_kept(s->lines.at[i].text))
            continue;
        size_t end = end_of(&s->lines, i);
        any |= without(s, i, end, false) || (end > i + 1 && without(s, i, end, true));
    }
    return any;
}

static size_t close_of(const char *text, size_t open)
{
    int depth = 0;
    for (size_t i = open; text[i]; i++) {
        depth += text[i] == '(' || text[i] == '[';
        depth -= text[i] == ')' || text[i] == ']';
        if (!depth)
            return i;
    }
    return 0;
}

static bool with_text(shrinker *s, size_t at, const char *text)
{
    const char *old = s->lines.at[at].text;
    s->lines.at[at].text = text;
    if (still_fails(s, &s->lines))
        return true;
    s->lines.at[at].text = old;
    return false;
}

// "(a + b)" as "a", as "b", and as "1".
static bool simplify_group(shrinker *s, size_t at, size_t open)
{
    const char *text = s->lines.at[at].text;
    size_t close = close_of(text, open), inner = open + 1;
    if (!close || close <= inner + 1)
        return false;
    int depth = 0;
    size_t first = 0, second = 0;
    for (size_t i = inner; i < close; i++) {
        depth += text[i] == '(' || text[i] == '[';
        depth -= text[i] == ')' || text[i] == ']';
        if (!depth && text[i] == ' ') {
            first = first ? first : i;
            second = i + 1;
        }
    }
    const char *ways[3] = {NULL};
    int count = 0;
    bool is_call = open && text[open - 1] != ' ' && text[open - 1] != '(' && text[open - 1] != '[';
    if (first && !is_call) {
        ways[count++] = arena_printf(s->arena, "%.*s%.*s%s", (int)open, text, (int)(first - inner), text + inner, text + close + 1);
        ways[count++] = arena_printf(s->arena, "%.*s%.*s%s", (int)open, text, (int)(close - second), text + second, text + close + 1);
    }
    ways[count++] = arena_printf(s->arena, "%.*s(1)%s", (int)open, text, text + close + 1);
    for (int i = 0; i < count; i++)
        if (with_text(s, at, ways[i]))
            return true;
    return false;
}

static bool simplify_lines(shrinker *s)
{
    bool any = false;
    for (size_t i = 2; i < s->lines.len; i++) {
        if (strstr(s->lines.at[i].text, "def ") || is_kept(s->lines.at[i].text))
            continue;
        for (size_t k = 0; s->lines.at[i].text[k]; k++)
            while (s->lines.at[i].text[k] == '(' && s->tries < 3000 && simplify_group(s, i, k))
                any = true;
    }
    return any;
}

static void shrink(arena *a, const pg_program *p, outcome wanted, const char **text)
{
    shrinker s = {.arena = a, .program = p, .wanted = wanted};
    for (size_t i = 0; i < p->lines.len; i++)
        VEC_PUSH(a, &s.lines, p->lines.at[i]);
    for (bool any = true; any && s.tries < 3000;) {
        any = drop_lines(&s);
        // With other expressions the program itself may do what it must not; only later levels tell that apart.
        if (wanted.verdict != FOUND || is_pass(wanted.level))
            any |= simplify_lines(&s);
    }
    *text = pg_text(a, &s.lines);
}

// ---- running -----------------------------------------------------------------------------------------------------------

static verdict run_seed(uint64_t seed, bool verbose, int *evaluated)
{
    arena memory;
    arena_init(&memory, NULL);
    pg_program *p = pg_make(&memory, seed);
    const char *text = pg_text(&memory, &p->lines);
    bool was_evaluated;
    outcome o = run_text(&memory, p, text, &was_evaluated);
    *evaluated += was_evaluated;
    if (is_failure(o.verdict)) {
        const char *smaller = text;
        shrink(&memory, p, o, &smaller);
        outcome again = run_text(&memory, p, smaller, NULL);
        fprintf(stderr, "---- seed %llu: %s after %s: %s\n%s\n", (unsigned long long)seed, verdict_names[o.verdict], again.level,
                again.text, smaller);
    } else if (o.verdict != FINE && verbose) {
        fprintf(stderr, "---- seed %llu: %s at %s: %s\n", (unsigned long long)seed, verdict_names[o.verdict], o.level, o.text);
    }
    arena_free(&memory);
    return o.verdict;
}

typedef struct task {
    uint64_t first, count;
    bool verbose;
    int seen[6], evaluated;
} task;

static void *run_seeds(void *user)
{
    task *t = user;
    for (uint64_t i = 0; i < t->count; i++)
        t->seen[run_seed(t->first + i, t->verbose, &t->evaluated)]++;
    return NULL;
}

// The elaborator recurses with the nesting of the source, as pl_job_run knows: the same stack as there.
static void run_on_large_stack(task *t)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, run_seeds, t) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    task t = {.count = 1};
    memcpy(&t.first, data, size < sizeof t.first ? size : sizeof t.first);
    run_on_large_stack(&t);
    if (t.seen[DIFFERENT] || t.seen[FOUND] || t.seen[BROKEN])
        __builtin_trap();
    return 0;
}

#ifndef HDS_FUZZ
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "show") == 0) {
        arena memory;
        arena_init(&memory, NULL);
        fputs(pg_text(&memory, &pg_make(&memory, strtoull(argv[2], NULL, 10))->lines), stdout);
        arena_free(&memory);
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: fuzz_passes FIRST COUNT, or fuzz_passes show SEED\n");
        return 2;
    }
    task t = {.first = strtoull(argv[1], NULL, 10), .count = strtoull(argv[2], NULL, 10), .verbose = argc > 3};
    run_on_large_stack(&t);
    int failures = 0;
    for (int i = 0; i < 6; i++) {
        printf("%s%d %s", i ? ", " : "", t.seen[i], verdict_names[i]);
        failures += is_failure((verdict)i) ? t.seen[i] : 0;
    }
    printf("; %d evaluated\n", t.evaluated);
    // A generator whose programs are refused tests nothing.
    return failures || (uint64_t)t.seen[REJECTED] * 10 > t.count;
}
#endif
