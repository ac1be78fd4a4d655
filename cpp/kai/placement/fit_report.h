// Why nodes said no to a pod, counted over nodes and attempts (spec 2 M6).
#ifndef KAI_PLACEMENT_FIT_REPORT_H_
#define KAI_PLACEMENT_FIT_REPORT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kai/model/resources.h"
#include "kai/model/volumes.h"

namespace kai {

// A reason of a node's. Resource slots have one each, so that a count over thousands of nodes
// touches no text.
class Reason {
 public:
  enum Fixed : int32_t {
    kNodeUnschedulable,
    kNodeNotReady,
    kNodeMemoryPressure,
    kNodeDiskPressure,
    kNodePidPressure,
    kNodeNetworkUnavailable,
    kUntoleratedTaints,
    kNodeAffinityMismatch,
    kPodAffinityMismatch,
    kPodAntiAffinityMismatch,
    kExistingAntiAffinity,
    kMixedMigStrategy,
    kSingleMigStrategy,
    kNoMigNode,
    kSharedOnDraNode,
    kGpuMemoryUnknown,
    kNotEnoughGpuMemory,
    kNotEnoughPodSlots,
    kNotGpuWorker,
    kNotCpuWorker,
    kNoFreePorts,
    kSpreadWithoutLabel,
    kTooUneven,
    kTooManyVolumes,
    kOtherZone,
    kNotNumaAligned,
    kWithoutWords,                         // a no, but nothing to say about it (spec 3 E5)
    kVolumes,                              // and whatever a node says to volumes: OfVolumes()
    kFixedReasons = kVolumes + 3 * 3 - 1,  // a no of either half, or of both
  };

  constexpr Reason(Fixed fixed) : code_(fixed) {}  // NOLINT: a reason is one of these
  // `for_overhead`: it would be enough without the overhead of the pod (spec 3 E4).
  static constexpr Reason NotEnough(ResourceSlot slot, bool for_overhead = false) {
    return Reason(kFixedReasons + 2 * slot.value() + (for_overhead ? 1 : 0));
  }

  // Of a node that refuses.
  static constexpr Reason OfVolumes(const VolumeAnswer& answer) {
    return Reason(kVolumes - 1 + 3 * static_cast<int32_t>(answer.bound) +
                  static_cast<int32_t>(answer.delayed));
  }

  static constexpr Reason AtIndex(size_t index) { return Reason(static_cast<int32_t>(index)); }

  constexpr size_t index() const { return static_cast<size_t>(code_); }
  // `overhead`: of the pod, by slot; needed only by reasons that are for it.
  std::string Text(const ResourceSlots& slots, std::span<const double> overhead = {}) const;

 private:
  explicit constexpr Reason(int32_t code) : code_(code) {}
  int32_t code_;
};

class FitReport {
 public:
  // What one node said. Nodes mostly say one thing, or two.
  struct Reasons {
    absl::InlinedVector<uint16_t, 4> codes;  // Reason::index(), ascending
    std::string text;                        // in words of its own: it names the node or its pods
    friend bool operator==(const Reasons&, const Reasons&) = default;
  };

  void Count(Reason reason, int64_t times = 1) {
    if (reason.index() >= counts_.size()) counts_.resize(reason.index() + 1);
    counts_[reason.index()] += times;
  }
  void Count(std::string text, int64_t times = 1) { texts_[std::move(text)] += times; }
  void Add(const Reasons& reasons, int64_t times);
  void Clear() {
    counts_.clear();
    texts_.clear();
  }

  bool empty() const { return reasons() == Reasons(); }
  // Those with a count; of several texts the first.
  Reasons reasons() const;

  std::string Text(const ResourceSlots& slots, std::span<const double> overhead = {}) const;

 private:
  std::vector<int64_t> counts_;  // by Reason::index()
  std::map<std::string, int64_t> texts_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_FIT_REPORT_H_
