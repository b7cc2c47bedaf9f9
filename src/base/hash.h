// Hashes of bytes, for tables in memory. They differ between machines: nothing that is written depends on them.
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t hash_bytes(const void *key, size_t len);
