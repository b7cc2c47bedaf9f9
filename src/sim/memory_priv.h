// Shared by the files of the simulated memory: allocations, the accesses of a warp being checked, notes of accesses,
// and the happens-before knowledge of threads.
#pragma once

#include <pthread.h>
#include <string.h>

#include "sim/finding.h"
#include "sim/machine.h"
#include "sim/profile.h"
#include "sim/shadow.h"

#if defined(__SANITIZE_THREAD__)
#define SIM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIM_TSAN 1
#endif
#endif
#ifndef SIM_TSAN
#define SIM_TSAN 0
#endif

// ---- notes -----------------------------------------------------------------------------------------------------------

enum { SIM_NOTE_WRITE = 1, SIM_NOTE_ATOMIC = 2 };

// What a serial stands for: accesses of one warp at one location between two of its synchronisations.
typedef struct sim_note {
    uint32_t site;
    uint32_t local;  // serial in its block, by which it is ordered
    uint32_t packed; // warp, 1 + rank of a thread of another block << 8, SIM_NOTE_ bits << 16, reach << 24
} sim_note;

static inline int sim_note_warp(const sim_note *n) { return (int)(n->packed & 0xff); }
static inline int sim_note_rank(const sim_note *n) { return (int)(n->packed >> 8 & 0xff) - 1; }  // -1: of the block itself
static inline uint32_t sim_note_kind(const sim_note *n) { return n->packed >> 16 & 0xff; }
static inline sim_reach sim_note_reach(const sim_note *n) { return (sim_reach)(n->packed >> 24); }

// One side of a possible conflict.
typedef struct sim_party {
    sim_note note;
    int64_t block;
    uint32_t lane;
} sim_party;

// The last accesses of a warp of another block to this block's shared memory, by lane.
typedef struct sim_guest {
    int rank, warp;
    bool is_weak;  // a plain access; else one that need not be seen, only done: an arrival, a copy
    uint32_t lanes, site, kind;
    uint32_t local[SIM_LANES];
} sim_guest;

// ---- memory ----------------------------------------------------------------------------------------------------------

// Shards of the cells of global memory, by address: a lock and the lists of the cells.
typedef struct sim_shard {
    int lock;  // atomic
    arena arena;
    sim_entries entries;
} sim_shard;

// Numbers of the last two launches that used an allocation (sim_launch.place), atomic; 0: none.
typedef struct sim_usage {
    uint64_t last, before;
} sim_usage;

typedef struct sim_allocation {
    uint8_t *bytes;  // NULL: freed
    int64_t size;
    sim_shadow shadow;
    sim_field *field;  // per byte; NULL: never requested
    const char *name;
    uint8_t elem_bytes;
    bool is_read_only;
    sim_usage writes, accesses;
    const char *predecessor;  // the temporary that had its bytes of the workspace before; NULL: none
} sim_allocation;

// A temporary in the workspace of a launch plan (workspace.c).
typedef struct sim_placed {
    uint32_t number;     // of the allocation; 0: released
    int64_t begin, end;  // bytes of the workspace
    const char *name;
    sim_usage writes, accesses;  // of a released one
} sim_placed;

enum {
    SIM_ALLOCATION_BITS = 17,
    SIM_CHUNK = 32,                    // serials of global memory that a block takes at once
    SIM_GLOBAL_SERIALS = 1 << 22,      // that are given out before cells of global memory are cleared
    SIM_SHARDS = 256,
    SIM_NO_SHARD = SIM_SHARDS,
    SIM_PAGE_SHIFT = 14,               // log2 of the bytes of write cells that share a lock
};

struct sim_memory {
    arena *arena;
    VEC(sim_allocation) table;  // by number; [0] is none
    uint32_t last_reused;       // when the numbers have run out, those of freed allocations come again
    VEC(sim_placed) places;     // in the workspace of the plan that runs,
    int64_t workspace;          // which has as many bytes
    int64_t limit, used, peak;
    int64_t shadow_used, shadow_peak;
    int64_t shared_used, shared_peak;  // shared memory of the blocks that run and have shadow state
    pthread_mutex_t lock;       // for all below

