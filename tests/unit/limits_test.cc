#include "report/limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "no_free_descriptor.h"
#include "report/cat.h"

namespace rdmacheck {
namespace {

TEST(LimitsTest, DescriptorsInUseAreCountedAlsoWhenNoneIsLeft) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit few = {200, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const std::string before = UseOfDescriptors();
  const int fd = open("/dev/null", O_RDONLY);
  EXPECT_NE(UseOfDescriptors(), before);
  close(fd);
  EXPECT_EQ(UseOfDescriptors(), before);
  EXPECT_FALSE(NoDescriptorIsLeft());
  EXPECT_NE(before.find(" of the 200 descriptors that RLIMIT_NOFILE allows are in use"), std::string::npos) << before;
  {
    const NoFreeDescriptor none;
    EXPECT_TRUE(NoDescriptorIsLeft());
    rlimit all;
    getrlimit(RLIMIT_NOFILE, &all);
    EXPECT_EQ(UseOfDescriptors(), Cat("all ", all.rlim_cur, " descriptors that RLIMIT_NOFILE allows are in use"));
  }
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(LimitsTest, LockedMemoryIsReadAlsoWithoutADescriptor) {
  rlimit limit;
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const rlimit some = {64 << 10, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &some), 0);
  EXPECT_EQ(UseOfLockedMemory(), "0 bytes of memory are pinned and 0 bytes locked; RLIMIT_MEMLOCK allows 64 KiB");
  void* page = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(mlock(page, 8192), 0);
  {
    const NoFreeDescriptor none;
    EXPECT_EQ(UseOfLockedMemory(), "0 bytes of memory are pinned and 8.0 KiB locked; RLIMIT_MEMLOCK allows 64 KiB");
  }
  munmap(page, 8192);
  setrlimit(RLIMIT_MEMLOCK, &limit);
}

}  // namespace
}  // namespace rdmacheck
