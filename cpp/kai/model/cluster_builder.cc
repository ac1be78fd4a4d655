#include "kai/model/cluster_builder.h"

#include <algorithm>

#include "kai/model/cluster_assembler.h"

namespace kai {
namespace {

constexpr int64_t kDefaultStuckThresholdNs = 120'000'000'000;  // spec 2 S2

}  // namespace

void ClusterAssembler::Finish() {
  std::sort(c_.rejections_.begin(), c_.rejections_.end());
  SortPodSets();
  ListPodGroups();
  SumQueues();
}

std::unique_ptr<Cluster> ClusterBuilder::Build() && {
  auto cluster = std::make_unique<Cluster>();
  if (params_.stuck_in_releasing_threshold_ns <= 0)
    params_.stuck_in_releasing_threshold_ns = kDefaultStuckThresholdNs;
  cluster->params_ = std::move(params_);
  cluster->rejections_ = std::move(rejections_);
  ClusterAssembler assembler(cluster.get());
  if (!claims_.IsServed())
    claims_ = {.claims = {}, .slices = {}, .classes = {}, .are_served = false};
  assembler.Nodes(std::move(nodes_), claims_.slices);
  assembler.Queues(std::move(queues_));
  assembler.PodGroups(std::move(pod_groups_), priority_classes_);
  assembler.Zones(std::move(zones_));
  assembler.Know(config_maps_ ? &*config_maps_ : nullptr, namespaces_, storage_);
  assembler.Pods(std::move(pods_), bind_requests_, &claims_);
  assembler.Finish();
  return cluster;
}

}  // namespace kai
