// What rdmacheck adds to a create/destroy pair, on the fake libibverbs. Run under LD_PRELOAD (scripts/bench does).
//
// Everything that is divided by something else is measured in this one process, in turns:
//   unwind        two bare unw_backtrace calls, 16 frames deep: what a pair cannot do without, for a create keeps its
//                 stack and a destroy keeps its own
//   pair_bare     ibv_reg_mr and ibv_dereg_mr of a second fake, in a namespace of its own, where no hook is
//   pair          the same through the hooks
//   fresh         the pair on 1,000 different stacks in turn
//   event         an event of a CQ is got and acked
//   poll          an empty CQ is polled
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include "fake_verbs.h"
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

// The macros of verbs.h would call another function for constant flags.
#undef ibv_reg_mr

namespace {

constexpr int kFrames = 16;
char buffer[4096];

struct Verbs {
  ibv_device** (*get_device_list)(int*) = &ibv_get_device_list;
  void (*free_device_list)(ibv_device**) = &ibv_free_device_list;
  ibv_context* (*open_device)(ibv_device*) = &ibv_open_device;
  int (*close_device)(ibv_context*) = &ibv_close_device;
  ibv_pd* (*alloc_pd)(ibv_context*) = &ibv_alloc_pd;
  int (*dealloc_pd)(ibv_pd*) = &ibv_dealloc_pd;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int) = &ibv_reg_mr;
  int (*dereg_mr)(ibv_mr*) = &ibv_dereg_mr;
  ibv_comp_channel* (*create_comp_channel)(ibv_context*) = &ibv_create_comp_channel;
  ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int) = &ibv_create_cq;
  int (*get_cq_event)(ibv_comp_channel*, ibv_cq**, void**) = &ibv_get_cq_event;
  void (*ack_cq_events)(ibv_cq*, unsigned) = &ibv_ack_cq_events;
  int (*post_cq_event)(ibv_cq*) = &fake_post_cq_event;
};

template <class Fn>
void Find(void* library, const char* name, Fn* fn) {
  *fn = reinterpret_cast<Fn>(dlsym(library, name));
  if (*fn == nullptr) {
    fprintf(stderr, "verbs_bench: no %s: %s\n", name, dlerror());
    exit(2);
  }
}

const Verbs& Hooked() {
  static const Verbs verbs;
  return verbs;
}

const Verbs& Bare() {
  static const Verbs verbs = [] {
    Dl_info where;
    Verbs bare;
    // A preloaded library defines the verbs too: the fake libibverbs is found by a function that only it has.
    void* const only_there = dlsym(RTLD_DEFAULT, "fake_reset");
    if (only_there == nullptr || dladdr(only_there, &where) == 0) {
      fprintf(stderr, "verbs_bench: this is not the fake libibverbs\n");
      exit(2);
    }
    void* library = dlmopen(LM_ID_NEWLM, where.dli_fname, RTLD_NOW);
    if (library == nullptr) {
      fprintf(stderr, "verbs_bench: %s\n", dlerror());
      exit(2);
    }
    Find(library, "ibv_get_device_list", &bare.get_device_list);
    Find(library, "ibv_free_device_list", &bare.free_device_list);
    Find(library, "ibv_open_device", &bare.open_device);
    Find(library, "ibv_close_device", &bare.close_device);
    Find(library, "ibv_alloc_pd", &bare.alloc_pd);
    Find(library, "ibv_dealloc_pd", &bare.dealloc_pd);
    Find(library, "ibv_reg_mr", &bare.reg_mr);
    Find(library, "ibv_dereg_mr", &bare.dereg_mr);
    Find(library, "ibv_create_comp_channel", &bare.create_comp_channel);
    Find(library, "ibv_create_cq", &bare.create_cq);
    Find(library, "ibv_get_cq_event", &bare.get_cq_event);
    Find(library, "ibv_ack_cq_events", &bare.ack_cq_events);
    Find(library, "fake_post_cq_event", &bare.post_cq_event);
    return bare;
  }();
  return verbs;
}

class Device {
 public:
  explicit Device(const Verbs& verbs) : verbs_(verbs) {
    ibv_device** list = verbs_.get_device_list(nullptr);
    context_ = verbs_.open_device(list[0]);
    verbs_.free_device_list(list);
  }
  ibv_context* context() const { return context_; }
  ibv_pd* NewPd() const { return verbs_.alloc_pd(context_); }

 private:
  const Verbs& verbs_;
  ibv_context* context_;
};

const Device& HookedDevice() {
  static const Device device(Hooked());
  return device;
}
const Device& BareDevice() {
  static const Device device(Bare());
  return device;
}

