#include "interpose/fault/teller.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/libraries/elf_lookup.h"
#include "report/cat.h"
#include "report/errno_name.h"
#include "report/printable.h"

namespace rdmacheck::fault {
namespace {

// Of the checker (checker/injected.cc).
using Note = void (*)(const char* fault, const char* verb, uint64_t number, int error, void* const* pcs, size_t depth,
                      const char* device, const char* sentence);

Note Checker() {
  static const auto found = reinterpret_cast<Note>(AskFor(RTLD_DEFAULT, "rdmacheck_private_fault_injected"));
  return found;
}

std::string SentenceOf(const Injected& injected) {
  if (injected.device != nullptr) {
    return Cat("fault injected: device ", injected.device, " is lost (", injected.fault, ")");
  }
  return Cat("fault injected: ", injected.verb, " fails with ", ErrnoName(injected.error), ", call ", injected.number, " (",
             injected.fault, ")");
}

}  // namespace

void Tell(const std::string& sentence) {
  const int saved = errno;
  const std::string line = Cat("==", getpid(), "==rdmacheck: ", Printable(sentence), "\n");
  // Standard error may be full or closed: then nobody is told.
  syscall(SYS_write, STDERR_FILENO, line.data(), line.size());
  errno = saved;
}

void TellFault(const Injected& injected) {
  const std::string sentence = injected.shown ? SentenceOf(injected) : std::string();
  if (const Note checker = Checker()) {
    checker(injected.fault, injected.verb, injected.number, injected.error, injected.stack->pcs, injected.stack->depth,
            injected.device, sentence.empty() ? nullptr : sentence.c_str());
  } else if (injected.shown) {
    Tell(sentence);
  }
}

}  // namespace rdmacheck::fault
