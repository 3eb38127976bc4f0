// What Numbers::a, b and c hold for each kind, under the names that people know them by. verbs/numbers.h writes them.
#pragma once

#include <cstdint>

#include "interpose/ledger/entry.h"

namespace rdmacheck {

enum class NumberPart : uint8_t { kAll, kLow, kHigh, kSwapped };  // kSwapped: in network order

struct NumberName {
  Kind kind;
  const char* name;
  uint8_t word;  // 0: a, 1: b, 2: c
  NumberPart part;
  bool hex;
};

inline constexpr NumberName kNumberNames[] = {
    {Kind::kContext, "cmd_fd", 0, NumberPart::kLow, false},
    {Kind::kContext, "async_fd", 0, NumberPart::kHigh, false},
    {Kind::kDeviceList, "devices", 0, NumberPart::kAll, false},
    {Kind::kCmDeviceList, "devices", 0, NumberPart::kAll, false},
    {Kind::kMr, "lkey", 2, NumberPart::kLow, true},
    {Kind::kMr, "rkey", 2, NumberPart::kHigh, true},
    {Kind::kMr, "addr", 0, NumberPart::kAll, true},
    {Kind::kMr, "length", 1, NumberPart::kAll, false},
    {Kind::kMw, "rkey", 0, NumberPart::kAll, true},
    {Kind::kMw, "type", 2, NumberPart::kAll, false},
    {Kind::kQp, "qpn", 0, NumberPart::kAll, true},
    {Kind::kQp, "state", 2, NumberPart::kAll, false},
    {Kind::kCq, "cqe", 0, NumberPart::kAll, false},
    {Kind::kCompChannel, "fd", 0, NumberPart::kAll, false},
    {Kind::kDmabufFd, "fd", 0, NumberPart::kAll, false},
    {Kind::kBuf, "addr", 0, NumberPart::kAll, true},
    {Kind::kBuf, "length", 1, NumberPart::kAll, false},
    {Kind::kPd, "handle", 0, NumberPart::kAll, false},
    {Kind::kParentDomain, "handle", 0, NumberPart::kAll, false},
    {Kind::kSrq, "handle", 0, NumberPart::kAll, false},
    {Kind::kAh, "handle", 0, NumberPart::kAll, false},
    {Kind::kFlow, "handle", 0, NumberPart::kAll, false},
    {Kind::kDm, "handle", 0, NumberPart::kAll, false},
    {Kind::kWq, "wq_num", 0, NumberPart::kAll, true},
    {Kind::kRwqIndTable, "ind_tbl_num", 0, NumberPart::kAll, true},
    {Kind::kMcast, "lid", 0, NumberPart::kAll, true},
    {Kind::kMcast, "gid_prefix", 1, NumberPart::kSwapped, true},
    {Kind::kMcast, "gid_id", 2, NumberPart::kSwapped, true},
    {Kind::kReservedQpn, "qpn", 0, NumberPart::kAll, true},
    {Kind::kCmChannel, "fd", 0, NumberPart::kAll, false},
    {Kind::kRsocket, "fd", 0, NumberPart::kAll, false},
};

constexpr bool HasNumberNames(Kind kind) {
  for (const NumberName& one : kNumberNames) {
    if (one.kind == kind) return true;
  }
  return false;
}

inline uint64_t NumberIn(uint64_t word, NumberPart part) {
  switch (part) {
    case NumberPart::kAll: return word;
    case NumberPart::kLow: return static_cast<uint32_t>(word);
    case NumberPart::kHigh: return word >> 32;
    case NumberPart::kSwapped: return __builtin_bswap64(word);
  }
  return word;
}

}  // namespace rdmacheck
