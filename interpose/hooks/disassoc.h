// Whether libibverbs lets a destroy that answers EIO count as done (RDMAV_ALLOW_DISASSOC_DESTROY).
#pragma once

namespace rdmacheck {

// As libibverbs itself has decided; call it after the first ibv_get_device_list. Falls back on the environment, by
// libibverbs' own rule ("0" means off).
bool LibibverbsAllowsDisassociation();

}  // namespace rdmacheck
