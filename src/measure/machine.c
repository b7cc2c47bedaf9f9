// Properties and peak rates of the GPU.
#include <string.h>
#include <unistd.h>

#include "measure/measure_priv.h"
#include "target/peak.h"

static int attribute(ms_session *s, int number, int device)
{
    int value = 0;
    return s->cuda->device_attribute(&value, number, device) == 0 ? value : 0;
}

// Code for the "a" variant may use all features of the GPU.
static const arch *own_arch(int major, int minor)
{
    const arch *found = NULL;
    for (int i = 0; arch_at(i); i++) {
        if (arch_at(i)->major == major && arch_at(i)->minor == minor)
            found = arch_at(i);
    }
    return found;
}

static void read_names(ms_session *s, ms_machine *m)
{
    char text[256] = "";
    arena *a = s->arena;
    m->gpu = s->cuda->device_name(text, sizeof text, m->device) == 0 ? arena_strdup(a, text) : "unknown";
    m->bus_id = s->cuda->device_bus_id(text, sizeof text, m->device) == 0 ? arena_strdup(a, text) : "";
    m->host = gethostname(text, sizeof text - 1) == 0 ? arena_strdup(a, text) : "";
    s->cuda->version(&m->cuda_version);
    m->driver = arena_printf(a, "%d.%d", m->cuda_version / 1000, m->cuda_version % 1000 / 10);
}

bool ms_machine_read(ms_session *s)
{
    ms_machine *m = &s->record.machine;
    int major, minor;
    size_t bytes = 0;
    if (hdsrt_current_device(&m->device) || hdsrt_capability(&major, &minor))
        return false;
    read_names(s, m);
    m->arch = own_arch(major, minor);
    m->sm_count = attribute(s, MS_DEVICE_SMS, m->device);
    m->clock_khz = attribute(s, MS_DEVICE_CLOCK, m->device);
    m->memory_khz = attribute(s, MS_DEVICE_MEMORY_CLOCK, m->device);
    m->bus_bits = attribute(s, MS_DEVICE_BUS, m->device);
    m->l2_bytes = attribute(s, MS_DEVICE_L2, m->device);
    m->warps_per_sm = m->arch ? m->arch->warps_per_sm : 0;
    if (s->cuda->device_memory(&bytes, m->device) == 0)
        m->memory_bytes = (int64_t)bytes;
    if (!m->arch)
        hdsrt_fail(HDSRT_UNSUPPORTED, "this GPU is of sm_%d%d, which hdsc does not know", major, minor);
    return m->arch != NULL;
}

// Two transfers a clock, on every line of the bus.
double ms_peak_bandwidth(const ms_machine *m)
{
    return 2.0 * m->memory_khz * 1e3 * m->bus_bits / 8;
}

const gpu_model *ms_gpu_of(arena *a, const ms_machine *m)
{
    gpu_model *out = ARENA_NEW(a, gpu_model);
    *out = *gpu_of_arch(m->arch);
    out->name = "native";
    out->arch = m->arch->name;
    out->sm_count = m->sm_count ? m->sm_count : out->sm_count;
    out->l2_bytes = m->l2_bytes ? m->l2_bytes : out->l2_bytes;
    int gbps = (int)(ms_peak_bandwidth(m) * 1e-9);
    out->memory_gbps = gbps ? gbps : out->memory_gbps;
    return out;
}

double ms_peak_ops(const ms_machine *m, dtype t)
{
    return m->arch ? (double)arch_peak_ops(m->arch, t) * m->sm_count * m->clock_khz * 1e3 : 0;
}
