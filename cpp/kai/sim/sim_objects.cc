#include "kai/sim/sim_objects.h"

#include <utility>

#include "kai/api/keys.h"
#include "kai/base/text.h"

namespace kai {

std::string_view ModelOf(const NodeRow& node) {
  for (const auto& [key, value] : node.labels)
    if (key == keys::kGpuProduct) return value;
  return "";
}

std::string SimObjects::PodName(const SimJob& job, int32_t number) const {
  if (job.given < 0) return StrCat(kNamespace, "/", job.name, "-", number);
  const PodRow& row = GivenTo(job).pods[static_cast<size_t>(number)].row;
  return StrCat(row.namespace_name, "/", row.name);
}

std::string SimObjects::GroupName(const SimJob& job) {
  return job.given < 0 ? StrCat(kNamespace, "/", job.name) : job.name;
}

std::optional<int64_t> SimObjects::Date(std::optional<int64_t> since_start_ns) const {
  if (!since_start_ns) return std::nullopt;
  return start_ns_ + *since_start_ns;
}

PodGroupRow SimObjects::GroupRow(const SimJob& job, const Stamps& stamps) const {
  PodGroupRow row;
  if (job.given >= 0) row = GivenTo(job).row;
  row.last_start_ns = Date(stamps.last_start_ns);
  row.stale_since_ns = Date(stamps.stale_since_ns);
  row.last_eviction_ns = Date(stamps.last_eviction_ns);
  row.service = stamps.service;
  if (job.given >= 0) return row;
  row.namespace_name = kNamespace;
  row.name = job.name;
  row.created_ns = Date(job.arrival_ns);
  if (job.estimate_ns >= 0) row.estimate_ns = job.estimate_ns;
  row.queue = workload_.queues[static_cast<size_t>(job.queue)].name;
  row.priority_class = job.priority_class;
  row.preemptibility = job.preemptibility;
  row.min_member = job.min_pods;
  return row;
}

PodRow SimObjects::GivenRow(const SimJob& job, PodState state) const {
  PodRow row = GivenTo(job).pods[static_cast<size_t>(state.number)].row;
  row.bare = false;  // in a simulation, every pod that is evicted comes back
  if (state.generation > 0) {
    // Claims and volumes refer to their pod by UID, so such a pod keeps it.
    if (row.claims.empty() && row.volumes.empty() && row.extended_claim.empty())
      row.uid = StrCat(row.uid, ".", state.generation);
    row.created_ns = Date(state.created_ns);
    row.nominated_node.clear();
    row.topology_rank.reset();
    row.zone_records.clear();
    row.extended_claim.clear();
  }
  row.deletion_ns = Date(state.deletion_ns);
  row.phase = state.runs ? Phase::kRunning : Phase::kPending;
  if (!state.node.empty() && (state.generation > 0 || row.node_name.empty()))
    row.received_type = row.gpu.IsShared() ? "Fraction" : "Regular";
  if (state.node.empty()) row.received_type.clear();
  row.gpu_groups = std::move(state.gpu_groups);
  row.node_name = std::move(state.node);
  return row;
}

PodRow SimObjects::PodRowOf(const SimJob& job, PodState state) const {
  if (job.given >= 0) return GivenRow(job, std::move(state));
  PodRow row;
  row.namespace_name = kNamespace;
  row.name = StrCat(job.name, "-", state.number);
  row.uid = StrCat(row.name, ".", state.generation);
  row.created_ns = Date(state.created_ns);
  row.deletion_ns = Date(state.deletion_ns);
  row.pod_group = job.name;
  row.node_name = std::move(state.node);
  row.phase = state.runs ? Phase::kRunning : Phase::kPending;
  row.scheduler_name = scheduler_name_;
  row.requests = {{"cpu", job.millicpu}, {"memory", job.memory_bytes}};
  const bool is_part = job.micro_gpus > 0 && job.micro_gpus < kMicroGpusOfOne;
  if (is_part) {
    row.gpu = {.kind = GpuRequestKind::kFraction,
               .count = 1,
               .portion = static_cast<double>(job.micro_gpus) / kMicroGpusOfOne,
               .mig = {}};
  } else if (job.micro_gpus > 0) {
    row.gpu = {.count = job.micro_gpus / kMicroGpusOfOne, .portion = 1, .mig = {}};
  }
  const std::vector<std::string>& models = workload_.model_sets[static_cast<size_t>(job.models)];
  if (!models.empty()) {
    row.has_node_affinity = true;
    row.node_affinity = {{.expressions = {{.key = std::string(keys::kGpuProduct),
                                           .op = SelectorOp::kIn,
                                           .values = models}},
                          .fields = {}}};
  }
  if (!row.node_name.empty()) {
    row.received_type = is_part ? "Fraction" : "Regular";
    row.gpu_groups = std::move(state.gpu_groups);
  }
  return row;
}

}  // namespace kai
