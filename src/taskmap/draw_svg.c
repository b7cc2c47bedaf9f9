// Pictures as SVG: a panel of tasks coloured by worker, and a panel of banks beside or below it.

#include "taskmap/draw_priv.h"

enum {
    MARGIN = 24,      // around everything and between panels, in pixels like all lengths here
    LINE = 18,        // of the heading
    LABEL = 12,       // height of axis labels
    MOST_TEXT = 64,   // rows or columns with text in the cells
    MOST_DRAWN = 256, // rows or columns at all
    MOST_SLICES = 16,
    SIDE_BY_SIDE = 1500, // width up to which panels stand side by side
};

typedef enum panel_kind { PANEL_TASKS, PANEL_BANKS } panel_kind;

typedef struct panel {
    const tm_picture *p;
    const tm_grid *grid;
    panel_kind kind;
    bool texts;                    // cells are large enough for text
    int64_t slices, rows, columns; // as many as are drawn
    int64_t cell_width, cell_height;
    int64_t gutter; // for row labels
    int64_t slices_in_row;
    int64_t width, height; // of the whole panel with its caption
    str_buf *out;
} panel;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// ---- colours --------------------------------------------------------------------------------------------------------

// One of red, green, blue (n = 0, 8, 4) from hue in degrees, saturation and lightness in percent, all in integers so
// that the file is the same everywhere.
static int channel(int n, int hue, int saturation, int lightness)
{
    int k = (n * 30 + hue) % 360;
    int amplitude = saturation * (lightness < 50 ? lightness : 100 - lightness);
    int ramp = k - 90 < 270 - k ? k - 90 : 270 - k;
    ramp = ramp < -30 ? -30 : ramp > 30 ? 30 : ramp;
    return (lightness * 3000 - amplitude * ramp) * 255 / 300000;
}

static void add_colour(str_buf *out, int hue, int saturation, int lightness)
{
    str_addf(out, "#%02x%02x%02x", (unsigned)channel(0, hue, saturation, lightness),
             (unsigned)channel(8, hue, saturation, lightness), (unsigned)channel(4, hue, saturation, lightness));
}

// Up to a warp: a walk round the colour circle, light and a little darker in turn. More workers: a hue for each warp,
// darker from its first lane to its last. Text stays readable on all of them.
static void add_worker_colour(str_buf *out, int64_t worker, int64_t workers)
{
    if (workers <= 32)
        add_colour(out, (int)(205 + 360 * worker / workers) % 360, 62, worker % 2 ? 76 : 84);
    else
        add_colour(out, (int)((205 + worker / 32 * 137) % 360), 58, 90 - (int)(worker % 32 * 22 / 31));
}

static void add_bank_colour(str_buf *out, int bank, int degree)
{
    if (degree > 1)
        add_colour(out, 4, 85, degree > 16 ? 68 : degree > 4 ? 74 : degree > 2 ? 80 : 86);
    else
        add_colour(out, 150 + bank * 110 / 31, 38, bank % 2 ? 85 : 90);
}

// ---- cells ----------------------------------------------------------------------------------------------------------

static void add_task(str_buf *out, const tm_picture *p, const int64_t *index)
{
    int64_t position = 0, worker = tm_picture_worker(p, index, &position);
    if (worker >= 0)
        str_addf(out, "T%lld.%lld", (long long)worker, (long long)position);
}

static bool has_offset(const panel *n, const int64_t *index)
{
    return n->p->l && tm_layout_in_bounds(n->p->l, index);
}

// The upper (or only) line of a cell and the lower one; either may be empty.
static void cell_lines(const panel *n, const int64_t *index, str_buf *upper, str_buf *lower)
{
    upper->len = lower->len = 0;
    if (n->kind == PANEL_TASKS)
        add_task(upper, n->p, index);
    if (n->kind == PANEL_TASKS && has_offset(n, index))
        str_addf(upper->len ? lower : upper, "%lld", (long long)tm_layout_offset(n->p->l, index));
    if (n->kind == PANEL_BANKS) {
        str_addf(upper, "%d", tm_picture_bank(n->p, index));
        int degree = tm_picture_degree(n->p, index);
        if (degree > 1)
            str_addf(lower, "x%d", degree);
    }
}

