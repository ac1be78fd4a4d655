#include "kai/sim/given_claims.h"

#include <algorithm>
#include <utility>

#include "kai/base/text.h"

namespace kai {

std::optional<BindRequestRow> RequestOf(const Plan& plan, const CycleLog::Decision& decision) {
  const auto given =
      std::ranges::find(plan.claims, decision.pod, [](const auto& each) { return each.first; });
  if (given == plan.claims.end()) return std::nullopt;
  const Cluster& cluster = *plan.cluster;
  BindRequestRow request;
  request.namespace_name = cluster.Text(cluster.pods().namespace_name[decision.pod]);
  request.name = request.pod = cluster.Text(cluster.pods().name[decision.pod]);
  request.node = cluster.Text(cluster.nodes().name[decision.node]);
  request.gpu_groups = plan.GpuGroupsOf(decision);
  request.received_type = request.gpu_groups.empty() ? "Regular" : "Fraction";
  for (const GivenClaim& claim : given->second) {
    ClaimAllocationRow& allocation =
        request.claims.emplace_back(cluster.Text(claim.use), ClaimAllocationRow()).second;
    for (const ClaimAllocation::Given& each : claim.allocation->devices) {
      allocation.devices.push_back(
          {.request = each.request, .device = each.device, .admin_access = each.admin_access});
    }
    if (claim.allocation->anywhere) continue;
    // The node satisfies the original term, and the devices of a claim are on one node.
    allocation.has_node_selector = true;
    allocation.node_selector = {
        {.expressions = {},
         .fields = {{.key = "metadata.name", .op = SelectorOp::kIn, .values = {request.node}}}}};
  }
  return request;
}

void ReleaseClaims(const PodRow& pod, Store* store) {
  if (!pod.extended_claim.empty()) {
    store->Delete(Kind::kResourceClaim, StrCat(pod.namespace_name, "/", pod.extended_claim));
  }
  for (const PodExtrasRow::Claim& use : pod.claims) {
    if (use.resource_claim.empty()) continue;
    const ResourceClaimRow* known =
        store->Find<ResourceClaimRow>(StrCat(pod.namespace_name, "/", use.resource_claim));
    if (known == nullptr) continue;
    ResourceClaimRow claim = *known;
    std::erase_if(claim.consumers, [&](const auto& each) { return each.pod == pod.name; });
    if (claim.consumers.empty()) claim.allocation.reset();
    if (claim != *known) store->Upsert(std::move(claim));
  }
}

}  // namespace kai
