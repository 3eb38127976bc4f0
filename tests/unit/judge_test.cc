// The rules without a preload: facts in, findings out. What stands for the real verb is nothing but its result.
//
// Each test runs in a process of its own (gtest_discover_tests), for there is one checker in a process.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <thread>

#include "interpose/checker/checker.h"
#include "interpose/judge/cm_judge.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/judge/witness.h"
#include "interpose/verbs/numbers.h"

namespace rdmacheck {
namespace {

constexpr Parts kTestParts{&FillReport, [](Checker& checker) { CompareWithKernel(checker, nullptr); }, [](Checker&) {},
                           &MakeJudgeState, [] {}, 0};

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    context_.device = &device_;
    for (ibv_context** holder : {&pd_.context, &cq_.context, &qp_.context, &mr_.context, &channel_.context, &srq_.context}) {
      *holder = &context_;
    }
    Options("");
  }

  // To be called before the first checker(), with what the test needs besides.
  void Options(const std::string& more) { setenv("RDMACHECK_OPTIONS", ("log_path=/dev/null:" + more).c_str(), 1); }
  Checker& checker() { return *Checker::GetOrMake(kTestParts); }

  Call In(const char* verb, Kind creates = Kind::kNone) { return Call(checker(), verb, creates, CallPointHere()); }

  template <class T>
  void Make(const char* verb, Kind kind, T* object, const Arguments& from, const Numbers& numbers = {}) {
    Call call = In(verb, kind);
    Pins pins;
    ASSERT_TRUE(BeginCreate(call, from, &pins));
    EndCreate(call, kind, HandleOf(object), numbers, Origin::kCreated, 0, &pins);
  }
  // Fails with `error` where it is not 0. Whether it was forwarded.
  bool Destroy(const char* verb, Kind kind, const void* object, int error = 0) {
    Call call = In(verb);
    Destruction destruction;
    if (!BeginDestroy(call, kind, HandleOf(object), &destruction)) return false;
    EndDestroy(call, kind, &destruction, error);
    return true;
  }
  bool Close() {
    Call call = In("ibv_close_device");
    Destruction destruction;
    if (!BeginClose(call, HandleOf(&context_), &destruction)) return false;
    EndClose(call, &destruction, 0);
    return true;
  }
  bool Use(const char* verb, Kind kind, const void* object) {
    Call call = In(verb);
    return BeginUse(call, {{kind, HandleOf(object)}});
  }
  void GetEvent() {
    Call call = In("ibv_get_cq_event");
    ASSERT_TRUE(BeginGetCqEvent(call, HandleOf(&channel_)));
    EndGetCqEvent(call, HandleOf(&channel_), HandleOf(&cq_), 0);
  }
  bool Ack(unsigned count) {
    Call call = In("ibv_ack_cq_events");
    return BeginAckCqEvents(call, HandleOf(&cq_), count);
  }

