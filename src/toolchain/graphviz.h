// Graphviz's program dot, found in $PATH: drawings of graphs.
#pragma once

#include "diag/diag.h"

// What dot makes of [text], as SVG: from the element <svg> on, in [a]. False after reporting HDS0835 or HDS0836.
bool tool_dot_svg(arena *a, diag_context *dx, str text, str *out);
