#include "model.h"

namespace model {

int Model::Created(const std::string& kind, const void* handle, int context, std::vector<int> parents) {
  Object object;
  object.kind = kind;
  object.handle = handle;
  object.context = kind == "context" ? size() : context;
  object.parents = std::move(parents);
  objects_.push_back(object);
  return size() - 1;
}

std::vector<int> Model::LiveChildren(int i) const {
  std::vector<int> children;
  for (int k = 0; k < size(); ++k) {
    if (at(k).state != Object::kLive) continue;
    for (int parent : at(k).parents) {
      if (parent != i) continue;
      children.push_back(k);
      break;
    }
  }
  return children;
}

void Model::Given(const std::vector<int>& objects) {
  for (int i : objects) {
    if (at(i).state == Object::kDead) ++findings_["use-after-destroy " + at(i).kind + " error"];
    if (at(i).state == Object::kClosed) ++findings_["use-after-close " + at(i).kind + " error"];
  }
}

bool Model::MayDestroy(int i) {
  if (at(i).state == Object::kDead) ++findings_["double-destroy " + at(i).kind + " error"];
  if (at(i).state == Object::kClosed) ++findings_["use-after-close " + at(i).kind + " error"];
  return at(i).state == Object::kLive;
}

void Model::Refused(int i) {
  // A multicast group is the more specific reason, and is reported at every try; a busy object is reported once.
  for (int child : LiveChildren(i)) {
    if (at(child).kind != "mcast") continue;
    ++findings_["mcast-attached " + at(i).kind + " error"];
    return;
  }
  objects_[static_cast<size_t>(i)].refused = true;
}

void Model::Destroyed(int i) {
  const std::vector<int> children = LiveChildren(i);
  bool groups = false;
  for (int child : children) groups |= at(child).kind == "mcast";
  if (!children.empty()) ++findings_[(groups ? "mcast-attached " : "destroyed-before-child ") + at(i).kind + " error"];
  objects_[static_cast<size_t>(i)].state = Object::kDead;
  if (at(i).refused) ++findings_["busy-destroy " + at(i).kind + " note"];
  // An attachment is no object of its own: it goes with its QP, and nobody destroyed it.
  for (int child : children) {
    if (at(child).kind == "mcast") objects_[static_cast<size_t>(child)].state = Object::kDead;
  }
}

void Model::Closed(int context) {
  for (Object& object : objects_) {
    if (object.context != context || object.state != Object::kLive || object.kind == "context") continue;
    ++findings_["leak-at-close " + object.kind + " error"];
    if (object.refused) ++findings_["busy-destroy " + object.kind + " error"];
    object.state = Object::kClosed;
  }
  objects_[static_cast<size_t>(context)].state = Object::kDead;
}

bool Model::Reborn(int i) const {
  for (int k = 0; k < size(); ++k) {
    if (k != i && at(k).kind == at(i).kind && at(k).handle == at(i).handle && at(k).state != Object::kDead) return true;
  }
  return false;
}

Findings Model::AtExit() const {
  Findings findings = findings_;
  for (const Object& object : objects_) {
    if (object.state != Object::kLive) continue;
    if (object.kind == "device_list") {
      ++findings["device-list-leak device_list warning"];
      continue;
    }
    ++findings["open-at-exit " + object.kind + " warning"];
    if (object.refused) ++findings["busy-destroy " + object.kind + " error"];
  }
  return findings;
}

}  // namespace model
