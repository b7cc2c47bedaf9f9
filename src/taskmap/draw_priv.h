// Declarations shared by the two kinds of picture.
#pragma once

#include "taskmap/draw.h"

enum { TM_DRAW_MOST_CELLS = 1 << 20 };

// An index space cut into slices of rows and columns.
typedef struct tm_grid {
    int rank;
    int64_t shape[TM_MAX_RANK];
    int64_t slices, rows, columns;
} tm_grid;

typedef struct tm_picture {
    const tm_map *m;    // or NULL
    const tm_layout *l; // or NULL
    tm_grid tasks;      // of the mapping; of the layout without one
    tm_grid elements;   // of the layout, as far as the mapping reaches; empty without a layout
    int element_bytes;
    int vector;
    uint8_t *degrees; // conflict degree by flat index of [elements]; NULL: not known
    tm_banks banks;   // with [degrees]
} tm_picture;

// In the arena of [options]' output buffer.
tm_picture tm_picture_of(arena *a, const tm_map *m, const tm_layout *l, const tm_draw_options *options);

void tm_grid_index(const tm_grid *g, int64_t slice, int64_t row, int64_t column, int64_t *index);
// "[2, :, :]"
void tm_grid_slice_name(const tm_grid *g, int64_t slice, str_buf *out);

// The worker of a cell, or -1.
int64_t tm_picture_worker(const tm_picture *p, const int64_t *index, int64_t *position);
int tm_picture_bank(const tm_picture *p, const int64_t *index);
int tm_picture_degree(const tm_picture *p, const int64_t *index);

// "32 workers, shape (16, 8), 4 tasks each" and "each task is done 4 times", "12 of 128 tasks …" where that is so.
void tm_picture_facts(const tm_picture *p, str_buf *out);
// "4-byte elements, 4 at a time: 16 requests in 64 passes (64 without conflicts)"
void tm_picture_bank_facts(const tm_picture *p, str_buf *out);
