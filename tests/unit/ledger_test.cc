#include "interpose/ledger/ledger.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "interpose/base/thread_id.h"

namespace rdmacheck {
namespace {

constexpr uintptr_t kContextAt = 0x1000, kPdAt = 0x2000, kMrAt = 0x3000, kQpAt = 0x4000, kCqAt = 0x5000;

class LedgerTest : public testing::Test {
 protected:
  // As a verb does it: pins what the object is made from, then adds it.
  Slot Make(Kind kind, uintptr_t handle, std::initializer_list<std::pair<Kind, uintptr_t>> made_from = {},
            uint32_t stack = 0, Origin origin = Origin::kCreated) {
    std::vector<Slot> pins;
    for (const auto& [parent_kind, parent] : made_from) {
      const Found found = ledger.Pin(parent_kind, parent);
      if (found.slot != 0) pins.push_back(found.slot);
    }
    Birth birth;
    birth.kind = kind;
    birth.handle = handle;
    birth.stack = stack;
    birth.thread = 1;
    birth.origin = origin;
    birth.parents = pins;
    return ledger.Create(birth);
  }
  uint32_t Destroy(Kind kind, uintptr_t handle, uint32_t stack = 0) {
    const Found found = ledger.BeginDestroy(kind, handle, 1);
    EXPECT_EQ(found.standing, Standing::kLive);
    return ledger.EndDestroy(found.slot, true, "ibv_destroy", stack, 1);
  }
  Standing StandingOf(Kind kind, uintptr_t handle) { return ledger.Find(kind, handle).standing; }
  std::vector<uintptr_t> HandlesOf(const std::vector<Record>& records) {
    std::vector<uintptr_t> handles;
    for (const Record& record : records) handles.push_back(record.handle);
    return handles;
  }

  Ledger ledger;
};

TEST_F(LedgerTest, KnowsNothingOfAHandleItNeverSaw) {
  EXPECT_EQ(StandingOf(Kind::kPd, kPdAt), Standing::kUnknown);
  EXPECT_EQ(ledger.Pin(Kind::kPd, kPdAt).slot, 0u);
  EXPECT_TRUE(ledger.All().empty());
}

TEST_F(LedgerTest, KeepsWhatItWasToldOfAnObject) {
  Birth birth;
  birth.kind = Kind::kMr;
  birth.handle = kMrAt;
  birth.numbers = {1, 2, 3};
  birth.stack = 7;
  birth.thread = 42;
  birth.flags = kIgnored;
  const Record record = ledger.Get(ledger.Create(birth));
  EXPECT_EQ(record.kind, Kind::kMr);
  EXPECT_EQ(record.handle, kMrAt);
  EXPECT_EQ(record.numbers.b, 2u);
  EXPECT_EQ(record.stack, 7u);
  EXPECT_EQ(record.thread, 42);
  EXPECT_TRUE(record.Has(kIgnored));
  EXPECT_EQ(record.life, Life::kLive);
  EXPECT_TRUE(record.parents.empty());
}

TEST_F(LedgerTest, SerialsCountUpAndAreNeverUsedAgain) {
  const Serial first = ledger.Get(Make(Kind::kPd, kPdAt)).serial;
  Destroy(Kind::kPd, kPdAt);
  const Serial second = ledger.Get(Make(Kind::kPd, kPdAt)).serial;
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 2u);
  EXPECT_EQ(ledger.Mark(), 2u);
}

TEST_F(LedgerTest, AMarkDividesWhatWasMadeBeforeFromWhatIsMadeAfterInEveryThread) {
  std::atomic<int> step{0};
  std::vector<Serial> before, after;
  // Makes so many that it holds serials in advance when the mark is set.
  std::thread other([&] {
    for (uintptr_t i = 0; i < 100; ++i) before.push_back(ledger.Get(Make(Kind::kMr, kMrAt + 64 * i)).serial);
    step.store(1);
    while (step.load() != 2) std::this_thread::yield();
    for (uintptr_t i = 100; i < 200; ++i) after.push_back(ledger.Get(Make(Kind::kMr, kMrAt + 64 * i)).serial);
  });
  while (step.load() != 1) std::this_thread::yield();
  const Serial mark = ledger.Mark();
  step.store(2);
  other.join();
  for (Serial serial : before) EXPECT_LE(serial, mark);
  for (Serial serial : after) EXPECT_GT(serial, mark);
}

TEST_F(LedgerTest, AThreadThatMakesAFewObjectsLeavesNoGapsInTheSerials) {
  for (uintptr_t t = 0; t < 3; ++t) {
    std::thread([&, t] {
      Make(Kind::kPd, kPdAt + 64 * t);
      Make(Kind::kMr, kMrAt + 64 * t);
    }).join();
  }
  const std::vector<Record> all = ledger.All();
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].serial, i + 1);
}

