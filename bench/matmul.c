// Matrix products of libhdsops beside those of cuBLAS: a table in Markdown, a row for each product. Needs a GPU; cuBLAS
// is opened when the program runs. docs/ops.md says how to run it and what its columns mean.
//
// Results are checked before anything is measured: the output is poisoned, all of it compared with the peer's, and 1024
// elements with f64. Times are medians with L2 flushed (matmul/contest.h). The peer is the better of cublasGemmEx and
// the first choice of cublasLt's heuristic, of all eight with --lt-all.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "matmul/check.h"
#include "matmul/contest.h"

enum { MOST_SHAPES = 256, MOST_WAYS = 512, HEAT = 12, FINALISTS = 4, GRAPH_REPLAYS = 21 };

typedef struct options {
    const char *groups, *types, *cublas, *json;
    mm_shape shapes[MOST_SHAPES];
    int count;
    int check; // products of the property test; 0: measure
    double seconds;
    uint32_t seed;
    bool lt_all, candidates, warm, orders_given;
    char orders[3];
    int64_t size[4]; // batch, m, n, k of --shape; 0: the lists
} options;

static const char usage[] =
    "usage: matmul_bench [OPTION…]\n"
    "  --group=NAME,…     of: tn, nn, decode, batched, fp8, f32, tf32, epilogue (all)\n"
    "  --dtype=NAME,…     of: f16, bf16, f32, e4m3 (all)\n"
    "  --shape=[B,]M,N,K  this product only, --orders=TN|NN|TT|NT and the first of --dtype (f16)\n"
    "  --candidates       every schedule of ours, one after the other, the best four and our own choice at length\n"
    "  --lt-all           the best of eight choices of cublasLt as the peer\n"
    "  --warm             also the time of a call in a graph, without flushes\n"
    "  --seconds=N        spend about N seconds, by measuring less\n"
    "  --seed=N           of the operands\n"
    "  --cublas=FILE      libcublas.so.13 to open; else $HDS_CUBLAS, else where it usually is\n"
    "  --json=FILE        writes a line for each product\n"
    "  --check=N          no times: N random products of ours against f64 (docs/ops.md)\n";

// ---- what to measure ----------------------------------------------------------------------------------------------

static void add(options *o, mm_shape s)
{
    if (o->count < MOST_SHAPES)
        o->shapes[o->count++] = s;
}

static void add_lists(options *o)
{
    static const int64_t large[][3] = {{1024, 1024, 1024},    {1152, 1152, 1152},  {2048, 2048, 2048},
                                       {3000, 3000, 3000},    {4096, 4096, 4096},  {8192, 8192, 8192},
                                       {16384, 16384, 16384}, {2048, 12288, 4096}, {4096, 14336, 4096},
                                       {8192, 4096, 14336},   {4096, 4096, 128}};
    static const int64_t weights[][2] = {{4096, 4096}, {14336, 4096}, {4096, 14336}, {1000, 512}};
    static const int64_t few[] = {1, 8, 16, 32, 64};
    static const mm_type halves[] = {MM_F16, MM_BF16};
    for (int nn = 0; nn < 2; nn++) {
        for (int t = 0; t < 2; t++) {
            for (int i = 0; i < 11; i++)
                add(o, (mm_shape){nn ? "nn" : "tn", halves[t], halves[t], halves[t], nn ? "NN" : "TN", 1, large[i][0],
                                  large[i][1], large[i][2], false, false});
        }
    }
    for (int i = 0; i < 5; i++) {
        for (int w = 0; w < 4; w++)
            add(o, (mm_shape){"decode", MM_F16, MM_F16, MM_F16, "TN", 1, few[i], weights[w][0], weights[w][1], false,
                              false});
    }
    add(o, (mm_shape){"batched", MM_F16, MM_F16, MM_F16, "TN", 8, 1024, 1024, 1024, false, false});
    add(o, (mm_shape){"batched", MM_F16, MM_F16, MM_F16, "TN", 16, 512, 512, 512, false, false});
    add(o, (mm_shape){"fp8", MM_E4M3, MM_E4M3, MM_BF16, "TN", 1, 8192, 8192, 8192, false, false});
    for (int tf32 = 0; tf32 < 2; tf32++) {
        add(o, (mm_shape){tf32 ? "tf32" : "f32", MM_F32, MM_F32, MM_F32, "TN", 1, 4096, 4096, 4096, tf32, false});
        add(o, (mm_shape){tf32 ? "tf32" : "f32", MM_F32, MM_F32, MM_F32, "NN", 1, 4096, 4096, 4096, tf32, false});
    }
    add(o, (mm_shape){"epilogue", MM_F16, MM_F16, MM_F16, "TN", 1, 4096, 4096, 4096, false, true});
    add(o, (mm_shape){"epilogue", MM_F16, MM_F16, MM_F16, "TN", 1, 8192, 8192, 8192, false, true});
}

