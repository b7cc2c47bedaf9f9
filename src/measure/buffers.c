// Tensors on the GPU, in as many copies as the method needs.
#include <string.h>

#include "measure/measure_priv.h"

enum { ALIGNMENT = 256, MAX_SETS = 512, L2_TIMES = 4 };

static int64_t rounded(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int ms_sets(int64_t set_bytes, int64_t l2_bytes, int64_t free_bytes)
{
    if (set_bytes <= 0)
        return 1;
    int64_t wanted = (L2_TIMES * l2_bytes + set_bytes - 1) / set_bytes + 1, room = free_bytes / set_bytes;
    wanted = wanted < 2 ? 2 : wanted > MAX_SETS ? MAX_SETS : wanted;
    wanted = wanted < room ? wanted : room;
    return wanted < 1 ? 1 : (int)wanted;
}

static int64_t bytes_of_set(const ms_argument *arguments, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (arguments[i].is_tensor && __builtin_add_overflow(sum, rounded(arguments[i].bytes), &sum))
            return INT64_MAX;
    }
    return sum;
}

// Nine tenths of free memory: the driver needs some of it.
static int64_t free_bytes(ms_session *s)
{
    size_t available = 0, total = 0;
    hdsrt_synchronize(s->stream);
    return s->cuda->memory_info(&available, &total) == 0 ? (int64_t)(available / 10 * 9) : 0;
}

static const char *size_text(arena *a, int64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1000 && unit < 4; unit++)
        value /= 1000;
    return arena_printf(a, unit ? "%.3g %s" : "%.0f %s", value, units[unit]);
}

static bool no_room(ms_session *s, int64_t wanted, int64_t available)
{
    diag *d = diag_report(s->diags, HDS0750, (src_span){0, 0}, s->record.subject.title, size_text(s->arena, wanted),
                          size_text(s->arena, available));
    diag_help(d, "give smaller sizes");
    return false;
}

// ---- contents ---------------------------------------------------------------------------------------------------

// Repeats the given bytes by doubling what is already written.
bool ms_buffer_fill(ms_session *s, char *to, const ms_argument *a)
{
    if (!a->data_bytes)
        return !a->bytes || !hdsrt_fill(to, 0xff, 1, a->bytes, s->stream);
    int64_t done = a->data_bytes < a->bytes ? a->data_bytes : a->bytes;
    if (hdsrt_copy(to, a->data, done, s->stream))
        return false;
    while (done < a->bytes) {
        int64_t more = done < a->bytes - done ? done : a->bytes - done;
        if (hdsrt_copy(to + done, to, more, s->stream))
            return false;
        done += more;
    }
    return true;
}

static bool add_tensor(ms_session *s, ms_buffers *b, const ms_argument *a, int index, int set)
{
    void *address = NULL;
    if (hdsrt_allocate(&address, a->bytes, s->stream))
        return false;
    if (address)
        VEC_PUSH(s->arena, &b->owned, address);
    b->arguments[set * b->count + index] = hds_pointer(address);
    if (set == 0)
        return ms_buffer_fill(s, address, a);
    return !a->bytes || !hdsrt_copy(address, b->arguments[index].value.pointer, a->bytes, s->stream);
}

static hds_argument scalar(const ms_argument *a)
{
    if (dt_is_float(a->type))
        return hds_float(dt_to_double(a->type, a->value));
    return hds_int(dt_is_int(a->type) ? dt_wrap_int(a->type, (int64_t)a->value) : (int64_t)a->value);
}

static bool add_set(ms_session *s, ms_buffers *b, const ms_argument *arguments, int set)
{
    for (int i = 0; i < b->count; i++) {
        if (!arguments[i].is_tensor)
            b->arguments[set * b->count + i] = scalar(&arguments[i]);
        else if (!add_tensor(s, b, &arguments[i], i, set))
            return false;
    }
    return true;
}

// ---- all of it --------------------------------------------------------------------------------------------------

// Memory for copies that read half of the bytes the kernel moves and write the other half; none if there are no bytes.
static bool add_pool(ms_session *s, ms_buffers *b, int64_t moved, int64_t room)
{
    int64_t half = rounded(moved / 2);
    if (!s->options.yardstick || moved <= 0 || 2 * half > room)
        return true;
    b->half_bytes = half;
    b->copies = s->options.method == MS_ROTATE ? ms_sets(2 * half, s->record.machine.l2_bytes, room) : 1;
    void *pool = NULL;
    if (hdsrt_allocate(&pool, 2 * half * b->copies, s->stream) || hdsrt_fill(pool, 0x3c, 1, 2 * half * b->copies, s->stream))
        return false;
    b->pool = pool;
    VEC_PUSH(s->arena, &b->owned, pool);
    return true;
}

static bool add_flush(ms_session *s)
{
    if (s->flush || s->options.method != MS_FLUSH)
        return true;
    s->flush_bytes = rounded(2 * s->record.machine.l2_bytes);
    return !s->flush_bytes || !hdsrt_allocate(&s->flush, s->flush_bytes, s->stream);
}

bool ms_buffers_make(ms_session *s, const ms_argument *arguments, int count, int64_t moved, ms_buffers *out)
{
    int64_t bytes = bytes_of_set(arguments, count);
    *out = (ms_buffers){.count = count};
    if (!add_flush(s))
        return ms_failed(s, "allocating memory");
    int64_t room = free_bytes(s);
    if (bytes > room)
        return no_room(s, bytes, room);
    // Half of the memory is left for the yardstick's own buffers.
    int64_t for_sets = s->options.yardstick ? room / 2 : room;
    out->sets = s->options.method == MS_ROTATE && !s->options.one_copy ? ms_sets(bytes, s->record.machine.l2_bytes, for_sets) : 1;
    out->arguments = ARENA_ARRAY(s->arena, hds_argument, out->sets * count + 1);
    out->is_tensor = ARENA_ARRAY(s->arena, bool, count + 1);
    for (int i = 0; i < count; i++)
        out->is_tensor[i] = arguments[i].is_tensor;
    bool ok = true;
    for (int i = 0; ok && i < out->sets; i++)
        ok = add_set(s, out, arguments, i);
    ok = ok && add_pool(s, out, moved, room - out->sets * bytes) && !hdsrt_synchronize(s->stream);
    return ok || ms_failed(s, "filling the tensors");
}

void ms_buffers_free(ms_session *s, ms_buffers *b)
{
    if (s->is_stuck)
        return;
    for (size_t i = 0; i < b->owned.len; i++)
        hdsrt_release(b->owned.at[i], s->stream);
    hdsrt_synchronize(s->stream);
}
