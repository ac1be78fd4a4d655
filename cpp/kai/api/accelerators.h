// Facts about the devices of each vendor. No other file of the engine names a vendor: to add one,
// add a row here and its keys to keys.h.
//
//   for (const Accelerator& each : kAccelerators)
//   IsGpuResource("amd.com/gpu")             // true
//   IsMigResource("nvidia.com/mig-1g.5gb")   // true
//
// Invariants: each resource has one row. Cost: one comparison per row, no allocation. Threads:
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
  // The resource counts as GPUs in requests, quotas and scores. A resource that does not is an
  // ordinary extended resource: pods request a number of it, and queues are not charged GPUs for it
  // (spec 3 R27, R28).
  bool is_gpu = false;
  std::string_view count_label = {};    // node label: number of devices, broken ones included
  std::string_view memory_label = {};   // node label: MiB per device; empty: no sharing
  std::string_view slice_prefix = {};   // names of resources that are slices of a device
  std::string_view slicing_label = {};  // node label: how slices are offered
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

// The name for whole GPUs of any vendor, where a list of resources needs one.
inline constexpr std::string_view kAnyGpu = "gpu";

// Statuses of pod groups and queues count the GPUs of all vendors under this name (spec 6 C32).
inline constexpr std::string_view kGpusInStatus = keys::kNvidiaGpu;

constexpr bool IsGpuResource(std::string_view name) {
  return std::ranges::any_of(
      kAccelerators, [&](const Accelerator& each) { return each.is_gpu && each.resource == name; });
}

// True for slices of a device, which are counted in instances (spec 3 M1).
constexpr bool IsMigResource(std::string_view name) {
  return std::ranges::any_of(kAccelerators, [&](const Accelerator& each) {
    return !each.slice_prefix.empty() && name.starts_with(each.slice_prefix);
  });
}

}  // namespace kai

#endif  // KAI_API_ACCELERATORS_H_
