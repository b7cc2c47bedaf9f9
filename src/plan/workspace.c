// The most bytes that the temporaries of a plan have at one time, as an expression over its parameters: an upper bound,
// since conditions are not looked at. And the sizes of temporaries where they are known.

#include "plan/build.h"

#include <string.h>

#include "base/checked.h"

enum { MOST_PEAKS = 64, UNKNOWN = -1 };

// Temporaries that live at one time.
typedef struct peak {
    int *at;
    size_t len;
} peak;

typedef struct tracker {
    plan_builder *b;
    int *known;          // by value: what it is, over the parameters; UNKNOWN
    int *bytes;          // by temporary
    bool *is_stuck;      // by temporary: a way out of its block passes by what frees it
    VEC(int) live;
    VEC(peak) peaks;
    VEC(int *) saved;    // [known], by IF that is open
    int64_t *sizes;      // by temporary: its bytes; NULL: peaks are looked for, and not these
    bool fails;
} tracker;

// ---- expressions ------------------------------------------------------------------------------------------------

static int folded(tracker *t, ir_op op, plan_type type, const int *args, int count)
{
    const plan *p = t->b->plan;
    uint64_t bits = 0;
    bool is_constant = true;
    for (int i = 0; i < count; i++) {
        if (args[i] < 0)
            return UNKNOWN;
        is_constant = is_constant && p->nodes.at[args[i]].op == IR_OP_INT;
    }
    int made = plan_build_node(t->b, op, type, args, count);
    if (made < 0 || !is_constant || plan_evaluate(p, made, NULL, &bits))
        return made;
    return plan_build_constant(t->b, p->nodes.at[made].type, bits);
}

static int join(tracker *t, ir_op op, int a, int b)
{
    return folded(t, op, DT_NONE, (const int[]){a, b}, 2);
}

// A node with what is known of the values that it reads.
static int over_parameters(tracker *t, int node)
{
    const plan_node n = t->b->plan->nodes.at[node];
    int args[3], count = 0;
    if (n.op == IR_OP_INT)
        return node;
    if (n.op == IR_OP_VAR)
        return t->known[n.u.value];
    if (n.op == IR_OP_INTRIN)
        return UNKNOWN;
    for (; count < 3 && n.args[count] >= 0; count++) {
        args[count] = over_parameters(t, n.args[count]);
        if (args[count] < 0)
            return UNKNOWN;
    }
    return folded(t, n.op, n.type, args, count);
}

static int number(tracker *t, int value)
{
    return plan_build_constant(t->b, DT_I64, (uint64_t)value);
}

static int bytes_of(tracker *t, const plan_stmt *s)
{
    int bits = s->elem == DT_NONE ? 64 : dt_bits(s->elem), count = s->arg_count ? UNKNOWN : number(t, 1);
    for (int i = 0; i < s->arg_count; i++) {
        int extent = over_parameters(t, s->args[i]);
        count = i ? join(t, IR_OP_MUL, count, extent) : extent;
    }
    if (bits <= 8 && !(bits < 8 && dt_is_int(s->elem)))
        return count;
    if (bits > 8)
        return join(t, IR_OP_MUL, count, number(t, bits / 8));
    int padded = join(t, IR_OP_ADD, join(t, IR_OP_MUL, count, number(t, bits)), number(t, 7));
    return join(t, IR_OP_FLOORDIV, padded, number(t, 8));
}

static bool is_same(const plan *p, int a, int b)
{
    const plan_node *x = &p->nodes.at[a], *y = &p->nodes.at[b];
    if (x->op != y->op || x->type != y->type || (x->op == IR_OP_INT && x->u.bits != y->u.bits) ||
        (x->op == IR_OP_VAR && x->u.value != y->u.value))
        return false;
    for (int i = 0; i < 3; i++) {
        if ((x->args[i] < 0) != (y->args[i] < 0) || (x->args[i] >= 0 && !is_same(p, x->args[i], y->args[i])))
            return false;
    }
    return true;
}

