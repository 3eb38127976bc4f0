#include "report/reader/json_pull.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "report/cat.h"

namespace rdmacheck {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

size_t Utf8Length(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

std::string_view EndOfArray(std::string_view text) {
  // Most of a merge's time is spent here: a look at a table for what stands between strings, memchr() for strings.
  struct Step {
    int8_t depth[256] = {};
    constexpr Step() {
      depth[static_cast<int>('[')] = depth[static_cast<int>('{')] = 1;
      depth[static_cast<int>(']')] = depth[static_cast<int>('}')] = -1;
    }
  };
  static constexpr Step kStep;
  size_t at = text.find_first_not_of(" \n\t\r");
  if (at == std::string_view::npos || text[at] != '[') return {};
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      size_t end = at;
      bool escaped = true;
      while (escaped) {
        end = text.find('"', end + 1);
        if (end == std::string_view::npos) return {};
        size_t backslashes = 0;
        while (text[end - 1 - backslashes] == '\\') ++backslashes;  // the opening quote ends it
        escaped = backslashes % 2 == 1;
      }
      at = end;
      continue;
    }
    const int step = kStep.depth[static_cast<unsigned char>(c)];
    if (step == 0) continue;
    depth += step;
    if (depth == 0) return text.substr(0, at + 1);
  }
  return {};
}

void AppendUtf8(std::string* out, uint32_t rune) {
  const auto push = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (rune < 0x80) {
    push(rune);
  } else if (rune < 0x800) {
    push(0xC0 | rune >> 6);
    push(0x80 | (rune & 0x3F));
  } else if (rune < 0x10000) {
    push(0xE0 | rune >> 12);
    push(0x80 | (rune >> 6 & 0x3F));
    push(0x80 | (rune & 0x3F));
  } else {
    push(0xF0 | rune >> 18);
    push(0x80 | (rune >> 12 & 0x3F));
    push(0x80 | (rune >> 6 & 0x3F));
    push(0x80 | (rune & 0x3F));
  }
}

void JsonPull::Fail(std::string sentence, size_t at) {
  if (!error_.empty()) return;
  error_ = std::move(sentence);
  error_offset_ = at;
  pos_ = text_.size();
}

std::string JsonPull::Found() const {
  if (pos_ >= text_.size()) return "the end of the file";
  const unsigned char c = static_cast<unsigned char>(text_[pos_]);
  if (c > 0x20 && c < 0x7F) return Cat("'", std::string_view(&text_[pos_], 1), "'");
  return Cat("byte ", Hex(c));
}

void JsonPull::SkipSpace() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
    ++pos_;
  }
}

bool JsonPull::Open(char bracket, const char* wanted) {
  SkipSpace();
  if (!ok()) return false;
  if (pos_ >= text_.size() || text_[pos_] != bracket) {
    Fail(Cat("expected ", wanted, ", found ", Found()), pos_);
    return false;
  }
  if (depth_ >= kDeepest) {
    Fail(Cat("nested deeper than ", kDeepest, " levels"), pos_);
    return false;
  }
  ++pos_;
  ++depth_;
  return true;
}

bool JsonPull::Close(char bracket) {
  SkipSpace();
  if (pos_ >= text_.size() || text_[pos_] != bracket) return false;
  ++pos_;
  return true;
}

// True if another element follows, false at the closing bracket.
bool JsonPull::Comma(char bracket) {
  SkipSpace();
  if (pos_ < text_.size() && text_[pos_] == ',') {
    ++pos_;
    return true;
  }
  if (Close(bracket)) return false;
  Fail(Cat("expected ',' or '", std::string_view(&bracket, 1), "', found ", Found()), pos_);
  return false;
}

void JsonPull::Expect(char c) {
  SkipSpace();
  if (!ok()) return;
  if (pos_ < text_.size() && text_[pos_] == c) {
    ++pos_;
  } else {
    Fail(Cat("expected '", std::string_view(&c, 1), "', found ", Found()), pos_);
  }
}

uint32_t JsonPull::FourHex() {
  uint32_t value = 0;
  const size_t left = text_.size() - pos_;
  const char* const begin = text_.data() + pos_;
  const std::from_chars_result end = std::from_chars(begin, begin + (left < 4 ? left : 4), value, 16);
  if (left < 4 || end.ptr != begin + 4 || begin[0] == '-') {
    Fail("\\u needs four hexadecimal digits", pos_);
    return 0;
  }
  pos_ += 4;
  return value;
}

void JsonPull::Rune(std::string* out) {
  const size_t at = pos_;
  uint32_t rune = FourHex();
  if (rune >= 0xD800 && rune <= 0xDFFF) {
    uint32_t low = 0;
    if (rune < 0xDC00 && text_.substr(pos_, 2) == "\\u") {
      pos_ += 2;
      low = FourHex();
    }
    if (low < 0xDC00 || low > 0xDFFF) return Fail("half of a surrogate pair", at);
    rune = 0x10000 + ((rune - 0xD800) << 10) + (low - 0xDC00);
  }
  if (ok()) AppendUtf8(out, rune);
}

