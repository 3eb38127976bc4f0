// The rows of the verbs' tables as types, for both preload libraries, and the functions that stand behind their hooks.
#pragma once

#include <errno.h>
#include <string.h>

#include <atomic>
#include <cstddef>

#include "interpose/effects/cm_effect.h"
#include "interpose/libraries/real_symbol.h"

namespace rdmacheck {

// Exported verbs and slots together, in the order of all_verbs.def; and the slots alone.
enum RowIndex : size_t {
#define PLT_VERB(library, version, symbol, argc, ...) kPltRow_##symbol,
#define SLOT_VERB(symbol, slot, ...) kSlotRow_##symbol,
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  kRowCount
};
enum SlotIndex : size_t {
#define PLT_VERB(library, version, symbol, argc, ...)
#define SLOT_VERB(symbol, slot, ...) kSlot_##symbol,
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  kSlotCount
};

#define PLT_VERB(library, version, symbol, argc, ...)     \
  struct PltRow_##symbol {                                \
    static constexpr const char* kName = #symbol;         \
    static constexpr const char* kVersion = version;      \
    static constexpr Library kLibrary = Library::library; \
    static constexpr size_t kIndex = kPltRow_##symbol;    \
    using Fn = decltype(&::symbol);                       \
    using Effect = __VA_ARGS__;                           \
  };
#define SLOT_VERB(symbol, slot, ...)                      \
  struct SlotRow_##symbol {                               \
    static constexpr const char* kName = #symbol;         \
    static constexpr size_t kIndex = kSlotRow_##symbol;   \
    static constexpr size_t kSlotIndex = kSlot_##symbol;  \
    static constexpr auto kSlot = slot;                   \
    using Effect = __VA_ARGS__;                           \
  };
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB

// An exported verb is reached in two ways. A caller that was linked (or asks dlsym for the default scope) comes to the
// exported hook, which forwards to the next definition in search order: another interposer keeps its place. A caller
// that asked a handle comes to the handle hook, which forwards to the library itself: a stub that defines ibv_* and
// fetches the real ones by dlsym would otherwise be called by its own function forever.
struct RealPointers {
  std::atomic<void*> next{nullptr};
  std::atomic<void*> in_library{nullptr};
};
template <class Row>
inline RealPointers real_pointers;

// Null: there is none.
template <class Row>
typename Row::Fn NextOf() {
  void* real = real_pointers<Row>.next.load(std::memory_order_acquire);
  if (real == nullptr) {
    const int saved = errno;
    real = FindReal(Row::kLibrary, Row::kName, Row::kVersion);
    if (real != nullptr) real_pointers<Row>.next.store(real, std::memory_order_release);
    errno = saved;
  }
  return reinterpret_cast<typename Row::Fn>(real);
}
template <class Row>
typename Row::Fn InLibrary() {
  return reinterpret_cast<typename Row::Fn>(real_pointers<Row>.in_library.load(std::memory_order_acquire));
}

// An exported verb by its name, with the hook that dlsym gives out for a handle: HandleHook<Row>::Call.
struct NamedRow {
  const char* name;
  const char* version;
  Library library;
  RealPointers* real;
  void* handle_hook;
};
template <template <class Row, class Fn> class HandleHook>
const NamedRow* FindRow(const char* name) {
  static const NamedRow kRows[] = {
#define PLT_VERB(library, version, symbol, argc, ...)                                                \
  {PltRow_##symbol::kName, PltRow_##symbol::kVersion, PltRow_##symbol::kLibrary,                     \
   &real_pointers<PltRow_##symbol>,                                                                  \
   reinterpret_cast<void*>(&HandleHook<PltRow_##symbol, PltRow_##symbol::Fn>::Call)},
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  };
  for (const NamedRow& row : kRows) {
    if (strcmp(row.name, name) == 0) return &row;
  }
  return nullptr;
}

}  // namespace rdmacheck
