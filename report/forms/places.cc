#include "report/forms/places.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <set>
#include <utility>

#include "report/cat.h"
#include "report/modules.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

bool IsSystemModule(std::string_view path) {
  if (IsOfRdmaCore(path)) return true;
  const std::string_view name = LastPart(path);
  for (const std::string_view one : {"librdmacheck.so", "libc.so", "libc-2", "libpthread", "ld-linux", "libstdc++.so",
                                     "libgcc_s.so", "_ctypes.", "libffi.so"}) {
    if (name.substr(0, one.size()) == one) return true;
  }
  return false;
}

constexpr uint64_t kFnvStart = 14695981039346656037u;

uint64_t Mix(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return (hash ^ 0xFF) * 1099511628211u;  // so that "ab","c" is not "a","bc"
}

// Findings about objects that are still there: where they were created says more than where that was found.
bool IsAboutWhatIsLeft(const Finding& finding) {
  return IsLeak(finding.rule) || finding.rule == Rule::kAliveAfterDeviceLoss;
}

}  // namespace

std::string NameOf(const Frame& frame) {
  if (!frame.function.empty()) return frame.function;
  return Cat(frame.module.empty() ? std::string_view("??") : LastPart(frame.module), "+", Hex(frame.offset));
}

const Frame* FirstPlace(const std::vector<Frame>& frames) {
  for (const Frame& frame : frames) {
    // "<string>" is a file of Python's that nobody can open.
    if (!frame.file.empty() && frame.line > 0 && frame.file.front() != '<' && !IsSystemModule(frame.module)) return &frame;
  }
  return nullptr;
}

StackId MainStack(const ReportSet& set, const Finding& finding) {
  using Roles = std::array<StackRole, 6>;
  const Roles roles = IsAboutWhatIsLeft(finding) ? Roles{StackRole::kCreated,   StackRole::kHere,       StackRole::kClosed,
                                              StackRole::kDestroyed, StackRole::kEventTaken, StackRole::kOtherThread}
                                      : Roles{StackRole::kHere,    StackRole::kClosed,     StackRole::kDestroyed,
                                              StackRole::kCreated, StackRole::kEventTaken, StackRole::kOtherThread};
  StackId first = kNoStack;
  for (const StackRole role : roles) {
    const StackId id = StackOf(finding, role);
    if (id == kNoStack) continue;
    if (FirstPlace(set.stacks.Get(id)) != nullptr) return id;
    if (first == kNoStack) first = id;
  }
  return first;
}

std::string FingerprintOf(const ReportSet& set, const Finding& finding) {
  uint64_t hash = Mix(Mix(kFnvStart, InfoOf(finding.rule).id), finding.has_object ? finding.object.kind : "");
  hash = Mix(hash, finding.verb);
  for (const Frame& frame : WithoutStartCode(set.stacks.Get(MainStack(set, finding)))) {
    hash = Mix(Mix(hash, frame.function), LastPart(frame.is_python() ? frame.file : frame.module));
  }
  char digits[20];
  snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

std::string NameOf(const ReportSet& set, const SetProcess& process) {
  const ProcessInfo& info = process.process;
  if (info.rank.empty()) return Cat(LastPart(info.exe), " (", info.pid, ")");
  std::string name = "rank " + info.rank;
  if (set.processes.front().process.host != set.processes.back().process.host) name += " on " + info.host;
  return name;
}

std::string Sentences(const ReportSet& set, const SetFinding& one) {
  const Finding& finding = one.finding;
  std::string text = finding.message;
  if (finding.count > 1) {
    Append(&text, " (", finding.count, finding.has_object ? " objects" : " times");
    if (finding.bytes != 0) Append(&text, ", ", Bytes(finding.bytes));
    text += ")";
  }
  if (finding.has_object) Append(&text, ": ", TextOf(finding.object));
  if (!text.empty() && text.back() != '.') text += ".";
  for (const std::string& hint : finding.hints) {
    Append(&text, " ", hint);
    if (!hint.empty() && hint.back() != '.') text += ".";
  }
  if (set.processes.size() > 1) Append(&text, " In ", RanksInWords(set, one.processes), ".");
  return text;
}

std::string UtcTime(double seconds) {
  if (!(seconds > 0 && seconds < 253402300799.0)) return std::string();
  const time_t whole = static_cast<time_t>(seconds);
  tm parts{};
  gmtime_r(&whole, &parts);
  char text[64];
  snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
           parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
           static_cast<int>((seconds - static_cast<double>(whole)) * 1000));
  return text;
}

ThreadNames::ThreadNames(const ReportSet& set) {
  const auto see = [this](uint32_t process, const ThreadRef& thread) {
    if (!thread.name.empty()) names_.emplace(std::make_pair(process, thread.tid), thread.name);
  };
  for (uint32_t i = 0; i < set.processes.size(); ++i) {
    for (const TimelineEntry& entry : set.processes[i].timeline) see(i, entry.thread);
    for (const Destroyed& one : set.processes[i].destroyed) {
      see(i, one.thread);
      see(i, one.object.thread);
    }
  }
  for (const SetFinding& one : set.findings) {
    if (one.processes.empty()) continue;
    const uint32_t process = one.processes.ranges().front().first;
    see(process, one.finding.thread);
    see(process, one.finding.object.thread);
    for (const Related& other : one.finding.related) see(process, other.object.thread);
    for (const TimelineEntry& entry : one.finding.timeline) see(process, entry.thread);
  }
}

std::string ThreadNames::NameOf(uint32_t process, const ThreadRef& thread) const {
  const auto known = names_.find({process, thread.tid});
  ThreadRef one = thread;
  one.exited = false;
  if (one.name.empty() && known != names_.end()) one.name = known->second;
  return TextOf(one);
}

std::vector<Lifetime> LifetimesOf(const ReportSet& set) {
  std::vector<Lifetime> all;
  std::set<std::pair<uint32_t, uint64_t>> seen;
  const auto add = [&](uint32_t process, const ObjectRef& object, double seen_at, const Destroyed* destroyed) {
    if (object.serial == 0 || seen_at <= 0 || !seen.emplace(process, object.serial).second) return;
    all.push_back(
        {process, &object, seen_at - std::max(0.0, object.age), destroyed == nullptr ? 0 : destroyed->time, destroyed});
  };
  for (uint32_t i = 0; i < set.processes.size(); ++i) {
    for (const Destroyed& one : set.processes[i].destroyed) {
      add(i, one.object, std::max(set.processes[i].process.written, one.time), &one);
    }
  }
  for (const SetAlive& one : set.alive) {
    if (one.processes.empty()) continue;
    const uint32_t process = one.processes.ranges().front().first;
    if (process >= set.processes.size()) continue;
    for (const ObjectRef& object : one.group.objects)
      add(process, object, set.processes[process].process.written, nullptr);
  }
  for (const SetFinding& one : set.findings) {
    if (one.processes.empty() || !one.finding.has_object) continue;
    // A leak's object lives on; of other rules' objects the end is known only where `destroyed` has it.
    if (IsAboutWhatIsLeft(one.finding)) add(one.processes.ranges().front().first, one.finding.object, one.finding.time, nullptr);
  }
  std::stable_sort(all.begin(), all.end(), [](const Lifetime& a, const Lifetime& b) {
    return a.process != b.process ? a.process < b.process : a.begin < b.begin;
  });
  return all;
}

}  // namespace rdmacheck
