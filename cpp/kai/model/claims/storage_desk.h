// StorageDesk: makes the StorageMap of the nodes, and the storage needs of one pod, from what CSI
// drivers report. It finds objects by name through VolumeDesk.
//
//   w_.storage = std::make_unique<StorageDesk>(*w_.volumes, counts_capacity, &c_.names_);
//   w_.storage->Describe(w_.node_rows, &c_.storage_);
//   w_.storage->AddNeeds(*draft.row, draft.node.valid(), &needs);
//
// Invariants: Describe() is called first, then CountUses() for every pod, then AddNeeds(). Cost: a
// check of the nodes that a capacity's selector may choose; O(log) per volume of a pod. Not
// thread-safe.
#ifndef KAI_MODEL_CLAIMS_STORAGE_DESK_H_
#define KAI_MODEL_CLAIMS_STORAGE_DESK_H_

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kai/model/claims/storage.h"
#include "kai/model/claims/volume_desk.h"

namespace kai {

class StorageDesk {
 public:
  StorageDesk(const VolumeDesk& volumes, bool counts_capacity, Interner* names)
      : volumes_(volumes), counts_capacity_(counts_capacity), names_(names) {}

  void Describe(std::span<const NodeRow* const> nodes, StorageMap* map);
  // Called for every pod, before AddNeeds().
  void CountUses(const CompactPod& pod);
  // `holds_node`: the pod must be evicted before it can be placed.
  void AddNeeds(const CompactPod& pod, bool holds_node, VolumeNeeds* needs) const;

 private:
  using Claim = PersistentVolumeClaimRow;
  // A volume of a driver with a limit.
  struct Attached {
    std::string_view driver;  // empty: no limit
    std::string name;
  };

  void DescribeCapacities(std::span<const NodeRow* const> nodes, StorageMap* map);
  std::vector<const Claim*> ClaimsOf(const CompactPod& pod) const;
  // True: its class waits for pods and creates volumes with a known driver.
  bool Counts(const Claim& claim) const;
  Attached AttachedFor(const Claim& claim) const;
  void AddNeed(const Claim& claim, bool is_owner, bool holds_node,
               std::map<std::string_view, StorageNeed>* needs) const;

  const VolumeDesk& volumes_;
  bool counts_capacity_;
  Interner* names_;
  std::set<std::string_view> limited_drivers_;
  std::map<const Claim*, int> users_;             // number of pods that use it
  std::map<std::string, int> users_of_attached_;  // by the volume's name
  std::set<const Claim*> with_owner_;             // the owner exists and is not being deleted
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_STORAGE_DESK_H_