TEST_F(LedgerTest, TwoKindsMayHaveOneAddress) {
  Make(Kind::kCq, kCqAt);
  Make(Kind::kCompChannel, kCqAt);
  EXPECT_EQ(ledger.All().size(), 2u);
  Destroy(Kind::kCq, kCqAt);
  EXPECT_EQ(StandingOf(Kind::kCq, kCqAt), Standing::kDead);
  EXPECT_EQ(StandingOf(Kind::kCompChannel, kCqAt), Standing::kLive);
}

TEST_F(LedgerTest, AParentDomainIsFoundAsAPd) {
  Make(Kind::kParentDomain, kPdAt);
  EXPECT_EQ(StandingOf(Kind::kPd, kPdAt), Standing::kLive);
  Destroy(Kind::kPd, kPdAt);
  EXPECT_EQ(StandingOf(Kind::kParentDomain, kPdAt), Standing::kDead);
}

// ---- destroying in two steps

TEST_F(LedgerTest, BetweenTheTwoStepsTheObjectIsDying) {
  const Slot slot = Make(Kind::kPd, kPdAt);
  const Found found = ledger.BeginDestroy(Kind::kPd, kPdAt, 1);
  EXPECT_EQ(found.standing, Standing::kLive);
  EXPECT_EQ(found.slot, slot);
  EXPECT_EQ(StandingOf(Kind::kPd, kPdAt), Standing::kDying);
  EXPECT_EQ(ledger.BeginDestroy(Kind::kPd, kPdAt, 1).standing, Standing::kDying);
  ledger.EndDestroy(slot, true, "ibv_dealloc_pd", 9, 1);
  EXPECT_EQ(StandingOf(Kind::kPd, kPdAt), Standing::kDead);
}

TEST_F(LedgerTest, ARefusedDestroyLeavesTheObjectAsItWas) {
  Make(Kind::kContext, kContextAt);
  const Slot slot = Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}}, 5);
  const Record before = ledger.Get(slot);
  ledger.BeginDestroy(Kind::kPd, kPdAt, 1);
  EXPECT_EQ(ledger.EndDestroy(slot, false, "ibv_dealloc_pd", 9, 1), 0u);
  const Record after = ledger.Get(slot);
  EXPECT_EQ(StandingOf(Kind::kPd, kPdAt), Standing::kLive);
  EXPECT_EQ(after.serial, before.serial);
  EXPECT_EQ(after.stack, 5u);
  EXPECT_EQ(after.parents, before.parents);
  EXPECT_TRUE(ledger.Dead().empty());
  EXPECT_EQ(Destroy(Kind::kPd, kPdAt), 0u);
}

TEST_F(LedgerTest, AnAddressGivenOutAgainDuringADestroyIsANewObject) {
  const Slot old = Make(Kind::kMr, kMrAt);
  ledger.BeginDestroy(Kind::kMr, kMrAt, 1);
  const Slot fresh = Make(Kind::kMr, kMrAt);
  EXPECT_NE(old, fresh);
  EXPECT_EQ(StandingOf(Kind::kMr, kMrAt), Standing::kLive);
  ledger.EndDestroy(old, true, "ibv_dereg_mr", 0, 1);
  EXPECT_EQ(StandingOf(Kind::kMr, kMrAt), Standing::kLive);
  EXPECT_EQ(ledger.Find(Kind::kMr, kMrAt).slot, fresh);
  DeadRecord dead;
  ASSERT_TRUE(ledger.FindDead(Kind::kMr, kMrAt, &dead));
  EXPECT_EQ(dead.object.serial, 1u);
}

TEST_F(LedgerTest, TwoDestroysOfOneAddressMayBeUnderWayAtOnce) {
  const Slot first = Make(Kind::kMr, kMrAt);
  ledger.BeginDestroy(Kind::kMr, kMrAt, 1);
  const Slot second = Make(Kind::kMr, kMrAt);
  ledger.BeginDestroy(Kind::kMr, kMrAt, 1);
  ledger.EndDestroy(second, true, "ibv_dereg_mr", 0, 2);
  EXPECT_EQ(StandingOf(Kind::kMr, kMrAt), Standing::kDying);
  ledger.EndDestroy(first, true, "ibv_dereg_mr", 0, 1);
  EXPECT_EQ(StandingOf(Kind::kMr, kMrAt), Standing::kDead);
  EXPECT_EQ(ledger.Dead().size(), 2u);
}

TEST_F(LedgerTest, AnAddressWhoseDestroyWentPastUsIsTakenOver) {
  Make(Kind::kPd, kPdAt);
  const Slot fresh = Make(Kind::kPd, kPdAt);
  const std::vector<Record> all = ledger.All();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].slot, fresh);
  EXPECT_EQ(all[0].serial, 2u);
  EXPECT_TRUE(ledger.Dead().empty());
}

