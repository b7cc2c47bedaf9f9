// Simulated memory: addresses, accesses of a warp with their checks, shadow state, and the happens-before order.
//
// An address has 64 bits: a tag in the high bits, an offset in the low bits. Global allocations are numbered, so that
// an address beyond its allocation never points into another one.
//
//     global   0001 bbbn nnnn nnnn nnnn nnnn oooo …   allocation n (17 bits), offset (40 bits)
//     shared   0010 bbb0 0000 0000 rrrr rrrr …  oooo  1 + rank in the cluster (8 bits at 32; 0: the own block),
//                                                     offset in that block's memory
//     local    0011 bbb… oooo                         offset in the thread's private memory
//
// bbb: of elements of less than a byte, the first bit of the element in the byte; else 0.
//
// Shadow state costs 12 bytes for each element of global memory (of the allocation's element size), and lists where an
// element has several accesses that nothing orders; in shared memory 4 bytes, and 8 for each warp. See shadow.h.
#pragma once

#include "sim/code.h"

enum { SIM_OFFSET_BITS = 40, SIM_RANK_SHIFT = 32, SIM_BIT_SHIFT = 57 };
#define SIM_TAG_GLOBAL ((uint64_t)1 << 60)
#define SIM_TAG_SHARED ((uint64_t)2 << 60)
#define SIM_TAG_LOCAL ((uint64_t)3 << 60)
#define SIM_TAG_MASK ((uint64_t)15 << 60)
#define SIM_OFFSET_MASK (((uint64_t)1 << SIM_OFFSET_BITS) - 1)
#define SIM_SHARED_MASK (((uint64_t)1 << SIM_RANK_SHIFT) - 1)  // the offset in an address of shared memory

struct sim_field;
struct sim_warp;
struct sim_block;
typedef struct sim_memory sim_memory;

// [limit]: bytes of all allocations, 0: 3/4 of the machine's memory.
sim_memory *sim_memory_new(arena *a, int64_t limit);
void sim_memory_free(sim_memory *m);
struct sim;
// Whose shared memory the address is in; NULL: of a rank that the cluster does not have.
struct sim_block *sim_block_of(struct sim_block *from, uint64_t address);
// The corresponding address in the block of that rank.
static inline uint64_t sim_address_in(uint64_t address, int rank)
{
    return (address & ~((uint64_t)0xff << SIM_RANK_SHIFT)) | (uint64_t)(rank + 1) << SIM_RANK_SHIFT;
}
// Kernels must not write to this allocation from now on (constant tensors): HDS0618.
void sim_memory_protect(struct sim *s, uint64_t address);

// ---- accesses of a warp ------------------------------------------------------------------------------------------
//
// All of them check bounds, alignment, initialisation and races (as far as the options say), report findings, and leave
// out the lanes that must not touch memory; these read zeros that are not poisoned, so that one fault is one finding.

// Loads [access->count] elements for the lanes of [mask] from [address] (32 lanes) into the cells from [cell] on, and
// their poison. Other lanes keep what they have.
void sim_load(struct sim_warp *w, const sim_access *access, uint32_t mask, const uint64_t *address, uint32_t cell);
// Stores them. Poisoned values may be stored to shared and private memory (the bytes count as uninitialised again); to
// global memory they are a finding.
void sim_store(struct sim_warp *w, const sim_access *access, uint32_t mask, const uint64_t *address, uint32_t cell);
// Copies from memory to memory, as created by form-wide.
void sim_copy(struct sim_warp *w, const sim_access *access, uint32_t mask, const uint64_t *to, const uint64_t *from);

// Raw bytes, for models: up to 16 for each lane, at addresses that are multiples of [bytes] (a power of two).
// [poisoned]: a bit for each uninitialised byte, 32 masks; NULL: all initialised (stores), not needed (loads). Lanes
// that are omitted load zeros.
void sim_load_bytes(struct sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes,
                    uint8_t (*out)[16], uint16_t *poisoned);
void sim_store_bytes(struct sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes,
                     const uint8_t (*in)[16], const uint16_t *poisoned);

// Asynchronous reads of 16-byte vectors: sim_look_bytes checks them when they begin, sim_enter_reads records them when
// they end, as if the lanes read then. In between, sim_bulk_begin_reads makes writes to them findings.
void sim_look_bytes(struct sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, uint8_t (*out)[16],
                    uint16_t *poisoned);
void sim_enter_reads(struct sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address);

// Marks [bytes] from [offset] of each lane's private memory as uninitialised: an array begins its life there.
void sim_local_undefine(struct sim_warp *w, uint32_t lanes, uint32_t offset, uint32_t bytes);
// Grows the private memory of each thread to [bytes]: recursive functions have several instances of their arrays.
void sim_local_grow(struct sim_warp *w, uint32_t bytes);

