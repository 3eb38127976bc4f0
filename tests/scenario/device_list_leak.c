// A device list is never freed, be it empty or in use by nobody (B03, B04, B60).
// RUN: on=both exit=0
// EXPECT: WARNING device-list-leak: 1 device list never freed, with {{1|2}} device{{s?}}
// EXPECT: #0 main device_list_leak.c:@list@ (
// EXPECT-JSON: findings[0].object.kind == device_list
// SAME-OUTPUT
//
// RUN: on=fake env="FAKE_DEVICES=0" exit=0
// EXPECT: WARNING device-list-leak: 1 device list never freed, with 0 devices
// EXPECT: #0 main device_list_leak.c:@list@ (
// EXPECT-JSON: findings[0].object.numbers.devices == 0
//
// RUN: on=fake env="FAKE_DEVICES=0" options="strict=1" exit=23
// EXPECT: ERROR device-list-leak: 1 device list never freed, with 0 devices
//
// RUN: on=both options="strict=1" args="free" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake env="FAKE_DEVICES=0" options="strict=1" args="free" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  (void)argv;
  int devices = -1;
  struct ibv_device** list = ibv_get_device_list(&devices);  // @list
  MUST(list != NULL);
  printf("%s\n", devices >= 0 ? "a list" : "no list");
  if (argc > 1) ibv_free_device_list(list);
  return 0;
}
