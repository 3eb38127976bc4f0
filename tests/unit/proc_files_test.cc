#include "interpose/base/proc_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace rdmacheck {
namespace {

// What does not hold; empty if all does. `fd` is open on /dev/null.
std::string WhatIsWrong(int fd) {
  uintptr_t low = 0, high = 0;
  const auto here = reinterpret_cast<uintptr_t>(&fd);
  if (!FindMapping(here, &low, &high) || here < low || here >= high) return "the mapping of a stack is not found";
  if (CountTasks() < 1) return "no thread is counted";
  if (!HasOpenFile("/dev/null")) return "/dev/null is not seen to be open";
  if (HasOpenFile("/dev/infiniband/")) return "a device is seen to be open";
  if (!IsOpenFile(fd, "null")) return "the descriptor is not seen to be of /dev/null";
  if (IsOpenFile(fd, "infiniband")) return "the descriptor is seen to be of a device";
  if (IsOpenFile(1 << 20, "")) return "a descriptor that is not open has a file";
  return "";
}

TEST(ProcFilesTest, TellsOfThisProcess) {
  const int fd = open("/dev/null", O_RDONLY);
  EXPECT_EQ(WhatIsWrong(fd), "");
  close(fd);
}

// Then /proc/self has neither files nor mappings.
TEST(ProcFilesTest, TellsOfAProcessWhoseMainThreadHasLeft) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    std::thread([&ends] {
      char state = 0;
      while (state != 'Z') {
        char text[256] = "";
        const std::string line(text, ReadTaskFile(getpid(), "stat", text, sizeof(text)));
        const size_t name_ends = line.rfind(") ");
        state = name_ends == std::string::npos ? '?' : line[name_ends + 2];
        usleep(1000);
      }
      const std::string wrong = WhatIsWrong(open("/dev/null", O_RDONLY)) + "\n";
      _exit(write(ends[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size()) ? 0 : 1);
    }).detach();
    syscall(SYS_exit, 0);
  }
  close(ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(said, "\n");
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rdmacheck
