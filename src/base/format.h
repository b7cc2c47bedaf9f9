// printf-like formatting without the C library's cost: most of the compiler's texts are put together from strings and
// plain numbers, and they are millions.
#pragma once

#include <stdarg.h>
#include <stddef.h>

// vsnprintf that may be called twice: [args] stays usable.
int str_vformat(char *out, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
