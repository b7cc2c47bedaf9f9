#include "fixture.h"

#include "toolchain/cubin.h"
#include "toolchain/log.h"

static void assert_record(const tool_log_record *r, tool_log_severity severity, const char *file, uint32_t line,
                          int number, const char *text)
{
    assert_int_equal(r->severity, severity);
    if (file)
        assert_string_equal(r->file, file);
    else
        assert_null(r->file);
    assert_int_equal(r->line, line);
    assert_int_equal(r->number, number);
    assert_string_equal(r->text, text);
}

static void front_end_messages(void **state)
{
    fixture *f = *state;
    tool_log log;
    tool_log_parse(&f->arena,
                   STR("kernel.hds(12): error: identifier \"y\" is undefined\n"
                       "  __global__ void f(int *x) { x[0] = y; }\n"
                       "                                     ^\n"
                       "\n"
                       "kernel.hds(12): warning #177-D: variable \"u\" was declared but never referenced\n"
                       "  error: this is the program's text\n"
                       "     ^\n"
                       "\n"
                       "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
                       "\n"
                       "\"dir/other file.hds\"(41): error #20: expected an expression\r\n"
                       "\"old.hds\", line 7: catastrophic error: cannot open source file \"x(3): error: y\"\n"
                       "copy (2).hds(3): remark: x\n"
                       "4 errors detected in the compilation of \"k.cu\".\n"
                       "Compilation terminated.\n"
                       "nvrtc: error: invalid value for --gpu-architecture (-arch)\n"
                       "error: no location at all"),
                   STR(""), &log);
    assert_int_equal(log.records.len, 7);
    const tool_log_record *r = log.records.at;
    assert_record(&r[0], TOOL_LOG_ERROR, "kernel.hds", 12, 0, "identifier \"y\" is undefined");
    assert_record(&r[1], TOOL_LOG_WARNING, "kernel.hds", 12, 177, "variable \"u\" was declared but never referenced");
    assert_record(&r[2], TOOL_LOG_ERROR, "dir/other file.hds", 41, 20, "expected an expression");
    assert_record(&r[3], TOOL_LOG_ERROR, "old.hds", 7, 0, "cannot open source file \"x(3): error: y\"");
    assert_record(&r[4], TOOL_LOG_INFO, "copy (2).hds", 3, 0, "x");
    assert_record(&r[5], TOOL_LOG_ERROR, NULL, 0, 0, "invalid value for --gpu-architecture (-arch)");
    assert_record(&r[6], TOOL_LOG_ERROR, NULL, 0, 0, "no location at all");
}

static const char ptx[] = ".version 9.0\n"                                                       // 1
                          ".visible .entry f(\n"                                                 // 2
                          ")\n"                                                                  // 3
                          "{\n"                                                                  // 4
                          "\t.loc\t1 12 0\n"                                                     // 5
                          "\tld.param.u64 %rd1, [f];\n"                                          // 6
                          "\t.loc\t2 13 28, function_name $L__info_string0, inlined_at 1 12 4\n" // 7
                          "\tbogus.s32 %r1, 1;\n"                                                // 8
                          "}\n"                                                                  // 9
                          ".visible .entry g(\n"                                                 // 10
                          ")\n"                                                                  // 11
                          "{\n"                                                                  // 12
                          "\tbogus.s32 %r1, 1;\n"                                                // 13
                          "}\n"                                                                  // 14
                          "\t.file\t1 \"/home/me/kernel.hds\"\n"
                          "\t.file\t2 \"/home/me/lib/mma.hds\"\n";

