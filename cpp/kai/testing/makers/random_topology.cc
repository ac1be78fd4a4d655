#include "kai/testing/makers/random_topology.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai {
namespace {

constexpr uint64_t kTopologySeed = 0xd1b54a32d192ed03;

class Topologies {
 public:
  Topologies(uint64_t seed, const RandomTopologyOptions& options, ClusterRows* rows)
      : random_(seed ^ kTopologySeed), options_(options), rows_(*rows) {}

  void Add() {
    AddTopology("net", "net/");
    if (options_.two && random_.OneIn(3)) AddTopology("power", "power/");
    if (random_.OneIn(8)) {  // a second topology with fewer of the same labels
      TopologyRow row = rows_.topologies.front();
      row.name = "zones";
      row.levels.resize(1);
      rows_.topologies.push_back(std::move(row));
    }
    for (PodGroupRow& group : rows_.pod_groups) {
      if (options_.split_groups && group.sub_groups.empty() && random_.OneIn(3)) Split(&group);
      if (random_.Coin()) group.topology = SomeConstraint();
      for (SubGroupRow& part : group.sub_groups) {
        if (random_.OneIn(3)) part.topology = SomeConstraint();
      }
      // Equal, like the parts of a workload.
      if (random_.OneIn(4)) {
        for (SubGroupRow& part : group.sub_groups) part.topology = group.sub_groups[0].topology;
      }
    }
    random_.Shuffle(&rows_.topologies);
  }

 private:
  void AddTopology(const std::string& name, const std::string& prefix) {
    TopologyRow row{.name = name, .levels = {}};
    const std::vector<std::string> levels = {"zone", "block", "rack"};
    const bool aliases = random_.Coin();
    for (size_t i = random_.Coin() ? 0 : 1; i < levels.size(); ++i) {
      row.levels.push_back({.node_label = prefix + levels[i], .alias = aliases ? levels[i] : ""});
    }
    const int64_t widest = random_.Between(1, 3);
    for (NodeRow& node : rows_.nodes) {
      for (size_t i = 0; i < row.levels.size(); ++i) {
        if (options_.lacking && random_.OneIn(20)) continue;
        const int64_t value = random_.Below(i == 0 ? widest : random_.Between(1, 3));
        node.labels.emplace_back(row.levels[i].node_label, StrCat("v", value));
      }
    }
    rows_.topologies.push_back(std::move(row));
  }

  TopologyConstraintRow SomeConstraint() {
    TopologyConstraintRow constraint;
    const TopologyRow& topology = random_.Pick(rows_.topologies);
    constraint.topology = topology.name;
    const int64_t levels = static_cast<int64_t>(topology.levels.size());
    const auto name = [&](int64_t level) {
      const TopologyRow::Level& each = topology.levels[static_cast<size_t>(level)];
      return each.alias.empty() || random_.Coin() ? each.node_label : each.alias;
    };
    const int64_t wide = random_.Below(levels);
    const int64_t narrow = random_.Between(wide, levels - 1);
    const int64_t kind = random_.Below(5);
    if (kind <= 2) constraint.required_level = name(kind == 2 ? wide : random_.Below(levels));
    if (kind >= 2) constraint.preferred_level = name(kind == 2 ? narrow : random_.Below(levels));
    if (!options_.mistakes || !random_.OneIn(10)) return constraint;
    switch (random_.Below(6)) {
      case 0:
        constraint.topology = "unknown";
        break;
      case 1:
        constraint.topology = "";
        break;
      case 2:
        constraint.required_level = "unknown";
        break;
      case 3:
        constraint.preferred_level = "unknown";
        break;
      case 4:
        constraint.required_level = name(levels - 1);
        constraint.preferred_level = name(0);
        break;
      default:
        constraint.required_level = constraint.preferred_level = "";
        break;
    }
    return constraint;
  }

  // Distributes its pods over two or three leaves; some leaves are below another set.
  void Split(PodGroupRow* group) {
    std::vector<PodRow*> pods;
    for (PodRow& pod : rows_.pods) {
      if (pod.namespace_name == group->namespace_name && pod.pod_group == group->name &&
          pod.subgroup.empty()) {
        pods.push_back(&pod);
      }
    }
    if (pods.size() < 2) return;
    std::sort(pods.begin(), pods.end(),
              [](const PodRow* a, const PodRow* b) { return a->name < b->name; });
    const int64_t leaves = random_.Between(2, 3);
    const bool deep = random_.OneIn(3);
    if (deep) {
      group->sub_groups.push_back(
          {.name = "part", .parent = {}, .min_member = {}, .min_sub_group = {}, .topology = {}});
      if (random_.OneIn(3)) group->sub_groups.back().min_sub_group = 1;
    }
    std::vector<int64_t> sizes(static_cast<size_t>(leaves));
    for (size_t i = 0; i < pods.size(); ++i) {
      const size_t leaf = i % sizes.size();
      pods[i]->subgroup = StrCat("leaf-", leaf);
      ++sizes[leaf];
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      SubGroupRow row{.name = StrCat("leaf-", i),
                      .parent = {},
                      .min_member = random_.OneIn(3) ? random_.Between(0, sizes[i]) : sizes[i],
                      .min_sub_group = {},
                      .topology = {}};
      if (deep && i < 2) row.parent = "part";
      if (random_.OneIn(24)) ++*row.min_member;  // not ready
      group->sub_groups.push_back(std::move(row));
    }
    if (random_.OneIn(3)) group->min_sub_group = random_.Between(1, deep ? 2 : leaves);
  }

  Random random_;
  const RandomTopologyOptions& options_;
  ClusterRows& rows_;
};

}  // namespace

void AddRandomTopology(uint64_t seed, const RandomTopologyOptions& options, ClusterRows* rows) {
  Topologies(seed, options, rows).Add();
}

}  // namespace kai
