// ClaimBook: the resource claims of pods (resource.k8s.io, spec 3 §12): what they ask for, which
// devices they hold, who uses them; and what they say to a node.
//
//   const ClaimBook& claims = cluster.claims();
//   claims.WhyNot(pod);                     // no node would do, and this is why
//   claims.Ask(pod_class.claims, node);     // could that node give the pod its devices?
//   claims.SharedGpus(pod_class.claims, node);  // GPUs of it that others hold there already
//   claims.GivenTo(pod);                    // what it holds, for its BindRequest
//
// Whoever is placed takes devices, who is evicted gives them back when nobody else uses the claim,
// and who returns to its node has them again, whoever was promised them meanwhile: it never left.
// Only a Statement changes the book, and every undoing restores it exactly.
//
// What containers ask of extended resources that device classes stand for (spec 3 D10) is one more
// claim of their pod, which asks a node for what its device plugins do not have. Until there is an
// object for it, it is called kExtendedClaim.
//
// Pods whose claims nobody else uses and that are not allocated are alike when their claims ask for
// the same. The pools of a node are gathered when it is first asked, the devices in use are kept as
// they change, and answers are kept until a device of the node comes or goes: pods without claims
// pay nothing for any of it.
#ifndef KAI_MODEL_CLAIMS_CLAIMS_H_
#define KAI_MODEL_CLAIMS_CLAIMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/index_vector.h"
#include "kai/dra/allocator.h"
#include "kai/dra/pools.h"
#include "kai/model/changes/listener.h"
#include "kai/model/claims/claim_refusal.h"
#include "kai/model/claims/extended_claims.h"
#include "kai/model/columns/ledger.h"
#include "kai/model/columns/node.h"
#include "kai/model/columns/pod_group.h"

namespace kai {

// What a claim holds. Never changed once made.
struct ClaimAllocation {
  struct Given {
    std::string request;
    DeviceId device;
    bool admin_access = false;  // beside whoever uses it
  };
  std::vector<Given> devices;
  bool anywhere = true;  // else on nodes that meet any of these
  std::vector<NodeTerm> nodes;
};
using ClaimAllocationPtr = std::shared_ptr<const ClaimAllocation>;

// What the claims of a pod ask of nodes: part of its class.
struct ClaimNeeds {
  struct Use {
    NameId name;        // in the pod's spec
    ClaimId claim;      // invalid: one of its own, that only says what is wanted
    int32_t spec = -1;  // of one of its own

    friend auto operator<=>(const Use&, const Use&) = default;
  };
  std::vector<Use> uses;
  ClaimRefusalKind refusal = ClaimRefusalKind::kNone;  // one that stays

  friend auto operator<=>(const ClaimNeeds&, const ClaimNeeds&) = default;
};

class ClaimBook {
 public:
  // At most so many may use one claim (spec 3 D5).
  static constexpr size_t kMostConsumers = 256;

  bool empty() const { return needs_.size() == 0; }  // no pod has claims

  // ---- before nodes are asked

  // Why no node would do as things stand, and which claim of the pod says so first.
  ClaimRefusal WhyNot(PodId pod) const;
  ClaimRefusalKind LastingRefusal(ClaimNeedsId needs) const { return needs_[needs].refusal; }
  bool RefusesNow(ClaimNeedsId needs) const;  // apart from that

  // ---- a node

  struct Answer {
    enum class Kind : uint8_t { kYes, kElsewhere, kNoDevices, kError };
    Kind kind = Kind::kYes;
    ClaimId claim;      // kElsewhere: which claim
    std::string error;  // kError
  };
  Answer Ask(ClaimNeedsId needs, NodeId node) const;
  // Answers about a node depend on more than the node itself.
  bool LooksBeyondNode(ClaimNeedsId needs) const;
  // The claim is held on the node by nobody but pods that wait for others to leave.
  bool MustWait(ClaimNeedsId needs, NodeId node) const;

  // GPUs of the needs' claims that are on the node in use by others already (spec 3 D6).
  double SharedGpus(ClaimNeedsId needs, NodeId node) const;
  // On any node at most.
  double MostSharedGpus(ClaimNeedsId needs) const;

  // ---- what it came to

  struct GivenClaim {
    NameId use;
    NameId claim;
    ClaimAllocationPtr allocation;
    ExtendedClaim extended = {};  // the part of it that was asked for
  };
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

  struct Claim {
    NameId namespace_name;
    NameId name;
    int32_t spec = -1;
    int64_t gpus = 0;
    NameId queue_label = {};       // invalid: none
    size_t foreign_consumers = 0;  // that are no pods of ours
    bool is_shared = false;        // several pods name it
  };
  struct Use {
    NameId name;        // in the pod's spec
    NameId claim_name;  // invalid: not made yet
    ClaimId claim;      // invalid: does not exist
    bool from_template = false;
  };
  struct Spec {
    std::vector<DeviceRequest> requests;
    std::vector<DeviceConstraint> constraints;
    // The first request whose class does not exist.
    std::optional<std::pair<std::string, std::string>> missing_class;  // request, class
    // Of what extended resources ask for; beside its requests, into has_plugin_.
    ExtendedClaim extended;
    std::vector<int32_t> plugins;
  };
  // Which nodes reach a slice.
  struct Reach {
    NodeId node;
    bool is_local = false;  // that node alone, which may be none of ours
    bool all = false;
    std::vector<NodeTerm> terms;  // else
  };
  struct NodePools {
    std::vector<Pool> pools;
    std::vector<int32_t> groups;
  };
  // Pods on a node that hold one claim there.
  struct Holders {
    int32_t staying = 0;
    int32_t leaving = 0;
    int32_t promised = 0;

