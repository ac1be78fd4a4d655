// The parts of a pod spec and a node spec that say who may run where: selectors, affinity, taints,
// tolerations.
#ifndef KAI_INGEST_SCHEDULING_TERMS_H_
#define KAI_INGEST_SCHEDULING_TERMS_H_

#include <vector>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows.h"

namespace kai {

FieldStatus ReadTaints(JsonValue& list, std::vector<Taint>* out);
FieldStatus ReadTolerations(JsonValue& list, std::vector<Toleration>* out);

// spec.affinity. Node affinity counts where it is required only: no scorer of KAI's looks at
// preferred terms (spec 3 P11).
FieldStatus ReadAffinity(JsonValue& affinity, PodRow* row);

}  // namespace kai

#endif  // KAI_INGEST_SCHEDULING_TERMS_H_
