// What lives, by three accounts: the kernel's, the checker's, and the driver's own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "world.h"

namespace truth {

struct Account {
  std::map<std::string, size_t> counts;                   // by kind, as reports spell it
  std::map<std::string, std::vector<uint32_t>> numbers;   // "qp": qpn, "mr": lkey; sorted
};

// `rdma -j resource show` for this process. Kinds: context pd mr cq qp srq.
bool FromKernel(Account* account, std::string* error);
// The ledger's list, by rdmacheck_snapshot(); and a line for each finding that is more than a note.
bool FromChecker(Account* account, std::string* findings, std::string* error);
Account FromDriver(const World& world);

// Where the first two, or the last two, do not agree; empty if they do.
std::string Compare(const Account& kernel, const Account& checker, const Account& driver);

}  // namespace truth
