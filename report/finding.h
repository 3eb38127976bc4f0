// What the checker found, as plain data: the one thing that crosses from interpose/ to report/.
// Nothing here knows verbs, locks or I/O. Times are seconds; ages are seconds at the moment of the finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rdmacheck {

// Only errors change an exit status.
enum class Severity : uint8_t { kNote, kWarning, kError };

// One value a rule, in the order of rules.def.
enum class Rule : uint8_t {
#define RDMACHECK_RULE(name, id, severity, title, fix) name,
#include "report/rules.def"
#undef RDMACHECK_RULE
};

struct RuleInfo {
  const char* id;     // what suppressions, JSON and docs/rules.md use; never changes its meaning
  Severity severity;  // the usual one; a finding may carry another (strict, busy-destroy)
  const char* title;
  const char* fix;    // what to do, in a sentence: docs/rules.md, SARIF and `rdmacheck rules` show it
};

// The row of rules.def. Never fails.
const RuleInfo& InfoOf(Rule rule);
// Every rule's id, in the order of rules.def.
std::vector<std::string_view> AllRuleIds();
const char* NameOf(Severity severity);  // "note", "warning", "error"

// One frame of a stack. `module` and `offset` always hold what could be seen when the stack was first taken;
// function, file and line are filled in by a Symbolizer, and stay empty where nothing is known.
enum class Language : uint8_t { kNone, kPython };

struct Frame {
  std::string function;
  std::string file;
  int line = 0;
  std::string module;    // path of the loaded file; empty if the address lay in none
  uint64_t offset = 0;   // address minus load base: what addr2line wants
  std::string build_id;  // lower-case hex, or empty
  Language language = Language::kNone;  // of a frame that is no code of a module: function, file and line are all there is
  bool is_python() const { return language == Language::kPython; }
};

enum class StackRole : uint8_t { kHere, kCreated, kDestroyed, kClosed, kEventTaken, kOtherThread };
const char* NameOf(StackRole role);

// Stacks are named by their number in the stack depot; a FrameSource turns a number into frames.
using StackId = uint32_t;
inline constexpr StackId kNoStack = 0;

struct StackRef {
  StackRole role = StackRole::kHere;
  StackId id = kNoStack;
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // Frames of a stack, innermost first, our own left out; empty for kNoStack or an unknown number.
  virtual std::vector<Frame> FramesOf(StackId id) = 0;
};

// A number a user knows an object by. `hex` says how people read it (lkey, addr).
struct Number {
  const char* name = "";
  uint64_t value = 0;
  bool hex = false;
};

// The last call on (or for) an object that failed.
struct FailedCall {
  std::string verb;     // empty: none failed
  int result = 0;       // an errno value
  double time = 0;      // seconds since the epoch
};

struct ThreadRef {
  int tid = 0;
  std::string name;
  bool exited = false;  // the thread was gone when the finding was made
};

// What an object was made from: that object's kind and serial.
struct ParentRef {
  std::string kind;
  uint64_t serial = 0;
};

struct ObjectRef {
  std::string kind;                   // interpose/ledger/kind.h
  uint64_t serial = 0;                // counts every object of the process from 1; never used again
  std::string device;                 // "rxe0"; empty where there is none
  std::vector<Number> numbers;
  double age = 0;                     // since its creation
  std::string origin;                 // "created", "imported", "opened", "unknown" (born where we do not look) …
  std::string owner;                  // library that made it for itself ("librdmacm"), or empty: the program
  ThreadRef thread;                   // that created it
  StackId created = kNoStack;
  uint64_t bytes = 0;                 // memory it pins or holds, where known (an MR's length)
  FailedCall last_failed_call;
  std::vector<ParentRef> parents;     // of live objects
  std::string remark;                 // e.g. "its QP is in ERR", "destroy refused and never retried"
};

// Counts by kind, in the order in which the kinds first came, or largest first.
class KindCounts {
 public:
  void Add(const std::string& kind, uint64_t count = 1);
  void SortByCount();
  uint64_t total() const { return total_; }
  const std::vector<std::pair<std::string, uint64_t>>& counts() const { return counts_; }

