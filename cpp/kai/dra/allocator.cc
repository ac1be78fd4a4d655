#include "kai/dra/allocator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "kai/base/check.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/device_candidates.h"

namespace kai {
namespace {

// A decision of the search: which option of a request to use, or which device to place.
struct Place {
  size_t claim = 0;
  size_t request = 0;
  std::optional<size_t> option = std::nullopt;  // empty: the option has to be chosen
  int64_t device = 0;                           // which of the option's devices
};

// A place, and which of its possibilities have been tried.
struct Choice {
  Place place;
  size_t next = 0;      // the candidate, option, or index into `all` to try next
  bool placed = false;  // the device of the last attempt is the last of placed_
};

struct PlacedDevice {
  size_t claim;
  const RequestOption* option;
  size_t candidate;
  CapacityShare taken;  // only of shareable devices
};

// A search of this many steps backtracks much. Most need as many steps as there are devices.
constexpr int64_t kStepsBeforeCount = 1000;

// The search. Every check is computed from the devices placed so far, which are few. So undoing a
// step removes the last device, and there is no other state to restore.
class Search {
 public:
  Search(const DeviceCandidates& candidates, std::vector<ClaimPlan> claims,
         const AllocatorOptions& options)
      : candidates_(candidates), claims_(std::move(claims)), options_(options) {}

  absl::StatusOr<bool> Run() {
    std::vector<Choice> choices;
    std::optional<Place> place = FirstOf(0, 0);
    while (place.has_value()) {
      choices.push_back({.place = *place, .next = FirstCandidate(*place)});
      while (true) {
        KAI_ASSIGN_OR_RETURN(const bool found, TryNext(&choices.back()));
        if (found) break;
        if (steps_ >= kStepsBeforeCount && !is_counted_) {
          is_counted_ = true;
          if (AnyRequestHasTooFew()) return false;
        }
        choices.pop_back();
        if (choices.empty()) return false;
      }
      place = Behind(choices.back());
    }
    return true;
  }

  std::vector<ClaimDevices> Take() {
    std::vector<ClaimDevices> claims(claims_.size());
    for (PlacedDevice& placed : placed_) {
      const Candidate& candidate = candidates_.all()[placed.candidate];
      claims[placed.claim].devices.push_back({.request = placed.option->name,
                                              .device = candidate.device,
                                              .admin_access = placed.option->request->admin_access,
                                              .shared = candidate.shareable,
                                              .taken = std::move(placed.taken)});
    }
    return claims;
  }

  int64_t steps() const { return steps_; }

 private:
  const RequestPlan& RequestAt(const Place& place) const {
    return claims_[place.claim].requests[place.request];
  }
  RequestOption& OptionAt(const Place& place) {
    return claims_[place.claim].requests[place.request].options[*place.option];
  }

  // True if fewer devices match some request than it needs, so that no choice helps. A search that
  // goes on for long tries all devices for the requests before it, in all ways.
  bool AnyRequestHasTooFew() {
    for (ClaimPlan& claim : claims_) {
      for (RequestPlan& request : claim.requests) {
        RequestOption& option = request.options[0];
        if (request.has_alternatives || option.request->mode == AllocationMode::kAll) continue;
        int64_t matching = 0;
        for (size_t i = 0; i < candidates_.all().size(); ++i) {
          if (candidates_.all()[i].in_use && !option.request->admin_access) continue;
          const absl::StatusOr<bool> matches = candidates_.Matches(*claim.claim, &option, i);
          if (!matches.ok()) return false;  // the search reports the error if it gets there
          matching += *matches ? 1 : 0;
        }
        if (matching < option.count) return true;
      }
    }
    return false;
  }

  // The first place of this request, or of the next one; empty if all requests are filled.
  std::optional<Place> FirstOf(size_t claim, size_t request) const {
    while (claim < claims_.size() && request >= claims_[claim].requests.size()) {
      ++claim;
      request = 0;
    }
    if (claim >= claims_.size()) return std::nullopt;
    Place place{.claim = claim, .request = request};
    if (!RequestAt(place).has_alternatives) place.option = 0;
    return place;
  }

  std::optional<Place> Behind(const Choice& choice) {
    Place place = choice.place;
    if (!place.option.has_value()) {
      place.option = choice.next - 1;
      return place;
    }
    if (++place.device < OptionAt(place).count) return place;
    return FirstOf(place.claim, place.request + 1);
  }

