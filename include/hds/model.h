// Models in libhds: graph functions (docs/models.md) with their weights.
//
//     hds_compile(compiler, &(hds_source){.name = "mlp.hds"}, NULL, &program);
//     hds_model *model;
//     hds_model_open(program, NULL, &model);                  maps the weights, computes what depends on them alone
//     hds_model_run(model, (hds_argument[]){hds_tensor(x), hds_tensor(y)}, 2, stream);
//     hds_model_release(model);
//
// A model is opened for the simulator, or for the GPU that is current then. It keeps weights there, and a CUDA graph with a
// workspace for each of the last pairs of a set of sizes and a stream that it ran with. Every function may be called from any
// thread. Runs on one stream follow each other; runs on several streams are in flight at the same time, also with the same sizes,
// and share the weights. For several GPUs, or contexts, open the model in each.
#ifndef HDS_MODEL_H
#define HDS_MODEL_H

#include <hds/hds.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hds_model hds_model;

typedef struct hds_model_options {
    size_t size;           // sizeof(hds_model_options)
    const char *graph;     // the graph function; NULL: the only one of the program
    const char *weights;   // a safetensors file, or the index of several; NULL: that of the hds_compile_options, else the one
                           // that the model names, beside its source
    bool simulate;         // runs are hds_model_simulate's; needs no GPU and no NVRTC
    size_t graphs;         // CUDA graphs that are kept, at most, of all sizes and streams; 0: 16. One more waits for all runs
    bool no_graphs;        // launch the kernels one by one instead
} hds_model_options;
#define HDS_MODEL_OPTIONS_INIT {sizeof(hds_model_options), NULL, NULL, false, 0, false}

// Opens a model of a compiled program, which it retains. All weights are checked against the types and extents that the
// program was
// compiled for: HDS_INVALID_ARGUMENT, and hds_last_error() lists those that differ or are missing. HDS_DEVICE without a GPU,
// HDS_NO_MEMORY, HDS_NO_TOOLCHAIN. [options] may be NULL.
HDSRT_API hds_status hds_model_open(hds_program *program, const hds_model_options *options, hds_model **model);
// No run may be in flight; in the context in which the model was opened.
HDSRT_API void hds_model_release(hds_model *model);

// What a run takes: the inputs, then the outputs, then open sizes, if the model has any. The pointer lives as long as the model.
HDSRT_API size_t hds_model_parameter_count(const hds_model *model);
HDSRT_API const hds_parameter *hds_model_parameter(const hds_model *model, size_t index);
// Bytes of GPU or host memory for weights and what was prepared from them; for the temporaries of a run,
// -1 if open sizes determine it.
HDSRT_API int64_t hds_model_weight_bytes(const hds_model *model);
HDSRT_API int64_t hds_model_workspace_bytes(const hds_model *model);

// Runs the model on [stream] of the thread's current context. Arguments are checked as those of hds_launch; open sizes may
// be omitted
// where DLPack tensors determine them. The first run with new sizes on a stream records a graph; where only addresses differ from
// the last run with these sizes there, the graph is updated in place, without waiting. HDS_INVALID_ARGUMENT in another context
// than the one in which the model was opened.
HDSRT_API hds_status hds_model_run(hds_model *model, const hds_argument *arguments, size_t count, hdsrt_stream stream);
// The same on the simulator, for a model that was opened for it; see hds_simulate.
HDSRT_API hds_status hds_model_simulate(hds_model *model, const hds_argument *arguments, size_t count, hds_program **findings);

#ifdef __cplusplus
}
#endif
#endif
