#include "interpose/fault/device_loss.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "interpose/fault/commands.h"
#include "interpose/fault/real_calls.h"
#include "interpose/fault/teller.h"
#include "interpose/base/clock.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/verbs/verbs_abi.h"
#include "report/suppressions.h"

namespace rdmacheck::fault {

std::atomic<bool> following{false};

namespace {

constexpr int kMostDescriptors = 1 << 16;

struct Context {
  ibv_context* context = nullptr;  // null: closed
  std::string device;
  bool doomed = false;  // its loss has been told, and follows
  std::atomic<bool> lost{false};
  Kernel kernel = Kernel::kModern;
  // They become readable when the device is lost: the kernel queues the asynchronous event first.
  int event_waker = -1, completion_waker = -1;
};

enum class Is : uint8_t { kNothing, kCommand, kEvents, kCompletions };

}  // namespace

struct Followed {
  std::atomic<Is> is{Is::kNothing};
  Context* context = nullptr;
  std::atomic<bool> replaced{false};  // another file has its number
  int before = -1;                    // then: the kernel's own
  Mutex reading;                      // one thread looks and reads: so the read does not block
};

namespace {

struct Registration {
  int epoll, fd;
  epoll_event event;
};

std::atomic<Followed*> descriptors[kMostDescriptors];
Mutex mutex;
// Never destroyed: verbs are called from the last destructors.
std::vector<Context*>& contexts = *new std::vector<Context*>;
std::vector<Registration>& registrations = *new std::vector<Registration>;
std::vector<std::string>& lost_devices = *new std::vector<std::string>;  // patterns
std::vector<Fault>& expected = *new std::vector<Fault>;
uint64_t begin = 0;

// ---- the thread for what comes by itself: times and signals

std::atomic<uint64_t> signals_seen{0};  // bit n-1: signal n
int alarm_fd = -1;
bool thread_runs = false;
struct sigaction before_ours[65];

void OnSignal(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  signals_seen.fetch_or(uint64_t{1} << (number - 1));
  const uint64_t one = 1;
  real::Write(alarm_fd, &one, sizeof(one));
  errno = saved;
  // Who was there before still hears of it.
  const struct sigaction& old = before_ours[number];
  if ((old.sa_flags & SA_SIGINFO) != 0) {
    if (old.sa_sigaction != nullptr) old.sa_sigaction(number, info, context);
  } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
    old.sa_handler(number);
  }
}

void* AwaitTriggers(void*) {
  std::vector<const Fault*> waiting;
  for (const Fault& fault : expected) {
    if (fault.verb.empty()) waiting.push_back(&fault);
  }
  while (!waiting.empty()) {
    const uint64_t now = NanosOf(CLOCK_MONOTONIC);
    uint64_t next = UINT64_MAX;
    for (auto it = waiting.begin(); it != waiting.end();) {
      const Fault& fault = **it;
      const bool due = fault.signal != 0 ? (signals_seen.load() >> (fault.signal - 1) & 1) != 0 : now - begin >= fault.after;
      if (due) {
        LoseDevices(fault, nullptr);
        it = waiting.erase(it);
        continue;
      }
      if (fault.signal == 0) next = std::min(next, begin + fault.after - now);
      ++it;
    }
    if (waiting.empty()) break;
    pollfd alarm{alarm_fd, POLLIN, 0};
    real::Poll(&alarm, 1, next == UINT64_MAX ? -1 : static_cast<int>(std::min<uint64_t>(next / 1'000'000 + 1, 3'600'000)));
    uint64_t count;
    if ((alarm.revents & POLLIN) != 0) real::Read(alarm_fd, &count, sizeof(count));
  }
  return nullptr;
}

void StartThread() {
  if (thread_runs || std::none_of(expected.begin(), expected.end(), [](const Fault& fault) { return fault.verb.empty(); })) {
    return;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  thread_runs = pthread_create(&thread, nullptr, &AwaitTriggers, nullptr) == 0;
  if (thread_runs) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread_runs) Tell("no thread can be started: no device will be lost by a time or a signal");
}

void InChild() {
  mutex.Renew();
  thread_runs = false;  // a child's own contexts start one
}

// ---- descriptors

void Follow(int fd, Is is, Context* context) {
  if (fd < 0 || fd >= kMostDescriptors) return;
  Followed* descriptor = descriptors[fd].load(std::memory_order_acquire);
  if (descriptor == nullptr) {
    descriptor = new Followed;
    descriptors[fd].store(descriptor, std::memory_order_release);
  }
  descriptor->context = context;
  descriptor->replaced.store(false);
  descriptor->is.store(is, std::memory_order_release);
  following.store(true, std::memory_order_release);
}

void Unfollow(int fd) {
  if (fd < 0 || fd >= kMostDescriptors) return;
  Followed* const descriptor = descriptors[fd].load(std::memory_order_acquire);
  if (descriptor == nullptr) return;
  descriptor->is.store(Is::kNothing, std::memory_order_release);
  if (descriptor->before >= 0) close(descriptor->before);
  descriptor->before = -1;
  registrations.erase(std::remove_if(registrations.begin(), registrations.end(),
                                     [fd](const Registration& one) { return one.fd == fd; }),
                      registrations.end());
}

// From now on `fd` is `other`, which is closed; who waits for it by epoll goes on doing so.
void Replace(int fd, int other) {
  Followed* const descriptor = descriptors[fd].load(std::memory_order_acquire);
  if (descriptor == nullptr || other < 0) return;
  QuietLock lock(&descriptor->reading);
  const int flags = fcntl(fd, F_GETFL), of_descriptor = fcntl(fd, F_GETFD);
  descriptor->before = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  for (const Registration& one : registrations) {
    if (one.fd == fd) real::EpollCtl(one.epoll, EPOLL_CTL_DEL, fd, nullptr);
  }
  dup3(other, fd, (of_descriptor & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  close(other);
  fcntl(fd, F_SETFL, flags & O_NONBLOCK);
  if (descriptor->before >= 0) fcntl(descriptor->before, F_SETFL, flags | O_NONBLOCK);
  for (Registration& one : registrations) {
    if (one.fd == fd) real::EpollCtl(one.epoll, EPOLL_CTL_ADD, fd, &one.event);
  }
  descriptor->replaced.store(true, std::memory_order_release);
}

int BrokenPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  close(ends[0]);
  return ends[1];
}

void Wake(int waker) {
  const uint64_t one = 1;
  if (waker >= 0) real::Write(waker, &one, sizeof(one));
}

void Lose(Context* context, Kernel kernel) {
  context->kernel = kernel;
  context->lost.store(true, std::memory_order_release);
  Replace(context->context->async_fd, eventfd(1, EFD_CLOEXEC));
  Wake(context->event_waker);
  for (int fd = 0; fd < kMostDescriptors; ++fd) {
    Followed* const descriptor = descriptors[fd].load(std::memory_order_acquire);
    if (descriptor == nullptr || descriptor->is.load() != Is::kCompletions || descriptor->context != context) continue;
    Replace(fd, BrokenPipe());
  }
  Wake(context->completion_waker);
}

bool Concerned(const Fault& fault, const std::string& device) {
  return fault.device.empty() || MatchesWildcard(fault.device, device);
}

Context* ContextOf(const ibv_context* wanted) {
  for (Context* context : contexts) {
    if (context->context == wanted) return context;
  }
  return nullptr;
}

bool IsNonBlocking(int fd) { return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0; }

// Would a read(2) that a handler interrupted be made again by the kernel? It is not known which handler ran.
bool AllHandlersRestart() {
  for (int number = 1; number <= 64; ++number) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) != 0) continue;
    const bool handled = (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (handled && (action.sa_flags & SA_RESTART) == 0) return false;
  }
  return true;
}

