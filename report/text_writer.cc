#include "report/text_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "report/cat.h"
#include "report/errno_name.h"
#include "report/modules.h"
#include "report/printable.h"
#include "report/sentences.h"

namespace rdmacheck {
namespace {

constexpr size_t kShownAtExit = 5;
constexpr size_t kShownRelated = 5;
constexpr size_t kShownGroups = 5;

// A function's name as people say it: std::string instead of its template, and cut where it would fill lines.
std::string ShortFunction(std::string name) {
  constexpr size_t kLongest = 160;
  constexpr std::string_view kString =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  for (size_t at = 0; (at = name.find(kString, at)) != std::string::npos;)
    name.replace(at, kString.size(), "std::string");
  if (name.size() > kLongest) name = name.substr(0, kLongest - 3) + "...";
  return name;
}

// One decimal below ten of a unit, none above: "2.1", "21".
std::string Rounded(double value) {
  if (value >= 9.95) return Cat(ToNearest(value));
  const long long tenths = ToNearest(value * 10);
  return Cat(tenths / 10, ".", tenths % 10);
}

const char* Upper(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "NOTE";
    case Severity::kWarning:
      return "WARNING";
    case Severity::kError:
      return "ERROR";
  }
  return "NOTE";
}

std::string NumbersOf(const ObjectRef& object) {
  std::string text;
  for (const Number& number : object.numbers) {
    Append(&text, text.empty() ? "" : " ", TextOf(number, object.kind));
  }
  return text;
}

// " on rxe0: qpn=0x11"
std::string PlaceAndNumbers(const ObjectRef& object) {
  std::string text = object.device.empty() ? "" : Cat(" on ", object.device);
  const std::string numbers = NumbersOf(object);
  if (!numbers.empty()) Append(&text, ": ", numbers);
  return text;
}

bool HasThread(const ThreadRef& thread) { return thread.tid != 0 || !thread.name.empty(); }

// "created 2.1 s ago by thread 4711 (worker)"
std::string BirthOf(const ObjectRef& object) {
  std::string text = object.origin.empty() || object.origin == "unknown" ? "created" : object.origin;
  if (object.origin == "unknown") text = "first seen";
  Append(&text, " ", Duration(object.age), " ago");
  if (HasThread(object.thread)) Append(&text, " by ", TextOf(object.thread));
  if (!object.owner.empty()) text += Words(Is<Sentence::kLineForItself>(object.owner));
  return text;
}

std::string CreatedAt(const std::string& place) {
  return place.empty() ? std::string() : Words(Is<Sentence::kLineCreatedAt>(place));
}

std::string ResultText(int result) {
  return result == 0 ? std::string("success") : Cat(ErrnoName(result), " (", ErrnoText(result), ")");
}

class TextWriter {
 public:
  TextWriter(int pid, FrameSource& frames) : pid_(pid), frames_(frames) {}

  void Header(Severity severity, Rule rule, std::string_view sentence) {
    Append(&text_, "==", pid_, "==", Upper(severity), ": rdmacheck: ", InfoOf(rule).id, ": ", Printable(sentence), "\n");
  }

  void Leaks(const std::vector<const Finding*>& findings, std::string_view header);
  void Event(const Finding& finding, std::string_view header);
  std::string NotShown(const Finding& finding, uint64_t not_shown);

  std::string Take() { return std::move(text_); }

 private:
  // Names are made printable here, a line at a time: one of them could hold a newline, and a forged report behind it.
  void Line(std::string_view line) { Append(&text_, "  ", Printable(line), "\n"); }
  void Detail(std::string_view line) { Append(&text_, "    ", Printable(line), "\n"); }
  void Stack(StackId id);
  void ObjectDetails(const ObjectRef& object);
  void LeakBlock(const Finding& finding);
  void RelatedObjects(const Finding& finding);
  void Groups(const Finding& finding);
  // So that nobody takes it for the device's own.
  void Injected(const Finding& finding) {
    const InjectedFault& injected = finding.injected;
    if (injected.fault.empty()) return;
    const bool here = finding.injected_here;
    if (!injected.device.empty()) {
      return Line(Words(here ? Is<Sentence::kLineInjectedLoss>(injected.fault, injected.device)
                             : Is<Sentence::kLineAfterInjectedLoss>(injected.fault, injected.device)));
    }
    const Errno error{injected.result};
    Line(Words(here ? Is<Sentence::kLineInjectedError>(injected.fault, injected.verb, error)
                    : Is<Sentence::kLineAfterInjectedError>(injected.fault, injected.verb, error)));
  }
  void Hints(const Finding& finding) {
    for (const std::string& hint : finding.hints) Line(hint);
  }
  // "alloc_mr echo.c:10": the innermost frame that has a name, for one-line mentions of a stack.
  std::string ShortPlace(StackId id);

