// Tensor maps: tensor_map(tensor, box, …), im2col_map(tensor, pixels, channels, …), their attributes, and whether a tile in
// shared memory is what copies through them write and read.
//
// A map is launch-time data of the kernel (ir_func.maps), and the value its variable. Equal maps are one.
#include "typecheck/lowering/lowering.h"

#include <string.h>

enum { ROW_UNIT = 16, LEAST_ALIGN = 128 };

static const tc_native check_method = {"check", NULL, 1, 1, "tile", 0};

static const ir_tensor_map *map_of(tc_value v)
{
    return v.tensor_map->map;
}

static const ir_tensor *described(const ir_tensor_map *of)
{
    return of->tensor->tensor;
}

// ---- what a map can be made of -------------------------------------------------------------------------------------

static tc_value no_map(tc *tx, src_span span, tc_value of, const char *why, const char *help)
{
    const char *what =
        of.kind == TC_TENSOR ? arena_printf(tx->arena, "'%s'", of.tensor->base->name) : tc_describe(tx, of);
    diag *d = tc_error(tx, HDS0761, span, what, why);
    if (help)
        diag_help(d, "%s", help);
    return tc_poison();
}

static bool is_parameter(const tc *tx, const ir_var *v)
{
    for (size_t i = 0; i < tx->func->params.len; i++)
        if (tx->func->params.at[i] == v)
            return true;
    return false;
}

static bool check_target(tc *tx, const char *maker, src_span span)
{
    const arch *needs = arch_find(STR("sm_90"));
    if (!tx->func || tx->func->kind != IR_KERNEL) {
        diag *d = tc_error(tx, HDS0104, span, maker);
        diag_help(d, "a tensor map belongs to a launch: make it in the kernel, and pass it to functions");
        return false;
    }
    if (arch_has(tx->ir->arch, needs))
        return true;
    diag *d = tc_error(tx, HDS0245, span, maker, needs->name, tx->ir->arch->name);
    diag_help(d, "compile with --arch %s or newer; hidet.lang.async_copy has copies for older ones", needs->name);
    return false;
}

static bool has_dense_rows(const ir_tensor *t)
{
    int64_t stride;
    return ir_const_int(t->strides[t->rank - 1], &stride) && stride == 1;
}

static bool check_tensor(tc *tx, tc_value v, src_span span)
{
    if (v.kind != TC_TENSOR) {
        no_map(tx, span, v, "it is not a tensor", NULL);
        return false;
    }
    const tc_tensor *t = v.tensor;
    const ir_tensor *info = t->base->tensor;
    const char *why = NULL, *help = NULL;
    if (info->space != IR_GLOBAL || !is_parameter(tx, t->base))
        why = "it is not a tensor parameter of the kernel",
        help = "the launcher makes the map from what it is given; take the tensor as a parameter";
    else if (t->is_view)
        why = "it is a part or another order of a tensor",
        help = "make the map of the whole tensor, and copy at its coordinates";
    else if (t->rank < 1 || t->rank > IR_MAP_MAX_RANK)
        why = arena_printf(tx->arena, "it has %d dimensions, and TMA supports 1 to %d", t->rank, IR_MAP_MAX_RANK);
    else if (info->elem->kind != IR_SCALAR || dt_bits(info->elem->scalar) % 8)
        why = "its elements are no scalars of 1, 2, 4 or 8 bytes";
    else if (info->layout && !tm_layout_is_row_major(info->layout))
        why = "its elements are not in row-major order";
    else if (info->is_strided && !has_dense_rows(info))
        why = "its last stride is not known to be 1", help = "TMA takes contiguous rows: write strided(T[…], [ld, 1])";
    if (why)
        no_map(tx, span, v, why, help);
    return !why;
}

