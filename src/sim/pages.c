#include "sim/pages.h"

#include <sys/mman.h>
#include <unistd.h>

void *sim_pages_map(size_t bytes)
{
    if (!bytes)
        return NULL;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void sim_pages_unmap(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

size_t sim_pages_of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : (size_t)1 << 32;
}
