// The pieces of the JSON report, for who writes a document of another shape (many processes in one). Only the command
// includes this: what is preloaded knows JsonOf().
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

class JsonValues {
 public:
  explicit JsonValues(FrameSource& frames);
  ~JsonValues();
  JsonValues(const JsonValues&) = delete;
  JsonValues& operator=(const JsonValues&) = delete;

  static nlohmann::ordered_json Head();  // schema, version, tool
  static nlohmann::ordered_json Of(const ProcessInfo& process);
  static nlohmann::ordered_json Of(const EnvironmentInfo& environment);
  nlohmann::ordered_json Of(const Summary& summary);
  nlohmann::ordered_json Of(const Finding& finding);
  nlohmann::ordered_json Of(const AliveGroup& group);
  nlohmann::ordered_json Of(const std::vector<Destroyed>& destroyed);
  static nlohmann::ordered_json Of(const std::vector<TimelineEntry>& timeline);
  nlohmann::ordered_json Of(const std::vector<InjectedFault>& injected);

  class Writer;

 private:
  const std::unique_ptr<Writer> writer_;
};

}  // namespace rdmacheck
