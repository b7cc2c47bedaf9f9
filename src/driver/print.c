// What the commands print, and how.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"

bool cmd_is_colorful(int fd)
{
    const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return isatty(fd) && !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
}

int cmd_terminal_width(int fd)
{
    struct winsize size;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void cmd_print_error(str text)
{
    if (text.len)
        fwrite(text.at, 1, text.len, stderr);
}

bool cmd_print(str text)
{
    if (!text.len || (fwrite(text.at, 1, text.len, stdout) == text.len && fflush(stdout) == 0))
        return true;
    fprintf(stderr, "hdsc: cannot write to standard output: %s\n", strerror(errno));
    return false;
}

const char *cmd_cannot_write(arena *a, const char *path)
{
    struct stat info;
    int error = 0;
    bool exists = strcmp(path, "-") == 0 || stat(path, &info) == 0;
    if (strcmp(path, "-") == 0)
        return NULL;
    if (exists && S_ISDIR(info.st_mode))
        error = EISDIR;
    else if (exists && !S_ISREG(info.st_mode))
        error = access(path, W_OK) == 0 ? 0 : errno;
    else if (access(file_folder(a, path), W_OK | X_OK) != 0)
        error = errno;
    else if (stat(file_folder(a, path), &info) == 0 && !S_ISDIR(info.st_mode))
        error = ENOTDIR;
    return error ? arena_printf(a, "%s", strerror(error)) : NULL;
}

// Texts of the command line are files of their own: "<--entry>", "<-D N>".
static bool is_about_command_line(const diag_context *dx, const diag *d)
{
    static const diag_code codes[] = {HDS0235, HDS0490, HDS0643, HDS0653, HDS0654,
                                      HDS0673, HDS0674, HDS0676, HDS0678, HDS0751, HDS0752, HDS0754, HDS0820, HDS0824, HDS0826};
    const src_file *file = d->span.begin ? src_file_at(dx->sources, d->span.begin) : NULL;
    bool is_it = file && strncmp(file->name, "<-", 2) == 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        is_it = is_it || d->code == codes[i];
    return is_it;
}

int cmd_code_of_errors(const diag_context *dx)
{
    for (size_t i = 0; i < dx->all.len; i++) {
        if (dx->all.at[i]->severity == DIAG_ERROR && !is_about_command_line(dx, dx->all.at[i]))
            return CMD_ERRORS;
    }
    return dx->shown_errors ? CMD_USAGE : CMD_ERRORS;
}

static diag_style style_of(const cmd_output *how)
{
    bool color = how->color == CMD_COLOR_ALWAYS || (how->color == CMD_COLOR_AUTO && cmd_is_colorful(STDERR_FILENO));
    return (diag_style){color, cmd_terminal_width(STDERR_FILENO)};
}

const char *cmd_shown_as(arena *a, const cmd_output *how)
{
    const diag_style style = style_of(how);
    return how->json ? "json" : arena_printf(a, "text, %d columns%s", style.width, style.color ? ", color" : "");
}

void cmd_add_diags(diag_context *dx, const cmd_output *how, str_buf *out)
{
    if (how->json) {
        diag_render_json(dx, out);
        return;
    }
    diag_render_text(dx, out, style_of(how));
    const char *summary = diag_summary(dx);
    if (*summary)
        str_addf(out, "%s\n", summary);
}

void cmd_print_diags(diag_context *dx, const cmd_output *how)
{
    str_buf out;
    str_buf_init(&out, dx->arena);
    cmd_add_diags(dx, how, &out);
    cmd_print_error((str){out.at, out.len});
}

void cmd_leave(int code)
{
    fflush(NULL);
    _exit(code);
}
