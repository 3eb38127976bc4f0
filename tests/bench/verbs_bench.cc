// What rdmacheck adds to a create/destroy pair, on the fake libibverbs. Run under LD_PRELOAD (scripts/bench does).
//
// Everything that is divided by something else is measured in this one process, in turns:
//   unwind        two bare unw_backtrace calls, 16 frames deep: what a pair cannot do without, for a create keeps its
//                 stack and a destroy keeps its own
//   pair_bare     ibv_reg_mr and ibv_dereg_mr of a second fake, in a namespace of its own, where no hook is
//   pair          the same through the hooks
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
