// The functions of sorts.cu, as the headers say it that hdsc writes: bench/memory/header.py reads them.
#ifndef SORTS_H
#define SORTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int hdsrt_status;
typedef void *hdsrt_stream;

const char *hdsrt_last_error(void);

// sort_f16_cub_segmented
//
//     x  f16[m, n], read
//     y  f16[m, n], written
hdsrt_status sort_f16_cub_segmented(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream);

// sort_f32_cub_segmented
//
//     x  f32[m, n], read
//     y  f32[m, n], written
hdsrt_status sort_f32_cub_segmented(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream);

// sort_f16_cub_radix
//
//     x  f16[m, n], read
//     y  f16[m, n], written
hdsrt_status sort_f16_cub_radix(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream);

// sort_f32_cub_radix
//
//     x  f32[m, n], read
//     y  f32[m, n], written
hdsrt_status sort_f32_cub_radix(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream);

// sort_f16_cub_block
//
//     x  f16[m, n], read
//     y  f16[m, n], written
hdsrt_status sort_f16_cub_block(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream);

// sort_f32_cub_block
//
//     x  f32[m, n], read
//     y  f32[m, n], written
hdsrt_status sort_f32_cub_block(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream);

#ifdef __cplusplus
}
#endif

#endif
