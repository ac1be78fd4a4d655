// ClaimBook: the resource claims of pods (spec 3 D1-D10): their requests, the pods that use them,
// and the devices that they hold.
//
//   const ClaimBook& claims = cluster.claims();
//   claims.AllocationOf(claim)
//   cluster.claims().GivenTo(pod)      // what the pod holds, for its BindRequest
//
// A placed pod takes devices. An evicted pod gives them back if no other pod uses the claim. If it
// returns to its node, it gets the same devices again, even if they were promised to another pod,
// because it never left.
//
// Invariants: only a Statement changes the book, and undoing restores it exactly. Pods with claims
// of their own, without an allocation, are in one class if their claims request the same. Cost:
// O(claims of the pod) per change, and a search (AllocateDevices) for each pod that takes devices;
// nothing for pods without claims. Threads: many readers while no statement is open.
#ifndef KAI_MODEL_CLAIMS_CLAIM_BOOK_H_
#define KAI_MODEL_CLAIMS_CLAIM_BOOK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/index_vector.h"
#include "kai/base/interned.h"
#include "kai/dra/allocator.h"
#include "kai/model/changes/listener.h"
#include "kai/model/claims/claim.h"
#include "kai/model/claims/claim_holders.h"
#include "kai/model/claims/device_map.h"
#include "kai/model/columns/ledger.h"
#include "kai/model/columns/node.h"

namespace kai {

class ClaimBook {
 public:
  using Use = ClaimUse;
  using NodePools = kai::NodePools;

  // The most consumers of one claim (spec 3 D5).
  static constexpr size_t kMostConsumers = 256;

  bool empty() const { return needs_.size() == 0; }  // no pod has claims

  // ---- without a node

  // Why no node can be used at the moment, with the first claim of the pod that is the cause.
  ClaimRefusal WhyNot(PodId pod) const;
  ClaimRefusalKind LastingRefusal(ClaimNeedsId needs) const { return needs_[needs].refusal; }
  bool RefusesNow(ClaimNeedsId needs) const;  // refusals that are not lasting
  // The specs of the claims that hold no devices.
  std::vector<int32_t> UnallocatedSpecs(ClaimNeedsId needs) const;
  std::vector<std::pair<Use, int32_t>> UnallocatedUses(PodId pod) const;  // with their specs
  // The devices of the cluster, and whether the selectors of a spec cost too much for them
  // (selector_costs.h).
  size_t devices() const;
  bool SelectorsCostTooMuch(int32_t spec) const;

  // ---- on a node

  // The first claim with devices that the node cannot reach; invalid: none.
  ClaimId HeldElsewhere(ClaimNeedsId needs, NodeId node) const;
  // The devices that the node must have: those of claims without an allocation, without the
  // requests that its plugins serve.
  std::vector<DeviceClaim> ClaimsNeededOn(ClaimNeedsId needs, NodeId node) const;
  NodePools PoolsOf(NodeId node) const { return devices_.Gather(node, *nodes_, *names_); }
  // Increases with every device of the pools that is taken or released.
  int64_t VersionOf(const NodePools& pools) const;
  // False: all claims are the pod's own, without an allocation.
  bool UsesClaimsOfOthers(ClaimNeedsId needs) const;
  // True: the answer for a node depends on more than the node itself.
  bool LooksBeyondNode(ClaimNeedsId needs) const {
    return devices_.has_wide_pools() || UsesClaimsOfOthers(needs);
  }
  // True: all holders of some claim on the node are pods that wait for other pods to leave.
  bool MustWait(ClaimNeedsId needs, NodeId node) const;

  // GPUs of these claims that other pods already use on the node (spec 3 D6).
  double SharedGpus(ClaimNeedsId needs, NodeId node) const;
  // The claims that several pods may use at a time, each once, with their GPUs.
  std::vector<std::pair<ClaimId, double>> SharedClaimsOf(ClaimNeedsId needs) const;
  // The most SharedGpus() on any node.
  double MostSharedGpus(ClaimNeedsId needs) const;

  // ---- claims

  std::vector<GivenClaim> GivenTo(PodId pod) const;
  NameId NameOf(ClaimId claim) const { return claims_[claim].name; }
  NameId NamespaceOf(ClaimId claim) const { return claims_[claim].namespace_name; }
  size_t ConsumersOf(ClaimId claim) const {
    return claims_[claim].foreign_consumers + consumers_[claim].size();
  }
  const ClaimAllocationPtr& AllocationOf(ClaimId claim) const { return allocation_[claim]; }
  IdRange<ClaimId> ids() const { return claims_.ids(); }
  const AllocatedDevices& devices_in_use() const { return in_use_; }

