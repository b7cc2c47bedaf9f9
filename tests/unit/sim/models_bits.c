// hidet.lang.bits against definitions that go bit by bit, and its poison.
#include "hand.h"

typedef uint64_t oracle(const uint64_t *x, int width, bool is_signed);

static int bit(uint64_t x, int i)
{
    return (int)(x >> i & 1);
}

static uint64_t popc_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)is_signed;
    uint64_t count = 0;
    for (int i = 0; i < width; i++)
        count += (uint64_t)bit(x[0], i);
    return count;
}

static uint64_t clz_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)is_signed;
    uint64_t count = 0;
    for (int i = width - 1; i >= 0 && !bit(x[0], i); i--)
        count++;
    return count;
}

static uint64_t ffs_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)is_signed;
    for (int i = 0; i < width; i++)
        if (bit(x[0], i))
            return (uint64_t)i + 1;
    return 0;
}

static uint64_t brev_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)is_signed;
    uint64_t out = 0;
    for (int i = 0; i < width; i++)
        out = out << 1 | (uint64_t)bit(x[0], i);
    return out;
}

// The text of PTX ISA 9.7.1 "bfe".
static uint64_t bfe_oracle(const uint64_t *x, int width, bool is_signed)
{
    int position = (int)(x[1] & 255), length = (int)(x[2] & 255), most = width - 1;
    int last = position + length - 1 < most ? position + length - 1 : most;
    int sign = !is_signed || length == 0 ? 0 : bit(x[0], last);
    uint64_t out = 0;
    for (int i = 0; i <= most; i++)
        out |= (uint64_t)(i < length && position + i <= most ? bit(x[0], position + i) : sign) << i;
    return out;
}

// The text of "bfi".
static uint64_t bfi_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)is_signed;
    int position = (int)(x[2] & 255), length = (int)(x[3] & 255);
    uint64_t out = x[1];
    for (int i = 0; i < length && position + i < width; i++)
        out = (out & ~((uint64_t)1 << (position + i))) | (uint64_t)bit(x[0], i) << (position + i);
    return out;
}

static uint64_t prmt_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)width, (void)is_signed;
    uint8_t bytes[8];
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(x[0] >> 8 * i);
        bytes[4 + i] = (uint8_t)(x[1] >> 8 * i);
    }
    uint64_t out = 0;
    for (int i = 0; i < 4; i++) {
        int nibble = (int)(x[2] >> 4 * i & 15);
        int byte = nibble & 8 ? -(bytes[nibble & 7] >> 7) & 255 : bytes[nibble & 7];
        out |= (uint64_t)byte << 8 * i;
    }
    return out;
}

static uint64_t lop3_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)width, (void)is_signed;
    return (x[0] & x[1]) | x[2]; // the table 0xf0 & 0xcc | 0xaa
}

static uint64_t left_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)width, (void)is_signed;
    int n = (int)(x[2] & 31);
    return n ? (x[1] << n | x[0] >> (32 - n)) & UINT32_MAX : x[1];
}

static uint64_t right_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)width, (void)is_signed;
    int n = (int)(x[2] & 31);
    return n ? (x[1] << (32 - n) | x[0] >> n) & UINT32_MAX : x[0];
}

// Schoolbook multiplication by 32-bit halves of the magnitudes.
static uint64_t mulhi_oracle(const uint64_t *x, int width, bool is_signed)
{
    uint64_t mask = width == 64 ? UINT64_MAX : UINT32_MAX, v[2];
    bool negative = false;
    for (int i = 0; i < 2; i++) {
        bool is_negative = is_signed && bit(x[i], width - 1);
        v[i] = is_negative ? -x[i] & mask : x[i];
        negative ^= is_negative;
    }
    int half = width / 2;
    uint64_t low_mask = mask >> half, a0 = v[0] & low_mask, a1 = v[0] >> half, b0 = v[1] & low_mask, b1 = v[1] >> half;
    uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
    uint64_t middle = (p00 >> half) + (p01 & low_mask) + (p10 & low_mask);
    uint64_t high = p11 + (p01 >> half) + (p10 >> half) + (middle >> half);
    uint64_t low = (middle << half | (p00 & low_mask)) & mask;
    if (negative)
        high = ~high + (low == 0);
    return high & mask;
}

