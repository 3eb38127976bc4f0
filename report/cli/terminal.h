// What the command shows people: whether in colour, and how far it has got.
#pragma once

#include <chrono>
#include <string>

namespace rdmacheck {

// A terminal, and nobody said NO_COLOR or TERM=dumb.
bool WantsColour(int fd);

// A bar on standard error if that is a terminal and the work takes longer than a second. Takes its line away at the
// end.
class ProgressBar {
 public:
  explicit ProgressBar(const char* what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void Show(double done);  // 0 to 1

 private:
  using Clock = std::chrono::steady_clock;
  const char* const what_;
  const bool terminal_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_{};
  bool shown_ = false;
};

// "rdmacheck: SENTENCE" on standard error; control characters are made visible.
void Say(const std::string& sentence);

}  // namespace rdmacheck
