// The devices among which an allocation chooses, and the requests that choose: checked, counted,
// and each pair of them matched at most once.
//
//   const DeviceCandidates candidates(pools, allocated, options);
//   KAI_ASSIGN_OR_RETURN(ClaimPlan plan, candidates.Plan(claim));
//
// Invariants: pools, allocated devices and options outlive it; candidates are in the order of the
// pools. Cost: O(devices) to make one; a match asks every selector, once for each request and
// device. Threads: many readers; what a match finds out is written to the caller's RequestOption.
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

// What a device takes from one of the counters of all pools, which are numbered through.
struct CandidateUse {
  size_t counter;
  Quantity amount;
};

struct Candidate {
  const Device* device = nullptr;
  bool in_use = false;                   // by one claim alone
  bool shareable = false;                // may go to several claims
  const CapacityShare* taken = nullptr;  // of a shareable device, before this allocation; or null
  std::vector<CandidateUse> uses = {};
};

// One request, or one alternative of it.
struct RequestOption {
  const DeviceRequest* request = nullptr;
  std::string name = {};  // "request" or "request/alternative"
  int64_t count = 0;
  std::vector<size_t> all = {};                   // kAll: the candidates, each of them wanted
  std::vector<std::optional<bool>> matches = {};  // by candidate; what is known so far
};

struct RequestPlan {
  bool has_alternatives = false;
  std::vector<RequestOption> options;
  int64_t least = 0;  // devices, with the option that takes the fewest
};

struct ClaimPlan {
  const DeviceClaim* claim = nullptr;
  std::vector<RequestPlan> requests;
};

class DeviceCandidates {
 public:
  // All arguments must outlive this.
  DeviceCandidates(std::span<const Pool> pools, const AllocatedDevices& allocated,
                   const AllocatorOptions& options);

  // Checks the claim and counts its devices; for messages see allocator.h.
  absl::StatusOr<ClaimPlan> Plan(const DeviceClaim& claim) const;

  // By class, selectors and what the request asks of capacities; not whether it is free.
  absl::StatusOr<bool> Matches(const DeviceClaim& claim, RequestOption* option,
                               size_t candidate) const;

  const std::vector<Candidate>& all() const { return candidates_; }
  // What is left of each counter before this allocation.
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
