// FirstMoment: the state of a cluster from which a simulation starts.
//
//   return std::make_shared<FirstMoment>(*store, cluster->params(), memory);
//
// Each pod group of a known queue that has live pods becomes a job: its pods on nodes keep running,
// and its waiting pods are scheduled. All other objects stay unchanged: pods of other schedulers,
// reservations, volumes.
//
// Invariants: groups are sorted by name, and so are the pods of each. Cost: a copy of the store,
// and a cluster built from it. Threads: const after construction.
#ifndef KAI_SIM_FIRST_MOMENT_H_
#define KAI_SIM_FIRST_MOMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kai/model/rows/rows.h"
#include "kai/store/store.h"

namespace kai {

inline constexpr int64_t kMicroGpusOfOne = 1'000'000;

class FirstMoment {
 public:
  struct Pod {
    PodRow row = {};
    std::string node = {};                     // empty: it waits
    std::vector<std::string> gpu_groups = {};  // shared devices on that node
    std::string bind_request = {};             // a request in progress, namespace/name
    int64_t micro_gpus = 0;                    // as its queue counts them
  };
  struct Group {
    std::string name;  // namespace/name
    PodGroupRow row = {};
    std::vector<Pod> pods = {};
    int32_t min_pods = 1;  // that have to run together
  };

  // `memory`: the exported memory of this cluster's scheduler (Engine::ExportMemory); empty: none.
  FirstMoment(const Store& store, ShardParams params, std::string memory);

  const Store& store() const { return store_; }
  const ShardParams& params() const { return params_; }
  const std::string& memory() const { return memory_; }
  const std::vector<Group>& groups() const { return groups_; }

 private:
  Store store_;
  ShardParams params_;
  std::string memory_;
  std::vector<Group> groups_;
};

}  // namespace kai

#endif  // KAI_SIM_FIRST_MOMENT_H_