  const int pid_;
  FrameSource& frames_;
  std::string text_;
};

void TextWriter::Stack(StackId id) {
  const std::vector<Frame> frames = WithoutStartCode(frames_.FramesOf(id));
  if (frames.empty()) return Detail(Words(Is<Sentence::kLineNoStack>()));
  for (size_t i = 0; i < frames.size(); ++i) Detail(Cat("#", i, " ", TextOf(frames[i])));
}

std::string TextWriter::ShortPlace(StackId id) {
  // Without the start code: a program without symbols would be told that it happened in __libc_start_call_main.
  const std::vector<Frame> frames = WithoutStartCode(frames_.FramesOf(id));
  if (frames.empty()) return {};
  // The program's own, outside rdma-core's libraries; of these the one with a name.
  std::vector<const Frame*> own;
  for (const Frame& frame : frames) {
    if (!IsOfRdmaCore(frame.module)) own.push_back(&frame);
  }
  if (own.empty()) own.push_back(&frames.front());
  const auto named =
      std::find_if(own.begin(), own.end(), [](const Frame* frame) { return !frame->function.empty(); });
  // Of Python code its lines, not the C function of the extension that they call.
  const auto python = std::find_if(own.begin(), own.end(), [](const Frame* frame) { return frame->is_python(); });
  const bool by_python =
      python != own.end() && std::all_of(own.begin(), python, [](const Frame* frame) { return frame->file.empty(); });
  const Frame& frame = by_python ? **python : named == own.end() ? *own.front() : **named;
  if (frame.function.empty()) return Cat(LastPart(frame.module), "+", Hex(frame.offset));
  if (frame.file.empty()) return ShortFunction(frame.function);
  return Cat(ShortFunction(frame.function), " ", LastPart(frame.file), ":", frame.line);
}

void TextWriter::ObjectDetails(const ObjectRef& object) {
  if (!object.last_failed_call.verb.empty()) {
    Detail(Words(Is<Sentence::kLineLastFailedCall>(object.last_failed_call.verb,
                                                   ResultText(object.last_failed_call.result))));
  }
  if (!object.remark.empty()) Detail(object.remark);
}

void TextWriter::LeakBlock(const Finding& finding) {
  const ObjectRef& object = finding.object;
  std::string line = finding.count == 1 ? Cat("1 ", object.kind, " #", object.serial)
                                        : Words(Is<Sentence::kLineObjects>(finding.count, object.kind, object.serial));
  line += PlaceAndNumbers(object);
  const uint64_t bytes = finding.bytes != 0 ? finding.bytes : object.bytes;
  if (bytes != 0) line += finding.count == 1 ? Cat(", ", Bytes(bytes)) : Words(Is<Sentence::kLineBytesTogether>(Bytes(bytes)));
  Line(line);
  Detail(BirthOf(object));
  ObjectDetails(object);
  Stack(CreatedStackOf(finding));
}

bool AllTheSame(const std::vector<const Finding*>& findings, StackRole role) {
  const StackId first = StackOf(*findings.front(), role);
  return std::all_of(findings.begin(), findings.end(),
                     [=](const Finding* finding) { return StackOf(*finding, role) == first; });
}

// What the program did when the leak was seen, or nothing at exit.
Statement LeakMoment(Rule rule) {
  switch (rule) {
    case Rule::kLeakAtClose:
      return Is<Sentence::kHeadClosed>();
    case Rule::kCmIdLeak:
      return Is<Sentence::kHeadChannelDestroyed>();
    default:
      return Is<Sentence::kHeadSeen>();
  }
}

void TextWriter::Leaks(const std::vector<const Finding*>& findings, std::string_view header) {
  const Finding& first = *findings.front();
  Severity severity = first.severity;
  KindCounts alive;
  for (const Finding* finding : findings) {
    severity = std::max(severity, finding->severity);
    alive.Add(finding->object.kind, finding->count);
  }
  std::string sentence(header);
  if (sentence.empty() && first.rule == Rule::kLeakAtClose) {
    const std::string verb = first.verb.empty() ? "ibv_close_device" : first.verb;
    sentence = Words(Is<Sentence::kLeftByClose>(verb, first.object.device, alive.total(), alive));
  } else if (sentence.empty() && first.rule == Rule::kOpenAtExit) {
    sentence = Words(Is<Sentence::kLeftAtExit>(alive.total(), alive));
  } else if (sentence.empty()) {
    sentence = first.message;
    const bool more = findings.size() > 1 || first.count > 1;
    if (more) sentence += Words(Is<Sentence::kLineInAll>(alive));
  }
  Header(severity, first.rule, sentence);
  Injected(first);

  std::vector<const Finding*> shown = findings;
  std::vector<const Finding*> rest;
  if (first.rule == Rule::kOpenAtExit && shown.size() > kShownAtExit) {
    std::stable_sort(shown.begin(), shown.end(),
                     [](const Finding* a, const Finding* b) { return a->count > b->count; });
    rest.assign(shown.begin() + kShownAtExit, shown.end());
    shown.resize(kShownAtExit);
  }
  for (const Finding* finding : shown) LeakBlock(*finding);
  if (!rest.empty()) {
    KindCounts counts;
    for (const Finding* finding : rest) counts.Add(finding->object.kind, finding->count);
    Line(Words(Is<Sentence::kLineMoreFrom>(counts.total(), rest.size(), counts)));
  }

  // The close is one call, so its stack stands once.
  for (const StackRole role : {StackRole::kClosed, StackRole::kHere}) {
    if (StackOf(first, role) == kNoStack || !AllTheSame(findings, role)) continue;
    Line(Cat(Words(LeakMoment(first.rule)), HasThread(first.thread) ? Cat(" by ", TextOf(first.thread)) : "", ":"));
    Stack(StackOf(first, role));
    break;
  }
  std::vector<std::string_view> said;
  for (const Finding* finding : findings) {
    for (const std::string& hint : finding->hints) {
      if (std::find(said.begin(), said.end(), hint) != said.end()) continue;
      said.push_back(hint);
      Line(hint);
    }
  }
}

// What a stack shows, in the words of its rule.
Statement HeadingOf(Rule rule, StackRole role) {
  switch (role) {
    case StackRole::kHere:
      switch (rule) {
        case Rule::kDoubleDestroy:
          return Is<Sentence::kHeadDestroyedAgain>();
        case Rule::kUseAfterDestroy:
        case Rule::kUseAfterClose:
        case Rule::kForeignProcess:
          return Is<Sentence::kHeadUsed>();
        case Rule::kLateAck:
          return Is<Sentence::kHeadAcknowledged>();
        case Rule::kCreateFailed:
          return Is<Sentence::kHeadFailed>();
        default:
          return Is<Sentence::kHeadCalled>();
      }
    case StackRole::kCreated:
      return rule == Rule::kNullHandle ? Is<Sentence::kHeadFailedBefore>() : Is<Sentence::kHeadCreated>();
    case StackRole::kDestroyed:
      return rule == Rule::kDoubleDestroy ? Is<Sentence::kHeadFirstDestroyed>() : Is<Sentence::kHeadDestroyed>();
    case StackRole::kClosed:
      return Is<Sentence::kHeadContextClosed>();
    case StackRole::kEventTaken:
      return Is<Sentence::kHeadEventReceived>();
    case StackRole::kOtherThread:
      return rule == Rule::kForeignProcess     ? Is<Sentence::kHeadForked>()
             : rule == Rule::kBlockedDestroy ? Is<Sentence::kHeadStands>()
                                             : Is<Sentence::kHeadMeanwhile>();
  }
  return Is<Sentence::kHeadCalled>();
}

void TextWriter::RelatedObjects(const Finding& finding) {
  std::vector<const Related*> related;
  for (const Related& one : finding.related) {
    if (one.role != Role::kContext) related.push_back(&one);  // the device's name says as much
  }
  const size_t shown = related.size() <= kShownRelated + 1 ? related.size() : kShownRelated;
  for (size_t i = 0; i < shown; ++i) {
    const ObjectRef& object = related[i]->object;
    std::string line = Cat(NameOf(related[i]->role), " ", TextOf(object), ", ", BirthOf(object));
    const std::string place = ShortPlace(object.created);
    if (!place.empty()) Append(&line, " at ", place);
    Line(line);
    ObjectDetails(object);
  }
  // Those that are not listed here, and those that the finding itself only counts.
  std::vector<Unlisted> counts;
  const auto count = [&counts](const Unlisted& some) {
    const auto same = std::find_if(counts.begin(), counts.end(), [&some](const Unlisted& one) {
      return one.role == some.role && one.kind == some.kind && one.stack == some.stack;
    });
    if (same == counts.end()) {
      counts.push_back(some);
    } else {
      same->count += some.count;
    }
  };
  for (size_t i = shown; i < related.size(); ++i) {
    const ObjectRef& object = related[i]->object;
    count({related[i]->role, object.kind, object.created, 1});
  }
  for (const Unlisted& some : finding.unlisted) count(some);
  std::stable_sort(counts.begin(), counts.end(),
                   [](const Unlisted& a, const Unlisted& b) { return a.count > b.count; });
  const size_t lines = std::min(counts.size(), kShownGroups);
  for (size_t i = 0; i < lines; ++i) {
    const std::string place = ShortPlace(counts[i].stack);
    Line(Words(Is<Sentence::kLineMore>(counts[i].count, NameOf(counts[i].role), counts[i].kind)) + CreatedAt(place));
  }
  if (lines == counts.size()) return;
  KindCounts rest;
  for (size_t i = lines; i < counts.size(); ++i) rest.Add(counts[i].kind, counts[i].count);
  Line(Words(Is<Sentence::kLineMoreFrom>(rest.total(), counts.size() - lines, rest)));
}

std::string TextWriter::NotShown(const Finding& finding, uint64_t not_shown) {
  std::string place = ShortPlace(StackOf(finding, StackRole::kHere));
  if (place.empty()) place = ShortPlace(CreatedStackOf(finding));
  Append(&text_, "==", pid_, "==rdmacheck: ", InfoOf(finding.rule).id, ": ", Words(Is<Sentence::kMoreNotShown>(not_shown)));
  if (!finding.verb.empty()) Append(&text_, " ", finding.verb);
  if (!place.empty()) Append(&text_, " at ", place);
  Append(&text_, finding.verb.empty() && place.empty() ? " " : ", ", Words(Is<Sentence::kTimesInAll>(finding.times)));
  if (finding.objects > 1) text_ += Words(Is<Sentence::kOfObjects>(finding.objects));
  if (finding.objects == 1 && finding.resolved == 1) text_ += Words(Is<Sentence::kThenDestroyed>());
  if (finding.objects > 1 && finding.resolved > 0) {
    text_ += Words(Is<Sentence::kDestroyedAtLaterTry>(finding.resolved));
  }
  text_ += '\n';
  return Take();
}

void TextWriter::Groups(const Finding& finding) {
  if (finding.groups.empty()) return;
  KindCounts held;
  for (const Group& group : finding.groups) held.Add(group.kind, group.count);
  Line(Words(Is<Sentence::kLineHolds>(held)));
  std::vector<const Group*> groups;
  for (const Group& group : finding.groups) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(), [](const Group* a, const Group* b) { return a->count > b->count; });
  const size_t shown = std::min(groups.size(), kShownGroups);
  for (size_t i = 0; i < shown; ++i) {
    const Group& group = *groups[i];
    std::string line = Cat(group.count, " ", group.kind);
    if (group.bytes != 0) Append(&line, ", ", Bytes(group.bytes));
    const std::string place = ShortPlace(group.stack);
    line += CreatedAt(place);
    if (group.oldest.age > 0) line += Words(Is<Sentence::kLineOldest>(Seconds{group.oldest.age}));
    Detail(line);
  }
  if (shown < groups.size()) {
    KindCounts rest;
    for (size_t i = shown; i < groups.size(); ++i) rest.Add(groups[i]->kind, groups[i]->count);
    Detail(Words(Is<Sentence::kLineFromOthers>(groups.size() - shown, rest)));
  }
}

