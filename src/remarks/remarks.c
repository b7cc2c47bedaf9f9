#include "remarks/remarks.h"

#include <stdlib.h>
#include <string.h>

// Note [what ptxas says of wgmma]
// Accumulators belong to the tensor cores from wgmma.fence to wgmma.wait_group. Where ptxas cannot prove that no other
// code touches them, it makes the program right by waiting after each instruction, two to three times slower, and says
// so in a remark of the log. The remark names a function at most; waits and fences that it adds name lines of the PTX.

static const remark_facts *kernel_of(const remark_facts_list *facts, const char *symbol)
{
    for (size_t i = 0; symbol && i < facts->len; i++) {
        if (strcmp(facts->at[i].info->symbol, symbol) == 0)
            return &facts->at[i];
    }
    return NULL;
}

static bool is_there(remark_spot spot)
{
    return spot.span.begin != 0;
}

// ---- wgmma beside messages --------------------------------------------------------------------------------------

static void warn_of_message(const remark_unit *u, const remark_facts *k)
{
    diag *d = diag_report(u->diags, HDS0805, k->message.span, k->is_assertion ? "assertion" : "output",
                          remark_kernel_title(k));
    diag_label(d, k->wgmma.span, "the first of them");
    diag_help(d,
              "it becomes a call, across which the tensor cores cannot keep accumulators; use it while searching for "
              "mistakes only, under a condition that is known while compiling");
    ir_note_sites(u->module, d, k->message.origin);
}

static bool warn_of_messages(const remark_unit *u, const remark_facts_list *facts)
{
    bool found = false;
    for (size_t i = 0; i < facts->len; i++) {
        const remark_facts *k = &facts->at[i];
        if (!is_there(k->wgmma) || !is_there(k->message))
            continue;
        warn_of_message(u, k);
        found = true;
    }
    return found;
}

// ---- register shares --------------------------------------------------------------------------------------------

static void warn_of_ignored_share(const remark_unit *u, const remark_facts *k)
{
    diag *d = diag_report(u->diags, HDS0803, k->register_share.span, remark_kernel_title(k));
    diag_help(d,
              "the registers that a thread starts with follow from the threads of the block: give attrs.cuda.block_dim "
              "values that are known while compiling");
    ir_note_sites(u->module, d, k->register_share.origin);
}

// The options of NVRTC may limit registers, which also tells ptxas what threads start with.
static bool limits_registers(const remark_unit *o)
{
    for (int i = 0; i < o->nvrtc_option_count; i++) {
        if (strstr(o->nvrtc_options[i], "maxrregcount") || strstr(o->nvrtc_options[i], "ptxas") ||
            strstr(o->nvrtc_options[i], "Xptxas"))
            return true;
    }
    return false;
}

static void warn_of_unknown_shares(const remark_unit *u, const remark_facts_list *facts)
{
    for (size_t i = 0; i < facts->len; i++) {
        const remark_facts *k = &facts->at[i];
        if (is_there(k->register_share) && !k->info->max_threads)
            warn_of_ignored_share(u, k);
    }
}

// ptxas does not say in which kernel: in those without bounds, or else in any that asks for a share.
static void say_ignored_share(const remark_unit *u, const remark_facts_list *facts)
{
    bool has_unknown = false;
    for (size_t i = 0; i < facts->len; i++)
        has_unknown |= is_there(facts->at[i].register_share) && !facts->at[i].info->max_threads;
    for (size_t i = 0; i < facts->len; i++) {
        const remark_facts *k = &facts->at[i];
        if (is_there(k->register_share) && (!has_unknown || !k->info->max_threads))
            warn_of_ignored_share(u, k);
    }
}

// Whether any kernel may have what remark_early warns of.
static bool has_wgmma_or_share(const ir_module *m)
{
    for (size_t i = 0; i < m->intrins.len; i++) {
        const ir_intrin *in = m->intrins.at[i];
        if (in->form == IR_INTRIN_PTX && (remark_is_wgmma(in) || remark_is_share(in)))
            return true;
    }
    return false;
}

void remark_early(const remark_unit *u)
{
    if (!has_wgmma_or_share(u->module))
        return;
    remark_facts_list facts;
    remark_facts_of(u, &facts);
    if (!limits_registers(u))
        warn_of_unknown_shares(u, &facts);
    // Where machine code is made, ptxas knows better: the message may concern unreachable code.
    if (!u->runs_ptxas)
        warn_of_messages(u, &facts);
}

// ---- from the log -----------------------------------------------------------------------------------------------

// The number behind [before] in a message; 0: there is none.
static long number_behind(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    return at ? strtol(at + strlen(before), NULL, 10) : 0;
}

static src_span span_or(src_span span, src_span otherwise)
{
    return span.begin ? span : otherwise;
}

// The statement that a record with a location is about.
static remark_spot spot_of(const remark_unit *u, const remark_facts *k, const tool_log_record *r)
{
    const src_file *file = r->file ? tool_source_of(u->sources, r->file) : NULL;
    remark_spot spot = {{0, 0}, 0};
    if (k && file)
        spot = remark_statement_at(u, k, file, r->line);
    if (!is_there(spot))
        spot.span = tool_log_span(u->diags, r);
    return spot;
}

