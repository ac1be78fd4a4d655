// PodClassWriter: puts pods with the same requests and restrictions into one class.
//
//   w_.classes = std::make_unique<PodClassWriter>(
//   return w_.classes->Add(draft);
//
// Invariants: pods of one class are equal in every member of PodClass, and nothing else matters for
// placement. Cost: O(requests of the pod). Not thread-safe.
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
#include "kai/model/claims/extended_claims.h"
#include "kai/model/columns/pod.h"
#include "kai/model/rows/rows.h"

namespace kai {

// What is known about a pod while its cluster is built.
struct PodDraft {
  const CompactPod* row = nullptr;
  GpuRequest gpu;  // of the row, plus devices of claims and other accelerators
  PodStatus status = PodStatus::kUnknown;
  NodeId node;       // invalid: none, or an unknown node
  PodGroupId group;  // invalid: none, or an unknown group
  bool is_reservation = false;
  const BindRequestRow* bind_request = nullptr;  // the one that is being carried out
  ConstraintId constraint;
  PodAffinity affinity;
  ClaimNeedsId claims;

  // The node that it is on or will be bound to; empty: none.
  std::string_view node_name() const {
    return row->node_name.empty() && bind_request != nullptr ? std::string_view(bind_request->node)
                                                             : std::string_view(row->node_name);
  }
  // The devices that it shares: the names of their groups (spec 3 R20).
  const std::vector<std::string>& gpu_groups() const {
    return bind_request != nullptr ? bind_request->gpu_groups : row->extras->gpu_groups;
  }
};

// ConfigMaps, by namespace and name.
class ConfigMaps {
 public:
  // Null: the set of ConfigMaps is not known.
  ConfigMaps(const std::vector<ConfigMapRow>* rows, Interner* names);
  // The missing ConfigMaps that the pod needs to start.
  std::vector<NameId> MissingOf(const CompactPod& pod);

  bool are_known() const { return are_known_; }
  bool empty() const { return known_.empty(); }
  // Adds or removes a ConfigMap. False: nothing changed.
  bool Set(std::string_view namespace_name, std::string_view name, bool is_there);
  // True: some pod that was given to MissingOf() needs it to start; that pod may be gone.
  bool IsNeeded(std::string_view namespace_name, std::string_view name) const;

 private:
  Interner& names_;
  bool are_known_;
  // Names by namespace. They are not interned: most ConfigMaps matter to no pod, and interned names
  // are never freed.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> known_;
  absl::flat_hash_set<std::pair<NameId, NameId>> needed_;
};

// Memory of one GPU, over the nodes with known memory; 0: there is no such node (spec 1 F24).
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
    const ExtendedResources* extended;
  };
  PodClassWriter(const Surroundings& at, PodClassColumns* classes);

  PodClassId Add(const PodDraft& draft);

 private:
  void AddRequests(const PodDraft& draft, PodClass* info) const;
  bool NeedsGpuPlugin(const PodDraft& draft) const;

  Surroundings at_;
  PodClassColumns& classes_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_CLASS_WRITER_H_
