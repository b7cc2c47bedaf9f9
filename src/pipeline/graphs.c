#include "pipeline/graphs.h"

#include <string.h>

bool pl_has_graphs(const pl_unit *u)
{
    return memmem(u->input.at, u->input.len, "@hidet.graph", strlen("@hidet.graph")) != NULL;
}

// The one that is open, if it is of this file. NULL after reporting.
static tc_elaboration *elaboration_of(pl_unit *u, src_file *file)
{
    tc_options options = pl_unit_elaboration(u);
    if (u->elaboration.file != file) {
        u->elaboration.file = file;
        u->elaboration.of = tc_elaborate(&u->memory, &u->syms, &u->diags, file, &options);
    }
    return u->elaboration.of;
}

bool pl_read_graphs(pl_unit *u, pl_graph_list *out)
{
    tc_elaboration *e = elaboration_of(u, u->file);
    tc_text_list texts = {0};
    if (!e || !tc_record_graphs(e, &texts))
        return false;
    for (size_t i = 0; i < texts.len; i++) {
        const char *error = NULL;
        fg_graph *g = fg_read_json(&u->memory, &error, texts.at[i]);
        if (!g) {
            diag_report(&u->diags, HDS0830, (src_span){0, 0}, u->input_name, error);
            return false;
        }
        VEC_PUSH(&u->memory, out, g);
    }
    fg_join(out);
    return true;
}

// The right sides of rules, by the elaborator.
static const char *find_right(void *user, const fg_rule *rule, const fg_graph *g, const char *operands)
{
    const pl_rewriting *w = user;
    const tc_operands given = {operands, g->sizes.at, g->sizes.len};
    return tc_record_side(w->language, rule->source, TC_REPLACEMENT, &given);
}

// Whether the options want the rewrite: all that are exact, but for those that are switched off.
static bool is_wanted(const pl_options *o, const fg_rule *rule)
{
    bool wanted = !rule->is_approximate;
    for (int i = 0; i < o->rewrite_count; i++) {
        bool off = o->rewrites[i][0] == '-';
        if (strcmp(o->rewrites[i] + off, rule->name) == 0)
            wanted = !off;
    }
    return wanted;
}

static bool check_names(pl_unit *u, const fg_rule_list *all)
{
    const pl_options *o = u->options;
    bool ok = true;
    for (int i = 0; i < o->rewrite_count; i++) {
        const char *name = o->rewrites[i] + (o->rewrites[i][0] == '-');
        bool is_known = false;
        for (size_t k = 0; k < all->len; k++)
            is_known |= strcmp(all->at[k]->name, name) == 0;
        if (!is_known) {
            src_file *option = src_add(&u->sources, "<--rewrite>", str_of(o->rewrites[i]));
            uint32_t end = option ? option->base + (uint32_t)option->text.len : 0;
            src_span span = option ? (src_span){end - (uint32_t)strlen(name), end} : (src_span){0, 0};
            diag *d = diag_report(&u->diags, HDS0839, span, name);
            diag_help(d, "'hdsc graph --list-rewrites' lists those that there are");
        }
        ok &= is_known;
    }
    return ok;
}

bool pl_open_rewrites(pl_unit *u, pl_rewriting *w)
{
    const pl_options *o = u->options;
    VEC(const char *) modules = {0};
    tc_rule_list texts = {0};
    fg_rule_list all = {0};
    if (pl_find_module(&u->finder, "rewrites", 0, NULL, NULL))
        VEC_PUSH(&u->memory, &modules, "rewrites");
    for (int i = 0; i < o->rewrite_file_count; i++)
        VEC_PUSH(&u->memory, &modules, o->rewrite_files[i]);
    if (!w->file)
        w->file = u->file;
    tc_elaboration *e = elaboration_of(u, w->file);
    w->language = e ? tc_open_rewrites(e, modules.at, modules.len, &texts) : NULL;
    for (size_t i = 0; w->language && i < texts.len; i++) {
        const char *error = NULL;
        fg_rule *rule = fg_read_rule(&u->memory, &error, texts.at[i].text);
        if (!rule) {
            diag_report(&u->diags, HDS0838, texts.at[i].span, error);
            return false;
        }
        VEC_PUSH(&u->memory, &all, rule);
        if (!is_wanted(o, rule))
            continue;
        VEC_PUSH(&u->memory, &w->rules, rule);
        rule->source = i;
        VEC_PUSH(&u->memory, &w->spans, texts.at[i].span);
    }
    return w->language && check_names(u, &all);
}

