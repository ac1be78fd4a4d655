// ConstraintWriter: stores the restrictions and preferences of pods for nodes, equal ones once.
//
//   w_.constraints.Add(*draft.row, VolumesOf(draft), w_.affinity->SpreadOf(*draft.row))
//
// Invariants: the order of terms in a pod does not matter. Cost: O(terms of the row · log). Not
// thread-safe.
#ifndef KAI_MODEL_BUILDING_CONSTRAINT_WRITER_H_
#define KAI_MODEL_BUILDING_CONSTRAINT_WRITER_H_

#include <vector>

#include "kai/base/interned.h"
#include "kai/model/columns/host_ports.h"
#include "kai/model/columns/labels.h"
#include "kai/model/rows/rows.h"

namespace kai {

class ConstraintWriter {
 public:
  ConstraintWriter(Interner* names, Interned<ConstraintId, NodeConstraint>* constraints,
                   Interned<HostPortId, NodePort>* ports)
      : names_(*names), constraints_(*constraints), ports_(*ports) {}

  ConstraintId Add(const CompactPod& row, VolumeNeedsId volumes, std::vector<Spread> spread);

 private:
  HostPortId PortOf(const HostPort& row);

  Interner& names_;
  Interned<ConstraintId, NodeConstraint>& constraints_;
  Interned<HostPortId, NodePort>& ports_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CONSTRAINT_WRITER_H_
