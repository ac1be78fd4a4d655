// What a pod's containers hold during a resize in place, by kube-scheduler's rule: a container that
// shrinks holds its CPU and memory until the kubelet has taken them; one that grows counts with its
// new size; one whose node can never provide the new size keeps the old one.
//
//   PodResize resize;
//   draft->resize.ReadConditions(value)
//   draft->resize.ReadContainerStatuses(value)
//   draft->resize.Settle(each.name.view(), &each.request.amounts);
//
// Invariants: Settle() is called after both lists were read, while the text that they were read
// from exists. Cost: O(containers). Not thread-safe.
#ifndef KAI_INGEST_POD_RESIZE_H_
#define KAI_INGEST_POD_RESIZE_H_

#include <string_view>
#include <vector>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

class PodResize {
 public:
  FieldStatus ReadConditions(JsonValue& conditions);
  FieldStatus ReadContainerStatuses(JsonValue& statuses);  // also of init containers

  bool empty() const { return held_.empty(); }
  // Replaces the request of the container of this name by what counts during the resize.
  void Settle(std::string_view container, ResourceAmounts* request) const;

 private:
  struct Held {
    JsonText container;
    ResourceAmounts amounts;  // CPU and memory
  };

  bool is_infeasible_ = false;
  std::vector<Held> held_;
};

}  // namespace kai

#endif  // KAI_INGEST_POD_RESIZE_H_
