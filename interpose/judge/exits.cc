// What is said when the process ends: open-at-exit, device-list-leak, and what was left unsettled.
#include "interpose/judge/device_loss.h"
#include "interpose/judge/event_rules.h"
#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/leaks.h"
#include "interpose/judge/cm_judge.h"
#include "interpose/judge/witness.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

namespace {

void SayChannels(Checker& checker, Severity severity, const std::vector<Record>& channels) {
  std::vector<Finding> findings = LeakFindings(checker, Rule::kCmChannelLeak, severity, channels, nullptr, "", 0);
  for (Finding& finding : findings) {
    std::vector<Record> ids;
    for (const Record& channel : channels) {
      if (channel.stack != finding.object.created) continue;
      for (Record& child : checker.ledger().ChildrenOf(channel.slot)) {
        if (child.kind == Kind::kCmId) ids.push_back(std::move(child));
      }
    }
    AddRelated(checker, &finding, Role::kChild, ids);
    finding.says = {Is<Sentence::kCmChannelsLeft>(finding.count, ids.size())};
  }
  checker.reporter().Say(std::move(findings));
}

}  // namespace

void JudgeExit(Checker& checker) {
  const Options& options = checker.options();
  CompareWithKernel(checker, nullptr);
  Ledger& ledger = checker.ledger();
  const Severity severity = options.strict ? Severity::kError : Severity::kWarning;
  std::vector<Record> open, lists, channels, held, refused;
  std::vector<Record> lost;
  for (Record& record : ledger.All(~size_t{0}, kInherited | kIgnored | kClosed | kTold)) {
    if (record.life == Life::kZombie || record.origin == Origin::kUnknown) continue;
    if (record.kind == Kind::kDmabufFd && !FdIsOpen(record)) continue;
    // A refusal that librdmacm swallowed: the program cannot have seen it, and the object is lost all the same.
    if (record.Has(kRefused)) refused.push_back(record);
    if (!IsProgramsOwn(checker, record)) {
      if (record.kind == Kind::kContext || record.kind == Kind::kDeviceList) held.push_back(record);
      continue;
    }
    const Slot context = record.kind == Kind::kContext ? record.slot : ledger.ContextOf(record.slot);
    if (context != 0 && ledger.Get(context).Has(kDeviceLost)) {
      lost.push_back(std::move(record));
      continue;
    }
    if (record.kind == Kind::kCmEvent || record.kind == Kind::kCmAddrinfo) continue;  // said with its id; mere memory
    if (record.kind == Kind::kDeviceList || record.kind == Kind::kCmDeviceList) {
      lists.push_back(std::move(record));
    } else if (record.kind == Kind::kCmChannel) {
      channels.push_back(std::move(record));
    } else {
      open.push_back(std::move(record));
    }
  }
  JudgeQpsLeftAtExit(checker);
  EscalateRefused(checker, refused, Sentence::kNeverRetriedEnded);
  if (options.check_at_exit) {
    for (Finding& finding : LeakFindings(checker, Rule::kDeviceListLeak, severity, lists, nullptr, "", 0)) {
      uint64_t devices = 0;
      for (const Number& number : finding.object.numbers) devices = number.value;
      finding.says = {Is<Sentence::kListsNotFreed>(finding.count, devices)};
      checker.reporter().Say(std::move(finding));
    }
    if (!channels.empty()) SayChannels(checker, severity, channels);
    if (!open.empty()) checker.reporter().Say(LeakFindings(checker, Rule::kOpenAtExit, severity, open, nullptr, "", 0));
    if (!lost.empty()) SayLostAtExit(checker, lost);
  }
  if (options.verbosity >= 1 && !held.empty()) {
    Finding note = FindingAtExit(Rule::kOpenAtExit, Is<Sentence::kHeldByLibrary>(held.size(), CountKinds(held)));
    note.severity = Severity::kNote;
    AddRelated(checker, &note, Role::kHolder, held);
    checker.reporter().Say(std::move(note));
  }
}

}  // namespace rdmacheck
