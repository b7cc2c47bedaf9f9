// Compiler, Program, Function and Model.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

static PyTypeObject *compiler_type, *program_type, *function_type, *model_type;

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *text_or_none(const char *text)
{
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

// ---- programs ----------------------------------------------------------------------------------------------------------

typedef struct program_object {
    PyObject_HEAD
    hds_program *program;
    hds_status status;
} program_object;

static PyObject *wrap_program(hds_program *program, hds_status status)
{
    program_object *p = (program_object *)PyType_GenericAlloc(program_type, 0);
    if (!p) {
        hds_program_release(program);
        return NULL;
    }
    p->program = program;
    p->status = status;
    return (PyObject *)p;
}

static void program_free(PyObject *self)
{
    hds_program_release(((program_object *)self)->program);
    free_object(self);
}

// A message may have a line of a source that is no UTF-8.
static PyObject *text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

static PyObject *diagnostics_of(const hds_program *program)
{
    static const char *const severities[] = {[HDS_NOTE] = "note", [HDS_WARNING] = "warning", [HDS_ERROR] = "error"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hds_program_diagnostic_count(program); i++) {
        const hds_diagnostic *d = hds_program_diagnostic(program, i);
        PyObject *one = Py_BuildValue("(ssNziiiiN)", d->code, severities[d->severity], text_of(d->message), d->file, (int)d->line,
                                      (int)d->column, (int)d->end_line, (int)d->end_column, text_of(d->rendered));
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *program_diagnostics(PyObject *self, void *closure)
{
    (void)closure;
    return diagnostics_of(((program_object *)self)->program);
}

static PyObject *program_status(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((program_object *)self)->status);
}

static PyObject *program_arch(PyObject *self, void *closure)
{
    (void)closure;
    return text_or_none(hds_program_arch(((program_object *)self)->program));
}

static PyObject *program_origin(PyObject *self, void *closure)
{
    static const char *const origins[] = {[HDS_COMPILED] = "compiled", [HDS_FROM_DISK] = "disk", [HDS_FROM_MEMORY] = "memory"};
    (void)closure;
    return PyUnicode_FromString(origins[hds_program_origin(((program_object *)self)->program)]);
}

static PyObject *program_text(PyObject *self, PyObject *number)
{
    long which = PyLong_AsLong(number);
    size_t bytes = 0;
    if (which < HDS_CUDA || which > HDS_INTERFACE) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "0 to 3 is expected");
        return NULL;
    }
    const char *text = hds_program_text(((program_object *)self)->program, (hds_text)which, &bytes);
    return text ? PyBytes_FromStringAndSize(text, (Py_ssize_t)bytes) : Py_NewRef(Py_None);
}

// ---- functions ---------------------------------------------------------------------------------------------------------

// A kernel, a host function or an operator, with its program.
typedef struct function_object {
    PyObject_HEAD
    const hds_kernel *kernel;
    PyObject *program;
} function_object;

static PyObject *new_function(PyTypeObject *type, PyObject *program, const hds_kernel *kernel)
{
    function_object *f = (function_object *)PyType_GenericAlloc(type, 0);
    if (!f)
        return NULL;
    f->kernel = kernel;
    f->program = Py_NewRef(program);
    return (PyObject *)f;
}

// Function(function): the same one, as an object of a class that derives from it.
static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *of;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &of))
        return NULL;
    if (!PyObject_TypeCheck(of, function_type)) {
        PyErr_SetString(PyExc_TypeError, "a Function is expected");
        return NULL;
    }
    const function_object *f = (function_object *)of;
    return new_function(type, f->program, f->kernel);
}

static void function_free(PyObject *self)
{
    Py_XDECREF(((function_object *)self)->program);
    free_object(self);
}

