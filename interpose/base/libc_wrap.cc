// Functions of the C library that allocate inside themselves, from the program's malloc, or take locks that a sanitizer of
// the program watches. libdw and libelf call them; the linker sends those calls here (--wrap; interpose/CMakeLists.txt).
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "interpose/base/arena.h"

extern "C" const char* strerrordesc_np(int error) __attribute__((weak));

namespace {

// ---- tsearch() and its kin: a treap. All three are replaced, for a tree of one cannot be read by another.

using Compare = int (*)(const void*, const void*);

struct Node {
  const void* key;  // first: callers read it through what tsearch() returns
  Node* left;
  Node* right;
  uint32_t priority;
};

uint32_t NextPriority() {
  static std::atomic<uint32_t> last{1};
  uint32_t x = last.load(std::memory_order_relaxed);
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  last.store(x, std::memory_order_relaxed);
  return x;
}

Node* Insert(Node* root, const void* key, Compare compare, Node** place) {
  if (root == nullptr) {
    *place = static_cast<Node*>(rdmacheck::ArenaAllocate(sizeof(Node)));
    if (*place != nullptr) **place = Node{key, nullptr, nullptr, NextPriority()};
    return *place;
  }
  const int order = compare(key, root->key);
  if (order == 0) {
    *place = root;
    return root;
  }
  Node*& side = order < 0 ? root->left : root->right;
  side = Insert(side, key, compare, place);
  if (side == nullptr || side->priority <= root->priority) return root;
  Node* const up = side;
  if (order < 0) {
    root->left = up->right;
    up->right = root;
  } else {
    root->right = up->left;
    up->left = root;
  }
  return up;
}

void Destroy(Node* root, void (*free_key)(void*)) {
  if (root == nullptr) return;
  Destroy(root->left, free_key);
  Destroy(root->right, free_key);
  free_key(const_cast<void*>(root->key));
  rdmacheck::ArenaFree(root);
}

}  // namespace

extern "C" {

void* __wrap_tsearch(const void* key, void** root, Compare compare) {
  if (root == nullptr) return nullptr;
  Node* place = nullptr;
  Node* const top = Insert(static_cast<Node*>(*root), key, compare, &place);
  if (place != nullptr) *root = top;
  return place;
}
void* __wrap_tfind(const void* key, void* const* root, Compare compare) {
  for (Node* at = root == nullptr ? nullptr : static_cast<Node*>(*root); at != nullptr;) {
    const int order = compare(key, at->key);
    if (order == 0) return at;
    at = order < 0 ? at->left : at->right;
  }
  return nullptr;
}
void __wrap_tdestroy(void* root, void (*free_key)(void*)) { Destroy(static_cast<Node*>(root), free_key); }

// The C library's takes a buffer from malloc() for more than a kilobyte. Stable, as that one is.
void __wrap_qsort(void* base, size_t count, size_t size, Compare compare) {
  auto* const bytes = static_cast<char*>(base);
  if (count < 2 || size == 0) return;
  auto** const order = static_cast<char**>(rdmacheck::ArenaAllocate(count * sizeof(char*)));
  auto* const sorted = static_cast<char*>(rdmacheck::ArenaAllocate(count * size));
  if (order == nullptr || sorted == nullptr) {
    rdmacheck::ArenaFree(order);
    rdmacheck::ArenaFree(sorted);
    // Slow, but in place.
    for (size_t i = 1; i < count; ++i) {
      for (size_t k = i; k > 0 && compare(bytes + (k - 1) * size, bytes + k * size) > 0; --k) {
        std::swap_ranges(bytes + (k - 1) * size, bytes + k * size, bytes + k * size);
      }
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) order[i] = bytes + i * size;
  std::stable_sort(order, order + count, [compare](const char* a, const char* b) { return compare(a, b) < 0; });
  for (size_t i = 0; i < count; ++i) memcpy(sorted + i * size, order[i], size);
  memcpy(bytes, sorted, count * size);
  rdmacheck::ArenaFree(sorted);
  rdmacheck::ArenaFree(order);
}

// No translation, which would load a catalogue: reports are in English.
char* __wrap_strerror(int error) {
  const char* text = &strerrordesc_np == nullptr ? nullptr : strerrordesc_np(error);
  return const_cast<char*>(text == nullptr ? "Unknown error" : text);
}
char* __wrap_gettext(const char* text) { return const_cast<char*>(text); }
char* __wrap_dgettext(const char*, const char* text) { return const_cast<char*>(text); }
char* __wrap_dcgettext(const char*, const char* text, int) { return const_cast<char*>(text); }

// libelf's, for handles that several threads share: each of ours belongs to one report.
int __wrap_pthread_rwlock_init(void*, const void*) { return 0; }
int __wrap_pthread_rwlock_destroy(void*) { return 0; }
int __wrap_pthread_rwlock_rdlock(void*) { return 0; }
int __wrap_pthread_rwlock_tryrdlock(void*) { return 0; }
int __wrap_pthread_rwlock_wrlock(void*) { return 0; }
int __wrap_pthread_rwlock_unlock(void*) { return 0; }
}

// Without a buffer it allocates. Only libdw asks so, for the file behind a descriptor, to find split units (.dwo) beside it:
// our files are in memory and have none.
extern "C" char* __real_realpath(const char* path, char* resolved);
extern "C" char* __wrap_realpath(const char* path, char* resolved) {
  return resolved == nullptr ? nullptr : __real_realpath(path, resolved);
}
