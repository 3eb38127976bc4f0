#include "report/reader/journal_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "report/cat.h"
#include "report/journal_format.h"
#include "report/printable.h"
#include "report/python_frames.h"
#include "report/sentences.h"

namespace rdmacheck {
namespace {

using journal::ExtraRow;
using journal::Header;
using journal::kSegmentBytes;
using journal::Record;
using journal::RecordType;
using journal::SegmentKind;
using journal::ThreadRow;

constexpr double kNano = 1e-9;
constexpr int kDeepest = 16;          // from an object up to its context
constexpr size_t kMostFrames = 1024;
constexpr uint64_t kMostThreads = 100;  // that are named
constexpr double kMuch = 1e9;         // seconds of a process's life that are believed

// Copies of what the file holds, with plain members: it may be changed while it is read.
struct Object {
  uint32_t slot = 0, unused = 0;
  uint32_t state = 0, serial = 0;
  uint64_t handle = 0;
  uint64_t numbers[3] = {};
  uint32_t stack = 0, born = 0;
  int32_t thread = 0;
  uint32_t parents[2] = {};
  uint8_t kind = 0, origin = 0, flags = 0, was_parent = 0;

  bool Has(uint8_t flag) const { return (flags & flag) != 0; }
  bool Lives() const { return state == journal::kLive || state == journal::kDying; }
  uint64_t Age() const { return static_cast<uint64_t>(born) << 32 | serial; }
};
static_assert(offsetof(Object, state) == 8 && sizeof(Object) == sizeof(journal::ObjectRow) + 8);

struct Extra {
  uint32_t state, slot, serial;
  int32_t failed_result;
  uint64_t failed_verb;
  uint32_t failed_when, failed_times;
  uint64_t taken, acked, async_taken, async_acked;
  int32_t taker;
  uint32_t taker_stack;
};
static_assert(sizeof(Extra) == sizeof(ExtraRow));

struct Thread {
  uint32_t state;
  int32_t tid;
  uint64_t verb, object, begin;
  uint32_t serial, stack, kind, unused;
  uint64_t calls;
  uint64_t created[journal::kMaxKinds];
};
static_assert(sizeof(Thread) == sizeof(ThreadRow));

struct Head {
  char magic[16];
  uint32_t format, layout;
  char version[32];
  int32_t pid, ppid;
  uint64_t started_monotonic, started_epoch;
  uint32_t flags, segments;
  uint64_t not_kept;
  uint32_t ended, own_module;
};
static_assert(sizeof(Head) == sizeof(Header));

struct SegmentRow {
  uint32_t kind, number;
};
static_assert(sizeof(SegmentRow) == sizeof(journal::Segment));

template <class T>
T At(std::string_view bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string TextIn(std::string_view bytes) {
  std::string text(bytes.substr(0, bytes.find('\0')));
  MakePrintable(&text);
  return text;
}

// Of each frame its function, file and line, each ended by a 0. One that is cut off is left out.
std::vector<Frame> PythonFramesIn(std::string_view bytes) {
  std::vector<Frame> frames;
  while (true) {
    std::string parts[3];
    for (std::string& part : parts) {
      const size_t end = bytes.find('\0');
      if (end == std::string_view::npos) return frames;
      part = TextIn(bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
    }
    Frame& frame = frames.emplace_back();
    frame.language = Language::kPython;
    frame.function = parts[0];
    frame.file = parts[1];
    frame.line = std::max(0, atoi(parts[2].c_str()));
  }
}

uint64_t Sum(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

const char* NameOfOrigin(uint8_t origin) {
  constexpr const char* kNames[] = {"created", "imported", "opened", "unknown"};
  return kNames[origin % 4];
}

const char* NameOfOwner(uint8_t owner) {
  constexpr const char* kNames[] = {"", "librdmacm", "provider", "libibverbs"};
  return kNames[owner % 4];
}

uint64_t NumberIn(uint64_t word, uint8_t part) {
  switch (part) {
    case 1: return static_cast<uint32_t>(word);
    case 2: return word >> 32;
    case 3: return __builtin_bswap64(word);
    default: return word;
  }
}

}  // namespace

bool IsJournal(std::string_view text) {
  return text.size() >= sizeof(journal::kMagic) && memcmp(text.data(), journal::kMagic, sizeof(journal::kMagic)) == 0;
}

uint64_t JournalBytes(std::string_view head) {
  if (head.size() < sizeof(Head)) return 0;
  const uint32_t segments = At<Head>(head, 0).segments;
  return uint64_t{kSegmentBytes} * std::clamp(segments, 1u, journal::kMaxSegments);
}

// What the file says, and what follows from it.
class JournalReader::Tables {
 public:
  explicit Tables(JournalReader* reader) : reader_(*reader), bytes_(reader->bytes_) {}
  bool Load();
  void Fill();

 private:
  struct Stack {
    StackId id = kNoStack;
    uint8_t owner = 0;
    bool for_program = false;
  };
  struct ModuleText {
    std::string path, build_id;
  };
  struct Number {
    std::string name;
    uint8_t word = 0, part = 0;
    bool hex = false;
  };

  bool LoadObjects(size_t begin, uint32_t number, size_t table_offset);
  void LoadExtras(size_t begin);
  void LoadThreads(size_t begin);
  bool LoadRecords(size_t begin, uint32_t used, size_t table_offset);
  bool LoadRecord(const Record& record, size_t offset);

  double EpochOf(uint32_t stamp) const { return started_ + stamp * 0.01; }
  double EpochOfMonotonic(uint64_t nanos) const {
    const double since = (static_cast<double>(nanos) - static_cast<double>(head_.started_monotonic)) * kNano;
    return started_ + (since > 0 && since < kMuch ? since : 0);
  }
  const std::string& KindOf(uint32_t kind) const { return kinds_[kind % journal::kMaxKinds]; }
  std::string VerbOf(uint64_t key) const {
    const auto it = verbs_.find(key);
    return it == verbs_.end() ? std::string("?") : it->second;
  }
  Stack StackOf(uint32_t number) const {
    const auto it = stacks_.find(number);
    return it == stacks_.end() ? Stack() : it->second;
  }
  const Object* Find(uint32_t slot) const {
    const auto it = objects_.find(slot);
    return it == objects_.end() ? nullptr : &it->second;
  }
  const Extra* ExtraOf(const Object& object) const {
    const auto it = extras_.find(object.slot);
    return it == extras_.end() || it->second.serial != object.serial ? nullptr : &it->second;
  }
  const Object* ContextOf(const Object& object) const;
  std::string DeviceOf(const Object& object) const;
  ObjectRef Describe(const Object& object) const;
  ThreadRef DescribeThread(int32_t tid) const {
    ThreadRef thread;
    thread.tid = tid;
    return thread;
  }
  uint64_t BytesOf(const Object& object) const {
    const std::string& kind = KindOf(object.kind);
    return kind == "mr" || kind == "buf" ? object.numbers[1] : 0;
  }
  KindCounts CountKinds(const std::vector<const Object*>& objects) const;
  // Those of rdma_cm, that a channel or an id is asked for.
  uint64_t CountChildren(uint32_t slot, const char* kind) const {
    const auto it = children_.find({slot, kind});
    return it == children_.end() ? 0 : it->second;
  }
  void Connect();
  std::vector<std::vector<const Object*>> GroupByStack(const std::vector<const Object*>& objects) const;
  // What a thread is inside a destroy or get of; null: not known.
  const Object* ObjectOf(const Thread& thread) const;

  Finding FindingOf(Rule rule) const;
  void Add(Finding finding);
  void AddLeaks(Rule rule, const std::vector<const Object*>& objects);
  void AddLost(const std::vector<const Object*>& objects);
  void AddBlocked(const Thread& thread);
  void FillAlive();
  void FillKinds();

  JournalReader& reader_;
  const std::string_view bytes_;
  Head head_{};
  double started_ = 0, last_ = 0;  // epoch: of the process's start, and of its last sign of life
  uint64_t torn_ = 0;
  std::unordered_map<uint32_t, Object> objects_;  // by slot
  std::unordered_map<uint32_t, Extra> extras_;    // by slot
  std::unordered_map<uint32_t, const Object*> by_serial_;
  std::unordered_map<uint64_t, const Object*> by_handle_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> children_;
  std::vector<Thread> threads_;
  std::unordered_map<uint64_t, std::string> verbs_, devices_;
  std::string kinds_[journal::kMaxKinds];
  std::vector<Number> numbers_[journal::kMaxKinds];
  std::unordered_map<uint64_t, ModuleText> modules_;
  std::unordered_map<uint64_t, Stack> stacks_;
};

// ---- what the file says

bool JournalReader::Tables::Load() {
  if (bytes_.size() < kSegmentBytes) return reader_.Fail("a journal is cut off in its header", bytes_.size());
  head_ = At<Head>(bytes_, 0);
  if (head_.format != journal::kFormat || head_.layout != journal::kLayout ||
      std::string_view(head_.version, strnlen(head_.version, sizeof(head_.version))) != RDMACHECK_VERSION) {
    return reader_.Fail(Cat("a journal of rdmacheck ", TextIn(std::string_view(head_.version, sizeof(head_.version))),
                            ", form ", head_.format, "; this is ", RDMACHECK_VERSION, ", form ", journal::kFormat,
                            ", and a journal is read by the version that wrote it"),
                        offsetof(Head, format));
  }
  if (head_.segments < 1 || head_.segments > journal::kMaxSegments) {
    return reader_.Fail(Cat("a journal of ", head_.segments, " segments"), offsetof(Head, segments));
  }
  if (bytes_.size() < uint64_t{head_.segments} * kSegmentBytes) {
    return reader_.Fail(Cat("a journal of ", head_.segments, " segments is cut off here"), bytes_.size());
  }
  started_ = last_ = static_cast<double>(head_.started_epoch) * kNano;
  // Records first: rows name what they say.
  for (const bool records : {true, false}) {
    for (uint32_t segment = 1; segment < head_.segments; ++segment) {
      const size_t table = journal::kTableOffset + segment * sizeof(SegmentRow);
      const SegmentRow row = At<SegmentRow>(bytes_, table);
      const size_t begin = size_t{segment} * kSegmentBytes;
      const auto kind = static_cast<SegmentKind>(row.kind);
      if ((kind == SegmentKind::kRecords) != records) continue;
      bool good = true;
      switch (kind) {
        case SegmentKind::kObjects: good = LoadObjects(begin, row.number, table); break;
        case SegmentKind::kThreads: LoadThreads(begin); break;
        case SegmentKind::kExtras: LoadExtras(begin); break;
        case SegmentKind::kRecords: good = LoadRecords(begin, row.number, table); break;
        default: return reader_.Fail(Cat("a segment of kind ", row.kind, ", which is none"), table);
      }
      if (!good) return false;
    }
  }
  return true;
}

bool JournalReader::Tables::LoadObjects(size_t begin, uint32_t number, size_t table_offset) {
  if (number >= (uint32_t{1} << 31) / journal::kObjectsInSegment) {
    return reader_.Fail("a segment of objects beyond all that there can be", table_offset);
  }
  for (uint32_t i = 0; i < journal::kObjectsInSegment; ++i) {
    Object object;
    const size_t offset = begin + i * sizeof(journal::ObjectRow);
    memcpy(&object.state, bytes_.data() + offset, sizeof(journal::ObjectRow));
    if (object.state == journal::kNothing) continue;
    // A file that is alive may have gone on to another state meanwhile.
    const bool whole = object.state <= journal::kZombie && object.kind < journal::kMaxKinds &&
                       !kinds_[object.kind].empty() && object.origin <= journal::kUnknown &&
                       At<uint32_t>(bytes_, offset) == object.state;
    if (!whole) {
      ++torn_;
      continue;
    }
    object.slot = number * journal::kObjectsInSegment + i;
    last_ = std::max(last_, EpochOf(object.born));
    objects_[object.slot] = object;
  }
  return true;
}

void JournalReader::Tables::LoadExtras(size_t begin) {
  for (uint32_t i = 0; i < journal::RowsIn(sizeof(ExtraRow)); ++i) {
    const Extra extra = At<Extra>(bytes_, begin + i * sizeof(Extra));
    if (extra.state == journal::kNothing) continue;
    if (extra.state != 1) {
      ++torn_;
      continue;
    }
    if (extra.failed_verb != 0) last_ = std::max(last_, EpochOf(extra.failed_when));
    extras_[extra.slot] = extra;
  }
}

void JournalReader::Tables::LoadThreads(size_t begin) {
  for (uint32_t i = 0; i < journal::RowsIn(sizeof(ThreadRow)); ++i) {
    Thread thread = At<Thread>(bytes_, begin + i * sizeof(Thread));
    if (thread.tid == 0 && thread.calls == 0) continue;
    if (thread.state > journal::kRelease || thread.kind >= journal::kMaxKinds) {
      ++torn_;
      thread.state = journal::kNothing;
    }
    if (thread.tid == 0) thread.state = journal::kNothing;
    if (thread.state != journal::kNothing) last_ = std::max(last_, EpochOfMonotonic(thread.begin));
    threads_.push_back(thread);
  }
}

bool JournalReader::Tables::LoadRecords(size_t begin, uint32_t used, size_t table_offset) {
  if (used > kSegmentBytes) return reader_.Fail(Cat(used, " bytes of records in a segment"), table_offset);
  size_t at = 0;
  while (at < used) {
    if (used - at < sizeof(Record)) return reader_.Fail("a record is cut off", begin + at);
    const Record record = At<Record>(bytes_, begin + at);
    if (record.bytes < sizeof(Record) || record.bytes % 8 != 0 || record.bytes > used - at ||
        record.text_bytes > record.bytes - sizeof(Record)) {
      return reader_.Fail(Cat("a record of ", record.bytes, " bytes with a text of ", record.text_bytes), begin + at);
    }
    if (!LoadRecord(record, begin + at)) return false;
    at += record.bytes;
  }
  return true;
}

bool JournalReader::Tables::LoadRecord(const Record& record, size_t offset) {
  const std::string_view rest = bytes_.substr(offset + sizeof(Record), record.bytes - sizeof(Record));
  // A body of this size, then the text.
  size_t body = 0;
  switch (record.type) {
    case RecordType::kNumber: body = sizeof(journal::NumberName); break;
    case RecordType::kModule: body = sizeof(journal::ModuleBody); break;
    case RecordType::kStack: body = sizeof(journal::StackBody); break;
    default: break;
  }
  if (rest.size() < body + record.text_bytes) return reader_.Fail("a record is too short for what it is", offset);
  if (record.type == RecordType::kStack) body += At<journal::StackBody>(rest, 0).depth * sizeof(journal::Place);
  if (rest.size() < body + record.text_bytes) return reader_.Fail("a record is too short for what it is", offset);
  const std::string text = TextIn(rest.substr(body, record.text_bytes));
  switch (record.type) {
    case RecordType::kVerb: verbs_[record.key] = text; break;
    case RecordType::kDevice: devices_[record.key] = text; break;
    case RecordType::kKind:
      if (record.key >= journal::kMaxKinds) return reader_.Fail(Cat("kind ", record.key, " is beyond all"), offset);
      kinds_[record.key] = text;
      break;
    case RecordType::kNumber: {
      const auto name = At<journal::NumberName>(rest, 0);
      if (name.kind >= journal::kMaxKinds || name.word > 2 || numbers_[name.kind].size() >= 16) {
        return reader_.Fail("a number of no kind", offset);
      }
      numbers_[name.kind].push_back({text, name.word, name.part, name.hex != 0});
      break;
    }
    case RecordType::kProcess:
      if (record.key == journal::kExe) reader_.process.process.exe = text;
      if (record.key == journal::kHost) reader_.process.process.host = text;
      if (record.key == journal::kRank) reader_.process.process.rank = text;
      break;
    case RecordType::kModule:
      modules_[record.key] = {text, TextIn(rest.substr(0, sizeof(journal::ModuleBody)))};
      break;
    case RecordType::kStack: {
      const auto head = At<journal::StackBody>(rest, 0);
      if (head.depth > kMostFrames) {
        return reader_.Fail(Cat("a stack of ", head.depth, " frames is cut off"), offset);
      }
      std::vector<Frame> frames;
      std::vector<PythonPart> parts;
      for (size_t i = 0; i < head.depth; ++i) {
        const auto place = At<journal::Place>(rest, sizeof(head) + i * sizeof(journal::Place));
        if (head_.own_module != 0 && place.module == head_.own_module) continue;
        Frame& frame = frames.emplace_back();
        parts.push_back(static_cast<PythonPart>(std::min(place.python_part, uint32_t{2})));
        frame.offset = place.offset;
        const auto module = modules_.find(place.module);
        if (module == modules_.end()) continue;
        frame.module = module->second.path;
        frame.build_id = module->second.build_id;
      }
      std::vector<Frame> python = PythonFramesIn(rest.substr(body, record.text_bytes));
      if (!python.empty()) frames = WithPython(std::move(frames), parts, std::move(python));
      stacks_[record.key] = {reader_.stacks_->Intern(std::move(frames)), head.owner, false};
      break;
    }
    case RecordType::kForProgram: stacks_[record.key].for_program = true; break;
    default: return reader_.Fail(Cat("a record of type ", static_cast<unsigned>(record.type), ", which is none"), offset);
  }
  return true;
}

// ---- what follows from it. As judge/ says it of a process that ends by exit().

const Object* JournalReader::Tables::ContextOf(const Object& object) const {
  const Object* at = &object;
  for (int depth = 0; at != nullptr && depth < kDeepest; ++depth) {
    if (KindOf(at->kind) == "context") return at;
    const Object* const up = at->parents[0] == 0 ? nullptr : Find(at->parents[0]);
    at = up == nullptr && at->parents[1] != 0 ? Find(at->parents[1]) : up;
  }
  return nullptr;
}

std::string JournalReader::Tables::DeviceOf(const Object& object) const {
  const Object* const context = ContextOf(object);
  if (context == nullptr) return {};
  const auto it = devices_.find(context->numbers[2]);
  return it == devices_.end() ? std::string() : it->second;
}

ObjectRef JournalReader::Tables::Describe(const Object& object) const {
  ObjectRef out;
  out.kind = KindOf(object.kind);
  out.serial = object.serial;
  out.device = DeviceOf(object);
  for (const Number& number : numbers_[object.kind]) {
    out.numbers.push_back({ReportSet::NumberName(number.name), NumberIn(object.numbers[number.word], number.part), number.hex});
  }
  out.age = std::max(0.0, last_ - EpochOf(object.born));
  out.origin = NameOfOrigin(object.origin);
  const Stack stack = StackOf(object.stack);
  out.owner = NameOfOwner(stack.owner);
  for (const uint32_t slot : object.parents) {
    const Object* const parent = slot == 0 ? nullptr : Find(slot);
    if (parent == nullptr) continue;
    out.parents.push_back({KindOf(parent->kind), parent->serial});
    if (KindOf(parent->kind) == "cm_id") out.owner.clear();
  }
  out.thread = DescribeThread(object.thread);
  out.created = stack.id;
  out.bytes = BytesOf(object);
  const Extra* const extra = ExtraOf(object);
  if (extra != nullptr && extra->failed_verb != 0) {
    out.last_failed_call = {VerbOf(extra->failed_verb), extra->failed_result, EpochOf(extra->failed_when)};
  }
  if (object.Has(journal::kRefused)) {
    out.remark = Words(extra != nullptr && extra->failed_times > 1 ? Is<Sentence::kRemarkRefusedAgain>()
                                                                  : Is<Sentence::kRemarkRefused>());
  } else if (out.kind == "context" && object.was_parent == 0) {
    out.remark = Words(Is<Sentence::kRemarkProbeOnly>());
  } else if (out.kind == "comp_channel" && object.was_parent == 0) {
    out.remark = Words(Is<Sentence::kRemarkNoCq>());
  }
  return out;
}

KindCounts JournalReader::Tables::CountKinds(const std::vector<const Object*>& objects) const {
  KindCounts counts;
  for (const Object* object : objects) counts.Add(KindOf(object->kind));
  counts.SortByCount();
  return counts;
}

void JournalReader::Tables::Connect() {
  for (const auto& [slot, object] : objects_) {
    if (!object.Lives()) continue;
    for (const Object** known : {&by_serial_[object.serial], &by_handle_[object.handle ^ uint64_t{object.kind} << 56]}) {
      if (*known == nullptr || (*known)->Age() < object.Age()) *known = &object;
    }
    const std::string& kind = KindOf(object.kind);
    if (kind != "cm_id" && kind != "cm_event") continue;
    for (const uint32_t parent : object.parents) {
      if (parent != 0) ++children_[{parent, kind}];
    }
  }
}

std::vector<std::vector<const Object*>> JournalReader::Tables::GroupByStack(const std::vector<const Object*>& objects) const {
  std::map<std::pair<uint8_t, uint32_t>, std::vector<const Object*>> groups;
  for (const Object* object : objects) groups[{object->kind, object->stack}].push_back(object);
  std::vector<std::vector<const Object*>> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a[0]->Age() < b[0]->Age();
  });
  return sorted;
}

const Object* JournalReader::Tables::ObjectOf(const Thread& thread) const {
  if (thread.serial != 0) {
    const auto it = by_serial_.find(thread.serial);
    return it == by_serial_.end() ? nullptr : it->second;
  }
  const auto it = by_handle_.find(thread.object ^ uint64_t{thread.kind} << 56);
  return it == by_handle_.end() ? nullptr : it->second;
}

Finding JournalReader::Tables::FindingOf(Rule rule) const {
  Finding finding;
  finding.rule = rule;
  const bool is_leak = rule == Rule::kOpenAtExit || rule == Rule::kDeviceListLeak || rule == Rule::kCmChannelLeak;
  finding.severity = is_leak && (head_.flags & journal::kStrict) != 0 ? Severity::kError : InfoOf(rule).severity;
  finding.time = last_;
  return finding;
}

void JournalReader::Tables::Add(Finding finding) {
  PutIntoWords(&finding);
  Summary& summary = reader_.process.summary;
  ++(finding.severity == Severity::kError ? summary.errors
     : finding.severity == Severity::kWarning ? summary.warnings : summary.notes);
  SetFinding& one = reader_.findings.emplace_back();
  one.finding = std::move(finding);
  one.processes.Add(0);
}

void JournalReader::Tables::AddLeaks(Rule rule, const std::vector<const Object*>& objects) {
  for (const std::vector<const Object*>& group : GroupByStack(objects)) {
    const Object& first = *group[0];
    Finding finding = FindingOf(rule);
    finding.has_object = true;
    finding.object = Describe(first);
    finding.count = group.size();
    uint64_t ids = 0, devices = first.numbers[0];
    for (const Object* object : group) {
      finding.bytes = Sum(finding.bytes, BytesOf(*object));
      if (rule == Rule::kCmChannelLeak) ids += CountChildren(object->slot, "cm_id");
      const Extra* const extra = ExtraOf(*object);
      if (extra != nullptr && extra->failed_verb != 0) finding.object.last_failed_call = Describe(*object).last_failed_call;
    }
    if (rule == Rule::kDeviceListLeak) {
      finding.says = {Is<Sentence::kListsNotFreed>(finding.count, devices)};
    } else if (rule == Rule::kCmChannelLeak) {
      finding.says = {Is<Sentence::kCmChannelsLeft>(finding.count, ids)};
    } else {
      finding.says = {Is<Sentence::kOpenAtExit>(finding.count, finding.object.kind)};
      if (first.Has(journal::kRefused)) finding.says.push_back(Is<Sentence::kLeftRefused>());
      if (finding.object.kind == "context" && first.was_parent == 0) finding.says.push_back(Is<Sentence::kLeftProbeOnly>());
    }
    if (finding.object.created != kNoStack) finding.stacks.push_back({StackRole::kCreated, finding.object.created});
    Add(std::move(finding));
  }
}

void JournalReader::Tables::AddLost(const std::vector<const Object*>& objects) {
  std::map<uint32_t, std::vector<const Object*>> by_context;
  for (const Object* object : objects) by_context[ContextOf(*object)->slot].push_back(object);
  for (const auto& [context, left] : by_context) {
    Finding finding = FindingOf(Rule::kAliveAfterDeviceLoss);
    finding.has_object = true;
    finding.object = Describe(*Find(context));
    finding.says = {Is<Sentence::kRemovedWithOpen>(left.size(), CountKinds(left))};
    for (size_t i = 0; i < left.size() && i < kMaxRelated; ++i) finding.related.push_back({Role::kChild, Describe(*left[i])});
    Add(std::move(finding));
  }
}

// A thread inside a destroy that waits for events was killed because it hung; one that nothing explains is taken for that
// if it had been there for long, as by the default of hang_timeout.
void JournalReader::Tables::AddBlocked(const Thread& thread) {
  const Object* const object = ObjectOf(thread);
  if (object == nullptr) return;
  const Extra* const extra = ExtraOf(*object);
  uint64_t taken = 0, acked = 0;
  if (extra != nullptr) {
    taken = Sum(extra->taken, extra->async_taken);
    acked = Sum(extra->acked, extra->async_acked);
  }
  if (KindOf(object->kind) == "cm_id") taken = Sum(taken, CountChildren(object->slot, "cm_event"));
  constexpr double kLong = 10;
  const bool explained = taken > acked;
  if (!explained && (reader_.killed_ == 0 || reader_.killed_ - EpochOfMonotonic(thread.begin) < kLong)) return;
  Finding finding = FindingOf(Rule::kBlockedDestroy);
  finding.verb = VerbOf(thread.verb);
  finding.thread = DescribeThread(thread.tid);
  finding.has_object = true;
  finding.object = Describe(*object);
  finding.says = {Is<Sentence::kBlockedAtEnd>(),
                  explained ? Is<Sentence::kWaitsForEvents>(taken, acked) : Is<Sentence::kWaitUnexplained>()};
  const StackId here = StackOf(thread.stack).id;
  if (here != kNoStack) finding.stacks.push_back({StackRole::kHere, here});
  if (finding.object.created != kNoStack) finding.stacks.push_back({StackRole::kCreated, finding.object.created});
  if (extra != nullptr && extra->taker != 0) {
    finding.adds.push_back(Is<Sentence::kEventNotAcked>(DescribeThread(extra->taker)));
    const StackId took = StackOf(extra->taker_stack).id;
    if (took != kNoStack) finding.stacks.push_back({StackRole::kEventTaken, took});
  }
  Add(std::move(finding));
}

void JournalReader::Tables::FillKinds() {
  std::map<std::string, KindCount> kinds;
  uint64_t calls = 0;
  for (const Thread& thread : threads_) {
    calls = Sum(calls, thread.calls);
    for (uint32_t kind = 0; kind < journal::kMaxKinds; ++kind) {
      if (thread.created[kind] == 0 || kinds_[kind].empty()) continue;
      KindCount& count = kinds[kinds_[kind]];
      count.created = Sum(count.created, thread.created[kind]);
    }
  }
  for (const SetAlive& one : reader_.alive) kinds[one.group.kind].alive += one.group.count;
  for (auto& [name, count] : kinds) {
    count.kind = name;
    count.created = std::max(count.created, count.alive);
    count.destroyed = count.created - count.alive;
    reader_.process.summary.kinds.push_back(count);
  }
  reader_.process.summary.calls = calls;
}

void JournalReader::Tables::FillAlive() {
  std::vector<const Object*> all;
  for (const auto& [slot, object] : objects_) {
    if (!object.Lives() || object.Has(journal::kInherited) || object.origin == journal::kUnknown) continue;
    const Stack stack = StackOf(object.stack);
    if (stack.owner != 0 && !stack.for_program) continue;
    if (KindOf(object.kind) != "dmabuf_fd") all.push_back(&object);
  }
  std::sort(all.begin(), all.end(), [](const Object* a, const Object* b) { return a->Age() < b->Age(); });
  std::map<std::pair<uint64_t, std::string>, AliveGroup> groups;
  size_t listed = 0;
  for (const Object* object : all) {
    std::string device = DeviceOf(*object);
    AliveGroup& group = groups[{static_cast<uint64_t>(object->kind) << 32 | object->stack, device}];
    group.kind = KindOf(object->kind);
    group.device = std::move(device);
    group.stack = StackOf(object->stack).id;
    ++group.count;
    group.bytes = Sum(group.bytes, BytesOf(*object));
    const Extra* const extra = ExtraOf(*object);
    if (extra != nullptr && extra->failed_verb != 0) group.last_failed_call = Describe(*object).last_failed_call;
    if (group.objects.empty() || (group.objects.size() < kMaxListedObjects && listed < kMaxListedInReport)) {
      group.objects.push_back(Describe(*object));
      ++listed;
    }
  }
  for (auto& [key, group] : groups) {
    SetAlive& one = reader_.alive.emplace_back();
    one.group = std::move(group);
    one.processes.Add(0);
  }
  std::stable_sort(reader_.alive.begin(), reader_.alive.end(),
                   [](const SetAlive& a, const SetAlive& b) { return a.group.count > b.group.count; });
}

void JournalReader::Tables::Fill() {
  Connect();
  SetProcess& ended = reader_.process;
  ended.process.pid = head_.pid;
  ended.process.ppid = head_.ppid;
  ended.process.started = started_;
  ended.process.written = last_;
  ended.environment.disassoc_destroy = (head_.flags & journal::kDisassoc) != 0;
  ended.remarks.push_back(Words(Is<Sentence::kFromJournal>()));
  std::vector<const Object*> open, lists, channels, lost;
  std::vector<const Object*> all;
  for (const auto& [slot, object] : objects_) all.push_back(&object);
  std::sort(all.begin(), all.end(), [](const Object* a, const Object* b) { return a->Age() < b->Age(); });
  constexpr uint8_t kPassedOver = journal::kInherited | journal::kIgnored | journal::kClosed | journal::kReported;
  for (const Object* object : all) {
    if (!object->Lives() || object->Has(kPassedOver) || object->origin == journal::kUnknown) continue;
    const std::string& kind = KindOf(object->kind);
    // Whether a descriptor was closed, nobody knows now.
    if (kind == "dmabuf_fd" || kind == "cm_event" || kind == "cm_addrinfo" || StackOf(object->stack).owner != 0) continue;
    const Object* const context = ContextOf(*object);
    if (context != nullptr && context->Has(journal::kDeviceLost)) {
      lost.push_back(object);
    } else if (kind == "device_list" || kind == "cm_device_list") {
      lists.push_back(object);
    } else if (kind == "cm_channel") {
      channels.push_back(object);
    } else {
      open.push_back(object);
    }
  }
  uint64_t inside = 0;
  for (const Thread& thread : threads_) {
    if (thread.state == journal::kNothing) continue;
    if (thread.state == journal::kDestroy || thread.state == journal::kRelease) AddBlocked(thread);
    if (++inside > kMostThreads) continue;
    const Object* const object = ObjectOf(thread);
    const ThreadRef who = DescribeThread(thread.tid);
    ended.remarks.push_back(Words(object == nullptr ? Is<Sentence::kWasInside>(who, VerbOf(thread.verb))
                                                      : Is<Sentence::kWasInsideOf>(who, VerbOf(thread.verb), Describe(*object))));
    TimelineEntry& entry = ended.timeline.emplace_back();
    entry.what = VerbOf(thread.verb);
    entry.thread = who;
    entry.begin = EpochOfMonotonic(thread.begin);
    entry.kind = KindOf(thread.kind);
    entry.serial = object == nullptr ? 0 : object->serial;
  }
  if (inside > kMostThreads) ended.remarks.push_back(Words(Is<Sentence::kMoreWereInside>(inside - kMostThreads)));
  if ((head_.flags & journal::kNoExitCheck) == 0) {
    AddLeaks(Rule::kDeviceListLeak, lists);
    AddLeaks(Rule::kCmChannelLeak, channels);
    AddLeaks(Rule::kOpenAtExit, open);
    AddLost(lost);
  }
  if (torn_ > 0) ended.remarks.push_back(Words(Is<Sentence::kTornRecords>(torn_)));
  if (head_.not_kept > 0) ended.remarks.push_back(Words(Is<Sentence::kObjectsNotKept>(head_.not_kept)));
  FillAlive();
  FillKinds();
}

// ---- the reader

JournalReader::JournalReader(std::string_view bytes, const std::string& file, StackTable* stacks, double killed)
    : bytes_(bytes), stacks_(stacks), killed_(killed) {
  process.file = file;
}

JournalReader::~JournalReader() = default;

bool JournalReader::Fail(const std::string& error, size_t offset) {
  error_ = error;
  error_offset_ = offset;
  return false;
}

bool JournalReader::Read() {
  Tables tables(this);
  if (!tables.Load()) return false;
  tables.Fill();
  return true;
}

}  // namespace rdmacheck
