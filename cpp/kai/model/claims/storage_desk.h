// StorageDesk: what CSI drivers tell of their storage, looked up for the nodes and for one pod. The
// VolumeDesk beside it finds every object by its name.
//
//   w_.storage = std::make_unique<StorageDesk>(*w_.volumes, counts_capacity, &c_.names_);
//   w_.storage->Describe(w_.node_rows, &c_.storage_);
//   w_.storage->AddNeeds(*draft.row, draft.node.valid(), &needs);
//
// Invariants: Describe() comes first, then CountUses() of every pod, then AddNeeds(). Cost: a look
// at the nodes that a capacity's selector may choose; O(log) per volume of a pod. Not thread-safe.
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
  // Of every pod, before needs are asked for.
  void CountUses(const CompactPod& pod);
  // `holds_node`: to get one, the pod would have to be evicted first.
  void AddNeeds(const CompactPod& pod, bool holds_node, VolumeNeeds* needs) const;

 private:
  using Claim = PersistentVolumeClaimRow;
  // A volume of a driver that counts.
  struct Attached {
    std::string_view driver;  // empty: it does not
    std::string name;
  };

  void DescribeCapacities(std::span<const NodeRow* const> nodes, StorageMap* map);
  std::vector<const Claim*> ClaimsOf(const CompactPod& pod) const;
  // Its class waits for pods and makes volumes by a known driver.
  bool Counts(const Claim& claim) const;
  Attached AttachedFor(const Claim& claim) const;
  void AddNeed(const Claim& claim, bool is_owner, bool holds_node,
               std::map<std::string_view, StorageNeed>* needs) const;

  const VolumeDesk& volumes_;
  bool counts_capacity_;
  Interner* names_;
  std::set<std::string_view> limited_drivers_;
  std::map<const Claim*, int> users_;             // pods that name it
  std::map<std::string, int> users_of_attached_;  // by the volume's name
  std::set<const Claim*> with_owner_;             // which is there, and stays
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_STORAGE_DESK_H_
