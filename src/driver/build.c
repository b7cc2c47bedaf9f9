#include "driver/build.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/depfile.h"
#include "driver/manifest.h"
#include "driver/progress.h"
#include "driver/workers.h"
#include "pipeline/files.h"
#include "pipeline/job.h"
#include "pipeline/onnx_input.h"
#include "service/service.h"
#include "toolchain/cc.h"

// Where the files of one output go. A path is NULL where there is no such file.
typedef struct output_paths {
    const char *output, *header, *weights, *depfile;
    const char *target;  // what the rule of the depfile is for
} output_paths;

typedef struct build {
    cmd_arguments *args;
    arena *arena;
    src_map sources;
    diag_context diags;  // of the run as a whole
    bool writes, is_joined;
    int inputs_at_once;  // each in a process of its own, where that is more than one
    bool shows_progress;
    output_paths *paths; // of each input; of all of them, the first, where [is_joined]
    cmd_result *results;
    VEC(pl_file) files;
    VEC(const char *) kinds;  // of [files], for the manifest
    VEC(wt_file *) weights;   // open until the files are written
} build;

// ---- names ------------------------------------------------------------------------------------------------------

// "dir/matmul.hds" -> "dir/matmul.ptx"
static const char *with_ending(arena *a, const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t len = dot && (!slash || dot > slash + 1) && dot != path ? (size_t)(dot - path) : strlen(path);
    return arena_printf(a, "%.*s.%s", (int)len, path, ending);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool cmd_is_joined(const cmd_arguments *args)
{
    pl_kind kind = args->options.emit;
    bool is_joinable = kind == PL_OBJECT || kind == PL_ARCHIVE || kind == PL_SHARED;
    return args->inputs.len > 1 && args->output && is_joinable;
}

// Text for people goes to standard output, as does what came from standard input.
static const char *output_of(build *b, const char *input)
{
    pl_kind kind = b->args->options.emit;
    if (!b->writes || kind == PL_NOTHING)
        return NULL;
    if (b->args->output)
        return b->args->output;
    if (strcmp(input, "-") == 0 || (kind == PL_GRAPH && !onnx_is_path(input)) || kind == PL_TOKENS || kind == PL_AST || kind == PL_HDS ||
        b->args->options.pass_count)
        return "-";
    return with_ending(b->arena, input, pl_kind_ending(kind));
}

// What the output is called where it is a file, or would be.
static const char *nominal_output(build *b, const char *input, const char *output)
{
    if (output && strcmp(output, "-") != 0)
        return output;
    pl_kind kind = b->args->options.emit == PL_NOTHING ? PL_PTX : b->args->options.emit;
    return with_ending(b->arena, strcmp(input, "-") == 0 ? "stdin" : input, pl_kind_ending(kind));
}

static output_paths output_paths_of(build *b, const char *input)
{
    const cmd_arguments *args = b->args;
    const cmd_depfile *d = &args->depfile;
    output_paths p = {.output = output_of(b, input)};
    const char *nominal = nominal_output(b, input, p.output);
    if (b->writes && args->header)
        p.header = args->header;
    else if (p.output && pl_kind_is_c(args->options.emit) && strcmp(p.output, "-") != 0)
        p.header = with_ending(b->arena, p.output, "h");
    bool has_weights = onnx_is_path(input) || strcmp(input, "-") == 0;
    if (p.output && args->options.emit == PL_GRAPH && has_weights && strcmp(p.output, "-") != 0)
        p.weights = with_ending(b->arena, p.output, "safetensors");
    p.target = p.output || !p.header ? nominal : p.header;
    if (d->is_wanted)
        p.depfile = d->path ? d->path : d->only ? "-" : with_ending(b->arena, p.target, "d");
    if (d->only)
        p.output = p.header = p.weights = NULL;
    return p;
}

static const char *stem_of(build *b, size_t index)
{
    return pl_stem(b->arena, b->args->inputs.at[index]);
}

// Each member of a library has a header of its own, which the library's header holds. NULL: no header is made.
static const char *header_name_of(build *b, size_t index)
{
    const output_paths *p = &b->paths[b->is_joined ? 0 : index];
    if (b->args->depfile.only || (!p->header && !pl_kind_is_c(b->args->options.emit)))
        return NULL;
    return p->header && !b->is_joined && strcmp(p->header, "-") != 0 ? base_name(p->header)
                                                                     : arena_printf(b->arena, "%s.h", stem_of(b, index));
}

static int job_count(const cmd_arguments *args)
{
    return args->jobs ? args->jobs : cmd_core_count();
}

// ---- one input, perhaps in another process ----------------------------------------------------------------------

static int code_of(pl_status status)
{
    switch (status) {
    case PL_OK:
        return CMD_OK;
    case PL_ERRORS:
        return CMD_ERRORS;
    case PL_TOOLCHAIN:
    case PL_INTERNAL:
    case PL_NO_MEMORY:
    case PL_CANCELLED:
        break;
    }
    return CMD_INTERNAL;
}

static void write_trace(pl_job *job, const char *path, cmd_result *result, str_buf *complained)
{
    const char *error = NULL;
    str_buf text;
    str_buf_init(&text, &job->memory);
    pl_job_time_trace(job, &text);
    if (file_write(&job->memory, path, (str){text.at, text.len}, &error))
        return;
    str_addf(complained, "hdsc: cannot write '%s': %s\n", path, error);
    result->code = CMD_ERRORS;
}

// Where machine code came from, a line for each architecture; how many of them were compiled twice.
static void add_origins(const pl_job *job, str_buf *out)
{
    int compiled = 0, twice = 0;
    for (int i = 0; i < job->unit_count; i++) {
        const pl_unit *u = &job->units[i];
        if (u->origin == PL_FROM_CACHE)
            str_addf(out, "%s for %s: from cache\n", u->input_name, u->arch->name);
        else if (u->origin == PL_COMPILED)
            str_addf(out, "%s for %s: compiled%s%s\n", u->input_name, u->arch->name, u->uncacheable ? ", not kept: " : "",
                     u->uncacheable ? u->uncacheable : "");
        if (u->not_joined)
            str_addf(out, "%s for %s: compiled again as one text, since batches cannot be joined: %s\n", u->input_name,
                     u->arch->name, u->not_joined);
        compiled += u->origin == PL_COMPILED;
        twice += u->not_joined != NULL;
    }
    if (twice)
        str_addf(out, "%d of %d compilations were done twice\n", twice, compiled);
}

static void add_messages(pl_job *job, const cmd_arguments *args, cmd_result *result, str_buf *out)
{
    if (job->product.messages.len)
        str_add(out, job->product.messages);
    else
        cmd_add_diags(&job->diags, &args->diagnostics, out);
    str_add(out, (str){job->usage.at, job->usage.len});
    if (args->verbose)
        add_origins(job, out);
    if (args->time_report)
        pl_job_time_report(job, out);
    if (args->time_trace)
        write_trace(job, args->time_trace, result, out);
}

static str copy(arena *a, str text)
{
    return (str){text.len ? arena_dup(a, text.at, text.len) : "", text.len};
}

static void run_job(build *b, arena *a, pl_job *job, cmd_result *out)
{
    str_buf complained;
    str_buf_init(&complained, a);
    pl_status status = pl_job_run(job);
    out->code = code_of(status);
    if (status == PL_NO_MEMORY) {
        str_addf(&complained, "hdsc: out of memory while compiling '%s'\n", job->options->input);
    } else {
        add_messages(job, b->args, out, &complained);
        const pl_product *p = &job->product;
        out->parts[CMD_PRINTED] = copy(a, (str){job->dump.at, job->dump.len});
        out->parts[CMD_OUTPUT] = copy(a, p->output);
        out->parts[CMD_HEADER] = copy(a, p->header);
        out->parts[CMD_DEPENDS] = copy(a, p->depends);
        if (b->args->manifest && status == PL_OK)
            out->parts[CMD_MANIFEST] = copy(a, cmd_manifest(job));
    }
    out->parts[CMD_COMPLAINED] = (str){str_text(&complained), complained.len};
}

// This program is its own worker: main.c. Processes that compile inputs at the same time share the cores.
static svc_pool *make_service(const build *b)
{
    static const char *const command[] = {"/proc/self/exe", CMD_WORKER, NULL};
    int jobs = job_count(b->args) / b->inputs_at_once;
    return jobs > 1 ? svc_pool_new(&(svc_pool_options){.command = command, .workers = jobs}) : NULL;
}

static void show_diags(void *user, diag_context *dx, str_buf *out)
{
    const build *b = user;
    cmd_add_diags(dx, &b->args->diagnostics, out);
}

static void compile(void *user, arena *a, size_t index, cmd_result *out)
{
    build *b = user;
    cmd_progress progress;
    pl_options options = b->args->options;
    options.input = b->args->inputs.at[index];
    options.header_name = header_name_of(b, index);
    options.weights_name = b->paths[index].weights ? base_name(b->paths[index].weights) : NULL;
    if (!b->writes || b->args->depfile.only)
        options.emit = PL_NOTHING;
    if (!b->is_joined && (options.emit == PL_ARCHIVE || options.emit == PL_SHARED))
        options.library_name = base_name(nominal_output(b, options.input, b->paths[index].output));
    options.service = make_service(b);
    options.show = show_diags;
    options.show_user = b;
    options.shown_as = cmd_shown_as(a, &b->args->diagnostics);
    options.looks_at_units = b->args->manifest != NULL;
    options.only_checks = options.emit == PL_NOTHING && !options.header_name && !options.looks_at_units;
    cmd_progress_begin(&progress);
    options.progress = b->shows_progress && b->inputs_at_once == 1 ? &progress.as_option : NULL;
    pl_job job;
    pl_job_init(&job, &options, &cmd_oom);
    run_job(b, a, &job, out);
    cmd_progress_end(&progress);
    pl_job_free(&job);
    svc_pool_free(options.service);
}

static void show(void *user, size_t index, const cmd_result *result)
{
    build *b = user;
    if (!cmd_print(result->parts[CMD_PRINTED]))
        b->results[index].code = CMD_ERRORS;
    cmd_print_error(result->parts[CMD_COMPLAINED]);
}

// ---- files ------------------------------------------------------------------------------------------------------

static void add_file(build *b, const char *path, str bytes, const char *what, const char *kind)
{
    if (!path)
        return;
    VEC_PUSH(b->arena, &b->files, ((pl_file){path, arena_dup(b->arena, &bytes, sizeof bytes), 1, what}));
    VEC_PUSH(b->arena, &b->kinds, kind);
}

// Those of an ONNX file, from where they are.
static bool add_weights(build *b, const char *input, const char *path)
{
    const char *error = NULL;
    wt_file *f = path ? pl_open_weights(b->arena, input, &error) : NULL;
    const str *pieces = f ? wt_file_pieces(b->arena, f, &error) : NULL;
    if (f)
        VEC_PUSH(b->arena, &b->weights, f);
    if (error) {
        diag_report(&b->diags, HDS0860, (src_span){0, 0}, input, error);
        return false;
    }
    if (pieces) {
        VEC_PUSH(b->arena, &b->files, ((pl_file){path, pieces, f->entries.len + 1, "the weights"}));
        VEC_PUSH(b->arena, &b->kinds, "weights");
    }
    return true;
}

// What tells one part of the library's header from another is its name in letters and digits.
static bool is_same_stem(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        int x = isalnum((unsigned char)*a) ? tolower((unsigned char)*a) : '_';
        int y = isalnum((unsigned char)*b) ? tolower((unsigned char)*b) : '_';
        if (x != y)
            return false;
    }
    return *a == *b;
}

