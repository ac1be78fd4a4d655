// SharedGpu: one GPU that several pods of a node share, and how much of its memory they take: the
// only implementation of spec 3 N5-N7 and N11-N14.
//
//   [&](SharedGpu* shared) { AddSharer(ledger, shared, mib, status); });
//   [&](SharedGpu* shared) { RemoveSharer(ledger, shared, mib, status); });
//
// The physical device is only known when a pod runs on it. Until then a SharedGpu is a group of
// sharers without a device, and no two groups of a node get the same device (spec 3 S8). All
// amounts are MiB.
//
// Invariants: removing pods in reverse order restores the start, except for promises: KAI counts
// the device of a promise twice, so a caller that takes changes back keeps the old values. Cost:
// O(shared devices of the node). Threads: plain data; one writer.
#ifndef KAI_MODEL_COLUMNS_SHARED_GPU_H_
#define KAI_MODEL_COLUMNS_SHARED_GPU_H_

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_status.h"

namespace kai {

// Devices of a node, as positions in its list of shared ones. The position behind the end means a
// device that no pod shares yet.
using GpuList = absl::InlinedVector<int32_t, 4>;

struct SharedGpu {
  NameId name;                       // of its group; invalid: first shared in this cycle
  int64_t used = 0;                  // by pods that hold it and pods that it is promised to
  int64_t allocated = 0;             // by pods that hold it, leaving ones included
  int64_t releasing = 0;             // what leaving pods give back, minus promises; may be negative
  bool had_holder = false;           // a pod has held it; a promise alone does not count
  bool counts_as_releasing = false;  // the node counts it as a releasing whole device

  // More pods may join the pods on it.
  bool IsOpen() const { return used != 0 && allocated != releasing; }
  // Whether `mib` of memory are free now or will be free once leaving pods are gone (spec 3 N11).
  // If all pods of a device are leaving, it is offered as a whole device instead.
  bool Holds(int64_t capacity_mib, int64_t mib) const {
    return IsOpen() && capacity_mib - allocated + releasing - mib >= 0;
  }
  // Whether `mib` of memory are free now (spec 3 N12).
  bool HoldsNow(int64_t capacity_mib, int64_t mib) const {
    return had_holder && capacity_mib - allocated - mib >= 0;
  }

  friend bool operator==(const SharedGpu&, const SharedGpu&) = default;
};

// The values of a node that sharing changes as well: its whole devices.
struct GpuLedger {
  double* idle = nullptr;       // the GPU element of the node's idle resources
  double* releasing = nullptr;  // and of its releasing resources
  double used = 0;              // by pods with whole devices
  double count = 0;             // devices of the node
  std::span<const SharedGpu> all;
};

// Adds a pod that takes `mib` of `gpu`, an element of `ledger.all` (spec 3 N5), or removes it (spec
// 3 N6).
void AddSharer(const GpuLedger& ledger, SharedGpu* gpu, int64_t mib, PodStatus status);
void RemoveSharer(const GpuLedger& ledger, SharedGpu* gpu, int64_t mib, PodStatus status);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_SHARED_GPU_H_
