#include "cuda_emit/launches.h"

static const cu_kernel_info *info_of(const void *user, const ir_func *kernel)
{
    const cu_kernel_list *list = user;
    for (size_t i = 0; i < list->len; i++) {
        if (list->at[i].func == kernel)
            return &list->at[i];
    }
    return NULL;
}

static const char *symbol_of(const void *user, const ir_func *kernel)
{
    const cu_kernel_info *info = info_of(user, kernel);
    return info && kernel->is_public ? info->symbol : NULL;
}

static const bool *writes_of(const void *user, const ir_func *kernel)
{
    const cu_kernel_info *info = info_of(user, kernel);
    return info ? info->writes : NULL;
}

// The contract of dependent launches: a kernel that waits does so before what an earlier one may write or read (HDS0760).
static bool waits(ir_module *m, const ir_func *kernel)
{
    return !kernel->dependent_launch || ir_waits_for_kernels(m, kernel);
}

plan_kernels cu_plan_kernels(const cu_kernel_list *list)
{
    return (plan_kernels){list, symbol_of, writes_of, waits};
}
