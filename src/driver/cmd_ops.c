// hdsc ops: the operators that .hds files define, as a list, page by page, or for tools.

#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/options.h"
#include "pipeline/evaluate.h"

enum { KEY_JSON = CMD_KEY_OWN, KEY_MARKDOWN, KEY_FOLDER };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is shown:", 1},
    {"json", KEY_JSON, NULL, 0, "all properties of each operator, as JSON for tools", 1},
    {"markdown", KEY_MARKDOWN, NULL, 0, "a reference page in Markdown", 1},
    {"folder", KEY_FOLDER, NULL, 0, "print only the folder of the operators that come with hdsc", 1},
    {NULL, 'I', "DIR", 0, "also search DIR for imported modules; repeatable", 1},
    {"stdlib", CMD_KEY_STDLIB, "DIR", 0, "use the standard library in DIR instead of the built-in one", 1},
    CMD_MESSAGE_OPTIONS(2),
    {"memory-limit", CMD_KEY_MEMORY_LIMIT, "MIB", OPTION_HIDDEN, NULL, 2},
    {0},
};

static const char doc[] =
    "List the operators that '@operator' and similar decorators define in .hds files.\n"
    "\n"
    "  hdsc ops                       those that come with hdsc\n"
    "  hdsc ops softmax gelu          describe these\n"
    "  hdsc ops my/operators          those of a folder, or of files\n"
    "  hdsc ops my/gate.hds swiglu    one of them\n"
    "\v"
    "Operators of a file are its entries: 'hdsc gate.hds -o gate.so -h gate.h' makes the C function swiglu over DLPack "
    "tensors for "
    "f16, bf16 and f32, as far as it supports them; -D T=f64 or -D 'T=(f16, f32)' choose others.\n"
    "Exit code: 0 they were listed; 1 a file has errors; 2 the command line is wrong, or the operator does not exist.";

typedef struct request {
    cmd_arguments shared;
    VEC(const char *) files, names;
    VEC(pl_unit *) units;  // of the files: the operators are in their memory
    bool json, markdown, folder;
} request;

typedef struct listed_file {
    const char *path, *doc;
    const src_map *sources;
    tc_operator_list list;
} listed_file;

typedef VEC(listed_file) listing;

// ---- which files ------------------------------------------------------------------------------------------------

// As it is installed, beside bin/, or in the sources that the program was built in.
static const char *own_folder(arena *a)
{
    enum { FOLDERS_UP = 4, PATH_BYTES = 4096 };
    char *path = arena_alloc(a, PATH_BYTES);
    ssize_t len = readlink("/proc/self/exe", path, PATH_BYTES - 1);
    if (len <= 0)
        return NULL;
    path[len] = '\0';
    const char *folder = path;
    for (int i = 0; i < FOLDERS_UP && strcmp(folder, "/") != 0; i++) {
        folder = file_folder(a, folder);
        const char *installed = file_join(a, folder, "share/hdsc/ops"), *sources = file_join(a, folder, "ops");
        if (file_exists(file_join(a, installed, "elementwise.hds")))
            return installed;
        if (file_exists(file_join(a, sources, "elementwise.hds")))
            return sources;
    }
    return NULL;
}

// Its files, and those one folder further down; in order of name.
static void add_folder(request *r, const char *folder)
{
    static const char *const patterns[] = {"*.hds", "*/*.hds"};
    arena *a = &r->shared.memory;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        if (glob(file_join(a, folder, patterns[i]), 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++)
                VEC_PUSH(a, &r->files, arena_strdup(a, found.gl_pathv[k]));
            globfree(&found);
        }
    }
    VEC_PUSH(a, &r->shared.include_folders, folder);
}