static bool has_record(const tool_log *log, int number, const char *function)
{
    for (size_t i = 0; i < log->records.len; i++) {
        const tool_log_record *r = &log->records.at[i];
        if (r->number == number && r->function && strcmp(r->function, function) == 0)
            return true;
    }
    return false;
}

static bool is_serialised(const tool_log *log, const char *function)
{
    static const int codes[] = {PTXAS_WGMMA_CALL, PTXAS_WGMMA_REGISTERS, PTXAS_WGMMA_READ, PTXAS_WGMMA_WRITTEN};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (has_record(log, codes[i], function))
            return true;
    }
    return false;
}

static const char *reason_of(const tool_log *log, const tool_log_record *r)
{
    switch (r->number) {
    case PTXAS_WGMMA_CALL:
        return "a function is called between them";
    case PTXAS_WGMMA_READ:
        return "their accumulators are read before they are waited for";
    case PTXAS_WGMMA_WRITTEN:
        return "their accumulators are written before they are waited for";
    default:
        break;
    }
    // The fences that ptxas adds itself do not help it; it then reports missing registers.
    if (has_record(log, PTXAS_WGMMA_FENCE_ADDED, r->function))
        return "a fence is missing before them";
    return "there are too few registers for their accumulators";
}

static void advise(diag *d, const tool_log *log, const remark_facts *k, const tool_log_record *r)
{
    const remark_array *largest = remark_largest_array(k);
    bool lacks_fence = has_record(log, PTXAS_WGMMA_FENCE_ADDED, r->function);
    if (r->number == PTXAS_WGMMA_CALL)
        diag_help(d, "keep calls, output and assertions out of kernels with wgmma");
    else if (r->number == PTXAS_WGMMA_REGISTERS && !lacks_fence && largest)
        diag_help(d, "'%s' takes %lld registers of each thread: give a warpgroup a smaller tile", largest->var->name,
                  (long long)((largest->bytes + 3) / 4));
    else
        diag_help(
            d, "call fence(acc) before the first of a batch and wait(acc, 0) behind the last, touch 'acc' outside of "
               "that only, and let one branch use one accumulator");
}

// Where ptxas added something in this kernel, as labels: a few locations are enough.
static void label_locations(const remark_unit *u, const remark_facts *k, diag *d, const tool_log *log, int number,
                            const char *word)
{
    enum { MOST_LABELS = 3 };
    src_span last = d->span;
    int labels = 0;
    for (size_t i = 0; i < log->records.len && labels < MOST_LABELS; i++) {
        const tool_log_record *r = &log->records.at[i];
        if (r->number != number || !r->function || strcmp(r->function, k->info->symbol) != 0)
            continue;
        src_span span = spot_of(u, k, r).span;
        if (!span.begin || span.begin == last.begin)
            continue;
        diag_label(d, span, "%s", word);
        last = span;
        labels++;
    }
}

static void say_serialised(const remark_unit *u, const remark_facts_list *facts, const tool_log *log,
                           const tool_log_record *r)
{
    const remark_facts *k = kernel_of(facts, r->function);
    // A failed assertion is a function of its own, which belongs to no kernel.
    bool is_call = r->number == PTXAS_WGMMA_CALL;
    if (is_call && k && is_there(k->wgmma) && is_there(k->message)) {
        warn_of_message(u, k);
        return;
    }
    if (is_call && !k && warn_of_messages(u, facts))
        return;
    if (!k) {
        diag_report(u->diags, HDS0800, (src_span){0, 0}, r->function, reason_of(log, r));
        return;
    }
    diag *d = diag_report(u->diags, HDS0800, span_or(k->wgmma.span, k->info->func->span), remark_kernel_title(k),
                          reason_of(log, r));
    label_locations(u, k, d, log, PTXAS_WGMMA_WAIT_ADDED, "ptxas adds a wait before this");
    label_locations(u, k, d, log, PTXAS_WGMMA_FENCE_ADDED, "ptxas adds a fence before this");
    advise(d, log, k, r);
    ir_note_sites(u->module, d, k->wgmma.origin);
}

static bool is_first(const tool_log *log, const tool_log_record *r)
{
    for (const tool_log_record *at = log->records.at; at < r; at++) {
        if (at->number == r->number && at->function && strcmp(at->function, r->function) == 0)
            return false;
    }
    return true;
}

