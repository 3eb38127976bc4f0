#include "report/cli/calls.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "report/cat.h"
#include "report/cli/likeness.h"
#include "report/cli/names.h"
#include "report/cli/output.h"
#include "report/cli/status.h"
#include "report/cli/terminal.h"
#include "report/forms/assets.h"
#include "report/forms/form.h"
#include "report/modules.h"
#include "report/nearest_name.h"
#include "report/reader/report_reader.h"
#include "report/suppressions.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

bool Read(const std::vector<std::string>& files, ReportSet* set) {
  ProgressBar bar("reading");
  std::string error;
  if (ReadReports(files, set, &error, [&bar](double done) { bar.Show(done); })) return true;
  Say(error);
  return false;
}

std::string TitleOf(const std::vector<std::string>& files) {
  if (files.size() == 1) return files.front();
  return Cat(files.front(), " and ", files.size() - 1, " more");
}

std::string Stack(const std::vector<Frame>& frames) {
  std::string text;
  const std::vector<Frame> shown = WithoutStartCode(frames);
  if (shown.empty()) return "    (no stack)\n";
  for (size_t i = 0; i < shown.size(); ++i) Append(&text, "    #", i, " ", TextOf(shown[i]), "\n");
  return text;
}

// ---- diff

struct Held {
  std::string kind;
  StackId stack = kNoStack;  // in the set that has it
  uint64_t count = 0, bytes = 0;
};

std::map<std::string, Held> HeldBy(const ReportSet& set) {
  std::map<std::string, Held> all;
  for (const SetAlive& one : set.alive) {
    Held& held = all[LikenessOf(set, one.group)];
    held.kind = one.group.kind;
    held.stack = one.group.stack;
    held.count += one.group.count;
    held.bytes += one.group.bytes;
  }
  return all;
}

struct Change {
  int64_t count = 0, bytes = 0;
  uint64_t before = 0, after = 0;
  std::string kind;
  const std::vector<Frame>* frames = nullptr;
};

std::string InWords(const Change& change) {
  std::string text = Cat("  ", change.count > 0 ? "+" : "", change.count, " ", change.kind, " (", change.before,
                         " then ", change.after, ")");
  if (change.bytes > 0) Append(&text, ", ", Bytes(static_cast<uint64_t>(change.bytes)), " more");
  if (change.bytes < 0) Append(&text, ", ", Bytes(static_cast<uint64_t>(-change.bytes)), " less");
  return Cat(text, ", created\n", Stack(*change.frames));
}

// ---- suppress

// The narrowest words that name the place of a stack: the innermost frame of the program itself.
std::string PatternFor(const std::vector<Frame>& frames) {
  const auto of_verbs = [](const Frame& frame) {
    const std::string_view name = LastPart(frame.module);
    return name.substr(0, 10) == "libibverbs" || name.substr(0, 9) == "librdmacm" || name.substr(0, 8) == "_ctypes." ||
           name.substr(0, 6) == "libffi";
  };
  std::vector<std::string> candidates;
  // Of Python code its own function: that of the extension would stand for all its callers.
  const auto python = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) { return frame.is_python(); });
  const auto tells_little = [&](const Frame& frame) { return frame.file.empty() || of_verbs(frame); };
  if (python != frames.end() && std::all_of(frames.begin(), python, tells_little)) {
    if (!python->function.empty() && python->function.front() != '<') candidates.push_back(python->function);
    candidates.push_back(std::string(LastPart(python->file)));
  }
  for (const Frame& frame : frames) {
    if (!candidates.empty()) break;
    if (of_verbs(frame)) continue;
    if (!frame.function.empty()) {
      const std::string name = frame.function.substr(0, frame.function.find('('));
      if (!name.empty()) candidates.push_back(name);
      candidates.push_back(frame.function);
    }
    const std::string place = Cat("+", Hex(frame.offset));
    if (!frame.build_id.empty()) candidates.push_back(Cat(frame.build_id, place));
    if (!frame.module.empty()) candidates.push_back(Cat(LastPart(frame.module), place));
    if (!candidates.empty()) break;
  }
  // A name may hold what the form of the file cannot (a lone colon): what is written must match when it is read.
  for (const std::string& candidate : candidates) {
    std::vector<std::string> complaints;
    Suppressions read = Suppressions::Parse(Cat("*:", candidate), "", &complaints);
    if (complaints.empty() && read.rows().front().pattern == candidate && MatchesStack(candidate, frames))
      return candidate;
  }
  return {};
}

}  // namespace

