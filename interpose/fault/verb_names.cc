#include "interpose/fault/verb_names.h"

#include <cerrno>
#include <type_traits>

#include "interpose/hooks/rows.h"

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

const VerbName kVerbNames[] = {
#define PLT_VERB(library, version, symbol, argc, ...) {#symbol, kDeedOf<PltRow_##symbol::Effect>, kCanFail<PltRow_##symbol::Fn>},
#define SLOT_VERB(symbol, slot, ...) {#symbol, kDeedOf<SlotRow_##symbol::Effect>, true},
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
};
const size_t kVerbCount = sizeof(kVerbNames) / sizeof(kVerbNames[0]);

const VerbName* FindVerb(std::string_view name) {
  for (const VerbName& verb : kVerbNames) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

int UsualError(Deed deed) {
  switch (deed) {
    case Deed::kCreates: return ENOMEM;
    case Deed::kDestroys: return EBUSY;
    case Deed::kUses:
    case Deed::kGetsEvent: break;
  }
  return EINVAL;
}

}  // namespace rdmacheck::fault
