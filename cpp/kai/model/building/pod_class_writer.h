// PodClassWriter: puts pods that are alike into one class.
//
//   w_.classes = std::make_unique<PodClassWriter>(
//   return w_.classes->Add(draft);
//
// Invariants: pods of one class are equal in every member of PodClass, and nothing else matters to
// placement. Cost: O(what the pod asks for). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_POD_CLASS_WRITER_H_
#define KAI_MODEL_BUILDING_POD_CLASS_WRITER_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kai/model/building/affinity_terms.h"
#include "kai/model/building/numa_writer.h"
#include "kai/model/columns/pod.h"
#include "kai/model/rows/rows.h"

namespace kai {

// What has been found out about a pod so far.
struct PodDraft {
  const CompactPod* row = nullptr;
  GpuRequest gpu;  // the row's, with the devices of its claims and those that count as GPUs
  PodStatus status = PodStatus::kUnknown;
  NodeId node;       // invalid: it holds none, or one that is not here
  PodGroupId group;  // invalid: none that is here
  bool is_reservation = false;
  const BindRequestRow* bind_request = nullptr;  // that is being carried out
  ConstraintId constraint;
  PodAffinity affinity;
  ClaimNeedsId claims;

  // Where it is, or is going to; empty: nowhere.
  std::string_view node_name() const {
    return row->node_name.empty() && bind_request != nullptr ? std::string_view(bind_request->node)
                                                             : std::string_view(row->node_name);
  }
  // The devices that it shares, by the names of their groups (spec 3 R20).
  const std::vector<std::string>& gpu_groups() const {
    return bind_request != nullptr ? bind_request->gpu_groups : row->extras->gpu_groups;
  }
};

// ConfigMaps, by namespace and name.
class ConfigMaps {
 public:
  // Null: which there are is not known.
  ConfigMaps(const std::vector<ConfigMapRow>* rows, Interner* names);
  // Those that the pod cannot start without, and that are not there.
  std::vector<NameId> MissingOf(const CompactPod& pod);

  bool are_known() const { return are_known_; }
  bool empty() const { return known_.empty(); }
  // False: it was there before, or was not.
  bool Set(std::string_view namespace_name, std::string_view name, bool is_there);
  // Some pod that MissingOf() was called for cannot start without it; the pod may be gone by now.
  bool IsNeeded(std::string_view namespace_name, std::string_view name) const;

 private:
  Interner& names_;
  bool are_known_;
  // Names by namespace. They are no ids: most ConfigMaps matter to no pod, and names stay for ever.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> known_;
  absl::flat_hash_set<std::pair<NameId, NameId>> needed_;
};

// Memory of one GPU, over the nodes that know it; 0: none does (spec 1 F24).
struct GpuMemoryRange {
  double smallest_mib = 0;
  double largest_mib = 0;

  void Add(double mib);
  friend bool operator==(const GpuMemoryRange&, const GpuMemoryRange&) = default;
};

class PodClassWriter {
 public:
  struct Surroundings {
    Interner* names;
    const ResourceSlots* slots;
    ConfigMaps* config_maps;
    const GpuMemoryRange* gpu_memory;
    AffinityTerms* affinity;
    NumaWriter* numa;
  };
  PodClassWriter(const Surroundings& at, PodClassColumns* classes);

  PodClassId Add(const PodDraft& draft);

 private:
  void AddRequests(const PodDraft& draft, PodClass* info) const;

  Surroundings at_;
  PodClassColumns& classes_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_CLASS_WRITER_H_
