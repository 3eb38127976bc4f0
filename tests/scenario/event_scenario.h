// For scenarios about events. A destroy that waits forever stands in a thread of its own; the main thread ends the
// process once it stands there.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <time.h>

#include "scenario.h"

static inline pthread_t start(void* (*run)(void*), void* argument) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, run, argument) == 0);
  return thread;
}

static inline void join(pthread_t thread) { MUST(pthread_join(thread, NULL) == 0); }

// Takes one completion event, and says of which CQ.
static inline struct ibv_cq* take(struct ibv_comp_channel* channel) {
  struct ibv_cq* cq = NULL;
  void* context = NULL;
  MUST(ibv_get_cq_event(channel, &cq, &context) == 0);
  return cq;
}

static inline void* take_one(void* channel) {
  take((struct ibv_comp_channel*)channel);
  return NULL;
}

// Waits until the report, wherever it is written, holds the words. Only without the library it does not wait.
static inline void await_in_report(const char* words) {
  const char* options = getenv("RDMACHECK_OPTIONS");
  const char* at = options != NULL ? strstr(options, "log_path=") : NULL;
  if (at == NULL) return;
  char path[512];
  snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + 9, ": "), at + 9);
  for (int tries = 0; tries < 2000; ++tries) {
    static char text[1 << 16];
    const int fd = open(path, O_RDONLY);
    const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    text[size > 0 ? size : 0] = 0;
    if (strstr(text, words) != NULL) return;
    const struct timespec moment = {0, 10 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
  MUST(!"it never stood in the report");
}
