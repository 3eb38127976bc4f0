#include "report/cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "report/cat.h"
#include "report/printable.h"

namespace rdmacheck {

bool WantsColour(int fd) {
  const char* no_color = getenv("NO_COLOR");
  if (no_color != nullptr && no_color[0] != '\0') return false;
  const char* term = getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb" || term[0] == '\0') return false;
  return isatty(fd) == 1;
}

ProgressBar::ProgressBar(const char* what) : what_(what), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) fputs("\r\x1b[K", stderr);
}

void ProgressBar::Show(double done) {
  constexpr int kWidth = 40;
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const int full = static_cast<int>(std::clamp(done, 0.0, 1.0) * kWidth);
  const std::string bar =
      std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(kWidth - full), '.');
  fprintf(stderr, "\r%s [%s] %3.0f %%", what_, bar.c_str(), done * 100);
  fflush(stderr);
}

void Say(const std::string& sentence) {
  const std::string line = Cat("rdmacheck: ", Printable(sentence), "\n");
  fwrite(line.data(), 1, line.size(), stderr);
  fflush(stderr);
}

}  // namespace rdmacheck
