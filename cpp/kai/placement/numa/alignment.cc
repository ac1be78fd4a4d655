#include "kai/placement/numa/alignment.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace kai {
namespace {

using Mask = std::vector<size_t>;  // zones in the order of use

// Aligns one container at a time in what the containers before it have left.
class Aligner {
 public:
  Aligner(NumaPolicy policy, const ZoneTable& table)
      : policy_(policy),
        table_(table),
        left_(table.available.begin(), table.available.end()),
        drawn_(left_.size()) {}

  // Nothing: no zones fit.
  std::optional<Mask> MaskFor(const ZoneRequest& request) {
    switch (policy_) {
      case NumaPolicy::kNone:
        return Mask();
      case NumaPolicy::kSingleZone:
        return LowestZone(request);
      case NumaPolicy::kRestricted:
        return NarrowestMask(request);
      case NumaPolicy::kBestEffort:
        return GreedyMask(request);
    }
    return std::nullopt;
  }

  // spec 3 U10
  void Draw(const ZoneRequest& request, const Mask& mask) {
    for (size_t resource = 0; resource < table_.resources; ++resource) {
      double missing = request[resource];
      for (const size_t zone : mask) {
        const double taken = std::min(missing, Left(zone, resource));
        if (taken <= 0) continue;
        left_[zone * table_.resources + resource] -= taken;
        drawn_[zone * table_.resources + resource] += taken;
        missing -= taken;
      }
    }
  }
  void PutBack() { left_.assign(table_.available.begin(), table_.available.end()); }

  ZonePlacement Drawn() const {
    ZonePlacement placement;
    for (size_t at = 0; at < drawn_.size(); ++at) {
      if (drawn_[at] <= 0) continue;
      placement.push_back({.zone = static_cast<int32_t>(at / table_.resources),
                           .resource = static_cast<int32_t>(at % table_.resources),
                           .amount = drawn_[at]});
    }
    return placement;
  }

 private:
  double Left(size_t zone, size_t resource) const {
    return left_[zone * table_.resources + resource];
  }

  // spec 3 U7
  std::optional<Mask> LowestZone(const ZoneRequest& request) const {
    for (size_t zone = 0; zone < table_.zones; ++zone) {
      bool fits = true;
      for (size_t resource = 0; resource < table_.resources; ++resource)
        fits = fits && (request[resource] <= 0 || request[resource] <= Left(zone, resource));
      if (fits) return Mask{zone};
    }
    return std::nullopt;
  }

  // The fewest zones that could ever give this amount; 0: not even all of them.
  size_t WidthOf(size_t resource, double wanted) const {
    std::vector<double> zones(table_.zones);
    for (size_t zone = 0; zone < table_.zones; ++zone)
      zones[zone] = table_.Allocatable(zone, resource);
    std::sort(zones.begin(), zones.end(), std::greater<>());
    double sum = 0;
    for (size_t width = 1; width <= zones.size(); ++width) {
      sum += zones[width - 1];
      if (sum >= wanted) return width;
    }
    return 0;
  }

  // spec 3 U8
  std::optional<Mask> NarrowestMask(const ZoneRequest& request) {
    size_t width = 0;
    for (size_t resource = 0; resource < table_.resources; ++resource) {
      if (request[resource] <= 0) continue;
      const size_t own = WidthOf(resource, request[resource]);
      if (own == 0 || (width != 0 && own != width)) return std::nullopt;
      width = own;
    }
    if (width == 0) return Mask();
    if (width == 1) return LowestZone(request);
    return LowestMask(request, width);
  }

