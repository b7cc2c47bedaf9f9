// Runs launch plans: statement by statement, on the current GPU or on a machine that the caller gives.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

// Values of a plan that need no memory from the heap.
enum { FEW_VALUES = 160, FEW_PARAMETERS = 48 };

typedef struct loop {
    uint64_t end, step;
} loop;

typedef struct run {
    const jit_function *f;
    const plan *plan;
    const jit_machine *machine;
    uint64_t *values;  // of the plan
    int64_t *held;     // by value: the bytes of a temporary that is not released; -1: none
    loop *loops;       // by number
    int64_t total;     // bytes that are held
    bool has_workspace;
    uint64_t workspace;
    uint64_t result;
    bool has_result;   // a RETURN has set it
} run;

static hdsrt_status fail_in(const run *r, const char *what)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s", r->f->entry.launch.name, what);
}

static const char *trouble_text(plan_trouble trouble)
{
    switch (trouble) {
    case PLAN_FINE: return "it is fine";
    case PLAN_ZERO_DIVISION: return "it divides by zero";
    case PLAN_TOO_LARGE: return "a tensor of it is too large for any memory";
    case PLAN_NEGATIVE: return "a tensor of it has a negative extent";
    }
    return "";
}

static hdsrt_status evaluate(const run *r, int node, uint64_t *out)
{
    plan_trouble trouble = plan_evaluate(r->plan, node, r->values, out);
    return trouble ? fail_in(r, trouble_text(trouble)) : HDSRT_OK;
}

static hdsrt_status evaluate_all(const run *r, const plan_stmt *s, uint64_t *out)
{
    hdsrt_status status = HDSRT_OK;
    for (int i = 0; i < s->arg_count && !status; i++)
        status = evaluate(r, s->args[i], &out[i]);
    return status;
}

// ---- temporaries -----------------------------------------------------------------------------------------------

static hdsrt_status release(run *r, int value)
{
    int64_t bytes = r->held[value];
    if (bytes < 0)
        return HDSRT_OK;
    r->held[value] = -1;
    r->total -= bytes;
    return r->machine->release(r->machine->user, r->values[value]);
}

// Runs that are in flight at one time have one each.
static hdsrt_status take_workspace(run *r)
{
    int64_t bytes = r->plan->planned;
    if (r->has_workspace)
        return HDSRT_OK;
    hdsrt_status status = r->machine->allocate(r->machine->user, "workspace", NULL, bytes, &r->workspace);
    if (status == HDSRT_OUT_OF_MEMORY)
        return hdsrt_fail(status, "'%s': there is no memory for its temporaries, %" PRId64 " bytes", r->f->entry.launch.name,
                          bytes);
    r->has_workspace = !status;
    return status;
}

static hdsrt_status allocate_alone(run *r, const plan_stmt *s)
{
    int64_t bytes = 0;
    uint64_t address = 0;
    plan_trouble trouble = plan_bytes(r->plan, s, r->values, &bytes);
    const char *name = r->plan->values.at[s->value].name;
    hdsrt_status status = trouble ? fail_in(r, trouble_text(trouble)) : release(r, s->value);
    if (!status)
        status = r->machine->allocate(r->machine->user, name, s, bytes, &address);
    if (status == HDSRT_OUT_OF_MEMORY)
        return hdsrt_fail(status,
                          "'%s': there is no memory for '%s', a temporary of %" PRId64 " bytes, beside %" PRId64
                          " bytes of others",
                          r->f->entry.launch.name, name, bytes, r->total);
    if (status)
        return status;
    r->values[s->value] = address;
    r->held[s->value] = bytes;
    r->total += bytes;
    return HDSRT_OK;
}

static hdsrt_status allocate(run *r, const plan_stmt *s)
{
    if (!s->is_placed || !r->machine->has_workspace)
        return allocate_alone(r, s);
    hdsrt_status status = take_workspace(r);
    r->values[s->value] = r->workspace + (uint64_t)s->offset;
    return status;
}

