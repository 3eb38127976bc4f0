// verify=kernel: the messages of RDMA netlink, and what differs between the kernel's list and the ledger.
#include "interpose/judge/witness.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <cstring>
#include <random>

namespace rdmacheck {
namespace {

// ---- messages, made by the header's numbers

std::string Attribute(uint16_t type, std::string value) {
  nlattr head = {static_cast<uint16_t>(sizeof(nlattr) + value.size()), type};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes += value;
  bytes.resize(NLA_ALIGN(bytes.size()));
  return bytes;
}
std::string Attribute(uint16_t type, uint32_t value) {
  return Attribute(type, std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
}
std::string Message(uint16_t command, const std::string& body) {
  nlmsghdr head = {};
  head.nlmsg_len = static_cast<uint32_t>(sizeof(head) + body.size());
  head.nlmsg_type = static_cast<uint16_t>(RDMA_NL_NLDEV << 10 | command);
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes += body;
  bytes.resize(NLMSG_ALIGN(bytes.size()));
  return bytes;
}
std::string ListOfQps() {
  const std::string one = Attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED,
                                    Attribute(RDMA_NLDEV_ATTR_RES_LQPN, 17u) + Attribute(RDMA_NLDEV_ATTR_RES_PDN, 1u) +
                                        Attribute(RDMA_NLDEV_ATTR_RES_PID, 4711u));
  const std::string other = Attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED,
                                      Attribute(RDMA_NLDEV_ATTR_RES_LQPN, 1u) +
                                          Attribute(RDMA_NLDEV_ATTR_RES_KERN_NAME, std::string("ib_core\0", 8)));
  return Message(RDMA_NLDEV_CMD_RES_QP_GET, Attribute(RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED, one + other));
}

TEST(KernelListTest, ReadsDevicesAndObjects) {
  std::vector<KernelDevice> devices;
  EXPECT_TRUE(ParseDevices(Message(RDMA_NLDEV_CMD_GET, Attribute(RDMA_NLDEV_ATTR_DEV_INDEX, 3u) +
                                                           Attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::string("rxe0\0", 5))),
                           &devices));
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "rxe0");
  EXPECT_EQ(devices[0].index, 3u);
  EXPECT_TRUE(ParseObjects(ListOfQps(), Listed::kQp, &devices[0]));
  ASSERT_EQ(devices[0].objects.size(), 2u);
  EXPECT_EQ(devices[0].objects[0].number, 17u);
  EXPECT_EQ(devices[0].objects[0].pd, 1u);
  EXPECT_EQ(devices[0].objects[0].thread, 4711);
  EXPECT_FALSE(devices[0].objects[0].of_kernel);
  EXPECT_TRUE(devices[0].objects[1].of_kernel);
}

TEST(KernelListTest, KnowsTheNumbersOfEachKind) {
  const struct {
    Listed kind;
    uint16_t command, table, number;
  } rows[] = {{Listed::kContext, RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTXN},
              {Listed::kPd, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PDN},
              {Listed::kCq, RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQN},
              {Listed::kQp, RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_LQPN},
              {Listed::kMr, RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MRN},
              {Listed::kSrq, RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQN}};
  for (const auto& row : rows) {
    KernelDevice device;
    EXPECT_TRUE(ParseObjects(
        Message(row.command, Attribute(row.table, Attribute(1, Attribute(row.number, 5u) +
                                                                   Attribute(RDMA_NLDEV_ATTR_RES_LKEY, 6u)))),
        row.kind, &device));
    ASSERT_EQ(device.objects.size(), 1u);
    EXPECT_EQ(device.objects[0].number, 5u) << static_cast<int>(row.kind);
    EXPECT_EQ(device.objects[0].lkey, 6u);
  }
}

TEST(KernelListTest, WhatIsCutOrBrokenIsRefusedAndReadsNothingBeyond) {
  const std::string whole = ListOfQps();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<long>(size));  // for AddressSanitizer
    KernelDevice device;
    EXPECT_EQ(ParseObjects({exact.data(), exact.size()}, Listed::kQp, &device), size == 0) << size;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    const std::vector<char> exact(bytes.begin(), bytes.end());
    KernelDevice device;
    ParseObjects({exact.data(), exact.size()}, Listed::kQp, &device);
    EXPECT_LE(device.objects.size(), bytes.size());
  }
}

// ---- differences

constexpr int32_t kOurs = 100, kOthers = 200;
bool IsOurThread(int32_t thread) { return thread == kOurs; }

