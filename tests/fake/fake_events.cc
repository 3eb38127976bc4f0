// Completion channels, asynchronous events, and a device that goes away.
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_internal.h"
#include "fake_verbs.h"

namespace fake {
namespace {

// As the kernel writes them into the file descriptors.
struct CompMessage {
  uint64_t element;
};
struct AsyncMessage {
  uint64_t element;
  uint32_t type;
  uint32_t reserved;
};

Stream& StreamOf(ibv_comp_channel* channel) { return reinterpret_cast<FakeChannel*>(channel)->stream; }

// What an event of this type happened to, or null for the port and the device.
uint32_t* PostedOf(ibv_event_type type, void* element, bool* alive) {
  *alive = true;
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      *alive = Is(Obj(static_cast<ibv_cq*>(element)), Kind::cq);
      return &static_cast<FakeCq*>(element)->async_posted;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      *alive = Is(Obj(static_cast<ibv_qp*>(element)), Kind::qp);
      return &static_cast<FakeQp*>(element)->async_posted;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      *alive = Is(Obj(static_cast<ibv_srq*>(element)), Kind::srq);
      return &static_cast<FakeSrq*>(element)->async_posted;
    case IBV_EVENT_WQ_FATAL:
      *alive = Is(Obj(static_cast<ibv_wq*>(element)), Kind::wq);
      return &static_cast<FakeWq*>(element)->async_posted;
    default:
      return nullptr;
  }
}

bool IsGone(const Object* object, Kind kind) {
  return object->magic.load(std::memory_order_relaxed) == (kDead | static_cast<uint64_t>(kind));
}

// An ack is legal while the destroy waits for it, and a write into freed memory after.
template <class T>
void Acknowledge(const Call& call, T* t, Kind kind, uint32_t T::*completed, uint32_t count) {
  if (t == nullptr) AbortOn("ack of NULL", call.verb());
  if (IsGone(Obj(t), kind)) AbortOn("ack of a dead handle", call.verb());
  pthread_mutex_lock(&t->mutex);
  t->*completed += count;
  pthread_cond_signal(&t->cond);
  pthread_mutex_unlock(&t->mutex);
}

}  // namespace

bool Stream::Open() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
  fd_ = pair[0];
  peer_ = pair[1];
  const int room = 1 << 20;
  setsockopt(peer_, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  return true;
}

void Stream::Close() {
  close(fd_);
  close(peer_);
}

bool Stream::Post(const void* message, size_t size, uint32_t* posted) {
  pthread_mutex_lock(&lock_);
  const bool sent = send(peer_, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  if (sent && posted != nullptr) ++*posted;
  pthread_mutex_unlock(&lock_);
  return sent;
}

// The kernel counts an event as reported when read(2) takes it, under the lock that a destroy takes too. Here the
// queue decides: what a destroy can still take out was never reported.
uint32_t Stream::Reported(uint64_t element, uint32_t posted) {
  if (posted == 0) return 0;
  constexpr int kMost = 4096;
  static AsyncMessage others[kMost];
  static uint8_t sizes[kMost];
  static pthread_mutex_t buffer = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&buffer);
  pthread_mutex_lock(&lock_);
  int count = 0;
  uint32_t unread = 0;
  while (count < kMost) {
    const ssize_t size = recv(fd_, &others[count], sizeof others[count], MSG_DONTWAIT);
    if (size <= 0) break;
    if (others[count].element == element) {
      ++unread;
    } else {
      sizes[count++] = static_cast<uint8_t>(size);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (send(peer_, &others[i], sizes[i], MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && hung_up_) {
      --reinterpret_cast<FakeCq*>(others[i].element)->comp_posted;  // only completion channels are hung up
    }
  }
  pthread_mutex_unlock(&lock_);
  pthread_mutex_unlock(&buffer);
  return posted - unread;
}

void Stream::HangUp() {
  pthread_mutex_lock(&lock_);
  hung_up_ = true;
  shutdown(peer_, SHUT_WR);
  pthread_mutex_unlock(&lock_);
}

void AwaitAcks(Verb verb, pthread_mutex_t* mutex, pthread_cond_t* cond, const uint32_t* completed, uint32_t reported,
               const uint32_t* completed2, uint32_t reported2) {
  pthread_mutex_lock(mutex);
  if (*completed != reported || (completed2 != nullptr && *completed2 != reported2)) {
    Waiting waiting(verb);
    while (*completed != reported || (completed2 != nullptr && *completed2 != reported2)) {
      pthread_cond_wait(cond, mutex);
    }
  }
  pthread_mutex_unlock(mutex);
}

}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  Call call(Verb::ibv_create_comp_channel);
  if (call.Fails(context)) return nullptr;
  FakeChannel* channel = New<FakeChannel>(Kind::comp_channel, context);
  if (channel == nullptr) return nullptr;
  channel->stream = Stream();
  if (!channel->stream.Open()) {
    CountLive(Kind::comp_channel, -1);
    FreeBlock(&channel->obj);
    return nullptr;
  }
  channel->pub.context = context;
  channel->pub.fd = channel->stream.fd();
  FakeContext* behind = Behind(context);
  pthread_mutex_lock(&context->mutex);
  channel->next = behind->channels;
  if (channel->next != nullptr) channel->next->link = &channel->next;
  channel->link = &behind->channels;
  behind->channels = channel;
  pthread_mutex_unlock(&context->mutex);
  return &channel->pub;
}