static PyObject *program_functions(PyObject *self, PyObject *ignored)
{
    const hds_program *p = ((program_object *)self)->program;
    PyObject *list = PyList_New(0);
    size_t kernels = hds_program_kernel_count(p), all = kernels + hds_program_function_count(p);
    (void)ignored;
    for (size_t i = 0; list && i < all; i++) {
        const hds_kernel *kernel = i < kernels ? hds_program_kernel_at(p, i) : hds_program_function_at(p, i - kernels);
        PyObject *f = new_function(function_type, self, kernel);
        if (!f || PyList_Append(list, f) < 0)
            Py_CLEAR(list);
        Py_XDECREF(f);
    }
    return list;
}

static PyObject *texts_of(const char *const *texts, int count)
{
    PyObject *tuple = texts ? PyTuple_New(count) : Py_NewRef(Py_None);
    for (int d = 0; texts && tuple && d < count; d++) {
        PyObject *text = PyUnicode_FromString(texts[d]);
        if (!text || PyTuple_SetItem(tuple, d, text) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

// [(name, kind, dtype, shape, strides, is_written)]
static PyObject *parameters_of(const core_signature *s)
{
    static const char *const kinds[] = {[HDS_SCALAR] = "scalar", [HDS_TENSOR] = "tensor", [HDS_POINTER] = "pointer",
                                        [HDS_SIZE] = "size"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < s->count; i++) {
        const hds_parameter *p = s->parameter(s->of, i);
        PyObject *shape = texts_of(p->kind == HDS_TENSOR ? p->shape : NULL, p->ndim);
        PyObject *strides = texts_of(p->kind == HDS_TENSOR ? p->strides : NULL, p->ndim);
        PyObject *one = shape && strides ? Py_BuildValue("(sszOOO)", p->name, kinds[p->kind], p->dtype, shape, strides,
                                                         p->is_written ? Py_True : Py_False)
                                         : NULL;
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(shape);
        Py_XDECREF(strides);
        Py_XDECREF(one);
    }
    return list;
}

static const hds_parameter *kernel_parameter(const void *of, size_t index)
{
    return hds_kernel_parameter(of, index);
}

static core_signature signature_of(const function_object *f)
{
    return (core_signature){hds_kernel_title(f->kernel), hds_kernel_parameter_count(f->kernel), kernel_parameter, f->kernel};
}

static PyObject *function_parameters(PyObject *self, void *closure)
{
    const core_signature s = signature_of((function_object *)self);
    (void)closure;
    return parameters_of(&s);
}

static PyObject *function_title(PyObject *self, void *closure)
{
    (void)closure;
    return text_or_none(hds_kernel_title(((function_object *)self)->kernel));
}

static PyObject *function_name(PyObject *self, void *closure)
{
    (void)closure;
    return text_or_none(hds_kernel_name(((function_object *)self)->kernel));
}

static PyObject *function_doc(PyObject *self, void *closure)
{
    (void)closure;
    return text_or_none(hds_kernel_doc(((function_object *)self)->kernel));
}

static PyObject *function_plan(PyObject *self, void *closure)
{
    (void)closure;
    return text_or_none(hds_function_plan(((function_object *)self)->kernel));
}

// ---- running -----------------------------------------------------------------------------------------------------------

// Instances of hidet._runtime.Diagnostic.
static PyObject *shown_diagnostics(const hds_program *findings)
{
    PyObject *fields = diagnostics_of(findings), *module = PyImport_ImportModule("hidet._runtime");
    PyObject *type = module ? PyObject_GetAttrString(module, "Diagnostic") : NULL, *list = type ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; fields && list && i < PyList_Size(fields); i++) {
        PyObject *one = PyObject_CallObject(type, PyList_GetItem(fields, i));
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    Py_XDECREF(fields);
    Py_XDECREF(module);
    Py_XDECREF(type);
    return list;
}

static PyObject *rendered_diagnostics(const hds_program *findings)
{
    PyObject *text = PyUnicode_FromString("");
    for (size_t i = 0; text && i < hds_program_diagnostic_count(findings); i++) {
        PyObject *longer = PyUnicode_FromFormat("%U\n%s", text, hds_program_diagnostic(findings, i)->rendered);
        Py_DECREF(text);
        text = longer;
    }
    return text;
}

// The exception for what the simulator found, with the diagnostics as its attribute.
static void raise_findings(const hds_program *findings)
{
    PyObject *list = shown_diagnostics(findings), *text = list ? rendered_diagnostics(findings) : NULL;
    PyObject *error = text ? PyObject_CallFunctionObjArgs(core_error.simulation, text, NULL) : NULL;
    if (error && PyObject_SetAttrString(error, "diagnostics", list) == 0)
        PyErr_SetObject(core_error.simulation, error);
    Py_XDECREF(list);
    Py_XDECREF(text);
    Py_XDECREF(error);
}

// Ctrl-C while a simulation runs or something is compiled: Python's own handler notes the signal, and the call ends.
static struct sigaction handler_of_python;
static volatile sig_atomic_t was_interrupted; // since the main thread began to watch

static void on_interrupt(int number)
{
    was_interrupted = 1;
    hds_interrupt();
    handler_of_python.sa_handler(number);
}

// Whether it is there now: on the main thread, and where Python has a handler.
static bool watch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_ONSTACK};
    if (getpid() != gettid() || sigaction(SIGINT, NULL, &handler_of_python) || (handler_of_python.sa_flags & SA_SIGINFO) ||
        handler_of_python.sa_handler == SIG_DFL || handler_of_python.sa_handler == SIG_IGN)
        return false;
    was_interrupted = 0;
    return sigaction(SIGINT, &action, NULL) == 0;
}

static void unwatch_interrupts(bool is_watched)
{
    if (is_watched)
        sigaction(SIGINT, &handler_of_python, NULL);
}

// What Python's handler raises; KeyboardInterrupt, if that is nothing.
static void raise_interrupt(void)
{
    if (PyErr_CheckSignals() == 0)
        PyErr_SetNone(PyExc_KeyboardInterrupt);
}

static PyObject *finish(hds_status status, hds_program *findings)
{
    if (status == HDS_INTERRUPTED)
        raise_interrupt();
    else if (status == HDS_ERRORS && findings)
        raise_findings(findings);
    else if (status)
        core_raise(status);
    hds_program_release(findings);
    return status ? NULL : Py_NewRef(Py_None);
}

// Tensors say where it runs: those of the host are for the simulator.
static int is_for_gpu(const core_signature *s, const core_arguments *a, bool has_code)
{
    if (a->is_on_gpu && a->is_on_host) {
        PyErr_Format(core_error.argument, "'%s': some tensors are in host memory, and others on a GPU", s->name);
        return -1;
    }
    return a->is_on_gpu || (!a->is_on_host && has_code);
}

static PyObject *run_function(const function_object *f, const core_signature *s, const core_arguments *a)
{
    hds_program *findings = NULL;
    hds_status status;
    size_t bytes = 0;
    bool has_code = hds_program_text(((program_object *)f->program)->program, HDS_CUBIN, &bytes) && bytes;
    int on_gpu = is_for_gpu(s, a, has_code);
    if (on_gpu < 0)
        return NULL;
    if (on_gpu)
        return finish(hds_launch(f->kernel, a->at, a->count, a->stream.stream), NULL);
    bool is_watched = watch_interrupts();
    Py_BEGIN_ALLOW_THREADS
    status = hds_simulate(f->kernel, a->at, a->count, &findings);
    Py_END_ALLOW_THREADS
    unwatch_interrupts(is_watched);
    return finish(status, findings);
}

static PyObject *function_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const function_object *f = (function_object *)self;
    const core_signature s = signature_of(f);
    core_arguments a;
    int status = core_read_arguments(&s, args, kwargs, &a);
    PyObject *result = status < 0 ? NULL : run_function(f, &s, &a);
    core_arguments_free(&a);
    return result;
}