  void OpenContext() { Make("ibv_open_device", Kind::kContext, &context_, {}, {0, 0, checker().InternName("dev0")}); }
  void AllocPd() { Make("ibv_alloc_pd", Kind::kPd, &pd_, {{Kind::kContext, HandleOf(&context_)}}); }
  void CreateChannel() {
    Make("ibv_create_comp_channel", Kind::kCompChannel, &channel_, {{Kind::kContext, HandleOf(&context_)}},
         {static_cast<uint32_t>(channel_.fd), 0, 0});
  }
  void CreateCq() {
    Arguments from{{Kind::kContext, HandleOf(&context_)}, {Kind::kCompChannel, HandleOf(&channel_)}};
    Make("ibv_create_cq", Kind::kCq, &cq_, from);
  }
  void CreateQp() { Make("ibv_create_qp", Kind::kQp, &qp_, {{Kind::kPd, HandleOf(&pd_)}}, {0x11, 0, 0}); }
  void RegMr() { Make("ibv_reg_mr", Kind::kMr, &mr_, {{Kind::kPd, HandleOf(&pd_)}}); }
  void OpenAndAllocPd() {
    OpenContext();
    AllocPd();
  }
  void CreateCqWithChannel() {
    OpenContext();
    CreateChannel();
    CreateCq();
  }
  void CreateId() {
    Make("rdma_create_event_channel", Kind::kCmChannel, &cm_channel_, {});
    Make("rdma_create_id", Kind::kCmId, &cm_id_, {{Kind::kCmChannel, HandleOf(&cm_channel_)}});
  }
  void GetCmEvent() {
    Call call = In("rdma_get_cm_event", Kind::kCmEvent);
    NoteCmEvent(call, HandleOf(&cm_event_), HandleOf(&cm_id_), HandleOf(&cm_id_), HandleOf(&cm_channel_), 8, 28);
  }
  void DestroyIdWithItsQpLeft() {
    OpenAndAllocPd();
    CreateId();
    CreateQp();
    Call call = In("rdma_destroy_id");
    CmBelongings belongings;
    belongings.objects[belongings.count++] = {Kind::kQp, HandleOf(&qp_)};
    NoteCmBelongings(call, HandleOf(&cm_id_), belongings);
    JudgeCmId(call, SlotOf(Kind::kCmId, &cm_id_), true);
  }
  Slot SlotOf(Kind kind, const void* object) { return checker().ledger().Find(kind, HandleOf(object)).slot; }

  std::vector<Finding> Findings() { return checker().reporter().Findings(); }
  Finding Only(Rule rule) {
    const std::vector<Finding> findings = Findings();
    EXPECT_EQ(findings.size(), 1u);
    for (const Finding& finding : findings) {
      EXPECT_EQ(InfoOf(finding.rule).id, std::string(InfoOf(rule).id)) << finding.message;
    }
    return findings.empty() ? Finding() : findings.front();
  }
  void ExpectNothing() {
    for (const Finding& finding : Findings()) ADD_FAILURE() << InfoOf(finding.rule).id << ": " << finding.message;
  }

  ibv_device device_{};
  ibv_context context_{};
  ibv_pd pd_{};
  ibv_cq cq_{};
  ibv_qp qp_{};
  ibv_mr mr_{};
  ibv_srq srq_{};
  ibv_comp_channel channel_{};
  char cm_channel_[8] = {}, cm_id_[8] = {}, cm_event_[8] = {}, group_[8] = {}, list_[8] = {};
};

TEST_F(JudgeTest, NothingIsReportedOfAProgramThatReleasesAll) {
  CreateCqWithChannel();
  AllocPd();
  CreateQp();
  GetEvent();
  EXPECT_TRUE(Ack(1));
  EXPECT_TRUE(Destroy("ibv_destroy_qp", Kind::kQp, &qp_));
  EXPECT_TRUE(Destroy("ibv_destroy_cq", Kind::kCq, &cq_));
  EXPECT_TRUE(Destroy("ibv_destroy_comp_channel", Kind::kCompChannel, &channel_));
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  EXPECT_TRUE(Close());
  JudgeExit(checker());
  ExpectNothing();
}

TEST_F(JudgeTest, LeakAtClose) {
  OpenAndAllocPd();
  EXPECT_TRUE(Close());
  const Finding finding = Only(Rule::kLeakAtClose);
  EXPECT_EQ(finding.object.kind, "pd");
  EXPECT_EQ(finding.object.device, "dev0");
  EXPECT_EQ(finding.message, "1 pd still open when its context is closed");
}

TEST_F(JudgeTest, OpenAtExit) {
  OpenAndAllocPd();
  JudgeExit(checker());
  std::set<std::string> kinds;
  for (const Finding& finding : Findings()) {
    EXPECT_EQ(finding.rule, Rule::kOpenAtExit);
    EXPECT_EQ(finding.severity, Severity::kWarning);
    kinds.insert(finding.object.kind);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"context", "pd"}));
}

TEST_F(JudgeTest, OpenAtExitIsAnErrorWithStrict) {
  Options("strict=1");
  OpenContext();
  JudgeExit(checker());
  EXPECT_EQ(Only(Rule::kOpenAtExit).severity, Severity::kError);
}