// Whether [name] is a word of a list with commas; everything is in no list.
static bool is_in(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == 0))
            return true;
    }
    return list == NULL;
}

static void add_one(options *o)
{
    mm_shape s = {"shape",
                  MM_F16,
                  MM_F16,
                  MM_F16,
                  o->orders_given ? o->orders : "TN",
                  o->size[0],
                  o->size[1],
                  o->size[2],
                  o->size[3],
                  is_in("tf32", o->groups ? o->groups : ""),
                  is_in("epilogue", o->groups ? o->groups : "")};
    for (int t = 0; t < MM__TYPES && o->types; t++) {
        if (is_in(o->types, mm_types[t].name))
            s.a = s.b = s.c = (mm_type)t;
    }
    if (s.a == MM_E4M3 || s.a == MM_E5M2)
        s.b = MM_E4M3, s.c = MM_BF16;
    if (s.a == MM_I8)
        s.c = MM_I32;
    add(o, s);
}

static void choose(options *o)
{
    if (o->size[1]) {
        add_one(o);
        return;
    }
    int kept = 0;
    add_lists(o);
    for (int i = 0; i < o->count; i++) {
        const mm_shape *s = &o->shapes[i];
        if (is_in(o->groups, s->group) && is_in(o->types, mm_types[s->a].name) &&
            (!o->orders_given || strcmp(o->orders, s->orders) == 0))
            o->shapes[kept++] = *s;
    }
    o->count = kept;
}

static bool read_size(options *o, const char *text)
{
    long long v[4];
    int count = sscanf(text, "%lld,%lld,%lld,%lld", &v[0], &v[1], &v[2], &v[3]);
    for (int i = 0; i < count; i++)
        o->size[4 - count + i] = v[i];
    if (count == 3)
        o->size[0] = 1;
    return count >= 3;
}

static const char *value_of(const char *argument, const char *name)
{
    size_t len = strlen(name);
    return strncmp(argument, name, len) == 0 && argument[len] == '=' ? argument + len + 1 : NULL;
}

static bool read_argument(options *o, const char *a)
{
    const char *v;
    if ((v = value_of(a, "--group")))
        o->groups = v;
    else if ((v = value_of(a, "--dtype")))
        o->types = v;
    else if ((v = value_of(a, "--cublas")))
        o->cublas = v;
    else if ((v = value_of(a, "--json")))
        o->json = v;
    else if ((v = value_of(a, "--seconds")))
        o->seconds = atof(v);
    else if ((v = value_of(a, "--seed")))
        o->seed = (uint32_t)atoll(v);
    else if ((v = value_of(a, "--check")))
        o->check = atoi(v);
    else if ((v = value_of(a, "--shape")))
        return read_size(o, v);
    else if ((v = value_of(a, "--orders"))) {
        o->orders_given = true;
        snprintf(o->orders, sizeof o->orders, "%s", v);
        return strlen(v) == 2 && strspn(v, "NT") == 2;
    } else if (strcmp(a, "--lt-all") == 0)
        o->lt_all = true;
    else if (strcmp(a, "--candidates") == 0)
        o->candidates = true;
    else if (strcmp(a, "--warm") == 0)
        o->warm = true;
    else
        return false;
    return true;
}

// ---- a row --------------------------------------------------------------------------------------------------------

typedef struct bench {
    options o;
    mm_gpu gpu;
    mm_peer *peer;
    FILE *json;
    double began;
    int failures;
} bench;

typedef struct row {
    const mm_shape *shape;
    const char *peer_name, *our_name, *choice_name;
    double peer_us, our_us, choice_us, bare_us; // 0: not measured
    double peer_warm_us, our_warm_us;
} row;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The part of a whole race that a row may take. A whole row of large products takes about 2 s for each way.
static double effort(const bench *b, int shape)
{
    if (b->o.seconds <= 0)
        return 1;
    double left = b->o.seconds - (now() - b->began), each = left / (b->o.count - shape);
    double part = each / (b->o.candidates ? 12 : 3);
    return part > 1 ? 1 : part < 0.05 ? 0.05 : part;
}