static int find_files(request *r)
{
    arena *a = &r->shared.memory;
    for (size_t i = 0; i < r->shared.inputs.len; i++) {
        const char *word = r->shared.inputs.at[i];
        struct stat info;
        bool is_there = stat(word, &info) == 0;
        if (is_there && S_ISDIR(info.st_mode))
            add_folder(r, word);
        else if (is_there || strchr(word, '/') || str_ends(str_of(word), STR(".hds")))
            VEC_PUSH(a, &r->files, word);
        else
            VEC_PUSH(a, &r->names, word);
    }
    const char *own = own_folder(a);
    if (!own && (r->folder || !r->files.len)) {
        fputs("hdsc: the operators that come with hdsc were not found beside it; name a folder or a file\n", stderr);
        return CMD_USAGE;
    }
    if (r->folder)
        return CMD_OK;
    if (!r->files.len)
        add_folder(r, own);
    else if (own)
        VEC_PUSH(a, &r->shared.include_folders, own);
    return CMD_OK;
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    (void)arg;
    switch (key) {
    case KEY_JSON: r->json = true; break;
    case KEY_MARKDOWN: r->markdown = true; break;
    case KEY_FOLDER: r->folder = true; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

// ---- reading them -----------------------------------------------------------------------------------------------

static bool is_asked_for(const request *r, const char *name)
{
    bool is = !r->names.len;
    for (size_t i = 0; i < r->names.len; i++)
        is |= strcmp(r->names.at[i], name) == 0;
    return is;
}

static int read_file(request *r, const char *path, listing *out)
{
    arena *a = &r->shared.memory;
    pl_operators *q = ARENA_NEW(a, pl_operators);
    pl_options *options = arena_dup(a, &r->shared.options, sizeof r->shared.options);
    options->input = path;
    options->entries = r->names.at; // these are looked at closely: whether their axes may be collapsed
    options->entry_count = (int)r->names.len;
    options->include_folders = r->shared.include_folders.at;
    options->include_count = (int)r->shared.include_folders.len;
    pl_status status = pl_list_operators(q, options, &cmd_oom);
    VEC_PUSH(a, &r->units, &q->unit);
    cmd_print_diags(&q->unit.diags, &r->shared.diagnostics);
    if (status != PL_OK || !q->is_read)
        return CMD_ERRORS;
    listed_file file = {.path = path, .doc = q->doc, .sources = &q->unit.sources};
    for (size_t i = 0; i < q->list.len; i++)
        if (is_asked_for(r, q->list.at[i]->name))
            VEC_PUSH(a, &file.list, q->list.at[i]);
    if (file.list.len)
        VEC_PUSH(a, out, file);
    return CMD_OK;
}

static int check_found(const request *r, const listing *l)
{
    int code = CMD_OK;
    for (size_t i = 0; i < r->names.len; i++) {
        bool is_there = false;
        for (size_t k = 0; k < l->len; k++)
            for (size_t o = 0; o < l->at[k].list.len; o++)
                is_there |= strcmp(l->at[k].list.at[o]->name, r->names.at[i]) == 0;
        if (is_there)
            continue;
        fprintf(stderr, "hdsc: there is no operator '%s'; 'hdsc ops' lists those that there are\n", r->names.at[i]);
        code = CMD_USAGE;
    }
    return code;
}

// ---- texts ------------------------------------------------------------------------------------------------------

static str first_line(const char *text)
{
    return (str){text ? text : "", text ? strcspn(text, "\n") : 0};
}

static void add_types(const tc_operator_type *t, str_buf *out)
{
    str_addf(out, "%s: ", t->name);
    for (size_t i = 0; i < t->choices.len; i++)
        str_addf(out, "%s%s", i ? ", " : "", dt_name(t->choices.at[i]));
    if (t->is_any)
        str_adds(out, ", …");
}

// Adds [part], on a new line if it goes beyond the width of pages. [separator]: what ends the part before it, or NULL: it is
// the first of a line.
static void add_part(str_buf *out, size_t *line, const char *separator, const char *indent, const char *part)
{
    enum { PAGE_WIDTH = 120 };
    if (!separator) {
        str_adds(out, part);
        return;
    }
    bool fits = out->len - *line + strlen(separator) + 1 + strlen(part) <= PAGE_WIDTH;
    str_addf(out, "%s%c", separator, fits ? ' ' : '\n');
    if (!fits) {
        *line = out->len;
        str_adds(out, indent);
    }
    str_adds(out, part);
}

static const char *parameter_text(arena *a, const tc_operator_param *p)
{
    const char *type = p->type ? arena_printf(a, ": %s", p->type) : "";
    const char *value = !p->default_value ? "" : arena_printf(a, p->type ? " = %s" : "=%s", p->default_value);
    return arena_printf(a, "%s%s%s", p->name, type, value);
}

// "softmax(x: T[*S, N]) -> T[*S, N]"
static void add_signature(const tc_operator *o, str_buf *out)
{
    size_t line = out->len;
    str_addf(out, "%s(", o->name);
    for (size_t i = 0; i < o->params.len; i++)
        add_part(out, &line, i ? "," : NULL, "    ", parameter_text(out->arena, &o->params.at[i]));
    str_adds(out, ")");
    for (size_t i = 0; i < o->results.len; i++) {
        const char *result = arena_printf(out->arena, "%s%s", i ? "" : "-> ", o->results.at[i]);
        add_part(out, &line, i ? "," : "", "    ", result);
    }
}

static void add_all_types(const tc_operator *o, const char *before, str_buf *out)
{
    for (size_t i = 0; i < o->types.len; i++) {
        str_adds(out, before);
        add_types(&o->types.at[i], out);
        str_addc(out, '\n');
    }
}

static void add_indented(const char *text, str_buf *out)
{
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        str_addf(out, "%s%.*s\n", len ? "    " : "", (int)len, at);
        at += len + (at[len] == '\n');
    }
}

static void add_page(const listed_file *f, const tc_operator *o, str_buf *out)
{
    src_place place = src_place_of(f->sources, o->span.begin);
    add_signature(o, out);
    str_addc(out, '\n');
    add_all_types(o, "    ", out);
    str_addf(out, "    %s:%u\n", f->path, place.line);
    if (o->why_not)
        str_addf(out, "    no entry of its own: %s\n", o->why_not);
    str_addc(out, '\n');
    add_indented(o->doc ? o->doc : "(not documented)", out);
}

static void add_pages(const listing *l, str_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < l->len; i++)
        for (size_t k = 0; k < l->at[i].list.len; k++) {
            str_adds(out, any ? "\n" : "");
            add_page(&l->at[i], l->at[i].list.at[k], out);
            any = true;
        }
}

