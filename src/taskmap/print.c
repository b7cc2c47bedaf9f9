// Mappings as source text.
//
// The digits are cut into factors: runs of one kind in which no dimension comes twice. Digits of no dimension come from
// projections. They are printed in a dimension that a method call at the end takes away again: a dimension of extent 1
// that .projection({dim: 0}) empties, or one more, which .without(dim) drops. Where neither can be, a factor of its own
// has the projection.

#include "taskmap/taskmap_priv.h"

typedef struct printer {
    const tm_map *m;
    int rank;     // of the printed factors
    int lost_dim; // where digits of no dimension are printed; -1: in factors of their own
    str_buf *out;
} printer;

static int digit_dim(const printer *p, const tm_digit *g)
{
    return g->dim >= 0 ? g->dim : p->lost_dim;
}

// The digits with extent > 1 of one factor, outermost first.
typedef struct factor {
    int count;
    tm_digit digits[TM_MAX_RANK];
    bool seen[TM_MAX_RANK];
} factor;

static bool fits(const printer *p, const factor *f, const tm_digit *g)
{
    if (!f->count)
        return true;
    const tm_digit *first = &f->digits[0];
    if (g->kind != first->kind || (g->unroll == TM_LOOP_DEFAULT) != (first->unroll == TM_LOOP_DEFAULT))
        return false;
    int dim = digit_dim(p, g);
    return dim >= 0 && digit_dim(p, first) >= 0 && !f->seen[dim];
}

// Takes the factor that begins at digit [i]; gives where the next one begins.
static int take_factor(const printer *p, int i, factor *f)
{
    *f = (factor){0};
    for (; i < p->m->digit_count; i++) {
        const tm_digit *g = &p->m->digits[i];
        if (g->extent == 1)
            continue;
        if (!fits(p, f, g))
            break;
        if (digit_dim(p, g) >= 0)
            f->seen[digit_dim(p, g)] = true;
        f->digits[f->count++] = *g;
    }
    return i;
}

typedef enum order { ORDER_ROW, ORDER_COLUMN, ORDER_OTHER } order;

static order factor_order(const printer *p, const factor *f)
{
    bool rises = true, falls = true;
    for (int i = 1; i < f->count; i++) {
        bool up = digit_dim(p, &f->digits[i - 1]) < digit_dim(p, &f->digits[i]);
        rises &= up;
        falls &= !up;
    }
    return rises ? ORDER_ROW : falls ? ORDER_COLUMN : ORDER_OTHER;
}

// Ranks that put the dimensions of the factor in its order and the others, of extent 1, before them.
static void print_ranks(const printer *p, const factor *f)
{
    int64_t ranks[TM_MAX_RANK];
    int next = 0;
    for (int d = 0; d < p->rank; d++)
        if (!f->seen[d])
            ranks[d] = next++;
    for (int i = 0; i < f->count; i++)
        ranks[digit_dim(p, &f->digits[i])] = next++;
    str_adds(p->out, ", ranks=[");
    tm_print_list(p->rank, ranks, p->out);
    str_addc(p->out, ']');
}

static void print_attr(const tm_digit *g, str_buf *out)
{
    static const char *const text[] = {".", ".", "u", "u+", "p"};
    str_adds(out, text[g->unroll]);
    if (g->factor)
        str_addf(out, "%d", g->factor);
}

static void print_attrs(const printer *p, const factor *f)
{
    if (f->digits[0].unroll == TM_LOOP_DEFAULT)
        return;
    str_adds(p->out, ", attrs=\"");
    for (int d = 0; d < p->rank; d++) {
        tm_digit shown = {.unroll = TM_LOOP_PLAIN};
        for (int i = 0; i < f->count; i++)
            if (digit_dim(p, &f->digits[i]) == d)
                shown = f->digits[i];
        print_attr(&shown, p->out);
    }
    str_addc(p->out, '"');
}