// The fastest way by a short race; -1: none.
static int fastest(mm_contest *c, const mm_way *ways, int count, double part, double *medians)
{
    const mm_product *products[MOST_WAYS] = {0};
    int best = -1;
    for (int w = 0; w < count; w++)
        products[w] = &c->product;
    if (count == 1)
        return 0;
    if (!mm_contest_race(c, ways, products, count, part, medians))
        return -1;
    for (int w = 0; w < count; w++) {
        if (medians[w] > 0 && (best < 0 || medians[w] < medians[best]))
            best = w;
    }
    return best;
}

static bool is_working(mm_contest *c, const mm_way *way)
{
    return way->run(way->self, &c->product, way->index, c->gpu->stream) == HDSRT_OK &&
           hdsrt_synchronize(c->gpu->stream) == HDSRT_OK;
}

// The peer's best way, or false.
static bool choose_peer(bench *b, mm_contest *c, mm_way *peer)
{
    mm_way ways[MM_PEER_WAYS];
    double medians[MM_PEER_WAYS];
    int count = b->peer ? mm_peer_ways(b->peer, &c->product, b->o.lt_all ? 8 : 1, ways) : 0, kept = 0;
    for (int w = 0; w < count; w++) {
        if (is_working(c, &ways[w]))
            ways[kept++] = ways[w];
    }
    int best = kept ? fastest(c, ways, kept, 0.1, medians) : -1;
    if (best >= 0)
        *peer = ways[best];
    return best >= 0;
}

// Our own choice first, then with --candidates each schedule that takes the product and is right. Their number.
static int our_ways(bench *b, mm_contest *c, mm_way *ways)
{
    int count = 0, schedules = b->o.candidates ? mm_schedules(&c->product) : 0;
    const char *why;
    ways[count++] = (mm_way){mm_choice_name(&c->product), mm_run, NULL, -1};
    for (int i = 0; i < schedules && count < MOST_WAYS; i++) {
        const char *name = mm_schedule_name(&c->product, i);
        mm_way way = {name, mm_run, NULL, i};
        if (!name)
            continue;
        if (mm_contest_check(c, &way, &why)) {
            ways[count++] = way;
        } else if (strncmp(why, "wrong", 5) == 0) {
            printf("schedule %d (%s) is wrong: %s\n", i, name, why);
            b->failures++;
        }
    }
    return count;
}

static void print_candidates(const mm_way *ways, const double *medians, int count)
{
    for (int w = 0; w < count; w++)
        fprintf(stderr, "    %4d %-40s %10.2f us\n", ways[w].index, ways[w].name ? ways[w].name : "?", medians[w]);
}

// Our own choice stays first; of the others the [most] fastest of a race stay, fastest first. Their number with ours.
static int qualify(mm_contest *c, mm_way *ways, int count, double effort, int most)
{
    double medians[MOST_WAYS];
    if (count <= 1 || fastest(c, ways, count, effort, medians) < 0)
        return 1;
    print_candidates(ways, medians, count);
    int kept = 1;
    for (int f = 0; f < most; f++) {
        int best = -1;
        for (int w = kept; w < count; w++) {
            if (medians[w] > 0 && (best < 0 || medians[w] < medians[best]))
                best = w;
        }
        if (best < 0)
            break;
        mm_way way = ways[best];
        double us = medians[best];
        ways[best] = ways[kept], medians[best] = medians[kept];
        ways[kept] = way, medians[kept++] = us;
    }
    return kept;
}

// Two heats: in the first, of one block each, the clock still changes from way to way.
static int finalists(mm_contest *c, mm_way *ways, int count, double part)
{
    count = qualify(c, ways, count, 0.1 * part, HEAT);
    return count > 1 + FINALISTS ? qualify(c, ways, count, 0.4 * part, FINALISTS) : count;
}

