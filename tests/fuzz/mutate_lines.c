// Mutations that know what a source file looks like: blocks of lines with their indentation, and expressions.
//
// Bytes changed at random rarely get past the parser. Here a statement with the suite below it is moved, copied,
// dropped, or taken from another file, and given the indentation of its new line; an expression or a name takes the
// place of another one. One change in four is left to libFuzzer, which has the dictionary.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t max_size, unsigned seed);

enum { MAX_BYTES = 1 << 16, MAX_LINES = 4096 };

typedef struct text {
    const uint8_t *at;
    size_t len;
} text;

typedef struct lines {
    text of[MAX_LINES]; // with their newlines
    size_t len;
} lines;

// Output that stops growing at its limit.
typedef struct sink {
    uint8_t *at;
    size_t len, cap;
} sink;

static const char *const statements[] = {
    "if threadIdx.x < 7:\n    pass\n",
    "for i in range(n):\n    x[i] += 1.0\n",
    "while x[0] > 0:\n    break\n",
    "for i in static_range(3):\n    continue\n",
    "return\n",
    "return x\n",
    "a, b = b, a\n",
    "assert n > 0, 'text'\n",
    "y: i32 = 0\n",
    "x = register_tensor(f32, [4, 4], init=0.0)\n",
    "s = shared_tensor(f16, [16, 16])\n",
    "t = register_tensor(f32, spatial(4, 8) * repeat(2, 2))\n",
    "for i, j in spatial(4, 8).on(threadIdx.x):\n    pass\n",
    "attrs.cuda.grid_dim = n\n",
    "attrs.cuda.block_dim = (32, 4)\n",
    "static_assert(n == 4)\n",
    "syncthreads()\n",
    "print('x', n)\n",
    "printf('%d', n)\n",
    "def g(a, *b, **c):\n    return a\n",
    "class P:\n    x: f32\n    n: int = 4\n",
    "@hidet.script\ndef k(x: f32[64]):\n    attrs.cuda.grid_dim = 1\n    attrs.cuda.block_dim = 1\n    x[0] = 1\n",
    "with p as q:\n    pass\n",
    "from hidet.lang.cuda import *\n",
    "x[i, j] = y.read([i, j], outside=0.0)\n",
    "else:\n    pass\n",
    "elif x:\n    pass\n",
    "f(*a, **b)\n",
    "x[:] = 0.0\n",
};

static const char *const expressions[] = {
    "0",
    "1",
    "-1",
    "7",
    "2**31",
    "2**63",
    "2**127 - 1",
    "-(2**127)",
    "0.5",
    "1e400",
    "inf",
    "nan",
    "True",
    "None",
    "'text'",
    "''",
    "f'{n:>08.3f}'",
    "()",
    "(1,)",
    "[]",
    "{}",
    "[1, 2, 3]",
    "{1: 2}",
    "{1, 2}",
    "f16",
    "f32x4",
    "~f32",
    "void",
    "f32[4, n]",
    "shared[f16[8, 8]]",
    "threadIdx.x",
    "blockIdx.x",
    "n",
    "x",
    "x[0]",
    "x[i]",
    "x.shape",
    "x.T",
    "x[1:3]",
    "x[0:n, 1]",
    "~x[0]",
    "lambda a: a + 1",
    "lambda: f()",
    "row_major(4, 4)",
    "row_major(8, 8).swizzle(1)",
    "spatial(2, 4) * repeat(2, 2)",
    "repeat(4)",
    "auto_map(16, 16, workers=32)",
    "m.on(threadIdx.x)",
    "range(n)",
    "range(0, -5, -1)",
    "zip(a, b)",
    "a if b else c",
    "[i for i in range(4) if i]",
    "{k: v for k, v in d.items()}",
    "max(a, b)",
    "len(x)",
    "int(x)",
    "i64(n)",
    "u8(300)",
    "f16(x)",
    "a // b",
    "a % b",
    "a << 3",
    "a ** 2",
    "not a",
    "a < b < c",
    "a and b",
    "x.read([i])",
    "print",
    "f",
    "k[f16]",
    "P(1)",
    "self.x",
    "cast(x, f16)",
    "bitcast(x, i32)",
    "address(x)",
    "grid(2, n)",
    "meta.range(4)",
    "(y := 3)",
    "type(x)",
    "x.sum(axis=0)",
    "*a",
    "**b",
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
    return n ? next_random(state) % n : 0;
}

