// A tiny reference of the rules, written from their words in docs/rules.md and not from the ledger: which findings a
// sequence of calls must bring, and that no others may come.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace model {

struct Object {
  std::string kind;
  const void* handle = nullptr;
  int context = -1;           // index of its context; its own for a context
  std::vector<int> parents;   // what it was made from, and hangs on
  enum { kLive, kDead, kClosed } state = kLive;
  bool refused = false;       // a destroy was refused, and none has succeeded since
};

// What a report is reduced to: "rule kind severity" (the verb in place of the kind where there is no object) and how often.
using Findings = std::map<std::string, int>;

class Model {
 public:
  int Created(const std::string& kind, const void* handle, int context, std::vector<int> parents);
  const Object& at(int i) const { return objects_[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(objects_.size()); }

  // A verb is given these objects to make something from, or to use them.
  void Given(const std::vector<int>& objects);
  // A verb is given NULL where it needs an object.
  void GivenNull(const std::string& verb) { ++findings_["null-handle " + verb + " error"]; }

  // May a destroy of it reach libibverbs? If not, the finding is noted, and the answer must be EINVAL.
  bool MayDestroy(int i);
  // The destroy was forwarded.
  void Refused(int i);
  void Destroyed(int i);
  void Closed(int context);

  // Does another, living object have this handle now? Then a call with it means that one.
  bool Reborn(int i) const;
  // What the report must hold when the process has ended.
  Findings AtExit() const;

 private:
  std::vector<int> LiveChildren(int i) const;

  std::vector<Object> objects_;
  Findings findings_;
};

}  // namespace model
