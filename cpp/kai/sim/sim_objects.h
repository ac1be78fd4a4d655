// SimObjects: the Kubernetes objects of simulated jobs.
//
//   store_.Upsert(objects_.PodRowOf(workload_.jobs[At(row)], std::move(state)));
//
// Invariants: equal arguments give equal rows. Cost: that of a row. Threads: as for reading the
// workload.
#ifndef KAI_SIM_SIM_OBJECTS_H_
#define KAI_SIM_SIM_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kai/model/rows/rows.h"
#include "kai/sim/workload.h"

namespace kai {

// The model of a node's GPUs; empty if no label has it.
std::string_view ModelOf(const NodeRow& node);

class SimObjects {
 public:
  static constexpr const char* kNamespace = "sim";

  SimObjects(const SimWorkload& workload, std::string scheduler_name, int64_t start_ns)
      : workload_(workload), scheduler_name_(std::move(scheduler_name)), start_ns_(start_ns) {}

  struct Stamps {  // nanoseconds since the start
    std::optional<int64_t> last_start_ns;
    std::optional<int64_t> stale_since_ns;
    std::optional<int64_t> last_eviction_ns;
    ServiceRow service = {};  // with its time
  };
  PodGroupRow GroupRow(const SimJob& job, const Stamps& stamps) const;

  struct PodState {
    int32_t number = 0;
    int32_t generation = 0;
    int64_t created_ns = 0;
    std::optional<int64_t> deletion_ns;
    std::string node;
    bool runs = false;
    std::vector<std::string> gpu_groups;
  };
  PodRow PodRowOf(const SimJob& job, PodState state) const;

  // Names as in the store, "namespace/name".
  std::string PodName(const SimJob& job, int32_t number) const;
  static std::string GroupName(const SimJob& job);

 private:
  const FirstMoment::Group& GivenTo(const SimJob& job) const {
    return workload_.first->groups()[static_cast<size_t>(job.given)];
  }
  PodRow GivenRow(const SimJob& job, PodState state) const;
  std::optional<int64_t> Date(std::optional<int64_t> since_start_ns) const;

  const SimWorkload& workload_;
  std::string scheduler_name_;
  int64_t start_ns_;
};

}  // namespace kai

#endif  // KAI_SIM_SIM_OBJECTS_H_
