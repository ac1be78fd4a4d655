// VolumeDesk: all storage objects of the input, and the volume needs of one pod.
//
//   VolumeNeeds needs = w_.volumes->NeedsOf(*draft.row);
//
// Invariants: it points to the rows, which must live longer; it leaves out objects that share a
// name. Cost: O(log) per volume of the pod, and O(volumes of the class) for a claim that waits for
// its pod's node. Not thread-safe: it interns names.
#ifndef KAI_MODEL_CLAIMS_VOLUME_DESK_H_
#define KAI_MODEL_CLAIMS_VOLUME_DESK_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/model/claims/volumes.h"

namespace kai {

NodeTerm InternNodeTerm(const NodeSelectorTerm& row, Interner* names);

class VolumeDesk {
 public:
  // `ignores_space`: the free space that drivers report is checked elsewhere (spec 3 P9).
  VolumeDesk(const StorageRows& storage, bool ignores_space, Interner* names,
             std::vector<Rejection>* rejections);

  VolumeNeeds NeedsOf(const CompactPod& pod) const;

  // Null: no such claim.
  const PersistentVolumeClaimRow* FindClaim(std::string_view namespace_name,
                                            std::string_view name) const;
  const PersistentVolumeRow* FindVolume(std::string_view name) const;
  const StorageClassRow* FindClass(std::string_view name) const;
  bool HasDriver(std::string_view name) const { return drivers_.contains(name); }
  std::span<const CsiStorageCapacityRow* const> capacities() const { return capacities_; }
  std::span<const CsiNodeRow* const> nodes() const { return nodes_; }

 private:
  using Claim = PersistentVolumeClaimRow;

  NodeSet NodesOf(const PersistentVolumeRow& volume) const;
  // Why the pod cannot use this claim on any node. `claim` is null: it does not exist.
  VolumeRefusal RefusalOf(const CompactPod& pod, const VolumeClaimRow& volume,
                          const Claim* claim) const;
  void AddBound(const Claim& claim, VolumeNeeds* needs) const;
  VolumeNeeds::Delayed DelayedOf(const Claim& claim, const StorageClassRow& storage_class) const;
  bool IsSuitable(const PersistentVolumeRow& volume, const Claim& claim) const;
  void AddZones(const PersistentVolumeRow& volume, std::vector<NodeSet>* zones) const;
  NodeSet CapacityOf(const Claim& claim, const StorageClassRow& storage_class) const;

  bool ignores_space_;
  Interner* names_;
  std::map<std::pair<std::string_view, std::string_view>, const Claim*> claims_;
  std::vector<const PersistentVolumeRow*> volumes_;  // by name
  std::map<std::string_view, int32_t> volume_numbers_;
  std::map<std::string_view, std::vector<int32_t>> volumes_of_class_;  // smallest first, then name
  std::map<std::string_view, const StorageClassRow*> classes_;
  std::map<std::string_view, const CsiDriverRow*> drivers_;
  std::vector<const CsiStorageCapacityRow*> capacities_;
  std::vector<const CsiNodeRow*> nodes_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_VOLUME_DESK_H_