TEST_F(LedgerTest, AnObjectTakenOverStaysForItsChildrenToName) {
  const Slot old = Make(Kind::kPd, kPdAt);
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  const Slot fresh = Make(Kind::kPd, kPdAt);
  EXPECT_EQ(ledger.Get(old).life, Life::kZombie);
  EXPECT_FALSE(ledger.HasChildren(fresh));
  EXPECT_TRUE(ledger.HasChildren(old));
  Destroy(Kind::kMr, kMrAt);
  EXPECT_EQ(ledger.Get(old).life, Life::kFree);
}

// ---- the dead

TEST_F(LedgerTest, RemembersHowAnObjectDied) {
  Make(Kind::kQp, kQpAt, {}, 3);
  Destroy(Kind::kQp, kQpAt, 8);
  DeadRecord dead;
  ASSERT_TRUE(ledger.FindDead(Kind::kQp, kQpAt, &dead));
  EXPECT_EQ(dead.object.stack, 3u);
  EXPECT_EQ(dead.destroyed_stack, 8u);
  EXPECT_EQ(dead.destroyed_thread, 1);
  EXPECT_STREQ(dead.destroyed_verb, "ibv_destroy");
}

TEST_F(LedgerTest, OfOneAddressTheLatestDeathIsFound) {
  for (int i = 0; i < 3; ++i) {
    Make(Kind::kQp, kQpAt);
    Destroy(Kind::kQp, kQpAt, static_cast<uint32_t>(10 + i));
  }
  DeadRecord dead;
  ASSERT_TRUE(ledger.FindDead(Kind::kQp, kQpAt, &dead));
  EXPECT_EQ(dead.object.serial, 3u);
  EXPECT_EQ(dead.destroyed_stack, 12u);
  EXPECT_EQ(ledger.Dead().size(), 3u);
}

TEST_F(LedgerTest, ALivingObjectHidesTheDeadOneOfItsAddress) {
  Make(Kind::kQp, kQpAt);
  Destroy(Kind::kQp, kQpAt);
  Make(Kind::kQp, kQpAt);
  EXPECT_EQ(StandingOf(Kind::kQp, kQpAt), Standing::kLive);
  DeadRecord dead;
  EXPECT_TRUE(ledger.FindDead(Kind::kQp, kQpAt, &dead));  // for an ack that comes late
}

TEST_F(LedgerTest, TheRingOfTheDeadGoesRoundManyTimes) {
  // Few handles that die often, among many that die once: whatever is overwritten, the latest deaths are found.
  for (uintptr_t i = 1; i <= 30000; ++i) {
    const uintptr_t handle = i % 3 == 0 ? kQpAt + 64 * (i % 5) : i * 64 + 0x100000;
    const Kind kind = i % 2 == 0 ? Kind::kQp : Kind::kMr;
    const Serial serial = ledger.Get(Make(kind, handle)).serial;
    Destroy(kind, handle);
    DeadRecord dead;
    ASSERT_TRUE(ledger.FindDead(kind, handle, &dead));
    ASSERT_EQ(dead.object.serial, serial);
    ASSERT_EQ(dead.object.kind, kind);
  }
}

TEST_F(LedgerTest, TheDeadAreBounded) {
  constexpr uintptr_t kMany = 20000;
  for (uintptr_t i = 1; i <= kMany; ++i) {
    Make(Kind::kMr, i * 64);
    Destroy(Kind::kMr, i * 64);
  }
  const std::vector<DeadRecord> dead = ledger.Dead();
  EXPECT_LT(dead.size(), kMany / 2);
  EXPECT_GE(dead.size(), 1000u);
  EXPECT_EQ(StandingOf(Kind::kMr, kMany * 64), Standing::kDead);
  EXPECT_EQ(StandingOf(Kind::kMr, 64), Standing::kUnknown);
  EXPECT_EQ(dead.back().object.serial, kMany);
  EXPECT_TRUE(ledger.All().empty());
}

TEST_F(LedgerTest, WhatACloseTookAlongIsNotAmongTheDead) {
  const Slot slot = Make(Kind::kMcast, kQpAt);
  ledger.Forget(slot);
  EXPECT_EQ(StandingOf(Kind::kMcast, kQpAt), Standing::kUnknown);
  EXPECT_TRUE(ledger.All().empty());
}

// ---- parents and children

TEST_F(LedgerTest, CountsTheChildrenThatAnObjectHadWhenItWent) {
  Make(Kind::kContext, kContextAt);
  Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Make(Kind::kMr, kMrAt + 64, {{Kind::kPd, kPdAt}});
  EXPECT_EQ(Destroy(Kind::kPd, kPdAt), 2u);
  EXPECT_EQ(Destroy(Kind::kMr, kMrAt), 0u);
}

