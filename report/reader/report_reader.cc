#include "report/reader/report_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <mutex>
#include <thread>
#include <utility>

#include "report/cat.h"
#include "report/errno_name.h"
#include "report/json_writer.h"
#include "report/printable.h"
#include "report/reader/journal_reader.h"
#include "report/reader/json_pull.h"

namespace rdmacheck {
namespace {

constexpr off_t kLargestFile = off_t{1} << 30;

uint64_t Sum(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

// ---- One document. Every member of the schema has a line here; members that are not known are passed over, for the
// ---- same version of the form may have more of them.

class DocumentReader {
 public:
  DocumentReader(std::string_view text, const std::string& file, StackTable* stacks,
                 std::unordered_map<std::string, StackId>* stacks_by_text)
      : in_(text), file_(file), stacks_(stacks), stacks_by_text_(stacks_by_text) {}

  // The processes of the document, with the findings' indexes counted from 0.
  bool Read();
  std::vector<SetProcess> processes;
  std::vector<SetFinding> findings;
  std::vector<SetAlive> alive;
  const JsonPull& in() const { return in_; }

 private:
  // An object whose `required` members must each stand there once.
  template <class F>
  void Members(const char* what, std::initializer_list<std::string_view> required, F f) {
    uint32_t seen = 0;
    in_.Object([&](const std::string& key) {
      const size_t at = in_.offset();
      const auto known = std::find(required.begin(), required.end(), key);
      if (known != required.end()) {
        const uint32_t bit = 1u << (known - required.begin());
        if ((seen & bit) != 0) return in_.Fail(Cat(what, " has '", key, "' twice"), at);
        seen |= bit;
      }
      f(key);
    });
    if (!in_.ok()) return;
    for (size_t i = 0; i < required.size(); ++i) {
      if ((seen & 1u << i) == 0) return in_.Fail(Cat(what, " has no '", required.begin()[i], "'"), in_.offset());
    }
  }

  void Text(std::string* out) {
    in_.String(out);
    MakePrintable(out);
  }
  void TextOrNull(std::string* out) {
    if (!in_.Null()) Text(out);
  }
  void Integer(int* out) {
    const size_t at = in_.offset();
    int64_t value = 0;
    in_.Int(&value);
    if (value < INT32_MIN || value > INT32_MAX) return in_.Fail("a number that is too large here", at);
    *out = static_cast<int>(value);
  }
  template <class E, size_t N>
  void Word(const E (&values)[N], const char* what, E* out) {
    const size_t at = in_.offset();
    std::string word;
    Text(&word);
    for (const E value : values) {
      if (word == NameOf(value)) return static_cast<void>(*out = value);
    }
    in_.Fail(Cat("'", word.substr(0, 40), "' is no ", what), at);
  }

  void Process(ProcessInfo* out);
  void Environment(EnvironmentInfo* out);
  void OneSummary(Summary* out);
  void Growths(std::vector<Growth>* out);
  void Processes();
  void Injected(std::vector<InjectedFault>* out);
  void OneInjected(InjectedFault* out);
  void Findings();
  void OneFinding(SetFinding* out);
  void Rules(Rule* out);
  void Groups(std::vector<Group>* out);
  void NotListed(std::vector<Unlisted>* out);
  void Timeline(std::vector<TimelineEntry>* out);
  void LastDestroyed(std::vector<Destroyed>* out);
  void Alive();
  void Object(ObjectRef* out);
  void Thread(ThreadRef* out);
  void Call(FailedCall* out);
  void Texts(std::vector<std::string>* out) {
    in_.Array([&] { Text(&out->emplace_back()); });
  }
  void Indexes(IndexSet* out);
  void Stack(StackId* out);
  void OneFrame(Frame* out);
  void CheckIndexes();

  JsonPull in_;
  const std::string& file_;
  StackTable* const stacks_;
  std::unordered_map<std::string, StackId>* const stacks_by_text_;
};

bool IsShownInHex(std::string_view name) {
  for (const std::string_view known :
       {"lkey", "rkey", "addr", "qpn", "wq_num", "ind_tbl_num", "lid", "gid_prefix", "gid_id"}) {
    if (name == known) return true;
  }
  return false;
}

bool DocumentReader::Read() {
  SetProcess first;
  first.file = file_;
  bool many = false;
  Members("the report", {"schema", "version", "tool", "process", "environment", "summary", "findings", "alive"},
          [&](const std::string& key) {
            const size_t at = in_.offset();
            if (key == "schema") {
              std::string schema;
              Text(&schema);
              if (schema != kReportSchema) in_.Fail(Cat("'schema' is not \"", kReportSchema, "\""), at);
            } else if (key == "version") {
              uint64_t version = 0;
              in_.Uint(&version);
              if (version != kReportVersion) {
                in_.Fail(Cat("a report of version ", version, "; this command reads version ", kReportVersion), at);
              }
            } else if (key == "process") {
              Process(&first.process);
            } else if (key == "environment") {
              Environment(&first.environment);
            } else if (key == "summary") {
              OneSummary(&first.summary);
            } else if (key == "processes") {
              many = true;
              Processes();
            } else if (key == "findings") {
              Findings();
            } else if (key == "alive") {
              Alive();
            } else if (key == "destroyed") {
              LastDestroyed(&first.destroyed);
            } else if (key == "timeline") {
              Timeline(&first.timeline);
            } else if (key == "injected_faults") {
              Injected(&first.injected);
            } else {
              in_.Skip();
            }
          });
  in_.End();
  if (!in_.ok()) return false;
  if (!many) processes.push_back(std::move(first));
  CheckIndexes();
  return in_.ok();
}

// What stands for no process belongs to all; what stands for one that is not there is a mistake.
void DocumentReader::CheckIndexes() {
  const auto check = [&](IndexSet* indexes) {
    if (indexes->empty() && !processes.empty()) {
      indexes->AddRange({0, static_cast<uint32_t>(processes.size() - 1)});
    }
    for (const IndexSet::Range& range : indexes->ranges()) {
      if (range.last >= processes.size()) {
        in_.Fail(Cat("a finding of process ", range.last, ", but there are ", processes.size()), in_.offset());
      }
    }
  };
  for (SetFinding& one : findings) check(&one.processes);
  for (SetAlive& one : alive) check(&one.processes);
}

void DocumentReader::Process(ProcessInfo* out) {
  Members("a process", {"pid", "ppid", "exe", "host", "rank", "started", "ended", "exit_status"},
          [&](const std::string& key) {
            if (key == "pid") return Integer(&out->pid);
            if (key == "ppid") return Integer(&out->ppid);
            if (key == "exe") return Text(&out->exe);
            if (key == "host") return Text(&out->host);
            if (key == "rank") return TextOrNull(&out->rank);
            if (key == "started") return in_.Double(&out->started);
            if (key == "ended") return in_.Null() ? void() : in_.Double(&out->ended);
            if (key == "exit_status") return in_.Null() ? void() : Integer(&out->exit_status);
            if (key == "written") return in_.Null() ? void() : in_.Double(&out->written);
            in_.Skip();
          });
}

void DocumentReader::Environment(EnvironmentInfo* out) {
  const auto count = [this](uint32_t* value) {
    uint64_t number = 0;
    in_.Uint(&number);
    *value = static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
  };
  Members("an environment", {"libibverbs", "librdmacm", "disassoc_destroy", "hooks", "unwatched"},
          [&](const std::string& key) {
            if (key == "libibverbs") return TextOrNull(&out->libibverbs);
            if (key == "librdmacm") return TextOrNull(&out->librdmacm);
            if (key == "disassoc_destroy") return in_.Bool(&out->disassoc_destroy);
            if (key == "unwatched") return Texts(&out->unwatched);
            if (key == "verified") return Texts(&out->verified);
            if (key != "hooks") return in_.Skip();
            Members("hooks", {"plt", "slots", "dlsym"}, [&](const std::string& hook) {
              if (hook == "plt") return count(&out->hooks_plt);
              if (hook == "slots") return count(&out->hooks_slots);
              if (hook == "dlsym") return count(&out->hooks_dlsym);
              in_.Skip();
            });
          });
}

void DocumentReader::OneSummary(Summary* out) {
  Members("a summary", {"errors", "warnings", "notes", "suppressed", "kinds", "growth"}, [&](const std::string& key) {
    if (key == "errors") return in_.Uint(&out->errors);
    if (key == "warnings") return in_.Uint(&out->warnings);
    if (key == "notes") return in_.Uint(&out->notes);
    if (key == "lost_texts") return in_.Uint(&out->lost_texts);
    if (key == "not_listed") return in_.Uint(&out->not_listed);
    if (key == "suppressed") return in_.Uint(&out->suppressed);
    if (key == "calls") return in_.Uint(&out->calls);
    if (key == "growth") return Growths(&out->growth);
    if (key != "kinds") return in_.Skip();
    in_.Object([&](const std::string& kind) {
      KindCount& one = out->kinds.emplace_back();
      one.kind = kind;
      MakePrintable(&one.kind);
      Members("a kind", {"created", "destroyed", "alive"}, [&](const std::string& member) {
        if (member == "created") return in_.Uint(&one.created);
        if (member == "destroyed") return in_.Uint(&one.destroyed);
        if (member == "alive") return in_.Uint(&one.alive);
        in_.Skip();
      });
    });
  });
}

void DocumentReader::Growths(std::vector<Growth>* out) {
  in_.Array([&] {
    Growth& one = out->emplace_back();
    Members("a growth", {"kind", "created", "destroyed", "alive", "stack"}, [&](const std::string& key) {
      if (key == "kind") return Text(&one.kind);
      if (key == "created") return in_.Uint(&one.created);
      if (key == "destroyed") return in_.Uint(&one.destroyed);
      if (key == "alive") return in_.Uint(&one.alive);
      if (key == "stack") return Stack(&one.stack);
      in_.Skip();
    });
  });
}

void DocumentReader::Processes() {
  in_.Array([&] {
    SetProcess& one = processes.emplace_back();
    one.file = file_;
    Members("a process", {"process", "environment", "summary"}, [&](const std::string& key) {
      if (key == "process") return Process(&one.process);
      if (key == "environment") return Environment(&one.environment);
      if (key == "summary") return OneSummary(&one.summary);
      if (key == "ended_by") return TextOrNull(&one.ended_by);
      if (key == "file") return Text(&one.file);
      if (key == "destroyed") return LastDestroyed(&one.destroyed);
      if (key == "timeline") return Timeline(&one.timeline);
      if (key == "injected_faults") return Injected(&one.injected);
      if (key == "remarks") return Texts(&one.remarks);
      in_.Skip();
    });
  });
}

void DocumentReader::Injected(std::vector<InjectedFault>* out) {
  in_.Array([&] { OneInjected(&out->emplace_back()); });
}

void DocumentReader::OneInjected(InjectedFault* out) {
  Members("an injected fault", {"fault", "verb", "call", "result", "device", "time", "thread", "stack"},
          [&](const std::string& key) {
            if (key == "fault") return Text(&out->fault);
            if (key == "verb") return TextOrNull(&out->verb);
            if (key == "call") return in_.Uint(&out->call);
            if (key == "result") return Integer(&out->result);
            if (key == "device") return TextOrNull(&out->device);
            if (key == "time") return in_.Double(&out->time);
            if (key == "thread") return Thread(&out->thread);
            if (key == "stack") return Stack(&out->stack);
            in_.Skip();
          });
}

void DocumentReader::Rules(Rule* out) {
  static const std::vector<std::string_view> ids = AllRuleIds();
  const size_t at = in_.offset();
  std::string id;
  Text(&id);
  const auto known = std::find(ids.begin(), ids.end(), id);
  if (known == ids.end()) return in_.Fail(Cat("'", id.substr(0, 40), "' is no rule that this command knows"), at);
  *out = static_cast<Rule>(known - ids.begin());
}

void DocumentReader::Findings() {
  in_.Array([&] { OneFinding(&findings.emplace_back()); });
}

void DocumentReader::OneFinding(SetFinding* out) {
  Finding& finding = out->finding;
  Members("a finding",
          {"rule", "severity", "message", "time", "verb", "result", "thread", "object", "related", "stacks", "count",
           "suppressed_by"},
          [&](const std::string& key) {
            if (key == "rule") return Rules(&finding.rule);
            if (key == "severity") {
              return Word({Severity::kNote, Severity::kWarning, Severity::kError}, "severity", &finding.severity);
            }
            if (key == "message") return Text(&finding.message);
            if (key == "time") return in_.Double(&finding.time);
            if (key == "verb") return TextOrNull(&finding.verb);
            if (key == "result") {
              finding.has_result = !in_.Null();
              return finding.has_result ? Integer(&finding.result) : void();
            }
            if (key == "thread") return Thread(&finding.thread);
            if (key == "object") {
              finding.has_object = !in_.Null();
              return finding.has_object ? Object(&finding.object) : void();
            }
            if (key == "related") {
              return in_.Array([&] {
                Related& one = finding.related.emplace_back();
                Members("a related object", {"role", "object"}, [&](const std::string& member) {
                  if (member == "role") {
                    return Word({Role::kChild, Role::kParent, Role::kContext, Role::kHolder}, "role", &one.role);
                  }
                  if (member == "object") return Object(&one.object);
                  in_.Skip();
                });
              });
            }
            if (key == "stacks") {
              return in_.Array([&] {
                StackRef& one = finding.stacks.emplace_back();
                Members("a stack", {"role", "frames"}, [&](const std::string& member) {
                  if (member == "role") {
                    return Word({StackRole::kHere, StackRole::kCreated, StackRole::kDestroyed, StackRole::kClosed,
                                 StackRole::kEventTaken, StackRole::kOtherThread},
                                "role of a stack", &one.role);
                  }
                  if (member == "frames") return Stack(&one.id);
                  in_.Skip();
                });
              });
            }
            if (key == "count") return in_.Uint(&finding.count);
            if (key == "suppressed_by") return TextOrNull(&finding.suppressed_by);
            if (key == "bytes") return in_.Uint(&finding.bytes);
            if (key == "times") return in_.Uint(&finding.times);
            if (key == "objects") return in_.Uint(&finding.objects);
            if (key == "resolved") return in_.Uint(&finding.resolved);
            if (key == "related_not_listed") return NotListed(&finding.unlisted);
            if (key == "groups") return Groups(&finding.groups);
            if (key == "hints") return Texts(&finding.hints);
            if (key == "injected_fault") return OneInjected(&finding.injected);
            if (key == "injected_here") return in_.Bool(&finding.injected_here);
            if (key == "timeline") return Timeline(&finding.timeline);
            if (key == "processes") return Indexes(&out->processes);
            in_.Skip();
          });
  // The created stack stands beside the object; there it also is the object's own.
  const StackId created = StackOf(finding, StackRole::kCreated);
  if (finding.has_object && finding.object.created == kNoStack) finding.object.created = created;
}

void DocumentReader::Groups(std::vector<Group>* out) {
  in_.Array([&] {
    Group& one = out->emplace_back();
    Members("a group", {"kind", "count", "stack"}, [&](const std::string& key) {
      if (key == "kind") return Text(&one.kind);
      if (key == "count") return in_.Uint(&one.count);
      if (key == "stack") return Stack(&one.stack);
      if (key == "bytes") return in_.Uint(&one.bytes);
      if (key == "oldest") return Object(&one.oldest);
      in_.Skip();
    });
  });
}

void DocumentReader::NotListed(std::vector<Unlisted>* out) {
  Members("what a finding does not list", {"count", "kinds"}, [&](const std::string& key) {
    if (key != "kinds") return in_.Skip();
    in_.Object([&](const std::string& kind) {
      Unlisted& some = out->emplace_back();
      some.kind = kind;
      MakePrintable(&some.kind);
      in_.Uint(&some.count);
    });
  });
}

void DocumentReader::Timeline(std::vector<TimelineEntry>* out) {
  in_.Array([&] {
    TimelineEntry& one = out->emplace_back();
    Members("an entry of a timeline", {"what", "thread", "begin", "end", "kind", "serial", "result"},
            [&](const std::string& key) {
              if (key == "what") return Text(&one.what);
              if (key == "thread") return Thread(&one.thread);
              if (key == "begin") return in_.Double(&one.begin);
              if (key == "end") return in_.Null() ? void() : in_.Double(&one.end);
              if (key == "kind") return Text(&one.kind);
              if (key == "serial") return in_.Uint(&one.serial);
              if (key == "result") return Integer(&one.result);
              in_.Skip();
            });
  });
}

void DocumentReader::LastDestroyed(std::vector<Destroyed>* out) {
  in_.Array([&] {
    Destroyed& one = out->emplace_back();
    Members("a destroyed object", {"object", "time", "thread", "verb"}, [&](const std::string& key) {
      if (key == "object") return Object(&one.object);
      if (key == "time") return in_.Double(&one.time);
      if (key == "thread") return Thread(&one.thread);
      if (key == "verb") return TextOrNull(&one.verb);
      in_.Skip();
    });
  });
}

void DocumentReader::Alive() {
  in_.Array([&] {
    SetAlive& out = alive.emplace_back();
    AliveGroup& group = out.group;
    Members("a group of live objects", {"kind", "device", "count", "bytes", "stack", "objects", "last_failed_call"},
            [&](const std::string& key) {
              if (key == "kind") return Text(&group.kind);
              if (key == "device") return TextOrNull(&group.device);
              if (key == "count") return in_.Uint(&group.count);
              if (key == "bytes") return in_.Uint(&group.bytes);
              if (key == "stack") return Stack(&group.stack);
              if (key == "objects") return in_.Array([&] { Object(&group.objects.emplace_back()); });
              if (key == "last_failed_call") return in_.Null() ? void() : Call(&group.last_failed_call);
              if (key == "processes") return Indexes(&out.processes);
              in_.Skip();
            });
    for (ObjectRef& object : group.objects) object.created = group.stack;
  });
}

void DocumentReader::Object(ObjectRef* out) {
  Members("an object", {"kind", "serial", "device", "numbers", "age", "origin"}, [&](const std::string& key) {
    if (key == "kind") return Text(&out->kind);
    if (key == "serial") return in_.Uint(&out->serial);
    if (key == "device") return TextOrNull(&out->device);
    if (key == "age") return in_.Double(&out->age);
    if (key == "origin") return Text(&out->origin);
    if (key == "owner") return Text(&out->owner);
    if (key == "thread") return Thread(&out->thread);
    if (key == "bytes") return in_.Uint(&out->bytes);
    if (key == "last_failed_call") return Call(&out->last_failed_call);
    if (key == "parents") {
      return in_.Array([&] {
        ParentRef& parent = out->parents.emplace_back();
        Members("a parent", {"kind", "serial"}, [&](const std::string& member) {
          if (member == "kind") return Text(&parent.kind);
          if (member == "serial") return in_.Uint(&parent.serial);
          in_.Skip();
        });
      });
    }
    if (key == "remark") return Text(&out->remark);
    if (key == "stack") return Stack(&out->created);
    if (key != "numbers") return in_.Skip();
    in_.Object([&](const std::string& name) {
      Number& number = out->numbers.emplace_back();
      std::string printable = name;
      MakePrintable(&printable);
      number.name = ReportSet::NumberName(printable);
      number.hex = IsShownInHex(printable);
      in_.Uint(&number.value);
    });
  });
}

void DocumentReader::Thread(ThreadRef* out) {
  Members("a thread", {"tid", "name"}, [&](const std::string& key) {
    if (key == "tid") return Integer(&out->tid);
    if (key == "name") return Text(&out->name);
    if (key == "exited") return in_.Bool(&out->exited);
    in_.Skip();
  });
}

void DocumentReader::Call(FailedCall* out) {
  Members("a failed call", {"verb", "result", "time"}, [&](const std::string& key) {
    if (key == "verb") return Text(&out->verb);
    if (key == "result") return Integer(&out->result);
    if (key == "time") return in_.Double(&out->time);
    in_.Skip();
  });
}

// [[first, last], …], ascending.
void DocumentReader::Indexes(IndexSet* out) {
  uint64_t least = 0;
  in_.Array([&] {
    const size_t at = in_.offset();
    uint64_t ends[2] = {0, 0};
    size_t count = 0;
    in_.Array([&] {
      if (count == 2) return in_.Fail("a range has two ends", at);
      in_.Uint(&ends[count++]);
    });
    if (!in_.ok()) return;
    if (count != 2 || ends[0] < least || ends[1] < ends[0] || ends[1] >= UINT32_MAX) {
      return in_.Fail("ranges of processes must ascend", at);
    }
    least = ends[1] + 1;
    out->AddRange({static_cast<uint32_t>(ends[0]), static_cast<uint32_t>(ends[1])});
  });
}

// Most stacks of a job stand in its reports letter by letter as before: then one look-up does for all their frames.
void DocumentReader::Stack(StackId* out) {
  const size_t begin = in_.offset();
  const std::string_view raw = EndOfArray(in_.text().substr(begin));
  if (!raw.empty()) {
    const auto known = stacks_by_text_->find(std::string(raw));
    if (known != stacks_by_text_->end()) {
      in_.Advance(raw.size());
      *out = known->second;
      return;
    }
  }
  std::vector<Frame> frames;
  in_.Array([&] { OneFrame(&frames.emplace_back()); });
  if (!in_.ok()) return;
  *out = stacks_->Intern(std::move(frames));
  stacks_by_text_->emplace(in_.text().substr(begin, in_.offset() - begin), *out);
}

void DocumentReader::OneFrame(Frame* out) {
  Members("a frame", {"function", "file", "line", "module", "offset", "build_id"}, [&](const std::string& key) {
    if (key == "function") return TextOrNull(&out->function);
    if (key == "file") return TextOrNull(&out->file);
    if (key == "line") return in_.Null() ? void() : Integer(&out->line);
    if (key == "module") return TextOrNull(&out->module);
    if (key == "offset") return in_.Uint(&out->offset);
    if (key == "build_id") return TextOrNull(&out->build_id);
    if (key == "language") {
      std::string language;
      TextOrNull(&language);
      if (language == "python") out->language = Language::kPython;
      return;
    }
    in_.Skip();
  });
}

// ---- Equal findings. Within one process nothing is joined, so the n-th of equal ones is only equal to another's n-th.

std::string KeyOf(const Finding& finding) {
  std::string key = Cat(static_cast<int>(finding.rule), " ", static_cast<int>(finding.severity), " ",
                        finding.suppressed_by.empty() ? 0 : 1, " ", finding.verb, " ", finding.object.kind);
  for (const StackRef& stack : finding.stacks) Append(&key, " ", static_cast<int>(stack.role), ":", stack.id);
  return key;
}

std::string KeyOf(const AliveGroup& group) { return Cat(group.kind, " ", group.stack); }

class Occurrences {
 public:
  // The key of one that is the n-th with it.
  std::string Next(std::string key) {
    const int n = times_[key]++;
    if (n > 0) Append(&key, " again ", n);
    return key;
  }

 private:
  std::unordered_map<std::string, int> times_;
};

}  // namespace

void SetBuilder::AddFindings(std::vector<SetFinding> findings, uint32_t shift) {
  Occurrences occurrences;
  for (SetFinding& one : findings) {
    const auto [it, added] = findings_.emplace(occurrences.Next(KeyOf(one.finding)), set_.findings.size());
    if (added) {
      SetFinding& here = set_.findings.emplace_back();
      here.finding = std::move(one.finding);
      here.processes.AddAll(one.processes, shift);
    } else {
      SetFinding& here = set_.findings[it->second];
      here.finding.count = Sum(here.finding.count, one.finding.count);
      here.finding.bytes = Sum(here.finding.bytes, one.finding.bytes);
      here.finding.times = Sum(here.finding.times, one.finding.times);
      here.finding.objects = Sum(here.finding.objects, one.finding.objects);
      here.finding.resolved = Sum(here.finding.resolved, one.finding.resolved);
      here.processes.AddAll(one.processes, shift);
    }
  }
}

void SetBuilder::AddAlive(std::vector<SetAlive> alive, uint32_t shift) {
  Occurrences occurrences;
  for (SetAlive& one : alive) {
    const auto [it, added] = alive_.emplace(occurrences.Next(KeyOf(one.group)), set_.alive.size());
    if (added) {
      SetAlive& here = set_.alive.emplace_back();
      here.group = std::move(one.group);
      here.processes.AddAll(one.processes, shift);
    } else {
      SetAlive& here = set_.alive[it->second];
      here.group.count = Sum(here.group.count, one.group.count);
      here.group.bytes = Sum(here.group.bytes, one.group.bytes);
      here.processes.AddAll(one.processes, shift);
    }
  }
}

void SetBuilder::AddProcess(SetProcess process) {
  if (set_.processes.size() >= kMaxPictured) {
    process.destroyed = {};
    process.timeline = {};
  }
  set_.processes.push_back(std::move(process));
}

bool SetBuilder::AddJournal(std::string_view bytes, const std::string& name, std::string* error) {
  JournalReader reader(bytes, name, &set_.stacks, killed_);
  if (!reader.Read()) {
    *error = Cat(Printable(name), ":", reader.error_offset(), ": ", reader.error());
    return false;
  }
  const uint32_t shift = static_cast<uint32_t>(set_.processes.size());
  AddProcess(std::move(reader.process));
  AddFindings(std::move(reader.findings), shift);
  AddAlive(std::move(reader.alive), shift);
  return true;
}

bool SetBuilder::AddText(std::string_view text, const std::string& name, std::string* error) {
  if (IsJournal(text)) return AddJournal(text, name, error);
  DocumentReader reader(text, name, &set_.stacks, &stacks_by_text_);
  if (!reader.Read()) {
    std::string printable = name;
    MakePrintable(&printable);
    *error = Cat(printable, ":", reader.in().error_offset(), ": ", reader.in().error());
    return false;
  }
  const uint32_t shift = static_cast<uint32_t>(set_.processes.size());
  for (SetProcess& process : reader.processes) AddProcess(std::move(process));
  AddFindings(std::move(reader.findings), shift);
  AddAlive(std::move(reader.alive), shift);
  return true;
}

bool SetBuilder::AddFile(const std::string& path, std::string* error) {
  std::string text;
  return ReadWholeFile(path, &text, error) && AddText(text, path, error);
}

void SetBuilder::AddSet(ReportSet&& other) {
  std::vector<StackId> numbers(other.stacks.size());
  for (StackId id = 1; id < other.stacks.size(); ++id) numbers[id] = set_.stacks.Intern(other.stacks.FramesOf(id));
  const auto renumber = [&numbers](StackId* id) { *id = *id < numbers.size() ? numbers[*id] : kNoStack; };
  const uint32_t shift = static_cast<uint32_t>(set_.processes.size());
  for (SetProcess& process : other.processes) {
    for (Growth& growth : process.summary.growth) renumber(&growth.stack);
    for (InjectedFault& one : process.injected) renumber(&one.stack);
    AddProcess(std::move(process));
  }
  for (SetFinding& one : other.findings) ForEachStack(&one.finding, renumber);
  for (SetAlive& one : other.alive) {
    renumber(&one.group.stack);
    for (ObjectRef& object : one.group.objects) renumber(&object.created);
  }
  AddFindings(std::move(other.findings), shift);
  AddAlive(std::move(other.alive), shift);
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* stream = opendir(folder.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = readdir(stream)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names.emplace_back(entry->d_name);
  }
  closedir(stream);
  return names;
}

bool ReadWholeFile(const std::string& path, std::string* text, std::string* error) {
  std::string printable = path;
  MakePrintable(&printable);
  const bool standard_input = path == "-";
  const int fd = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    *error = Cat(printable, ": ", ErrnoText(errno));
    return false;
  }
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= kLargestFile &&
      uint64_t(info.st_blocks) * 512 >= uint64_t(info.st_size) / 2) {
    text->reserve(static_cast<size_t>(info.st_size) + 1);
  }
  bool good = true;
  uint64_t wanted = UINT64_MAX;  // a journal is a sparse file, of which little may be used
  char buffer[1 << 16];
  while (good && text->size() < wanted) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) *error = Cat(printable, ": ", ErrnoText(errno));
    if (n <= 0) {
      good = n == 0;
      break;
    }
    text->append(buffer, static_cast<size_t>(n));
    if (wanted == UINT64_MAX && IsJournal(*text) && JournalBytes(*text) > 0) wanted = JournalBytes(*text);
    if (text->size() > static_cast<size_t>(kLargestFile)) {
      *error = Cat(printable, ": larger than a gigabyte; this is no report of one process");
      good = false;
    }
  }
  if (!standard_input) close(fd);
  return good;
}