void TextWriter::Event(const Finding& finding, std::string_view header) {
  std::string sentence(header.empty() ? finding.message : header);
  if (finding.count > 1) sentence += Words(Is<Sentence::kLineTimes>(finding.count));
  Header(finding.severity, finding.rule, sentence);
  Injected(finding);
  if (finding.has_object) {
    ObjectRef object = finding.object;
    // What the finding says itself needs no second line.
    const FailedCall& failed = object.last_failed_call;
    if (finding.has_result && failed.verb == finding.verb && failed.result == finding.result)
      object.last_failed_call = {};
    Line(object.serial == 0 ? TextOf(object) : Cat(TextOf(object), ", ", BirthOf(object)));
    ObjectDetails(object);
  }
  if (finding.has_result && finding.result != 0) {
    const std::string result = ResultText(finding.result);
    Line(finding.verb.empty() ? Words(Is<Sentence::kLineCallReturned>(result))
                              : Words(Is<Sentence::kLineReturned>(result), finding));
  }
  RelatedObjects(finding);
  Groups(finding);
  Hints(finding);
  for (const StackRef& stack : finding.stacks) {
    const ThreadRef* thread = stack.role == StackRole::kHere ? &finding.thread : nullptr;
    if (stack.role == StackRole::kCreated && finding.has_object) thread = &finding.object.thread;
    Line(Cat(Words(HeadingOf(finding.rule, stack.role)),
             thread != nullptr && HasThread(*thread) ? Cat(", ", TextOf(*thread)) : "", ":"));
    Stack(stack.id);
  }
}

}  // namespace

