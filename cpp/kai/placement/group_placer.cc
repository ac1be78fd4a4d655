#include "kai/placement/group_placer.h"

#include <algorithm>

#include "kai/model/messages.h"

namespace kai {
GroupPlacer::Result GroupPlacer::Place(PodGroupId group, Mode mode, Statement* statement) {
  Result result;
  const PodList pods = order_->PodsToPlace(group);
  if (pods.empty()) return result;
  result.had_pods = true;
  if (options_.check_capacity && !PassesGates(group, pods, &result.error)) return result;
  const Statement::Checkpoint start = statement->Mark();
  result.placed = PlaceSet(cluster_.pod_groups().root[group], pods, mode, statement, &result.error);
  if (!result.placed) statement->RollBackTo(start);
  return result;
}

bool GroupPlacer::PassesGates(PodGroupId group, std::span<const PodId> pods,
                              PlaceError* error) const {
  QuotaVector requested{};
  for (const PodId pod : pods) requested += cluster_.ClassOf(pod).gate_requested;
  return PassesGates(group, requested, error);
}

bool GroupPlacer::NodeAllowance::Allows(double gpus) const {
  if (!placer_.options_.check_capacity || !placer_.options_.check_nodes) return true;
  PlaceError error;
  return placer_.PassesGates(group_, RequestedWith(gpus), &error);
}

std::string GroupPlacer::NodeAllowance::Why(double gpus) const {
  PlaceError error;
  placer_.PassesGates(group_, RequestedWith(gpus), &error);
  return messages::NoCapacityOnNode(error.reason, error.message);
}

bool GroupPlacer::PassesGates(PodGroupId group, const QuotaVector& requested,
                              PlaceError* error) const {
  const QueueId queue = cluster_.pod_groups().queue[group];
  const auto path = usage_->path(queue);
  CapacityAnswer answer = CheckLimit(path, requested, options_.quota_tolerance);
  if (answer.fits() && cluster_.pod_groups().preemptible[group] == 0)
    answer = CheckNonPreemptibleQuota(path, requested, options_.quota_tolerance);
  if (answer.fits()) return true;

  QueueId refusing = queue;
  for (size_t i = 0; i < answer.level; ++i) refusing = cluster_.queues().parent[refusing];
  const std::string_view name = cluster_.Text(cluster_.queues().display_name[refusing]);
  const Share& share = (*path[answer.level])[answer.resource];
  const double wanted = requested[answer.resource];
  error->queue = refusing;
  if (answer.reason == CapacityReason::kOverLimit) {
    error->kind = PlaceError::Kind::kOverLimit;
    error->reason = messages::kOverLimit;
    error->message =
        messages::OverLimit(name, answer.resource, share.limit, share.allocated, wanted);
  } else {
    error->kind = PlaceError::Kind::kNonPreemptibleOverQuota;
    error->reason = messages::kNonPreemptibleOverQuota;
    error->message = messages::NonPreemptibleOverQuota(name, answer.resource, share.deserved,
                                                       share.allocated_non_preemptible, wanted);
  }
  return false;
}

bool GroupPlacer::PlaceSet(SubGroupId set, std::span<const PodId> pods, Mode mode,
                           Statement* statement, PlaceError* error) {
  if (pods.empty()) return true;
  // One subset of nodes until topology splits them (spec 2 P1): all of them, with a checkpoint of
  // its own.
  const Statement::Checkpoint start = statement->Mark();
  bool placed = true;
  if (cluster_.sub_groups().is_pod_set[set] != 0) {
    placed = PlacePodSet(set, pods, mode, statement, error);
  } else {
    const auto is_below = [&](SubGroupId pod_set, SubGroupId ancestor) {
      while (pod_set.valid() && pod_set != ancestor)
        pod_set = cluster_.sub_groups().parent[pod_set];
      return pod_set.valid();
    };
    const SubGroupList children = order_->ChildrenOf(set);
    for (const SubGroupId child : children) {
      if (children.size() == 1) {  // everybody is below it
        placed = PlaceSet(child, pods, mode, statement, error);
        break;
      }
      PodList below;
      std::copy_if(pods.begin(), pods.end(), std::back_inserter(below),
                   [&](PodId pod) { return is_below(cluster_.pods().pod_set[pod], child); });
      placed = PlaceSet(child, below, mode, statement, error);
      if (!placed) break;
    }
  }
  if (!placed) statement->RollBackTo(start);
  return placed;
}

bool GroupPlacer::PlacePodSet(SubGroupId pod_set, std::span<const PodId> pods, Mode mode,
                              Statement* statement, PlaceError* error) {
  for (size_t i = 0; i < pods.size(); ++i) {
    const NodeAllowance allowance = AllowanceOf(pods[i]);
    const NodeSearch::Found found = search_->Find(cluster_.pods().pod_class[pods[i]], &allowance);
    if (!found.node.valid()) {
      if (mode == Mode::kReal)
        *error = NoNodeError(pod_set, pods[i], static_cast<int32_t>(i), allowance);
      return false;
    }
    if (mode == Mode::kReal && found.now) {
      statement->Place(pods[i], found.node, found.gpus);
    } else {
      statement->Pipeline(pods[i], found.node, found.gpus);
    }
  }
  return true;
}

PlaceError GroupPlacer::NoNodeError(SubGroupId pod_set, PodId pod, int32_t found,
                                    const NodeAllowance& allowance) const {
  // spec 2 P6
  const SubGroupColumns& sets = cluster_.sub_groups();
  const PodGroupId group = sets.group[pod_set];
  const Span32 range = cluster_.pod_groups().pod_sets[group];
  const auto begin = cluster_.pod_groups().pod_set_list.begin();
  const bool is_gang = std::any_of(begin + range.begin, begin + range.end,
                                   [&](SubGroupId id) { return order_->MinimumOf(id) > 1; });
  const bool had_minimum = sets.counts[pod_set].active_used() >= order_->MinimumOf(pod_set);
  PlaceError error{.kind = PlaceError::Kind::kNoNode,
                   .reason = std::string(messages::kPodSchedulingErrors),
                   .message = {},
                   .pod = pod,
                   .pod_message = search_->Explain(pod, &allowance),
                   .below_minimum = is_gang && !had_minimum,
                   .queue = QueueId()};
  const int32_t minimum = order_->MinimumOf(pod_set);
  if (!error.below_minimum) {
    error.message = messages::NoNodeForPod(cluster_.PodName(pod), error.pod_message);
  } else if (range.size() == 1 && cluster_.SubgroupText(pod_set).empty()) {
    error.message = messages::GangIncomplete(found, minimum, error.pod_message);
  } else {
    error.message = messages::SubgroupGangIncomplete(found, cluster_.Text(sets.name[pod_set]),
                                                     minimum, error.pod_message);
  }
  return error;
}

}  // namespace kai
