#include "kai/model/claims/claim_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kai/dra/selector_costs.h"

namespace kai {

// ---- before nodes are checked

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
  // In the order of the claims in the pod's spec, each checked in the order of spec 3 D5.
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
  const std::vector<ClaimNeeds::Use>& uses = needs_[id].uses;
  return std::ranges::any_of(uses,
                             [&](const ClaimNeeds::Use& use) {
                               return use.claim.valid() && ConsumersOf(use.claim) >= kMostConsumers;
                             }) ||
         std::ranges::any_of(UnallocatedSpecs(id), [&](int32_t spec) {
           return specs_[static_cast<size_t>(spec)].missing_class.has_value();
         });
}

std::vector<int32_t> ClaimBook::UnallocatedSpecs(ClaimNeedsId id) const {
  std::vector<int32_t> specs;
  for (const ClaimNeeds::Use& use : needs_[id].uses) {
    if (!use.claim.valid()) {
      specs.push_back(use.spec);
    } else if (allocation_[use.claim] == nullptr) {
      specs.push_back(claims_[use.claim].spec);
    }
  }
  return specs;
}

std::vector<std::pair<ClaimUse, int32_t>> ClaimBook::UnallocatedUses(PodId pod) const {
  std::vector<std::pair<Use, int32_t>> uses;
  for (const Use& use : UsesOf(pod)) {
    if (use.claim.valid() && allocation_[use.claim] == nullptr)
      uses.emplace_back(use, claims_[use.claim].spec);
  }
  return uses;
}

size_t ClaimBook::devices() const {
  size_t devices = 0;
  for (const ResourceSlice& slice : devices_.slices()) devices += slice.devices.size();
  return devices;
}

bool ClaimBook::SelectorsCostTooMuch(int32_t spec) const {
  return kai::SelectorsCostTooMuch(specs_[static_cast<size_t>(spec)].requests, devices_.slices());
}

// ---- a node

int64_t ClaimBook::VersionOf(const NodePools& pools) const {
  int64_t version = 0;  // versions only increase: equal sums mean equal versions
  for (const int32_t number : pools.numbers) version += pool_version_[static_cast<size_t>(number)];
  return version;
}

std::optional<DeviceClaim> ClaimBook::ClaimNeededFor(NameId use, int32_t spec, NodeId node) const {
  const ClaimSpec& wanted = specs_[static_cast<size_t>(spec)];
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

ClaimId ClaimBook::HeldElsewhere(ClaimNeedsId id, NodeId node) const {
  for (const ClaimNeeds::Use& use : needs_[id].uses) {
    if (!use.claim.valid()) continue;
    const ClaimAllocationPtr& held = allocation_[use.claim];
    if (held != nullptr && !held->anywhere &&
        !MatchesAny(held->nodes, nodes_->labels[node], nodes_->name[node], *names_))
      return use.claim;
  }
  return ClaimId();
}

std::vector<DeviceClaim> ClaimBook::ClaimsNeededOn(ClaimNeedsId id, NodeId node) const {
  std::vector<DeviceClaim> wanted;
  const std::span<const ClaimNeeds::Use> uses = needs_[id].uses;
  for (size_t i = 0; i < uses.size(); ++i) {
    const ClaimNeeds::Use& use = uses[i];
    const bool is_own = !use.claim.valid();
    if (!is_own && (allocation_[use.claim] != nullptr || IsRepeated(uses, i))) continue;
    if (auto claim = ClaimNeededFor(use.name, is_own ? use.spec : claims_[use.claim].spec, node))
      wanted.push_back(*std::move(claim));
  }
  return wanted;
}

bool ClaimBook::UsesClaimsOfOthers(ClaimNeedsId id) const {
  return std::any_of(needs_[id].uses.begin(), needs_[id].uses.end(),
                     [](const auto& use) { return use.claim.valid(); });
}

bool ClaimBook::MustWait(ClaimNeedsId id, NodeId node) const {
  return std::any_of(needs_[id].uses.begin(), needs_[id].uses.end(), [&](const auto& use) {
    return use.claim.valid() && holders_.OnlyWaitOn(use.claim, node);
  });
}

double ClaimBook::SharedGpus(ClaimNeedsId id, NodeId node) const {
  double shared = 0;
  const std::span<const ClaimNeeds::Use> uses = needs_[id].uses;
  for (size_t i = 0; i < uses.size(); ++i) {
    const ClaimNeeds::Use& use = uses[i];
    if (!use.claim.valid() || !claims_[use.claim].is_shared || IsRepeated(uses, i)) continue;
    if (holders_.AnyOn(use.claim, node)) shared += static_cast<double>(claims_[use.claim].gpus);
  }
  return shared;
}

std::vector<std::pair<ClaimId, double>> ClaimBook::SharedClaimsOf(ClaimNeedsId id) const {
  std::vector<std::pair<ClaimId, double>> shared;
  const std::span<const ClaimNeeds::Use> uses = needs_[id].uses;
  for (size_t i = 0; i < uses.size(); ++i) {
    const ClaimId claim = uses[i].claim;
    if (claim.valid() && claims_[claim].is_shared && !IsRepeated(uses, i))
      shared.emplace_back(claim, static_cast<double>(claims_[claim].gpus));
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

std::vector<GivenClaim> ClaimBook::GivenTo(PodId pod) const {
  std::vector<GivenClaim> given;
  for (const Use& use : UsesOf(pod)) {
    if (!use.claim.valid() || allocation_[use.claim] == nullptr) continue;
    GivenClaim& claim = given.emplace_back(
        GivenClaim{.use = use.name, .claim = use.claim_name, .allocation = allocation_[use.claim]});
    const ClaimSpec& spec = specs_[static_cast<size_t>(claims_[use.claim].spec)];
    if (spec.extended.empty()) continue;
    // The requests that were made on this node have devices.
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
