#include "interpose/libraries/loaded_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

namespace rdmacheck {
namespace {

struct Found {
  std::string name;
  uintptr_t base = 0;
  int load_segments = 0;
};

int Note(dl_phdr_info* info, size_t, void* data) {
  auto* found = static_cast<Found*>(data);
  found->name = info->dlpi_name;
  found->base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) found->load_segments += info->dlpi_phdr[i].p_type == PT_LOAD;
  return 1;
}

// Against the loader's own word.
TEST(LoadedObjectTest, SaysWhatDladdrSays) {
  void* const libraries_own[] = {reinterpret_cast<void*>(&pthread_create), reinterpret_cast<void*>(&dlopen),
                                 dlsym(RTLD_DEFAULT, "cos"), reinterpret_cast<void*>(&Note)};
  for (void* address : libraries_own) {
    ASSERT_NE(address, nullptr);
    Dl_info info;
    ASSERT_NE(dladdr(address, &info), 0);
    Found found;
    ASSERT_EQ(VisitLoadedObject(reinterpret_cast<uintptr_t>(address), &Note, &found), 1);
    EXPECT_EQ(found.base == 0 ? info.dli_fbase : reinterpret_cast<void*>(found.base), info.dli_fbase);
    EXPECT_GE(found.load_segments, 1);
  }
}

TEST(LoadedObjectTest, WhatIsNoFileIsNotVisited) {
  int local = 0;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (uintptr_t address : {uintptr_t{0}, uintptr_t{1}, reinterpret_cast<uintptr_t>(&local), reinterpret_cast<uintptr_t>(page), UINTPTR_MAX}) {
    Found found;
    EXPECT_EQ(VisitLoadedObject(address, &Note, &found), 0);
  }
  munmap(page, 4096);
}

TEST(LoadedObjectTest, OnlyWhatCanBeReadIsSaidToBe) {
  char* pages = static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  mprotect(pages + 4096, 4096, PROT_NONE);
  munmap(pages + 2 * 4096, 4096);
  uintptr_t local = 0;
  EXPECT_TRUE(CanRead(reinterpret_cast<uintptr_t>(&local)));
  EXPECT_TRUE(CanRead(reinterpret_cast<uintptr_t>(&Note)));
  EXPECT_TRUE(CanRead(reinterpret_cast<uintptr_t>(pages)));
  EXPECT_FALSE(CanRead(reinterpret_cast<uintptr_t>(pages + 4096)));
  EXPECT_FALSE(CanRead(reinterpret_cast<uintptr_t>(pages + 2 * 4096)));
  EXPECT_FALSE(CanRead(0));
  EXPECT_FALSE(CanRead(8));
  EXPECT_FALSE(CanRead(UINTPTR_MAX - 7));
  EXPECT_FALSE(CanRead(uintptr_t{1} << 62));
  munmap(pages, 2 * 4096);
}

}  // namespace
}  // namespace rdmacheck
