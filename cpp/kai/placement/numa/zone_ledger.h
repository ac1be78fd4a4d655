// ZoneLedger: what is left in the NUMA zones of nodes, and which zones pods would get (spec 3
// U4-U15).
//
//   ZoneLedger ledger(*cluster, {});
//   ledger.Ask(pod_class, node).admits      // the Topology Manager would let it in
//   ledger.RecordOf(pod)                    // where it is put, once it has the node
//
// It is a listener of the statement: a pod takes its zones with its node, and gives them back when
// it is evicted. A pod that takes part in a search is predicted anew each time it gets a node.
//
// Invariants: undoing restores every amount exactly; a record stays until the change that made it
// is undone. Cost: nothing for pods that no node aligns; else one alignment per class of pods and
// node, after each change of that node's zones. Not thread-safe: Ask() keeps its answers.
#ifndef KAI_PLACEMENT_NUMA_ZONE_LEDGER_H_
#define KAI_PLACEMENT_NUMA_ZONE_LEDGER_H_

#include <array>
#include <string>
#include <vector>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/numa/alignment.h"

namespace kai {

class ZoneLedger final : public Listener {
 public:
  struct Options {
    std::vector<std::string> ignored = {};  // resources, as nodes report them
    // What is left is what no pod is known to have, instead of what nodes reported: that is older
    // (spec 3 U13).
    bool reconstruct = true;
    // Zones of pods that are leaving are free once they are gone, and a pod that was evicted but
    // can have its zones back stays. In KAI they are free at once, and it moves to whatever zones
    // come first (spec 3 U13).
    bool wait_for_leaving = true;
  };
  struct Answer {
    bool admits = true;
    bool must_wait = false;  // for pods that are leaving
    int32_t zones = 0;       // that the pod is taken to spread over; 0: it cannot be aligned
  };
  // What a pod got of a node.
  struct Record {
    PodId pod;
    NodeId node;
    int32_t previous = -1;  // of the same pod
    ZonePlacement placement = {};
  };

  ZoneLedger(const Cluster& cluster, const Options& options);

  // Some node may refuse them.
  bool MayRefuse(PodClassId pod_class) const { return HasNote(pod_class, kRefused); }
  // They like some nodes better than others.
  bool HasWishes(PodClassId pod_class) const { return HasNote(pod_class, kScored); }
  // Only of classes for which one of these is true.
  const Answer& Ask(PodClassId pod_class, NodeId node) const;

  // The pod's last record; negative: it never had any zones. Records stay where they are until the
  // change that made them is undone.
  int32_t RecordOf(PodId pod) const { return record_of_[pod]; }
  const std::vector<Record>& records() const { return records_; }

  // What pods that come could have of a zone once all that are leaving are gone; by place in
  // NumaNode.
  std::span<const double> AvailableOf(NodeId node) const { return TableOf(node).later; }

  bool IsMoveWithin(PodId pod, NodeId node) const override;
  void Applied(const Change& change) override;
  void Undone(const Change& change) override;

 private:
  enum Note : uint8_t { kScored = 1, kRefused = 2 };

  // What is left of a node's zones.
  struct Table {
    std::vector<double> later;  // once pods that are leaving are gone
    std::vector<double> now;
    int32_t version = 0;
    std::array<std::vector<uint8_t>, 2> counts;  // resources that are aligned, of pods that are not
                                                 // guaranteed, and of those that are
  };
  struct Cached {
    int32_t version = -1;
    Answer answer;
  };

  bool HasNote(PodClassId pod_class, Note note) const {
    const NumaNeedsId needs = cluster_.pod_classes().info[pod_class].numa;
    return needs.valid() && (notes_[needs] & note) != 0;
  }
  Table& TableOf(NodeId node) { return tables_[static_cast<size_t>(numa_.place[node])]; }
  const Table& TableOf(NodeId node) const {
    return tables_[static_cast<size_t>(numa_.place[node])];
  }
  void MakeTables();
  uint8_t NotesOf(const NumaNeeds& needs) const;
  bool IsAligned(const NumaNeeds& needs, size_t place) const;
  Answer Work(const NumaNeeds& needs, NodeId node) const;
  Alignment AlignIn(const NumaNeeds& needs, size_t place, std::span<const double> left) const;
  // Where it is put; where that cannot be told, nowhere.
  ZonePlacement Predict(PodClassId pod_class, NodeId node) const;
  const ZonePlacement& PlacementOn(PodId pod, NodeId node) const;
  bool IsFree(NodeId node, const ZonePlacement& placement) const;
  void AddRecord(PodId pod, NodeId node, ZonePlacement placement);
  void Charge(const Record& record, std::vector<double>* left, double sign);
  void Restore(const Record& record, std::vector<double>* left);

  const Cluster& cluster_;
  const NumaColumns& numa_;
  Options options_;
  int32_t most_zones_ = 0;
  std::vector<Table> tables_;                // by NumaColumns::place
  IndexVector<NumaNeedsId, uint8_t> notes_;  // Notes
  std::vector<Record> records_;
  std::vector<double> before_;  // amounts that changes have overwritten
  std::vector<uint8_t> did_;    // what each change did here
  IndexVector<PodId, int32_t> record_of_;
  mutable IndexVector<NumaNeedsId, std::vector<Cached>> cache_;  // by place
  Answer without_zones_;                                         // of nodes that report none
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NUMA_ZONE_LEDGER_H_