// The model's line, without what it is indented by; nowhere, if no line of the file calls what is replaced.
static src_span span_of_line(pl_unit *u, src_file *file, int line)
{
    str text = src_line(&u->sources, file, (uint32_t)line);
    while (text.len && (*text.at == ' ' || *text.at == '\t'))
        text = (str){text.at + 1, text.len - 1};
    uint32_t begin = file->base + (uint32_t)(text.at - file->text.at);
    return text.len ? (src_span){begin, begin + (uint32_t)text.len} : (src_span){0, 0};
}

static void report(pl_unit *u, const pl_rewriting *w)
{
    if (!w->engine.error)
        return;
    diag *d = diag_report(&u->diags, HDS0838, span_of_line(u, w->file, w->engine.error_line), w->engine.error);
    for (size_t i = 0; i < w->rules.len; i++)
        if (w->rules.at[i] == w->engine.error_rule)
            diag_label(d, w->spans.at[i], "the rewrite");
}

static fg_rule_list rules_of(pl_unit *u, const pl_rewriting *w, bool late)
{
    fg_rule_list rules = {0};
    for (size_t i = 0; i < w->rules.len; i++)
        if (w->rules.at[i]->is_late == late)
            VEC_PUSH(&u->memory, &rules, w->rules.at[i]);
    return rules;
}

bool pl_rewrite_graphs(pl_unit *u, pl_graph_list *graphs, pl_rewriting *w)
{
    if (u->options->no_rewrites || !graphs->len)
        return true;
    if (!pl_open_rewrites(u, w))
        return false;
    w->engine = (fg_engine){.right = find_right, .user = w};
    const fg_rule_list rules = u->options->precision ? rules_of(u, w, false) : w->rules;
    for (size_t i = 0; i < graphs->len; i++) {
        if (fg_rewrite(graphs->at[i], &rules, &w->engine))
            continue;
        report(u, w);
        return false;
    }
    return true;
}

// ---- calls of other types -------------------------------------------------------------------------------------------

typedef struct recorder {
    pl_unit *unit;
    src_file *file;
    tc_rewrites *session; // NULL: none is open yet
} recorder;

static const char *record_text(void *user, const char *text)
{
    recorder *r = user;
    tc_rule_list none = {0};
    tc_elaboration *e = r->session ? NULL : elaboration_of(r->unit, r->file);
    if (e)
        r->session = tc_open_rewrites(e, NULL, 0, &none);
    return r->session ? tc_record_again(r->session, text) : NULL;
}

void pl_prepare_graphs(pl_unit *u, pl_graph_list *graphs, pl_rewriting *w)
{
    const char *error = NULL;
    recorder *r = ARENA_NEW(&u->memory, recorder);
    fg_language *language = ARENA_NEW(&u->memory, fg_language);
    *r = (recorder){u, w->file ? w->file : u->file, w->language};
    fg_language_init(language, &u->memory, record_text, r);
    fg_precisions *precisions = u->options->precision ? fg_read_precisions(&u->memory, &error, u->options->precision) : NULL;
    for (size_t i = 0; i < graphs->len; i++) {
        graphs->at[i]->language = language;
        graphs->at[i]->precisions = precisions;
        fg_find_image_order(u->options->layout ? u->options->layout : "auto", &graphs->at[i]->order);
        graphs->at[i]->has_many_targets = u->options->arch_count > 1;
    }
}

