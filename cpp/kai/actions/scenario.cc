#include "kai/actions/scenario.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kai/model/columns/gpu_sums.h"

namespace kai {
namespace {

// Hashes a pod into a key. Keys of sets are sums, so that the order does not matter.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
uint64_t KeyOf(PodId pod) { return Mix(pod.index()); }

// GPU memory does not count as a GPU here (spec 2 V12).
double GpusOf(const Cluster& cluster, PodId pod) {
  return cluster.slots().TotalGpus(cluster.RequestOf(pod));
}

}  // namespace

ScenarioBase::ScenarioBase(const CycleView& cycle, std::span<const PodId> pods,
                           std::span<const Victim> recorded, VictimPool* pool,
                           const IndexVector<NodeId, uint8_t>* offered)
    : cycle_(cycle),
      pods_(pods.begin(), pods.end()),
      recorded_(recorded.begin(), recorded.end()),
      pool_(*pool),
      is_recorded_(cycle.cluster->pods().size()),
      offered_(offered),
      last_on_(cycle.cluster->nodes().size(), -1),
      before_(cycle.cluster->nodes().size()),
      freed_(cycle.cluster->nodes().size()),
      last_batch_(cycle.cluster->pod_groups().size(), -1) {
  const Cluster& cluster = *cycle.cluster;
  const NodeColumns& nodes = cluster.nodes();
  for (const NodeId node : nodes.name.ids()) {
    before_[node] = AllGpusOf(cluster, node);
  }
  // If no recorded victim returns, batches always come in the same order.
  bool always_the_same = true;
  for (const Victim& victim : recorded_) {
    is_recorded_.Set(victim.pod);
    key_.recorded += KeyOf(victim.pod);
    always_the_same = always_the_same && pool_.GivesAllAtOnce(cluster.pods().group[victim.pod]);
    if (!victim.node.valid()) continue;
    const PodClassId pod_class = cluster.pods().pod_class[victim.pod];
    before_[victim.node] += cluster.AcceptedOn(pod_class, victim.node)[kQuotaGpu];
  }
  if (!always_the_same || cycle.plain_search) queue_.emplace(pool);
  for (const PodId pod : pods_) {
    requests_.push_back(GpusOf(cluster, pod));
    requested_gpus_ += requests_.back();
    key_.pods += KeyOf(pod);
    const NodeConstraint& constraint = cluster.ConstraintOf(cluster.pods().pod_class[pod]);
    const bool names_nodes = !constraint.selector.empty() || constraint.has_affinity;
    if (names_nodes && (constraints_.empty() || constraints_.back() != &constraint))
      constraints_.push_back(&constraint);
  }
  std::sort(requests_.begin(), requests_.end(), std::greater<>());
  if (!cycle.switches->on(Switch::kScenarioFilters) && !pods_.empty()) {
    domains_.emplace(cluster, *cycle.order, cluster.pods().group[pods_.front()], pods_);
    for (const Victim& victim : recorded_) FreeInDomains(victim);
  }
  for (const NodeId node : nodes.name.ids()) {
    if (IsOffered(node)) elsewhere_gpus_ += before_[node];
    CountRoom(0, before_[node]);
  }
}

void ScenarioBase::FreeInDomains(const Victim& victim) {
  if (!domains_ || !victim.node.valid()) return;
  const Cluster& cluster = *cycle_.cluster;
  domains_->Free(victim.node,
                 cluster.AcceptedOn(cluster.pods().pod_class[victim.pod], victim.node)[kQuotaGpu]);
}

void ScenarioBase::CountRoom(double before, double after) {
  if (cycle_.switches->on(Switch::kScenarioFilters)) return;  // only needed as in KAI
  if (requests_.empty() || requests_.front() != requests_.back() || requests_.front() <= 0) return;
  const auto holds = [&](double gpus) { return std::floor(std::max(0.0, gpus) / requests_[0]); };
  holders_ += holds(after) - holds(before);
}

std::optional<VictimBatch> ScenarioBase::NextBatch() {
  if (queue_) return queue_->Next(is_recorded_);
  for (;;) {
    const std::optional<VictimBatch> batch = pool_.BatchAt(next_batch_);
    if (!batch) return std::nullopt;
    ++next_batch_;
    if (is_recorded_[batch->pods.front()] == 0) return batch;
  }
}

bool ScenarioBase::Grow() {
  const std::optional<VictimBatch> batch = NextBatch();
  if (!batch) return false;
  const Cluster& cluster = *cycle_.cluster;
  const auto index = static_cast<int32_t>(batches_.size());
  int32_t& last = last_batch_[batch->group];
  batches_.push_back({.group = batch->group, .begin = victims_.size(), .end = 0, .previous = last});
  last = index;
  for (const PodId pod : batch->pods) {
    const NodeId node = cluster.pods().node[pod];
    victims_.push_back({.pod = pod, .node = node});
    FreeInDomains(victims_.back());
    if (!node.valid()) continue;
    int32_t& here = last_on_[node];
    if (here < 0) {
      nodes_.push_back(node);
      if (IsOffered(node)) elsewhere_gpus_ -= before_[node];
    } else if (IsUseful(node)) {
      useful_gpus_ -= GpusWithVictims(node);
    }
    if (here < 0 || links_[static_cast<size_t>(here)].batch != index) {
      links_.push_back({.batch = index, .previous = here});
      here = static_cast<int32_t>(links_.size()) - 1;
    }
    const double gpus = cluster.AcceptedOn(cluster.pods().pod_class[pod], node)[kQuotaGpu];
    CountRoom(GpusWithVictims(node), GpusWithVictims(node) + gpus);
    freed_[node] += gpus;
    if (IsUseful(node)) useful_gpus_ += GpusWithVictims(node);
  }
  batches_.back().end = victims_.size();
  return true;
}

std::vector<int32_t> ScenarioBase::BatchesOn(std::span<const NodeId> nodes,
                                             bool with_earlier) const {
  std::vector<uint8_t> is_picked(batches_.size());
  size_t count = 0;
  const auto pick = [&](int32_t index) {
    uint8_t& its = is_picked[static_cast<size_t>(index)];
    if (its != 0) return false;
    its = 1;
    ++count;
    return true;
  };
  for (const NodeId node : nodes) {
    for (int32_t at = last_on_[node]; at >= 0; at = links_[static_cast<size_t>(at)].previous) {
      int32_t index = links_[static_cast<size_t>(at)].batch;
      while (index >= 0 && pick(index) && with_earlier)
        index = batches_[static_cast<size_t>(index)].previous;
    }
  }
  std::vector<int32_t> batches;
  batches.reserve(count);
  for (size_t i = 0; i < is_picked.size(); ++i) {
    if (is_picked[i] != 0) batches.push_back(static_cast<int32_t>(i));
  }
  return batches;
}

std::vector<int32_t> ScenarioBase::BatchesOfGroupsOn(NodeId node) const {
  std::vector<int32_t> batches;
  for (int32_t at = last_on_[node]; at >= 0; at = links_[static_cast<size_t>(at)].previous) {
    const PodGroupId group =
        batches_[static_cast<size_t>(links_[static_cast<size_t>(at)].batch)].group;
    for (int32_t i = last_batch_[group]; i >= 0; i = batches_[static_cast<size_t>(i)].previous)
      batches.push_back(i);
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

bool ScenarioBase::IsWorthwhile() const {
  return cycle_.switches->on(Switch::kScenarioFilters) ||
         (FindsMatchingNodes() && (!domains_ || domains_->MayHold()) && FindsHolders());
}

bool ScenarioBase::FindsMatchingNodes() const {
  // spec 2 V10
  const NodeColumns& nodes = cycle_.cluster->nodes();
  const auto has_node = [&](const NodeConstraint* constraint) {
    for (const NodeId node : nodes.name.ids()) {
      if ((IsOffered(node) || last_on_[node] >= 0) &&
          MatchesNode(*constraint, nodes.labels[node], nodes.name[node], cycle_.cluster->names()))
        return true;
    }
    return false;
  };
  return std::all_of(constraints_.begin(), constraints_.end(), has_node);
}

bool ScenarioBase::FindsHolders() const {
  // spec 2 V12: assigns the pods greedily, the largest first, to the largest nodes, one node per
  // pod.
  if (requests_.empty() || requests_.front() <= 0) return true;
  if (requests_.front() == requests_.back())
    return holders_ >= static_cast<double>(requests_.size());
  std::vector<double> holders;
  for (const NodeId node : cycle_.cluster->nodes().name.ids())
    holders.push_back(GpusWithVictims(node));
  const size_t kept = std::min(requests_.size(), holders.size());
  std::partial_sort(holders.begin(), holders.begin() + static_cast<std::ptrdiff_t>(kept),
                    holders.end(), std::greater<>());
  holders.resize(kept);
  for (const double request : requests_) {
    if (request <= 0) return true;
    const auto holder =
        std::find_if(holders.begin(), holders.end(), [&](double gpus) { return gpus >= request; });
    if (holder == holders.end()) return false;
    *holder -= request;
  }
  return true;
}

std::vector<Victim> ScenarioBase::VictimsOf(std::span<const int32_t> batches) const {
  std::vector<Victim> victims;
  for (const int32_t index : batches) {
    const Batch& batch = batches_[static_cast<size_t>(index)];
    victims.insert(victims.end(), victims_.begin() + static_cast<std::ptrdiff_t>(batch.begin),
                   victims_.begin() + static_cast<std::ptrdiff_t>(batch.end));
  }
  return victims;
}

Scenario ScenarioBase::Make(std::span<const Victim> added) const {
  Scenario scenario;
  scenario.victims.reserve(recorded_.size() + added.size());
  scenario.victims = recorded_;
  scenario.victims.insert(scenario.victims.end(), added.begin(), added.end());
  scenario.key = key_;
  for (const Victim& victim : added) {
    const uint64_t key = KeyOf(victim.pod);
    scenario.key.potential[0] += key;
    scenario.key.potential[1] += Mix(key);
  }
  return scenario;
}

}  // namespace kai
