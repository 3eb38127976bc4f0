// GitHub's workflow commands: each finding as an annotation at its line. Errors come first, since only the first ten of
// each level are shown a step.
#include <string>
#include <string_view>
#include <vector>

#include "report/cat.h"
#include "report/forms/form.h"
#include "report/forms/places.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

// Whatever could end the command, or a property of it, is written as %XX: a line end is all it takes to begin another
// command (add-mask, stop-commands …).
std::string Escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '%' || byte < 0x20 || byte == 0x7F || (property && (c == ':' || c == ','))) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string RenderGithub(const ReportSet& set, const FormOptions&) {
  std::string text;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    for (const SetFinding& one : set.findings) {
      const Finding& finding = one.finding;
      if (finding.severity != severity || !finding.suppressed_by.empty()) continue;
      const std::vector<Frame>& frames = set.stacks.Get(MainStack(set, finding));
      const Frame* place = FirstPlace(frames);
      Append(&text, "::", severity == Severity::kNote ? "notice" : NameOf(severity), " ");
      if (place != nullptr) Append(&text, "file=", Escaped(place->file, true), ",line=", place->line, ",");
      Append(&text, "title=", Escaped(Cat("rdmacheck: ", InfoOf(finding.rule).id), true), "::");
      std::string message = Sentences(set, one);
      Append(&message, "\nHow to fix: ", InfoOf(finding.rule).fix);
      int number = 0;
      for (const Frame& frame : WithoutStartCode(frames)) Append(&message, "\n#", number++, " ", TextOf(frame));
      Append(&text, Escaped(message, false), "\n");
    }
  }
  return text;
}

}  // namespace rdmacheck