static PyGetSetDef function_getters[] = {
    {"name", function_name, NULL, "The symbol.", NULL},
    {"title", function_title, NULL, "In source notation: relu[T=f16].", NULL},
    {"doc", function_doc, NULL, "The docstring, or None.", NULL},
    {"plan", function_plan, NULL, "What a host function does, as text; None: it is a kernel.", NULL},
    {"parameters", function_parameters, NULL, "[(name, kind, dtype, shape, strides, is_written)]", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot function_slots[] = {
    {Py_tp_new, function_new},
    {Py_tp_dealloc, function_free},
    {Py_tp_call, function_call},
    {Py_tp_getset, function_getters},
    {Py_tp_doc, "A kernel, a host function or an operator."},
    {0, NULL},
};
static PyType_Spec function_spec = {"hidet._core.Function", sizeof(function_object), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};

static PyGetSetDef program_getters[] = {
    {"status", program_status, NULL, "0: there are no errors.", NULL},
    {"arch", program_arch, NULL, "sm_90a", NULL},
    {"origin", program_origin, NULL, "compiled, disk or memory", NULL},
    {"diagnostics", program_diagnostics, NULL,
     "[(code, severity, message, file, line, column, end_line, end_column, rendered)]", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef program_methods[] = {
    {"functions", program_functions, METH_NOARGS, "Kernels, then host functions, then operators."},
    {"text", program_text, METH_O, "0: CUDA, 1: PTX, 2: cubin, 3: interface, as bytes; None: there is none."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot program_slots[] = {
    {Py_tp_dealloc, program_free},
    {Py_tp_getset, program_getters},
    {Py_tp_methods, program_methods},
    {Py_tp_doc, "A compiled file."},
    {0, NULL},
};
static PyType_Spec program_spec = {"hidet._core.Program", sizeof(program_object), 0, Py_TPFLAGS_DEFAULT, program_slots};

// ---- models ------------------------------------------------------------------------------------------------------------

typedef struct model_object {
    PyObject_HEAD
    hds_model *model;
    bool simulates;
} model_object;

// Model(program, graph, weights, simulate, no_graphs)
static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *program;
    hds_model_options options = HDS_MODEL_OPTIONS_INIT;
    int simulate = 0, no_graphs = 0;
    hds_status status;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "Ozz|pp", &program, &options.graph, &options.weights, &simulate, &no_graphs))
        return NULL;
    if (!PyObject_TypeCheck(program, program_type)) {
        PyErr_SetString(PyExc_TypeError, "a Program is expected");
        return NULL;
    }
    options.simulate = simulate;
    options.no_graphs = no_graphs;
    model_object *m = (model_object *)PyType_GenericAlloc(type, 0);
    if (!m)
        return NULL;
    m->simulates = simulate;
    hds_program *of = ((program_object *)program)->program;
    bool is_watched = watch_interrupts();
    Py_BEGIN_ALLOW_THREADS
    status = hds_model_open(of, &options, &m->model);
    Py_END_ALLOW_THREADS
    unwatch_interrupts(is_watched);
    if (!status)
        return (PyObject *)m;
    Py_DECREF((PyObject *)m);
    return finish(status, NULL);
}

static void model_free(PyObject *self)
{
    hds_model *m = ((model_object *)self)->model;
    if (m)
        hds_model_release(m);
    free_object(self);
}

static const hds_parameter *model_parameter(const void *of, size_t index)
{
    return hds_model_parameter((hds_model *)(uintptr_t)of, index);
}

static core_signature signature_of_model(const model_object *m)
{
    return (core_signature){"model", hds_model_parameter_count(m->model), model_parameter, m->model};
}

static PyObject *model_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const model_object *m = (model_object *)self;
    const core_signature s = signature_of_model(m);
    hds_program *findings = NULL;
    core_arguments a;
    hds_status status = HDS_OK;
    int ok = core_read_arguments(&s, args, kwargs, &a) == 0 && is_for_gpu(&s, &a, !m->simulates) >= 0;
    if (ok && !m->simulates) {
        status = hds_model_run(m->model, a.at, a.count, a.stream.stream);
    } else if (ok) {
        bool is_watched = watch_interrupts();
        Py_BEGIN_ALLOW_THREADS
        status = hds_model_simulate(m->model, a.at, a.count, &findings);
        Py_END_ALLOW_THREADS
        unwatch_interrupts(is_watched);
    }
    PyObject *result = ok ? finish(status, findings) : NULL;
    core_arguments_free(&a);
    return result;
}

static PyObject *model_parameters(PyObject *self, void *closure)
{
    const core_signature s = signature_of_model((model_object *)self);
    (void)closure;
    return parameters_of(&s);
}

static PyObject *model_bytes(PyObject *self, void *closure)
{
    hds_model *m = ((model_object *)self)->model;
    (void)closure;
    return Py_BuildValue("LL", (long long)hds_model_weight_bytes(m), (long long)hds_model_workspace_bytes(m));
}

static PyGetSetDef model_getters[] = {
    {"parameters", model_parameters, NULL, "Inputs, outputs and open sizes, as those of a function.", NULL},
    {"bytes", model_bytes, NULL, "Of weights, and of a run's temporaries.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot model_slots[] = {
    {Py_tp_new, model_new},
    {Py_tp_dealloc, model_free},
    {Py_tp_call, model_call},
    {Py_tp_getset, model_getters},
    {Py_tp_doc, "Model(program, graph, weights, simulate=False, no_graphs=False)"},
    {0, NULL},
};
static PyType_Spec model_spec = {"hidet._core.Model", sizeof(model_object), 0, Py_TPFLAGS_DEFAULT, model_slots};

// ---- compilers ---------------------------------------------------------------------------------------------------------

typedef struct compiler_object {
    PyObject_HEAD
    hds_compiler *compiler;
} compiler_object;

// Compiler(cache_dir=None, nvrtc=None, workers=0)
static PyObject *compiler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    hds_compiler_options options = HDS_COMPILER_OPTIONS_INIT;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "|zzi", &options.cache_dir, &options.nvrtc, &options.workers))
        return NULL;
    compiler_object *c = (compiler_object *)PyType_GenericAlloc(type, 0);
    hds_status status = c ? hds_compiler_new(&options, &c->compiler) : HDS_OK;
    if (!status)
        return (PyObject *)c;
    Py_DECREF((PyObject *)c);
    return core_raise(status);
}

