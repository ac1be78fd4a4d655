#include "kai/model/building/pod_facts.h"

#include <set>
#include <tuple>
#include <utility>

#include "kai/api/keys.h"
#include "kai/base/saturating.h"
#include "kai/model/building/row_lookup.h"

namespace kai {

PodStatus StatusOf(const CompactPod& row, bool is_being_bound) {
  const bool deleting = row.deletion_ns.has_value();
  switch (row.phase) {
    case Phase::kRunning:
      return deleting ? PodStatus::kReleasing : PodStatus::kRunning;
    case Phase::kPending:
      if (deleting) return PodStatus::kReleasing;
      if (!row.node_name.empty()) return PodStatus::kBound;
      if (is_being_bound) return PodStatus::kBinding;
      return row.gated ? PodStatus::kGated : PodStatus::kPending;
    case Phase::kSucceeded:
      return PodStatus::kSucceeded;
    case Phase::kFailed:
      return PodStatus::kFailed;
    case Phase::kUnknown:
      break;
  }
  return PodStatus::kUnknown;
}

bool IsReservation(const CompactPod& row) {
  return HasLabel(*row.labels, keys::kApp, keys::kReservationApp);
}

bool IsUtility(const CompactPod& row) {
  return IsReservation(row) || HasLabel(*row.labels, keys::kApp, keys::kScalingPodApp);
}

void BindRequests::Add(const BindRequestRow& row) {
  by_pod_[QualifiedName(row.namespace_name, row.pod)].push_back(row);
  pod_of_[NameOf(row)] = row.pod;
}

std::string BindRequests::Remove(std::string_view namespace_name, std::string_view name) {
  const auto known = pod_of_.find(QualifiedName(namespace_name, name));
  if (known == pod_of_.end()) return "";
  std::string pod = std::move(known->second);
  pod_of_.erase(known);
  const auto rows = by_pod_.find(QualifiedName(namespace_name, pod));
  std::erase_if(rows->second, [&](const BindRequestRow& row) { return row.name == name; });
  if (rows->second.empty()) by_pod_.erase(rows);
  return pod;
}

std::vector<std::pair<std::string_view, std::string_view>> BindRequests::PodsFor(
    std::string_view node) const {
  std::vector<std::pair<std::string_view, std::string_view>> pods;
  for (const auto& [pod, rows] : by_pod_) {
    for (const BindRequestRow& row : rows) {
      if (row.node == node) pods.emplace_back(row.namespace_name, row.pod);
    }
  }
  return pods;
}

const BindRequestRow* BindRequests::Find(const CompactPod& pod) const {
  if (by_pod_.empty()) return nullptr;
  const auto found = by_pod_.find(NameOf(pod));
  if (found == by_pod_.end()) return nullptr;
  const BindRequestRow* counts = nullptr;
  for (const BindRequestRow& row : found->second) {
    const bool failed =
        row.phase == "Failed" && (!row.backoff_limit || row.failed_attempts >= *row.backoff_limit);
    if (failed || !directory_.FindNode(row.node).valid()) continue;
    if (counts == nullptr || std::tie(row.name, row.node) < std::tie(counts->name, counts->node))
      counts = &row;
  }
  return counts;
}

GpusOfClaims::GpusOfClaims(const std::vector<const ResourceClaimRow*>& claims) {
  for (const ResourceClaimRow* claim : claims) {
    by_name_.emplace(NameOf(*claim), claim);
    if (!claim->owner_pod.empty())
      by_owner_[QualifiedName(claim->namespace_name, claim->owner_pod)].push_back(claim);
  }
}

int64_t GpusOfClaims::Of(const CompactPod& pod) const {
  if (by_name_.empty()) return 0;
  std::set<const ResourceClaimRow*> claims;
  if (const auto own = by_owner_.find(NameOf(pod)); own != by_owner_.end())
    claims.insert(own->second.begin(), own->second.end());
  for (const PodExtrasRow::Claim& claim : pod.extras->claims) {
    if (claim.from_template) continue;
    const auto found = by_name_.find(QualifiedName(pod.namespace_name, claim.resource_claim));
    if (found != by_name_.end()) claims.insert(found->second);
  }
  int64_t gpus = 0;
  for (const ResourceClaimRow* claim : claims) gpus = AddSaturating(gpus, claim->gpus);
  return gpus;
}

}  // namespace kai
