#include "kai/model/claims/claim_answers.h"

#include <algorithm>
#include <vector>

#include "kai/dra/allocator.h"

namespace kai {

ClaimAnswer ClaimAnswers::Find(ClaimNeedsId needs, NodeId node, const NodePools& pools) const {
  const std::vector<DeviceClaim> wanted = book_.ClaimsNeededOn(needs, node);
  if (wanted.empty()) return {};
  // KAI runs with all optional features switched off (spec 3 D7).
  AllocatorOptions options;
  if (budgets_ == ClaimBudgets::kSmall) {
    size_t devices = 0;
    for (const Pool& pool : pools.pools) devices += pool.devices.size();
    options.budget = std::min(options.budget, SearchBudget(devices));
  }
  const absl::StatusOr<DeviceAllocation> found =
      AllocateDevices(pools.pools, book_.devices_in_use(), wanted, options);
  if (!found.ok()) {
    return {.kind = ClaimAnswer::Kind::kError,
            .claim = {},
            .error = std::string(found.status().message())};
  }
  return {.kind = found->fits ? ClaimAnswer::Kind::kYes : ClaimAnswer::Kind::kNoDevices,
          .claim = {},
          .error = {}};
}

ClaimAnswer ClaimAnswers::AnswerFor(ClaimNeedsId needs, NodeId node) {
  if (const ClaimId elsewhere = book_.HeldElsewhere(needs, node); elsewhere.valid())
    return {.kind = ClaimAnswer::Kind::kElsewhere, .claim = elsewhere, .error = {}};
  const auto [made, is_new] = pools_.try_emplace(node);
  if (is_new) made->second = book_.PoolsOf(node);
  const NodePools& pools = made->second;
  if (book_.UsesClaimsOfOthers(needs)) return Find(needs, node, pools);
  Known& known = known_[{needs, node}];
  if (const int64_t version = book_.VersionOf(pools); known.version != version)
    known = {.version = version, .answer = Find(needs, node, pools)};
  return known.answer;
}

}  // namespace kai
