// Tensor and Storage: memory of the host or of a GPU, with extents.

#include <stdlib.h>
#include <string.h>

#include "core.h"

PyTypeObject *core_tensor_type;
static PyTypeObject *storage_type;

bool core_is_tensor(PyObject *object)
{
    return PyObject_TypeCheck(object, core_tensor_type);
}

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

// ---- memory ------------------------------------------------------------------------------------------------------------

typedef struct storage {
    PyObject_HEAD
    void *data;
    int64_t bytes;
    int device_type, device;
} storage;

static void storage_free(PyObject *self)
{
    storage *s = (storage *)self;
    if (s->device_type == CORE_HOST)
        free(s->data);
    else if (s->data)
        hdsrt_release(s->data, NULL);
    free_object(self);
}

static int allocate(storage *s)
{
    enum { ALIGNMENT = 256 };
    size_t bytes = s->bytes ? ((size_t)s->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    if (s->device_type == CORE_HOST) {
        s->data = aligned_alloc(ALIGNMENT, bytes);
        if (!s->data)
            PyErr_NoMemory();
        return s->data ? 0 : -1;
    }
    hdsrt_status status = hdsrt_allocate(&s->data, s->bytes, NULL);
    if (status)
        core_raise_runtime(status);
    return status ? -1 : 0;
}

static PyObject *new_storage(int64_t bytes, int device_type, int device)
{
    PyObject *self = PyType_GenericAlloc(storage_type, 0);
    storage *s = (storage *)self;
    if (!self)
        return NULL;
    s->bytes = bytes;
    s->device_type = device_type;
    s->device = device;
    if (allocate(s) == 0)
        return self;
    Py_DECREF(self);
    return NULL;
}

static PyObject *storage_repr(PyObject *self)
{
    const storage *s = (const storage *)self;
    return PyUnicode_FromFormat("Storage(%lld bytes at %p, %s)", (long long)s->bytes, s->data,
                                s->device_type == CORE_HOST ? "host" : "GPU");
}

static PyType_Slot storage_slots[] = {
    {Py_tp_dealloc, storage_free},
    {Py_tp_repr, storage_repr},
    {Py_tp_doc, "Memory that tensors share."},
    {0, NULL},
};
static PyType_Spec storage_spec = {"hidet._core.Storage", sizeof(storage), 0, Py_TPFLAGS_DEFAULT, storage_slots};

// ---- tensors -----------------------------------------------------------------------------------------------------------

static void tensor_free(PyObject *self)
{
    core_tensor *t = (core_tensor *)self;
    Py_XDECREF(t->owner);
    Py_XDECREF(t->shape);
    Py_XDECREF(t->key);
    free_object(self);
}

static void set_row_major(core_tensor *t)
{
    int64_t step = 1;
    for (int d = t->dl.ndim - 1; d >= 0; d--) {
        t->dl.strides[d] = step;
        step *= t->dl.shape[d] > 0 ? t->dl.shape[d] : 1;
    }
}

// Extents and strides lie in the object.
static core_tensor *new_tensor(PyTypeObject *type, const hdsrt_tensor *like)
{
    if (like->ndim < 0 || like->ndim > CORE_MOST_AXES) {
        PyErr_Format(PyExc_ValueError, "a tensor has at most %d axes, and %d are given", CORE_MOST_AXES, (int)like->ndim);
        return NULL;
    }
    core_tensor *t = (core_tensor *)PyType_GenericAlloc(type, 0);
    if (!t)
        return NULL;
    t->dl = *like;
    t->dl.shape = t->extents;
    t->dl.strides = t->extents + CORE_MOST_AXES;
    size_t bytes = (size_t)like->ndim * sizeof *like->shape;
    if (bytes)
        memcpy(t->dl.shape, like->shape, bytes);
    if (bytes && like->strides)
        memcpy(t->dl.strides, like->strides, bytes);
    if (!like->strides)
        set_row_major(t);
    return t;
}

PyObject *core_tensor_view(PyTypeObject *type, const hdsrt_tensor *like, PyObject *owner, bool is_read_only)
{
    if (!PyType_IsSubtype(type, core_tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "a class derived from _core.Tensor is expected");
        return NULL;
    }
    core_tensor *t = new_tensor(type, like);
    if (!t)
        return NULL;
    t->owner = Py_XNewRef(owner);
    t->is_read_only = is_read_only;
    return (PyObject *)t;
}

static int read_extents(PyObject *tuple, int64_t *out, int *ndim)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) > CORE_MOST_AXES) {
        PyErr_SetString(PyExc_TypeError, "extents are a tuple of at most 16 integers");
        return -1;
    }
    *ndim = (int)PyTuple_Size(tuple);
    for (int d = 0; d < *ndim; d++) {
        out[d] = PyLong_AsLongLong(PyTuple_GetItem(tuple, d));
        if (out[d] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

// The bytes of a row-major tensor; -1 after failing.
static int64_t bytes_of(const hdsrt_tensor *t)
{
    int64_t bits = t->dtype.bits;
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] < 0 || __builtin_mul_overflow(bits, t->shape[d], &bits)) {
            PyErr_SetString(PyExc_ValueError, "a negative extent, or more elements than there are addresses");
            return -1;
        }
    }
    return bits / 8 + (bits % 8 != 0);
}