// What computes in 16 bits may be what f32 has no kernels for, such as attention: rewrites look at it again. What changes nothing is
// looked at for late rewrites alone. The pass changes nothing when it runs once more.
static bool rewrite_low(pl_unit *u, pl_graph_list *graphs, pl_rewriting *w)
{
    bool ok = true;
    for (size_t i = 0; ok && u->options->precision && w->rules.len && i < graphs->len; i++) {
        fg_precisions *wanted = graphs->at[i]->precisions;
        wanted->has_changed = false;
        fg_run_pass(graphs->at[i], fg_pass_find("precision"));
        const fg_rule_list rules = wanted->has_changed ? w->rules : rules_of(u, w, true);
        ok = fg_rewrite(graphs->at[i], &rules, &w->engine);
    }
    if (!ok)
        report(u, w);
    return ok;
}

void pl_check_precision(pl_unit *u, const pl_graph_list *graphs)
{
    const fg_precisions *p = graphs->len ? graphs->at[0]->precisions : NULL;
    for (size_t i = 0; p && p->was_run && i < p->rules.len; i++) {
        if (p->rules.at[i].is_used || !p->rules.at[i].pattern)
            continue;
        diag *d = diag_report(&u->diags, HDS0847, (src_span){0, 0}, p->rules.at[i].pattern);
        diag_help(d, "a name stands for operators as 'hdsc graph --print=rewritten' prints them, for a line of the model, or "
                     "for weights");
    }
}

// A model that is asked for is asked for with what it does at load.
static void find_entries(pl_unit *u)
{
    for (int i = 0; i < u->options->entry_count; i++) {
        VEC_PUSH(&u->memory, &u->lowered_entries, u->options->entries[i]);
        for (size_t k = 0; k < u->models.len; k++) {
            const fg_model *m = &u->models.at[k];
            if (m->load.name && strcmp(m->run.name, u->options->entries[i]) == 0)
                VEC_PUSH(&u->memory, &u->lowered_entries, m->load.name);
        }
    }
}

// Of the entries that are asked for, which the elaborator goes through.
static void count_launches(pl_unit *u)
{
    for (size_t i = 0; i < u->graphs.len; i++) {
        bool is_wanted = !u->lowered_entries.len;
        for (size_t k = 0; k < u->lowered_entries.len; k++)
            is_wanted |= strcmp(u->lowered_entries.at[k], u->graphs.at[i]->name) == 0;
        const fg_graph *g = u->graphs.at[i];
        u->launch_count += is_wanted ? g->launches.len + (g->load ? g->load->launches.len : 0) : 0;
    }
    pl_show_progress(u, PL_AT_KERNELS, 0, u->launch_count);
}

// ---- from the program back to the model -----------------------------------------------------------------------------

typedef struct span_list {
    VEC(src_span) at;
} span_list;

static const fg_launch *launch_at(const pl_unit *u, int line)
{
    for (size_t i = 0; i < u->graphs.len; i++) {
        const fg_graph *both[] = {u->graphs.at[i], u->graphs.at[i]->load};
        for (int k = 0; k < 2; k++) {
            int found = both[k] ? fg_launch_at(both[k], line) : -1;
            if (found >= 0)
                return &both[k]->launches.at[found];
        }
    }
    return NULL;
}

static span_list *lines_of(pl_unit *u, const fg_launch *l)
{
    span_list *list = map_get_ptr(&u->model_lines, l);
    if (list)
        return list;
    list = ARENA_NEW(&u->memory, span_list);
    map_put_ptr(&u->model_lines, l, list);
    for (size_t i = 0; i < l->nodes.len; i++) {
        int line = l->nodes.at[i]->line;
        src_span span = line > 0 ? span_of_line(u, u->model_file, line) : (src_span){0, 0};
        bool is_new = span.begin != 0;
        for (size_t k = 0; k < list->at.len; k++)
            is_new = is_new && list->at.at[k].begin != span.begin;
        if (is_new)
            VEC_PUSH(&u->memory, &list->at, span);
    }
    return list;
}