 private:
  uint64_t total_ = 0;
  std::vector<std::pair<std::string, uint64_t>> counts_;
};

// A sentence of a report, before it is put into words (sentences.h).
enum class Sentence : uint8_t {
#define RDMACHECK_SENTENCE(name, rule, types, words) name,
#include "report/sentences.def"
#undef RDMACHECK_SENTENCE
};
struct Errno {
  int value = 0;
};
struct Seconds {
  double value = 0;
};
using Value = std::variant<int64_t, std::string, std::vector<std::string>, ObjectRef, ThreadRef, std::vector<ThreadRef>, Errno,
                           Seconds, KindCounts>;
struct Statement {
  Sentence sentence{};
  std::vector<Value> values;
};

enum class Role : uint8_t { kChild, kParent, kContext, kHolder };
const char* NameOf(Role role);

struct Related {
  Role role = Role::kChild;
  ObjectRef object;
};
// A finding lists this many objects one by one; the others are counted (Finding::unlisted).
inline constexpr size_t kMaxRelated = 200;

// Objects that a finding does not list one by one: those of one role, kind and creating stack.
struct Unlisted {
  Role role = Role::kChild;
  std::string kind;
  StackId stack = kNoStack;
  uint64_t count = 0;
};

// Objects of one kind and one creating stack, as a count.
struct Group {
  std::string kind;
  uint64_t count = 0;
  StackId stack = kNoStack;
  uint64_t bytes = 0;
  ObjectRef oldest;
};

// One bar of a timeline (findings about events): a get, ack, create, destroy … with its thread and both ends.
struct TimelineEntry {
  std::string what;    // the verb, or "fatal"
  ThreadRef thread;
  double begin = 0;    // seconds since the epoch
  double end = 0;      // 0: still inside
  std::string kind;    // object it was about
  uint64_t serial = 0;
  int result = 0;
};

// What librdmafault.so did to this process: a call that it made to fail, or a device that it took away.
struct InjectedFault {
  std::string fault;    // as it was asked for
  std::string verb;     // the call; of a lost device the one that it was lost after, or empty
  uint64_t call = 0;    // its number among the calls that the fault is about; 0: none
  int result = 0;       // the error that it was made to fail with; 0: a device was lost
  std::string device;   // that was lost
  double time = 0;      // seconds since the epoch
  ThreadRef thread;
  StackId stack = kNoStack;
};

struct Finding {
  Rule rule{};
  Severity severity = Severity::kNote;
  std::vector<Statement> says;      // one sentence, perhaps of several parts
  std::vector<Statement> adds;      // further sentences: advice, what is not known
  std::string message;              // what it says, in words (PutIntoWords, or read from a report)
  double time = 0;                  // seconds since the epoch
  std::string verb;                 // the call it was found in; empty at exit
  bool has_result = false;
  int result = 0;                   // what the call returned (an errno value), where it was already made
  ThreadRef thread;
  bool has_object = false;
  ObjectRef object;
  std::vector<Related> related;     // at most kMaxRelated
  std::vector<Unlisted> unlisted;   // the others of them
  std::vector<StackRef> stacks;
  uint64_t count = 1;               // objects (leaks) or occurrences
  uint64_t times = 1;               // how often it was found; equal findings are one
  uint64_t objects = 0;             // refused destroys: of how many objects
  uint64_t resolved = 0;            // how many of these were destroyed at a later try
  uint64_t bytes = 0;
  std::vector<Group> groups;        // create-failed: what this process holds
  std::vector<std::string> hints;   // what it adds, in words
  std::vector<TimelineEntry> timeline;
  std::string suppressed_by;        // the suppression line that matched; then it is only counted
  InjectedFault injected;           // that made its call fail, or came before it; empty: none
  bool injected_here = false;       // it was its call that was made to fail
};

