// Texts built into the program, as cmake/HdsEmbed.cmake writes them: a table ends with a row of zeros.
#pragma once

typedef struct embedded_text {
    const char *name;  // of the file, without its folder: "cuda.hds"
    const char *text;
} embedded_text;
