// StatusSums: what the pods of each pod group request and hold, for the status of groups and queues
// (spec 6 C32, C34).
//
//   const PodShare share = ShareOf(pod);
//   sums.Add(share);
//   sums.Subtract(share);
//   sums.Of("ns/g").allocated        // {"cpu": "1500m", ...} after TextsOf()
//
// Only regular containers count. Pods that wait or run request their resources; pods that run, or
// wait on a node, hold them. A part of a GPU counts as that part of nvidia.com/gpu, GPU memory as
// run.ai/gpu.memory, both for each of the pod's devices; devices of resource claims count under the
// names of their classes. GPU memory that is held counts as nvidia.com/gpu: the part of the node's
// devices that it is, if the node has a label with their memory.
//
// Invariants: sums are exact: subtracting a share restores the previous sum. Cost: O(resources) a
// pod. Not thread-safe.
#ifndef KAI_FEED_STATUS_SUMS_H_
#define KAI_FEED_STATUS_SUMS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/rows/rows.h"
#include "kai/store/object_table.h"

namespace kai {

__extension__ using Int128 = __int128;

// Amounts by resource, in the units of spec 3 R5; GPUs in billionths.
using StatusAmounts = std::map<std::string, Int128, std::less<>>;
void AddTo(StatusAmounts* sum, const StatusAmounts& more, int sign = 1);
// In the format of Kubernetes quantities: "1500m", "64Mi".
std::map<std::string, std::string> TextsOf(const StatusAmounts& amounts);

struct PodShare {
  std::string group;  // "namespace/name"; empty: it has no group
  StatusAmounts requested;
  bool is_allocated = false;  // it also holds what it requests
  // The GPUs in billionths that its held GPU memory counts as; 0: unknown, or none.
  Int128 gpus_of_memory = 0;
};
PodShare ShareOf(const CompactPod& pod);
// Adds the part of the node's devices that the pod's GPU memory is.
void MeasureMemory(const NodeRow& node, const CompactPod& pod, PodShare* share);
// Adds the devices that a claim of the pod requests, by their classes.
void AddClaim(const ResourceClaimRow& claim, const CompactPod& pod, PodShare* share);

class StatusSums {
 public:
  struct Sums {
    StatusAmounts requested;
    StatusAmounts allocated;
    int64_t pods = 0;
  };

  void Add(const PodShare& share) { Change(share, 1); }
  void Subtract(const PodShare& share) { Change(share, -1); }
  const Sums& Of(std::string_view group) const;
  const absl::flat_hash_map<std::string, Sums, NameHash, std::equal_to<>>& all() const {
    return groups_;
  }

 private:
  void Change(const PodShare& share, int sign);

  absl::flat_hash_map<std::string, Sums, NameHash, std::equal_to<>> groups_;
};

}  // namespace kai

#endif  // KAI_FEED_STATUS_SUMS_H_
