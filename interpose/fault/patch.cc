#include "interpose/fault/patch.h"

#include "interpose/fault/forward.h"
#include "interpose/hooks/slot_patch.h"

namespace rdmacheck::fault {
namespace {

struct ToFault {
  template <class Row, class R, class... A>
  __attribute__((always_inline)) static R Go(R (*real)(A...), void*, A... a) {
    return Forward<Row>(real, a...);
  }
};

}  // namespace

void PatchContext(ibv_context* context) {
  if (ContextSlots* const slots = FindOrAddContextSlots(context)) PatchSlots<ToFault>(context, slots);
}

void RestoreContext(ibv_context* context) { RestoreSlots<ToFault>(context); }

}  // namespace rdmacheck::fault