// ---- peaks ------------------------------------------------------------------------------------------------------

static bool is_part(const tracker *t, const peak *k)
{
    for (size_t i = 0; i < k->len; i++) {
        bool is_found = false;
        for (size_t j = 0; j < t->live.len && !is_found; j++)
            is_found = t->live.at[j] == k->at[i];
        if (!is_found)
            return false;
    }
    return true;
}

// As plan_bytes counts them.
static void measure(tracker *t, const plan_stmt *s)
{
    const plan *p = t->b->plan;
    int64_t bits = s->elem == DT_NONE ? 64 : dt_bits(s->elem);
    bool is_empty = false;
    bits = bits < 8 && !dt_is_int(s->elem) ? 8 : bits;
    for (int i = 0; i < s->arg_count && !t->fails; i++) {
        int at = over_parameters(t, s->args[i]);
        int64_t extent = at >= 0 && p->nodes.at[at].op == IR_OP_INT ? (int64_t)p->nodes.at[at].u.bits : -1;
        is_empty = is_empty || !extent;
        t->fails = extent < 0 || !mul_checked(bits, is_empty ? 0 : extent, &bits);
    }
    t->sizes[s->value] = is_empty ? 0 : (bits - 1) / 8 + 1;
}

static void take(tracker *t, const plan_stmt *s)
{
    bool is_live = false;
    if (t->sizes) {
        measure(t, s);
        return;
    }
    t->bytes[s->value] = bytes_of(t, s);
    t->fails = t->fails || t->bytes[s->value] < 0;
    for (size_t i = 0; i < t->live.len; i++)
        is_live = is_live || t->live.at[i] == s->value;
    if (!is_live)
        VEC_PUSH(t->b->arena, &t->live, s->value);
    if (t->peaks.len && is_part(t, &VEC_LAST(&t->peaks)))
        t->peaks.len--;
    peak k = {arena_dup(t->b->arena, t->live.at, t->live.len * sizeof *t->live.at), t->live.len};
    VEC_PUSH(t->b->arena, &t->peaks, k);
}

static void give_back(tracker *t, int value)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->live.len; i++) {
        if (t->live.at[i] != value || t->is_stuck[value])
            t->live.at[kept++] = t->live.at[i];
    }
    t->live.len = kept;
}

// ---- statements -------------------------------------------------------------------------------------------------

// What is assigned between two statements is not known.
static void forget(tracker *t, size_t from, size_t to)
{
    const plan *p = t->b->plan;
    for (size_t i = from; i < to; i++) {
        if (p->stmts.at[i].kind == PLAN_SET)
            t->known[p->stmts.at[i].value] = UNKNOWN;
    }
}

static size_t end_of(const plan *p, size_t opener)
{
    size_t at = (size_t)p->stmts.at[opener].target;
    return p->stmts.at[at].kind == PLAN_ELSE ? (size_t)p->stmts.at[at].target : at;
}

static void enter(tracker *t, size_t at)
{
    const plan *p = t->b->plan;
    const plan_stmt *s = &p->stmts.at[at];
    if (s->kind == PLAN_IF)
        VEC_PUSH(t->b->arena, &t->saved, arena_dup(t->b->arena, t->known, p->values.len * sizeof *t->known));
    else if (s->kind != PLAN_SCOPE)
        forget(t, at, end_of(p, at));
}

static void leave(tracker *t, size_t at)
{
    const plan *p = t->b->plan;
    size_t opener = (size_t)p->stmts.at[at].target;
    while (p->stmts.at[opener].kind == PLAN_ELSE)
        opener = (size_t)p->stmts.at[opener].target;
    if (p->stmts.at[opener].kind == PLAN_IF)
        (void)VEC_POP(&t->saved);
    forget(t, opener, at);
}

