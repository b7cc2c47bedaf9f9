// Loads one side: compiles it, lowers it to the level of the simulator, finds its entry and translates it to bytecode.

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "pipeline/unit.h"
#include "prove/prove_priv.h"

// ---- which function ------------------------------------------------------------------------------------------------

// "dir/file.hds:matmul[T=f16]" at the last colon outside of brackets.
static void split(prove *p, prove_side *side, const char *text)
{
    size_t len = strlen(text), colon = len;
    int depth = 0;
    for (size_t i = len; i-- > 0 && colon == len;) {
        depth += text[i] == ']' ? 1 : text[i] == '[' ? -1 : 0;
        if (text[i] == ':' && depth == 0)
            colon = i;
    }
    if (colon < len && strchr(text + colon, '/'))
        colon = len;
    side->path = arena_strndup(&p->memory, text, colon);
    side->entry = colon < len ? text + colon + 1 : "";
    if (!*side->path && side == &p->sides[1])
        side->path = p->sides[0].path;
}

// "f16, BM=64" split at its outer commas.
static size_t argument_length(const char *at)
{
    size_t i = 0;
    for (int depth = 0; at[i] && (at[i] != ',' || depth); i++)
        depth += strchr("([{", at[i]) ? 1 : strchr(")]}", at[i]) ? -1 : 0;
    return i;
}

static const char *equals_sign(const char *at, size_t len)
{
    size_t i = 0;
    while (i < len && (at[i] == '_' || at[i] == ' ' || isalnum((unsigned char)at[i])))
        i++;
    return i < len && at[i] == '=' && at[i + 1] != '=' ? at + i : NULL;
}

// "matmul[f16, BM=64]", as titles are written, is "matmul[f16]" with BM set as by -D.
static void take_keywords(prove *p, prove_side *side)
{
    const char *open = strchr(side->entry, '['), *close = strrchr(side->entry, ']');
    if (!open || !close || close < open)
        return;
    VEC(tc_define) defines = {0};
    str_buf rest;
    str_buf_init(&rest, &p->memory);
    const char *inner = arena_strndup(&p->memory, open + 1, (size_t)(close - open - 1));
    for (const char *at = inner; *at;) {
        at += strspn(at, " ");
        size_t len = argument_length(at);
        const char *equals = equals_sign(at, len);
        if (equals) {
            size_t name = strcspn(at, " =");
            tc_define d = {arena_strndup(&p->memory, at, name),
                           arena_strndup(&p->memory, equals + 1, len - (size_t)(equals + 1 - at))};
            VEC_PUSH(&p->memory, &defines, d);
        } else {
            str_addf(&rest, "%s%.*s", rest.len ? ", " : "", (int)len, at);
        }
        at += at[len] ? len + 1 : len;
    }
    if (!defines.len)
        return;
    for (int i = 0; i < side->options.define_count; i++)
        VEC_PUSH(&p->memory, &defines, side->options.defines[i]);
    side->options.defines = defines.at;
    side->options.define_count = (int)defines.len;
    size_t name = (size_t)(open - side->entry);
    side->entry = rest.len ? arena_printf(&p->memory, "%.*s[%s]", (int)name, side->entry, str_text(&rest))
                           : arena_strndup(&p->memory, side->entry, name);
}

static bool is_entry(const ir_func *f)
{
    return f->is_public && f->kind != IR_DEVICE;
}

static const char *names_of(pl_unit *u)
{
    str_buf out;
    str_buf_init(&out, &u->memory);
    for (size_t i = 0; i < u->module->funcs.len; i++) {
        const ir_func *f = u->module->funcs.at[i];
        if (is_entry(f))
            str_addf(&out, "%s'%s'", out.len ? ", " : "", f->name);
    }
    return str_text(&out);
}

static bool is_named(const prove_side *side, const ir_func *f)
{
    size_t len = strcspn(side->entry, "[");
    bool is_title = strcspn(f->title, "[") == len && strncmp(side->entry, f->title, len) == 0;
    return is_entry(f) && (is_title || (strlen(f->name) == len && strncmp(side->entry, f->name, len) == 0));
}

// The only function that passes.
static const ir_func *find_only(const prove_side *side, bool (*passes)(const prove_side *, const ir_func *), int *count)
{
    const ir_func *found = NULL;
    *count = 0;
    for (size_t i = 0; i < side->unit.module->funcs.len; i++) {
        const ir_func *f = side->unit.module->funcs.at[i];
        if (passes(side, f)) {
            found = f;
            ++*count;
        }
    }
    return *count == 1 ? found : NULL;
}

static bool is_any(const prove_side *side, const ir_func *f)
{
    (void)side;
    return is_entry(f);
}

