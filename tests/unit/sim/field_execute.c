// What operations of the bytecode do to the field values beside their cells.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sim/machine.h"

enum { CELLS = 16 };

static uint8_t cells[CELLS * SIM_CELL_BYTES] __attribute__((aligned(16)));
static sim_field fields[CELLS * SIM_LANES * SIM_FIELD_PARTS];
static sim_warp w;

static int set_up(void **state)
{
    (void)state;
    memset(cells, 0, sizeof cells);
    memset(fields, 0xff, sizeof fields);
    w = (sim_warp){.cells = cells, .field = fields, .full = UINT32_MAX, .active = UINT32_MAX};
    return 0;
}

static sim_field value(uint64_t i)
{
    return sim_field_random(9, 0, i);
}

static sim_field *part(uint32_t cell, int lane, int at)
{
    return sim_field_of(&w, cell, lane) + at;
}

static void put(uint32_t cell, int lane, float x, sim_field f)
{
    sim_f32(&w, cell)[lane] = x;
    *part(cell, lane, 0) = f;
}

static void same(sim_field a, sim_field b)
{
    assert_true(a.p == b.p && a.q == b.q);
}

static void run(sim_op op)
{
    sim_field_execute(&w, &op);
}

static void arithmetic_of_active_lanes(void **state)
{
    (void)state;
    put(0, 3, 1, value(1));
    put(1, 3, 2, value(2));
    put(2, 4, 0, value(7));
    w.active = 1u << 3;
    run((sim_op){.code = SIM_OP_ADD_F32, .dst = 2, .a = 0, .b = 1});
    same(*part(2, 3, 0), sim_field_add(value(1), value(2)));
    same(*part(2, 4, 0), value(7));
    run((sim_op){.code = SIM_OP_MAX_F32, .dst = 2, .a = 0, .b = 1});
    same(*part(2, 3, 0), value(2));
    run((sim_op){.code = SIM_OP_NEG_F32, .dst = 2, .a = 0});
    same(*part(2, 3, 0), sim_field_neg(value(1)));
}

static void floats_without_a_value_stand_for_themselves(void **state)
{
    (void)state;
    put(0, 0, 1, value(1));
    sim_f32(&w, 1)[0] = 0.5f;
    run((sim_op){.code = SIM_OP_MUL_F32, .dst = 2, .a = 0, .b = 1});
    same(*part(2, 0, 0), sim_field_mul(value(1), sim_field_of_float(0.5)));
}

static void integers_have_none(void **state)
{
    (void)state;
    put(2, 0, 1, value(1));
    run((sim_op){.code = SIM_OP_ADD_I32, .dst = 2, .a = 0, .b = 1});
    assert_false(sim_field_is_followed(*part(2, 0, 0)));
    put(3, 0, 1, value(1));
    put(4, 0, 1, value(2));
    run((sim_op){.code = SIM_OP_LT_F64, .dst = 3, .a = 5, .b = 7});
    assert_false(sim_field_is_followed(*part(3, 0, 0)));
    same(*part(4, 0, 0), value(2));
}

static void moves_and_choices(void **state)
{
    (void)state;
    put(0, 0, 1, value(1));
    put(0, 1, 1, value(2));
    put(1, 0, 1, value(3));
    run((sim_op){.code = SIM_OP_MOVE, .dst = 2, .a = 0, .count = 2});
    same(*part(2, 1, 0), value(2));
    same(*part(3, 0, 0), value(3));
    w.active = 1;
    run((sim_op){.code = SIM_OP_ASSIGN, .dst = 4, .a = 0, .count = 1});
    same(*part(4, 0, 0), value(1));
    assert_false(sim_field_is_followed(*part(4, 1, 0)));
    sim_u32(&w, 5)[0] = 1;
    run((sim_op){.code = SIM_OP_SELECT, .dst = 6, .a = 5, .b = 1, .c = 0, .count = 1});
    same(*part(6, 0, 0), value(3));
    sim_u32(&w, 5)[0] = 0;
    run((sim_op){.code = SIM_OP_SELECT, .dst = 6, .a = 5, .b = 1, .c = 0, .count = 1});
    same(*part(6, 0, 0), value(1));
    // The same for elements of two cells.
    put(8, 0, 1, value(4));
    put(10, 0, 1, value(5));
    run((sim_op){.code = SIM_OP_ASSIGN_WIDE, .dst = 12, .a = 8, .count = 2});
    same(*part(12, 0, 0), value(4));
    run((sim_op){.code = SIM_OP_SELECT_WIDE, .dst = 12, .a = 5, .b = 8, .c = 10, .count = 2});
    same(*part(12, 0, 0), value(5));
}

