// Tensors of other libraries, and ours for them. Three ways lead in: the C table of a type (torch), which costs nothing to
// speak of; __dlpack__ with a version; and __dlpack__ as it was before versions.

#include <stdlib.h>
#include <string.h>

#include "core.h"

// As in dlpack.h 1.x (https://dmlc.github.io/dlpack/latest/c_api.html).
typedef struct versioned_tensor {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct versioned_tensor *self);
    uint64_t flags;
    hdsrt_tensor dl_tensor;
} versioned_tensor;

typedef struct exchange_api {
    uint32_t major, minor;
    struct exchange_api *previous;
    void *allocate, *from_object, *to_object;
    int (*borrow)(void *object, hdsrt_tensor *out);
    int (*current_stream)(int device_type, int32_t device, void **out);
} exchange_api;

enum { VERSION_MAJOR = 1, VERSION_MINOR = 0, FLAG_READ_ONLY = 1 };
static const char name_versioned[] = "dltensor_versioned", name_unversioned[] = "dltensor";

// ---- the table of a type -----------------------------------------------------------------------------------------------

enum { MOST_TYPES = 16 };
static struct {
    PyTypeObject *type;
    const exchange_api *api; // NULL: it has none
} known_types[MOST_TYPES];
static int known_count;

static const exchange_api *find_api(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const exchange_api *api = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule);
    return api && api->major == VERSION_MAJOR && api->borrow ? api : NULL;
}

// Types are kept, so that no other takes the address of one.
static const exchange_api *api_of(PyTypeObject *type)
{
    for (int i = 0; i < known_count; i++)
        if (known_types[i].type == type)
            return known_types[i].api;
    const exchange_api *api = find_api(type);
    if (known_count < MOST_TYPES) {
        Py_INCREF(type);
        known_types[known_count].type = type;
        known_types[known_count++].api = api;
    }
    return api;
}

static int borrow_by_api(const exchange_api *api, PyObject *object, core_borrowed *out, core_stream *stream)
{
    if (api->borrow(object, &out->dl) != 0)
        return -1;
    if (!stream || stream->stream || stream->asked == api || out->dl.device.device_type != CORE_CUDA || !api->current_stream)
        return 1;
    void *current = NULL;
    if (api->current_stream(CORE_CUDA, out->dl.device.device_id, &current) != 0)
        return -1;
    *stream = (core_stream){current, api};
    return 1;
}

// ---- capsules ----------------------------------------------------------------------------------------------------------

// A new reference. The consumer's stream is not said: producers then make their work visible to the default stream.
static PyObject *ask_for_capsule(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = PyTuple_New(0), *names = Py_BuildValue("{s(ii)}", "max_version", VERSION_MAJOR, VERSION_MINOR);
    PyObject *capsule = method && none && names ? PyObject_Call(method, none, names) : NULL;
    if (!capsule && method && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(names);
    return capsule;
}

static int read_capsule(PyObject *capsule, core_borrowed *out)
{
    if (PyCapsule_IsValid(capsule, name_versioned)) {
        const versioned_tensor *t = PyCapsule_GetPointer(capsule, name_versioned);
        if (t->major != VERSION_MAJOR) {
            PyErr_Format(PyExc_BufferError, "a DLPack tensor of version %u.%u is not understood", t->major, t->minor);
            return -1;
        }
        out->dl = t->dl_tensor;
        out->is_read_only = t->flags & FLAG_READ_ONLY;
        return 1;
    }
    const hdsrt_managed_tensor *t = PyCapsule_GetPointer(capsule, name_unversioned);
    if (!t)
        return -1;
    out->dl = t->dl_tensor;
    return 1;
}

int core_borrow(PyObject *object, core_borrowed *out, core_stream *stream)
{
    const exchange_api *api = api_of(Py_TYPE(object));
    *out = (core_borrowed){0};
    if (api)
        return borrow_by_api(api, object, out, stream);
    if (!PyObject_HasAttrString(object, "__dlpack__"))
        return 0;
    out->capsule = ask_for_capsule(object);
    if (out->capsule && read_capsule(out->capsule, out) > 0)
        return 1;
    Py_CLEAR(out->capsule);
    return -1;
}

// A capsule that nobody has renamed gives its tensor back.
void core_release_borrowed(core_borrowed *b)
{
    Py_CLEAR(b->capsule);
}

PyObject *core_from_dlpack(PyObject *self, PyObject *args)
{
    PyObject *type, *object;
    core_borrowed b;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &type, &object))
        return NULL;
    int found = core_borrow(object, &b, NULL);
    if (found < 0)
        return NULL;
    if (!found) {
        PyErr_SetString(PyExc_TypeError, "a tensor is expected: an object with __dlpack__");
        return NULL;
    }
    PyObject *owner = b.capsule ? b.capsule : object;
    PyObject *tensor = core_tensor_view((PyTypeObject *)type, &b.dl, owner, b.is_read_only);
    core_release_borrowed(&b);
    return tensor;
}

