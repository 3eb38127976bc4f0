// What RDMACHECK_FAULTS and `rdmacheck run --fault` say: which calls are made to fail, to wait, or to find their device
// gone. docs/faults.md has the words. Knows no verbs but their names; the command links it too, to check what it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmacheck::fault {

enum class Does : uint8_t { kFail, kDelay, kDisassociate, kRecord };
// Where a delay is made. After the read: in a get, between the kernel handing out the event and the library looking at it.
enum class Place : uint8_t { kBefore, kAfterRead, kAfter };
enum class Kernel : uint8_t { kModern, k418 };

struct Fault {
  std::string text;  // as it was written
  Does does = Does::kFail;
  // ---- which calls (not of a disassociation)
  std::string verb;            // a name, or a pattern with *
  uint64_t nth = 0;            // only this one of them, from 1; 0: all
  double rate = 1;             // of all, at random
  uint64_t seed = 0;           // of that
  uint64_t after = 0;          // only later than this after the first verb of the process, in nanoseconds
  std::string caller;          // a pattern; only if a file on the stack has such a name
  uint64_t times = 0;          // at most so often; 0: no limit
  std::string program;         // a pattern; only in processes of that name
  // ---- what becomes of them
  int error = 0;               // an errno value; 0: the verb's usual one
  Place place = Place::kBefore;
  uint64_t delay = 0;          // nanoseconds
  // ---- disassociation: the trigger is a time (after), a signal, or the end of call number `nth` of `verb`
  int signal = 0;
  std::string device;          // a pattern; empty: all
  Kernel kernel = Kernel::kModern;
  // ---- a record of all calls
  std::string file;
};

// One thing that is wrong with a text, and where: `at` counts characters from 1.
struct Complaint {
  size_t at = 0;
  std::string sentence;
};

struct Spec {
  std::vector<Fault> faults;
  std::vector<Complaint> complaints;  // each is of one fault, which is left out; the others hold
};

// One or more faults, separated by white space or semicolons. `text` may be null.
Spec ParseSpec(const char* text);

// What stands in a complaint, with what it is about: `RDMACHECK_FAULTS, character 15: …`.
std::string InWords(std::string_view source, const Complaint& complaint);

}  // namespace rdmacheck::fault
