// SharedGpu: one GPU that several pods of a node share, and how much of its memory they take: the
// one home of spec 3 N5-N7 and N11-N14.
//
//   AddSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, status);
//   RemoveSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, status);
//
// Which physical device it is comes out when a pod runs there; until then a group of sharers stands
// for it, and no two groups of a node stand for the same one (spec 3 S8). All amounts are MiB.
//
// Invariants: removing in reverse order leads back to the start, promises apart: KAI counts the
// device of a promise twice, so a caller that takes changes back keeps the old values. Cost:
// O(shared devices of the node). Threads: plain data; one writer.
#ifndef KAI_MODEL_COLUMNS_SHARED_GPU_H_
#define KAI_MODEL_COLUMNS_SHARED_GPU_H_

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_status.h"

namespace kai {

// Devices of a node, as places in its list of shared ones. One place behind the end means a device
// that no pod shares yet.
using GpuList = absl::InlinedVector<int32_t, 4>;

struct SharedGpu {
  NameId name;              // of its group; invalid: first shared in this cycle
  int64_t used = 0;         // by pods that hold it and those it is promised to
  int64_t allocated = 0;    // by pods that hold it, leaving ones included
  int64_t releasing = 0;    // what leaving pods give back, less what is promised; may be negative
  bool had_holder = false;  // a pod has held it, and not just been promised it
  bool counts_as_releasing = false;  // as a whole device, among the node's that are being freed

  // More pods may join those on it.
  bool IsOpen() const { return used != 0 && allocated != releasing; }
  // Memory that is free now, or will be once leaving pods are gone (spec 3 N11). A device that
  // all pods are leaving is offered as a whole one instead.
  bool Holds(int64_t capacity_mib, int64_t mib) const {
    return IsOpen() && capacity_mib - allocated + releasing - mib >= 0;
  }
  // ... that is free now (spec 3 N12).
  bool HoldsNow(int64_t capacity_mib, int64_t mib) const {
    return had_holder && capacity_mib - allocated - mib >= 0;
  }

  friend bool operator==(const SharedGpu&, const SharedGpu&) = default;
};

// What sharing changes of a node besides: its whole devices.
struct GpuLedger {
  double* idle = nullptr;       // GPU element of what is idle
  double* releasing = nullptr;  // and of what is being freed
  double used = 0;              // by pods with whole devices
  double count = 0;             // devices of the node
  std::span<const SharedGpu> all;
};

// Adds a pod that takes `mib` of `gpu`, which is one of `ledger.all` (spec 3 N5), or takes it out
// again (spec 3 N6).
void AddSharer(const GpuLedger& ledger, SharedGpu* gpu, int64_t mib, PodStatus status);
void RemoveSharer(const GpuLedger& ledger, SharedGpu* gpu, int64_t mib, PodStatus status);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_SHARED_GPU_H_
