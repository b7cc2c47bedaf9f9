// Shadow state: what is known of each granule of memory. A granule is an element of the allocation's element size (1,
// 2, 4, 8 bytes), in shared memory the smallest size that the block has used so far.
//
// Granules of 2 bytes and more have two cells of 32 bits, the last write and the last reads; granules of one byte have
// a single cell that holds either. So there are at most 4 bytes of cells for each byte of memory.
//
//     write:   lane (5 bits) | PART | PENDING | WRITTEN | 0     | serial (23)
//     read:    lane (5 bits) | SEVERAL | PART | MANY    | PEERS | serial (23)
//     single:  lane (5 bits) | SEVERAL | PENDING | WRITTEN | PEERS | serial (23)
//
// A serial names a note (memory_priv.h): the warp, the lanes and the place of an access. Serials only grow, so that
// "ordered before everything that this block does now" is one comparison with the serial of the last barrier. Serial 0:
// no access, or one that is older than everything.
//
// A read cell keeps one true reader of those that no order connects. A write that is not ordered behind it is a race
// for sure; where the writer is that reader itself, SEVERAL (another lane of the same access read it too), PEERS
// (another lane of the warp did later), MANY (a thread of another warp did) or both (of another block) tell of the
// others. Nothing is reported on a guess: with several readers that know each other in part a race can be missed, but
// none is invented.
//
// PART: the access covered only a part of the granule (global memory that is used with a smaller width than it was
// allocated with). Two such are not compared. Cells of global memory are read and written by several host threads; each
// access to a cell is one relaxed atomic operation, and lost updates can only hide an access that races anyway.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SIM_SERIAL_BITS = 23, SIM_LANE_SHIFT = 27 };
#define SIM_CELL_SERIAL (((uint32_t)1 << SIM_SERIAL_BITS) - 1)
#define SIM_CELL_PEERS ((uint32_t)1 << 23)         // read, single
#define SIM_CELL_BLOCKS (SIM_CELL_MANY | SIM_CELL_PEERS)  // read: readers are in several blocks
#define SIM_CELL_WRITTEN ((uint32_t)1 << 24)       // write, single: the granule is initialised
#define SIM_CELL_MANY ((uint32_t)1 << 24)          // read
#define SIM_CELL_PENDING ((uint32_t)1 << 25)       // write, single: an asynchronous copy is on its way; the read cell
                                                   // holds its site
#define SIM_CELL_READ_PART ((uint32_t)1 << 25)     // read
#define SIM_CELL_SEVERAL ((uint32_t)1 << 26)       // read, single
#define SIM_CELL_WRITE_PART ((uint32_t)1 << 26)    // write
// A write or single cell between two tensors in shared memory: nothing may be touched there.
#define SIM_CELL_RED SIM_CELL_SERIAL
// The largest serial that is given out.
#define SIM_LAST_SERIAL (SIM_CELL_SERIAL - 1)

typedef struct sim_shadow {
    uint32_t *write;  // by granule; NULL: nothing is checked
    uint32_t *read;   // by granule; NULL: granules of one byte
    uint64_t count;   // of granules
    uint8_t shift;    // log2 of a granule's bytes
} sim_shadow;

struct sim_touch;

// The accesses of the lanes of a touch (memory_priv.h), checked and entered.
//
// Reads: fills in [unwritten] and [any_unwritten].
void sim_shadow_read(struct sim_touch *t);
// The two halves of that: reads that are checked only, with [unwritten] and [any_unwritten], and those that are entered
// only.
void sim_shadow_look(struct sim_touch *t);
void sim_shadow_enter(struct sim_touch *t);
// Writes of initialised values by all lanes one behind the other, if nothing about them needs a closer look: else false,
// and nothing is done.
bool sim_shadow_write_row(struct sim_touch *t);
// The write of one lane, before the bytes are written. [value]: the new bytes, by which writes of the same value are
// known to be harmless, or NULL. [poison]: a bit for each byte that is not initialised.
void sim_shadow_write(struct sim_touch *t, uint32_t lane, const uint8_t *value, uint64_t poison);
// A copy to the lane's bytes is on its way, after a check like that of a write; and it has arrived ([poison] as above).
void sim_shadow_pend(struct sim_touch *t, uint32_t lane);
void sim_shadow_land(struct sim_touch *t, uint32_t lane, uint64_t poison);

// All granules of these bytes count as written long ago; and whether they are initialised, *[first] the first that is not.
void sim_shadow_mark(sim_shadow *s, uint64_t offset, uint64_t bytes);
bool sim_shadow_is_written(const sim_shadow *s, uint64_t offset, uint64_t bytes, uint64_t *first);
// Forgets who accessed what; what is initialised, pending or red stays so. Others may mark granules as written meanwhile.
void sim_shadow_forget(sim_shadow *s);
