// StatusSums: what pods of each pod group ask for and hold, as status says it (spec 6 C32, C34).
//
//   const PodShare share = ShareOf(pod);
//   sums.Add(share);
//   sums.Subtract(share);
//   sums.Of("ns/g").allocated        // {"cpu": "1500m", ...} as TextsOf() it
//
// Of containers only the regular ones count. Pods that wait or run ask for what they do; those that
// run, or wait on a node, hold it. Parts of a GPU count as that part of nvidia.com/gpu, memory of
// one as run.ai/gpu.memory, both for each of the pod's devices; devices of resource claims by the
// names of their classes. Memory that is held is the part of nvidia.com/gpu that it is of the
// node's devices, where the node says how much these have.
//
// Invariants: sums are exact: what was subtracted was never there. Cost: O(resources) a pod. Not
// thread-safe.
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

// By resource, in the units of spec 3 R5; GPUs in billionths.
using StatusAmounts = std::map<std::string, Int128, std::less<>>;
void AddTo(StatusAmounts* sum, const StatusAmounts& more, int sign = 1);
// As Kubernetes writes quantities: "1500m", "64Mi".
std::map<std::string, std::string> TextsOf(const StatusAmounts& amounts);

struct PodShare {
  std::string group;  // "namespace/name"; empty: it is in none
  StatusAmounts requested;
  bool is_allocated = false;  // and holds what it asks for
  // What it holds for the memory of GPUs that it asks for, in billionths; 0: not known, or none.
  Int128 gpus_of_memory = 0;
};
PodShare ShareOf(const CompactPod& pod);
// Its share with the part of the node's devices that its memory is.
void MeasureMemory(const NodeRow& node, const CompactPod& pod, PodShare* share);
// Its share with the devices that this claim of it asks for, by their classes.
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