TEST_F(LedgerTest, AnObjectThatWentBeforeItsChildIsAZombieUntilTheChildGoes) {
  const Slot pd = Make(Kind::kPd, kPdAt);
  const Slot mr = Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Destroy(Kind::kPd, kPdAt);
  EXPECT_EQ(ledger.Get(pd).life, Life::kZombie);
  EXPECT_EQ(ledger.Get(mr).parents[0], pd);
  EXPECT_EQ(StandingOf(Kind::kPd, kPdAt), Standing::kDead);
  Destroy(Kind::kMr, kMrAt);
  EXPECT_EQ(ledger.Get(pd).life, Life::kFree);
  EXPECT_TRUE(ledger.All().empty());
}

TEST_F(LedgerTest, AChainOfZombiesGoesWithItsLastChild) {
  Make(Kind::kContext, kContextAt);
  Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Destroy(Kind::kContext, kContextAt);
  Destroy(Kind::kPd, kPdAt);
  EXPECT_EQ(ledger.All().size(), 3u);
  Destroy(Kind::kMr, kMrAt);
  EXPECT_TRUE(ledger.All().empty());
}

TEST_F(LedgerTest, APinnedObjectKeepsItsSlotAfterItsDestroy) {
  const Slot slot = Make(Kind::kCq, kCqAt);
  EXPECT_EQ(ledger.Pin(Kind::kCq, kCqAt).slot, slot);
  EXPECT_TRUE(ledger.HasChildren(slot));
  Destroy(Kind::kCq, kCqAt);
  EXPECT_EQ(ledger.Get(slot).handle, kCqAt);
  EXPECT_EQ(ledger.Get(slot).life, Life::kZombie);
  ledger.Unpin(slot);
  EXPECT_EQ(ledger.Get(slot).life, Life::kFree);
}

TEST_F(LedgerTest, UnpinningAChildlessObjectLeavesItAlive) {
  const Slot slot = Make(Kind::kCq, kCqAt);
  ledger.Pin(Kind::kCq, kCqAt);
  ledger.Unpin(slot);
  EXPECT_FALSE(ledger.HasChildren(slot));
  EXPECT_EQ(StandingOf(Kind::kCq, kCqAt), Standing::kLive);
}

// What a thread remembers of a parent is of no use once the parent has gone, whatever lies there now.
TEST_F(LedgerTest, AParentThatWasPinnedBeforeIsNotTakenForTheNextInItsPlace) {
  const Slot first = Make(Kind::kPd, kPdAt);
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Destroy(Kind::kMr, kMrAt);
  Destroy(Kind::kPd, kPdAt);
  EXPECT_EQ(ledger.Pin(Kind::kPd, kPdAt).standing, Standing::kDead);
  const Slot second = Make(Kind::kPd, kPdAt);
  EXPECT_EQ(second, first);  // the same slot, another object
  const Found found = ledger.Pin(Kind::kPd, kPdAt);
  EXPECT_EQ(found.standing, Standing::kLive);
  EXPECT_EQ(ledger.Get(found.slot).serial, 3u);
  ledger.BeginDestroy(Kind::kPd, kPdAt, 1);
  EXPECT_EQ(ledger.Pin(Kind::kPd, kPdAt).standing, Standing::kDying);
  EXPECT_EQ(ledger.Get(second).children, 2u);
  ledger.Unpin(second);
  ledger.Unpin(second);
  EXPECT_FALSE(ledger.HasChildren(second));
}

TEST_F(LedgerTest, APinTellsOfFlagsThatWereSetSinceTheLast) {
  const Slot pd = Make(Kind::kPd, kPdAt);
  ledger.Unpin(ledger.Pin(Kind::kPd, kPdAt).slot);
  ledger.SetFlags(pd, kClosed);
  const Found found = ledger.Pin(Kind::kPd, kPdAt);
  EXPECT_EQ(found.flags, kClosed);
  ledger.Unpin(found.slot);
}

TEST_F(LedgerTest, RemembersWhetherAnythingWasEverMadeFromAnObject) {
  const Slot context = Make(Kind::kContext, kContextAt);
  EXPECT_FALSE(ledger.Get(context).was_parent);
  ledger.Pin(Kind::kContext, kContextAt);
  ledger.Unpin(context);
  EXPECT_FALSE(ledger.Get(context).was_parent);
  Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  Destroy(Kind::kPd, kPdAt);
  EXPECT_TRUE(ledger.Get(context).was_parent);
  EXPECT_FALSE(ledger.HasChildren(context));
}

