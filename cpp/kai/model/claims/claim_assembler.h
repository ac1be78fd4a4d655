// ClaimAssembler: turns rows of claims, device classes and slices into a ClaimBook.
//
//   ClaimAssembler assembler(&book, &c_.names_, node_rows_);
//   assembler.AddClasses(classes);
//   assembler.AddClaims(claims, c_.params_.queue_label_key);
//   draft.claims = assembler->NeedsId(std::move(needs));
//
// Invariants: its functions are called in their order; equal specs and equal needs have one number.
// Cost: O(log) per object; selectors are compiled once per spec. Not thread-safe.
#ifndef KAI_MODEL_CLAIMS_CLAIM_ASSEMBLER_H_
#define KAI_MODEL_CLAIMS_CLAIM_ASSEMBLER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/interner.h"
#include "kai/model/claims/claim_book.h"
#include "kai/model/claims/extended_claims.h"
#include "kai/model/rows/rows.h"

namespace kai {

class ClaimAssembler {
 public:
  // `nodes` are by NodeId.
  ClaimAssembler(ClaimBook* book, Interner* names, const std::vector<const NodeRow*>& nodes)
      : book_(*book), names_(*names), nodes_(nodes) {}

  void AddClasses(const std::vector<DeviceClassRow*>& rows);
  void AddSlices(std::vector<ResourceSliceRow*> rows,
                 const absl::flat_hash_map<std::string, NodeId>& node_by_name);
  void AddClaims(const std::vector<ResourceClaimRow*>& rows, std::string_view queue_label_key);
  // The claim for what the pod asks of extended resources, if any: the one that was made for it
  // when it was bound, else one that nobody has written down yet.
  void AddExtendedUse(const PodRow& pod, bool is_bound, const ExtendedResources& known);

  // Invalid: there is none.
  ClaimId Find(NameId namespace_name, NameId name) const;
  // Of a BindRequest that is being carried out (spec 3 D8).
  void Assume(ClaimId claim, PodId pod, const ClaimAllocationRow& allocation);
  ClaimNeedsId NeedsId(ClaimNeeds needs);

 private:
  ClaimId Add(Claim claim);
  // The object that was made for the pod's extended resources.
  ClaimId FindMadeFor(const PodRow& pod) const;
  DeviceRequest RequestOf(const DeviceChoiceRow& row) const;
  int32_t SpecOf(const ClaimSpecRow& row);
  int32_t SpecOf(ExtendedClaim claim);
  int32_t PluginOf(const std::string& resource);
  ClaimAllocationPtr AllocationOf(const ClaimAllocationRow& row);

  ClaimBook& book_;
  Interner& names_;
  const std::vector<const NodeRow*>& nodes_;
  std::map<std::string, const DeviceClass*> classes_;
  std::map<ClaimSpecRow, int32_t> specs_;
  std::map<ExtendedClaim, int32_t> extended_specs_;
  std::map<std::string, int32_t> plugins_;  // by resource
  absl::flat_hash_map<std::pair<NameId, NameId>, ClaimId> claims_;
  // Those for extended resources, by namespace and owner; with its uid.
  absl::flat_hash_map<std::string, std::vector<std::pair<std::string_view, ClaimId>>> made_for_;
  std::map<ClaimNeeds, ClaimNeedsId> needs_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_ASSEMBLER_H_