static bool set_box(tc *tx, tc_value tensor, tc_value v, ir_tensor_map *of, src_span span)
{
    const char *why = NULL;
    int rank = described(of)->rank;
    bool is_list = v.kind == TC_TUPLE || v.kind == TC_LIST;
    int64_t given = is_list ? (int64_t)v.list->len : 1;
    if (given != rank)
        why = arena_printf(tx->arena, "the box has %lld extents, and the tensor %d dimensions", (long long)given, rank);
    for (int i = 0; !why && i < rank; i++) {
        tc_value item = is_list ? v.list->at[i] : v;
        int64_t extent;
        if (!tc_as_int64(item, &extent))
            why = arena_printf(tx->arena, "an extent of the box is %s, and not known while compiling",
                               tc_describe(tx, item));
        else if (extent < 1 || extent > IR_MAP_MAX_BOX)
            why = arena_printf(tx->arena, "an extent of the box is %lld, and 1 to %d are possible", (long long)extent,
                               IR_MAP_MAX_BOX);
        else
            of->box[i] = (int)extent;
    }
    if (why)
        no_map(tx, span, tensor, why, NULL);
    return !why;
}

static bool set_bytes(tc *tx, tc_value tensor, tc_value v, const int *known, const char *what, int *out, src_span span)
{
    int64_t n;
    for (int i = 0; tc_as_int64(v, &n) && i < 4; i++)
        if (known[i] == n) {
            *out = (int)n;
            return true;
        }
    const char *why = arena_printf(tx->arena, "its %s is %d, %d, %d or %d bytes, not %s", what, known[0], known[1],
                                   known[2], known[3], tc_describe(tx, v));
    no_map(tx, span, tensor, why, NULL);
    return false;
}

static int64_t row_bytes(const ir_tensor_map *of)
{
    const ir_tensor *t = described(of);
    return of->box[t->rank - 1] * ir_type_bytes(t->elem);
}

// CUDA Driver API, cuTensorMapEncodeTiled. A box narrower than its pattern would leave gaps in shared memory that no
// layout describes, so the two are equal here.
static bool check_rows(tc *tx, tc_value tensor, const ir_tensor_map *of, src_span span)
{
    int64_t bytes = row_bytes(of), each = ir_type_bytes(described(of)->elem);
    if (bytes % ROW_UNIT) {
        no_map(tx, span, tensor,
               arena_printf(tx->arena, "a row of the box has %lld bytes, which is not a multiple of %d",
                            (long long)bytes, ROW_UNIT),
               arena_printf(tx->arena, "let its last extent be a multiple of %lld", (long long)(ROW_UNIT / each)));
        return false;
    }
    if (of->swizzle && bytes != of->swizzle) {
        no_map(tx, span, tensor,
               arena_printf(tx->arena, "a row of the box has %lld bytes, and with swizzle=%d it must have %d",
                            (long long)bytes, of->swizzle, of->swizzle),
               arena_printf(tx->arena, "let its last extent be %lld, and copy wider tiles in columns of that width",
                            (long long)(of->swizzle / each)));
        return false;
    }
    return true;
}

// What the author calls the tensor, and what for.
static const char *default_name(tc *tx, const ir_tensor_map *of)
{
    return arena_printf(tx->ir->arena, "%s_map", of->tensor->name);
}

static bool is_same(const ir_tensor_map *a, const ir_tensor_map *b)
{
    return a->tensor == b->tensor && a->swizzle == b->swizzle && a->l2_promotion == b->l2_promotion &&
           memcmp(a->box, b->box, sizeof a->box) == 0 && a->is_im2col == b->is_im2col &&
           memcmp(a->lower, b->lower, sizeof a->lower) == 0 && memcmp(a->upper, b->upper, sizeof a->upper) == 0 &&
           memcmp(a->step, b->step, sizeof a->step) == 0;
}

static ir_var *var_of(tc *tx, const ir_tensor_map *of, src_span span)
{
    for (size_t i = 0; i < tx->func->maps.len; i++)
        if (is_same(tx->func->maps.at[i]->map, of))
            return tx->func->maps.at[i];
    ir_var *v = ir_map_var(tx->ir, default_name(tx, of), of, span);
    v->role = IR_ROLE_RESULT;
    VEC_PUSH(tx->ir->arena, &tx->func->maps, v);
    return v;
}

