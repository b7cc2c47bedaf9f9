// Functions that launch an author's kernels, against what calls them: what they lack is said where the operator is made, not
// where a definition needs it.
#include "typecheck/operators/operators_priv.h"

static bool takes_any_number(const ast_params *params)
{
    for (size_t i = 0; i < params->len; i++) {
        if (params->at[i].kind == AST_PARAM_STAR)
            return true;
    }
    return false;
}

// Whether a call with so many arguments by position is complete.
static bool takes(const ast_params *params, int count)
{
    int taken = 0, needed = 0;
    for (size_t i = 0; i < params->len; i++) {
        const ast_param *p = &params->at[i];
        if (p->kind != AST_PARAM_PLAIN)
            continue;
        taken += p->keyword_only ? 0 : 1;
        needed += p->default_value ? 0 : p->keyword_only ? count + 1 : 1;
    }
    return needed <= count && (count <= taken || takes_any_number(params));
}

// An error at the call of the decorator: [f] does not have the parameters [wanted].
static tc_value lacks_parameters(tc *tx, const tc_function *f, const char *whose, const char *wanted)
{
    tc_frame *decorator = tx->frame;
    const char *name = f->name ? f->name->text : "a lambda";
    tx->frame = decorator->caller;
    diag *d = tc_error(tx, HDS0188, decorator->call_span, name, whose);
    diag_label(d, f->decl->name_span, "its parameters");
    diag_help(d, "it is called as if it were 'def %s(%s)'", name, wanted);
    tx->frame = decorator;
    return tc_bool(false);
}

static bool is_declared(tc_value f)
{
    return f.kind == TC_FUNCTION && f.function->decl;
}

// The last argument of a schedule is there only where a definition has an epilogue.
tc_value tc_native_is_schedule(tc *tx, const tc_native *self, tc_args *args)
{
    enum { ALWAYS = 4, OF_PROLOGUE = 2 };
    (void)self;
    tc_value schedule = args->list.at[0].value, epilogue = args->list.at[1].value, prologue = args->list.at[2].value;
    if (!tx->frame->caller)
        return tc_bool(true);
    if (is_declared(prologue) && !takes(&prologue.function->decl->params, OF_PROLOGUE))
        return lacks_parameters(tx, prologue.function, "the prologue of an operator", "operands, how");
    if (!is_declared(schedule) || epilogue.kind != TC_BOOL)
        return tc_bool(true);
    const ast_params *params = &schedule.function->decl->params;
    if (takes(params, ALWAYS) && (!epilogue.b || takes(params, ALWAYS + 1)))
        return tc_bool(true);
    const char *whose = epilogue.b ? "the schedule of an operator that takes an epilogue" : "the schedule of an operator";
    const char *wanted = epilogue.b ? "definition, operands, results, how, epilogue=None" : "definition, operands, results, how";
    return lacks_parameters(tx, schedule.function, whose, wanted);
}
