// GroupPlacer: places the next pods of a pod group, all of them or none (spec 2 P1-P6).
//
//   GroupPlacer placer(rooms.cluster(), &rooms.order(), &rooms.shares(), &rooms.search(), {});
//   const GroupPlacer::Result result = placer.Place(group, Mode::kReal, &rooms.statement());
//   return result.placed;            // false: the statement is as before
//
// For a gang below its minimum it places the missing pods, otherwise one more pod, as PodOrder
// decides. It first checks the limits of the queues, then places set by set, each in one topology
// domain if the set requires one.
//
// Invariants: if Place() fails, it rolls the statement back. kSimulate never allocates, and does
// not explain why nodes refuse. Queues, order, search and domains listen to the same statement.
// Cost: a search for a node per pod and domain tried; if choices of domains can be taken back, at
// most kMostTries domains. Not thread-safe.
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
  // The most domains that one attempt tries, and the most splits of one domain.
  static constexpr int kMostTries = 2'000;
  static constexpr int kMostSplits = 64;

  // kReal allocates pods that fit now and pipelines pods that must wait; kSimulate pipelines all
  // pods (spec 2 P4) and explains nothing.
  enum class Mode : uint8_t { kReal, kSimulate };
  struct Result {
    bool placed = false;
    bool had_pods = false;        // there were pods to place
    std::vector<Reason> reasons;  // if not placed, with kReal; fewer without `explains`
  };

  struct Options {
    bool check_capacity = true;      // false without the plugin
    bool check_nodes = true;         // also on single nodes; false without the plugin
    bool pin_siblings = true;        // a required domain must hold all pods of a set, also old ones
    bool level_free = true;          // a topology without a level is not a constraint (switch)
    bool best_fit = false;           // choices of domains can be taken back for siblings
    bool explains = true;            // false: gives no reasons for failures
    Adding adding = Adding::kExact;  // for requests and what queues hold (fairshare/capacity.h)
  };

  // `domains`: may be null: no group has a topology constraint.
  GroupPlacer(const Cluster& cluster, PodOrder* order, const FairShares* shares, NodeSearch* search,
              const Options& options, DomainSearch* domains = nullptr)
      : cluster_(cluster),
        order_(order),
        shares_(shares),
        search_(search),
        options_(options),
        domains_(domains) {}

  const Options& options() const { return options_; }

  Result Place(PodGroupId group, Mode mode, Statement* statement);
  // Places one pod on exactly this node: now, if it waits and there is room; otherwise pipelined.
  // `gpus`: the devices that it shares if they have room. False: it does not fit, or a limit
  // forbids it.
  bool PlaceOn(PodId pod, NodeId node, Statement* statement, const GpuList& gpus = {});
  // The scores of all nodes for one pod, as if it were placed next and were not to share a domain.
  ScoreSheet ScoresOf(PodId pod) const {
    const NodeAllowance allowance = AllowanceOf(pod);
    return search_->ScoresOf(pod, &allowance);
  }
  // True: the placed pods of the group share all domains that they must share.
  bool IsInItsDomains(PodGroupId group) const;
  // True: the limits and quotas of the queues allow these pods now.
  bool IsWithinLimits(PodGroupId group, std::span<const PodId> pods) const {
    return !options_.check_capacity || !RefusalOfQueues(group, RequestOf(pods));
  }

 private:
  // The refusal of more resources by the queue or one of its ancestors.
  using QueueRefusal = std::optional<std::variant<OverLimit, OverQuota>>;
  // The limit of the queue for one pod on single nodes (spec 1 F79).
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

  RequestedAmount RequestOf(std::span<const PodId> pods) const;
  QueueRefusal RefusalOfQueues(PodGroupId group, const RequestedAmount& requested) const;
  QueueBound BoundOf(const CapacityAnswer& answer, const RequestedAmount& requested) const;
  // Adds all other bounds that refuse the request.
  void AddOthers(PodGroupId group, const RequestedAmount& requested, QueueBound* first) const;
  // One attempt, on its way down the tree of sub-groups.
  struct Attempt {
    Mode mode;
    Statement* statement;
    std::vector<Reason> reasons = {};
    int tries_left = kMostTries;          // of domains, if choices can be taken back
    std::vector<SubGroupId> failed = {};  // the last set without a place, and its ancestors
  };
  bool NeedsDomain(SubGroupId set) const;
  bool TryToPlace(PodGroupId group, std::span<const PodId> pods, Attempt* attempt);
  // Whether all other sets find a place as well, if choices can be taken back for them.
  using Others = absl::FunctionRef<bool()>;
  static bool NoOthers() { return true; }
  // Places the pods below the set on these nodes, in one of the domains that it requires.
  bool PlaceSet(SubGroupId set, std::span<const PodId> pods, const NodeSearch::Area& area,
                Attempt* attempt, Others others);
  bool PlaceInDomain(SubGroupId set, std::span<const PodId> pods, const NodeSearch::Area& area,
                     Attempt* attempt, Others others);
  // Places the pods in several domains of the preferred level, divided by SplitPods().
  bool PlaceSplit(const DomainSearch::Question& question, SubGroupId set,
                  const DomainSearch::Answer& answer, TopologyDomainId domain,
                  const NodeSearch::Area& area, Attempt* attempt, Others others);
  bool PlaceMembers(SubGroupId set, std::span<const PodId> pods, const NodeSearch::Area& area,
                    Attempt* attempt, Others others);
  bool PlaceChildren(std::span<const SubGroupId> children, std::span<const PodId> pods,
                     const NodeSearch::Area& area, Attempt* attempt, Others others);
  PodList PodsBelow(SubGroupId set, std::span<const PodId> pods) const;
  // The children with the largest requests first.
  SubGroupList LargestFirst(SubGroupList children, std::span<const PodId> pods) const;
  int64_t MorePodsOf(SubGroupId set, std::span<const PodId> pods) const;
  bool PlacePodSet(SubGroupId pod_set, std::span<const PodId> pods, const NodeSearch::Area& area,
                   Attempt* attempt);
  // The nodes of pods that share their domain with the other pods (spec 4 L1).
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
