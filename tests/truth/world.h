// The program of a truth test: objects of every kind that SoftRoCE has, and random operations on them.
//
// An operation is plain data whose operands are taken modulo what lives when it runs, so any subsequence of a sequence
// is a sequence: that is what lets a failing one shrink.
#pragma once

#include <infiniband/verbs.h>
#include <pthread.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace truth {

enum Kind { kContext, kPd, kMr, kChannel, kCq, kQp, kSrq, kAh, kMw, kMcast, kList, kKinds };
inline constexpr const char* kKindNames[kKinds] = {"context", "pd",  "mr", "comp_channel", "cq",         "qp",
                                                   "srq",     "ah",  "mw", "mcast",        "device_list"};

enum Code : uint8_t {
  kOpenContext, kCloseContext, kGetList, kFreeList,
  kAllocPd, kDeallocPd,
  kRegMr, kRegMrIova, kRegMrFails, kReregMr, kDeregMr,
  kCreateChannel, kDestroyChannel,
  kCreateCq, kCreateCqEx, kCreateCqFails, kResizeCq, kDestroyCq,
  kCreateQp, kCreateQpEx, kCreateQpFails, kModifyQp, kQueryQp, kDestroyQp,
  kCreateSrq, kCreateSrqEx, kCreateSrqFails, kModifySrq, kDestroySrq,
  kCreateAh, kDestroyAh,
  kAllocMw, kDeallocMw,
  kAttachMcast, kDetachMcast,
  kUnsupported,
  kCodes,
  kHiddenMr = kCodes,  // an MR made behind the checker's back: the comparison must notice
};

struct Op {
  uint8_t thread;
  Code code;
  uint32_t a, b, c;
};

// The operations of one seed.
std::vector<Op> MakeOps(uint64_t seed, size_t count, int threads);

struct Object {
  Kind kind = kKinds;
  void* handle = nullptr;
  Object* context = nullptr;  // of a context: itself
  Object* parent = nullptr;   // what its life hangs on, as far as the driver itself must know
  unsigned id = 0;            // names the variable in printed C
  int users = 0;              // calls under way that were given it
  int children = 0;           // of a context, everything made on it; of a QP, its multicast groups
  uint32_t number = 0;        // qpn or lkey
  ibv_gid gid = {};
};

class World {
 public:
  explicit World(bool trace) : trace_(trace) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void Do(const Op& op);
  void ReleaseAll();
  // Only while no other thread is inside Do.
  const std::vector<Object*>& Alive(Kind kind) const { return pools_[kind]; }
  uint64_t refused() const { return refused_; }
  uint64_t failed() const { return failed_; }
  uint64_t done() const { return done_; }
  const std::vector<std::string>& trace() const { return lines_; }

 private:
  class Use;
  Object* Pick(Kind kind, uint32_t which, const Object* context = nullptr);
  void PutBack(Object* object);
  Object* Take(Kind kind, uint32_t which);
  void Add(Object* object);
  void Drop(Object* object);
  void Made(Kind kind, void* handle, Object* context, Object* parent, uint32_t number, const Op& op, const char* format,
            ...) __attribute__((format(printf, 8, 9)));
  void Destroy(Kind kind, Object* object, int thread);
  bool Full(Kind kind);
  void Line(int thread, const char* format, ...) __attribute__((format(printf, 3, 4)));

  const bool trace_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Object*> pools_[kKinds];
  unsigned next_id_ = 1;
  uint64_t refused_ = 0, failed_ = 0, done_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace truth