// Field values (options.field) of bytes of memory, one for each byte: a value stands at the byte it begins at, the
// others are SIM_FIELD_NONE. sim_load, sim_store, sim_copy and sim_async_land move them along; models that use the raw
// bytes or atomics do so by themselves. NULL: outside of memory, or no field values are carried.
struct sim_field *sim_memory_field(struct sim_warp *w, uint32_t lane, uint64_t address);
// The same of global memory, for the host, from an address on.
struct sim_field *sim_memory_host_field(sim *s, uint64_t address);
// And of the arguments of the next sim_call, SIM_FIELD_NOTHING where there is none. They must live until it returns.
void sim_set_argument_fields(sim *s, const struct sim_field *fields);

// The order and scope of an atomic or ordered access, as PTX says them.
typedef enum sim_sem { SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL } sim_sem;
typedef enum sim_reach { SIM_CTA, SIM_CLUSTER, SIM_GPU, SIM_SYS } sim_reach;
// The bytes that one lane's atomic operation works on, after all checks; NULL: leave it out. Atomic accesses of
// sufficient scope do not race with each other; [writes]: it may change the bytes (which count as initialised then).
uint8_t *sim_atomic(struct sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, bool writes,
                    sim_sem sem, sim_reach reach);
// The same for a store: what was there before need not be initialised.
uint8_t *sim_atomic_store(struct sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, sim_sem sem,
                          sim_reach reach);

// Threads of any block read or change the mbarrier at an address of shared memory, which establishes no order. False:
// the access is not allowed.
bool sim_touch_mbarrier(struct sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, bool writes);

// ---- asynchronous copies ------------------------------------------------------------------------------------------

// The bytes at the destination are in flight: until [sim_async_land], any access to them is a finding
// (HDS0609) that shows the location of the copy.
typedef struct sim_async_chunk {
    uint32_t site, lane;
    uint64_t to, from;
    int bytes, present;  // the first [present] come from [from], the others are zeros; up to 64
    int align;           // both addresses must be multiples of it
    bool is_tma;      // copied by TMA: threads that are done with the destination need not have released it
    uint32_t started;    // set by sim_async_start, by which sim_async_land knows whether the source was written in between
} sim_async_chunk;
void sim_async_start(struct sim_warp *w, sim_async_chunk *chunk);
// They have arrived, as if the lane wrote them now.
void sim_async_land(struct sim_warp *w, const sim_async_chunk *chunk);

// ---- order (race.c) ----------------------------------------------------------------------------------------------

// Happens-before: an access happened before another if a chain of these leads from one to the other.
//
// Threads of different blocks of a cluster pass on what they know. Where the hardware orders no memory (a relaxed
// arrival, an arrival at another block's mbarrier without .release.cluster), they only pass on that they are done: this
// suffices for TMA to overwrite what they have read, and for a block to end.
void sim_order_start(struct sim_block *b);         // a block begins; its warps, arena and shared memory are there
void sim_order_end(struct sim_block *b);           // it has ended, or is given up
void sim_order_block_barrier(struct sim_block *b); // all threads of the block meet
void sim_order_warp_barrier(struct sim_warp *w, uint32_t lanes); // lanes of a warp meet
// Objects through which threads of a block synchronise: named barriers, mbarriers. Zeroed memory is an empty object; it
// lives at most as long as the block.
typedef struct sim_sync {
    struct sim_knowledge *known;
    struct sim_remote *released, *done;  // by threads of other blocks
} sim_sync;
void sim_order_release(struct sim_warp *w, uint32_t lanes, sim_sync *to);         // arrive
void sim_order_acquire(struct sim_warp *w, uint32_t lanes, const sim_sync *from); // wait
// The same between blocks of a cluster. [releases], [acquires]: with scope cluster.
void sim_order_release_at(struct sim_warp *w, uint32_t lanes, sim_sync *to, bool releases);
void sim_order_acquire_from(struct sim_warp *w, uint32_t lanes, const sim_sync *from, bool acquires);
// The data of the lane's copy is visible to threads that acquire from [to].
void sim_order_deliver(struct sim_warp *w, uint32_t lane, sim_sync *to, struct sim_block *home);
// Empties the object.
void sim_order_clear(struct sim_block *home, sim_sync *sync);
// A barrier of all threads of the cluster.
struct sim_cluster;
void sim_order_cluster_barrier(struct sim_cluster *c);
// A block has ended: reports HDS0771 unless other blocks are known to be done with its memory.
void sim_order_check_guests(struct sim_block *b);
void sim_order_fence(struct sim_warp *w, uint32_t lanes, sim_reach reach);        // threadfence and its like
