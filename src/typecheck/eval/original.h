// Names that Hidet has in a module and this library has elsewhere, and names that only Hidet has.
#ifndef HDS_TYPECHECK_ORIGINAL_H
#define HDS_TYPECHECK_ORIGINAL_H

typedef struct tc_original {
    const char *module; // where authors import it from
    const char *name;
    const char *home;           // the module of the library that defines it; NULL: it does not exist here
    const char *what, *instead; // without [home]: what it is in Hidet, and what to use here
} tc_original;

const tc_original *tc_original_find(const char *module, const char *name);

// The names of a module that have a home, one after another; from NULL to NULL.
const tc_original *tc_original_next(const char *module, const tc_original *after);

#endif
