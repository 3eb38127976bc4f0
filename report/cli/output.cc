#include "report/cli/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/cat.h"
#include "report/cli/terminal.h"
#include "report/errno_name.h"
#include "report/sink.h"

namespace rdmacheck {

int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

bool WriteOutput(const std::string& path, std::string_view text) {
  const bool standard = path.empty() || path == "-";
  const int error = standard ? WriteAll(STDOUT_FILENO, text) : ReplaceFile(path, text);
  if (error != 0) Say(Cat("cannot write ", standard ? "to standard output" : path, ": ", ErrnoText(error)));
  return error == 0;
}

bool CheckOutput(const std::string& path) {
  if (path.empty() || path == "-") return true;
  struct stat info {};
  int error = 0;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      error = EISDIR;
    } else if (access(path.c_str(), W_OK) != 0) {
      error = errno;
    }
  } else {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (access(folder.c_str(), W_OK | X_OK) != 0) error = errno;
  }
  if (error != 0) Say(Cat("cannot write ", path, ": ", ErrnoText(error)));
  return error == 0;
}

}  // namespace rdmacheck
