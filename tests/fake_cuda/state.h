// What the double knows. Everything is under one lock, which fake_begin… takes and fake_end gives back.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_cuda.h"
#include "runtime/driver.h"

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    CONTEXT_IS_DESTROYED = 709,
    NOT_SUPPORTED = 801,
};

enum { MAX_DEVICES = 16, MAX_ATTRIBUTE = 256, MAX_FUNCTION_ATTRIBUTE = 16, ARCH_ONLY = 0x8000 };

// Lives until the process ends, since handles of dead contexts may still be used.
typedef struct fake_context {
    unsigned long long id; // changes when a primary context comes back
    int device;
    bool is_primary, is_alive;
    int broken; // the error that it gives since it failed; 0: it works
    int retains;
    struct fake_context *next;
} fake_context;

typedef struct fake_device {
    int arch;
    fake_context primary;
    int attributes[MAX_ATTRIBUTE];
    bool is_attribute_set[MAX_ATTRIBUTE];
} fake_device;

extern fake_device fake_devices[MAX_DEVICES];
extern int fake_device_count;

// The calls of an entry point. [need]: none; cuInit before; a current context as well, which *context becomes.
int fake_begin(const char *symbol);
int fake_begin_ready(const char *symbol);
int fake_begin_in_context(const char *symbol, fake_context **context);
// Logs, unlocks, gives [result] back.
int fake_end(const char *symbol, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));
int fake_device_number(int device); // 0 or INVALID_DEVICE
int fake_device_attribute(int device, int attribute);

// objects.c: streams, events, memory, modules, libraries.
typedef enum fake_kind {
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_MEMORY,
    FAKE_HOST_MEMORY,
    FAKE_MANAGED,
    FAKE_MODULE,
    FAKE_LIBRARY
} fake_kind;
typedef struct fake_object {
    fake_kind kind;
    fake_context *context; // NULL: of the process
    unsigned long long context_id;
    void *memory; // its own, freed with it
    uint64_t address;
    size_t bytes;
    void (*destroy)(void *memory);
    struct fake_object *next;
} fake_object;

fake_object *fake_object_new(fake_kind kind, fake_context *context);
fake_object *fake_object_find(const void *handle, fake_kind kind);
void fake_object_free(fake_object *object);
void fake_objects_free_of(const fake_context *context);
int fake_objects_count(fake_kind kind);
// The allocation that [address] lies in; NULL: none.
fake_object *fake_memory_at(uint64_t address);
// 0, or the error that a stream of another context, or none at all, gives.
int fake_check_stream(const void *stream, const fake_context *context);

// time.c: a clock that work moves on, so that events have something to read.
void fake_time_stamp(const void *event);
// The same, in the graph that is captured, if one is: each launch of it records the event anew.
void fake_time_stamp_in_graph(const void *event);
float fake_time_between(const void *begin, const void *end); // milliseconds
void fake_time_launch(unsigned threads); // of a block
bool fake_time_is_endless(void); // a kernel runs that does not end
void fake_time_copy(size_t bytes);

// image.c: code.
typedef struct fake_kernel {
    char name[200];
    int parameter_count;
    size_t sizes[FAKE_PARAMETERS], offsets[FAKE_PARAMETERS];
    int static_smem_bytes, cluster[3], threads;
} fake_kernel;

typedef struct fake_code {
    bool is_ptx;
    int arch; // | ARCH_ONLY
    const unsigned char *at;
    size_t bytes;
} fake_code;

typedef struct fake_image {
    unsigned char *bytes; // a copy
    fake_code codes[32];
    unsigned char *expanded[32]; // of each code that is compressed
    int count;
    struct fake_function *functions;
} fake_image;

typedef struct fake_function {
    fake_kernel kernel; // of one code
    int arch;
    bool is_ptx;
    fake_context *context;
    unsigned long long context_id;
    int max_dynamic_smem, is_large_cluster_allowed;
    fake_image *image;
    struct fake_function *next;
} fake_function;

// NULL if the bytes are no code; *error says why.
fake_image *fake_image_new(const void *bytes, int *error);
void fake_image_free(void *image);
// The code that a device of [arch] runs; NULL: none.
const fake_code *fake_image_choose(const fake_image *image, int arch);
bool fake_code_kernel(const fake_code *code, const char *name, fake_kernel *kernel);
