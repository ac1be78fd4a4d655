#include "kai/placement/gpu_picker.h"

#include <algorithm>
#include <cmath>

namespace kai {
namespace {

constexpr int32_t kWhole = -1;

// Old names of devices, from before groups existed (spec 3 P6).
bool IsInteger(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

// Below 100 MiB the order of devices is undefined, and KAI drops shared devices (spec 3 W14).
bool GpuPicker::CanBeJoined(NodeId node) const { return cluster_.GpuCapacityMib(node) >= 100; }

bool GpuPicker::Joins(PodClassId pod_class, NodeId node) const {
  const std::vector<SharedGpu>& listed = cluster_.nodes().shared_gpus[node];
  if (listed.empty()) return false;
  const int64_t capacity = cluster_.GpuCapacityMib(node);
  const int64_t mib = cluster_.MibPerGpu(pod_class, node);
  return std::any_of(listed.begin(), listed.end(),
                     [&](const SharedGpu& gpu) { return gpu.Holds(capacity, mib); });
}

bool GpuPicker::HasEnough(PodClassId pod_class, NodeId node, Room room) const {
  constexpr size_t kGpus = kGpuSlot.index();
  const NodeColumns& nodes = cluster_.nodes();
  const int64_t capacity = cluster_.GpuCapacityMib(node);
  const int64_t mib = cluster_.MibPerGpu(pod_class, node);
  if (mib > capacity) return false;  // KAI accepts nearly twice a device's memory (spec 3 G5)
  double found = std::floor(nodes.idle[node][kGpus] +
                            (room == Room::kLater ? nodes.releasing[node][kGpus] : 0));
  const auto wanted = static_cast<double>(cluster_.pod_classes().info[pod_class].gpu.count);
  if (found >= wanted) return true;
  if (found < 0) return false;  // shared devices do not make up for a debt (spec 3 N10)
  if (!CanBeJoined(node)) return false;
  double joined = 0;
  for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
    if (!gpu.Holds(capacity, mib)) continue;
    if (found + ++joined >= wanted) return true;
  }
  return false;
}

bool GpuPicker::NeedsPodSlot(NodeId node, int32_t gpu) const {
  if (gpu == kWhole) return true;
  if (!options_.slot_to_join) return false;
  const NameId name = cluster_.nodes().shared_gpus[node][static_cast<size_t>(gpu)].name;
  return !name.valid() || !IsInteger(cluster_.Text(name));
}

GpuPicker::Choice GpuPicker::Pick(PodClassId pod_class, NodeId node, bool fits_now,
                                  PodId pod) const {
  constexpr size_t kGpus = kGpuSlot.index();
  const NodeColumns& nodes = cluster_.nodes();
  const std::vector<SharedGpu>& listed = nodes.shared_gpus[node];
  const int64_t capacity = cluster_.GpuCapacityMib(node);
  const int64_t mib = cluster_.MibPerGpu(pod_class, node);
  const auto count = static_cast<size_t>(cluster_.pod_classes().info[pod_class].gpu.count);

  struct Candidate {
    int32_t gpu = kWhole;
    bool waits = false;  // if it takes this device
    double score = 0;
  };
  absl::InlinedVector<Candidate, 16> candidates;
  if (CanBeJoined(node)) {
    for (size_t i = 0; i < listed.size(); ++i) {
      if (!listed[i].Holds(capacity, mib)) continue;
      const double used = static_cast<double>(listed[i].used) / static_cast<double>(capacity);
      candidates.push_back(
          {.gpu = static_cast<int32_t>(i),
           .waits = !listed[i].HoldsNow(capacity, mib),
           .score = (options_.pack ? used : 0) + (options_.spread ? 1 - used : 0)});
    }
  }
  const double idle = std::floor(nodes.idle[node][kGpus]);
  const double whole =
      std::trunc(nodes.idle[node][kGpus]) + std::trunc(nodes.releasing[node][kGpus]);
  for (size_t i = 0; i < count && static_cast<double>(i) < whole; ++i) {
    candidates.push_back({.gpu = kWhole,
                          .waits = !options_.bind_held && static_cast<double>(i) >= idle,
                          .score = options_.spread ? 1.0 : 0.0});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     if (options_.start_on_idle && a.waits != b.waits) return b.waits;
                     return a.score > b.score;
                   });
  if (options_.chooser != nullptr && count == 1 && candidates.size() > 1) {
    const auto end = static_cast<int32_t>(listed.size());
    absl::InlinedVector<int32_t, 16> places;
    for (const Candidate& each : candidates) places.push_back(each.gpu == kWhole ? end : each.gpu);
    const auto chosen =
        std::ranges::find(places, options_.chooser->ChooseGpu(pod_class, node, pod, places));
    if (chosen != places.end())
      candidates.erase(candidates.begin(), candidates.begin() + (chosen - places.begin()));
  }
  KAI_DCHECK(candidates.size() >= count) << cluster_.Text(nodes.name[node]);

  Choice choice{.gpus = {}, .waits = !fits_now};
  auto next_new = static_cast<int32_t>(listed.size());
  for (const Candidate& each : std::span(candidates).first(std::min(count, candidates.size()))) {
    choice.waits = choice.waits || each.waits;
    if (NeedsPodSlot(node, each.gpu))
      choice.pod_slots = options_.slot_to_join ? 1 : choice.pod_slots + 1;
    choice.gpus.push_back(each.gpu == kWhole ? next_new++ : each.gpu);
  }
  return choice;
}

std::optional<GpuPicker::Choice> GpuPicker::Check(PodClassId pod_class, NodeId node, bool fits_now,
                                                  const GpuList& gpus) const {
  constexpr size_t kGpus = kGpuSlot.index();
  const NodeColumns& nodes = cluster_.nodes();
  const std::vector<SharedGpu>& listed = nodes.shared_gpus[node];
  const int64_t capacity = cluster_.GpuCapacityMib(node);
  const int64_t mib = cluster_.MibPerGpu(pod_class, node);
  if (static_cast<int64_t>(gpus.size()) != cluster_.pod_classes().info[pod_class].gpu.count ||
      !CanBeJoined(node))
    return std::nullopt;
  Choice choice{.gpus = gpus, .waits = !fits_now};
  double opened = 0;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (std::count(gpus.begin(), gpus.end(), gpus[i]) > 1) return std::nullopt;
    const auto at = static_cast<size_t>(gpus[i]);
    if (at >= listed.size()) {
      ++opened;
    } else if (listed[at].Holds(capacity, mib)) {
      choice.waits = choice.waits || !listed[at].HoldsNow(capacity, mib);
    } else {
      return std::nullopt;
    }
  }
  if (opened > std::trunc(nodes.idle[node][kGpus]) + std::trunc(nodes.releasing[node][kGpus]))
    return std::nullopt;
  choice.waits = choice.waits || opened > std::floor(nodes.idle[node][kGpus]);
  choice.pod_slots = static_cast<int32_t>(opened);
  return choice;
}

}  // namespace kai
