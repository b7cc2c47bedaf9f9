// The printer of expressions and statements that the back ends for CUDA C++ (emit_priv.h) and C (c_priv.h) share: the
// state of one emission, and texts of expressions with their types in C++. Where the languages differ it asks cu_dialect.
#pragma once

#include "cuda_emit/emit.h"
#include "cuda_emit/prelude.h"

// Binding strength of C++ operators; a text with a weaker operator than its context needs gets parentheses.
typedef enum cu_prec {
    CU_COMMA, CU_ASSIGN, CU_COND, CU_LOR, CU_LAND, CU_OR, CU_XOR, CU_AND, CU_EQUAL, CU_RELATION, CU_SHIFT, CU_ADD,
    CU_MUL, CU_UNARY, CU_POSTFIX,
} cu_prec;

// The text of an expression.
//
// IR arithmetic happens in the operands' type, C++'s in int at least, and threadIdx is unsigned where the IR has i32.
// So a text carries the type that C++ gives it, and how far its value can be trusted: [dirty] texts have the right bits
// only in the width of the IR's type. Sums, products and the like take dirty operands as they are; comparisons,
// divisions and conversions ask for an exact one (cu_exact), which costs a cast.
typedef struct cu_text {
    const char *s;
    cu_prec prec;
    dtype ctype;    // DT_NONE: a pointer, vector or string
    bool dirty;
    bool nonneg;    // known not to be negative, so that it means the same as signed and as unsigned number
    uint64_t most;  // bound of a [nonneg] value; 0: unknown, unless it is a literal
    bool literal;   // a bare integer constant: takes on any type
} cu_text;

// Facts about a variable.
typedef struct cu_var {
    const char *name;     // while it is in scope
    const ir_var *points_to; // a pointer into this tensor, and never into another
    uint32_t uses;        // reads of its value, or accesses to a tensor; stores into one of its own count for nothing
    uint32_t uses_before; // as the round of counting before found it
    int align;            // a register array: alignment that wide access to it needs; 0: none
    bool is_given;        // a value by a statement that goes if there are no uses
    bool is_own;          // a tensor that the function allocates, on the device
    bool is_written;      // a tensor parameter through which something is stored, or may be
    bool is_nonneg;       // a loop variable that counts up from 0 or more
} cu_var;

typedef struct cu_tail {
    const struct cu_tail *outer;
    int label;
} cu_tail;

typedef struct cu_label {
    int label;
    const char *name;
    bool is_used;
} cu_label;

typedef enum cu_side { CU_DEVICE = 1, CU_HOST = 2 } cu_side;

typedef struct cu cu;

// The statements of host functions that are different things for nvcc (host.c) and for C over libhdsrt (c_host.c).
typedef struct cu_host_dialect {
    void (*launch)(cu *cx, const ir_stmt *s);
    void (*alloc)(cu *cx, const ir_stmt *s);
    void (*copy)(cu *cx, const ir_stmt *s);
    void (*give_back)(cu *cx, const ir_stmt *s);
    bool (*call)(cu *cx, const ir_stmt *s);  // EVAL of a host function: true if done
    void (*check)(cu *cx, const ir_stmt *s, const char *failed, const char *message);
} cu_host_dialect;

// The interface between the printer of expressions and statements and a back end. It knows the languages by these
// answers only: what C and C++ have in common is written once, in the files that both back ends use.
typedef struct cu_dialect {
    const char *const *words;  // lists of words that no variable may be named; ends with NULL
    const cu_host_dialect *host;
    // Properties of the language.
    bool has_overloads;     // min(a, b) of any type; else functions carry the type in their names: min_i32
    bool has_structs;       // narrow floats are structs with operators (prelude); else the bits in an unsigned integer
    bool has_destructors;   // host functions need not release their tensors
    bool has_gpu_pragmas;   // #pragma unroll, __builtin_assume
    bool warns_of_unused;   // about an expression for its effects that gives a value
    bool warns_of_const;    // about a pointer into a const parameter in a variable that is not const
    bool i64_is_long_long;  // for printf's %lld
    // Types.
    const char *(*scalar)(cu *cx, dtype t);
    const char *(*elem)(cu *cx, const ir_type *elem);  // behind a pointer
    // Expressions.
    cu_text (*special_register)(cu *cx, const ir_expr *e);
    cu_text (*struct_constant)(cu *cx, dtype t, double value);  // of a type that is a struct in C++
    cu_text (*scalar_bits)(cu *cx, const ir_expr *e, dtype from, dtype to);  // BITCAST
    bool (*safe_integer)(cu *cx, const ir_expr *e, dtype t, cu_text *out);   // false: as an operator
    cu_text (*float_minmax)(cu *cx, const ir_expr *e, dtype t);              // of f32, f64
    cu_text (*address)(cu *cx, const char *base, const ir_var *v, const ir_expr *index);
    cu_text (*intrin)(cu *cx, const ir_expr *e, const char *result);
    // Declarations that the text needs.
    bool (*use)(cu *cx, const char *snippet);           // of the prelude; false: there is none of that name
    void (*use_header)(cu *cx, const char *header);     // "math.h"
    void (*begin_statement)(cu *cx, src_span span);
} cu_dialect;

