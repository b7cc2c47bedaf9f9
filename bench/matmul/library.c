// libhdsops as a way of computing products.
#include <string.h>

#include "hds/ops.h"
#include "matmul/product.h"

// A tensor of three axes (a batch of matrices).
typedef struct operand {
    hdsrt_tensor tensor;
    int64_t shape[3], strides[3];
} operand;

static void describe(operand *o, const void *data, mm_type type, int64_t batch, int64_t rows, int64_t columns,
                     mm_strides s)
{
    *o = (operand){.shape = {batch, rows, columns}, .strides = {s.batch, s.row, s.column}};
    o->tensor.data = (void *)(uintptr_t)data;
    o->tensor.device.device_type = 2;
    o->tensor.ndim = 3;
    o->tensor.dtype.code = mm_types[type].dlpack.code;
    o->tensor.dtype.bits = mm_types[type].dlpack.bits;
    o->tensor.dtype.lanes = 1;
    o->tensor.shape = o->shape;
    o->tensor.strides = o->strides;
}

typedef struct arguments {
    operand a, b, c, bias, residual;
    hds_matmul_options options;
} arguments;

static void prepare(arguments *x, const mm_product *p, int schedule)
{
    describe(&x->a, p->a_data, p->a_type, p->batch, p->m, p->k, p->a);
    describe(&x->b, p->b_data, p->b_type, p->batch, p->k, p->n, p->b);
    describe(&x->c, p->c_data, p->c_type, p->batch, p->m, p->n, p->c);
    x->options = (hds_matmul_options)HDS_MATMUL_OPTIONS;
    x->options.alpha = p->alpha;
    x->options.activation = (hds_activation)p->activation;
    x->options.math = p->tf32 ? HDS_MATH_TF32 : HDS_MATH_EXACT;
    x->options.schedule = schedule;
    if (p->has_bias) {
        describe(&x->bias, p->bias, p->c_type, 1, 1, p->n, (mm_strides){p->n, p->n, 1});
        x->bias.tensor.ndim = 1;
        x->bias.tensor.shape = &x->bias.shape[2];
        x->bias.tensor.strides = &x->bias.strides[2];
        x->options.bias = &x->bias.tensor;
    }
    if (p->has_residual) {
        describe(&x->residual, p->residual, p->c_type, p->batch, p->m, p->n, p->c);
        x->options.residual = &x->residual.tensor;
    }
}

hdsrt_status mm_run(void *self, const mm_product *p, int index, hdsrt_stream stream)
{
    arguments x;
    (void)self;
    prepare(&x, p, index);
    return hds_matmul(&x.a.tensor, &x.b.tensor, &x.c.tensor, &x.options, stream);
}

static hds_math math_of(const mm_product *p)
{
    return p->tf32 ? HDS_MATH_TF32 : HDS_MATH_EXACT;
}

int mm_schedules(const mm_product *p)
{
    return hds_matmul_schedules(mm_types[p->a_type].dlpack, mm_types[p->b_type].dlpack, mm_types[p->c_type].dlpack,
                                math_of(p));
}

// Names are kept: tables of results outlive the library's own text.
static const char *name_of(const mm_product *p, int index)
{
    static char names[1024][64];
    const char *name = hds_matmul_schedule_name(mm_types[p->a_type].dlpack, mm_types[p->b_type].dlpack,
                                                mm_types[p->c_type].dlpack, math_of(p), index);
    if (!name || index >= 1024)
        return NULL;
    strncpy(names[index], name, sizeof names[index] - 1);
    return names[index];
}

const char *mm_schedule_name(const mm_product *p, int index)
{
    return name_of(p, index);
}

const char *mm_choice_name(const mm_product *p)
{
    int schedule;
    int64_t bytes;
    arguments x;
    prepare(&x, p, -1);
    if (hds_matmul_plan(&x.a.tensor, &x.b.tensor, &x.c.tensor, &x.options, &schedule, &bytes) || schedule < 0)
        return "";
    return name_of(p, schedule);
}

const char *mm_version(void)
{
    return hds_ops_version();
}
