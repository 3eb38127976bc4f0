// Ground truth: random programs against a real kernel. At checkpoints all threads stand still, and what the checker
// believes to live is compared with what the kernel has, kind by kind and number by number.
//
// Every seed runs in a child of its own. A sequence that disagrees is shrunk by leaving out parts (each trial again in a
// child), and what is left is printed as C.
//
//   truth [--seeds N] [--first N] [--ops N] [--threads N] [--checkpoints N] [--shrink 0]
//   truth --kill 1 [...]   each child kills itself (SIGKILL) half way, and says before on a line of JSON what the kernel has; kill.py
//                          compares the journal
//   TRUTH_BREAK=1   one MR of each seed is made behind the checker's back: the test of the test
#include <rdmacheck/rdmacheck.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "lists.h"
#include "shrink.h"

namespace truth {
namespace {

struct Outcome {
  bool agrees = false;
  size_t executed = 0;   // of the operations, up to the checkpoint that failed
  std::string text;      // what disagreed, or how the child ended
  std::string program;   // as C, when asked for
  std::string counted;
};

struct Result {  // what a child leaves in its file
  std::ofstream file;
  explicit Result(const std::string& path) : file(path) {}
};

std::string ResultPath() { return "/tmp/truth.result." + std::to_string(getppid()); }

// In the child. Answers the exit status.
int Check(const World& world, bool last, std::string* text) {
  Account kernel, checker;
  std::string findings;
  if (!FromKernel(&kernel, text) || !FromChecker(&checker, &findings, text)) return 2;
  *text = Compare(kernel, checker, FromDriver(world)) + findings;  // the program has no fault
  if (last) {
    for (const auto& [kind, count] : checker.counts) {
      if (count > 0) *text += "all was released, and rdmacheck still has " + std::to_string(count) + " " + kind + "\n";
    }
  }
  return text->empty() ? 0 : 1;
}

// In the child, while all threads stand still.
[[noreturn]] void KillOneself() {
  Account kernel;
  std::string error;
  if (!FromKernel(&kernel, &error)) {
    fprintf(stderr, "truth: %s\n", error.c_str());
    _exit(2);
  }
  const nlohmann::json line = {{"pid", getpid()}, {"counts", kernel.counts}, {"numbers", kernel.numbers}};
  printf("%s\n", line.dump().c_str());
  fflush(stdout);
  raise(SIGKILL);
  _exit(2);
}

[[noreturn]] void Child(const std::vector<Op>& ops, int threads, size_t every, bool trace, bool killed) {
  World world(trace);
  std::string text;
  int status = 0;
  size_t at = 0;
  pthread_barrier_t begin, end;
  pthread_barrier_init(&begin, nullptr, static_cast<unsigned>(threads) + 1);
  pthread_barrier_init(&end, nullptr, static_cast<unsigned>(threads) + 1);
  size_t from = 0, to = 0;
  bool stop = false;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (;;) {
        pthread_barrier_wait(&begin);
        if (stop) return;
        for (size_t i = from; i < to; ++i) {
          if (ops[i].thread == t) world.Do(ops[i]);
        }
        pthread_barrier_wait(&end);
      }
    });
  }
  while (at < ops.size() && status == 0) {
    from = at;
    to = std::min(ops.size(), at + every);
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    at = to;
    status = Check(world, false, &text);
    if (killed && status == 0 && at >= ops.size() / 2) KillOneself();
  }
  // The threads still live: the kernel does not say whose an object is once its thread has gone.
  if (status == 0) {
    world.ReleaseAll();
    status = Check(world, true, &text);
  }
  stop = true;
  pthread_barrier_wait(&begin);
  for (std::thread& worker : workers) worker.join();
  Result result(ResultPath());
  result.file << at << "\n"
              << world.done() << " operations, " << world.failed() << " failed, " << world.refused() << " destroys refused\n"
              << text << "---\n";
  for (const std::string& line : world.trace()) result.file << line << "\n";
  result.file.close();
  // What a failing child left is not the checker's affair; a good one ends as every program does.
  if (status != 0) _exit(status == 2 ? 2 : 42);
  exit(0);
}