// Arguments [first] and [first] + 1, swizzle and l2_promotion.
static bool set_modes(tc *tx, tc_value tensor, const tc_native *self, tc_args *args, int first, ir_tensor_map *of)
{
    static const int swizzles[] = {0, 32, 64, 128}, promotions[] = {0, 64, 128, 256};
    tc_value *swizzle = tc_arg_get(args, self->params, first), *promotion = tc_arg_get(args, self->params, first + 1);
    if (swizzle &&
        !set_bytes(tx, tensor, *swizzle, swizzles, "swizzle", &of->swizzle, tc_arg_span(args, self->params, first)))
        return false;
    return !promotion || set_bytes(tx, tensor, *promotion, promotions, "l2_promotion", &of->l2_promotion,
                                   tc_arg_span(args, self->params, first + 1));
}

tc_value tc_native_tensor_map(tc *tx, const tc_native *self, tc_args *args)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    tc_value tensor = *tc_arg_get(args, self->params, 0), box = *tc_arg_get(args, self->params, 1);
    if (tc_is_poison(tensor) || tc_is_poison(box))
        return tc_poison();
    if (!check_target(tx, self->name, args->span) || !check_tensor(tx, tensor, tc_arg_span(args, self->params, 0)))
        return tc_poison();
    ir_tensor_map of = {.tensor = tensor.tensor->base, .l2_promotion = 256};
    src_span span = tc_arg_span(args, self->params, 1);
    if (!set_box(tx, tensor, box, &of, span))
        return tc_poison();
    if (!set_modes(tx, tensor, self, args, 2, &of) || !check_rows(tx, tensor, &of, span))
        return tc_poison();
    return (tc_value){.kind = TC_TENSOR_MAP, .tensor_map = var_of(tx, &of, args->span)};
}

// ---- im2col --------------------------------------------------------------------------------------------------------

static bool set_number(tc *tx, tc_value tensor, tc_value v, const char *what, int least, int most, int *out, src_span span)
{
    int64_t n;
    const char *why = NULL;
    if (!tc_as_int64(v, &n))
        why = arena_printf(tx->arena, "%s is %s, and not known while compiling", what, tc_describe(tx, v));
    else if (n < least || n > most)
        why = arena_printf(tx->arena, "%s is %lld, and %d to %d are possible", what, (long long)n, least, most);
    else
        *out = (int)n;
    if (why)
        no_map(tx, span, tensor, why, NULL);
    return !why;
}

// One number for each spatial axis.
static bool set_axes(tc *tx, tc_value tensor, tc_value v, const char *what, int least, int most, int *out, src_span span)
{
    int count = tensor.tensor->rank - 2;
    bool is_list = v.kind == TC_TUPLE || v.kind == TC_LIST;
    int64_t given = is_list ? (int64_t)v.list->len : 1;
    if (given != count) {
        no_map(tx, span, tensor,
               arena_printf(tx->arena, "'%s' has %lld numbers, and the tensor %d spatial axes", what, (long long)given, count),
               NULL);
        return false;
    }
    const char *one = arena_printf(tx->arena, "a number of '%s'", what);
    for (int i = 0; i < count; i++)
        if (!set_number(tx, tensor, is_list ? v.list->at[i] : v, one, least, most, &out[i], span))
            return false;
    return true;
}

static bool set_walk(tc *tx, tc_value tensor, const tc_native *self, tc_args *args, ir_tensor_map *of)
{
    int rank = tensor.tensor->rank, most = ir_map_most_corner(rank);
    if (rank < 3) {
        no_map(tx, tc_arg_span(args, self->params, 0), tensor,
               arena_printf(tx->arena, "it has %d dimensions, and copies in im2col mode are of 3 to %d", rank, IR_MAP_MAX_RANK),
               "its axes are the images, one to three spatial ones, and the channels");
        return false;
    }
    of->is_im2col = true;
    for (int i = 0; i < rank - 2; i++)
        of->box[i] = of->step[i] = 1;
    src_span at[6];
    tc_value *v[6];
    for (int i = 1; i < 6; i++) {
        v[i] = tc_arg_get(args, self->params, i);
        at[i] = tc_arg_span(args, self->params, i);
    }
    return set_number(tx, tensor, *v[1], "the number of pixels", 1, IR_MAP_MAX_PIXELS, &of->box[rank - 2], at[1]) &&
           set_number(tx, tensor, *v[2], "the number of channels", 1, IR_MAP_MAX_BOX, &of->box[rank - 1], at[2]) &&
           set_axes(tx, tensor, *v[3], "lower", -most - 1, most, of->lower, at[3]) &&
           set_axes(tx, tensor, *v[4], "upper", -most - 1, most, of->upper, at[4]) &&
           (!v[5] || set_axes(tx, tensor, *v[5], "steps", 1, IR_MAP_MAX_STEP, of->step, at[5]));
}

