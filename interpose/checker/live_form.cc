#include "interpose/checker/live_form.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

#include "interpose/base/clock.h"
#include "interpose/checker/finding_store.h"
#include "interpose/options/run_mark.h"
#include "report/json_writer.h"
#include "report/process_id.h"
#include "report/sentences.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

class TextForm : public LiveForm {
 public:
  TextForm(const Options& options, Sink* sink) : options_(options), sink_(sink) {}

  void WriteFindings(const std::vector<Finding>& group, const std::string& header, FrameSource& frames) override {
    const std::string text = TextOf(group, ProcessId(), frames, header);
    if (text.empty()) return;
    sink_->WriteText(text);
    if (told_names_ || !options_.symbolize || !LacksNames(group, frames)) return;
    told_names_ = true;
    sink_->Tell(Words(Is<Sentence::kNoNames>()));
  }

  void WriteLastWords(const LastWords& last, FrameSource& frames) override {
    const std::string summary = SummaryLine(last.counts);
    if (summary.empty()) return;
    std::string text;
    for (const LastWords::NotShown& one : last.not_shown) text += NotShownLine(one.finding, one.times, ProcessId(), frames);
    if (last.other_times > 0) {
      text += ToldLine(ProcessId(), Is<Sentence::kOthersNotShown>(last.other_times, last.other_findings));
    }
    if (last.not_kept > 0) text += ToldLine(ProcessId(), Is<Sentence::kNotListed>(last.not_kept, FindingStore::kMaxKept));
    sink_->WriteText(text + WithGrowth(summary, last.growth, frames));
  }

 private:
  // Before the end of the line.
  static std::string WithGrowth(std::string summary, const std::vector<Growth>& all, FrameSource& frames) {
    if (all.empty()) return summary;
    summary.pop_back();
    for (const Growth& growth : all) {
      const std::vector<Frame> stack = frames.FramesOf(growth.stack);
      summary += stack.empty() ? Words(Is<Sentence::kGrowth>(growth.alive, growth.created, growth.kind))
                               : Words(Is<Sentence::kGrowthAt>(growth.alive, growth.created, growth.kind, TextOf(stack[0])));
    }
    return summary + "\n";
  }

  const Options& options_;
  Sink* const sink_;
  bool told_names_ = false;
};

// json_path, and the file of its own that `rdmacheck run` reads.
class JsonForm : public LiveForm {
 public:
  explicit JsonForm(Sink* sink) : sink_(sink) {}

  bool Due(Moment moment) override {
    if (!IsDue(moment) || !sink_->CanWriteJson()) return false;
    to_path_ = sink_->has_json() && moment != Moment::kExitOfForked;
    begin_ = NanosOf(CLOCK_MONOTONIC);
    return true;
  }

  void WriteReport(const Report& report, FrameSource& frames) override {
    const std::string document = JsonOf(report, frames);
    if (to_path_) sink_->ReplaceJson(document);
    if (UnderRun()) sink_->ReplaceAndTell(RunReportPath(), document);
    behind_ = error_waits_ = false;
    const uint64_t now = NanosOf(CLOCK_MONOTONIC);
    next_ = now + std::max(kSecond, kShare * (now - begin_));
  }

  int MaySnapshot() override { return sink_->CanWriteJson() ? 0 : EPERM; }
  int WriteSnapshot(const std::string& path, const Report& report, FrameSource& frames) override {
    return sink_->ReplaceAndTell(path, JsonOf(report, frames));
  }

 private:
  static constexpr uint64_t kSecond = 1000000000;
  static constexpr uint64_t kShare = 10;  // writing while the program runs takes a tenth of its time at most

  bool IsDue(Moment moment) {
    if (!UnderRun() && (!sink_->has_json() || moment == Moment::kExitOfForked)) return false;
    switch (moment) {
      case Moment::kFinding:
      case Moment::kError:
        behind_ = true;
        error_waits_ |= moment == Moment::kError;
        return error_waits_ && NanosOf(CLOCK_MONOTONIC) >= next_;
      case Moment::kMayNotReturn:
        behind_ = error_waits_ = true;
        return true;
      case Moment::kContextClosed:
      case Moment::kSnapshot:
        return behind_;
      case Moment::kAbort:
      case Moment::kExit:
      case Moment::kExitOfForked:
        return true;
    }
    return true;
  }

  Sink* const sink_;
  bool behind_ = false;       // something was found since it was written
  bool error_waits_ = false;
  bool to_path_ = false;      // of the report that is due
  uint64_t begin_ = 0;        // when that was asked for; CLOCK_MONOTONIC, nanoseconds
  uint64_t next_ = 0;         // not before, for a mere finding
};

}  // namespace

std::vector<std::unique_ptr<LiveForm>> MakeLiveForms(const Options& options, Sink* sink) {
  std::vector<std::unique_ptr<LiveForm>> forms;
  forms.push_back(std::make_unique<TextForm>(options, sink));
  forms.push_back(std::make_unique<JsonForm>(sink));
  return forms;
}

}  // namespace rdmacheck
