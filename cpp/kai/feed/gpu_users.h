// Pods on shared devices and pods that reserve devices (spec 6 C55-C57), with the facts that
// binders need; and whether a scaling pod waits, which makes an autoscaler add nodes (spec 3 B10).
//
//   gpu_users_.Gone(name);
//   drained.gpu_users = gpu_users_.TakeChanged();
//
// Invariants: pods without a GPU group are not listed; a pod that is gone or left its groups is
// listed once without groups. Entries are sorted by name. Cost: a look-up per pod event, and a map
// entry per pod that shares a device. Threads: those of the feed.
#ifndef KAI_FEED_GPU_USERS_H_
#define KAI_FEED_GPU_USERS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/ingest/json_reader.h"
#include "kai/model/rows/compact_rows.h"
#include "kai/store/object_table.h"

namespace kai {

struct GpuUser {
  std::string name;  // "namespace/name"
  std::string uid = {};
  std::string node = {};
  std::vector<std::string> groups = {};
  std::string phase = {};
  bool is_leaving = false;
  bool is_reservation = false;
  std::string device = {};  // reservations: the UUID that the program reported

  friend bool operator==(const GpuUser&, const GpuUser&) = default;
};

class GpuUsers {
 public:
  void Update(const std::string& name, const CompactPod* row, JsonObject pod);
  void Gone(std::string_view name);
  std::vector<GpuUser> TakeChanged();
  // True if a pod in the namespace of scaling pods has no node yet.
  bool is_scaling_up() const { return !scaling_.empty(); }

 private:
  absl::flat_hash_map<std::string, GpuUser, NameHash, std::equal_to<>> users_;
  std::set<std::string> changed_;
  std::set<std::string, std::less<>> scaling_;
};

}  // namespace kai

#endif  // KAI_FEED_GPU_USERS_H_
