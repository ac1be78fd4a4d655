// The columns of pods, and the classes that make pods alike.
#ifndef KAI_MODEL_COLUMNS_POD_H_
#define KAI_MODEL_COLUMNS_POD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kai/api/quota_count.h"
#include "kai/base/index_vector.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_status.h"
#include "kai/model/columns/resources.h"
#include "kai/model/columns/shared_gpu.h"
#include "kai/model/rows/rows.h"

namespace kai {

// A term with the weight it gives to nodes: positive for affinity, negative for anti-affinity.
struct ScoringTerm {
  AffinityTermId term;
  int32_t weight = 0;

  friend auto operator<=>(const ScoringTerm&, const ScoringTerm&) = default;
};

// The inter-pod affinity that a pod brings along.
struct PodAffinity {
  std::vector<AffinityTermId> required;
  std::vector<AffinityTermId> required_anti;
  std::vector<ScoringTerm> preferred;  // what this pod prefers
  std::vector<ScoringTerm> as_owner;   // what it wishes, once placed, of pods that come later:
                                       // `preferred`, and its required terms with weight 1

  bool empty() const { return required.empty() && required_anti.empty() && as_owner.empty(); }
  friend auto operator<=>(const PodAffinity&, const PodAffinity&) = default;
};

// Pods of one class get one answer from every filter and score (design §4.2).
struct PodClass {
  GpuRequest gpu;
  ConstraintId constraint;
  PodAffinity affinity;
  std::vector<AffinityTermId>
      matched_terms;  // terms in the cluster that select pods of this class; sorted
  bool matches_own_required =
      false;  // meets all its own required affinity terms: the first of a series may go first
  NodeId nominated_node;
  NumaNeedsId numa;                         // invalid: no NUMA zone is of any consequence to them
  std::vector<NameId> missing_config_maps;  // that it needs and are not there; sorted by name
  ClaimNeedsId claims;                      // invalid: it has none
  std::vector<NameId>
      not_built;              // features this pod needs that the engine does not have yet; sorted
  bool cpu_only = false;      // asks for no GPU of any kind (spec 3 R19)
  QuotaCount requested;       // what a waiting pod counts in its queue: gpu-memory by the smallest
                              // device (spec 1 F24)
  QuotaCount gate_requested;  // what the gates before placing count: gpu-memory by the largest one
};

struct PodClassColumns {
  IndexVector<PodClassId, PodClass> info;
  ResourceTable<PodClassId> request;   // what must fit on a node (spec 3 R18)
  ResourceTable<PodClassId> overhead;  // the part of `request` that is pod overhead

  size_t size() const { return info.size(); }
};

struct PodColumns {
  IndexVector<PodId, NameId> namespace_name;
  IndexVector<PodId, NameId> name;
  IndexVector<PodId, PodClassId> pod_class;
  IndexVector<PodId, PodGroupId> group;  // invalid: belongs to no pod group of this scheduler
  IndexVector<PodId, SubGroupId>
      pod_set;  // invalid: no group, or a sub-group that does not exist (spec 2 G6)
  IndexVector<PodId, NameId> subgroup;      // as the pod names it
  IndexVector<PodId, int64_t> created_ns;   // INT64_MIN: unknown
  IndexVector<PodId, int64_t> deletion_ns;  // of running pods; INT64_MIN: not being deleted
  IndexVector<PodId, int32_t> uid_rank;     // order of UIDs: the last word between pods
  IndexVector<PodId, uint8_t>
      is_kubeflow_lead;  // label training.kubeflow.org/job-role is master or launcher
  IndexVector<PodId, uint8_t> is_ray_head;   // label ray.io/node-type is head
  IndexVector<PodId, NameId> task_priority;  // label kai.scheduler/task-priority; invalid: none
  IndexVector<PodId, double> ledger_gpus;  // GPU element that a pod on its node at the start of the
                                           // cycle takes there (spec 3 N3); 0: shares devices

  // Only a Statement changes these.
  IndexVector<PodId, PodStatus> status;
  IndexVector<PodId, NodeId> node;   // invalid: on none, or on one outside the snapshot
  IndexVector<PodId, GpuList> gpus;  // that it shares there
  IndexVector<PodId, uint8_t>
      is_virtual;  // its status is the work of a statement that is still open (spec 2 S6)

  std::vector<PodId> leaving;  // releasing, and when they have to be gone is known
  // Of pods that were given one when they were bound, by pod.
  std::vector<std::pair<PodId, int32_t>> kept_ranks;

  // The GPU element that the pod takes of its node's ledger as it stands.
  double LedgerGpus(PodId pod) const { return gpus[pod].empty() ? ledger_gpus[pod] : 0; }

  size_t size() const { return name.size(); }
};

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_POD_H_
