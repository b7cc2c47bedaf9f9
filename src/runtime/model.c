// Models of generated code: weights found by name, what is computed from them, and a CUDA graph for each set of sizes.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/internal.h"

enum { LENGTH_BYTES = 8, ALIGNMENT = 256, MOST_NAMED = 8, FAULTS_ROOM = 800 };

struct hdsrt_model {
    const hdsrt_model_code *code;
    unsigned long long context; // whose memory it has
    void **tensors;             // by tensor of the code
    void *kept, *passing;       // memory of those that runs read, and of the others until the model is open
    hdsrt_graph_cache *graphs;  // NULL: launches its kernels one by one
};

// A file in memory.
typedef struct file {
    const char *name;       // for messages
    const uint8_t *bytes, *data;
    size_t count;
    hdsrt_stored_tensors *tensors;
    void *mapped;
} file;

// Where the weights of a model are.
typedef struct source {
    file file;                 // all of them, or the index
    hdsrt_stored_index *index; // NULL: there are no shards
    file *shards;              // by number
} source;

// ---- files -------------------------------------------------------------------------------------------------------

static hdsrt_status fail_file(const file *f, const char *why)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s", f->name, why);
}

// Others than regular files, such as pipes, would block or have no end.
static hdsrt_status map_file(file *f, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_open = fd >= 0 && fstat(fd, &st) == 0;
    const char *why = is_open ? S_ISREG(st.st_mode) ? NULL : "it is no regular file" : strerror(errno);
    if (!why && st.st_size > 0) {
        f->mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        why = f->mapped == MAP_FAILED ? strerror(errno) : NULL;
    }
    if (fd >= 0)
        close(fd);
    if (why) {
        f->mapped = NULL;
        return fail_file(f, why);
    }
    f->bytes = f->mapped;
    f->count = (size_t)st.st_size;
    return HDSRT_OK;
}

static hdsrt_status read_header(file *f)
{
    uint64_t len = 0;
    if (f->count < LENGTH_BYTES)
        return fail_file(f, "it is shorter than the 8 bytes that say how long its header is");
    for (int i = 0; i < LENGTH_BYTES; i++)
        len |= (uint64_t)f->bytes[i] << (8 * i);
    if (len > f->count - LENGTH_BYTES)
        return fail_file(f, "its header is longer than the file");
    f->data = f->bytes + LENGTH_BYTES + len;
    hdsrt_status status = hdsrt_stored_read((const char *)f->bytes + LENGTH_BYTES, (size_t)len,
                                            (int64_t)(f->count - LENGTH_BYTES - len), &f->tensors);
    return status == HDSRT_INVALID_ARGUMENT ? fail_file(f, hdsrt_last_error()) : status;
}

static void close_file(const file *f)
{
    hdsrt_stored_free(f->tensors);
    if (f->mapped)
        munmap(f->mapped, f->count);
}

// ---- shards ------------------------------------------------------------------------------------------------------

// In the folder of the index.
static hdsrt_status open_shard(file *f, const file *index, const char *name)
{
    const char *slash = strrchr(index->name, '/');
    size_t len = slash ? (size_t)(slash - index->name) + 1 : 0, room = len + strlen(name) + 1;
    char *path = malloc(room);
    if (!path)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for the names of its shards", index->name);
    snprintf(path, room, "%.*s%s", (int)len, index->name, name);
    f->name = path;
    hdsrt_status status = map_file(f, path);
    status = status ? status : read_header(f);
    f->name = name;
    free(path);
    return status;
}

static hdsrt_status fail_tensor(const source *s, const char *name, const char *why)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': tensor '%s' %s", s->file.name, name, why);
}

// The index and the shards name the same tensors.
static hdsrt_status compare_names(const source *s)
{
    for (size_t i = 0; i < s->index->count; i++) {
        const hdsrt_stored_place *p = &s->index->at[i];
        if (!hdsrt_stored_find(s->shards[p->shard].tensors, p->name))
            return fail_tensor(s, p->name, "is not in the shard that the index says");
    }
    for (size_t k = 0; k < s->index->shard_count; k++)
        for (size_t i = 0; i < s->shards[k].tensors->count; i++) {
            const char *name = s->shards[k].tensors->at[i].name;
            const hdsrt_stored_place *p = hdsrt_index_find(s->index, name);
            if (!p || p->shard != k)
                return fail_tensor(s, name, "of a shard is not in the index");
        }
    return HDSRT_OK;
}

