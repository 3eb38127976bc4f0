// Reads the journal of a process that ended without a report of its own (journal_format.h) into what a JSON report would have
// said. The file is anybody's: every offset, count and number is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/reader/report_set.h"

namespace rdmacheck {

bool IsJournal(std::string_view text);
// How many bytes from the begin of the file hold something, as its header says; the rest is a hole. At most `kLargest`.
// 0: `head` is too short to tell.
uint64_t JournalBytes(std::string_view head);

class JournalReader {
 public:
  // `killed`: when the process was, in seconds since the epoch; 0: that is not known.
  JournalReader(std::string_view bytes, const std::string& file, StackTable* stacks, double killed);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  bool Read();
  SetProcess process;
  std::vector<SetFinding> findings;  // of process 0
  std::vector<SetAlive> alive;
  const std::string& error() const { return error_; }
  size_t error_offset() const { return error_offset_; }

 private:
  class Tables;

  bool Fail(const std::string& error, size_t offset);

  const std::string_view bytes_;
  StackTable* const stacks_;
  const double killed_;
  std::string error_;
  size_t error_offset_ = 0;
};

}  // namespace rdmacheck
