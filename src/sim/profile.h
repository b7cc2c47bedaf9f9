// Counters of a run, by source location; options.profile switches them on.
//
// Sectors are the 32 bytes in which global memory is moved (Nsight Compute, "Memory Tables"); a request is one access of a
// warp. Wavefronts of shared memory are counted as taskmap/layout.h says. An ideal is what the same bytes would need
// without gaps and without conflicts.
#pragma once

#include "sim/machine.h"

typedef struct sim_counts {
    uint64_t warp_instructions, thread_instructions;  // operations of warps; the same times the lanes that took part
    uint64_t flops;                                   // of lanes; an fma is two, as are a product and sum of an mma
    struct {
        uint64_t requests, sectors, ideal, bytes;     // bytes: that lanes asked for, each byte once a request
    } global;
    struct {
        uint64_t requests, wavefronts, ideal, bytes;
    } shared;
    uint64_t local_bytes;
    uint64_t prefetched_bytes;  // of tiles and rows that instructions bring into L2: they are moved there, and nowhere else
} sim_counts;

// A kernel, with the shape of its first launch.
typedef struct sim_profiled_kernel {
    const sim_program *program;
    const ir_func *kernel;
    sim_launch_shape shape;
    int64_t shared_bytes;  // static and dynamic, as compiled code will want them at most
    uint64_t launches, blocks, threads;
} sim_profiled_kernel;

sim_profile *sim_profile_new(arena *a);
void sim_profile_free(sim_profile *p);

// Counts an operation of a warp, before it runs.
void sim_profile_op(sim_warp *w, const sim_op *op);
// One access of [bytes] bytes for each lane of [mask], to memory of any kind. memory_touch.c calls it.
void sim_profile_access(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes);
// Bytes that lanes bring into L2.
void sim_profile_prefetch(sim_warp *w, uint32_t site, int64_t bytes);
// A kernel begins; sim.c calls it.
void sim_profile_launch(sim_profile *p, const sim_launch *l);

// Blocks of a kernel that fit on an SM by threads and shared memory; what a compiled kernel needs of registers
// is not known here. *[limit]: "warps", "blocks" or "shared memory".
int sim_profile_blocks(const arch *target, int64_t threads, int64_t shared_bytes, const char **limit);

// profile_report.c: the sum of all counters.
sim_counts sim_profile_total(const sim_profile *p);
// The line of the file [in] through which a statement came there: of a call of what was inlined; 0: none.
uint32_t sim_site_line(const sim_program *p, src_map *sources, const src_file *in, uint32_t site);
// Likewise of launch [index] of those that were joined to one at the site; 0 behind the last one, and where none were.
uint32_t sim_joined_line(const sim_program *p, src_map *sources, const src_file *in, uint32_t site, int index);
// A table by source line with the text beside it, and a summary; the same as JSON. Inlined calls
// count at the line in the author's own file.
void sim_profile_table(const sim_profile *p, src_map *sources, str_buf *out);
void sim_profile_json(const sim_profile *p, src_map *sources, str_buf *out);