bool ReadReports(const std::vector<std::string>& paths, ReportSet* set, std::string* error, const Progress& progress) {
  // Neighbouring files go to one thread, and the parts are joined in their order: the result is that of one thread.
  const size_t cores = std::max(1u, std::min(16u, std::thread::hardware_concurrency()));
  const size_t threads = std::min(cores, (paths.size() + 15) / 16);
  std::vector<SetBuilder> parts(std::max<size_t>(threads, 1));
  std::vector<std::string> errors(parts.size());
  std::atomic<size_t> done{0};
  std::atomic<bool> failed{false};
  std::mutex progress_mutex;
  const auto read_part = [&](size_t part) {
    const size_t begin = paths.size() * part / parts.size(), end = paths.size() * (part + 1) / parts.size();
    for (size_t i = begin; i < end && !failed.load(); ++i) {
      if (!parts[part].AddFile(paths[i], &errors[part])) failed.store(true);
      const size_t count = ++done;
      if (progress && count % 16 == 0) {
        const std::lock_guard<std::mutex> lock(progress_mutex);
        progress(static_cast<double>(count) / static_cast<double>(paths.size()));
      }
    }
  };
  std::vector<std::thread> workers;
  for (size_t part = 1; part < parts.size(); ++part) workers.emplace_back(read_part, part);
  read_part(0);
  for (std::thread& worker : workers) worker.join();
  for (const std::string& each : errors) {
    if (!each.empty()) {
      *error = each;
      return false;
    }
  }
  for (size_t part = 1; part < parts.size(); ++part) parts[0].AddSet(parts[part].Take());
  *set = parts[0].Take();
  return true;
}

}  // namespace rdmacheck