    // The current launch.
    uint64_t launch;            // its number; 0: none yet
    uint32_t launch_base;       // cells of global memory up to this serial are older than the launch
    uint32_t next_serial;       // atomic
    bool is_exhausted;          // the serials have run out: blocks that start now record nothing
    int recording;              // blocks that run and have recorded
    sim_note *notes;            // by serial of global memory; pages
    int64_t *chunk_blocks;      // by serial / SIM_CHUNK: the block that took it; pages
    sim_shard *shards;          // SIM_SHARDS
    uint32_t shared_shift;      // atomic: the smallest granule of shared memory that its blocks have used
    arena remote_arena;         // what blocks know of each other, and through which addresses (race_remote.c)
    map locations;
    bool has_locations;         // atomic
    struct sim_remote_pool *pool;
};

// ---- accesses of a warp ----------------------------------------------------------------------------------------------

// An earlier access that a touch has met, and its order, which is the same for all lanes and granules.
typedef struct sim_met {
    sim_party party;
    uint32_t serial;
    uint32_t before;       // lanes of [party] whose access is ordered before the touch
    uint32_t concurrent;   // lanes whose access is not
} sim_met;

enum { SIM_MOST_MET = 8 };

typedef enum sim_target { SIM_IN_GLOBAL, SIM_IN_SHARED, SIM_IN_LOCAL } sim_target;

// Lanes of a warp that access one allocation. sim_touch_next splits an access of a warp into touches, one per
// allocation:
//
//     sim_touch t;
//     sim_touch_open(&t, w, access, site, mask, address, bytes, align, SIM_NOTE_WRITE);
//     while (sim_touch_next(&t)) …                    // t.lanes: all of them inside and aligned
//     … t.refused                                     // lanes that must not touch memory; findings are reported
typedef struct sim_touch {
    sim_warp *w;
    sim *device;
    const sim_access *access;  // NULL: raw bytes
    const uint64_t *address;
    uint32_t site;
    uint32_t todo, refused;
    int bytes, align;          // of each lane
    uint32_t kind;             // SIM_NOTE_ bits
    sim_reach reach;
    bool checks;               // initialisation and races are looked at
    bool is_async;             // through the async proxy

    uint32_t lanes;
    sim_target target;
    sim_allocation *allocation;  // GLOBAL
    sim_block *owner;            // SHARED: whose memory it is
    sim_shadow *shadow;        // GLOBAL, SHARED
    uint8_t *base;             // of offset 0; LOCAL: of lane 0
    uint64_t stride;           // LOCAL: from lane to lane, else 0
    bool is_row;               // all 32 lanes, one behind the other
    bool is_same;              // all lanes at one address
    bool races;
    uint32_t mine;             // serial of cells that the touch leaves; 0 without races
    uint32_t known;            // cells up to this serial are ordered before it,
    uint32_t own_begin, own_end; // and those in [own_begin, own_end)
    uint32_t warp_known;       // SHARED: what the warp itself did up to here is known to all its lanes
    uint64_t *cells;           // the access cells that the touch enters; only with races
    uint32_t held_first, held_last; // shards that are locked
    uintptr_t held_page;       // the page of write cells that is locked (SIM_PAGE_SHIFT), if it is one; else 0
    uint32_t met_count;
    sim_met met[SIM_MOST_MET];
    bool any_unwritten;
    uint64_t offset[SIM_LANES];
    uint64_t unwritten[SIM_LANES];  // a bit for each byte of the lane; only with any_unwritten
    uint8_t bit[SIM_LANES];    // elements of less than a byte: the first bit; only with access->bits
} sim_touch;

enum { SIM_TOUCH_BYTES = 64 };  // most bytes of a lane

void sim_touch_open(sim_touch *t, sim_warp *w, const sim_access *access, uint32_t site, uint32_t mask,
                    const uint64_t *address, int bytes, int align, uint32_t kind);
bool sim_touch_next(sim_touch *t);
static inline uint8_t *sim_touch_at(const sim_touch *t, uint32_t lane)
{
    return t->base + t->stride * lane + t->offset[lane];
}