static void race_row(bench *b, mm_contest *c, row *r, mm_way *ways, int ours, double part)
{
    const mm_product *products[FINALISTS + 3];
    double medians[FINALISTS + 3] = {0};
    int count = 1 + ours;
    for (int w = 0; w < count; w++)
        products[w] = &c->product;
    if (c->shape.has_epilogue) {
        ways[count] = (mm_way){"bare", mm_run, NULL, -1};
        products[count++] = &c->bare;
    }
    // Without a peer the first entry is empty.
    int first = ways[0].run ? 0 : 1;
    if (!mm_contest_race(c, ways + first, products + first, count - first, part, medians + first)) {
        printf("%s\n", hdsrt_last_error());
        b->failures++;
        return;
    }
    int best = 1;
    for (int w = 2; w <= ours; w++)
        best = medians[w] < medians[best] ? w : best;
    r->peer_us = medians[0];
    r->choice_us = medians[1];
    r->choice_name = ways[1].name;
    r->our_us = medians[best];
    r->our_name = ways[best].name;
    if (c->shape.has_epilogue)
        r->bare_us = medians[count - 1];
    if (b->o.warm) {
        mm_way pair[2] = {ways[best], ways[0]};
        double warm[2] = {0};
        mm_time_graph(&b->gpu, pair, ways[0].run ? 2 : 1, &c->product, GRAPH_REPLAYS, warm);
        r->our_warm_us = warm[0];
        r->peer_warm_us = warm[1];
    }
}

static bool measure(bench *b, mm_contest *c, row *r, double part)
{
    mm_way ways[MOST_WAYS + 2] = {{0}};
    const char *why;
    bool has_peer = choose_peer(b, c, &ways[0]);
    if (!has_peer)
        ways[0] = (mm_way){0};
    r->peer_name = has_peer ? ways[0].name : "";
    if (!mm_contest_reference(c, has_peer ? &ways[0] : NULL)) {
        printf("the peer: %s\n", hdsrt_last_error());
        return false;
    }
    int ours = our_ways(b, c, ways + 1);
    if (!mm_contest_check(c, &ways[1], &why)) {
        printf("| %s | %lld x %lld x %lld | %s |\n", c->shape.group, (long long)c->shape.m, (long long)c->shape.n,
               (long long)c->shape.k, why);
        return false;
    }
    ours = finalists(c, ways + 1, ours, part);
    race_row(b, c, r, ways, ours, part);
    return r->our_us > 0;
}

// ---- the table ----------------------------------------------------------------------------------------------------

static void print_head(const bench *b)
{
    printf("| group | types | orders | m x n x k | cuBLAS us | by | ours us | schedule | ratio | TFLOP/s |%s%s\n",
           b->o.candidates ? " own choice |" : "", b->o.warm ? " warm us | cuBLAS | ratio |" : "");
    printf("| --- | --- | --- | --- | ---: | --- | ---: | --- | ---: | ---: |%s%s\n", b->o.candidates ? " ---: |" : "",
           b->o.warm ? " ---: | ---: | ---: |" : "");
}

static double ratio(double peer_us, double our_us)
{
    return our_us > 0 ? peer_us / our_us : 0;
}

static void print_row(const bench *b, const row *r)
{
    const mm_shape *s = r->shape;
    char size[80], batch[24] = "";
    if (s->batch > 1)
        snprintf(batch, sizeof batch, "%lld · ", (long long)s->batch);
    snprintf(size, sizeof size, "%s%lld x %lld x %lld", batch, (long long)s->m, (long long)s->n, (long long)s->k);
    printf("| %s | %s → %s | %s | %s | %.2f | %s | %.2f | %s | %.3f | %.1f |", s->group, mm_types[s->a].name,
           mm_types[s->c].name, s->orders, size, r->peer_us, r->peer_name, r->our_us, r->our_name ? r->our_name : "",
           ratio(r->peer_us, r->our_us), mm_operations(s) / r->our_us / 1e6);
    if (b->o.candidates)
        printf(" %.3f (%s) |", ratio(r->our_us, r->choice_us), r->choice_name ? r->choice_name : "");
    if (b->o.warm)
        printf(" %.2f | %.2f | %.3f |", r->our_warm_us, r->peer_warm_us, ratio(r->peer_warm_us, r->our_warm_us));
    printf("%s\n", "");
    if (r->bare_us > 0)
        printf("|  |  |  | the same without bias and GELU |  |  | %.2f |  | fused costs %+.1f %% |  |\n", r->bare_us,
               100 * (r->our_us / r->bare_us - 1));
    fflush(stdout);
}

static void write_json(const bench *b, const row *r)
{
    const mm_shape *s = r->shape;
    if (!b->json)
        return;
    fprintf(
        b->json,
        "{\"group\": \"%s\", \"type\": \"%s\", \"c_type\": \"%s\", \"orders\": \"%s\", \"batch\": %lld, \"m\": %lld, "
        "\"n\": %lld, \"k\": %lld, \"peer\": \"%s\", \"peer_us\": %.3f, \"ours\": \"%s\", \"ours_us\": %.3f, "
        "\"choice\": \"%s\", \"choice_us\": %.3f, \"bare_us\": %.3f, \"ours_warm_us\": %.3f, \"peer_warm_us\": %.3f}\n",
        s->group, mm_types[s->a].name, mm_types[s->c].name, s->orders, (long long)s->batch, (long long)s->m,
        (long long)s->n, (long long)s->k, r->peer_name, r->peer_us, r->our_name ? r->our_name : "", r->our_us,
        r->choice_name ? r->choice_name : "", r->choice_us, r->bare_us, r->our_warm_us, r->peer_warm_us);
    fflush(b->json);
}

