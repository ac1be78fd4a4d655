#include "kai/model/building/pod_writer.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kai/api/keys.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

bool IsKubeflowLead(const CompactPod& row) {
  return HasLabel(*row.labels, keys::kKubeflowRole, "master") ||
         HasLabel(*row.labels, keys::kKubeflowRole, "launcher");
}

// The GPUs that the pod takes of its node's ledger at the start of the cycle.
double LedgerGpusOf(const PodDraft& draft, double whole_gpus) {
  if (draft.is_reservation) return 0;  // spec 3 N3
  if (!draft.gpu.IsShared()) return whole_gpus;
  // If no record names the devices of a sharer, it holds whole devices. KAI then counts none.
  return draft.gpu_groups().empty() ? static_cast<double>(draft.gpu.count) : 0;
}

}  // namespace

SubGroupId PodWriter::PodSetOf(PodGroupId group, NameId subgroup) const {
  for (const SubGroupId pod_set : groups_.PodSetsOf(group)) {
    if (sets_.name[pod_set] == subgroup) return pod_set;
  }
  return SubGroupId();
}

void PodWriter::Write(PodId pod, const PodDraft& draft, PodClassId pod_class, double whole_gpus,
                      GpuList gpus) {
  const CompactPod& row = *draft.row;
  pods_.name[pod] = names_.Intern(row.name);
  pods_.namespace_name[pod] = names_.Intern(row.namespace_name);
  pods_.pod_class[pod] = pod_class;
  const NameId subgroup = names_.Intern(
      row.spec->subgroup.empty() ? kDefaultSubgroup : std::string_view(row.spec->subgroup));
  pods_.subgroup[pod] = subgroup;
  SubGroupId pod_set;
  if (draft.group.valid()) {
    pod_set = PodSetOf(draft.group, subgroup);
    if (pod_set.valid()) {
      ++sets_.counts[pod_set][draft.status];
    } else {
      groups_.misfits[draft.group].push_back(pod);
    }
  }
  pods_.group[pod] = draft.group;
  pods_.pod_set[pod] = pod_set;
  pods_.created_ns[pod] = row.created_ns.value_or(kNoTime);
  // Only a running pod can be overdue in its deletion (spec 2 S2).
  pods_.deletion_ns[pod] =
      row.phase == Phase::kRunning ? row.deletion_ns.value_or(kNoTime) : kNoTime;
  if (draft.status == PodStatus::kReleasing && pods_.deletion_ns[pod] != kNoTime)
    pods_.leaving.push_back(pod);
  pods_.is_bare[pod] = row.bare ? 1 : 0;
  pods_.is_kubeflow_lead[pod] = IsKubeflowLead(row) ? 1 : 0;
  pods_.is_ray_head[pod] = HasLabel(*row.labels, keys::kRayNodeType, "head") ? 1 : 0;
  const std::string* priority = FindLabelText(*row.labels, keys::kTaskPriority);
  pods_.task_priority[pod] = priority == nullptr ? NameId() : names_.Intern(*priority);
  if (draft.node.valid() && row.extras->topology_rank && *row.extras->topology_rank >= 0 &&
      *row.extras->topology_rank <= std::numeric_limits<int32_t>::max())
    pods_.kept_ranks.emplace_back(pod, static_cast<int32_t>(*row.extras->topology_rank));
  pods_.status[pod] = draft.status;
  pods_.node[pod] = draft.node;
  pods_.is_virtual[pod] = 0;
  pods_.ledger_gpus[pod] = LedgerGpusOf(draft, whole_gpus);
  pods_.gpus[pod] = std::move(gpus);
}

void PodWriter::Remove(PodId pod) {
  if (pods_.pod_set[pod].valid()) {
    --sets_.counts[pods_.pod_set[pod]][pods_.status[pod]];
  } else if (pods_.group[pod].valid()) {
    std::erase(groups_.misfits[pods_.group[pod]], pod);
  }
  std::erase(pods_.leaving, pod);
  std::erase_if(pods_.kept_ranks, [&](const auto& each) { return each.first == pod; });
  pods_.name[pod] = NameId();
  pods_.group[pod] = PodGroupId();
  pods_.pod_set[pod] = SubGroupId();
  pods_.node[pod] = NodeId();
  pods_.status[pod] = PodStatus::kSucceeded;
}

void PodWriter::ListPods(const Cluster& cluster) {
  for (const PodGroupId group : groups_.name.ids()) {
    std::ranges::sort(groups_.misfits[group],
                      [&](PodId a, PodId b) { return cluster.IsNamedBefore(a, b); });
  }
  for (const PodId pod : pods_.name.ids()) {
    if (pods_.pod_set[pod].valid())
      ++sets_.pods[pods_.pod_set[pod]].end;  // so far the number of pods
  }
  int32_t end = 0;
  for (const SubGroupId set : sets_.name.ids()) {
    const int32_t begin = end;
    end += sets_.pods[set].end;
    sets_.pods[set] = {begin, begin};
  }
  sets_.pod_list.resize(static_cast<size_t>(end));
  for (const PodId pod : pods_.name.ids()) {
    if (!pods_.pod_set[pod].valid()) continue;
    sets_.pod_list[static_cast<size_t>(sets_.pods[pods_.pod_set[pod]].end++)] = pod;
  }
}

}  // namespace kai
