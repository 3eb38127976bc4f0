// What is said when the process ends: open-at-exit, device-list-leak, and what was left unsettled.
#include "interpose/judge/device_loss.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/leaks.h"
#include "interpose/runtime/runtime.h"

namespace rdmacheck {

void JudgeExit(Runtime& runtime) {
  const Options& options = runtime.options();
  Ledger& ledger = runtime.ledger();
  const Severity severity = options.strict ? Severity::kError : Severity::kWarning;
  std::vector<Record> open, lists, held, refused;
  std::vector<Record> lost;
  for (Record& record : ledger.All()) {
    if (record.life == Life::kZombie || record.Has(kInherited) || record.Has(kIgnored)) continue;
    if (record.Has(kClosed) || record.Has(kTold) || record.origin == Origin::kUnknown) continue;
    if (record.kind == Kind::kDmabufFd && !FdIsOpen(record)) continue;
    if (!IsProgramsOwn(runtime, record)) {
      if (record.kind == Kind::kContext || record.kind == Kind::kDeviceList) held.push_back(record);
      continue;
    }
    const Slot context = record.kind == Kind::kContext ? record.slot : ledger.ContextOf(record.slot);
    if (context != 0 && ledger.Get(context).Has(kDeviceLost)) {
      lost.push_back(std::move(record));
      continue;
    }
    if (record.Has(kRefused)) refused.push_back(record);
    if (record.kind == Kind::kDeviceList) {
      lists.push_back(std::move(record));
    } else {
      open.push_back(std::move(record));
    }
  }
  HardenRefused(runtime, refused, "the process ended");
  if (options.check_at_exit) {
    for (Finding& finding : LeakFindings(runtime, Rule::kDeviceListLeak, severity, lists, nullptr, "", 0)) {
      uint64_t devices = 0;
      for (const Number& number : finding.object.numbers) devices = number.value;
      finding.message = (finding.count == 1 ? std::string("a device list") : std::to_string(finding.count) + " device lists") +
                        " (" + std::to_string(devices) + " device" + (devices == 1 ? "" : "s") + ") never freed";
      runtime.reporter().Say(std::move(finding));
    }
    if (!open.empty()) runtime.reporter().Say(LeakFindings(runtime, Rule::kOpenAtExit, severity, open, nullptr, "", 0));
    if (!lost.empty()) SayLostAtExit(runtime, lost);
  }
  if (options.verbosity >= 1 && !held.empty()) {
    Finding note = FindingAtExit(Rule::kOpenAtExit, "held by a library for its own life: " + CountsInWords(held));
    note.severity = Severity::kNote;
    for (const Record& record : held) note.related.push_back({Role::kHolder, Describe(runtime, record)});
    runtime.reporter().Say(std::move(note));
  }
}

}  // namespace rdmacheck
