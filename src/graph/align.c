// The longest common subsequence of two lists, in memory that grows with their lengths: E. Myers, "An O(ND) Difference Algorithm
// and Its Variations", Algorithmica 1986, section 4b.
#include "graph/diff.h"

typedef struct aligner {
    const int *a, *b;
    int *match;              // of [a]'s elements: of [b]; -1: none
    int *forward, *backward; // how far each diagonal was followed from either end
} aligner;

// A run of equal elements in the middle of the shortest way from one list to the other: a[x..u) and b[y..v).
typedef struct snake {
    int x, y, u, v;
} snake;

typedef struct part {
    int a, n, b, m; // n elements from a on, m elements from b on
} part;

static int at_diagonal(const int *reached, int k, int size)
{
    return reached[((k % size) + size) % size];
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// One step further on all diagonals, from the front or from the back. Whether the two ways have met.
static bool advance(const aligner *x, const part *p, int step, bool is_back, snake *out)
{
    const int n = p->n, m = p->m, size = 2 * (n < m ? n : m) + 2;
    int *ours = is_back ? x->backward : x->forward, *theirs = is_back ? x->forward : x->backward;
    for (int k = -(step - 2 * larger(0, step - m)); k <= step - 2 * larger(0, step - n); k += 2) {
        int below = at_diagonal(ours, k - 1, size), above = at_diagonal(ours, k + 1, size);
        int i = k == -step || (k != step && below < above) ? above : below + 1, j = i - k, from_i = i, from_j = j;
        while (i < n && j < m && x->a[p->a + (is_back ? n - 1 - i : i)] == x->b[p->b + (is_back ? m - 1 - j : j)])
            i++, j++;
        ours[((k % size) + size) % size] = i;
        int other = n - m - k, reach = is_back ? step : step - 1;
        if (((n + m) % 2 == 0) != is_back || other < -reach || other > reach || i + at_diagonal(theirs, other, size) < n)
            continue;
        *out = is_back ? (snake){n - i, m - j, n - from_i, m - from_j} : (snake){from_i, from_j, i, j};
        return true;
    }
    return false;
}

static snake find_middle(const aligner *x, const part *p)
{
    snake s = {0};
    int size = 2 * (p->n < p->m ? p->n : p->m) + 2;
    for (int i = 0; i < size; i++)
        x->forward[i] = x->backward[i] = 0;
    for (int step = 0; !advance(x, p, step, false, &s) && !advance(x, p, step, true, &s); step++)
        continue;
    return s;
}

// What is equal at both ends is taken first: the way through the rest has two steps at least, one on each side of its middle.
static void align(const aligner *x, part p)
{
    for (; p.n && p.m && x->a[p.a] == x->b[p.b]; p.a++, p.b++, p.n--, p.m--)
        x->match[p.a] = p.b;
    for (; p.n && p.m && x->a[p.a + p.n - 1] == x->b[p.b + p.m - 1]; p.n--, p.m--)
        x->match[p.a + p.n - 1] = p.b + p.m - 1;
    if (!p.n || !p.m)
        return;
    snake s = find_middle(x, &p);
    for (int i = s.x; i < s.u; i++)
        x->match[p.a + i] = p.b + s.y + (i - s.x);
    align(x, (part){p.a, s.x, p.b, s.y});
    align(x, (part){p.a + s.u, p.n - s.u, p.b + s.v, p.m - s.v});
}

void fg_align(arena *memory, const int *a, int n, const int *b, int m, int *match)
{
    int least = n < m ? n : m;
    aligner x = {a, b, match, ARENA_ARRAY(memory, int, 2 * least + 2), ARENA_ARRAY(memory, int, 2 * least + 2)};
    // Between elements that are matched before.
    for (int i = 0, from_a = 0, from_b = 0; i <= n; i++) {
        if (i < n && match[i] < 0)
            continue;
        int to_b = i < n ? match[i] : m;
        align(&x, (part){from_a, i - from_a, from_b, to_b - from_b});
        from_a = i + 1;
        from_b = to_b + 1;
    }
}
