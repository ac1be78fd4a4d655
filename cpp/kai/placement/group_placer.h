// GroupPlacer: places what a pod group wants next, whole, or leaves no trace (spec 2 P1-P6).
//
//   GroupPlacer placer(rooms.cluster(), &rooms.order(), &rooms.shares(), &rooms.search(), {});
//   const GroupPlacer::Result result = placer.Place(group, Mode::kReal, &rooms.statement());
//   return result.placed;            // false: the statement is back where it was
//
// Of a gang below its minimum it takes the pods that are missing, else one more pod, as PodOrder
// says. It asks the queues first, then places set by set, each in one topology domain where it asks
// for one.
//
// Invariants: Place() that fails rolls the statement back to where it found it. kSimulate never
// allocates, and does not explain why nodes refuse. Queues, order, search and domains listen to the
// same statement. Cost: a search for a node per pod and domain tried; where choices of domains are
// taken back, at most kMostTries domains. Not thread-safe.
#ifndef KAI_PLACEMENT_GROUP_PLACER_H_
#define KAI_PLACEMENT_GROUP_PLACER_H_

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kai/fairshare/capacity.h"
#include "kai/fairshare/fair_shares.h"
#include "kai/model/changes/statement.h"
#include "kai/model/reasons/reason.h"
#include "kai/placement/node_search.h"
#include "kai/placement/pod_order.h"

namespace kai {

class GroupPlacer {
 public:
  // Domains that one attempt tries, and splits of one domain, before it gives up.
  static constexpr int kMostTries = 2'000;
  static constexpr int kMostSplits = 64;

  // kReal allocates what fits now and pipelines what has to wait; kSimulate pipelines everything
  // (spec 2 P4) and explains nothing.
  enum class Mode : uint8_t { kReal, kSimulate };
  struct Result {
    bool placed = false;
    bool had_pods = false;        // there was something to place
    std::vector<Reason> reasons;  // when not placed and kReal; some are left out without `explains`
  };

  struct Options {
    bool check_capacity = true;  // off without the plugin that does it
    bool check_nodes = true;     // as well on single nodes; off without the plugin that asks them
    bool pin_siblings = true;    // a required domain holds all pods of a set, however they came
    bool level_free = true;      // a topology without a level asks for nothing (mend)
    bool best_fit = false;       // choices of domains are taken back for those of siblings (below)
    bool explains = true;        // off: nothing is said of why a group found no place
    Adding adding = Adding::kExact;  // of requests to what queues hold (fairshare/capacity.h)
  };

  // `domains`: null where topologies are of no account.
  GroupPlacer(const Cluster& cluster, PodOrder* order, const FairShares* shares, NodeSearch* search,
              const Options& options, DomainSearch* domains = nullptr)
      : cluster_(cluster),
        order_(order),
        shares_(shares),
        search_(search),
        options_(options),
        domains_(domains) {}

  Result Place(PodGroupId group, Mode mode, Statement* statement);
  // One pod on that node and on no other: now, if it waits and there is room, or else pipelined.
  // False: it does not fit there, or a limit is in the way.
  bool PlaceOn(PodId pod, NodeId node, Statement* statement);
  // Pods of the group that stand somewhere share the domains that they are required to share.
  bool IsInItsDomains(PodGroupId group) const;
  // The queues' limits and quotas let it have them, as they stand.
  bool IsWithinLimits(PodGroupId group, std::span<const PodId> pods) const {
    return !options_.check_capacity || !RefusalOfQueues(group, pods);
  }

 private:
  // What the queue, or one above it, has against so much more.
  using QueueRefusal = std::optional<std::variant<OverLimit, OverQuota>>;
  // What the queue says to one pod on single nodes (spec 1 F79).
  class NodeAllowance final : public QueueAllowance {
   public:
    NodeAllowance(const GroupPlacer& placer, PodGroupId group, const QuotaCount& requested)
        : placer_(placer), group_(group), requested_(requested) {}
    bool Allows(double gpus) const override;
    QueueRefuses Why(double gpus) const override;

   private:
    QueueRefusal RefusalWith(double gpus) const;

    const GroupPlacer& placer_;
    PodGroupId group_;
    const QuotaCount& requested_;
  };
  NodeAllowance AllowanceOf(PodId pod) const {
    return {*this, cluster_.pods().group[pod], cluster_.ClassOf(pod).requested};
  }

  QueueRefusal RefusalOfQueues(PodGroupId group, std::span<const PodId> pods) const;
  QueueRefusal RefusalOfQueues(PodGroupId group, const AskedAmount& asked) const;
  // One attempt, as it goes down the tree of sub-groups.
  struct Attempt {
    Mode mode;
    Statement* statement;
    std::vector<Reason> reasons = {};
    int tries_left = kMostTries;          // of domains, where choices are taken back
    std::vector<SubGroupId> failed = {};  // the last one that found no place, and those above it
  };
  bool AsksForDomain(SubGroupId set) const;
  bool TryToPlace(PodGroupId group, std::span<const PodId> pods, Attempt* attempt);
  // Whether all other groups find a place as well, where choices are taken back for their sake.
  using Others = absl::FunctionRef<bool()>;
  static bool NobodyElse() { return true; }
  // Places what is below the set on these nodes, in one of the domains it asks for.
  bool PlaceSet(SubGroupId set, std::span<const PodId> pods, const NodeSearch::Area& area,
                Attempt* attempt, Others others);
  bool PlaceInDomain(SubGroupId set, std::span<const PodId> pods, const NodeSearch::Area& area,
                     Attempt* attempt, Others others);
  // The pods in several domains of the preferred level, as many in each as SplitPods() says.
  bool PlaceSplit(const DomainSearch::Question& question, SubGroupId set,
                  const DomainSearch::Answer& answer, TopologyDomainId domain,
                  const NodeSearch::Area& area, Attempt* attempt, Others others);
  bool PlaceMembers(SubGroupId set, std::span<const PodId> pods, const NodeSearch::Area& area,
                    Attempt* attempt, Others others);
  bool PlaceChildren(std::span<const SubGroupId> children, std::span<const PodId> pods,
                     const NodeSearch::Area& area, Attempt* attempt, Others others);
  PodList PodsBelow(SubGroupId set, std::span<const PodId> pods) const;
  // What takes most room first.
  SubGroupList LargestFirst(SubGroupList children, std::span<const PodId> pods) const;
  int64_t MorePodsOf(SubGroupId set, std::span<const PodId> pods) const;
  bool PlacePodSet(SubGroupId pod_set, std::span<const PodId> pods, const NodeSearch::Area& area,
                   Attempt* attempt);
  // Where pods stand whose domain the others have to share (spec 4 L1).
  std::vector<NodeId> HeldNodes(SubGroupId set, std::span<const PodId> pods) const;
  NodeSubset Offered() const;
  void ExplainNoNode(SubGroupId pod_set, PodId pod, int32_t found, const NodeAllowance& allowance,
                     Attempt* attempt) const;

  const Cluster& cluster_;
  PodOrder* order_;
  const FairShares* shares_;
  NodeSearch* search_;
  Options options_;
  DomainSearch* domains_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GROUP_PLACER_H_