static inline sim *sim_device_of(const sim_warp *w) { return w->block->launch->device; }
static inline void sim_count_access(sim_warp *w, uint32_t site, uint32_t mask, const uint64_t *address, int bytes)
{
    if (sim_device_of(w)->profile)
        sim_profile_access(w, site, mask, address, bytes);
}

// Bytes of global memory may be accessed by several host threads: a race in the kernel must not be a race in the
// simulator. On current machines only ThreadSanitizer can tell the difference.
void sim_bytes_get(uint8_t *to, const uint8_t *from, int bytes, int elem);
void sim_bytes_put(uint8_t *to, const uint8_t *from, int bytes, int elem);

// Private memory: which bytes are initialised (memory_local.c). Poison and results: a bit for each byte.
void sim_local_write(sim_warp *w, uint32_t lane, uint64_t offset, int bytes, uint64_t poison);
uint64_t sim_local_unwritten(sim_warp *w, uint32_t lane, uint64_t offset, int bytes);

// Moves field values between memory and the cells of elements of [bytes] bytes (memory_field.c).
void sim_fields_load(sim_touch *t, uint32_t lane, uint32_t cell, int bytes, int count);
void sim_fields_store(sim_touch *t, uint32_t lane, uint32_t cell, int bytes, int count);
void sim_fields_move(sim_warp *w, uint32_t lane, uint64_t to, uint64_t from, int bytes, int present);

// ---- cells (shadow.c, race_serial.c) ---------------------------------------------------------------------------------

sim_shard *sim_shard_of(sim_memory *m, const uint32_t *cell);
// Locks the cells of [count] granules of global memory from [first] on, at most 4096, and unlocks those that the touch
// held before. Cells of global memory are accessed only under this lock. sim_hold: nothing is locked if the blocks of
// the launch run on one host thread.
void sim_lock_cells(sim_touch *t, uint64_t first, uint64_t count);
void sim_unlock_cells(sim_touch *t);
static inline void sim_hold(sim_touch *t, uint64_t first, uint64_t count)
{
    const uint32_t *cells = t->shadow->write + first;
    if (t->target != SIM_IN_GLOBAL || !t->races || !t->w->block->launch->is_parallel)
        return;
    uintptr_t begin = (uintptr_t)cells >> SIM_PAGE_SHIFT, end = (uintptr_t)(cells + count - 1) >> SIM_PAGE_SHIFT;
    if (begin != t->held_page || end != t->held_page)
        sim_lock_cells(t, first, count);
}
static inline void sim_let_go(sim_touch *t)
{
    if (t->held_first != SIM_NO_SHARD)
        sim_unlock_cells(t);
}
// Makes room for the sites of copies in flight.
void sim_copies_begin(sim_touch *t);

// ---- words (memory_text.c) -------------------------------------------------------------------------------------------

void sim_report_outside(sim_touch *t, uint32_t lane);
void sim_report_misaligned(sim_touch *t, uint32_t lane);
void sim_report_read_only(sim_touch *t, uint32_t lane);
// The lane touches shared memory of a block that has ended.
void sim_report_ended(sim_touch *t, uint32_t lane, const sim_block *owner);
// The lane touches that of a block which may not have started, as far as it knows.
void sim_report_unborn(sim_touch *t, uint32_t lane);
// The last access of the lane to the block's shared memory was not known to be complete when the block ended.
void sim_report_guest(sim_block *owner, const sim_guest *g, uint32_t lane);
void sim_report_red_zone(sim_touch *t, uint32_t lane);
// The source of a copy in flight, which [t] reads on arrival, was written by [writer].
void sim_report_source(sim_touch *t, uint32_t lane, const sim_party *writer);
void sim_report_pending(sim_touch *t, uint32_t lane, uint32_t copy_site);
// [reader] reads, for the lane, what [thread] of [block] wrote at [write_site] and did not fence.
void sim_report_unfenced(sim_warp *w, uint32_t site, uint32_t lane, uint64_t offset, uint32_t write_site, int thread,
                         int64_t block, const char *reader);
