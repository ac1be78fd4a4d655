// ClaimAssembler: makes a ClaimBook from the rows of claims, device classes and slices, and from
// the claims that pods use.
//
//   assembler.AddClasses(classes);
//   assembler.AddClaims(claims, c_.params_.queue_label_key);
//   assembler.AddUsesOf(*draft.row, ...
//   assembler.AddConsumers(ClaimId(i), *claims[i], ...
//   assembler.CountUses();
//   pods_[i].claims = assembler.NeedsOf(PodId(i), IsActiveUsed(pods_[i].status));
//
// Invariants: the functions are called in their order here, each for all objects of a kind; equal
// specs have one number, and so have equal needs. Cost: O(log) per object; selectors are compiled
// once. Not thread-safe.
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
#include "kai/model/building/directory.h"
#include "kai/model/claims/claim_book.h"
#include "kai/model/claims/extended_claims.h"
#include "kai/model/rows/rows.h"

namespace kai {

class ClaimAssembler {
 public:
  // `rows`: by NodeId. `is_served`: the cluster has the API of claims (spec 3 D1).
  // `selectors`: those of earlier clusters can be used again.
  ClaimAssembler(const NodeColumns& nodes, const std::vector<const NodeRow*>& rows, bool is_served,
                 SelectorCache* selectors, Interner* names, ClaimBook* book);

  void AddClasses(const std::vector<const DeviceClassRow*>& rows);
  void AddSlices(std::vector<const ResourceSliceRow*> rows, const Directory& directory);
  void AddClaims(const std::vector<const ResourceClaimRow*>& rows,
                 std::string_view queue_label_key);

  struct Standing {
    bool is_reservation = false;  // it holds a device for other pods (spec 3 N3)
    bool is_active = false;       // it holds a node
    NameId queue = {};            // the queue of its pod group
  };
  void AddUsesOf(const CompactPod& pod, const Standing& standing,
                 const ExtendedResources& extended);
  // `find_pod(name)`: the pod with that name in the claim's namespace, as (PodId, uid); or an
  // invalid id.
  template <typename FindPod>
  void AddConsumers(ClaimId claim, const ResourceClaimRow& row, const FindPod& find_pod) {
    for (const ResourceClaimRow::Consumer& consumer : row.consumers) {
      auto [pod, uid] = find_pod(consumer.pod);
      // A pod with that name may not be the one that the claim was reserved for.
      if (!consumer.uid.empty() && !uid.empty() && uid != consumer.uid) pod = PodId();
      if (pod.valid()) {
        book_.SetConsumer(claim, pod, true);
      } else {
        ++book_.claims_[claim].foreign_consumers;
      }
    }
  }
  // Adds the devices that a BindRequest in progress gives to the pod (spec 3 D8).
  void Assume(PodId pod, const BindRequestRow& request);
  // Finds the claims that several pods use, after the uses and consumers of all pods were added.
  void CountUses();
  // Invalid: the pod has no claims.
  ClaimNeedsId NeedsOf(PodId pod, bool is_active);

 private:
  ClaimId Add(Claim claim);
  // Invalid: there is none.
  ClaimId Find(NameId namespace_name, NameId name) const;
  // Adds the claim for the extended resources of the pod, if it requests any: the claim that was
  // made when the pod was bound, else a new one without an object.
  void AddExtendedUse(const CompactPod& pod, bool is_bound, const ExtendedResources& known);
  // The claim object that was made for the pod's extended resources.
  ClaimId FindMadeFor(const CompactPod& pod) const;
  std::vector<DeviceSelector> SelectorsOf(const std::vector<std::string>& expressions) const;
  DeviceRequest RequestOf(const DeviceChoiceRow& row) const;
  int32_t SpecOf(const ClaimSpecRow& row);
  int32_t SpecOf(ExtendedClaim claim);
  int32_t PluginOf(const std::string& resource);
  ClaimAllocationPtr AllocationOf(const ClaimAllocationRow& row);

  ClaimBook& book_;
  Interner& names_;
  SelectorCache& selectors_;
  const std::vector<const NodeRow*>& nodes_;
  std::map<std::string, const DeviceClass*> classes_;
  std::map<ClaimSpecRow, int32_t> specs_;
  std::map<ExtendedClaim, int32_t> extended_specs_;
  std::map<std::string, int32_t> plugins_;  // by resource
  absl::flat_hash_map<std::pair<NameId, NameId>, ClaimId> claims_;
  // Claims for extended resources, by namespace and owner; with the owner's uid.
  absl::flat_hash_map<std::string, std::vector<std::pair<std::string_view, ClaimId>>> made_for_;
  IndexVector<ClaimId, int32_t> named_;  // how many times pods use it
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_ASSEMBLER_H_
