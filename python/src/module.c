// The module and its exceptions.

#include "core.h"

core_errors core_error;

PyObject *core_raise(hds_status status)
{
    const char *text = hds_last_error();
    PyObject *kind = status == HDS_INVALID_ARGUMENT ? core_error.argument
                     : status == HDS_NO_TOOLCHAIN   ? core_error.toolchain
                     : status == HDS_DEVICE         ? core_error.device
                     : status == HDS_NO_MEMORY      ? PyExc_MemoryError
                                                    : core_error.error;
    PyErr_SetString(kind, *text ? text : hds_status_text(status));
    return NULL;
}

PyObject *core_raise_runtime(hdsrt_status status)
{
    PyObject *kind = status == HDSRT_INVALID_ARGUMENT || status == HDSRT_ASSERTION ? core_error.argument
                     : status == HDSRT_OUT_OF_MEMORY                               ? PyExc_MemoryError
                                                                                   : core_error.device;
    PyErr_SetString(kind, hdsrt_last_error());
    return NULL;
}

PyTypeObject *core_add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);
    if (!type || PyModule_AddObjectRef(module, name, type) < 0)
        return NULL;
    return (PyTypeObject *)type;
}

// ---- exceptions --------------------------------------------------------------------------------------------------------

static PyObject *add_error(PyObject *module, const char *name, const char *doc, PyObject *base, PyObject *also)
{
    PyObject *bases = also ? PyTuple_Pack(2, base, also) : PyTuple_Pack(1, base);
    PyObject *full = bases ? PyUnicode_FromFormat("hidet.%s", name) : NULL;
    const char *text = full ? PyUnicode_AsUTF8AndSize(full, NULL) : NULL;
    PyObject *error = text ? PyErr_NewExceptionWithDoc(text, doc, bases, NULL) : NULL;
    Py_XDECREF(bases);
    Py_XDECREF(full);
    if (!error || PyModule_AddObjectRef(module, name, error) < 0)
        return NULL;
    return error;
}

static int add_errors(PyObject *module)
{
    core_errors *e = &core_error;
    e->error = add_error(module, "Error", "What hidet raises.", PyExc_Exception, NULL);
    if (!e->error)
        return -1;
    e->argument = add_error(module, "ArgumentError", "An argument of a launch violates a precondition.", e->error,
                            PyExc_ValueError);
    e->device = add_error(module, "DeviceError", "There is no GPU, or its driver failed.", e->error, PyExc_RuntimeError);
    e->toolchain = add_error(module, "ToolchainError", "NVRTC is missing.", e->error, PyExc_RuntimeError);
    e->compilation = add_error(module, "CompilationError", "The source has errors: see diagnostics.", e->error, NULL);
    e->simulation = add_error(module, "SimulationError", "The simulator found errors in a kernel: see diagnostics.",
                              e->error, NULL);
    return e->argument && e->device && e->toolchain && e->compilation && e->simulation ? 0 : -1;
}

// ---- functions ---------------------------------------------------------------------------------------------------------

static PyObject *device_count(PyObject *self, PyObject *ignored)
{
    int count = 0;
    (void)self, (void)ignored;
    if (hdsrt_device_count(&count))
        count = 0;
    return PyLong_FromLong(count);
}

static PyObject *capability(PyObject *self, PyObject *ignored)
{
    int major = 0, minor = 0;
    (void)self, (void)ignored;
    hdsrt_status status = hdsrt_capability(&major, &minor);
    return status ? core_raise_runtime(status) : Py_BuildValue("ii", major, minor);
}

static PyObject *use_device(PyObject *self, PyObject *number)
{
    long device = PyLong_AsLong(number);
    (void)self;
    if (device == -1 && PyErr_Occurred())
        return NULL;
    hdsrt_status status = hdsrt_use_device((int)device);
    return status ? core_raise_runtime(status) : Py_NewRef(Py_None);
}

static PyObject *current_device(PyObject *self, PyObject *ignored)
{
    int device = 0;
    (void)self, (void)ignored;
    hdsrt_status status = hdsrt_current_device(&device);
    return status ? core_raise_runtime(status) : PyLong_FromLong(device);
}

static PyObject *synchronize(PyObject *self, PyObject *stream)
{
    void *address = PyLong_AsVoidPtr(stream);
    hdsrt_status status;
    (void)self;
    if (!address && PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hdsrt_synchronize(address);
    Py_END_ALLOW_THREADS
    return status ? core_raise_runtime(status) : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"device_count", device_count, METH_NOARGS, "The number of GPUs; 0 without a driver."},
    {"capability", capability, METH_NOARGS, "(major, minor) of the current GPU."},
    {"use_device", use_device, METH_O, "Makes a GPU the thread's current one."},
    {"current_device", current_device, METH_NOARGS, "The number of the thread's current GPU."},
    {"synchronize", synchronize, METH_O, "Waits for the work of a stream, an address."},
    {"from_dlpack", core_from_dlpack, METH_VARARGS, "from_dlpack(type, object): a tensor that shares the object's memory."},
    {NULL, NULL, 0, NULL},
};

// Exceptions and types are the process's: of one interpreter, and of one module, which a second import gets again.
static PyObject *names_of_first;

static int is_main_interpreter(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
        return 1;
    PyErr_SetString(PyExc_ImportError, "hidet is for the main interpreter of a process: other interpreters cannot import it");
    return 0;
}

static int fill(PyObject *module)
{
    if (!is_main_interpreter())
        return -1;
    if (names_of_first)
        return PyDict_Update(PyModule_GetDict(module), names_of_first);
    if (add_errors(module) < 0 || core_tensor_init(module) < 0 || core_program_init(module) < 0 ||
        core_weights_init(module) < 0 || PyModule_AddStringConstant(module, "version", hds_version()) < 0)
        return -1;
    names_of_first = PyDict_Copy(PyModule_GetDict(module));
    return names_of_first ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
    {0, NULL},
};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "hidet._core", "libhds for Python.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
