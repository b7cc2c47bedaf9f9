// hds-worker: the worker process of libhds, which has no program of its own that could be one.

#include "service/service.h"

int main(void)
{
    return svc_worker_main();
}
