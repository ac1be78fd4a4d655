#include "kai/model/claims/claims.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kai {

// ---- before nodes are asked -----------------------------------------------------------------

ClaimRefusalKind ClaimBook::LastingRefusalOf(PodId pod, const Use& use) const {
  if (!is_served_) return ClaimRefusalKind::kNotServed;
  if (!use.claim_name.valid()) return ClaimRefusalKind::kNoClaimYet;
  if (!use.claim.valid()) return ClaimRefusalKind::kMissing;
  const Claim& claim = claims_[use.claim];
  const NameId queue = queue_of_[pod];
  if (use.from_template || claim.gpus == 0 || !queue.valid() || claim.queue_label == queue)
    return ClaimRefusalKind::kNone;
  return claim.queue_label.valid() ? ClaimRefusalKind::kWrongQueueLabel
                                   : ClaimRefusalKind::kNoQueueLabel;
}

ClaimRefusalKind ClaimBook::LastingRefusalOf(PodId pod) const {
  for (const Use& use : UsesOf(pod)) {
    const ClaimRefusalKind refusal = LastingRefusalOf(pod, use);
    if (refusal != ClaimRefusalKind::kNone) return refusal;
  }
  return ClaimRefusalKind::kNone;
}

ClaimRefusal ClaimBook::WhyNot(PodId pod) const {
  // In the order of the spec's claims, and of spec 3 D5 for each.
  for (const Use& use : UsesOf(pod)) {
    ClaimRefusal refusal{
        .kind = LastingRefusalOf(pod, use), .use = use.name, .claim = use.claim_name};
    if (use.claim.valid()) {
      const Claim& claim = claims_[use.claim];
      refusal.queue_label = claim.queue_label;
      if (ConsumersOf(use.claim) >= kMostConsumers) {
        refusal.kind = ClaimRefusalKind::kTooManyConsumers;
      } else if (const auto& missing = specs_[static_cast<size_t>(claim.spec)].missing_class;
                 refusal.kind == ClaimRefusalKind::kNone && missing &&
                 allocation_[use.claim] == nullptr) {
        refusal.kind = ClaimRefusalKind::kNoDeviceClass;
        std::tie(refusal.request, refusal.device_class) = *missing;
      }
    }
    if (refusal.kind == ClaimRefusalKind::kNone) continue;
    if (refusal.kind == ClaimRefusalKind::kWrongQueueLabel) refusal.queue = queue_of_[pod];
    if (refusal.kind == ClaimRefusalKind::kNotServed) {
      for (const Use& each : UsesOf(pod)) refusal.uses.push_back(each.name);
    }
    return refusal;
  }
  return {};
}

bool ClaimBook::RefusesNow(ClaimNeedsId id) const {
  for (const ClaimNeeds::Use& use : needs_[id].uses) {
    int32_t spec = use.spec;
    if (use.claim.valid()) {
      if (ConsumersOf(use.claim) >= kMostConsumers) return true;
      if (allocation_[use.claim] != nullptr) continue;
      spec = claims_[use.claim].spec;
    }
    if (specs_[static_cast<size_t>(spec)].missing_class) return true;
  }
  return false;
}

// ---- a node ---------------------------------------------------------------------------------

bool ClaimBook::Reaches(size_t slice, NodeId node) const {
  const Reach& reach = reach_[slice];
  if (reach.is_local) return reach.node == node;
  return reach.all || MatchesAny(reach.terms, nodes_->labels[node], nodes_->name[node], *names_);
}

const ClaimBook::NodePools& ClaimBook::PoolsOf(NodeId node) const {
  std::unique_ptr<NodePools>& made = pools_[node];
  if (made != nullptr) return *made;
  made = std::make_unique<NodePools>();
  std::vector<int32_t>& groups = made->groups;
  groups = wide_groups_;
  if (const auto local = local_groups_.find(node); local != local_groups_.end())
    groups.insert(groups.end(), local->second.begin(), local->second.end());
  std::sort(groups.begin(), groups.end());  // that is by driver and name
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  for (const int32_t group : groups) {
    const Span32 range = groups_[static_cast<size_t>(group)].slices;
    const auto slices = std::span(slices_).subspan(static_cast<size_t>(range.begin),
                                                   static_cast<size_t>(range.size()));
    for (Pool& pool : GatherPools(slices, {}, [&](const ResourceSlice& slice, const Device*) {
           return Reaches(static_cast<size_t>(&slice - slices_.data()), node);
         })) {
      made->pools.push_back(std::move(pool));
    }
  }
  return *made;
}

int64_t ClaimBook::VersionOf(const NodePools& pools) const {
  int64_t version = 0;  // each of them only rises: equal sums are equal versions
  for (const int32_t group : pools.groups) version += group_version_[static_cast<size_t>(group)];
  return version;
}

std::optional<DeviceClaim> ClaimBook::WantedBy(NameId use, int32_t spec, NodeId node) const {
  const Spec& wanted = specs_[static_cast<size_t>(spec)];
  DeviceClaim claim{
      .name = std::string(names_->Text(use)), .requests = {}, .constraints = wanted.constraints};
  for (size_t i = 0; i < wanted.requests.size(); ++i) {
    const bool has_plugin =
        !wanted.plugins.empty() && has_plugin_[static_cast<size_t>(wanted.plugins[i])][node] != 0;
    if (!has_plugin) claim.requests.push_back(wanted.requests[i]);
  }
  if (claim.requests.empty() && !wanted.plugins.empty()) return std::nullopt;
  return claim;
}

