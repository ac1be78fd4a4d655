// ZoneLedger: the free resources in the NUMA zones of nodes, and the zones that pods would get
// (spec 3 U4-U15).
//
//   ZoneLedger ledger(*cluster, {});
//   ledger.AnswerFor(pod_class, node).admits      // the Topology Manager would admit it
//   ledger.RecordOf(pod)                    // its zones, once it has the node
//
// It is a listener of the statement: a pod takes its zones when it gets its node, and gives them
// back when it is evicted. If a pod takes part in a search, its zones are predicted again each time
// it gets a node.
//
// Invariants: undoing restores every amount exactly; a record exists until the change that made it
// is undone. Cost: nothing for pods that no node aligns; otherwise one alignment per class of pods
// and node, after each change of that node's zones. Not thread-safe: AnswerFor() caches its
// answers.
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
    std::vector<std::string> ignored = {};  // resource names as nodes report them
    // True: computes the free amounts from the zones of known pods. False: uses the amounts that
    // nodes reported, which are older (spec 3 U13).
    bool reconstruct = true;
    // True: the zones of leaving pods become free when the pods are gone, and an evicted pod that
    // can have its zones again stays. False: as in KAI, they are free at once, and the pod moves to
    // the first zones that fit (spec 3 U13).
    bool wait_for_leaving = true;
  };
  struct Answer {
    bool admits = true;
    bool must_wait = false;  // until leaving pods are gone
    int32_t zones = 0;       // the pod's zones on the node; 0: it cannot be aligned
  };
  // The zones that a pod got on a node.
  struct Record {
    PodId pod;
    NodeId node;
    int32_t previous = -1;  // the earlier record of the same pod
    ZonePlacement placement = {};
  };

  ZoneLedger(const Cluster& cluster, const Options& options);

  // True: some node may refuse these pods.
  bool MayRefuse(PodClassId pod_class) const { return HasNote(pod_class, kRefused); }
  // True: the scores of these pods differ between nodes.
  bool HasPreferences(PodClassId pod_class) const { return HasNote(pod_class, kScored); }
  // Only for classes with one of these two true.
  const Answer& AnswerFor(PodClassId pod_class, NodeId node) const;

  // The index of the pod's last record; negative: it never had zones. A record keeps its index
  // until the change that made it is undone.
  int32_t RecordOf(PodId pod) const { return record_of_[pod]; }
  const std::vector<Record>& records() const { return records_; }

  // The amounts of the zones that new pods could get after all leaving pods are gone; by position
  // in NumaNode.
  std::span<const double> AvailableOf(NodeId node) const { return TableOf(node).later; }

  bool IsMoveWithin(PodId pod, NodeId node) const override;
  void Applied(const Change& change) override;
  void Undone(const Change& change) override;

 private:
  enum Note : uint8_t { kScored = 1, kRefused = 2 };

  // The free amounts in a node's zones.
  struct Table {
    std::vector<double> later;  // after leaving pods are gone
    std::vector<double> now;
    int32_t version = 0;
    std::array<std::vector<uint8_t>, 2> counts;  // aligned resources: of pods that are not
                                                 // guaranteed, and of guaranteed ones
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
  // The predicted zones of the pod; empty: they cannot be predicted.
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
  std::vector<double> before_;  // old values that changes have overwritten
  std::vector<uint8_t> did_;    // the effect of each change here
  IndexVector<PodId, int32_t> record_of_;
  mutable IndexVector<NumaNeedsId, std::vector<Cached>> cache_;  // by place
  Answer without_zones_;                                         // for nodes that report no zones
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NUMA_ZONE_LEDGER_H_