static uint64_t dp4a_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)width, (void)is_signed;
    int64_t sum = (int32_t)x[2];
    for (int i = 0; i < 4; i++)
        sum += (int8_t)(x[0] >> 8 * i) * (int64_t)(uint8_t)(x[1] >> 8 * i);
    return (uint64_t)sum & UINT32_MAX;
}

static uint64_t sad_oracle(const uint64_t *x, int width, bool is_signed)
{
    (void)width, (void)is_signed;
    int64_t a = (int32_t)x[0], b = (int32_t)x[1];
    return (x[2] + (uint64_t)(a > b ? a - b : b - a)) & UINT32_MAX;
}

typedef struct row {
    const char *name, *text, *argument;
    oracle *f;
    dtype result;
    hand_operand operands[5];
} row;

static const row rows[] = {
    {"popc", "__popc({x})", NULL, popc_oracle, DT_I32, {{"x", DT_U32, 1}}},
    {"popc", "__popcll({x})", NULL, popc_oracle, DT_I32, {{"x", DT_I64, 1}}},
    {"clz", "__clz({x})", NULL, clz_oracle, DT_I32, {{"x", DT_I32, 1}}},
    {"clz", "__clzll({x})", NULL, clz_oracle, DT_I32, {{"x", DT_U64, 1}}},
    {"ffs", "__ffs({x})", NULL, ffs_oracle, DT_I32, {{"x", DT_U32, 1}}},
    {"ffs", "__ffsll({x})", NULL, ffs_oracle, DT_I32, {{"x", DT_U64, 1}}},
    {"brev", "__brev({x})", NULL, brev_oracle, DT_U32, {{"x", DT_U32, 1}}},
    {"brev", "__brevll({x})", NULL, brev_oracle, DT_U64, {{"x", DT_U64, 1}}},
    {"bfe",
     "bfe.u32 {result};",
     NULL,
     bfe_oracle,
     DT_U32,
     {{"x", DT_U32, 1}, {"position", DT_U32, 1}, {"length", DT_U32, 1}}},
    {"bfe",
     "bfe.s32 {result};",
     NULL,
     bfe_oracle,
     DT_I32,
     {{"x", DT_I32, 1}, {"position", DT_U32, 1}, {"length", DT_U32, 1}}},
    {"bfe",
     "bfe.s64 {result};",
     NULL,
     bfe_oracle,
     DT_I64,
     {{"x", DT_I64, 1}, {"position", DT_U32, 1}, {"length", DT_U32, 1}}},
    {"bfi",
     "bfi.b32 {result};",
     NULL,
     bfi_oracle,
     DT_U32,
     {{"field", DT_U32, 1}, {"x", DT_U32, 1}, {"position", DT_U32, 1}, {"length", DT_U32, 1}}},
    {"bfi",
     "bfi.b64 {result};",
     NULL,
     bfi_oracle,
     DT_U64,
     {{"field", DT_U64, 1}, {"x", DT_U64, 1}, {"position", DT_U32, 1}, {"length", DT_U32, 1}}},
    {"prmt",
     "prmt.b32 {result};",
     NULL,
     prmt_oracle,
     DT_U32,
     {{"a", DT_U32, 1}, {"b", DT_U32, 1}, {"selector", DT_U32, 1}}},
    {"lop3",
     "lop3.b32 {result};",
     "TABLE=234",
     lop3_oracle,
     DT_U32,
     {{"a", DT_U32, 1}, {"b", DT_U32, 1}, {"c", DT_U32, 1}}},
    {"funnel_shift_left",
     "shf.l.wrap.b32 {result};",
     NULL,
     left_oracle,
     DT_U32,
     {{"low", DT_U32, 1}, {"high", DT_U32, 1}, {"amount", DT_U32, 1}}},
    {"funnel_shift_right",
     "shf.r.wrap.b32 {result};",
     NULL,
     right_oracle,
     DT_U32,
     {{"low", DT_U32, 1}, {"high", DT_U32, 1}, {"amount", DT_U32, 1}}},
    {"mulhi", "mul.hi.u32 {result};", NULL, mulhi_oracle, DT_U32, {{"a", DT_U32, 1}, {"b", DT_U32, 1}}},
    {"mulhi", "mul.hi.s32 {result};", NULL, mulhi_oracle, DT_I32, {{"a", DT_I32, 1}, {"b", DT_I32, 1}}},
    {"mulhi", "mul.hi.u64 {result};", NULL, mulhi_oracle, DT_U64, {{"a", DT_U64, 1}, {"b", DT_U64, 1}}},
    {"mulhi", "mul.hi.s64 {result};", NULL, mulhi_oracle, DT_I64, {{"a", DT_I64, 1}, {"b", DT_I64, 1}}},
    {"dp4a",
     "dp4a.s32.u32 {result};",
     NULL,
     dp4a_oracle,
     DT_I32,
     {{"a", DT_I32, 1}, {"b", DT_U32, 1}, {"c", DT_I32, 1}}},
    {"sad", "__sad({a}, {b}, {c})", NULL, sad_oracle, DT_U32, {{"a", DT_I32, 1}, {"b", DT_I32, 1}, {"c", DT_U32, 1}}},
};

