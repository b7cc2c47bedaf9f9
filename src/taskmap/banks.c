// Shared-memory banks: which lanes are served together and how often they have to wait for each other.

#include "taskmap/layout.h"
#include "taskmap/taskmap_priv.h"

enum { REQUEST_BYTES = 16, MOST_WORDS = 2 * TM_WARP };

// One warp-wide request: each lane accesses [bytes] bytes, [skip] bytes after its run of tasks begins.
typedef struct request {
    const tm_map *m;
    const tm_layout *l;
    int element_bytes;
    int64_t first_worker;
    int64_t position;
    int64_t skip;
    int bytes;
} request;

// The different words of a phase. A lane touches at most (bytes + 3) / 4 + 1 of them, so all lanes at most MOST_WORDS.
typedef struct word_set {
    int count;
    int64_t words[MOST_WORDS];
    int in_bank[TM_BANKS];
} word_set;

static void add_word(word_set *set, int64_t word)
{
    for (int i = 0; i < set->count; i++)
        if (set->words[i] == word)
            return;
    set->words[set->count++] = word;
    set->in_bank[word % TM_BANKS]++;
}

static bool lane_start(const request *r, int64_t worker, int64_t *byte)
{
    int64_t coords[TM_MAX_RANK];
    tm_task(r->m, worker, r->position, coords);
    if (!tm_layout_in_bounds(r->l, coords))
        return false;
    *byte = tm_layout_offset(r->l, coords) * r->element_bytes + r->skip;
    return true;
}

static int lanes_per_phase(int bytes)
{
    return bytes <= 4 ? TM_WARP : bytes <= 8 ? TM_WARP / 2 : TM_WARP / 4;
}

// Fills in activity and degrees; false if no lane of the phase is active.
static bool measure(const request *r, tm_phase *phase)
{
    int64_t starts[TM_WARP];
    word_set set = {0};
    bool any = false;
    for (int i = 0; i < phase->lanes; i++) {
        phase->active[i] = lane_start(r, phase->first_worker + i, &starts[i]);
        any |= phase->active[i];
        int64_t last = phase->active[i] ? (starts[i] + r->bytes - 1) / TM_BANK_BYTES : -1;
        for (int64_t word = phase->active[i] ? starts[i] / TM_BANK_BYTES : 0; word <= last; word++)
            add_word(&set, word);
    }
    phase->passes = 0;
    for (int i = 0; i < phase->lanes; i++) {
        phase->degree[i] = 0;
        int64_t last = phase->active[i] ? (starts[i] + r->bytes - 1) / TM_BANK_BYTES : -1;
        for (int64_t word = phase->active[i] ? starts[i] / TM_BANK_BYTES : 0; word <= last; word++)
            if (set.in_bank[word % TM_BANKS] > phase->degree[i])
                phase->degree[i] = set.in_bank[word % TM_BANKS];
        if (phase->degree[i] > phase->passes)
            phase->passes = phase->degree[i];
    }
    return any;
}

typedef void phase_visit(void *context, const tm_phase *phase);

static void each_phase_of(const request *r, phase_visit *visit, void *context)
{
    int64_t end = r->first_worker + TM_WARP < r->m->workers ? r->first_worker + TM_WARP : r->m->workers;
    int lanes = lanes_per_phase(r->bytes);
    bool first = true;
    for (int64_t worker = r->first_worker; worker < end; worker += lanes) {
        tm_phase phase = {.first_worker = worker, .position = r->position, .first_of_request = first};
        phase.lanes = (int)(worker + lanes < end ? lanes : end - worker);
        if (!measure(r, &phase))
            continue;
        visit(context, &phase);
        first = false;
    }
}

void tm_each_phase(const tm_map *m, const tm_layout *l, int element_bytes, int vector, phase_visit *visit,
                   void *context)
{
    if (m->rank != l->rank || element_bytes < 1 || vector < 1)
        return;
    request r = {.m = m, .l = l, .element_bytes = element_bytes};
    for (; r.first_worker < m->workers; r.first_worker += TM_WARP) {
        for (r.position = 0; r.position < m->tasks_per_worker; r.position += vector) {
            int64_t left = m->tasks_per_worker - r.position;
            int64_t bytes = (left < vector ? left : vector) * element_bytes;
            for (r.skip = 0; r.skip < bytes; r.skip += REQUEST_BYTES) {
                r.bytes = (int)(bytes - r.skip < REQUEST_BYTES ? bytes - r.skip : REQUEST_BYTES);
                each_phase_of(&r, visit, context);
            }
        }
    }
}

static void count_phase(void *context, const tm_phase *phase)
{
    tm_banks *banks = context;
    banks->accesses += phase->first_of_request;
    banks->ideal++;
    banks->wavefronts += phase->passes;
    if (phase->passes > banks->worst)
        banks->worst = phase->passes;
}

tm_banks tm_bank_conflicts(const tm_map *m, const tm_layout *l, int element_bytes, int vector)
{
    tm_banks banks = {0};
    tm_each_phase(m, l, element_bytes, vector, count_phase, &banks);
    return banks;
}
