#include "target/arch.h"

#include <string.h>

static const arch table[] = {
#define ARCH(name, major, minor, accelerated, smem_block, smem_sm, registers, warps, blocks)                           \
    {name, major, minor, accelerated, smem_block, smem_sm, registers, warps, blocks},
#include "target/arch.def"
#undef ARCH
};

enum { ARCH_COUNT = sizeof table / sizeof *table };

const arch *arch_at(int index)
{
    return index >= 0 && index < ARCH_COUNT ? &table[index] : NULL;
}

// The "90a" of "sm_90a", "compute_90a" or "90a".
static str bare_name(str name)
{
    static const str prefixes[] = {{"sm_", 3}, {"compute_", 8}};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (str_starts(name, prefixes[i]))
            return (str){name.at + prefixes[i].len, name.len - prefixes[i].len};
    }
    return name;
}

// Whether "9.0" (with an "a" after it for accelerated ones) is [a].
static bool is_dotted(str name, const arch *a)
{
    const char *bare = a->name + 3;
    size_t digits = strspn(bare, "0123456789"), at = 0;
    for (size_t i = 0; bare[i]; i++) {
        if (i + 1 == digits && (at >= name.len || name.at[at++] != '.'))
            return false;
        if (at >= name.len || name.at[at++] != bare[i])
            return false;
    }
    return at == name.len;
}

const arch *arch_find(str name)
{
    str bare = bare_name(name);
    for (int i = 0; i < ARCH_COUNT; i++) {
        if (str_equal(bare, str_of(table[i].name + 3)) || is_dotted(name, &table[i]))
            return &table[i];
    }
    return NULL;
}

bool arch_has(const arch *have, const arch *needed)
{
    if (needed->accelerated)
        return strcmp(have->name, needed->name) == 0;
    return have->major > needed->major || (have->major == needed->major && have->minor >= needed->minor);
}