int RenderFiles(const Form& form, const std::vector<std::string>& files, const std::string& out,
                const ShowOptions& options) {
  ReportSet set;
  if (!Read(files, &set)) return kBadUsage;
  if (options.symbols) {
    SymbolizerOptions how;
    how.debuginfod = options.debuginfod;
    how.debug_roots.insert(how.debug_roots.end(), options.debug_roots.begin(), options.debug_roots.end());
    FindNames(how, &set);
  }
  FormOptions form_options;
  form_options.title = TitleOf(files);
  form_options.color = (out.empty() || out == "-") && WantsColour(STDOUT_FILENO);
  return WriteOutput(out, form.render(set, form_options)) ? kClean : kBadUsage;
}

int Merge(const std::vector<std::string>& files, const std::string& out) {
  ReportSet set;
  if (!Read(files, &set)) return kBadUsage;
  const std::string text = FormByName("json")->render(set, {});
  if (!WriteOutput(out, text)) return kBadUsage;
  if (!out.empty() && out != "-") {
    uint64_t all = 0;
    for (const SetFinding& one : set.findings) all += one.processes.size();
    Say(Cat(set.processes.size(), set.processes.size() == 1 ? " process, " : " processes, ", all, " findings, ",
            set.findings.size(), " different ones, in ", out));
  }
  return kClean;
}

int Diff(const std::string& before_file, const std::string& after_file) {
  ReportSet before, after;
  if (!Read({before_file}, &before) || !Read({after_file}, &after)) return kBadUsage;
  const std::map<std::string, Held> old = HeldBy(before), now = HeldBy(after);
  std::vector<Change> grown, shrunk;
  const auto add = [&](const Held* from, const Held* to) {
    Change change;
    change.before = from == nullptr ? 0 : from->count;
    change.after = to == nullptr ? 0 : to->count;
    change.count = static_cast<int64_t>(change.after - change.before);
    change.bytes = static_cast<int64_t>((to == nullptr ? 0 : to->bytes) - (from == nullptr ? 0 : from->bytes));
    change.kind = to == nullptr ? from->kind : to->kind;
    change.frames = to == nullptr ? &before.stacks.Get(from->stack) : &after.stacks.Get(to->stack);
    if (change.count > 0) grown.push_back(change);
    if (change.count < 0) shrunk.push_back(change);
  };
  for (const auto& [key, held] : now) {
    const auto it = old.find(key);
    add(it == old.end() ? nullptr : &it->second, &held);
  }
  for (const auto& [key, held] : old) {
    if (now.count(key) == 0) add(&held, nullptr);
  }
  const auto larger = [](const Change& a, const Change& b) { return std::abs(a.count) > std::abs(b.count); };
  std::stable_sort(grown.begin(), grown.end(), larger);
  std::stable_sort(shrunk.begin(), shrunk.end(), larger);
  std::string text;
  int64_t sum = 0;
  if (!grown.empty()) text += "grown:\n";
  for (const Change& change : grown) {
    text += InWords(change);
    sum += change.count;
  }
  if (!shrunk.empty()) text += "shrunk:\n";
  for (const Change& change : shrunk) text += InWords(change);
  const Comparison comparison = Compare(&before, after);
  if (!comparison.fresh.empty()) {
    Append(&text, "new findings:\n", FormByName("show")->render(Subset(after, comparison.fresh), {}));
  }
  Append(&text, "SUMMARY: rdmacheck: ",
         grown.empty() ? std::string("nothing grew")
                       : Cat(sum, sum == 1 ? " object more, by " : " objects more, by ", grown.size(),
                             grown.size() == 1 ? " creating stack" : " creating stacks"),
         ", ", shrunk.size(), " shrank; ", InWords(comparison, true), "\n");
  if (!WriteOutput("", text)) return kBadUsage;
  return grown.empty() && comparison.fresh.empty() ? kClean : kFindings;
}

