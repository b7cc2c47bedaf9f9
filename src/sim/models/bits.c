// hidet.lang.bits: integers, bit by bit. PTX ISA 9.7.1 (integer arithmetic), 9.7.8 (logic and shift), 9.7.9 (prmt).
#include "sim/models/models_priv.h"

#include <stdlib.h>

typedef uint64_t bit_function(const uint64_t *x, int width, bool is_signed, int64_t immediate);

static uint64_t popc_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)width, (void)is_signed, (void)immediate;
    return (uint64_t)__builtin_popcountll(x[0]);
}

static uint64_t clz_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)is_signed, (void)immediate;
    return (uint64_t)(x[0] ? __builtin_clzll(x[0]) - (64 - width) : width);
}

static uint64_t ffs_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)width, (void)is_signed, (void)immediate;
    return (uint64_t)__builtin_ffsll((long long)x[0]);
}

static uint64_t brev_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)is_signed, (void)immediate;
    uint64_t reversed = 0;
    for (int i = 0; i < width; i++)
        reversed |= (x[0] >> i & 1) << (width - 1 - i);
    return reversed;
}

static uint64_t low_bits(int count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

// x, position, length: the latter two have eight bits.
static uint64_t bfe_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)immediate;
    int position = (int)(x[1] & 255), length = (int)(x[2] & 255);
    if (!length)
        return 0;
    int last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    uint64_t kept = position < width ? x[0] >> position & low_bits(length) : 0;
    int known = position < width ? last - position + 1 : 0;
    bool sign = is_signed && (x[0] >> last & 1);
    return sign ? kept | ~low_bits(known) : kept;
}

// field, x, position, length
static uint64_t bfi_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)is_signed, (void)immediate;
    int position = (int)(x[2] & 255), length = (int)(x[3] & 255);
    if (position >= width)
        return x[1];
    uint64_t mask = low_bits(length) << position;
    return (x[1] & ~mask) | (x[0] << position & mask);
}

// a, b, selector
static uint64_t prmt_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)width, (void)is_signed, (void)immediate;
    uint64_t bytes = x[1] << 32 | x[0], out = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = (unsigned)(x[2] >> (4 * i)) & 15;
        uint64_t byte = bytes >> (8 * (pick & 7)) & 255;
        if (pick & 8)
            byte = byte & 128 ? 255 : 0;
        out |= byte << (8 * i);
    }
    return out;
}

static uint64_t lop3_of(const uint64_t *x, int width, bool is_signed, int64_t table)
{
    (void)width, (void)is_signed;
    uint64_t out = 0;
    for (int i = 0; i < 8; i++)
        if (table >> i & 1)
            out |= (i & 4 ? x[0] : ~x[0]) & (i & 2 ? x[1] : ~x[1]) & (i & 1 ? x[2] : ~x[2]);
    return out;
}

// low, high, amount in the order of the text: all named {low}, {high}, {amount}
static uint64_t funnel_left_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)width, (void)is_signed, (void)immediate;
    return (x[1] << 32 | x[0]) << (x[2] & 31) >> 32;
}

static uint64_t funnel_right_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)width, (void)is_signed, (void)immediate;
    return (x[1] << 32 | x[0]) >> (x[2] & 31);
}

static uint64_t mulhi_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)immediate;
    if (width == 64)
        return is_signed ? (uint64_t)((__int128)(int64_t)x[0] * (int64_t)x[1] >> 64)
                         : (uint64_t)((unsigned __int128)x[0] * x[1] >> 64);
    return is_signed ? (uint64_t)((int64_t)(int32_t)x[0] * (int32_t)x[1] >> 32) : x[0] * x[1] >> 32;
}

// [kinds]: bit 0, the bytes of a are signed; bit 1, those of b.
static uint64_t dp4a_of(const uint64_t *x, int width, bool is_signed, int64_t kinds)
{
    (void)width, (void)is_signed;
    uint64_t sum = x[2];
    for (int i = 0; i < 4; i++) {
        int64_t a = (int64_t)(x[0] >> (8 * i) & 255), b = (int64_t)(x[1] >> (8 * i) & 255);
        a = kinds & 1 ? (int8_t)a : a;
        b = kinds & 2 ? (int8_t)b : b;
        sum += (uint64_t)(a * b);
    }
    return sum;
}

static uint64_t sad_of(const uint64_t *x, int width, bool is_signed, int64_t immediate)
{
    (void)width, (void)is_signed, (void)immediate;
    int64_t difference = (int64_t)(int32_t)x[0] - (int32_t)x[1];
    return x[2] + (uint64_t)(difference < 0 ? -difference : difference);
}

typedef struct family {
    const char *name;
    bit_function *f;
} family;

static const family families[] = {
    {"popc", popc_of},
    {"clz", clz_of},
    {"ffs", ffs_of},
    {"brev", brev_of},
    {"bfe", bfe_of},
    {"bfi", bfi_of},
    {"prmt", prmt_of},
    {"lop3", lop3_of},
    {"funnel_shift_left", funnel_left_of},
    {"funnel_shift_right", funnel_right_of},
    {"mulhi", mulhi_of},
    {"dp4a", dp4a_of},
    {"sad", sad_of},
    {NULL, NULL},
};

// bound[0]: row of the table; bound[1]: immediate; bound[2]: width; bound[3]: whether the first operand is signed.
static bool bind_bits(sim_use *use)
{
    for (int i = 0; families[i].name; i++)
        if (strcmp(families[i].name, use->intrin->name) == 0)
            use->bound[0] = i;
    const char *table = sim_argument(use->intrin, "TABLE");
    if (table)
        use->bound[1] = strtol(table, NULL, 10);
    else if (strcmp(use->intrin->name, "dp4a") == 0)
        use->bound[1] = (use->operands[0].type == DT_I32) | (use->operands[1].type == DT_I32) << 1;
    use->bound[2] = dt_bits(use->operands[0].type);
    use->bound[3] = dt_is_signed(use->operands[0].type);
    return true;
}

static sim_step run_bits(sim_warp *w, const sim_use *use)
{
    bit_function *f = families[use->bound[0]].f;
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active) {
        uint64_t x[4];
        for (int i = 0; i < use->intrin->operand_count && i < 4; i++)
            x[i] = sim_element(w, &use->operands[i], 0, lane);
        sim_element_set(w, &use->result, 0, lane, f(x, (int)use->bound[2], use->bound[3], use->bound[1]));
    }
    return SIM_NEXT;
}

#define BITS(name)                                                                                                     \
    {                                                                                                                  \
        name, run_bits, bind_bits, false                                                                               \
    }

const sim_model sim_models_bits[] = {
    BITS("popc"),
    BITS("clz"),
    BITS("ffs"),
    BITS("brev"),
    BITS("bfe"),
    BITS("bfi"),
    BITS("prmt"),
    BITS("lop3"),
    BITS("funnel_shift_left"),
    BITS("funnel_shift_right"),
    BITS("mulhi"),
    BITS("dp4a"),
    BITS("sad"),
    {NULL, NULL, NULL, false},
};
