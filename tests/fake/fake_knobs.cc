// Failures, delays, latches and counters: what a test arms, and what every Call asks when something is armed.
#include <stdio.h>
#include <time.h>

#include "fake_internal.h"
#include "fake_verbs.h"

namespace fake {

Knobs g_knobs;
std::atomic<bool> g_armed{false};
std::atomic<int> g_waiters[kVerbs];
__thread Tally* t_tally __attribute__((tls_model("initial-exec")));

namespace {

struct Armed {
  uint64_t skip = 0;
  int error = 0;
  int times = 0;  // negative: until reset
  unsigned delay_ms = 0;
  bool hold_entry = false;
  bool hold_return = false;
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_released = PTHREAD_COND_INITIALIZER;
Armed g_verbs[kVerbs];   // guarded by g_lock
std::atomic<bool> g_spins[kVerbs];
char g_null_slots[512];  // guarded by g_lock
std::atomic<Tally*> g_tallies{nullptr};
pthread_key_t g_tally_key;
pthread_once_t g_tally_once = PTHREAD_ONCE_INIT;
std::atomic<uint64_t> g_compat_calls[kVerbs];

class Lock {
 public:
  Lock() { pthread_mutex_lock(&g_lock); }
  ~Lock() { pthread_mutex_unlock(&g_lock); }
};

const char* const kVerbNames[] = {
#define FAKE_VERB(name) #name,
#define FAKE_KIND(name)
#include "fake_names.def"
#undef FAKE_VERB
#undef FAKE_KIND
};

const char* const kKindNames[] = {
#define FAKE_VERB(name)
#define FAKE_KIND(name) #name,
#include "fake_names.def"
#undef FAKE_VERB
#undef FAKE_KIND
};

[[noreturn]] void Complain(const char* what, const char* name) {
  fprintf(stderr, "fake: no %s called '%s'\n", what, name);
  abort();
}

template <size_t n>
size_t IndexOf(const char* const (&names)[n], const char* what, const char* name) {
  for (size_t i = 0; i < n; ++i) {
    if (strcmp(names[i], name) == 0) return i;
  }
  Complain(what, name);
}

size_t VerbIndex(const char* name) { return IndexOf(kVerbNames, "verb", name); }

int ErrnoOf(const char* name) {
  if (strcmp(name, "stale") == 0) return FAKE_STALE_ERRNO;
  for (int e = 1; e < 134; ++e) {
    const char* known = strerrorname_np(e);
    if (known != nullptr && strcmp(known, name) == 0) return e;
  }
  Complain("errno value", name);
}

void ArmFailure(const char* verb, uint64_t skip, int error, int times) {
  const size_t i = VerbIndex(verb);
  Lock lock;
  g_verbs[i].skip = skip;
  g_verbs[i].error = error;
  g_verbs[i].times = times;
  g_armed = true;
}

// One "verb[@n]=errno[:times]" of FAKE_FAIL; the text may be written to.
void ArmFailureText(char* text) {
  char* value = strchr(text, '=');
  if (value == nullptr) Complain("value in FAKE_FAIL for", text);
  *value++ = '\0';
  int times = 1;
  if (char* colon = strchr(value, ':')) {
    *colon = '\0';
    times = colon[1] == '*' ? -1 : atoi(colon + 1);
  }
  uint64_t nth = 1;
  if (char* at = strchr(text, '@')) {
    *at = '\0';
    nth = strtoull(at + 1, nullptr, 10);
  }
  ArmFailure(text, nth > 0 ? nth - 1 : 0, ErrnoOf(value), times);
}

void ArmDelayText(char* text) {
  char* value = strchr(text, '=');
  if (value == nullptr) Complain("value in FAKE_DELAY for", text);
  *value = '\0';
  fake_delay(text, static_cast<unsigned>(atoi(value + 1)));
}

void ForEachWord(const char* list, void (*visit)(char*)) {
  char copy[2048];
  snprintf(copy, sizeof copy, "%s", list);
  char* rest = nullptr;
  for (char* word = strtok_r(copy, ",", &rest); word != nullptr; word = strtok_r(nullptr, ",", &rest)) visit(word);
}

bool Truth(const char* value) { return value != nullptr && strcmp(value, "0") != 0; }

void SetKnob(const char* name, const char* value) {
  if (strcmp(name, "FAKE_LAX") == 0) {
    g_knobs.lax = Truth(value);
  } else if (strcmp(name, "FAKE_KEEP") == 0) {
    g_knobs.keep = Truth(value);
  } else if (strcmp(name, "FAKE_OLD_KERNEL") == 0) {
    g_knobs.old_kernel = Truth(value);
  } else if (strcmp(name, "FAKE_COPY_ON_FORK") == 0) {
    g_knobs.copy_on_fork = Truth(value);
  } else if (strcmp(name, "FAKE_DEVICES") == 0) {
    g_knobs.devices = value != nullptr ? atoi(value) : 1;
  } else if (strcmp(name, "FAKE_SZ") == 0) {
    g_knobs.sz = value != nullptr ? strtoul(value, nullptr, 10) : 0;
  } else if (strcmp(name, "FAKE_NULL_SLOTS") == 0) {
    Lock lock;
    snprintf(g_null_slots, sizeof g_null_slots, ",%s,", value != nullptr ? value : "");
  } else if (strcmp(name, "RDMAV_ALLOW_DISASSOC_DESTROY") == 0) {
    verbs_allow_disassociate_destroy = Truth(value);
  } else if (strcmp(name, "FAKE_FAIL") == 0) {
    if (value != nullptr) ForEachWord(value, ArmFailureText);
  } else if (strcmp(name, "FAKE_DELAY") == 0) {
    if (value != nullptr) ForEachWord(value, ArmDelayText);
  } else {
    Complain("knob", name);
  }
}

const char* const kVariables[] = {"FAKE_LAX",          "FAKE_KEEP",    "FAKE_OLD_KERNEL",
                                  "FAKE_COPY_ON_FORK", "FAKE_DEVICES", "FAKE_NULL_SLOTS",
                                  "FAKE_SZ",           "FAKE_FAIL",    "FAKE_DELAY"};

__attribute__((constructor)) void ReadEnvironment() {
  for (const char* name : kVariables) SetKnob(name, getenv(name));
  if (Truth(getenv("FAKE_VERBOSE"))) fprintf(stderr, "fake: fake libibverbs (no device)\n");
}

void Sleep(unsigned milliseconds) {
  timespec t = {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
  nanosleep(&t, nullptr);
}

void HoldWhile(bool Armed::*latch, Verb verb) {
  const size_t i = static_cast<size_t>(verb);
  Lock lock;
  if (!(g_verbs[i].*latch)) return;
  Waiting waiting(verb);
  while (g_verbs[i].*latch) pthread_cond_wait(&g_released, &g_lock);
}

void SpinWhileAsked(Verb verb) {
  const std::atomic<bool>& spins = g_spins[static_cast<size_t>(verb)];
  if (!spins.load()) return;
  Waiting waiting(verb);
  while (spins.load()) {
  }
}

void ReleaseTally(void* tally) { static_cast<Tally*>(tally)->owned.store(false, std::memory_order_release); }

void MakeTallyKey() { pthread_key_create(&g_tally_key, ReleaseTally); }

// A program may dlclose() us: a thread that ends later must not come back here.
__attribute__((destructor)) void ForgetTallyKey() {
  pthread_once(&g_tally_once, MakeTallyKey);
  pthread_key_delete(g_tally_key);
}

}  // namespace

Tally* AdoptTally() {
  pthread_once(&g_tally_once, MakeTallyKey);
  // A thread takes over the counts of one that ended, so a program with many short threads does not grow.
  Tally* tally = g_tallies.load(std::memory_order_acquire);
  for (; tally != nullptr; tally = tally->next) {
    bool free = false;
    if (tally->owned.compare_exchange_strong(free, true)) break;
  }
  if (tally == nullptr) {
    tally = static_cast<Tally*>(calloc(1, sizeof *tally));
    if (tally == nullptr) abort();
    tally->owned = true;
    tally->next = g_tallies.load();
    while (!g_tallies.compare_exchange_weak(tally->next, tally)) {
    }
  }
  pthread_setspecific(g_tally_key, tally);
  return t_tally = tally;
}

int EnterArmed(Verb verb) {
  const int saved = errno;
  unsigned delay_ms = 0;
  int error = 0;
  {
    Lock lock;
    Armed& armed = g_verbs[static_cast<size_t>(verb)];
    delay_ms = armed.delay_ms;
    if (armed.times != 0) {
      if (armed.skip > 0) {
        --armed.skip;
      } else {
        error = armed.error;
        if (armed.times > 0) --armed.times;
      }
    }
  }
  if (delay_ms != 0) Sleep(delay_ms);
  HoldWhile(&Armed::hold_entry, verb);
  SpinWhileAsked(verb);
  errno = saved;
  return error;
}

void LeaveArmed(Verb verb) {
  const int saved = errno;
  HoldWhile(&Armed::hold_return, verb);
  errno = saved;
}

bool IsNullSlot(const char* field) {
  char word[128];
  snprintf(word, sizeof word, ",%s,", field);
  Lock lock;
  return strstr(g_null_slots, word) != nullptr;
}

void CountCompat(Verb verb) { ++g_compat_calls[static_cast<size_t>(verb)]; }

void AbortOn(const char* what, Verb verb) {
  fprintf(stderr, "fake: %s reached libibverbs (%s)\n", what, kVerbNames[static_cast<size_t>(verb)]);
  abort();
}

}  // namespace fake

using namespace fake;  // NOLINT: the C face of the functions above

FAKE_EXPORT void fake_fail_next(const char* verb, int err, int times) { ArmFailure(verb, 0, err, times); }

FAKE_EXPORT void fake_fail_after(const char* verb, uint64_t skip, int err, int times) {
  ArmFailure(verb, skip, err, times);
}

FAKE_EXPORT void fake_delay(const char* verb, unsigned milliseconds) {
  const size_t i = VerbIndex(verb);
  Lock lock;
  g_verbs[i].delay_ms = milliseconds;
  g_armed = true;
}

FAKE_EXPORT void fake_block(const char* verb) {
  const size_t i = VerbIndex(verb);
  Lock lock;
  g_verbs[i].hold_entry = true;
  g_armed = true;
}

FAKE_EXPORT void fake_spin(const char* verb) {
  g_spins[VerbIndex(verb)] = true;
  g_armed = true;
}

FAKE_EXPORT void fake_block_return(const char* verb) {
  const size_t i = VerbIndex(verb);
  Lock lock;
  g_verbs[i].hold_return = true;
  g_armed = true;
}

FAKE_EXPORT void fake_unblock(const char* verb) {
  const size_t i = VerbIndex(verb);
  Lock lock;
  g_verbs[i].hold_entry = g_verbs[i].hold_return = false;
  g_spins[i] = false;
  pthread_cond_broadcast(&g_released);
}

FAKE_EXPORT int fake_waiters(const char* verb) { return g_waiters[VerbIndex(verb)].load(); }

FAKE_EXPORT int fake_await_waiters(const char* verb, int count) {
  const std::atomic<int>& waiters = g_waiters[VerbIndex(verb)];
  for (int i = 0; i < 10000; ++i) {
    if (waiters.load() == count) return 0;
    Sleep(1);
  }
  return -1;
}

FAKE_EXPORT uint64_t fake_calls(const char* verb) {
  const size_t i = VerbIndex(verb);
  uint64_t sum = 0;
  for (Tally* t = g_tallies.load(); t != nullptr; t = t->next) sum += t->calls[i].load(std::memory_order_relaxed);
  return sum;
}

FAKE_EXPORT uint64_t fake_compat_calls(const char* verb) { return g_compat_calls[VerbIndex(verb)].load(); }

FAKE_EXPORT int64_t fake_live(const char* kind) {
  const size_t i = IndexOf(kKindNames, "kind", kind);
  int64_t sum = 0;
  for (Tally* t = g_tallies.load(); t != nullptr; t = t->next) sum += t->live[i].load(std::memory_order_relaxed);
  return sum;
}

FAKE_EXPORT void fake_set(const char* variable, const char* value) { SetKnob(variable, value); }

FAKE_EXPORT void fake_reset(void) {
  {
    Lock lock;
    for (Armed& armed : g_verbs) armed = Armed();
    for (std::atomic<bool>& spins : g_spins) spins = false;
    pthread_cond_broadcast(&g_released);
    g_armed = false;
  }
  for (Tally* t = g_tallies.load(); t != nullptr; t = t->next) {
    for (auto& calls : t->calls) calls.store(0, std::memory_order_relaxed);
  }
  for (auto& calls : g_compat_calls) calls = 0;
  for (const char* name : kVariables) SetKnob(name, getenv(name));
}
