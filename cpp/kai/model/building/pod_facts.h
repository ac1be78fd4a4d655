// What a pod says of itself, and what is being done to it, with no configuration looked at.
//
//   draft.bind_request = requests.Find(row);
//   draft.status = StatusOf(row, draft.bind_request != nullptr);
//
// Invariants: of two requests for one pod the one with the lower name counts, whatever their
// order (spec 2 S3). Cost: O(labels of the row), or a hash look-up. Threads: many readers.
#ifndef KAI_MODEL_BUILDING_POD_FACTS_H_
#define KAI_MODEL_BUILDING_POD_FACTS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/building/directory.h"
#include "kai/model/columns/pod_status.h"
#include "kai/model/rows/rows.h"

namespace kai {

// spec 2 S2; what is overdue in leaving depends on the time and is found when a cycle starts.
PodStatus StatusOf(const CompactPod& row, bool is_being_bound);

// It holds devices for pods that share them (spec 3 N3).
bool IsReservation(const CompactPod& row);
// A reservation or a scale-adjust pod: never counts as foreign (spec 1 F30).
bool IsUtility(const CompactPod& row);

// Those that are being carried out: their nodes are here, and they have not failed for good.
class BindRequests {
 public:
  explicit BindRequests(const Directory* directory) : directory_(*directory) {}

  void Add(const BindRequestRow& row);
  // Gives the name of the pod that the request was for, in its namespace; empty: it is not there.
  std::string Remove(std::string_view namespace_name, std::string_view name);
  // The namespaces and names of pods that are to go to the node; whether it is here does not
  // matter.
  std::vector<std::pair<std::string_view, std::string_view>> PodsFor(std::string_view node) const;
  // Null: there is none. Good until the next change.
  const BindRequestRow* Find(const CompactPod& pod) const;

 private:
  const Directory& directory_;
  absl::flat_hash_map<std::string, std::vector<BindRequestRow>> by_pod_;
  absl::flat_hash_map<std::string, std::string> pod_of_;  // by the request's own name
};

// GPUs of a pod's claims: those its spec names, and those it owns; a claim made from a template
// counts by its owner (spec 3 D4).
class GpusOfClaims {
 public:
  explicit GpusOfClaims(const std::vector<const ResourceClaimRow*>& claims);
  int64_t Of(const CompactPod& pod) const;

 private:
  absl::flat_hash_map<std::string, const ResourceClaimRow*> by_name_;
  absl::flat_hash_map<std::string, std::vector<const ResourceClaimRow*>> by_owner_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_FACTS_H_