// Of a lost device: what was queued before, then the end.
ssize_t ReadOfLost(Followed* descriptor, int fd, void* buffer, size_t size) {
  if (descriptor->before >= 0) {
    const ssize_t queued = real::Read(descriptor->before, buffer, size);
    if (queued > 0) return queued;
  }
  if (descriptor->is.load() == Is::kCompletions) {
    errno = EIO;
    return -1;
  }
  if (size < sizeof(ib_uverbs_async_event_desc)) {
    errno = EINVAL;
    return -1;
  }
  // Once; then it waits, as on the kernel's own file.
  uint64_t count;
  const ssize_t got = real::Read(fd, &count, sizeof(count));
  if (got != sizeof(count)) return got;
  auto* const event = static_cast<ib_uverbs_async_event_desc*>(buffer);
  event->element = 0;
  event->event_type = IBV_EVENT_DEVICE_FATAL;
  event->reserved = 0;
  return sizeof(*event);
}

}  // namespace

void ExpectDeviceLoss(const Fault& fault) {
  if (expected.empty()) {
    begin = NanosOf(CLOCK_MONOTONIC);
    alarm_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_atfork(nullptr, nullptr, &InChild);
  }
  expected.push_back(fault);
  if (fault.signal == 0) return;
  struct sigaction action {};
  action.sa_sigaction = &OnSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(fault.signal, &action, &before_ours[fault.signal]);
}