static void put(sink *out, const void *data, size_t len)
{
    if (len > out->cap - out->len)
        len = out->cap - out->len;
    memcpy(out->at + out->len, data, len);
    out->len += len;
}

// ---- lines --------------------------------------------------------------------------------------------------------

static void split(lines *l, const uint8_t *data, size_t size)
{
    l->len = 0;
    for (size_t start = 0; start < size && l->len < MAX_LINES;) {
        const uint8_t *end = memchr(data + start, '\n', size - start);
        size_t len = end && l->len + 1 < MAX_LINES ? (size_t)(end - (data + start)) + 1 : size - start;
        l->of[l->len++] = (text){data + start, len};
        start += len;
    }
}

static size_t indentation(text line)
{
    size_t i = 0;
    while (i < line.len && line.at[i] == ' ')
        i++;
    return i;
}

static bool is_blank(text line)
{
    size_t i = indentation(line);
    return i == line.len || line.at[i] == '\n';
}

// The first line after the statement that begins at line [i] and the suite below it.
static size_t block_end(const lines *l, size_t i)
{
    size_t own = indentation(l->of[i]);
    for (i++; i < l->len && (is_blank(l->of[i]) || indentation(l->of[i]) > own); i++)
        ;
    return i;
}

static void put_lines(sink *out, const lines *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        put(out, l->of[i].at, l->of[i].len);
}

// Lines [from, to) with the first at [indent] and the others moved by as much.
static void put_moved(sink *out, const lines *l, size_t from, size_t to, size_t indent)
{
    size_t own = indentation(l->of[from]);
    for (size_t i = from; i < to; i++) {
        size_t here = indentation(l->of[i]), spaces = here >= own ? here - own + indent : 0;
        for (size_t k = 0; k < spaces; k++)
            put(out, " ", 1);
        put(out, l->of[i].at + here, l->of[i].len - here);
    }
    if (to > from && l->of[to - 1].at[l->of[to - 1].len - 1] != '\n')
        put(out, "\n", 1);
}

// An insertion point for a statement: a line, and the indentation there or one level deeper than the line before.
static size_t pick_line(const lines *l, uint64_t *state, size_t *indent)
{
    size_t at = below(state, l->len + 1);
    *indent = at < l->len ? indentation(l->of[at]) : 0;
    if (at > 0 && below(state, 3) == 0)
        *indent = indentation(l->of[at - 1]);
    return at;
}

// [from] has its lines [first, end) put into [l] at a random line; [dropped] lines there are removed.
static void splice(sink *out, const lines *l, const lines *from, size_t first, size_t end, bool replaces,
                   uint64_t *state)
{
    size_t indent, at = pick_line(l, state, &indent), rest = at;
    if (replaces && at < l->len)
        rest = block_end(l, at);
    put_lines(out, l, 0, at);
    put_moved(out, from, first, end, indent);
    put_lines(out, l, rest, l->len);
}

static void put_statement(sink *out, const lines *l, uint64_t *state)
{
    const char *chosen = statements[below(state, sizeof statements / sizeof *statements)];
    static _Thread_local lines snippet;
    split(&snippet, (const uint8_t *)chosen, strlen(chosen));
    splice(out, l, &snippet, 0, snippet.len, below(state, 3) == 0, state);
}

static void drop_block(sink *out, const lines *l, uint64_t *state)
{
    size_t at = below(state, l->len);
    put_lines(out, l, 0, at);
    put_lines(out, l, below(state, 2) ? at + 1 : block_end(l, at), l->len);
}

