#include "service/protocol.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// ---- messages ---------------------------------------------------------------------------------------------------

static bool send_all(int fd, const void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, (const char *)bytes + done, len - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = recv(fd, (char *)bytes + done, len - done, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool svc_send(int fd, str message)
{
    uint64_t len = message.len;
    return send_all(fd, &len, sizeof len) && send_all(fd, message.at, message.len);
}

bool svc_receive(int fd, char **message, size_t *len)
{
    uint64_t size;
    *message = NULL;
    if (!receive_all(fd, &size, sizeof size) || size >= SIZE_MAX / 2)
        return false;
    char *bytes = malloc((size_t)size + 1);
    if (!bytes || !receive_all(fd, bytes, (size_t)size)) {
        free(bytes);
        return false;
    }
    bytes[size] = '\0';
    *message = bytes;
    *len = (size_t)size;
    return true;
}

// ---- fields -----------------------------------------------------------------------------------------------------

static void put(str_buf *out, const void *bytes, size_t len)
{
    uint64_t size = len;
    str_add(out, (str){(const char *)&size, sizeof size});
    str_add(out, (str){bytes, len});
}

// A text that may be missing.
static void put_text(str_buf *out, const char *text)
{
    put(out, text ? text : "", text ? strlen(text) + 1 : 0);
}

static bool take(str *message, str *field)
{
    uint64_t size;
    if (message->len < sizeof size)
        return false;
    memcpy(&size, message->at, sizeof size);
    message->at += sizeof size;
    message->len -= sizeof size;
    if (size > message->len)
        return false;
    *field = (str){message->at, (size_t)size};
    message->at += size;
    message->len -= (size_t)size;
    return true;
}

static bool take_text(arena *a, str *message, const char **text)
{
    str field;
    if (!take(message, &field))
        return false;
    *text = field.len ? arena_strndup(a, field.at, field.len - 1) : NULL;
    return true;
}

static bool take_bytes(arena *a, str *message, str *out)
{
    str field;
    if (!take(message, &field))
        return false;
    *out = (str){arena_strndup(a, field.at, field.len), field.len};
    return true;
}

static bool take_value(str *message, void *value, size_t size)
{
    str field;
    if (!take(message, &field) || field.len != size)
        return false;
    memcpy(value, field.at, size);
    return true;
}

// ---- jobs -------------------------------------------------------------------------------------------------------

typedef struct numbers {
    int max_registers;
    bool cubin, line_info, fast_math;
    size_t extra_len;
} numbers;

void svc_job_write(const svc_job *job, str_buf *out)
{
    const tool_compile_options *o = &job->options;
    const numbers n = {o->max_registers, o->cubin, o->line_info, o->fast_math, o->extra_len};
    put_text(out, job->nvrtc);
    put_text(out, job->ptxas);
    put_text(out, job->folder);
    put_text(out, o->target->name);
    put_text(out, o->name);
    put(out, &n, sizeof n);
    for (size_t i = 0; i < o->extra_len; i++)
        put_text(out, o->extra[i]);
    put(out, job->text.at, job->text.len);
}

bool svc_job_read(arena *a, str message, svc_job *out)
{
    numbers n;
    const char *target = NULL;
    *out = (svc_job){0};
    if (!take_text(a, &message, &out->nvrtc) || !take_text(a, &message, &out->ptxas) ||
        !take_text(a, &message, &out->folder) || !take_text(a, &message, &target) ||
        !take_text(a, &message, &out->options.name) ||
        !take_value(&message, &n, sizeof n) || n.extra_len > message.len || !target)
        return false;
    const char **extra = ARENA_ARRAY(a, const char *, n.extra_len + 1);
    for (size_t i = 0; i < n.extra_len; i++) {
        if (!take_text(a, &message, &extra[i]) || !extra[i])
            return false;
    }
    out->options.target = arch_find(str_of(target));
    out->options.cubin = n.cubin;
    out->options.line_info = n.line_info;
    out->options.fast_math = n.fast_math;
    out->options.max_registers = n.max_registers;
    out->options.extra = extra;
    out->options.extra_len = n.extra_len;
    return out->options.target && take_bytes(a, &message, &out->text);
}

// ---- results ----------------------------------------------------------------------------------------------------

void svc_result_write(const tool_result *result, str_buf *out)
{
    put(out, &result->status, sizeof result->status);
    put_text(out, result->failure);
    put(out, result->ptx.at, result->ptx.len);
    put(out, result->cubin.at, result->cubin.len);
    put(out, result->log.at, result->log.len);
    put(out, &result->seconds, sizeof result->seconds);
}

bool svc_result_read(arena *a, str message, tool_result *out)
{
    *out = (tool_result){0};
    return take_value(&message, &out->status, sizeof out->status) && take_text(a, &message, &out->failure) &&
           take_bytes(a, &message, &out->ptx) && take_bytes(a, &message, &out->cubin) &&
           take_bytes(a, &message, &out->log) && take_value(&message, &out->seconds, sizeof out->seconds);
}
