// hidet._core: libhds for Python, by the stable ABI of Python 3.10. Docs: docs/python.md.
//
//     module.c     the module, its exceptions
//     tensor.c     Tensor and Storage: memory of the host or of a GPU, with extents
//     dlpack.c     tensors of other libraries, and ours for them
//     arguments.c  Python's values as arguments of a launch
//     program.c    Compiler, Program, Function, Model
//     weights.c    Weights: whether tensors of PyTorch are what they were
//
// Functions that return a PyObject * or an int < 0 set an exception when they fail.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <stdbool.h>

#include <hds/model.h>

enum { CORE_MOST_AXES = HDSRT_MOST_AXES, CORE_HOST = 1, CORE_CUDA = 2 };

// ---- exceptions (module.c) ---------------------------------------------------------------------------------------------

// hidet.Error and what derives from it; borrowed.
typedef struct core_errors {
    PyObject *error, *argument, *device, *toolchain, *compilation, *simulation;
} core_errors;
extern core_errors core_error;

// The exception for [status], with the text of hds_last_error(). NULL.
PyObject *core_raise(hds_status status);
PyObject *core_raise_runtime(hdsrt_status status);
// A new type as an attribute of [module]; NULL after failing.
PyTypeObject *core_add_type(PyObject *module, PyType_Spec *spec, const char *name);

// ---- tensors (tensor.c) ------------------------------------------------------------------------------------------------

typedef struct core_tensor {
    PyObject_HEAD
    hdsrt_tensor dl;                       // data is NULL where there is no memory
    int64_t extents[2 * CORE_MOST_AXES];   // shape and strides
    PyObject *owner;                       // keeps the memory: a Storage, or an object of another library; NULL: symbolic
    PyObject *shape, *key;                 // made when they are asked for first
    bool is_read_only;
} core_tensor;

extern PyTypeObject *core_tensor_type;
bool core_is_tensor(PyObject *object);
// A tensor of class [type] (Tensor or derived) that looks at what [like] describes and keeps [owner].
PyObject *core_tensor_view(PyTypeObject *type, const hdsrt_tensor *like, PyObject *owner, bool is_read_only);
int core_tensor_init(PyObject *module);

// ---- DLPack (dlpack.c) -------------------------------------------------------------------------------------------------

typedef struct core_borrowed {
    hdsrt_tensor dl;
    PyObject *capsule;     // to be released; NULL: borrowed from the argument itself
    bool is_read_only;
} core_borrowed;

// The current stream of the library that tensors on a GPU come from, which is asked once for all of its tensors.
typedef struct core_stream {
    hdsrt_stream stream; // NULL: the default stream, or no library was asked
    const void *asked;   // the library's C table
} core_stream;

// What [object] describes by DLPack, as long as it lives and the result is not released. 1: done, 0: it is no tensor.
// [stream] may be NULL. The first library that has a stream of its own decides.
int core_borrow(PyObject *object, core_borrowed *out, core_stream *stream);
void core_release_borrowed(core_borrowed *b);
PyObject *core_from_dlpack(PyObject *self, PyObject *args);
// Methods of Tensor.
PyObject *core_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_tensor_dlpack_device(PyObject *self, PyObject *ignored);

// ---- arguments (arguments.c) -------------------------------------------------------------------------------------------

enum { CORE_FEW = 32 };

// Zero at first; core_arguments_free at the end. Arguments of a launch, with what they point to.
typedef struct core_arguments {
    size_t count;
    hds_argument *at, few[CORE_FEW];
    core_borrowed *borrowed, few_borrowed[CORE_FEW];
    size_t borrowed_count;
    core_stream stream;
    bool is_on_gpu, is_on_host;
} core_arguments;

typedef struct core_signature {
    const char *name;
    size_t count;
    const hds_parameter *(*parameter)(const void *of, size_t index);
    const void *of;
} core_signature;

// By position and by name, in the order of the parameters.
int core_read_arguments(const core_signature *signature, PyObject *args, PyObject *kwargs, core_arguments *out);
void core_arguments_free(core_arguments *a);

int core_program_init(PyObject *module);
int core_weights_init(PyObject *module);
