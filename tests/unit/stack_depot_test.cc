#include "interpose/stacks/stack_depot.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

const char* const kVerb = "ibv_reg_mr";
const char* const kOtherVerb = "ibv_create_qp";

class StackDepotTest : public testing::Test {
 protected:
  static std::vector<void*> Frames(uintptr_t seed, size_t depth) {
    std::vector<void*> frames;
    for (size_t i = 0; i < depth; ++i) frames.push_back(reinterpret_cast<void*>(seed * 4096 + i * 16 + 1));
    return frames;
  }
  StackDepot::Node* Put(const std::vector<void*>& frames, const char* verb = kVerb, Kind kind = Kind::kMr) {
    return depot->Put(verb, kind, frames.data(), frames.size());
  }

  // A depot lives as long as the process and frees nothing; kept here where a leak checker finds it.
  static StackDepot* NewDepot() {
    static auto& modules = *new ModuleTable;
    static auto& depots = *new std::vector<StackDepot*>;
    depots.push_back(new StackDepot(&modules));
    return depots.back();
  }

  StackDepot* const depot = NewDepot();
};

TEST_F(StackDepotTest, OneStackHasOneId) {
  const auto frames = Frames(1, 5);
  StackDepot::Node* first = Put(frames);
  ASSERT_NE(first, nullptr);
  EXPECT_NE(first->id, 0u);
  EXPECT_EQ(Put(frames), first);
  EXPECT_EQ(depot->size(), 1u);
}

TEST_F(StackDepotTest, AnotherVerbOrDepthIsAnotherStack) {
  std::set<uint32_t> ids;
  const auto frames = Frames(1, 5);
  ids.insert(Put(frames)->id);
  ids.insert(Put(frames, kOtherVerb, Kind::kQp)->id);
  ids.insert(Put(Frames(1, 4))->id);
  ids.insert(Put(Frames(2, 5))->id);
  EXPECT_EQ(ids.size(), 4u);
}

TEST_F(StackDepotTest, GivesBackWhatWasPut) {
  const auto frames = Frames(3, 7);
  const uint32_t id = Put(frames)->id;
  const StackDepot::Node* node = depot->Get(id);
  ASSERT_NE(node, nullptr);
  EXPECT_STREQ(node->verb, kVerb);
  EXPECT_EQ(node->kind, Kind::kMr);
  ASSERT_EQ(node->depth, 7);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(node->pcs[i], frames[i]);
}

TEST_F(StackDepotTest, AnUnknownIdIsNobody) {
  EXPECT_EQ(depot->Get(0), nullptr);
  EXPECT_EQ(depot->Get(1), nullptr);
  EXPECT_EQ(depot->Get(StackDepot::kMaxStacks + 5), nullptr);
}

TEST_F(StackDepotTest, AnEmptyStackIsAStack) {
  ASSERT_NE(Put({}), nullptr);
  EXPECT_EQ(Put({})->depth, 0);
}

TEST_F(StackDepotTest, VisitsEveryStackAndForgetsCounts) {
  for (uintptr_t i = 1; i <= 3000; ++i) Put(Frames(i, 4))->created.Add();
  uint64_t total = 0, stacks = 0;
  depot->ForEach([&](const StackDepot::Node& node) {
    total += node.created.Sum();
    ++stacks;
  });
  EXPECT_EQ(stacks, 3000u);
  EXPECT_EQ(total, 3000u);
  depot->ForgetCounts();
  total = 0;
  depot->ForEach([&](const StackDepot::Node& node) { total += node.created.Sum(); });
  EXPECT_EQ(total, 0u);
}

TEST_F(StackDepotTest, KnowsTheModuleOfTheDirectCaller) {
  const auto here = reinterpret_cast<void*>(&StackDepotTest::SetUpTestSuite);
  const StackDepot::Node* node = depot->Put(kVerb, Kind::kMr, &here, 1);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->owner, Module::Owner::kProgram);
  EXPECT_NE(node->places[0].module, 0);
}

TEST_F(StackDepotTest, ManyThreadsPuttingTheSameStacksGetTheSameIds) {
  constexpr int kThreads = 6;
  constexpr uintptr_t kStacks = 400;
  std::vector<std::vector<uint32_t>> ids(kThreads);
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      for (int round = 0; round < 3; ++round) {
        for (uintptr_t i = 1; i <= kStacks; ++i) {
          StackDepot::Node* node = Put(Frames(i, 3 + i % 20));
          ASSERT_NE(node, nullptr);
          node->created.Add();
          if (round == 0) {
            ids[static_cast<size_t>(t)].push_back(node->id);
          } else {
            ASSERT_EQ(ids[static_cast<size_t>(t)][i - 1], node->id);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[static_cast<size_t>(t)], ids[0]);
  EXPECT_EQ(std::set<uint32_t>(ids[0].begin(), ids[0].end()).size(), kStacks);
  uint64_t created = 0;
  depot->ForEach([&](const StackDepot::Node& node) { created += node.created.Sum(); });
  EXPECT_EQ(created, 3u * kThreads * kStacks);
}

}  // namespace
}  // namespace rdmacheck
