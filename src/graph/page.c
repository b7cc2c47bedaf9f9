// Graphs as a page of HTML: the drawing, a table of launches, the program. Its style and its script are page.css and
// page.js.
#include "graph/page.h"

#include <string.h>

#include "graph/graph.h"

static const char *file_text(const char *name)
{
    const embedded_text *file = fg_page_files;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    return file->name ? file->text : "";
}

// ---- the table --------------------------------------------------------------------------------------------------

static void add_tensors(str_buf *out, const fg_graph *g, const fg_number_list *numbers)
{
    for (size_t i = 0; i < numbers->len; i++) {
        const fg_tensor *t = &g->tensors.at[numbers->at[i]];
        str_adds(out, "<div>");
        str_add_xml(out, t->weight ? t->weight : t->name);
        str_adds(out, " <span class=\"type\">");
        str_add_xml(out, fg_type_text(out->arena, t));
        str_adds(out, "</span></div>");
    }
}

// By them the script finds the row of a node in the drawing.
static void add_node_names(str_buf *out, const fg_graph *g, int group, const char *prefix)
{
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped && g->nodes.at[i].group == group)
            str_addf(out, "%sn%zu ", prefix, i);
}

static void add_row(str_buf *out, const fg_graph *g, const fg_launch *l, size_t number, const char *prefix)
{
    arena *a = out->arena;
    str_addf(out, "<tr class=\"kernel\" tabindex=\"0\" data-cluster=\"%sk%d\" data-nodes=\"", prefix, l->group);
    add_node_names(out, g, l->group, prefix);
    str_adds(out, "\" data-operator=\"");
    str_add_xml(out, l->name);
    str_addf(out, "\"><td class=\"number\">%zu<td><b>", number + 1);
    str_add_xml(out, l->name);
    str_adds(out, "</b><div>");
    str_add_xml(out, fg_operators_text(a, l, ", "));
    if (l->note) {
        str_adds(out, "</div><div class=\"note\">");
        str_add_xml(out, l->note);
    }
    str_adds(out, "</div><td class=\"lines\">");
    str_adds(out, fg_lines_text(a, l));
    str_adds(out, "<td>");
    add_tensors(out, g, &l->inputs);
    str_adds(out, "<td>");
    add_tensors(out, g, &l->outputs);
    str_addf(out, "<td class=\"number\">%s<td class=\"number\">%s\n", fg_bytes_text(a, fg_sum_bytes(g, &l->inputs)),
             fg_bytes_text(a, fg_sum_bytes(g, &l->outputs)));
}

static void add_rows(str_buf *out, const fg_graph *g, const char *prefix, const char *when)
{
    str_adds(out, "<tr><th class=\"graph\" colspan=\"7\">");
    str_add_xml(out, g->name);
    str_addf(out, " <span class=\"type\">%s</span>\n", when);
    for (size_t i = 0; i < g->launches.len; i++)
        add_row(out, g, &g->launches.at[i], i, prefix);
}

static void add_table(str_buf *out, fg_graph *const *graphs, size_t count)
{
    str_adds(out,
             "<details open><summary>Kernels</summary>\n<div class=\"scroll\"><table id=\"kernels\">\n<thead><tr><th>#"
             "<th>kernel<th>lines<th>reads<th>writes<th>bytes read<th>bytes written\n<tbody>\n");
    for (size_t i = 0; i < count; i++) {
        if (graphs[i]->load)
            add_rows(out, graphs[i]->load, fg_drawing_prefix(out->arena, i, count, true), "once, at load");
        add_rows(out, graphs[i], fg_drawing_prefix(out->arena, i, count, false), "each run");
    }
    str_adds(out, "</table></div></details>\n");
}

// ---- the page ---------------------------------------------------------------------------------------------------

static void add_program(str_buf *out, str program)
{
    str_adds(out, "<details open><summary>Program</summary>\n<div class=\"scroll\"><pre id=\"program\">");
    for (size_t at = 0; at < program.len;) {
        const char *end = memchr(program.at + at, '\n', program.len - at);
        size_t len = end ? (size_t)(end - program.at) - at : program.len - at;
        str_adds(out, "<span>");
        str_add_xml(out, arena_strndup(out->arena, program.at + at, len));
        str_adds(out, "\n</span>");
        at += len + 1;
    }
    str_adds(out, "</pre></div></details>\n");
}

static void add_head(str_buf *out, const fg_graph *first)
{
    str_adds(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
             "script-src 'unsafe-inline'\">\n<title>");
    str_add_xml(out, first->name);
    str_addf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header><h1>", file_text("page.css"));
    str_add_xml(out, first->name);
    str_adds(out, "</h1>\n<input id=\"search\" type=\"search\" placeholder=\"operator, tensor, or line 12\" "
                  "aria-label=\"Search\">"
                  "<output id=\"found\"></output>\n<button id=\"fit\">Fit</button></header>\n");
}

str fg_print_page(arena *a, fg_graph *const *graphs, size_t count, str svg, str program)
{
    str_buf out;
    str_buf_init(&out, a);
    add_head(&out, graphs[0]);
    str_adds(&out, "<main>\n<section id=\"drawing\">\n");
    str_add(&out, svg);
    str_adds(&out, "</section>\n<section id=\"side\">\n");
    add_table(&out, graphs, count);
    add_program(&out, program);
    str_addf(&out, "</section>\n</main>\n<script>\n%s</script>\n</body>\n</html>\n", file_text("page.js"));
    return (str){out.at, out.len};
}
