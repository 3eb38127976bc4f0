#include "fixed_report.h"

#include <cerrno>
#include <utility>

namespace rdmacheck {
namespace {

Frame MakeFrame(const char* function, const char* file, int line, const char* module, uint64_t offset,
                const char* build_id = "") {
  Frame frame;
  frame.function = function;
  frame.file = file;
  frame.line = line;
  frame.module = module;
  frame.offset = offset;
  frame.build_id = build_id;
  return frame;
}

constexpr char kEcho[] = "/opt/echo/bin/echo";
constexpr char kPool[] = "/opt/echo/lib/libpool.so.1";
constexpr char kLibc[] = "/lib/x86_64-linux-gnu/libc.so.6";
constexpr double kStart = 1700000000.25;

Finding MakeFinding(Rule rule, std::string message, double time) {
  Finding finding;
  finding.rule = rule;
  finding.severity = InfoOf(rule).severity;
  finding.message = std::move(message);
  finding.time = time;
  finding.thread = {4711, "echo", false};
  return finding;
}

Finding Leak(Rule rule, ObjectRef object, uint64_t count) {
  Finding leak = MakeFinding(rule, object.kind + " never destroyed", kStart + 2);
  leak.has_object = true;
  leak.object = std::move(object);
  leak.count = count;
  leak.stacks = {{StackRole::kCreated, leak.object.created}};
  return leak;
}

}  // namespace

std::vector<Frame> FixedFrames::FramesOf(StackId id) {
  const Frame main = MakeFrame("main", "/src/echo/main.c", 120, kEcho, 0x1a2b, "aa11");
  const Frame start = MakeFrame("__libc_start_call_main", "", 0, kLibc, 0x27249, "bb22");
  switch (id) {
    case 1:
      return {MakeFrame("make_qp", "/src/echo/qp.c", 42, kEcho, 0x1234, "aa11"), main, start};
    case 2:
      return {MakeFrame("pool::Grow(unsigned long)", "/src/pool/grow.cc", 7, kPool, 0x99, "cc33"), main, start};
    case 3:
      return {MakeFrame("close_all", "/src/echo/main.c", 200, kEcho, 0x1f00, "aa11"), main, start};
    case 4:
      return {MakeFrame("", "", 0, "/opt/vendor/libvendor.so", 0x4711, "dd44"), main};
    case 5:
      return {MakeFrame("worker", "", 0, kEcho, 0x2000, "aa11"), MakeFrame("", "", 0, kLibc, 0x89134, "bb22"),
              MakeFrame("clone3", "", 0, kLibc, 0x1097dc, "bb22")};
    case 6:
      return {MakeFrame("", "", 0, "", 0x7f0000001000)};
    default:
      return {};
  }
}

ObjectRef FixedObject(const char* kind, uint64_t serial, StackId created) {
  ObjectRef object;
  object.kind = kind;
  object.serial = serial;
  object.device = "rxe0";
  object.age = 2.125;
  object.origin = "created";
  object.thread = {4711, "echo", false};
  object.created = created;
  return object;
}

Report FixedReport() {
  Report report;
  report.process = {4711, 4700, kEcho, "node1", "3", kStart, kStart + 3.5, 23, kStart + 3.25};
  report.environment.libibverbs = "/usr/lib/libibverbs.so.1.14.44.0 (IBVERBS_1.0 to IBVERBS_1.14)";
  report.environment.hooks_plt = 60;
  report.environment.hooks_slots = 12;
  report.environment.hooks_dlsym = 2;
  report.environment.unwatched = {"mlx5dv_create_qp is not watched"};

  ObjectRef context = FixedObject("context", 1, 4);
  ObjectRef qp = FixedObject("qp", 7, 1);
  qp.numbers = {{"qpn", 0x11, true}};
  qp.last_failed_call = {"ibv_destroy_qp", EBUSY, kStart + 1};
  qp.remark = "destroy refused and never retried";
  ObjectRef mr = FixedObject("mr", 8, 2);
  mr.numbers = {{"lkey", 0x1a2, true}, {"rkey", 0x1a2, true}, {"addr", 0x7f0012340000, true}, {"length", 4096, false}};
  mr.bytes = 4096;

  Finding qp_leak = Leak(Rule::kLeakAtClose, qp, 1);
  qp_leak.verb = "ibv_close_device";
  qp_leak.has_result = true;
  qp_leak.related = {{Role::kContext, context}};
  qp_leak.stacks.push_back({StackRole::kClosed, 3});
  Finding mr_leak = Leak(Rule::kLeakAtClose, mr, 3);
  mr_leak.verb = "ibv_close_device";
  mr_leak.bytes = 3 * 4096;
  mr_leak.related = {{Role::kContext, context}};
  mr_leak.stacks.push_back({StackRole::kClosed, 3});
  Finding hidden_leak = mr_leak;
  hidden_leak.suppressed_by = "leak-at-close:libpool*:known";

  Finding twice =
      MakeFinding(Rule::kDoubleDestroy, "ibv_destroy_qp on qp #7, which was destroyed 350 ms ago", kStart + 1.5);
  twice.verb = "ibv_destroy_qp";
  twice.has_object = true;
  twice.object = qp;
  twice.object.last_failed_call = {};
  twice.object.remark.clear();
  twice.thread = {4713, "worker", false};
  twice.stacks = {{StackRole::kHere, 5}, {StackRole::kDestroyed, 3}, {StackRole::kCreated, 1}};
  twice.timeline = {{"ibv_destroy_qp", {4711, "echo", true}, kStart + 1.15, kStart + 1.151, "qp", 7, 0},
                    {"ibv_destroy_qp", {4713, "worker", false}, kStart + 1.5, 0, "qp", 7, EINVAL}};

  Finding busy = MakeFinding(Rule::kBusyDestroy, "ibv_dealloc_pd refused: 7 objects made on it live", kStart + 1.75);
  busy.verb = "ibv_dealloc_pd";
  busy.has_result = true;
  busy.result = EBUSY;
  busy.has_object = true;
  busy.object = FixedObject("pd", 2, 4);
  for (uint64_t i = 0; i < 7; ++i) {
    ObjectRef child = mr;
    child.serial = 8 + i;
    child.numbers[0].value += i;
    busy.related.push_back({Role::kChild, child});
  }
  busy.stacks = {{StackRole::kHere, 3}, {StackRole::kCreated, 4}};
  busy.hints = {"ibv_dereg_mr the 7 children first"};

  Finding failed = MakeFinding(Rule::kCreateFailed, "ibv_create_qp failed for want of resources", kStart + 1.8);
  failed.verb = "ibv_create_qp";
  failed.has_result = true;
  failed.result = ENOMEM;
  failed.groups = {{"qp", 1000, 1, 0, qp}, {"mr", 16, 2, 16 * 4096, mr}, {"pd", 1, 4, 0, {}}};
  failed.stacks = {{StackRole::kHere, 6}};

  report.findings = {qp_leak, mr_leak, hidden_leak, twice, busy, failed};
  for (uint64_t i = 0; i < 7; ++i) {
    report.findings.push_back(
        Leak(Rule::kOpenAtExit, FixedObject(i < 2 ? "context" : "cq", 20 + i, i == 0 ? kNoStack : 1), i + 1));
  }

  AliveGroup alive;
  alive.kind = "qp";
  alive.device = "rxe0";
  alive.count = 1;
  alive.stack = 1;
  alive.objects = {qp};
  alive.objects[0].parents = {{"pd", 2}, {"cq", 5}};
  alive.last_failed_call = qp.last_failed_call;
  report.alive = {alive};
  ObjectRef cq = FixedObject("cq", 6, 1);
  cq.numbers = {{"cqe", 255, false}};
  report.destroyed = {{cq, kStart + 2.5, {4713, "worker", false}, "ibv_destroy_cq"}};
  report.timeline = {{"ibv_get_cq_event", {4713, "worker", false}, kStart + 1.6, kStart + 2.4, "comp_channel", 4, 0},
                     {"ibv_get_async_event", {4714, "events", false}, kStart + 1.6, 0, "context", 1, 0}};

  report.summary = {4, 7, 2, 1, {{"qp", 5, 4, 1}, {"mr", 30, 27, 3}}, {{"mr", 2, 30, 27, 3}}};
  return report;
}

std::vector<Finding> FindingsOf(const Report& report, Rule rule) {
  std::vector<Finding> findings;
  for (const Finding& finding : report.findings) {
    if (finding.rule == rule) findings.push_back(finding);
  }
  return findings;
}

}  // namespace rdmacheck
