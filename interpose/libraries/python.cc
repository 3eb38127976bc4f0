#include "interpose/libraries/python.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "report/modules.h"

namespace rdmacheck {
namespace {

constexpr char kEval[] = "_PyEval_EvalFrameDefault";
constexpr int kOldest = 9, kNewest = 13;

std::atomic<const Python*> the_python{nullptr};

template <class F>
bool Find(uintptr_t base, const ElfW(Dyn)* dynamic, const char* name, F* function) {
  *function = reinterpret_cast<F>(RangeIn(base, dynamic, name).begin);
  return *function != nullptr;
}

// "3.11.2 (main, ...)": 11; 0 for anything else.
int MinorOf(const char* version) {
  return version == nullptr || version[0] != '3' || version[1] != '.' ? 0 : atoi(version + 2);
}

const Python* Load(uintptr_t base, const ElfW(Dyn)* dynamic, CodeRange eval) {
  auto* python = new (std::nothrow) Python;
  if (python == nullptr) return nullptr;
  bool all = true;
#define RDMACHECK_PYTHON_FUNCTION(result, name, parameters) all &= Find(base, dynamic, #name, &python->name);
  RDMACHECK_PYTHON_FUNCTIONS(RDMACHECK_PYTHON_FUNCTION)
#undef RDMACHECK_PYTHON_FUNCTION
  all &= Find(base, dynamic, "PyThreadState_GetUnchecked", &python->CurrentThread) ||
         Find(base, dynamic, "_PyThreadState_UncheckedGet", &python->CurrentThread);
  all &= Find(base, dynamic, "Py_IsFinalizing", &python->IsFinalizing) ||
         Find(base, dynamic, "_Py_IsFinalizing", &python->IsFinalizing);
  Find(base, dynamic, "PyGC_Disable", &python->PyGC_Disable);
  Find(base, dynamic, "PyGC_Enable", &python->PyGC_Enable);
  Find(base, dynamic, "PyErr_GetRaisedException", &python->PyErr_GetRaisedException);
  Find(base, dynamic, "PyErr_SetRaisedException", &python->PyErr_SetRaisedException);
  python->eval = eval;
  python->minor = all ? MinorOf(python->Py_GetVersion()) : 0;
  if (python->minor >= kOldest && python->minor <= kNewest) return python;
  delete python;
  return nullptr;
}

}  // namespace

const Python* ThePython() { return the_python.load(std::memory_order_acquire); }

CodeRange SeePython(uintptr_t base, const ElfW(Dyn)* dynamic) {
  const CodeRange eval = RangeIn(base, dynamic, kEval);
  if (eval.begin != 0 && ThePython() == nullptr) {
    const Python* none = nullptr;
    const Python* const python = Load(base, dynamic, eval);
    if (python != nullptr && !the_python.compare_exchange_strong(none, python)) delete python;
  }
  return eval;
}

void LookForPython() {
  VisitFirstFiles([](uintptr_t base, const ElfW(Dyn)* dynamic) { SeePython(base, dynamic); });
}

bool IsPythonFile(std::string_view path) {
  std::string_view name = LastPart(path);
  if (name.substr(0, 9) == "libpython") return true;
  return name.substr(0, 6) == "python" && name.find_first_not_of("0123456789.dt", 6) == std::string_view::npos;
}

}  // namespace rdmacheck