static bool check_stems(build *b)
{
    const cmd_arguments *args = b->args;
    for (size_t i = 0; b->is_joined && i < args->inputs.len; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!is_same_stem(stem_of(b, i), stem_of(b, k)))
                continue;
            diag *d = diag_report(&b->diags, HDS0716, (src_span){0, 0}, args->inputs.at[k], args->inputs.at[i],
                                  arena_printf(b->arena, "%s.o", stem_of(b, i)), args->output);
            diag_help(d, "rename one of them");
            return false;
        }
    }
    return true;
}

static int join(build *b, str *output, str *header)
{
    const pl_options *o = &b->args->options;
    size_t count = b->args->inputs.len;
    tool_member *members = ARENA_ARRAY(b->arena, tool_member, count);
    str_buf headers;
    str_buf_init(&headers, b->arena);
    for (size_t i = 0; i < count; i++) {
        members[i] = (tool_member){arena_printf(b->arena, "%s.o", stem_of(b, i)), b->results[i].parts[CMD_OUTPUT]};
        str_adds(&headers, i ? "\n" : "");
        str_add(&headers, b->results[i].parts[CMD_HEADER]);
    }
    *header = (str){str_text(&headers), headers.len};
    tool_link_kind kind = o->emit == PL_OBJECT    ? TOOL_LINK_OBJECT
                          : o->emit == PL_ARCHIVE ? TOOL_LINK_ARCHIVE
                                                  : TOOL_LINK_SHARED;
    const tool_cc *cc = tool_cc_find(b->arena, &b->diags, o->cc);
    bool ok = cc && tool_cc_link(b->arena, &b->diags, cc, kind, base_name(b->args->output), members, count, NULL, output);
    return ok ? CMD_OK : CMD_INTERNAL;
}

