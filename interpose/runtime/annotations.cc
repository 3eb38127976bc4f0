// The functions of rdmacheck/rdmacheck.h, each under two names: its own, for who looks it up (ctypes, dlsym), and the
// private one behind the header's inline function. The header itself is the users' and is not included here.
#include <errno.h>

#include <algorithm>
#include <new>

#include "interpose/judge/leaks.h"
#include "interpose/runtime/guard.h"
#include "interpose/runtime/runtime.h"
#include "report/quiet_scope.h"

namespace rdmacheck {
namespace {

Mutex growth_mutex;
// Highest serial at each checkpoint; the id is the index plus one.
// Never destroyed: an exit handler of the program may still ask.
std::vector<uint32_t>& growth_marks ABSL_GUARDED_BY(growth_mutex) = *new std::vector<uint32_t>;

uint32_t HighestSerial(Runtime& runtime) { return runtime.ledger().last_serial(); }

}  // namespace

void GrowthForkChild() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  // The marks are numbers of this process's objects: those of the parent mean nothing here.
  if (growth_mutex.Renew()) new (&growth_marks) std::vector<uint32_t>;
}

namespace {

int GrowthSince(Runtime& runtime, uint32_t mark) {
  std::vector<Record> grown;
  for (Record& record : runtime.ledger().All()) {
    if (record.serial > mark && Counts(runtime, record)) grown.push_back(std::move(record));
  }
  if (!grown.empty()) {
    std::vector<Finding> findings =
        LeakFindings(runtime, Rule::kOpenAtExit, Severity::kWarning, grown, nullptr, "rdmacheck_growth_end", 0);
    for (Finding& finding : findings) {
      finding.message = std::to_string(finding.count) + " " + finding.object.kind + " made since the checkpoint " +
                        (finding.count == 1 ? "still lives" : "still live");
    }
    runtime.reporter().Say(std::move(findings), CountsInWords(grown) + " made since the checkpoint still live");
  }
  return static_cast<int>(grown.size());
}

int GrowthBegin(Runtime& runtime) {
  MutexLock lock(&growth_mutex);
  growth_marks.push_back(HighestSerial(runtime));
  return static_cast<int>(growth_marks.size());
}

int GrowthEnd(Runtime& runtime, int id) {
  uint32_t mark;
  {
    MutexLock lock(&growth_mutex);
    if (id < 1 || static_cast<size_t>(id) > growth_marks.size()) return -1;
    mark = growth_marks[static_cast<size_t>(id) - 1];
  }
  return GrowthSince(runtime, mark);
}

// What `ask` returns, or `otherwise` where there is no memory for it.
template <class Ask>
int Answer(int otherwise, Ask ask) {
  Runtime* runtime = Runtime::GetIfPossible();
  if (runtime == nullptr) return otherwise;
  int result = otherwise;
  Guarded(*runtime, [&] {
    QuietScope quiet;
    result = ask(*runtime);
  });
  return result;
}

}  // namespace
}  // namespace rdmacheck

#define RDMACHECK_API extern "C" __attribute__((visibility("default"), used))
#define RDMACHECK_BEHIND(result, name, arguments) \
  RDMACHECK_API result rdmacheck_private_##name arguments __attribute__((alias("rdmacheck_" #name)))

RDMACHECK_API int rdmacheck_active(void) { return 1; }

RDMACHECK_API int rdmacheck_check_now(void) {
  rdmacheck::Runtime* runtime = rdmacheck::Runtime::IfMade();
  return runtime == nullptr ? 0 : static_cast<int>(runtime->reporter().errors());
}

RDMACHECK_API int rdmacheck_snapshot(const char* path) {
  if (path == nullptr || path[0] == '\0') return EINVAL;
  return rdmacheck::Answer(ENOMEM, [path](rdmacheck::Runtime& runtime) { return runtime.reporter().WriteSnapshot(path); });
}

RDMACHECK_API int rdmacheck_growth_begin(void) { return rdmacheck::Answer(0, &rdmacheck::GrowthBegin); }

RDMACHECK_API int rdmacheck_growth_end(int id) {
  return rdmacheck::Answer(-1, [id](rdmacheck::Runtime& runtime) { return rdmacheck::GrowthEnd(runtime, id); });
}

RDMACHECK_API void rdmacheck_ignore(const void* handle) {
  rdmacheck::Runtime* runtime = rdmacheck::Runtime::IfMade();
  if (runtime == nullptr || handle == nullptr) return;
  // The handle says nothing of its kind; one address names few objects.
  for (size_t kind = 1; kind < rdmacheck::kKindCount; ++kind) {
    const rdmacheck::Found found =
        runtime->ledger().Pin(static_cast<rdmacheck::Kind>(kind), reinterpret_cast<uintptr_t>(handle));
    if (found.slot == 0) continue;
    runtime->ledger().SetFlags(found.slot, rdmacheck::kIgnored);
    runtime->ledger().Unpin(found.slot);
  }
}

RDMACHECK_API void rdmacheck_disable(void) {
  if (rdmacheck::ThreadRecord* self = rdmacheck::ThisThread()) ++self->disabled;
}

RDMACHECK_API void rdmacheck_enable(void) {
  rdmacheck::ThreadRecord* self = rdmacheck::ThisThread();
  if (self != nullptr && self->disabled > 0) --self->disabled;
}

RDMACHECK_BEHIND(int, active, (void));
RDMACHECK_BEHIND(int, check_now, (void));
RDMACHECK_BEHIND(int, snapshot, (const char*));
RDMACHECK_BEHIND(int, growth_begin, (void));
RDMACHECK_BEHIND(int, growth_end, (int));
RDMACHECK_BEHIND(void, ignore, (const void*));
RDMACHECK_BEHIND(void, disable, (void));
RDMACHECK_BEHIND(void, enable, (void));