TEST_F(LedgerTest, NamesDirectChildrenOnly) {
  Make(Kind::kContext, kContextAt);
  const Slot pd = Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Make(Kind::kQp, kQpAt, {{Kind::kPd, kPdAt}});
  Make(Kind::kMcast, 0x7000, {{Kind::kQp, kQpAt}});
  EXPECT_EQ(HandlesOf(ledger.ChildrenOf(pd)), (std::vector<uintptr_t>{kMrAt, kQpAt}));
}

TEST_F(LedgerTest, AChildThatIsDyingStillCounts) {
  const Slot pd = Make(Kind::kPd, kPdAt);
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  const Found dying = ledger.BeginDestroy(Kind::kMr, kMrAt, 1);
  EXPECT_TRUE(ledger.HasChildren(pd));
  ledger.EndDestroy(dying.slot, true, "ibv_dereg_mr", 0, 1);
  EXPECT_FALSE(ledger.HasChildren(pd));
}

TEST_F(LedgerTest, AChildOfManyParentsHoldsThemAll) {
  constexpr uintptr_t kWqAt = 0x10000;
  for (uintptr_t i = 0; i < 6; ++i) Make(Kind::kWq, kWqAt + i * 64);
  const Slot table = Make(Kind::kRwqIndTable, 0x9000,
                          {{Kind::kWq, kWqAt},
                           {Kind::kWq, kWqAt + 64},
                           {Kind::kWq, kWqAt + 128},
                           {Kind::kWq, kWqAt + 192},
                           {Kind::kWq, kWqAt + 256},
                           {Kind::kWq, kWqAt + 320}});
  EXPECT_EQ(ledger.Get(table).parents.size(), 6u);
  for (uintptr_t i = 0; i < 6; ++i) EXPECT_TRUE(ledger.HasChildren(ledger.Find(Kind::kWq, kWqAt + i * 64).slot));
  Destroy(Kind::kRwqIndTable, 0x9000);
  for (uintptr_t i = 0; i < 6; ++i) EXPECT_FALSE(ledger.HasChildren(ledger.Find(Kind::kWq, kWqAt + i * 64).slot));
}

TEST_F(LedgerTest, OneParentNamedTwiceIsHeldTwiceAndLetGoTwice) {
  const Slot cq = Make(Kind::kCq, kCqAt);
  Make(Kind::kQp, kQpAt, {{Kind::kCq, kCqAt}, {Kind::kCq, kCqAt}});
  Destroy(Kind::kQp, kQpAt);
  EXPECT_FALSE(ledger.HasChildren(cq));
}

TEST_F(LedgerTest, UnderAContextIsEverythingThatHangsOnIt) {
  const Slot context = Make(Kind::kContext, kContextAt);
  Make(Kind::kContext, kContextAt + 8);
  Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Make(Kind::kQp, kQpAt, {{Kind::kPd, kPdAt}});
  Make(Kind::kMcast, 0x7000, {{Kind::kQp, kQpAt}});
  Make(Kind::kPd, kPdAt + 8, {{Kind::kContext, kContextAt + 8}});
  EXPECT_EQ(HandlesOf(ledger.Under(context)), (std::vector<uintptr_t>{kPdAt, kMrAt, kQpAt, 0x7000}));
}

TEST_F(LedgerTest, WhatHangsOnAZombieIsStillUnderTheContext) {
  const Slot context = Make(Kind::kContext, kContextAt);
  Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  Destroy(Kind::kPd, kPdAt);
  EXPECT_EQ(HandlesOf(ledger.Under(context)), (std::vector<uintptr_t>{kMrAt}));
}

TEST_F(LedgerTest, FlagsWhatHangsOnAContextAndNothingElse) {
  const Slot context = Make(Kind::kContext, kContextAt);
  const Slot other = Make(Kind::kContext, kContextAt + 64);
  const Slot pd = Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  const Slot mr = Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  const Slot far = Make(Kind::kPd, kPdAt + 64, {{Kind::kContext, kContextAt + 64}});
  ledger.SetFlagsUnder(context, kClosed);
  EXPECT_TRUE(ledger.Get(pd).Has(kClosed));
  EXPECT_TRUE(ledger.Get(mr).Has(kClosed));
  for (Slot slot : {context, other, far}) EXPECT_FALSE(ledger.Get(slot).Has(kClosed));
  EXPECT_EQ(HandlesOf(ledger.All(10, kClosed)), (std::vector<uintptr_t>{kContextAt, kContextAt + 64, kPdAt + 64}));
}

TEST_F(LedgerTest, OfMoreThanAreWantedTheYoungestAreGiven) {
  for (uintptr_t i = 0; i < 100; ++i) Make(Kind::kMr, kMrAt + 64 * i);
  EXPECT_EQ(HandlesOf(ledger.All(3)), (std::vector<uintptr_t>{kMrAt + 64 * 97, kMrAt + 64 * 98, kMrAt + 64 * 99}));
  EXPECT_EQ(ledger.All().size(), 100u);
}

