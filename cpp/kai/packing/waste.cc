#include "kai/packing/waste.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "kai/packing/mixing.h"

namespace kai::packing {
namespace {

// Chosen on arrivals that no published figure is compared with (docs/internals/packing.md).
constexpr size_t kRows = 64;
constexpr size_t kOffers = 100;  // of a row
constexpr double kPriceOfScarcity = 0.4;
constexpr double kPriceOfWholeNode = 2.5;  // thousandths for each GPU of the node
constexpr size_t kMostKnown = 1'000'000;

// The pod gets its GPUs: the fullest ones with enough room.
void Take(const PodShape& pod, absl::InlinedVector<int32_t, 8>* gpu_milli) {
  std::ranges::sort(*gpu_milli);
  int32_t missing = pod.gpus;
  for (int32_t& left : *gpu_milli) {
    if (left >= pod.gpu_milli && missing-- > 0) left -= pod.gpu_milli;
  }
}

// Of a pod that gets the first GPU of a node: pods that need a whole node are often too rare to be
// in the mix, so that waste alone would not keep nodes for them.
double PriceOfWholeNode(const NodeShape& node, const PodShape& pod) {
  const auto gpus = static_cast<int64_t>(node.gpu_milli.size());
  const bool is_first = pod.gpus > 0 && gpus > 1 && node.IdleGpus() == gpus;
  return is_first ? kPriceOfWholeNode * static_cast<double>(gpus) : 0;
}

bool IsOpen(const TypicalPod& pod, size_t kind) {
  return pod.kinds.empty() || (kind < pod.kinds.size() && pod.kinds[kind] != 0);
}

// The mix in an order that neither the numbers of kinds nor the order of entries decides: pods that
// are alike and open to the same nodes once, those that are open to all without their kinds.
PodMix Ordered(const PodMix& mix, std::span<const int64_t> supply_milli) {
  using Key = std::tuple<int64_t, int32_t, int32_t, int64_t, std::vector<uint8_t>>;
  std::map<Key, int64_t> merged;
  for (const TypicalPod& each : mix) {
    std::vector<uint8_t> kinds = each.kinds;
    int64_t open = 0;
    bool is_open_to_all = !supply_milli.empty();
    for (size_t kind = 0; kind < supply_milli.size(); ++kind) {
      if (IsOpen(each, kind)) open += supply_milli[kind];
      is_open_to_all = is_open_to_all && (supply_milli[kind] == 0 || IsOpen(each, kind));
    }
    if (is_open_to_all) kinds.clear();
    merged[{each.pod.cpu_milli, each.pod.gpus, each.pod.gpu_milli, open, std::move(kinds)}] +=
        each.weight;
  }
  PodMix ordered;
  for (const auto& [key, weight] : merged) {
    const auto& [cpu_milli, gpus, gpu_milli, open, kinds] = key;
    ordered.push_back({.pod = {.cpu_milli = cpu_milli, .gpus = gpus, .gpu_milli = gpu_milli},
                       .weight = weight,
                       .kinds = kinds});
  }
  return ordered;
}

}  // namespace

Waste::Waste(const PodMix& all, std::span<const int64_t> supply_milli) {
  const PodMix mix = Ordered(all, supply_milli);
  size_t kinds = supply_milli.size();
  for (const TypicalPod& each : mix) kinds = std::max(kinds, each.kinds.size());
  DrawOffers(mix, kinds);
  FindScarcity(mix, supply_milli);
}

void Waste::DrawOffers(const PodMix& mix, size_t kinds) {
  std::vector<int64_t> sums;
  int64_t sum = 0;
  for (const TypicalPod& each : mix) sums.push_back(sum += each.weight * each.pod.gpus);
  offers_.assign(kinds + 1, std::vector<Row>(kRows));
  if (sum == 0) return;
  // Each pod occurs in proportion to its weight, in an order that a hash shuffles.
  constexpr size_t kAll = kRows * kOffers;
  std::vector<const TypicalPod*> drawn;
  size_t at = 0;
  for (size_t i = 0; i < kAll; ++i) {
    const double place = (static_cast<double>(i) + 0.5) / kAll * static_cast<double>(sum);
    while (static_cast<double>(sums[at]) < place) ++at;
    drawn.push_back(&mix[at]);
  }
  for (size_t i = kAll; i > 1; --i) std::swap(drawn[i - 1], drawn[Mixed(i) % i]);
  for (size_t i = 0; i < kAll; ++i) {
    for (size_t kind = 0; kind <= kinds; ++kind) {
      if (IsOpen(*drawn[i], kind)) offers_[kind][i / kOffers].push_back(drawn[i]->pod);
    }
  }
}

void Waste::FindScarcity(const PodMix& mix, std::span<const int64_t> supply_milli) {
  scarcity_.assign(supply_milli.size() + 1, 0);
  double all = 0;
  for (const int64_t milli : supply_milli) all += static_cast<double>(milli);
  double requested = 0;
  const auto request_of = [](const TypicalPod& each) {
    return static_cast<double>(each.weight * each.pod.TotalGpuMilli());
  };
  for (const TypicalPod& each : mix) requested += request_of(each);
  for (const TypicalPod& each : mix) {
    double open = 0;
    for (size_t kind = 0; kind < supply_milli.size(); ++kind) {
      if (IsOpen(each, kind)) open += static_cast<double>(supply_milli[kind]);
    }
    if (each.kinds.empty() || open == 0) continue;
    for (size_t kind = 0; kind < supply_milli.size(); ++kind) {
      if (IsOpen(each, kind)) scarcity_[kind] += request_of(each) / requested * all / open;
    }
  }
}

int64_t Waste::IdleAfter(const Row& row, NodeShape node) {
  int64_t idle = node.IdleGpuMilli();
  int32_t most = 0;  // idle on any GPU, so that few pods are looked at twice
  const auto find_most = [&] { most = *std::ranges::max_element(node.gpu_milli); };
  find_most();
  for (const PodShape& pod : row) {
    if (pod.cpu_milli > node.cpu_milli || pod.gpu_milli > most) continue;
    if (pod.gpus > 1 && !HasGpus(node, pod.gpus, pod.gpu_milli)) continue;
    if (pod.gpus > 1) {
      Take(pod, &node.gpu_milli);
    } else {
      int32_t* fullest = nullptr;
      for (int32_t& left : node.gpu_milli) {
        if (left >= pod.gpu_milli && (fullest == nullptr || left < *fullest)) fullest = &left;
      }
      *fullest -= pod.gpu_milli;
    }
    node.cpu_milli -= pod.cpu_milli;
    idle = node.IdleGpuMilli();
    if (idle == 0) break;
    find_most();
  }
  return idle;
}

double Waste::Of(const NodeShape& node) {
  if (node.IdleGpuMilli() == 0) return 0;
  NodeShape key = node;
  key.clusters = 0;
  std::ranges::sort(key.gpu_milli);
  key.gpu_milli.erase(key.gpu_milli.begin(), std::ranges::upper_bound(key.gpu_milli, 0));
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  int64_t idle = 0;
  for (const Row& row : OffersTo(node.kind)) idle += IdleAfter(row, key);
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[key] = static_cast<double>(idle) / kRows;
}

Waste::Rise Waste::RiseOf(const NodeShape& node, const PodShape& pod) {
  const double before = Of(node);
  const double price =
      kPriceOfScarcity * ScarcityOf(node.kind) * static_cast<double>(pod.TotalGpuMilli()) +
      PriceOfWholeNode(node, pod);
  NodeShape after = node;
  after.cpu_milli -= pod.cpu_milli;
  if (!pod.shares() || pod.gpus > 1) {
    Take(pod, &after.gpu_milli);
    return {.milli = Of(after) - before + price, .gpu = -1};
  }
  Rise best;
  for (size_t i = 0; i < node.gpu_milli.size(); ++i) {
    const int32_t left = node.gpu_milli[i];
    if (left < pod.gpu_milli) continue;
    after.gpu_milli[i] -= pod.gpu_milli;
    const double rise = Of(after) - before + price;
    after.gpu_milli[i] = left;
    const bool is_fuller =
        best.gpu >= 0 && rise == best.milli && left < node.gpu_milli[static_cast<size_t>(best.gpu)];
    if (best.gpu < 0 || rise < best.milli || is_fuller)
      best = {.milli = rise, .gpu = static_cast<int32_t>(i)};
  }
  return best;
}

}  // namespace kai::packing
