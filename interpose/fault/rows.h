// The rows of the verbs' tables as types, with what a fault has to know of them. A new verb gets its faults by its row.
#pragma once

#include <cstddef>
#include <type_traits>

#include "interpose/fault/verb_names.h"
#include "interpose/effects/cm_effect.h"
#include "interpose/libraries/real_symbol.h"

namespace rdmacheck::fault {

template <class Effect>
inline constexpr Deed kDeedOf = Effect::kGetsEvent                 ? Deed::kGetsEvent
                                : Effect::kDestroys                ? Deed::kDestroys
                                : Effect::kCreates != Kind::kNone ? Deed::kCreates
                                                                   : Deed::kUses;

template <class Fn>
inline constexpr bool kCanFail = false;
template <class R, class... A>
inline constexpr bool kCanFail<R (*)(A...)> = !std::is_void_v<R>;

enum VerbIndex : size_t {
#define PLT_VERB(library, version, symbol, argc, ...) kPlt_##symbol,
#define SLOT_VERB(symbol, slot, ...) kSlot_##symbol,
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
};

#define PLT_VERB(library, version, symbol, argc, ...)     \
  struct PltRow_##symbol {                                \
    static constexpr const char* kName = #symbol;         \
    static constexpr const char* kVersion = version;      \
    static constexpr Library kLibrary = Library::library; \
    static constexpr size_t kIndex = kPlt_##symbol;       \
    using Fn = decltype(&::symbol);                       \
    using Effect = __VA_ARGS__;                           \
  };
#define SLOT_VERB(symbol, slot, ...)                \
  struct SlotRow_##symbol {                         \
    static constexpr const char* kName = #symbol;   \
    static constexpr size_t kIndex = kSlot_##symbol; \
    static constexpr auto kSlot = slot;             \
    using Effect = __VA_ARGS__;                     \
  };
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB

}  // namespace rdmacheck::fault
