// Evaluates expressions for tests/jit/check_expressions.py. Each line of standard input is an expression and values of its names,
// separated by tabs: "n // 2 + m\tn=7\tm=0.5". Each answer is a number, or the word for what went wrong.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/expr.h"

enum { LONGEST = 1 << 16, MOST = 16 };

static jit_value value_of(const char *text)
{
    if (strpbrk(text, ".einEIN"))
        return (jit_value){.kind = JIT_REAL, .u.real = strtod(text, NULL)};
    return (jit_value){.kind = JIT_INTEGER, .u.integer = strtoll(text, NULL, 10)};
}

static void answer(char *line)
{
    static const char *const troubles[] = {
        [JIT_OVERFLOW] = "overflow", [JIT_ZERO_DIVISION] = "zero", [JIT_BAD_SHIFT] = "shift",
        [JIT_NOT_INTEGER] = "float", [JIT_UNKNOWN] = "unknown"};
    const char *names[MOST], *why = NULL;
    jit_value values[MOST];
    int count = 0;
    char *rest = NULL, *text = strtok_r(line, "\t\n", &rest);
    for (char *word; count < MOST && (word = strtok_r(NULL, "\t\n", &rest)); count++) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        names[count] = word;
        values[count] = value_of(equals + 1);
    }
    arena a;
    arena_init(&a, NULL);
    jit_expr expr;
    int64_t result = 0;
    jit_trouble trouble = JIT_FINE;
    if (!jit_expr_compile(&a, text, names, count, &expr, &why))
        printf("refused: %s\n", why);
    else if ((trouble = jit_expr_evaluate(&expr, values, &result)))
        printf("%s\n", troubles[trouble]);
    else
        printf("%" PRId64 "\n", result);
    arena_free(&a);
}

int main(void)
{
    static char line[LONGEST];
    while (fgets(line, sizeof line, stdin))
        answer(line);
    return 0;
}