tc_value tc_native_im2col_map(tc *tx, const tc_native *self, tc_args *args)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    tc_value tensor = *tc_arg_get(args, self->params, 0);
    if (tc_is_poison(tensor))
        return tc_poison();
    if (!check_target(tx, self->name, args->span) || !check_tensor(tx, tensor, tc_arg_span(args, self->params, 0)))
        return tc_poison();
    ir_tensor_map of = {.tensor = tensor.tensor->base, .l2_promotion = 256};
    if (!set_walk(tx, tensor, self, args, &of) || !set_modes(tx, tensor, self, args, 6, &of) ||
        !check_rows(tx, tensor, &of, tc_arg_span(args, self->params, 2)))
        return tc_poison();
    return (tc_value){.kind = TC_TENSOR_MAP, .tensor_map = var_of(tx, &of, args->span)};
}

// ---- attributes ----------------------------------------------------------------------------------------------------

// The layout of a box in shared memory: rows one after the other, 16-byte vectors permuted by the swizzle, which is
// 128 bytes: bits 4 … 6 ^= bits 7 … 9; 64 bytes: 4 … 5 ^= 7 … 8; 32 bytes: 4 ^= 7.
static const tm_layout *tile_layout(tc *tx, const ir_tensor_map *of)
{
    const ir_tensor *t = described(of);
    int64_t shape[TM_MAX_RANK];
    int skipped = of->is_im2col ? t->rank - 2 : 0; // a tile is pixels × channels
    for (int i = skipped; i < t->rank; i++)
        shape[i - skipped] = of->box[i];
    tm_reason why = TM_OK;
    const tm_layout *rows = tm_layout_row_major(tx->ir->arena, t->rank - skipped, shape, &why);
    if (!of->swizzle || !rows)
        return rows;
    int chunk = __builtin_ctz((unsigned)(ROW_UNIT / ir_type_bytes(t->elem))),
        bits = __builtin_ctz((unsigned)of->swizzle) - 4;
    return tm_layout_xor(tx->ir->arena, rows, bits, chunk, 3, &why);
}

// The pattern repeats every eight rows, counted by absolute addresses.
static int64_t tile_align(const ir_tensor_map *of)
{
    return of->swizzle ? 8 * of->swizzle : LEAST_ALIGN;
}

static tc_value box_tuple(tc *tx, const ir_tensor_map *of)
{
    tc_value items[IR_MAP_MAX_RANK];
    for (int i = 0; i < described(of)->rank; i++)
        items[i] = tc_of_int(of->box[i]);
    return tc_list_new(tx, TC_TUPLE, items, (size_t)described(of)->rank);
}

static int64_t box_bytes(const ir_tensor_map *of)
{
    int64_t bytes = ir_type_bytes(described(of)->elem);
    for (int i = 0; i < described(of)->rank; i++)
        bytes *= of->box[i];
    return bytes;
}

tc_value tc_tensor_map_attribute(tc *tx, tc_value v, str n, bool *found)
{
    const ir_tensor_map *of = map_of(v);
    *found = true;
    if (str_equal(n, STR("dtype")))
        return tc_type(described(of)->elem);
    if (str_equal(n, STR("rank")))
        return tc_of_int(described(of)->rank);
    if (str_equal(n, STR("box")))
        return box_tuple(tx, of);
    if (str_equal(n, STR("swizzle")))
        return tc_of_int(of->swizzle);
    if (str_equal(n, STR("layout")))
        return tc_layout_value(tile_layout(tx, of));
    if (str_equal(n, STR("align")))
        return tc_of_int(tile_align(of));
    if (str_equal(n, STR("is_im2col")))
        return tc_bool(of->is_im2col);
    if (str_equal(n, STR("nbytes")))
        return tc_of_int(box_bytes(of));
    *found = false;
    return tc_poison();
}

// ---- tiles ---------------------------------------------------------------------------------------------------------