  // The first mask of that width in lexicographic order that has enough of everything. It chooses
  // zones one by one, and drops a choice if even the largest of the remaining zones could not
  // supply the missing amount of some resource. For one resource this test is exact, so no choice
  // is undone.
  std::optional<Mask> LowestMask(const ZoneRequest& request, size_t width) {
    const size_t zones = table_.zones;
    std::vector<size_t> wanted;
    for (size_t resource = 0; resource < table_.resources; ++resource) {
      if (request[resource] > 0) wanted.push_back(resource);
    }
    // most[i][first * (width + 1) + n]: the n largest amounts of wanted[i] in the zones from first.
    std::vector<std::vector<double>> most(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      most[i].assign((zones + 1) * (width + 1), 0);
      std::vector<double> sorted;
      for (size_t first = zones; first-- > 0;) {
        const double amount = Left(first, wanted[i]);
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), amount, std::greater<>()),
                      amount);
        double* sums = &most[i][first * (width + 1)];
        for (size_t n = 1; n <= std::min(width, sorted.size()); ++n)
          sums[n] = sums[n - 1] + sorted[n - 1];
      }
    }

    Mask mask;
    std::vector<std::vector<double>> sums = {std::vector<double>(wanted.size())};  // one per choice
    int64_t looks = 0;
    for (size_t zone = 0;;) {
      const size_t missing = width - mask.size();
      if (missing == 0) return mask;
      if (zone + missing > zones || ++looks > kMostMasks) {
        if (mask.empty() || looks > kMostMasks) return std::nullopt;
        zone = mask.back() + 1;  // try without this zone
        mask.pop_back();
        sums.pop_back();
        continue;
      }
      std::vector<double> with = sums.back();
      bool may_do = true;
      for (size_t i = 0; i < wanted.size(); ++i) {
        with[i] += Left(zone, wanted[i]);
        may_do = may_do &&
                 with[i] + most[i][(zone + 1) * (width + 1) + missing - 1] >= request[wanted[i]];
      }
      if (may_do) {
        mask.push_back(zone);
        sums.push_back(std::move(with));
      }
      ++zone;
    }
  }

  // spec 3 U9
  std::optional<Mask> GreedyMask(const ZoneRequest& request) const {
    ZoneRequest missing = request;
    Mask mask;
    const auto is_covered = [&] {
      return std::all_of(missing.begin(), missing.end(), [](double amount) { return amount <= 0; });
    };
    while (!is_covered()) {
      size_t best = table_.zones;
      double best_cover = 0;
      for (size_t zone = 0; zone < table_.zones; ++zone) {
        if (std::find(mask.begin(), mask.end(), zone) != mask.end()) continue;
        double cover = 0;
        for (size_t resource = 0; resource < table_.resources; ++resource) {
          if (missing[resource] > 0) cover += std::min(missing[resource], Left(zone, resource));
        }
        if (cover > best_cover) {
          best = zone;
          best_cover = cover;
        }
      }
      if (best == table_.zones) return std::nullopt;
      mask.push_back(best);
      for (size_t resource = 0; resource < table_.resources; ++resource)
        missing[resource] -= Left(best, resource);
    }
    return mask;
  }

  NumaPolicy policy_;
  const ZoneTable& table_;
  std::vector<double> left_;
  std::vector<double> drawn_;
};

}  // namespace

int32_t Alignment::CountZones() const {
  int32_t zones = 0;
  for (size_t i = 0; i < placement.size(); ++i)
    zones += i == 0 || placement[i].zone != placement[i - 1].zone ? 1 : 0;
  return zones;
}

Alignment Align(NumaPolicy policy, const ZoneTable& table, std::span<const ZoneRequest> concurrent,
                std::span<const ZoneRequest> serial) {
  Aligner aligner(policy, table);
  for (const ZoneRequest& request : concurrent) {
    const std::optional<Mask> mask = aligner.MaskFor(request);
    if (!mask) return {};
    aligner.Draw(request, *mask);
  }
  const ZonePlacement placement = aligner.Drawn();
  aligner.PutBack();
  for (const ZoneRequest& request : serial) {
    if (!aligner.MaskFor(request)) return {};
  }
  return {.fits = true, .placement = placement};
}

}  // namespace kai