static hdsrt_status open_shards(source *s)
{
    hdsrt_status status = hdsrt_index_read((const char *)s->file.bytes, s->file.count, &s->index);
    if (status)
        return status == HDSRT_INVALID_ARGUMENT ? fail_file(&s->file, hdsrt_last_error()) : status;
    s->shards = calloc(s->index->shard_count + 1, sizeof *s->shards);
    if (!s->shards)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for its shards", s->file.name);
    for (size_t k = 0; !status && k < s->index->shard_count; k++)
        status = open_shard(&s->shards[k], &s->file, s->index->shards[k]);
    return status ? status : compare_names(s);
}

static bool has_tensors(const source *s)
{
    return s->index || s->file.tensors;
}

// NULL: there is none of this name. [*in]: where it is.
static const hdsrt_stored_tensor *find(const source *s, const char *name, const file **in)
{
    const hdsrt_stored_place *p = s->index ? hdsrt_index_find(s->index, name) : NULL;
    *in = p ? &s->shards[p->shard] : &s->file;
    return s->index && !p ? NULL : hdsrt_stored_find((*in)->tensors, name);
}

static void close_source(source *s)
{
    for (size_t k = 0; s->shards && k < s->index->shard_count; k++)
        close_file(&s->shards[k]);
    free(s->shards);
    hdsrt_index_free(s->index);
    close_file(&s->file);
}

// ---- the weights -------------------------------------------------------------------------------------------------

static bool is_weight(const hdsrt_stored_tensor *s, const hdsrt_model_tensor *t)
{
    return s && strcmp(s->dtype, t->dtype) == 0 && s->ndim == (int)t->ndim &&
           (!t->ndim || memcmp(s->shape, t->shape, t->ndim * sizeof *t->shape) == 0);
}

static hdsrt_status check_weights(const hdsrt_model_code *code, const source *from)
{
    const file *f = &from->file, *in;
    char faults[FAULTS_ROOM] = "";
    size_t count = 0, used = 0;
    for (size_t i = 0; i < code->tensor_count; i++) {
        const hdsrt_model_tensor *t = &code->tensors[i];
        const hdsrt_stored_tensor *s = t->weight ? find(from, t->weight, &in) : NULL;
        if (!t->weight || is_weight(s, t))
            continue;
        if (count++ < MOST_NAMED && used < sizeof faults)
            used += (size_t)snprintf(faults + used, sizeof faults - used, "%s'%s' %s %s", count > 1 ? "; " : "", t->weight,
                                     s ? "is no" : "is missing, a", t->type);
    }
    if (count > MOST_NAMED)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s; and %zu more", f->name, faults, count - MOST_NAMED);
    return count ? fail_file(f, faults) : HDSRT_OK;
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// One block for those that runs read, and one for the others.
static hdsrt_status take_memory(hdsrt_model *m)
{
    const hdsrt_model_code *code = m->code;
    int64_t bytes[2] = {0, 0};
    for (size_t i = 0; i < code->tensor_count; i++)
        bytes[code->tensors[i].is_read] += aligned(code->tensors[i].bytes);
    hdsrt_status status = hdsrt_allocate(&m->kept, bytes[1], NULL);
    status = status ? status : hdsrt_allocate(&m->passing, bytes[0], NULL);
    char *next[] = {m->passing, m->kept};
    for (size_t i = 0; !status && i < code->tensor_count; i++) {
        const hdsrt_model_tensor *t = &code->tensors[i];
        m->tensors[i] = t->bytes ? next[t->is_read] : NULL;
        next[t->is_read] += t->bytes ? aligned(t->bytes) : 0;
    }
    return status;
}

static hdsrt_status copy_weights(const hdsrt_model *m, const source *from)
{
    const file *in;
    hdsrt_status status = HDSRT_OK;
    for (size_t i = 0; !status && i < m->code->tensor_count; i++) {
        const hdsrt_model_tensor *t = &m->code->tensors[i];
        if (!t->weight || !t->bytes)
            continue;
        const hdsrt_stored_tensor *s = find(from, t->weight, &in);
        status = hdsrt_copy(m->tensors[i], in->data + s->begin, t->bytes, NULL);
    }
    return status;
}

// ---- opening -----------------------------------------------------------------------------------------------------

static hdsrt_status fill(hdsrt_model *m, const source *from, const hdsrt_model_options *o)
{
    const hdsrt_model_code *code = m->code;
    hdsrt_status status = has_tensors(from) ? check_weights(code, from) : HDSRT_OK;
    status = status ? status : hdsrt_current_context(&m->context);
    status = status ? status : take_memory(m);
    status = status ? status : copy_weights(m, from);
    if (!status && code->load)
        status = code->load(m->tensors, NULL);
    status = status ? status : hdsrt_synchronize(NULL); // streams of runs may not wait for this one
    if (!status && !o->no_graphs)
        status = hdsrt_graph_cache_new(&m->graphs, o->graphs, code->address_count, code->size_count, code->workspace_bytes);
    hdsrt_status released = hdsrt_release(m->passing, NULL);
    m->passing = NULL;
    return status ? status : released;
}

static hdsrt_status open_from(const hdsrt_model_code *code, const source *from, const hdsrt_model_options *options,
                              hdsrt_model **model)
{
    const hdsrt_model_options usual = HDSRT_MODEL_OPTIONS_INIT, *o = options ? options : &usual;
    if (o->size < sizeof usual)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': options begin with HDSRT_MODEL_OPTIONS_INIT", code->name);
    hdsrt_model *m = calloc(1, sizeof *m);
    void **tensors = calloc(code->tensor_count + 1, sizeof *tensors);
    if (!m || !tensors) {
        free(m);
        free(tensors);
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for a model", code->name);
    }
    *m = (hdsrt_model){.code = code, .tensors = tensors};
    hdsrt_status status = fill(m, from, o);
    if (status)
        hdsrt_model_close(m);
    else
        *model = m;
    return status;
}

static bool has_weights(const hdsrt_model_code *code)
{
    for (size_t i = 0; i < code->tensor_count; i++)
        if (code->tensors[i].weight)
            return true;
    return false;
}

static hdsrt_status fail_with(const hdsrt_model_code *code, const char *what)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %s", code->name, what);
}