ClaimBook::Answer ClaimBook::Ask(ClaimNeedsId id, NodeId node) const {
  const ClaimNeeds& needs = needs_[id];
  for (const ClaimNeeds::Use& use : needs.uses) {
    if (!use.claim.valid()) continue;
    const ClaimAllocationPtr& allocation = allocation_[use.claim];
    if (allocation != nullptr && !allocation->anywhere &&
        !MatchesAny(allocation->nodes, nodes_->labels[node], nodes_->name[node], *names_))
      return {.kind = Answer::Kind::kElsewhere, .claim = use.claim, .error = {}};
  }
  const bool all_its_own = std::none_of(needs.uses.begin(), needs.uses.end(),
                                        [](const auto& use) { return use.claim.valid(); });
  const NodePools& pools = PoolsOf(node);
  KnownAnswer* known = nullptr;
  if (all_its_own) {
    known = &known_[{id, node}];
    const int64_t version = VersionOf(pools);
    if (known->version == version) return known->answer;
    known->version = version;
  }
  std::vector<DeviceClaim> wanted;
  const auto want = [&](NameId use, int32_t spec) {
    if (std::optional<DeviceClaim> claim = WantedBy(use, spec, node))
      wanted.push_back(*std::move(claim));
  };
  const std::span<const ClaimNeeds::Use> uses = needs.uses;
  for (size_t i = 0; i < uses.size(); ++i) {
    const ClaimNeeds::Use& use = uses[i];
    if (!use.claim.valid()) {
      want(use.name, use.spec);
    } else if (allocation_[use.claim] == nullptr && !IsRepeated(uses, i)) {
      want(use.name, claims_[use.claim].spec);
    }
  }
  Answer answer;
  if (!wanted.empty()) {
    // KAI runs with every optional feature switched off (spec 3 D7).
    const absl::StatusOr<DeviceAllocation> found =
        AllocateDevices(pools.pools, in_use_, wanted, AllocatorOptions());
    if (!found.ok()) {
      answer = {.kind = Answer::Kind::kError,
                .claim = {},
                .error = std::string(found.status().message())};
    } else if (!found->fits) {
      answer.kind = Answer::Kind::kNoDevices;
    }
  }
  if (known != nullptr) known->answer = answer;
  return answer;
}

bool ClaimBook::LooksBeyondNode(ClaimNeedsId id) const {
  return !wide_groups_.empty() || std::any_of(needs_[id].uses.begin(), needs_[id].uses.end(),
                                              [](const auto& use) { return use.claim.valid(); });
}

bool ClaimBook::MustWait(ClaimNeedsId id, NodeId node) const {
  return std::any_of(needs_[id].uses.begin(), needs_[id].uses.end(), [&](const auto& use) {
    if (!use.claim.valid()) return false;
    const auto holders = holders_.find({use.claim, node});
    return holders != holders_.end() && holders->second.promised > 0 &&
           holders->second.staying + holders->second.leaving == 0;
  });
}

double ClaimBook::SharedGpus(ClaimNeedsId id, NodeId node) const {
  double shared = 0;
  const std::span<const ClaimNeeds::Use> uses = needs_[id].uses;
  for (size_t i = 0; i < uses.size(); ++i) {
    const ClaimNeeds::Use& use = uses[i];
    if (!use.claim.valid() || !claims_[use.claim].is_shared || IsRepeated(uses, i)) continue;
    const auto holders = holders_.find({use.claim, node});
    if (holders != holders_.end() && holders->second.any())
      shared += static_cast<double>(claims_[use.claim].gpus);
  }
  return shared;
}

double ClaimBook::MostSharedGpus(ClaimNeedsId id) const {
  double shared = 0;
  for (const ClaimNeeds::Use& use : needs_[id].uses) {
    if (use.claim.valid() && claims_[use.claim].is_shared)
      shared += static_cast<double>(claims_[use.claim].gpus);
  }
  return shared;
}

std::vector<ClaimBook::GivenClaim> ClaimBook::GivenTo(PodId pod) const {
  std::vector<GivenClaim> given;
  for (const Use& use : UsesOf(pod)) {
    if (!use.claim.valid() || allocation_[use.claim] == nullptr) continue;
    GivenClaim& claim = given.emplace_back(
        GivenClaim{.use = use.name, .claim = use.claim_name, .allocation = allocation_[use.claim]});
    const Spec& spec = specs_[static_cast<size_t>(claims_[use.claim].spec)];
    if (spec.extended.empty()) continue;
    // A request that was made on this node has a device.
    const auto was_made = [&](std::string_view request) {
      return std::any_of(claim.allocation->devices.begin(), claim.allocation->devices.end(),
                         [&](const auto& device) { return device.request == request; });
    };
    claim.extended = spec.extended;
    std::erase_if(claim.extended.requests, [&](const auto& each) { return !was_made(each.name); });
    std::erase_if(claim.extended.containers,
                  [&](const auto& each) { return !was_made(each.request); });
  }
  return given;
}

}  // namespace kai