// Tensor(shape, code, bits, device_type, device, symbolic=False)
static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *shape;
    int64_t extents[CORE_MOST_AXES];
    int code, bits, device_type, device, is_symbolic = 0, ndim;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "Oiiii|p", &shape, &code, &bits, &device_type, &device, &is_symbolic) ||
        read_extents(shape, extents, &ndim) < 0)
        return NULL;
    const hdsrt_tensor like = {.device = {device_type, device}, .ndim = ndim,
                               .dtype = {(uint8_t)code, (uint8_t)bits, 1}, .shape = extents};
    int64_t bytes = bytes_of(&like);
    core_tensor *t = bytes < 0 ? NULL : new_tensor(type, &like);
    if (!t || is_symbolic)
        return (PyObject *)t;
    t->owner = new_storage(bytes, device_type, device);
    if (!t->owner) {
        Py_DECREF((PyObject *)t);
        return NULL;
    }
    t->dl.data = ((storage *)t->owner)->data;
    return (PyObject *)t;
}

// view(shape, strides, first, code, bits): elements of the same memory; [first] and strides in elements.
static PyObject *tensor_view(PyObject *self, PyObject *args)
{
    const core_tensor *t = (const core_tensor *)self;
    PyObject *shape, *strides;
    long long first;
    int code, bits, count;
    int64_t extents[2][CORE_MOST_AXES];
    hdsrt_tensor like = t->dl;
    if (!PyArg_ParseTuple(args, "OOLii", &shape, &strides, &first, &code, &bits) ||
        read_extents(shape, extents[0], &like.ndim) < 0 || read_extents(strides, extents[1], &count) < 0)
        return NULL;
    if (count != like.ndim) {
        PyErr_SetString(PyExc_ValueError, "as many strides as extents are expected");
        return NULL;
    }
    like.shape = extents[0];
    like.strides = extents[1];
    like.dtype.code = (uint8_t)code;
    like.dtype.bits = (uint8_t)bits;
    like.byte_offset += (uint64_t)(first * (bits / 8));
    return core_tensor_view(Py_TYPE(self), &like, t->owner, t->is_read_only);
}

// ---- what is asked of a tensor -----------------------------------------------------------------------------------------

