#include "interpose/fault/spec.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "interpose/fault/verb_names.h"
#include "report/cat.h"
#include "report/errno_name.h"
#include "report/nearest_name.h"
#include "report/suppressions.h"

namespace rdmacheck::fault {
namespace {

constexpr std::string_view kSeparators = "; \t\r\n";
constexpr uint64_t kSecond = 1'000'000'000;

// A piece of the text that was given, and where in it.
struct Word {
  std::string_view text;
  size_t at = 0;  // from 0
  Word From(size_t begin) const { return {text.substr(begin), at + begin}; }
  Word Before(size_t end) const { return {text.substr(0, end), at}; }
};

// Up to the separator, which is taken too.
Word Take(Word* rest, char separator) {
  const size_t end = std::min(rest->text.find(separator), rest->text.size());
  const Word word = rest->Before(end);
  *rest = rest->From(std::min(end + 1, rest->text.size()));
  return word;
}

// What is wrong, thrown up through the functions below. Nobody else sees it.
struct Wrong {
  size_t at;
  std::string sentence;
};
[[noreturn]] void Complain(const Word& word, std::string sentence) { throw Wrong{word.at, std::move(sentence)}; }

bool IsPattern(std::string_view text) { return text.find('*') != std::string_view::npos; }

uint64_t ReadCount(const Word& word, std::string_view name) {
  uint64_t value = 0;
  const char* const end = word.text.data() + word.text.size();
  const std::from_chars_result read = std::from_chars(word.text.data(), end, value);
  if (word.text.empty() || read.ec != std::errc() || read.ptr != end || value == 0) {
    Complain(word, Cat(name, " needs a whole number from 1 on, not '", word.text, "'"));
  }
  return value;
}

// A decimal number before a unit; the C library's own reader is not asked, for it follows the locale.
bool ReadDecimal(std::string_view text, double* value) {
  double whole = 0, scale = 1;
  bool digits = false, fraction = false;
  for (const char c : text) {
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (c >= '0' && c <= '9') {
      digits = true;
      whole = whole * 10 + (c - '0');
      if (fraction) scale *= 10;
    } else {
      return false;
    }
  }
  *value = whole / scale;
  return digits && whole < 1e15;
}

uint64_t ReadTime(const Word& word) {
  static constexpr struct {
    std::string_view name;
    uint64_t nanoseconds;
  } kUnits[] = {{"ms", 1'000'000}, {"us", 1000}, {"ns", 1}, {"s", kSecond}};
  for (const auto& unit : kUnits) {
    if (word.text.size() <= unit.name.size() || word.text.substr(word.text.size() - unit.name.size()) != unit.name) continue;
    double value = 0;
    if (!ReadDecimal(word.text.substr(0, word.text.size() - unit.name.size()), &value)) break;
    if (value * static_cast<double>(unit.nanoseconds) > 86400e9) Complain(word, Cat("'", word.text, "' is more than a day"));
    return static_cast<uint64_t>(value * static_cast<double>(unit.nanoseconds));
  }
  Complain(word, Cat("'", word.text, "' is no time; write it as 10s, 50ms or 20us"));
}

double ReadRate(const Word& word) {
  double value = 0;
  const bool percent = !word.text.empty() && word.text.back() == '%';
  const std::string_view number = percent ? word.text.substr(0, word.text.size() - 1) : word.text;
  if (!ReadDecimal(number, &value) || (percent ? value / 100 : value) > 1) {
    Complain(word, Cat("'", word.text, "' is no rate; write it as 1% or 0.01"));
  }
  return percent ? value / 100 : value;
}

int ReadErrno(const Word& word) {
  int value = 0;
  const char* const end = word.text.data() + word.text.size();
  const std::from_chars_result read = std::from_chars(word.text.data(), end, value);
  if (!word.text.empty() && read.ec == std::errc() && read.ptr == end && value > 0 && value < 4096) return value;
  std::vector<std::string> names;
  for (int i = 1; i < 134; ++i) {
    names.push_back(ErrnoName(i));
    if (names.back() == word.text) return i;
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  Complain(word, Cat("'", word.text, "' is no errno value that has a name here; did you mean '", NearestName(word.text, views),
                     "'? A number is taken too"));
}

constexpr struct {
  std::string_view name;
  int number;
} kSignals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT}, {"URG", SIGURG},   {"WINCH", SIGWINCH},
                {"IO", SIGIO},     {"PWR", SIGPWR}};

int ReadSignal(const Word& word) {
  std::string_view name = word.text;
  if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
  for (const auto& signal : kSignals) {
    if (signal.name == name) return signal.number;
  }
  int value = 0;
  const char* const end = word.text.data() + word.text.size();
  const std::from_chars_result read = std::from_chars(word.text.data(), end, value);
  if (word.text.empty() || read.ec != std::errc() || read.ptr != end || value < 1 || value > 64 || value == SIGKILL ||
      value == SIGSTOP || value == 32 || value == 33) {
    Complain(word, Cat("'", word.text, "' is no signal that a program can catch; write USR1, or a number"));
  }
  return value;
}

std::vector<std::string_view> VerbNames() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kVerbCount; ++i) names.emplace_back(kVerbNames[i].name);
  return names;
}

