// The pointers of a context that inline verbs jump through.
#pragma once

struct ibv_context;

namespace rdmacheck::fault {

void PatchContext(ibv_context* context);
void RestoreContext(ibv_context* context);

}  // namespace rdmacheck::fault