static void conversions_keep_the_value(void **state)
{
    (void)state;
    put(0, 0, 1.25f, value(1));
    run((sim_op){.code = SIM_OP_CAST, .dst = 1, .a = 0, .b = DT_F32, .c = DT_F16});
    same(*part(1, 0, 0), value(1));
    run((sim_op){.code = SIM_OP_CAST, .dst = 2, .a = 0, .b = DT_F32, .c = DT_I32});
    assert_false(sim_field_is_followed(*part(2, 0, 0)));
    run((sim_op){.code = SIM_OP_CAST, .dst = 0, .a = 0, .b = DT_F32, .c = DT_TF32});
    same(*part(0, 0, 0), value(1));
}

static void halves_of_a_pair(void **state)
{
    (void)state;
    *part(0, 0, 0) = value(1);
    *part(1, 0, 0) = value(2);
    run((sim_op){.code = SIM_OP_PACK, .dst = 2, .a = 0, .b = 16, .c = 1, .count = 2});
    same(*part(2, 0, 0), value(1));
    same(*part(2, 0, 2), value(2));
    run((sim_op){.code = SIM_OP_UNPACK, .dst = 4, .a = 2, .b = 16, .count = 2});
    same(*part(4, 0, 0), value(1));
    same(*part(5, 0, 0), value(2));
    // The same by hand: shift, join, cut.
    sim_u32(&w, 6)[0] = 16;
    run((sim_op){.code = SIM_OP_SHL_I32, .dst = 7, .a = 1, .b = 6});
    same(*part(7, 0, 2), value(2));
    run((sim_op){.code = SIM_OP_OR_I32, .dst = 8, .a = 0, .b = 7});
    same(*part(8, 0, 0), value(1));
    same(*part(8, 0, 2), value(2));
    run((sim_op){.code = SIM_OP_SHR_U32, .dst = 9, .a = 8, .b = 6});
    same(*part(9, 0, 0), value(2));
    sim_u32(&w, 6)[0] = 0xffff;
    run((sim_op){.code = SIM_OP_AND_I32, .dst = 10, .a = 8, .b = 6});
    same(*part(10, 0, 0), value(1));
    assert_false(sim_field_is_followed(*part(10, 0, 2)));
}

static void signs_as_bits(void **state)
{
    (void)state;
    sim_u32(&w, 0)[0] = 0xbc00;  // -1 as f16
    *part(0, 0, 0) = value(1);
    sim_u32(&w, 1)[0] = 0x7fff;
    run((sim_op){.code = SIM_OP_AND_I32, .dst = 2, .a = 0, .b = 1});
    same(*part(2, 0, 0), sim_field_neg(value(1)));
    sim_u32(&w, 1)[0] = 0x8000;
    run((sim_op){.code = SIM_OP_XOR_I32, .dst = 2, .a = 0, .b = 1});
    same(*part(2, 0, 0), sim_field_neg(value(1)));
    put(3, 0, -2.0f, value(2));
    sim_u32(&w, 1)[0] = 0x7fffffff;
    run((sim_op){.code = SIM_OP_AND_I32, .dst = 2, .a = 3, .b = 1});
    same(*part(2, 0, 0), sim_field_neg(value(2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(arithmetic_of_active_lanes, set_up),
        cmocka_unit_test_setup(floats_without_a_value_stand_for_themselves, set_up),
        cmocka_unit_test_setup(integers_have_none, set_up),
        cmocka_unit_test_setup(moves_and_choices, set_up),
        cmocka_unit_test_setup(conversions_keep_the_value, set_up),
        cmocka_unit_test_setup(halves_of_a_pair, set_up),
        cmocka_unit_test_setup(signs_as_bits, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
