// The columns of pods, and the classes that make pods alike.
//
//   ClassOf(*cluster, "ns/new-0").affinity.required[0]
//   cluster.ClassOf(PodNamed(cluster, pod))
//
// Invariants: pods of one class get one answer from every filter and score. What only
// a Statement changes stands apart below. Cost: an access to an array. Threads: many readers while
// no statement is open.
#ifndef KAI_MODEL_COLUMNS_POD_H_
#define KAI_MODEL_COLUMNS_POD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kai/api/quota_count.h"
#include "kai/base/index_vector.h"
#include "kai/base/interned.h"
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
  template <typename H>
  friend H AbslHashValue(H h, const ScoringTerm& each) {
    return H::combine(std::move(h), each.term, each.weight);
  }
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
  template <typename H>
  friend H AbslHashValue(H h, const PodAffinity& each) {
    return H::combine(std::move(h), each.required, each.required_anti, each.as_owner);
  }
};

// By slot; nothing that is zero.
using SlotAmounts = std::vector<std::pair<ResourceSlot, double>>;

// Pods of one class get one answer from every filter and score.
struct PodClass {
  SlotAmounts request;   // what must fit on a node (spec 3 R18)
  SlotAmounts overhead;  // the part of it that is pod overhead
  GpuRequest gpu;
  ConstraintId constraint;
  PodAffinity affinity;
  std::vector<AffinityTermId> matched_terms;  // that select pods of this class; sorted
  bool matches_own_required = false;  // meets its own required terms: one of a series may go first
  NameId nominated_node;              // there need not be one of that name
  NumaNeedsId numa;                   // invalid: no NUMA zone is of any consequence to them
  std::vector<NameId> missing_config_maps;  // that it needs and are not there; sorted by name
  ClaimNeedsId claims;                      // invalid: it has none
  bool needs_namespaces = false;  // that the input lacks: its affinity selects them by labels
  bool cpu_only = false;          // asks for no GPU of any kind (spec 3 R19)
  // What a waiting pod counts in its queue (gpu-memory by the smallest device, spec 1 F24), and at
  // the gates before placing (by the largest).
  QuotaCount requested;
  QuotaCount gate_requested;

  friend bool operator==(const PodClass&, const PodClass&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PodClass& each) {
    return H::combine(std::move(h), each.request, each.gpu.kind, each.gpu.count, each.gpu.portion,
                      each.gpu.memory_mib, each.constraint, each.affinity, each.matched_terms,
                      each.numa, each.claims);
  }
};

struct PodClassColumns {
  Interned<PodClassId, PodClass> info;
  ResourceTable<PodClassId> request;  // those of `info`, an element per slot
  ResourceTable<PodClassId> overhead;

  size_t size() const { return info.size(); }
};

struct PodColumns {
  IndexVector<PodId, NameId> namespace_name;
  IndexVector<PodId, NameId> name;  // invalid: the id is free
  IndexVector<PodId, PodClassId> pod_class;
  IndexVector<PodId, PodGroupId> group;     // invalid: belongs to no pod group of this scheduler
  IndexVector<PodId, SubGroupId> pod_set;   // invalid: no group, or no such sub-group (spec 2 G6)
  IndexVector<PodId, NameId> subgroup;      // as the pod names it
  IndexVector<PodId, int64_t> created_ns;   // INT64_MIN: unknown
  IndexVector<PodId, int64_t> deletion_ns;  // of running pods; INT64_MIN: not being deleted
  IndexVector<PodId, uint8_t> is_kubeflow_lead;  // label job-role is master or launcher
  IndexVector<PodId, uint8_t> is_ray_head;       // label ray.io/node-type is head
  IndexVector<PodId, NameId> task_priority;      // label kai.scheduler/task-priority; invalid: none
  // What a pod on a node takes there of GPUs as the cycle begins (spec 3 N3); 0: shares devices.
  IndexVector<PodId, double> ledger_gpus;

  // Only a Statement changes these.
  IndexVector<PodId, PodStatus> status;
  IndexVector<PodId, NodeId> node;         // invalid: on none, or on one outside the snapshot
  IndexVector<PodId, GpuList> gpus;        // that it shares there
  IndexVector<PodId, uint8_t> is_virtual;  // its status is of a statement still open (spec 2 S6)

  std::vector<PodId> leaving;  // releasing, and when they have to be gone is known
  // Of pods that were given one when they were bound, by pod.
  std::vector<std::pair<PodId, int32_t>> kept_ranks;

  // The GPU element that the pod takes of its node's ledger as it stands.
  double LedgerGpus(PodId pod) const { return gpus[pod].empty() ? ledger_gpus[pod] : 0; }

  size_t size() const { return name.size(); }
  // The new rows are for the caller to fill.
  void Resize(size_t size) {
    namespace_name.Resize(size);
    name.Resize(size);
    pod_class.Resize(size);
    group.Resize(size);
    pod_set.Resize(size);
    subgroup.Resize(size);
    created_ns.Resize(size);
    deletion_ns.Resize(size);
    is_kubeflow_lead.Resize(size);
    is_ray_head.Resize(size);
    task_priority.Resize(size);
    ledger_gpus.Resize(size);
    status.Resize(size);
    node.Resize(size);
    gpus.Resize(size);
    is_virtual.Resize(size);
  }
};

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_POD_H_
