// The placement policies of the literature, each as one function: how well a node suits a pod, and
// which GPU of it a pod gets that shares one.
//
//   return Rater({.policy = policy, .most = kLargest, .exact = exact}, mix).Rate(node, pod).score;
//
// The formulas are those with which Weng et al. (FGD, USENIX ATC 2023) compared the policies;
// scores run from 0 to 100, the highest wins. c and g are the idle CPU and GPU of the node, p and q
// those that the pod requests, C and G those of the largest node:
//
// - best fit: 100 (1 - ((c - p)/C + (g - q)/G) / 2)
// - dot product: 100 (1 - (cp/C^2 + gq/G^2) / 2); Grandl et al., Tetris, SIGCOMM 2014
// - GPU packing: shared GPUs, then idle ones of nodes in use, then idle nodes: 100 - (idle percent
// of those GPUs)/10, 50 - GPUs, 33 - GPUs; Weng et al., MLaaS in the Wild, NSDI 2022
// - GPU clustering: nodes first that run pods with as many GPUs and no others, then such with
// others
// too, then empty ones: 75, 50, 25 or 0, + 25 (G - g)/G; Xiao et al., Gandiva, OSDI 2018
// - FGD: 100 / (1 + exp(-d)), d the GPUs by which fragmentation falls
// - random: drawn for each pod and node from a seed
// - least waste: 100 / (1 + exp(w)), w the GPUs by which waste rises (waste.h); ours
//
// As published, scores are cut to whole numbers, which makes many nodes equal; `exact` keeps the
// fractions. Invariants: pure functions; the node has room for the pod. Cost: O(GPUs of the node),
// FGD that of Fragmentation for each different GPU, least waste that of Waste. Threads: any number;
// one with least waste.
#ifndef KAI_PACKING_POLICIES_H_
#define KAI_PACKING_POLICIES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "kai/packing/fragmentation.h"
#include "kai/packing/shapes.h"
#include "kai/packing/waste.h"

namespace kai::packing {

enum class Policy : uint8_t {
  kBestFit,
  kDotProduct,
  kGpuPacking,
  kGpuClustering,
  kFgd,
  kRandom,
  kLeastWaste,
};
inline constexpr std::array<std::string_view, 7> kPolicyNames = {
    "best-fit", "dot-product", "gpu-packing", "gpu-clustering", "fgd", "random", "least-waste"};
std::optional<Policy> PolicyOf(std::string_view name);

struct Rating {
  double score = 0;
  int32_t gpu = -1;  // that a pod gets which shares one; -1: the policy leaves it to others
};

class Rater {
 public:
  struct Largest {
    double cpu_milli = 0;
    double gpu_milli = 0;
  };
  struct Options {
    Policy policy = Policy::kFgd;
    Largest most = {};  // that any node has
    bool exact = false;
  };

  // `fragmentation`: for FGD, `waste` for least waste, which cannot do without it.
  Rater(const Options& options, std::shared_ptr<const Fragmentation> fragmentation,
        std::shared_ptr<Waste> waste = nullptr)
      : options_(options), fragmentation_(std::move(fragmentation)), waste_(std::move(waste)) {}

  const Options& options() const { return options_; }
  // Of a random policy: nothing, its scores come from RandomScore().
  Rating Rate(const NodeShape& node, const PodShape& pod) const;

 private:
  Rating RateByFgd(const NodeShape& node, const PodShape& pod) const;
  Rating RateByWaste(const NodeShape& node, const PodShape& pod) const;
  double Cut(double score) const;

  Options options_;
  std::shared_ptr<const Fragmentation> fragmentation_;
  std::shared_ptr<Waste> waste_;
};

// From 0 to 100, evenly: the same for the same seed, pod and node, and else as good as unrelated.
double RandomScore(uint64_t seed, std::string_view pod, std::string_view node);

}  // namespace kai::packing

#endif  // KAI_PACKING_POLICIES_H_
