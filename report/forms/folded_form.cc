// Folded stacks, as flamegraph.pl and its kin read them: "outermost;…;innermost;[kind] weight", a line for each
// creating stack of live objects.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/cat.h"
#include "report/forms/form.h"
#include "report/forms/places.h"
#include "report/modules.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

// A name holds no separator. Other controls are not printable, and the reader has replaced them already.
std::string NameInStack(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return out;
}

std::string Folded(const ReportSet& set, bool bytes) {
  std::map<std::string, uint64_t> weights;
  for (const SetAlive& one : set.alive) {
    const uint64_t weight = bytes ? one.group.bytes : one.group.count;
    if (weight == 0 || one.processes.empty()) continue;
    const uint32_t process = one.processes.ranges().front().first;
    std::string line =
        process < set.processes.size() ? NameInStack(LastPart(set.processes[process].process.exe)) : std::string("?");
    const std::vector<Frame> frames = WithoutStartCode(set.stacks.Get(one.group.stack));
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) Append(&line, ";", NameInStack(NameOf(*frame)));
    Append(&line, ";[", NameInStack(one.group.kind), "]");
    uint64_t& sum = weights[line];
    sum = sum + weight < sum ? UINT64_MAX : sum + weight;
  }
  std::string text;
  for (const auto& [line, weight] : weights) Append(&text, line, " ", weight, "\n");
  return text;
}

}  // namespace

std::string RenderFolded(const ReportSet& set, const FormOptions&) { return Folded(set, false); }
std::string RenderFoldedBytes(const ReportSet& set, const FormOptions&) { return Folded(set, true); }

}  // namespace rdmacheck