// Kernels launched by a host function are entries of the module too, so an exact name takes precedence. An alias has
// another name than its function.
static const ir_func *find_entry(prove_side *side)
{
    pl_unit *u = &side->unit;
    int count;
    const ir_func *found = *side->entry ? find_only(side, is_named, &count) : NULL;
    if (!found)
        found = find_only(side, is_any, &count);
    if (found)
        return found;
    diag *d = diag_report(&u->diags, HDS0674, (src_span){0, 0}, u->input_name,
                          count ? "several entries" : "no entry");
    if (count)
        diag_help(d, "say which one, as in '%s:NAME' with one of %s", side->path, names_of(u));
    else
        diag_help(d, "entries are kernels and host functions; generic ones need their parameters: '%s:NAME[T=f16]'",
                  side->path);
    return NULL;
}

// ---- compiling -----------------------------------------------------------------------------------------------------

// The entry is compiled as with --entry, from a source text of its own. Its errors are rewritten for FILE:ENTRY.
static void rewrite_entry_errors(prove_side *side)
{
    pl_unit *u = &side->unit;
    for (size_t i = 0; i < u->diags.all.len; i++) {
        diag *d = u->diags.all.at[i];
        const src_file *file = d->span.begin ? src_file_at(&u->sources, d->span.begin) : NULL;
        if (!file || strcmp(file->name, "<--entry>") != 0)
            continue;
        d->span = (src_span){0, 0};
        d->code = HDS0674;
        d->message = arena_printf(&u->memory, "'%s' has no entry '%s' to prove: %s", side->path, side->entry, d->message);
    }
}

static bool open_side(pl_unit *u, const prove_side *side)
{
    if (!side->text.len)
        return pl_open_source(u, side->path);
    u->input = side->text;
    u->input_name = side->path;
    return pl_unit_add_source(u);
}

static void compile(pl_unit *u)
{
    prove_side *side = (prove_side *)(void *)((char *)u - offsetof(prove_side, unit));
    if (!open_side(u, side))
        return;
    if (!pl_module_for_simulation(u, side->level, NULL)) {
        rewrite_entry_errors(side);
        return;
    }
    side->func = find_entry(side);
    if (!side->func)
        return;
    prove_usage(side);
    const sim_translate_options options = {.index_overflow = true};
    side->program = sim_translate(&u->memory, u->module, &options);
}

static void compile_once(prove *p, prove_side *side)
{
    side->func = NULL;
    side->program = NULL;
    pl_unit_init(&side->unit, &side->options, p->options->compile->archs[0], pl_now_us());
    pl_unit_run_deep(&side->unit, compile);
}

// Defines unknown to this file belong to the other one.
static bool drop_unknown_defines(prove *p, prove_side *side)
{
    tc_define *kept = ARENA_ARRAY(&p->memory, tc_define, side->options.define_count);
    const diag_context *dx = &side->unit.diags;
    int count = 0;
    for (int i = 0; i < side->options.define_count; i++) {
        const tc_define *define = &side->options.defines[i];
        const char *quoted = arena_printf(&p->scratch, "'%s'", define->name);
        bool is_unknown = false;
        for (size_t k = 0; k < dx->all.len && !is_unknown; k++)
            is_unknown = dx->all.at[k]->code == HDS0235 && strstr(dx->all.at[k]->message, quoted);
        if (!is_unknown)
            kept[count++] = *define;
    }
    bool dropped = count < side->options.define_count;
    side->options.defines = kept;
    side->options.define_count = count;
    return dropped;
}

bool prove_load(prove *p, int number)
{
    prove_side *side = &p->sides[number];
    const prove_options *o = p->options;
    split(p, side, number == 0 ? o->fast : o->against);
    side->text = o->text;
    side->level = o->level ? o->level : PL_SIMULATED_LEVEL;
    side->options = *o->compile;
    side->options.keeps_floats = true;
    take_keywords(p, side);
    side->options.input = side->path;
    side->options.entries = &side->entry;
    side->options.entry_count = *side->entry ? 1 : 0;
    prove_progress(p, "compiling %s", side->path);
    compile_once(p, side);
    if (!side->program && drop_unknown_defines(p, side)) {
        pl_unit_free(&side->unit);
        compile_once(p, side);
    }
    return side->program && !side->unit.diags.shown_errors;
}

static str short_name(const ir_func *f)
{
    return (str){f->title, strcspn(f->title, "[")};
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *prove_title(prove *p, int side)
{
    const prove_side *s = &p->sides[side], *other = &p->sides[1 - side];
    str name = short_name(s->func);
    if (!other->func || !str_equal(name, short_name(other->func)))
        return arena_strndup(&p->memory, name.at, name.len);
    if (strcmp(s->path, other->path) == 0 && strcmp(s->func->title, other->func->title) != 0)
        return s->func->title;
    if (strcmp(s->path, other->path) == 0)
        return side == 0 ? p->options->fast : p->options->against;
    bool is_told_by_file = strcmp(last_part(s->path), last_part(other->path)) != 0;
    return arena_printf(&p->memory, "%s:%.*s", is_told_by_file ? last_part(s->path) : s->path, (int)name.len, name.at);
}
