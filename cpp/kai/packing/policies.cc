#include "kai/packing/policies.h"

#include <algorithm>
#include <cmath>

#include "kai/packing/mixing.h"

namespace kai::packing {
namespace {

constexpr double kMost = 100;

// How the published scores see a change of fragmentation, and how they see it cut.
double Sigmoid(double milli) { return 1 / (1 + std::exp(-milli / kWholeGpu)) * kMost; }
double CutSigmoid(double milli) { return std::trunc(Sigmoid(milli)); }

double BestFit(const NodeShape& node, const PodShape& pod, const Rater::Largest& most) {
  const double cpu = static_cast<double>(node.cpu_milli - pod.cpu_milli) / most.cpu_milli;
  const double gpu =
      static_cast<double>(node.IdleGpuMilli() - pod.TotalGpuMilli()) / most.gpu_milli;
  return (1.0 - (cpu * 0.5 + gpu * 0.5)) * kMost;
}

double DotProduct(const NodeShape& node, const PodShape& pod, const Rater::Largest& most) {
  const double cpu = static_cast<double>(node.cpu_milli) / most.cpu_milli *
                     (static_cast<double>(pod.cpu_milli) / most.cpu_milli);
  const double gpu = static_cast<double>(node.IdleGpuMilli()) / most.gpu_milli *
                     (static_cast<double>(pod.TotalGpuMilli()) / most.gpu_milli);
  return kMost * (1 - (cpu + gpu) / 2);
}

double GpuPacking(const NodeShape& node, const PodShape& pod) {
  constexpr int64_t kUsedNode = 50;
  constexpr int64_t kIdleNode = 33;
  if (pod.gpus == 0) return 0;
  const int64_t idle = node.IdleGpus();
  if (idle == static_cast<int64_t>(node.gpu_milli.size()))
    return static_cast<double>(std::max(kIdleNode - idle, idle));
  absl::InlinedVector<int32_t, 8> left = node.gpu_milli;
  std::ranges::sort(left);
  int64_t whole = 0;
  int64_t percent = 0;
  int32_t missing = pod.gpus;
  for (auto gpu = std::ranges::lower_bound(left, pod.gpu_milli); gpu != left.end() && missing > 0;
       ++gpu, --missing) {
    whole += *gpu == kWholeGpu ? 1 : 0;
    percent += *gpu * 100 / kWholeGpu;
  }
  if (whole > 0) return static_cast<double>(std::max(kUsedNode - whole, kIdleNode));
  return static_cast<double>(std::max(100 - percent / 10, kUsedNode));
}

double GpuClustering(const NodeShape& node, const PodShape& pod, const Rater::Largest& most) {
  constexpr double kStep = kMost / 4;
  const uint64_t cluster = pod.ClusterBit();
  if (cluster == 0) return 0;
  double base = 0;
  if ((node.clusters & cluster) != 0) {
    base = node.clusters == cluster ? 3 * kStep : 2 * kStep;
  } else if (node.clusters == 0) {
    base = kStep;
  }
  return base +
         kStep * (most.gpu_milli - static_cast<double>(node.IdleGpuMilli())) / most.gpu_milli;
}

uint64_t MixedText(uint64_t seed, std::string_view text) {
  for (const char each : text) seed = Mixed(seed + static_cast<unsigned char>(each));
  return seed;
}

}  // namespace

std::optional<Policy> PolicyOf(std::string_view name) {
  const auto* found = std::ranges::find(kPolicyNames, name);
  if (found == kPolicyNames.end()) return std::nullopt;
  return static_cast<Policy>(found - kPolicyNames.begin());
}

double Rater::Cut(double score) const { return options_.exact ? score : std::trunc(score); }

Rating Rater::RateByFgd(const NodeShape& node, const PodShape& pod) const {
  const Fragmentation::Descent descent =
      fragmentation_->DescentOf(node, pod, options_.exact ? nullptr : &CutSigmoid);
  const double milli =
      static_cast<double>(descent.change) / static_cast<double>(fragmentation_->weight());
  return {.score = Cut(Sigmoid(milli)), .gpu = descent.gpu};
}

Rating Rater::RateByWaste(const NodeShape& node, const PodShape& pod) const {
  // Nodes between which less than this makes the difference are equal, and the first name wins:
  // pods gather on few nodes.
  constexpr double kStepMilli = 50;
  const Waste::Rise rise = waste_->RiseOf(node, pod);
  const double milli =
      options_.exact ? -rise.milli : std::floor(0.5 - rise.milli / kStepMilli) * kStepMilli;
  return {.score = Sigmoid(milli), .gpu = rise.gpu};
}

Rating Rater::Rate(const NodeShape& node, const PodShape& pod) const {
  switch (options_.policy) {
    case Policy::kBestFit:
      return {.score = Cut(BestFit(node, pod, options_.most))};
    case Policy::kDotProduct:
      return {.score = Cut(DotProduct(node, pod, options_.most))};
    case Policy::kGpuPacking:
      return {.score = GpuPacking(node, pod)};
    case Policy::kGpuClustering:
      return {.score = Cut(GpuClustering(node, pod, options_.most))};
    case Policy::kFgd:
      return RateByFgd(node, pod);
    case Policy::kLeastWaste:
      return RateByWaste(node, pod);
    case Policy::kRandom:
      break;
  }
  return {};
}

double RandomScore(uint64_t seed, std::string_view pod, std::string_view node) {
  const uint64_t drawn = MixedText(MixedText(Mixed(seed), pod) ^ 0x5851f42d4c957f2d, node);
  return kMost * static_cast<double>(drawn >> 11) / 9007199254740992.0;
}

}  // namespace kai::packing