static void compiler_free(PyObject *self)
{
    hds_compiler_release(((compiler_object *)self)->compiler);
    free_object(self);
}

// A tuple of texts as an array, which lives as long as the tuple; to be freed.
static int read_texts(PyObject *tuple, const char *const **out, size_t *count)
{
    *count = tuple == Py_None ? 0 : (size_t)PyTuple_Size(tuple);
    if (PyErr_Occurred())
        return -1;
    const char **texts = calloc(*count + 1, sizeof *texts);
    *out = texts;
    for (size_t i = 0; texts && i < *count; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), NULL);
        if (!texts[i])
            return -1;
    }
    if (!texts)
        PyErr_NoMemory();
    return texts ? 0 : -1;
}

// Who waits for hds_compile.
typedef struct watcher {
    PyObject *callable;                  // (stage, done, count); None: nothing is shown
    bool is_main;                        // Ctrl-C ends it
    int64_t shown_ms;                    // when it was called last, and with what stage
    hds_stage stage;
    PyObject *type, *value, *traceback;  // what it raised
} watcher;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// On a thread of the compiler, so that the lock of the interpreter is taken; the thread that compiles has given it up.
static bool call_watcher(watcher *w, const hds_progress *p)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *args = Py_BuildValue("(snn)", p->stage_text, (Py_ssize_t)p->done, (Py_ssize_t)p->count);
    PyObject *result = args ? PyObject_CallObject(w->callable, args) : NULL;
    bool goes_on = result != NULL;
    if (!goes_on)
        PyErr_Fetch(&w->type, &w->value, &w->traceback);
    Py_XDECREF(args);
    Py_XDECREF(result);
    PyGILState_Release(state);
    return goes_on;
}