TEST_F(JudgeTest, DeviceListLeak) {
  Make("ibv_get_device_list", Kind::kDeviceList, &list_, {}, {2, 0, 0});
  JudgeExit(checker());
  EXPECT_EQ(Only(Rule::kDeviceListLeak).message, "1 device list never freed, with 2 devices");
}

TEST_F(JudgeTest, DoubleDestroyIsNotForwarded) {
  OpenAndAllocPd();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  EXPECT_FALSE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  const Finding finding = Only(Rule::kDoubleDestroy);
  EXPECT_EQ(finding.verb, "ibv_dealloc_pd");
  EXPECT_NE(StackOf(finding, StackRole::kDestroyed), kNoStack);
  EXPECT_NE(StackOf(finding, StackRole::kCreated), kNoStack);
}

TEST_F(JudgeTest, DoubleDestroyIsForwardedWhereTheOptionSaysSo) {
  Options("forward_double_destroy=1");
  OpenAndAllocPd();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  Only(Rule::kDoubleDestroy);
}

TEST_F(JudgeTest, UseAfterDestroyIsForwarded) {
  OpenAndAllocPd();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  EXPECT_TRUE(Use("ibv_query_pd", Kind::kPd, &pd_));
  EXPECT_EQ(Only(Rule::kUseAfterDestroy).object.kind, "pd");
}

TEST_F(JudgeTest, AGetOnADestroyedChannelIsNotForwarded) {
  OpenContext();
  channel_.fd = -1;
  CreateChannel();
  EXPECT_TRUE(Destroy("ibv_destroy_comp_channel", Kind::kCompChannel, &channel_));
  Call call = In("ibv_get_cq_event");
  EXPECT_FALSE(BeginGetCqEvent(call, HandleOf(&channel_)));
  Only(Rule::kUseAfterDestroy);
}

TEST_F(JudgeTest, UseAfterClose) {
  OpenAndAllocPd();
  EXPECT_TRUE(Close());
  EXPECT_FALSE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  const std::vector<Finding> findings = Findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].rule, Rule::kUseAfterClose);
  EXPECT_NE(StackOf(findings[1], StackRole::kClosed), kNoStack);
}

TEST_F(JudgeTest, NullHandleNamesTheLastFailedCreate) {
  OpenAndAllocPd();
  Call create = In("ibv_create_qp", Kind::kQp);
  Pins pins;
  ASSERT_TRUE(BeginCreate(create, {{Kind::kPd, HandleOf(&pd_)}}, &pins));
  EndCreate(create, Kind::kQp, 0, {}, Origin::kCreated, EINVAL, &pins);
  EXPECT_FALSE(Destroy("ibv_destroy_qp", Kind::kQp, nullptr));
  const Finding finding = Only(Rule::kNullHandle);
  EXPECT_EQ(finding.message, "ibv_destroy_qp called with NULL qp; call not forwarded");
  EXPECT_EQ(finding.hints,
            std::vector<std::string>{"the last failed create of this kind: ibv_create_qp failed with EINVAL"});
}

TEST_F(JudgeTest, BusyDestroyNamesTheChildAndIsSettledByALaterTry) {
  OpenAndAllocPd();
  RegMr();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_, EBUSY));
  Finding finding = Only(Rule::kBusyDestroy);
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_EQ(finding.result, EBUSY);
  ASSERT_EQ(finding.related.size(), 1u);
  EXPECT_EQ(finding.related[0].object.kind, "mr");
  EXPECT_TRUE(Destroy("ibv_dereg_mr", Kind::kMr, &mr_));
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  EXPECT_TRUE(Close());
  finding = Only(Rule::kBusyDestroy);
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_EQ(finding.resolved, 1u);
}

TEST_F(JudgeTest, BusyDestroyIsAnErrorAtTheCloseIfNoTrySucceeded) {
  OpenAndAllocPd();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_, EBUSY));
  EXPECT_TRUE(Close());
  bool found = false;
  for (const Finding& finding : Findings()) found |= finding.rule == Rule::kBusyDestroy && finding.severity == Severity::kError;
  EXPECT_TRUE(found);
}

