// Updates resource claims, and the GPUs that pods share through them, after changes of the cluster.
#include <algorithm>
#include <utility>

#include "kai/model/claims/claim_book.h"

namespace kai {
namespace {

// A pod starts to hold a node if it is placed, is promised a place, or moves to another node. A pod
// that returns to the node that it was evicted from does not, because it never left.
bool Returns(const Change& change) {
  return change.from == PodStatus::kReleasing && change.from_node == change.to_node &&
         change.to != PodStatus::kStuckInReleasing;
}
bool StartsToHold(const Change& change) {
  return !Returns(change) &&
         (change.to == PodStatus::kAllocated || change.to == PodStatus::kPipelined);
}

}  // namespace

// ---- changes

bool ClaimBook::IsConsumer(ClaimId claim, PodId pod) const {
  const std::vector<PodId>& pods = consumers_[claim];
  return std::find(pods.begin(), pods.end(), pod) != pods.end();
}

void ClaimBook::SetConsumer(ClaimId claim, PodId pod, bool is_consumer) {
  std::vector<PodId>& pods = consumers_[claim];
  const auto at = std::lower_bound(pods.begin(), pods.end(), pod);
  const bool is_there = at != pods.end() && *at == pod;
  if (is_consumer && !is_there) pods.insert(at, pod);
  if (!is_consumer && is_there) pods.erase(at);
}

void ClaimBook::CountDevices(const ClaimAllocation& allocation, int32_t by) {
  for (const ClaimAllocation::Given& given : allocation.devices) {
    if (given.admin_access) continue;
    if (const int32_t pool = devices_.PoolOf(given.device); pool >= 0)
      ++pool_version_[static_cast<size_t>(pool)];
    const auto [count, is_new] = uses_of_device_.try_emplace(given.device, 0);
    count->second += by;
    if (is_new) {
      in_use_.devices.insert(given.device);
    } else if (count->second == 0) {
      in_use_.devices.erase(given.device);
      uses_of_device_.erase(count);
    }
  }
}

void ClaimBook::SetAllocation(ClaimId claim, ClaimAllocationPtr allocation) {
  ClaimAllocationPtr& held = allocation_[claim];
  if (held == allocation) return;
  if (held != nullptr) CountDevices(*held, -1);
  held = std::move(allocation);
  if (held != nullptr) CountDevices(*held, 1);
}

void ClaimBook::Take(PodId pod, NodeId node) {
  std::vector<DeviceClaim> wanted;
  std::vector<ClaimId> unallocated;
  for (const Use& use : UsesOf(pod)) {
    if (!use.claim.valid()) continue;
    SetConsumer(use.claim, pod, true);
    if (allocation_[use.claim] != nullptr ||
        std::find(unallocated.begin(), unallocated.end(), use.claim) != unallocated.end())
      continue;
    std::optional<DeviceClaim> claim = ClaimNeededFor(use.name, claims_[use.claim].spec, node);
    if (!claim) continue;
    unallocated.push_back(use.claim);
    wanted.push_back(*std::move(claim));
  }
  if (wanted.empty()) return;
  std::unique_ptr<NodePools>& pools = pools_[node];
  if (pools == nullptr) pools = std::make_unique<NodePools>(PoolsOf(node));
  const absl::StatusOr<DeviceAllocation> found =
      AllocateDevices(pools->pools, in_use_, wanted, AllocatorOptions());
  // Without the filter that checks first, there may be no devices; the claims then stay without.
  if (!found.ok() || !found->fits) return;
  for (size_t i = 0; i < unallocated.size(); ++i)
    SetAllocation(unallocated[i],
                  devices_.AllocationOf(found->claims[i], *nodes_, node_name_field_));
}

void ClaimBook::Apply(const Change& change) {
  const std::span<const Use> uses = UsesOf(change.pod);
  if (uses.empty()) return;
  SavedChange& saved = saved_.emplace_back();
  for (const Use& use : uses) {
    if (!use.claim.valid()) continue;
    saved.claims.push_back({.claim = use.claim,
                            .allocation = allocation_[use.claim],
                            .was_consumer = IsConsumer(use.claim, change.pod)});
  }
  if (StartsToHold(change)) {
    if (change.to_node.valid()) Take(change.pod, change.to_node);
  } else if (change.to == PodStatus::kReleasing) {
    std::vector<ClaimAllocationPtr>& remembered = remembered_[change.pod];
    saved.was_eviction = true;
    saved.remembered = std::move(remembered);
    remembered.clear();
    for (const Saved& each : saved.claims) {
      remembered.push_back(each.allocation);
      SetConsumer(each.claim, change.pod, false);
      if (ConsumersOf(each.claim) == 0) SetAllocation(each.claim, nullptr);
    }
  } else if (Returns(change)) {
    const auto remembered = remembered_.find(change.pod);
    for (size_t i = 0; i < saved.claims.size(); ++i) {
      const ClaimId claim = saved.claims[i].claim;
      SetConsumer(claim, change.pod, true);
      if (allocation_[claim] == nullptr && remembered != remembered_.end())
        SetAllocation(claim, remembered->second[i]);
    }
  }
}

void ClaimBook::Undo(const Change& change) {
  if (UsesOf(change.pod).empty()) return;
  SavedChange& saved = saved_.back();
  // In reverse order: a claim that the pod names twice was saved twice.
  for (auto each = saved.claims.rbegin(); each != saved.claims.rend(); ++each) {
    SetConsumer(each->claim, change.pod, each->was_consumer);
    SetAllocation(each->claim, each->allocation);
  }
  if (saved.was_eviction) remembered_[change.pod] = std::move(saved.remembered);
  saved_.pop_back();
}

// ---- GPUs that several pods hold together (spec 3 D6)

void ClaimBook::CountHolders(PodId pod, NodeId node, std::optional<PodStatus> from,
                             std::optional<PodStatus> to, std::optional<LedgerRow> ledger) {
  const auto weight = [](std::optional<PodStatus> status) {
    return status ? WeightOf(*status) : LedgerWeight();
  };
  const LedgerWeight charged = weight(to) - weight(from);
  const std::span<const Use> uses = UsesOf(pod);
  for (size_t i = 0; i < uses.size(); ++i) {
    const Use& use = uses[i];
    if (!use.claim.valid() || !claims_[use.claim].is_shared || IsRepeated(uses, i)) continue;
    const LedgerWeight change = holders_.Count(use.claim, node, from, to) - charged;
    constexpr size_t kGpu = kGpuSlot.index();
    if (!ledger || ledger->allocatable[kGpu] == 0) continue;
    const auto gpus = static_cast<double>(claims_[use.claim].gpus);
    ledger->idle[kGpu] += change.idle * gpus;
    ledger->releasing[kGpu] += change.releasing * gpus;
    ledger->used[kGpu] += change.used * gpus;
  }
}

}  // namespace kai
