#include "interpose/stacks/frame_table.h"

#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

class FrameTableTest : public testing::Test {
 protected:
  // What other tests left in the one table goes.
  void SetUp() override {
    FrameTable::BeginUnload();
    FrameTable::EndUnload();
  }
  void TearDown() override { SetUp(); }
};

TEST_F(FrameTableTest, ARuleSaysWhatItWasMadeOf) {
  const FrameRule rule(FrameRule::kFrame, FrameRule::kMostWords, 14);
  EXPECT_TRUE(rule.known());
  EXPECT_EQ(rule.base(), FrameRule::kFrame);
  EXPECT_EQ(rule.offset(), size_t{FrameRule::kMostWords} * 8);
  EXPECT_EQ(rule.saved_frame(), 14u);
  EXPECT_EQ(FrameRule(rule.bits()), rule);
  EXPECT_LT(rule.bits(), 1u << FrameRule::kBits);
  EXPECT_FALSE(FrameRule().known());
  EXPECT_TRUE(FrameRule::Outermost().known());
  EXPECT_FALSE(FrameRule::Outermost() == FrameRule::Unusual());
}

TEST_F(FrameTableTest, FindsWhatWasAddedAndNothingElse) {
  std::mt19937_64 random(3);
  std::vector<uintptr_t> pcs;
  for (int i = 0; i < 4000; ++i) pcs.push_back(random() >> 17);
  for (size_t i = 0; i < pcs.size(); ++i) FrameTable::Add(pcs[i], FrameRule(FrameRule::kStack, static_cast<uint32_t>(i + 1), 0));
  size_t found = 0;
  for (size_t i = 0; i < pcs.size(); ++i) {
    const FrameRule rule = FrameTable::Find(pcs[i]);
    if (!rule.known()) continue;
    ++found;
    EXPECT_EQ(rule.offset(), (i + 1) * 8);
  }
  EXPECT_GT(found, pcs.size() - 20);  // sets may be full
  for (int i = 0; i < 4000; ++i) EXPECT_FALSE(FrameTable::Find(random() >> 17).known());
}

TEST_F(FrameTableTest, NeighboursAreToldApart) {
  for (uintptr_t pc = 0x401000; pc < 0x401400; ++pc) FrameTable::Add(pc, FrameRule(FrameRule::kStack, pc & 0xfff, 2));
  for (uintptr_t pc = 0x401000; pc < 0x401400; ++pc) EXPECT_EQ(FrameTable::Find(pc).offset(), (pc & 0xfff) * 8);
}

TEST_F(FrameTableTest, AnAddressOfTheKernelsHalfIsNotKept) {
  const uintptr_t strange = ~uintptr_t{0} - 100;
  FrameTable::Add(strange, FrameRule::Outermost());
  EXPECT_FALSE(FrameTable::Find(strange).known());
}

TEST_F(FrameTableTest, WhatIsUnloadedTakesAllAlong) {
  FrameTable::Add(0x1234, FrameRule::Outermost());
  const uint64_t before = FrameTable::Now();
  FrameTable::BeginUnload();
  EXPECT_FALSE(FrameTable::Holds(FrameTable::Now()));
  FrameTable::Add(0x5678, FrameRule::Outermost());
  FrameTable::EndUnload();
  EXPECT_TRUE(FrameTable::Holds(FrameTable::Now()));
  EXPECT_NE(FrameTable::Now(), before);
  EXPECT_FALSE(FrameTable::Find(0x1234).known());
  EXPECT_FALSE(FrameTable::Find(0x5678).known());
}

TEST_F(FrameTableTest, AChildDoesNotWaitForAnUnloadOfItsParent) {
  FrameTable::BeginUnload();
  FrameTable::ForkChild();
  EXPECT_TRUE(FrameTable::Holds(FrameTable::Now()));
}

TEST_F(FrameTableTest, ThreadsAddAndFindAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 100000; ++i) {
        const uintptr_t pc = (random() % 100000) * 7;
        const FrameRule rule(FrameRule::kStack, static_cast<uint32_t>(pc + 1), 0);
        FrameTable::Add(pc, rule);
        const FrameRule found = FrameTable::Find(pc);
        wrong += found.known() && !(found == rule);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace rdmacheck
