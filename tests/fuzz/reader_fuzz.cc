// The reader of reports. Whatever is read, written and read again is the same; and what it takes is JSON, by the judgement
// of another reader.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/forms/form.h"
#include "report/reader/json_pull.h"
#include "report/reader/report_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  rdmacheck::JsonPull pull(text);
  pull.Skip();
  pull.End();
  const bool too_deep = pull.error().compare(0, 6, "nested") == 0;
  // The other reader takes a byte order mark, takes a byte of zero for the end, and refuses numbers that no double holds.
  const bool marked = text.substr(0, 3) == "\xEF\xBB\xBF" || text.find('\0') != std::string_view::npos;
  if (!too_deep && !marked && pull.ok() != nlohmann::json::accept(text)) {
    const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
    if (pull.ok() && parsed.is_discarded() && text.find_first_of("0123456789") != std::string_view::npos) return 0;
    abort();
  }
  std::string error;
  rdmacheck::SetBuilder builder;
  if (!builder.AddText(text, "fuzz", &error)) return error.empty() ? (abort(), 0) : 0;
  const rdmacheck::ReportSet set = builder.Take();
  rdmacheck::RenderText(set, {});
  const std::string once = rdmacheck::RenderJson(set, {});
  rdmacheck::SetBuilder again;
  if (!again.AddText(once, "fuzz", &error)) abort();
  if (rdmacheck::RenderJson(again.Take(), {}) != once) abort();
  return 0;
}
