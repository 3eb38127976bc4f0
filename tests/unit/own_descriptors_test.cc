#include "report/own_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "no_free_descriptor.h"
#include "report/mapped_file.h"

namespace rdmacheck {
namespace {

int forks = 0, children = 0;

int OpenNull(void* opened) {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  *static_cast<int*>(opened) = fd;
  return fd < 0 ? errno : 0;
}

TEST(OwnDescriptorsTest, AFileCanBeOpenedAtTheLimit) {
  int opened = -2;
  const NoFreeDescriptor none;
  ASSERT_EQ(open("/dev/null", O_RDONLY), -1);
  ASSERT_EQ(errno, EMFILE);
  errno = EXDEV;
  EXPECT_EQ(WithOwnDescriptors(&OpenNull, &opened), 0);
  EXPECT_EQ(errno, EXDEV);
  EXPECT_EQ(opened, 0);
  EXPECT_EQ(fcntl(0, F_GETFD), 0) << "the program's own number 0 is still open";
}

TEST(OwnDescriptorsTest, TheProgramCannotTell) {
  pthread_atfork([] { ++forks; }, nullptr, nullptr);
  struct sigaction before, count;
  memset(&count, 0, sizeof(count));
  count.sa_handler = [](int) { ++children; };
  sigaction(SIGCHLD, &count, &before);
  sigset_t mask_before, mask_after;
  sigemptyset(&mask_before);
  sigemptyset(&mask_after);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  int opened = -1;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(WithOwnDescriptors(&OpenNull, &opened), 0);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(memcmp(&mask_before, &mask_after, 8), 0);
  EXPECT_EQ(forks, 0);
  EXPECT_EQ(children, 0);
  EXPECT_EQ(waitpid(-1, nullptr, __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(OwnDescriptorsTest, ItsErrorIsReturned) {
  EXPECT_EQ(WithOwnDescriptors([](void*) { return ENOSPC; }, nullptr), ENOSPC);
}

TEST(MappedFileTest, AFileIsMappedAtTheLimitToo) {
  const NoFreeDescriptor none;
  const MappedFile file("/proc/self/exe");
  ASSERT_GT(file.bytes().size(), 4u);
  EXPECT_EQ(file.bytes().substr(1, 3), "ELF");
  EXPECT_TRUE(IsStillWhole(file.bytes()));
}

TEST(MappedFileTest, WhatIsNoRegularFileIsEmpty) {
  for (const std::string path : {"/no/such/file", "/tmp", "/dev/zero", "/proc/self/maps"}) {
    errno = EXDEV;
    EXPECT_TRUE(MappedFile(path).empty()) << path;
    EXPECT_EQ(errno, EXDEV);
  }
  EXPECT_FALSE(IsStillWhole({}));
}

}  // namespace
}  // namespace rdmacheck
