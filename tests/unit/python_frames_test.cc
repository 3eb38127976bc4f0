#include "report/python_frames.h"

#include <gtest/gtest.h>

namespace rdmacheck {
namespace {

// "c" a frame of C, "i" one of the interpreter, "e" one of its loop; Python's frames by their names. Merged: names.
std::string Merged(const std::string& code, const std::vector<std::string>& functions, const std::string& file = "a.py") {
  std::vector<Frame> frames, python;
  std::vector<PythonPart> parts;
  for (const char c : code) {
    Frame& frame = frames.emplace_back();
    frame.module = "/lib/x.so";
    frame.function = std::string(1, c);
    parts.push_back(c == 'e' ? PythonPart::kEval : c == 'i' ? PythonPart::kInterpreter : PythonPart::kNone);
  }
  for (const std::string& function : functions) {
    Frame& frame = python.emplace_back();
    frame.language = Language::kPython;
    frame.function = function;
    frame.file = file;
  }
  std::string text;
  for (const Frame& frame : WithPython(frames, parts, python)) text += frame.function + " ";
  return text;
}

TEST(PythonFrames, StandForTheInterpreters) { EXPECT_EQ(Merged("cciieiic", {"f"}), "c c f c "); }

TEST(PythonFrames, EachRunHasItsOwnWhereTheNumbersAgree) {
  EXPECT_EQ(Merged("cieiecieic", {"f", "g", "h"}), "c f g c h c ");
}

TEST(PythonFrames, AllStandAtTheFirstRunWhereTheyDoNot) {
  EXPECT_EQ(Merged("ciecieic", {"f", "g", "h"}), "c f g h c _PyEval_EvalFrameDefault c ");
}

TEST(PythonFrames, OneFrameStaysWhereNoneIsKnown) {
  EXPECT_EQ(Merged("ciieic", {}), "c _PyEval_EvalFrameDefault c ");
  EXPECT_EQ(Merged("ciic", {}), "c i c ");
}

TEST(PythonFrames, StandLastWhereTheStackEndsBeforeThem) { EXPECT_EQ(Merged("ccc", {"f", "g"}), "c c c f g "); }

TEST(PythonFrames, LeaveOutWhatAnImportRuns) {
  EXPECT_EQ(Merged("ce", {"_call"}, "<frozen importlib._bootstrap>"), "c _PyEval_EvalFrameDefault ");
  EXPECT_EQ(Merged("", {}), "");
}

}  // namespace
}  // namespace rdmacheck
