// The columns of pods, and the classes of pods with the same requests and restrictions.
//
//   ClassOf(*cluster, "ns/new-0").affinity.required[0]
//   cluster.ClassOf(PodNamed(cluster, pod))
//
// Invariants: pods of one class get the same answer from every filter and score. The columns that
// only a Statement changes come last. Cost: an access to an array. Threads: many readers while no
// statement is open.
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

// A term and the weight that it gives to nodes: positive for affinity, negative for anti-affinity.
struct ScoringTerm {
  AffinityTermId term;
  int32_t weight = 0;

  friend auto operator<=>(const ScoringTerm&, const ScoringTerm&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ScoringTerm& each) {
    return H::combine(std::move(h), each.term, each.weight);
  }
};

// The inter-pod affinity of a pod.
struct PodAffinity {
  std::vector<AffinityTermId> required;
  std::vector<AffinityTermId> required_anti;
  std::vector<ScoringTerm> preferred;  // preferences of this pod
  std::vector<ScoringTerm> as_owner;   // its effect, once placed, on later pods: `preferred`, and
                                       // its required terms with weight 1

  bool empty() const { return required.empty() && required_anti.empty() && as_owner.empty(); }
  friend auto operator<=>(const PodAffinity&, const PodAffinity&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PodAffinity& each) {
    return H::combine(std::move(h), each.required, each.required_anti, each.as_owner);
  }
};

// By slot; without zeros.
using SlotAmounts = std::vector<std::pair<ResourceSlot, double>>;

// What filters and scores read of a pod.
struct PodClass {
  SlotAmounts request;   // what must fit on a node (spec 3 R18)
  SlotAmounts overhead;  // the part of it that is pod overhead
  GpuRequest gpu;
  ConstraintId constraint;
  PodAffinity affinity;
  std::vector<AffinityTermId> matched_terms;  // terms that select pods of this class; sorted
  bool matches_own_required = false;          // matches its own terms: may be the first
  NameId nominated_node;                      // such a node need not exist
  NumaNeedsId numa;                           // invalid: NUMA zones do not matter to the pods
  std::vector<NameId> missing_config_maps;    // needed but not existing; sorted by name
  ClaimNeedsId claims;                        // invalid: it has none
  bool needs_namespaces = false;              // its affinity needs unknown namespace labels
  bool needs_gpu_plugin = false;  // requests GPUs that no device class provides (spec 3 D10)
  bool cpu_only = false;          // requests no GPU of any kind (spec 3 R19)
  // What a waiting pod counts in its queue (gpu-memory by the smallest device, spec 1 F24), and in
  // the quota checks before placing (by the largest device).
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
  ResourceTable<PodClassId> request;  // the requests of `info`, an element per slot
  ResourceTable<PodClassId> overhead;

  size_t size() const { return info.size(); }
};

struct PodColumns {
  IndexVector<PodId, NameId> namespace_name;
  IndexVector<PodId, NameId> name;  // invalid: the id is free
  IndexVector<PodId, PodClassId> pod_class;
  IndexVector<PodId, PodGroupId> group;     // invalid: belongs to no pod group of this scheduler
  IndexVector<PodId, SubGroupId> pod_set;   // invalid: no group, or no such sub-group (spec 2 G6)
  IndexVector<PodId, NameId> subgroup;      // as the pod gives it
  IndexVector<PodId, int64_t> created_ns;   // INT64_MIN: unknown
  IndexVector<PodId, int64_t> deletion_ns;  // of running pods; INT64_MIN: not being deleted
  IndexVector<PodId, uint8_t> is_bare;      // no controller would create it again
  IndexVector<PodId, uint8_t> is_kubeflow_lead;  // label job-role is master or launcher
  IndexVector<PodId, uint8_t> is_ray_head;       // label ray.io/node-type is head
  IndexVector<PodId, NameId> task_priority;      // label kai.scheduler/task-priority; invalid: none
  // The GPUs that a pod takes on its node at the start of the cycle (spec 3 N3); 0: it shares
  // devices.
  IndexVector<PodId, double> ledger_gpus;

  // Only a Statement changes these.
  IndexVector<PodId, PodStatus> status;
  IndexVector<PodId, NodeId> node;         // invalid: none, or a node outside the snapshot
  IndexVector<PodId, GpuList> gpus;        // the devices that it shares on its node
  IndexVector<PodId, uint8_t> is_virtual;  // an open statement set its status (spec 2 S6)

  std::vector<PodId> leaving;  // releasing, with a known deadline
  // The ranks that pods got when they were bound, by pod.
  std::vector<std::pair<PodId, int32_t>> kept_ranks;

  // The GPUs that the pod currently takes in its node's ledger.
  double LedgerGpus(PodId pod) const { return gpus[pod].empty() ? ledger_gpus[pod] : 0; }

  size_t size() const { return name.size(); }
  // The caller fills the new rows.
  void Resize(size_t size) {
    namespace_name.Resize(size);
    name.Resize(size);
    pod_class.Resize(size);
    group.Resize(size);
    pod_set.Resize(size);
    subgroup.Resize(size);
    created_ns.Resize(size);
    deletion_ns.Resize(size);
    is_bare.Resize(size);
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
