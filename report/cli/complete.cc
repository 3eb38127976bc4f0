#include "report/cli/complete.h"

#include <set>
#include <string_view>

#include "interpose/fault/verb_names.h"
#include "interpose/options/option_rows.h"
#include "report/cat.h"
#include "report/finding.h"

namespace rdmacheck {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

class Candidates {
 public:
  // `lead` is what stands before the value in the word that is typed, as --json=.
  Candidates(std::string_view lead, std::string_view typed) : lead_(lead), typed_(typed) {}

  void Add(std::string_view value, std::string_view what) {
    if (StartsWith(value, typed_)) Append(&lines_, lead_, value, "\t", what, "\n");
  }
  std::string With(std::string_view besides) { return Cat(lines_, ":", besides, "\n"); }
  std::string_view typed() const { return typed_; }

 private:
  std::string_view lead_, typed_;
  std::string lines_;
};

std::string OptionNamed(Candidates candidates) {
  const std::string_view typed = candidates.typed();
  const size_t equals = typed.find('=');
  for (const OptionRow& row : OptionRows()) {
    if (equals == std::string_view::npos) {
      candidates.Add(Cat(row.name, "="), row.help);
    } else if (typed.substr(0, equals) == row.name) {
      for (const std::string_view choice : row.choices) candidates.Add(Cat(row.name, "=", choice), "");
      return candidates.With(row.choices.empty() ? "file" : "none");
    }
  }
  return candidates.With("none");
}

std::string Verb(Candidates candidates, bool for_a_fault) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < fault::kVerbCount; ++i) {
    if (!for_a_fault || fault::kVerbNames[i].can_fail) names.insert(fault::kVerbNames[i].name);
  }
  for (const std::string_view name : names) candidates.Add(name, "");
  if (for_a_fault) {
    candidates.Add("delay=", "VERB:before:50ms, VERB:after:50ms or VERB:after-read:50ms");
    candidates.Add("disassociate=", "after:5s, after:VERB#10 or signal:USR1");
  }
  return candidates.With("none");
}

// By the name that --help has for a value.
std::string ValueOf(const std::string& type, Candidates candidates) {
  if (type == "FILE") return candidates.With("file");
  if (type == "FOLDER") return candidates.With("folder");
  if (type == "NAME=VALUE") return OptionNamed(candidates);
  if (type == "FAULT" || type == "PATTERN") return Verb(candidates, type == "FAULT");
  return candidates.With("none");
}

std::string Positional(const CLI::App& call, Candidates candidates) {
  for (const CLI::Option* option : call.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true);
    if (name == "ID") {
      const std::vector<std::string_view> ids = AllRuleIds();
      for (size_t i = 0; i < ids.size(); ++i) candidates.Add(ids[i], InfoOf(static_cast<Rule>(i)).title);
    }
    return candidates.With(name == "FILE" || name == "OLD" || name == "NEW" ? "file" : "none");
  }
  return candidates.With("none");
}

std::string NameOfOption(const CLI::App& app, Candidates candidates) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) candidates.Add(Cat("--", name), option->get_description());
  }
  return candidates.With("none");
}

// The option that a word names, and whether the next word is its value.
const CLI::Option* TakesNext(const CLI::App& call, const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || word.find('=') != std::string::npos) return nullptr;
  const CLI::Option* option = call.get_option_no_throw(word);
  return option != nullptr && option->get_expected_min() > 0 ? option : nullptr;
}

}  // namespace

std::string Complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return ":none\n";
  const std::string& typed = words.back();
  if (words.size() == 1) {
    if (StartsWith(typed, "-")) return NameOfOption(app, Candidates("", typed));
    Candidates calls("", typed);
    for (const CLI::App* call : app.get_subcommands({})) calls.Add(call->get_name(), call->get_description());
    return calls.With("none");
  }
  const std::vector<const CLI::App*> called =
      app.get_subcommands([&](const CLI::App* call) { return call->get_name() == words[0]; });
  if (called.empty()) return ":none\n";
  const CLI::App* call = called.front();
  const bool runs = call->get_option_no_throw("COMMAND") != nullptr;

  const CLI::Option* pending = nullptr;
  bool options_end = false;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (pending != nullptr) {
      pending = nullptr;
    } else if (words[i] == "--" && !options_end) {
      options_end = true;
      if (runs) return Cat(":command ", i + 1, "\n");
    } else if (options_end || !StartsWith(words[i], "-") || words[i] == "-") {
      if (runs) return Cat(":command ", i, "\n");
    } else {
      pending = TakesNext(*call, words[i]);
    }
  }
  if (pending != nullptr) return ValueOf(pending->get_type_name(), Candidates("", typed));
  if (!options_end && StartsWith(typed, "-")) {
    const size_t equals = typed.find('=');
    if (equals == std::string::npos) return NameOfOption(*call, Candidates("", typed));
    const CLI::Option* option = TakesNext(*call, typed.substr(0, equals));
    const std::string_view word = typed;
    if (option == nullptr) return ":none\n";
    return ValueOf(option->get_type_name(), Candidates(word.substr(0, equals + 1), word.substr(equals + 1)));
  }
  if (runs) return Cat(":command ", words.size() - 1, "\n");
  return Positional(*call, Candidates("", typed));
}

}  // namespace rdmacheck
