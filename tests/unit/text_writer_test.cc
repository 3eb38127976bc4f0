#include "report/text_writer.h"

#include <gtest/gtest.h>

#include "fixed_report.h"
#include "report/cat.h"

namespace rdmacheck {
namespace {

bool Contains(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

TEST(TextWriterTest, EqualKindsAreCountedInTheSentence) {
  FixedFrames frames;
  std::vector<Finding> leaks = FindingsOf(FixedReport(), Rule::kLeakAtClose);
  const std::string text = TextOf(leaks, 1, frames);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "==1==ERROR: rdmacheck: leak-at-close: ibv_close_device(rxe0) leaves 4 objects alive: 1 qp, 3 mr");
}

TEST(TextWriterTest, AHeaderThatIsGivenIsTheSentence) {
  FixedFrames frames;
  const std::string text = TextOf(FindingsOf(FixedReport(), Rule::kLeakAtClose), 1, frames, "given");
  EXPECT_EQ(text.substr(0, text.find('\n')), "==1==ERROR: rdmacheck: leak-at-close: given");
}

TEST(TextWriterTest, TheWorstSeverityOfAGroupIsShown) {
  FixedFrames frames;
  std::vector<Finding> open = FindingsOf(FixedReport(), Rule::kOpenAtExit);
  EXPECT_TRUE(Contains(TextOf(open, 1, frames), "==WARNING: "));
  open.back().severity = Severity::kError;
  EXPECT_TRUE(Contains(TextOf(open, 1, frames), "==ERROR: "));
}

TEST(TextWriterTest, SuppressedFindingsAreNotShown) {
  FixedFrames frames;
  std::vector<Finding> leaks = FindingsOf(FixedReport(), Rule::kLeakAtClose);
  for (Finding& leak : leaks) leak.suppressed_by = "*:*";
  EXPECT_EQ(TextOf(leaks, 1, frames), "");
  EXPECT_EQ(TextOf(std::vector<Finding>(), 1, frames), "");
}

TEST(TextWriterTest, AtExitTheFiveLargestStacksAreShownAndTheRestCounted) {
  FixedFrames frames;
  const std::string text = TextOf(FindingsOf(FixedReport(), Rule::kOpenAtExit), 1, frames);
  EXPECT_TRUE(Contains(text, "28 objects are still open when the process ends: 3 context, 25 cq\n"));
  EXPECT_TRUE(Contains(text, "\n  7 cq, the first #26 on rxe0\n"));
  EXPECT_FALSE(Contains(text, "\n  2 context"));
  EXPECT_TRUE(Contains(text, "\n  and 3 more from 2 other creating stacks: 2 context, 1 context\n") ||
              Contains(text, "\n  and 3 more from 2 other creating stacks: 3 context\n"));
}

TEST(TextWriterTest, SixRelatedObjectsAreAllShownAndOfSevenTwoAreCounted) {
  FixedFrames frames;
  std::vector<Finding> busy = FindingsOf(FixedReport(), Rule::kBusyDestroy);
  EXPECT_TRUE(
      Contains(TextOf(busy, 1, frames), "\n  and 2 more: child mr, created at pool::Grow(unsigned long) grow.cc:7\n"));
  busy[0].related.pop_back();
  EXPECT_FALSE(Contains(TextOf(busy, 1, frames), " more: "));
  EXPECT_TRUE(Contains(TextOf(busy, 1, frames), "child mr #13"));
}

TEST(TextWriterTest, AnAnswerIsNamed) {
  FixedFrames frames;
  EXPECT_TRUE(Contains(TextOf(FindingsOf(FixedReport(), Rule::kBusyDestroy), 1, frames),
                       "\n  ibv_dealloc_pd returned EBUSY (Device or resource busy)\n"));
}

TEST(TextWriterTest, TheCallThatFailedIsSaidOnce) {
  FixedFrames frames;
  std::vector<Finding> busy = FindingsOf(FixedReport(), Rule::kBusyDestroy);
  busy[0].object.last_failed_call = {busy[0].verb, busy[0].result, busy[0].time};
  EXPECT_FALSE(Contains(TextOf(busy, 1, frames), "last failed call"));
  busy[0].object.last_failed_call.verb = "ibv_query_pd";
  EXPECT_TRUE(Contains(TextOf(busy, 1, frames), "last failed call: ibv_query_pd returned EBUSY"));
}

TEST(TextWriterTest, OccurrencesAreCounted) {
  FixedFrames frames;
  std::vector<Finding> twice = FindingsOf(FixedReport(), Rule::kDoubleDestroy);
  twice[0].count = 3;
  EXPECT_TRUE(Contains(TextOf(twice, 1, frames), " 350 ms ago (3 times)\n"));
}

TEST(TextWriterTest, AFrameWithoutNameTellsWhatIsNeededToFindItLater) {
  FixedFrames frames;
  EXPECT_EQ(TextOf(frames.FramesOf(4)[0]), "?? (/opt/vendor/libvendor.so+0x4711) (BuildId: dd44)");
  EXPECT_EQ(TextOf(frames.FramesOf(6)[0]), "?? (0x7f0000001000 in no file)");
  EXPECT_EQ(TextOf(frames.FramesOf(5)[0]), "worker (echo+0x2000)");
  EXPECT_EQ(TextOf(frames.FramesOf(1)[0]), "make_qp qp.c:42 (echo+0x1234)");
}

TEST(TextWriterTest, TheNameOfAFunctionStaysReadable) {
  Frame frame;
  frame.module = "/bin/echo";
  frame.function = "f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)";
  EXPECT_EQ(TextOf(frame), "f(std::string const&) (echo+0x0)");
  frame.function = std::string(200, 'f');
  EXPECT_EQ(TextOf(frame), std::string(157, 'f') + "... (echo+0x0)");
}

TEST(TextWriterTest, WhatStandsBelowMainOrAThreadIsLeftOut) {
  FixedFrames frames;
  EXPECT_EQ(WithoutStartCode(frames.FramesOf(1)).back().function, "main");
  ASSERT_EQ(WithoutStartCode(frames.FramesOf(5)).size(), 1u);
  EXPECT_EQ(WithoutStartCode(frames.FramesOf(6)).size(), 1u);
  Frame start;
  start.function = "_start";
  EXPECT_EQ(WithoutStartCode({start}).size(), 1u);
}

// "function|module" each, innermost first.
std::vector<Frame> Stack(std::initializer_list<std::string_view> frames) {
  std::vector<Frame> stack;
  for (const std::string_view text : frames) {
    Frame frame;
    frame.function = text.substr(0, text.find('|'));
    frame.module = text.substr(text.find('|') + 1);
    stack.push_back(std::move(frame));
  }
  return stack;
}

TEST(TextWriterTest, NoStartCodeEndsAStack) {
  constexpr std::string_view kLibc = "|/lib/x86_64-linux-gnu/libc.so.6", kOld = "|/lib64/libc-2.17.so",
                             kMusl = "|/lib/libc.musl-x86_64.so.1", kProgram = "|/bin/app";
  for (const std::vector<std::string>& rest : std::vector<std::vector<std::string>>{
           {Cat("start_thread", kLibc), Cat("__GI___clone3", kLibc)},
           {Cat("start_thread", kLibc), Cat("__clone3", kLibc)},
           {Cat("start_thread", "|/lib64/libpthread-2.17.so"), Cat("__clone", kOld)},
           {Cat("", kLibc), Cat("", kLibc)},
           {Cat("start", kMusl), Cat("__clone", kMusl)},
           {Cat("__libc_start_call_main", kLibc), Cat("__libc_start_main@@GLIBC_2.34", kLibc), Cat("_start", kProgram)},
           {Cat("__libc_start_main_impl", kLibc), Cat("_start", kProgram)},
           {Cat("__libc_start_call_main", kLibc), Cat("__libc_start_main", kLibc), Cat("", kProgram)},
           {Cat("", kLibc), Cat("", kLibc), Cat("", kProgram)},
           {Cat("execute_native_thread_routine", "|/lib/libstdc++.so.6"), Cat("start_thread", kLibc), Cat("clone3", kLibc)},
           {Cat("gomp_thread_start", "|/lib/libgomp.so.1"), Cat("start_thread", kLibc), Cat("__GI___clone3", kLibc)},
           {Cat("_dl_start_user", "|/lib64/ld-linux-x86-64.so.2")},
           {Cat("start_thread", kProgram), Cat("__clone3", kProgram)}}) {
    std::vector<Frame> frames = Stack({"inner|/bin/app", "start|/bin/app"});
    for (const std::string& text : rest) frames.push_back(Stack({text})[0]);
    frames = WithoutStartCode(frames);
    ASSERT_EQ(frames.size(), 2u) << rest[0];
    EXPECT_EQ(frames[1].function, "start");
  }
  EXPECT_EQ(WithoutStartCode(Stack({"start_thread|/lib/libc.so.6"})).size(), 1u);  // never the last one
  EXPECT_EQ(WithoutStartCode(Stack({"f|/bin/app", "libcloner|/bin/libcx.so"})).size(), 2u);
}

class TheseFrames : public FrameSource {
 public:
  explicit TheseFrames(std::vector<Frame> frames) : frames_(std::move(frames)) {}
  std::vector<Frame> FramesOf(StackId) override { return frames_; }

