#include "report/cli/marks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "interpose/options/run_mark.h"
#include "report/cat.h"
#include "report/reader/report_reader.h"

namespace rdmacheck {
namespace {

std::string_view TakeWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

int NumberIn(std::string_view text, int otherwise) {
  int number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::vector<Image> ReadMarks(const std::string& folder) {
  std::vector<Image> images;
  std::string text, error;
  if (!ReadWholeFile(folder + "/marks", &text, &error)) return images;
  std::map<std::pair<pid_t, std::string>, size_t> index;
  std::map<pid_t, size_t> last;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view what = TakeWord(&line);
    const pid_t pid = NumberIn(TakeWord(&line), 0);
    std::string loaded(TakeWord(&line));
    if (pid <= 0 || loaded.empty() || loaded.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto [it, added] = index.emplace(std::make_pair(pid, loaded), images.size());
    if (added) {
      Image& image = images.emplace_back();
      image.pid = pid;
      image.loaded = loaded;
      const auto before = last.find(pid);
      if (before != last.end() && what == "start") images[before->second].replaced = true;
      last[pid] = images.size() - 1;
    }
    Image& image = images[it->second];
    if (what == "start" || what == "fork") {
      image.program = std::string(line);
      image.forked = what == "fork";
    } else if (what == "verbs") {
      image.called_verbs = true;
    } else if (what == "journal") {
      image.journal = std::string(line);
    } else if (what == "end") {
      image.ended = true;
      image.status = NumberIn(line, -1);
    }
  }
  return images;
}

bool StillRuns(const Image& image, const std::string& folder) {
  std::string text, error;
  if (!ReadWholeFile(Cat("/proc/", image.pid, "/environ"), &text, &error)) return false;
  const std::string wanted = Cat(kRunVariable, "=", folder) + '\0';
  return (std::string(1, '\0') + text + '\0').find('\0' + wanted) != std::string::npos;
}

}  // namespace rdmacheck
