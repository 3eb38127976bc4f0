// Random sequences on the fake libibverbs, legal and not, against the model: what it forbids must be reported, and
// what it allows must not. Each sequence runs in a child of its own under the preload; a failing one shrinks and is
// printed as C.
//
//   model_test [--seeds N] [--first N] [--ops N]
//   MODEL_BREAK=1   hides some MRs from the rules: the test of the test
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdmacheck/rdmacheck.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "fake_verbs.h"
#include "model.h"
#include "tests/truth/shrink.h"

#undef ibv_reg_mr

namespace model {
namespace {

char buffer[4096];

struct Op {
  uint32_t code, a, b, c;
};

// How the world is in one run. Addresses are never given out twice with `keep`: then dead objects may be used, since
// their memory is there still. Without it addresses come again.
struct Setting {
  bool lax, keep;
};
Setting SettingOf(uint64_t seed) { return {seed % 3 == 0, seed % 2 == 0}; }

class Runner {
 public:
  explicit Runner(Setting setting) : setting_(setting) {}
  void Do(const Op& op);
  const Model& model() const { return model_; }
  std::string lines;
  std::string wrong;  // an answer that is not what it has to be

 private:
  int Pick(const char* kind, uint32_t which, bool any, int context = -1);
  void Line(const char* format, ...) __attribute__((format(printf, 2, 3)));
  std::string Name(int i) { return i < 0 ? "NULL" : model_.at(i).kind + std::to_string(i); }
  template <class T>
  T* As(int i) {
    return i < 0 ? nullptr : static_cast<T*>(const_cast<void*>(model_.at(i).handle));
  }
  // `objects`: what it is made from, none of them -1.
  template <class T>
  void Create(const char* kind, const char* verb, int context, const std::vector<int>& objects,
              const std::function<T*()>& call);
  void Destroy(int i);
  void Null(const char* verb, const std::function<int()>& call);
  int CallDestroy(const std::string& kind, void* handle, int i, std::string* verb);

