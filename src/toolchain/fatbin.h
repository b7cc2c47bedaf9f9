// Fat binaries: cubins and PTX for several architectures in one file, from which the CUDA driver takes what fits.
//
// The container is not documented; its structure is what CUDA 13.0's fatbinary writes with --compress-all
// --compress-mode=speed (LZ4, which drivers take since long before CUDA 12.0). Little-endian throughout:
//
//     file header   u32 magic 0xba55ed50, u16 version 1, u16 header size 16, u64 bytes that follow
//     per image     u16 kind (1 PTX, 2 ELF), u16 version 0x0101, u32 header size, u64 payload size (a multiple of 8),
//                   u32 bytes of a compressed payload or 0, u32 offset of the options block or 0, u16 minor, u16 major
//                   (of the PTX or ELF version), u32 architecture (90), u32 0, u32 0, u64 flags, u64 0,
//                   u64 bytes that a compressed payload becomes or 0;
//                   options block: u32 offset of the options text, u32 size of the compatibility record, the text with
//                   its 0, the record; padded to 8.
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "target/arch.h"

typedef struct tool_image {
    const arch *arch;
    bool is_ptx;
    str bytes;
} tool_image;

// The container's bytes, in [a]. False if an image is not what it claims to be (no cubin, or PTX without a version);
// its index is then in *[bad].
bool tool_fatbin_make(arena *a, const tool_image *images, size_t count, str *out, size_t *bad);
