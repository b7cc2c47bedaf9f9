// --trace and --break: what one thread does, line by line.
//
// The simulator calls before each statement that begins on another line. What the statement before it assigned is found by
// comparing the thread's variables with what they were then.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/run.h"
#include "sim/finding.h"
#include "sim/shadow.h"

enum { SHOWN_ELEMENTS = 16, SHOWN_CELLS = 4096 };

// What a variable of the frame was at the last statement.
typedef struct seen {
    const ir_var *var;
    uint64_t hash;
} seen;

typedef struct run_trace {
    run_state *run;
    sim_watch watch;
    str_buf out;
    bool traces;
    // The statement under way.
    bool has_last;
    const sim_code *code;
    src_location last;
    int64_t block;
    int thread;
    VEC(seen) variables;
} run_trace;

// ---- values -----------------------------------------------------------------------------------------------------

static bool is_wide(const ir_type *t)
{
    return t->kind == IR_POINTER || t->kind == IR_TENSOR || (t->kind == IR_SCALAR && dt_bits(t->scalar) == 64);
}

static const ir_type *element_type(const ir_var *v)
{
    bool is_array = v->tensor && (v->tensor->space == IR_REGISTER || v->tensor->space == IR_LOCAL);
    return is_array ? v->tensor->elem : v->type;
}

static uint64_t bits_at(const sim_warp *w, uint32_t cell, bool wide, uint32_t lane)
{
    return wide ? sim_u64(w, cell)[lane] : sim_u32(w, cell)[lane];
}

static void add_value(const sim_warp *w, const ir_type *t, uint32_t cell, uint32_t lane, str_buf *out)
{
    dtype scalar = t->kind == IR_SCALAR || t->kind == IR_VECTOR ? t->scalar : DT_NONE;
    bool wide = scalar == DT_NONE || dt_bits(scalar) == 64;
    uint64_t bits = bits_at(w, cell, wide, lane);
    if (w->poison[cell] >> lane & 1)
        str_addc(out, '?');
    else if (scalar == DT_NONE)
        str_adds(out, arena_printf(out->arena, "0x%llx", (unsigned long long)bits));
    else
        ten_value_print(scalar, dt_bits(scalar) < 32 ? bits & ((1u << dt_bits(scalar)) - 1) : bits, out);
}

static int cells_of(const ir_type *t)
{
    if (t->kind == IR_VECTOR)
        return t->lanes * (dt_bits(t->scalar) == 64 ? 2 : 1);
    return is_wide(t) ? 2 : 1;
}

static void add_element(const sim_warp *w, const ir_type *t, uint32_t cell, uint32_t lane, str_buf *out)
{
    if (t->kind != IR_VECTOR) {
        add_value(w, t, cell, lane, out);
        return;
    }
    int step = dt_bits(t->scalar) == 64 ? 2 : 1;
    str_addc(out, '(');
    for (int i = 0; i < t->lanes; i++) {
        str_adds(out, i ? ", " : "");
        add_value(w, t, cell + (uint32_t)(i * step), lane, out);
    }
    str_addc(out, ')');
}

// The bytes of a tensor in memory: of a block's shared memory, else behind a global address.
typedef struct region {
    const uint8_t *bytes;
    int64_t room;
    const sim_block *block;
    uint64_t at;  // offset in the block's memory, or address
} region;

static bool is_written(run_trace *t, const region *m, int64_t offset, int64_t bytes)
{
    int64_t first;
    uint64_t unused;
    if (!m->block)
        return sim_is_initialised(t->run->device, m->at + (uint64_t)offset, bytes, &first);
    const struct sim_shadow *shadow = m->block->shadow;
    return !shadow || !shadow->write || sim_shadow_is_written(shadow, m->at + (uint64_t)offset, (uint64_t)bytes, &unused);
}

// The first elements; '?' for uninitialized ones.
static void add_memory(run_trace *t, const ir_tensor *tensor, const region *m, str_buf *out)
{
    dtype type = tensor->elem->kind == IR_SCALAR || tensor->elem->kind == IR_VECTOR ? tensor->elem->scalar : DT_U64;
    ten_tensor view = {.type = type, .rank = 1, .data = (uint8_t *)m->bytes};
    int64_t bits = dt_bits(type), count = m->room * 8 / bits, shown = count < SHOWN_ELEMENTS ? count : SHOWN_ELEMENTS;
    str_addc(out, '[');
    for (int64_t i = 0; i < shown; i++) {
        str_adds(out, i ? ", " : "");
        if (is_written(t, m, i * bits / 8, bits < 8 ? 1 : bits / 8))
            ten_value_print(type, ten_bits(&view, i), out);
        else
            str_addc(out, '?');
    }
    str_adds(out, shown < count ? ", …]" : "]");
}

