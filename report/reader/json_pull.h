// A strict JSON reader (RFC 8259) that is asked for the value that should come next. The text is untrusted: nothing
// recurses deeper than a bound, nothing is copied that was not asked for, and a mistake is known by its place. A
// document model would cost ten times the time of a merge and does not know where a value stood; so nlohmann-json only
// writes, and serves the tests as the judge of what is JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmacheck {

class JsonPull {
 public:
  static constexpr int kDeepest = 64;

  explicit JsonPull(std::string_view text) : text_(text) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }  // a sentence's end: "expected a string"
  size_t error_offset() const { return error_offset_; }
  size_t offset() const { return pos_; }
  std::string_view text() const { return text_; }

  // Calls f(key) for each member; f reads the value. After a mistake nothing more is read, and f is not called again.
  template <class F>
  void Object(F f) {
    if (!Open('{', "an object")) return;
    if (!Close('}')) {
      do {
        std::string key;
        String(&key);
        Expect(':');
        if (!ok()) return;
        f(static_cast<const std::string&>(key));
      } while (ok() && Comma('}'));
    }
    --depth_;
  }

  // Calls f() for each element; f reads it.
  template <class F>
  void Array(F f) {
    if (!Open('[', "an array")) return;
    if (!Close(']')) {
      do {
        f();
      } while (ok() && Comma(']'));
    }
    --depth_;
  }

  // These leave *out alone after a mistake. Integers are whole numbers without fraction or exponent.
  void String(std::string* out);
  void Uint(uint64_t* out);
  void Int(int64_t* out);
  void Double(double* out);
  void Bool(bool* out);
  bool Null();  // takes a null if one comes next
  void Skip();  // any value, checked all the same
  void End();   // nothing but white space may follow
  // Passes over `bytes` that the caller knows to be one value.
  void Advance(size_t bytes) { pos_ += bytes; }

  // The first mistake counts. `at`: where it is.
  void Fail(std::string sentence, size_t at);

 private:
  void SkipSpace();
  bool Open(char bracket, const char* wanted);
  bool Close(char bracket);
  bool Comma(char bracket);
  void Expect(char c);
  std::string_view NumberToken(bool* whole);
  template <class T>
  void Whole(T* out, const char* wanted);
  bool Word(std::string_view word);
  void Escape(std::string* out);
  void Rune(std::string* out);
  uint32_t FourHex();
  std::string Found() const;

  const std::string_view text_;
  size_t pos_ = 0;
  int depth_ = 0;
  std::string error_;
  size_t error_offset_ = 0;
};

// Appends a code point as UTF-8.
void AppendUtf8(std::string* out, uint32_t rune);

// The length of the UTF-8 sequence at the front; 0 if there is none (overlong forms and surrogates are none).
size_t Utf8Length(std::string_view text);

// The part of `text` up to the end of the array that it begins with (white space first), found by its brackets alone;
// empty if it begins with none or the array does not end.
std::string_view EndOfArray(std::string_view text);

}  // namespace rdmacheck
