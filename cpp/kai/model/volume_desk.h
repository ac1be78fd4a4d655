// VolumeDesk: everything the input says of storage, and what it means for one pod. Part of the
// assembler, which keeps what it says in the cluster.
//
//   VolumeDesk desk(storage, &names, &rejections);
//   VolumeNeeds needs = desk.NeedsOf(pod_row);
#ifndef KAI_MODEL_VOLUME_DESK_H_
#define KAI_MODEL_VOLUME_DESK_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/model/volumes.h"

namespace kai {

NodeTerm InternNodeTerm(const NodeSelectorTerm& row, Interner* names);

class VolumeDesk {
 public:
  VolumeDesk(const StorageRows& storage, Interner* names, std::vector<Rejection>* rejections);

  VolumeNeeds NeedsOf(const PodRow& pod) const;

 private:
  using Claim = PersistentVolumeClaimRow;

  NodeSet NodesOf(const PersistentVolumeRow& volume) const;
  VolumeNeeds::Delayed DelayedOf(const Claim& claim, const StorageClassRow& storage_class) const;
  bool WouldDo(const PersistentVolumeRow& volume, const Claim& claim) const;
  NodeSet CapacityOf(const Claim& claim, const StorageClassRow& storage_class) const;

  Interner* names_;
  std::map<std::pair<std::string_view, std::string_view>, const Claim*> claims_;
  std::vector<const PersistentVolumeRow*> volumes_;  // by name
  std::map<std::string_view, int32_t> volume_numbers_;
  std::map<std::string_view, std::vector<int32_t>> volumes_of_class_;  // smallest first, then name
  std::map<std::string_view, const StorageClassRow*> classes_;
  std::map<std::string_view, const CsiDriverRow*> drivers_;
  std::vector<const CsiStorageCapacityRow*> capacities_;
};

}  // namespace kai

#endif  // KAI_MODEL_VOLUME_DESK_H_
