#include "interpose/base/own_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "interpose/base/stack_bounds.h"

namespace rdmacheck {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSwitches = false;
#else
constexpr bool kSwitches = true;
#endif

uintptr_t Here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

struct Seen {
  bool ample = true, known = false, on_own = false, after = true;
  uintptr_t low = 0, high = 0, at = 0;
};

void Look(Seen* seen) {
  seen->at = Here();
  seen->low = BoundsOfThisThread().low;
  seen->high = BoundsOfThisThread().high;
  seen->known = BoundsOfThisThread().Holds(seen->at);
  seen->ample = HasAmpleStack();
  CallWithAmpleStack([seen] {
    seen->on_own = IsOnOwnStack(Here());
    if (!seen->on_own) return;
    volatile char much[200 * 1024];
    memset(const_cast<char*>(much), 7, sizeof(much));
    seen->on_own = much[0] == 7;
  });
  seen->after = IsOnOwnStack(Here());
}

Seen InThread(size_t stack_size) {
  Seen seen;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  EXPECT_EQ(pthread_attr_setstacksize(&attr, stack_size), 0);
  pthread_t thread;
  auto run = [](void* argument) -> void* {
    Look(static_cast<Seen*>(argument));
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attr, run, &seen), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attr);
  return seen;
}

TEST(OwnStackTest, ThreadsWithShortStacksMoveOthersStay) {
  for (size_t size : {static_cast<size_t>(PTHREAD_STACK_MIN), size_t{32768}, size_t{65536}, size_t{131072}}) {
    if (size < static_cast<size_t>(PTHREAD_STACK_MIN)) continue;  // 131072 on aarch64
    const Seen seen = InThread(size);
    EXPECT_TRUE(seen.known) << size;
    EXPECT_FALSE(seen.ample) << size;
    EXPECT_EQ(seen.on_own, kSwitches) << size;
    EXPECT_FALSE(seen.after);
  }
  for (size_t size : {size_t{1} << 20, size_t{8} << 20, size_t{64} << 20}) {
    const Seen seen = InThread(size);
    EXPECT_TRUE(seen.known) << size;
    EXPECT_TRUE(seen.ample) << size;
    EXPECT_FALSE(seen.on_own) << size;
  }
}

// What is said to be the stack is what pthread_getattr_np() says, guard and descriptor apart.
TEST(OwnStackTest, BoundsAreThoseOfTheCLibrary) {
  for (size_t guard : {size_t{0}, size_t{4096}, size_t{65536}}) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 20);
    pthread_attr_setguardsize(&attr, guard);
    auto run = [](void*) -> void* {
      pthread_attr_t now;
      void* low = nullptr;
      size_t size = 0;
      EXPECT_EQ(pthread_getattr_np(pthread_self(), &now), 0);
      pthread_attr_getstack(&now, &low, &size);
      pthread_attr_destroy(&now);
      const StackBounds& bounds = BoundsOfThisThread();
      EXPECT_GE(bounds.low, reinterpret_cast<uintptr_t>(low));
      EXPECT_LE(bounds.low, reinterpret_cast<uintptr_t>(low) + 65536);
      EXPECT_LE(bounds.high, reinterpret_cast<uintptr_t>(low) + size);
      EXPECT_GE(bounds.high + 65536, reinterpret_cast<uintptr_t>(low) + size);
      return nullptr;
    };
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, &attr, run, nullptr), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attr);
  }
}

TEST(OwnStackTest, AStackOfTheProgramsOwnIsKnownToo) {
  const size_t size = std::max<size_t>(64 * 1024, PTHREAD_STACK_MIN);
  void* stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  ASSERT_EQ(pthread_attr_setstack(&attr, stack, size), 0);
  Seen seen;
  auto run = [](void* argument) -> void* {
    Look(static_cast<Seen*>(argument));
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attr, run, &seen), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(seen.known);
  EXPECT_EQ(seen.low, reinterpret_cast<uintptr_t>(stack));
  EXPECT_FALSE(seen.ample);
  munmap(stack, size);
}

ucontext_t main_context, coroutine;
Seen coroutine_seen;

TEST(OwnStackTest, ACoroutineIsOnNoKnownStackAndMoves) {
  std::vector<char> stack(256 * 1024);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack.data();
  coroutine.uc_stack.ss_size = stack.size();
  coroutine.uc_link = &main_context;
  makecontext(&coroutine, [] { Look(&coroutine_seen); }, 0);
  ASSERT_EQ(swapcontext(&main_context, &coroutine), 0);
  EXPECT_FALSE(coroutine_seen.known);
  EXPECT_FALSE(coroutine_seen.ample);
  EXPECT_EQ(coroutine_seen.on_own, kSwitches);
}

TEST(OwnStackTest, TheFirstThreadHasAmpleStack) {
  EXPECT_TRUE(BoundsOfThisThread().Holds(Here()));
  EXPECT_TRUE(HasAmpleStack());
}

TEST(OwnStackTest, ManyThreadsAtOnceEachHaveTheirOwn) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 80; ++i) {  // more than there are stacks
    threads.emplace_back([&wrong, i] {
      for (int round = 0; round < 50; ++round) {
        auto work = [&] {
          volatile int mine[1000];
          for (volatile int& word : mine) word = i;
          sched_yield();
          for (volatile int& word : mine) wrong += word != i;
        };
        CallOnOwnStack([](void* f) { (*static_cast<decltype(work)*>(f))(); }, &work);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(OwnStackTest, InsideItDoesNotMoveAgain) {
  int depth = 0;
  auto inner = [&depth] { ++depth; };
  auto outer = [&] { CallOnOwnStack([](void* f) { (*static_cast<decltype(inner)*>(f))(); }, &inner); };
  CallOnOwnStack([](void* f) { (*static_cast<decltype(outer)*>(f))(); }, &outer);
  EXPECT_EQ(depth, 1);
}

TEST(OwnStackTest, ExceptionsAreCaughtOnIt) {
  bool caught = false;
  auto work = [&caught] {
    try {
      throw std::runtime_error("here");
    } catch (const std::runtime_error&) {
      caught = true;
    }
  };
  CallOnOwnStack([](void* f) { (*static_cast<decltype(work)*>(f))(); }, &work);
  EXPECT_TRUE(caught);
}

// Stacks that other threads had taken when the process forked are free in the child.
TEST(OwnStackTest, AChildHasThemAll) {
  std::atomic<int> inside{0};
  std::atomic<bool> let_go{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 70; ++i) {
    threads.emplace_back([&] {
      auto work = [&] {
        ++inside;
        while (!let_go) usleep(1000);
      };
      CallOnOwnStack([](void* f) { (*static_cast<decltype(work)*>(f))(); }, &work);
    });
  }
  while (inside < 70) usleep(1000);
  const pid_t child = fork();
  if (child == 0) {
    OwnStacksForkChild();
    bool own = false;
    auto work = [&own] { own = IsOnOwnStack(Here()); };
    CallOnOwnStack([](void* f) { (*static_cast<decltype(work)*>(f))(); }, &work);
    _exit(own == kSwitches ? 0 : 1);
  }
  let_go = true;
  for (std::thread& thread : threads) thread.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rdmacheck
