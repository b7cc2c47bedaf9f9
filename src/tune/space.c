// What a SearchSpace has to say, and which sizes it is asked about.
#include <string.h>

#include "base/file.h"
#include "driver/tune.h"
#include "pipeline/evaluate.h"
#include "pipeline/job.h"

static const src_span nowhere = {0, 0};

enum { MOST_KEYS = 10000 };

// ---- asking -----------------------------------------------------------------------------------------------------

static pl_status ask(tune_request *q, const tune_space *space, const char *const *calls, int count, const char **answers)
{
    const tc_question question = {.subject = space->expression,
                                  .kind = "a SearchSpace of hidet.lang.search_space",
                                  .method = "survey",
                                  .calls = calls,
                                  .call_count = count};
    pl_asking *asking = ARENA_NEW(&q->shared.memory, pl_asking);
    VEC_PUSH(&q->shared.memory, &q->units, &asking->unit);
    pl_status status = pl_ask(asking, &q->shared.options, &question, &cmd_oom);
    for (int i = 0; asking->answers && i < count; i++)
        answers[i] = asking->answers[i];
    if (status == PL_OK && !asking->answers)
        status = PL_ERRORS;
    if (status == PL_NO_MEMORY)
        fprintf(stderr, "hdsc: out of memory while compiling '%s'\n", space->file);
    pl_diags_merge(&q->diags, &asking->unit.diags);
    return status;
}

// [text] split at [separator].
static const char *const *split(arena *a, const char *text, char separator, int *count)
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

static void split_target(tune_request *q, tune_space *out)
{
    const char *target = q->shared.inputs.at[0], *colons = strstr(target, "::");
    out->file = colons ? arena_strndup(&q->shared.memory, target, (size_t)(colons - target)) : target;
    out->expression = colons ? colons + 2 : "SPACE";
    q->shared.options.input = out->file;
}

pl_status cmd_tune_describe(tune_request *q, tune_space *out)
{
    arena *a = &q->shared.memory;
    const char *answer = NULL;
    int count = 0;
    split_target(q, out);
    pl_status status = ask(q, out, &(const char *){"describe()"}, 1, &answer);
    if (status != PL_OK)
        return status;
    const char *const *lines = split(a, answer, '\n', &count);
    out->name = lines[0];
    out->sizes = split(a, lines[1], ' ', &out->size_count);
    out->labels = lines + 2;
    out->count = count - 2;
    return PL_OK;
}

const char *cmd_tune_entry(arena *a, const tune_space *space, int candidate)
{
    return arena_printf(a, "(%s).instance(\"%s\")", space->expression, space->labels[candidate]);
}

const char *cmd_tune_text(arena *a, const tune_space *space, const int64_t *sizes)
{
    str_buf text;
    str_buf_init(&text, a);
    for (int i = 0; i < space->size_count; i++)
        str_addf(&text, "%s%s=%lld", i ? " " : "", space->sizes[i], (long long)sizes[i]);
    return text.len ? str_text(&text) : "any sizes";
}

// ---- words ------------------------------------------------------------------------------------------------------

static bool bad(tune_request *q, const char *text, const char *why)
{
    diag_report(&q->diags, HDS0826, nowhere, text, why);
    return false;
}

// A line of --shapes: words, and a comment behind '#'.
static bool take_line(tune_request *q, const tune_words *common, const char *line)
{
    arena *a = &q->shared.memory;
    tune_words words = {0};
    for (size_t i = 0; i < common->len; i++)
        VEC_PUSH(a, &words, common->at[i]);
    size_t before = words.len;
    for (const char *at = line; *at && *at != '#';) {
        size_t len = strcspn(at, " \t\r#");
        const char *text = arena_strndup(a, at, len);
        size_t name = cmd_run_name_length(text);
        if (len && !name)
            return bad(q, text, arena_printf(a, "is not NAME=VALUE, in '%s'", q->shapes));
        if (len)
            VEC_PUSH(a, &words, ((run_word){text, arena_strndup(a, text, name), text + name + 1}));
        at += len + (at[len] && at[len] != '#');
    }
    if (words.len > before)
        VEC_PUSH(a, &q->groups, words);
    return true;
}