static hdsrt_status release_all(run *r, hdsrt_status status)
{
    for (size_t i = 0; i < r->plan->values.len; i++) {
        hdsrt_status released = r->plan->values.at[i].is_temporary ? release(r, (int)i) : HDSRT_OK;
        status = status ? status : released;
    }
    hdsrt_status released = r->has_workspace ? r->machine->release(r->machine->user, r->workspace) : HDSRT_OK;
    return status ? status : released;
}

// ---- effects ---------------------------------------------------------------------------------------------------

static hdsrt_status launch(run *r, const plan_stmt *s, jit_kernel *kernel)
{
    uint64_t few[FEW_PARAMETERS], *bits = few;
    if (s->arg_count > FEW_PARAMETERS)
        bits = malloc((size_t)s->arg_count * sizeof *bits);
    if (!bits)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for the arguments of '%s'", r->f->entry.launch.name, s->text);
    hdsrt_status status = evaluate_all(r, s, bits);
    if (!status)
        status = r->machine->launch(r->machine->user, s, kernel, bits);
    if (bits != few)
        free(bits);
    return status;
}

static hdsrt_status fill(run *r, const plan_stmt *s)
{
    uint64_t a[3];
    hdsrt_status status = evaluate_all(r, s, a);
    if (!status && (int64_t)a[2] < 0)
        return fail_in(r, "it fills a negative number of elements");
    return status ? status : r->machine->fill(r->machine->user, a[0], a[1], s->bytes, (int64_t)a[2]);
}

static hdsrt_status copy(run *r, const plan_stmt *s)
{
    uint64_t a[3];
    hdsrt_status status = evaluate_all(r, s, a);
    if (!status && (int64_t)a[2] < 0)
        return fail_in(r, "it copies a negative number of bytes");
    return status ? status : r->machine->copy(r->machine->user, a[0], a[1], (int64_t)a[2]);
}

static hdsrt_status print(const run *r, const plan_stmt *s)
{
    arena a;
    str_buf text;
    arena_init(&a, NULL);
    str_buf_init(&text, &a);
    uint64_t *bits = ARENA_ARRAY(&a, uint64_t, s->arg_count + 1);
    plan_type *types = ARENA_ARRAY(&a, plan_type, s->arg_count + 1);
    for (int i = 0; i < s->arg_count; i++)
        types[i] = r->plan->nodes.at[s->args[i]].type;
    hdsrt_status status = evaluate_all(r, s, bits);
    if (!status)
        plan_format(&text, s->text, types, bits);
    if (!status && r->machine->print)
        r->machine->print(r->machine->user, (str){str_text(&text), text.len});
    arena_free(&a);
    return status;
}

// As generated code says it (src/cuda_emit/check.c).
static hdsrt_status check(const run *r, const plan_stmt *s)
{
    uint64_t holds = 0;
    const char *colon = *s->text ? ": " : "";
    hdsrt_status status = evaluate(r, s->args[0], &holds);
    if (status || holds)
        return status;
    if (!s->file)
        return hdsrt_fail(HDSRT_ASSERTION, "assertion failed%s%s", colon, s->text);
    return hdsrt_fail(HDSRT_ASSERTION, "%s:%" PRIu32 ": assertion failed%s%s", s->file, s->line, colon, s->text);
}

// ---- control ---------------------------------------------------------------------------------------------------

static bool goes_on(const run *r, const plan_stmt *s)
{
    plan_type t = r->plan->values.at[s->value].type;
    uint64_t at = r->values[s->value], end = r->loops[s->loop].end, step = r->loops[s->loop].step;
    if (!dt_is_signed(t))
        return at < end;
    return (int64_t)step > 0 ? (int64_t)at < (int64_t)end : (int64_t)at > (int64_t)end;
}