static void print_factor(const printer *p, const factor *f)
{
    static const char *const prefix[] = {"", "col_", ""};
    int64_t extents[TM_MAX_RANK];
    for (int d = 0; d < p->rank; d++)
        extents[d] = 1;
    for (int i = 0; i < f->count; i++)
        extents[digit_dim(p, &f->digits[i])] = f->digits[i].extent;
    order by = factor_order(p, f);
    str_addf(p->out, "%s%s", prefix[by], f->digits[0].kind == TM_SPATIAL ? "spatial" : "repeat");
    str_adds(p->out, by == ORDER_OTHER ? "_map([" : "(");
    tm_print_list(p->rank, extents, p->out);
    if (by == ORDER_OTHER) {
        str_addc(p->out, ']');
        print_ranks(p, f);
    }
    print_attrs(p, f);
    str_addc(p->out, ')');
}

// A digit of no dimension that has a factor to itself.
static void print_lost_factor(const printer *p, const factor *f)
{
    printer alone = {.m = p->m, .rank = p->rank ? p->rank : 1, .lost_dim = 0, .out = p->out};
    factor g = *f;
    g.seen[0] = true;
    print_factor(&alone, &g);
    // Rank 0 has no dimension to project.
    str_adds(p->out, p->rank                           ? ".projection({0: 0})"
                     : f->digits[0].kind == TM_SPATIAL ? ".without(0)"
                                                       : ".projection({0: 0}).without(0)");
}

static int print_factors(const printer *p)
{
    int count = 0;
    factor f;
    for (int i = 0; i < p->m->digit_count;) {
        i = take_factor(p, i, &f);
        if (!f.count)
            continue;
        if (count++)
            str_adds(p->out, " * ");
        if (digit_dim(p, &f.digits[0]) < 0)
            print_lost_factor(p, &f);
        else
            print_factor(p, &f);
    }
    return count;
}

// How a mapping with digits of no dimension is written.
typedef enum lost_form { LOST_NONE, LOST_UNIT_DIM, LOST_EXTRA_DIM, LOST_FACTORS } lost_form;

static lost_form choose_form(const tm_map *m, int *unit_dim)
{
    bool spatial = false, repeat = false;
    for (int i = 0; i < m->digit_count; i++) {
        bool lost = m->digits[i].dim < 0 && m->digits[i].extent > 1;
        spatial |= lost && m->digits[i].kind == TM_SPATIAL;
        repeat |= lost && m->digits[i].kind == TM_REPEAT;
    }
    if (!spatial && !repeat)
        return LOST_NONE;
    for (*unit_dim = 0; *unit_dim < m->rank; (*unit_dim)++)
        if (m->shape[*unit_dim] == 1)
            return LOST_UNIT_DIM;
    return !repeat && m->rank < TM_MAX_RANK ? LOST_EXTRA_DIM : LOST_FACTORS;
}

void tm_print_list(int count, const int64_t *values, str_buf *out)
{
    for (int i = 0; i < count; i++)
        str_addf(out, "%s%lld", i ? ", " : "", (long long)values[i]);
}

void tm_print_tuple(int count, const int64_t *values, str_buf *out)
{
    str_addc(out, '(');
    tm_print_list(count, values, out);
    str_adds(out, count == 1 ? ",)" : ")");
}

void tm_print(const tm_map *m, str_buf *out)
{
    int unit_dim = -1;
    lost_form form = choose_form(m, &unit_dim);
    printer p = {.m = m, .rank = m->rank + (form == LOST_EXTRA_DIM), .lost_dim = -1, .out = out};
    if (form == LOST_UNIT_DIM)
        p.lost_dim = unit_dim;
    if (form == LOST_EXTRA_DIM)
        p.lost_dim = m->rank;
    str_buf factors;
    str_buf_init(&factors, out->arena);
    p.out = &factors;
    int count = print_factors(&p);
    if (!count) {
        static const int64_t ones[TM_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        str_adds(&factors, "repeat(");
        tm_print_list(m->rank, ones, &factors);
        str_addc(&factors, ')');
    }
    bool call = form == LOST_UNIT_DIM || form == LOST_EXTRA_DIM;
    str_addf(out, call && count > 1 ? "(%s)" : "%s", str_text(&factors));
    if (form == LOST_UNIT_DIM)
        str_addf(out, ".projection({%d: 0})", unit_dim);
    if (form == LOST_EXTRA_DIM)
        str_addf(out, ".without(%d)", m->rank);
}
