#include "interpose/stacks/thread_stack.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "interpose/base/clock.h"
#include "interpose/base/mutex.h"
#include "interpose/base/proc_files.h"
#include "report/cat.h"
#include "report/process_id.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace rdmacheck {
namespace {

constexpr size_t kMostOfStack = 256 * 1024;
constexpr size_t kRoomForHandler = 8 * 1024;
constexpr uint64_t kPatience = 1000000000u;  // for the answer to a signal

alignas(64) char copied[kMostOfStack];

// What is asked of the thread, which takes part only in the state that asks for it.
constexpr uint32_t kIdle = 0, kAsked = 1, kAnswering = 2, kAnswered = 3, kGivenUp = 4, kAnsweredLate = 5;
struct Question {
  std::atomic<uint32_t> state{kIdle};
  std::atomic<int32_t> tid{0};
  uintptr_t top = 0;
  StackCopy copy;
  Unseen why = Unseen::kNothing;
  // Of the signal that was sent last, for as long as our handler is there.
  int signal = 0;
  struct sigaction before;
};
Question question;

// From the stack pointer to the hook's frame. By the kernel, which reads what is not there without a fault.
Unseen CopyStack(uintptr_t from, uintptr_t top, StackCopy* copy) {
  if (from >= top || top - from > kMostOfStack || from % sizeof(uintptr_t) != 0) return Unseen::kReturned;
  const size_t size = top - from;
  iovec local{copied, size};
  iovec remote{reinterpret_cast<void*>(from), size};
  if (syscall(SYS_process_vm_readv, ProcessId(), &local, 1, &remote, 1, 0) != static_cast<ssize_t>(size)) {
    return errno == EFAULT ? Unseen::kReturned : Unseen::kUnreadable;
  }
  copy->from = from;
  copy->to = top;
  copy->bytes = copied;
  return Unseen::kNothing;
}

// ---- in the thread that is asked

void OnSignal(int, siginfo_t*, void* context) {
  const int saved = errno;
  uint32_t seen = kAsked;
  if (question.tid.load() == static_cast<int32_t>(syscall(SYS_gettid))) {
    if (question.state.compare_exchange_strong(seen, kAnswering)) {
      const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
      const auto pc = static_cast<uintptr_t>(registers.gregs[REG_RIP]), sp = static_cast<uintptr_t>(registers.gregs[REG_RSP]);
      question.copy.frame = static_cast<uintptr_t>(registers.gregs[REG_RBP]);
#else
      const auto pc = static_cast<uintptr_t>(registers.pc), sp = static_cast<uintptr_t>(registers.sp);
      question.copy.frame = static_cast<uintptr_t>(registers.regs[29]);
#endif
      question.copy.pc = pc + 1;
      question.why = CopyStack(sp, question.top, &question.copy);
      question.state.store(kAnswered);
      FutexWake(&question.state, 1);
    } else if (seen == kGivenUp) {
      question.state.store(kAnsweredLate);
    }
  }
  errno = saved;
}

// ---- in the thread that asks

// Not if the program has put a handler of its own there meanwhile.
void RemoveHandler() {
  struct sigaction present;
  if (sigaction(question.signal, &question.before, &present) == 0 && present.sa_sigaction != &OnSignal) {
    sigaction(question.signal, &present, nullptr);
  }
  question.signal = 0;
  question.state.store(kIdle);
}

// False: our handler has to stay where it is for a signal that is yet to be taken. Without it that would end the process.
bool IsFree() {
  if (question.state.load() == kIdle) return true;
  const bool exited = syscall(SYS_tgkill, ProcessId(), question.tid.load(), 0) != 0 && errno == ESRCH;
  if (question.state.load() != kAnsweredLate && !exited) return false;
  RemoveHandler();
  return true;
}

bool PutHandler(int signal) {
  struct sigaction ours;
  memset(&ours, 0, sizeof(ours));
  ours.sa_sigaction = &OnSignal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  if (sigaction(signal, nullptr, &question.before) != 0 || question.before.sa_handler != SIG_DFL) return false;
  struct sigaction present;
  if (sigaction(signal, &ours, &present) != 0) return false;
  question.signal = signal;
  if (present.sa_handler == SIG_DFL) return true;
  question.before = present;  // another thread of the program's was quicker
  RemoveHandler();
  return false;
}

// From the last to the first: programs mostly take the first ones.
Unseen ChooseSignal(uint64_t blocked) {
  bool all_handled = true;
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
    struct sigaction present;
    if (sigaction(signal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) continue;
    all_handled = false;
    if ((blocked >> (signal - 1) & 1) == 0 && PutHandler(signal)) return Unseen::kNothing;
  }
  return all_handled ? Unseen::kHandled : Unseen::kBlocked;
}

bool IsCharacterDeviceOrPipe(unsigned long fd) {
  struct stat status;
  return fstat(static_cast<int>(fd), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
}

// Does the kernel go on with this call after a handler with SA_RESTART? signal(7) has the list; a call with a time limit
// it does not.
bool IsRestarted(const TaskCall& call) {
  switch (call.number) {
    case SYS_ioctl:
    case SYS_wait4:
    case SYS_waitid:
      return true;
    case SYS_futex: {
      const unsigned long command = call.arguments[1] & FUTEX_CMD_MASK;
      return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI) && call.arguments[3] == 0;
    }
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
      return IsCharacterDeviceOrPipe(call.arguments[0]);
    default:
      return false;
  }
}

struct Status {
  bool known = false;
  bool uninterruptible = false;
  uint64_t blocked = 0;
};

Status StatusOf(int32_t tid) {
  static char text[4096];
  text[ReadTaskFile(tid, "status", text, sizeof(text) - 1)] = '\0';
  const char* const state = strstr(text, "\nState:\t");
  const char* const blocked = strstr(text, "\nSigBlk:\t");
  Status status;
  if (state == nullptr || blocked == nullptr) return status;
  status.known = true;
  status.uninterruptible = state[8] == 'D';
  status.blocked = strtoull(blocked + 9, nullptr, 16);
  return status;
}

// Where it waits, it is asked nothing. False: it runs, or it went on meanwhile.
bool CopyWaiting(int32_t tid, const TaskCall& call, uintptr_t top, StackCopy* copy, ThreadStack* taken) {
  if (call.state != TaskCall::kWaits) return false;
  taken->why = CopyStack(call.stack, top, copy);
  copy->pc = call.pc;
  copy->frame = 0;
  return ReadTaskCall(tid) == call;
}

Unseen AskBySignal(int32_t tid, const TaskCall& call, uintptr_t top, uintptr_t low, ThreadStack* taken) {
  const Status status = StatusOf(tid);
  if (!status.known) return Unseen::kNoProc;
  if (status.uninterruptible || (call.state == TaskCall::kWaits && call.number < 0)) return Unseen::kKernel;
  if (call.state == TaskCall::kWaits && !IsRestarted(call)) return Unseen::kWouldEnd;
  // Nobody knows how deep a thread is that runs.
  const uintptr_t at = call.state == TaskCall::kWaits ? call.stack : top - std::min<uintptr_t>(top, 64 * 1024);
  if (low == 0 || at < low || at - low < getauxval(AT_MINSIGSTKSZ) + kRoomForHandler) return Unseen::kNoRoom;
  if (!IsFree()) return Unseen::kNoAnswer;
  question.tid.store(tid);
  question.top = top;
  const Unseen none = ChooseSignal(status.blocked);
  if (none != Unseen::kNothing) return none;
  taken->signal = question.signal;
  question.state.store(kAsked);
  if (syscall(SYS_tgkill, ProcessId(), tid, question.signal) != 0) {
    RemoveHandler();
    return Unseen::kReturned;
  }
  const uint64_t until = NanosOf(CLOCK_MONOTONIC) + kPatience;
  for (uint32_t state; (state = question.state.load()) != kAnswered;) {
    const uint64_t now = NanosOf(CLOCK_MONOTONIC);
    if (now >= until && state == kAsked && question.state.compare_exchange_strong(state, kGivenUp)) return Unseen::kNoAnswer;
    const timespec time{0, now < until ? static_cast<long>(std::min<uint64_t>(until - now, 999999999u)) : 1000000};
    FutexWait(&question.state, state, &time);
  }
  RemoveHandler();
  return question.why;
}

}  // namespace

