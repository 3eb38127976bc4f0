#include "interpose/stacks/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

struct Taken {
  void* caller = nullptr;
  std::vector<void*> pcs;
};

// Room for a trace of so many frames.
struct Room {
  explicit Room(size_t frames) : pcs(frames), value(Trace::RoomForWords(frames)), at(value.size()) {
    trace.pcs = pcs.data();
    trace.value = value.data();
    trace.at = at.data();
    trace.limit = frames;
  }
  std::vector<void*> pcs;
  std::vector<uintptr_t> value;
  std::vector<const uintptr_t*> at;
  Trace trace;
  StackBounds beyond;
};

std::vector<void*> Frames(UnwindBy by, const CallPoint& point, size_t depth) {
  Room room(depth);
  TakeStack(by, point, &room.beyond, &room.trace);
  return std::vector<void*>(room.trace.pcs, room.trace.pcs + room.trace.depth);
}

// Stands for a hook: its own frame says where the caller's begins.
__attribute__((noinline)) void Hook(UnwindBy by, size_t depth, Taken* taken) {
  taken->caller = __builtin_return_address(0);
  taken->pcs = Frames(by, CallPointHere(), depth);
}

__attribute__((noinline)) int Deep(int levels, UnwindBy by, size_t depth, Taken* taken) {
  if (levels > 0) return Deep(levels - 1, by, depth, taken) + 1;
  Hook(by, depth, taken);
  return 0;
}

TEST(UnwindTest, BeginsWithTheCaller) {
  Taken taken;
  Deep(3, UnwindBy::kLibunwind, 32, &taken);
  ASSERT_GE(taken.pcs.size(), 5u);
  EXPECT_EQ(taken.pcs[0], taken.caller);
}

TEST(UnwindTest, EachLevelIsAFrame) {
  Taken shallow, deep;
  Deep(1, UnwindBy::kLibunwind, 200, &shallow);
  Deep(41, UnwindBy::kLibunwind, 200, &deep);
  EXPECT_EQ(deep.pcs.size(), shallow.pcs.size() + 40);
}

// Where our own unwinding begins must not change what it finds.
__attribute__((noinline)) void HookBesideBacktrace(Taken* taken, std::vector<void*>* reference) {
  taken->caller = __builtin_return_address(0);
  taken->pcs = Frames(UnwindBy::kLibunwind, CallPointHere(), 32);
  void* all[64];
  const int got = backtrace(all, 64);
  void** const from = std::find(all, all + got, taken->caller);
  reference->assign(from, std::min(from + 32, all + got));
}
__attribute__((noinline)) int DeepBesideBacktrace(int levels, Taken* taken, std::vector<void*>* reference) {
  if (levels > 0) return DeepBesideBacktrace(levels - 1, taken, reference) + 1;
  HookBesideBacktrace(taken, reference);
  return 0;
}
TEST(UnwindTest, FindsTheFramesThatTheCLibraryFinds) {
  for (int levels : {0, 1, 5, 18, 40}) {
    for (int again = 0; again < 2; ++again) {
      Taken taken;
      std::vector<void*> reference;
      DeepBesideBacktrace(levels, &taken, &reference);
      EXPECT_EQ(taken.pcs, reference) << levels << " levels";
    }
  }
}

TEST(UnwindTest, TakesNoMoreThanItMay) {
  for (size_t depth : {1u, 2u, 7u, 16u}) {
    Taken taken;
    Deep(60, UnwindBy::kLibunwind, depth, &taken);
    EXPECT_EQ(taken.pcs.size(), depth);
    EXPECT_EQ(taken.pcs[0], taken.caller);
  }
}

TEST(UnwindTest, TheDeepestStackThatMayBeAskedForFits) {
  Taken taken;
  Deep(400, UnwindBy::kLibunwind, kMaxFrames, &taken);
  EXPECT_EQ(taken.pcs.size(), kMaxFrames);
}

TEST(UnwindTest, DepthZeroTakesNothing) {
  Taken taken;
  Deep(3, UnwindBy::kLibunwind, 0, &taken);
  EXPECT_TRUE(taken.pcs.empty());
}

TEST(UnwindTest, WithoutAnUnwinderTheCallerIsKnownStill) {
  Taken taken;
  Deep(3, UnwindBy::kNone, 32, &taken);
  EXPECT_EQ(taken.pcs, std::vector<void*>{taken.caller});
}

TEST(UnwindTest, ACallerThatIsNotOnTheStackIsAllThatIsTold) {
  CallPoint strange = CallPointHere();
  strange.caller = reinterpret_cast<void*>(0x1234);
  EXPECT_EQ(Frames(UnwindBy::kLibunwind, strange, 32), std::vector<void*>{strange.caller});
}

