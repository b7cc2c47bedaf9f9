// hdsc cache why FILE: whether a compilation would find its machine code in the cache, and if not, what is different from
// the entry that comes nearest. Everything but NVRTC is run to know.

#include <string.h>

#include "base/file.h"
#include "driver/cmd_cache.h"
#include "pipeline/code_cache.h"
#include "pipeline/onnx_input.h"
#include "pipeline/shared.h"
#include "pipeline/unit.h"
#include "toolchain/nvrtc.h"

// What is wanted, as an entry would have it.
typedef struct wanted {
    pl_unit *unit;
    arena *arena;
    pl_code_request request;
    cache_parts about;
} wanted;

// ---- the nearest entry --------------------------------------------------------------------------------------------------

// What can be different, from what tells least to what tells most about the file that an entry is of.
typedef struct aspect {
    const char *name;   // of parts
    const char *title;  // for people
    bool is_about;      // among the outputs that are not compared
    int weight;         // of a difference
} aspect;

static const aspect aspects[] = {
    {"nvrtc", "NVRTC", false, 2},
    {"ptxas", "ptxas", false, 1},
    {"along", "compiled along with each other", false, 1},
    {"arch", "architecture", false, 4},
    {"option", "options of NVRTC", false, 2},
    {"folder", "working folder", false, 1},
    {PL_ABOUT "hdsc", "hdsc", true, 1},
    {PL_ABOUT "define", "-D", true, 1},
    {PL_ABOUT "entry", "--entry", true, 1},
};

enum { ASPECTS = sizeof aspects / sizeof *aspects, TEXT_WEIGHT = 1, NO_CANDIDATE = 1 << 20 };

typedef struct nearest {
    const wanted *wanted;
    int distance;
    int64_t used;
    const char *path;
    const char *theirs[ASPECTS];
    const char *cuda;
} nearest;

static const char *value_of(arena *a, const aspect *at, const cache_parts *inputs, const cache_parts *about)
{
    return cmd_parts_text(a, at->is_about ? about : inputs, at->name, "\n");
}

static bool is_of_same_file(const wanted *w, const cache_entry *e)
{
    return str_equal(cache_part_of(&e->outputs, PL_ABOUT "file"), str_of(w->unit->input_name));
}

static bool has_same_text(const wanted *w, const cache_entry *e)
{
    return str_equal(cache_part_of(&e->inputs, "cuda"), w->unit->cuda);
}

static void consider(void *user, const cache_entry *e)
{
    nearest *n = user;
    const wanted *w = n->wanted;
    arena *a = w->arena;
    const char *theirs[ASPECTS];
    if (e->damage || strcmp(e->kind, PL_CODE_KIND) != 0 || (!is_of_same_file(w, e) && !has_same_text(w, e)))
        return;
    int distance = has_same_text(w, e) ? 0 : TEXT_WEIGHT;
    for (int i = 0; i < ASPECTS; i++) {
        theirs[i] = value_of(a, &aspects[i], &e->inputs, &e->outputs);
        bool differs = strcmp(theirs[i], value_of(a, &aspects[i], &w->request.inputs, &w->about)) != 0;
        distance += differs ? aspects[i].weight : 0;
    }
    if (distance > n->distance || (distance == n->distance && e->used <= n->used))
        return;
    n->distance = distance;
    n->used = e->used;
    n->path = arena_strdup(a, e->path);
    n->cuda = cmd_parts_text(a, &e->inputs, "cuda", "");
    memcpy(n->theirs, theirs, sizeof theirs);
}

// ---- what is different --------------------------------------------------------------------------------------------------

static size_t line_length(const char *at)
{
    return strcspn(at, "\n");
}

static const char *next_line(const char *at)
{
    at += line_length(at);
    return at + (*at == '\n');
}

// The comments in front say again what the options say.
static const char *after_head(const char *text, int *line)
{
    for (*line = 1; strncmp(text, "//", 2) == 0; ++*line)
        text = next_line(text);
    return text;
}

