// What is known of each vendor's devices. Nothing else in the engine knows a vendor: a new one is a
// row here, with its keys in keys.h.
//
//   for (const Accelerator& each : kAccelerators)
//   IsGpuResource("amd.com/gpu")             // true
//   IsMigResource("nvidia.com/mig-1g.5gb")   // true
//
// Invariants: each resource stands in one row. Cost: a look at every row, with no memory. Threads:
// constants, thread-safe.
#ifndef KAI_API_ACCELERATORS_H_
#define KAI_API_ACCELERATORS_H_

#include <algorithm>
#include <array>
#include <string_view>

#include "kai/api/keys.h"

namespace kai {

struct Accelerator {
  std::string_view vendor;
  std::string_view resource;  // whole devices
  // Counts as a GPU in requests, quotas and scores. What does not is a resource like any other:
  // pods get it by the number, and no queue's GPUs are charged (spec 3 R27, R28).
  bool is_gpu = false;
  std::string_view count_label = {};    // of nodes: devices, broken ones too
  std::string_view memory_label = {};   // of nodes: MiB per device; none: they cannot be shared
  std::string_view slice_prefix = {};   // of resources that are slices of a device
  std::string_view slicing_label = {};  // of nodes: how slices are offered
};

inline constexpr std::array<Accelerator, 6> kAccelerators = {{
    {.vendor = "NVIDIA",
     .resource = keys::kNvidiaGpu,
     .is_gpu = true,
     .count_label = keys::kGpuCount,
     .memory_label = keys::kGpuMemory,
     .slice_prefix = keys::kMigPrefix,
     .slicing_label = keys::kMigStrategy},
    {.vendor = "AMD", .resource = keys::kAmdGpu, .is_gpu = true},
    {.vendor = "Intel", .resource = keys::kIntelI915},
    {.vendor = "Intel", .resource = keys::kIntelXe},
    {.vendor = "Habana", .resource = keys::kHabanaGaudi},
    {.vendor = "Google", .resource = keys::kGoogleTpu},
}};

// The name under which whole GPUs of any vendor are written down where one is needed.
inline constexpr std::string_view kAnyGpu = "gpu";

// The resource under which statuses of pod groups and queues count GPUs of any vendor (spec 6 C32).
inline constexpr std::string_view kGpusInStatus = keys::kNvidiaGpu;

constexpr bool IsGpuResource(std::string_view name) {
  return std::ranges::any_of(
      kAccelerators, [&](const Accelerator& each) { return each.is_gpu && each.resource == name; });
}

// Slices of a device, counted in instances (spec 3 M1).
constexpr bool IsMigResource(std::string_view name) {
  return std::ranges::any_of(kAccelerators, [&](const Accelerator& each) {
    return !each.slice_prefix.empty() && name.starts_with(each.slice_prefix);
  });
}

}  // namespace kai

#endif  // KAI_API_ACCELERATORS_H_
