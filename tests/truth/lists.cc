#include "lists.h"

#include <rdmacheck/rdmacheck.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace truth {
namespace {

using Json = nlohmann::json;

constexpr const char* kShown[][2] = {{"pd", "pd"}, {"cq", "cq"}, {"qp", "qp"}, {"mr", "mr"}, {"srq", "srq"}, {"ctx", "context"}};

std::string FileFor(const char* what) { return "/tmp/truth." + std::to_string(getpid()) + "." + what; }

bool Run(const char* const* argv, std::string* output, std::string* error) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  // No preload in it: it is not the program under test.
  const char* environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, const_cast<char* const*>(argv),
                                  const_cast<char* const*>(environment));
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    *error = std::string("cannot run ") + argv[0] + ": " + strerror(failed);
    return false;
  }
  char part[4096];
  ssize_t n;
  while ((n = read(ends[0], part, sizeof(part))) > 0) output->append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    *error = std::string(argv[0]) + " failed";
    return false;
  }
  return true;
}

uint32_t NumberIn(const Json& object, const char* key) {
  auto it = object.find(key);
  if (it == object.end()) return 0;
  if (it->is_number()) return it->get<uint32_t>();
  return static_cast<uint32_t>(strtoul(it->get<std::string>().c_str(), nullptr, 16));  // iproute2 writes keys in hex
}

// The kernel names the thread that made an object (as long as it lives), and its own objects without a pid.
bool IsThreadOfOurs(int tid) {
  return tid > 0 && access(("/proc/self/task/" + std::to_string(tid)).c_str(), F_OK) == 0;
}

void Sort(Account* account) {
  for (auto& [kind, numbers] : account->numbers) std::sort(numbers.begin(), numbers.end());
}

}  // namespace

bool FromKernel(Account* account, std::string* error) {
  const std::string batch = FileFor("batch");
  {
    std::ofstream file(batch);
    for (const auto& [name, kind] : kShown) file << "resource show " << name << "\n";
  }
  std::string output;
  const char* argv[] = {"rdma", "-j", "-b", batch.c_str(), nullptr};
  if (!Run(argv, &output, error)) return false;
  std::istringstream lines(output);
  std::string line;
  size_t i = 0;
  while (std::getline(lines, line)) {
    if (line.empty() || i >= std::size(kShown)) continue;
    const auto& [name, kind] = kShown[i++];
    account->counts[kind];
    for (const Json& object : Json::parse(line)) {
      if (!IsThreadOfOurs(object.value("pid", 0))) continue;
      ++account->counts[kind];
      if (strcmp(kind, "qp") == 0) account->numbers[kind].push_back(NumberIn(object, "lqpn"));
      if (strcmp(kind, "mr") == 0) account->numbers[kind].push_back(NumberIn(object, "lkey"));
    }
  }
  if (i != std::size(kShown)) {
    *error = "rdma resource show returned only " + std::to_string(i) + " lists";
    return false;
  }
  Sort(account);
  return true;
}

bool FromChecker(Account* account, std::string* findings, std::string* error) {
  const std::string path = FileFor("json");
  if (const int failed = rdmacheck_snapshot(path.c_str()); failed != 0) {
    *error = std::string("no snapshot from rdmacheck: ") + strerror(failed);
    return false;
  }
  std::ifstream file(path);
  const Json report = Json::parse(file);
  for (const Json& finding : report["findings"]) {
    if (finding["severity"] == "note") continue;
    *findings += "rdmacheck says " + finding["rule"].get<std::string>() + ": " + finding["message"].get<std::string>() + "\n";
    for (const Json& hint : finding.value("hints", Json::array())) *findings += "  " + hint.get<std::string>() + "\n";
  }
  for (const Json& group : report["alive"]) {
    const std::string kind = group["kind"];
    account->counts[kind] += group["count"].get<size_t>();
    for (const Json& object : group["objects"]) {
      const Json& numbers = object["numbers"];
      if (kind == "qp") account->numbers[kind].push_back(NumberIn(numbers, "qpn"));
      if (kind == "mr") account->numbers[kind].push_back(NumberIn(numbers, "lkey"));
    }
  }
  Sort(account);
  return true;
}

Account FromDriver(const World& world) {
  Account account;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::vector<Object*>& alive = world.Alive(static_cast<Kind>(kind));
    account.counts[kKindNames[kind]] = alive.size();
    if (kind != kQp && kind != kMr) continue;
    for (const Object* object : alive) account.numbers[kKindNames[kind]].push_back(object->number);
  }
  Sort(&account);
  return account;
}

namespace {

std::string Differences(const char* one_name, const Account& one, const char* other_name, const Account& other,
                        const std::map<std::string, size_t>& kinds) {
  std::string text;
  auto count = [](const Account& account, const std::string& kind) {
    auto it = account.counts.find(kind);
    return it == account.counts.end() ? size_t{0} : it->second;
  };
  auto numbers = [](const Account& account, const std::string& kind) {
    auto it = account.numbers.find(kind);
    return it == account.numbers.end() ? std::vector<uint32_t>() : it->second;
  };
  for (const auto& [kind, unused] : kinds) {
    (void)unused;
    if (count(one, kind) != count(other, kind)) {
      text += std::string(one_name) + " has " + std::to_string(count(one, kind)) + " " + kind + ", " + other_name + " has " +
              std::to_string(count(other, kind)) + "\n";
    }
    const std::vector<uint32_t> a = numbers(one, kind), b = numbers(other, kind);
    std::vector<uint32_t> only;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
    for (uint32_t number : only) text += std::string("only ") + one_name + " has " + kind + " " + std::to_string(number) + "\n";
    only.clear();
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only));
    for (uint32_t number : only) text += std::string("only ") + other_name + " has " + kind + " " + std::to_string(number) + "\n";
  }
  return text;
}

}  // namespace

std::string Compare(const Account& kernel, const Account& checker, const Account& driver) {
  std::string text = Differences("the kernel", kernel, "rdmacheck", checker, kernel.counts);
  text += Differences("the program", driver, "rdmacheck", checker, driver.counts);
  for (const auto& [kind, count] : checker.counts) {
    if (driver.counts.count(kind) == 0) text += "rdmacheck has " + std::to_string(count) + " " + kind + ", the program none\n";
  }
  return text;
}

}  // namespace truth