 private:
  friend class ClaimAssembler;
  friend class ClusterAssembler;
  friend class Occupancy;
  friend class Statement;

  struct Saved {
    ClaimId claim;
    ClaimAllocationPtr allocation;
    bool was_consumer = false;
  };
  struct SavedChange {
    std::vector<Saved> claims;
    std::vector<ClaimAllocationPtr> remembered;
    bool was_eviction = false;
  };

  // Update the users and devices of claims after a change of the cluster.
  void Apply(const Change& change);
  void Undo(const Change& change);
  // Updates the GPUs that pods share through claims (claim_holders.h). If there is a `ledger`, the
  // pod's whole request was already charged to it; the part that the pod shares with others is
  // removed again.
  void CountHolders(PodId pod, NodeId node, std::optional<PodStatus> from,
                    std::optional<PodStatus> to, std::optional<LedgerRow> ledger);
  // Visits every term that restricts the nodes of a slice or of an allocated claim.
  template <typename Visit>
  void ForEachTerm(const Visit& visit) const {
    for (const DeviceMap::Reach& reach : devices_.reach()) {
      for (const NodeTerm& term : reach.terms) visit(term);
    }
    for (const ClaimAllocationPtr& allocation : allocation_.raw()) {
      if (allocation == nullptr) continue;
      for (const NodeTerm& term : allocation->nodes) visit(term);
    }
  }

  std::span<const Use> UsesOf(PodId pod) const {
    if (pod.index() >= uses_of_.size()) return {};
    return uses_of_[pod].Of(uses_);
  }
  // Like WhyNot(), but only refusals that do not change in a cycle.
  ClaimRefusalKind LastingRefusalOf(PodId pod) const;
  ClaimRefusalKind LastingRefusalOf(PodId pod, const Use& use) const;
  bool IsConsumer(ClaimId claim, PodId pod) const;
  void SetConsumer(ClaimId claim, PodId pod, bool is_consumer);
  void SetAllocation(ClaimId claim, ClaimAllocationPtr allocation);
  void CountDevices(const ClaimAllocation& allocation, int32_t by);
  void Take(PodId pod, NodeId node);
  // Nothing: the device plugins of the node have all devices.
  std::optional<DeviceClaim> ClaimNeededFor(NameId use, int32_t spec, NodeId node) const;
  // True: the use at that position has the same claim as an earlier one, under another name.
  template <typename AnyUse>
  static bool IsRepeated(std::span<const AnyUse> uses, size_t at) {
    return std::any_of(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(at),
                       [&](const AnyUse& use) { return use.claim == uses[at].claim; });
  }

  const NodeColumns* nodes_ = nullptr;
  const Interner* names_ = nullptr;
  NameId node_name_field_;  // metadata.name
  bool is_served_ = false;

  std::vector<DeviceClass> classes_;
  std::vector<ClaimSpec> specs_;  // each once
  // The nodes with a device plugin, for each extended resource that some spec requests.
  std::vector<IndexVector<NodeId, uint8_t>> has_plugin_;
  IndexVector<ClaimId, Claim> claims_;
  std::vector<Use> uses_;
  IndexVector<PodId, Span32> uses_of_;
  IndexVector<PodId, NameId> queue_of_;  // the queue that the labels of their claims need
  Interned<ClaimNeedsId, ClaimNeeds> needs_;
  DeviceMap devices_;

  // Only a Statement changes these.
  IndexVector<ClaimId, ClaimAllocationPtr> allocation_;  // null: none
  IndexVector<ClaimId, std::vector<PodId>> consumers_;   // our pods that it is reserved for
  std::map<DeviceId, int32_t> uses_of_device_;
  AllocatedDevices in_use_;
  std::vector<int64_t> pool_version_;  // changes to the devices of the pool that are in use
  ClaimHolders holders_;               // of shared claims
  absl::flat_hash_map<PodId, std::vector<ClaimAllocationPtr>> remembered_;  // of evicted pods
  std::vector<SavedChange> saved_;
  IndexVector<NodeId, std::unique_ptr<NodePools>> pools_;  // null: no pod took devices there
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_BOOK_H_