TEST_F(LedgerTest, WalksUpToTheContext) {
  const Slot context = Make(Kind::kContext, kContextAt);
  Make(Kind::kPd, kPdAt, {{Kind::kContext, kContextAt}});
  const Slot mr = Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  const Slot orphan = Make(Kind::kAh, 0x8000);
  EXPECT_EQ(ledger.ContextOf(mr), context);
  EXPECT_EQ(ledger.ContextOf(context), context);
  EXPECT_EQ(ledger.ContextOf(orphan), 0u);
}

TEST_F(LedgerTest, ReparentMovesAnObjectAndLetsTheOldParentGo) {
  const Slot first = Make(Kind::kPd, kPdAt);
  const Slot second = Make(Kind::kPd, kPdAt + 8);
  const Slot mr = Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  ledger.Reparent(mr, first, ledger.Pin(Kind::kPd, kPdAt + 8).slot);
  EXPECT_FALSE(ledger.HasChildren(first));
  EXPECT_TRUE(ledger.HasChildren(second));
  EXPECT_EQ(ledger.Get(mr).parents[0], second);
  Destroy(Kind::kMr, kMrAt);
  EXPECT_FALSE(ledger.HasChildren(second));
}

TEST_F(LedgerTest, ReparentCanAddAParentAndTakeItAway) {
  Make(Kind::kPd, kPdAt);
  Make(Kind::kCq, kCqAt);
  const Slot qp = Make(Kind::kQp, kQpAt, {{Kind::kPd, kPdAt}, {Kind::kCq, kCqAt}});
  const Slot counter = Make(Kind::kCompCntr, 0x9000);
  ledger.Pin(Kind::kCompCntr, 0x9000);
  ledger.Reparent(qp, 0, counter);
  EXPECT_EQ(ledger.Get(qp).parents.size(), 3u);
  EXPECT_TRUE(ledger.HasChildren(counter));
  ledger.Reparent(qp, counter, 0);
  EXPECT_EQ(ledger.Get(qp).parents.size(), 2u);
  EXPECT_FALSE(ledger.HasChildren(counter));
}

TEST_F(LedgerTest, AReusedSlotInheritsNothing) {
  const Slot old = Make(Kind::kMr, kMrAt);
  ledger.SetFlags(old, kIgnored | kRefused);
  ledger.SetFailure(old, "ibv_dereg_mr", 16, 3);
  ledger.Taken(old, false, Taker{1, 1, 1, false});
  Destroy(Kind::kMr, kMrAt);
  const Slot fresh = Make(Kind::kMr, kMrAt);
  EXPECT_EQ(fresh, old);
  const Record record = ledger.Get(fresh);
  EXPECT_EQ(record.flags, 0);
  EXPECT_EQ(record.failure.verb, nullptr);
  EXPECT_FALSE(record.was_parent);
  EXPECT_EQ(ledger.EventsOf(fresh).taken, 0u);
}

TEST_F(LedgerTest, KeepsTheLastFailureAndCountsThem) {
  const Slot pd = Make(Kind::kPd, kPdAt);
  ledger.SetFailure(pd, "ibv_reg_mr", 12, 1);
  ledger.SetFailure(pd, "ibv_dealloc_pd", 16, 2);
  const Failure failure = ledger.Get(pd).failure;
  EXPECT_STREQ(failure.verb, "ibv_dealloc_pd");
  EXPECT_EQ(failure.result, 16);
  EXPECT_EQ(failure.stack, 2u);
  EXPECT_EQ(failure.times, 2u);
}

// ---- events

TEST_F(LedgerTest, EventsTakenAndAckedBalance) {
  const Slot cq = Make(Kind::kCq, kCqAt);
  for (int32_t thread : {1, 2, 2}) ledger.Taken(cq, false, Taker{thread, 0, 0, false});
  ledger.Acked(cq, false, 2, 2);
  const EventCount events = ledger.EventsOf(cq);
  EXPECT_EQ(events.taken, 3u);
  EXPECT_EQ(events.acked, 2u);
  ASSERT_EQ(events.takers.size(), 1u);
  EXPECT_EQ(events.takers[0].thread, 1);
}

TEST_F(LedgerTest, AThreadThatAcksForAnotherTakesOffTheOldest) {
  const Slot cq = Make(Kind::kCq, kCqAt);
  for (int32_t thread : {1, 2}) ledger.Taken(cq, false, Taker{thread, 0, 0, false});
  ledger.Acked(cq, false, 1, 3);
  const EventCount events = ledger.EventsOf(cq);
  ASSERT_EQ(events.takers.size(), 1u);
  EXPECT_EQ(events.takers[0].thread, 2);
}