// A verb's name, or a pattern that some verb has.
void ReadVerb(const Word& word, bool must_be_able_to_fail, Fault* fault) {
  fault->verb = std::string(word.text);
  if (!IsPattern(word.text)) {
    const VerbName* const verb = FindVerb(word.text);
    if (verb == nullptr) {
      Complain(word, Cat("no verb is called '", word.text, "'; did you mean '", NearestName(word.text, VerbNames()), "'?"));
    }
    if (must_be_able_to_fail && !verb->can_fail) {
      Complain(word, Cat(word.text, " returns nothing, so it cannot be made to fail; delay=", word.text, ":before:50ms can be"));
    }
    return;
  }
  for (size_t i = 0; i < kVerbCount; ++i) {
    if (MatchesWildcard(word.text, kVerbNames[i].name) && (!must_be_able_to_fail || kVerbNames[i].can_fail)) return;
  }
  Complain(word, Cat("no verb that can fail matches '", word.text, "'"));
}

std::string ReadPattern(const Word& word, std::string_view name) {
  if (word.text.empty()) Complain(word, Cat(name, " needs a name or a pattern"));
  return std::string(word.text);
}

// NAME=VALUE after the verb. False: there is no such name.
bool ReadFilter(std::string_view name, const Word& value, Fault* fault) {
  if (name == "nth") {
    fault->nth = ReadCount(value, name);
  } else if (name == "times") {
    fault->times = ReadCount(value, name);
  } else if (name == "seed") {
    fault->seed = ReadCount(value, name);
  } else if (name == "rate") {
    fault->rate = ReadRate(value);
  } else if (name == "after") {
    fault->after = ReadTime(value);
  } else if (name == "caller") {
    fault->caller = ReadPattern(value, name);
  } else if (name == "program") {
    fault->program = ReadPattern(value, name);
  } else {
    return false;
  }
  return true;
}

// NAME=VALUE, separated by colons, to the end.
template <class Read>
void ReadFields(Word rest, const std::vector<std::string_view>& names, Read read) {
  while (!rest.text.empty()) {
    const Word field = Take(&rest, ':');
    const size_t equals = field.text.find('=');
    const Word name = field.Before(std::min(equals, field.text.size()));
    const Word value = equals == std::string_view::npos ? Word{{}, field.at + field.text.size()} : field.From(equals + 1);
    bool known = false;
    for (const std::string_view each : names) known |= each == name.text;
    if (!known) Complain(name, Cat("unknown field '", name.text, "'; did you mean '", NearestName(name.text, names), "'?"));
    if (equals == std::string_view::npos) Complain(field, Cat("'", name.text, "' needs a value: ", name.text, "=…"));
    read(name.text, value);
  }
}

std::vector<std::string_view> FilterNames(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> names = {"nth", "rate", "seed", "after", "times", "caller", "program"};
  names.insert(names.end(), more);
  return names;
}

void ReadFail(Word rest, Fault* fault) {
  ReadVerb(Take(&rest, ':'), true, fault);
  ReadFields(rest, FilterNames({"errno"}), [fault](std::string_view name, const Word& value) {
    if (name == "errno") {
      fault->error = ReadErrno(value);
    } else {
      ReadFilter(name, value, fault);
    }
  });
}

