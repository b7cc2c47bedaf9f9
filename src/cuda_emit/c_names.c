// Names of entries. A program links them beside the C library, where a kernel called 'read' would be what everybody's
// read() is; so what C, C++ or the system's libraries have is refused.
#include "cuda_emit/c_priv.h"

#include <ctype.h>
#include <string.h>

// clang-format off
// Macros and types of the C library.
static const char c_words[] =
    "restrict NULL EOF errno stdin stdout stderr assert offsetof complex imaginary I INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL "
    "FILE DIR BUFSIZ RAND_MAX EXIT_SUCCESS EXIT_FAILURE MB_CUR_MAX CLOCKS_PER_SEC EDOM ERANGE EILSEQ linux unix i386 "
    "va_start va_end va_arg va_copy va_list setjmp jmp_buf max_align_t size_t ssize_t ptrdiff_t int8_t int16_t int32_t "
    "int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t time_t clock_t tm lconv div_t "
    "ldiv_t lldiv_t fpos_t sig_atomic_t wint_t wctype_t mbstate_t environ timezone daylight tzname signgam";

// Functions of <math.h> and <complex.h>; each with an f or an l behind it, too.
static const char math_functions[] =
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax "
    "fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint "
    "nextafter nexttoward pow remainder remquo rint round roundeven scalbln scalbn sin sinh sqrt tan tanh tgamma trunc "
    "exp10 pow10 sincos drem gamma significand j0 j1 jn y0 y1 yn cabs cacos cacosh carg casin casinh catan catanh ccos "
    "ccosh cexp cimag clog conj cpow cproj creal csin csinh csqrt ctan ctanh";

// Other functions of C11 and POSIX.
static const char library_functions[] =
    "abort abs access aligned_alloc alarm asctime at_quick_exit atexit atof atoi atol atoll bcmp bcopy bind brk bsearch "
    "btowc bzero call_once calloc chdir chmod chown clearerr clock clone close closedir confstr connect copysign creat "
    "ctime difftime div dlclose dlerror dlopen dlsym dup dup2 execl execv execve execvp exit fchdir fchmod fchown fclose "
    "fcntl fdopen feclearexcept feof ferror feraiseexcept fesetround fetestexcept fflush ffs fgetc fgetpos fgets fileno "
    "flock fopen fork fpathconf fpclassify fprintf fputc fputs fread free freopen fscanf fseek fsetpos fstat fsync ftell "
    "ftruncate fwrite getc getchar getcwd getenv getline getopt getpid getppid getrusage gets gettimeofday getuid glob "
    "gmtime hcreate hsearch iconv index ioctl isalnum isalpha isatty isblank iscntrl isdigit isfinite isgraph isinf islower "
    "isnan isnormal isprint ispunct isspace isupper iswalpha isxdigit kill labs ldiv lfind link listen llabs lldiv "
    "localeconv localtime longjmp lsearch lseek lstat main malloc mblen mbstowcs mbtowc memccpy memchr memcmp memcpy "
    "memmem memmove mempcpy memset mkdir mkfifo mknod mktime mlock mmap mount mprotect mremap msync munmap nanosleep nice "
    "open opendir openlog pathconf pause pclose perror pipe poll popen posix_memalign pread printf ptrace putc putchar "
    "putenv puts pwrite qsort quick_exit raise rand random read readdir readlink readv realloc recv regcomp regexec remove "
    "rename rewind rindex rmdir sbrk scanf select send sendfile setbuf setenv setitimer setlocale setpgid setsid setuid "
    "setvbuf shutdown sigaction signal signbit sleep snprintf socket splice sprintf srand srandom sscanf stat stpcpy "
    "strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen strncat strncmp strncpy strndup "
    "strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm "
    "swab symlink sync syscall sysconf syslog system tcgetattr tdelete tee tfind thrd_create time times timer_create "
    "timespec_get tmpfile tmpnam tolower toupper towlower truncate tsearch ttyname twalk umask umount uname ungetc unlink "
    "unsetenv usleep utime vfork vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wait waitpid wcscat wcschr "
    "wcscmp wcscpy wcslen wcstod wcstol wctomb wmemcpy wprintf write writev";