// A wait or a fence in a kernel whose instructions are not serialised for it: the first of each, with others as labels.
static void say_added(const remark_unit *u, const remark_facts_list *facts, const tool_log *log,
                      const tool_log_record *r)
{
    if (!r->function || is_serialised(log, r->function) || !is_first(log, r))
        return;
    const remark_facts *k = kernel_of(facts, r->function);
    remark_spot spot = spot_of(u, k, r);
    bool is_wait = r->number == PTXAS_WGMMA_WAIT_ADDED;
    const char *name = k ? remark_kernel_title(k) : r->function;
    diag *d =
        diag_report(u->diags, is_wait ? HDS0801 : HDS0802, span_or(spot.span, k ? k->wgmma.span : spot.span), name);
    if (k)
        label_locations(u, k, d, log, r->number, "and before this");
    diag_help(
        d, is_wait ? "call wait(acc, 0) where the accumulators are needed, so that the source decides where"
                   : "call fence(acc) behind what writes the accumulators and before the first of a batch, outside of "
                     "branches around the instructions");
    ir_note_sites(u->module, d, spot.origin);
}

static void say_too_few_registers(const remark_unit *u, const remark_facts_list *facts, const tool_log_record *r)
{
    const remark_facts *k = kernel_of(facts, r->function);
    remark_spot spot = spot_of(u, k, r);
    long has = number_behind(r->text, "registers ("), needs = number_behind(r->text, "target of ");
    src_span kernel = k ? k->info->func->span : spot.span;
    diag *d = diag_report(u->diags, HDS0804, span_or(spot.span, kernel), k ? remark_kernel_title(k) : r->function,
                          needs, has);
    if (k && k->info->max_threads)
        diag_help(d,
                  "an SM has %d registers for the %lld threads of a block, also where setmaxnreg shares them "
                  "out later: launch fewer threads per block, or give each a smaller tile",
                  u->arch->registers_per_sm, (long long)k->info->max_threads);
    else
        diag_help(d, "launch fewer threads per block, or give each a smaller tile");
    ir_note_sites(u->module, d, spot.origin);
}

static void say_too_high_share(const remark_unit *u, const tool_log_record *r)
{
    long wish = number_behind(r->text, "register count ("), has = number_behind(r->text, "in the program (");
    diag *d = diag_report(u->diags, HDS0807, tool_log_span(u->diags, r), wish, has);
    diag_help(d, "setmaxnreg_dec takes fewer registers than that; setmaxnreg_inc takes more");
}

int remark_on_log(const remark_unit *u, const remark_facts_list *facts, tool_log *log)
{
    int errors = 0;
    for (size_t i = 0; i < log->records.len; i++) {
        tool_log_record *r = &log->records.at[i];
        r->is_said = true;
        switch (r->number) {
        case PTXAS_SETMAXNREG_IGNORED:
            say_ignored_share(u, facts);
            break;
        case PTXAS_SETMAXNREG_TOO_HIGH:
            say_too_high_share(u, r);
            break;
        case PTXAS_WGMMA_CALL:
        case PTXAS_WGMMA_REGISTERS:
        case PTXAS_WGMMA_READ:
        case PTXAS_WGMMA_WRITTEN:
            say_serialised(u, facts, log, r);
            break;
        case PTXAS_WGMMA_WAIT_ADDED:
        case PTXAS_WGMMA_FENCE_ADDED:
            say_added(u, facts, log, r);
            break;
        case PTXAS_TOO_FEW_REGISTERS:
            say_too_few_registers(u, facts, r);
            break;
        default:
            r->is_said = false;
            break;
        }
        errors += r->is_said && r->severity == TOOL_LOG_ERROR;
    }
    return errors;
}

// ---- from the PTX -----------------------------------------------------------------------------------------------

// The largest array with the worst index that may be among [bytes] of local memory; NULL: none of them.
static const remark_array *next_array(const remark_facts *k, int64_t bytes, const bool *said)
{
    const remark_array *next = NULL;
    for (size_t i = 0; i < k->arrays.len; i++) {
        const remark_array *at = &k->arrays.at[i];
        if (said[i] || at->index == REMARK_INDEX_KNOWN || at->bytes > bytes)
            continue;
        if (!next || at->index > next->index || (at->index == next->index && at->bytes > next->bytes))
            next = at;
    }
    return next;
}

static void warn_of_array(const remark_unit *u, const remark_array *array)
{
    diag *d = diag_report(u->diags, HDS0806, array->access.span, array->var->name, (long long)array->bytes);
    diag_under(d, array->index == REMARK_INDEX_OF_LOOP ? "an index of a loop that is not unrolled"
                                                       : "an index that is known at run time only");
    diag_help(d, "registers have no numbers at run time: unroll the loop (static_range), or keep the values in shared "
                 "memory");
    ir_note_sites(u->module, d, array->access.origin);
}

void remark_on_ptx(const remark_unit *u, const remark_facts_list *facts, const tool_ptx_locals *locals)
{
    for (size_t i = 0; i < facts->len; i++) {
        const remark_facts *k = &facts->at[i];
        int64_t bytes = tool_ptx_local_bytes(locals, k->info->symbol) - k->output_bytes;
        bool *said = ARENA_ARRAY(u->memory, bool, k->arrays.len + 1);
        const remark_array *array;
        while (bytes > 0 && (array = next_array(k, bytes, said))) {
            warn_of_array(u, array);
            said[array - k->arrays.at] = true;
            bytes -= array->bytes;
        }
    }
}
