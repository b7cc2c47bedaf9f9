// Matrices of cuBLAS have their columns together. A row-major c is the transpose of such a matrix, so it computes
// cᵀ = bᵀ · aᵀ: what is m for us is its n, and what is b is its a.
//
// Numbers are those of cublas_api.h and cublasLt.h, CUDA 12 and 13.
#include "peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hds/ops.h"

enum {
    OP_N = 0,
    OP_T = 1,
    COMPUTE_32F = 68,
    COMPUTE_64F = 70,
    COMPUTE_32I = 72,
    COMPUTE_32F_FAST_TF32 = 77,
    GEMM_DEFAULT = -1,

    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS_POINTER = 8,
    DESC_BIAS_TYPE = 26,
    LAYOUT_BATCH_COUNT = 5,
    LAYOUT_BATCH_STRIDE = 6,
    PREFERENCE_WORKSPACE = 1,
    EPILOGUE_RELU = 2,
    EPILOGUE_BIAS = 4,
    EPILOGUE_GELU = 32,

    WORKSPACE_BYTES = 64 << 20,
    HEURISTICS = 8,
};

typedef struct algorithm {
    uint64_t data[8];
} algorithm;

// cublasLtMatmulHeuristicResult_t
typedef struct heuristic {
    algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} heuristic;

typedef struct lt_plan {
    void *desc, *a, *b, *c;
} lt_plan;

struct mm_peer {
    mm_gpu *gpu;
    void *library, *lt_library, *handle, *lt_handle, *workspace;
    char version[512];
    lt_plan plan;
    heuristic heuristics[HEURISTICS];

    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*get_version)(void *handle, int *version);
    int (*set_stream)(void *handle, hdsrt_stream stream);
    int (*set_workspace)(void *handle, void *workspace, size_t bytes);
    int (*gemm)(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                int a_type, int64_t lda, const void *b, int b_type, int64_t ldb, const void *beta, void *c, int c_type,
                int64_t ldc, int compute, int algorithm);
    int (*gemm_batched)(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha,
                        const void *a, int a_type, int64_t lda, long long stride_a, const void *b, int b_type,
                        int64_t ldb, long long stride_b, const void *beta, void *c, int c_type, int64_t ldc,
                        long long stride_c, int64_t batches, int compute, int algorithm);

    int (*lt_create)(void **handle);
    int (*lt_destroy)(void *handle);
    int (*desc_create)(void **desc, int compute, int scale_type);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    int (*preference_destroy)(void *preference);
    int (*get_heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted,
                         heuristic *results, int *found);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,
                  void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                  const algorithm *algorithm, void *workspace, size_t workspace_bytes, hdsrt_stream stream);
};

// ---- opening ------------------------------------------------------------------------------------------------------

static void *open_beside(const char *path, const char *name)
{
    char beside[4096];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    snprintf(beside, sizeof beside, "%.*s%s", folder, path, name);
    return dlopen(beside, RTLD_NOW | RTLD_GLOBAL);
}

// libcublas needs libcublasLt, which may lie beside it in a folder that the loader does not search.
static bool open_path(mm_peer *p, const char *path)
{
    static const char *const lt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
    for (int i = 0; !p->lt_library && i < 3; i++)
        p->lt_library = open_beside(path, lt_names[i]);
    p->library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return p->library && p->lt_library;
}

static bool open_libraries(mm_peer *p, const char *path)
{
    static const char *const paths[] = {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so",
                                         "/usr/local/cuda/lib64/libcublas.so.13", "libcublas.so"};
    if (path)
        return open_path(p, path);
    for (int i = 0; i < (int)(sizeof paths / sizeof *paths); i++) {
        if (open_path(p, paths[i]))
            return true;
    }
    return false;
}

static bool find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool find_all(mm_peer *p)
{
    void *l = p->library, *lt = p->lt_library;
    return find(l, "cublasCreate_v2", &p->create) && find(l, "cublasDestroy_v2", &p->destroy) &&
           find(l, "cublasGetVersion_v2", &p->get_version) && find(l, "cublasSetStream_v2", &p->set_stream) &&
           find(l, "cublasSetWorkspace_v2", &p->set_workspace) && find(l, "cublasGemmEx_64", &p->gemm) &&
           find(l, "cublasGemmStridedBatchedEx_64", &p->gemm_batched) && find(lt, "cublasLtCreate", &p->lt_create) &&
           find(lt, "cublasLtDestroy", &p->lt_destroy) && find(lt, "cublasLtMatmulDescCreate", &p->desc_create) &&
           find(lt, "cublasLtMatmulDescSetAttribute", &p->desc_set) &&
           find(lt, "cublasLtMatmulDescDestroy", &p->desc_destroy) &&
           find(lt, "cublasLtMatrixLayoutCreate", &p->layout_create) &&
           find(lt, "cublasLtMatrixLayoutSetAttribute", &p->layout_set) &&
           find(lt, "cublasLtMatrixLayoutDestroy", &p->layout_destroy) &&
           find(lt, "cublasLtMatmulPreferenceCreate", &p->preference_create) &&
           find(lt, "cublasLtMatmulPreferenceSetAttribute", &p->preference_set) &&
           find(lt, "cublasLtMatmulPreferenceDestroy", &p->preference_destroy) &&
           find(lt, "cublasLtMatmulAlgoGetHeuristic", &p->get_heuristic) && find(lt, "cublasLtMatmul", &p->matmul);
}

