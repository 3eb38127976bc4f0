#include "interpose/stacks/module_table.h"

#include <dlfcn.h>

#include <thread>

#include "gtest/gtest.h"

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
