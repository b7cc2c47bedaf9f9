// What the two renderers share.
#pragma once

#include "diag/diag.h"

const char *diag_severity_name(diag_severity severity);