  const Setting setting_;
  Model model_;
  std::map<int, ibv_gid> groups_;
  std::set<int> detached_;
};

void Runner::Line(const char* format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  lines += std::string("  ") + text + "\n";
}

// One of a kind, of one context if that matters: a living one, or (any) also one that is dead.
int Runner::Pick(const char* kind, uint32_t which, bool any, int context) {
  std::vector<int> all;
  for (int i = 0; i < model_.size(); ++i) {
    const Object& object = model_.at(i);
    if (object.kind != kind || (context >= 0 && object.context != context)) continue;
    if (object.state == Object::kClosed || (object.state == Object::kDead && (!any || model_.Reborn(i)))) continue;
    // Made from what is on a closed context: the fake libibverbs would read the context.
    if (object.context >= 0 && object.kind != "context" && model_.at(object.context).state != Object::kLive) continue;
    all.push_back(i);
  }
  return all.empty() ? -1 : all[which % all.size()];
}

template <class T>
void Runner::Create(const char* kind, const char* verb, int context, const std::vector<int>& objects,
                    const std::function<T*()>& call) {
  std::string arguments;
  bool all_live = true;
  for (int i : objects) {
    if (i < 0) return;
    arguments += (arguments.empty() ? "" : ", ") + Name(i);
    all_live &= model_.at(i).state == Object::kLive;
  }
  model_.Given(objects);
  T* made = call();
  if (made == nullptr) {
    if (all_live) wrong += std::string(verb) + " failed: " + strerror(errno) + "\n";
    Line("%s(%s);  // NULL", verb, arguments.c_str());
    return;
  }
  std::vector<int> parents;
  for (int i : objects) {
    if (model_.at(i).state == Object::kLive) parents.push_back(i);
  }
  const int made_index = model_.Created(kind, made, context, parents);
  Line("%s = %s(%s);", Name(made_index).c_str(), verb, arguments.c_str());
}

int Runner::CallDestroy(const std::string& kind, void* handle, int i, std::string* verb) {
#define DESTROYS(name, type, function)                \
  if (kind == name) {                                 \
    *verb = #function;                                \
    return function(static_cast<type*>(handle));      \
  }
  DESTROYS("context", ibv_context, ibv_close_device)
  DESTROYS("pd", ibv_pd, ibv_dealloc_pd)
  DESTROYS("mr", ibv_mr, ibv_dereg_mr)
  DESTROYS("mw", ibv_mw, ibv_dealloc_mw)
  DESTROYS("comp_channel", ibv_comp_channel, ibv_destroy_comp_channel)
  DESTROYS("cq", ibv_cq, ibv_destroy_cq)
  DESTROYS("srq", ibv_srq, ibv_destroy_srq)
  DESTROYS("qp", ibv_qp, ibv_destroy_qp)
  DESTROYS("ah", ibv_ah, ibv_destroy_ah)
  DESTROYS("xrcd", ibv_xrcd, ibv_close_xrcd)
  DESTROYS("dm", ibv_dm, ibv_free_dm)
  DESTROYS("wq", ibv_wq, ibv_destroy_wq)
  DESTROYS("rwq_ind_table", ibv_rwq_ind_table, ibv_destroy_rwq_ind_table)
  DESTROYS("flow", ibv_flow, ibv_destroy_flow)
  DESTROYS("counters", ibv_counters, ibv_destroy_counters)
#undef DESTROYS
  if (kind == "mcast") {
    *verb = "ibv_detach_mcast";
    return ibv_detach_mcast(As<ibv_qp>(model_.at(i).parents[0]), &groups_[i], 0);
  }
  *verb = "ibv_free_device_list";
  ibv_free_device_list(static_cast<ibv_device**>(handle));
  return 0;
}

// Is the verb that destroys it an inline function, which follows a pointer of the object's context?
bool IsInline(const std::string& kind) {
  for (const char* name : {"mw", "xrcd", "dm", "wq", "rwq_ind_table", "flow", "counters"}) {
    if (kind == name) return true;
  }
  return false;
}

void Runner::Destroy(int i) {
  if (i < 0) return;
  const Object object = model_.at(i);
  std::string verb;
  // Gone with its QP, unless an earlier attachment of that name was detached, and is remembered: then either is right.
  const bool gone = object.kind == "mcast" && object.state == Object::kDead && model_.at(object.parents[0]).state == Object::kDead;
  if (gone) {
    for (int k = 0; k < model_.size(); ++k) {
      if (model_.at(k).kind == "mcast" && model_.at(k).handle == object.handle && (k != i || detached_.count(k) > 0)) return;
    }
  }
  bool may = false;
  if (gone) {
    model_.Given({object.parents[0]});
  } else {
    may = model_.MayDestroy(i);
  }
  const int error = CallDestroy(object.kind, const_cast<void*>(object.handle), i, &verb);
  Line("%s(%s);  // %s", verb.c_str(), Name(i).c_str(), error == 0 ? "0" : strerrorname_np(error));
  if (!may) {
    if (error != EINVAL && object.kind != "device_list") wrong += verb + " of a dead object returned " + std::to_string(error) + "\n";
    return;
  }
  if (object.kind == "context") {
    if (error != 0) wrong += "ibv_close_device failed\n";
    model_.Closed(i);
  } else if (error == 0) {
    model_.Destroyed(i);
    if (object.kind == "mcast") detached_.insert(i);
  } else if (error == EBUSY) {
    model_.Refused(i);
  } else {
    wrong += verb + " of a living object returned " + std::to_string(error) + "\n";
  }
}

void Runner::Null(const char* verb, const std::function<int()>& call) {
  model_.GivenNull(verb);
  const int error = call();
  Line("%s(NULL);", verb);
  if (error != EINVAL) wrong += std::string(verb) + " of NULL returned " + std::to_string(error) + "\n";
}

constexpr const char* kKinds[] = {"context", "pd",   "mr",   "mw", "comp_channel",  "cq",   "srq",      "qp",         "ah",
                                  "mcast",   "xrcd", "dm",   "wq", "rwq_ind_table", "flow", "counters", "device_list"};

void Runner::Do(const Op& op) {
  // One create in eight may be given something dead, where its memory still is.
  const bool any = setting_.keep && op.c % 8 == 0;
  // An inline verb reads the context of its first argument itself: dead things only where that lives (Pick sees to it).
  switch (op.code % 40) {
    case 0: {
      int live = 0;
      for (int i = 0; i < model_.size(); ++i) live += model_.at(i).kind == "context" && model_.at(i).state == Object::kLive;
      if (live >= 3) break;
      ibv_device** list = ibv_get_device_list(nullptr);
      Create<ibv_context>("context", "ibv_open_device", -1, {}, [&] { return ibv_open_device(list[0]); });
      ibv_free_device_list(list);
      break;
    }
    case 1:
      if (op.a % 4 == 0) {
        Create<void>("device_list", "ibv_get_device_list", -1, {}, [] { return static_cast<void*>(ibv_get_device_list(nullptr)); });
      }
      break;
    case 2: case 3: {
      const int context = Pick("context", op.a, false);
      Create<ibv_pd>("pd", "ibv_alloc_pd", context, {context}, [&] { return ibv_alloc_pd(As<ibv_context>(context)); });
      break;
    }
    case 4: case 5: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      // The test of the test: an MR that is not judged, but ought to be.
      const bool hide = op.b % 8 == 0 && getenv("MODEL_BREAK") != nullptr;
      if (hide) rdmacheck_disable();
      Create<ibv_mr>("mr", "ibv_reg_mr", model_.at(pd).context, {pd}, [&] { return ibv_reg_mr(As<ibv_pd>(pd), buffer, 64, 1); });
      if (hide) rdmacheck_enable();
      break;
    }
    case 6: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      Create<ibv_mw>("mw", "ibv_alloc_mw", model_.at(pd).context, {pd}, [&] { return ibv_alloc_mw(As<ibv_pd>(pd), IBV_MW_TYPE_1); });
      break;
    }
    case 7: {
      const int context = Pick("context", op.a, false);
      Create<ibv_comp_channel>("comp_channel", "ibv_create_comp_channel", context, {context},
                               [&] { return ibv_create_comp_channel(As<ibv_context>(context)); });
      break;
    }
    case 8: case 9: case 10: {
      const int context = Pick("context", op.a, false);
      if (context < 0) break;
      const int channel = op.b % 2 == 0 ? Pick("comp_channel", op.b, any, context) : -1;
      std::vector<int> from = {context};
      if (channel >= 0) from.push_back(channel);
      Create<ibv_cq>("cq", "ibv_create_cq", context, from,
                     [&] { return ibv_create_cq(As<ibv_context>(context), 4, nullptr, As<ibv_comp_channel>(channel), 0); });
      break;
    }
    case 11: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      ibv_srq_init_attr attr = {};
      attr.attr.max_wr = attr.attr.max_sge = 1;
      Create<ibv_srq>("srq", "ibv_create_srq", model_.at(pd).context, {pd}, [&] { return ibv_create_srq(As<ibv_pd>(pd), &attr); });
      break;
    }
    case 12: case 13: case 14: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      const int context = model_.at(pd).context;
      const int send = Pick("cq", op.a, any, context), receive = Pick("cq", op.b, any, context);
      if (send < 0 || receive < 0) break;
      const int srq = op.b % 3 == 0 ? Pick("srq", op.b, any, context) : -1;
      ibv_qp_init_attr attr = {};
      attr.send_cq = As<ibv_cq>(send);
      attr.recv_cq = As<ibv_cq>(receive);
      attr.srq = As<ibv_srq>(srq);
      attr.cap = {1, 1, 1, 1, 0};
      attr.qp_type = IBV_QPT_UD;
      // One CQ for both is one object that is given.
      std::vector<int> from = {pd, send};
      if (receive != send) from.push_back(receive);
      if (srq >= 0) from.push_back(srq);
      Create<ibv_qp>("qp", "ibv_create_qp", context, from, [&] { return ibv_create_qp(As<ibv_pd>(pd), &attr); });
      break;
    }
    case 15: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      ibv_ah_attr attr = {};
      Create<ibv_ah>("ah", "ibv_create_ah", model_.at(pd).context, {pd}, [&] { return ibv_create_ah(As<ibv_pd>(pd), &attr); });
      break;
    }
    case 16: {
      const int qp = Pick("qp", op.a, false);
      if (qp < 0) break;
      ibv_gid gid = {};
      gid.raw[0] = 0xff;
      gid.raw[15] = static_cast<uint8_t>(op.b % 3);
      // A second attach to a group changes nothing.
      bool known = false;
      for (int i = 0; i < model_.size(); ++i) {
        const Object& object = model_.at(i);
        known |= object.kind == "mcast" && object.state == Object::kLive && object.parents[0] == qp &&
                 memcmp(&groups_[i], &gid, sizeof(gid)) == 0;
      }
      if (ibv_attach_mcast(As<ibv_qp>(qp), &gid, 0) != 0) wrong += "ibv_attach_mcast failed\n";
      Line("ibv_attach_mcast(%s, group %d);", Name(qp).c_str(), gid.raw[15]);
      if (!known) {
        // The name of an attachment is QP and group.
        const auto name = reinterpret_cast<uintptr_t>(model_.at(qp).handle) * 8 + gid.raw[15];
        const int made = model_.Created("mcast", reinterpret_cast<void*>(name), model_.at(qp).context, {qp});
        groups_[made] = gid;
      }
      break;
    }
    case 17: {
      const int context = Pick("context", op.a, false);
      if (context < 0) break;
      ibv_xrcd_init_attr attr = {};
      attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
      attr.fd = -1;
      attr.oflags = 0100;  // O_CREAT
      Create<ibv_xrcd>("xrcd", "ibv_open_xrcd", context, {context}, [&] { return ibv_open_xrcd(As<ibv_context>(context), &attr); });
      break;
    }
    case 18: {
      const int context = Pick("context", op.a, false);
      if (context < 0) break;
      ibv_alloc_dm_attr attr = {};
      attr.length = 64;
      Create<ibv_dm>("dm", "ibv_alloc_dm", context, {context}, [&] { return ibv_alloc_dm(As<ibv_context>(context), &attr); });
      break;
    }
    case 19: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      const int dm = Pick("dm", op.b, any, model_.at(pd).context);
      if (dm < 0) break;
      Create<ibv_mr>("mr", "ibv_reg_dm_mr", model_.at(pd).context, {pd, dm},
                     [&] { return ibv_reg_dm_mr(As<ibv_pd>(pd), As<ibv_dm>(dm), 0, 8, IBV_ACCESS_ZERO_BASED); });
      break;
    }
    case 20: {
      const int pd = Pick("pd", op.a, any);
      if (pd < 0) break;
      const int context = model_.at(pd).context, cq = Pick("cq", op.b, any, context);
      if (cq < 0) break;
      ibv_wq_init_attr attr = {};
      attr.wq_type = IBV_WQT_RQ;
      attr.max_wr = attr.max_sge = 1;
      attr.pd = As<ibv_pd>(pd);
      attr.cq = As<ibv_cq>(cq);
      // The context is an argument of its own.
      Create<ibv_wq>("wq", "ibv_create_wq", context, {context, pd, cq}, [&] { return ibv_create_wq(As<ibv_context>(context), &attr); });
      break;
    }
    case 21: {
      const int first = Pick("wq", op.a, any);
      if (first < 0) break;
      const int context = model_.at(first).context, second = Pick("wq", op.b, any, context);
      if (second < 0) break;
      ibv_wq* wqs[] = {As<ibv_wq>(first), As<ibv_wq>(second)};
      ibv_rwq_ind_table_init_attr attr = {};
      attr.log_ind_tbl_size = 1;
      attr.ind_tbl = wqs;
      std::vector<int> from = {context, first};
      if (second != first) from.push_back(second);
      Create<ibv_rwq_ind_table>("rwq_ind_table", "ibv_create_rwq_ind_table", context, from,
                                [&] { return ibv_create_rwq_ind_table(As<ibv_context>(context), &attr); });
      break;
    }
    case 22: {
      const int qp = Pick("qp", op.a, any);
      if (qp < 0) break;
      ibv_flow_attr attr = {};
      attr.type = IBV_FLOW_ATTR_NORMAL;
      attr.size = sizeof(attr);
      attr.port = 1;
      Create<ibv_flow>("flow", "ibv_create_flow", model_.at(qp).context, {qp}, [&] { return ibv_create_flow(As<ibv_qp>(qp), &attr); });
      break;
    }
    case 23: {
      const int context = Pick("context", op.a, false);
      if (context < 0) break;
      ibv_counters_init_attr attr = {};
      Create<ibv_counters>("counters", "ibv_create_counters", context, {context},
                           [&] { return ibv_create_counters(As<ibv_context>(context), &attr); });
      break;
    }
    case 24: {
      const int qp = Pick("qp", op.a, setting_.keep);
      if (qp < 0) break;
      model_.Given({qp});
      ibv_qp_attr attr;
      ibv_qp_init_attr init;
      ibv_query_qp(As<ibv_qp>(qp), &attr, IBV_QP_STATE, &init);
      Line("ibv_query_qp(%s);", Name(qp).c_str());
      break;
    }
    case 25: {
      const int srq = Pick("srq", op.a, setting_.keep);
      if (srq < 0) break;
      model_.Given({srq});
      ibv_srq_attr attr;
      ibv_query_srq(As<ibv_srq>(srq), &attr);
      Line("ibv_query_srq(%s);", Name(srq).c_str());
      break;
    }
    case 26: {
      if (op.a % 8 != 0) break;
      errno = 0;
      switch (op.b % 10) {
        case 0: Null("ibv_dealloc_pd", [] { return ibv_dealloc_pd(nullptr); }); break;
        case 1: Null("ibv_dereg_mr", [] { return ibv_dereg_mr(nullptr); }); break;
        case 2: Null("ibv_destroy_cq", [] { return ibv_destroy_cq(nullptr); }); break;
        case 3: Null("ibv_destroy_qp", [] { return ibv_destroy_qp(nullptr); }); break;
        case 4: Null("ibv_destroy_srq", [] { return ibv_destroy_srq(nullptr); }); break;
        case 5: Null("ibv_destroy_ah", [] { return ibv_destroy_ah(nullptr); }); break;
        case 6: Null("ibv_destroy_comp_channel", [] { return ibv_destroy_comp_channel(nullptr); }); break;
        case 7: Null("ibv_close_device", [] { return ibv_close_device(nullptr); }); break;
        case 8: Null("ibv_alloc_pd", [] { return ibv_alloc_pd(nullptr) == nullptr ? errno : 0; }); break;
        case 9: Null("ibv_reg_mr", [] { return ibv_reg_mr(nullptr, buffer, 64, 1) == nullptr ? errno : 0; }); break;
      }
      break;
    }
    default: {
      // A destroy: of a living object mostly, now and then of one that is dead or whose context is closed.
      const bool bad = op.c % 6 == 0;
      const char* kind = kKinds[op.a % std::size(kKinds)];
      if (!strcmp(kind, "context") && op.c % 4 != 0) break;  // contexts shall live for a while
      std::vector<int> all;
      for (int i = 0; i < model_.size(); ++i) {
        const Object& object = model_.at(i);
        if (object.kind != kind || (object.state != Object::kLive) != bad || model_.Reborn(i)) continue;
        // What is inline reads the object and its context before anybody can stop it.
        if (bad && IsInline(kind) && (!setting_.keep || model_.at(object.context).state != Object::kLive)) continue;
        // The fake libibverbs' own contexts go for good.
        if (bad && object.kind == "mcast" && !setting_.keep) continue;
        all.push_back(i);
      }
      if (!all.empty()) Destroy(all[op.b % all.size()]);
      break;
    }
  }
}

