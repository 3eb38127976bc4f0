#include "report/elf_file.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace rdmacheck {
namespace {

std::string TemporaryFile(const std::string& bytes) {
  char path[] = "/tmp/elf_file_test.XXXXXX";
  close(mkstemp(path));
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ElfFileTest, ALibraryHasABuildIdAndFunctions) {
  ElfFile file{std::string(RDMACHECK_SUBJECT)};
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.BuildId().size(), 40u);
  EXPECT_EQ(file.BuildId().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_TRUE(file.has_symtab());
  EXPECT_EQ(file.DebugLink(), "");
  EXPECT_EQ(file.FunctionAt(0), "");
  EXPECT_EQ(file.FunctionAt(~uint64_t{0}), "");
}

// It stands in the C library as __libc_fork and __fork too.
TEST(ElfFileTest, OfSeveralNamesTheOneThatPeopleCallIsTaken) {
  void* const fork_address = dlsym(RTLD_DEFAULT, "fork");
  Dl_info where;
  ASSERT_NE(dladdr(fork_address, &where), 0);
  ElfFile file{std::string(where.dli_fname)};
  uint64_t begin = 0;
  const uint64_t offset = reinterpret_cast<uintptr_t>(fork_address) - reinterpret_cast<uintptr_t>(where.dli_fbase);
  EXPECT_EQ(file.FunctionAt(offset + 1, &begin), "fork");
  EXPECT_EQ(begin, offset);
}

TEST(ElfFileTest, WhatIsNoElfFileHasNothing) {
  for (const std::string path : {"/no/such/file", "/tmp", "/dev/null"}) {
    ElfFile file(path);
    EXPECT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.BuildId(), "");
    EXPECT_EQ(file.FunctionAt(1), "");
  }
}

// Whatever a file holds, reading it does no harm: cut at every length, and with each byte of the headers spoilt.
TEST(ElfFileTest, ATruncatedOrSpoiltFileDoesNoHarm) {
  std::ifstream in(RDMACHECK_SUBJECT, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 1000u);
  std::vector<std::string> spoilt;
  for (size_t i = 0; i < 40; ++i) spoilt.push_back(whole.substr(0, whole.size() * i / 40));
  for (size_t i = 4; i < 64; ++i) {
    spoilt.push_back(whole);
    spoilt.back()[i] = '\xff';
  }
  for (size_t back = 1; back < 64 * 20; back += 3) {  // the section headers stand last
    spoilt.push_back(whole);
    spoilt.back()[whole.size() - back] = '\xff';
  }
  for (const std::string& bytes : spoilt) {
    const std::string path = TemporaryFile(bytes);
    ElfFile file(path);
    file.BuildId();
    file.DebugLink();
    for (const uint64_t address : {0x1000, 0x1100, 0x1130, 0x2000}) file.FunctionAt(address);
    remove(path.c_str());
  }
}

}  // namespace
}  // namespace rdmacheck