Outcome Run(const std::vector<Op>& ops, int threads, size_t every, bool trace = false, bool killed = false) {
  Outcome outcome;
  fflush(nullptr);
  const std::string path = "/tmp/truth.result." + std::to_string(getpid());
  unlink(path.c_str());
  const pid_t child = fork();
  if (child == 0) Child(ops, threads, std::max<size_t>(every, 1), trace, killed);
  int status = 0;
  waitpid(child, &status, 0);
  std::ifstream file(path);
  std::string line;
  if (std::getline(file, line)) outcome.executed = strtoul(line.c_str(), nullptr, 10);
  std::getline(file, outcome.counted);
  while (std::getline(file, line) && line != "---") outcome.text += "  " + line + "\n";
  while (std::getline(file, line)) outcome.program += "  " + line + "\n";
  outcome.agrees = killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (outcome.agrees) return outcome;
  if (WIFSIGNALED(status)) {
    outcome.text = "  the program died of signal " + std::to_string(WTERMSIG(status)) + "\n";
    outcome.executed = ops.size();
  } else if (!outcome.agrees && WEXITSTATUS(status) != 42) {
    outcome.text += "  the program ended with status " + std::to_string(WEXITSTATUS(status)) + "\n";
    outcome.executed = ops.size();
  }
  return outcome;
}

std::vector<Op> ShrinkHere(std::vector<Op> ops, int* threads) {
  int trials = 0;
  auto fails = [&](const std::vector<Op>& some) {
    return ++trials <= 250 && !Run(some, *threads, some.size()).agrees;
  };
  // Usually no other thread is needed, and one is easier to read.
  std::vector<Op> alone = ops;
  for (Op& op : alone) op.thread = 0;
  const int before = *threads;
  *threads = 1;
  if (fails(alone)) return Shrink(alone, fails);
  *threads = before;
  return Shrink(ops, fails);
}

void PrintShrunk(const std::vector<Op>& all, size_t executed, int threads) {
  std::vector<Op> ops(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(executed, all.size())));
  ops = ShrinkHere(ops, &threads);
  const Outcome outcome = Run(ops, threads, ops.size(), true);
  printf("shrunk to %zu operations in %d thread%s:\n%s%s", ops.size(), threads, threads == 1 ? "" : "s",
         outcome.program.c_str(), outcome.text.c_str());
}

int Main(int argc, char** argv) {
  size_t seeds = 20, first = 1, count = 10000, checkpoints = 4;
  int threads = 3;
  bool shrink = true, killed = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const size_t value = strtoul(argv[i + 1], nullptr, 10);
    if (strcmp(argv[i], "--seeds") == 0) seeds = value;
    if (strcmp(argv[i], "--first") == 0) first = value;
    if (strcmp(argv[i], "--ops") == 0) count = value;
    if (strcmp(argv[i], "--threads") == 0) threads = static_cast<int>(value);
    if (strcmp(argv[i], "--shrink") == 0) shrink = value != 0;
    if (strcmp(argv[i], "--kill") == 0) killed = value != 0;
    if (strcmp(argv[i], "--checkpoints") == 0) checkpoints = std::max<size_t>(value, 1);
  }
  if (!rdmacheck_active()) {
    fprintf(stderr, "truth: rdmacheck is not here; run with LD_PRELOAD=librdmacheck.so\n");
    return 2;
  }
  const bool broken = getenv("TRUTH_BREAK") != nullptr;
  size_t disagreements = 0;
  for (size_t seed = first; seed < first + seeds; ++seed) {
    std::vector<Op> ops = MakeOps(seed, count, threads);
    if (broken) ops[ops.size() * 2 / 3].code = kHiddenMr;
    const time_t began = time(nullptr);
    const Outcome outcome = Run(ops, threads, (count + checkpoints - 1) / checkpoints, false, killed);
    if (killed && outcome.agrees) continue;
    printf("seed %zu: %s: %s, %ld s\n", seed, outcome.agrees ? "agrees" : "DISAGREES", outcome.counted.c_str(),
           static_cast<long>(time(nullptr) - began));
    fflush(stdout);
    if (outcome.agrees) continue;
    ++disagreements;
    printf("%s", outcome.text.c_str());
    if (disagreements == 1 && shrink) PrintShrunk(ops, outcome.executed, threads);
  }
  if (!killed || disagreements != 0) printf("%zu seeds of %zu operations, %zu disagreements\n", seeds, count, disagreements);
  return disagreements == 0 ? 0 : 1;
}

}  // namespace
}  // namespace truth

int main(int argc, char** argv) { return truth::Main(argc, argv); }
