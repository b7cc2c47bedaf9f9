#include "toolchain/cc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

// ---- finding it -------------------------------------------------------------------------------------------------

static const tool_cc *found(arena *a, const char *path, const tool_words *words)
{
    tool_cc *cc = ARENA_NEW(a, tool_cc);
    VEC_PUSH(a, &cc->command.at, path);
    for (size_t i = 1; i < words->at.len; i++)
        VEC_PUSH(a, &cc->command.at, words->at.at[i]);
    return cc;
}

static const tool_cc *not_found(diag_context *dx, const char *looked)
{
    diag *d = diag_report(dx, HDS0712, (src_span){0, 0});
    diag_note(d, (src_span){0, 0}, "looked for %s", looked);
    diag_help(d, "install one, or name one with '--cc=COMMAND' or the environment's CC; '--emit=c' needs none");
    return NULL;
}

const tool_cc *tool_cc_find(arena *a, diag_context *dx, const char *explicit_command)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    const char *wanted = explicit_command ? explicit_command : getenv("CC");
    tool_words words = {0};
    if (wanted)
        tool_words_add(a, &words, wanted);
    if (words.at.len) {
        const char *path = tool_program_find(a, words.at.at[0]);
        return path ? found(a, path, &words)
                    : not_found(dx, arena_printf(a, "'%s', as %s says", words.at.at[0], explicit_command ? "--cc" : "CC"));
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const char *path = tool_program_find(a, usual[i]);
        if (path)
            return found(a, path, &words);
    }
    return not_found(dx, "'cc', 'gcc' and 'clang' in the folders of PATH");
}

// ---- the folder it works in -------------------------------------------------------------------------------------

// The work of one call.
typedef struct work {
    arena *arena;
    diag_context *diags;
    const tool_cc *cc;
    const char *folder;  // ends with '/'
    int fd;
} work;

static bool begin(work *w)
{
    const char *error = NULL;
    w->folder = file_folder_new(w->arena, &w->fd, &error);
    if (!w->folder)
        diag_report(w->diags, HDS0714, (src_span){0, 0}, error);
    return w->folder != NULL;
}

static const char *in_folder(work *w, const char *name)
{
    return arena_printf(w->arena, "%s%s", w->folder, name);
}

static bool put_pieces(work *w, const char *name, const str *pieces, size_t count)
{
    const char *error = NULL;
    file_staged staged;
    if (file_stage(w->arena, in_folder(w, name), pieces, count, &staged, &error) && file_commit(w->arena, &staged, &error))
        return true;
    diag_report(w->diags, HDS0714, (src_span){0, 0},
                arena_printf(w->arena, "cannot write '%s': %s", in_folder(w, name), error));
    return false;
}

static bool put(work *w, const char *name, str bytes)
{
    return put_pieces(w, name, &bytes, 1);
}

static bool take(work *w, const char *name, str *out)
{
    const char *error = NULL;
    if (file_read(w->arena, in_folder(w, name), out, &error))
        return true;
    diag_report(w->diags, HDS0714, (src_span){0, 0},
                arena_printf(w->arena, "cannot read '%s': %s", in_folder(w, name), error));
    return false;
}

static void add(work *w, tool_words *command, const char *word)
{
    VEC_PUSH(w->arena, &command->at, word);
}

static tool_words compiler(work *w)
{
    tool_words command = {0};
    for (size_t i = 0; i < w->cc->command.at.len; i++)
        add(w, &command, w->cc->command.at.at[i]);
    return command;
}

static bool run(work *w, const tool_words *command)
{
    tool_run_result result;
    if (tool_run(w->arena, command, w->folder, &result))
        return true;
    diag *d = diag_report(w->diags, HDS0713, (src_span){0, 0}, command->at.at[0], result.failure);
    diag_note(d, (src_span){0, 0}, "tried: %s", tool_words_join(w->arena, command));
    if (result.printed.len)
        diag_note(d, (src_span){0, 0}, "it said:\n%s", tool_first_lines(w->arena, result.printed));
    diag_help(d, "a C11 compiler is needed, and '--cc=COMMAND' names another; if this one is good, hdsc has a bug: please "
                 "report it, with the text that '--emit=c' writes");
    return false;
}

// ---- objects ----------------------------------------------------------------------------------------------------

static const char *blob_file(work *w, int index)
{
    return arena_printf(w->arena, "hds/blob%d", index);
}

// Local to the object: two of them have the same symbol and do not meet.
static const char *blob_text(work *w, int index, const char *symbol)
{
    return arena_printf(w->arena,
                        "\n__asm__(\".section .rodata.%s,\\\"a\\\"\\n\\t.balign 8\\n\"\n"
                        "        \"%s:\\n\\t.incbin \\\"%s\\\"\\n\\t.balign 8\\n\\t.text\\n\");\n",
                        symbol, symbol, blob_file(w, index));
}

static bool put_source(work *w, const tool_c_source *s, const char *file_name)
{
    str_buf text;
    str_buf_init(&text, w->arena);
    str_add(&text, s->text);
    for (int i = 0; i < s->blob_count; i++)
        str_adds(&text, blob_text(w, i, s->blobs[i].symbol));
    if (mkdir(in_folder(w, "hds"), 0700) != 0) {
        diag_report(w->diags, HDS0714, (src_span){0, 0},
                    arena_printf(w->arena, "cannot make '%s': %s", in_folder(w, "hds"), strerror(errno)));
        return false;
    }
    bool ok = put(w, "hds/runtime.h", str_of(tool_runtime_header[0].text)) && put(w, s->header_name, s->header) &&
              put(w, file_name, (str){text.at, text.len});
    for (int i = 0; ok && i < s->blob_count; i++)
        ok = put_pieces(w, blob_file(w, i), s->blobs[i].pieces, s->blobs[i].count);
    return ok;
}

