// What the stand-ins of the direct-verbs libraries share: objects that no generic verb knows.
#pragma once

#include <initializer_list>

#include "fake_internal.h"

namespace fake {

// The program's handle points at `pub`, so one struct does for public and opaque types alike.
struct DvObject {
  Object obj;
  alignas(16) unsigned char pub[64];
};

template <class T>
Object* DvObj(const T* handle) {
  if (handle == nullptr) return nullptr;
  const char* pub = reinterpret_cast<const char*>(handle);
  return &reinterpret_cast<DvObject*>(const_cast<char*>(pub) - offsetof(DvObject, pub))->obj;
}

// What we keep in an opaque object.
template <class Content, class T>
Content& ContentOf(T* handle) {
  static_assert(sizeof(Content) <= sizeof(DvObject::pub), "make DvObject::pub longer");
  return *reinterpret_cast<Content*>(handle);
}

inline bool IsAlive(const Object* object) {
  return object != nullptr && (object->magic.load(std::memory_order_relaxed) & ~uint64_t{0xff}) == kAlive;
}

// The rest of a creating verb: knobs, parents, memory. A null context is a device-less object (some dr actions).
template <class T>
T* Create(const Call& call, ibv_context* context, Kind kind, std::initializer_list<Object*> parents) {
  if (call.Fails(context)) return nullptr;
  for (const Object* parent : parents) {
    if (!IsAlive(parent)) return Unknown();
  }
  DvObject* object = New<DvObject>(kind, context);
  if (object == nullptr) return nullptr;
  for (Object* parent : parents) Hold(&object->obj, parent);
  return reinterpret_cast<T*>(object->pub);
}

}  // namespace fake
