// Weights: whether tensors among the arguments of a compiled model are what they were when they were read.
//
// PyTorch counts the changes of each tensor in place. What is read of weights is read by functions of libtorch, since PyTorch's
// conversions to Python and to DLPack take 50 to 130 ns for each of them. Their counters are read of tensors that share these
// with the weights and are kept, as is their memory: no other weight takes its address meanwhile. What a weight points to now is
// asked of the argument itself. Who makes a Weights has tried these functions (hidet/torch/backend.py, ADR 0066).

#include <stdlib.h>

#include "core.h"

static PyTypeObject *weights_type;

// An at::Tensor is a pointer to a TensorImpl. at::TensorBase::_version, and aoti_torch_get_data_ptr of its interface for C.
typedef void *impl;
typedef int64_t version_of(const impl *tensor);
typedef int32_t data_of(const impl *tensor, void **out);

typedef struct weight {
    Py_ssize_t place;         // among the arguments
    const PyObject *object;   // that was there; only compared
    const PyTypeObject *type; // kept
    void *data;
    impl counted;             // what shares its counter; NULL: changes are not counted
    int64_t version;
} weight;

typedef struct weights_object {
    PyObject_HEAD
    size_t count;
    weight *at;
    version_of *version;
    data_of *data;
    Py_ssize_t offset;        // of the at::Tensor in objects of Python
    PyObject *kept;
} weights_object;

static void weights_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    weights_object *w = (weights_object *)self;
    for (size_t i = 0; w->at && i < w->count; i++)
        Py_XDECREF((PyObject *)(uintptr_t)w->at[i].type);
    free(w->at);
    Py_XDECREF(w->kept);
    release(self);
    Py_DECREF(type);
}

// Borrowed; NULL after failing.
static PyObject *argument_at(PyObject *args, Py_ssize_t place)
{
    return PyTuple_Check(args) ? PyTuple_GetItem(args, place) : PyList_GetItem(args, place);
}

// NULL: PyTorch has none.
static void *data_now(const weights_object *w, const PyObject *tensor)
{
    void *data = NULL;
    return w->data((const impl *)((const char *)tensor + w->offset), &data) ? NULL : data;
}

static int read_weight(weights_object *w, weight *one, PyObject *place, PyObject *args, PyObject *counted)
{
    one->place = PyLong_AsSsize_t(place);
    one->counted = PyLong_AsVoidPtr(counted);
    PyObject *object = PyErr_Occurred() ? NULL : argument_at(args, one->place);
    if (!object)
        return -1;
    one->object = object;
    one->type = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(object));
    one->data = data_now(w, object);
    one->version = one->counted ? w->version(&one->counted) : 0;
    return 0;
}

// Weights(places, args, kept, counted, (version, data, offset))
static PyObject *weights_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *places, *given, *kept, *counted;
    unsigned long long version, data;
    Py_ssize_t offset;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!OO!O!(KKn)", &PyTuple_Type, &places, &given, &PyTuple_Type, &kept, &PyTuple_Type, &counted,
                          &version, &data, &offset))
        return NULL;
    if (!version || !data || !offset || PyTuple_Size(counted) != PyTuple_Size(places)) {
        PyErr_SetString(PyExc_ValueError, "functions and as many counters as places are expected");
        return NULL;
    }
    weights_object *w = (weights_object *)PyType_GenericAlloc(type, 0);
    if (!w)
        return NULL;
    w->version = (version_of *)(uintptr_t)version;
    w->data = (data_of *)(uintptr_t)data;
    w->offset = offset;
    w->kept = Py_NewRef(kept);
    w->count = (size_t)PyTuple_Size(places);
    w->at = calloc(w->count + 1, sizeof *w->at);
    bool ok = w->at || PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < (Py_ssize_t)w->count; i++)
        ok = read_weight(w, &w->at[i], PyTuple_GetItem(places, i), given, PyTuple_GetItem(counted, i)) == 0;
    if (ok)
        return (PyObject *)w;
    Py_DECREF((PyObject *)w);
    return NULL;
}

// [value] of an attribute or of what a method gives; false after failing.
static bool has_number(PyObject *found, unsigned long long value, bool *same)
{
    unsigned long long number = found ? PyLong_AsUnsignedLongLong(found) : 0;
    Py_XDECREF(found);
    *same = number == value;
    return !PyErr_Occurred();
}

// Another object, in Python: it may have the same memory, with a counter of its own. -1: it failed.
static int is_other(const weight *one, PyObject *argument)
{
    bool same = false;
    if (!has_number(PyObject_CallMethod(argument, "data_ptr", NULL), (uintptr_t)one->data, &same))
        return -1;
    if (!same || !one->counted)
        return !same;
    return has_number(PyObject_GetAttrString(argument, "_version"), (unsigned long long)one->version, &same) ? !same : -1;
}

// 1, 0; -1: it failed.
static int has_changed(const weights_object *w, const weight *one, PyObject *args)
{
    PyObject *argument = argument_at(args, one->place);
    if (!argument)
        return -1;
    if (one->counted && w->version(&one->counted) != one->version)
        return 1;
    if (argument == one->object && Py_TYPE(argument) == one->type)
        return data_now(w, argument) != one->data;
    return is_other(one, argument);
}

static PyObject *weights_changed(PyObject *self, PyObject *args)
{
    const weights_object *w = (weights_object *)self;
    int changed = 0;
    for (size_t i = 0; i < w->count && !changed; i++)
        changed = has_changed(w, &w->at[i], args);
    return changed < 0 ? NULL : PyBool_FromLong(changed);
}

static PyMethodDef methods[] = {
    {"changed", weights_changed, METH_O, "changed(args): whether one of them is not what it was; a tuple or a list."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, weights_new},
    {Py_tp_dealloc, weights_free},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Weights(places, args, kept, counted, (version, data, offset)): tensors of PyTorch among arguments, as they are now."},
    {0, NULL},
};
static PyType_Spec spec = {"hidet._core.Weights", sizeof(weights_object), 0, Py_TPFLAGS_DEFAULT, slots};

int core_weights_init(PyObject *module)
{
    weights_type = core_add_type(module, &spec, "Weights");
    return weights_type ? 0 : -1;
}