static hdsrt_status enter_for(run *r, const plan_stmt *s, size_t *next)
{
    uint64_t bounds[3];
    hdsrt_status status = evaluate_all(r, s, bounds);
    if (status)
        return status;
    if (!bounds[2])
        return fail_in(r, "a loop of it has the step 0");
    r->values[s->value] = bounds[0];
    r->loops[s->loop] = (loop){bounds[1], bounds[2]};
    *next = goes_on(r, s) ? *next : (size_t)s->target + 1;
    return HDSRT_OK;
}

// The next turn of a FOR, unless the counter would leave its type; a WHILE looks at its condition again.
static void end_block(run *r, const plan_stmt *s, size_t *next)
{
    const plan_stmt *opener = &r->plan->stmts.at[s->target];
    if (opener->kind == PLAN_WHILE)
        *next = (size_t)s->target;
    if (opener->kind != PLAN_FOR)
        return;
    uint64_t before = r->values[opener->value], step = r->loops[opener->loop].step;
    plan_type t = r->plan->values.at[opener->value].type;
    uint64_t after = plan_canonical(t, before + step);
    bool wraps = dt_is_signed(t) ? ((int64_t)after > (int64_t)before) != ((int64_t)step > 0) : after < before;
    r->values[opener->value] = after;
    *next = !wraps && goes_on(r, opener) ? (size_t)s->target + 1 : *next;
}

static hdsrt_status branch(run *r, const plan_stmt *s, size_t *next)
{
    uint64_t holds = 0;
    hdsrt_status status = evaluate(r, s->args[0], &holds);
    *next = holds ? *next : (size_t)s->target + 1;
    return status;
}

static hdsrt_status set(run *r, const plan_stmt *s)
{
    uint64_t value = 0;
    hdsrt_status status = evaluate(r, s->args[0], &value);
    r->values[s->value] = value;
    return status;
}

static hdsrt_status give_back(run *r, const plan_stmt *s, size_t *next)
{
    *next = r->plan->stmts.len;
    r->has_result = s->arg_count;
    return s->arg_count ? evaluate(r, s->args[0], &r->result) : HDSRT_OK;
}

// [*next]: the index of the statement behind this one, or of where it leads.
static hdsrt_status step(run *r, const plan_stmt *s, size_t *next)
{
    switch (s->kind) {
    case PLAN_LET:
    case PLAN_SET: return set(r, s);
    case PLAN_CHECK: return check(r, s);
    case PLAN_IF:
    case PLAN_WHILE: return branch(r, s, next);
    case PLAN_FOR: return enter_for(r, s, next);
    case PLAN_ELSE: *next = (size_t)s->target + 1; break;
    case PLAN_END: end_block(r, s, next); break;
    case PLAN_CONTINUE: *next = (size_t)r->plan->stmts.at[s->target].target; break;
    case PLAN_BREAK:
    case PLAN_LEAVE: *next = (size_t)r->plan->stmts.at[s->target].target + 1; break;
    case PLAN_RETURN: return give_back(r, s, next);
    case PLAN_ALLOCATE: return allocate(r, s);
    case PLAN_FREE: return release(r, s->value);
    case PLAN_FILL: return fill(r, s);
    case PLAN_COPY: return copy(r, s);
    case PLAN_PRINT: return print(r, s);
    case PLAN_LAUNCH: return launch(r, s, r->f->kernels[*next - 1]);
    case PLAN_SCOPE:
    case PLAN__COUNT: break;
    }
    return HDSRT_OK;
}

static hdsrt_status run_all(run *r)
{
    hdsrt_status status = HDSRT_OK;
    int64_t steps = 0;
    for (size_t at = 0; at < r->plan->stmts.len && !status;) {
        const plan_stmt *s = &r->plan->stmts.at[at++];
        if (r->machine->most_steps && steps++ == r->machine->most_steps)
            return fail_in(r, "it does not end");
        status = step(r, s, &at);
    }
    return !status && r->plan->has_result && !r->has_result ? fail_in(r, "it ends without a result") : status;
}

