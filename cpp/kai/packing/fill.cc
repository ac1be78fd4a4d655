#include "kai/packing/fill.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "kai/base/check.h"
#include "kai/packing/go_random.h"

namespace kai::packing {
namespace {

constexpr double kNoRoom = -1;
// The ten informers of the published program's scheduler draw the length of their first watch from
// the same generator, between the arrivals and the order of nodes. With them, and not with any
// other number, the published figures of all policies but `random` come out to the last digit.
constexpr int kInformers = 10;

int64_t TotalGpuMilli(const std::vector<FillNode>& nodes) {
  int64_t total = 0;
  for (const FillNode& node : nodes) total += int64_t{node.gpus} * kWholeGpu;
  return total;
}

// The order in which pods arrive.
std::vector<int32_t> DrawArrivals(const FillInput& input, double demand, GoRandom* random) {
  std::vector<int32_t> pods(input.pods.size());
  std::iota(pods.begin(), pods.end(), 0);
  random->Shuffle(&pods);
  if (demand <= 0 || pods.empty()) return pods;
  const auto of = [&](int32_t pod) -> const PodShape& {
    return input.pods[static_cast<size_t>(pod)].shape;
  };
  int64_t asked = 0;
  for (const int32_t pod : pods) asked += of(pod).TotalGpuMilli();
  const double most = demand * static_cast<double>(TotalGpuMilli(input.nodes));
  if (static_cast<double>(asked) > most) {
    while (!pods.empty() && static_cast<double>(asked) > most) {
      const int32_t at = random->Below(static_cast<int32_t>(pods.size()));
      asked -= of(pods[static_cast<size_t>(at)]).TotalGpuMilli();
      pods.erase(pods.begin() + at);
    }
    return pods;
  }
  if (static_cast<double>(asked) == most || asked == 0) return pods;
  while (true) {
    const int32_t pod = random->Below(static_cast<int32_t>(input.pods.size()));
    // As published: one GPU of the pod is looked at here, and all of them are counted.
    if (static_cast<double>(asked + of(pod).gpu_milli) > most) return pods;
    asked += of(pod).TotalGpuMilli();
    pods.push_back(pod);
  }
}

PodMix TypicalPodsAmong(const FillInput& input, std::span<const int32_t> pods, int percent) {
  // Among equally frequent pods the one that asks for more comes first, as published.
  using Key = std::tuple<int64_t, int32_t, int32_t, int32_t>;
  std::map<Key, int64_t, std::greater<>> counts;
  for (const int32_t each : pods) {
    const FillPod& pod = input.pods[static_cast<size_t>(each)];
    ++counts[{pod.shape.cpu_milli, pod.shape.gpu_milli, pod.shape.gpus, pod.constraint}];
  }
  PodMix all;
  for (const auto& [key, count] : counts) {
    const auto& [cpu_milli, gpu_milli, gpus, constraint] = key;
    all.push_back({.pod = {.cpu_milli = cpu_milli, .gpus = gpus, .gpu_milli = gpu_milli},
                   .weight = count,
                   .kinds = input.constraints[static_cast<size_t>(constraint)]});
  }
  return MostFrequent(std::move(all), percent);
}

// The fill that is under way. Nodes are numbered in the order in which ties are broken.
class Filling {
 public:
  Filling(const FillInput& input, const FillOptions& options)
      : Filling(input, options, TypicalPods(input, options.typical_percent)) {
    random_.Int63();  // the published program prints one number before it draws
  }

  FillResult Run() {
    const std::vector<int32_t> arrivals = DrawArrivals(input_, options_.demand, &random_);
    for (int i = 0; i < kInformers; ++i) random_.Int63();
    PlaceNodes();
    NumberClasses();
    for (const int32_t pod : arrivals) Arrive(pod);
    return std::move(result_);
  }

 private:
  Filling(const FillInput& input, const FillOptions& options, const PodMix& mix)
      : input_(input),
        options_(options),
        random_(options.seed),
        fragmentation_(std::make_shared<const Fragmentation>(mix)),
        rater_(RatingOf(input, options), fragmentation_, WasteOf(input, options, mix)) {}

