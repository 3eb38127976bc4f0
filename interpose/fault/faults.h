// The faults of this process: read at its first verb, asked at each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rdmacheck::fault {

// A call asks by one word which faults are about its verb; its last bit is for the record of calls.
inline constexpr size_t kMaxFaults = 63;
inline constexpr uint64_t kRecordBit = uint64_t{1} << kMaxFaults;

// One call that some fault is about.
struct Passage {
  size_t verb = 0;
  int error = 0;          // not 0: it is made to fail with it
  uint64_t delays = 0;    // faults that delay it
  uint64_t losses = 0;    // faults for which this was the call that a device is lost after
};

// Is any fault about this verb? The question of every call.
bool Concerns(size_t verb);

// Counts the call and decides; waits before it. `is_cm`: a call of librdmacm's. Keeps errno.
void BeginPassage(size_t verb, bool is_cm, Passage* passage);
// What comes after the real call. Keeps errno.
void EndPassage(const Passage& passage);
// In a get of events whose read(2) has just returned one: waits if this call has such a delay.
void AfterRead();

// Around the real call of a get that is to be delayed inside.
class InsideGet {
 public:
  explicit InsideGet(const Passage& passage);
  ~InsideGet();
  InsideGet(const InsideGet&) = delete;
  InsideGet& operator=(const InsideGet&) = delete;

 private:
  const uint64_t before_;
};

}  // namespace rdmacheck::fault