// Adds the outputs and headers.
static int collect(build *b)
{
    const char *kind = pl_kind_name(b->args->options.emit);
    if (b->is_joined && !b->args->depfile.only) {
        str output, header;
        int code = join(b, &output, &header);
        if (code != CMD_OK)
            return code;
        add_file(b, b->paths[0].output, output, "the output", kind);
        add_file(b, b->paths[0].header, header, "the C header", "header");
        return CMD_OK;
    }
    for (size_t i = 0; i < b->args->inputs.len; i++) {
        add_file(b, b->paths[i].output, b->results[i].parts[CMD_OUTPUT], "the output", kind);
        add_file(b, b->paths[i].header, b->results[i].parts[CMD_HEADER], "the C header", "header");
        if (onnx_is_path(b->args->inputs.at[i]) && !add_weights(b, b->args->inputs.at[i], b->paths[i].weights))
            return CMD_ERRORS;
    }
    return CMD_OK;
}

// ---- depfiles ---------------------------------------------------------------------------------------------------

static bool add_rule(build *b, const output_paths *p, str depends, str_buf *out)
{
    const cmd_depfile *d = &b->args->depfile;
    const char *usual = cmd_depfile_name(b->arena, p->target);
    const cmd_rule rule = {
        .targets = d->targets.len ? d->targets.at : &usual,
        .target_count = d->targets.len ? d->targets.len : 1,
        .depends = depends,
        .phony = d->phony,
    };
    return cmd_depfile_add(&b->diags, &rule, out);
}