static bool read_shapes(tune_request *q)
{
    arena *a = &q->shared.memory;
    const char *error = NULL;
    str text;
    int count = 0;
    if (!file_read(a, q->shapes, &text, &error)) {
        diag_report(&q->diags, HDS0490, nowhere, q->shapes, error);
        return false;
    }
    if (q->groups.len > 1)
        return bad(q, q->shapes, "has the sizes, so the command line cannot have several sets of them");
    const tune_words common = q->groups.len ? q->groups.at[0] : (tune_words){0};
    q->groups.len = 0;
    const char *const *lines = split(a, arena_strndup(a, text.at, text.len), '\n', &count);
    for (int i = 0; i < count; i++) {
        if (!take_line(q, &common, lines[i]))
            return false;
    }
    return q->groups.len || bad(q, q->shapes, "has no sizes");
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

// Those of the words that are no sizes; sm_count= is the command's own.
static const tune_words *other_words(tune_request *q, const tune_space *space, const tune_words *words)
{
    arena *a = &q->shared.memory;
    tune_words *others = ARENA_NEW(a, tune_words);
    for (size_t i = 0; i < words->len; i++) {
        if (size_index(space, words->at[i].name) < 0)
            VEC_PUSH(a, others, words->at[i]);
    }
    return others;
}

static const run_word *word_of(const tune_words *words, const char *name)
{
    const run_word *found = NULL;
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
static bool add_keys(tune_request *q, const tune_space *space, const tune_words *words, const tune_words *others, int index,
                     int64_t *sizes, tune_keys *out)
{
    arena *a = &q->shared.memory;
    if (index == space->size_count) {
        tune_key key = {.text = cmd_tune_text(a, space, sizes), .words = others};
        key.sizes = ARENA_ARRAY(a, int64_t, space->size_count + 1);
        memcpy(key.sizes, sizes, (size_t)space->size_count * sizeof *sizes);
        if (!has_key(out, key.text))
            VEC_PUSH(a, out, key);
        return out->len <= MOST_KEYS || bad(q, space->name, "would be tuned for more than 10000 sets of sizes");
    }
    const run_word *w = word_of(words, space->sizes[index]);
    if (!w) {
        diag *d = diag_report(&q->diags, HDS0826, nowhere, space->name,
                              arena_printf(a, "is tuned by '%s', which is not given", space->sizes[index]));
        diag_help(d, "give it, as in %s=4096", space->sizes[index]);
        return false;
    }
    int count = 0;
    const char *const *values = split(a, w->value, ',', &count);
    bool ok = count > 0 || bad(q, w->text, "has no value");
    for (int i = 0; ok && i < count; i++) {
        uint64_t bits = 0;
        const char *why = ten_number_parse(a, values[i], DT_I64, &bits);
        ok = (!why && (int64_t)bits >= 0) || bad(q, w->text, "has a size that is not a non-negative integer");
        sizes[index] = (int64_t)bits;
        ok = ok && add_keys(q, space, words, others, index + 1, sizes, out);
    }
    return ok;
}

bool cmd_tune_keys(tune_request *q, const tune_space *space, tune_keys *out)
{
    arena *a = &q->shared.memory;
    if (q->shapes && !read_shapes(q))
        return false;
    if (!q->groups.len)
        VEC_PUSH(a, &q->groups, (tune_words){0});
    int64_t *sizes = ARENA_ARRAY(a, int64_t, space->size_count + 1);
    for (size_t i = 0; i < q->groups.len; i++) {
        const tune_words *words = &q->groups.at[i];
        if (!add_keys(q, space, words, other_words(q, space, words), 0, sizes, out))
            return false;
    }
    return true;
}

// ---- estimates --------------------------------------------------------------------------------------------------

// "1.25", then "\tname=value" for each of the scalars.
static void read_estimate(arena *a, const char *line, tune_estimate *out)
{
    int count = 0;
    *out = (tune_estimate){.is_valid = strcmp(line, "-") != 0};
    if (!out->is_valid)
        return;
    const char *const *parts = split(a, line, '\t', &count);
    out->cost = str_to_double(parts[0]);
    for (int i = 1; i < count; i++) {
        size_t len = strcspn(parts[i], "=");
        VEC_PUSH(a, &out->values, ((run_word){parts[i], arena_strndup(a, parts[i], len), parts[i] + len + 1}));
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

pl_status cmd_tune_survey(tune_request *q, const tune_space *space, tune_key *keys, size_t count,
                          const int64_t *sm_count)
{
    arena *a = &q->shared.memory;
    const char **calls = ARENA_ARRAY(a, const char *, count + 1), **answers = ARENA_ARRAY(a, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        calls[i] = survey_call(a, space, &keys[i], sm_count[i]);
    pl_status status = ask(q, space, calls, (int)count, answers);
    for (size_t i = 0; status == PL_OK && i < count; i++) {
        int lines_count = 0;
        const char *const *lines = split(a, answers[i], '\n', &lines_count);
        keys[i].estimates = ARENA_ARRAY(a, tune_estimate, space->count + 1);
        for (int k = 0; k < space->count && k < lines_count; k++)
            read_estimate(a, lines[k], &keys[i].estimates[k]);
    }
    return status;
}

// Of equal ones the first, as at run time.
void cmd_tune_choose(tune_request *q, const tune_space *space, tune_key *key)
{
    key->chosen = ARENA_ARRAY(&q->shared.memory, int, space->count + 1);
    for (int k = 0; k < space->count; k++) {
        if (!key->estimates[k].is_valid)
            continue;
        int at = key->chosen_count++;
        for (; at > 0 && key->estimates[k].cost < key->estimates[key->chosen[at - 1]].cost; at--)
            key->chosen[at] = key->chosen[at - 1];
        key->chosen[at] = k;
    }
    if (q->space == 1 && key->chosen_count > q->candidates)
        key->chosen_count = q->candidates;
}