// Not more than twenty times a second, but at both ends of a stage: threads of Python may need the lock.
static bool on_progress(void *user, const hds_progress *p)
{
    enum { PAUSE_MS = 50 };
    watcher *w = user;
    int64_t ms = now_ms();
    if (w->is_main && was_interrupted)
        return false;
    bool is_end = p->stage != w->stage || (p->count && p->done == p->count);
    if (w->callable == Py_None || (ms - w->shown_ms < PAUSE_MS && !is_end))
        return true;
    w->shown_ms = ms;
    w->stage = p->stage;
    return call_watcher(w, p);
}

static PyObject *compile(hds_compiler *compiler, const hds_source *source, hds_compile_options *options, PyObject *callable)
{
    hds_program *program = NULL;
    hds_status status;
    watcher w = {.callable = callable, .is_main = watch_interrupts()};
    options->progress = on_progress;
    options->progress_user = &w;
    Py_BEGIN_ALLOW_THREADS
    status = hds_compile(compiler, source, options, &program);
    Py_END_ALLOW_THREADS
    unwatch_interrupts(w.is_main);
    if (program)
        return wrap_program(program, status);
    if (!w.type)
        return finish(status, NULL);
    PyErr_Restore(w.type, w.value, w.traceback);
    return NULL;
}