// Several rules go into one file where that is named, each into its own beside the output otherwise.
static int add_depfiles(build *b)
{
    size_t count = b->is_joined ? 1 : b->args->inputs.len;
    str_buf *texts = ARENA_ARRAY(b->arena, str_buf, count);
    for (size_t i = 0; b->args->depfile.is_wanted && i < count; i++) {
        bool is_shared = i && strcmp(b->paths[i].depfile, b->paths[0].depfile) == 0;
        str_buf *text = &texts[is_shared ? 0 : i], depends;
        str_buf_init(&depends, b->arena);
        if (!is_shared)
            str_buf_init(text, b->arena);
        for (size_t k = b->is_joined ? 0 : i; k < (b->is_joined ? b->args->inputs.len : i + 1); k++)
            str_add(&depends, b->results[k].parts[CMD_DEPENDS]);
        if (!add_rule(b, &b->paths[i], (str){str_text(&depends), depends.len}, text))
            return CMD_ERRORS;
    }
    for (size_t i = 0; b->args->depfile.is_wanted && i < count; i++) {
        if (texts[i].arena)
            add_file(b, b->paths[i].depfile, (str){str_text(&texts[i]), texts[i].len}, "the depfile", "depfile");
    }
    return CMD_OK;
}

// ---- the end of it ----------------------------------------------------------------------------------------------

static void add_manifest(build *b)
{
    if (!b->args->manifest)
        return;
    str *inputs = ARENA_ARRAY(b->arena, str, b->args->inputs.len);
    for (size_t i = 0; i < b->args->inputs.len; i++)
        inputs[i] = b->results[i].parts[CMD_MANIFEST];
    const cmd_manifest_parts parts = {
        .options = &b->args->options,
        .inputs = inputs,
        .input_count = b->args->inputs.len,
        .files = b->files.at,
        .kinds = b->kinds.at,
        .file_count = b->files.len,
    };
    add_file(b, b->args->manifest, cmd_manifest_join(b->arena, &parts), "the manifest", "manifest");
}