static void read_version(mm_peer *p)
{
    Dl_info where = {0};
    int version = 0;
    p->get_version(p->handle, &version);
    dladdr(dlsym(p->library, "cublasCreate_v2"), &where);
    // 130100 is 13.1.0, and 12 08 04 was 120804.
    snprintf(p->version, sizeof p->version, "%d.%d.%d (%s)", version / 10000, version / 100 % 100, version % 100,
             where.dli_fname ? where.dli_fname : "unknown");
}

mm_peer *mm_peer_open(mm_gpu *g, const char *path, const char **why)
{
    mm_peer *p = calloc(1, sizeof *p);
    if (!p) {
        *why = "no memory";
        return NULL;
    }
    p->gpu = g;
    if (!open_libraries(p, path))
        *why = dlerror();
    else if (!find_all(p))
        *why = "the library is older than cuBLAS 12";
    else if (!(p->workspace = mm_gpu_allocate(g, WORKSPACE_BYTES)))
        *why = hdsrt_last_error();
    else if (p->create(&p->handle) || p->lt_create(&p->lt_handle) || p->set_stream(p->handle, g->stream) ||
             p->set_workspace(p->handle, p->workspace, WORKSPACE_BYTES))
        *why = "it does not start";
    else {
        read_version(p);
        return p;
    }
    mm_peer_close(p);
    return NULL;
}

static void drop_plan(mm_peer *p)
{
    if (p->plan.desc)
        p->desc_destroy(p->plan.desc);
    void *layouts[] = {p->plan.a, p->plan.b, p->plan.c};
    for (int i = 0; i < 3; i++) {
        if (layouts[i])
            p->layout_destroy(layouts[i]);
    }
    p->plan = (lt_plan){0};
}

void mm_peer_close(mm_peer *p)
{
    if (!p)
        return;
    drop_plan(p);
    if (p->handle)
        p->destroy(p->handle);
    if (p->lt_handle)
        p->lt_destroy(p->lt_handle);
    mm_gpu_release(p->gpu, p->workspace);
    // The libraries stay: they have threads and handlers of their own.
    free(p);
}

const char *mm_peer_version(const mm_peer *p)
{
    return p->version;
}

// ---- a product ----------------------------------------------------------------------------------------------------

static int compute_type(const mm_product *p)
{
    return p->a_type == MM_F64  ? COMPUTE_64F
           : p->a_type == MM_I8 ? COMPUTE_32I
           : p->tf32            ? COMPUTE_32F_FAST_TF32
                                : COMPUTE_32F;
}

static int scale_type(const mm_product *p)
{
    return mm_types[p->a_type == MM_F64 ? MM_F64 : p->a_type == MM_I8 ? MM_I32 : MM_F32].cuda;
}

// alpha and beta in the type that sums have.
typedef union scalar {
    float f;
    double d;
    int32_t i;
} scalar;

static scalar scalar_of(const mm_product *p, double value)
{
    if (p->a_type == MM_F64)
        return (scalar){.d = value};
    return p->a_type == MM_I8 ? (scalar){.i = (int32_t)value} : (scalar){.f = (float)value};
}

// Whether rows of a row-major matrix lie apart, so that it is a column-major one of its transpose as it stands.
static int op_of(mm_strides s)
{
    return s.column == 1 ? OP_N : OP_T;
}

static int64_t ld_of(mm_strides s)
{
    return s.column == 1 ? s.row : s.column;
}

static hdsrt_status run_gemm(void *self, const mm_product *p, int index, hdsrt_stream stream)
{
    (void)index, (void)stream;
    mm_peer *q = self;
    scalar alpha = scalar_of(p, p->alpha), beta = scalar_of(p, 0);
    int at = mm_types[p->a_type].cuda, bt = mm_types[p->b_type].cuda, ct = mm_types[p->c_type].cuda;
    int code = p->batch == 1
                   ? q->gemm(q->handle, op_of(p->b), op_of(p->a), p->n, p->m, p->k, &alpha, p->b_data, bt, ld_of(p->b),
                             p->a_data, at, ld_of(p->a), &beta, p->c_data, ct, p->c.row, compute_type(p), GEMM_DEFAULT)
                   : q->gemm_batched(q->handle, op_of(p->b), op_of(p->a), p->n, p->m, p->k, &alpha, p->b_data, bt,
                                     ld_of(p->b), p->b.batch, p->a_data, at, ld_of(p->a), p->a.batch, &beta, p->c_data,
                                     ct, p->c.row, p->c.batch, p->batch, compute_type(p), GEMM_DEFAULT);
    return code ? hdsrt_fail(HDSRT_UNSUPPORTED, "cublasGemmEx gives error %d", code) : HDSRT_OK;
}