// Calls leaf(state, ...) with exactly kFrames frames on the stack, the leaf's own included.
using Leaf = void (*)(benchmark::State&, ibv_pd*);
__attribute__((noinline)) void Descend(int levels, Leaf leaf, benchmark::State& state, ibv_pd* pd) {
  if (levels > 0) {
    Descend(levels - 1, leaf, state, pd);
  } else {
    leaf(state, pd);
  }
  benchmark::DoNotOptimize(levels);
}
void AtDepth(Leaf leaf, benchmark::State& state, ibv_pd* pd) {
  void* pcs[64];
  const int here = unw_backtrace(pcs, 64);
  if (here + 2 > kFrames) {
    state.SkipWithError("called from too deep");
    return;
  }
  Descend(kFrames - here - 2, leaf, state, pd);
}

__attribute__((noinline)) void UnwindTwice(benchmark::State& state, ibv_pd*) {
  void* pcs[32];
  int frames = 0;
  for (auto _ : state) {
    frames = unw_backtrace(pcs, 32);
    benchmark::DoNotOptimize(pcs);
    frames = unw_backtrace(pcs, 32);
    benchmark::DoNotOptimize(pcs);
  }
  if (frames != kFrames) state.SkipWithError("not 16 frames deep");
}

__attribute__((noinline)) void BarePair(benchmark::State& state, ibv_pd* pd) {
  const Verbs& verbs = Bare();
  for (auto _ : state) {
    ibv_mr* mr = verbs.reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
    verbs.dereg_mr(mr);
  }
}

__attribute__((noinline)) void HookedPair(benchmark::State& state, ibv_pd* pd) {
  for (auto _ : state) {
    ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
    ibv_dereg_mr(mr);
  }
}