// Those that a destroy may wait in.
std::string SystemCallName(long number) {
  switch (number) {
#define RDMACHECK_CALL(name) \
  case SYS_##name:           \
    return #name
    RDMACHECK_CALL(ioctl);
    RDMACHECK_CALL(read);
    RDMACHECK_CALL(write);
    RDMACHECK_CALL(readv);
    RDMACHECK_CALL(writev);
    RDMACHECK_CALL(futex);
    RDMACHECK_CALL(nanosleep);
    RDMACHECK_CALL(clock_nanosleep);
    RDMACHECK_CALL(ppoll);
    RDMACHECK_CALL(pselect6);
    RDMACHECK_CALL(epoll_pwait);
    RDMACHECK_CALL(recvfrom);
    RDMACHECK_CALL(recvmsg);
    RDMACHECK_CALL(sendto);
    RDMACHECK_CALL(sendmsg);
    RDMACHECK_CALL(close);
    RDMACHECK_CALL(munmap);
    RDMACHECK_CALL(wait4);
    RDMACHECK_CALL(clone);
#if defined(SYS_poll)
    RDMACHECK_CALL(poll);
    RDMACHECK_CALL(select);
    RDMACHECK_CALL(epoll_wait);
    RDMACHECK_CALL(vfork);
#endif
#undef RDMACHECK_CALL
    default:
      return number < 0 ? "a page fault" : Cat("system call ", number);
  }
}

void ThreadStackForkChild() {
  if (question.signal != 0) RemoveHandler();
}

void TakeStackOf(int32_t tid, uintptr_t top, uintptr_t low, UnwindBy by, size_t limit, ThreadStack* taken) {
  constexpr int kTries = 10;
  limit = std::min(limit, kMaxFrames);
  for (int i = 0; i < kTries; ++i) {
    *taken = ThreadStack();
    const TaskCall call = ReadTaskCall(tid);
    if (call.state == TaskCall::kUnknown) {
      taken->why = Unseen::kNoProc;
      return;
    }
    taken->call = call.number;
    StackCopy copy;
    const bool waits = CopyWaiting(tid, call, top, &copy, taken);
    if (call.state == TaskCall::kWaits && !waits) continue;
    if (taken->why != Unseen::kNothing) return;
    if (waits && WalkCopy(by, copy, taken->pcs, limit, &taken->depth)) return;
    taken->why = AskBySignal(tid, call, top, low, taken);
    if (taken->why != Unseen::kNothing) return;
    if (!WalkCopy(by, question.copy, taken->pcs, limit, &taken->depth)) taken->why = Unseen::kNoWay;
    return;
  }
  taken->why = Unseen::kRestless;
}

}  // namespace rdmacheck