static void add_cell_colour(const panel *n, const int64_t *index)
{
    int64_t position = 0, worker = tm_picture_worker(n->p, index, &position);
    if (n->kind == PANEL_BANKS)
        add_bank_colour(n->out, tm_picture_bank(n->p, index), tm_picture_degree(n->p, index));
    else if (worker >= 0)
        add_worker_colour(n->out, worker, n->p->m->workers);
    else
        add_colour(n->out, 210, 25, 92);
}

static void draw_texts(const panel *n, int64_t x, int64_t y, str_buf *upper, str_buf *lower)
{
    int64_t middle = x + n->cell_width / 2, height = n->cell_height;
    if (upper->len)
        str_addf(n->out, "<text x=\"%lld\" y=\"%lld\">%s</text>", (long long)middle,
                 (long long)(y + (lower->len ? height / 2 - 2 : height / 2 + 4)), str_text(upper));
    if (lower->len)
        str_addf(n->out, "<text class=\"%s\" x=\"%lld\" y=\"%lld\">%s</text>", n->kind == PANEL_BANKS ? "hot" : "low",
                 (long long)middle, (long long)(y + height - 5), str_text(lower));
}

static void draw_cell(const panel *n, int64_t x, int64_t y, const int64_t *index, str_buf *upper, str_buf *lower)
{
    bool conflict = n->kind == PANEL_BANKS && tm_picture_degree(n->p, index) > 1;
    str_addf(n->out, "<rect%s x=\"%lld\" y=\"%lld\" width=\"%lld\" height=\"%lld\" fill=\"",
             conflict && n->texts ? " class=\"clash\"" : "", (long long)x, (long long)y, (long long)n->cell_width,
             (long long)n->cell_height);
    add_cell_colour(n, index);
    str_adds(n->out, "\"/>");
    if (n->texts) {
        cell_lines(n, index, upper, lower);
        draw_texts(n, x, y, upper, lower);
    }
    str_addc(n->out, '\n');
}

// ---- panels ---------------------------------------------------------------------------------------------------------

static int64_t widest_text(const panel *n)
{
    str_buf upper, lower;
    str_buf_init(&upper, n->out->arena);
    str_buf_init(&lower, n->out->arena);
    int64_t index[TM_MAX_RANK], widest = 2;
    for (int64_t s = 0; s < n->slices; s++)
        for (int64_t r = 0; r < n->rows; r++)
            for (int64_t c = 0; c < n->columns; c++) {
                tm_grid_index(n->grid, s, r, c, index);
                cell_lines(n, index, &upper, &lower);
                widest = most(widest, (int64_t)most((int64_t)upper.len, (int64_t)lower.len));
            }
    return widest;
}

static int64_t slice_width(const panel *n)
{
    return n->gutter + n->columns * n->cell_width;
}

static int64_t slice_height(const panel *n)
{
    return (n->grid->rank > 2 ? LINE : 0) + LABEL + 6 + n->rows * n->cell_height;
}

static panel panel_of(const tm_picture *p, const tm_grid *grid, panel_kind kind, str_buf *out)
{
    panel n = {.p = p, .grid = grid, .kind = kind, .out = out};
    n.slices = least(grid->slices, MOST_SLICES);
    n.texts = grid->rows <= MOST_TEXT && grid->columns <= MOST_TEXT;
    n.rows = least(grid->rows, MOST_DRAWN);
    n.columns = least(grid->columns, MOST_DRAWN);
    // Both panels are as high, so that their rows are level.
    bool two_lines = p->m && p->l;
    n.cell_height = !n.texts ? 8 : two_lines ? 36 : 26;
    n.cell_width = n.texts ? most(30, widest_text(&n) * 7 + 10) : 8;
    n.gutter = grid->rank > 1 ? 30 : 0;
    n.slices_in_row = least(n.slices, most(1, SIDE_BY_SIDE / (slice_width(&n) + MARGIN)));
    int64_t slice_rows = (n.slices + n.slices_in_row - 1) / n.slices_in_row;
    n.width = n.slices_in_row * (slice_width(&n) + MARGIN) - MARGIN;
    n.height = LINE + slice_rows * (slice_height(&n) + MARGIN) - MARGIN;
    return n;
}