  // A pod on a node: its row of the result, and its GPUs.
  struct Held {
    size_t row = 0;
    absl::InlinedVector<int32_t, 8> gpus = {};
  };
  // Pods that are alike: their score on each node, as of the changes seen so far.
  struct Row {
    bool is_made = false;
    size_t seen = 0;
    std::vector<double> scores;  // kNoRoom: it does not fit
  };

  static Rater::Options RatingOf(const FillInput& input, const FillOptions& options) {
    Rater::Options rating = options.rating;
    for (const FillNode& node : input.nodes) {
      rating.most.cpu_milli = std::max(rating.most.cpu_milli, static_cast<double>(node.cpu_milli));
      rating.most.gpu_milli =
          std::max(rating.most.gpu_milli, static_cast<double>(node.gpus) * kWholeGpu);
    }
    return rating;
  }

  static std::shared_ptr<Waste> WasteOf(const FillInput& input, const FillOptions& options,
                                        const PodMix& mix) {
    if (options.rating.policy != Policy::kLeastWaste) return nullptr;
    std::vector<int64_t> supply_milli;
    for (const FillNode& node : input.nodes) {
      const auto kind = static_cast<size_t>(node.kind);
      if (supply_milli.size() <= kind) supply_milli.resize(kind + 1);
      supply_milli[kind] += int64_t{node.gpus} * kWholeGpu;
    }
    return std::make_shared<Waste>(mix, supply_milli);
  }

  void PlaceNodes() {
    const std::vector<int32_t> place =
        random_.Permutation(static_cast<int32_t>(input_.nodes.size()));
    result_.node_order.resize(place.size());
    for (size_t node = 0; node < place.size(); ++node)
      result_.node_order[static_cast<size_t>(place[node])] = static_cast<int32_t>(node);
    for (const int32_t node : result_.node_order) {
      const FillNode& each = input_.nodes[static_cast<size_t>(node)];
      NodeShape shape{.cpu_milli = each.cpu_milli, .kind = each.kind};
      shape.gpu_milli.assign(static_cast<size_t>(each.gpus), kWholeGpu);
      fragments_.push_back(fragmentation_->Of(shape));
      fragment_ += fragments_.back();
      nodes_.push_back(std::move(shape));
      memory_mib_.push_back(each.memory_mib);
      held_.emplace_back();
    }
  }

  void NumberClasses() {
    std::map<std::tuple<int64_t, int32_t, int32_t, int64_t, int32_t>, size_t> known;
    for (const FillPod& pod : input_.pods) {
      const auto [found, is_new] =
          known.try_emplace({pod.shape.cpu_milli, pod.shape.gpus, pod.shape.gpu_milli,
                             pod.memory_mib, pod.constraint},
                            known.size());
      class_of_.push_back(found->second);
    }
    rows_.resize(known.size());
  }

  bool Fits(const FillPod& pod, size_t node) const {
    const std::vector<uint8_t>& kinds = input_.constraints[static_cast<size_t>(pod.constraint)];
    return (kinds.empty() || kinds[static_cast<size_t>(nodes_[node].kind)] != 0) &&
           memory_mib_[node] >= pod.memory_mib && HasRoom(nodes_[node], pod.shape);
  }

  double ScoreOf(const FillPod& pod, size_t node) const {
    return Fits(pod, node) ? rater_.Rate(nodes_[node], pod.shape).score : kNoRoom;
  }

  const std::vector<double>& ScoresOf(int32_t pod) {
    const FillPod& asked = input_.pods[static_cast<size_t>(pod)];
    Row& row = rows_[class_of_[static_cast<size_t>(pod)]];
    if (!row.is_made || changed_.size() - row.seen > nodes_.size()) {
      row.is_made = true;
      row.scores.resize(nodes_.size());
      for (size_t node = 0; node < nodes_.size(); ++node) row.scores[node] = ScoreOf(asked, node);
    } else {
      ++visit_;
      seen_.resize(nodes_.size());
      for (size_t i = row.seen; i < changed_.size(); ++i) {
        const size_t node = changed_[i];
        if (std::exchange(seen_[node], visit_) != visit_) row.scores[node] = ScoreOf(asked, node);
      }
    }
    row.seen = changed_.size();
    return row.scores;
  }

