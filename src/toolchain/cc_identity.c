// Which C compiler it is, and what it reads: for results that are kept.

#include "toolchain/cc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- the command --------------------------------------------------------------------------------------------------

// Options of the command that name no programs, scripts or profiles. Headers are known from what the compiler lists, libraries
// from what the linker does.
static bool is_self_contained(const char *word)
{
    static const char *const known[] = {
        "-O", "-g", "-m", "-f", "-W", "-w", "-D", "-U", "-I", "-std=", "-pipe", "-pedantic", "-ansi", "-static-libgcc",
        "-pthread", "--target=", "--sysroot=",
    };
    static const char *const reads_more[] = {"-fplugin", "-fuse-ld", "-fprofile", "-fauto-profile", "-fbranch-prob", "-fsanitize",
                                             "-fmodule", "-fpass-plugin", "-flto=", "-Wl,", "-Wa,", "-Wp,"};
    for (size_t i = 0; i < sizeof reads_more / sizeof *reads_more; i++)
        if (strncmp(word, reads_more[i], strlen(reads_more[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(word, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

// "ccache gcc -m64": programs, then options.
static bool is_known_command(const tool_words *command)
{
    size_t i = 0;
    while (i < command->at.len && command->at.at[i][0] != '-' && command->at.at[i][0] != '@')
        i++;
    for (; i < command->at.len; i++)
        if (!is_self_contained(command->at.at[i]))
            return false;
    return true;
}

// ---- programs -----------------------------------------------------------------------------------------------------

static void add_program(arena *a, const char *name, str_buf *out)
{
    struct stat info;
    const char *path = tool_program_find(a, name);
    char *resolved = path ? realpath(path, NULL) : NULL;
    if (resolved && stat(resolved, &info) == 0)
        str_addf(out, "%s: %s %lld %lld.%09ld\n", name, resolved, (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                 info.st_mtim.tv_nsec);
    else
        str_addf(out, "%s: none\n", name);
    free(resolved);
}

// The commands that the compiler would run: lines that begin with a blank, the program perhaps in quotes. Returns how many.
static int add_programs(arena *a, str printed, str_buf *out)
{
    int count = 0;
    for (const char *at = printed.at, *end = printed.at + printed.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *first = at + 1;
        stop = stop ? stop : end;
        bool is_quoted = first < stop && *first == '"';
        first += is_quoted;
        size_t len = 0;
        while (first + len < stop && first[len] != (is_quoted ? '"' : ' '))
            len++;
        if (*at == ' ' && len) {
            add_program(a, arena_strndup(a, first, len), out);
            count++;
        }
        at = stop + 1;
    }
    return count;
}

static bool ask(arena *a, const tool_cc *cc, const char *const *words, size_t count, str *printed)
{
    tool_words command = {0};
    tool_run_result answer;
    for (size_t i = 0; i < cc->command.at.len; i++)
        VEC_PUSH(a, &command.at, cc->command.at.at[i]);
    for (size_t i = 0; i < count; i++)
        VEC_PUSH(a, &command.at, words[i]);
    bool ok = tool_run(a, &command, "/", &answer);
    *printed = answer.printed;
    return ok;
}

const char *tool_cc_program(arena *a, const tool_cc *cc, const char *name)
{
    const char *word = arena_printf(a, "-print-prog-name=%s", name);
    str printed;
    if (!ask(a, cc, &word, 1, &printed))
        return name;
    size_t len = 0;
    while (len < printed.len && printed.at[len] != '\n')
        len++;
    return len ? arena_strndup(a, printed.at, len) : name;
}

const char *tool_cc_identity(arena *a, const tool_cc *cc)
{
    static const char *const dry[] = {"-###", "-pipe", "-c", "-x", "c", "-o", "object", "/dev/null"}; // -pipe: no temporary names
    static const char *const variables[] = {
        "CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "LD_RUN_PATH",
        "LD_PRELOAD", "LDEMULATION", "GNUTARGET", "SOURCE_DATE_EPOCH", "CCC_OVERRIDE_OPTIONS", "AR",
    };
    str_buf out;
    str printed;
    str_buf_init(&out, a);
    if (!is_known_command(&cc->command) || !ask(a, cc, dry, sizeof dry / sizeof *dry, &printed))
        return NULL;
    str_addf(&out, "%s\n", tool_words_join(a, &cc->command));
    add_program(a, cc->command.at.at[0], &out);
    str_add(&out, printed);
    if (!add_programs(a, printed, &out))
        return NULL;
    add_program(a, tool_cc_program(a, cc, "ld"), &out);
    add_program(a, tool_cc_archiver(a, cc).at.at[0], &out);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value)
            str_addf(&out, "%s=%s\n", variables[i], value);
    }
    return str_text(&out);
}

// ---- files that it reads ------------------------------------------------------------------------------------------

// What is in the folder that it works in is ours.
static void add_file(arena *a, str word, tool_cc_reads *out)
{
    if (!word.len || *word.at != '/')
        return;
    const char *path = arena_strndup(a, word.at, word.len);
    for (size_t i = 0; i < out->at.len; i++)
        if (strcmp(out->at.at[i], path) == 0)
            return;
    VEC_PUSH(a, &out->at, path);
}

void tool_cc_add_rule(arena *a, str rule, tool_cc_reads *out)
{
    const char *at = memchr(rule.at, ':', rule.len), *end = rule.at + rule.len;
    for (at = at ? at + 1 : end; at < end;) {
        const char *word = at;
        while (at < end && !memchr(" \t\n", *at, 3))
            at++;
        str found = {word, (size_t)(at - word)};
        bool is_continuation = found.len == 1 && *word == '\\';
        if (found.len && !is_continuation && (memchr(word, '\\', found.len) || memchr(word, '$', found.len)))
            out->is_unknown = true; // a name that make writes in another way
        add_file(a, found, out);
        at++;
    }
}

void tool_cc_add_trace(arena *a, str printed, tool_cc_reads *out)
{
    for (const char *at = printed.at, *end = printed.at + printed.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        str line = {at, (size_t)(stop - at)};
        const char *member = memchr(at, '(', line.len); // "/usr/lib/libc.a(open.o)"
        add_file(a, member ? (str){at, (size_t)(member - at)} : line, out);
        at = stop + 1;
    }
}
