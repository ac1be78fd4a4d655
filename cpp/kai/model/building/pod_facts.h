// What follows from the row of a pod and its BindRequests, without configuration.
//
//   draft.bind_request = requests.Find(row);
//   draft.status = StatusOf(row, draft.bind_request != nullptr);
//
// Invariants: of two requests for one pod the one with the lower name counts, in any order (spec 2
// S3). Cost: O(labels of the row), or a hash look-up. Threads: many readers.
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

// The status of a pod (spec 2 S2). Overdue deletion depends on the time and is found when a cycle
// starts.
PodStatus StatusOf(const CompactPod& row, bool is_being_bound);

// Whether the pod reserves devices for pods that share them (spec 3 N3).
bool IsReservation(const CompactPod& row);
// Whether the pod is a reservation or scale-adjust pod: such pods never count as foreign (spec 1
// F30).
bool IsUtility(const CompactPod& row);

// The BindRequests that are being carried out: their nodes exist, and they have not failed finally.
class BindRequests {
 public:
  explicit BindRequests(const Directory* directory) : directory_(*directory) {}

  void Add(const BindRequestRow& row);
  // Returns the name of the request's pod, in the namespace of the request; empty: there is no such
  // request.
  std::string Remove(std::string_view namespace_name, std::string_view name);
  // The namespaces and names of the pods that will be bound to the node. The node need not exist.
  std::vector<std::pair<std::string_view, std::string_view>> PodsFor(std::string_view node) const;
  // Null: there is none. Valid until the next change.
  const BindRequestRow* Find(const CompactPod& pod) const;

 private:
  const Directory& directory_;
  absl::flat_hash_map<std::string, std::vector<BindRequestRow>> by_pod_;
  absl::flat_hash_map<std::string, std::string> pod_of_;  // by the request's own name
};

// The GPUs of a pod's claims: the claims that its spec names, and those that it owns; a claim made
// from a template counts for its owner (spec 3 D4).
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
