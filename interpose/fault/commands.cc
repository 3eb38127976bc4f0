#include "interpose/fault/commands.h"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <cstdint>

namespace rdmacheck::fault {
namespace {

Command OfWriteNumber(uint32_t command) {
  if ((command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0) {
    switch (command & 0xff) {
      case IB_USER_VERBS_EX_CMD_DESTROY_FLOW:
      case IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL:
        return Command::kDestroys;
      case IB_USER_VERBS_EX_CMD_DESTROY_WQ:
        return Command::kDestroysWithCounts;
      default:
        return Command::kOther;
    }
  }
  switch (command & 0xff) {
    case IB_USER_VERBS_CMD_DEALLOC_PD:
    case IB_USER_VERBS_CMD_DESTROY_AH:
    case IB_USER_VERBS_CMD_DEREG_MR:
    case IB_USER_VERBS_CMD_DEALLOC_MW:
    case IB_USER_VERBS_CMD_CLOSE_XRCD:
      return Command::kDestroys;
    case IB_USER_VERBS_CMD_DESTROY_CQ:
    case IB_USER_VERBS_CMD_DESTROY_QP:
    case IB_USER_VERBS_CMD_DESTROY_SRQ:
      return Command::kDestroysWithCounts;
    default:
      return Command::kOther;
  }
}

struct Destroy {
  uint16_t object, method;
  Command command;
};
constexpr Destroy kDestroys[] = {
    {UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, Command::kDestroysWithCounts},
    {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, Command::kDestroysWithCounts},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, Command::kDestroysWithCounts},
    {UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, Command::kDestroysWithCounts},
    {UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY, Command::kDestroys},
    {UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, Command::kDestroys},
    {UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY, Command::kDestroys},
    // UVERBS_OBJECT_DMAH and UVERBS_METHOD_DMAH_FREE, which older headers lack.
    {17, 1, Command::kDestroys},
};

}  // namespace

Command CommandOf(unsigned long request, const void* argument) {
  if (request != RDMA_VERBS_IOCTL || argument == nullptr) return Command::kOther;
  const auto* const header = static_cast<const ib_uverbs_ioctl_hdr*>(argument);
  if (header->object_id == UVERBS_OBJECT_DEVICE && header->method_id == UVERBS_METHOD_INVOKE_WRITE) {
    for (uint16_t i = 0; i < header->num_attrs; ++i) {
      if (header->attrs[i].attr_id == UVERBS_ATTR_WRITE_CMD) return OfWriteNumber(static_cast<uint32_t>(header->attrs[i].data));
    }
    return Command::kOther;
  }
  for (const Destroy& destroy : kDestroys) {
    if (destroy.object == header->object_id && destroy.method == header->method_id) return destroy.command;
  }
  return Command::kOther;
}

Command CommandOfWrite(const void* command, size_t size) {
  if (size < sizeof(ib_uverbs_cmd_hdr)) return Command::kOther;
  return OfWriteNumber(static_cast<const ib_uverbs_cmd_hdr*>(command)->command);
}

}  // namespace rdmacheck::fault
