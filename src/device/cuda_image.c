// From the IR that is simulated to machine code of the same kernels.
//
// The simulator goes on working on its module, so the passes that follow for a GPU run on a copy: the text of the module,
// read back.

#include <string.h>

#include "device/cuda_priv.h"
#include "pipeline/job.h"
#include "sim/code.h"

typedef struct compilation {
    pl_unit unit;  // first
    pl_options options;
    const char *text;
    const dev_cuda_names *kernels;
    bool is_made;
} compilation;

static bool is_wanted(const ir_func *f, const dev_cuda_names *kernels)
{
    bool is_wanted = !kernels || f->kind != IR_KERNEL;
    for (size_t i = 0; !is_wanted && i < kernels->len; i++)
        is_wanted = strcmp(kernels->at[i], f->name) == 0;
    return is_wanted;
}

// Host functions are not for the GPU.
static void keep_kernels(ir_module *m, const dev_cuda_names *kernels)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->funcs.len; i++) {
        if (m->funcs.at[i]->kind == IR_HOST_FUNC || !is_wanted(m->funcs.at[i], kernels))
            continue;
        m->funcs.at[i]->id = (uint32_t)kept;
        m->funcs.at[kept++] = m->funcs.at[i];
    }
    m->funcs.len = kept;
}

static void compile(pl_unit *u)
{
    compilation *c = (compilation *)u;
    u->input_name = "kernel.hir";
    u->file = src_add(&u->sources, u->input_name, str_of(c->text));
    if (!u->file)
        return;
    u->module = ir_read_text(&u->memory, &u->syms, &u->diags, u->file);
    if (!u->module)
        return;
    keep_kernels(u->module, c->kernels);
    u->module->arch = u->arch;
    c->is_made = pl_finish_passes(u) && pl_code_for_device(u);
}

static const char *text_of(arena *a, const ir_module *m)
{
    str_buf text;
    str_buf_init(&text, a);
    ir_print(m, &text);
    return str_text(&text);
}

static compilation *compile_program(dev_cuda_session *s, const sim_program *p, const dev_cuda_names *kernels)
{
    compilation *c = ARENA_NEW(s->arena, compilation);
    c->options = *s->gpu->options;
    c->options.emit = PL_CUBIN;
    c->options.dump = NULL;
    c->options.passes = NULL;
    c->options.resource_usage = false;
    c->options.no_line = true;
    c->text = text_of(s->arena, p->module);
    c->kernels = kernels;
    pl_unit_init(&c->unit, &c->options, s->gpu->arch, pl_now_us());
    pl_unit_run_deep(&c->unit, compile);
    pl_diags_merge(s->diags, &c->unit.diags);
    return c;
}

dev_cuda_image *dev_cuda_image_of(dev_cuda_session *s, const sim_program *p, const dev_cuda_names *kernels)
{
    for (size_t i = 0; i < s->images.len; i++) {
        if (s->images.at[i].program == p)
            return s->images.at[i].unit ? &s->images.at[i] : NULL;
    }
    compilation *c = compile_program(s, p, kernels);
    VEC_PUSH(s->arena, &s->images, ((dev_cuda_image){.program = p, .unit = c->is_made ? &c->unit : NULL}));
    if (c->is_made)
        return &VEC_LAST(&s->images);
    pl_unit_free(&c->unit);
    return NULL;
}

static bool is_loaded(const dev_cuda_session *s, const dev_cuda_image *image)
{
    return image->module && image->generation == s->gpu->generation;
}

bool dev_cuda_load(dev_cuda_session *s, dev_cuda_image *image)
{
    if (is_loaded(s, image))
        return true;
    image->generation = s->gpu->generation;
    image->module = NULL;
    return dev_cuda_check(s, "loading the code", s->gpu->cuda->module_load(&image->module, image->unit->code.cubin.at));
}

void dev_cuda_free_images(dev_cuda_session *s)
{
    pthread_mutex_lock(&s->gpu->lock);
    if (s->gpu->cuda)
        s->gpu->cuda->context_set(s->gpu->context);
    for (size_t i = 0; i < s->images.len; i++) {
        dev_cuda_image *image = &s->images.at[i];
        if (is_loaded(s, image) && !s->gpu->is_stuck)
            s->gpu->cuda->module_unload(image->module);
        if (image->unit)
            pl_unit_free(image->unit);
    }
    pthread_mutex_unlock(&s->gpu->lock);
    s->images.len = 0;
}