size_t pl_model_lines(void *unit, src_span span, const char *file, uint32_t line, const src_span **out)
{
    pl_unit *u = unit;
    bool is_program = u->is_lowered && (span.begin || strcmp(file, u->input_name) == 0);
    if (is_program && span.begin) {
        src_location location = src_location_of(&u->sources, span.begin);
        is_program = location.file == u->file;
        line = location.line;
    }
    const fg_launch *l = is_program ? launch_at(u, (int)line) : NULL;
    const span_list *list = l ? lines_of(u, l) : NULL;
    *out = list ? list->at.at : NULL;
    return list ? list->at.len : 0;
}

// What is launched at the line, or what the temporary is for that the line allocates. NULL: neither.
static const fg_launch *launch_for(pl_unit *u, uint32_t line)
{
    const fg_launch *l = launch_at(u, (int)line);
    str text = l ? (str){0} : src_line(&u->sources, u->file, line);
    while (!l && memmem(text.at, text.len, " = ", 3)) {
        l = launch_at(u, (int)++line);
        text = src_line(&u->sources, u->file, line);
    }
    return l;
}

void pl_point_at_model(pl_unit *u)
{
    for (size_t i = 0; u->is_lowered && i < u->diags.all.len; i++) {
        diag *d = u->diags.all.at[i];
        src_location at = d->span.begin ? src_location_of(&u->sources, d->span.begin) : (src_location){0};
        const fg_launch *l = at.file == u->file ? launch_for(u, at.line) : NULL;
        const span_list *lines = l ? lines_of(u, l) : NULL;
        if (!lines || !lines->at.len)
            continue;
        for (size_t k = 1; k < lines->at.len; k++)
            diag_note(d, lines->at.at[k], "and what is computed here");
        diag_note(d, d->span, "in the program of the model, here");
        d->span = lines->at.at[0];
    }
}

// ---- passes ---------------------------------------------------------------------------------------------------------

// --dump=graph:PASS, of one graph.
static void run_passes(pl_unit *u, fg_graph *g)
{
    const char *dump = u->options->dump, *wanted = dump && strncmp(dump, "graph:", 6) == 0 ? dump + 6 : NULL;
    for (int i = 0; fg_pass_at(i); i++) {
        fg_run_pass(g, fg_pass_at(i));
        if (wanted && strcmp(wanted, fg_pass_at(i)->name) == 0)
            str_add(&u->dump, fg_print(g));
    }
}

static void transform(pl_unit *u, fg_graph *g)
{
    pl_graph_form form = u->options->graph_form;
    if (form == PL_GRAPHS_OPTIMIZED) {
        run_passes(u, g);
        return;
    }
    fg_run_pass(g, fg_pass_find("precision")); // what is compared is what the model computes
    if (form == PL_GRAPHS_SPLIT_F64)
        fg_widen(g);
    fg_split(g);
}

bool pl_lower_graphs(pl_unit *u)
{
    pl_graph_list graphs = {0};
    pl_show_progress(u, PL_AT_GRAPH, 0, 0);
    if (!pl_read_graphs(u, &graphs))
        return false;
    if (!graphs.len)
        return true;
    pl_show_progress(u, PL_AT_GRAPH, 0, 0);
    pl_rewriting rewriting = {0};
    if (u->options->graph_form == PL_GRAPHS_OPTIMIZED && !pl_rewrite_graphs(u, &graphs, &rewriting))
        return false;
    pl_prepare_graphs(u, &graphs, &rewriting);
    if (!rewrite_low(u, &graphs, &rewriting))
        return false;
    for (size_t i = 0; i < graphs.len; i++)
        transform(u, graphs.at[i]);
    if (u->options->graph_form == PL_GRAPHS_OPTIMIZED)
        pl_check_precision(u, &graphs);
    if (u->dump.len && u->options->emit == PL_NOTHING)
        return false; // nothing behind the dump is of interest
    u->graphs = graphs;
    u->model_file = u->file;
    map_init(&u->model_lines, &u->memory);
    u->input_name = arena_printf(&u->memory, "%s.lowered", u->input_name);
    u->input = fg_lower(&u->memory, graphs.at, graphs.len);
    u->is_lowered = true;
    for (size_t i = 0; i < graphs.len; i++)
        VEC_PUSH(&u->memory, &u->models, fg_describe(&u->memory, graphs.at[i]));
    find_entries(u);
    count_launches(u);
    return pl_unit_add_source(u);
}

