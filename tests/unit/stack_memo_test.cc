#include "interpose/stacks/stack_memo.h"

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

const char* const kVerb = "ibv_reg_mr";
#if defined(__x86_64__)
constexpr UnwindBy kBy = UnwindBy::kLibunwind;
#else
constexpr UnwindBy kBy = UnwindBy::kFramePointers;  // libunwind does not note by which words it went
#endif

struct Bed {
  ModuleTable modules;
  StackDepot depot{&modules};
  StackMemo& memo = *StackMemo::Make(32);
  uint64_t recalled = 0, walked = 0, wrong = 0;
};

// As a hook does it; and walks in any case, to see whether what was recalled is true.
__attribute__((noinline)) void Hook(Bed* bed) {
  const CallPoint point = CallPointHere();
  StackDepot::Node* const recalled = bed->memo.Recall(point, kVerb);
  Trace& trace = bed->memo.trace();
  TakeStack(kBy, point, bed->memo.beyond(), &trace);
  if (recalled != nullptr) {
    ++bed->recalled;
    bed->wrong += recalled->depth != trace.depth || memcmp(recalled->pcs, trace.pcs, trace.depth * sizeof(void*)) != 0;
    return;
  }
  ++bed->walked;
  StackDepot::Node* node = bed->depot.Put(kVerb, Kind::kMr, trace.pcs, trace.depth, trace.hash, nullptr);
  if (node != nullptr) bed->memo.Note(point, kVerb, node);
}

// Two ways up of equal frame sizes, so that one call point is reached through many stacks.
__attribute__((noinline)) int Left(Bed* bed, unsigned way, int levels);
__attribute__((noinline)) int Right(Bed* bed, unsigned way, int levels);
__attribute__((noinline)) int Leaf(Bed* bed) {
  Hook(bed);
  return 0;
}
int Left(Bed* bed, unsigned way, int levels) {
  if (levels == 0) return Leaf(bed) + 1;
  return (way & 1 ? Left(bed, way >> 1, levels - 1) : Right(bed, way >> 1, levels - 1)) + 1;
}
int Right(Bed* bed, unsigned way, int levels) {
  if (levels == 0) return Leaf(bed) + 2;
  return (way & 1 ? Left(bed, way >> 1, levels - 1) : Right(bed, way >> 1, levels - 1)) + 2;
}

// A frame that the compiler realigns: its CFA lies in the frame.
__attribute__((noinline)) int Aligned(Bed* bed, unsigned way, int levels) {
  alignas(64) volatile char room[64 + 1] = {};
  room[0] = static_cast<char>(way);
  return Left(bed, way, levels) + room[0];
}

class StackMemoTest : public testing::Test {
 protected:
  // Depots and memos live as long as the process and free nothing; kept here where a leak checker finds them.
  static Bed& NewBed() {
    static auto& beds = *new std::vector<Bed*>;
    beds.push_back(new Bed);
    return *beds.back();
  }

  Bed& bed = NewBed();
};

TEST_F(StackMemoTest, AStackThatComesOftenIsRecalled) {
  for (int i = 0; i < 1000; ++i) Left(&bed, 5, 4);
  EXPECT_EQ(bed.wrong, 0u);
  EXPECT_GT(bed.recalled, 900u);
}

TEST_F(StackMemoTest, AStackThatComesOnceIsNot) {
  for (int levels = 0; levels < 4; ++levels) Left(&bed, 5, levels);
  EXPECT_EQ(bed.recalled, 0u);
}

TEST_F(StackMemoTest, AnotherWayToTheSamePointIsNeverTakenForTheFirst) {
  for (int i = 0; i < 100; ++i) Left(&bed, 0, 6);
  const uint64_t before = bed.recalled;
  EXPECT_GT(before, 0u);
  for (unsigned way = 1; way < 64; ++way) Left(&bed, way, 6);
  EXPECT_EQ(bed.wrong, 0u);
  EXPECT_EQ(bed.recalled, before);
}

TEST_F(StackMemoTest, IsRightHoweverTheStacksChange) {
  std::mt19937 random(7);
  for (int i = 0; i < 60000; ++i) {
    const unsigned way = static_cast<unsigned>(random());
    const int levels = i / 20000 == 0 ? 6 : static_cast<int>(random() % 8);
    // Long runs of one way, too, so that points are learnt.
    for (unsigned again = 0; again < (i % 100 == 0 ? 50u : 1u); ++again) Left(&bed, way, levels);
  }
  EXPECT_EQ(bed.wrong, 0u);
  EXPECT_GT(bed.recalled, 0u);
}

TEST_F(StackMemoTest, IsRightAboveARealignedFrame) {
  std::mt19937 random(8);
  for (int i = 0; i < 20000; ++i) {
    const unsigned way = static_cast<unsigned>(random() % 4);
    if (random() % 2 == 0) {
      Aligned(&bed, way, 3);
    } else {
      Left(&bed, way, 3);
    }
  }
  EXPECT_EQ(bed.wrong, 0u);
}

TEST_F(StackMemoTest, AMemoMayPassToAnotherThread) {
  for (int i = 0; i < 100; ++i) Left(&bed, 9, 4);
  for (int t = 0; t < 20; ++t) {
    std::thread([this] {
      for (unsigned i = 0; i < 200; ++i) Left(&bed, i / 50, 4);
    }).join();
  }
  EXPECT_EQ(bed.wrong, 0u);
}

TEST_F(StackMemoTest, ManyPointsShareFewPlaces) {
  constexpr unsigned kTimes = 3000;
  for (unsigned i = 0; i < kTimes; ++i) {
    for (int levels = 0; levels < 20; ++levels) Left(&bed, 3, levels);
  }
  EXPECT_EQ(bed.wrong, 0u);
  // Where the loader puts the stack and the program decides which points share a place: 15 of the 20 have one on average, and
  // 8 was the least in 20,000 layouts. Each place keeps one point, which is then recalled.
  EXPECT_GT(bed.recalled, 4 * kTimes);
}

TEST_F(StackMemoTest, WhatWasLearntBeforeALibraryWentIsNotTrusted) {
  for (int i = 0; i < 10; ++i) Left(&bed, 5, 4);
  EXPECT_GT(bed.recalled, 0u);
  const uint64_t before = bed.walked;
  UnwinderBeginUnload();
  Left(&bed, 5, 4);
  EXPECT_EQ(bed.walked, before + 1) << "while it goes";
  UnwinderEndUnload();
  Left(&bed, 5, 4);
  EXPECT_EQ(bed.walked, before + 2) << "once it has gone";
  EXPECT_EQ(bed.wrong, 0u);
  for (int i = 0; i < 10; ++i) Left(&bed, 5, 4);
  EXPECT_LT(bed.walked, before + 6) << "it is learnt again";
}

}  // namespace
}  // namespace rdmacheck
