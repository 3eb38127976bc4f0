#include "report/rust_names.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "report/cat.h"

namespace rdmacheck {
namespace {

constexpr int kMostDepth = 200;
constexpr int kMostSteps = 20000;
constexpr size_t kLongestName = 16384;
constexpr size_t kMostInPunycode = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

int HexOf(char c) {
  if (IsDigit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool AppendUtf8(uint32_t c, std::string* text) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
  if (c < 0x80) {
    *text += static_cast<char>(c);
    return true;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  *text += static_cast<char>((more == 1 ? 0xc0u : more == 2 ? 0xe0u : 0xf0u) | c >> (6 * more));
  for (int i = more - 1; i >= 0; --i) *text += static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
  return true;
}

// RFC 3492, with an underscore where it has a hyphen.
bool AppendPunycode(std::string_view coded, std::string* text) {
  std::vector<uint32_t> out;
  if (const size_t end = coded.rfind('_'); end != std::string_view::npos) {
    for (const char c : coded.substr(0, end)) out.push_back(static_cast<unsigned char>(c));
    coded.remove_prefix(end + 1);
  }
  if (coded.empty() || out.size() > kMostInPunycode) return false;
  uint64_t at = 0, c = 128, bias = 72;
  for (bool first = true; !coded.empty(); first = false) {
    const uint64_t before = at;
    uint64_t weight = 1;
    for (uint64_t k = 36;; k += 36) {
      if (coded.empty()) return false;
      const char digit = coded.front();
      coded.remove_prefix(1);
      if (!IsLower(digit) && !IsDigit(digit)) return false;
      const uint64_t value = static_cast<uint64_t>(IsLower(digit) ? digit - 'a' : digit - '0' + 26);
      at += value * weight;
      const uint64_t t = k <= bias ? 1 : std::min<uint64_t>(k - bias, 26);
      if (value < t) break;
      weight *= 36 - t;
      if (at > 0xffffffff || weight > 0xffffffff) return false;
    }
    const uint64_t count = out.size() + 1;
    uint64_t delta = (at - before) / (first ? 700 : 2);
    delta += delta / count;
    uint64_t k = 0;
    for (; delta > 455; k += 36) delta /= 35;
    bias = k + 36 * delta / (delta + 38);
    c += at / count;
    at %= count;
    if (c > 0x10ffff || count > kMostInPunycode) return false;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at++), static_cast<uint32_t>(c));
  }
  return std::all_of(out.begin(), out.end(), [text](uint32_t one) { return AppendUtf8(one, text); });
}

const char* BasicType(char tag) {
  switch (tag) {
    case 'a': return "i8";
    case 'b': return "bool";
    case 'c': return "char";
    case 'd': return "f64";
    case 'e': return "str";
    case 'f': return "f32";
    case 'h': return "u8";
    case 'i': return "isize";
    case 'j': return "usize";
    case 'l': return "i32";
    case 'm': return "u32";
    case 'n': return "i128";
    case 'o': return "u128";
    case 'p': return "_";
    case 's': return "i16";
    case 't': return "u16";
    case 'u': return "()";
    case 'v': return "...";
    case 'x': return "i64";
    case 'y': return "u64";
    case 'z': return "!";
    default: return nullptr;
  }
}

// Reads the grammar of RFC 2603 and writes while it reads. After an error nothing more is read or written.
class V0 {
 public:
  explicit V0(std::string_view symbol) : symbol_(symbol) {}

  bool Demangle(std::string* name, size_t* used) {
    Path(true);
    if (!failed_ && IsUpper(Peek())) Silent([this] { Path(false); });  // the crate that it was made in
    *used = at_;
    *name = std::move(text_);
    return !failed_ && !name->empty();
  }

 private:
  struct Identifier {
    std::string_view bytes;
    bool punycode = false;
    uint64_t number = 0;  // tells those of one name apart
  };

  class Deeper {
   public:
    explicit Deeper(V0* parser) : parser_(parser) {
      if (++parser_->depth_ > kMostDepth || ++parser_->steps_ > kMostSteps) parser_->failed_ = true;
    }
    ~Deeper() { --parser_->depth_; }

   private:
    V0* const parser_;
  };