// [copy] by the lane overwrites in [home] what [thread] of [block] wrote, or read, at [other_site] and did not fence.
void sim_report_refilled(sim_warp *copy, sim_block *home, uint32_t site, uint32_t lane, uint64_t offset,
                         uint32_t other_site, int thread, int64_t block, bool wrote);
// The lane may touch the allocation while [kernel] (NULL: not known which), launched before, still uses it.
void sim_report_early(sim_touch *t, uint32_t lane, const ir_func *kernel, bool wrote);
void sim_report_poison(sim_touch *t, uint32_t lane, const char *what, uint32_t why);
// The access of the lane to a granule races with that of [other]. [value]: what a write writes, NULL: unknown.
void sim_report_race(sim_touch *t, uint32_t lane, uint64_t granule, const sim_party *other, const uint8_t *value);

// ---- order (race.c) --------------------------------------------------------------------------------------------------

typedef struct sim_remote sim_remote;

// The knowledge of some threads: the last known serial of each thread of the block, and of other blocks.
typedef struct sim_knowledge {
    sim_remote *remote;
    sim_remote *done;            // what other blocks have done, though what they wrote need not be seen
    struct sim_knowledge *next;  // of those that hold a remote part, for the end of the block
    uint32_t serial[];           // by thread
} sim_knowledge;

// A location in memory through which atomic accesses of a block handed over what they know.
typedef struct sim_location {
    sim_knowledge *known;
    uint32_t version;
} sim_location;

typedef struct sim_memo {
    uint32_t site, lanes, kind;
    uint32_t local;   // serial in the block
    uint32_t global;  // serial for cells of global memory, 0: none yet
} sim_memo;

struct sim_order {
    uint32_t serial;     // the last given out
    uint32_t base;       // all threads of the block know everything up to here
    uint32_t origin;     // cells of shared memory count from here
    uint32_t known;      // those up to here are ordered before all that the block does now,
    uint32_t met;        // and those up to here before what others in the cluster do
    VEC(sim_guest) guests;  // since then
    uint32_t log_start;  // log[0] is of the serial behind it
    sim_note *log;
    uint32_t log_count, log_cap;
    uint32_t chunk_next, chunk_end;  // serials of global memory at hand
    uint32_t run_begin;              // where the run of chunks that ends there began
    uint32_t own_begin, own_end;     // cells of global memory that this block left before its last barrier
    bool tracks;         // order matters: with races, in kernels
    bool records;        // accesses to global memory are recorded
    bool is_counted;     // among sim_memory.recording
    bool is_plain;       // no thread knows more than the barriers of its block and its warp tell
    sim_remote *remote;  // what all threads know of other blocks
    sim_remote *done;    // and what these have done, as of sim_knowledge
    sim_knowledge *holders;
    map locations;       // address -> sim_location
    int64_t shadow_bytes;     // of shared memory, as counted
    sim_field *shared_field;  // of each byte of shared memory; NULL: never requested
    struct sim_bulk *bulk;    // memory_bulk.c; NULL: the kernel does not use TMA, or nothing is checked
};

// Knowledge of lanes of a warp beyond barriers: created when it is needed.
typedef struct sim_lanes {
    uint32_t (*lanes)[SIM_LANES];        // [a][b]: what lane a knows of lane b; NULL
    sim_knowledge *all;                  // what all lanes know; NULL
    sim_knowledge *own[SIM_LANES];       // what one lane knows besides; NULL
    sim_knowledge *unfenced[SIM_LANES];  // what it has read by relaxed accesses and will know after a fence; NULL
    sim_remote *unfenced_remote[SIM_LANES];  // the same, after a fence that reaches other blocks
    uint32_t fence[2][SIM_LANES];        // serial at the last fence: of the block, of the device; 0: none
    const void *seen[SIM_LANES];         // the location that was acquired last, and
    uint32_t seen_version[SIM_LANES];    // its version then
    uint32_t fresh;                      // lanes whose own knowledge is not in [all]
    uint32_t waiting;                    // lanes with something in [unfenced] or [unfenced_remote]
} sim_lanes;

enum { SIM_MEMOS = 16 };

