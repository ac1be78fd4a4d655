#include "kai/sim/first_moment.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "kai/base/check.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {
namespace {

// Pods that have to run together: for a set, the smallest number that satisfies enough of its
// children.
int64_t FewestPodsOf(SubGroupId set, const SubGroupColumns& sets) {
  const auto minimum = static_cast<size_t>(std::max(sets.minimum[set], 0));
  if (sets.is_pod_set[set] != 0) return static_cast<int64_t>(minimum);
  std::vector<int64_t> children;
  for (const SubGroupId child : sets.ChildrenOf(set)) children.push_back(FewestPodsOf(child, sets));
  std::ranges::sort(children);
  children.resize(std::min(children.size(), minimum));
  return std::accumulate(children.begin(), children.end(), int64_t{0});
}

bool IsOver(PodStatus status) {
  return status == PodStatus::kSucceeded || status == PodStatus::kFailed ||
         status == PodStatus::kUnknown;
}

std::vector<FirstMoment::Pod> PodsOfGroup(PodGroupId group, const Cluster& cluster,
                                          const Store& store,
                                          const std::vector<BindRequestRow>& requests) {
  const PodColumns& pods = cluster.pods();
  std::vector<FirstMoment::Pod> found;
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId id : cluster.sub_groups().PodsOf(pod_set)) {
      if (IsOver(pods.status[id])) continue;
      const CompactPod* row = store.Find<PodRow>(cluster.PodName(id));
      KAI_CHECK(row != nullptr) << cluster.PodName(id);
      FirstMoment::Pod pod{.row = row->Row(), .node = row->node_name};
      pod.gpu_groups = pod.row.gpu_groups;
      const QuotaCount& counts = cluster.ClassOf(id).requested;
      pod.micro_gpus = std::llround(counts[kQuotaGpu] * kMicroGpusOfOne);
      if (pods.status[id] == PodStatus::kBinding) {
        for (const BindRequestRow& request : requests) {
          if (request.namespace_name != pod.row.namespace_name || request.pod != pod.row.name)
            continue;
          pod.bind_request = NameInTable(request);
          pod.gpu_groups = request.gpu_groups;
        }
        pod.node = std::string(cluster.Text(cluster.nodes().name[pods.node[id]]));
      }
      found.push_back(std::move(pod));
    }
  }
  std::ranges::sort(found, {}, [](const FirstMoment::Pod& pod) { return pod.row.name; });
  return found;
}

}  // namespace

FirstMoment::FirstMoment(const Store& store, ShardParams params, std::string memory)
    : store_(store), params_(std::move(params)), memory_(std::move(memory)) {
  ClusterRows rows = store_.Rows();
  rows.params = params_;
  const std::vector<BindRequestRow> requests = rows.bind_requests;
  const std::unique_ptr<Cluster> cluster = std::move(rows).Build();
  const PodGroupColumns& groups = cluster->pod_groups();
  for (const PodGroupId id : groups.name.ids()) {
    if (!groups.name[id].valid() || !groups.queue[id].valid()) continue;
    Group group{.name = cluster->PodGroupName(id)};
    group.pods = PodsOfGroup(id, *cluster, store_, requests);
    const CompactPodGroup* row = store_.Find<PodGroupRow>(group.name);
    if (group.pods.empty() || row == nullptr) continue;
    group.row = row->Row();
    group.min_pods = static_cast<int32_t>(std::clamp<int64_t>(
        FewestPodsOf(groups.root[id], cluster->sub_groups()), 1, std::ssize(group.pods)));
    groups_.push_back(std::move(group));
  }
  std::ranges::sort(groups_, {}, &Group::name);
}

}  // namespace kai
