#include "interpose/stacks/unwind.h"

#include <execinfo.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

struct Taken {
  void* caller = nullptr;
  std::vector<void*> pcs;
};

// Stands for a hook: knows its caller by its own return address.
__attribute__((noinline)) void Hook(UnwindBy by, size_t depth, Taken* taken) {
  void* pcs[kMaxFrames];
  taken->caller = __builtin_return_address(0);
  const size_t n = TakeStack(by, taken->caller, pcs, depth);
  taken->pcs.assign(pcs, pcs + n);
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
  void* pcs[kMaxFrames];
  taken->caller = __builtin_return_address(0);
  const size_t n = TakeStack(UnwindBy::kLibunwind, taken->caller, pcs, 32);
  taken->pcs.assign(pcs, pcs + n);
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
  void* pcs[32];
  void* const strange = reinterpret_cast<void*>(0x1234);
  ASSERT_EQ(TakeStack(UnwindBy::kLibunwind, strange, pcs, 32), 1u);
  EXPECT_EQ(pcs[0], strange);
}

TEST(UnwindTest, FramePointersGiveTheSameCallers) {
  Taken by_tables, by_pointers;
  for (Taken* taken : {&by_tables, &by_pointers}) {
    Deep(5, taken == &by_tables ? UnwindBy::kLibunwind : UnwindBy::kFramePointers, 5, taken);
  }
  EXPECT_EQ(by_pointers.pcs, by_tables.pcs);
}

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
