#include <string.h>
#include <strings.h>

#include "diag/diag.h"

const char *diag_suggest(arena *a, const char *name, const char *const *names, size_t count)
{
    const char *best = NULL;
    int limit = strlen(name) < 3 ? 1 : 2, least = limit + 1;
    for (size_t i = 0; i < count; i++) {
        int distance = str_distance(str_of(name), str_of(names[i]), limit);
        if (distance < least && distance < (int)strlen(names[i])) {
            least = distance;
            best = names[i];
        }
    }
    for (size_t i = 0; !best && i < count; i++)
        best = strcasecmp(name, names[i]) == 0 ? names[i] : NULL;
    return best ? arena_printf(a, "did you mean '%s'?", best) : NULL;
}
