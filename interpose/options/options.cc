#include "interpose/options/options.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>

#include "interpose/options/option_rows.h"
#include "report/cat.h"
#include "report/nearest_name.h"
#include "report/sentences.h"

namespace rdmacheck {
namespace {

constexpr std::string_view kSeparators = ": \t\r\n";

struct Range {
  std::string_view name;
  int least, most;
};

constexpr Range kRanges[] = {
#define RDMACHECK_OPTION(type, name, default_value, help)
#define RDMACHECK_NUMBER(name, default_value, least, most, help) {#name, least, most},
#include "interpose/options/options.def"
};

#define RDMACHECK_OPTION(type, name, default_value, help) \
  static_assert(!std::is_same_v<type, int>, #name ": a number has a range, so its row is an RDMACHECK_NUMBER");
#define RDMACHECK_NUMBER(name, default_value, least, most, help) \
  static_assert((least) <= (default_value) && (default_value) <= (most), #name ": the default is not in the range");
#include "interpose/options/options.def"

// ---- One Read and one Show for each type. Read returns what the value must be, or nothing if it was fine. ----

template <class E>
struct Word {
  std::string_view word;
  E value;
};
constexpr Word<Unwinder> kUnwinders[] = {
    {"libunwind", Unwinder::kLibunwind}, {"fp", Unwinder::kFp}, {"none", Unwinder::kNone}};
constexpr Word<EventRaces> kEventRaces[] = {
    {"auto", EventRaces::kAuto}, {"always", EventRaces::kAlways}, {"never", EventRaces::kNever}};
constexpr Word<Verify> kVerify[] = {{"none", Verify::kNone}, {"kernel", Verify::kKernel}};

template <class E, size_t N>
std::string ReadWord(const Word<E> (&words)[N], std::string_view text, E* out) {
  std::string choices;
  for (size_t i = 0; i < N; ++i) {
    if (words[i].word == text) {
      *out = words[i].value;
      return {};
    }
    Append(&choices, i == 0 ? "" : i + 1 == N ? " or " : ", ", words[i].word);
  }
  return choices;
}

template <class E, size_t N>
std::string ShowWord(const Word<E> (&words)[N], E value) {
  for (const Word<E>& word : words) {
    if (word.value == value) return std::string(word.word);
  }
  return {};
}

std::string Read(std::string_view, std::string_view text, std::string* out) {
  out->assign(text);
  return {};
}

std::string Read(std::string_view, std::string_view text, bool* out) {
  for (const std::string_view yes : {"1", "true", "yes"}) {
    if (text == yes) return *out = true, std::string();
  }
  for (const std::string_view no : {"0", "false", "no"}) {
    if (text == no) return *out = false, std::string();
  }
  return Words(Is<Sentence::kZeroOrOne>());
}

std::string Read(std::string_view name, std::string_view text, int* out) {
  const Range& range =
      *std::find_if(std::begin(kRanges), std::end(kRanges), [&](const Range& one) { return one.name == name; });
  int value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size() || value < range.least ||
      value > range.most) {
    return Words(Is<Sentence::kWholeNumber>(range.least, range.most));
  }
  // Signals that nobody can catch, or that glibc keeps for its threads.
  if (name == "snapshot_signal" && (value == 9 || value == 19 || value == 32 || value == 33)) {
    return Words(Is<Sentence::kSignalToCatch>());
  }
  *out = value;
  return {};
}

std::string Read(std::string_view, std::string_view text, Unwinder* out) { return ReadWord(kUnwinders, text, out); }
std::string Read(std::string_view, std::string_view text, EventRaces* out) { return ReadWord(kEventRaces, text, out); }
std::string Read(std::string_view, std::string_view text, Verify* out) { return ReadWord(kVerify, text, out); }

std::string Show(const std::string& value) { return value.empty() ? "(empty)" : value; }
std::string Show(bool value) { return value ? "1" : "0"; }
std::string Show(int value) { return Cat(value); }
std::string Show(Unwinder value) { return ShowWord(kUnwinders, value); }
std::string Show(EventRaces value) { return ShowWord(kEventRaces, value); }
std::string Show(Verify value) { return ShowWord(kVerify, value); }

template <class E, size_t N>
std::vector<std::string_view> ChoicesOf(const Word<E> (&words)[N]) {
  std::vector<std::string_view> choices;
  for (const Word<E>& word : words) choices.push_back(word.word);
  return choices;
}
std::vector<std::string_view> Choices(const std::string&) { return {}; }
std::vector<std::string_view> Choices(int) { return {}; }
std::vector<std::string_view> Choices(bool) { return {"0", "1"}; }
std::vector<std::string_view> Choices(Unwinder) { return ChoicesOf(kUnwinders); }
std::vector<std::string_view> Choices(EventRaces) { return ChoicesOf(kEventRaces); }
std::vector<std::string_view> Choices(Verify) { return ChoicesOf(kVerify); }

std::vector<std::string_view> Names() {
  return {
#define RDMACHECK_OPTION(type, name, default_value, help) #name,
#include "interpose/options/options.def"
      "help"};
}

// Sets one option; returns the complaint, or nothing.
std::string Set(std::string_view name, std::string_view value, ParseResult* result) {
  bool known = false;
  std::string wanted;
#define RDMACHECK_OPTION(type, option, default_value, help) \
  if (name == #option) known = true, wanted = Read(name, value, &result->options.option);
#include "interpose/options/options.def"
  if (name == "help") known = true, wanted = Read(name, value, &result->help);
  if (!known) return Words(Is<Sentence::kUnknownOption>(std::string(name), NearestName(name, Names())));
  if (wanted.empty() && name == "hang_timeout") result->options.hang_timeout_given = true;
  if (wanted.empty() && name == "journal_path") result->options.journal_path_given = true;
  if (wanted.empty()) return {};
  return Words(Is<Sentence::kBadValue>(std::string(value), std::string(name), wanted));
}

// Reads a value at the front of `rest` and takes it away. A value that begins with a quote is a row of quoted pieces,
// as in a shell, so that one holding both kinds of quotes can be written. False: a quote is not closed.
bool TakeValue(std::string_view* rest, std::string* value) {
  value->clear();
  if (rest->empty() || (rest->front() != '\'' && rest->front() != '"')) {
    const size_t end = std::min(rest->find_first_of(kSeparators), rest->size());
    value->assign(rest->substr(0, end));
    rest->remove_prefix(end);
    return true;
  }
  while (!rest->empty() && (rest->front() == '\'' || rest->front() == '"')) {
    const size_t end = rest->find(rest->front(), 1);
    if (end == std::string_view::npos) {
      value->append(rest->substr(1));
      rest->remove_prefix(rest->size());
      return false;
    }
    value->append(rest->substr(1, end - 1));
    rest->remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

ParseResult ParseOptions(const char* text) {
  ParseResult result;
  if (text == nullptr) return result;
  const int saved_errno = errno;
  std::string_view rest = text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSeparators), rest.size()));
    if (rest.empty()) break;
    const size_t name_end = std::min(rest.find_first_of(": \t\r\n="), rest.size());
    const std::string_view name = rest.substr(0, name_end);
    rest.remove_prefix(name_end);
    if (rest.empty() || rest.front() != '=') {
      result.complaints.push_back(Words(Is<Sentence::kNoNameAndValue>(std::string(name))));
      continue;
    }
    rest.remove_prefix(1);
    std::string value;
    std::string complaint;
    if (!TakeValue(&rest, &value)) {
      complaint = Words(Is<Sentence::kQuoteNotClosed>(std::string(name)));
    } else if (!rest.empty() && kSeparators.find(rest.front()) == std::string_view::npos) {
      const size_t end = std::min(rest.find_first_of(kSeparators), rest.size());
      complaint = Words(Is<Sentence::kAfterQuote>(std::string(rest.substr(0, end)), std::string(name)));
      rest.remove_prefix(end);
    } else {
      complaint = Set(name, value, &result);
    }
    if (!complaint.empty()) result.complaints.push_back(std::move(complaint));
  }
  errno = saved_errno;
  return result;
}

std::string QuotedOption(std::string_view name, std::string_view value) {
  if (value.find_first_of(": \t\r\n'\"") == std::string_view::npos) return Cat(name, "=", value);
  std::string quoted;
  while (!value.empty()) {
    const char quote = value.front() == '\'' ? '"' : '\'';
    const size_t end = std::min(value.find(quote), value.size());
    quoted.append(1, quote).append(value.substr(0, end)).append(1, quote);
    value.remove_prefix(end);
  }
  return Cat(name, "=", quoted);
}

std::vector<OptionRow> OptionRows() {
  const Options defaults;
  return {
#define RDMACHECK_OPTION(type, name, default_value, help) {#name, help, Choices(defaults.name)},
#include "interpose/options/options.def"
  };
}

std::string HelpTable() {
  struct Row {
    std::string_view name, help;
    std::string shown;
  };
  const Options defaults;
  const Row rows[] = {
#define RDMACHECK_OPTION(type, name, default_value, help) {#name, help, Show(defaults.name)},
#include "interpose/options/options.def"
  };
  std::string table =
      "RDMACHECK_OPTIONS=\"name=value:name=value\"; a value that holds a colon or a space stands in quotes.\n\n";
  for (const Row& row : rows) {
    std::string head = Cat("  ", row.name, "=", row.shown);
    head.resize(std::max(head.size() + 2, size_t{30}), ' ');
    Append(&table, head, row.help, "\n");
  }
  return table;
}

}  // namespace rdmacheck
