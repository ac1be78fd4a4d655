#include "kai/model/changes/node_undo.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "kai/base/check.h"
#include "kai/model/changes/occupancy.h"

namespace kai {

// Old values, saved when something changes and restored in reverse order when the change is undone.
// Subtracting doubles would not restore them exactly.
class UndoStack {
 public:
  // Space for `count` values; the caller writes them before the next call.
  double* Push(size_t count) {
    if (size_ + count > capacity_) Grow(size_ + count);
    size_ += count;
    return values_.get() + size_ - count;
  }
  // The values that were pushed last; valid until the next call.
  const double* Pop(size_t count) {
    KAI_DCHECK(count <= size_);
    size_ -= count;
    return values_.get() + size_;
  }
  void Clear() { size_ = 0; }

 private:
  void Grow(size_t needed) {
    capacity_ = std::max<size_t>({needed, 2 * capacity_, 256});
    auto grown = std::make_unique_for_overwrite<double[]>(capacity_);
    std::copy_n(values_.get(), size_, grown.get());
    values_ = std::move(grown);
  }

  std::unique_ptr<double[]> values_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Keeps the values that a change of a pod has overwritten on its node.
class ExactUndo final : public NodeUndo {
 public:
  explicit ExactUndo(Cluster* cluster) : cluster_(*cluster) {}

  void Save(const Change& change, const GpuList& gpus) override {
    const NodeColumns& nodes = cluster_.nodes_;
    const size_t slots = nodes.idle.slots();
    double* saved = ledgers_.Push(3 * slots);
    for (const auto* table : {&nodes.idle, &nodes.releasing, &nodes.used})
      saved = std::copy_n((*table)[change.to_node].data(), slots, saved);
    if (!cluster_.ClassOf(change.pod).gpu.IsShared()) return;
    const std::vector<SharedGpu>& listed = nodes.shared_gpus[change.to_node];
    sharing_.push_back({.gpus = cluster_.pods_.gpus[change.pod], .listed = listed.size()});
    for (const int32_t gpu : gpus) {
      const bool is_listed = static_cast<size_t>(gpu) < listed.size();
      gpus_.push_back(is_listed ? listed[static_cast<size_t>(gpu)] : SharedGpu());
    }
  }

  void Restore(const Change& change) override {
    NodeColumns& nodes = cluster_.nodes_;
    const size_t slots = nodes.idle.slots();
    const double* saved = ledgers_.Pop(3 * slots);
    for (auto* table : {&nodes.idle, &nodes.releasing, &nodes.used}) {
      std::copy_n(saved, slots, (*table)[change.to_node].data());
      saved += slots;
    }
    if (!cluster_.ClassOf(change.pod).gpu.IsShared()) return;
    std::vector<SharedGpu>& listed = nodes.shared_gpus[change.to_node];
    GpuList& gpus = cluster_.pods_.gpus[change.pod];
    for (auto gpu = gpus.rbegin(); gpu != gpus.rend(); ++gpu) {
      listed[static_cast<size_t>(*gpu)] = gpus_.back();
      gpus_.pop_back();
    }
    listed.resize(sharing_.back().listed);
    gpus = std::move(sharing_.back().gpus);
    sharing_.pop_back();
  }

  void Clear() override {
    ledgers_.Clear();
    sharing_.clear();
    gpus_.clear();
  }

 private:
  struct Sharing {
    GpuList gpus;       // the devices that the pod had
    size_t listed = 0;  // number of listed devices of the node
  };

  Cluster& cluster_;
  UndoStack ledgers_;
  std::vector<Sharing> sharing_;
  std::vector<SharedGpu> gpus_;  // old values of the devices that pods got, in order
};

// As in KAI: applies the rules of nodes backwards.
class CountingUndo final : public NodeUndo {
 public:
  CountingUndo(Cluster* cluster, bool counts_reservations)
      : cluster_(*cluster),
        occupancy_(cluster, counts_reservations),
        idle_(cluster->nodes_.idle),
        releasing_(cluster->nodes_.releasing),
        used_(cluster->nodes_.used),
        shared_gpus_(cluster->nodes_.shared_gpus) {}

  ~CountingUndo() override {
    cluster_.nodes_.idle = std::move(idle_);
    cluster_.nodes_.releasing = std::move(releasing_);
    cluster_.nodes_.used = std::move(used_);
    cluster_.nodes_.shared_gpus = std::move(shared_gpus_);
  }

  void Save(const Change& change, const GpuList&) override {
    if (!cluster_.ClassOf(change.pod).gpu.IsShared()) return;
    saved_.push_back({.gpus = cluster_.pods_.gpus[change.pod],
                      .listed = cluster_.nodes_.shared_gpus[change.to_node].size()});
  }

  void Restore(const Change& change) override {
    const bool shares = cluster_.ClassOf(change.pod).gpu.IsShared();
    const bool comes_anew = change.Stays() && std::erase(forgotten_, change.pod) > 0;
    if (!comes_anew) {
      occupancy_.Charge(change.pod, change.to_node, LedgerWeight() - WeightOf(change.to));
      if (shares) occupancy_.RemoveFromGpus(change.pod, change.to_node, change.to);
    }
    if (change.Stays()) {
      occupancy_.Charge(change.pod, change.to_node, WeightOf(change.from));
      if (shares) occupancy_.AddToGpus(change.pod, change.to_node, change.from);
    }
    if (change.to_other_gpus && !IsUncounted(change.pod)) forgotten_.push_back(change.pod);
    if (!shares) return;
    cluster_.nodes_.shared_gpus[change.to_node].resize(saved_.back().listed);
    cluster_.pods_.gpus[change.pod] = std::move(saved_.back().gpus);
    saved_.pop_back();
  }

  void Clear() override { KAI_CHECK(false) << "traces last until the statement ends"; }

  bool IsUncounted(PodId pod) const override {
    return std::find(forgotten_.begin(), forgotten_.end(), pod) != forgotten_.end();
  }

 private:
  struct Saved {
    GpuList gpus;
    size_t listed = 0;
  };

  Cluster& cluster_;
  Occupancy occupancy_;
  ResourceTable<NodeId> idle_, releasing_, used_;  // before any change
  IndexVector<NodeId, std::vector<SharedGpu>> shared_gpus_;
  std::vector<Saved> saved_;
  // Evicted pods that were tried on other devices of their node. The node no longer counts them:
  // the resources that they hold still count as releasing, and they return as if they were new.
  std::vector<PodId> forgotten_;
};

std::unique_ptr<NodeUndo> MakeExactUndo(Cluster* cluster) {
  return std::make_unique<ExactUndo>(cluster);
}
std::unique_ptr<NodeUndo> MakeCountingUndo(Cluster* cluster, bool counts_reservations) {
  return std::make_unique<CountingUndo>(cluster, counts_reservations);
}

}  // namespace kai
