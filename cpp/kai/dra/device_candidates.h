// The devices that an allocation can choose, and its requests: checked and counted. Each pair of
// them is matched at most once.
//
//   const DeviceCandidates candidates(pools, allocated, options);
//   KAI_ASSIGN_OR_RETURN(ClaimPlan plan, candidates.Plan(claim));
//
// Invariants: pools, allocated devices and options outlive it; candidates are in the order of the
// pools. Cost: O(devices) to construct; a match runs each selector once per request and device.
// Threads: many readers; the result of a match is stored in the caller's RequestOption.
#ifndef KAI_DRA_DEVICE_CANDIDATES_H_
#define KAI_DRA_DEVICE_CANDIDATES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kai/dra/allocator.h"

namespace kai {

// How much a device takes of one counter. The counters of all pools are numbered together.
struct CandidateUse {
  size_t counter;
  Quantity amount;
};

struct Candidate {
  const Device* device = nullptr;
  bool in_use = false;                   // one claim holds it alone
  bool shareable = false;                // may go to several claims
  const CapacityShare* taken = nullptr;  // shareable: taken before; or null
  std::vector<CandidateUse> uses = {};
};

// One request, or one alternative of it.
struct RequestOption {
  const DeviceRequest* request = nullptr;
  std::string name = {};  // "request" or "request/alternative"
  int64_t count = 0;
  std::vector<size_t> all = {};                   // kAll: all matching candidates
  std::vector<std::optional<bool>> matches = {};  // by candidate; empty: not evaluated yet
};

struct RequestPlan {
  bool has_alternatives = false;
  std::vector<RequestOption> options;
  int64_t least = 0;  // devices, of the option that needs the fewest
};

struct ClaimPlan {
  const DeviceClaim* claim = nullptr;
  std::vector<RequestPlan> requests;
};

class DeviceCandidates {
 public:
  // All arguments must outlive this object.
  DeviceCandidates(std::span<const Pool> pools, const AllocatedDevices& allocated,
                   const AllocatorOptions& options);

  // Checks the claim and counts its devices; allocator.h lists the errors.
  absl::StatusOr<ClaimPlan> Plan(const DeviceClaim& claim) const;

  // Checks class, selectors and requested capacities, but not whether the device is free.
  absl::StatusOr<bool> Matches(const DeviceClaim& claim, RequestOption* option,
                               size_t candidate) const;

  const std::vector<Candidate>& all() const { return candidates_; }
  // What was left of each counter before this allocation.
  const std::vector<Quantity>& counters() const { return counters_; }

 private:
  void AddPool(const Pool& pool, const AllocatedDevices& allocated);
  absl::Status Check(const DeviceClaim& claim, const DeviceRequest& request,
                     const std::string& name) const;
  absl::StatusOr<RequestOption> PlanOption(const DeviceClaim& claim, const DeviceRequest& request,
                                           std::string name) const;
  absl::StatusOr<bool> Selects(const DeviceClaim& claim, const RequestOption& option,
                               const Candidate& candidate) const;

  std::span<const Pool> pools_;
  const AllocatorOptions& options_;
  std::vector<Candidate> candidates_;
  std::vector<Quantity> counters_;
};

}  // namespace kai

#endif  // KAI_DRA_DEVICE_CANDIDATES_H_
