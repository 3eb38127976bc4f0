// The data path is not ours: its pointers are the provider's own, with and without the library (B92, V9).
// RUN: on=both exit=0
// EXPECT-NOTHING
// EXPECT-OUT: poll_cq in the provider
// EXPECT-OUT: req_notify_cq in the provider
// EXPECT-OUT: post_send in the provider
// EXPECT-OUT: post_recv in the provider
// EXPECT-OUT: post_srq_recv in the provider
// SAME-OUTPUT
#include <dlfcn.h>

#include "scenario.h"

static void place(const char* name, void* function) {
  Dl_info info;
  const int known = function != NULL && dladdr(function, &info) != 0;
  printf("%s in %s\n", name,
         !known                                        ? "no file"
         : strstr(info.dli_fname, "librdmacheck.so") != NULL ? "rdmacheck"
                                                       : "the provider");
}

int main(void) {
  struct ibv_context* context = open_device();
  place("poll_cq", (void*)context->ops.poll_cq);
  place("req_notify_cq", (void*)context->ops.req_notify_cq);
  place("post_send", (void*)context->ops.post_send);
  place("post_recv", (void*)context->ops.post_recv);
  place("post_srq_recv", (void*)context->ops.post_srq_recv);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
