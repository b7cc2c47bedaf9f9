// Expressions evaluated by themselves, as `hdsc mapping` takes them.
#pragma once

#include "pipeline/unit.h"

typedef struct pl_evaluation {
    pl_unit unit;             // its diagnostics, its memory
    const char *map_text, *layout_text;  // NULL: not asked for
    const tm_map *map;
    const tm_layout *layout;
} pl_evaluation;

// Evaluates the texts that are not NULL. The results live until pl_evaluation_free; [options] must live as long.
// [oom]: as for pl_job_init.
pl_status pl_evaluate(pl_evaluation *e, const pl_options *options, const char *map_text, const char *layout_text,
                      arena_oom *oom);
void pl_evaluation_free(pl_evaluation *e);

typedef struct pl_operators {
    pl_unit unit;  // its diagnostics, its memory
    tc_listing listing;
    bool is_read;
} pl_operators;

// The operators of the file options.input (tc_list_operators), with results for the [given] operands and attributes (NULL,
// 0: none). They live until pl_unit_free(&operators.unit). [oom]: as for pl_job_init.
pl_status pl_list_operators(pl_operators *operators, const pl_options *options, const tc_define *given, int given_count,
                            arena_oom *oom);

typedef struct pl_asking {
    pl_unit unit;          // its diagnostics, its memory
    const tc_question *question;
    const char **answers;  // of the calls; NULL: it went wrong
} pl_asking;

// Asks a value of the file options.input (tc_ask). The answers live until pl_unit_free(&asking.unit). [oom]: as for
// pl_job_init.
pl_status pl_ask(pl_asking *asking, const pl_options *options, const tc_question *question, arena_oom *oom);