std::string Duration(double seconds) {
  if (!(seconds > 0)) return "0 ms";
  if (seconds < 0.0005) return Cat(ToNearest(seconds * 1e6), " us");
  if (seconds < 0.9995) return Cat(ToNearest(seconds * 1000), " ms");
  if (seconds < 120) return Cat(Rounded(seconds), " s");
  if (seconds < 7200) return Cat(Rounded(seconds / 60), " min");
  return Cat(Rounded(seconds / 3600), " h");
}

std::string Bytes(uint64_t count) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (count < 1024) return Cat(count, count == 1 ? " byte" : " bytes");
  double value = static_cast<double>(count) / 1024;
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return Cat(Rounded(value), " ", kUnits[unit]);
}

std::string TextOf(const ThreadRef& thread) {
  std::string text = Cat("thread ", thread.tid);
  if (thread.name.empty() && !thread.exited) return text;
  Append(&text, " (", thread.name, thread.name.empty() || !thread.exited ? "" : ", ", thread.exited ? "exited" : "",
         ")");
  return text;
}

std::string TextOf(const ObjectRef& object) {
  // Without a serial: the kernel's, of which nothing else is known.
  return Cat(object.kind, object.serial == 0 ? std::string() : Cat(" #", object.serial), PlaceAndNumbers(object));
}