static PyObject *tuple_of(const int64_t *extents, int ndim)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int d = 0; tuple && d < ndim; d++) {
        PyObject *extent = PyLong_FromLongLong(extents[d]);
        if (!extent || PyTuple_SetItem(tuple, d, extent) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    core_tensor *t = (core_tensor *)self;
    (void)closure;
    if (!t->shape)
        t->shape = tuple_of(t->dl.shape, t->dl.ndim);
    return Py_XNewRef(t->shape);
}

static PyObject *get_strides(PyObject *self, void *closure)
{
    const core_tensor *t = (const core_tensor *)self;
    (void)closure;
    return tuple_of(t->dl.strides, t->dl.ndim);
}

static bool is_contiguous(const core_tensor *t)
{
    int64_t step = 1;
    for (int d = 0; d < t->dl.ndim; d++)
        if (t->dl.shape[d] == 0)
            return true;
    for (int d = t->dl.ndim - 1; d >= 0; d--) {
        if (t->dl.shape[d] != 1 && t->dl.strides[d] != step)
            return false;
        step *= t->dl.shape[d];
    }
    return true;
}

static bool is_plain(const core_tensor *t)
{
    return is_contiguous(t) && ((uintptr_t)t->dl.data + t->dl.byte_offset) % 16 == 0;
}

// Equal for tensors that one program serves: element type, device, extents, whether elements lie row by row at an address that
// kernels take, and whether there are any.
static PyObject *get_key(PyObject *self, void *closure)
{
    core_tensor *t = (core_tensor *)self;
    (void)closure;
    if (!t->key) {
        int64_t words[2 + CORE_MOST_AXES] = {t->dl.dtype.code | t->dl.dtype.bits << 8 | t->dl.device.device_type << 16,
                                             t->dl.device.device_id * 4 + is_plain(t) + 2 * !t->owner};
        memcpy(words + 2, t->dl.shape, (size_t)t->dl.ndim * sizeof *words);
        t->key = PyBytes_FromStringAndSize((const char *)words, (Py_ssize_t)((2 + (size_t)t->dl.ndim) * sizeof *words));
    }
    return Py_XNewRef(t->key);
}

static PyObject *get_type(PyObject *self, void *closure)
{
    const core_tensor *t = (const core_tensor *)self;
    (void)closure;
    return PyLong_FromLong(t->dl.dtype.code | t->dl.dtype.bits << 8);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    const core_tensor *t = (const core_tensor *)self;
    (void)closure;
    return Py_BuildValue("ii", (int)t->dl.device.device_type, (int)t->dl.device.device_id);
}

static PyObject *get_data(PyObject *self, void *closure)
{
    const core_tensor *t = (const core_tensor *)self;
    (void)closure;
    return PyLong_FromVoidPtr((char *)t->dl.data + t->dl.byte_offset);
}

static PyObject *get_owner(PyObject *self, void *closure)
{
    const core_tensor *t = (const core_tensor *)self;
    (void)closure;
    return Py_NewRef(t->owner ? t->owner : Py_None);
}

static PyObject *get_contiguous(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(is_contiguous((const core_tensor *)self));
}

static PyObject *get_plain(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(is_plain((const core_tensor *)self));
}

// copy_bytes(other): between any two memories, of as many bytes; both contiguous.
static PyObject *copy_bytes(PyObject *self, PyObject *other)
{
    const core_tensor *to = (const core_tensor *)self, *from = (const core_tensor *)other;
    if (!core_is_tensor(other) || !to->owner || !from->owner || !is_contiguous(to) || !is_contiguous(from)) {
        PyErr_SetString(PyExc_ValueError, "two contiguous tensors with memory are expected");
        return NULL;
    }
    int64_t bytes = bytes_of(&to->dl), available = bytes_of(&from->dl);
    if (bytes < 0 || available != bytes) {
        PyErr_SetString(PyExc_ValueError, "tensors of as many bytes are expected");
        return NULL;
    }
    char *target = (char *)to->dl.data + to->dl.byte_offset;
    const char *source = (const char *)from->dl.data + from->dl.byte_offset;
    if (to->dl.device.device_type == CORE_HOST && from->dl.device.device_type == CORE_HOST) {
        memmove(target, source, (size_t)bytes);
        return Py_NewRef(Py_None);
    }
    hdsrt_status status = bytes ? hdsrt_copy(target, source, bytes, NULL) : HDSRT_OK;
    if (!status && to->dl.device.device_type == CORE_HOST)
        status = hdsrt_synchronize(NULL);
    return status ? core_raise_runtime(status) : Py_NewRef(Py_None);
}

// Host memory that lies row by row; NULL after failing.
static char *host_bytes(const core_tensor *t, int64_t *bytes)
{
    *bytes = bytes_of(&t->dl);
    if (*bytes < 0)
        return NULL;
    if (t->owner && t->dl.device.device_type == CORE_HOST && is_contiguous(t))
        return (char *)t->dl.data + t->dl.byte_offset;
    PyErr_SetString(PyExc_ValueError, "a contiguous tensor in host memory is expected");
    return NULL;
}

static PyObject *get_bytes(PyObject *self, PyObject *ignored)
{
    int64_t bytes;
    const char *at = host_bytes((const core_tensor *)self, &bytes);
    (void)ignored;
    return at ? PyBytes_FromStringAndSize(at, (Py_ssize_t)bytes) : NULL;
}

static PyObject *set_bytes(PyObject *self, PyObject *value)
{
    int64_t bytes;
    char *at = host_bytes((const core_tensor *)self, &bytes), *from;
    Py_ssize_t count;
    if (!at || PyBytes_AsStringAndSize(value, &from, &count) < 0)
        return NULL;
    if (count != bytes) {
        PyErr_Format(PyExc_ValueError, "%lld bytes are expected, and %zd are given", (long long)bytes, count);
        return NULL;
    }
    memcpy(at, from, (size_t)count);
    return Py_NewRef(Py_None);
}

// Elements of host tensors with any strides; [to] lies row by row.
static void gather(char *to, const char *from, const hdsrt_tensor *t)
{
    int64_t index[CORE_MOST_AXES] = {0}, count = 1;
    size_t bytes = t->dtype.bits / 8u;
    for (int d = 0; d < t->ndim; d++)
        count *= t->shape[d];
    for (int64_t i = 0; i < count; i++, to += bytes) {
        int64_t at = 0;
        for (int d = 0; d < t->ndim; d++)
            at += index[d] * t->strides[d];
        memcpy(to, from + at * (int64_t)bytes, bytes);
        for (int d = t->ndim - 1; d >= 0 && ++index[d] == t->shape[d]; d--)
            index[d] = 0;
    }
}

// A copy that lies row by row, of a tensor in host memory.
static PyObject *gathered(PyObject *self, PyObject *ignored)
{
    const core_tensor *t = (const core_tensor *)self;
    const hdsrt_tensor like = {.device = t->dl.device, .ndim = t->dl.ndim, .dtype = t->dl.dtype, .shape = t->dl.shape};
    (void)ignored;
    if (!t->owner || t->dl.device.device_type != CORE_HOST || t->dl.dtype.bits % 8) {
        PyErr_SetString(PyExc_ValueError, "a tensor in host memory with elements of whole bytes is expected");
        return NULL;
    }
    int64_t bytes = bytes_of(&like);
    core_tensor *copy = bytes < 0 ? NULL : new_tensor(Py_TYPE(self), &like);
    if (!copy)
        return NULL;
    copy->owner = new_storage(bytes, CORE_HOST, 0);
    if (!copy->owner) {
        Py_DECREF((PyObject *)copy);
        return NULL;
    }
    copy->dl.data = ((storage *)copy->owner)->data;
    copy->dl.byte_offset = 0;
    gather(copy->dl.data, (const char *)t->dl.data + t->dl.byte_offset, &t->dl);
    return (PyObject *)copy;
}

static PyGetSetDef getters[] = {
    {"shape", get_shape, NULL, "The extents, a tuple.", NULL},
    {"_strides", get_strides, NULL, "In elements.", NULL},
    {"_key", get_key, NULL, "Equal for tensors that one program serves.", NULL},
    {"_type", get_type, NULL, "DLPack's code and bits of the elements.", NULL},
    {"_device", get_device, NULL, "DLPack's type and number of the device.", NULL},
    {"_data", get_data, NULL, "The address of the first element.", NULL},
    {"storage", get_owner, NULL, "What keeps the memory; None: the tensor is symbolic.", NULL},
    {"_is_contiguous", get_contiguous, NULL, "Whether elements lie row by row, without gaps.", NULL},
    {"_is_plain", get_plain, NULL, "Whether it is contiguous, at a multiple of 16 bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))core_tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A capsule that shares the memory."},
    {"__dlpack_device__", core_tensor_dlpack_device, METH_NOARGS, "(type, number) of the device."},
    {"_view", tensor_view, METH_VARARGS, "_view(shape, strides, first, code, bits): elements of the same memory."},
    {"_bytes", get_bytes, METH_NOARGS, "The bytes of a contiguous tensor in host memory."},
    {"_set_bytes", set_bytes, METH_O, "Writes all bytes of a contiguous tensor in host memory."},
    {"_gathered", gathered, METH_NOARGS, "A copy that lies row by row, of a tensor in host memory."},
    {"_copy_bytes", copy_bytes, METH_O, "Copies the bytes of another tensor."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_new, tensor_new},
    {Py_tp_dealloc, tensor_free},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Tensor(shape, code, bits, device_type, device, symbolic=False)"},
    {0, NULL},
};
static PyType_Spec tensor_spec = {"hidet._core.Tensor", sizeof(core_tensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                  tensor_slots};

int core_tensor_init(PyObject *module)
{
    core_tensor_type = core_add_type(module, &tensor_spec, "Tensor");
    storage_type = core_tensor_type ? core_add_type(module, &storage_spec, "Storage") : NULL;
    return storage_type ? 0 : -1;
}