hdsrt_status jit_run(const jit_function *f, const uint64_t *parameters, const jit_machine *machine, uint64_t *result)
{
    const plan *p = &f->plan;
    uint64_t few[FEW_VALUES];
    size_t count = p->values.len, words = 2 * count + 2 * (size_t)p->loop_count;
    uint64_t *room = words > FEW_VALUES ? malloc(words * sizeof *room) : few;
    if (!room)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for its values", f->entry.launch.name);
    run r = {.f = f, .plan = p, .machine = machine, .values = room, .held = (int64_t *)(room + count)};
    r.loops = (loop *)(room + 2 * count);
    memset(room, 0, words * sizeof *room);
    memset(r.held, -1, count * sizeof *r.held);
    for (int i = 0; i < p->parameter_count; i++)
        r.values[i] = plan_canonical(p->values.at[i].type, parameters[i]);
    hdsrt_status status = release_all(&r, run_all(&r));
    if (result)
        *result = r.result;
    if (room != few)
        free(room);
    return status;
}

// ---- the GPU ---------------------------------------------------------------------------------------------------

// Where generated code and kernels print.
static void print_to_stdout(void *user, str text)
{
    (void)user;
    fwrite(text.at, 1, text.len, stdout);
}

static hdsrt_status gpu_allocate(void *user, const char *name, const plan_stmt *s, int64_t bytes, uint64_t *address)
{
    void *memory = NULL;
    (void)name;
    (void)s;
    hdsrt_status status = hdsrt_allocate(&memory, bytes, user);
    *address = (uint64_t)(uintptr_t)memory;
    return status;
}

static hdsrt_status gpu_release(void *user, uint64_t address)
{
    return hdsrt_release((void *)(uintptr_t)address, user);
}

static hdsrt_status gpu_fill(void *user, uint64_t to, uint64_t pattern, int element_bytes, int64_t count)
{
    return count ? hdsrt_fill((void *)(uintptr_t)to, pattern, element_bytes, count, user) : HDSRT_OK;
}

static hdsrt_status gpu_copy(void *user, uint64_t to, uint64_t from, int64_t bytes)
{
    return hdsrt_copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, user);
}

// The kernel's own launch does the checks and knows the extents.
static hds_argument argument_of(const jit_parameter *p, uint64_t bits)
{
    if (p->shown.kind == HDS_TENSOR || p->shown.kind == HDS_POINTER || jit_is_by_address(p))
        return hds_pointer((void *)(uintptr_t)bits);
    return dt_is_float(p->type) ? hds_float(dt_to_double(p->type, bits)) : hds_int((int64_t)bits);
}

static hdsrt_status gpu_launch(void *user, const plan_stmt *s, jit_kernel *kernel, const uint64_t *bits)
{
    (void)s;
    hds_argument few[FEW_PARAMETERS] = {{0}}, *arguments = few;
    if (kernel->count > FEW_PARAMETERS)
        arguments = malloc((size_t)kernel->count * sizeof *arguments);
    if (!arguments)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for its arguments", kernel->launch.name);
    for (int i = 0; i < kernel->count; i++)
        arguments[i] = argument_of(&kernel->parameters[i], bits[i]);
    hdsrt_status status = jit_launch(kernel, arguments, (size_t)kernel->count, user);
    if (arguments != few)
        free(arguments);
    return status;
}

static hdsrt_status call(const jit_function *f, const hds_argument *arguments, size_t count, const jit_machine *machine,
                         uint64_t *result)
{
    jit_frame frame;
    jit_room room;
    const char *name = f->entry.launch.name;
    if (f->refused)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s", name, f->refused);
    if (f->plan.has_result != (result != NULL))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s' %s", name,
                          result ? "gives no result: launch it" : "gives a result: hds_evaluate computes it");
    hdsrt_status status = jit_take_room(&room, &f->entry, &frame);
    if (status)
        return status;
    status = jit_bind(&frame, arguments, count, JIT_TO_LAUNCH);
    if (!status)
        status = jit_run(f, frame.bits, machine, result);
    free(room.large);
    return status;
}

