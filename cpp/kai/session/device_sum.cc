#include "kai/session/device_sum.h"

#include <algorithm>
#include <cmath>

namespace kai {

double GpusOf(PodId pod, const Cluster& cluster) {
  const GpuRequest& gpu = cluster.ClassOf(pod).gpu;
  if (!gpu.IsShared()) return cluster.RequestOf(pod)[kGpuSlot.index()];
  if (gpu.kind != GpuRequestKind::kFraction) return 0;
  return gpu.portion * static_cast<double>(gpu.count);
}

double GpusOfSlices(PodId pod, const Cluster& cluster) {
  const std::span<const double> request = cluster.RequestOf(pod);
  return cluster.slots().TotalGpus(request) - request[kGpuSlot.index()];
}

int64_t NanoGpus(double gpus) {
  constexpr double kDigitsOfADouble = 1e-3;  // 0.3 is a little less than 300,000,000 billionths
  return static_cast<int64_t>(
      std::floor(std::clamp(gpus, 0.0, kNanoOfAGpu) * kNanoOfAGpu + kDigitsOfADouble));
}

std::vector<std::pair<ClaimId, double>> SharedClaimsOf(PodId pod, const Cluster& cluster) {
  const ClaimNeedsId needs = cluster.ClassOf(pod).claims;
  if (!needs.valid()) return {};
  return cluster.claims().SharedClaimsOf(needs);
}

PodRoom RoomFor(PodId pod, std::span<const double> amounts, double gpu, const Cluster& cluster) {
  const std::span<const double> request = cluster.RequestOf(pod);
  PodRoom room;
  for (size_t i = 0; i < request.size(); ++i) {
    const auto slot = ResourceSlot(static_cast<int32_t>(i));
    const double each = slot == kGpuSlot ? request[i] * kNanoOfAGpu / gpu : request[i];
    if (each <= 0 || amounts[i] / each >= static_cast<double>(room.pods)) continue;
    room = {.pods = static_cast<int64_t>(std::max(0.0, amounts[i] / each)), .slot = slot};
  }
  return room;
}

double DeviceSum::CountedOf(PodId pod) {
  double gpus = 0;
  for (const auto& [claim, devices] : SharedClaimsOf(pod, cluster_)) {
    if (!counted_.insert(claim).second) gpus += devices;
  }
  return gpus;
}

}  // namespace kai