int Gate(const std::string& baseline, const std::string& write_baseline, const std::vector<std::string>& suppressions,
         const std::vector<std::string>& files) {
  ReportSet before, now;
  if (!baseline.empty() && !Read({baseline}, &before)) return kBadUsage;
  if (!Read(files, &now)) return kBadUsage;
  for (const std::string& file : suppressions) {
    std::string text, error;
    std::vector<std::string> complaints;
    if (!ReadWholeFile(file, &text, &error)) {
      Say(error);
      return kBadUsage;
    }
    Suppressions rows = Suppressions::Parse(text, file, &complaints);
    for (const std::string& complaint : complaints) Say(complaint);
    if (!complaints.empty()) return kBadUsage;
    SuppressIn(&now, &rows);
  }
  if (!write_baseline.empty() && !WriteOutput(write_baseline, FormByName("json")->render(now, {}))) return kBadUsage;
  const Comparison comparison = Compare(baseline.empty() ? nullptr : &before, now);
  std::string text;
  FormOptions form_options;
  form_options.color = WantsColour(STDOUT_FILENO);
  if (!comparison.fresh.empty()) text = FormByName("show")->render(Subset(now, comparison.fresh), form_options);
  for (const size_t i : comparison.gone) {
    const Finding& finding = before.findings[i].finding;
    const std::vector<Frame>& frames = before.stacks.Get(MatchedStackOf(finding));
    Append(&text, "gone: ", InfoOf(finding.rule).id, " ", finding.object.kind,
           frames.empty() ? std::string() : Cat(" at ", TextOf(frames.front())), "\n");
  }
  Append(&text, "GATE: rdmacheck: ", comparison.clean() ? "passed" : "failed", ": ",
         InWords(comparison, !baseline.empty()), "\n");
  if (!WriteOutput("", text)) return kBadUsage;
  return comparison.clean() ? kClean : kFindings;
}

int Suppress(const std::vector<std::string>& files, const std::string& out) {
  ReportSet set;
  if (!Read(files, &set)) return kBadUsage;
  std::string text;
  std::set<std::string> written;
  size_t nameless = 0;
  for (const SetFinding& one : set.findings) {
    const Finding& finding = one.finding;
    if (!finding.suppressed_by.empty() || finding.severity == Severity::kNote) continue;
    const std::string pattern = PatternFor(set.stacks.Get(MatchedStackOf(finding)));
    if (pattern.empty()) {
      ++nameless;
      continue;
    }
    std::string line = Cat(InfoOf(finding.rule).id, ":", pattern);
    if (!written.insert(line).second) continue;
    Append(&text, "# ", finding.count, " ", finding.has_object ? finding.object.kind : "finding", ": ", finding.message,
           "\n", line, "\n");
  }
  if (nameless > 0) {
    Say(Cat(nameless, nameless == 1 ? " finding has" : " findings have", " no stack that a suppression could name"));
  }
  return WriteOutput(out, text) ? kClean : kBadUsage;
}

int BuiltInSuppressions() {
  std::string text;
  const Suppressions built_in;
  for (const Suppression& row : built_in.rows()) Append(&text, row.Line(), "\n");
  return WriteOutput("", text) ? kClean : kBadUsage;
}

int ShowRules(const std::string& id) {
  const std::vector<std::string_view> ids = AllRuleIds();
  if (id.empty()) {
    size_t widest = 0;
    for (const std::string_view each : ids) widest = std::max(widest, each.size());
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) {
      const RuleInfo& info = InfoOf(static_cast<Rule>(i));
      std::string line(info.id);
      line.resize(widest + 2, ' ');
      line += NameOf(info.severity);
      line.resize(widest + 11, ' ');
      Append(&text, line, info.title, "\n");
    }
    return WriteOutput("", text) ? kClean : kBadUsage;
  }
  const auto known = std::find(ids.begin(), ids.end(), id);
  if (known == ids.end()) {
    Say(Cat("'", id, "' is no rule; did you mean '", NearestName(id, ids), "'? `rdmacheck rules` lists them"));
    return kBadUsage;
  }
  const RuleInfo& info = InfoOf(static_cast<Rule>(known - ids.begin()));
  const std::string_view page = HelpOf(id).markdown;
  std::string text = Cat(info.id, " (", NameOf(info.severity), "): ", info.title, "\n\n", page);
  if (text.back() != '\n') text += '\n';
  return WriteOutput("", text) ? kClean : kBadUsage;
}

}  // namespace rdmacheck