// ---- ours for others ---------------------------------------------------------------------------------------------------

typedef struct exported {
    union {
        hdsrt_managed_tensor old;
        versioned_tensor versioned;
    } tensor;
    core_tensor *source;
} exported;

static void drop(exported *e)
{
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(e->source);
    PyGILState_Release(state);
    free(e);
}

static void delete_old(hdsrt_managed_tensor *self)
{
    drop(self->manager_ctx);
}

static void delete_versioned(versioned_tensor *self)
{
    drop(self->manager_ctx);
}

static void delete_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, name_versioned)) {
        versioned_tensor *t = PyCapsule_GetPointer(capsule, name_versioned);
        t->deleter(t);
    } else if (PyCapsule_IsValid(capsule, name_unversioned)) {
        hdsrt_managed_tensor *t = PyCapsule_GetPointer(capsule, name_unversioned);
        t->deleter(t);
    }
}

static PyObject *export_tensor(core_tensor *t, bool is_versioned)
{
    exported *e = calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    e->source = t;
    if (is_versioned)
        e->tensor.versioned = (versioned_tensor){.major = VERSION_MAJOR, .minor = VERSION_MINOR, .manager_ctx = e,
                                                 .deleter = delete_versioned, .dl_tensor = t->dl,
                                                 .flags = t->is_read_only ? FLAG_READ_ONLY : 0};
    else
        e->tensor.old = (hdsrt_managed_tensor){.dl_tensor = t->dl, .manager_ctx = e, .deleter = delete_old};
    PyObject *capsule = PyCapsule_New(&e->tensor, is_versioned ? name_versioned : name_unversioned, delete_capsule);
    if (!capsule) {
        free(e);
        return NULL;
    }
    Py_INCREF(t);
    return capsule;
}

// Work of ours on the default stream comes before the consumer's there; other streams wait for it here.
static int order_after_ours(const core_tensor *t, PyObject *stream)
{
    if (t->dl.device.device_type != CORE_CUDA || stream == Py_None)
        return 0;
    long long number = PyLong_AsLongLong(stream);
    if (number == -1 && PyErr_Occurred())
        return -1;
    if (number < 3)
        return 0;
    hdsrt_status status = hdsrt_synchronize(NULL);
    if (status)
        core_raise_runtime(status);
    return status ? -1 : 0;
}

PyObject *core_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    core_tensor *t = (core_tensor *)self;
    long major = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &version, &device, &copy))
        return NULL;
    if (!t->owner) {
        PyErr_SetString(PyExc_BufferError, "a symbolic tensor has no elements");
        return NULL;
    }
    if (version != Py_None && !PyArg_ParseTuple(version, "ll", &major, &(long){0}))
        return NULL;
    if (major < 1 && t->is_read_only) {
        PyErr_SetString(PyExc_BufferError, "the tensor is read-only, which DLPack says from version 1.0 on");
        return NULL;
    }
    if (copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "a copy is not made here: copy() makes one");
        return NULL;
    }
    int type = 0, number = 0;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &number))
        return NULL;
    if (device != Py_None && (type != t->dl.device.device_type || number != t->dl.device.device_id)) {
        PyErr_SetString(PyExc_BufferError, "the tensor is on another device");
        return NULL;
    }
    return order_after_ours(t, stream) < 0 ? NULL : export_tensor(t, major >= 1);
}

PyObject *core_tensor_dlpack_device(PyObject *self, PyObject *ignored)
{
    const core_tensor *t = (const core_tensor *)self;
    (void)ignored;
    return Py_BuildValue("ii", (int)t->dl.device.device_type, (int)t->dl.device.device_id);
}
