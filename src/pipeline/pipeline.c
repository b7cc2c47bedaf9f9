// The map of the compiler.
//
//     kernel.hds ─ parse, elaborate ─▶ IR ─ passes ─▶ low IR ─ emit ─▶ CUDA C++ ─ NVRTC ─▶ PTX, machine code
//                  src/frontend            src/ir              src/cuda_emit      src/toolchain
//                  src/typecheck
//
// compile_to_text below is that line as a list of calls, each followed by its dump. Each call returns whether to go on: not
// after errors, and not when what was asked for is made.

#include "pipeline/interface.h"
#include "remarks/remarks.h"

#include <string.h>

// ---- what is asked for ------------------------------------------------------------------------------------------

static bool is_dumped(const pl_unit *u, const char *stage)
{
    const char *dump = u->options->dump;
    return dump && (strcmp(dump, stage) == 0 || strcmp(dump, "all") == 0);
}

// With a dump and no output asked for, nothing after that dump is of interest.
static bool ends_with_dump(const pl_unit *u, const char *stage)
{
    return u->options->emit == PL_NOTHING && u->options->dump && strcmp(u->options->dump, stage) == 0;
}

// Adds to the dump, under a headline where there are several. Returns whether to go on.
static bool dump(pl_unit *u, const char *stage, str text)
{
    if (strcmp(u->options->dump, "all") == 0)
        str_addf(&u->dump, "%s// ---- %s (%s)\n", u->dump.len ? "\n" : "", stage, u->arch->name);
    str_add(&u->dump, text);
    return !ends_with_dump(u, stage);
}

static bool deliver(pl_unit *u, str_buf *text)
{
    u->text = (str){str_text(text), text->len};
    return false;
}

// ---- syntax -----------------------------------------------------------------------------------------------------

static bool show_tokens(pl_unit *u)
{
    bool is_output = u->options->emit == PL_TOKENS;
    if (pl_unit_is_ir_text(u) || (!is_output && !(u->is_first && is_dumped(u, "tokens"))))
        return true;
    str_buf text;
    str_buf_init(&text, &u->memory);
    parse_context px = {&u->memory, &u->syms, &u->diags};
    lex_print(&px, u->file, &text);
    return is_output ? deliver(u, &text) : dump(u, "tokens", (str){str_text(&text), text.len});
}

static bool show_tree(pl_unit *u)
{
    bool is_output = u->options->emit == PL_AST;
    if (pl_unit_is_ir_text(u) || (!is_output && !(u->is_first && is_dumped(u, "ast"))))
        return true;
    str_buf text;
    str_buf_init(&text, &u->memory);
    parse_context px = {&u->memory, &u->syms, &u->diags};
    ast_print(parse_module(&px, u->file), &u->sources, &text);
    return is_output ? deliver(u, &text) : dump(u, "ast", (str){str_text(&text), text.len});
}

// ---- IR ---------------------------------------------------------------------------------------------------------

// What is compiled, before anything is known of it but that it can be read.
static bool output_graph(pl_unit *u)
{
    if (u->options->emit != PL_GRAPH)
        return true;
    u->text = u->input;
    return false;
}

// The program behind the elaborated file. It has been checked as a whole.
static bool output_program(pl_unit *u)
{
    if (u->options->emit != PL_HDS)
        return true;
    u->text = u->input;
    return false;
}

// Not an error: a module of helpers is a good file.
static void warn_if_empty(pl_unit *u)
{
    for (size_t i = 0; i < u->module->funcs.len; i++) {
        if (u->module->funcs.at[i]->is_public)
            return;
    }
    diag *d = diag_report(&u->diags, HDS0496, (src_span){0, 0}, u->input_name);
    diag_help(d, "a kernel is a function that assigns attrs.cuda.grid_dim and attrs.cuda.block_dim; "
                 "'-Wno-empty' hides this");
}

static bool elaborate(pl_unit *u)
{
    size_t span = pl_span_begin(&u->times, pl_unit_is_ir_text(u) ? "read IR" : "elaborate", 0);
    pl_lowering_init(u);
    bool ok = pl_unit_elaborate(u, NULL);
    pl_span_end(&u->times, span);
    u->times.spans.at[span].duration_us -= u->lowering.total_us + u->lowering.emitted_us;
    if (!ok)
        return false;
    warn_if_empty(u);
    return !u->diags.shown_errors;
}

static bool print_ir(pl_unit *u)
{
    str_buf text;
    str_buf_init(&text, &u->memory);
    ir_print(u->module, &text);
    return deliver(u, &text);
}

