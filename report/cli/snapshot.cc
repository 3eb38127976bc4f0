// Asks a running program for what is alive now, and waits for the file. The signal is only sent to a process that has
// the library in it and catches that signal: anybody else would be killed by it.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "interpose/options/options.h"
#include "interpose/options/run_mark.h"
#include "report/cat.h"
#include "report/cli/calls.h"
#include "report/cli/output.h"
#include "report/cli/status.h"
#include "report/cli/terminal.h"
#include "report/errno_name.h"
#include "report/modules.h"
#include "report/reader/report_reader.h"
#include "report/sink.h"

namespace rdmacheck {
namespace {

class Target {
 public:
  explicit Target(int pid) : pid_(pid) {
    std::string error;
    const bool readable = ReadWholeFile(Path("environ"), &environment_, &error) &&
                          ReadWholeFile(Path("maps"), &maps_, &error) &&
                          ReadWholeFile(Path("status"), &status_, &error);
    if (!readable) error_ = error;
  }
  const std::string& error() const { return error_; }

  // A variable as the program got it at its start.
  const char* Variable(std::string_view name) const {
    for (size_t at = 0; at < environment_.size(); at = environment_.find('\0', at) + 1) {
      if (environment_.compare(at, name.size(), name) == 0 && environment_[at + name.size()] == '=') {
        return environment_.c_str() + at + name.size() + 1;
      }
      if (environment_.find('\0', at) == std::string::npos) break;
    }
    return nullptr;
  }
  bool HasLibrary() const { return maps_.find("/librdmacheck.so") != std::string::npos; }
  bool Catches(int signal) const {
    const size_t at = status_.find("SigCgt:");
    if (at == std::string::npos) return false;
    const unsigned long long mask = strtoull(status_.c_str() + at + 7, nullptr, 16);
    return (mask >> (signal - 1) & 1) != 0;
  }
  std::string Path(const char* name) const { return Cat("/proc/", pid_, "/", name); }
  // A path as the program means it: from its working folder, in its own view of the file system.
  std::string Seen(const std::string& path) const {
    if (path[0] != '/') return Cat(Path("cwd"), "/", path);
    return Cat(Path("root"), path);
  }
  std::string Link(const char* name) const {
    char target[PATH_MAX];
    const ssize_t n = readlink(Path(name).c_str(), target, sizeof(target));
    return n <= 0 ? std::string() : std::string(target, static_cast<size_t>(n));
  }

 private:
  const int pid_;
  std::string environment_, maps_, status_, error_;
};

// The path of the first snapshot, up to the number and from it on.
struct Pattern {
  std::string folder, before, after;
};

Pattern PatternOf(const Target& target, int pid, const Options& options) {
  std::string path = Cat("rdmacheck.", pid, ".json");
  if (!options.json_path.empty()) {
    // What %e, %h and %r stand for is known here only where the program's own variables say so.
    const std::string exe = target.Link("exe");
    PathValues values = CurrentPathValues();
    values.program = LastPart(exe);
    values.rank = RankOf([&target](const char* name) { return target.Variable(name); });
    path = ExpandPath(options.json_path, values, pid, nullptr);
  }
  const std::string seen = target.Seen(path);
  const size_t slash = seen.rfind('/');
  const std::string name = seen.substr(slash + 1);
  const size_t dot = name.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > 0;
  return {seen.substr(0, slash), Cat(name.substr(0, has_ending ? dot : name.size()), ".snapshot-"),
          has_ending ? name.substr(dot) : std::string()};
}

using Files = std::map<std::string, ino_t>;

// A snapshot is a new file that is renamed to its name, so a new inode says that one was written.
Files FilesOf(const Pattern& pattern) {
  Files files;
  for (const std::string& file : FilesIn(pattern.folder)) {
    const std::string_view name = file;
    if (name.size() <= pattern.before.size() + pattern.after.size()) continue;
    if (name.substr(0, pattern.before.size()) != pattern.before) continue;
    if (name.substr(name.size() - pattern.after.size()) != pattern.after) continue;
    const std::string_view number =
        name.substr(pattern.before.size(), name.size() - pattern.before.size() - pattern.after.size());
    if (number.find_first_not_of("0123456789") != std::string_view::npos) continue;
    struct stat info {};
    if (stat(Cat(pattern.folder, "/", name).c_str(), &info) == 0) files[file] = info.st_ino;
  }
  return files;
}

}  // namespace

int Snapshot(int pid, int timeout_seconds) {
  const Target target(pid);
  if (!target.error().empty()) {
    Say(Cat("cannot look at process ", pid, ": ", target.error()));
    return kBadUsage;
  }
  if (!target.HasLibrary()) {
    Say(Cat("process ", pid, " does not run under rdmacheck"));
    return kBadUsage;
  }
  const Options options = ParseOptions(target.Variable("RDMACHECK_OPTIONS")).options;
  int signal_number = options.snapshot_signal;
  if (signal_number == 0 && target.Variable(kRunVariable) != nullptr) signal_number = kRunSnapshotSignal;
  if (signal_number == 0) {
    Say(Cat("process ", pid,
            " has no snapshot signal: start it with `rdmacheck run`, or with snapshot_signal=N in RDMACHECK_OPTIONS"));
    return kBadUsage;
  }
  if (!target.Catches(signal_number)) {
    Say(Cat("process ", pid, " does not catch signal ", signal_number,
            ": it has called no verb yet, or handles that signal itself; it was not sent"));
    return kBadUsage;
  }
  const Pattern pattern = PatternOf(target, pid, options);
  const Files before = FilesOf(pattern);
  if (kill(pid, signal_number) != 0) {
    Say(Cat("cannot send a signal to process ", pid, ": ", ErrnoText(errno)));
    return kBadUsage;
  }
  for (int tenths = 0; tenths < timeout_seconds * 10; ++tenths) {
    for (const auto& [name, inode] : FilesOf(pattern)) {
      const auto known = before.find(name);
      if (known != before.end() && known->second == inode) continue;
      const std::string path = Cat(pattern.folder, "/", name);
      char* real = realpath(path.c_str(), nullptr);
      const std::string shown = real == nullptr ? path : real;
      free(real);
      return WriteOutput("", Cat(shown, "\n")) ? kClean : kBadUsage;
    }
    if (kill(pid, 0) != 0 && errno == ESRCH) {
      Say(Cat("process ", pid, " ended before its snapshot was written"));
      return kBadUsage;
    }
    const timespec moment{0, 100'000'000};
    nanosleep(&moment, nullptr);
  }
  Say(Cat("no snapshot from process ", pid, " in ", timeout_seconds, " s; looked for ", pattern.folder, "/",
          pattern.before, "N", pattern.after));
  return kBadUsage;
}

}  // namespace rdmacheck
