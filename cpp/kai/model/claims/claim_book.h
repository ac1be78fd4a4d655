// ClaimBook: the resource claims of pods (spec 3 D1-D10): what they ask for, which pods use them,
// and which devices they hold.
//
//   const ClaimBook& claims = cluster.claims();
//   claims.AllocationOf(claim)
//   cluster.claims().GivenTo(pod)      // what the pod holds, for its BindRequest
//
// A pod that is placed takes devices. A pod that is evicted gives them back when nothing else uses
// the claim; if it returns to its node it has them again, whatever was promised meanwhile: it never
// left.
//
// Invariants: only a Statement changes the book, and undoing restores it exactly. Pods whose claims
// nothing else uses and that are not allocated are alike when their claims ask for the same. Cost:
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

  // At most so many may use one claim (spec 3 D5).
  static constexpr size_t kMostConsumers = 256;

  bool empty() const { return needs_.size() == 0; }  // no pod has claims

  // ---- without a node

  // Why no node would do as things stand, and which claim of the pod says so first.
  ClaimRefusal WhyNot(PodId pod) const;
  ClaimRefusalKind LastingRefusal(ClaimNeedsId needs) const { return needs_[needs].refusal; }
  bool RefusesNow(ClaimNeedsId needs) const;  // apart from that

  // ---- on a node

  // Invalid: the node is within reach of all devices that the claims hold.
  ClaimId HeldElsewhere(ClaimNeedsId needs, NodeId node) const;
  // What the node would have to give: for claims that hold nothing, what its plugins lack.
  std::vector<DeviceClaim> WantedOn(ClaimNeedsId needs, NodeId node) const;
  NodePools PoolsOf(NodeId node) const { return devices_.Gather(node, *nodes_, *names_); }
  // Rises with every device of the pools that comes or goes.
  int64_t VersionOf(const NodePools& pools) const;
  // Else all of them are the pod's own, and hold nothing.
  bool UsesClaimsOfOthers(ClaimNeedsId needs) const;
  // What is found out about a node depends on more than the node itself.
  bool LooksBeyondNode(ClaimNeedsId needs) const {
    return devices_.has_wide_pools() || UsesClaimsOfOthers(needs);
  }
  // A claim is held on the node by nothing but pods that wait for others to leave.
  bool MustWait(ClaimNeedsId needs, NodeId node) const;

  // GPUs of the needs' claims that are on the node in use by others already (spec 3 D6).
  double SharedGpus(ClaimNeedsId needs, NodeId node) const;
  // On any node at most.
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

  // What a change of the cluster does to claims: which pods use them, and what they hold.
  void Apply(const Change& change);
  void Undo(const Change& change);
  // What it does to the GPUs that pods share through claims (claim_holders.h). `ledger`, if any, is
  // charged with the pod's whole request already; what it shares with others is taken back.
  void CountHolders(PodId pod, NodeId node, std::optional<PodStatus> from,
                    std::optional<PodStatus> to, std::optional<LedgerRow> ledger);
  // Every term that says which nodes a slice or an allocated claim is for.
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
  // Like WhyNot(), of what does not change in a cycle.
  ClaimRefusalKind LastingRefusalOf(PodId pod) const;
  ClaimRefusalKind LastingRefusalOf(PodId pod, const Use& use) const;
  bool IsConsumer(ClaimId claim, PodId pod) const;
  void SetConsumer(ClaimId claim, PodId pod, bool is_consumer);
  void SetAllocation(ClaimId claim, ClaimAllocationPtr allocation);
  void CountDevices(const ClaimAllocation& allocation, int32_t by);
  void Take(PodId pod, NodeId node);
  // Nothing: the device plugins of the node have all of it.
  std::optional<DeviceClaim> WantedBy(NameId use, int32_t spec, NodeId node) const;
  // The use at that place names a claim that was named before, by another name.
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
  // Which nodes have a device plugin for an extended resource that some spec asks for.
  std::vector<IndexVector<NodeId, uint8_t>> has_plugin_;
  IndexVector<ClaimId, Claim> claims_;
  std::vector<Use> uses_;
  IndexVector<PodId, Span32> uses_of_;
  IndexVector<PodId, NameId> queue_of_;  // that their claims' labels have to name
  Interned<ClaimNeedsId, ClaimNeeds> needs_;
  DeviceMap devices_;

  // Only a Statement changes these.
  IndexVector<ClaimId, ClaimAllocationPtr> allocation_;  // null: none
  IndexVector<ClaimId, std::vector<PodId>> consumers_;   // pods of ours it is reserved for
  std::map<DeviceId, int32_t> uses_of_device_;
  AllocatedDevices in_use_;
  std::vector<int64_t> pool_version_;  // how often devices of the pool came or went
  ClaimHolders holders_;               // of claims that are shared
  absl::flat_hash_map<PodId, std::vector<ClaimAllocationPtr>> remembered_;  // of evicted pods
  std::vector<SavedChange> saved_;
  IndexVector<NodeId, std::unique_ptr<NodePools>> pools_;  // null: no pod took devices there yet
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_BOOK_H_
