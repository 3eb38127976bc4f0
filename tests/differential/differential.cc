// Every watched verb, called so that it fails and with each pointer NULL. Which verbs there are, and their arguments,
// comes from the tables and the headers. Prints a line for each call; run_differential.py runs this with and without
// the library and compares.
//
//   differential [VERB]
//
// VERB WHAT-THE-ROW-DOES CALL ERRNO-BEFORE: RESULT errno=ERRNO-AFTER
//
// CALL is one of
//   good         every argument is right
//   fail=E       as good, but the fake fails it with errno E ("stale": errno stays)
//   null=N       as good, but argument N is NULL; null=all: every pointer
//   number=N     as good, but all bits of the number N are set
//   nofd         as good, with no descriptor to be had
//   lost         as good, after the device was removed
//   closed       as good, but the context has been closed
//   released     as good, but everything has been released
// Each is made in a process of its own, which may crash or wait (for two seconds).
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <string>
#include <tuple>
#include <utility>

#include "good.h"

#ifndef ON_FAKE
// Those that the machine's libibverbs lacks are not called.
#define PLT_VERB(library, version, symbol, ...) extern "C" decltype(symbol) symbol __attribute__((weak));
#define SLOT_VERB(...)
#include "interpose/effects/verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
#endif

namespace {

struct Outcome {
  bool reached = false;  // the verb was called
  bool finished = false;
  char result[48] = {};
  int error = 0;
};
// Shared with the child, which may die at any moment.
Outcome* outcome;

struct Case {
  const char* verb;
  std::string effect;
  std::string call;
  int number = -1;  // of the argument, or the errno
  int before;       // errno
};

bool Is(const Case& c, const char* call) { return c.call.compare(0, strlen(call), call) == 0; }

template <class T>
T Spoil(const Case& c, int at, T value) {
  if constexpr (std::is_pointer_v<T>) {
    if (c.call == "null=all" || (Is(c, "null=") && c.number == at)) return nullptr;
  } else {
    if (Is(c, "number=") && c.number == at) return static_cast<T>(~T(0));
  }
  return value;
}

// After everything is ready.
void Prepare(const Case& c, Good& good) {
#ifdef ON_FAKE
  if (Is(c, "fail=")) fake_fail_next(c.verb, c.number, 1);
  if (c.call == "lost") MUST(fake_device_fatal(good.env().Context()) == 0);
  if (c.call == "closed") MUST(ibv_close_device(good.env().Context()) == 0);
  if (c.call == "released") good.env().ReleaseAll();
#else
  (void)good;
#endif
  if (c.call == "nofd") {
    const rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
}

template <class R, class... A, size_t... I>
void Call(const Case& c, R (*verb)(A...), std::index_sequence<I...>) {
  Env env;
  Good good(env);
  good.takes_event = strcmp(c.verb, "ibv_ack_async_event") == 0;
  // In the order of the arguments.
  std::tuple<A...> arguments{good.Of<A>()...};
  if (c.call == "lost" || c.call == "closed") env.Context();
  Prepare(c, good);
  arguments = std::tuple<A...>{Spoil<A>(c, I, std::get<I>(arguments))...};
  outcome->reached = true;
  errno = c.before;
  if constexpr (std::is_void_v<R>) {
    verb(std::get<I>(arguments)...);
    outcome->error = errno;
    strcpy(outcome->result, "void");
  } else {
    const R result = verb(std::get<I>(arguments)...);
    outcome->error = errno;
    if constexpr (std::is_pointer_v<R>) {
      strcpy(outcome->result, result == nullptr ? "NULL" : "object");
    } else if (result >= 0 && c.effect.compare(0, 9, "CreatesFd") == 0) {
      strcpy(outcome->result, "descriptor");
    } else {
      snprintf(outcome->result, sizeof(outcome->result), "%lld", static_cast<long long>(result));
    }
  }
  outcome->finished = true;
}

template <class R, class... A>
void Run(const Case& c, R (*verb)(A...)) {
  *outcome = Outcome();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(2);
    // What the fake says of a crash of its own.
    if (getenv("DIFFERENTIAL_STDERR") == nullptr && freopen("/dev/null", "w", stderr) == nullptr) _exit(98);
    Call(c, verb, std::index_sequence_for<A...>());
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    perror("fork");
    exit(99);
  }
  printf("%s %s %s %d: ", c.verb, c.effect.substr(0, c.effect.find('<')).c_str(), c.call.c_str(), c.before);
  if (!outcome->reached) {
    printf("unprepared %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  } else if (outcome->finished) {
    printf("%s errno=%d\n", outcome->result, outcome->error);
  } else {
    printf("%s\n", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended the process");
  }
}

#ifndef ON_FAKE
// A row of the table may be younger than the machine's libraries.
bool Exists(const char* name) {
  for (const char* library : {"libibverbs.so.1", "librdmacm.so.1"}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    MUST(handle != nullptr);
    if (dlsym(handle, name) != nullptr) return true;
  }
  return false;
}
#endif

template <class R, class... A>
void RunAll(const char* name, const char* effect, R (*verb)(A...), [[maybe_unused]] bool is_inline = false) {
#ifdef ON_FAKE
  const int befores[] = {0, E2BIG};
#else
  if (!is_inline && !Exists(name)) return;
  const int befores[] = {E2BIG};  // a guest is slow
#endif
  for (const int before : befores) {
    const auto run = [&](const std::string& call, int number) { Run(Case{name, effect, call, number, before}, verb); };
    run("good", -1);
    run("nofd", -1);
    int at = 0;
    int pointers = 0;
    [[maybe_unused]] const auto spoilt = [&](bool pointer) {
      pointers += pointer;
      run((pointer ? "null=" : "number=") + std::to_string(at), at);
      ++at;
    };
    (spoilt(std::is_pointer_v<A>), ...);
    if (pointers > 1) run("null=all", -1);
#ifdef ON_FAKE
    for (const int error : {ENOMEM, EINVAL, EBUSY, EIO, EAGAIN, EMFILE, EPERM, EOPNOTSUPP}) {
      run("fail=" + std::to_string(error), error);
    }
    run("fail=stale", FAKE_STALE_ERRNO);
    for (const char* call : {"lost", "closed"}) run(call, -1);
    // The CQ cannot be destroyed before its event is acknowledged.
    if (strcmp(name, "ibv_ack_async_event") != 0) run("released", -1);
#endif
  }
}

}  // namespace

int main(int argc, char** argv) {
  outcome = static_cast<Outcome*>(mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (outcome == MAP_FAILED) return 99;
#define PLT_VERB(library, version, symbol, argc_, ...) \
  if (argc < 2 || strcmp(argv[1], #symbol) == 0) RunAll(#symbol, #__VA_ARGS__, &symbol);
#define SLOT_VERB(symbol, slot, ...) \
  if (argc < 2 || strcmp(argv[1], #symbol) == 0) RunAll(#symbol, #__VA_ARGS__, &symbol, true);
#include "interpose/effects/verbs.def"
#ifdef ON_FAKE
#include "interpose/effects/direct_verbs.def"
#else
#include "interpose/effects/rdmacm.def"
#endif
  return 0;
}
