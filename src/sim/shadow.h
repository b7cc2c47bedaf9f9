// Shadow state: what is known of each granule of memory. A granule is an element of the allocation's element size (1,
// 2, 4, 8 bytes), in shared memory the smallest size that the block has used so far.
//
// Each granule has a write cell of 32 bits, the last plain write, and access cells of 64 bits, the accesses since then
// that no order connects (in the terms of FastTrack: the write epoch, and the read epoch or read set).
//
//     write:   lane (5 bits) | PART | PENDING | WRITTEN | MIXED | serial (23)
//     access:  lanes (32 bits) | SETTLED | PART | SPECIAL | LIST | serial (23)
//
// A serial names a note (memory_priv.h): the warp, the lanes and the source location of an access. Serials only grow, so
// that "ordered before everything that this block does now" is one comparison with the serial of the last barrier.
// Serial 0: no access, or one ordered before everything.
//
// An access cell holds the accesses of one note with the lanes that touched the granule, or (LIST) the index of a list
// of them; then the serial is the largest in the list. An access leaves the cell when a later one of the same kind is
// ordered behind it, or a plain write of the whole granule comes. Accesses are plain reads and (SPECIAL) whatever must
// not replace the last plain write: atomic operations, writes of a part of the granule, writes of the value that was
// there. MIXED in the write cell tells readers that there are such writes among the accesses.
//
// Global memory has one access cell for each granule. Shared memory has one for each granule and each warp of the
// cluster that has touched the block's memory, so that warps that read the same tile don't need lists.
//
// SETTLED: the list has plain reads by two clusters of a kernel whose clusters do not synchronise with each other. No
// write can be ordered behind both, so further reads add nothing.
//
// PART: the access covered only a part of the granule (global memory that is used with a smaller width than it was
// allocated with). Two such are not compared.
//
// Cells of global memory are used by several host threads: under the lock of a shard (sim_shard), except for what a
// relaxed look may tell.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { SIM_SERIAL_BITS = 23, SIM_LANE_SHIFT = 27, SIM_ACCESS_LANES = 32 };
#define SIM_CELL_SERIAL (((uint32_t)1 << SIM_SERIAL_BITS) - 1)
#define SIM_CELL_MIXED ((uint32_t)1 << 23)
#define SIM_CELL_WRITTEN ((uint32_t)1 << 24)  // the granule is initialised
#define SIM_CELL_PENDING ((uint32_t)1 << 25)  // an asynchronous copy to it has started: see sim_shadow.copies
#define SIM_CELL_PART ((uint32_t)1 << 26)
#define SIM_ACCESS_LIST ((uint32_t)1 << 23)
#define SIM_ACCESS_SPECIAL ((uint32_t)1 << 24)
#define SIM_ACCESS_PART ((uint32_t)1 << 25)
#define SIM_ACCESS_SETTLED ((uint32_t)1 << 26)
// A write cell between two tensors in shared memory: nothing may be touched there.
#define SIM_CELL_RED SIM_CELL_SERIAL
// The largest serial that is given out.
#define SIM_LAST_SERIAL (SIM_CELL_SERIAL - 1)

// Accesses of one note in a list.
typedef struct sim_entry {
    uint32_t serial;  // with SPECIAL and PART
    uint32_t lanes;
    uint32_t next;    // 0: the last
} sim_entry;

// Where lists have their entries.
typedef struct sim_entries {
    arena *arena;
    sim_entry *at;      // [0] is none
    uint32_t count, cap;
    uint32_t free;      // the first of those that are free again
    uint32_t base;      // lists of cells up to this serial are gone
} sim_entries;

typedef struct sim_shadow {
    uint32_t *write;    // by granule; NULL: nothing is checked
    uint64_t *access;   // global memory: by granule
    uint64_t **by_warp; // shared memory: the same for each warp of the cluster; NULL: it has not touched the memory
    int warps;
    uint32_t *copies;   // by granule with PENDING: site of the copy; NULL: there was none
    uint64_t count;     // of granules
    uint8_t shift;      // log2 of a granule's bytes
    sim_entries entries;  // shared memory
} sim_shadow;

struct sim_touch;
struct sim_party;

// The accesses of the lanes of a touch (memory_priv.h), checked and entered.
//
// Reads: fills in [unwritten] and [any_unwritten].
void sim_shadow_read(struct sim_touch *t);
// The two halves of that: reads that are checked only, with [unwritten] and [any_unwritten], and those that are entered
// only.
void sim_shadow_look(struct sim_touch *t);
void sim_shadow_enter(struct sim_touch *t);
// Writes of initialised values by all lanes at consecutive addresses, on the fast path only: else returns false and
// does nothing.
bool sim_shadow_write_row(struct sim_touch *t);
// The write of one lane, before the bytes are written. [value]: the new bytes, by which writes of the same value are
// known to be harmless, or NULL. [poison]: a bit for each byte that is not initialised.
void sim_shadow_write(struct sim_touch *t, uint32_t lane, const uint8_t *value, uint64_t poison);
// A copy to the lane's bytes is in flight, after a check as for a write; and it has arrived ([poison] as above).
void sim_shadow_pend(struct sim_touch *t, uint32_t lane);
void sim_shadow_land(struct sim_touch *t, uint32_t lane, uint64_t poison);
// Whether a thread of the touch's block has written the granule behind serial [since].
bool sim_shadow_written_since(struct sim_touch *t, uint64_t granule, uint32_t since, struct sim_party *writer);

// Marks all granules of these bytes as written before everything; and whether they are initialised, *[first]: the first
// that is not.
void sim_shadow_mark(sim_shadow *s, uint64_t offset, uint64_t bytes);
bool sim_shadow_is_written(const sim_shadow *s, uint64_t offset, uint64_t bytes, uint64_t *first);
// Clears the records of accesses; initialised, pending and red granules stay so. Others may mark granules as written
// meanwhile.
void sim_shadow_forget(sim_shadow *s);
// Shared memory: all accesses up to [serial] are ordered before all later ones, so lists are freed.
void sim_shadow_settle(sim_shadow *s, uint32_t serial);
// Makes the granules of shared memory smaller: [fine] has the cells for them, all zero but for red zones.
void sim_shadow_split(const sim_shadow *coarse, sim_shadow *fine);
