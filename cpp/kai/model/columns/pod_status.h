// The statuses of a pod and the groups they form (spec 2 S1, S4).
//
//   IsAllocated(row.status)
//
// Invariants: allocated pods are active allocated, and these are active used. Cost: a shift.
// Threads: plain values.
#ifndef KAI_MODEL_COLUMNS_POD_STATUS_H_
#define KAI_MODEL_COLUMNS_POD_STATUS_H_

#include <cstddef>
#include <cstdint>

namespace kai {

enum class PodStatus : uint8_t {
  kPending,
  kGated,
  kAllocated,  // placed in this cycle
  kPipelined,  // has a place, promised in this cycle, that is being freed
  kBinding,
  kBound,
  kRunning,
  kReleasing,
  kStuckInReleasing,
  kSucceeded,
  kFailed,
  kUnknown,
};
inline constexpr size_t kPodStatuses = 12;

namespace internal {
constexpr bool IsOneOf(PodStatus status, uint32_t group) {
  return (group >> static_cast<uint32_t>(status) & 1u) != 0;
}
template <typename... Statuses>
constexpr uint32_t Group(Statuses... statuses) {
  return ((1u << static_cast<uint32_t>(statuses)) | ...);
}
}  // namespace internal

// Counts in the usage of its queue at the start of a cycle; its pod group has started.
constexpr bool IsAllocated(PodStatus s) {
  return internal::IsOneOf(s, internal::Group(PodStatus::kAllocated, PodStatus::kBinding,
                                              PodStatus::kBound, PodStatus::kRunning));
}
// May become a victim; counts towards the gang when pods to allocate are chosen.
constexpr bool IsActiveAllocated(PodStatus s) {
  return IsAllocated(s) || s == PodStatus::kPipelined;
}
// Occupies a node; counts for gang satisfaction and staleness.
constexpr bool IsActiveUsed(PodStatus s) {
  return IsActiveAllocated(s) || s == PodStatus::kReleasing || s == PodStatus::kStuckInReleasing;
}

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_POD_STATUS_H_