// Extents other than 1.
static int compact(const int64_t *shape, int rank, int64_t *out)
{
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (shape[i] != 1)
            out[count++] = shape[i];
    return count;
}

static bool has_shape(const tc_tensor *t, const ir_tensor_map *of)
{
    int64_t shape[TM_MAX_RANK] = {0}, box[TM_MAX_RANK], of_tile[TM_MAX_RANK], of_box[TM_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        if (!tc_as_int64(t->shape[i], &shape[i]))
            return false;
    for (int i = 0; i < described(of)->rank; i++)
        box[i] = of->box[i];
    int count = compact(shape, t->rank, of_tile);
    return count == compact(box, described(of)->rank, of_box) &&
           memcmp(of_tile, of_box, (size_t)count * sizeof *of_tile) == 0;
}

typedef struct tile_walk {
    const tc_tensor *t;
    const tm_layout *have, *want;
    int64_t bytes, align;
    int64_t fixed[TM_MAX_RANK]; // index where the view begins, by dimension of the base
    int64_t left;               // elements that are still looked at
} tile_walk;

// Element [k] of the box, in row order, as an index of a shape; axes of extent 1 do not matter.
static void unravel(int64_t k, const int64_t *shape, int rank, int64_t *index)
{
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = k % shape[i];
        k /= shape[i];
    }
}

// One position of the tile: begins at the alignment, elements have the layout that TMA writes.
static const char *check_position(tc *tx, tile_walk *x, const char **help)
{
    int64_t shape[TM_MAX_RANK], index[TM_MAX_RANK], base[TM_MAX_RANK], count = 1;
    for (int i = 0; i < x->t->rank; i++) {
        tc_as_int64(x->t->shape[i], &shape[i]);
        count *= shape[i];
    }
    int64_t start = tm_layout_offset(x->have, x->fixed);
    if (start * x->bytes % x->align)
        *help = arena_printf(tx->arena, "in a ring of tiles with this swizzle, let a box have multiples of %lld bytes",
                             (long long)x->align);
    if (start * x->bytes % x->align)
        return arena_printf(tx->arena, "it begins %lld bytes behind the start of '%s', which is not a multiple of %lld",
                            (long long)(start * x->bytes), x->t->base->name, (long long)x->align);
    for (int64_t k = 0; k < count && x->left-- > 0; k++) {
        int64_t box[TM_MAX_RANK];
        unravel(k, shape, x->t->rank, index);
        memcpy(base, x->fixed, sizeof base);
        for (int d = 0; d < x->have->rank; d++)
            if (x->t->dim_of[d] >= 0)
                base[d] += index[x->t->dim_of[d]];
        unravel(k, x->want->shape, x->want->rank, box);
        if (tm_layout_offset(x->have, base) - start != tm_layout_offset(x->want, box))
            return "its layout is not the one that TMA writes";
    }
    return NULL;
}

// All positions that an index which only the run knows may choose.
static const char *check_positions(tc *tx, tile_walk *x, int dim, const char **help)
{
    while (dim < x->have->rank && !(x->t->dim_of[dim] < 0 && x->t->offset[dim] && x->t->offset[dim]->op != IR_OP_INT))
        dim++;
    if (dim == x->have->rank)
        return check_position(tx, x, help);
    const char *why = NULL;
    for (int64_t i = 0; !why && i < x->have->shape[dim] && x->left > 0; i++) {
        x->fixed[dim] = i;
        why = check_positions(tx, x, dim + 1, help);
    }
    return why;
}

// All that check_positions asks of a tile, as bytes: where it says nothing, it does not for another such tile.
static void add_walk(str_buf *key, const tile_walk *x)
{
    const tc_tensor *t = x->t;
    int64_t shape[TM_MAX_RANK] = {0};
    bool is_chosen[TM_MAX_RANK] = {0};
    for (int i = 0; i < t->rank; i++)
        tc_as_int64(t->shape[i], &shape[i]);
    for (int d = 0; d < x->have->rank; d++)
        is_chosen[d] = t->offset[d] && t->offset[d]->op != IR_OP_INT;
    tm_layout_print(x->have, key);
    tm_layout_print(x->want, key);
    str_add(key, (str){(const char *)shape, sizeof shape});
    str_add(key, (str){(const char *)is_chosen, sizeof is_chosen});
    str_add(key, (str){(const char *)t->dim_of, sizeof t->dim_of});
    str_add(key, (str){(const char *)x->fixed, sizeof x->fixed});
    str_add(key, (str){(const char *)&x->bytes, sizeof x->bytes});
    str_add(key, (str){(const char *)&x->align, sizeof x->align});
}