class DifferencesTest : public testing::Test {
 protected:
  DifferencesTest() {
    device_.name = "rxe0";
    device_.listed = 63;
    In(Listed::kContext, 0, kOurs).context = 0;
    Have(Listed::kContext);
    In(Listed::kPd, 1, kOurs).context = 0;
    Have(Listed::kPd);
  }
  KernelObject& In(Listed kind, uint32_t number, int32_t thread) {
    KernelObject object;
    object.kind = kind;
    object.number = number;
    object.thread = thread;
    if (kind == Listed::kQp || kind == Listed::kMr || kind == Listed::kSrq) object.pd = 1;
    device_.objects.push_back(object);
    return device_.objects.back();
  }
  Seen& Have(Listed kind, uint32_t number = kNoNumber) {
    Seen seen;
    seen.kind = kind;
    seen.device = "rxe0";
    seen.number = number;
    seen.made_here = seen.sure = true;
    seen_.push_back(seen);
    return seen_.back();
  }
  Difference Of(Listed kind) const {
    for (Difference& one : Differences({device_}, seen_, &IsOurThread)) {
      if (one.kind == kind) return one;
    }
    return {};
  }
  void ExpectNothing() const {
    for (const Difference& one : Differences({device_}, seen_, &IsOurThread)) {
      EXPECT_EQ(one.unwatched, 0u) << static_cast<int>(one.kind);
      EXPECT_TRUE(one.gone.empty()) << static_cast<int>(one.kind);
    }
  }
  KernelDevice device_;
  std::vector<Seen> seen_;
};

TEST_F(DifferencesTest, EqualListsDoNotDiffer) {
  In(Listed::kQp, 17, kOurs);
  Have(Listed::kQp, 17);
  ExpectNothing();
}

TEST_F(DifferencesTest, AQpThatWasNotSeenIsNamedByItsNumber) {
  In(Listed::kQp, 17, kOurs);
  In(Listed::kQp, 18, kOurs);
  Have(Listed::kQp, 17);
  ASSERT_EQ(Of(Listed::kQp).which.size(), 1u);
  EXPECT_EQ(Of(Listed::kQp).which[0].number, 18u);
}

TEST_F(DifferencesTest, WhatAnotherProcessOrTheKernelMadeIsNotOurs) {
  In(Listed::kQp, 18, kOthers);
  In(Listed::kQp, 1, 0).of_kernel = true;
  In(Listed::kContext, 7, kOthers).context = 7;
  In(Listed::kPd, 8, 0).context = 7;  // its thread has exited, its context is another's
  ExpectNothing();
}

TEST_F(DifferencesTest, WhatAnExitedThreadMadeOnOurContextIsOurs) {
  In(Listed::kQp, 17, 0);
  EXPECT_EQ(Of(Listed::kQp).unwatched, 1u);
  Have(Listed::kQp, 17);
  ExpectNothing();
}

TEST_F(DifferencesTest, OfAContextWhoseThreadHasExitedNothingIsKnown) {
  In(Listed::kContext, 5, 0).context = 5;
  In(Listed::kPd, 6, 0).context = 5;
  ExpectNothing();  // nobody is accused
  Have(Listed::kContext);
  Have(Listed::kPd);
  ExpectNothing();  // and nothing of the ledger is dropped
}

TEST_F(DifferencesTest, WhatTheKernelDoesNotHaveAnyMoreIsGone) {
  Have(Listed::kQp, 17);
  Have(Listed::kCq);
  EXPECT_EQ(Of(Listed::kQp).gone.size(), 1u);
  EXPECT_EQ(Of(Listed::kCq).gone.size(), 1u);
  seen_.back().sure = false;  // a kind that not every kernel lists
  EXPECT_TRUE(Of(Listed::kCq).gone.empty());
}

TEST_F(DifferencesTest, OfTwoThatCannotBeToldApartNoneIsDropped) {
  In(Listed::kCq, 3, kOurs).context = 0;
  Have(Listed::kCq);
  Have(Listed::kCq);
  EXPECT_TRUE(Of(Listed::kCq).gone.empty());
}

TEST_F(DifferencesTest, MrsWithoutKeysAreOnlyCounted) {
  In(Listed::kMr, 3, kOurs);
  In(Listed::kMr, 4, kOurs);
  Have(Listed::kMr).lkey = 0x11;
  EXPECT_EQ(Of(Listed::kMr).unwatched, 1u);
  EXPECT_TRUE(Of(Listed::kMr).which.empty());
}

TEST_F(DifferencesTest, ASecondHandleIsNoObjectOfTheKernels) {
  In(Listed::kQp, 17, kOurs);
  Have(Listed::kQp, 17);
  Seen& opened = Have(Listed::kQp, 17);
  opened.made_here = opened.sure = false;
  ExpectNothing();
}

TEST_F(DifferencesTest, ASecondHandleMayOutliveTheFirst) {
  In(Listed::kContext, 5, kOurs).context = 5;
  Seen& imported = Have(Listed::kContext);  // by ibv_import_device; the first was closed
  imported.made_here = imported.sure = false;
  imported.imported = true;
  ExpectNothing();
}

TEST_F(DifferencesTest, AContextPinnedByWhatItsCloseLeftIsNotAccused) {
  In(Listed::kContext, 5, kOurs).context = 5;
  In(Listed::kPd, 6, kOurs).context = 5;
  EXPECT_EQ(Of(Listed::kContext).unwatched, 1u);
  Have(Listed::kPd).sure = false;  // left alive by the close
  ExpectNothing();
}

TEST_F(DifferencesTest, AKindThatTheKernelDoesNotListIsNotCompared) {
  device_.listed = 0;
  Have(Listed::kSrq);
  EXPECT_TRUE(Differences({device_}, seen_, &IsOurThread).empty());
}

TEST_F(DifferencesTest, ADeviceThatWasRemovedIsNotCompared) {
  Have(Listed::kCq).device = "rxe1";
  ExpectNothing();
}

}  // namespace
}  // namespace rdmacheck
