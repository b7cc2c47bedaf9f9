// `hdsc mapping EXPR [--layout EXPR] [--bytes N] [-o map.svg] [--table]`: a mapping, what it does and what it costs.
#pragma once

#include "taskmap/draw.h"

typedef struct cmd_mapping_options {
    int element_bytes; // --bytes; 0: facts for 1, 2, 4, 8 and 16, pictures for 4
    bool table;        // --table: each worker's list of tasks
    bool colours;      // the output is a terminal
    int columns;       // its width; 0: 120
    str_buf *svg;      // -o: gets the picture; NULL: none is wanted
} cmd_mapping_options;

// Writes facts and grids to [out]. [map] or [layout] may be NULL, but not both. Gives the exit status: 0, or 1 when the
// two do not fit together, which [out] then says in one line.
int cmd_mapping_show(const tm_map *map, const tm_layout *layout, const cmd_mapping_options *o, str_buf *out);
