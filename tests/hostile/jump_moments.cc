// jump_moments VERB HOW STEP: a signal handler leaves a verb in the middle of the library's own code.
//
// A child calls VERB and is stepped through it once by ptrace, which gives the instructions of the library that it comes to. Then
// for each STEP-th of these another child is stopped there and gets SIGUSR1, whose handler leaves by siglongjmp (HOW: jump)
// or ends the process (exit). It finds out what is destroyed by now, releases the rest and calls more verbs; with LEAK set it
// leaves a PD behind. Prints how often the children ended how. Instructions outside of the library are passed over: there a
// jump is not safe bare either.
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenario.h"

namespace {

sigjmp_buf back;
volatile bool left = false;
bool ends = false;

ibv_context* context;
ibv_pd* pd;
ibv_mr* mr;
char buffer[64];

// The real object lives, and the program never got its handle: there is nothing that it could release.
enum { kLost = 7 };

[[noreturn]] void ReleaseAndEnd() {
  if (fake_live("mr") != 0) {
    if (mr == nullptr) _exit(kLost);
    MUST(ibv_dereg_mr(mr) == 0);
  }
  if (fake_live("pd") != 0) MUST(ibv_dealloc_pd(pd) == 0);
  ibv_pd* const another = ibv_alloc_pd(context);
  MUST(another != nullptr);
  if (getenv("LEAK") == nullptr) MUST(ibv_dealloc_pd(another) == 0);
  MUST(ibv_close_device(context) == 0);
  exit(left ? 0 : 9);
}

std::string called;
void Leave(int) {
  left = true;
  if (ends) ReleaseAndEnd();
  siglongjmp(back, 1);
}

// Stops, so that the parent begins and ends to step.
void Stop() { raise(SIGSTOP); }

void CallVerb(const std::string& verb) {
  if (verb == "dereg_mr") {
    MUST(ibv_dereg_mr(mr) == 0);
    mr = nullptr;
  } else if (verb == "reg_mr") {
    mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  } else if (verb == "dealloc_pd") {
    MUST(ibv_dealloc_pd(pd) == 0);
  } else if (verb == "refused") {
    MUST(ibv_dealloc_pd(pd) == EBUSY);
  }
}

[[noreturn]] void Child(const std::string& verb) {
  signal(SIGUSR1, Leave);
  context = open_device();
  pd = ibv_alloc_pd(context);
  for (int i = 0; i < 3; ++i) MUST(ibv_dereg_mr(ibv_reg_mr(pd, buffer, sizeof(buffer), 0)) == 0);
  if (verb == "dereg_mr" || verb == "refused") mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  // The report of it is made once; that takes millions of instructions, while signals wait.
  if (verb == "refused") CallVerb(verb);
  MUST(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0);
  if (sigsetjmp(back, 1) == 0) {
    Stop();
    CallVerb(verb);
    Stop();
  }
  ReleaseAndEnd();
}

struct Range {
  uintptr_t begin, end;
};
Range LibraryCode() {
  FILE* maps = fopen("/proc/self/maps", "r");
  MUST(maps != nullptr);
  char line[512], name[512];
  Range range{0, 0};
  while (fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long begin, end;
    char mode[8];
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %511s", &begin, &end, mode, name) != 4) continue;
    if (strstr(name, "librdmacheck.so") != nullptr && mode[2] == 'x') range = {begin, end};
  }
  fclose(maps);
  return range;
}

#if defined(__aarch64__)
constexpr long kBreakpoint = 0xd4200000, kInstruction = 0xffffffff, kBehindIt = 0;
uintptr_t Pc(const user_regs_struct& registers) { return registers.pc; }
void SetPc(user_regs_struct* registers, uintptr_t to) { registers->pc = to; }
#else
constexpr long kBreakpoint = 0xcc, kInstruction = 0xff, kBehindIt = 1;
uintptr_t Pc(const user_regs_struct& registers) { return registers.rip; }
void SetPc(user_regs_struct* registers, uintptr_t to) { registers->rip = to; }
#endif

user_regs_struct RegistersOf(pid_t child) {
  user_regs_struct registers;
  iovec room{&registers, sizeof(registers)};
  MUST(ptrace(PTRACE_GETREGSET, child, reinterpret_cast<void*>(NT_PRSTATUS), &room) == 0);
  return registers;
}
void SetRegisters(pid_t child, user_regs_struct registers) {
  iovec room{&registers, sizeof(registers)};
  MUST(ptrace(PTRACE_SETREGSET, child, reinterpret_cast<void*>(NT_PRSTATUS), &room) == 0);
}

pid_t StoppedChild(const std::string& verb) {
  const pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) Child(verb);
  int status = 0;
  MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  return child;
}

