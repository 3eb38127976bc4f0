// For scenarios with librdmacm: addresses of the soft device, and a listener that is met in the same process.
#pragma once

#include <arpa/inet.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "scenario.h"

static inline struct sockaddr_in address(const char* numbers, int port) {
  struct sockaddr_in to;
  memset(&to, 0, sizeof(to));
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)port);
  MUST(inet_pton(AF_INET, numbers, &to.sin_addr) == 1);
  return to;
}

// Takes the next event; its type must be this.
static inline struct rdma_cm_event* await_event(struct rdma_event_channel* channel, enum rdma_cm_event_type type) {
  struct rdma_cm_event* event = NULL;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  if (event->event != type) fprintf(stderr, "event %s, status %d\n", rdma_event_str(event->event), event->status);
  MUST(event->event == type);
  return event;
}

static inline void resolve(struct rdma_cm_id* id, struct rdma_event_channel* channel, const char* numbers) {
  struct sockaddr_in to = address(numbers, 7471);
  MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&to, 2000) == 0);
  MUST(rdma_ack_cm_event(await_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED)) == 0);
}

// The report leaves before a call that waits: then the scenario may go on, or end.
static inline void await_report(void) {
  const char* options = getenv("RDMACHECK_OPTIONS");
  const char* at = options != NULL ? strstr(options, "log_path=") : NULL;
  if (at == NULL) return;
  char path[512];
  snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + 9, ": "), at + 9);
  // The file is there a moment before its text is.
  struct stat file;
  while (stat(path, &file) != 0 || file.st_size == 0) usleep(10000);
}
