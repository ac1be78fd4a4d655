#include "kai/model/cluster_builder.h"

#include <algorithm>

#include "kai/base/accelerators.h"
#include "kai/base/saturating.h"
#include "kai/model/cluster_assembler.h"
#include "kai/model/row_lookup.h"

namespace kai {
namespace {

constexpr int64_t kDefaultStuckThresholdNs = 120'000'000'000;  // spec 2 S2

// Devices that are not GPUs to KAI. The resource stays: one vendor's pods want that vendor's nodes.
int64_t OtherAccelerators(const ResourceAmounts& amounts) {
  int64_t devices = 0;
  for (const Accelerator& each : kAccelerators) {
    if (!each.is_gpu)
      devices = AddSaturating(devices, AmountOf(amounts, each.resource) / kMillisPerUnit);
  }
  return devices;
}

void CountAcceleratorsAsGpus(NodeRow* node) {
  const int64_t devices = OtherAccelerators(node->allocatable);
  if (devices > 0) node->allocatable.emplace_back(kAnyGpu, devices);
}

void CountAcceleratorsAsGpus(PodRow* pod) {
  const int64_t devices = OtherAccelerators(pod->requests);
  if (devices == 0 || pod->gpu.kind != GpuRequestKind::kRegular) return;
  pod->gpu.count = AddSaturating(pod->gpu.portion > 0 ? pod->gpu.count : 0, devices);
  pod->gpu.portion = 1;
}

}  // namespace

void ClusterAssembler::Finish() {
  std::sort(c_.rejections_.begin(), c_.rejections_.end());
  SortPodSets();
  ListPodGroups();
  SumQueues();
  SumDomains();
}

std::unique_ptr<Cluster> ClusterBuilder::Build() && {
  auto cluster = std::make_unique<Cluster>();
  if (params_.stuck_in_releasing_threshold_ns <= 0)
    params_.stuck_in_releasing_threshold_ns = kDefaultStuckThresholdNs;
  if (params_.count_mig_as_parts) cluster->slots_ = ResourceSlots(MigCount::kParts);
  if (params_.count_all_accelerators) {
    for (NodeRow& node : nodes_) CountAcceleratorsAsGpus(&node);
    for (PodRow& pod : pods_) CountAcceleratorsAsGpus(&pod);
  }
  cluster->params_ = std::move(params_);
  cluster->rejections_ = std::move(rejections_);
  ClusterAssembler assembler(cluster.get());
  if (!claims_.IsServed())
    claims_ = {.claims = {}, .slices = {}, .classes = {}, .are_served = false};
  assembler.Nodes(std::move(nodes_), claims_.slices);
  assembler.Topologies(std::move(topologies_));
  assembler.Queues(std::move(queues_));
  assembler.PodGroups(std::move(pod_groups_), priority_classes_);
  assembler.Zones(std::move(zones_));
  assembler.Know(config_maps_ ? &*config_maps_ : nullptr, namespaces_, storage_);
  assembler.Pods(std::move(pods_), bind_requests_, &claims_);
  assembler.Finish();
  return cluster;
}

}  // namespace kai