  // The devices of one request are exchangeable, so only ascending orders are tried: an answer in
  // any other order would have been found earlier in its ascending order.
  size_t FirstCandidate(const Place& place) {
    if (place.device == 0 || placed_.empty() || !place.option.has_value()) return 0;
    if (OptionAt(place).request->mode == AllocationMode::kAll) return 0;
    return placed_.back().candidate + 1;
  }

  // Removes the device at this place and places the next one that fits. False: nothing is left to
  // try.
  absl::StatusOr<bool> TryNext(Choice* choice) {
    if (choice->placed) placed_.pop_back();
    choice->placed = false;
    const Place& place = choice->place;
    if (!place.option.has_value()) return TryNextOption(choice);
    RequestOption& option = OptionAt(place);
    const bool all = option.request->mode == AllocationMode::kAll;
    if (all) {
      const auto device = static_cast<size_t>(place.device);
      if (choice->next++ > 0 || device >= option.all.size()) return false;
      KAI_ASSIGN_OR_RETURN(choice->placed, TryDevice(place, &option, option.all[device]));
      return choice->placed;
    }
    while (!choice->placed && choice->next < candidates_.all().size()) {
      KAI_ASSIGN_OR_RETURN(choice->placed, TryDevice(place, &option, choice->next++));
    }
    return choice->placed;
  }

  // Skips options that would leave too few of the claim's 32 devices for its later requests.
  absl::StatusOr<bool> TryNextOption(Choice* choice) const {
    const Place& place = choice->place;
    int64_t others = std::count_if(placed_.begin(), placed_.end(), [&](const PlacedDevice& placed) {
      return placed.claim == place.claim;
    });
    const std::vector<RequestPlan>& requests = claims_[place.claim].requests;
    for (size_t i = place.request + 1; i < requests.size(); ++i) others += requests[i].least;
    const std::vector<RequestOption>& options = RequestAt(place).options;
    while (choice->next < options.size()) {
      if (options[choice->next++].count <= kMostDevicesPerClaim - others) return true;
    }
    return false;
  }

  absl::StatusOr<bool> TryDevice(const Place& place, RequestOption* option, size_t index) {
    // Each of the checks below loops over the placed devices.
    steps_ += 1 + static_cast<int64_t>(placed_.size() / 32);
    if (steps_ > options_.budget) {
      return absl::ResourceExhaustedError(
          StrCat("the search for devices took more than ", options_.budget, " steps"));
    }
    const DeviceClaim& claim = *claims_[place.claim].claim;
    const Candidate& candidate = candidates_.all()[index];
    if (InUse(place, *option, index)) return false;
    KAI_ASSIGN_OR_RETURN(const bool matches, candidates_.Matches(claim, option, index));
    if (!matches) return false;
    const Device& device = *candidate.device;
    if (!device.consumes.empty() && !options_.partitionable_devices) return false;
    if (!option->request->admin_access && !CountersSuffice(index)) return false;
    if (options_.device_taints && TaintsRefuse(device, *option->request)) return false;
    CapacityShare share;
    if (candidate.shareable) {
      std::optional<CapacityShare> wanted = ShareOf(device, option->request->capacity);
      if (!wanted.has_value() || !HasRoom(device, *wanted, TakenOf(index))) return false;
      share = *std::move(wanted);
    }
    if (!ConstraintsHold(place, *option, device)) {
      if (option->request->mode != AllocationMode::kAll) return false;
      return absl::InvalidArgumentError(StrCat("claim ", claim.name, ", request ", option->name,
                                               ": requests all devices, but a constraint excludes ",
                                               device.name));
    }
    placed_.push_back(
        {.claim = place.claim, .option = option, .candidate = index, .taken = std::move(share)});
    return true;
  }

  bool InUse(const Place& place, const RequestOption& option, size_t index) const {
    const Candidate& candidate = candidates_.all()[index];
    const bool admin = option.request->admin_access;
    if (candidate.in_use && !admin) return true;
    if (candidate.shareable) return false;
    return std::any_of(placed_.begin(), placed_.end(), [&](const PlacedDevice& placed) {
      return placed.candidate == index && (!admin || placed.claim == place.claim);
    });
  }

