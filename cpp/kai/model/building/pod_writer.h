// PodWriter: one pod into the columns, onto its node and into its pod group.
//
//   PodWriter writer(&c_.names_, &c_.pods_, &c_.pod_groups_, &c_.sub_groups_);
//   writer.Write(pod, draft, pod_class, ...
//   writer.ListPods(c_);    // once all are there
//
// Invariants: a pod of a sub-group that does not exist is a misfit of its group (spec 2 G6). Cost:
// O(slots) per pod. Not thread-safe.
#ifndef KAI_MODEL_BUILDING_POD_WRITER_H_
#define KAI_MODEL_BUILDING_POD_WRITER_H_

#include <vector>

#include "kai/model/building/pod_class_writer.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/columns/pod.h"
#include "kai/model/columns/pod_group.h"

namespace kai {

class PodWriter {
 public:
  PodWriter(Interner* names, PodColumns* pods, PodGroupColumns* groups, SubGroupColumns* sets)
      : names_(*names), pods_(*pods), groups_(*groups), sets_(*sets) {}

  // Of all pods, once they are there.
  void ListPods(const Cluster& cluster);

  // Into a row that is there. `gpus`: that it shares on its node; `whole_gpus`: what its class asks
  // of the GPU slot. The list of its pod set is for the caller to write.
  void Write(PodId pod, const PodDraft& draft, PodClassId pod_class, double whole_gpus,
             GpuList gpus);
  // What Write() wrote beyond the pod's own row.
  void Remove(PodId pod);

 private:
  // Invalid: its group has no such sub-group.
  SubGroupId PodSetOf(PodGroupId group, NameId subgroup) const;

  Interner& names_;
  PodColumns& pods_;
  PodGroupColumns& groups_;
  SubGroupColumns& sets_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_WRITER_H_
