// Where in a program a finding points to, for forms that want one place, and names that stay the same from run to run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/finding.h"
#include "report/reader/report_set.h"

namespace rdmacheck {

// "make_qp", or "libvendor.so+0x4711" where no name is known.
std::string NameOf(const Frame& frame);

// The first frame with a file and a line that lies outside rdma-core's libraries and the C library; null: none has one.
const Frame* FirstPlace(const std::vector<Frame>& frames);

// The stack whose place a finding is shown at: where it happened, but for a leak where the object was created; another
// one where that has no place.
StackId MainStack(const ReportSet& set, const Finding& finding);

// The same for the same bug in the next build: rule, kind, and function and module of each frame, without lines,
// addresses and the C library's start code. 16 hexadecimal digits.
std::string FingerprintOf(const ReportSet& set, const Finding& finding);

// What to call a process: "rank 3", or "echo (4711)"; with several hosts "rank 3 on node1".
std::string NameOf(const ReportSet& set, const SetProcess& process);

// The finding in full sentences: its message, count and size, then its hints; no line ends.
std::string Sentences(const ReportSet& set, const SetFinding& one);

// "1970-01-01T00:00:00.000Z", or empty for a time that cannot be.
std::string UtcTime(double seconds);

// "thread 4711 (worker)", one text for a thread: also where it had exited, with the name that it had anywhere in the
// process's report.
class ThreadNames {
 public:
  explicit ThreadNames(const ReportSet& set);
  std::string NameOf(uint32_t process, const ThreadRef& thread) const;

 private:
  std::map<std::pair<uint32_t, int>, std::string> names_;
};

// One object's life, as far as the report tells it.
struct Lifetime {
  uint32_t process = 0;  // index in the set
  const ObjectRef* object = nullptr;
  double begin = 0;
  double end = 0;  // 0: it lived when the report was written
  const Destroyed* destroyed = nullptr;
};
// Each object once, in order of process and begin: those alive, those destroyed last, and those that findings name.
std::vector<Lifetime> LifetimesOf(const ReportSet& set);

}  // namespace rdmacheck
