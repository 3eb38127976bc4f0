#include "report/cli/marks.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "interpose/options/run_mark.h"
#include "report/cat.h"
#include "report/reader/report_reader.h"

namespace rdmacheck {
namespace {

std::string_view TakeWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

int NumberIn(std::string_view text, int otherwise) {
  int number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::vector<Image> ReadMarks(const std::string& folder) {
  std::vector<Image> images;
  std::string text, error;
  if (!ReadWholeFile(folder + "/marks", &text, &error)) return images;
  std::map<std::pair<pid_t, std::string>, size_t> index;
  std::map<pid_t, size_t> last;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view what = TakeWord(&line);
    const pid_t pid = NumberIn(TakeWord(&line), 0);
    std::string loaded(TakeWord(&line));
    if (pid <= 0 || loaded.empty() || loaded.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto [it, added] = index.emplace(std::make_pair(pid, loaded), images.size());
    if (added) {
      Image& image = images.emplace_back();
      image.pid = pid;
      image.loaded = loaded;
      const auto before = last.find(pid);
      if (before != last.end() && what == "start") images[before->second].replaced = true;
      last[pid] = images.size() - 1;
    }
    Image& image = images[it->second];
    if (what == "start" || what == "fork") {
      image.program = std::string(line);
      image.forked = what == "fork";
    } else if (what == "verbs") {
      image.called_verbs = true;
    } else if (what == "journal") {
      image.journal = std::string(line);
    } else if (what == "end") {
      image.ended = true;
      image.status = NumberIn(line, -1);
    }
  }
  return images;
}

namespace {

// The processes of the run that are alive. Others' environments cannot be read, and those of zombies are empty.
std::set<pid_t> RunningProcesses(const std::string& folder) {
  const std::string wanted = std::string(1, '\0') + kRunVariable + "=" + folder + '\0';
  std::set<pid_t> running;
  for (const std::string& name : FilesIn("/proc")) {
    std::string text, error;
    const pid_t pid = NumberIn(name, 0);
    if (pid <= 0 || !ReadWholeFile(Cat("/proc/", name, "/environ"), &text, &error)) continue;
    if ((std::string(1, '\0') + text).find(wanted) != std::string::npos) running.insert(pid);
  }
  return running;
}

// Has it been killed by SIGKILL, which its thread has only to notice? See SigPnd and ShdPnd in proc(5).
bool IsBeingKilled(pid_t pid) {
  std::string text, error;
  if (!ReadWholeFile(Cat("/proc/", pid, "/status"), &text, &error)) return false;
  for (const std::string_view name : {"\nSigPnd:\t", "\nShdPnd:\t"}) {
    const size_t at = text.find(name);
    if (at == std::string::npos) continue;
    const char* digits = text.c_str() + at + name.size();
    uint64_t pending = 0;
    std::from_chars(digits, text.c_str() + text.size(), pending, 16);
    if ((pending >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

std::vector<Image> SettledMarks(const std::string& folder, size_t* running) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience(200), kPatienceWithKilled(5000);
  const Clock::time_point began = Clock::now();
  for (;;) {
    std::set<pid_t> alive = RunningProcesses(folder);
    const auto waited = Clock::now() - began;
    const bool awaited = waited < kPatienceWithKilled && std::any_of(alive.begin(), alive.end(), &IsBeingKilled);
    if (alive.empty() || (waited > kPatience && !awaited)) {
      // Read after the look at the processes: of one that has ended all its marks are there.
      std::vector<Image> images = ReadMarks(folder);
      for (Image& image : images) {
        if (image.replaced) continue;
        if (image.ended) alive.erase(image.pid);
        image.running = alive.count(image.pid) != 0;
      }
      *running = alive.size();
      return images;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace rdmacheck