// clang-format on

static bool is_math(arena *a, const char *name)
{
    size_t len = strlen(name);
    bool has_suffix = len > 1 && (name[len - 1] == 'f' || name[len - 1] == 'l');
    return cu_is_word(math_functions, name) ||
           (has_suffix && cu_is_word(math_functions, arena_strndup(a, name, len - 1)));
}

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    return cu_word_length(name) == strlen(name);
}

// Why not; NULL: a good name.
static const char *objection(arena *a, const char *name)
{
    if (!is_identifier(name))
        return "it is not an identifier";
    if (cu_is_keyword(name))
        return "it is a word of C or C++";
    if (cu_is_word(c_words, name))
        return "the headers of C have it";
    if (cu_is_word("std nullptr_t", name))
        return "the headers of C++ have it";
    if (is_math(a, name) || cu_is_word(library_functions, name))
        return "the C library has one";
    if (cu_is_word(cu_c_helpers, name))
        return "code that is written beside it has one";
    if (name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1])))
        return "such names are reserved for the C compiler";
    bool is_ours = str_starts(str_of(name), STR("hdsrt_")) || str_starts(str_of(name), STR("HDSRT_")) ||
                   str_starts(str_of(name), STR("hds_kernel_")) || str_starts(str_of(name), STR("hds_rules_")) ||
                   str_starts(str_of(name), STR("hds_model_")) ||
                   cu_is_word("hds_image hds_library hds_archs", name);
    return is_ours ? "such names are reserved for the runtime library" : NULL;
}

static bool refuse(cu *cx, const cu_c_func *f, const char *name, const char *why)
{
    diag *d = diag_report(cx->m->diags, HDS0701, f->func->span, name, why);
    diag_help(d, "choose another name, or put something before all names with '--prefix my_'");
    return false;
}

// What else an entry is called.
static const char *const endings[] = {"_args", "_call", "_dlpack"};
static const char *const model_endings[] = {"_open", "_open_bytes", "_run", "_run_dlpack", "_prepare", "_close", "_model"};

// Whether no entry is called as what stands beside [f].
static bool check_ending(cu *cx, const cu_c_func *f, const char *ending)
{
    const char *other = arena_printf(cx->a, "%s%s", f->name, ending);
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (g->func->is_public && strcmp(g->name, other) == 0)
            return refuse(cx, g, g->name, arena_printf(cx->a, "'%s' has that name for itself", f->name));
    }
    return true;
}

static bool check_one(cu *cx, const cu_c_func *f)
{
    const char *why = objection(cx->a, f->name);
    if (why)
        return refuse(cx, f, f->name, why);
    why = cu_c_is_first_of_operator(cx, f) ? objection(cx->a, cu_c_operator_name(cx, f)) : NULL;
    if (why)
        return refuse(cx, f, cu_c_operator_name(cx, f), why);
    for (size_t i = 0; f->func->operator && i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (g->func->is_public && strcmp(g->name, cu_c_operator_name(cx, f)) == 0)
            return refuse(cx, g, g->name, "an operator has that name for itself");
    }
    bool ok = true;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        ok &= check_ending(cx, f, endings[e]);
    for (size_t e = 0; f->is_model && e < sizeof model_endings / sizeof *model_endings; e++)
        ok &= check_ending(cx, f, model_endings[e]);
    return ok;
}

bool cu_c_check_names(const cu_c_options *o, cu *const *units)
{
    bool ok = true;
    for (int u = 0; u < o->unit_count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++)
            if (units[u]->c->funcs.at[i].func->is_public)
                ok &= check_one(units[u], &units[u]->c->funcs.at[i]);
    return ok;
}

const char *cu_c_macro(const char *header_name, arena *a)
{
    char *name = arena_printf(a, "%s%s", isdigit((unsigned char)*header_name) ? "H_" : "", header_name);
    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
    // Names that begin with _ and a capital are the compiler's.
    return name[0] == '_' ? arena_printf(a, "H%s", name) : name;
}
