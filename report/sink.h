// Where bytes go: the text to standard error, standard output or a file, the JSON report to a file that is replaced
// whole.
//
// The program must not be able to tell. So no descriptor is kept open between two texts, and none of the program's is
// needed where it has no more (own_descriptors.h); errno and signals are left alone; nobody waits long for a reader
// that does not read (patient_write.h). A text goes to descriptor 1 or 2 only while that is still the file it was when
// the Sink was made: a program may have closed it and got the same number for a socket. In that case the former
// standard error is opened again by its name (a file, a terminal), and what cannot be written anywhere is counted.
//
// What a terminal would act on is made visible here, whatever text it stands in (printable.h).
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/patient_write.h"

namespace rdmacheck {

// What the % sequences of a path stand for, but for the pid, which may change by a fork.
struct PathValues {
  std::string program, host, rank;
  std::string exe = {};  // of which `program` is the last part
};

// As the process is now. Reads the environment: call it early, before other threads change it.
PathValues CurrentPathValues();

// The rank that a launcher (Open MPI, PMIx, PMI, Slurm) gave a process; `variable` gives its variables, null for none.
std::string RankOf(const std::function<const char*(const char* name)>& variable);

// Replaces %p %e %h %r %%. Values lose their slashes; a rank that is not known is "norank", so that a launcher does not
// write into the file of rank 0. Any other sequence stays as it is, and `complaints` (may be null) says so.
std::string ExpandPath(std::string_view pattern, const PathValues& values, int pid,
                       std::vector<std::string>* complaints);

// A whole file at once: a temporary one in the same folder, then rename(2), so that a reader sees the old or the new
// one. What is no regular file (/dev/stdout, a pipe) is written into instead. Returns 0 or an errno value.
int ReplaceFile(const std::string& path, std::string_view bytes);

// All functions may be called by any thread at any time; none of them throws, takes a lock or changes errno.
class Sink {
 public:
  // `log_path`: "stderr", "stdout" or a pattern; `json_path`: a pattern, or empty for none.
  Sink(std::string_view log_path, std::string_view json_path, PathValues values = CurrentPathValues());
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // What was wrong with the two patterns, a sentence each.
  const std::vector<std::string>& complaints() const { return complaints_; }

  // Writes a text by one write(2) where the system takes it whole. Files are appended to, and made if need be. If the
  // place cannot be written, the text goes to standard error, and the first time a sentence says why.
  void WriteText(std::string_view text);

  // "==PID==rdmacheck: SENTENCE" and a newline, to where texts go.
  void Tell(std::string_view sentence);

  // Replaces the JSON report, or another file. A failure is reported as a sentence with path and reason;
  // ReplaceAndTell returns it too, as an errno value.
  bool ReplaceJson(std::string_view document);
  int ReplaceAndTell(const std::string& path, std::string_view document);

  bool has_json() const { return !json_pattern_.empty(); }
  // False, and told once: the program has forbidden itself what writing it takes (frugal.h).
  bool CanWriteJson();
  // As they were when this was made.
  const PathValues& values() const { return values_; }
  std::string JsonPath() const;  // for this process, now
  std::string LogPath() const;   // the same; "stderr" and "stdout" stand for themselves

  // Texts that no place took.
  uint64_t lost_texts() const { return lost_texts_.load(std::memory_order_relaxed); }

 private:
  // A standard descriptor as it was at the start.
  class Stream {
   public:
    explicit Stream(int fd);
    int Write(std::string_view text) const;  // 0 or an errno value

   private:
    int fd_;
    bool open_;
    struct stat start_ = {};
    StreamKind kind_ = StreamKind::kFile;
    std::string path_;  // empty: it has no name
  };

  enum class Place : uint8_t { kStderr, kStdout, kFile };

  void WriteToStderr(std::string_view text);

  const Place place_;
  const std::string log_pattern_;
  const std::string json_pattern_;
  const PathValues values_;
  const Stream stdout_;
  const Stream stderr_;
  std::vector<std::string> complaints_;  // constant after the constructor
  std::atomic<bool> told_fallback_{false};
  std::atomic<bool> told_json_{false};
  std::atomic<uint64_t> lost_texts_{0};
};

}  // namespace rdmacheck
