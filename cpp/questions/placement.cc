// Questions to single functions of placement.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/rows/cluster_rows.h"
#include "kai/placement/domain_search.h"
#include "kai/placement/scorers/scorers.h"
#include "questions/register.h"

namespace kai::questions {
namespace {

namespace py = pybind11;

// (name, free amount, the node's capacity or, for spreading, its counts)
using Offer = std::tuple<std::string, double, double>;

std::map<std::string, double> PlacementScores(const std::vector<Offer>& nodes,
                                              const std::string& strategy) {
  if (strategy != "binpack" && strategy != "spread")
    throw py::value_error("strategy is \"binpack\" or \"spread\"");
  double least = 0;
  double most = 0;
  bool any = false;
  for (const auto& [name, room, offered] : nodes) {
    if (offered == 0) continue;
    least = any ? std::min(least, room) : room;
    most = any ? std::max(most, room) : room;
    any = true;
  }
  std::map<std::string, double> scores;
  for (const auto& [name, room, offered] : nodes) {
    scores[name] = strategy == "spread" ? SpreadScore(room, offered)
                                        : BinpackScore(room, least, most, offered);
  }
  return scores;
}

// The topology constraint of a pod group, in a cluster of its own.
struct Constrained {
  std::unique_ptr<Cluster> cluster;

  Constrained(const std::vector<std::string>& levels, std::vector<NodeRow> nodes,
              std::vector<PodRow> pods, std::string required, std::string preferred) {
    ClusterRows rows;
    TopologyRow topology{.name = "topology", .levels = {}};
    for (const std::string& level : levels)
      topology.levels.push_back({.node_label = level, .alias = ""});
    rows.topologies.push_back(std::move(topology));
    rows.nodes = std::move(nodes);
    PodGroupRow group;
    group.namespace_name = "ns";
    group.name = "group";
    group.topology = {.topology = "topology",
                      .required_level = std::move(required),
                      .preferred_level = std::move(preferred)};
    rows.pod_groups.push_back(std::move(group));
    for (PodRow& row : pods) {
      row.namespace_name = "ns";
      row.pod_group = "group";
      row.scheduler_name = ShardParams().scheduler_name;
    }
    rows.pods = std::move(pods);
    cluster = std::move(rows).Build();
  }

  const TopologyConstraint& constraint() const {
    return cluster->topology_constraints()[TopologyConstraintId(0)];
  }
};

// The levels' labels, narrowest first, then "root".
std::vector<std::string> TopologyLevels(const std::vector<std::string>& levels,
                                        const std::string& required, const std::string& preferred) {
  const Constrained asked(levels, {}, {}, required, preferred);
  const std::optional<DomainDepths> depths = DepthsFor(asked.constraint());
  if (!depths) throw py::value_error("the topology has no such levels");
  std::vector<std::string> tried;
  for (int32_t depth = depths->narrowest; depth >= depths->widest; --depth)
    tried.push_back(depth == 0 ? "root" : levels[static_cast<size_t>(depth) - 1]);
  return tried;
}

using Amounts = std::map<std::string, int64_t>;
// (name, labels, free amounts)
using LabelledNode = std::tuple<std::string, std::map<std::string, std::string>, Amounts>;

// The sets of nodes to try, in order, and the scores of nodes. `active`: how many pods run already,
// by node.
std::pair<std::vector<std::vector<std::string>>, std::map<std::string, double>> TopologyNodeSets(
    const std::vector<std::string>& levels, const std::vector<LabelledNode>& nodes,
    const std::vector<Amounts>& pods, const std::map<std::string, int64_t>& active,
    const std::optional<std::vector<std::string>>& candidates, const std::string& required,
    const std::string& preferred) {
  std::vector<NodeRow> node_rows;
  for (const auto& [name, labels, free] : nodes) {
    NodeRow& row = node_rows.emplace_back();
    row.name = name;
    row.labels.assign(labels.begin(), labels.end());
    row.ready = ConditionStatus::kTrue;
    for (const auto& [resource, amount] : free) row.allocatable.emplace_back(resource, amount);
    const auto found = active.find(name);  // each takes only one of the node's pod slots
    if (found == active.end()) continue;
    for (auto& [resource, amount] : row.allocatable)
      amount += resource == "pods" ? found->second : 0;
  }
  std::vector<PodRow> pod_rows;
  for (const Amounts& requests : pods) {
    PodRow& row = pod_rows.emplace_back();
    row.name = StrCat("waits-", pod_rows.size());
    row.phase = Phase::kPending;
    for (const auto& [resource, amount] : requests) {
      if (resource == "gpu") {
        row.gpu.count = amount;
        row.gpu.portion = amount > 0 ? 1 : 0;
      } else if (resource != "pods") {
        row.requests.emplace_back(resource, amount);
      }
    }
  }
  for (const auto& [node, count] : active) {
    for (int64_t i = 0; i < count; ++i) {
      PodRow& row = pod_rows.emplace_back();
      row.name = StrCat("runs-", pod_rows.size());
      row.phase = Phase::kRunning;
      row.node_name = node;
    }
  }
  const Constrained asked(levels, std::move(node_rows), std::move(pod_rows), required, preferred);
  const Cluster& cluster = *asked.cluster;
  std::vector<PodId> waiting;
  std::vector<NodeId> held;
  for (const PodId pod : cluster.pods().name.ids()) {
    if (cluster.pods().status[pod] == PodStatus::kPending) {
      waiting.push_back(pod);
    } else {
      held.push_back(cluster.pods().node[pod]);
    }
  }
  NodeSubset within = NodeSubset::All();
  if (candidates) {
    std::vector<NodeId> named;
    for (const NodeId node : cluster.nodes().name.ids()) {
      if (std::ranges::find(*candidates, cluster.Text(cluster.nodes().name[node])) !=
          candidates->end())
        named.push_back(node);
    }
    within = NodeSubset::Of(std::move(named));
  }
  DomainSearch search(cluster, {.whole_nodes = true, .stop_at_required = false});
  const DomainSearch::Answer answer = search.Find({.constraint = asked.constraint(),
                                                   .pods = waiting,
                                                   .within = within,
                                                   .subgroup = {},
                                                   .group = PodGroupId(0),
                                                   .held = held});
  std::vector<std::vector<std::string>> sets;
  for (const TopologyDomainId domain : answer.domains) {
    std::vector<std::string>& names = sets.emplace_back();
    const NodeSubset nodes_of_domain = search.NodesOf(answer, domain, within);
    for (const NodeId node : nodes_of_domain.nodes())
      names.emplace_back(cluster.Text(cluster.nodes().name[node]));
  }
  std::map<std::string, double> scores;
  for (const NodeId node : cluster.nodes().name.ids()) {
    if (answer.scores == nullptr || answer.scores->StepsOf(node) == DomainScores::kNone) continue;
    scores[std::string(cluster.Text(cluster.nodes().name[node]))] =
        answer.scores->StepsOf(node) * DomainScores::kPerStep;
  }
  return {sets, scores};
}

}  // namespace

void RegisterPlacement(py::module_& module) {
  module.def("placement_scores", &PlacementScores, py::arg("nodes"), py::kw_only(),
             py::arg("strategy"));
  module.def("topology_levels", &TopologyLevels, py::arg("levels"), py::kw_only(),
             py::arg("required"), py::arg("preferred"));
  module.def("topology_node_sets", &TopologyNodeSets, py::arg("levels"), py::arg("nodes"),
             py::arg("pods"), py::kw_only(), py::arg("active"), py::arg("candidates"),
             py::arg("required"), py::arg("preferred"));
}

}  // namespace kai::questions