void NoteContext(ibv_context* context) {
  if (expected.empty()) return;
  const int saved = errno;
  QuietLock lock(&mutex);
  Context* known = ContextOf(context);
  if (known == nullptr) known = ContextOf(nullptr);
  if (known == nullptr) {
    known = new Context;
    contexts.push_back(known);
  }
  known->context = context;
  known->device = context->device == nullptr ? "" : context->device->name;
  known->doomed = false;
  known->lost.store(false);
  if (known->event_waker < 0) known->event_waker = eventfd(0, EFD_CLOEXEC);
  if (known->completion_waker < 0) known->completion_waker = eventfd(0, EFD_CLOEXEC);
  Follow(context->cmd_fd, Is::kCommand, known);
  Follow(context->async_fd, Is::kEvents, known);
  StartThread();
  errno = saved;
}

void ForgetContext(ibv_context* context) {
  if (expected.empty()) return;
  const int saved = errno;
  QuietLock lock(&mutex);
  Context* const known = ContextOf(context);
  if (known != nullptr) {
    Unfollow(context->cmd_fd);
    Unfollow(context->async_fd);
    known->context = nullptr;
    known->doomed = false;
    for (int* waker : {&known->event_waker, &known->completion_waker}) {
      if (*waker >= 0) close(*waker);
      *waker = -1;
    }
  }
  errno = saved;
}

void NoteChannel(ibv_comp_channel* channel) {
  if (expected.empty()) return;
  QuietLock lock(&mutex);
  if (Context* const known = ContextOf(channel->context)) Follow(channel->fd, Is::kCompletions, known);
}

void ForgetChannel(ibv_comp_channel* channel) {
  if (expected.empty()) return;
  const int saved = errno;
  QuietLock lock(&mutex);
  Unfollow(channel->fd);
  errno = saved;
}

void LoseDevices(const Fault& fault, const char* after) {
  const int saved = errno;
  CallStack stack;
  if (after != nullptr) TakeCallStack(&stack);
  std::vector<Context*> doomed;
  std::vector<std::string> devices;
  {
    QuietLock lock(&mutex);
    lost_devices.push_back(fault.device.empty() ? "*" : fault.device);
    for (Context* context : contexts) {
      if (context->context == nullptr || context->doomed || !Concerned(fault, context->device)) continue;
      context->doomed = true;
      doomed.push_back(context);
      if (std::find(devices.begin(), devices.end(), context->device) == devices.end()) devices.push_back(context->device);
    }
  }
  // Told first: a thread that wakes up may end the process, or find what it would put down to the NIC.
  for (const std::string& device : devices) {
    TellFault({fault.text.c_str(), after == nullptr ? "" : after, fault.nth, 0, true, &stack, device.c_str()});
  }
  {
    QuietLock lock(&mutex);
    for (Context* context : doomed) {
      if (context->doomed) Lose(context, fault.kernel);  // unless it was closed meanwhile
    }
  }
  errno = saved;
}

int ErrorOfOpeningDevice(const char* name) {
  if (expected.empty()) return 0;
  QuietLock lock(&mutex);
  for (const std::string& pattern : lost_devices) {
    if (MatchesWildcard(pattern, name)) return ENODEV;
  }
  return 0;
}

