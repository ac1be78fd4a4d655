// A Statement is a list of changes to a Cluster that can still be taken back.
//
//   const auto statement = Statement::Open(cluster.get(), {&toucher});
//   const Statement::Checkpoint start = statement->Mark();
//   statement->Place(PodNamed(*cluster, "ns/two-0"), NodeNamed(*cluster, "b"));
//   statement->RollBackTo(start);
//
// Open() gives nothing while another statement of the cluster is open. Commit() keeps every change;
// nothing can be taken back any more.
//
// Invariants: rollback restores every column exactly, unless UndoWith() says otherwise; a Statement
// destroyed uncommitted rolls back whole; a Cluster has at most one open Statement. Cost: O(slots)
// per change, O(changes) to roll back. Not thread-safe.
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

  // The listeners from now on, called in this order; undoing goes the other way.
  void Listen(std::vector<Listener*> listeners) {
    KAI_CHECK(changes_.empty()) << "a listener must be added before the first change";
    listeners_ = std::move(listeners);
  }

  // A waiting pod gets a node now (spec 2 T3), and devices of it that it shares.
  void Place(PodId pod, NodeId node, const GpuList& gpus = {});
  // A waiting or just evicted pod is promised a node whose resources are being freed; a pod that
  // was just evicted from that very node, and these devices, stays there instead, as if nothing had
  // been, unless a listener says that it would get something else there (spec 2 T5, spec 3 S7). A
  // pod that was leaving when the cycle began may be promised another node than its own; one whose
  // eviction was settled gets none.
  void Pipeline(PodId pod, NodeId node, const GpuList& gpus = {});
  // A pod that holds a node starts to leave it (spec 2 T4). One that was just evicted may be
  // evicted once more: it holds what it held, and listeners hear of it.
  void Evict(PodId pod);
  // A leaving pod is overdue: what it holds is not counted as coming back (spec 2 S2).
  void MarkStuck(PodId pod);

  // What was done so far is decided: pods that were evicted do not come back (spec 2 T7), though
  // rolling back past here still undoes it.
  void Settle();

  // No listener is called any more: what is undone from now on is undone for good, and they are
  // left as they are.
  void StopTelling() { listeners_.clear(); }

  // A pod stands on two nodes: where it was and where it moved to.
  bool AnyMoved() const { return !left_.empty(); }

  Checkpoint Mark() const { return changes_.size(); }
  void RollBackTo(Checkpoint checkpoint);
  std::span<const Change> ChangesSince(Checkpoint checkpoint) const {
    return std::span<const Change>(changes_).subspan(checkpoint);
  }

  void Commit();

  void UndoWith(std::unique_ptr<NodeUndo> undo) {
    KAI_CHECK(changes_.empty()) << "the undo method must be set before the first change";
    undo_ = std::move(undo);
  }

  // Which devices of a node an evicted pod returns to, where it shares some. Both as KAI if false
  // (docs/compatibility.md).
  struct OwnDevices {
    bool in_any_order = true;  // the same ones in another order are the same place
    bool all = true;           // any that it still stands on, not only the last of that node
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
  // The pod stays where it is, with its devices.
  void ApplyInPlace(PodId pod, PodStatus to);
  void Return(PodId pod);
  bool WasEvicted(PodId pod) const;
  bool StandsOn(PodId pod, NodeId node, const GpuList& gpus) const;
  bool IsMoveWithin(PodId pod, NodeId node) const;
  void Undo(const Change& change);

  Cluster* cluster_;
  Occupancy occupancy_;
  std::unique_ptr<NodeUndo> undo_;
  std::vector<Listener*> listeners_;
  std::vector<Change> changes_;
  std::vector<uint8_t> was_virtual_;  // beside changes_
  Checkpoint settled_ = 0;
  // Of pods that were evicted: what they were before; pending: the pod was not.
  struct Before {
    PodStatus status = PodStatus::kPending;
    uint8_t is_virtual = 0;
  };
  IndexVector<PodId, Before> before_eviction_;
  std::vector<Before> saved_before_;  // what evictions have overwritten
  // Pods that moved, and where they still stand.
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
