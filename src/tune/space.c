// What a SearchSpace has to say, and which sizes it is asked about.
#include <string.h>

#include "pipeline/evaluate.h"
#include "pipeline/job.h"
#include "tensor/spec.h"
#include "tune/tune_priv.h"

static const src_span nowhere = {0, 0};

enum { MOST_KEYS = 10000 };

void tune_init(tune *t, arena *a, src_map *sources, diag_context *diags, const pl_options *options, const char *expression)
{
    *t = (tune){.arena = a, .sources = sources, .diags = diags, .options = options, .expression = expression};
}

void tune_free(tune *t)
{
    for (size_t i = 0; i < t->units.len; i++)
        pl_unit_free(t->units.at[i]);
    t->units.len = 0;
}

// ---- asking -----------------------------------------------------------------------------------------------------

static pl_status ask(tune *t, const char *const *calls, int count, const char **answers)
{
    const tc_question question = {.subject = t->expression,
                                  .kind = "a SearchSpace of hidet.lang.search_space",
                                  .method = "survey",
                                  .calls = calls,
                                  .call_count = count};
    pl_asking *asking = ARENA_NEW(t->arena, pl_asking);
    VEC_PUSH(t->arena, &t->units, &asking->unit);
    pl_status status = pl_ask(asking, t->options, &question, t->arena->oom);
    for (int i = 0; asking->answers && i < count; i++)
        answers[i] = asking->answers[i];
    if (status == PL_OK && !asking->answers)
        status = PL_ERRORS;
    pl_diags_merge(t->diags, &asking->unit.diags);
    return status;
}

// [text] split at [separator].
const char *const *tune_split(arena *a, const char *text, char separator, int *count)
{
    VEC(const char *) parts = {0};
    for (const char *at = text; *text;) {
        const char *end = strchr(at, separator);
        size_t len = end ? (size_t)(end - at) : strlen(at);
        VEC_PUSH(a, &parts, arena_strndup(a, at, len));
        if (!end)
            break;
        at = end + 1;
    }
    *count = (int)parts.len;
    return parts.at;
}

pl_status tune_describe(tune *t, tune_space *out)
{
    arena *a = t->arena;
    const char *answer = NULL;
    int count = 0;
    pl_status status = ask(t, &(const char *){"describe()"}, 1, &answer);
    if (status != PL_OK)
        return status;
    const char *const *lines = tune_split(a, answer, '\n', &count);
    out->name = lines[0];
    out->sizes = tune_split(a, lines[1], ' ', &out->size_count);
    out->labels = lines + 2;
    out->count = count - 2;
    return PL_OK;
}

const char *tune_entry(tune *t, const tune_space *space, int candidate)
{
    return arena_printf(t->arena, "(%s).instance(\"%s\")", t->expression, space->labels[candidate]);
}

const char *tune_size_text(arena *a, const tune_space *space, const int64_t *sizes)
{
    str_buf text;
    str_buf_init(&text, a);
    for (int i = 0; i < space->size_count; i++)
        str_addf(&text, "%s%s=%lld", i ? " " : "", space->sizes[i], (long long)sizes[i]);
    return text.len ? str_text(&text) : "any sizes";
}

// ---- words ------------------------------------------------------------------------------------------------------

static bool bad(tune *t, const char *text, const char *why)
{
    diag_report(t->diags, HDS0826, nowhere, text, why);
    return false;
}

// ---- keys -------------------------------------------------------------------------------------------------------

static int size_index(const tune_space *space, const char *name)
{
    for (int i = 0; i < space->size_count; i++) {
        if (strcmp(space->sizes[i], name) == 0)
            return i;
    }
    return -1;
}

// Those of the words that are no sizes.
static const tune_words *other_words(tune *t, const tune_space *space, const tune_words *words)
{
    arena *a = t->arena;
    tune_words *others = ARENA_NEW(a, tune_words);
    for (size_t i = 0; i < words->len; i++) {
        if (size_index(space, words->at[i].name) < 0)
            VEC_PUSH(a, others, words->at[i]);
    }
    return others;
}

static const tune_word *word_of(const tune_words *words, const char *name)
{
    const tune_word *found = NULL;
    for (size_t i = 0; i < words->len; i++) {
        if (strcmp(words->at[i].name, name) == 0)
            found = &words->at[i];
    }
    return found;
}

static bool has_key(const tune_keys *keys, const char *text)
{
    for (size_t i = 0; i < keys->len; i++) {
        if (strcmp(keys->at[i].text, text) == 0)
            return true;
    }
    return false;
}

