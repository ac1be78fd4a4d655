// Resource vectors and the index that names their slots.
//
//   const ResourceSlot small = slots.Add("nvidia.com/mig-1g.5gb");
//   slots.TotalGpus(amounts)      // whole ones, and what MIG slices count for
//
// Invariants: every vector of a cluster has the same slots: cpu, memory, gpu, pods, then every name
// that some node offers or some pod requests, by name (spec 3 R25). All arithmetic uses doubles
// that are made from exact integers. Cost: O(slots) per vector; Find() walks over the names.
// Threads: many readers, or one that adds.
#ifndef KAI_MODEL_COLUMNS_RESOURCES_H_
#define KAI_MODEL_COLUMNS_RESOURCES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kai/api/accelerators.h"
#include "kai/api/units.h"
#include "kai/base/check.h"
#include "kai/model/columns/ids.h"

namespace kai {

inline constexpr ResourceSlot kCpuSlot(0);
inline constexpr ResourceSlot kMemorySlot(1);
inline constexpr ResourceSlot kGpuSlot(2);
inline constexpr ResourceSlot kPodsSlot(3);

// How many GPUs a MIG instance counts for in quotas. kSlices: the slices in its name, each a GPU.
// This is KAI's count: an A100 that is split into seven instances counts as seven GPUs (spec 3 M2,
// M5). kParts: the part of its GPU.
enum class MigCount : uint8_t { kSlices, kParts };

// GPUs that one instance of a MIG resource counts for; 0 for other names (spec 1 F21).
double MigGpuEquivalents(std::string_view resource, MigCount count = MigCount::kSlices);

class ResourceSlots {
 public:
  explicit ResourceSlots(MigCount mig_count = MigCount::kSlices);

  // The slot of a resource; whole GPUs of all vendors share one (spec 3 R5). Invalid: unknown.
  ResourceSlot Find(std::string_view name) const;
  ResourceSlot Add(std::string_view name);

  size_t size() const { return names_.size(); }
  const std::string& Name(ResourceSlot slot) const { return names_[slot.index()]; }

  // GPUs that one instance of a MIG slot counts for; 0 for other slots.
  double GpuEquivalents(ResourceSlot slot) const { return gpu_equivalents_[slot.index()]; }
  bool IsMig(ResourceSlot slot) const { return is_mig_[slot.index()]; }

  // GPUs of a vector: its GPU element and its MIG slices.
  double TotalGpus(std::span<const double> amounts) const {
    double gpus = amounts[kGpuSlot.index()];
    for (const size_t i : counted_as_gpus_) gpus += gpu_equivalents_[i] * amounts[i];
    return gpus;
  }

 private:
  MigCount mig_count_;
  std::vector<std::string> names_;
  std::vector<double> gpu_equivalents_;
  std::vector<size_t> counted_as_gpus_;  // slots with equivalents
  std::vector<bool> is_mig_;
};

// A table of resource vectors, one row per id, in one piece of memory.
template <typename IdT>
class ResourceTable {
 public:
  ResourceTable() = default;
  ResourceTable(size_t rows, size_t slots) : slots_(slots), amounts_(rows * slots) {}

  std::span<double> operator[](IdT id) {
    KAI_DCHECK(id.valid() && (id.index() + 1) * slots_ <= amounts_.size());
    return {amounts_.data() + id.index() * slots_, slots_};
  }
  std::span<const double> operator[](IdT id) const {
    KAI_DCHECK(id.valid() && (id.index() + 1) * slots_ <= amounts_.size());
    return {amounts_.data() + id.index() * slots_, slots_};
  }
  IdT Add() {
    amounts_.resize(amounts_.size() + slots_);
    return IdT(amounts_.size() / slots_ - 1);
  }

  void Resize(size_t rows) { amounts_.resize(rows * slots_); }

  size_t slots() const { return slots_; }
  size_t size() const { return slots_ == 0 ? 0 : amounts_.size() / slots_; }
  const std::vector<double>& raw() const { return amounts_; }

  bool operator==(const ResourceTable&) const = default;

 private:
  size_t slots_ = 0;
  std::vector<double> amounts_;
};

// A negative element of `room` makes every request fail, also a request for other resources only
// (spec 3 R26).
inline bool Fits(std::span<const double> request, std::span<const double> room) {
  for (size_t i = 0; i < request.size(); ++i) {
    if (request[i] > room[i]) return false;
  }
  return true;
}

// request <= idle + releasing, with the sum of spec 3 N9.
inline bool FitsSum(std::span<const double> request, std::span<const double> idle,
                    std::span<const double> releasing) {
  for (size_t i = 0; i < request.size(); ++i) {
    if (request[i] > idle[i] + releasing[i]) return false;
  }
  return true;
}

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_RESOURCES_H_