static int count_of(const listing *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->len; i++)
        count += l->at[i].list.len;
    return (int)count;
}

static void add_list(const listing *l, str_buf *out)
{
    enum { NAME_WIDTH = 34 };
    for (size_t i = 0; i < l->len; i++) {
        str head = first_line(l->at[i].doc);
        str_addf(out, "%s%s\n", i ? "\n" : "", l->at[i].path);
        if (head.len)
            str_addf(out, "%.*s\n", (int)head.len, head.at);
        for (size_t k = 0; k < l->at[i].list.len; k++) {
            const tc_operator *o = l->at[i].list.at[k];
            str summary = first_line(o->doc);
            str_addf(out, "  %-*s %.*s\n", NAME_WIDTH, o->name, (int)summary.len, summary.at);
        }
    }
    int count = count_of(l);
    str_addf(out, "\n%d operator%s; 'hdsc ops NAME' tells more of one\n", count, count == 1 ? "" : "s");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// How many operators before number [k] of file [i] have its name.
static int number_of_name(const listing *l, size_t i, size_t k)
{
    const char *name = l->at[i].list.at[k]->name;
    int count = 0;
    for (size_t file = 0; file <= i; file++)
        for (size_t j = 0; j < (file < i ? l->at[file].list.len : k); j++)
            count += strcmp(l->at[file].list.at[j]->name, name) == 0;
    return count;
}

static const char *link_text(arena *a, const listing *l, size_t i, size_t k)
{
    const char *name = l->at[i].list.at[k]->name;
    int number = number_of_name(l, i, k);
    return number ? arena_printf(a, "[%s](#%s-%d)", name, name, number) : arena_printf(a, "[%s](#%s)", name, name);
}

static void add_links(const listing *l, size_t i, str_buf *out)
{
    const char *base = base_name(l->at[i].path);
    size_t line = out->len;
    str_addf(out, "* [%s](#%.*shds): ", base, (int)strcspn(base, "."), base);
    for (size_t k = 0; k < l->at[i].list.len; k++)
        add_part(out, &line, k ? "," : NULL, "  ", link_text(out->arena, l, i, k));
    str_addc(out, '\n');
}

// Links within a page: GitHub's rule for headings, of which these have letters, digits and underscores; "-1", "-2" for those that
// are there already.
static void add_markdown(const listing *l, str_buf *out)
{
    str_adds(out, "# Operators\n\nMade by `hdsc ops --markdown` from the docstrings in the files. ");
    str_addf(out, "%d operators:\n\n", count_of(l));
    for (size_t i = 0; i < l->len; i++)
        add_links(l, i, out);
    for (size_t i = 0; i < l->len; i++) {
        const char *base = base_name(l->at[i].path);
        str_addf(out, "\n## %s\n\n", base);
        if (l->at[i].doc)
            str_addf(out, "```text\n%s\n```\n", l->at[i].doc);
        for (size_t k = 0; k < l->at[i].list.len; k++) {
            const tc_operator *o = l->at[i].list.at[k];
            str_addf(out, "\n### %s\n\n```text\n", o->name);
            add_signature(o, out);
            str_addc(out, '\n');
            add_all_types(o, "", out);
            if (o->doc)
                str_addf(out, "\n%s\n", o->doc);
            str_adds(out, "```\n");
        }
    }
}

// ---- for tools --------------------------------------------------------------------------------------------------

static json_t *text(const char *s)
{
    return s ? json_string(s) : json_null();
}

static json_t *json_of(const listed_file *f, const tc_operator *o)
{
    static const char *const kinds[] = {[TC_PARAM_TENSOR] = "tensor", [TC_PARAM_NUMBER] = "number", [TC_PARAM_CHOICE] = "choice"};
    json_t *types = json_object(), *params = json_array(), *results = json_array();
    for (size_t i = 0; i < o->types.len; i++) {
        json_t *choices = json_array();
        for (size_t k = 0; k < o->types.at[i].choices.len; k++)
            json_array_append_new(choices, text(dt_name(o->types.at[i].choices.at[k])));
        json_object_set_new(types, o->types.at[i].name, choices);
    }
    for (size_t i = 0; i < o->params.len; i++) {
        const tc_operator_param *p = &o->params.at[i];
        json_array_append_new(params, json_pack("{s:s, s:s, s:o, s:o}", "name", p->name, "kind", kinds[p->kind], "type",
                                                text(p->type), "default", text(p->default_value)));
    }
    for (size_t i = 0; i < o->results.len; i++)
        json_array_append_new(results, text(o->results.at[i]));
    src_place place = src_place_of(f->sources, o->span.begin);
    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "name", o->name, "file", f->path, "line", (int)place.line,
                     "types", types, "parameters", params, "results", results, "why_no_entry", text(o->why_not), "doc",
                     text(o->doc));
}

