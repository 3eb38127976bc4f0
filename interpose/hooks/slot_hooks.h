// Watching the inline verbs of one context: the pointers they jump through.
#pragma once

struct ibv_context;

namespace rdmacheck {

class Checker;

void AttachSlots(Checker& checker, ibv_context* context);
void DetachSlots(ibv_context* context);

}  // namespace rdmacheck
