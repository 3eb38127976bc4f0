// A C++ exception leaves a verb: a signal handler that interrupts a blocking get throws it, three times.
// The program catches it, and what it calls later is seen.
// SANITIZER: an exception does not come out of ThreadSanitizer's own frames, which call the handler; the program hangs.
// RUN: on=fake args="clean" options="strict=1" timeout=10 exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="leak" timeout=10 exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
#include <signal.h>

#include "scenario.h"

namespace {

struct TimedOut {};

void Throw(int) { throw TimedOut(); }

}  // namespace

int main(int argc, char** argv) {
  MUST(argc == 2);
  ibv_context* const context = open_device();
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  struct sigaction action = {};
  action.sa_handler = Throw;
  action.sa_flags = SA_NODEFER;
  MUST(sigaction(SIGALRM, &action, nullptr) == 0);
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      ualarm(50000, 0);
      ibv_cq* cq;
      void* its;
      ibv_get_cq_event(channel, &cq, &its);
    } catch (const TimedOut&) {
      ++caught;
    }
    ibv_pd* const pd = ibv_alloc_pd(context);
    MUST(pd != nullptr && ibv_dealloc_pd(pd) == 0);
  }
  MUST(caught == 3);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  if (strcmp(argv[1], "leak") == 0) MUST(ibv_alloc_pd(context) != nullptr);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
