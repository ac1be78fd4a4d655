#include "kai/feed/gpu_users.h"

#include <utility>

#include "kai/api/keys.h"
#include "kai/model/building/pod_facts.h"

namespace kai {
namespace {

std::string_view NameOf(Phase phase) {
  switch (phase) {
    case Phase::kPending:
      return "Pending";
    case Phase::kRunning:
      return "Running";
    case Phase::kSucceeded:
      return "Succeeded";
    case Phase::kFailed:
      return "Failed";
    default:
      return "Unknown";
  }
}

// The device that the program in a reservation pod has reported; empty: none yet (spec 3 B12).
std::string ReservedDevice(JsonObject pod) {
  std::string device;
  const FieldStatus ignored = ForEachMember(pod, [&](std::string_view key, JsonValue& value) {
    FieldStatus part;
    if (key != "metadata") return Skip();
    part = ForEachMember(value, [&](std::string_view member, JsonValue& its) {
      FieldStatus unread;
      if (member != "annotations") return Skip();
      unread = ForEachEntry(its, [&](std::string_view name, JsonValue& text) {
        if (name == keys::kReservedDevice) unread = ReadString(text, &device);
        return Skip();
      });
      return Skip();
    });
    return Skip();
  });
  return device;
}

}  // namespace

void GpuUsers::Update(const std::string& name, const CompactPod* row, JsonObject pod) {
  if (row != nullptr && row->namespace_name == keys::kScalingNamespace && row->node_name.empty()) {
    scaling_.insert(name);
    return;
  }
  if (row == nullptr || row->extras->gpu_groups.empty()) return Gone(name);
  GpuUser user{.name = name,
               .uid = row->uid,
               .node = std::string(row->node_name),
               .groups = row->extras->gpu_groups,
               .phase = std::string(NameOf(row->phase)),
               .is_leaving = row->deletion_ns.has_value(),
               .is_reservation = IsReservation(*row),
               .device = IsReservation(*row) ? ReservedDevice(pod) : ""};
  GpuUser& known = users_[name];
  if (known == user) return;
  known = std::move(user);
  changed_.insert(name);
}

void GpuUsers::Gone(std::string_view name) {
  if (const auto waiting = scaling_.find(name); waiting != scaling_.end()) scaling_.erase(waiting);
  const auto known = users_.find(name);
  if (known == users_.end()) return;
  changed_.insert(known->first);
  users_.erase(known);
}

std::vector<GpuUser> GpuUsers::TakeChanged() {
  std::vector<GpuUser> changed;
  for (const std::string& name : std::exchange(changed_, {})) {
    const auto known = users_.find(name);
    changed.push_back(known == users_.end() ? GpuUser{.name = name} : known->second);
  }
  return changed;
}

}  // namespace kai