static PyObject *compiler_compile(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "text", "arch", "gpu", "weights", "precision", "layout", "defines", "entries",
                            "include_dirs", "warnings", "rewrites", "line_info", "no_code", "progress", NULL};
    hds_source source = {0};
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    Py_ssize_t bytes = 0;
    PyObject *defines = Py_None, *entries = Py_None, *folders = Py_None, *warnings = Py_None;
    PyObject *rewrites = Py_None, *callable = Py_None, *result = NULL;
    int line_info = 0, no_code = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sz#|zzzzzOOOOOppO", names, &source.name, &source.text, &bytes, &o.arch,
                                     &o.gpu, &o.weights, &o.precision, &o.layout, &defines, &entries, &folders, &warnings,
                                     &rewrites, &line_info, &no_code, &callable))
        return NULL;
    source.text_bytes = (size_t)bytes;
    o.line_info = line_info;
    o.no_code = no_code;
    if (read_texts(defines, &o.defines, &o.define_count) == 0 && read_texts(entries, &o.entries, &o.entry_count) == 0 &&
        read_texts(folders, &o.include_dirs, &o.include_dir_count) == 0 &&
        read_texts(warnings, &o.warnings, &o.warning_count) == 0 && read_texts(rewrites, &o.rewrites, &o.rewrite_count) == 0)
        result = compile(((compiler_object *)self)->compiler, &source, &o, callable);
    free((void *)(uintptr_t)o.defines);
    free((void *)(uintptr_t)o.entries);
    free((void *)(uintptr_t)o.include_dirs);
    free((void *)(uintptr_t)o.warnings);
    free((void *)(uintptr_t)o.rewrites);
    return result;
}

static PyMethodDef compiler_methods[] = {
    {"compile", (PyCFunction)(void (*)(void))compiler_compile, METH_VARARGS | METH_KEYWORDS,
     "compile(name, text, …): a Program, also of a source with errors. progress(stage, done, count) is called while it lasts."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot compiler_slots[] = {
    {Py_tp_new, compiler_new},
    {Py_tp_dealloc, compiler_free},
    {Py_tp_methods, compiler_methods},
    {Py_tp_doc, "Compiler(cache_dir=None, nvrtc=None, workers=0)"},
    {0, NULL},
};
static PyType_Spec compiler_spec = {"hidet._core.Compiler", sizeof(compiler_object), 0, Py_TPFLAGS_DEFAULT, compiler_slots};

int core_program_init(PyObject *module)
{
    compiler_type = core_add_type(module, &compiler_spec, "Compiler");
    program_type = compiler_type ? core_add_type(module, &program_spec, "Program") : NULL;
    function_type = program_type ? core_add_type(module, &function_spec, "Function") : NULL;
    model_type = function_type ? core_add_type(module, &model_spec, "Model") : NULL;
    return model_type ? 0 : -1;
}