    int32_t& Of(PodStatus status);
    bool any() const { return staying + leaving + promised > 0; }
    // What they take of the node together, as often as one pod alone would.
    LedgerWeight Weight() const;
  };
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

  // What a change of the cluster does to claims: who uses them, and what they hold.
  void Apply(const Change& change);
  void Undo(const Change& change);
  // Every term that says which nodes a slice or an allocated claim is for.
  template <typename Visit>
  void ForEachTerm(const Visit& visit) const {
    for (const Reach& reach : reach_) {
      for (const NodeTerm& term : reach.terms) visit(term);
    }
    for (const ClaimAllocationPtr& allocation : allocation_.raw()) {
      if (allocation == nullptr) continue;
      for (const NodeTerm& term : allocation->nodes) visit(term);
    }
  }
  // A pod comes to stand on the node (`from` is nothing), changes its status there, or goes (`to`
  // is nothing). `ledger`, if any, is charged with its whole request already; what it shares with
  // others is taken back.
  void CountHolders(PodId pod, NodeId node, std::optional<PodStatus> from,
                    std::optional<PodStatus> to, std::optional<LedgerRow> ledger);

  std::span<const Use> UsesOf(PodId pod) const {
    if (pod.index() >= uses_of_.size()) return {};
    const Span32 range = uses_of_[pod];
    return std::span(uses_).subspan(static_cast<size_t>(range.begin),
                                    static_cast<size_t>(range.end - range.begin));
  }
  // Like WhyNot(), of what does not change in a cycle.
  ClaimRefusalKind LastingRefusalOf(PodId pod) const;
  ClaimRefusalKind LastingRefusalOf(PodId pod, const Use& use) const;
  bool IsConsumer(ClaimId claim, PodId pod) const;
  void SetConsumer(ClaimId claim, PodId pod, bool is_consumer);
  void SetAllocation(ClaimId claim, ClaimAllocationPtr allocation);
  void CountDevices(const ClaimAllocation& allocation, int32_t by);
  void Take(PodId pod, NodeId node);
  bool Reaches(size_t slice, NodeId node) const;
  const NodePools& PoolsOf(NodeId node) const;
  int64_t VersionOf(const NodePools& pools) const;
  // Nothing: the device plugins of the node have all of it.
  std::optional<DeviceClaim> WantedBy(NameId use, int32_t spec, NodeId node) const;
  // The use at that place names a claim that was named before, by another name.
  template <typename AnyUse>
  static bool IsRepeated(std::span<const AnyUse> uses, size_t at) {
    return std::any_of(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(at),
                       [&](const AnyUse& use) { return use.claim == uses[at].claim; });
  }
  ClaimAllocationPtr AllocationFrom(const ClaimDevices& devices) const;

  const NodeColumns* nodes_ = nullptr;
  const Interner* names_ = nullptr;
  NameId node_name_field_;  // metadata.name
  bool is_served_ = false;

  std::vector<DeviceClass> classes_;
  std::vector<Spec> specs_;  // what claims ask for, each once
  // Which nodes have a device plugin for an extended resource that some spec asks for.
  std::vector<IndexVector<NodeId, uint8_t>> has_plugin_;
  IndexVector<ClaimId, Claim> claims_;
  std::vector<Use> uses_;
  IndexVector<PodId, Span32> uses_of_;
  IndexVector<PodId, NameId> queue_of_;  // that their claims' labels have to name
  IndexVector<ClaimNeedsId, ClaimNeeds> needs_;

  std::vector<ResourceSlice> slices_;  // by driver, pool and name
  std::vector<Reach> reach_;           // beside slices_
  struct Group {
    Span32 slices;  // of one pool
  };
  std::vector<Group> groups_;
  std::vector<int32_t> wide_groups_;                                // some slice is not local
  absl::flat_hash_map<NodeId, std::vector<int32_t>> local_groups_;  // those that are
  std::map<std::pair<std::string, std::string>, int32_t> group_of_pool_;
  absl::flat_hash_map<const Device*, int32_t> slice_of_;

  // Only a Statement changes these.
  IndexVector<ClaimId, ClaimAllocationPtr> allocation_;  // null: none
  IndexVector<ClaimId, std::vector<PodId>> consumers_;   // pods of ours it is reserved for
  std::map<DeviceId, int32_t> uses_of_device_;
  AllocatedDevices in_use_;
  std::vector<int64_t> group_version_;  // how often devices of the pool came or went
  std::map<std::pair<ClaimId, NodeId>, Holders> holders_;  // of claims that are shared
  absl::flat_hash_map<PodId, std::vector<ClaimAllocationPtr>> remembered_;  // of evicted pods
  std::vector<SavedChange> saved_;

  // Made when first asked for.
  struct KnownAnswer {
    int64_t version = -1;
    Answer answer;
  };
  mutable IndexVector<NodeId, std::unique_ptr<NodePools>> pools_;
  mutable absl::flat_hash_map<std::pair<ClaimNeedsId, NodeId>, KnownAnswer> known_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIMS_H_