static void set(tracker *t, const plan_stmt *s)
{
    plan_type type = t->b->plan->values.at[s->value].type;
    bool counts = type == DT_BOOL || (type != DT_NONE && dt_is_int(type));
    t->known[s->value] = counts ? over_parameters(t, s->args[0]) : UNKNOWN;
}

static void see(tracker *t, size_t at)
{
    const plan *p = t->b->plan;
    const plan_stmt s = p->stmts.at[at];
    switch (s.kind) {
    case PLAN_LET:
    case PLAN_SET: set(t, &s); break;
    case PLAN_IF:
    case PLAN_FOR:
    case PLAN_WHILE:
    case PLAN_SCOPE: enter(t, at); break;
    case PLAN_ELSE: memcpy(t->known, VEC_LAST(&t->saved), p->values.len * sizeof *t->known); break;
    case PLAN_END: leave(t, at); break;
    case PLAN_BREAK:
    case PLAN_CONTINUE:
    case PLAN_LEAVE:
        for (size_t i = 0; i < t->live.len; i++)
            t->is_stuck[t->live.at[i]] = true;
        break;
    case PLAN_ALLOCATE: take(t, &s); break;
    case PLAN_FREE:
        if (!t->sizes)
            give_back(t, s.value);
        break;
    default: break;
    }
}

// Constants are compared at once; of others there may be few.
static int largest(tracker *t)
{
    int sums[MOST_PEAKS], count = 0, zero = plan_build_constant(t->b, DT_I64, 0), known = zero;
    for (size_t k = 0; k < t->peaks.len; k++) {
        int sum = zero;
        for (size_t i = 0; i < t->peaks.at[k].len; i++)
            sum = i ? join(t, IR_OP_ADD, sum, t->bytes[t->peaks.at[k].at[i]]) : t->bytes[t->peaks.at[k].at[i]];
        if (sum >= 0 && t->b->plan->nodes.at[sum].op == IR_OP_INT) {
            known = join(t, IR_OP_MAX, known, sum);
            continue;
        }
        bool is_new = sum >= 0;
        for (int i = 0; i < count && is_new; i++)
            is_new = !is_same(t->b->plan, sums[i], sum);
        if (sum < 0 || (is_new && count == MOST_PEAKS))
            return UNKNOWN;
        if (is_new)
            sums[count++] = sum;
    }
    int all = count ? sums[0] : known;
    for (int i = 1; i < count; i++)
        all = join(t, IR_OP_MAX, all, sums[i]);
    return count && known >= 0 && t->b->plan->nodes.at[known].u.bits ? join(t, IR_OP_MAX, all, known) : all;
}

static void track(tracker *t, plan_builder *b)
{
    const plan *p = b->plan;
    t->b = b;
    t->known = ARENA_ARRAY(b->arena, int, p->values.len + 1);
    t->bytes = ARENA_ARRAY(b->arena, int, p->values.len + 1);
    t->is_stuck = ARENA_ARRAY(b->arena, bool, p->values.len + 1);
    for (size_t i = 0; i < p->values.len; i++)
        t->known[i] = (int)i < p->parameter_count ? plan_build_read(b, (int)i) : UNKNOWN;
    for (size_t i = 0; i < p->stmts.len && !t->fails; i++)
        see(t, i);
}

int plan_build_workspace(plan_builder *b)
{
    tracker t = {0};
    if (b->why)
        return UNKNOWN;
    track(&t, b);
    int result = t.fails ? UNKNOWN : largest(&t);
    // Too large an expression is not an error of the plan.
    b->why = NULL;
    return result;
}

bool plan_build_sizes(plan_builder *b, int64_t *sizes)
{
    tracker t = {.sizes = sizes};
    size_t before = b->plan->nodes.len;
    if (b->why)
        return false;
    track(&t, b);
    b->plan->nodes.len = before;
    b->why = NULL;
    return !t.fails;
}
