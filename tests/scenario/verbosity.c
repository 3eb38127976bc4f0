// Silence is not mistaken for "not watched": verbosity=1 says at the start what is active (B92, B96).
// RUN: on=both options="verbosity=1" exit=0
// EXPECT: TOLD version {{\d.*}}, libibverbs{{.*}} exported verbs hooked
// EXPECT: TOLD not watched: post_send
// EXPECT: TOLD hooked: {{\d+}} slots of contexts, {{\d+}} look-ups
// EXPECT-JSON: environment.hooks.plt >= 40
// EXPECT-JSON: environment.hooks.slots >= 20
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_close_device(context) == 0);
  return 0;
}