void JsonPull::Escape(std::string* out) {
  constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
  const char c = pos_ < text_.size() ? text_[pos_] : '\0';
  if (c == 'u') {
    ++pos_;
    return Rune(out);
  }
  const size_t index = kFrom.find(c);
  if (index == std::string_view::npos) return Fail("an escape that JSON does not have", pos_);
  out->push_back(kTo[index]);
  ++pos_;
}

void JsonPull::String(std::string* out) {
  SkipSpace();
  if (!ok()) return;
  if (pos_ >= text_.size() || text_[pos_] != '"') return Fail(Cat("expected a string, found ", Found()), pos_);
  const size_t begin = pos_++;
  std::string value;
  while (ok()) {
    size_t end = pos_;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\\' && text_[end] >= 0x20 && text_[end] < 0x7F)
      ++end;
    value.append(text_.substr(pos_, end - pos_));
    pos_ = end;
    if (pos_ >= text_.size()) return Fail("a string that is never closed", begin);
    const char c = text_[pos_];
    if (c == '"') {
      ++pos_;
      *out = std::move(value);
      return;
    }
    if (c == '\\') {
      ++pos_;
      Escape(&value);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      Fail("a control character inside a string", pos_);
    } else {
      const size_t length = Utf8Length(text_.substr(pos_));
      if (length == 0) return Fail("a byte that is not UTF-8", pos_);
      value.append(text_.substr(pos_, length));
      pos_ += length;
    }
  }
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
std::string_view JsonPull::NumberToken(bool* whole) {
  SkipSpace();
  if (!ok()) return {};
  const size_t begin = pos_;
  size_t at = pos_;
  const auto digits = [&] {
    const size_t from = at;
    while (at < text_.size() && IsDigit(text_[at])) ++at;
    return at > from;
  };
  *whole = true;
  if (at < text_.size() && text_[at] == '-') ++at;
  bool good = true;
  if (at < text_.size() && text_[at] == '0') {
    ++at;
  } else {
    good = digits();
  }
  if (good && at < text_.size() && text_[at] == '.') {
    *whole = false;
    ++at;
    good = digits();
  }
  if (good && at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
    *whole = false;
    ++at;
    if (at < text_.size() && (text_[at] == '+' || text_[at] == '-')) ++at;
    good = digits();
  }
  if (!good) {
    Fail(Cat("expected a number, found ", Found()), begin);
    return {};
  }
  pos_ = at;
  return text_.substr(begin, at - begin);
}

template <class T>
void JsonPull::Whole(T* out, const char* wanted) {
  bool whole = false;
  const std::string_view token = NumberToken(&whole);
  if (!ok()) return;
  const std::from_chars_result end = std::from_chars(token.data(), token.data() + token.size(), *out);
  if (!whole || end.ec != std::errc() || end.ptr != token.data() + token.size()) Fail(wanted, pos_ - token.size());
}

void JsonPull::Uint(uint64_t* out) { Whole(out, "expected a whole number from 0 to 2^64-1"); }
void JsonPull::Int(int64_t* out) { Whole(out, "expected a whole number of 64 bits"); }

void JsonPull::Double(double* out) {
  bool whole = false;
  const std::string_view token = NumberToken(&whole);
  if (!ok()) return;
  // Not std::from_chars(): gcc 10 has none for double. No locale is set in the command, so that the point is a point.
  const double value = std::strtod(std::string(token).c_str(), nullptr);
  // Too large for a double is JSON all the same, but no time or age.
  *out = std::isfinite(value) ? value : 0;
}

bool JsonPull::Word(std::string_view word) {
  SkipSpace();
  if (!ok() || text_.substr(pos_, word.size()) != word) return false;
  pos_ += word.size();
  return true;
}

void JsonPull::Bool(bool* out) {
  if (Word("true")) {
    *out = true;
  } else if (Word("false")) {
    *out = false;
  } else {
    Fail(Cat("expected true or false, found ", Found()), pos_);
  }
}

bool JsonPull::Null() { return Word("null"); }

void JsonPull::Skip() {
  SkipSpace();
  if (!ok()) return;
  const char c = pos_ < text_.size() ? text_[pos_] : '\0';
  if (c == '{') {
    Object([this](const std::string&) { Skip(); });
  } else if (c == '[') {
    Array([this] { Skip(); });
  } else if (c == '"') {
    std::string ignored;
    String(&ignored);
  } else if (c == '-' || IsDigit(c)) {
    bool whole = false;
    NumberToken(&whole);
  } else if (!Word("true") && !Word("false") && !Word("null")) {
    Fail(Cat("expected a value, found ", Found()), pos_);
  }
}

void JsonPull::End() {
  SkipSpace();
  if (ok() && pos_ < text_.size()) Fail(Cat("expected the end of the file, found ", Found()), pos_);
}

}  // namespace rdmacheck
