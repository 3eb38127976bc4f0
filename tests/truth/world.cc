#include "world.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <random>

namespace truth {
namespace {

constexpr size_t kBuffer = 1 << 16;
alignas(4096) char buffer[kBuffer];
// Fewer than a report lists under one stack, so that every number can be compared.
constexpr size_t kMostOf[kKinds] = {4, 24, 160, 24, 120, 80, 48, 60, 60, 24, 6};

constexpr unsigned kWeights[kCodes] = {
    /*context, list: slow*/ 2, 1, 2, 2,
    /*pd*/ 30, 26,
    /*mr*/ 60, 30, 12, 20, 70,
    /*channel*/ 20, 18,
    /*cq*/ 40, 30, 8, 6, 64,
    /*qp*/ 36, 24, 10, 20, 10, 52,
    /*srq*/ 20, 14, 6, 6, 30,
    /*ah*/ 24, 22,
    /*mw*/ 24, 22,
    /*mcast*/ 16, 14,
    /*unsupported*/ 6};

const char* TypeName(ibv_qp_type type) {
  return type == IBV_QPT_RC ? "IBV_QPT_RC" : type == IBV_QPT_UC ? "IBV_QPT_UC" : "IBV_QPT_UD";
}

// The function of a second libibverbs, in a namespace of its own: no preload and no dlsym hook reaches it there. What it
// is given is an object of the first one, and it calls through that object's own context.
ibv_mr* HiddenRegMr(ibv_pd* pd) {
  static void* const other = dlmopen(LM_ID_NEWLM, "libibverbs.so.1", RTLD_NOW);
  if (other == nullptr) {
    fprintf(stderr, "truth: no second libibverbs: %s\n", dlerror());
    return nullptr;
  }
  auto reg = reinterpret_cast<ibv_mr* (*)(ibv_pd*, void*, size_t, int)>(dlsym(other, "ibv_reg_mr"));
  return reg == nullptr ? nullptr : reg(pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
}

}  // namespace

std::vector<Op> MakeOps(uint64_t seed, size_t count, int threads) {
  std::mt19937_64 random(seed);
  std::discrete_distribution<int> code(kWeights, kWeights + kCodes);
  std::vector<Op> ops;
  for (size_t i = 0; i < count; ++i) {
    Op op{};
    op.thread = static_cast<uint8_t>(random() % static_cast<uint64_t>(threads));
    op.code = static_cast<Code>(code(random));
    op.a = static_cast<uint32_t>(random());
    op.b = static_cast<uint32_t>(random());
    op.c = static_cast<uint32_t>(random());
    ops.push_back(op);
  }
  return ops;
}

// ---- the pools

Object* World::Pick(Kind kind, uint32_t which, const Object* context) {
  pthread_mutex_lock(&mutex_);
  Object* found = nullptr;
  const std::vector<Object*>& pool = pools_[kind];
  for (size_t i = 0; i < pool.size() && found == nullptr; ++i) {
    Object* at = pool[(which + i) % pool.size()];
    if (context == nullptr || at->context == context) found = at;
  }
  if (found != nullptr) ++found->users;
  pthread_mutex_unlock(&mutex_);
  return found;
}

void World::PutBack(Object* object) {
  pthread_mutex_lock(&mutex_);
  --object->users;
  pthread_mutex_unlock(&mutex_);
}

// For as long as a call needs it, nobody destroys it.
class World::Use {
 public:
  Use(World* world, Object* object) : world_(world), object_(object) {}
  ~Use() {
    if (object_ != nullptr) world_->PutBack(object_);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  explicit operator bool() const { return object_ != nullptr; }
  Object* operator->() const { return object_; }
  Object* get() const { return object_; }
  template <class T>
  T* as() const {
    return object_ == nullptr ? nullptr : static_cast<T*>(object_->handle);
  }

 private:
  World* const world_;
  Object* const object_;
};

// Out of its pool, to be destroyed. A destroy that the kernel would refuse is welcome; one that would lose something
// (a context with objects, a QP with groups: both errors of the program) is not.
Object* World::Take(Kind kind, uint32_t which) {
  pthread_mutex_lock(&mutex_);
  Object* found = nullptr;
  std::vector<Object*>& pool = pools_[kind];
  for (size_t i = 0; i < pool.size(); ++i) {
    const size_t at = (which + i) % pool.size();
    if (pool[at]->users > 0) continue;
    if ((kind == kContext || kind == kQp) && pool[at]->children > 0) continue;
    found = pool[at];
    pool[at] = pool.back();
    pool.pop_back();
    break;
  }
  pthread_mutex_unlock(&mutex_);
  return found;
}

void World::Add(Object* object) {
  pthread_mutex_lock(&mutex_);
  if (object->id == 0) {
    object->id = next_id_++;
    if (object->context != nullptr && object->context != object) ++object->context->children;
    if (object->kind == kMcast) ++object->parent->children;
  }
  pools_[object->kind].push_back(object);
  pthread_mutex_unlock(&mutex_);
}

void World::Drop(Object* object) {
  pthread_mutex_lock(&mutex_);
  if (object->context != nullptr && object->context != object) --object->context->children;
  if (object->kind == kMcast) --object->parent->children;
  pthread_mutex_unlock(&mutex_);
  delete object;
}

bool World::Full(Kind kind) {
  pthread_mutex_lock(&mutex_);
  const bool full = pools_[kind].size() >= kMostOf[kind];
  pthread_mutex_unlock(&mutex_);
  return full;
}

void World::Line(int thread, const char* format, ...) {
  if (!trace_) return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  pthread_mutex_lock(&mutex_);
  lines_.push_back((thread > 0 ? "/* thread " + std::to_string(thread) + " */ " : std::string()) + text);
  pthread_mutex_unlock(&mutex_);
}

void World::Made(Kind kind, void* handle, Object* context, Object* parent, uint32_t number, const Op& op,
                 const char* format, ...) {
  char text[400] = "";
  if (trace_) {
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
  }
  if (handle == nullptr) {
    const int error = errno;
    __atomic_fetch_add(&failed_, 1, __ATOMIC_RELAXED);
    Line(op.thread, "%s;  /* NULL, %s */", text, strerrorname_np(error));
    return;
  }
  Object* object = new Object;
  object->kind = kind;
  object->handle = handle;
  object->context = kind == kContext ? object : context;
  object->parent = parent;
  object->number = number;
  if (kind == kMcast) object->gid = *static_cast<ibv_gid*>(handle);
  Add(object);
  if (kind == kMcast) {
    Line(op.thread, "%s;", text);
  } else {
    Line(op.thread, "%s%u = %s;", kKindNames[kind], object->id, text);
  }
}

// ---- the operations

void World::Destroy(Kind kind, Object* object, int thread) {
  if (object == nullptr) return;
  int error = 0;
  const char* verb = "";
  switch (kind) {
    case kContext: error = ibv_close_device(static_cast<ibv_context*>(object->handle)); verb = "ibv_close_device"; break;
    case kPd: error = ibv_dealloc_pd(static_cast<ibv_pd*>(object->handle)); verb = "ibv_dealloc_pd"; break;
    case kMr: error = ibv_dereg_mr(static_cast<ibv_mr*>(object->handle)); verb = "ibv_dereg_mr"; break;
    case kChannel:
      error = ibv_destroy_comp_channel(static_cast<ibv_comp_channel*>(object->handle));
      verb = "ibv_destroy_comp_channel";
      break;
    case kCq: error = ibv_destroy_cq(static_cast<ibv_cq*>(object->handle)); verb = "ibv_destroy_cq"; break;
    case kQp: error = ibv_destroy_qp(static_cast<ibv_qp*>(object->handle)); verb = "ibv_destroy_qp"; break;
    case kSrq: error = ibv_destroy_srq(static_cast<ibv_srq*>(object->handle)); verb = "ibv_destroy_srq"; break;
    case kAh: error = ibv_destroy_ah(static_cast<ibv_ah*>(object->handle)); verb = "ibv_destroy_ah"; break;
    case kMw: error = ibv_dealloc_mw(static_cast<ibv_mw*>(object->handle)); verb = "ibv_dealloc_mw"; break;
    case kMcast:
      error = ibv_detach_mcast(static_cast<ibv_qp*>(object->parent->handle), &object->gid, 0);
      verb = "ibv_detach_mcast";
      break;
    case kList: ibv_free_device_list(static_cast<ibv_device**>(object->handle)); verb = "ibv_free_device_list"; break;
    case kKinds: break;
  }
  const unsigned id = kind == kMcast ? object->parent->id : object->id;
  const char* name = kKindNames[kind == kMcast ? kQp : kind];
  if (error != 0) {
    __atomic_fetch_add(&refused_, 1, __ATOMIC_RELAXED);
    Line(thread, "%s(%s%u);  /* %s */", verb, name, id, strerrorname_np(error < 0 ? errno : error));
    Add(object);
    return;
  }
  Line(thread, "%s(%s%u);", verb, name, id);
  Drop(object);
}

void World::Do(const Op& op) {
  __atomic_fetch_add(&done_, 1, __ATOMIC_RELAXED);
  switch (op.code) {
    // What is full is emptied instead, so that a long run goes on doing something.
    case kOpenContext: {
      if (Full(kContext)) break;
      int count = 0;
      ibv_device** list = ibv_get_device_list(&count);
      if (list == nullptr) break;
      if (count > 0) {
        ibv_device* device = list[op.a % static_cast<uint32_t>(count)];
        Made(kContext, ibv_open_device(device), nullptr, nullptr, 0, op, "ibv_open_device(device)");
      }
      ibv_free_device_list(list);
      break;
    }
    case kCloseContext: Destroy(kContext, Take(kContext, op.a), op.thread); break;
    case kGetList:
      if (!Full(kList)) Made(kList, ibv_get_device_list(nullptr), nullptr, nullptr, 0, op, "ibv_get_device_list(NULL)");
      break;
    case kFreeList: Destroy(kList, Take(kList, op.a), op.thread); break;

    case kAllocPd: {
      Use context(this, Full(kPd) ? nullptr : Pick(kContext, op.a));
      if (!context) return Destroy(kPd, Take(kPd, op.b), op.thread);
      Made(kPd, ibv_alloc_pd(context.as<ibv_context>()), context.get(), nullptr, 0, op, "ibv_alloc_pd(context%u)", context->id);
      break;
    }
    case kDeallocPd: Destroy(kPd, Take(kPd, op.a), op.thread); break;

    case kRegMr:
    case kRegMrIova:
    case kRegMrFails: {
      Use pd(this, Full(kMr) ? nullptr : Pick(kPd, op.a));
      if (!pd) return Destroy(kMr, Take(kMr, op.b), op.thread);
      const size_t offset = op.b % (kBuffer - 8192), length = 1 + op.c % 8192;
      ibv_mr* mr = nullptr;
      if (op.code == kRegMr) {
        mr = ibv_reg_mr(pd.as<ibv_pd>(), buffer + offset, length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
      } else if (op.code == kRegMrIova) {
        mr = ibv_reg_mr_iova(pd.as<ibv_pd>(), buffer + offset, length, 0x10000 + offset % 4096, IBV_ACCESS_LOCAL_WRITE);
      } else if (op.c % 2 == 0) {  // no memory there
        mr = ibv_reg_mr(pd.as<ibv_pd>(), reinterpret_cast<void*>(0x1000), length, IBV_ACCESS_LOCAL_WRITE);
      } else {  // remote write without local write
        mr = ibv_reg_mr(pd.as<ibv_pd>(), buffer, length, IBV_ACCESS_REMOTE_WRITE);
      }
      Made(kMr, mr, pd->context, pd.get(), mr == nullptr ? 0 : mr->lkey, op, "%s(pd%u, buffer, %zu, access)",
           op.code == kRegMrIova ? "ibv_reg_mr_iova" : "ibv_reg_mr", pd->id, length);
      break;
    }
    case kReregMr: {
      // One thread at a time may change it, so it is taken as for a destroy and put back.
      Object* mr = Take(kMr, op.a);
      if (mr == nullptr) break;
      {
        Use pd(this, Pick(kPd, op.b, mr->context));
        auto* handle = static_cast<ibv_mr*>(mr->handle);
        int result = -1, flags = IBV_REREG_MR_CHANGE_ACCESS;
        if (op.c % 2 == 0 && pd) flags |= IBV_REREG_MR_CHANGE_PD;
        if (op.c % 3 == 0) flags |= IBV_REREG_MR_CHANGE_TRANSLATION;
        result = ibv_rereg_mr(handle, flags, (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd.as<ibv_pd>() : nullptr, buffer, 4096,
                              IBV_ACCESS_LOCAL_WRITE);
        if (result != 0) __atomic_fetch_add(&failed_, 1, __ATOMIC_RELAXED);
        mr->number = handle->lkey;
        Line(op.thread, "ibv_rereg_mr(mr%u, %d, %s%u, ...);  /* %d */", mr->id, flags, "pd", pd ? pd->id : 0, result);
      }
      Add(mr);
      break;
    }
    case kDeregMr: Destroy(kMr, Take(kMr, op.a), op.thread); break;
    case kHiddenMr: {
      Use pd(this, Pick(kPd, op.a));
      if (!pd) break;
      ibv_mr* mr = HiddenRegMr(pd.as<ibv_pd>());
      if (mr != nullptr) Line(op.thread, "other_libibverbs->ibv_reg_mr(pd%u, buffer, 4096, access);", pd->id);
      break;
    }

    case kCreateChannel: {
      Use context(this, Full(kChannel) ? nullptr : Pick(kContext, op.a));
      if (!context) return Destroy(kChannel, Take(kChannel, op.b), op.thread);
      Made(kChannel, ibv_create_comp_channel(context.as<ibv_context>()), context.get(), nullptr, 0, op,
           "ibv_create_comp_channel(context%u)", context->id);
      break;
    }
    case kDestroyChannel: Destroy(kChannel, Take(kChannel, op.a), op.thread); break;

    case kCreateCq:
    case kCreateCqEx:
    case kCreateCqFails: {
      Use context(this, Full(kCq) ? nullptr : Pick(kContext, op.a));
      if (!context) return Destroy(kCq, Take(kCq, op.b), op.thread);
      Use channel(this, op.b % 2 == 0 ? Pick(kChannel, op.b / 2, context.get()) : nullptr);
      const int cqe = op.code == kCreateCqFails ? (op.c % 2 == 0 ? 0x7fffffff : 1 << 20) : static_cast<int>(1 + op.c % 32);
      ibv_cq* cq = nullptr;
      if (op.code == kCreateCqEx) {
        ibv_cq_init_attr_ex attr = {};
        attr.cqe = static_cast<uint32_t>(cqe);
        attr.channel = channel.as<ibv_comp_channel>();
        attr.wc_flags = IBV_WC_STANDARD_FLAGS;
        ibv_cq_ex* extended = ibv_create_cq_ex(context.as<ibv_context>(), &attr);
        if (extended != nullptr) cq = ibv_cq_ex_to_cq(extended);
      } else {
        cq = ibv_create_cq(context.as<ibv_context>(), cqe, nullptr, channel.as<ibv_comp_channel>(), 0);
      }
      Made(kCq, cq, context.get(), nullptr, 0, op, "%s(context%u, %d, NULL, comp_channel%u, 0)",
           op.code == kCreateCqEx ? "create_cq_ex" : "ibv_create_cq", context->id, cqe, channel ? channel->id : 0);
      break;
    }
    case kResizeCq: {
      Object* cq = Take(kCq, op.a);
      if (cq == nullptr) break;
      const int result = ibv_resize_cq(static_cast<ibv_cq*>(cq->handle), static_cast<int>(1 + op.b % 100));
      Line(op.thread, "ibv_resize_cq(cq%u, %u);  /* %d */", cq->id, 1 + op.b % 100, result);
      Add(cq);
      break;
    }
    case kDestroyCq: Destroy(kCq, Take(kCq, op.a), op.thread); break;

    case kCreateQp:
    case kCreateQpEx:
    case kCreateQpFails: {
      Use pd(this, Full(kQp) ? nullptr : Pick(kPd, op.a));
      if (!pd) return Destroy(kQp, Take(kQp, op.b), op.thread);
      Use send(this, Pick(kCq, op.b, pd->context)), receive(this, Pick(kCq, op.c, pd->context));
      if (!send || !receive) break;
      ibv_qp_type type = op.a % 4 == 0 ? IBV_QPT_UC : op.a % 2 == 0 ? IBV_QPT_UD : IBV_QPT_RC;
      Use srq(this, type == IBV_QPT_RC && op.b % 3 == 0 ? Pick(kSrq, op.c, pd->context) : nullptr);
      ibv_qp_cap cap = {4, 4, 1, 1, 0};
      if (op.code == kCreateQpFails) {
        if (op.b % 3 == 0) cap.max_send_wr = 0x7fffffff;
        if (op.b % 3 == 1) cap.max_recv_sge = 100000;
        if (op.b % 3 == 2) type = IBV_QPT_RAW_PACKET;
      }
      ibv_qp* qp = nullptr;
      if (op.code == kCreateQpEx) {
        ibv_qp_init_attr_ex attr = {};
        attr.send_cq = send.as<ibv_cq>();
        attr.recv_cq = receive.as<ibv_cq>();
        attr.srq = srq.as<ibv_srq>();
        attr.cap = cap;
        attr.qp_type = type;
        attr.pd = pd.as<ibv_pd>();
        attr.comp_mask = IBV_QP_INIT_ATTR_PD;
        if (op.c % 2 == 0) {
          attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
          attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
        }
        qp = ibv_create_qp_ex(static_cast<ibv_context*>(pd->context->handle), &attr);
      } else {
        ibv_qp_init_attr attr = {};
        attr.send_cq = send.as<ibv_cq>();
        attr.recv_cq = receive.as<ibv_cq>();
        attr.srq = srq.as<ibv_srq>();
        attr.cap = cap;
        attr.qp_type = type;
        qp = ibv_create_qp(pd.as<ibv_pd>(), &attr);
      }
      Made(kQp, qp, pd->context, pd.get(), qp == nullptr ? 0 : qp->qp_num, op, "%s(pd%u, cq%u, cq%u, srq%u, %s)",
           op.code == kCreateQpEx ? "create_qp_ex" : "create_qp", pd->id, send->id, receive->id, srq ? srq->id : 0,
           TypeName(type));
      break;
    }
    case kModifyQp: {
      Use qp(this, Pick(kQp, op.a));
      if (!qp) break;
      auto* handle = qp.as<ibv_qp>();
      ibv_qp_attr attr = {};
      int mask = IBV_QP_STATE;
      if (op.b % 3 == 0) {
        attr.qp_state = IBV_QPS_ERR;
      } else {
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qkey = 0x11;
        mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (handle->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
      }
      if (ibv_modify_qp(handle, &attr, mask) != 0) __atomic_fetch_add(&failed_, 1, __ATOMIC_RELAXED);
      break;
    }
    case kQueryQp: {
      Use qp(this, Pick(kQp, op.a));
      if (!qp) break;
      ibv_qp_attr attr;
      ibv_qp_init_attr init;
      if (ibv_query_qp(qp.as<ibv_qp>(), &attr, IBV_QP_STATE, &init) != 0) __atomic_fetch_add(&failed_, 1, __ATOMIC_RELAXED);
      break;
    }
    case kDestroyQp: Destroy(kQp, Take(kQp, op.a), op.thread); break;

    case kCreateSrq:
    case kCreateSrqEx:
    case kCreateSrqFails: {
      Use pd(this, Full(kSrq) ? nullptr : Pick(kPd, op.a));
      if (!pd) return Destroy(kSrq, Take(kSrq, op.b), op.thread);
      const uint32_t wr = op.code == kCreateSrqFails ? 0x7fffffff : 1 + op.c % 16;
      ibv_srq* srq = nullptr;
      if (op.code == kCreateSrqEx) {
        ibv_srq_init_attr_ex attr = {};
        attr.attr.max_wr = wr;
        attr.attr.max_sge = 1;
        attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
        attr.srq_type = IBV_SRQT_BASIC;
        attr.pd = pd.as<ibv_pd>();
        srq = ibv_create_srq_ex(static_cast<ibv_context*>(pd->context->handle), &attr);
      } else {
        ibv_srq_init_attr attr = {};
        attr.attr.max_wr = wr;
        attr.attr.max_sge = 1;
        srq = ibv_create_srq(pd.as<ibv_pd>(), &attr);
      }
      Made(kSrq, srq, pd->context, pd.get(), 0, op, "%s(pd%u, %u)",
           op.code == kCreateSrqEx ? "create_srq_ex" : "create_srq", pd->id, wr);
      break;
    }
    case kModifySrq: {
      Use srq(this, Pick(kSrq, op.a));
      if (!srq) break;
      ibv_srq_attr attr = {};
      attr.srq_limit = op.b % 2;
      if (ibv_modify_srq(srq.as<ibv_srq>(), &attr, IBV_SRQ_LIMIT) != 0) __atomic_fetch_add(&failed_, 1, __ATOMIC_RELAXED);
      break;
    }
    case kDestroySrq: Destroy(kSrq, Take(kSrq, op.a), op.thread); break;

    case kCreateAh: {
      Use pd(this, Full(kAh) ? nullptr : Pick(kPd, op.a));
      if (!pd) return Destroy(kAh, Take(kAh, op.b), op.thread);
      ibv_ah_attr attr = {};
      attr.is_global = 1;
      attr.port_num = op.c % 8 == 0 ? 9 : 1;  // there is no port 9
      attr.grh.sgid_index = 1;
      attr.grh.hop_limit = 64;
      inet_pton(AF_INET6, "::ffff:10.77.0.1", attr.grh.dgid.raw);
      Made(kAh, ibv_create_ah(pd.as<ibv_pd>(), &attr), pd->context, pd.get(), 0, op, "ibv_create_ah(pd%u, port %d)", pd->id,
           attr.port_num);
      break;
    }
    case kDestroyAh: Destroy(kAh, Take(kAh, op.a), op.thread); break;

    case kAllocMw: {
      Use pd(this, Full(kMw) ? nullptr : Pick(kPd, op.a));
      if (!pd) return Destroy(kMw, Take(kMw, op.b), op.thread);
      const ibv_mw_type type = op.c % 2 == 0 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
      Made(kMw, ibv_alloc_mw(pd.as<ibv_pd>(), type), pd->context, pd.get(), 0, op, "ibv_alloc_mw(pd%u, %d)", pd->id, type);
      break;
    }
    case kDeallocMw: Destroy(kMw, Take(kMw, op.a), op.thread); break;

    case kAttachMcast: {
      if (Full(kMcast)) return Destroy(kMcast, Take(kMcast, op.b), op.thread);
      // Held as long as the attachment is being made; afterwards its count of children holds it.
      Use qp(this, Pick(kQp, op.a));
      if (!qp) break;
      // A group of its own each time: attaching twice to one group is one attachment.
      ibv_gid gid = {};
      gid.raw[10] = gid.raw[11] = 0xff;
      gid.raw[12] = 239;
      gid.raw[13] = static_cast<uint8_t>(op.b >> 16);
      gid.raw[14] = static_cast<uint8_t>(op.b >> 8);
      gid.raw[15] = static_cast<uint8_t>(op.b);
      const bool ud = qp.as<ibv_qp>()->qp_type == IBV_QPT_UD;
      const int result = ibv_attach_mcast(qp.as<ibv_qp>(), &gid, 0);
      errno = result;
      // On a QP that is not UD this must have failed; if it did not, the lists will tell.
      Made(kMcast, result == 0 ? &gid : nullptr, qp->context, qp.get(), 0, op, "ibv_attach_mcast(qp%u, ...)%s", qp->id,
           ud ? "" : " /* not UD */");
      break;
    }
    case kDetachMcast: Destroy(kMcast, Take(kMcast, op.a), op.thread); break;

    case kUnsupported: {
      Use context(this, Pick(kContext, op.a));
      if (!context) break;
      auto* handle = context.as<ibv_context>();
      ibv_alloc_dm_attr dm = {};
      dm.length = 64;
      ibv_td_init_attr td = {};
      void* made = op.b % 2 == 0 ? static_cast<void*>(ibv_alloc_dm(handle, &dm)) : ibv_alloc_td(handle, &td);
      if (made != nullptr) fprintf(stderr, "truth: this device can do more than was thought; the driver must learn it\n");
      __atomic_fetch_add(&failed_, 1, __ATOMIC_RELAXED);
      break;
    }
  }
}

void World::ReleaseAll() {
  for (Kind kind : {kMcast, kAh, kMw, kQp, kSrq, kCq, kChannel, kMr, kPd, kContext, kList}) {
    const size_t many = pools_[kind].size();
    for (size_t i = 0; i < many; ++i) Destroy(kind, Take(kind, 0), 0);
  }
}

}  // namespace truth
