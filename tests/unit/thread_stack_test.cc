#include "interpose/stacks/thread_stack.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "gtest/gtest.h"
#include "interpose/base/proc_files.h"
#include "interpose/base/stack_bounds.h"

namespace rdmacheck {
namespace {

// A thread that is inside a hook, which calls what is to be asked about.
class Inside {
 public:
  explicit Inside(std::function<void()> call) : call_(std::move(call)), thread_([this] { Caller(); }) {
    while (!entered_) sched_yield();
  }
  ~Inside() { thread_.join(); }
  void AwaitCall(long number) const {
    while (ReadTaskCall(tid_).number != number) sched_yield();
  }
  void AwaitEnd() const {
    while (!done_) sched_yield();
  }
  const ThreadStack& Ask(UnwindBy by) {
    TakeStackOf(tid_, point_.stack, low_, by, 64, &taken_);
    return taken_;
  }
  bool LeadsTo(const void* function, size_t size) const {
    return std::any_of(taken_.pcs, taken_.pcs + taken_.depth, [=](void* pc) {
      return pc > function && pc <= static_cast<const char*>(function) + size;
    });
  }
  int32_t tid() const { return tid_; }
  const CallPoint& point() const { return point_; }

 private:
  __attribute__((noinline)) void Caller() {
    Hook();
    done_ = true;
  }
  __attribute__((noinline)) void Hook() {
    point_ = CallPointHere();
    low_ = BoundsOfThisThread().low;
    tid_ = static_cast<int32_t>(syscall(SYS_gettid));
    entered_ = true;
    call_();
    asm volatile("");
  }

  std::function<void()> call_;
  CallPoint point_;
  uintptr_t low_ = 0;
  std::atomic<int32_t> tid_{0};
  std::atomic<bool> entered_{false}, done_{false};
  ThreadStack taken_;
  std::thread thread_;
};

// Of all real-time signals.
class Handlers {
 public:
  explicit Handlers(void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaction(signal, &action, &before_[signal]);
  }
  ~Handlers() {
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaction(signal, &before_[signal], nullptr);
  }