hdsrt_status hdsrt_model_open_bytes(const hdsrt_model_code *code, const void *bytes, size_t count,
                                    const hdsrt_model_options *options, hdsrt_model **model)
{
    source s = {.file = {.name = code->name, .bytes = bytes, .count = bytes ? count : 0}};
    if (!model)
        return fail_with(code, "the model's address is null");
    *model = NULL;
    if (!bytes && has_weights(code))
        return fail_with(code, "the bytes of its weights are null");
    hdsrt_status status = bytes ? read_header(&s.file) : HDSRT_OK;
    status = status ? status : open_from(code, &s, options, model);
    close_source(&s);
    return status;
}

static bool is_index(const char *path)
{
    size_t len = strlen(path);
    return len >= 5 && strcmp(path + len - 5, ".json") == 0;
}

hdsrt_status hdsrt_model_open(const hdsrt_model_code *code, const char *path, const hdsrt_model_options *options,
                              hdsrt_model **model)
{
    source s = {.file = {.name = path}};
    if (!path && has_weights(code))
        return fail_with(code, "the path of a file of its weights is null");
    if (!path || !model)
        return hdsrt_model_open_bytes(code, NULL, 0, options, model);
    *model = NULL;
    hdsrt_status status = map_file(&s.file, path);
    if (!status)
        status = is_index(path) ? open_shards(&s) : read_header(&s.file);
    status = status ? status : open_from(code, &s, options, model);
    close_source(&s);
    return status;
}

void hdsrt_model_close(hdsrt_model *m)
{
    if (!m)
        return;
    hdsrt_graph_cache_free(m->graphs);
    hdsrt_release(m->passing, NULL);
    hdsrt_release(m->kept, NULL);
    free(m->tensors);
    free(m);
}

// ---- running -----------------------------------------------------------------------------------------------------

static hdsrt_status enqueue(void *user, const uint64_t *words, hdsrt_stream stream, void *workspace)
{
    const hdsrt_model *m = user;
    return m->code->run(m->tensors, words, stream, workspace);
}

static hdsrt_status check_context(const hdsrt_model *m)
{
    unsigned long long current = 0;
    if (!m)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "the model is null");
    hdsrt_status status = hdsrt_current_context(&current);
    if (status || current == m->context)
        return status;
    return fail_with(m->code, "it was opened in another context than the current one: open it in each");
}

hdsrt_status hdsrt_model_run(hdsrt_model *m, const uint64_t *words, hdsrt_stream stream)
{
    hdsrt_status status = check_context(m);
    if (status)
        return status;
    if (!m->graphs)
        return enqueue(m, words, stream, NULL);
    return hdsrt_graph_cache_run(m->graphs, words, enqueue, m, stream, true);
}

hdsrt_status hdsrt_model_prepare(hdsrt_model *m, const uint64_t *words, hdsrt_stream stream)
{
    hdsrt_status status = check_context(m);
    return status || !m->graphs ? status : hdsrt_graph_cache_run(m->graphs, words, enqueue, m, stream, false);
}
