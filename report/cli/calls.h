// The calls of the command that read reports. Each returns the exit status and has said what is wrong.
#pragma once

#include <string>
#include <vector>

namespace rdmacheck {

struct Form;

struct ShowOptions {
  bool symbols = true;
  bool debuginfod = true;
  std::vector<std::string> debug_roots;
};

// Any form; frames without names get them where this machine can tell.
int RenderFiles(const Form& form, const std::vector<std::string>& files, const std::string& out,
                const ShowOptions& options);
int Merge(const std::vector<std::string>& files, const std::string& out);
int Diff(const std::string& before, const std::string& after);
int Gate(const std::string& baseline, const std::string& write_baseline, const std::vector<std::string>& suppressions,
         const std::vector<std::string>& files);
int Suppress(const std::vector<std::string>& files, const std::string& out);
int BuiltInSuppressions();
int ShowRules(const std::string& id);
int Snapshot(int pid, int timeout_seconds);

}  // namespace rdmacheck
