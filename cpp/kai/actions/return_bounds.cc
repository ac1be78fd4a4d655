#include "kai/actions/return_bounds.h"

#include <algorithm>
#include <cmath>

#include "kai/model/columns/gpu_sums.h"

namespace kai {

ReturnBounds::ReturnBounds(const CycleView& cycle)
    : cycle_(cycle), free_(cycle.cluster->nodes().size()), freed_(cycle.cluster->nodes().size()) {
  free_parts_.fill(-1);
  const Cluster& cluster = *cycle.cluster;
  // A pod that moved in this cycle may find room on its old node, and a pod that is evicted twice
  // gives its GPUs back twice: then sums are not exact (spec 2 T5, W8).
  is_sure_ = !cluster.shares_gpus() && !cluster.hides_shared_gpus() &&
             cycle.switches->on(Switch::kSingleVictims) &&
             cycle.switches->on(Switch::kSameCycleEviction);
  if (!is_sure_) return;
  for (const NodeId node : cluster.nodes().name.ids()) {
    const double gpus = cluster.nodes().idle[node][kGpuSlot.index()] +
                        cluster.nodes().releasing[node][kGpuSlot.index()];
    free_[node] = static_cast<int>(std::floor(std::max(0.0, gpus) + kGpuSumTolerance));
    if (free_[node] > kMostGpus) is_sure_ = false;
  }
}

int ReturnBounds::GpusOf(PodId pod) {
  const double gpus = cycle_.cluster->RequestOf(pod)[kGpuSlot.index()];
  const auto whole = static_cast<int>(std::clamp(gpus, 0.0, kMostGpus + 1.0));
  if (whole != gpus || whole > kMostGpus) is_sure_ = false;
  return std::min(whole, kMostGpus);
}

int64_t ReturnBounds::FreeParts(int size) {
  int64_t& parts = free_parts_[static_cast<size_t>(size)];
  if (parts < 0) {
    parts = 0;
    for (const NodeId node : free_.ids()) parts += free_[node] / size;
  }
  return parts;
}

void ReturnBounds::Free(NodeId node, int gpus) {
  if (!node.valid() || gpus == 0) return;
  if (freed_[node] == 0) freed_on_.push_back(node);
  freed_[node] += gpus;
}

void ReturnBounds::StartPart(std::span<const PodId> pods) {
  pods_of_.fill(0);
  largest_ = 0;
  for (const PodId pod : pods) {
    const int gpus = GpusOf(pod);
    ++pods_of_[static_cast<size_t>(gpus)];
    largest_ = std::max(largest_, gpus);
  }
}

std::span<const ReturnBounds::Movable::Holder> ReturnBounds::HoldersOf(Movable* movable) {
  if (movable->holders_) return *movable->holders_;
  const Cluster& cluster = *cycle_.cluster;
  std::vector<Movable::Holder>& holders = movable->holders_.emplace();
  for (const PodGroupId group : movable->groups_) {
    for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
      for (const PodId pod : cycle_.order->PodsOf(pod_set)) {
        if (!IsActiveAllocated(cluster.pods().status[pod])) continue;
        const int gpus = GpusOf(pod);
        if (cluster.pods().node[pod].valid() && gpus > 0)
          holders.push_back({.node = cluster.pods().node[pod], .gpus = gpus});
      }
    }
  }
  movable->largest_ = 0;
  for (const Movable::Holder& holder : holders)
    movable->largest_ = std::max(movable->largest_, holder.gpus);
  return holders;
}

int64_t ReturnBounds::PartsWithAnyOf(Movable* movable, int size) {
  int64_t parts = FreeParts(size);
  if (size == 1) return parts;
  // Whole parts of a victim are needed again for its return: only the rest of its GPUs is a gain.
  for (const Movable::Holder& holder : HoldersOf(movable)) Free(holder.node, holder.gpus % size);
  for (const NodeId node : freed_on_) {
    parts += (free_[node] + freed_[node]) / size - free_[node] / size;
    freed_[node] = 0;
  }
  freed_on_.clear();
  return parts;
}

bool ReturnBounds::MayFitWithAnyOf(Movable* movable) {
  int64_t wanted_before = -1;  // for parts larger by one GPU
  for (int size = largest_; size > 0 && is_sure_; --size) {
    int64_t wanted = 0;
    for (int gpus = size; gpus <= largest_; ++gpus)
      wanted += pods_of_[static_cast<size_t>(gpus)] * (gpus / size);
    // Pods smaller than a part add all their GPUs: then there are at least as many smaller parts.
    const bool follows = wanted == wanted_before && movable->largest_ < size;
    wanted_before = wanted;
    if (follows || FreeParts(size) >= wanted) continue;
    int64_t& parts = movable->parts_[static_cast<size_t>(size)];
    if (parts < 0) parts = PartsWithAnyOf(movable, size);
    if (parts < wanted) return !is_sure_;
  }
  return true;
}

bool ReturnBounds::MayFit(std::span<const Victim> recorded, std::span<const Victim> added) {
  if (!is_sure_) return true;
  victims_of_.fill(0);
  int largest = largest_;
  for (const std::span<const Victim> victims : {recorded, added}) {
    for (const Victim& victim : victims) {
      const int gpus = GpusOf(victim.pod);
      ++victims_of_[static_cast<size_t>(gpus)];
      largest = std::max(largest, gpus);
      Free(victim.node, gpus);
    }
  }
  bool may_fit = true;
  for (int size = 1; size <= largest && may_fit; ++size) {
    if (pods_of_[static_cast<size_t>(size)] + victims_of_[static_cast<size_t>(size)] == 0) continue;
    int64_t wanted = 0;
    for (int gpus = size; gpus <= largest; ++gpus) {
      const auto at = static_cast<size_t>(gpus);
      wanted += (pods_of_[at] + victims_of_[at]) * (gpus / size);
    }
    int64_t parts = FreeParts(size);
    for (const NodeId node : freed_on_)
      parts += (free_[node] + freed_[node]) / size - free_[node] / size;
    may_fit = parts >= wanted;
  }
  for (const NodeId node : freed_on_) freed_[node] = 0;
  freed_on_.clear();
  return may_fit || !is_sure_;
}

}  // namespace kai
