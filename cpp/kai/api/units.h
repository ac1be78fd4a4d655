// Units, defined once. The engine counts CPU in millicores, memory in bytes and GPUs in devices;
// messages print cores, gigabytes and GPUs.
//
//   QuotaVector limit = {1000, 2e9, 0.5};   // by QuotaResource: a core, 2 GB, half a device
//
// Limits and other bounds are such vectors; sums are QuotaCounts (api/quota_count.h).
//
// Invariants: the order of the three resources never changes; kUnlimited is exactly -1. Cost: none.
// Threads: constants and plain values.
#ifndef KAI_API_UNITS_H_
#define KAI_API_UNITS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace kai {

inline constexpr double kMillicpuPerCore = 1000;
inline constexpr int64_t kMillisPerUnit = 1000;  // of extended resources (spec 3 R5)
inline constexpr double kBytesPerMegabyte =
    1'000'000;  // queues count memory in megabytes of 10^6 bytes (spec 1 F2)
inline constexpr double kBytesPerGigabyte =
    1'000'000'000;                        // messages print gigabytes of 10^9 bytes (spec 2 M8)
inline constexpr double kUnlimited = -1;  // exactly -1, no other negative number (spec 1 F3)

// The three resources that queues account for, always in this order (spec 1 F20).
enum QuotaResource : size_t { kQuotaCpu = 0, kQuotaMemory = 1, kQuotaGpu = 2 };
inline constexpr size_t kQuotaResources = 3;
using QuotaVector = std::array<double, kQuotaResources>;

}  // namespace kai

#endif  // KAI_API_UNITS_H_
