// PodWriter: writes one pod into the columns, onto its node and into its pod group.
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

  // Writes the lists of all pod sets, after all pods are written.
  void ListPods(const Cluster& cluster);

  // Writes into an existing row. `gpus`: the devices that it shares on its node; `whole_gpus`: the
  // GPUs that its class requests. The caller writes the list of its pod set.
  void Write(PodId pod, const PodDraft& draft, PodClassId pod_class, double whole_gpus,
             GpuList gpus);
  // Removes what Write() wrote outside of the pod's own row.
  void Remove(PodId pod);

 private:
  // Invalid: the group has no such sub-group.
  SubGroupId PodSetOf(PodGroupId group, NameId subgroup) const;

  Interner& names_;
  PodColumns& pods_;
  PodGroupColumns& groups_;
  SubGroupColumns& sets_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_WRITER_H_
