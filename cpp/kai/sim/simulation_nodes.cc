// Simulation: node failures, maintenance and autoscaling.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kai/sim/simulation.h"

namespace kai {
namespace {

// Reasons of waiting pods that additional nodes can remove.
constexpr std::array kReasonsForNodes = {
    reason_codes::kGangIncomplete,     reason_codes::kNotEnoughGpus,
    reason_codes::kNotEnoughResources, reason_codes::kNoMatchingNode,
    reason_codes::kTopologyTooSmall,   reason_codes::kLargerThanAnyNode,
    reason_codes::kNoFreeDevices};

// True if more nodes could help the group: it waits, has no promised place, and is not stopped by a
// limit or quota of a queue.
bool WaitsForRoom(const Plan& plan, PodGroupId group) {
  if (plan.outcomes->IsSimplyRunning(group)) return false;
  const GroupOutcome& outcome = (*plan.outcomes)[group].outcome;
  if (outcome.verdict != Verdict::kUnschedulable && outcome.verdict != Verdict::kPartlyPlaced &&
      outcome.verdict != Verdict::kRunning)
    return false;
  bool waits = false;
  for (const OutcomeReason& each : outcome.reasons) {
    const std::string_view code = CodeOf(each.reason);
    if (code == reason_codes::kOverLimit || code == reason_codes::kNonPreemptibleOverQuota)
      return false;
    waits = waits || std::ranges::find(kReasonsForNodes, code) != kReasonsForNodes.end();
  }
  return waits;
}

}  // namespace

std::vector<Simulation::PodPlace> Simulation::PodsOn(int32_t node) const {
  std::vector<PodPlace> pods = stays_on_[At(node)];
  std::ranges::sort(pods, {}, [](const PodPlace& place) { return std::tie(place.job, place.pod); });
  return pods;
}

void Simulation::TakeNode(int32_t node) {
  if (!fleet_.Goes(node, now_ns_)) return;
  for (const PodPlace& place : PodsOn(node)) {
    EndStay(place.job, place.pod, StayEnd::kNodeGone);
    MakeAgain(place.job, place.pod);
  }
}

void Simulation::BeginWindow(int32_t place) {
  const SimWindow& window = workload_.windows[At(place)];
  const int32_t node = fleet_.Find(window.node);
  fleet_.Close(node, now_ns_);
  if (!window.drains) return;
  for (const PodPlace& pod : PodsOn(node)) Evict(pod.job, pod.pod, StayEnd::kDrained);
}

PodNeeds Simulation::NeedsOf(int32_t row, int32_t pod) const {
  const SimJob& job = workload_.jobs[At(row)];
  PodNeeds needs{.micro_gpus = MicroGpusOf(row, pod),
                 .millicpu = job.millicpu,
                 .memory_bytes = job.memory_bytes,
                 .models = &workload_.model_sets[At(job.models)]};
  if (job.given < 0) return needs;
  const PodRow& given = workload_.first->groups()[At(job.given)].pods[At(pod)].row;
  for (const auto& [resource, amount] : given.requests) {
    if (resource == "cpu") needs.millicpu = amount;
    if (resource == "memory") needs.memory_bytes = amount;
  }
  return needs;
}

SpareRoom Simulation::RoomOf(int32_t node) const {
  SpareRoom room = rooms_[At(node)];
  absl::flat_hash_map<std::string_view, size_t> shared;  // index into `parts`, by GPU group
  for (const PodPlace& place : stays_on_[At(node)]) {
    PodNeeds needs = NeedsOf(place.job, place.pod);
    const std::vector<std::string>& groups = jobs_[At(place.job)].pods[At(place.pod)].gpu_groups;
    --room.pods;
    room.millicpu -= needs.millicpu;
    room.memory_bytes -= needs.memory_bytes;
    if (groups.empty()) {
      room.cards -= needs.micro_gpus / kMicroGpusOfOne;
      continue;
    }
    for (const std::string& group : groups) {
      const auto [card, is_new] = shared.try_emplace(group, room.parts.size());
      if (is_new) {
        --room.cards;
        room.parts.push_back(kMicroGpusOfOne);
      }
      room.parts[card->second] -= needs.micro_gpus / std::ssize(groups);
    }
  }
  return room;
}

void Simulation::ScheduleLook(int64_t at_ns) {
  const int64_t step_ns = options_.scale_ns;
  at_ns = (at_ns + step_ns - 1) / step_ns * step_ns;
  if (at_ns >= next_look_ns_) return;
  next_look_ns_ = at_ns;
  agenda_.Add({.at_ns = at_ns, .kind = Occasion::kScalerLooks});
}

void Simulation::LookForNodes() {
  next_look_ns_ = Timeline::kNever;
  std::vector<Autoscaler::Waiting> waiting;
  for (const int32_t row : starved_) {
    const Job& job = jobs_[At(row)];
    if (job.pods.empty()) continue;  // it has ended
    const auto held = std::ranges::count_if(job.pods, [](const Pod& pod) {
      return pod.stage == Pod::Stage::kBound || pod.stage == Pod::Stage::kRunning;
    });
    const auto wait = std::ranges::find(job.pods, Pod::Stage::kWaiting, &Pod::stage);
    if (wait == job.pods.end()) continue;
    waiting.push_back({.pods = static_cast<int32_t>(
                           std::ranges::count(job.pods, Pod::Stage::kWaiting, &Pod::stage)),
                       .least = workload_.jobs[At(row)].min_pods - static_cast<int32_t>(held),
                       .needs = NeedsOf(row, static_cast<int32_t>(wait - job.pods.begin()))});
  }
  using Stage = Autoscaler::NodeState::Stage;
  std::vector<Autoscaler::NodeState> states(fleet_.size());
  for (int32_t node = 0; node < std::ssize(states); ++node) {
    Autoscaler::NodeState& state = states[At(node)];
    const NodeFleet::Supply supply = fleet_.SupplyOf(node);
    state.stage = supply == NodeFleet::Supply::kAbsent    ? Stage::kAbsent
                  : supply == NodeFleet::Supply::kOrdered ? Stage::kOrdered
                  : fleet_.TakesPods(node)                ? Stage::kTakesPods
                                                          : Stage::kClosed;
    if (stays_on_[At(node)].empty()) state.empty_since_ns = empty_since_ns_[At(node)];
    if (state.stage != Stage::kClosed) state.room = RoomOf(node);
  }
  const Autoscaler::Orders orders = scaler_->Look(now_ns_, waiting, &states);
  for (const int32_t node : orders.order) {
    fleet_.Order(node, now_ns_);
    agenda_.Add(
        {.at_ns = now_ns_ + scaler_->ReadyNs(node), .kind = Occasion::kPoolNodeReady, .job = node});
  }
  for (const int32_t node : orders.remove) fleet_.Remove(node, now_ns_);
  if (orders.look_again_ns) ScheduleLook(*orders.look_again_ns);
}

void Simulation::NoteStarved(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  starved_.clear();
  for (const PodGroupId group : cluster.pod_groups().lists.waiting) {
    if (!WaitsForRoom(plan, group)) continue;
    const int32_t row = JobOf(cluster, group);
    if (row >= 0) starved_.push_back(row);
  }
  std::ranges::sort(starved_);
  ScheduleLook(now_ns_ + 1);
}

}  // namespace kai
