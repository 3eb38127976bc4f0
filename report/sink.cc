#include "report/sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "report/cat.h"
#include "report/errno_name.h"
#include "report/frugal.h"
#include "report/modules.h"
#include "report/own_descriptors.h"
#include "report/printable.h"
#include "report/process_id.h"
#include "report/quiet_scope.h"
#include "report/sentences.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

// One file to open, write and close.
struct Job {
  const char* path;
  int flags;
  std::string_view text;
  // If there is one: the file that it must be.
  const struct stat* expected;
};

// 0 or an errno value. O_NONBLOCK so that a FIFO that nobody reads fails instead of stopping the program.
int DoJob(void* data) {
  const auto* job = static_cast<const Job*>(data);
  const int fd = open(job->path, job->flags | O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (fd < 0) return errno;
  struct stat now = {};
  int error = fstat(fd, &now) != 0 ? errno : 0;
  if (error == 0 && job->expected != nullptr &&
      (now.st_dev != job->expected->st_dev || now.st_ino != job->expected->st_ino)) {
    error = EBADF;
  }
  if (error == 0) error = WritePatiently(fd, StreamKindOf(fd, now.st_mode), job->text);
  // NFS and quotas tell of a failed write only here.
  return close(fd) != 0 && error == 0 && errno != EINTR ? errno : error;
}

// A program whose descriptors have run out is just the one that has something to read about it.
int WriteThrough(const char* path, int flags, std::string_view text, const struct stat* expected = nullptr) {
  Job job = {path, flags, text, expected};
  const BlockedSignals blocked;
  const int error = DoJob(&job);
  return error == EMFILE ? WithOwnDescriptors(&DoJob, &job) : error;
}

std::string ReadLink(const char* path) {
  std::string target(PATH_MAX, '\0');  // not on a stack that may be small
  const ssize_t n = readlink(path, target.data(), target.size());
  target.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return target;
}

std::string WithoutSlashes(std::string value) {
  std::replace(value.begin(), value.end(), '/', '_');
  return value;
}

}  // namespace

PathValues CurrentPathValues() {
  const QuietScope quiet;
  PathValues values;
  values.exe = ReadLink("/proc/self/exe");
  values.program = LastPart(values.exe);
  char host[HOST_NAME_MAX + 1] = "";
  if (gethostname(host, sizeof(host) - 1) == 0) values.host = host;
  values.rank = RankOf(&getenv);
  return values;
}

std::string RankOf(const std::function<const char*(const char*)>& variable) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* rank = variable(name);
    if (rank != nullptr && *rank != '\0') return rank;
  }
  return {};
}

std::string ExpandPath(std::string_view pattern, const PathValues& values, int pid,
                       std::vector<std::string>* complaints) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const char what = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    ++i;
    switch (what) {
      case 'p':
        Append(&path, pid);
        break;
      case 'e':
        path += values.program.empty() ? "unknown" : WithoutSlashes(values.program);
        break;
      case 'h':
        path += values.host.empty() ? "unknown" : WithoutSlashes(values.host);
        break;
      case 'r':
        path += values.rank.empty() ? "norank" : WithoutSlashes(values.rank);
        break;
      case '%':
        path += '%';
        break;
      default:
        --i;
        path += '%';
        if (complaints != nullptr) {
          complaints->push_back(
              Words(Is<Sentence::kUnknownSequence>(std::string(pattern.substr(i, 2)), std::string(pattern))));
        }
    }
  }
  return path;
}

int ReplaceFile(const std::string& path, std::string_view bytes) {
  const QuietScope quiet;
  struct stat target = {};
  const bool exists = stat(path.c_str(), &target) == 0;
  if (exists && S_ISDIR(target.st_mode)) return EISDIR;
  if (exists && !S_ISREG(target.st_mode)) return WriteThrough(path.c_str(), 0, bytes);

  // Through a symbolic link, the file behind it is replaced, not the link.
  std::string real_path = path;
  std::string resolved(PATH_MAX, '\0');
  if (exists && realpath(path.c_str(), &resolved[0]) != nullptr) real_path = resolved.c_str();
  static std::atomic<unsigned> counter{0};
  for (int tries = 0;; ++tries) {
    const std::string temporary = Cat(real_path, ".", ProcessId(), "-", counter.fetch_add(1), ".tmp");
    // O_EXCL: never through a link that somebody laid in a folder that all may write.
    int error = WriteThrough(temporary.c_str(), O_CREAT | O_EXCL, bytes);
    if (error == EEXIST && tries < 100) continue;  // left by a process that had our pid
    if (error == 0 && rename(temporary.c_str(), real_path.c_str()) == 0) return 0;
    if (error == 0) error = errno;
    if (error != EEXIST) unlink(temporary.c_str());
    return error;
  }
}