static bool dump_ir(pl_unit *u)
{
    if (!is_dumped(u, "hir"))
        return true;
    str_buf text;
    str_buf_init(&text, &u->scratch);
    ir_print(u->module, &text);
    return dump(u, "hir", (str){str_text(&text), text.len});
}

static bool run_named_passes(pl_unit *u, ir_pass_context *px)
{
    for (int i = 0; i < u->options->pass_count; i++) {
        if (!ir_run_pass(px, ir_pass_find(u->options->passes[i])))
            return false;
    }
    return print_ir(u);
}

static bool is_a_pass(const char *name)
{
    return name && ir_pass_find(name);
}

// What entries have not gone through yet. The report shows the passes behind elaboration, as if they had run there.
static bool lower_rest(pl_unit *u)
{
    pl_lowering *l = &u->lowering;
    double start_us = pl_now_us() - u->times.origin_us - l->total_us - l->emitted_us;
    size_t span = pl_span_begin(&u->times, "passes", 0);
    bool ok = pl_lower_rest(u);
    pl_span_end(&u->times, span);
    u->times.spans.at[span].start_us = start_us;
    u->times.spans.at[span].duration_us = l->total_us;
    for (size_t i = 0; i < l->times.len; i++) {
        pl_span_add(&u->times, l->times.at[i].name, 1, start_us, l->times.at[i].duration_us);
        start_us += l->times.at[i].duration_us;
    }
    if (l->only_checks) {
        pl_span_add(&u->times, "emit", 0, start_us, l->emitted_us);
        VEC_LAST(&u->times.spans).most_bytes = u->meter.most_bytes;
    }
    return ok && !u->diags.shown_errors && !l->only_checks;
}

static bool run_passes(pl_unit *u)
{
    if (u->lowering.by_entry)
        return lower_rest(u);
    const char *wanted = u->options->dump;
    bool ends_here = u->options->emit == PL_NOTHING && is_a_pass(wanted);
    ir_pass_options options = pl_unit_pass_options(u);
    options.dump = is_a_pass(wanted) || is_dumped(u, "all") ? wanted : NULL;
    options.stop_after = ends_here ? wanted : NULL;
    ir_pass_context px = {.module = u->module, .scratch = &u->scratch, .diags = &u->diags, .options = &options};
    if (u->options->passes)
        return run_named_passes(u, &px);
    if (u->module->is_low)
        return true;
    size_t span = pl_span_begin(&u->times, "passes", 0);
    bool ok = ir_run_pipeline(&px);
    pl_span_end(&u->times, span);
    double start_us = u->times.spans.at[span].start_us;
    for (size_t i = 0; i < px.times.len; i++)
        pl_span_add(&u->times, px.times.at[i].name, 1, start_us + px.times.at[i].start_us, px.times.at[i].duration_us);
    if (ok && !ends_here)
        ir_unite_equal_kernels(u->module, &u->scratch);
    return ok && !ends_here && !u->diags.shown_errors;
}

static bool output_ir(pl_unit *u)
{
    return u->options->emit != PL_HIR || print_ir(u);
}

// What the assembler would only ignore, or do slowly.
static bool remark(pl_unit *u)
{
    const remark_unit unit = pl_remark_unit(u);
    remark_early(&unit);
    return !u->diags.shown_errors;
}

// ---- CUDA -------------------------------------------------------------------------------------------------------

static bool dump_plans(pl_unit *u)
{
    return !is_dumped(u, "plan") || dump(u, "plan", pl_plan_text(u));
}

static bool dump_cuda(pl_unit *u)
{
    return !is_dumped(u, "cu") || dump(u, "cu", u->cuda);
}

static bool output_cuda(pl_unit *u)
{
    if (u->options->emit == PL_JSON)
        u->text = pl_interface(u);
    if (u->options->emit == PL_CU)
        u->text = u->cuda;
    return u->options->emit > PL_CU || u->options->resource_usage;
}

// ---- the list ---------------------------------------------------------------------------------------------------

static bool compile_to_text(pl_unit *u)
{
    return pl_unit_add_source(u)
        && output_graph(u)
        && show_tokens(u)
        && show_tree(u)
        && elaborate(u)
        && output_program(u)
        && dump_ir(u)
        && run_passes(u)  // dumps after each pass
        && output_ir(u)
        && pl_emit(u)
        && dump_plans(u)
        && remark(u)
        && dump_cuda(u)
        && output_cuda(u);
}

void pl_compile(pl_unit *u)
{
    (void)(compile_to_text(u) && pl_assemble(u));
}

void pl_compile_to_text(pl_unit *u)
{
    u->goes_on = compile_to_text(u);
    if (u->goes_on)
        pl_take_nvrtc_text(u);
}