TEST_F(JudgeTest, DestroyedBeforeChild) {
  OpenAndAllocPd();
  CreateQp();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  const Finding finding = Only(Rule::kDestroyedBeforeChild);
  EXPECT_EQ(finding.related.size(), 1u);
  EXPECT_NE(finding.message.find("destroyed while 1 qp still uses it"), std::string::npos) << finding.message;
}

TEST_F(JudgeTest, ForeignProcess) {
  OpenAndAllocPd();
  const pid_t child = fork();
  if (child == 0) {
    checker().ForkPrepare();  // as the handlers of the library do
    checker().ForkChild();
    Use("ibv_query_pd", Kind::kPd, &pd_);
    const std::vector<Finding> findings = Findings();
    _exit(findings.size() == 1 && findings[0].rule == Rule::kForeignProcess ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ExpectNothing();
}

TEST_F(JudgeTest, AForkedChildRemembersNothingOfWhatItsParentsLocksGuarded) {
  OpenContext();
  JudgeState* const before = &checker().judges();
  before->failed_creates[0].error.store(EINVAL);
  {
    MutexLock lock(&before->left_mutex);
    before->qps_left.emplace_back();
  }
  before->left_mutex.Lock();  // as another thread of the parent may hold it
  checker().ForkPrepare();
  checker().ForkChild();
  before->left_mutex.Unlock();
  JudgeState& after = checker().judges();
  EXPECT_NE(&after, before);
  MutexLock lock(&after.left_mutex);
  EXPECT_TRUE(after.qps_left.empty());
  EXPECT_EQ(after.failed_creates[0].error.load(), EINVAL);
}

TEST_F(JudgeTest, UnackedEventsOfAThreadThatHasExited) {
  CreateCqWithChannel();
  std::thread([this] { GetEvent(); }).join();
  EXPECT_TRUE(Destroy("ibv_destroy_cq", Kind::kCq, &cq_));
  const Finding finding = Only(Rule::kUnackedEvents);
  EXPECT_NE(finding.message.find("will block forever: 1 completion event received, 0 acknowledged"), std::string::npos);
  EXPECT_NE(StackOf(finding, StackRole::kEventTaken), kNoStack);
}

TEST_F(JudgeTest, SelfDeadlock) {
  CreateCqWithChannel();
  GetEvent();
  EXPECT_TRUE(Destroy("ibv_destroy_cq", Kind::kCq, &cq_));
  Only(Rule::kSelfDeadlock);
}

TEST_F(JudgeTest, OverAckedEvents) {
  CreateCqWithChannel();
  GetEvent();
  EXPECT_TRUE(Ack(2));
  const Finding finding = Only(Rule::kOverAckedEvents);
  EXPECT_EQ(finding.verb, "ibv_ack_cq_events");
  EXPECT_NE(finding.message.find("1 completion event received, 2 acknowledged"), std::string::npos);
}

TEST_F(JudgeTest, BlockedDestroy) {
  Options("hang_timeout=1");
  OpenAndAllocPd();
  Call call = In("ibv_dealloc_pd");
  Destruction destruction;
  ASSERT_TRUE(BeginDestroy(call, Kind::kPd, HandleOf(&pd_), &destruction));
  while (Findings().empty()) usleep(10000);
  EndDestroy(call, Kind::kPd, &destruction, 0);
  EXPECT_NE(Only(Rule::kBlockedDestroy).message.find("no unacknowledged event explains it"), std::string::npos);
}

// A thread that waits on `channel_` for an event, in read(2) of a pipe, until the test is over.
class WaitingJudgeTest : public JudgeTest {
 protected:
  void Wait() {
    ASSERT_EQ(pipe(ends_), 0);
    channel_.fd = ends_[0];
    CreateChannel();
    thread_ = std::thread([this] {
      Call call = In("ibv_get_cq_event");
      BeginGetCqEvent(call, HandleOf(&channel_));
      tid_ = call.tid();
      char byte;
      if (read(ends_[0], &byte, 1) != 1) return;
      EndGetCqEvent(call, HandleOf(&channel_), 0, EAGAIN);
    });
    while (!ThreadBlocksOn(tid_, ends_[0])) usleep(1000);
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    EXPECT_EQ(write(ends_[1], "", 1), 1);
    thread_.join();
  }
  int ends_[2];
  std::atomic<int> tid_{0};
  std::thread thread_;
};

TEST_F(WaitingJudgeTest, DestroyedUnderWaiter) {
  OpenContext();
  Wait();
  EXPECT_TRUE(Destroy("ibv_destroy_comp_channel", Kind::kCompChannel, &channel_));
  EXPECT_NE(StackOf(Only(Rule::kDestroyedUnderWaiter), StackRole::kOtherThread), kNoStack);
}

TEST_F(WaitingJudgeTest, EventDestroyRace) {
  OpenAndAllocPd();
  checker().SetDisassocDestroy(true);
  Wait();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_));
  const Finding finding = Only(Rule::kEventDestroyRace);
  EXPECT_NE(finding.message.find("with RDMAV_ALLOW_DISASSOC_DESTROY in effect"), std::string::npos) << finding.message;
}

