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
    src_place last;
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

// The first elements of a tensor in memory.
static void add_memory(const ir_tensor *tensor, const uint8_t *bytes, int64_t room, str_buf *out)
{
    dtype type = tensor->elem->kind == IR_SCALAR || tensor->elem->kind == IR_VECTOR ? tensor->elem->scalar : DT_U64;
    ten_tensor view = {.type = type, .rank = 1, .data = (uint8_t *)bytes};
    int64_t count = room * 8 / dt_bits(type), shown = count < SHOWN_ELEMENTS ? count : SHOWN_ELEMENTS;
    str_addc(out, '[');
    for (int64_t i = 0; i < shown; i++) {
        str_adds(out, i ? ", " : "");
        ten_value_print(type, ten_bits(&view, i), out);
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
    int64_t room = 0;
    if (shared) {
        add_memory(tensor, w->block->shared + shared->offset, shared->bytes, out);
        return;
    }
    uint64_t address = sim_u64(w, local->cell)[lane];
    const uint8_t *bytes = sim_bytes(t->run->device, address, &room);
    if (bytes)
        add_memory(tensor, bytes, room, out);
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

static src_place declared_at(const run_trace *t, const ir_var *v)
{
    return src_place_of(&t->run->unit.sources, v->span.begin);
}

// Whether the statement of the last line may have assigned it: cells serve others before a variable is declared and after
// it was used for the last time.
static bool may_be_assigned(const run_trace *t, const ir_var *v)
{
    src_place place = declared_at(t, v);
    if (!v->name || (v->role != IR_ROLE_NAME && v->role != IR_ROLE_FIELD) || place.file != t->last.file)
        return false;
    bool changes = v->is_mutable || v->kind == IR_VAR_LOOP || v->tensor;
    return changes ? place.line <= t->last.line : place.line == t->last.line;
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

// ---- places -----------------------------------------------------------------------------------------------------

static src_place place_of(run_trace *t, uint32_t site)
{
    const sim_site *s = sim_site_at(t->run->program, site);
    return src_place_of(&t->run->unit.sources, s->span.begin);
}

static void add_line(run_trace *t, const sim_warp *w, src_place place, uint32_t lanes)
{
    str line = place.file ? src_line(&t->run->unit.sources, place.file, place.line) : (str){"", 0};
    while (line.len && (*line.at == ' ' || *line.at == '\t'))
        line = (str){line.at + 1, line.len - 1};
    char warp[64] = "";
    if (!t->watch.has_thread)
        snprintf(warp, sizeof warp, " block %lld warp %d (%d lanes)", (long long)w->block->index, w->index,
                 __builtin_popcount(lanes));
    str_addf(&t->out, "%s:%u:%s  %s\n", place.file ? place.file->name : "?", place.line, warp,
             arena_strndup(&t->run->unit.memory, line.at, line.len));
}

static bool is_at(run_trace *t, const run_place *b, src_place place)
{
    if (!place.file || place.line != b->line)
        return false;
    str name = str_of(place.file->name);
    const char *wanted = b->file;
    if (!wanted)
        return place.file == t->run->unit.file;
    size_t len = strlen(wanted);
    return str_ends(name, str_of(wanted)) && (name.len == len || name.at[name.len - len - 1] == '/');
}

// Those that were asked for, else all that are declared above the line.
static bool is_watched(const run_trace *t, const ir_var *v, src_place place)
{
    const run_request *q = t->run->request;
    for (size_t i = 0; i < q->watched.len; i++) {
        if (v->name && strcmp(v->name, q->watched.at[i]) == 0)
            return true;
    }
    src_place declared = declared_at(t, v);
    bool is_there = v->kind == IR_VAR_PARAM || (declared.file == place.file && declared.line < place.line);
    return !q->watched.len && v->name && v->role == IR_ROLE_NAME && is_there;
}

static void add_break(run_trace *t, sim_warp *w, src_place place, uint32_t lane)
{
    sim_actor who = {0, w->block->index, sim_thread(w, lane), w->index};
    str_addf(&t->out, "%s:%u: at ", place.file->name, place.line);
    if (w->block->launch->is_host)
        str_adds(&t->out, "the host");
    else
        sim_actor_print(w->block->launch, &who, &t->out);
    str_addc(&t->out, '\n');
    for (size_t i = 0; i < w->code->locals.len; i++) {
        const sim_local *local = &w->code->locals.at[i];
        if (!is_watched(t, local->var, place))
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
    src_place place = place_of(t, site);
    if (t->traces) {
        bool goes_on = t->has_last && t->code == w->code && t->block == w->block->index && t->thread == sim_thread(w, lane);
        if (!goes_on)
            t->variables.len = 0;
        look_again(t, w, lane, goes_on ? &t->out : NULL);
        add_line(t, w, place, lanes);
        t->has_last = true;
        t->last = place;
        t->code = w->code;
        t->block = w->block->index;
        t->thread = sim_thread(w, lane);
    }
    for (size_t i = 0; i < q->breaks.len; i++) {
        if (!is_at(t, &q->breaks.at[i], place))
            continue;
        q->breaks.at[i].is_met = true;
        add_break(t, w, place, lane);
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
        return wrong_thread(r, text, "expected 'block=0 thread=5' or 'block=(1, 0, 0)'");
    bool is_empty = shape.grid[0] * shape.grid[1] * shape.grid[2] == 0;
    if (r->entry->kind != IR_KERNEL || is_empty || is_there(&t->watch, &shape))
        return true;
    return wrong_thread(r, text, arena_printf(&r->unit.memory, "the grid is %lld x %lld x %lld blocks of %lld x %lld x %lld threads",
                                              (long long)shape.grid[0], (long long)shape.grid[1], (long long)shape.grid[2],
                                              (long long)shape.block[0], (long long)shape.block[1], (long long)shape.block[2]));
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

void cmd_run_end_watch(run_state *r)
{
    for (size_t i = 0; r->trace && i < r->request->breaks.len; i++) {
        const run_place *b = &r->request->breaks.at[i];
        if (!b->is_met)
            diag_report(&r->unit.diags, HDS0632, r->entry->span, r->entry->title ? r->entry->title : r->entry->name, b->text);
    }
}
