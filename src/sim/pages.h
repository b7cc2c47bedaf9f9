// Pages from the system: large zeroed memory that costs nothing until it is touched. Address space is not memory, so
// callers keep their own limits.
#pragma once

#include <stddef.h>

// [bytes] zeros, aligned to a page; NULL when the system refuses. 0 bytes give NULL.
void *sim_pages_map(size_t bytes);
// Gives back what sim_pages_map returned for the same [bytes]. NULL is allowed.
void sim_pages_unmap(void *pages, size_t bytes);
// Bytes of memory that the machine has.
size_t sim_pages_of_machine(void);
