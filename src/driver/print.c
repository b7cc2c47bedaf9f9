// What the commands print, and how.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

void cmd_print_diags(diag_context *dx, const cmd_output *how)
{
    str_buf out;
    str_buf_init(&out, dx->arena);
    if (how->json) {
        diag_render_json(dx, &out);
    } else {
        bool color = how->color == CMD_COLOR_ALWAYS || (how->color == CMD_COLOR_AUTO && cmd_is_colorful(STDERR_FILENO));
        diag_render_text(dx, &out, (diag_style){color, cmd_terminal_width(STDERR_FILENO)});
        const char *summary = diag_summary(dx);
        if (*summary)
            str_addf(&out, "%s\n", summary);
    }
    cmd_print_error((str){out.at, out.len});
}
