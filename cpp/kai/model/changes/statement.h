// A Statement is a list of changes to a Cluster that can still be undone.
//
//   const auto statement = Statement::Open(cluster.get(), {&toucher});
//   const Statement::Checkpoint start = statement->Mark();
//   statement->Place(PodNamed(*cluster, "ns/two-0"), NodeNamed(*cluster, "b"));
//   statement->RollBackTo(start);
//
// Open() returns null while another statement of the cluster is open. Commit() keeps every change;
// after it nothing can be undone.
//
// Invariants: rollback restores every column exactly, unless UndoWith() changes that; a Statement
// that is destroyed without Commit() rolls back everything; a Cluster has at most one open
// Statement. Cost: O(slots) per change, O(changes) to roll back. Not thread-safe.
#ifndef KAI_MODEL_CHANGES_STATEMENT_H_
#define KAI_MODEL_CHANGES_STATEMENT_H_

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kai/model/changes/listener.h"
#include "kai/model/changes/node_undo.h"
#include "kai/model/changes/occupancy.h"
#include "kai/model/columns/cluster.h"

namespace kai {

class Statement {
 public:
  using Checkpoint = size_t;

  static std::unique_ptr<Statement> Open(Cluster* cluster, std::vector<Listener*> listeners);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Sets the listeners, called in this order; undoing calls them in reverse order.
  void Listen(std::vector<Listener*> listeners) {
    KAI_CHECK(changes_.empty()) << "a listener must be added before the first change";
    listeners_ = std::move(listeners);
  }

  // Gives a waiting pod a node (spec 2 T3), and the devices of it that the pod shares.
  void Place(PodId pod, NodeId node, const GpuList& gpus = {});
  // Promises a waiting or just evicted pod a node with resources that are being freed. If the pod
  // was just evicted from this node and these devices, it stays there as if it had not been
  // evicted, unless a listener reports that it would get something else there (spec 2 T5, spec 3
  // S7). A pod that was already leaving when the cycle began may be promised another node than its
  // own. A pod with a settled eviction may not be promised any node.
  void Pipeline(PodId pod, NodeId node, const GpuList& gpus = {});
  // Makes a pod leave its node (spec 2 T4). A just evicted pod may be evicted again: it holds the
  // same resources, and listeners are called.
  void Evict(PodId pod);
  // Marks a leaving pod as overdue: its resources do not count as releasing (spec 2 S2).
  void MarkStuck(PodId pod);

  // Makes the changes so far final: evicted pods do not return (spec 2 T7). Rolling back past this
  // point still undoes it.
  void Settle();

  // Calls no listener any more: later rollbacks are final, and the listeners keep their state.
  void RemoveListeners() { listeners_.clear(); }

  // True: some pod occupies two nodes, its old one and its new one.
  bool AnyMoved() const { return !left_.empty(); }

  Checkpoint Mark() const { return changes_.size(); }
  void RollBackTo(Checkpoint checkpoint);
  std::span<const Change> ChangesSince(Checkpoint checkpoint) const {
    return std::span<const Change>(changes_).subspan(checkpoint);
  }

  void Commit();

  // Whether new shared devices take pod slots for reservation pods (default: yes).
  void CountReservations(bool counts) {
    KAI_CHECK(changes_.empty()) << "it must be set before the first change";
    occupancy_.CountReservations(counts);
  }

  void UndoWith(std::unique_ptr<NodeUndo> undo) {
    KAI_CHECK(changes_.empty()) << "the undo method must be set before the first change";
    undo_ = std::move(undo);
  }

  // Which devices of a node an evicted pod returns to, if it shares devices. False: as in KAI
  // (docs/compatibility.md).
  struct OwnDevices {
    bool in_any_order = true;  // the same devices in another order count as the same
    bool all = true;           // all that it still occupies, not only its last ones there
  };
  void Recognize(const OwnDevices& own) { own_devices_ = own; }

  const Cluster& cluster() const { return *cluster_; }

 private:
  Statement(Cluster* cluster, std::vector<Listener*> listeners)
      : cluster_(cluster),
        occupancy_(cluster),
        undo_(MakeExactUndo(cluster)),
        listeners_(std::move(listeners)) {}

  void Apply(const Change& change, const GpuList& gpus);
  // The pod keeps its node and devices.
  void ApplyInPlace(PodId pod, PodStatus to);
  void Return(PodId pod);
  bool WasEvicted(PodId pod) const;
  bool IsPlacedOn(PodId pod, NodeId node, const GpuList& gpus) const;
  bool IsMoveWithin(PodId pod, NodeId node) const;
  void Undo(const Change& change);

  Cluster* cluster_;
  Occupancy occupancy_;
  std::unique_ptr<NodeUndo> undo_;
  std::vector<Listener*> listeners_;
  std::vector<Change> changes_;
  std::vector<uint8_t> was_virtual_;  // beside changes_
  Checkpoint settled_ = 0;
  // The status of pods before their eviction; pending: the pod was not evicted.
  struct Before {
    PodStatus status = PodStatus::kPending;
    uint8_t is_virtual = 0;
  };
  IndexVector<PodId, Before> before_eviction_;
  std::vector<Before> saved_before_;  // values that evictions have overwritten
  // Moved pods, and the old places that they still occupy.
  struct Left {
    PodId pod;
    NodeId node;
    GpuList gpus;
  };
  std::vector<Left> left_;
  OwnDevices own_devices_;
};

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_STATEMENT_H_
