#include "kai/packing/fragmentation.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kai::packing {

PodMix MostFrequent(PodMix all, int percent) {
  std::ranges::stable_sort(
      all, [](const TypicalPod& a, const TypicalPod& b) { return a.weight > b.weight; });
  int64_t total = 0;
  for (const TypicalPod& each : all) total += each.weight;
  int64_t sum = 0;
  size_t taken = 0;
  while (taken < all.size() && 100 * sum < percent * total) sum += all[taken++].weight;
  all.resize(taken);
  return all;
}

// A node's GPUs and CPU, seen as the mix sees them.
class Fragmentation::Point {
 public:
  Point(const Fragmentation& of, const NodeShape& node)
      : of_(of), kind_(of.KindOf(node)), counts_(of.levels_.size()), weights_(kind_.size()) {
    for (const int32_t left : node.gpu_milli) Add(left, 1);
    SetCpu(node.cpu_milli);
  }

  void SetCpu(int64_t cpu_milli) {
    for (size_t i = 0; i < kind_.size(); ++i) {
      const auto end = std::ranges::upper_bound(kind_[i].cpu_milli, cpu_milli);
      weights_[i] =
          end == kind_[i].cpu_milli.begin()
              ? 0
              : kind_[i].total_weight[static_cast<size_t>(end - kind_[i].cpu_milli.begin() - 1)];
    }
  }
  void Move(int32_t from, int32_t to) {
    Add(from, -1);
    Add(to, 1);
  }
  int64_t Value() const {
    int64_t value = of_.weight_ * idle_;
    for (size_t i = 0; i < kind_.size(); ++i) {
      const Count& count = counts_[kind_[i].level];
      if (count.gpus >= kind_[i].gpus) value -= weights_[i] * count.idle;
    }
    return value;
  }

 private:
  // GPUs on which at least so much is idle.
  struct Count {
    int32_t gpus = 0;
    int64_t idle = 0;
  };

  void Add(int32_t left, int32_t sign) {
    idle_ += sign * left;
    const size_t within = of_.levels_within_[static_cast<size_t>(std::clamp(left, 0, kWholeGpu))];
    for (size_t level = 0; level < within; ++level) {
      counts_[level].gpus += sign;
      counts_[level].idle += sign * left;
    }
  }

  const Fragmentation& of_;
  const Kind& kind_;
  absl::InlinedVector<Count, 64> counts_;
  absl::InlinedVector<int64_t, 64> weights_;
  int64_t idle_ = 0;
};

Fragmentation::Fragmentation(const PodMix& mix) {
  size_t kinds = 0;
  for (const TypicalPod& each : mix) {
    weight_ += each.weight;
    kinds = std::max(kinds, each.kinds.size());
    if (each.pod.gpus > 0) levels_.push_back(std::clamp(each.pod.gpu_milli, 1, kWholeGpu));
  }
  std::ranges::sort(levels_);
  levels_.erase(std::ranges::unique(levels_).begin(), levels_.end());
  for (int32_t left = 0; left <= kWholeGpu; ++left) {
    levels_within_[static_cast<size_t>(left)] =
        static_cast<uint16_t>(std::ranges::upper_bound(levels_, left) - levels_.begin());
  }
  for (size_t kind = 0; kind < kinds; ++kind) kinds_.push_back(MakeKind(mix, &kind));
  any_kind_ = MakeKind(mix, nullptr);
}

Fragmentation::Kind Fragmentation::MakeKind(const PodMix& mix, const size_t* kind) const {
  std::map<std::pair<int32_t, int32_t>, std::map<int64_t, int64_t>> requests;
  for (const TypicalPod& each : mix) {
    const bool is_open = each.kinds.empty() ||
                         (kind != nullptr && *kind < each.kinds.size() && each.kinds[*kind] != 0);
    if (each.pod.gpus == 0 || !is_open) continue;
    const int32_t of_one = std::clamp(each.pod.gpu_milli, 1, kWholeGpu);
    requests[{of_one, each.pod.gpus}][each.pod.cpu_milli] += each.weight;
  }
  Kind made;
  for (const auto& [asked, by_cpu] : requests) {
    Request request{.level = static_cast<uint32_t>(std::ranges::lower_bound(levels_, asked.first) -
                                                   levels_.begin()),
                    .gpus = asked.second,
                    .cpu_milli = {},
                    .total_weight = {}};
    int64_t total = 0;
    for (const auto& [cpu_milli, weight] : by_cpu) {
      total += weight;
      request.cpu_milli.push_back(cpu_milli);
      request.total_weight.push_back(total);
    }
    made.push_back(std::move(request));
  }
  return made;
}

int64_t Fragmentation::Of(const NodeShape& node) const {
  if (node.gpu_milli.empty()) return 0;
  return Point(*this, node).Value();
}

Fragmentation::Descent Fragmentation::DescentOf(const NodeShape& node, const PodShape& pod,
                                                Step step) const {
  if (node.gpu_milli.empty()) return {};
  Point point(*this, node);
  const int64_t before = point.Value();
  point.SetCpu(node.cpu_milli - pod.cpu_milli);
  if (!pod.shares() || pod.gpus > 1) {
    absl::InlinedVector<int32_t, 8> left = node.gpu_milli;
    std::ranges::sort(left);
    int32_t missing = pod.gpus;
    for (auto gpu = std::ranges::lower_bound(left, pod.gpu_milli); gpu != left.end() && missing > 0;
         ++gpu, --missing)
      point.Move(*gpu, *gpu - pod.gpu_milli);
    return {.change = before - point.Value(), .gpu = -1};
  }
  Descent best;
  double best_step = 0;
  for (size_t i = 0; i < node.gpu_milli.size(); ++i) {
    const int32_t left = node.gpu_milli[i];
    // GPUs on which as much is idle are alike.
    if (left < pod.gpu_milli ||
        std::ranges::count(node.gpu_milli.begin(), node.gpu_milli.begin() + static_cast<long>(i),
                           left) > 0)
      continue;
    point.Move(left, left - pod.gpu_milli);
    const int64_t change = before - point.Value();
    point.Move(left - pod.gpu_milli, left);
    const double milli = static_cast<double>(change) / static_cast<double>(weight_);
    const double stepped = step == nullptr ? 0 : step(milli);
    const bool is_better = step == nullptr ? change > best.change : stepped > best_step;
    if (best.gpu >= 0 && !is_better) continue;
    best = {.change = change, .gpu = static_cast<int32_t>(i)};
    best_step = stepped;
  }
  return best;
}

}  // namespace kai::packing