 private:
  const std::vector<Frame> frames_;
};

TEST(TextWriterTest, APlaceInOneLineIsOutsideRdmaCore) {
  const std::vector<Finding> busy = FindingsOf(FixedReport(), Rule::kBusyDestroy);
  const auto place_of = [&](std::initializer_list<std::string_view> stack) {
    TheseFrames frames(Stack(stack));
    const std::string text = TextOf(busy, 1, frames);
    const size_t at = text.find(" at ", text.find("child "));
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(place_of({"rdma_create_qp_ex|/lib/librdmacm.so.1", "connect|/bin/app", "main|/bin/app"}), " at connect");
  EXPECT_EQ(place_of({"x|/lib/libmlx5.so.1", "y|/lib/libibverbs/librxe-rdmav34.so", "rdma_create_ep|/lib/librdmacm.so.1.3.44.0",
                      "serve|/opt/app/libplugin.so"}),
            " at serve");
  EXPECT_EQ(place_of({"|/bin/app", "serve|/bin/app"}), " at serve");
  EXPECT_EQ(place_of({"rdma_create_ep|/lib/librdmacm.so.1", "|/bin/app"}), " at app+0x0");
  EXPECT_EQ(place_of({"rdma_create_qp|/lib/librdmacm.so.1", "|/bin/app", "__libc_start_call_main|/lib/libc.so.6"}),
            " at app+0x0");
  EXPECT_EQ(place_of({"ibv_alloc_pd|/lib/libibverbs.so.1"}), " at ibv_alloc_pd");
}

TEST(TextWriterTest, StacksWithoutNamesAreKnown) {
  const std::vector<Finding> busy = FindingsOf(FixedReport(), Rule::kBusyDestroy);
  const auto lacks = [&](std::initializer_list<std::string_view> stack) {
    TheseFrames frames(Stack(stack));
    return LacksNames(busy, frames);
  };
  EXPECT_TRUE(lacks({"rdma_create_ep|/lib/librdmacm.so.1", "|/bin/app", "|/bin/app"}));
  EXPECT_TRUE(lacks({"|/bin/app", "__libc_start_call_main|/lib/libc.so.6", "__libc_start_main|/lib/libc.so.6", "|/bin/app"}));
  EXPECT_FALSE(lacks({"|/bin/app", "main|/bin/app"}));
  EXPECT_FALSE(lacks({"|linux-vdso.so.1"}));
}

// Every foreign string that a text holds: none ends a line or reaches a terminal as it is.
TEST(TextWriterTest, HostileNamesStayInTheirLine) {
  const std::string evil = "\033[2J\n==1==ERROR: forged\xfe\u202e";
  for (Finding finding : FixedReport().findings) {
    finding.message += evil;
    finding.verb += evil;
    finding.thread = {7, evil, false};
    finding.object.kind += evil;
    finding.object.device += evil;
    finding.object.owner = evil;
    finding.object.remark = evil;
    finding.object.thread = finding.thread;
    for (Related& related : finding.related) related.object.device += evil;
    for (Group& group : finding.groups) group.kind += evil;
    finding.hints.push_back(evil);
    finding.suppressed_by.clear();
    std::vector<Frame> stack = Stack({"f|/bin/app"});
    for (std::string* text : {&stack[0].function, &stack[0].file, &stack[0].module, &stack[0].build_id}) *text += evil;
    TheseFrames frames(stack);
    const std::string text = TextOf({finding}, 1, frames) + TextOf({finding}, 1, frames, evil);
    for (const char c : text) EXPECT_TRUE(c == '\n' || !(static_cast<unsigned char>(c) < 0x20 || c == 0x7f));
    EXPECT_FALSE(Contains(text, "\n==1==ERROR: forged"));
    EXPECT_FALSE(Contains(text, "\u202e"));
    EXPECT_TRUE(Contains(text, "\\x1b[2J\\x0a==1==ERROR: forged\xEF\xBF\xBD\\u202e"));
  }
}

TEST(TextWriterTest, AThreadThatIsGoneIsSaidToBe) {
  EXPECT_EQ(TextOf(ThreadRef{7, "", false}), "thread 7");
  EXPECT_EQ(TextOf(ThreadRef{7, "w", false}), "thread 7 (w)");
  EXPECT_EQ(TextOf(ThreadRef{7, "w", true}), "thread 7 (w, exited)");
  EXPECT_EQ(TextOf(ThreadRef{7, "", true}), "thread 7 (exited)");
}

TEST(TextWriterTest, AnObjectOfALibraryIsSaidToBe) {
  FixedFrames frames;
  std::vector<Finding> open = FindingsOf(FixedReport(), Rule::kOpenAtExit);
  open.resize(1);
  open[0].object.owner = "librdmacm";
  open[0].object.origin = "imported";
  EXPECT_TRUE(Contains(TextOf(open, 1, frames), "imported 2.1 s ago by thread 4711 (echo), for librdmacm itself\n"));
}

TEST(DurationTest, OneUnitIsEnough) {
  EXPECT_EQ(Duration(0), "0 ms");
  EXPECT_EQ(Duration(-1), "0 ms");
  EXPECT_EQ(Duration(0.35), "350 ms");
  EXPECT_EQ(Duration(0.9996), "1.0 s");
  EXPECT_EQ(Duration(2.14), "2.1 s");
  EXPECT_EQ(Duration(59.7), "60 s");
  EXPECT_EQ(Duration(600), "10 min");
  EXPECT_EQ(Duration(3600 * 3.44), "3.4 h");
}

TEST(BytesTest, OneUnitIsEnough) {
  EXPECT_EQ(Bytes(1), "1 byte");
  EXPECT_EQ(Bytes(1023), "1023 bytes");
  EXPECT_EQ(Bytes(4096), "4.0 KiB");
  EXPECT_EQ(Bytes(1048575), "1.0 MiB");
  EXPECT_EQ(Bytes(uint64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(Bytes(~uint64_t{0}), "16 EiB");
}

TEST(SummaryLineTest, NothingFoundSaysNothing) { EXPECT_EQ(SummaryLine(FindingCounts()), ""); }

TEST(SummaryLineTest, FindingsAreCountedBySeverityAndRule) {
  EXPECT_EQ(SummaryLine(FixedReport().findings),
            "SUMMARY: rdmacheck: 3 errors (leak-at-close 2, double-destroy 1), 7 warnings (open-at-exit 7), "
            "2 notes (busy-destroy 1, create-failed 1), 1 suppressed\n");
}

TEST(SummaryLineTest, OneOfASeverityIsSingular) {
  std::vector<Finding> twice = FindingsOf(FixedReport(), Rule::kDoubleDestroy);
  EXPECT_EQ(SummaryLine(twice), "SUMMARY: rdmacheck: 1 error (double-destroy 1)\n");
  twice[0].suppressed_by = "*:main";
  EXPECT_EQ(SummaryLine(twice), "SUMMARY: rdmacheck: nothing else, 1 suppressed\n");
}

}  // namespace
}  // namespace rdmacheck
