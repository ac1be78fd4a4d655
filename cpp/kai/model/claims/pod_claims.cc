// The claims that pods use.
#include <algorithm>
#include <utility>

#include "kai/model/building/row_lookup.h"
#include "kai/model/claims/claim_assembler.h"

namespace kai {

ClaimId ClaimAssembler::FindMadeFor(const CompactPod& pod) const {
  if (!pod.extras->extended_claim.empty()) {
    const NameId name = names_.Intern(pod.extras->extended_claim);
    return Find(names_.Intern(pod.namespace_name), name);
  }
  const auto owned = made_for_.find(QualifiedName(pod.namespace_name, pod.name));
  if (owned == made_for_.end()) return ClaimId();
  for (const auto& [uid, claim] : owned->second) {
    if (uid.empty() || pod.uid.empty() || uid == pod.uid) return claim;
  }
  return ClaimId();
}

void ClaimAssembler::AddExtendedUse(const CompactPod& pod, bool is_bound,
                                    const ExtendedResources& known) {
  ExtendedClaim asked = MakeExtendedClaim(pod.spec->extended_requests, known);
  // A claim that remains from a failed binding will be deleted; its devices are in use until then.
  ClaimId claim = is_bound ? FindMadeFor(pod) : ClaimId();
  if (!claim.valid()) {
    if (asked.empty()) return;
    claim = Add({.namespace_name = names_.Intern(pod.namespace_name),
                 .name = names_.Intern(kExtendedClaim)});
  }
  // The object's requests are for the node that it was made on; another node may lack other
  // devices.
  if (!asked.empty()) book_.claims_[claim].spec = SpecOf(std::move(asked));
  book_.uses_.push_back({.name = names_.Intern(kExtendedClaim),
                         .claim_name = book_.claims_[claim].name,
                         .claim = claim});
}

ClaimId ClaimAssembler::Find(NameId namespace_name, NameId name) const {
  const auto found = claims_.find({namespace_name, name});
  return found == claims_.end() ? ClaimId() : found->second;
}

void ClaimAssembler::AddUsesOf(const CompactPod& pod, const Standing& standing,
                               const ExtendedResources& extended) {
  const auto begin = static_cast<int32_t>(book_.uses_.size());
  if (!standing.is_reservation) {
    const NameId namespace_name = names_.Intern(pod.namespace_name);
    for (const PodExtrasRow::Claim& claim : pod.extras->claims) {
      ClaimBook::Use& use = book_.uses_.emplace_back();
      use.name = names_.Intern(claim.name);
      use.from_template = claim.from_template;
      if (claim.resource_claim.empty()) continue;
      use.claim_name = names_.Intern(claim.resource_claim);
      use.claim = Find(namespace_name, use.claim_name);
    }
    AddExtendedUse(pod, standing.is_active, extended);
  }
  book_.uses_of_.Add({begin, static_cast<int32_t>(book_.uses_.size())});
  book_.queue_of_.Add(standing.queue);
}

void ClaimAssembler::Assume(PodId pod, const BindRequestRow& request) {
  for (const ClaimBook::Use& use : book_.UsesOf(pod)) {
    if (!use.claim.valid()) continue;
    for (const auto& [name, allocation] : request.claims) {
      if (name != names_.Text(use.name)) continue;
      book_.SetConsumer(use.claim, pod, true);
      if (book_.allocation_[use.claim] == nullptr)
        book_.SetAllocation(use.claim, AllocationOf(allocation));
    }
  }
}

void ClaimAssembler::CountUses() {
  named_.Resize(book_.claims_.size());
  IndexVector<ClaimId, PodId> last_pod(book_.claims_.size());
  for (const PodId pod : book_.uses_of_.ids()) {
    for (const ClaimBook::Use& use : book_.UsesOf(pod)) {
      if (!use.claim.valid()) continue;
      ++named_[use.claim];
      if (last_pod[use.claim].valid() && last_pod[use.claim] != pod)
        book_.claims_[use.claim].is_shared = true;
      last_pod[use.claim] = pod;
    }
  }
}

ClaimNeedsId ClaimAssembler::NeedsOf(PodId pod, bool is_active) {
  const std::span<const ClaimBook::Use> uses = book_.UsesOf(pod);
  if (uses.empty()) return ClaimNeedsId();
  ClaimNeeds needs{.uses = {}, .refusal = book_.LastingRefusalOf(pod)};
  for (const ClaimBook::Use& use : uses) {
    if (!use.claim.valid()) continue;
    // A claim of the pod's own: while a node is searched, it has no allocation, and no other pod
    // uses it.
    const bool others = book_.ConsumersOf(use.claim) > (book_.IsConsumer(use.claim, pod) ? 1 : 0);
    const bool kept = book_.allocation_[use.claim] != nullptr && !is_active;
    if (named_[use.claim] == 1 && !others && !kept) {
      needs.uses.push_back({.name = use.name, .claim = {}, .spec = book_.claims_[use.claim].spec});
    } else {
      needs.uses.push_back({.name = use.name, .claim = use.claim, .spec = -1});
    }
  }
  return book_.needs_.Add(std::move(needs));
}

}  // namespace kai
