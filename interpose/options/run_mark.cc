#include "interpose/options/run_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/frugal.h"
#include "report/process_id.h"

namespace rdmacheck {
namespace {

// Set once by the constructor, before any thread of the program.
char folder[PATH_MAX];
unsigned long long image = 0;  // when it was loaded: tells two images of one pid apart

// One write(2) to a file opened for appending, so that the lines of many processes do not mix.
void Mark(const char* what, const char* more) {
  if (folder[0] == '\0' || Frugal()) return;  // a filter may kill for what this asks of the kernel
  const int saved = errno;
  char path[PATH_MAX + 8];
  snprintf(path, sizeof(path), "%s/marks", folder);
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) {
    char line[PATH_MAX + 128];
    const int length = snprintf(line, sizeof(line), "%s %d %llu %s\n", what, ProcessId(), image, more);
    if (length > 0 && write(fd, line, static_cast<size_t>(length)) < 0) errno = saved;
    close(fd);
  }
  errno = saved;
}

}  // namespace

void RunMarkLoaded() {
  const int saved = errno;
  const char* run = getenv(kRunVariable);
  if (run != nullptr && run[0] == '/' && strlen(run) < sizeof(folder)) {
    strcpy(folder, run);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    image = static_cast<unsigned long long>(now.tv_sec) * 1000000000u + static_cast<unsigned long long>(now.tv_nsec);
    Mark("start", program_invocation_short_name);
  }
  const char* alone = getenv(kRunAloneVariable);
  if (alone != nullptr) {
    if (alone[0] != '\0') {
      setenv("LD_PRELOAD", alone, 1);
    } else {
      unsetenv("LD_PRELOAD");
    }
    unsetenv(kRunVariable);
    unsetenv(kRunAloneVariable);
  }
  errno = saved;
}

void RunMarkVerbs() { Mark("verbs", ""); }
void RunMarkForked() { Mark("fork", program_invocation_short_name); }
void RunMarkSnapshot(const char* path) { Mark("snapshot", path); }
void RunMarkJournal(const char* path) { Mark("journal", path); }
bool UnderRun() { return folder[0] != '\0'; }

void RunMarkEnded(int status) {
  char text[16];
  snprintf(text, sizeof(text), "%d", status);
  Mark("end", text);
}

namespace {

std::string RunFile(const char* ending) {
  if (folder[0] == '\0') return std::string();
  char name[64];
  snprintf(name, sizeof(name), "/%d-%llu.%s", ProcessId(), image, ending);
  return std::string(folder) + name;
}

}  // namespace

std::string RunReportPath() { return RunFile("json"); }
std::string RunJournalPath() { return RunFile("journal"); }

}  // namespace rdmacheck
