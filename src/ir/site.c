// Sites: the calls that were inlined into their callers.
#include "ir/ir.h"

uint32_t ir_site_add(ir_module *m, src_span span, uint32_t parent, const char *callee)
{
    ir_site site = {span, parent, callee};
    VEC_PUSH(m->lasting, &m->sites, site);
    return (uint32_t)m->sites.len;
}

const ir_site *ir_site_at(const ir_module *m, uint32_t number)
{
    return number ? &m->sites.at[number - 1] : NULL;
}

void ir_note_sites(const ir_module *m, diag *d, uint32_t origin)
{
    enum { FIRST = 5, LAST = 2 };
    int depth = 0, at = 0;
    for (const ir_site *site = ir_site_at(m, origin); site; site = ir_site_at(m, site->parent))
        depth++;
    bool is_cut = depth > FIRST + LAST + 1;
    for (const ir_site *site = ir_site_at(m, origin); site; site = ir_site_at(m, site->parent), at++) {
        if (is_cut && at == FIRST)
            diag_note(d, (src_span){0}, "and %d calls between", depth - FIRST - LAST);
        if (!is_cut || at < FIRST || at >= depth - LAST)
            diag_note(d, site->span, "in %s, called here", site->callee);
    }
}