src_file *pl_lower_for_test(void *user, const char *json, src_file *model, bool as_reference)
{
    pl_unit *u = user;
    const char *error = NULL;
    fg_graph *g = fg_read_json(&u->memory, &error, json);
    if (!g) {
        diag_report(&u->diags, HDS0830, (src_span){0, 0}, model->name, error);
        return NULL;
    }
    pl_graph_list one = {0};
    pl_rewriting rewriting = {.file = model};
    VEC_PUSH(&u->memory, &one, g);
    if (!as_reference && !pl_rewrite_graphs(u, &one, &rewriting))
        return NULL;
    if (!as_reference) {
        pl_prepare_graphs(u, &one, &rewriting);
        fg_run_passes(g);
    }
    str text = as_reference ? fg_print_reference(&u->memory, g) : fg_lower_for_test(&u->memory, g);
    const char *name = arena_printf(&u->memory, "%s.%s", model->name, as_reference ? "reference" : "lowered");
    src_file *file = src_add(&u->sources, name, text);
    if (file)
        pl_finder_add_program(&u->finder, file);
    else
        diag_report(&u->diags, HDS0492, (src_span){0, 0}, name);
    return file;
}

static bool read_json(pl_unit *u, pl_graph_list *out)
{
    const char *error = NULL;
    if (strlen(u->input.at) != u->input.len)
        error = "it has a byte 0";
    else if (fg_read_json_list(&u->memory, out, &error, u->input.at))
        return true;
    diag_report(&u->diags, HDS0830, (src_span){0, 0}, u->input_name, error);
    return false;
}

// Graphs in JSON have no rewrites of their own: those of the library are opened from an empty file in the same folder.
static bool open_empty(pl_unit *u)
{
    u->input = (str){"", 0};
    return pl_unit_add_source(u);
}

static void list(pl_unit *u)
{
    pl_graphs *g = (pl_graphs *)u;
    const char *ending = strrchr(u->options->input, '.');
    if (ending && strcmp(ending, ".json") == 0)
        g->is_read = pl_open_source(u, u->options->input) && read_json(u, &g->list) && open_empty(u);
    else
        g->is_read = pl_open_source(u, u->options->input) && pl_read_graphs(u, &g->list);
    g->is_read = g->is_read && (!g->rewrites || pl_rewrite_graphs(u, &g->list, &g->rewriting));
    if (g->is_read)
        pl_prepare_graphs(u, &g->list, &g->rewriting);
    g->is_read = g->is_read && rewrite_low(u, &g->list, &g->rewriting);
}

static void list_text(pl_unit *u)
{
    pl_graphs *g = (pl_graphs *)u;
    u->input = g->text;
    u->input_name = u->options->input;
    g->is_read = pl_unit_add_source(u) && pl_read_graphs(u, &g->list);
}

pl_status pl_list_graphs_of(pl_graphs *graphs, const pl_options *options, str text, arena_oom *oom)
{
    *graphs = (pl_graphs){.text = text};
    pl_unit_init(&graphs->unit, options, options->archs[0], pl_now_us());
    graphs->unit.records_later = true;
    pl_unit_run_deep(&graphs->unit, list_text);
    graphs->unit.memory.oom = oom;
    return graphs->unit.status;
}

pl_status pl_list_graphs(pl_graphs *graphs, const pl_options *options, bool rewrites, arena_oom *oom)
{
    *graphs = (pl_graphs){.rewrites = rewrites};
    pl_unit_init(&graphs->unit, options, options->archs[0], pl_now_us());
    graphs->unit.records_later = true;
    pl_unit_run_deep(&graphs->unit, list);
    graphs->unit.memory.oom = oom;
    return graphs->unit.status;
}
