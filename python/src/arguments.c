// Python's values as arguments of a launch.

#include <stdlib.h>
#include <string.h>

#include "core.h"

static void note_device(core_arguments *a, const hdsrt_tensor *t)
{
    int type = (int)t->device.device_type;
    bool is_host = type == CORE_HOST || type == 3; // pinned
    a->is_on_gpu |= !is_host;
    a->is_on_host |= is_host;
}

static int wrong(const core_signature *s, size_t index, const char *what)
{
    PyErr_Format(PyExc_TypeError, "'%s': argument '%s' %s", s->name, s->parameter(s->of, index)->name, what);
    return -1;
}

static int read_integer(PyObject *value, hds_argument *out)
{
    int overflow = 0;
    long long integer = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow > 0)
        integer = (long long)PyLong_AsUnsignedLongLong(value); // any 64 bits are a u64
    else if (overflow < 0)
        PyErr_SetString(PyExc_OverflowError, "the integer does not fit into 64 bits");
    if (PyErr_Occurred())
        return -1;
    *out = hds_int(integer);
    return 0;
}

static int check_written(const core_signature *s, size_t index, bool is_read_only)
{
    if (!is_read_only || !s->parameter(s->of, index)->is_written)
        return 0;
    PyErr_Format(core_error.argument, "'%s': '%s' is written, and the tensor is read-only", s->name,
                 s->parameter(s->of, index)->name);
    return -1;
}

// 1: it was read; 0: it is no tensor.
static int read_tensor(const core_signature *s, size_t index, PyObject *value, core_arguments *a)
{
    if (core_is_tensor(value)) {
        const core_tensor *t = (const core_tensor *)value;
        if (!t->owner)
            return wrong(s, index, "is a symbolic tensor, which has no elements");
        note_device(a, &t->dl);
        a->at[index] = hds_tensor(&t->dl);
        return check_written(s, index, t->is_read_only) < 0 ? -1 : 1;
    }
    core_borrowed *b = &a->borrowed[a->borrowed_count];
    int found = core_borrow(value, b, &a->stream);
    if (found <= 0)
        return found;
    a->borrowed_count++;
    note_device(a, &b->dl);
    a->at[index] = hds_tensor(&b->dl);
    return check_written(s, index, b->is_read_only) < 0 ? -1 : 1;
}

// Numbers of other libraries: numpy.float32(1), or what has __index__.
static int read_number(const core_signature *s, size_t index, PyObject *value, core_arguments *a)
{
    PyObject *integer = PyNumber_Index(value);
    if (integer) {
        int status = read_integer(integer, &a->at[index]);
        Py_DECREF(integer);
        return status;
    }
    PyErr_Clear();
    double real = PyFloat_AsDouble(value);
    if (real == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
        const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : "?";
        PyErr_Format(PyExc_TypeError, "'%s': argument '%s' is a %s; a number or a tensor is expected", s->name,
                     s->parameter(s->of, index)->name, text ? text : "?");
        Py_XDECREF(name);
        return -1;
    }
    a->at[index] = hds_float(real);
    return 0;
}

static int read_one(const core_signature *s, size_t index, PyObject *value, core_arguments *a)
{
    if (PyLong_Check(value))
        return read_integer(value, &a->at[index]);
    if (PyFloat_Check(value)) {
        a->at[index] = hds_float(PyFloat_AsDouble(value));
        return 0;
    }
    if (value == Py_None) {
        a->at[index] = hds_tensor(NULL);
        return 0;
    }
    int found = read_tensor(s, index, value, a);
    return found ? (found < 0 ? -1 : 0) : read_number(s, index, value, a);
}

// ---- by position and by name -------------------------------------------------------------------------------------------

static int make_room(core_arguments *a, size_t count)
{
    a->at = a->few;
    a->borrowed = a->few_borrowed;
    a->count = count;
    if (count <= CORE_FEW)
        return 0;
    a->at = calloc(count, sizeof *a->at);
    a->borrowed = calloc(count, sizeof *a->borrowed);
    if (a->at && a->borrowed)
        return 0;
    PyErr_NoMemory();
    return -1;
}

// A name that is none of the parameters that are not given by position.
static int refuse_names(const core_signature *s, size_t given, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(kwargs, &at, &key, &value)) {
        bool is_known = false;
        for (size_t i = given; i < s->count; i++)
            is_known |= PyUnicode_CompareWithASCIIString(key, s->parameter(s->of, i)->name) == 0;
        if (is_known)
            continue;
        PyErr_Format(PyExc_TypeError, "'%s': argument '%U' is unknown, or given twice", s->name, key);
        return -1;
    }
    return 0;
}

// Sizes may be left out at the end.
static int read_names(const core_signature *s, size_t given, PyObject *kwargs, core_arguments *a)
{
    Py_ssize_t used = 0;
    if (refuse_names(s, given, kwargs) < 0)
        return -1;
    for (a->count = given; a->count < s->count && used < PyDict_Size(kwargs); a->count++, used++) {
        PyObject *value = PyDict_GetItemString(kwargs, s->parameter(s->of, a->count)->name);
        if (!value)
            return wrong(s, a->count, "is missing");
        if (read_one(s, a->count, value, a) < 0)
            return -1;
    }
    return 0;
}

int core_read_arguments(const core_signature *s, PyObject *args, PyObject *kwargs, core_arguments *a)
{
    size_t given = (size_t)PyTuple_Size(args);
    a->borrowed_count = 0;
    a->stream = (core_stream){0};
    a->is_on_gpu = a->is_on_host = false;
    if (make_room(a, s->count > given ? s->count : given) < 0)
        return -1;
    if (given > s->count) {
        PyErr_Format(PyExc_TypeError, "'%s' takes %zu arguments, and %zu are given", s->name, s->count, given);
        return -1;
    }
    for (size_t i = 0; i < given; i++)
        if (read_one(s, i, PyTuple_GetItem(args, (Py_ssize_t)i), a) < 0)
            return -1;
    a->count = given;
    return kwargs && PyDict_Size(kwargs) ? read_names(s, given, kwargs, a) : 0;
}

void core_arguments_free(core_arguments *a)
{
    for (size_t i = 0; i < a->borrowed_count; i++)
        core_release_borrowed(&a->borrowed[i]);
    if (a->at != a->few)
        free(a->at);
    if (a->borrowed != a->few_borrowed)
        free(a->borrowed);
}