hdsrt_status jit_evaluate(const jit_function *f, const hds_argument *arguments, size_t count, hds_argument *result)
{
    const jit_machine host = {.print = print_to_stdout};
    plan_type t = f->plan.result;
    uint64_t bits = 0;
    hdsrt_status status = call(f, arguments, count, &host, &bits);
    if (!status)
        *result = dt_is_float(t) ? hds_float(dt_to_double(t, bits)) : hds_int((int64_t)bits);
    return status;
}

hdsrt_status jit_call(const jit_function *f, const hds_argument *arguments, size_t count, hdsrt_stream stream)
{
    const jit_machine gpu = {.user = stream, .has_workspace = true, .allocate = gpu_allocate, .release = gpu_release,
                             .fill = gpu_fill, .copy = gpu_copy, .launch = gpu_launch,
                             .print = print_to_stdout};
    return call(f, arguments, count, &gpu, NULL);
}

// ---- the GPU, with memory of the caller's --------------------------------------------------------------------------

typedef struct lent {
    hdsrt_stream stream;
    void *workspace;
} lent;

static hdsrt_status lent_allocate(void *user, const char *name, const plan_stmt *s, int64_t bytes, uint64_t *address)
{
    const lent *l = user;
    if (s)
        return gpu_allocate(l->stream, name, s, bytes, address);
    *address = (uint64_t)(uintptr_t)l->workspace;
    return HDSRT_OK;
}

static hdsrt_status lent_release(void *user, uint64_t address)
{
    const lent *l = user;
    return address == (uint64_t)(uintptr_t)l->workspace ? HDSRT_OK : gpu_release(l->stream, address);
}

static hdsrt_status lent_fill(void *user, uint64_t to, uint64_t pattern, int element_bytes, int64_t count)
{
    return gpu_fill(((const lent *)user)->stream, to, pattern, element_bytes, count);
}

static hdsrt_status lent_copy(void *user, uint64_t to, uint64_t from, int64_t bytes)
{
    return gpu_copy(((const lent *)user)->stream, to, from, bytes);
}

static hdsrt_status lent_launch(void *user, const plan_stmt *s, jit_kernel *kernel, const uint64_t *bits)
{
    return gpu_launch(((const lent *)user)->stream, s, kernel, bits);
}

hdsrt_status jit_call_in(const jit_function *f, const hds_argument *arguments, size_t count, hdsrt_stream stream, void *workspace)
{
    lent l = {stream, workspace};
    const jit_machine gpu = {.user = &l, .has_workspace = true, .allocate = lent_allocate, .release = lent_release,
                             .fill = lent_fill, .copy = lent_copy, .launch = lent_launch,
                             .print = print_to_stdout};
    return call(f, arguments, count, &gpu, NULL);
}

hdsrt_status jit_workspace(const jit_function *f, const hds_argument *arguments, size_t count, int64_t *bytes)
{
    jit_frame frame;
    jit_room room;
    uint64_t found = 0;
    if (f->refused)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s", f->entry.launch.name, f->refused);
    hdsrt_status status = jit_take_room(&room, &f->entry, &frame);
    if (status)
        return status;
    status = jit_bind(&frame, arguments, count, JIT_TO_MEASURE);
    bool is_planned = f->plan.planned >= 0, is_known = !status && !is_planned && f->plan.workspace >= 0;
    plan_trouble trouble = is_known ? plan_evaluate(&f->plan, f->plan.workspace, frame.bits, &found) : PLAN_FINE;
    if (trouble)
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s", f->entry.launch.name, trouble_text(trouble));
    if (!status)
        *bytes = is_planned ? f->plan.planned : is_known ? (int64_t)found : -1;
    free(room.large);
    return status;
}
