#include "kai/sim/autoscaler.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kai/api/accelerators.h"
#include "kai/sim/sim_objects.h"

namespace kai {
namespace {

using Stage = Autoscaler::NodeState::Stage;

size_t PlaceOf(int32_t node) { return static_cast<size_t>(node); }

bool IsPart(const PodNeeds& pod) { return pod.micro_gpus > 0 && pod.micro_gpus < kMicroGpusOfOne; }

}  // namespace

SpareRoom SpareRoom::Of(const NodeRow& node) {
  SpareRoom room;
  const std::pair<std::string_view, int64_t*> members[] = {
      {"cpu", &room.millicpu}, {"memory", &room.memory_bytes}, {"pods", &room.pods}};
  for (const auto& [resource, amount] : node.allocatable) {
    if (IsGpuResource(resource)) room.cards += amount;
    for (const auto& [name, member] : members)
      if (resource == name) *member = amount;
  }
  room.model = ModelOf(node);
  return room;
}

bool SpareRoom::Fits(const PodNeeds& pod) const {
  if (pods < 1 || millicpu < pod.millicpu || memory_bytes < pod.memory_bytes) return false;
  if (pod.models != nullptr && !pod.models->empty() &&
      std::ranges::find(*pod.models, model) == pod.models->end())
    return false;
  if (!IsPart(pod)) return cards >= pod.micro_gpus / kMicroGpusOfOne;
  return cards > 0 ||
         std::ranges::any_of(parts, [&](int64_t left) { return left >= pod.micro_gpus; });
}

void SpareRoom::Take(const PodNeeds& pod) {
  --pods;
  millicpu -= pod.millicpu;
  memory_bytes -= pod.memory_bytes;
  if (!IsPart(pod)) {
    cards -= pod.micro_gpus / kMicroGpusOfOne;
    return;
  }
  const auto card =
      std::ranges::find_if(parts, [&](int64_t left) { return left >= pod.micro_gpus; });
  if (card != parts.end()) {
    *card -= pod.micro_gpus;
  } else {
    --cards;
    parts.push_back(kMicroGpusOfOne - pod.micro_gpus);
  }
}

Autoscaler::Autoscaler(const std::vector<SimNodePool>& pools, const std::vector<NodeRow>& nodes)
    : pool_of_(nodes.size(), -1) {
  absl::flat_hash_map<std::string_view, int32_t> place;
  for (size_t i = 0; i < nodes.size(); ++i) place.emplace(nodes[i].name, static_cast<int32_t>(i));
  std::vector<const SimNodePool*> order;
  for (const SimNodePool& pool : pools)
    if (!pool.nodes.empty()) order.push_back(&pool);
  const auto cards = [&](const SimNodePool& pool) {
    return SpareRoom::Of(nodes[PlaceOf(place.at(pool.nodes[0]))]).cards;
  };
  std::ranges::sort(order, {}, [&](const SimNodePool* pool) {
    return std::tuple(pool->price, cards(*pool), std::string_view(pool->name));
  });
  for (const SimNodePool* pool : order) {
    Pool& made = pools_.emplace_back(Pool{
        .nodes = {}, .least = pool->least, .ready_ns = pool->ready_ns, .idle_ns = pool->idle_ns});
    for (const std::string& node : pool->nodes) {
      made.nodes.push_back(place.at(node));
      pool_of_[PlaceOf(place.at(node))] = static_cast<int32_t>(pools_.size()) - 1;
    }
  }
}

int64_t Autoscaler::ReadyNs(int32_t node) const {
  return pools_[PlaceOf(pool_of_[PlaceOf(node)])].ready_ns;
}

// Assigns pods to nodes while they fit.
class Autoscaler::Packing {
 public:
  Packing(const std::vector<Pool>& pools, std::vector<NodeState>* nodes)
      : pools_(pools), nodes_(*nodes), next_(pools.size(), 0), is_used_(nodes->size(), 0) {
    for (const Stage stage : {Stage::kTakesPods, Stage::kOrdered})
      for (size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i].stage == stage) open_.push_back(static_cast<int32_t>(i));
  }