// ---- a run in a child, and its report

struct Outcome {
  bool good = false;
  std::string text, program;
  Findings expected;
};

std::string PathFor(pid_t pid, const char* what) { return "/tmp/rdmacheck-model." + std::to_string(pid) + "." + what; }

[[noreturn]] void Child(const std::vector<Op>& ops, Setting setting) {
  const pid_t pid = getpid();
  setenv("RDMACHECK_OPTIONS", ("symbolize=0:log_path=/dev/null:json_path=\"" + PathFor(pid, "json") + "\"").c_str(), 1);
  fake_set("FAKE_LAX", setting.lax ? "1" : "0");
  fake_set("FAKE_KEEP", setting.keep ? "1" : "0");
  Runner runner(setting);
  auto write = [&] {
    std::ofstream file(PathFor(pid, "expected"));
    for (const auto& [finding, count] : runner.model().AtExit()) file << count << " " << finding << "\n";
    file << "---\n" << runner.wrong << "---\n" << runner.lines;
  };
  for (const Op& op : ops) {
    runner.Do(op);
    if (getenv("MODEL_WRITE_EACH") != nullptr) write();
  }
  write();
  exit(0);
}

Findings FromReport(const std::string& path) {
  Findings findings;
  std::ifstream file(path);
  if (!file) return findings;
  const auto report = nlohmann::json::parse(file);
  for (const auto& finding : report["findings"]) {
    const std::string rule = finding["rule"], severity = finding["severity"];
    if (severity == "note" && rule != "busy-destroy") continue;
    const auto object = finding.find("object");
    const std::string about = object != finding.end() && object->is_object() ? (*object)["kind"].get<std::string>() : finding["verb"].get<std::string>();
    // Equal refusals are one finding; each object counts once, however often it was tried.
    findings[rule + " " + about + " " + severity] += rule == "busy-destroy" ? finding.value("objects", 1) : finding["count"].get<int>();
  }
  return findings;
}

