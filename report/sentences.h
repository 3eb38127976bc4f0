// The words of reports. A rule says which sentence and with which values; the words stand in sentences.def, and how a number, an
// object or a thread is written stands in sentences.cc, once for all.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

struct SentenceInfo {
  const char* name;
  const char* rule;
  const char* types;
  const char* words;
};
inline constexpr SentenceInfo kSentences[] = {
#define RDMACHECK_SENTENCE(name, rule, types, words) {#name, rule, types, words},
#include "report/sentences.def"
#undef RDMACHECK_SENTENCE
};
inline constexpr size_t kSentenceCount = sizeof(kSentences) / sizeof(kSentences[0]);

// `Is<Sentence::kOpenAtExit>(2, "qp")`: a statement whose values are checked against the row when it is compiled.
namespace sentences_internal {

template <class T>
constexpr char TypeOf() {
  using V = std::decay_t<T>;
  if constexpr (std::is_same_v<V, Errno>) {
    return 'e';
  } else if constexpr (std::is_same_v<V, Seconds>) {
    return 'd';
  } else if constexpr (std::is_same_v<V, KindCounts>) {
    return 'k';
  } else if constexpr (std::is_same_v<V, ObjectRef>) {
    return 'o';
  } else if constexpr (std::is_same_v<V, ThreadRef>) {
    return 't';
  } else if constexpr (std::is_same_v<V, std::vector<ThreadRef>>) {
    return 'T';
  } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
    return 'S';
  } else if constexpr (std::is_integral_v<V>) {
    return 'n';
  } else {
    return 's';
  }
}

template <class... V>
constexpr bool Fits(const char* types) {
  const char given[] = {TypeOf<V>()..., '\0'};
  for (size_t i = 0; i <= sizeof...(V); ++i) {
    if (given[i] != types[i]) return false;
  }
  return true;
}

template <class T>
Value ValueOf(T&& value) {
  using V = std::decay_t<T>;
  if constexpr (std::is_integral_v<V>) {
    return static_cast<int64_t>(value);
  } else if constexpr (TypeOf<V>() == 's') {
    return std::string(std::forward<T>(value));
  } else {
    return std::forward<T>(value);
  }
}

}  // namespace sentences_internal

template <Sentence kSentence, class... V>
Statement Is(V&&... values) {
  static_assert(sentences_internal::Fits<V...>(kSentences[static_cast<size_t>(kSentence)].types),
                "the values are not those of the row in sentences.def");
  Statement statement;
  statement.sentence = kSentence;
  (statement.values.push_back(sentences_internal::ValueOf(std::forward<V>(values))), ...);
  return statement;
}

// `about`: the finding whose verb, object, device and result the words may name.
std::string Words(const Statement& statement, const Finding& about = Finding());
// All of them, one behind the other.
std::string Words(const std::vector<Statement>& statements, const Finding& about);

// Puts what a finding states into words: `message` of `says`, and `hints` of `adds`.
void PutIntoWords(Finding* finding);

std::string Mention(const ObjectRef& object);  // "qp #7 qpn=0x11": for the inside of sentences
std::string TextOf(const KindCounts& counts);  // "3 mr, 1 pd"
std::string TextOf(const Number& number, const std::string& kind);  // "qpn=0x11", "state=RTS"

}  // namespace rdmacheck
