#include "interpose/stacks/module_table.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "interpose/stacks/module_image.h"
#include "report/elf_file.h"

namespace rdmacheck {
namespace {

void SomewhereInThisProgram() {}

// A function that no sanitizer defines over again.
void* InLibm() {
  void* libm = dlopen("libm.so.6", RTLD_LAZY);
  return libm == nullptr ? nullptr : dlsym(libm, "cbrt");
}

TEST(ModuleTableTest, FindsTheProgramItself) {
  ModuleTable table;
  void* const here = reinterpret_cast<void*>(&SomewhereInThisProgram);
  CodePlace place;
  table.Resolve(&here, 1, &place);
  ASSERT_NE(place.module, 0);
  const Module module = table.Get(place.module);
  EXPECT_NE(module.path.find("ledger_test"), std::string::npos) << module.path;
  EXPECT_EQ(module.base + place.offset, reinterpret_cast<uintptr_t>(here));
  EXPECT_EQ(module.owner, Module::Owner::kProgram);
}

TEST(ModuleTableTest, FindsALibraryWithItsBuildId) {
  ModuleTable table;
  void* const in_libm = InLibm();
  ASSERT_NE(in_libm, nullptr);
  CodePlace place;
  table.Resolve(&in_libm, 1, &place);
  const Module module = table.Get(place.module);
  EXPECT_NE(module.path.find("libm.so"), std::string::npos) << module.path;
  EXPECT_EQ(module.build_id.size() % 2, 0u);
  EXPECT_EQ(module.build_id.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(ModuleTableTest, AnAddressInNoFileKeepsItsWholeValue) {
  ModuleTable table;
  void* const nowhere = reinterpret_cast<void*>(0x10);
  CodePlace place;
  table.Resolve(&nowhere, 1, &place);
  EXPECT_EQ(place.module, 0);
  EXPECT_EQ(place.offset, 0x10u);
  EXPECT_TRUE(table.Get(0).path.empty());
  EXPECT_TRUE(table.Get(999).path.empty());
}

TEST(ModuleTableTest, AModuleHasOneNumber) {
  ModuleTable table;
  void* const both[] = {reinterpret_cast<void*>(&SomewhereInThisProgram), InLibm()};
  CodePlace first[2], second[2];
  table.Resolve(both, 2, first);
  table.Resolve(both, 2, second);
  EXPECT_NE(first[0].module, first[1].module);
  EXPECT_EQ(first[0].module, second[0].module);
  EXPECT_EQ(first[1].module, second[1].module);
}

TEST(ModuleTableTest, ThreadsAgreeOnTheNumbers) {
  ModuleTable table;
  void* const both[] = {reinterpret_cast<void*>(&SomewhereInThisProgram), InLibm()};
  CodePlace places[4][2];
  std::vector<std::thread> threads;
  for (auto& mine : places) threads.emplace_back([&, at = mine] { table.Resolve(both, 2, at); });
  for (std::thread& thread : threads) thread.join();
  for (auto& mine : places) {
    EXPECT_EQ(mine[0].module, places[0][0].module);
    EXPECT_EQ(mine[1].module, places[0][1].module);
  }
}

// A copy of a library that is loaded, and gone from its path before its code is met.
class DeletedLibrary : public ::testing::Test {
 protected:
  void Load(const std::string& path) {
    std::filesystem::copy_file(RDMACHECK_SUBJECT, path, std::filesystem::copy_options::overwrite_existing);
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr);
    function_ = dlsym(handle_, "subject_plain");
    ASSERT_NE(function_, nullptr);
  }
  std::string NameInImage(ModuleTable* table) {
    void* const inside = static_cast<char*>(function_) + 1;
    CodePlace place;
    table->Resolve(&inside, 1, &place);
    const Module module = table->Get(place.module);
    return ElfFile(ElfFile::InMemory{module.image}).FunctionAt(place.offset);
  }
  void TearDown() override {
    dlclose(handle_);
    std::filesystem::remove(path_);
  }
  const std::string path_ = "/tmp/module_table_test." + std::to_string(getpid()) + ".so";
  void* handle_ = nullptr;
  void* function_ = nullptr;
};

TEST_F(DeletedLibrary, HasItsNames) {
  Load(path_);
  std::filesystem::remove(path_);
  ModuleTable table;
  EXPECT_EQ(NameInImage(&table), "subject_plain");
}

TEST_F(DeletedLibrary, HasItsNamesWhereAnotherFileLies) {
  Load(path_);
  std::filesystem::remove(path_);
  std::filesystem::copy_file("/bin/true", path_);
  ModuleTable table;
  EXPECT_EQ(NameInImage(&table), "subject_plain");
}

// Without a file there is what is in memory.
TEST_F(DeletedLibrary, HasTheNamesThatItExports) {
  Load(path_);
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(handle_, RTLD_DI_LINKMAP, &map), 0);
  LoadedFile file;
  file.path = "/no/such/file";
  file.build_id = "0123456789abcdef";
  file.base = map->l_addr;
  file.dynamic = map->l_ld;
  const std::string_view image = KeepImageOf(file);
  ElfFile elf(ElfFile::InMemory{image});
  EXPECT_EQ(elf.BuildId(), file.build_id);
  EXPECT_EQ(elf.FunctionAt(reinterpret_cast<uintptr_t>(function_) - map->l_addr + 1), "subject_plain");
  EXPECT_EQ(elf.FunctionAt(1), "");
}

TEST(OwnerOfTest, KnowsLibrariesThatMakeObjectsForThemselves) {
  EXPECT_EQ(OwnerOf("/usr/lib/librdmacm.so.1"), Module::Owner::kLibrdmacm);
  EXPECT_EQ(OwnerOf("/usr/lib/libibverbs.so.1.14.44.0"), Module::Owner::kLibibverbs);
  EXPECT_EQ(OwnerOf("/usr/lib/libmlx5.so.1"), Module::Owner::kDirectVerbs);
  EXPECT_EQ(OwnerOf("/usr/lib/libibverbs/librxe-rdmav34.so"), Module::Owner::kDirectVerbs);
  EXPECT_EQ(OwnerOf("/opt/app/bin/libfabric.so.1"), Module::Owner::kProgram);
  EXPECT_EQ(OwnerOf("librdmacm.so.1"), Module::Owner::kLibrdmacm);
  EXPECT_EQ(OwnerOf("/home/librdmacm.so.d/app"), Module::Owner::kProgram);
}

}  // namespace
}  // namespace rdmacheck
