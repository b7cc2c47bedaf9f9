// Names: the author's, made unique among those that can be seen.
#include "cuda_emit/printer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// What a name in emitted text must not be. Headers are for C and for C++.
// clang-format off
static const char keywords[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
    "compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if "
    "inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
    "public register reinterpret_cast requires return short signed sizeof static static_assert static_cast "
    "struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq";

// What CUDA declares without a header, what the prelude declares and what emitted functions call.
static const char reserved[] =
    "threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 int3 "
    "char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4 short1 short2 short3 short4 ushort1 ushort2 ushort3 "
    "ushort4 int1 int2 int4 uint1 uint2 uint4 long1 long2 long3 long4 ulong1 ulong2 ulong3 ulong4 longlong1 "
    "longlong2 longlong3 longlong4 ulonglong1 ulonglong2 ulonglong3 ulonglong4 float1 float2 float3 float4 "
    "double1 double2 double3 double4 cudaError_t cudaStream_t f8e4m3 f8e5m2 f16 bf16 tf32 complex64 vec bit_cast "
    "fail floor_div floor_mod to_float to_float_odd to_f16 to_bf16 to_tf32 to_f8e4m3 to_f8e5m2 to_complex64 "
    "wrap_sint wrap_uint load_sint load_uint store_bits device_array host_array fill tensor_map make_tensor_map min max fminf fmaxf fmin "
    "fmax floorf floor fmodf fmod copysignf copysign fabsf fabs printf assert main memcpy memset malloc free abort exit abs labs "
    "llabs NULL INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SHRT_MAX SHRT_MIN "
    "USHRT_MAX CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN UCHAR_MAX CHAR_BIT EOF errno stdin stdout stderr EXIT_SUCCESS "
    "EXIT_FAILURE RAND_MAX INFINITY NAN size_t clock linux unix";

// Functions, types and variables that a function of this name would clash with, in what NVRTC 13.0 declares by itself and in C
// libraries; local variables may have their names. Mathematical functions stand for their forms with 'f' too.
static const char reserved_for_functions[] =
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 div erf erfc erfcinv "
    "erfcx erfinv exp exp2 exp10 expm1 fdim fdivide fma frexp hypot ilogb index isfinite isinf isnan j0 j1 jn ldexp lgamma llmax "
    "llmin llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter norm norm3d norm4d normcdf "
    "normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln scalbn signbit sin sincos "
    "sincospi sinh sinpi sqrt tan tanh tgamma time trunc ullmax ullmin umax umin y0 y1 yn select read write open close send wait "
    "sleep copy signal remove rename system qsort rand clock64 clock_t std va_arg va_copy va_end va_list va_start ptrdiff_t "
    "libraryPropertyType MAJOR_VERSION MINOR_VERSION PATCH_LEVEL";

const char cu_c_helpers[] =
    "floor_div_i32 floor_div_i64 floor_mod_i32 floor_mod_i64 floor_mod_f32 floor_mod_f64 min_i32 min_u32 min_i64 min_u64 "
    "min_f32 min_f64 max_i32 max_u32 max_i64 max_u64 max_f32 max_f64 sum_of difference_of product_of shifted_of "
    "quotient_of rest_of quotient rest tensor_bytes";

// In C text: macros of the headers that a program may have included, and what emitted functions call.
static const char reserved_in_c[] =
    "restrict inline _Bool _Complex _Imaginary _Atomic _Generic _Noreturn _Static_assert _Thread_local _Alignas _Alignof "
    "stream hdsrt_status hdsrt_stream hdsrt_tensor hdsrt_extents hdsrt_launch hdsrt_fail floor floorf fmod "
    "fmodf copysign copysignf printf malloc calloc free memcpy int8_t int16_t int32_t int64_t uint8_t "
    "uint16_t uint32_t uint64_t size_t ptrdiff_t intptr_t uintptr_t NULL INFINITY NAN HUGE_VAL EOF errno stdin stdout "
    "stderr assert offsetof complex imaginary I linux unix INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX "
    "LLONG_MIN ULLONG_MAX SHRT_MAX SHRT_MIN USHRT_MAX CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN UCHAR_MAX CHAR_BIT "
    "EXIT_SUCCESS EXIT_FAILURE RAND_MAX BUFSIZ SEEK_SET SEEK_CUR SEEK_END CUDA_VERSION DLPACK_VERSION";
// clang-format on

const char *const cu_words_of_cuda[] = {keywords, reserved, NULL};
const char *const cu_words_of_c[] = {keywords, reserved_in_c, cu_c_helpers, NULL};

static void *const visible = (void *)reserved;

static void reserve_words(cu *cx, const char *words)
{
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        map_put(&cx->names, at, len, visible);
        at += len + (at[len] == ' ');
    }
}

void cu_names_init(cu *cx)
{
    map_init(&cx->names, cx->a);
    map_init(&cx->numbers, cx->a);
    map_init(&cx->funcs, cx->a);
    map_init(&cx->wrappers, cx->a);
    map_init(&cx->used_intrins, cx->a);
    for (const char *const *list = cx->dialect->words; *list; list++)
        reserve_words(cx, *list);
}

bool cu_is_word(const char *words, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(words, name); at; at = strstr(at + 1, name))
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

