// Verbs that go past the library: those of plugins/past_verbs.c, opened with RTLD_DEEPBIND.
#pragma once

#include <dlfcn.h>

#include "scenario.h"

static void* past_verb(const char* name) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/past_verbs.so", getenv("SCENARIO_PROGRAMS"));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  MUST(library != NULL);
  void* verb = dlsym(library, name);
  MUST(verb != NULL);
  return verb;
}

static inline struct ibv_pd* alloc_past(struct ibv_context* context) {
  return ((struct ibv_pd * (*)(struct ibv_context*)) past_verb("alloc_a_pd"))(context);
}

static inline int dealloc_past(struct ibv_pd* pd) { return ((int (*)(struct ibv_pd*))past_verb("dealloc_a_pd"))(pd); }