  void Pack(const Waiting& job) {
    // If a job with equal requests and at most as many needed pods did not fit, this one does not
    // either.
    const auto key = std::tuple(job.needs.micro_gpus, job.needs.millicpu, job.needs.memory_bytes,
                                job.needs.models);
    const auto failed = failed_.find(key);
    if (failed != failed_.end() && failed->second <= job.least) return;
    const size_t opened = open_.size();
    const std::vector<size_t> next = next_;
    std::vector<std::pair<int32_t, SpareRoom>> before;
    int32_t found = 0;
    size_t from = 0;  // pods are equal: skips nodes that were too full for the last one
    while (found < job.pods && Place(job.needs, &from, &before)) ++found;
    if (found >= std::max(job.least, 1)) return;
    failed_[key] = job.least;
    for (auto change = before.rbegin(); change != before.rend(); ++change)
      nodes_[PlaceOf(change->first)].room = std::move(change->second);
    open_.resize(opened);
    next_ = next;
    for (const auto& [node, room] : before) --is_used_[PlaceOf(node)];
  }

  // Absent nodes that have pods now, in the order in which they were opened.
  std::vector<int32_t> Opened() const {
    std::vector<int32_t> opened;
    for (const int32_t node : open_)
      if (nodes_[PlaceOf(node)].stage == Stage::kAbsent) opened.push_back(node);
    return opened;
  }
  bool IsUsed(int32_t node) const { return is_used_[PlaceOf(node)] > 0; }

 private:
  bool Place(const PodNeeds& pod, size_t* from,
             std::vector<std::pair<int32_t, SpareRoom>>* before) {
    for (; *from < open_.size(); ++*from)
      if (Take(open_[*from], pod, before)) return true;
    for (size_t i = 0; i < pools_.size(); ++i) {
      const std::vector<int32_t>& its = pools_[i].nodes;
      while (next_[i] < its.size() && nodes_[PlaceOf(its[next_[i]])].stage != Stage::kAbsent)
        ++next_[i];
      if (next_[i] == its.size() || !Take(its[next_[i]], pod, before)) continue;
      open_.push_back(its[next_[i]++]);
      return true;
    }
    return false;
  }

  bool Take(int32_t node, const PodNeeds& pod, std::vector<std::pair<int32_t, SpareRoom>>* before) {
    SpareRoom& room = nodes_[PlaceOf(node)].room;
    if (!room.Fits(pod)) return false;
    before->emplace_back(node, room);
    room.Take(pod);
    ++is_used_[PlaceOf(node)];
    return true;
  }

  const std::vector<Pool>& pools_;
  std::vector<NodeState>& nodes_;
  std::vector<size_t> next_;  // by pool: where to search for the next absent node
  std::vector<int32_t> open_;
  std::vector<int32_t> is_used_;  // by node: how many pods it was given
  std::map<std::tuple<int64_t, int64_t, int64_t, const std::vector<std::string>*>, int32_t>
      failed_;  // the smallest number of needed pods that did not fit
};

Autoscaler::Orders Autoscaler::Look(int64_t now_ns, std::span<const Waiting> waiting,
                                    std::vector<NodeState>* nodes) const {
  Packing packing(pools_, nodes);
  for (const Waiting& job : waiting) packing.Pack(job);
  Orders orders{.order = packing.Opened(), .remove = {}, .look_again_ns = {}};
  for (const Pool& pool : pools_) {
    auto have = std::ranges::count_if(
        pool.nodes, [&](int32_t node) { return (*nodes)[PlaceOf(node)].stage != Stage::kAbsent; });
    for (auto node = pool.nodes.rbegin(); node != pool.nodes.rend() && have > pool.least; ++node) {
      const NodeState& state = (*nodes)[PlaceOf(*node)];
      if (state.stage != Stage::kTakesPods || !state.empty_since_ns || packing.IsUsed(*node))
        continue;
      const int64_t due_ns = *state.empty_since_ns + pool.idle_ns;
      if (due_ns <= now_ns) {
        orders.remove.push_back(*node);
        --have;
      } else {
        orders.look_again_ns = std::min(orders.look_again_ns.value_or(due_ns), due_ns);
      }
    }
  }
  return orders;
}

}  // namespace kai