static const sim_shared_tensor *shared_tensor(const sim_warp *w, const ir_var *v)
{
    const sim_code *kernel = w->block->launch->code;
    for (size_t i = 0; i < kernel->shared.len; i++) {
        if (kernel->shared.at[i].var == v)
            return &kernel->shared.at[i];
    }
    return NULL;
}

static void add_tensor(run_trace *t, sim_warp *w, const sim_local *local, uint32_t lane, str_buf *out)
{
    const ir_tensor *tensor = local->var->tensor;
    const sim_shared_tensor *shared = tensor->space == IR_SHARED ? shared_tensor(w, local->var) : NULL;
    if (shared) {
        region m = {w->block->shared + shared->offset, shared->bytes, w->block, shared->offset};
        add_memory(t, tensor, &m, out);
        return;
    }
    uint64_t address = sim_u64(w, local->cell)[lane];
    region m = {.at = address};
    m.bytes = sim_bytes(t->run->device, address, &m.room);
    if (m.bytes)
        add_memory(t, tensor, &m, out);
    else
        str_adds(out, arena_printf(out->arena, "at 0x%llx", (unsigned long long)address));
}

// Register tensors as small tables: eight elements a row.
static void add_registers(const sim_warp *w, const sim_local *local, uint32_t lane, str_buf *out)
{
    const ir_type *t = element_type(local->var);
    int step = cells_of(t);
    str_addc(out, '[');
    for (int i = 0; i < local->count; i++) {
        str_adds(out, !i ? "" : i % 8 ? ", " : ",\n            ");
        add_element(w, t, local->cell + (uint32_t)(i * step), lane, out);
    }
    str_addc(out, ']');
}

static bool is_in_memory(const ir_var *v)
{
    return v->tensor && v->tensor->space != IR_REGISTER && v->tensor->space != IR_LOCAL;
}

static void add_variable(run_trace *t, sim_warp *w, const sim_local *local, uint32_t lane, str_buf *out)
{
    str_addf(out, "%s = ", local->var->name ? local->var->name : "_");
    if (is_in_memory(local->var))
        add_tensor(t, w, local, lane, out);
    else if (local->count > 1 || local->var->tensor)
        add_registers(w, local, lane, out);
    else
        add_element(w, local->var->type, local->cell, lane, out);
}

// ---- what changed -----------------------------------------------------------------------------------------------

static uint64_t hash_of(const sim_warp *w, const sim_local *local, uint32_t lane)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const ir_type *t = element_type(local->var);
    bool wide = is_wide(t) || (t->kind == IR_VECTOR && dt_bits(t->scalar) == 64);
    int step = wide ? 2 : 1, cells = local->count * cells_of(t);
    for (int i = 0; i < cells && i < SHOWN_CELLS; i += step) {
        uint32_t cell = local->cell + (uint32_t)i;
        hash = (hash ^ bits_at(w, cell, wide, lane)) * 0x100000001b3u;
        hash = (hash ^ (w->poison[cell] >> lane & 1)) * 0x100000001b3u;
    }
    return hash;
}

static seen *seen_of(run_trace *t, const ir_var *v)
{
    for (size_t i = 0; i < t->variables.len; i++) {
        if (t->variables.at[i].var == v)
            return &t->variables.at[i];
    }
    VEC_PUSH(&t->run->unit.memory, &t->variables, ((seen){v, 0}));
    return &VEC_LAST(&t->variables);
}

static src_location declared_at(const run_trace *t, const ir_var *v)
{
    return src_location_of(&t->run->unit.sources, v->span.begin);
}

// Whether the statement of the last line may have assigned it: cells serve others before a variable is declared and after
// it was used for the last time.
static bool may_be_assigned(const run_trace *t, const ir_var *v)
{
    src_location location = declared_at(t, v);
    if (!v->name || (v->role != IR_ROLE_NAME && v->role != IR_ROLE_FIELD) || location.file != t->last.file)
        return false;
    bool changes = v->is_mutable || v->kind == IR_VAR_LOOP || v->tensor;
    return changes ? location.line <= t->last.line : location.line == t->last.line;
}

