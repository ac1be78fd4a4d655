// What a pod's containers hold while they are being resized in place: a container that shrinks has
// its CPU and memory until the kubelet has taken them, one that grows is counted for what it will
// have, and one whose node can never give it what it asks for stays as it is (kube-scheduler's
// rule).
//
//   PodResize resize;
//   draft->resize.ReadConditions(value)
//   draft->resize.ReadContainerStatuses(value)
//   draft->resize.Settle(each.name.view(), &each.request.amounts);
//
// Invariants: Settle() comes after both lists were read; it is of use as long as the text that it
// was read from. Cost: O(containers). Not thread-safe.
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
  FieldStatus ReadContainerStatuses(JsonValue& statuses);  // of init containers, too

  bool empty() const { return held_.empty(); }
  // Replaces what the container of this name asks for by what is to be counted for it.
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
