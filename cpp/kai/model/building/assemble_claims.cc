// Resource claims of pods: who uses which, and what they ask of nodes (spec 3 §12).
#include <algorithm>
#include <map>

#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"
#include "kai/model/claims/claim_assembler.h"

namespace kai {
namespace {

// Rows that share a name all go; rows without one are of tests that count GPUs and nothing else.
template <typename Row, typename KeyOf>
std::vector<Row*> UniqueAndNamed(std::vector<Row>* rows, const char* kind, const KeyOf& key,
                                 std::vector<Rejection>* rejections) {
  std::erase_if(*rows, [](const Row& row) { return row.name.empty(); });
  return SortedAndUnique(rows, kind, key, rejections);
}

}  // namespace

void ClusterAssembler::InternClaims(std::vector<PodDraft>* drafts, ClaimRows* rows,
                                    const std::vector<ResourceClaimRow*>& claims) {
  ClaimBook& book = c_.claims_;
  const std::vector<DeviceClassRow*> classes =
      UniqueAndNamed(&rows->classes, "DeviceClass", NameKey<DeviceClassRow>, &c_.rejections_);
  const ExtendedResources extended(classes);
  const bool any_made_for_pods =
      std::any_of(claims.begin(), claims.end(),
                  [](const ResourceClaimRow* claim) { return claim->for_extended_resource; });
  const bool any_used =
      any_made_for_pods || std::any_of(drafts->begin(), drafts->end(), [&](const PodDraft& draft) {
        return !draft.row->claims.empty() || extended.AnyOf(draft.row->extended_requests);
      });
  if (!any_used) return;
  book.nodes_ = &c_.nodes_;
  book.names_ = &c_.names_;
  book.node_name_field_ = Name("metadata.name");
  book.is_served_ = rows->IsServed();
  book.pools_ = IndexVector<NodeId, std::unique_ptr<ClaimBook::NodePools>>(node_rows_.size());
  ClaimAssembler assembler(&book, &c_.names_, node_rows_);
  assembler.AddClasses(classes);
  assembler.AddSlices(
      UniqueAndNamed(&rows->slices, "ResourceSlice", NameKey<ResourceSliceRow>, &c_.rejections_),
      node_by_name_);
  assembler.AddClaims(claims, c_.params_.queue_label_key);
  for (const PodDraft& draft : *drafts) ListClaimsOf(draft, extended, &assembler);
  FindConsumers(*drafts, claims);
  for (size_t i = 0; i < drafts->size(); ++i) {
    const PodDraft& draft = (*drafts)[i];
    if (draft.bind_request == nullptr || !IsActiveUsed(draft.status)) continue;
    for (const ClaimBook::Use& use : book.UsesOf(PodId(i))) {
      for (const auto& [name, allocation] : draft.bind_request->claims) {
        if (use.claim.valid() && name == c_.Text(use.name))
          assembler.Assume(use.claim, PodId(i), allocation);
      }
    }
  }
  SettleClaimNeeds(drafts, &assembler);
}

void ClusterAssembler::ListClaimsOf(const PodDraft& draft, const ExtendedResources& extended,
                                    ClaimAssembler* assembler) {
  ClaimBook& book = c_.claims_;
  const PodRow& row = *draft.row;
  const auto begin = static_cast<int32_t>(book.uses_.size());
  const NameId namespace_name = Name(row.namespace_name);
  for (const PodRow::Claim& claim : row.claims) {
    if (draft.is_reservation) break;  // it holds a device for others (spec 3 N3)
    ClaimBook::Use& use = book.uses_.emplace_back();
    use.name = Name(claim.name);
    use.from_template = claim.from_template;
    if (claim.resource_claim.empty()) continue;
    use.claim_name = Name(claim.resource_claim);
    use.claim = assembler->Find(namespace_name, use.claim_name);
  }
  if (!draft.is_reservation) assembler->AddExtendedUse(row, IsActiveUsed(draft.status), extended);
  book.uses_of_.Add({begin, static_cast<int32_t>(book.uses_.size())});
  NameId queue;
  if (!row.pod_group.empty()) {
    const auto group = group_by_name_.find(std::pair(namespace_name, Name(row.pod_group)));
    if (group != group_by_name_.end()) queue = c_.pod_groups_.queue_name[group->second];
  }
  book.queue_of_.Add(queue);
}

void ClusterAssembler::FindConsumers(const std::vector<PodDraft>& drafts,
                                     const std::vector<ResourceClaimRow*>& claims) {
  ClaimBook& book = c_.claims_;
  std::map<std::pair<std::string_view, std::string_view>, PodId> pod_by_name;
  for (size_t i = 0; i < drafts.size(); ++i)
    pod_by_name.emplace(NamespacedKey(*drafts[i].row), PodId(i));
  for (size_t i = 0; i < claims.size(); ++i) {
    const ClaimId claim(i);
    for (const ResourceClaimRow::Consumer& consumer : claims[i]->consumers) {
      PodId pod;
      if (!consumer.pod.empty()) {
        const auto by_name = pod_by_name.find({claims[i]->namespace_name, consumer.pod});
        if (by_name != pod_by_name.end()) pod = by_name->second;
        // A pod of that name may be another one than the claim was reserved for.
        if (pod.valid() && !consumer.uid.empty() && !drafts[pod.index()].row->uid.empty() &&
            drafts[pod.index()].row->uid != consumer.uid)
          pod = PodId();
      }
      if (pod.valid()) {
        book.SetConsumer(claim, pod, true);
      } else {
        ++book.claims_[claim].foreign_consumers;
      }
    }
  }
}

void ClusterAssembler::SettleClaimNeeds(std::vector<PodDraft>* drafts, ClaimAssembler* assembler) {
  ClaimBook& book = c_.claims_;
  IndexVector<ClaimId, int32_t> named(book.claims_.size());
  IndexVector<ClaimId, PodId> last_pod(book.claims_.size());
  for (size_t i = 0; i < drafts->size(); ++i) {
    const PodId pod(i);
    for (const ClaimBook::Use& use : book.UsesOf(pod)) {
      if (!use.claim.valid()) continue;
      ++named[use.claim];
      if (last_pod[use.claim].valid() && last_pod[use.claim] != pod)
        book.claims_[use.claim].is_shared = true;
      last_pod[use.claim] = pod;
    }
  }
  for (size_t i = 0; i < drafts->size(); ++i) {
    PodDraft& draft = (*drafts)[i];
    const PodId pod(i);
    const std::span<const ClaimBook::Use> uses = book.UsesOf(pod);
    if (uses.empty()) continue;
    ClaimNeeds needs{.uses = {}, .refusal = book.LastingRefusalOf(pod)};
    for (const ClaimBook::Use& use : uses) {
      if (!use.claim.valid()) continue;
      // A claim of the pod's own: when a node is looked for, it is not allocated, and nobody else
      // has anything to do with it.
      const bool others = book.ConsumersOf(use.claim) > (book.IsConsumer(use.claim, pod) ? 1 : 0);
      const bool kept = book.allocation_[use.claim] != nullptr && !IsActiveUsed(draft.status);
      if (named[use.claim] == 1 && !others && !kept) {
        needs.uses.push_back({.name = use.name, .claim = {}, .spec = book.claims_[use.claim].spec});
      } else {
        needs.uses.push_back({.name = use.name, .claim = use.claim, .spec = -1});
      }
    }
    draft.claims = assembler->NeedsId(std::move(needs));
  }
}

}  // namespace kai
