#include "kai/session/plan.h"

#include <algorithm>

#include "kai/session/gpu_groups.h"

namespace kai {

std::vector<std::string> Plan::GpuGroupsOf(const CycleLog::Decision& decision) const {
  std::vector<std::string> names;
  if (decision.gpus < 0) return names;
  const std::vector<SharedGpu>& listed = cluster->nodes().shared_gpus[decision.node];
  const auto is_taken = [&](std::string_view name) {
    return std::any_of(listed.begin(), listed.end(),
                       [&](const SharedGpu& gpu) { return cluster->Text(gpu.name) == name; });
  };
  for (const int32_t gpu : shared_gpus[static_cast<size_t>(decision.gpus)]) {
    if (static_cast<size_t>(gpu) < listed.size()) {
      names.emplace_back(cluster->Text(listed[static_cast<size_t>(gpu)].name));
      continue;
    }
    const std::string_view node = cluster->Text(cluster->nodes().name[decision.node]);
    std::string name = NewGpuGroup(now_ns, node, gpu);
    for (int32_t attempt = 1; is_taken(name); ++attempt)
      name = NewGpuGroup(now_ns, node, gpu, attempt);
    names.push_back(std::move(name));
  }
  return names;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPlaced:
      return "placed";
    case Verdict::kPipelined:
      return "pipelined";
    case Verdict::kPartlyPlaced:
      return "partly_placed";
    case Verdict::kUnschedulable:
      return "unschedulable";
    case Verdict::kNotReady:
      return "not_ready";
    case Verdict::kRunning:
      return "running";
    case Verdict::kInvalid:
      return "invalid";
  }
  return "";
}

}  // namespace kai