// All that was read, and the inputs in any case.
static bool check_files(build *b)
{
    VEC(const char *) inputs = {0};
    for (size_t i = 0; i < b->args->inputs.len; i++) {
        VEC_PUSH(b->arena, &inputs, b->args->inputs.at[i]);
        str depends = b->results ? b->results[i].parts[CMD_DEPENDS] : (str){"", 0};
        for (size_t at = 0; at < depends.len; at += strlen(depends.at + at) + 1)
            VEC_PUSH(b->arena, &inputs, depends.at + at);
    }
    return pl_files_check(&b->diags, b->files.at, b->files.len, inputs.at, inputs.len);
}

// Each file is open until all have been renamed to their final paths.
static void allow_many_files(size_t count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + 64)
        return;
    limit.rlim_cur = limit.rlim_max < count + 64 ? limit.rlim_max : count + 64;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int finish(build *b)
{
    int code = collect(b);
    if (code == CMD_OK)
        code = add_depfiles(b);
    if (code != CMD_OK)
        return code;
    add_manifest(b);
    allow_many_files(b->files.len);
    return check_files(b) && pl_files_write(&b->diags, b->files.at, b->files.len) ? CMD_OK : CMD_ERRORS;
}

static bool check_writable(build *b)
{
    for (size_t i = 0; i < b->files.len; i++) {
        const char *why = cmd_cannot_write(b->arena, b->files.at[i].path);
        if (why)
            diag_report(&b->diags, HDS0494, (src_span){0, 0}, b->files.at[i].path, why);
    }
    return !b->diags.shown_errors;
}

// What can be said of the outputs' names before there is anything to put into them.
static bool check_names(build *b)
{
    size_t count = b->is_joined ? 1 : b->args->inputs.len;
    for (size_t i = 0; i < count; i++) {
        add_file(b, b->paths[i].output, (str){0}, "the output", "");
        add_file(b, b->paths[i].header, (str){0}, "the C header", "");
    }
    add_file(b, b->args->time_trace, (str){0}, "the trace", "");
    bool ok = check_stems(b) && check_files(b) && check_writable(b);
    b->files.len = b->kinds.len = 0;
    return ok;
}

static int compile_all(build *b)
{
    cmd_arguments *args = b->args;
    int jobs = job_count(args);
    b->inputs_at_once = jobs < (int)args->inputs.len ? jobs : (int)args->inputs.len;
    b->shows_progress = isatty(STDERR_FILENO) && cmd_terminal_width(STDERR_FILENO) && !args->diagnostics.json;
    const cmd_workers workers = {
        .names = args->inputs.at,
        .count = args->inputs.len,
        .jobs = b->inputs_at_once,
        .shows_progress = b->shows_progress,
        .work = compile,
        .done = show,
        .user = b,
    };
    b->results = ARENA_ARRAY(b->arena, cmd_result, workers.count);
    cmd_work_all(b->arena, &workers, b->results);
    int worst = CMD_OK;
    for (size_t i = 0; i < workers.count; i++)
        worst = b->results[i].code > worst ? b->results[i].code : worst;
    return worst;
}

int cmd_build(cmd_arguments *args, bool writes)
{
    build b = {.args = args, .arena = &args->memory, .writes = writes, .is_joined = writes && cmd_is_joined(args)};
    src_map_init(&b.sources, b.arena);
    diag_init(&b.diags, b.arena, &b.sources);
    b.paths = ARENA_ARRAY(b.arena, output_paths, args->inputs.len);
    for (size_t i = 0; i < args->inputs.len; i++)
        b.paths[i] = output_paths_of(&b, args->inputs.at[i]);
    int code = check_names(&b) ? CMD_OK : CMD_ERRORS;
    if (code == CMD_OK)
        code = compile_all(&b);
    if (code == CMD_OK)
        code = finish(&b);
    for (size_t i = 0; i < b.weights.len; i++)
        wt_close(b.weights.at[i]);
    if (b.diags.all.len)
        cmd_print_diags(&b.diags, &args->diagnostics);
    return code;
}
