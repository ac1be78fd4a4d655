#include "kai/testing/oracle/slow_topology.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

namespace kai::oracle::parts {

namespace {

using Kept = World::Kept;

const TopologyRow* TopologyNamed(const World& world, const std::string& name) {
  for (const TopologyRow& row : world.rows().topologies) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string LabelOf(const TopologyRow& topology, const std::string& level) {  // spec 4 T4
  for (const TopologyRow::Level& each : topology.levels) {
    if (!each.alias.empty() && each.alias == level) return each.node_label;
  }
  return level;
}

// ---- the tree (spec 4 T5-T8) --------------------------------------------------------------------

// The level (0 for the root), and the values down to it: one joined text, as in KAI, or a list
// (spec 4 T6, T7).
using Key = std::pair<size_t, std::vector<std::string>>;

struct Domain {
  std::vector<Key> children;
  std::set<int> nodes;
  std::optional<double> fit;  // empty: not counted
  std::vector<double> free;
};

struct Tree {
  std::vector<std::string> levels;  // labels, the widest first
  std::map<Key, Domain> domains;
};

const Key kTop = {0, {}};

// The domains of a node, from the root down; empty if it is outside the tree (spec 4 T6).
std::vector<Key> KeysOf(const World& world, const std::vector<std::string>& levels, int node) {
  const bool partial = world.settings().switches.on(Switch::kPartialLabels);
  std::vector<Key> keys = {kTop};
  for (const std::string& level : levels) {
    const std::string* value = Label(At(world.kept().nodes, node)->labels, level);
    if (value == nullptr) {
      if (!partial) return {};
      break;
    }
    std::vector<std::string> id = keys.back().second;
    if (partial || id.empty()) {
      id.push_back(*value);
    } else {
      id[0] += "." + *value;
    }
    keys.emplace_back(keys.size(), id);
  }
  if (keys.size() == 1) return {};
  return keys;
}

Tree TreeOf(const World& world, const TopologyRow& topology) {
  Tree tree;
  for (const TopologyRow::Level& level : topology.levels) tree.levels.push_back(level.node_label);
  tree.domains[kTop].free.resize(world.kept().resources.size());
  for (size_t i = 0; i < world.kept().nodes.size(); ++i) {
    const std::vector<Key> keys = KeysOf(world, tree.levels, static_cast<int>(i));
    for (size_t at = 0; at < keys.size(); ++at) {
      Domain& domain = tree.domains[keys[at]];
      domain.nodes.insert(static_cast<int>(i));
      domain.free.resize(world.kept().resources.size());
      if (at == 0) continue;
      std::vector<Key>& siblings = tree.domains[keys[at - 1]].children;
      if (std::find(siblings.begin(), siblings.end(), keys[at]) == siblings.end())
        siblings.push_back(keys[at]);
    }
  }
  return tree;
}

// ---- capacity of domains (spec 4 A3-A5) ---------------------------------------------------------

struct Request {
  double n = 0;
  std::vector<double> sum;   // q
  std::vector<double> most;  // m
  bool uniform = true;
};

Request RequestOf(const World& world, const std::vector<int>& tasks) {
  const Kept& kept = world.kept();
  Request request{.n = static_cast<double>(tasks.size()),
                  .sum = std::vector<double>(kept.resources.size()),
                  .most = std::vector<double>(kept.resources.size())};
  for (size_t r = 0; r < kept.resources.size(); ++r) {
    double with = 0;
    for (const int pod : tasks) {
      const double amount = At(kept.pods, pod).request[r];
      request.sum[r] += amount;
      request.most[r] = std::max(request.most[r], amount);
      with += amount > 0 ? 1 : 0;
    }
    const bool any_amount = kept.resources[r] == "cpu" || kept.resources[r] == "memory";
    if (!any_amount && with != 0 && with != request.n) request.uniform = false;
  }
  return request;
}

double FitOn(const World& world, int node, const Request& request, std::vector<double> room) {
  const Kept& kept = world.kept();
  const auto gpu = static_cast<size_t>(
      std::find(kept.resources.begin(), kept.resources.end(), "gpu") - kept.resources.begin());
  if (0 < request.most[gpu] && request.most[gpu] < 1) {
    const GpuLedger& gpus = world.gpus(node);
    const double mib = MemoryOfGpu(*At(kept.nodes, node));
    const auto of = [](const std::map<std::string, int64_t>& amounts, const std::string& group) {
      const auto found = amounts.find(group);
      return found == amounts.end() ? 0.0 : static_cast<double>(found->second);
    };
    for (const auto& [group, used] : gpus.u) {
      if (used > 0) room[gpu] += (mib - of(gpus.a, group) + of(gpus.r, group)) / mib;
    }
  }
  bool only_a_slot = true;
  double fit = request.n;
  bool is_bound = false;
  for (size_t r = 0; r < room.size(); ++r) {
    if (kept.resources[r] != "pods" && request.most[r] > 0) only_a_slot = false;
  }
  if (only_a_slot) return request.n;
  for (size_t r = 0; r < room.size(); ++r) {
    if (request.most[r] > room[r]) return 0;
    if (request.most[r] <= 0) continue;
    const double here = std::trunc(room[r] / request.most[r]);
    fit = is_bound ? std::min(fit, here) : here;
    is_bound = true;
  }
  return fit;
}

// Fills in a domain and all domains below it.
void Fill(const World& world, const std::vector<Ledger>& ledgers, const Request& request,
          const Key& key, Tree* tree) {
  Domain& domain = tree->domains.at(key);
  domain.free.assign(world.kept().resources.size(), 0);
  domain.fit = request.uniform ? std::optional(0.0) : std::nullopt;
  std::set<int> own = domain.nodes;  // in no child
  for (const Key& child : domain.children) {
    Fill(world, ledgers, request, child, tree);
    const Domain& below = tree->domains.at(child);
    for (size_t r = 0; r < domain.free.size(); ++r) domain.free[r] += below.free[r];
    if (domain.fit) *domain.fit += *below.fit;
    for (const int node : below.nodes) own.erase(node);
  }
  for (const int node : own) {
    std::vector<double> room = At(ledgers, node).idle;
    for (size_t r = 0; r < room.size(); ++r) room[r] += At(ledgers, node).releasing[r];
    for (size_t r = 0; r < room.size(); ++r) domain.free[r] += room[r];
    if (domain.fit) *domain.fit += FitOn(world, node, request, room);
  }
}

double RatioOf(const World& world, const Domain& domain, const Request& request) {
  double ratio = 0;
  for (size_t r = 0; r < request.sum.size(); ++r) {
    if (world.kept().resources[r] == "pods" || request.sum[r] <= 0) continue;
    ratio = std::max(ratio, domain.free[r] > 0 ? request.sum[r] / domain.free[r] : 1000.0);
  }
  return ratio;
}

bool Accepts(const World& world, const Domain& domain, const Request& request) {
  if (domain.fit) return *domain.fit >= request.n;
  return RatioOf(world, domain, request) <= 1;
}

// ---- choice and order of domains (spec 4 A2, A6-A11) --------------------------------------------

// `stop`: a level, or none.
Key LowestCommonDomain(const World& world, const Tree& tree, const std::set<int>& valid,
                       const std::string& stop) {
  if (valid.empty()) return kTop;
  size_t depth = 0;
  for (const std::string& level : tree.levels) {
    const std::string* first = Label(At(world.kept().nodes, *valid.begin())->labels, level);
    const bool shared = first != nullptr && !first->empty() &&
                        std::all_of(valid.begin(), valid.end(), [&](int node) {
                          const std::string* value =
                              Label(At(world.kept().nodes, node)->labels, level);
                          return value != nullptr && *value == *first;
                        });
    if (!shared) break;
    ++depth;
    if (level == stop) break;
  }
  return KeysOf(world, tree.levels, *valid.begin())[depth];
}

void Sort(const World& world, const Request& request, const Key& key, size_t depth, Tree* tree) {
  std::vector<Key>& children = tree->domains.at(key).children;
  std::sort(children.begin(), children.end(), [&](const Key& a, const Key& b) {
    return std::tuple(-RatioOf(world, tree->domains.at(a), request), a) <
           std::tuple(-RatioOf(world, tree->domains.at(b), request), b);
  });
  if (key.first == depth) return;
  for (const Key& child : children) Sort(world, request, child, depth, tree);
}

// The domains of one level below a domain, from left to right.
std::vector<Key> DomainsBelow(const Tree& tree, const Key& key, size_t level) {
  if (key.first == level) return {key};
  std::vector<Key> found;
  for (const Key& child : tree.domains.at(key).children) {
    const std::vector<Key> more = DomainsBelow(tree, child, level);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

NodeScores ScoresOf(const World& world, const Tree& tree, const Key& common, size_t level) {
  NodeScores scores;
  if (world.settings().switches.on(Switch::kPartialLabels)) {  // includes those without that level
    for (const int node : tree.domains.at(common).nodes) scores[node] = 0;
  }
  const std::vector<Key> domains = DomainsBelow(tree, common, level);
  for (size_t i = 0; i < domains.size(); ++i) {
    const double points =
        std::floor(10.0 * static_cast<double>(i + 1) / static_cast<double>(domains.size()));
    for (const int node : tree.domains.at(domains[i]).nodes) scores[node] = points * 100'000;
  }
  return scores;
}

std::vector<std::string> LeavesBelow(const SetTree& tree, const std::string& member) {
  const Set& set = tree.at(member);
  if (set.is_leaf) return {member};
  std::vector<std::string> leaves;
  for (const std::string& child : set.children) {
    const std::vector<std::string> more = LeavesBelow(tree, child);
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  return leaves;
}

// The domains of the required level that pods use already (spec 4 L1-L3); empty: no pod does.
std::optional<std::set<Key>> Held(const World& world, const Tree& tree, const StepBelow& step,
                                  size_t required) {
  std::optional<std::set<Key>> held;
  for (const std::string& leaf : LeavesBelow(world.group(step.group).shape->tree, step.member)) {
    const bool in_step = !TasksBelow(world, step.group, leaf, step.tasks).empty();
    if (!in_step && !world.settings().switches.on(Switch::kPinnedSiblings)) continue;
    for (const int pod : PodsOfLeaf(world, step.group, leaf,
                                    [](PodStatus status) { return IsActiveAllocated(status); })) {
      const bool is_known = At(world.pods(), pod).node >= 0;
      if (!is_known && world.settings().switches.on(Switch::kPinnedSiblings)) continue;
      if (!held) held.emplace();
      for (const Key& key : DomainsBelow(tree, kTop, required)) {
        if (tree.domains.at(key).nodes.contains(At(world.pods(), pod).node)) held->insert(key);
      }
    }
  }
  return held;
}

bool IsBelowAny(const Tree& tree, const Key& key, const std::set<Key>& tops) {
  return std::any_of(tops.begin(), tops.end(), [&](const Key& top) {
    if (key.first < top.first) return false;
    const std::vector<Key> below = DomainsBelow(tree, top, key.first);
    return std::find(below.begin(), below.end(), key) != below.end();
  });
}

// 1 is the widest level; 0: not a level of the tree.
size_t LevelOf(const Tree& tree, const std::string& label) {
  for (size_t i = 0; i < tree.levels.size(); ++i) {
    if (tree.levels[i] == label) return i + 1;
  }
  return 0;
}

}  // namespace

TopologyConstraintRow ConstraintOf(const World& world, int group, const std::string& member) {
  const PodGroupRow& row = *At(world.kept().groups, group).row;
  const SetTree& tree = world.group(group).shape->tree;
  const bool is_broken =  // spec 4 H3
      std::any_of(row.sub_groups.begin(), row.sub_groups.end(),
                  [&](const SubGroupRow& each) { return !tree.contains(each.name); });
  if (is_broken) return {};
  TopologyConstraintRow constraint;
  if (member.empty()) constraint = row.topology;
  for (const SubGroupRow& each : row.sub_groups) {
    if (each.name == member) constraint = each.topology;
  }
  if (member.empty() && constraint.topology.empty()) return {};  // spec 4 H2
  if (const TopologyRow* topology = TopologyNamed(world, constraint.topology)) {
    constraint.required_level = LabelOf(*topology, constraint.required_level);
    constraint.preferred_level = LabelOf(*topology, constraint.preferred_level);
  }
  return constraint;
}

std::vector<int> TasksBelow(const World& world, int group, const std::string& member,
                            const std::vector<int>& tasks) {
  const std::vector<std::string> leaves = LeavesBelow(world.group(group).shape->tree, member);
  std::vector<int> below;
  for (const int pod : tasks) {
    const std::string leaf = SubGroupOf(*At(world.kept().pods, pod).row);
    if (std::find(leaves.begin(), leaves.end(), leaf) != leaves.end()) below.push_back(pod);
  }
  return below;
}

NodeSets NodeSetsFor(const World& world, const StepBelow& step, const std::set<int>& nodes) {
  const Switches& switches = world.settings().switches;
  const TopologyConstraintRow constraint = ConstraintOf(world, step.group, step.member);
  if (!world.settings().Has("topology") || constraint.topology.empty() || step.tasks.empty())
    return {.sets = {nodes}};
  const TopologyRow* topology = TopologyNamed(world, constraint.topology);
  if (topology == nullptr) return {};
  const bool has_required = !constraint.required_level.empty();
  const bool has_preferred = !constraint.preferred_level.empty();
  if (!has_required && !has_preferred && switches.on(Switch::kTopologyLevels))
    return {.sets = {nodes}};

  Tree tree = TreeOf(world, *topology);
  std::set<int> valid;
  for (const int node : nodes) {
    if (tree.domains.at(kTop).nodes.contains(node)) valid.insert(node);
  }
  const bool stops_at_required = switches.on(Switch::kCommonDomain) && !has_preferred;
  const Key common = LowestCommonDomain(
      world, tree, valid,
      stops_at_required ? constraint.required_level : constraint.preferred_level);
  const Request request = RequestOf(world, step.tasks);
  Fill(world, Ledgers(world), request, common, &tree);
  if (!Accepts(world, tree.domains.at(common), request)) return {};

  const size_t required = LevelOf(tree, constraint.required_level);
  const size_t preferred = LevelOf(tree, constraint.preferred_level);
  if (!has_required && !has_preferred) return {};        // spec 4 C5
  if (has_required && required == 0) return {};          // spec 4 C5
  if (has_preferred && preferred == 0) return {};        // spec 4 C5
  if (has_preferred && preferred < required) return {};  // spec 4 C5
  const size_t narrowest = has_preferred ? preferred : required;
  Sort(world, request, common, narrowest, &tree);

  NodeSets answer;
  if (has_preferred) answer.scores = ScoresOf(world, tree, common, preferred);
  std::optional<std::set<Key>> held;
  if (has_required) held = Held(world, tree, step, required);
  for (size_t level = narrowest + 1; level-- > required;) {
    for (const Key& key : DomainsBelow(tree, kTop, level)) {
      const Domain& domain = tree.domains.at(key);
      if (held && !IsBelowAny(tree, key, *held)) continue;
      if (!Accepts(world, domain, request)) continue;
      std::set<int> offered;
      for (const int node : domain.nodes) {
        if (valid.contains(node)) offered.insert(node);
      }
      answer.sets.push_back(std::move(offered));
    }
  }
  return answer;
}

const NodeScores* ScoresFor(const World& world, const Attempt& attempt, const std::string& leaf) {
  const SetTree& tree = world.group(attempt.group).shape->tree;
  for (std::string at = leaf;;) {
    const auto found = attempt.scores.find(at);
    if (found != attempt.scores.end()) return &found->second;
    if (at.empty()) return nullptr;
    for (const auto& [name, set] : tree) {
      if (std::find(set.children.begin(), set.children.end(), at) == set.children.end()) continue;
      at = name;
      break;
    }
  }
}

bool DomainsHaveGpus(const World& world, int group, const Shape& part,
                     const std::vector<double>& rooms) {
  const Kept& kept = world.kept();
  std::map<std::pair<std::string, std::string>, std::vector<double>> demands;
  for (const auto& [name, set] : part.tree) {
    const TopologyConstraintRow constraint = ConstraintOf(world, group, name);
    if (set.is_leaf || constraint.required_level.empty()) continue;
    double demand = 0;
    for (const int pod : TasksBelow(world, group, name, part.pods)) {
      const Kept::Pod& each = At(kept.pods, pod);
      const int node = At(world.pods(), pod).node;
      demand += (node < 0 ? kept.Requested(each, 0) : kept.Accepted(each, node))[2];
    }
    demands[{constraint.topology, constraint.required_level}].push_back(demand);
  }
  for (auto& [level, wanted] : demands) {
    std::map<std::string, double> by_value;
    for (size_t i = 0; i < kept.nodes.size(); ++i) {
      const std::string* value = Label(kept.nodes[i]->labels, level.second);
      if (value != nullptr && !value->empty()) by_value[*value] += rooms[i];
    }
    std::vector<std::pair<double, double>> capacities;  // with the amount taken of each
    for (const auto& [value, capacity] : by_value) capacities.emplace_back(capacity, 0);
    std::sort(capacities.begin(), capacities.end(), std::greater<>());
    std::sort(wanted.begin(), wanted.end(), std::greater<>());
    for (const double demand : wanted) {
      if (demand == 0) break;
      bool found = false;
      for (auto& [capacity, taken] : capacities) {
        if (capacity < demand) break;
        if (capacity - taken < demand) continue;
        taken += demand;
        found = true;
        break;
      }
      if (!found) return false;
    }
  }
  return true;
}

}  // namespace kai::oracle::parts