// The geometric mean of the ratios of a group; the lowest beside it.
static void print_group(const row *rows, int count, const char *group)
{
    double logs = 0, choice_logs = 0, least = 1e9;
    int used = 0;
    for (int i = 0; i < count; i++) {
        double each = ratio(rows[i].peer_us, rows[i].our_us);
        if ((group && strcmp(rows[i].shape->group, group) != 0) || each <= 0)
            continue;
        logs += log(each);
        choice_logs += log(ratio(rows[i].our_us, rows[i].choice_us));
        least = each < least ? each : least;
        used++;
    }
    if (used)
        printf("%s: geometric mean %.3f, lowest %.3f, of %d; own choice %.3f of the best\n", group ? group : "all",
               exp(logs / used), least, used, exp(choice_logs / used));
}

static void print_groups(const row *rows, int count)
{
    printf("\n");
    for (int i = 0; i < count; i++) {
        bool is_first = true;
        for (int j = 0; j < i; j++)
            is_first = is_first && strcmp(rows[j].shape->group, rows[i].shape->group) != 0;
        if (is_first)
            print_group(rows, count, rows[i].shape->group);
    }
    print_group(rows, count, NULL);
}

// ---- the machine --------------------------------------------------------------------------------------------------

static void print_command(const char *command)
{
    char line[512];
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        printf("    %s", line);
    if (f)
        pclose(f);
}

static void print_machine(const bench *b)
{
    char name[256] = "unknown", date[64];
    time_t t = time(NULL);
    b->gpu.cuda->device_name(name, sizeof name, 0);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&t));
    printf("%s, %s, cuBLAS %s, libhdsops %s\n", name, date, b->peer ? mm_peer_version(b->peer) : "none", mm_version());
    print_command(
        "nvidia-smi --query-gpu=driver_version,power.limit,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu "
        "--format=csv,noheader -i 0 2>/dev/null");
    fflush(stdout);
}

static int measure_all(bench *b)
{
    row *rows = calloc((size_t)b->o.count, sizeof *rows);
    int count = 0;
    print_head(b);
    for (int i = 0; rows && i < b->o.count; i++) {
        mm_contest c;
        rows[count] = (row){.shape = &b->o.shapes[i]};
        if (!mm_contest_open(&c, &b->gpu, &b->o.shapes[i], b->o.seed + 3 * (uint32_t)i)) {
            printf("%s\n", hdsrt_last_error());
            b->failures++;
            continue;
        }
        if (measure(b, &c, &rows[count], effort(b, i))) {
            print_row(b, &rows[count]);
            write_json(b, &rows[count++]);
        } else {
            b->failures++;
        }
        mm_contest_close(&c);
    }
    print_groups(rows, count);
    print_machine(b);
    printf("%.0f s, %d failed\n", now() - b->began, b->failures);
    free(rows);
    return b->failures ? 1 : 0;
}

int main(int argc, char **argv)
{
    static bench b;
    const char *why = "";
    b.o.seed = 1;
    for (int i = 1; i < argc; i++) {
        if (!read_argument(&b.o, argv[i])) {
            fputs(usage, stderr);
            return 2;
        }
    }
    choose(&b.o);
    b.began = now();
    if (!mm_gpu_open(&b.gpu)) {
        fprintf(stderr, "matmul_bench: %s\n", hdsrt_last_error());
        return 2;
    }
    if (b.o.check)
        return mm_check(&b.gpu, b.o.check, b.o.seed, b.o.seconds);
    b.peer = mm_peer_open(&b.gpu, b.o.cublas ? b.o.cublas : getenv("HDS_CUBLAS"), &why);
    if (!b.peer)
        fprintf(stderr, "matmul_bench: no cuBLAS to compare with: %s\n", why);
    b.json = b.o.json ? fopen(b.o.json, "w") : NULL;
    print_machine(&b);
    int code = measure_all(&b);
    if (b.json)
        fclose(b.json);
    mm_peer_close(b.peer);
    mm_gpu_close(&b.gpu);
    return code;
}