// One group of live objects: equal kind, device and creating stack.
struct AliveGroup {
  std::string kind;
  std::string device;
  uint64_t count = 0;
  uint64_t bytes = 0;
  StackId stack = kNoStack;
  std::vector<ObjectRef> objects;   // at most kMaxListedObjects, and few where the report has many groups
  FailedCall last_failed_call;
};
inline constexpr size_t kMaxListedObjects = 1000;
inline constexpr size_t kMaxListedInReport = 2000;  // of all groups; each group lists at least one

// One of the objects that were destroyed last.
struct Destroyed {
  ObjectRef object;
  double time = 0;                  // of its destroy, seconds since the epoch
  ThreadRef thread;                 // that destroyed it
  std::string verb;
};
inline constexpr size_t kMaxDestroyedInReport = 1000;

struct KindCount {
  std::string kind;
  uint64_t created = 0, destroyed = 0, alive = 0;
};

// A creating stack that grew: created/destroyed/alive for the process's life.
struct Growth {
  std::string kind;
  StackId stack = kNoStack;
  uint64_t created = 0, destroyed = 0, alive = 0;
};

// Everything a report says besides its findings.
struct ProcessInfo {
  int pid = 0, ppid = 0;
  std::string exe, host, rank;
  double started = 0, ended = 0;    // seconds since the epoch; ended 0 while it runs
  int exit_status = -1;             // -1: not known (yet)
  double written = 0;               // when the report was: ages of live objects count back from here
};

struct EnvironmentInfo {
  std::string libibverbs;           // path and version nodes, e.g. "/usr/lib/…/libibverbs.so.1.14.44.0"
  std::string librdmacm;            // empty: not in the process
  bool disassoc_destroy = false;    // as libibverbs read it
  uint32_t hooks_plt = 0, hooks_slots = 0, hooks_dlsym = 0;
  std::vector<std::string> unwatched;  // sentences
  std::vector<std::string> verified;   // verify=kernel: the kinds that were compared with the kernel's list
};

// How many findings there are of each severity and rule, in the order in which they first came. Kept apart from the
// findings themselves: these may be too many to keep, the counts are exact.
class FindingCounts {
 public:
  struct OfRule {
    Rule rule{};
    Severity severity = Severity::kNote;
    uint64_t findings = 0;
    uint64_t times = 0;  // how often they were found
  };
  void Add(Rule rule, Severity severity, uint64_t findings, uint64_t times);
  void Remove(Rule rule, Severity severity, uint64_t findings, uint64_t times);
  uint64_t Of(Severity severity) const;
  const std::vector<OfRule>& rules() const { return rules_; }
  uint64_t suppressed = 0;

 private:
  OfRule& RowOf(Rule rule, Severity severity);
  std::vector<OfRule> rules_;
};
FindingCounts CountsOf(const std::vector<Finding>& findings);

// Rules whose findings are counts of objects left over.
bool IsLeak(Rule rule);

// kNoStack where the finding has none of that role.
StackId StackOf(const Finding& finding, StackRole role);
// Where the object was created; kNoStack where that is not known.
StackId CreatedStackOf(const Finding& finding);
// What suppressions and comparisons go by: where the object was created, else the first stack there is.
StackId MatchedStackOf(const Finding& finding);

struct Summary {
  uint64_t errors = 0, warnings = 0, notes = 0, suppressed = 0;
  std::vector<KindCount> kinds;
  std::vector<Growth> growth;       // stacks with more than 1,000 live objects or 90 % of a kind
  uint64_t lost_texts = 0;          // that no place took: nobody read standard error, or a disk was full
  uint64_t not_listed = 0;          // findings that are counted, but were too many to be listed
  uint64_t calls = 0;               // watched calls that the program made, nested ones not counted
};

struct Report {
  ProcessInfo process;
  EnvironmentInfo environment;
  Summary summary;
  std::vector<Finding> findings;
  std::vector<AliveGroup> alive;
  std::vector<Destroyed> destroyed;      // the last ones, oldest first
  std::vector<TimelineEntry> timeline;   // the last calls of all contexts, oldest first
  std::vector<InjectedFault> injected;   // by librdmafault.so, oldest first; at most kMaxInjected
};
inline constexpr size_t kMaxInjected = 1000;

}  // namespace rdmacheck
