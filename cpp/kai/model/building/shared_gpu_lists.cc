#include "kai/model/building/shared_gpu_lists.h"

#include <algorithm>
#include <string>

namespace kai {

void SharedGpuLists::Note(const std::vector<std::string>& groups, NodeId node) {
  for (const std::string& group : groups) places_.try_emplace({node, group}, 0);
}

void SharedGpuLists::Write(Interner* names, NodeColumns* nodes) {
  for (auto& [key, place] : places_) {
    std::vector<SharedGpu>& listed = nodes->shared_gpus[key.first];
    place = static_cast<int32_t>(listed.size());
    listed.push_back({.name = names->Intern(key.second)});
  }
}

GpuList SharedGpuLists::Of(const std::vector<std::string>& groups, NodeId node) const {
  GpuList gpus;
  for (const std::string& group : groups) {
    const int32_t gpu = places_.at({node, group});
    if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace kai
