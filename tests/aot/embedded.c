// Opens a model without a file: its weights are in the object, from two shards (check_launches.py), and those of a file are taken
// where one is named.
#include <string.h>

#include "embedded.h"
#include "expect.h"
#include "fake_cuda.h"

enum { K = 16, N = 8 };

typedef struct sight {
    float first, step; // of the weights
    int seen;
} sight;

static bool are(const float *at, int count, const sight *s)
{
    for (int i = 0; i < count; i++) {
        float wanted = s->first + s->step * (float)i;
        if (at[i] < wanted || at[i] > wanted)
            return false;
    }
    return true;
}

// Counts launches of which a parameter is the address of [N * K] numbers as they are in the file.
static void see(void *user, const fake_cuda_launch *l)
{
    sight *s = user;
    for (int i = 0; i < l->parameter_count; i++) {
        uint64_t address = 0;
        if (l->sizes[i] != sizeof address)
            continue;
        memcpy(&address, l->parameters + l->offsets[i], sizeof address);
        s->seen += address > 1 << 20 && are((const float *)(uintptr_t)address, N * K, s);
    }
}

static void runs_with(const char *path, float first, float step)
{
    layer_model *m = NULL;
    void *memory = NULL;
    sight s = {first, step, 0};
    expect(layer_open(path, NULL, &m) == HDSRT_OK && m, "the model is opened");
    expect(hdsrt_allocate(&memory, 4096, NULL) == HDSRT_OK, "memory is there");
    fake_cuda_on_launch(see, &s);
    expect(layer_run(m, memory, (float *)memory + 512, NULL) == HDSRT_OK, "the model runs");
    fake_cuda_on_launch(NULL, NULL);
    expect(s.seen == 1, "a kernel reads the weights");
    layer_close(m);
    hdsrt_release(memory, NULL);
}

int main(void)
{
    without_weights_model *m = NULL;
    runs_with(NULL, 1, 0.25f);
    runs_with("other.safetensors", 2, 0.5f);
    runs_with(NULL, 1, 0.25f);
    expect(layer_open("nowhere", NULL, &(layer_model *){NULL}) == HDSRT_INVALID_ARGUMENT, "a file that is named has to be there");
    expect(without_weights_open(NULL, NULL, &m) == HDSRT_OK, "a model without weights");
    without_weights_close(m);
    expect(fake_cuda_live("memory") == 0, "closed models leave nothing behind");
    return failures ? 1 : 0;
}