// Adds the variables that are not what they were, if [out] is given.
static void look_again(run_trace *t, sim_warp *w, uint32_t lane, str_buf *out)
{
    for (size_t i = 0; i < w->code->locals.len; i++) {
        const sim_local *local = &w->code->locals.at[i];
        if (is_in_memory(local->var))
            continue;
        seen *s = seen_of(t, local->var);
        uint64_t hash = hash_of(w, local, lane);
        if (out && hash != s->hash && may_be_assigned(t, local->var)) {
            str_adds(out, "        ");
            add_variable(t, w, local, lane, out);
            str_addc(out, '\n');
        }
        s->hash = hash;
    }
}

// ---- source locations -------------------------------------------------------------------------------------------

static src_location location_of(run_trace *t, uint32_t site)
{
    const sim_site *s = sim_site_at(t->run->program, site);
    return src_location_of(&t->run->unit.sources, s->span.begin);
}

static void add_line(run_trace *t, const sim_warp *w, src_location location, uint32_t lanes)
{
    str line = location.file ? src_line(&t->run->unit.sources, location.file, location.line) : (str){"", 0};
    char warp[64] = "";
    if (!t->watch.has_thread)
        snprintf(warp, sizeof warp, " block %lld warp %d (%d lanes)", (long long)w->block->index, w->index,
                 __builtin_popcount(lanes));
    str_addf(&t->out, "%s:%u:%s  %s\n", location.file ? location.file->name : "?", location.line, warp,
             arena_strndup(&t->run->unit.memory, line.at, line.len));
}

// Those that were asked for, else all that are declared above the line.
static bool is_watched(const run_trace *t, const ir_var *v, src_location location)
{
    const run_request *q = t->run->request;
    for (size_t i = 0; i < q->watched.len; i++) {
        if (v->name && strcmp(v->name, q->watched.at[i]) == 0)
            return true;
    }
    src_location declared = declared_at(t, v);
    bool is_there = v->kind == IR_VAR_PARAM || (declared.file == location.file && declared.line < location.line);
    return !q->watched.len && v->name && v->role == IR_ROLE_NAME && is_there;
}

static void add_break(run_trace *t, sim_warp *w, src_location location, uint32_t lane)
{
    sim_actor who = {0, w->block->index, sim_thread(w, lane), w->index};
    str_addf(&t->out, "%s:%u: at ", location.file->name, location.line);
    if (w->block->launch->is_host)
        str_adds(&t->out, "the host");
    else
        sim_actor_print(w->block->launch, &who, &t->out);
    str_addc(&t->out, '\n');
    for (size_t i = 0; i < w->code->locals.len; i++) {
        const sim_local *local = &w->code->locals.at[i];
        if (!is_watched(t, local->var, location))
            continue;
        str_adds(&t->out, "        ");
        add_variable(t, w, local, lane, &t->out);
        str_addc(&t->out, '\n');
    }
}

// ---- the watch --------------------------------------------------------------------------------------------------

static void flush(run_trace *t)
{
    cmd_print((str){t->out.at, t->out.len});
    t->out.len = 0;
}

static void statement(void *user, sim_warp *w, uint32_t site, uint32_t lanes)
{
    run_trace *t = user;
    run_request *q = t->run->request;
    uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    src_location location = location_of(t, site);
    if (t->traces) {
        bool goes_on = t->has_last && t->code == w->code && t->block == w->block->index && t->thread == sim_thread(w, lane);
        if (!goes_on)
            t->variables.len = 0;
        look_again(t, w, lane, goes_on ? &t->out : NULL);
        add_line(t, w, location, lanes);
        t->has_last = true;
        t->last = location;
        t->code = w->code;
        t->block = w->block->index;
        t->thread = sim_thread(w, lane);
    }
    for (size_t i = 0; i < q->breaks.len; i++) {
        if (q->breaks.at[i].line != location.line || !cmd_run_is_in_file(t->run, &q->breaks.at[i], location.file))
            continue;
        q->breaks.at[i].is_met = true;
        add_break(t, w, location, lane);
    }
    flush(t);
}