  char Peek() const { return !failed_ && at_ < symbol_.size() ? symbol_[at_] : '\0'; }
  char Next() {
    const char c = Peek();
    if (c == '\0') failed_ = true;
    ++at_;
    return c;
  }
  bool Eat(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  bool Fail() {
    failed_ = true;
    return false;
  }
  void Put(std::string_view text) {
    if (failed_ || silent_ > 0) return;
    text_ += text;
    if (text_.size() > kLongestName) failed_ = true;
  }
  template <class F>
  void Silent(F f) {
    ++silent_;
    f();
    --silent_;
  }

  uint64_t Decimal() {
    if (!IsDigit(Peek())) return Fail();
    if (Eat('0')) return 0;
    uint64_t value = 0;
    while (IsDigit(Peek())) {
      value = value * 10 + static_cast<uint64_t>(Next() - '0');
      if (value > symbol_.size()) return Fail();
    }
    return value;
  }
  uint64_t Base62() {
    if (Eat('_')) return 0;
    uint64_t value = 0;
    while (!Eat('_')) {
      const char c = Next();
      const int digit = IsDigit(c) ? c - '0' : IsLower(c) ? c - 'a' + 10 : IsUpper(c) ? c - 'A' + 36 : -1;
      if (digit < 0 || __builtin_mul_overflow(value, 62, &value) || __builtin_add_overflow(value, digit, &value)) return Fail();
    }
    return __builtin_add_overflow(value, 1, &value) ? Fail() : value;
  }
  uint64_t OptionalBase62(char tag) { return Eat(tag) ? Base62() + 1 : 0; }

  Identifier Undisambiguated() {
    Identifier identifier;
    identifier.punycode = Eat('u');
    const uint64_t size = Decimal();
    Eat('_');
    if (failed_ || size > symbol_.size() - std::min(at_, symbol_.size())) {
      failed_ = true;
      return identifier;
    }
    identifier.bytes = symbol_.substr(at_, size);
    at_ += size;
    return identifier;
  }
  Identifier Disambiguated() {
    const uint64_t number = OptionalBase62('s');
    Identifier identifier = Undisambiguated();
    identifier.number = number;
    return identifier;
  }
  void Put(const Identifier& identifier) {
    if (!identifier.punycode) return Put(identifier.bytes);
    std::string text;
    if (!AppendPunycode(identifier.bytes, &text)) text = Cat("punycode{", identifier.bytes, "}");
    Put(text);
  }

  // What stands earlier in the symbol is read again.
  template <class F>
  void Backref(F f) {
    const size_t here = at_ - 1;
    const uint64_t to = Base62();
    if (failed_ || to >= here) {
      failed_ = true;
      return;
    }
    if (silent_ > 0) return;
    const size_t after = at_;
    at_ = static_cast<size_t>(to);
    f();
    at_ = after;
  }

  void Lifetime(uint64_t index) {
    if (index == 0) return Put("'_");
    if (index > lifetimes_) {
      failed_ = true;
      return;
    }
    const uint64_t depth = lifetimes_ - index;
    if (depth < 26) return Put(Cat("'", std::string(1, static_cast<char>('a' + depth))));
    Put(Cat("'_", depth));
  }
  template <class F>
  void InBinder(F f) {
    const uint64_t bound = OptionalBase62('G');
    if (bound > 100) failed_ = true;
    for (uint64_t i = 0; i < bound && !failed_; ++i) {
      Put(i == 0 ? "for<" : ", ");
      ++lifetimes_;
      Lifetime(1);
    }
    if (bound > 0) Put("> ");
    f();
    if (!failed_) lifetimes_ -= bound;
  }

  // `in_value`: generic arguments of a function have two colons before them, those of a type none.
  void Path(bool in_value) {
    const Deeper deeper(this);
    switch (Next()) {
      case 'C':
        return Put(Disambiguated());
      case 'N': {
        const char space = Next();
        if (!IsUpper(space) && !IsLower(space)) failed_ = true;
        Path(in_value);
        const Identifier identifier = Disambiguated();
        if (!IsUpper(space)) {
          if (!identifier.bytes.empty()) Put("::");
          return Put(identifier);
        }
        Put("::{");
        Put(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
        if (!identifier.bytes.empty()) Put(":");
        Put(identifier);
        return Put(Cat("#", identifier.number, "}"));
      }
      case 'M':
        ImplPath();
        Put("<");
        Type();
        return Put(">");
      case 'X':
        ImplPath();
        [[fallthrough]];
      case 'Y':
        Put("<");
        Type();
        Put(" as ");
        Path(false);
        return Put(">");
      case 'I':
        Path(in_value);
        Put(in_value ? "::<" : "<");
        GenericArguments();
        return Put(">");
      case 'B':
        return Backref([=] { Path(in_value); });
      default:
        failed_ = true;
    }
  }
  void ImplPath() {
    Silent([this] {
      OptionalBase62('s');
      Path(false);
    });
  }
  void GenericArguments() {
    for (bool first = true; !failed_ && !Eat('E'); first = false) {
      if (!first) Put(", ");
      if (Eat('L')) {
        Lifetime(Base62());
      } else if (Eat('K')) {
        Const();
      } else {
        Type();
      }
    }
  }

  void Type() {
    const Deeper deeper(this);
    if (const char* basic = BasicType(Peek())) {
      ++at_;
      return Put(basic);
    }
    switch (Peek()) {
      case 'R':
      case 'Q': {
        const bool changes = Next() == 'Q';
        Put("&");
        if (Eat('L')) {
          if (const uint64_t lifetime = Base62(); lifetime != 0) {
            Lifetime(lifetime);
            Put(" ");
          }
        }
        if (changes) Put("mut ");
        return Type();
      }
      case 'P':
      case 'O':
        Put(Next() == 'P' ? "*const " : "*mut ");
        return Type();
      case 'A':
      case 'S': {
        const bool sized = Next() == 'A';
        Put("[");
        Type();
        if (sized) {
          Put("; ");
          Const();
        }
        return Put("]");
      }
      case 'T': {
        ++at_;
        Put("(");
        int count = 0;
        for (; !failed_ && !Eat('E'); ++count) {
          if (count > 0) Put(", ");
          Type();
        }
        return Put(count == 1 ? ",)" : ")");
      }
      case 'F':
        ++at_;
        return InBinder([this] { Signature(); });
      case 'D':
        ++at_;
        Put("dyn ");
        InBinder([this] { DynBounds(); });
        if (!Eat('L')) {
          failed_ = true;
          return;
        }
        if (const uint64_t lifetime = Base62(); lifetime != 0) {
          Put(" + ");
          Lifetime(lifetime);
        }
        return;
      case 'B':
        ++at_;
        return Backref([this] { Type(); });
      default:
        return Path(false);
    }
  }
  void Signature() {
    if (Eat('U')) Put("unsafe ");
    if (Eat('K')) {
      std::string abi = "C";
      if (!Eat('C')) {
        abi = std::string(Undisambiguated().bytes);
        std::replace(abi.begin(), abi.end(), '_', '-');
      }
      Put(Cat("extern \"", abi, "\" "));
    }
    Put("fn(");
    for (bool first = true; !failed_ && !Eat('E'); first = false) {
      if (!first) Put(", ");
      Type();
    }
    Put(")");
    if (Eat('u')) return;
    Put(" -> ");
    Type();
  }
  void DynBounds() {
    for (bool first = true; !failed_ && !Eat('E'); first = false) {
      if (!first) Put(" + ");
      bool open = OpenPath();
      while (!failed_ && Eat('p')) {
        Put(open ? ", " : "<");
        open = true;
        Put(Undisambiguated());
        Put(" = ");
        Type();
      }
      if (open) Put(">");
    }
  }
  // A trait, whose list of arguments stays open for what it binds. True: there is a list.
  bool OpenPath() {
    const Deeper deeper(this);
    if (Eat('B')) {
      bool open = false;
      Backref([&] { open = OpenPath(); });
      return open;
    }
    if (!Eat('I')) {
      Path(false);
      return false;
    }
    Path(false);
    Put("<");
    GenericArguments();
    return true;
  }

  void Const() {
    const Deeper deeper(this);
    const char type = Next();
    switch (type) {
      case 'p':
        return Put("_");
      case 'B':
        return Backref([this] { Const(); });
      case 'a': case 's': case 'l': case 'x': case 'n': case 'i':
        if (Eat('n')) Put("-");
        [[fallthrough]];
      case 'h': case 't': case 'm': case 'y': case 'o': case 'j': {
        const std::string_view digits = HexDigits();
        return Put(digits.size() > 16 ? Cat("0x", digits) : Cat(ValueOf(digits)));
      }
      case 'b': {
        const std::string_view digits = HexDigits();
        if (digits != "0" && digits != "1") failed_ = true;
        return Put(digits == "1" ? "true" : "false");
      }
      case 'c': {
        const std::string_view digits = HexDigits();
        std::string text;
        const uint64_t value = ValueOf(digits);
        if (digits.size() > 8 || !AppendUtf8(static_cast<uint32_t>(value), &text)) failed_ = true;
        if (value < 32 || value == 127) text = Cat("\\u{", digits, "}");
        return Put(Cat("'", text, "'"));
      }
      default:
        failed_ = true;  // of types that no stable compiler lets constants have
    }
  }
  std::string_view HexDigits() {
    const size_t begin = at_;
    while (HexOf(Peek()) >= 0) ++at_;
    const size_t end = at_;
    if (begin == end || !Eat('_')) {
      failed_ = true;
      return "0";
    }
    return symbol_.substr(begin, end - begin);
  }
  static uint64_t ValueOf(std::string_view digits) {
    uint64_t value = 0;
    for (const char c : digits) value = value << 4 | static_cast<uint64_t>(HexOf(c));
    return value;
  }

  const std::string_view symbol_;  // behind the "_R"
  size_t at_ = 0;
  std::string text_;
  bool failed_ = false;
  int depth_ = 0, steps_ = 0, silent_ = 0;
  uint64_t lifetimes_ = 0;  // that are bound here
};

// What follows a name: LLVM's own marks say nothing.
bool AppendSuffix(std::string_view suffix, std::string* name) {
  if (suffix.empty()) return true;
  if (suffix.front() != '.' && suffix.front() != '$') return false;
  suffix = suffix.substr(0, suffix.find(".llvm."));
  *name += suffix;
  return true;
}

// ---- the older form

// "h" and 16 digits.
bool IsHash(std::string_view part) {
  return part.size() == 17 && part.front() == 'h' &&
         std::all_of(part.begin() + 1, part.end(), [](char c) { return HexOf(c) >= 0; });
}

bool AppendEscaped(std::string_view code, std::string* text) {
  constexpr struct {
    std::string_view code, text;
  } kCodes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"}, {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};
  for (const auto& one : kCodes) {
    if (code != one.code) continue;
    *text += one.text;
    return true;
  }
  if (code.size() < 2 || code.size() > 7 || code.front() != 'u') return false;
  uint32_t value = 0;
  for (const char c : code.substr(1)) {
    if (HexOf(c) < 0) return false;
    value = value << 4 | static_cast<uint32_t>(HexOf(c));
  }
  return value >= 32 && value != 127 && AppendUtf8(value, text);
}

void AppendPart(std::string_view part, std::string* text) {
  if (part.substr(0, 2) == "_$") part.remove_prefix(1);
  while (!part.empty()) {
    if (part.front() == '$') {
      const size_t end = part.find('$', 1);
      if (end != std::string_view::npos && AppendEscaped(part.substr(1, end - 1), text)) {
        part.remove_prefix(end + 1);
        continue;
      }
    } else if (part.substr(0, 2) == "..") {
      *text += "::";
      part.remove_prefix(2);
      continue;
    }
    const size_t end = std::min(part.find_first_of("$.", 1), part.size());
    *text += part.substr(0, end);
    part.remove_prefix(end);
  }
}

bool DemangleLegacy(std::string_view rest, std::string* name) {
  std::vector<std::string_view> parts;
  while (!rest.empty() && rest.front() != 'E') {
    size_t size = 0;
    if (!IsDigit(rest.front()) || rest.front() == '0') return false;
    while (!rest.empty() && IsDigit(rest.front()) && size < rest.size()) {
      size = size * 10 + static_cast<size_t>(rest.front() - '0');
      rest.remove_prefix(1);
    }
    if (size > rest.size()) return false;
    parts.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  if (rest.empty() || parts.size() < 2 || !IsHash(parts.back())) return false;
  parts.pop_back();
  for (const std::string_view part : parts) {
    if (!name->empty()) *name += "::";
    AppendPart(part, name);
  }
  return AppendSuffix(rest.substr(1), name);
}

}  // namespace

bool DemangleRust(std::string_view symbol, std::string* name) {
  std::string result;
  if (symbol.substr(0, 3) == "_ZN") {
    if (!DemangleLegacy(symbol.substr(3), &result)) return false;
  } else if (symbol.substr(0, 2) == "_R") {
    size_t used = 0;
    // A number would say that it is of another version of the grammar.
    if (!V0(symbol.substr(2)).Demangle(&result, &used) || !AppendSuffix(symbol.substr(2 + used), &result)) return false;
  } else {
    return false;
  }
  *name = std::move(result);
  return true;
}

}  // namespace rdmacheck
