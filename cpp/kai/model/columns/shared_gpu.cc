#include "kai/model/columns/shared_gpu.h"

#include <algorithm>
#include <cmath>

namespace kai {
namespace {

// Devices in the ledger: idle ones, those that pods hold whole, and shared ones. The sum can exceed
// the real number by one, because the last shared device is still counted as idle.
double DevicesKnown(const GpuLedger& ledger) {
  const auto shared = std::count_if(ledger.all.begin(), ledger.all.end(),
                                    [](const SharedGpu& each) { return each.used > 0; });
  return std::trunc(*ledger.idle) + std::trunc(ledger.used) + static_cast<double>(shared);
}

void TakeIdleDevice(const GpuLedger& ledger) {
  if (ledger.count < DevicesKnown(ledger)) *ledger.idle -= 1;
}
void GiveIdleDevice(const GpuLedger& ledger) {
  if (ledger.count >= DevicesKnown(ledger)) *ledger.idle += 1;
}

void CountAsReleasing(const GpuLedger& ledger, SharedGpu* gpu, bool counts) {
  if (gpu->counts_as_releasing == counts) return;
  gpu->counts_as_releasing = counts;
  *ledger.releasing += counts ? 1 : -1;
}

}  // namespace

void AddSharer(const GpuLedger& ledger, SharedGpu* gpu, int64_t mib, PodStatus status) {
  const int64_t used_before = gpu->used;
  const int64_t releasing_before = gpu->releasing;
  gpu->used += mib;
  if (status == PodStatus::kPipelined) {
    gpu->releasing -= mib;
    // All pods on it are leaving: the promise takes a whole device that is being freed.
    if (used_before == releasing_before) *ledger.releasing -= 1;
    return;
  }
  gpu->had_holder = true;
  gpu->allocated += mib;
  if (status == PodStatus::kReleasing) {
    gpu->releasing += mib;
    if (gpu->used != gpu->releasing) return;
    CountAsReleasing(ledger, gpu, true);
    TakeIdleDevice(ledger);
    return;
  }
  if (gpu->used <= mib) TakeIdleDevice(ledger);  // the first to use it
  CountAsReleasing(ledger, gpu, false);
}

void RemoveSharer(const GpuLedger& ledger, SharedGpu* gpu, int64_t mib, PodStatus status) {
  const int64_t used_before = gpu->used;
  const int64_t releasing_before = gpu->releasing;
  gpu->used -= mib;
  if (status == PodStatus::kPipelined) {
    gpu->releasing += mib;
    if (used_before == releasing_before || (gpu->used == 0 && gpu->releasing == 0))
      *ledger.releasing += 1;
    return;
  }
  gpu->allocated -= mib;
  if (status == PodStatus::kReleasing) {
    gpu->releasing -= mib;
    if (gpu->used > 0) return;
    GiveIdleDevice(ledger);
    CountAsReleasing(ledger, gpu, false);
    return;
  }
  if (gpu->used <= 0) GiveIdleDevice(ledger);
  if (gpu->used == gpu->releasing && gpu->used != 0) CountAsReleasing(ledger, gpu, true);
}

}  // namespace kai