TEST_F(LedgerTest, AsyncEventsAreCountedApart) {
  const Slot qp = Make(Kind::kQp, kQpAt);
  ledger.Taken(qp, true, Taker{1, 0, 0, true});
  ledger.Taken(qp, false, Taker{1, 0, 0, false});
  ledger.Acked(qp, true, 1, 1);
  const EventCount events = ledger.EventsOf(qp);
  EXPECT_EQ(events.async_taken, 1u);
  EXPECT_EQ(events.async_acked, 1u);
  EXPECT_EQ(events.taken, 1u);
  EXPECT_EQ(events.acked, 0u);
  ASSERT_EQ(events.takers.size(), 1u);
  EXPECT_FALSE(events.takers[0].async);
}

TEST_F(LedgerTest, MoreAcksThanEventsAreCountedAsTheyCome) {
  const Slot cq = Make(Kind::kCq, kCqAt);
  ledger.Acked(cq, false, 5, 1);
  EXPECT_EQ(ledger.EventsOf(cq).acked, 5u);
  EXPECT_TRUE(ledger.EventsOf(cq).takers.empty());
}

TEST_F(LedgerTest, TakersAreBoundedAndTheFirstIsKept) {
  const Slot cq = Make(Kind::kCq, kCqAt);
  for (int32_t i = 1; i <= 100; ++i) ledger.Taken(cq, false, Taker{i, 0, 0, false});
  const EventCount events = ledger.EventsOf(cq);
  EXPECT_EQ(events.taken, 100u);
  ASSERT_EQ(events.takers.size(), EventCount::kMaxTakers);
  EXPECT_EQ(events.takers.front().thread, 1);
  EXPECT_EQ(events.takers.back().thread, 100);
}

TEST_F(LedgerTest, TheDeadKeepTheirEventsAsTheyStood) {
  const Slot cq = Make(Kind::kCq, kCqAt);
  ledger.Taken(cq, false, Taker{4, 6, 0, false});
  Destroy(Kind::kCq, kCqAt);
  DeadRecord dead;
  ASSERT_TRUE(ledger.FindDead(Kind::kCq, kCqAt, &dead));
  EXPECT_EQ(dead.events.taken, 1u);
  ASSERT_EQ(dead.events.takers.size(), 1u);
  EXPECT_EQ(dead.events.takers[0].stack, 6u);
}

// ---- fork

TEST_F(LedgerTest, AForkedChildInheritsWhatLives) {
  const Slot pd = Make(Kind::kPd, kPdAt);
  ledger.ForkPrepare();
  ledger.ForkChild();
  const Slot mr = Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  EXPECT_TRUE(ledger.Get(pd).Has(kInherited));
  EXPECT_FALSE(ledger.Get(mr).Has(kInherited));
  EXPECT_NE(ledger.Find(Kind::kPd, kPdAt).flags & kInherited, 0);
}

TEST_F(LedgerTest, AForkingParentGoesOnAsBefore) {
  const Slot pd = Make(Kind::kPd, kPdAt);
  ledger.ForkPrepare();
  ledger.ForkParent();
  EXPECT_FALSE(ledger.Get(pd).Has(kInherited));
  Destroy(Kind::kPd, kPdAt);
}

// ---- many threads

TEST_F(LedgerTest, ThreadsThatMakeAndDestroyDoNotLoseAnything) {
  constexpr int kThreads = 4, kRounds = 2000;
  const Slot context = Make(Kind::kContext, kContextAt);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      const uintptr_t base = 0x1000000u * static_cast<uintptr_t>(t + 1);
      for (int i = 0; i < kRounds; ++i) {
        const uintptr_t pd = base + 64 * static_cast<uintptr_t>(i % 50), mr = pd + 0x100000;
        Make(Kind::kPd, pd, {{Kind::kContext, kContextAt}});
        Make(Kind::kMr, mr, {{Kind::kPd, pd}});
        const Found refused = ledger.BeginDestroy(Kind::kPd, pd, 1);
        ledger.EndDestroy(refused.slot, false, "ibv_dealloc_pd", 0, t);
        ledger.SetFailure(refused.slot, "ibv_dealloc_pd", 16, 0);
        Destroy(Kind::kMr, mr);
        Destroy(Kind::kPd, pd);
      }
    });
  }
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      for (const Record& record : ledger.All()) EXPECT_NE(record.serial, 0u);
      ledger.Under(context);
      ledger.Dead();
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop.store(true);
  reader.join();
  const std::vector<Record> all = ledger.All();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(ledger.HasChildren(context));
  EXPECT_GE(ledger.Mark(), 1u + 2u * kThreads * kRounds);
}

