// What programs over generated C functions expect, and how many times it was not so.
#pragma once
#include <hds/runtime.h>
#include <stdbool.h>
#include <stdio.h>

static int failures;

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "not so: %s (%s)\n", what, hdsrt_last_error());
    failures++;
}