TEST_F(JudgeTest, LateAckIsNotForwarded) {
  CreateCqWithChannel();
  checker().SetDisassocDestroy(true);
  std::thread other([this] { GetEvent(); });
  other.join();
  EXPECT_TRUE(Destroy("ibv_destroy_cq", Kind::kCq, &cq_));
  EXPECT_FALSE(Ack(1));
  bool found = false;
  for (const Finding& finding : Findings()) found |= finding.rule == Rule::kLateAck;
  EXPECT_TRUE(found);
}

TEST_F(JudgeTest, CreateFailedSaysWhatTheProcessHolds) {
  OpenAndAllocPd();
  RegMr();
  Call call = In("ibv_reg_mr", Kind::kMr);
  Pins pins;
  ASSERT_TRUE(BeginCreate(call, {{Kind::kPd, HandleOf(&pd_)}}, &pins));
  EndCreate(call, Kind::kMr, 0, {}, Origin::kCreated, ENOMEM, &pins);
  const Finding finding = Only(Rule::kCreateFailed);
  EXPECT_EQ(finding.message, "ibv_reg_mr failed with ENOMEM; this process holds 1 mr of 1 created");
  EXPECT_EQ(finding.groups.size(), 3u);
}

TEST_F(JudgeTest, ForkInitLateNamesTheFirstRegistration) {
  OpenAndAllocPd();
  RegMr();
  Call call = In("ibv_fork_init");
  JudgeForkInitLate(call, EINVAL);
  const Finding finding = Only(Rule::kForkInitLate);
  EXPECT_EQ(finding.object.kind, "mr");
  EXPECT_EQ(finding.message, "ibv_fork_init failed with EINVAL because memory was registered before it, first by ibv_reg_mr");
}

TEST_F(JudgeTest, McastAttachedIsReportedInsteadOfBusyDestroy) {
  OpenAndAllocPd();
  CreateQp();
  Make("ibv_attach_mcast", Kind::kMcast, &group_, {{Kind::kQp, HandleOf(&qp_)}});
  EXPECT_TRUE(Destroy("ibv_destroy_qp", Kind::kQp, &qp_, EBUSY));
  EXPECT_NE(Only(Rule::kMcastAttached).message.find("it is attached to 1 multicast group"), std::string::npos);
}

TEST_F(JudgeTest, CmIdLeak) {
  CreateId();
  Call call = In("rdma_destroy_event_channel");
  JudgeCmChannel(call, SlotOf(Kind::kCmChannel, &cm_channel_));
  EXPECT_EQ(Only(Rule::kCmIdLeak).object.kind, "cm_id");
}

TEST_F(JudgeTest, CmChannelLeak) {
  Make("rdma_create_event_channel", Kind::kCmChannel, &cm_channel_, {});
  JudgeExit(checker());
  EXPECT_EQ(Only(Rule::kCmChannelLeak).message, "1 event channel never destroyed, with 0 ids left");
}

