// JUnit XML, as Jenkins and GitLab read it: a test case a process. Its errors are one failure, since Jenkins shows one
// a test case; warnings and notes are its output, for they must not fail a build.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "report/cat.h"
#include "report/forms/form.h"
#include "report/forms/places.h"
#include "report/forms/xml_text.h"
#include "report/modules.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

std::string SecondsOf(const ProcessInfo& process) {
  const double seconds = process.ended > process.started && process.started > 0 ? process.ended - process.started : 0;
  char text[40];
  snprintf(text, sizeof(text), "%.3f", std::min(seconds, 1e9));
  return text;
}

// Element text keeps its line ends.
std::string Lines(const std::string& text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    Append(&out, XmlText(std::string_view(text).substr(at, end - at)), "\n");
    at = end + 1;
  }
  return out;
}

constexpr size_t kMostTexts = 20;  // of one finding

struct Case {
  uint64_t errors = 0;
  std::string rules;  // of the errors, each once
  std::string first;  // the first error's message
  std::string failure, output;
};

}  // namespace

std::string RenderJunit(const ReportSet& set, const FormOptions& options) {
  StackTable& stacks = const_cast<StackTable&>(set.stacks);  // asking a FrameSource is not const; this one looks up
  std::vector<Case> cases(set.processes.size());
  for (const SetFinding& one : set.findings) {
    const Finding& finding = one.finding;
    if (!finding.suppressed_by.empty()) continue;
    const std::string rule = InfoOf(finding.rule).id;
    size_t written = 0;
    std::string first_name;
    for (const IndexSet::Range& range : one.processes.ranges()) {
      for (uint64_t i = range.first; i <= range.last && i < cases.size(); ++i) {
        Case& test = cases[i];
        // Ten thousand ranks with equal findings are no reason to write each stack ten thousand times.
        std::string text;
        if (written < kMostTexts) {
          text = TextOf({finding}, set.processes[i].process.pid, stacks);
          if (written++ == 0) first_name = NameOf(set, set.processes[i]);
        } else {
          text = Cat(rule, ": ", finding.message, ", stacks as in ", first_name, "\n");
        }
        if (finding.severity != Severity::kError) {
          test.output += text;
          continue;
        }
        if (test.errors++ == 0) test.first = finding.message;
        if ((", " + test.rules + ",").find(", " + rule + ",") == std::string::npos) {
          Append(&test.rules, test.rules.empty() ? "" : ", ", rule);
        }
        test.failure += text;
      }
    }
  }
  uint64_t failures = 0;
  for (const Case& test : cases) failures += test.errors != 0;
  const std::string counts = Cat("tests=\"", cases.size(), "\" failures=\"", failures, "\" errors=\"0\"");
  const std::string title = XmlText(options.title.empty() ? "rdmacheck" : options.title);
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  Append(&xml, "<testsuites name=\"rdmacheck\" ", counts, ">\n");
  Append(&xml, "  <testsuite name=\"", title, "\" ", counts, " skipped=\"0\"");
  if (!set.processes.empty()) {
    const std::string time = UtcTime(set.processes.front().process.started);
    if (!time.empty()) Append(&xml, " timestamp=\"", time.substr(0, 19), "\"");
  }
  xml += ">\n";
  for (size_t i = 0; i < cases.size(); ++i) {
    const SetProcess& process = set.processes[i];
    Case& test = cases[i];
    for (const std::string& sentence : process.environment.unwatched) Append(&test.output, "note: ", sentence, "\n");
    if (!process.ended_by.empty()) Append(&test.output, "ended by ", process.ended_by, "\n");
    Append(&xml, "    <testcase classname=\"rdmacheck.", XmlText(LastPart(process.process.exe)), "\" name=\"",
           XmlText(NameOf(set, process)), "\" time=\"", SecondsOf(process.process), "\">\n");
    if (test.errors != 0) {
      Append(&xml, "      <failure type=\"", XmlText(test.rules), "\" message=\"", XmlText(test.first));
      if (test.errors > 1)
        Append(&xml, " (and ", test.errors - 1, test.errors == 2 ? " other error)" : " other errors)");
      Append(&xml, "\">", Lines(test.failure), "</failure>\n");
    }
    if (!test.output.empty()) Append(&xml, "      <system-out>", Lines(test.output), "</system-out>\n");
    xml += "    </testcase>\n";
  }
  xml += "  </testsuite>\n</testsuites>\n";
  return xml;
}

}  // namespace rdmacheck
