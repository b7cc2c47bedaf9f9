// Programs are handles of cores, so that each call can say where its result came from.

#include <stdlib.h>
#include <string.h>

#include "api/api_priv.h"

struct hds_program {
    atomic_int references;
    hds_origin origin;
    api_core *core;
};

hds_program *api_program_of(api_core *core, hds_origin origin)
{
    hds_program *program = malloc(sizeof *program);
    if (!program) {
        api_core_release(core);
        api_no_memory();
        return NULL;
    }
    atomic_init(&program->references, 1);
    program->origin = origin;
    program->core = core;
    return program;
}

void hds_program_retain(hds_program *program)
{
    if (program)
        atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
}

void hds_program_release(hds_program *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1)
        return;
    api_core_release(program->core);
    free(program);
}

size_t hds_program_diagnostic_count(const hds_program *program)
{
    return program ? program->core->diagnostic_count : 0;
}

const hds_diagnostic *hds_program_diagnostic(const hds_program *program, size_t index)
{
    return index < hds_program_diagnostic_count(program) ? &program->core->diagnostics[index] : NULL;
}

const void *hds_program_text(const hds_program *program, hds_text which, size_t *bytes)
{
    bool is_text = program && (int)which >= HDS_CUDA && which <= HDS_INTERFACE;
    str text = is_text ? program->core->texts[which] : (str){0};
    if (bytes)
        *bytes = text.len;
    return text.at;
}

const char *hds_program_arch(const hds_program *program)
{
    return program && program->core->request.arch ? program->core->request.arch->name : NULL;
}

hds_origin hds_program_origin(const hds_program *program)
{
    return program ? program->origin : HDS_COMPILED;
}

// ---- kernels ---------------------------------------------------------------------------------------------------

size_t hds_program_kernel_count(const hds_program *program)
{
    return program ? (size_t)program->core->jit.count : 0;
}

const hds_kernel *hds_program_kernel_at(const hds_program *program, size_t index)
{
    return index < hds_program_kernel_count(program) ? &program->core->kernels[index] : NULL;
}

// By symbol, else by title.
static const hds_kernel *find(const hds_kernel *list, size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++) {
        if (strcmp(list[i].jit->launch.symbol, name) == 0)
            return &list[i];
    }
    for (size_t i = 0; name && i < count; i++) {
        if (strcmp(list[i].jit->title, name) == 0)
            return &list[i];
    }
    return NULL;
}

const hds_kernel *hds_program_kernel(const hds_program *program, const char *name)
{
    return program ? find(program->core->kernels, hds_program_kernel_count(program), name) : NULL;
}

size_t hds_program_function_count(const hds_program *program)
{
    return program ? (size_t)(program->core->jit.function_count + program->core->jit.operator_count) : 0;
}

const hds_kernel *hds_program_function_at(const hds_program *program, size_t index)
{
    return index < hds_program_function_count(program) ? &program->core->functions[index] : NULL;
}

const hds_kernel *hds_program_function(const hds_program *program, const char *name)
{
    return program ? find(program->core->functions, hds_program_function_count(program), name) : NULL;
}

const char *hds_function_plan(const hds_kernel *function)
{
    return function ? function->plan : NULL;
}

const char *hds_kernel_name(const hds_kernel *kernel)
{
    return kernel ? kernel->jit->launch.symbol : NULL;
}

const char *hds_kernel_title(const hds_kernel *kernel)
{
    return kernel ? kernel->jit->title : NULL;
}

const char *hds_kernel_doc(const hds_kernel *kernel)
{
    return kernel ? kernel->jit->doc : NULL;
}

size_t hds_kernel_parameter_count(const hds_kernel *kernel)
{
    return kernel ? (size_t)kernel->jit->count : 0;
}

const hds_parameter *hds_kernel_parameter(const hds_kernel *kernel, size_t index)
{
    return index < hds_kernel_parameter_count(kernel) ? &kernel->jit->parameters[index].shown : NULL;
}

// ---- launching -------------------------------------------------------------------------------------------------

static hds_status no_pointer(const char *function, const char *what)
{
    return api_fail(HDS_INVALID_ARGUMENT, "%s: %s is a null pointer", function, what);
}

hds_status api_no_code(const hds_kernel *kernel)
{
    bool was_asked = kernel->core->request.options.emit != PL_CUBIN;
    return api_fail(HDS_NO_TOOLCHAIN, "'%s': there is no machine code, %s", kernel->jit->launch.name,
                    was_asked ? "since options->no_code was set" : "since NVRTC was missing");
}

hds_status hds_launch(const hds_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_stream stream)
{
    if (!kernel)
        return no_pointer("hds_launch", "kernel");
    if (!kernel->core->jit.library.image)
        return api_no_code(kernel);
    hdsrt_status status = kernel->operator   ? jit_call_operator(kernel->operator, arguments, count, stream)
                          : kernel->function ? jit_call(kernel->function, arguments, count, stream)
                                             : jit_launch(kernel->jit, arguments, count, stream);
    return status ? api_fail_runtime(status) : HDS_OK;
}

hds_status hds_kernel_extents(const hds_kernel *kernel, const hds_argument *arguments, size_t count,
                              hdsrt_extents *extents)
{
    if (!kernel || !extents)
        return no_pointer("hds_kernel_extents", kernel ? "extents" : "kernel");
    if (kernel->function || kernel->operator)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' is a host function: each kernel that it launches has extents of its own",
                        kernel->jit->launch.name);
    hdsrt_status status = jit_extents(kernel->jit, arguments, count, extents);
    return status ? api_fail_runtime(status) : HDS_OK;
}

hds_status hds_function_workspace(const hds_kernel *function, const hds_argument *arguments, size_t count, int64_t *bytes)
{
    if (!function || !bytes)
        return no_pointer("hds_function_workspace", function ? "bytes" : "function");
    if (!function->function)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' is not a host function", function->jit->launch.name);
    hdsrt_status status = jit_workspace(function->function, arguments, count, bytes);
    return status ? api_fail_runtime(status) : HDS_OK;
}

hds_status hds_evaluate(const hds_kernel *function, const hds_argument *arguments, size_t count, hds_argument *result)
{
    if (!function || !result)
        return no_pointer("hds_evaluate", function ? "result" : "function");
    if (!function->function)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' is not a host function", function->jit->launch.name);
    hdsrt_status status = jit_evaluate(function->function, arguments, count, result);
    return status ? api_fail_runtime(status) : HDS_OK;
}

hds_status hds_kernel_shape(const hds_kernel *kernel, const hds_argument *arguments, size_t count, size_t index,
                            int64_t *shape)
{
    if (!kernel || !shape)
        return no_pointer("hds_kernel_shape", kernel ? "shape" : "kernel");
    if (kernel->operator)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' is an operator: its entries have shapes", kernel->jit->launch.name);
    hdsrt_status status = jit_shape(kernel->jit, arguments, count, index, shape);
    return status ? api_fail_runtime(status) : HDS_OK;
}
