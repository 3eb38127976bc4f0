// Numbers of the libraries by the names that their headers give them.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmacheck {

const char* QpStateName(uint64_t state);    // enum ibv_qp_state, without IBV_QPS_; null for other numbers
const char* CmEventName(int type);          // enum rdma_cm_event_type, without RDMA_CM_EVENT_; "event" for other numbers
// Of a number that an object has: the state of a QP or WQ, the type of a memory window. Null where the number is all there is.
const char* NameOfField(std::string_view kind, std::string_view number, uint64_t value);

}  // namespace rdmacheck