// In the order in which they are come to, each once.
std::vector<uintptr_t> Places(const std::string& verb, Range library) {
  const pid_t child = StoppedChild(verb);
  std::vector<uintptr_t> places;
  std::set<uintptr_t> seen;
  for (;;) {
    int status = 0;
    MUST(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0);
    MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    if (WSTOPSIG(status) == SIGSTOP) break;
    const uintptr_t at = Pc(RegistersOf(child));
    if (at >= library.begin && at < library.end && seen.insert(at).second) places.push_back(at);
  }
  MUST(kill(child, SIGKILL) == 0);
  MUST(waitpid(child, nullptr, 0) == child);
  return places;
}

// How a child ends that leaves at that place: its status, minus a signal, "hangs", or "missed" if it does not come there this time.
std::string LeaveAt(const std::string& verb, uintptr_t place) {
  const pid_t child = StoppedChild(verb);
  int status = 0;
  const long word = ptrace(PTRACE_PEEKTEXT, child, reinterpret_cast<void*>(place), nullptr);
  MUST(ptrace(PTRACE_POKETEXT, child, reinterpret_cast<void*>(place), reinterpret_cast<void*>((word & ~kInstruction) | kBreakpoint)) == 0);
  MUST(ptrace(PTRACE_CONT, child, nullptr, nullptr) == 0);
  MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
  if (WSTOPSIG(status) != SIGTRAP) {
    MUST(kill(child, SIGKILL) == 0);
    MUST(waitpid(child, nullptr, 0) == child);
    return "missed";
  }
  MUST(ptrace(PTRACE_POKETEXT, child, reinterpret_cast<void*>(place), reinterpret_cast<void*>(word)) == 0);
  user_regs_struct registers = RegistersOf(child);
  MUST(Pc(registers) == place + kBehindIt);
  SetPc(&registers, place);
  SetRegisters(child, registers);
  MUST(ptrace(PTRACE_DETACH, child, nullptr, SIGUSR1) == 0);
  constexpr int kPatience = 20000;  // milliseconds
  for (int i = 0; i < kPatience; ++i) {
    if (waitpid(child, &status, WNOHANG) == child) {
      return std::to_string(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
    usleep(1000);
  }
  MUST(kill(child, SIGKILL) == 0);
  MUST(waitpid(child, nullptr, 0) == child);
  return "hangs";
}

}  // namespace

int main(int argc, char** argv) {
  MUST(argc >= 4);
  called = argv[1];
  ends = strcmp(argv[2], "exit") == 0;
  const size_t step = static_cast<size_t>(atol(argv[3]));
  const Range library = LibraryCode();
  MUST(library.begin != 0);
  const std::vector<uintptr_t> places = Places(called, library);
  std::map<std::string, int> ended;
  for (size_t i = 0; i < places.size(); i += step) {
    const std::string how = LeaveAt(called, places[i]);
    if (++ended[how] <= 5 && how != "0") fprintf(stderr, "%s at +%lx (%zu of %zu)\n", how.c_str(), places[i] - library.begin, i, places.size());
  }
  printf("%zu places:", places.size());
  for (const auto& [how, times] : ended) printf(" %s %d", how.c_str(), times);
  printf("\n");
  return 0;
}
