// librdmacm is opened by name, and its calls are looked up, with and without a version: watched like any other.
// RUN: on=device args="clean dlsym" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="clean dlvsym" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="leak dlsym" exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 1 id still uses it
// EXPECT: #0 main cm_dlsym.c:@id@ (
//
// RUN: on=device args="leak dlvsym" exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 1 id still uses it
// EXPECT: #0 main cm_dlsym.c:@id@ (
// LINK: nothing
#include <dlfcn.h>

#include "cm_scenario.h"

static void* library;
static int versions;

static void* look_up(const char* name) {
  void* found = versions ? dlvsym(library, name, "RDMACM_1.0") : dlsym(library, name);
  MUST(found != NULL);
  return found;
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  versions = strcmp(argv[2], "dlvsym") == 0;
  library = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
  MUST(library != NULL);
  MUST(dlvsym(library, "rdma_create_id", "RDMACM_9.9") == NULL);
  __typeof__(&rdma_create_event_channel) create_channel = look_up("rdma_create_event_channel");
  __typeof__(&rdma_destroy_event_channel) destroy_channel = look_up("rdma_destroy_event_channel");
  __typeof__(&rdma_create_id) create_id = look_up("rdma_create_id");
  __typeof__(&rdma_destroy_id) destroy_id = look_up("rdma_destroy_id");
  __typeof__(&rdma_resolve_addr) resolve_addr = look_up("rdma_resolve_addr");
  __typeof__(&rdma_get_cm_event) get_event = look_up("rdma_get_cm_event");
  __typeof__(&rdma_ack_cm_event) ack_event = look_up("rdma_ack_cm_event");

  struct rdma_event_channel* channel = create_channel();
  struct rdma_cm_id* id = NULL;
  struct rdma_cm_event* event = NULL;
  struct sockaddr_in there = address("10.77.0.1", 7471);
  MUST(channel != NULL && create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);  // @id
  MUST(resolve_addr(id, NULL, (struct sockaddr*)&there, 2000) == 0);
  MUST(get_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_ADDR_RESOLVED && ack_event(event) == 0);
  if (strcmp(argv[1], "clean") == 0) MUST(destroy_id(id) == 0);
  destroy_channel(channel);
  return 0;
}