static void draw_axis(const panel *n, int64_t x, int64_t y)
{
    int64_t every = n->texts ? 1 : 16;
    for (int64_t c = 0; c < n->columns; c += every)
        str_addf(n->out, "<text class=\"axis\" x=\"%lld\" y=\"%lld\">%lld</text>\n",
                 (long long)(x + c * n->cell_width + n->cell_width / 2), (long long)(y - 5), (long long)c);
    for (int64_t r = 0; n->gutter && r < n->rows; r += every)
        str_addf(n->out, "<text class=\"axis side\" x=\"%lld\" y=\"%lld\">%lld</text>\n", (long long)(x - 6),
                 (long long)(y + r * n->cell_height + n->cell_height / 2 + 4), (long long)r);
}

static void draw_slice(const panel *n, int64_t slice, int64_t x, int64_t y)
{
    str_buf upper, lower;
    str_buf_init(&upper, n->out->arena);
    str_buf_init(&lower, n->out->arena);
    if (n->grid->rank > 2) {
        tm_grid_slice_name(n->grid, slice, &upper);
        str_addf(n->out, "<text class=\"caption\" x=\"%lld\" y=\"%lld\">%s</text>\n", (long long)(x + n->gutter),
                 (long long)(y + LINE - 6), str_text(&upper));
        y += LINE;
    }
    x += n->gutter;
    y += LABEL + 6;
    draw_axis(n, x, y);
    str_addf(n->out, "<g class=\"%s\">\n", n->texts ? "cells" : "dots");
    for (int64_t r = 0; r < n->rows; r++)
        for (int64_t c = 0; c < n->columns; c++) {
            int64_t index[TM_MAX_RANK];
            tm_grid_index(n->grid, slice, r, c, index);
            draw_cell(n, x + c * n->cell_width, y + r * n->cell_height, index, &upper, &lower);
        }
    str_adds(n->out, "</g>\n");
}

static void add_cut(str_buf *out, const char *what, int64_t drawn, int64_t all)
{
    if (drawn < all)
        str_addf(out, " · first %lld of %lld %s", (long long)drawn, (long long)all, what);
}

static void draw_panel(const panel *n, int64_t x, int64_t y)
{
    const tm_picture *p = n->p;
    str_addf(n->out, "<text class=\"caption\" x=\"%lld\" y=\"%lld\">", (long long)x, (long long)(y + 10));
    if (n->kind == PANEL_BANKS)
        str_adds(n->out, p->degrees && p->banks.worst > 1
                             ? "bank of each element; red: conflicts, with the passes they take"
                             : "bank of each element");
    else if (!n->texts)
        str_adds(n->out, p->m ? "coloured by worker" : "elements");
    else
        str_adds(n->out, !p->m ? "offset" : p->l ? "Tworker.position, offset below" : "Tworker.position");
    add_cut(n->out, "slices", n->slices, n->grid->slices);
    add_cut(n->out, "rows", n->rows, n->grid->rows);
    add_cut(n->out, "columns", n->columns, n->grid->columns);
    str_adds(n->out, "</text>\n");
    for (int64_t s = 0; s < n->slices; s++)
        draw_slice(n, s, x + s % n->slices_in_row * (slice_width(n) + MARGIN),
                   y + LINE + s / n->slices_in_row * (slice_height(n) + MARGIN));
}

// ---- the file -------------------------------------------------------------------------------------------------------

typedef struct heading {
    int count;
    const char *lines[4];
    int64_t longest;
} heading;

