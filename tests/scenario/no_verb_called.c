// A process that calls no verb says nothing and leaves no file, whatever the options.
// RUN: on=both options="strict=1 verbosity=1 no_such_option=1" exit=4
// EXPECT-NOTHING
// EXPECT-FILES: 0
// SAME-OUTPUT
#include "scenario.h"

int main(void) {
  puts("no verb");
  return 4;
}
