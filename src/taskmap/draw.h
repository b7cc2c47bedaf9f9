// Mappings and layouts as pictures: a grid for a terminal and an SVG file.
//
// Rank 1 is drawn as one row, more than two dimensions as slices over the last two. A mapping's cells read "T5.2": the
// task is number 2 of worker 5. Where several workers do a task, the first is shown. A layout's cells are offsets and,
// if the width of an element is known, banks of shared memory, marked where the access of the mapping conflicts.
#pragma once

#include "taskmap/layout.h"

typedef struct tm_draw_options {
    int columns;       // width of the terminal in characters; 0: 120. What does not fit is cut, with a note
    int rows;          // most rows of a text grid; 0: 64
    bool colours;      // ANSI colours by worker (text)
    int element_bytes; // width of an element, for banks; 0: no banks
    int vector;        // elements of one access; 0: as many as tm_widest_access allows in 16 bytes
} tm_draw_options;

// [m] or [l] may be NULL, but not both. Where both are given, what they share is drawn of the layout.
void tm_draw_text(const tm_map *m, const tm_layout *l, const tm_draw_options *options, str_buf *out);

// A whole SVG file: cells coloured by worker, with the mapping's text and facts as title; with a layout, its offsets in
// the cells and, if the width of an element is known, a second panel of banks. Grids of more than 64 rows or columns
// are drawn small and without text, and cut at 256.
void tm_draw_svg(const tm_map *m, const tm_layout *l, const tm_draw_options *options, str_buf *out);
