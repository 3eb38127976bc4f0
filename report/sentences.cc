#include "report/sentences.h"

#include <cstdlib>
#include <string_view>

#include "report/cat.h"
#include "report/errno_name.h"
#include "report/field_names.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

struct Writer {
  std::string operator()(int64_t number) const { return Cat(number); }
  std::string operator()(const std::string& name) const { return name; }
  std::string operator()(const ObjectRef& object) const { return Mention(object); }
  std::string operator()(const ThreadRef& thread) const { return TextOf(thread); }
  std::string operator()(const std::vector<std::string>& names) const {
    std::string text;
    for (const std::string& name : names) Append(&text, text.empty() ? "" : ", ", name);
    return text;
  }
  std::string operator()(const std::vector<ThreadRef>& threads) const {
    std::string text;
    for (const ThreadRef& thread : threads) Append(&text, text.empty() ? "" : ", ", TextOf(thread));
    return text;
  }
  std::string operator()(Errno error) const { return ErrnoName(error.value); }
  std::string operator()(Seconds seconds) const { return Duration(seconds.value); }
  std::string operator()(const KindCounts& counts) const { return TextOf(counts); }
};

// What stands between the braces: "verb", "0", "0 event|events", "0:is|are".
std::string Filled(std::string_view field, const Statement& statement, const Finding& about) {
  if (field == "verb") return about.verb;
  if (field == "object") return Mention(about.object);
  if (field == "device") return about.object.device;
  if (field == "result") return ErrnoName(about.result);
  const size_t index = static_cast<size_t>(field.front() - '0');
  if (index >= statement.values.size()) return {};
  const Value& value = statement.values[index];
  if (field.size() == 1) return std::visit(Writer(), value);
  const size_t bar = field.find('|');
  const int64_t* const number = std::get_if<int64_t>(&value);
  if (number == nullptr || bar == std::string_view::npos) return {};
  const std::string_view word = *number == 1 ? field.substr(2, bar - 2) : field.substr(bar + 1);
  return field[1] == ':' ? std::string(word) : Cat(*number, " ", word);
}

}  // namespace

std::string Words(const Statement& statement, const Finding& about) {
  std::string_view rest = kSentences[static_cast<size_t>(statement.sentence) % kSentenceCount].words;
  std::string text;
  for (size_t open; (open = rest.find('{')) != std::string_view::npos;) {
    const size_t close = rest.find('}', open);
    Append(&text, rest.substr(0, open), Filled(rest.substr(open + 1, close - open - 1), statement, about));
    rest.remove_prefix(close + 1);
  }
  Append(&text, rest);
  return text;
}

std::string Words(const std::vector<Statement>& statements, const Finding& about) {
  std::string text;
  for (const Statement& statement : statements) text += Words(statement, about);
  return text;
}

void PutIntoWords(Finding* finding) {
  if (!finding->says.empty()) finding->message = Words(finding->says, *finding);
  for (const Statement& statement : finding->adds) {
    std::string words = Words(statement, *finding);
    // A part that begins with a comma or a colon goes on with the sentence before.
    const bool goes_on = words.size() > 1 && (words[0] == ',' || words[0] == ';' || words[0] == ':');
    if (goes_on && !finding->hints.empty()) {
      finding->hints.back() += words;
    } else {
      finding->hints.push_back(std::move(words));
    }
  }
  finding->says.clear();
  finding->adds.clear();
}

std::string TextOf(const Number& number, const std::string& kind) {
  if (const char* name = NameOfField(kind, number.name, number.value)) return Cat(number.name, "=", name);
  return number.hex ? Cat(number.name, "=", Hex(number.value)) : Cat(number.name, "=", number.value);
}

std::string Mention(const ObjectRef& object) {
  // Of the numbers the first is the one that people search for. What has no serial is only known by its kind.
  if (object.serial == 0) return Cat("an untracked ", object.kind);
  return Cat(object.kind, " #", object.serial, object.numbers.empty() ? "" : " ",
             object.numbers.empty() ? std::string() : TextOf(object.numbers.front(), object.kind));
}

std::string TextOf(const KindCounts& counts) {
  std::string text;
  for (const auto& [kind, count] : counts.counts()) Append(&text, text.empty() ? "" : ", ", count, " ", kind);
  return text;
}

}  // namespace rdmacheck