static hdsrt_status run_lt(void *self, const mm_product *p, int index, hdsrt_stream stream)
{
    mm_peer *q = self;
    const heuristic *h = &q->heuristics[index];
    scalar alpha = scalar_of(p, p->alpha), beta = scalar_of(p, 0);
    int code =
        q->matmul(q->lt_handle, q->plan.desc, &alpha, p->b_data, q->plan.a, p->a_data, q->plan.b, &beta, p->c_data,
                  q->plan.c, p->c_data, q->plan.c, &h->algorithm, q->workspace, WORKSPACE_BYTES, stream);
    return code ? hdsrt_fail(HDSRT_UNSUPPORTED, "cublasLtMatmul gives error %d", code) : HDSRT_OK;
}

// A matrix of [rows] × [columns] of ours.
static bool make_layout(mm_peer *q, void **layout, mm_type type, int64_t rows, int64_t columns, mm_strides s,
                        int64_t batch)
{
    bool is_plain = s.column == 1;
    if (q->layout_create(layout, mm_types[type].cuda, (uint64_t)(is_plain ? columns : rows),
                         (uint64_t)(is_plain ? rows : columns), ld_of(s)))
        return false;
    int32_t count = (int32_t)batch;
    return batch == 1 || (!q->layout_set(*layout, LAYOUT_BATCH_COUNT, &count, sizeof count) &&
                          !q->layout_set(*layout, LAYOUT_BATCH_STRIDE, &s.batch, sizeof s.batch));
}

// cublasLt's GELU is the one with tanh. It has none of the other activations, and no residual besides c itself.
static bool set_epilogue(mm_peer *q, const mm_product *p)
{
    int epilogue = p->activation == HDS_ACTIVATION_RELU ? EPILOGUE_RELU : 0;
    if (p->activation == HDS_ACTIVATION_GELU_TANH)
        epilogue = EPILOGUE_GELU;
    else if (p->activation > HDS_ACTIVATION_RELU)
        return false;
    if (p->has_bias)
        epilogue |= EPILOGUE_BIAS;
    if (p->has_residual)
        return false;
    int type = mm_types[p->c_type].cuda;
    return !epilogue || (!q->desc_set(q->plan.desc, DESC_EPILOGUE, &epilogue, sizeof epilogue) &&
                         (!p->has_bias || (!q->desc_set(q->plan.desc, DESC_BIAS_POINTER, &p->bias, sizeof p->bias) &&
                                           !q->desc_set(q->plan.desc, DESC_BIAS_TYPE, &type, sizeof type))));
}

static bool make_plan(mm_peer *q, const mm_product *p)
{
    int op_a = op_of(p->b), op_b = op_of(p->a);
    return !q->desc_create(&q->plan.desc, compute_type(p), scale_type(p)) &&
           !q->desc_set(q->plan.desc, DESC_TRANSA, &op_a, sizeof op_a) &&
           !q->desc_set(q->plan.desc, DESC_TRANSB, &op_b, sizeof op_b) && set_epilogue(q, p) &&
           make_layout(q, &q->plan.a, p->b_type, p->k, p->n, p->b, p->batch) &&
           make_layout(q, &q->plan.b, p->a_type, p->m, p->k, p->a, p->batch) &&
           make_layout(q, &q->plan.c, p->c_type, p->m, p->n, p->c, p->batch);
}

static int find_heuristics(mm_peer *q, int wanted)
{
    void *preference = NULL;
    size_t bytes = WORKSPACE_BYTES;
    int found = 0;
    if (!q->preference_create(&preference) &&
        !q->preference_set(preference, PREFERENCE_WORKSPACE, &bytes, sizeof bytes) &&
        q->get_heuristic(q->lt_handle, q->plan.desc, q->plan.a, q->plan.b, q->plan.c, q->plan.c, preference, wanted,
                         q->heuristics, &found))
        found = 0;
    if (preference)
        q->preference_destroy(preference);
    return found;
}

int mm_peer_ways(mm_peer *q, const mm_product *p, int heuristics, mm_way ways[MM_PEER_WAYS])
{
    static const char *const names[HEURISTICS] = {"Lt 0", "Lt 1", "Lt 2", "Lt 3", "Lt 4", "Lt 5", "Lt 6", "Lt 7"};
    int count = 0;
    bool is_fp8 = p->a_type == MM_E4M3 || p->a_type == MM_E5M2;
    if (!p->activation && !p->has_bias && !p->has_residual && !is_fp8)
        ways[count++] = (mm_way){"GemmEx", run_gemm, q, -1};
    drop_plan(q);
    if (!make_plan(q, p))
        return count;
    int found = find_heuristics(q, heuristics < HEURISTICS ? heuristics : HEURISTICS);
    for (int i = 0; i < found; i++) {
        if (q->heuristics[i].state == 0)
            ways[count++] = (mm_way){names[i], run_lt, q, i};
    }
    return count;
}