TEST_F(JudgeTest, CmUnackedEvent) {
  CreateId();
  std::thread([this] { GetCmEvent(); }).join();
  Call call = In("rdma_destroy_id");
  JudgeCmId(call, SlotOf(Kind::kCmId, &cm_id_), true);
  const Finding finding = Only(Rule::kCmUnackedEvent);
  EXPECT_NE(finding.message.find("1 event (REJECTED) not acknowledged"), std::string::npos) << finding.message;
  EXPECT_EQ(finding.hints.front(), "REJECTED came with status 28");
}

TEST_F(JudgeTest, CmQpLeftIsReportedAtTheEnd) {
  DestroyIdWithItsQpLeft();
  ExpectNothing();
  JudgeQpsLeftAtExit(checker());
  EXPECT_EQ(Only(Rule::kCmQpLeft).related.front().object.kind, "qp");
}

TEST_F(JudgeTest, CmQpLeftIsNotReportedIfTheQpWasDestroyedAfterTheId) {
  DestroyIdWithItsQpLeft();
  EXPECT_TRUE(Destroy("ibv_destroy_qp", Kind::kQp, &qp_));
  JudgeQpsLeftAtExit(checker());
  ExpectNothing();
}

TEST_F(JudgeTest, AliveAfterDeviceLossIsReportedInsteadOfTheLeak) {
  OpenAndAllocPd();
  EXPECT_TRUE(Destroy("ibv_dealloc_pd", Kind::kPd, &pd_, EIO));
  EXPECT_TRUE(Close());
  const Finding finding = Only(Rule::kAliveAfterDeviceLoss);
  EXPECT_NE(finding.message.find("device dev0 was removed: ibv_dealloc_pd returned EIO"), std::string::npos);
}

TEST_F(JudgeTest, UnwatchedObjectIsReportedOnce) {
  OpenAndAllocPd();
  KernelDevice device;
  device.name = "dev0";
  device.listed = 63;
  for (const Listed kind : {Listed::kContext, Listed::kPd, Listed::kQp}) {
    KernelObject object;
    object.kind = kind;
    object.number = 17;
    object.thread = gettid();
    device.objects.push_back(object);
  }
  JudgeKernelList(checker(), nullptr, {device});
  JudgeKernelList(checker(), nullptr, {device});
  const Finding finding = Only(Rule::kUnwatchedObject);
  EXPECT_EQ(finding.message, "the kernel lists 1 qp of this process on dev0 whose creation was not seen: qpn=0x11");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.count, 1u);
}

TEST_F(JudgeTest, WhatTheKernelLacksIsDropped) {
  OpenAndAllocPd();
  KernelDevice device;
  device.name = "dev0";
  device.listed = 63;
  KernelObject object;
  object.thread = gettid();
  object.number = 0;
  device.objects.push_back(object);
  JudgeKernelList(checker(), nullptr, {device});  // the context is there, the PD is not
  ExpectNothing();
  EXPECT_EQ(checker().ledger().Find(Kind::kPd, HandleOf(&pd_)).standing, Standing::kUnknown);
  EXPECT_TRUE(Close());
  ExpectNothing();
}

// A rule without a test here is a rule that only a preload can test.
TEST(JudgeTests, EveryRuleHasOne) {
  std::ifstream source(RDMACHECK_SOURCE_DIR "/tests/unit/judge_test.cc");
  const std::string text((std::istreambuf_iterator<char>(source)), {});
  std::ifstream table(RDMACHECK_SOURCE_DIR "/report/rules.def");
  for (std::string line; std::getline(table, line);) {
    if (line.rfind("RDMACHECK_RULE(", 0) != 0) continue;
    const std::string name = "Rule::" + line.substr(15, line.find(',') - 15);
    EXPECT_NE(text.find(name), std::string::npos) << name << " has no test in judge_test.cc";
  }
}

}  // namespace
}  // namespace rdmacheck
