// hdsc ops: the operators that .hds files define, as a list, page by page, or for tools.

#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "diag/json_text.h"
#include "driver/cmd.h"
#include "driver/options.h"
#include "pipeline/evaluate.h"
#include "pipeline/modules.h"

enum { KEY_JSON = CMD_KEY_OWN, KEY_MARKDOWN, KEY_FOLDER, KEY_GIVEN };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is shown:", 1},
    {"json", KEY_JSON, NULL, 0, "all properties of each operator, as JSON for tools", 1},
    {"markdown", KEY_MARKDOWN, NULL, 0, "a reference page in Markdown", 1},
    {"given", KEY_GIVEN, "NAME=VALUE", 0,
     "with --json: an operand, x=f32[4, 8], or attribute, axis=0, that results are shown for; repeatable", 1},
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
    VEC(tc_define) given;
    bool json, markdown, folder;
} request;

typedef struct listed_file {
    const char *path, *doc;
    op_schemas list;
} listed_file;

typedef VEC(listed_file) listing;

// ---- which files ------------------------------------------------------------------------------------------------

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
    const char *own = pl_operator_folder(a);
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

static void add_given(request *r, const char *arg, struct argp_state *state)
{
    arena *a = &r->shared.memory;
    size_t len = strcspn(arg, "=");
    if (!len || !arg[len])
        argp_error(state, "--given takes NAME=VALUE, as in --given 'x=f32[4, 8]', not '%s'", arg);
    tc_define given = {arena_strndup(a, arg, len), arena_strdup(a, arg + len + !!arg[len])};
    VEC_PUSH(a, &r->given, given);
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case KEY_JSON: r->json = true; break;
    case KEY_MARKDOWN: r->markdown = true; break;
    case KEY_FOLDER: r->folder = true; break;
    case KEY_GIVEN: add_given(r, arg, state); break;
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
    pl_status status = pl_list_operators(q, options, r->given.at, (int)r->given.len, &cmd_oom);
    VEC_PUSH(a, &r->units, &q->unit);
    cmd_print_diags(&q->unit.diags, &r->shared.diagnostics);
    if (status != PL_OK || !q->is_read)
        return CMD_ERRORS;
    listed_file file = {.path = path, .doc = q->listing.doc};
    for (size_t i = 0; i < q->listing.list.len; i++)
        if (is_asked_for(r, q->listing.list.at[i]->name))
            VEC_PUSH(a, &file.list, q->listing.list.at[i]);
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

enum { PAGE_WIDTH = 120 };

static void add_all_types(const op_schema *o, const char *before, str_buf *out)
{
    for (size_t i = 0; i < o->symbols.len; i++) {
        if (o->symbols.at[i].kind != OP_TYPE)
            continue;
        str_adds(out, before);
        op_add_choices(&o->symbols.at[i], out);
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

static void add_page(const op_schema *o, str_buf *out)
{
    op_add_signature(o, PAGE_WIDTH, out);
    str_addc(out, '\n');
    add_all_types(o, "    ", out);
    str_addf(out, "    %s:%u\n", o->file, o->line);
    if (o->no_entry)
        str_addf(out, "    no entry of its own: %s\n", o->no_entry);
    str_addc(out, '\n');
    add_indented(o->doc ? o->doc : "(not documented)", out);
}

static void add_pages(const listing *l, str_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < l->len; i++)
        for (size_t k = 0; k < l->at[i].list.len; k++) {
            str_adds(out, any ? "\n" : "");
            add_page(l->at[i].list.at[k], out);
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
            const op_schema *o = l->at[i].list.at[k];
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
        op_add_part(out, &line, PAGE_WIDTH, k ? "," : NULL, "  ", link_text(out->arena, l, i, k));
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
            const op_schema *o = l->at[i].list.at[k];
            str_addf(out, "\n### %s\n\n```text\n", o->name);
            op_add_signature(o, PAGE_WIDTH, out);
            str_addc(out, '\n');
            add_all_types(o, "", out);
            if (o->doc)
                str_addf(out, "\n%s\n", o->doc);
            str_adds(out, "```\n");
        }
    }
}

// ---- for tools --------------------------------------------------------------------------------------------------

static void add_json(const listing *l, str_buf *out)
{
    json_t *all = json_array();
    for (size_t i = 0; i < l->len; i++)
        for (size_t k = 0; k < l->at[i].list.len; k++)
            json_array_append_new(all, op_schema_json(l->at[i].list.at[k]));
    diag_add_json(out, all, JSON_INDENT(2));
}

// ---- all of it --------------------------------------------------------------------------------------------------

static int list(request *r)
{
    listing l = {0};
    str_buf out;
    str_buf_init(&out, &r->shared.memory);
    int code = find_files(r);
    if (code == CMD_OK && r->folder) {
        str_addf(&out, "%s\n", pl_operator_folder(&r->shared.memory));
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