const char *cu_on_one_line(arena *a, const char *text)
{
    char *line = arena_strdup(a, text);
    for (char *c = line; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    return line;
}

bool cu_is_keyword(const char *name)
{
    return cu_is_word(keywords, name);
}

static bool is_visible(const cu *cx, const char *name)
{
    return map_get(&cx->names, name, strlen(name)) != NULL;
}

// Names that compilers keep for themselves: predefined macros, keywords and built-in functions look like __this or _That.
static bool belongs_to_compiler(const char *name)
{
    return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

// A C identifier that looks like [wish]: runs of other characters become one underscore.
static const char *identifier(cu *cx, const char *wish)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    if (belongs_to_compiler(wish))
        wish += strspn(wish, "_");
    if (!*wish)
        wish = "_";
    if (isdigit((unsigned char)wish[0]))
        str_addc(&out, '_');
    for (const char *at = wish; *at; at++) {
        bool is_word = isalnum((unsigned char)*at) || *at == '_';
        if (is_word)
            str_addc(&out, *at);
        else if (!out.len || out.at[out.len - 1] != '_')
            str_addc(&out, '_');
    }
    return out.len ? str_text(&out) : "_";
}

void cu_name_reserve(cu *cx, str name)
{
    map_put(&cx->names, name.at, name.len, visible);
}

size_t cu_word_length(const char *at)
{
    size_t len = 0;
    while (isalnum((unsigned char)at[len]) || at[len] == '_')
        len++;
    return len;
}

// Of base_1, base_2, … all names before this number are visible. Unrolled kernels have thousands of one base.
static intptr_t first_number(const cu *cx, const char *base, size_t len)
{
    intptr_t number = (intptr_t)map_get(&cx->numbers, base, len);
    return number ? number : 1;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

// Families of macros of CUDA: cudaStreamDefault, CUDART_VERSION, NV_IF_TARGET.
static bool is_cuda_macro(const char *name)
{
    bool is_runtime = begins(name, "cuda") && isupper((unsigned char)name[4]);
    return is_runtime || begins(name, "CUDA") || begins(name, "CU_") || begins(name, "NV_");
}

// float3, double4_16a
static bool is_vector_type(const char *name)
{
    static const char *const elements[] = {"char", "short", "int", "longlong", "long", "float", "double"};
    name += *name == 'u';
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (begins(name, elements[i]) && strchr("1234", name[strlen(elements[i])]) && name[strlen(elements[i])])
            return true;
    return false;
}

// Names of CUDA that come in families, or with an 'f' for float: no function can have them.
static bool is_cuda_function(const char *name)
{
    bool is_texture = begins(name, "tex") || begins(name, "surf");
    char after = name[begins(name, "surf") ? 4 : 3];
    if (is_texture && (isupper((unsigned char)after) || isdigit((unsigned char)after)))
        return true;
    if (begins(name, "atomic") && isupper((unsigned char)name[6]))
        return true;
    char plain[32];
    size_t len = strlen(name);
    if (len > 1 && len < sizeof plain && name[len - 1] == 'f') {
        memcpy(plain, name, len - 1);
        plain[len - 1] = '\0';
        if (cu_is_word(reserved_for_functions, plain))
            return true;
    }
    return begins(name, "texture") || begins(name, "surface") || begins(name, "CUuuid") || is_vector_type(name) ||
           cu_is_word(reserved_for_functions, name);
}

static bool is_reserved(const cu *cx, const char *name, bool is_function)
{
    return (!cx->c && is_cuda_macro(name)) || (is_function && is_cuda_function(name));
}

static const char *unique(cu *cx, const char *wish, bool is_function)
{
    const char *base = identifier(cx, wish), *name = base;
    size_t len = strlen(base);
    intptr_t number = is_function ? 1 : first_number(cx, base, len);
    while (is_visible(cx, name) || is_reserved(cx, name, is_function))
        name = arena_printf(cx->a, "%s_%ld", base, (long)number++);
    if (name != base && !is_function)
        map_put(&cx->numbers, base, len, (void *)number);
    map_put(&cx->names, name, strlen(name), visible);
    return name;
}

// A name that ends with a number is free again, for what begins like it.
static void free_number(cu *cx, const char *name)
{
    size_t len = strlen(name), digits = len;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    if (digits == len || digits < 2 || name[digits - 1] != '_' || len - digits > 9)
        return;
    intptr_t number = (intptr_t)strtol(name + digits, NULL, 10);
    if (number > 0 && number < first_number(cx, name, digits - 1))
        map_put(&cx->numbers, name, digits - 1, (void *)number);
}

const char *cu_name_new(cu *cx, const char *wish)
{
    const char *name = unique(cx, wish, false);
    VEC_PUSH(cx->a, &cx->scope, name);
    return name;
}

const char *cu_name_global(cu *cx, const char *wish)
{
    return unique(cx, wish, true);
}

size_t cu_scope_begin(cu *cx)
{
    return cx->scope.len;
}

void cu_scope_end(cu *cx, size_t mark)
{
    while (cx->scope.len > mark) {
        const char *name = VEC_POP(&cx->scope);
        map_put(&cx->names, name, strlen(name), NULL);
        free_number(cx, name);
    }
}

const char *cu_declare(cu *cx, const ir_var *v)
{
    return cx->vars[v->id].name = cu_name_new(cx, v->name);
}

const char *cu_var_name(cu *cx, const ir_var *v)
{
    const char *name = cx->vars[v->id].name;
    return name ? name : v->name;
}

const char *cu_func_name(cu *cx, const ir_func *f)
{
    const char *name = map_get_ptr(&cx->funcs, f);
    if (!name) {
        name = cu_name_global(cx, f->name);
        map_put_ptr(&cx->funcs, f, (void *)name);
    }
    return name;
}
