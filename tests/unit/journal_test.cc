// The journal: what the ledger writes is read back, a torn row is left out, and no file, however broken, does more than fail.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>

#include "interpose/base/journal.h"
#include "interpose/ledger/ledger.h"
#include "interpose/ledger/number_names.h"
#include "interpose/ledger/threads.h"
#include "report/forms/form.h"
#include "report/reader/journal_reader.h"
#include "report/reader/report_reader.h"

namespace rdmacheck {
namespace {

std::string Temporary(const char* name) {
  static const std::string folder = [] {
    std::string path = ::testing::TempDir() + "rdmacheck-journal-XXXXXX";
    return std::string(mkdtemp(path.data()));
  }();
  return folder + "/" + name;
}

void WriteKinds() {
  for (size_t kind = 1; kind < kKindCount; ++kind) {
    JournalRecord(journal::RecordType::kKind, kind, nullptr, 0, kKindNames[kind]);
  }
  for (const NumberName& one : kNumberNames) {
    const journal::NumberName body{static_cast<uint32_t>(one.kind), one.word, static_cast<uint8_t>(one.part), one.hex, 0};
    JournalRecord(journal::RecordType::kNumber, 0, &body, sizeof(body), one.name);
  }
  JournalRecord(journal::RecordType::kDevice, 1, nullptr, 0, "rxe\x1b[31m0");
  JournalRecord(journal::RecordType::kProcess, journal::kExe, nullptr, 0, "/bin/app");
  journal::ModuleBody module{};
  memcpy(module.build_id, "abc123", 6);
  JournalRecord(journal::RecordType::kModule, 1, &module, sizeof(module), "/bin/app");
  struct {
    journal::StackBody head;
    journal::Place places[2];
  } stack{{0, 2, static_cast<uint8_t>(Kind::kQp), 0, 0}, {{0x1234, 1, 0}, {0x99, 7, 0}}};
  JournalRecord(journal::RecordType::kStack, 5, &stack, sizeof(stack), {});
}

Birth Of(Kind kind, uintptr_t handle, Numbers numbers, absl::Span<const Slot> parents) {
  Birth birth;
  birth.kind = kind;
  birth.handle = handle;
  birth.numbers = numbers;
  birth.stack = 5;
  birth.thread = 7;
  birth.parents = parents;
  return birth;
}

// A context, a PD, 100 QPs of which a third was destroyed, a CQ inside its destroy with an event that nobody acknowledged, and a
// QP on which a call failed. In a child, so that each test has a process without a journal.
std::string Made() {
  const std::string path = Temporary("made");
  unlink(path.c_str());
  const pid_t child = fork();
  if (child == 0) {
    JournalForkChild();
    static Ledger& ledger = *new Ledger;
    if (JournalOpen(path, {}) != 0) _exit(2);
    WriteKinds();
    const auto pinned = [](Kind kind, uintptr_t handle) { return ledger.Pin(kind, handle).slot; };
    ledger.Create(Of(Kind::kContext, 0x1000, {0x500000004, 0, 1}, {}));
    const Slot context[] = {pinned(Kind::kContext, 0x1000)};
    ledger.Create(Of(Kind::kPd, 0x2000, {3, 0, 0}, context));
    const Slot again[] = {pinned(Kind::kContext, 0x1000)};
    const Slot cq = ledger.Create(Of(Kind::kCq, 0x3000, {64, 0, 0}, again));
    for (uintptr_t i = 0; i < 100; ++i) {
      const Slot pd[] = {pinned(Kind::kPd, 0x2000)};
      const uintptr_t handle = 0x10000 + i * 64;
      const Slot qp = ledger.Create(Of(Kind::kQp, handle, {i, 0, 1}, pd));
      if (i % 3 == 0) {
        ledger.BeginDestroy(Kind::kQp, handle, 7);
        ledger.EndDestroy(qp, true, "ibv_destroy_qp", 0, 7);
      }
      if (i == 1) ledger.SetFailure(qp, "ibv_modify_qp", EINVAL, 0);
    }
    ledger.Taken(cq, false, {8, 5, 0, false});
    ledger.BeginDestroy(Kind::kCq, 0x3000, 7);
    BeginActivity(ThisThread(), Activity::kDestroy, "ibv_destroy_cq", 0x3000, static_cast<uint8_t>(Kind::kCq), 0, 5, 0);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::string bytes, error;
  EXPECT_TRUE(ReadWholeFile(path, &bytes, &error)) << error;
  unlink(path.c_str());
  return bytes;
}

bool Read(const std::string& bytes, ReportSet* set, std::string* error) {
  SetBuilder builder;
  if (!builder.AddText(bytes, "j", error)) return false;
  *set = builder.Take();
  return true;
}

const journal::Segment* TableOf(const std::string& bytes) {
  return reinterpret_cast<const journal::Segment*>(bytes.data() + journal::kTableOffset);
}

size_t FindSegment(const std::string& bytes, journal::SegmentKind kind) {
  for (size_t segment = 1; segment < bytes.size() / journal::kSegmentBytes; ++segment) {
    if (TableOf(bytes)[segment].kind.load() == kind) return segment;
  }
  return 0;
}

TEST(Journal, IsReadBackAsItWasWritten) {
  ReportSet set;
  std::string error;
  ASSERT_TRUE(Read(Made(), &set, &error)) << error;
  const std::string text = RenderText(set, {});
  EXPECT_NE(text.find("66 qp"), std::string::npos) << text;
  EXPECT_NE(text.find("on rxe\\x1b[31m0"), std::string::npos) << text;
  EXPECT_NE(text.find("app+0x1234"), std::string::npos) << text;
  EXPECT_NE(text.find("ibv_modify_qp returned EINVAL"), std::string::npos) << text;
  EXPECT_NE(text.find("blocked-destroy: ibv_destroy_cq of cq"), std::string::npos) << text;
  EXPECT_NE(text.find("1 event received, 0 acknowledged"), std::string::npos) << text;
  EXPECT_NE(text.find("was inside ibv_destroy_cq of cq"), std::string::npos) << text;
  EXPECT_EQ(text.find("left out"), std::string::npos) << text;
  ASSERT_EQ(set.processes.size(), 1u);
  EXPECT_EQ(set.processes[0].process.exe, "/bin/app");
}

TEST(Journal, ATornRowIsLeftOutAndCounted) {
  std::string bytes = Made();
  const size_t begin = FindSegment(bytes, journal::SegmentKind::kObjects) * journal::kSegmentBytes;
  int torn = 0;
  for (uint32_t i = 0; i < journal::kObjectsInSegment && torn < 2; ++i) {
    auto* const row = reinterpret_cast<journal::ObjectRow*>(&bytes[begin] + i * sizeof(journal::ObjectRow));
    if (row->state.load() != journal::kLive || row->kind != static_cast<uint8_t>(Kind::kQp)) continue;
    row->state.store(journal::kWriting);
    ++torn;
  }
  ReportSet set;
  std::string error;
  ASSERT_TRUE(Read(bytes, &set, &error)) << error;
  const std::string text = RenderText(set, {});
  EXPECT_NE(text.find("64 qp"), std::string::npos) << text;
  EXPECT_NE(text.find("2 records of its journal were being written"), std::string::npos) << text;
}

TEST(Journal, AnotherVersionSaysSo) {
  std::string bytes = Made();
  bytes[offsetof(journal::Header, version)] = '9';
  ReportSet set;
  std::string error;
  EXPECT_FALSE(Read(bytes, &set, &error));
  EXPECT_NE(error.find("j:16: a journal of rdmacheck 9"), std::string::npos) << error;
}

TEST(Journal, OneThatIsCutOffSaysWhere) {
  const std::string bytes = Made();
  for (const size_t size : {size_t{20}, size_t{5000}, bytes.size() - 1, size_t{journal::kSegmentBytes}}) {
    ReportSet set;
    std::string error;
    EXPECT_FALSE(Read(bytes.substr(0, size), &set, &error)) << size;
    EXPECT_NE(error.find("j:" + std::to_string(size) + ": "), std::string::npos) << error;
  }
}

// Whatever bytes are changed, it is read or refused with a place, and what is read can be written.
TEST(Journal, AnyCorruptionIsReadOrRefused) {
  const std::string whole = Made();
  std::mt19937 random(20261203);
  const auto below = [&random](size_t end) { return random() % end; };
  const size_t segments = whole.size() / journal::kSegmentBytes;
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = whole;
    const int changes = 1 + static_cast<int>(below(8));
    for (int i = 0; i < changes; ++i) {
      // Mostly where something stands: the header and the table, or the begin of a segment.
      const size_t segment = below(segments);
      const size_t at = segment == 0 ? (below(2) == 0 ? below(sizeof(journal::Header)) : journal::kTableOffset + below(segments * 8))
                                     : segment * journal::kSegmentBytes + below(below(2) == 0 ? 512 : journal::kSegmentBytes);
      static constexpr uint32_t kWords[] = {0, 1, 2, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8};
      const uint32_t word = below(3) == 0 ? static_cast<uint32_t>(random()) : kWords[below(9)];
      memcpy(&bytes[std::min(at, bytes.size() - sizeof(word))], &word, sizeof(word));
    }
    if (below(20) == 0) bytes.resize(below(bytes.size()));
    ReportSet set;
    std::string error;
    if (!Read(bytes, &set, &error)) {
      ++refused;
      EXPECT_EQ(error.compare(0, 2, "j:"), 0) << error;
      continue;
    }
    SetBuilder again;
    EXPECT_TRUE(again.AddText(RenderJson(set, {}), "json", &error)) << error;
    RenderText(set, {});
  }
  EXPECT_GT(refused, 100);
}

TEST(Journal, IsNotWrittenThroughALinkNorOverAFile) {
  const std::string file = Temporary("file"), link = Temporary("link");
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(write(fd, "precious", 8), 8);
  close(fd);
  ASSERT_EQ(symlink(file.c_str(), link.c_str()), 0);
  EXPECT_EQ(JournalOpen(file, {}), EEXIST);
  EXPECT_EQ(JournalOpen(link, {}), EEXIST);
  EXPECT_EQ(JournalOwner(file), 0);
  EXPECT_EQ(JournalOpen(Temporary("no/such/folder"), {}), ENOENT);
  struct stat info {};
  EXPECT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 8);
  unlink(link.c_str());
  EXPECT_EQ(symlink("/no/such/target", link.c_str()), 0);
  EXPECT_EQ(JournalOpen(link, {}), EEXIST);
}

// In a child: limits, and what a child of its own may do.
template <class F>
int InChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    JournalForkChild();
    _exit(f());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Journal, StaysWithinTheLimitOfFileSizes) {
  EXPECT_EQ(InChild([] {
    const rlimit small{journal::kSegmentBytes * 5, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string path = Temporary("small");
    static int full = 0;
    JournalStart start;
    start.on_full = [] { ++full; };
    if (JournalOpen(path, start) != 0) return 2;
    Ledger& ledger = *new Ledger;
    for (uintptr_t i = 1; i < 20000; ++i) ledger.Create(Of(Kind::kPd, i * 64, {}, {}));
    JournalEnd();
    return full == 1 && access(path.c_str(), F_OK) != 0 ? 0 : 3;
  }), 0);
  EXPECT_EQ(InChild([] {
    const rlimit tiny{1000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &tiny);
    return JournalOpen(Temporary("tiny"), {}) == EFBIG && access(Temporary("tiny").c_str(), F_OK) != 0 ? 0 : 3;
  }), 0);
}

TEST(Journal, AChildDoesNotWriteIt) {
  EXPECT_EQ(InChild([] {
    const std::string path = Temporary("parent");
    if (JournalOpen(path, {}) != 0) return 2;
    Ledger& ledger = *new Ledger;
    WriteKinds();
    ledger.Create(Of(Kind::kPd, 0x40, {}, {}));
    const pid_t child = fork();  // no handler of ours runs: as after _Fork()
    if (child == 0) {
      if (JournalBase() != nullptr) _exit(1);
      for (uintptr_t i = 2; i < 100; ++i) ledger.Create(Of(Kind::kPd, i * 64, {}, {}));
      JournalEnd();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) return 3;
    std::string bytes, error;
    ReportSet set;
    if (!ReadWholeFile(path, &bytes, &error) || !Read(bytes, &set, &error)) return 4;
    if (set.alive.size() != 1 || set.alive[0].group.count != 1) return 5;
    JournalEnd();
    return access(path.c_str(), F_OK) != 0 ? 0 : 6;
  }), 0);
}

TEST(Journal, OfAProcessThatEndedIsReplacedAndOfOneThatRunsIsNot) {
  const std::string path = Temporary("same");
  ASSERT_EQ(InChild([&] { return JournalOpen(path, {}); }), 0);
  ASSERT_EQ(access(path.c_str(), F_OK), 0);
  EXPECT_EQ(InChild([&] {
    if (JournalOpen(path, {}) != 0) return 2;
    const int owner = getpid();
    return InChild([&] { return JournalOpen(path, {}) == EEXIST && JournalOwner(path) == owner ? 0 : 3; });
  }), 0);
}

}  // namespace
}  // namespace rdmacheck
