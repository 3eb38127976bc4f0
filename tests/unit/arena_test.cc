#include "interpose/base/arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace rdmacheck {
namespace {

struct Held {
  unsigned char* block;
  size_t size;
  unsigned char fill;
};

bool IsFilled(const Held& held) {
  for (size_t i = 0; i < held.size; ++i) {
    if (held.block[i] != held.fill) return false;
  }
  return true;
}

TEST(ArenaTest, BlocksOfEverySizeAreAlignedAndApart) {
  std::vector<Held> all;
  for (size_t size = 0; size < 70000; size = size < 300 ? size + 1 : size + size / 7) {
    auto* block = static_cast<unsigned char*>(ArenaAllocate(size));
    ASSERT_NE(block, nullptr) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 16, 0u) << size;
    const auto fill = static_cast<unsigned char>(all.size());
    memset(block, fill, size);
    all.push_back({block, size, fill});
  }
  for (const Held& held : all) EXPECT_TRUE(IsFilled(held)) << held.size;
  for (const Held& held : all) ArenaFree(held.block);
}

TEST(ArenaTest, AlignmentsHold) {
  for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
    for (size_t size : {1u, 64u, 1000u, 40000u}) {
      void* block = ArenaAllocateAligned(alignment, size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      memset(block, 1, size);
      ArenaFree(block);
    }
  }
}

TEST(ArenaTest, WhatIsFreedIsUsedAgain) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(ArenaAllocate(200));
  for (void* block : blocks) ArenaFree(block);
  const uint64_t mapped = ArenaMappedBytes();
  for (int round = 0; round < 100; ++round) {
    for (void*& block : blocks) block = ArenaAllocate(200);
    for (void* block : blocks) ArenaFree(block);
  }
  EXPECT_EQ(ArenaMappedBytes(), mapped);
}

TEST(ArenaTest, ReallocateKeepsWhatFits) {
  std::string text = "abc";
  char* block = static_cast<char*>(ArenaAllocate(text.size() + 1));
  memcpy(block, text.c_str(), text.size() + 1);
  for (size_t size : {10u, 100u, 5000u, 100000u, 2000000u, 50u, 4u}) {
    block = static_cast<char*>(ArenaReallocate(block, size));
    ASSERT_NE(block, nullptr) << size;
    EXPECT_STREQ(block, "abc") << size;
  }
  ArenaFree(block);
}

TEST(ArenaTest, AbsurdSizesAreRefused) {
  EXPECT_EQ(ArenaAllocate(SIZE_MAX), nullptr);
  EXPECT_EQ(ArenaAllocate(SIZE_MAX - 4096), nullptr);
  EXPECT_EQ(ArenaAllocate(size_t{1} << 60), nullptr);
  EXPECT_EQ(ArenaAllocateAligned(4096, SIZE_MAX - 100), nullptr);
}

TEST(ArenaTest, ThreadsDoNotGetEachOthersBlocks) {
  std::atomic<int> wrong{0};
  auto work = [&wrong](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Held> held;
    for (int i = 0; i < 20000; ++i) {
      if (held.size() < 50 || random() % 2 == 0) {
        const size_t size = random() % (i % 100 == 0 ? 50000 : 500);
        auto* block = static_cast<unsigned char*>(ArenaAllocate(size));
        memset(block, static_cast<int>(seed), size);
        held.push_back({block, size, static_cast<unsigned char>(seed)});
      } else {
        std::swap(held[random() % held.size()], held.back());
        wrong += !IsFilled(held.back());
        ArenaFree(held.back().block);
        held.pop_back();
      }
    }
    for (const Held& one : held) ArenaFree(one.block);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 6; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A child must be able to allocate whatever other threads were doing at the moment of the fork.
TEST(ArenaTest, AChildOfABusyProcessAllocates) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&stop] {
      while (!stop) {
        ArenaFree(ArenaAllocate(64));
        ArenaFree(ArenaAllocate(100000));
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // a child that hangs is killed, and so fails
      ArenaForkChild();
      for (size_t size : {1u, 64u, 64u, 5000u, 100000u}) {
        void* block = ArenaAllocate(size);
        if (block == nullptr) _exit(1);
        memset(block, 1, size);
        ArenaFree(block);
      }
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// Out of address space: null, no crash; and again memory once there is some.
TEST(ArenaTest, OutOfMemoryIsNull) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    rlimit none = before;
    none.rlim_cur = 1;
    ArenaFree(ArenaAllocate(16));
    setrlimit(RLIMIT_AS, &none);
    size_t got = 0;
    while (void* block = ArenaAllocate(1000)) {
      memset(block, 1, 1000);
      if (++got > 100000) _exit(1);
    }
    if (!ArenaIsExhausted()) _exit(2);
    if (ArenaAllocate(size_t{64} << 20) != nullptr) _exit(3);
    setrlimit(RLIMIT_AS, &before);
    if (ArenaAllocate(1000) == nullptr) _exit(4);
    if (ArenaIsExhausted()) _exit(5);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rdmacheck
