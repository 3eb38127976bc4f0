#include "interpose/base/mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace rdmacheck {
namespace {

TEST(MutexTest, CountsOfManyThreadsAddUp) {
  Mutex mutex;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50000; ++k) {
        MutexLock lock(&mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 8u * 50000u);
}

TEST(MutexTest, FrozenKeepsOthersOutUntilThawed) {
  Mutex mutex;
  std::atomic<int> step{0};
  mutex.Freeze();
  std::thread other([&] {
    MutexLock lock(&mutex);
    step = step == 1 ? 2 : -1;
  });
  usleep(20000);
  step = 1;
  mutex.Thaw();
  other.join();
  EXPECT_EQ(step, 2);
}

// Which a child asks of each mutex: did a thread that does not exist here hold it?
TEST(MutexTest, RenewTellsWhetherItWasHeld) {
  Mutex mutex;
  EXPECT_FALSE(mutex.Renew());
  mutex.Freeze();
  EXPECT_FALSE(mutex.Renew()) << "frozen: nobody was inside";
  std::atomic<bool> held{false}, let_go{false};
  std::thread holder([&] {
    MutexLock lock(&mutex);
    held = true;
    while (!let_go) usleep(100);
  });
  while (!held) usleep(100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool torn = mutex.Renew();
    MutexLock lock(&mutex);
    _exit(torn ? 0 : 1);
  }
  let_go = true;
  holder.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(MutexTest, LeavesErrnoAlone) {
  Mutex mutex;
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      MutexLock lock(&mutex);
      usleep(1);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    errno = 77;
    {
      MutexLock lock(&mutex);
    }
    ASSERT_EQ(errno, 77);
  }
  other.join();
}

void LockOnly(Mutex* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex->Lock(); }
void UnlockOnly(Mutex* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex->Unlock(); }

// A thread that jumped away with the mutex held.
TEST(MutexTest, IsTakenFromTheThreadThatHoldsIt) {
  Mutex mutex;
  EXPECT_FALSE(mutex.TakeFrom(ThisThreadId())) << "free";
  std::atomic<uint32_t> holder{0};
  std::thread gone([&] {
    holder = ThisThreadId();
    LockOnly(&mutex);
  });
  gone.join();
  EXPECT_FALSE(mutex.TakeFrom(ThisThreadId())) << "another one's";
  std::atomic<int> step{0};
  std::thread waits([&] {
    MutexLock lock(&mutex);
    step = step == 1 ? 2 : -1;
  });
  usleep(20000);
  step = 1;
  ASSERT_TRUE(mutex.TakeFrom(holder));
  EXPECT_FALSE(mutex.TakeFrom(holder)) << "it is ours now";
  UnlockOnly(&mutex);
  waits.join();
  EXPECT_EQ(step, 2) << "who waits is woken";
}

TEST(MutexTest, IsTakenFromTheVeryThread) {
  Mutex mutex;
  LockOnly(&mutex);
  ASSERT_TRUE(mutex.TakeFrom(ThisThreadId()));
  UnlockOnly(&mutex);
  MutexLock lock(&mutex);
}

}  // namespace
}  // namespace rdmacheck
