#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

enum { MANY = 200, EDGE = 3, DIGITS = 6, COLUMNS = 100 };

typedef struct view {
    const ten_tensor *tensor;
    const uint8_t *written;
    str_buf *out;
    bool is_short;
    size_t width;  // of a column
    size_t line;   // elements on this line
} view;

// Short: six digits say enough on a screen.
static void add_number(double value, str_buf *out)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", DIGITS, value);
    str_adds(out, text);
    if (!strpbrk(text, ".eni"))
        str_addc(out, '.');
}

static void add_element(const view *v, int64_t i, str_buf *out)
{
    const ten_tensor *t = v->tensor;
    if (v->written && !v->written[i]) {
        str_addc(out, '?');
    } else if (t->type == DT_C64) {
        str_addc(out, '(');
        add_number(ten_number(t, i), out);
        str_adds(out, ", ");
        add_number(ten_imaginary(t, i), out);
        str_addc(out, ')');
    } else if (dt_is_float(t->type)) {
        add_number(ten_number(t, i), out);
    } else {
        ten_value_print(t->type, ten_bits(t, i), out);
    }
}

static bool is_elided(const view *v, int d, int64_t i)
{
    int64_t extent = v->tensor->shape[d];
    return v->is_short && extent > 2 * EDGE && i >= EDGE && i < extent - EDGE;
}

// Formats into the buffer to try it.
static void measure(view *v, int64_t i, size_t *widest)
{
    size_t before = v->out->len;
    add_element(v, i, v->out);
    size_t len = v->out->len - before;
    v->out->len = before;
    *widest = len > *widest ? len : *widest;
}

// All elements that are shown of dimensions [d] on, those of the dimensions before fixed at [base].
static void visit(view *v, int d, int64_t base, size_t *widest)
{
    if (d == v->tensor->rank) {
        measure(v, base, widest);
        return;
    }
    for (int64_t i = 0; i < v->tensor->shape[d]; i++) {
        if (is_elided(v, d, i))
            i = v->tensor->shape[d] - EDGE;
        visit(v, d + 1, base * v->tensor->shape[d] + i, widest);
    }
}

static void add_column(view *v, int64_t i)
{
    str_buf text;
    str_buf_init(&text, v->out->arena);
    add_element(v, i, &text);
    for (size_t k = text.len; k < v->width; k++)
        str_addc(v->out, ' ');
    str_adds(v->out, str_text(&text));
}

// Elements that do not fit go on in the next line; the dimensions outside of them each begin one.
static void separate(view *v, int d)
{
    int below = v->tensor->rank - 1 - d;
    bool is_full = !below && ++v->line * (v->width + 2) + (size_t)d + v->width > COLUMNS;
    str_addc(v->out, ',');
    if (!below && !is_full) {
        str_addc(v->out, ' ');
        return;
    }
    v->line = 0;
    for (int i = 0; i < below || (!i && is_full); i++)
        str_addc(v->out, '\n');
    for (int i = 0; i <= d; i++)
        str_addc(v->out, ' ');
}

static void show(view *v, int d, int64_t base)
{
    if (d == v->tensor->rank) {
        add_column(v, base);
        return;
    }
    str_addc(v->out, '[');
    for (int64_t i = 0; i < v->tensor->shape[d]; i++) {
        if (i)
            separate(v, d);
        if (is_elided(v, d, i)) {
            str_adds(v->out, "…");
            separate(v, d);
            i = v->tensor->shape[d] - EDGE;
        }
        show(v, d + 1, base * v->tensor->shape[d] + i);
    }
    str_addc(v->out, ']');
}

void ten_show(const ten_tensor *t, const uint8_t *written, str_buf *out)
{
    view v = {t, written, out, t->count > MANY || !t->count, 0, 0};
    if (t->count)
        visit(&v, 0, 0, &v.width);
    show(&v, 0, 0);
}