// delay=VERB:before:50ms
void ReadDelay(Word rest, Fault* fault) {
  fault->does = Does::kDelay;
  ReadVerb(Take(&rest, ':'), false, fault);
  const Word place = Take(&rest, ':');
  if (place.text == "before") {
    fault->place = Place::kBefore;
  } else if (place.text == "after") {
    fault->place = Place::kAfter;
  } else if (place.text == "after-read") {
    fault->place = Place::kAfterRead;
    const VerbName* const verb = FindVerb(fault->verb);
    if (verb == nullptr || verb->deed != Deed::kGetsEvent) {
      Complain(place, "after-read is only in a get of events: ibv_get_cq_event, ibv_get_async_event, rdma_get_cm_event");
    }
  } else {
    Complain(place, Cat("a delay is 'before', 'after' or 'after-read', not '", place.text, "'"));
  }
  fault->delay = ReadTime(Take(&rest, ':'));
  ReadFields(rest, FilterNames({}), [fault](std::string_view name, const Word& value) { ReadFilter(name, value, fault); });
}

// disassociate=after:5s, after:ibv_create_qp#10, signal:USR1
void ReadDisassociate(Word rest, Fault* fault) {
  fault->does = Does::kDisassociate;
  const Word trigger = Take(&rest, ':');
  const Word what = Take(&rest, ':');
  if (trigger.text == "signal") {
    fault->signal = ReadSignal(what);
  } else if (trigger.text == "after" && what.text.find('#') != std::string_view::npos) {
    Word number = what;
    ReadVerb(Take(&number, '#'), false, fault);
    fault->nth = ReadCount(number, "the number of a call");
  } else if (trigger.text == "after") {
    fault->after = ReadTime(what);
  } else {
    Complain(trigger, Cat("a device is lost after:TIME, after:VERB#NUMBER or signal:NAME, not '", trigger.text, "'"));
  }
  ReadFields(rest, {"device", "kernel", "program"}, [fault](std::string_view name, const Word& value) {
    if (name == "device") {
      fault->device = ReadPattern(value, name);
    } else if (name == "program") {
      fault->program = ReadPattern(value, name);
    } else if (value.text == "4.18") {
      fault->kernel = Kernel::k418;
    } else if (value.text == "modern") {
      fault->kernel = Kernel::kModern;
    } else {
      Complain(value, Cat("kernel is 'modern' or '4.18', not '", value.text, "'"));
    }
  });
}

void ReadFault(const Word& word, Fault* fault) {
  fault->text = std::string(word.text);
  const size_t equals = word.text.find('=');
  const size_t colon = word.text.find(':');
  if (equals == std::string_view::npos || colon < equals) return ReadFail(word, fault);
  const Word name = word.Before(equals), value = word.From(equals + 1);
  if (name.text == "delay") return ReadDelay(value, fault);
  if (name.text == "disassociate") return ReadDisassociate(value, fault);
  if (name.text == "record") {
    fault->does = Does::kRecord;
    fault->file = ReadPattern(value, name.text);
    return;
  }
  Complain(name, Cat("'", name.text, "' is no kind of fault: a fault is VERB:FIELD=VALUE…, delay=… or disassociate=…"));
}

}  // namespace

Spec ParseSpec(const char* text) {
  Spec spec;
  Word rest{text == nullptr ? std::string_view() : std::string_view(text), 0};
  while (true) {
    rest = rest.From(std::min(rest.text.find_first_not_of(kSeparators), rest.text.size()));
    if (rest.text.empty()) return spec;
    const size_t end = std::min(rest.text.find_first_of(kSeparators), rest.text.size());
    Fault fault;
    try {
      ReadFault(rest.Before(end), &fault);
      spec.faults.push_back(std::move(fault));
    } catch (const Wrong& wrong) {
      spec.complaints.push_back({wrong.at + 1, wrong.sentence});
    }
    rest = rest.From(end);
  }
}

std::string InWords(std::string_view source, const Complaint& complaint) {
  return Cat(source, ", character ", complaint.at, ": ", complaint.sentence);
}

}  // namespace rdmacheck::fault