Sink::Stream::Stream(int fd) : fd_(fd), open_(false) {
  const QuietScope quiet;
  if (fstat(fd, &start_) != 0) return;
  open_ = true;
  kind_ = StreamKindOf(fd, start_.st_mode);
  const std::string name = ReadLink(Cat("/proc/self/fd/", fd).c_str());
  if (!name.empty() && name.front() == '/') path_ = name;
}

int Sink::Stream::Write(std::string_view text) const {
  if (!open_) return EBADF;
  struct stat now = {};
  if (Frugal() || (fstat(fd_, &now) == 0 && now.st_dev == start_.st_dev && now.st_ino == start_.st_ino)) {
    const BlockedSignals blocked;
    return WritePatiently(fd_, kind_, text);
  }
  if (path_.empty()) return EBADF;
  return WriteThrough(path_.c_str(), O_APPEND, text, &start_);
}

Sink::Sink(std::string_view log_path, std::string_view json_path, PathValues values)
    : place_(log_path == "stderr" || log_path.empty() ? Place::kStderr
             : log_path == "stdout"                   ? Place::kStdout
                                                      : Place::kFile),
      log_pattern_(log_path.empty() ? "stderr" : log_path),
      json_pattern_(json_path),
      values_(std::move(values)),
      stdout_(STDOUT_FILENO),
      stderr_(STDERR_FILENO) {
  ExpandPath(log_pattern_, values_, 0, &complaints_);
  ExpandPath(json_pattern_, values_, 0, &complaints_);
}

std::string Sink::LogPath() const { return ExpandPath(log_pattern_, values_, ProcessId(), nullptr); }
std::string Sink::JsonPath() const { return ExpandPath(json_pattern_, values_, ProcessId(), nullptr); }

void Sink::WriteToStderr(std::string_view text) {
  if (stderr_.Write(text) != 0) lost_texts_.fetch_add(1, std::memory_order_relaxed);
}

void Sink::WriteText(std::string_view foreign_text) {
  if (foreign_text.empty()) return;
  const QuietScope quiet;
  const std::string text = PrintableLines(foreign_text);
  if (place_ == Place::kStderr || (place_ == Place::kFile && Frugal())) return WriteToStderr(text);
  const std::string path = LogPath();
  const int error =
      place_ == Place::kStdout ? stdout_.Write(text) : WriteThrough(path.c_str(), O_CREAT | O_APPEND, text);
  if (error == 0) return;
  if (!told_fallback_.exchange(true)) {
    WriteToStderr(ToldLine(ProcessId(), Is<Sentence::kLogNotWritten>(Printable(path), ErrnoText(error))));
  }
  WriteToStderr(text);
}

void Sink::Tell(std::string_view sentence) {
  WriteText(Cat("==", ProcessId(), "==rdmacheck: ", Printable(sentence), "\n"));
}

int Sink::ReplaceAndTell(const std::string& path, std::string_view document) {
  const int error = ReplaceFile(path, document);
  if (error != 0) Tell(Words(Is<Sentence::kNotWritten>(path, ErrnoText(error))));
  return error;
}

bool Sink::CanWriteJson() {
  if (!Frugal()) return true;
  if (!told_json_.exchange(true)) Tell(Words(Is<Sentence::kJsonForbidden>()));
  return false;
}

bool Sink::ReplaceJson(std::string_view document) {
  if (!has_json()) return false;
  const std::string path = JsonPath();
  const int error = ReplaceFile(path, document);
  // The report is written at each close that found something: once is enough to say that it cannot be.
  if (error != 0 && !told_json_.exchange(true)) Tell(Words(Is<Sentence::kNotWritten>(path, ErrnoText(error))));
  return error == 0;
}

}  // namespace rdmacheck
