// What the files of the fake libibverbs share: a Call (knobs and counters), the life of an object, the context behind
// ibv_context. The direct-verbs stand-ins use it too, through node FAKE_1.0.
#pragma once

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "newer_verbs.h"

// verbs.h hides these functions behind macros of the same name, and we define the functions.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
#define FAKE_SHARED __attribute__((visibility("default")))

namespace fake {

#define FAKE_VERB(name) name,
#define FAKE_KIND(name)
enum class Verb : uint16_t {
#include "fake_names.def"
  kCount
};
#undef FAKE_VERB
#undef FAKE_KIND

#define FAKE_VERB(name)
#define FAKE_KIND(name) name,
enum class Kind : uint8_t {
#include "fake_names.def"
  kCount
};
#undef FAKE_VERB
#undef FAKE_KIND

constexpr size_t kVerbs = static_cast<size_t>(Verb::kCount);
constexpr size_t kKinds = static_cast<size_t>(Kind::kCount);

// What the environment and fake_set() decide, apart from failures, delays and latches.
struct Knobs {
  std::atomic<bool> lax{false};
  std::atomic<bool> keep{false};
  std::atomic<bool> old_kernel{false};
  std::atomic<bool> copy_on_fork{false};
  std::atomic<int> devices{1};
  std::atomic<size_t> sz{0};  // 0: as long as this version's
};
FAKE_SHARED extern Knobs g_knobs;
bool IsNullSlot(const char* field);
// Reads RDMAV_ALLOW_DISASSOC_DESTROY and the fork variables, once.
void InitOnce();

// Counts are kept by thread, so that counting needs no locked instruction; readers add them up.
struct Tally {
  std::atomic<uint64_t> calls[kVerbs];
  std::atomic<int64_t> live[kKinds];
  std::atomic<bool> owned;
  Tally* next;
};
FAKE_SHARED extern __thread Tally* t_tally __attribute__((tls_model("initial-exec")));
FAKE_SHARED Tally* AdoptTally();

inline Tally& MyTally() { return t_tally != nullptr ? *t_tally : *AdoptTally(); }

template <class T>
void Bump(std::atomic<T>& counter, T by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

inline void CountLive(Kind kind, int64_t by) { Bump(MyTally().live[static_cast<size_t>(kind)], by); }

// True while any failure, delay or latch is armed: the only thing an unarmed call looks at.
FAKE_SHARED extern std::atomic<bool> g_armed;
FAKE_SHARED extern std::atomic<int> g_waiters[kVerbs];
FAKE_SHARED int EnterArmed(Verb verb);
FAKE_SHARED void LeaveArmed(Verb verb);

// Counts a thread as standing inside the verb while it blocks.
class Waiting {
 public:
  explicit Waiting(Verb verb) : waiters_(g_waiters[static_cast<size_t>(verb)]) { ++waiters_; }
  ~Waiting() { --waiters_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<int>& waiters_;
};

inline bool IsLost(const ibv_context* context);

// One call of a verb: the first statement of every function that a program can reach.
class Call {
 public:
  explicit Call(Verb verb) : verb_(verb) {
    Bump(MyTally().calls[static_cast<size_t>(verb)], uint64_t{1});
    if (__builtin_expect(g_armed.load(std::memory_order_relaxed), 0)) error_ = EnterArmed(verb);
  }
  ~Call() {
    if (__builtin_expect(g_armed.load(std::memory_order_relaxed), 0)) LeaveArmed(verb_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Verb verb() const { return verb_; }
  // The errno value a knob or a lost device makes this call fail with, or 0.
  int Error(const ibv_context* context = nullptr) const {
    if (error_ != 0) return error_;
    return context != nullptr && IsLost(context) ? EIO : 0;
  }
  // For verbs that answer NULL or -1: whether to, with errno set.
  bool Fails(const ibv_context* context = nullptr) const {
    const int error = Error(context);
    if (error == 0) return false;
    if (error > 0) errno = error;  // else FAKE_STALE_ERRNO
    return true;
  }

 private:
  const Verb verb_;
  int error_ = 0;
};

// The hidden part of every object. The memory lives as long as the object or anything made from it: with FAKE_LAX a
// parent may die first, and its children must still find a counter to decrement.
struct Object {
  static constexpr int kInlineParents = 4;

  std::atomic<uint64_t> magic;
  void* block;
  ibv_context* context;
  Object** more;  // parents beyond the first four
  std::atomic<uint32_t> refs;
  uint32_t parent_count;
  Object* parents[kInlineParents];
};

constexpr uint64_t kAlive = 0x65766c6976656b00;  // the low byte is the kind
constexpr uint64_t kDying = 0x676e697964656b00;  // destroyed, waits for acks
constexpr uint64_t kDead = 0x6465616464656b00;

inline bool Is(const Object* object, Kind kind) {
  return object != nullptr && object->magic.load(std::memory_order_relaxed) == (kAlive | static_cast<uint64_t>(kind));
}

template <class T>
T* New(Kind kind, ibv_context* context) {
  void* block = std::malloc(sizeof(T));
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  T* t = new (block) T();
  t->obj.block = block;
  t->obj.context = context;
  t->obj.refs.store(1, std::memory_order_relaxed);
  t->obj.magic.store(kAlive | static_cast<uint64_t>(kind), std::memory_order_relaxed);
  CountLive(kind, 1);
  return t;
}

FAKE_SHARED void AddManyParents(Object* child, Object* parent);
FAKE_SHARED void FreeBlock(Object* object);

inline void Ref(Object* object) { object->refs.fetch_add(1, std::memory_order_relaxed); }
inline void Unref(Object* object) {
  if (object->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) FreeBlock(object);
}
// From now on the parent is busy, until the child is killed.
inline void Hold(Object* child, Object* parent) {
  Ref(parent);
  if (child->parent_count < Object::kInlineParents) {
    child->parents[child->parent_count++] = parent;
  } else {
    AddManyParents(child, parent);
  }
}

// How a destroy reaches the device, which decides what a lost device makes of it.
enum class Way : uint8_t {
  kLocal,         // user space only: never EIO
  kKernel,        // an ordinary destroy: EIO on an old kernel, forgiven with RDMAV_ALLOW_DISASSOC_DESTROY
  kKernelLookup,  // EIO on any kernel, forgiven (detach_mcast, flow matchers)
  kDriver,        // EIO on any kernel, not forgiven (DEVX and other methods of the driver)
};

struct Outcome {
  int error;
  bool disassociated;  // an EIO was forgiven: the object goes at once, no ack is waited for
};

// First half of a destroy: refuses, or takes the object out of the world and frees its parents from it.
// Aborts the process when the handle is dead, null, of another kind, or of a closed context.
FAKE_SHARED Outcome Kill(const Call& call, Object* object, Kind kind, Way way, int busy = EBUSY);
// Second half: the memory.
FAKE_SHARED void Bury(Object* object);
// Both, for objects without events. `forced` ignores children, as the void verbs must.
FAKE_SHARED int Destroy(const Call& call, Object* object, Kind kind, Way way, int busy = EBUSY);
FAKE_SHARED void DestroyAnyway(const Call& call, Object* object, Kind kind);
[[noreturn]] FAKE_SHARED void AbortOn(const char* what, Verb verb);

// libibverbs-private, exported by the real one as well.
extern "C" FAKE_SHARED bool verbs_allow_disassociate_destroy;

// A queue of events behind a real file descriptor, readable with read(2) as the kernel's.
class Stream {
 public:
  bool Open();
  void Close();
  int fd() const { return fd_; }
  // Queues a message that starts with its element, and counts it. False when full or hung up.
  bool Post(const void* message, size_t size, uint32_t* posted);
  // Takes the element's unread messages out again and returns how many of `posted` were read.
  uint32_t Reported(uint64_t element, uint32_t posted);
  // Readers get EIO once the queue is empty.
  void HangUp();

 private:
  int fd_ = -1;
  int peer_ = -1;
  bool hung_up_ = false;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

struct FakeChannel {
  ibv_comp_channel pub;
  Object obj;
  Stream stream;
  FakeChannel* next;
  FakeChannel** link;
};

// Lies right behind the ibv_context, as a provider's own part does.
struct FakeContext {
  Object obj;
  Stream async;
  std::atomic<bool> lost;
  FakeChannel* channels;  // guarded by ibv_context::mutex
  std::atomic<bool> crypto_login;
  uint32_t serial;  // an address may come back, a serial does not
  size_t mapped;    // length of the mapping, or 0 when malloc'd
  void* priv;       // what verbs_context::priv points at
};

inline FakeContext* Behind(const ibv_context* context) {
  return reinterpret_cast<FakeContext*>(const_cast<ibv_context*>(context) + 1);
}

inline bool IsLost(const ibv_context* context) { return Behind(context)->lost.load(std::memory_order_relaxed); }

struct FakePd {
  ibv_pd pub;
  Object obj;
  ibv_pd* inner;  // of a parent domain
};
struct FakeTd {
  ibv_td pub;
  Object obj;
};
enum class MrType : uint8_t { kPlain, kDmabuf, kNull, kImported, kDm };
struct FakeMr {
  ibv_mr pub;
  Object obj;
  MrType type;
};
struct FakeMw {
  ibv_mw pub;
  Object obj;
  std::atomic<Object*> bound;
};
struct FakeDm {
  ibv_dm pub;
  Object obj;
  size_t length;
};
struct FakeCq {
  ibv_cq_ex pub;
  Object obj;
  uint32_t comp_posted;   // guarded by the channel's stream
  uint32_t async_posted;  // guarded by the context's
};
struct FakeSrq {
  ibv_srq pub;
  Object obj;
  uint32_t async_posted;
  uint32_t number;
  ibv_srq_attr attr;
};
struct FakeXrcd {
  ibv_xrcd pub;
  Object obj;
};
struct McastGroup {
  union ibv_gid gid;
  uint16_t lid;
  McastGroup* next;
};
struct FakeQp {
  ibv_qp_ex pub;
  void (*newer[8])();  // ibv_qp_ex grows at its end
  Object obj;
  uint32_t async_posted;
  McastGroup* groups;
  ibv_qp_cap cap;
  int sq_sig_all;
  ibv_qp_attr attr;
};
struct FakeAh {
  ibv_ah pub;
  Object obj;
};
struct FakeWq {
  ibv_wq pub;
  Object obj;
  uint32_t async_posted;
};
struct FakeRwqTable {
  ibv_rwq_ind_table pub;
  Object obj;
};
struct FakeFlow {
  ibv_flow pub;
  Object obj;
};
struct FakeFlowAction {
  ibv_flow_action pub;
  Object obj;
};
struct FakeCounters {
  ibv_counters pub;
  Object obj;
};

struct FakeDmah {
  ibv_dmah pub;
  Object obj;
};
struct FakeBuf {  // ibv_buf is opaque: all of it is ours
  Object obj;
  void* address;
};
struct FakeCompCntr {
  ibv_comp_cntr pub;
  Object obj;
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> errors;
};

inline Object* Obj(const Object* object) { return const_cast<Object*>(object); }
#define FAKE_OBJ(pub_type, fake_type)                                                                 \
  inline Object* Obj(const pub_type* pub) {                                                           \
    return pub == nullptr ? nullptr : &reinterpret_cast<fake_type*>(const_cast<pub_type*>(pub))->obj; \
  }
FAKE_OBJ(ibv_pd, FakePd)
FAKE_OBJ(ibv_td, FakeTd)
FAKE_OBJ(ibv_mr, FakeMr)
FAKE_OBJ(ibv_mw, FakeMw)
FAKE_OBJ(ibv_dm, FakeDm)
FAKE_OBJ(ibv_comp_channel, FakeChannel)
FAKE_OBJ(ibv_cq, FakeCq)
FAKE_OBJ(ibv_cq_ex, FakeCq)
FAKE_OBJ(ibv_srq, FakeSrq)
FAKE_OBJ(ibv_xrcd, FakeXrcd)
FAKE_OBJ(ibv_qp, FakeQp)
FAKE_OBJ(ibv_ah, FakeAh)
FAKE_OBJ(ibv_wq, FakeWq)
FAKE_OBJ(ibv_rwq_ind_table, FakeRwqTable)
FAKE_OBJ(ibv_flow, FakeFlow)
FAKE_OBJ(ibv_flow_action, FakeFlowAction)
FAKE_OBJ(ibv_counters, FakeCounters)
FAKE_OBJ(ibv_dmah, FakeDmah)
FAKE_OBJ(ibv_buf, FakeBuf)
FAKE_OBJ(ibv_comp_cntr, FakeCompCntr)
#undef FAKE_OBJ

inline bool IsPd(const ibv_pd* pd) { return Is(Obj(pd), Kind::pd) || Is(Obj(pd), Kind::parent_domain); }

// Sets errno to EINVAL, what the kernel returns for a handle it does not know.
inline std::nullptr_t Unknown() {
  errno = EINVAL;
  return nullptr;
}

// The child uses a PD: a parent domain counts only its CQs and QPs (mlx5), the PD inside counts everything.
FAKE_SHARED void HoldPd(Object* child, ibv_pd* pd, bool parent_domain_counts);

// Makers, shared by the symbols, the slots and the direct verbs. They know no knobs.
FAKE_SHARED uint32_t NextHandle();
FAKE_SHARED ibv_device** MakeDeviceList(int* count);
FAKE_SHARED ibv_cq_ex* MakeCq(ibv_context* context, uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
                              uint32_t vector, ibv_pd* parent_domain);
FAKE_SHARED ibv_mr* MakeMr(ibv_pd* pd, void* addr, size_t length, MrType type);
FAKE_SHARED ibv_dm* MakeDm(ibv_context* context, size_t length);
FAKE_SHARED int FreeDm(const Call& call, ibv_dm* dm);
FAKE_SHARED ibv_qp* MakeQp(ibv_context* context, const ibv_qp_init_attr_ex& attr);
FAKE_SHARED ibv_wq* MakeWq(ibv_context* context, const ibv_wq_init_attr& attr);
FAKE_SHARED ibv_flow* MakeFlow(ibv_context* context);
FAKE_SHARED ibv_flow_action* MakeFlowAction(ibv_context* context);
FAKE_SHARED ibv_comp_cntr* MakeCompCntr(ibv_context* context);

// Blocks while taken and acked events differ: the real library's test is inequality too, so over-acking hangs.
void AwaitAcks(Verb verb, pthread_mutex_t* mutex, pthread_cond_t* cond, const uint32_t* completed, uint32_t reported,
               const uint32_t* completed2 = nullptr, uint32_t reported2 = 0);

}  // namespace fake