// All combinations of the values that the sizes from [index] on have.
static bool add_keys(tune *t, const tune_space *space, const tune_words *words, const tune_words *others, int index,
                     int64_t *sizes, tune_keys *out)
{
    arena *a = t->arena;
    if (index == space->size_count) {
        tune_key key = {.text = tune_size_text(a, space, sizes), .words = others};
        key.sizes = ARENA_ARRAY(a, int64_t, space->size_count + 1);
        memcpy(key.sizes, sizes, (size_t)space->size_count * sizeof *sizes);
        if (!has_key(out, key.text))
            VEC_PUSH(a, out, key);
        return out->len <= MOST_KEYS || bad(t, space->name, "would be tuned for more than 10000 sets of sizes");
    }
    const tune_word *w = word_of(words, space->sizes[index]);
    if (!w) {
        diag *d = diag_report(t->diags, HDS0826, nowhere, space->name,
                              arena_printf(a, "is tuned by '%s', which is not given", space->sizes[index]));
        diag_help(d, "give it, as in %s=4096", space->sizes[index]);
        return false;
    }
    int count = 0;
    const char *const *values = tune_split(a, w->value, ',', &count);
    bool ok = count > 0 || bad(t, w->text, "has no value");
    for (int i = 0; ok && i < count; i++) {
        uint64_t bits = 0;
        const char *why = ten_number_parse(a, values[i], DT_I64, &bits);
        ok = (!why && (int64_t)bits >= 0) || bad(t, w->text, "has a size that is not a non-negative integer");
        sizes[index] = (int64_t)bits;
        ok = ok && add_keys(t, space, words, others, index + 1, sizes, out);
    }
    return ok;
}

bool tune_add_keys(tune *t, const tune_space *space, const tune_words *words, tune_keys *out)
{
    int64_t *sizes = ARENA_ARRAY(t->arena, int64_t, space->size_count + 1);
    return add_keys(t, space, words, other_words(t, space, words), 0, sizes, out);
}

// ---- estimates --------------------------------------------------------------------------------------------------

// "1.25", then "\tname=value" for each of the scalars.
static void read_estimate(arena *a, const char *line, tune_estimate *out)
{
    int count = 0;
    *out = (tune_estimate){.is_valid = strcmp(line, "-") != 0};
    if (!out->is_valid)
        return;
    const char *const *parts = tune_split(a, line, '\t', &count);
    out->cost = str_to_double(parts[0]);
    for (int i = 1; i < count; i++) {
        size_t len = strcspn(parts[i], "=");
        VEC_PUSH(a, &out->values, ((tune_word){parts[i], arena_strndup(a, parts[i], len), parts[i] + len + 1}));
    }
}

static const char *survey_call(arena *a, const tune_space *space, const tune_key *key, int64_t sm_count)
{
    str_buf call;
    str_buf_init(&call, a);
    str_addf(&call, "survey(%lld", (long long)sm_count);
    for (int i = 0; i < space->size_count; i++)
        str_addf(&call, ", %lld", (long long)key->sizes[i]);
    str_addc(&call, ')');
    return str_text(&call);
}

pl_status tune_survey(tune *t, const tune_space *space, tune_key *keys, size_t count,
                          const int64_t *sm_count)
{
    arena *a = t->arena;
    const char **calls = ARENA_ARRAY(a, const char *, count + 1), **answers = ARENA_ARRAY(a, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        calls[i] = survey_call(a, space, &keys[i], sm_count[i]);
    pl_status status = ask(t, calls, (int)count, answers);
    for (size_t i = 0; status == PL_OK && i < count; i++) {
        int lines_count = 0;
        const char *const *lines = tune_split(a, answers[i], '\n', &lines_count);
        keys[i].estimates = ARENA_ARRAY(a, tune_estimate, space->count + 1);
        for (int k = 0; k < space->count && k < lines_count; k++)
            read_estimate(a, lines[k], &keys[i].estimates[k]);
    }
    return status;
}

void tune_rank(tune *t, const tune_space *space, tune_key *key, int most)
{
    key->chosen = ARENA_ARRAY(t->arena, int, space->count + 1);
    key->chosen_count = 0;
    for (int k = 0; k < space->count; k++) {
        if (!key->estimates[k].is_valid)
            continue;
        int at = key->chosen_count++;
        for (; at > 0 && key->estimates[k].cost < key->estimates[key->chosen[at - 1]].cost; at--)
            key->chosen[at] = key->chosen[at - 1];
        key->chosen[at] = k;
    }
    if (most && key->chosen_count > most)
        key->chosen_count = most;
}
