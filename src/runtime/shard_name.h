// The rule for names of shards in an index of weights. It is code in a header because libhds, which reads indexes as it compiles,
// sees of libhdsrt only what programs see.
#pragma once

#include <stdbool.h>
#include <string.h>

// Whether a shard's name stays in the index's folder and the folders below it. Links there are the user's own.
static inline bool shard_stays_inside(const char *name)
{
    if (!*name || *name == '/')
        return false;
    for (const char *at = name; *at;) {
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.')
            return false;
        at += len + (at[len] == '/');
    }
    return true;
}