// Kernels of a model share their kinds of tiles, each of which has thousands of elements to look at.
static const char *check_all(tc *tx, tile_walk *x, const char **help)
{
    str_buf key;
    str_buf_init(&key, tx->arena);
    add_walk(&key, x);
    if (map_get(&tx->right_tiles, str_text(&key), key.len))
        return NULL;
    const char *why = check_positions(tx, x, 0, help);
    if (!why)
        map_put(&tx->right_tiles, str_text(&key), key.len, tx);
    return why;
}

static const char *check_layout(tc *tx, const tc_tensor *t, const ir_tensor_map *of, const char **help)
{
    enum { LOOKS = 1 << 14 };
    const tm_layout *have = t->base->tensor->layout;
    tile_walk x = {.t = t, .have = have, .want = tile_layout(tx, of), .left = LOOKS};
    x.bytes = ir_type_bytes(described(of)->elem);
    x.align = tile_align(of);
    for (int d = 0; have && d < have->rank; d++) {
        int64_t at = 0;
        bool is_known = !t->offset[d] || ir_const_int(t->offset[d], &at);
        if (!is_known && t->dim_of[d] >= 0)
            return NULL; // a part that slides: the run will tell
        x.fixed[d] = at;
    }
    return have && x.want ? check_all(tx, &x, help) : NULL;
}

static tc_value bad_tile(tc *tx, tc_value tile, const char *map_name, const char *why, const char *help, src_span span)
{
    const char *what =
        tile.kind == TC_TENSOR ? arena_printf(tx->arena, "'%s'", tile.tensor->base->name) : tc_describe(tx, tile);
    diag *d = tc_error(tx, HDS0762, span, what, map_name, why);
    if (tile.kind == TC_TENSOR && tile.tensor->base->span.begin)
        diag_label(d, tile.tensor->base->span, "the tile is created here");
    if (help)
        diag_help(d, "%s", help);
    return tc_poison();
}

static const char *shape_words(tc *tx, const ir_tensor_map *of)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    for (int i = 0; i < described(of)->rank; i++)
        str_addf(&b, "%s%d", i ? ", " : "", of->box[i]);
    return str_text(&b);
}

// map.check(tile): reports unless copies through the map can fill the tile and read it. The error stands where the
// library was called.
tc_value tc_tensor_map_check(tc *tx, tc_value self, tc_args *args)
{
    if (!tc_args_check(tx, &check_method, args))
        return tc_poison();
    tc_value tile = args->list.at[0].value;
    const ir_tensor_map *of = map_of(self);
    const char *name = self.tensor_map->name;
    src_span span = tx->frame->call_span.begin ? tx->frame->call_span : args->span;
    if (tc_is_poison(tile))
        return tile;
    if (tile.kind != TC_TENSOR || tile.tensor->base->tensor->space != IR_SHARED)
        return bad_tile(tx, tile, name, "it is not a tensor in shared memory", NULL, span);
    const tc_tensor *t = tile.tensor;
    const char *make =
        arena_printf(tx->arena, "shared_tensor(…, layout=%s.layout, align=%s.align) is what it takes", name, name);
    if (t->base->tensor->elem != described(of)->elem)
        return bad_tile(tx, tile, name, "the element types differ", NULL, span);
    if (!has_shape(t, of))
        return bad_tile(
            tx, tile, name,
            arena_printf(tx->arena, "it is %s, and the box is [%s]", tc_describe(tx, tile), shape_words(tx, of)), NULL,
            span);
    if (t->base->tensor->align_bytes < tile_align(of))
        return bad_tile(tx, tile, name,
                        arena_printf(tx->arena, "it must be aligned to %lld bytes", (long long)tile_align(of)), make,
                        span);
    const char *why = check_layout(tx, t, of, &make);
    return why ? bad_tile(tx, tile, name, why, make, span) : tc_none();
}
