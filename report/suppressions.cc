#include "report/suppressions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "report/cat.h"
#include "report/modules.h"
#include "report/nearest_name.h"
#include "report/sentences.h"

namespace rdmacheck {
namespace {

constexpr std::string_view kBuiltIn = "built-in";
constexpr size_t kLongestQuote = 80;  // of a line that is wrong

struct BuiltInRow {
  const char* rule;
  const char* pattern;
  const char* reason;
};
constexpr BuiltInRow kBuiltInRows[] = {
#define RDMACHECK_SUPPRESSION(rule, pattern, reason) {rule, pattern, reason},
#include "report/suppressions.def"
#undef RDMACHECK_SUPPRESSION
};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

// A comment begins at a # that stands first or after white space: "{lambda()#1}" is part of a function's name.
std::string_view WithoutComment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  }
  return line;
}

// The lone colon after the pattern; a :: belongs to a C++ name.
size_t EndOfPattern(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ':') continue;
    if (i + 1 < text.size() && text[i + 1] == ':') {
      ++i;
    } else {
      return i;
    }
  }
  return text.size();
}

std::string Quoted(std::string_view text) {
  return text.size() <= kLongestQuote ? Cat("'", text, "'") : Cat("'", text.substr(0, kLongestQuote), "...'");
}

// "ns::f" of "ns::f(int)", but "operator()" of "operator()(int)".
std::string_view WithoutParameters(std::string_view function) {
  const size_t call_operator = function.find("operator()");
  const size_t from = call_operator == std::string_view::npos ? 0 : call_operator + 10;
  return function.substr(0, std::min(function.find('(', from), function.size()));
}

bool MatchesFrame(std::string_view pattern, const Frame& frame) {
  const auto fits = [pattern](std::string_view text) { return !text.empty() && MatchesWildcard(pattern, text); };
  if (fits(frame.function) || fits(WithoutParameters(frame.function)) || fits(frame.file) || fits(frame.module) ||
      fits(LastPart(frame.file)) || fits(LastPart(frame.module)) || fits(frame.build_id)) {
    return true;
  }
  if (!frame.file.empty() && frame.line != 0) {
    const std::string line = Cat(":", frame.line);
    if (fits(Cat(frame.file, line)) || fits(Cat(LastPart(frame.file), line))) return true;
  }
  // "register" of "Worker.register", which Python names so since 3.11 only.
  if (frame.is_python()) return fits(std::string_view(frame.function).substr(frame.function.rfind('.') + 1));
  const std::string offset = Cat("+", Hex(frame.offset));
  return (!frame.module.empty() && (fits(Cat(frame.module, offset)) || fits(Cat(LastPart(frame.module), offset)))) ||
         (!frame.build_id.empty() && fits(Cat(frame.build_id, offset)));
}

}  // namespace

std::string Suppression::Line() const {
  if (reason.empty()) return Cat(rule, ":", pattern);
  // Two colons would be read as part of the pattern.
  return Cat(rule, ":", pattern, reason.front() == ':' ? ": " : ":", reason);
}

bool MatchesWildcard(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos,
         star_text = 0;  // where to take up again if what follows the last * does not fit
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool MatchesStack(std::string_view pattern, const std::vector<Frame>& stack) {
  return std::any_of(stack.begin(), stack.end(),
                     [pattern](const Frame& frame) { return MatchesFrame(pattern, frame); });
}

Suppressions::Suppressions() {
  for (const BuiltInRow& row : kBuiltInRows) {
    rows_.push_back({row.rule, row.pattern, row.reason, std::string(kBuiltIn), 0});
  }
}

Suppressions Suppressions::Parse(std::string_view text, std::string_view filename,
                                 std::vector<std::string>* complaints) {
  std::vector<std::string_view> rules = AllRuleIds();
  rules.emplace_back("*");
  std::vector<Suppression> rows;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(WithoutComment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;

    std::string where = Cat(filename, ":", number);
    const size_t rule_end = std::min(line.find(':'), line.size());
    const std::string_view rule = Trimmed(line.substr(0, rule_end));
    std::string_view rest = line.substr(std::min(rule_end + 1, line.size()));
    const size_t pattern_end = EndOfPattern(rest);
    const std::string_view pattern = Trimmed(rest.substr(0, pattern_end));
    const std::string_view reason = Trimmed(rest.substr(std::min(pattern_end + 1, rest.size())));
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) {
      complaints->push_back(Words(
          Is<Sentence::kNoSuchRule>(where, Quoted(rule), NearestName(rule.substr(0, kLongestQuote), rules))));
    } else if (pattern.empty()) {
      complaints->push_back(Words(Is<Sentence::kNoPattern>(where, Quoted(line))));
    } else {
      rows.push_back({std::string(rule), std::string(pattern), std::string(reason), std::move(where), 0});
    }
  }
  Suppressions suppressions;
  suppressions.rows_.insert(suppressions.rows_.begin(), rows.begin(), rows.end());
  return suppressions;
}

bool Suppressions::Concerns(std::string_view rule_id) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [rule_id](const Suppression& row) { return row.rule == "*" || row.rule == rule_id; });
}

const Suppression* Suppressions::Match(std::string_view rule_id, const std::vector<Frame>& created_stack) {
  for (Suppression& row : rows_) {
    if ((row.rule == "*" || row.rule == rule_id) && MatchesStack(row.pattern, created_stack)) {
      ++row.matches;
      return &row;
    }
  }
  return nullptr;
}

std::vector<const Suppression*> Suppressions::Unmatched() const {
  std::vector<const Suppression*> unmatched;
  for (const Suppression& row : rows_) {
    if (row.matches == 0 && row.where != kBuiltIn) unmatched.push_back(&row);
  }
  return unmatched;
}

}  // namespace rdmacheck
