// From the ledger's records to what a report says of an object.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/checker/call.h"
#include "interpose/ledger/ledger.h"
#include "report/sentences.h"

namespace rdmacheck {

class Checker;

ObjectRef Describe(Checker& checker, const Record& record);
ObjectRef DescribeDead(Checker& checker, const DeadRecord& dead);
std::vector<Number> NumbersFor(const Record& record);
ThreadRef DescribeThread(int32_t tid);
// While one lives, its thread asks the kernel once for each thread that is described.
class ThreadsDescribedOnce {
 public:
  ThreadsDescribedOnce();
  ~ThreadsDescribedOnce();
  ThreadsDescribedOnce(const ThreadsDescribedOnce&) = delete;
  ThreadsDescribedOnce& operator=(const ThreadsDescribedOnce&) = delete;
  std::unordered_map<int32_t, ThreadRef> threads;

 private:
  ThreadsDescribedOnce* const outer_;
};
std::string DeviceOf(Checker& checker, const Record& record);

// Whose the object is: made by a library for itself ("librdmacm"), or empty.
std::string OwnerNameOf(Checker& checker, const Record& record);
bool IsProgramsOwn(Checker& checker, const Record& record);
// Also what librdmacm made because the program asked for it (rdma_create_qp): counted as made by the program.
bool IsForProgram(Checker& checker, const Record& record);

// An object as small as its memory: an MR's length.
uint64_t BytesOf(const Record& record);

// A descriptor goes by close(2), which is not watched: is it still the file it was?
bool FdIsOpen(const Record& record);

// Is this record to be held against the program: made by it, in this process, not ignored, still there?
bool Counts(Checker& checker, const Record& record);

// Related objects: the first kMaxRelated one by one, the others as counts by kind and creating stack.
void AddRelated(Checker& checker, Finding* finding, Role role, const std::vector<Record>& records);

// Equal kind and creating stack, largest first.
std::vector<std::vector<const Record*>> GroupByStack(const std::vector<Record>& records);

// The fields every finding of a call has.
Finding FindingOf(Rule rule, Call& call, Statement says);
Finding FindingAtExit(Rule rule, Statement says);
// What the finding is about, and where it was created.
void SetObject(Checker& checker, Finding* finding, const Record& record);
// How many of each kind, largest first.
KindCounts CountKinds(const std::vector<Record>& records);

void FillReport(Checker& checker, Report* report);

}  // namespace rdmacheck