Outcome Run(const std::vector<Op>& ops, Setting setting) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) Child(ops, setting);
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  Findings expected;
  bool errors = false;
  std::ifstream file(PathFor(child, "expected"));
  std::string line;
  while (std::getline(file, line) && line != "---") {
    const size_t space = line.find(' ');
    expected[line.substr(space + 1)] = atoi(line.c_str());
    errors |= line.size() > 5 && line.compare(line.size() - 5, 5, "error") == 0;
  }
  while (std::getline(file, line) && line != "---") outcome.text += "  " + line + "\n";
  while (std::getline(file, line)) outcome.program += line + "\n";
  if (WIFSIGNALED(status)) {
    outcome.text += "  the program died of signal " + std::to_string(WTERMSIG(status)) + "\n";
  } else {
    const Findings reported = FromReport(PathFor(child, "json"));
    Findings all = expected;
    all.insert(reported.begin(), reported.end());
    for (const auto& [finding, unused] : all) {
      (void)unused;
      auto count = [name = finding](const Findings& in) {
        const auto it = in.find(name);
        return it == in.end() ? 0 : it->second;
      };
      const int must = count(expected), is = count(reported);
      if (must != is) {
        outcome.text += "  " + finding + ": must be reported " + std::to_string(must) + " times, is reported " +
                        std::to_string(is) + " times\n";
      }
    }
    const int must = errors ? 23 : 0;
    if (outcome.text.empty() && WEXITSTATUS(status) != must) {
      outcome.text += "  exit status " + std::to_string(WEXITSTATUS(status)) + ", must be " + std::to_string(must) + "\n";
    }
  }
  unlink(PathFor(child, "expected").c_str());
  unlink(PathFor(child, "json").c_str());
  outcome.good = outcome.text.empty();
  outcome.expected = expected;
  return outcome;
}