#if defined(__x86_64__)
// As long as the words that the walk noted stay as they are the stack does; and nothing else is looked at.
__attribute__((noinline)) void HookThatNotes(Room* room) {
  const CallPoint point = CallPointHere();
  TakeStack(UnwindBy::kLibunwind, point, &room->beyond, &room->trace);
  ASSERT_TRUE(room->trace.recognisable);
  std::vector<uintptr_t> returns;
  for (size_t i = 0; i < room->trace.words; ++i) {
    const uintptr_t value = *room->trace.at[i];
    EXPECT_EQ(value, room->trace.value[i]);
    returns.push_back(value);
  }
  for (size_t i = 1; i < room->trace.depth; ++i) {
    EXPECT_EQ(std::count(returns.begin(), returns.end(), reinterpret_cast<uintptr_t>(room->trace.pcs[i])),
              std::count(room->trace.pcs + 1, room->trace.pcs + room->trace.depth, room->trace.pcs[i]));
  }
}
TEST(UnwindTest, NotesTheWordsThatTheWalkWentBy) {
  Room room(64);
  for (int again = 0; again < 3; ++again) HookThatNotes(&room);
}

// Frames of all the kinds that compilers make, one above the other in any order, each way taken twice: what libunwind says of
// them one by one (the C library's unwinder here) is what is found.
#ifdef __clang__
#define WITHOUT_FRAME_POINTER __attribute__((noinline))
#else
#define WITHOUT_FRAME_POINTER __attribute__((noinline, optimize("omit-frame-pointer")))
#endif
struct Chain {
  std::mt19937 random{11};
  uint64_t stacks = 0, wrong = 0;
};
__attribute__((noinline)) int Next(Chain* chain, int levels);
__attribute__((noinline)) int Plain(Chain* chain, int levels) { return Next(chain, levels) + 1; }
__attribute__((noinline)) int Large(Chain* chain, int levels) {
  volatile char room[20000];
  room[0] = 1;
  return Next(chain, levels) + room[0];
}
__attribute__((noinline)) int Growing(Chain* chain, int levels) {
  volatile char* room = static_cast<volatile char*>(__builtin_alloca(16u << (levels % 8)));
  room[0] = 1;
  return Next(chain, levels) + room[0];
}
__attribute__((noinline)) int Aligned(Chain* chain, int levels) {
  alignas(128) volatile char room[200];
  room[0] = static_cast<char>(levels);
  return Next(chain, levels) + room[0];
}
WITHOUT_FRAME_POINTER int Pointerless(Chain* chain, int levels) {
  return Next(chain, levels) + 1;
}
WITHOUT_FRAME_POINTER int PointerlessAligned(Chain* chain, int levels) {
  alignas(64) volatile char room[100];
  room[0] = static_cast<char>(levels);
  return Next(chain, levels) + room[0];
}
WITHOUT_FRAME_POINTER int ManyArguments(Chain* chain, int levels, int a, int b, int c, int d, int e,
                                                                           volatile int f) {
  return Next(chain, levels) + a + b + c + d + e + f;
}
int Compare(Chain* chain) {
  void* all[96];
  const int got = backtrace(all, 96);
  Taken taken;
  Hook(UnwindBy::kLibunwind, 90, &taken);
  ++chain->stacks;
  // Both are called from here, from two places.
  const size_t n = std::min<size_t>(taken.pcs.size(), 80);
  chain->wrong += n < 3 || static_cast<size_t>(got) < n || !std::equal(taken.pcs.begin() + 1, taken.pcs.begin() + static_cast<ptrdiff_t>(n), all + 1);
  return 0;
}
int Next(Chain* chain, int levels) {
  if (levels == 0) return Compare(chain);
  switch (chain->random() % 7) {
    case 0: return Plain(chain, levels - 1);
    case 1: return Large(chain, levels - 1);
    case 2: return Growing(chain, levels - 1);
    case 3: return Aligned(chain, levels - 1);
    case 4: return Pointerless(chain, levels - 1);
    case 5: return PointerlessAligned(chain, levels - 1);
    default: return ManyArguments(chain, levels - 1, 1, 2, 3, 4, 5, 6);
  }
}
TEST(UnwindTest, FramesOfAllKindsAreLeftRight) {
  Chain chain;
  for (int i = 0; i < 4000; ++i) Next(&chain, static_cast<int>(chain.random() % 14));
  EXPECT_EQ(chain.stacks, 4000u);
  EXPECT_EQ(chain.wrong, 0u);
}
#endif

