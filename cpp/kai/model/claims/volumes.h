// What the volumes of a pod require of its node. Everything that does not depend on the node is
// already looked up (spec 3 P8, kube-scheduler's VolumeBinding).
//
//   AnswerOf(cluster_.volume_needs()[constraint.volumes], labels,
//            nodes.name[node], cluster_.names())
//       .yes()
//
// Invariants: nothing here changes during a cycle; the sets of VolumeNeeds are sorted, so that
// equal needs are stored once. Cost: O(terms) per node. Threads: pure functions on plain data.
#ifndef KAI_MODEL_CLAIMS_VOLUMES_H_
#define KAI_MODEL_CLAIMS_VOLUMES_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kai/model/claims/storage.h"
#include "kai/model/columns/labels.h"

namespace kai {

// A set of nodes: all nodes, or those that match any of the terms.
struct NodeSet {
  bool all = true;
  std::vector<NodeTerm> terms;

  friend auto operator<=>(const NodeSet&, const NodeSet&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodeSet& set) {
    return H::combine(std::move(h), set.all, set.terms);
  }
};

// Why no node can be used with the volumes of a pod.
struct VolumeRefusal {
  enum class Kind : uint8_t {
    kNone,
    kNotFound,
    kNotMadeYet,  // the claim of an ephemeral volume is not made yet
    kLost,        // bound to a volume that does not exist
    kDeleted,     // is being deleted
    kNotOwner,    // the claim was made for another pod
    kUnbound,     // its class binds immediately, but it is not bound yet
  };
  Kind kind = Kind::kNone;
  NameId claim;   // not for kUnbound
  NameId volume;  // kLost

  bool any() const { return kind != Kind::kNone; }
  friend auto operator<=>(const VolumeRefusal&, const VolumeRefusal&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const VolumeRefusal& each) {
    return H::combine(std::move(h), each.kind, each.claim, each.volume);
  }
};

struct VolumeNeeds {
  // A volume that exists, by its number in the order of names.
  struct Volume {
    int32_t number = 0;
    NodeSet nodes;

    friend auto operator<=>(const Volume&, const Volume&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Volume& volume) {
      return H::combine(std::move(h), volume.number, volume.nodes);
    }
  };
  // A claim that gets a volume when its pod has a node.
  struct Delayed {
    NameId selected_node;  // a volume is being created there
    bool has_own = false;  // a volume is reserved for this claim; no other may be used
    Volume own;
    std::vector<Volume> candidates;  // matching volumes, the preferred one first
    bool may_be_made = false;        // its class can create volumes
    NodeSet made_on;                 // the nodes that it can create them for
    NodeSet capacity_on;             // the nodes with enough storage

    friend auto operator<=>(const Delayed&, const Delayed&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Delayed& each) {
      return H::combine(std::move(h), each.own, each.candidates, each.selected_node);
    }
  };

  VolumeRefusal refusal;         // why no node can be used
  bool volume_is_gone = false;   // a claim is bound to a volume that does not exist
  std::vector<NodeSet> bound;    // nodes that reach the volumes of bound claims
  std::vector<Delayed> delayed;  // the smallest claim first
  bool ignores_space = false;    // room is counted elsewhere (spec 3 P9)

  // Also for bound claims, but not in KAI: the zones in the labels of their volumes.
  std::vector<NodeSet> zones;
  std::vector<AttachedVolumes> attached;  // by driver; only drivers with a limit on some node
  // With CSI storage (spec 3 P12).
  std::vector<StorageNeed> storage;    // by class
  std::vector<NameId> deleted_claims;  // deleted with their owner, which is gone

  bool empty() const { return *this == VolumeNeeds(); }
  friend auto operator<=>(const VolumeNeeds&, const VolumeNeeds&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const VolumeNeeds& needs) {
    return H::combine(std::move(h), needs.refusal, needs.bound, needs.delayed, needs.zones,
                      needs.attached, needs.storage);
  }
};

// The answer of a node to VolumeNeeds; each of the two parts may refuse.
struct VolumeAnswer {
  enum class Bound : uint8_t { kReached, kOutOfReach, kGone };
  enum class Delayed : uint8_t { kFound, kNoVolume, kNoSpace };
  Bound bound = Bound::kReached;
  Delayed delayed = Delayed::kFound;

  bool yes() const { return bound == Bound::kReached && delayed == Delayed::kFound; }
};

VolumeAnswer AnswerOf(const VolumeNeeds& needs, std::span<const Label> labels, NameId node_name,
                      const Interner& names);

// Whether the node is in the zones of all bound volumes with zones (kube-scheduler's VolumeZone).
bool IsInZones(const VolumeNeeds& needs, std::span<const Label> labels, NameId node_name,
               const Interner& names);

// Calls visit(const NodeTerm&) for every term that these functions use.
template <typename Visit>
void ForEachTerm(const VolumeNeeds& needs, const Visit& visit) {
  const auto each = [&](const NodeSet& set) {
    for (const NodeTerm& term : set.terms) visit(term);
  };
  for (const NodeSet& set : needs.bound) each(set);
  for (const NodeSet& set : needs.zones) each(set);
  for (const VolumeNeeds::Delayed& claim : needs.delayed) {
    each(claim.own.nodes);
    for (const VolumeNeeds::Volume& volume : claim.candidates) each(volume.nodes);
    each(claim.made_on);
    each(claim.capacity_on);
  }
}

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_VOLUMES_H_