static void add_json(const listing *l, str_buf *out)
{
    json_t *all = json_array();
    for (size_t i = 0; i < l->len; i++)
        for (size_t k = 0; k < l->at[i].list.len; k++)
            json_array_append_new(all, json_of(&l->at[i], l->at[i].list.at[k]));
    char *printed = json_dumps(all, JSON_INDENT(2));
    str_addf(out, "%s\n", printed);
    free(printed);
    json_decref(all);
}

// ---- all of it --------------------------------------------------------------------------------------------------

static int list(request *r)
{
    listing l = {0};
    str_buf out;
    str_buf_init(&out, &r->shared.memory);
    int code = find_files(r);
    if (code == CMD_OK && r->folder) {
        str_addf(&out, "%s\n", own_folder(&r->shared.memory));
        return cmd_print((str){str_text(&out), out.len}) ? CMD_OK : CMD_ERRORS;
    }
    for (size_t i = 0; code == CMD_OK && i < r->files.len; i++)
        code = read_file(r, r->files.at[i], &l);
    if (code == CMD_OK)
        code = check_found(r, &l);
    if (code != CMD_OK)
        return code;
    if (r->json)
        add_json(&l, &out);
    else if (r->markdown)
        add_markdown(&l, &out);
    else if (r->names.len)
        add_pages(&l, &out);
    else
        add_list(&l, &out);
    return cmd_print((str){str_text(&out), out.len}) ? CMD_OK : CMD_ERRORS;
}

int cmd_ops(int argc, char **argv)
{
    request r = {0};
    cmd_parse_with(&r.shared, argc, argv, "[FILE|FOLDER|NAME...]", doc, table, take_own);
    int code = list(&r);
    for (size_t i = 0; i < r.units.len; i++)
        pl_unit_free(r.units.at[i]);
    cmd_arguments_free(&r.shared);
    return code;
}
