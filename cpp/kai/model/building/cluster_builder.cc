#include "kai/model/building/cluster_builder.h"

#include <algorithm>

#include "kai/api/accelerators.h"
#include "kai/base/saturating.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

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

ClusterBuilder::ClusterBuilder(ShardParams params) { rows_.params = std::move(params); }

void ClusterBuilder::Add(NodeRow row) { rows_.nodes.push_back(std::move(row)); }
void ClusterBuilder::Add(PodRow row) { rows_.pods.push_back(std::move(row)); }
void ClusterBuilder::Add(PodGroupRow row) { rows_.pod_groups.push_back(std::move(row)); }
void ClusterBuilder::Add(QueueRow row) { rows_.queues.push_back(std::move(row)); }
void ClusterBuilder::Add(PriorityClassRow row) { rows_.priority_classes.push_back(std::move(row)); }
void ClusterBuilder::Add(TopologyRow row) { rows_.topologies.push_back(std::move(row)); }
void ClusterBuilder::Reject(Rejection rejection) {
  rows_.rejections.push_back(std::move(rejection));
}

std::unique_ptr<Cluster> ClusterBuilder::Build() && {
  auto cluster = std::make_unique<Cluster>();
  if (rows_.params.stuck_in_releasing_threshold_ns <= 0)
    rows_.params.stuck_in_releasing_threshold_ns = kDefaultStuckThresholdNs;
  if (rows_.params.count_mig_as_parts) cluster->slots_ = ResourceSlots(MigCount::kParts);
  if (rows_.params.count_all_accelerators) {
    for (NodeRow& node : rows_.nodes) CountAcceleratorsAsGpus(&node);
    for (PodRow& pod : rows_.pods) CountAcceleratorsAsGpus(&pod);
  }
  cluster->params_ = std::move(rows_.params);
  cluster->rejections_ = std::move(rows_.rejections);
  ClusterAssembler assembler(cluster.get());
  ClaimRows claims{.claims = std::move(rows_.claims),
                   .slices = std::move(rows_.slices),
                   .classes = std::move(rows_.device_classes),
                   .are_served = rows_.serves_claims};
  if (!claims.IsServed()) claims = {.claims = {}, .slices = {}, .classes = {}, .are_served = false};
  assembler.Nodes(std::move(rows_.nodes), claims.slices);
  assembler.Topologies(std::move(rows_.topologies));
  assembler.Queues(std::move(rows_.queues));
  assembler.PodGroups(std::move(rows_.pod_groups), rows_.priority_classes);
  assembler.Zones(std::move(rows_.zones));
  assembler.Know(rows_.config_maps ? &*rows_.config_maps : nullptr, rows_.namespaces,
                 rows_.storage);
  assembler.Pods(std::move(rows_.pods), rows_.bind_requests, &claims);
  assembler.Finish();
  return cluster;
}

std::unique_ptr<Cluster> ClusterRows::Build() const& { return ClusterBuilder(*this).Build(); }
std::unique_ptr<Cluster> ClusterRows::Build() && {
  return ClusterBuilder(std::move(*this)).Build();
}

}  // namespace kai
