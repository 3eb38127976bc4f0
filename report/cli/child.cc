#include "report/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "report/cat.h"
#include "report/cli/status.h"

namespace rdmacheck {
namespace {

volatile sig_atomic_t child_pid = 0;

// Signals that ask the program for something. Those of job control (TSTP, TTIN, TTOU, CONT) stop and continue this
// process like any other of the group; faults are this process's own.
template <class F>
void ForEachPassedOn(F f) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGABRT, SIGWINCH, SIGIO,
                           SIGPWR, SIGURG, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ}) {
    f(number);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) f(number);
}

// The kernel's own signals (ctrl-C, a terminal that hangs up or changes its size) go to the whole group.
void PassOn(int number, siginfo_t* info, void*) {
  if (info->si_code == SI_KERNEL || child_pid == 0) return;
  const int saved = errno;
  kill(static_cast<pid_t>(child_pid), number);
  errno = saved;
}

// Those that end a process. glibc has sigabbrev_np() only since 2.32.
const char* SignalName(int number) {
  switch (number) {
#define RDMACHECK_SIGNAL(name) \
  case SIG##name:              \
    return #name;
    RDMACHECK_SIGNAL(HUP)
    RDMACHECK_SIGNAL(INT)
    RDMACHECK_SIGNAL(QUIT)
    RDMACHECK_SIGNAL(ILL)
    RDMACHECK_SIGNAL(TRAP)
    RDMACHECK_SIGNAL(ABRT)
    RDMACHECK_SIGNAL(BUS)
    RDMACHECK_SIGNAL(FPE)
    RDMACHECK_SIGNAL(KILL)
    RDMACHECK_SIGNAL(USR1)
    RDMACHECK_SIGNAL(SEGV)
    RDMACHECK_SIGNAL(USR2)
    RDMACHECK_SIGNAL(PIPE)
    RDMACHECK_SIGNAL(ALRM)
    RDMACHECK_SIGNAL(TERM)
    RDMACHECK_SIGNAL(STKFLT)
    RDMACHECK_SIGNAL(XCPU)
    RDMACHECK_SIGNAL(XFSZ)
    RDMACHECK_SIGNAL(VTALRM)
    RDMACHECK_SIGNAL(PROF)
    RDMACHECK_SIGNAL(IO)
    RDMACHECK_SIGNAL(PWR)
    RDMACHECK_SIGNAL(SYS)
#undef RDMACHECK_SIGNAL
    default:
      return "?";
  }
}

}  // namespace

int ChildEnd::ExitStatus() const {
  if (start_error != 0) return start_error == ENOENT || start_error == ENOTDIR ? kNotFound : kCannotExecute;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string ChildEnd::InWords() const {
  if (WIFSIGNALED(status)) return Cat("signal ", WTERMSIG(status), " (SIG", SignalName(WTERMSIG(status)), ")");
  return Cat("status ", WEXITSTATUS(status));
}

ChildEnd RunChild(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment) {
  ChildEnd end;
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    end.start_error = errno;
    return end;
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  // Nothing is lost between the fork and the handlers: signals wait.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  end.pid = fork();
  if (end.pid == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    if (write(report[1], &error, sizeof(error)) < 0) _exit(kCannotExecute);
    _exit(kNotFound);
  }
  if (end.pid < 0) {
    end.start_error = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    close(report[0]);
    close(report[1]);
    return end;
  }
  child_pid = end.pid;
  ForEachPassedOn([](int number) {
    struct sigaction old {};
    // What was ignored (nohup) stays so, here and in the program.
    if (sigaction(number, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_sigaction = &PassOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  });
  // Our own last words must not kill us.
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_SETMASK, &before, nullptr);

  close(report[1]);
  int error = 0;
  ssize_t n;
  do {
    n = read(report[0], &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  if (n == sizeof(error)) end.start_error = error;
  close(report[0]);
  while (waitpid(end.pid, &end.status, 0) < 0 && errno == EINTR) {
  }
  child_pid = 0;
  return end;
}

namespace {

volatile sig_atomic_t asked_to_end = 0;
void AskToEnd(int) { asked_to_end = 1; }

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// In the child: its own group, so that all of it can be ended; nothing of the terminal's.
void BecomeUnwatched(const std::string& output) {
  setpgid(0, 0);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in >= 0) dup2(in, STDIN_FILENO);
  if (out >= 0) {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
  }
  for (const int fd : {in, out}) {
    if (fd > STDERR_FILENO) close(fd);
  }
}

}  // namespace

BoundedEnd RunBounded(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment, const std::string& output,
                      double seconds) {
  BoundedEnd bounded;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, &AskToEnd);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const double begin = Now();
  bounded.end.pid = fork();
  if (bounded.end.pid == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
    BecomeUnwatched(output);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(arguments[0], arguments.data());
    _exit(errno == ENOENT || errno == ENOTDIR ? kNotFound : kCannotExecute);
  }
  if (bounded.end.pid < 0) {
    bounded.end.start_error = errno;
    return bounded;
  }
  setpgid(bounded.end.pid, bounded.end.pid);
  double kill_at = 0;
  for (;;) {
    const pid_t got = waitpid(bounded.end.pid, &bounded.end.status, WNOHANG);
    if (got != 0 && !(got < 0 && errno == EINTR)) break;
    const double now = Now();
    if (asked_to_end != 0) bounded.interrupted = true;
    if (kill_at == 0 && (bounded.interrupted || now - begin >= seconds)) {
      bounded.timed_out = !bounded.interrupted;
      kill(-bounded.end.pid, SIGTERM);
      kill_at = now + 1;
    } else if (kill_at != 0 && now >= kill_at) {
      kill(-bounded.end.pid, SIGKILL);
    }
    const timespec moment{0, 5'000'000};
    nanosleep(&moment, nullptr);
  }
  bounded.seconds = Now() - begin;
  kill(-bounded.end.pid, SIGKILL);
  return bounded;
}

}  // namespace rdmacheck