// Pure user space in the real library: neither a driver's laxness nor a lost device changes what it returns.
FAKE_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* pub) {
  Call call(Verb::ibv_destroy_comp_channel);
  FakeChannel* channel = reinterpret_cast<FakeChannel*>(pub);
  if (pub == nullptr) AbortOn("destroy of NULL", call.verb());
  if (!Is(&channel->obj, Kind::comp_channel)) AbortOn("destroy of a dead handle", call.verb());
  ibv_context* context = channel->obj.context;
  if (!Is(&Behind(context)->obj, Kind::context)) AbortOn("destroy on a closed context", call.verb());
  if (const int error = call.Error()) return error;
  pthread_mutex_lock(&context->mutex);
  const bool busy = pub->refcnt != 0;
  if (!busy) {
    *channel->link = channel->next;
    if (channel->next != nullptr) channel->next->link = channel->link;
  }
  pthread_mutex_unlock(&context->mutex);
  if (busy) return EBUSY;
  const Outcome outcome = Kill(call, &channel->obj, Kind::comp_channel, Way::kLocal);
  if (outcome.error != 0) return outcome.error;
  channel->stream.Close();
  Bury(&channel->obj);
  return 0;
}

FAKE_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  Call call(Verb::ibv_get_cq_event);
  if (call.Fails()) return -1;
  CompMessage message;
  ssize_t size = 0;
  {
    Waiting waiting(call.verb());
    size = read(channel->fd, &message, sizeof message);
  }
  if (size == 0) errno = EIO;  // hung up: the device is gone
  if (size != sizeof message) return -1;
  *cq = reinterpret_cast<ibv_cq*>(message.element);
  *cq_context = (*cq)->cq_context;  // as the real one: no lock, whatever became of the CQ meanwhile
  return 0;
}

FAKE_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  Call call(Verb::ibv_ack_cq_events);
  Acknowledge(call, cq, Kind::cq, &ibv_cq::comp_events_completed, count);
}

FAKE_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Call call(Verb::ibv_get_async_event);
  if (call.Fails()) return -1;
  AsyncMessage message;
  ssize_t size = 0;
  {
    Waiting waiting(call.verb());
    size = read(context->async_fd, &message, sizeof message);
  }
  if (size == 0) errno = EBADF;  // closed under the reader
  if (size != sizeof message) return -1;
  event->event_type = static_cast<ibv_event_type>(message.type);
  memset(&event->element, 0, sizeof event->element);
  memcpy(&event->element, &message.element, sizeof event->element);
  return 0;
}

FAKE_EXPORT void ibv_ack_async_event(ibv_async_event* event) {
  Call call(Verb::ibv_ack_async_event);
  bool alive = false;
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      return Acknowledge(call, event->element.cq, Kind::cq, &ibv_cq::async_events_completed, 1);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return Acknowledge(call, event->element.srq, Kind::srq, &ibv_srq::events_completed, 1);
    case IBV_EVENT_WQ_FATAL:
      return Acknowledge(call, event->element.wq, Kind::wq, &ibv_wq::events_completed, 1);
    default:
      if (PostedOf(event->event_type, event->element.qp, &alive) == nullptr) return;  // the port or the device
      return Acknowledge(call, event->element.qp, Kind::qp, &ibv_qp::events_completed, 1);
  }
}

FAKE_EXPORT int fake_post_cq_event(ibv_cq* cq) {
  if (!Is(Obj(cq), Kind::cq) || cq->channel == nullptr) return -1;
  const CompMessage message = {reinterpret_cast<uint64_t>(cq)};
  FakeCq* fake_cq = reinterpret_cast<FakeCq*>(cq);
  return StreamOf(cq->channel).Post(&message, sizeof message, &fake_cq->comp_posted) ? 0 : -1;
}

FAKE_EXPORT int fake_post_async_event(ibv_context* context, ibv_event_type type, void* element) {
  bool alive = false;
  uint32_t* posted = PostedOf(type, element, &alive);
  if (!alive) return -1;
  const AsyncMessage message = {reinterpret_cast<uint64_t>(element), static_cast<uint32_t>(type), 0};
  return Behind(context)->async.Post(&message, sizeof message, posted) ? 0 : -1;
}

FAKE_EXPORT int fake_device_fatal(ibv_context* context) {
  FakeContext* behind = Behind(context);
  if (!Is(&behind->obj, Kind::context)) return -1;
  behind->lost = true;
  pthread_mutex_lock(&context->mutex);
  for (FakeChannel* channel = behind->channels; channel != nullptr; channel = channel->next) channel->stream.HangUp();
  pthread_mutex_unlock(&context->mutex);
  return fake_post_async_event(context, IBV_EVENT_DEVICE_FATAL, nullptr);
}
