// Every sentence that a report can hold, in one file to be read: tests/golden/sentences.txt. After a change that is meant:
// RDMACHECK_UPDATE_GOLDEN=1 build/tests/unit/report_test --gtest_filter='Sentences*', and read the difference.
#include "report/sentences.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "fixed_report.h"

namespace rdmacheck {
namespace {

Value Sample(char type, int64_t number) {
  switch (type) {
    case 'n':
      return number;
    case 's':
      return std::string("NAME");
    case 'S':
      return number == 1 ? std::vector<std::string>{"REJECTED"} : std::vector<std::string>{"REJECTED", "DISCONNECTED"};
    case 'o': {
      ObjectRef object = FixedObject("qp", 7, kNoStack);
      object.numbers = {{"qpn", 0x11, true}};
      return object;
    }
    case 't':
      return ThreadRef{4711, "worker", false};
    case 'T':
      return number == 1 ? std::vector<ThreadRef>{{4711, "worker", true}}
                         : std::vector<ThreadRef>{{4711, "worker", true}, {4712, "", false}};
    case 'e':
      return Errno{ENOMEM};
    case 'd':
      return Seconds{number == 1 ? 0.35 : 12.0};
    default: {
      KindCounts counts;
      counts.Add("mr", static_cast<uint64_t>(number));
      if (number != 1) counts.Add("qp");
      return counts;
    }
  }
}

Finding About() {
  Finding about;
  about.verb = "ibv_VERB";
  about.object = FixedObject("cq", 5, kNoStack);
  about.object.numbers = {{"cqe", 63, false}};
  about.result = EBUSY;
  return about;
}

std::string WordsOf(size_t sentence, int64_t number) {
  Statement statement;
  statement.sentence = static_cast<Sentence>(sentence);
  for (const char* type = kSentences[sentence].types; *type != '\0'; ++type) {
    statement.values.push_back(Sample(*type, number));
  }
  return Words(statement, About());
}

TEST(SentencesTest, AllOfThemInSingularAndPlural) {
  std::string text;
  for (size_t sentence = 0; sentence < kSentenceCount; ++sentence) {
    const SentenceInfo& info = kSentences[sentence];
    const std::string head = std::string(info.rule[0] == '\0' ? "-" : info.rule) + ": ";
    const std::string one = WordsOf(sentence, 1), more = WordsOf(sentence, 3);
    text += head + one + "\n";
    if (more != one) text += head + more + "\n";
  }
  const std::string path = RDMACHECK_GOLDEN_DIR "/sentences.txt";
  if (getenv("RDMACHECK_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TEST(SentencesTest, EveryRuleHasOne) {
  std::set<std::string> rules;
  for (const SentenceInfo& info : kSentences) rules.insert(info.rule);
  rules.erase("");
  std::set<std::string> known;
  for (const std::string_view id : AllRuleIds()) known.emplace(id);
  EXPECT_EQ(rules, known);
}

// What a row's words name, its types have, and the other way round.
TEST(SentencesTest, EveryValueIsUsedAndEveryFieldIsKnown) {
  const std::set<std::string> own = {"verb", "object", "device", "result"};
  for (const SentenceInfo& info : kSentences) {
    const std::string words = info.words, types = info.types;
    std::set<size_t> used;
    for (size_t open = 0; (open = words.find('{', open)) != std::string::npos;) {
      const size_t close = words.find('}', open);
      ASSERT_NE(close, std::string::npos) << info.name;
      const std::string field = words.substr(open + 1, close - open - 1);
      open = close;
      if (own.count(field) != 0) continue;
      ASSERT_TRUE(isdigit(field[0])) << info.name << ": {" << field << "}";
      const size_t index = static_cast<size_t>(field[0] - '0');
      ASSERT_LT(index, types.size()) << info.name << ": {" << field << "}";
      used.insert(index);
      if (field.size() == 1) continue;
      EXPECT_TRUE(field[1] == ' ' || field[1] == ':') << info.name << ": {" << field << "}";
      EXPECT_EQ(types[index], 'n') << info.name << ": {" << field << "}";
      EXPECT_NE(field.find('|'), std::string::npos) << info.name << ": {" << field << "}";
    }
    EXPECT_EQ(used.size(), types.size()) << info.name << ": a value that is not used";
  }
}

TEST(SentencesTest, StatesAreCalledByTheirNames) {
  EXPECT_EQ(TextOf(Number{"state", 3, false}, "qp"), "state=RTS");
  EXPECT_EQ(TextOf(Number{"state", 99, false}, "qp"), "state=99");
  EXPECT_EQ(TextOf(Number{"state", 3, false}, "flow"), "state=3");
}

TEST(SentencesTest, APartGoesOnWithTheSentenceBefore) {
  Finding finding = About();
  finding.says = {Is<Sentence::kBlocked>(Seconds{10}), Is<Sentence::kWaitsForEvents>(2, 1)};
  finding.adds = {Is<Sentence::kRefusedAgo>(Seconds{2}), Is<Sentence::kRefusedTimes>(4), Is<Sentence::kHoldsFew>()};
  PutIntoWords(&finding);
  EXPECT_EQ(finding.message, "ibv_VERB of cq #5 cqe=63 has not returned for 10 s: 2 events received, 1 acknowledged; it waits "
                             "for the rest");
  EXPECT_EQ(finding.hints, (std::vector<std::string>{"it was refused 2.0 s ago, the last of 4 times",
                                                     "this process holds few; another process probably exhausted them"}));
}

}  // namespace
}  // namespace rdmacheck
