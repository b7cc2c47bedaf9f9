// Grids for a terminal.

#include "taskmap/draw_priv.h"

enum { MOST_SLICES = 16 };

// One kind of grid: what stands in a cell.
typedef void cell_text(const tm_picture *p, const int64_t *index, str_buf *out);

typedef struct sheet {
    const tm_picture *p;
    const tm_grid *grid;
    cell_text *text;
    bool colours;
    int width;                     // of a cell in characters
    int margin;                    // of the row numbers
    int64_t slices, rows, columns; // as many as are drawn
    str_buf *out;
    str_buf cell;
} sheet;

static void task_text(const tm_picture *p, const int64_t *index, str_buf *out)
{
    int64_t position = 0, worker = tm_picture_worker(p, index, &position);
    str_addf(out, "T%lld.%lld", (long long)worker, (long long)position);
}

static void offset_text(const tm_picture *p, const int64_t *index, str_buf *out)
{
    str_addf(out, "%lld", (long long)tm_layout_offset(p->l, index));
}

static void bank_text(const tm_picture *p, const int64_t *index, str_buf *out)
{
    str_addf(out, "%d", tm_picture_bank(p, index));
    if (tm_picture_degree(p, index) > 1)
        str_addf(out, "x%d", tm_picture_degree(p, index));
}

static const char *cell(sheet *s, int64_t slice, int64_t row, int64_t column, int64_t *index)
{
    tm_grid_index(s->grid, slice, row, column, index);
    s->cell.len = 0;
    s->text(s->p, index, &s->cell);
    return str_text(&s->cell);
}

static int digits_of(int64_t value)
{
    int digits = 1;
    while (value /= 10)
        digits++;
    return digits;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// How much is drawn, and how wide. Cells of columns that are cut count too, if there are not very many.
static void measure(sheet *s, const tm_draw_options *o)
{
    const tm_grid *g = s->grid;
    int64_t index[TM_MAX_RANK], looked_at = least(g->columns, 256);
    s->slices = least(g->slices, MOST_SLICES);
    s->rows = least(g->rows, o->rows > 0 ? o->rows : 64);
    s->margin = g->rank > 1 ? digits_of(s->rows - 1) + 1 : 0;
    s->width = digits_of(looked_at - 1);
    for (int64_t i = 0; i < s->slices; i++)
        for (int64_t r = 0; r < s->rows; r++)
            for (int64_t c = 0; c < looked_at; c++) {
                cell(s, i, r, c, index);
                s->width = s->width < (int)s->cell.len ? (int)s->cell.len : s->width;
            }
    int64_t room = ((o->columns > 0 ? o->columns : 120) - s->margin) / (s->width + 1);
    s->columns = least(looked_at, room > 1 ? room : 1);
}

static void draw_cell(sheet *s, int64_t slice, int64_t row, int64_t column)
{
    // Colours of the 256-colour table that can be read on black and on white.
    static const int colours[] = {33, 166, 35, 170, 136, 37, 197, 99, 70, 131, 69, 178};
    int64_t index[TM_MAX_RANK], position;
    const char *text = cell(s, slice, row, column, index);
    int64_t worker = s->colours ? tm_picture_worker(s->p, index, &position) : -1;
    if (worker < 0) {
        str_addf(s->out, " %*s", s->width, text);
        return;
    }
    int colour = colours[worker % (int64_t)(sizeof colours / sizeof *colours)];
    str_addf(s->out, " \x1b[38;5;%dm%*s\x1b[0m", colour, s->width, text);
}

static void draw_slice(sheet *s, int64_t slice)
{
    if (s->grid->rank > 2) {
        tm_grid_slice_name(s->grid, slice, s->out);
        str_addc(s->out, '\n');
    }
    str_addf(s->out, "%*s", s->margin, "");
    for (int64_t c = 0; c < s->columns; c++)
        str_addf(s->out, " %*lld", s->width, (long long)c);
    str_addc(s->out, '\n');
    for (int64_t r = 0; r < s->rows; r++) {
        if (s->margin)
            str_addf(s->out, "%*lld", s->margin, (long long)r);
        for (int64_t c = 0; c < s->columns; c++)
            draw_cell(s, slice, r, c);
        str_addc(s->out, '\n');
    }
}

static void add_cut(str_buf *out, const char *what, int64_t drawn, int64_t all, bool *any)
{
    if (drawn == all)
        return;
    str_addf(out, "%s%lld of %lld %s", *any ? ", " : "(shown: ", (long long)drawn, (long long)all, what);
    *any = true;
}

static void draw_sheet(const tm_picture *p, const tm_grid *grid, cell_text *text, const tm_draw_options *o,
                       str_buf *out)
{
    sheet s = {.p = p, .grid = grid, .text = text, .colours = o->colours, .out = out};
    str_buf_init(&s.cell, out->arena);
    measure(&s, o);
    for (int64_t i = 0; i < s.slices; i++)
        draw_slice(&s, i);
    bool cut = false;
    add_cut(out, "slices", s.slices, grid->slices, &cut);
    add_cut(out, "rows", s.rows, grid->rows, &cut);
    add_cut(out, "columns", s.columns, grid->columns, &cut);
    str_adds(out, cut ? ")\n" : "");
}

void tm_draw_text(const tm_map *m, const tm_layout *l, const tm_draw_options *options, str_buf *out)
{
    tm_picture p = tm_picture_of(out->arena, m, l, options);
    if (p.m)
        draw_sheet(&p, &p.tasks, task_text, options, out);
    if (!p.l)
        return;
    str_adds(out, p.m ? "\noffsets\n" : "offsets\n");
    draw_sheet(&p, &p.elements, offset_text, options, out);
    if (p.element_bytes < 1)
        return;
    str_adds(out, "\nbanks");
    if (p.degrees) {
        str_adds(out, " (");
        tm_picture_bank_facts(&p, out);
        str_addc(out, ')');
    }
    str_addc(out, '\n');
    draw_sheet(&p, &p.elements, bank_text, options, out);
}