std::vector<Op> MakeOps(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Op> ops(count);
  for (Op& op : ops) {
    op = {static_cast<uint32_t>(random() >> 8), static_cast<uint32_t>(random() >> 8), static_cast<uint32_t>(random() >> 8),
          static_cast<uint32_t>(random() >> 8)};
  }
  return ops;
}

int Main(int argc, char** argv) {
  size_t seeds = 300, first = 1, count = 200;
  for (int i = 1; i + 1 < argc; i += 2) {
    const size_t value = strtoul(argv[i + 1], nullptr, 10);
    if (strcmp(argv[i], "--seeds") == 0) seeds = value;
    if (strcmp(argv[i], "--first") == 0) first = value;
    if (strcmp(argv[i], "--ops") == 0) count = value;
  }
  if (!rdmacheck_active()) {
    fprintf(stderr, "model_test: rdmacheck is not here; run with LD_PRELOAD=librdmacheck.so\n");
    return 2;
  }
  size_t bad = 0;
  Findings total;
  for (size_t seed = first; seed < first + seeds; ++seed) {
    const Setting setting = SettingOf(seed);
    std::vector<Op> ops = MakeOps(seed, count);
    Outcome first_outcome = Run(ops, setting);
    for (const auto& [finding, times] : first_outcome.expected) total[finding.substr(0, finding.find(' '))] += times;
    if (first_outcome.good) continue;
    ++bad;
    if (bad > 5) continue;
    ops = truth::Shrink(ops, [&](const std::vector<Op>& some) { return !Run(some, setting).good; });
    setenv("MODEL_WRITE_EACH", "1", 1);
    const Outcome outcome = Run(ops, setting);
    unsetenv("MODEL_WRITE_EACH");
    printf("seed %zu%s%s, shrunk to %zu operations:\n%s%s", seed, setting.lax ? ", FAKE_LAX" : "",
           setting.keep ? ", FAKE_KEEP" : "", ops.size(), outcome.program.c_str(), outcome.text.c_str());
    fflush(stdout);
  }
  for (const auto& [rule, times] : total) printf("%s: %d\n", rule.c_str(), times);
  printf("%zu seeds of %zu operations, %zu against the model\n", seeds, count, bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace model

int main(int argc, char** argv) { return model::Main(argc, argv); }