struct cu {
    ir_module *m;
    const cu_options *options;
    arena *a;              // of what is made now: while a function is written, that of the options' scratch
    arena *lasting;        // of what the whole text needs
    str_buf *out;
    bool failed;
    bool is_dry;           // texts are not made: one of them stands for all (cu_options.dry_run)
    cu_prelude prelude;
    cu_var *vars;          // by ir_var.id
    uint32_t var_room;
    // names
    map names;             // visible C names
    map numbers;           // base of a name -> the first number behind it that may be free
    VEC(const char *) scope;  // those that end with their block, innermost last
    map funcs;             // ir_func -> C name
    map sides;             // ir_func -> cu_side flags of those who call it
    map orders;            // ir_func -> what order.c knows of it
    VEC(const ir_intrin *) intrins;  // wrappers that are needed, in order of first use
    map wrappers;          // ir_intrin -> C name
    map used_intrins;      // those in [intrins], and CUDA text whose words device code has used
    // where we are
    const ir_func *func;
    bool in_host;
    bool prints;           // the function calls printf
    bool in_comment;
    bool needs_headers;
    int indent;
    const cu_tail *tails;  // labels that the next statement falls through to anyhow
    VEC(cu_label) labels;
    int label_count;
    int temp_count;
    // #line
    const src_file *file;
    uint32_t line;         // that the next line of output counts as
    size_t counted;        // bytes of [out] whose newlines [line] has seen
    bool file_is_named;
    // shared memory of the kernel
    const char *static_pool, *dynamic_pool;
    map setters;           // functions with a setmaxnreg of their own
    const cu_dialect *dialect;
    struct cu_c *c;        // the state of the C back end, see c_priv.h
};

// analyse.c: fills vars, sides and setters.
void cu_analyse(cu *cx);
// A variable that the text needs beside those of the IR.
ir_var *cu_var_new(cu *cx, const char *name, const ir_type *type, src_span span);
bool cu_reads_only(const ir_intrin *in, int operand);    // a pointer operand that nothing is written through

// names.c
void cu_names_init(cu *cx);                             // takes the words that the language of the text has for itself
const char *cu_on_one_line(arena *a, const char *text);  // for a comment: blanks for line ends and control characters
void cu_name_reserve(cu *cx, str name);
size_t cu_word_length(const char *at);                  // of the identifier or number that begins here
const char *cu_name_new(cu *cx, const char *wish);      // unique among visible names; visible until the scope ends
const char *cu_name_global(cu *cx, const char *wish);   // visible to the end
bool cu_name_is_free(cu *cx, const char *name);         // for a function, which has this very name then
size_t cu_scope_begin(cu *cx);
void cu_scope_end(cu *cx, size_t mark);
const char *cu_declare(cu *cx, const ir_var *v);        // names [v] and returns the name
const char *cu_var_name(cu *cx, const ir_var *v);
const char *cu_func_name(cu *cx, const ir_func *f);

// reserved.c
extern const char cu_c_helpers[];  // functions of prelude/host.h, by the names that they have
extern const char *const cu_words_of_cuda[], *const cu_words_of_c[];  // that the languages and their preludes use
bool cu_is_word(const char *words, const char *name);   // one of [words], which blanks separate
bool cu_is_keyword(const char *name);                   // of C or C++
bool cu_is_for_compiler(const char *name);              // __this, _That: C++ reserves them for predefined macros and built-in functions
bool cu_is_of_family(const cu *cx, const char *name, bool is_function);  // reserved whatever follows: cudaStream_t, atomicAdd
bool cu_is_reserved(const cu *cx, const char *name, bool is_function);  // beside the words above: local variables may have more names

// lines.c
void cu_line(cu *cx, src_span span);                    // before a statement: its first line counts as the source's
bool cu_line_differs(cu *cx, src_span span);            // whether cu_line would write anything
void cu_put(cu *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));  // one whole line, indented
void cu_location_text(cu *cx, src_span span, str_buf *out);                          // "kernel.hds:12: " or nothing
void cu_add_literal(str_buf *out, const char *text);    // as the inside of a C string literal

