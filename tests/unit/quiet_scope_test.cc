#include "report/quiet_scope.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>

namespace rdmacheck {
namespace {

// A pipe that nobody reads.
class BrokenPipe {
 public:
  BrokenPipe() {
    EXPECT_EQ(pipe(ends_), 0);
    close(ends_[0]);
  }
  ~BrokenPipe() { close(ends_[1]); }
  int fd() const { return ends_[1]; }

 private:
  int ends_[2];
};

bool IsPending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

TEST(BlockedSignalsTest, AWriteIntoAClosedPipeKillsNobodyAndLeavesNothingBehind) {
  const BrokenPipe pipe;
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  errno = EXDEV;
  {
    const QuietScope quiet;
    const BlockedSignals blocked;
    EXPECT_EQ(write(pipe.fd(), "x", 1), -1);
    EXPECT_TRUE(IsPending(SIGPIPE));
  }
  EXPECT_EQ(errno, EXDEV);
  EXPECT_FALSE(IsPending(SIGPIPE));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGPIPE), sigismember(&after, SIGPIPE));
}

TEST(BlockedSignalsTest, ASignalThatWaitedBeforeStillWaits) {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  pthread_kill(pthread_self(), SIGPIPE);
  { const BlockedSignals blocked; }
  EXPECT_TRUE(IsPending(SIGPIPE));
  int taken = 0;
  sigwait(&pipe_signal, &taken);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(BlockedSignalsTest, OneMayStandInAnother) {
  const BrokenPipe pipe;
  {
    const BlockedSignals outer;
    {
      const BlockedSignals inner;
      EXPECT_EQ(write(pipe.fd(), "x", 1), -1);
    }
    EXPECT_EQ(write(pipe.fd(), "x", 1), -1);
  }
  EXPECT_FALSE(IsPending(SIGPIPE));
}

TEST(QuietScopeTest, TheCancellationStateComesBack) {
  int state = 0;
  {
    const QuietScope quiet;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    EXPECT_EQ(state, PTHREAD_CANCEL_DISABLE);
  }
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
  EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
}

}  // namespace
}  // namespace rdmacheck