  bool CountersSuffice(size_t index) const {
    const std::vector<CandidateUse>& uses = candidates_.all()[index].uses;
    if (uses.empty() || TakesFromCounters(index)) return true;
    for (const CandidateUse& use : uses) {
      Quantity left = candidates_.counters()[use.counter];
      for (const CandidateUse& own : uses) {
        if (own.counter == use.counter) left = left - own.amount;
      }
      for (size_t i = 0; i < placed_.size(); ++i) {
        if (placed_[i].option->request->admin_access || PlacedBefore(i)) continue;
        for (const CandidateUse& other : candidates_.all()[placed_[i].candidate].uses) {
          if (other.counter == use.counter) left = left - other.amount;
        }
      }
      if (left.negative()) return false;
    }
    return true;
  }

  // A shareable device takes from its counters once, however many claims share it.
  bool TakesFromCounters(size_t index) const {
    const Candidate& candidate = candidates_.all()[index];
    if (!candidate.shareable) return false;
    return candidate.taken != nullptr ||
           std::any_of(placed_.begin(), placed_.end(), [&](const PlacedDevice& placed) {
             return placed.candidate == index && !placed.option->request->admin_access;
           });
  }

  // True if what this device takes from its counters is already counted for an earlier use of it.
  bool PlacedBefore(size_t i) const {
    const Candidate& candidate = candidates_.all()[placed_[i].candidate];
    if (candidate.taken != nullptr) return true;
    if (!candidate.shareable) return false;
    return std::any_of(placed_.begin(), placed_.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const PlacedDevice& earlier) {
                         return earlier.candidate == placed_[i].candidate &&
                                !earlier.option->request->admin_access;
                       });
  }

  CapacityShare TakenOf(size_t index) const {
    const Candidate& candidate = candidates_.all()[index];
    CapacityShare taken = candidate.taken != nullptr ? *candidate.taken : CapacityShare();
    for (const PlacedDevice& placed : placed_) {
      if (placed.candidate == index) AddShare(placed.taken, &taken);
    }
    return taken;
  }

  bool ConstraintsHold(const Place& place, const RequestOption& option,
                       const Device& device) const {
    const std::vector<DeviceConstraint>& constraints = claims_[place.claim].claim->constraints;
    return std::all_of(constraints.begin(), constraints.end(), [&](const DeviceConstraint& each) {
      if (!each.Covers(option.name)) return true;
      const AttributeValue* const attribute = device.FindAttribute(each.attribute);
      if (attribute == nullptr) return false;
      const bool same = each.kind == DeviceConstraint::Kind::kMatchAttribute;
      return std::all_of(placed_.begin(), placed_.end(), [&](const PlacedDevice& placed) {
        if (placed.claim != place.claim || !each.Covers(placed.option->name)) return true;
        const Device& other = *candidates_.all()[placed.candidate].device;
        return SameAttribute(*other.FindAttribute(each.attribute), *attribute) == same;
      });
    });
  }

  const DeviceCandidates& candidates_;
  std::vector<ClaimPlan> claims_;
  const AllocatorOptions& options_;
  std::vector<PlacedDevice> placed_;
  int64_t steps_ = 0;
  bool is_counted_ = false;  // AnyRequestHasTooFew() was called
};

}  // namespace

absl::StatusOr<DeviceAllocation> AllocateDevices(std::span<const Pool> pools,
                                                 const AllocatedDevices& allocated,
                                                 std::span<const DeviceClaim> claims,
                                                 const AllocatorOptions& options) {
  const DeviceCandidates candidates(pools, allocated, options);
  std::vector<ClaimPlan> plans;
  plans.reserve(claims.size());
  for (const DeviceClaim& claim : claims) {
    KAI_ASSIGN_OR_RETURN(ClaimPlan plan, candidates.Plan(claim));
    plans.push_back(std::move(plan));
  }
  Search search(candidates, std::move(plans), options);
  DeviceAllocation result;
  KAI_ASSIGN_OR_RETURN(result.fits, search.Run());
  result.steps = search.steps();
  if (result.fits) {
    result.claims = search.Take();
    return result;
  }
  for (const Pool& pool : pools) {
    if (pool.state == Pool::State::kInvalid) {
      return absl::FailedPreconditionError(
          StrCat("pool ", pool.driver, "/", pool.name, " is invalid: ", pool.problem));
    }
  }
  return result;
}

}  // namespace kai