// Compilers that write no rule are good ones, too.
static void take_rule(work *w, tool_cc_reads *reads)
{
    const char *error = NULL;
    str rule;
    if (file_read(w->arena, in_folder(w, "hds/rule"), &rule, &error))
        tool_cc_add_rule(w->arena, rule, reads);
    else
        reads->is_unknown = true;
}

bool tool_cc_object(arena *a, diag_context *dx, const tool_cc *cc, const tool_c_source *source, tool_cc_reads *reads, str *out)
{
    // Blobs are assembled: link-time optimization of the C text, which CC may ask for, would not find it.
    static const char *const flags[] = {"-std=c11", "-O1", "-g0", "-fPIC", "-fno-ident", "-fno-lto", "-w", "-I.", "-MD", "-MF",
                                        "hds/rule", "-c", "-o", "hds/object"};
    work w = {a, dx, cc, NULL, -1};
    const char *file_name = arena_printf(a, "hds/%s.c", source->stem);
    if (!begin(&w))
        return false;
    tool_words command = compiler(&w);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add(&w, &command, flags[i]);
    add(&w, &command, file_name);
    bool ok = put_source(&w, source, file_name) && run(&w, &command) && take(&w, "hds/object", out);
    if (ok && reads)
        take_rule(&w, reads);
    file_folder_remove(w.folder, w.fd);
    return ok;
}

// ---- libraries --------------------------------------------------------------------------------------------------

tool_words tool_cc_archiver(arena *a, const tool_cc *cc)
{
    const char *given = getenv("AR");
    tool_words words = {0};
    if (given)
        tool_words_add(a, &words, given);
    if (!words.at.len)
        VEC_PUSH(a, &words.at, tool_cc_program(a, cc, "ar"));
    const char *path = tool_program_find(a, words.at.at[0]);
    words.at.at[0] = path ? path : words.at.at[0];
    return words;
}

// A library that holds nothing but the name of libhdsrt's: linking with it makes ours need that one.
static bool put_runtime(work *w)
{
    tool_words command = compiler(w);
    static const char *const words[] = {"-shared", "-nostdlib", "-Wl,-soname," HDS_RUNTIME_SONAME, "-o", "libhdsrt.so",
                                        "empty.c"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add(w, &command, words[i]);
    return put(w, "empty.c", STR("")) && run(w, &command);
}

static void add_each(work *w, tool_words *command, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(w, command, words[i]);
}

#define ADD_EACH(w, command, words) add_each((w), (command), (words), sizeof(words) / sizeof *(words))

static bool link_command(work *w, tool_link_kind kind, const char *name, tool_words *out)
{
    static const char *const relocatable[] = {"-r", "-nostdlib", "-o", "linked"};
    static const char *const archive[] = {"rcsD", "linked"};
    static const char *const shared[] = {"-shared", "-Wl,--build-id=none", "-Wl,--no-as-needed", "libhdsrt.so", "-o", "linked"};
    *out = kind == TOOL_LINK_ARCHIVE ? tool_cc_archiver(w->arena, w->cc) : compiler(w);
    switch (kind) {
    case TOOL_LINK_OBJECT:
        ADD_EACH(w, out, relocatable);
        return true;
    case TOOL_LINK_ARCHIVE:
        ADD_EACH(w, out, archive);
        return true;
    case TOOL_LINK_SHARED:
        break;
    }
    ADD_EACH(w, out, shared);
    add(w, out, "-Xlinker");
    add(w, out, "-soname");
    add(w, out, "-Xlinker");
    add(w, out, name);
    return put_runtime(w);
}

// With what the linker read, where it says so. What it says else is for a run without this.
static bool run_traced(work *w, const tool_words *command, tool_cc_reads *reads)
{
    tool_words traced = {0};
    tool_run_result result;
    for (size_t i = 0; i < command->at.len; i++)
        add(w, &traced, command->at.at[i]);
    add(w, &traced, "-Wl,--trace");
    if (tool_run(w->arena, &traced, w->folder, &result)) {
        tool_cc_add_trace(w->arena, result.printed, reads);
        return true;
    }
    reads->is_unknown = true;
    return run(w, command);
}

bool tool_cc_link(arena *a, diag_context *dx, const tool_cc *cc, tool_link_kind kind, const char *name,
                  const tool_member *members, size_t count, tool_cc_reads *reads, str *out)
{
    work w = {a, dx, cc, NULL, -1};
    tool_words command = {0};
    if (!begin(&w))
        return false;
    bool ok = link_command(&w, kind, name, &command);
    for (size_t i = 0; ok && i < count; i++) {
        add(&w, &command, members[i].name);
        ok = put(&w, members[i].name, members[i].bytes);
    }
    bool is_traced = reads && kind == TOOL_LINK_SHARED;
    ok = ok && (is_traced ? run_traced(&w, &command, reads) : run(&w, &command)) && take(&w, "linked", out);
    file_folder_remove(w.folder, w.fd);
    return ok;
}