static void add_line(heading *h, str_buf *line)
{
    h->lines[h->count++] = str_text(line);
    h->longest = most(h->longest, (int64_t)line->len);
}

static heading heading_of(const tm_picture *p, arena *a)
{
    heading h = {0};
    str_buf line;
    if (p->m) {
        str_buf_init(&line, a);
        tm_print(p->m, &line);
        add_line(&h, &line);
    }
    if (p->l) {
        str_buf_init(&line, a);
        str_adds(&line, p->m ? "over " : "");
        tm_layout_print(p->l, &line);
        add_line(&h, &line);
    }
    str_buf_init(&line, a);
    tm_picture_facts(p, &line);
    add_line(&h, &line);
    if (p->degrees) {
        str_buf_init(&line, a);
        tm_picture_bank_facts(p, &line);
        add_line(&h, &line);
    }
    return h;
}

static void draw_heading(const heading *h, int titles, str_buf *out)
{
    for (int i = 0; i < h->count; i++) {
        str_addf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", i < titles ? "title" : "fact", MARGIN,
                 MARGIN + LINE * i + 10);
        str_add_xml(out, h->lines[i]);
        str_adds(out, "</text>\n");
    }
}

static void open_file(int64_t width, int64_t height, str_buf *out)
{
    str_addf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" viewBox=\"0 0 %lld %lld\">\n",
             (long long)width, (long long)height, (long long)width, (long long)height);
    str_adds(out, "<style>\n"
                  "text { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 11px;"
                  " fill: #1f2933 }\n"
                  ".cells text { text-anchor: middle }\n"
                  ".cells rect { stroke: #ffffff; stroke-width: 1.5 }\n"
                  ".cells rect.clash { stroke: #c4453a; stroke-width: 1 }\n"
                  ".cells text.low { font-size: 10px; fill: #4a5b6c }\n"
                  ".cells text.hot { font-size: 10px; fill: #a32a20; font-weight: bold }\n"
                  ".title { font-size: 14px; font-weight: bold }\n"
                  ".fact { font-size: 12px; fill: #52606d }\n"
                  ".caption { fill: #52606d }\n"
                  ".axis { font-size: 10px; fill: #8797a8; text-anchor: middle }\n"
                  ".axis.side { text-anchor: end }\n"
                  "</style>\n");
    str_addf(out, "<rect width=\"%lld\" height=\"%lld\" fill=\"#ffffff\"/>\n", (long long)width, (long long)height);
}

void tm_draw_svg(const tm_map *m, const tm_layout *l, const tm_draw_options *options, str_buf *out)
{
    tm_picture p = tm_picture_of(out->arena, m, l, options);
    heading h = heading_of(&p, out->arena);
    panel tasks = panel_of(&p, &p.tasks, PANEL_TASKS, out);
    bool with_banks = p.l && p.element_bytes > 0;
    panel banks = with_banks ? panel_of(&p, &p.elements, PANEL_BANKS, out) : (panel){0};
    bool beside = with_banks && tasks.width + banks.width <= SIDE_BY_SIDE;
    int64_t top = MARGIN + LINE * h.count + 12, gap = with_banks ? MARGIN + 8 : 0;
    int64_t width = beside ? tasks.width + gap + banks.width : most(tasks.width, banks.width);
    int64_t height = beside ? most(tasks.height, banks.height) : tasks.height + gap + banks.height;
    // 8.5 pixels a character of the title, about 7 of a caption.
    width = most(width, most(h.longest * 17 / 2, with_banks && beside ? tasks.width + gap + 440 : 490));
    open_file(width + 2 * MARGIN, top + height + MARGIN, out);
    draw_heading(&h, (p.m != NULL) + (p.l != NULL), out);
    draw_panel(&tasks, MARGIN, top);
    if (with_banks)
        draw_panel(&banks, beside ? MARGIN + tasks.width + gap : MARGIN, beside ? top : top + tasks.height + gap);
    str_adds(out, "</svg>\n");
}
