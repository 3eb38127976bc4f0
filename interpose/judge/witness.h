// The kernel as a witness (verify=kernel): is what the ledger holds what the kernel lists for this process?
//
// The kernel names an object's thread as long as that lives. What it names no thread for belongs to this process if its
// context does; of what is on a context whose thread has exited and on which nothing else is ours, nothing is known, and it
// counts for neither side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "interpose/base/kernel_list.h"
#include "interpose/checker/checker.h"
#include "interpose/ledger/entry.h"

namespace rdmacheck {

// One object of the ledger, as far as the comparison goes.
struct Seen {
  Listed kind{};
  std::string device;
  uint32_t number = kNoNumber;  // a QP's; of others unknown
  uint32_t lkey = 0;            // an MR's
  bool made_here = false;       // its creation was seen, in this process
  bool imported = false;        // another handle to an object, which may be the only one left
  bool sure = false;            // the kernel lists it for certain as long as it lives
  Slot slot = 0;
  Serial serial = 0;
};

struct Difference {
  std::string device;
  Listed kind{};
  uint64_t unwatched = 0;                // how many the kernel has more
  std::vector<KernelObject> which;       // those of them that can be told from the others
  std::vector<size_t> gone;              // of `seen`: those that the kernel surely does not have any more
};

// Pure. `is_ours`: does this thread belong to the process?
std::vector<Difference> Differences(const std::vector<KernelDevice>& kernel, const std::vector<Seen>& seen,
                                    const std::function<bool(int32_t)>& is_ours);

// Compares, if verify=kernel; reports unwatched-object, and drops from the ledger what the kernel no longer has. `call`: the
// close under way, or null (a snapshot, the end).
void CompareWithKernel(Checker& checker, Call* call);

// The same for a list that was read, without a look at what other threads do.
void JudgeKernelList(Checker& checker, Call* call, const std::vector<KernelDevice>& kernel);

// A context was closed. The kernel may go on listing it: a forked child, a duplicate of its descriptor or a mapping keeps it.
void NoteClosed(Checker& checker, const Record& context);

// At load, if verify=kernel: what the program that ran exec in this process left to it, if a descriptor of a device is open.
void NoteInherited(Checker& checker);

// For a process that called no verb: does the kernel list an object of it all the same?
bool KernelListsOurs();

// The kinds that were compared at least once.
std::vector<std::string> VerifiedKinds(Checker& checker);

}  // namespace rdmacheck
