// The life of an object: who holds it, when a destroy is refused, and when its memory goes.
#include "fake_internal.h"

namespace fake {

namespace {

constexpr uint64_t kKindMask = 0xff;

pthread_mutex_t g_kept_lock = PTHREAD_MUTEX_INITIALIZER;
Object* g_kept;  // a list through parents[0], so that a leak checker finds what FAKE_KEEP keeps

void DropParents(Object* object) {
  const uint32_t count = object->parent_count;
  object->parent_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Unref(i < Object::kInlineParents ? object->parents[i] : object->more[i - Object::kInlineParents]);
  }
}

void CheckAlive(const Call& call, const Object* object, Kind kind) {
  if (object == nullptr) AbortOn("destroy of NULL", call.verb());
  if (!Is(object, kind)) AbortOn("destroy of a dead handle", call.verb());
  if (object->context != nullptr && !Is(&Behind(object->context)->obj, Kind::context)) {
    AbortOn("destroy on a closed context", call.verb());
  }
}

void TakeOut(const Call& call, Object* object, Kind kind) {
  uint64_t alive = kAlive | static_cast<uint64_t>(kind);
  if (!object->magic.compare_exchange_strong(alive, kDying | static_cast<uint64_t>(kind))) {
    AbortOn("destroy of a dead handle", call.verb());  // two threads at once
  }
  CountLive(kind, -1);
  DropParents(object);
}

}  // namespace

void AddManyParents(Object* child, Object* parent) {
  const uint32_t beyond = child->parent_count - Object::kInlineParents;
  Object** more = static_cast<Object**>(realloc(child->more, (beyond + 1) * sizeof(Object*)));
  if (more == nullptr) abort();
  more[beyond] = parent;
  child->more = more;
  ++child->parent_count;
}

void FreeBlock(Object* object) {
  free(object->more);
  object->more = nullptr;
  if (!g_knobs.keep.load(std::memory_order_relaxed)) {
    free(object->block);
    return;
  }
  pthread_mutex_lock(&g_kept_lock);
  object->parents[0] = g_kept;
  g_kept = object;
  pthread_mutex_unlock(&g_kept_lock);
}

Outcome Kill(const Call& call, Object* object, Kind kind, Way way, int busy) {
  CheckAlive(call, object, kind);
  int error = call.Error();
  if (error == 0 && object->context != nullptr && IsLost(object->context)) {
    const bool refused =
        way == Way::kDriver || way == Way::kKernelLookup || (way == Way::kKernel && g_knobs.old_kernel);
    if (refused) error = EIO;
  }
  const bool forgiving = way == Way::kKernel || way == Way::kKernelLookup;
  const bool disassociated = error == EIO && forgiving && verbs_allow_disassociate_destroy;
  if (error != 0 && !disassociated) return {error, false};
  if (object->refs.load(std::memory_order_acquire) != 1 && !disassociated &&
      !g_knobs.lax.load(std::memory_order_relaxed)) {
    return {busy, false};
  }
  TakeOut(call, object, kind);
  return {0, disassociated};
}

void Bury(Object* object) {
  object->magic.store(kDead | (object->magic.load(std::memory_order_relaxed) & kKindMask), std::memory_order_relaxed);
  Unref(object);
}

int Destroy(const Call& call, Object* object, Kind kind, Way way, int busy) {
  const Outcome outcome = Kill(call, object, kind, way, busy);
  if (outcome.error == 0) Bury(object);
  return outcome.error;
}

void DestroyAnyway(const Call& call, Object* object, Kind kind) {
  CheckAlive(call, object, kind);
  TakeOut(call, object, kind);
  Bury(object);
}

void HoldPd(Object* child, ibv_pd* pd, bool parent_domain_counts) {
  if (Is(Obj(pd), Kind::parent_domain)) {
    if (parent_domain_counts) Hold(child, Obj(pd));
    pd = reinterpret_cast<FakePd*>(pd)->inner;
  }
  Hold(child, Obj(pd));
}

uint32_t NextHandle() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fake