  // -1: no node has room.
  int32_t Choose(int32_t pod) {
    const std::vector<double>& scores = ScoresOf(pod);
    double best = kNoRoom;
    int32_t chosen = -1;
    int32_t ties = 0;
    const bool draws = options_.ties == Ties::kRandom || options_.rating.policy == Policy::kRandom;
    for (size_t node = 0; node < scores.size(); ++node) {
      if (scores[node] < best || scores[node] == kNoRoom) continue;
      if (scores[node] > best) {
        best = scores[node];
        ties = 0;
      } else if (!draws) {
        continue;
      }
      if (++ties == 1 || random_.Below(ties) == 0) chosen = static_cast<int32_t>(node);
    }
    return chosen;
  }

  // Of a node with room for a pod that shares.
  size_t ChooseGpu(const NodeShape& node, const PodShape& pod) {
    if (const int32_t gpu = rater_.Rate(node, pod).gpu; gpu >= 0) return static_cast<size_t>(gpu);
    size_t chosen = node.gpu_milli.size();
    int32_t fitting = 0;
    for (size_t gpu = 0; gpu < node.gpu_milli.size(); ++gpu) {
      if (node.gpu_milli[gpu] < pod.gpu_milli) continue;
      ++fitting;
      const bool is_better = options_.rating.policy == Policy::kRandom
                                 ? random_.Below(fitting) == 0
                                 : fitting == 1 || node.gpu_milli[gpu] < node.gpu_milli[chosen];
      if (is_better) chosen = gpu;
    }
    return chosen;
  }

  // The pod of that row of the result.
  void Place(size_t row, size_t node) {
    const FillPod& pod = PodOf(row);
    NodeShape& shape = nodes_[node];
    Held held{.row = row, .gpus = {}};
    if (pod.shape.shares()) {
      held.gpus.push_back(static_cast<int32_t>(ChooseGpu(shape, pod.shape)));
    } else {
      for (size_t gpu = 0; gpu < shape.gpu_milli.size(); ++gpu) {
        const bool is_taken = std::ssize(held.gpus) < pod.shape.gpus;
        if (is_taken && shape.gpu_milli[gpu] == kWholeGpu)
          held.gpus.push_back(static_cast<int32_t>(gpu));
      }
    }
    shape.clusters |= pod.shape.ClusterBit();
    Take(held, node, 1);
    result_.node[row] = result_.node_order[node];
    if (options_.migrate) held_[node].push_back(std::move(held));
    Changed(node);
  }

  // What the pod has of the node; sign -1: it gives it back. Clusters stay as they are.
  void Take(const Held& held, size_t node, int32_t sign) {
    const FillPod& pod = PodOf(held.row);
    NodeShape& shape = nodes_[node];
    for (const int32_t gpu : held.gpus)
      shape.gpu_milli[static_cast<size_t>(gpu)] -= sign * pod.shape.gpu_milli;
    shape.cpu_milli -= sign * pod.shape.cpu_milli;
    memory_mib_[node] -= sign * pod.memory_mib;
    used_ += sign * pod.shape.TotalGpuMilli();
  }

  void Changed(size_t node) {
    const NodeShape& shape = nodes_[node];
    const int64_t fragment = fragmentation_->Of(shape);
    fragment_ += fragment - std::exchange(fragments_[node], fragment);
    changed_.push_back(node);
  }