// Threads that meet at one parent count its children apart; what one makes another may destroy.
TEST_F(LedgerTest, ChildrenThatThreadsPassAroundAreCounted) {
  constexpr uintptr_t kThreads = 4, kEach = 3000;
  const Slot pd = Make(Kind::kPd, kPdAt);
  std::vector<std::thread> threads;
  std::atomic<uintptr_t> arrived{0};
  for (uintptr_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uintptr_t i = 0; i < kEach; ++i) Make(Kind::kMr, 0x1000000 * (t + 1) + 64 * i, {{Kind::kPd, kPdAt}});
      arrived.fetch_add(1);
      while (arrived.load() < kThreads) std::this_thread::yield();
      const uintptr_t others = (t + 1) % kThreads + 1;
      for (uintptr_t i = 1; i < kEach; ++i) Destroy(Kind::kMr, 0x1000000 * others + 64 * i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.Get(pd).children, kThreads);
  Destroy(Kind::kPd, kPdAt);
  for (uintptr_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(ledger.All().size(), kThreads - t + 1);
    Destroy(Kind::kMr, 0x1000000 * (t + 1));
  }
  EXPECT_TRUE(ledger.All().empty());
  // The slot is used again, and counts on.
  Make(Kind::kPd, kPdAt);
  Make(Kind::kMr, kMrAt, {{Kind::kPd, kPdAt}});
  EXPECT_TRUE(ledger.HasChildren(pd));
  Destroy(Kind::kMr, kMrAt);
  EXPECT_FALSE(ledger.HasChildren(pd));
  EXPECT_FALSE(ledger.Get(Make(Kind::kCq, kCqAt)).was_parent);
}

// Two threads pass one address to and fro, as an allocator does: only what is alive at the end may be known as live.
TEST_F(LedgerTest, AnAddressPassedBetweenThreadsIsNeverMistaken) {
  constexpr int kRounds = 4000;
  std::atomic<int> made{0}, freed{0};
  std::thread maker([&] {
    for (int i = 0; i < kRounds; ++i) {
      while (freed.load(std::memory_order_acquire) != i) std::this_thread::yield();
      Make(Kind::kMr, kMrAt);
      made.store(i + 1, std::memory_order_release);
    }
  });
  std::thread breaker([&] {
    for (int i = 0; i < kRounds; ++i) {
      while (made.load(std::memory_order_acquire) != i + 1) std::this_thread::yield();
      const Found found = ledger.BeginDestroy(Kind::kMr, kMrAt, 1);
      ASSERT_EQ(found.standing, Standing::kLive);
      ASSERT_EQ(ledger.Get(found.slot).serial, static_cast<Serial>(i + 1));
      freed.store(i + 1, std::memory_order_release);  // the real destroy gave the address back; we are not done yet
      ledger.EndDestroy(found.slot, true, "ibv_dereg_mr", 0, 2);
    }
  });
  maker.join();
  breaker.join();
  EXPECT_TRUE(ledger.All().empty());
  EXPECT_EQ(StandingOf(Kind::kMr, kMrAt), Standing::kDead);
}

// A parent that one thread destroys while others make children from it: it goes when the last of them has gone.
TEST_F(LedgerTest, AParentDestroyedUnderItsMakersIsFreedOnce) {
  for (int round = 0; round < 200; ++round) {
    Make(Kind::kPd, kPdAt);
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (uintptr_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        ready.fetch_add(1);
        while (ready.load() < 4) std::this_thread::yield();
        for (int i = 0; i < 20; ++i) {
          Make(Kind::kMr, kMrAt + 64 * t, {{Kind::kPd, kPdAt}});
          Destroy(Kind::kMr, kMrAt + 64 * t);
        }
      });
    }
    ready.fetch_add(1);
    while (ready.load() < 4) std::this_thread::yield();
    Destroy(Kind::kPd, kPdAt);
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(ledger.All().empty()) << "round " << round;
  }
}

// checker/jump.h
TEST_F(LedgerTest, WhatAThreadLeftByAJumpIsKnownButForItsEventCounts) {
  Make(Kind::kContext, kContextAt);
  const Slot before = Make(Kind::kCq, kCqAt, {{Kind::kContext, kContextAt}});
  ledger.Taken(before, false, Taker());
  EXPECT_FALSE(ledger.EventsOf(before).unknown);
  ledger.LeftBy(ThisThreadId());
  EXPECT_EQ(StandingOf(Kind::kCq, kCqAt), Standing::kLive);
  EXPECT_TRUE(ledger.EventsOf(before).unknown) << "one more may have been on its way";
  EXPECT_EQ(ledger.EventsOf(before).taken, 1u);
  const Slot after = Make(Kind::kCq, kCqAt + 0x100, {{Kind::kContext, kContextAt}});
  EXPECT_FALSE(ledger.EventsOf(after).unknown);
  EXPECT_EQ(Destroy(Kind::kContext, kContextAt), 2u);
}

}  // namespace
}  // namespace rdmacheck
