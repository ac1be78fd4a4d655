// DeviceSum: GPUs of several pods, counted by device: pods that share the devices of a claim hold
// them once (spec 3 D6).
//
//   DeviceSum sum(*cluster);
//   for (const PodId pod : cluster->pods().name.ids()) gpus += sum.Add(pod);
//
// Invariants: a claim counts for the first pod of the sum that uses it. Cost: O(claims of the pod).
// Threads: one writer.
#ifndef KAI_SESSION_DEVICE_SUM_H_
#define KAI_SESSION_DEVICE_SUM_H_

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kai/model/columns/cluster.h"

namespace kai {

// The GPUs that a pod requests; 0 if it requests GPU memory.
double GpusOf(PodId pod, const Cluster& cluster);

// The GPUs that queues count for the MIG slices that a pod requests; no device is one of these.
double GpusOfSlices(PodId pod, const Cluster& cluster);

// Devices, or parts of them, in billionths: 0.3 is 300,000,000. Further digits are cut, so that
// three thirds are no more than one device.
int64_t NanoGpus(double gpus);
constexpr double kNanoOfAGpu = 1e9;

// Of these GPUs, those of claims that other pods may use, too.
std::vector<std::pair<ClaimId, double>> SharedClaimsOf(PodId pod, const Cluster& cluster);

// How many pods like this one some amounts have room for, at most, and the resource that limits
// them. GPUs of `amounts` are in units of `gpu`; parts of devices are not counted.
struct PodRoom {
  int64_t pods = std::numeric_limits<int32_t>::max();
  ResourceSlot slot;
};
PodRoom RoomFor(PodId pod, std::span<const double> amounts, double gpu, const Cluster& cluster);

class DeviceSum {
 public:
  explicit DeviceSum(const Cluster& cluster) : cluster_(cluster) {}

  // GPUs, in billionths, that the pod adds to those before it.
  int64_t Add(PodId pod) { return NanoGpus(GpusOf(pod, cluster_) - CountedOf(pod)); }
  // Those of its GPUs that pods before it have counted already; the pod is one of them now.
  double CountedOf(PodId pod);

 private:
  const Cluster& cluster_;
  absl::flat_hash_set<ClaimId> counted_;
};

}  // namespace kai

#endif  // KAI_SESSION_DEVICE_SUM_H_
