#include "report/field_names.h"

#include <cstddef>

namespace rdmacheck {
namespace {

template <size_t kCount>
const char* At(const char* const (&names)[kCount], uint64_t value) {
  return value < kCount ? names[value] : nullptr;
}

}  // namespace

const char* QpStateName(uint64_t state) {
  static constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return At(kNames, state);
}

const char* CmEventName(int type) {
  static constexpr const char* kNames[] = {
      "ADDR_RESOLVED", "ADDR_ERROR",    "ROUTE_RESOLVED", "ROUTE_ERROR",     "CONNECT_REQUEST", "CONNECT_RESPONSE",
      "CONNECT_ERROR", "UNREACHABLE",   "REJECTED",       "ESTABLISHED",     "DISCONNECTED",    "DEVICE_REMOVAL",
      "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE", "TIMEWAIT_EXIT"};
  const char* name = type < 0 ? nullptr : At(kNames, static_cast<uint64_t>(type));
  return name == nullptr ? "event" : name;
}

const char* NameOfField(std::string_view kind, std::string_view number, uint64_t value) {
  static constexpr const char* kWqStates[] = {"RESET", "RDY", "ERR"};
  static constexpr const char* kWindowTypes[] = {nullptr, "TYPE_1", "TYPE_2"};
  if (kind == "qp" && number == "state") return QpStateName(value);
  if (kind == "wq" && number == "state") return At(kWqStates, value);
  if (kind == "mw" && number == "type") return At(kWindowTypes, value);
  if (kind == "cm_event" && number == "type") return value < 16 ? CmEventName(static_cast<int>(value)) : nullptr;
  return nullptr;
}

}  // namespace rdmacheck