static void add_text_difference(const char *theirs, const char *ours, str_buf *out)
{
    int line, their_line;
    theirs = after_head(theirs, &their_line);
    ours = after_head(ours, &line);
    size_t len = line_length(ours);
    while (*ours && len == line_length(theirs) && strncmp(ours, theirs, len) == 0) {
        ours = next_line(ours);
        theirs = next_line(theirs);
        len = line_length(ours);
        line++;
        their_line++;
    }
    if (!*ours && !*theirs)
        return;
    str_addf(out, "  CUDA text, from line %d (there %d):\n    there: %.*s\n    here:  %.*s\n", line, their_line,
             (int)line_length(theirs), theirs, (int)len, ours);
}

static void add_words(const char *text, str_buf *out)
{
    if (*text)
        str_addf(out, "'%s'", text);
    else
        str_adds(out, "none");
}

static bool has_line(const char *text, const char *line, size_t len)
{
    for (; *text; text = next_line(text)) {
        if (line_length(text) == len && strncmp(text, line, len) == 0)
            return true;
    }
    return false;
}

// The lines of [text] that [other] does not have, as words.
static const char *own_lines(arena *a, const char *text, const char *other)
{
    str_buf own;
    str_buf_init(&own, a);
    for (; *text; text = next_line(text)) {
        size_t len = line_length(text);
        if (!has_line(other, text, len))
            str_addf(&own, "%s%.*s", own.len ? " " : "", (int)len, text);
    }
    return str_text(&own);
}

static void add_differences(const wanted *w, const nearest *n, str_buf *out)
{
    for (int i = 0; i < ASPECTS; i++) {
        const char *ours = value_of(w->arena, &aspects[i], &w->request.inputs, &w->about);
        if (strcmp(ours, n->theirs[i]) == 0)
            continue;
        str_addf(out, "  %s: ", aspects[i].title);
        add_words(own_lines(w->arena, n->theirs[i], ours), out);
        str_adds(out, " there, ");
        add_words(own_lines(w->arena, ours, n->theirs[i]), out);
        str_adds(out, " here\n");
    }
    const char *ours = cmd_parts_text(w->arena, &w->request.inputs, "cuda", "");
    if (strcmp(ours, n->cuda) != 0)
        add_text_difference(n->cuda, ours, out);
}

// True: it would be found.
static bool explain(const wanted *w, str_buf *out)
{
    cache_entry found;
    cache *c = w->unit->options->cache;
    const cache_parts *inputs = &w->request.inputs;
    str_addf(out, "%s for %s: ", w->unit->input_name, w->unit->arch->name);
    if (cache_find(c, w->arena, PL_CODE_KIND, inputs->at, inputs->len, &found)) {
        str_addf(out, "in the cache (%s, %s ago)\n  %s\n", cmd_size_text(w->arena, found.size_bytes),
                 cmd_age_text(w->arena, found.used), found.path);
        return true;
    }
    nearest n = {.wanted = w, .distance = NO_CANDIDATE};
    cache_each(c, consider, &n);
    if (!n.path) {
        str_addf(out, "not in the cache, and nothing of this file is\n");
        return false;
    }
    str_addf(out, "not in the cache; the nearest entry (%s ago) is\n  %s\n", cmd_age_text(w->arena, n.used), n.path);
    add_differences(w, &n, out);
    return false;
}

// ---- one file for all architectures ---------------------------------------------------------------------------------------

typedef struct asking {
    pl_unit unit;  // first
    const pl_options *options;  // as the compilation would have them
    str_buf *out;
    int code;
} asking;

static bool identify(pl_unit *u, tool_nvrtc_identity *out)
{
    if (tool_nvrtc_identify(&u->memory, u->options->nvrtc_path, out))
        return true;
    const tool_nvrtc *nvrtc = tool_nvrtc_open(&u->memory, &u->diags, u->options->nvrtc_path);
    return nvrtc && tool_nvrtc_identity_of(&u->memory, nvrtc, out);
}

static void to_text(pl_unit *u)
{
    const asking *q = (asking *)u;
    pl_compile(u);
    if (u->status != PL_OK || u->diags.shown_errors || !u->cuda.len)
        return;
    u->options = q->options;
    pl_take_nvrtc_text(u);
    u->goes_on = true;
}