std::string TextOf(const Frame& frame) {
  if (frame.is_python()) {
    const std::string line = frame.line > 0 ? Cat(":", frame.line) : std::string();
    return Cat(ShortFunction(frame.function), " ", LastPart(frame.file), line, " (python)");
  }
  if (frame.module.empty()) {
    return Cat(frame.function.empty() ? "??" : frame.function, " (", Hex(frame.offset), " in no file)");
  }
  if (frame.function.empty()) {
    // What is needed to find the name later: the whole path and the build.
    const std::string build = frame.build_id.empty() ? "" : Cat(" (BuildId: ", frame.build_id, ")");
    return Cat("?? (", frame.module, "+", Hex(frame.offset), ")", build);
  }
  std::string text = ShortFunction(frame.function);
  if (!frame.file.empty()) Append(&text, " ", LastPart(frame.file));
  if (!frame.file.empty() && frame.line > 0) Append(&text, ":", frame.line);
  Append(&text, " (", LastPart(frame.module), "+", Hex(frame.offset), ")");
  return text;
}

namespace {

// The file's own name up to its version: "libc" of libc.so.6, libc-2.31.so and libc.musl-x86_64.so.1.
bool IsLibrary(std::string_view module, std::string_view name) {
  const std::string_view file = LastPart(module);
  if (file.substr(0, name.size()) != name || file.size() == name.size()) return false;
  const std::string_view rest = file.substr(name.size());
  return rest.substr(0, 3) == ".so" || rest.substr(0, 6) == ".musl-" ||
         (rest.size() > 1 && rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9');
}

bool IsLoader(std::string_view module) {
  const std::string_view file = LastPart(module);
  return file.substr(0, 3) == "ld-" || file.substr(0, 5) == "ld.so" || file.substr(0, 6) == "ld64.s";
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What started the program or a thread: its last frames, which say nothing about the program. Without names: whatever
// stands last in the C library or the loader.
bool IsStartCode(const Frame& frame) {
  if (frame.is_python()) return false;
  const bool in_libc = IsLibrary(frame.module, "libc") || IsLibrary(frame.module, "libpthread") || IsLoader(frame.module);
  if (frame.function.empty()) return in_libc;
  std::string_view name = frame.function;
  name = name.substr(0, name.find('@'));
  name = name.substr(0, name.find(".part."));
  if (name.substr(0, 5) == "__GI_") name.remove_prefix(5);
  while (!name.empty() && name.front() == '_') name.remove_prefix(1);
  if (IsOneOf(name, {"start", "start_c", "dl_start_user", "libc_start_main", "libc_start_main_impl", "libc_start_call_main",
                     "libc_start_main_stage2", "start_thread", "clone", "clone3", "pthread_create_2_1"})) {
    // Programs have functions of these names, too.
    return in_libc || frame.function.front() == '_' || name == "start_thread" || (name != "start" && frame.file.empty());
  }
  // The threads of C++, OpenMP and Python, and the sanitizers'.
  if (name == "execute_native_thread_routine" || name == "execute_native_thread_routine_compat") return true;
  if (IsLibrary(frame.module, "libgomp")) return name == "gomp_thread_start";
  if (IsLibrary(frame.module, "libomp") || IsLibrary(frame.module, "libiomp5")) {
    return name.substr(0, 11) == "kmp_launch_";
  }
  return name == "pythread_wrapper" || name == "asan_thread_start" || name == "tsan_thread_start_func";
}

}  // namespace

std::vector<Frame> WithoutStartCode(std::vector<Frame> frames) {
  const auto main =
      std::find_if(frames.begin(), frames.end(), [](const Frame& frame) { return frame.function == "main" && !frame.is_python(); });
  if (main != frames.end()) {
    frames.erase(main + 1, frames.end());
    return frames;
  }
  // A program without symbols: what the C library is called by is its _start.
  if (const size_t n = frames.size(); n > 2 && frames[n - 1].function.empty() && IsLibrary(frames[n - 2].module, "libc") &&
                                      IsStartCode(frames[n - 2])) {
    frames.pop_back();
  }
  while (frames.size() > 1 && IsStartCode(frames.back())) frames.pop_back();
  return frames;
}

bool LacksNames(const std::vector<Finding>& group, FrameSource& frames) {
  for (const Finding& finding : group) {
    if (!finding.suppressed_by.empty()) continue;
    for (const StackRef& stack : finding.stacks) {
      bool own = false, named = false;
      for (const Frame& frame : WithoutStartCode(frames.FramesOf(stack.id))) {
        own |= frame.is_python();
        named |= frame.is_python();
        if (frame.module.empty() || frame.module.front() != '/' || IsOfRdmaCore(frame.module)) continue;
        if (IsLibrary(frame.module, "libc")) continue;
        own = true;
        named |= !frame.function.empty();
      }
      if (own && !named) return true;
    }
  }
  return false;
}

std::string TextOf(const std::vector<Finding>& group, int pid, FrameSource& frames, std::string_view header) {
  std::vector<const Finding*> findings;
  for (const Finding& finding : group) {
    if (finding.suppressed_by.empty()) findings.push_back(&finding);
  }
  if (findings.empty()) return {};
  TextWriter writer(pid, frames);
  if (IsLeak(findings.front()->rule) && findings.front()->has_object) {
    writer.Leaks(findings, header);
  } else {
    for (const Finding* finding : findings) writer.Event(*finding, header);
  }
  return writer.Take();
}

std::string NotShownLine(const Finding& finding, uint64_t not_shown, int pid, FrameSource& frames) {
  TextWriter writer(pid, frames);
  return writer.NotShown(finding, not_shown);
}

std::string ToldLine(int pid, const Statement& statement) { return Cat("==", pid, "==rdmacheck: ", Words(statement), "\n"); }

std::string SummaryLine(const std::vector<Finding>& findings) { return SummaryLine(CountsOf(findings)); }

std::string SummaryLine(const FindingCounts& counts) {
  std::string text;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    const uint64_t total = counts.Of(severity);
    if (total == 0) continue;
    Append(&text, text.empty() ? "" : ", ", total, " ", NameOf(severity), total == 1 ? " (" : "s (");
    bool first = true;
    for (const FindingCounts::OfRule& row : counts.rules()) {
      if (row.severity != severity || row.findings == 0) continue;
      Append(&text, first ? "" : ", ", InfoOf(row.rule).id, " ", row.findings);
      if (row.times > row.findings) Append(&text, " seen ", row.times, " times");
      first = false;
    }
    text += ')';
  }
  if (counts.suppressed > 0) {
    Append(&text, text.empty() ? "nothing else, " : ", ", counts.suppressed, " suppressed");
  }
  return text.empty() ? text : Cat("SUMMARY: rdmacheck: ", text, "\n");
}

}  // namespace rdmacheck
