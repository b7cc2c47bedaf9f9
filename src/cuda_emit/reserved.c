// Names that emitted text cannot have: C++, CUDA or the compiler has them already.
#include "cuda_emit/printer.h"

#include <ctype.h>
#include <string.h>

// Of C and of C++: headers are for both.
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
    "wrap_sint wrap_uint load_sint load_uint store_bits device_array host_array fill tensor_map make_tensor_map pixel_walk "
    "min max fminf fmaxf fmin fmax floorf floor fmodf fmod copysignf copysign "
    "fabsf fabs printf assert main memcpy memset malloc free abort exit abs labs "
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
    "CUuuid CUuuid_st libraryPropertyType MAJOR_VERSION MINOR_VERSION PATCH_LEVEL";

const char cu_c_helpers[] =
    "floor_div_i32 floor_div_i64 floor_mod_i32 floor_mod_i64 floor_mod_f32 floor_mod_f64 min_i32 min_u32 min_i64 min_u64 "
    "min_f32 min_f64 max_i32 max_u32 max_i64 max_u64 max_f32 max_f64 sum_of difference_of product_of shifted_of "
    "quotient_of rest_of quotient rest next_signed next_unsigned tensor_bytes";

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

bool cu_is_word(const char *words, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(words, name); at; at = strstr(at + 1, name))
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

bool cu_is_keyword(const char *name)
{
    return cu_is_word(keywords, name);
}

bool cu_is_for_compiler(const char *name)
{
    return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

static bool is_upper(char c)
{
    return isupper((unsigned char)c);
}

// What follows [prefix] in [name]; NULL: another name.
static const char *after(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(name, prefix, len) == 0 ? name + len : NULL;
}

// Families of macros of CUDA: cudaStreamDefault, CUDART_VERSION, NV_IF_TARGET. They replace local variables, too.
static bool is_cuda_macro(const char *name)
{
    static const char *const prefixes[] = {"CUDA_", "CUDART", "CU_", "NV_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (after(name, prefixes[i]))
            return true;
    const char *rest = after(name, "cuda");
    return rest && is_upper(*rest);
}

// char1, uint4, ulonglong4_32a
static bool is_vector_type(const char *name)
{
    static const char *const elements[] = {"char", "short", "int", "long", "longlong", "float", "double"};
    name += *name == 'u';
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const char *rest = after(name, elements[i]);
        if (rest && *rest >= '1' && *rest <= '4' &&
            (!rest[1] || !strcmp(rest + 1, "_16a") || !strcmp(rest + 1, "_32a")))
            return true;
    }
    return false;
}

// atomicAdd, tex2DLod, surf1Dread, texture, surfaceReference
static bool is_memory_function(const char *name)
{
    static const char *const families[] = {"atomic", "tex", "surf", "texture", "surface"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const char *rest = after(name, families[i]);
        bool has_dimension = rest && i > 0 && i < 3 && isdigit((unsigned char)*rest);
        if (rest && (is_upper(*rest) || has_dimension || (!*rest && i > 2)))
            return true;
    }
    return false;
}

// A function of [reserved_for_functions], or its form for float: sin, sinf.
static bool is_library_function(const char *name)
{
    if (cu_is_word(reserved_for_functions, name))
        return true;
    char plain[32];
    size_t len = strlen(name);
    if (len < 2 || len >= sizeof plain || name[len - 1] != 'f')
        return false;
    memcpy(plain, name, len - 1);
    plain[len - 1] = '\0';
    return cu_is_word(reserved_for_functions, plain);
}

bool cu_is_of_family(const cu *cx, const char *name, bool is_function)
{
    return (!cx->c && is_cuda_macro(name)) || (is_function && is_memory_function(name));
}

bool cu_is_reserved(const cu *cx, const char *name, bool is_function)
{
    return cu_is_of_family(cx, name, is_function) ||
           (is_function && (is_vector_type(name) || is_library_function(name)));
}
