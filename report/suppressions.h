// Which findings the reader does not want to hear of (docs/suppressions.md has the form for users).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

struct Suppression {
  std::string rule;  // an id, or "*"
  std::string pattern;
  std::string reason;  // may be empty
  std::string where;   // "FILE:LINE", or "built-in"
  uint64_t matches = 0;

  std::string Line() const;  // RULE:PATTERN, and :REASON if there is one
};

// True if the whole of `text` fits `pattern`, in which `*` stands for any number of characters.
bool MatchesWildcard(std::string_view pattern, std::string_view text);

// True if any frame's function (also without its parameters), file or module (path or last part), `file:line`,
// `module+0xoffset` or build-id fits.
bool MatchesStack(std::string_view pattern, const std::vector<Frame>& stack);

// Not thread-safe: Match() counts.
class Suppressions {
 public:
  // The built-in list alone.
  Suppressions();

  // The lines of a file, before the built-in ones. `filename` stands in the complaints, one sentence for each bad line;
  // the rest holds.
  static Suppressions Parse(std::string_view text, std::string_view filename, std::vector<std::string>* complaints);

  // The first line that fits a finding of this rule by the stack that created its object, or null; counts the match.
  const Suppression* Match(std::string_view rule_id, const std::vector<Frame>& created_stack);

  // Can a finding of this rule match at all? Only then are the names of its stack needed.
  bool Concerns(std::string_view rule_id) const;

  // Lines of the user's file that matched nothing so far.
  std::vector<const Suppression*> Unmatched() const;
  const std::vector<Suppression>& rows() const { return rows_; }

 private:
  std::vector<Suppression> rows_;
};

}  // namespace rdmacheck
