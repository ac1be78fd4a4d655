#include "kai/dra/device_candidates.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "kai/base/saturating.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"

namespace kai {
namespace {

std::string About(const DeviceClaim& claim, std::string_view request) {
  return StrCat("claim ", claim.name, ", request ", request, ": ");
}

std::string Shown(const DeviceId& id) { return StrCat(id.driver, "/", id.pool, "/", id.device); }

// Adds "claim ns/c, request r, device d/p/n: " in front of an error.
absl::Status SelectorFailed(const DeviceClaim& claim, const RequestOption& option,
                            const Device& device, const absl::Status& why) {
  return absl::Status(why.code(),
                      StrCat("claim ", claim.name, ", request ", option.name, ", device ",
                             Shown(device.id()), ": selector: ", std::string(why.message())));
}

}  // namespace

DeviceCandidates::DeviceCandidates(std::span<const Pool> pools, const AllocatedDevices& allocated,
                                   const AllocatorOptions& options)
    : pools_(pools), options_(options) {
  for (const Pool& pool : pools) {
    if (pool.state == Pool::State::kReady) AddPool(pool, allocated);
  }
}

void DeviceCandidates::AddPool(const Pool& pool, const AllocatedDevices& allocated) {
  std::map<std::pair<std::string_view, std::string_view>, size_t> numbers;
  for (const CounterSet* set : pool.counter_sets) {
    for (const auto& [name, amount] : set->counters) {
      numbers[{set->name, name}] = counters_.size();
      counters_.push_back(amount);
    }
  }
  const auto is_allocated = [&](const DeviceId& id) {
    return allocated.devices.contains(id) || allocated.shared.contains(id);
  };
  const auto uses_of = [&](const Device& device) {
    std::vector<CandidateUse> uses;
    for (const CounterUse& use : device.consumes) {
      for (const auto& [name, amount] : use.counters) {
        const auto number = numbers.find({use.counter_set, name});
        if (number != numbers.end()) uses.push_back({number->second, amount});
      }
    }
    return uses;
  };
  const auto take = [&](const std::vector<CandidateUse>& uses) {
    for (const CandidateUse& use : uses) {
      counters_[use.counter] = counters_[use.counter] - use.amount;  // below zero: none is left
    }
  };
  for (const Device* device : pool.devices) {
    const DeviceId id = device->id();
    Candidate candidate{
        .device = device,
        .in_use = allocated.devices.contains(id),
        .shareable = options_.consumable_capacity && device->allow_multiple_allocations};
    const auto taken = allocated.shared.find(id);
    if (taken != allocated.shared.end()) candidate.taken = &taken->second;
    candidate.uses = uses_of(*device);
    if (is_allocated(id)) take(candidate.uses);
    candidates_.push_back(std::move(candidate));
  }
  for (const Device* device : pool.elsewhere) {
    if (is_allocated(device->id())) take(uses_of(*device));
  }
}

absl::Status DeviceCandidates::Check(const DeviceClaim& claim, const DeviceRequest& request,
                                     const std::string& name) const {
  const std::string about = About(claim, name);
  if (request.admin_access && !options_.admin_access) {
    return absl::UnimplementedError(StrCat(about, "admin access is disabled"));
  }
  if (!request.capacity.empty() && !options_.consumable_capacity) {
    return absl::UnimplementedError(StrCat(about, "requests for capacity are disabled"));
  }
  if (request.device_class == nullptr) {
    return absl::InvalidArgumentError(
        StrCat(about, "device class ", request.class_name, " does not exist"));
  }
  if (request.mode == AllocationMode::kUnknown) {
    return absl::InvalidArgumentError(StrCat(about, "its allocation mode is unknown"));
  }
  if (request.mode == AllocationMode::kExactCount && request.count < 1) {
    return absl::InvalidArgumentError(StrCat(about, "asks for ", request.count, " devices"));
  }
  if (request.mode != AllocationMode::kAll) return absl::OkStatus();
  for (const Pool& pool : pools_) {
    if (pool.state == Pool::State::kReady) continue;
    const bool updated = pool.state == Pool::State::kIncomplete;
    return absl::FailedPreconditionError(StrCat(about, "requests all devices, but pool ",
                                                pool.driver, "/", pool.name,
                                                updated ? " is being updated" : " is invalid"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RequestOption> DeviceCandidates::PlanOption(const DeviceClaim& claim,
                                                           const DeviceRequest& request,
                                                           std::string name) const {
  KAI_RETURN_IF_ERROR(Check(claim, request, name));
  RequestOption option{.request = &request, .name = std::move(name), .count = request.count};
  if (request.mode == AllocationMode::kExactCount) return option;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    KAI_ASSIGN_OR_RETURN(const bool matches, Matches(claim, &option, i));
    if (matches) option.all.push_back(i);
  }
  option.count = static_cast<int64_t>(option.all.size());
  return option;
}

absl::StatusOr<ClaimPlan> DeviceCandidates::Plan(const DeviceClaim& claim) const {
  ClaimPlan plan{.claim = &claim, .requests = {}};
  int64_t least = 0;
  for (const DeviceRequest& request : claim.requests) {
    RequestPlan& planned = plan.requests.emplace_back();
    planned.has_alternatives = !request.first_available.empty();
    if (planned.has_alternatives && !options_.prioritized_list) {
      return absl::UnimplementedError(
          StrCat(About(claim, request.name), "lists of alternatives are disabled"));
    }
    if (!planned.has_alternatives) {
      KAI_ASSIGN_OR_RETURN(RequestOption option, PlanOption(claim, request, request.name));
      planned.options.push_back(std::move(option));
    }
    for (const DeviceRequest& alternative : request.first_available) {
      KAI_ASSIGN_OR_RETURN(
          RequestOption option,
          PlanOption(claim, alternative, StrCat(request.name, "/", alternative.name)));
      planned.options.push_back(std::move(option));
    }
    planned.least = planned.options[0].count;
    for (const RequestOption& option : planned.options) {
      planned.least = std::min(planned.least, option.count);
    }
    least = AddSaturating(least, planned.least);
  }
  if (least > kMostDevicesPerClaim) {
    return absl::InvalidArgumentError(StrCat("claim ", claim.name, ": asks for ", least,
                                             " devices, and a claim holds at most ",
                                             kMostDevicesPerClaim));
  }
  for (const DeviceConstraint& constraint : claim.constraints) {
    if (constraint.kind == DeviceConstraint::Kind::kDistinctAttribute &&
        !options_.consumable_capacity) {
      return absl::UnimplementedError(
          StrCat("claim ", claim.name, ": constraints for distinct attributes are disabled"));
    }
  }
  return plan;
}

absl::StatusOr<bool> DeviceCandidates::Matches(const DeviceClaim& claim, RequestOption* option,
                                               size_t candidate) const {
  if (option->matches.empty()) option->matches.resize(candidates_.size());
  std::optional<bool>& known = option->matches[candidate];
  if (!known.has_value()) {
    KAI_ASSIGN_OR_RETURN(known, Selects(claim, *option, candidates_[candidate]));
  }
  return *known;
}

absl::StatusOr<bool> DeviceCandidates::Selects(const DeviceClaim& claim,
                                               const RequestOption& option,
                                               const Candidate& candidate) const {
  const Device& device = *candidate.device;
  // A binder would have to wait for these conditions between binding and starting; KAI's does not.
  if (device.has_binding_conditions) return false;
  if (options_.consumable_capacity) {
    const std::optional<CapacityShare> share = ShareOf(device, option.request->capacity);
    if (!share.has_value() ||
        !HasRoom(device, *share, candidate.taken != nullptr ? *candidate.taken : CapacityShare()))
      return false;
  }
  for (const auto* selectors :
       {&option.request->device_class->selectors, &option.request->selectors}) {
    for (const DeviceSelector& selector : *selectors) {
      const absl::StatusOr<bool> matches = selector.Matches(device);
      if (!matches.ok()) return SelectorFailed(claim, option, device, matches.status());
      if (!*matches) return false;
    }
  }
  return true;
}

}  // namespace kai
