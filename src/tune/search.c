// The candidates of a key against each other.
#include "tune/tune_priv.h"

static const src_span nowhere = {0, 0};

// Whether so many differ from the first that it may be the one that is wrong.
static bool disagree(const tune_key *key, const ms_rival *rivals)
{
    int tried = 0, wrong = 0;
    for (int i = 0; i < key->chosen_count; i++) {
        tried += rivals[i].is_wrong || !rivals[i].failure;
        wrong += rivals[i].is_wrong;
    }
    return wrong && 2 * wrong >= tried;
}

static void report_failures(tune *t, const tune_key *key, const ms_rival *rivals)
{
    const char *first = "";
    for (int i = key->chosen_count - 1; i >= 0; i--) {
        if (!rivals[i].failure)
            first = rivals[i].name;
    }
    for (int i = 0; i < key->chosen_count; i++) {
        const ms_rival *r = &rivals[i];
        if (r->is_wrong)
            diag_report(t->diags, HDS0822, nowhere, r->name, first, key->text, r->failure);
        else if (r->failure)  // what was not compiled is said once
            diag_report(t->diags, HDS0823, nowhere, r->name, r->kernel ? key->text : "all sizes", r->failure);
    }
}

// The fastest that was measured to the end; -1: none.
static int fastest(const ms_rival *rivals, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        const ms_rival *r = &rivals[i];
        bool counts = !r->failure && !r->is_dropped && r->time.count;
        if (counts && (best < 0 || r->time.median < rivals[best].time.median))
            best = i;
    }
    return best;
}

static int judge(tune *t, const tune_space *space, const tune_key *key, const ms_rival *rivals)
{
    const char *why = NULL;
    int best = fastest(rivals, key->chosen_count);
    report_failures(t, key, rivals);
    if (best < 0)
        why = "all that were tried have failed";
    else if (disagree(key, rivals))
        why = "too many disagree with the first to tell which are right";
    if (why)
        diag_report(t->diags, HDS0821, nowhere, space->name, key->text, why);
    return why ? -1 : best;
}

bool tune_measure(tune *t, arena *a, const tune_space *space, const tune_key *key, ms_rival *rivals, const tune_watch *watch,
                  int *best)
{
    const ms_judging judging = {.differs = tune_differs, .differs_user = a, .progress = watch->progress, .user = watch->user,
                                .seed = watch->order};
    *best = -1;
    if (!tune_check_words(t, space, key, rivals))
        return false;
    tune_bind(a, watch->seed, space, key, rivals);
    ms_move(watch->session, a, t->diags);
    bool ok = ms_contest(watch->session, rivals, key->chosen_count, &judging);
    ms_move(watch->session, t->arena, t->diags);
    if (ok)
        *best = judge(t, space, key, rivals);
    return ok;
}
