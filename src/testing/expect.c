// What is expected of a case, and whether it came.
#include <string.h>

#include "testing/testing_priv.h"

// The line of a location, or "".
static str line_of(const test_case *c, src_span span)
{
    const src_map *sources = &c->unit.sources;
    src_location location = src_location_of(sources, span.begin);
    return location.file ? src_line((src_map *)sources, location.file, location.line) : STR("");
}

static bool is_at(const test_case *c, src_span span)
{
    str line = line_of(c, span);
    return line.len && memmem(line.at, line.len, c->test->at, strlen(c->test->at));
}

// A message in the standard library also counts at the location of the call.
static bool is_as_expected(const test_case *c, const diag *d)
{
    if (!c->test->at || is_at(c, d->span))
        return true;
    bool found = false;
    for (size_t i = 0; i < d->parts.len && src_file_at(&c->unit.sources, d->span.begin) != c->unit.file; i++)
        found |= d->parts.at[i].kind == DIAG_PART_NOTE && is_at(c, d->parts.at[i].span);
    return found;
}

// Removes the messages with [code]; returns their number, and in *[matched] the number at the right location.
static int take_out(test_case *c, diag_code code, int *matched, const diag **elsewhere)
{
    diag_context *dx = &c->unit.diags;
    size_t kept = 0;
    int taken = 0;
    for (size_t i = 0; i < dx->all.len; i++) {
        diag *d = dx->all.at[i];
        if (d->code != code) {
            dx->all.at[kept++] = d;
            continue;
        }
        bool is_here = is_as_expected(c, d);
        *matched += is_here;
        *elsewhere = is_here ? *elsewhere : d;
        taken++;
        dx->error_count -= d->severity == DIAG_ERROR;
        dx->shown_errors -= d->severity == DIAG_ERROR;
        dx->warning_count -= d->severity == DIAG_WARNING;
        dx->shown_warnings -= d->severity == DIAG_WARNING;
    }
    dx->all.len = kept;
    return taken;
}

static void not_there(test_case *c, diag_code code)
{
    const tc_test *test = c->test;
    const char *what = c->unit.diags.shown_errors ? "other messages" : test->error ? "no error" : "no finding";
    diag *d = diag_report(&c->unit.diags, HDS0651, test->expected_span, diag_name(code), what);
    diag_under(d, "%s", diag_slug(code));
}

static void elsewhere(test_case *c, diag_code code, const diag *other)
{
    diag *d = diag_report(&c->unit.diags, HDS0652, c->test->expected_span, diag_name(code), c->test->at);
    diag_label(d, other->span, "it is here: %s", other->message);
}

bool test_judge(test_case *c, bool ran)
{
    diag_context *dx = &c->unit.diags;
    diag_code code = c->test->error ? c->test->error : c->test->finds;
    if (code && (c->test->error || ran)) {
        int matched = 0;
        const diag *other = NULL;
        int taken = take_out(c, code, &matched, &other), unused = 0;
        const diag *unseen = NULL;
        for (size_t i = 0; i < sizeof c->test->also / sizeof *c->test->also; i++)
            if (c->test->also[i])
                take_out(c, c->test->also[i], &unused, &unseen);
        if (!taken)
            not_there(c, code);
        else if (!matched)
            elsewhere(c, code, other);
    }
    return dx->shown_errors == 0;
}