// type.c
const char *cu_type(cu *cx, const ir_type *t);          // "float", "const f16 *" (a star ends it)
const char *cu_declarator(cu *cx, const ir_type *t, const char *name);  // "float x", "f16 *p"
const char *cu_elem(cu *cx, const ir_type *t);          // of memory: sub-byte integers are "unsigned char"
const char *cu_scalar_name(cu *cx, dtype t);            // "float", "int"
dtype cu_value_dtype(dtype t);                          // sub-byte integers are held in bytes
bool cu_is_struct(dtype t);                             // f16, bf16, tf32, fp8, complex64
bool cu_is_subbyte(const ir_type *elem);
bool cu_use(cu *cx, const char *snippet);               // a snippet of the prelude
void cu_use_of(cu *cx, dtype t, const char *what, src_span span);  // snippet "<type>.<what>"
const char *cu_shape_comment(cu *cx, const ir_var *v);  // "f16[128, 64]"

// constant.c
cu_text cu_int_text(cu *cx, dtype t, int64_t value, bool bare);
cu_text cu_float_text(cu *cx, dtype t, double value);

// expr.c
cu_text cu_expr(cu *cx, const ir_expr *e);
const char *cu_at(cu *cx, const ir_expr *e, cu_prec prec);  // cu_expr with the parentheses that the context needs
const char *cu_paren(cu *cx, cu_text t, cu_prec prec);
// As arena_printf, of the text: not of what is looked up by it.
const char *cu_format(cu *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));
cu_text cu_primary(cu *cx, dtype ctype, const char *format, ...) __attribute__((format(printf, 3, 4)));
cu_text cu_text_of(cu *cx, dtype ctype, cu_prec prec, const char *format, ...) __attribute__((format(printf, 4, 5)));
void cu_bad_ir(cu *cx, src_span span, const char *what);
const char *cu_call_args(cu *cx, const ir_expr *e);
bool cu_is_plain(const cu *cx);                         // in a comment of C: what the author wrote, without suffixes
// operator.c
cu_text cu_unary(cu *cx, const ir_expr *e);
cu_text cu_binary(cu *cx, const ir_expr *e);
cu_text cu_select(cu *cx, const ir_expr *e);
// cast.c
cu_text cu_written(cu *cx, dtype to, cu_text t);        // with a cast
cu_text cu_exact(cu *cx, const ir_expr *e, bool unsigned_is_fine);  // the very value of [e]
cu_text cu_exact_text(cu *cx, cu_text t, dtype want, bool unsigned_is_fine);
cu_text cu_typed(cu *cx, const ir_expr *e);             // exact, and of the IR's type for overloads and braces
const char *cu_as(cu *cx, const ir_expr *e, const ir_type *type);  // where C++ converts to [type] implicitly
bool cu_converts_itself(dtype from, dtype to);
cu_text cu_cast(cu *cx, const ir_expr *e);
cu_text cu_bitcast(cu *cx, const ir_expr *e);
// memory.c
cu_text cu_index(cu *cx, const ir_expr *e);              // between brackets
cu_text cu_load(cu *cx, const ir_expr *e);
cu_text cu_addr(cu *cx, const ir_expr *e);
cu_text cu_tile(cu *cx, const ir_expr *e);
cu_text cu_pload(cu *cx, const ir_expr *e);
void cu_store(cu *cx, const ir_stmt *s);
void cu_copy(cu *cx, const ir_stmt *s);
void cu_alloc(cu *cx, const ir_stmt *s);
void cu_pools(cu *cx, const ir_func *f);
// intrin.c
// [result]: the array of an INTRIN_TO, else NULL.
cu_text cu_intrin_text(cu *cx, const ir_expr *e, const char *result);  // CUDA text with its holes filled
const char *cu_intrin_argument(cu *cx, const ir_expr *e, int i);
dtype cu_intrin_ctype(const ir_intrin *in);             // of its result
str cu_hole_at(const char *at);                         // the name of a {hole} that begins here; else empty
void cu_add_item(str_buf *list, const char *item);      // with a comma before it if it is not the first
// stmt.c
void cu_block(cu *cx, const ir_block *b);               // its own scope; the braces are the caller's
void cu_stmt(cu *cx, const ir_stmt *s, bool is_last);
bool cu_ends(const ir_block *b);                        // control never comes to the end
bool cu_returns(const ir_block *b);                     // control leaves the function before the end
// check.c
void cu_check(cu *cx, const ir_stmt *s);
void cu_assume(cu *cx, const ir_stmt *s);
void cu_print(cu *cx, const ir_stmt *s);
ir_expr *cu_negated(cu *cx, ir_expr *e);
bool cu_const_dims(ir_expr *const dims[3], int64_t out[3]);  // of a launch; false: known at run time only