// ---- what the descriptors return

Followed* Find(int fd) {
  if (fd < 0 || fd >= kMostDescriptors) return nullptr;
  Followed* const descriptor = descriptors[fd].load(std::memory_order_acquire);
  return descriptor == nullptr || descriptor->is.load(std::memory_order_acquire) == Is::kNothing ? nullptr : descriptor;
}

namespace {

bool IsLostCommand(const Followed* descriptor) {
  return descriptor->is.load() == Is::kCommand && descriptor->context->lost.load(std::memory_order_acquire);
}
bool Fails(const Followed* descriptor, Command command) {
  // Since 4.19 or so a destroy finds its handle, whatever became of the object.
  if (descriptor->context->kernel == Kernel::kModern && command != Command::kOther) return false;
  errno = EIO;
  return true;
}

}  // namespace

bool CommandFails(Followed* descriptor, unsigned long request, const void* command) {
  return IsLostCommand(descriptor) && Fails(descriptor, CommandOf(request, command));
}

bool DestroyPasses(Followed* descriptor, unsigned long request, const void* command, int error) {
  return error == EBUSY && IsLostCommand(descriptor) && CommandOf(request, command) == Command::kDestroys;
}

bool WriteFails(Followed* descriptor, const void* command, size_t size) {
  return IsLostCommand(descriptor) && Fails(descriptor, CommandOfWrite(command, size));
}

bool MapFails(Followed* descriptor) {
  if (!IsLostCommand(descriptor)) return false;
  errno = EIO;
  return true;
}

int WakerOf(Followed* descriptor) {
  if (descriptor->replaced.load(std::memory_order_acquire)) return -1;
  switch (descriptor->is.load()) {
    case Is::kEvents: return descriptor->context->event_waker;
    case Is::kCompletions: return descriptor->context->completion_waker;
    case Is::kCommand:
    case Is::kNothing: break;
  }
  return -1;
}

ssize_t ReadEvent(Followed* descriptor, int fd, void* buffer, size_t size) {
  if (descriptor->is.load() == Is::kCommand) return real::Read(fd, buffer, size);
  for (;;) {
    if (descriptor->replaced.load(std::memory_order_acquire)) return ReadOfLost(descriptor, fd, buffer, size);
    if (IsNonBlocking(fd)) return real::Read(fd, buffer, size);
    pollfd both[2] = {{fd, POLLIN, 0}, {WakerOf(descriptor), POLLIN, 0}};
    if (real::Poll(both, 2, -1) < 0) {
      if (errno == EINTR && AllHandlersRestart()) continue;
      return -1;
    }
    if (both[1].revents != 0) continue;
    ssize_t got = 0;
    bool read = false;
    int error = errno;
    {
      QuietLock lock(&descriptor->reading);
      pollfd one{fd, POLLIN, 0};
      if (!descriptor->replaced.load() && real::Poll(&one, 1, 0) == 1) {
        got = real::Read(fd, buffer, size);
        read = true;
        error = errno;
      }
    }
    errno = error;
    if (read) return got;
  }
}

namespace {

int ControlLocked(Followed* descriptor, int epoll, int operation, int fd, epoll_event* event, int* error) {
  QuietLock lock(&mutex);
  const int result = real::EpollCtl(epoll, operation, fd, event);
  *error = errno;
  if (result != 0 || descriptor->is.load() == Is::kCommand) return result;
  const auto known = std::find_if(registrations.begin(), registrations.end(),
                                  [=](const Registration& one) { return one.epoll == epoll && one.fd == fd; });
  if (operation == EPOLL_CTL_DEL) {
    if (known != registrations.end()) registrations.erase(known);
  } else if (known != registrations.end()) {
    known->event = *event;
  } else {
    registrations.push_back({epoll, fd, *event});
  }
  return 0;
}

}  // namespace

int ControlEpoll(Followed* descriptor, int epoll, int operation, int fd, epoll_event* event) {
  int error = errno;
  const int result = ControlLocked(descriptor, epoll, operation, fd, event, &error);
  errno = error;
  return result;
}

}  // namespace rdmacheck::fault