struct sim_clock {
    bool is_tma;  // accesses are those of TMA: done is as good as known
    uint32_t epoch;  // serial at the last synchronisation of any lane: later accesses get new ones
    uint32_t base;   // all lanes know all lanes of the warp up to here
    sim_memo memos[SIM_MEMOS];
    sim_lanes *more;
    uint8_t *local_written;  // private memory: a bit for each byte, lane after lane; NULL: nothing is
    uint32_t local_bytes;    // of a lane, when that was made
    sim_field *local_field;  // of each byte, lane after lane; NULL: never requested
};

// Shared memory is about to be accessed at offsets and widths whose lowest bit set in [low] is that of: smaller than the
// granules, they become that small.
void sim_order_refine(sim_block *b, uint64_t low);
// A serial of its own, between what the block has done and what it does next.
uint32_t sim_order_tick(sim_block *b);
// Serials for a touch: fills in races, mine, known, own_begin, own_end.
void sim_order_touch(sim_touch *t);
// The party behind a cell that the touch met, whose serial is not ordered at a glance.
sim_party sim_order_party(const sim_touch *t, uint32_t cell);
static inline int sim_threads_of(const sim_block *b) { return b->warp_count * SIM_LANES; }
sim_lanes *sim_order_more(sim_warp *w);
void sim_order_drop_lanes(sim_memory *m, sim_lanes *more);  // what is counted in them; the caller holds the lock
sim_knowledge *sim_knowledge_new(sim_block *b);
void sim_knowledge_add(sim_block *b, sim_knowledge **into, const sim_knowledge *from);
void sim_knowledge_add_remote(sim_block *b, sim_remote **into, sim_remote *from);
// Raises [serial], by thread of the block, to what all lanes of the warp know; and to what a lane knows besides, and itself
// up to [self].
void sim_knowledge_of_warp(const sim_warp *w, uint32_t *serial);
void sim_knowledge_of_lane(const sim_warp *w, uint32_t lane, uint32_t self, uint32_t *serial);

// Whether the accesses of the note by [other]'s lane happened before what the lane does now.
bool sim_order_knows(const sim_warp *w, uint32_t lane, const sim_party *other);
// Whether the lane knows that the block has begun, which is all that a thread of that block hands over.
bool sim_order_knows_begin(sim_warp *w, uint32_t lane, const sim_block *b);
// An atomic access takes, before it is looked at, what others have left at the address, and if it writes, leaves behind
// what the lane knows, itself included. Addresses in shared and global memory.
void sim_order_take(sim_warp *w, uint32_t lane, uint64_t address, sim_sem sem, sim_reach reach);
void sim_order_give(sim_warp *w, uint32_t lane, uint64_t address, sim_sem sem, sim_reach reach);

// ---- TMA (memory_bulk.c; bulk.h has the rest) ----------------------------------------------------------------------

void sim_bulk_start(sim_block *b);          // a block of a kernel that uses it begins

// ---- what blocks know of each other (race_remote.c) ------------------------------------------------------------------
//
// A map from blocks to what is known of their threads, in nodes that are shared and counted. All of it is under the
// memory's lock, which the callers hold. NULL knows nothing.

typedef struct sim_known_thread {
    uint32_t thread, serial;
} sim_known_thread;

void sim_remote_begin(sim_memory *m, int64_t block_count);  // a launch: forgets everything
// Of block [block]: all threads up to [base], and [count] threads (ascending) further.
sim_remote *sim_remote_of(sim_memory *m, int64_t block, uint32_t base, const sim_known_thread *threads, int count);
sim_remote *sim_remote_keep(sim_remote *r);
void sim_remote_drop(sim_memory *m, sim_remote *r);
// Both together; keeps its arguments as they are.
sim_remote *sim_remote_join(sim_memory *m, sim_remote *a, sim_remote *b);
// *into = both; takes over the count of *into only.
void sim_remote_add(sim_memory *m, sim_remote **into, sim_remote *other);
bool sim_remote_knows(const sim_memory *m, const sim_remote *r, int64_t block, uint32_t thread, uint32_t serial);