// "5" or "(1, 0, 0)" behind [key] in the text, as a linear number by [extent]; false if it is no such thing.
static bool read_number(const char *text, const char *key, const int64_t extent[3], bool *has, int64_t *out)
{
    const char *at = strstr(text, key);
    *has = at != NULL;
    if (!at)
        return true;
    at += strlen(key);
    int64_t part[3] = {0};
    int count = 0;
    bool brackets = *at == '(';
    at += brackets;
    while (count < 3) {
        while (*at == ' ')
            at++;
        char *end;
        if (!isdigit((unsigned char)*at))
            return false;
        part[count++] = strtoll(at, &end, 10);
        at = end;
        if (!brackets || *at != ',')
            break;
        at++;
    }
    if (brackets && *at++ != ')')
        return false;
    *out = part[0] + extent[0] * (part[1] + extent[1] * part[2]);
    return *at == 0 || *at == ' ' || *at == ',';
}

static bool is_there(const sim_watch *w, const sim_launch_shape *s)
{
    return (!w->has_block || w->block < s->grid[0] * s->grid[1] * s->grid[2]) &&
           (!w->has_thread || w->thread < s->block[0] * s->block[1] * s->block[2]);
}

static bool wrong_thread(run_state *r, const char *text, const char *why)
{
    diag_report(&r->unit.diags, HDS0630, (src_span){0, 0}, text, why);
    r->is_usage_error = true;
    return false;
}

static bool choose_thread(run_state *r, run_trace *t)
{
    const char *text = r->request->trace ? r->request->trace : "block=0 thread=0";
    sim_launch_shape shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t *values = ARENA_ARRAY(&r->unit.memory, uint64_t, r->arguments.len);
    for (size_t i = 0; i < r->arguments.len; i++)
        values[i] = r->arguments.at[i].value;
    if (r->entry->kind == IR_KERNEL)
        shape = sim_shape_of(r->device, r->program, r->entry, values, (int)r->arguments.len);
    bool is_read = read_number(text, "block=", shape.grid, &t->watch.has_block, &t->watch.block) &&
                   read_number(text, "thread=", shape.block, &t->watch.has_thread, &t->watch.thread);
    if (!is_read || (!t->watch.has_block && !t->watch.has_thread))
        return wrong_thread(r, text, "is not understood: expected 'block=0 thread=5' or 'block=(1, 0, 0)'");
    bool is_empty = shape.grid[0] * shape.grid[1] * shape.grid[2] == 0;
    if (r->entry->kind != IR_KERNEL || is_empty || is_there(&t->watch, &shape))
        return true;
    const long long grid[] = {shape.grid[0], shape.grid[1], shape.grid[2]};
    const long long block[] = {shape.block[0], shape.block[1], shape.block[2]};
    return wrong_thread(r, text,
                        arena_printf(&r->unit.memory, "is out of range: the grid is %lld x %lld x %lld blocks of %lld x %lld x "
                                     "%lld threads", grid[0], grid[1], grid[2], block[0], block[1], block[2]));
}

const sim_watch *cmd_run_watch(run_state *r)
{
    run_trace *t = ARENA_NEW(&r->unit.memory, run_trace);
    t->run = r;
    t->traces = r->request->traces;
    str_buf_init(&t->out, &r->unit.memory);
    t->watch = (sim_watch){.user = t, .statement = statement};
    r->trace = t;
    return &t->watch;
}

bool cmd_run_aim_watch(run_state *r)
{
    return !r->trace || choose_thread(r, r->trace);
}

static const char *watched_thread(run_state *r)
{
    return r->request->trace ? arena_printf(&r->unit.memory, "the thread of '%s'", r->request->trace)
                             : "thread 0 of block 0";
}

void cmd_run_end_watch(run_state *r)
{
    for (size_t i = 0; r->trace && i < r->request->breaks.len; i++) {
        const run_breakpoint *b = &r->request->breaks.at[i];
        if (b->is_met)
            continue;
        r->is_usage_error = r->is_usage_error || !r->unit.diags.shown_errors;
        diag *d = diag_report(&r->unit.diags, HDS0632, (src_span){0, 0}, b->text,
                              arena_printf(&r->unit.memory, "%s does not reach it", watched_thread(r)));
        diag_help(d, "another one may: add block=… thread=…");
    }
}