// A stack that the C library does not know: its pages are asked for.
ucontext_t caller_context, coroutine;
std::vector<void*> in_coroutine;
void Coroutine() {
  Taken taken;
  Deep(5, UnwindBy::kLibunwind, 64, &taken);
  in_coroutine = taken.pcs;
}
TEST(UnwindTest, ACoroutinesStackIsWalkedToItsEnd) {
  std::vector<char> stack(256 * 1024);
  ASSERT_EQ(getcontext(&coroutine), 0);
  coroutine.uc_stack.ss_sp = stack.data();
  coroutine.uc_stack.ss_size = stack.size();
  coroutine.uc_link = &caller_context;
  makecontext(&coroutine, &Coroutine, 0);
  ASSERT_EQ(swapcontext(&caller_context, &coroutine), 0);
  EXPECT_GE(in_coroutine.size(), 7u);
  EXPECT_LE(in_coroutine.size(), 9u);
}

std::vector<void*> in_handler;
void Handler(int) {
  Taken taken;
  Deep(2, UnwindBy::kLibunwind, 64, &taken);
  in_handler = taken.pcs;
}
TEST(UnwindTest, BehindASignalTheInterruptedFramesFollow) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &Handler;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  for (int again = 0; again < 2; ++again) {
    in_handler.clear();
    ASSERT_EQ(raise(SIGUSR1), 0);
    Taken here;
    Hook(UnwindBy::kLibunwind, 64, &here);
    // The outermost are this test's callers.
    ASSERT_GT(in_handler.size(), here.pcs.size() + 3);
    EXPECT_TRUE(std::equal(here.pcs.begin() + 1, here.pcs.end(), in_handler.end() - static_cast<ptrdiff_t>(here.pcs.size()) + 1));
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(UnwindTest, FramePointersGiveTheSameCallers) {
  Taken by_tables, by_pointers;
  for (Taken* taken : {&by_tables, &by_pointers}) {
    Deep(5, taken == &by_tables ? UnwindBy::kLibunwind : UnwindBy::kFramePointers, 5, taken);
  }
  EXPECT_EQ(by_pointers.pcs, by_tables.pcs);
}

#if defined(__aarch64__)
// As gcc and clang build for pointer authentication: the return address is signed before it is stored.
__attribute__((noinline, target("branch-protection=standard"))) int Signed(int levels, UnwindBy by, Taken* taken, bool* is_signed) {
  const uintptr_t stored = static_cast<const uintptr_t*>(__builtin_frame_address(0))[1];
  *is_signed = stored != WithoutSignature(stored);
  if (levels > 0) return Signed(levels - 1, by, taken, is_signed) + 1;
  Hook(by, 64, taken);
  return 0;
}
TEST(UnwindTest, SignedReturnAddressesAreFollowedAndGivenWithoutTheirSignature) {
  Taken here;
  Hook(UnwindBy::kLibunwind, 64, &here);
  for (UnwindBy by : {UnwindBy::kLibunwind, UnwindBy::kFramePointers}) {
    Taken taken;
    bool is_signed = false;
    Signed(5, by, &taken, &is_signed);
    EXPECT_EQ(is_signed, (getauxval(AT_HWCAP) & HWCAP_PACA) != 0);
    ASSERT_EQ(taken.pcs.size(), here.pcs.size() + 6);
    EXPECT_TRUE(std::equal(here.pcs.begin() + 1, here.pcs.end(), taken.pcs.begin() + 7));
    Dl_info file;
    for (void* pc : taken.pcs) EXPECT_TRUE(dladdr(pc, &file) != 0) << pc;
  }
}
#endif

TEST(UnwindTest, FramePointersStayInsideTheStackOfAThread) {
  std::thread([] {
    Taken taken;
    Deep(30, UnwindBy::kFramePointers, kMaxFrames, &taken);
    ASSERT_GE(taken.pcs.size(), 1u);
    EXPECT_EQ(taken.pcs[0], taken.caller);
  }).join();
}

TEST(UnwindTest, ThreadsUnwindAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      Taken first;
      Deep(10, UnwindBy::kLibunwind, 8, &first);
      for (int i = 0; i < 500; ++i) {
        Taken taken;
        Deep(10, UnwindBy::kLibunwind, 8, &taken);
        // The innermost frames differ by the call site only.
        ASSERT_EQ(taken.pcs.size(), first.pcs.size());
        ASSERT_EQ(taken.pcs[0], first.pcs[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rdmacheck
