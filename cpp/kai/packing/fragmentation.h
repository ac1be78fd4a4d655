// Fragmentation: how much of a node's idle GPUs a typical pod cannot use, the measure of Weng et
// al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
// Descent", USENIX ATC 2023, §3.
//
//   const Fragmentation fragmentation(mix);
//   fragmentation.Of(node)      // the expected fragment, in thousandths of a GPU times weight()
//
// For one pod m of the mix, a node's fragment F(m) is all that is idle on its GPUs if m does not
// fit there (its kind of node, its CPU, its GPUs) or asks for no GPU; else what is idle on those
// GPUs on which less is idle than m requests of one. F of the node is the mean over the mix, each
// pod weighted by how often it occurs: F = sum of weight(m) F(m) / weight(). Memory is ignored.
//
// Example: 1,000 and 300 idle on two GPUs; three of four typical pods request 500, one 2 whole
// GPUs. F = (3 * 300 + 1 * 1,300) / 4 = 550 thousandths.
//
// Invariants: sums are whole numbers, so that equal fragments are equal, whatever the order of the
// mix. Cost: Of() is O(GPUs + distinct requests for GPUs in the mix), with a binary search for each
// of these. Threads: made once, then read by many.
#ifndef KAI_PACKING_FRAGMENTATION_H_
#define KAI_PACKING_FRAGMENTATION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kai/packing/shapes.h"

namespace kai::packing {

// Pods that are alike, and how many of them there are.
struct TypicalPod {
  PodShape pod;
  int64_t weight = 0;
  std::vector<uint8_t> kinds = {};  // by NodeShape::kind: the node is open to it; empty: all are
};
using PodMix = std::vector<TypicalPod>;

// The typical pods make up this percentage of all pods, as in the FGD paper.
inline constexpr int kTypicalPercent = 95;

// The most frequent pods, which together are at least `percent` of all. Among equally frequent ones
// those that stand first in `all` come first.
PodMix MostFrequent(PodMix all, int percent);

class Fragmentation {
 public:
  explicit Fragmentation(const PodMix& mix);

  // How often all pods of the mix occur: F in thousandths of a GPU is Of() / weight().
  int64_t weight() const { return weight_; }
  int64_t Of(const NodeShape& node) const;

  // How much of F goes away as the pod takes its place: F before, less F after. Negative: F grows.
  struct Descent {
    int64_t change = 0;
    int32_t gpu = -1;  // that a pod gets which shares GPUs; -1: any would be as good
  };
  // `step`: what is compared between GPUs of the node, the first of equal ones wins; null: the
  // change itself. The node has room for the pod. Pods with several parts of GPUs, and whole GPUs,
  // take the fullest first.
  using Step = double (*)(double milli);
  Descent DescentOf(const NodeShape& node, const PodShape& pod, Step step = nullptr) const;

 private:
  // Pods of the mix that ask for as many GPUs and as much of each, by their CPU.
  struct Request {
    uint32_t level = 0;
    int32_t gpus = 0;
    std::vector<int64_t> cpu_milli;     // ascending
    std::vector<int64_t> total_weight;  // of all up to there
  };
  using Kind = std::vector<Request>;

  class Point;

  const Kind& KindOf(const NodeShape& node) const {
    const auto kind = static_cast<size_t>(node.kind);
    return kind < kinds_.size() ? kinds_[kind] : any_kind_;
  }
  Kind MakeKind(const PodMix& mix, const size_t* kind) const;

  std::vector<int32_t> levels_;  // what pods of the mix ask of one GPU, ascending
  // By what is idle on a GPU: how many levels it suffices for.
  std::array<uint16_t, kWholeGpu + 1> levels_within_ = {};
  std::vector<Kind> kinds_;
  Kind any_kind_;  // of nodes whose kind the mix does not mention
  int64_t weight_ = 0;
};

}  // namespace kai::packing

#endif  // KAI_PACKING_FRAGMENTATION_H_