 private:
  struct sigaction before_[65];
};

bool NoneHandled() {
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    struct sigaction present;
    if (sigaction(signal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return false;
  }
  return true;
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void Write() const { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  int ends[2];
};

__attribute__((noinline)) ssize_t ReadOne(int fd) {
  char byte;
  const ssize_t n = read(fd, &byte, 1);
  asm volatile("");
  return n;
}

TEST(ThreadStackTest, WhatWaitsIsNotAskedBySignal) {
  Pipe pipe;
  ssize_t got = -2;
  Inside inside([&] { got = ReadOne(pipe.ends[0]); });
  inside.AwaitCall(SYS_read);
  const ThreadStack& taken = inside.Ask(UnwindBy::kLibunwind);
  EXPECT_GE(taken.depth, 2u);
  EXPECT_TRUE(taken.why == Unseen::kNothing || taken.signal != 0);
  pipe.Write();
  inside.AwaitEnd();
  EXPECT_EQ(got, 1);
}

// Frame pointers are only had by a signal.
TEST(ThreadStackTest, AnInterruptedReadGoesOn) {
  Pipe pipe;
  ssize_t got = -2;
  Inside inside([&] { got = ReadOne(pipe.ends[0]); });
  inside.AwaitCall(SYS_read);
  EXPECT_NE(inside.Ask(UnwindBy::kFramePointers).signal, 0);
  EXPECT_TRUE(NoneHandled());
  inside.AwaitCall(SYS_read);
  pipe.Write();
  inside.AwaitEnd();
  EXPECT_EQ(got, 1);
}

TEST(ThreadStackTest, AnInterruptedFutexGoesOn) {
  sem_t never;
  sem_init(&never, 0, 0);
  int result = -2;
  Inside inside([&] { result = sem_wait(&never); });
  inside.AwaitCall(SYS_futex);
  EXPECT_NE(inside.Ask(UnwindBy::kFramePointers).signal, 0);
  inside.AwaitCall(SYS_futex);
  sem_post(&never);
  inside.AwaitEnd();
  EXPECT_EQ(result, 0);
}

// What the C library's poll() and vfork() call; aarch64 has neither by its own number.
#if defined(SYS_poll)
constexpr long kPoll = SYS_poll, kVfork = SYS_vfork;
#else
constexpr long kPoll = SYS_ppoll, kVfork = SYS_clone;
#endif

TEST(ThreadStackTest, WhatASignalWouldEndIsLeftAlone) {
  Pipe pipe;
  int result = -2;
  Inside inside([&] {
    pollfd wanted{pipe.ends[0], POLLIN, 0};
    result = poll(&wanted, 1, -1);
  });
  inside.AwaitCall(kPoll);
  const ThreadStack& taken = inside.Ask(UnwindBy::kFramePointers);
  EXPECT_EQ(taken.why, Unseen::kWouldEnd);
  EXPECT_EQ(SystemCallName(taken.call), SystemCallName(kPoll));
  EXPECT_EQ(taken.signal, 0);
  EXPECT_EQ(taken.depth, 1u);
  pipe.Write();
  inside.AwaitEnd();
  EXPECT_EQ(result, 1);
}

std::atomic<bool> spins{true};
__attribute__((noinline)) void Spin() {
  while (spins) {
  }
}

TEST(ThreadStackTest, WhatRunsIsAskedBySignal) {
  spins = true;
  Inside inside([] { Spin(); });
  const ThreadStack& taken = inside.Ask(UnwindBy::kLibunwind);
  EXPECT_EQ(taken.why, Unseen::kNothing);
  EXPECT_NE(taken.signal, 0);
  EXPECT_TRUE(inside.LeadsTo(reinterpret_cast<const void*>(&Spin), 256));
  EXPECT_TRUE(NoneHandled());
  spins = false;
}

TEST(ThreadStackTest, ProgramsHandlersStay) {
  static std::atomic<int> called{0};
  spins = true;
  Inside inside([] { Spin(); });
  {
    const Handlers handlers([](int) { ++called; });
    EXPECT_EQ(inside.Ask(UnwindBy::kLibunwind).why, Unseen::kHandled);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) raise(signal);
    EXPECT_EQ(called, SIGRTMAX - SIGRTMIN + 1);
  }
  EXPECT_EQ(inside.Ask(UnwindBy::kLibunwind).why, Unseen::kNothing);
  spins = false;
}

TEST(ThreadStackTest, BlockedSignalsAreNotSent) {
  spins = true;
  std::atomic<bool> blocked{false};
  Inside inside([&blocked] {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    blocked = true;
    Spin();
    sigset_t pending;
    sigpending(&pending);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) EXPECT_EQ(sigismember(&pending, signal), 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  });
  while (!blocked) sched_yield();
  EXPECT_EQ(inside.Ask(UnwindBy::kLibunwind).why, Unseen::kBlocked);
  EXPECT_TRUE(NoneHandled());
  spins = false;
}

// The parent of a child by vfork waits uninterruptibly.
TEST(ThreadStackTest, AnUninterruptibleWaitTakesNoSignal) {
  Pipe pipe;
  Inside inside([&] {
    const pid_t child = vfork();
    if (child == 0) {
      char byte;
      (void)!read(pipe.ends[0], &byte, 1);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  inside.AwaitCall(kVfork);
  const ThreadStack& taken = inside.Ask(UnwindBy::kFramePointers);
  EXPECT_EQ(taken.why, Unseen::kKernel);
  EXPECT_EQ(taken.signal, 0);
  pipe.Write();
  inside.AwaitEnd();
}

TEST(ThreadStackTest, ASmallStackIsSparedTheSignal) {
  spins = true;
  Inside inside([] { Spin(); });
  ThreadStack taken;
  TakeStackOf(inside.tid(), inside.point().stack, inside.point().stack - 70000, UnwindBy::kLibunwind, 64, &taken);
  EXPECT_EQ(taken.why, Unseen::kNoRoom);
  TakeStackOf(inside.tid(), inside.point().stack, 0, UnwindBy::kLibunwind, 64, &taken);
  EXPECT_EQ(taken.why, Unseen::kNoRoom);
  spins = false;
}

TEST(ThreadStackTest, AThreadOnAnotherStackIsNotFollowed) {
  Pipe pipe;
  Inside inside([&] { ReadOne(pipe.ends[0]); });
  inside.AwaitCall(SYS_read);
  ThreadStack taken;
  char elsewhere[64];
  TakeStackOf(inside.tid(), reinterpret_cast<uintptr_t>(elsewhere), 0, UnwindBy::kLibunwind, 64, &taken);
  EXPECT_EQ(taken.why, Unseen::kReturned);
  EXPECT_EQ(taken.depth, 0u);
  pipe.Write();
}

TEST(ThreadStackTest, AThreadThatHasExitedIsNotKnown) {
  int32_t tid = 0;
  std::thread([&tid] { tid = static_cast<int32_t>(syscall(SYS_gettid)); }).join();
  ThreadStack taken;
  TakeStackOf(tid, 4096, 0, UnwindBy::kLibunwind, 64, &taken);
  EXPECT_EQ(taken.why, Unseen::kNoProc);
}

}  // namespace
}  // namespace rdmacheck
