// What goes between pool and worker, both of one machine and one version: messages of fields, each with its length.
#pragma once

#include "service/service.h"

// The first message of a worker. Another text is a worker of another version, which is not used.
#define SVC_GREETING "hdsc worker 2 " HDS_VERSION

// Whether all of it was sent or received; false: the other end is gone. A message is malloc'ed, its owner frees it.
bool svc_send(int fd, str message);
bool svc_receive(int fd, char **message, size_t *len);

void svc_job_write(const svc_job *job, str_buf *out);
// With strings in [message] or in [a]. False: it is no job.
bool svc_job_read(arena *a, str message, svc_job *out);

void svc_result_write(const tool_result *result, str_buf *out);
// With strings in [a].
bool svc_result_read(arena *a, str message, tool_result *out);