// Small, large, and near powers of two.
static uint64_t value(hand *h, dtype t)
{
    uint64_t x = hand_random(h);
    switch (hand_random(h) % 4) {
    case 0:
        x &= 255;
        break;
    case 1:
        x = ((uint64_t)1 << x % 64) - (x >> 63);
        break;
    case 2:
        x &= 63;
        break;
    default:
        break;
    }
    return dt_bits(t) == 64 ? x : x & UINT32_MAX;
}

static void check_row(hand *h, const row *r)
{
    sim_warp *w = &h->block.warps[0];
    sim_use *use = hand_use(h, "hidet.lang.bits", r->name, r->text, (hand_operand){"result", r->result, 1}, r->operands,
                            r->argument);
    dtype t = r->operands[0].type;
    uint64_t mask = dt_bits(r->result) == 64 ? UINT64_MAX : UINT32_MAX;
    for (int trial = 0; trial < 100; trial++) {
        uint64_t x[SIM_LANES][4] = {{0}};
        for (int lane = 0; lane < SIM_LANES; lane++)
            for (int i = 0; i < use->intrin->operand_count; i++) {
                x[lane][i] = value(h, r->operands[i].type);
                hand_set(w, &use->operands[i], 0, lane, x[lane][i]);
            }
        assert_int_equal(hand_run(w, use), SIM_NEXT);
        for (int lane = 0; lane < SIM_LANES; lane++)
            assert_true(hand_get(w, &use->result, 0, lane) == (r->f(x[lane], dt_bits(t), dt_is_signed(t)) & mask));
    }
}

static void functions(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&h, &rows[i]);
    hand_close(&h);
}

static void poison(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = hand_use(&h, "hidet.lang.bits", "sad", "__sad({a}, {b}, {c})", (hand_operand){"result", DT_U32, 1},
                            HAND_OPERANDS({"a", DT_I32, 1}, {"b", DT_I32, 1}, {"c", DT_U32, 1}), NULL);
    w->active = 0x0000ffff;
    w->poison[use->operands[1].cell] = 0x00010081;
    w->why[use->operands[1].cell] = 7;
    w->poison[use->result.cell] = 0xf0f00008;
    hand_run(w, use);
    assert_int_equal(w->poison[use->result.cell], 0xf0f00081); // other lanes keep what they have
    assert_int_equal(w->why[use->result.cell], 7);
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions), cmocka_unit_test(poison)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