  // For a pod that no node has room for: moves the smallest pod that fits on another node and whose
  // place is large enough, the first of equal ones. Returns its node; -1: there is none.
  int32_t Migrate(const FillPod& asked) {
    const auto size = [&](const Held& held) { return PodOf(held.row).shape.TotalGpuMilli(); };
    std::vector<int32_t> nodes_with_room(rows_.size(), -1);  // by class of pods: none, one or two
    std::optional<Held> chosen;
    size_t from = 0;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      for (const Held& held : held_[node]) {
        if (chosen && size(held) >= size(*chosen)) continue;
        int32_t& count = nodes_with_room[class_of_[static_cast<size_t>(result_.pod[held.row])]];
        if (count < 0) count = NodesWithRoom(held.row);
        if (count == 0 || (count == 1 && Fits(PodOf(held.row), node))) continue;
        Take(held, node, -1);
        const bool makes_room = Fits(asked, node);
        Take(held, node, 1);
        if (!makes_room) continue;
        chosen = held;
        from = node;
      }
    }
    if (!chosen) return -1;
    Move(*chosen, from);
    return static_cast<int32_t>(from);
  }

  // To the best of the other nodes.
  void Move(const Held& held, size_t from) {
    const std::vector<double>& scores = ScoresOf(result_.pod[held.row]);
    size_t best = from;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      if (node != from && scores[node] != kNoRoom && (best == from || scores[node] > scores[best]))
        best = node;
    }
    Take(held, from, -1);
    std::erase_if(held_[from], [&](const Held& each) { return each.row == held.row; });
    Changed(from);
    Place(held.row, best);
  }

  // At most two.
  int32_t NodesWithRoom(size_t row) {
    int32_t count = 0;
    for (const double score : ScoresOf(result_.pod[row])) {
      if (score != kNoRoom && ++count == 2) break;
    }
    return count;
  }

  const FillPod& PodOf(size_t row) const {
    return input_.pods[static_cast<size_t>(result_.pod[row])];
  }

  // From now on the policy goes by the pods that have arrived.
  void Learn() {
    const PodMix mix = TypicalPodsAmong(input_, result_.pod, options_.typical_percent);
    rater_ = Rater(rater_.options(), std::make_shared<const Fragmentation>(mix),
                   WasteOf(input_, options_, mix));
    for (Row& row : rows_) row.is_made = false;
  }

  void Arrive(int32_t pod) {
    const FillPod& asked = input_.pods[static_cast<size_t>(pod)];
    arrived_ += asked.shape.TotalGpuMilli();
    result_.pod.push_back(pod);
    if (options_.learn_every > 0 && static_cast<double>(arrived_) >= learn_at_milli_) {
      Learn();
      learn_at_milli_ = static_cast<double>(arrived_) +
                        options_.learn_every * static_cast<double>(TotalGpuMilli(input_.nodes));
    }
    const size_t row = result_.node.size();
    result_.node.push_back(-1);
    int32_t node = Choose(pod);
    if (node < 0 && options_.migrate) node = Migrate(asked);
    if (node >= 0) Place(row, static_cast<size_t>(node));
    result_.arrived_milli.push_back(arrived_);
    result_.used_milli.push_back(used_);
    result_.fragment_milli.push_back(static_cast<double>(fragment_) /
                                     static_cast<double>(fragmentation_->weight()));
  }

  const FillInput& input_;
  const FillOptions& options_;
  GoRandom random_;
  std::shared_ptr<const Fragmentation> fragmentation_;
  Rater rater_;

  std::vector<NodeShape> nodes_;
  std::vector<int64_t> memory_mib_;
  std::vector<std::vector<Held>> held_;  // by node, where pods may be moved
  std::vector<int64_t> fragments_;
  std::vector<size_t> class_of_;  // by pod
  std::vector<Row> rows_;
  std::vector<size_t> changed_;  // nodes, in order
  std::vector<int64_t> seen_;    // by node: the last visit
  int64_t visit_ = 0;
  int64_t arrived_ = 0;
  double learn_at_milli_ = 0;  // the requested GPUs at which the mix is counted again
  int64_t used_ = 0;
  int64_t fragment_ = 0;
  FillResult result_;
};

}  // namespace

PodMix TypicalPods(const FillInput& input, int percent) {
  std::vector<int32_t> all(input.pods.size());
  std::iota(all.begin(), all.end(), 0);
  return TypicalPodsAmong(input, all, percent);
}

FillResult RunFill(const FillInput& input, const FillOptions& options) {
  return Filling(input, options).Run();
}

}  // namespace kai::packing
