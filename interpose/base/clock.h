// The two clocks of the checker. Objects are stamped with the coarse one (a few ns to read, 4 ms fine).
#pragma once

#include <time.h>

#include <cstdint>

namespace rdmacheck {

inline uint64_t NanosOf(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// Set once, by the first reader.
struct StartTime {
  uint64_t monotonic = NanosOf(CLOCK_MONOTONIC_COARSE);
  double epoch = static_cast<double>(NanosOf(CLOCK_REALTIME)) * 1e-9;
};
inline const StartTime& Start() {
  static const StartTime start;
  return start;
}

// Hundredths of a second since the checker started: 32 bits last 497 days.
inline uint32_t NowStamp() {
  return static_cast<uint32_t>((NanosOf(CLOCK_MONOTONIC_COARSE) - Start().monotonic) / 10000000u);
}
inline double EpochOf(uint32_t stamp) { return Start().epoch + stamp * 0.01; }
inline double AgeOf(uint32_t stamp) {
  const uint32_t now = NowStamp();
  return now > stamp ? (now - stamp) * 0.01 : 0;
}
inline double EpochNow() { return static_cast<double>(NanosOf(CLOCK_REALTIME)) * 1e-9; }

}  // namespace rdmacheck
