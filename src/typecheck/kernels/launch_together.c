// Launches that do not depend on each other: Note [launches side by side].
//
// Note [launches side by side]. A kernel of few blocks leaves most of a GPU idle, and a launch takes about a microsecond. So
// launch_together(f, g, …) calls functions of which none depends on what another one launches, and joins kernels that fit
// (ir_join_kernels): their launches become one, behind the statements of all.
//
//   * A function takes part that launches one kernel, whatever happens. What it does besides has to be done before.
//   * Copies of one kernel are always joined: each has the registers and the shared memory that it had. Other kernels are joined
//     where all their blocks are known to be few, since each gets the resources of the one that needs most.
//   * The same kernels are joined once in a host function.
#include <string.h>

#include "target/gpu.h"
#include "typecheck/kernels/kernels.h"

enum { BLOCKS_PER_SM = 4 }; // of kernels that differ, at most

typedef VEC(ir_stmt *) statements;

// The launch of [count] statements from [at] on, and nothing else that runs on the GPU; NULL: there is more, or less.
static ir_stmt *only_launch(ir_stmt *const *at, size_t count)
{
    ir_stmt *launch = NULL;
    for (size_t i = 0; i < count; i++) {
        ir_stmt_kind kind = at[i]->kind;
        bool is_before = kind == IR_DECL || kind == IR_ALLOC || kind == IR_ASSERT || kind == IR_ASSUME || kind == IR_COMMENT;
        if (kind == IR_LAUNCH && !launch)
            launch = at[i];
        else if (!is_before)
            return NULL;
    }
    return launch;
}

static bool are_few(const tc *tx, const statements *launches, const ir_stmt *more)
{
    const gpu_model *g = tx->options->gpu ? tx->options->gpu : gpu_of_arch(tx->ir->arch);
    int64_t count = ir_blocks_of(tx->ir, more), most = (int64_t)BLOCKS_PER_SM * g->sm_count;
    bool is_known = count >= 0;
    for (size_t i = 0; i < launches->len && is_known && count <= most; i++) {
        int64_t blocks = ir_blocks_of(tx->ir, launches->at[i]);
        is_known = blocks >= 0;
        count += blocks;
    }
    return is_known && count <= most;
}

static bool fits(const tc *tx, const statements *launches, const ir_stmt *launch)
{
    bool same = true;
    for (size_t i = 0; i < launches->len; i++) {
        same &= launches->at[i]->func == launch->func;
        if (!ir_can_join(tx->ir, launches->at[i]->func, launch->func))
            return false;
    }
    return same || are_few(tx, launches, launch);
}

static ir_func *joined_kernel(tc *tx, const statements *launches, const str_buf *key)
{
    ir_func *known = map_get(&tx->lifetime->joined, key->at, key->len);
    if (known)
        return known;
    const ir_func *first = launches->at[0]->func;
    const char *name = tc_unique_name(tx, arena_printf(tx->arena, "%s_and_%zu", first->name, launches->len - 1), false);
    ir_func *kernel = ir_join_kernels(tx->ir, launches->at, (int)launches->len, name, first->span);
    kernel->title = arena_printf(tx->ir->lasting, "%s and %zu more", first->title, launches->len - 1);
    map_put(&tx->lifetime->joined, key->at, key->len, kernel);
    return kernel;
}

// The launches, which are in the block, become one at its end.
static void join(tc *tx, const statements *launches)
{
    ir_block *b = tx->block;
    size_t kept = 0;
    for (size_t i = 0; i < b->stmts.len; i++) {
        bool goes = false;
        for (size_t k = 0; k < launches->len; k++)
            goes |= b->stmts.at[i] == launches->at[k];
        if (!goes)
            b->stmts.at[kept++] = b->stmts.at[i];
    }
    b->stmts.len = kept;
    str_buf key;
    str_buf_init(&key, tx->arena);
    const ir_expr_list arguments = ir_joined_arguments(tx->ir, launches->at, (int)launches->len, &key);
    ir_stmt *s = ir_new_stmt(tx->ir, IR_LAUNCH, launches->at[0]->span, launches->at[0]->origin);
    s->func = joined_kernel(tx, launches, &key);
    s->args = arguments.at;
    s->arg_count = (int)arguments.len;
    s->joined = ARENA_ARRAY(tx->ir->arena, ir_place, launches->len);
    s->count = (int)launches->len;
    for (size_t i = 0; i < launches->len; i++)
        s->joined[i] = (ir_place){launches->at[i]->span, launches->at[i]->origin};
    ir_append(tx->ir, b, s);
}

// Each joins the first ones that it fits.
static void join_those_that_fit(tc *tx, statements *launches)
{
    while (launches->len) {
        statements together = {0}, others = {0};
        for (size_t i = 0; i < launches->len; i++) {
            bool is_fit = fits(tx, &together, launches->at[i]);
            VEC_PUSH(tx->arena, is_fit ? &together : &others, launches->at[i]);
        }
        if (together.len > 1)
            join(tx, &together);
        *launches = others;
    }
}

tc_value tc_native_launch_together(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    ir_block *block = tx->block;
    statements launches = {0};
    for (size_t i = 0; i < args->list.len; i++) {
        size_t first = block ? block->stmts.len : 0;
        tc_call_values(tx, args->list.at[i].value, NULL, 0, args->list.at[i].span);
        if (tx->aborted)
            return tc_none();
        bool is_here = block && tx->block == block && tc_on_host(tx) && !tx->speculating && tx->lifetime;
        ir_stmt *launch = is_here ? only_launch(block->stmts.at + first, block->stmts.len - first) : NULL;
        if (launch)
            VEC_PUSH(tx->arena, &launches, launch);
    }
    join_those_that_fit(tx, &launches);
    return tc_none();
}