static void copy_block(sink *out, const lines *l, const lines *from, uint64_t *state)
{
    size_t first = below(state, from->len);
    splice(out, l, from, first, block_end(from, first), below(state, 3) == 0, state);
}

// ---- expressions --------------------------------------------------------------------------------------------------

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// The word at or after [i], with the brackets that follow it, or what a pair of brackets holds: an expression, likely.
static text find_expression(const uint8_t *data, size_t size, size_t i, bool with_brackets)
{
    while (i > 0 && i < size && is_word(data[i - 1]) && is_word(data[i]))
        i--;
    while (i < size && !is_word(data[i]) && data[i] != '(' && data[i] != '[')
        i++;
    size_t start = i, depth = 0;
    while (i < size && is_word(data[i]))
        i++;
    while (with_brackets && i < size && (depth || data[i] == '(' || data[i] == '[')) {
        if (data[i] == '(' || data[i] == '[')
            depth++;
        if (data[i] == ')' || data[i] == ']')
            depth--;
        i++;
        if (i - start > 200)
            break;
    }
    return (text){data + start, i - start};
}

static text snippet_expression(uint64_t *state)
{
    const char *chosen = expressions[below(state, sizeof expressions / sizeof *expressions)];
    return (text){(const uint8_t *)chosen, strlen(chosen)};
}

// An expression of [data] becomes another: one of [from], or of the table; or the two are joined.
static void replace_expression(sink *out, const uint8_t *data, size_t size, const uint8_t *from, size_t from_size,
                               uint64_t *state)
{
    static const char *const joints[] = {" + ", " * ",         " // ", " % ",  " < ", " and ",
                                         ", ",  " if x else ", " << ", " == ", " - "};
    text old = find_expression(data, size, below(state, size), below(state, 2));
    text new = below(state, 2) ? snippet_expression(state)
                               : find_expression(from, from_size, below(state, from_size), below(state, 3) > 0);
    put(out, data, (size_t)(old.at - data));
    if (below(state, 5) == 0) {
        const char *joint = joints[below(state, sizeof joints / sizeof *joints)];
        put(out, old.at, old.len);
        put(out, joint, strlen(joint));
    }
    put(out, new.at, new.len);
    put(out, old.at + old.len, size - (size_t)(old.at + old.len - data));
}

// ---- the two entry points -----------------------------------------------------------------------------------------

static void mutate_once(sink *out, const uint8_t *data, size_t size, uint64_t *state)
{
    static _Thread_local lines l;
    split(&l, data, size);
    switch (below(state, 8)) {
    case 0:
        drop_block(out, &l, state);
        break;
    case 1:
    case 2:
        copy_block(out, &l, &l, state);
        break;
    case 3:
        put_statement(out, &l, state);
        break;
    default:
        replace_expression(out, data, size, data, size, state);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t state = seed;
    if (size == 0 || size > MAX_BYTES || below(&state, 4) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    static _Thread_local uint8_t buffers[2][MAX_BYTES * 2];
    memcpy(buffers[0], data, size);
    size_t cap = max_size < sizeof *buffers ? max_size : sizeof *buffers, which = 0;
    for (size_t n = 1 + below(&state, 3); n > 0 && size > 0 && size <= MAX_BYTES; n--) {
        sink out = {buffers[1 - which], 0, cap};
        mutate_once(&out, buffers[which], size, &state);
        size = out.len;
        which = 1 - which;
    }
    memcpy(data, buffers[which], size);
    return size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t max_size, unsigned seed)
{
    static _Thread_local lines a, b;
    uint64_t state = seed;
    sink to = {out, 0, max_size};
    split(&a, first, first_size);
    split(&b, second, second_size);
    if (first_size == 0 || second_size == 0 || below(&state, 3) == 0) {
        put(&to, first, first_size);
        put(&to, second, second_size);
    } else if (below(&state, 3) == 0) {
        replace_expression(&to, first, first_size, second, second_size, &state);
    } else {
        copy_block(&to, &a, &b, &state);
    }
    return to.len;
}