static void ptxas_messages(void **state)
{
    fixture *f = *state;
    tool_log log;
    tool_log_parse(&f->arena,
                   STR("ptxas application ptx input, line 8; error   : Not a name of any known instruction: 'bogus'\n"
                       "ptxas application ptx input, line 13; error   : Not a name of any known instruction: 'bogus'\n"
                       "ptxas application ptx input, line 6; warning : odd\n"
                       "ptxas info    : Used 30 registers\n"
                       "ptxas         .     128 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                       "ptxas what is this\n"
                       "ptxas fatal   : Ptx assembly aborted due to errors\n"),
                   str_of(ptx), &log);
    assert_int_equal(log.records.len, 5);
    const tool_log_record *r = log.records.at;
    assert_record(&r[0], TOOL_LOG_ERROR, "/home/me/lib/mma.hds", 13, 0, "Not a name of any known instruction: 'bogus'");
    assert_false(r[0].in_ptx);
    // The second kernel has no line table: the first one's must not be used for it.
    assert_record(&r[1], TOOL_LOG_ERROR, NULL, 13, 0, "Not a name of any known instruction: 'bogus'");
    assert_true(r[1].in_ptx);
    assert_record(&r[2], TOOL_LOG_WARNING, "/home/me/kernel.hds", 12, 0, "odd");
    assert_record(&r[3], TOOL_LOG_INFO, NULL, 0, 0, "Used 30 registers");
    assert_record(&r[4], TOOL_LOG_INFO, NULL, 0, 0, "128 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
    tool_log_parse(&f->arena, STR("ptxas fatal   : Unresolved extern function '_Z3extPi'"), STR(""), &log);
    assert_record(&log.records.at[0], TOOL_LOG_ERROR, NULL, 0, 0, "Unresolved extern function '_Z3extPi'");
}

static void reports(void **state)
{
    fixture *f = *state;
    src_add(&f->sources, "kernel.hds", STR("def f():\n    asm('bogus')\n    x = 1\n"));
    tool_log log;
    tool_log_parse(
        &f->arena,
        STR("/home/me/kernel.hds(2): error: no 'bogus' 100%s\n"
            "kernel.hds(3): warning #177-D: variable \"x\" was declared but never referenced\n"
            "notkernel.hds(3): error: elsewhere\n"
            "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
            "ptxas info    : Used 30 registers\n"),
        STR(""), &log);
    assert_int_equal(tool_log_report(&f->dx, &log), 2);
    assert_string_equal(
        rendered(f),
        "kernel.hds:2:5: error[HDS0074]: the CUDA compiler rejects this: no 'bogus' 100%s\n"
        "    2 |     asm('bogus')\n"
        "      |     ^^^^^^^^^^^^\n"
        "kernel.hds:3:5: warning[HDS0075]: the CUDA compiler warns: variable \"x\" was declared but never referenced\n"
        "    3 |     x = 1\n"
        "      |     ^^^^^\n"
        "error[HDS0077]: NVRTC failed: elsewhere\n"
        "warning[HDS0075]: the CUDA compiler warns: (C7510) Potential Performance Loss: wgmma.mma_async instructions "
        "are "
        "serialized\n");
}

// As NVRTC 13.0 writes them.
static void remarks(void **state)
{
    fixture *f = *state;
    tool_log log;
    tool_log_parse(
        &f->arena,
        STR("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
            "wgmma pipeline crossing function boundary at a function call in the function 'k_1'\n"
            "ptxas info    : (C7519) warpgroup.arrive is injected in around line 57 by compiler to allow use of "
            "registers in GMMA in function 'k_1'\n"
            "ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line 304 in function k. "
            "Try to compile with register target of 154 or higher.\n"
            "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine "
            "register count at entry.\n"
            "ptxas application ptx input, line 31; fatal   : (C7406) setmaxnreg.dec has register count (200) which "
            "is larger than the largest temporal register count in the program (168)\n"),
        STR(""), &log);
    assert_int_equal(log.records.len, 5);
    const tool_log_record *r = log.records.at;
    assert_int_equal(r[0].number, PTXAS_WGMMA_CALL);
    assert_string_equal(r[0].function, "k_1");
    assert_int_equal(r[0].line, 0);
    assert_int_equal(r[1].number, PTXAS_WGMMA_FENCE_ADDED);
    assert_string_equal(r[1].function, "k_1");
    assert_int_equal(r[1].line, 57);
    assert_true(r[1].in_ptx);
    assert_int_equal(r[2].number, PTXAS_TOO_FEW_REGISTERS);
    assert_string_equal(r[2].function, "k");
    assert_int_equal(r[2].line, 304);
    assert_int_equal(r[2].severity, TOOL_LOG_ERROR);
    assert_int_equal(r[3].number, PTXAS_SETMAXNREG_IGNORED);
    assert_null(r[3].function);
    assert_int_equal(r[4].number, PTXAS_SETMAXNREG_TOO_HIGH);
    assert_int_equal(r[4].severity, TOOL_LOG_ERROR);
    assert_int_equal(r[4].line, 31);
}

static const char plain[] = ".visible .entry f(\n" // 1
                            ")\n"                  // 2
                            "{\n"                  // 3
                            "\tld.param.u64 %rd1, [f];\n"
                            "\t{\n"
                            "wgmma.fence;\n" // 6
                            "}\n"
                            "\tbogus.s32 %r1, 1;\n" // 8
                            "}\n"
                            ".visible .entry g(\n"
                            "\tbogus.s32 %r1, 1;\n"; // 11
static const char lined[] = ".visible .entry f(\n"
                            ")\n"
                            "{\n"
                            "\t.loc\t1 12 0\n"
                            "\tld.param.u64 %rd1, [f];\n"
                            "\t.loc\t2 1 28, function_name $L__info_string0, inlined_at 1 3 4\n"
                            "\t.loc\t1 0 4\n"
                            "\t{\n"
                            "wgmma.fence;\n"
                            "}\n"
                            "\tbogus.s32 %r1, 1;\n"
                            "}\n"
                            ".visible .entry g(\n"
                            "\tbogus.s32 %r1, 1;\n"
                            "\t.file\t1 \"/home/me/kernel (1).hds\"\n"
                            "\t.file\t2 \"/home/me/lib/mma.hds\"\n";

static void locations(void **state)
{
    fixture *f = *state;
    src_add(&f->sources, "kernel (1).hds", STR("a\nb\n  c\n"));
    src_add(&f->sources, "lib/mma.hds", STR("d\n"));
    str text = STR("Remark: line 6 is not ptxas'\n"
                   "ptxas info    : (C7519) warpgroup.arrive is injected in around line 6 by compiler in function 'f'\n"
                   "ptxas application ptx input, line 8; error   : Not a name\n"
                   "ptxas application ptx input, line 11; error   : Not a name\n"
                   "ptxas application ptx input, line 4000; error   : Not a name\n");
    assert_true(tool_log_wants_locations(text));
    assert_false(tool_log_wants_locations(STR("ptxas info    : Used 30 registers\nkernel.hds(3): error: line 4\n")));
    str located = tool_log_locate(&f->arena, &f->sources, text, str_of(plain), str_of(lined));
    assert_non_null(strstr(located.at, "Remark: line 6 is not"));
    tool_log log;
    tool_log_parse(&f->arena, located, STR(""), &log);
    assert_int_equal(log.records.len, 4);
    const tool_log_record *r = log.records.at;
    // A remark is about the line that called for the text; a wrong instruction about the text.
    assert_string_equal(r[0].file, "kernel (1).hds");
    assert_int_equal(r[0].line, 3);
    assert_false(r[0].in_ptx);
    assert_string_equal(r[0].function, "f");
    src_span span = tool_log_span(&f->dx, &r[0]);
    assert_int_equal(src_location_of(&f->sources, span.begin).column, 3);
    assert_string_equal(r[1].file, "lib/mma.hds");
    assert_int_equal(r[1].line, 1);
    assert_string_equal(r[1].text, "Not a name");
    assert_true(r[2].in_ptx && r[3].in_ptx);
    // Texts that differ otherwise tell nothing behind the difference.
    str other = tool_log_locate(&f->arena, &f->sources, text, STR("something else\n"), str_of(lined));
    assert_null(strstr(other.at, " of "));
}

static void hostile_text(void **state)
{
    fixture *f = *state;
    static const char parts[][24] = {"kernel.hds",
                                      "(",
                                      ")",
                                      "12",
                                      ":",
                                      " error",
                                      "\n",
                                      "\"",
                                      ", line ",
                                      " of x(3)",
                                      "(C7519)",
                                      " in function 'k'",
                                      ".entry k(",
                                      "__local_depot0[",
                                      "]",
                                      "ptxas ",
                                      ";",
                                      "#",
                                      "-D",
                                      ".loc\t1 2",
                                      "99999999999999999999",
                                      " ",
                                      ".file 1 \"x\"",
                                      "{",
                                      "warning"};
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        char text[256] = "";
        for (int k = 0; k < 9; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            strcat(text, parts[(random >> 33) % (sizeof parts / sizeof *parts)]);
        }
        // An exact copy without a final 0, so that a read past the end is seen.
        size_t len = strlen(text);
        char *copy = malloc(len ? len : 1);
        memcpy(copy, text, len);
        arena_mark mark = arena_mark_get(&f->arena);
        tool_log log;
        tool_log_parse(&f->arena, (str){copy, len}, (str){copy, len}, &log);
        str located = tool_log_locate(&f->arena, &f->sources, (str){copy, len}, (str){copy, len}, (str){copy, len});
        tool_log_parse(&f->arena, located, STR(""), &log);
        tool_ptx_locals locals;
        tool_ptx_locals_of(&f->arena, (str){copy, len}, &locals);
        tool_ptx_local_bytes(&locals, "k");
        arena_reset(&f->arena, mark);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(front_end_messages), TEST(ptxas_messages), TEST(reports), TEST(remarks), TEST(locations), TEST(hostile_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
