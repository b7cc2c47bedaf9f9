// What a call of libhdsops launched on the double of the driver.
#pragma once

#include "fake_cuda.h"
#include "hds/runtime.h"

// The number of launches, one or more, and the last one; -1: the call gave an error, which is printed.
static inline int launches_of(hdsrt_status status, fake_cuda_launch *last)
{
    if (status != HDSRT_OK) {
        print_message("%s\n", hdsrt_last_error());
        return -1;
    }
    int count = fake_cuda_launches();
    assert_true(count > 0 && fake_cuda_launch_at(count - 1, last));
    return count;
}