// A thousand ways down: which of its calls each of the first two frames was in is a digit of `way`.
using Pair = void (*)(ibv_pd*);
__attribute__((noinline)) void DescendOneWay(int levels, unsigned way, Pair pair, ibv_pd* pd) {
  if (levels == 0) {
    pair(pd);
    asm volatile("");
    return;
  }
  // Calls that differ, so that they are not made one.
#define RDMACHECK_CALL(digit)                          \
  case digit:                                          \
    DescendOneWay(levels - 1, way / 32, pair, pd);     \
    asm volatile("" : : "i"(digit));                   \
    break;
#define RDMACHECK_FOUR(digit) \
  RDMACHECK_CALL(digit) RDMACHECK_CALL(digit + 1) RDMACHECK_CALL(digit + 2) RDMACHECK_CALL(digit + 3)
  switch (way % 32) {
    RDMACHECK_FOUR(0) RDMACHECK_FOUR(4) RDMACHECK_FOUR(8) RDMACHECK_FOUR(12)
    RDMACHECK_FOUR(16) RDMACHECK_FOUR(20) RDMACHECK_FOUR(24) RDMACHECK_FOUR(28)
  }
#undef RDMACHECK_FOUR
#undef RDMACHECK_CALL
}
template <const Verbs& (*kVerbs)()>
__attribute__((noinline)) void OnePair(ibv_pd* pd) {
  const Verbs& verbs = kVerbs();
  verbs.dereg_mr(verbs.reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
  asm volatile("");
}
void BM_fresh(benchmark::State& state, Pair pair, ibv_pd* pd) {
  void* pcs[64];
  const int levels = kFrames - unw_backtrace(pcs, 64) - 2;
  if (levels < 2) {
    state.SkipWithError("called from too deep");
    return;
  }
  unsigned way = 0;
  for (auto _ : state) {
    DescendOneWay(levels, way, pair, pd);
    way = way == 999 ? 0 : way + 1;
  }
}
void BM_fresh_hooked(benchmark::State& state) {
  static ibv_pd* const pd = HookedDevice().NewPd();
  BM_fresh(state, &OnePair<&Hooked>, pd);
}
void BM_fresh_bare(benchmark::State& state) {
  static ibv_pd* const pd = BareDevice().NewPd();
  BM_fresh(state, &OnePair<&Bare>, pd);
}
BENCHMARK(BM_fresh_hooked)->Name("fresh");
BENCHMARK(BM_fresh_bare)->Name("fresh_bare");

struct Events {
  explicit Events(const Verbs& verbs, ibv_context* context)
      : channel(verbs.create_comp_channel(context)), cq(verbs.create_cq(context, 16, nullptr, channel, 0)) {}
  ibv_comp_channel* const channel;
  ibv_cq* const cq;
};
// Events are posted before, for what is asked about is the get, with its read, and the ack.
__attribute__((noinline)) void TakeEvents(benchmark::State& state, const Verbs& verbs, const Events& events) {
  constexpr int kAtOnce = 64;
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  for (auto _ : state) {
    for (int i = 0; i < kAtOnce; ++i) verbs.post_cq_event(events.cq);
    const double begun = now();
    for (int i = 0; i < kAtOnce; ++i) {
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      verbs.get_cq_event(events.channel, &cq, &context);
      verbs.ack_cq_events(cq, 1);
    }
    state.SetIterationTime((now() - begun) / kAtOnce);
  }
}
const Events& EventsOf(bool hooked) {
  static const Events with(Hooked(), HookedDevice().context());
  static const Events without(Bare(), BareDevice().context());
  return hooked ? with : without;
}
void BM_event(benchmark::State& state) { TakeEvents(state, Hooked(), EventsOf(true)); }
void BM_event_bare(benchmark::State& state) { TakeEvents(state, Bare(), EventsOf(false)); }
BENCHMARK(BM_event)->Name("event")->UseManualTime()->Iterations(2000);
BENCHMARK(BM_event_bare)->Name("event_bare")->UseManualTime()->Iterations(2000);

__attribute__((noinline)) void Poll(benchmark::State& state, ibv_cq* cq) {
  ibv_wc wc;
  for (auto _ : state) benchmark::DoNotOptimize(ibv_poll_cq(cq, 1, &wc));
}
void BM_poll(benchmark::State& state) { Poll(state, EventsOf(true).cq); }
void BM_poll_bare(benchmark::State& state) { Poll(state, EventsOf(false).cq); }
BENCHMARK(BM_poll)->Name("poll");
BENCHMARK(BM_poll_bare)->Name("poll_bare");

void BM_unwind(benchmark::State& state) { AtDepth(&UnwindTwice, state, nullptr); }
BENCHMARK(BM_unwind)->Name("unwind");

void BM_pair_bare(benchmark::State& state) {
  static ibv_pd* const pd = BareDevice().NewPd();
  AtDepth(&BarePair, state, pd);
}
BENCHMARK(BM_pair_bare)->Name("pair_bare");

void BM_pair(benchmark::State& state) {
  static ibv_pd* const pd = HookedDevice().NewPd();
  AtDepth(&HookedPair, state, pd);
}
BENCHMARK(BM_pair)->Name("pair");

// With that many objects alive. They are made and released between the runs, outside of what is measured.
void BM_pair_live(benchmark::State& state) {
  static ibv_pd* const pd = HookedDevice().NewPd();
  static std::vector<ibv_mr*> live;
  while (live.size() > static_cast<size_t>(state.range(0))) {
    ibv_dereg_mr(live.back());
    live.pop_back();
  }
  while (live.size() < static_cast<size_t>(state.range(0))) {
    live.push_back(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
  }
  AtDepth(&HookedPair, state, pd);
}
BENCHMARK(BM_pair_live)->Name("pair_live")->Arg(1000)->Arg(1000000);

// In a process that had a thread once, locks are real: the single thread that others are compared with shall pay for them
// too, in whatever order things run.
void HaveHadAThread() {
  static const bool had = [] {
    std::thread([] {}).join();
    return true;
  }();
  benchmark::DoNotOptimize(had);
}

// Threads with a PD each on one context, as servers do that give each worker its own; and with one PD for all.
void BM_pair_threads(benchmark::State& state) {
  HaveHadAThread();
  static ibv_pd* const pds[2] = {HookedDevice().NewPd(), HookedDevice().NewPd()};
  AtDepth(&HookedPair, state, pds[state.thread_index() % 2]);
}
BENCHMARK(BM_pair_threads)->Name("pair_threads")->Threads(1)->Threads(2)->UseRealTime();
void BM_pair_threads_one_pd(benchmark::State& state) {
  HaveHadAThread();
  static ibv_pd* const pd = HookedDevice().NewPd();
  AtDepth(&HookedPair, state, pd);
}
BENCHMARK(BM_pair_threads_one_pd)->Name("pair_threads_one_pd")->Threads(1)->Threads(2)->Threads(8)->Threads(64)->UseRealTime();
void BM_pair_bare_threads(benchmark::State& state) {
  static ibv_pd* const pds[2] = {BareDevice().NewPd(), BareDevice().NewPd()};
  AtDepth(&BarePair, state, pds[state.thread_index() % 2]);
}
BENCHMARK(BM_pair_bare_threads)->Name("pair_bare_threads")->Threads(1)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