static void ask(pl_unit *u)
{
    asking *q = (asking *)u;
    wanted w = {.unit = u, .arena = &u->memory};
    tool_compile_options options = pl_nvrtc_options(u);
    const char *uncacheable = pl_code_uncacheable(u, &options);
    tool_nvrtc_identity identity;
    if (uncacheable)
        str_addf(q->out, "%s for %s: never kept: %s\n", u->input_name, u->arch->name, uncacheable);
    q->code = uncacheable || identify(u, &identity) ? CMD_ERRORS : CMD_INTERNAL;
    if (uncacheable || q->code == CMD_INTERNAL)
        return;
    pl_code_request_make(u, &options, &identity, u->nvrtc_text, &w.request);
    pl_shared_add_inputs(u, &w.request.inputs);
    pl_code_about(u, &w.about);
    q->code = explain(&w, q->out) ? CMD_OK : CMD_ERRORS;
}

static void begin(cmd_arguments *args, asking *q, const pl_options *front, const arch *target, str input)
{
    pl_unit_init(&q->unit, front, target, 0);
    q->unit.input_name = pl_input_name(&args->memory, front->input, input);
    q->unit.is_first = true;
    q->unit.input = input;
    q->code = CMD_ERRORS;
    q->out = ARENA_NEW(&args->memory, str_buf);
    str_buf_init(q->out, &args->memory);
    pl_unit_run_deep(&q->unit, to_text);
}

static int end(cmd_arguments *args, asking *q)
{
    if (q->unit.goes_on)
        pl_unit_go_on(&q->unit, ask);
    if (q->unit.status != PL_NO_MEMORY)
        cmd_print_diags(&q->unit.diags, &args->diagnostics);
    return cmd_print((str){q->out->at, q->out->len}) ? q->code : CMD_ERRORS;
}

static int ask_for(cmd_arguments *args, const char *path)
{
    pl_options wanted_options = args->options, front = args->options;
    wanted_options.input = front.input = path;
    front.emit = PL_NOTHING;
    front.resource_usage = false;
    front.dump = NULL;
    front.cache = NULL;
    int count = args->options.arch_count, worst = CMD_OK;
    asking *all = ARENA_ARRAY(&args->memory, asking, count);
    pl_unit **units = ARENA_ARRAY(&args->memory, pl_unit *, count);
    const char *error = NULL;
    str input, mapped = {0};
    if (!pl_read_input(&args->memory, path, &input, &mapped, &error)) {
        fprintf(stderr, "hdsc: cannot read '%s': %s\n", path, error);
        return CMD_USAGE;
    }
    for (int i = 0; i < count; i++) {
        all[i].options = &wanted_options;
        units[i] = &all[i].unit;
        begin(args, &all[i], &front, args->options.archs[i], input);
    }
    pl_sharing *sharing = pl_sharing_new(units, count, &args->memory);
    for (int i = 0; i < count; i++) {
        int code = end(args, &all[i]);
        worst = code > worst ? code : worst;
    }
    pl_sharing_free(sharing);
    for (int i = 0; i < count; i++)
        pl_unit_free(units[i]);
    file_unmap(&mapped);
    return worst;
}

static int ask_all(cmd_arguments *args)
{
    int worst = CMD_OK, code = cmd_choose_kind(args);
    if (code != CMD_OK)
        return code;
    if (!args->inputs.len || !args->options.cache) {
        fprintf(stderr, args->inputs.len ? "hdsc: there is no cache: %s\n" : "hdsc cache why: no input files\n", args->cache_why);
        return CMD_USAGE;
    }
    if (args->options.emit <= PL_CU && !args->options.resource_usage) {
        fputs("hdsc cache why: NVRTC is not asked for this output, and nothing of it is kept\n", stderr);
        return CMD_USAGE;
    }
    for (size_t i = 0; i < args->inputs.len; i++) {
        code = ask_for(args, args->inputs.at[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

int cmd_cache_why(int argc, char **argv)
{
    static const char text[] =
        "Tell whether a compilation would hit the code cache, and if not, how it differs from the nearest entry: "
        "another NVRTC, architecture, option or -D, or the first line of the CUDA text that differs.\n"
        "\n"
        "  hdsc cache why matmul.hds -o matmul.cubin --arch=sm_90a -D BM=64"
        "\v"
        "Options are those of the compilation.\n"
        "Exit code: 0 hit; 1 miss; 2 the command line is wrong, or there is no cache; 3 there is no NVRTC.";
    cmd_arguments args;
    char name[] = "hdsc cache why";
    argv[0] = name;
    cmd_parse(&args, argc, argv, "FILE...", text);
    int code = ask_all(&args);
    cmd_arguments_free(&args);
    return code;
}
