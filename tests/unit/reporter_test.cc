#include "interpose/checker/reporter.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace rdmacheck {
namespace {

using Json = nlohmann::json;

class ReporterTest : public testing::Test {
 protected:
  explicit ReporterTest(const char* log = nullptr) {
    char folder[] = "/tmp/reporter_test.XXXXXX";
    folder_ = mkdtemp(folder);
    options_.log_path = log != nullptr ? log : folder_ + "/log";
    options_.json_path = folder_ + "/report.json";
    options_.symbolize = false;
    reporter_ = std::make_unique<Reporter>(options_, &depot_, &modules_, [this](Report*) { ++filled_; });
  }
  ~ReporterTest() override {
    for (const char* name : {"/log", "/report.json"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }

  static Finding Made(Rule rule, Severity severity, const char* verb, StackId here, const char* kind = "pd") {
    Finding finding;
    finding.rule = rule;
    finding.severity = severity;
    finding.verb = verb;
    finding.message = std::string(verb) + " went wrong";
    finding.has_object = true;
    finding.object.kind = kind;
    finding.object.device = "fake0";
    finding.stacks = {{StackRole::kHere, here}, {StackRole::kCreated, here + 1000000}};
    return finding;
  }
  static Finding Refused(StackId here, uint64_t serial) {
    Finding finding = Made(Rule::kBusyDestroy, Severity::kNote, "ibv_dealloc_pd", here);
    finding.object.serial = serial;
    finding.has_result = true;
    finding.result = EBUSY;
    return finding;
  }
  static Refusal Why(bool explained) {
    Refusal refusal;
    refusal.verb = "ibv_dealloc_pd";
    refusal.result = EBUSY;
    refusal.explained = explained;
    return refusal;
  }
  // As the judge does it.
  void Refuse(uint64_t serial, bool explained = true, StackId here = 1) {
    const Finding finding = Refused(here, serial);
    if (!reporter_->CountRefusal(finding, serial, Why(explained))) {
      reporter_->SayRefusal(finding, serial, Why(explained));
    }
  }
  void Escalate(uint64_t serial, StackId here = 1) {
    Finding finding = Refused(here, serial);
    finding.severity = Severity::kError;
    if (!reporter_->CountEscalated(finding, serial)) reporter_->Escalate(finding, serial);
  }

  std::string Log() const {
    std::stringstream text;
    text << std::ifstream(options_.log_path).rdbuf();
    return text.str();
  }
  Json Written() const {
    std::ifstream file(options_.json_path);
    return file ? Json::parse(file) : Json();
  }
  Json Last() {
    reporter_->WriteReport(Moment::kExit, 0);
    return Written();
  }
  static size_t Times(const std::string& text, const std::string& what) {
    size_t times = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++times;
    return times;
  }

  std::string folder_;
  Options options_;
  ModuleTable modules_;
  StackDepot depot_{&modules_};
  int filled_ = 0;
  std::unique_ptr<Reporter> reporter_;
};

// Ten thousand texts take seconds where a file has to be opened for each.
class ManyFindingsTest : public ReporterTest {
 protected:
  ManyFindingsTest() : ReporterTest("/dev/null") {}
};

TEST_F(ReporterTest, EqualFindingsAreOneAndTheEndSaysHowManyWereNotShown) {
  for (int i = 0; i < 200; ++i) {
    reporter_->Say(Made(Rule::kForeignProcess, Severity::kError, "ibv_dereg_mr", 1));
  }
  EXPECT_EQ(reporter_->errors(), 1u);
  reporter_->Summarize();
  reporter_->Summarize();
  const std::string log = Log();
  EXPECT_EQ(Times(log, "==ERROR: "), 10u);
  EXPECT_EQ(Times(log, "foreign-process: 190 more not shown: ibv_dereg_mr, 200 times in all\n"), 1u) << log;
  EXPECT_EQ(Times(log, "SUMMARY: "), 1u);
  EXPECT_EQ(log.substr(log.rfind("SUMMARY")),
            "SUMMARY: rdmacheck: 1 error (foreign-process 1 seen 200 times)\n");
  const Json json = Last();
  EXPECT_EQ(json["summary"]["errors"], 1);
  EXPECT_EQ(json["findings"].size(), 1u);
  EXPECT_EQ(json["findings"][0]["count"], 200);
  EXPECT_EQ(json["findings"][0]["times"], 200);
}

TEST_F(ReporterTest, RefusalsOfManyObjectsAreOneNoteAndAnErrorAfterThemIsThere) {
  for (uint64_t serial = 1; serial <= 50000; ++serial) {
    Refuse(serial);
    reporter_->Settle(serial, Is<Sentence::kLaterTrySucceeded>("ibv_dealloc_pd", 4711));
  }
  reporter_->Say(Made(Rule::kLeakAtClose, Severity::kError, "ibv_close_device", 2));
  EXPECT_EQ(reporter_->errors(), 1u);
  EXPECT_EQ(Times(Log(), "==NOTE: "), 1u);
  const Json json = Last();
  EXPECT_EQ(json["summary"]["notes"], 1);
  ASSERT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["findings"][0]["objects"], 50000);
  EXPECT_EQ(json["findings"][0]["resolved"], 50000);
  EXPECT_EQ(json["findings"][1]["rule"], "leak-at-close");
}

TEST_F(ManyFindingsTest, NotesGiveWayToWarningsAndBothToErrors) {
  for (StackId here = 1; here <= FindingStore::kMaxKept + 500; ++here) Refuse(here, true, here);
  for (StackId here = 1; here <= 20; ++here) {
    reporter_->Say(Made(Rule::kBlockedDestroy, Severity::kWarning, "ibv_destroy_cq", here));
  }
  for (StackId here = 1; here <= 30; ++here) {
    reporter_->Say(Made(Rule::kLeakAtClose, Severity::kError, "ibv_close_device", here));
  }
  const Json json = Last();
  EXPECT_EQ(json["summary"]["notes"], FindingStore::kMaxKept + 500);
  EXPECT_EQ(json["summary"]["warnings"], 20);
  EXPECT_EQ(json["summary"]["errors"], 30);
  EXPECT_EQ(json["summary"]["not_listed"], 550);
  EXPECT_EQ(json["findings"].size(), FindingStore::kMaxKept);
  std::map<std::string, int> kept;
  for (const Json& finding : json["findings"]) ++kept[finding["severity"]];
  EXPECT_EQ(kept["error"], 30);
  EXPECT_EQ(kept["warning"], 20);
}

TEST_F(ManyFindingsTest, AnErrorOfANewKindIsKeptEvenAmongTooManyErrors) {
  for (StackId here = 1; here <= FindingStore::kMaxKept + 5; ++here) {
    reporter_->Say(Made(Rule::kLeakAtClose, Severity::kError, "ibv_close_device", here));
  }
  reporter_->Say(Made(Rule::kDoubleDestroy, Severity::kError, "ibv_dereg_mr", 1, "mr"));
  const Json json = Last();
  EXPECT_EQ(json["summary"]["errors"], FindingStore::kMaxKept + 6);
  EXPECT_EQ(json["summary"]["not_listed"], 5);
  EXPECT_EQ(json["findings"].back()["rule"], "double-destroy");
}

TEST_F(ReporterTest, EachRefusedObjectIsSettledByItself) {
  for (uint64_t serial = 1; serial <= 5; ++serial) Refuse(serial);
  Refuse(4);
  for (uint64_t serial = 1; serial <= 3; ++serial) reporter_->Settle(serial, Is<Sentence::kLaterTrySucceeded>("ibv_dealloc_pd", 4711));
  Escalate(4);
  Escalate(5);
  EXPECT_EQ(reporter_->errors(), 1u);
  const Json json = Last();
  ASSERT_EQ(json["findings"].size(), 2u);
  const Json& note = json["findings"][0];
  EXPECT_EQ(note["severity"], "note");
  EXPECT_EQ(note["objects"], 3);
  EXPECT_EQ(note["resolved"], 3);
  EXPECT_EQ(note["count"], 3);
  const Json& error = json["findings"][1];
  EXPECT_EQ(error["severity"], "error");
  EXPECT_EQ(error["objects"], 2);
  EXPECT_EQ(error["count"], 3);
  EXPECT_EQ(json["summary"]["notes"], 1);
  EXPECT_EQ(Times(Log(), "==ERROR: "), 2u);
}

TEST_F(ReporterTest, ANoteWhoseOnlyObjectIsEscalatedCeases) {
  Refuse(7);
  Escalate(7);
  const Json json = Last();
  ASSERT_EQ(json["findings"].size(), 1u);
  EXPECT_EQ(json["findings"][0]["severity"], "error");
  EXPECT_EQ(json["summary"]["notes"], 0);
  EXPECT_EQ(json["summary"]["errors"], 1);
  reporter_->Summarize();
  EXPECT_NE(Log().find("SUMMARY: rdmacheck: 1 error (busy-destroy 1)\n"), std::string::npos) << Log();
}

TEST_F(ReporterTest, ARefusalThatNothingExplainsIsNewsAfterOneThatWasExplained) {
  Refuse(1, true);
  Refuse(1, true);
  EXPECT_EQ(Times(Log(), "==NOTE: "), 1u);
  Refuse(1, false);
  EXPECT_EQ(Times(Log(), "==NOTE: "), 2u);
  Refuse(1, false);
  Refuse(1, true);
  EXPECT_EQ(Times(Log(), "==NOTE: "), 2u);
  Refusal last;
  ASSERT_TRUE(reporter_->RefusalOf(1, &last));
  EXPECT_EQ(last.times, 5u);
  EXPECT_EQ(last.unexplained, 2u);
  const Json json = Last();
  ASSERT_EQ(json["findings"].size(), 1u);  // one finding a refused object
  EXPECT_EQ(json["findings"][0]["count"], 5);
  EXPECT_EQ(json["summary"]["notes"], 1);
}

TEST_F(ReporterTest, TheJsonReportIsThereBeforeACallThatMayNotReturn) {
  int errors = 0;
  for (const Rule rule : {Rule::kSelfDeadlock, Rule::kUnackedEvents, Rule::kOverAckedEvents, Rule::kCmUnackedEvent,
                          Rule::kUseAfterDestroy}) {
    reporter_->Say(Made(rule, Severity::kError, "ibv_destroy_cq", 1));
    EXPECT_EQ(Written()["summary"]["errors"], ++errors);
  }
  reporter_->Say(Made(Rule::kBlockedDestroy, Severity::kWarning, "ibv_destroy_cq", 1));
  EXPECT_EQ(Written()["summary"]["warnings"], 1);
  EXPECT_TRUE(Written()["process"]["ended"].is_null());
}

TEST_F(ReporterTest, TheFirstErrorIsWrittenAtOnceAndACloseCatchesUp) {
  reporter_->Say(Made(Rule::kLeakAtClose, Severity::kError, "ibv_close_device", 1));
  EXPECT_EQ(Written()["summary"]["errors"], 1);
  for (StackId here = 2; here <= 50; ++here) {
    reporter_->Say(Made(Rule::kLeakAtClose, Severity::kError, "ibv_close_device", here));
  }
  EXPECT_LT(filled_, 50);
  reporter_->WriteReport(Moment::kContextClosed);
  EXPECT_EQ(Written()["summary"]["errors"], 50);
  const int before = filled_;
  reporter_->WriteReport(Moment::kContextClosed);
  EXPECT_EQ(filled_, before);
}

TEST_F(ReporterTest, ANoteAloneIsNotWorthAFile) {
  Refuse(1);
  EXPECT_TRUE(Written().is_null());
}

TEST_F(ReporterTest, WhatAFindingDoesNotListIsCounted) {
  Finding busy = Refused(1, 1);
  for (uint64_t i = 0; i < kMaxRelated; ++i) {
    ObjectRef child;
    child.kind = "qp";
    busy.related.push_back({Role::kChild, child});
  }
  busy.unlisted = {{Role::kChild, "qp", 0, 305}, {Role::kChild, "mr", 0, 505}};
  reporter_->SayRefusal(busy, 1, Why(true));
  const Json json = Last();
  EXPECT_EQ(json["findings"][0]["related"].size(), kMaxRelated);
  EXPECT_EQ(json["findings"][0]["related_not_listed"], (Json{{"count", 810}, {"kinds", {{"qp", 305}, {"mr", 505}}}}));
  EXPECT_NE(Log().find("and 500 more: child qp\n"), std::string::npos) << Log();
  EXPECT_NE(Log().find("and 505 more: child mr\n"), std::string::npos) << Log();
}

TEST_F(ManyFindingsTest, CountsAreExactWhateverThreadsDo) {
  constexpr uint64_t kThreads = 8, kRounds = 3000;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        const uint64_t serial = t * kRounds + i + 1;
        Refuse(serial, i % 5 != 0, static_cast<StackId>(i % 3 + 1));
        if (i % 4 == 0) {
          Escalate(serial, static_cast<StackId>(i % 3 + 1));
        } else {
          reporter_->Settle(serial, Is<Sentence::kLaterTrySucceeded>("ibv_dealloc_pd", 4711));
        }
        reporter_->Say(Made(Rule::kForeignProcess, Severity::kError, "ibv_dereg_mr", static_cast<StackId>(i % 7 + 1)));
        if (i % 500 == 0) reporter_->WriteReport(Moment::kContextClosed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Json json = Last();
  uint64_t foreign = 0, refused = 0, resolved = 0, hardened = 0;
  for (const Json& finding : json["findings"]) {
    const bool error = finding["severity"] == "error";
    const uint64_t objects = finding.value("objects", uint64_t{0});
    if (finding["rule"] == "foreign-process") foreign += finding["count"].get<uint64_t>();
    refused += objects;
    resolved += finding.value("resolved", uint64_t{0});
    if (error) hardened += objects;
  }
  EXPECT_EQ(foreign, kThreads * kRounds);
  EXPECT_EQ(refused, kThreads * kRounds);
  EXPECT_EQ(resolved, kThreads * kRounds / 4 * 3);
  EXPECT_EQ(hardened, kThreads * kRounds / 4);
  EXPECT_EQ(json["summary"]["errors"], 7 + 6);  // by stack, and by stack and whether it was explained
  EXPECT_EQ(json["summary"]["notes"], 6);
}

TEST_F(ReporterTest, OneFindingForEachSubject) {
  reporter_->SayOnce(Made(Rule::kAliveAfterDeviceLoss, Severity::kWarning, "ibv_destroy_qp", 1), 77);
  reporter_->SayOnce(Made(Rule::kAliveAfterDeviceLoss, Severity::kWarning, "ibv_destroy_qp", 1), 77);
  EXPECT_TRUE(reporter_->NoteRepeat(77, EIO));
  EXPECT_FALSE(reporter_->NoteRepeat(78, EIO));
  Finding more;
  more.hints = {"more"};
  EXPECT_TRUE(reporter_->AddDetail(77, more));
  EXPECT_FALSE(reporter_->AddDetail(78, more));
  const Json json = Last();
  ASSERT_EQ(json["findings"].size(), 1u);
  EXPECT_EQ(json["findings"][0]["count"], 2);
  EXPECT_EQ(json["findings"][0]["hints"], Json{"more"});
}

}  // namespace
}  // namespace rdmacheck
