#include "interpose/ledger/threads.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

int32_t Tid() { return static_cast<int32_t>(syscall(SYS_gettid)); }

// A thread that stands still between two points of the test.
class Stopped {
 public:
  explicit Stopped(void (*begin)()) : thread_([this, begin] {
    begin();
    tid_.store(Tid());
    while (!go_.load()) std::this_thread::yield();
    if (ThreadRecord* self = ThisThread()) EndActivity(self);
  }) {
    while (tid_.load() == 0) std::this_thread::yield();
  }
  ~Stopped() {
    if (thread_.joinable()) Finish();
  }
  int32_t tid() const { return tid_.load(); }
  void Finish() {
    go_.store(true);
    thread_.join();
  }

 private:
  std::atomic<int32_t> tid_{0};
  std::atomic<bool> go_{false};
  std::thread thread_;
};

bool IsInside(int32_t tid) {
  const std::vector<ThreadState> inside = ThreadsInside();
  return std::any_of(inside.begin(), inside.end(), [tid](const ThreadState& state) { return state.tid == tid; });
}

TEST(ThreadsTest, AThreadHasOneRecordWithItsNumber) {
  ThreadRecord* self = ThisThread();
  ASSERT_NE(self, nullptr);
  EXPECT_EQ(ThisThread(), self);
  EXPECT_EQ(self->tid.load(), Tid());
}

TEST(ThreadsTest, TwoThreadsHaveTwoRecords) {
  ThreadRecord* mine = ThisThread();
  std::thread([mine] {
    EXPECT_NE(ThisThread(), mine);
    EXPECT_EQ(ThisThread()->tid.load(), Tid());
  }).join();
}

TEST(ThreadsTest, TheRecordOfAThreadThatExitedIsUsedAgain) {
  ThreadRecord* first = nullptr;
  std::thread([&first] { first = ThisThread(); }).join();
  EXPECT_EQ(first->tid.load(), 0);
  ThreadRecord* second = nullptr;
  std::thread([&second] { second = ThisThread(); }).join();
  EXPECT_EQ(second, first);
}

TEST(ThreadsTest, AnExitingThreadLeavesNothingBehindInItsRecord) {
  ThreadRecord* record = nullptr;
  std::thread([&record] {
    record = ThisThread();
    record->disabled = 3;
    BeginActivity(record, Activity::kGetCqEvent, "ibv_get_cq_event", 1, 0, 0, 0, 5);
  }).join();
  EXPECT_EQ(record->activity.load(), Activity::kNone);
  EXPECT_EQ(record->disabled, 0u);
}

TEST(ThreadsTest, ACallInProgressIsSeenFromAnotherThread) {
  Stopped thread([] { BeginActivity(ThisThread(), Activity::kDestroy, "ibv_destroy_cq", 77, 3, 9, 11, 123456); });
  const std::vector<ThreadState> inside = ThreadsInside();
  const auto it = std::find_if(inside.begin(), inside.end(), [&](const ThreadState& s) { return s.tid == thread.tid(); });
  ASSERT_NE(it, inside.end());
  EXPECT_EQ(it->activity, Activity::kDestroy);
  EXPECT_STREQ(it->verb, "ibv_destroy_cq");
  EXPECT_EQ(it->object, 77u);
  EXPECT_EQ(it->kind, 3);
  EXPECT_EQ(it->serial, 9u);
  EXPECT_EQ(it->stack, 11u);
  EXPECT_EQ(it->begin, 123456u);
  const int32_t tid = thread.tid();
  thread.Finish();
  EXPECT_FALSE(IsInside(tid));
}

TEST(ThreadsTest, TellsDestroysFromGets) {
  EXPECT_FALSE(AnyInside(ThisThread(), true));
  EXPECT_FALSE(AnyInside(ThisThread(), false));
  {
    Stopped destroyer([] { BeginActivity(ThisThread(), Activity::kDestroy, "ibv_destroy_cq", 1, 0, 0, 0, 1); });
    EXPECT_TRUE(AnyInside(ThisThread(), true));
    EXPECT_FALSE(AnyInside(ThisThread(), false));
  }
  {
    Stopped getter([] { BeginActivity(ThisThread(), Activity::kGetAsyncEvent, "ibv_get_async_event", 1, 0, 0, 0, 1); });
    EXPECT_FALSE(AnyInside(ThisThread(), true));
    EXPECT_TRUE(AnyInside(ThisThread(), false));
  }
  {
    Stopped waiter([] { BeginActivity(ThisThread(), Activity::kGetCmEvent, "rdma_get_cm_event", 1, 0, 0, 0, 1); });
    EXPECT_FALSE(AnyInside(ThisThread(), false));  // the overlap that is forbidden is that of verbs events
  }
}

TEST(ThreadsTest, AThreadIsNotInsideForItself) {
  ThreadRecord* self = ThisThread();
  BeginActivity(self, Activity::kDestroy, "ibv_destroy_qp", 1, 0, 0, 0, 1);
  EXPECT_FALSE(AnyInside(self, true));
  EndActivity(self);
  EndActivity(self);  // ending twice is ending once
  EXPECT_EQ(self->sequence.load() % 2, 0u);
}

TEST(ThreadsTest, KnowsWhoLives) {
  EXPECT_TRUE(ThreadLives(Tid()));
  EXPECT_FALSE(ThreadLives(0));
  int32_t gone;
  {
    Stopped thread([] {});
    gone = thread.tid();
    EXPECT_TRUE(ThreadLives(gone));
    EXPECT_TRUE(HasOtherThreads());
  }
  // A joined thread may still be on its way out of the kernel.
  while (ThreadLives(gone)) std::this_thread::yield();
}

TEST(ThreadsTest, NamesAThreadAsTheKernelDoes) {
  Stopped thread([] { pthread_setname_np(pthread_self(), "stands still"); });
  EXPECT_EQ(ThreadName(thread.tid()), "stands still");
  EXPECT_EQ(ThreadName(-1), "");
}

// Readers take copies while writers begin and end calls: a copy is whole, or it is not given.
TEST(ThreadsTest, CopiesAreNeverTorn) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&stop] {
      ThreadRecord* self = ThisThread();
      for (uint32_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
        BeginActivity(self, Activity::kDestroy, "ibv_destroy_cq", i, 0, i, i, i);
        EndActivity(self);
      }
    });
  }
  for (int i = 0; i < 20000; ++i) {
    for (const ThreadState& state : ThreadsInside()) {
      ASSERT_EQ(state.serial, state.stack);
      ASSERT_EQ(state.serial, state.object);
      ASSERT_EQ(state.serial, state.begin);
    }
  }
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
}

TEST(ThreadsTest, ManyThreadsAtOnceGetDifferentRecords) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 50; ++round) {
    std::vector<ThreadRecord*> records(kThreads);
    std::vector<std::thread> threads;
    std::atomic<int> have{0};
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        records[static_cast<size_t>(t)] = ThisThread();
        have.fetch_add(1);
        while (have.load() < kThreads) std::this_thread::yield();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::set<ThreadRecord*>(records.begin(), records.end()).size(), static_cast<size_t>(kThreads));
  }
}

}  // namespace
}  // namespace rdmacheck
