#include "interpose/base/arena.h"
#include "interpose/base/journal.h"
#include "interpose/checker/checker.h"
#include "report/frugal.h"
#include "report/process_id.h"

// The program is about to forbid itself system calls (prctl_entry.c). What a report will need is mapped now.
extern "C" void rdmacheck_seccomp_follows(void) {
  if (rdmacheck::Checker::IfMade() == nullptr || rdmacheck::Frugal()) return;
  rdmacheck::ProcessId();
  rdmacheck::ArenaPrefill(size_t{16} << 20);
  rdmacheck::JournalReserve(size_t{1} << 20);
  rdmacheck::SetFrugal();
}
